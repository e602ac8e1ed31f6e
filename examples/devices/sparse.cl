/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.cl: kernels of the examples of sparse matrices. Vectors begin an offset in bytes into their buffer. */
__kernel void spmv(__global const double *value, __global const uint *column, __global const uint *begin, uint first,
                   __global const char *x_buffer, ulong x_offset, __global char *y_buffer, ulong y_offset)
{
    __global const double *x = (__global const double *)(x_buffer + x_offset);
    size_t row = get_global_id(0);
    double sum = 0;
    for (uint k = begin[row] - first; k < begin[row + 1] - first; k++) sum += value[k] * x[column[k]];
    ((__global double *)(y_buffer + y_offset))[row] = sum;
}

/* y = a * x + b * y */
__kernel void axpby(__global const char *x_buffer, ulong x_offset, __global char *y_buffer, ulong y_offset, double a,
                    double b)
{
    __global const double *x = (__global const double *)(x_buffer + x_offset);
    __global double *y = (__global double *)(y_buffer + y_offset);
    size_t k = get_global_id(0);
    y[k] = a * x[k] + b * y[k];
}
