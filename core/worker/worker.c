/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.c: the threads that run tasks.
 * Threads: one per worker; start, stop, pause and resume by the program's. Owns: the table of workers.
 * Not here: what a thread runs next (local.c) and how (running.c), idling (park.c), devices with a memory of
 * their own (device.c), questions about workers (query.c). */
#include "core/worker/worker.h"

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/topo/topo.h"
#include "core/worker/crash.h"
#include "core/worker/device.h"
#include "core/worker/driver.h"
#include "core/worker/inputs.h"
#include "core/worker/joblist.h"
#include "core/worker/lending.h"
#include "core/worker/member.h"
#include "core/worker/parallel.h"
#include "core/worker/park.h"
#include "core/worker/tally.h"
#include "core/worker/wait.h"

struct orr_worker orr_workers[STARPU_NMAXWORKERS];
unsigned orr_worker_count;
struct orr_ctx orr_contexts[STARPU_NMAX_SCHED_CTXS] = { [0 ... STARPU_NMAX_SCHED_CTXS -
                                                         1] = { .change_lock = PTHREAD_MUTEX_INITIALIZER } };

static _Atomic unsigned workers_up;
static void wait_while_paused(struct orr_worker *w)
{
    orr_wait_rest_begin();
    for (;;) {
        uint32_t seen =
            orr_load_seq(&orr_parking.pause_epoch); /* pairs with resume and with asking (member.c) */
        if (!orr_load_seq(&orr_parking.paused) || orr_load_seq(&orr_parking.stopping)) break;
        if (orr_member_called(w))
            orr_member_change(w);
        else
            orr_futex_wait(&orr_parking.pause_epoch, seen, -1);
    }
    orr_wait_rest_end();
}

void orr_worker_attend(struct orr_worker *w)
{
    if (orr_load_seq(&orr_parking.paused)) wait_while_paused(w);
    if (orr_member_called(w)) orr_member_change(w);
    if (orr_load_seq(&orr_parking.lenders)) orr_lend_serve(w);
}

/* What it keeps for itself, or the next one; after what it is called for: a task that was submitted once the
 * workers were paused is found by a look that began before, but is not run before the look at attention that
 * follows. */
static struct orr_task *take(struct orr_worker *w)
{
    struct orr_task *t = w->kept;
    if (!t) {
        w->kept_in_a_row = 0;
        t = orr_worker_next(w);
    }
    w->kept = NULL;
    if (orr_likely(!orr_load_relaxed(&orr_parking.attention))) return t;
    w->kept = t; /* where it goes back from if the context is left */
    orr_worker_attend(w);
    t = w->kept;
    w->kept = NULL;
    return t;
}

/* Whether it drives copies that are under way when it has nothing to run: where memory is taken back. */
static bool drives(const struct orr_worker *w)
{
    return orr_node_evicts(w->node);
}

static void wake_drivers(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (drives(&orr_workers[i])) orr_wake_worker(&orr_workers[i]);
}

void orr_workers_drive_transfers(void)
{
    orr_store_release(&orr_transfers_started, wake_drivers);
}

static void cpu_loop(struct orr_worker *w)
{
    uint64_t since = 0;
    for (;;) {
        struct orr_task *t = take(w);
        if (orr_likely(t != NULL)) {
            orr_worker_run(w, t);
            continue;
        }
        if (orr_unlikely(drives(w))) orr_memory_idle(w->node);
        w->kept = orr_worker_idle(w);
        if (w->kept)
            since = 0;
        else if (drives(w) && orr_load_seq(&orr_transfers_active))
            orr_inputs_wait(w, orr_progress_poll, NULL, false, &since);
        else if (orr_load_seq(&orr_parking.stopping))
            return;
    }
}

bool orr_worker_step(struct orr_worker *w)
{
    struct orr_task *t = take(w);
    if (t) orr_worker_run(w, t);
    return t != NULL;
}

/* The name that top, gdb and the like show: 15 characters at most. */
static void name_thread(const struct orr_worker *w)
{
    char name[16];
    snprintf(name, sizeof name, "orr %.11s", w->short_name);
    pthread_setname_np(pthread_self(), name);
}

static void *worker_thread(void *arg)
{
    struct orr_worker *w = arg;
    orr_worker_become(w);
    orr_thread_is_internal();
    orr_rest_is_worker();
    name_thread(w);
    if (w->bindid >= 0) orr_topo_bind_self((unsigned)w->bindid);
    if (w->device->ops->enter) w->device->ops->enter(w);
    orr_add_acq_rel(&workers_up, 1u);
    void *stack = orr_crash_thread_begin();
    orr_wait_rest_end();
    if (w->direct)
        cpu_loop(w);
    else
        orr_device_loop(w);
    orr_wait_rest_begin();
    orr_crash_thread_end(stack);
    if (w->device->ops->leave) w->device->ops->leave(w);
    orr_worker_become(NULL);
    return NULL;
}

