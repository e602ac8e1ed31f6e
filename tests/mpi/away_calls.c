/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that are away from home over MPI, by the public functions: a program's own placement that moves data
 * deals tasks out, while the same data are used on other communicators, in tasks whose transfers the program
 * steers, fetched, flushed, migrated, copied, reduced, gathered and scattered. ranks: 2 3
 */
#include <orrery_mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/mpi/helper_mpi.h"

enum { DATA = 5, STEPS = 300, LATE_US = 20000, LARGE = 1 << 16 };

static starpu_data_handle_t handle[DATA];
static uint64_t value[DATA], expected[DATA];
static int home[DATA], wrong, bad, tasks_built;

static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 31;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static void mix(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    uint64_t *to = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *to = *to * 3 + *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]) + (uint64_t)step;
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add }, .nbuffers = 2, .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R }, .name = "add"
};

static void zero(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

static void contribute(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (uint64_t)step;
}
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { contribute }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "contribute"
};

static void count(void *buffers[], void *arg)
{
    (void)arg;
    ++*(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet count_cl = {
    .cpu_funcs = { count }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "count"
};

static void late(void *buffers[], void *arg)
{
    usleep(LATE_US);
    count(buffers, arg);
}
static struct starpu_codelet late_cl = {
    .cpu_funcs = { late }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "late"
};

static int deal(const struct orrery_mpi_view *view, void *arg)
{
    return (int)(hash(view->position, 3) % (uint64_t) * (int *)arg);
}

static void see_last(void *buffers[], void *arg)
{
    uint64_t expects;
    starpu_codelet_unpack_args(arg, &expects);
    wrong += ((uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]))[STARPU_VECTOR_GET_NX(buffers[0]) - 1] != expects;
}

static void check(int r)
{
    if (r) bad++;
}

/* The value of datum i is looked at where it is at home, unseen by the others. */
static void look(int i)
{
    if (home[i] != my_rank) return;
    check(starpu_data_acquire(handle[i], STARPU_R));
    wrong += *(uint64_t *)starpu_data_get_local_ptr(handle[i]) != expected[i];
    starpu_data_release(handle[i]);
}

static void on(MPI_Comm comm, int to, int from, int step, int rank)
{
    if (rank >= 0)
        check(starpu_mpi_task_insert(comm, &mix_cl, STARPU_RW, handle[to], STARPU_R, handle[from],
                                     STARPU_VALUE, &step, sizeof step, STARPU_EXECUTE_ON_NODE, rank, 0));
    else
        check(starpu_mpi_task_insert(comm, &mix_cl, STARPU_RW, handle[to], STARPU_R, handle[from],
                                     STARPU_VALUE, &step, sizeof step, 0));
    expected[to] = expected[to] * 3 + expected[from] + (uint64_t)step;
}

/* The program moves the data of a task itself. */
static void steered(int to, int from, int step)
{
    struct starpu_data_descr descrs[2];
    struct starpu_mpi_task_exchange_params params;
    struct starpu_task *task = starpu_task_build(&mix_cl, STARPU_RW, handle[to], STARPU_R, handle[from],
                                                 STARPU_VALUE, &step, sizeof step, 0);
    check(starpu_mpi_task_exchange_data_before_execution(MPI_COMM_WORLD, task, descrs, &params));
    if (params.do_execute) {
        check(starpu_task_submit(task));
    } else {
        task->destroy = 0;
        starpu_task_destroy(task);
    }
    check(starpu_mpi_task_exchange_data_after_execution(MPI_COMM_WORLD, descrs, 2, params));
    expected[to] = expected[to] * 3 + expected[from] + (uint64_t)step;
}

/* The program submits the task itself, in two halves. */
static void build_half(int to, int from, int step)
{
    struct starpu_task *task = starpu_mpi_task_build(MPI_COMM_WORLD, &mix_cl, STARPU_RW, handle[to], STARPU_R,
                                                     handle[from], STARPU_VALUE, &step, sizeof step, 0);
    tasks_built += task != NULL;
    if (task) check(starpu_task_submit(task));
}

static void post_half(int to, int from, int step)
{
    check(starpu_mpi_task_post_build(MPI_COMM_WORLD, &mix_cl, STARPU_RW, handle[to], STARPU_R, handle[from],
                                     STARPU_VALUE, &step, sizeof step, 0));
    expected[to] = expected[to] * 3 + expected[from] + (uint64_t)step;
}

static void built(int to, int from, int step)
{
    build_half(to, from, step);
    post_half(to, from, step);
}

/* One is built before the placement is changed and posted afterwards, with another in between. */
static void built_around_a_change(void)
{
    int before = starpu_mpi_node_selection_get_current_policy();
    build_half(0, 1, 5);
    check(starpu_mpi_node_selection_set_current_policy(STARPU_MPI_NODE_SELECTION_MOST_R_DATA));
    built(2, 3, 7);
    post_half(0, 1, 5);
    check(starpu_mpi_node_selection_set_current_policy(before));
}

static void build_zero(MPI_Comm other, int i, int rank)
{
    struct starpu_task *task =
        starpu_mpi_task_build(other, &zero_cl, STARPU_W, handle[i], STARPU_EXECUTE_ON_NODE, rank, 0);
    if (task) check(starpu_task_submit(task));
}

/* The same task is built twice, with a change of ranks, and given up once. */
static void given_up(int i)
{
    for (int rank = 0; rank < 2; rank++) {
        struct starpu_task *task = starpu_mpi_task_build(MPI_COMM_WORLD, &zero_cl, STARPU_W, handle[i],
                                                         STARPU_EXECUTE_ON_NODE, rank, 0);
        if (task && rank == 0) task->destroy = 0;
        if (task && rank == 0) starpu_task_destroy(task);
        if (task && rank == 1) check(starpu_task_submit(task));
    }
    check(starpu_mpi_task_post_build(MPI_COMM_WORLD, &zero_cl, STARPU_W, handle[i], STARPU_EXECUTE_ON_NODE, 1,
                                     0));
    expected[i] = 0;
    look(i);
}

/* Home changes what a rank has, unseen; that rank writes it in a task on another communicator, of which the
 * second half comes after others have begun insertions. */
static void changed_before_it_is_built(MPI_Comm other, int i)
{
    int rank = (home[i] + 1) % ranks;
    on(MPI_COMM_WORLD, (i + 1) % DATA, i, 1, rank);
    if (home[i] == my_rank) {
        check(starpu_data_acquire(handle[i], STARPU_RW));
        *(uint64_t *)starpu_data_get_local_ptr(handle[i]) += 1;
        starpu_data_release(handle[i]);
    }
    build_zero(other, i, rank);
    on(MPI_COMM_WORLD, (i + 2) % DATA, (i + 1) % DATA, 1, -1);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    on(MPI_COMM_WORLD, (i + 2) % DATA, (i + 1) % DATA, 1, -1);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    check(starpu_mpi_task_post_build(other, &zero_cl, STARPU_W, handle[i], STARPU_EXECUTE_ON_NODE, rank, 0));
    expected[i] = 0;
    look(i);
}

/* The holder contributes to what home changes, late and unseen, where home has the value, too. */
static void contributes_ahead_of_a_change(int i)
{
    int rank = (home[i] + 1) % ranks, step = 7;
    on(MPI_COMM_WORLD, i, (i + 1) % DATA, step, rank);
    on(MPI_COMM_WORLD, (i + 2) % DATA, i, step, home[i]);
    if (home[i] == my_rank) {
        usleep(LATE_US);
        check(starpu_data_acquire(handle[i], STARPU_RW));
        *(uint64_t *)starpu_data_get_local_ptr(handle[i]) += 1;
        starpu_data_release(handle[i]);
    }
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &contribute_cl, STARPU_REDUX, handle[i], STARPU_VALUE, &step,
                                 sizeof step, STARPU_EXECUTE_ON_NODE, rank, 0));
    starpu_mpi_barrier(MPI_COMM_WORLD);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    check(starpu_mpi_redux_data(MPI_COMM_WORLD, handle[i]));
    expected[i] += 1 + (uint64_t)step;
    look(i);
}

