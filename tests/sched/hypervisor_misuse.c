/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes with the hypervisor: one line that explains each, nothing changed, and a runtime that works on.
 * Threads: each mistake in a child of its own. Owns: nothing. Not here: correct use (hypervisor.c).
 */
#include <sc_hypervisor.h>
#include <sc_hypervisor_policy.h>
#include <sched_ctx_hypervisor.h>

#include "tests/core/misuse.h"

static unsigned ctx;

static bool begin(void)
{
    struct sc_hypervisor_policy policy = { .name = "idle" };
    int worker = 1;
    ctx = starpu_sched_ctx_create(&worker, 1, "x", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    if (!sc_hypervisor_init(&policy)) return false;
    sc_hypervisor_register_ctx(ctx, 0.0);
    return true;
}

/* Whether the configuration is still the one of the beginning. */
static bool end(void)
{
    struct sc_hypervisor_policy_config *c = sc_hypervisor_get_config(ctx);
    bool same = c && c->min_nworkers == 0 && c->granularity == 1 && c->max_idle[1] == (double)MAX_IDLE_TIME &&
                c->fixed_workers[1] == 0;
    sc_hypervisor_shutdown();
    return same;
}

/* ---- life ---- */

static bool unknown_strategy(void)
{
    struct sc_hypervisor_policy policy = { .name = "no such strategy" };
    return sc_hypervisor_init(&policy) == NULL && sc_hypervisor_get_policy() == NULL;
}

static bool unknown_first_name(void)
{
    struct starpu_sched_ctx_hypervisor_policy policy = { .name = "no such strategy" };
    return sched_ctx_hypervisor_init(&policy) == NULL && sched_ctx_hypervisor_get_policy() == NULL;
}

static bool init_twice(void)
{
    bool good = begin() && sc_hypervisor_init(NULL) == NULL;
    return end() && good;
}

static bool shutdown_twice(void)
{
    begin();
    sc_hypervisor_shutdown();
    sc_hypervisor_shutdown();
    return sc_hypervisor_get_policy() == NULL;
}

static bool shutdown_first(void)
{
    struct sc_hypervisor_policy policy = { .name = "idle" };
    void *counters = sc_hypervisor_init(&policy);
    int worker = 1;
    unsigned x = starpu_sched_ctx_create(&worker, 1, "x", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_perf_counters(x, counters);
    sc_hypervisor_register_ctx(x, 0.0);
    for (int i = 0; i < 200; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &count_cl;
        task->flops = 1e6;
        if (starpu_task_submit_to_ctx(task, x) != 0) return false;
        if (i == 100) sc_hypervisor_shutdown();
    }
    starpu_task_wait_for_all();
    return true;
}

static bool shutdown_last(void)
{
    struct sc_hypervisor_policy policy = { .name = "idle" };
    void *counters = sc_hypervisor_init(&policy);
    int worker = 1;
    unsigned x = starpu_sched_ctx_create(&worker, 1, "x", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_perf_counters(x, counters);
    sc_hypervisor_register_ctx(x, 0.0);
    starpu_shutdown();
    sc_hypervisor_can_resize(x);
    sc_hypervisor_shutdown();
    return runtime_up();
}

/* A context that is deleted is no longer the hypervisor's. */
static bool deleted(void)
{
    struct sc_hypervisor_policy policy = { .name = "idle" };
    void *counters = sc_hypervisor_init(&policy);
    int worker = 1;
    unsigned x = starpu_sched_ctx_create(&worker, 1, "x", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_set_perf_counters(x, counters);
    sc_hypervisor_register_ctx(x, 0.0);
    starpu_sched_ctx_delete(x);
    bool good = sc_hypervisor_get_nsched_ctxs() == 0 && sc_hypervisor_get_wrapper(x) == NULL;
    sc_hypervisor_shutdown();
    return good;
}

static bool setting_help(void)
{
    setenv("SC_HYPERVISOR_POLICY", "help", 1);
    void *counters = sc_hypervisor_init(NULL);
    bool good = counters && strcmp(sc_hypervisor_get_policy(), "idle") == 0;
    sc_hypervisor_shutdown();
    return good;
}

static bool setting_names_one(void)
{
    setenv("SC_HYPERVISOR_POLICY", "gflops_rate", 1);
    void *counters = sc_hypervisor_init(NULL);
    bool good = counters && strcmp(sc_hypervisor_get_policy(), "gflops_rate") == 0;
    sc_hypervisor_shutdown();
    return good;
}

static bool settings_are_nonsense(void)
{
    setenv("SC_HYPERVISOR_TRIGGER_RESIZE", "perhaps", 1);
    setenv("SC_HYPERVISOR_SAMPLE_CRITERIA", "perhaps", 1);
    setenv("SC_HYPERVISOR_MAX_SPEED_GAP", "-1", 1);
    setenv("SC_HYPERVISOR_START_RESIZE", "101", 1);
    setenv("SC_HYPERVISOR_LAZY_RESIZE", "2", 1);
    bool good = sc_hypervisor_init(NULL) != NULL && sc_hypervisor_get_resize_criteria() == SC_IDLE;
    sc_hypervisor_shutdown();
    return good;
}

/* ---- contexts ---- */

static bool register_without(void)
{
    sc_hypervisor_register_ctx(1, 0.0);
    return sc_hypervisor_get_wrapper(1) == NULL;
}

static bool register_twice(void)
{
    begin();
    sc_hypervisor_register_ctx(ctx, 0.0);
    bool good = sc_hypervisor_get_nsched_ctxs() == 1;
    return end() && good;
}

static bool register_no_context(void)
{
    begin();
    sc_hypervisor_register_ctx(STARPU_NMAX_SCHED_CTXS, 0.0);
    return end();
}

static bool register_negative(void)
{
    begin();
    sc_hypervisor_register_ctx(0, -1.0);
    bool good = sc_hypervisor_get_nsched_ctxs() == 1;
    return end() && good;
}

static bool unregister_unknown(void)
{
    begin();
    sc_hypervisor_unregister_ctx(0);
    return end();
}

/* ---- ioctl ---- */

static bool ioctl_unknown(void)
{
    begin();
    sched_ctx_hypervisor_ioctl(ctx, HYPERVISOR_MIN_WORKERS, 2, 424242, NULL);
    return end();
}

static bool ioctl_not_registered(void)
{
    begin();
    sched_ctx_hypervisor_ioctl(0, HYPERVISOR_MIN_WORKERS, 2, NULL);
    return end();
}

static bool ioctl_without(void)
{
    sched_ctx_hypervisor_ioctl(1, HYPERVISOR_MIN_WORKERS, 2, NULL);
    return true;
}

static bool ioctl_worker(void)
{
    int workers[2] = { 1, -1 };
    begin();
    sc_hypervisor_ctl(ctx, SC_HYPERVISOR_FIXED_WORKERS, workers, 2, SC_HYPERVISOR_NULL);
    return end();
}

static bool ioctl_length(void)
{
    int workers[2] = { 1, 0 };
    begin();
    sc_hypervisor_ctl(ctx, SC_HYPERVISOR_GRANULARITY, 2, SC_HYPERVISOR_MAX_IDLE, workers, -2, 1.0,
                      SC_HYPERVISOR_NULL);
    return end();
}

static bool ioctl_negative_time(void)
{
    int workers[2] = { 1, 0 };
    begin();
    sc_hypervisor_ctl(ctx, SC_HYPERVISOR_MAX_IDLE, workers, 2, -1.0, SC_HYPERVISOR_NULL);
    return end();
}

static bool ioctl_granularity_0(void)
{
    begin();
    sc_hypervisor_ctl(ctx, SC_HYPERVISOR_MIN_WORKERS, 1, SC_HYPERVISOR_GRANULARITY, 0, SC_HYPERVISOR_NULL);
    return end();
}

static bool config_null(void)
{
    begin();
    sc_hypervisor_set_config(ctx, NULL);
    return end();
}

/* ---- requests and moves ---- */

static bool request_tag_0(void)
{
    begin();
    sc_hypervisor_post_resize_request(ctx, 0);
    return end();
}

static bool request_unknown(void)
{
    begin();
    sc_hypervisor_post_resize_request(0, 3);
    return end();
}

static bool move_unknown_context(void)
{
    int worker = 1;
    begin();
    sc_hypervisor_move_workers(ctx, 0, &worker, 1, 1);
    return end();
}

static bool move_unknown_worker(void)
{
    int worker = 77;
    begin();
    sc_hypervisor_register_ctx(0, 0.0);
    sc_hypervisor_move_workers(ctx, 0, &worker, 1, 1);
    bool good = sc_hypervisor_can_resize(ctx);
    return end() && good;
}

static bool no_sizing(void)
{
    begin();
    sc_hypervisor_size_ctxs(NULL, -1, NULL, -1);
    return end();
}

static bool no_resizing(void)
{
    begin();
    sc_hypervisor_resize_ctxs(NULL, -1, NULL, -1);
    return end();
}

static bool type_of_nothing(void)
{
    begin();
    sc_hypervisor_set_type_of_task(NULL, ctx, 1, 1);
    return end();
}

static bool questions_without(void)
{
    return sc_hypervisor_get_policy() == NULL && sc_hypervisor_get_config(1) == NULL &&
           sc_hypervisor_get_wrapper(1) == NULL && sc_hypervisor_get_nsched_ctxs() == 0 &&
           sc_hypervisor_can_resize(1) == 0 && sc_hypervisor_get_resize_criteria() == SC_NOTHING;
}

int main(void)
{
    static const struct misuse all[] = {
        { "an unknown strategy is refused", unknown_strategy, UP },
        { "by its first name, too", unknown_first_name, UP },
        { "there is a single hypervisor", init_twice, UP },
        { "a shutdown more does nothing", shutdown_twice, UP | QUIET },
        { "the hypervisor may end before the runtime, with tasks under way", shutdown_first, UP | QUIET },
        { "or after it", shutdown_last, UP | QUIET },
        { "a context may be deleted", deleted, UP | QUIET },
        { "SC_HYPERVISOR_POLICY=help lists strategies", setting_help, UP | QUIET },
        { "SC_HYPERVISOR_POLICY names one", setting_names_one, UP | QUIET },
        { "settings that make no sense are ignored", settings_are_nonsense, UP | LINES },
        { "registering needs a hypervisor", register_without, UP },
        { "a context is registered once", register_twice, UP },
        { "a context must exist", register_no_context, UP },
        { "operations are not negative", register_negative, UP },
        { "a context that is not registered cannot be unregistered", unregister_unknown, UP },
        { "an unknown argument of an ioctl changes nothing", ioctl_unknown, UP },
        { "an ioctl needs a registered context", ioctl_not_registered, UP },
        { "and a hypervisor", ioctl_without, UP },
        { "an ioctl with a worker that does not exist changes nothing", ioctl_worker, UP },
        { "nor with a negative length", ioctl_length, UP },
        { "nor with a negative time", ioctl_negative_time, UP },
        { "nor with a granularity of 0", ioctl_granularity_0, UP },
        { "a configuration is not NULL", config_null, UP },
        { "tag 0 is no tag", request_tag_0, UP },
        { "a request needs a registered context", request_unknown, UP },
        { "workers move between registered contexts", move_unknown_context, UP },
        { "a worker must exist", move_unknown_worker, UP },
        { "a strategy that makes no first distribution says so", no_sizing, UP },
        { "one that resizes by events only says so", no_resizing, UP },
        { "a codelet is not NULL", type_of_nothing, UP },
        { "questions without a hypervisor have an answer", questions_without, UP | QUIET },
    };
    return misuse_check_all(all, LENGTH(all));
}
