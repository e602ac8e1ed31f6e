/* SPDX-License-Identifier: BSD-3-Clause */
/* node.h: the tree of memory nodes: main memory (node 0, or several), the memories of devices above it,
 * stores below it; allocating on them and copying between them. Threads: registration by the main thread at
 * start-up, of a store by any later; the rest any. Owns: the table of nodes and their accounting. Not here:
 * what is valid where (core/data/coherency.h), how fast a link is (core/perf/bus.h).
 *
 * A node has a role and perhaps a node below it, where its data go when it is full. Who wants to know what a
 * node is asks the questions below: no file outside core/mem compares with STARPU_MAIN_RAM (scripts/lint). */
#ifndef ORR_MEM_NODE_H
#define ORR_MEM_NODE_H

#include <starpu_data_interfaces.h>
#include <starpu_worker.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/export.h"
#include "core/base/sync.h"

/* A place in a node's memory: what its alloc answered, or an address in main memory, and how far into it. The
 * two are apart because the first may be a handle (cl_mem, an object in a store). */
struct orr_location {
    uintptr_t base;
    size_t offset;
    unsigned node;
};

/* Planes of rows of bytes, and how far apart rows and planes begin at both ends. */
struct orr_box {
    size_t bytes, rows, planes;
    size_t src_row, dst_row, src_plane, dst_plane; /* bytes */
};

/* A copy under way; the caller's memory. */
struct orr_copy_event {
    unsigned node;     /* whose ops test it */
    uint64_t words[4]; /* [own: ops] */
    bool moved;        /* set by a test that did something for the copy: another may soon do more */
};

/* What the data layer passes through an interface's copy method as async_data: starpu_interface_copy fills it
 * in. Copies of one interface go between two fixed nodes, and each takes over the event of those before, so
 * that the last stands for all. */
struct orr_async {
    struct orr_copy_event last;
    bool pending; /* last is valid: the copy goes on */
    int error;    /* the first error, 0 if none: interfaces may report it as -EAGAIN */
};

/* Whose addresses those of a node are: who else but its driver reads and writes there. */
enum orr_addresses {
    ORR_ADDRESSES_NONE,  /* nobody: handles, or the driver's alone */
    ORR_ADDRESSES_HOST,  /* CPUs */
    ORR_ADDRESSES_DEVICE /* libraries that know devices of this kind */
};

/* Methods of a kind of memory other than main memory. A copy always has at least one end on such a node; the
 * ops of that end are called (of the destination when both are devices). Required: name, alloc, free, copy,
 * test. */
struct orr_node_ops {
    const char *name;
    uintptr_t (*alloc)(unsigned node, size_t bytes); /* 0: no room. any thread; must not block */
    void (*free)(unsigned node, uintptr_t addr, size_t bytes);
    /* Copies bytes; event NULL: before returning; else may return -EAGAIN, the copy goes on. 0 done, -EIO. An
     * event is all 0, or that of an earlier copy for the same datum, between the same nodes: filled in, it
     * stands for both, and has ended when both have. Any thread. */
    int (*copy)(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                struct orr_copy_event *event);
    /* The same for a box of more than one row. NULL: row by row. */
    int (*copy_box)(const struct orr_location *src, const struct orr_location *dst, const struct orr_box *box,
                    struct orr_copy_event *event);
    /* 0: all copies that the event stands for have ended well; -EAGAIN: not yet; -EIO: they are over, as far
     * as the device will go, and one failed: what they were to write may be anything, and is touched no more.
     * Any thread; must not block. */
    int (*test)(struct orr_copy_event *event);
    /* A whole interface by a method that it has for this kind alone, such as its asynchronous ones, between
     * this node and main memory or another of this kind: as copy says, or -ENOSYS: it has none, or one for
     * the pair of kinds (kind.h) that does as well. NULL: there are no such methods. */
    int (*copy_by)(const struct starpu_data_copy_methods *m, void *src_interface, unsigned src_node,
                   void *dst_interface, unsigned dst_node, struct orr_copy_event *event);
    /* Whether there is one that copies between two devices of this kind; NULL: never. */
    bool (*between)(const struct starpu_data_copy_methods *m);
    double (*latency_us)(unsigned src_node, unsigned dst_node);         /* NULL: 0 */
    double (*bandwidth_MB_per_s)(unsigned src_node, unsigned dst_node); /* NULL: unknown */
    /* Of devices that can use main memory in place; NULL: they cannot. map: where these bytes of it are for
     * the device's kernels, 0: not these. update_map: what was written at src is seen at dst, of which one is
     * main memory and the other what map answered; 0 or -EIO; NULL: both sides see it anyway. */
    uintptr_t (*map)(const struct orr_location *src, unsigned node, size_t bytes);
    void (*unmap)(const struct orr_location *src, unsigned node, uintptr_t addr, size_t bytes); /* or NULL */
    int (*update_map)(const struct orr_location *src, const struct orr_location *dst, size_t bytes);
    bool costly; /* alloc and free take long, or wait for the device: blocks are kept (kept.h) */
    /* Of devices that copy from and to main memory faster, and behind the caller's back, when it stays where
     * it is; NULL: it makes no difference. pin: 0; -EALREADY: somebody else did; -EIO. Any thread; one at a
     * time. */
    int (*pin)(unsigned node, void *p, size_t bytes);
    void (*unpin)(unsigned node, void *p);
    /* Whether copies go between two devices without main memory; NULL: never. */
    bool (*reaches)(unsigned src_node, unsigned dst_node);
    /* Messages between ranks go straight from and to such memory, where the network takes it. NULL: nobody's.
     * The same from registration on. */
    enum orr_addresses (*addresses)(unsigned node);
};

