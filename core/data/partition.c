/* SPDX-License-Identifier: BSD-3-Clause */
/* partition.c: data cut into children that use their parent's main memory, and the switches between the two.
 * Threads: any plans and submits; switches end on whatever thread grants their last access. Owns: plans,
 * their children, switches under way. Not here: how a shape is cut (filters/), access queues (access.c).
 *
 * A plan is a parent and its children, each a handle with a queue of its own. At any time either the children
 * are held (by a write access that nobody else sees) and the parent may be used, or the parent is held and
 * the children may be used. A switch is nothing but accesses: to the children, it joins the parent's queue,
 * brings the bytes to main memory, and lets the children go; back, it joins every child's queue, brings their
 * bytes to main memory, and lets the parent go. Since it joins at submission, tasks before and after it see
 * it in order, and nobody waits. For reading only, the parent is held by a read access: it can be read beside
 * its children. starpu_data_partition is a plan that is switched to at once, and starpu_data_unpartition
 * waits for its switch back.
 *
 * Whoever uses planned data (a task, an acquisition, a message, a request) takes the plans' mutex, submits
 * the switches that its use needs, joins, and lets the mutex go: so that another thread cannot switch the
 * data away in between. What the joins granted is started after that, since it may call anybody. The switches
 * of a plan end in the order of their submission: one to reading may be granted while the one before it still
 * waits. */
#include "core/data/partition.h"

#include <limits.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/block.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/data/acquire.h"
#include "core/data/coherency.h"
#include "core/data/layouts.h"
#include "core/data/filters/cut.h"
#include "core/data/registry.h"
#include "core/data/transfer.h"

enum plan_state { PLAN_OFF, PLAN_READ, PLAN_WRITE };

/* How pieces come to the node where they are gathered: by main memory, where they lie side by side; or within
 * a device, from where each has its own memory there to that of the whole. Open: it is decided once all are
 * held. */
enum way { WAY_MAIN, WAY_OPEN, WAY_WITHIN };

struct orr_data_block {
    struct orr_data_block *next;      /* of the same parent [lock: plans] */
    struct orr_data *parent;          /* [const] */
    struct starpu_data_filter filter; /* [const] */
    uint8_t state;                    /* enum plan_state, in the order of submission [lock: plans] */
    bool at_once;                     /* made by starpu_data_partition [const] */
    bool ending;                      /* its children are taken away at the next switch [lock: plans] */
    bool valid;                       /* the parent had a value when it was cut [own: switch] */
    bool lost;                        /* it had none then since that failed [own: switch] */
    bool parent_pinned;               /* orr_fetch_end is due [own: switch] */
    ORR_SPIN(plan_newest) lock;       /* protects newest; leaf */
    struct plan_switch *newest;       /* the last one submitted, until it ends */
    void *placed_at;       /* where the parent's memory was when the children's addresses were computed [own:
                              switch] */
    _Atomic uint32_t refs; /* the program's, and one for each switch under way */
    unsigned count;        /* [const] */
    bool *pinned;          /* of each child: orr_fetch_end is due [own: switch] */
    struct orr_data *children[]; /* [const] */
};

/* One handle that a switch must hold. */
struct orr_move {
    struct orr_access access; /* first: a waiter is its move */
    struct orr_fetch fetch;
    struct orr_data *handle;
    struct plan_switch *of;
    struct orr_move
        *next;  /* of those to be started, or whose data is to be reduced first [own: who joined] */
    int status; /* 0: its bytes are where it fetched them */
    bool held;  /* on the device, besides what the fetch holds */
};

struct plan_switch {
    struct plan_switch *next;  /* [own: thread] of those to be ended */
    unsigned count;            /* of its moves */
    struct plan_switch *after; /* the next one of the plan, which ends later [lock: the plan's] */
    struct orr_data_block *plan;
    enum plan_state to, from;
    unsigned gather;        /* of one to the parent: the node where its value is to be afterwards */
    enum way way;           /* there */
    struct orr_fetch bring; /* the parent's */
    void (*done)(void *);   /* NULL: nobody wants to know */
    void *done_arg;
    _Atomic uint32_t left; /* moves not over, and the switch before this one */
    struct orr_move moves[];
};

static ORR_MUTEX(plans) plans = PTHREAD_MUTEX_INITIALIZER; /* protects all plans' lists and states */

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

/* The list of h's plans. Called with the plans' mutex, or where nobody can be planning h. */
static struct orr_data_block *plans_of(const struct orr_data *h)
{
    return orr_data_rare(h) ? orr_data_rare(h)->children : NULL;
}

/* ---- children ---- */

static size_t plan_bytes(unsigned count)
{
    const struct orr_data_block *p = NULL;
    return sizeof *p + count * (sizeof p->children[0] + sizeof p->pinned[0]);
}

static void destroy_children(struct orr_data_block *plan)
{
    for (unsigned i = 0; i < plan->count; i++)
        if (plan->children[i]) orr_data_destroy(plan->children[i]);
    orr_block_free(plan, plan_bytes(plan->count));
}

static void plan_unref(struct orr_data_block *plan)
{
    if (orr_sub_acq_rel(&plan->refs, 1) == 1) destroy_children(plan);
}

/* Fills a child's interface structure from its parent's of that node. */
static bool cut(struct orr_data_block *plan, unsigned i, const struct starpu_data_interface_ops *ops,
                void *itf, unsigned node)
{
    bool built_in = ops->interfaceid >= 0 && ops->interfaceid < STARPU_MAX_INTERFACE_ID;
    if (built_in) *(enum starpu_data_interface_id *)itf = ops->interfaceid;
    plan->filter.filter_func(plan->parent->replicates[node].interface, itf, &plan->filter, i, plan->count);
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
    orr_store_relaxed(&child->away, orr_load_relaxed(&parent->away));
    child->root = parent->root;
    child->child_index = i;
    child->sequential_consistency = parent->sequential_consistency;
    child->is_not_important = parent->is_not_important;
    child->wt_mask = parent->wt_mask;
    const struct orr_data_rare *r = orr_data_rare(parent);
    if (!r || !r->redux_cl) return;
    starpu_data_set_reduction_methods_with_args(child, r->redux_cl, r->redux_cl_arg, r->init_cl,
                                                r->init_cl_arg);
    if (r->redux_scratch) starpu_data_set_reduction_scratch(child, r->redux_scratch);
}

