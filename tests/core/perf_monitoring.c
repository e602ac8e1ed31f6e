/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance counters and their listeners (starpu_perf_monitoring.h).
 * Threads: main submits and sets listeners; workers count. Owns: its counts.
 * Not here: times of tasks and workers (profiling.c), counters of contexts (contexts_counters.c).
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tests/helper.h"

enum { TASKS = 30 };

static atomic_int calls, wrong_context;
static _Atomic int64_t submitted, peak_submitted, peak_ready, executed, by_workers, of_codelet;
static _Atomic double time_us;

static void busy_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    double until = starpu_timing_now() + 50;
    while (starpu_timing_now() < until) continue;
}

static struct starpu_codelet one = { .cpu_funcs = { busy_func }, .name = "one" };
static struct starpu_codelet other = { .cpu_funcs = { busy_func }, .name = "other" };

static int id_of(enum starpu_perf_counter_scope scope, const char *name)
{
    return starpu_perf_counter_name_to_id(scope, name);
}

static int64_t value(struct starpu_perf_counter_sample *s, enum starpu_perf_counter_scope scope,
                     const char *name)
{
    return starpu_perf_counter_sample_get_int64_value(s, id_of(scope, name));
}

/* Samples of several threads come in any order. */
static void at_least(_Atomic int64_t *kept, int64_t n)
{
    int64_t before = atomic_load(kept);
    while (n > before && !atomic_compare_exchange_weak(kept, &before, n)) continue;
}

static void global_changed(struct starpu_perf_counter_listener *l UNUSED,
                           struct starpu_perf_counter_sample *s, void *context)
{
    enum starpu_perf_counter_scope scope = starpu_perf_counter_scope_global;
    calls++;
    wrong_context += context != &calls;
    at_least(&submitted, value(s, scope, "starpu.task.g_total_submitted"));
    at_least(&peak_submitted, value(s, scope, "starpu.task.g_peak_submitted"));
    at_least(&peak_ready, value(s, scope, "starpu.task.g_peak_ready"));
    at_least(&executed, value(s, scope, "starpu.task.g_total_executed"));
    double us =
        starpu_perf_counter_sample_get_double_value(s, id_of(scope, "starpu.task.g_cumul_execution_time"));
    if (us > atomic_load(&time_us)) atomic_store(&time_us, us);
}

static _Atomic int64_t of_worker[STARPU_NMAXWORKERS];

static void worker_changed(struct starpu_perf_counter_listener *l UNUSED,
                           struct starpu_perf_counter_sample *s, void *context UNUSED)
{
    int64_t n = value(s, starpu_perf_counter_scope_per_worker, "starpu.task.w_total_executed");
    at_least(&of_worker[starpu_worker_get_id()], n);
}

static void codelet_changed(struct starpu_perf_counter_listener *l UNUSED,
                            struct starpu_perf_counter_sample *s, void *context UNUSED)
{
    at_least(&of_codelet, value(s, starpu_perf_counter_scope_per_codelet, "starpu.task.c_total_executed"));
}

static _Atomic int64_t peak_of_codelet;

static void peak_changed(struct starpu_perf_counter_listener *l UNUSED, struct starpu_perf_counter_sample *s,
                         void *context UNUSED)
{
    at_least(&peak_of_codelet,
             value(s, starpu_perf_counter_scope_per_codelet, "starpu.task.c_peak_submitted"));
}

/* A listener to all counters of a scope. */
static struct starpu_perf_counter_listener *listener(enum starpu_perf_counter_scope scope,
                                                     void (*callback)(struct starpu_perf_counter_listener *,
                                                                      struct starpu_perf_counter_sample *,
                                                                      void *))
{
    struct starpu_perf_counter_set *set = starpu_perf_counter_set_alloc(scope);
    for (int i = 0; i < starpu_perf_counter_nb(scope); i++)
        starpu_perf_counter_set_enable_id(set, starpu_perf_counter_nth_to_id(scope, i));
    struct starpu_perf_counter_listener *l = starpu_perf_counter_listener_init(set, callback, &calls);
    starpu_perf_counter_set_free(set);
    return l;
}

static void run(struct starpu_codelet *cl)
{
    for (int i = 0; i < TASKS; i++)
        if (starpu_task_insert(cl, 0) != 0) ok(0, "a task is inserted");
    starpu_task_wait_for_all();
}

static void names(void)
{
    static const enum starpu_perf_counter_scope all[] = { starpu_perf_counter_scope_global,
                                                          starpu_perf_counter_scope_per_worker,
                                                          starpu_perf_counter_scope_per_codelet };
    bool round_trip = true, types = true;
    for (unsigned s = 0; s < 3; s++) {
        const char *scope = starpu_perf_counter_scope_id_to_name(all[s]);
        round_trip &= starpu_perf_counter_scope_name_to_id(scope) == (int)all[s];
        for (int i = 0; i < starpu_perf_counter_nb(all[s]); i++) {
            int id = starpu_perf_counter_nth_to_id(all[s], i);
            const char *name = starpu_perf_counter_id_to_name(id);
            round_trip &= name && id_of(all[s], name) == id;
            const char *type = starpu_perf_counter_type_id_to_name(
                (enum starpu_perf_counter_type)starpu_perf_counter_get_type_id(id));
            types &= starpu_perf_counter_type_name_to_id(type) == starpu_perf_counter_get_type_id(id) &&
                     starpu_perf_counter_get_help_string(id) != NULL;
        }
    }
    ok(round_trip, "each scope and counter is found by its name");
    ok(types, "and has a type and a sentence");
    is_int(starpu_perf_counter_nb(starpu_perf_counter_scope_global), 5, "there are five for all tasks");
    is_int(id_of(starpu_perf_counter_scope_global, "starpu.task.w_total_executed"), -1,
           "none in another scope");
    is_int(starpu_perf_counter_nth_to_id(starpu_perf_counter_scope_per_worker, 2), -1, "nor after the last");
    ok(starpu_perf_counter_set_alloc(starpu_perf_counter_scope_undefined) == NULL, "nor a set of no scope");
}

