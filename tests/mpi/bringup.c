/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bring-up that fails on one rank fails on all, says why, and leaves nothing behind: whatever fails, the
 * transport, a thread, room for who polls, or any allocation.
 * Threads: one for each rank.
 * Owns: pthread_create, which fails when it is to.
 * Not here: ranks that fail later (failures_*.c).
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <starpu.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/worker/worker.h"
#include "tests/mpi/in_process.h"

enum { RANKS = 3, REPEATED = 20, SLACK_BYTES = 4096 };

/* The library's threads, counted: the n-th from now on is not to be had; -1: all are. */
static _Atomic int threads_left = -1;
static _Atomic bool counts_threads;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (start != job_thread && atomic_load(&counts_threads) && atomic_fetch_sub(&threads_left, 1) == 0)
        return EAGAIN;
    return real(thread, attr, start, arg);
}

static size_t threads_of_runtime;
static int status[RANKS], ended[RANKS];

static int no_transport_on = -1;          /* rank */
static int first_allocation_to_fail = -1; /* from when the ranks begin; -1: none */

static void start_and_end(struct job *j, int rank)
{
    status[rank] = rank_try_start(j, rank);
    if (!status[rank]) ended[rank] = rank_end(j, rank);
}

static int entries(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d)) count++;
    if (d) closedir(d);
    return count;
}

static struct {
    char text[20000];
    size_t bytes, threads, files;
} seen;

/* Starts on all ranks, and ends what started. Returns 1 if all ranks started, 0 if none did, -1 otherwise. */
static int try(void)
{
    int saved = dup(2), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    dup2(file, 2);
    struct job j;
    job_create(&j, RANKS, 0, 0, start_and_end);
    j.fails_to_open = no_transport_on;
    if (first_allocation_to_fail >= 0) orr_alloc_fail_after(first_allocation_to_fail, false);
    job_run(&j);
    job_join(&j);
    dup2(saved, 2);
    close(saved);
    ssize_t n = pread(file, seen.text, sizeof seen.text - 1, 0);
    seen.text[n > 0 ? n : 0] = 0;
    close(file);
    seen.bytes = mallinfo2().uordblks;
    seen.threads = (size_t)entries("/proc/self/task");
    for (int i = 0; i < 2000 && seen.threads > threads_of_runtime; i++) {
        usleep(1000); /* who was joined is still listed for a moment */
        seen.threads = (size_t)entries("/proc/self/task");
    }
    seen.files = (size_t)entries("/proc/self/fd");
    int good = 0;
    for (int i = 0; i < RANKS; i++) good += status[i] == 0;
    return good == RANKS ? 1 : good == 0 ? 0 : -1;
}

static bool says(const char *what)
{
    if (strstr(seen.text, what)) return true;
    diag("looked for \"%s\" in: %s", what, seen.text);
    return false;
}

static bool nothing_left(size_t bytes, size_t threads, size_t files)
{
    bool same = seen.threads == threads && seen.files == files && seen.bytes <= bytes + SLACK_BYTES;
    if (!same)
        diag("bytes %zu, were %zu; threads %zu, were %zu; files %zu, were %zu", seen.bytes, bytes,
             seen.threads, threads, seen.files, files);
    return same;
}

static void no_transport(void)
{
    for (int i = 0; i < REPEATED; i++) try(); /* what is kept for good is there */
    is_int(try(), 1, "all ranks start");
    size_t threads = seen.threads, files = seen.files;
    for (int rank = 0; rank < RANKS; rank++) {
        no_transport_on = rank;
        is_int(try(), 0, "none starts when rank %d has no transport", rank);
        try();
        size_t bytes = seen.bytes;
        ok(says("another rank could not start"), "the others say that it is another");
        for (int i = 0; i < REPEATED; i++) try();
        ok(nothing_left(bytes, threads, files), "no memory, thread or file is left of %d tries", REPEATED);
        no_transport_on = -1;
    }
    is_int(try(), 1, "and then all start");
}

static void no_threads(void)
{
    size_t threads = seen.threads, files = seen.files;
    int refused = 0, warned = 0, wrong = 0, left = 0, unsaid = 0, n = 0;
    atomic_store(&counts_threads, true);
    for (bool any = true; any; n++) {
        size_t bytes = 0;
        for (int i = 0; i < 2; i++) {
            atomic_store(&threads_left, n);
            int r = try();
            any = atomic_load(&threads_left) < 0;
            wrong += r < 0;
            if (!any) break;
            if (r == 0) {
                refused += i;
                unsaid += !says("thread cannot be started") || !says("another rank could not start");
            } else if (says("will not be noticed")) {
                warned += i;
            }
            if (i) left += !nothing_left(bytes, threads, files);
            bytes = seen.bytes;
        }
    }
    atomic_store(&counts_threads, false);
    ok(refused >= RANKS, "each rank's thread for messages is needed (%d of %d threads)", refused, n - 1);
    ok(warned >= RANKS, "without one that watches the ranks start, and say so (%d)", warned);
    is_int(wrong, 0, "no rank starts alone");
    is_int(unsaid, 0, "who has no thread says so, and the others that it is another");
    is_int(left, 0, "nothing is left");
    is_int(try(), 1, "and then all start");
}

static bool moves_nothing(void *arg)
{
    (void)arg;
    return false;
}

/* There is room for one rank more among the functions that idle workers call. */
static void no_room(void)
{
    enum { MOST = 1000 };
    static char one[MOST];
    int taken = 0;
    size_t threads = seen.threads, files = seen.files, bytes = seen.bytes;
    while (taken < MOST && !orr_progress_register((struct orr_progress){ moves_nothing, &one[taken] }))
        taken++;
    orr_progress_unregister((struct orr_progress){ moves_nothing, &one[0] });
    is_int(try(), 0, "none starts when some find that too many poll in this process");
    ok(says("too many others poll") && says("another rank could not start"), "they say so, and the others");
    ok(taken < MOST && nothing_left(bytes, threads, files), "nothing is left");
    for (int i = 1; i < taken; i++) orr_progress_unregister((struct orr_progress){ moves_nothing, &one[i] });
    is_int(try(), 1, "and then all start");
}

static void no_memory(void)
{
    size_t threads = seen.threads, files = seen.files;
    int refused = 0, wrong = 0, left = 0, unsaid = 0, n = 0;
    for (bool failed = true; failed; n++) {
        size_t bytes = 0;
        for (int i = 0; i < 2; i++) {
            first_allocation_to_fail = n;
            int r = try();
            failed = orr_alloc_fail_after(-1, false);
            wrong += r < 0;
            if (!failed) break;
            if (r == 0) {
                refused += i;
                unsaid += !says("out of memory");
                if (i) left += !nothing_left(bytes, threads, files);
            }
            bytes = seen.bytes;
        }
    }
    first_allocation_to_fail = -1;
    ok(refused >= RANKS, "%d of %d allocations are needed to start", refused, n - 1);
    is_int(wrong, 0, "no rank starts alone, whichever fails");
    is_int(unsaid, 0, "what is lacking is said");
    is_int(left, 0, "nothing is left");
    is_int(try(), 1, "and then all start");
    is_int(ended[0] | ended[1] | ended[2], 0, "and end well");
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf)) skip_all("no worker");
    setenv("ORRERY_HEARTBEAT_MS", "60000", 1);
    threads_of_runtime = (size_t)entries("/proc/self/task");
    no_transport();
    no_threads();
    no_room();
    no_memory();
    starpu_shutdown();
    return done_testing();
}
