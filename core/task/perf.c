/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.c: footprints, expected times and energies of tasks, and measures of tasks that ran.
 * Threads: any for the public functions (they keep nothing in the task); see perf.h for the others.
 * Owns: nothing. Not here: histories and fits (core/perf), asking for data in advance (prefetch.c). */
#include "core/task/perf.h"

#include <math.h>
#include <starpu_scheduler.h>
#include <starpu_hash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/data/alloc_cache.h"
#include "core/data/coherency.h"
#include "core/data/layouts.h"
#include "core/mem/node.h"
#include "core/perf/bus.h"

enum { PARAMETERS_MAX = 64 };

/* A shorter difference from the mean says more of the clock and the caches than of the codelet. */
static const double slack_us = 0.25;

/* ---- footprints and sizes ---- */

static uint32_t hash_data(struct starpu_task *p)
{
    uint32_t crc = 0;
    if (!p->cl) return 0;
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    for (unsigned i = 0; i < n; i++) {
        const struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
        if (h && !(STARPU_TASK_GET_MODE(p, i) & STARPU_NOFOOTPRINT))
            crc = starpu_hash_crc32c_be(h->footprint, crc);
    }
    return crc;
}

uint32_t orr_task_footprint_compute(struct orr_task *t)
{
    t->footprint = hash_data(t->pub);
    t->flags |= ORR_TF_FOOTPRINT;
    return t->footprint;
}

static size_t data_bytes(struct starpu_task *p)
{
    size_t bytes = 0;
    unsigned n = p->cl ? STARPU_TASK_GET_NBUFFERS(p) : 0;
    for (unsigned i = 0; i < n; i++) bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(p, i));
    return bytes;
}

static starpu_perfmodel_per_arch_size_base per_arch_size(struct starpu_perfmodel *m, int comb, unsigned nimpl)
{
    struct orr_perfmodel_state *s = orr_perfmodel_peek(m);
    struct orr_perf_arch *pa = s && comb >= 0 ? orr_perfmodel_arch(s, comb, nimpl) : NULL;
    return pa ? pa->pub.size_base : NULL;
}

static struct starpu_perfmodel_arch *arch_of(int comb)
{
    return starpu_perfmodel_arch_comb_fetch(comb);
}

static size_t task_size(struct starpu_task *p, struct starpu_perfmodel *m, int comb, unsigned nimpl)
{
    starpu_perfmodel_per_arch_size_base base = per_arch_size(m, comb, nimpl);
    if (base) return base(p, arch_of(comb), nimpl);
    return m->size_base ? m->size_base(p, nimpl) : data_bytes(p);
}

/* parameters: room for PARAMETERS_MAX values, filled in for multiple regression. t NULL: nothing is kept in
 * the task. */
static uint32_t task_key(struct starpu_task *p, struct orr_task *t, struct starpu_perfmodel *m, int comb,
                         unsigned nimpl, double *parameters)
{
    bool multiple =
        m->type == STARPU_MULTIPLE_REGRESSION_BASED && m->parameters && m->nparameters <= PARAMETERS_MAX;
    if (multiple) m->parameters(p, parameters);
    if (m->footprint) return m->footprint(p);
    if (multiple) return starpu_hash_crc32c_be_n(parameters, m->nparameters * sizeof *parameters, 0);
    starpu_perfmodel_per_arch_size_base base = per_arch_size(m, comb, nimpl);
    if (orr_unlikely(base || m->size_base)) {
        size_t size = base ? base(p, arch_of(comb), nimpl) : m->size_base(p, nimpl);
        return starpu_hash_crc32c_be_n(&size, sizeof size, 0);
    }
    return t ? orr_task_data_footprint(t) : hash_data(p);
}

uint32_t orr_task_model_footprint(struct orr_task *t)
{
    double parameters[PARAMETERS_MAX];
    int comb = t->worker >= 0 ? orr_perf_comb_of((unsigned)t->worker) : -1;
    return task_key(t->pub, t, t->pub->cl->model, comb, t->nimpl, parameters);
}

static void fill_key(struct orr_perf_key *key, struct starpu_task *p, struct orr_task *t,
                     struct starpu_perfmodel *m, int comb, unsigned nimpl, double *parameters)
{
    key->footprint = task_key(p, t, m, comb, nimpl, parameters);
    key->size = 0;
    if (m->type != STARPU_HISTORY_BASED && m->type != STARPU_MULTIPLE_REGRESSION_BASED)
        key->size = task_size(p, m, comb, nimpl);
    key->flops = p->flops;
    key->tag = p->tag_id;
    bool multiple =
        m->type == STARPU_MULTIPLE_REGRESSION_BASED && m->parameters && m->nparameters <= PARAMETERS_MAX;
    key->parameters = multiple ? parameters : NULL;
}