static void listening(void)
{
    struct starpu_perf_counter_listener *global = listener(starpu_perf_counter_scope_global, global_changed);
    struct starpu_perf_counter_listener *worker =
        listener(starpu_perf_counter_scope_per_worker, worker_changed);
    struct starpu_perf_counter_listener *codelet =
        listener(starpu_perf_counter_scope_per_codelet, codelet_changed);
    starpu_perf_counter_set_global_listener(global);
    starpu_perf_counter_set_all_per_worker_listeners(worker);
    starpu_perf_counter_set_per_codelet_listener(&one, codelet);
    run(&one);
    is_int(calls, 0, "before counters are collected no listener is called");
    starpu_perf_counter_collection_start();
    run(&one);
    run(&other);
    ok(calls >= 4 * TASKS, "then it is, at each change (%d times)", (int)calls);
    is_int(wrong_context, 0, "with its argument");
    is_int(submitted, 2 * TASKS, "tasks submitted are counted");
    is_int(executed, 2 * TASKS, "and tasks that have run");
    ok(all_of(peak_submitted >= 1, peak_submitted <= TASKS), "at most all were submitted at once");
    ok(all_of(peak_ready >= 1, peak_ready <= peak_submitted), "and no more were ready");
    ok(time_us >= 2 * TASKS * 45, "they took their time (%.0f us)", (double)time_us);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) by_workers += of_worker[i];
    is_int(by_workers, 2 * TASKS, "the workers' counts make up the whole");
    is_int(of_codelet, TASKS, "a codelet's are its own");
    starpu_perf_counter_unset_per_codelet_listener(&one);
    starpu_perf_counter_unset_global_listener();
    int before = calls;
    run(&one);
    is_int(calls, before, "a listener that was taken away is not called");
    is_int(of_codelet, TASKS, "nor is one of a codelet");
    starpu_perf_counter_unset_all_per_worker_listeners();
    starpu_perf_counter_set_global_listener(global);
    starpu_perf_counter_collection_stop();
    run(&one);
    is_int(calls, before, "nor one whose counters are not collected");
    starpu_perf_counter_collection_start();
    run(&one);
    is_int(submitted, 4 * TASKS, "counters go on where they were");
    starpu_perf_counter_set_per_worker_listener(0, global);
    starpu_perf_counter_set_global_listener(global);
    starpu_perf_counter_unset_global_listener();
    starpu_perf_counter_listener_exit(global);
    starpu_perf_counter_listener_exit(worker);
    starpu_perf_counter_listener_exit(codelet);
}

static void no_codelet(void)
{
    struct starpu_perf_counter_listener *nobodys =
        listener(starpu_perf_counter_scope_per_codelet, codelet_changed);
    struct starpu_perf_counter_listener *others =
        listener(starpu_perf_counter_scope_per_codelet, peak_changed);
    of_codelet = 0;
    starpu_perf_counter_set_per_codelet_listener(NULL, nobodys);
    starpu_perf_counter_set_per_codelet_listener(&other, others);
    run(&other);
    ok(all_of(of_codelet == 0, peak_of_codelet > 0), "a listener of no codelet takes nobody's place");
    starpu_perf_counter_unset_per_codelet_listener(&other);
    starpu_perf_counter_listener_exit(nobodys);
    starpu_perf_counter_listener_exit(others);
}

static atomic_int open_gate;

static void wait_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    while (!open_gate) usleep(100);
}

static struct starpu_codelet waiting = { .cpu_funcs = { wait_func }, .name = "waiting" };

/* Tasks that were under way when counting stopped are not so for ever. */
static void peaks(void)
{
    struct starpu_perf_counter_listener *codelet =
        listener(starpu_perf_counter_scope_per_codelet, peak_changed);
    peak_of_codelet = 0;
    starpu_perf_counter_set_per_codelet_listener(&waiting, codelet);
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&waiting, 0);
    is_int(peak_of_codelet, TASKS, "all tasks were submitted at once");
    starpu_perf_counter_collection_stop();
    open_gate = 1;
    starpu_task_wait_for_all();
    starpu_perf_counter_collection_start();
    run(&waiting);
    ok(peak_of_codelet <= TASKS, "those that ended uncounted do not count later (%d at once)",
       (int)peak_of_codelet);
    starpu_perf_counter_unset_per_codelet_listener(&waiting);
    starpu_perf_counter_listener_exit(codelet);
}

static void from_the_start(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.start_perf_counter_collection = 1;
    calls = 0;
    struct starpu_perf_counter_listener *global = listener(starpu_perf_counter_scope_global, global_changed);
    starpu_perf_counter_set_global_listener(global);
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    run(&one);
    ok(calls > 0, "starpu_conf starts them, for listeners that were set before");
    starpu_perf_counter_unset_global_listener();
    starpu_perf_counter_listener_exit(global);
    starpu_shutdown();
}

int main(void)
{
    names();
    runtime_start(2, NULL);
    listening();
    no_codelet();
    peaks();
    starpu_shutdown();
    from_the_start();
    return done_testing();
}
