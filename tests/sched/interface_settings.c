/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of scheduling: STARPU_SCHED (help, names that there are none of, the old name heft), policies
 * in a shared library, the weights of dmda, calibration, stops for a debugger, and what is told at the end of
 * a run. Threads: each case starts the runtime in a child. Owns: nothing. Not here: what each policy does
 * (every_policy.c).
 */
#include <math.h>
#include <sys/stat.h>
#include "tests/core/misuse.h"

static char folder[2048]; /* where the libraries are */
static struct outcome last;

/* Runs fn in a child; what it says is in last. Whether it returned true. */
static bool child(bool (*fn)(void))
{
    struct misuse m = { .what = "", .run = fn };
    last = misuse_try(&m);
    return WIFEXITED(last.status) && WEXITSTATUS(last.status) == AS_DOCUMENTED;
}

static bool says(const char *text)
{
    if (strstr(last.said, text)) return true;
    diag("it does not say \"%s\"", text);
    outcome_show(&last);
    return false;
}

static void setting(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static int start(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    return starpu_init(&conf);
}

/* ---- STARPU_SCHED ---- */

static bool is_refused(void)
{
    return returns(start(), -EINVAL) && !starpu_is_initialized();
}

static const char *wanted_policy;
static bool is_used(void)
{
    if (start() != 0) return false;
    atomic_store(&misuse_ran, 0);
    for (int i = 0; i < 100; i++)
        if (starpu_task_insert(&count_cl, 0) != 0) return false;
    starpu_task_wait_for_all();
    bool right =
        strcmp(starpu_sched_get_sched_policy()->policy_name, wanted_policy) == 0 && misuse_ran == 100;
    starpu_shutdown();
    return right;
}

static bool lists_all(void)
{
    int missing = 0;
    for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p; p++)
        missing += !strstr(last.said, (*p)->policy_name) || !strstr(last.said, (*p)->policy_description);
    return missing == 0;
}

static void names(void)
{
    setting("STARPU_SCHED", "help");
    ok(all_of(child(is_refused), lists_all(), says("heft")),
       "STARPU_SCHED=help lists the policies, and nothing is started");
    setting("STARPU_SCHED", "no_such_policy");
    ok(all_of(child(is_refused), last.lines == 1, says("no_such_policy"), says("STARPU_SCHED=help"),
              !strstr(last.said, "nearest")),
       "an unknown name is refused, with how to list them");
    setting("STARPU_SCHED", "egaer");
    ok(all_of(child(is_refused), last.lines == 1, says("the nearest is \"eager\"")),
       "and the nearest is named");
    setting("STARPU_SCHED", "heft");
    wanted_policy = "dmda";
    ok(all_of(child(is_used), last.lines == 2, says("deprecated"),
              says("policy dmda: none of 100 tasks has a performance model")),
       "heft is dmda, and says that it is deprecated, and that it needs models");
    setting("STARPU_SCHED", "prio");
    wanted_policy = "prio";
    char cpus[32];
    snprintf(cpus, sizeof cpus, "%ld", sysconf(_SC_NPROCESSORS_ONLN) + 1);
    setting("STARPU_NCPU", cpus);
    ok(all_of(child(is_used), last.lines == 1, says("CPU workers share"), says("set STARPU_NCPU=")),
       "more workers than cores are told");
    setting("STARPU_NCPU", NULL);
    setting("STARPU_SCHED", NULL);
    wanted_policy = "eager";
    ok(all_of(child(is_used), last.lines == 0), "eager is the default");
}

/* ---- STARPU_SCHED_LIB ---- */

static void library(const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/sched/%s", folder, file);
    setting("STARPU_SCHED_LIB", path);
}

