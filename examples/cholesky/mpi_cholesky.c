/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_cholesky: factorises a sparse symmetric positive definite matrix in tiles over all MPI ranks, and
 * solves.
 * Threads: the main thread of every rank; the work is in tasks (kernels.c). Owns: everything that one
 * run needs, in struct job. Not here: command line (options.c), input (matrix_market.c), tiles
 * (tile_matrix.c), tasks (factorisation.c).
 *
 *   mpirun -n 2 examples/cholesky/mpi_cholesky examples/data/bcsstk24.mtx.gz
 * prints a table in which the log-determinant reads 64193.5611341 whatever the ranks, tiles, grid and policy.
 *
 * Every step that can fail ends in agree(): all ranks learn of a failure on any of them, rank 0 says in one
 * line what it was, and all leave by the same way with the same exit status. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "factorisation.h"
#include "kernels.h"
#include "kernels_devices.h"
#include "matrix_market.h"
#include "options.h"
#include "reference.h"
#include "report.h"

enum { EXIT_USAGE = 2 };

struct job {
    MPI_Comm comm;
    int rank, ranks;
    struct options options;
    struct sparse_matrix matrix;
    double *known, *rhs, *solution,
        *diagonal; /* vectors of the matrix's size; the last two on rank 0 count */
    double norm;
    long tasks_executed; /* by this rank, in all repetitions */
    struct tile_matrix tiles;
    struct factorisation factorisation;
    struct traffic traffic;
    struct results results;
    struct rank_figures *figures;
};

/* Tells every rank whether any failed; then rank 0 prints its message. Returns 0 or -1, the same on all
 * ranks. */
static int __attribute__((format(printf, 3, 4)))
agree(const struct job *job, int failed, const char *format, ...)
{
    int mine = failed != 0, any;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, job->comm);
    if (any && job->rank == 0) {
        va_list args;
        fputs("mpi_cholesky: ", stderr);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
    return any ? -1 : 0;
}

static int load_matrix(struct job *job)
{
    const struct options *options = &job->options;
    char error[512] = "";
    int failed = 0;
    if (!options->path) {
        int band = options->band ? options->band : options->generate / 8 + 1;
        failed = sparse_matrix_generate(options->generate, band, options->seed, &job->matrix);
        return agree(job, failed, "no memory for a matrix of %d rows", options->generate);
    }
    if (job->rank == 0) failed = matrix_market_read(options->path, &job->matrix, error, sizeof error);
    if (agree(job, failed, "%s", error)) return -1;
    failed = sparse_matrix_broadcast(&job->matrix, 0, job->comm);
    return agree(job, failed, "no memory for the matrix on some rank");
}

/* A known solution without pattern, in [0.5, 1.5). */
static double known_solution(int row)
{
    return 0.5 + (double)((uint32_t)(row + 1) * 2654435761u) * 0x1p-32;
}

static int make_system(struct job *job)
{
    size_t size = (size_t)job->matrix.size;
    job->known = malloc(size * sizeof *job->known);
    job->rhs = malloc(size * sizeof *job->rhs);
    job->solution = malloc(size * sizeof *job->solution);
    job->diagonal = malloc(size * sizeof *job->diagonal);
    job->results.factor_seconds = calloc((size_t)job->options.repeat, sizeof(double));
    job->results.solve_seconds = calloc((size_t)job->options.repeat, sizeof(double));
    job->figures = calloc((size_t)job->ranks, sizeof *job->figures);
    int failed = !job->known || !job->rhs || !job->solution || !job->diagonal ||
                 !job->results.factor_seconds || !job->results.solve_seconds || !job->figures;
    if (agree(job, failed, "no memory for vectors of %zu rows", size)) return -1;
    for (int row = 0; row < job->matrix.size; row++) job->known[row] = known_solution(row);
    job->norm = sparse_matrix_norm(&job->matrix, job->rhs);
    sparse_matrix_multiply(&job->matrix, job->known, job->rhs);
    return 0;
}

