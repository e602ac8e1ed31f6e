/* SPDX-License-Identifier: BSD-3-Clause */
/* trace: what recording costs: an event, and a stream of short tasks with and without, in turn.
 * Threads: main submits.
 * Owns: a recording in /tmp, which it removes.
 * Not here: the records themselves (doc/TRACE.md). -n: tasks in a round; -u: length of a task in us; -r:
 * rounds. */
#include <starpu.h>

#include "measure.h"

enum { EVENTS = 20000 };

static double length_s;

static void spin(void *buffers[], void *args)
{
    double end = now() + length_s;
    (void)buffers;
    (void)args;
    while (now() < end) continue;
}
static struct starpu_codelet codelet = {
    .cpu_funcs = { spin }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "spin"
};

static double stream(long tasks, starpu_data_handle_t *handles, int nhandles)
{
    double start = now();
    for (long i = 0; i < tasks; i++)
        if (starpu_task_insert(&codelet, STARPU_RW, handles[i % nhandles], 0) != 0) exit(1);
    starpu_task_wait_for_all();
    return (now() - start) / (double)tasks;
}

/* The least of many: events that the thread that writes took away meanwhile cost no more. */
static double one_event(void)
{
    double least = 1;
    for (int round = 0; round < 40; round++) {
        usleep(20000);
        double start = now();
        for (unsigned long i = 0; i < EVENTS; i++) starpu_fxt_trace_user_event(i);
        double took = (now() - start) / EVENTS;
        if (took < least) least = took;
    }
    return least;
}

int main(int argc, char **argv)
{
    enum { HANDLES = 64 };
    static float value[HANDLES];
    starpu_data_handle_t handles[HANDLES];
    double with[SAMPLES_MAX], without[SAMPLES_MAX], more[SAMPLES_MAX];
    char path[] = "/tmp/orrery-bench-trace.XXXXXX";
    long tasks = atol(option_text(argc, argv, "-n", "20000"));
    int rounds = atoi(option_text(argc, argv, "-r", "15")), file = mkstemp(path);
    length_s = 1e-6 * atof(option_text(argc, argv, "-u", "2"));
    if (rounds < 1 || rounds > SAMPLES_MAX || tasks < 1 || file < 0) return 2;
    setenv("ORRERY_TRACE", path, 1);
    if (starpu_init(NULL) != 0) return 1;
    for (int i = 0; i < HANDLES; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
    stream(tasks, handles, HANDLES);
    for (int round = 0; round < rounds; round++) {
        starpu_fxt_stop_profiling();
        without[round] = stream(tasks, handles, HANDLES);
        starpu_fxt_start_profiling();
        with[round] = stream(tasks, handles, HANDLES);
        more[round] = with[round] / without[round] - 1;
    }
    double event = one_event();
    for (int i = 0; i < HANDLES; i++) starpu_data_unregister(handles[i]);
    starpu_shutdown();
    printf("event_ns=%.1f task_ns=%.0f recorded_task_ns=%.0f more_percent=%.2f ok\n", event * 1e9,
           median(without, rounds) * 1e9, median(with, rounds) * 1e9, median(more, rounds) * 100);
    close(file);
    unlink(path);
    return 0;
}
