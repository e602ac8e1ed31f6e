/* SPDX-License-Identifier: BSD-3-Clause */
/* perfmodel.c: the registry of models and what each knows by architecture.
 * Threads: any; making a state takes the registry's mutex, using one takes no lock.
 * Owns: states, the calibration mode. Not here: measures (history.c), files (store.c), display (print.c),
 * functions that need a task (core/task/perf.c). */
#include "core/perf/perfmodel.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/perf/store.h"

int orr_calibrate;
static ORR_MUTEX(models) registry = PTHREAD_MUTEX_INITIALIZER; /* protects the states and their users */
static struct orr_perfmodel_state *states;                     /* [lock: registry] */

struct starpu_perfmodel starpu_perfmodel_nop = { .type = STARPU_PERFMODEL_INVALID };

/* ---- states ---- */

static bool copy_monomials(struct orr_perfmodel_state *s, const struct starpu_perfmodel *m)
{
    s->nparameters = m->nparameters;
    s->ncombinations = m->combinations ? m->ncombinations : m->nparameters;
    if (s->nparameters == 0) return true;
    s->combinations = orr_calloc((size_t)s->ncombinations * s->nparameters, sizeof *s->combinations);
    if (!s->combinations) return false;
    for (unsigned i = 0; i < s->ncombinations; i++) {
        unsigned *row = s->combinations + (size_t)i * s->nparameters;
        if (m->combinations)
            memcpy(row, m->combinations[i], s->nparameters * sizeof *row);
        else
            row[i] = 1; /* linear in each parameter */
    }
    return true;
}

struct orr_perfmodel_state *orr_perfmodel_state_create(const struct starpu_perfmodel *m)
{
    struct orr_perfmodel_state *s = orr_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->type = m->type;
    s->symbol = orr_strdup(m->symbol);
    s->path = orr_strdup(m->path);
    bool complete = (s->symbol || !m->symbol) && (s->path || !m->path);
    if (complete && m->type == STARPU_MULTIPLE_REGRESSION_BASED) complete = copy_monomials(s, m);
    orr_store_relaxed(&s->benchmarking, orr_calibrate != 0);
    if (complete) return s;
    orr_perfmodel_state_destroy(s);
    return NULL;
}

static void clear_one(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg)
{
    (void)comb;
    (void)nimpl;
    (void)arg;
    orr_history_clear(pa);
}

void orr_perfmodel_state_clear(struct orr_perfmodel_state *s)
{
    orr_history_flush(); /* no cache may go on naming its entries */
    orr_perfmodel_each(s, clear_one, NULL);
    orr_store_relaxed(&s->dirty, false);
}

void orr_perfmodel_state_destroy(struct orr_perfmodel_state *s)
{
    orr_perfmodel_state_clear(s);
    for (int comb = 0; comb < ORR_ARCH_MAX; comb++) {
        struct orr_perf_impls *impls = orr_load_relaxed(&s->arch[comb]);
        for (unsigned i = 0; impls && i < STARPU_MAXIMPLEMENTATIONS; i++)
            orr_free(orr_load_relaxed(&impls->impl[i]));
        orr_free(impls);
    }
    orr_free(s->combinations);
    orr_free(s->symbol);
    orr_free(s->path);
    orr_free(s);
}

void orr_perfmodel_each(struct orr_perfmodel_state *s, orr_perf_arch_fn fn, void *arg)
{
    int count = orr_arch_count();
    for (int comb = 0; comb < count; comb++) {
        for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
            struct orr_perf_arch *pa = orr_perfmodel_arch(s, comb, i);
            if (pa) fn(pa, comb, i, arg);
        }
    }
}