/* A child, held by the plan, without a value. itf: room for its interface. NULL on an error that was said. */
static struct orr_data *create_child(struct orr_data_block *plan, unsigned i,
                                     const struct starpu_data_interface_ops *ops, void *itf)
{
    if (ops->init) ops->init(itf);
    if (!cut(plan, i, ops, itf, orr_node_home())) return NULL;
    struct orr_data *child = orr_data_create(ops, orr_node_home(), itf);
    if (!child) {
        orr_error("partitioning: out of memory for child %u of %u", i, plan->count);
        return NULL;
    }
    inherit(child, plan->parent, i);
    orr_spin_lock(&child->queue.lock);
    child->replicates[orr_node_home()].state = ORR_INVALID;
    child->initialized = false;
    orr_data_update_ready_locked(child);
    struct orr_access hold = {
        .group = ORR_GROUP_WRITE
    }; /* nobody waits yet: granted, and not needed after that */
    orr_access_join_locked(&child->queue, &hold);
    orr_spin_unlock(&child->queue.lock);
    return child;
}

/* As create_child, with room for an interface: on the stack for all but large ones. */
static struct orr_data *create_in_room(struct orr_data_block *plan, unsigned i,
                                       const struct starpu_data_interface_ops *ops)
{
    _Alignas(16) char small[1024];
    size_t room = starpu_interface_ndim_ops.interface_size; /* a filter that does not go with ops must not
                                                             * overrun it */
    if (ops->interface_size > room) room = ops->interface_size;
    void *itf = room <= sizeof small ? memset(small, 0, sizeof small) : orr_calloc(1, room);
    struct orr_data *child = itf ? create_child(plan, i, ops, itf) : NULL;
    if (!itf) orr_error("partitioning: out of memory for child %u of %u", i, plan->count);
    if (itf != small) orr_free(itf);
    return child;
}

static bool create_children(struct orr_data_block *plan)
{
    struct starpu_data_filter *f = &plan->filter;
    for (unsigned i = 0; i < plan->count; i++) {
        plan->children[i] =
            create_in_room(plan, i, f->get_child_ops ? f->get_child_ops(f, i) : plan->parent->ops);
        if (!plan->children[i]) return false;
    }
    return true;
}

static void *main_pointer(struct orr_data *h)
{
    return starpu_data_handle_to_pointer(h, orr_node_home());
}

/* A new plan, off, not yet linked to its parent; NULL on an error that was said. */
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
    struct orr_data_block *plan = orr_block_calloc(plan_bytes(count));
    if (!rare || !plan) {
        orr_error("%s: out of memory", fn);
        orr_block_free(plan, plan_bytes(count));
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
    return plan;
}

static void set_planned(struct orr_data *h, bool planned)
{
    orr_spin_lock(&h->queue.lock);
    h->queue.planned = planned;
    orr_store_relaxed(&h->planned, planned);
    orr_spin_unlock(&h->queue.lock);
}

static void plan_link(struct orr_data_block *plan)
{
    struct orr_data_block **list = &orr_data_rare(plan->parent)->children;
    pthread_mutex_lock(&plans);
    plan->next = *list;
    *list = plan;
    if (!plan->at_once) {
        set_planned(plan->parent, true);
        for (unsigned i = 0; i < plan->count; i++) set_planned(plan->children[i], true);
    }
    pthread_mutex_unlock(&plans);
}

static struct orr_data_block *plan_of_child(const struct orr_data *child)
{
    struct orr_data_block *p = child->parent ? plans_of(child->parent) : NULL;
    while (p && (child->child_index >= p->count || p->children[child->child_index] != child)) p = p->next;
    return p;
}

static unsigned count_plans(const struct orr_data *h)
{
    unsigned n = 0;
    for (const struct orr_data_block *p = plans_of(h); p; p = p->next) n += !p->at_once;
    return n;
}

/* The program is done with a plan that is off, or will be. With the plans' mutex. */
static void plan_drop(struct orr_partition_use *u, struct orr_data_block *plan)
{
    struct orr_data *parent = plan->parent;
    struct orr_data_block **p = &orr_data_rare(parent)->children;
    while (*p != plan) p = &(*p)->next;
    *p = plan->next;
    struct orr_data_block *above = plan_of_child(parent);
    set_planned(parent, count_plans(parent) > 0 || (above && !above->at_once));
    plan->next = u->dropped;
    u->dropped = plan;
}

unsigned orr_partition_plans(const struct orr_data *h)
{
    pthread_mutex_lock(&plans);
    unsigned n = count_plans(h);
    pthread_mutex_unlock(&plans);
    return n;
}

/* ---- a switch ---- */

/* Gives a child its place in the parent's memory; it is held. */
static void place(struct orr_data_block *plan, unsigned i, bool moved)
{
    struct orr_data *child = plan->children[i];
    struct orr_replicate *r = &child->replicates[orr_node_home()];
    if (moved) cut(plan, i, child->ops, r->interface, orr_node_home());
    orr_spin_lock(&child->queue.lock);
    for (unsigned n = 0; n < child->nnodes; n++) child->replicates[n].state = ORR_INVALID;
    r->allocated = true;
    r->ours = false;
    if (plan->valid) r->state = ORR_OWNED;
    if (child->formats)
        orr_layouts_set(child, orr_node_home(), ORR_LAYOUT_CPU); /* as the parent is fetched */
    child->initialized = plan->valid;
    child->lost = plan->lost;
    orr_data_update_ready_locked(child);
    orr_spin_unlock(&child->queue.lock);
}

/* The parent is held and in main memory: lets the children go. */
static void release_children(struct orr_data_block *plan)
{
    void *at = main_pointer(plan->parent);
    bool moved = at != plan->placed_at || orr_node_evicts(orr_node_home()); /* all of it may have moved */
    plan->placed_at = at;
    for (unsigned i = 0; i < plan->count; i++) place(plan, i, moved);
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->pinned[i]) orr_fetch_end(plan->children[i], orr_node_home(), STARPU_RW);
        plan->pinned[i] = false;
        orr_data_leave(plan->children[i], NULL);
    }
}

/* Nobody gave the parent a value, neither before it was cut nor through a child. */
static void forget_value(struct orr_data *h, bool lost)
{
    orr_spin_lock(&h->queue.lock);
    h->lost |= lost;
    for (unsigned n = 0; n < h->nnodes; n++) h->replicates[n].state = ORR_INVALID;
    h->initialized = false;
    orr_data_update_ready_locked(h);
    orr_spin_unlock(&h->queue.lock);
}