static void reduce(int to, int step)
{
    for (int rank = 0; rank < ranks; rank++)
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &contribute_cl, STARPU_REDUX, handle[to], STARPU_VALUE,
                                     &step, sizeof step, STARPU_EXECUTE_ON_NODE, rank, 0));
    check(starpu_mpi_redux_data(MPI_COMM_WORLD, handle[to]));
    expected[to] += (uint64_t)(ranks * step);
}

static void fetch(int i, int rank)
{
    check(starpu_mpi_get_data_on_node(MPI_COMM_WORLD, handle[i], rank));
    if (my_rank != rank) return;
    check(starpu_data_acquire(handle[i], STARPU_R));
    wrong += *(uint64_t *)starpu_data_get_local_ptr(handle[i]) != expected[i];
    starpu_data_release(handle[i]);
}

static void one_step(MPI_Comm other, int step)
{
    uint64_t h = hash((uint64_t)step, 1);
    int to = (int)(h % DATA), from = (to + 1 + (int)(h / 8 % (DATA - 1))) % DATA,
        rank = (int)(h / 64 % (uint64_t)ranks);
    switch (h / 1024 % 13) {
    case 0: on(other, to, from, step, -1); break;
    case 1: on(other, to, from, step, (rank + ranks - 1) % ranks); break;
    case 2: steered(to, from, step); break;
    case 3: fetch(to, rank); break;
    case 4: starpu_mpi_cache_flush(MPI_COMM_WORLD, handle[to]); break;
    case 5: starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD); break;
    case 6:
        starpu_mpi_data_migrate(MPI_COMM_WORLD, handle[to], rank);
        home[to] = rank;
        break;
    case 7:
        check(starpu_mpi_data_cpy(handle[to], handle[from], MPI_COMM_WORLD, 1, NULL, NULL));
        expected[to] = expected[from];
        break;
    case 8: reduce(to, step); break;
    case 12: built(to, from, step); break;
    case 9:
        check(starpu_mpi_gather_detached(handle, DATA, rank, MPI_COMM_WORLD, NULL, NULL, NULL, NULL));
        break;
    default: break;
    }
    look((int)(h / 4096 % DATA));
    on(MPI_COMM_WORLD, from, to, step, -1);
}

