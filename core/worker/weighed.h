/* SPDX-License-Identifier: BSD-3-Clause */
/* weighed.h: what a policy found when it compared workers for a task, as it tells observers (TASK_WEIGHED).
 * Threads: the one that compares. Owns: nothing. Not here: comparing (sched/dm.c), recording
 * (core/run/record.c). */
#ifndef ORR_WORKER_WEIGHED_H
#define ORR_WORKER_WEIGHED_H

#include <stdint.h>

enum { ORR_WEIGHED_MOST = 8 };

struct orr_weighed {
    int chosen;     /* worker; -1: none */
    unsigned count; /* of candidates; of more than there is room for, the cheapest */
    struct {
        unsigned worker;
        double us, transfer_us; /* that the task would take, and its data */
        double cost_ns;         /* that was compared: when it would end, and what else is weighed */
    } candidate[ORR_WEIGHED_MOST];
};

static inline void orr_weighed_add(struct orr_weighed *w, unsigned worker, double us, double transfer_us,
                                   double cost_ns)
{
    unsigned at = w->count;
    if (at < ORR_WEIGHED_MOST) {
        w->count++;
    } else {
        at = 0;
        for (unsigned i = 1; i < ORR_WEIGHED_MOST; i++)
            if (w->candidate[i].cost_ns > w->candidate[at].cost_ns) at = i;
        if (!(cost_ns < w->candidate[at].cost_ns)) return;
    }
    w->candidate[at].worker = worker;
    w->candidate[at].us = us;
    w->candidate[at].transfer_us = transfer_us;
    w->candidate[at].cost_ns = cost_ns;
}

#endif
