/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface before starpu_init and after starpu_shutdown, with NULL for everything, and configurations
 * that make no sense: errors or messages, no crash and no hang. Threads: each call in a child of its own.
 * Owns: nothing.
 * Not here: misuses while the runtime runs (tests/core/misuse.c), the environment (tests/core/env.c).
 */
#include "tests/core/misuse.h"

static struct starpu_codelet read_cl = {
    .cpu_funcs = { misuse_count_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};
static int value = 3;

/* ---- before and after ---- */

static bool submit(void)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    bool right = returns(starpu_task_submit(task), -ENODEV);
    starpu_task_destroy(task);
    return right;
}

static bool submit_synchronous(void)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    task->synchronous = 1;
    bool right = returns(starpu_task_submit(task), -ENODEV);
    starpu_task_destroy(task);
    return right;
}

static bool submit_empty(void)
{
    struct starpu_task *task = starpu_task_create();
    bool right = returns(starpu_task_submit(task), -ENODEV);
    starpu_task_destroy(task);
    return right;
}

static bool insert(void)
{
    return returns(starpu_task_insert(&count_cl, 0), -ENODEV);
}

static bool insert_with_data(void)
{
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    bool right = h == NULL || returns(starpu_task_insert(&read_cl, STARPU_R, h, 0), -ENODEV);
    if (h) starpu_data_unregister(h);
    return right;
}

static bool shut_down(void)
{
    starpu_shutdown();
    return true;
}

static bool wait_for_all(void)
{
    return returns(starpu_task_wait_for_all(), 0);
}

static bool wait_for_n(void)
{
    return returns(starpu_task_wait_for_n_submitted(0), 0);
}

static bool pause_and_resume(void)
{
    starpu_pause();
    starpu_resume();
    return returns(starpu_is_paused(), 0);
}

static bool count_workers(void)
{
    return returns(starpu_worker_get_count(), 0) && returns(starpu_worker_get_id(), -1) &&
           returns(starpu_worker_get_by_type(STARPU_CPU_WORKER, 0), -1) &&
           returns(starpu_cpu_worker_get_count(), 0);
}

static bool ask_worker(void)
{
    char name[8];
    starpu_worker_get_name(0, name, sizeof name);
    starpu_worker_get_type(0);
    starpu_worker_get_perf_archtype(0, 0);
    return returns(starpu_worker_get_devid(0), -1) && returns(starpu_worker_get_bindid(0), -1);
}

static bool ask_nodes(void)
{
    starpu_node_get_kind(0);
    starpu_memory_get_total(0);
    starpu_memory_get_available(0);
    starpu_memory_get_used(0);
    starpu_memory_nodes_get_count();
    return true;
}

static bool register_acquire_unregister(void)
{
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    if (!h) return true;
    if (starpu_data_acquire(h, STARPU_RW) == 0) starpu_data_release(h);
    starpu_data_unregister(h);
    return true;
}

static bool partition(void)
{
    static int numbers[8];
    starpu_data_handle_t h;
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)numbers, LENGTH(numbers), sizeof numbers[0]);
    if (!h) return true;
    starpu_data_partition(h, &f);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    return true;
}

static bool allocate(void)
{
    void *p = NULL;
    if (starpu_malloc(&p, 100) != 0) return true;
    memset(p, 1, 100);
    return returns(starpu_free_noflag(p, 100), 0);
}

static bool tags(void)
{
    starpu_tag_declare_deps(1, 1, (starpu_tag_t)2);
    starpu_tag_notify_from_apps(2);
    starpu_tag_remove(1);
    starpu_tag_clear();
    return true;
}

static bool dependencies(void)
{
    struct starpu_task *a = starpu_task_create(), *b = starpu_task_create();
    starpu_task_declare_deps(a, 1, b);
    starpu_task_destroy(a);
    starpu_task_destroy(b);
    return true;
}

static bool context(void)
{
    return returns(starpu_sched_ctx_create(NULL, -1, "early", 0), STARPU_NMAX_SCHED_CTXS);
}

static bool context_delete(void)
{
    starpu_sched_ctx_delete(0);
    return true;
}

static void nothing(void *arg UNUSED)
{
}

static bool execute(void)
{
    starpu_execute_on_each_worker(nothing, NULL, STARPU_CPU);
    return true;
}

