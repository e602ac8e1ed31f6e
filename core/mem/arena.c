/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.c: see arena.h.
 * Threads: see arena.h. Owns: see arena.h. Not here: see arena.h.
 *
 * A file without a name in shared memory, as large as the machine's and mapped as a whole: pages come into
 * being when they are used. Blocks are spans of pages. Free ones are in lists by length, each length its own
 * up to EXACT pages, then by powers of two; neighbours that are free become one. What is free stays in memory
 * up to a limit, and is used before the rest, since the first use of a page costs more than copying it; what
 * has been free for longest is given back to the system beyond that.
 *
 * Where the system makes large pages of other memory by itself (transparent_hugepage/enabled: always), the
 * arena asks for them, too; where it would not get them, blocks that profit are left to malloc.
 * AddressSanitizer sees what is free as freed. */
#include "core/mem/arena.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#endif

enum {
    PAGE = 4096,
    WORTH_SHARING = 32 << 10,
    LARGE_PAGE = 2 << 20,
    STEP = 64 << 20, /* bytes by which a mapping is extended */
    EXACT = 128,
    CLASSES = EXACT + 32,
    CLEARED_MOST = 1 << 20, /* bytes: of more that is to be zeros none is cleared that nobody may touch */
    LOOKS = 32              /* at spans of about the right length */
};

enum state { USED, KEPT, GONE, STATES }; /* KEPT: free, and maybe in memory; GONE: free, and not */

/* Of the first and the last page of a span. */
struct page {
    uint32_t length; /* pages */
    uint32_t state;
    /* Page number + 1, 0: none; of the first page of a free one, in its list; and of a kept one, in the ring
     * of all of them, where the youngest is followed by the oldest. */
    uint32_t next, before, younger, older;
};

struct orr_arena orr_the_arena;
_Atomic size_t orr_arena_bytes;

static ORR_SPIN(arena) lock; /* protects all below; leaf */
static struct page *pages;
static uint32_t count, top; /* of pages; those never used begin there */
static uint32_t lists[STATES][CLASSES];
static uint32_t oldest, kept;        /* of the spans kept; kept: their pages */
static size_t most_bytes = SIZE_MAX; /* of a block */
static struct orr_mapping mapping;   /* of this process' arena [const but for what is usable] */
static bool is_unclean;              /* the system did not take back what was to go: GONE need not be zeros */
static bool is_forked;               /* this is a child of who opened it [own: that] */
static const volatile char *mark;    /* 0 in such a child, too, and sooner: before it runs anything */

/* ---- opening ---- */

/* Whether such a file of the system says one of the words, which are in brackets where they hold. */
static bool says(const char *file, const char *const *words)
{
    char name[80], text[120] = "";
    snprintf(name, sizeof name, "/sys/kernel/mm/transparent_hugepage/%s", file);
    FILE *f = fopen(name, "re");
    if (!f) return false;
    bool is_read = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    for (; is_read && *words; words++)
        if (strstr(text, *words)) return true;
    return false;
}

static void choose_pages(void)
{
    static const char *const always[] = { "[always]", NULL }, *const asked[] = { "[always]", "[advise]",
                                                                                 "[within_size]", "[force]",
                                                                                 NULL };
    if (!says("enabled", always)) return;
    if (says("shmem_enabled", asked))
        madvise(orr_the_arena.base, orr_the_arena.bytes, MADV_HUGEPAGE);
    else
        most_bytes = LARGE_PAGE - 1;
}

bool orr_file_may_grow(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes; /* RLIM_INFINITY is the most */
}

/* A new mapping has all its pages at once where the program asked for that (mlockall, MCL_FUTURE), but for
 * those that it may not use; so have all mappings when it asks later (MCL_CURRENT). */
static void *map(size_t bytes, int protection, int kind, int fd)
{
    void *p = mmap(NULL, bytes, PROT_NONE, kind | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) return NULL;
    munlock(p, bytes);
    if (protection == PROT_NONE) return p;
    if (mprotect(p, bytes, protection) == 0) return p;
    munmap(p, bytes);
    return NULL;
}

bool orr_mapping_make(struct orr_mapping *m, int fd, size_t bytes, int protection)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
    *m = (struct orr_mapping){ .bytes = bytes, .protection = protection };
    m->base = is_limited ? NULL : map(bytes, PROT_NONE, MAP_SHARED, fd);
    return m->base != NULL;
}

void orr_mapping_end(struct orr_mapping *m)
{
    if (m->base) munmap(m->base, m->bytes);
    *m = (struct orr_mapping){ 0 };
}

bool orr_mapping_extend(struct orr_mapping *m, size_t end)
{
    size_t usable = m->bytes - end < STEP ? m->bytes : (end + STEP - 1) / STEP * STEP;
    if (mprotect(m->base, usable, m->protection) != 0) return false;
    /* Others may extend it at the same time: nobody takes anything back, whatever is stored last. */
    if (usable > orr_load_relaxed(&m->usable)) orr_store_release(&m->usable, usable);
    return true;
}

