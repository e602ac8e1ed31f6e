/* SPDX-License-Identifier: BSD-3-Clause */
/* bound.h: kinds of tasks of which a bound is computed (bound.c), and in which order these tasks must run
 * (bound_order.c).
 * Threads: stated below. Owns: nothing. Not here: what programs call (starpu_bound.h). */
#ifndef ORR_WORKER_BOUND_H
#define ORR_WORKER_BOUND_H

#include <stdio.h>

#include "core/base/event.h"
#include "core/task/task.h"

enum { ORR_BOUND_ARCHS = 16 };

struct orr_bound_kind {
    struct orr_bound_kind *next;
    const struct starpu_codelet *cl; /* to know it by: it may be gone once its tasks have ended */
    struct starpu_perfmodel *model;
    uint32_t footprint;
    unsigned long count;
    double us[ORR_BOUND_ARCHS]; /* best implementation; INFINITY: cannot run there; NAN: not known */
    char name[];
};

/* ---- the order of tasks: what follows is called with the lock of kinds held, but for _see ---- */

#define ORR_BOUND_ORDER_EVENTS                                                                               \
    (ORR_EVENT_BIT(TASK_DECLARED) | ORR_EVENT_BIT(TAG_BOUND) | ORR_EVENT_BIT(TAG_DECLARED) |                 \
     ORR_EVENT_BIT(TAG_FREED) | ORR_EVENT_BIT(DATA_JOINED) | ORR_EVENT_BIT(DATA_UNREGISTERED))

void orr_bound_order_forget(void);
/* t is submitted: kind is what it does, NULL: nothing. */
void orr_bound_order_submitted(struct orr_task *t, const struct orr_bound_kind *kind);
/* One of these events. Any thread. */
void orr_bound_order_see(const struct orr_seen *e);
/* The longest chain of tasks that wait for each other, each where it is fastest, of so many architectures. */
double orr_bound_order_path_us(unsigned narchs);
/* The program of a schedule. arch_of: of each worker. prio: the order of priorities is part of it. */
void orr_bound_order_print_lp(FILE *out, const unsigned *arch_of, unsigned nworkers, bool prio);
void orr_bound_order_print_dot(FILE *out);

#endif
