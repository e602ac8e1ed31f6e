/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the policy heteroprio: the order in which CPU workers look at buckets, and what slow
 * workers leave to fast ones (a simulated device). Threads: main submits; one worker of each kind executes.
 * Owns: the order of execution. Not here: what every policy must do (policies.c).
 */
#include <starpu_heteroprio.h>

#include "tests/core/sim_helper.h"

static int order[16];
static atomic_int executed;
static void note_func(void *buffers[] UNUSED, void *arg)
{
    order[atomic_fetch_add(&executed, 1)] = (int)(intptr_t)arg;
}
static struct starpu_codelet note_cl = { .cpu_funcs = { note_func }, .name = "note" };

static void two_then_zero_then_one(unsigned context)
{
    starpu_heteroprio_set_nb_prios(context, STARPU_CPU_WORKER, 3);
    starpu_heteroprio_set_mapping(context, STARPU_CPU_WORKER, 0, 2);
    starpu_heteroprio_set_mapping(context, STARPU_CPU_WORKER, 1, 0);
    starpu_heteroprio_set_mapping(context, STARPU_CPU_WORKER, 2, 1);
    starpu_heteroprio_set_faster_arch(context, STARPU_CUDA_WORKER, 1); /* of which there is none */
    starpu_heteroprio_set_arch_slow_factor(context, STARPU_CPU_WORKER, 1, 10);
    starpu_heteroprio_set_mapping(context, STARPU_CPU_WORKER, 0, STARPU_HETEROPRIO_BUCKETS); /* refused */
}

static atomic_int on_cpu, on_device;
static void place_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    bool cpu = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
    atomic_fetch_add(cpu ? &on_cpu : &on_device, 1);
    usleep(500);
}
static struct starpu_codelet place_cl = { .cpu_funcs = { place_func },
                                          .cuda_funcs = { place_func },
                                          .name = "place" };
static struct starpu_codelet cpu_only_cl = { .cpu_funcs = { place_func }, .name = "cpu_only" };

static float slow_factor;
static void device_is_faster(unsigned context)
{
    starpu_heteroprio_set_nb_prios(context, STARPU_CPU_WORKER, 1);
    starpu_heteroprio_set_nb_prios(context, STARPU_CUDA_WORKER, 1);
    starpu_heteroprio_set_faster_arch(context, STARPU_CUDA_WORKER, 0);
    starpu_heteroprio_set_arch_slow_factor(context, STARPU_CPU_WORKER, 0, slow_factor);
}

/* Runs tasks on a CPU and a simulated device; on_cpu and on_device say where. */
static int run_beside_device(struct starpu_codelet *cl, int tasks, float factor)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.sched_policy_name = "heteroprio";
    conf.sched_policy_init = device_is_faster;
    conf.precedence_over_environment_variables = 1;
    slow_factor = factor;
    atomic_store(&on_cpu, 0);
    atomic_store(&on_device, 0);
    setenv("ORRERY_SIM_DEVICES", "1", 1);
    setenv("ORRERY_SIM_RUN_CPU_FUNCS", "0", 1);
    sim_stand_ins();
    int status = starpu_init(&conf);
    unsetenv("ORRERY_SIM_DEVICES");
    if (status != 0) return status;
    for (int i = 0; i < tasks; i++) status |= starpu_task_insert(cl, 0);
    starpu_task_wait_for_all();
    starpu_shutdown();
    return status;
}

static void fast_and_slow(void)
{
    int status = run_beside_device(&place_cl, 20, 1000);
    ok(all_of(status == 0, atomic_load(&on_device) == 20),
       "a much slower kind leaves its tasks to the fast one");
    status = run_beside_device(&place_cl, 40, 2);
    ok(all_of(status == 0, atomic_load(&on_cpu) > 0, atomic_load(&on_cpu) + atomic_load(&on_device) == 40),
       "a kind a bit slower takes some while many wait: %d of 40", atomic_load(&on_cpu));
    status = run_beside_device(&cpu_only_cl, 5, 1000);
    is_int(status, 0, "tasks for the slow kind alone are accepted");
    is_int(atomic_load(&on_cpu), 5, "and it takes what the fast one cannot run");
}

int main(void)
{
    alarm(30);
    fast_and_slow();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.sched_policy_name = "heteroprio";
    conf.sched_policy_init = two_then_zero_then_one;
    conf.precedence_over_environment_variables = 1;
    int status = starpu_init(&conf);
    if (status == -ENODEV) skip_all("no CPU worker can be started here");
    is_int(status, 0, "the runtime starts with the policy heteroprio and its settings");

    struct gate gate;
    memset(&gate, 0, sizeof gate);
    gate_submit(&gate, 0);
    gate_wait_entered(&gate, 1);
    for (int i = 0; i < 9; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &note_cl;
        task->cl_arg = (void *)(intptr_t)i;
        task->priority = i % 3;
        status |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    static const int want[9] = { 2, 5, 8, 0, 3, 6, 1, 4, 7 };
    ok(all_of(status == 0, memcmp(order, want, sizeof want) == 0),
       "buckets are served in the order given, each first in first out");
    starpu_shutdown();
    return done_testing();
}
