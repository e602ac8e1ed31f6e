/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.c: see graph.h; an observer while a policy wants a graph, and as long as there are nodes.
 * Threads: any. Owns: nodes, edges, who used each datum last; all under one lock. Not here: policies that
 * use it (sched/graph_test.c).
 *
 * Queues of data and countdowns know no predecessors, so they are found at submission: for each datum the
 * latest group of tasks that use it alike (readers, one writer, commuting writers, contributors) is kept, and
 * the group before. A task joins the latest group or begins one; it waits for all of the group before its
 * own.
 *
 * A node goes when its task has ended: memory is that of the tasks under way. Of a task that is submitted
 * again, the node and what was declared for it stay until it is freed, but it is not shown, nor counted in
 * between. Each end of an edge knows its place at the other end, so that an edge goes in constant time.
 *
 * When only policies of ours look, a task that nothing was connected with when it was submitted gets no node.
 * If another is declared to wait for it later, it gets one then, which is found by the task's address,
 * because the task may be running, and end, meanwhile.
 *
 * Two threads that submit tasks on the same datum may be recorded in another order than they run: edges then
 * point the wrong way, and might even make a circle; what is computed ends nevertheless. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) orr_malloc(bytes)
#define uthash_free(p, bytes) orr_free(p)
#include "core/task/graph.h"

#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/base/slab.h"
#include "core/base/thread.h"
#include "core/task/tag.h"

#define uthash_nonfatal_oom(element) (oom = true)
#include <uthash.h>

struct link {      /* one end of an edge */
    unsigned slot; /* its place among the edges of the other end */
    bool declared; /* stays when the task may be submitted again */
};

struct use {                  /* of a datum by a task */
    struct use *next, **prev; /* in its group */
    struct orr_graph_datum *datum;
    struct orr_graph_node *node;
};

struct orr_graph_datum { /* of a handle, while tasks use it */
    struct orr_data *handle;
    struct use *latest, *before; /* groups */
    unsigned uses;               /* in them, or in earlier ones */
    uint8_t group;               /* enum orr_group of the latest */
};
_Static_assert(sizeof(struct orr_graph_datum) <= ORR_GRAPH_DATUM_BYTES, "its slab's blocks are too small");

enum { FEW_EDGES = 4, FEW_USES = ORR_TASK_INLINE_ACCESSES }; /* a node has room for them itself */

struct few_ends {
    struct _starpu_graph_node *nodes[FEW_EDGES];
    struct link links[FEW_EDGES];
};

struct orr_graph_node {
    struct _starpu_graph_node pub;       /* first: what policies see */
    _Atomic unsigned depth, descendants; /* as last computed, for readers without the lock */
    unsigned at;                         /* its place among all */
    struct orr_graph_node
        *_Atomic latest;               /* at the end of an edge from here, or was: to be fetched, no more */
    unsigned left;                     /* while depths are computed: successors to come */
    uint8_t weight;                    /* 1: a task, 0: a tag */
    bool active;                       /* submitted and not ended; tags always */
    struct orr_graph_node *todo;       /* the next to be looked at */
    struct link *in_links, *out_links; /* beside pub.incoming and pub.outgoing, behind them in one block */
    unsigned in_room, out_room;
    struct use *uses;
    unsigned nuses;
    uint64_t seen; /* while descendants are counted: by whom */
    struct few_ends few_in, few_out;
    struct use few_uses[FEW_USES];
};
_Static_assert(sizeof(struct orr_graph_node) <= ORR_GRAPH_NODE_BYTES, "its slab's blocks are too small");

struct late { /* the node of a task that was under way already */
    struct orr_task *task;
    struct orr_graph_node *node;
    UT_hash_handle hh;
};

static ORR_MUTEX(graph) lock = PTHREAD_MUTEX_INITIALIZER; /* "graph": protects all here; leaf, and held while
                                                           * a function of the program's looks at nodes */
static struct {
    struct orr_graph_node **at; /* NULL where one was removed */
    unsigned count, room, holes;
} all_nodes;
static struct late *late;
static unsigned dormant; /* nodes of tasks that are not submitted */
static _Atomic unsigned live;
static int wanted;      /* by policies of ours */
static bool recorded;   /* there may be nodes: their ends are to be seen */
static bool incomplete; /* somebody was told */
static _Atomic uint64_t version;
static uint64_t seen_last;

