/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance models learn: known laws are recovered, footprints count once there are enough measures, errors
 * are dropped, and workers that measure at the same time lose nothing.
 * Threads: main, and four that record.
 * Owns: nothing. Not here: files (perfmodel_store.c).
 */
#include <math.h>
#include <pthread.h>

#include "core/base/clock.h"
#include "core/perf/perfmodel.h"
#include "core/perf/regression.h"
#include "tests/tap.h"

static const struct starpu_perfmodel_device cpu = { STARPU_CPU_WORKER, 0, 1 };

static int near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fabs(want);
}

static uint64_t seed = 42;

/* In (-1, 1). */
static double noise(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)seed / 9.3e18;
}

static void test_laws(void)
{
    struct orr_point p[40];
    double a, b, c;
    for (int i = 0; i < 40; i++)
        p[i] = (struct orr_point){ 100.0 * (i + 1), 0.25 * pow(100.0 * (i + 1), 1.5), 1 + i % 3 };
    ok(all_of(orr_fit_power(p, 40, &a, &b, NULL), near(a, 0.25, 1e-9), near(b, 1.5, 1e-9)),
       "a power law is recovered exactly");
    for (int i = 0; i < 40; i++) p[i].y *= 1 + 0.05 * noise();
    ok(all_of(orr_fit_power(p, 40, &a, &b, NULL), near(b, 1.5, 0.03)),
       "a power law is recovered from noisy measures");
    for (int i = 0; i < 40; i++) p[i].y = 3e-6 * pow(p[i].x, 2.5) + 40;
    ok(all_of(orr_fit_affine_power(p, 40, &a, &b, &c), near(a, 3e-6, 1e-4), near(b, 2.5, 1e-5),
              near(c, 40, 1e-4)),
       "an affine power law is recovered");
    for (int i = 0; i < 40; i++) p[i].y = 2 * p[i].x;
    ok(all_of(orr_fit_affine_power(p, 40, &a, &b, &c), near(b, 1, 1e-3), fabs(c) < 1),
       "a law without constant gets none");
    for (int i = 0; i < 40; i++) p[i].x = 7;
    ok(all_of(!orr_fit_power(p, 40, &a, &b, NULL), !orr_fit_affine_power(p, 40, &a, &b, &c)),
       "one size alone gives no law");
}

static void test_least_squares(void)
{
    double A[30 * 3], y[30], x[3];
    for (int i = 0; i < 30; i++) {
        double m = i % 6 + 1, n = i / 6 + 1;
        A[3 * i] = 1;
        A[3 * i + 1] = m * n;
        A[3 * i + 2] = m * m * n;
        y[i] = 5 + 2 * m * n - 0.125 * m * m * n;
    }
    ok(all_of(orr_least_squares(A, y, 30, 3, x), near(x[0], 5, 1e-9), near(x[1], 2, 1e-9),
              near(x[2], -0.125, 1e-9)),
       "a polynomial of two parameters is recovered");
    for (int i = 0; i < 30; i++) A[3 * i] = 1, A[3 * i + 1] = i, A[3 * i + 2] = 2 * i, y[i] = i;
    ok(!orr_least_squares(A, y, 30, 3, x), "dependent columns are refused");
    ok(!orr_least_squares(A, y, 2, 3, x), "fewer points than unknowns are refused");
}

static struct orr_perf_arch *model_create(struct orr_perfmodel_state **state_out, struct starpu_perfmodel *m)
{
    *state_out = orr_perfmodel_state_create(m);
    struct orr_perf_arch *pa =
        *state_out ? orr_perfmodel_arch_make(*state_out, orr_arch_intern(1, &cpu), 0) : NULL;
    if (!pa) {
        printf("Bail out! no memory\n");
        exit(1);
    }
    return pa;
}

