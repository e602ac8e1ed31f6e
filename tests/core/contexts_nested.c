/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts nested in another, with a policy and without, and who gets the workers back.
 * Threads: main makes contexts and submits; workers execute. Owns: how many tasks each worker executed.
 * Not here: contexts side by side (contexts.c).
 */
#include "tests/helper.h"

enum { TASKS = 40, WORKERS = 4 };

static atomic_int executed[STARPU_NMAXWORKERS], at_once, most_at_once;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    raise_to(&most_at_once, atomic_fetch_add(&at_once, 1) + 1);
    atomic_fetch_add(&executed[starpu_worker_get_id()], 1);
    usleep(200);
    atomic_fetch_sub(&at_once, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static int submit_to(unsigned context)
{
    int failed = 0;
    memset(executed, 0, sizeof executed);
    atomic_store(&most_at_once, 0);
    for (int i = 0; i < TASKS; i++)
        failed |= starpu_task_insert(&count_cl, STARPU_SCHED_CTX, context, 0) != 0;
    starpu_task_wait_for_all();
    return failed;
}

static int sum(int first, int end)
{
    int n = 0;
    for (int i = first; i < end; i++) n += atomic_load(&executed[i]);
    return n;
}

static void with_policy(void)
{
    int all[WORKERS] = { 0, 1, 2, 3 };
    unsigned outer = starpu_sched_ctx_create(all, WORKERS, "outer", STARPU_SCHED_CTX_POLICY_NAME, "prio", 0);
    unsigned inner = starpu_sched_ctx_create(all, 2, "inner", STARPU_SCHED_CTX_NESTED, outer,
                                             STARPU_SCHED_CTX_HIERARCHY_LEVEL, 1u,
                                             STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    is_int(starpu_sched_ctx_get_hierarchy_level(inner), 1, "a context knows its level");
    is_int(submit_to(inner), 0, "a nested context takes tasks");
    is_int(sum(0, 2), TASKS, "and runs them on its workers");
    submit_to(outer);
    is_int(sum(0, WORKERS), TASKS, "the outer one runs its own");
    starpu_sched_ctx_remove_workers(all, 2, outer);
    starpu_sched_ctx_delete(inner);
    is_int(starpu_sched_ctx_get_nworkers(outer), WORKERS, "the outer one inherits the workers");
    starpu_sched_ctx_delete(outer);
}

/* One resource each: tasks of the outer context run on the first worker of each. */
static void without_policy(void)
{
    int all[WORKERS] = { 0, 1, 2, 3 }, *cpus, ncpus;
    unsigned awake = 7;
    unsigned outer = starpu_sched_ctx_create(all, WORKERS, "outer", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    unsigned inner[2];
    for (int i = 0; i < 2; i++)
        inner[i] = starpu_sched_ctx_create(&all[2 * i], 2, "inner", STARPU_SCHED_CTX_NESTED, outer, 0);
    ok(all_of(!starpu_sched_ctx_has_starpu_scheduler(inner[0], &awake), awake == 0),
       "a context without policy says so");
    ok(starpu_sched_ctx_has_starpu_scheduler(outer, NULL), "as does one with a policy");
    is_int(starpu_sched_ctx_get_nworkers(inner[0]), 2, "it has its workers");
    starpu_sched_ctx_get_available_cpuids(inner[0], &cpus, &ncpus);
    is_int(ncpus, 2, "and their cores");
    free(cpus);
    is_int(submit_to(inner[1]), 0, "it takes tasks");
    ok(all_of(sum(2, 3) == TASKS, atomic_load(&most_at_once) == 1), "which its first worker runs one by one");
    submit_to(outer);
    ok(all_of(sum(0, WORKERS) == TASKS, sum(0, 1) + sum(2, 3) == TASKS),
       "the outer context's run on the first ones only");
    ok(all_of(starpu_worker_is_blocked_in_parallel(1), !starpu_worker_is_blocked_in_parallel(0)),
       "the others stand by");
    is_int(starpu_sched_ctx_master_get_context(2), inner[1], "the first worker is known by its context");
    is_int(starpu_sched_ctx_worker_is_master_for_child_ctx(0, outer), inner[0], "also from the outer one");
    is_int(starpu_sched_ctx_master_get_context(3), STARPU_NMAX_SCHED_CTXS, "the others are not");
    starpu_sched_ctx_remove_workers(all, 1, inner[0]);
    submit_to(inner[0]);
    is_int(sum(1, 2), TASKS, "when the first one leaves, the next takes its place");
    starpu_sched_ctx_delete(inner[0]);
    starpu_sched_ctx_delete(inner[1]);
    is_int(starpu_sched_ctx_get_nworkers(outer), WORKERS, "afterwards all serve the outer context");
    starpu_sched_ctx_delete(outer);
    is_int(starpu_sched_ctx_get_nworkers(0), WORKERS, "and the main one");
}

/* Every worker runs each task's body. */
static starpu_data_handle_t handle;
static int vector[8];
static void add_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    __atomic_fetch_add(&v[starpu_worker_get_id()], 1, __ATOMIC_RELAXED);
    if (starpu_task_get_current() == NULL || starpu_task_get_current()->cl->nbuffers != 1)
        __atomic_fetch_add(&v[7], 1, __ATOMIC_RELAXED);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static void awake(void)
{
    int all[WORKERS] = { 0, 1, 2, 3 };
    unsigned is_awake = 0;
    unsigned ctx = starpu_sched_ctx_create(all, 3, "awake", STARPU_SCHED_CTX_AWAKE_WORKERS, 0);
    ok(all_of(!starpu_sched_ctx_has_starpu_scheduler(ctx, &is_awake), is_awake),
       "workers may stay awake in one without policy");
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)vector, 8, sizeof vector[0]);
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&add_cl, STARPU_SCHED_CTX, ctx, STARPU_RW, handle, 0);
    is_int(starpu_task_wait_for_all_in_ctx(ctx), 0, "then tasks end");
    submit_to(0);
    starpu_data_unregister(handle);
    ok(all_of(vector[0] == TASKS, vector[1] == TASKS, vector[2] == TASKS),
       "when each worker has run each of them");
    ok(all_of(vector[3] == 0, vector[7] == 0), "others have not");
    is_int(sum(0, WORKERS), TASKS, "meanwhile they serve the main context");
    starpu_sched_ctx_delete(ctx);
}

int main(void)
{
    alarm(50);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    runtime_start(WORKERS, NULL);
    require_workers(WORKERS);
    with_policy();
    without_policy();
    awake();
    starpu_shutdown();
    return done_testing();
}
