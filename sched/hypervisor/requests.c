/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c: what the program asks for: resizes at tags, a first distribution that is still owed, what it
 * knows of its tasks.
 * Threads: any. Owns: the requests. Not here: conditions (config.c). */
#include <stdlib.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"
#include "sched_ctx_hypervisor.h"

/* ---- resizes at tags ---- */

static int find_tag(const struct starpu_htbl32_node *requests, int tag)
{
    for (unsigned i = 0; i < requests->count; i++)
        if (requests->tags[i] == tag) return (int)i;
    return -1;
}

/* Called with w->mutex held. False: out of memory. */
static bool add_tag_locked(struct starpu_htbl32_node *requests, int tag)
{
    if (find_tag(requests, tag) >= 0) return true;
    if (requests->count == requests->room) {
        unsigned room = requests->room ? 2 * requests->room : 8;
        int *tags = orr_realloc(requests->tags, room * sizeof *tags);
        if (!tags) return false;
        requests->tags = tags;
        requests->room = room;
    }
    requests->tags[requests->count++] = tag;
    return true;
}

void sc_hypervisor_post_resize_request(unsigned sched_ctx, int task_tag)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_post_resize_request");
    if (!slot) return;
    if (task_tag == 0) {
        orr_error("sc_hypervisor_post_resize_request: tag 0 stands for tasks without a tag");
        return;
    }
    pthread_mutex_lock(&slot->w->mutex);
    bool done = add_tag_locked(&slot->requests, task_tag);
    pthread_mutex_unlock(&slot->w->mutex);
    if (!done) orr_error("sc_hypervisor_post_resize_request: out of memory; tag %d is lost", task_tag);
}

bool orr_hyp_requested_locked(struct orr_hyp_slot *slot, int tag, bool take)
{
    struct starpu_htbl32_node *r = &slot->requests;
    int at = find_tag(r, tag);
    if (at >= 0 && take) r->tags[at] = r->tags[--r->count];
    return at >= 0;
}

void orr_hyp_requests_free(struct orr_hyp_slot *slot)
{
    pthread_mutex_lock(&slot->w->mutex);
    orr_free(slot->requests.tags);
    memset(&slot->requests, 0, sizeof slot->requests);
    pthread_mutex_unlock(&slot->w->mutex);
}

int orrery_hypervisor_is_requested(const struct starpu_htbl32_node *resize_requests, int task_tag)
{
    for (unsigned i = 0; resize_requests && i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_hyp_slot *slot = &orr_hyp.slots[i];
        if (&slot->requests != resize_requests || !orr_hyp_slot(i)) continue;
        pthread_mutex_lock(&slot->w->mutex);
        bool found = find_tag(resize_requests, task_tag) >= 0;
        pthread_mutex_unlock(&slot->w->mutex);
        return found;
    }
    return 0;
}

/* ---- a first distribution that is owed ---- */

static struct orr_hyp_size_request size_request; /* [lock: registry] */
static _Atomic bool is_owed;                     /* there is one; changed under registry */

unsigned sc_hypervisor_get_size_req(unsigned **sched_ctxs, int *nsched_ctxs, int **workers, int *nworkers)
{
    pthread_mutex_lock(&orr_hyp.registry);
    bool pending = orr_load_relaxed(&is_owed);
    if (pending) {
        *sched_ctxs = size_request.nctxs >= 0 ? size_request.ctxs : NULL;
        *nsched_ctxs = size_request.nctxs;
        *workers = size_request.nworkers >= 0 ? size_request.workers : NULL;
        *nworkers = size_request.nworkers;
    }
    pthread_mutex_unlock(&orr_hyp.registry);
    return pending;
}

static void mark_to_be_sized(bool owed)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    for (int i = 0; i < n; i++) {
        struct orr_hyp_slot *slot = orr_hyp_slot(ctxs[i]);
        if (!slot) continue;
        pthread_mutex_lock(&slot->w->mutex);
        slot->w->to_be_sized = owed;
        pthread_mutex_unlock(&slot->w->mutex);
    }
}

void sc_hypervisor_save_size_req(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    pthread_mutex_lock(&orr_hyp.registry);
    orr_store_relaxed(&is_owed, true);
    size_request.nctxs = size_request.nworkers = -1;
    if (sched_ctxs && nsched_ctxs >= 0 && nsched_ctxs <= STARPU_NMAX_SCHED_CTXS) {
        memmove(size_request.ctxs, sched_ctxs, (size_t)nsched_ctxs * sizeof *sched_ctxs);
        size_request.nctxs = nsched_ctxs;
    }
    if (workers && nworkers >= 0 && nworkers <= STARPU_NMAXWORKERS) {
        memmove(size_request.workers, workers, (size_t)nworkers * sizeof *workers);
        size_request.nworkers = nworkers;
    }
    pthread_mutex_unlock(&orr_hyp.registry);
    mark_to_be_sized(true);
}

