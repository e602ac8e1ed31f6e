/* SPDX-License-Identifier: BSD-3-Clause */
/* bound_order.c: see bound.h; which recorded task waits for which, and programs and drawings of that.
 * Threads: any submits; one asks. Owns: the log. Not here: kinds of tasks, the bound without an order
 * (bound.c).
 *
 * While tasks are submitted what is seen is only written down. Who asks replays it: for each datum the latest
 * group of those that use it alike is known, and one node that stands for the group before, which all of the
 * latest wait for. Nodes are tasks, or steps, which take no time: groups, the program's accesses, what comes
 * before a tag's tasks and after them. A task that is submitted again is another node; what was declared for
 * it counts once.
 *
 * The program of a schedule, for lp_solve: task i begins at s<i> and ends at c<i>, t<i>w<j> is 1 where worker
 * j runs it. Of two tasks of which neither waits for the other, o<i>_<k> is 1 if i comes first, should one
 * worker have both: then c<i> <= s<k>, and else c<k> <= s<i>. These are as many as pairs of tasks, so that it
 * is for small graphs. With priorities the more urgent of two such tasks begins no later; what an urgent task
 * waits for is as urgent, so that there always is a schedule. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) orr_malloc(bytes)
#define uthash_free(p, bytes) orr_free(p)
#include <math.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/access.h"
#include "core/worker/bound.h"

#define uthash_nonfatal_oom(element) (oom = true)
#include <uthash.h>

enum { NONE = -1 };

/* ---- the log ---- */

enum what { SUBMITTED, USES, DECLARED, TAG_BOUND, TAG_DECLARED, TAG_FREED, JOINED, GONE };

struct entry {
    uint64_t a, b;
    const struct orr_bound_kind *kind;
    int priority;
    uint8_t what, group; /* group: enum orr_group */
    bool first;          /* of the data that it joins */
};

static ORR_MUTEX(bound_order) lock = PTHREAD_MUTEX_INITIALIZER; /* protects the log; leaf */
static struct entry *entries;
static size_t nentries, entries_room;
static bool incomplete; /* [lock] there was no memory, which was said */

static void append_locked(struct entry e)
{
    if (nentries == entries_room) {
        size_t room = entries_room ? 2 * entries_room : 256;
        struct entry *more = incomplete ? NULL : orr_realloc(entries, room * sizeof *more);
        if (!more && !incomplete)
            orr_warn("starpu_bound_start: out of memory; the order of tasks is not whole");
        incomplete |= !more;
        if (!more) return;
        entries = more;
        entries_room = room;
    }
    entries[nentries++] = e;
}

void orr_bound_order_forget(void)
{
    pthread_mutex_lock(&lock);
    orr_free(entries);
    entries = NULL;
    nentries = entries_room = 0;
    incomplete = false;
    pthread_mutex_unlock(&lock);
}

void orr_bound_order_submitted(struct orr_task *t, const struct orr_bound_kind *kind)
{
    const struct orr_access *a = orr_task_accesses(t);
    pthread_mutex_lock(&lock);
    append_locked((struct entry){ .what = SUBMITTED, .a = t->id, .kind = kind, .priority = t->priority });
    for (unsigned i = 0; i < t->naccesses && !(t->flags & ORR_TF_NO_QUEUE); i++)
        if (!(a[i].flags & ORR_AF_LATE))
            append_locked((struct entry){ .what = USES,
                                          .a = (uintptr_t)STARPU_TASK_GET_HANDLE(t->pub, a[i].index),
                                          .group = a[i].group });
    pthread_mutex_unlock(&lock);
}

static uint64_t job_at(uint64_t address)
{
    return ((const struct orr_task *)(uintptr_t)address)->id;
}

void orr_bound_order_see(const struct orr_seen *e)
{
    struct entry n = { .a = (uintptr_t)e->subject };
    switch (e->kind) {
    case ORR_EVENT_TASK_DECLARED:
        n = (struct entry){ .what = DECLARED, .a = job_at(n.a), .b = job_at(e->a) };
        break;
    case ORR_EVENT_TAG_BOUND:
        n.what = TAG_BOUND;
        n.b = job_at(e->a);
        break;
    case ORR_EVENT_TAG_DECLARED:
        n.what = TAG_DECLARED;
        n.b = e->a;
        break;
    case ORR_EVENT_TAG_FREED: n.what = TAG_FREED; break;
    case ORR_EVENT_DATA_UNREGISTERED: n.what = GONE; break;
    case ORR_EVENT_DATA_JOINED:
        n.what = JOINED;
        n.b = e->a;
        n.group = (uint8_t)e->b;
        n.first = e->c;
        break;
    default: return;
    }
    pthread_mutex_lock(&lock);
    append_locked(n);
    pthread_mutex_unlock(&lock);
}

