/* SPDX-License-Identifier: BSD-3-Clause */
/* insert.h: a task inserted on all ranks: which rank runs it, and what this rank has to do for it.
 * Threads: the thread that submits (as for starpu_task_insert). Owns: nothing. Not here: messages
 * (exchange.h). A rank without a part in a task only reads one cache line of each of its handles. */
#ifndef ORR_MPI_INSERT_H
#define ORR_MPI_INSERT_H

#include <stdarg.h>
#include <starpu_task.h>

#include "mpi/wire/comm.h"

/* starpu_mpi_task_insert. */
int orr_mpi_insert(struct orr_comm *c, struct starpu_codelet *cl, va_list ap);
/* Its two halves: *task_out is the task where it runs, else NULL. */
int orr_mpi_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap, struct starpu_task **task_out);
int orr_mpi_post_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap);
/* The layer ends: tasks that were built and never posted. */
struct orr_place;
void orr_mpi_forget_built(struct orr_place *p);
/* On each of several ranks. */
int orr_mpi_insert_on(struct orr_comm *c, struct starpu_codelet *cl, int count, const int *ranks, va_list ap);

/* Where a task with these accesses runs: sets xrank (unless it is set already) and concerned. 0 or -EINVAL
 * (said why). */
struct orr_placement {
    struct starpu_data_descr *data;
    int count;
    int xrank;
    int priority;
    bool concerned;
};
int orr_mpi_place(struct orr_comm *c, struct orr_placement *p, int policy);

#endif
