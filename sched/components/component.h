/* SPDX-License-Identifier: BSD-3-Clause */
/* component.h: what the components of the library share: the private half of components and trees.
 * Threads: fields say. Owns: the shape of both. Not here: the interface for programs, and its rules
 * (starpu_sched_component.h). */
#ifndef ORR_COMPONENTS_COMPONENT_H
#define ORR_COMPONENTS_COMPONENT_H

#include <starpu_sched_component.h>
#include <stdbool.h>

#include "core/worker/worker.h"
#include "sched/components/taskq.h"
#include "sched/watchman.h"

enum { ORR_KINDS_MAX = 32, ORR_TREE_DOORS = 16, ORR_TREE_OPEN_MAX = 4 };

/* What is the same for all components of a kind. */
struct orr_component_kind {
    const char *name;
    bool passes;    /* a task pushed here is only handed on: it is kept by something below, or refused */
    bool any_child; /* and whichever child has room gets it: a worker may fetch it from above as well */
    bool one_child; /* children beyond the first would get nothing */
    bool leaf;
    bool unasked;       /* a leaf that does not pull: what is pushed to it goes to its workers at once */
    bool ranks_parents; /* parents are asked in their order; else in turn, so that none starves */
    bool (*bounded)(const struct starpu_sched_component *c); /* NULL: never; may refuse for want of room */
    /* NULL: not known. Whether whatever is pushed here just now would be refused for want of room. */
    bool (*full)(const struct starpu_sched_component *c);
    unsigned (*tasks)(const struct starpu_sched_component *c); /* NULL: keeps none; how many are here */
    /* NULL: keeps no task. Takes out every task that c's present workers cannot execute. */
    void (*evict)(struct starpu_sched_component *c, struct orr_taskq *out);
    /* For guard.c; NULL: tasks do not wait here for a worker that was chosen. Where they do; then either the
     * first that the worker of leaf `to` can execute, which is orr_call()->puller; or choosing anew. */
    struct orr_flow *(*queue)(const struct starpu_sched_component *c);
    struct starpu_task *(*give_up)(struct starpu_sched_component *c, struct starpu_sched_component *to);
    void (*choose_anew)(struct starpu_sched_component *c);
    const char *(*complaint)(
        const struct starpu_sched_component *c); /* NULL; what is wrong with c, or NULL */
};

/* Every component is one of these: starpu_sched_component_create makes no other. */
struct orr_component {
    struct starpu_sched_component pub;     /* first */
    const struct orr_component_kind *kind; /* NULL: the program's [const] */
    struct orr_component *next;            /* in the tree's list [own: who builds] */
    unsigned mark; /* walks: 0 new, 1 being visited, 2 done [own: who holds tree->lock] */
    /* What follows is derived while workers enter and leave [const for push and pull]. */
    bool only_pulls;  /* everything below waits to be asked: nothing can be pushed there */
    bool pulls_below; /* something below, and above the next queue, waits to be asked */
    bool only_wakes;  /* can_pull does nothing but wake parked workers */
    uint32_t where;   /* kinds of the workers of the context below */
    unsigned nkinds;  /* workers below that a model tells apart: the first of each */
    int16_t first_of[ORR_KINDS_MAX];
    bool guarded;          /* what waits here is for one worker, and there are others like it (guard.c) */
    bool open;             /* what is kept here is for the first worker of the tree that asks */
    bool combines;         /* combined workers are below */
    bool more_kinds;       /* there are more than fit: all workers must be asked */
    double speed;          /* sum of the relative speeds of the workers */
    _Atomic unsigned turn; /* which parent is asked first [any: statistic] */
    struct orr_component *next_guarded;
    _Atomic uint64_t told; /* what was said last of tasks that wait for a slow worker [any: hint] */
};

struct orr_flow;

struct orr_tree {
    struct starpu_sched_tree pub;                            /* first */
    struct orr_component *all;                               /* every component made for the tree */
    struct starpu_sched_component *leaf[STARPU_NMAXWORKERS]; /* [const once workers are there] */
    struct starpu_sched_component *stealing;       /* the first work_stealing component [const then] */
    struct orr_flow *entry;                        /* what the root had no room for [const] */
    _Atomic uint32_t changing;                     /* one changes workers: nobody else enters */
    struct orr_component *open[ORR_TREE_OPEN_MAX]; /* those that are [const for push and pull] */
    unsigned nopen;
    struct orr_component *guarded; /* [const for push and pull] */
    struct orr_watchman watchman;  /* the guard: the sleeping worker that looks after those */
    bool alike;                    /* a model cannot tell the workers apart [const for push and pull] */
    bool valid;                    /* it was checked [own: who changes workers] */
    bool refused;                  /* and is malformed */
    struct {
        ORR_ALIGNED_LINE _Atomic uint32_t threads; /* that push or pull */
    } inside[ORR_TREE_DOORS]; /* each worker counts at a door of its own, other threads at the first */
};