/* Which tasks are recorded: none; those that data, tags or declarations connect with others, or may; all. */
enum { RECORD_NONE, RECORD_CONNECTED, RECORD_ALL };

/* What is read without the lock, apart from what changes with each task. */
static struct {
    ORR_ALIGNED_LINE _Atomic uint32_t recording; /* as above */
    _Atomic uint32_t late;                       /* tasks that got a node after they were submitted */
} shared;
int _starpu_graph_record;

extern struct orr_observer orr_graph_observer;

/* Sections are short, but for those that look at the whole graph:
 * a thread that finds the lock taken spins a little before it sleeps. */
static void lock_graph(void)
{
    for (int i = 0; i < 200; i++) {
        if (pthread_mutex_trylock(&lock) == 0) return;
        for (int k = 0; k < 8; k++) orr_cpu_relax();
    }
    pthread_mutex_lock(&lock);
}

static void unlock_graph(void)
{
    pthread_mutex_unlock(&lock);
}

/* Called with the lock held. The program may have set its variable. */
static void choose_locked(void)
{
    static const uint64_t begins = ORR_EVENT_BIT(TASK_SUBMITTED) | ORR_EVENT_BIT(TASK_DECLARED) |
                                   ORR_EVENT_BIT(TAG_DECLARED) | ORR_EVENT_BIT(TAG_BOUND),
                          ends = ORR_EVENT_BIT(TASK_COMPLETED) | ORR_EVENT_BIT(TASK_SERVED) |
                                 ORR_EVENT_BIT(TASK_FREED) | ORR_EVENT_BIT(TASK_DECLARED_LATE) |
                                 ORR_EVENT_BIT(TAG_FREED);
    uint32_t recording = _starpu_graph_record ? RECORD_ALL : wanted > 0 ? RECORD_CONNECTED : RECORD_NONE;
    recorded |= recording != RECORD_NONE;
    orr_store_release(&shared.recording, recording);
    orr_observer_want(&orr_graph_observer, ORR_EVENT_BIT(CONTEXT_OPENED) | (recording  ? begins | ends
                                                                            : recorded ? ends
                                                                                       : 0));
}

void orr_graph_want(int change)
{
    lock_graph();
    wanted += change;
    choose_locked();
    unlock_graph();
}

/* ---- nodes and edges; called with the lock held ---- */

static void changed_locked(void)
{
    orr_store_relaxed(&version, orr_load_relaxed(&version) + 1);
}

static void no_memory_locked(void)
{
    if (!incomplete) orr_warn("out of memory for the graph of tasks: policies see a part of it");
    incomplete = true;
}

/* Another core wrote it last. */
static void fetch(void *block)
{
    if (!block) return;
    for (char *at = block; at < (char *)block + ORR_GRAPH_NODE_BYTES; at += ORR_CACHE_LINE)
        orr_prefetch_write(at);
}

/* A node that is not in the graph yet; NULL: out of memory. */
static struct orr_graph_node *node_new(struct starpu_task *task)
{
    struct orr_graph_node *n = orr_slab_alloc(ORR_SLAB_GRAPH_NODE);
    if (!n) return NULL;
    fetch(orr_self()->caches[ORR_SLAB_GRAPH_NODE].free_list); /* the next call's */
    memset(n, 0, offsetof(struct orr_graph_node, few_in));    /* there is room behind it, not values */
    n->pub.task = task;
    n->pub.incoming = n->few_in.nodes;
    n->pub.outgoing = n->few_out.nodes;
    n->in_links = n->few_in.links;
    n->out_links = n->few_out.links;
    n->in_room = n->out_room = FEW_EDGES;
    n->uses = n->few_uses;
    n->weight = task != NULL;
    n->active = !task;
    return n;
}

/* What a node has beside its block, and the block. Nothing leads to it any more. */
static void node_recycle(struct orr_graph_node *n)
{
    if (orr_unlikely(n->pub.incoming != n->few_in.nodes)) orr_free(n->pub.incoming);
    if (orr_unlikely(n->pub.outgoing != n->few_out.nodes)) orr_free(n->pub.outgoing);
    if (orr_unlikely(n->uses != n->few_uses)) orr_free(n->uses);
    orr_slab_free(ORR_SLAB_GRAPH_NODE, n);
}

