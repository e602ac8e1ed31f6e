/* SPDX-License-Identifier: BSD-3-Clause */
/* decision: what it costs a policy to choose a worker for a ready task, by the number of workers.
 * Threads: main submits while all workers are paused, so only its own work is counted, in CPU time of the
 * thread. Owns: a model, in a folder of its own. Not here: how good the choice is (schedules.c).
 *
 * The same tasks are submitted under the policy and under eager, which chooses nothing; the difference of the
 * medians is the decision. Machines: 2, 8, 16 and 64 workers of one kind, and 64 of four kinds (three
 * simulated devices). -s policy (dmda) -n tasks -r repeats */
#include <starpu.h>

#include "measure.h"

enum { MEASURES = 12 };

static void nothing(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "bench_decision" };
static struct starpu_codelet codelet = {
    .cpu_funcs = { nothing }, .cuda_funcs = { nothing }, .nbuffers = 0, .model = &model, .name = "nothing"
};

static void submit(int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    task->execute_on_a_specific_worker = worker >= 0;
    if (worker >= 0) task->workerid = (unsigned)worker;
    if (starpu_task_submit(task) != 0) exit(EXIT_FAILURE);
}

static void start(int cpus, int devices, const char *policy, int calibrate)
{
    struct starpu_conf conf;
    char number[16];
    starpu_conf_init(&conf);
    snprintf(number, sizeof number, "%d", devices);
    setenv("ORRERY_SIM_DEVICES", number, 1);
    conf.ncpus = cpus;
    conf.ncuda = devices;
    conf.nopencl = 0;
    conf.sched_policy_name = policy;
    conf.calibrate = calibrate;
    if (starpu_init(&conf) != 0) exit(EXIT_FAILURE);
}

/* CPU time of submitting one task, in us. */
static double submission_us(int cpus, int devices, const char *policy, long tasks, int repeats)
{
    double us[SAMPLES_MAX];
    start(cpus, devices, policy, 0);
    for (int k = -1; k < repeats; k++) { /* the first one warms up */
        starpu_pause();
        double begin = thread_seconds();
        for (long i = 0; i < tasks; i++) submit(-1);
        double seconds = thread_seconds() - begin;
        starpu_resume();
        starpu_task_wait_for_all();
        if (k >= 0) us[k] = seconds / (double)tasks * 1e6;
    }
    starpu_shutdown();
    return median(us, repeats);
}

static void calibrate(int cpus, int devices)
{
    start(cpus, devices, "eager", 1);
    for (int d = 0; d <= devices; d++)
        for (int n = 0; n < MEASURES; n++)
            submit(d == 0 ? starpu_worker_get_by_type(STARPU_CPU_WORKER, 0)
                          : starpu_worker_get_by_type(STARPU_CUDA_WORKER, d - 1));
    starpu_task_wait_for_all();
    starpu_shutdown();
}

int main(int argc, char **argv)
{
    static const struct {
        int cpus, devices;
    } machines[] = { { 2, 0 }, { 8, 0 }, { 16, 0 }, { 64, 0 }, { 61, 3 } };
    const char *policy = option_text(argc, argv, "-s", "dmda");
    long tasks = option_number(argc, argv, "-n", 10000);
    int repeats = option_repeats(argc, argv);
    char home[] = "/tmp/orrery-decision-XXXXXX", command[64];
    if (!mkdtemp(home)) return EXIT_FAILURE;
    setenv("STARPU_HOME", home, 1);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    calibrate(1, 3);
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        int cpus = machines[m].cpus, devices = machines[m].devices;
        double with = submission_us(cpus, devices, policy, tasks, repeats);
        double without = submission_us(cpus, devices, "eager", tasks, repeats);
        printf("decision policy=%s workers=%d kinds=%d submit_us=%.3f eager_us=%.3f decision_us=%.3f ok\n",
               policy, cpus + devices, 1 + devices, with, without, with - without);
        fflush(stdout);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
