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

enum { LATE_US = 20000, ROUNDS = 3, KINDS = 9, HELD = 0, WITH_ANOTHER = 7 };

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
static struct starpu_codelet add_ten_beside_cl = { .cpu_funcs = { add_ten_beside },
                                                   .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                                   .name = "add_ten_beside" };

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

static void a_job_of_a_list(void)
{
    struct orrery_joblist *list = orrery_joblist_create("late", 0);
    struct starpu_task *t = starpu_task_build(&add_ten_beside_cl, STARPU_RW, data[0], 0);
    check(!list || !t || orrery_joblist_add_job(list, t));
    check(orrery_joblist_wait_for_all(list));
    orrery_joblist_destroy(list);
    done = 1;
}

static void a_task_with_another(void)
{
    check(starpu_task_insert(&add_ten_beside_cl, STARPU_RW, data[0], STARPU_R, data[1], 0));
    done = 1;
}

/* Which it writes, though it is another rank's: what that rank gets is the value from before. */
static void a_task_with_a_guest(void)
{
    check(starpu_task_insert(&add_ten_beside_cl, STARPU_RW, data[0], STARPU_RW, data[1], 0));
    done = 1;
}

static const struct {
    void (*use)(void);
    const char *name;
} kinds[KINDS] = { { held_until_all_have_waited, "acquired, and held while all wait for all" },
                   { acquired, "acquired" },
                   { tried, "acquired when a try succeeds" },
                   { called_back, "acquired with a callback" },
                   { called_back_out_of_order, "acquired with a callback, out of order" },
                   { a_task_of_its_own, "written by a task of its own" },
                   { a_job_of_a_list, "written by a job of a list" },
                   { a_task_with_another, "written by a task of its own, which waits for another datum" },
                   { a_task_with_a_guest, "the same, and it writes that, too" } };

static void *be_late(void *kind)
{
    is_late = true;
    kinds[(intptr_t)kind].use();
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
    if (kind >= WITH_ANOTHER && my_rank == 1) usleep(LATE_US); /* what uses its datum is put off elsewhere */
    if (kind >= WITH_ANOTHER) count_on(1, 0);
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

static void finish(long first, long second, const char *what)
{
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) starpu_data_unregister(data[i]);
    fact(!failed && (my_rank != 0 || value[0] == first) && (my_rank != 1 || value[1] == second), "%s", what);
    if (my_rank == 0 && value[0] != first) diag("%ld where %ld was expected", value[0], first);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void late_use(int kind)
{
    char what[160];
    begin();
    failed = 0;
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &add_one_cl, STARPU_RW, data[1], 0));
    for (int i = 0; i < ROUNDS; i++) one_round(kind);
    snprintf(what, sizeof what, "%s: nothing of it is lost", kinds[kind].name);
    finish(ROUNDS * (kind == HELD ? 12 : 13), 1 + ROUNDS * (kind >= WITH_ANOTHER ? 2 : 1), what);
}

/* ---- the late thread in functions of the program, and where the inserting one waits ---- */

static pthread_mutex_t programs = PTHREAD_MUTEX_INITIALIZER;

static int locks(unsigned worker UNUSED, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    pthread_mutex_lock(&programs);
    pthread_mutex_unlock(&programs);
    return 1;
}
static struct starpu_codelet locks_cl = {
    .cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW }, .can_execute = locks, .name = "locks"
};

static void a_task_that_locks(void)
{
    check(starpu_task_insert(&locks_cl, STARPU_RW, data[0], 0));
    done = 1;
}

static void *be_late_with(void *use)
{
    is_late = true;
    (*(void (**)(void))use)();
    return NULL;
}

/* While the late thread does that, this one inserts a task that has the first datum away, holding a lock. */
static void insert_beside(void (*use)(void))
{
    pthread_t thread;
    told = done = 0;
    if (my_rank == 0 && pthread_create(&thread, NULL, be_late_with, &use)) exit(1);
    while (my_rank == 0 && !told && !done) sched_yield();
    pthread_mutex_lock(&programs);
    count_on(0, 1);
    pthread_mutex_unlock(&programs);
    if (my_rank == 0) pthread_join(thread, NULL);
    count_on(0, 1);
}

/* A can_execute takes it. */
static void can_execute_locks(void)
{
    begin();
    failed = 0;
    count_on(0, 1);
    insert_beside(a_task_that_locks);
    finish(4, 0, "a can_execute that takes a lock of the inserting thread's: both go on");
}

/* The first datum is at home when the late thread looks at it, and goes away while that is late with the
 * second, of which there is a copy. */
static void goes_meanwhile(void)
{
    begin();
    failed = 0;
    count_on(1, 0);
    insert_beside(a_task_with_another);
    finish(12, 1, "a datum that goes away for the first time meanwhile: nothing is lost");
}

static void acquire_it(void *arg UNUSED)
{
    check(starpu_data_acquire_cb(data[0], STARPU_RW, add_ten_here, NULL));
}

static void slow(void *buffers[], void *arg)
{
    usleep(LATE_US / 4);
    add_one(buffers, arg);
}
static struct starpu_codelet slow_cl = {
    .cpu_funcs = { slow }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "slow"
};

/* The inserting thread waits for a task whose callback uses what is away. */
static void while_throttled(void)
{
    enum { TASKS = 10 };
    starpu_data_handle_t mine;
    long own = 0;
    begin();
    failed = 0;
    starpu_variable_data_register(&mine, my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                  my_rank == 0 ? (uintptr_t)&own : 0, sizeof own);
    starpu_mpi_data_register(mine, 50, 0);
    count_on(0, 1);
    starpu_set_limit_max_submitted_tasks(1);
    starpu_set_limit_min_submitted_tasks(0);
    for (int i = 0; i < TASKS; i++)
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &slow_cl, STARPU_RW, mine, STARPU_CALLBACK, acquire_it,
                                     0));
    count_on(0, 1);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    starpu_set_limit_max_submitted_tasks(-1);
    starpu_set_limit_min_submitted_tasks(-1);
    starpu_data_unregister(mine);
    finish(10 * TASKS + 2, 0,
           "an insertion that waits for a task whose callback uses what is away: both go on");
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
    can_execute_locks();
    goes_meanwhile();
    while_throttled();
    return mpi_finish();
}
