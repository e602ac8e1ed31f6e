/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What takes a handle away waits for whoever was submitted before it, also for tasks without sequential
 * consistency: those join the queue of their data when they could start, and not before. Threads: main;
 * another lets the tasks start when main has had time to return too early. Owns: its data. Not here: the end
 * of handles whose tasks are in order (data_lifecycle.c).
 */
#include <pthread.h>
#include "tests/helper.h"

enum { LATE = 5 };

static struct gate gate;
static atomic_int ran, returned;

static void add_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    ran++;
}

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static struct starpu_codelet add_cl = { .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW } };
static struct starpu_codelet commute_cl = { .cpu_funcs = { add_func },
                                            .nbuffers = 1,
                                            .modes = { STARPU_RW | STARPU_COMMUTE } };
static struct starpu_codelet redux_cl = { .cpu_funcs = { add_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_REDUX } };
static struct starpu_codelet zero_cl = { .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };

static struct starpu_task *gate_task(void)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &gate_cl;
    task->cl_arg = &gate;
    return task;
}

/* Submits tasks on h, without order, that can start once the gate is open. */
static void submit_late(struct starpu_codelet *cl, starpu_data_handle_t h)
{
    struct starpu_task *before = gate_task();
    for (int i = 0; i < LATE; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = cl;
        task->handles[0] = h;
        task->sequential_consistency = 0;
        starpu_task_declare_deps_array(task, 1, &before);
        if (starpu_task_submit(task) != 0) printf("Bail out! a task was refused\n");
    }
    starpu_task_submit(before);
    gate_wait_entered(&gate, 1);
}

static void *open_soon(void *arg UNUSED)
{
    comes_to(&returned, 1, 30);
    gate_open(&gate);
    return NULL;
}

/* How many of the late tasks had run when end(h) returned. */
static int ran_when(void (*end)(starpu_data_handle_t), starpu_data_handle_t h)
{
    pthread_t thread;
    pthread_create(&thread, NULL, open_soon, NULL);
    end(h);
    int count = ran;
    returned = 1;
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    return count;
}

static void begin(void)
{
    ran = returned = 0;
    gate = (struct gate){ 0 };
}

static void blocking(void)
{
    static const struct {
        void (*end)(starpu_data_handle_t);
        const char *name;
    } ends[] = { { starpu_data_unregister, "starpu_data_unregister" },
                 { starpu_data_unregister_no_coherency, "starpu_data_unregister_no_coherency" } };
    struct {
        struct starpu_codelet *cl;
        const char *name;
    } kinds[] = { { &add_cl, "write" }, { &commute_cl, "commute" }, { &redux_cl, "reduce" } };
    for (size_t e = 0; e < LENGTH(ends); e++)
        for (size_t k = 0; k < LENGTH(kinds); k++) {
            starpu_data_handle_t h;
            int value = 100;
            begin();
            starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
            starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
            submit_late(kinds[k].cl, h);
            int before = ran_when(ends[e].end, h);
            bool is_home = e == 0 || runtime_on_cpus();
            ok(all_of(before == LATE, !is_home || value == 100 + LATE),
               "%s waits for tasks out of order that %s", ends[e].name, kinds[k].name);
        }
}

static void submitted(void)
{
    starpu_data_handle_t h;
    int value = 0;
    begin();
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_data_set_sequential_consistency_flag(h, 0);
    submit_late(&add_cl, h);
    starpu_data_unregister_submit(h);
    int still = starpu_data_lookup(&value) == h;
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(still, ran == LATE, !runtime_on_cpus() || value == LATE, !starpu_data_lookup(&value)),
       "what starpu_data_unregister_submit ends is there until they have run, and gone then");
}

static int found;

static void find_func(void *buffers[], void *arg UNUSED)
{
    found = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet find_cl = { .cpu_funcs = { find_func }, .nbuffers = 1, .modes = { STARPU_R } };

/* The last use of h, held up by the gate, then its end; what that leaves to be done is done by then. */
static void end_submitted(struct starpu_codelet *cl, starpu_data_handle_t h)
{
    struct starpu_task *before = gate_task(), *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = h;
    starpu_task_declare_deps_array(task, 1, &before);
    if (starpu_task_submit(task) != 0) printf("Bail out! a task was refused\n");
    if (cl == &add_cl) starpu_data_invalidate_submit(h);
    found = -1;
    starpu_task_insert(&find_cl, STARPU_R, h, 0);
    starpu_data_unregister_submit(h);
    starpu_task_submit(before);
    gate_open(&gate);
}

/* Contributions are added up, and initial values given, by tasks that are made when it comes to that. */
static void submitted_before_its_end(void)
{
    starpu_data_handle_t h;
    int value = 100;
    begin();
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
    for (int i = 1; i < LATE; i++) starpu_task_insert(&redux_cl, STARPU_REDUX, h, 0);
    end_submitted(&redux_cl, h);
    int r = starpu_task_wait_for_all();
    ok(all_of(r == 0, found == 100 + LATE, !runtime_on_cpus() || value == 100 + LATE),
       "contributions to data that starpu_data_unregister_submit ends are added up");
    begin();
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
    end_submitted(&add_cl, h);
    r = starpu_task_wait_for_all();
    ok(all_of(r == 0, found == 0), "such data gets its initial value, where it lost its own");
}

static void unpartition(starpu_data_handle_t h)
{
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
}

static starpu_data_handle_t planned[2];

static void clean(starpu_data_handle_t h)
{
    starpu_data_unpartition_submit(h, 2, planned, STARPU_MAIN_RAM);
    starpu_data_partition_clean(h, 2, planned);
    starpu_data_unregister(h);
}

static void pieces(void)
{
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t h;
    int values[2] = { 0 };
    begin();
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)values, 2, sizeof values[0]);
    starpu_data_partition(h, &f);
    submit_late(&add_cl, starpu_data_get_child(h, 1));
    int before = ran_when(unpartition, h);
    ok(all_of(before == LATE, values[1] == LATE), "starpu_data_unpartition waits for them on the pieces");
    begin();
    starpu_data_partition_plan(h, &f, planned);
    submit_late(&add_cl, planned[0]);
    before = ran_when(clean, h);
    ok(all_of(before == LATE, values[0] == LATE), "so does the end of a plan and of its parent");
}

/* Some that wait for nothing, some that do, and tasks in order among them. */
static void mixed(void)
{
    starpu_data_handle_t h;
    int value = 0;
    begin();
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_task_insert(&add_cl, STARPU_RW, h, 0);
    submit_late(&add_cl, h);
    starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_SEQUENTIAL_CONSISTENCY, 0, 0);
    starpu_task_insert(&add_cl, STARPU_RW, h, 0);
    int before = ran_when(starpu_data_unregister, h);
    ok(all_of(before == LATE + 3, value == LATE + 3), "tasks in and out of order all run before the end");
}

int main(void)
{
    runtime_start(2, NULL);
    require_workers(2);
    blocking();
    submitted();
    submitted_before_its_end();
    pieces();
    mixed();
    starpu_shutdown();
    return done_testing();
}
