/* SPDX-License-Identifier: BSD-3-Clause */
/* combined.c: see combined.h.
 * Threads: see there; the thread's own rank is its worker's. Owns: the table, the settings. Not here: single
 * workers (query.c).
 *
 * The workers under each object of the machine that has several (package, NUMA node, shared cache) make one
 * combined worker. An object with more parts than STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER is first divided
 * into about that many chunks of neighbouring parts, each of which makes one as well, and so on: for 6 cores
 * and arity 2, of all 6, of 3 and 3, and of 2 in each of those. */
#include "core/worker/combined.h"

#include <string.h>

#include <starpu.h>
#include <starpu_tree.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/perf/arch.h"
#include "core/topo/topo.h"
#include "core/worker/driver.h"
#include "core/worker/parallel.h"

static struct {
    ORR_MUTEX(combined) lock;                               /* protects adding; leaf */
    _Atomic unsigned count;                                 /* publishes the entries below it */
    struct orr_combined entry[STARPU_NMAX_COMBINEDWORKERS]; /* [const below count] */
    unsigned min, max, arity;                               /* [const between init and fini] */
    bool single;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

unsigned orr_combined_count(void)
{
    return orr_load_acquire(&table.count); /* pairs with publish_locked */
}

const struct orr_combined *orr_combined_at(unsigned i)
{
    return &table.entry[i];
}

const struct orr_combined *orr_combined_get(unsigned workerid)
{
    bool known = workerid >= orr_worker_count && workerid - orr_worker_count < orr_combined_count();
    return known ? &table.entry[workerid - orr_worker_count] : NULL;
}

bool orr_combined_single(void)
{
    return table.single;
}

/* ---- adding ---- */

static int find_below(unsigned count, const int *members, unsigned size)
{
    for (unsigned i = 0; i < count; i++)
        if (table.entry[i].size == size &&
            memcmp(table.entry[i].members, members, size * sizeof *members) == 0)
            return table.entry[i].id;
    return -1;
}

/* Called with the lock held; members becomes the table's. The new one's worker number, or -errno. */
static int publish_locked(unsigned n, int *members, unsigned size)
{
    struct starpu_perfmodel_device d = { .type = STARPU_CPU_WORKER, .devid = 0, .ncores = (int)size };
    int comb = n < STARPU_NMAX_COMBINEDWORKERS ? orr_arch_intern(1, &d) : -1;
    if (comb < 0) return -ENOSPC;
    int id = (int)(orr_worker_count + n);
    orr_perf_combined_register(n, comb);
    table.entry[n] = (struct orr_combined){ .id = id, .size = size, .comb = comb, .members = members };
    orr_store_release(&table.count, n + 1); /* pairs with orr_combined_count */
    return id;
}

/* Adds one unless it exists. members: rising. Its worker number, or -ENOMEM, -ENOSPC. */
static int add(const int *members, unsigned size)
{
    int *copy = orr_malloc(size * sizeof *copy);
    if (!copy) return -ENOMEM;
    memcpy(copy, members, size * sizeof *copy);
    pthread_mutex_lock(&table.lock);
    unsigned n = orr_load_relaxed(&table.count);
    int before = find_below(n, members, size), id = before >= 0 ? before : publish_locked(n, copy, size);
    pthread_mutex_unlock(&table.lock);
    if (before >= 0 || id < 0) orr_free(copy);
    return id;
}

static void sort_rising(int *list, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && list[k - 1] > list[k]; k--) {
            int other = list[k];
            list[k] = list[k - 1];
            list[k - 1] = other;
        }
}

/* ---- in the shape of the machine ---- */

struct layout {
    const bool *wanted;            /* by worker */
    int order[STARPU_NMAXWORKERS]; /* the workers, neighbours together */
    unsigned count;
};

static void add_range(const struct layout *l, unsigned first, unsigned end)
{
    int members[STARPU_NMAXWORKERS];
    unsigned size = end - first;
    if (size < table.min || size > table.max) return;
    memcpy(members, &l->order[first], size * sizeof members[0]);
    sort_rising(members, size);
    add(members, size);
}

/* Part i of an object has the workers order[bounds[i]] to before order[bounds[i + 1]]. */
static void add_groups(const struct layout *l, const unsigned *bounds, unsigned parts)
{
    add_range(l, bounds[0], bounds[parts]);
    if (parts <= table.arity) return;
    unsigned chunk = (parts + table.arity - 1) / table.arity;
    for (unsigned i = 0; i < parts; i += chunk)
        add_groups(l, &bounds[i], parts - i < chunk ? parts - i : chunk);
}

