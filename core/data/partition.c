/* SPDX-License-Identifier: BSD-3-Clause */
/* partition.c: data cut into children that use their parent's main memory, and the switches between the two.
 * Threads: the program's submitting thread plans and submits; switches end on whatever thread grants their
 * last access. Owns: plans, their children, switches under way. Not here: how a shape is cut (filters/),
 * access queues (access.c).
 *
 * A plan is a parent and its children, each a handle with a queue of its own. At any time either the children
 * are held (by a write access that nobody else sees) and the parent may be used, or the parent is held and
 * the children may be used. A switch is nothing but accesses: to the children, it joins the parent's queue,
 * brings the bytes to main memory, and lets the children go; back, it joins every child's queue, brings their
 * bytes to main memory, and lets the parent go. Since it joins at submission, tasks before and after it see
 * it in order, and nobody waits. For reading only, the parent is held by a read access: it can be read beside
 * its children. starpu_data_partition is a plan that is switched to at once, and starpu_data_unpartition
 * waits for its switch back. */
#include "core/data/partition.h"

#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/data/filters/cut.h"
#include "core/data/transfer.h"

enum plan_state { PLAN_OFF, PLAN_READ, PLAN_WRITE };

struct orr_data_block {
    struct orr_data_block *next;      /* of the same parent [own: program] */
    struct orr_data *parent;          /* [const] */
    struct starpu_data_filter filter; /* [const] */
    uint8_t state;                    /* enum plan_state, in the order of submission [own: program] */
    bool at_once;                     /* made by starpu_data_partition [const] */
    bool valid;                       /* the parent had a value when it was cut [own: switch] */
    bool parent_pinned;               /* orr_fetch_end is due [own: switch] */
    void *placed_at;       /* where the parent's memory was when the children's addresses were computed [own:
                              switch] */
    _Atomic uint32_t refs; /* the program's, and one for each switch under way */
    unsigned count;        /* [const] */
    bool *pinned;          /* of each child: orr_fetch_end is due [own: switch] */
    struct orr_data *children[]; /* [const] */
};

/* One handle that a switch must hold. */
struct move {
    struct orr_access access; /* first: a waiter is its move */
    struct orr_fetch fetch;
    struct orr_data *handle;
    struct plan_switch *of;
    int status; /* 0: its bytes are in main memory */
};

struct plan_switch {
    struct plan_switch *next; /* [own: thread] of those to be ended */
    struct orr_data_block *plan;
    enum plan_state to, from;
    void (*done)(void *); /* NULL: nobody wants to know */
    void *done_arg;
    _Atomic uint32_t left; /* moves not over */
    struct move moves[];
};

static const char *where(void)
{
    return orr_data_hooks.where ? orr_data_hooks.where() : "";
}

static bool in_task(void)
{
    return orr_data_hooks.in_task && orr_data_hooks.in_task();
}

static bool check(struct orr_data *h, const char *fn)
{
    if (orr_data_valid(h)) return true;
    orr_error("%s%s: %s", fn, where(), h ? "the handle is not a registered one" : "the handle is NULL");
    return false;
}

static bool may_block(const char *fn, const char *instead)
{
    if (!in_task()) return true;
    orr_error("%s%s: it blocks, and must not be called from a task or a callback; use %s", fn, where(),
              instead);
    return false;
}

static struct orr_data_block *plans_of(const struct orr_data *h)
{
    return h->rare ? h->rare->children : NULL;
}

/* ---- children ---- */

static void destroy_children(struct orr_data_block *plan)
{
    for (unsigned i = 0; i < plan->count; i++)
        if (plan->children[i]) orr_data_destroy(plan->children[i]);
    orr_free(plan);
}

static void plan_unref(struct orr_data_block *plan)
{
    if (orr_sub_acq_rel(&plan->refs, 1) == 1) destroy_children(plan);
}

