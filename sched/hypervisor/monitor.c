/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.c: questions about what was noted of contexts: operations, speeds, times, their hierarchy.
 * Threads: any. Owns: nothing. Not here: who notes it (counters.c). */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"

/* A guess, when nothing has been measured: only ratios matter. */
static const double guessed_cpu_gflops = 5.0, guessed_other_gflops = 100.0;

struct sc_hypervisor_wrapper *sc_hypervisor_get_wrapper(unsigned sched_ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(sched_ctx);
    return slot ? slot->w : NULL;
}

unsigned *sc_hypervisor_get_sched_ctxs(void)
{
    return orr_hyp.sched_ctxs;
}

int sc_hypervisor_get_nsched_ctxs(void)
{
    pthread_mutex_lock(&orr_hyp.registry);
    int n = orr_hyp.nsched_ctxs;
    pthread_mutex_unlock(&orr_hyp.registry);
    return n;
}

static bool is_kind(int worker, enum starpu_worker_archtype arch)
{
    return arch == STARPU_ANY_WORKER || starpu_worker_get_type(worker) == arch;
}

int sc_hypervisor_get_nworkers_ctx(unsigned sched_ctx, enum starpu_worker_archtype arch)
{
    int *workers, count = 0;
    unsigned n = starpu_sched_ctx_get_workers_list(sched_ctx, &workers);
    for (unsigned i = 0; i < n; i++) count += is_kind(workers[i], arch);
    free(workers);
    return count;
}

/* ---- operations ---- */

static double sum_of(const double *of_workers)
{
    double sum = 0.0;
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) sum += of_workers[i];
    return sum;
}

double sc_hypervisor_get_elapsed_flops_per_sched_ctx(struct sc_hypervisor_wrapper *sc_w)
{
    pthread_mutex_lock(&sc_w->mutex);
    double sum = sum_of(sc_w->elapsed_flops);
    pthread_mutex_unlock(&sc_w->mutex);
    return sum;
}

double sc_hypervisor_get_total_elapsed_flops_per_sched_ctx(struct sc_hypervisor_wrapper *sc_w)
{
    pthread_mutex_lock(&sc_w->mutex);
    double sum = sum_of(sc_w->total_elapsed_flops);
    pthread_mutex_unlock(&sc_w->mutex);
    return sum;
}

double orr_hyp_remaining_flops(unsigned ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    if (!slot) return 0.0;
    pthread_mutex_lock(&slot->w->mutex);
    double remaining = slot->w->remaining_flops;
    pthread_mutex_unlock(&slot->w->mutex);
    return remaining;
}

unsigned long orr_hyp_unfinished(unsigned ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    if (!slot) return 0;
    pthread_mutex_lock(&slot->w->mutex);
    unsigned long n = slot->submitted > slot->executed ? slot->submitted - slot->executed : 0;
    pthread_mutex_unlock(&slot->w->mutex);
    return n;
}

void orr_hyp_begin_sample(struct orr_hyp_slot *slot)
{
    struct sc_hypervisor_wrapper *w = slot->w;
    double speeds[2] = { sc_hypervisor_get_ref_speed_per_worker_type(w, STARPU_CPU_WORKER),
                         sc_hypervisor_get_ref_speed_per_worker_type(w, orr_any_accelerator) };
    pthread_mutex_lock(&w->mutex);
    memcpy(w->ref_speed, speeds, sizeof speeds);
    memset(w->elapsed_flops, 0, sizeof w->elapsed_flops);
    memset(w->elapsed_data, 0, sizeof w->elapsed_data);
    memset(w->elapsed_tasks, 0, sizeof w->elapsed_tasks);
    memset(w->idle_time, 0, sizeof w->idle_time);
    memset(w->current_idle_time, 0, sizeof w->current_idle_time);
    memset(w->exec_time, 0, sizeof w->exec_time);
    w->start_time = w->hyp_react_start_time = starpu_timing_now();
    pthread_mutex_unlock(&w->mutex);
}

/* ---- speeds ---- */

