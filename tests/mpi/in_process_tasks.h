/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks on 64-bit variables, for programs on whole ranks in one process.
 * Threads: workers. Owns: the codelets. Not here: the ranks (in_process.h), what is computed with them.
 */
#ifndef ORR_TESTS_IN_PROCESS_TASKS_H
#define ORR_TESTS_IN_PROCESS_TASKS_H

#include <starpu.h>
#include <stdint.h>

/* to = to * 3 + from + step */
static void mix(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    int step;
    starpu_codelet_unpack_args(arg, &step);
    *to = *to * 3 + *from + (uint64_t)step;
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

static void zero(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero }, .nbuffers = 1, .modes = { STARPU_W }, .name = "zero"
};

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add }, .nbuffers = 2, .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R }, .name = "add"
};

static void contribute(void *buffers[], void *arg)
{
    int value;
    starpu_codelet_unpack_args(arg, &value);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (uint64_t)value;
}
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { contribute }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "contribute"
};

#endif
