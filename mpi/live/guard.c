/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.c: see guard.h.
 * Threads: see guard.h. Owns: see guard.h. Not here: deadlocks (stuck.c).
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <starpu_mpi.h>

#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/thread.h"

enum { LIMIT_MS = 3750, GRACE_MS = 200, CLOSING_MS = 1000, POLLS_MAX = 256, STEP_US = 5000, TRIES = 20 };
enum why { WHY_ENDED = 1, WHY_SILENT, WHY_EXIT };

void orr_guard_init(struct orr_guard *g, struct orr_cluster *cl, struct orr_controls *controls)
{
    g->cluster = cl;
    g->controls = controls;
}

uint32_t orr_guard_limit_ms(void)
{
    return (uint32_t)orr_env_long(ORR_SETTING(ORRERY_HEARTBEAT_MS), LIMIT_MS, 0, 86400000);
}

static uint64_t now_ms(void)
{
    return orr_clock_ns() / 1000000;
}

void orr_guard_wake(struct orr_guard *g)
{
    const uint64_t one = 1;
    if (orr_load_acquire(&g->running) && write(g->wake_fd, &one, sizeof one) < 0) return; /* it is awake */
}

void orr_guard_silence(struct orr_guard *g)
{
    orr_store_release(&g->silenced, 1u);
}

/* A control message came: BEAT or GONE. */
static void heard(void *guard, int source, const struct orr_wire_header *h, const void *none)
{
    struct orr_guard *g = guard;
    (void)none;
    if (!orr_load_acquire(&g->running)) return;
    if (h->type == ORR_CONTROL_BEAT) {
        if (g->watching) orr_pulse_heard(&g->pulse, source);
        return;
    }
    if (h->tag < 0 || h->tag >= g->cluster->size) return;
    orr_store_release(&g->told, (uint64_t)(h->tag + 1) | h->id << 32);
    orr_guard_wake(g);
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
    if (orr_thread_start(&t, end_anyway, NULL, "orr-end") == 0) pthread_detach(t);
}

static void flush_output(void)
{
    if (ftrylockfile(stdout)) return; /* somebody is stuck with it */
    fflush(stdout);
    funlockfile(stdout);
}

/* Launchers are quick when one rank asks for the end while the others are still there: the first that lives.
 */
static _Noreturn void leave(struct orr_guard *g, int first)
{
    const struct orr_transport *t = g->cluster->engine.transport;
    flush_output();
    if (!t->ops->abort || !g->cluster->free_threads) _exit(1);
    if (g->cluster->rank == first) t->ops->abort((struct orr_transport *)t);
    usleep(2 * GRACE_MS * 1000);
    _exit(1);
}

_Noreturn void orr_guard_end(struct orr_guard *g)
{
    orr_guard_silence(g);
    end_in_any_case();
    usleep(GRACE_MS * 1000);
    leave(g, 0);
}

static void poll_engine(struct orr_guard *g)
{
    for (int i = 0; i < POLLS_MAX && orr_progress_pass(&g->cluster->progress); i++) continue;
}

/* Tells all others that a rank is gone. */
static void tell_all(struct orr_guard *g, int gone, enum why why)
{
    for (int r = 0; r < g->cluster->size; r++) {
        if (r == g->cluster->rank || r == gone) continue;
        for (int i = 0;
             i < TRIES && !orr_control_send(g->controls, r, ORR_CONTROL_GONE, gone, why, 0, NULL, 0); i++)
            if (g->cluster->free_threads) poll_engine(g); /* no buffer: some sends must end first */
    }
}

static bool was_named(struct orr_guard *g, int rank)
{
    for (int i = 0; i < g->nnamed; i++)
        if (g->named[i] == rank) return true;
    return false;
}