/* Operations or time over which a context is measured. Called with the wrapper's mutex held. */
static bool sample_is_complete_locked(const struct sc_hypervisor_wrapper *w, double flops, double us)
{
    const struct sc_hypervisor_policy_config *c = w->config;
    if (orr_hyp.sample_by_time && c->time_sample > 0.0) return us >= c->time_sample;
    if (c->ispeed_ctx_sample > 0.0) return flops >= c->ispeed_ctx_sample;
    return flops > 0.0 && flops >= HYPERVISOR_REDIM_SAMPLE * w->total_flops;
}

static double gflops_per_s(double flops, double us)
{
    return us > 0.0 ? flops * 1e-9 / (us * 1e-6) : -1.0;
}

double sc_hypervisor_get_ctx_speed(struct sc_hypervisor_wrapper *sc_w)
{
    pthread_mutex_lock(&sc_w->mutex);
    double flops = sum_of(sc_w->elapsed_flops), us = starpu_timing_now() - sc_w->start_time;
    bool complete = sample_is_complete_locked(sc_w, flops, us);
    pthread_mutex_unlock(&sc_w->mutex);
    return complete ? gflops_per_s(flops, us) : -1.0;
}

/* While it runs tasks. Called with the wrapper's mutex held. */
static double worker_speed_locked(const struct sc_hypervisor_wrapper *w, unsigned worker)
{
    double flops = w->elapsed_flops[worker];
    if (flops <= 0.0 || flops < w->config->ispeed_w_sample[worker]) return -1.0;
    return gflops_per_s(flops, w->exec_time[worker]);
}

double sc_hypervisor_get_speed_per_worker(struct sc_hypervisor_wrapper *sc_w, unsigned worker)
{
    if (worker >= STARPU_NMAXWORKERS) return -1.0;
    pthread_mutex_lock(&sc_w->mutex);
    double speed = worker_speed_locked(sc_w, worker);
    pthread_mutex_unlock(&sc_w->mutex);
    return speed;
}

/* CPUs are a kind, all others the other. */
static bool is_same_sort(int worker, enum starpu_worker_archtype arch)
{
    return (starpu_worker_get_type(worker) == STARPU_CPU_WORKER) == (arch == STARPU_CPU_WORKER);
}

double sc_hypervisor_get_speed_per_worker_type(struct sc_hypervisor_wrapper *sc_w,
                                               enum starpu_worker_archtype arch)
{
    double sum = 0.0;
    int measured = 0, n = (int)starpu_worker_get_count();
    pthread_mutex_lock(&sc_w->mutex);
    for (int i = 0; i < n; i++) {
        double speed = is_same_sort(i, arch) ? worker_speed_locked(sc_w, (unsigned)i) : -1.0;
        if (speed <= 0.0) continue;
        sum += speed;
        measured++;
    }
    pthread_mutex_unlock(&sc_w->mutex);
    return measured > 0 ? sum / measured : -1.0;
}

double sc_hypervisorsc_hypervisor_get_speed_per_worker_type(struct sc_hypervisor_wrapper *sc_w,
                                                            enum starpu_worker_archtype arch)
{
    return sc_hypervisor_get_speed_per_worker_type(sc_w, arch);
}

double sc_hypervisor_get_ref_speed_per_worker_type(struct sc_hypervisor_wrapper *sc_w,
                                                   enum starpu_worker_archtype arch)
{
    double speed = sc_hypervisor_get_speed_per_worker_type(sc_w, arch);
    pthread_mutex_lock(&sc_w->mutex);
    double *ref = &sc_w->ref_speed[arch != STARPU_CPU_WORKER];
    if (speed > 0.0) *ref = speed;
    speed = *ref;
    pthread_mutex_unlock(&sc_w->mutex);
    return speed;
}

double sc_hypervisor_get_avg_speed(enum starpu_worker_archtype arch)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1), known = 0;
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        double speed = w ? sc_hypervisor_get_ref_speed_per_worker_type(w, arch) : -1.0;
        if (speed <= 0.0) continue;
        sum += speed;
        known++;
    }
    return known > 0 ? sum / known : -1.0;
}