struct orr_perf_arch *orr_perfmodel_arch_make(struct orr_perfmodel_state *s, int comb, unsigned nimpl)
{
    if (comb < 0 || comb >= ORR_ARCH_MAX || nimpl >= STARPU_MAXIMPLEMENTATIONS) return NULL;
    struct orr_perf_impls *impls = orr_load_acquire(&s->arch[comb]);
    if (!impls) {
        struct orr_perf_impls *fresh = orr_calloc(1, sizeof *fresh);
        if (!fresh) return NULL;
        if (atomic_compare_exchange_strong_explicit(&s->arch[comb], &impls, fresh, memory_order_acq_rel,
                                                    memory_order_acquire))
            impls = fresh; /* pairs with orr_perfmodel_arch */
        else
            orr_free(fresh);
    }
    struct orr_perf_arch *pa = orr_load_acquire(&impls->impl[nimpl]);
    if (pa) return pa;
    struct orr_perf_arch *fresh = orr_calloc(1, sizeof *fresh);
    if (!fresh) return NULL;
    fresh->model = s;
    if (atomic_compare_exchange_strong_explicit(&impls->impl[nimpl], &pa, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh; /* pairs with orr_perfmodel_arch */
    orr_free(fresh);
    return pa;
}

void orr_perfmodel_want_calibration(struct orr_perfmodel_state *s)
{
    if (orr_load_relaxed(&s->benchmarking)) return;
    if (atomic_exchange_explicit(&s->benchmarking, true, memory_order_relaxed)) return;
    orr_info("the performance model of %s lacks measures: this run makes them",
             s->symbol ? s->symbol : "a codelet without symbol");
}

/* ---- the registry ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* A state that m can share: same type and file. Called with registry held. */
static struct orr_perfmodel_state *find_shared_locked(const struct starpu_perfmodel *m)
{
    if (!m->symbol || !orr_perfmodel_is_measured(m->type)) return NULL;
    for (struct orr_perfmodel_state *s = states; s; s = s->next)
        if (s->type == m->type && same_text(s->symbol, m->symbol) && same_text(s->path, m->path) &&
            (m->type != STARPU_MULTIPLE_REGRESSION_BASED || s->nparameters == m->nparameters))
            return s;
    return NULL;
}

/* Called with registry held. */
static int attach_locked(struct starpu_perfmodel *m, struct orr_perfmodel_state *s)
{
    struct orr_model_user *u = orr_malloc(sizeof *u);
    if (!u) return -ENOMEM;
    *u = (struct orr_model_user){ .model = m, .next = s->users };
    s->users = u;
    m->is_init = 1;
    m->is_loaded = 1;
    m->benchmarking = orr_load_relaxed(&s->benchmarking);
    orr_store_release((struct orr_perfmodel_state * _Atomic *)&m->state,
                      s); /* pairs with orr_perfmodel_peek */
    return 0;
}

int orr_perfmodel_attach(struct starpu_perfmodel *m, struct orr_perfmodel_state *s)
{
    pthread_mutex_lock(&registry);
    int status = attach_locked(m, s);
    if (status == 0) {
        s->next = states;
        states = s;
    }
    pthread_mutex_unlock(&registry);
    return status;
}

/* A new state with what the model's file says. Called with registry held. */
static struct orr_perfmodel_state *make_locked(const struct starpu_perfmodel *m)
{
    struct orr_perfmodel_state *s = orr_perfmodel_state_create(m);
    if (!s) return NULL;
    char path[4096];
    if (orr_perfmodel_is_measured(m->type) && orr_calibrate < 2) {
        if (m->path)
            orr_store_load(s, m->path);
        else if (m->symbol && orr_store_find(m->symbol, path, sizeof path) == 0)
            orr_store_load(s, path);
    }
    s->next = states;
    states = s;
    return s;
}

struct orr_perfmodel_state *orr_perfmodel_get_slow(struct starpu_perfmodel *m)
{
    if (m->type <= STARPU_PERFMODEL_INVALID || m->type > STARPU_MULTIPLE_REGRESSION_BASED) return NULL;
    pthread_mutex_lock(&registry);
    struct orr_perfmodel_state *s = orr_perfmodel_peek(m);
    if (!s) {
        s = find_shared_locked(m);
        if (!s) s = make_locked(m);
        if (s && attach_locked(m, s) != 0) s = NULL;
    }
    pthread_mutex_unlock(&registry);
    if (!s)
        orr_warn("no memory for the performance model of %s: its tasks are not predicted for now",
                 m->symbol ? m->symbol : "a codelet");
    return s;
}

/* Called with registry held. */
static void detach_locked(struct orr_model_user *u)
{
    u->model->is_init = u->model->is_loaded = u->model->benchmarking = 0;
    orr_store_release((struct orr_perfmodel_state * _Atomic *)&u->model->state, NULL);
    orr_free(u);
}

/* Called with registry held. */
static void remove_state_locked(struct orr_perfmodel_state *s)
{
    struct orr_perfmodel_state **p = &states;
    while (*p && *p != s) p = &(*p)->next;
    if (*p) *p = s->next;
    orr_perfmodel_state_destroy(s);
}

int starpu_perfmodel_deinit(struct starpu_perfmodel *model)
{
    pthread_mutex_lock(&registry);
    struct orr_perfmodel_state *s = orr_perfmodel_peek(model);
    struct orr_model_user **p = s ? &s->users : NULL;
    while (p && *p && (*p)->model != model) p = &(*p)->next;
    if (p && *p) {
        struct orr_model_user *u = *p;
        *p = u->next;
        if (model->symbol == s->symbol) model->symbol = NULL; /* lent by starpu_perfmodel_load_file */
        detach_locked(u);
        if (!s->users) remove_state_locked(s);
    }
    pthread_mutex_unlock(&registry);
    return 0;
}

int starpu_perfmodel_unload_model(struct starpu_perfmodel *model)
{
    return starpu_perfmodel_deinit(model);
}

void starpu_perfmodel_init(struct starpu_perfmodel *model)
{
    orr_perfmodel_get(model);
}

static void save_state(struct orr_perfmodel_state *s)
{
    char path[4096];
    if (!s->symbol && !s->path) return;
    orr_history_flush();
    int status = s->path ? (strlen(s->path) < sizeof path ? (strcpy(path, s->path), 0) : -ENAMETOOLONG)
                         : orr_store_path(s->symbol, path, sizeof path);
    if (status != 0) {
        if (s->path || orr_store_directory(path, sizeof path, false) != 0) path[0] = 0;
        orr_warn(
            "the performance model of %s is not saved%s%s: %s; set STARPU_HOME or STARPU_PERF_MODEL_DIR to a "
            "folder you can write",
            s->symbol ? s->symbol : s->path, *path ? " in " : "", path,
            status == -ENOENT && !*path ? "neither STARPU_HOME nor HOME is set" : strerror(-status));
        return;
    }
    orr_store_relaxed(&s->dirty, false);
    orr_store_save(s, path);
}

void starpu_save_history_based_model(struct starpu_perfmodel *model)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    if (s && orr_perfmodel_is_measured(s->type)) save_state(s);
}

int starpu_perfmodel_load_file(const char *filename, struct starpu_perfmodel *model)
{
    struct starpu_perfmodel seed = *model;
    seed.path = NULL;
    struct orr_perfmodel_state *s = orr_perfmodel_state_create(&seed);
    if (!s) return 1;
    if (orr_store_load(s, filename) != 0) {
        orr_perfmodel_state_destroy(s);
        return 1;
    }
    if (model->type == STARPU_PERFMODEL_INVALID) model->type = s->type;
    if (!model->symbol) model->symbol = s->symbol;
    if (orr_perfmodel_attach(model, s) == 0) return 0;
    if (model->symbol == s->symbol) model->symbol = NULL;
    orr_perfmodel_state_destroy(s);
    return 1;
}

void starpu_perfmodel_initialize(void)
{
    orr_perf_init(-1, false);
}

void starpu_perfmodel_free_sampling(void)
{
    pthread_mutex_lock(&registry);
    while (states) {
        struct orr_perfmodel_state *s = states;
        while (s->users) {
            struct orr_model_user *u = s->users;
            s->users = u->next;
            if (u->model->symbol == s->symbol) u->model->symbol = NULL;
            detach_locked(u);
        }
        remove_state_locked(s);
    }
    pthread_mutex_unlock(&registry);
    orr_history_caches_fini();
}

/* ---- per-architecture data that the program sets ---- */

static struct starpu_perfmodel_per_arch *per_arch_make(struct starpu_perfmodel *model, int comb,
                                                       unsigned nimpl)
{
    struct orr_perfmodel_state *s = comb >= 0 ? orr_perfmodel_get(model) : NULL;
    struct orr_perf_arch *pa = s ? orr_perfmodel_arch_make(s, comb, nimpl) : NULL;
    return pa ? &pa->pub : NULL;
}

struct starpu_perfmodel_per_arch *starpu_perfmodel_get_model_per_arch(struct starpu_perfmodel *model,
                                                                      struct starpu_perfmodel_arch *arch,
                                                                      unsigned impl)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    int comb = orr_arch_find(arch);
    if (!s || comb < 0 || impl >= STARPU_MAXIMPLEMENTATIONS) return NULL;
    orr_history_flush();
    struct orr_perf_arch *pa = orr_perfmodel_arch(s, comb, impl);
    return pa ? &pa->pub : NULL;
}

