/* SPDX-License-Identifier: BSD-3-Clause */
/* order.h: the order that a program gives to the tasks of a worker (workerorder), for liborrery-mpi.
 * Threads: any. Owns: nothing. Not here: who waits for its turn (local.c). */
#ifndef ORR_WORKER_ORDER_H
#define ORR_WORKER_ORDER_H

#include "core/base/export.h"

/* The workerorder that comes next on a worker. */
ORR_EXPORT unsigned orr_worker_order_next(unsigned worker);
/* What is missing of the orders below this one will not come: tasks that have one run when they are ready,
 * and this one comes next. */
ORR_EXPORT void orr_worker_order_skip(unsigned worker, unsigned next);

#endif