/* Data with one tag, one after another, of which rank 1 has the value: some get an owner on a communicator
 * with other numbers before they end, or another tag. Homes must not find those that are gone. */
static void one_after_another(void)
{
    enum { ROUNDS = 9, TAG = 60 };
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -my_rank, &reversed);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t v = 0;
        starpu_data_handle_t h;
        starpu_variable_data_register(&h, my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                      (uintptr_t)(my_rank == 0 ? &v : NULL), sizeof v);
        starpu_mpi_data_register(h, TAG, 0);
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, h, STARPU_EXECUTE_ON_NODE, 1, 0));
        if (round % 3 == 0) starpu_mpi_data_migrate(reversed, h, round % 2);
        if (round % 3 == 1 && my_rank == 0) {
            check(starpu_data_acquire(h, STARPU_R));
            wrong += v != 1;
            starpu_data_release(h);
        }
        check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        if (round % 3 == 2) starpu_mpi_data_set_tag(h, TAG + 1);
        starpu_data_unregister(h);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&reversed);
}

/* Rank 1 receives into its copy what its owner sends only after it has changed the value, twice: the first
 * change comes to a copy that is busy until then, and the owner waits for it. */
static void received_ahead_of_a_change(void)
{
    static uint64_t v[2][LARGE]; /* so large that who sends waits for who receives */
    starpu_data_handle_t h[2];
    for (int i = 0; i < 2; i++) {
        v[i][0] = 0;
        starpu_variable_data_register(&h[i], my_rank == 0 ? STARPU_MAIN_RAM : -1,
                                      (uintptr_t)(my_rank == 0 ? v[i] : NULL), sizeof v[i]);
        starpu_mpi_data_register(h[i], 70 + i, 0);
    }
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, h[0], STARPU_EXECUTE_ON_NODE, 1, 0));
    if (my_rank == 0) {
        usleep(LATE_US);
        check(starpu_task_insert(&count_cl, STARPU_RW, h[0], 0));
    }
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, h[1], STARPU_EXECUTE_ON_NODE, 0, 0));
    if (my_rank == 1) check(starpu_mpi_irecv_detached(h[0], 0, 777, MPI_COMM_WORLD, NULL, NULL));
    if (my_rank == 0) {
        check(starpu_data_acquire(h[0], STARPU_RW));
        wrong += v[0][0]++ != 2;
        starpu_data_release(h[0]);
        check(starpu_mpi_isend_detached(h[0], 1, 777, MPI_COMM_WORLD, NULL, NULL));
    }
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, h[0], STARPU_EXECUTE_ON_NODE, 1, 0));
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) starpu_data_unregister(h[i]);
    wrong += my_rank == 0 && (v[0][0] != 4 || v[1][0] != 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- two data, the homes of which are ranks 0 and 1; the first is away ---- */

static uint64_t two_values[2][LARGE];
static starpu_data_handle_t two[2];

static void count_on(int i, int rank)
{
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, two[i], STARPU_EXECUTE_ON_NODE, rank,
                                 0));
}

