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

/* Starts recording tasks, dropping what was recorded. `deps`, `prio`: ask for a bound that counts
 * dependencies and priorities as well; this version leaves them out, so that its bound is lower. */
void starpu_bound_start(int deps, int prio);

/* Stops recording. */
void starpu_bound_stop(void);

/* Sets *res to the least time in milliseconds with fractions of tasks (exactly where there are one or two
 * architectures of workers, else maybe to less), and with `integer` *integer_res (may be NULL) to a bound for
 * whole tasks; 0 where it cannot be computed (times of some tasks are not known). */
void starpu_bound_compute(double *res, double *integer_res, int integer);

/* Prints the linear program in LP, or in free MPS format (times in milliseconds). */
void starpu_bound_print_lp(FILE *output);
void starpu_bound_print_mps(FILE *output);

/* Prints the recorded kinds of tasks, and how many there were, as the nodes of a graph in DOT format. There
 * are no edges: this version does not record dependencies. */
void starpu_bound_print_dot(FILE *output);

/* Prints the bound, and how many tasks of each kind there were and their times. `integer`: whole tasks. */
void starpu_bound_print(FILE *output, int integer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_BOUND_H */