/* Fills a child's interface structure from its parent's, both of main memory. */
static bool cut(struct orr_data_block *plan, unsigned i, const struct starpu_data_interface_ops *ops,
                void *itf)
{
    bool built_in = ops->interfaceid >= 0 && ops->interfaceid < STARPU_MAX_INTERFACE_ID;
    if (built_in) *(enum starpu_data_interface_id *)itf = ops->interfaceid;
    plan->filter.filter_func(plan->parent->replicates[STARPU_MAIN_RAM].interface, itf, &plan->filter, i,
                             plan->count);
    if (orr_filter_failed()) return false;
    if (!built_in || *(enum starpu_data_interface_id *)itf == ops->interfaceid) return true;
    orr_error("partitioning: the filter makes children of another interface than their parent's; set "
              "get_child_ops of the "
              "filter to the function that goes with it (..._child_ops)");
    return false;
}

/* Children inherit what the program said about their parent. */
static void inherit(struct orr_data *child, struct orr_data *parent, unsigned i)
{
    child->parent = parent;
    child->root = parent->root;
    child->child_index = i;
    child->sequential_consistency = parent->sequential_consistency;
    child->is_not_important = parent->is_not_important;
    child->wt_mask = parent->wt_mask;
    if (parent->rare && parent->rare->redux_cl)
        starpu_data_set_reduction_methods_with_args(child, parent->rare->redux_cl, parent->rare->redux_cl_arg,
                                                    parent->rare->init_cl, parent->rare->init_cl_arg);
}

/* A child, held by the plan, without a value. itf: room for its interface. NULL on an error that was said. */
static struct orr_data *create_child(struct orr_data_block *plan, unsigned i,
                                     const struct starpu_data_interface_ops *ops, void *itf)
{
    if (ops->init) ops->init(itf);
    if (!cut(plan, i, ops, itf)) return NULL;
    struct orr_data *child = orr_data_create(ops, STARPU_MAIN_RAM, itf);
    if (!child) {
        orr_error("partitioning: out of memory for child %u of %u", i, plan->count);
        return NULL;
    }
    inherit(child, plan->parent, i);
    orr_spin_lock(&child->queue.lock);
    child->replicates[STARPU_MAIN_RAM].state = ORR_INVALID;
    child->initialized = false;
    orr_data_update_ready_locked(child);
    struct orr_access hold = {
        .group = ORR_GROUP_WRITE
    }; /* nobody waits yet: granted, and not needed after that */
    orr_access_join_locked(&child->queue, &hold);
    orr_spin_unlock(&child->queue.lock);
    return child;
}

static bool create_children(struct orr_data_block *plan)
{
    struct starpu_data_filter *f = &plan->filter;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct starpu_data_interface_ops *ops =
            f->get_child_ops ? f->get_child_ops(f, i) : plan->parent->ops;
        size_t room = starpu_interface_ndim_ops
                          .interface_size; /* a filter that does not go with ops must not overrun it */
        void *itf = orr_calloc(1, ops->interface_size > room ? ops->interface_size : room);
        if (itf)
            plan->children[i] = create_child(plan, i, ops, itf);
        else
            orr_error("partitioning: out of memory for child %u of %u", i, plan->count);
        orr_free(itf);
        if (!plan->children[i]) return false;
    }
    return true;
}

static void *main_pointer(struct orr_data *h)
{
    return starpu_data_handle_to_pointer(h, STARPU_MAIN_RAM);
}

