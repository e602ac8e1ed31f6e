/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels for OpenCL devices: plain loops, one work-item for an element or a row. For speed, call a BLAS
 * that is tuned for the device here. Threads: the functions run on workers. Owns: the program. Not here: CUDA
 * (kernels_cuda.c). */
#include "kernels.h"
#include "kernels_devices.h"

#include <stdio.h>

#ifdef STARPU_USE_OPENCL

static struct starpu_opencl_program program;

static const char source[] =
    "#define AT(buffer, offset) (__global double *)((__global char *)(buffer) + offset)\n"
    /* a = a * inverse(transposed l) */
    "__kernel void trsm(__global double *l_buffer, ulong l_offset, uint l_ld, __global double *a_buffer,\n"
    "                   ulong a_offset, uint a_ld, uint columns)\n"
    "{\n"
    "    __global const double *l = AT(l_buffer, l_offset);\n"
    "    __global double *a = AT(a_buffer, a_offset) + get_global_id(0);\n"
    "    for (uint j = 0; j < columns; j++) {\n"
    "        double sum = a[j * a_ld];\n"
    "        for (uint k = 0; k < j; k++) sum -= a[k * a_ld] * l[j + k * l_ld];\n"
    "        a[j * a_ld] = sum / l[j + j * l_ld];\n"
    "    }\n"
    "}\n"
    /* c -= a * transposed b; of a symmetric c its lower half */
    "__kernel void product(__global double *a_buffer, ulong a_offset, uint a_ld, __global double *b_buffer,\n"
    "                      ulong b_offset, uint b_ld, __global double *c_buffer, ulong c_offset, uint c_ld,\n"
    "                      uint inner, int is_symmetric)\n"
    "{\n"
    "    size_t i = get_global_id(0), j = get_global_id(1);\n"
    "    if (is_symmetric && i < j) return;\n"
    "    __global const double *a = AT(a_buffer, a_offset) + i, *b = AT(b_buffer, b_offset) + j;\n"
    "    __global double *c = AT(c_buffer, c_offset) + i + j * c_ld;\n"
    "    double sum = *c;\n"
    "    for (uint k = 0; k < inner; k++) sum -= a[k * a_ld] * b[k * b_ld];\n"
    "    *c = sum;\n"
    "}\n";

/* A tile, as a kernel gets it. */
struct tile {
    cl_mem buffer;
    cl_ulong offset;
    cl_uint ld;
};

static struct tile tile_of(void *buffer)
{
    return (struct tile){ .buffer = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffer),
                          .offset = STARPU_MATRIX_GET_OFFSET(buffer),
                          .ld = (cl_uint)STARPU_MATRIX_GET_LD(buffer) };
}

#define ARG(variable) sizeof(variable), &(variable)
#define TILE(tile) ARG((tile).buffer), ARG((tile).offset), ARG((tile).ld)

static cl_kernel kernel_begin(const char *name, cl_command_queue *queue_out)
{
    cl_kernel kernel;
    cl_int status = starpu_opencl_load_kernel(&kernel, queue_out, &program, name,
                                              starpu_worker_get_devid(starpu_worker_get_id()));
    if (status != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(status);
    return kernel;
}

static void kernel_end(cl_kernel kernel, cl_command_queue queue, cl_int status, cl_uint dims,
                       const size_t *sizes)
{
    if (status == CL_SUCCESS)
        status = clEnqueueNDRangeKernel(queue, kernel, dims, NULL, sizes, NULL, 0, NULL, NULL);
    if (status != CL_SUCCESS) STARPU_OPENCL_REPORT_ERROR(status);
    starpu_opencl_release_kernel(kernel);
    kernels_count_task();
}

void opencl_trsm(void *buffers[], void *args)
{
    struct tile l = tile_of(buffers[0]), a = tile_of(buffers[1]);
    size_t rows = STARPU_MATRIX_GET_NX(buffers[1]);
    cl_uint columns = (cl_uint)STARPU_MATRIX_GET_NY(buffers[1]);
    cl_command_queue queue;
    cl_int status;
    (void)args;
    cl_kernel kernel = kernel_begin("trsm", &queue);
    starpu_opencl_set_kernel_args(&status, &kernel, TILE(l), TILE(a), ARG(columns), (size_t)0);
    kernel_end(kernel, queue, status, 1, &rows);
}

/* c -= a * transposed b */
static void product(void *a_buffer, void *b_buffer, void *c_buffer, cl_int is_symmetric)
{
    struct tile a = tile_of(a_buffer), b = tile_of(b_buffer), c = tile_of(c_buffer);
    size_t sizes[2] = { STARPU_MATRIX_GET_NX(c_buffer), STARPU_MATRIX_GET_NY(c_buffer) };
    cl_uint inner = (cl_uint)STARPU_MATRIX_GET_NY(a_buffer);
    cl_command_queue queue;
    cl_int status;
    cl_kernel kernel = kernel_begin("product", &queue);
    starpu_opencl_set_kernel_args(&status, &kernel, TILE(a), TILE(b), TILE(c), ARG(inner), ARG(is_symmetric),
                                  (size_t)0);
    kernel_end(kernel, queue, status, 2, sizes);
}

void opencl_syrk(void *buffers[], void *args)
{
    (void)args;
    product(buffers[0], buffers[0], buffers[1], 1);
}

void opencl_gemm(void *buffers[], void *args)
{
    (void)args;
    product(buffers[0], buffers[1], buffers[2], 0);
}

static int opencl_open(void)
{
    if (starpu_opencl_worker_get_count() == 0) return 0;
    cl_int status = starpu_opencl_load_opencl_from_string(source, &program, NULL);
    if (status == CL_SUCCESS) return 0;
    fprintf(stderr, "mpi_cholesky: its OpenCL kernels were not built (%s); STARPU_NOPENCL=0 does without\n",
            starpu_opencl_error_string(status));
    return -1;
}

static void opencl_close(void)
{
    if (starpu_opencl_worker_get_count() > 0) starpu_opencl_unload_opencl(&program);
}

#else

static int opencl_open(void)
{
    return 0;
}

static void opencl_close(void)
{
}

#endif

int kernels_devices_open(void)
{
#ifdef WITH_CUDA_KERNELS
    starpu_cublas_init();
#endif
    return opencl_open();
}

void kernels_devices_close(void)
{
    opencl_close();
#ifdef WITH_CUDA_KERNELS
    starpu_cublas_shutdown();
#endif
}
