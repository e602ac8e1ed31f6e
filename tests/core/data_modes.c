/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access modes and the order they imply: readers together, writers alone, commuting, scratch, reduction, and
 * random streams of tasks whose result must be that of a sequential execution.
 * Threads: main submits; two workers execute.
 * Owns: the data and the oracle's copy of it.
 * Not here: acquire and release (data_acquire.c), the same over every policy (tests/sched/policies.c).
 */
#include "tests/stream.h"

static atomic_int inside, inside_most;

static void enter(void)
{
    raise_to(&inside_most, atomic_fetch_add(&inside, 1) + 1);
}

static void leave(void)
{
    atomic_fetch_sub(&inside, 1);
}

static void register_int(starpu_data_handle_t *handle, int *value)
{
    starpu_variable_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)value, sizeof *value);
}

/* Waits up to a second until two tasks are inside at once. */
static void meet(void)
{
    enter();
    for (int i = 0; i < 10000 && atomic_load(&inside_most) < 2; i++) usleep(100);
    leave();
}

static void meet_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    meet();
}
static struct starpu_codelet readers_cl = {
    .cpu_funcs = { meet_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "readers"
};

static void readers_together(void)
{
    int value = 3;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    atomic_store(&inside_most, 0);
    int failed = starpu_task_insert(&readers_cl, STARPU_R, handle, 0) |
                 starpu_task_insert(&readers_cl, STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, inside_most == 2), "two readers of one handle run at the same time");
    starpu_data_unregister(handle);
}

static void exclusive_func(void *buffers[], void *arg UNUSED)
{
    enter();
    int *value = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    int old = *value;
    for (volatile int spin = 0; spin < 200; spin++)
        ;
    *value = old + 1;
    leave();
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { exclusive_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "rw"
};
static struct starpu_codelet commute_cl = {
    .cpu_funcs = { exclusive_func },
    .nbuffers = 1,
    .modes = { STARPU_RW | STARPU_COMMUTE },
    .name = "commute",
};

static void exclusive(struct starpu_codelet *cl, const char *what)
{
    int value = 0, failed = 0;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    atomic_store(&inside_most, 0);
    for (int i = 0; i < 3000; i++) failed |= starpu_task_insert(cl, (int)cl->modes[0], handle, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 3000, inside_most == 1), "%s on one handle exclude each other", what);
}

static void mix_func(void *buffers[], void *arg)
{
    unsigned *value = (unsigned *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *value = *value * 1664525u + (unsigned)(uintptr_t)arg;
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "mix"
};

static void writers_in_order(void)
{
    unsigned value = 1, want = 1;
    int failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (unsigned i = 0; i < 2000; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &mix_cl;
        task->handles[0] = handle;
        task->cl_arg = (void *)(uintptr_t)i;
        failed |= starpu_task_submit(task);
        want = want * 1664525u + i;
    }
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == want), "2000 writers of one handle run in the order of submission");
}

static struct starpu_codelet stream_cl = {
    .cpu_funcs = { stream_func },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "stream",
};

static void random_stream(uint64_t seed)
{
    enum { STREAM = 6000 };
    is_int(stream_run(&stream_cl, seed, STREAM), 0,
           "%d random tasks over %d handles give the sequential result, task by task (seed %llu)", STREAM,
           STREAM_HANDLES, (unsigned long long)seed);
}

static void held_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
}
static struct starpu_codelet held_cl = {
    .cpu_funcs = { held_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "held"
};
static atomic_int passed;
static void pass_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_or(&passed, (int)(intptr_t)arg);
}
static struct starpu_codelet pass_cl = { .cpu_funcs = { pass_func },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                         .name = "pass" };

static struct starpu_task *pass_create(int bit, starpu_data_handle_t handle,
                                       enum starpu_data_access_mode mode)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &pass_cl;
    task->cl_arg = (void *)(intptr_t)bit;
    task->nbuffers = 1;
    task->handles[0] = handle;
    task->modes[0] = mode;
    return task;
}

/*
 * A first task accesses `shared` but waits for `other`, which is held; a second one accesses only `shared`.
 * Returns whether the second one ran while the first could not.
 */
