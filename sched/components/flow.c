/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.c: queues of flow-control components, and their pump.
 * Threads: any. Owns: nothing. Not here: see flow.h. */
#include "sched/components/flow.h"

#include <math.h>

#include "core/mem/node.h"
#include "core/task/perf.h"
#include "core/worker/park.h"

enum { REFUSED_MAX = 16, READY_WINDOW = 16, LAST_ONES = 32 };

void orr_flow_init(struct orr_flow *f, bool sorted)
{
    orr_spin_init(&f->lock);
    orr_taskq_init(&f->q, sorted);
}

void orr_flow_fini(struct orr_flow *f)
{
    orr_taskq_fini(&f->q);
}

double orr_known_us(const struct starpu_task *p)
{
    return p->predicted > 0 ? p->predicted : 0;
}

/* ---- putting ---- */

static bool full_locked(const struct orr_flow *f)
{
    if (f->q.count == 0) return false;
    return (f->max_count && f->q.count >= f->max_count) ||
           (f->max_us > 0 && orr_load_relaxed(&f->us) >= f->max_us);
}

static bool low_locked(const struct orr_flow *f)
{
    return f->q.count == 0 || ((!f->max_count || 2 * f->q.count < f->max_count) &&
                               (f->max_us <= 0 || 2 * orr_load_relaxed(&f->us) < f->max_us));
}

static void count_in_locked(struct orr_flow *f, const struct starpu_task *p)
{
    double us = orr_known_us(p);
    if (us > 0) orr_store_relaxed(&f->us, orr_load_relaxed(&f->us) + us);
    orr_store_seq(&f->count,
                  f->q.count); /* pairs with the loads of those who find nothing, before sleeping */
    if (!f->was_full && full_locked(f)) f->was_full = true;
}

static void add_locked(struct orr_flow *f, struct starpu_task *p, bool front)
{
    orr_taskq_add(&f->q, p, front);
    count_in_locked(f, p);
}

static void put_back(struct orr_flow *f, struct starpu_task *p)
{
    orr_spin_lock(&f->lock);
    orr_taskq_put_back(&f->q, p);
    count_in_locked(f, p);
    orr_spin_unlock(&f->lock);
}

int orr_flow_put(struct orr_flow *f, struct starpu_task *p)
{
    orr_spin_lock(&f->lock);
    bool full = full_locked(f);
    if (!full) add_locked(f, p, false);
    orr_spin_unlock(&f->lock);
    return full ? -EAGAIN : 0;
}

uint32_t orr_flow_add(struct orr_flow *f, struct starpu_task *p, bool front)
{
    orr_spin_lock(&f->lock);
    add_locked(f, p, front);
    uint32_t before = orr_taskq_is_last(&f->q, p) ? f->q.count - 1 : 0;
    orr_spin_unlock(&f->lock);
    return before;
}

bool orr_flow_is_full(struct orr_flow *f)
{
    if (f->max_count == 0 && f->max_us <= 0) return false;
    uint32_t count = orr_load_seq(&f->count); /* pairs with who took one and looks above (orr_flow_added) */
    if (count == 0 || f->max_us <= 0) {
        bool full = f->max_count && count >= f->max_count;
        if (!full) orr_prefetch_write(f); /* for a caller that asks in order to add something */
        return full;
    }
    orr_spin_lock(&f->lock);
    bool full = full_locked(f);
    orr_spin_unlock(&f->lock);
    return full;
}

/* ---- taking ---- */

struct starpu_task *orr_flow_remove_locked(struct orr_flow *f, struct starpu_task *p)
{
    if (!p) return NULL;
    orr_taskq_remove(&f->q, p);
    double us = orr_load_relaxed(&f->us);
    if (us != 0) orr_store_relaxed(&f->us, f->q.count ? us - orr_known_us(p) : 0);
    orr_store_seq(&f->count, f->q.count);
    return p;
}