/* ---- predicting ---- */

static double from_measures(struct starpu_task *p, struct orr_task *t, struct starpu_perfmodel *m, int comb,
                            unsigned nimpl)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(m);
    struct orr_perf_arch *pa = s ? orr_perfmodel_arch(s, comb, nimpl) : NULL;
    if (orr_unlikely(!pa)) return NAN;
    double parameters[PARAMETERS_MAX];
    if (orr_likely(m->type == STARPU_HISTORY_BASED))
        return orr_history_mean(pa, task_key(p, t, m, comb, nimpl, parameters));
    struct orr_perf_key key;
    fill_key(&key, p, t, m, comb, nimpl, parameters);
    return orr_history_predict(pa, m->type, &key);
}

static double from_arch_function(struct starpu_task *p, struct starpu_perfmodel *m, int comb, unsigned nimpl)
{
    if (m->arch_cost_function) return m->arch_cost_function(p, arch_of(comb), nimpl);
    struct orr_perfmodel_state *s = orr_perfmodel_get(m);
    struct orr_perf_arch *pa = s ? orr_perfmodel_arch(s, comb, nimpl) : NULL;
    return pa && pa->pub.cost_function ? pa->pub.cost_function(p, arch_of(comb), nimpl) : NAN;
}

static double from_worker_function(struct starpu_task *p, struct starpu_perfmodel *m, int comb,
                                   unsigned nimpl, int workerid)
{
    if (!m->worker_cost_function) return NAN;
    for (unsigned w = 0; workerid < 0 && w < orr_perf_worker_count; w++)
        if (orr_perf_workers[w].comb == comb) workerid = (int)w;
    return workerid >= 0 ? m->worker_cost_function(p, (unsigned)workerid, nimpl) : NAN;
}

static double expected(struct starpu_task *p, struct orr_task *t, struct starpu_perfmodel *m, int comb,
                       unsigned nimpl, int workerid)
{
    if (comb < 0 || nimpl >= STARPU_MAXIMPLEMENTATIONS) return NAN;
    if (orr_likely(orr_perfmodel_is_measured(m->type))) return from_measures(p, t, m, comb, nimpl);
    switch (m->type) {
    case STARPU_PER_ARCH: return from_arch_function(p, m, comb, nimpl);
    case STARPU_PER_WORKER: return from_worker_function(p, m, comb, nimpl, workerid);
    case STARPU_COMMON:
        return m->cost_function
                   ? m->cost_function(p, nimpl) / starpu_worker_get_relative_speedup(arch_of(comb))
                   : NAN;
    default: return NAN;
    }
}

double orr_task_expected(struct orr_task *t, struct starpu_perfmodel *m, int comb, unsigned nimpl,
                         int workerid)
{
    return expected(t->pub, t, m, comb, nimpl, workerid);
}

double starpu_worker_get_relative_speedup(struct starpu_perfmodel_arch *perf_arch)
{
    double speedup = 0;
    for (int i = 0; i < perf_arch->ndevices; i++) {
        const struct starpu_perfmodel_device *d = &perf_arch->devices[i];
        int cores = d->type == STARPU_CPU_WORKER && d->ncores > 0 ? d->ncores : 1;
        speedup += (unsigned)d->type < STARPU_NARCH ? orr_kinds[d->type].speed * cores : 1;
    }
    return speedup > 0 ? speedup : 1;
}

static double expected_on(struct starpu_task *task, struct starpu_perfmodel *m, int comb, unsigned nimpl,
                          int workerid)
{
    if (!task->cl) return 0;                                       /* nothing is computed */
    return m ? expected(task, NULL, m, comb, nimpl, workerid) : 0; /* a cost that is added to others */
}

static struct starpu_perfmodel *time_model(struct starpu_task *task)
{
    return task->cl ? task->cl->model : NULL;
}
static struct starpu_perfmodel *energy_model(struct starpu_task *task)
{
    return task->cl ? task->cl->energy_model : NULL;
}

double starpu_task_expected_length(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                   unsigned nimpl)
{
    return expected_on(task, time_model(task), orr_arch_find(arch), nimpl, -1);
}

double starpu_task_expected_energy(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                   unsigned nimpl)
{
    return expected_on(task, energy_model(task), orr_arch_find(arch), nimpl, -1);
}

