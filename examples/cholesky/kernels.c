/* SPDX-License-Identifier: BSD-3-Clause */
/* The codelets of the program, over OpenBLAS with one thread, and what runs on GPUs as well.
 * Threads: the functions run on workers, several at once.
 * Owns: this process's count of executed tasks and its first failed pivot.
 * Not here: which tasks there are, and in what order (factorisation.c), the functions for GPUs
 * (kernels_devices.h).
 *
 * A tile that cannot be factorised is noted and replaced by the identity: the rest of the graph then runs
 * with harmless numbers. Everything before the lowest failed row is right, so the lowest one is the matrix's
 * own. */
#include "kernels.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels_devices.h"
#include "sparse_matrix.h"

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

static atomic_long executed;
static atomic_long failed_pivot;

void kernels_init(void)
{
    openblas_set_num_threads(1);
    atomic_store(&executed, 0);
    atomic_store(&failed_pivot, 0);
}

long kernels_tasks_executed(void)
{
    return atomic_load(&executed);
}

long kernels_failed_pivot(void)
{
    return atomic_load(&failed_pivot);
}

void kernels_count_task(void)
{
    atomic_fetch_add_explicit(&executed, 1, memory_order_relaxed);
}

static void note_failed_pivot(long pivot)
{
    long seen = atomic_load(&failed_pivot);
    while ((seen == 0 || pivot < seen) && !atomic_compare_exchange_weak(&failed_pivot, &seen, pivot))
        ;
}

/* One buffer of a task, in the terms of BLAS. */
struct operand {
    double *values;
    int rows, columns, stride;
};

static struct operand tile_operand(void *buffer)
{
    return (struct operand){ .values = (double *)STARPU_MATRIX_GET_PTR(buffer),
                             .rows = (int)STARPU_MATRIX_GET_NX(buffer),
                             .columns = (int)STARPU_MATRIX_GET_NY(buffer),
                             .stride = (int)STARPU_MATRIX_GET_LD(buffer) };
}

static double *piece_values(void *buffer)
{
    return (double *)STARPU_VECTOR_GET_PTR(buffer);
}

/* First entry of `column` at or below `row`. */
static int64_t find_row(const struct sparse_matrix *matrix, int column, int row)
{
    int64_t low = matrix->column_start[column], high = matrix->column_start[column + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (matrix->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void run_assemble(void *buffers[], void *args)
{
    const struct sparse_matrix *matrix;
    int first_row, first_column;
    struct operand tile = tile_operand(buffers[0]);
    starpu_codelet_unpack_args(args, &matrix, &first_row, &first_column);
    for (int c = 0; c < tile.columns; c++) {
        double *column = tile.values + (size_t)c * (size_t)tile.stride;
        memset(column, 0, (size_t)tile.rows * sizeof *column);
        int64_t end = matrix->column_start[first_column + c + 1];
        for (int64_t e = find_row(matrix, first_column + c, first_row); e < end; e++) {
            if (matrix->row[e] >= first_row + tile.rows) break;
            column[matrix->row[e] - first_row] = matrix->value[e];
        }
    }
    kernels_count_task();
}

/* LAPACK lets a NaN pass as a pivot; this does not. Returns the failing row from 1, 0 when all is well. */
static int check_pivots(const struct operand *tile)
{
    for (int k = 0; k < tile->rows; k++) {
        double pivot = tile->values[(size_t)k * (size_t)tile->stride + (size_t)k];
        if (!(pivot > 0) || !isfinite(pivot)) return k + 1;
    }
    return 0;
}

static void set_identity(const struct operand *tile)
{
    for (int c = 0; c < tile->columns; c++) {
        double *column = tile->values + (size_t)c * (size_t)tile->stride;
        memset(column, 0, (size_t)tile->rows * sizeof *column);
        column[c] = 1.0;
    }
}

static void run_potrf(void *buffers[], void *args)
{
    int first_row, info;
    struct operand tile = tile_operand(buffers[0]);
    starpu_codelet_unpack_args(args, &first_row);
    dpotrf_("L", &tile.rows, tile.values, &tile.stride, &info);
    if (info == 0) info = check_pivots(&tile);
    if (info > 0) {
        note_failed_pivot((long)first_row + info);
        set_identity(&tile);
    }
    kernels_count_task();
}

static void run_trsm(void *buffers[], void *args)
{
    (void)args;
    struct operand l = tile_operand(buffers[0]), a = tile_operand(buffers[1]);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, a.rows, a.columns, 1.0,
                l.values, l.stride, a.values, a.stride);
    kernels_count_task();
}

static void run_syrk(void *buffers[], void *args)
{
    (void)args;
    struct operand a = tile_operand(buffers[0]), c = tile_operand(buffers[1]);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows, a.columns, -1.0, a.values, a.stride, 1.0,
                c.values, c.stride);
    kernels_count_task();
}

static void run_gemm(void *buffers[], void *args)
{
    (void)args;
    struct operand a = tile_operand(buffers[0]), b = tile_operand(buffers[1]), c = tile_operand(buffers[2]);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows, c.columns, a.columns, -1.0, a.values,
                a.stride, b.values, b.stride, 1.0, c.values, c.stride);
    kernels_count_task();
}

