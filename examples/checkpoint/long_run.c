/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A long run that can be cut off: every few steps it takes a checkpoint, and started again it goes on there.
 * Threads: main of each rank; kernels on workers. Owns: a ring of vectors, one a rank, and the step.
 * Not here: what the steps are good for.
 *
 *     mpirun -n 2 long_run 400 250                                    ends at step 250, as if it had crashed
 *     ORRERY_CHECKPOINT_RESTART=orrery-checkpoints mpirun -n 2 long_run 400
 *     goes on from step 240 (checkpoint 24)
 *     step 400: right
 */
#include <starpu_mpi_ft.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LENGTH = 1000, EVERY = 10 };

/* Each element takes the one beside it, of the next rank's vector, and the step. */
static unsigned next_value(unsigned own, unsigned other, unsigned step)
{
    return own * 5 + other + step;
}

static void advance(void *buffers[], void *arg)
{
    unsigned *own = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]), n = STARPU_VECTOR_GET_NX(buffers[0]), step;
    const unsigned *other = (const unsigned *)STARPU_VECTOR_GET_PTR(buffers[1]);
    starpu_codelet_unpack_args(arg, &step);
    for (unsigned i = 0; i < n; i++) own[i] = next_value(own[i], other[(i + 1) % n], step);
}
static struct starpu_codelet advance_cl = {
    .cpu_funcs = { advance }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "advance"
};

static int ranks, rank;

static int backup_of(int r)
{
    return (r + 1) % ranks;
}

/* The same on one rank alone: the first element of rank 0's vector. */
static unsigned expected(unsigned steps)
{
    unsigned *v = calloc((size_t)ranks * LENGTH, sizeof *v), first;
    for (unsigned step = 0; step < steps; step++)
        for (int r = 0; r < ranks; r++)
            for (int i = 0, other = (r + 1) % ranks; i < LENGTH && ranks > 1; i++)
                v[r * LENGTH + i] = next_value(v[r * LENGTH + i], v[other * LENGTH + (i + 1) % LENGTH], step);
    first = v[0];
    free(v);
    return first;
}

int main(int argc, char **argv)
{
    unsigned steps = argc > 1 ? (unsigned)atoi(argv[1]) : 100, crash = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    unsigned step = 0, right = 1;
    unsigned long instance;
    starpu_mpi_checkpoint_template_t checkpoint;
    if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, NULL) != 0) return 1;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);

    unsigned *mine = calloc(LENGTH, sizeof *mine);
    starpu_data_handle_t *vector = malloc((size_t)ranks * sizeof(*vector));
    for (int r = 0; r < ranks; r++) {
        starpu_vector_data_register(&vector[r], r == rank ? STARPU_MAIN_RAM : -1,
                                    r == rank ? (uintptr_t)mine : 0, LENGTH, sizeof *mine);
        starpu_mpi_data_register(vector[r], r, r);
    }

    /* What a checkpoint has: all vectors, and the step, which each rank keeps for itself. */
    if (starpu_mpi_checkpoint_template_register(&checkpoint, 1, 0, STARPU_DATA_ARRAY, vector, ranks, 0,
                                                STARPU_VALUE, &step, sizeof step, (starpu_mpi_tag_t)0,
                                                backup_of, 0) ||
        orrery_mpi_checkpoint_restart(checkpoint, &instance))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0 && instance) printf("goes on from step %u (checkpoint %lu)\n", step, instance);

    while (step < steps) {
        for (int r = 0; r < ranks && ranks > 1; r++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &advance_cl, STARPU_RW, vector[r], STARPU_R,
                                   vector[(r + 1) % ranks], STARPU_VALUE, &step, sizeof step, 0);
        if (++step == crash) {
            orrery_mpi_checkpoint_wait(checkpoint); /* a real crash would find the last or the one before */
            fflush(NULL);
            _exit(0);
        }
        if (step % EVERY == 0) starpu_mpi_checkpoint_template_submit(checkpoint, 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    orrery_mpi_checkpoint_discard(checkpoint); /* the run is over */

    for (int r = 0; r < ranks; r++) starpu_data_unregister(vector[r]);
    if (rank == 0) right = mine[0] == expected(steps);
    if (rank == 0) printf("step %u: %s\n", step, right ? "right" : "WRONG");
    starpu_mpi_shutdown();
    free(vector);
    free(mine);
    return !right;
}
