/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 4 */
/*
 * One value that tasks on several ranks wait for, under owner-computes: its owner sends it to two, and they
 * pass it on; small ones, and where it is switched off, it sends to each. Who sends is counted on every rank.
 * And that tasks which write it next, ranks that come late and flushes find what they should. Threads: main
 * of each rank. Owns: the data of the cases. Not here: the protocol (spread.c).
 */
#include "tests/mpi/helper_mpi.h"

enum { WORDS = 32768, STEPS = 6, LATE_US = 30000 };

static uint64_t *memory;
static struct gate gate;
static atomic_int wrong;

static void write_func(void *buffers[], void *arg)
{
    uint64_t *v = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), step;
    starpu_codelet_unpack_args(arg, &step);
    if (step == 0) gate_pass(&gate);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = step * 1000003 + i;
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};

static void read_func(void *buffers[], void *arg)
{
    const uint64_t *v = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint64_t step;
    starpu_codelet_unpack_args(arg, &step);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        if (v[i] != step * 1000003 + i) atomic_fetch_add(&wrong, 1);
}
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};

static starpu_data_handle_t make(size_t words, int tag)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, my_rank ? -1 : STARPU_MAIN_RAM, my_rank ? 0 : (uintptr_t)memory,
                                (uint32_t)words, sizeof *memory);
    starpu_mpi_data_register(h, tag, 0);
    return h;
}

/* Each rank leaves out tasks in which it has no part. */
static void write_it(starpu_data_handle_t h, uint64_t step)
{
    if (my_rank == 0)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &write_cl, STARPU_W, h, STARPU_VALUE, &step, sizeof step, 0);
    else
        starpu_mpi_cache_flush(MPI_COMM_WORLD, h); /* this one does not see that it is written */
}

static void read_it(starpu_data_handle_t h, uint64_t step, int rank)
{
    if (my_rank == 0 || my_rank == rank)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &read_cl, STARPU_R, h, STARPU_VALUE, &step, sizeof step,
                               STARPU_EXECUTE_ON_NODE, rank, 0);
}

static size_t count_sent(void)
{
    size_t bytes[16], sum = 0;
    starpu_mpi_comm_stats_retrieve(bytes);
    for (int i = 0; i < ranks && i < 16; i++) sum += bytes[i];
    return sum;
}

/* The owner's task is held up until all ranks have inserted theirs. Returns how many values this rank sent.
 */
static size_t one_value(size_t words, int tag)
{
    starpu_data_handle_t h = make(words, tag);
    atomic_store(&gate.open, 0);
    size_t before = count_sent();
    write_it(h, 0);
    for (int rank = 1; rank < ranks; rank++) read_it(h, 0, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&gate.open, 1);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    size_t sent = (count_sent() - before) / (words * sizeof *memory);
    starpu_data_unregister(h);
    return sent;
}