static void switch_to_children(struct plan_switch *s)
{
    struct orr_data_block *plan = s->plan;
    int status = s->moves[0].status;
    bool read = s->moves[0].fetch.mode & STARPU_R;
    plan->valid = status == 0 && read;
    if (read) plan->lost = plan->parent->lost; /* else move_ended has noted it */
    plan->lost |= status && status != -ENODATA;
    plan->parent_pinned = status == 0;
    release_children(plan);
}

/* The children are held and in main memory: the parent may be let go after this. */
static void switch_to_parent(struct plan_switch *s)
{
    struct orr_data_block *plan = s->plan;
    bool written = false, lost = false;
    for (unsigned i = 0; i < plan->count; i++) {
        int status = s->moves[i].status;
        lost |= plan->children[i]->lost; /* a piece that could not be written: the whole has no value */
        lost |= status && status != -ENODATA && s->from == PLAN_WRITE; /* nor, if it could not be brought */
        plan->pinned[i] = s->moves[i].status == 0;
        written |= s->moves[i].status == 0;
    }
    if (lost || (!plan->valid && !written)) forget_value(plan->parent, lost);
    if (plan->parent_pinned)
        orr_fetch_end(plan->parent, orr_node_home(), s->from == PLAN_WRITE ? STARPU_RW : STARPU_R);
    plan->parent_pinned = false;
}

static void one_less(struct plan_switch *s);
static void start_move(struct orr_move *m);

static size_t switch_bytes(unsigned count)
{
    const struct plan_switch *s = NULL;
    return sizeof *s + count * sizeof s->moves[0];
}

/* s is over: the switch that waits for it, or NULL. */
static struct plan_switch *detach(struct plan_switch *s)
{
    orr_spin_lock(&s->plan->lock);
    struct plan_switch *after = s->after;
    if (s->plan->newest == s) s->plan->newest = NULL;
    orr_spin_unlock(&s->plan->lock);
    return after;
}

/* A plan that was dropped ends before its parent is let go: then nothing of it is left when the parent's
 * unregistration returns. */
static void end_switch(struct plan_switch *s)
{
    struct orr_data *parent = s->to == PLAN_OFF ? s->plan->parent : NULL;
    struct plan_switch *after = detach(s);
    plan_unref(s->plan);
    if (parent) orr_data_leave(parent, NULL);
    if (after) one_less(after);
    if (s->done) {
        orr_callback_begin();
        s->done(s->done_arg);
        orr_callback_end();
    }
    orr_block_free(s, switch_bytes(s->count));
}

/* Where there is no room, or no value, the parent stays as it is. */
static void gathered(struct orr_fetch *f, int status)
{
    struct plan_switch *s = (struct plan_switch *)((char *)f - offsetof(struct plan_switch, bring));
    if (status >= 0) orr_fetch_end(f->handle, f->node, f->mode);
    end_switch(s);
}

/* Fetches the parent to the node where it is to be gathered. */
static void bring_parent(struct plan_switch *s, int mode, void (*done)(struct orr_fetch *f, int status))
{
    s->bring = (struct orr_fetch){ .done = done,
                                   .handle = s->plan->parent,
                                   .quiet = true,
                                   .node = (uint16_t)s->gather,
                                   .mode = (uint16_t)mode };
    int r = orr_fetch_start(&s->bring);
    if (r) done(&s->bring, r);
}

/* All pieces go to main memory; then s is carried on. s may be gone on return. */
static void start_moves_home(struct plan_switch *s)
{
    unsigned count = s->count;
    s->way = WAY_MAIN;
    orr_store_relaxed(&s->left, count);
    for (unsigned i = 0; i < count; i++) {
        s->moves[i].fetch.node = (uint16_t)orr_node_home();
        start_move(&s->moves[i]);
    }
}

/* ---- gathering within a device ----
 *
 * First the whole gets its memory there, while nothing is held (hungry.c); then each piece that still is
 * there is held there, and the others come to main memory; then all are copied to their places. */

/* Holds a piece in the device's memory, if it is there and stays. */
static bool hold(struct orr_data *child, unsigned node)
{
    struct orr_replicate *r = &child->replicates[node];
    orr_spin_lock(&child->queue.lock);
    bool is_there = r->allocated && r->state != ORR_INVALID && !r->incoming;
    if (is_there) r->users++;
    orr_spin_unlock(&child->queue.lock);
    return is_there;
}

/* Whether a piece would have to come to main memory first. Mapped data have no memory of their own there. */
static bool is_there_alone(struct orr_data *child, unsigned node)
{
    orr_spin_lock(&child->queue.lock);
    bool is = child->replicates[node].state != ORR_INVALID && !child->has_mapped &&
              child->replicates[orr_node_home()].state == ORR_INVALID;
    orr_spin_unlock(&child->queue.lock);
    return is;
}

static void placed(struct orr_fetch *f, int status);

/* Whether a device could have the whole beside its pieces, with nothing else. */
static bool fits_twice(struct orr_data *whole, unsigned node)
{
    size_t limit = orr_nodes[node].limit_bytes;
    return limit == 0 || whole->ops->get_size(whole) <= limit / 2;
}

/* It is worth it where most pieces are on the device alone. */
static void choose_way(struct plan_switch *s)
{
    unsigned there = 0;
    for (unsigned i = 0; i < s->count; i++) there += is_there_alone(s->moves[i].handle, s->gather);
    if (there <= s->count / 2 || s->plan->parent->has_mapped || !fits_twice(s->plan->parent, s->gather)) {
        start_moves_home(s);
        return;
    }
    s->way = WAY_WITHIN;
    bring_parent(s, STARPU_W, placed);
}

/* The parent has memory on the device, as what is to be written; or cannot. */
static void placed(struct orr_fetch *f, int status)
{
    struct plan_switch *s = (struct plan_switch *)((char *)f - offsetof(struct plan_switch, bring));
    unsigned count = s->count, node = s->gather;
    if (status < 0) {
        start_moves_home(s);
        return;
    }
    orr_store_relaxed(&s->left, count);
    for (unsigned i = 0; i < count; i++) {
        struct orr_move *m = &s->moves[i];
        m->held = hold(m->handle, node);
        m->fetch.node = (uint16_t)(m->held ? node : orr_node_home());
        start_move(m); /* s may be gone after the last */
    }
}

