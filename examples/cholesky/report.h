/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpi_cholesky found out, and the table it prints.
 * Threads: the main thread of rank 0.
 * Owns: nothing.
 * Not here: measuring (mpi_cholesky.c). */
#ifndef CHOLESKY_REPORT_H
#define CHOLESKY_REPORT_H

#include "factorisation.h"
#include "options.h"

/* One per rank, gathered by rank 0. */
struct rank_figures {
    int64_t workers, tasks_executed, local_bytes;
};

struct results {
    double *factor_seconds, *solve_seconds; /* one per repetition, sorted */
    double log_determinant;
    double residual; /* |Ax - b| / (|A| |x| n eps), infinity norms */
    double error;    /* |x - known| / |known|, infinity norm */
    bool compared;   /* the three below were computed */
    double reference_log_determinant, reference_error, reciprocal_condition;
    const char *failure; /* NULL: all within bounds */
};

void report_print(const struct options *options, const struct factorisation *f, const struct traffic *traffic,
                  const struct results *results, const struct rank_figures *figures, int ranks);

/* The median of sorted values. */
double report_median(const double *sorted, int count);

#endif