/* ---- what follows from it ---- */

struct node {
    const struct orr_bound_kind *kind; /* NULL: a step */
    int priority;
    int number;     /* of tasks */
    bool submitted; /* or a step */
    unsigned in, first_out, nout;
};

struct edge {
    int from, to;
};

enum map { JOBS, DATA, TAGS, STEPS };

struct known {
    struct {
        uint64_t map, key;
    } id;
    int node[2]; /* of a job; what comes before a tag's tasks and after; of a datum: the group before, newest
                    user */
    uint8_t group;
    UT_hash_handle hh;
};

struct user { /* of a datum, in its latest group */
    int node, next;
};

struct order {
    struct node *nodes;
    struct edge *edges;
    struct user *users;
    size_t nnodes, nodes_room, nedges, edges_room, nusers, users_room;
    struct known *known;
    int *out;    /* ends of edges, by where they begin */
    int *sorted; /* nodes, each behind those that it waits for */
    unsigned ntasks;
    bool failed; /* there was no memory */
};

static bool grow(struct order *o, void **array, size_t count, size_t *room, size_t bytes)
{
    if (count < *room) return true;
    size_t more = *room ? 2 * *room : 64;
    void *p = o->failed ? NULL : orr_realloc(*array, more * bytes);
    o->failed |= !p;
    if (!p) return false;
    *array = p;
    *room = more;
    return true;
}

static int node_new(struct order *o, bool submitted)
{
    if (!grow(o, (void **)&o->nodes, o->nnodes, &o->nodes_room, sizeof *o->nodes)) return NONE;
    o->nodes[o->nnodes] = (struct node){ .submitted = submitted, .number = NONE };
    return (int)o->nnodes++;
}

static void edge_add(struct order *o, int from, int to)
{
    if (from == NONE || to == NONE || from == to) return;
    if (grow(o, (void **)&o->edges, o->nedges, &o->edges_room, sizeof *o->edges))
        o->edges[o->nedges++] = (struct edge){ from, to };
}

static struct known *known_of(struct order *o, enum map map, uint64_t key)
{
    struct known *k = NULL, wanted = { .id = { .map = map, .key = key } };
    bool oom = false;
    HASH_FIND(hh, o->known, &wanted.id, sizeof wanted.id, k);
    if (k || o->failed || !(k = orr_calloc(1, sizeof *k))) {
        o->failed |= !k;
        return k;
    }
    k->id = wanted.id;
    k->node[0] = k->node[1] = NONE;
    HASH_ADD(hh, o->known, id, sizeof k->id, k);
    if (!oom) return k;
    orr_free(k);
    o->failed = true;
    return NULL;
}

static void forget_known(struct order *o, enum map map, uint64_t key)
{
    struct known *k = known_of(o, map, key);
    if (!k) return;
    HASH_DEL(o->known, k);
    orr_free(k);
}

/* The node of a job that is yet to be submitted, as what is told of it comes first. */
static int job_to_come(struct order *o, uint64_t job)
{
    struct known *k = known_of(o, JOBS, job);
    if (!k) return NONE;
    if (k->node[0] == NONE || o->nodes[k->node[0]].submitted) k->node[0] = node_new(o, false);
    return k->node[0];
}

static int job_node(struct order *o, uint64_t job)
{
    struct known *k = known_of(o, JOBS, job);
    if (k && k->node[0] == NONE) k->node[0] = node_new(o, false);
    return k ? k->node[0] : NONE;
}

static bool shares(uint8_t group)
{
    return group == ORR_GROUP_READ || group == ORR_GROUP_COMMUTE || group == ORR_GROUP_REDUX;
}

/* One node for all users of the latest group. */
static int whole_group(struct order *o, int newest)
{
    if (newest == NONE || o->users[newest].next == NONE) return newest == NONE ? NONE : o->users[newest].node;
    int step = node_new(o, true);
    for (int u = newest; u != NONE; u = o->users[u].next) edge_add(o, o->users[u].node, step);
    return step;
}

