/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 *
 * Tasks that all workers of a context run together have their data before each has come to its share. They
 * keep no rank from memory of its own that they read: else two ranks waited for each other. Threads: main,
 * and workers. Owns: its data. Not here: lent tasks (seen_lent.c), others (seen_mpi.c).
 */
#include <unistd.h>

#include "mpi/api/session.h"
#include "mpi/value/seen.h"
#include "tests/mpi/helper_mpi.h"

enum { COUNT = 16384, READ_US = 300 };

static int wrong;

static void write_body(void *buffers[], void *arg)
{
    uint64_t value, *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int i = 0; i < COUNT; i++) p[i] = value;
}

static void read_body(void *buffers[], void *arg)
{
    uint64_t value;
    const uint64_t *p = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i += 16)
            if (*(volatile const uint64_t *)&p[i] != value) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        starpu_usleep(READ_US / 2);
    }
}

static void nap_body(void *buffers[], void *arg)
{
    int us;
    (void)buffers;
    starpu_codelet_unpack_args(arg, &us);
    usleep((unsigned)us);
}

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

static starpu_data_handle_t make(starpu_mpi_tag_t tag, int owner, size_t count)
{
    starpu_data_handle_t h;
    void *memory = NULL;
    if (owner == my_rank) {
        starpu_malloc(&memory, count * sizeof(uint64_t));
        memset(memory, 0, count * sizeof(uint64_t));
    }
    starpu_vector_data_register(&h, memory ? STARPU_MAIN_RAM : -1, (uintptr_t)memory, (uint32_t)count,
                                sizeof(uint64_t));
    starpu_mpi_data_register(h, tag, owner);
    return h;
}

static void end(starpu_data_handle_t h, size_t count)
{
    void *memory = starpu_data_get_local_ptr(h);
    bool mine = starpu_mpi_data_get_rank(h) == my_rank;
    starpu_data_unregister(h);
    if (mine) starpu_free_noflag(memory, count * sizeof(uint64_t));
}

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
