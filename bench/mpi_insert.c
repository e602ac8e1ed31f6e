/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_insert: what starpu_mpi_task_insert costs the inserting thread of rank 0, on two ranks.
 * Threads: the main thread of both ranks.
 * Owns: the handles.
 * Not here: messages (mpi_pingpong.c).
 *
 * foreign: every handle belongs to rank 1, where the task runs: rank 0 has no part in it.
 * local: every handle belongs to rank 0; plain: the same through starpu_task_insert (both behind the gate).
 * -n tasks -k handles -r repeats -s policy */
#include <starpu_mpi.h>

#include "stream.h"

enum phase { FOREIGN, LOCAL, PLAIN, PHASES };

static void run_empty(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = { run_empty }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_R }, .name = "empty"
};
static int rank;
static long spread; /* handles per access */

static void register_handles(starpu_data_handle_t *handles, long *values)
{
    for (int owner = 0; owner < 2; owner++)
        for (long k = 3 * owner * spread; k < 3 * (owner + 1) * spread; k++) {
            int here = owner == rank;
            starpu_variable_data_register(&handles[k], here ? STARPU_MAIN_RAM : -1,
                                          here ? (uintptr_t)&values[k] : 0, sizeof *values);
            starpu_mpi_data_register(handles[k], k + 1, owner);
        }
}

/* Inserts and returns the wall time per task in us. */
static double insert(long count, enum phase phase, starpu_data_handle_t *h)
{
    double start = now();
    for (long k = 0; k < count; k++) {
        long i = k % spread;
        if (phase == PLAIN)
            starpu_task_insert(&codelet, STARPU_RW, h[i], STARPU_R, h[spread + i], STARPU_R,
                               h[2 * spread + i], 0);
        else
            starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_RW, h[i], STARPU_R, h[spread + i],
                                   STARPU_R, h[2 * spread + i], 0);
    }
    return (now() - start) / (double)count * 1e6;
}

/* Rank 1 inserts its own tasks of the foreign phase only after rank 0 was timed, so as not to compete for
 * cores. */
static double run_phase(long count, enum phase phase, starpu_data_handle_t *handles)
{
    int owner = phase == FOREIGN, has_gate = phase != FOREIGN && rank == 0;
    double us = 0;
    starpu_mpi_barrier(MPI_COMM_WORLD);
    if (phase == FOREIGN && rank == 1) starpu_mpi_barrier(MPI_COMM_WORLD);
    if (has_gate) gate_close(1);
    if (phase != PLAIN || rank == 0) us = insert(count, phase, handles + 3 * owner * spread);
    if (phase == FOREIGN && rank == 0) starpu_mpi_barrier(MPI_COMM_WORLD);
    if (has_gate) gate_open();
    starpu_task_wait_for_all();
    return us;
}

int main(int argc, char **argv)
{
    long count = option_number(argc, argv, "-n", 50000);
    int repeats = option_repeats(argc, argv), ranks;
    double us[PHASES][SAMPLES_MAX];
    struct starpu_conf conf;
    spread = option_number(argc, argv, "-k", 1000);
    fill_conf(&conf, 1, option_text(argc, argv, "-s", "eager"));
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf)) return EXIT_SKIP;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "mpi_insert needs 2 ranks\n");
        starpu_mpi_shutdown();
        return 2;
    }
    long *values = calloc(6 * (size_t)spread, sizeof *values);
    starpu_data_handle_t *handles = malloc(6 * (size_t)spread * sizeof *handles);
    register_handles(handles, values);
    for (int k = -1; k < repeats; k++)
        for (enum phase phase = FOREIGN; phase < PHASES; phase++) {
            double took = run_phase(k < 0 ? WARM_UP_TASKS : count, phase, handles);
            if (k >= 0) us[phase][k] = took;
        }
    starpu_mpi_barrier(MPI_COMM_WORLD);
    for (long k = 0; k < 6 * spread; k++) starpu_data_unregister(handles[k]);
    if (rank == 0)
        printf("mpi_insert n=%ld foreign_us=%.4f local_us=%.4f plain_us=%.4f ok\n", count,
               median(us[FOREIGN], repeats), median(us[LOCAL], repeats), median(us[PLAIN], repeats));
    fflush(stdout);
    starpu_mpi_shutdown();
    free(handles);
    free(values);
    return 0;
}