/* Says, once for each rank, that it is gone, and tells the others. */
static void name(struct orr_guard *g, int rank, enum why why)
{
    if (was_named(g, rank) || g->nnamed == 2 * ORR_GUARD_PROCESSES) return;
    g->named[g->nnamed++] = rank;
    for (int i = 1; i < g->nfds; i++)
        if (g->rank_of[i] == rank) g->silent[i] = why == WHY_SILENT;
    if (rank == g->cluster->rank)
        orr_error("this rank was silent for so long that the others gave it up; the job ends");
    else if (why == WHY_SILENT)
        orr_error(
            "rank %d is gone: no sign of life for %u ms, it was stopped or its node is down; the job ends "
            "(ORRERY_HEARTBEAT_MS sets the limit, 0 none)",
            rank, g->pulse.limit_ms);
    else
        orr_error("rank %d is gone: its process %s; the job ends", rank,
                  why == WHY_EXIT ? "exited without starpu_mpi_shutdown" : "was killed, or ended by itself");
    tell_all(g, rank, why);
}

static bool name_told(struct orr_guard *g)
{
    uint64_t told = orr_load_acquire(&g->told);
    if (told) name(g, (int)(told & UINT32_MAX) - 1, (enum why)(told >> 32));
    return told != 0;
}

static bool name_ended(struct orr_guard *g)
{
    bool any = false;
    if (poll(g->fds, (nfds_t)g->nfds, 0) <= 0) return false;
    for (int i = 1; i < g->nfds; i++) {
        if (!g->fds[i].revents) continue;
        any = true;
        close(g->fds[i].fd);
        g->fds[i].fd = -1; /* ignored from now on */
        name(g, g->rank_of[i], WHY_ENDED);
    }
    return any;
}

/* A process that was stopped does not end by itself, and a launcher that is not asked takes its time. */
static void kill_silent(struct orr_guard *g)
{
    for (int i = 1; i < g->nfds; i++)
        if (g->fds[i].fd >= 0 && g->silent[i]) syscall(SYS_pidfd_send_signal, g->fds[i].fd, SIGKILL, NULL, 0);
}

/* Lets the others say it as well, names whoever follows, and ends this process. */
static void end_job(struct orr_guard *g)
{
    int first = 0;
    uint64_t until = now_ms() + GRACE_MS;
    end_in_any_case();
    while (now_ms() < until) {
        name_ended(g);
        if (g->cluster->free_threads) poll_engine(g);
        name_told(g);
        usleep(STEP_US);
    }
    while (was_named(g, first)) first++;
    if (!g->cluster->free_threads) kill_silent(g);
    leave(g, first);
}

/* While the layer shuts down: whether it ends by itself, so that all is well. */
static bool closes_well(struct orr_guard *g)
{
    if (!orr_load_acquire(&g->closing)) return false;
    for (uint64_t until = now_ms() + CLOSING_MS; now_ms() < until; usleep(STEP_US))
        if (orr_load_acquire(&g->stop)) return true;
    return orr_load_acquire(&g->stop) != 0;
}

/* ---- the thread ---- */

static bool send_beat(void *guard, int peer)
{
    struct orr_guard *g = guard;
    return orr_control_send(g->controls, peer, ORR_CONTROL_BEAT, 0, 0, 0, NULL, 0);
}

static bool somebody_ended(struct orr_guard *g)
{
    for (int i = 1; i < g->nfds; i++)
        if (g->fds[i].revents) return true;
    return false;
}

/* This rank exits: the others should hear it while they can. */
static void tell_exit(struct orr_guard *g)
{
    tell_all(g, g->cluster->rank, WHY_EXIT);
    poll_engine(g);
    orr_store_release(&g->leaving, 2u);
}

/* One look around; elapsed_ms after the last one. */
static void look(struct orr_guard *g, uint64_t elapsed_ms)
{
    if (g->cluster->free_threads) poll_engine(g);
    if (g->chore(g->chore_arg)) end_job(g);
    if (orr_load_acquire(&g->leaving) == 1) tell_exit(g);
    if (!g->watching || orr_load_acquire(&g->leaving)) return;
    int silent = g->cluster->free_threads ? orr_pulse_tick(&g->pulse, elapsed_ms, send_beat, g) : -1;
    bool told = orr_load_acquire(&g->told) != 0, ended = somebody_ended(g);
    if (silent < 0 && !told && !ended) return;
    if (orr_load_acquire(&g->silenced) || orr_load_acquire(&g->stop) || closes_well(g)) return;
    name_told(g);
    name_ended(g);
    if (silent >= 0) name(g, silent, WHY_SILENT);
    end_job(g);
}