static void libraries(void)
{
    library("policy_lib.so");
    wanted_policy = "plugged";
    setting("STARPU_SCHED", "plugged");
    ok(all_of(child(is_used), last.lines == 0), "a policy of a shared library runs tasks");
    setting("STARPU_SCHED", "by_another_name");
    ok(child(is_used), "the library may have other names for it");
    setting("STARPU_SCHED", "help");
    ok(all_of(child(is_refused), says("plugged"), says("a list in a library"), lists_all()),
       "help lists the library's policies as well");
    setting("STARPU_SCHED", "prio");
    wanted_policy = "prio";
    ok(child(is_used), "those that it does not have are the built-in ones");
    library("policy_list_lib.so");
    setting("STARPU_SCHED", "plugged");
    wanted_policy = "plugged";
    ok(all_of(child(is_used), last.lines == 0), "a library that only lists what it has will do");
    setting("STARPU_SCHED", NULL);
    setting("STARPU_SCHED_LIB", "/no/such/library.so");
    ok(all_of(child(is_refused), last.lines == 1, says("/no/such/library.so")),
       "a library that is not there is refused");
    setting("STARPU_SCHED_LIB", "libm.so.6");
    ok(all_of(child(is_refused), last.lines == 1, says("starpu_get_sched_lib_policies")),
       "one without policies is refused, with the functions it should have");
    setting("STARPU_SCHED_LIB", NULL);
}

/* ---- the weights of dmda ---- */

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl UNUSED)
{
    (void)task;
    return arch->devices[0].type == STARPU_CPU_WORKER ? 5000 : 1000;
}
static double joules_of(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl UNUSED)
{
    return arch->devices[0].type == STARPU_CPU_WORKER ? 0.1 : 0.4;
}
static struct starpu_perfmodel weighed_model = { .type = STARPU_PER_ARCH, .arch_cost_function = cost };
static struct starpu_perfmodel weighed_energy = { .type = STARPU_PER_ARCH, .arch_cost_function = joules_of };

static atomic_int on_device;
static void place_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&on_device, starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CUDA_WORKER);
}
static struct starpu_codelet weighed_cl = { .cpu_funcs = { place_func },
                                            .nbuffers = 1,
                                            .modes = { STARPU_R },
                                            .model = &weighed_model,
                                            .name = "weighed" };
static int expected_share;

/* 5 tasks one after another, each with a megabyte that the CPU has: 1000 us of transfer, 4000 us saved. */
static bool share_is(void)
{
    enum { MEGABYTE = 1000000 };
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf) != 0) return false;
    char *bytes = calloc(5, MEGABYTE);
    for (int i = 0; i < 5; i++) {
        starpu_data_handle_t h;
        starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)(bytes + i * MEGABYTE), MEGABYTE, 1);
        if (starpu_task_insert(&weighed_cl, STARPU_R, h, 0) != 0) return false;
        starpu_task_wait_for_all();
        starpu_data_unregister(h);
    }
    starpu_shutdown();
    free(bytes);
    if (on_device != expected_share) diag("%d of 5 tasks ran on the device", on_device);
    return on_device == expected_share;
}

static void weight(const char *name, const char *value, int share, const char *what)
{
    setting(name, value);
    expected_share = share;
    ok(child(share_is), "%s", what);
    setting(name, NULL);
}

static void weights(void)
{
    setting("ORRERY_SIM_DEVICES", "1");
    setting("ORRERY_SIM_BANDWIDTH_MB_S", "1000");
    setting("ORRERY_SIM_LATENCY_US", "0");
    setting("STARPU_SCHED", "dmda");
    weight("STARPU_SCHED_BETA", "1", 5, "a device that saves more than the transfer takes gets the tasks");
    weight("STARPU_SCHED_BETA", "6", 0, "with STARPU_SCHED_BETA=6 the transfer weighs more");
    weight("STARPU_SCHED_ALPHA", "0.01", 0, "with STARPU_SCHED_ALPHA=0.01 the time weighs less");
    weighed_cl.energy_model = &weighed_energy;
    weight("STARPU_SCHED_GAMMA", "100", 5, "0.3 J more are worth 30 us with STARPU_SCHED_GAMMA=100");
    weight("STARPU_SCHED_GAMMA", "100000", 0, "and 30000 us with STARPU_SCHED_GAMMA=100000");
    setting("STARPU_SCHED_GAMMA", "100000");
    weight("STARPU_IDLE_POWER", "1000", 5, "unless the idle machine takes more: STARPU_IDLE_POWER=1000");
    setting("STARPU_SCHED_GAMMA", NULL);
    setting("STARPU_SCHED", NULL);
    setting("ORRERY_SIM_BANDWIDTH_MB_S", NULL);
    setting("ORRERY_SIM_LATENCY_US", NULL);
}