/* Reads (type, devid, ncores)... -1 and returns the number of that architecture, made known. */
static int comb_from_arguments(va_list ap)
{
    enum { MAX = 64 };
    struct starpu_perfmodel_device devices[MAX];
    int n = 0;
    for (;;) {
        int type = va_arg(ap, int);
        if (type == -1) break;
        int devid = va_arg(ap, int), ncores = va_arg(ap, int);
        if (n == MAX) return -1;
        devices[n++] = (struct starpu_perfmodel_device){ .type = (enum starpu_worker_archtype)type,
                                                         .devid = devid,
                                                         .ncores = ncores };
    }
    return orr_arch_intern(n, devices);
}

struct starpu_perfmodel_per_arch *starpu_perfmodel_get_model_per_devices(struct starpu_perfmodel *model,
                                                                         int impl, ...)
{
    va_list ap;
    va_start(ap, impl);
    int comb = comb_from_arguments(ap);
    va_end(ap);
    return per_arch_make(model, comb, (unsigned)impl);
}

int starpu_perfmodel_set_per_devices_cost_function(struct starpu_perfmodel *model, int impl,
                                                   starpu_perfmodel_per_arch_cost_function func, ...)
{
    va_list ap;
    va_start(ap, func);
    int comb = comb_from_arguments(ap);
    va_end(ap);
    struct starpu_perfmodel_per_arch *pa = per_arch_make(model, comb, (unsigned)impl);
    if (!pa) return -ENOMEM;
    pa->cost_function = func;
    return 0;
}

