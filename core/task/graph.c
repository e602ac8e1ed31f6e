/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.c: see graph.h.
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
 * Two threads that submit tasks on the same datum may be recorded in another order than they run: edges then
 * point the wrong way, and might even make a circle; what is computed ends nevertheless. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) orr_malloc(bytes)
#define uthash_free(p, bytes) orr_free(p)
#include "core/task/graph.h"

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

#define uthash_nonfatal_oom(element) (oom = true)
#include <uthash.h>

struct link {      /* one end of an edge */
    unsigned slot; /* its place among the edges of the other end */
    bool declared; /* stays when the task may be submitted again */
};

struct datum;

struct use {                  /* of a datum by a task */
    struct use *next, **prev; /* in its group */
    struct use *next_of_task; /* among those of its task */
    struct datum *datum;
    struct orr_graph_node *node;
};

struct datum {
    struct orr_data *handle;
    struct use *latest, *before; /* groups */
    unsigned uses;               /* in them, or in earlier ones */
    uint8_t group;               /* enum orr_group of the latest */
    UT_hash_handle hh;
};

struct orr_graph_node {
    struct _starpu_graph_node pub;     /* first: what policies see */
    struct link *in_links, *out_links; /* beside pub.incoming and pub.outgoing */
    unsigned in_room, out_room;
    struct orr_graph_node *next, **prev; /* of all */
    struct use *uses;
    bool active;                 /* submitted and not ended; tags always */
    unsigned weight;             /* 1: a task, 0: a tag */
    unsigned left;               /* while depths are computed: successors to come */
    uint64_t seen;               /* while descendants are counted: by whom */
    struct orr_graph_node *todo; /* the next to be looked at */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* "graph": protects all here; leaf, and held while
                                                          * a function of the program's looks at nodes */
static struct orr_graph_node *nodes;
static struct datum *data;
static unsigned live;
static int wanted;      /* by policies of ours */
static bool incomplete; /* somebody was told */
static _Atomic uint64_t version;
static uint64_t seen_last;

_Atomic uint32_t orr_graph_recording;
int _starpu_graph_record;

void orr_graph_want(int change)
{
    pthread_mutex_lock(&lock);
    wanted += change;
    orr_store_release(&orr_graph_recording, wanted > 0 || _starpu_graph_record);
    pthread_mutex_unlock(&lock);
}

void orr_graph_fini(void)
{
    pthread_mutex_lock(&lock);
    wanted = 0;
    _starpu_graph_record = 0;
    incomplete = false;
    orr_store_release(&orr_graph_recording, 0u);
    pthread_mutex_unlock(&lock);
}

/* ---- nodes and edges; called with the lock held ---- */

static void no_memory_locked(void)
{
    if (!incomplete) orr_warn("out of memory for the graph of tasks: policies see a part of it");
    incomplete = true;
}

static struct orr_graph_node *node_create_locked(struct starpu_task *task)
{
    struct orr_graph_node *n = orr_calloc(1, sizeof *n);
    if (!n) {
        no_memory_locked();
        return NULL;
    }
    n->pub.task = task;
    n->weight = task != NULL;
    n->active = !task;
    n->next = nodes;
    n->prev = &nodes;
    if (nodes) nodes->prev = &n->next;
    nodes = n;
    return n;
}

/* Room for one more edge. */
static bool reserve_locked(struct _starpu_graph_node ***ends, struct link **links, unsigned count,
                           unsigned *room)
{
    if (count < *room) return true;
    unsigned more = *room ? 2 * *room : 4;
    struct _starpu_graph_node **new_ends = orr_realloc(*ends, more * sizeof **ends);
    if (new_ends) *ends = new_ends;
    struct link *new_links = new_ends ? orr_realloc(*links, more * sizeof **links) : NULL;
    if (!new_links) {
        no_memory_locked();
        return false;
    }
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
    if (!reserve_locked(&n->pub.incoming, &n->in_links, in, &n->in_room) ||
        !reserve_locked(&p->pub.outgoing, &p->out_links, out, &p->out_room))
        return;
    n->pub.incoming[in] = &p->pub;
    n->in_links[in] = (struct link){ .slot = out, .declared = declared };
    n->pub.n_incoming++;
    p->pub.outgoing[out] = &n->pub;
    p->out_links[out] = (struct link){ .slot = in, .declared = declared };
    p->pub.n_outgoing++;
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

static void drop_unused_locked(struct datum *d)
{
    if (d->uses) return;
    HASH_DELETE(hh, data, d);
    orr_free(d);
}

static void leave_data_locked(struct orr_graph_node *n)
{
    for (struct use *u = n->uses, *next; u; u = next) {
        struct datum *d = u->datum;
        next = u->next_of_task;
        *u->prev = u->next;
        if (u->next) u->next->prev = u->prev;
        orr_free(u);
        d->uses--;
        drop_unused_locked(d);
    }
    n->uses = NULL;
}

static void rest_locked(struct orr_graph_node *n)
{
    leave_data_locked(n);
    if (n->active && n->weight) live--;
    if (n->weight) n->active = false;
    orr_add_relaxed(&version, 1u);
}

static void node_free_locked(struct orr_graph_node *n)
{
    rest_locked(n);
    remove_edges_locked(n, true);
    *n->prev = n->next;
    if (n->next) n->next->prev = n->prev;
    orr_free(n->pub.incoming);
    orr_free(n->pub.outgoing);
    orr_free(n->in_links);
    orr_free(n->out_links);
    orr_free(n);
}

/* ---- data; called with the lock held ---- */

static struct datum *datum_locked(struct orr_data *handle)
{
    struct datum *d = NULL;
    bool oom = false;
    HASH_FIND_PTR(data, &handle, d);
    if (d || !(d = orr_calloc(1, sizeof *d))) return d;
    d->handle = handle;
    HASH_ADD_PTR(data, handle, d);
    if (!oom) return d;
    orr_free(d);
    return NULL;
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
    struct datum *d = datum_locked(handle);
    struct use *u = d ? orr_calloc(1, sizeof *u) : NULL;
    if (!u) {
        if (d) drop_unused_locked(d);
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
    *u =
        (struct use){ .next = d->latest, .prev = &d->latest, .datum = d, .node = n, .next_of_task = n->uses };
    if (d->latest) d->latest->prev = &u->next;
    d->latest = u;
    d->uses++;
    n->uses = u;
}

/* ---- tasks ---- */

/* The node of a task that has one, or that is not under way yet. */
static struct orr_graph_node *node_of_task_locked(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    if (r && r->node) return r->node;
    if (orr_load_acquire(&t->state) != ORR_TASK_CREATED || !(r = orr_task_rare_get(t))) return NULL;
    return r->node = node_create_locked(t->pub);
}

void orr_graph_submitted(struct orr_task *t)
{
    struct orr_task_rare *r = orr_task_rare_get(t);
    pthread_mutex_lock(&lock);
    struct orr_graph_node *n = r ? r->node ? r->node : node_create_locked(t->pub) : NULL;
    if (n && !n->active) {
        r->node = n;
        n->active = true;
        n->pub.depth = n->pub.descendants = 0;
        live++;
        const struct orr_access *a = orr_task_accesses(t);
        for (unsigned i = 0; i < t->naccesses; i++)
            if (!(a[i].flags & ORR_AF_LATE))
                use_datum_locked(n, STARPU_TASK_GET_HANDLE(t->pub, a[i].index), a[i].group);
        orr_add_relaxed(&version, 1u);
    }
    pthread_mutex_unlock(&lock);
}

void orr_graph_ended(struct orr_task *t, bool again)
{
    struct orr_task_rare *r = t->rare;
    pthread_mutex_lock(&lock);
    if (again) {
        rest_locked(r->node);
        remove_edges_locked(r->node, false);
    } else {
        node_free_locked(r->node);
        r->node = NULL;
    }
    pthread_mutex_unlock(&lock);
}

void orr_graph_declared(struct orr_task *t, struct orr_task *p)
{
    pthread_mutex_lock(&lock);
    struct orr_graph_node *from = node_of_task_locked(p), *to = from ? node_of_task_locked(t) : NULL;
    if (to) add_edge_locked(from, to, true);
    orr_add_relaxed(&version, 1u);
    pthread_mutex_unlock(&lock);
}

void orr_graph_free(struct orr_graph_node *n)
{
    pthread_mutex_lock(&lock);
    node_free_locked(n);
    pthread_mutex_unlock(&lock);
}

/* ---- tags ---- */

static bool tag_nodes_locked(struct orr_graph_tag *tag)
{
    if (!tag->before) tag->before = node_create_locked(NULL);
    if (!tag->after) tag->after = node_create_locked(NULL);
    return tag->before && tag->after;
}

void orr_graph_tag_declared(struct orr_graph_tag *tag, struct orr_graph_tag *waits_for)
{
    pthread_mutex_lock(&lock);
    if (tag_nodes_locked(tag) && tag_nodes_locked(waits_for))
        add_edge_locked(waits_for->after, tag->before, true);
    orr_add_relaxed(&version, 1u);
    pthread_mutex_unlock(&lock);
}

void orr_graph_tag_bound(struct orr_graph_tag *tag, struct orr_task *t)
{
    pthread_mutex_lock(&lock);
    struct orr_task_rare *r = t->rare;
    if (!r->node) r->node = node_create_locked(t->pub); /* it is being submitted */
    if (r->node && tag_nodes_locked(tag)) {
        add_edge_locked(tag->before, r->node, false);
        add_edge_locked(r->node, tag->after, false);
    }
    pthread_mutex_unlock(&lock);
}

void orr_graph_tag_free(struct orr_graph_tag *tag)
{
    if (orr_likely(!tag->before && !tag->after)) return;
    pthread_mutex_lock(&lock);
    if (tag->before) node_free_locked(tag->before);
    if (tag->after) node_free_locked(tag->after);
    tag->before = tag->after = NULL;
    pthread_mutex_unlock(&lock);
}

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
    struct orr_graph_node *todo = NULL;
    pthread_mutex_lock(&lock);
    for (struct orr_graph_node *n = nodes; n; n = n->next) {
        n->pub.depth = 0;
        n->left = active_successors_locked(n);
        if (!n->active || n->left) continue;
        n->todo = todo;
        todo = n;
    }
    while (todo) {
        struct orr_graph_node *n = todo;
        todo = n->todo;
        for (unsigned i = 0; i < n->pub.n_incoming; i++) {
            struct orr_graph_node *p = node_of(n->pub.incoming[i]);
            if (p->pub.depth < n->pub.depth + n->weight) p->pub.depth = n->pub.depth + n->weight;
            if (!p->active || --p->left) continue;
            p->todo = todo;
            todo = p;
        }
    }
    pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    for (struct orr_graph_node *n = nodes; n; n = n->next)
        if (n->active) n->pub.descendants = count_descendants_locked(n);
    pthread_mutex_unlock(&lock);
}

void _starpu_graph_foreach(void (*func)(void *data, struct _starpu_graph_node *node), void *arg)
{
    pthread_mutex_lock(&lock);
    for (struct orr_graph_node *n = nodes; n; n = n->next)
        if (n->active && n->pub.task) func(arg, &n->pub);
    pthread_mutex_unlock(&lock);
}

unsigned orr_graph_depth(struct orr_task *t)
{
    pthread_mutex_lock(&lock);
    unsigned depth = t->rare && t->rare->node ? t->rare->node->pub.depth : 0;
    pthread_mutex_unlock(&lock);
    return depth;
}

unsigned orr_graph_descendants(struct orr_task *t)
{
    pthread_mutex_lock(&lock);
    unsigned count = t->rare && t->rare->node ? t->rare->node->pub.descendants : 0;
    pthread_mutex_unlock(&lock);
    return count;
}

unsigned orr_graph_live(void)
{
    pthread_mutex_lock(&lock);
    unsigned count = live;
    pthread_mutex_unlock(&lock);
    return count;
}

uint64_t orr_graph_version(void)
{
    return orr_load_relaxed(&version);
}