/* Ends what placed began with each piece, the value of which stays where it is, or is in the parent now. */
static void let_pieces_go(struct plan_switch *s, int mode)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct orr_move *m = &s->moves[i];
        if (m->held) orr_fetch_end(m->handle, s->gather, STARPU_R);
        if (m->status == 0) orr_fetch_end(m->handle, m->fetch.node, mode);
        m->held = false;
    }
}

/* Copies the pieces to where they belong in the parent's memory. This waits: within a device it is quick. */
static bool copy_pieces(struct plan_switch *s)
{
    bool good = true;
    for (unsigned i = 0; i < s->count && good; i++) {
        _Alignas(16) char itf[1024] = { 0 }; /* no dense array's is larger */
        struct orr_move *m = &s->moves[i];
        good = m->status == 0 && m->handle->ops->interface_size <= sizeof itf &&
               cut(s->plan, i, m->handle->ops, itf, s->gather) &&
               orr_copy_to_place(m->handle, m->fetch.node, itf, s->gather) == 0;
    }
    return good;
}

static void gather_within(struct plan_switch *s)
{
    struct orr_data_block *plan = s->plan;
    if (!copy_pieces(s)) {
        orr_fetch_undo(plan->parent, s->gather, STARPU_W, true);
        let_pieces_go(s, STARPU_R);
        start_moves_home(s);
        return;
    }
    let_pieces_go(s, STARPU_SCRATCH);
    if (plan->parent_pinned) orr_fetch_end(plan->parent, orr_node_home(), STARPU_R);
    plan->parent_pinned = false;
    orr_fetch_end(plan->parent, s->gather, STARPU_W);
    end_switch(s);
}

/* All that s waits for is in place. What is in main memory goes from there to where it is to be gathered,
 * before anybody uses it. */
static void carry_out(struct plan_switch *s)
{
    if (s->way == WAY_OPEN) {
        choose_way(s);
    } else if (s->way == WAY_WITHIN) {
        gather_within(s);
    } else if (s->to != PLAN_OFF) {
        switch_to_children(s);
        end_switch(s);
    } else {
        switch_to_parent(s);
        if (s->gather != orr_node_home())
            bring_parent(s, STARPU_R, gathered);
        else
            end_switch(s);
    }
}

/* Every handle of s is held and in place. What s lets go may be all that the next switch waits for: those are
 * ended one after the other, not inside of each other. */
static void switch_ended(struct plan_switch *s)
{
    struct {
        struct plan_switch *first, *last;
        bool ending;
    } *own = orr_thread_room(orr_self(), switches, __typeof__(*own));
    s->next = NULL;
    if (own->first)
        own->last->next = s;
    else
        own->first = s;
    own->last = s;
    if (own->ending) return;
    own->ending = true;
    while (own->first) {
        struct plan_switch *now = own->first;
        own->first = now->next;
        carry_out(now);
    }
    own->ending = false;
}

static void one_less(struct plan_switch *s)
{
    if (orr_sub_acq_rel(&s->left, 1) == 1) switch_ended(s);
}

/* The bytes of m are there, or will never be. */
static void move_ended(struct orr_move *m, int status)
{
    struct plan_switch *s = m->of;
    char name[96];
    if (status == -ENODATA && s->to == PLAN_WRITE && (m->fetch.mode & STARPU_R)) {
        m->fetch.mode = STARPU_W;        /* data without a value: its children are to be written */
        s->plan->lost = m->handle->lost; /* who writes it forgets that */
        start_move(m);
        return;
    }
    if (status && (status != -ENODATA || s->to == PLAN_READ) && s->way == WAY_MAIN)
        orr_error("partitioning: %s %s could not be brought to main memory (%s)",
                  s->to == PLAN_OFF ? "child" : "data", orr_data_label(m->handle, name, sizeof name),
                  status == -ENODATA ? "it was never written" : strerror(-status));
    m->status = status;
    one_less(s);
}

static void fetched(struct orr_fetch *f, int status)
{
    move_ended((struct orr_move *)((char *)f - offsetof(struct orr_move, fetch)), status);
}

static void start_move(struct orr_move *m)
{
    if (m->of->way == WAY_OPEN) { /* where to is not known yet */
        one_less(m->of);
        return;
    }
    int r = orr_fetch_start(&m->fetch);
    if (r) move_ended(m, r < 0 ? r : 0);
}

static void move_granted(struct orr_waiter *w)
{
    start_move((struct orr_move *)w);
}

static void prepare_move(struct plan_switch *s, struct orr_move *m, struct orr_data *h, bool write)
{
    m->of = s;
    m->handle = h;
    m->access.group = write ? ORR_GROUP_WRITE : ORR_GROUP_READ;
    m->access.flags = s->to == PLAN_OFF && s->plan->ending ? ORR_ACCESS_ENDS : 0;
    /* what writes without order stays behind: until then its piece is only to be read, as the parent is */
    if (s->to == PLAN_OFF && s->from == PLAN_READ) m->access.flags |= ORR_ACCESS_EXEMPT;
    m->access.waiter.granted = move_granted;
    m->fetch.done = fetched;
    m->fetch.handle = h;
    m->fetch.node = orr_node_home();
    m->fetch.mode = write ? STARPU_RW : STARPU_R;
}

/* ---- a use: switches that are submitted, and the join that follows them ---- */

void orr_partition_begin(struct orr_partition_use *u)
{
    *u = (struct orr_partition_use){ 0 };
    pthread_mutex_lock(&plans);
}

void orr_partition_unlock(struct orr_partition_use *u)
{
    (void)u;
    pthread_mutex_unlock(&plans);
}

void orr_partition_start(struct orr_partition_use *u)
{
    for (struct orr_data_block *p = u->dropped, *next; p; p = next) {
        next = p->next;
        plan_unref(p);
    }
    for (struct orr_move *m = u->reduce, *next; m; m = next) {
        next = m->next;
        orr_data_hooks.reduction_start(m->handle);
    }
    for (struct orr_move *m = u->granted, *next; m; m = next) {
        next = m->next;
        start_move(m);
    }
}

static void end_use(struct orr_partition_use *u)
{
    orr_partition_unlock(u);
    orr_partition_start(u);
}