/* A new plan, off; NULL on an error that was said. */
static struct orr_data_block *plan_create(struct orr_data *parent, const struct starpu_data_filter *f,
                                          const char *fn)
{
    struct starpu_data_filter copy = *f;
    unsigned count = f->get_nchildren ? f->get_nchildren(&copy, parent) : f->nchildren;
    if (!f->filter_func || count == 0) {
        orr_error("%s: the filter %s; set %s of struct starpu_data_filter", fn,
                  count ? "has no function" : "makes no children", count ? "filter_func" : "nchildren");
        return NULL;
    }
    struct orr_data_rare *rare = orr_data_rare_get(parent);
    struct orr_data_block *plan =
        orr_calloc(1, sizeof *plan + count * (sizeof plan->children[0] + sizeof plan->pinned[0]));
    if (!rare || !plan) {
        orr_error("%s: out of memory", fn);
        orr_free(plan);
        return NULL;
    }
    plan->parent = parent;
    plan->filter = copy;
    plan->count = count;
    plan->pinned = (bool *)(plan->children + count);
    plan->refs = 1;
    plan->placed_at = main_pointer(parent);
    if (!create_children(plan)) {
        destroy_children(plan);
        return NULL;
    }
    plan->next = rare->children;
    rare->children = plan;
    return plan;
}

static struct orr_data_block *plan_of_child(const struct orr_data *child)
{
    struct orr_data_block *p = child->parent ? plans_of(child->parent) : NULL;
    while (p && (child->child_index >= p->count || p->children[child->child_index] != child)) p = p->next;
    return p;
}

/* The program is done with a plan that is off, or will be. */
static void plan_drop(struct orr_data_block *plan)
{
    struct orr_data_block **p = &plan->parent->rare->children;
    while (*p != plan) p = &(*p)->next;
    *p = plan->next;
    struct orr_data_block *above = plan_of_child(plan->parent);
    plan->parent->planned = orr_partition_plans(plan->parent) > 0 || (above && !above->at_once);
    if (plan->state == PLAN_OFF) plan_unref(plan); /* else out of memory kept it active: its children stay */
}

unsigned orr_partition_plans(const struct orr_data *h)
{
    unsigned n = 0;
    for (const struct orr_data_block *p = plans_of(h); p; p = p->next) n += !p->at_once;
    return n;
}

/* ---- a switch ---- */

/* Gives a child its place in the parent's memory; it is held. */
static void place(struct orr_data_block *plan, unsigned i, bool moved)
{
    struct orr_data *child = plan->children[i];
    struct orr_replicate *r = &child->replicates[STARPU_MAIN_RAM];
    if (moved) cut(plan, i, child->ops, r->interface);
    orr_spin_lock(&child->queue.lock);
    for (unsigned n = 0; n < child->nnodes; n++) child->replicates[n].state = ORR_INVALID;
    r->allocated = true;
    r->ours = false;
    if (plan->valid) r->state = ORR_OWNED;
    child->initialized = plan->valid;
    orr_data_update_ready_locked(child);
    orr_spin_unlock(&child->queue.lock);
}

/* The parent is held and in main memory: lets the children go. */
static void release_children(struct orr_data_block *plan)
{
    void *at = main_pointer(plan->parent);
    bool moved = at != plan->placed_at;
    plan->placed_at = at;
    for (unsigned i = 0; i < plan->count; i++) place(plan, i, moved);
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->pinned[i]) orr_fetch_end(plan->children[i], STARPU_MAIN_RAM, STARPU_RW);
        plan->pinned[i] = false;
        orr_data_leave(plan->children[i], NULL);
    }
}

/* Nobody gave the parent a value, neither before it was cut nor through a child. */
static void forget_value(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    for (unsigned n = 0; n < h->nnodes; n++) h->replicates[n].state = ORR_INVALID;
    h->initialized = false;
    orr_data_update_ready_locked(h);
    orr_spin_unlock(&h->queue.lock);
}

/* The children are held and in main memory: lets the parent go. */
static void release_parent(struct orr_data_block *plan, enum plan_state from, bool written)
{
    struct orr_data *parent = plan->parent;
    if (!plan->valid && !written) forget_value(parent);
    if (plan->parent_pinned)
        orr_fetch_end(parent, STARPU_MAIN_RAM, from == PLAN_WRITE ? STARPU_RW : STARPU_R);
    plan->parent_pinned = false;
    orr_data_leave(parent, NULL);
}