static bool profile(void)
{
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_profiling_bus_helper_display_summary();
    starpu_profiling_worker_helper_display_summary();
    return true;
}

static bool bound(void)
{
    double result;
    starpu_bound_start(0, 0);
    starpu_bound_stop();
    starpu_bound_compute(&result, NULL, 0);
    return true;
}

static bool current(void)
{
    return starpu_task_get_current() == NULL && returns(starpu_task_nsubmitted(), 0) &&
           returns(starpu_is_initialized(), 0);
}

static bool schedule(void)
{
    starpu_do_schedule();
    starpu_wake_all_blocked_workers();
    return returns(starpu_sched_get_min_priority(), starpu_sched_get_min_priority());
}

static bool model(void)
{
    static struct starpu_perfmodel m = { .type = STARPU_HISTORY_BASED, .symbol = "misuse_never_measured" };
    starpu_perfmodel_init(&m);
    starpu_perfmodel_initialize();
    starpu_perfmodel_free_sampling();
    return true;
}

static bool model_load(void)
{
    return returns(starpu_perfmodel_load_symbol("misuse_never_measured", &(struct starpu_perfmodel){ 0 }), 1);
}

static bool topology(void)
{
    FILE *null = fopen("/dev/null", "w");
    starpu_topology_print(null);
    starpu_worker_display_count(null, STARPU_CPU_WORKER);
    starpu_sched_ctx_worker_get_id(0);
    fclose(null);
    return true;
}

/* How many lines are said is up to each; "ends" says with QUIET that nothing is wrong about the call at all.
 */
static const struct {
    const char *what;
    bool (*run)(void);
    int flags;
} calls[] = {
    { "a task is -ENODEV", submit, 0 },
    { "a synchronous task is -ENODEV", submit_synchronous, 0 },
    { "an empty task is -ENODEV", submit_empty, 0 },
    { "task_insert is -ENODEV", insert, 0 },
    { "task_insert with data is -ENODEV", insert_with_data, LINES },
    { "starpu_shutdown is refused", shut_down, 0 },
    { "executing on each worker does nothing", execute, QUIET },
    { "making a context is refused", context, 0 },
    { "deleting a context is refused", context_delete, 0 },
    { "waiting for all tasks returns", wait_for_all, QUIET },
    { "waiting for few tasks returns", wait_for_n, QUIET },
    { "pause and resume do nothing", pause_and_resume, QUIET },
    { "there are no workers", count_workers, QUIET },
    { "questions about a worker are answered", ask_worker, QUIET },
    { "questions about memory nodes are answered", ask_nodes, QUIET },
    { "data can be registered, acquired and unregistered", register_acquire_unregister, QUIET },
    { "data can be partitioned", partition, QUIET },
    { "memory can be allocated", allocate, QUIET },
    { "tags can be declared and notified", tags, QUIET },
    { "dependencies can be declared", dependencies, QUIET },
    { "profiling can be asked for", profile, QUIET },
    { "a bound can be recorded", bound, LINES | QUIET },
    { "there is no task", current, QUIET },
    { "workers can be woken", schedule, QUIET },
    { "a model can be initialised", model, QUIET },
    { "loading an unknown model fails", model_load, 0 },
    { "the topology can be printed", topology, LINES | QUIET },
};

static bool (*to_call)(void);

static bool call_before(void)
{
    return to_call() && runtime_up() && runtime_works();
}

static bool call_after(void)
{
    return runtime_up() && runtime_works() && to_call() && runtime_up() && runtime_works();
}

static void check_call(const char *when, bool (*run)(void), size_t i)
{
    char what[128];
    snprintf(what, sizeof what, "%s: %s", when, calls[i].what);
    to_call = calls[i].run;
    struct outcome o = misuse_try(&(struct misuse){ what, run, 0 });
    bool ended = WIFEXITED(o.status) && WEXITSTATUS(o.status) == AS_DOCUMENTED;
    int flags = calls[i].flags;
    bool said = flags == (LINES | QUIET) || (flags == QUIET   ? o.lines == 0
                                             : flags == LINES ? o.lines > 0
                                                              : o.lines == 1);
    if (!ok(all_of(ended, said), "%s", what)) {
        diag("%s, with %d lines said", outcome_text(o.status), o.lines);
        outcome_show(&o);
    }
}

