/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a codelet says: its implementations, where they may run, its name, its callback.
 * Threads: main submits; workers execute.
 * Owns: the counters of each implementation.
 * Not here: its buffers and modes (data_modes.c, task_insert.c), its performance model (perfmodel.c).
 */
#include "tests/helper.h"

static atomic_int runs[4];
static atomic_int on_worker[STARPU_NMAXWORKERS];

static void run(int implementation)
{
    atomic_fetch_add(&runs[implementation], 1);
    atomic_fetch_add(&on_worker[starpu_worker_get_id()], 1);
}

static void first_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    run(0);
}
static void second_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    run(1);
}

static void clear(void)
{
    memset(runs, 0, sizeof runs);
    memset(on_worker, 0, sizeof on_worker);
}

static int submit_many(struct starpu_codelet *cl, int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = cl;
        failed |= starpu_task_submit(task) != 0;
    }
    starpu_task_wait_for_all();
    return failed;
}

static int only_second(unsigned worker UNUSED, struct starpu_task *task UNUSED, unsigned implementation)
{
    return implementation == 1;
}

static int only_last_worker(unsigned worker, struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return worker == starpu_worker_get_count() - 1;
}

static int nobody(unsigned worker UNUSED, struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return 0;
}

static void implementations(void)
{
    static struct starpu_codelet two = { .cpu_funcs = { first_func, second_func }, .name = "two" };
    clear();
    int failed = submit_many(&two, 50);
    ok(all_of(!failed, runs[0] + runs[1] == 50), "of two implementations one runs for each task");

    static struct starpu_codelet chosen = {
        .cpu_funcs = { first_func, second_func },
        .can_execute = only_second,
        .name = "chosen",
    };
    clear();
    failed = submit_many(&chosen, 50);
    ok(all_of(!failed, runs[0] == 0, runs[1] == 50), "can_execute chooses the implementation");

    static struct starpu_codelet placed = { .cpu_funcs = { first_func },
                                            .can_execute = only_last_worker,
                                            .name = "placed" };
    clear();
    failed = submit_many(&placed, 50);
    ok(all_of(!failed, on_worker[starpu_worker_get_count() - 1] == 50), "can_execute chooses the worker");

    static struct starpu_codelet refused = { .cpu_funcs = { first_func },
                                             .can_execute = nobody,
                                             .name = "refused" };
    struct starpu_task *task = starpu_task_create();
    task->cl = &refused;
    task->destroy = 0;
    is_int(starpu_task_submit(task), -ENODEV,
           "a task that can_execute refuses everywhere is refused with ENODEV");
    starpu_task_destroy(task);
}

static atomic_int called_back;
static void count_callback(void *arg UNUSED)
{
    atomic_fetch_add(&called_back, 1);
}

static void write_func(void *buffers[], void *arg)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = (int)(intptr_t)arg;
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};

static void held_write_func(void *buffers[], void *arg)
{
    gate_pass(arg);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 1;
}
static struct starpu_codelet held_write_cl = {
    .cpu_funcs = { held_write_func },
    .nbuffers = 1,
    .modes = { STARPU_W },
    .name = "held_write",
};

static void places(void)
{
    static struct starpu_codelet automatic = { .cpu_funcs = { first_func }, .name = "automatic" };
    static struct starpu_codelet explicit = { .where = STARPU_CPU,
                                              .cpu_funcs = { first_func },
                                              .name = "explicit" };
    clear();
    int failed = submit_many(&automatic, 5) || submit_many(&explicit, 5);
    ok(all_of(!failed, runs[0] == 10), "where may be left out or be STARPU_CPU");

    static struct starpu_codelet elsewhere = {
        .where = STARPU_CUDA, .cpu_funcs = { first_func }, .cuda_funcs = { first_func }, .name = "elsewhere"
    };
    struct starpu_task *task = starpu_task_create();
    task->cl = &elsewhere;
    task->destroy = 0;
    is_int(starpu_task_submit(task), -ENODEV, "where forbids the CPU even to a codelet with a CPU function");
    starpu_task_destroy(task);

    task = starpu_task_create();
    task->cl = &automatic;
    task->where = STARPU_CUDA;
    task->destroy = 0;
    is_int(starpu_task_submit(task), -ENODEV, "a task's own where comes before its codelet's");
    starpu_task_destroy(task);
}

