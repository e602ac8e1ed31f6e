/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scheduling contexts: workers with a policy of their own, and what becomes of them.
 * Threads: main makes and deletes contexts; tasks note where they run.
 * Owns: nothing.
 * Not here: policies (tests/sched).
 */
#include "tests/helper.h"

static atomic_int ran_on[STARPU_NMAXWORKERS], wrong_context;

static void note_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&ran_on[starpu_worker_get_id()], 1);
    if (starpu_sched_ctx_get_ctx_for_task(starpu_task_get_current()) != *(unsigned *)arg)
        atomic_fetch_add(&wrong_context, 1);
}

static struct starpu_codelet note_cl = { .cpu_funcs = { note_func }, .name = "note" };

static int submit(unsigned *ctx, int tasks)
{
    int failed = 0;
    memset(ran_on, 0, sizeof ran_on);
    for (int i = 0; i < tasks; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &note_cl;
        task->cl_arg = ctx;
        failed += starpu_task_submit_to_ctx(task, *ctx) != 0;
    }
    return failed;
}

static void tasks_stay_inside(const char *policy)
{
    int worker = 1;
    unsigned ctx = starpu_sched_ctx_create(&worker, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, policy, 0),
             main_ctx = 0;
    ok(all_of(ctx > 0, ctx < STARPU_NMAX_SCHED_CTXS), "%s: a context is made", policy);
    is_int(starpu_sched_ctx_get_nworkers(ctx), 1, "%s: it has its worker", policy);
    ok(all_of(starpu_sched_ctx_contains_worker(1, ctx), starpu_sched_ctx_contains_worker(1, 0)),
       "%s: which is in the main context as well", policy);
    ok(all_of(starpu_sched_ctx_overlapping_ctxs_on_worker(1),
              !starpu_sched_ctx_overlapping_ctxs_on_worker(0)),
       "%s: so contexts overlap on it", policy);
    is_int(starpu_sched_ctx_get_nshared_workers(0, ctx), 1, "%s: which is all they share", policy);
    is_int(submit(&ctx, 100), 0, "%s: tasks are submitted to it", policy);
    starpu_task_wait_for_all();
    ok(atomic_load(&ran_on[1]) == 100, "%s: they run on its worker", policy);
    submit(&main_ctx, 100);
    starpu_task_wait_for_all();
    ok(atomic_load(&ran_on[0]) + atomic_load(&ran_on[1]) == 100, "%s: those of the main context run as well",
       policy);
    starpu_sched_ctx_delete(ctx);
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "%s: after its end all are in the main context", policy);
    ok(!starpu_sched_ctx_overlapping_ctxs_on_worker(1), "%s: and nowhere else", policy);
    is_int(atomic_load(&wrong_context), 0, "%s: tasks know their context", policy);
}

static void moving(void)
{
    int worker = 1, none = -1;
    unsigned ctx = starpu_sched_ctx_create(&none, 0, "empty", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0),
             main_ctx = 0;
    is_int(starpu_sched_ctx_get_nworkers(ctx), 0, "a context may begin without workers");
    submit(&ctx, 10);
    usleep(2000);
    is_int(atomic_load(&ran_on[0]) + atomic_load(&ran_on[1]), 0, "its tasks wait");
    starpu_sched_ctx_add_workers(&worker, 1, ctx);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran_on[1]), 10, "and run on the worker that is added");
    starpu_sched_ctx_remove_workers(&worker, 1, 0);
    submit(&main_ctx, 100);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran_on[1]), 0,
           "a worker that is removed from the main context takes no task from there");
    starpu_sched_ctx_add_workers(&worker, 1, 0);
    starpu_sched_ctx_remove_workers(&worker, 1, ctx);
    ok(all_of(!starpu_sched_ctx_contains_worker(1, ctx), starpu_sched_ctx_contains_worker(1, 0)),
       "a worker that is removed is in the main context");
    starpu_sched_ctx_delete(ctx);
}

static unsigned closed;
static void on_close(unsigned id, void *arg)
{
    closed = id + *(unsigned *)arg;
}

static void inheritance(void)
{
    int worker = 1;
    unsigned thousand = 1000;
    unsigned heir = starpu_sched_ctx_create(&worker, 0, "heir", STARPU_SCHED_CTX_POLICY_NAME, "prio", 0);
    unsigned ctx = starpu_sched_ctx_create(&worker, 1, "mortal", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_inheritor(ctx, heir);
    is_int(starpu_sched_ctx_get_inheritor(ctx), heir, "an inheritor is set");
    starpu_sched_ctx_register_close_callback(ctx, on_close, &thousand);
    submit(&ctx, 50);
    starpu_sched_ctx_delete(ctx);
    is_int(atomic_load(&ran_on[1]), 50, "deleting waits for the tasks");
    is_int(closed, ctx + 1000, "the callback is called");
    ok(starpu_sched_ctx_contains_worker(1, heir), "the inheritor has the worker");
    submit(&heir, 50);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran_on[1]), 50, "and runs its tasks there");
    starpu_sched_ctx_delete(heir);
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "at last all are in the main context");
}

/* The calling thread's tasks go where it says. */
static void of_a_thread(void)
{
    int worker = 1, values[2] = { 7, -3 };
    unsigned ctx = starpu_sched_ctx_create(
        &worker, 1, "thread's", STARPU_SCHED_CTX_POLICY_NAME, "eager", STARPU_SCHED_CTX_POLICY_MIN_PRIO,
        values[1], STARPU_SCHED_CTX_POLICY_MAX_PRIO, values[0], STARPU_SCHED_CTX_USER_DATA, values, 0);
    is_int(starpu_sched_ctx_get_max_priority(ctx), 7, "it has the highest priority that was asked for");
    is_int(starpu_sched_ctx_get_min_priority(ctx), -3, "and the lowest");
    ok(starpu_sched_ctx_get_user_data(ctx) == values, "and the program's data");
    starpu_sched_ctx_set_context(&ctx);
    memset(ran_on, 0, sizeof ran_on);
    for (int i = 0; i < 20; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &note_cl;
        task->cl_arg = &ctx;
        if (starpu_task_submit(task) != 0) break;
    }
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran_on[1]), 20, "tasks of a thread run in the thread's context");
    starpu_sched_ctx_delete(ctx);
    is_int(atomic_load(&wrong_context), 0, "tasks know their context");
}

static void refusals(void)
{
    int worker = 1;
    unsigned gone = 5;
    is_int(starpu_sched_ctx_create(&worker, 1, "x", STARPU_SCHED_CTX_POLICY_NAME, "no such policy", 0),
           STARPU_NMAX_SCHED_CTXS, "an unknown policy is refused");
    is_int(starpu_sched_ctx_create(&worker, 1, "x", 424242, 0), STARPU_NMAX_SCHED_CTXS,
           "an unknown argument is refused");
    is_int(starpu_sched_ctx_get_nworkers(0), 2, "and takes no worker away");
    struct starpu_task *task = starpu_task_create();
    task->cl = &note_cl;
    task->cl_arg = &gone;
    ok(starpu_task_submit_to_ctx(task, gone) != 0, "a context that does not exist takes no task");
    task->destroy = 0;
    starpu_task_destroy(task);
}

int main(void)
{
    runtime_start(2, NULL);
    require_workers(2);
    tasks_stay_inside("eager");
    tasks_stay_inside("prio");
    tasks_stay_inside("lws");
    tasks_stay_inside("dmda");
    moving();
    inheritance();
    of_a_thread();
    refusals();
    starpu_shutdown();
    return done_testing();
}
