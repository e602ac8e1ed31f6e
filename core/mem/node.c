/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c: the table of memory nodes, what each holds and may hold, and the public questions about them.
 * Threads: registration by the main thread before workers start, of stores later; the rest any.
 * Owns: orr_nodes, and those who wait for room in a limited node.
 * Not here: allocating (malloc.c), copying (copy.c), evicting to make room (core/data/eviction.c). */
#include "core/mem/node.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/event.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/mem/recycle.h"
#include "core/topo/topo.h"

/* Main memory is there before starpu_init. */
struct orr_node orr_nodes[STARPU_MAXNODES] = { [STARPU_MAIN_RAM] = { .below = -1, .numa = -1 } };
_Atomic unsigned orr_node_count;
unsigned orr_main_memories = 1;
void (*_Atomic orr_store_added)(unsigned node);
bool (*_Atomic orr_make_room)(unsigned node, size_t bytes);
bool (*_Atomic orr_drop_kept)(unsigned node, size_t bytes);
void (*_Atomic orr_room_over)(unsigned node);

enum { MAIN_MEMORIES_MAX = STARPU_MAXNODES / 2 }; /* devices need some, too */

/* Waiting for room: rare, so one lock for all nodes. */
static ORR_MUTEX(room) room_mutex = PTHREAD_MUTEX_INITIALIZER; /* protects sleeping on room_freed; leaf */
static pthread_cond_t room_freed = PTHREAD_COND_INITIALIZER;
static _Atomic unsigned room_waiters; /* [atomic: read by orr_node_release after it lowered used_bytes] */

static void tell_waiters(void)
{
    pthread_mutex_lock(&room_mutex);
    pthread_cond_broadcast(&room_freed);
    pthread_mutex_unlock(&room_mutex);
}

static void node_set(unsigned n, enum starpu_node_kind kind, int devid, const struct orr_node_ops *ops,
                     size_t limit, const char *name)
{
    struct orr_node *node = &orr_nodes[n];
    node->kind = kind;
    node->role = !ops ? ORR_MAIN_MEMORY : orr_kind_of_memory(kind) ? ORR_DEVICE_MEMORY : ORR_STORE;
    node->main_memory = ops ? STARPU_MAIN_RAM : (uint8_t)n;
    orr_store_relaxed(&node->below, (int8_t)(node->role == ORR_DEVICE_MEMORY ? STARPU_MAIN_RAM : -1));
    node->numa = -1;
    orr_store_relaxed(&node->failures, 0u);
    node->devid = devid;
    node->ops = ops;
    node->limit_bytes = limit;
    orr_store_relaxed(&node->used_bytes, 0);
    snprintf(node->name, sizeof node->name, "%s", name);
}

/* In bytes; false: it is not set. */
static bool read_limit(const struct orr_env *e, size_t *out)
{
    if (!orr_env_string(e)) return false;
    *out = (size_t)(orr_env_double(e, 0, 0, 1e12) * 1048576.);
    return true;
}

/* Of a main memory on the NUMA node which the system calls os: for it alone, for each, or its part of all. In
 * bytes; 0: none. */
static size_t main_memory_limit(int os)
{
    static struct orr_env own[STARPU_MAXNODES];
    static char names[STARPU_MAXNODES][48];
    size_t bytes = 0;
    if (os >= 0 && os < STARPU_MAXNODES) {
        snprintf(names[os], sizeof names[os], "STARPU_LIMIT_CPU_NUMA_%d_MEM", os);
        own[os] = *ORR_SETTING(STARPU_LIMIT_CPU_NUMA_0_MEM);
        own[os].name = names[os];
        if (read_limit(&own[os], &bytes)) return bytes;
    }
    if (read_limit(ORR_SETTING(STARPU_LIMIT_CPU_NUMA_MEM), &bytes)) return bytes;
    return read_limit(ORR_SETTING(STARPU_LIMIT_CPU_MEM), &bytes) ? bytes / orr_main_memories : 0;
}

