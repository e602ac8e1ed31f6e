/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiling tool (STARPU_PROF_TOOL) is told of start and end, workers, tasks and transfers.
 * Threads: main; the tool counts on any. Owns: nothing. Not here: the tool (prof_tool_lib.c).
 */
#include <dlfcn.h>

#include "tests/core/prof_tool_lib.h"
#include "tests/core/sim_helper.h"

enum { TASKS = 10 };

static void count_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet counted = { .cpu_funcs = { count_func },
                                         .cuda_funcs = { count_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW },
                                         .name = "counted" };

static struct prof_tool_seen *seen;

static int times(enum starpu_prof_tool_event event)
{
    return seen->events[event];
}

static void run(void)
{
    int x = 0, cpu = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
    int gpu = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    for (int i = 0; i < TASKS; i++)
        if (starpu_task_insert(&counted, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, i < TASKS / 2 ? cpu : gpu,
                               0) != 0)
            ok(0, "a task is inserted");
    starpu_data_unregister(h);
    is_int(x, TASKS, "all tasks run");
    is_int(seen->worker, cpu, "the tool is told which worker runs a task");
}

static void start(const char *tool)
{
    setenv("STARPU_PROF_TOOL", tool, 1);
    if (starpu_init(NULL) == 0) return;
    printf("Bail out! the runtime does not start\n");
    exit(1);
}

int main(int argc UNUSED, char *argv[])
{
    char path[4096], list[8192], *slash = strrchr(argv[0], '/');
    snprintf(path, sizeof path, "%.*s/prof_tool_lib.so", slash ? (int)(slash - argv[0]) : 1,
             slash ? argv[0] : ".");
    void *tool = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    seen = tool ? dlsym(tool, "prof_tool_seen") : NULL;
    if (!seen) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    setenv("STARPU_NCPU", "1", 1);
    setenv("ORRERY_SIM_DEVICES", "1", 1);
    snprintf(list, sizeof list, "/no/such/tool.so:%s", path);
    start(list);
    ok(all_of(times(starpu_prof_tool_event_init) == 1, times(starpu_prof_tool_event_init_begin) == 1,
              times(starpu_prof_tool_event_init_end) == 1),
       "a tool is told of the start, though another could not be loaded");
    ok(all_of(times(starpu_prof_tool_event_driver_init_start) == 2,
              times(starpu_prof_tool_event_driver_init) == 2,
              times(starpu_prof_tool_event_driver_init_end) == 2),
       "and of each worker");
    run();
    starpu_shutdown();
    is_int(times(starpu_prof_tool_event_start_cpu_exec), TASKS / 2, "of tasks on a CPU");
    is_int(times(starpu_prof_tool_event_end_cpu_exec), TASKS / 2, "and of their ends");
    is_int(times(starpu_prof_tool_event_start_gpu_exec), TASKS / 2, "of tasks on a device");
    is_int(times(starpu_prof_tool_event_end_gpu_exec), TASKS / 2, "and of theirs");
    ok(seen->function == (void *)(uintptr_t)count_func, "of the function that is called");
    int there = times(starpu_prof_tool_event_start_transfer);
    ok(all_of(there >= 2, there == times(starpu_prof_tool_event_end_transfer)),
       "of data on their way to the device and back");
    ok(all_of(seen->bytes_to_transfer >= 2 * sizeof(int), seen->bytes_to_transfer == seen->bytes_transfered),
       "and how long they are");
    ok(all_of(times(starpu_prof_tool_event_driver_deinit) == 2, times(starpu_prof_tool_event_terminate) == 1),
       "and of the end");
    is_int(seen->wrong, 0, "nothing else, and no function that was taken back");
    start(path);
    starpu_shutdown();
    is_int(times(starpu_prof_tool_event_terminate), 2, "the next start loads it again");
    setenv("STARPU_PROF_TOOL", "libm.so.6", 1);
    if (starpu_init(NULL) != 0) ok(0, "the runtime starts");
    starpu_shutdown();
    is_int(times(starpu_prof_tool_event_terminate), 2, "a library that is no tool is left out");
    dlclose(tool);
    return done_testing();
}
