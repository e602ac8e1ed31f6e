/* SPDX-License-Identifier: BSD-3-Clause */
/* stencil_mpi shows inferred messages: heat spreads along a rod that is cut into pieces on all ranks; tasks
 * name only their data, and the runtime sends a piece's neighbours where they are read.
 * Threads: main of
 * every rank inserts the same tasks; workers run those whose written piece the rank owns. Expected output,
 * for any number of ranks: 64 pieces, 100 steps: heat 1024, largest difference to one rank alone 0; right */
#include <math.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <string.h>

enum { PIECES = 64, CELLS = 16, STEPS = 100 };

/* next = the mean of each cell of `here` and its two neighbours; beyond both ends the rod is closed
 * (mirrored). */
static void spread(const double *left, const double *here, const double *right, double *next)
{
    for (int k = 0; k < CELLS; k++) {
        double before = k > 0 ? here[k - 1] : left ? left[CELLS - 1] : here[0];
        double after = k + 1 < CELLS ? here[k + 1] : right ? right[0] : here[CELLS - 1];
        next[k] = (before + here[k] + after) / 3.0;
    }
}

static void run_step(void *buffers[], void *args)
{
    int piece;
    double *values[4];
    starpu_codelet_unpack_args(args, &piece);
    for (int k = 0; k < 4; k++) values[k] = (double *)STARPU_VECTOR_GET_PTR(buffers[k]);
    spread(piece > 0 ? values[1] : NULL, values[2], piece + 1 < PIECES ? values[3] : NULL, values[0]);
}

static struct starpu_codelet step = { .cpu_funcs = { run_step },
                                      .nbuffers = 4,
                                      .modes = { STARPU_W, STARPU_R, STARPU_R, STARPU_R },
                                      .name = "step" };

/* The rod before the first step: all heat in one place. */
static double start_value(int cell)
{
    return cell == PIECES * CELLS / 3 ? PIECES * CELLS : 0.0;
}

/* The same computation without tasks; returns the largest difference and the sum of the heat. */
static double compare(const double *found, double *heat_out)
{
    static double rods[2][PIECES * CELLS];
    double most = 0;
    *heat_out = 0;
    for (int c = 0; c < PIECES * CELLS; c++) rods[0][c] = start_value(c);
    for (int s = 0; s < STEPS; s++)
        for (int p = 0; p < PIECES; p++) {
            double *now = rods[s % 2] + p * CELLS;
            spread(p ? now - CELLS : NULL, now, p + 1 < PIECES ? now + CELLS : NULL,
                   rods[1 - s % 2] + p * CELLS);
        }
    for (int c = 0; c < PIECES * CELLS; c++) {
        most = fmax(most, fabs(found[c] - rods[STEPS % 2][c]));
        *heat_out += found[c];
    }
    return most;
}

int main(int argc, char **argv)
{
    static double values[2][PIECES * CELLS], found[PIECES * CELLS];
    static starpu_data_handle_t handles[2][PIECES];
    int rank, ranks, is_right = 1;
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, NULL)) return 77;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    for (int c = 0; c < PIECES * CELLS; c++) values[0][c] = start_value(c);
    for (int s = 0; s < 2; s++)
        for (int p = 0; p < PIECES; p++) {
            int owner = p * ranks / PIECES, here = owner == rank;
            starpu_vector_data_register(&handles[s][p], here ? STARPU_MAIN_RAM : -1,
                                        here ? (uintptr_t)&values[s][p * CELLS] : 0, CELLS, sizeof(double));
            starpu_mpi_data_register(handles[s][p], s * PIECES + p, owner);
        }
    for (int s = 0; s < STEPS; s++)
        for (int p = 0; p < PIECES; p++) {
            starpu_data_handle_t *now = handles[s % 2];
            starpu_mpi_task_insert(MPI_COMM_WORLD, &step, STARPU_W, handles[1 - s % 2][p], STARPU_R,
                                   now[p ? p - 1 : p], STARPU_R, now[p], STARPU_R,
                                   now[p + 1 < PIECES ? p + 1 : p], STARPU_VALUE, &p, sizeof p, 0);
        }
    for (int p = 0; p < PIECES; p++) {
        starpu_data_handle_t handle = handles[STEPS % 2][p];
        starpu_mpi_get_data_on_node(MPI_COMM_WORLD, handle, 0);
        if (rank == 0) {
            starpu_data_acquire(handle, STARPU_R);
            memcpy(found + p * CELLS, starpu_data_get_local_ptr(handle), CELLS * sizeof *found);
            starpu_data_release(handle);
        }
    }
    if (rank == 0) {
        double heat, most = compare(found, &heat);
        is_right = most == 0 && fabs(heat - PIECES * CELLS) < 1e-9;
        printf("%d pieces, %d steps: heat %g, largest difference to one rank alone %g; %s\n", PIECES, STEPS,
               heat, most, is_right ? "right" : "WRONG");
    }
    for (int s = 0; s < 2; s++)
        for (int p = 0; p < PIECES; p++) starpu_data_unregister(handles[s][p]);
    starpu_mpi_shutdown();
    return !is_right;
}
