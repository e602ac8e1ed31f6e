/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: memory of a simulated device: real memory apart from the program's, copied to and from at a set
 * speed.
 * Threads: any. Owns: the device of each node. Not here: settings and tasks (sim.c).
 *
 * A copy is put on its engine's list with the time when it ends, which follows from the copies before it.
 * The first test after that time moves the bytes of all that have ended, in order: so the destination is
 * not valid a moment too early, and a source that is freed or written meanwhile shows as wrong data. Freed
 * memory is overwritten for the same reason. */
#include "drivers/sim/memory.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"

enum { POISON = 0xdb };

struct sim_copy {
    struct sim_copy *next;
    uintptr_t src, dst;
    struct orr_box box;
    uint64_t end_ns, number;
    bool fails;
};

static struct sim_memory *memories[STARPU_MAXNODES]; /* [const while nodes are registered] */

static uintptr_t sim_alloc(unsigned node, size_t bytes)
{
    (void)node; /* the limit is kept by core/mem */
    return (uintptr_t)orr_malloc_aligned(ORR_CACHE_LINE, bytes);
}

static void sim_free(unsigned node, uintptr_t addr, size_t bytes)
{
    (void)node;
    memset((void *)addr, POISON, bytes);
    orr_free((void *)addr);
}

/* The engine of a link: the destination's when both ends are devices. */
static struct sim_engine *engine_of(unsigned src, unsigned dst)
{
    return memories[dst] ? &memories[dst]->to : &memories[src]->from;
}

static const struct sim_memory *link_of(unsigned src, unsigned dst)
{
    return memories[dst] ? memories[dst] : memories[src];
}

static bool two_steps(unsigned src, unsigned dst)
{
    return memories[src] && memories[dst] && !memories[dst]->peers;
}

static double sim_latency_us(unsigned src, unsigned dst)
{
    return link_of(src, dst)->latency_us * (two_steps(src, dst) ? 2 : 1);
}

static double sim_bandwidth(unsigned src, unsigned dst)
{
    return link_of(src, dst)->bandwidth_MB_per_s / (two_steps(src, dst) ? 2 : 1);
}

static bool sim_reaches(unsigned src, unsigned dst)
{
    return memories[src] && memories[dst] && memories[dst]->peers;
}

static void move_bytes(const struct sim_copy *c)
{
    const struct orr_box *b = &c->box;
    for (size_t plane = 0; plane < b->planes; plane++)
        for (size_t row = 0; row < b->rows; row++)
            memcpy((void *)(c->dst + plane * b->dst_plane + row * b->dst_row),
                   (const void *)(c->src + plane * b->src_plane + row * b->src_row), b->bytes);
}

static bool is_dead(unsigned node)
{
    return memories[node] && memories[node]->faults && orr_load_relaxed(&memories[node]->faults->dead);
}

static bool fails(unsigned node)
{
    return memories[node] && memories[node]->faults && orr_sim_fails(memories[node]->faults, SIM_COPY);
}

/* What a copy that failed leaves is nothing that anybody wrote. */
static void spoil(const struct sim_copy *c)
{
    const struct orr_box *b = &c->box;
    for (size_t plane = 0; plane < b->planes; plane++)
        for (size_t row = 0; row < b->rows; row++)
            memset((void *)(c->dst + plane * b->dst_plane + row * b->dst_row), POISON, b->bytes);
}

/* Ends the copies whose time has come. Called with the engine's lock held. */
static void run_engine_locked(struct sim_engine *e)
{
    uint64_t now = orr_clock_ns();
    while (e->first && e->first->end_ns <= now) {
        struct sim_copy *c = e->first;
        e->first = c->next;
        if (c->fails)
            spoil(c);
        else
            move_bytes(c);
        orr_store_release(&e->completed, c->number); /* pairs with the load in is_complete */
        orr_free(c);
    }
}

static bool is_complete(struct sim_engine *e, uint64_t number)
{
    return orr_load_acquire(&e->completed) >= number;
}

/* Of an event: the engine, the last copy's number, whether one of them fails, nodes. */
enum { ENGINE, NUMBER, FAILS, NODES };

