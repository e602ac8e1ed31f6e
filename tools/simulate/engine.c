/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: see engine.h.
 * Threads: main.
 * Owns: see engine.h.
 * Not here: see engine.h. */
#include "tools/simulate/engine.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"

enum { NONE = -1 };

/* A task, or a message: then source is the rank that sends it. */
struct node {
    int32_t waits; /* for so many others, and for its insertion */
    int32_t next;  /* link: who waits for it; once over: OVER */
    int32_t rank, source;
    int32_t position; /* of the insertion it belongs to */
    uint64_t length, end;
};

struct link {
    int32_t node, next;
};

/* What one rank has of one datum. */
struct replica {
    uint64_t key;           /* datum and rank, + 1; 0: free */
    int32_t version, maker; /* maker: the node whose end it waits for */
    int32_t readers;        /* link */
};

struct copies { /* who has the value of a datum, the holder first */
    int32_t *ranks;
    int32_t count, room, version;
};

struct event {
    uint64_t time, order;
    int32_t node;
};

struct heap { /* of ready tasks */
    int32_t *nodes;
    int32_t count, room;
};

struct rank {
    struct heap ready;
    int32_t idle;
    uint64_t out_free, in_free;
};

struct sim_engine {
    const struct sim_graph *g;
    const struct sim_machine *m;
    uint64_t wire_ns, now, order, seed, messages, moved, busy;
    bool failed;
    struct node *nodes; /* tasks, then messages */
    int32_t *inserted;  /* nodes in the order of the stream */
    struct link *links;
    struct replica *replicas; /* a table by key */
    struct event *events;
    struct copies *copies; /* by datum */
    struct rank *ranks;
    int32_t nodes_count, nodes_room, inserted_room, links_count, links_room, events_count, events_room;
    uint64_t replicas_count, replicas_room;
};

/* ---- memory that grows ---- */

static bool grow(struct sim_engine *e, void **array, int32_t count, int32_t *room, size_t bytes)
{
    if (count < *room) return true;
    int32_t more = *room ? 2 * *room : 1024;
    void *a = orr_realloc(*array, (size_t)more * bytes);
    if (!a) {
        e->failed = true;
        return false;
    }
    *array = a;
    *room = more;
    return true;
}

static int32_t new_link(struct sim_engine *e, int32_t node, int32_t next)
{
    if (!grow(e, (void **)&e->links, e->links_count, &e->links_room, sizeof *e->links)) return next;
    e->links[e->links_count] = (struct link){ node, next };
    return e->links_count++;
}

static int32_t new_message(struct sim_engine *e, int32_t position, int32_t from, int32_t to)
{
    if (!grow(e, (void **)&e->nodes, e->nodes_count, &e->nodes_room, sizeof *e->nodes) ||
        !grow(e, (void **)&e->inserted, e->nodes_count, &e->inserted_room, sizeof *e->inserted))
        return NONE;
    e->inserted[e->nodes_count] = NONE;
    e->nodes[e->nodes_count] = (struct node){
        .waits = 1, .next = NONE, .rank = to, .source = from, .position = position, .length = e->wire_ns
    };
    e->messages++;
    return e->nodes_count++;
}

static uint64_t scatter(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 32;
}

static struct replica *slot_of(struct replica *table, uint64_t room, uint64_t key)
{
    uint64_t i = scatter(key) & (room - 1);
    while (table[i].key && table[i].key != key) i = (i + 1) & (room - 1);
    return &table[i];
}

static bool grow_replicas(struct sim_engine *e)
{
    uint64_t room = e->replicas_room ? 2 * e->replicas_room : 4096;
    struct replica *table = orr_calloc(room, sizeof *table);
    if (!table) {
        e->failed = true;
        return false;
    }
    for (uint64_t i = 0; i < e->replicas_room; i++)
        if (e->replicas[i].key) *slot_of(table, room, e->replicas[i].key) = e->replicas[i];
    orr_free(e->replicas);
    e->replicas = table;
    e->replicas_room = room;
    return true;
}

