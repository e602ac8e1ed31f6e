/* SPDX-License-Identifier: BSD-3-Clause */
/* driven.c: workers that a thread of the program's runs (starpu_driver.h).
 * Threads: any, one at a time in each worker. Owns: who has taken which worker. Not here: workers with
 * threads of their own (worker.c).
 *
 * The thread is the worker's only inside of starpu_driver_run_once: between two calls it is the program's,
 * and may submit and wait as such. Such a worker is never parked: nobody wakes it, it polls. */
#include <starpu.h>

#include "core/base/log.h"
#include "core/worker/park.h"
#include "core/worker/wait.h"
#include "core/worker/worker.h"

enum { TAKEN = 1, INSIDE = 2, NAP_MAX_NS = 500000 };
static _Atomic uint32_t use[STARPU_NMAXWORKERS]; /* bits: TAKEN, INSIDE */
static _Atomic bool terminating;

/* -1: there is no such worker. */
static int worker_of(const struct starpu_driver *d)
{
    return d->type == STARPU_CPU_WORKER ? starpu_worker_get_by_devid(STARPU_CPU_WORKER, (int)d->id.cpu_id)
                                        : -1;
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
            orr_error("starpu_init: starpu_conf.not_launched_drivers[%u] is no CPU worker that there is; "
                      "name one of "
                      "cpu_id 0 to %d",
                      i, (int)starpu_cpu_worker_get_count() - 1);
            return -EINVAL;
        }
        orr_workers[id].driven = true;
    }
    return 0;
}

void orr_driven_stop(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        while (orr_load_seq(&use[i]) & INSIDE) sched_yield(); /* pairs with run_once */
}

/* The worker, which is taken; -1, said: it is not. */
static int taken(const struct starpu_driver *d, const char *function)
{
    int id = d ? worker_of(d) : -1;
    if (id >= 0 && (orr_load_acquire(&use[id]) & TAKEN)) return id;
    orr_error("%s: the worker was not taken; call starpu_driver_init before", function);
    return -1;
}

int starpu_driver_init(struct starpu_driver *d)
{
    int id = d ? worker_of(d) : -1;
    if (id < 0 || !orr_workers[id].driven) {
        orr_error("starpu_driver_init: %s", !d       ? "the driver is NULL"
                                            : id < 0 ? "there is no such CPU worker"
                                                     : "that worker has a thread of its own; name it in "
                                                       "starpu_conf.not_launched_drivers");
        return -EINVAL;
    }
    uint32_t none = 0;
    return orr_cas_seq(&use[id], &none, TAKEN) ? 0 : -EBUSY;
}

/* Whether there was a task. */
static bool step(int id)
{
    struct orr_worker *w = &orr_workers[id];
    bool ran = false;
    atomic_fetch_or_explicit(&use[id], INSIDE, memory_order_seq_cst);
    if (!orr_load_seq(&orr_parking.stopping)) { /* pairs with orr_driven_stop */
        struct orr_worker *outer = orr_worker_become(w);
        orr_wait_rest_end();
        ran = orr_worker_step(w);
        orr_wait_rest_begin();
        if (!ran) ran = orr_progress_poll();
        orr_worker_become(outer);
    }
    atomic_fetch_and_explicit(&use[id], ~(uint32_t)INSIDE, memory_order_seq_cst);
    return ran;
}

int starpu_driver_run_once(struct starpu_driver *d)
{
    int id = taken(d, "starpu_driver_run_once");
    if (id < 0) return -EINVAL;
    step(id);
    return 0;
}

int starpu_driver_deinit(struct starpu_driver *d)
{
    int id = taken(d, "starpu_driver_deinit");
    if (id < 0) return -EINVAL;
    while (step(id)) continue; /* what it keeps for itself */
    orr_store_release(&use[id], 0u);
    return 0;
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

int starpu_driver_run(struct starpu_driver *d)
{
    int r = starpu_driver_init(d);
    if (r) return r;
    int id = worker_of(d);
    for (unsigned looks = 0; !orr_load_seq(&orr_parking.stopping);) {
        if (step(id))
            looks = 0;
        else if (orr_load_acquire(&terminating))
            break;
        else
            nap(&looks);
    }
    orr_store_release(&use[id], 0u);
    return 0;
}

void starpu_drivers_request_termination(void)
{
    orr_store_release(&terminating, true);
}
