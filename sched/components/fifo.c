/* SPDX-License-Identifier: BSD-3-Clause */
/* fifo.c: the flow-control components fifo and prio: a queue, with a limit or without.
 * Threads: any. Owns: nothing beside its flow. Not here: the queue and the pump (flow.c). */
#include "core/mem/node.h"
#include "sched/components/flow.h"

static bool bounded(const struct starpu_sched_component *c)
{
    const struct orr_flow *f = c->data;
    return f->max_count > 0 || f->max_us > 0;
}

static bool full(const struct starpu_sched_component *c)
{
    return orr_flow_is_full(c->data);
}

static void fifo_evict(struct starpu_sched_component *c, struct orr_taskq *out)
{
    orr_flow_evict(c->data, c, out);
}

static unsigned tasks(const struct starpu_sched_component *c)
{
    return orr_load_relaxed(&((struct orr_flow *)c->data)->count);
}

static int fifo_push_task(struct starpu_sched_component *c, struct starpu_task *p)
{
    struct orr_flow *f = c->data;
    uint32_t mask = orr_wake_mask(p); /* p may have run once it is in */
    if (orr_flow_passes(f, c, c->children[0], p)) return 0;
    if (orr_node_count > 1) {
        if (orr_flow_is_full(f)) return 1;
        starpu_sched_component_prefetch_on_node(c, p);
    }
    if (orr_flow_put(f, p) != 0) return 1;
    orr_flow_added(f, c, c->children[0], mask);
    return 0;
}

/* A pump above stops at the first ones that nobody has room for, and tasks for particular workers stand
 * behind them. */
static struct starpu_task *pull_past(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    for (unsigned i = 0; i < c->nparents; i++) {
        const struct orr_component_kind *kind = orr_component_const(c->parents[i])->kind;
        if (!kind || !kind->any_child) return NULL;
    }
    return starpu_sched_component_parents_pull_task(c, to);
}

/* What is taken from a full queue makes room, and while there is nothing the queues above
 * may have something. */
static struct starpu_task *fifo_pull_task(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    struct orr_flow *f = c->data;
    struct starpu_sched_component *who = orr_call()->puller ? orr_call()->puller : to;
    bool low;
    struct starpu_task *p = orr_flow_take_noting(f, who, &low);
    if (!p || low) starpu_sched_component_send_can_push_to_parents(c);
    if (p || (p = orr_flow_take(f, who)) != NULL) return p;
    return pull_past(c, to);
}

static struct orr_flow *queue(const struct starpu_sched_component *c)
{
    return c->data;
}

static int fifo_can_push(struct starpu_sched_component *c, struct starpu_sched_component *to)
{
    struct orr_flow *f = c->data;
    if (!orr_flow_is_idle(f) && orr_flow_pump(f, c, to)) return 1;
    return starpu_sched_component_send_can_push_to_parents(c); /* what comes from there is handed on */
}

static double estimated_end(struct starpu_sched_component *c)
{
    return starpu_sched_component_estimated_end_min_add(c, orr_flow_us(c->data));
}

static void fifo_deinit_data(struct starpu_sched_component *c)
{
    orr_flow_fini(c->data);
    orr_component_free_data(c);
}

#define FLOW_KIND(text)                                                                                      \
    {                                                                                                        \
        .name = text, .one_child = true, .bounded = bounded, .full = full, .tasks = tasks,                   \
        .evict = fifo_evict, .queue = queue, .give_up = fifo_pull_task                                       \
    }
static const struct orr_component_kind kind_fifo = FLOW_KIND("fifo");
static const struct orr_component_kind kind_prio = FLOW_KIND("prio");

static struct starpu_sched_component *fifo_create(struct starpu_sched_tree *tree,
                                                  const struct orr_component_kind *kind,
                                                  const struct starpu_sched_component_fifo_data *d)
{
    struct starpu_sched_component *c = orr_component_create(tree, kind, sizeof(struct orr_flow));
    if (!c) return NULL;
    struct orr_flow *f = c->data;
    orr_flow_init(f, kind == &kind_prio);
    if (d) {
        f->max_count = d->ntasks_threshold;
        f->max_us = d->exp_len_threshold > 0 ? d->exp_len_threshold : 0;
        f->ready = d->ready_first ? ORR_FLOW_NOTHING_TO_BRING
                   : d->ready     ? ORR_FLOW_LEAST_TO_BRING
                                  : ORR_FLOW_IN_ORDER;
    }
    c->push_task = fifo_push_task;
    c->pull_task = fifo_pull_task;
    c->can_push = fifo_can_push;
    c->estimated_end = estimated_end;
    c->deinit_data = fifo_deinit_data;
    return c;
}

struct starpu_sched_component *starpu_sched_component_fifo_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_fifo_data *fifo_data)
{
    return fifo_create(tree, &kind_fifo, fifo_data);
}

int starpu_sched_component_is_fifo(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_fifo);
}

struct starpu_sched_component *starpu_sched_component_prio_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_prio_data *prio_data)
{
    if (!prio_data) return fifo_create(tree, &kind_prio, NULL);
    struct starpu_sched_component_fifo_data d = { .ntasks_threshold = prio_data->ntasks_threshold,
                                                  .exp_len_threshold = prio_data->exp_len_threshold,
                                                  .ready = prio_data->ready,
                                                  .ready_first = prio_data->ready_first };
    return fifo_create(tree, &kind_prio, &d);
}

int starpu_sched_component_is_prio(struct starpu_sched_component *component)
{
    return orr_component_is(component, &kind_prio);
}
