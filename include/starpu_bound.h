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

/* Starts recording tasks, dropping what was recorded. `deps`: which task waits for which is recorded, too (by
 * data, declarations and tags; of a task that is submitted again what was declared counts once), and memory
 * is taken for each task and datum that it uses. `prio`: with deps, priorities are part of the program that
 * starpu_bound_print_lp prints: of two tasks of which neither waits for the other the more urgent one begins
 * no later; what an urgent one waits for is as urgent. Functions of models and can_execute are asked by who
 * submits. A codelet may go once its tasks have ended, its model when the bound was computed. */
void starpu_bound_start(int deps, int prio);

/* Stops recording. */
void starpu_bound_stop(void);

/* Sets *res to the least time in milliseconds with fractions of tasks (exactly where there are one or two
 * architectures of workers, else maybe to less) or, where dependencies were recorded and that is more, to the
 * longest chain of tasks that wait for each other, each where it is fastest; and with `integer` *integer_res
 * (may be NULL) to a bound for whole tasks; 0 where it cannot be computed (times of some tasks are not
 * known). */
void starpu_bound_compute(double *res, double *integer_res, int integer);

/* Prints a linear program in the form of lp_solve (times in milliseconds; tmax is what it is about). Without
 * dependencies: fractions of tasks. With them: a schedule of whole tasks, which starpu_lp2paje makes a trace
 * of; task i begins at s<i>, ends at c<i>, and t<i>w<j> is 1 if worker j runs it. It has variables for pairs
 * of tasks: lp_solve manages a dozen or so. */
void starpu_bound_print_lp(FILE *output);

/* Prints the program of fractions of tasks, without dependencies, in free MPS format. */
void starpu_bound_print_mps(FILE *output);

/* Prints a graph in DOT format: where dependencies were recorded, of tasks and what they wait for, with
 * points for steps that are none (the program's accesses, groups, tags); else the kinds of tasks and how many
 * there were, without edges. */
void starpu_bound_print_dot(FILE *output);

/* Prints the bound, and how many tasks of each kind there were and their times. `integer`: whole tasks. */
void starpu_bound_print(FILE *output, int integer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_BOUND_H */
