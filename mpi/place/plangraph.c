/* SPDX-License-Identifier: BSD-3-Clause */
/* plangraph.c: see plangraph.h. Threads: see plangraph.h. Owns: see plangraph.h. Not here: see plangraph.h.
 */
#include "mpi/place/plangraph.h"

#include <errno.h>
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void orr_plan_graph_fini(struct orr_plan_graph *g)
{
    orr_free(g->first);
    orr_free(g->target);
    orr_free(g->missing);
    memset(g, 0, sizeof *g);
}

struct edge {
    size_t from, to;
};

struct builder {
    const struct orr_plan *plan;
    struct edge *edge;
    size_t edges, room, nodes;
    bool placed, failed;
};

static void add_edge(struct builder *b, size_t from, size_t to)
{
    if (b->edges == b->room) {
        size_t room = b->room ? 2 * b->room : 256;
        struct edge *more = orr_realloc(b->edge, room * sizeof *more);
        b->failed |= !more;
        if (!more) return;
        b->edge = more;
        b->room = room;
    }
    b->edge[b->edges++] = (struct edge){ from, to };
}

/* ---- where data are others under the tag of those before ---- */

/* By tag, and by task within; NULL with *count_out 0: there are none that count. Who makes a plan keeps those
 * apart that the program may have kept apart by waiting. */
static struct orr_plan_renewal *renewals_of(struct builder *b, size_t *count_out)
{
    const struct orr_plan *p = b->plan;
    size_t bytes = p->renewals * sizeof *p->renewal;
    *count_out = 0;
    if (!b->placed || !p->renewals) return NULL;
    struct orr_plan_renewal *all = orr_malloc(bytes);
    b->failed |= !all;
    if (!all) return NULL;
    memcpy(all, p->renewal, bytes);
    qsort(all, p->renewals, sizeof *all, orr_plan_renewal_by_tag);
    *count_out = p->renewals;
    return all;
}

/* Whether there is one of that tag behind task `from`, up to task `to`. */
static bool renewed(const struct orr_plan_renewal *all, size_t count, int64_t tag, size_t from, size_t to)
{
    size_t low = 0, high = count; /* the first behind from */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct orr_plan_renewal *n = &all[middle];
        if (n->tag < tag || (n->tag == tag && n->task <= from))
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && all[low].tag == tag && all[low].task <= to;
}

/* ---- data ---- */

/* An access with its task, to be sorted by tag, and by task within. */
struct use {
    int64_t tag;
    size_t task;
    int mode;
};

static int by_tag_and_task(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    if (x->tag != y->tag) return x->tag > y->tag ? 1 : -1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Accesses of which several may be there at a time: the same number is one group. 0: alone. */
static int group_of(int mode)
{
    if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) return 1;
    if (!(mode & STARPU_W)) return 2;
    return mode & STARPU_COMMUTE ? 3 : 0;
}

/* The queue of a datum on a rank: accesses of one group and version at a time. */
struct queue {
    int rank, group;
    size_t version, in, out; /* meeting points: after the group before; after this one */
};

struct queues {
    struct queue *queue; /* as long as the ranks that use the datum */
    size_t count, room;
};

static const size_t none = SIZE_MAX;

static struct queue *queue_of(struct queues *all, int rank)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->queue[i].rank == rank) return &all->queue[i];
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 8;
        struct queue *more = orr_realloc(all->queue, room * sizeof *more);
        if (!more) return NULL;
        all->queue = more;
        all->room = room;
    }
    all->queue[all->count] = (struct queue){ rank, -1, 0, none, none };
    return &all->queue[all->count++];
}

/* Behind what is before it in the queue of its rank. */
static void add_to_queue(struct builder *b, struct queue *q, const struct use *u, int group, size_t version)
{
    if (!q) {
        b->failed = true;
        return;
    }
    if (group == 0 || q->group != group || q->version != version) {
        q->in = q->out;
        q->out = b->nodes++;
        q->group = group;
        q->version = version;
    }
    if (q->in != none) add_edge(b, q->in, u->task);
    add_edge(b, u->task, q->out);
}

/* Who reads a value waits for who wrote it, anywhere; who writes waits for readers of the value before where
 * it runs: others have, or will have, copies of their own. */
