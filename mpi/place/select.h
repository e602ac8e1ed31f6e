/* SPDX-License-Identifier: BSD-3-Clause */
/* select.h: policies that choose the rank of a task whose data do not say it.
 * Threads: the thread that submits. Owns: the table of policies. Not here: ownership (owner.c). */
#ifndef ORR_MPI_SELECT_H
#define ORR_MPI_SELECT_H

#include <starpu_task.h>

#include "mpi/wire/comm.h"

typedef int (*orr_select_fn)(int me, int nb_nodes, struct starpu_data_descr *descr, int nb_data);

/* The rank, or -EINVAL (said why). policy -1: the current one. */
int orr_select(const struct orr_comm *c, struct starpu_data_descr *data, int count, int policy);
int orr_select_register(orr_select_fn fn); /* its number, or -ENOSPC, -EINVAL */
int orr_select_unregister(int policy);
int orr_select_get_current(void);
int orr_select_set_current(int policy);

#endif
