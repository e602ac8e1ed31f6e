/* SPDX-License-Identifier: BSD-3-Clause */
/* history.c: entries by footprint, folding of measures, fitting.
 * Threads: any; looking up takes no lock, folding takes the architecture's spin lock.
 * Owns: entries, tables, fits, the workers' caches. Not here: the laws (regression.c).
 *
 * An entry is calibrated once it has orr_calibration_minimum measures. Until then each measure is folded at
 * once, so that the scheduler learns soon. Then a worker gathers measures in a small direct-mapped cache of
 * its own, behind a spin lock that only flushes contend for, and folds them when they are a sixteenth of what
 * is known, at most 32 at a time: two workers that measure the same codelet do not share a cache line. A
 * measure too far from the mean is an error; an entry with as many errors as measures was wrong, and starts
 * afresh. Regressions are fitted to the means again whenever the number of measures has grown
 * by an eighth. */
#include "core/perf/history.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/perf/perfmodel.h"
#include "core/perf/regression.h"

enum { CACHE_SLOTS = 32, FOLD_AT_MAX = 32, FOLD_FRACTION = 16, TABLE_FIRST = 16, FIT_POINTS_MAX = 256 };

struct slot {
    struct orr_history_entry *entry;
    struct orr_perf_arch *pa;
    uint32_t n, nerror;
    uint32_t fold_at; /* measures after which they are folded; 0 as 1 */
    double sum, sum2, last;
    uint64_t tag;
};

struct cache {
    ORR_ALIGNED_LINE ORR_SPIN(model_cache) lock; /* protects the slots; before orr_perf_arch.lock */
    struct slot slots[CACHE_SLOTS];
};

unsigned orr_calibration_minimum = 10;
double orr_history_max_error = 0.5;
static struct cache *_Atomic caches[STARPU_NMAXWORKERS];

/* ---- the table of entries ---- */

static void table_put(struct orr_history_table *t, struct orr_history_entry *e)
{
    for (uint32_t i = (e->footprint * 0x9e3779b1u) >> 7;; i++) {
        _Atomic(struct orr_history_entry *) *slot = &t->slots[i & t->mask];
        if (orr_load_relaxed(slot)) continue;
        orr_store_release(slot, e); /* pairs with orr_history_find */
        return;
    }
}

/* A table with room for one more entry; false when out of memory. Called with pa->lock held. */
static bool table_reserve(struct orr_perf_arch *pa)
{
    struct orr_history_table *old = orr_load_relaxed(&pa->table);
    uint32_t size = old ? old->mask + 1 : 0;
    if (2 * (pa->count + 1) <= size) return true;
    size = size ? 2 * size : TABLE_FIRST;
    struct orr_history_table *t = orr_calloc(1, sizeof *t + size * sizeof t->slots[0]);
    if (!t) return false;
    t->mask = size - 1;
    t->retired = old;
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l; l = l->next)
        table_put(t, (struct orr_history_entry *)((char *)l - offsetof(struct orr_history_entry, link)));
    orr_store_release(&pa->table, t); /* pairs with orr_history_find */
    return true;
}

/* A new entry, not yet found by others. Called with pa->lock held. */
static struct orr_history_entry *entry_create_locked(struct orr_perf_arch *pa, const struct orr_perf_key *key)
{
    if (!table_reserve(pa)) return NULL;
    struct orr_history_entry *e = orr_calloc(1, sizeof *e);
    if (!e) return NULL;
    unsigned np = key->parameters ? pa->model->nparameters : 0;
    if (np) {
        e->pub.parameters = orr_malloc(np * sizeof(double));
        if (!e->pub.parameters) {
            orr_free(e);
            return NULL;
        }
        memcpy(e->pub.parameters, key->parameters, np * sizeof(double));
    }
    e->footprint = e->pub.footprint = key->footprint;
    e->pub.size = key->size;
    e->pub.flops = key->flops;
    orr_store_relaxed(&e->mean, NAN);
    e->link = (struct starpu_perfmodel_history_list){ .next = pa->pub.list, .entry = &e->pub };
    pa->pub.list = &e->link;
    pa->count++;
    return e;
}