/* Valid until the next call. NULL: out of memory. */
static struct replica *replica_of(struct sim_engine *e, int32_t datum, int32_t rank)
{
    uint64_t key = (uint64_t)(unsigned)datum << 32 | (unsigned)(rank + 1);
    if (2 * e->replicas_count >= e->replicas_room && !grow_replicas(e)) return NULL;
    struct replica *r = slot_of(e->replicas, e->replicas_room, key);
    if (!r->key) {
        int32_t version = rank == e->g->homes[datum] ? 0 : NONE;
        *r = (struct replica){ .key = key, .version = version, .maker = NONE, .readers = NONE };
        e->replicas_count++;
    }
    return r;
}

/* ---- what waits for what ---- */

static void wait_for(struct sim_engine *e, int32_t node, int32_t earlier)
{
    if (earlier == NONE || earlier == node || node == NONE) return;
    e->nodes[earlier].next = new_link(e, node, e->nodes[earlier].next);
    e->nodes[node].waits++;
}

/* The node changes the memory of a rank. */
static void write_memory(struct sim_engine *e, int32_t node, int32_t datum, int32_t rank, int32_t version)
{
    struct replica *r = replica_of(e, datum, rank);
    if (!r) return;
    wait_for(e, node, r->maker);
    for (int32_t l = r->readers; l != NONE; l = e->links[l].next) wait_for(e, node, e->links[l].node);
    r->maker = node;
    r->readers = NONE;
    r->version = version;
}

static void read_memory(struct sim_engine *e, int32_t node, int32_t datum, int32_t rank)
{
    struct replica *r = replica_of(e, datum, rank);
    if (!r) return;
    wait_for(e, node, r->maker);
    r->readers = new_link(e, node, r->readers);
}

/* From now on they have the value: nobody else does. */
static void restart_copies(struct sim_engine *e, int32_t datum, int32_t rank)
{
    struct copies *c = &e->copies[datum];
    c->count = 0;
    if (!grow(e, (void **)&c->ranks, c->count, &c->room, sizeof *c->ranks)) return;
    c->ranks[c->count++] = rank;
}

static void add_copy(struct sim_engine *e, int32_t datum, int32_t rank)
{
    struct copies *c = &e->copies[datum];
    if (grow(e, (void **)&c->ranks, c->count, &c->room, sizeof *c->ranks)) c->ranks[c->count++] = rank;
}

/* The rank gets the value, unless it has it. */
static void bring(struct sim_engine *e, int32_t position, int32_t datum, int32_t rank)
{
    struct copies *c = &e->copies[datum];
    const struct replica *r = replica_of(e, datum, rank);
    if (!r || r->version == c->version || !c->count) return;
    int32_t from = c->ranks[e->m->trees ? (c->count - 1) / 2 : 0];
    int32_t node = new_message(e, position, from, rank);
    if (node == NONE) return;
    read_memory(e, node, datum, from);
    write_memory(e, node, datum, rank, c->version);
    add_copy(e, datum, rank);
}

/* The messages that a task needs. */
static void insert_messages(struct sim_engine *e, int32_t k, int32_t rank)
{
    const struct sim_task *t = &e->g->tasks[k];
    for (int i = 0; i < t->count; i++)
        if (t->mode[i] & SIM_R) bring(e, k, t->data[i], rank);
}

static void write_home(struct sim_engine *e, int32_t position, int32_t datum)
{
    uint64_t before = e->messages;
    bring(e, position, datum, e->g->homes[datum]);
    e->moved += e->messages - before;
    struct copies *c = &e->copies[datum];
    if (c->ranks[0] == e->g->homes[datum]) return;
    for (int i = 1; i < c->count; i++)
        if (c->ranks[i] == e->g->homes[datum]) c->ranks[i] = c->ranks[0];
    c->ranks[0] = e->g->homes[datum];
}

static uint64_t length_of(struct sim_engine *e, int32_t k, int32_t rank)
{
    const struct sim_machine *m = e->m;
    double of_speed = (double)e->g->tasks[k].length * m->unit_ns / m->speeds[rank];
    double random = (double)sim_random(&e->seed, 2001) / 1000 - 1;
    return (uint64_t)(of_speed * (1 + m->noise * random)) + 1;
}