static void squeeze_locked(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < all_nodes.count; i++) {
        if (!all_nodes.at[i]) continue;
        all_nodes.at[i]->at = count;
        all_nodes.at[count++] = all_nodes.at[i];
    }
    all_nodes.count = count;
    all_nodes.holes = 0;
}

static bool reserve_place_locked(void)
{
    if (orr_likely(all_nodes.count < all_nodes.room)) return true;
    if (all_nodes.holes > all_nodes.room / 2) {
        squeeze_locked();
        return true;
    }
    unsigned room = all_nodes.room ? 2 * all_nodes.room : 1024;
    struct orr_graph_node **more = orr_realloc(all_nodes.at, room * sizeof *more);
    if (!more) return false;
    all_nodes.at = more;
    all_nodes.room = room;
    return true;
}

/* n itself, or NULL after a message. */
static struct orr_graph_node *node_add_locked(struct orr_graph_node *n)
{
    if (n && !reserve_place_locked()) {
        node_recycle(n);
        n = NULL;
    }
    if (!n) {
        no_memory_locked();
        return NULL;
    }
    dormant += n->weight;
    n->at = all_nodes.count;
    all_nodes.at[all_nodes.count++] = n;
    return n;
}

/* Room for one more edge. few: where the first ones are. */
static bool reserve_locked(struct _starpu_graph_node ***ends, struct link **links, unsigned count,
                           unsigned *room, const struct few_ends *few)
{
    if (orr_likely(count < *room)) return true;
    unsigned more = 2 * *room;
    struct _starpu_graph_node **new_ends = orr_malloc(more * (sizeof **ends + sizeof **links));
    if (!new_ends) {
        no_memory_locked();
        return false;
    }
    struct link *new_links = (struct link *)(new_ends + more);
    memcpy(new_ends, *ends, count * sizeof **ends);
    memcpy(new_links, *links, count * sizeof **links);
    if (*ends != few->nodes) orr_free(*ends);
    *ends = new_ends;
    *links = new_links;
    *room = more;
    return true;
}

static struct orr_graph_node *node_of(struct _starpu_graph_node *pub)
{
    return (struct orr_graph_node *)pub;
}

/* The edge from p to n, unless the one made last at n is the same. */
static void add_edge_locked(struct orr_graph_node *p, struct orr_graph_node *n, bool declared)
{
    unsigned in = n->pub.n_incoming, out = p->pub.n_outgoing;
    if (p == n || (in > 0 && n->pub.incoming[in - 1] == &p->pub && !declared)) return;
    if (!reserve_locked(&n->pub.incoming, &n->in_links, in, &n->in_room, &n->few_in) ||
        !reserve_locked(&p->pub.outgoing, &p->out_links, out, &p->out_room, &p->few_out))
        return;
    n->pub.incoming[in] = &p->pub;
    n->in_links[in] = (struct link){ .slot = out, .declared = declared };
    n->pub.n_incoming++;
    p->pub.outgoing[out] = &n->pub;
    p->out_links[out] = (struct link){ .slot = in, .declared = declared };
    p->pub.n_outgoing++;
    orr_store_relaxed(&p->latest, n);
}

/* Takes the incoming edge at this place from n alone; the last one moves there. */
static void forget_incoming_locked(struct orr_graph_node *n, unsigned at)
{
    unsigned last = --n->pub.n_incoming;
    if (at == last) return;
    n->pub.incoming[at] = n->pub.incoming[last];
    n->in_links[at] = n->in_links[last];
    node_of(n->pub.incoming[at])->out_links[n->in_links[at].slot].slot = at;
}

static void forget_outgoing_locked(struct orr_graph_node *p, unsigned at)
{
    unsigned last = --p->pub.n_outgoing;
    if (at == last) return;
    p->pub.outgoing[at] = p->pub.outgoing[last];
    p->out_links[at] = p->out_links[last];
    node_of(p->pub.outgoing[at])->in_links[p->out_links[at].slot].slot = at;
}

