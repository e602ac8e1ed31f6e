/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependencies that a program declares between tasks, and end dependencies.
 * Threads: main submits; all workers execute; callbacks declare and submit too.
 * Owns: the clock that gives each execution its place.
 * Not here: dependencies inferred from data (data_modes.c), tags (task_tags.c).
 */
#include "tests/helper.h"

static atomic_int time_now;

struct step {
    atomic_int at;
};

static void step_func(void *buffers[] UNUSED, void *arg)
{
    struct step *step = arg;
    atomic_store(&step->at, atomic_fetch_add(&time_now, 1) + 1);
}

static struct starpu_codelet step_cl = { .cpu_funcs = { step_func }, .name = "step" };

static struct starpu_task *step_create(struct step *step)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &step_cl;
    task->cl_arg = step;
    return task;
}

/* A task that the caller keeps: waited for and destroyed by hand. */
static struct starpu_task *step_create_kept(struct step *step)
{
    struct starpu_task *task = step_create(step);
    task->detach = 0;
    task->destroy = 0;
    return task;
}

static int submit(struct starpu_task *task)
{
    return starpu_task_submit(task) != 0;
}

static void before_their_submission(void)
{
    struct step steps[4] = { 0 };
    struct starpu_task *tasks[4];
    for (int i = 0; i < 4; i++) tasks[i] = step_create(&steps[i]);
    starpu_task_declare_deps_array(tasks[1], 1, &tasks[0]);
    starpu_task_declare_deps_array(tasks[2], 1, &tasks[1]);
    starpu_task_declare_deps(tasks[3], 2, tasks[2], tasks[0]);
    int failed = 0;
    for (int i = 3; i > 0; i--) failed |= submit(tasks[i]);
    rest_but(0);
    int early = atomic_load(&steps[1].at) || atomic_load(&steps[2].at) || atomic_load(&steps[3].at);
    ok(all_of(!failed, !early), "tasks submitted before their dependencies wait for these to be submitted");
    failed = submit(tasks[0]);
    starpu_task_wait_for_all();
    ok(all_of(!failed, steps[0].at < steps[1].at, steps[1].at < steps[2].at, steps[2].at < steps[3].at),
       "tasks submitted in reverse run in the order of their dependencies");
}

static void after_their_submission(void)
{
    struct gate gate = { 0 };
    struct step later = { 0 };
    struct starpu_task *first = starpu_task_create();
    first->cl = &gate_cl;
    first->cl_arg = &gate;
    first->destroy = 0;
    first->detach = 0;
    int failed = submit(first);
    gate_wait_entered(&gate, 1);
    struct starpu_task *second = step_create_kept(&later);
    starpu_task_declare_deps_array(second, 1, &first);
    failed |= submit(second);
    rest_but(1);
    ok(all_of(!failed, later.at == 0), "a dependency on a running task holds");
    gate_open(&gate);
    failed = starpu_task_wait(second) != 0;
    ok(all_of(!failed, later.at > 0), "it is released when that task ends");

    struct step last = { 0 };
    struct starpu_task *third = step_create_kept(&last);
    failed = starpu_task_wait(first) != 0;
    starpu_task_declare_deps_array(third, 1, &first);
    failed |= submit(third) || starpu_task_wait(third) != 0;
    ok(all_of(!failed, last.at > 0), "a dependency on a task that has ended is fulfilled");
    starpu_task_destroy(first);
    starpu_task_destroy(second);
    starpu_task_destroy(third);
}

static void diamonds(void)
{
    int wrong = 0;
    for (int round = 0; round < 300; round++) {
        struct step steps[4] = { 0 };
        struct starpu_task *tasks[4];
        for (int i = 0; i < 4; i++) tasks[i] = step_create(&steps[i]);
        starpu_task_declare_deps_array(tasks[1], 1, &tasks[0]);
        starpu_task_declare_deps_array(tasks[2], 1, &tasks[0]);
        starpu_task_declare_deps_array(tasks[3], 2, &tasks[1]);
        for (int i = 0; i < 4; i++) wrong += submit(tasks[(i + round) % 4]);
        starpu_task_wait_for_all();
        wrong += !(steps[0].at < steps[1].at && steps[0].at < steps[2].at);
        wrong += !(steps[1].at < steps[3].at && steps[2].at < steps[3].at);
    }
    is_int(wrong, 0, "300 diamonds, submitted in every rotation, keep their order");
}

#define CHAIN 100000
static int chain_next, chain_wrong;
static void chain_func(void *buffers[] UNUSED, void *arg)
{
    int index = (int)(intptr_t)arg;
    chain_wrong += chain_next++ != index; /* not atomic: the chain itself is the exclusion */
}
static struct starpu_codelet chain_cl = { .cpu_funcs = { chain_func }, .name = "chain" };

