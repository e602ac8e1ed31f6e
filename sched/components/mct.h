/* SPDX-License-Identifier: BSD-3-Clause */
/* mct.h: which child of a component would end a task first: minimum completion time.
 * Threads: any; the caller's arrays. Owns: nothing.
 * Not here: keeping tasks until it is their turn (heft.c). */
#ifndef ORR_COMPONENTS_MCT_H
#define ORR_COMPONENTS_MCT_H

#include "core/worker/weighed.h"
#include "sched/components/component.h"
#include "sched/cost.h"

enum { ORR_MCT_CHILDREN = STARPU_BITMAP_SIZE };

/* What is expected, as known to a component while it decides. */
struct orr_outlook {
    double now;                   /* us */
    double end[ORR_MCT_CHILDREN]; /* when each child has nothing to do */
    double latest;                /* the last of those */
    double link[STARPU_MAXNODES]; /* when the copies to each memory node will have been made */
    bool is_watched;              /* somebody wants to know what is compared */
    struct orr_weighed weighed;   /* then: in the latest choice; of a child the worker that bids */
};

struct orr_choice {
    unsigned child; /* its index */
    struct orr_bid bid;
    unsigned node;
    double transfer_us;
    double room_us; /* to make room for it; infinite: it never fits */
    double end;     /* when the task ends there */
};

void orr_weights_set(struct orr_weights *w, const struct starpu_sched_component_mct_data *d);
/* For p, or NULL: for any task. */
void orr_outlook_look(struct orr_outlook *o, struct starpu_sched_component *c, const struct starpu_task *p);
/* False: no child can execute p. */
bool orr_mct_choose(struct starpu_sched_component *c, const struct orr_weights *w, struct orr_outlook *o,
                    struct starpu_task *p, struct orr_choice *out);
/* p's fields say what was chosen, and observers are told; before it is pushed. o: as the choice left it. */
void orr_mct_tell(struct orr_outlook *o, struct starpu_task *p, const struct orr_choice *choice);
/* Counts the choice in the outlook. */
void orr_outlook_count(struct orr_outlook *o, const struct orr_choice *choice);
/* The task was pushed: its data will occupy the link. */
void orr_mct_pushed(const struct orr_choice *choice);

#endif
