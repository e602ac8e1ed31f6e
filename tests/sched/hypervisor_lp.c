/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hypervisor's linear programs against optima computed by hand, and the way from fractions to workers.
 * Threads: main. Owns: nothing. Not here: workers that move (hypervisor.c, hypervisor_strategies.c).
 */
#include <math.h>
#include <sc_hypervisor.h>
#include <sc_hypervisor_lp.h>
#include <sc_hypervisor_policy.h>

#include "tests/helper.h"

static int near(double got, double want)
{
    if (fabs(got - want) <= 1e-6 * fmax(1.0, fabs(want))) return 1;
    diag("got %.9g, want %.9g", got, want);
    return 0;
}

static int within(double got, double least, double most)
{
    if (got >= least && got <= most) return 1;
    diag("got %.9g, want between %.9g and %.9g", got, least, most);
    return 0;
}

/* ---- kinds of workers ---- */

static void one_kind(void)
{
    double speed[2][1] = { { 1.0 }, { 1.0 } }, flops[2] = { 20e9, 10e9 }, res[2][1];
    int total[1] = { 12 };
    /* 12 workers for 20 and 10: 8 and 4, and 20 / 8 = 2.5 s */
    double v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, NULL, 0.0);
    ok(near(v, 0.4), "12 workers do 20 and 10 Gflop in 2.5 s");
    ok(all_of(near(res[0][0], 8.0), near(res[1][0], 4.0)), "with 8 and 4 of them");
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, NULL, 0.2);
    ok(all_of(near(v, 0.2), near(res[0][0], 4.0), near(res[1][0], 2.0)),
       "in twice the time, half of them do");
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, NULL, 0.41);
    ok(near(v, 0.0), "in less time, they cannot");
    speed[1][0] = 0.5;
    /* x0 = 20 v, x1 = 20 v: 6 each */
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, NULL, 0.0);
    ok(all_of(near(v, 0.3), near(res[0][0], 6.0), near(res[1][0], 6.0)), "a slower context gets more");
    flops[0] = 0.0;
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, NULL, 0.0);
    ok(all_of(near(v, 0.6), near(res[1][0], 12.0)), "a context that has ended gets none");
    flops[1] = 0.0;
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, NULL, 0.0);
    ok(near(v, 0.0), "when all have ended there is nothing to solve");
}

static void two_kinds(void)
{
    /* 2 accelerators that are ten times as fast in context 0, and 4 CPUs */
    double speed[2][2] = { { 10.0, 1.0 }, { 1.0, 1.0 } }, flops[2] = { 20e9, 4e9 }, res[2][2];
    int total[2] = { 2, 4 };
    double v = sc_hypervisor_lp_simulate_distrib_flops(2, 2, speed, flops, res, total, NULL, 0.0);
    ok(near(v, 1.0), "two kinds: 20 and 4 Gflop in 1 s");
    ok(all_of(near(res[0][0], 2.0), near(res[0][1], 0.0)), "the accelerators go where they are fast");
    ok(all_of(near(res[1][0], 0.0), near(res[1][1], 4.0)), "and the CPUs to the other");
    /* 22 and 2: CPUs divided, 20 + x = 22 v, 4 - x = 2 v: v = 1 */
    flops[0] = 22e9;
    flops[1] = 2e9;
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 2, speed, flops, res, total, NULL, 0.0);
    ok(all_of(near(v, 1.0), near(res[0][1], 2.0), near(res[1][1], 2.0)), "one kind may be divided");
}

