/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pheft: a parallel task goes to the worker or combined worker where it should end first, by models; measures
 * for each size are taken; without models the largest has it.
 * Threads: main submits; four workers execute.
 * Owns: nothing lasting (a model is kept in the test's own folder).
 * Not here: plain tasks (tests/sched/policies.c), how several workers run a task
 * (tests/core/parallel_tasks.c).
 */
#include <stdbool.h>

#include "tests/sched/parallel.h"

static double us_alone = 8000, us_of_two = 8000, us_of_all = 8000;

static double cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch, unsigned nimpl UNUSED)
{
    int n = arch->devices[0].ncores;
    return n == 1 ? us_alone : n == 2 ? us_of_two : us_of_all;
}

static struct starpu_perfmodel told = { .type = STARPU_PER_ARCH,
                                        .arch_cost_function = cost,
                                        .symbol = "orrery_test_pheft_told" },
                               learnt = { .type = STARPU_HISTORY_BASED,
                                          .symbol = "orrery_test_pheft_learnt" },
                               joined = { .type = STARPU_HISTORY_BASED,
                                          .symbol = "orrery_test_pheft_joined" };

static struct starpu_codelet
    told_cl = { .cpu_funcs = { forkjoin_func }, .type = STARPU_FORKJOIN, .model = &told, .name = "told" },
    two_cl = { .cpu_funcs = { spmd_func },
               .type = STARPU_SPMD,
               .max_parallelism = 2,
               .model = &told,
               .name = "two" },
    unknown_cl = { .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .name = "unknown" },
    joined_cl = { .cpu_funcs = { forkjoin_func },
                  .type = STARPU_FORKJOIN,
                  .model = &joined,
                  .name = "joined" },
    learnt_cl = { .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .model = &learnt, .name = "learnt" },
    plain_cl = { .cpu_funcs = { forkjoin_func }, .model = &told, .name = "plain" };

static void set_times(double alone, double two, double all)
{
    us_alone = alone;
    us_of_two = two;
    us_of_all = all;
}

/* Each is alone on the machine: what is predicted for it decides. */
static int one_by_one(struct starpu_codelet *cl, int size)
{
    int right = 0;
    for (int i = 0; i < 10; i++) right += run_many(cl, 1) && atomic_load(&of_size[size]) == 1;
    return right;
}

static void by_model(void)
{
    set_times(8000, 4000, 2000);
    is_int(one_by_one(&told_cl, 4), 10, "a task that scales runs on all four workers");
    set_times(8000, 4000, 9000);
    is_int(one_by_one(&told_cl, 2), 10, "one that scales to two runs on two");
    set_times(8000, 8500, 9000);
    is_int(one_by_one(&told_cl, 1), 10, "one that does not scale runs on one");
    set_times(8000, 4000, 2000);
    is_int(one_by_one(&two_cl, 2), 10, "max_parallelism is kept");
    is_int(one_by_one(&plain_cl, 1), 10, "a sequential task runs on one");
}

/* Worker 3 is said to be busy for long. */
static double long_cost(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 1e6;
}
static struct starpu_perfmodel long_model = { .type = STARPU_COMMON,
                                              .cost_function = long_cost,
                                              .symbol = "orrery_test_pheft_long" };

static void busy_member(void)
{
    struct gate gate = { 0 };
    static struct starpu_codelet long_cl = { .cpu_funcs = { gate_func },
                                             .model = &long_model,
                                             .name = "long" };
    forget();
    struct starpu_task *task = starpu_task_create();
    task->cl = &long_cl;
    task->cl_arg = &gate;
    task->execute_on_a_specific_worker = 1;
    task->workerid = 3;
    int failed = starpu_task_submit(task);
    gate_wait_entered(&gate, 1);
    set_times(8000, 4000, 2000);
    failed |= submit_many(&told_cl, 4);
    int came = comes_to(&ended, 4, 10000);
    ok(all_of(!failed, came, atomic_load(&of_size[4]) == 0),
       "while one worker is busy for long, tasks run on combined workers without it (%d on two)",
       atomic_load(&of_size[2]));
    gate_open(&gate);
    starpu_task_wait_for_all();
}