static void begin_two(size_t bytes)
{
    for (int i = 0; i < 2; i++) {
        two_values[i][0] = 0;
        starpu_variable_data_register(&two[i], my_rank == i ? STARPU_MAIN_RAM : -1,
                                      (uintptr_t)(my_rank == i ? two_values[i] : NULL), bytes);
        starpu_mpi_data_register(two[i], 80 + i, i);
    }
    count_on(0, 1);
}

static void end_two(uint64_t first, uint64_t second)
{
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) starpu_data_unregister(two[i]);
    wrong += (my_rank == 0 && two_values[0][0] != first) + (my_rank == 1 && two_values[1][0] != second);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Home holds what is away while tasks with the other are inserted, and all ranks wait for all of them: nobody
 * waits until it is released. */
static void held(enum starpu_data_access_mode mode)
{
    enum { ROUNDS = 4 };
    uint64_t want = 1;
    begin_two(sizeof two_values[0]);
    for (int round = 0; round < ROUNDS; round++) {
        if (my_rank == 0) {
            check(starpu_data_acquire(two[0], mode));
            wrong += two_values[0][0] != want;
            two_values[0][0] += mode & STARPU_W ? 5 : 0;
        }
        count_on(1, round % ranks);
        check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        if (my_rank == 0) {
            two_values[0][0] += mode & STARPU_W ? 7 : 0;
            starpu_data_release(two[0]);
        }
        want += mode & STARPU_W ? 13 : 1;
        if (round % 2) check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        count_on(0, 1);
    }
    end_two(want, ROUNDS);
}

static atomic_int has_it, may_go;

static void in_hand(void *arg)
{
    (void)arg;
    two_values[0][0] += 10;
    has_it = 1;
}

static void *hold(void *arg)
{
    check(starpu_data_acquire(two[0], STARPU_RW));
    in_hand(arg);
    while (!may_go) usleep(1000);
    starpu_data_release(two[0]);
    return NULL;
}

/* The same where at the insertion it is not acquired yet, but about to be: by a callback, or another thread.
 */
static void held_soon(bool by_thread)
{
    pthread_t thread;
    begin_two(sizeof(uint64_t));
    has_it = may_go = 0;
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &late_cl, STARPU_RW, two[0], STARPU_EXECUTE_ON_NODE, 1, 0));
    if (my_rank == 0 && by_thread) {
        pthread_create(&thread, NULL, hold, NULL);
        usleep(LATE_US / 2);
    } else if (my_rank == 0) {
        check(starpu_data_acquire_cb(two[0], STARPU_RW, in_hand, NULL));
    }
    count_on(1, 0);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    while (my_rank == 0 && !has_it) usleep(1000);
    may_go = 1;
    if (my_rank == 0 && by_thread) pthread_join(thread, NULL);
    if (my_rank == 0 && !by_thread) starpu_data_release(two[0]);
    count_on(0, 1);
    end_two(13, 1);
}

static void looked_at(void *arg)
{
    (void)arg;
    wrong += two_values[0][0] != 1;
    starpu_data_release(two[0]);
    has_it = 1;
}