static void uses(struct order *o, int node, uint64_t datum, uint8_t group)
{
    struct known *d = known_of(o, DATA, datum);
    if (!d || node == NONE) return;
    if (d->node[1] != NONE && (d->group != group || !shares(group))) {
        d->node[0] = whole_group(o, d->node[1]);
        d->node[1] = NONE;
    }
    d->group = group;
    edge_add(o, d->node[0], node);
    if (!grow(o, (void **)&o->users, o->nusers, &o->users_room, sizeof *o->users)) return;
    o->users[o->nusers] = (struct user){ node, d->node[1] };
    d->node[1] = (int)o->nusers++;
}

static struct known *tag_of(struct order *o, uint64_t tag)
{
    struct known *k = known_of(o, TAGS, tag);
    for (int i = 0; k && i < 2; i++)
        if (k->node[i] == NONE) k->node[i] = node_new(o, true);
    return k;
}

/* current: who uses the data that come next. */
static void replay(struct order *o, const struct entry *e, int *current)
{
    struct known *tag, *other;
    switch ((enum what)e->what) {
    case SUBMITTED:
        *current = job_to_come(o, e->a);
        if (*current == NONE) break;
        o->nodes[*current].submitted = true;
        o->nodes[*current].kind = e->kind;
        o->nodes[*current].priority = e->priority;
        break;
    case JOINED:
        other = known_of(o, STEPS, e->b);
        if (other && (e->first || other->node[0] == NONE)) other->node[0] = node_new(o, true);
        if (other) uses(o, other->node[0], e->a, e->group);
        break;
    case USES: uses(o, *current, e->a, e->group); break;
    case DECLARED: edge_add(o, job_node(o, e->b), job_to_come(o, e->a)); break;
    case TAG_BOUND:
        tag = tag_of(o, e->a);
        if (!tag) break;
        edge_add(o, tag->node[0], job_to_come(o, e->b));
        edge_add(o, job_node(o, e->b), tag->node[1]);
        break;
    case TAG_DECLARED:
        tag = tag_of(o, e->a);
        other = tag_of(o, e->b);
        if (tag && other) edge_add(o, other->node[1], tag->node[0]);
        break;
    case TAG_FREED: forget_known(o, TAGS, e->a); break;
    case GONE: forget_known(o, DATA, e->a); break;
    }
}

/* Nodes of a circle, which only what threads told at the same time can make, come last. */
static void sort(struct order *o)
{
    unsigned at = 0, n = 0, *left = orr_calloc(o->nnodes + 1, sizeof *left);
    o->sorted = orr_calloc(o->nnodes + 1, sizeof *o->sorted);
    o->out = orr_calloc(o->nedges + 1, sizeof *o->out);
    o->failed |= !left || !o->sorted || !o->out;
    for (size_t i = 0; !o->failed && i < o->nedges; i++) {
        o->nodes[o->edges[i].from].nout++;
        o->nodes[o->edges[i].to].in++;
    }
    for (size_t i = 0; !o->failed && i < o->nnodes; i++) {
        o->nodes[i].first_out = at;
        at += o->nodes[i].nout;
        o->nodes[i].nout = 0;
        left[i] = o->nodes[i].in;
        if (!left[i]) o->sorted[n++] = (int)i;
    }
    for (size_t i = 0; !o->failed && i < o->nedges; i++) {
        struct node *from = &o->nodes[o->edges[i].from];
        o->out[from->first_out + from->nout++] = o->edges[i].to;
    }
    for (unsigned q = 0; !o->failed && q < n; q++) {
        const struct node *p = &o->nodes[o->sorted[q]];
        for (unsigned i = 0; i < p->nout; i++)
            if (--left[o->out[p->first_out + i]] == 0) o->sorted[n++] = o->out[p->first_out + i];
    }
    for (size_t i = 0; !o->failed && i < o->nnodes; i++)
        if (left[i]) o->sorted[n++] = (int)i;
    orr_free(left);
}

static bool is_known(const struct orr_bound_kind *k)
{
    for (unsigned a = 0; k && a < ORR_BOUND_ARCHS; a++)
        if (isfinite(k->us[a])) return true;
    return false;
}

static void order_close(struct order *o)
{
    struct known *k, *next;
    HASH_ITER(hh, o->known, k, next)
    {
        HASH_DEL(o->known, k);
        orr_free(k);
    }
    orr_free(o->nodes);
    orr_free(o->edges);
    orr_free(o->users);
    orr_free(o->out);
    orr_free(o->sorted);
}

