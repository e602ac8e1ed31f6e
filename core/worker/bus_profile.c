/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_profile.c: what went between memory nodes, an observer where there are several. A bus is an ordered
 * pair of nodes. Threads: any, between init and shutdown. Owns: what went, what was asked last, and what the
 * program said of buses. Not here: how fast a bus is (core/perf/bus.c). */
#include "core/worker/bus_profile.h"

#include <stdio.h>

#include <starpu.h>
#include <starpu_profiling.h>

#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/mem/node.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_bus_profile_observer;

static _Atomic uint64_t moved_bytes[STARPU_MAXNODES][STARPU_MAXNODES]; /* [any: statistic] */
static _Atomic uint64_t moves[STARPU_MAXNODES][STARPU_MAXNODES];       /* [any: statistic] */

static ORR_MUTEX(bus_profile) bus_lock = PTHREAD_MUTEX_INITIALIZER; /* protects all below; leaf */
static struct bus {
    uint64_t asked_ns, asked_bytes, asked_count; /* at the last question */
    int direct, ngpus;
    bool direct_said;
} buses[STARPU_MAXNODES][STARPU_MAXNODES];

static void bus_profile_see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    orr_add_relaxed(&moved_bytes[e->b][e->c], e->a);
    orr_add_relaxed(&moves[e->b][e->c], 1u);
}

static void start(struct orr_observer *o)
{
    orr_observer_want(o, orr_node_count > 1 ? ORR_EVENT_BIT(BYTES_COPIED) : 0);
}

void orr_bus_profile_watch(void)
{
    start(&orr_bus_profile_observer);
}

static void stop(struct orr_observer *o)
{
    orr_observer_want(o, 0);
}

struct orr_observer orr_bus_profile_observer = {
    .name = "buses", .see = bus_profile_see, .start = start, .stop = stop
};

uint64_t orr_bus_moved_bytes(unsigned src, unsigned dst)
{
    return orr_load_relaxed(&moved_bytes[src][dst]);
}

static bool is_bus(int id)
{
    return id >= 0 && id < starpu_bus_get_count();
}

int starpu_bus_get_count(void)
{
    return (int)(orr_node_count * (orr_node_count - 1));
}

int starpu_bus_get_id(int src, int dst)
{
    int nodes = (int)orr_node_count;
    if (src < 0 || dst < 0 || src >= nodes || dst >= nodes || src == dst) return -1;
    return src * (nodes - 1) + dst - (dst > src);
}

int starpu_bus_get_src(int busid)
{
    return is_bus(busid) ? busid / ((int)orr_node_count - 1) : -1;
}

int starpu_bus_get_dst(int busid)
{
    if (!is_bus(busid)) return -1;
    int src = starpu_bus_get_src(busid), dst = busid % ((int)orr_node_count - 1);
    return dst + (dst >= src);
}

static struct bus *bus_of(int id)
{
    return is_bus(id) ? &buses[starpu_bus_get_src(id)][starpu_bus_get_dst(id)] : NULL;
}

void starpu_bus_set_direct(int busid, int direct)
{
    struct bus *b = bus_of(busid);
    if (!b) return;
    pthread_mutex_lock(&bus_lock);
    b->direct = direct;
    b->direct_said = true;
    pthread_mutex_unlock(&bus_lock);
}

int starpu_bus_get_direct(int busid)
{
    struct bus *b = bus_of(busid);
    if (!b) return 0;
    pthread_mutex_lock(&bus_lock);
    int direct = b->direct_said ? b->direct
                                : orr_nodes_reach((unsigned)starpu_bus_get_src(busid),
                                                  (unsigned)starpu_bus_get_dst(busid));
    pthread_mutex_unlock(&bus_lock);
    return direct;
}

void starpu_bus_set_ngpus(int busid, int ngpus)
{
    struct bus *b = bus_of(busid);
    if (!b) return;
    pthread_mutex_lock(&bus_lock);
    b->ngpus = ngpus;
    pthread_mutex_unlock(&bus_lock);
}

int starpu_bus_get_ngpus(int busid)
{
    struct bus *b = bus_of(busid);
    if (!b) return 0;
    pthread_mutex_lock(&bus_lock);
    int ngpus = b->ngpus;
    pthread_mutex_unlock(&bus_lock);
    return ngpus;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / STARPU_NS_PER_S),
                              .tv_nsec = (long)(ns % STARPU_NS_PER_S) };
}

/* What the bus did since the last question; this one counts as a question if `anew`. */
static void ask(int id, struct starpu_profiling_bus_info *info, bool anew)
{
    unsigned src = (unsigned)starpu_bus_get_src(id), dst = (unsigned)starpu_bus_get_dst(id);
    uint64_t now = orr_clock_ns(), bytes = orr_bus_moved_bytes(src, dst),
             count = orr_load_relaxed(&moves[src][dst]);
    struct bus *b = &buses[src][dst];
    pthread_mutex_lock(&bus_lock);
    if (info) {
        info->start_time = timespec_of(b->asked_ns);
        info->total_time = timespec_of(now - b->asked_ns);
        info->transferred_bytes = (long long)(bytes - b->asked_bytes);
        info->transfer_count = (int)(count - b->asked_count);
    }
    if (anew) {
        b->asked_ns = now;
        b->asked_bytes = bytes;
        b->asked_count = count;
    }
    pthread_mutex_unlock(&bus_lock);
}

int starpu_bus_get_profiling_info(int busid, struct starpu_profiling_bus_info *bus_info)
{
    if (!is_bus(busid)) return -EINVAL;
    ask(busid, bus_info, true);
    return 0;
}

void starpu_profiling_bus_helper_display_summary(void)
{
    fprintf(stderr, "%-24s %12s %10s\n", "bus", "MB", "transfers");
    for (int id = 0; id < starpu_bus_get_count(); id++) {
        struct starpu_profiling_bus_info info;
        char name[80];
        ask(id, &info, false);
        snprintf(name, sizeof name, "%s -> %s", orr_nodes[starpu_bus_get_src(id)].name,
                 orr_nodes[starpu_bus_get_dst(id)].name);
        fprintf(stderr, "%-24s %12.3f %10d\n", name, (double)info.transferred_bytes * 1e-6,
                info.transfer_count);
    }
}

void starpu_data_display_memory_stats(void)
{
    fprintf(stderr, "%-24s %12s %12s\n", "memory node", "used MB", "limit MB");
    for (unsigned n = 0; n < orr_node_count; n++) {
        fprintf(stderr, "%-24s %12.3f ", orr_nodes[n].name,
                (double)orr_load_relaxed(&orr_nodes[n].used_bytes) * 1e-6);
        if (orr_nodes[n].limit_bytes)
            fprintf(stderr, "%12.3f\n", (double)orr_nodes[n].limit_bytes * 1e-6);
        else
            fprintf(stderr, "%12s\n", "none");
    }
}
