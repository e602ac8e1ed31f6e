/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * three_ways: one program whose tasks are placed over a cluster by an exact order, by models, or by a plan.
 *   mpirun -n 2 three_ways order                       each task names its worker and its place there
 *   ORRERY_MPI_SCHED=dmda mpirun -n 2 three_ways       placed by what tasks take and data cost to move
 *   ORRERY_PLAN_RECORD=p mpirun -n 2 three_ways        placed where data are owned, and recorded;
 *   ORRERY_MPI_SCHED=plan:p mpirun -n 2 three_ways     the same schedule again, exactly
 * The result is the same each time. Threads: main of each rank inserts. Owns: its blocks.
 * Not here: what plans are (doc/PLANS.md).
 */
#include <orrery.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, LENGTH = 1000, STEPS = 40 };

static double blocks[BLOCKS][LENGTH];
static starpu_data_handle_t handles[BLOCKS];

/* Each element of a block goes towards the mean of the neighbours. */
static void smooth(void *buffers[], void *arg)
{
    double *own = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const double *left = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]);
    const double *right = (const double *)STARPU_VECTOR_GET_PTR(buffers[2]);
    (void)arg;
    for (int i = 0; i < LENGTH; i++) own[i] = own[i] / 2 + (left[i] + right[i]) / 4;
}

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "three_ways_smooth" };
static struct starpu_codelet smooth_cl = { .cpu_funcs = { smooth },
                                           .cpu_funcs_name = { "smooth" },
                                           .nbuffers = 3,
                                           .modes = { STARPU_RW, STARPU_R, STARPU_R },
                                           .model = &model,
                                           .name = "smooth" };

static void sum(void *buffers[], void *arg)
{
    const double *block = (const double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    double *total = (double *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    (void)arg;
    for (int i = 0; i < LENGTH; i++) *total += block[i];
}
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum },
                                        .cpu_funcs_name = { "sum" },
                                        .nbuffers = 2,
                                        .modes = { STARPU_R, STARPU_RW },
                                        .name = "sum" };

/* A worker of the cluster for each block, and how many tasks each was given. */
static unsigned given[1 << 16];

static int insert_smooth(int block, int exact)
{
    int count = orrery_cluster_worker_get_count(), worker = exact ? block % count : -1;
    unsigned order = exact && worker < 1 << 16 ? ++given[worker] : 0;
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &smooth_cl, STARPU_RW, handles[block], STARPU_R,
                                  handles[(block + BLOCKS - 1) % BLOCKS], STARPU_R,
                                  handles[(block + 1) % BLOCKS], ORRERY_EXECUTE_ON_CLUSTER_WORKER, worker,
                                  STARPU_WORKER_ORDER, order, 0);
}

/* 0: sums up to *total on rank 0. */
static int compute(int rank, int ranks, int exact, double *total)
{
    starpu_data_handle_t result;
    int failed = 0;
    for (int b = 0; b < BLOCKS; b++) {
        int mine = b % ranks == rank;
        for (int i = 0; i < LENGTH; i++) blocks[b][i] = b * i % 17;
        starpu_vector_data_register(&handles[b], mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)blocks[b] : 0,
                                    LENGTH, sizeof(double));
        starpu_mpi_data_register(handles[b], b, b % ranks);
    }
    starpu_variable_data_register(&result, rank ? -1 : STARPU_MAIN_RAM, rank ? 0 : (uintptr_t)total,
                                  sizeof *total);
    starpu_mpi_data_register(result, BLOCKS, 0);
    for (int step = 0; step < STEPS; step++)
        for (int b = 0; b < BLOCKS; b++) failed |= insert_smooth(b, exact);
    for (int b = 0; b < BLOCKS; b++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &sum_cl, STARPU_R, handles[b], STARPU_RW, result, 0);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int b = 0; b < BLOCKS; b++) starpu_data_unregister(handles[b]);
    starpu_data_unregister(result);
    return failed;
}

int main(int argc, char **argv)
{
    int exact = argc > 1 && !strcmp(argv[1], "order"), rank, ranks;
    double total = 0;
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, NULL)) return 1;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    const char *how = exact ? "exact order" : getenv("ORRERY_MPI_SCHED");
    int workers = orrery_cluster_worker_get_count(), failed = compute(rank, ranks, exact, &total);
    if (!rank) printf("%s: sum %.6f, %d workers on %d ranks\n", how ? how : "owner", total, workers, ranks);
    failed |= starpu_mpi_shutdown();
    return failed != 0;
}
