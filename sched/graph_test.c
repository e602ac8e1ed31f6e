/* SPDX-License-Identifier: BSD-3-Clause */
/* graph_test.c: an example of a policy that looks at the graph of tasks: it keeps what is ready in a bag
 * until the program has submitted all it has to, then gives each task the length of the longest path behind
 * it as its priority. Threads: any pushes and submits; workers pop. Owns: the bag, a queue for CPUs and one
 * for the other workers. Not here: recording the graph, and depths (core/task/graph.c).
 *
 * The bag is opened by do_schedule: when the program asks for it, or a thread blocks in the runtime, so
 * nobody waits for what is in a closed one. It is closed again by the first task that is submitted when no
 * other is in the graph or waits for a worker, and no thread waits. While it is open, tasks that become ready
 * are scheduled at once.
 *
 * A task that both kinds of workers can run goes to the queue that would be empty first with it: by what is
 * in the queue already, the task's own time there, and how many workers share that. */
#include <math.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/task/graph.h"
#include "core/task/perf.h"
#include "sched/pool.h"

enum side { CPUS, OTHERS, SIDES };
enum { WORDS = STARPU_NMAXWORKERS / 64 };

struct ready {
    struct orr_task *task;
    int32_t priority;
    uint32_t place; /* in the order in which they became ready */
};

struct bag {
    struct ready *tasks;
    uint32_t count, room;
};

struct graph_test {
    struct orr_ctx *ctx;
    bool by_descendants;      /* [const] */
    ORR_SPIN(graph_bag) lock; /* protects the bag, and writing open; leaf */
    _Atomic bool open;
    struct bag bag;
    ORR_MUTEX(graph_computing) computing; /* protects computed; above the graph's lock */
    uint64_t computed;                    /* version of the graph for which priorities were computed */
    uint64_t side[SIDES][WORDS];          /* the workers there are [const] */
    struct orr_pool *queue[SIDES];        /* [const] */
    _Atomic int64_t waiting_ns[SIDES];    /* predicted for what is in the queue, where there was a choice */
};

static enum side side_of(const struct orr_worker *w)
{
    return w->type == STARPU_CPU_WORKER ? CPUS : OTHERS;
}

static void graph_test_destroy(void *instance)
{
    struct graph_test *g = instance;
    for (int i = 0; i < SIDES; i++)
        if (g->queue[i]) orr_pool_destroy(g->queue[i]);
    pthread_mutex_destroy(&g->computing);
    orr_free(g->bag.tasks);
    orr_graph_want(-1);
    orr_free(g);
}

static void *graph_test_create(struct orr_ctx *ctx)
{
    struct graph_test *g = orr_calloc(1, sizeof *g);
    if (!g) return NULL;
    g->ctx = ctx;
    g->by_descendants = orr_env_long(ORR_SETTING(STARPU_SCHED_GRAPH_TEST_DESCENDANTS), 0, 0, 1) != 0;
    pthread_mutex_init(&g->computing, NULL);
    orr_graph_want(1);
    for (unsigned i = 0; i < orr_worker_count; i++)
        g->side[side_of(&orr_workers[i])][i / 64] |= UINT64_C(1) << (i % 64);
    for (int i = 0; i < SIDES; i++)
        if (!(g->queue[i] = orr_pool_create())) {
            graph_test_destroy(g);
            return NULL;
        }
    return g;
}

/* ---- which queue ---- */

static bool has_workers(const struct graph_test *g, enum side s)
{
    for (int i = 0; i < WORDS; i++)
        if (g->side[s][i] && orr_load_seq(&g->ctx->member[i]) & g->side[s][i])
            return true; /* pairs with strike in core/worker/member.c */
    return false;
}

static bool is_member(const struct graph_test *g, unsigned id)
{
    return orr_load_relaxed(&g->ctx->member[id / 64]) >> (id % 64) & 1;
}

/* What is known of a task on one side. */
struct estimate {
    unsigned workers; /* that can run it */
    double us;        /* on the fastest of them */
};

/* Without a model, by how fast such workers are assumed to be. */
static double time_on(struct orr_worker *w, struct orr_task *t, unsigned nimpl)
{
    static const double unknown_us = 100;
    struct starpu_perfmodel *m = t->pub->cl->model;
    double us = m ? orr_task_expected(t, m, orr_perf_workers[w->id].comb, nimpl, w->id) : NAN;
    return isnan(us) ? unknown_us / starpu_worker_get_relative_speedup(&w->arch) : us;
}

