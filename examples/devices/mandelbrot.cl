/* SPDX-License-Identifier: BSD-3-Clause */
/* mandelbrot.cl: how many steps each point of a band stays near 0, as mandelbrot.c counts them. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void band(__global uchar *buffer, ulong offset, double left, double top, double step, int first_row,
                   int most)
{
    int column = get_global_id(0), row = get_global_id(1);
    double re = left + column * step, im = top - (first_row + row) * step, x = 0, y = 0;
    int k = 0;
    for (; k < most && x * x + y * y <= 4; k++) {
        double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
    }
    buffer[offset + row * get_global_size(0) + column] = k;
}