/* m joins the queue of its data. If it was not granted and none is to be reduced, m may be gone on return. */
static void join_move(struct orr_partition_use *u, struct orr_move *m)
{
    struct orr_access_queue *q = &m->handle->queue;
    if (m->access.group != ORR_GROUP_READ) orr_store_relaxed(&m->handle->written_ahead, true);
    if (u->exempt) m->access.flags |= ORR_ACCESS_EXEMPT;
    orr_spin_lock(&q->lock);
    bool granted = m->access.flags & ORR_ACCESS_ENDS ? orr_access_join_end_locked(q, &m->access)
                   : u->exempt ? orr_access_join_exempt_locked(q, &m->access, orr_data_hooks.reclaim)
                               : orr_access_join_locked(q, &m->access);
    bool reduce = !granted && orr_access_start_reduction_locked(q);
    orr_spin_unlock(&q->lock);
    if (!granted && !reduce) return;
    struct orr_move **list = granted ? &u->granted : &u->reduce;
    m->next = *list;
    *list = m;
}

/* From now on the switch of the plan before s, if there is one, counts in s->left. */
static void follow_previous(struct plan_switch *s)
{
    struct orr_data_block *plan = s->plan;
    orr_spin_lock(&plan->lock);
    struct plan_switch *before = plan->newest;
    if (before) {
        s->left++;
        before->after = s;
    }
    plan->newest = s;
    orr_spin_unlock(&plan->lock);
}

/* For observers: what comes after a switch has waited for what came before it, of all these. */
static void tell_switch(const struct orr_data_block *plan, const void *who, bool parent_is_read)
{
    if (orr_likely(!orr_events_wanted(ORR_EVENT_BIT(DATA_JOINED)))) return;
    ORR_EVENT(DATA_JOINED, plan->parent, who, parent_is_read ? ORR_GROUP_READ : ORR_GROUP_WRITE, 1);
    for (unsigned i = 0; i < plan->count; i++)
        ORR_EVENT(DATA_JOINED, plan->children[i], who, ORR_GROUP_WRITE, 0);
}

/* Whether pieces that may have been written are all of their parent, of which each device's can be cut. */
static bool can_gather_within(const struct orr_data_block *plan, unsigned node)
{
    const struct starpu_data_copy_methods *m = plan->parent->ops->copy_methods;
    return plan->state == PLAN_WRITE && orr_nodes[node].role == ORR_DEVICE_MEMORY &&
           orr_cut_tiles(&plan->filter) && !plan->filter.get_child_ops && m && m->any_to_any;
}

/* Submits a switch of a plan. The children are always held for writing: whatever they read must not change,
 * and copies on devices must not outlive the switch. gather: of one to the parent, the node where that is to
 * be then; GATHER_AS_SET: as was said of the parent. 0 or -ENOMEM. With the plans' mutex. */
enum { GATHER_AS_SET = -1 };
static int submit_switch(struct orr_partition_use *u, struct orr_data_block *plan, enum plan_state to,
                         int gather, void (*done)(void *), void *arg)
{
    unsigned count = to == PLAN_OFF ? plan->count : 1;
    struct plan_switch *s = orr_block_calloc(switch_bytes(count));
    if (!s) {
        orr_error("partitioning: out of memory for a switch; the data stays as it was");
        return -ENOMEM;
    }
    s->plan = plan;
    s->count = count;
    s->to = to;
    s->gather = gather >= 0 ? (unsigned)gather : orr_data_rare(plan->parent)->gathering_node;
    s->from = plan->state;
    s->way = to == PLAN_OFF && can_gather_within(plan, s->gather) ? WAY_OPEN : WAY_MAIN;
    s->done = done;
    s->done_arg = arg;
    s->left = count;
    plan->state = (uint8_t)to;
    orr_add_relaxed(&plan->refs, 1);
    tell_switch(plan, s, to == PLAN_READ || s->from == PLAN_READ);
    for (unsigned i = 0; i < count; i++)
        prepare_move(s, &s->moves[i], to == PLAN_OFF ? plan->children[i] : plan->parent, to != PLAN_READ);
    follow_previous(s);
    /* other threads may end s once its last move has joined */
    for (unsigned i = 0; i < count; i++) join_move(u, &s->moves[i]);
    return 0;
}

/* Switches everything below h off, h's own plans last. What is below need not be gathered elsewhere, since it
 * goes to main memory again. */
static int end_plans(struct orr_partition_use *u, struct orr_data *h, int gather)
{
    int r = 0;
    for (struct orr_data_block *p = plans_of(h); p && !r; p = p->next) {
        if (p->at_once || p->state == PLAN_OFF) continue;
        for (unsigned i = 0; i < p->count && !r; i++) r = end_plans(u, p->children[i], (int)orr_node_home());
        if (!r) r = submit_switch(u, p, PLAN_OFF, gather, NULL, NULL);
    }
    return r;
}

/* Plans under which children of h may be written go over to reading. */
static int downgrade_plans(struct orr_partition_use *u, struct orr_data *h, int gather)
{
    int r = 0;
    for (struct orr_data_block *p = plans_of(h); p && !r; p = p->next) {
        if (p->at_once || p->state != PLAN_WRITE) continue;
        for (unsigned i = 0; i < p->count && !r; i++) r = end_plans(u, p->children[i], (int)orr_node_home());
        if (!r) r = submit_switch(u, p, PLAN_OFF, gather, NULL, NULL);
        if (!r) r = submit_switch(u, p, PLAN_READ, GATHER_AS_SET, NULL, NULL);
    }
    return r;
}

/* Goes over to a plan, after making its parent usable. */
static int begin_plan(struct orr_partition_use *u, struct orr_data_block *plan, enum plan_state state)
{
    int r = orr_partition_switch(u, plan->parent, state == PLAN_WRITE ? STARPU_RW : STARPU_R);
    return r ? r : submit_switch(u, plan, state, GATHER_AS_SET, NULL, NULL);
}

int orr_partition_switch(struct orr_partition_use *u, struct orr_data *h, int mode)
{
    bool write = mode & (STARPU_W | STARPU_REDUX | STARPU_MPI_REDUX);
    struct orr_data_block *above = plan_of_child(h);
    int r = 0;
    if (above && !above->at_once && (above->state == PLAN_OFF || (write && above->state == PLAN_READ)))
        r = begin_plan(u, above, write ? PLAN_WRITE : PLAN_READ);
    if (r) return r;
    return write ? end_plans(u, h, GATHER_AS_SET) : downgrade_plans(u, h, GATHER_AS_SET);
}