static void look_at_worker(struct estimate *e, struct orr_worker *w, struct orr_task *t)
{
    bool can = false;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
        if (!orr_worker_can_run_impl(w, t, i)) continue;
        double us = time_on(w, t, i);
        if ((!can && e->workers == 0) || us < e->us) e->us = us;
        can = true;
    }
    e->workers += can;
}

/* Both sides have workers: where t would end first. */
static enum side choose(struct graph_test *g, struct orr_task *t)
{
    struct estimate e[SIDES] = { 0 };
    double end[SIDES];
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (is_member(g, i)) look_at_worker(&e[side_of(&orr_workers[i])], &orr_workers[i], t);
    for (int s = 0; s < SIDES; s++)
        end[s] = e[s].workers ? ((double)orr_load_relaxed(&g->waiting_ns[s]) * 1e-3 + e[s].us) / e[s].workers
                              : INFINITY;
    enum side s = end[OTHERS] < end[CPUS] ? OTHERS : CPUS;
    t->pub->predicted = e[s].workers ? e[s].us : 0;
    orr_add_relaxed(&g->waiting_ns[s], (int64_t)(t->pub->predicted * 1e3));
    return s;
}

/* ---- scheduling ---- */

static void schedule(struct graph_test *g, struct orr_task *t);

static struct orr_task *take(struct graph_test *g, enum side s, struct orr_worker *w)
{
    struct orr_task *t = orr_pool_pop(g->queue[s], w);
    if (t) orr_graph_expect_end(t);
    if (t && !isnan(t->pub->predicted))
        orr_sub_acq_rel(&g->waiting_ns[s], (int64_t)(t->pub->predicted * 1e3));
    return t;
}

/* What waits on a side without workers goes to the other; a push looks afterwards whether a worker is
 * there. */
static void decide_anew(struct graph_test *g, enum side s)
{
    struct orr_task *t;
    for (unsigned i = 0; i < orr_worker_count; i++)
        while (!has_workers(g, s) && (t = take(g, s, &orr_workers[i])) != NULL) {
            t->nimpl_valid = 0;
            schedule(g, t);
        }
}

/* The priority that the graph, as it was last computed, gives t. */
static int32_t rank(struct graph_test *g, struct orr_task *t)
{
    unsigned n = g->by_descendants ? orr_graph_descendants(t) : orr_graph_depth(t);
    int32_t priority = n < INT32_MAX ? (int32_t)n : INT32_MAX;
    if (t->priority != priority) t->priority = priority;
    if (t->pub->priority != priority) t->pub->priority = priority;
    return priority;
}

static void schedule(struct graph_test *g, struct orr_task *t)
{
    bool cpus = has_workers(g, CPUS), others = has_workers(g, OTHERS);
    enum side s = cpus && others ? choose(g, t) : others ? OTHERS : CPUS;
    if (orr_unlikely(!(cpus && others) && !isnan(t->pub->predicted))) t->pub->predicted = NAN;
    bool tells = orr_task_where_tells(t->pub);
    orr_pool_push(g->queue[s], t);
    if (tells)
        orr_wake_any(g->ctx, orr_pool_length(g->queue[s]));
    else
        orr_wake_each(g->ctx);
    if (orr_unlikely(!has_workers(g, s)) && has_workers(g, s == CPUS ? OTHERS : CPUS))
        decide_anew(g, s); /* pairs with remove_workers */
}

static void graph_test_do_schedule(void *instance);

/* The bag is closed for a new graph, unless somebody waits for this task. */
static void submit_hook(void *instance, struct orr_task *t)
{
    struct graph_test *g = instance;
    if (!orr_load_relaxed(&g->open) || orr_worker_self() || orr_task_inside()) return;
    unsigned in_graph = orr_graph_live();
    if (in_graph > 1 || (in_graph == 1 && !orr_graph_has(t))) return;
    if (orr_pool_length(g->queue[CPUS]) || orr_pool_length(g->queue[OTHERS])) return;
    orr_spin_lock(&g->lock);
    orr_store_relaxed(&g->open, false);
    orr_spin_unlock(&g->lock);
    if (orr_threads_any_blocked())
        graph_test_do_schedule(g); /* a thread that blocks registers before it opens the bag */
}

