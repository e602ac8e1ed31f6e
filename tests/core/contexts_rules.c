/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What contexts promise: waiting in one waits for no other, counts are exact, the inheritor gets the workers
 * when the last task has ended, calls in tasks do not wait and count in their order, priorities among the
 * contexts of a worker, and what is refused. Threads: main; tasks where it says so. Owns: nothing. Not here:
 * random changes under load (contexts_moves.c), counters for a hypervisor (contexts_counters.c).
 */
#include <pthread.h>
#include <stdbool.h>

#include "tests/helper.h"

enum { WORKERS = 4 };

static atomic_int ran[STARPU_NMAXWORKERS];
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran[starpu_worker_get_id()], 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static int total(void)
{
    int n = 0;
    for (int i = 0; i < WORKERS; i++) n += atomic_load(&ran[i]);
    return n;
}

static int submit(unsigned ctx, int tasks)
{
    int failed = 0;
    memset(ran, 0, sizeof ran);
    for (int i = 0; i < tasks; i++) failed += starpu_task_insert(&count_cl, STARPU_SCHED_CTX, ctx, 0) != 0;
    return failed;
}

static unsigned context_of(int first, int count)
{
    int workers[WORKERS];
    for (int i = 0; i < count; i++) workers[i] = first + i;
    return starpu_sched_ctx_create(workers, count, "test", STARPU_SCHED_CTX_POLICY_NAME, "prio", 0);
}

static void submit_gate(struct gate *gate, unsigned ctx)
{
    atomic_store(&gate->entered, 0);
    atomic_store(&gate->open, 0);
    struct starpu_task *task = starpu_task_create();
    task->cl = &gate_cl;
    task->cl_arg = gate;
    if (starpu_task_submit_to_ctx(task, ctx) != 0) ok(0, "a gate's task is taken");
}

/* ---- waiting and counting ---- */

static void waiting(void)
{
    struct gate gate, main_gate;
    unsigned a = context_of(0, 1), b = context_of(1, 1);
    int three[] = { 0, 1 };
    starpu_sched_ctx_remove_workers(three, 2, 0);
    submit_gate(&gate, a);
    submit_gate(&main_gate, 0);
    gate_wait_entered(&gate, 1);
    gate_wait_entered(&main_gate, 1);
    submit(b, 100);
    is_int(starpu_task_wait_for_all_in_ctx(b), 0, "waiting in a context ends while others' tasks run");
    is_int(total(), 100, "when its own have run");
    submit(a, 5);
    is_int(starpu_sched_ctx_get_nready_tasks(a), 6, "a context counts its tasks that are ready or run");
    starpu_sched_ctx_set_context(&a);
    ok(all_of(starpu_task_nsubmitted() == 6, starpu_task_nready() == 6),
       "and those submitted, for a thread that has set it");
    starpu_sched_ctx_set_context(NULL);
    is_int(starpu_task_nsubmitted(), 7, "another thread counts all");
    gate_open(&gate);
    is_int(starpu_task_wait_for_n_submitted_in_ctx(a, 1), 0, "one waits until few are left");
    is_int(starpu_task_wait_for_all_in_ctx(a), 0, "or none");
    is_int(starpu_sched_ctx_get_nready_tasks(a), 0, "then none is counted");
    gate_open(&main_gate);
    is_int(starpu_task_wait_for_all_in_ctx(0), 0, "one waits in the main context");
    submit_gate(&gate, a);
    gate_wait_entered(&gate, 1);
    submit(0, 100);
    is_int(starpu_task_wait_for_all_in_ctx(0), 0, "also while another has tasks");
    is_int(total(), 100, "and all of the main one's have run");
    starpu_sched_ctx_set_context(&b);
    is_int(starpu_task_wait_for_all(), 0, "a thread that has set a context waits for that one");
    starpu_sched_ctx_set_context(NULL);
    gate_open(&gate);
    starpu_sched_ctx_delete(a);
    starpu_sched_ctx_delete(b);
    is_int(starpu_sched_ctx_get_nworkers(0), WORKERS, "workers that would be nowhere go to the main context");
}