/* Written and read again and again; some ranks are late. */
static void many_values(void)
{
    starpu_data_handle_t h = make(WORDS, 50);
    for (uint64_t step = 1; step <= STEPS; step++) {
        if (my_rank == (int)(step % (uint64_t)ranks)) usleep(LATE_US);
        write_it(h, step);
        for (int rank = 1; rank < ranks; rank++) read_it(h, step, rank);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(h);
}

/* ---- data with gaps, of some MiB; who has it from another lets go of it at once ---- */

enum { NX = 500, NY = 300, LD = 507, ROUNDS = 4 };

static void write_matrix(void *buffers[], void *arg)
{
    uint64_t *v = (uint64_t *)STARPU_MATRIX_GET_PTR(buffers[0]), step;
    size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    starpu_codelet_unpack_args(arg, &step);
    if (step == 0) gate_pass(&gate);
    for (size_t y = 0; y < NY; y++)
        for (size_t x = 0; x < NX; x++) v[y * ld + x] = step * 7 + y * 1000 + x;
}
static struct starpu_codelet write_matrix_cl = {
    .cpu_funcs = { write_matrix }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write matrix"
};

static void read_matrix(void *buffers[], void *arg)
{
    const uint64_t *v = (const uint64_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
    size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    uint64_t step;
    starpu_codelet_unpack_args(arg, &step);
    for (size_t y = 0; y < NY; y++)
        for (size_t x = 0; x < NX; x++)
            if (v[y * ld + x] != step * 7 + y * 1000 + x) atomic_fetch_add(&wrong, 1);
}
static struct starpu_codelet read_matrix_cl = {
    .cpu_funcs = { read_matrix }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read matrix"
};

/* Every other rank has gaps of its own. */
static void with_gaps(void)
{
    uint64_t *own = calloc(LD * NY, sizeof *own);
    starpu_data_handle_t h;
    int gaps = my_rank % 2 == 0;
    for (size_t i = 0; i < LD * NY; i++) own[i] = 99;
    starpu_matrix_data_register(&h, gaps ? STARPU_MAIN_RAM : -1, gaps ? (uintptr_t)own : 0, gaps ? LD : NX,
                                NX, NY, sizeof *own);
    starpu_mpi_data_register(h, 60, 0);
    for (uint64_t step = 0; step < ROUNDS; step++) {
        atomic_store(&gate.open, step > 0);
        if (my_rank == 0)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &write_matrix_cl, STARPU_W, h, STARPU_VALUE, &step,
                                   sizeof step, 0);
        else if (step > 0)
            starpu_mpi_cache_flush(MPI_COMM_WORLD, h);
        for (int rank = 1; rank < ranks; rank++)
            if (my_rank == 0 || my_rank == rank)
                starpu_mpi_task_insert(MPI_COMM_WORLD, &read_matrix_cl, STARPU_R, h, STARPU_VALUE, &step,
                                       sizeof step, STARPU_EXECUTE_ON_NODE, rank, 0);
        if (step == 0) MPI_Barrier(MPI_COMM_WORLD);
        atomic_store(&gate.open, 1);
    }
    starpu_data_unregister_submit(h);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    int kept = 1;
    for (size_t y = 0; y < NY; y++) kept &= own[y * LD + NX] == 99;
    fact(!atomic_load(&wrong) && kept, "a value with gaps is passed on, and what is between stays");
    free(own);
}

/* To how many ranks the owner sends a large value by itself: two at most, and all that take it out of its
 * memory. */
static size_t sends_of_owner(void)
{
    const char *near = getenv("ORRERY_MPI_NEAR");
    size_t all = (size_t)ranks - 1, group = near ? strtoul(near, NULL, 10) : all + 1;
    size_t beside = group > all ? all : group > 1 ? group - 1 : 0, others = all - beside;
    return beside + (others < 2 ? others : 2);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    memory = calloc(WORDS, sizeof *memory);

    starpu_mpi_comm_stats_enable();
    size_t sent = one_value(WORDS, 40), small = one_value(100, 41);
    size_t all = (size_t)ranks - 1, sum = 0;
    MPI_Allreduce(&sent, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    fact(my_rank || sent == sends_of_owner() || (all > 2 && sent == 2),
         "the owner of a large value sends it to two ranks at most, but those that fetch it");
    fact(sum == all, "the others get it from those, and each gets it once");
    fact(small == (my_rank ? 0 : all), "a small one comes from its owner");
    many_values();
    with_gaps();
    starpu_mpi_shutdown();
    starpu_mpi_coop_sends_set_use(0);
    fact(starpu_mpi_init_conf(&argc, &argv, 0, MPI_COMM_WORLD, NULL) == 0, "the layer starts again");
    starpu_mpi_comm_stats_enable();
    sent = one_value(WORDS, 40);
    fact(sent == (my_rank ? 0 : all), "where it is switched off its owner sends it to each");
    fact(!atomic_load(&wrong), "each task reads the value of its place, whoever is late");
    free(memory);
    return mpi_finish();
}