/* False: there is no memory for one more. Called with the lock held. */
static bool put_locked(struct bag *b, struct orr_task *t)
{
    if (b->count == b->room) {
        uint32_t room = b->room ? 2 * b->room : 1024;
        struct ready *tasks = orr_realloc(b->tasks, room * sizeof *tasks);
        if (!tasks) return false;
        b->tasks = tasks;
        b->room = room;
    }
    b->tasks[b->count] = (struct ready){ .task = t, .place = b->count };
    b->count++;
    return true;
}

static void graph_test_push(void *instance, struct orr_task *t)
{
    struct graph_test *g = instance;
    orr_spin_lock(&g->lock);
    bool waits = !orr_load_relaxed(&g->open) && put_locked(&g->bag, t);
    orr_spin_unlock(&g->lock);
    if (waits) return;
    rank(g, t);
    schedule(g, t);
}

static void compute(struct graph_test *g)
{
    pthread_mutex_lock(&g->computing);
    uint64_t now = orr_graph_version();
    if (now != g->computed) {
        if (g->by_descendants)
            _starpu_graph_compute_descendants();
        else
            _starpu_graph_compute_depths();
        g->computed = now;
    }
    pthread_mutex_unlock(&g->computing);
}

static int goes_before(const void *left, const void *right)
{
    const struct ready *a = left, *b = right;
    if (a->priority != b->priority) return a->priority > b->priority ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

/* By falling priority: a worker that takes the first while the others are still coming takes the right one.
 * The tasks are cold by now, so those ahead are asked for in time. */
static void rank_all(struct graph_test *g, struct bag *b)
{
    enum { AHEAD = 8 };
    bool falls = true;
    for (uint32_t i = 0; i < b->count; i++) {
        if (i + AHEAD < b->count) {
            orr_prefetch_write(b->tasks[i + AHEAD].task);
            orr_prefetch_read(&b->tasks[i + AHEAD].task->rare);
            orr_prefetch_read(&b->tasks[i + AHEAD / 2].task->pub->priority);
        }
        b->tasks[i].priority = rank(g, b->tasks[i].task);
        falls &= i == 0 || b->tasks[i].priority <= b->tasks[i - 1].priority;
    }
    if (!falls) qsort(b->tasks, b->count, sizeof *b->tasks, goes_before);
}

static void graph_test_do_schedule(void *instance)
{
    enum { AHEAD = 8 };
    struct graph_test *g = instance;
    compute(g);
    orr_spin_lock(&g->lock);
    struct bag b = g->bag;
    g->bag = (struct bag){ 0 };
    orr_store_relaxed(&g->open, true);
    orr_spin_unlock(&g->lock);
    rank_all(g, &b);
    for (uint32_t i = 0; i < b.count; i++) {
        if (i + AHEAD < b.count) {
            orr_prefetch_write(b.tasks[i + AHEAD].task);
            orr_prefetch_read(&b.tasks[i + AHEAD / 2].task->pub->cl);
            orr_prefetch_read(&b.tasks[i + AHEAD / 2].task->pub->workerids);
        }
        schedule(g, b.tasks[i].task);
    }
    orr_free(b.tasks);
}

static struct orr_task *graph_test_pop(void *instance, struct orr_worker *w)
{
    return take(instance, side_of(w), w);
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    return orr_pool_length(((struct graph_test *)instance)->queue[side_of(w)]);
}

static void graph_test_remove_workers(void *instance, const int *workers, unsigned count)
{
    struct graph_test *g = instance;
    (void)workers;
    (void)count;
    for (int s = 0; s < SIDES; s++)
        if (!has_workers(g, s) && has_workers(g, s == CPUS ? OTHERS : CPUS)) decide_anew(g, s);
}

const struct orr_policy_ops orr_policy_graph_test = {
    .name = "graph_test",
    .description = "example: by the longest path behind each task, once all are submitted",
    .create = graph_test_create,
    .destroy = graph_test_destroy,
    .remove_workers = graph_test_remove_workers,
    .push = graph_test_push,
    .pop = graph_test_pop,
    .backlog = backlog,
    .submit_hook = submit_hook,
    .do_schedule = graph_test_do_schedule,
};