/* What opens stores at start-up. The list ends with NULL (drivers/builtin.c). Main thread, before workers
 * start and after they stopped. */
struct orr_store_ops {
    int (*open)(void);   /* registers its nodes: 0, also when there are none, or -errno */
    void (*close)(void); /* also when it was not opened */
};
extern const struct orr_store_ops *const orr_stores[];

enum orr_node_role { ORR_MAIN_MEMORY, ORR_DEVICE_MEMORY, ORR_STORE };

struct orr_node {
    enum starpu_node_kind kind;
    uint8_t role;         /* enum orr_node_role */
    _Atomic int8_t below; /* the node where data go that make room here; -1: none, and what is full stays
                           * full. Set once [atomic: a store may come while the runtime runs] */
    uint8_t main_memory;  /* the nearest */
    int numa;             /* of main memory: the NUMA node in topo.h's numbers; -1: not one only */
    int devid;
    const struct orr_node_ops *ops; /* NULL for main memory */
    size_t limit_bytes;             /* 0: none */
    _Atomic size_t used_bytes;
    _Atomic unsigned failures; /* copies to or from main memory that failed in a row [any: statistic] */
    char name[32];
};

extern struct orr_node orr_nodes[STARPU_MAXNODES];
_Static_assert(STARPU_MAXNODES <= 32, "sets of nodes are words of 32 bits");
/* 1: coherency costs nothing. [const between init and shutdown, but that a store may be added; atomic, so
 * that who sees a node sees what is known of it] */
extern _Atomic unsigned orr_node_count;
extern unsigned orr_main_memories; /* the first nodes of them [the same] */

/* Main memory becomes node 0, or with STARPU_USE_NUMA the first nodes; the others follow. Reads
 * STARPU_LIMIT_CPU_MEM and its relatives. Main thread, when the topology is known. */
void orr_nodes_init(void);
/* The new node's number, or -ENOSPC. What is no memory of a kind of devices (kind.h) is a store, below main
 * memory; the others are above. Main thread, before workers start; a store at any time, by one thread at a
 * time: data that were registered before go there if they have a place for it (orr_node_places). */
int orr_node_register(enum starpu_node_kind kind, int devid, const struct orr_node_ops *ops,
                      size_t limit_bytes, const char *name);
/* A device's node is nearest to this main memory; 0 unless said. Its driver, after registering, or who opened
 * a device that says where it is (core/worker/setup.c). */
void orr_node_attach(unsigned node, unsigned main_memory);
/* The main memory on a NUMA node (topo.h's number); the first where they are not told apart. */
unsigned orr_node_of_numa(int numa);
/* Told of a store that was added while the runtime runs; NULL: it does not. Set by core/run. */
extern void (*_Atomic orr_store_added)(unsigned node);
/* Opens all stores (orr_stores), after devices: 0 or -errno. */
int orr_stores_open(void);
/* Closes the stores, and forgets all nodes but main memory. Main thread, after workers stopped. */
void orr_nodes_fini(void);

/* ---- questions to the tree; of a node that there is ---- */

/* The main memory in which programs have their own data, and get what they acquire without naming a node. */
static inline unsigned orr_node_home(void)
{
    return STARPU_MAIN_RAM;
}

/* Whether CPUs, so any thread of this process, read and write it directly. */
static inline bool orr_node_is_cpu(unsigned node)
{
    return orr_nodes[node].role == ORR_MAIN_MEMORY;
}