static int overtakes(enum starpu_data_access_mode mode, int handle_flag, int task_flag, int array_flag)
{
    int a = 0, b = 0;
    struct gate gate = { 0 };
    unsigned char flags[2] = { 1, 1 };
    starpu_data_handle_t shared, other;
    register_int(&shared, &a);
    register_int(&other, &b);
    starpu_data_set_sequential_consistency_flag(shared, (unsigned)handle_flag);
    atomic_store(&passed, 0);
    struct starpu_task *holder = starpu_task_create();
    holder->cl = &held_cl;
    holder->cl_arg = &gate;
    holder->handles[0] = other;
    int failed = starpu_task_submit(holder);
    struct starpu_task *first = pass_create(1, shared, mode);
    first->nbuffers = 2;
    first->handles[1] = other;
    first->modes[1] = STARPU_R;
    struct starpu_task *second = pass_create(2, shared, mode);
    second->sequential_consistency = (unsigned)task_flag & 1u;
    if (array_flag) {
        flags[0] = 0;
        second->handles_sequential_consistency = flags;
    }
    failed |= starpu_task_submit(first) | starpu_task_submit(second);
    gate_wait_entered(&gate, 1);
    int overtook =
        comes_to(&passed, 2, handle_flag && task_flag && !array_flag && !(mode & STARPU_COMMUTE) ? 5 : 1000);
    gate_open(&gate);
    starpu_task_wait_for_all();
    failed |= atomic_load(&passed) != 3;
    starpu_data_unregister(shared);
    starpu_data_unregister(other);
    return failed ? -1 : overtook;
}

static void overtaking(void)
{
    is_int(overtakes(STARPU_RW, 1, 1, 0), 0, "a writer waits for an earlier writer that is not ready");
    is_int(overtakes(STARPU_RW | STARPU_COMMUTE, 1, 1, 0), 1,
           "a commuting writer overtakes one that is not ready");
    is_int(overtakes(STARPU_RW, 0, 1, 0), 1,
           "without sequential consistency of the handle order is not kept");
    is_int(overtakes(STARPU_RW, 1, 0, 0), 1, "without sequential consistency of the task neither");
    is_int(overtakes(STARPU_RW, 1, 1, 1), 1, "nor with the task's flag for that one handle off");
}

static void consistency_flags(void)
{
    int value = 0;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    is_int(starpu_data_get_sequential_consistency_flag(handle), 1,
           "a handle is sequentially consistent by default");
    starpu_data_unregister(handle);
    starpu_data_set_default_sequential_consistency_flag(0);
    register_int(&handle, &value);
    ok(all_of(starpu_data_get_sequential_consistency_flag(handle) == 0,
              starpu_data_get_default_sequential_consistency_flag() == 0),
       "the default can be changed for handles registered later");
    int failed = 0;
    atomic_store(&inside_most, 0);
    for (int i = 0; i < 1000; i++) failed |= starpu_task_insert(&write_cl, STARPU_RW, handle, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    starpu_data_set_default_sequential_consistency_flag(1);
    ok(all_of(!failed, value == 1000, inside_most == 1),
       "without sequential consistency writers still exclude each other");
}

static void read_func(void *buffers[], void *arg)
{
    *(int *)arg = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};

static int insert_read(starpu_data_handle_t handle, int *target)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &read_cl;
    task->cl_arg = target;
    task->handles[0] = handle;
    return starpu_task_submit(task);
}

static void commute_against_readers(void)
{
    int value = 0, middle = -1, last = -1, failed = 0;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    for (int i = 0; i < 100; i++)
        failed |= starpu_task_insert(&commute_cl, STARPU_RW | STARPU_COMMUTE, handle, 0);
    failed |= insert_read(handle, &middle);
    for (int i = 0; i < 50; i++)
        failed |= starpu_task_insert(&commute_cl, STARPU_RW | STARPU_COMMUTE, handle, 0);
    failed |= insert_read(handle, &last);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    ok(all_of(!failed, middle == 100, last == 150),
       "readers come after all commuting writers before them, and before the later ones");
}