/* ---- configurations ---- */

static bool conf_init_null(void)
{
    return returns(starpu_conf_init(NULL), -EINVAL);
}

static bool conf_unprepared(void)
{
    struct starpu_conf conf;
    memset(&conf, 0, sizeof conf);
    return returns(starpu_init(&conf), -EINVAL) && runtime_up() && runtime_works();
}

static struct starpu_conf plain(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.precedence_over_environment_variables = 1;
    return conf;
}

/* Either an error, after which init works, or a runtime that works. */
static bool error_or_works(struct starpu_conf *conf)
{
    int r = starpu_init(conf);
    if (r > 0) return returns(r, 0);
    return r == 0 ? runtime_works() : runtime_up() && runtime_works();
}

static bool conf_many_cpus(void)
{
    struct starpu_conf conf = plain();
    conf.ncpus = 100000;
    return error_or_works(&conf);
}

static bool conf_minus_cpus(void)
{
    struct starpu_conf conf = plain();
    conf.ncpus = -7;
    return error_or_works(&conf);
}

static bool conf_no_cpus(void)
{
    struct starpu_conf conf = plain();
    conf.ncpus = 0;
    return returns(starpu_init(&conf), -ENODEV) && runtime_up() && runtime_works();
}

static bool conf_unknown_policy(void)
{
    struct starpu_conf conf = plain();
    conf.sched_policy_name = "nonsense";
    return returns(starpu_init(&conf), -EINVAL) && runtime_up() && runtime_works();
}

static bool conf_policy_without_push(void)
{
    static struct starpu_sched_policy none = { .policy_name = "none" };
    struct starpu_conf conf = plain();
    conf.sched_policy = &none;
    return returns(starpu_init(&conf), -EINVAL) && runtime_up() && runtime_works();
}

static bool conf_cores_beyond(void)
{
    struct starpu_conf conf = plain();
    conf.use_explicit_workers_bindid = 1;
    for (size_t i = 0; i < LENGTH(conf.workers_bindid); i++) conf.workers_bindid[i] = 1000000;
    return error_or_works(&conf);
}

static bool conf_calibrate_99(void)
{
    struct starpu_conf conf = plain();
    conf.calibrate = 99;
    return error_or_works(&conf);
}

static bool conf_reserve_beyond(void)
{
    struct starpu_conf conf = plain();
    conf.ncpus = -1;
    conf.reserve_ncpus = 1000000;
    return error_or_works(&conf);
}

static bool init_twice(void)
{
    if (!runtime_up() || !runtime_up()) return false;
    starpu_shutdown();
    return returns(starpu_is_initialized(), 1) && runtime_works();
}

static bool shutdown_thrice(void)
{
    if (!runtime_up()) return false;
    starpu_shutdown();
    starpu_shutdown();
    return returns(starpu_is_initialized(), 0);
}

static const struct misuse configurations[] = {
    { "starpu_conf_init of NULL is -EINVAL", conf_init_null, 0 },
    { "a configuration of zeros is -EINVAL", conf_unprepared, 0 },
    { "100000 CPU workers are too many, said once", conf_many_cpus, 0 },
    { "-7 CPU workers are the default", conf_minus_cpus, QUIET },
    { "no worker at all is -ENODEV", conf_no_cpus, 0 },
    { "an unknown policy is -EINVAL", conf_unknown_policy, LINES },
    { "a policy without push_task is -EINVAL", conf_policy_without_push, 0 },
    { "cores that are not there wrap around", conf_cores_beyond, QUIET },
    { "calibrate 99 is said once", conf_calibrate_99, 0 },
    { "reserving more cores than there are is said once", conf_reserve_beyond, 0 },
    { "starpu_init counts", init_twice, QUIET },
    { "one starpu_shutdown too many is refused", shutdown_thrice, 0 },
};

int main(void)
{
    for (size_t i = 0; i < LENGTH(calls); i++) check_call("before starpu_init", call_before, i);
    for (size_t i = 0; i < LENGTH(calls); i++) check_call("after starpu_shutdown", call_after, i);
    return misuse_check_all(configurations, LENGTH(configurations));
}