/* Limits are those of registered contexts; no runtime is needed for that. */
static void limits(void)
{
    struct sc_hypervisor_policy policy = { .name = "feft_lp" };
    double speed[2][1] = { { 1.0 }, { 1.0 } }, flops[2] = { 20e9, 10e9 }, res[2][1];
    int total[1] = { 12 };
    unsigned ctxs[2] = { 1, 2 };
    ok(sc_hypervisor_init(&policy) != NULL, "the hypervisor starts without the runtime");
    sc_hypervisor_register_ctx(1, 20e9);
    sc_hypervisor_register_ctx(2, 10e9);
    sc_hypervisor_ctl(1, SC_HYPERVISOR_MAX_WORKERS, 5, SC_HYPERVISOR_NULL);
    double v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, ctxs, 0.0);
    ok(all_of(near(v, 0.25), near(res[0][0], 5.0)), "a maximum of 5 workers: 20 Gflop take 4 s");
    sc_hypervisor_ctl(1, SC_HYPERVISOR_MAX_WORKERS, 12, SC_HYPERVISOR_NULL);
    sc_hypervisor_ctl(2, SC_HYPERVISOR_MIN_WORKERS, 7, SC_HYPERVISOR_NULL);
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, ctxs, 0.0);
    ok(all_of(near(v, 0.25), near(res[1][0], 7.0)), "a minimum of 7 in the other: 5 are left");
    sc_hypervisor_ctl(1, SC_HYPERVISOR_MIN_WORKERS, 7, SC_HYPERVISOR_NULL);
    v = sc_hypervisor_lp_simulate_distrib_flops(2, 1, speed, flops, res, total, ctxs, 0.0);
    ok(near(v, 0.4), "minima for which there are not enough workers do not count");
    /* by what is registered: nothing was measured, so the same guess for both */
    struct types_of_workers tw = { .ncpus = 12, .ncuda = 0, .nw = 1 };
    sc_hypervisor_ctl(1, SC_HYPERVISOR_MIN_WORKERS, 0, SC_HYPERVISOR_NULL);
    sc_hypervisor_ctl(2, SC_HYPERVISOR_MIN_WORKERS, 0, SC_HYPERVISOR_NULL);
    double tmax = sc_hypervisor_lp_get_nworkers_per_ctx(2, 1, res, total, &tw, NULL);
    ok(all_of(tmax > 0.0, near(res[0][0], 8.0), near(res[1][0], 4.0)),
       "registered operations are divided as given");
    sc_hypervisor_update_diff_total_flops(2, 10e9);
    sc_hypervisor_lp_get_nworkers_per_ctx(2, 1, res, total, &tw, NULL);
    ok(all_of(near(res[0][0], 6.0), near(res[1][0], 6.0)), "a correction of the total counts");
    sc_hypervisor_update_diff_elapsed_flops(1, 10e9);
    sc_hypervisor_lp_get_nworkers_per_ctx(2, 1, res, total, &tw, NULL);
    ok(all_of(near(res[0][0], 4.0), near(res[1][0], 8.0)), "and one of what has been executed");
    sc_hypervisor_shutdown();
}

/* ---- single workers ---- */

static struct starpu_codelet kind_a, kind_b;

/* 4 tasks of context 1 (1 on worker 0, 2 on worker 1), 2 of context 2 (2 and 1). */
static struct sc_hypervisor_policy_task_pool pool_b = { .cl = &kind_b, .sched_ctx_id = 2, .n = 2 };
static struct sc_hypervisor_policy_task_pool pool_a = {
    .cl = &kind_a, .sched_ctx_id = 1, .n = 4, .next = &pool_b
};
static double times[2][2] = { { 1.0, 2.0 }, { 2.0, 1.0 } };
static unsigned two_ctxs[2] = { 1, 2 };

struct tried {
    double least; /* for which there was a solution */
    int calls;
};

static double try_tasks(int ns, int nw, double w_in_s[ns][nw], unsigned is_integer, double tmax, void *arg)
{
    struct tried *t = arg;
    double tasks[2][2];
    double total = sc_hypervisor_lp_simulate_distrib_tasks(ns, nw, 2, w_in_s, tasks, times, is_integer, tmax,
                                                           two_ctxs, &pool_a);
    t->calls++;
    if (total > 0.0 && tmax < t->least) t->least = tmax;
    return total;
}

static void tasks(void)
{
    double w_in_s[2][2], done[2][2];
    double total =
        sc_hypervisor_lp_simulate_distrib_tasks(2, 2, 2, w_in_s, done, times, 1, 4.0, two_ctxs, &pool_a);
    ok(near(total, 6.0), "tasks: in 4, all run where they are fast, 6 in all");
    ok(all_of(near(done[0][0], 4.0), near(done[1][1], 2.0)), "4 tasks on worker 0, 2 on worker 1");
    ok(all_of(near(w_in_s[0][0], 1.0), near(w_in_s[1][1], 1.0)), "each context has its worker");
    total = sc_hypervisor_lp_simulate_distrib_tasks(2, 2, 2, w_in_s, done, times, 1, 3.9, two_ctxs, &pool_a);
    ok(near(total, 0.0), "with whole workers it takes 4");
    total = sc_hypervisor_lp_simulate_distrib_tasks(2, 2, 2, w_in_s, done, times, 0, 3.4, two_ctxs, &pool_a);
    ok(total > 6.0, "with parts of workers it can be less");
    struct tried t = { INFINITY, 0 };
    ok(sc_hypervisor_lp_execute_dichotomy(2, 2, w_in_s, 0, &t, 0.0, 100.0, 0.0, try_tasks),
       "the search finds it");
    /* a of 4 on worker 0: a = 2 (4 - a) + 2, a = 10/3 */
    ok(within(t.least, 10.0 / 3.0, 10.0 / 3.0 * 1.002), "the least time is 10/3");
    t.least = INFINITY;
    sc_hypervisor_lp_execute_dichotomy(2, 2, w_in_s, 1, &t, 0.0, 100.0, 0.0, try_tasks);
    ok(within(t.least, 4.0 - 1e-6, 4.0 * 1.002), "with whole workers 4");
    times[0][0] = times[1][0] = INFINITY;
    total = sc_hypervisor_lp_simulate_distrib_tasks(2, 2, 2, w_in_s, done, times, 0, 1e6, two_ctxs, &pool_a);
    ok(near(total, 0.0), "tasks that no worker can run are no solution");
    times[0][0] = 1.0;
    total = sc_hypervisor_lp_simulate_distrib_tasks(2, 2, 2, w_in_s, done, times, 1, 1e6, two_ctxs, &pool_a);
    ok(all_of(total > 0.0, near(done[0][0], 4.0), near(done[1][0], 0.0)),
       "a worker that cannot run them gets none");
}

