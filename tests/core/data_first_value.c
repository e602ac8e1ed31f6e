/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that nobody wrote gets the value of its init codelet, once, before whoever reads it first: tasks of
 * two threads at the same time, acquisitions, fetches, pieces. Threads: main and another submit; workers
 * execute. Owns: its data. Not here: reductions (data_modes.c), sending such data (tests/mpi/first_value.c).
 */
#include <pthread.h>
#include "tests/helper.h"

enum { FIRST = 7, ROUNDS = 3000 };

static atomic_int inits;

static void init_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = FIRST;
    inits++;
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i]++;
}

static void set_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = 1000;
}

static struct starpu_codelet init_cl = { .cpu_funcs = { init_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW } };
static struct starpu_codelet set_cl = { .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet sum_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };

static starpu_data_handle_t unwritten(size_t n)
{
    starpu_data_handle_t h;
    inits = 0;
    starpu_vector_data_register(&h, -1, 0, n, sizeof(int));
    starpu_data_set_reduction_methods(h, &sum_cl, &init_cl);
    return h;
}

static int value_of(starpu_data_handle_t h)
{
    if (starpu_data_acquire(h, STARPU_R) != 0) return -1;
    int value = *(int *)starpu_data_get_local_ptr(h);
    starpu_data_release(h);
    return value;
}

/* ---- two threads ---- */

static starpu_data_handle_t shared;
static atomic_int turn, other_turn;

static void *other(void *arg)
{
    for (int i = 1; i <= ROUNDS; i++) {
        while (turn < i) sched_yield();
        starpu_task_insert(arg, ((struct starpu_codelet *)arg)->modes[0], shared, 0);
        other_turn = i;
    }
    return NULL;
}

/* Both submit a first task at once: main one that adds, the other one of cl. How often the value was wrong.
 */
static int race(struct starpu_codelet *cl, int (*right)(int value, int init_count))
{
    pthread_t thread;
    int wrong = 0;
    turn = other_turn = 0;
    pthread_create(&thread, NULL, other, cl);
    for (int i = 1; i <= ROUNDS; i++) {
        shared = unwritten(1);
        turn = i;
        starpu_task_insert(&add_cl, STARPU_RW, shared, 0);
        while (other_turn < i) sched_yield();
        int value = value_of(shared);
        wrong += !right(value, inits);
        starpu_data_unregister(shared);
    }
    pthread_join(thread, NULL);
    return wrong;
}

static int both_added(int value, int init_count)
{
    return value == FIRST + 2 && init_count == 1;
}

/* Also between the initial value and who wanted it. */
static int set_somewhen(int value, int init_count)
{
    return (value == 1001 && init_count <= 1) || (value == 1000 && init_count == 1);
}

static void two_threads(void)
{
    is_int(race(&add_cl, both_added), 0,
           "two threads that read it first find one initial value between them");
    is_int(race(&set_cl, set_somewhen), 0,
           "one that reads and one that writes first are in one order or the other");
}

/* ---- who reads ---- */

static void got(void *arg)
{
    starpu_data_release(*(starpu_data_handle_t *)arg);
}

static void readers(void)
{
    starpu_data_handle_t h = unwritten(4);
    ok(all_of(value_of(h) == FIRST, inits == 1), "an acquisition finds the initial value");
    starpu_data_invalidate(h);
    ok(all_of(value_of(h) == FIRST, inits == 2), "and again after an invalidation");
    starpu_data_invalidate_submit(h);
    starpu_data_acquire_cb(h, STARPU_R, got, &h);
    starpu_task_wait_for_all();
    ok(all_of(value_of(h) == FIRST, inits == 3), "so does one by callback");
    starpu_data_unregister(h);
    h = unwritten(4);
    int r = starpu_data_fetch_on_node(h, STARPU_MAIN_RAM, 0), valid = 0;
    starpu_data_query_status(h, STARPU_MAIN_RAM, NULL, &valid, NULL);
    ok(all_of(r == 0, valid, inits == 1), "a fetch brings it");
    starpu_data_unregister(h);
    h = unwritten(4);
    while ((r = starpu_data_acquire_try(h, STARPU_R)) == -EAGAIN) sched_yield();
    ok(all_of(r == 0, *(int *)starpu_data_get_local_ptr(h) == FIRST, inits == 1),
       "trying to acquire it succeeds soon");
    starpu_data_release(h);
    starpu_data_unregister(h);
    h = unwritten(4);
    starpu_task_insert(&set_cl, STARPU_W, h, 0);
    ok(all_of(value_of(h) == 1000, inits == 0), "data that is written first is not initialised");
    starpu_data_unregister(h);
}

static void pieces(void)
{
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t h = unwritten(4), planned[2];
    starpu_data_partition(h, &f);
    for (unsigned i = 0; i < 2; i++) starpu_task_insert(&add_cl, STARPU_RW, starpu_data_get_child(h, i), 0);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    is_int(value_of(h), FIRST + 1, "pieces have the initial value of the whole");
    starpu_data_unregister(h);
    h = unwritten(4);
    starpu_data_partition_plan(h, &f, planned);
    for (unsigned i = 0; i < 2; i++) starpu_task_insert(&add_cl, STARPU_RW, planned[i], 0);
    is_int(value_of(h), FIRST + 1, "so have planned ones");
    starpu_data_partition_clean(h, 2, planned);
    starpu_data_unregister(h);
}

int main(void)
{
    runtime_start(2, NULL);
    readers();
    pieces();
    two_threads();
    starpu_shutdown();
    return done_testing();
}