/* Removes n's edges: all, or those that were not declared. */
static void remove_edges_locked(struct orr_graph_node *n, bool all)
{
    for (unsigned i = n->pub.n_incoming; i-- > 0;) {
        if (!all && n->in_links[i].declared) continue;
        forget_outgoing_locked(node_of(n->pub.incoming[i]), n->in_links[i].slot);
        forget_incoming_locked(n, i);
    }
    for (unsigned i = n->pub.n_outgoing; i-- > 0;) {
        if (!all && n->out_links[i].declared) continue;
        forget_incoming_locked(node_of(n->pub.outgoing[i]), n->out_links[i].slot);
        forget_outgoing_locked(n, i);
    }
}

static void drop_unused_locked(struct orr_graph_datum *d)
{
    if (d->uses) return;
    d->handle->graph = NULL;
    orr_slab_free(ORR_SLAB_GRAPH_DATUM, d);
}

static void leave_data_locked(struct orr_graph_node *n)
{
    for (struct use *u = n->uses; u < n->uses + n->nuses; u++) {
        struct orr_graph_datum *d = u->datum;
        *u->prev = u->next;
        if (u->next) u->next->prev = u->prev;
        d->uses--;
        drop_unused_locked(d);
    }
    n->nuses = 0;
}

static void wake_locked(struct orr_graph_node *n)
{
    n->active = true;
    dormant--;
    orr_store_relaxed(&live, orr_load_relaxed(&live) + 1);
}

static void rest_locked(struct orr_graph_node *n)
{
    leave_data_locked(n);
    changed_locked();
    if (!n->active || !n->weight) return;
    n->active = false;
    dormant++;
    orr_store_relaxed(&live, orr_load_relaxed(&live) - 1);
}

/* The caller recycles it. */
static void node_remove_locked(struct orr_graph_node *n)
{
    rest_locked(n);
    dormant -= n->weight;
    remove_edges_locked(n, true);
    all_nodes.at[n->at] = NULL;
    if (++all_nodes.holes == all_nodes.count) all_nodes.count = all_nodes.holes = 0;
}

/* ---- data; called with the lock held ---- */

static struct orr_graph_datum *datum_locked(struct orr_data *handle)
{
    if (orr_likely(handle->graph)) return handle->graph;
    struct orr_graph_datum *d = orr_slab_alloc(ORR_SLAB_GRAPH_DATUM);
    if (d) *d = (struct orr_graph_datum){ .handle = handle };
    return handle->graph = d;
}

static void move_group_locked(struct use **to, struct use **from)
{
    *to = *from;
    if (*to) (*to)->prev = to;
    *from = NULL;
}

static void drop_group_locked(struct use **group)
{
    for (struct use *u = *group, *next; u;
         u = next) { /* they stay with their tasks, on a list of their own */
        next = u->next;
        u->next = NULL;
        u->prev = &u->next; /* nobody's: see leave_data_locked */
    }
    *group = NULL;
}

static bool shares(uint8_t group)
{
    return group == ORR_GROUP_READ || group == ORR_GROUP_COMMUTE || group == ORR_GROUP_REDUX;
}

static void use_datum_locked(struct orr_graph_node *n, struct orr_data *handle, uint8_t group)
{
    struct orr_graph_datum *d = datum_locked(handle);
    if (!d) {
        no_memory_locked();
        return;
    }
    if (d->group != group || !shares(group)) {
        if (d->latest) { /* else those before have not ended, and are waited for still */
            drop_group_locked(&d->before);
            move_group_locked(&d->before, &d->latest);
        }
        d->group = group;
    }
    for (struct use *p = d->before; p; p = p->next) add_edge_locked(p->node, n, false);
    struct use *u = &n->uses[n->nuses++];
    *u = (struct use){ .next = d->latest, .prev = &d->latest, .datum = d, .node = n };
    if (d->latest) d->latest->prev = &u->next;
    d->latest = u;
    d->uses++;
}

/* Room for what a task uses. */
static bool reserve_uses(struct orr_graph_node *n, unsigned count)
{
    if (orr_likely(count <= FEW_USES)) return true;
    if (n->uses != n->few_uses) orr_free(n->uses); /* of an earlier submission */
    n->uses = orr_malloc(count * sizeof *n->uses);
    if (n->uses) return true;
    n->uses = n->few_uses;
    return false;
}

/* ---- tasks ---- */

