/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting and stopping the runtime: repeatedly, nested, with each field of the configuration.
 * Threads: main.
 * Owns: nothing.
 * Not here: what the environment says about workers' binding.
 */
#include <sys/wait.h>
#include "tests/helper.h"

static atomic_int runs;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static int run_one(void)
{
    int before = atomic_load(&runs);
    int failed = starpu_task_insert(&count_cl, 0) != 0;
    starpu_task_wait_for_all();
    return failed || atomic_load(&runs) != before + 1;
}

static struct starpu_conf configuration(int cpus)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.precedence_over_environment_variables = 1;
    return conf;
}

static void repeated(void)
{
    int wrong = 0;
    is_int(starpu_is_initialized(), 0, "the runtime is not started at first");
    for (int i = 0; i < 20; i++) {
        struct starpu_conf conf = configuration(1 + i % 2);
        wrong += starpu_init(&conf) != 0;
        wrong += starpu_is_initialized() != 1;
        wrong += (int)starpu_cpu_worker_get_count() != 1 + i % 2;
        wrong += run_one();
        starpu_shutdown();
        wrong += starpu_is_initialized() != 0;
    }
    is_int(wrong, 0, "it starts with 1 or 2 workers, runs a task and stops, 20 times");
}

static void nested(void)
{
    struct starpu_conf conf = configuration(1);
    int first = starpu_init(&conf), second = starpu_init(&conf);
    ok(all_of(first == 0, second == 0), "starting it twice is accepted");
    starpu_shutdown();
    ok(all_of(starpu_is_initialized(), !run_one()), "after one stop it still runs tasks");
    starpu_shutdown();
    is_int(starpu_is_initialized(), 0, "after the second it is stopped");
}

static void data_between_runs(void)
{
    int wrong = 0;
    for (int i = 0; i < 3; i++) {
        struct starpu_conf conf = configuration(1);
        int value = i;
        starpu_data_handle_t handle;
        wrong += starpu_init(&conf) != 0;
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
        wrong += starpu_data_acquire(handle, STARPU_RW) != 0;
        value++;
        starpu_data_release(handle);
        starpu_data_unregister(handle);
        wrong += value != i + 1;
        starpu_shutdown();
    }
    is_int(wrong, 0, "handles can be registered in each run");
}

static void policies(void)
{
    static const char *const names[] = { "eager", "prio", "random", "ws", "lws", "dm", "dmda", "dmdas" };
    for (unsigned i = 0; i < LENGTH(names); i++) {
        struct starpu_conf conf = configuration(1);
        conf.sched_policy_name = names[i];
        int status = starpu_init(&conf);
        int failed = status == 0 ? run_one() : 1;
        if (status == 0) starpu_shutdown();
        ok(!failed, "policy %s is known by name", names[i]);
    }
    struct starpu_sched_policy **list = starpu_sched_get_predefined_policies();
    unsigned found = 0;
    for (unsigned i = 0; i < LENGTH(names); i++)
        for (struct starpu_sched_policy **policy = list; *policy; policy++)
            if ((*policy)->policy_name && strcmp((*policy)->policy_name, names[i]) == 0) {
                found++;
                break;
            }
    is_int(found, LENGTH(names), "all of them are in the list of policies");
}

static void wrong_configuration(void)
{
    struct starpu_conf conf;
    memset(&conf, 0, sizeof conf);
    int status = starpu_init(&conf);
    ok(all_of(status == -EINVAL, !starpu_is_initialized()),
       "a configuration that was not initialised is refused with EINVAL");
    conf = configuration(0);
    status = starpu_init(&conf);
    ok(all_of(status == -ENODEV, !starpu_is_initialized()),
       "a configuration without any worker is refused with ENODEV");
    conf = configuration(1);
    status = starpu_init(&conf);
    ok(all_of(status == 0, !run_one()), "after a refusal it can be started");
    starpu_shutdown();
}

static void defaults(void)
{
    struct starpu_conf conf;
    int status = starpu_conf_init(&conf);
    ok(all_of(status == 0, conf.ncpus == -1, conf.ncuda == -1, conf.sched_policy == NULL,
              conf.precedence_over_environment_variables == 0),
       "an initialised configuration leaves everything open");
    status = starpu_init(NULL);
    ok(all_of(status == 0, starpu_worker_get_count() >= 1, !run_one()),
       "no configuration at all is accepted");
    starpu_shutdown();
    int argc = 1;
    char *words[] = { "init", NULL }, **argv = words;
    status = starpu_initialize(NULL, &argc, &argv);
    ok(all_of(status == 0, argc == 1, argv[0] == words[0], !run_one()),
       "program arguments can be given, and are left alone");
    starpu_shutdown();
}

static void environment(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    setenv("STARPU_NCPU", "1", 1);
    int status = starpu_init(&conf);
    ok(all_of(status == 0, starpu_cpu_worker_get_count() == 1), "STARPU_NCPU comes before the configuration");
    starpu_shutdown();
    conf.precedence_over_environment_variables = 1;
    status = starpu_init(&conf);
    ok(all_of(status == 0, starpu_cpu_worker_get_count() == 2), "unless the configuration takes precedence");
    starpu_shutdown();
    unsetenv("STARPU_NCPU");
}

static void version(void)
{
    int major = 0, minor = 0, release = -1;
    starpu_get_version(&major, &minor, &release);
    ok(all_of(major == STARPU_MAJOR_VERSION, minor == STARPU_MINOR_VERSION,
              release == STARPU_RELEASE_VERSION),
       "the library reports the version of its headers: %d.%d.%d", major, minor, release);
}

static void unknown_policy(void)
{
#if STARPU_AT_LEAST(1, 4) /* 1.3 stops the program instead */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        struct starpu_conf conf = configuration(1);
        conf.sched_policy_name = "no-such-policy";
        int status = starpu_init(&conf);
        if (status != 0) _exit(0);
        int failed = run_one();
        starpu_shutdown();
        _exit(failed);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ok(all_of(WIFEXITED(status), WEXITSTATUS(status) == 0),
       "an unknown policy is an error code or a warning, never a crash");
#else
    skip("1.3 stops the program at an unknown policy");
#endif
}

int main(void)
{
    alarm(30);
    unsetenv("STARPU_NCPU");
    unsetenv("STARPU_SCHED");
    struct starpu_conf conf = configuration(1);
    if (starpu_init(&conf) == -ENODEV) skip_all("no CPU worker can be started here");
    starpu_shutdown();
    repeated();
    nested();
    data_between_runs();
    policies();
    wrong_configuration();
    defaults();
    environment();
    version();
    unknown_policy();
    return done_testing();
}
