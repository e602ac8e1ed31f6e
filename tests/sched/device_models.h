/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of time and energy that say what a test wants: one number for CPU workers, one for the simulated
 * device; implementation 1 takes half the time. Threads: main writes, whoever asks a model reads. Owns: the
 * numbers. Not here: the cases (dm_devices.c, components_devices.c).
 */
#ifndef ORR_TESTS_SCHED_DEVICE_MODELS_H
#define ORR_TESTS_SCHED_DEVICE_MODELS_H

#include "tests/helper.h"

enum { CPU_TIME, CUDA_TIME, CPU_JOULES, CUDA_JOULES, NUMBERS };
static double number[NUMBERS]; /* what the models say; written while no task is under way */

static double time_cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
    double us = number[arch->devices[0].type == STARPU_CPU_WORKER ? CPU_TIME : CUDA_TIME];
    return nimpl == 1 ? us / 2 : us;
}
static double energy_cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch,
                          unsigned nimpl UNUSED)
{
    return number[arch->devices[0].type == STARPU_CPU_WORKER ? CPU_JOULES : CUDA_JOULES];
}
static struct starpu_perfmodel time_model = { .type = STARPU_PER_ARCH, .arch_cost_function = time_cost };
UNUSED static struct starpu_perfmodel energy_model = { .type = STARPU_PER_ARCH,
                                                       .arch_cost_function = energy_cost };

#endif