static struct orr_history_entry *find_or_create_locked(struct orr_perf_arch *pa,
                                                       const struct orr_perf_key *key)
{
    struct orr_history_entry *e = orr_history_find(pa, key->footprint);
    if (e) return e;
    e = entry_create_locked(pa, key);
    if (e) table_put(orr_load_relaxed(&pa->table), e);
    return e;
}

/* ---- fits ---- */

/* What it costs to walk a long history for each fit is bounded: of more entries than this, evenly spread ones
 * are taken. */
static size_t gather_points(struct orr_perf_arch *pa, struct orr_point *points,
                            const struct orr_history_entry **entries)
{
    size_t count = 0;
    unsigned stride = pa->count / FIT_POINTS_MAX + 1, i = 0;
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l && count < FIT_POINTS_MAX; l = l->next) {
        const struct starpu_perfmodel_history_entry *e = l->entry;
        if (i++ % stride || e->nsample == 0 || !(e->mean > 0)) continue;
        if (entries)
            entries[count] =
                (struct orr_history_entry *)((char *)l - offsetof(struct orr_history_entry, link));
        points[count++] =
            (struct orr_point){ .x = e->size ? (double)e->size : 1, .y = e->mean, .weight = e->nsample };
    }
    return count;
}

static void publish_fit(struct orr_perf_arch *pa, struct orr_fit *fit)
{
    fit->retired = orr_load_relaxed(&pa->fit);
    orr_store_release(&pa->fit, fit); /* pairs with orr_history_predict */
}

/* Power law, and the affine one where the model asks for it. Called with pa->lock held. */
static void fit_sizes(struct orr_perf_arch *pa, struct orr_point *points)
{
    struct starpu_perfmodel_regression_model *r = &pa->pub.regression;
    size_t count = gather_points(pa, points, NULL);
    if (count == 0) return;
    double lo = points[0].x, hi = points[0].x;
    for (size_t i = 1; i < count; i++) {
        if (points[i].x < lo) lo = points[i].x;
        if (points[i].x > hi) hi = points[i].x;
    }
    struct orr_power_sums s;
    bool power = orr_fit_power(points, count, &r->alpha, &r->beta, &s);
    r->sumlnx = s.lnx, r->sumlny = s.lny, r->sumlnx2 = s.lnx2, r->sumlnxlny = s.lnxlny;
    r->nsample = (unsigned)s.n;
    r->minx = (unsigned long)lo, r->maxx = (unsigned long)hi;
    bool enough =
        s.n >= orr_calibration_minimum && lo < 0.9 * hi; /* all sizes alike say nothing of other sizes */
    r->valid = power && enough;
    r->nl_valid = enough && orr_fit_affine_power(points, count, &r->a, &r->b, &r->c);
    bool affine = pa->model->type == STARPU_NL_REGRESSION_BASED;
    if (affine ? !r->nl_valid : !r->valid) return;
    struct orr_fit *fit = orr_calloc(1, sizeof *fit);
    if (!fit) return;
    fit->min_size = lo, fit->max_size = hi;
    fit->a = affine ? r->a : r->alpha;
    fit->b = affine ? r->b : r->beta;
    fit->c = affine ? r->c : 0;
    publish_fit(pa, fit);
}

static double monomial(const struct orr_perfmodel_state *m, unsigned i, const double *parameters)
{
    double v = 1;
    for (unsigned j = 0; j < m->nparameters; j++) {
        unsigned exponent = m->combinations[i * m->nparameters + j];
        if (exponent) v *= pow(parameters[j], exponent);
    }
    return v;
}

