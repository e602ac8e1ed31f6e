/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every allocation of a whole program fails in turn, once and from then on: nothing crashes, hangs or leaks,
 * every failure is an error code or a message, and the same program without failures runs afterwards, in the
 * same process. Threads: each failure in a child of its own, a few at a time; its main thread and two
 * workers. Owns: the program. Not here: which policies, two programs so that each has its own time
 * (alloc_failures.c, alloc_failures_policies.c); failures of files (tests/core/perfmodel_store.c).
 *
 * A step of the program that failed is left out, and what needs it; all that was made is unmade. Where the
 * interface returns nothing, the error hook counts.
 */
#ifndef ORR_TESTS_ALLOC_FAILURES_H
#define ORR_TESTS_ALLOC_FAILURES_H

#include <orrery.h>
#include "core/base/alloc.h"
#include "core/base/slab.h"
#include "core/data/data.h"
#include "tests/core/misuse.h"

enum { MANY = 20, PIECES = 4, REPEATED = 3, FAILED = 1, HARMLESS = 2, LEAKED = 94 };

static atomic_int hooked, wrong, body_runs, callbacks;
static int complete; /* all steps of this round succeeded */

static bool reached; /* there are so many allocations that one failed */

static void no_more_failures(void)
{
    reached |= orr_alloc_fail_after(-1, false);
}

static void hook(const char *message UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&hooked, 1);
}

/* An error code, or 0; notes that the round is not complete. */
static bool good(int status)
{
    if (status > 0 && status != FAILED) atomic_fetch_add(&wrong, 1);
    if (status != 0) complete = 0;
    return status == 0;
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
    atomic_fetch_add(&body_runs, 1);
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}

static void any_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&body_runs, 1);
}

static void values_func(void *buffers[] UNUSED, void *arg)
{
    int a;
    char text[300];
    starpu_codelet_unpack_args(arg, &a, text);
    if (a != 42 || strcmp(text, "a long text") != 0) atomic_fetch_add(&wrong, 1);
}

static void callback(void *arg UNUSED)
{
    atomic_fetch_add(&callbacks, 1);
}

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "alloc_failures" };
static struct starpu_perfmodel regression = { .type = STARPU_NL_REGRESSION_BASED,
                                              .symbol = "alloc_failures_nl" };
static struct starpu_codelet any_cl = { .cpu_funcs = { any_func },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "any" };
static struct starpu_codelet model_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &model, .name = "model"
};
static struct starpu_codelet regression_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &regression, .name = "nl"
};
static struct starpu_codelet none_cl = { .cpu_funcs = { any_func }, .name = "none" };
static struct starpu_codelet parallel_cl = { .cpu_funcs = { any_func },
                                             .type = STARPU_SPMD,
                                             .name = "parallel" };
static struct starpu_codelet values_cl = { .cpu_funcs = { values_func }, .name = "values" };
static struct starpu_codelet many_values_cl = { .cpu_funcs = { values_func },
                                                .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                                .name = "many_values" };
static struct starpu_codelet redux_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "contribute"
};
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "sum"
};
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

/* ---- steps ---- */

static int numbers[MANY], total;
static starpu_data_handle_t handles[MANY], redux, array;

static bool register_all(void)
{
    bool all = true;
    for (int i = 0; i < MANY; i++) {
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&numbers[i],
                                      sizeof numbers[i]);
        all = good(handles[i] ? 0 : -ENOMEM) && all;
    }
    total = 0;
    starpu_variable_data_register(&redux, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    return good(redux ? 0 : -ENOMEM) && all;
}

static void submit_or_destroy(struct starpu_task *task)
{
    if (task && !good(starpu_task_submit(task))) starpu_task_destroy(task);
}

