/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same cases over every tree of components that the library has, under both names: each task once, the
 * sequential result, tasks for particular workers, workers woken, priorities where they are promised, workers
 * that enter and leave under load, a shutdown under load.
 * Threads: main and three more submit; one or two CPU workers.
 * Owns: the counters of each case.
 * Not here: simulated devices (components_devices.c), trees of the program (components_own.c).
 */
#include <pthread.h>
#include "tests/stream.h"

struct tree_case {
    const char *name;
    int by_priority; /* one worker executes what is ready by falling priority, after so many (1 + number) */
    int fifo;        /* one worker executes tasks of equal priority in the order of submission */
    int late;        /* tasks wait until a worker asks: all workers get some of many */
};

static const struct tree_case trees[] = {
    { .name = "eager", .fifo = 1, .late = 1 },
    { .name = "eager-prefetching", .fifo = 1, .late = 1 },
    { .name = "eager-prio", .fifo = 1, .late = 1 },
    { .name = "prio", .by_priority = 1, .fifo = 1, .late = 1 },
    { .name = "prio-prefetching", .by_priority = 3, .late = 1 },
    { .name = "random" },
    { .name = "random-prio", .by_priority = 1 },
    { .name = "random-prefetching" },
    { .name = "random-prio-prefetching", .by_priority = 3 },
    { .name = "ws", .late = 1 },
    { .name = "heft", .by_priority = 2, .late = 1 },
    { .name = "heft-prio", .by_priority = 2, .late = 1 },
    { .name = "heft2", .by_priority = 2, .late = 1 },
    { .name = "heteroprio", .by_priority = 2, .late = 1 },
    { .name = "dmda", .fifo = 1, .late = 1 },
    { .name = "pheft", .late = 1 },
    { .name = "dmdap", .by_priority = 1, .fifo = 1, .late = 1 },
    { .name = "dmdar", .late = 1 },
    { .name = "dmdas", .by_priority = 1, .late = 1 },
};

#define TASKS 1000
static atomic_int times[TASKS], failures;

static void once_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&times[(intptr_t)arg], 1);
}
static double once_cost(struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return 20.0;
}
static struct starpu_perfmodel once_model = { .type = STARPU_COMMON, .cost_function = once_cost };
static struct starpu_codelet once_cl = { .cpu_funcs = { once_func }, .name = "once" };
static struct starpu_codelet modelled_cl = { .cpu_funcs = { once_func },
                                             .name = "modelled",
                                             .model = &once_model };

static int not_once(void)
{
    int wrong = 0;
    for (int i = 0; i < TASKS; i++) wrong += atomic_exchange(&times[i], 0) != 1;
    return wrong;
}

/* Every other task has a model. */
static void submit_range(int first, int last)
{
    for (int i = first; i < last; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = i % 2 ? &modelled_cl : &once_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->priority = i % 7 - 3;
        if (starpu_task_submit(task) != 0) atomic_fetch_add(&failures, 1);
    }
}

static void *submit_quarter(void *arg)
{
    int quarter = (int)(intptr_t)arg;
    submit_range(quarter * (TASKS / 4), (quarter + 1) * (TASKS / 4));
    return NULL;
}

static void each_once(const char *name)
{
    atomic_store(&failures, 0);
    submit_range(0, TASKS);
    starpu_task_wait_for_all();
    ok(all_of(not_once() == 0, failures == 0), "%s: each of %d tasks runs once", name, TASKS);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, submit_quarter, (void *)(intptr_t)(i + 1));
    submit_quarter(NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    starpu_task_wait_for_all();
    ok(all_of(not_once() == 0, failures == 0), "%s: each of %d tasks from four threads runs once", name,
       TASKS);
}

static struct starpu_codelet stream_cl = {
    .cpu_funcs = { stream_func },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "stream",
};

static atomic_int misplaced;
static void place_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&misplaced, starpu_worker_get_id() != (int)(intptr_t)arg);
}
static int on_worker_one(unsigned worker, struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return worker == 1;
}
static struct starpu_codelet place_cl = { .cpu_funcs = { place_func }, .name = "place" };
static struct starpu_codelet only_cl = { .cpu_funcs = { place_func },
                                         .can_execute = on_worker_one,
                                         .name = "only" };

/* By number, by can_execute, by a set of workers. */
static void placed(const char *name)
{
    static uint32_t sets[2] = { 1, 2 };
    int failed = 0;
    atomic_store(&misplaced, 0);
    for (int i = 0; i < 400; i++) {
        struct starpu_task *task = starpu_task_create();
        int way = i % 4, worker = way == 2 ? 1 : i / 4 % 2;
        task->cl = way == 2 ? &only_cl : &place_cl;
        task->cl_arg = (void *)(intptr_t)worker;
        if (way < 2) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = (unsigned)worker;
        } else if (way == 3) {
            task->workerids = &sets[worker];
            task->workerids_len = 1;
        }
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, misplaced == 0),
       "%s: tasks for one worker, by number, can_execute or a set, run there", name);
}

static atomic_int both;
static void meet_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_or(&both, 1 << starpu_worker_get_id());
    for (int i = 0; i < 5000 && atomic_load(&both) != 3; i++) usleep(100);
}
static struct starpu_codelet meet_cl = { .cpu_funcs = { meet_func }, .name = "meet" };
static struct starpu_codelet meet_modelled_cl = { .cpu_funcs = { meet_func },
                                                  .name = "meet modelled",
                                                  .model = &once_model };

