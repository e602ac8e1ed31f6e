/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many data: tens of thousands in one task, in any order and some several times; hundreds of thousands
 * registered, each found by its address at once. Threads: main; workers check what they are given. Owns: the
 * arrays. Not here: few data (data_modes.c, data_lifecycle.c).
 */
#include <time.h>
#include "core/data/registry.h"
#include "tests/core/sim_helper.h"

enum { DATA = SCALED(60000, 12000), HANDLES = SCALED(200000, 50000) };

static int values[HANDLES];
static starpu_data_handle_t handles[HANDLES];

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void register_all(int n)
{
    for (int i = 0; i < n; i++) {
        values[i] = 0;
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
    }
}

static int order[DATA], wrong;

/* Adds 1 to each datum that it gets: in the order in which they were given. */
static void add_func(void *buffers[], void *arg)
{
    int n = (int)(intptr_t)arg;
    for (int i = 0; i < n; i++) {
        int *p = (int *)STARPU_VARIABLE_GET_PTR(buffers[i]);
        wrong +=
            starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER && p != &values[order[i]];
        ++*p;
    }
}

static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "add" };
static struct starpu_codelet device_cl = { .cuda_funcs = { add_func },
                                           .opencl_funcs = { add_func },
                                           .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                           .name = "add on a device" };

/* Submits a task on data order[0..n); returns the time it took to submit. */
static double submit(struct starpu_codelet *cl, int n)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = (void *)(intptr_t)n;
    task->nbuffers = n;
    task->dyn_handles = malloc((size_t)n * sizeof *task->dyn_handles);
    task->dyn_modes = malloc((size_t)n * sizeof *task->dyn_modes);
    for (int i = 0; i < n; i++) {
        task->dyn_handles[i] = handles[order[i]];
        task->dyn_modes[i] = STARPU_RW;
    }
    double begin = cpu_seconds();
    if (starpu_task_submit(task) != 0) printf("Bail out! the task was refused\n");
    return cpu_seconds() - begin;
}

static void shuffle(int n)
{
    uint64_t seed = 4711;
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)random_below(&seed, (unsigned)i + 1), k = order[i];
        order[i] = order[j];
        order[j] = k;
    }
}

/* A simulated device borrows the function for the CPU: what a task wrote may lie with it. */
static void bring_home(int n)
{
    for (int i = 0; i < n; i++)
        if (starpu_data_acquire(handles[i], STARPU_R) == 0) starpu_data_release(handles[i]);
}

static void one_task(void)
{
    register_all(DATA);
    wrong = 0;
    for (int i = 0; i < DATA; i++) order[i] = DATA - 1 - i;
    double descending = submit(&add_cl, DATA);
    starpu_task_wait_for_all();
    shuffle(DATA);
    double shuffled = submit(&add_cl, DATA);
    starpu_task_wait_for_all();
    bring_home(DATA);
    int right = 1;
    for (int i = 0; i < DATA; i++) right &= values[i] == 2;
    ok(all_of(right, !wrong), "a task gets its %d data in the order it gave them", DATA);
    ok(all_of(descending < 0.4, shuffled < 0.4), "and is submitted in well under a second (%.3f, %.3f)",
       descending, shuffled);
    double begin = cpu_seconds();
    int last = DATA / 3;
    submit(&device_cl, last);
    starpu_task_wait_for_all();
    diag("with %d data on a device: %.3f s of this thread", last, cpu_seconds() - begin);
    for (int i = 0; i < DATA; i++) starpu_data_unregister(handles[i]);
    for (int i = 0; i < DATA; i++) right &= values[order[i]] == 2 + (i < last);
    ok(right, "so does one on a device");
}

static void several_times(void)
{
    enum { FEW = 100 };
    register_all(FEW);
    wrong = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < FEW; i++) order[i] = (i * 7 + round) % (FEW / 2); /* each twice */
        submit(&add_cl, FEW);
        starpu_task_wait_for_all();
    }
    for (int i = 0; i < FEW; i++) order[i] = i % (FEW / 2);
    for (int round = 0; round < 50; round++) submit(&add_cl, FEW), submit(&device_cl, FEW);
    starpu_task_wait_for_all();
    for (int i = 0; i < FEW; i++) starpu_data_unregister(handles[i]);
    int right = 1;
    for (int i = 0; i < FEW; i++) right &= values[i] == (i < FEW / 2 ? 300 : 0);
    ok(all_of(right, !wrong), "data named twice is one access, and both places have it");
}

static void many_handles(void)
{
    register_all(HANDLES);
    size_t chain = orr_registry_longest_chain();
    ok(chain < 64, "of %d handles at most a few dozen lie together (%zu)", HANDLES, chain);
    int found = 0;
    for (int i = 0; i < HANDLES; i++) found += starpu_data_lookup(&values[i]) == handles[i];
    is_int(found, HANDLES, "each is found by its address");
    for (int i = 0; i < HANDLES; i += 2) starpu_data_unregister(handles[i]);
    found = 0;
    for (int i = 0; i < HANDLES; i++) found += starpu_data_lookup(&values[i]) == (i % 2 ? handles[i] : NULL);
    is_int(found, HANDLES, "and no longer once it is unregistered");
    for (int i = 1; i < HANDLES; i += 2) starpu_data_unregister(handles[i]);
    is_int(orr_registry_longest_chain(), 0, "nothing is left of them");
}

int main(void)
{
    sim_start(2, &(struct sim_config){ .devices = "1", .mem_mb = "64", .latency_us = "0" });
    several_times();
    one_task();
    many_handles();
    starpu_shutdown();
    return done_testing();
}
