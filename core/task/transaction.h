/* SPDX-License-Identifier: BSD-3-Clause */
/* transaction.h: joining a transaction at insertion.
 * Threads: any. Owns: nothing. Not here: opening and closing (include/starpu_task.h). */
#ifndef ORR_TASK_TRANSACTION_H
#define ORR_TASK_TRANSACTION_H

#include <starpu.h>

/* task, complete and not submitted, is of the current epoch of task->transaction. 0, -EINVAL after a message,
 * or -ENOMEM. */
int orr_transaction_join(struct starpu_task *task);

/* copy was copied from task, of an epoch, or is task itself: it is of none. */
void orr_transaction_leave(struct starpu_task *copy, const struct starpu_task *task);

#endif