/* Called with pa->lock held. */
static void fit_monomials(struct orr_perf_arch *pa, struct orr_point *points,
                          const struct orr_history_entry **entries)
{
    const struct orr_perfmodel_state *m = pa->model;
    struct starpu_perfmodel_regression_model *r = &pa->pub.regression;
    size_t count = gather_points(pa, points, entries), columns = m->ncombinations + 1, rows = 0;
    double total = 0;
    for (size_t i = 0; i < count; i++) total += points[i].weight;
    r->nsample = (unsigned)total;
    if (!m->combinations || count < columns || total < orr_calibration_minimum) return;
    double *A = orr_malloc((count * columns + count) * sizeof *A);
    struct orr_fit *fit = orr_calloc(1, sizeof *fit + columns * sizeof fit->coeff[0]);
    double *coeff = r->coeff ? r->coeff : orr_calloc(columns, sizeof *coeff);
    if (!A || !fit || !coeff) goto fail;
    r->coeff = coeff, r->ncoeff = (unsigned)columns;
    double *y = A + count * columns;
    for (size_t i = 0; i < count; i++) {
        if (!entries[i]->pub.parameters) continue;
        double w = sqrt(points[i].weight) / points[i].y; /* relative errors count */
        A[rows * columns] = w;
        for (unsigned j = 1; j < columns; j++)
            A[rows * columns + j] = w * monomial(m, j - 1, entries[i]->pub.parameters);
        y[rows++] = w * points[i].y;
    }
    if (!orr_least_squares(A, y, rows, columns, fit->coeff)) goto fail;
    memcpy(coeff, fit->coeff, columns * sizeof *coeff);
    r->multi_valid = 1;
    fit->ncoeff = (unsigned)columns;
    publish_fit(pa, fit);
    orr_free(A);
    return;
fail:
    orr_free(A);
    orr_free(fit);
    if (coeff != r->coeff) orr_free(coeff);
}

static void refit_locked(struct orr_perf_arch *pa)
{
    pa->next_fit = pa->nsample + pa->nsample / 8 + 1;
    if (pa->model->type == STARPU_HISTORY_BASED || !pa->pub.list) return;
    struct orr_point *points = orr_malloc(FIT_POINTS_MAX * (sizeof *points + sizeof(void *)));
    if (!points) return;
    if (pa->model->type == STARPU_MULTIPLE_REGRESSION_BASED)
        fit_monomials(pa, points, (const struct orr_history_entry **)(points + FIT_POINTS_MAX));
    else
        fit_sizes(pa, points);
    orr_free(points);
}

void orr_history_refit(struct orr_perf_arch *pa)
{
    orr_spin_lock(&pa->lock);
    refit_locked(pa);
    orr_spin_unlock(&pa->lock);
}

/* ---- folding measures ---- */

static bool too_far(double value, double mean, double slack)
{
    if (fabs(value - mean) <= slack) return false;
    double limit = 1 + orr_history_max_error;
    return value > mean * limit || mean > value * limit;
}

static void summarise(struct starpu_perfmodel_history_entry *e)
{
    e->mean = e->sum / e->nsample;
    double variance = e->sum2 / e->nsample - e->mean * e->mean;
    e->deviation = variance > 0 ? sqrt(variance) : 0;
}

/* Adds a batch to an entry. Called with pa->lock held. */
static void fold_locked(struct orr_perf_arch *pa, struct orr_history_entry *entry, const struct slot *batch)
{
    struct starpu_perfmodel_history_entry *e = &entry->pub;
    e->duration = batch->last;
    e->tag = batch->tag;
    e->nerror += batch->nerror;
    e->nsample += batch->n;
    e->sum += batch->sum;
    e->sum2 += batch->sum2;
    if (e->nerror > 0 && e->nerror >= e->nsample) {
        e->nsample = e->nerror = 0;
        e->sum = e->sum2 = e->mean = e->deviation = 0;
        orr_store_relaxed(&entry->mean, NAN);
    } else {
        summarise(e);
        if (e->nsample >= orr_calibration_minimum) orr_store_relaxed(&entry->mean, e->mean);
    }
    pa->nsample += batch->n;
    struct orr_perfmodel_state *m = (struct orr_perfmodel_state *)pa->model;
    if (!orr_load_relaxed(&m->dirty)) orr_store_relaxed(&m->dirty, true);
    if (pa->nsample >= pa->next_fit) refit_locked(pa);
}

