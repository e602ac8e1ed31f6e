/* SPDX-License-Identifier: BSD-3-Clause */
/* elsewhere.c: see elsewhere.h.
 * Threads: the worker's that had the task. Owns: which workers a task has tried (in its rare half). Not here:
 * what of its data is still as it was (core/data/coherency.c).
 *
 * A task goes to the policy again with a set of workers (starpu_task.workerids) that leaves out those where
 * it failed; policies know such sets. The program finds its own again when the task completes.
 *
 * A device that is taken out keeps its workers in their contexts, so that no task waits for them for ever:
 * what they have goes to others, and what nobody else can run fails there. Policies are told so task by task,
 * by such a set: they go on as if these workers could not run it. What only its memory has is written back
 * while it may still answer. */
#include "core/worker/elsewhere.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/worker/inputs.h"
#include "core/worker/policy.h"

enum { FAILURES_IN_A_ROW = 3 };

/* ---- devices ---- */

static void take_out(struct orr_device *d)
{
    if (orr_exchange_acq_rel(&d->out, true)) return;
    orr_warn("device %s failed %d times in a row and is taken out: its tasks go to other workers, or fail; "
             "data that only it has is brought back if it can be, and named where it cannot",
             d->name, FAILURES_IN_A_ROW);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) orr_store_relaxed(&orr_contexts[i].avoids, true);
    if (!orr_node_is_cpu(d->node)) orr_memory_empty(d->node);
}

void orr_device_failed(struct orr_device *d, bool kernel)
{
    if (orr_node_is_cpu(d->node) && !kernel) return;
    unsigned copies = orr_load_relaxed(&orr_nodes[d->node].failures);
    unsigned kernels = kernel ? orr_add_relaxed(&d->failures, 1u) + 1 : 0;
    if (kernels + copies >= FAILURES_IN_A_ROW) take_out(d);
}

void orr_device_worked(struct orr_device *d)
{
    if (orr_unlikely(orr_load_relaxed(&d->failures) > 0)) orr_store_relaxed(&d->failures, 0u);
}

/* ---- tasks ---- */

/* What t has tried; NULL: out of memory. */
static struct orr_task_tried *tried_get(struct orr_task *t)
{
    struct orr_task_rare *r = orr_task_rare_get(t);
    if (!r) return NULL;
    if (r->tried) return r->tried;
    struct orr_task_tried *tried = orr_calloc(1, sizeof *tried);
    if (!tried) return NULL;
    tried->workerids = t->pub->workerids;
    tried->workerids_len = t->pub->workerids_len;
    t->flags |= ORR_TF_TRIED;
    return r->tried = tried;
}

static bool was_allowed(const struct orr_task_tried *tried, unsigned id)
{
    return tried->workerids_len == 0 ||
           (id / 32 < tried->workerids_len && (tried->workerids[id / 32] >> (id % 32) & 1));
}

/* Leaves out the workers for whom it would be the same again (w NULL: those of devices that are out). Returns
 * whether somebody is left who can. */
static bool leave_out(struct orr_task *t, struct orr_task_tried *tried, const struct orr_worker *w,
                      enum orr_trouble trouble)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    bool left = false;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *other = &orr_workers[i];
        bool same = w && (other->device == w->device || (trouble == ORR_NO_INPUTS && other->node == w->node));
        if (same || !was_allowed(tried, i) || orr_device_is_out(other->device))
            tried->left_out[i / 32] |= UINT32_C(1) << (i % 32);
        tried->set[i / 32] = ~tried->left_out[i / 32];
    }
    t->pub->workerids = tried->set;
    t->pub->workerids_len = ORR_TRIED_WORDS;
    for (unsigned i = 0; i < orr_worker_count && !left; i++) {
        unsigned nimpl;
        left = orr_ctx_has(ctx, i) && orr_worker_can_run(&orr_workers[i], t, &nimpl);
    }
    return left;
}

void orr_task_avoid_devices_out(struct orr_task *t)
{
    struct orr_ctx *ctx = &orr_contexts[t->sched_ctx];
    bool by_others = false, by_those = false;
    for (unsigned i = 0; i < orr_worker_count && !(by_others && by_those); i++) {
        struct orr_worker *w = &orr_workers[i];
        bool *by = orr_device_is_out(w->device) ? &by_those : &by_others;
        unsigned nimpl;
        if (!*by) *by = orr_ctx_has(ctx, i) && orr_worker_can_run(w, t, &nimpl);
    }
    struct orr_task_tried *tried = by_others && by_those ? tried_get(t) : NULL;
    if (tried) leave_out(t, tried, NULL, ORR_DEVICE_OUT);
}

/* Whether t was given to the scheduler again. */
static bool goes_elsewhere(struct orr_worker *w, struct orr_task *t, enum orr_trouble trouble, int status)
{
    static const char *const what[] = { [ORR_NO_INPUTS] = "its data could not be brought",
                                        [ORR_NOT_STARTED] = "its kernel could not be started",
                                        [ORR_KERNEL_FAILED] = "its kernel failed",
                                        [ORR_DEVICE_OUT] = "its device was taken out" };
    if (trouble == ORR_KERNEL_SPOILED || status == -ENODATA) return false;
    if (t->pub->execute_on_a_specific_worker || (t->flags & ORR_TF_ANYWHERE)) return false;
    struct orr_task_tried *tried = tried_get(t);
    if (!tried || !leave_out(t, tried, w, trouble)) return false;
    if (trouble != ORR_DEVICE_OUT && status == -EIO)
        orr_warn("task %s did not run on worker %d (%s): %s; it goes to another worker", orr_task_name(t),
                 w->id, w->name, what[trouble]);
    if (!(t->flags & ORR_TF_UNCOUNTED) && orr_load_relaxed(&t->state) == ORR_TASK_RUNNING)
        t->pub->cl->per_worker_stats[w->id]--;
    t->nimpl_valid = 0;
    t->worker = -1;
    t->pub->status = STARPU_TASK_READY;
    orr_store_relaxed(&t->state, ORR_TASK_READY);
    orr_task_hooks.push(t);
    return true;
}

static void say(struct orr_worker *w, struct orr_task *t, enum orr_trouble trouble, int status)
{
    if (trouble == ORR_NO_INPUTS) {
        orr_task_without_inputs(w, t, status);
        return;
    }
    orr_task_fail(t, status);
    if (trouble == ORR_DEVICE_OUT)
        orr_fatal(
            "task %s can run on worker %d (%s) or its like only, and that device was taken out after %d "
            "failures; what it was to write has no value",
            orr_task_name(t), w->id, w->name, FAILURES_IN_A_ROW);
    else
        orr_fatal(
            "task %s on worker %d (%s): its kernel failed (%s), and %s; what it was to write has no value",
            orr_task_name(t), w->id, w->name, strerror(-status),
            trouble == ORR_KERNEL_SPOILED ? "no other copy of what it changes in place is left"
                                          : "no other worker can run it");
}

void orr_task_did_not_run(struct orr_worker *w, struct orr_task *t, enum orr_trouble trouble, int status)
{
    if (goes_elsewhere(w, t, trouble, status)) return;
    say(w, t, trouble, status);
    orr_worker_finish(w, t);
}
