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
static int value[UNITS], asked, wrong, placed;
static starpu_data_handle_t cut; /* in pieces on the rank that gives it */

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
    if (cut && asked++ == 0) {
        (*handles)[(*count)++] = cut;
        return;
    }
    asked += !cut;
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

/* Others have data with the same tags on a communicator of their own; the first unit that is given is in
 * pieces. */
static void hostile(struct starpu_mpi_lb_conf *conf)
{
    static int pieces[2], twins[UNITS];
    starpu_data_handle_t twin[UNITS];
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    starpu_mpi_comm_register(own);
    for (int i = 0; i < UNITS; i++) {
        register_int(&twin[i], &twins[i]);
        starpu_mpi_data_register_comm(twin[i], 10 + i, ranks - 1, own);
    }
    starpu_vector_data_register(&cut, my_rank ? -1 : STARPU_MAIN_RAM, my_rank ? 0 : (uintptr_t)pieces, 2,
                                sizeof(int));
    starpu_mpi_data_register(cut, 90, 0);
    if (my_rank == 0) starpu_data_partition(cut, &halves);
    asked = 0;
    starpu_mpi_lb_init("heat", conf);
    fact(run() && (placed || owned(0) < UNITS),
         "data with the tags of others', on another communicator, stay apart");
    fact(starpu_mpi_data_get_rank(cut) == 0, "data in pieces stay with their owner");
    starpu_mpi_lb_shutdown();
    int kept = 0;
    for (int i = 0; i < UNITS; i++) kept += starpu_mpi_data_get_rank(twin[i]) == ranks - 1;
    fact(kept == UNITS, "those of the other communicator keep their owner");
    if (my_rank == 0) starpu_data_unpartition(cut, STARPU_MAIN_RAM);
    starpu_data_unregister(cut);
    cut = NULL;
    for (int i = 0; i < UNITS; i++) starpu_data_unregister(twin[i]);
    finish();
    MPI_Comm_free(&own);
    asked = 0;
}

int main(int argc, char **argv)
{
    struct starpu_mpi_lb_conf conf = { neighbours, give };
    unsetenv("STARPU_MPI_LB");
    /* a placement sends tasks to who has less to do, and data need not change their owner */
    const char *sched = getenv("ORRERY_MPI_SCHED");
    placed = sched && *sched && strcmp(sched, "owner") != 0;
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
    int fair = ranks > 3 ? 1 : 2;
    fact(placed || (least >= fair && most <= UNITS * 2 / 3),
         "data went from the rank that had all of the load to the others");
    fact(wrong == 0 && (placed || my_rank > 0 || asked > 0),
         "units are asked for by the rank that has too much to do");
    starpu_mpi_lb_shutdown();
    finish();
    hostile(&conf);
    fact(run() && owned(0) == UNITS && asked == 0, "after its shutdown nothing moves");
    finish();
    struct starpu_mpi_lb_conf none = { NULL, NULL };
    starpu_mpi_lb_init(my_rank == 0 ? "heat" : NULL, my_rank == 0 ? &conf : &none);
    fact(run() && owned(0) == UNITS && asked == 0, "nothing moves where not all ranks ask for it");
    finish();
    return mpi_finish();
}