int orr_partition_join(struct orr_data *h, struct orr_access *a, orr_partition_join_fn join)
{
    struct orr_partition_use u;
    bool reduce = false;
    orr_data_announce_above(h);
    orr_partition_begin(&u);
    int r = orr_partition_switch(&u, h, a->group == ORR_GROUP_READ ? STARPU_R : STARPU_RW);
    if (!r) {
        orr_spin_lock(&h->queue.lock);
        r = join(h, a);
        reduce = r <= 0 && orr_access_start_reduction_locked(&h->queue);
        orr_spin_unlock(&h->queue.lock);
    }
    orr_partition_unlock(&u);
    orr_data_joined(); /* or it did not; what follows may call functions of the program */
    if (reduce) orr_data_hooks.reduction_start(h);
    orr_partition_start(&u);
    return r;
}

unsigned orr_partition_shut(const struct orr_data *h)
{
    unsigned n = 0;
    pthread_mutex_lock(&plans);
    for (const struct orr_data_block *p; (p = plan_of_child(h)) && p->state == PLAN_OFF; h = h->parent) n++;
    pthread_mutex_unlock(&plans);
    return n;
}

void orr_partition_shut_again(struct orr_data *h, unsigned n)
{
    struct orr_partition_use u;
    int r = 0;
    orr_partition_begin(&u);
    for (; n > 0 && h->parent && !r; n--, h = h->parent) {
        struct orr_data_block *p = plan_of_child(h);
        if (!p || p->at_once || p->state == PLAN_OFF) continue;
        for (unsigned i = 0; i < p->count && !r; i++) r = end_plans(&u, p->children[i], (int)orr_node_home());
        if (!r) r = submit_switch(&u, p, PLAN_OFF, GATHER_AS_SET, NULL, NULL);
    }
    end_use(&u);
}

static bool is_expecting(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool is = h->queue.expecting;
    orr_spin_unlock(&h->queue.lock);
    return is;
}

/* Switches a plan off for the last time and drops it. Tasks without order that will yet join its children
 * find them open: the last switch lets them go first. */
static int end_plan(struct orr_partition_use *u, struct orr_data_block *plan, int gather)
{
    bool expecting = false;
    for (unsigned i = 0; i < plan->count; i++) expecting |= is_expecting(plan->children[i]);
    int r = expecting && plan->state != PLAN_WRITE ? begin_plan(u, plan, PLAN_WRITE) : 0;
    if (r) return r;
    plan->ending = true;
    if (plan->state != PLAN_OFF) r = submit_switch(u, plan, PLAN_OFF, gather, NULL, NULL);
    plan->ending = r == 0;
    if (!r) plan_drop(u, plan);
    return r;
}

/* Ends all plans below h. */
static int drop_plans(struct orr_partition_use *u, struct orr_data *h)
{
    int r = 0;
    for (struct orr_data_block *p; !r && (p = plans_of(h));) {
        for (unsigned i = 0; i < p->count && !r; i++) r = drop_plans(u, p->children[i]);
        if (!r) r = end_plan(u, p, (int)orr_node_home());
    }
    return r;
}

/* ---- diagnosis ---- */

void orr_partition_visit(struct orr_data *h, void (*fn)(struct orr_data *h, void *arg), void *arg)
{
    fn(h, arg);
    for (struct orr_data_block *p = plans_of(h); p; p = p->next)
        for (unsigned i = 0; i < p->count; i++) orr_partition_visit(p->children[i], fn, arg);
}

static void visit_plan(struct orr_data_block *p, void (*fn)(struct orr_data *h, void *arg), void *arg)
{
    for (unsigned i = 0; i < p->count; i++) orr_partition_visit(p->children[i], fn, arg);
}

void orr_partition_relatives(struct orr_data *h, void (*fn)(struct orr_data *h, void *arg), void *arg)
{
    pthread_mutex_lock(&plans);
    for (struct orr_data_block *p = plans_of(h); p; p = p->next) visit_plan(p, fn, arg);
    for (; h->parent; h = h->parent) {
        struct orr_data_block *its = plan_of_child(h);
        fn(h->parent, arg);
        for (struct orr_data_block *p = plans_of(h->parent); p; p = p->next)
            if (p != its) visit_plan(p, fn, arg);
    }
    pthread_mutex_unlock(&plans);
}

/* Whether a switch is the next to have h, which somebody uses. */
static bool is_awaited(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool is = h->queue.active > 0 && h->queue.head && h->queue.head->waiter.granted == move_granted;
    orr_spin_unlock(&h->queue.lock);
    return is;
}

/* The next datum on the way from `from`, by h, to what keeps h; NULL when that is h. */
static struct orr_data *next_blocker(struct orr_data *h, const struct orr_data *from)
{
    for (struct orr_data_block *p = plans_of(h); p; p = p->next)
        for (unsigned i = 0; i < p->count; i++)
            if (p->children[i] != from && is_awaited(p->children[i])) return p->children[i];
    return h->parent && h->parent != from && is_awaited(h->parent) ? h->parent : NULL;
}

struct orr_data *orr_partition_blocker(struct orr_data *h)
{
    enum { STEPS_MAX = 16 };
    struct orr_data *from = NULL, *next;
    pthread_mutex_lock(&plans);
    for (unsigned i = 0; i < STEPS_MAX && (next = next_blocker(h, from)); i++) {
        from = h;
        h = next;
    }
    pthread_mutex_unlock(&plans);
    return h;
}

/* ---- at once ---- */

static void set_event(void *event)
{
    orr_event_set(event);
}

/* Holds the parent with its bytes in main memory. */
static int hold_parent(struct orr_data *h, bool *valid_out, bool *lost_out)
{
    struct orr_access a = { .group = ORR_GROUP_WRITE };
    int r = orr_data_acquire_blocking(h, &a);
    if (r) return r;
    r = orr_fetch_blocking(h, orr_node_home(), STARPU_RW);
    *valid_out = r == 0;
    *lost_out = h->lost;
    if (r == -ENODATA) r = orr_fetch_blocking(h, orr_node_home(), STARPU_W);
    if (r) orr_data_leave(h, NULL);
    return r;
}