static double expected_on_worker(struct starpu_task *task, struct starpu_perfmodel *m, unsigned workerid,
                                 unsigned nimpl)
{
    int comb = orr_perf_comb_of(workerid);
    return comb >= 0 ? expected_on(task, m, comb, nimpl, (int)workerid) : NAN;
}

double starpu_task_worker_expected_length(struct starpu_task *task, unsigned workerid, unsigned sched_ctx_id,
                                          unsigned nimpl)
{
    (void)sched_ctx_id;
    return expected_on_worker(task, time_model(task), workerid, nimpl);
}

double starpu_task_worker_expected_energy(struct starpu_task *task, unsigned workerid, unsigned sched_ctx_id,
                                          unsigned nimpl)
{
    (void)sched_ctx_id;
    return expected_on_worker(task, energy_model(task), workerid, nimpl);
}

/* Harmonic mean over the workers, each with its best implementation: what the machine as a whole takes for
 * such tasks, per worker. NaN when no worker's time is known. */
static double average(struct starpu_task *task, struct starpu_perfmodel *m)
{
    double speed = 0;
    unsigned known = 0;
    for (unsigned w = 0; w < orr_perf_worker_count; w++) {
        double best = NAN;
        for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
            double v = expected_on_worker(task, m, w, i);
            if (isnan(best) || v < best) best = v;
        }
        if (!(best > 0)) continue;
        speed += 1 / best;
        known++;
    }
    return known ? known / speed : NAN;
}

double starpu_task_expected_length_average(struct starpu_task *task, unsigned sched_ctx_id)
{
    (void)sched_ctx_id;
    return average(task, time_model(task));
}

double starpu_task_expected_energy_average(struct starpu_task *task, unsigned sched_ctx_id)
{
    (void)sched_ctx_id;
    return average(task, energy_model(task));
}

/* ---- transfers ---- */

double starpu_data_expected_transfer_time(starpu_data_handle_t handle, unsigned memory_node,
                                          enum starpu_data_access_mode mode)
{
    if (orr_node_count <= 1 || !(mode & STARPU_R) || memory_node >= orr_node_count || !orr_data_valid(handle))
        return 0;
    double best = INFINITY;
    size_t bytes = starpu_data_get_size(handle);
    memory_node = orr_data_place(handle, memory_node);
    orr_spin_lock(&handle->queue.lock);
    unsigned nodes = handle->nnodes;
    const struct orr_replicate *to = memory_node < nodes ? &handle->replicates[memory_node] : NULL;
    bool there = to && (to->state != ORR_INVALID || orr_load_relaxed(&to->promised) > 0);
    if (orr_unlikely(orr_map_wanted) && !there && orr_node_maps(memory_node) && handle->ops->map_data &&
        !handle->formats && handle->replicates[orr_node_home()].allocated) {
        memory_node = orr_node_home(); /* it will be used there */
        there = handle->replicates[memory_node].state != ORR_INVALID;
    }
    for (unsigned n = 0; !there && n < nodes; n++) {
        if (handle->replicates[n].state == ORR_INVALID) continue;
        double us = orr_bus_predict_us(n, memory_node, bytes);
        if (us < best) best = us;
    }
    orr_spin_unlock(&handle->queue.lock);
    return there || isinf(best) ? 0 : best;
}

static double transfer_us(struct starpu_task *p, unsigned node)
{
    double us = 0;
    unsigned n = p->cl ? STARPU_TASK_GET_NBUFFERS(p) : 0;
    for (unsigned i = 0; i < n; i++) {
        int to = orr_task_datum_node(p, i, node);
        if (to >= 0)
            us += starpu_data_expected_transfer_time(STARPU_TASK_GET_HANDLE(p, i), (unsigned)to,
                                                     STARPU_TASK_GET_MODE(p, i));
    }
    return us;
}

/* The datum that a task uses as its i-th on a node of a device; NULL: it is elsewhere. */
static struct orr_data *datum_on(struct starpu_task *p, unsigned i, unsigned node)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
    return orr_data_valid(h) && orr_task_datum_node(p, i, node) == (int)node ? h : NULL;
}

static bool was_named(struct starpu_task *p, unsigned i)
{
    for (unsigned j = 0; j < i; j++)
        if (STARPU_TASK_GET_HANDLE(p, j) == STARPU_TASK_GET_HANDLE(p, i)) return true;
    return false;
}

static bool has_memory(struct orr_data *h, unsigned node)
{
    orr_spin_lock(&h->queue.lock);
    const struct orr_replicate *r = &h->replicates[node];
    bool has = r->allocated || r->incoming;
    orr_spin_unlock(&h->queue.lock);
    return has;
}