/* Where its data go when they make room for others; -1: they stay. */
static inline int orr_node_below(unsigned node)
{
    return orr_load_relaxed(&orr_nodes[node].below);
}

/* Whether data make room there: then who wants memory on it may wait for some. */
static inline bool orr_node_evicts(unsigned node)
{
    return orr_node_below(node) >= 0;
}

/* Whether copies there are thrown out for others: where data make room, and where nothing is left at the end;
 * so not in main memory as long as nothing is below it. */
static inline bool orr_node_reclaims(unsigned node)
{
    return node != STARPU_MAIN_RAM || orr_node_evicts(node);
}

/* Whether data's memory there is on a list (orr_memory), to be taken back: now, or once a store has come to
 * main memory that has a limit. */
static inline bool orr_node_lists(unsigned node)
{
    return orr_node_reclaims(node) || orr_nodes[node].limit_bytes > 0;
}

/* How many nodes data that are registered now are to have a place for: all that there are and, where main
 * memory has a limit and no store is below it yet, one more: they leave main memory when that has come. */
unsigned orr_node_places(void);

/* The main memory nearest to a node: itself, or that below or above it. */
static inline unsigned orr_node_main_of(unsigned node)
{
    return orr_nodes[node].main_memory;
}

/* The main memory of the CPU worker on a core (-1: on none). */
unsigned orr_node_of_core(int core);

/* This main memory if it has room for so many bytes, or can make some; else another that has; else this. */
unsigned orr_node_with_room(unsigned main_memory, size_t bytes);

/* The main memory in which bytes stop on their way from one node to another that it does not reach. */
static inline unsigned orr_nodes_meet(unsigned src, unsigned dst)
{
    return orr_node_main_of(orr_nodes[dst].role == ORR_STORE ? src : dst);
}

/* Whether data of a node may go to another to make room: it is of the level below. */
static inline bool orr_node_is_above(unsigned node, unsigned other)
{
    return orr_node_evicts(node) && orr_nodes[orr_node_below(node)].role == orr_nodes[other].role;
}

/* Whether so many bytes are free there, or it has no limit. */
bool orr_node_has_room(unsigned node, size_t bytes);

/* What is in use of the nodes to which the data of a node go: less of it says that there may be room. */
size_t orr_node_used_below(unsigned node);

/* Counts bytes against the node's limit. 0, or -ENOMEM over the limit; STARPU_MEMORY_OVERFLOW counts them all
 * the same, STARPU_MEMORY_WAIT blocks until there is room. Any thread. */
int orr_node_reserve(unsigned node, size_t bytes, int flags);
void orr_node_release(unsigned node, size_t bytes);

/* Whose addresses base + offset is on a node. */
static inline enum orr_addresses orr_node_addresses(unsigned node)
{
    const struct orr_node_ops *ops = orr_nodes[node].ops;
    if (!ops) return ORR_ADDRESSES_HOST;
    return ops->addresses ? ops->addresses(node) : ORR_ADDRESSES_NONE;
}

/* The nodes (a bit each) but main memory with addresses that CPUs, or those who know such devices, use:
 * whether somebody does, knows says by the kind's word (kind.h). After start-up. */
ORR_EXPORT uint32_t orr_nodes_addressed(bool (*knows)(void *arg, const char *kind), void *arg);

/* Throws out data for the program's own memory (core/data/coherency.h); NULL: nothing can go. Set by
 * core/run. */
extern bool (*_Atomic orr_make_room)(unsigned node, size_t bytes);
extern void (*_Atomic orr_room_over)(unsigned node); /* who asked for that does so no more: there is room */

/* Frees about so many bytes of what data gave back and is kept for others (core/data/alloc_cache.h), for who
 * finds no room. False: there was nothing. Calls functions of the program. */
bool orr_node_drop_kept(unsigned node, size_t bytes);
extern bool (*_Atomic orr_drop_kept)(unsigned node,
                                     size_t bytes); /* does it; NULL: nobody. Set by core/run */

/* Kinds of nodes (a bit each) whose copies are made in the foreground: copy returns when they have ended.
 * [const between init and shutdown] */
extern uint32_t orr_foreground_kinds;

/* Whether the program wants data to be mapped, and whether a node can do it. [const between init and
 * shutdown] */
extern bool orr_map_wanted;
bool orr_node_maps(unsigned node);

/* Whether bytes go from one node to another without a stop in main memory. */
bool orr_nodes_reach(unsigned src_node, unsigned dst_node);

#endif