int starpu_perfmodel_set_per_devices_size_base(struct starpu_perfmodel *model, int impl,
                                               starpu_perfmodel_per_arch_size_base func, ...)
{
    va_list ap;
    va_start(ap, func);
    int comb = comb_from_arguments(ap);
    va_end(ap);
    struct starpu_perfmodel_per_arch *pa = per_arch_make(model, comb, (unsigned)impl);
    if (!pa) return -ENOMEM;
    pa->size_base = func;
    return 0;
}

double starpu_perfmodel_history_based_expected_perf(struct starpu_perfmodel *model,
                                                    struct starpu_perfmodel_arch *arch, uint32_t footprint)
{
    struct orr_perfmodel_state *s = orr_perfmodel_get(model);
    int comb = orr_arch_find(arch);
    if (!s || comb < 0) return NAN;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS;
         i++) { /* the first implementation that was measured often enough */
        struct orr_perf_arch *pa = orr_perfmodel_arch(s, comb, i);
        double mean = pa ? orr_history_mean(pa, footprint) : NAN;
        if (!isnan(mean)) return mean;
    }
    return NAN;
}

/* ---- life of the layer ---- */

int orr_perf_init(int conf_calibrate, bool conf_wins)
{
    int fallback = conf_calibrate >= 0 && conf_calibrate <= 2 ? conf_calibrate : 0;
    orr_calibrate = conf_wins && conf_calibrate >= 0
                        ? fallback
                        : (int)orr_env_long(ORR_SETTING(STARPU_CALIBRATE), fallback, 0, 2);
    orr_calibration_minimum = (unsigned)orr_env_long(ORR_SETTING(STARPU_CALIBRATE_MINIMUM), 10, 1, 1000000);
    orr_history_max_error = 0.01 * orr_env_double(ORR_SETTING(STARPU_HISTORY_MAX_ERROR), 50, 0, 1e6);
    pthread_mutex_lock(&registry);
    for (struct orr_perfmodel_state *s = states; s; s = s->next) { /* those that the program touched before */
        if (orr_calibrate == 2) orr_perfmodel_state_clear(s);
        if (orr_calibrate) orr_store_relaxed(&s->benchmarking, true);
    }
    pthread_mutex_unlock(&registry);
    return 0;
}

void orr_perf_fini(void)
{
    orr_history_flush();
    pthread_mutex_lock(&registry);
    for (struct orr_perfmodel_state *s = states; s; s = s->next)
        if (orr_perfmodel_is_measured(s->type) && orr_load_relaxed(&s->dirty)) save_state(s);
    pthread_mutex_unlock(&registry);
    starpu_perfmodel_free_sampling();
    orr_perf_workers_clear();
    orr_archs_clear(); /* another machine may come next */
}