static struct orr_graph_node *late_find_locked(struct orr_task *t)
{
    struct late *l = NULL;
    HASH_FIND_PTR(late, &t, l);
    return l ? l->node : NULL;
}

static struct orr_graph_node *late_add_locked(struct orr_task *t)
{
    bool oom = false;
    struct late *l = orr_malloc(sizeof *l);
    struct orr_graph_node *n = l ? node_add_locked(node_new(t->pub)) : NULL;
    if (n) {
        *l = (struct late){ .task = t, .node = n };
        HASH_ADD_PTR(late, task, l);
    }
    if (!n || oom) {
        if (oom) node_remove_locked(n);
        if (oom) node_recycle(n);
        orr_free(l);
        no_memory_locked();
        return NULL;
    }
    wake_locked(n);
    orr_add_seq(&shared.late, 1u); /* pairs with the loads in see */
    return n;
}

static struct orr_graph_node *late_take_locked(struct orr_task *t)
{
    struct late *l = NULL;
    HASH_FIND_PTR(late, &t, l);
    struct orr_graph_node *n = l ? l->node : NULL;
    if (!l) return NULL;
    HASH_DEL(late, l);
    orr_free(l);
    orr_sub_seq(&shared.late, 1u);
    return n;
}

static void late_ended(struct orr_task *t, bool again)
{
    lock_graph();
    struct orr_graph_node *n = late_take_locked(t);
    if (n && again) {
        rest_locked(n);
        t->node = n;
    } else if (n) {
        node_remove_locked(n);
    }
    unlock_graph();
    if (n && !again) node_recycle(n);
}

static struct orr_graph_node *own_node_locked(struct orr_task *t)
{
    if (!t->node) t->node = node_add_locked(node_new(t->pub));
    return t->node;
}

/* The node of a task for which another is declared to wait; NULL: it has none, and will not have. */
static struct orr_graph_node *prerequisite_locked(struct orr_task *p)
{
    uint32_t state = orr_load_acquire(&p->state);
    if (p->node || state == ORR_TASK_CREATED) return own_node_locked(p);
    if (state == ORR_TASK_DONE || state == ORR_TASK_CALLING) return NULL;
    struct orr_graph_node *n = late_find_locked(p);
    return n ? n : late_add_locked(p);
}

/* The same of the one that waits, and is the caller's. */
static struct orr_graph_node *waiter_locked(struct orr_task *t)
{
    uint32_t state = orr_load_acquire(&t->state);
    bool under_way = state != ORR_TASK_CREATED && state != ORR_TASK_DONE && state != ORR_TASK_CALLING;
    return under_way && !t->node ? NULL : own_node_locked(t);
}

static void use_data_locked(struct orr_graph_node *n, struct orr_task *t)
{
    const struct orr_access *a = orr_task_accesses(t);
    if (!reserve_uses(n, t->naccesses)) {
        no_memory_locked();
        return;
    }
    for (unsigned i = 0; i < t->naccesses; i++)
        if (!(a[i].flags & ORR_AF_LATE))
            use_datum_locked(n, STARPU_TASK_GET_HANDLE(t->pub, a[i].index), a[i].group);
}

static void submitted(struct orr_task *t)
{
    if (!t->node && t->naccesses == 0 && orr_load_relaxed(&shared.recording) == RECORD_CONNECTED) return;
    struct orr_graph_node *new = t->node ? NULL : node_new(t->pub);
    lock_graph();
    if (!t->node) {
        t->node = node_add_locked(new);
        new = NULL;
    }
    struct orr_graph_node *n = t->node;
    if (n && !n->active) {
        wake_locked(n);
        n->pub.depth = n->pub.descendants = 0;
        orr_store_relaxed(&n->depth, 0);
        orr_store_relaxed(&n->descendants, 0);
        use_data_locked(n, t);
        changed_locked();
    }
    unlock_graph();
    if (orr_unlikely(new)) node_recycle(new); /* it was declared to be waited for meanwhile */
}

void orr_graph_expect_end(struct orr_task *t)
{
    if (!t->node) return;
    fetch(t->node);
    orr_prefetch_write(orr_load_relaxed(&t->node->latest));
}

