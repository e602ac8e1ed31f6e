/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peager and pprio: parallel tasks wait centrally for the largest combined worker there is for them; plain
 * tasks go to any worker, as under eager. Threads: main submits; up to four workers execute. Owns: nothing.
 * Not here: plain tasks alone (tests/sched/policies.c), how several workers run a task
 * (tests/core/parallel_tasks.c).
 */
#include "tests/sched/parallel.h"

static int not_all(unsigned worker, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    int size = 1;
    starpu_combined_worker_get_description((int)worker, &size, NULL);
    return size < 4;
}

static struct starpu_codelet
    spmd_cl = { .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .name = "spmd" },
    forkjoin_cl = { .cpu_funcs = { forkjoin_func },
                    .type = STARPU_FORKJOIN,
                    .max_parallelism = INT_MAX,
                    .name = "forkjoin" },
    two_cl = { .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .max_parallelism = 2, .name = "two" },
    one_cl = { .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .max_parallelism = 1, .name = "one" },
    picky_cl = { .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .can_execute = not_all, .name = "picky" },
    plain_cl = { .cpu_funcs = { forkjoin_func }, .name = "plain" };

static void sizes(void)
{
    ok(all_of(run_many(&spmd_cl, 50), atomic_load(&of_size[4]) == 50, atomic_load(&spmd_bodies) == 200),
       "SPMD tasks run on all four workers");
    ok(all_of(run_many(&forkjoin_cl, 50), atomic_load(&of_size[4]) == 50), "so do fork-join tasks");
    ok(all_of(run_many(&one_cl, 50), atomic_load(&of_size[1]) == 50),
       "tasks for one worker at most run on one");
    ok(all_of(run_many(&picky_cl, 50), atomic_load(&of_size[2]) == 50),
       "can_execute is asked about combined workers");
    atomic_store(&nap_us, 2000);
    ok(all_of(run_many(&two_cl, 60), atomic_load(&of_size[2]) == 60), "tasks for two at most run on two");
    ok(all_of(atomic_load(&on_worker[0]) > 0, atomic_load(&on_worker[1]) > 0, atomic_load(&on_worker[2]) > 0,
              atomic_load(&on_worker[3]) > 0),
       "on both pairs");
    ok(all_of(run_many(&plain_cl, 100), atomic_load(&of_size[1]) == 100, atomic_load(&on_worker[0]) > 0,
              atomic_load(&on_worker[1]) > 0, atomic_load(&on_worker[2]) > 0, atomic_load(&on_worker[3]) > 0),
       "plain tasks run on every worker");
    atomic_store(&nap_us, 0);
}

static void mixed(void)
{
    enum { ROUNDS = 200 };
    int failed = 0;
    forget();
    for (int i = 0; i < ROUNDS; i++)
        failed |= submit_many(&spmd_cl, 1) | submit_many(&plain_cl, 3) | submit_many(&two_cl, 1);
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&ended) == 5 * ROUNDS), "parallel and plain tasks mixed each end once");
    ok(all_of(atomic_load(&of_size[1]) == 3 * ROUNDS, atomic_load(&of_size[2]) == ROUNDS,
              atomic_load(&of_size[4]) == ROUNDS),
       "each on as many workers as it should");
}

static int first_ran;
static void first_func(void *buffers[] UNUSED, void *arg)
{
    if (starpu_combined_worker_get_rank() == 0 && !first_ran) first_ran = (int)(intptr_t)arg;
}
static struct starpu_codelet first_cl = { .cpu_funcs = { first_func },
                                          .type = STARPU_FORKJOIN,
                                          .name = "first" };

/* All workers are held while two tasks are submitted. */
static void priority(void)
{
    struct gate gate = { 0 };
    int failed = 0;
    for (int i = 0; i < 4; i++) gate_submit(&gate, i);
    gate_wait_entered(&gate, 4);
    first_ran = 0;
    for (int i = 1; i <= 2; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &first_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->priority = i == 2;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, first_ran == 2), "of two parallel tasks the one with the priority runs first");
}

static int came_in[8];
static atomic_int came_so_far;
static void order_func(void *buffers[] UNUSED, void *arg)
{
    if (starpu_combined_worker_get_rank() <= 0)
        came_in[atomic_fetch_add(&came_so_far, 1)] = (int)(intptr_t)arg;
}
static struct starpu_codelet order_all_cl = { .cpu_funcs = { order_func },
                                              .type = STARPU_FORKJOIN,
                                              .name = "order of all" },
                             order_one_cl = { .cpu_funcs = { order_func }, .name = "order of one" };

/* Parallel tasks for all four workers, plain ones for their master: one after another either way. */
static void order_of_both(void)
{
    static const int priority[6] = { 0, 3, 5, -2, 4, -7 }, want[6] = { 2, 4, 1, 0, 3, 5 };
    static uint32_t master[1] = { 1 };
    struct gate gate = { 0 };
    int failed = 0, same = 1;
    for (int i = 0; i < 4; i++) gate_submit(&gate, i);
    gate_wait_entered(&gate, 4);
    for (int i = 0; i < 6; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = i % 2 ? &order_one_cl : &order_all_cl;
        if (i % 2) {
            task->workerids = master;
            task->workerids_len = 1;
        }
        task->cl_arg = (void *)(intptr_t)i;
        task->priority = priority[i];
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 0; i < 6; i++) same &= came_in[i] == want[i];
    ok(all_of(!failed, same), "pprio: plain and parallel tasks by priority, the highest first");
}

/* One may wait for the busy worker with the other of its pair; the others do not. */
static void plain_meanwhile(void)
{
    struct gate gate = { 0 };
    forget();
    gate_submit(&gate, 3);
    gate_wait_entered(&gate, 1);
    int failed = submit_many(&two_cl, 5);
    int came = comes_to(&ended, 4, 10000);
    ok(all_of(!failed, came), "while one worker is busy, others run parallel tasks");
    gate_open(&gate);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ended), 5, "one may have waited for it");
}

static void changing(const char *policy)
{
    int one[1] = { 0 };
    forget();
    int failed = submit_many(&spmd_cl, 50) | submit_many(&two_cl, 50);
    unsigned context = starpu_sched_ctx_create(one, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
    starpu_sched_ctx_remove_workers(one, 1, 0); /* the master of all */
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&ended) == 100), "tasks that wait when their master leaves each end once");
    ok(all_of(run_many(&spmd_cl, 20), atomic_load(&of_size[3]) == 20),
       "the three that are left are combined then");
    starpu_sched_ctx_set_context(&context);
    ok(all_of(run_many(&spmd_cl, 20), atomic_load(&of_size[1]) == 20, atomic_load(&on_worker[0]) == 20),
       "one that is alone in a context runs parallel tasks alone");
    starpu_sched_ctx_set_context(&(unsigned){ 0 });
    starpu_sched_ctx_delete(context);
}

static void all_cases(const char *policy)
{
    runtime_start(4, policy);
    require_workers(4);
    sizes();
    mixed();
    priority();
    if (strcmp(policy, "pprio") == 0) order_of_both();
    plain_meanwhile();
    changing(policy);
    starpu_shutdown();
    runtime_start(1, policy);
    ok(all_of(run_many(&spmd_cl, 20), atomic_load(&of_size[1]) == 20),
       "%s: with one worker a parallel task runs on it", policy);
    starpu_shutdown();
}

int main(void)
{
    alarm(120);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1); /* the same combined workers everywhere */
    all_cases("peager");
    all_cases("pprio");
    return done_testing();
}