/* Of the tasks of p's rank from p on, the one with the least data to bring to c. */
static struct starpu_task *most_ready(struct orr_flow *f, struct starpu_task *p,
                                      struct starpu_sched_component *c)
{
    const struct orr_component *oc = orr_component_const(c);
    unsigned node = orr_workers[oc->first_of[0]].node;
    struct starpu_task *best = p, *end = p;
    double least = INFINITY;
    for (int i = 0; i < READY_WINDOW && end; i++, end = end->next) {
        double us = orr_task_bring_us(orr_task_of(end), node);
        if (us >= least || (end != p && !starpu_sched_component_can_execute_task(c, end))) continue;
        best = end;
        least = us;
        if (us == 0) break;
    }
    return f->ready == ORR_FLOW_NOTHING_TO_BRING && least > 0 ? p : best;
}

/* The first task that c can execute. */
static struct starpu_task *first_locked(struct orr_flow *f, struct starpu_sched_component *c)
{
    int w = orr_leaf_worker(c);
    struct starpu_task *p = w >= 0 ? orr_taskq_first_for(&f->q, w) : orr_taskq_first(&f->q), *last = NULL;
    uint32_t n = 0;
    for (; p && !starpu_sched_component_can_execute_task(c, p); n++) {
        last = p;
        p = orr_taskq_next(&f->q, p);
    }
    if (orr_unlikely(n > 0) && w >= 0) orr_taskq_skipped(&f->q, w, last, n);
    return p;
}

static struct starpu_task *take_locked(struct orr_flow *f, struct starpu_sched_component *c)
{
    if (!orr_taskq_has_for(&f->q, orr_component_const(c)->where)) return NULL;
    struct starpu_task *p = first_locked(f, c);
    if (p && f->ready && orr_node_count > 1 && STARPU_SCHED_COMPONENT_IS_SINGLE_MEMORY_NODE(c))
        p = most_ready(f, p, c);
    return orr_flow_remove_locked(f, p);
}

static bool runs_brief_tasks(void)
{
    const struct orr_worker *self = orr_worker_self();
    return self && orr_load_relaxed(&self->short_tasks);
}

struct starpu_task *orr_flow_take_noting(struct orr_flow *f, struct starpu_sched_component *c, bool *low_out)
{
    *low_out = false;
    if (orr_load_seq(&f->count) == 0) return NULL;
    orr_spin_lock(&f->lock);
    bool mixed = f->q.ranks > 1; /* what is left may have to wait for something above */
    struct starpu_task *p = take_locked(f, c);
    *low_out = f->was_full && (mixed || !runs_brief_tasks() || low_locked(f));
    if (*low_out) f->was_full = false;
    orr_spin_unlock(&f->lock);
    return p;
}

struct starpu_task *orr_flow_take(struct orr_flow *f, struct starpu_sched_component *c)
{
    if (orr_load_seq(&f->count) == 0) return NULL;
    orr_spin_lock(&f->lock);
    struct starpu_task *p = take_locked(f, c);
    orr_spin_unlock(&f->lock);
    return p;
}

struct starpu_task *orr_flow_take_last(struct orr_flow *f, struct starpu_sched_component *c)
{
    if (orr_load_seq(&f->count) == 0) return NULL;
    orr_spin_lock(&f->lock);
    struct starpu_task *p = orr_taskq_last_of_first(&f->q);
    for (int i = 0; p && !starpu_sched_component_can_execute_task(c, p); i++)
        p = i < LAST_ONES ? p->prev : NULL;
    p = p ? orr_flow_remove_locked(f, p) : take_locked(f, c);
    orr_spin_unlock(&f->lock);
    return p;
}

struct starpu_task *orr_flow_take_first(struct orr_flow *f)
{
    struct starpu_task *p;
    return orr_flow_take_some(f, &p, 1) ? p : NULL;
}

unsigned orr_flow_take_some(struct orr_flow *f, struct starpu_task **out, unsigned n)
{
    unsigned taken = 0;
    if (orr_load_seq(&f->count) == 0) return 0;
    orr_spin_lock(&f->lock);
    while (taken < n && (out[taken] = orr_flow_remove_locked(f, orr_taskq_first(&f->q)))) taken++;
    orr_spin_unlock(&f->lock);
    return taken;
}

