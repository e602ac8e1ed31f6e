/* SPDX-License-Identifier: BSD-3-Clause */
/* record_file.c: see record.h; the thread that takes records off the tape and writes them to the file.
 * Threads: its own writes; who opens, flushes and closes says so in record.h. Owns: the file, its name. Not
 * here: records (record.c).
 *
 * The words of a ring go to the file as they are, in blocks with a sum each, so the thread does little more
 * than copy; it comes when a ring is half full, and 20 times a second. Nothing in the file is ever written
 * over: whoever kills the process leaves what was written until then, and at most the last block is cut
 * short. After a failed write (a full disk) nothing more is written, and recording ends. A child that was
 * forked has no such thread, and leaves the file alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include <orrery.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/otrace.h"
#include "core/mem/node.h"
#include "core/run/record.h"
#include "core/topo/topo.h"
#include "core/worker/crash.h"
#include "core/worker/policy.h"
#include "core/worker/worker.h"

enum { TURN_NS = 50000000, FLUSH_NS = 1000000000, META_BYTES = 1 << 10 };

struct orr_record_file {
    struct orr_tape *tape;
    char *name;
    pthread_t thread;
    int fd;
    pid_t pid;
    int rank_told; /* [own: who writes] */
    bool failed;   /* [own: who writes] */
    uint64_t
        body_told[STARPU_NMAXWORKERS]; /* [own: who writes] since when the body runs that was told last */
    _Atomic bool stop;
    _Atomic uint32_t asked;   /* how often a flush was asked for */
    _Atomic uint32_t flushed; /* futex: that was asked for before the tape was last taken */
};

/* ---- the name ---- */

/* The rank where %r is, or before the ending. */
static char *with_rank(const char *name, int rank)
{
    const char *at = strstr(name, "%r"), *base = strrchr(name, '/'), *dot;
    if (at) return orr_printf_alloc("%.*s%d%s", (int)(at - name), name, rank < 0 ? 0 : rank, at + 2);
    if (rank < 0) return orr_strdup(name);
    base = base ? base + 1 : name;
    dot = strrchr(base, '.');
    if (!dot || dot == base) return orr_printf_alloc("%s.%d", name, rank);
    return orr_printf_alloc("%.*s.%d%s", (int)(dot - name), name, rank, dot);
}

/* As StarPU names it: PREFIX/prof_file_USER_RANK and a suffix. */
static char *peers_name(void)
{
    const char *prefix = orr_env_string(ORR_SETTING(STARPU_FXT_PREFIX));
    const char *suffix = orr_env_string(ORR_SETTING(STARPU_FXT_SUFFIX));
    const char *user = orr_env_string(ORR_SETTING(USER));
    int rank = orr_topo_launched_rank();
    if (!suffix || strchr(suffix, '/')) suffix = "";
    return orr_printf_alloc("%s/prof_file_%s_%d%s", prefix ? prefix : "/tmp", user ? user : "",
                            rank < 0 ? 0 : rank, suffix);
}

char *orr_record_name(void)
{
    const char *name = orr_env_string(ORR_SETTING(ORRERY_TRACE));
    if (name) return with_rank(name, orr_topo_launched_rank());
    return orr_env_long(ORR_SETTING(STARPU_FXT_TRACE), 0, 0, 1) ? peers_name() : NULL;
}

/* ---- writing ---- */

static void fail(struct orr_record_file *f, int error)
{
    orr_error("the recording %s could not be written (%s); it ends here", f->name, strerror(error));
    f->failed = true;
    orr_record_switch(false);
}

static void write_all(struct orr_record_file *f, struct iovec *parts, int n)
{
    while (n > 0 && !f->failed) {
        ssize_t bytes = writev(f->fd, parts, n);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) fail(f, errno);
        for (; n > 0 && bytes >= (ssize_t)parts->iov_len; n--) bytes -= (ssize_t)parts++->iov_len;
        if (n > 0 && bytes > 0) {
            parts->iov_base = (char *)parts->iov_base + bytes;
            parts->iov_len -= (size_t)bytes;
        }
    }
}