static void test_history(void)
{
    struct orr_perfmodel_state *s;
    struct starpu_perfmodel m = { .type = STARPU_HISTORY_BASED };
    struct orr_perf_arch *pa = model_create(&s, &m);
    struct orr_perf_key key = { .footprint = 77, .size = 1000 };
    for (int i = 0; i < 9; i++) orr_history_record(pa, &key, 10, 1, 0);
    ok(isnan(orr_history_predict(pa, m.type, &key)), "nine measures are not enough");
    orr_history_record(pa, &key, 11, 1, 0);
    ok(near(orr_history_predict(pa, m.type, &key), 10.1, 1e-12), "ten are, and their mean is predicted");
    orr_history_record(pa, &key, 100, 1, 0);
    orr_history_record(pa, &key, 1, 1, 0);
    ok(near(orr_history_predict(pa, m.type, &key), 10.1, 1e-12), "measures far from the mean are dropped");
    ok(all_of(near(pa->pub.list->entry->deviation, 0.3, 1e-9), pa->pub.list->entry->nerror == 2),
       "deviation and errors are kept");
    orr_history_record(pa, &key, NAN, 1, 0);
    orr_history_record(pa, &key, -3, 1, 0);
    orr_history_record(pa, &key, INFINITY, 1, 0);
    is_int(pa->pub.list->entry->nsample, 10, "nonsense is ignored");
    for (int i = 0; i < 8; i++) orr_history_record(pa, &key, 100, 1, 0);
    ok(isnan(orr_history_predict(pa, m.type, &key)), "as many errors as measures: the entry starts afresh");
    for (int i = 0; i < 10; i++) orr_history_record(pa, &key, 100, 1, 0);
    ok(near(orr_history_predict(pa, m.type, &key), 100, 1e-12), "and learns the new time");
    for (uint32_t f = 1000; f < 3000; f++) {
        struct orr_perf_key other = { .footprint = f * 2654435761u };
        orr_history_record(pa, &other, f, 10, 0);
    }
    int wrong = 0;
    for (uint32_t f = 1000; f < 3000; f++) wrong += !near(orr_history_mean(pa, f * 2654435761u), f, 1e-12);
    is_int(wrong, 0, "two thousand footprints are all found");
    ok(isnan(orr_history_mean(pa, 5)), "one that was never measured is not");
    orr_perfmodel_state_destroy(s);
}

static double model_time(enum starpu_perfmodel_type type, double x)
{
    return type == STARPU_REGRESSION_BASED ? 0.01 * pow(x, 1.2) : 0.002 * pow(x, 1.5) + 25;
}

static void test_regressions(enum starpu_perfmodel_type type, const char *name)
{
    struct orr_perfmodel_state *s;
    struct starpu_perfmodel m = { .type = type };
    struct orr_perf_arch *pa = model_create(&s, &m);
    for (int round = 0; round < 12; round++)
        for (uint32_t i = 1; i <= 16; i++) {
            struct orr_perf_key key = { .footprint = i, .size = 1024 * i };
            orr_history_record(pa, &key, model_time(type, 1024.0 * i) * (1 + 0.02 * noise()), 1, 0);
        }
    struct orr_perf_key unseen = { .footprint = 999, .size = 5000 },
                        outside = { .footprint = 998, .size = 100000 };
    ok(near(orr_history_predict(pa, type, &unseen), model_time(type, 5000), 0.02),
       "%s: a size between the measured ones is predicted", name);
    ok(isnan(orr_history_predict(pa, type, &outside)), "%s: a size far outside is not", name);
    struct starpu_perfmodel_regression_model *r = &pa->pub.regression;
    ok(type == STARPU_REGRESSION_BASED ? r->valid && near(r->beta, 1.2, 0.02)
                                       : r->nl_valid && near(r->b, 1.5, 0.02),
       "%s: the law can be read", name);
    if (type == STARPU_NL_REGRESSION_BASED) {
        orr_history_record(pa, &outside, 123, 10, 0);
        struct orr_perf_key far = { .footprint = 997, .size = 1 };
        ok(isnan(orr_history_predict(pa, type, &far)), "%s: no history, no prediction outside", name);
    }
    orr_perfmodel_state_destroy(s);
}

