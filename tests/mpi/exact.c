/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Exact schedules: workers of the whole cluster by number, and orders on them.
 * Threads: main of each rank inserts; one worker on rank 0, two on the others execute.
 * Owns: what each worker of this rank executed, in order.
 * Not here: orders on one rank (core/workerorder.c), orders that cannot run (failures_orders.c).
 */
#include <orrery.h>

#include "tests/mpi/helper_mpi.h"

enum { MOST = 200, WORKERS = 2 };

static int done[WORKERS][MOST];
static int done_count[WORKERS];

static void log_func(void *buffers[] UNUSED, void *arg)
{
    int number, worker = starpu_worker_get_id();
    starpu_codelet_unpack_args(arg, &number);
    if (worker >= 0 && worker < WORKERS && done_count[worker] < MOST)
        done[worker][done_count[worker]++] = number;
}
static struct starpu_codelet log_cl = { .cpu_funcs = { log_func }, .name = "log" };

static int count_on(int rank)
{
    return rank ? 2 : 1;
}

static void numbers(void)
{
    int count = 1 + 2 * (ranks - 1), first = my_rank ? 1 + 2 * (my_rank - 1) : 0, wrong = 0, seen = 0;
    fact(orrery_cluster_worker_get_count() == count, "every rank knows how many workers the cluster has");
    fact(orrery_cluster_worker_get_count_by_type(STARPU_CPU_WORKER) == count &&
             orrery_cluster_worker_get_count_by_type(STARPU_CUDA_WORKER) == 0,
         "and how many there are of a type");
    fact(orrery_cluster_worker_get_first() == first, "numbers go rank by rank");
    fact(orrery_cluster_worker_get_id() == -1, "main is no worker");
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < count_on(r); i++, seen++) {
            char name[32] = "", expected[32];
            snprintf(expected, sizeof expected, "CPU %d", i);
            wrong += orrery_cluster_worker_get_number(r, i) != seen ||
                     orrery_cluster_worker_get_rank(seen) != r ||
                     orrery_cluster_worker_get_local_id(seen) != i ||
                     orrery_cluster_worker_get_type(seen) != STARPU_CPU_WORKER ||
                     orrery_cluster_worker_get_name(seen, name, sizeof name) || strcmp(name, expected);
        }
    fact(wrong == 0 && seen == count, "a number tells rank, worker there, type and name, and they tell it");
}

static void wrong_numbers(void)
{
    char name[8];
    int count = orrery_cluster_worker_get_count();
    struct starpu_task *task = starpu_task_create();
    fact(orrery_cluster_worker_get_rank(count) == -EINVAL && orrery_cluster_worker_get_rank(-1) == -EINVAL &&
             orrery_cluster_worker_get_local_id(count) == -EINVAL &&
             orrery_cluster_worker_get_number(ranks, 0) == -EINVAL &&
             orrery_cluster_worker_get_number(0, 1) == -EINVAL &&
             orrery_cluster_worker_get_number(-1, 0) == -EINVAL &&
             orrery_cluster_worker_get_name(0, NULL, 3) == -EINVAL &&
             orrery_cluster_worker_get_name(count, name, sizeof name) == -EINVAL &&
             orrery_task_set_cluster_worker(task, count) == -EINVAL &&
             orrery_task_set_cluster_worker(NULL, 0) == -EINVAL,
         "numbers that no worker has are refused");
    starpu_task_destroy(task);
    fact(starpu_mpi_task_insert(MPI_COMM_WORLD, &log_cl, ORRERY_EXECUTE_ON_CLUSTER_WORKER, count, 0) ==
             -EINVAL,
         "also by an insertion, on all ranks");
}

static void clear(void)
{
    memset(done_count, 0, sizeof done_count);
}

/* Whether each worker here ran n tasks whose numbers rise from 1. */
static int in_order(int n)
{
    int wrong = 0;
    for (int w = 0; w < count_on(my_rank); w++) {
        wrong += done_count[w] != n;
        for (int i = 0; i < n && i < done_count[w]; i++) wrong += done[w][i] != i + 1;
    }
    return wrong == 0;
}

static void static_order(void)
{
    enum { N = 40 };
    static unsigned base;
    int failed = 0, count = orrery_cluster_worker_get_count();
    clear();
    for (int i = N; i >= 1; i--)
        for (int w = 0; w < count; w++)
            failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &log_cl, STARPU_VALUE, &i, sizeof i,
                                             ORRERY_EXECUTE_ON_CLUSTER_WORKER, w, STARPU_WORKER_ORDER,
                                             base + (unsigned)i, STARPU_EXECUTE_ON_NODE, 0, 0);
    starpu_task_wait_for_all();
    fact(!failed && in_order(N), "a number and an order give rank, worker and place in its order, whatever "
                                 "STARPU_EXECUTE_ON_NODE says");
    base += N;
}

static void on_other_communicator(void)
{
    MPI_Comm reversed;
    int failed = 0, count = orrery_cluster_worker_get_count(), one = 1;
    clear();
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - my_rank, &reversed);
    for (int w = 0; w < count; w++)
        failed |= starpu_mpi_task_insert(reversed, &log_cl, STARPU_VALUE, &one, sizeof one,
                                         ORRERY_EXECUTE_ON_CLUSTER_WORKER, w, 0);
    starpu_task_wait_for_all();
    fact(!failed && in_order(1),
         "a number means the same worker on a communicator that counts ranks otherwise");
    MPI_Comm_free(&reversed);
}

static void by_hand(void)
{
    int failed = 0, count = orrery_cluster_worker_get_count();
    clear();
    for (int w = 0; w < count; w++) {
        struct starpu_task *task = starpu_task_create();
        int one = 1;
        task->cl = &log_cl;
        starpu_codelet_pack_args(&task->cl_arg, &task->cl_arg_size, STARPU_VALUE, &one, sizeof one, 0);
        task->cl_arg_free = 1;
        if (orrery_task_set_cluster_worker(task, w) == my_rank)
            failed |= starpu_task_submit(task);
        else
            starpu_task_destroy(task);
    }
    starpu_task_wait_for_all();
    fact(!failed && in_order(1), "a task made by hand is bound to a worker of the cluster where that is");
}

static void on_several_ranks(void)
{
    int nodes[2] = { 0, 1 };
    fact(starpu_mpi_tasks_insert(MPI_COMM_WORLD, &log_cl, 2, nodes, ORRERY_EXECUTE_ON_CLUSTER_WORKER, 0, 0) ==
             -EINVAL,
         "a task for several ranks is refused a worker of the cluster");
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    fact(orrery_cluster_worker_get_count() == -ESHUTDOWN, "before the layer runs there is no cluster");
    mpi_start(&argc, &argv, rank ? count_on(atoi(rank)) : 1);
    numbers();
    wrong_numbers();
    static_order();
    on_other_communicator();
    by_hand();
    on_several_ranks();
    return mpi_finish();
}
