/* SPDX-License-Identifier: BSD-3-Clause */
/* bound.c: how fast the recorded tasks could have run at best on these workers, whatever the order and the
 * dependencies. Submitted tasks are recorded by an observer.
 * Threads: any submits; one asks. Owns: the kinds of tasks recorded. Not here: what one task
 * takes (core/task/perf.c).
 *
 * Tasks of one kind take the same time t[k][a] on each of the W[a] workers of architecture a. Fractions of
 * tasks spread freely, the least time is a linear program. Its dual is small, one weight x[a] for each
 * architecture: maximise  sum over kinds of N[k] * min over a of t[k][a] x[a],   where sum of W[a] x[a] = 1
 * and x >= 0 and any such x gives a valid bound. The sum is concave: weight is moved between pairs of
 * architectures by ternary search until nothing is gained, which is exact for one or two architectures. */
#include <math.h>
#include <starpu.h>
#include <starpu_bound.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/perf/arch.h"
#include "core/worker/bound.h"
#include "core/worker/worker.h"

extern struct orr_observer orr_bound_observer;
static ORR_MUTEX(bound_kinds) kinds_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects all below; leaf but for locks of models and of the log */
static struct orr_bound_kind *kinds;
static unsigned narchs, workers_of[ORR_BOUND_ARCHS], arch_of[STARPU_NMAXWORKERS];
static bool with_order, with_priorities;
static int sample[ORR_BOUND_ARCHS],
    comb_of[ORR_BOUND_ARCHS]; /* a worker of each architecture, the architecture's number */

/* ---- recording ---- */

static void find_archs(void)
{
    narchs = 0;
    for (unsigned w = 0; w < orr_worker_count; w++) {
        unsigned a = 0;
        while (a < narchs && comb_of[a] != orr_perf_workers[w].comb) a++;
        if (a == ORR_BOUND_ARCHS) { /* cannot be left out: the bound would be too high */
            a = ORR_BOUND_ARCHS - 1;
            orr_warn("starpu_bound_start: more than %d architectures; the bound is rough", ORR_BOUND_ARCHS);
        }
        if (a == narchs) {
            comb_of[narchs] = orr_perf_workers[w].comb;
            sample[narchs] = (int)w;
            workers_of[narchs++] = 0;
        }
        workers_of[a]++;
        arch_of[w] = a;
    }
}

static void forget(void)
{
    for (struct orr_bound_kind *k = kinds, *next; k; k = next) {
        next = k->next;
        orr_free(k);
    }
    kinds = NULL;
    orr_bound_order_forget();
}

static double time_on(struct starpu_task *p, struct orr_task *t, int worker)
{
    struct orr_worker *w = &orr_workers[worker];
    double best = INFINITY;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
        if (!orr_worker_can_run_impl(w, t, i)) continue;
        double us = p->cl->model ? starpu_task_worker_expected_length(p, (unsigned)w->id, 0, i) : NAN;
        if (isnan(us) && isinf(best))
            best = NAN;
        else if (us < best || isnan(best))
            best = us;
    }
    return best;
}

static const char *name_of(const struct starpu_codelet *cl)
{
    return cl->name ? cl->name : cl->model && cl->model->symbol ? cl->model->symbol : "(unnamed)";
}

static struct orr_bound_kind *kind_of(const struct starpu_codelet *cl, uint32_t footprint)
{
    const char *name = name_of(cl);
    struct orr_bound_kind *k = kinds;
    while (k && (k->cl != cl || k->footprint != footprint || k->model != cl->model || strcmp(k->name, name)))
        k = k->next;
    if (k || !(k = orr_calloc(1, sizeof *k + strlen(name) + 1))) return k;
    k->cl = cl;
    k->model = cl->model;
    k->footprint = footprint;
    strcpy(k->name, name);
    for (unsigned a = 0; a < ORR_BOUND_ARCHS; a++) k->us[a] = NAN;
    k->next = kinds;
    kinds = k;
    return k;
}

static bool is_timed(const struct orr_bound_kind *k)
{
    bool timed = true;
    for (unsigned a = 0; a < narchs; a++) timed &= !isnan(k->us[a]);
    return timed;
}

/* Called with kinds_lock held, which is let go of while functions of the program are asked. */
static struct orr_bound_kind *timed_kind_of(struct orr_task *t, uint32_t footprint)
{
    struct starpu_task *p = t->pub;
    struct orr_bound_kind *k = kind_of(p->cl, footprint);
    if (!k || is_timed(k)) return k;
    unsigned n = narchs;
    int worker[ORR_BOUND_ARCHS];
    double us[ORR_BOUND_ARCHS];
    memcpy(worker, sample, sizeof worker);
    pthread_mutex_unlock(&kinds_lock);
    for (unsigned a = 0; a < n; a++) us[a] = time_on(p, t, worker[a]);
    pthread_mutex_lock(&kinds_lock);
    k = kind_of(p->cl, footprint); /* another may have dropped all */
    for (unsigned a = 0; k && a < n; a++)
        if (isnan(k->us[a])) k->us[a] = us[a];
    return k;
}