static void samples(void)
{
    double row0[3] = { 1.0, 1.0, 1.0 }, row1[3] = { 1.0, 1.0, 1.0 }, on0[3], on1[3];
    double *speed[2] = { row0, row1 }, *flops_on[2] = { on0, on1 };
    double flops[2] = { 2e9, 1e9 }, w_in_s[2][3];
    double total =
        sc_hypervisor_lp_simulate_distrib_flops_on_sample(2, 3, w_in_s, 1, 1.0, speed, flops, flops_on);
    ok(near(total, 3.0), "samples: 3 workers do 2 and 1 Gflop in 1 s");
    ok(near(w_in_s[0][0] + w_in_s[0][1] + w_in_s[0][2], 2.0), "two for the one");
    ok(all_of(near(on0[0] + on0[1] + on0[2], 2e9), near(on1[0] + on1[1] + on1[2], 1e9)),
       "all operations are given away");
    total = sc_hypervisor_lp_simulate_distrib_flops_on_sample(2, 3, w_in_s, 0, 0.99, speed, flops, flops_on);
    ok(near(total, 0.0), "and in no less");
    row1[2] = 4.0;
    row0[2] = 0.0;
    total = sc_hypervisor_lp_simulate_distrib_flops_on_sample(2, 3, w_in_s, 1, 1.0, speed, flops, flops_on);
    ok(all_of(near(total, 2.25), near(w_in_s[1][2], 1.0)), "a fast worker goes where it is fast");
}

/* ---- the search ---- */

static double needs_7_and_a_quarter(int ns, int nw, double w_in_s[ns][nw], unsigned is_integer UNUSED,
                                    double tmax, void *arg)
{
    struct tried *t = arg;
    t->calls++;
    if (tmax < 7.25) return 0.0;
    if (tmax < t->least) t->least = tmax;
    w_in_s[0][0] = tmax;
    return 1.0;
}

static void search(void)
{
    struct tried t = { INFINITY, 0 };
    double w_in_s[1][1] = { { 0.0 } };
    ok(near(sc_hypervisor_lp_find_tmax(2.0, 5.0), 3.5), "the middle of an interval");
    ok(sc_hypervisor_lp_execute_dichotomy(1, 1, w_in_s, 0, &t, 0.0, 100.0, 0.0, needs_7_and_a_quarter),
       "found");
    ok(all_of(within(t.least, 7.25, 7.25 * 1.002), near(w_in_s[0][0], t.least)), "to one part in a thousand");
    ok(t.calls < 30, "in %d steps", t.calls);
    t.least = INFINITY;
    ok(!sc_hypervisor_lp_execute_dichotomy(1, 1, w_in_s, 0, &t, 0.0, 5.0, 0.0, needs_7_and_a_quarter),
       "nothing is found where there is nothing");
    ok(all_of(sc_hypervisor_lp_execute_dichotomy(1, 1, w_in_s, 0, &t, 0.0, 100.0, 9.0, needs_7_and_a_quarter),
              within(t.least, 9.0, 9.1)),
       "and nothing below the smallest time");
}

static void rounding(void)
{
    double halves[2][1] = { { 2.5 }, { 1.5 } }, little[2][1] = { { 3.9 }, { 0.1 } };
    double both[3][2] = { { 1.4, 3.3 }, { 0.6, 0.3 }, { 0.0, 2.4 } };
    int r[2][1], r3[3][2];
    sc_hypervisor_lp_round_double_to_int(2, 1, halves, r);
    ok(all_of(r[0][0] + r[1][0] == 4, r[0][0] >= 2, r[1][0] >= 1), "rounding keeps the total");
    sc_hypervisor_lp_round_double_to_int(2, 1, little, r);
    ok(all_of(r[0][0] == 3, r[1][0] == 1), "and leaves nobody with none");
    sc_hypervisor_lp_round_double_to_int(3, 2, both, r3);
    ok(all_of(r3[0][0] + r3[1][0] + r3[2][0] == 2, r3[0][1] + r3[1][1] + r3[2][1] == 6), "of each kind");
    ok(all_of(r3[0][0] == 1, r3[1][0] == 1, r3[2][0] == 0), "the largest remainder is rounded up");
    ok(all_of(r3[0][1] == 3, r3[1][1] == 0, r3[2][1] == 3), "not the first one");
}

int main(void)
{
    struct sc_hypervisor_policy lp = { .name = "feft_lp" };
    rounding();
    search();
    if (!sc_hypervisor_init(&lp)) {
        skip("the library was built without lp_solve: programs have no solution");
        return done_testing();
    }
    sc_hypervisor_shutdown();
    one_kind();
    two_kinds();
    limits();
    tasks();
    samples();
    return done_testing();
}
