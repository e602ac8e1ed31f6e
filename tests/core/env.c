/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonsense in every environment variable: one line that names it, and a runtime that works, or an error from
 * init. Threads: each variable in a child of its own. Owns: nothing. Not here: what the variables do (the
 * tests of their users), what struct starpu_conf takes (tests/core/misuse_init.c).
 */
#include "tests/core/misuse.h"

/* A variable, and another setting that makes the runtime read it. */
static const struct {
    const char *name, *with;
    bool is_text; /* anything goes: nothing needs to be said */
} variables[] = {
    { "STARPU_NCPU", NULL, false },
    { "STARPU_NCPUS", NULL, false },
    { "STARPU_RESERVE_NCPU", NULL, false },
    { "STARPU_NCUDA", "ORRERY_SIM_DEVICES=1", false },
    { "STARPU_NOPENCL", "ORRERY_SIM_DEVICES=1 ORRERY_SIM_TYPE=opencl", false },
    { "STARPU_NHIP", "ORRERY_SIM_DEVICES=1 ORRERY_SIM_TYPE=hip", false },
    { "STARPU_HIP_PIPELINE", "ORRERY_SIM_DEVICES=1 ORRERY_SIM_TYPE=hip", false },
    { "STARPU_PERF_MODEL_HOMOGENEOUS_HIP", "ORRERY_SIM_DEVICES=1 ORRERY_SIM_TYPE=hip", false },
    { "ORRERY_NMINI", NULL, false },
    { "STARPU_WORKERS_NOBIND", NULL, false },
    { "STARPU_WORKERS_CPUID", NULL, false },
    { "STARPU_WORKERS_COREID", NULL, false },
    { "STARPU_SCHED", NULL, false },
    { "STARPU_SCHED_ALPHA", "STARPU_SCHED=dmda", false },
    { "STARPU_SCHED_BETA", "STARPU_SCHED=dmda", false },
    { "STARPU_SCHED_GAMMA", "STARPU_SCHED=dmda", false },
    { "STARPU_IDLE_POWER", "STARPU_SCHED=dmda", false },
    { "STARPU_CALIBRATE", NULL, false },
    { "STARPU_CALIBRATE_MINIMUM", NULL, false },
    { "STARPU_HISTORY_MAX_ERROR", NULL, false },
    { "STARPU_PERF_MODEL_HOMOGENEOUS_CPU", NULL, false },
    { "STARPU_PERF_MODEL_HOMOGENEOUS_CUDA", "ORRERY_SIM_DEVICES=1", false },
    { "STARPU_PERF_MODEL_HOMOGENEOUS_OPENCL", "ORRERY_SIM_DEVICES=1 ORRERY_SIM_TYPE=opencl", false },
    { "STARPU_PERF_MODEL_DIR", NULL, true },
    { "STARPU_PERF_MODEL_PATH", NULL, true },
    { "STARPU_HOME", NULL, true },
    { "STARPU_HOSTNAME", NULL, true },
    { "HOME", NULL, true },
    { "STARPU_LIMIT_CPU_MEM", NULL, false },
    { "STARPU_LIMIT_CPU_NUMA_MEM", NULL, false },
    { "STARPU_LIMIT_CPU_NUMA_0_MEM", NULL, false },
    { "STARPU_LIMIT_BANDWIDTH", "STARPU_SCHED=dmda ORRERY_SIM_DEVICES=1", false },
    { "STARPU_LIMIT_MAX_SUBMITTED_TASKS", NULL, false },
    { "STARPU_LIMIT_MIN_SUBMITTED_TASKS", NULL, false },
    { "STARPU_PREFETCH", "STARPU_SCHED=dmda ORRERY_SIM_DEVICES=1", false },
    { "STARPU_CUDA_PIPELINE", "ORRERY_SIM_DEVICES=1", false },
    { "STARPU_OPENCL_PIPELINE", "ORRERY_SIM_DEVICES=1 ORRERY_SIM_TYPE=opencl", false },
    { "STARPU_PROFILING", NULL, false },
    { "STARPU_WORKER_STATS", NULL, false },
    { "STARPU_BUS_STATS", NULL, false },
    { "STARPU_TASK_BREAK_ON_SCHED", NULL, false },
    { "STARPU_SILENT", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_CUDA_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_HIP_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_OPENCL_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_MAX_FPGA_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_SYCL_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_MPI_SC_COPY", NULL, false },
    { "STARPU_DISABLE_ASYNCHRONOUS_TCPIP_SC_COPY", NULL, false },
    { "ORRERY_VERBOSE", NULL, false },
    { "ORRERY_ON_DEADLOCK", NULL, false },
    { "ORRERY_SIM_DEVICES", NULL, false },
    { "ORRERY_SIM_TYPE", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_MEM_MB", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_BANDWIDTH_MB_S", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_LATENCY_US", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_SPEED", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_KERNEL_US", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_RUN_CPU_FUNCS", "ORRERY_SIM_DEVICES=2", false },
    { "ORRERY_SIM_PEERS", "ORRERY_SIM_DEVICES=2", false },
};

static const char *const nonsense[] = { "nonsense", "-17",   "99999999999999999999999",
                                        "%s%n%n",   "1 2 x", "\xff\xfe" };

static const char *now_name, *now_value, *now_with;

/* A codelet with a model, so that models' settings are read; and what is otherwise only read when it is
 * needed. */
static bool run_with_model(void)
{
    static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "env_test" };
    static struct starpu_codelet cl = { .cpu_funcs = { misuse_count_func },
                                        .model = &model,
                                        .name = "env_test" };
    struct starpu_task *task = starpu_task_create();
    starpu_sched_task_break(task);
    starpu_task_destroy(task);
    starpu_transfer_bandwidth(STARPU_MAIN_RAM, 1);
    for (int i = 0; i < 4; i++)
        if (starpu_task_insert(&cl, 0) != 0) return false;
    return runtime_works();
}

