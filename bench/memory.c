/* SPDX-License-Identifier: BSD-3-Clause */
/* memory: resident bytes per pending task, and per registered handle.
 * Threads: main submits while all workers are held.
 * Owns: the handles.
 * Not here: speed (tasks.c, fan.c).
 *
 * -n tasks -w workers -s policy -d handles per task (0; 1: a chain; 3: 1 RW + 2 R of 1000 each) -H handles.
 * The figure is the growth of the resident set, so it counts what the allocator wastes. */
#include "stream.h"

enum { SPREAD = 1000 };

static void run_empty(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static struct starpu_codelet codelets[4] = {
    [0] = { .cpu_funcs = { run_empty }, .nbuffers = 0, .name = "none" },
    [1] = { .cpu_funcs = { run_empty }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "one" },
    [3] = { .cpu_funcs = { run_empty },
            .nbuffers = 3,
            .modes = { STARPU_RW, STARPU_R, STARPU_R },
            .name = "three" },
};

static void submit(long count, int depth, starpu_data_handle_t *handles)
{
    for (long k = 0; k < count; k++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelets[depth];
        if (depth == 1) task->handles[0] = handles[0];
        for (int d = 0; depth == 3 && d < 3; d++) task->handles[d] = handles[d * SPREAD + k % SPREAD];
        submit_or_die(task);
    }
}

int main(int argc, char **argv)
{
    struct stream s;
    long handle_count = option_number(argc, argv, "-H", 20000);
    int depth = (int)option_number(argc, argv, "-d", 0);
    if ((depth != 0 && depth != 1 && depth != 3) || handle_count < 3 * SPREAD) {
        fprintf(stderr, "memory: -d takes 0, 1 or 3, -H at least %d\n", 3 * SPREAD);
        return 2;
    }
    stream_init(&s, argc, argv, 200000);
    long *values = calloc((size_t)handle_count, sizeof *values);
    starpu_data_handle_t *handles = calloc((size_t)handle_count, sizeof *handles);
    memset(values, 1, (size_t)handle_count * sizeof *values);
    memset(handles, 1, (size_t)handle_count * sizeof *handles);
    double before_handles = resident_bytes();
    for (long k = 0; k < handle_count; k++)
        starpu_variable_data_register(&handles[k], STARPU_MAIN_RAM, (uintptr_t)&values[k], sizeof *values);
    double per_handle = (resident_bytes() - before_handles) / (double)handle_count;
    gate_close(s.workers);
    double before_tasks = resident_bytes();
    submit(s.count, depth, handles);
    double per_task = (resident_bytes() - before_tasks) / (double)s.count;
    gate_open();
    starpu_task_wait_for_all();
    double kept = (resident_bytes() - before_tasks) / (double)s.count;
    for (long k = 0; k < handle_count; k++) starpu_data_unregister(handles[k]);
    printf("memory policy=%s workers=%d n=%ld handles=%d bytes_per_task=%.0f bytes_per_handle=%.0f "
           "kept_bytes=%.0f "
           "sizeof_task=%zu ok\n",
           s.policy, s.workers, s.count, depth, per_task, per_handle, kept, sizeof(struct starpu_task));
    starpu_shutdown();
    free(handles);
    free(values);
    return 0;
}