static void switch_to_children(struct plan_switch *s)
{
    s->plan->valid = s->moves[0].status == 0 && (s->moves[0].fetch.mode & STARPU_R);
    s->plan->parent_pinned = s->moves[0].status == 0;
    release_children(s->plan);
}

static void switch_to_parent(struct plan_switch *s)
{
    bool written = false;
    for (unsigned i = 0; i < s->plan->count; i++) {
        s->plan->pinned[i] = s->moves[i].status == 0;
        written |= s->moves[i].status == 0;
    }
    release_parent(s->plan, s->from, written);
}

static void end_switch(struct plan_switch *s)
{
    void (*done)(void *) = s->done;
    void *arg = s->done_arg;
    if (s->to == PLAN_OFF)
        switch_to_parent(s);
    else
        switch_to_children(s);
    plan_unref(s->plan);
    orr_free(s);
    if (done) done(arg);
}

/* Every handle of s is held and in place. What s lets go may be all that the next switch waits for: those are
 * ended one after the other, not inside of each other. */
static void switch_ended(struct plan_switch *s)
{
    static _Thread_local struct plan_switch *first, *last;
    static _Thread_local bool ending;
    s->next = NULL;
    if (first)
        last->next = s;
    else
        first = s;
    last = s;
    if (ending) return;
    ending = true;
    while (first) {
        struct plan_switch *now = first;
        first = now->next;
        end_switch(now);
    }
    ending = false;
}

static void start_move(struct move *m);

/* The bytes of m are there, or will never be. */
static void move_ended(struct move *m, int status)
{
    struct plan_switch *s = m->of;
    char name[96];
    if (status == -ENODATA && s->to == PLAN_WRITE && (m->fetch.mode & STARPU_R)) {
        m->fetch.mode = STARPU_W; /* data without a value: its children are to be written */
        start_move(m);
        return;
    }
    if (status && (status != -ENODATA || s->to == PLAN_READ))
        orr_error("partitioning: %s %s could not be brought to main memory (%s)",
                  s->to == PLAN_OFF ? "child" : "data", orr_data_label(m->handle, name, sizeof name),
                  status == -ENODATA ? "it was never written" : strerror(-status));
    m->status = status;
    if (orr_sub_acq_rel(&s->left, 1) == 1) switch_ended(s);
}

static void fetched(struct orr_fetch *f, int status)
{
    move_ended((struct move *)((char *)f - offsetof(struct move, fetch)), status);
}

static void start_move(struct move *m)
{
    int r = orr_fetch_start(&m->fetch);
    if (r) move_ended(m, r < 0 ? r : 0);
}

static void move_granted(struct orr_waiter *w)
{
    start_move((struct move *)w);
}

static void prepare_move(struct plan_switch *s, struct move *m, struct orr_data *h, bool write)
{
    m->of = s;
    m->handle = h;
    m->access.group = write ? ORR_GROUP_WRITE : ORR_GROUP_READ;
    m->access.flags = s->to == PLAN_OFF ? ORR_ACCESS_ENDS : 0; /* the children may be destroyed after it */
    m->access.waiter.granted = move_granted;
    m->fetch.done = fetched;
    m->fetch.handle = h;
    m->fetch.node = STARPU_MAIN_RAM;
    m->fetch.mode = write ? STARPU_RW : STARPU_R;
}

/* Submits a switch of a plan. The children are always held for writing: whatever they read must not change,
 * and copies on devices must not outlive the switch. 0 or -ENOMEM. */