void starpu_data_partition(starpu_data_handle_t h, struct starpu_data_filter *f)
{
    if (!check(h, __func__) ||
        !may_block(__func__, "starpu_data_partition_plan and starpu_data_partition_submit"))
        return;
    if (orr_load_relaxed(&h->partitioned) || !f) {
        orr_error("%s: %s", __func__,
                  f ? "the data is already partitioned; call starpu_data_unpartition first"
                    : "the filter is NULL");
        return;
    }
    orr_data_announce(h, STARPU_R); /* pieces get their initial values with the whole */
    bool valid, lost;
    int r = hold_parent(h, &valid, &lost);
    if (r) {
        orr_error("%s: the data could not be brought to main memory (%s)", __func__, strerror(-r));
        return;
    }
    struct orr_data_block *plan = plan_create(h, f, __func__);
    if (!plan) {
        if (!valid) forget_value(h, lost);
        orr_fetch_end(h, orr_node_home(), STARPU_RW);
        orr_data_leave(h, NULL);
        return;
    }
    plan->at_once = true;
    plan->state = PLAN_WRITE;
    plan->valid = valid;
    plan->lost = lost;
    plan->parent_pinned = true;
    plan_link(plan);
    orr_registry_set_pieces(h, plan->children, plan->count);
    tell_switch(plan, plan, false);
    release_children(plan);
}

static void leave(struct orr_data *h, void *unused)
{
    (void)unused;
    if (h->mpi && orr_data_hooks.leaves) orr_data_hooks.leaves(h);
}

/* The pieces go, and what is elsewhere of them comes before. As orr_data_use. */
static int end_uses(struct orr_data_block *plan)
{
    int r = 0;
    for (unsigned i = 0; i < plan->count && !r; i++) r = orr_data_use(plan->children[i], ORR_USE_ENDS);
    for (unsigned i = 0; i < plan->count && !r; i++) orr_partition_visit(plan->children[i], leave, NULL);
    return r;
}

/* The plan of starpu_data_partition; NULL when there is none. */
static struct orr_data_block *plan_at_once(const struct orr_data *h)
{
    struct orr_data_block *p = plans_of(h);
    while (p && !p->at_once) p = p->next;
    return p;
}

/* Submits the gathering of a plan made at once, after that of all plans below it, which are dropped. */
static int submit_gathering(struct orr_data_block *plan, unsigned node, struct orr_event *gathered)
{
    struct orr_partition_use u;
    int r = 0;
    orr_partition_begin(&u);
    for (unsigned i = 0; i < plan->count && !r; i++) r = drop_plans(&u, plan->children[i]);
    plan->ending = r == 0;
    if (!r) r = submit_switch(&u, plan, PLAN_OFF, (int)node, set_event, gathered);
    end_use(&u);
    return r;
}

static void drop_gathered(struct orr_data_block *plan)
{
    struct orr_partition_use u;
    orr_partition_begin(&u);
    plan_drop(&u, plan);
    end_use(&u);
}

void starpu_data_unpartition(starpu_data_handle_t h, unsigned gathering_node)
{
    if (!check(h, __func__) || !may_block(__func__, "starpu_data_unpartition_submit")) return;
    struct orr_data_block *plan = plan_at_once(h);
    if (!plan) {
        orr_error("%s: the data is not partitioned; it ends what starpu_data_partition began", __func__);
        return;
    }
    if (!orr_data_has_node(h, gathering_node)) {
        orr_error("%s: there is no memory node %u; the data is gathered in main memory", __func__,
                  gathering_node);
        gathering_node = orr_node_home();
    }
    for (unsigned i = 0; i < plan->count; i++)
        if (orr_load_relaxed(&plan->children[i]->partitioned))
            starpu_data_unpartition(plan->children[i], orr_node_home());
    if (end_uses(plan)) return;
    struct orr_event gathered;
    orr_event_init(&gathered);
    if (submit_gathering(plan, gathering_node, &gathered) != 0) return;
    struct orr_acquiring waiting;
    orr_acquiring_begin(&waiting, h, __builtin_return_address(0));
    orr_event_wait(&gathered);
    orr_acquiring_end(&waiting);
    orr_registry_set_pieces(h, NULL, 0);
    drop_gathered(plan);
    if (gathering_node != orr_node_home()) starpu_data_prefetch_on_node(h, gathering_node, 1);
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

/* The plan whose children these are; NULL and a line when there is none. With the plans' mutex. */
static struct orr_data_block *find_plan(struct orr_data *h, unsigned nparts, starpu_data_handle_t *children,
                                        const char *fn)
{
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

void starpu_data_partition_plan(starpu_data_handle_t h, struct starpu_data_filter *f,
                                starpu_data_handle_t *children)
{
    if (!check(h, __func__)) return;
    if (!f || !children || orr_load_relaxed(&h->partitioned)) {
        orr_error("%s%s: %s", __func__, where(),
                  !f          ? "the filter is NULL"
                  : !children ? "the array for the children is NULL"
                              : "the data is partitioned; call starpu_data_unpartition first");
        return;
    }
    struct orr_data_block *plan = plan_create(h, f, __func__);
    if (!plan) {
        unsigned count = f->get_nchildren ? f->get_nchildren(f, h) : f->nchildren;
        for (unsigned i = 0; i < count; i++) children[i] = NULL;
        return;
    }
    for (unsigned i = 0; i < plan->count; i++) children[i] = plan->children[i];
    plan_link(plan);
}

/* The node that the program names for gathering; one that is not there is said. */
static int gathering(const struct orr_data *h, int node, const char *fn)
{
    if (node < 0) return GATHER_AS_SET;
    if (orr_data_has_node(h, (unsigned)node)) return node;
    orr_error("%s%s: there is no memory node %d (there are %u); the data is gathered in main memory", fn,
              where(), node, orr_data_nodes(h));
    return (int)orr_node_home();
}

void starpu_data_set_gathering_node(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, __func__)) return;
    struct orr_data_rare *rare = orr_data_rare_get(h);
    if (!rare) {
        orr_error("%s: out of memory; the data is gathered in main memory", __func__);
        return;
    }
    int checked = gathering(h, (int)(node & INT_MAX), __func__);
    pthread_mutex_lock(&plans);
    rare->gathering_node = (unsigned)checked;
    pthread_mutex_unlock(&plans);
}

