/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 4
 *
 * The same among processes: tasks read values where their owners have them, in memory of starpu_malloc, which
 * owners write again, end and free as they like. 2 to 4 ranks, under owner-computes and dmda. Threads: main,
 * and workers. Owns: its data. Not here: each case by itself (seen.c).
 */
#include "mpi/api/session.h"
#include "mpi/value/seen.h"
#include "tests/mpi/helper_mpi.h"

enum { COUNT = 16384, DATA = 8, STEPS = 300, ROUNDS = 3 };

static int torn, wrong;

static int count_others(const uint64_t *p, uint64_t value)
{
    int others = 0;
    for (int i = 0; i < COUNT; i += 7) others += *(volatile const uint64_t *)&p[i] != value;
    return others;
}

static void write_body(void *buffers[], void *arg)
{
    uint64_t value, *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int i = 0; i < COUNT; i++) p[i] = value;
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_body }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};

static void read_body(void *buffers[], void *arg)
{
    uint64_t value;
    const uint64_t *p = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int i = 0; i < 8; i++) __atomic_fetch_add(&torn, count_others(p, value), __ATOMIC_RELAXED);
}
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_body }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};

static uint64_t state;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

/* All ranks draw the same. */
static void one_step(starpu_data_handle_t *data, uint64_t *values, uint64_t *const *memory, int step)
{
    int i = (int)draw(DATA), node = (int)draw((unsigned)ranks);
    switch (draw(12)) {
    case 0:
    case 1:
        values[i] = (uint64_t)step + 1;
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, data[i], STARPU_VALUE, &values[i],
                               sizeof values[i], 0);
        break;
    case 2:
        if (i % ranks != my_rank) break; /* which others do not see */
        starpu_data_acquire(data[i], STARPU_R);
        wrong += count_others(memory[i], values[i]);
        starpu_data_release(data[i]);
        break;
    case 3: starpu_mpi_wait_for_all(MPI_COMM_WORLD); break;
    case 4: starpu_mpi_cache_flush(MPI_COMM_WORLD, data[i]); break;
    default:
        starpu_mpi_task_insert(MPI_COMM_WORLD, &read_cl, STARPU_R, data[i], STARPU_VALUE, &values[i],
                               sizeof values[i], STARPU_EXECUTE_ON_NODE, node, 0);
    }
}

static void one_round(int round)
{
    starpu_data_handle_t data[DATA];
    uint64_t *memory[DATA] = { NULL }, values[DATA];
    for (int i = 0; i < DATA; i++) {
        bool mine = i % ranks == my_rank;
        values[i] = (uint64_t)(1000 * round + i);
        if (mine) starpu_malloc((void **)&memory[i], COUNT * sizeof *memory[i]);
        for (int k = 0; k < COUNT && mine; k++) memory[i][k] = values[i];
        starpu_vector_data_register(&data[i], mine ? STARPU_MAIN_RAM : -1, (uintptr_t)memory[i], COUNT,
                                    sizeof *memory[i]);
        starpu_mpi_data_register(data[i], 1 + i, i % ranks);
    }
    for (int step = 0; step < STEPS; step++) one_step(data, values, memory, step);
    if (round % 2) starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < DATA; i++) {
        starpu_data_unregister(data[i]);
        if (!memory[i]) continue;
        wrong += count_others(memory[i], values[i]);
        memset(memory[i], 0xee, COUNT * sizeof *memory[i]); /* others may be late, and read on */
        starpu_free_noflag(memory[i], COUNT * sizeof *memory[i]);
    }
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 2);
    state = 77;
    for (int round = 0; round < ROUNDS; round++) one_round(round);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    struct orr_view_counts c = orr_views_get_counts(&orr_the_session.value);
    struct orr_transport *t = orr_the_session.cluster.engine.transport;
    uint64_t *p = NULL;
    starpu_malloc((void **)&p, COUNT * sizeof *p);
    bool sees = t->ops->shows && t->ops->shows(t, (my_rank + 1) % ranks, p, false);
    starpu_free_noflag(p, COUNT * sizeof *p);
    fact(torn == 0, "what tasks read stays as it is");
    fact(wrong == 0, "and owners find what was written last");
    fact(c.shown > 0 || !sees, "values were read where their owners have them");
    return mpi_finish();
}
