/* SPDX-License-Identifier: BSD-3-Clause */
/* gemm.cl: c += a * b for tiles that lie in larger matrices: each begins offset bytes into its buffer, and its
 * columns are ld elements apart. */
__kernel void gemm(__global const char *a_buffer, ulong a_offset, uint lda, __global const char *b_buffer,
                   ulong b_offset, uint ldb, __global char *c_buffer, ulong c_offset, uint ldc, uint inner)
{
    __global const float *a = (__global const float *)(a_buffer + a_offset);
    __global const float *b = (__global const float *)(b_buffer + b_offset);
    __global float *c = (__global float *)(c_buffer + c_offset);
    size_t i = get_global_id(0), j = get_global_id(1);
    float sum = c[i + j * ldc];
    for (uint k = 0; k < inner; k++) sum += a[i + k * lda] * b[k + j * ldb];
    c[i + j * ldc] = sum;
}