static int make_tiles(struct job *job)
{
    struct options *options = &job->options;
    int size = job->matrix.size;
    if (options->tile_size > size) options->tile_size = size;
    int smallest = (size - 1) / TILE_ROWS_MAX + 1;
    if (agree(job, options->tile_size < smallest,
              "tiles of %d are too small for %d rows: at least %d is needed", options->tile_size, size,
              smallest))
        return -1;
    int failed = tile_matrix_init(&job->tiles, &job->matrix, options->tile_size, options->grid_rows,
                                  options->grid_columns, job->rank);
    if (agree(job, failed, "no memory for the tiles on some rank: use more ranks")) return -1;
    failed =
        factorisation_init(&job->factorisation, &job->tiles, &job->matrix, job->comm, options->priorities) ||
        traffic_init(&job->traffic, job->ranks, job->tiles.stored + 2 * job->tiles.tile_rows);
    return agree(job, failed, "no memory for the task stream on some rank");
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first row whose pivot failed on any rank, from 1; 0 when the matrix is positive definite. */
static long find_failed_pivot(const struct job *job)
{
    long pivot = kernels_failed_pivot(), first;
    if (pivot == 0) pivot = LONG_MAX;
    MPI_Allreduce(&pivot, &first, 1, MPI_LONG, MPI_MIN, job->comm);
    return first == LONG_MAX ? 0 : first;
}

/* Inserts one phase's tasks, waits for them on all ranks and stores the time it took in *seconds_out. */
static int run_phase(struct job *job, int (*insert)(struct factorisation *), double *seconds_out)
{
    starpu_mpi_barrier(job->comm);
    double start = MPI_Wtime();
    int error = insert(&job->factorisation);
    if (error == 0) starpu_mpi_wait_for_all(job->comm);
    *seconds_out = MPI_Wtime() - start;
    return agree(job, error, "a task could not be inserted (error %d)", error);
}

static int run_once(struct job *job, int repetition)
{
    int error = factorisation_insert_assembly(&job->factorisation, job->rhs);
    if (agree(job, error, "a task could not be inserted (error %d)", error)) return -1;
    starpu_mpi_wait_for_all(job->comm);
    if (run_phase(job, factorisation_insert_factor, &job->results.factor_seconds[repetition])) return -1;
    long pivot = find_failed_pivot(job);
    if (agree(job, pivot != 0, "the matrix is not positive definite: pivot %ld is not a positive number",
              pivot))
        return -1;
    return run_phase(job, factorisation_insert_solve, &job->results.solve_seconds[repetition]);
}

/* Brings all pieces of a vector to rank 0 and copies them one behind the other. Ranks: collective. */
static void collect(const struct job *job, const struct tile_vector *vector, double *whole)
{
    const struct tile_matrix *tiles = &job->tiles;
    starpu_mpi_gather_detached(vector->handles, tiles->tile_rows, 0, job->comm, NULL, NULL, NULL, NULL);
    for (int k = 0; job->rank == 0 && k < tiles->tile_rows; k++) {
        starpu_data_acquire(vector->handles[k], STARPU_R);
        memcpy(whole + (size_t)k * (size_t)tiles->tile_size,
               (const double *)starpu_data_get_local_ptr(vector->handles[k]),
               (size_t)tile_matrix_rows(tiles, k) * sizeof *whole);
        starpu_data_release(vector->handles[k]);
    }
    starpu_mpi_wait_for_all(job->comm);
}

static int run_all(struct job *job)
{
    struct results *results = &job->results;
    job->factorisation.traffic = &job->traffic;
    for (int repetition = 0; repetition < job->options.repeat; repetition++) {
        if (run_once(job, repetition)) return -1;
        job->factorisation.traffic = NULL;
    }
    job->tasks_executed = kernels_tasks_executed();
    int error = factorisation_insert_diagonal(&job->factorisation);
    if (agree(job, error, "a task could not be inserted (error %d)", error)) return -1;
    collect(job, &job->tiles.diagonal, job->diagonal);
    collect(job, &job->tiles.solution, job->solution);
    qsort(results->factor_seconds, (size_t)job->options.repeat, sizeof(double), compare_doubles);
    qsort(results->solve_seconds, (size_t)job->options.repeat, sizeof(double), compare_doubles);
    return 0;
}

static double distance(const double *x, const double *y, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        if (!(fabs(x[i] - y[i]) <= most)) most = fabs(x[i] - y[i]);
    return most;
}

static double magnitude(const double *x, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

/* Compares with LAPACK; the bounds are those of a backward stable method. Rank 0. */
static void compare(struct job *job)
{
    struct results *r = &job->results;
    struct reference reference = { .solution = NULL };
    int size = job->matrix.size;
    if (size <= REFERENCE_SIZE_MAX) {
        if (reference_solve(&job->matrix, job->rhs, job->norm, &reference)) {
            r->failure = "LAPACK could not solve the system";
            return;
        }
        r->compared = true;
        r->reference_log_determinant = reference.log_determinant;
        r->reciprocal_condition = reference.reciprocal_condition;
        r->reference_error = distance(reference.solution, job->known, size) / magnitude(job->known, size);
        free(reference.solution);
        double bound = fmax(100 * r->reference_error, size * DBL_EPSILON / r->reciprocal_condition);
        if (!(r->error <= fmin(bound, 0.1))) r->failure = "the error is out of bounds";
        if (!(fabs(r->log_determinant - r->reference_log_determinant) <=
              1e-10 * fmax(fabs(r->reference_log_determinant), 1)))
            r->failure = "the log-determinant differs from LAPACK's";
    }
    if (!(r->residual <= 16)) r->failure = "the residual is out of bounds";
    for (int rank = 0; rank < job->ranks; rank++)
        if (job->figures[rank].tasks_executed != job->traffic.tasks[rank] * job->options.repeat)
            r->failure = "a rank has not run just the tasks that were placed on it";
}

/* Rank 0 works out the answers and prints them. */
static void evaluate(struct job *job)
{
    struct results *r = &job->results;
    int size = job->matrix.size;
    double *product = malloc((size_t)size * sizeof *product);
    if (!product) {
        r->failure = "no memory for the residual";
        return;
    }
    sparse_matrix_multiply(&job->matrix, job->solution, product);
    r->residual =
        distance(product, job->rhs, size) / (job->norm * magnitude(job->solution, size) * size * DBL_EPSILON);
    r->error = distance(job->solution, job->known, size) / magnitude(job->known, size);
    r->log_determinant = reference_log_determinant(job->diagonal, 1, size);
    free(product);
    if (job->options.check) compare(job);
    report_print(&job->options, &job->factorisation, &job->traffic, r, job->figures, job->ranks);
}

static int run_job(struct job *job)
{
    if (load_matrix(job) || make_system(job)) return -1;
    kernels_init();
    int error = starpu_mpi_init_conf(NULL, NULL, 0, job->comm, NULL);
    if (agree(job, error, "the runtime did not start (error %d): a rank needs at least one CPU worker",
              error)) {
        if (!error) starpu_mpi_shutdown();
        return -1;
    }
    if (agree(job, kernels_devices_open(), "a rank's devices could not be prepared") || make_tiles(job)) {
        starpu_mpi_shutdown();
        return -1;
    }
    tile_matrix_register(&job->tiles, job->comm);
    int result = run_all(job);
    struct rank_figures mine = { .workers = starpu_worker_get_count(),
                                 .tasks_executed = job->tasks_executed,
                                 .local_bytes = (int64_t)job->tiles.local_bytes };
    tile_matrix_unregister(&job->tiles);
    kernels_devices_close();
    starpu_mpi_shutdown();
    if (result) return -1;
    MPI_Gather(&mine, 3, MPI_INT64_T, job->figures, 3, MPI_INT64_T, 0, job->comm);
    if (job->rank == 0) evaluate(job);
    return agree(job, job->results.failure != NULL, "FAILED: %s", job->results.failure);
}

static void free_job(struct job *job)
{
    traffic_fini(&job->traffic);
    factorisation_fini(&job->factorisation);
    tile_matrix_fini(&job->tiles);
    sparse_matrix_fini(&job->matrix);
    free(job->known);
    free(job->rhs);
    free(job->solution);
    free(job->diagonal);
    free(job->results.factor_seconds);
    free(job->results.solve_seconds);
    free(job->figures);
}

int main(int argc, char **argv)
{
    struct job job = { .comm = MPI_COMM_WORLD };
    char error[512] = "";
    int threads, status = EXIT_FAILURE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm_rank(job.comm, &job.rank);
    MPI_Comm_size(job.comm, &job.ranks);
    if (agree(&job, threads < MPI_THREAD_MULTIPLE, "this MPI library does not offer MPI_THREAD_MULTIPLE"))
        goto finalize;
    int failed = options_parse(&job.options, argc, argv, job.ranks, error, sizeof error);
    if (agree(&job, failed, "%s", error)) {
        status = EXIT_USAGE;
        goto finalize;
    }
    if (job.options.help) {
        if (job.rank == 0) fputs(options_help, stdout);
        status = EXIT_SUCCESS;
        goto finalize;
    }
    if (run_job(&job) == 0) status = EXIT_SUCCESS;
    free_job(&job);
finalize:
    MPI_Finalize();
    return status;
}