static void nowhere(void)
{
    static struct starpu_codelet nowhere_cl = {
        .where = STARPU_NOWHERE,
        .nbuffers = 1,
        .modes = { STARPU_RW },
        .name = "nowhere",
    };
    int value = 0;
    struct gate gate = { 0 };
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct starpu_task *writer = starpu_task_create();
    writer->cl = &held_write_cl;
    writer->cl_arg = &gate;
    writer->handles[0] = handle;
    struct starpu_task *task = starpu_task_create();
    task->cl = &nowhere_cl;
    task->handles[0] = handle;
    task->callback_func = count_callback;
    struct starpu_task *last = starpu_task_create();
    last->cl = &write_cl;
    last->cl_arg = (void *)(intptr_t)2;
    last->handles[0] = handle;
    atomic_store(&called_back, 0);
    int failed =
        starpu_task_submit(writer) != 0 || starpu_task_submit(task) != 0 || starpu_task_submit(last) != 0;
    gate_wait_entered(&gate, 1);
    rest_but(1);
    ok(all_of(!failed, called_back == 0), "a task that runs nowhere waits for its data");
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    ok(all_of(called_back == 1, value == 2), "then it terminates, calls back and lets the next one pass");
}

static void names_and_statistics(void)
{
    static struct starpu_codelet cl;
    memset(&cl, 0xff, sizeof cl);
    starpu_codelet_init(&cl);
    ok(all_of(cl.where == 0, cl.nbuffers == 0, cl.cpu_funcs[0] == NULL, cl.model == NULL, cl.name == NULL),
       "an initialised codelet is empty");
    cl.cpu_funcs[0] = first_func;
    cl.callback_func = count_callback;
    atomic_store(&called_back, 0);
    clear();
    int failed = submit_many(&cl, 30);
    ok(all_of(!failed, runs[0] == 30, called_back == 30),
       "a codelet's callback serves the tasks that have none");
    unsigned long total = 0;
    int wrong = 0;
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) {
        total += cl.per_worker_stats[i];
        wrong += cl.per_worker_stats[i] != (unsigned long)on_worker[i];
    }
    ok(all_of(total == 30, wrong == 0), "a codelet counts the executions of each worker");
}

static void old_field(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    static struct starpu_codelet old = { .where = STARPU_CPU, .cpu_func = first_func, .name = "old" };
#pragma GCC diagnostic pop
    clear();
    int failed = submit_many(&old, 10);
    ok(all_of(!failed, runs[0] == 10), "the deprecated field cpu_func still names the implementation");
}

static int node_of_data;
static void node_func(void *buffers[], void *arg UNUSED)
{
    node_of_data = starpu_task_get_current_data_node(0);
    (*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]))++;
}

static void nodes(void)
{
    static struct starpu_codelet specific = {
        .cpu_funcs = { node_func },
        .nbuffers = 1,
        .modes = { STARPU_RW },
        .specific_nodes = 1,
        .nodes = { STARPU_SPECIFIC_NODE_CPU },
        .name = "specific",
    };
    int value = 1;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    node_of_data = -1;
    int status = starpu_task_insert(&specific, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    ok(all_of(status == 0, value == 2, node_of_data == STARPU_MAIN_RAM),
       "a codelet names the memory node of its data");
}

#ifdef STARPU_NODE_ARRAY /* of the peer's development version */
static void absent_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    node_of_data = starpu_task_get_current_data_node(0);
}

static void nodes_of_a_task(void)
{
    static struct starpu_codelet plain = {
        .cpu_funcs = { node_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "plain"
    };
    static struct starpu_codelet untouched = {
        .cpu_funcs = { absent_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "untouched"
    };
    starpu_data_handle_t handle;
    int value = 2, main_memory = STARPU_MAIN_RAM, none = STARPU_SPECIFIC_NODE_NONE, wrong = 1000;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    int status = starpu_task_insert(&plain, STARPU_RW, handle, STARPU_NODE_ARRAY, &main_memory, 1, 0);
    starpu_task_wait_for_all();
    int first = node_of_data;
    status |= starpu_task_insert(&untouched, STARPU_NODE_ARRAY, &none, 1, STARPU_RW, handle, 0);
    starpu_task_wait_for_all();
    ok(all_of(status == 0, first == STARPU_MAIN_RAM, node_of_data == -1),
       "STARPU_NODE_ARRAY names it for one task, also that there is none");
    ok(starpu_task_insert(&plain, STARPU_RW, handle, STARPU_NODE_ARRAY, &wrong, 1, 0) == -EINVAL,
       "which is checked");
    starpu_data_unregister(handle);
}
#endif

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    implementations();
    places();
    nowhere();
    names_and_statistics();
    old_field();
    nodes();
#ifdef STARPU_NODE_ARRAY
    nodes_of_a_task();
#endif
    starpu_shutdown();
    return done_testing();
}
