/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.c: which workers to move, from where to where, and whether it is time: by the contexts' conditions.
 * Threads: any. Owns: nothing. Not here: moving them (resize.c), linear programs (lp_tools.c). */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"

static bool is_kind(int worker, enum starpu_worker_archtype arch)
{
    return arch == STARPU_ANY_WORKER || starpu_worker_get_type(worker) == arch;
}

/* ---- kinds of workers ---- */

struct types_of_workers *sc_hypervisor_get_types_of_workers(int *workers, unsigned nworkers)
{
    int list[STARPU_NMAXWORKERS];
    int n = orr_hyp_workers(list, workers, workers ? (int)nworkers : -1);
    struct types_of_workers *tw = orr_calloc(1, sizeof *tw); /* the caller's, to free() */
    if (!tw) return NULL;
    for (int i = 0; i < n; i++) {
        if (starpu_worker_get_type(list[i]) == STARPU_CPU_WORKER)
            tw->ncpus++;
        else
            tw->naccelerators++;
    }
    tw->nw = (tw->ncpus > 0) + (tw->naccelerators > 0);
    return tw;
}

void sc_hypervisor_group_workers_by_type(struct types_of_workers *tw, int *total_nw)
{
    unsigned i = 0;
    if (tw->naccelerators > 0) total_nw[i++] = (int)tw->naccelerators;
    if (tw->ncpus > 0) total_nw[i] = (int)tw->ncpus;
}

enum starpu_worker_archtype sc_hypervisor_get_arch_for_index(unsigned w, struct types_of_workers *tw)
{
    return w == 0 && tw->naccelerators > 0 ? orr_any_accelerator : STARPU_CPU_WORKER;
}

unsigned sc_hypervisor_get_index_for_arch(enum starpu_worker_archtype arch, struct types_of_workers *tw)
{
    return arch == STARPU_CPU_WORKER && tw->naccelerators > 0 ? 1 : 0;
}

void sc_hypervisor_check_if_consider_max(struct types_of_workers *tw)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1), total = (int)(tw->ncpus + tw->naccelerators);
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        if (!w) continue;
        pthread_mutex_lock(&w->mutex);
        w->consider_max = w->config->max_nworkers < total;
        pthread_mutex_unlock(&w->mutex);
    }
}

/* ---- choosing workers ---- */

struct candidate {
    int worker, priority;
    double idle;
};

/* Least priority first, then the idlest, then the lowest number. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->priority != y->priority) return x->priority < y->priority ? -1 : 1;
    if (x->idle != y->idle) return x->idle > y->idle ? -1 : 1;
    return x->worker < y->worker ? -1 : x->worker > y->worker;
}

/* The movable workers of a context, in the order in which they should move. */
static int movable(unsigned ctx, enum starpu_worker_archtype arch, struct candidate *list_out)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    int *workers, count = 0;
    if (!slot) return 0;
    int n = (int)starpu_sched_ctx_get_workers_list(ctx, &workers);
    for (int i = 0; i < n; i++) {
        int worker = workers[i];
        if (!is_kind(worker, arch) || orr_hyp_is_moving(worker)) continue;
        pthread_mutex_lock(&slot->w->mutex);
        struct candidate c = { worker, slot->w->config->priority[worker],
                               slot->w->current_idle_time[worker] };
        bool fixed = slot->w->config->fixed_workers[worker] != 0;
        pthread_mutex_unlock(&slot->w->mutex);
        if (!fixed) list_out[count++] = c;
    }
    free(workers);
    qsort(list_out, (size_t)count, sizeof *list_out, compare);
    return count;
}

int *sc_hypervisor_get_idlest_workers(unsigned sched_ctx, int *nworkers, enum starpu_worker_archtype arch)
{
    struct candidate list[STARPU_NMAXWORKERS];
    int n = movable(sched_ctx, arch, list);
    if (n < *nworkers) *nworkers = n;
    if (*nworkers <= 0) {
        *nworkers = 0;
        return NULL;
    }
    int *chosen = orr_malloc((size_t)*nworkers * sizeof *chosen); /* the caller's, to free() */
    if (!chosen) *nworkers = 0;
    for (int i = 0; i < *nworkers; i++) chosen[i] = list[i].worker;
    return chosen;
}

/* How long a worker has been idle, in all contexts. */
static double idle_anywhere(int worker)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        if (!w) continue;
        pthread_mutex_lock(&w->mutex);
        sum += w->current_idle_time[worker];
        pthread_mutex_unlock(&w->mutex);
    }
    return sum;
}

int *sc_hypervisor_get_idlest_workers_in_list(int *start, int *workers, int nall_workers, int *nworkers,
                                              enum starpu_worker_archtype arch)
{
    int all[STARPU_NMAXWORKERS];
    int n = workers ? nall_workers : orr_hyp_workers(all, NULL, -1), found = 0;
    int *list = workers ? workers : all;
    int *chosen = *nworkers > 0 ? orr_malloc((size_t)*nworkers * sizeof *chosen) : NULL;
    while (chosen && found < *nworkers) {
        int best = -1;
        double idle = -1.0;
        for (int i = *start; i < n; i++) {
            double its = is_kind(list[i], arch) ? idle_anywhere(list[i]) : -1.0;
            if (its > idle) {
                idle = its;
                best = i;
            }
        }
        if (best < 0) break;
        int worker = list[best];
        list[best] = list[*start];
        list[(*start)++] = worker;
        chosen[found++] = worker;
    }
    *nworkers = found;
    if (found > 0) return chosen;
    free(chosen);
    return NULL;
}