/* Two kinds of workers: random draws by their assumed speed. */
static bool random_by_speed(void)
{
    enum { TASKS = 2600 };
    static struct starpu_codelet drawn_cl = { .cpu_funcs = { place_func }, .name = "drawn" };
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf) != 0) return false;
    double gpu = starpu_worker_get_relative_speedup(
        starpu_worker_get_perf_archtype(starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0), 0));
    for (int i = 0; i < TASKS; i++)
        if (starpu_task_insert(&drawn_cl, 0) != 0) return false;
    starpu_task_wait_for_all();
    starpu_shutdown();
    double share = (double)on_device / TASKS, want = gpu / (gpu + 1);
    bool right = fabs(share - want) < 0.04; /* seven standard deviations */
    if (!right) diag("the device got %.3f of the tasks; its share of the speed is %.3f", share, want);
    return right;
}

/* ---- calibration ---- */

static struct starpu_perfmodel history = { .type = STARPU_HISTORY_BASED, .symbol = "orrery_test_settings" };
static void measured_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet measured_cl = { .cpu_funcs = { measured_func },
                                             .model = &history,
                                             .name = "measured" };
static int runs_wanted;

static bool measures_tasks(void)
{
    if (start() != 0) return false;
    for (int i = 0; i < runs_wanted; i++) {
        if (starpu_task_insert(&measured_cl, 0) != 0) return false;
        starpu_task_wait_for_all();
    }
    starpu_shutdown();
    return true;
}

static unsigned measures(void)
{
    struct starpu_perfmodel m = { .type = STARPU_PERFMODEL_INVALID };
    unsigned n = 0;
    starpu_perfmodel_initialize();
    if (starpu_perfmodel_load_symbol(history.symbol, &m) != 0) return 0;
    for (int comb = 0; comb < starpu_perfmodel_get_narch_combs(); comb++) {
        struct starpu_perfmodel_per_arch *pa =
            starpu_perfmodel_get_model_per_arch(&m, starpu_perfmodel_arch_comb_fetch(comb), 0);
        for (struct starpu_perfmodel_history_list *l = pa ? pa->list : NULL; l; l = l->next)
            n += l->entry->nsample;
    }
    starpu_perfmodel_unload_model(&m);
    starpu_perfmodel_free_sampling();
    return n;
}

static bool measured_at_least, measured_at_most;
static unsigned bound_low, bound_high;
static bool count_measures(void)
{
    unsigned n = measures();
    measured_at_least = n >= bound_low;
    measured_at_most = n <= bound_high;
    if (!measured_at_least || !measured_at_most) diag("%u measures", n);
    return measured_at_least && measured_at_most;
}

static bool measures_between(unsigned low, unsigned high)
{
    bound_low = low;
    bound_high = high;
    return child(count_measures);
}

static void calibrate(const char *value, int runs)
{
    setting("STARPU_CALIBRATE", value);
    runs_wanted = runs;
    child(measures_tasks);
}

static char home[] = "/tmp/orrery-settings.XXXXXX", homes[2][64];

/* Models are kept in a folder of their own from now on. */
static bool new_home(int i)
{
    if (i == 0 && !mkdtemp(home)) return false;
    snprintf(homes[i], sizeof homes[i], "%s/%d", home, i);
    setting("STARPU_HOME", homes[i]);
    setting("STARPU_PERF_MODEL_DIR", NULL);
    return mkdir(homes[i], 0700) == 0;
}

static void remove_homes(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", home);
    if (system(command) != 0) diag("%s remains", home);
}

