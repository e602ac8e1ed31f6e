/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 *
 * A lent task has its data where it is ready until it comes back. It keeps no rank from memory of its own
 * that it reads: the borrower's only worker would wait for that, and the task for the worker. Threads: main,
 * and a worker. Owns: its data. Not here: other tasks that keep their data (seen_kept.c).
 */
#include "mpi/api/session.h"
#include "tests/mpi/seen_tasks.h"

enum { STEPS = 1000, READERS = 6 };

static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_body }, .nbuffers = 2, .modes = { STARPU_W, STARPU_R }, .name = "write"
};
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_body }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "read"
};
static struct starpu_codelet turn_cl = {
    .cpu_funcs = { nap_body }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "turn"
};

/* Rank 0 has all readers of what rank 1 writes, and lends some to it. */
static void lent_readers(void)
{
    starpu_data_handle_t shared = make(1, 1, COUNT), gate = make(2, 0, 8), own[READERS];
    for (int i = 0; i < READERS; i++) own[i] = make(10 + i, 0, 8);
    for (uint64_t step = 0; step < STEPS; step++) {
        int us = 20;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, shared, STARPU_R, gate, STARPU_VALUE,
                               &step, sizeof step, 0);
        for (uint64_t i = 0; i < READERS; i++) {
            starpu_mpi_task_insert(MPI_COMM_WORLD, &read_cl, STARPU_R, shared, STARPU_RW, own[i],
                                   STARPU_VALUE, &step, sizeof step, 0);
            if (i != 1 + step % 3) continue;
            starpu_mpi_task_insert(MPI_COMM_WORLD, &turn_cl, STARPU_RW, gate, STARPU_VALUE, &us, sizeof us,
                                   STARPU_PRIORITY, 1, 0);
        }
        if (my_rank == 1) usleep((unsigned)(step * 7919 % 2000));
        if (step % 4 == 3) starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    end(shared, COUNT);
    end(gate, 8);
    for (int i = 0; i < READERS; i++) end(own[i], 8);
}

int main(int argc, char **argv)
{
    setenv("ORRERY_MPI_LEND", "1", 1);
    mpi_start(&argc, &argv, 1);
    lent_readers();
    fact(wrong == 0, "lent tasks read what the borrower writes, and both go on");
    fact(my_rank || orr_lend_get_counts(&orr_the_session.lend).lent > 0, "some were lent");
    return mpi_finish();
}
