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

/* Notices to the hypervisor. Each may be NULL. They may move workers between contexts: such a change is made
 * when the worker concerned is between two tasks, and nothing waits for it. */
struct starpu_sched_ctx_performance_counters {
    /* A worker has had nothing to do in any of its contexts for idle_time us more: since the last such
     * notice, or since it became idle. On the worker's thread; every millisecond or so while it lasts, and
     * once for the rest when it ends. Once with 0 when a worker has joined the context: it is now taken into
     * account there. */
    void (*notify_idle_cycle)(unsigned sched_ctx_id, int worker, double idle_time);
    /* A worker took a task of the context, and begins it now. On the worker's thread. */
    void (*notify_poped_task)(unsigned sched_ctx_id, int worker);
    /* A ready task was put in the queue of a worker. From policies with a queue for each worker, and for
     * tasks bound to a worker; by whoever made the task ready. */
    void (*notify_pushed_task)(unsigned sched_ctx_id, int worker);
    /* A task has been executed; the sum of the sizes of its data in bytes, a hash of their shapes, the task's
     * hypervisor_tag and flops. On the worker's thread, before callbacks and before what depends on it. */
    void (*notify_post_exec_task)(struct starpu_task *task, size_t data_size, uint32_t footprint,
                                  int hypervisor_tag, double flops);
    /* A task with a codelet is being submitted. By the thread that submits. */
    void (*notify_submitted_job)(struct starpu_task *task, uint32_t footprint, size_t data_size);
    /* A task is ready in a context without workers, and waits for some. By whoever made it ready. */
    void (*notify_empty_ctx)(unsigned sched_ctx_id, struct starpu_task *task);
    /* A context is being deleted: it has no task any more. By the thread that deletes. */
    void (*notify_delete_context)(unsigned sched_ctx);
};

/* Send the notices of a context to a struct starpu_sched_ctx_performance_counters, borrowed until
 * starpu_shutdown(); NULL: to nobody any more. */
void starpu_sched_ctx_set_perf_counters(unsigned sched_ctx_id, void *perf_counters);

/* For policies: say that a task of the context was put in a worker's queue. */
void starpu_sched_ctx_call_pushed_task_cb(int workerid, unsigned sched_ctx_id);

/* A hypervisor is at work; is there one? Forgotten by starpu_shutdown(). */
void starpu_sched_ctx_notify_hypervisor_exists(void);
unsigned starpu_sched_ctx_check_if_hypervisor_exists(void);

/* Begin to count idle time in a context anew: what was before the time start_sample, in us as of
 * starpu_timing_now(), is not reported. */
void starpu_sched_ctx_update_start_resizing_sample(unsigned sched_ctx_id, double start_sample);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
