/* SPDX-License-Identifier: BSD-3-Clause */
/* first_names.c: the hypervisor under its first names: each function is another name of one in
 * sc_hypervisor*.h, with the types it had then.
 * Threads: as those. Owns: nothing. Not here: anything that is done. */
#include <stdarg.h>

#include "sched/hypervisor/hypervisor.h"
#include "sched_ctx_hypervisor.h"

struct starpu_performance_counters *sched_ctx_hypervisor_init(
    struct starpu_sched_ctx_hypervisor_policy *policy)
{
    struct sc_hypervisor_policy same = { .name = policy ? policy->name : NULL };
    bool custom = policy && policy->custom;
    if (custom) {
        same.custom = 1;
        same.handle_idle_cycle = policy->handle_idle_cycle;
        same.handle_pushed_task = policy->handle_pushed_task;
        same.handle_idle_end = policy->handle_idle_end;
    }
    struct starpu_performance_counters *counters = sc_hypervisor_init(policy ? &same : NULL);
    if (counters && custom) { /* no context is registered yet: nobody looks */
        orr_hyp.first_popped = policy->handle_poped_task;
        orr_hyp.first_post_exec = policy->handle_post_exec_hook;
    }
    return counters;
}

void sched_ctx_hypervisor_shutdown(void)
{
    sc_hypervisor_shutdown();
}

void sched_ctx_hypervisor_register_ctx(unsigned sched_ctx, double total_flops)
{
    sc_hypervisor_register_ctx(sched_ctx, total_flops);
}

void sched_ctx_hypervisor_unregister_ctx(unsigned sched_ctx)
{
    sc_hypervisor_unregister_ctx(sched_ctx);
}

void sched_ctx_hypervisor_stop_resize(unsigned sched_ctx)
{
    sc_hypervisor_stop_resize(sched_ctx);
}

void sched_ctx_hypervisor_start_resize(unsigned sched_ctx)
{
    sc_hypervisor_start_resize(sched_ctx);
}

void sched_ctx_hypervisor_resize(unsigned sched_ctx, int task_tag)
{
    sc_hypervisor_post_resize_request(sched_ctx, task_tag);
}

void sched_ctx_hypervisor_ioctl(unsigned sched_ctx, ...)
{
    va_list ap;
    va_start(ap, sched_ctx);
    orr_hyp_ctl(sched_ctx, "sched_ctx_hypervisor_ioctl", &ap);
    va_end(ap);
}

struct starpu_sched_ctx_hypervisor_policy_config *sched_ctx_hypervisor_get_config(unsigned sched_ctx)
{
    return sc_hypervisor_get_config(sched_ctx);
}

void sched_ctx_hypervisor_set_config(unsigned sched_ctx,
                                     struct starpu_sched_ctx_hypervisor_policy_config *config)
{
    sc_hypervisor_set_config(sched_ctx, config);
}

void sched_ctx_hypervisor_move_workers(unsigned sender_sched_ctx, unsigned receiver_sched_ctx,
                                       int *workers_to_move, unsigned nworkers_to_move, unsigned now)
{
    sc_hypervisor_move_workers(sender_sched_ctx, receiver_sched_ctx, workers_to_move, nworkers_to_move, now);
}

int *sched_ctx_hypervisor_get_sched_ctxs(void)
{
    return (int *)sc_hypervisor_get_sched_ctxs(); /* small numbers: the same in both types */
}

int sched_ctx_hypervisor_get_nsched_ctxs(void)
{
    return sc_hypervisor_get_nsched_ctxs();
}

struct starpu_sched_ctx_hypervisor_wrapper *sched_ctx_hypervisor_get_wrapper(unsigned sched_ctx)
{
    return sc_hypervisor_get_wrapper(sched_ctx);
}

double sched_ctx_hypervisor_get_elapsed_flops_per_sched_ctx(struct starpu_sched_ctx_hypervisor_wrapper *sc_w)
{
    return sc_hypervisor_get_elapsed_flops_per_sched_ctx(sc_w);
}

char *sched_ctx_hypervisor_get_policy(void)
{
    return (char *)sc_hypervisor_get_policy();
}