static void work_conserving(const char *name)
{
    int failed = 0, met[2];
    for (int modelled = 0; modelled < 2; modelled++) {
        atomic_store(&both, 0);
        for (int i = 0; i < 12; i++) failed |= starpu_task_insert(modelled ? &meet_modelled_cl : &meet_cl, 0);
        starpu_task_wait_for_all();
        met[modelled] = both;
    }
    ok(all_of(!failed, met[0] == 3, met[1] == 3),
       "%s: with many tasks, without models or with, both workers work (%d, %d)", name, met[0], met[1]);
}

static void wakes_up(const char *name)
{
    int wrong = 0;
    for (int i = 0; i < 60; i++) {
        if (i % 3 == 0) usleep(300);
        submit_range(i, i + 1);
        starpu_task_wait_for_all();
        wrong += times[i] != 1;
    }
    memset(times, 0, sizeof times);
    is_int(wrong, 0, "%s: idle workers wake up for each task", name);
}

static int order[256], order_priority[256];
static atomic_int order_count;
static void order_func(void *buffers[] UNUSED, void *arg)
{
    int place = atomic_fetch_add(&order_count, 1);
    order[place] = (int)(intptr_t)arg;
    order_priority[place] = starpu_task_get_current()->priority;
}
static struct starpu_codelet order_cl = { .cpu_funcs = { order_func },
                                          .name = "order",
                                          .model = &once_model };

static void priorities(const struct tree_case *tree, const char *name)
{
    enum { N = 200 };
    struct gate gate = { 0 };
    uint64_t seed = 23;
    int failed = 0, rises = 0, swaps = 0, first = tree->by_priority;
    atomic_store(&order_count, 0);
    gate_close(&gate, -1);
    for (int i = 0; i < N; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &order_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->priority = tree->by_priority ? (int)random_below(&seed, 9) - 4 : 0;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = first < 1 ? 1 : first; i < N; i++) {
        rises += order_priority[i] > order_priority[i - 1];
        swaps += order_priority[i] == order_priority[i - 1] && order[i] < order[i - 1];
    }
    ok(all_of(!failed, order_count == N), "%s: tasks of all priorities run on one worker", name);
    if (tree->by_priority)
        is_int(rises, 0, "%s: what is ready runs by falling priority, but for %d that were ahead", name,
               tree->by_priority - 1);
    if (tree->fifo) is_int(swaps, 0, "%s: tasks of equal priority run in the order of submission", name);
}

/* A context with the policy gets and loses a worker while tasks are submitted to it; at last all go. */
static void workers_come_and_go(const char *name)
{
    int both_workers[2] = { 0, 1 }, failed = 0;
    unsigned context =
        starpu_sched_ctx_create(both_workers, 2, "tree", STARPU_SCHED_CTX_POLICY_NAME, name, 0);
    if (context == STARPU_NMAX_SCHED_CTXS) {
        ok(0, "%s: a context can be made with it", name);
        return;
    }
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = i % 2 ? &modelled_cl : &once_cl;
        task->cl_arg = (void *)(intptr_t)i;
        failed |= starpu_task_submit_to_ctx(task, context);
        if (i % 100 == 30) starpu_sched_ctx_remove_workers(&both_workers[i / 100 % 2], 1, context);
        if (i % 100 == 80) starpu_sched_ctx_add_workers(&both_workers[i / 100 % 2], 1, context);
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, not_once() == 0), "%s: workers enter and leave under load: each task runs once", name);
    starpu_sched_ctx_delete(context);
    submit_range(0, TASKS);
    starpu_task_wait_for_all();
    is_int(not_once(), 0, "%s: once the context is deleted its workers serve the main one", name);
}

static void run_tree(const struct tree_case *tree, const char *prefix)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%s", prefix, tree->name);
    int all = strcmp(prefix, "tree") == 0;
    runtime_start(2, name);
    require_workers(2);
    each_once(name);
    placed(name);
    if (all) {
        is_int(stream_run(&stream_cl, 17, 1000), 0, "%s: 1000 random tasks give the sequential result", name);
        if (tree->late) work_conserving(name);
        wakes_up(name);
    }
    submit_range(0, TASKS);
    starpu_shutdown();
    ok(not_once() == 0, "%s: a shutdown while tasks wait runs them first", name);
    if (!all) return;
    runtime_start(1, name);
    priorities(tree, name);
    starpu_shutdown();
    runtime_start(2, "eager");
    workers_come_and_go(name);
    starpu_shutdown();
}

static void are_listed(void)
{
    struct starpu_sched_policy **listed = starpu_sched_get_predefined_policies();
    int missing = 0, described = 0;
    for (unsigned i = 0; i < LENGTH(trees); i++)
        for (int k = 0; k < 2; k++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s", k ? "modular" : "tree", trees[i].name);
            int at = 0;
            while (listed[at] && strcmp(listed[at]->policy_name, name) != 0) at++;
            if (!listed[at]) diag("%s is not listed", name);
            missing += !listed[at];
            described += listed[at] && listed[at]->policy_description;
        }
    ok(all_of(missing == 0, described == 2 * (int)LENGTH(trees)),
       "every tree is listed among the policies, under both names, with a description");
}

int main(int argc, char **argv)
{
    alarm(300);
    are_listed();
    for (unsigned i = 0; i < LENGTH(trees); i++) {
        if (argc > 1 && strcmp(argv[1], trees[i].name) != 0) continue;
        run_tree(&trees[i], "tree");
        run_tree(&trees[i], "modular");
    }
    return done_testing();
}
