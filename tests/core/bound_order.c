/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds that know what waits for what: lp_solve's solutions of the programs that are printed, against the
 * best of all orders, for graphs that are known and for random ones; the longest chain; the drawing.
 * Threads: main submits and asks; workers execute. Owns: files bound-order.* in the working folder.
 * Not here: the forms of tasks without an order (bound.c).
 */
#include <math.h>
#include <stdlib.h>
#include <starpu_bound.h>

#include "tests/helper.h"
#include "tests/tools/runs.h"

enum { MOST = 5, DATA = 3, SEEDS = 12 };

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static double its_ms(struct starpu_task *task, unsigned nimpl UNUSED)
{
    return 1000 * (double)(uintptr_t)task->cl_arg;
}
static uint32_t its_footprint(struct starpu_task *task)
{
    return (uint32_t)(uintptr_t)task->cl_arg;
}
static struct starpu_perfmodel model = {
    .type = STARPU_COMMON, .cost_function = its_ms, .footprint = its_footprint, .symbol = "bound_order"
};
static struct starpu_codelet plain = { .cpu_funcs = { nothing }, .model = &model, .name = "plain" },
                             reads = { .cpu_funcs = { nothing },
                                       .model = &model,
                                       .name = "reads",
                                       .nbuffers = 1,
                                       .modes = { STARPU_R } },
                             writes = { .cpu_funcs = { nothing },
                                        .model = &model,
                                        .name = "writes",
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW } },
                             both = { .cpu_funcs = { nothing },
                                      .model = &model,
                                      .name = "both",
                                      .nbuffers = 2,
                                      .modes = { STARPU_R, STARPU_RW } };
static int value[DATA];
static starpu_data_handle_t h[DATA];

static struct starpu_task *task(struct starpu_codelet *cl, unsigned ms, starpu_data_handle_t first,
                                starpu_data_handle_t second)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = (void *)(uintptr_t)ms;
    t->cl_arg_size = 0;
    t->handles[0] = first;
    t->handles[1] = second;
    return t;
}

static void submit(struct starpu_task *t)
{
    if (starpu_task_submit(t) != 0) printf("Bail out! a task was refused\n"), exit(1);
}

static double stop(void)
{
    double ms = 0;
    starpu_task_wait_for_all();
    starpu_bound_stop();
    starpu_bound_compute(&ms, NULL, 0);
    return ms;
}

/* What lp_solve says; NAN: it found nothing. Its solution is in bound-order.out. */
static double solved(void)
{
    FILE *f = fopen("bound-order.lp", "w");
    if (!f) return NAN;
    starpu_bound_print_lp(f);
    fclose(f);
    if (run("timeout 50 lp_solve bound-order.lp >bound-order.out; grep objective bound-order.out") != 0)
        return NAN;
    const char *at = strstr(output, "function:");
    return at ? atof(at + 9) : NAN;
}

static int near(double got, double want)
{
    if (fabs(got - want) < 1e-3) return 1;
    diag("%g, not %g", got, want);
    return 0;
}

/* ---- graphs that are known ---- */

static void chain(void)
{
    starpu_bound_start(1, 0);
    for (unsigned i = 1; i <= 3; i++) submit(task(&writes, i, h[0], NULL));
    double ms = stop();
    ok(all_of(near(ms, 6), near(solved(), 6)), "three tasks that write the same data take their sum");
}

static void apart(void)
{
    starpu_bound_start(1, 0);
    for (unsigned i = 0; i < 3; i++) submit(task(&plain, 2, NULL, NULL));
    double ms = stop();
    ok(all_of(near(ms, 3), near(solved(), 4)),
       "three of 2 ms on two workers take 3 ms if they could be cut, and 4 as they are");
}

static void fractions(void)
{
    starpu_bound_start(0, 0);
    for (unsigned i = 0; i < 3; i++) submit(task(&writes, 1 + i, h[0], NULL));
    double ms = stop();
    ok(all_of(near(ms, 3), near(solved(), 3)), "without dependencies lp_solve finds what is computed here");
}

/* A before B and C by data, these before D by declaration and by tag. */
static void diamond(void)
{
    starpu_bound_start(1, 0);
    struct starpu_task *a = task(&writes, 1, h[0], NULL), *b = task(&reads, 2, h[0], NULL),
                       *c = task(&reads, 3, h[0], NULL), *d = task(&plain, 1, NULL, NULL);
    c->use_tag = d->use_tag = 1;
    c->tag_id = 71;
    d->tag_id = 72;
    starpu_tag_declare_deps(72, 1, (starpu_tag_t)71);
    starpu_task_declare_deps_array(d, 1, &b);
    submit(a), submit(b), submit(c), submit(d);
    double ms = stop();
    ok(all_of(near(ms, 5), near(solved(), 5)), "data, tags and declarations are all waited for");
    is_int(run("tools/starpu_lp2paje <bound-order.out >bound-order.paje"), 0,
           "starpu_lp2paje makes a trace of that schedule");
    ok(says("2 workers, 4 tasks"), "of all tasks");
    FILE *f = fopen("bound-order.dot", "w");
    starpu_bound_print_dot(f);
    fclose(f);
    run("grep -c label bound-order.dot");
    is_int(atoi(output), 4, "the drawing has the tasks");
    run("awk '$2 == \"->\" {after[$1] = after[$1] \" \" $3} /label/ {name[$1] = 1; if (/writes/) todo = $1} "
        "END {n = "
        "split(todo, q, \" \"); for (i = 1; i <= n; i++) {sub(\";\", \"\", q[i]); if (seen[q[i]]++) "
        "continue; m += q[i] "
        "in name; k = split(after[q[i]], s, \" \"); for (j = 1; j <= k; j++) {sub(\";\", \"\", s[j]); q[++n] "
        "= s[j]}} "
        "print m}' bound-order.dot");
    is_int(atoi(output), 4, "and the first leads to all of them");
    starpu_tag_remove(71);
    starpu_tag_remove(72);
}

