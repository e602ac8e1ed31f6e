/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the policy heteroprio: the order in which CPU workers look at buckets.
 * Threads: main submits; one worker executes. Owns: the order of execution.
 * Not here: what every policy must do (policies.c).
 */
#include <starpu_heteroprio.h>

#include "tests/helper.h"

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

int main(void)
{
    alarm(30);
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
    ok(status == 0 && memcmp(order, want, sizeof want) == 0,
       "buckets are served in the order given, each first in first out");
    starpu_shutdown();
    return done_testing();
}