/* Every measure counts here, however long the machine kept the task waiting: none is called an error. */
static void calibration(void)
{
    setting("STARPU_HISTORY_MAX_ERROR", "1000000");
    setting("STARPU_SCHED", "eager");
    calibrate(NULL, 30);
    ok(measures_between(0, 0), "under eager nothing is measured by default");
    calibrate("1", 30);
    ok(measures_between(30, 30), "with STARPU_CALIBRATE=1 everything is");
    calibrate("0", 30);
    ok(measures_between(30, 30), "with 0 nothing is added");
    calibrate("1", 30);
    ok(measures_between(60, 60), "with 1 measures are added");
    calibrate("2", 15);
    ok(measures_between(15, 15), "with 2 they begin anew");
    setting("STARPU_SCHED", "dmda");
    calibrate("2", 0);
    setting("STARPU_CALIBRATE", NULL);
    if (!new_home(1)) diag("there is no place for models");
    setting("STARPU_CALIBRATE_MINIMUM", "25");
    calibrate(NULL, 30);
    ok(measures_between(25, 30),
       "a model that knows nothing is calibrated under dmda, until STARPU_CALIBRATE_MINIMUM");
    setting("STARPU_CALIBRATE_MINIMUM", NULL);
    setting("STARPU_HISTORY_MAX_ERROR", NULL);
    setting("STARPU_SCHED", NULL);
}

/* ---- stops ---- */

static atomic_int trapped, trapped_off_worker;
static void trap(int signal UNUSED)
{
    atomic_fetch_add(&trapped, 1);
    atomic_fetch_add(&trapped_off_worker, starpu_worker_get_id() < 0);
}

static atomic_int trapped_before_body;
static struct starpu_task *stopped;
static void stopped_func(void *buffers[] UNUSED, void *arg)
{
    if (arg) atomic_store(&trapped_before_body, atomic_load(&trapped));
}
static struct starpu_codelet stopped_cl = { .cpu_funcs = { stopped_func }, .name = "stopped" };

static const char *break_setting;
static int submitted_by, on_worker; /* traps at the end of submission; whether on a worker */

/* One of ten tasks is to be stopped at; it waits for another one first. */
static bool stops_once(void)
{
    char id[32];
    struct gate gate = { 0 };
    struct starpu_task *before = starpu_task_create();
    signal(SIGTRAP, trap);
    stopped = starpu_task_create();
    stopped->cl = &stopped_cl;
    stopped->cl_arg = stopped;
    snprintf(id, sizeof id, "%lu", starpu_task_get_job_id(stopped));
    setting(break_setting, id);
    if (start() != 0) return false;
    before->cl = &gate_cl;
    before->cl_arg = &gate;
    starpu_task_declare_deps_array(stopped, 1, &before);
    bool good = starpu_task_submit(stopped) == 0;
    int at_submission = atomic_load(&trapped);
    for (int i = 0; i < 10; i++) good &= starpu_task_insert(&stopped_cl, 0) == 0;
    good &= starpu_task_submit(before) == 0;
    gate_wait_entered(&gate, 1);
    good &= returns(atomic_load(&trapped), at_submission);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
    return good && returns(trapped, 1) && returns(at_submission, submitted_by) &&
           returns(trapped_before_body, 1) && returns(trapped_off_worker, !on_worker);
}

/* Whether it stops at the decision while the only worker is busy: then the policy has chosen at the push. */
static int trapped_at_push;
static bool stops_at_decision(void)
{
    char id[32];
    struct gate gate = { 0 };
    signal(SIGTRAP, trap);
    stopped = starpu_task_create();
    stopped->cl = &stopped_cl;
    snprintf(id, sizeof id, "%lu", starpu_task_get_job_id(stopped));
    setting("STARPU_TASK_BREAK_ON_SCHED", id);
    if (start() != 0) return false;
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) gate_submit(&gate, (int)i);
    gate_wait_entered(&gate, (int)starpu_worker_get_count());
    bool good = starpu_task_submit(stopped) == 0 && returns(atomic_load(&trapped), trapped_at_push);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
    return good && returns(trapped, 1) && returns(trapped_off_worker, trapped_at_push);
}

static bool never_stops(void)
{
    signal(SIGTRAP, trap);
    if (start() != 0) return false;
    for (int i = 0; i < 100; i++)
        if (starpu_task_insert(&stopped_cl, 0) != 0) return false;
    starpu_task_wait_for_all();
    starpu_shutdown();
    return returns(trapped, 0);
}

static bool kills(void)
{
    struct starpu_task *task = starpu_task_create();
    char id[32];
    snprintf(id, sizeof id, "%lu", starpu_task_get_job_id(task));
    setting("STARPU_TASK_BREAK_ON_EXEC", id);
    task->cl = &stopped_cl;
    if (start() != 0 || starpu_task_submit(task) != 0) return false;
    starpu_task_wait_for_all();
    return true;
}