static void *scratch_at[2];
static atomic_int scratch_wrong;
static void scratch_func(void *buffers[], void *arg)
{
    int *scratch = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    unsigned count = STARPU_VECTOR_GET_NX(buffers[0]);
    int mark = (int)(intptr_t)arg;
    scratch_at[mark] = scratch;
    for (unsigned i = 0; i < count; i++) scratch[i] = mark;
    meet();
    for (unsigned i = 0; i < count; i++) atomic_fetch_add(&scratch_wrong, scratch[i] != mark);
}
static struct starpu_codelet scratch_cl = {
    .cpu_funcs = { scratch_func },
    .nbuffers = 1,
    .modes = { STARPU_SCRATCH },
    .name = "scratch",
};

static void scratch(void)
{
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, -1, 0, 1000, sizeof(int));
    atomic_store(&inside_most, 0);
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &scratch_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->handles[0] = handle;
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, inside_most == 2), "two tasks use one scratch handle at the same time");
    ok(all_of(scratch_at[0], scratch_at[1], scratch_at[0] != scratch_at[1], scratch_wrong == 0),
       "each in memory of its own");
    starpu_data_unregister(handle);
}

static void fill_func(void *buffers[], void *arg)
{
    int *at = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) at[i] = (int)(intptr_t)arg;
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill"
};
static struct starpu_codelet fill_scratch_cl = {
    .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_SCRATCH }, .name = "fill_scratch"
};

/* The first use of either kind takes memory; ThreadSanitizer sees when one looks at what the other does. */
static void scratch_beside_writer(void)
{
    enum { HANDLES = SCALED(2000, 300), ELEMENTS = 16 };
    int failed = 0, wrong = 0;
    for (int k = 0; k < HANDLES; k++) {
        starpu_data_handle_t handle;
        struct starpu_codelet *cls[2] = { k % 2 ? &fill_cl : &fill_scratch_cl,
                                          k % 2 ? &fill_scratch_cl : &fill_cl };
        starpu_vector_data_register(&handle, -1, 0, ELEMENTS, sizeof(int));
        for (int i = 0; i < 2; i++) {
            struct starpu_task *task = starpu_task_create();
            task->cl = cls[i];
            task->cl_arg = (void *)(intptr_t)(cls[i] == &fill_cl ? k + 1 : -1);
            task->handles[0] = handle;
            failed |= starpu_task_submit(task);
        }
        failed |= starpu_data_acquire(handle, STARPU_R);
        const int *at = (const int *)starpu_vector_get_local_ptr(handle);
        for (int i = 0; i < ELEMENTS; i++) wrong += at[i] != k + 1;
        starpu_data_release(handle);
        starpu_data_unregister(handle);
    }
    ok(all_of(!failed, wrong == 0),
       "scratch of new data beside a task that writes them is apart from their value");
}

static void redux_init_func(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static void redux_sum_func(void *buffers[], void *arg UNUSED)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet redux_init_cl = {
    .cpu_funcs = { redux_init_func },
    .nbuffers = 1,
    .modes = { STARPU_W },
    .name = "redux_init",
};
#if STARPU_AT_LEAST(1, 4)
#define REDUX_TARGET_MODE (STARPU_RW | STARPU_COMMUTE)
#else
#define REDUX_TARGET_MODE STARPU_RW /* 1.3 refuses the other */
#endif
static struct starpu_codelet redux_sum_cl = {
    .cpu_funcs = { redux_sum_func },
    .nbuffers = 2,
    .modes = { REDUX_TARGET_MODE, STARPU_R },
    .name = "redux_sum",
};
static void contribute_func(void *buffers[], void *arg)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (long)(intptr_t)arg;
}
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { contribute_func },
    .nbuffers = 1,
    .modes = { STARPU_REDUX },
    .name = "contribute",
};
static void contribute_meet_func(void *buffers[], void *arg)
{
    meet();
    contribute_func(buffers, arg);
}
static struct starpu_codelet contribute_meet_cl = {
    .cpu_funcs = { contribute_meet_func },
    .nbuffers = 1,
    .modes = { STARPU_REDUX },
    .name = "contribute_meet",
};
static void add_func(void *buffers[], void *arg)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (long)(intptr_t)arg;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static int insert_long(struct starpu_codelet *cl, starpu_data_handle_t handle, long value)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = (void *)(intptr_t)value;
    task->handles[0] = handle;
    return starpu_task_submit(task);
}

