/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: memory of a simulated device: real memory apart from the program's, copied to and from at a set
 * speed.
 * Threads: any. Owns: the device of each node. Not here: the copies (engine.c), settings and tasks (sim.c).
 * Freed memory is overwritten: who still uses it finds wrong data. */
#include "drivers/sim/memory.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"

static struct sim_memory *memories[STARPU_MAXNODES]; /* [const while nodes are registered] */

static uintptr_t sim_alloc(unsigned node, size_t bytes)
{
    (void)node; /* the limit is kept by core/mem */
    return (uintptr_t)orr_malloc_aligned(ORR_CACHE_LINE, bytes);
}

static void sim_free(unsigned node, uintptr_t addr, size_t bytes)
{
    (void)node;
    orr_sim_spoil(addr, bytes);
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

static bool is_dead(unsigned node)
{
    return memories[node] && memories[node]->faults && orr_load_relaxed(&memories[node]->faults->dead);
}

static bool fails(unsigned node)
{
    return memories[node] && memories[node]->faults && orr_sim_fails(memories[node]->faults, SIM_COPY);
}

/* Of an event: the engine, the last copy's number, whether one of them fails, nodes. */
enum { ENGINE, NUMBER, FAILS, NODES };

/* Copies of one engine end in order: the last has ended after all. */
static int sim_test(struct orr_copy_event *event)
{
    struct sim_engine *e = (struct sim_engine *)(uintptr_t)event->words[ENGINE];
    if (!orr_sim_engine_test(e, event->words[NUMBER])) return -EAGAIN;
    unsigned src = (unsigned)event->words[NODES] / STARPU_MAXNODES,
             dst = (unsigned)event->words[NODES] % STARPU_MAXNODES;
    return event->words[FAILS] || is_dead(src) || is_dead(dst) ? -EIO : 0;
}

static int sim_copy_box(const struct orr_location *src, const struct orr_location *dst,
                        const struct orr_box *box, struct orr_copy_event *event)
{
    struct sim_engine *e = engine_of(src->node, dst->node);
    const struct sim_memory *m = link_of(src->node, dst->node);
    bool src_fails = fails(src->node), fault = fails(dst->node) || src_fails;
    double bytes = (double)(box->bytes * box->rows * box->planes);
    uint64_t number = orr_sim_engine_add(e, src, dst, box, (uint64_t)(bytes / m->bandwidth_MB_per_s * 1e3),
                                         (uint64_t)(m->latency_us * 1e3), fault);
    if (!number) return -ENOMEM;
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

int orr_sim_memory_init(struct sim_memory *m, enum starpu_node_kind kind, int devid, size_t limit_bytes,
                        const char *name)
{
    int node = orr_node_register(kind, devid, ops_wanted(), limit_bytes, name);
    if (node < 0) return node;
    m->node = (unsigned)node;
    if (kind != STARPU_DISK_RAM) orr_node_attach(m->node, (unsigned)devid % orr_main_memories);
    orr_sim_engine_init(&m->to);
    orr_sim_engine_init(&m->from);
    memories[node] = m;
    return 0;
}

void orr_sim_memory_fini(struct sim_memory *m)
{
    orr_sim_engine_fini(&m->to);
    orr_sim_engine_fini(&m->from);
    memories[m->node] = NULL;
}
