/* SPDX-License-Identifier: BSD-3-Clause */
/* driven.c: workers that a thread of the program's runs (starpu_driver.h).
 * Threads: any, one at a time in each worker. Owns: who has taken which device. Not here: workers with
 * threads of their own (worker.c).
 *
 * A struct starpu_driver names a device; who takes it runs all workers that share it, one after another. The
 * thread is a worker's only inside of starpu_driver_run_once: between two calls it is the program's, and may
 * submit and wait as such. Such workers are never parked: nobody wakes them, they poll. What a device was
 * given goes on between two calls, and is seen to have ended in a later one. */
#include <errno.h>
#include <starpu.h>

#include "core/base/log.h"
#include "core/data/transfer.h"
#include "core/worker/device.h"
#include "core/worker/driver.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/wait.h"
#include "core/worker/worker.h"

enum { TAKEN = 1, INSIDE = 2, RUNS = 4, NAP_MAX_NS = 500000 };
/* By the first worker of a device. */
static _Atomic uint32_t use[STARPU_NMAXWORKERS]; /* bits: TAKEN, INSIDE, RUNS: by starpu_driver_run */
static struct orr_pipeline *pipelines[STARPU_NMAXWORKERS]; /* [own: who is INSIDE], by worker */
static _Atomic bool terminating;

/* ---- which ---- */

/* The first worker of the device; -1: there is no such worker. */
static int worker_of(const struct starpu_driver *d)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        if (w->type != d->type) continue;
        bool (*is_named)(const struct orr_device *, const struct starpu_driver *) = w->device->ops->is_named;
        if (is_named ? is_named(w->device, d) : w->devid == (int)d->id.cpu_id) return w->id;
    }
    return -1;
}

/* The worker after this one that shares its device, or NULL. */
static struct orr_worker *next_of(const struct orr_worker *w)
{
    unsigned next = (unsigned)w->id + 1;
    return next < orr_worker_count && orr_workers[next].device == w->device ? &orr_workers[next] : NULL;
}

int orr_driven_choose(const struct starpu_conf *conf)
{
    orr_store_relaxed(&terminating, false);
    for (unsigned i = 0; i < orr_worker_count; i++) {
        orr_workers[i].driven = false;
        orr_store_relaxed(&use[i], 0u);
    }
    for (unsigned i = 0; i < conf->n_not_launched_drivers; i++) {
        int id = conf->not_launched_drivers ? worker_of(&conf->not_launched_drivers[i]) : -1;
        if (id < 0) {
            orr_error("starpu_init: starpu_conf.not_launched_drivers[%u] names no worker that there is; "
                      "starpu_driver.h says how they are named",
                      i);
            return -EINVAL;
        }
        for (struct orr_worker *w = &orr_workers[id]; w; w = next_of(w)) w->driven = true;
    }
    return 0;
}

void orr_driven_stop(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        while (orr_load_seq(&use[i]) & (INSIDE | RUNS)) sched_yield(); /* pairs with enter */
        if (pipelines[i]) orr_device_end(pipelines[i]);
        pipelines[i] = NULL;
    }
}

/* ---- taking and giving back ---- */

/* The calling thread is about to be a worker, or to touch what it has. False: the runtime stops, so it must
 * not. */
static bool enter(int id)
{
    atomic_fetch_or_explicit(&use[id], INSIDE, memory_order_seq_cst);
    return !orr_load_seq(&orr_parking.stopping); /* pairs with orr_driven_stop */
}

static void leave(int id)
{
    atomic_fetch_and_explicit(&use[id], ~(uint32_t)INSIDE, memory_order_seq_cst);
}

/* The worker, which is taken; -1, said: it is not. */
static int taken(const struct starpu_driver *d, const char *function)
{
    int id = d ? worker_of(d) : -1;
    if (id >= 0 && (orr_load_acquire(&use[id]) & TAKEN)) return id;
    orr_error("%s: the worker was not taken; call starpu_driver_init before", function);
    return -1;
}

static void release_device(struct orr_worker *w)
{
    for (; w; w = next_of(w)) {
        if (!pipelines[w->id]) continue;
        orr_device_end(pipelines[w->id]);
        pipelines[w->id] = NULL;
        if (w->device->ops->leave) w->device->ops->leave(w);
    }
}

/* What a worker that is no CPU needs: 0, or -ENOMEM with nothing left. */
static int equip_device(struct orr_worker *first)
{
    for (struct orr_worker *w = first; w && !w->direct; w = next_of(w)) {
        pipelines[w->id] = orr_device_begin(w);
        if (!pipelines[w->id]) {
            orr_error("worker %d: out of memory for its pipeline", w->id);
            release_device(first);
            return -ENOMEM;
        }
        if (w->device->ops->enter) w->device->ops->enter(w);
    }
    return 0;
}