/* Copies of one engine end in order: the last has ended after all. */
static int sim_test(struct orr_copy_event *event)
{
    struct sim_engine *e = (struct sim_engine *)(uintptr_t)event->words[ENGINE];
    if (!is_complete(e, event->words[NUMBER])) {
        if (pthread_mutex_trylock(&e->lock) != 0) return -EAGAIN; /* somebody moves bytes just now */
        run_engine_locked(e);
        pthread_mutex_unlock(&e->lock);
        if (!is_complete(e, event->words[NUMBER])) return -EAGAIN;
    }
    unsigned src = (unsigned)event->words[NODES] / STARPU_MAXNODES,
             dst = (unsigned)event->words[NODES] % STARPU_MAXNODES;
    return event->words[FAILS] || is_dead(src) || is_dead(dst) ? -EIO : 0;
}

static int sim_copy_box(const struct orr_location *src, const struct orr_location *dst,
                        const struct orr_box *box, struct orr_copy_event *event)
{
    struct sim_copy *c = orr_malloc(sizeof *c);
    if (!c) return -ENOMEM;
    struct sim_engine *e = engine_of(src->node, dst->node);
    const struct sim_memory *m = link_of(src->node, dst->node);
    bool src_fails = fails(src->node), fault = fails(dst->node) || src_fails;
    *c = (struct sim_copy){
        .src = src->base + src->offset, .dst = dst->base + dst->offset, .box = *box, .fails = fault
    };
    double bytes = (double)(box->bytes * box->rows * box->planes);
    pthread_mutex_lock(&e->lock);
    uint64_t now = orr_clock_ns(), begin = e->free_at_ns > now ? e->free_at_ns : now;
    e->free_at_ns = begin + (uint64_t)(bytes / m->bandwidth_MB_per_s * 1e3);
    c->end_ns = e->free_at_ns + (uint64_t)(m->latency_us * 1e3);
    uint64_t number = c->number = ++e->started;
    if (e->first)
        e->last->next = c;
    else
        e->first = c;
    e->last = c;
    pthread_mutex_unlock(&e->lock);
    struct orr_copy_event own = { .words = { [ENGINE] = (uintptr_t)e,
                                             [NUMBER] = number,
                                             [FAILS] = fault || (event && event->words[FAILS]),
                                             [NODES] = src->node * STARPU_MAXNODES + dst->node } };
    if (event) {
        memcpy(event->words, own.words, sizeof own.words);
        return -EAGAIN;
    }
    int r;
    while ((r = sim_test(&own)) == -EAGAIN) sched_yield();
    return r;
}

static int sim_copy(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                    struct orr_copy_event *event)
{
    return sim_copy_box(src, dst, &(struct orr_box){ .bytes = bytes, .rows = 1, .planes = 1 }, event);
}

/* Where it is asked for, kernels use main memory in place. */
static uintptr_t sim_map(const struct orr_location *src, unsigned node, size_t bytes)
{
    (void)bytes;
    return is_dead(node) ? 0 : src->base + src->offset;
}

static enum orr_addresses sim_addresses(unsigned node)
{
    return memories[node] && memories[node]->shown ? ORR_ADDRESSES_HOST : ORR_ADDRESSES_NONE;
}

static const struct orr_node_ops sim_node_ops = {
    .name = "simulated",
    .alloc = sim_alloc,
    .free = sim_free,
    .copy = sim_copy,
    .copy_box = sim_copy_box,
    .test = sim_test,
    .map = sim_map,
    .latency_us = sim_latency_us,
    .bandwidth_MB_per_s = sim_bandwidth,
    .reaches = sim_reaches,
    .addresses = sim_addresses,
};

/* The same, with blocks kept: then what is freed is not always overwritten. */
static struct orr_node_ops sim_keeping_ops;

static const struct orr_node_ops *ops_wanted(void)
{
    if (!orr_env_long(ORR_SETTING(ORRERY_SIM_KEEP), 0, 0, 1)) return &sim_node_ops;
    sim_keeping_ops = sim_node_ops;
    sim_keeping_ops.costly = true;
    return &sim_keeping_ops;
}

static void engine_init(struct sim_engine *e)
{
    memset(e, 0, sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
}

int orr_sim_memory_init(struct sim_memory *m, enum starpu_node_kind kind, int devid, size_t limit_bytes,
                        const char *name)
{
    int node = orr_node_register(kind, devid, ops_wanted(), limit_bytes, name);
    if (node < 0) return node;
    m->node = (unsigned)node;
    if (kind != STARPU_DISK_RAM) orr_node_attach(m->node, (unsigned)devid % orr_main_memories);
    engine_init(&m->to);
    engine_init(&m->from);
    memories[node] = m;
    return 0;
}

void orr_sim_memory_fini(struct sim_memory *m)
{
    memories[m->node] = NULL;
    pthread_mutex_destroy(&m->to.lock);
    pthread_mutex_destroy(&m->from.lock);
}
