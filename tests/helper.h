/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What most test programs share: starting the runtime with a number of workers and a policy, gates that hold
 * a task back until the test has looked, and a generator of random numbers that is the same everywhere.
 * Threads: a gate is opened by any thread; the rest is called by main.
 * Owns: nothing.
 * Not here: TAP lines (tests/tap.h), what MPI programs add (tests/mpi/helper_mpi.h).
 */
#ifndef ORR_TESTS_HELPER_H
#define ORR_TESTS_HELPER_H

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <starpu.h>
#include "tests/tap.h"

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>

/* hwloc loads it where devices are looked for, and unloads it: so what it loses keeps its name (lsan.supp).
 */
__attribute__((constructor)) static void keep_pciaccess(void)
{
    dlopen("libpciaccess.so.0", RTLD_LAZY | RTLD_NODELETE);
}
#endif

/* True for the interface of version 1.major.minor and later. */
#define STARPU_AT_LEAST(major, minor)                                                                        \
    (STARPU_MAJOR_VERSION > (major) || (STARPU_MAJOR_VERSION == (major) && STARPU_MINOR_VERSION >= (minor)))

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define UNUSED __attribute__((unused))

/* Before starpu_init: OpenCL is the library that ORR_TEST_OPENCL names (tests/opencl/shim.c), over four
 * devices that PoCL makes of this machine's cores, and that run functions for CPUs. */
UNUSED static void runtime_opencl_settings(void)
{
    setenv("ORRERY_OPENCL_LIBRARY", getenv("ORR_TEST_OPENCL"), 1);
    setenv("ORR_SHIM_ADDRESSES", "1", 1);
    setenv("STARPU_OPENCL_ONLY_ON_CPUS", "1", 1);
    setenv("POCL_DEVICES", "pthread pthread pthread pthread", 1);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
}

/* Where ORR_TEST_SIM, ORR_TEST_CUDA or ORR_TEST_OPENCL say so, which may be said together, devices take the
 * place of CPU workers, one each, kind by kind in turn; they run functions for CPUs (tests/double.sh,
 * tests/opencl/instead.sh, tests/simulated.sh). */
static inline void runtime_devices_instead(struct starpu_conf *conf)
{
    char text[16];
    const char *cuda = getenv("ORR_TEST_CUDA"), *opencl = getenv("ORR_TEST_OPENCL");
    int n = conf->ncpus, sim = 0,
        kinds = (getenv("ORR_TEST_SIM") != NULL) + (cuda != NULL) + (opencl != NULL);
    if (kinds == 0) return;
    conf->ncpus = 0;
    if (opencl) conf->nopencl = (n + kinds - 1) / kinds, n -= conf->nopencl, kinds--;
    if (cuda) conf->ncuda = (n + kinds - 1) / kinds, n -= conf->ncuda, kinds--;
    if (kinds > 0) sim = n;
    if (opencl) runtime_opencl_settings();
    if (cuda) {
        setenv("ORRERY_CUDA_LIBRARY", cuda, 1);
        setenv("ORR_DOUBLE_CUDA_DEVICES", "4", 1);
        setenv("ORR_DOUBLE_CUDA_RUN_CPU_FUNCS", "1", 1);
    }
    snprintf(text, sizeof text, "%d", sim);
    setenv("ORRERY_SIM_DEVICES", text, 1);
    setenv("ORRERY_SIM_TYPE", "hip", 1);
    /* a worker takes no second task while another could run it: tests wait for tasks that run together */
    setenv("STARPU_CUDA_PIPELINE", "0", 0);
    setenv("STARPU_OPENCL_PIPELINE", "0", 0);
    setenv("STARPU_HIP_PIPELINE", "0", 0);
}

/* Whether they are CPUs: then what a task wrote is in the program's memory without being brought there. */
UNUSED static bool runtime_on_cpus(void)
{
    return !getenv("ORR_TEST_SIM") && !getenv("ORR_TEST_CUDA") && !getenv("ORR_TEST_OPENCL");
}

/* Starts the runtime with CPU workers only; ends the program with a skip where it cannot have them. */
static inline void runtime_start(int cpus, const char *policy)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.ncuda = 0;
    conf.nopencl = 0;
    runtime_devices_instead(&conf);
    if (policy) conf.sched_policy_name = policy;
    conf.precedence_over_environment_variables = 1;
    int status = starpu_init(&conf);
    if (status == -ENODEV) skip_all("no CPU worker can be started here");
    if (status != 0) {
        printf("Bail out! starpu_init returned %d\n", status);
        exit(1);
    }
}

/* Ends the program with a skip unless it has this many workers. */
static inline void require_workers(unsigned count)
{
    if (starpu_worker_get_count() < count) {
        starpu_shutdown();
        skip_all("fewer workers than the test needs");
    }
}

/* A task that enters a gate occupies its worker until the gate is opened. */
struct gate {
    atomic_int entered;
    atomic_int open;
};

static inline void gate_pass(struct gate *gate)
{
    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->open)) sched_yield();
}

static inline void gate_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
}

UNUSED static struct starpu_codelet gate_cl = {
    .cpu_funcs = { gate_func },
    .cpu_funcs_name = { "gate_func" },
    .nbuffers = 0,
    .name = "gate",
};

/* Submits a task that waits in the gate; on the given worker, or on any with -1. */
static inline void gate_submit(struct gate *gate, int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &gate_cl;
    task->cl_arg = gate;
    if (worker >= 0) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)worker;
    }
    if (starpu_task_submit(task) != 0) {
        printf("Bail out! the gate's task was refused\n");
        exit(1);
    }
}

static inline void gate_wait_entered(struct gate *gate, int tasks)
{
    starpu_do_schedule(); /* this thread waits outside of the runtime: there are policies that have to know */
    while (atomic_load(&gate->entered) < tasks) sched_yield();
}

static inline void gate_open(struct gate *gate)
{
    atomic_store(&gate->open, 1);
}

/* Holds the given worker (or any with -1) in the gate: returns when it is in. */
static inline void gate_close(struct gate *gate, int worker)
{
    atomic_store(&gate->entered, 0);
    atomic_store(&gate->open, 0);
    gate_submit(gate, worker);
    gate_wait_entered(gate, 1);
}

/* Waits until no task is ready or running but those that are held in gates, so many: what else was submitted
 * waits for something. For facts about what does not happen. */
static inline void rest_but(int held)
{
    if (held == 0) starpu_task_wait_for_no_ready();
    while (starpu_task_nready() > held) sched_yield();
}

/* Waits until *value is at least want, at most the given time; returns whether it came to that. */
static inline int comes_to(atomic_int *value, int want, int milliseconds)
{
    for (int i = 0; i < milliseconds * 10 && atomic_load(value) < want; i++) usleep(100);
    return atomic_load(value) >= want;
}

/* Makes *value at least now. Any thread. */
UNUSED static void raise_to(atomic_int *value, int now)
{
    int most = atomic_load(value);
    while (now > most && !atomic_compare_exchange_weak(value, &most, now)) continue;
}

/* splitmix64: the same numbers on every machine. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static inline unsigned random_below(uint64_t *state, unsigned bound)
{
    return (unsigned)(random_next(state) % bound);
}

#endif
