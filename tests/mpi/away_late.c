/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of the program uses at home what is away while another one inserts, and is held up at the worst
 * moment: it has told of the use, and is not in the datum's queue yet. Whatever the use, what it changes is
 * lost to nobody, and nobody waits for what nobody does. Threads: one that uses the data, main inserts.
 * Owns: the data. Not here: such uses by threads that are not held up (away_calls.c). ranks: 2 3
 */
#include <orrery_mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/data/data.h"
#include "tests/mpi/helper_mpi.h"

enum { LATE_US = 20000, ROUNDS = 3, KINDS = 7, HELD = 0, WITH_ANOTHER = 6 };

static starpu_data_handle_t data[2];
static long value[2];
static atomic_int failed, told, done, may_go;
static _Thread_local bool is_late;
static int (*real_use)(struct orr_data *h, uint32_t how);

static int use_and_be_late(struct orr_data *h, uint32_t how)
{
    int r = real_use(h, how);
    if (!is_late) return r;
    told++;
    usleep(LATE_US);
    return r;
}

static void check(int r)
{
    if (r) atomic_fetch_add(&failed, 1);
}

static void add_one(void *buffers[], void *arg UNUSED)
{
    ++*(long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet add_one_cl = {
    .cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add_one"
};

static void add_ten(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 10;
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]) += 10;
}
static struct starpu_codelet add_ten_cl = {
    .cpu_funcs = { add_ten }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_RW }, .name = "add_ten"
};

static void add_ten_beside(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 10;
}
static struct starpu_codelet add_ten_beside_cl = {
    .cpu_funcs = { add_ten_beside }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add_ten_beside"
};

static void add_ten_here(void *arg UNUSED)
{
    value[0] += 10;
    starpu_data_release(data[0]);
    done = 1;
}

/* ---- what the late thread does: each adds 10 to the first datum ---- */

static void held_until_all_have_waited(void)
{
    check(starpu_data_acquire(data[0], STARPU_RW));
    value[0] += 10;
    done = 1;
    while (!may_go) usleep(500);
    starpu_data_release(data[0]);
}

static void acquired(void)
{
    check(starpu_data_acquire(data[0], STARPU_RW));
    add_ten_here(NULL);
}

static void tried(void)
{
    int r;
    while ((r = starpu_data_acquire_try(data[0], STARPU_RW)) == -EAGAIN) usleep(500);
    check(r);
    add_ten_here(NULL);
}

static void called_back(void)
{
    check(starpu_data_acquire_cb(data[0], STARPU_RW, add_ten_here, NULL));
    while (!done) usleep(500);
}

static void called_back_out_of_order(void)
{
    check(starpu_data_acquire_cb_sequential_consistency(data[0], STARPU_RW, add_ten_here, NULL, 0));
    while (!done) usleep(500);
}

static void a_task_of_its_own(void)
{
    starpu_data_handle_t mine;
    long own = 0;
    starpu_variable_data_register(&mine, STARPU_MAIN_RAM, (uintptr_t)&own, sizeof own);
    check(starpu_task_insert(&add_ten_cl, STARPU_RW, data[0], STARPU_RW, mine, 0));
    starpu_data_unregister(mine);
    done = 1;
}

static void a_task_with_another(void)
{
    check(starpu_task_insert(&add_ten_beside_cl, STARPU_RW, data[0], STARPU_R, data[1], 0));
    done = 1;
}

static void (*const kinds[KINDS])(void) = {
    held_until_all_have_waited, acquired,           tried, called_back, called_back_out_of_order,
    a_task_of_its_own,          a_task_with_another
};
static const char *const names[KINDS] = { "acquired, and held while all wait for all",
                                          "acquired",
                                          "acquired when a try succeeds",
                                          "acquired with a callback",
                                          "acquired with a callback, out of order",
                                          "written by a task of its own",
                                          "written by a task of its own, which waits for another datum" };

static void *be_late(void *kind)
{
    is_late = true;
    kinds[(intptr_t)kind]();
    return NULL;
}

static void count_on(int datum, int rank)
{
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &add_one_cl, STARPU_RW, data[datum], STARPU_EXECUTE_ON_NODE,
                                 rank, 0));
}

/* The first datum is at home on rank 0, and away on rank 1; so are its insertions. */
static void one_round(int kind)
{
    pthread_t thread;
    count_on(0, 1);
    told = done = may_go = 0;
    if (kind == WITH_ANOTHER && my_rank == 1) usleep(LATE_US); /* what uses its datum is put off elsewhere */
    if (kind == WITH_ANOTHER) count_on(1, 0);
    if (my_rank == 0) {
        if (pthread_create(&thread, NULL, be_late, (void *)(intptr_t)kind)) exit(1);
        while (!told && !done) sched_yield();
    }
    count_on(1, 0);
    if (kind != HELD) count_on(0, 1); /* or it would wait for what is released after all have waited */
    if (kind == HELD) {
        check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        while (my_rank == 0 && !done) usleep(500);
    }
    may_go = 1;
    if (my_rank == 0) pthread_join(thread, NULL);
    count_on(0, 1);
}

static void begin(void)
{
    for (int i = 0; i < 2; i++) {
        value[i] = 0;
        starpu_variable_data_register(&data[i], my_rank == i ? STARPU_MAIN_RAM : -1,
                                      my_rank == i ? (uintptr_t)&value[i] : 0, sizeof value[i]);
        starpu_mpi_data_register(data[i], 40 + i, i);
    }
}

static void late_use(int kind)
{
    begin();
    failed = 0;
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &add_one_cl, STARPU_RW, data[1], 0));
    for (int i = 0; i < ROUNDS; i++) one_round(kind);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) starpu_data_unregister(data[i]);
    int first = ROUNDS * (kind == HELD ? 12 : 13);
    fact(!failed && (my_rank != 0 || value[0] == first) &&
             (my_rank != 1 || value[1] == 1 + (kind == WITH_ANOTHER ? 2 : 1) * ROUNDS),
         "%s: nothing of it is lost", names[kind]);
    if (my_rank == 0 && value[0] != first) diag("%ld where %d was expected", value[0], first);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Places the first task; the others say where they run. */
static int to_the_first(const struct orrery_mpi_view *view UNUSED, void *arg UNUSED)
{
    return 0;
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    int moves = orrery_mpi_node_selection_register(to_the_first, NULL);
    check(moves < 0 || starpu_mpi_node_selection_set_current_policy(moves));
    real_use = orr_data_hooks.use;
    fact(!failed && real_use, "a placement of the program's own moves data");
    orr_data_hooks.use = use_and_be_late;
    for (int kind = 0; kind < KINDS; kind++) late_use(kind);
    return mpi_finish();
}
