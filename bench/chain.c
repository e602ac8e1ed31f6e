/* SPDX-License-Identifier: BSD-3-Clause */
/* chain: tasks that all write one handle: the latency of one step of a dependency chain.
 * Threads: main submits.
 * Owns: the counter that the tasks increment.
 * Not here: the options (stream.h). */
#include "stream.h"

static void increment(void *buffers[], void *args)
{
    (void)args;
    ++*(long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = { increment }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "increment"
};

static void submit(long count, void *data)
{
    starpu_data_handle_t *handle = data;
    for (long k = 0; k < count; k++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelet;
        task->handles[0] = *handle;
        submit_or_die(task);
    }
}

int main(int argc, char **argv)
{
    struct stream s;
    long value = 0;
    starpu_data_handle_t handle;
    stream_init(&s, argc, argv, 100000);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    stream_run(&s, submit, &handle);
    starpu_data_unregister(handle);
    stream_print(&s, "chain", value == s.done);
    starpu_shutdown();
    return value != s.done;
}