/* The NUMA nodes that are to be main memories of their own: none, or several. */
static unsigned wanted_numa_nodes(unsigned numa[MAIN_MEMORIES_MAX])
{
    if (!orr_env_long(ORR_SETTING(STARPU_USE_NUMA), 0, 0, 1)) return 0;
    unsigned count = orr_topo_numa_nodes(numa, MAIN_MEMORIES_MAX);
    return count > 1 ? count : 0;
}

static void add_numa_node(unsigned n, unsigned numa)
{
    int os = orr_topo_numa_os_index(numa);
    char name[32];
    snprintf(name, sizeof name, "NUMA %d", os);
    node_set(n, STARPU_CPU_RAM, os, NULL, main_memory_limit(os), name);
    orr_nodes[n].numa = (int)numa;
}

void orr_nodes_init(void)
{
    unsigned numa[MAIN_MEMORIES_MAX], count = wanted_numa_nodes(numa);
    size_t used = orr_load_relaxed(&orr_nodes[0].used_bytes); /* counted allocations may outlive a shutdown */
    bool limited = false;
    orr_main_memories = count ? count : 1;
    if (count == 0) node_set(0, STARPU_CPU_RAM, -1, NULL, main_memory_limit(0), "NUMA 0");
    for (unsigned n = 0; n < count; n++) add_numa_node(n, numa[n]);
    orr_store_relaxed(&orr_nodes[0].used_bytes, used);
    for (unsigned n = 0; n < orr_main_memories; n++) limited |= orr_nodes[n].limit_bytes > 0;
    orr_recycle_init(!limited); /* with a limit, unused memory is to be free for others */
    orr_store_relaxed(&orr_node_count, orr_main_memories);
}

unsigned orr_node_places(void)
{
    bool limited = false;
    for (unsigned n = 0; n < orr_main_memories; n++)
        limited |=
            orr_nodes[n].limit_bytes > 0 && !orr_node_evicts(n); /* before the count: one too many at most */
    unsigned count = orr_load_acquire(&orr_node_count);
    if (count == 0) return 1;
    return count + (limited && count < STARPU_MAXNODES);
}

/* Data leave main memory for the first store that there is. */
static void put_below_main_memory(unsigned store)
{
    for (unsigned n = 0; n < store; n++)
        if (orr_nodes[n].role == ORR_MAIN_MEMORY && !orr_node_evicts(n))
            orr_store_relaxed(&orr_nodes[n].below, (int8_t)store);
    tell_waiters(); /* data may go now */
}

int orr_node_register(enum starpu_node_kind kind, int devid, const struct orr_node_ops *ops,
                      size_t limit_bytes, const char *name)
{
    if (orr_node_count >= STARPU_MAXNODES) {
        orr_error("memory node \"%s\" is one too many: this build has room for %d; use fewer devices", name,
                  STARPU_MAXNODES);
        return -ENOSPC;
    }
    unsigned n = orr_node_count;
    node_set(n, kind, devid, ops, limit_bytes, name);
    orr_store_release(&orr_node_count, n + 1);
    if (orr_nodes[n].role == ORR_STORE) put_below_main_memory(n);
    void (*added)(unsigned) = orr_load_acquire(&orr_store_added);
    if (added) added(n);
    return (int)n;
}

uint32_t orr_nodes_addressed(bool (*knows)(void *arg, const char *kind), void *arg)
{
    uint32_t nodes = 0;
    for (unsigned n = orr_main_memories; n < orr_node_count; n++) {
        enum orr_addresses a = orr_node_addresses(n);
        const struct orr_kind *k = a == ORR_ADDRESSES_DEVICE ? orr_kind_of_memory(orr_nodes[n].kind) : NULL;
        if (a == ORR_ADDRESSES_HOST || (k && knows(arg, k->word))) nodes |= UINT32_C(1) << n;
    }
    return nodes;
}

void orr_node_attach(unsigned node, unsigned main_memory)
{
    orr_nodes[node].main_memory = (uint8_t)main_memory;
    orr_store_relaxed(&orr_nodes[node].below, (int8_t)main_memory);
}