double sc_hypervisor_get_speed(struct sc_hypervisor_wrapper *sc_w, enum starpu_worker_archtype arch)
{
    double speed = sc_hypervisor_get_ref_speed_per_worker_type(sc_w, arch);
    if (speed <= 0.0) speed = sc_hypervisor_get_avg_speed(arch);
    if (speed > 0.0) return speed;
    return arch == STARPU_CPU_WORKER ? guessed_cpu_gflops : guessed_other_gflops;
}

/* ---- times ---- */

static double extreme_exec_time(bool longest)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    double now = starpu_timing_now(), best = longest || n == 0 ? 0.0 : DBL_MAX;
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        if (!w) continue;
        pthread_mutex_lock(&w->mutex);
        double s = (now - w->start_time) * 1e-6;
        pthread_mutex_unlock(&w->mutex);
        if (longest ? s > best : s < best) best = s;
    }
    return best;
}

double sc_hypervisor_get_slowest_ctx_exec_time(void)
{
    return extreme_exec_time(true);
}

double sc_hypervisor_get_fastest_ctx_exec_time(void)
{
    return extreme_exec_time(false);
}

/* ---- hierarchy ---- */

/* The registered context above, or STARPU_NMAX_SCHED_CTXS. */
static unsigned above(unsigned ctx)
{
    unsigned up = starpu_sched_ctx_get_inheritor(ctx);
    return up != ctx && up != 0 && orr_hyp_slot(up) ? up : STARPU_NMAX_SCHED_CTXS;
}

static unsigned level_of(unsigned ctx)
{
    unsigned level = 0;
    for (unsigned up = above(ctx); up != STARPU_NMAX_SCHED_CTXS && level < STARPU_NMAX_SCHED_CTXS;
         up = above(up))
        level++;
    return level;
}

void sc_hypervisor_get_ctxs_on_level(unsigned **sched_ctxs, int *nsched_ctxs, unsigned hierarchy_level,
                                     unsigned parent_sched_ctx_id)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    *nsched_ctxs = 0;
    *sched_ctxs = orr_malloc(STARPU_NMAX_SCHED_CTXS * sizeof **sched_ctxs); /* the caller's, to free() */
    if (!*sched_ctxs) return;
    for (int i = 0; i < n; i++)
        if (level_of(ctxs[i]) == hierarchy_level &&
            (parent_sched_ctx_id >= STARPU_NMAX_SCHED_CTXS || above(ctxs[i]) == parent_sched_ctx_id))
            (*sched_ctxs)[(*nsched_ctxs)++] = ctxs[i];
}

unsigned sc_hypervisor_get_nhierarchy_levels(void)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS], levels = 0;
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    for (int i = 0; i < n; i++)
        if (level_of(ctxs[i]) + 1 > levels) levels = level_of(ctxs[i]) + 1;
    return levels;
}

void sc_hypervisor_get_leaves(unsigned *sched_ctxs, int nsched_ctxs, unsigned *leaves, int *nleaves)
{
    *nleaves = 0;
    for (int i = 0; i < nsched_ctxs; i++) {
        bool has_sons = false;
        for (int k = 0; k < nsched_ctxs; k++) has_sons |= k != i && above(sched_ctxs[k]) == sched_ctxs[i];
        if (!has_sons) leaves[(*nleaves)++] = sched_ctxs[i];
    }
}

static bool is_below(unsigned ctx, unsigned top)
{
    unsigned steps = 0;
    for (unsigned up = above(ctx); up != STARPU_NMAX_SCHED_CTXS && steps++ < STARPU_NMAX_SCHED_CTXS;
         up = above(up))
        if (up == top) return true;
    return false;
}

double sc_hypervisor_get_nready_flops_of_all_sons_of_sched_ctx(unsigned sched_ctx)
{
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int n = orr_hyp_contexts(ctxs, NULL, -1);
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        struct sc_hypervisor_wrapper *w = sc_hypervisor_get_wrapper(ctxs[i]);
        if (!w || !is_below(ctxs[i], sched_ctx)) continue;
        pthread_mutex_lock(&w->mutex);
        double left = w->submitted_flops - sum_of(w->total_elapsed_flops);
        pthread_mutex_unlock(&w->mutex);
        if (left > 0.0) sum += left;
    }
    return sum;
}