static void acquired(void)
{
    starpu_bound_start(1, 0);
    submit(task(&reads, 2, h[1], NULL));
    if (starpu_data_acquire(h[1], STARPU_RW) == 0) starpu_data_release(h[1]);
    submit(task(&reads, 2, h[1], NULL));
    double ms = stop();
    ok(all_of(near(ms, 4), near(solved(), 4)), "what the program writes comes between two readers");
    starpu_bound_start(1, 0);
    submit(task(&reads, 2, h[1], NULL));
    if (starpu_data_acquire(h[1], STARPU_R) == 0) starpu_data_release(h[1]);
    submit(task(&reads, 2, h[1], NULL));
    ms = stop();
    ok(all_of(near(ms, 2), near(solved(), 2)), "what it reads does not");
}

static double urgent_first(int prio)
{
    starpu_bound_start(1, prio);
    for (unsigned i = 0; i < 3; i++) {
        struct starpu_task *t = task(&plain, i < 2 ? 1 : 2, NULL, NULL);
        t->priority = i < 2 ? 1 : 0;
        submit(t);
    }
    stop();
    return solved();
}

static void priorities(void)
{
    ok(near(urgent_first(0), 2), "a long task beside two short ones takes as long as these");
    ok(near(urgent_first(1), 3), "unless they are more urgent: then it begins no sooner");
    starpu_bound_start(1, 1);
    for (int i = 0; i < 3; i++) { /* an urgent one waits for one that is not; between them stands another */
        struct starpu_task *t = task(i == 1 ? &plain : &writes, 1, h[0], NULL);
        t->priority = (int[]){ 0, 1, 2 }[i];
        submit(t);
    }
    stop();
    ok(near(solved(), 2), "what an urgent task waits for is as urgent");
}

/* ---- random ones ---- */

static struct graph {
    int n;
    unsigned ms[MOST];
    int waits[MOST][MOST];
} g;

/* Each in turn begins as soon as what it waits for and one of two workers allow. */
static double in_order(const int *order)
{
    double end[MOST], idle[2] = { 0, 0 }, last = 0;
    for (int k = 0; k < g.n; k++) {
        int i = order[k], w = idle[1] < idle[0];
        double at = idle[w];
        for (int p = 0; p < g.n; p++)
            if (g.waits[i][p]) at = fmax(at, end[p]);
        idle[w] = end[i] = at + g.ms[i];
        last = fmax(last, end[i]);
    }
    return last;
}

/* The best of all orders in which none comes before what it waits for. */
static double best(int *order, int done)
{
    double least = INFINITY;
    if (done == g.n) return in_order(order);
    for (int i = 0; i < g.n; i++) {
        int may = 1;
        for (int k = 0; k < done; k++) may &= order[k] != i;
        for (int p = 0; p < g.n && may; p++) {
            int there = !g.waits[i][p];
            for (int k = 0; k < done; k++) there |= order[k] == p;
            may &= there;
        }
        if (!may) continue;
        order[done] = i;
        least = fmin(least, best(order, done + 1));
    }
    return least;
}

static double longest(void)
{
    double end[MOST], most = 0;
    for (int i = 0; i < g.n; i++) {
        end[i] = 0;
        for (int p = 0; p < i; p++)
            if (g.waits[i][p]) end[i] = fmax(end[i], end[p]);
        end[i] += g.ms[i];
        most = fmax(most, end[i]);
    }
    return most;
}

static int random_graph(unsigned seed)
{
    int users[MOST][DATA], area = 0, order[MOST]; /* 0: none, 1: reads, 2: writes */
    srand(seed);
    g = (struct graph){ .n = MOST };
    starpu_bound_start(1, 0);
    for (int i = 0; i < g.n; i++) {
        int first = rand() % DATA, second = (first + 1 + rand() % (DATA - 1)) % DATA, kind = rand() % 4;
        struct starpu_codelet *cl = (struct starpu_codelet *[]){ &plain, &reads, &writes, &both }[kind];
        memset(users[i], 0, sizeof users[i]);
        if (kind == 1 || kind == 3) users[i][first] = 1;
        if (kind == 2) users[i][first] = 2;
        if (kind == 3) users[i][second] = 2;
        g.ms[i] = 1 + (unsigned)rand() % 4;
        area += (int)g.ms[i];
        for (int p = 0; p < i; p++)
            for (int d = 0; d < DATA; d++)
                g.waits[i][p] |= users[i][d] + users[p][d] > 2 && users[i][d] && users[p][d];
        submit(task(cl, g.ms[i], h[first], h[second]));
    }
    double ms = stop();
    if (all_of(near(ms, fmax(longest(), area / 2.0)), near(solved(), best(order, 0)))) return 1;
    diag("seed %u", seed);
    return 0;
}

int main(void)
{
    alarm(60);
    if (run("command -v lp_solve") != 0) {
        skip("there is no lp_solve (Debian package lp-solve)");
        return done_testing();
    }
    runtime_start(2, NULL);
    require_workers(2);
    for (int i = 0; i < DATA; i++)
        starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
    chain();
    apart();
    fractions();
    diamond();
    acquired();
    priorities();
    int good = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) good += random_graph(seed);
    is_int(good, SEEDS,
           "of random graphs lp_solve finds the best of all orders, and the bound is the longest chain or "
           "the area");
    for (int i = 0; i < DATA; i++) starpu_data_unregister(h[i]);
    starpu_shutdown();
    run("rm -f bound-order.*");
    return done_testing();
}