int orr_stores_open(void)
{
    int r = 0;
    for (int i = 0; orr_stores[i] && r == 0; i++) r = orr_stores[i]->open();
    return r;
}

void orr_nodes_fini(void)
{
    for (int i = 0; orr_stores[i]; i++) orr_stores[i]->close();
    orr_recycle_fini();
    for (unsigned n = 1; n < orr_node_count; n++) memset(&orr_nodes[n], 0, sizeof orr_nodes[n]);
    orr_nodes[STARPU_MAIN_RAM].numa = -1;
    orr_store_relaxed(&orr_nodes[STARPU_MAIN_RAM].below, (int8_t)-1);
    orr_main_memories = 1;
    orr_store_relaxed(&orr_node_count, orr_node_count ? 1u : 0u);
}

/* ---- accounting ---- */

/* Adds bytes unless that passes the limit. */
static bool reserve_try(struct orr_node *node, size_t bytes)
{
    if (node->limit_bytes == 0) {
        orr_add_relaxed(&node->used_bytes, bytes);
        return true;
    }
    size_t used = orr_load_relaxed(&node->used_bytes);
    do {
        if (bytes > node->limit_bytes || used > node->limit_bytes - bytes) return false;
    } while (!orr_cas_weak_acq_rel(&node->used_bytes, &used, used + bytes));
    return true;
}

static bool has_room(struct orr_node *node, size_t bytes)
{
    size_t used = orr_load_seq(&node->used_bytes);
    return node->limit_bytes == 0 || (bytes <= node->limit_bytes && used <= node->limit_bytes - bytes);
}

/* Sleeps until memory is given back, or not longer than a moment where data that are released may go: that
 * tells nobody. Perhaps there is room then. */