static int submit_switch(struct orr_data_block *plan, enum plan_state to, void (*done)(void *), void *arg)
{
    unsigned count = to == PLAN_OFF ? plan->count : 1;
    struct plan_switch *s = orr_calloc(1, sizeof *s + count * sizeof s->moves[0]);
    if (!s) {
        orr_error("partitioning: out of memory for a switch; the data stays as it was");
        return -ENOMEM;
    }
    s->plan = plan;
    s->to = to;
    s->from = plan->state;
    s->done = done;
    s->done_arg = arg;
    s->left = count;
    plan->state = (uint8_t)to;
    orr_add_relaxed(&plan->refs, 1);
    for (unsigned i = 0; i < count; i++)
        prepare_move(s, &s->moves[i], to == PLAN_OFF ? plan->children[i] : plan->parent, to != PLAN_READ);
    struct orr_data **handles = to == PLAN_OFF ? plan->children : &plan->parent;
    /* the last one may end the switch and free it, and a plan that was dropped with it */
    for (unsigned i = 0; i < count; i++) {
        struct move *m = &s->moves[i];
        if (orr_data_join(handles[i], &m->access)) start_move(m);
    }
    return 0;
}

/* Switches everything below h off, h's own plans last. */
static void end_plans(struct orr_data *h)
{
    for (struct orr_data_block *p = plans_of(h); p; p = p->next) {
        if (p->at_once || p->state == PLAN_OFF) continue;
        for (unsigned i = 0; i < p->count; i++) end_plans(p->children[i]);
        submit_switch(p, PLAN_OFF, NULL, NULL);
    }
}

/* Ends and drops all plans below h. */
static void drop_plans(struct orr_data *h)
{
    end_plans(h);
    while (plans_of(h)) {
        struct orr_data_block *p = plans_of(h);
        for (unsigned i = 0; i < p->count; i++) drop_plans(p->children[i]);
        plan_drop(p);
    }
}

/* ---- at once ---- */

static void set_event(void *event)
{
    orr_event_set(event);
}

/* Holds the parent with its bytes in main memory. */
static int hold_parent(struct orr_data *h, bool *valid_out, bool *pinned_out)
{
    struct orr_access a = { .group = ORR_GROUP_WRITE };
    int r = orr_data_acquire_blocking(h, &a, -1, STARPU_RW);
    if (r) return r;
    r = orr_fetch_blocking(h, STARPU_MAIN_RAM, STARPU_RW);
    *valid_out = r == 0;
    if (r == -ENODATA) r = orr_fetch_blocking(h, STARPU_MAIN_RAM, STARPU_W);
    *pinned_out = r == 0;
    if (r) orr_data_leave(h, NULL);
    return r;
}

void starpu_data_partition(starpu_data_handle_t h, struct starpu_data_filter *f)
{
    if (!check(h, __func__) ||
        !may_block(__func__, "starpu_data_partition_plan and starpu_data_partition_submit"))
        return;
    if (h->partitioned || !f) {
        orr_error("%s: %s", __func__,
                  f ? "the data is already partitioned; call starpu_data_unpartition first"
                    : "the filter is NULL");
        return;
    }
    if (h->planned) orr_partition_switch(h, STARPU_RW);
    bool valid, pinned;
    int r = hold_parent(h, &valid, &pinned);
    if (r) {
        orr_error("%s: the data could not be brought to main memory (%s)", __func__, strerror(-r));
        return;
    }
    struct orr_data_block *plan = plan_create(h, f, __func__);
    if (!plan) {
        if (!valid) forget_value(h);
        orr_fetch_end(h, STARPU_MAIN_RAM, STARPU_RW);
        orr_data_leave(h, NULL);
        return;
    }
    plan->at_once = true;
    plan->state = PLAN_WRITE;
    plan->valid = valid;
    plan->parent_pinned = pinned;
    h->partitioned = true;
    h->nchildren = plan->count;
    release_children(plan);
}

/* The plan of starpu_data_partition; NULL when there is none. */
static struct orr_data_block *plan_at_once(const struct orr_data *h)
{
    struct orr_data_block *p = plans_of(h);
    while (p && !p->at_once) p = p->next;
    return p;
}

