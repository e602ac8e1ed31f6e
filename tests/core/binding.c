/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cores workers get: by the environment, by the program, which of the two counts, and what is left for
 * threads. Threads: main only. Owns: nothing. Not here: what workers are (workers.c).
 */
#include <sched.h>

#include "tests/helper.h"

/* Starts 4 workers with this list in the environment, and bindid[] given by the program or NULL. */
static void start(const char *list, const unsigned *bindid, int precedence)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 4;
    conf.precedence_over_environment_variables = precedence;
    if (bindid) {
        conf.use_explicit_workers_bindid = 1;
        for (int i = 0; i < 4; i++) conf.workers_bindid[i] = bindid[i];
    }
    unsetenv("STARPU_NCPU");
    if (list)
        setenv("STARPU_WORKERS_CPUID", list, 1);
    else
        unsetenv("STARPU_WORKERS_CPUID");
    int status = starpu_init(&conf);
    if (status != 0 || starpu_worker_get_count() != 4) {
        printf("Bail out! starpu_init with 4 workers returned %d\n", status);
        exit(1);
    }
}

/* The cores of the four workers as a decimal number; ends the runtime. */
static int cores(void)
{
    int n = 0;
    for (int i = 0; i < 4; i++) n = 10 * n + starpu_worker_get_bindid(i);
    starpu_shutdown();
    return n;
}

/* How many processors the main thread may use; *only_out: the first. */
static int processors(int *only_out)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    *only_out = -1;
    for (int i = 0; i < CPU_SETSIZE && *only_out < 0; i++)
        if (CPU_ISSET(i, &set)) *only_out = i;
    return CPU_COUNT(&set);
}

static int workers_on(int core)
{
    int n = 0;
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) n += starpu_worker_get_bindid((int)i) == core;
    return n;
}

static void *shut_down(void *arg)
{
    starpu_shutdown();
    return arg;
}

/* STARPU_MAIN_THREAD_...: the main thread has a core. */
static void main_thread(void)
{
    int at, before = processors(&at), all;
    struct starpu_conf conf;
    unsetenv("STARPU_WORKERS_CPUID");
    unsetenv("STARPU_WORKERS_COREID");
    unsetenv("STARPU_WORKERS_NOBIND");
    starpu_conf_init(&conf);
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    all = (int)starpu_cpu_worker_get_count();
    is_int(processors(&at), before, "the main thread is not bound by itself");
    starpu_shutdown();

    setenv("STARPU_MAIN_THREAD_BIND", "1", 1);
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    is_int(processors(&at), 1, "STARPU_MAIN_THREAD_BIND binds it");
    is_int(starpu_cpu_worker_get_count(), all - 1, "to a core that has no worker");
    starpu_shutdown();
    is_int(processors(&at), before, "at the end it is bound as before");
    pthread_t second;
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    pthread_create(&second, NULL, shut_down, NULL);
    pthread_join(second, NULL);
    is_int(processors(&at), before, "also if another thread ends the runtime");
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    is_int(processors(&at), 1, "the next start binds it again");
    starpu_shutdown();
    unsetenv("STARPU_MAIN_THREAD_BIND");

    setenv("STARPU_MAIN_THREAD_CPUID", "0", 1);
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    is_int(processors(&at), 1, "STARPU_MAIN_THREAD_CPUID binds it");
    is_int(at, starpu_cpu_os_index(0), "to that core");
    is_int(workers_on(0), 0, "which has no worker");
    starpu_shutdown();
    conf.ncpus = all;
    if (starpu_init(&conf) != 0) ok(0, "the runtime starts");
    is_int(starpu_cpu_worker_get_count(), all, "a number of workers that is asked for is had nevertheless");
    starpu_shutdown();
    unsetenv("STARPU_MAIN_THREAD_CPUID");
}

int main(void)
{
    alarm(30);
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    unsetenv("STARPU_WORKERS_COREID");
    start(NULL, NULL, 0);
    int last = 0;
    for (int i = 0; i < 4; i++)
        if (starpu_worker_get_bindid(i) > last) last = starpu_worker_get_bindid(i);
    starpu_shutdown();
    if (last == 0) skip_all("there is one core only");

    static const unsigned programs[4] = { 0, 0, 1, 1 };
    start("1 0", NULL, 0);
    is_int(cores(), 1010, "STARPU_WORKERS_CPUID tells the cores in order, and from the beginning again");
    start("1, 0-1 1", NULL, 0);
    is_int(cores(), 1011, "it takes ranges");
    start("1-", NULL, 0);
    is_int(cores() / 1000, 1, "also open ones");
    start("0", NULL, 1);
    is_int(cores(), 0, "it counts where the program says nothing, whatever has precedence");
    start("1", programs, 0);
    is_int(cores(), 1111, "it counts more than what the program says");
    start("1", programs, 1);
    is_int(cores(), 11, "unless the program has precedence");
    start("one", programs, 0);
    is_int(cores(), 11, "nonsense is left out");

    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 3;
    conf.reserve_ncpus = 1;
    unsetenv("STARPU_WORKERS_CPUID");
    unsetenv("STARPU_RESERVE_NCPU");
    int status = starpu_init(&conf);
    ok(all_of(status == 0, starpu_cpu_worker_get_count() == 2),
       "a reserved core is taken from the workers that were asked for");
    unsigned passive = starpu_get_next_bindid(0, NULL, 0);
    is_int(starpu_get_next_bindid(0, NULL, 0), passive, "threads that do little share a core");
    if (status == 0) starpu_shutdown();
    main_thread();
    return done_testing();
}