static void submitted(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    bool works = p->cl && orr_task_where(p) != STARPU_NOWHERE;
    uint32_t footprint = works ? starpu_task_footprint(p->cl->model, p, NULL, 0) : 0;
    pthread_mutex_lock(&kinds_lock);
    struct orr_bound_kind *k = works ? timed_kind_of(t, footprint) : NULL;
    if (k) k->count++;
    if (with_order) orr_bound_order_submitted(t, k);
    pthread_mutex_unlock(&kinds_lock);
    if (works && !k) orr_warn("starpu_bound_start: out of memory; the bound will be too low");
}

static void bound_see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    if (e->kind == ORR_EVENT_TASK_SUBMITTED)
        submitted((struct orr_task *)e->subject);
    else
        orr_bound_order_see(e);
}

void starpu_bound_start(int deps, int prio)
{
    pthread_mutex_lock(&kinds_lock);
    forget();
    find_archs();
    with_order = deps;
    with_priorities = deps && prio;
    pthread_mutex_unlock(&kinds_lock);
    orr_observer_want(&orr_bound_observer,
                      ORR_EVENT_BIT(TASK_SUBMITTED) | (deps ? ORR_BOUND_ORDER_EVENTS : 0));
}

void starpu_bound_stop(void)
{
    orr_observer_want(&orr_bound_observer, 0);
}

static void stop(struct orr_observer *o)
{
    orr_observer_want(o, 0);
}

struct orr_observer orr_bound_observer = { .name = "bound", .see = bound_see, .stop = stop };

/* ---- the bound ---- */

/* What was measured since the task was submitted fills gaps. Called with kinds_lock held. */
static bool complete_times(void)
{
    for (struct orr_bound_kind *k = kinds; k; k = k->next) {
        bool somewhere = false;
        for (unsigned a = 0; a < narchs; a++) {
            if (isnan(k->us[a]) && k->model)
                k->us[a] = starpu_perfmodel_history_based_expected_perf(
                    k->model, starpu_perfmodel_arch_comb_fetch(comb_of[a]), k->footprint);
            if (isnan(k->us[a])) return false;
            somewhere |= isfinite(k->us[a]);
        }
        if (!somewhere) return false;
    }
    return kinds != NULL;
}

static double value(const double *x)
{
    double sum = 0;
    for (const struct orr_bound_kind *k = kinds; k; k = k->next) {
        double least = INFINITY;
        for (unsigned a = 0; a < narchs; a++)
            if (isfinite(k->us[a])) least = fmin(least, k->us[a] * x[a]);
        sum += (double)k->count * least;
    }
    return sum;
}

/* Shares the weight of a and b best between them. */
static void share(double *x, unsigned a, unsigned b)
{
    double whole = workers_of[a] * x[a] + workers_of[b] * x[b], low = 0, high = whole;
    for (int i = 0; i < 200; i++) {
        double m[2] = { low + (high - low) / 3, high - (high - low) / 3 }, v[2];
        for (int j = 0; j < 2; j++) {
            x[a] = m[j] / workers_of[a];
            x[b] = (whole - m[j]) / workers_of[b];
            v[j] = value(x);
        }
        if (v[0] < v[1])
            low = m[0];
        else
            high = m[1];
    }
    x[a] = low / workers_of[a];
    x[b] = (whole - low) / workers_of[b];
}

/* In us; 0: times are missing. Called with kinds_lock held. */
static double bound_us(void)
{
    double x[ORR_BOUND_ARCHS], before = -1, now = 0;
    if (!complete_times()) return 0;
    for (unsigned a = 0; a < narchs; a++) x[a] = 1.0 / (narchs * workers_of[a]);
    for (int sweep = 0; sweep < 50 && now > before * (1 + 1e-9); sweep++) {
        before = now;
        for (unsigned a = 0; a < narchs; a++)
            for (unsigned b = a + 1; b < narchs; b++) share(x, a, b);
        now = value(x);
    }
    return with_order ? fmax(now, orr_bound_order_path_us(narchs)) : now;
}

/* With whole tasks nothing is faster than the longest of them. */
static double whole_us(double fractions)
{
    double longest = fractions;
    for (const struct orr_bound_kind *k = kinds; k; k = k->next) {
        double best = INFINITY;
        for (unsigned a = 0; a < narchs; a++) best = fmin(best, k->us[a]);
        longest = fmax(longest, best);
    }
    return longest;
}