static void acquire_in_callback(void *arg)
{
    (void)arg;
    check(starpu_data_acquire_cb(two[0], STARPU_R, looked_at, NULL));
}

/* A callback that runs while an insertion submits its task uses at home what is away. */
static void used_in_a_callback(void)
{
    begin_two(sizeof(uint64_t));
    has_it = my_rank != 0;
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, handle[0], STARPU_EXECUTE_ON_NODE, 0,
                                 STARPU_PROLOGUE_CALLBACK, acquire_in_callback, 0));
    expected[0]++;
    while (!has_it) usleep(1000);
    end_two(1, 0);
}

/* Rank 1 ends its copy before all wait; home has changed the datum, and holds it. */
static void ended_early(void)
{
    begin_two(sizeof(uint64_t));
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    if (my_rank == 0) {
        check(starpu_data_acquire(two[0], STARPU_RW));
        two_values[0][0] += 10;
    }
    count_on(1, 0);
    if (my_rank == 1) starpu_data_unregister(two[0]);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    if (my_rank == 0) starpu_data_release(two[0]);
    for (int i = my_rank == 1; i < 2; i++) starpu_data_unregister(two[i]);
    wrong += my_rank == 0 && two_values[0][0] != 11;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 ends the only copy: it does not wait until home wants it. */
static void ended_alone(void)
{
    begin_two(sizeof two_values[0]);
    if (my_rank == 1) starpu_data_unregister(two[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
        check(starpu_data_acquire(two[0], STARPU_R));
        wrong += two_values[0][0] != 1;
        starpu_data_release(two[0]);
    }
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = my_rank == 1; i < 2; i++) starpu_data_unregister(two[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 uses its copy until home has changed the datum twice, the first time beyond an insertion. */
static void held_beside_a_use(void)
{
    begin_two(sizeof two_values[0]);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    if (my_rank == 1) check(starpu_data_acquire(two[0], STARPU_R));
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
        check(starpu_data_acquire(two[0], STARPU_RW));
        two_values[0][0] += 10;
    }
    count_on(1, 1);
    if (my_rank == 0) {
        starpu_data_release(two[0]);
        check(starpu_data_acquire(two[0], STARPU_RW));
        two_values[0][0]++;
        starpu_data_release(two[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 1) starpu_data_release(two[0]);
    count_on(0, 1);
    end_two(13, 1);
}

/* Held over a wait for all is the whole of which pieces are away, known to the others as data of their own.
 */
static void held_whole(void)
{
    enum { PIECES = 4 };
    struct starpu_data_filter quarters = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    uint64_t v[PIECES] = { 0 };
    starpu_data_handle_t whole = NULL, piece[PIECES];
    if (my_rank == 0) {
        starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, PIECES, sizeof v[0]);
        starpu_data_partition_plan(whole, &quarters, piece);
    }
    for (int i = 0; i < PIECES; i++) {
        if (my_rank) starpu_vector_data_register(&piece[i], -1, 0, 1, sizeof v[0]);
        starpu_mpi_data_register(piece[i], 90 + i, 0);
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, piece[i], STARPU_EXECUTE_ON_NODE,
                                     1, 0));
    }
    if (whole) check(starpu_data_acquire(whole, STARPU_RW));
    check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, handle[0], STARPU_EXECUTE_ON_NODE, 0,
                                 0));
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = 0; whole && i < PIECES; i++) wrong += v[i]++ != 1;
    if (whole) starpu_data_release(whole);
    for (int i = 0; i < PIECES; i++)
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &count_cl, STARPU_RW, piece[i], STARPU_EXECUTE_ON_NODE,
                                     1, 0));
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    if (whole) starpu_data_partition_clean(whole, PIECES, piece);
    if (whole) starpu_data_unregister(whole);
    for (int i = 0; i < PIECES && my_rank; i++) starpu_data_unregister(piece[i]);
    for (int i = 0; i < PIECES && my_rank == 0; i++) wrong += v[i] != 3;
    expected[0]++;
}

/* Home writes anew what rank 1 has a copy of, and all flush it. Rank 1 is sent it when it reads it again, and
 * not before. */
