/* SPDX-License-Identifier: BSD-3-Clause */
/* The codelets of the program: what is done with one, two or three tiles.
 * Threads: their functions run on workers; the counters are read when no task runs.
 * Owns: this process's count of executed tasks and its first failed pivot.
 * Not here: which tasks there are, and in what order (factorisation.h). */
#ifndef CHOLESKY_KERNELS_H
#define CHOLESKY_KERNELS_H

#include <starpu.h>

extern struct starpu_codelet kernel_assemble;        /* W tile; args: matrix, first row, first column */
extern struct starpu_codelet kernel_potrf;           /* RW diagonal tile; args: first row */
extern struct starpu_codelet kernel_trsm;            /* R diagonal tile, RW tile below it */
extern struct starpu_codelet kernel_syrk;            /* R tile (i, k), RW tile (i, i) */
extern struct starpu_codelet kernel_gemm;            /* R tile (i, k), R tile (j, k), RW tile (i, j) */
extern struct starpu_codelet kernel_set_rhs;         /* W piece; args: right-hand side, first row */
extern struct starpu_codelet kernel_solve_forward;   /* R diagonal tile, RW piece: piece = L^-1 piece */
extern struct starpu_codelet kernel_update_forward;  /* R tile, R piece, RW piece: y -= L x */
extern struct starpu_codelet kernel_solve_backward;  /* R diagonal tile, RW piece: piece = L^-T piece */
extern struct starpu_codelet kernel_update_backward; /* R tile, R piece, RW piece: y -= L^T x */
extern struct starpu_codelet kernel_diagonal;        /* R diagonal tile, W piece */

/* Makes the BLAS run in the calling thread only. */
void kernels_init(void);

/* A task was executed; called by its function. */
void kernels_count_task(void);

/* Tasks that this process has executed since kernels_init(). */
long kernels_tasks_executed(void);

/* The first row, counted from 1, at which a pivot was not positive (or not finite) in this process; 0 when
 * none. */
long kernels_failed_pivot(void);

#endif
