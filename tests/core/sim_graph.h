/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A graph with the dependencies of a tiled Cholesky factorisation, on tiles of whole numbers: each task mixes
 * all that it reads into all that it writes, so that a task that was left out, ran twice, or saw old data
 * shows in the result, which is compared with the sequential one.
 * Threads: main; bodies on workers. Owns: the tiles. Not here: devices (sim_helper.h).
 */
#ifndef ORR_TESTS_SIM_GRAPH_H
#define ORR_TESTS_SIM_GRAPH_H

#include <stdlib.h>
#include "tests/core/sim_helper.h"

enum {
    GRAPH_TILES = 6,
    GRAPH_TILE_WORDS = 1 << 12,
    GRAPH_TASKS =
        GRAPH_TILES + GRAPH_TILES * (GRAPH_TILES - 1) / 2 + GRAPH_TILES * (GRAPH_TILES * GRAPH_TILES - 1) / 6
};

typedef uint32_t graph_tile[GRAPH_TILE_WORDS];
static graph_tile graph_tiles[GRAPH_TILES][GRAPH_TILES], graph_expected[GRAPH_TILES][GRAPH_TILES];
static starpu_data_handle_t graph_handles[GRAPH_TILES][GRAPH_TILES];
static atomic_int graph_bodies;
static unsigned graph_cpu_us; /* what a task takes longer on a CPU: so devices get some */

static void graph_mix(uint32_t *to, const uint32_t *a, const uint32_t *b)
{
    for (int i = 0; i < GRAPH_TILE_WORDS; i++)
        to[i] = (to[i] * 31 + 7) ^ (a ? a[i] * 3 : 0) ^ (b ? b[GRAPH_TILE_WORDS - 1 - i] * 5 : 0);
}

static void graph_func(void *buffers[], void *arg)
{
    int reads = (int)(intptr_t)arg;
    uint32_t *at[3] = { NULL, NULL, NULL };
    for (int i = 0; i <= reads; i++) at[i] = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[i]);
    atomic_fetch_add(&graph_bodies, 1);
    if (starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER) usleep(graph_cpu_us);
    graph_mix(at[0], at[1], at[2]);
}

static struct starpu_perfmodel graph_model = { .type = STARPU_HISTORY_BASED, .symbol = "tests_sim_graph" };
#define GRAPH_CODELET(reads, ...)                                                                            \
    {                                                                                                        \
        .cpu_funcs = { graph_func }, .cuda_funcs = { graph_func }, .nbuffers = (reads) + 1,                  \
        .modes = { __VA_ARGS__ }, .model = &graph_model, .name = "graph"                                     \
    }
static struct starpu_codelet graph_cls[] = {
    GRAPH_CODELET(0, STARPU_RW),
    GRAPH_CODELET(1, STARPU_RW, STARPU_R),
    GRAPH_CODELET(2, STARPU_RW, STARPU_R, STARPU_R),
};

/* One task: reads from a and b, when they are there. Computes what is expected besides. */
static int graph_task(int i, int j, const int *a, const int *b)
{
    int reads = (a != NULL) + (b != NULL);
    struct starpu_task *task = starpu_task_create();
    task->cl = &graph_cls[reads];
    task->handles[0] = graph_handles[i][j];
    if (a) task->handles[1] = graph_handles[a[0]][a[1]];
    if (b) task->handles[2] = graph_handles[b[0]][b[1]];
    task->cl_arg = (void *)(intptr_t)reads;
    graph_mix(graph_expected[i][j], a ? graph_expected[a[0]][a[1]] : NULL,
              b ? graph_expected[b[0]][b[1]] : NULL);
    int r = starpu_task_submit(task);
    if (r) starpu_task_destroy(task);
    return r;
}

static int graph_submit(void)
{
    int failed = 0;
    for (int k = 0; k < GRAPH_TILES; k++) {
        failed |= graph_task(k, k, NULL, NULL);
        for (int i = k + 1; i < GRAPH_TILES; i++) failed |= graph_task(i, k, (int[]){ k, k }, NULL);
        for (int i = k + 1; i < GRAPH_TILES; i++)
            for (int j = k + 1; j <= i; j++)
                failed |= graph_task(i, j, (int[]){ i, k }, j == i ? NULL : (int[]){ j, k });
    }
    return failed;
}

static void graph_begin(void)
{
    atomic_store(&graph_bodies, 0);
    for (int i = 0; i < GRAPH_TILES; i++)
        for (int j = 0; j < GRAPH_TILES; j++) {
            for (int w = 0; w < GRAPH_TILE_WORDS; w++)
                graph_tiles[i][j][w] = graph_expected[i][j][w] = (uint32_t)(i * 1000003 + j * 1009 + w);
            starpu_vector_data_register(&graph_handles[i][j], STARPU_MAIN_RAM, (uintptr_t)graph_tiles[i][j],
                                        GRAPH_TILE_WORDS, sizeof(uint32_t));
        }
}

static void graph_end(void)
{
    for (int i = 0; i < GRAPH_TILES; i++)
        for (int j = 0; j < GRAPH_TILES; j++) starpu_data_unregister(graph_handles[i][j]);
}

/* Runs it `rounds` times; whether the result is the sequential one. *status_out: of submitting and waiting.
 */
UNUSED static bool graph_is_right(int rounds, int *status_out)
{
    int failed = 0;
    graph_begin();
    for (int i = 0; i < rounds; i++) failed |= graph_submit();
    failed |= starpu_task_wait_for_all();
    graph_end();
    *status_out = failed;
    return memcmp(graph_tiles, graph_expected, sizeof graph_tiles) == 0;
}

#endif