static void flushed(bool all)
{
    enum { WORDS = LARGE / 8 };
    static uint64_t here[WORDS];
    static struct starpu_codelet see_cl = { .cpu_funcs = { see_last }, .nbuffers = 1, .modes = { STARPU_R } };
    starpu_data_handle_t h;
    size_t before[16] = { 0 }, sent[16] = { 0 };
    starpu_mpi_comm_stats_retrieve(before);
    starpu_vector_data_register(&h, my_rank ? -1 : STARPU_MAIN_RAM, my_rank ? 0 : (uintptr_t)here, WORDS, 8);
    starpu_mpi_data_register(h, 90, 0);
    for (uint64_t round = 1; round <= 2; round++) {
        if (my_rank == 0) {
            starpu_data_acquire(h, STARPU_W);
            here[WORDS - 1] = round;
            starpu_data_release(h);
        }
        if (all)
            starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
        else
            starpu_mpi_cache_flush(MPI_COMM_WORLD, h);
        starpu_mpi_barrier(MPI_COMM_WORLD);
        if (round == 1) starpu_mpi_comm_stats_enable();
        check(starpu_mpi_task_insert(MPI_COMM_WORLD, &see_cl, STARPU_R, h, STARPU_VALUE, &round, sizeof round,
                                     STARPU_EXECUTE_ON_NODE, 1, 0));
        check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
        starpu_mpi_barrier(MPI_COMM_WORLD);
    }
    starpu_mpi_comm_stats_retrieve(sent);
    starpu_mpi_comm_stats_disable();
    fact(my_rank || (sent[1] - before[1] >= 2 * LARGE && sent[1] - before[1] < 3 * LARGE),
         "what home writes anew and all flush %s is sent to who reads it alone",
         all ? "with all" : "by itself");
    starpu_data_unregister(h);
}

static void run(MPI_Comm other)
{
    for (int i = 0; i < DATA; i++) {
        value[i] = expected[i] = (uint64_t)i;
        home[i] = i % ranks;
        starpu_variable_data_register(&handle[i], home[i] == my_rank ? STARPU_MAIN_RAM : -1,
                                      home[i] == my_rank ? (uintptr_t)&value[i] : 0, sizeof value[i]);
        starpu_data_set_reduction_methods(handle[i], &add_cl, &zero_cl);
        starpu_mpi_data_register(handle[i], 10 + i, home[i]);
    }
    for (int step = 0; step < STEPS; step++) one_step(other, step);
    built_around_a_change();
    for (int i = 0; i < DATA; i++) changed_before_it_is_built(other, i);
    for (int i = 0; i < DATA; i++) given_up(i);
    for (int i = 0; i < DATA; i++) contributes_ahead_of_a_change(i);
    held_whole();
    used_in_a_callback();
    for (int i = 0; i < DATA; i++) look(i);
    check(starpu_mpi_wait_for_all(MPI_COMM_WORLD));
    for (int i = 0; i < DATA; i++) look(i);
    for (int i = 0; i < DATA; i++) starpu_data_unregister(handle[i]);
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    int deals = orrery_mpi_node_selection_register(deal, &ranks);
    fact(deals >= 0 && !starpu_mpi_node_selection_set_current_policy(deals),
         "a placement of the program's deals tasks out");
    run(other);
    one_after_another();
    for (int i = 0; i < 20; i++) received_ahead_of_a_change();
    held(STARPU_R);
    held(STARPU_RW);
    held_soon(false);
    held_soon(true);
    for (int i = 0; i < 10; i++) ended_early();
    ended_alone();
    held_beside_a_use();
    flushed(true);
    flushed(false);
    fact(!wrong, "whatever is done with data that are away, each finds the value of its place");
    fact(!bad, "and nothing fails");
    int all = 0;
    MPI_Allreduce(&tasks_built, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    fact(all > 2, "tasks that were built run on the rank that the placement chose, each on one");
    fact(starpu_mpi_task_post_build(MPI_COMM_WORLD, &mix_cl, 0) == -EINVAL,
         "the second half of a task that was not built is refused");
    MPI_Comm_free(&other);
    return mpi_finish();
}
