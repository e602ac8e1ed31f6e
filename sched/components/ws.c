/* SPDX-License-Identifier: BSD-3-Clause */
/* ws.c: the flow-control component work_stealing: a queue for each child, from which others take when theirs
 * is empty.
 * Threads: any. Owns: the queues.
 * Not here: the queue itself (flow.c), the policies ws and lws (sched/ws.c). */
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/worker/park.h"
#include "sched/components/flow.h"

struct stealing {
    struct orr_flow *queue; /* one for each child [const once there are workers] */
    unsigned count;
    _Atomic unsigned turn;
};

/* Which child has this worker below it; c->nchildren: none. */
static unsigned child_of(const struct starpu_sched_component *c, int worker)
{
    unsigned i = 0;
    while (i < c->nchildren && !(worker >= 0 && starpu_bitmap_get(c->children[i]->workers_in_ctx, worker)))
        i++;
    return i;
}

/* The child that p goes to: the caller's, else the next in turn. */
static unsigned choose(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct stealing *s = c->data;
    const struct orr_worker *self = orr_worker_self();
    unsigned own = child_of(c, self ? self->id : -1);
    if (own < c->nchildren && starpu_sched_component_can_execute_task(c->children[own], p)) return own;
    unsigned first = orr_add_relaxed(&s->turn, 1u);
    for (unsigned i = 0; i < c->nchildren; i++)
        if (starpu_sched_component_can_execute_task(c->children[(first + i) % c->nchildren], p))
            return (first + i) % c->nchildren;
    return c->nchildren;
}

/* Somebody who can run it: the child's own workers, or any that would steal it. */
static void wake(struct starpu_sched_component *c, unsigned first, uint32_t mask)
{
    for (unsigned i = 0; i < c->nchildren; i++)
        if (orr_component_wake(c->children[(first + i) % c->nchildren], mask)) return;
}

/* Whether the caller is the child's worker, between two tasks, and has nothing else to take: a worker that is
 * woken for the task would only steal it. Workers of several contexts, or with devices, may have something
 * else. */
static bool takes_next(const struct starpu_sched_component *child, struct orr_flow *queue)
{
    const struct orr_worker *self = orr_worker_self();
    return self && self->direct && orr_load_seq(&orr_parking.plain) && !orr_task_current() &&
           child->workers_in_ctx->cardinal == 1 && starpu_bitmap_get(child->workers_in_ctx, self->id) &&
           orr_load_relaxed(&queue->count) == 0 && orr_load_relaxed(&self->local_count) == 0;
}

static int component_ws_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct stealing *s = c->data;
    uint32_t mask = orr_wake_mask(p);
    unsigned at = choose(c, p);
    if (at == c->nchildren || !s->queue) return 1;
    bool soon = takes_next(c->children[at], &s->queue[at]);
    orr_flow_add(&s->queue[at], p, false);
    if (!soon) wake(c, at, mask);
    return 0;
}

static unsigned index_of(const struct starpu_sched_component *c, const struct starpu_sched_component *child)
{
    unsigned i = 0;
    while (i < c->nchildren && c->children[i] != child) i++;
    return i;
}

static struct starpu_task *component_ws_pull_task(struct starpu_sched_component *c,
                                                  struct starpu_sched_component *to)
{
    struct stealing *s = c->data;
    struct starpu_sched_component *who = orr_call()->puller ? orr_call()->puller : to;
    unsigned own = index_of(c, to);
    if (own == c->nchildren || !s->queue) return starpu_sched_component_parents_pull_task(c, to);
    struct starpu_task *p = orr_flow_take(&s->queue[own], who);
    for (unsigned i = 1; !p && i < c->nchildren; i++)
        p = orr_flow_take_last(&s->queue[(own + i) % c->nchildren], who);
    starpu_sched_component_send_can_push_to_parents(c);
    return p ? p : orr_flow_take(&s->queue[own], who);
}

/* A child with a queue of its own has room. */
static int component_ws_can_push(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    struct stealing *s = c->data;
    int pushed = 0;
    unsigned own = index_of(c, to);
    for (unsigned i = 0; s->queue && i < c->nchildren && !pushed; i++) {
        struct orr_flow *f = &s->queue[(own + i) % c->nchildren];
        if (!orr_flow_is_idle(f)) pushed = orr_flow_pump(f, c, to);
    }
    return pushed ? 1 : starpu_sched_component_send_can_push_to_parents(c);
}

static double queued_us(struct stealing *s)
{
    double us = 0;
    for (unsigned i = 0; s->queue && i < s->count; i++) us += orr_flow_us(&s->queue[i]);
    return us;
}

static double estimated_end(struct starpu_sched_component *c)
{
    int workers = c->workers_in_ctx->cardinal;
    return starpu_sched_component_estimated_end_average(c) + queued_us(c->data) / (workers > 0 ? workers : 1);
}

static unsigned tasks(const struct starpu_sched_component *c)
{
    const struct stealing *s = c->data;
    unsigned n = 0;
    for (unsigned i = 0; s->queue && i < s->count; i++) n += orr_load_relaxed(&s->queue[i].count);
    return n;
}

static void component_ws_evict(struct starpu_sched_component *c, struct orr_taskq *out)
{
    struct stealing *s = c->data;
    for (unsigned i = 0; s->queue && i < s->count; i++) orr_flow_evict(&s->queue[i], c->children[i], out);
}

static void free_queues(struct stealing *s)
{
    for (unsigned i = 0; s->queue && i < s->count; i++) orr_flow_fini(&s->queue[i]);
    orr_free(s->queue);
    s->queue = NULL;
}

/* The children are known when the first workers come. */
static void notify_change_workers(struct starpu_sched_component *c)
{
    struct stealing *s = c->data;
    if (s->queue && s->count == c->nchildren) return;
    free_queues(s);
    s->count = c->nchildren;
    s->queue = orr_calloc(s->count, sizeof *s->queue);
    if (!s->queue) orr_error("component work_stealing: out of memory for %u queues", s->count);
    for (unsigned i = 0; s->queue && i < s->count; i++) orr_flow_init(&s->queue[i], true);
}

static void component_ws_deinit_data(struct starpu_sched_component *c)
{
    free_queues(c->data);
    orr_component_free_data(c);
}

static const char *complaint(const struct starpu_sched_component *c)
{
    for (unsigned i = 0; i < c->nchildren; i++)
        if (starpu_sched_component_is_combined_worker(c->children[i]))
            return "a parallel worker is its child, which never asks for tasks";
    return NULL;
}

static const struct orr_component_kind kind_stealing = {
    .name = "work_stealing", .tasks = tasks, .evict = component_ws_evict, .complaint = complaint
};

struct starpu_sched_component *starpu_sched_component_work_stealing_create(struct starpu_sched_tree *tree,
                                                                           void *arg)
{
    struct starpu_sched_component *c = orr_component_create(tree, &kind_stealing, sizeof(struct stealing));
    (void)arg;
    if (!c) return NULL;
    c->push_task = component_ws_push_task;
    c->pull_task = component_ws_pull_task;
    c->can_push = component_ws_can_push;
    c->estimated_end = estimated_end;
    c->notify_change_workers = notify_change_workers;
    c->deinit_data = component_ws_deinit_data;
    if (!((struct orr_tree *)tree)->stealing) ((struct orr_tree *)tree)->stealing = c;
    return c;
}

int starpu_sched_component_is_work_stealing(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_stealing);
}
