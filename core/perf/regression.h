/* SPDX-License-Identifier: BSD-3-Clause */
/* regression.h: fits laws to measured points by weighted least squares.
 * Threads: any; pure functions. Owns: nothing. Not here: where the points come from (history.c). */
#ifndef ORR_PERF_REGRESSION_H
#define ORR_PERF_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

/* A measured point: size (at least 1), mean (above 0), how many measures it stands for. */
struct orr_point {
    double x, y, weight;
};

struct orr_power_sums {
    double n, lnx, lny, lnx2, lnxlny;
};

/* y = alpha * x^beta, fitted in log space. False when the points have fewer than two sizes. sums_out may be
 * NULL. */
bool orr_fit_power(const struct orr_point *points, size_t count, double *alpha, double *beta,
                   struct orr_power_sums *sums_out);

/* y = a * x^b + c with b >= 0 and c >= 0, relative error minimised. False with fewer than three sizes. */
bool orr_fit_affine_power(const struct orr_point *points, size_t count, double *a, double *b, double *c);

/* Solves min |A x - y| by Householder reflections; A is rows x columns, by rows, destroyed as y is. False
 * when A has not full column rank. */
bool orr_least_squares(double *A, double *y, size_t rows, size_t columns, double *x_out);

#endif