static void flops(void)
{
    struct gate gate;
    unsigned a = context_of(0, 1);
    submit_gate(&gate, a);
    gate_wait_entered(&gate, 1);
    for (int i = 0; i < 3; i++) starpu_task_insert(&count_cl, STARPU_SCHED_CTX, a, STARPU_FLOPS, 10.0, 0);
    ok(all_of(starpu_sched_ctx_get_nready_flops(a) > 29.9, starpu_sched_ctx_get_nready_flops(a) < 30.1),
       "a context sums the flops of its ready tasks");
    gate_open(&gate);
    starpu_task_wait_for_all_in_ctx(a);
    ok(starpu_sched_ctx_get_nready_flops(a) < 0.1, "until they have run");
    starpu_sched_ctx_delete(a);
}

/* ---- the end ---- */

static atomic_int closed;
static void on_close(unsigned id, void *arg)
{
    atomic_fetch_add(&closed, (int)id + *(int *)arg);
}

static void finishing(void)
{
    struct gate gate, other;
    int thousand = 1000;
    unsigned heir = context_of(3, 1), a = context_of(0, 2);
    atomic_store(&closed, 0);
    starpu_sched_ctx_set_inheritor(a, heir);
    starpu_sched_ctx_register_close_callback(a, on_close, &thousand);
    submit_gate(&other, heir);
    submit_gate(&gate, a);
    gate_wait_entered(&gate, 1);
    submit(a, 10);
    starpu_sched_ctx_finished_submit(a);
    is_int(starpu_sched_ctx_get_nworkers(heir), 1, "workers stay while there are tasks");
    gate_open(&gate);
    is_int(starpu_task_wait_for_all_in_ctx(a), 0, "its tasks end");
    ok(comes_to(&closed, 1000 + (int)a, 20000), "the last one calls the callback");
    for (int i = 0; i < 20000 && starpu_sched_ctx_get_nworkers(heir) < 3; i++) usleep(1000);
    is_int(starpu_sched_ctx_get_nworkers(heir), 3, "and then the inheritor has the workers");
    is_int(starpu_sched_ctx_get_nworkers(a), 0, "the context has none");
    submit(a, 10);
    gate_wait_entered(&other, 1);
    starpu_sched_ctx_delete(a);
    is_int(total(), 10, "what comes nevertheless runs before the context is deleted");
    is_int(atomic_load(&closed), 1000 + (int)a, "the callback was called once");
    gate_open(&other);
    starpu_sched_ctx_delete(heir);
    is_int(starpu_sched_ctx_get_nworkers(0), WORKERS, "the main context has all");
}

static void *delete_it(void *arg)
{
    starpu_sched_ctx_delete(*(unsigned *)arg);
    atomic_fetch_add(&closed, 1);
    return NULL;
}

static void deleting(void)
{
    struct gate gate, other;
    unsigned heir = context_of(2, 1), a = context_of(0, 2), empty = context_of(0, 0);
    pthread_t thread;
    submit(empty, 20);
    starpu_sched_ctx_delete(empty);
    is_int(total(), 20, "deleting a context without workers runs its tasks");
    atomic_store(&closed, 0);
    starpu_sched_ctx_set_inheritor(a, heir);
    submit_gate(&gate, a);
    submit_gate(&other, heir);
    gate_wait_entered(&gate, 1);
    gate_wait_entered(&other, 1);
    submit(a, 50);
    pthread_create(&thread, NULL, delete_it, &a);
    usleep(5000);
    is_int(atomic_load(&closed), 0, "deleting waits for the context's tasks");
    gate_open(&gate);
    ok(comes_to(&closed, 1, 20000), "but not for others'");
    pthread_join(thread, NULL);
    is_int(total(), 50, "all have run");
    ok(all_of(starpu_sched_ctx_contains_worker(0, heir), starpu_sched_ctx_contains_worker(1, heir)),
       "the heir has the workers");
    gate_open(&other);
    starpu_sched_ctx_delete(heir);
}

/* ---- changes in tasks ---- */

static atomic_int made, too_early;
static unsigned target;