static void insert_data(void)
{
    good(starpu_task_insert(&none_cl, 0));
    good(starpu_task_insert(&model_cl, STARPU_RW, handles[0], 0));
    good(starpu_task_insert(&regression_cl, STARPU_RW, handles[1], 0));
    good(starpu_task_insert(&any_cl, STARPU_R, handles[0], STARPU_RW, handles[1], STARPU_R, handles[2], 0));
    struct starpu_data_descr all[MANY];
    for (int i = 0; i < MANY; i++) all[i] = (struct starpu_data_descr){ handles[i], STARPU_RW };
    good(starpu_task_insert(&any_cl, STARPU_DATA_MODE_ARRAY, all, MANY, STARPU_CALLBACK, callback, 0));
}

static void insert_values(void)
{
    int a = 42;
    char text[300] = "a long text";
    good(starpu_task_insert(&values_cl, STARPU_VALUE, &a, sizeof a, STARPU_VALUE, text, sizeof text, 0));
}

static struct starpu_task *task_made(void)
{
    struct starpu_task *task = starpu_task_create();
    if (good(task ? 0 : -ENOMEM)) task->cl = &none_cl;
    return task;
}

/* A chain, the first of which has an end dependency on another; one is waited for. */
static void depend(void)
{
    struct starpu_task *a = task_made(), *b = task_made(), *c = task_made();
    if (a && b) starpu_task_declare_deps(b, 1, a);
    if (b && c) starpu_task_declare_deps_array(c, 1, &b);
    if (c) c->detach = 0;
    submit_or_destroy(a);
    submit_or_destroy(b);
    if (!c) return;
    if (good(starpu_task_submit(c)))
        good(starpu_task_wait(c));
    else
        starpu_task_destroy(c);
}

static void depend_on_tags(void)
{
    struct starpu_task *a = task_made(), *b = task_made();
    if (!a || !b) {
        if (a) starpu_task_destroy(a);
        if (b) starpu_task_destroy(b);
        return;
    }
    a->use_tag = b->use_tag = 1;
    a->tag_id = 1;
    b->tag_id = 2;
    starpu_tag_declare_deps(2, 1, (starpu_tag_t)1);
    submit_or_destroy(b);
    if (good(starpu_task_submit(a))) return;
    starpu_task_destroy(a);
    starpu_tag_notify_from_apps(1); /* what it would have let go */
}

static void acquire_some(void)
{
    if (good(starpu_data_acquire(handles[3], STARPU_RW))) starpu_data_release(handles[3]);
    starpu_data_handle_t h = NULL;
    starpu_variable_data_register(&h, -1, 0, sizeof(int));
    if (!good(h ? 0 : -ENOMEM)) return;
    if (good(starpu_data_acquire(h, STARPU_W))) starpu_data_release(h);
    starpu_data_unregister_submit(h);
    bool refused = orr_data_valid(h) && !h->lazy_unregister; /* it is kept for a while */
    if (refused) atomic_fetch_add(&wrong, 1);
}

static void release_callback(void *arg)
{
    atomic_fetch_add(&callbacks, 1);
    starpu_data_release(arg);
}

static void acquire_with_callback(void)
{
    good(starpu_data_acquire_cb(handles[4], STARPU_RW, release_callback, handles[4]));
}

/* After a reduction that failed: what was contributed to that is gone. */
static void reduce_anew(void)
{
    no_more_failures();
    if (starpu_data_acquire(redux, STARPU_W) != 0) return;
    total = 0;
    starpu_data_release(redux);
    int r = starpu_task_insert(&redux_cl, STARPU_REDUX, redux, 0);
    if (r == 0) r = starpu_data_acquire(redux, STARPU_R);
    if (r == 0 && total == 1) {
        starpu_data_release(redux);
        return;
    }
    diag("the reduction after one that failed is %d, not 1 (%d)", total, r);
    atomic_fetch_add(&wrong, 1);
}

static void reduce(void)
{
    starpu_data_set_reduction_methods(redux, &sum_cl, &zero_cl);
    int inserted = 0;
    for (int i = 0; i < MANY; i++)
        if (good(starpu_task_insert(&redux_cl, STARPU_REDUX, redux, 0))) inserted++;
    if (!good(starpu_data_acquire(redux, STARPU_R))) {
        reduce_anew();
        return;
    }
    if (total != inserted) {
        diag("a reduction of %d ones is %d, and can be read", inserted, total);
        atomic_fetch_add(&wrong, 1);
    }
    starpu_data_release(redux);
}

