/* SPDX-License-Identifier: BSD-3-Clause */
/* combined.c: questions about combined workers (several CPU workers that run one task), of which this runtime
 * makes none.
 * Threads: any. Owns: nothing. Not here: single workers (query.c). */
#include <starpu.h>

#include "core/worker/worker.h"

unsigned starpu_combined_worker_get_count(void)
{
    return 0;
}

unsigned starpu_worker_is_combined_worker(int id)
{
    (void)id;
    return 0;
}

int starpu_combined_worker_get_id(void)
{
    return -1;
}

int starpu_combined_worker_get_size(void)
{
    return 1;
}

int starpu_combined_worker_get_rank(void)
{
    return 0;
}

int starpu_combined_worker_get_description(int workerid, int *worker_size, int **combined_workerid)
{
    (void)workerid;
    (void)worker_size;
    (void)combined_workerid;
    return -EINVAL; /* no number is that of a combined worker */
}

int starpu_combined_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl)
{
    return workerid < orr_worker_count && starpu_worker_can_execute_task(workerid, task, nimpl);
}
