/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each strategy of the hypervisor on a program with two contexts: the resize that it promises comes, and
 * every task runs once, in a context's order where data give one. Threads: main submits; workers run tasks
 * and decide. Owns: what tasks have counted. Not here: the decisions one by one (hypervisor.c), linear
 * programs (hypervisor_lp.c).
 */
#include <sc_hypervisor.h>
#include <sc_hypervisor_policy.h>

#include "tests/helper.h"

enum { NO_SIDE = 0, SIDE_A = 1, SIDE_B = 2, BOTH = 3 };
enum { WORKERS = 4, TASKS_MAX = 20000, PATIENCE_MS = 20000 };

static struct side {
    unsigned ctx;
    int us;      /* how long a task takes */
    int tasks;   /* submitted so far */
    long served; /* by tasks that take turns */
    starpu_data_handle_t handle;
    atomic_int ran[TASKS_MAX], on[WORKERS];
} sides[2];
#define a (sides[0].ctx)
#define b (sides[1].ctx)

static atomic_int done;

static void work(struct side *s, const int *i)
{
    atomic_fetch_add(&s->ran[*i], 1);
    atomic_fetch_add(&s->on[starpu_worker_get_id()], 1);
    if (s->us > 0) usleep((unsigned)s->us);
    atomic_fetch_add(&done, 1);
}

static void free_func(void *buffers[] UNUSED, void *arg)
{
    struct side *s;
    int i;
    starpu_codelet_unpack_args(arg, &s, &i);
    work(s, &i);
}

static void turn_func(void *buffers[], void *arg)
{
    struct side *s;
    int i;
    starpu_codelet_unpack_args(arg, &s, &i);
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
    work(s, &i);
}

