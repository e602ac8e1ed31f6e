/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance models: measured by history and regression, given as functions, saved and loaded again.
 * Threads: main; one worker measures.
 * Owns: a model directory of its own below TMPDIR, removed at the end.
 * Not here: what policies do with the predictions (tests/sched/policies.c).
 */
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include "tests/helper.h"

static char directory[256];

static void spin_us(double us)
{
    double end = starpu_timing_now() + us;
    while (starpu_timing_now() < end)
        ;
}

static void spin_func(void *buffers[], void *arg UNUSED)
{
    spin_us(0.5 * STARPU_VECTOR_GET_NX(buffers[0]));
}

static struct starpu_perfmodel history_model = { .type = STARPU_HISTORY_BASED,
                                                 .symbol = "orrery_test_history" };
static struct starpu_codelet history_cl = {
    .cpu_funcs = { spin_func },
    .nbuffers = 1,
    .modes = { STARPU_R },
    .model = &history_model,
    .name = "history",
};
static struct starpu_perfmodel regression_model = { .type = STARPU_REGRESSION_BASED,
                                                    .symbol = "orrery_test_regression" };
static struct starpu_codelet regression_cl = {
    .cpu_funcs = { spin_func },
    .nbuffers = 1,
    .modes = { STARPU_R },
    .model = &regression_model,
    .name = "regression",
};
static struct starpu_perfmodel nonlinear_model = { .type = STARPU_NL_REGRESSION_BASED,
                                                   .symbol = "orrery_test_nonlinear" };
static struct starpu_codelet nonlinear_cl = {
    .cpu_funcs = { spin_func },
    .nbuffers = 1,
    .modes = { STARPU_R },
    .model = &nonlinear_model,
    .name = "nonlinear",
};

static double common_cost(struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return 123.0;
}
static double arch_cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch UNUSED,
                        unsigned implementation)
{
    return implementation == 0 ? 77.0 : 11.0;
}
static struct starpu_perfmodel common_model = { .type = STARPU_COMMON,
                                                .cost_function = common_cost,
                                                .symbol = "orrery_test_common" };
static struct starpu_perfmodel arch_model = { .type = STARPU_PER_ARCH,
                                              .arch_cost_function = arch_cost,
                                              .symbol = "orrery_test_arch" };
static struct starpu_codelet common_cl = {
    .cpu_funcs = { spin_func }, .nbuffers = 1, .modes = { STARPU_R }, .model = &common_model
};
static struct starpu_codelet arch_cl = {
    .cpu_funcs = { spin_func }, .nbuffers = 1, .modes = { STARPU_R }, .model = &arch_model
};

static int start(int calibrate)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    conf.calibrate = calibrate;
    conf.sched_policy_name = "dmda";
    conf.precedence_over_environment_variables = 1;
    return starpu_init(&conf);
}

static int execute(struct starpu_codelet *cl, unsigned elements, int times)
{
    static char memory[1 << 16];
    starpu_data_handle_t handle;
    int failed = 0;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)memory, elements, 1);
    for (int i = 0; i < times; i++) failed |= starpu_task_insert(cl, STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    return failed;
}

/* The prediction in us for a vector of so many elements, never submitted. */
static double expected(struct starpu_codelet *cl, unsigned elements, unsigned implementation)
{
    static char memory[1 << 16];
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)memory, elements, 1);
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = handle;
    task->destroy = 0;
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(0, STARPU_NMAX_SCHED_CTXS);
    double length = starpu_task_expected_length(task, arch, implementation);
    starpu_task_destroy(task);
    starpu_data_unregister(handle);
    return length;
}

static void given_functions(void)
{
    is_int((long long)expected(&common_cl, 100, 0), 123, "a common model's function gives the prediction");
    ok(all_of(expected(&arch_cl, 100, 0) == 77.0, expected(&arch_cl, 100, 1) == 11.0),
       "a per-architecture model's function gives it for each implementation");
}

static void measured_by_history(void)
{
    ok(isnan(expected(&history_cl, 400, 0)) || expected(&history_cl, 400, 0) == 0.0,
       "nothing is predicted before anything was measured");
    int failed = execute(&history_cl, 400, 30) | execute(&history_cl, 1600, 30);
    double small = expected(&history_cl, 400, 0), large = expected(&history_cl, 1600, 0);
    ok(all_of(!failed, small > 150, small < 8000),
       "a task of 200 us is predicted to take about that long (%.0f us)", small);
    ok(all_of(large > 750, large<16000, large> small),
       "another size has a prediction of its own: 800 us (%.0f us)", large);
    ok(isnan(expected(&history_cl, 999, 0)) || expected(&history_cl, 999, 0) == 0.0,
       "a size never measured has none");
}

static int execute_sizes(struct starpu_codelet *cl)
{
    static const unsigned sizes[] = { 100, 200, 400, 800, 1600 };
    int failed = 0;
    for (unsigned i = 0; i < LENGTH(sizes); i++) failed |= execute(cl, sizes[i], 15);
    return failed;
}

