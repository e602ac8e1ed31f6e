/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.c: see guard.h.
 * Threads: see guard.h. Owns: the guard's thread and file descriptors. Not here: deadlocks (stuck.c).
 *
 * A process of this node that ends is known at once, from its pidfd. A rank that was stopped, or whose node
 * is gone, is known from its silence (pulse.c): the beat comes from this thread, so that a rank in a long
 * computation is never taken for dead. Whoever notices says so and tells all others; each names the rank,
 * leaves the others a moment to do so as well, and ends, because launchers end the job with the first rank.
 *
 * While the layer shuts down, a rank that ends may have gone in good order: everybody then is in the last
 * barrier, which ends by itself if so. */
#include "mpi/live/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <starpu_mpi.h>

#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/thread.h"
#include "mpi/live/control.h"
#include "mpi/wire/progress.h"
#include "mpi/live/pulse.h"

enum {
    PROCESSES_MAX = 16,
    LIMIT_MS = 3750,
    GRACE_MS = 200,
    CLOSING_MS = 1000,
    POLLS_MAX = 256,
    STEP_US = 5000,
    TRIES = 20
};
enum why { WHY_ENDED = 1, WHY_SILENT, WHY_EXIT };

static struct {
    pthread_t thread;
    _Atomic bool running;
    bool watching;       /* [const while running] */
    pid_t pid;           /* a forked child has no guard [const while running] */
    bool (*chore)(void); /* [const while running] */
    int wake_fd;
    struct pollfd fds[1 + PROCESSES_MAX]; /* [own: guard] wake_fd first */
    int rank_of[1 + PROCESSES_MAX];
    bool silent[1 + PROCESSES_MAX];
    int nfds;
    struct orr_pulse pulse;
    _Atomic uint32_t stop, closing, hushed, leaving; /* leaving: 1 asked for, 2 told */
    _Atomic uint64_t told;                           /* last GONE: 1 + rank, why << 32; 0: none */
    int named[2 * PROCESSES_MAX], nnamed;            /* [own: guard] */
} guard;

uint32_t orr_guard_limit_ms(void)
{
    return (uint32_t)orr_env_long(ORR_SETTING(ORRERY_HEARTBEAT_MS), LIMIT_MS, 0, 86400000);
}

static uint64_t now_ms(void)
{
    return orr_clock_ns() / 1000000;
}

void orr_guard_wake(void)
{
    const uint64_t one = 1;
    if (orr_load_acquire(&guard.running) && write(guard.wake_fd, &one, sizeof one) < 0)
        return; /* it is awake */
}

void orr_guard_hush(void)
{
    orr_store_release(&guard.hushed, 1u);
}

/* A control message came: BEAT or GONE. */
static void heard(int source, const struct orr_wire_header *h, const void *none)
{
    (void)none;
    if (!orr_load_acquire(&guard.running)) return;
    if (h->type == ORR_CONTROL_BEAT) {
        if (guard.watching) orr_pulse_heard(&guard.pulse, source);
        return;
    }
    if (h->tag < 0 || h->tag >= orr_cluster.size) return;
    orr_store_release(&guard.told, (uint64_t)(h->tag + 1) | h->id << 32);
    orr_guard_wake();
}

/* ---- the end ---- */

static void *end_anyway(void *unused)
{
    (void)unused;
    usleep(4 * GRACE_MS * 1000);
    _exit(1);
}

/* From here on MPI may hang. */
static void end_in_any_case(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, end_anyway, NULL) == 0) pthread_detach(t);
}

static void flush_output(void)
{
    if (ftrylockfile(stdout)) return; /* somebody is stuck with it */
    fflush(stdout);
    funlockfile(stdout);
}

/* Launchers are quick when one rank asks for the end while the others are still there: the first that lives.
 */
static _Noreturn void leave(int first)
{
    const struct orr_transport *t = orr_cluster.engine.transport;
    flush_output();
    if (!t->ops->abort || !orr_cluster.free_threads) _exit(1);
    if (orr_cluster.rank == first) t->ops->abort((struct orr_transport *)t);
    usleep(2 * GRACE_MS * 1000);
    _exit(1);
}

_Noreturn void orr_guard_end(void)
{
    orr_guard_hush();
    end_in_any_case();
    usleep(GRACE_MS * 1000);
    leave(0);
}

static void poll_engine(void)
{
    for (int i = 0; i < POLLS_MAX && orr_progress_pass(&orr_cluster.progress); i++) continue;
}