static void add_uses(struct builder *b, struct queues *all, const struct use *use, size_t count)
{
    size_t version = 0, before = none, written = none; /* meeting points after who wrote */
    int last = -1;
    all->count = 0;
    for (size_t i = 0; i < count; i++) {
        int group = group_of(use[i].mode);
        bool writes = group != 2;
        if (writes && (group == 0 || group != last)) {
            before = written;
            written = b->nodes++;
            version++;
            if (before != none && use[i].mode & (STARPU_REDUX | STARPU_MPI_REDUX))
                add_edge(b, before, written);
        }
        size_t value = writes ? before : written;
        if (value != none && use[i].mode & STARPU_R) add_edge(b, value, use[i].task);
        if (writes) add_edge(b, use[i].task, written);
        add_to_queue(b, queue_of(all, b->placed ? b->plan->task[use[i].task].rank : 0), &use[i], group,
                     version);
        last = group;
    }
}

/* Sorts them; what a task has twice it has once, in both modes. How many are left. */
static size_t merge(struct use *all, size_t count)
{
    size_t kept = 0;
    if (count) qsort(all, count, sizeof *all, by_tag_and_task);
    for (size_t i = 0; i < count; i++) {
        if (kept && all[kept - 1].tag == all[i].tag && all[kept - 1].task == all[i].task)
            all[kept - 1].mode |= all[i].mode;
        else
            all[kept++] = all[i];
    }
    return kept;
}

static void add_data(struct builder *b)
{
    const struct orr_plan *p = b->plan;
    struct use *all = orr_malloc((p->accesses + 1) * sizeof *all);
    struct queues queues = { 0 };
    size_t count = 0;
    b->failed |= !all;
    for (size_t t = 0; t < p->tasks && all; t++)
        for (int k = 0; k < p->task[t].accesses; k++) {
            const struct orr_plan_access *a = &p->access[p->task[t].access + (size_t)k];
            if (a->tag == ORR_PLAN_NO_TAG || a->mode & (STARPU_SCRATCH | ORR_PLAN_UNORDERED)) continue;
            all[count++] = (struct use){ a->tag, t, a->mode };
        }
    count = merge(all, count);
    size_t renewals;
    struct orr_plan_renewal *renewal = renewals_of(b, &renewals);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && all[end].tag == all[i].tag &&
                          !renewed(renewal, renewals, all[i].tag, all[end - 1].task, all[end].task);)
            end++;
        add_uses(b, &queues, all + i, end - i);
    }
    orr_free(renewal);
    orr_free(queues.queue);
    orr_free(all);
}

/* ---- pieces ---- */

/* An access to a whole, or to a piece of it or of one of its pieces. */
struct part_use {
    int64_t whole;
    size_t task;
    int mode;
    bool of_piece;
};

struct part_uses {
    struct part_use *use;
    size_t count, room;
    bool failed;
};

static void add_part_use(struct part_uses *all, const struct part_use *u)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        struct part_use *more = orr_realloc(all->use, room * sizeof *more);
        all->failed |= !more;
        if (!more) return;
        all->use = more;
        all->room = room;
    }
    all->use[all->count++] = *u;
}

static int by_whole_and_task(const void *a, const void *b)
{
    const struct part_use *x = a, *y = b;
    if (x->whole != y->whole) return x->whole > y->whole ? 1 : -1;
    return (x->task > y->task) - (x->task < y->task);
}

/* A task that uses the whole beside pieces counts with the whole. How many are left. */
static size_t merge_parts(struct part_use *all, size_t count)
{
    size_t kept = 0;
    if (count) qsort(all, count, sizeof *all, by_whole_and_task);
    for (size_t i = 0; i < count; i++) {
        struct part_use *last = kept ? &all[kept - 1] : NULL;
        if (last && last->whole == all[i].whole && last->task == all[i].task) {
            last->mode |= all[i].mode;
            last->of_piece &= all[i].of_piece;
        } else {
            all[kept++] = all[i];
        }
    }
    return kept;
}

/* The whole and its pieces are used in turn: who uses one waits for those who wrote the other before, and who
 * writes for all who used it where it runs. What pieces have to do with each other is left to add_uses. */
static void add_turns(struct builder *b, struct queues *all, const struct part_use *use, size_t count)
{
    size_t turn = 0, made_in = 0, written = none, writing = none; /* in turns before; up to this one */
    all->count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t task = use[i].task;
        bool writes = use[i].mode & (STARPU_W | STARPU_REDUX | STARPU_MPI_REDUX);
        if (i == 0 || use[i].of_piece != use[i - 1].of_piece) {
            turn++;
            written = writing;
        }
        struct queue *q = queue_of(all, b->placed ? b->plan->task[task].rank : 0);
        b->failed |= !q;
        if (!q) return;
        if (q->version != turn) {
            q->version = turn;
            q->in = q->out;
            q->out = b->nodes++;
            if (q->in != none) add_edge(b, q->in, q->out);
        }
        if (writes && made_in != turn) {
            made_in = turn;
            writing = b->nodes++;
            if (written != none) add_edge(b, written, writing);
        }
        if (written != none) add_edge(b, written, task);
        if (writes && q->in != none) add_edge(b, q->in, task);
        if (writes) add_edge(b, task, writing);
        add_edge(b, task, q->out);
    }
}

