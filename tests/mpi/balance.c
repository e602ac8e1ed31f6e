/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * The load balancer: data of a rank that has too much to do change their owners at the waits for all, on all
 * ranks alike, and the results are those without it.
 * Threads: main of each rank; workers sleep in tasks. Owns: the data. Not here: who gives to whom (heat.c).
 */
#include <starpu_mpi_lb.h>

#include "tests/mpi/helper_mpi.h"

enum { UNITS = 12, ROUNDS = 16 };

static starpu_data_handle_t unit[UNITS];
static int value[UNITS], asked, wrong;

static void work(void *buffers[], void *arg UNUSED)
{
    usleep(1000);
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet work_cl = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "work"
};

static void neighbours(int **ids, int *count)
{
    *ids = malloc((size_t)ranks * sizeof **ids);
    *count = 0;
    for (int r = 0; r < ranks; r++)
        if (r != my_rank) (*ids)[(*count)++] = r;
}

static void give(starpu_data_handle_t **handles, int *count, int receiver)
{
    *count = 0;
    *handles = malloc(sizeof **handles);
    asked++;
    wrong += receiver == my_rank || receiver < 0 || receiver >= ranks;
    for (int i = 0; i < UNITS && !*count; i++)
        if (starpu_mpi_data_get_rank(unit[i]) == my_rank) (*handles)[(*count)++] = unit[i];
}

static int owned(int rank)
{
    int n = 0;
    for (int i = 0; i < UNITS; i++) n += starpu_mpi_data_get_rank(unit[i]) == rank;
    return n;
}

/* All units are rank 0's; whether the values are right in the end, wherever they are. */
static int run(void)
{
    int right = 1;
    for (int i = 0; i < UNITS; i++) {
        value[i] = i;
        register_owned(&unit[i], &value[i], 10 + i, 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < UNITS; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &work_cl, STARPU_RW, unit[i], 0);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    }
    for (int i = 0; i < UNITS; i++) {
        if (starpu_mpi_data_get_rank(unit[i]) != my_rank) continue;
        starpu_data_acquire(unit[i], STARPU_R);
        right &= *(int *)starpu_data_get_local_ptr(unit[i]) == i + ROUNDS;
        starpu_data_release(unit[i]);
    }
    return right;
}

static void finish(void)
{
    for (int i = 0; i < UNITS; i++) starpu_data_unregister(unit[i]);
}

int main(int argc, char **argv)
{
    struct starpu_mpi_lb_conf conf = { neighbours, give };
    unsetenv("STARPU_MPI_LB");
    mpi_start(&argc, &argv, 1);
    fact(run() && owned(0) == UNITS, "without a balancer data stay with their owner");
    finish();
    starpu_mpi_lb_init("heat", &conf);
    fact(run(), "with one the values are the same");
    int least = UNITS, most = 0;
    for (int r = 0; r < ranks; r++) {
        if (owned(r) < least) least = owned(r);
        if (owned(r) > most) most = owned(r);
    }
    fact(least >= 2 && most <= UNITS * 2 / 3,
         "data went from the rank that had all of the load to the others");
    fact(wrong == 0 && (my_rank > 0 || asked > 0), "units are asked for by the rank that has too much to do");
    starpu_mpi_lb_shutdown();
    finish();
    asked = 0;
    fact(run() && owned(0) == UNITS && asked == 0, "after its shutdown nothing moves");
    finish();
    struct starpu_mpi_lb_conf none = { NULL, NULL };
    starpu_mpi_lb_init(my_rank == 0 ? "heat" : NULL, my_rank == 0 ? &conf : &none);
    fact(run() && owned(0) == UNITS && asked == 0, "nothing moves where not all ranks ask for it");
    finish();
    return mpi_finish();
}