/* Tells all others that a rank is gone. */
static void tell_all(int gone, enum why why)
{
    for (int r = 0; r < orr_cluster.size; r++) {
        if (r == orr_cluster.rank || r == gone) continue;
        for (int i = 0; i < TRIES && !orr_control_send(r, ORR_CONTROL_GONE, gone, why, 0, NULL, 0); i++)
            if (orr_cluster.free_threads) poll_engine(); /* no buffer: some sends must end first */
    }
}

static bool was_named(int rank)
{
    for (int i = 0; i < guard.nnamed; i++)
        if (guard.named[i] == rank) return true;
    return false;
}

/* Says, once for each rank, that it is gone, and tells the others. */
static void name(int rank, enum why why)
{
    if (was_named(rank) || guard.nnamed == 2 * PROCESSES_MAX) return;
    guard.named[guard.nnamed++] = rank;
    for (int i = 1; i < guard.nfds; i++)
        if (guard.rank_of[i] == rank) guard.silent[i] = why == WHY_SILENT;
    if (rank == orr_cluster.rank)
        orr_error("this rank was silent for so long that the others gave it up; the job ends");
    else if (why == WHY_SILENT)
        orr_error(
            "rank %d is gone: no sign of life for %u ms, it was stopped or its node is down; the job ends "
            "(ORRERY_HEARTBEAT_MS sets the limit, 0 none)",
            rank, guard.pulse.limit_ms);
    else
        orr_error("rank %d is gone: its process %s; the job ends", rank,
                  why == WHY_EXIT ? "exited without starpu_mpi_shutdown" : "was killed, or ended by itself");
    tell_all(rank, why);
}

static bool name_told(void)
{
    uint64_t told = orr_load_acquire(&guard.told);
    if (told) name((int)(told & UINT32_MAX) - 1, (enum why)(told >> 32));
    return told != 0;
}

static bool name_ended(void)
{
    bool any = false;
    if (poll(guard.fds, (nfds_t)guard.nfds, 0) <= 0) return false;
    for (int i = 1; i < guard.nfds; i++) {
        if (!guard.fds[i].revents) continue;
        any = true;
        close(guard.fds[i].fd);
        guard.fds[i].fd = -1; /* ignored from now on */
        name(guard.rank_of[i], WHY_ENDED);
    }
    return any;
}

/* A process that was stopped does not end by itself, and a launcher that is not asked takes its time. */
static void kill_silent(void)
{
    for (int i = 1; i < guard.nfds; i++)
        if (guard.fds[i].fd >= 0 && guard.silent[i])
            syscall(SYS_pidfd_send_signal, guard.fds[i].fd, SIGKILL, NULL, 0);
}

/* Lets the others say it as well, names whoever follows, and ends this process. */
static void end_job(void)
{
    int first = 0;
    uint64_t until = now_ms() + GRACE_MS;
    end_in_any_case();
    while (now_ms() < until) {
        name_ended();
        if (orr_cluster.free_threads) poll_engine();
        name_told();
        usleep(STEP_US);
    }
    while (was_named(first)) first++;
    if (!orr_cluster.free_threads) kill_silent();
    leave(first);
}

/* While the layer shuts down: whether it ends by itself, so that all is well. */
static bool closes_well(void)
{
    if (!orr_load_acquire(&guard.closing)) return false;
    for (uint64_t until = now_ms() + CLOSING_MS; now_ms() < until; usleep(STEP_US))
        if (orr_load_acquire(&guard.stop)) return true;
    return orr_load_acquire(&guard.stop) != 0;
}

/* ---- the thread ---- */

static bool send_beat(void *unused, int peer)
{
    (void)unused;
    return orr_control_send(peer, ORR_CONTROL_BEAT, 0, 0, 0, NULL, 0);
}

static bool somebody_ended(void)
{
    for (int i = 1; i < guard.nfds; i++)
        if (guard.fds[i].revents) return true;
    return false;
}

/* This rank exits: the others should hear it while they can. */
static void tell_exit(void)
{
    tell_all(orr_cluster.rank, WHY_EXIT);
    poll_engine();
    orr_store_release(&guard.leaving, 2u);
}

/* One look around; elapsed_ms after the last one. */
static void look(uint64_t elapsed_ms)
{
    if (orr_cluster.free_threads) poll_engine();
    if (guard.chore()) end_job();
    if (orr_load_acquire(&guard.leaving) == 1) tell_exit();
    if (!guard.watching || orr_load_acquire(&guard.leaving)) return;
    int silent = orr_cluster.free_threads ? orr_pulse_tick(&guard.pulse, elapsed_ms, send_beat, NULL) : -1;
    bool told = orr_load_acquire(&guard.told) != 0, ended = somebody_ended();
    if (silent < 0 && !told && !ended) return;
    if (orr_load_acquire(&guard.hushed) || orr_load_acquire(&guard.stop) || closes_well()) return;
    name_told();
    name_ended();
    if (silent >= 0) name(silent, WHY_SILENT);
    end_job();
}