void orr_workers_update_plain(bool alone)
{
    bool plain = alone;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        if (orr_workers[i].where != orr_workers[0].where) plain = false;
        if (!orr_member_is_plain(&orr_workers[i])) plain = false;
    }
    orr_store_seq(&orr_parking.plain, plain);
}

static void completed_elsewhere(void)
{
    orr_wait_check();
}

static void init_shared(void)
{
    orr_running_init();
    orr_ready_init();
    orr_admission_init();
    orr_teams_init();
    orr_task_hooks.job_ready = orr_job_ready;
    orr_task_hooks.job_ended = orr_job_ended;
    orr_task_hooks.completed_elsewhere = completed_elsewhere;
    orr_task_hooks.ctx_submitted = orr_tally_submitted;
    orr_task_hooks.ctx_completed = orr_tally_completed;
    memset(&orr_parking, 0, sizeof orr_parking);
    orr_workers_update_plain(true);
    orr_store_seq(&orr_parking.running, 1u);
    orr_store_relaxed(&workers_up, 0u);
}

int orr_workers_start(void)
{
    init_shared();
    orr_doze_configure();
    orr_jobpool_workers_start();
    if (orr_node_count > 1) orr_workers_drive_transfers();
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        w->next_order = 1;
        w->skipped_orders = 0;
        if (w->driven) {
            orr_add_acq_rel(&workers_up, 1u);
            continue;
        }
        int r = pthread_create(&w->thread, NULL, worker_thread, w);
        if (r) {
            orr_error("worker %u: no thread can be made for it (%s)", i, strerror(r));
            orr_store_seq(&orr_parking.stopping, 1);
            orr_wake_all();
            while (i-- > 0)
                if (!orr_workers[i].driven) pthread_join(orr_workers[i].thread, NULL);
            orr_store_seq(&orr_parking.running, 0u);
            return -r;
        }
    }
    while (orr_load_acquire(&workers_up) < orr_worker_count) sched_yield();
    return 0;
}

static ORR_MUTEX(pause) pause_lock = PTHREAD_MUTEX_INITIALIZER; /* protects pause_depth; leaf */
static unsigned pause_depth;

/* Called with pause_lock held. */
static void set_paused(uint32_t paused)
{
    if (orr_load_relaxed(&orr_parking.paused) == paused) return;
    orr_store_seq(&orr_parking.paused, paused);
    if (paused)
        orr_add_seq(&orr_parking.attention, 1);
    else
        orr_sub_seq(&orr_parking.attention, 1);
    orr_add_seq(&orr_parking.pause_epoch, 1); /* pairs with wait_while_paused */
    if (!paused) orr_futex_wake(&orr_parking.pause_epoch, INT32_MAX);
}

void orr_workers_stop(void)
{
    orr_store_seq(&orr_parking.stopping, 1);
    pthread_mutex_lock(&pause_lock);
    pause_depth = 0;
    set_paused(0);
    pthread_mutex_unlock(&pause_lock);
    orr_wake_all();
    orr_driven_stop();
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (!orr_workers[i].driven) pthread_join(orr_workers[i].thread, NULL);
    orr_store_seq(&orr_parking.running,
                  0u); /* from now on changes asked of a worker are made by the asking thread */
}

void orr_workers_pause(void)
{
    pthread_mutex_lock(&pause_lock);
    if (pause_depth++ == 0) set_paused(1);
    pthread_mutex_unlock(&pause_lock);
    orr_wake_all();
    orr_idle_paused();
}

void orr_workers_resume(void)
{
    pthread_mutex_lock(&pause_lock);
    if (pause_depth > 0 && --pause_depth == 0) set_paused(0);
    pthread_mutex_unlock(&pause_lock);
}

unsigned orr_workers_busy(void)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) busy += !orr_load_relaxed(&orr_workers[i].idle_shown);
    return busy;
}

bool orr_workers_have_cores(void)
{
    if (orr_load_relaxed(&orr_parking.paused) || orr_worker_count < orr_topo_cores()) return false;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        if (!w->direct || w->driven || orr_load_relaxed(&w->on_cond)) return false;
    }
    return true;
}

uint64_t orr_workers_run(void)
{
    uint64_t run = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) run += orr_load_relaxed(&orr_workers[i].tasks_run);
    return run;
}