static void change_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    int self = starpu_worker_get_id(), other = (self + 1) % WORKERS;
    int both[2] = { self, other };
    starpu_sched_ctx_add_workers(both, 2, target);
    starpu_sched_ctx_remove_workers(&self, 1, target);
    starpu_sched_ctx_add_workers(&self, 1, target);
    starpu_sched_ctx_remove_workers(&other, 1, target);
    starpu_sched_ctx_add_workers(&other, 1, target);
    starpu_sched_ctx_remove_workers(&other, 1, target);
    if (starpu_sched_ctx_contains_worker(self, target)) atomic_fetch_add(&too_early, 1);
    atomic_fetch_add(&made, 1);
}
static struct starpu_codelet change_cl = { .cpu_funcs = { change_func }, .name = "change" };

static unsigned made_in_task;
static void create_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    int self = starpu_worker_get_id();
    made_in_task = starpu_sched_ctx_create(&self, 1, "in a task", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_delete(made_in_task); /* refused */
}
static struct starpu_codelet create_cl = { .cpu_funcs = { create_func }, .name = "create" };

static bool comes_into(int worker, unsigned ctx, bool in)
{
    for (int i = 0; i < 20000; i++) {
        if (!!starpu_sched_ctx_contains_worker(worker, ctx) == in) return true;
        usleep(1000);
    }
    return false;
}

static void in_tasks(void)
{
    atomic_store(&made, 0);
    target = context_of(0, 0);
    starpu_task_insert(&change_cl, STARPU_EXECUTE_ON_WORKER, 2, 0);
    starpu_task_wait_for_all();
    ok(all_of(atomic_load(&made) == 1, !atomic_load(&too_early)),
       "calls in a task return before its worker follows");
    ok(comes_into(2, target, true), "then it is where the last call said");
    ok(comes_into(3, target, false), "and so is the other");
    /* two tasks that each move the other's worker */
    for (int i = 0; i < 50; i++)
        for (int w = 0; w < WORKERS; w++) starpu_task_insert(&change_cl, STARPU_EXECUTE_ON_WORKER, w, 0);
    starpu_task_wait_for_all();
    is_int(atomic_load(&made), 1 + 50 * WORKERS, "tasks that move each other's workers all end");
    starpu_sched_ctx_delete(target);
    starpu_task_insert(&create_cl, 0);
    starpu_task_wait_for_all();
    ok(all_of(made_in_task > 0, made_in_task < STARPU_NMAX_SCHED_CTXS), "a task can make a context");
    submit(made_in_task, 10);
    is_int(starpu_task_wait_for_all_in_ctx(made_in_task), 0, "which runs tasks");
    is_int(total(), 10, "all of them; it could not be deleted in the task");
    starpu_sched_ctx_delete(made_in_task);
}

/* ---- several contexts of one worker ---- */

static atomic_int turn;
static void turn_func(void *buffers[] UNUSED, void *arg)
{
    *(int *)arg = atomic_fetch_add(&turn, 1);
}
static struct starpu_codelet turn_cl = { .cpu_funcs = { turn_func }, .name = "turn" };

/* Submits tasks to both while their only worker is busy; says how many of the first eight that ran are a's.
 */
static int first_served(unsigned a, unsigned b)
{
    enum { EACH = 8 };
    static int when[2][EACH];
    struct gate gate;
    int early = 0;
    atomic_store(&turn, 0);
    gate_close(&gate, 1);
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < 2; k++) {
            struct starpu_task *task = starpu_task_create();
            task->cl = &turn_cl;
            task->cl_arg = &when[k][i];
            if (starpu_task_submit_to_ctx(task, k ? b : a) != 0) return -1;
        }
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 0; i < EACH; i++) early += when[0][i] < EACH;
    return early;
}