static void measured_by_regression(void)
{
    int failed = execute_sizes(&regression_cl);
    double between = expected(&regression_cl, 600, 0);
    ok(all_of(!failed, between > 200, between < 8000),
       "a regression predicts a size between those measured: 300 us (%.0f us)", between);
    ok(!execute_sizes(&nonlinear_cl), "a nonlinear regression is measured");
}

static void fed_by_hand(void)
{
    static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "orrery_test_fed" };
    static struct starpu_codelet cl = {
        .cpu_funcs = { spin_func }, .nbuffers = 1, .modes = { STARPU_R }, .model = &model
    };
    static char memory[64];
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)memory, 64, 1);
    struct starpu_task *task = starpu_task_create();
    task->cl = &cl;
    task->handles[0] = handle;
    task->destroy = 0;
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(0, STARPU_NMAX_SCHED_CTXS);
    starpu_perfmodel_init(&model);
    uint32_t footprint = starpu_task_footprint(&model, task, arch, 0);
    double after_none = starpu_perfmodel_history_based_expected_perf(&model, arch, footprint), after[20];
    for (int i = 0; i < 20; i++) {
        starpu_perfmodel_update_history(&model, task, arch, 0, 0, i % 2 ? 5000.0 : 5200.0);
        after[i] = starpu_perfmodel_history_based_expected_perf(&model, arch, footprint);
    }
    ok(all_of(isnan(after_none), isnan(after[0]), isnan(after[8]), fabs(after[9] - 5100) < 1),
       "the history has no answer before it has as many measures as make it calibrated, 10");
    double mean = starpu_task_expected_length(task, arch, 0);
    ok(all_of(mean > 4999, mean < 5201), "measurements given by the program are the history (mean %.0f us)",
       mean);
    double same = starpu_perfmodel_history_based_expected_perf(&model, arch, footprint);
    ok(fabs(same - mean) < 1, "the history is asked by footprint too");
    starpu_task_destroy(task);
    starpu_data_unregister(handle);
}

static double kept_small, kept_large;

static void measure_and_save(void)
{
    if (start(1) != 0) skip_all("no CPU worker can be started here");
    given_functions();
    measured_by_history();
    measured_by_regression();
    fed_by_hand();
    kept_small = expected(&history_cl, 400, 0);
    kept_large = expected(&history_cl, 1600, 0);
    starpu_shutdown();
}

static void load(void)
{
    struct starpu_perfmodel loaded = { .type = STARPU_HISTORY_BASED },
                            absent = { .type = STARPU_HISTORY_BASED };
    char path[512] = "";
    struct stat info;
    if (start(0) != 0) return;
    starpu_perfmodel_get_model_path("orrery_test_history", path, sizeof path);
    ok(all_of(strncmp(path, directory, strlen(directory)) == 0, stat(path, &info) == 0, info.st_size > 0),
       "at the end a model is saved to a file below STARPU_HOME");
    /* the same codelet object, as in a new program: only its file is known */
    static struct starpu_perfmodel again_model = { .type = STARPU_HISTORY_BASED,
                                                   .symbol = "orrery_test_history" };
    static struct starpu_codelet again_cl = {
        .cpu_funcs = { spin_func },
        .nbuffers = 1,
        .modes = { STARPU_R },
        .model = &again_model,
        .name = "history",
    };
    double small = expected(&again_cl, 400, 0), large = expected(&again_cl, 1600, 0);
    ok(all_of(fabs(small - kept_small) < 0.01 * kept_small, fabs(large - kept_large) < 0.01 * kept_large),
       "the next run predicts from the file what the first one measured (%.1f, %.1f us)", small, large);
    double between = expected(&regression_cl, 600, 0);
    ok(all_of(between > 200, between < 8000), "a regression is loaded again (%.0f us)", between);
    between = expected(&nonlinear_cl, 600, 0);
    ok(all_of(between > 200, between < 8000), "a nonlinear one too (%.0f us)", between);
    is_int(starpu_perfmodel_load_symbol("orrery_test_history", &loaded), 0,
           "a model is loaded by its symbol");
    FILE *null = fopen("/dev/null", "w");
    is_int(starpu_perfmodel_print_all(&loaded, NULL, NULL, NULL, null), 0, "and printed");
    fclose(null);
    starpu_perfmodel_unload_model(&loaded);
    ok(starpu_perfmodel_load_symbol("orrery_test_no_such_model", &absent) != 0,
       "a symbol without a file is refused");
    starpu_shutdown();
}

static int remove_entry(const char *path, const struct stat *info UNUSED, int type UNUSED,
                        struct FTW *place UNUSED)
{
    return remove(path);
}

int main(void)
{
    alarm(30);
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/orrery-perfmodel-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(directory)) skip_all("no directory for the models can be made");
    setenv("STARPU_HOME", directory, 1);
    setenv("STARPU_HOSTNAME", "testhost", 1);
    unsetenv("STARPU_PERF_MODEL_DIR");
    unsetenv("STARPU_PERF_MODEL_PATH");
    measure_and_save();
    load();
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return done_testing();
}
