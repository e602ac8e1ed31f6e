/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policies of the library as a program sees them: structs with methods, which it copies and puts methods
 * of its own around; the range of priorities of each; what a priority means under eager. Threads: main
 * submits; two workers execute. Owns: the counts of the methods in between. Not here: what each policy
 * promises (policies.c, every_policy.c).
 */
#include <limits.h>
#include <stdbool.h>

#include "tests/helper.h"

enum { TASKS = 400 };

static atomic_int ran, pushed, popped, added;
static struct starpu_sched_policy *original;
static unsigned long value;

static void count_func(void *buffers[], void *arg UNUSED)
{
    unsigned long *v = (unsigned long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    *v = 3 * *v + 1; /* wraps */
    atomic_fetch_add(&ran, 1);
}
static void plain_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}
static double cost(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 10;
}
static struct starpu_perfmodel model = { .type = STARPU_COMMON,
                                         .cost_function = cost,
                                         .symbol = "orrery_test_predefined" };
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW },
                                          .model = &model,
                                          .name = "count" },
                             plain_cl = { .cpu_funcs = { plain_func }, .model = &model, .name = "plain" };

static int my_push(struct starpu_task *task)
{
    atomic_fetch_add(&pushed, 1);
    return original->push_task(task);
}
static struct starpu_task *my_pop(unsigned id)
{
    struct starpu_task *task = original->pop_task(id);
    if (task) atomic_fetch_add(&popped, 1);
    return task;
}
static void my_add(unsigned id, int *workers, unsigned count)
{
    atomic_fetch_add(&added, (int)count);
    original->add_workers(id, workers, count);
}

static struct starpu_sched_policy wrap(struct starpu_sched_policy *policy)
{
    struct starpu_sched_policy copy = *policy;
    original = policy;
    copy.policy_name = "a copy";
    copy.push_task = my_push;
    copy.pop_task = my_pop;
    copy.add_workers = my_add;
    atomic_store(&ran, 0);
    atomic_store(&pushed, 0);
    atomic_store(&popped, 0);
    atomic_store(&added, 0);
    return copy;
}

/* A chain on one datum, and tasks beside it; returns whether each ran once and the chain gave what it should.
 */
static int runs(unsigned context)
{
    unsigned long want = value = 0;
    int failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < TASKS; i++) {
        want = 3 * want + 1;
        failed |= starpu_task_insert(&count_cl, STARPU_RW, handle, STARPU_SCHED_CTX, context, 0);
        failed |= starpu_task_insert(&plain_cl, STARPU_PRIORITY, i % 3 - 1, STARPU_SCHED_CTX, context, 0);
    }
    starpu_data_unregister(handle);
    starpu_task_wait_for_all_in_ctx(context);
    return !failed && atomic_load(&ran) == 2 * TASKS && value == want;
}

static void copies(void)
{
    struct starpu_sched_policy **all = starpu_sched_get_predefined_policies();
    for (int i = 0; all[i]; i++) {
        static struct starpu_sched_policy mine;
        struct starpu_conf conf;
        mine = wrap(all[i]);
        starpu_conf_init(&conf);
        conf.ncpus = 2;
        conf.sched_policy = &mine;
        conf.precedence_over_environment_variables = 1;
        if (starpu_init(&conf) != 0) {
            ok(0, "a copy of %s can be used", all[i]->policy_name);
            continue;
        }
        int done = runs(0);
        starpu_shutdown();
        ok(all_of(done, atomic_load(&pushed) == 2 * TASKS, atomic_load(&popped) <= 2 * TASKS),
           "a copy of %s with methods in between runs everything (%d pushed, %d popped)", all[i]->policy_name,
           atomic_load(&pushed), atomic_load(&popped));
    }
}

static struct starpu_sched_policy *find(const char *name)
{
    struct starpu_sched_policy **all = starpu_sched_get_predefined_policies();
    while (*all && strcmp((*all)->policy_name, name) != 0) all++;
    return *all;
}

/* In a context of its own, whose workers come and go. */
static void in_a_context(void)
{
    static struct starpu_sched_policy mine;
    int both[2] = { 0, 1 };
    runtime_start(2, "eager");
    mine = wrap(find("lws"));
    unsigned context = starpu_sched_ctx_create(both, 2, "copy", STARPU_SCHED_CTX_POLICY_STRUCT, &mine, 0);
    int done = runs(context);
    is_int(atomic_load(&added), 2, "the copy hears of the workers of its context");
    starpu_sched_ctx_remove_workers(&both[1], 1, context);
    atomic_store(&ran, 0);
    ok(all_of(done, runs(context)), "and runs everything with two workers, and with one");
    starpu_sched_ctx_delete(context);
    starpu_shutdown();
}