static void run_set_rhs(void *buffers[], void *args)
{
    const double *rhs;
    int first_row;
    starpu_codelet_unpack_args(args, &rhs, &first_row);
    memcpy(piece_values(buffers[0]), rhs + first_row, STARPU_VECTOR_GET_NX(buffers[0]) * sizeof *rhs);
    kernels_count_task();
}

static void solve(void *buffers[], CBLAS_TRANSPOSE transpose)
{
    struct operand l = tile_operand(buffers[0]);
    cblas_dtrsv(CblasColMajor, CblasLower, transpose, CblasNonUnit, l.rows, l.values, l.stride,
                piece_values(buffers[1]), 1);
    kernels_count_task();
}

static void run_solve_forward(void *buffers[], void *args)
{
    (void)args;
    solve(buffers, CblasNoTrans);
}

static void run_solve_backward(void *buffers[], void *args)
{
    (void)args;
    solve(buffers, CblasTrans);
}

static void update(void *buffers[], CBLAS_TRANSPOSE transpose)
{
    struct operand l = tile_operand(buffers[0]);
    cblas_dgemv(CblasColMajor, transpose, l.rows, l.columns, -1.0, l.values, l.stride,
                piece_values(buffers[1]), 1, 1.0, piece_values(buffers[2]), 1);
    kernels_count_task();
}

static void run_update_forward(void *buffers[], void *args)
{
    (void)args;
    update(buffers, CblasNoTrans);
}

static void run_update_backward(void *buffers[], void *args)
{
    (void)args;
    update(buffers, CblasTrans);
}

static void run_diagonal(void *buffers[], void *args)
{
    (void)args;
    struct operand l = tile_operand(buffers[0]);
    double *piece = piece_values(buffers[1]);
    for (int k = 0; k < l.rows; k++) piece[k] = l.values[(size_t)k * (size_t)l.stride + (size_t)k];
    kernels_count_task();
}

/* Policies of the dm family learn the times of the four large kernels. */
static struct starpu_perfmodel model_potrf = { .type = STARPU_HISTORY_BASED, .symbol = "mpi_cholesky_potrf" };
static struct starpu_perfmodel model_trsm = { .type = STARPU_HISTORY_BASED, .symbol = "mpi_cholesky_trsm" };
static struct starpu_perfmodel model_syrk = { .type = STARPU_HISTORY_BASED, .symbol = "mpi_cholesky_syrk" };
static struct starpu_perfmodel model_gemm = { .type = STARPU_HISTORY_BASED, .symbol = "mpi_cholesky_gemm" };

struct starpu_codelet kernel_assemble = {
    .cpu_funcs = { run_assemble }, .nbuffers = 1, .modes = { STARPU_W }, .name = "assemble"
};
struct starpu_codelet kernel_potrf = {
    .cpu_funcs = { run_potrf }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &model_potrf, .name = "potrf"
};
struct starpu_codelet kernel_trsm = { .cpu_funcs = { run_trsm },
                                      ON_OPENCL(opencl_trsm) ON_CUDA(cuda_trsm).nbuffers = 2,
                                      .modes = { STARPU_R, STARPU_RW },
                                      .model = &model_trsm,
                                      .name = "trsm" };
struct starpu_codelet kernel_syrk = { .cpu_funcs = { run_syrk },
                                      ON_OPENCL(opencl_syrk) ON_CUDA(cuda_syrk).nbuffers = 2,
                                      .modes = { STARPU_R, STARPU_RW },
                                      .model = &model_syrk,
                                      .name = "syrk" };
struct starpu_codelet kernel_gemm = { .cpu_funcs = { run_gemm },
                                      ON_OPENCL(opencl_gemm) ON_CUDA(cuda_gemm).nbuffers = 3,
                                      .modes = { STARPU_R, STARPU_R, STARPU_RW },
                                      .model = &model_gemm,
                                      .name = "gemm" };
struct starpu_codelet kernel_set_rhs = {
    .cpu_funcs = { run_set_rhs }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set_rhs"
};
struct starpu_codelet kernel_solve_forward = { .cpu_funcs = { run_solve_forward },
                                               .nbuffers = 2,
                                               .modes = { STARPU_R, STARPU_RW },
                                               .name = "solve_forward" };
struct starpu_codelet kernel_update_forward = { .cpu_funcs = { run_update_forward },
                                                .nbuffers = 3,
                                                .modes = { STARPU_R, STARPU_R, STARPU_RW },
                                                .name = "update_forward" };
struct starpu_codelet kernel_solve_backward = { .cpu_funcs = { run_solve_backward },
                                                .nbuffers = 2,
                                                .modes = { STARPU_R, STARPU_RW },
                                                .name = "solve_backward" };
struct starpu_codelet kernel_update_backward = { .cpu_funcs = { run_update_backward },
                                                 .nbuffers = 3,
                                                 .modes = { STARPU_R, STARPU_R, STARPU_RW },
                                                 .name = "update_backward" };
struct starpu_codelet kernel_diagonal = {
    .cpu_funcs = { run_diagonal }, .nbuffers = 2, .modes = { STARPU_R, STARPU_W }, .name = "diagonal"
};