void starpu_data_unpartition(starpu_data_handle_t h, unsigned gathering_node)
{
    if (!check(h, __func__) || !may_block(__func__, "starpu_data_unpartition_submit")) return;
    struct orr_data_block *plan = plan_at_once(h);
    if (!plan) {
        orr_error("%s: the data is not partitioned; it ends what starpu_data_partition began", __func__);
        return;
    }
    if (gathering_node >= h->nnodes) {
        orr_error("%s: there is no memory node %u; the data is gathered in main memory", __func__,
                  gathering_node);
        gathering_node = STARPU_MAIN_RAM;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->children[i]->partitioned) starpu_data_unpartition(plan->children[i], STARPU_MAIN_RAM);
        drop_plans(plan->children[i]);
    }
    struct orr_event gathered;
    orr_event_init(&gathered);
    if (submit_switch(plan, PLAN_OFF, set_event, &gathered) != 0) return;
    orr_event_wait(&gathered);
    h->partitioned = false;
    h->nchildren = 0;
    plan_drop(plan);
    if (gathering_node != STARPU_MAIN_RAM) starpu_data_prefetch_on_node(h, gathering_node, 1);
}

void starpu_data_map_filters_parray(starpu_data_handle_t h, int nfilters, struct starpu_data_filter **filters)
{
    if (nfilters <= 0) return;
    starpu_data_partition(h, filters[0]);
    struct orr_data_block *plan = orr_data_valid(h) ? plan_at_once(h) : NULL;
    for (unsigned i = 0; plan && i < plan->count; i++)
        starpu_data_map_filters_parray(plan->children[i], nfilters - 1, filters + 1);
}

void starpu_data_map_filters_array(starpu_data_handle_t h, int nfilters, struct starpu_data_filter *filters)
{
    if (nfilters <= 0) return;
    starpu_data_partition(h, filters);
    struct orr_data_block *plan = orr_data_valid(h) ? plan_at_once(h) : NULL;
    for (unsigned i = 0; plan && i < plan->count; i++)
        starpu_data_map_filters_array(plan->children[i], nfilters - 1, filters + 1);
}

void starpu_data_vmap_filters(starpu_data_handle_t h, unsigned nfilters, va_list pa)
{
    struct starpu_data_filter **filters = orr_calloc(nfilters ? nfilters : 1, sizeof *filters);
    if (!filters) {
        orr_error("starpu_data_map_filters: out of memory; the data is not partitioned");
        return;
    }
    for (unsigned i = 0; i < nfilters; i++) filters[i] = va_arg(pa, struct starpu_data_filter *);
    starpu_data_map_filters_parray(h, (int)nfilters, filters);
    orr_free(filters);
}

void starpu_data_map_filters(starpu_data_handle_t h, unsigned nfilters, ...)
{
    va_list pa;
    va_start(pa, nfilters);
    starpu_data_vmap_filters(h, nfilters, pa);
    va_end(pa);
}

int starpu_data_get_nb_children(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_nb_children") ? (int)h->nchildren : 0;
}

starpu_data_handle_t starpu_data_get_child(starpu_data_handle_t h, unsigned i)
{
    if (!check(h, "starpu_data_get_child")) return NULL;
    struct orr_data_block *plan = plan_at_once(h);
    if (plan && i < plan->count) return plan->children[i];
    if (plan)
        orr_error("starpu_data_get_child%s: there is no child %u among %u", where(), i, plan->count);
    else
        orr_error("starpu_data_get_child%s: the data is not partitioned; call starpu_data_partition first",
                  where());
    return NULL;
}

starpu_data_handle_t starpu_data_vget_sub_data(starpu_data_handle_t h, unsigned depth, va_list pa)
{
    for (unsigned level = 0; h && level < depth; level++) h = starpu_data_get_child(h, va_arg(pa, unsigned));
    return h;
}

starpu_data_handle_t starpu_data_get_sub_data(starpu_data_handle_t h, unsigned depth, ...)
{
    va_list pa;
    va_start(pa, depth);
    struct orr_data *child = starpu_data_vget_sub_data(h, depth, pa);
    va_end(pa);
    return child;
}