static void stops(void)
{
    static const struct {
        const char *name, *when;
        int at_submission, on_worker;
    } all[] = {
        { "STARPU_TASK_BREAK_ON_SUBMIT", "when it is submitted", 1, 0 },
        { "STARPU_TASK_BREAK_ON_PUSH", "when it is ready and pushed", 0, 1 },
        { "STARPU_TASK_BREAK_ON_SCHED", "when it is scheduled", 0, 1 },
        { "STARPU_TASK_BREAK_ON_POP", "when it is popped", 0, 1 },
        { "STARPU_TASK_BREAK_ON_EXEC", "before it runs", 0, 1 },
    };
    setting("ORRERY_SIM_DEVICES", NULL);
    for (unsigned i = 0; i < LENGTH(all); i++) {
        break_setting = all[i].name;
        submitted_by = all[i].at_submission;
        on_worker = all[i].on_worker;
        ok(child(stops_once), "%s raises SIGTRAP for that task alone, once, %s", all[i].name, all[i].when);
    }
    setting("STARPU_SCHED", "eager");
    ok(child(stops_at_decision),
       "under eager, STARPU_TASK_BREAK_ON_SCHED stops when a worker takes the task");
    setting("STARPU_SCHED", "random");
    trapped_at_push = 1;
    ok(child(stops_at_decision), "under random, which chooses the worker, when the task is pushed");
    setting("STARPU_SCHED", NULL);
    setting("STARPU_TASK_BREAK_ON_SCHED", NULL);
    ok(child(never_stops), "without these settings nothing stops");
    child(kills);
    ok(all_of(WIFSIGNALED(last.status), WTERMSIG(last.status) == SIGTRAP),
       "without a debugger the signal ends the program");
}

/* ---- what is told at the end ---- */

static double one_joule(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 0.5;
}
static double known_cost(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 10;
}
static struct starpu_perfmodel half_joule = { .type = STARPU_COMMON, .cost_function = one_joule };
static struct starpu_perfmodel known = { .type = STARPU_COMMON, .cost_function = known_cost };
static struct starpu_codelet known_cl = {
    .cpu_funcs = { place_func }, .model = &known, .energy_model = &half_joule, .name = "known"
};

static bool some_known(void)
{
    if (start() != 0) return false;
    for (int i = 0; i < 40; i++)
        if (starpu_task_insert(i % 4 ? &known_cl : &count_cl, 0) != 0) return false;
    starpu_task_wait_for_all();
    starpu_energy_use(2);
    starpu_shutdown();
    return true;
}

static void told(void)
{
    setting("STARPU_SCHED", "dmda");
    setting("ORRERY_VERBOSE", "1");
    ok(all_of(child(some_known), says("75.0 % of 40 tasks were placed by performance models")),
       "a verbose run tells the share of tasks that a model placed");
    setting("ORRERY_VERBOSE", NULL);
    ok(all_of(child(some_known), !strstr(last.said, "placed by")), "another run does not");
    setting("STARPU_PROFILING", "1");
    setting("STARPU_WORKER_STATS", "1");
    ok(all_of(child(some_known), says("consumed energy: 17.0000 J (15.0000 J of tasks"),
              says("2.0000 J that the program")),
       "STARPU_PROFILING=1 STARPU_WORKER_STATS=1 tells the energy that was consumed");
    setting("STARPU_PROFILING", NULL);
    setting("STARPU_WORKER_STATS", NULL);
    setting("STARPU_SCHED", NULL);
}

int main(void)
{
    const char *build = getenv("ORR_BUILDDIR");
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = 0;
    for (int i = 0; i < 3 && strrchr(folder, '/'); i++) *strrchr(folder, '/') = 0; /* tests/sched/... */
    if (build) snprintf(folder, sizeof folder, "%s", build);
    if (!new_home(0)) skip_all("there is no place for models");
    names();
    libraries();
    weights();
    setting("STARPU_SCHED", "random");
    ok(child(random_by_speed), "random draws workers in proportion to their speed");
    setting("STARPU_SCHED", NULL);
    setting("ORRERY_SIM_DEVICES", NULL);
    calibration();
    stops();
    told();
    remove_homes();
    return done_testing();
}
