/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.h: streams of tasks to simulate: Cholesky, LU, a stencil, a random graph.
 * Threads: main.
 * Owns: struct sim_graph.
 * Not here: where tasks run (simulate.c), when (engine.h). */
#ifndef ORRERY_SIMULATE_GRAPH_H
#define ORRERY_SIMULATE_GRAPH_H

#include <stdint.h>

enum { SIM_DATA_MAX = 6, SIM_KINDS_MAX = 4 };
enum sim_mode { SIM_R = 1, SIM_W = 2, SIM_RW = 3 };

struct sim_task {
    uint8_t kind, count;
    uint8_t mode[SIM_DATA_MAX]; /* enum sim_mode */
    int32_t data[SIM_DATA_MAX];
    float length; /* at speed 1; that of the longest kind is 1 */
    float level;  /* longest path from its start to the end of the graph */
};

struct sim_graph {
    const char *name;
    const char *kinds[SIM_KINDS_MAX]; /* names of codelets */
    int kinds_count, data_count, tasks_count;
    struct sim_task *tasks; /* in the order of the stream */
    int32_t *homes;         /* rank by datum */
    double work, path;      /* sum of lengths; longest path */
    int tasks_room;
};

struct sim_graph_setup {
    const char *name; /* cholesky, lu, stencil, random */
    int size;         /* rows of tiles; random: data */
    int steps;        /* of the stencil; random: tasks for each datum */
    int ranks;        /* that data are dealt to */
    uint64_t seed;    /* of the random one */
};

/* 0, -EINVAL: no such graph, or -ENOMEM; then sim_graph_fini. */
int sim_graph_init(struct sim_graph *g, const struct sim_graph_setup *setup);
void sim_graph_fini(struct sim_graph *g);

/* The next of a row of numbers that looks random; below a limit. */
static inline uint64_t sim_random(uint64_t *state, uint64_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % limit;
}

#endif
