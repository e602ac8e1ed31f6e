/* SPDX-License-Identifier: BSD-3-Clause */
/* ready_soon.c: telling a policy which tasks will be ready when the one that starts now has ended
 * (starpu_task_notify_ready_soon_register); an observer.
 * Threads: registration by any; telling on workers. Owns: the registered function. Not here: what a task
 * should take (core/task/perf.c), dependencies (deps.h, core/data/access.h).
 *
 * A task is told of when what it still waits for is what t is about to release. Its countdown is compared
 * with the conditions that t holds: handles of which t is the only user and for which it stands first in the
 * queue, and explicit dependencies on t. Those tasks cannot go away meanwhile, for they wait for t. Tasks
 * without a body are passed through: what waits for them alone is told as well. So all who wait are gathered
 * first, in order, with a table of their places once there are many. */
#include <math.h>
#include <starpu_scheduler.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/task/deps.h"
#include "core/task/perf.h"

enum { FEW = 32 };

static ORR_MUTEX(ready_soon) register_lock = PTHREAD_MUTEX_INITIALIZER; /* protects registration; leaf */
static _Atomic(starpu_notify_ready_soon_func) notify;                   /* publishes notify_data */
static _Atomic(void *) notify_data;
extern struct orr_observer orr_ready_soon_observer;

void starpu_task_notify_ready_soon_register(starpu_notify_ready_soon_func f, void *data)
{
    pthread_mutex_lock(&register_lock);
    starpu_notify_ready_soon_func before = orr_load_relaxed(&notify);
    if (f && before && before != f)
        orr_error("starpu_task_notify_ready_soon_register: there is one already; it is replaced");
    orr_store_relaxed(&notify_data, data);
    orr_store_release(&notify, f); /* pairs with tell */
    orr_observer_want(&orr_ready_soon_observer, f ? ORR_EVENT_BIT(TASK_STARTED) : 0);
    pthread_mutex_unlock(&register_lock);
}

/* ---- who waits ---- */

struct waiter {
    struct orr_task *task;
    int32_t released; /* conditions of the task that are about to hold */
    bool passed;      /* it has no body, and who waits for it is here as well */
};

struct waiting {
    struct waiter *list; /* few, or allocated */
    unsigned count, room;
    unsigned
        *place; /* by hash: 1 + number in the list, 0: free; twice as long as the list. NULL: there are few */
    struct waiter few[FEW];
};

static unsigned *slot_of(struct waiting *all, const struct orr_task *t)
{
    unsigned mask = 2 * all->room - 1;
    unsigned at = (unsigned)(((uint64_t)(uintptr_t)t * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (all->place[at] && all->list[all->place[at] - 1].task != t) at = (at + 1) & mask;
    return &all->place[at];
}

/* NULL: it is not there. */
static struct waiter *find(struct waiting *all, const struct orr_task *t)
{
    if (all->place) {
        unsigned number = *slot_of(all, t);
        return number ? &all->list[number - 1] : NULL;
    }
    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].task == t) return &all->list[i];
    return NULL;
}

/* Twice as much room. False: out of memory. */
static bool grow(struct waiting *all)
{
    unsigned room = 2 * all->room;
    unsigned *place = orr_calloc(2 * room, sizeof *place);
    struct waiter *list = place ? orr_realloc(all->place ? all->list : NULL, room * sizeof *list) : NULL;
    if (!list) {
        orr_free(place);
        return false;
    }
    if (!all->place) memcpy(list, all->few, sizeof all->few);
    orr_free(all->place);
    all->list = list;
    all->place = place;
    all->room = room;
    for (unsigned i = 0; i < all->count; i++) *slot_of(all, list[i].task) = i + 1;
    return true;
}

static void add(struct waiting *all, struct orr_task *t)
{
    struct waiter *w = find(all, t);
    if (w) {
        w->released++;
        return;
    }
    if (all->count == all->room && !grow(all)) return; /* the others come as a surprise */
    if (all->place) *slot_of(all, t) = all->count + 1;
    all->list[all->count++] = (struct waiter){ .task = t, .released = 1 };
}

/* The tasks that h's queue lets in when its only user leaves. */
static void add_from_queue(struct waiting *all, struct orr_access_queue *q)
{
    orr_spin_lock(&q->lock);
    struct orr_access *a = q->active == 1 ? q->head : NULL;
    for (uint8_t group = a ? a->group : 0; a && a->group == group; a = (struct orr_access *)a->waiter.next) {
        struct orr_task *t = orr_access_task(a);
        if (t) add(all, t);
        if (group == ORR_GROUP_WRITE) break;
    }
    orr_spin_unlock(&q->lock);
}

static void add_explicit(struct waiting *all, struct orr_task *t)
{
    struct orr_edge *e = orr_load_acquire(&t->successors);
    for (; e && e != ORR_EDGES_CLOSED; e = e->next) {
        struct orr_task *waiter = orr_edge_waiting_task(e);
        if (waiter) add(all, waiter);
    }
}

static void add_released_by(struct waiting *all, struct orr_task *t)
{
    for (unsigned i = 0; i < t->naccesses; i++)
        add_from_queue(all, &STARPU_TASK_GET_HANDLE(t->pub, orr_task_accesses(t)[i].index)->queue);
    add_explicit(all, t);
}

static bool waits_for_nothing_else(struct orr_task *t, int32_t released)
{
    return orr_load_acquire(&t->state) == ORR_TASK_SUBMITTED && orr_load_acquire(&t->pending) == released;
}

/* Adds the tasks that wait for tasks without a body that are about to end.
 * False: there is no more such task. */
static bool pass_through(struct waiting *all)
{
    bool more = false;
    for (unsigned i = 0; i < all->count; i++) {
        struct orr_task *waiter = all->list[i].task;
        if (waiter->pub->cl || all->list[i].passed || !waits_for_nothing_else(waiter, all->list[i].released))
            continue;
        all->list[i].passed = true;
        add_released_by(all, waiter);
        more = true;
    }
    return more;
}

/* t's body starts now and should take so many us (NaN: nobody knows, nothing is told): calls the function for
 * each task that waits for t alone. */
static void tell(struct orr_task *t, double us)
{
    starpu_notify_ready_soon_func fn = orr_load_acquire(&notify);
    if (!fn || isnan(us)) return;
    struct waiting all = { .room = FEW };
    all.list = all.few;
    add_released_by(&all, t);
    while (pass_through(&all)) continue;
    for (unsigned i = 0; i < all.count; i++) {
        struct orr_task *waiter = all.list[i].task;
        if (waiter->pub->cl && waits_for_nothing_else(waiter, all.list[i].released))
            fn(orr_load_relaxed(&notify_data), waiter->pub, us);
    }
    if (!all.place) return;
    orr_free(all.place);
    orr_free(all.list);
}

static void ready_soon_see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_task *t = (struct orr_task *)e->subject;
    struct starpu_perfmodel *m = t->pub->cl->model;
    (void)o;
    if (m) tell(t, orr_task_expected(t, m, (int)e->b, t->nimpl, (int)e->c));
}

struct orr_observer orr_ready_soon_observer = { .name = "tasks soon ready", .see = ready_soon_see };
