/* SPDX-License-Identifier: BSD-3-Clause */
/* sc_hypervisor_config.h: conditions of resizing, per context.
 *
 * Threads: any.
 * Owns: nothing.
 * Not here: the hypervisor, and what holds for contexts that are not registered (sc_hypervisor.h).
 */
#ifndef SC_HYPERVISOR_CONFIG_H
#define SC_HYPERVISOR_CONFIG_H

#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Arguments of sc_hypervisor_ctl(), each followed by its values; "workers": int * and int, an array of
 * workers and its length. Times in us ---- */

#define SC_HYPERVISOR_MAX_IDLE (-1)             /* workers, double: idle longer, a resize is triggered */
#define SC_HYPERVISOR_MIN_WORKING (-2)          /* workers, double: work that ends a period of idleness */
#define SC_HYPERVISOR_PRIORITY (-3)             /* workers, int: the smallest is moved first */
#define SC_HYPERVISOR_MIN_WORKERS (-4)          /* int: the context is not left with fewer workers */
#define SC_HYPERVISOR_MAX_WORKERS (-5)          /* int: it does not get more */
#define SC_HYPERVISOR_GRANULARITY (-6)          /* int: workers moved by a resize */
#define SC_HYPERVISOR_FIXED_WORKERS (-7)        /* workers: never moved from the context */
#define SC_HYPERVISOR_MIN_TASKS (-8)            /* int: tasks to execute before the first resize */
#define SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE (-9) /* double: MAX_IDLE of workers that are moved in */
#define SC_HYPERVISOR_TIME_TO_APPLY                                                                          \
    (-10)                        /* int: all of this call takes effect when a task with this tag ran */
#define SC_HYPERVISOR_NULL (-11) /* ends the list; so does 0 or NULL */
#define SC_HYPERVISOR_ISPEED_W_SAMPLE (-12)   /* workers, double: operations over which to measure a worker */
#define SC_HYPERVISOR_ISPEED_CTX_SAMPLE (-13) /* double: operations over which to measure the context */
#define SC_HYPERVISOR_TIME_SAMPLE (-14)       /* double: time over which to measure */

/* No limit of idleness, the default; a sensible value for MIN_WORKING, whose default is 0. In us. */
#define MAX_IDLE_TIME 5000000000
#define MIN_WORKING_TIME 500

/* The conditions of a context. Change them with sc_hypervisor_ctl(). Guarded by the wrapper's mutex. */
struct sc_hypervisor_policy_config {
    int min_nworkers; /* default 0 */
    int max_nworkers; /* default: all workers */
    int granularity;  /* default 1 */
    int priority[STARPU_NMAXWORKERS];
    double max_idle[STARPU_NMAXWORKERS];
    double min_working[STARPU_NMAXWORKERS];
    int fixed_workers[STARPU_NMAXWORKERS]; /* 1: not to be moved */
    double new_workers_max_idle;           /* MAX_IDLE_TIME: workers keep what max_idle says of them */
    double ispeed_w_sample[STARPU_NMAXWORKERS];
    double ispeed_ctx_sample;
    double time_sample;
};

/* Give a context a whole configuration (a struct sc_hypervisor_policy_config), which is copied as it is; NULL
 * is refused. get: its conditions, borrowed while the context is registered; NULL if it is not. */
void sc_hypervisor_set_config(unsigned sched_ctx, void *config);
struct sc_hypervisor_policy_config *sc_hypervisor_get_config(unsigned sched_ctx);

/* Set conditions of a context, ended by SC_HYPERVISOR_NULL. A list with a mistake changes nothing, and is an
 * error message. */
void sc_hypervisor_ctl(unsigned sched_ctx, ...);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
