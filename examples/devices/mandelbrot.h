/* SPDX-License-Identifier: BSD-3-Clause */
/* mandelbrot.h: what mandelbrot.c gives each task, as mandelbrot.cu sees it, too.
 * Threads: none. Owns: nothing. Not here: the kernels. */
#ifndef EXAMPLES_MANDELBROT_H
#define EXAMPLES_MANDELBROT_H

/* What part of the plane is drawn, and one band of it. */
struct view {
    double left, top, step;           /* of the first point, and between points */
    int width, first_row, rows, most; /* most: steps */
};

#endif