void orr_history_record(struct orr_perf_arch *pa, const struct orr_perf_key *key, double value, unsigned n,
                        double slack)
{
    if (!(value >= 0) || !isfinite(value) || n == 0) return;
    orr_spin_lock(&pa->lock);
    struct orr_history_entry *e = find_or_create_locked(pa, key);
    if (e) {
        struct slot batch = { .last = value, .tag = key->tag };
        if (e->pub.nsample && too_far(value, e->pub.mean, slack)) {
            batch.nerror = n;
        } else {
            batch.n = n;
            batch.sum = value * n;
            batch.sum2 = value * value * n;
        }
        fold_locked(pa, e, &batch);
    }
    orr_spin_unlock(&pa->lock);
}

static void fold_slot(struct slot *s)
{
    orr_spin_lock(&s->pa->lock);
    fold_locked(s->pa, s->entry, s);
    unsigned fold_at = s->entry->pub.nsample / FOLD_FRACTION;
    orr_spin_unlock(&s->pa->lock);
    s->fold_at = fold_at < FOLD_AT_MAX ? fold_at : FOLD_AT_MAX;
    s->n = s->nerror = 0;
    s->sum = s->sum2 = 0;
}

/* The calling worker's cache, made the first time; NULL: none. */
static struct cache *cache_of(int workerid)
{
    if (workerid < 0 || workerid >= STARPU_NMAXWORKERS) return NULL;
    struct cache *c = orr_load_acquire(&caches[workerid]);
    if (orr_likely(c != NULL)) return c;
    c = orr_malloc_aligned(ORR_CACHE_LINE, sizeof *c);
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    struct cache *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&caches[workerid], &none, c, memory_order_acq_rel,
                                                memory_order_acquire))
        return c; /* pairs with the load above */
    orr_free(c);
    return none;
}

void orr_history_record_fast(struct orr_perf_arch *pa, int workerid, const struct orr_perf_key *key,
                             double value, double slack)
{
    struct orr_history_entry *e = orr_history_find(pa, key->footprint);
    double mean = e ? orr_load_relaxed(&e->mean) : NAN;
    struct cache *c;
    if (isnan(mean) || !(value >= 0) || !isfinite(value) || !(c = cache_of(workerid))) {
        orr_history_record(pa, key, value, 1, slack);
        return;
    }
    orr_spin_lock(&c->lock);
    struct slot *s = &c->slots[((uintptr_t)e >> 6) % CACHE_SLOTS];
    if (orr_unlikely(s->entry != e)) {
        if (s->entry && s->n + s->nerror > 0) fold_slot(s);
        *s = (struct slot){ .entry = e, .pa = pa };
    }
    s->last = value;
    s->tag = key->tag;
    if (orr_unlikely(too_far(value, mean, slack))) {
        s->nerror++;
    } else {
        s->n++;
        s->sum += value;
        s->sum2 += value * value;
    }
    if (orr_unlikely(s->n + s->nerror >= s->fold_at)) fold_slot(s);
    orr_spin_unlock(&c->lock);
}

void orr_history_flush(void)
{
    for (int w = 0; w < STARPU_NMAXWORKERS; w++) {
        struct cache *c = orr_load_acquire(&caches[w]);
        if (!c) continue;
        orr_spin_lock(&c->lock);
        for (int i = 0; i < CACHE_SLOTS; i++) {
            struct slot *s = &c->slots[i];
            if (s->entry && s->n + s->nerror > 0) fold_slot(s);
            *s = (struct slot){ 0 };
        }
        orr_spin_unlock(&c->lock);
    }
}

