/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 3
 *
 * Lending beside a rank whose workers are all in long kernels, so that none comes by to answer who asks: that
 * one asks another rank meanwhile, and the late answer is an answer all the same. Threads: main of each rank,
 * workers. Owns: the data. Not here: that tasks are lent (lending_mpi.c).
 */
#include <stdatomic.h>
#include <unistd.h>

#include "mpi/api/session.h"
#include "tests/mpi/helper_mpi.h"

enum { LONG = 5, SHORT = 60, NAP_US = 10000, GIVE_UP_MS = 20000, TOLD = 77 };

static int value[SHORT], made_by[SHORT];
static starpu_data_handle_t handle[SHORT], rank_handle[SHORT];
static atomic_bool in_long, in_short, open_gate, gave_up;

/* On rank 0, until the program opens the gate; borrowed: it ends. */
static void long_kernel(void *buffers[], void *unused)
{
    int *v = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    (void)unused;
    ++*v;
    atomic_store(&in_long, true);
    for (int ms = 0; my_rank == 0 && !atomic_load(&open_gate); ms++) {
        if (ms == GIVE_UP_MS) {
            atomic_store(&gave_up, true);
            return;
        }
        usleep(1000);
    }
}
static struct starpu_codelet long_cl = {
    .cpu_funcs = { long_kernel }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "long"
};

static void short_kernel(void *buffers[], void *unused)
{
    (void)unused;
    usleep(NAP_US);
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]) = my_rank;
    atomic_store(&in_short, true);
}
static struct starpu_codelet short_cl = {
    .cpu_funcs = { short_kernel }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_W }, .name = "short"
};

static void begin(starpu_data_handle_t *h, int *v, int tag, int owner)
{
    *v = 0;
    starpu_variable_data_register(h, owner == my_rank ? STARPU_MAIN_RAM : -1,
                                  owner == my_rank ? (uintptr_t)v : 0, sizeof *v);
    starpu_mpi_data_register(*h, tag, owner);
}

/* Whether rank 2 has asked this one, which has not answered. */
static bool is_asked(void)
{
    struct orr_lend *l = &orr_the_session.lend;
    bool asked = false;
    orr_spin_lock(&l->lock);
    for (uint32_t i = 0; i < l->nasks; i++) asked |= l->asks[i].peer == 2;
    orr_spin_unlock(&l->lock);
    return asked;
}

static void wait_until(bool (*what)(void))
{
    for (int ms = 0; !what() && ms < GIVE_UP_MS; ms++) usleep(1000);
}

static bool is_in_long(void)
{
    return atomic_load(&in_long);
}

static bool is_in_short(void)
{
    return atomic_load(&in_short);
}

static void tell(int rank)
{
    int none = 0;
    MPI_Send(&none, 1, MPI_INT, rank, TOLD, MPI_COMM_WORLD);
}

static void wait_for(int rank)
{
    int none;
    MPI_Recv(&none, 1, MPI_INT, rank, TOLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    starpu_data_handle_t long_handle[LONG];
    int long_value[LONG], wrong = 0, elsewhere = 0;
    setenv("ORRERY_MPI_LEND", "1", 1);
    mpi_start(&argc, &argv, 1);
    for (int i = 0; i < LONG; i++) begin(&long_handle[i], &long_value[i], i, 0);
    for (int i = 0; i < SHORT; i++) {
        begin(&handle[i], &value[i], 100 + i, 1);
        begin(&rank_handle[i], &made_by[i], 1000 + i, 1);
    }
    for (int i = 0; i < LONG; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &long_cl, STARPU_RW, long_handle[i], 0);
    if (my_rank == 0) {
        wait_until(is_in_long);
        wait_until(is_asked);
        fact(is_asked(), "a rank in long kernels is asked, and nobody comes by to answer");
        tell(1);
    } else {
        fact(1, "a rank in long kernels is asked, and nobody comes by to answer");
    }
    if (my_rank == 1) wait_for(0);
    for (int i = 0; i < SHORT; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &short_cl, STARPU_RW, handle[i], STARPU_W, rank_handle[i], 0);
    if (my_rank == 2) {
        wait_until(is_in_short);
        tell(0);
    }
    if (my_rank == 0) {
        wait_for(2);
        atomic_store(&open_gate, true);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    struct orr_lend_counts c = orr_lend_get_counts(&orr_the_session.lend);
    for (int i = 0; i < SHORT; i++) {
        starpu_data_unregister(handle[i]);
        starpu_data_unregister(rank_handle[i]);
        wrong += my_rank == 1 && value[i] != 1;
        elsewhere += my_rank == 1 && made_by[i] == 2;
    }
    for (int i = 0; i < LONG; i++) {
        starpu_data_unregister(long_handle[i]);
        wrong += my_rank == 0 && long_value[i] != 1;
    }
    fact(!atomic_load(&gave_up) && (my_rank != 1 || elsewhere > 0),
         "who asked it asks another rank meanwhile, and runs its tasks");
    fact(wrong == 0, "and results are right");
    printf("# rank %d: asked %d times, refused %d, borrowed %d, lent %d\n", my_rank, (int)c.asked,
           (int)c.refused, (int)c.borrowed, (int)c.lent);
    return mpi_finish();
}