static uint64_t real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_block(struct orr_record_file *f, uint32_t type, uint32_t ring, uint64_t lost,
                        const uint64_t *words, size_t n)
{
    enum { SUMMED = offsetof(struct otrace_block, checksum) / sizeof(uint64_t) };
    union {
        struct otrace_block block;
        uint64_t words[sizeof(struct otrace_block) / sizeof(uint64_t)];
    } h = { .block = { .magic = OTRACE_BLOCK_MAGIC,
                       .type = type,
                       .ring = ring,
                       .bytes = n * sizeof *words,
                       .lost = lost,
                       .mono_ns = orr_clock_ns(),
                       .ticks = orr_ticks(),
                       .real_ns = real_ns() } };
    h.block.checksum = otrace_sum(otrace_sum(0, h.words, SUMMED), words, n);
    struct iovec parts[] = { { &h, sizeof h }, { (void *)words, n * sizeof *words } };
    write_all(f, parts, 2);
}

static bool write_run(void *arg, const struct orr_tape_ring *ring, const uint64_t *words, size_t n)
{
    struct orr_record_file *f = arg;
    write_block(f, OTRACE_RECORDS, ring->number, orr_load_acquire(&ring->lost), words, n);
    return true;
}

/* ---- what is known of the run ---- */

struct meta {
    uint64_t word[META_BYTES / sizeof(uint64_t)];
    size_t bytes;
};

static void meta_end(struct orr_record_file *f, struct meta *m)
{
    size_t n = (m->bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    memset((char *)m->word + m->bytes, '\n', n * sizeof(uint64_t) - m->bytes);
    if (n) write_block(f, OTRACE_META, 0, 0, m->word, n);
    m->bytes = 0;
}

__attribute__((format(printf, 3, 4))) static void meta_line(struct orr_record_file *f, struct meta *m,
                                                            const char *fmt, ...)
{
    enum { LINE = 300 };
    va_list ap;
    if (m->bytes + LINE > META_BYTES) meta_end(f, m);
    va_start(ap, fmt);
    int n = vsnprintf((char *)m->word + m->bytes, LINE, fmt, ap);
    va_end(ap);
    m->bytes += (size_t)(n < LINE ? n : LINE - 1);
    ((char *)m->word)[m->bytes++] = '\n';
}

static void write_meta(struct orr_record_file *f)
{
    struct meta m = { .bytes = 0 };
    char host[200] = "";
    gethostname(host, sizeof host - 1);
    meta_line(f, &m, "orrery %d.%d.%d", ORRERY_VERSION_MAJOR, ORRERY_VERSION_MINOR, ORRERY_VERSION_PATCH);
    meta_line(f, &m, "host %s", host);
    meta_line(f, &m, "program %s", program_invocation_short_name);
    meta_line(f, &m, "policy %s", orr_contexts[0].policy->name);
    for (unsigned i = 0; i < orr_node_count; i++) meta_line(f, &m, "node %u %s", i, orr_nodes[i].name);
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        meta_line(f, &m, "worker %u %d %u %s", i, (int)w->type, w->node, w->name);
    }
    meta_end(f, &m);
}

static void write_rank(struct orr_record_file *f)
{
    struct meta m = { .bytes = 0 };
    int rank = orr_log_rank();
    if (rank < 0 || rank == f->rank_told) return;
    f->rank_told = rank;
    meta_line(f, &m, "rank %d", rank);
    meta_end(f, &m);
}

static void write_start(struct orr_record_file *f)
{
    struct otrace_file h = { .magic = OTRACE_FILE_MAGIC,
                             .version = OTRACE_VERSION,
                             .header_bytes = sizeof h,
                             .ns_per_tick = orr_ns_per_tick,
                             .start_ticks = orr_ticks(),
                             .start_mono_ns = orr_clock_ns(),
                             .start_real_ns = real_ns(),
                             .pid = (uint32_t)f->pid,
                             .rank = orr_topo_launched_rank() };
    f->rank_told = h.rank;
    struct iovec part = { &h, sizeof h };
    write_all(f, &part, 1);
    write_meta(f);
}

/* Bodies are recorded when they end. Those that run for some time by now, or all, are told of once before,
 * for whoever reads what a process left that did not end in order. */
static void write_running(struct orr_record_file *f, bool all)
{
    uint64_t now = orr_ticks(), least = all ? 0 : orr_us_to_ticks(TURN_NS / 1e3), since = 0;
    if (!orr_record_is_on()) return;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        uint64_t job = orr_worker_body(&orr_workers[i], &since);
        if (!job || since == f->body_told[i] || (int64_t)(now - since) < (int64_t)least) continue;
        uint64_t record[] = { OTRACE_HEAD(OTRACE_RUNNING, 2, since), OTRACE_PAIR(job, i) };
        f->body_told[i] = since;
        write_block(f, OTRACE_RECORDS, OTRACE_NO_RING, 0, record, sizeof record / sizeof *record);
    }
}

/* ---- the thread ---- */