static void partition(void)
{
    static int memory[16];
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    starpu_vector_data_register(&array, STARPU_MAIN_RAM, (uintptr_t)memory, LENGTH(memory), sizeof memory[0]);
    if (!good(array ? 0 : -ENOMEM)) return;
    starpu_data_partition(array, &f);
    if (good(starpu_data_get_nb_children(array) == PIECES ? 0 : FAILED)) {
        for (unsigned i = 0; i < PIECES; i++)
            good(starpu_task_insert(&any_cl, STARPU_RW, starpu_data_get_sub_data(array, 1, i), 0));
        starpu_data_unpartition(array, STARPU_MAIN_RAM);
        /* a partition that could not be undone is undone when there is memory */
        if (!good(starpu_data_get_nb_children(array) == 0 ? 0 : FAILED)) {
            no_more_failures();
            starpu_data_unpartition(array, STARPU_MAIN_RAM);
        }
    }
    starpu_data_unregister(array);
}

/* A task with more data than fit into it and packed arguments, and its copy. */
static void duplicate(void)
{
    int a = 42;
    char text[300] = "a long text";
    struct starpu_data_descr all[MANY];
    for (int i = 0; i < MANY; i++) all[i] = (struct starpu_data_descr){ handles[i], STARPU_RW };
    struct starpu_task *task = starpu_task_build(&many_values_cl, STARPU_VALUE, &a, sizeof a, STARPU_VALUE,
                                                 text, sizeof text, STARPU_DATA_MODE_ARRAY, all, MANY, 0);
    if (!good(task ? 0 : -ENOMEM)) return;
    struct starpu_task *copy = starpu_task_dup(task);
    good(copy ? 0 : -ENOMEM);
    submit_or_destroy(task);
    submit_or_destroy(copy);
}

static void name_and_profile(void)
{
    starpu_data_set_name(handles[5], "five");
    starpu_data_set_user_data(handles[5], numbers);
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    good(starpu_task_insert(&none_cl, 0));
    starpu_task_wait_for_all();
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
}

static void add_to_list(struct orrery_joblist *list, int handle)
{
    struct starpu_task *task = task_made();
    if (!task) return;
    if (handle >= 0) {
        task->cl = &model_cl;
        task->handles[0] = handles[handle];
    }
    if (!good(orrery_joblist_add_job(list, task))) starpu_task_destroy(task);
}

static void fill_list(void)
{
    struct orrery_joblist *list = orrery_joblist_create("list", 0);
    if (!good(list ? 0 : -ENOMEM)) return;
    add_to_list(list, 6);
    add_to_list(list, -1);
    if (good(orrery_joblist_add_signal(list))) {
        add_to_list(list, -1);
        good(orrery_joblist_add_wait(list));
    }
    add_to_list(list, 6);
    good(orrery_joblist_wait_for_all(list));
    add_to_list(list, -1);
    orrery_joblist_destroy(list);
}

/* Without memory for its parts a parallel task runs on one worker. */
static void in_parallel(void)
{
    int both[2] = { 0, 1 }, unit = starpu_combined_worker_assign_workerid(2, both);
    struct starpu_task *task = task_made();
    if (task) {
        task->cl = &parallel_cl;
        submit_or_destroy(task);
    }
    task = good(unit < 0 ? unit : 0) ? task_made() : NULL;
    if (!task) return;
    task->cl = &parallel_cl;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)unit;
    submit_or_destroy(task);
}

static void run_steps(void)
{
    if (register_all()) {
        insert_data();
        insert_values();
        depend();
        depend_on_tags();
        acquire_some();
        acquire_with_callback();
        reduce();
        partition();
        duplicate();
        fill_list();
        in_parallel();
        name_and_profile();
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < MANY; i++)
        if (handles[i]) starpu_data_unregister(handles[i]);
    if (redux) starpu_data_unregister(redux);
}