void sc_hypervisor_free_size_req(void)
{
    pthread_mutex_lock(&orr_hyp.registry);
    bool was = orr_load_relaxed(&is_owed);
    orr_store_relaxed(&is_owed, false);
    pthread_mutex_unlock(&orr_hyp.registry);
    if (was) mark_to_be_sized(false);
}

bool orr_hyp_take_size_request(struct orr_hyp_size_request *out, bool (*can_be_met)(unsigned *, int))
{
    if (!orr_load_relaxed(&is_owed)) return false;
    pthread_mutex_lock(&orr_hyp.registry);
    bool owed = orr_load_relaxed(&is_owed);
    *out = size_request;
    pthread_mutex_unlock(&orr_hyp.registry);
    if (!owed || !can_be_met(out->nctxs >= 0 ? out->ctxs : NULL, out->nctxs)) return false;
    pthread_mutex_lock(&orr_hyp.registry);
    owed = atomic_exchange_explicit(&is_owed, false, memory_order_relaxed);
    pthread_mutex_unlock(&orr_hyp.registry);
    if (owed) mark_to_be_sized(false);
    return owed;
}

/* ---- what the program knows of its tasks ---- */

void sc_hypervisor_set_type_of_task(struct starpu_codelet *cl, unsigned sched_ctx, uint32_t footprint,
                                    size_t data_size)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_set_type_of_task");
    if (!slot) return;
    if (!cl) {
        orr_error("sc_hypervisor_set_type_of_task: the codelet is NULL");
        return;
    }
    pthread_mutex_lock(&slot->w->mutex);
    slot->types_known = true;
    pthread_mutex_unlock(&slot->w->mutex);
    if (orr_hyp.policy.handle_submitted_job)
        orr_hyp.policy.handle_submitted_job(cl, sched_ctx, footprint, data_size);
}

static double at_least_0(double x)
{
    return x > 0.0 ? x : 0.0;
}

void sc_hypervisor_update_diff_total_flops(unsigned sched_ctx, double diff_total_flops)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_update_diff_total_flops");
    if (!slot) return;
    struct sc_hypervisor_wrapper *w = slot->w;
    pthread_mutex_lock(&w->mutex);
    w->total_flops = at_least_0(w->total_flops + diff_total_flops);
    w->remaining_flops = at_least_0(w->remaining_flops + diff_total_flops);
    w->total_flops_available = w->total_flops > 0.0;
    pthread_mutex_unlock(&w->mutex);
}

/* The difference is of the worker that calls, or else of the context's first. */
void sc_hypervisor_update_diff_elapsed_flops(unsigned sched_ctx, double diff_task_flops)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_update_diff_elapsed_flops");
    if (!slot) return;
    int *workers, self = starpu_worker_get_id();
    unsigned n = starpu_sched_ctx_get_workers_list(sched_ctx, &workers);
    int worker = self >= 0 ? self : n > 0 ? workers[0] : 0;
    free(workers);
    struct sc_hypervisor_wrapper *w = slot->w;
    pthread_mutex_lock(&w->mutex);
    w->elapsed_flops[worker] = at_least_0(w->elapsed_flops[worker] + diff_task_flops);
    w->total_elapsed_flops[worker] = at_least_0(w->total_elapsed_flops[worker] + diff_task_flops);
    w->remaining_flops = at_least_0(w->remaining_flops - diff_task_flops);
    pthread_mutex_unlock(&w->mutex);
}

void sc_hypervisor_update_resize_interval(unsigned *sched_ctxs, int nsched_ctxs, int max_nworkers)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs);
    for (int i = 0; i < n; i++) {
        struct orr_hyp_slot *slot = orr_hyp_slot(ctxs[i]);
        if (!slot) continue;
        unsigned long unfinished = orr_hyp_unfinished(ctxs[i]);
        pthread_mutex_lock(&slot->w->mutex);
        struct sc_hypervisor_policy_config *c = slot->w->config;
        bool told = slot->submitted > 0; /* else nothing is known of its tasks */
        c->max_nworkers = told && unfinished < (unsigned long)max_nworkers ? (int)unfinished : max_nworkers;
        c->min_nworkers = unfinished > 0 && c->max_nworkers > 0;
        pthread_mutex_unlock(&slot->w->mutex);
    }
}