/* What t's data take there in all (more than that where one is named twice). */
static size_t bytes_on(struct starpu_task *p, unsigned n, unsigned node)
{
    size_t all = 0;
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = datum_on(p, i, node);
        if (h) all += starpu_data_get_size(h);
    }
    return all;
}

double orr_task_room_us(struct orr_task *t, unsigned node)
{
    struct starpu_task *p = t->pub;
    size_t limit = orr_nodes[node].limit_bytes, all = 0, more = 0;
    unsigned n = p->cl ? STARPU_TASK_GET_NBUFFERS(p) : 0;
    if (limit == 0 || orr_node_is_cpu(node) || orr_node_maps(node)) return 0;
    size_t used = orr_load_relaxed(&orr_nodes[node].used_bytes), left = used < limit ? limit - used : 0;
    if (orr_likely(bytes_on(p, n, node) <= left)) return 0;
    left += orr_alloc_cache_bytes(node); /* it goes at once */
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = datum_on(p, i, node);
        if (!h || was_named(p, i)) continue;
        size_t bytes = starpu_data_get_size(h);
        all += bytes;
        if (!has_memory(h, node)) more += bytes;
    }
    if (all > limit) return INFINITY;
    if (more <= left) return 0;
    size_t back = orr_memory_write_back(node, more - left);
    return back ? orr_bus_predict_us(node, (unsigned)orr_node_below(node), back) : 0;
}

/* ---- conversions of multiformat data ---- */

/* An architecture that runs them on a node, with comb itself if it does; -1: none. */
static int comb_on(unsigned node, int comb)
{
    int found = -1;
    for (unsigned w = 0; w < orr_perf_worker_count; w++) {
        if (orr_perf_workers[w].node != node) continue;
        if (orr_perf_workers[w].comb == comb) return comb;
        if (found < 0) found = orr_perf_workers[w].comb;
    }
    return found;
}

/* What model says of a conversion; NaN: nothing. */
static double conversion_us(struct orr_data *h, const struct orr_conversion *c, int comb)
{
    struct starpu_task p = { .cl = c->codelet, .nbuffers = 1, .handles = { h } };
    return c->codelet && time_model(&p) ? expected_on(&p, time_model(&p), comb_on(c->node, comb), 0, -1)
                                        : NAN;
}

/* NaN when one is needed of which no model knows. */
static double conversions_us(struct starpu_task *p, unsigned node, int comb)
{
    double us = 0;
    unsigned n = p->cl ? STARPU_TASK_GET_NBUFFERS(p) : 0;
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
        struct orr_conversion c[ORR_CONVERSIONS_MAX];
        if (orr_likely(!h || !h->formats) || !(STARPU_TASK_GET_MODE(p, i) & STARPU_R)) continue;
        int to = orr_task_datum_node(p, i, node);
        unsigned count = to >= 0 && to < (int)h->nnodes ? orr_data_conversions(h, (unsigned)to, c) : 0;
        for (unsigned k = 0; k < count; k++) us += conversion_us(h, &c[k], comb);
    }
    return us;
}

double starpu_task_expected_conversion_time(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                            unsigned nimpl)
{
    (void)nimpl; /* of the task, not of what converts its data */
    int comb = orr_arch_find(arch);
    unsigned node = orr_node_home(); /* of several CPUs together as well */
    for (unsigned w = 0; w < orr_perf_worker_count; w++)
        if (orr_perf_workers[w].comb == comb) node = orr_perf_workers[w].node;
    return orr_node_count > 1 ? conversions_us(task, node, comb) : 0;
}

double orr_task_transfer_us(struct orr_task *t, unsigned node)
{
    return transfer_us(t->pub, node);
}

double orr_task_conversion_us(struct orr_task *t, unsigned node)
{
    double us = conversions_us(t->pub, node, -1);
    return isnan(us) ? 0 : us;
}

unsigned orr_task_missing(struct orr_task *t, unsigned node)
{
    struct starpu_task *p = t->pub;
    unsigned missing = 0, n = p->cl ? STARPU_TASK_GET_NBUFFERS(p) : 0;
    for (unsigned i = 0; i < n; i++) {
        int to = orr_task_datum_node(p, i, node);
        missing += to >= 0 && starpu_data_expected_transfer_time(STARPU_TASK_GET_HANDLE(p, i), (unsigned)to,
                                                                 STARPU_TASK_GET_MODE(p, i)) > 0;
    }
    return missing;
}