static void turns(void)
{
    int one = 1;
    unsigned a = context_of(1, 1), b = context_of(1, 1);
    unsigned deep = starpu_sched_ctx_create(&one, 1, "deep", STARPU_SCHED_CTX_POLICY_NAME, "eager",
                                            STARPU_SCHED_CTX_HIERARCHY_LEVEL, 2u, 0);
    unsigned *list;
    unsigned n = starpu_worker_get_sched_ctx_list(1, &list);
    is_int(n, 4, "a worker lists its contexts");
    free(list);
    is_int(first_served(a, b), 4, "a worker serves its contexts in turn");
    starpu_sched_ctx_set_priority(&one, 1, b, 3);
    is_int(starpu_sched_ctx_get_priority(1, b), 3, "a context can have a priority on a worker");
    is_int(first_served(a, b), 0, "which is then served first");
    is_int(first_served(b, a), 8, "always");
    is_int(first_served(deep, a), 8, "so is one of a higher level");
    is_int(first_served(deep, b), 0, "unless there is a priority");
    starpu_sched_ctx_delete(a);
    starpu_sched_ctx_delete(b);
    starpu_sched_ctx_delete(deep);
}

/* ---- other ways to have workers ---- */

static void booking(void)
{
    int workers[3] = { 1, 2, 3 };
    unsigned a = context_of(1, 3);
    is_int(starpu_sched_ctx_book_workers_for_task(a, workers, 3), 1, "booking gives the first worker");
    ok(all_of(starpu_worker_is_blocked_in_parallel(2), !starpu_worker_is_blocked_in_parallel(1)),
       "the others stand by");
    submit(a, 20);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran[1]), 20, "so it runs all tasks");
    starpu_sched_ctx_unbook_workers_for_task(a, 1);
    ok(all_of(!starpu_worker_is_blocked_in_parallel(2), starpu_sched_ctx_get_nworkers(a) == 3),
       "until they are let go");
    starpu_sched_ctx_delete(a);
    a = starpu_sched_ctx_create_inside_interval("eager", "some", 1, 2, 0, 0, 0);
    is_int(starpu_sched_ctx_get_nworkers(a), 2, "a context takes as many workers as it may have");
    unsigned b = starpu_sched_ctx_create_inside_interval("eager", "others", 1, 9, 0, 0, 0);
    is_int(starpu_sched_ctx_get_nworkers(b), 2, "or as there are in no other");
    is_int(starpu_sched_ctx_create_inside_interval("eager", "none", 1, 2, 0, 0, 0), STARPU_NMAX_SCHED_CTXS,
           "too few are refused");
    unsigned c = starpu_sched_ctx_create_inside_interval("eager", "shared", 3, 3, 0, 0, 1);
    is_int(starpu_sched_ctx_get_nworkers(c), 3, "unless workers may be shared");
    starpu_sched_ctx_delete(a);
    starpu_sched_ctx_delete(b);
    starpu_sched_ctx_delete(c);
}

static void parts_of_a_gpu(void)
{
    int w[2] = { 0, 1 }, start, end;
    unsigned parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = starpu_sched_ctx_create(&w[i], 1, "part", STARPU_SCHED_CTX_POLICY_NAME, "eager",
                                           STARPU_SCHED_CTX_CUDA_NSMS, 6 + i, 0);
    unsigned whole = starpu_sched_ctx_create(w, 2, "whole", STARPU_SCHED_CTX_POLICY_NAME, "eager",
                                             STARPU_SCHED_CTX_SUB_CTXS, parts, 2, 0);
    ok(all_of(starpu_sched_ctx_get_nsms(parts[1]) == 7, starpu_sched_ctx_get_nsms(whole) == 0),
       "a part has its processors");
    starpu_sched_ctx_get_sms_interval(1, &start, &end);
    ok(all_of(start == 6, end == 13), "after those of the part before");
    is_int(starpu_sched_ctx_get_stream_worker(parts[1]), 1, "and its worker");
    is_int(starpu_worker_get_sched_ctx_id_stream(1), parts[1], "which knows it");
    for (int i = 0; i < 2; i++) starpu_sched_ctx_delete(parts[i]);
    starpu_sched_ctx_delete(whole);
}

/* ---- pauses, and the end of the runtime ---- */

static void pausing(void)
{
    starpu_pause();
    unsigned a = context_of(0, 2);
    is_int(starpu_sched_ctx_get_nworkers(a), 2, "contexts are made while workers pause");
    submit(a, 10);
    usleep(3000);
    is_int(total(), 0, "tasks wait there as well");
    starpu_resume();
    starpu_task_wait_for_all_in_ctx(a);
    is_int(total(), 10, "until they go on");
    starpu_sched_ctx_delete(a);
}

