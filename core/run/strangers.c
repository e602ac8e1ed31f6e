/* SPDX-License-Identifier: BSD-3-Clause */
/* strangers.c: see strangers.h.
 * Threads: see there. Owns: nothing lasting. Not here: what follows from a stranger (deadlock.c).
 *
 * MPI libraries, OpenMP and BLAS make threads that never call the runtime: of progress, or pools that sleep
 * until somebody gives them work. They are told by their stacks. From its stack pointer (/proc) up to and
 * with what the C library keeps for it, which holds the function it began with, a thread of such a library
 * has addresses of code of that library and of the C library, and of none else: a thread that the program, or
 * anything else, made has some. What cannot be read, or not be understood, is a stranger. */
#include "core/run/strangers.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/thread.h"

enum { KNOWN_MAX = 4096, RANGES_MAX = 2048, CHUNK_BYTES = 4096, STACK_MAX = 1 << 20, COMM_BYTES = 32 };

/* ---- whose code ---- */

enum kind {
    OTHERS,   /* the program's, or of a library that may call it */
    NEUTRAL,  /* proves nothing */
    HARMLESS, /* of a library whose threads do nothing of their own */
};

struct range {
    uintptr_t begin, end;
    enum kind kind;
};

struct code {
    struct range range[RANGES_MAX];
    unsigned count;
    bool full;
};

static bool begins_with_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strncmp(name, *list, strlen(*list)) == 0) return true;
    return false;
}

static enum kind kind_of(const char *path)
{
    static const char *const neutral[] = { "libc.",  "libc-",  "ld-",       "libpthread", "libevent", "libm.",
                                           "libdl.", "librt.", "libgcc_s.", "linux-vdso", NULL };
    static const char *const harmless[] = { "libmpi.",  "libopen-pal", "libopen-rte", "libpmix",
                                            "libprrte", "mca_",        "libucs",      "libuct",
                                            "libucp",   "libfabric",   "libpsm",      "libmpich",
                                            "libgomp",  "libopenblas", "libblis",     "libpocl",
                                            "libtsan.", NULL };
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (begins_with_one_of(name, harmless)) return HARMLESS;
    return begins_with_one_of(name, neutral) ? NEUTRAL : OTHERS;
}

static int add_module(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct code *c = arg;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        if (c->count == RANGES_MAX) {
            c->full = true;
            return 1;
        }
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        c->range[c->count++] = (struct range){ begin, begin + p->p_memsz, kind_of(info->dlpi_name) };
    }
    return 0;
}

/* ---- whose thread ---- */

/* What the thread's file in /proc says; "" when it cannot be read. */
static void read_proc(const char *tid, const char *file, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, bytes - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
}

#if defined(__x86_64__) && defined(__GLIBC__)

/* Where the thread's stack is while it sleeps in a system call; 0: it does not, or nobody says. */
static uintptr_t stack_of(const char *tid)
{
    char text[256], *word[9];
    unsigned n = 0;
    read_proc(tid, "syscall", text, sizeof text);
    for (char *save, *s = strtok_r(text, " \n", &save); s && n < 9; s = strtok_r(NULL, " \n", &save))
        word[n++] = s;
    return n == 9 ? strtoul(word[7], NULL, 16) : 0;
}

/* What a stack has shown so far. */
struct sight {
    bool harmless, others;
    uintptr_t end; /* of what is to be looked at */
};

static void look_at_word(const struct code *c, uintptr_t value, struct sight *s)
{
    for (unsigned i = 0; i < c->count; i++) {
        if (value < c->range[i].begin || value >= c->range[i].end) continue;
        if (c->range[i].kind == HARMLESS) s->harmless = true;
        if (c->range[i].kind == OTHERS) s->others = true;
        return;
    }
}

/* The C library's record of a thread begins with its own address, twice: first and third word. */
static bool is_record(const uintptr_t *word, uintptr_t at)
{
    return at % 64 == 0 && word[0] == at && word[2] == at;
}

static bool is_harmless(const char *tid, const struct code *c)
{
    enum { WORDS = CHUNK_BYTES / sizeof(uintptr_t), RECORD_BYTES = 2400 };
    uintptr_t word[WORDS], from = stack_of(tid) & ~(uintptr_t)63;
    struct sight s = { .end = from + STACK_MAX };
    bool record = false;
    int fd = from && !c->full ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -1;
    for (uintptr_t at = from; fd >= 0 && at < s.end && !s.others; at += CHUNK_BYTES) {
        ssize_t n = pread(fd, word, sizeof word, (off_t)at); /* may end before; it may be gone meanwhile */
        for (unsigned i = 0; n > 0 && i < (size_t)n / sizeof *word; i++) {
            uintptr_t here = at + i * sizeof *word;
            if (here >= s.end) break;
            if (!record && i + 2 < WORDS && is_record(&word[i], here)) {
                record = true;
                s.end = here + RECORD_BYTES;
            }
            look_at_word(c, word[i], &s);
        }
        if (n < (ssize_t)sizeof word) break;
    }
    if (fd >= 0) close(fd);
    return record && s.harmless && !s.others;
}

#else

static bool is_harmless(const char *tid, const struct code *c)
{
    (void)tid;
    (void)c;
    return false;
}

#endif

/* ---- all of them ---- */

static bool has_ended(const char *tid)
{
    char text[256];
    read_proc(tid, "stat", text, sizeof text);
    const char *name_end = strrchr(text, ')');
    return !name_end || strchr("ZXx", name_end[1] ? name_end[2] : 'X') != NULL;
}

static void note(struct orr_strangers *s, const char *tid)
{
    char comm[COMM_BYTES];
    size_t used = strlen(s->names);
    read_proc(tid, "comm", comm, sizeof comm);
    comm[strcspn(comm, "\n")] = 0;
    s->count++;
    if (used < sizeof s->names - COMM_BYTES - 16)
        snprintf(s->names + used, sizeof s->names - used, "%s%.20s (%s)", used ? ", " : "", tid, comm);
    else if (used < sizeof s->names - 5 && strcmp(s->names + used - 3, "...") != 0)
        strcpy(s->names + used, " ...");
}

static bool is_known(const int *known, unsigned count, int tid)
{
    for (unsigned i = 0; i < count; i++)
        if (known[i] == tid) return true;
    return false;
}

struct orr_strangers orr_strangers_look(void)
{
    struct orr_strangers s = { .count = 1, .names = "those of this process cannot be listed" };
    DIR *dir = opendir("/proc/self/task");
    int *known = orr_malloc(KNOWN_MAX * sizeof *known);
    struct code *code = orr_calloc(1, sizeof *code);
    if (!dir || !known || !code) goto out;
    s = (struct orr_strangers){ 0 };
    unsigned count = orr_threads_numbers(known, KNOWN_MAX);
    dl_iterate_phdr(add_module, code);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        int tid = atoi(e->d_name);
        if (tid <= 0 || is_known(known, count, tid) || has_ended(e->d_name)) continue;
        if (!is_harmless(e->d_name, code)) note(&s, e->d_name);
    }
out:
    orr_free(code);
    orr_free(known);
    if (dir) closedir(dir);
    return s;
}