static void insert_task(struct sim_engine *e, int32_t k, int32_t rank)
{
    const struct sim_task *t = &e->g->tasks[k];
    insert_messages(e, k, rank);
    e->nodes[k] = (struct node){
        .waits = 1, .next = NONE, .rank = rank, .source = NONE, .position = k, .length = length_of(e, k, rank)
    };
    for (int i = 0; i < t->count; i++)
        if (!(t->mode[i] & SIM_W)) read_memory(e, k, t->data[i], rank);
    for (int i = 0; i < t->count; i++) {
        if (!(t->mode[i] & SIM_W)) continue;
        write_memory(e, k, t->data[i], rank, ++e->copies[t->data[i]].version);
        restart_copies(e, t->data[i], rank);
        if (!e->m->moves && rank != e->g->homes[t->data[i]]) write_home(e, k, t->data[i]);
    }
}

/* ---- events ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void push_event(struct sim_engine *e, uint64_t time, int32_t node)
{
    if (!grow(e, (void **)&e->events, e->events_count, &e->events_room, sizeof *e->events)) return;
    struct event v = { time, e->order++, node };
    int32_t at = e->events_count++;
    for (; at && is_before(&v, &e->events[(at - 1) / 2]); at = (at - 1) / 2)
        e->events[at] = e->events[(at - 1) / 2];
    e->events[at] = v;
}

static struct event pop_event(struct sim_engine *e)
{
    struct event first = e->events[0], v = e->events[--e->events_count];
    int32_t at = 0;
    for (int32_t child; (child = 2 * at + 1) < e->events_count; at = child) {
        if (child + 1 < e->events_count && is_before(&e->events[child + 1], &e->events[child])) child++;
        if (!is_before(&e->events[child], &v)) break;
        e->events[at] = e->events[child];
    }
    e->events[at] = v;
    return first;
}

/* ---- ranks ---- */

static bool goes_first(const struct sim_engine *e, int32_t a, int32_t b)
{
    float la = e->g->tasks[a].level, lb = e->g->tasks[b].level;
    return la > lb || (la >= lb && a < b);
}

static void push_ready(struct sim_engine *e, struct heap *h, int32_t node)
{
    if (!grow(e, (void **)&h->nodes, h->count, &h->room, sizeof *h->nodes)) return;
    int32_t at = h->count++;
    for (; at && goes_first(e, node, h->nodes[(at - 1) / 2]); at = (at - 1) / 2)
        h->nodes[at] = h->nodes[(at - 1) / 2];
    h->nodes[at] = node;
}

static int32_t pop_ready(struct sim_engine *e, struct heap *h)
{
    int32_t first = h->nodes[0], last = h->nodes[--h->count], at = 0;
    for (int32_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && goes_first(e, h->nodes[child + 1], h->nodes[child])) child++;
        if (!goes_first(e, h->nodes[child], last)) break;
        h->nodes[at] = h->nodes[child];
    }
    h->nodes[at] = last;
    return first;
}