/* The whole program. */
static bool program(const char *policy)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.sched_policy_name = policy;
    conf.precedence_over_environment_variables = 1;
    complete = 1;
    memset(handles, 0, sizeof handles);
    redux = array = NULL;
    model.state = regression.state = NULL;
    if (!good(starpu_init(&conf))) return false;
    run_steps();
    starpu_shutdown();
    return complete && atomic_load(&hooked) == 0;
}

/* ---- failures ---- */

static const char *policy;
static long fail_at;
static bool for_ever;

static long live_blocks(void)
{
    long live = 0;
    for (int id = 0; id < ORR_SLAB_COUNT; id++) live += orr_slab_live((enum orr_slab_id)id);
    return live;
}

/* Blocks left behind are seen here, other memory by AddressSanitizer at exit (make check-asan). */
static int run_child(void)
{
    orrery_set_error_hook(hook, NULL);
    alarm(SECONDS);
    orr_alloc_fail_after(fail_at, for_ever);
    bool harmed = !program(policy);
    no_more_failures();
    if (live_blocks() != 0) return LEAKED;
    atomic_store(&hooked, 0);
    if (atomic_load(&wrong) || (harmed && !reached) || !program(policy)) return BROKEN_AFTERWARDS;
    return harmed ? FAILED : reached ? HARMLESS : 0;
}

static const char *text_of(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == LEAKED) return "tasks or dependencies are left behind";
    return outcome_text(status);
}

/* A child in which that allocation fails; several run at a time. */
static struct trial begin(long allocation)
{
    struct trial t = { .o = { .status = -1 }, .child = -1, .from = -1 };
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0) return t;
    fail_at = allocation;
    t.from = ends[0];
    t.child = fork();
    if (t.child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        exit(run_child());
    }
    close(ends[1]);
    return t;
}

/* FAILED, HARMLESS, 0 when there are not so many allocations, -1 when bad: then its messages are shown. */
static int end(struct trial *t, long allocation)
{
    misuse_end(t);
    int status = t->o.status;
    if (WIFEXITED(status) && WEXITSTATUS(status) <= HARMLESS) return WEXITSTATUS(status);
    diag("%s, allocation %ld%s: %s", policy, allocation, for_ever ? " and all after it" : "",
         text_of(status));
    outcome_show(&t->o);
    return -1;
}

static void check_policy(const char *name, bool ever)
{
    static struct trial trials[AT_A_TIME];
    int bad = 0, beyond = 0, met = 0, all = 0;
    policy = name;
    for_ever = ever;
    /* How many there are differs a little from run to run. */
    for (long i = 0; beyond < 3 + AT_A_TIME && bad < 12; i++) {
        struct trial *t = &trials[i % AT_A_TIME];
        int r = i < AT_A_TIME ? HARMLESS : end(t, i - AT_A_TIME);
        bad += r < 0;
        met += r == FAILED;
        all += r != 0;
        beyond = r == 0 ? beyond + 1 : 0;
        *t = begin(i);
    }
    for (int i = 0; i < AT_A_TIME; i++) misuse_end(&trials[i]);
    ok(all_of(bad == 0, met > 40), "%s: each of %d allocations may fail %s", name, all - AT_A_TIME,
       ever ? "with all after it" : "once");
}

/* Models are kept there meanwhile; ends the program with a skip where that cannot be. */
static char alloc_folder[] = "/tmp/orrery-alloc-XXXXXX";

static void begin_in_folder(void)
{
    if (!mkdtemp(alloc_folder)) skip_all("no folder for performance models can be made");
    setenv("STARPU_PERF_MODEL_DIR", alloc_folder, 1);
}

static int end_in_folder(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", alloc_folder);
    ok(system(command) == 0, "what the runs left is removed");
    return done_testing();
}

static void check_whole(void)
{
    struct trial whole = begin(-1);
    ok(end(&whole, -1) == 0, "the program runs when nothing fails");
}

#endif
