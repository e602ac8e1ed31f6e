/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: what happens when a stream runs on a cluster: events in the order of their time.
 * Threads: main.
 * Owns: struct sim_engine.
 * Not here: which rank a task runs on: that is told with it.
 *
 * A rank's workers take ready tasks by priority, then by their order. A message leaves through its rank's one
 * port, and arrives through the other's, one behind the other. Each rank has memory of its own for a datum:
 * what is written waits for what reads the same memory, as the runtime does. */
#ifndef ORRERY_SIMULATE_ENGINE_H
#define ORRERY_SIMULATE_ENGINE_H

#include <stdint.h>

#include "tools/simulate/graph.h"

struct sim_machine {
    int ranks, workers;   /* workers of each rank */
    const double *speeds; /* by rank */
    double unit_ns;       /* of length 1 at speed 1 */
    double latency_ns, bytes_per_ns;
    double noise;   /* lengths differ by up to so much, of one */
    double walk_ns; /* until a rank has gone past one insertion */
    int moves;      /* what is written stays where it was written, until the end */
    int trees;      /* who waits for one value gets it from those that have it already */
    uint64_t seed;
};

struct sim_result {
    uint64_t makespan_ns, messages, moved; /* moved: data that came home at the end */
    double busy;                           /* share of the workers' time */
};

struct sim_engine;

/* NULL: out of memory. Both are borrowed until sim_engine_destroy. */
struct sim_engine *sim_engine_create(const struct sim_graph *g, const struct sim_machine *m, uint64_t bytes);
void sim_engine_destroy(struct sim_engine *e);
/* One run of the stream, from data at home to data at home; ranks[k]: where task k runs. 0 or -ENOMEM. */
int sim_engine_run(struct sim_engine *e, const int32_t *ranks, struct sim_result *result_out);
/* How long task k took in that run. */
uint64_t sim_engine_length(const struct sim_engine *e, int k);
/* When it was over. */
uint64_t sim_engine_end(const struct sim_engine *e, int k);

#endif