/* ---- by plan ---- */

/* The plan whose children these are; NULL and a line when there is none. */
static struct orr_data_block *find_plan(struct orr_data *h, unsigned nparts, starpu_data_handle_t *children,
                                        const char *fn)
{
    if (!check(h, fn)) return NULL;
    struct orr_data_block *p = plans_of(h);
    while (p && (p->at_once || !children || p->children[0] != children[0])) p = p->next;
    if (p && p->count == nparts) return p;
    if (p)
        orr_error("%s%s: the plan has %u children, not %u", fn, where(), p->count, nparts);
    else
        orr_error(
            "%s%s: these are no children of this data; give the array that starpu_data_partition_plan filled",
            fn, where());
    return NULL;
}

/* Plans under which children of h may be written go over to reading. */
static void downgrade_plans(struct orr_data *h)
{
    for (struct orr_data_block *p = plans_of(h); p; p = p->next) {
        if (p->at_once || p->state != PLAN_WRITE) continue;
        for (unsigned i = 0; i < p->count; i++) end_plans(p->children[i]);
        if (submit_switch(p, PLAN_OFF, NULL, NULL) == 0) submit_switch(p, PLAN_READ, NULL, NULL);
    }
}

/* Goes over to a plan, after making its parent usable. */
static void begin_plan(struct orr_data_block *plan, enum plan_state state)
{
    orr_partition_switch(plan->parent, state == PLAN_WRITE ? STARPU_RW : STARPU_R);
    submit_switch(plan, state, NULL, NULL);
}

void orr_partition_switch(struct orr_data *h, int mode)
{
    bool write = mode & (STARPU_W | STARPU_REDUX | STARPU_MPI_REDUX);
    struct orr_data_block *above = plan_of_child(h);
    if (above && !above->at_once && (above->state == PLAN_OFF || (write && above->state == PLAN_READ)))
        begin_plan(above, write ? PLAN_WRITE : PLAN_READ);
    if (write)
        end_plans(h);
    else
        downgrade_plans(h);
}

void starpu_data_partition_plan(starpu_data_handle_t h, struct starpu_data_filter *f,
                                starpu_data_handle_t *children)
{
    if (!check(h, __func__)) return;
    if (!f || !children || h->partitioned) {
        orr_error("%s%s: %s", __func__, where(),
                  !f          ? "the filter is NULL"
                  : !children ? "the array for the children is NULL"
                              : "the data is partitioned; call starpu_data_unpartition first");
        return;
    }
    struct orr_data_block *plan = plan_create(h, f, __func__);
    if (!plan) {
        for (unsigned i = 0; i < f->nchildren; i++) children[i] = NULL;
        return;
    }
    h->planned = true;
    for (unsigned i = 0; i < plan->count; i++) {
        plan->children[i]->planned = true;
        children[i] = plan->children[i];
    }
}

/* From a plan that is in state `from` to state `to`. */
static void change(struct orr_data *h, unsigned nparts, starpu_data_handle_t *children, enum plan_state from,
                   enum plan_state to, const char *fn)
{
    static const char *const names[] = { "not active", "active for reading", "active for writing" };
    struct orr_data_block *plan = find_plan(h, nparts, children, fn);
    if (!plan) return;
    if (plan->state != from) {
        orr_error("%s%s: the plan is %s here, and must be %s", fn, where(), names[plan->state], names[from]);
        return;
    }
    if (from == PLAN_WRITE && to == PLAN_READ)
        downgrade_plans(h);
    else
        begin_plan(plan, to);
}

void starpu_data_partition_submit(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_OFF, PLAN_WRITE, __func__);
}

void starpu_data_partition_readonly_submit(starpu_data_handle_t h, unsigned nparts,
                                           starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_OFF, PLAN_READ, __func__);
}

