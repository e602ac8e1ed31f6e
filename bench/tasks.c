/* SPDX-License-Identifier: BSD-3-Clause */
/* tasks: what an empty task without data costs.
 * Threads: main submits.
 * Owns: nothing.
 * Not here: the options of all streams (stream.h). -p: with a history model (dmda); -i: through
 * starpu_task_insert. */
#include "stream.h"

static void run_empty(void *buffers[], void *args)
{
    (void)buffers;
    (void)args;
}

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "bench_empty" };
static struct starpu_codelet codelet = { .cpu_funcs = { run_empty }, .nbuffers = 0, .name = "empty" };

static void submit(long count, void *data)
{
    (void)data;
    for (long k = 0; k < count; k++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelet;
        submit_or_die(task);
    }
}

static void insert(long count, void *data)
{
    (void)data;
    for (long k = 0; k < count; k++) starpu_task_insert(&codelet, 0);
}

int main(int argc, char **argv)
{
    struct stream s;
    if (option_given(argc, argv, "-p")) codelet.model = &model;
    stream_init(&s, argc, argv, 200000);
    stream_run(&s, option_given(argc, argv, "-i") ? insert : submit, NULL);
    stream_print(&s, "tasks", 1);
    starpu_shutdown();
    return 0;
}