static struct starpu_codelet free_cl = { .cpu_funcs = { free_func }, .name = "free" };
static struct starpu_codelet turn_cl = {
    .cpu_funcs = { turn_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "turn"
};

/* Submits tasks of 1e6 operations, every eighth of which takes turns with the others of its kind. */
static int submit(struct side *s, int n, int tag)
{
    int failed = 0;
    for (int k = 0; k < n; k++) {
        int i = s->tasks++;
        int at = k == n / 2 ? tag : 0;
        if (i % 8 == 7)
            failed += starpu_task_insert(&turn_cl, STARPU_RW, s->handle, STARPU_VALUE, &s, sizeof s,
                                         STARPU_VALUE, &i, sizeof i, STARPU_SCHED_CTX, s->ctx, STARPU_FLOPS,
                                         1e6, STARPU_HYPERVISOR_TAG, at, 0) != 0;
        else
            failed += starpu_task_insert(&free_cl, STARPU_VALUE, &s, sizeof s, STARPU_VALUE, &i, sizeof i,
                                         STARPU_SCHED_CTX, s->ctx, STARPU_FLOPS, 1e6, STARPU_HYPERVISOR_TAG,
                                         at, 0) != 0;
    }
    return failed;
}

/* Contexts with the workers from 0 to na - 1, and from na to na + nb - 1. */
static void begin(const char *strategy, const char *policy, int na, int nb, double flops_a, double flops_b)
{
    struct sc_hypervisor_policy chosen = { .name = strategy };
    double flops[2] = { flops_a, flops_b };
    int all[WORKERS] = { 0, 1, 2, 3 }, n[2] = { na, nb };
    atomic_store(&done, 0);
    void *counters = sc_hypervisor_init(&chosen);
    for (int k = 0; k < 2; k++) {
        struct side *s = &sides[k];
        memset(s, 0, sizeof *s);
        s->ctx = starpu_sched_ctx_create(&all[k * na], n[k], k ? "b" : "a", STARPU_SCHED_CTX_POLICY_NAME,
                                         policy, 0);
        starpu_variable_data_register(&s->handle, STARPU_MAIN_RAM, (uintptr_t)&s->served, sizeof s->served);
        starpu_sched_ctx_set_perf_counters(s->ctx, counters);
        sc_hypervisor_register_ctx(s->ctx, flops[k]);
    }
}

/* Waits for all tasks and says whether each has run once; ends the hypervisor. */
static void end(const char *strategy)
{
    starpu_task_wait_for_all();
    int once = 1, in_turn = 1;
    for (int k = 0; k < 2; k++) {
        struct side *s = &sides[k];
        starpu_data_unregister(s->handle);
        for (int i = 0; i < s->tasks; i++) once &= atomic_load(&s->ran[i]) == 1;
        in_turn &= s->served == s->tasks / 8;
    }
    ok(once, "%s: each of %d and %d tasks has run once", strategy, sides[0].tasks, sides[1].tasks);
    ok(in_turn, "%s: and those on the same data one by one", strategy);
    sc_hypervisor_shutdown();
    starpu_sched_ctx_delete(a);
    starpu_sched_ctx_delete(b);
}

/* Waits until the contexts have as many workers; meanwhile these sides always have tasks waiting. */
static int come_to_have(unsigned in_a, unsigned in_b, int busy)
{
    for (int i = 0; i < PATIENCE_MS * 10; i++) {
        int waiting = sides[0].tasks + sides[1].tasks - atomic_load(&done);
        if (starpu_sched_ctx_get_nworkers(a) == in_a && starpu_sched_ctx_get_nworkers(b) == in_b) return 1;
        for (int k = 0; k < 2 && waiting < 100; k++)
            if (busy >> k & 1 && sides[k].tasks < TASKS_MAX - 50) submit(&sides[k], 50, 0);
        usleep(100);
    }
    diag("workers: %u and %u, not %u and %u", starpu_sched_ctx_get_nworkers(a),
         starpu_sched_ctx_get_nworkers(b), in_a, in_b);
    return 0;
}

/* ---- without linear programs ---- */

static void idle(void)
{
    int of_a[2] = { 0, 1 };
    begin("idle", "lws", 2, 2, 0.0, 0.0);
    sc_hypervisor_ctl(a, SC_HYPERVISOR_MAX_IDLE, of_a, 2, 3000.0, SC_HYPERVISOR_MIN_WORKERS, 1,
                      SC_HYPERVISOR_NULL);
    sides[1].us = 1000;
    submit(&sides[1], 400, 0);
    ok(come_to_have(1, 3, SIDE_B), "idle: a worker without tasks goes where there are some");
    starpu_task_wait_for_all();
    ok(atomic_load(&sides[1].on[0]) + atomic_load(&sides[1].on[1]) > 0, "idle: and runs them");
    ok(atomic_load(&sides[1].on[0]) == 0 || atomic_load(&sides[1].on[1]) == 0, "idle: not the last one");
    is_int(starpu_sched_ctx_get_nworkers(b), 3, "idle: when nobody has tasks, nobody moves");
    end("idle");
}

static void app_driven(void)
{
    begin("app_driven", "eager", 2, 2, 0.0, 0.0);
    sc_hypervisor_post_resize_request(a, 5);
    sides[0].us = sides[1].us = 200;
    submit(&sides[1], 100, 0);
    submit(&sides[0], 100, 5);
    ok(come_to_have(1, 3, NO_SIDE), "app_driven: a worker moves at the tag");
    end("app_driven");
}

static void gflops_rate(void)
{
    begin("gflops_rate", "prio", 2, 2, 100e6, 2000e6);
    sides[0].us = sides[1].us = 200;
    submit(&sides[0], 50, 0);
    submit(&sides[1], 1000, 0);
    ok(come_to_have(1, 3, SIDE_B), "gflops_rate: the context with more to do gets workers");
    end("gflops_rate");
}

static void ispeed(void)
{
    begin("ispeed", "lws", 2, 2, 0.0, 0.0);
    sc_hypervisor_ctl(a, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 10e6, SC_HYPERVISOR_NULL);
    sc_hypervisor_ctl(b, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 10e6, SC_HYPERVISOR_NULL);
    sides[0].us = 100;
    sides[1].us = 8000;
    ok(come_to_have(1, 3, BOTH), "ispeed: the slow context gets a worker of the fast one");
    end("ispeed");
}

/* ---- with linear programs ---- */

static void feft_lp(void)
{
    begin("feft_lp", "lws", 0, 0, 3000e6, 1000e6);
    sc_hypervisor_size_ctxs(NULL, -1, NULL, -1);
    ok(come_to_have(3, 1, NO_SIDE), "feft_lp: sizes are in proportion to operations");
    sides[0].us = 100;
    sides[1].us = 8000; /* which was not known: one takes as long as many of the others */
    ok(come_to_have(1, 3, BOTH), "feft_lp: and follow speeds");
    end("feft_lp");
}

static void teft_lp(void)
{
    begin("teft_lp", "eager", 0, 0, 0.0, 0.0);
    sc_hypervisor_size_ctxs(NULL, -1, NULL, -1);
    ok(sc_hypervisor_get_wrapper(a)->to_be_sized, "teft_lp: without tasks, sizes are owed");
    for (int i = 0; i < 30; i++) sc_hypervisor_set_type_of_task(&free_cl, a, 1, 8);
    for (int i = 0; i < 10; i++) sc_hypervisor_set_type_of_task(&free_cl, b, 1, 8);
    unsigned first = starpu_sched_ctx_get_nworkers(a) + starpu_sched_ctx_get_nworkers(b);
    is_int(first, WORKERS, "teft_lp: and made with the first tasks announced");
    sc_hypervisor_resize_ctxs(NULL, -1, NULL, -1);
    ok(come_to_have(3, 1, NO_SIDE), "teft_lp: then they follow the tasks");
    sides[0].us = sides[1].us = 100;
    submit(&sides[0], 30, 0);
    submit(&sides[1], 10, 0);
    end("teft_lp");
}

static void ispeed_lp(void)
{
    begin("ispeed_lp", "lws", 0, 0, 0.0, 0.0);
    sc_hypervisor_ctl(a, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 30e6, SC_HYPERVISOR_NULL);
    sc_hypervisor_ctl(b, SC_HYPERVISOR_ISPEED_CTX_SAMPLE, 10e6, SC_HYPERVISOR_NULL);
    sc_hypervisor_size_ctxs(NULL, -1, NULL, -1);
    ok(come_to_have(3, 1, NO_SIDE), "ispeed_lp: sizes are in proportion to frames");
    sides[0].us = 100;
    sides[1].us = 8000;
    ok(come_to_have(1, 3, BOTH), "ispeed_lp: and follow speeds");
    end("ispeed_lp");
}

static void throughput_lp(void)
{
    begin("throughput_lp", "lws", 2, 2, 0.0, 0.0);
    sides[0].us = 100;
    sides[1].us = 8000;
    ok(come_to_have(3, 1, BOTH), "throughput_lp: workers go where they are fast");
    end("throughput_lp");
}

/* ---- whatever the strategy ---- */

/* A context without workers is not left alone with its tasks. */
static void deserted(void)
{
    begin("app_driven", "eager", 4, 0, 0.0, 0.0);
    submit(&sides[1], 20, 0);
    starpu_task_wait_for_all();
    int ran = 0;
    for (int i = 0; i < WORKERS; i++) ran += atomic_load(&sides[1].on[i]);
    is_int(ran, 20, "a context without workers gets one when it has tasks");
    end("deserted");
}

/* Workers move to and fro while tasks run; then the hypervisor ends, with moves under way. */
static void stress(const char *policy)
{
    uint64_t seed = 42;
    begin("app_driven", policy, 2, 2, 0.0, 0.0);
    for (int round = 0; round < 100; round++) {
        unsigned from = random_below(&seed, 2);
        int worker = (int)random_below(&seed, WORKERS);
        submit(&sides[0], 10, 0);
        submit(&sides[1], 10, 0);
        sc_hypervisor_move_workers(sides[from].ctx, sides[1 - from].ctx, &worker, 1, random_below(&seed, 2));
        if (round % 16 == 0) usleep(1000);
    }
    end(policy);
}

int main(void)
{
    setenv("SC_HYPERVISOR_STOP_PRINT", "1", 1);
    runtime_start(WORKERS, NULL);
    require_workers(WORKERS);
    idle();
    app_driven();
    gflops_rate();
    ispeed();
    deserted();
    const char *policies[] = { "eager", "prio", "lws", "ws", "dmda", "random" };
    for (unsigned i = 0; i < LENGTH(policies); i++) stress(policies[i]);
    struct sc_hypervisor_policy lp = { .name = "feft_lp" };
    if (sc_hypervisor_init(&lp)) {
        sc_hypervisor_shutdown();
        setenv("SC_HYPERVISOR_TRIGGER_RESIZE", "speed", 1);
        feft_lp();
        teft_lp();
        ispeed_lp();
        throughput_lp();
    } else {
        skip("the library was built without lp_solve: strategies with linear programs are refused");
    }
    starpu_shutdown();
    return done_testing();
}