void starpu_data_partition_readwrite_upgrade_submit(starpu_data_handle_t h, unsigned nparts,
                                                    starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_READ, PLAN_WRITE, __func__);
}

void starpu_data_partition_readonly_downgrade_submit(starpu_data_handle_t h, unsigned nparts,
                                                     starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_WRITE, PLAN_READ, __func__);
}

void starpu_data_unpartition_readonly_submit(starpu_data_handle_t h, unsigned nparts,
                                             starpu_data_handle_t *children, int gathering_node)
{
    (void)gathering_node;
    change(h, nparts, children, PLAN_WRITE, PLAN_READ, __func__);
}

/* Switches are ordered by the queues of the data whatever the program says. */
void starpu_data_partition_submit_sequential_consistency(starpu_data_handle_t h, unsigned nparts,
                                                         starpu_data_handle_t *children,
                                                         int sequential_consistency)
{
    (void)sequential_consistency;
    starpu_data_partition_submit(h, nparts, children);
}

void starpu_data_partition_readonly_submit_sequential_consistency(starpu_data_handle_t h, unsigned nparts,
                                                                  starpu_data_handle_t *children,
                                                                  int sequential_consistency)
{
    (void)sequential_consistency;
    starpu_data_partition_readonly_submit(h, nparts, children);
}

/* Pieces are always gathered in main memory; from there they go where they are needed. */
void starpu_data_unpartition_submit_sequential_consistency_cb(starpu_data_handle_t h, unsigned nparts,
                                                              starpu_data_handle_t *children, int gather_node,
                                                              int sequential_consistency,
                                                              void (*callback_func)(void *),
                                                              void *callback_arg)
{
    (void)gather_node;
    (void)sequential_consistency;
    struct orr_data_block *plan = find_plan(h, nparts, children, "starpu_data_unpartition_submit");
    if (!plan) return;
    if (plan->state == PLAN_OFF) {
        orr_error("starpu_data_unpartition_submit%s: the plan is not active here; call "
                  "starpu_data_partition_submit first",
                  where());
        return;
    }
    for (unsigned i = 0; i < plan->count; i++) end_plans(plan->children[i]);
    submit_switch(plan, PLAN_OFF, callback_func, callback_arg);
}

void starpu_data_unpartition_submit_sequential_consistency(starpu_data_handle_t h, unsigned nparts,
                                                           starpu_data_handle_t *children, int gathering_node,
                                                           int sequential_consistency)
{
    starpu_data_unpartition_submit_sequential_consistency_cb(h, nparts, children, gathering_node,
                                                             sequential_consistency, NULL, NULL);
}

void starpu_data_unpartition_submit(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children,
                                    int gathering_node)
{
    starpu_data_unpartition_submit_sequential_consistency_cb(h, nparts, children, gathering_node, 1, NULL,
                                                             NULL);
}

void starpu_data_unpartition_submit_r(starpu_data_handle_t h, int gathering_node)
{
    (void)gathering_node;
    if (check(h, __func__)) end_plans(h);
}

void starpu_data_partition_clean_node(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children,
                                      int gather_node)
{
    (void)gather_node;
    struct orr_data_block *plan = find_plan(h, nparts, children, "starpu_data_partition_clean");
    if (!plan) return;
    for (unsigned i = 0; i < plan->count; i++)
        if (plans_of(plan->children[i])) {
            orr_error("starpu_data_partition_clean%s: child %u has plans of its own; clean those first",
                      where(), i);
            return;
        }
    if (plan->state != PLAN_OFF && submit_switch(plan, PLAN_OFF, NULL, NULL) != 0) return;
    plan_drop(plan);
}

void starpu_data_partition_clean(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children)
{
    starpu_data_partition_clean_node(h, nparts, children, STARPU_MAIN_RAM);
}

int starpu_data_partition_get_nplans(starpu_data_handle_t h)
{
    return check(h, __func__) ? (int)orr_partition_plans(h) : 0;
}
