/* SPDX-License-Identifier: BSD-3-Clause */
/* scale shows one codelet with an implementation for each kind of device: a vector in pieces, each scaled
 * wherever the scheduler finds it best (STARPU_SCHED=dmda measures that).
 * Threads: main inserts; workers run the tasks.
 * Expected output:
 *   x[0] = 7, x[99999] = 600001; right */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "devices.h"

enum { LENGTH = 100000, PIECES = 20 };

static void scale_cpu(void *buffers[], void *args)
{
    double *x = (double *)STARPU_VECTOR_GET_PTR(buffers[0]), factor, shift;
    size_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    starpu_codelet_unpack_args(args, &factor, &shift);
    for (size_t k = 0; k < length; k++) x[k] = factor * x[k] + shift;
}

#ifdef STARPU_USE_OPENCL
static void scale_opencl(void *buffers[], void *args)
{
    cl_mem x = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
    cl_ulong offset = STARPU_VECTOR_GET_OFFSET(buffers[0]);
    size_t length = STARPU_VECTOR_GET_NX(buffers[0]);
    double factor, shift;
    starpu_codelet_unpack_args(args, &factor, &shift);
    START_OPENCL("scale", 1, &length, ARG(x), ARG(offset), ARG(factor), ARG(shift));
}
#endif

#ifdef WITH_CUDA_KERNELS
void scale_cuda(void *buffers[], void *args); /* scale.cu */
#endif

static struct starpu_perfmodel scale_model = { .type = STARPU_HISTORY_BASED, .symbol = "example_scale" };

static struct starpu_codelet scale_codelet = {
    .cpu_funcs = { scale_cpu },
    OPENCL_FUNCTION(scale_opencl) CUDA_FUNCTION(scale_cuda).nbuffers = 1,
    .modes = { STARPU_RW },
    .model = &scale_model,
    .name = "scale",
};

static int insert_scale(starpu_data_handle_t piece, double factor, double shift)
{
    return starpu_task_insert(&scale_codelet, STARPU_RW, piece, STARPU_VALUE, &factor, sizeof factor,
                              STARPU_VALUE, &shift, sizeof shift, 0);
}

int main(void)
{
    static double x[LENGTH];
    starpu_data_handle_t handle;
    struct starpu_data_filter pieces = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    int error = 0, is_right = 1;
    if (starpu_init(NULL)) {
        fprintf(stderr, "scale: the runtime did not start\n");
        return 77;
    }
    if (devices_open("examples/devices/scale.cl")) return EXIT_FAILURE;
    for (int k = 0; k < LENGTH; k++) x[k] = k;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, LENGTH, sizeof *x);
    starpu_data_partition(handle, &pieces);
    for (unsigned i = 0; i < PIECES; i++) {
        starpu_data_handle_t piece = starpu_data_get_sub_data(handle, 1, i);
        error |= insert_scale(piece, 2.0, 3.0);
        error |= insert_scale(piece, 3.0, -2.0);
    }
    starpu_data_unpartition(handle, STARPU_MAIN_RAM); /* the pieces are the vector again, in main memory */
    starpu_data_unregister(handle);
    for (int k = 0; k < LENGTH; k++) is_right &= x[k] == 3.0 * (2.0 * k + 3.0) - 2.0;
    printf("x[0] = %g, x[%d] = %.0f; %s\n", x[0], LENGTH - 1, x[LENGTH - 1], is_right ? "right" : "WRONG");
    devices_close();
    starpu_shutdown();
    return error || !is_right;
}