static bool has_pieces(const struct orr_plan *p)
{
    for (size_t i = 0; i < p->data; i++)
        if (p->datum[i].whole != ORR_PLAN_NO_TAG) return true;
    return false;
}

static void add_pieces(struct builder *b)
{
    const struct orr_plan *p = b->plan;
    struct part_uses all = { 0 };
    struct queues queues = { 0 };
    if (!has_pieces(p)) return;
    for (size_t t = 0; t < p->tasks; t++)
        for (int k = 0; k < p->task[t].accesses; k++) {
            const struct orr_plan_access *a = &p->access[p->task[t].access + (size_t)k];
            if (a->tag == ORR_PLAN_NO_TAG || a->mode & (STARPU_SCRATCH | ORR_PLAN_UNORDERED)) continue;
            add_part_use(&all, &(struct part_use){ a->tag, t, a->mode, false });
            for (const struct orr_plan_datum *d = orr_plan_datum_of(p, a->tag);
                 d && d->whole != ORR_PLAN_NO_TAG; d = orr_plan_datum_of(p, d->whole))
                add_part_use(&all, &(struct part_use){ d->whole, t, a->mode, true });
        }
    size_t count = merge_parts(all.use, all.count), renewals;
    struct orr_plan_renewal *renewal = renewals_of(b, &renewals);
    for (size_t i = 0, end; i < count; i = end) {
        const struct part_use *use = all.use;
        for (end = i + 1; end < count && use[end].whole == use[i].whole &&
                          !renewed(renewal, renewals, use[i].whole, use[end - 1].task, use[end].task);)
            end++;
        add_turns(b, &queues, use + i, end - i);
    }
    orr_free(renewal);
    b->failed |= all.failed;
    orr_free(queues.queue);
    orr_free(all.use);
}

/* A place in the order of a worker of the cluster. */
struct place {
    int worker;
    unsigned order;
    size_t task;
};

static int by_worker_and_order(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->worker != y->worker) return x->worker > y->worker ? 1 : -1;
    if (x->order != y->order) return x->order > y->order ? 1 : -1;
    return (x->task > y->task) - (x->task < y->task);
}

/* All that have an order, worker by worker. NULL: out of memory. */
static struct place *places_of(const struct orr_plan *p, size_t *count_out)
{
    struct place *all = orr_malloc((p->tasks + 1) * sizeof *all);
    *count_out = 0;
    for (size_t t = 0; t < p->tasks && all; t++)
        if (p->task[t].order)
            all[(*count_out)++] =
                (struct place){ p->machines.first[p->task[t].rank] + p->task[t].worker, p->task[t].order, t };
    if (*count_out) qsort(all, *count_out, sizeof *all, by_worker_and_order);
    return all;
}

static void add_orders(struct builder *b)
{
    size_t count;
    struct place *all = places_of(b->plan, &count);
    b->failed |= !all;
    for (size_t i = 1; i < count && all; i++)
        if (all[i].worker == all[i - 1].worker) add_edge(b, all[i - 1].task, all[i].task);
    orr_free(all);
}

/* What is inserted behind a wait begins when all before it are over. */
static void add_waits(struct builder *b)
{
    size_t before = none, first = 0;
    for (size_t w = 0; w <= b->plan->waits && b->plan->waits; w++) {
        bool last = w == b->plan->waits;
        size_t end = last ? b->plan->tasks : b->plan->wait[w], meets = last ? none : b->nodes++;
        for (size_t t = first; t < end; t++) {
            if (before != none) add_edge(b, before, t);
            if (!last) add_edge(b, t, meets);
        }
        if (before != none && !last) add_edge(b, before, meets);
        before = meets;
        first = end;
    }
}

