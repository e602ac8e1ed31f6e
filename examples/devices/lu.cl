/* SPDX-License-Identifier: BSD-3-Clause */
/* lu.cl: c -= a * b for contiguous tiles of n * n. */
__kernel void update(__global const double *a, __global const double *b, __global double *c, uint n)
{
    size_t i = get_global_id(0), j = get_global_id(1);
    double sum = c[i + j * n];
    for (uint k = 0; k < n; k++) sum -= a[i + k * n] * b[k + j * n];
    c[i + j * n] = sum;
}
