/* SPDX-License-Identifier: BSD-3-Clause */
/* regression.c: the power law in closed form, the affine power law by a search over its exponent (for a given
 * exponent it is linear), and general linear least squares by Householder's QR (better conditioned than the
 * normal equations, which matters because monomials of sizes are nearly dependent).
 * Threads: any. Owns: nothing. Not here: when to fit (history.c). */
#include "core/perf/regression.h"

#include <math.h>

enum { EXPONENT_STEPS = 120, REFINE_STEPS = 80 };
static const double EXPONENT_MAX = 6.0;

bool orr_fit_power(const struct orr_point *points, size_t count, double *alpha, double *beta,
                   struct orr_power_sums *sums_out)
{
    struct orr_power_sums s = { 0 };
    for (size_t i = 0; i < count; i++) {
        double lx = log(points[i].x), ly = log(points[i].y), w = points[i].weight;
        s.n += w;
        s.lnx += w * lx;
        s.lny += w * ly;
        s.lnx2 += w * lx * lx;
        s.lnxlny += w * lx * ly;
    }
    if (sums_out) *sums_out = s;
    double det = s.n * s.lnx2 - s.lnx * s.lnx;
    if (!(det > 1e-12 * s.n * s.lnx2)) return false;
    *beta = (s.n * s.lnxlny - s.lnx * s.lny) / det;
    *alpha = exp((s.lny - *beta * s.lnx) / s.n);
    return isfinite(*alpha) && isfinite(*beta);
}

/* For exponent b, the best a and c >= 0, and the sum of squared relative errors.
 * Sizes are scaled by 1/scale. */
static double affine_error(const struct orr_point *p, size_t count, double scale, double b, double *a,
                           double *c)
{
    double saa = 0, sac = 0, scc = 0, say = 0, scy = 0, syy = 0;
    for (size_t i = 0; i < count; i++) {
        double u = pow(p[i].x / scale, b) / p[i].y, v = 1.0 / p[i].y, w = p[i].weight;
        saa += w * u * u;
        sac += w * u * v;
        scc += w * v * v;
        say += w * u;
        scy += w * v;
        syy += w;
    }
    double det = saa * scc - sac * sac;
    *c = 0;
    *a = say / saa;
    if (det > 1e-13 * saa * scc) {
        double c2 = (saa * scy - sac * say) / det, a2 = (scc * say - sac * scy) / det;
        if (c2 >= 0 && a2 >= 0) {
            *a = a2;
            *c = c2;
        }
    }
    return syy - 2 * (*a * say + *c * scy) + *a * *a * saa + 2 * *a * *c * sac + *c * *c * scc;
}

static bool three_sizes(const struct orr_point *p, size_t count)
{
    double second = 0;
    bool have_second = false;
    for (size_t i = 1; i < count; i++) {
        if (p[i].x == p[0].x) continue;
        if (have_second && p[i].x != second) return true;
        second = p[i].x;
        have_second = true;
    }
    return false;
}

bool orr_fit_affine_power(const struct orr_point *points, size_t count, double *a, double *b, double *c)
{
    if (count < 3 || !three_sizes(points, count)) return false;
    double scale = 1, best = INFINITY, at = 0;
    for (size_t i = 0; i < count; i++) scale = points[i].x > scale ? points[i].x : scale;
    const double step = EXPONENT_MAX / EXPONENT_STEPS;
    for (int i = 1; i <= EXPONENT_STEPS; i++) { /* the error has several minima: look everywhere first */
        double e = affine_error(points, count, scale, i * step, a, c);
        if (e < best) best = e, at = i * step;
    }
    const double golden = 0.6180339887498949;
    double lo = at - step > 0 ? at - step : 1e-3, hi = at + step;
    double m1 = hi - golden * (hi - lo), m2 = lo + golden * (hi - lo);
    double e1 = affine_error(points, count, scale, m1, a, c),
           e2 = affine_error(points, count, scale, m2, a, c);
    for (int i = 0; i < REFINE_STEPS && hi - lo > 1e-9; i++) {
        if (e1 < e2) {
            hi = m2, m2 = m1, e2 = e1;
            m1 = hi - golden * (hi - lo);
            e1 = affine_error(points, count, scale, m1, a, c);
        } else {
            lo = m1, m1 = m2, e1 = e2;
            m2 = lo + golden * (hi - lo);
            e2 = affine_error(points, count, scale, m2, a, c);
        }
    }
    *b = 0.5 * (lo + hi);
    affine_error(points, count, scale, *b, a, c);
    *a /= pow(scale, *b);
    return isfinite(*a) && isfinite(*b) && isfinite(*c);
}

/* Column k: the reflection that clears A[k+1..][k]; applied to the columns behind it and to y. Returns false
 * when the column is (nearly) a combination of those before it. */
static bool reflect_column(double *A, double *y, size_t rows, size_t columns, size_t k, double column_norm)
{
    double norm = 0;
    for (size_t i = k; i < rows; i++) norm += A[i * columns + k] * A[i * columns + k];
    norm = sqrt(norm);
    if (!(norm > 1e-11 * column_norm)) return false;
    if (A[k * columns + k] > 0) norm = -norm;
    A[k * columns + k] -= norm; /* the column holds the reflector v now */
    double vv = 0;
    for (size_t i = k; i < rows; i++) vv += A[i * columns + k] * A[i * columns + k];
    for (size_t j = k + 1; j <= columns; j++) { /* j == columns: y */
        double dot = 0;
        for (size_t i = k; i < rows; i++)
            dot += A[i * columns + k] * (j < columns ? A[i * columns + j] : y[i]);
        dot *= 2 / vv;
        for (size_t i = k; i < rows; i++) {
            double d = dot * A[i * columns + k];
            if (j < columns)
                A[i * columns + j] -= d;
            else
                y[i] -= d;
        }
    }
    A[k * columns + k] = norm;
    return true;
}

bool orr_least_squares(double *A, double *y, size_t rows, size_t columns, double *x_out)
{
    if (columns == 0 || rows < columns) return false;
    for (size_t k = 0; k < columns; k++) {
        double column_norm = 0; /* invariant under the reflections so far */
        for (size_t i = 0; i < rows; i++) column_norm += A[i * columns + k] * A[i * columns + k];
        if (!reflect_column(A, y, rows, columns, k, sqrt(column_norm))) return false;
    }
    for (size_t k = columns; k-- > 0;) {
        double sum = y[k];
        for (size_t j = k + 1; j < columns; j++) sum -= A[k * columns + j] * x_out[j];
        x_out[k] = sum / A[k * columns + k];
        if (!isfinite(x_out[k])) return false;
    }
    return true;
}