static inline struct orr_component *orr_component(struct starpu_sched_component *c)
{
    return (struct orr_component *)c;
}
static inline const struct orr_component *orr_component_const(const struct starpu_sched_component *c)
{
    return (const struct orr_component *)c;
}
static inline struct orr_tree *orr_tree_of(const struct starpu_sched_component *c)
{
    return (struct orr_tree *)c->tree;
}

static inline bool orr_component_is_full(const struct starpu_sched_component *c)
{
    const struct orr_component_kind *kind = orr_component_const(c)->kind;
    return kind && kind->full && kind->full(c);
}

static inline bool orr_component_is(const struct starpu_sched_component *c,
                                    const struct orr_component_kind *kind)
{
    return c && orr_component_const(c)->kind == kind;
}

/* A component of a kind with `bytes` of zeroed data of its own, freed with it. NULL: out of memory. */
struct starpu_sched_component *orr_component_create(struct starpu_sched_tree *tree,
                                                    const struct orr_component_kind *kind, size_t bytes);
/* The default of deinit_data for those: frees data. */
void orr_component_free_data(struct starpu_sched_component *c);

/* ---- who is asking, and for whom (state of the calling thread) ---- */

struct orr_component_call {
    struct orr_tree *inside;               /* the tree that the thread is in */
    struct starpu_sched_component *puller; /* the task pulled is for workers below it; NULL: see `to` */
    bool popping;                          /* a worker looks for a task */
    uint32_t wake_where;                   /* kinds of workers that can_pull is for; 0: all are woken */
    double now_us; /* the time, while many components are asked about theirs; 0: look */
};

static inline struct orr_component_call *orr_call(void)
{
    return orr_thread_room(orr_self(), trees, struct orr_component_call);
}

/* For estimated_end. */
static inline double orr_call_now(void)
{
    return orr_call()->now_us > 0 ? orr_call()->now_us : starpu_timing_now();
}

/* What can_pull should wake for p; to be asked while p is the caller's. */
uint32_t orr_wake_mask(const struct starpu_task *p);
/* Whether all of c's children are full: what c's kind says that hands tasks on. */
bool orr_children_are_full(const struct starpu_sched_component *c);
/* starpu_sched_component_push_task where it is known that a worker below `to` can execute p. */
int orr_component_give(struct starpu_sched_component *to, struct starpu_task *p);
/* c->can_pull for tasks with that mask. */
int orr_component_wake(struct starpu_sched_component *c, uint32_t mask);

/* ---- questions ---- */

/* What a task would take on the workers below a component. */
struct orr_bid {
    bool can;                         /* some worker can execute it */
    bool uncalibrated;                /* a model lacks measures for some worker and implementation */
    bool known;                       /* us is known */
    double us;                        /* of the fastest worker and implementation; 0 when not known */
    int worker;                       /* that worker (it may be a combined one), or one that can execute it */
    int comb;                         /* its architecture */
    unsigned node;                    /* and its memory node */
    unsigned impl, uncalibrated_impl; /* its implementation; the one to be measured */
};
void orr_component_bid(struct starpu_sched_component *c, struct starpu_task *p, struct orr_bid *out);
/* p is to run so: its implementation and predicted time. */
void orr_bid_settle(struct starpu_task *p, const struct orr_bid *bid);
/* Where a model cannot tell the tree's workers apart, what was settled for p above c holds below: true, and
 * that. What waits while the last other worker leaves keeps its prediction. */
bool orr_bid_settled(struct starpu_sched_component *c, struct starpu_task *p, struct orr_bid *out);
/* The same as orr_component_bid for one worker. */
void orr_worker_bid(int worker, struct starpu_task *p, struct orr_bid *out);

/* Number of tasks here and below, those that run included, as far as the library's components keep them. */
unsigned orr_component_tasks(const struct starpu_sched_component *c);