static void ended(struct orr_task *t, bool again)
{
    struct orr_graph_node *n = t->node;
    lock_graph();
    if (again) {
        rest_locked(n);
        remove_edges_locked(n, false);
    } else {
        node_remove_locked(n);
        t->node = NULL;
    }
    unlock_graph();
    if (!again) node_recycle(n);
}

static void declared(struct orr_task *t, struct orr_task *p)
{
    lock_graph();
    struct orr_graph_node *from = prerequisite_locked(p), *to = from ? waiter_locked(t) : NULL;
    if (to) add_edge_locked(from, to, true);
    changed_locked();
    unlock_graph();
}

static void node_free(struct orr_graph_node *n)
{
    lock_graph();
    node_remove_locked(n);
    unlock_graph();
    node_recycle(n);
}

/* ---- tags ---- */

static bool tag_nodes_locked(struct orr_tag_nodes *tag)
{
    if (!tag->before) tag->before = node_add_locked(node_new(NULL));
    if (!tag->after) tag->after = node_add_locked(node_new(NULL));
    return tag->before && tag->after;
}

static void tag_declared(struct orr_tag_nodes *tag, struct orr_tag_nodes *waits_for)
{
    lock_graph();
    if (tag_nodes_locked(tag) && tag_nodes_locked(waits_for))
        add_edge_locked(waits_for->after, tag->before, true);
    changed_locked();
    unlock_graph();
}

static void tag_bound(struct orr_tag_nodes *tag, struct orr_task *t)
{
    lock_graph();
    if (own_node_locked(t) && tag_nodes_locked(tag)) { /* it is being submitted */
        add_edge_locked(tag->before, t->node, false);
        add_edge_locked(t->node, tag->after, false);
    }
    unlock_graph();
}

static void tag_free(struct orr_tag_nodes *tag)
{
    if (orr_likely(!tag->before && !tag->after)) return;
    struct orr_graph_node *gone[] = { tag->before, tag->after };
    lock_graph();
    for (int i = 0; i < 2; i++)
        if (gone[i]) node_remove_locked(gone[i]);
    tag->before = tag->after = NULL;
    unlock_graph();
    for (int i = 0; i < 2; i++)
        if (gone[i]) node_recycle(gone[i]);
}

/* ---- the observer ---- */

/* A task got its node late, if at all, before another was hung on it: it is served, then, or declared late.
 */
static void graph_see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_task *t = (struct orr_task *)e->subject;
    struct orr_tag_nodes *tag = (struct orr_tag_nodes *)e->subject;
    (void)o;
    switch (e->kind) {
    case ORR_EVENT_TASK_SUBMITTED:
        if (orr_load_relaxed(&shared.recording)) submitted(t);
        break;
    case ORR_EVENT_TASK_DECLARED: declared(t, (struct orr_task *)(uintptr_t)e->a); break;
    case ORR_EVENT_TASK_DECLARED_LATE: /* it ended meanwhile, and did not see its node */
        if (orr_load_seq(&shared.late)) late_ended(t, false);
        break;
    case ORR_EVENT_TASK_COMPLETED:
        if (t->node) ended(t, e->a);
        break;
    case ORR_EVENT_TASK_SERVED:
        if (orr_load_seq(&shared.late)) late_ended(t, e->a);
        break;
    case ORR_EVENT_TASK_FREED:
        if (t->node) node_free(t->node);
        break;
    case ORR_EVENT_TAG_DECLARED: tag_declared(tag, (struct orr_tag_nodes *)(uintptr_t)e->a); break;
    case ORR_EVENT_TAG_BOUND: tag_bound(tag, (struct orr_task *)(uintptr_t)e->a); break;
    case ORR_EVENT_TAG_FREED: tag_free(tag); break;
    case ORR_EVENT_CONTEXT_OPENED: orr_graph_want(0); break;
    default: break;
    }
}

static void start(struct orr_observer *o)
{
    (void)o;
    orr_graph_want(0);
}

/* Recording ends with the runtime. Nodes of tasks that are the program's stay until these are freed. */
static void stop(struct orr_observer *o)
{
    (void)o;
    lock_graph();
    wanted = 0;
    _starpu_graph_record = 0;
    incomplete = false;
    if (all_nodes.count == 0) {
        orr_free(all_nodes.at);
        all_nodes.at = NULL;
        all_nodes.room = 0;
        recorded = false;
    }
    choose_locked();
    unlock_graph();
}