/* Whether the system counts what it promises: pages of a file are counted when they are used. */
static bool is_counted(void)
{
    FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
    int kind = f ? fgetc(f) : EOF;
    if (f) fclose(f);
    return kind == '2';
}

static void leave_alone(void)
{
    is_forked = true;
}

/* Whether this is another process than the one that opened it. Handlers that the program set for forks before
 * may take memory ahead of ours; a system that wipes pages at a fork knows sooner (Linux 4.14). */
static bool is_another(void)
{
    return is_forked || (mark && !*mark);
}

bool orr_arena_is_own(void)
{
    return orr_load_acquire(&orr_arena_bytes) && !is_another();
}

static size_t pages_bytes(uint64_t pages_count)
{
    return (size_t)(pages_count * sizeof *pages + PAGE - 1) / PAGE * PAGE;
}

/* The page behind those records. */
static void set_mark(char *page)
{
#ifdef MADV_WIPEONFORK
    *page = 1;
    if (madvise(page, PAGE, MADV_WIPEONFORK) == 0) mark = page;
#else
    (void)page;
#endif
}

const struct orr_arena *orr_arena_open(size_t most)
{
    struct orr_arena *a = &orr_the_arena;
    if (orr_load_relaxed(&orr_arena_bytes)) return a;
    uint64_t wanted = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / PAGE;
    if (wanted > most / PAGE) wanted = most / PAGE;
    if (wanted == 0 || wanted > UINT32_MAX / 2 || sysconf(_SC_PAGESIZE) > PAGE || is_counted()) return NULL;
    a->bytes = (size_t)wanted * PAGE;
    a->fd = memfd_create("orrery-data", MFD_CLOEXEC);
    if (a->fd < 0) return NULL;
    bool is_sized = orr_file_may_grow(a->bytes) && ftruncate(a->fd, (off_t)a->bytes) == 0;
    bool is_mapped = is_sized && orr_mapping_make(&mapping, a->fd, a->bytes, PROT_READ | PROT_WRITE);
    size_t bytes = pages_bytes(wanted) + PAGE;
    pages = is_mapped ? map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) : NULL;
    a->base = mapping.base;
    if (!pages || pthread_atfork(NULL, NULL, leave_alone) != 0) {
        orr_mapping_end(&mapping);
        if (pages) munmap(pages, bytes);
        close(a->fd);
        return NULL;
    }
    count = (uint32_t)wanted;
    set_mark((char *)pages + pages_bytes(wanted));
    choose_pages();
    orr_store_release(&orr_arena_bytes, a->bytes); /* pairs with orr_arena_owns */
    return a;
}

/* ---- spans ---- */

static unsigned class_of(uint32_t length)
{
    return length < EXACT ? length : (unsigned)(EXACT + 31 - __builtin_clz(length));
}

static void set_locked(uint32_t first, uint32_t length, enum state state)
{
    pages[first].length = pages[first + length - 1].length = length;
    pages[first].state = pages[first + length - 1].state = state;
}

/* As the youngest: in the ring it is beside the oldest. */
static void link_by_age_locked(uint32_t first)
{
    uint32_t next = oldest ? oldest : first + 1, before = oldest ? pages[oldest - 1].older : first + 1;
    pages[first].younger = next;
    pages[first].older = before;
    pages[next - 1].older = pages[before - 1].younger = first + 1;
    oldest = next;
    kept += pages[first].length;
}

static void unlink_by_age_locked(uint32_t first)
{
    uint32_t next = pages[first].younger, before = pages[first].older;
    pages[next - 1].older = before;
    pages[before - 1].younger = next;
    if (oldest == first + 1) oldest = next != oldest ? next : 0;
    kept -= pages[first].length;
}

static void link_locked(uint32_t first, uint32_t length, enum state state)
{
    uint32_t *list = &lists[state][class_of(length)];
    set_locked(first, length, state);
    pages[first].next = *list;
    pages[first].before = 0;
    if (*list) pages[*list - 1].before = first + 1;
    *list = first + 1;
    if (state == KEPT) link_by_age_locked(first);
}

static void unlink_locked(uint32_t first)
{
    struct page *p = &pages[first];
    if (p->before)
        pages[p->before - 1].next = p->next;
    else
        lists[p->state][class_of(p->length)] = p->next;
    if (p->next) pages[p->next - 1].before = p->before;
    if (p->state == KEPT) unlink_by_age_locked(first);
}

/* A free span of at least that length, off its list, as its first page + 1; 0: there is none. */
static uint32_t find_locked(uint32_t length, enum state state)
{
    for (unsigned c = class_of(length); c < CLASSES; c++) {
        uint32_t at = lists[state][c];
        for (int i = 0; at && i < LOOKS; i++, at = pages[at - 1].next) {
            if (pages[at - 1].length < length) continue;
            unlink_locked(at - 1);
            return at;
        }
    }
    return 0;
}

struct taken {
    uint32_t first;
    bool is_kept; /* what is in it is not known: else it is all zeros */
};

