/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver on a double of CUDA's driver library: what runs, where, and that nothing is left behind.
 * Threads: main and the workers. Owns: the data of each case. Not here: what fails (cuda_faults.c).
 */
#include "tests/core/cuda_helper.h"

enum { N = 1000, TASKS = 20 };

/* ---- a vector, scaled ---- */

struct scale {
    float *at, factor;
    unsigned n;
};

static void scale_kernel(void *arg)
{
    struct scale *s = arg;
    for (unsigned i = 0; i < s->n; i++) s->at[i] *= s->factor;
}

static void scale_func(void *buffers[], void *arg)
{
    struct scale s = { .at = (float *)STARPU_VECTOR_GET_PTR(buffers[0]),
                       .n = STARPU_VECTOR_GET_NX(buffers[0]) };
    starpu_codelet_unpack_args(arg, &s.factor);
    cuda_launch(scale_kernel, &s, sizeof s);
}
static struct starpu_codelet scale_cl = {
    .cuda_funcs = { scale_func },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "scale",
};

static void fill(float *v)
{
    for (int i = 0; i < N; i++) v[i] = (float)i;
}

static int wrong(const float *v, float factor)
{
    int count = 0;
    for (int i = 0; i < N; i++) count += v[i] != (float)i * factor;
    return count;
}

static void vector(void)
{
    float v[N], two = 2;
    int failed = 0;
    starpu_data_handle_t h;
    fill(v);
    cuda_start(1, NULL);
    is_int(starpu_cuda_worker_get_count(), 2, "the double has two devices, with a worker each");
    is_int(starpu_memory_nodes_get_count(), 3, "and a memory each");
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof *v);
    for (int i = 0; i < TASKS; i++)
        failed |= starpu_task_insert(&scale_cl, STARPU_RW, h, STARPU_VALUE, &two, sizeof two,
                                     STARPU_EXECUTE_ON_WORKER, cuda_worker(i / 5 % 2), 0);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(h);
    is_int(failed ? -1 : wrong(v, (float)(1 << TASKS)), 0,
           "%d asynchronous kernels on two devices in turn scale a vector", TASKS);
    starpu_shutdown();
    is_int(cuda_double.left(), 0, "at the end nothing is left of contexts, streams, events and memory");
}

int main(void)
{
    vector();
    return done_testing();
}