/* The workers of one core; there may be several. */
static void add_core(struct layout *l, int core)
{
    unsigned bounds[STARPU_NMAXWORKERS + 1], n = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        int bound_to = starpu_worker_get_bindid((int)i);
        if (bound_to < 0) bound_to = (int)(i % orr_topo_cores());
        if (!l->wanted[i] || bound_to != core) continue;
        bounds[n++] = l->count;
        l->order[l->count++] = (int)i;
    }
    bounds[n] = l->count;
    if (n > 1) add_groups(l, bounds, n);
}

static void add_object(struct layout *l, const struct starpu_tree *object)
{
    unsigned bounds[STARPU_NMAXWORKERS + 1], n = 0;
    if (object->is_pu) {
        add_core(l, object->id);
        return;
    }
    for (int i = 0; i < object->arity; i++) {
        unsigned before = l->count;
        add_object(l, &object->nodes[i]);
        if (l->count > before) bounds[n++] = before;
    }
    bounds[n] = l->count;
    if (n > 1) add_groups(l, bounds, n);
}

/* One of each size, of the first workers: two of them cannot run at once. */
static void add_single(const bool *wanted)
{
    struct layout l = { .count = 0 };
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (wanted[i]) l.order[l.count++] = (int)i;
    for (unsigned size = 2; size <= l.count; size++) add_range(&l, 0, size);
}

void orr_combined_make(const int *workers, unsigned count)
{
    bool wanted[STARPU_NMAXWORKERS] = { false };
    struct layout l = { .wanted = wanted };
    for (unsigned i = 0; i < count; i++)
        wanted[workers[i]] = orr_workers[workers[i]].type == STARPU_CPU_WORKER;
    if (table.single) {
        add_single(wanted);
        return;
    }
    const struct starpu_tree *machine = orr_topo_tree();
    if (machine) add_object(&l, machine);
}

bool orr_combined_is_in(const struct orr_combined *c, const struct orr_ctx *ctx)
{
    for (unsigned i = 0; i < c->size; i++) {
        unsigned id = (unsigned)c->members[i];
        if (!(orr_load_seq(&ctx->member[id / 64]) >> (id % 64) & 1))
            return false; /* pairs with strike in member.c */
    }
    return true;
}

void orr_combined_refresh(struct orr_combined_view *view, const struct orr_ctx *ctx)
{
    int workers[STARPU_NMAXWORKERS];
    unsigned n = 0;
    bool changed = false;
    for (unsigned i = 0; i < STARPU_NMAXWORKERS / 64; i++) {
        uint64_t now = orr_load_relaxed(&ctx->member[i]);
        if (orr_likely(now == orr_load_relaxed(&view->made_for[i]))) continue;
        orr_store_relaxed(&view->made_for[i], now);
        changed = true;
    }
    if (orr_likely(!changed)) return;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_ctx_has(ctx, i)) workers[n++] = (int)i;
    orr_combined_make(workers, n);
}

/* ---- who can run what ---- */

bool orr_task_may_use(const struct orr_task *t, unsigned size)
{
    const struct starpu_codelet *cl = t->pub->cl;
    if (size <= 1) return true;
    if (cl->type == STARPU_SEQ || !(orr_task_where(t->pub) & STARPU_CPU)) return false;
    return cl->max_parallelism <= 0 || size <= (unsigned)cl->max_parallelism;
}

static bool all_allowed(const struct orr_combined *c, const struct starpu_task *p)
{
    for (unsigned i = 0; p->workerids_len && i < c->size; i++) {
        unsigned id = (unsigned)c->members[i];
        if (id / 32 >= p->workerids_len || !(p->workerids[id / 32] >> (id % 32) & 1)) return false;
    }
    return true;
}

bool orr_combined_can_run(const struct orr_combined *c, struct orr_task *t, unsigned nimpl)
{
    struct starpu_task *p = t->pub;
    const struct orr_worker *first = &orr_workers[c->members[0]];
    if (nimpl >= STARPU_MAXIMPLEMENTATIONS || !orr_task_may_use(t, c->size)) return false;
    if (!(orr_task_where(p) & STARPU_CPU) || !orr_worker_function(first, p->cl, nimpl) || !all_allowed(c, p))
        return false;
    return !p->cl->can_execute || p->cl->can_execute((unsigned)c->id, p, nimpl);
}