/* ---- priorities ---- */

static void ranges(void)
{
    static const struct {
        const char *policy;
        int least, most;
    } want[] = { { "eager", 0, 0 },
                 { "prio", -5, 5 },
                 { "random", 0, 0 },
                 { "lws", INT_MIN, INT_MAX },
                 { "dm", 0, 0 },
                 { "dmda", 0, 0 },
                 { "dmdas", INT_MIN, INT_MAX },
                 { "heteroprio", 0, 99 },
                 { "modular-eager", 0, 0 },
                 { "modular-prio", INT_MIN, INT_MAX },
                 { "modular-heft", INT_MIN, INT_MAX } };
    for (unsigned i = 0; i < LENGTH(want); i++) {
        runtime_start(1, want[i].policy);
        ok(all_of(STARPU_MIN_PRIO == want[i].least, STARPU_MAX_PRIO == want[i].most),
           "%s: priorities from %d to %d", want[i].policy, STARPU_MIN_PRIO, STARPU_MAX_PRIO);
        starpu_shutdown();
    }
    setenv("STARPU_MIN_PRIO", "-20", 1);
    setenv("STARPU_MAX_PRIO", "30", 1);
    runtime_start(1, "prio");
    ok(all_of(STARPU_MIN_PRIO == -20, STARPU_MAX_PRIO == 30),
       "STARPU_MIN_PRIO and STARPU_MAX_PRIO set the range");
    starpu_shutdown();
    runtime_start(1, "eager");
    ok(all_of(STARPU_MIN_PRIO == 0, STARPU_MAX_PRIO == 0), "but not of a policy that does not sort");
    starpu_shutdown();
    unsetenv("STARPU_MIN_PRIO");
    unsetenv("STARPU_MAX_PRIO");
}

static int order[8];
static void order_func(void *buffers[] UNUSED, void *arg)
{
    order[atomic_fetch_add(&ran, 1)] = (int)(intptr_t)arg;
}
static struct starpu_codelet order_cl = { .cpu_funcs = { order_func }, .name = "order" };

/* Six tasks that wait until all are there run on one worker; order says which first. 0: none failed. */
static int run_six(const int *priority, bool named)
{
    static uint32_t first[1] = { 1 };
    struct gate gate = { 0 };
    int failed = 0;
    atomic_store(&ran, 0);
    gate_close(&gate, 0);
    for (int i = 0; i < 6; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &order_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->priority = priority[i];
        task->workerids = named ? first : NULL;
        task->workerids_len = named;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    return failed;
}

/* Under eager a priority that is not 0 means the front of the queue, whatever it is. */
static void front(bool named)
{
    static const int priority[6] = { 0, 7, -2, 0, 100, 1 }, want[6] = { 5, 4, 2, 1, 0, 3 };
    runtime_start(1, "eager");
    int failed = run_six(priority, named), same = 1;
    for (int i = 0; i < 6; i++) same &= order[i] == want[i];
    ok(all_of(!failed, same),
       "eager: tasks%s with a priority go to the front one after another (%d %d %d %d %d %d)",
       named ? " that name workers and" : "", order[0], order[1], order[2], order[3], order[4], order[5]);
    starpu_shutdown();
}

/* Under dm and its like without a name for sorting tasks run as they come, those without a model, too. */
static void as_they_come(const char *policy, bool sorts)
{
    static const int priority[6] = { 0, 1, 2, 3, 4, 5 };
    runtime_start(1, policy);
    int failed = run_six(priority, false), same = 1;
    for (int i = 0; i < 6; i++) same &= order[i] == (sorts ? 5 - i : i);
    ok(all_of(!failed, same), "%s: tasks without a model run %s (%d %d %d %d %d %d)", policy,
       sorts ? "by priority" : "as they come", order[0], order[1], order[2], order[3], order[4], order[5]);
    starpu_shutdown();
}

int main(void)
{
    alarm(110);
    setenv("STARPU_WORKERS_CPUID", "0 0", 1);
    copies();
    in_a_context();
    ranges();
    front(false);
    front(true);
    as_they_come("dm", false);
    as_they_come("dmda", false);
    as_they_come("dmdar", false);
    as_they_come("dmdas", true);
    return done_testing();
}
