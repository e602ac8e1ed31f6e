/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Codelets in memory that cannot be written to (static const, checked = 1), and codelets that are not counted
 * in (STARPU_CODELET_PROFILING=0), under policies of all kinds, with data, alone and on several workers.
 * Threads: main submits; workers execute. Owns: nothing.
 */
#include "tests/core/sim_helper.h"

static atomic_int ran;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    atomic_fetch_add(&ran, 1);
}

static void callback(void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}

/* The compiler puts these where a write ends the program. */
static const struct starpu_codelet plain = {
    .checked = 1, .where = STARPU_CPU, .cpu_funcs = { count_func }, .name = "plain"
};
static const struct starpu_codelet says_nothing = { .checked = 1, .cpu_funcs = { count_func } };
static const struct starpu_codelet with_data = { .checked = 1,
                                                 .where = STARPU_CPU,
                                                 .cpu_funcs = { add_func },
                                                 .nbuffers = 1,
                                                 .modes = { STARPU_RW },
                                                 .callback_func = callback };
static const struct starpu_codelet together = { .checked = 1,
                                                .where = STARPU_CPU,
                                                .cpu_funcs = { count_func },
                                                .type = STARPU_FORKJOIN,
                                                .max_parallelism = INT32_MAX };
static const struct starpu_codelet claims = {
    .checked = 1, .where = STARPU_CPU | STARPU_CUDA, .cpu_funcs = { count_func }, .name = "claims"
};
static const struct starpu_codelet nothing = { .checked = 1, .name = "nothing" };

static int submit(const struct starpu_codelet *cl, starpu_data_handle_t handle)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = (struct starpu_codelet *)cl;
    if (handle) t->handles[0] = handle;
    int r = starpu_task_submit(t);
    if (r) starpu_task_destroy(t);
    return r;
}

static int submit_many(const struct starpu_codelet *cl, starpu_data_handle_t handle, int count)
{
    int failed = 0;
    atomic_store(&ran, 0);
    for (int i = 0; i < count; i++) failed += submit(cl, handle) != 0;
    starpu_task_wait_for_all();
    return failed;
}

static int can(const struct starpu_codelet *cl)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = (struct starpu_codelet *)cl;
    int can = starpu_worker_can_execute_task(0, t, 0);
    starpu_task_destroy(t);
    return can;
}

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}

static const struct starpu_codelet zero = {
    .checked = 1, .where = STARPU_CPU, .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }
};
static const struct starpu_codelet sum = { .checked = 1,
                                           .where = STARPU_CPU,
                                           .cpu_funcs = { sum_func },
                                           .nbuffers = 2,
                                           .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R } };
static const struct starpu_codelet contribute = {
    .checked = 1, .where = STARPU_CPU, .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_REDUX }
};

static void reduction(const char *policy)
{
    int value = 1000;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_data_set_reduction_methods(handle, (struct starpu_codelet *)&sum, (struct starpu_codelet *)&zero);
    int failed = submit_many(&contribute, handle, 20);
    starpu_data_unregister(handle);
    ok(all_of(failed == 0, value == 1020), "%s: contributions are added up by them (%d)", policy, value);
}

static void constant(const char *policy)
{
    int value = 0;
    starpu_data_handle_t handle;
    runtime_start(2, policy);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    ok(all_of(submit_many(&plain, NULL, 50) == 0, ran == 50), "%s: constant codelets run", policy);
    is_int(can(&plain), 1, "%s: policies are told that a worker can execute them", policy);
    is_int(can(&nothing), 0, "%s: but not one without a function", policy);
    ok(all_of(submit_many(&says_nothing, NULL, 50) == 0, ran == 50), "%s: those that do not say where, too",
       policy);
    ok(all_of(submit_many(&with_data, handle, 50) == 0, ran == 100), "%s: those with data and a callback",
       policy);
    ok(all_of(submit_many(&together, NULL, 50) == 0, ran == 50), "%s: fork-join ones", policy);
    is_int(submit_many(&nothing, NULL, 1), 1, "%s: one without a function is refused", policy);
    starpu_data_unregister(handle);
    is_int(value, 50, "%s: data is as it should be", policy);
    reduction(policy);
    starpu_shutdown();
}

static void not_counted(void)
{
    static struct starpu_codelet cl = { .cpu_funcs = { count_func }, .name = "not counted" };
    static struct starpu_codelet counted = { .cpu_funcs = { count_func }, .name = "counted" };
    unsigned long total[2] = { 0, 0 };
    setenv("STARPU_CODELET_PROFILING", "0", 1);
    runtime_start(2, NULL);
    submit_many(&cl, NULL, 50);
    starpu_shutdown();
    unsetenv("STARPU_CODELET_PROFILING");
    runtime_start(2, NULL);
    submit_many(&counted, NULL, 50);
    starpu_shutdown();
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) {
        total[0] += cl.per_worker_stats[i];
        total[1] += counted.per_worker_stats[i];
    }
    is_int((int)total[0], 0, "with STARPU_CODELET_PROFILING=0 codelets do not count their tasks");
    is_int((int)total[1], 50, "else they do");
}

int main(void)
{
    static const char *const policies[] = { "eager", "ws", "dmda", "peager", "heteroprio", "modular-eager" };
    for (unsigned i = 0; i < LENGTH(policies); i++) constant(policies[i]);
    sim_start(2, &(struct sim_config){ .devices = "1" });
    ok(all_of(submit_many(&claims, NULL, 50) == 0, ran == 50),
       "one that names a device it has no function for");
    starpu_shutdown();
    not_counted();
    return done_testing();
}
