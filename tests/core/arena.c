/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Main memory that other processes see: blocks do not overlap and keep what is in them whoever allocates and
 * frees, what is free is used again and is given back to the system beyond a limit, and another process sees
 * what is in them. Threads: several that allocate and free. Owns: the blocks. Not here: who copies out of
 * them (tests/mpi/near.c).
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/mem/arena.h"
#include "core/mem/recycle.h"
#include "tests/helper.h"

enum { THREADS = 3, BLOCKS = 40, ROUNDS = SCALED(6000, 2000), LARGEST = 1 << 20, LEAST = 32 << 10 };
static const size_t KEEP = (size_t)4 << 20;

struct block {
    unsigned char *p;
    size_t bytes;
    unsigned char value;
};

static void mark(struct block *b, unsigned char value)
{
    b->value = value;
    for (size_t i = 0; i < b->bytes; i += 4096) b->p[i] = value;
    b->p[b->bytes - 1] = value;
}

static bool is_kept(const struct block *b)
{
    bool kept = b->p[b->bytes - 1] == b->value;
    for (size_t i = 0; i < b->bytes && kept; i += 4096) kept = b->p[i] == b->value;
    return kept;
}

static _Atomic int wrong;

static void *storm(void *number)
{
    uint64_t seed = (uint64_t)(uintptr_t)number + 1;
    struct block blocks[BLOCKS] = { { 0 } };
    for (int i = 0; i < ROUNDS + BLOCKS; i++) {
        struct block *b = &blocks[i < ROUNDS ? (int)random_below(&seed, BLOCKS) : i - ROUNDS];
        if (b->p) {
            if (!is_kept(b)) atomic_fetch_add(&wrong, 1);
            orr_arena_free(b->p, random_below(&seed, 50) ? KEEP : 0);
            b->p = NULL;
        } else if (i < ROUNDS) {
            b->bytes = LEAST + random_below(&seed, random_below(&seed, 4) ? 64 << 10 : LARGEST);
            b->p = orr_arena_alloc(b->bytes, false);
            if (!b->p || (uintptr_t)b->p % 4096 || !orr_arena_owns(b->p)) atomic_fetch_add(&wrong, 1);
            if (!b->p) continue;
            mark(b, (unsigned char)random_below(&seed, 256));
        }
    }
    return NULL;
}

static size_t resident_bytes(void)
{
    struct stat st;
    return fstat(orr_the_arena.fd, &st) ? 0 : (size_t)st.st_blocks * 512;
}

static int in_child(int (*body)(void *), void *arg)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) _exit(body(arg));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int look(void *block)
{
    struct block there = *(struct block *)block;
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)getppid(), orr_the_arena.fd);
    struct orr_mapping m;
    size_t at = (size_t)(there.p - (unsigned char *)orr_the_arena.base);
    if (!orr_mapping_make(&m, open(name, O_RDONLY), orr_the_arena.bytes, PROT_READ)) return 1;
    if (!orr_mapping_reach(&m, at + there.bytes)) return 1;
    there.p = (unsigned char *)m.base + at;
    return is_kept(&there) ? 0 : 1;
}

static bool another_process_sees(struct block *b)
{
    return in_child(look, b) == 0;
}

/* ---- what is free ---- */

/* Blocks of a MiB with others between them, so that they do not become one. */
static void take_apart(unsigned char **p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = orr_arena_alloc(LARGEST, false);
        memset(p[i], 1, LARGEST);
        orr_arena_alloc(LEAST, false);
    }
}

static void free_apart(unsigned char **p, int n, size_t keep)
{
    for (int i = 0; i < n; i++) orr_arena_free(p[i], keep);
}

static bool is_resident(void *p, size_t bytes)
{
    static unsigned char in[LARGEST / 4096];
    bool all = mincore(p, bytes, in) == 0;
    for (size_t i = 0; i < bytes / 4096; i++) all = all && in[i] & 1;
    return all;
}

static void check_limit(void)
{
    enum { KEPT = 10 };
    unsigned char *p[BLOCKS], *latest;
    orr_arena_give_back(0);
    take_apart(p, BLOCKS);
    size_t used = resident_bytes(), most = 0;
    free_apart(p, BLOCKS, (size_t)KEPT * LARGEST);
    for (int round = 0; round < BLOCKS / KEPT; round++) {
        for (int i = 0; i < KEPT; i++) memset(p[i] = orr_arena_alloc(LARGEST, false), 1, LARGEST);
        free_apart(p, KEPT, (size_t)KEPT * LARGEST);
        most = resident_bytes() > most ? resident_bytes() : most;
    }
    is_int(most, used - (size_t)(BLOCKS - KEPT) * LARGEST,
           "what is free and in memory does not become more while blocks come and go");
    is_int(orr_arena_kept(), (size_t)KEPT * LARGEST, "and that is known");

    latest = orr_arena_alloc(LARGEST / 2, false);
    orr_arena_alloc(LEAST, false);
    memset(latest, 1, LARGEST / 2);
    orr_arena_free(latest, (size_t)KEPT * LARGEST);
    ok(is_resident(latest, LARGEST / 2), "beyond the limit the oldest is given back, not the latest");
    orr_arena_give_back((size_t)KEPT / 2 * LARGEST);
    is_int(orr_arena_kept(), (size_t)KEPT / 2 * LARGEST, "a part can be given back");
    orr_arena_give_back(0);
    is_int(resident_bytes(), used - (size_t)BLOCKS * LARGEST + LEAST, "and all of it"); /* but that one */
}

