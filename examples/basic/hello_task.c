/* SPDX-License-Identifier: BSD-3-Clause */
/* hello_task shows the smallest program: one codelet, one task with an argument and a callback.
 * Threads: main submits; a worker runs the task and then its callback.
 * Expected output:
 *   Hello from a worker, the answer is 42
 *   The task is done */
#include <starpu.h>
#include <stdio.h>

static void say_hello(void *buffers[], void *args)
{
    (void)buffers;
    printf("Hello from a worker, the answer is %d\n", *(const int *)args);
}

static void say_done(void *args)
{
    (void)args;
    printf("The task is done\n");
}

/* What can be run, and on what: here on a CPU, without data. */
static struct starpu_codelet hello = { .cpu_funcs = { say_hello }, .nbuffers = 0, .name = "hello" };

int main(void)
{
    int answer = 42;
    if (starpu_init(NULL)) {
        fprintf(stderr, "hello_task: the runtime did not start\n");
        return 77;
    }
    struct starpu_task *task = starpu_task_create();
    task->cl = &hello;
    task->cl_arg = &answer; /* borrowed: it must live until the task has run */
    task->cl_arg_size = sizeof answer;
    task->callback_func = say_done;
    task->synchronous = 1; /* starpu_task_submit returns when the task is done */
    int error = starpu_task_submit(task);
    if (error) fprintf(stderr, "hello_task: the task was refused (%d)\n", error);
    starpu_shutdown();
    return error != 0;
}