/* 0 with the worker, or -errno. */
static int take(const struct starpu_driver *d, const char *function, uint32_t how, int *id_out)
{
    int r = 0, id = d ? worker_of(d) : -1;
    uint32_t none = 0;
    if (id < 0 || !orr_workers[id].driven) {
        orr_error("%s: %s", function,
                  !d ? "the driver is NULL"
                  : id < 0
                      ? "there is no such worker"
                      : "that worker has a thread of its own; name it in starpu_conf.not_launched_drivers");
        return -EINVAL;
    }
    if (!orr_cas_seq(&use[id], &none, how)) return -EBUSY;
    if (enter(id)) r = equip_device(&orr_workers[id]);
    leave(id);
    if (r) orr_store_release(&use[id], 0u);
    *id_out = id;
    return r;
}

int starpu_driver_init(struct starpu_driver *d)
{
    int id;
    return take(d, "starpu_driver_init", TAKEN, &id);
}

/* ---- running ---- */

/* Whether something happened: a task began or ended. */
static bool step_worker(struct orr_worker *w)
{
    struct orr_pipeline *p = pipelines[w->id];
    if (orr_load_seq(&orr_parking.paused) && (!p || orr_device_is_empty(p))) {
        if (orr_member_called(w)) orr_member_change(w);
        return false; /* the caller may be who ends the pause */
    }
    return p ? orr_device_step(p, w) : orr_worker_step(w);
}

static bool step(int id)
{
    bool ran = false;
    for (struct orr_worker *w = &orr_workers[id]; enter(id) && w; w = next_of(w)) {
        struct orr_worker *outer = orr_worker_become(w);
        orr_wait_rest_end();
        ran |= step_worker(w);
        orr_wait_rest_begin();
        orr_worker_become(outer);
    }
    if (!ran && enter(id)) ran = orr_progress_poll();
    leave(id);
    return ran;
}

int starpu_driver_run_once(struct starpu_driver *d)
{
    int id = taken(d, "starpu_driver_run_once");
    if (id < 0) return -EINVAL;
    step(id);
    return 0;
}

/* The worker of a device that was given something which is not over, or is about to be; NULL: none. */
static struct orr_worker *busy_worker(int id)
{
    for (struct orr_worker *w = &orr_workers[id]; w; w = next_of(w))
        if (pipelines[w->id] && !orr_device_is_empty(pipelines[w->id])) return w;
    return NULL;
}

/* Longer and longer while there is nothing. */
static void nap(unsigned *looks)
{
    enum { YIELDS = 200 };
    unsigned n = ++*looks;
    if (n < YIELDS) {
        sched_yield();
        return;
    }
    long ns = 1000L * (n - YIELDS + 1);
    struct timespec t = { .tv_nsec = ns < NAP_MAX_NS ? ns : NAP_MAX_NS };
    nanosleep(&t, NULL);
}

/* Nothing can be done now: waits a little for what is under way. False: nothing is. */
static bool wait_for_device(int id, uint64_t *since)
{
    struct orr_worker *w = enter(id) ? busy_worker(id) : NULL;
    if (w) {
        struct orr_worker *outer = orr_worker_become(w);
        orr_device_wait(pipelines[w->id], w, since);
        orr_worker_become(outer);
    }
    leave(id);
    return w;
}

int starpu_driver_deinit(struct starpu_driver *d)
{
    int id = taken(d, "starpu_driver_deinit");
    if (id < 0) return -EINVAL;
    uint64_t since = 0;
    for (bool more = true; more;) { /* what it keeps for itself, and what the device was given */
        more = step(id);
        if (more)
            since = 0;
        else
            more = wait_for_device(id, &since);
    }
    if (enter(id)) release_device(&orr_workers[id]);
    orr_store_release(&use[id], 0u);
    return 0;
}

int starpu_driver_run(struct starpu_driver *d)
{
    int id, r = take(d, "starpu_driver_run", TAKEN | RUNS, &id);
    if (r) return r;
    uint64_t since = 0;
    for (unsigned looks = 0; !orr_load_seq(&orr_parking.stopping);) {
        if (step(id)) {
            looks = 0;
            since = 0;
        } else if (!wait_for_device(id, &since)) {
            if (orr_load_acquire(&terminating)) break;
            nap(&looks);
        }
    }
    if (enter(id)) release_device(&orr_workers[id]);
    orr_store_release(&use[id], 0u);
    return 0;
}

void starpu_drivers_request_termination(void)
{
    orr_store_release(&terminating, true);
}