static void start_tasks(struct sim_engine *e, struct rank *r)
{
    while (r->idle && r->ready.count) {
        int32_t node = pop_ready(e, &r->ready);
        r->idle--;
        e->busy += e->nodes[node].length;
        push_event(e, e->now + e->nodes[node].length, node);
    }
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void start_message(struct sim_engine *e, int32_t node)
{
    const struct node *n = &e->nodes[node];
    struct rank *from = &e->ranks[n->source], *to = &e->ranks[n->rank];
    uint64_t leaves = later(e->now, from->out_free);
    from->out_free = leaves + n->length;
    to->in_free = later(leaves + (uint64_t)e->m->latency_ns, to->in_free) + n->length;
    push_event(e, to->in_free, node);
}

/* One of those that a node waited for is over. */
static void release(struct sim_engine *e, int32_t node)
{
    struct node *n = &e->nodes[node];
    if (--n->waits) return;
    if (n->source != NONE) {
        start_message(e, node);
        return;
    }
    push_ready(e, &e->ranks[n->rank].ready, node);
    start_tasks(e, &e->ranks[n->rank]);
}

static void finish(struct sim_engine *e, int32_t node)
{
    struct node *n = &e->nodes[node];
    n->end = e->now;
    if (n->source == NONE) e->ranks[n->rank].idle++;
    for (int32_t l = n->next; l != NONE; l = e->links[l].next) release(e, e->links[l].node);
    if (n->source == NONE) start_tasks(e, &e->ranks[n->rank]);
}

static void run_events(struct sim_engine *e)
{
    int32_t gate = 0;
    while (!e->failed && (gate < e->nodes_count || e->events_count)) {
        uint64_t opens = UINT64_MAX;
        if (gate < e->nodes_count)
            opens = (uint64_t)(e->m->walk_ns * (double)e->nodes[e->inserted[gate]].position);
        if (!e->events_count || opens <= e->events[0].time) {
            e->now = opens;
            release(e, e->inserted[gate++]);
        } else {
            struct event v = pop_event(e);
            e->now = v.time;
            finish(e, v.node);
        }
    }
}

/* ---- a run ---- */

static void reset(struct sim_engine *e)
{
    const struct sim_graph *g = e->g;
    e->now = e->order = e->messages = e->moved = e->busy = 0;
    e->nodes_count = g->tasks_count;
    e->links_count = e->events_count = 0;
    e->replicas_count = 0;
    if (e->replicas) memset(e->replicas, 0, e->replicas_room * sizeof *e->replicas);
    for (int d = 0; d < g->data_count; d++) {
        e->copies[d].version = 0;
        restart_copies(e, d, g->homes[d]);
    }
    for (int r = 0; r < e->m->ranks; r++) {
        e->ranks[r].idle = e->m->workers;
        e->ranks[r].ready.count = 0;
        e->ranks[r].out_free = e->ranks[r].in_free = 0;
    }
}

/* Tasks and messages in the order of the stream: each position's messages, then its task. */
static void order_nodes(struct sim_engine *e)
{
    int32_t at = 0, message = e->g->tasks_count;
    for (int32_t k = 0; k < e->g->tasks_count; k++) {
        while (message < e->nodes_count && e->nodes[message].position == k) e->inserted[at++] = message++;
        e->inserted[at++] = k;
    }
    while (message < e->nodes_count) e->inserted[at++] = message++;
}

int sim_engine_run(struct sim_engine *e, const int32_t *ranks, struct sim_result *result_out)
{
    const struct sim_graph *g = e->g;
    reset(e);
    for (int32_t k = 0; k < g->tasks_count && !e->failed; k++) insert_task(e, k, ranks[k]);
    for (int d = 0; d < g->data_count && !e->failed; d++) write_home(e, g->tasks_count, d);
    if (e->failed) return -ENOMEM;
    order_nodes(e);
    run_events(e);
    double all = (double)e->now * (double)e->m->ranks * (double)e->m->workers;
    *result_out = (struct sim_result){ .makespan_ns = e->now,
                                       .messages = e->messages,
                                       .moved = e->moved,
                                       .busy = all > 0 ? (double)e->busy / all : 0 };
    return e->failed ? -ENOMEM : 0;
}

uint64_t sim_engine_length(const struct sim_engine *e, int k)
{
    return e->nodes[k].length;
}

uint64_t sim_engine_end(const struct sim_engine *e, int k)
{
    return e->nodes[k].end;
}

struct sim_engine *sim_engine_create(const struct sim_graph *g, const struct sim_machine *m, uint64_t bytes)
{
    struct sim_engine *e = orr_calloc(1, sizeof *e);
    if (!e) return NULL;
    *e = (struct sim_engine){ .g = g, .m = m, .seed = m->seed };
    e->wire_ns = (uint64_t)((double)bytes / m->bytes_per_ns);
    e->copies = orr_calloc((size_t)g->data_count, sizeof *e->copies);
    e->ranks = orr_calloc((size_t)m->ranks, sizeof *e->ranks);
    e->nodes_room = e->inserted_room = 2 * g->tasks_count;
    e->nodes = orr_calloc((size_t)e->nodes_room, sizeof *e->nodes);
    e->inserted = orr_calloc((size_t)e->inserted_room, sizeof *e->inserted);
    if (!e->copies || !e->ranks || !e->nodes || !e->inserted) {
        sim_engine_destroy(e);
        return NULL;
    }
    return e;
}

void sim_engine_destroy(struct sim_engine *e)
{
    for (int d = 0; e->copies && d < e->g->data_count; d++) orr_free(e->copies[d].ranks);
    for (int r = 0; e->ranks && r < e->m->ranks; r++) orr_free(e->ranks[r].ready.nodes);
    orr_free(e->copies);
    orr_free(e->ranks);
    orr_free(e->nodes);
    orr_free(e->inserted);
    orr_free(e->links);
    orr_free(e->replicas);
    orr_free(e->events);
    orr_free(e);
}