static void test_multiple(void)
{
    static unsigned c0[] = { 1, 1, 1 }, c1[] = { 2, 0, 0 };
    static unsigned *combinations[] = { c0, c1 };
    struct orr_perfmodel_state *s;
    struct starpu_perfmodel m = { .type = STARPU_MULTIPLE_REGRESSION_BASED,
                                  .nparameters = 3,
                                  .ncombinations = 2,
                                  .combinations = combinations };
    struct orr_perf_arch *pa = model_create(&s, &m);
    uint32_t footprint = 0;
    for (int x = 1; x <= 4; x++)
        for (int y = 1; y <= 4; y++)
            for (int z = 1; z <= 2; z++) {
                double v[] = { 10.0 * x, 10.0 * y, 10.0 * z };
                struct orr_perf_key key = { .footprint = ++footprint, .parameters = v };
                orr_history_record(pa, &key, 7 + 0.5 * v[0] * v[1] * v[2] + 0.25 * v[0] * v[0], 1, 0);
            }
    double v[] = { 25, 15, 12 };
    struct orr_perf_key key = { .footprint = 4000, .parameters = v };
    ok(near(orr_history_predict(pa, m.type, &key), 7 + 0.5 * 25 * 15 * 12 + 0.25 * 625, 1e-6),
       "multiple regression predicts unseen parameters");
    ok(all_of(pa->pub.regression.multi_valid, pa->pub.regression.ncoeff == 3,
              near(pa->pub.regression.coeff[1], 0.5, 1e-6)),
       "its coefficients can be read");
    orr_perfmodel_state_destroy(s);
}

enum { RECORDERS = 4, MEASURES = 100000 };
static struct orr_perf_arch *shared;

static void *recorder(void *arg)
{
    int id = (int)(intptr_t)arg;
    for (int i = 0; i < MEASURES; i++) {
        struct orr_perf_key key = { .footprint = (uint32_t)i % 3 };
        orr_history_record_fast(shared, id, &key, 5 + key.footprint, 0.25);
    }
    return NULL;
}

static void test_threads(void)
{
    struct orr_perfmodel_state *s;
    struct starpu_perfmodel m = { .type = STARPU_HISTORY_BASED };
    shared = model_create(&s, &m);
    pthread_t threads[RECORDERS];
    for (int i = 0; i < RECORDERS; i++) pthread_create(&threads[i], NULL, recorder, (void *)(intptr_t)i);
    for (int i = 0; i < RECORDERS; i++) pthread_join(threads[i], NULL);
    orr_history_flush();
    unsigned long total = 0;
    int exact = 1;
    for (struct starpu_perfmodel_history_list *l = shared->pub.list; l; l = l->next) {
        total += l->entry->nsample;
        exact &= near(l->entry->mean, 5 + l->entry->footprint, 1e-9);
    }
    is_int(total, RECORDERS * MEASURES, "four workers lose no measure");
    ok(exact, "and their means are right");
    orr_perfmodel_state_destroy(s);
}

/* Prints what a measure and a look-up cost; states nothing, as the machine may be busy. */
static void show_cost(void)
{
    enum { N = 2000000 };
    struct orr_perfmodel_state *s;
    struct starpu_perfmodel m = { .type = STARPU_HISTORY_BASED };
    struct orr_perf_arch *pa = model_create(&s, &m);
    struct orr_perf_key key = { .footprint = 3 };
    double sum = 0;
    orr_history_record(pa, &key, 5, 20, 0);
    uint64_t t0 = orr_clock_ns();
    for (int i = 0; i < N; i++) orr_history_record_fast(pa, 0, &key, 5, 0.25);
    uint64_t t1 = orr_clock_ns();
    for (int i = 0; i < N; i++) {
        key.footprint = 3 + (uint32_t)(sum < 0); /* depends on the result before: latency, not throughput */
        sum += orr_history_mean(orr_perfmodel_arch(s, 0, 0), key.footprint);
    }
    uint64_t t2 = orr_clock_ns();
    diag("a measure costs %.1f ns, a look-up %.1f ns (%g)", (double)(t1 - t0) / N, (double)(t2 - t1) / N,
         sum / N);
    orr_perfmodel_state_destroy(s);
}

int main(void)
{
    test_laws();
    test_least_squares();
    test_history();
    test_regressions(STARPU_REGRESSION_BASED, "power law");
    test_regressions(STARPU_NL_REGRESSION_BASED, "affine power law");
    test_multiple();
    test_threads();
    show_cost();
    orr_history_caches_fini();
    return done_testing();
}
