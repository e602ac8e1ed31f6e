/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 4
 *
 * ORRERY_MPI_LEND=1 over MPI: ranks without work run tasks of one that has much, and the results come home;
 * where the work is even, too. Threads: main of each rank, workers. Owns: the data.
 * Not here: the messages of a loan, one by one (lending.c).
 */
#include <unistd.h>

#include "mpi/api/session.h"
#include "tests/mpi/helper_mpi.h"

enum { TASKS = 80, EVEN = 30, VALUES = 64, NAP_US = 3000 };

/* value[0] += step; value[1] = the rank that ran it */
static void work(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), step;
    starpu_codelet_unpack_args(arg, &step);
    for (int i = 2; i < VALUES; i++) v[i] += step * i;
    v[0] += step;
    v[1] = my_rank;
    usleep(NAP_US);
}
static struct starpu_codelet work_cl = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "work"
};

static int value[TASKS][VALUES];
static starpu_data_handle_t handle[TASKS];

static void register_values(int count, int owner_of_all)
{
    for (int i = 0; i < count; i++) {
        int owner = owner_of_all >= 0 ? owner_of_all : i % ranks;
        memset(value[i], 0, sizeof value[i]);
        starpu_vector_data_register(&handle[i], owner == my_rank ? STARPU_MAIN_RAM : -1,
                                    owner == my_rank ? (uintptr_t)value[i] : 0, VALUES, sizeof value[i][0]);
        starpu_mpi_data_register(handle[i], i, owner);
    }
}

static void insert_all(int count, int steps)
{
    for (int step = 1; step <= steps; step++)
        for (int i = 0; i < count; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &work_cl, STARPU_RW, handle[i], STARPU_VALUE, &step,
                                   sizeof step, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) starpu_data_unregister(handle[i]);
}

static struct orr_lend_counts counts_now(void)
{
    return orr_lend_get_counts(&orr_the_session.lend);
}

/* Of this rank's values, after so many steps: how many are wrong; *elsewhere_out: were made elsewhere last.
 */
static int count_wrong(int count, int owner_of_all, int steps, int *elsewhere_out)
{
    int wrong = 0, sum = steps * (steps + 1) / 2;
    for (int i = 0; i < count; i++) {
        if (my_rank != (owner_of_all >= 0 ? owner_of_all : i % ranks)) continue;
        wrong += value[i][0] != sum;
        for (int k = 2; k < VALUES; k++) wrong += value[i][k] != sum * k;
        *elsewhere_out += value[i][1] != my_rank;
    }
    return wrong;
}

static void one_has_all(void)
{
    int elsewhere = 0;
    register_values(TASKS, 0);
    insert_all(TASKS, 3);
    struct orr_lend_counts c = counts_now();
    int wrong = count_wrong(TASKS, 0, 3, &elsewhere);
    printf("# rank %d: asked %d times, refused %d; borrowed %d, lent %d, undone %d\n", my_rank, (int)c.asked,
           (int)c.refused, (int)c.borrowed, (int)c.lent, (int)c.undone);
    fact(wrong == 0, "tasks that other ranks ran have the right results");
    fact(my_rank != 0 || (elsewhere > 0 && c.lent > 0),
         "ranks without work ran tasks of the one that had all");
    fact(my_rank == 0 || c.lent == 0, "who has nothing lends nothing");
}

/* Cores that others want as well make work uneven, so some may be lent. */
static void even(void)
{
    struct orr_lend_counts before = counts_now();
    int elsewhere = 0, count = EVEN / 2 * (ranks < 5 ? ranks : 5);
    register_values(count, -1);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    insert_all(count, 2);
    struct orr_lend_counts after = counts_now();
    printf("# rank %d: asked %d times in the even part, lent %d\n", my_rank,
           (int)(after.asked - before.asked), (int)(after.lent - before.lent));
    fact(count_wrong(count, -1, 2, &elsewhere) == 0, "where all have as much, results are right");
}

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_LEND", "1", 1);
    mpi_start(&argc, &argv, 1);
    one_has_all();
    even();
    return mpi_finish();
}
