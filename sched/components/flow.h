/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.h: the queue in a flow-control component, and the pump that empties it into the area below.
 * Threads: any. Owns: the tasks that wait. Not here: the components that have one (fifo.c, heft.c, ws.c,
 * worker.c).
 *
 * One thread pumps at a time. Others that find it at work leave a request, and it goes round once more: so a
 * task that is being offered below is never missed by a worker that makes room meanwhile. While all is full
 * below nobody pumps: a worker that takes from a queue that was full sends can_push, at once or, where tasks
 * are brief and of one priority, when it is not half full any more, so that a pump moves several. */
#ifndef ORR_COMPONENTS_FLOW_H
#define ORR_COMPONENTS_FLOW_H

#include "core/base/sync.h"
#include "sched/components/component.h"

enum orr_flow_ready { ORR_FLOW_IN_ORDER, ORR_FLOW_LEAST_TO_BRING, ORR_FLOW_NOTHING_TO_BRING };

struct orr_flow { /* what changes with each task is in the first line, what pushers look at in the last */
    ORR_ALIGNED_LINE ORR_SPIN(flow) lock; /* protects q, us, was_full; held while can_execute is asked */
    bool was_full;                        /* since it was last low */
    _Atomic uint32_t count;               /* q.count, to be read without the lock */
    _Atomic uint32_t requests;            /* to pump; not 0: somebody does */
    _Atomic double us;                    /* predicted work in q; read without the lock */
    struct orr_taskq q;
    unsigned max_count;        /* [const] 0: no limit */
    double max_us;             /* [const] 0: no limit */
    enum orr_flow_ready ready; /* [const] */
};

void orr_flow_init(struct orr_flow *f, bool sorted);
void orr_flow_fini(struct orr_flow *f);

/* 0, or -EAGAIN: full. */
int orr_flow_put(struct orr_flow *f, struct starpu_task *p);
/* The same without limit; front: ahead of others of its priority. How many are before it if it is the last,
 * else 0. */
uint32_t orr_flow_add(struct orr_flow *f, struct starpu_task *p, bool front);
bool orr_flow_is_full(struct orr_flow *f);

/* The first task that a worker below c can execute; NULL: none. With f->ready, among the first ones. */
struct starpu_task *orr_flow_take(struct orr_flow *f, struct starpu_sched_component *c);
/* The same; *low_out: it was full since the last time, so that somebody may have been refused, and it is time
 * to send can_push. */
struct starpu_task *orr_flow_take_noting(struct orr_flow *f, struct starpu_sched_component *c, bool *low_out);
/* The last of those of the highest priority that c can execute. */
struct starpu_task *orr_flow_take_last(struct orr_flow *f, struct starpu_sched_component *c);
/* The first task, whoever can execute it. */
struct starpu_task *orr_flow_take_first(struct orr_flow *f);
/* Up to n of the first. Returns how many. */
unsigned orr_flow_take_some(struct orr_flow *f, struct starpu_task **out, unsigned n);
/* Takes p out, and returns it; NULL for NULL. Called with f->lock held. */
struct starpu_task *orr_flow_remove_locked(struct orr_flow *f, struct starpu_task *p);
/* Takes out what c's workers cannot execute. */
void orr_flow_evict(struct orr_flow *f, struct starpu_sched_component *c, struct orr_taskq *out);
static inline double orr_flow_us(const struct orr_flow *f)
{
    double us = orr_load_relaxed(&f->us);
    return us > 0 ? us : 0;
}

/* Tasks go from f, the queue of `from` (NULL: of the tree itself), to `to`. Returns whether one did. */
bool orr_flow_pump(struct orr_flow *f, struct starpu_sched_component *from,
                   struct starpu_sched_component *to);
/* Whether p went straight to `to`, for nothing waits before it. */
bool orr_flow_passes(struct orr_flow *f, struct starpu_sched_component *from,
                     struct starpu_sched_component *to, struct starpu_task *p);
/* After something was added to f: pumps, or wakes who can fetch it. mask: see orr_wake_mask. */
void orr_flow_added(struct orr_flow *f, struct starpu_sched_component *from,
                    struct starpu_sched_component *to, uint32_t mask);

/* Nothing waits, not even in the hands of a pump. In this order: a pump that begins between the two sees what
 * the caller has made room for. */
static inline bool orr_flow_is_idle(struct orr_flow *f)
{
    return orr_load_seq(&f->requests) == 0 && orr_load_seq(&f->count) == 0;
}

/* For pumps of another kind: begin returns whether the caller is to pump now; after each round it asks again,
 * with the number that the call before returned. */
static inline uint32_t orr_flow_round_begin(struct orr_flow *f)
{
    return orr_add_seq(&f->requests, 1u) == 0; /* pairs with orr_flow_round_again */
}
static inline uint32_t orr_flow_round_again(struct orr_flow *f, uint32_t served)
{
    uint32_t left = orr_sub_seq(&f->requests, served) - served;
    return left;
}

#endif
