/* SPDX-License-Identifier: BSD-3-Clause */
/* scale.cl: x = factor * x + shift, in a piece of a vector that begins offset bytes into its buffer. */
__kernel void scale(__global char *buffer, ulong offset, double factor, double shift)
{
    __global double *x = (__global double *)(buffer + offset);
    size_t k = get_global_id(0);
    x[k] = factor * x[k] + shift;
}
