/* SPDX-License-Identifier: BSD-3-Clause */
/* spmv_kernel.h: the codelet that multiplies a block of rows of a sparse matrix by a vector: y = A * x.
 * buffers: the block (CSR), the whole of x, the block's part of y.
 * Threads: task bodies. Owns: the codelet. Not here: the matrix (poisson.h). */
#ifndef EXAMPLES_SPMV_KERNEL_H
#define EXAMPLES_SPMV_KERNEL_H

#include "devices.h"

/* Rows begin at entries counted from the start of the whole matrix, of which the block has those from `first`
 * on. */
static void spmv_cpu(void *buffers[], void *args)
{
    const double *value = (const double *)STARPU_CSR_GET_NZVAL(buffers[0]),
                 *x = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]);
    const uint32_t *column = STARPU_CSR_GET_COLIND(buffers[0]), *begin = STARPU_CSR_GET_ROWPTR(buffers[0]);
    uint32_t rows = STARPU_CSR_GET_NROW(buffers[0]), first = STARPU_CSR_GET_FIRSTENTRY(buffers[0]);
    double *y = (double *)STARPU_VECTOR_GET_PTR(buffers[2]);
    (void)args;
    for (uint32_t row = 0; row < rows; row++) {
        double sum = 0;
        for (uint32_t k = begin[row] - first; k < begin[row + 1] - first; k++) sum += value[k] * x[column[k]];
        y[row] = sum;
    }
}

#ifdef STARPU_USE_OPENCL
static void spmv_opencl(void *buffers[], void *args)
{
    cl_mem value = (cl_mem)STARPU_CSR_GET_NZVAL_DEV_HANDLE(buffers[0]),
           column = (cl_mem)STARPU_CSR_GET_COLIND_DEV_HANDLE(buffers[0]),
           begin = (cl_mem)STARPU_CSR_GET_ROWPTR_DEV_HANDLE(buffers[0]),
           x = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]),
           y = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[2]);
    cl_uint first = STARPU_CSR_GET_FIRSTENTRY(buffers[0]);
    cl_ulong x_offset = STARPU_VECTOR_GET_OFFSET(buffers[1]), y_offset = STARPU_VECTOR_GET_OFFSET(buffers[2]);
    size_t rows = STARPU_CSR_GET_NROW(buffers[0]);
    (void)args;
    START_OPENCL("spmv", 1, &rows, ARG(value), ARG(column), ARG(begin), ARG(first), ARG(x), ARG(x_offset),
                 ARG(y), ARG(y_offset));
}
#endif

#ifdef WITH_CUDA_KERNELS
void spmv_cuda(void *buffers[], void *args); /* sparse.cu */
#endif

static struct starpu_codelet spmv = {
    .cpu_funcs = { spmv_cpu },
    OPENCL_FUNCTION(spmv_opencl) CUDA_FUNCTION(spmv_cuda).nbuffers = 3,
    .modes = { STARPU_R, STARPU_R, STARPU_W },
    .model = &(struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED, .symbol = "example_spmv" },
    .name = "spmv",
};

#endif