/* Takes what is on the tape; who asked before is answered. */
static void turn(struct orr_record_file *f)
{
    uint32_t asked = orr_load_acquire(&f->asked);
    bool wanted = orr_load_relaxed(&f->flushed) != asked;
    orr_store_release(&f->tape->due, 0u);
    orr_tape_take(f->tape, write_run, f);
    write_running(f, wanted);
    write_rank(f);
    if (!wanted) return;
    orr_store_release(&f->flushed, asked);
    orr_futex_wake(&f->flushed, INT32_MAX);
}

static void *run(void *arg)
{
    struct orr_record_file *f = arg;
    orr_thread_is_internal();
    while (!orr_load_acquire(&f->stop)) {
        orr_futex_wait(&f->tape->due, 0, TURN_NS);
        turn(f);
    }
    return NULL;
}

static size_t ring_words(void)
{
    enum { DEFAULT_MIB = 4, MOST_MIB = 1024 };
    long fallback = orr_env_long(ORR_SETTING(STARPU_TRACE_BUFFER_SIZE), DEFAULT_MIB, 1, MOST_MIB);
    size_t bytes = (size_t)orr_env_long(ORR_SETTING(ORRERY_TRACE_BUFFER), fallback, 1, MOST_MIB) << 20;
    size_t words = 1;
    while (words * 2 * sizeof(uint64_t) <= bytes) words *= 2;
    return words;
}

/* ---- beginning and end ---- */

static struct orr_record_file *_Atomic current; /* for who ends the process */

static void give_up(struct orr_record_file *f)
{
    if (f && f->fd >= 0) close(f->fd);
    if (f) orr_free(f->name);
    orr_free(f);
}

struct orr_record_file *orr_record_file_open(const char *name, struct orr_tape *tape)
{
    struct orr_record_file *f = orr_calloc(1, sizeof *f);
    if (f) f->fd = -1;
    if (!f || !(f->name = orr_strdup(name))) {
        orr_error("nothing is recorded: there is no memory");
        give_up(f);
        return NULL;
    }
    f->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0) {
        orr_error("nothing is recorded: %s cannot be written (%s); ORRERY_TRACE names another file", name,
                  strerror(errno));
        give_up(f);
        return NULL;
    }
    f->tape = tape;
    f->pid = getpid();
    orr_tape_open(tape, ring_words());
    write_start(f);
    if (orr_thread_start(&f->thread, run, f, "orr-record") != 0) {
        orr_error("nothing is recorded: no thread can be made that writes %s", name);
        orr_tape_close(tape);
        give_up(f);
        return NULL;
    }
    orr_store_release(&current, f);
    orr_store_release(&orr_crash_save, orr_record_flush_now);
    return f;
}

static void flush(struct orr_record_file *f)
{
    uint32_t wanted = orr_add_acq_rel(&f->asked, 1u) + 1;
    uint64_t until = orr_clock_ns() + FLUSH_NS;
    orr_store_release(&f->tape->due, 1u);
    orr_futex_wake(&f->tape->due, 1);
    for (;;) {
        uint32_t flushed = orr_load_acquire(&f->flushed);
        if ((int32_t)(flushed - wanted) >= 0 || orr_clock_ns() >= until) return;
        orr_futex_wait(&f->flushed, flushed, TURN_NS);
    }
}

void orr_record_file_close(struct orr_record_file *f)
{
    orr_store_release(&orr_crash_save, NULL);
    orr_store_release(&current, NULL);
    if (f->pid != getpid()) { /* its thread is its parent's, and so is the file */
        orr_tape_close(f->tape);
        give_up(f);
        return;
    }
    orr_store_release(&f->stop, true);
    orr_store_release(&f->tape->due, 1u);
    orr_futex_wake(&f->tape->due, 1);
    pthread_join(f->thread, NULL);
    turn(f);
    uint64_t lost = orr_tape_lost(f->tape);
    write_block(f, OTRACE_END, 0, lost, NULL, 0);
    if (lost && !f->failed)
        orr_warn(
            "%llu records did not fit into memory and are not in %s; ORRERY_TRACE_BUFFER makes room for more",
            (unsigned long long)lost, f->name);
    orr_tape_close(f->tape);
    give_up(f);
}

void orr_record_flush_now(void)
{
    struct orr_record_file *f = orr_load_acquire(&current);
    if (f && f->pid == getpid() && !pthread_equal(f->thread, pthread_self())) flush(f);
}

/* A program may end without shutting the runtime down. */
static __attribute__((destructor)) void at_exit(void)
{
    orr_record_flush_now();
}