void orr_flow_evict(struct orr_flow *f, struct starpu_sched_component *c, struct orr_taskq *out)
{
    orr_spin_lock(&f->lock);
    for (struct starpu_task *p = orr_taskq_first(&f->q), *next; p; p = next) {
        next = orr_taskq_next(&f->q, p);
        if (c && starpu_sched_component_can_execute_task(c, p)) continue;
        orr_taskq_add(out, orr_flow_remove_locked(f, p), false);
    }
    orr_spin_unlock(&f->lock);
}

/* ---- pumping ---- */

/* What was refused in a round. Tasks that may run on the same kinds of workers would be refused as well. */
struct refused {
    struct starpu_task *task[REFUSED_MAX];
    unsigned count;
    uint32_t where; /* kinds for which there is no room */
    uint32_t wake;  /* for whom what stays can be pulled; 0: anybody */
};

/* The first task that is worth an attempt. */
static struct starpu_task *next_offer(struct orr_flow *f, const struct refused *r)
{
    orr_spin_lock(&f->lock);
    struct starpu_task *p = NULL;
    if (!r->where || orr_taskq_has_for(&f->q, ~r->where)) {
        p = orr_taskq_first(&f->q);
        while (p && !(orr_task_where(p) & f->q.kinds & ~r->where)) p = orr_taskq_next(&f->q, p);
    }
    p = orr_flow_remove_locked(f, p);
    orr_spin_unlock(&f->lock);
    return p;
}

static void note_refused(struct refused *r, struct starpu_task *p)
{
    uint32_t mask = orr_wake_mask(p);
    r->wake = r->count == 0 ? mask : mask && r->wake ? r->wake | mask : 0;
    r->where |= mask;
    r->task[r->count++] = p;
}

static bool pump_round(struct orr_flow *f, struct starpu_sched_component *from,
                       struct starpu_sched_component *to)
{
    struct refused r = { .count = 0 };
    struct starpu_task *p;
    bool pushed = false;
    while (r.count < REFUSED_MAX && !orr_component_is_full(to) && (p = next_offer(f, &r))) {
        if (starpu_sched_component_push_task(from, to, p) == 0)
            pushed = true;
        else
            note_refused(&r, p);
    }
    for (unsigned i = r.count; i-- > 0;)
        if (r.where) /* some were not the first */
            orr_flow_add(f, r.task[i], true);
        else
            put_back(f, r.task[i]);
    if (r.count && orr_component(to)->pulls_below) orr_component_wake(to, r.wake);
    return pushed;
}

bool orr_flow_pump(struct orr_flow *f, struct starpu_sched_component *from, struct starpu_sched_component *to)
{
    bool pushed = false;
    uint32_t served = orr_flow_round_begin(f);
    while (served) {
        bool now = orr_load_seq(&f->count) > 0 && pump_round(f, from, to);
        if (now && from) starpu_sched_component_send_can_push_to_parents(from);
        pushed |= now;
        served = orr_flow_round_again(f, served);
    }
    return pushed;
}

/* Where any worker can take any task nobody need be woken while one looks, or will soon (core/worker/park.h).
 * Where one worker only can, and is awake, somebody looks after what it does not get to (guard.c). */
static void wake_for(struct orr_flow *f, struct starpu_sched_component *from,
                     struct starpu_sched_component *to, uint32_t mask)
{
    if (from && orr_component(from)->open && mask && orr_load_seq(&orr_parking.plain))
        orr_wake_any(&orr_contexts[from->tree->sched_ctx_id], orr_load_relaxed(&f->count));
    else if (!orr_component_wake(to, mask) && from && orr_component(from)->guarded)
        orr_guard_added(from);
}

/* While all is full below, a worker that makes room there sees what was added. */
void orr_flow_added(struct orr_flow *f, struct starpu_sched_component *from,
                    struct starpu_sched_component *to, uint32_t mask)
{
    if (orr_component(to)->only_pulls)
        wake_for(f, from, to, mask);
    else if (!orr_component_is_full(to))
        orr_flow_pump(f, from, to);
}

bool orr_flow_passes(struct orr_flow *f, struct starpu_sched_component *from,
                     struct starpu_sched_component *to, struct starpu_task *p)
{
    return !orr_component(to)->only_pulls && orr_flow_is_idle(f) && !orr_component_is_full(to) &&
           starpu_sched_component_push_task(from, to, p) == 0;
}