/* Whether the task has a model that may say something. */
bool orr_task_has_model(const struct starpu_task *p);
double orr_known_us(const struct starpu_task *p); /* starpu_task.predicted, 0 when not known */

/* ---- tree.c ---- */

/* Whoever pushes or pulls is inside: workers neither enter nor leave meanwhile. */
struct orr_entry {
    struct orr_component_call before;
    _Atomic uint32_t *door;
};
void orr_tree_enter(struct orr_tree *tree, struct orr_entry *e);
void orr_tree_leave(struct orr_tree *tree, const struct orr_entry *e);

/* Checks the tree and takes workers in: 0; -EINVAL: it is malformed (said why); -ENOMEM. */
int orr_tree_add_workers(struct orr_tree *tree, const int *workers, unsigned count);
void orr_tree_remove_workers(struct orr_tree *tree, const int *workers, unsigned count);
int orr_tree_push(struct orr_tree *tree, struct starpu_sched_component *at, struct starpu_task *p);
struct starpu_task *orr_tree_pop(struct orr_tree *tree, int worker);
/* Whether w can run what it popped; settles the implementation. */
bool orr_tree_settle(struct orr_worker *w, struct starpu_task *p);
void orr_tree_do_schedule(struct orr_tree *tree);
/* The tree last made for a context, NULL: none. */
struct orr_tree *orr_tree_get(unsigned ctx);
/* What went wrong with a context's tree when workers entered, once: 0, or a negative errno. */
int orr_tree_take_error(unsigned ctx);
/* How many tasks wait for the first worker that asks. */
uint32_t orr_tree_backlog(struct orr_tree *tree);
/* Wakes every worker of the tree that can execute p. */
void orr_tree_wake_for(struct orr_tree *tree, struct starpu_task *p);

/* ---- guard.c ---- */

/* Which queues are looked after; while nobody is inside. */
void orr_guard_derive(struct orr_tree *tree);
/* A task was put to c, which is guarded, for a worker that is awake:
 * somebody who sleeps is to look after it. */
void orr_guard_added(struct starpu_sched_component *c);
/* What orr_policy_ops.watch and watch_end say. */
struct orr_task *orr_guard_watch(struct orr_tree *tree, struct orr_worker *w, bool *again_out);
void orr_guard_leaves(struct orr_tree *tree, struct orr_worker *w);

/* ---- select.c ---- */

/* Settles how p is to run below `who`, where that is known or differs. */
void orr_best_settle(struct starpu_sched_component *who, struct starpu_task *p);

/* ---- measure.c ---- */

/* A queue of tasks that wait to be measured, each fetched by a worker for which its model lacks measures.
 * Full when it has enough for that; what has become known meanwhile goes back to the root. */
struct starpu_sched_component *orr_measure_create(struct starpu_sched_tree *tree);
bool orr_component_is_measure(const struct starpu_sched_component *c);

/* ---- parallel.c ---- */

struct orr_combined;
/* The workers of a leaf for several; NULL: c is something else. */
const struct orr_combined *orr_leaf_team(const struct starpu_sched_component *c);
/* Whether p is to be measured on the workers of that leaf, and none of them has many tasks of its own to run
 * first; settles the implementation then. */
bool orr_leaf_team_measures(struct starpu_sched_component *c, struct starpu_task *p);

/* ---- composed.c ---- */

/* c, or the lowest of the components that c is composed of. */
struct starpu_sched_component *orr_composed_last(struct starpu_sched_component *c);

/* ---- worker.c ---- */

extern const double orr_waking_us; /* that a worker which sleeps needs to begin, as it is reckoned */

void orr_leaf_begins(struct orr_tree *tree, int worker, struct starpu_task *p);
void orr_leaf_ends(struct orr_tree *tree, int worker, struct starpu_task *p);
/* It is expected to be busy until then. */
void orr_leaf_is_busy(struct starpu_sched_component *c, double until_us);
/* A task bound to the worker passes the tree by. */
void orr_leaf_is_given(struct orr_tree *tree, int worker, struct starpu_task *p);
/* A task that another component gives up for the worker of leaf c; NULL: it has none for it. */
struct starpu_task *orr_leaf_take_from(struct starpu_sched_component *c,
                                       struct starpu_sched_component *other);
/* The worker of a simple leaf, -1: c is something else. */
int orr_leaf_worker(const struct starpu_sched_component *c);

#endif