static void reduction(void)
{
    long value = 1000;
    int failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_data_set_reduction_methods(handle, &redux_sum_cl, &redux_init_cl);
    for (long i = 1; i <= 500; i++) failed |= insert_long(&contribute_cl, handle, i);
    failed |= starpu_data_acquire(handle, STARPU_R);
    ok(all_of(!failed, value == 1000 + 500 * 501 / 2),
       "contributions are summed onto the value before them, once it is acquired");
    starpu_data_release(handle);

    for (long i = 0; i < 100; i++) failed |= insert_long(&contribute_cl, handle, 1);
    failed |= insert_long(&add_cl, handle, 1000000);
    for (long i = 0; i < 100; i++) failed |= insert_long(&contribute_cl, handle, 1);
    failed |= starpu_data_acquire(handle, STARPU_R);
    ok(all_of(!failed, value == 1000 + 500 * 501 / 2 + 1000000 + 200),
       "a writer between two reductions sees the first one's result");
    starpu_data_release(handle);

    atomic_store(&inside_most, 0);
    failed |= insert_long(&contribute_meet_cl, handle, 1) | insert_long(&contribute_meet_cl, handle, 1);
    starpu_task_wait_for_all();
    is_int(inside_most, 2, "two contributions run at the same time");
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 1000 + 500 * 501 / 2 + 1000000 + 202),
       "unregistering finishes the reduction");
}

static void set_func(void *buffers[], void *arg)
{
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) = (long)(intptr_t)arg;
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};

static void reduction_without_value(void)
{
    int failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, -1, 0, sizeof(long));
    starpu_data_set_reduction_methods(handle, &redux_sum_cl, &redux_init_cl);
    for (long i = 1; i <= 100; i++) failed |= insert_long(&contribute_cl, handle, i);
    failed |= starpu_data_acquire(handle, STARPU_R);
    long sum = failed ? -1 : *(long *)starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    is_int(sum, 5050, "a handle without a value is reduced from the neutral element");
    failed |= insert_long(&set_cl, handle, 7);
    for (long i = 1; i <= 10; i++) failed |= insert_long(&contribute_cl, handle, 1);
    failed |= starpu_data_acquire(handle, STARPU_R);
    sum = failed ? -1 : *(long *)starpu_data_get_local_ptr(handle);
    starpu_data_release(handle);
    is_int(sum, 17, "and from the value of a writer before");
    starpu_data_unregister(handle);
}

static int twice_same, twice_value;
static void twice_func(void *buffers[], void *arg UNUSED)
{
    int *first = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]),
        *second = (int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    twice_same = first == second;
    twice_value = *first + *second;
}
static struct starpu_codelet twice_cl = {
    .cpu_funcs = { twice_func },
    .nbuffers = 2,
    .modes = { STARPU_R, STARPU_R },
    .name = "twice",
};

static void handle_twice(void)
{
    int value = 21;
    starpu_data_handle_t handle;
    register_int(&handle, &value);
    int failed = starpu_task_insert(&twice_cl, STARPU_R, handle, STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, twice_same, twice_value == 42), "one task may read a handle twice");
    failed = starpu_task_insert(&write_cl, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 22), "and a later writer still comes through");
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    require_workers(2);
    readers_together();
    exclusive(&write_cl, "writers");
    exclusive(&commute_cl, "commuting writers");
    writers_in_order();
    for (uint64_t seed = 1; seed <= 3; seed++) random_stream(seed);
    overtaking();
    consistency_flags();
    commute_against_readers();
    scratch();
    scratch_beside_writer();
    reduction();
    reduction_without_value();
    handle_twice();
    starpu_shutdown();
    return done_testing();
}