static void without_model(void)
{
    ok(all_of(run_many(&unknown_cl, 20), atomic_load(&of_size[4]) == 20, atomic_load(&spmd_bodies) == 80),
       "tasks without a model run on all four");
}

static double expected_on(struct starpu_codelet *cl, int id)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    double us = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(id, 0), 0);
    starpu_task_destroy(task);
    return us;
}

static bool all_known(struct starpu_codelet *cl)
{
    int first = (int)starpu_worker_get_count(), count = (int)starpu_combined_worker_get_count();
    bool known = true;
    for (int id = first; id < first + count; id++) known &= expected_on(cl, id) > 0;
    return known;
}

static void learning(struct starpu_codelet *cl, const char *policy)
{
    int first = (int)starpu_worker_get_count(), count = (int)starpu_combined_worker_get_count(), size,
        known = 1;
    atomic_store(&nap_us, 4000);
    int ran = run_many(cl, 120), one = atomic_load(&of_size[1]), two = atomic_load(&of_size[2]),
        four = atomic_load(&of_size[4]);
    ok(all_of(ran, one > 5, two > 5, four > 5),
       "%s: while nothing is known, tasks are tried on one, two and four workers (%d, %d, %d)", policy, one,
       two, four);
    for (int round = 0; round < 10 && !all_known(cl); round++) run_many(cl, 40); /* outliers do not count */
    for (int id = first; id < first + count; id++) {
        double us = expected_on(cl, id);
        starpu_combined_worker_get_description(id, &size, NULL);
        known &= us > 500;
        if (size == 4) diag("four workers take %g us, one %g us", us, expected_on(cl, 0));
    }
    ok(known, "%s: then the time is known for each size", policy);
    atomic_store(&nap_us, 0);
}

static void one_worker(void)
{
    runtime_start(1, "pheft");
    set_times(8000, 4000, 2000);
    ok(all_of(run_many(&told_cl, 20), atomic_load(&of_size[1]) == 20),
       "with one worker a parallel task runs on it");
    ok(all_of(run_many(&unknown_cl, 20), atomic_load(&of_size[1]) == 20), "also without a model");
    starpu_shutdown();
}

static void single(void)
{
    setenv("STARPU_SINGLE_COMBINED_WORKER", "1", 1);
    runtime_start(4, "pheft");
    ok(all_of(run_many(&unknown_cl, 10), atomic_load(&of_size[4]) == 10),
       "one combined worker at a time: all have it");
    starpu_shutdown();
    unsetenv("STARPU_SINGLE_COMBINED_WORKER");
}

/* Workers leave for another context, and come back. */
static void changing(void)
{
    runtime_start(4, "pheft");
    require_workers(4);
    int two[2] = { 2, 3 };
    set_times(8000, 4000, 2000);
    forget();
    int failed = submit_many(&told_cl, 50);
    unsigned context = starpu_sched_ctx_create(two, 2, "two", STARPU_SCHED_CTX_POLICY_NAME, "pheft", 0);
    starpu_sched_ctx_remove_workers(two, 2, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&ended) == 50), "tasks under way when workers leave each end once");
    is_int(one_by_one(&told_cl, 2), 10, "the two that are left work together");
    starpu_sched_ctx_set_context(&context);
    int here = run_many(&unknown_cl, 20);
    ok(all_of(here, atomic_load(&of_size[2]) == 20, atomic_load(&on_worker[0]) == 0,
              atomic_load(&on_worker[1]) == 0),
       "and those of the other context, there");
    context = 0;
    starpu_sched_ctx_set_context(&context);
    starpu_shutdown();
}

int main(void)
{
    alarm(120);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1); /* the same combined workers everywhere */
    runtime_start(4, "pheft");
    require_workers(4);
    is_int((int)starpu_combined_worker_get_count(), 3, "four workers: combined workers of two, two and four");
    by_model();
    busy_member();
    without_model();
    learning(&learnt_cl, "pheft");
    starpu_shutdown();
    runtime_start(4, "modular-pheft");
    learning(&joined_cl, "modular-pheft");
    starpu_shutdown();
    one_worker();
    single();
    changing();
    return done_testing();
}