int orr_plan_graph(const struct orr_plan *p, bool placed, struct orr_plan_graph *g)
{
    struct builder b = { .plan = p, .nodes = p->tasks, .placed = placed };
    add_data(&b);
    add_pieces(&b);
    add_waits(&b);
    if (placed) add_orders(&b);
    *g = (struct orr_plan_graph){ .nodes = b.nodes, .edges = b.edges };
    g->first = orr_calloc(b.nodes + 2, sizeof *g->first);
    g->target = orr_malloc((b.edges + 1) * sizeof *g->target);
    g->missing = orr_calloc(b.nodes + 1, sizeof *g->missing);
    b.failed |= !g->first || !g->target || !g->missing;
    for (size_t i = 0; i < b.edges && !b.failed; i++) g->first[b.edge[i].from + 2]++;
    for (size_t i = 2; i < b.nodes + 2 && !b.failed; i++) g->first[i] += g->first[i - 1];
    for (size_t i = 0; i < b.edges && !b.failed; i++) {
        g->target[g->first[b.edge[i].from + 1]++] = b.edge[i].to;
        g->missing[b.edge[i].to]++;
    }
    orr_free(b.edge);
    if (!b.failed) return 0;
    orr_plan_graph_fini(g);
    return -ENOMEM;
}

/* Orders of each worker are 1, 2, 3, ... */
static int check_orders(const struct orr_plan *p, char *why)
{
    size_t count;
    struct place *all = places_of(p, &count);
    int r = all ? 0 : orr_plan_no_memory(why);
    for (size_t i = 0; i < count && !r; i++) {
        bool begins = i == 0 || all[i].worker != all[i - 1].worker;
        unsigned next = begins ? 1 : all[i - 1].order + 1;
        const struct orr_plan_task *t = &p->task[all[i].task];
        char text[300];
        orr_plan_describe(p, all[i].task, text, sizeof text);
        if (all[i].order < next)
            r = orr_plan_refuse(why, "two tasks have order %u on worker %d of rank %d: %zu, and task %s",
                                all[i].order, t->worker, t->rank, all[i - 1].task, text);
        if (all[i].order > next)
            r = orr_plan_refuse(why,
                                "no task has order %u on worker %d of rank %d, and task %s comes behind it",
                                next, t->worker, t->rank, text);
    }
    orr_free(all);
    return r;
}

/* Follows who is left from start, always to the first that is left too, until a node comes again. */
static void say_circle(const struct orr_plan *p, const struct orr_plan_graph *g, char *why)
{
    size_t *from = orr_malloc((g->nodes + 1) * sizeof *from), at = 0;
    size_t used = (size_t)snprintf(why, ORR_PLAN_TEXT, "tasks wait in a circle, by orders, data and waits:");
    if (!from) return;
    for (size_t i = 0; i <= g->nodes; i++) from[i] = SIZE_MAX;
    for (size_t i = 0; i < g->nodes; i++)
        for (size_t e = g->first[i]; e < g->first[i + 1] && g->missing[i]; e++)
            if (g->missing[g->target[e]]) from[g->target[e]] = i; /* who is left waits for who is left */
    while (at < g->nodes && from[at] == SIZE_MAX) at++;
    for (size_t i = 0; i < g->nodes && at < g->nodes; i++) at = from[at]; /* now in the circle */
    for (size_t start = at, i = 0; at < g->nodes && used < ORR_PLAN_TEXT; at = from[at]) {
        char text[160];
        if (at < p->tasks && i++ < 4) {
            orr_plan_describe(p, at, text, sizeof text);
            used +=
                (size_t)snprintf(why + used, ORR_PLAN_TEXT - used, "%s %s", i > 1 ? " waits for" : "", text);
        }
        if (from[at] == start) break;
    }
    orr_free(from);
}

static int check_circles(const struct orr_plan *p, char *why)
{
    struct orr_plan_graph g;
    if (orr_plan_graph(p, true, &g)) return orr_plan_no_memory(why);
    size_t *ready = orr_malloc((g.nodes + 1) * sizeof *ready), count = 0;
    int r = ready ? 0 : orr_plan_no_memory(why);
    for (size_t i = 0; i < g.nodes && ready; i++)
        if (!g.missing[i]) ready[count++] = i;
    for (size_t done = 0; done < count; done++)
        for (size_t e = g.first[ready[done]]; e < g.first[ready[done] + 1]; e++)
            if (--g.missing[g.target[e]] == 0) ready[count++] = g.target[e];
    if (!r && count < g.nodes) {
        say_circle(p, &g, why);
        r = -EINVAL;
    }
    orr_free(ready);
    orr_plan_graph_fini(&g);
    return r;
}

int orr_plan_check(const struct orr_plan *p, char why[ORR_PLAN_TEXT])
{
    int r = check_orders(p, why);
    return r ? r : check_circles(p, why);
}