void orr_history_caches_fini(void)
{
    for (int w = 0; w < STARPU_NMAXWORKERS; w++)
        orr_free(atomic_exchange_explicit(&caches[w], NULL, memory_order_acq_rel));
}

int orr_history_restore(struct orr_perf_arch *pa, const struct starpu_perfmodel_history_entry *saved)
{
    struct orr_perf_key key = { .footprint = saved->footprint,
                                .size = saved->size,
                                .flops = saved->flops,
                                .tag = saved->tag,
                                .parameters = saved->parameters };
    int status = 0;
    orr_spin_lock(&pa->lock);
    struct orr_history_entry *e = orr_history_find(pa, key.footprint);
    if (e)
        status = -EEXIST;
    else if (!(e = find_or_create_locked(pa, &key)))
        status = -ENOMEM;
    if (status == 0) {
        double *parameters = e->pub.parameters;
        e->pub = *saved;
        e->pub.parameters = parameters;
        if (e->pub.nsample) summarise(&e->pub);
        if (e->pub.nsample >= orr_calibration_minimum) orr_store_relaxed(&e->mean, e->pub.mean);
        pa->nsample += e->pub.nsample;
    }
    orr_spin_unlock(&pa->lock);
    return status;
}

/* ---- predicting ---- */

static double predict_fit(struct orr_perf_arch *pa, enum starpu_perfmodel_type type,
                          const struct orr_perf_key *key)
{
    const struct orr_fit *f = orr_load_acquire(&pa->fit); /* pairs with publish_fit */
    if (!f) return NAN;
    if (type == STARPU_MULTIPLE_REGRESSION_BASED) {
        if (!key->parameters || f->ncoeff == 0) return NAN;
        double v = f->coeff[0];
        for (unsigned i = 1; i < f->ncoeff; i++)
            v += f->coeff[i] * monomial(pa->model, i - 1, key->parameters);
        return v > 0 ? v : 0;
    }
    double x = key->size ? (double)key->size : 1;
    if (x < 0.9 * f->min_size || x > 1.1 * f->max_size) return NAN; /* a law holds where it was measured */
    return f->a * pow(x, f->b) + f->c;
}

double orr_history_predict(struct orr_perf_arch *pa, enum starpu_perfmodel_type type,
                           const struct orr_perf_key *key)
{
    if (type == STARPU_HISTORY_BASED) return orr_history_mean(pa, key->footprint);
    double v = predict_fit(pa, type, key);
    if (isnan(v) && type == STARPU_NL_REGRESSION_BASED) v = orr_history_mean(pa, key->footprint);
    return v;
}

void orr_history_clear(struct orr_perf_arch *pa)
{
    for (struct orr_history_table *t = orr_load_relaxed(&pa->table); t;) {
        struct orr_history_table *older = t->retired;
        orr_free(t);
        t = older;
    }
    for (struct orr_fit *f = orr_load_relaxed(&pa->fit); f;) {
        struct orr_fit *older = f->retired;
        orr_free(f);
        f = older;
    }
    for (struct starpu_perfmodel_history_list *l = pa->pub.list; l;) {
        struct starpu_perfmodel_history_list *next = l->next;
        orr_free(l->entry->parameters);
        orr_free((char *)l - offsetof(struct orr_history_entry, link));
        l = next;
    }
    orr_free(pa->pub.regression.coeff);
    pa->pub.list = NULL;
    pa->pub.regression = (struct starpu_perfmodel_regression_model){ 0 };
    orr_store_relaxed(&pa->table, NULL);
    orr_store_relaxed(&pa->fit, NULL);
    pa->count = 0;
    pa->nsample = pa->next_fit = 0;
}