/* To be closed. false: there is no memory. */
static bool order_open(struct order *o)
{
    int current = NONE;
    *o = (struct order){ .nodes = NULL };
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < nentries && !o->failed; i++) replay(o, &entries[i], &current);
    pthread_mutex_unlock(&lock);
    sort(o);
    for (size_t i = 0; !o->failed && i < o->nnodes; i++)
        if (is_known(o->nodes[i].kind)) o->nodes[i].number = (int)o->ntasks++;
    return !o->failed;
}

/* ---- what is made of it ---- */

double orr_bound_order_path_us(unsigned narchs)
{
    struct order o;
    double longest = 0, *path = NULL;
    if (order_open(&o) && (path = orr_calloc(o.nnodes + 1, sizeof *path)))
        for (size_t s = 0; s < o.nnodes; s++) {
            const struct node *n = &o.nodes[o.sorted[s]];
            double best = INFINITY, *end = &path[o.sorted[s]];
            for (unsigned a = 0; n->number != NONE && a < narchs; a++) best = fmin(best, n->kind->us[a]);
            if (isfinite(best)) *end += best;
            longest = fmax(longest, *end);
            for (unsigned i = 0; i < n->nout; i++)
                path[o.out[n->first_out + i]] = fmax(path[o.out[n->first_out + i]], *end);
        }
    orr_free(path);
    order_close(&o);
    return longest;
}

void orr_bound_order_print_dot(FILE *out)
{
    struct order o;
    fprintf(out, "digraph bound {\n");
    if (order_open(&o)) {
        for (size_t i = 0; i < o.nnodes; i++)
            if (o.nodes[i].kind)
                fprintf(out, "  n%zu [label=\"%s\"];\n", i, o.nodes[i].kind->name);
            else
                fprintf(out, "  n%zu [shape=point];\n", i);
        for (size_t i = 0; i < o.nedges; i++) fprintf(out, "  n%d -> n%d;\n", o.edges[i].from, o.edges[i].to);
    }
    fprintf(out, "}\n");
    order_close(&o);
}

/* Where a node's time begins (s) or ends (c); steps have one variable for both. */
static void put_time(FILE *out, const struct order *o, int node, char which)
{
    int number = o->nodes[node].number;
    if (number == NONE)
        fprintf(out, "x%d", node);
    else
        fprintf(out, "%c%d", which, number);
}

static double us_on(const struct node *n, unsigned arch)
{
    return n->kind->us[arch];
}

/* Each task runs on one worker, and for as long as it takes there. Returns more than all together can take.
 */
static double put_tasks(FILE *out, const struct order *o, const unsigned *arch_of, unsigned nworkers)
{
    double all_ms = 1;
    for (size_t i = 0; i < o->nnodes; i++) {
        const struct node *n = &o->nodes[i];
        double longest = 0;
        if (n->number == NONE) continue;
        fprintf(out, "where%d:", n->number);
        for (unsigned w = 0; w < nworkers; w++)
            if (isfinite(us_on(n, arch_of[w]))) fprintf(out, " + t%dw%u", n->number, w);
        fprintf(out, " = 1;\nlength%d: c%d - s%d", n->number, n->number, n->number);
        for (unsigned w = 0; w < nworkers; w++) {
            double us = us_on(n, arch_of[w]);
            if (!isfinite(us)) continue;
            fprintf(out, " - %.9f t%dw%u", us * 1e-3, n->number, w);
            longest = fmax(longest, us);
        }
        fprintf(out, " = 0;\nend%d: tmax - c%d >= 0;\n", n->number, n->number);
        all_ms += longest * 1e-3;
    }
    return all_ms;
}

/* Marks all that wait for a node, directly or not. */
static void mark_after(const struct order *o, int node, bool *after, int *stack)
{
    size_t depth = 0;
    memset(after, 0, o->nnodes * sizeof *after);
    stack[depth++] = node;
    while (depth) {
        const struct node *n = &o->nodes[stack[--depth]];
        for (unsigned i = 0; i < n->nout; i++) {
            int next = o->out[n->first_out + i];
            if (after[next]) continue;
            after[next] = true;
            stack[depth++] = next;
        }
    }
}

struct pairs {
    FILE *out;
    const struct order *o;
    const unsigned *arch_of;
    unsigned nworkers;
    bool prio;
    double all_ms;
};