static void long_chain(void)
{
    struct gate gate = { 0 };
    struct starpu_task *last = starpu_task_create();
    last->cl = &gate_cl;
    last->cl_arg = &gate;
    struct starpu_task *gate_task = last;
    int failed = 0;
    struct starpu_task **held = calloc(CHAIN, sizeof *held);
    for (int i = 0; i < CHAIN; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &chain_cl;
        task->cl_arg = (void *)(intptr_t)i;
        starpu_task_declare_deps_array(task, 1, &last);
        last = held[i] = task;
    }
    failed |= submit(gate_task);
    for (int i = 0; i < CHAIN; i++) failed |= submit(held[i]);
    free(held);
    ok(all_of(!failed, starpu_task_nsubmitted() == CHAIN + 1),
       "a chain of %d tasks is accepted while its head is held", CHAIN);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(chain_next == CHAIN, chain_wrong == 0), "it runs in order, each task once");
}

#define FAN 5000
static atomic_int fan_done, fan_early, fan_head_done;
static void fan_head_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
    atomic_store(&fan_head_done, 1);
}
static void fan_leaf_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&fan_early, !atomic_load(&fan_head_done));
    atomic_fetch_add(&fan_done, 1);
}
static struct starpu_codelet fan_head_cl = { .cpu_funcs = { fan_head_func }, .name = "head" };
static struct starpu_codelet fan_leaf_cl = { .cpu_funcs = { fan_leaf_func }, .name = "leaf" };

static int fan_at_join;
static void fan_join_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    fan_at_join = atomic_load(&fan_done);
}
static struct starpu_codelet fan_join_cl = { .cpu_funcs = { fan_join_func }, .name = "join" };

static void many_successors(void)
{
    struct gate gate = { 0 };
    struct starpu_task *head = starpu_task_create();
    head->cl = &fan_head_cl;
    head->cl_arg = &gate;
    struct starpu_task **leaves = calloc(FAN, sizeof *leaves);
    for (int i = 0; i < FAN; i++) {
        leaves[i] = starpu_task_create();
        leaves[i]->cl = &fan_leaf_cl;
        starpu_task_declare_deps_array(leaves[i], 1, &head);
    }
    struct starpu_task *join = starpu_task_create();
    join->cl = &fan_join_cl;
    starpu_task_declare_deps_array(join, FAN, leaves);
    int failed = submit(join);
    for (int i = 0; i < FAN / 2; i++) failed |= submit(leaves[i]);
    failed |= submit(head);
    gate_wait_entered(&gate, 1);
    for (int i = FAN / 2; i < FAN; i++) failed |= submit(leaves[i]);
    gate_open(&gate);
    starpu_task_wait_for_all();
    free(leaves);
    ok(all_of(!failed, fan_early == 0, fan_done == FAN),
       "%d successors wait for one task, declared on both sides of its start", FAN);
    is_int(fan_at_join, FAN, "one task waits for %d predecessors", FAN);
}

static atomic_int called_back;
static void count_callback(void *arg UNUSED)
{
    atomic_fetch_add(&called_back, 1);
}

static void end_dependency_by_hand(void)
{
    struct step first = { 0 }, second = { 0 };
    struct starpu_task *task = step_create_kept(&first), *next = step_create_kept(&second);
    task->callback_func = count_callback;
    starpu_task_end_dep_add(task, 2);
    starpu_task_declare_deps_array(next, 1, &task);
    int failed = submit(next) || submit(task);
    ok(all_of(!failed, comes_to(&first.at, 1, 1000)), "a task with end dependencies runs");
    usleep(3000);
    ok(all_of(second.at == 0, starpu_task_finished(task) == 0),
       "but it has not ended, and its successor waits");
    starpu_task_end_dep_release(task);
    usleep(3000);
    is_int(second.at, 0, "nor has it after one release of two");
    starpu_task_end_dep_release(task);
    failed = starpu_task_wait(next) != 0 || starpu_task_wait(task) != 0;
    ok(all_of(!failed, second.at > first.at, called_back == 1),
       "the last release ends it: callback once, then successor");
    starpu_task_destroy(task);
    starpu_task_destroy(next);
}

