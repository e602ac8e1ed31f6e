/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * A thread that has what it waits for, and no core for longer than it takes to call a deadlock one: the ranks
 * go on when it comes. A signal keeps it where it stands.
 * Threads: main of each rank; in rank 0 it sends the signals. Owns: nothing. Not here: deadlocks
 * (failures.h), callbacks that take long (callbacks.c).
 */
#include <signal.h>
#include <sys/syscall.h>

#include "core/base/clock.h"
#include "tests/mpi/helper_mpi.h"

enum { DELAY_MS = 2500 }; /* 1.5 s without movement, and what ranks need to agree */

static volatile sig_atomic_t delayed;

/* Has no core that it could wait on; nothing that a handler may not call. */
static void stand_still(int signal)
{
    uint64_t until = orr_clock_ns() + DELAY_MS * UINT64_C(1000000);
    (void)signal;
    while (orr_clock_ns() < until) continue;
    delayed++;
}

int main(int argc, char **argv)
{
    int id[2], ids[2 * RANKS_MOST];
    MPI_Status status;
    mpi_start(&argc, &argv, 1);
    starpu_data_handle_t h;
    int value = my_rank == 0 ? 7 : 0;
    register_int(&h, &value);
    signal(SIGUSR1, stand_still);
    id[0] = (int)getpid();
    id[1] = (int)syscall(SYS_gettid);
    MPI_Allgather(id, 2, MPI_INT, ids, 2, MPI_INT, MPI_COMM_WORLD);
    if (my_rank == 0) {
        usleep(100000); /* the others wait */
        for (int r = 1; r < ranks; r++) syscall(SYS_tgkill, ids[2 * r], ids[2 * r + 1], SIGUSR1);
        usleep(10000);
        for (int r = 1; r < ranks; r++) starpu_mpi_send(h, r, 5, MPI_COMM_WORLD);
    } else {
        starpu_mpi_recv(h, 0, 5, MPI_COMM_WORLD, &status);
    }
    starpu_mpi_barrier(MPI_COMM_WORLD);
    fact(delayed == (my_rank > 0), "ranks whose threads come late are waited for: it is no deadlock");
    starpu_data_acquire(h, STARPU_R);
    fact(value == 7, "what came meanwhile is there");
    starpu_data_release(h);
    starpu_data_unregister(h);
    return mpi_finish();
}