static void *run(void *unused)
{
    (void)unused;
    orr_thread_is_internal();
    int timeout = guard.watching ? (int)guard.pulse.look_ms : -1;
    uint64_t last = now_ms();
    while (!orr_load_acquire(&guard.stop)) {
        uint64_t count;
        poll(guard.fds, (nfds_t)guard.nfds, timeout);
        if (guard.fds[0].revents && read(guard.wake_fd, &count, sizeof count) < 0) count = 0;
        uint64_t now = now_ms();
        if (!orr_load_acquire(&guard.stop)) look(now - last);
        last = now;
    }
    return NULL;
}

/* At exit: the program ends, and the layer still runs. */
static void on_exit_of_program(void)
{
    if (!orr_load_acquire(&guard.running) || guard.pid != getpid() ||
        pthread_equal(pthread_self(), guard.thread) || orr_load_acquire(&guard.hushed) || !guard.watching)
        return;
    orr_error("the program exits without starpu_mpi_shutdown: the other ranks cannot go on");
    orr_store_release(&guard.leaving, 1u);
    orr_guard_wake();
    for (int i = 0; i < GRACE_MS * 1000 / STEP_US && orr_load_acquire(&guard.leaving) != 2; i++)
        usleep(STEP_US);
    usleep(GRACE_MS * 1000);
}

/* ---- beginning and end ---- */

/* The ranks of this node that follow, one file descriptor each. */
static void open_processes(const pid_t *pids)
{
    for (int i = 1; i < orr_cluster.size && guard.nfds <= PROCESSES_MAX; i++) {
        int rank = (orr_cluster.rank + i) % orr_cluster.size;
        int fd = pids[rank] > 0 ? (int)syscall(SYS_pidfd_open, pids[rank], 0) : -1;
        if (fd < 0) continue;
        guard.fds[guard.nfds] = (struct pollfd){ .fd = fd, .events = POLLIN };
        guard.rank_of[guard.nfds++] = rank;
    }
}

static void close_all(void)
{
    for (int i = 1; i < guard.nfds; i++)
        if (guard.fds[i].fd >= 0) close(guard.fds[i].fd);
    guard.nfds = 0;
}

int orr_guard_start(const struct orr_guard_setup *setup)
{
    static bool knows_exit;
    if (orr_cluster.size == 1) return 0;
    if (guard.wake_fd <= 0)
        guard.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* stays: others may write */
    if (guard.wake_fd < 0) return -EAGAIN;
    guard.fds[0] = (struct pollfd){ .fd = guard.wake_fd, .events = POLLIN };
    guard.nfds = 1;
    guard.nnamed = 0;
    memset(guard.silent, 0, sizeof guard.silent);
    guard.pid = getpid();
    guard.chore = setup->chore;
    guard.watching = setup->limit_ms > 0;
    if (guard.watching) {
        orr_pulse_init(&guard.pulse, orr_cluster.rank, orr_cluster.size, setup->limit_ms);
        open_processes(setup->pids);
    }
    orr_store_relaxed(&guard.stop, 0u);
    orr_store_relaxed(&guard.closing, 0u);
    orr_store_relaxed(&guard.hushed, 0u);
    orr_store_relaxed(&guard.leaving, 0u);
    orr_store_relaxed(&guard.told, (uint64_t)0);
    if (!knows_exit) knows_exit = atexit(on_exit_of_program) == 0;
    orr_store_release(&guard.running, true);
    orr_control_listen(ORR_CONTROL_BEAT, ORR_CONTROL_GONE, heard);
    if (pthread_create(&guard.thread, NULL, run, NULL) == 0) {
        pthread_setname_np(guard.thread, "orr-guard");
        return 0;
    }
    orr_store_release(&guard.running, false);
    close_all();
    return -EAGAIN;
}

void orr_guard_closing(void)
{
    orr_store_release(&guard.closing, 1u);
}

void orr_guard_stop(void)
{
    if (!orr_load_acquire(&guard.running)) return;
    orr_store_release(&guard.stop, 1u);
    orr_guard_wake();
    pthread_join(guard.thread, NULL);
    orr_store_release(&guard.running, false);
    close_all();
}