/* What is given back is the arena's even where the program has closed its file, and opened its own. */
static void check_closed(void)
{
    int fd = orr_the_arena.fd, saved = dup(fd), own = memfd_create("own", 0);
    struct stat before, after;
    unsigned char *p = orr_arena_alloc(LARGEST, false);
    off_t at = (char *)p - orr_the_arena.base;
    memset(p, 1, LARGEST);
    ok(pwrite(own, p, LARGEST, at) == LARGEST && dup2(own, fd) == fd && fstat(own, &before) == 0,
       "a program may close files that it does not know");
    orr_arena_free(p, 0);
    is_int(fstat(own, &after) == 0 ? after.st_blocks : -1, before.st_blocks, "its own stay as they are");
    dup2(saved, fd);
    close(saved);
    close(own);
}

static int is_zeros(const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i]) return 0;
    return 1;
}

/* Where others wrote before, and where nobody did. */
static void check_zeros(void)
{
    enum { TIMES = 6, MANY = 8 << 20 };
    static const size_t sizes[] = { LEAST, LARGEST, MANY };
    int right = 1;
    for (int round = 0; round < TIMES; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            unsigned char *p = orr_arena_alloc(sizes[i], true);
            right &= p && is_zeros(p, sizes[i]);
            memset(p, 255, sizes[i]);
            orr_arena_free(p, round % 2 ? 0 : SIZE_MAX);
        }
    ok(right, "blocks that are to be zeros are");
    size_t before = resident_bytes();
    unsigned char *p = orr_arena_alloc(MANY, true);
    memset(p, 255, MANY);
    orr_arena_free(p, SIZE_MAX);
    orr_arena_give_back(0);
    p = orr_arena_alloc(MANY, true);
    p[MANY / 2] = 1;
    ok(resident_bytes() < before + MANY / 2, "and cost nothing before they are touched");
    orr_arena_free(p, 0);
}

/* ---- other processes ---- */

/* A handler that the program had before the arena was there runs before the arena's own. */
static void *taken_in_child;

static void take_in_child(void)
{
    taken_in_child = orr_arena_alloc(LARGEST, false);
}

static int took_none(void *unused UNUSED)
{
    return taken_in_child != NULL;
}

static int use_in_child(void *block)
{
    orr_arena_free(block, 0);
    return orr_arena_alloc(LARGEST, false) != NULL;
}

static int open_limited(void *unused UNUSED)
{
    setrlimit(RLIMIT_AS, &(struct rlimit){ (rlim_t)1 << 60, (rlim_t)1 << 60 });
    return orr_arena_open(KEEP) != NULL;
}

static int open_locked(void *unused UNUSED)
{
    if (mlockall(MCL_FUTURE) || !orr_arena_open(KEEP)) return 0; /* it may not */
    char *p = orr_arena_alloc(LARGEST, false);
    memset(p, 1, LARGEST);
    return resident_bytes() > LARGEST;
}

static int lock_open(void *unused UNUSED)
{
    enum { MORE = 64 << 20, ALL = 1 << 30 };
    char *p = orr_arena_open(ALL) ? orr_arena_alloc(LARGEST, false) : NULL;
    if (!p) return 1;
    memset(p, 1, LARGEST);
    if (mlockall(MCL_CURRENT)) return 0; /* it may not */
    return resident_bytes() < LARGEST || resident_bytes() > LARGEST + MORE;
}

/* ---- starpu_malloc ---- */

static int freed;

static int free_own(unsigned node UNUSED, void *p, size_t bytes UNUSED, int flags UNUSED)
{
    freed++;
    free(p);
    return 0;
}

static void check_malloc(void)
{
    void *p;
    size_t before = resident_bytes();
    runtime_start(1, NULL);
    starpu_malloc(&p, LARGEST);
    ok(orr_arena_owns(p), "starpu_malloc gives blocks of it");
    memset(p, 1, LARGEST);
    starpu_free_noflag(p, LARGEST);
    ok(orr_arena_kept() >= LARGEST, "which stay in memory while the runtime is up");
    starpu_memchunk_tidy(STARPU_MAIN_RAM);
    ok(orr_arena_kept() == 0, "until they are tidied away");
    starpu_malloc(&p, LARGEST);
    memset(p, 1, LARGEST);
    starpu_free_noflag(p, LARGEST);
    starpu_shutdown();
    is_int(resident_bytes(), before, "or it ends");
    starpu_malloc_set_hooks(NULL, free_own);
    starpu_malloc(&p, LARGEST);
    starpu_free_noflag(p, LARGEST);
    is_int(freed, 1, "a program's function to free memory is asked for all");
    starpu_malloc_set_hooks(NULL, NULL);
}

