/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.cl: a step of a band of rows, and its halos, as heat.c has them for CPUs. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void heat_step(__global float *after, __global const float *before, __global const float *above,
                   __global const float *below)
{
    size_t i = get_global_id(0), j = get_global_id(1), width = get_global_size(0), rows = get_global_size(1);
    __global const float *row = before + j * width;
    float left = i > 0 ? row[i - 1] : 0, right = i + 1 < width ? row[i + 1] : 0;
    float up = j > 0 ? row[i - width] : above[i], down = j + 1 < rows ? row[i + width] : below[i];
    after[i + j * width] = 0.5f * row[i] + 0.125f * (left + right + up + down);
}

__kernel void halos(__global const float *band, __global float *first, __global float *last, uint rows)
{
    size_t i = get_global_id(0), width = get_global_size(0);
    first[i] = band[i];
    last[i] = band[i + (rows - 1) * width];
}
