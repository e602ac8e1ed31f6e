/* SPDX-License-Identifier: BSD-3-Clause */
/* idle.c: strategy: when a worker has been idle for longer than its limit, its context gives workers to one
 * with more unfinished tasks than workers.
 * Threads: workers. Owns: nothing. Not here: which workers and how many (tools.c). */
#include "sched/hypervisor/hypervisor.h"

static void on_idle_cycle(unsigned ctx, int worker)
{
    if (sc_hypervisor_check_idle(ctx, worker)) sc_hypervisor_policy_resize_to_unknown_receiver(ctx, 0);
}

const struct sc_hypervisor_policy orr_hyp_idle = { .name = "idle", .handle_idle_cycle = on_idle_cycle };