static void *run(void *guard)
{
    struct orr_guard *g = guard;
    orr_thread_is_internal();
    int timeout = g->watching ? (int)g->pulse.look_ms : -1;
    uint64_t last = now_ms();
    while (!orr_load_acquire(&g->stop)) {
        uint64_t count;
        poll(g->fds, (nfds_t)g->nfds, timeout);
        if (g->fds[0].revents && read(g->wake_fd, &count, sizeof count) < 0) count = 0;
        uint64_t now = now_ms();
        if (!orr_load_acquire(&g->stop)) look(g, now - last);
        last = now;
    }
    return NULL;
}

void orr_guard_exit(struct orr_guard *g)
{
    if (!orr_load_acquire(&g->running) || g->pid != getpid() || pthread_equal(pthread_self(), g->thread) ||
        orr_load_acquire(&g->silenced) || !g->watching)
        return;
    orr_error("the program exits without starpu_mpi_shutdown: the other ranks cannot go on");
    orr_store_release(&g->leaving, 1u);
    orr_guard_wake(g);
    for (int i = 0; i < GRACE_MS * 1000 / STEP_US && orr_load_acquire(&g->leaving) != 2; i++) usleep(STEP_US);
    usleep(GRACE_MS * 1000);
}

/* ---- beginning and end ---- */

/* The ranks of this node that follow, one file descriptor each. */
static void open_processes(struct orr_guard *g, const pid_t *pids)
{
    for (int i = 1; i < g->cluster->size && g->nfds <= ORR_GUARD_PROCESSES; i++) {
        int rank = (g->cluster->rank + i) % g->cluster->size;
        int fd = pids[rank] > 0 ? (int)syscall(SYS_pidfd_open, pids[rank], 0) : -1;
        if (fd < 0) continue;
        g->fds[g->nfds] = (struct pollfd){ .fd = fd, .events = POLLIN };
        g->rank_of[g->nfds++] = rank;
    }
}

static void close_all(struct orr_guard *g)
{
    for (int i = 1; i < g->nfds; i++)
        if (g->fds[i].fd >= 0) close(g->fds[i].fd);
    g->nfds = 0;
}

int orr_guard_start(struct orr_guard *g, const struct orr_guard_setup *setup)
{
    if (g->cluster->size == 1) return 0;
    if (g->wake_fd <= 0) g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* stays: others may write */
    if (g->wake_fd < 0) return -EAGAIN;
    g->fds[0] = (struct pollfd){ .fd = g->wake_fd, .events = POLLIN };
    g->nfds = 1;
    g->nnamed = 0;
    memset(g->silent, 0, sizeof g->silent);
    g->pid = getpid();
    g->chore = setup->chore;
    g->chore_arg = setup->chore_arg;
    g->watching = setup->limit_ms > 0;
    if (g->watching) {
        orr_pulse_init(&g->pulse, g->cluster->rank, g->cluster->size, setup->limit_ms);
        open_processes(g, setup->pids);
    }
    orr_store_relaxed(&g->stop, 0u);
    orr_store_relaxed(&g->closing, 0u);
    orr_store_relaxed(&g->silenced, 0u);
    orr_store_relaxed(&g->leaving, 0u);
    orr_store_relaxed(&g->told, (uint64_t)0);
    orr_store_release(&g->running, true);
    orr_control_listen(g->controls, ORR_CONTROL_BEAT, ORR_CONTROL_GONE, heard, g);
    if (orr_thread_start(&g->thread, run, g, "orr-guard") == 0) return 0;
    orr_store_release(&g->running, false);
    close_all(g);
    return -EAGAIN;
}

void orr_guard_closing(struct orr_guard *g)
{
    orr_store_release(&g->closing, 1u);
}

void orr_guard_stop(struct orr_guard *g)
{
    if (!orr_load_acquire(&g->running)) return;
    orr_store_release(&g->stop, 1u);
    orr_guard_wake(g);
    pthread_join(g->thread, NULL);
    orr_store_release(&g->running, false);
    close_all(g);
}
