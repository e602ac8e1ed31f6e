/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_lib.h: policies in a shared library that STARPU_SCHED_LIB names.
 * Threads: those of init and shutdown, and whoever opens a context. Owns: the library. Not here: how such a
 * policy is run (sched/user.c). */
#ifndef ORR_RUN_SCHED_LIB_H
#define ORR_RUN_SCHED_LIB_H

struct starpu_sched_policy;

/* Loads the library, if one is named. 0; -EINVAL: it cannot be used, and one line said why. */
int orr_sched_lib_open(void);
/* After all contexts are closed. */
void orr_sched_lib_close(void);

/* The library's policy of that name, or NULL. */
struct starpu_sched_policy *orr_sched_lib_find(const char *name);

/* Prints its policies, a line each, if it lists them. */
void orr_sched_lib_print(void);

#endif
