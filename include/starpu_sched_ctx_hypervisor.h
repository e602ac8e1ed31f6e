/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_sched_ctx_hypervisor.h: what contexts tell a hypervisor that resizes them.
 *
 * Threads: the table's functions are called by workers and submitters, several at once; none may block.
 * Owns: nothing.
 * Not here: the hypervisor itself (sc_hypervisor.h).
 */
#ifndef STARPU_SCHED_CTX_HYPERVISOR_H
#define STARPU_SCHED_CTX_HYPERVISOR_H

#include <starpu_config.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;

/* Notices to the hypervisor. */
struct starpu_sched_ctx_performance_counters {
    /* A worker has had nothing to do in the context for idle_time s. */
    void (*notify_idle_cycle)(unsigned sched_ctx_id, int worker, double idle_time);
    /* A worker took a task. */
    void (*notify_poped_task)(unsigned sched_ctx_id, int worker);
    /* A task was pushed for a worker. */
    void (*notify_pushed_task)(unsigned sched_ctx_id, int worker);
    /* A task has ended. */
    void (*notify_post_exec_task)(struct starpu_task *task, size_t data_size, uint32_t footprint,
                                  int hypervisor_tag, double flops);
    /* A task was submitted. */
    void (*notify_submitted_job)(struct starpu_task *task, uint32_t footprint, size_t data_size);
    /* A task became ready in a context without workers. */
    void (*notify_empty_ctx)(unsigned sched_ctx_id, struct starpu_task *task);
    /* A context is deleted. */
    void (*notify_delete_context)(unsigned sched_ctx);
};

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