bool orr_combined_can_run_any(const struct orr_combined *c, struct orr_task *t, unsigned *nimpl_out)
{
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (orr_combined_can_run(c, t, i)) {
            *nimpl_out = i;
            return true;
        }
    return false;
}

/* ---- for programs ---- */

unsigned starpu_combined_worker_get_count(void)
{
    return orr_combined_count();
}

unsigned starpu_worker_is_combined_worker(int id)
{
    return id >= 0 && orr_combined_get((unsigned)id) != NULL;
}

static int refuse(const char *why, int number)
{
    orr_error("starpu_combined_worker_assign_workerid: %s (%d)", why, number);
    return -EINVAL;
}

int starpu_combined_worker_assign_workerid(int nworkers, int workerid_array[])
{
    int members[STARPU_NMAXWORKERS];
    if (nworkers < 1 || (unsigned)nworkers > orr_worker_count)
        return refuse("a combined worker has at least one worker, and at most all", nworkers);
    if (!workerid_array) return refuse("the array of workers is NULL", nworkers);
    memcpy(members, workerid_array, (size_t)nworkers * sizeof members[0]);
    sort_rising(members, (unsigned)nworkers);
    for (int i = 0; i < nworkers; i++) {
        if (members[i] < 0 || (unsigned)members[i] >= orr_worker_count)
            return refuse("there is no such worker", members[i]);
        if (orr_workers[members[i]].type != STARPU_CPU_WORKER)
            return refuse("only CPU workers can be combined; this worker is none", members[i]);
        if (i > 0 && members[i] == members[i - 1]) return refuse("a worker is named twice", members[i]);
    }
    int id = add(members, (unsigned)nworkers);
    if (id < 0)
        orr_error("starpu_combined_worker_assign_workerid: %s",
                  id == -ENOMEM ? "out of memory"
                                : "there are as many combined workers as there can be "
                                  "(STARPU_NMAX_COMBINEDWORKERS)");
    return id;
}

int starpu_combined_worker_get_description(int workerid, int *worker_size, int **combined_workerid)
{
    const struct orr_combined *c = workerid >= 0 ? orr_combined_get((unsigned)workerid) : NULL;
    if (!c) return -EINVAL;
    if (worker_size) *worker_size = (int)c->size;
    if (combined_workerid) *combined_workerid = c->members;
    return 0;
}

int starpu_combined_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl)
{
    const struct orr_combined *c = orr_combined_get(workerid);
    if (!c) return starpu_worker_can_execute_task(workerid, task, nimpl);
    if (!task || !task->cl) return 0; /* nothing to share */
    struct orr_task *t = orr_codelet_check(task->cl) >= 0 ? orr_task_private(task) : NULL;
    return t && orr_combined_can_run(c, t, nimpl);
}

/* ---- life ---- */

void orr_combined_init(const struct starpu_conf *conf)
{
    long single = conf->single_combined_worker > 0;
    if (conf->single_combined_worker < 0 || !conf->precedence_over_environment_variables)
        single = orr_env_long(ORR_SETTING(STARPU_SINGLE_COMBINED_WORKER), single, 0, 1);
    table.single = single != 0;
    table.min = (unsigned)orr_env_long(ORR_SETTING(STARPU_MIN_WORKERSIZE), 2, 1, STARPU_NMAXWORKERS);
    table.max =
        (unsigned)orr_env_long(ORR_SETTING(STARPU_MAX_WORKERSIZE), STARPU_NMAXWORKERS, 1, STARPU_NMAXWORKERS);
    table.arity = (unsigned)orr_env_long(ORR_SETTING(STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER), 2, 2,
                                         STARPU_NMAXWORKERS);
    if (table.min < 2) table.min = 2; /* one alone is a worker already */
    if (table.min > table.max)
        orr_warn("STARPU_MIN_WORKERSIZE is above STARPU_MAX_WORKERSIZE: there will be no combined workers");
}

void orr_combined_fini(void)
{
    for (unsigned i = 0; i < orr_combined_count(); i++) orr_free(table.entry[i].members);
    orr_perf_combined_clear();
    orr_store_release(&table.count, 0u);
}
