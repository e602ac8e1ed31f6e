/* SPDX-License-Identifier: BSD-3-Clause */
/* ready_soon.c: see ready_soon.h.
 * Threads: registration by any; telling on workers. Owns: the registered function. Not here: what a task
 * should take (core/task/perf.c).
 *
 * A task is told of when what it still waits for is what t is about to release. Its countdown is compared
 * with the conditions that t holds: handles of which t is the only user and for which it stands first in the
 * queue, and groups of explicit prerequisites of which t is the last. Those tasks cannot go away meanwhile,
 * for they wait for t. Tasks without a body are passed through: what waits for them alone is told as well. */
#include "core/task/ready_soon.h"

#include <math.h>
#include <starpu_scheduler.h>

#include "core/base/log.h"
#include "core/task/deps.h"

enum { TOLD_MAX = 64 };

static pthread_mutex_t register_lock = PTHREAD_MUTEX_INITIALIZER; /* protects registration; leaf */
static _Atomic(starpu_notify_ready_soon_func) notify;             /* publishes notify_data */
static _Atomic(void *) notify_data;
void (*orr_ready_soon_changed)(void);

void starpu_task_notify_ready_soon_register(starpu_notify_ready_soon_func f, void *data)
{
    pthread_mutex_lock(&register_lock);
    starpu_notify_ready_soon_func before = orr_load_relaxed(&notify);
    if (f && before && before != f)
        orr_error("starpu_task_notify_ready_soon_register: there is one already; it is replaced");
    orr_store_relaxed(&notify_data, data);
    orr_store_release(&notify, f); /* pairs with orr_ready_soon_tell */
    pthread_mutex_unlock(&register_lock);
    if (orr_ready_soon_changed) orr_ready_soon_changed();
}

bool orr_ready_soon_wanted(void)
{
    return orr_load_acquire(&notify) != NULL;
}

/* ---- who waits ---- */

struct waiting {
    struct orr_task *task[TOLD_MAX];
    int32_t released[TOLD_MAX]; /* conditions of the task that are about to hold */
    unsigned count;
};

static void add(struct waiting *all, struct orr_task *t)
{
    unsigned i = 0;
    while (i < all->count && all->task[i] != t) i++;
    if (i == TOLD_MAX) return; /* the others come as a surprise */
    if (i == all->count) {
        all->task[all->count++] = t;
        all->released[i] = 0;
    }
    all->released[i]++;
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
        struct orr_task *waiter = orr_load_acquire(&e->group->task);
        if (waiter && orr_load_acquire(&e->group->remaining) == 1) add(all, waiter);
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

void orr_ready_soon_tell(struct orr_task *t, double us)
{
    starpu_notify_ready_soon_func fn = orr_load_acquire(&notify);
    if (!fn || isnan(us)) return;
    struct waiting all;
    all.count = 0;
    add_released_by(&all, t);
    for (unsigned i = 0; i < all.count; i++) {
        struct orr_task *waiter = all.task[i];
        if (!waits_for_nothing_else(waiter, all.released[i])) continue;
        if (waiter->pub->cl)
            fn(orr_load_relaxed(&notify_data), waiter->pub, us);
        else
            add_released_by(&all, waiter);
    }
}
