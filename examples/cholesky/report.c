/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpi_cholesky found out, and the table it prints.
 * Threads: the main thread of rank 0.
 * Owns: nothing.
 * Not here: measuring (mpi_cholesky.c). */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

double report_median(const double *sorted, int count)
{
    return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

static const char *policy_name(void)
{
    const char *name = getenv("STARPU_SCHED");
    return name && *name ? name : "the default";
}

static void print_input(const struct options *options, const struct factorisation *f)
{
    const struct sparse_matrix *matrix = f->matrix;
    const struct tile_matrix *m = f->tiles;
    double all = 0.5 * m->tile_rows * (m->tile_rows + 1.0), doubles = 0;
    for (int t = 0; t < m->stored; t++)
        doubles += (double)tile_matrix_rows(m, m->tiles[t].row) * tile_matrix_rows(m, m->tiles[t].column);
    if (options->path)
        printf("matrix           %s\n", options->path);
    else
        printf("matrix           generated, seed %llu\n", (unsigned long long)options->seed);
    printf("size             %d rows, %lld entries in the lower half\n", m->size, (long long)matrix->entries);
    printf("tiles            %d x %d; %d of %.0f stored (%.1f %%), %.1f numbers per entry\n", m->tile_size,
           m->tile_size, m->stored, all, 100 * m->stored / all, doubles / (double)matrix->entries);
}

static void print_machine(const struct options *options, const struct factorisation *f,
                          const struct rank_figures *figures, int ranks)
{
    int64_t workers = 0;
    for (int r = 0; r < ranks; r++) workers += figures[r].workers;
    printf("ranks            %d, grid %d x %d, %lld workers in all\n", ranks, f->tiles->grid_rows,
           f->tiles->grid_columns, (long long)workers);
    printf("scheduling       policy %s, priorities %s\n", policy_name(), options->priorities ? "on" : "off");
}

static void print_times(const struct options *options, const struct factorisation *f, const struct results *r)
{
    double best = r->factor_seconds[0], median = report_median(r->factor_seconds, options->repeat);
    printf("factorisation    %ld tasks, %.4g s, %.2f GFlop/s", f->tasks, best, f->flops / best * 1e-9);
    if (options->repeat > 1)
        printf("; median of %d: %.4g s, %.2f GFlop/s", options->repeat, median, f->flops / median * 1e-9);
    printf("\nsolve            %.4g s", r->solve_seconds[0]);
    if (options->repeat > 1) printf("; median %.4g s", report_median(r->solve_seconds, options->repeat));
    printf("\n");
}

static void print_answers(const struct results *r)
{
    printf("log-determinant  %.12g\n", r->log_determinant);
    printf("scaled residual  %.3g\n", r->residual);
    printf("error            %.3g against the known solution\n", r->error);
    if (r->compared)
        printf("LAPACK           log-determinant %.12g, error %.3g, reciprocal condition %.2g\n",
               r->reference_log_determinant, r->reference_error, r->reciprocal_condition);
}

static void print_ranks(const struct options *options, const struct traffic *traffic,
                        const struct rank_figures *figures, int ranks)
{
    printf("rank   workers      tasks   tile MiB   messages sent   MiB sent\n");
    for (int r = 0; r < ranks; r++)
        printf("%4d %9lld %10lld %10.2f %15lld %10.3f\n", r, (long long)figures[r].workers,
               (long long)figures[r].tasks_executed / options->repeat,
               (double)figures[r].local_bytes / 0x1p20, (long long)traffic->messages[r],
               (double)traffic->bytes[r] / 0x1p20);
}

void report_print(const struct options *options, const struct factorisation *f, const struct traffic *traffic,
                  const struct results *results, const struct rank_figures *figures, int ranks)
{
    if (options->quiet) {
        printf("mpi_cholesky n=%d tile=%d ranks=%d grid=%dx%d tasks=%ld seconds=%.4g gflops=%.2f "
               "log_determinant=%.12g residual=%.3g error=%.3g%s\n",
               f->tiles->size, f->tiles->tile_size, ranks, f->tiles->grid_rows, f->tiles->grid_columns,
               f->tasks, results->factor_seconds[0], f->flops / results->factor_seconds[0] * 1e-9,
               results->log_determinant, results->residual, results->error,
               options->check ? results->failure ? " FAILED" : " ok" : "");
    } else {
        print_input(options, f);
        print_machine(options, f, figures, ranks);
        print_times(options, f, results);
        print_answers(results);
        print_ranks(options, traffic, figures, ranks);
        if (options->check && !results->failure) printf("check            passed\n");
    }
    fflush(stdout);
}