static void left_open(void)
{
    int all[WORKERS] = { 0, 1, 2, 3 };
    unsigned outer = starpu_sched_ctx_create(all, 3, "outer", STARPU_SCHED_CTX_POLICY_NAME, "dmdas", 0);
    unsigned group = starpu_sched_ctx_create(&all[1], 2, "group", STARPU_SCHED_CTX_NESTED, outer, 0);
    starpu_sched_ctx_create(all, 0, "empty", STARPU_SCHED_CTX_POLICY_NAME, "lws", 0);
    starpu_sched_ctx_create(all, 4, "awake", STARPU_SCHED_CTX_AWAKE_WORKERS, 0);
    submit(group, 5);
    starpu_shutdown();
    is_int(total(), 5, "contexts may be left open at the end");
    runtime_start(WORKERS, "prio");
    unsigned again = context_of(0, WORKERS);
    submit(again, 50);
    starpu_task_wait_for_all();
    ok(all_of(again == 1, total() == 50), "the next start has none of them");
    starpu_sched_ctx_delete(again);
}

/* ---- mistakes ---- */

static void mistakes(void)
{
    int bad[3] = { -1, 1, 4711 }, one = 1;
    unsigned all[STARPU_NMAX_SCHED_CTXS], n = 0;
    starpu_sched_ctx_delete(0);
    starpu_sched_ctx_delete(9);
    starpu_sched_ctx_delete(STARPU_NMAX_SCHED_CTXS);
    starpu_sched_ctx_delete((unsigned)-1);
    starpu_sched_ctx_add_workers(&one, 1, 9);
    starpu_sched_ctx_remove_workers(&one, 1, 99);
    starpu_sched_ctx_finished_submit(9);
    starpu_sched_ctx_set_inheritor(9, 0);
    ok(starpu_task_wait_for_all_in_ctx(9) != 0, "one cannot wait in a context that does not exist");
    unsigned a = starpu_sched_ctx_create(bad, 3, "x", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    is_int(starpu_sched_ctx_get_nworkers(a), 1, "workers that do not exist are left out");
    starpu_sched_ctx_add_workers(NULL, 2, a);
    starpu_sched_ctx_add_workers(bad, 3, a);
    starpu_sched_ctx_set_inheritor(a, 9);
    is_int(starpu_sched_ctx_get_inheritor(a), STARPU_NMAX_SCHED_CTXS, "nor is an inheritor that does not");
    is_int(starpu_sched_ctx_create(&one, 1, "x", STARPU_SCHED_CTX_NESTED, 9u, 0), STARPU_NMAX_SCHED_CTXS,
           "or a context to be nested in");
    is_int(starpu_sched_ctx_create(&one, 1, "x", STARPU_SCHED_CTX_POLICY_MIN_PRIO, 5,
                                   STARPU_SCHED_CTX_POLICY_MAX_PRIO, 1, 0),
           STARPU_NMAX_SCHED_CTXS, "priorities must have an order");
    starpu_sched_ctx_delete(a);
    while ((all[n] = context_of(1, 1)) != STARPU_NMAX_SCHED_CTXS) n++;
    is_int(n, STARPU_NMAX_SCHED_CTXS - 1, "there is a limit to the number of contexts");
    for (unsigned i = 0; i < n; i++) submit(all[i], 3);
    for (unsigned i = 0; i < n; i++) starpu_sched_ctx_delete(all[i]);
    unsigned again = context_of(0, WORKERS);
    submit(again, 100);
    starpu_task_wait_for_all_in_ctx(again);
    is_int(total(), 100, "when they are deleted there is room again");
    starpu_sched_ctx_delete(again);
}

int main(void)
{
    alarm(100);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    runtime_start(WORKERS, NULL);
    require_workers(WORKERS);
    waiting();
    flops();
    finishing();
    deleting();
    in_tasks();
    turns();
    booking();
    parts_of_a_gpu();
    mistakes();
    pausing();
    left_open();
    is_int(starpu_sched_ctx_get_nworkers(0), WORKERS, "in the end the main context has all workers");
    starpu_shutdown();
    return done_testing();
}