/* Pieces came here or went, or did not although the program counted on it: plans are not as it left them. */
static bool may_differ(const struct orr_data *h)
{
    return orr_unlikely(orr_load_relaxed(&h->away));
}

/* From a plan that is in state `from` to state `to`, in order or ahead of what waits; gather: the node that
 * the program names, if that is over the parent. */
static void change_in(bool order, struct orr_data *h, unsigned nparts, starpu_data_handle_t *children,
                      enum plan_state from, enum plan_state to, int gather, const char *fn)
{
    static const char *const names[] = { "not active", "active for reading", "active for writing" };
    struct orr_partition_use u;
    if (!check(h, fn)) return;
    if (from == PLAN_WRITE && orr_data_use(h, ORR_USE_READS)) return;
    orr_data_announce(h, STARPU_R); /* pieces get their initial values with the whole */
    orr_data_announce_above(h);
    orr_partition_begin(&u);
    u.exempt = !order;
    struct orr_data_block *plan = find_plan(h, nparts, children, fn);
    if (plan && plan->state != from && !may_differ(h))
        orr_error("%s%s: the plan is %s here, and must be %s", fn, where(), names[plan->state], names[from]);
    else if (plan && to == PLAN_READ && plan->state == PLAN_WRITE)
        downgrade_plans(&u, h, gather);
    else if (plan && plan->state != to)
        begin_plan(&u, plan, to);
    end_use(&u);
}

static void change(struct orr_data *h, unsigned nparts, starpu_data_handle_t *children, enum plan_state from,
                   enum plan_state to, int gather, const char *fn)
{
    change_in(true, h, nparts, children, from, to, gather, fn);
}

void starpu_data_partition_submit(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_OFF, PLAN_WRITE, GATHER_AS_SET, __func__);
}

void starpu_data_partition_readonly_submit(starpu_data_handle_t h, unsigned nparts,
                                           starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_OFF, PLAN_READ, GATHER_AS_SET, __func__);
}

void starpu_data_partition_readwrite_upgrade_submit(starpu_data_handle_t h, unsigned nparts,
                                                    starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_READ, PLAN_WRITE, GATHER_AS_SET, __func__);
}

void starpu_data_partition_readonly_downgrade_submit(starpu_data_handle_t h, unsigned nparts,
                                                     starpu_data_handle_t *children)
{
    change(h, nparts, children, PLAN_WRITE, PLAN_READ, GATHER_AS_SET, __func__);
}

void starpu_data_unpartition_readonly_submit(starpu_data_handle_t h, unsigned nparts,
                                             starpu_data_handle_t *children, int gathering_node)
{
    if (!check(h, __func__)) return;
    change(h, nparts, children, PLAN_WRITE, PLAN_READ, gathering(h, gathering_node, __func__), __func__);
}

void starpu_data_partition_submit_sequential_consistency(starpu_data_handle_t h, unsigned nparts,
                                                         starpu_data_handle_t *children,
                                                         int sequential_consistency)
{
    change_in(sequential_consistency, h, nparts, children, PLAN_OFF, PLAN_WRITE, GATHER_AS_SET, __func__);
}

void starpu_data_partition_readonly_submit_sequential_consistency(starpu_data_handle_t h, unsigned nparts,
                                                                  starpu_data_handle_t *children,
                                                                  int sequential_consistency)
{
    change_in(sequential_consistency, h, nparts, children, PLAN_OFF, PLAN_READ, GATHER_AS_SET, __func__);
}

void starpu_data_unpartition_submit_sequential_consistency_cb(starpu_data_handle_t h, unsigned nparts,
                                                              starpu_data_handle_t *children, int gather_node,
                                                              int sequential_consistency,
                                                              void (*callback_func)(void *),
                                                              void *callback_arg)
{
    static const char fn[] = "starpu_data_unpartition_submit";
    struct orr_partition_use u;
    int r = 0;
    if (!check(h, fn) || orr_data_use(h, ORR_USE_READS)) return;
    int gather = gathering(h, gather_node, fn);
    orr_partition_begin(&u);
    u.exempt = !sequential_consistency;
    struct orr_data_block *plan = find_plan(h, nparts, children, fn);
    bool off = plan && plan->state == PLAN_OFF;
    if (off && may_differ(h)) r = begin_plan(&u, plan, PLAN_READ); /* so that the callback has its place */
    if (off && !may_differ(h)) {
        orr_error("%s%s: the plan is not active here; call starpu_data_partition_submit first", fn, where());
    } else if (plan) {
        for (unsigned i = 0; i < plan->count && !r; i++)
            r = end_plans(&u, plan->children[i], (int)orr_node_home());
        if (!r) submit_switch(&u, plan, PLAN_OFF, gather, callback_func, callback_arg);
    }
    end_use(&u);
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
    struct orr_partition_use u;
    if (!check(h, __func__) || orr_data_use(h, ORR_USE_READS)) return;
    int gather = gathering(h, gathering_node, __func__);
    orr_partition_begin(&u);
    end_plans(&u, h, gather);
    end_use(&u);
}

/* Whether no child has plans of its own; says so if not. With the plans' mutex. */
static bool is_lowest(const struct orr_data_block *plan, const char *fn)
{
    for (unsigned i = 0; i < plan->count; i++) {
        if (!plans_of(plan->children[i])) continue;
        orr_error("%s%s: child %u has plans of its own; clean those first", fn, where(), i);
        return false;
    }
    return true;
}

void starpu_data_partition_clean_node(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children,
                                      int gather_node)
{
    static const char fn[] = "starpu_data_partition_clean";
    struct orr_partition_use u;
    if (!check(h, fn)) return;
    int gather = gathering(h, gather_node, fn);
    orr_partition_begin(&u);
    struct orr_data_block *plan = find_plan(h, nparts, children, fn);
    bool ends = plan && is_lowest(plan, fn);
    if (ends) {
        orr_partition_unlock(&u);
        if (end_uses(plan)) return;
        orr_partition_begin(&u);
        end_plan(&u, plan, gather);
    }
    end_use(&u);
}

void starpu_data_partition_clean(starpu_data_handle_t h, unsigned nparts, starpu_data_handle_t *children)
{
    starpu_data_partition_clean_node(h, nparts, children, GATHER_AS_SET);
}

int starpu_data_partition_get_nplans(starpu_data_handle_t h)
{
    return check(h, __func__) ? (int)orr_partition_plans(h) : 0;
}