/* no_kept: of what may be in memory none. */
static bool take_locked(uint32_t length, bool no_kept, struct taken *out)
{
    uint32_t at = no_kept ? 0 : find_locked(length, KEPT);
    out->is_kept = at != 0 || is_unclean;
    if (!at) at = find_locked(length, GONE);
    if (at) {
        uint32_t first = at - 1, rest = pages[first].length - length;
        if (rest) link_locked(first + length, rest, pages[first].state);
        out->first = first;
    } else if (count - top >= length) {
        out->first = top;
        top += length;
    } else {
        return false;
    }
    set_locked(out->first, length, USED);
    return true;
}

/* Only neighbours of the same state become one, so that it is known what is in memory. */
static void give_locked(uint32_t first, uint32_t length, enum state state)
{
    if (first > 0 && pages[first - 1].state == state) {
        uint32_t before = pages[first - 1].length;
        unlink_locked(first - before);
        first -= before;
        length += before;
    }
    if (first + length < top && pages[first + length].state == state) {
        uint32_t after = pages[first + length].length;
        unlink_locked(first + length);
        length += after;
    }
    link_locked(first, length, state);
}

/* Takes from the end of the oldest span that is kept what is beyond so many pages. Returns its length; 0:
 * nothing is. */
static uint32_t take_beyond_locked(uint32_t keep, uint32_t *first_out)
{
    if (kept <= keep) return 0;
    uint32_t first = oldest - 1, length = pages[first].length, beyond = kept - keep;
    unlink_locked(first);
    if (beyond < length) {
        link_locked(first, length - beyond, KEPT);
        oldest = first + 1; /* as it was */
        first += length - beyond;
        length = beyond;
    }
    set_locked(first, length, USED);
    *first_out = first;
    return length;
}

/* ---- blocks ---- */

/* Gives back what is kept beyond so many pages, the oldest first. */
static void give_back_locked(uint32_t keep)
{
    uint32_t first = 0, length;
    while ((length = take_beyond_locked(keep, &first))) {
        orr_spin_unlock(&lock);
        bool gone =
            madvise(orr_the_arena.base + (size_t)first * PAGE, (size_t)length * PAGE, MADV_REMOVE) == 0;
        orr_spin_lock(&lock);
        is_unclean |= !gone;
        give_locked(first, length, GONE);
    }
}

static uint32_t pages_of(size_t bytes)
{
    return bytes / PAGE < count ? (uint32_t)(bytes / PAGE) : count;
}

size_t orr_arena_kept(void)
{
    if (is_another()) return 0;
    orr_spin_lock(&lock);
    size_t bytes = (size_t)kept * PAGE;
    orr_spin_unlock(&lock);
    return bytes;
}

void orr_arena_give_back(size_t keep)
{
    if (!orr_arena_is_own()) return;
    orr_spin_lock(&lock);
    give_back_locked(pages_of(keep));
    orr_spin_unlock(&lock);
}

/* Makes use of the span; NULL: the system does not let it. */
static char *enter(uint32_t first, uint32_t length, size_t bytes)
{
    if (orr_unlikely(!orr_mapping_reach(&mapping, ((size_t)first + length) * PAGE))) {
        orr_spin_lock(&lock);
        give_locked(first, length, GONE);
        orr_spin_unlock(&lock);
        return NULL;
    }
    char *p = orr_the_arena.base + (size_t)first * PAGE;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
    ASAN_POISON_MEMORY_REGION(p + bytes, (size_t)length * PAGE - bytes);
    return p;
}

void *orr_arena_alloc(size_t bytes, bool zeroed)
{
    if (!orr_load_acquire(&orr_arena_bytes) || bytes < WORTH_SHARING || bytes > most_bytes) return NULL;
    if (is_another() || bytes > orr_the_arena.bytes) return NULL;
    uint32_t length = (uint32_t)((bytes + PAGE - 1) / PAGE);
    struct taken span = { 0 };
    orr_spin_lock(&lock);
    bool taken = take_locked(length, zeroed && bytes > CLEARED_MOST, &span);
    if (orr_unlikely(!taken && kept)) { /* what is kept may lie between what is not */
        give_back_locked(0);
        taken = take_locked(length, false, &span);
    }
    orr_spin_unlock(&lock);
    char *p = taken ? enter(span.first, length, bytes) : NULL;
    return p && zeroed && span.is_kept ? memset(p, 0, bytes) : p;
}

static uint32_t page_of(const void *p)
{
    return (uint32_t)(((const char *)p - orr_the_arena.base) / PAGE);
}

size_t orr_arena_block_bytes(const void *p)
{
    return (size_t)pages[page_of(p)].length * PAGE; /* its owner alone changes it */
}

void orr_arena_free(void *p, size_t keep)
{
    if (is_another()) return;
    uint32_t first = page_of(p), length = pages[first].length; /* its owner alone changes it */
    ASAN_POISON_MEMORY_REGION(p, (size_t)length * PAGE);
    orr_spin_lock(&lock);
    give_locked(first, length, KEPT);
    give_back_locked(pages_of(keep));
    orr_spin_unlock(&lock);
}
