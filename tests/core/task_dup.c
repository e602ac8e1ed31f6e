/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy of a task runs beside its original: each has its own list of data and its own arguments, and both
 * are freed once. A task in the program's own memory that has many data leaves nothing behind.
 * Threads: main submits; two workers. Owns: the counters. Not here: other ways to make tasks
 * (task_submit.c, task_insert.c).
 */
#include "tests/helper.h"

enum { DATA = 12, MORE = 40 };

static int values[MORE];
static starpu_data_handle_t handles[MORE];
static atomic_int sum, wrong;

static void add_func(void *buffers[], void *arg)
{
    int step, n = (int)STARPU_TASK_GET_NBUFFERS(starpu_task_get_current());
    char text[200];
    starpu_codelet_unpack_args(arg, &step, text);
    if (text[199] != 'x') atomic_fetch_add(&wrong, 1);
    for (int i = 0; i < n; i++) *(int *)STARPU_VARIABLE_GET_PTR(buffers[i]) += step;
    atomic_fetch_add(&sum, step);
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "add" };

static void count_func(void *buffers[], void *arg UNUSED)
{
    int n = (int)STARPU_TASK_GET_NBUFFERS(starpu_task_get_current());
    for (int i = 0; i < n; i++) *(int *)STARPU_VARIABLE_GET_PTR(buffers[i]) += 1;
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func },
                                          .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                          .name = "count" };

/* Whether the first n values are v and the others 0; they are 0 then. */
static int values_are(int n, int v)
{
    int good = 1;
    starpu_task_wait_for_all();
    for (int i = 0; i < MORE; i++) {
        good &= values[i] == (i < n ? v : 0);
        values[i] = 0;
    }
    return good;
}

/* Many data, and packed arguments, which are freed with the task. */
static void packed_arguments(void)
{
    static char text[200];
    int step = 3;
    struct starpu_data_descr all[DATA];
    for (int i = 0; i < DATA; i++) all[i] = (struct starpu_data_descr){ handles[i], STARPU_RW };
    text[199] = 'x';
    struct starpu_task *task = starpu_task_build(&add_cl, STARPU_VALUE, &step, sizeof step, STARPU_VALUE,
                                                 text, sizeof text, STARPU_DATA_MODE_ARRAY, all, DATA, 0);
    struct starpu_task *copy = starpu_task_dup(task);
    ok(all_of(copy, copy->dyn_handles != task->dyn_handles, copy->cl_arg != task->cl_arg),
       "a copy shares no memory with its original");
    starpu_task_submit(task);
    starpu_task_wait_for_all(); /* the original is gone */
    starpu_task_submit(copy);
    ok(all_of(values_are(DATA, 6), atomic_load(&sum) == 6, atomic_load(&wrong) == 0),
       "it runs with the same %d data and arguments when the original is gone", DATA);
}

/* Arguments of unknown size stay the original's. */
static void unknown_size(void)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    task->cl_arg = malloc(8);
    task->cl_arg_free = 1;
    task->callback_arg = malloc(8);
    task->callback_arg_free = 1;
    struct starpu_task *copy = starpu_task_dup(task);
    is_int(starpu_task_submit(copy), 0, "a copy is submitted");
    starpu_task_wait_for_all();
    ok(!copy || starpu_task_submit(task) == 0, "arguments of unknown size are freed by the original alone");
    starpu_task_wait_for_all();
}

/* Submitted twice, with more data the second time. */
static void own_memory(void)
{
    struct starpu_task task;
    starpu_data_handle_t list[MORE];
    enum starpu_data_access_mode modes[MORE];
    for (int i = 0; i < MORE; i++) {
        list[i] = handles[i];
        modes[i] = STARPU_RW;
    }
    starpu_task_init(&task);
    task.cl = &count_cl;
    task.destroy = 0;
    task.detach = 0;
    task.dyn_handles = list;
    task.dyn_modes = modes;
    int status = 0;
    for (int n = DATA; n <= MORE; n += MORE - DATA) {
        task.nbuffers = n;
        status |= starpu_task_submit(&task) | starpu_task_wait(&task);
        status |= !values_are(n, 1);
    }
    is_int(status, 0, "a task in the program's memory runs with %d data, then with %d", DATA, MORE);
    task.dyn_handles = NULL;
    task.dyn_modes = NULL;
    starpu_task_clean(&task);
    ok(!task.dyn_interfaces, "and the library's list of them is freed with it");
}

int main(void)
{
    runtime_start(2, "eager");
    for (int i = 0; i < MORE; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
    packed_arguments();
    unknown_size();
    own_memory();
    for (int i = 0; i < MORE; i++) starpu_data_unregister(handles[i]);
    starpu_shutdown();
    return done_testing();
}
