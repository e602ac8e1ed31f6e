/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lower bound: how fast the tasks submitted between start and stop could have run at best on these
 * workers, by their performance models and a linear program.
 * Threads: one thread of the program; the tasks may come from any.
 * Not here: what they really took (starpu_profiling.h).
 */
#ifndef STARPU_BOUND_H
#define STARPU_BOUND_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Starts recording tasks, dropping what was recorded. `deps`: with their dependencies (a tighter
 * bound, of a much larger program); `prio`: also that tasks of higher priority go first (needs
 * deps). */
void starpu_bound_start(int deps, int prio);

/* Stops recording. */
void starpu_bound_stop(void);

/* Prints the recorded tasks and dependencies for dot. Only after deps. */
void starpu_bound_print_dot(FILE *output);

/* Sets *res to the least time in milliseconds with fractions of tasks, and with `integer`
 * *integer_res (may be NULL) to that with whole tasks; 0 where it cannot be computed (no model
 * calibrated, or built without GLPK). May take long. */
void starpu_bound_compute(double *res, double *integer_res, int integer);

/* Prints the linear program in LP format (times in milliseconds). */
void starpu_bound_print_lp(FILE *output);

/* Prints the linear program in MPS format. Only without deps. */
void starpu_bound_print_mps(FILE *output);

/* Prints how many tasks of each kind would go to each worker. `integer`: whole tasks. May take long. */
void starpu_bound_print(FILE *output, int integer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_BOUND_H */