int sc_hypervisor_get_movable_nworkers(struct sc_hypervisor_policy_config *config, unsigned sched_ctx,
                                       enum starpu_worker_archtype arch)
{
    struct candidate list[STARPU_NMAXWORKERS];
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(sched_ctx);
    if (!w) return 0;
    int n = movable(sched_ctx, arch, list);
    pthread_mutex_lock(&w->mutex);
    int least = config->min_nworkers;
    pthread_mutex_unlock(&w->mutex);
    int above_least = sc_hypervisor_get_nworkers_ctx(sched_ctx, STARPU_ANY_WORKER) - least;
    if (n > above_least) n = above_least;
    return n > 0 ? n : 0;
}

int sc_hypervisor_compute_nworkers_to_move(unsigned req_sched_ctx)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(req_sched_ctx);
    if (!w) return 0;
    int total = sc_hypervisor_get_nworkers_ctx(req_sched_ctx, STARPU_ANY_WORKER);
    pthread_mutex_lock(&w->mutex);
    int granularity = w->config->granularity, most = w->config->max_nworkers;
    pthread_mutex_unlock(&w->mutex);
    int wanted = total - most > granularity ? total - most : granularity;
    int possible = sc_hypervisor_get_movable_nworkers(w->config, req_sched_ctx, STARPU_ANY_WORKER);
    return wanted < possible ? wanted : possible;
}

/* ---- choosing contexts ---- */

/* How many more workers a context may get. */
static int room_in(unsigned ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    if (!slot || !orr_load_relaxed(&slot->allowed)) return 0;
    pthread_mutex_lock(&slot->w->mutex);
    int most = slot->w->config->max_nworkers;
    pthread_mutex_unlock(&slot->w->mutex);
    int room = most - sc_hypervisor_get_nworkers_ctx(ctx, STARPU_ANY_WORKER);
    return room > 0 ? room : 0;
}

/* The priorities of its workers together. */
static long priority_of(unsigned ctx)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctx);
    int *workers;
    long sum = 0;
    unsigned n = starpu_sched_ctx_get_workers_list(ctx, &workers);
    if (w) pthread_mutex_lock(&w->mutex);
    for (unsigned i = 0; w && i < n; i++) sum += w->config->priority[workers[i]];
    if (w) pthread_mutex_unlock(&w->mutex);
    free(workers);
    return sum;
}

static bool needs_workers(unsigned ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    return slot &&
           (orr_load_relaxed(&slot->starving) ||
            orr_hyp_unfinished(ctx) > (unsigned long)sc_hypervisor_get_nworkers_ctx(ctx, STARPU_ANY_WORKER));
}

/* The least in priority, then in workers, of those with room; those in need only, or all. */
static unsigned find_receiver(unsigned sender, int needed_room, bool in_need)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS], best = STARPU_NMAX_SCHED_CTXS;
    int n = orr_hyp_contexts(ctxs, NULL, -1), best_workers = INT_MAX;
    long best_priority = LONG_MAX;
    for (int i = 0; i < n; i++) {
        if (ctxs[i] == sender || room_in(ctxs[i]) < needed_room || (in_need && !needs_workers(ctxs[i])))
            continue;
        long priority = priority_of(ctxs[i]);
        int workers = sc_hypervisor_get_nworkers_ctx(ctxs[i], STARPU_ANY_WORKER);
        if (priority > best_priority || (priority == best_priority && workers >= best_workers)) continue;
        best = ctxs[i];
        best_priority = priority;
        best_workers = workers;
    }
    return best;
}

unsigned sc_hypervisor_find_lowest_prio_sched_ctx(unsigned req_sched_ctx, int nworkers_to_move)
{
    return find_receiver(req_sched_ctx, nworkers_to_move > 1 ? nworkers_to_move : 1, false);
}

/* ---- resizing ---- */

bool orr_hyp_may_resize(unsigned ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    if (!slot || !sc_hypervisor_can_resize(ctx)) return false;
    pthread_mutex_lock(&slot->w->mutex);
    double total = slot->w->total_flops, done = total - slot->w->remaining_flops;
    bool enough = slot->executed >= (unsigned long)slot->min_tasks &&
                  (total <= 0.0 || done >= total * orr_hyp.start_percent / 100.0);
    pthread_mutex_unlock(&slot->w->mutex);
    return enough;
}

/* Called with the role. */
static unsigned resize_locked(unsigned sender, unsigned receiver, unsigned now)
{
    int n = sc_hypervisor_compute_nworkers_to_move(sender), room = room_in(receiver);
    if (n > room) n = room;
    if (n <= 0) return 0;
    int *workers = sc_hypervisor_get_idlest_workers(sender, &n, STARPU_ANY_WORKER);
    if (!workers) return 0;
    sc_hypervisor_move_workers(sender, receiver, workers, (unsigned)n, now);
    free(workers);
    return 1;
}