void starpu_bound_compute(double *res, double *integer_res, int integer)
{
    pthread_mutex_lock(&kinds_lock);
    double us = bound_us();
    *res = us * 1e-3;
    ORR_EVENT(BOUND_COMPUTED, NULL, us * 1e3, 0, 0);
    if (integer && integer_res) *integer_res = us > 0 ? whole_us(us) * 1e-3 : 0;
    pthread_mutex_unlock(&kinds_lock);
}

void starpu_bound_print(FILE *output, int integer)
{
    double fractions, whole = 0;
    starpu_bound_compute(&fractions, &whole, integer);
    pthread_mutex_lock(&kinds_lock);
    fprintf(output, "lower bound: %.3f ms", integer ? whole : fractions);
    fprintf(output, "%s\n", fractions > 0 ? "" : " (times of some tasks are not known)");
    for (const struct orr_bound_kind *k = kinds; k; k = k->next) {
        fprintf(output, "  %8lu x %s (%08x):", k->count, k->name, k->footprint);
        for (unsigned a = 0; a < narchs; a++)
            fprintf(output, " %.3f us on %u x %s", k->us[a], workers_of[a], orr_workers[sample[a]].name);
        fprintf(output, "\n");
    }
    pthread_mutex_unlock(&kinds_lock);
}

/* Of fractions of tasks, whatever their order. Called with kinds_lock held. */
static void print_lp_of_kinds(FILE *output)
{
    unsigned number = 0;
    fprintf(output, "min: tmax;\n");
    for (const struct orr_bound_kind *k = kinds; k; k = k->next, number++) {
        fprintf(output, "tasks%u:", number);
        for (unsigned a = 0; a < narchs; a++)
            if (isfinite(k->us[a])) fprintf(output, " + n%u_%u", number, a);
        fprintf(output, " = %lu;\n", k->count);
    }
    for (unsigned a = 0; a < narchs; a++) {
        number = 0;
        fprintf(output, "arch%u: - %u tmax", a, workers_of[a]);
        for (const struct orr_bound_kind *k = kinds; k; k = k->next, number++)
            if (isfinite(k->us[a])) fprintf(output, " + %.9f n%u_%u", k->us[a] * 1e-3, number, a);
        fprintf(output, " <= 0;\n");
    }
}

void starpu_bound_print_lp(FILE *output)
{
    pthread_mutex_lock(&kinds_lock);
    if (!complete_times()) fprintf(output, "/* times of some tasks are not known: they are left out */\n");
    if (with_order)
        orr_bound_order_print_lp(output, arch_of, orr_worker_count, with_priorities);
    else
        print_lp_of_kinds(output);
    pthread_mutex_unlock(&kinds_lock);
}

/* The same program in MPS format: columns are t, and n<kind>_<architecture> in number order. */
static void print_mps_column(FILE *output, const struct orr_bound_kind *k, unsigned number)
{
    for (unsigned a = 0; a < narchs; a++) {
        if (!isfinite(k->us[a])) continue;
        fprintf(output, "    n%u_%u  tasks%u  1\n", number, a, number);
        fprintf(output, "    n%u_%u  arch%u  %.9g\n", number, a, a, k->us[a] * 1e-3);
    }
}

void starpu_bound_print_mps(FILE *output)
{
    pthread_mutex_lock(&kinds_lock);
    unsigned number = 0;
    if (!complete_times()) fprintf(output, "* times of some tasks are not known: they are left out\n");
    fprintf(output, "NAME  bound\nROWS\n N  time\n");
    for (const struct orr_bound_kind *k = kinds; k; k = k->next) fprintf(output, " E  tasks%u\n", number++);
    for (unsigned a = 0; a < narchs; a++) fprintf(output, " L  arch%u\n", a);
    fprintf(output, "COLUMNS\n    t  time  1\n");
    for (unsigned a = 0; a < narchs; a++) fprintf(output, "    t  arch%u  -%u\n", a, workers_of[a]);
    number = 0;
    for (const struct orr_bound_kind *k = kinds; k; k = k->next) print_mps_column(output, k, number++);
    fprintf(output, "RHS\n");
    number = 0;
    for (const struct orr_bound_kind *k = kinds; k; k = k->next)
        fprintf(output, "    rhs  tasks%u  %lu\n", number++, k->count);
    fprintf(output, "ENDATA\n");
    pthread_mutex_unlock(&kinds_lock);
}

void starpu_bound_print_dot(FILE *output)
{
    pthread_mutex_lock(&kinds_lock);
    unsigned number = 0;
    if (with_order) orr_bound_order_print_dot(output);
    if (!with_order) fprintf(output, "digraph bound {\n");
    for (const struct orr_bound_kind *k = kinds; k && !with_order; k = k->next)
        fprintf(output, "  kind%u [label=\"%lu x %s\\n%08x\"];\n", number++, k->count, k->name, k->footprint);
    if (!with_order) fprintf(output, "}\n");
    pthread_mutex_unlock(&kinds_lock);
}