/* Neither of these two waits for the other. */
static void put_pair(const struct pairs *p, const struct node *a, const struct node *b)
{
    int i = a->number, k = b->number;
    bool together = false;
    for (unsigned w = 0; w < p->nworkers; w++) {
        if (!isfinite(us_on(a, p->arch_of[w])) || !isfinite(us_on(b, p->arch_of[w]))) continue;
        together = true;
        fprintf(p->out, "first%d_%d_%u: s%d - c%d - %.9f t%dw%u - %.9f t%dw%u - %.9f o%d_%d >= %.9f;\n", i, k,
                w, k, i, p->all_ms, i, w, p->all_ms, k, w, p->all_ms, i, k, -3 * p->all_ms);
        fprintf(p->out, "second%d_%d_%u: s%d - c%d - %.9f t%dw%u - %.9f t%dw%u + %.9f o%d_%d >= %.9f;\n", i,
                k, w, i, k, p->all_ms, i, w, p->all_ms, k, w, p->all_ms, i, k, -2 * p->all_ms);
    }
    if (p->prio && a->priority != b->priority)
        fprintf(p->out, "urgent%d_%d: s%d - s%d >= 0;\n", i, k, a->priority > b->priority ? k : i,
                a->priority > b->priority ? i : k);
    if (together) fprintf(p->out, "once%d_%d: o%d_%d <= 1;\n", i, k, i, k);
}

/* fn for each two tasks of which neither waits for the other, in the order in which they can be run. */
static void each_pair(const struct pairs *p, bool *after, int *stack,
                      void (*fn)(const struct pairs *, const struct node *, const struct node *))
{
    const struct order *o = p->o;
    for (size_t s = 0; s < o->nnodes; s++) {
        const struct node *a = &o->nodes[o->sorted[s]];
        if (a->number == NONE) continue;
        mark_after(o, o->sorted[s], after, stack);
        for (size_t r = s + 1; r < o->nnodes; r++) {
            const struct node *b = &o->nodes[o->sorted[r]];
            if (b->number != NONE && !after[o->sorted[r]]) fn(p, a, b);
        }
    }
}

static void put_pair_variable(const struct pairs *p, const struct node *a, const struct node *b)
{
    for (unsigned w = 0; w < p->nworkers; w++) {
        if (!isfinite(us_on(a, p->arch_of[w])) || !isfinite(us_on(b, p->arch_of[w]))) continue;
        fprintf(p->out, "int o%d_%d;\n", a->number, b->number);
        return;
    }
}

/* What an urgent task waits for is as urgent. */
static void inherit_priorities(struct order *o)
{
    for (size_t s = o->nnodes; s-- > 0;) {
        struct node *n = &o->nodes[o->sorted[s]];
        bool first = n->number == NONE;
        for (unsigned i = 0; i < n->nout; i++) {
            int priority = o->nodes[o->out[n->first_out + i]].priority;
            if (first || priority > n->priority) n->priority = priority;
            first = false;
        }
    }
}

static void put_program(struct pairs *p, struct order *o, bool *after, int *stack)
{
    fprintf(p->out, "min: tmax;\ntasks: nt = %u;\nworkers: nw = %u;\n", o->ntasks, p->nworkers);
    p->all_ms = put_tasks(p->out, o, p->arch_of, p->nworkers);
    for (size_t i = 0; i < o->nedges; i++) {
        fprintf(p->out, "wait%zu: ", i);
        put_time(p->out, o, o->edges[i].to, 's');
        fprintf(p->out, " - ");
        put_time(p->out, o, o->edges[i].from, 'c');
        fprintf(p->out, " >= 0;\n");
    }
    if (p->prio) inherit_priorities(o);
    each_pair(p, after, stack, put_pair);
    for (size_t i = 0; i < o->nnodes; i++)
        for (unsigned w = 0; o->nodes[i].number != NONE && w < p->nworkers; w++)
            if (isfinite(us_on(&o->nodes[i], p->arch_of[w])))
                fprintf(p->out, "int t%dw%u;\n", o->nodes[i].number, w);
    each_pair(p, after, stack, put_pair_variable);
}

void orr_bound_order_print_lp(FILE *out, const unsigned *arch_of, unsigned nworkers, bool prio)
{
    struct order o;
    struct pairs p = { .out = out, .o = &o, .arch_of = arch_of, .nworkers = nworkers, .prio = prio };
    bool good = order_open(&o), *after = orr_calloc(o.nnodes + 1, sizeof *after);
    int *stack = orr_calloc(o.nnodes + 1, sizeof *stack);
    if (good && after && stack)
        put_program(&p, &o, after, stack);
    else
        fprintf(out, "/* out of memory */\n");
    orr_free(after);
    orr_free(stack);
    order_close(&o);
}