static bool start(void)
{
    char with[128], *rest = with;
    snprintf(with, sizeof with, "%s", now_with ? now_with : "");
    for (char *word; (word = strsep(&rest, " =")) != NULL && rest;) setenv(word, strsep(&rest, " "), 1);
    setenv(now_name, now_value, 1);
    int r = starpu_init(NULL);
    if (r > 0) return returns(r, 0);
    if (r == 0) return run_with_model();
    unsetenv(now_name);
    return runtime_up() && runtime_works();
}

static bool names(const struct outcome *o, const char *name)
{
    return strstr(o->said, name) != NULL;
}

static void check_variable(size_t i)
{
    int bad = 0;
    now_name = variables[i].name;
    now_with = variables[i].with;
    static struct trial trials[LENGTH(nonsense)];
    for (size_t k = 0; k < LENGTH(nonsense); k++) {
        now_value = nonsense[k];
        trials[k] = misuse_begin(&(struct misuse){ now_name, start, 0 });
    }
    for (size_t k = 0; k < LENGTH(nonsense); k++) {
        const struct outcome *o = &trials[k].o;
        misuse_end(&trials[k]);
        bool ended = WIFEXITED(o->status) && WEXITSTATUS(o->status) == AS_DOCUMENTED;
        bool said = variables[i].is_text || (names(o, nonsense[k]) && o->lines == 1);
        if (ended && said) continue;
        bad++;
        diag("%s=%s: %s, with %d lines said", now_name, nonsense[k], outcome_text(o->status), o->lines);
        outcome_show(o);
    }
    ok(bad == 0, "%s: nonsense is %s", now_name, variables[i].is_text ? "harmless" : "said once");
}

int main(void)
{
    char folder[] = "/tmp/orrery-env-XXXXXX", command[64];
    if (!mkdtemp(folder)) skip_all("no folder for performance models can be made");
    setenv("STARPU_PERF_MODEL_DIR", folder, 1);
    if (chdir(folder) != 0) skip_all("the folder for performance models cannot be used");
    for (size_t i = 0; i < LENGTH(variables); i++) check_variable(i);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ok(system(command) == 0, "what the runs left is removed");
    return done_testing();
}
