/* SPDX-License-Identifier: BSD-3-Clause */
/* The same system solved by LAPACK, dense and sequential, to compare with.
 * Threads: the main thread of one rank.
 * Owns: nothing.
 * Not here: the comparison (mpi_cholesky.c). */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda,
                    double *b, const int *ldb, int *info);
extern void dpocon_(const char *uplo, const int *n, const double *a, const int *lda, const double *norm,
                    double *rcond, double *work, int *iwork, int *info);

double reference_log_determinant(const double *diagonal, size_t stride, int count)
{
    double sum = 0, lost = 0;
    for (int i = 0; i < count; i++) {
        double term = 2 * log(diagonal[(size_t)i * stride]), next = sum + term;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return sum + lost;
}

int reference_solve(const struct sparse_matrix *matrix, const double *rhs, double norm,
                    struct reference *reference_out)
{
    int n = matrix->size, one = 1, info = -1;
    double *a = calloc((size_t)n * (size_t)n, sizeof *a), *x = malloc((size_t)n * sizeof *x);
    double *work = malloc(3 * (size_t)n * sizeof *work);
    int *iwork = malloc((size_t)n * sizeof *iwork);
    if (!a || !x || !work || !iwork) goto free_all;
    for (int column = 0; column < n; column++)
        for (int64_t e = matrix->column_start[column]; e < matrix->column_start[column + 1]; e++)
            a[(size_t)column * (size_t)n + (size_t)matrix->row[e]] = matrix->value[e];
    memcpy(x, rhs, (size_t)n * sizeof *x);
    dpotrf_("L", &n, a, &n, &info);
    if (info) goto free_all;
    dpotrs_("L", &n, &one, a, &n, x, &n, &info);
    dpocon_("L", &n, a, &n, &norm, &reference_out->reciprocal_condition, work, iwork, &info);
    reference_out->log_determinant = reference_log_determinant(a, (size_t)n + 1, n);
    reference_out->solution = x;
    x = NULL;
free_all:
    free(iwork);
    free(work);
    free(x);
    free(a);
    return info;
}