static void sleep_for_room(struct orr_node *node, size_t bytes, bool looks)
{
    enum { MOMENT_NS = 1000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT_NS;
    until.tv_sec += until.tv_nsec / STARPU_NS_PER_S;
    until.tv_nsec %= STARPU_NS_PER_S;
    pthread_mutex_lock(&room_mutex);
    orr_add_seq(&room_waiters,
                1); /* pairs with the load in orr_node_release: either it sees us, or we see the room */
    if (!has_room(node, bytes) && looks)
        pthread_cond_timedwait(&room_freed, &room_mutex, &until);
    else if (!has_room(node, bytes))
        pthread_cond_wait(&room_freed, &room_mutex);
    orr_sub_seq(&room_waiters, 1);
    pthread_mutex_unlock(&room_mutex);
}

/* Blocks until there seems to be room, which data make where they can; false when there never can be. */
static bool wait_for_room(unsigned n, size_t bytes)
{
    struct orr_node *node = &orr_nodes[n];
    bool (*make)(unsigned, size_t) = orr_load_acquire(&orr_make_room);
    if (node->limit_bytes && bytes > node->limit_bytes) return false;
    orr_thread_blocked_begin();
    while (!has_room(node, bytes)) {
        bool evicts = make && orr_node_evicts(n);
        if (evicts) orr_thread_looks_again();
        if (!evicts || !make(n, bytes)) sleep_for_room(node, bytes, evicts);
    }
    void (*over)(unsigned) = orr_load_acquire(&orr_room_over);
    if (over) over(n);
    orr_thread_looks_end();
    orr_thread_blocked_end();
    return true;
}

/* Read again, so that of several who tell at the same time the last one tells what all have made of it. */
static void tell_used(unsigned n)
{
    ORR_EVENT(MEMORY_USED, NULL, n, orr_load_relaxed(&orr_nodes[n].used_bytes), orr_nodes[n].limit_bytes);
}

bool orr_node_drop_kept(unsigned n, size_t bytes)
{
    bool (*drop)(unsigned, size_t) = orr_load_acquire(&orr_drop_kept);
    return drop && drop(n, bytes);
}

int orr_node_reserve(unsigned n, size_t bytes, int flags)
{
    struct orr_node *node = &orr_nodes[n];
    while (!reserve_try(node, bytes)) {
        if (bytes <= node->limit_bytes && orr_node_drop_kept(n, bytes)) continue;
        if (flags & STARPU_MEMORY_OVERFLOW) {
            orr_add_relaxed(&node->used_bytes, bytes);
            break;
        }
        if (!(flags & STARPU_MEMORY_WAIT) || !wait_for_room(n, bytes)) return -ENOMEM;
    }
    tell_used(n);
    return 0;
}

void orr_node_release(unsigned n, size_t bytes)
{
    orr_sub_seq(&orr_nodes[n].used_bytes, bytes);
    tell_used(n);
    if (orr_likely(orr_load_seq(&room_waiters) == 0)) return; /* pairs with wait_for_room */
    tell_waiters();
}

bool orr_node_has_room(unsigned node, size_t bytes)
{
    return has_room(&orr_nodes[node], bytes);
}

size_t orr_node_used_below(unsigned node)
{
    size_t used = 0;
    for (unsigned n = 0; n < orr_node_count; n++)
        if (orr_node_is_above(node, n)) used += orr_load_relaxed(&orr_nodes[n].used_bytes);
    return used;
}

unsigned orr_node_with_room(unsigned main_memory, size_t bytes)
{
    if (orr_node_evicts(main_memory) || has_room(&orr_nodes[main_memory], bytes)) return main_memory;
    for (unsigned n = 0; n < orr_main_memories; n++)
        if (has_room(&orr_nodes[n], bytes)) return n;
    return main_memory;
}

unsigned orr_node_of_numa(int numa)
{
    for (unsigned n = 0; n < orr_main_memories; n++)
        if (orr_nodes[n].numa == numa) return n;
    return STARPU_MAIN_RAM;
}

unsigned orr_node_of_core(int core)
{
    return orr_node_of_numa(orr_main_memories > 1 && core >= 0 ? orr_topo_numa_of((unsigned)core) : -1);
}

static struct orr_node *node_at(unsigned n)
{
    return n < (orr_node_count ? orr_node_count : 1) ? &orr_nodes[n] : NULL;
}

int starpu_memory_allocate(unsigned node, size_t size, int flags)
{
    if (!node_at(node)) {
        orr_error("starpu_memory_allocate: there is no memory node %u", node);
        return -EINVAL;
    }
    return orr_node_reserve(node, size, flags);
}

void starpu_memory_deallocate(unsigned node, size_t size)
{
    if (node_at(node)) orr_node_release(node, size);
}

void starpu_memory_wait_available(unsigned node, size_t size)
{
    struct orr_node *n = node_at(node);
    if (n && !has_room(n, size) && !wait_for_room(node, size))
        orr_error("starpu_memory_wait_available: node %s will never have %zu bytes, its limit is %zu",
                  n->name, size, n->limit_bytes);
}

starpu_ssize_t starpu_memory_get_total(unsigned node)
{
    struct orr_node *n = node_at(node);
    return n && n->limit_bytes ? (starpu_ssize_t)n->limit_bytes : -1;
}

starpu_ssize_t starpu_memory_get_available(unsigned node)
{
    struct orr_node *n = node_at(node);
    if (!n || !n->limit_bytes) return -1;
    size_t used = orr_load_relaxed(&n->used_bytes);
    return used < n->limit_bytes ? (starpu_ssize_t)(n->limit_bytes - used) : 0;
}

size_t starpu_memory_get_used(unsigned node)
{
    struct orr_node *n = node_at(node);
    return n ? orr_load_relaxed(&n->used_bytes) : 0;
}

/* Sum over all nodes, -1 as soon as one has no limit. */
static starpu_ssize_t sum_limited(starpu_ssize_t (*of)(unsigned))
{
    starpu_ssize_t sum = 0;
    for (unsigned n = 0; n < orr_node_count; n++) {
        starpu_ssize_t bytes = of(n);
        if (bytes < 0) return -1;
        sum += bytes;
    }
    return sum;
}

starpu_ssize_t starpu_memory_get_total_all_nodes(void)
{
    return sum_limited(starpu_memory_get_total);
}

starpu_ssize_t starpu_memory_get_available_all_nodes(void)
{
    return sum_limited(starpu_memory_get_available);
}

size_t starpu_memory_get_used_all_nodes(void)
{
    size_t sum = 0;
    for (unsigned n = 0; n < orr_node_count; n++) sum += starpu_memory_get_used(n);
    return sum;
}

/* ---- questions ---- */

unsigned starpu_memory_nodes_get_count(void)
{
    return orr_node_count;
}

unsigned starpu_memory_nodes_get_count_by_kind(enum starpu_node_kind kind)
{
    unsigned count = 0;
    for (unsigned n = 0; n < orr_node_count; n++) count += orr_nodes[n].kind == kind;
    return count;
}

unsigned starpu_memory_nodes_get_numa_count(void)
{
    return starpu_memory_nodes_get_count_by_kind(STARPU_CPU_RAM);
}

unsigned starpu_memory_node_get_ids_by_type(enum starpu_node_kind kind, unsigned *ids, unsigned maxsize)
{
    unsigned count = 0;
    for (unsigned n = 0; n < orr_node_count && count < maxsize; n++)
        if (orr_nodes[n].kind == kind) ids[count++] = n;
    return count;
}

enum starpu_node_kind starpu_node_get_kind(unsigned node)
{
    struct orr_node *n = node_at(node);
    return n ? n->kind : STARPU_UNUSED;
}

int starpu_memory_node_get_devid(unsigned node)
{
    struct orr_node *n = node_at(node);
    return n ? n->devid : -1;
}

unsigned starpu_memory_devid_find_node(int devid, enum starpu_node_kind kind)
{
    for (unsigned n = 0; n < orr_node_count; n++)
        if (orr_nodes[n].kind == kind &&
            ((kind == STARPU_CPU_RAM && orr_main_memories == 1) || orr_nodes[n].devid == devid))
            return n;
    return STARPU_MAXNODES;
}

int starpu_memory_node_get_name(unsigned node, char *name, size_t size)
{
    struct orr_node *n = node_at(node);
    return snprintf(name, size, "%s", n ? n->name : "");
}

int starpu_node_needs_offset(unsigned node)
{
    const struct orr_kind *k = orr_kind_of_memory(starpu_node_get_kind(node));
    return k ? k->needs_offset : node_at(node) && orr_nodes[node].role == ORR_STORE;
}

enum starpu_node_kind starpu_worker_get_memory_node_kind(enum starpu_worker_archtype type)
{
    return (unsigned)type < STARPU_NARCH ? orr_kinds[type].memory : STARPU_UNUSED;
}

enum starpu_worker_archtype starpu_memory_node_get_worker_archtype(enum starpu_node_kind kind)
{
    const struct orr_kind *k = orr_kind_of_memory(kind);
    return k ? k->type : STARPU_UNKNOWN_WORKER;
}

static bool is_main_memory(unsigned id)
{
    return id < orr_main_memories;
}

int starpu_memory_nodes_numa_id_to_devid(int osid)
{
    if (orr_main_memories == 1) return osid == 0 ? 0 : -1; /* whatever NUMA nodes it consists of */
    for (unsigned n = 0; n < orr_main_memories; n++)
        if (orr_nodes[n].devid == osid) return (int)n;
    return -1;
}

int starpu_memory_nodes_numa_id_to_hwloclogid(unsigned id)
{
    if (!is_main_memory(id)) return -1;
    return orr_nodes[id].numa < 0 ? 0 : orr_nodes[id].numa;
}

int starpu_memory_nodes_numa_devid_to_id(unsigned id)
{
    if (!is_main_memory(id)) return -1;
    return orr_nodes[id].numa < 0 ? 0 : orr_nodes[id].devid;
}