/* Blocks of the arena and others, all given back. */
static void check_both(void)
{
    enum { N = 3 };
    uintptr_t p[2 * N];
    setenv("ORRERY_RECYCLE_MEM", "3", 1);
    runtime_start(1, NULL);
    for (int i = 0; i < 2 * N; i++)
        p[i] = starpu_malloc_on_node_flags(STARPU_MAIN_RAM, LARGEST, i < N ? STARPU_MALLOC_PINNED : 0);
    ok(orr_arena_owns((void *)p[0]) && !orr_arena_owns((void *)p[N]), "what is not pinned is not of it");
    for (int i = 0; i < N - 1; i++) starpu_free_on_node(STARPU_MAIN_RAM, p[i], LARGEST);
    for (int i = N; i < 2 * N; i++) starpu_free_on_node(STARPU_MAIN_RAM, p[i], LARGEST);
    is_int(orr_recycle_bytes(), 3 * LARGEST,
           "ORRERY_RECYCLE_MEM=3 keeps 3 MiB of both, where it had 2 of its own");
    starpu_free_on_node(STARPU_MAIN_RAM, p[N - 1], LARGEST);
    is_int(orr_recycle_bytes(), 3 * LARGEST, "and no more when the rest comes");
    ok(orr_arena_kept() == LARGEST, "of which that has its part: the others that came first have gone");
    starpu_shutdown();
    unsetenv("ORRERY_RECYCLE_MEM");
}

int main(void)
{
    pthread_t threads[THREADS];
    int on_stack;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* pages are counted */
    ok(!orr_arena_alloc(LARGEST, false) && !orr_arena_owns(&on_stack),
       "before it is open there are no blocks");
    is_int(in_child(open_limited, NULL), 0, "it is not for who has a limit on addresses");
    is_int(in_child(open_locked, NULL), 0, "who locks all memory to come has as much as is used");
    is_int(in_child(lock_open, NULL), 0, "nor does who locks all that there is have much more than that");
    pthread_atfork(NULL, NULL, take_in_child);
    if (!orr_arena_open(SIZE_MAX)) skip_all("this system has no such memory");
    ok(orr_arena_open(SIZE_MAX)->base == orr_the_arena.base, "it is opened once");
    ok(!orr_arena_alloc(100, false), "small blocks are left to malloc");
    ok(!orr_arena_alloc(orr_the_arena.bytes + 1, false) && !orr_arena_alloc(SIZE_MAX, false),
       "and so are those that do not fit");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, storm, (void *)(uintptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    is_int(wrong, 0, "blocks of %d threads do not overlap, and keep what is in them", THREADS);

    struct block a = { .bytes = LARGEST }, b = { .bytes = LARGEST }, whole = { .bytes = 2 * LARGEST - 4096 };
    a.p = orr_arena_alloc(a.bytes, false);
    b.p = orr_arena_alloc(b.bytes, false);
    mark(&a, 1);
    mark(&b, 2);
    ok(another_process_sees(&a) && another_process_sees(&b), "another process sees what is in them");
    is_int(in_child(use_in_child, a.p), 0, "a child of fork has no blocks of it");
    is_int(in_child(took_none, NULL), 0, "nor while the program's handlers of the fork run");
    ok(is_kept(&a), "and cannot give back its parent's");
    size_t before = resident_bytes();
    orr_arena_free(a.p, 0);
    ok(resident_bytes() + LARGEST <= before, "beyond the limit memory goes back to the system");
    ok(is_kept(&b), "but not that of others");
    orr_arena_free(b.p, SIZE_MAX);
    unsigned char *again = orr_arena_alloc(LARGEST, false);
    ok(again == a.p || again == b.p || (again < a.p), "what was freed is used again");
    orr_arena_free(again, SIZE_MAX);
    struct block all[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) all[i].p = orr_arena_alloc(LARGEST, false);
    unsigned char *end = all[BLOCKS - 1].p;
    for (int i = 0; i < BLOCKS; i++) end = all[i].p > end ? all[i].p : end;
    for (int i = 0; i < BLOCKS; i += 2) orr_arena_free(all[i].p, SIZE_MAX);
    for (int i = 1; i < BLOCKS; i += 2) orr_arena_free(all[i].p, SIZE_MAX);
    whole.p = orr_arena_alloc(whole.bytes, false);
    ok(whole.p && whole.p < end, "free neighbours become one");
    orr_arena_free(whole.p, 0);
    check_limit();
    check_closed();
    check_zeros();
    check_malloc();
    check_both();
    return done_testing();
}
