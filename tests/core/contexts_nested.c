/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts nested in another: who runs the outer one's tasks when all its workers are inside, and who gets
 * the workers back. Threads: main makes contexts and submits; workers execute. Owns: how many tasks each
 * worker executed. Not here: contexts side by side (contexts.c).
 */
#include "tests/helper.h"

enum { TASKS = 40 };

static atomic_int executed[STARPU_NMAXWORKERS];
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&executed[starpu_worker_get_id()], 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static int submit_to(unsigned context)
{
    int failed = 0;
    for (int i = 0; i < TASKS; i++)
        failed |= starpu_task_insert(&count_cl, STARPU_SCHED_CTX, context, 0) != 0;
    starpu_task_wait_for_all();
    return failed;
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    require_workers(2);
    int workers[2] = { 0, 1 };
    unsigned outer = starpu_sched_ctx_create(workers, 2, "outer", STARPU_SCHED_CTX_POLICY_NAME, "prio", 0),
             inner[2];
    for (int i = 0; i < 2; i++)
        inner[i] = starpu_sched_ctx_create(&workers[i], 1, "inner", STARPU_SCHED_CTX_NESTED, outer, 0);

    int failed = submit_to(outer);
    is_int(failed, 0, "a context whose workers are all in nested contexts still takes tasks");
    is_int(atomic_load(&executed[0]) + atomic_load(&executed[1]), TASKS, "and they run");
    ok(atomic_load(&executed[0]) > 0 && atomic_load(&executed[1]) > 0, "in each of the nested contexts");

    starpu_sched_ctx_delete(inner[0]);
    ok(starpu_sched_ctx_contains_worker(0, outer),
       "a nested context that ends gives its worker back to the outer one");
    is_int(submit_to(outer), 0, "which runs its tasks itself again");
    starpu_sched_ctx_delete(inner[1]);
    is_int(starpu_sched_ctx_get_nworkers(outer), 2, "after the last one it has all its workers");
    starpu_sched_ctx_delete(outer);
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "and the main context has them in the end");
    starpu_shutdown();
    return done_testing();
}