double starpu_task_expected_data_transfer_time(unsigned memory_node, struct starpu_task *task)
{
    return orr_node_count > 1 ? transfer_us(task, memory_node) : 0;
}

double starpu_task_expected_data_transfer_time_for(struct starpu_task *task, unsigned worker)
{
    if (worker >= orr_perf_worker_count) return NAN;
    return starpu_task_expected_data_transfer_time(orr_perf_workers[worker].node, task);
}

/* ---- measures ---- */

static void measured_slow(struct orr_task *t, struct orr_perfmodel_state *s, int comb, double us)
{
    struct starpu_perfmodel *m = t->pub->cl->model;
    struct orr_perf_arch *pa = orr_perfmodel_arch_make(s, comb, t->nimpl);
    if (!pa) return;
    double parameters[PARAMETERS_MAX];
    struct orr_perf_key key;
    fill_key(&key, t->pub, t, m, comb, t->nimpl, parameters);
    if (key.size == 0) key.size = task_size(t->pub, m, comb, t->nimpl);
    orr_history_record(pa, &key, us, 1, slack_us);
}

void orr_perf_task_measured_on(struct orr_task *t, int comb, uint64_t ticks)
{
    struct starpu_perfmodel *m = t->pub->cl->model;
    if (orr_unlikely(t->pub->failed)) return; /* starpu_task_ft_failed: that was no run as others are */
    struct orr_perfmodel_state *s = orr_perfmodel_peek(m);
    if (!s && orr_calibrate) s = orr_perfmodel_get(m);
    if (!s || !orr_load_relaxed(&s->benchmarking) || !orr_perfmodel_is_measured(s->type)) return;
    if (orr_unlikely(comb < 0)) return;
    struct orr_perf_arch *pa = orr_perfmodel_arch(s, comb, t->nimpl);
    double us = orr_ticks_to_us(ticks);
    if (orr_likely(pa && m->type == STARPU_HISTORY_BASED)) {
        double parameters[PARAMETERS_MAX];
        struct orr_perf_key key = { .footprint = task_key(t->pub, t, m, comb, t->nimpl, parameters),
                                    .flops = t->pub->flops,
                                    .tag = t->pub->tag_id };
        if (orr_likely(!isnan(orr_history_mean(pa, key.footprint)))) {
            orr_history_record_fast(pa, t->worker, &key, us, slack_us);
            return;
        }
    }
    measured_slow(t, s, comb, us);
}

void orr_perf_task_measured(struct orr_task *t, uint64_t ticks)
{
    if (orr_unlikely(t->worker < 0 || (unsigned)t->worker >= orr_perf_worker_count)) return;
    orr_perf_task_measured_on(t, orr_perf_workers[t->worker].comb, ticks);
}

void starpu_perfmodel_update_history_n(struct starpu_perfmodel *model, struct starpu_task *task,
                                       struct starpu_perfmodel_arch *arch, unsigned cpuid, unsigned nimpl,
                                       double average_measured, unsigned number)
{
    (void)cpuid; /* arch says more */
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    int comb = orr_arch_find(arch);
    if (comb < 0) comb = orr_arch_intern(arch->ndevices, arch->devices);
    struct orr_perf_arch *pa =
        s && orr_perfmodel_is_measured(s->type) && comb >= 0 ? orr_perfmodel_arch_make(s, comb, nimpl) : NULL;
    if (!pa) {
        orr_error("starpu_perfmodel_update_history: the model of %s takes no measures (type, implementation "
                  "%u, or memory)",
                  model->symbol ? model->symbol : "a codelet", nimpl);
        return;
    }
    double parameters[PARAMETERS_MAX];
    struct orr_perf_key key;
    fill_key(&key, task, NULL, model, comb, nimpl, parameters);
    if (key.size == 0) key.size = task_size(task, model, comb, nimpl);
    orr_history_record(pa, &key, average_measured, number, 0);
}

void starpu_perfmodel_update_history(struct starpu_perfmodel *model, struct starpu_task *task,
                                     struct starpu_perfmodel_arch *arch, unsigned cpuid, unsigned nimpl,
                                     double measured)
{
    starpu_perfmodel_update_history_n(model, task, arch, cpuid, nimpl, measured, 1);
}

uint32_t starpu_task_data_footprint(struct starpu_task *task)
{
    return hash_data(task);
}

uint32_t starpu_task_footprint(struct starpu_perfmodel *model, struct starpu_task *task,
                               struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
    double parameters[PARAMETERS_MAX];
    if (!model) return hash_data(task);
    return task_key(task, NULL, model, arch ? orr_arch_find(arch) : -1, nimpl, parameters);
}
