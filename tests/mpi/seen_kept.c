/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 *
 * Tasks that all workers of a context run together have their data before each has come to its share. They
 * keep no rank from memory of its own that they read: else two ranks waited for each other. Threads: main,
 * and workers. Owns: its data. Not here: lent tasks (seen_lent.c), others (seen_mpi.c).
 */
#include "tests/mpi/seen_tasks.h"

static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_body }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "read"
};
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_body }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};
static struct starpu_codelet nap_cl = {
    .cpu_funcs = { nap_body }, .nbuffers = 1, .modes = { STARPU_W }, .name = "nap"
};
static struct starpu_codelet idle_cl = { .cpu_funcs = { nap_body }, .nbuffers = 0, .name = "idle" };

/* On each rank a task of both workers reads the other's datum: its first share has it, while the second waits
 * behind a task that writes the own one. */
static void together(void)
{
    enum { BUSY_US = 100000, LATE_US = 40000 };
    int ids[2] = { 0, 1 }, busy = BUSY_US, late = LATE_US;
    uint64_t first = 1, second = 2;
    unsigned ctx = starpu_sched_ctx_create(ids, 2, "group", STARPU_SCHED_CTX_AWAKE_WORKERS, 0);
    starpu_data_handle_t x[2], z[2];
    for (int i = 0; i < 2; i++) {
        x[i] = make(50 + i, i, COUNT);
        z[i] = make(60 + i, i, 8);
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, x[i], STARPU_VALUE, &first, sizeof first,
                               0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &nap_cl, STARPU_W, z[i], STARPU_VALUE, &late, sizeof late,
                               STARPU_EXECUTE_ON_WORKER, 0, 0);
    starpu_task_insert(&idle_cl, STARPU_VALUE, &busy, sizeof busy, STARPU_EXECUTE_ON_WORKER, 1, 0);
    usleep(LATE_US / 4);
    for (int i = 0; i < 2; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &read_cl, STARPU_R, x[i], STARPU_RW, z[1 - i], STARPU_VALUE,
                               &first, sizeof first, STARPU_EXECUTE_ON_NODE, 1 - i, STARPU_SCHED_CTX, ctx, 0);
    usleep(LATE_US / 4);
    for (int i = 0; i < 2; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, x[i], STARPU_VALUE, &second,
                               sizeof second, STARPU_PRIORITY, 1, STARPU_EXECUTE_ON_WORKER, 1, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        end(x[i], COUNT);
        end(z[i], 8);
    }
    starpu_sched_ctx_delete(ctx);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 2);
    together();
    fact(wrong == 0, "tasks of all workers of a context, which read each other's data across ranks, end");
    return mpi_finish();
}
