/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Data in memory of starpu_malloc, which ranks of a node copy from each other by themselves: values of all
 * sizes and shapes are right while blocks are freed and allocated again, across starts of the layer, and
 * after its end. Threads: main of each rank; workers. Owns: the data. Not here: the memory
 * (tests/core/arena.c), the copies (near.c).
 */
#include "tests/mpi/helper_mpi.h"

enum { DATA = 12, ROUNDS = SCALED(60, 15), STARTS = 2, AHEAD = 80 << 20 };

static struct datum {
    starpu_data_handle_t handle;
    uint32_t nx, ny, ld; /* of ints */
    int *block;          /* at its owner */
    int owner, version;
} data[DATA];
static _Atomic int wrong;

/* What is to be at a place of version v of datum d. */
static int value_at(int d, int v, uint32_t x, uint32_t y)
{
    return d * 1000003 + v * 7919 + (int)(y * 131 + x);
}

static void write_all(void *buffers[], void *args)
{
    int d, v;
    starpu_codelet_unpack_args(args, &d, &v);
    int *p = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    uint32_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    for (uint32_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (uint32_t x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++) p[y * ld + x] = value_at(d, v, x, y);
}

static void read_all(void *buffers[], void *args)
{
    int d, v;
    starpu_codelet_unpack_args(args, &d, &v);
    const int *p = (const int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    uint32_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    for (uint32_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (uint32_t x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
            if (p[y * ld + x] != value_at(d, v, x, y)) {
                atomic_fetch_add(&wrong, 1);
                return;
            }
}

static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_all }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_all }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};

/* The same on all ranks. */
static void begin(int d, uint64_t *seed)
{
    struct datum *a = &data[d];
    a->nx = 1 + random_below(seed, 400);
    a->ny = 1 + random_below(seed, 800);
    a->ld = a->nx + (random_below(seed, 2) ? random_below(seed, 100) : 0);
    a->owner = (int)random_below(seed, (unsigned)ranks);
    a->block = NULL;
    bool is_mine = a->owner == my_rank;
    if (is_mine && starpu_malloc((void **)&a->block, (size_t)a->ld * a->ny * sizeof(int))) exit(1);
    starpu_matrix_data_register(&a->handle, is_mine ? STARPU_MAIN_RAM : -1, (uintptr_t)a->block,
                                is_mine ? a->ld : a->nx, a->nx, a->ny, sizeof(int));
    starpu_mpi_data_register(a->handle, 100 + d, a->owner);
    starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, a->handle, STARPU_VALUE, &d, sizeof d,
                           STARPU_VALUE, &a->version, sizeof a->version, 0);
}

static void end(int d)
{
    starpu_data_unregister(data[d].handle);
    data[d].handle = NULL;
}

static void step(uint64_t *seed)
{
    int d = (int)random_below(seed, DATA), reader = (int)random_below(seed, (unsigned)ranks);
    struct datum *a = &data[d];
    switch (a->handle ? random_below(seed, 6) : 0) {
    case 0:
        if (a->handle) end(d);
        if (a->block) starpu_free(a->block);
        begin(d, seed);
        break;
    case 1:
        a->version++;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, a->handle, STARPU_VALUE, &d, sizeof d,
                               STARPU_VALUE, &a->version, sizeof a->version, 0);
        break;
    default:
        starpu_mpi_task_insert(MPI_COMM_WORLD, &read_cl, STARPU_R, a->handle, STARPU_VALUE, &d, sizeof d,
                               STARPU_VALUE, &a->version, sizeof a->version, STARPU_EXECUTE_ON_NODE, reader,
                               0);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = 5;
    void *ahead; /* so that blocks are not all at the beginning of what ranks share */
    mpi_start(&argc, &argv, 1);
    if (starpu_malloc(&ahead, AHEAD)) exit(1);
    for (int start = 0; start < STARTS; start++) {
        if (start > 0)
            fact(starpu_mpi_init_conf(&argc, &argv, 0, MPI_COMM_WORLD, NULL) == 0, "the layer starts again");
        for (int i = 0; i < ROUNDS * DATA; i++) step(&seed);
        starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        for (int d = 0; d < DATA; d++)
            if (data[d].handle) end(d);
        fact(wrong == 0, "values are whole while blocks come and go");
        if (start < STARTS - 1) starpu_mpi_shutdown();
    }
    int kept = 1;
    for (int d = 0; d < DATA; d++)
        if (data[d].block) kept &= data[d].block[0] == value_at(d, data[d].version, 0, 0);
    fact(kept, "and they are in the blocks of their owners when the data are gone");
    int status = mpi_finish();
    for (int d = 0; d < DATA; d++)
        if (data[d].block) starpu_free(data[d].block); /* after the end, too */
    starpu_free(ahead);
    return status;
}
