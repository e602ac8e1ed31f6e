/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program learns about workers and memory nodes, and placing a task on one worker.
 * Threads: main asks; workers ask about themselves.
 * Owns: nothing.
 * Not here: the order of tasks on a worker (workerorder.c), binding to cores.
 */
#include <glob.h>

#include "tests/helper.h"

static int count;

static void numbers(void)
{
    is_int(count, 2, "two workers were asked for and started");
    is_int(starpu_cpu_worker_get_count(), 2, "both are CPU workers");
    ok(all_of(starpu_cuda_worker_get_count() == 0, starpu_opencl_worker_get_count() == 0),
       "there are no GPU workers");
    is_int(starpu_worker_get_count_by_type(STARPU_CPU_WORKER), 2, "counting by type agrees");
    is_int(starpu_worker_get_count_by_type(STARPU_ANY_WORKER), 2, "any type counts all");
    is_int(starpu_worker_get_count_by_type(STARPU_CUDA_WORKER), 0, "no worker is counted as CUDA");
}

/* Threads of this process that have this name. */
static int threads_named(const char *wanted)
{
    glob_t all;
    int found = 0;
    if (glob("/proc/self/task/*/comm", 0, NULL, &all) != 0) return -1;
    for (size_t i = 0; i < all.gl_pathc; i++) {
        char name[32] = "";
        FILE *f = fopen(all.gl_pathv[i], "r");
        if (!f) continue;
        if (fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
        fclose(f);
        found += strcmp(name, wanted) == 0;
    }
    globfree(&all);
    return found;
}

static void identities(void)
{
    int ids[STARPU_NMAXWORKERS], wrong = 0;
    is_int(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, ids, STARPU_NMAXWORKERS), 2,
           "the ids of a type can be listed");
    for (int i = 0; i < count; i++) {
        wrong += ids[i] != starpu_worker_get_by_type(STARPU_CPU_WORKER, i);
        wrong += starpu_worker_get_type(ids[i]) != STARPU_CPU_WORKER;
        wrong += starpu_worker_get_by_devid(STARPU_CPU_WORKER, starpu_worker_get_devid(ids[i])) != ids[i];
    }
    is_int(wrong, 0, "type, number within the type and device number lead to the same ids");
    is_int(starpu_worker_get_by_type(STARPU_CPU_WORKER, count), -1, "there is no third CPU worker");
    is_int(starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0), -1, "there is no first CUDA worker");
    is_int(starpu_worker_get_id(), -1, "main is no worker");
    char name[2][64] = { "", "" };
    starpu_worker_get_name(0, name[0], sizeof name[0]);
    starpu_worker_get_name(1, name[1], sizeof name[1]);
    ok(strlen(name[0]) > 0 && strcmp(name[0], name[1]) != 0, "workers have names of their own: %s, %s",
       name[0], name[1]);
    char small[4] = "xxx";
    starpu_worker_get_name(0, small, sizeof small);
    ok(small[3] == 0 && strncmp(small, name[0], 3) == 0, "a name is cut to the memory given");
    is_int(threads_named("orr CPU 0") + threads_named("orr CPU 1"), 2,
           "top and gdb show them by their names");
    ok(starpu_worker_get_type_as_string(STARPU_CPU_WORKER) &&
           strcmp(starpu_worker_get_type_as_string(STARPU_CPU_WORKER), "STARPU_CPU_WORKER") == 0,
       "a type is given as text");
}

static void memory(void)
{
    int wrong = 0;
    for (int i = 0; i < count; i++) wrong += starpu_worker_get_memory_node((unsigned)i) != STARPU_MAIN_RAM;
    is_int(wrong, 0, "CPU workers work in main memory");
    ok(starpu_memory_nodes_get_count() >= 1 && starpu_node_get_kind(STARPU_MAIN_RAM) == STARPU_CPU_RAM,
       "main memory is a memory node of kind STARPU_CPU_RAM");
}

static atomic_int wrong_place, visits[STARPU_NMAXWORKERS];
static void place_func(void *buffers[] UNUSED, void *arg)
{
    int want = (int)(intptr_t)arg, here = starpu_worker_get_id();
    if (here < 0 || here >= count || (want >= 0 && here != want) ||
        starpu_worker_get_local_memory_node() != STARPU_MAIN_RAM || (int)starpu_worker_get_id_check() != here)
        atomic_fetch_add(&wrong_place, 1);
    else
        atomic_fetch_add(&visits[here], 1);
}
static struct starpu_codelet place_cl = { .cpu_funcs = { place_func }, .name = "place" };

static int place(int worker, int fixed)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &place_cl;
    task->cl_arg = (void *)(intptr_t)(fixed ? worker : -1);
    task->execute_on_a_specific_worker = fixed ? 1 : 0;
    task->workerid = fixed ? (unsigned)worker : 0;
    return starpu_task_submit(task);
}

static void placed(void)
{
    int failed = 0;
    for (int i = 0; i < 1000; i++) failed |= place(i % 10 == 0 ? 1 : 0, 1);
    starpu_task_wait_for_all();
    ok(!failed && wrong_place == 0 && visits[0] == 900 && visits[1] == 100,
       "a task for one worker runs on that worker");
    memset(visits, 0, sizeof visits);
    for (int i = 0; i < 500; i++) failed |= place(0, 0);
    starpu_task_wait_for_all();
    ok(!failed && wrong_place == 0 && visits[0] + visits[1] == 500,
       "inside a task the worker knows its id and memory");
}

static void both_work(void)
{
    struct gate gate = { 0 };
    gate_submit(&gate, -1);
    gate_submit(&gate, -1);
    ok(comes_to(&gate.entered, 2, 2000), "two tasks run on two workers at the same time");
    gate_open(&gate);
    starpu_task_wait_for_all();
}

static atomic_int each[STARPU_NMAXWORKERS], each_total;
static void each_worker(void *arg)
{
    int here = starpu_worker_get_id();
    if (here >= 0) atomic_fetch_add(&each[here], *(int *)arg);
    atomic_fetch_add(&each_total, 1);
}

static void on_each(void)
{
    int three = 3, wrong = 0;
    starpu_execute_on_each_worker(each_worker, &three, STARPU_CPU);
    for (int i = 0; i < count; i++) wrong += each[i] != 3;
    ok(wrong == 0 && each_total == count,
       "a function is executed once on each worker, and the call waits for all");
    starpu_execute_on_each_worker(each_worker, &three, STARPU_CUDA);
    is_int(each_total, count, "on the workers of another kind only: here none");
}

static int list_wrong;
static uint32_t mask_of_last_worker;
static void restricted(void)
{
    /* workerids is a bit mask, 32 workers per word */
    memset(visits, 0, sizeof visits);
    mask_of_last_worker = 1u << (count - 1);
    for (int i = 0; i < 100; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &place_cl;
        task->cl_arg = (void *)(intptr_t)-1;
        task->workerids = &mask_of_last_worker;
        task->workerids_len = 1;
        list_wrong += starpu_task_submit(task) != 0;
    }
    starpu_task_wait_for_all();
    ok(all_of(!list_wrong, visits[count - 1] == 100), "a mask of workers restricts a task to them");
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    require_workers(2);
    count = (int)starpu_worker_get_count();
    numbers();
    identities();
    memory();
    placed();
    both_work();
    on_each();
    restricted();
    starpu_shutdown();
    return done_testing();
}