struct orr_observer orr_graph_observer = {
    .name = "graph of tasks", .see = graph_see, .start = start, .stop = stop
};

/* ---- what policies compute ---- */

static unsigned active_successors_locked(const struct orr_graph_node *n)
{
    unsigned count = 0;
    for (unsigned i = 0; i < n->pub.n_outgoing; i++) count += node_of(n->pub.outgoing[i])->active;
    return count;
}

/* From the tasks that nobody waits for upwards, each when all that wait for it are done. */
void _starpu_graph_compute_depths(void)
{
    enum { AHEAD = 8 };
    struct orr_graph_node *todo = NULL, **end = &todo;
    lock_graph();
    for (unsigned i = all_nodes.count; i-- > 0;) {
        struct orr_graph_node *n = all_nodes.at[i];
        if (i >= AHEAD && all_nodes.at[i - AHEAD]) orr_prefetch_write(all_nodes.at[i - AHEAD]);
        if (!n) continue;
        n->pub.depth = 0;
        n->left = dormant ? active_successors_locked(n) : n->pub.n_outgoing;
        if (!n->active || n->left) continue;
        *end = n;
        end = &n->todo;
    }
    *end = NULL;
    for (struct orr_graph_node *n = todo; n; n = n->todo) {
        orr_store_relaxed(&n->depth, n->pub.depth);
        for (unsigned i = 0; i < n->pub.n_incoming; i++) {
            struct orr_graph_node *p = node_of(n->pub.incoming[i]);
            if (p->pub.depth < n->pub.depth + n->weight) p->pub.depth = n->pub.depth + n->weight;
            if (!p->active || --p->left) continue;
            p->todo = NULL;
            *end = p;
            end = &p->todo;
        }
    }
    unlock_graph();
}

static unsigned count_descendants_locked(struct orr_graph_node *from)
{
    struct orr_graph_node *todo = from;
    unsigned count = 0;
    uint64_t me = ++seen_last;
    from->todo = NULL;
    from->seen = me;
    while (todo) {
        struct orr_graph_node *n = todo;
        todo = n->todo;
        for (unsigned i = 0; i < n->pub.n_outgoing; i++) {
            struct orr_graph_node *s = node_of(n->pub.outgoing[i]);
            if (!s->active || s->seen == me) continue;
            s->seen = me;
            s->todo = todo;
            todo = s;
            count += s->weight;
        }
    }
    return count;
}

void _starpu_graph_compute_descendants(void)
{
    lock_graph();
    for (unsigned i = 0; i < all_nodes.count; i++) {
        struct orr_graph_node *n = all_nodes.at[i];
        if (n && n->active) {
            n->pub.descendants = count_descendants_locked(n);
            orr_store_relaxed(&n->descendants, n->pub.descendants);
        }
    }
    unlock_graph();
}

void _starpu_graph_foreach(void (*func)(void *data, struct _starpu_graph_node *node), void *arg)
{
    lock_graph();
    for (unsigned i = 0; i < all_nodes.count; i++) {
        struct orr_graph_node *n = all_nodes.at[i];
        if (n && n->active && n->pub.task) func(arg, &n->pub);
    }
    unlock_graph();
}

/* The node of t, which the caller keeps from ending, and with it the node; NULL: it has none. */
static struct orr_graph_node *node_of_ready(struct orr_task *t)
{
    if (t->node) return t->node;
    if (orr_likely(orr_load_seq(&shared.late) == 0)) return NULL;
    lock_graph();
    struct orr_graph_node *n = late_find_locked(t);
    unlock_graph();
    return n;
}

unsigned orr_graph_depth(struct orr_task *t)
{
    struct orr_graph_node *n = node_of_ready(t);
    return n ? orr_load_relaxed(&n->depth) : 0;
}

unsigned orr_graph_descendants(struct orr_task *t)
{
    struct orr_graph_node *n = node_of_ready(t);
    return n ? orr_load_relaxed(&n->descendants) : 0;
}

bool orr_graph_has(struct orr_task *t)
{
    return t->node != NULL;
}

unsigned orr_graph_live(void)
{
    return orr_load_relaxed(&live);
}

uint64_t orr_graph_version(void)
{
    return orr_load_relaxed(&version);
}
