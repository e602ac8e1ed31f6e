/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c: the table of memory nodes, what each holds and may hold, and the public questions about them.
 * Threads: registration by the main thread before workers start; the rest any.
 * Owns: orr_nodes, and those who wait for room in a limited node.
 * Not here: allocating (malloc.c), copying (copy.c), evicting to make room (core/data/eviction.c). */
#include "core/mem/node.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/mem/recycle.h"

/* Main memory is there before starpu_init. */
struct orr_node orr_nodes[STARPU_MAXNODES] = { [STARPU_MAIN_RAM] = { .below = -1 } };
unsigned orr_node_count;

/* Main memory is one node: the first that is set counts. */
static const enum orr_setting env_limits[] = {
    ORR_SETTING_STARPU_LIMIT_CPU_NUMA_0_MEM,
    ORR_SETTING_STARPU_LIMIT_CPU_NUMA_MEM,
    ORR_SETTING_STARPU_LIMIT_CPU_MEM,
};

/* Waiting for room: rare, so one lock for all nodes. */
static pthread_mutex_t room_mutex = PTHREAD_MUTEX_INITIALIZER; /* protects sleeping on room_freed; leaf */
static pthread_cond_t room_freed = PTHREAD_COND_INITIALIZER;
static _Atomic unsigned room_waiters; /* [atomic: read by orr_node_release after it lowered used_bytes] */

static void node_set(unsigned n, enum starpu_node_kind kind, int devid, const struct orr_node_ops *ops,
                     size_t limit, const char *name)
{
    struct orr_node *node = &orr_nodes[n];
    node->kind = kind;
    node->role = !ops ? ORR_MAIN_MEMORY : orr_kind_of_memory(kind) ? ORR_DEVICE_MEMORY : ORR_STORE;
    node->main_memory = ops ? STARPU_MAIN_RAM : (uint8_t)n;
    node->below = node->role == ORR_DEVICE_MEMORY ? STARPU_MAIN_RAM : -1;
    node->devid = devid;
    node->ops = ops;
    node->limit_bytes = limit;
    orr_store_relaxed(&node->used_bytes, 0);
    snprintf(node->name, sizeof node->name, "%s", name);
}

/* In bytes; 0: none. */
static size_t main_memory_limit(void)
{
    for (unsigned i = 0; i < sizeof env_limits / sizeof env_limits[0]; i++)
        if (orr_env_string(&orr_settings[env_limits[i]]))
            return (size_t)(orr_env_double(&orr_settings[env_limits[i]], 0, 0, 1e12) * 1048576.);
    return 0;
}

void orr_nodes_init(void)
{
    size_t used = orr_load_relaxed(&orr_nodes[0].used_bytes); /* counted allocations may outlive a shutdown */
    node_set(0, STARPU_CPU_RAM, -1, NULL, main_memory_limit(), "NUMA 0");
    orr_store_relaxed(&orr_nodes[0].used_bytes, used);
    orr_recycle_init(orr_nodes[0].limit_bytes ==
                     0); /* with a limit, unused memory is to be free for others */
    orr_node_count = 1;
}

/* Data leave main memory for the first store that there is. */
static void put_below_main_memory(unsigned store)
{
    for (unsigned n = 0; n < store; n++)
        if (orr_nodes[n].role == ORR_MAIN_MEMORY && orr_nodes[n].below < 0)
            orr_nodes[n].below = (int8_t)store;
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
    orr_node_count = n + 1;
    if (orr_nodes[n].role == ORR_STORE) put_below_main_memory(n);
    return (int)n;
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
    for (unsigned n = 1; n < orr_node_count; n++) memset(&orr_nodes[n], 0, sizeof orr_nodes[n]);
    orr_nodes[STARPU_MAIN_RAM].below = -1;
    orr_node_count = orr_node_count ? 1 : 0;
    orr_recycle_fini();
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

/* Blocks until there seems to be room; false when there never can be. */
static bool wait_for_room(struct orr_node *node, size_t bytes)
{
    if (node->limit_bytes && bytes > node->limit_bytes) return false;
    orr_thread_blocked_begin();
    pthread_mutex_lock(&room_mutex);
    orr_add_seq(&room_waiters,
                1); /* pairs with the load in orr_node_release: either it sees us, or we see the room */
    while (!has_room(node, bytes)) pthread_cond_wait(&room_freed, &room_mutex);
    orr_sub_seq(&room_waiters, 1);
    pthread_mutex_unlock(&room_mutex);
    orr_thread_blocked_end();
    return true;
}

int orr_node_reserve(unsigned n, size_t bytes, int flags)
{
    struct orr_node *node = &orr_nodes[n];
    while (!reserve_try(node, bytes)) {
        if (flags & STARPU_MEMORY_OVERFLOW) {
            orr_add_relaxed(&node->used_bytes, bytes);
            return 0;
        }
        if (!(flags & STARPU_MEMORY_WAIT) || !wait_for_room(node, bytes)) return -ENOMEM;
    }
    return 0;
}

void orr_node_release(unsigned n, size_t bytes)
{
    orr_sub_seq(&orr_nodes[n].used_bytes, bytes);
    if (orr_likely(orr_load_seq(&room_waiters) == 0)) return; /* pairs with wait_for_room */
    pthread_mutex_lock(&room_mutex);
    pthread_cond_broadcast(&room_freed);
    pthread_mutex_unlock(&room_mutex);
}

size_t orr_node_used_below(unsigned node)
{
    int below = orr_node_below(node);
    return below < 0 ? 0 : orr_load_relaxed(&orr_nodes[below].used_bytes);
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
    if (n && !has_room(n, size) && !wait_for_room(n, size))
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
        if (orr_nodes[n].kind == kind && (kind == STARPU_CPU_RAM || orr_nodes[n].devid == devid)) return n;
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
    return k && k->needs_offset;
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

/* Main memory is one node, whatever NUMA nodes it consists of. */
int starpu_memory_nodes_numa_id_to_devid(int osid)
{
    return osid == 0 ? 0 : -1;
}

int starpu_memory_nodes_numa_id_to_hwloclogid(unsigned id)
{
    return id == 0 ? 0 : -1;
}

int starpu_memory_nodes_numa_devid_to_id(unsigned id)
{
    return id == 0 ? 0 : -1;
}