unsigned sc_hypervisor_policy_resize(unsigned sender_sched_ctx, unsigned receiver_sched_ctx,
                                     unsigned force_resize, unsigned now)
{
    uint64_t start;
    struct orr_hyp_slot *from = orr_hyp_slot(sender_sched_ctx);
    if (!from || !orr_hyp_slot(receiver_sched_ctx) || !orr_load_relaxed(&from->allowed)) return 0;
    if (!force_resize && !orr_hyp_may_resize(sender_sched_ctx)) return 0;
    if (!orr_hyp_begin_decision(&start, force_resize != 0)) return 0;
    unsigned done = force_resize || orr_hyp_may_resize(sender_sched_ctx)
                        ? resize_locked(sender_sched_ctx, receiver_sched_ctx, now)
                        : 0;
    orr_hyp_end_decision(start);
    return done;
}

unsigned sc_hypervisor_policy_resize_to_unknown_receiver(unsigned sender_sched_ctx, unsigned now)
{
    if (!orr_hyp_may_resize(sender_sched_ctx)) return 0;
    unsigned receiver = find_receiver(sender_sched_ctx, 1, true);
    if (receiver == STARPU_NMAX_SCHED_CTXS) return 0;
    return sc_hypervisor_policy_resize(sender_sched_ctx, receiver, 0, now);
}

/* ---- is it time? ---- */

unsigned sc_hypervisor_get_resize_criteria(void)
{
    return orr_load_acquire(&orr_hyp.running) ? orr_hyp.criteria : SC_NOTHING;
}

unsigned sc_hypervisor_check_idle(unsigned sched_ctx, int worker)
{
    struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(sched_ctx);
    if (!w || worker < 0 || worker >= STARPU_NMAXWORKERS) return 0;
    pthread_mutex_lock(&w->mutex);
    bool idle = w->current_idle_time[worker] > w->config->max_idle[worker];
    pthread_mutex_unlock(&w->mutex);
    return idle;
}

unsigned sc_hypervisor_criteria_fulfilled(unsigned sched_ctx, int worker)
{
    switch (sc_hypervisor_get_resize_criteria()) {
    case SC_IDLE: return sc_hypervisor_check_idle(sched_ctx, worker);
    case SC_SPEED: return sc_hypervisor_check_speed_gap_btw_ctxs(NULL, -1, NULL, -1);
    default: return 0;
    }
}

static bool differs(double speed, double should_be)
{
    return should_be > 0.0 && fabs(speed - should_be) / should_be * 100.0 > orr_hyp.max_gap_percent;
}

/* Speeds that contexts should have to end together: what remains over the least time. False: not known. */
static bool optimal_speeds(unsigned *ctxs, int n, int *workers, int nworkers, double *optimal_out)
{
    if (!orr_lp_available()) return false;
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        if (!w || !w->total_flops_available) return false;
    }
    double tmax = sc_hypervisor_lp_get_tmax(nworkers, workers);
    for (int i = 0; i < n; i++)
        optimal_out[i] = tmax > 0.0 ? orr_hyp_remaining_flops(ctxs[i]) * 1e-9 / tmax : 0.0;
    return tmax > 0.0;
}

unsigned sc_hypervisor_check_speed_gap_btw_ctxs(unsigned *sched_ctxs, int nsched_ctxs, int *workers,
                                                int nworkers)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    double speeds[STARPU_NMAX_SCHED_CTXS], optimal[STARPU_NMAX_SCHED_CTXS], fastest = 0.0;
    int n = orr_hyp_contexts(ctxs, sched_ctxs, nsched_ctxs);
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        speeds[i] = w ? sc_hypervisor_get_ctx_speed(w) : -1.0;
        if (speeds[i] < 0.0 && needs_workers(ctxs[i]) &&
            sc_hypervisor_get_nworkers_ctx(ctxs[i], STARPU_ANY_WORKER) == 0)
            speeds[i] = 0.0; /* it cannot get any faster by itself */
        if (speeds[i] > fastest) fastest = speeds[i];
    }
    bool known = optimal_speeds(ctxs, n, workers, nworkers, optimal);
    for (int i = 0; i < n; i++)
        if (speeds[i] >= 0.0 && differs(speeds[i], known ? optimal[i] : fastest)) return 1;
    return 0;
}

unsigned sc_hypervisor_check_speed_gap_btw_ctxs_on_level(int level, int *workers_in, int nworkers_in,
                                                         unsigned parent_sched_ctx_id, unsigned **sched_ctxs,
                                                         int *nsched_ctxs)
{
    sc_hypervisor_get_ctxs_on_level(sched_ctxs, nsched_ctxs, (unsigned)level, parent_sched_ctx_id);
    if (*nsched_ctxs == 0) return 0;
    return sc_hypervisor_check_speed_gap_btw_ctxs(*sched_ctxs, *nsched_ctxs, workers_in, nworkers_in);
}