static void end_dependency_on_tasks(void)
{
    struct step first = { 0 }, next_step = { 0 };
    struct gate gate = { 0 };
    struct starpu_task *task = step_create_kept(&first), *next = step_create_kept(&next_step);
    struct starpu_task *late = starpu_task_create();
    late->cl = &gate_cl;
    late->cl_arg = &gate;
    late->detach = 0;
    late->destroy = 0;
    starpu_task_declare_end_deps_array(task, 1, &late);
    starpu_task_declare_deps_array(next, 1, &task);
    int failed = submit(task) || submit(next);
    int ran = comes_to(&first.at, 1, 1000);
    failed |= submit(late);
    gate_wait_entered(&gate, 1);
    usleep(2000);
    ok(all_of(!failed, ran, next_step.at == 0),
       "a task with an end dependency on another has not ended while that one runs");
    gate_open(&gate);
    failed = starpu_task_wait(next) != 0 || starpu_task_wait(task) != 0 || starpu_task_wait(late) != 0;
    ok(all_of(!failed, next_step.at > 0), "it ends with that one");
    starpu_task_destroy(task);
    starpu_task_destroy(next);
    starpu_task_destroy(late);
}

static struct step in_callback[3];
static int callback_failed;
static void submit_graph(void *arg UNUSED)
{
    struct starpu_task *tasks[3];
    for (int i = 0; i < 3; i++) tasks[i] = step_create(&in_callback[i]);
    starpu_task_declare_deps_array(tasks[2], 2, tasks);
    callback_failed = submit(tasks[2]) || submit(tasks[1]) || submit(tasks[0]);
}

static void declared_in_callback(void)
{
    struct step step = { 0 };
    struct starpu_task *task = step_create(&step);
    task->callback_func = submit_graph;
    int failed = submit(task);
    starpu_task_wait_for_all();
    ok(all_of(!failed, !callback_failed, in_callback[2].at > in_callback[1].at,
              in_callback[2].at > in_callback[0].at, in_callback[0].at > step.at),
       "a callback submits tasks with dependencies between them");
}

#define GRAPH 3000
static struct step graph_steps[GRAPH];
static int graph_deps[GRAPH][4];

static void random_graph(uint64_t seed)
{
    static struct starpu_task *tasks[GRAPH];
    int wrong = 0;
    memset(graph_steps, 0, sizeof graph_steps);
    for (int i = 0; i < GRAPH; i++) {
        tasks[i] = step_create(&graph_steps[i]);
        int count = i == 0 ? 0 : (int)random_below(&seed, 5);
        struct starpu_task *deps[4];
        for (int d = 0; d < 4; d++) graph_deps[i][d] = -1;
        for (int d = 0; d < count; d++) {
            graph_deps[i][d] = (int)random_below(&seed, (unsigned)i);
            deps[d] = tasks[graph_deps[i][d]];
        }
        if (count > 0) starpu_task_declare_deps_array(tasks[i], (unsigned)count, deps);
    }
    for (int i = GRAPH - 1; i > 0; i--) {
        int j = (int)random_below(&seed, (unsigned)i + 1);
        struct starpu_task *other = tasks[i];
        tasks[i] = tasks[j];
        tasks[j] = other;
    }
    for (int i = 0; i < GRAPH; i++) wrong += submit(tasks[i]);
    starpu_task_wait_for_all();
    for (int i = 0; i < GRAPH; i++)
        for (int d = 0; d < 4; d++)
            wrong += graph_deps[i][d] >= 0 && graph_steps[graph_deps[i][d]].at >= graph_steps[i].at;
    for (int i = 0; i < GRAPH; i++) wrong += graph_steps[i].at == 0;
    is_int(wrong, 0, "a random graph of %d tasks, submitted in random order, is respected", GRAPH);
}

static atomic_int both_ran;
static void both_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_store(&both_ran, 1);
}
static struct starpu_codelet both_cl = { .cpu_funcs = { both_func }, .name = "both" };

/* One prerequisite runs three times while the other is held back: the task waits for both all the same. */
static void prerequisite_runs_again(void)
{
    struct gate gate = { 0 };
    struct starpu_task *again = starpu_task_create(), *held = starpu_task_create(),
                       *both = starpu_task_create();
    again->destroy = 0;
    again->detach = 0;
    held->cl = &gate_cl;
    held->cl_arg = &gate;
    both->cl = &both_cl;
    starpu_task_declare_deps_array(both, 2, (struct starpu_task *[]){ again, held });
    int wrong = starpu_task_submit(both) | starpu_task_submit(held);
    for (int i = 0; i < 3; i++) {
        wrong |= starpu_task_submit(again);
        wrong |= starpu_task_wait(again);
    }
    int early = comes_to(&both_ran, 1, 20);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!wrong, !early, both_ran), "a prerequisite that runs again does not count for another one");
    starpu_task_destroy(again);
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    before_their_submission();
    after_their_submission();
    diamonds();
    long_chain();
    many_successors();
    end_dependency_by_hand();
    end_dependency_on_tasks();
    declared_in_callback();
    prerequisite_runs_again();
    diag("seeds 1 to 4");
    for (uint64_t seed = 1; seed <= 4; seed++) random_graph(seed);
    starpu_shutdown();
    return done_testing();
}
