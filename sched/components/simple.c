/* SPDX-License-Identifier: BSD-3-Clause */
/* simple.c: trees of a common shape, described by flags: starpu_sched_component_initialize_simple_scheduler.
 * Threads: who builds. Owns: nothing. Not here: the trees that are made with it (trees.c).
 *
 *   [userchoice]                                            several decisions only
 *   [fifo or prio]                                          FIFO_ABOVE
 *   [perfmodel_select -> fifo -> eager (no model),          PERFMODEL: both go past the queues below
 *                     -> a queue to be measured]
 *   [what the program wants]                                PRE_DECISION
 *   the component that decides
 *   [stage]                                                 several decisions only
 *   [fifo or prio], for each worker, node or kind           FIFOS_BELOW
 *   [eager or work_stealing]                                where it is for several workers
 *   [best_implementation]                                   IMPL
 *   worker */
#include <stdarg.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/worker/combined.h"
#include "sched/components/component.h"

enum { DECISIONS_MAX = 16, NTASKS_DEFAULT = 2 };

struct decision {
    starpu_sched_component_create_t create, create_pre;
    void *data, *data_pre;
    unsigned flags;
};

/* One of the things to decide among. */
struct option {
    int key;
    struct starpu_sched_component *top;    /* what the decision pushes to */
    struct starpu_sched_component *bottom; /* what its workers hang below; NULL: top of a single worker */
};

struct build {
    struct starpu_sched_tree *tree;
    unsigned flags; /* of the first decision */
    struct option option[STARPU_BITMAP_SIZE];
    unsigned options;
    struct starpu_sched_component *above_leaf[STARPU_NMAXWORKERS]; /* best_implementation or the leaf */
    bool failed;
};

static struct starpu_sched_component *made(struct build *b, struct starpu_sched_component *c)
{
    if (!c) b->failed = true;
    return c;
}

/* above may be NULL: nothing is above. Returns what the next is connected below. */
static struct starpu_sched_component *hang(struct build *b, struct starpu_sched_component *above,
                                           struct starpu_sched_component *c)
{
    if (!made(b, c)) return above;
    if (above) starpu_sched_component_connect(above, c);
    return c;
}

/* ---- below the decision ---- */

static int key_of(const struct build *b, unsigned worker)
{
    switch (b->flags & STARPU_SCHED_SIMPLE_DECIDE_MASK) {
    case STARPU_SCHED_SIMPLE_DECIDE_WORKERS: return (int)worker;
    case STARPU_SCHED_SIMPLE_DECIDE_MEMNODES: return (int)orr_workers[worker].node;
    case STARPU_SCHED_SIMPLE_DECIDE_ARCHS: return (int)orr_workers[worker].type;
    default: return 0;
    }
}

static struct starpu_sched_component *queue_below(struct build *b)
{
    struct starpu_sched_component_fifo_data d = { 0 };
    if (!(b->flags & STARPU_SCHED_SIMPLE_FIFOS_BELOW_NOLIMIT)) {
        d.ntasks_threshold =
            (unsigned)orr_env_long(ORR_SETTING(STARPU_NTASKS_THRESHOLD), NTASKS_DEFAULT, 0, INT32_MAX);
        d.exp_len_threshold = orr_env_double(ORR_SETTING(STARPU_EXP_LEN_THRESHOLD), 0, 0, 1e18);
    }
    d.ready = (b->flags & STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY) != 0;
    d.ready_first = (b->flags & STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY_FIRST) != 0;
    d.exp = (b->flags & STARPU_SCHED_SIMPLE_FIFOS_BELOW_EXP) != 0;
    if (!(b->flags & STARPU_SCHED_SIMPLE_FIFOS_BELOW_PRIO))
        return starpu_sched_component_fifo_create(b->tree, &d);
    struct starpu_sched_component_prio_data p = { d.ntasks_threshold, d.exp_len_threshold, d.ready,
                                                  d.ready_first, d.exp };
    return starpu_sched_component_prio_create(b->tree, &p);
}

static unsigned workers_with(const struct build *b, int key)
{
    unsigned n = 0;
    for (unsigned w = 0; w < orr_worker_count; w++) n += key_of(b, w) == key;
    return n;
}

static struct option *option_for(struct build *b, unsigned worker)
{
    int key = key_of(b, worker);
    for (unsigned i = 0; i < b->options; i++)
        if (b->option[i].key == key) return &b->option[i];
    struct option *o = &b->option[b->options++];
    *o = (struct option){ .key = key };
    if (b->flags & STARPU_SCHED_SIMPLE_FIFOS_BELOW) o->top = o->bottom = made(b, queue_below(b));
    if (workers_with(b, key) > 1) {
        bool steal = b->flags & STARPU_SCHED_SIMPLE_WS_BELOW;
        struct starpu_sched_component *share =
            steal ? starpu_sched_component_work_stealing_create(b->tree, NULL)
                  : starpu_sched_component_eager_create(b->tree, NULL);
        o->bottom = hang(b, o->bottom, share);
        if (!o->top) o->top = o->bottom;
    }
    return o;
}

static void build_worker(struct build *b, unsigned worker)
{
    struct option *o = option_for(b, worker);
    struct starpu_sched_component *leaf =
        made(b, starpu_sched_component_worker_new(b->tree->sched_ctx_id, (int)worker));
    struct starpu_sched_component *top = leaf;
    if (b->flags & STARPU_SCHED_SIMPLE_IMPL)
        top = made(b, starpu_sched_component_best_implementation_create(b->tree, NULL));
    if (b->failed) return;
    if (top != leaf) starpu_sched_component_connect(top, leaf);
    if (o->bottom) starpu_sched_component_connect(o->bottom, top);
    if (!o->top) o->top = top;
    b->above_leaf[worker] = top;
}

/* Options for combined workers, as the shape of the machine suggests them. */
static void build_combined(struct build *b)
{
    int cpus[STARPU_NMAXWORKERS];
    unsigned n = 0;
    for (unsigned w = 0; w < orr_worker_count; w++)
        if (orr_workers[w].type == STARPU_CPU_WORKER) cpus[n++] = (int)w;
    orr_combined_make(cpus, n);
    for (unsigned i = 0; !b->failed && i < orr_combined_count(); i++) {
        const struct orr_combined *team = orr_combined_at(i);
        struct starpu_sched_component *leaf =
            starpu_sched_component_parallel_worker_create(b->tree, team->size, (unsigned *)team->members);
        b->option[b->options++] = (struct option){ .key = team->id, .top = made(b, leaf) };
    }
}

/* ---- the decision and what is above ---- */

static struct starpu_sched_component *queue_above(struct build *b, bool sorted)
{
    return sorted ? starpu_sched_component_prio_create(b->tree, NULL)
                  : starpu_sched_component_fifo_create(b->tree, NULL);
}

/* What has no model is fetched by the first worker that asks, past the queues; what is to be measured, by one
 * for which it is. */
static struct starpu_sched_component *build_select(struct build *b, struct starpu_sched_component *decision)
{
    struct starpu_sched_component_perfmodel_select_data d = { .perfmodel_component = decision };
    struct starpu_sched_component *eager = made(b, starpu_sched_component_eager_create(b->tree, NULL));
    d.no_perfmodel_component = made(b, queue_above(b, true));
    d.calibrator_component = made(b, orr_measure_create(b->tree));
    struct starpu_sched_component *select =
        made(b, starpu_sched_component_perfmodel_select_create(b->tree, &d));
    if (b->failed) return NULL;
    starpu_sched_component_connect(d.no_perfmodel_component, eager);
    for (unsigned w = 0; w < orr_worker_count; w++) {
        starpu_sched_component_connect(eager, b->above_leaf[w]);
        starpu_sched_component_connect(d.calibrator_component, b->above_leaf[w]);
    }
    for (unsigned i = 0; i < b->options; i++)
        if (orr_leaf_team(b->option[i].top))
            starpu_sched_component_connect(d.calibrator_component, b->option[i].top);
    starpu_sched_component_connect(select, d.no_perfmodel_component);
    starpu_sched_component_connect(select, d.calibrator_component);
    starpu_sched_component_connect(select, decision);
    return select;
}

/* The decision with what it wants above; returns the top. */
static struct starpu_sched_component *build_decision(struct build *b, const struct decision *d)
{
    bool above = d->flags & STARPU_SCHED_SIMPLE_FIFO_ABOVE;
    struct starpu_sched_component *top = NULL;
    if (b->options == 1 && above &&
        !(d->flags & (STARPU_SCHED_SIMPLE_DECIDE_ALWAYS | STARPU_SCHED_SIMPLE_PERFMODEL))) {
        top = b->option[0].top; /* there is nothing to decide */
    } else {
        top = made(b, d->create(b->tree, d->data));
        for (unsigned i = 0; top && i < b->options; i++)
            starpu_sched_component_connect(top, b->option[i].top);
    }
    if (!b->failed && d->create_pre) {
        struct starpu_sched_component *pre = made(b, d->create_pre(b->tree, d->data_pre));
        if (pre) starpu_sched_component_connect(pre, top);
        top = pre;
    }
    if (!b->failed && (d->flags & STARPU_SCHED_SIMPLE_PERFMODEL)) top = build_select(b, top);
    if (!b->failed && above) {
        struct starpu_sched_component *queue =
            made(b, queue_above(b, d->flags & STARPU_SCHED_SIMPLE_FIFO_ABOVE_PRIO));
        if (queue) starpu_sched_component_connect(queue, top);
        top = queue;
    }
    return top;
}

/* Each option gets a stage, so that the decisions are asked in their order. */
static void build_stages(struct build *b)
{
    for (unsigned i = 0; i < b->options; i++) {
        struct starpu_sched_component *stage = made(b, starpu_sched_component_stage_create(b->tree, NULL));
        if (!stage) return;
        starpu_sched_component_connect(stage, b->option[i].top);
        b->option[i].top = stage;
    }
}

static void build_tree(struct build *b, const struct decision *d, unsigned count)
{
    for (unsigned w = 0; !b->failed && w < orr_worker_count; w++) build_worker(b, w);
    if (!b->failed && (b->flags & STARPU_SCHED_SIMPLE_COMBINED_WORKERS)) build_combined(b);
    if (!b->failed && count > 1) build_stages(b);
    struct starpu_sched_component *root = NULL;
    if (!b->failed && count > 1) root = made(b, starpu_sched_component_userchoice_create(b->tree, NULL));
    for (unsigned i = 0; !b->failed && i < count; i++) {
        struct starpu_sched_component *top = build_decision(b, &d[i]);
        if (b->failed) return;
        if (root)
            starpu_sched_component_connect(root, top);
        else
            b->tree->root = top;
    }
    if (root) b->tree->root = root;
}

static void initialize(unsigned ctx, const struct decision *d, unsigned count)
{
    struct build *b = orr_calloc(1, sizeof *b);
    if (!b) {
        orr_error("scheduling context %u: out of memory for its tree", ctx);
        return;
    }
    b->flags = d[0].flags;
    b->tree = starpu_sched_tree_create(ctx);
    if (b->tree) {
        build_tree(b, d, count);
        if (b->failed) b->tree->root = NULL; /* refused when workers come */
        starpu_sched_tree_update_workers(b->tree);
        starpu_sched_ctx_set_policy_data(ctx, b->tree);
    }
    orr_free(b);
}

void starpu_sched_component_initialize_simple_scheduler(
    starpu_sched_component_create_t create_decision_component, void *data, unsigned flags,
    unsigned sched_ctx_id)
{
    struct decision d = { .create = create_decision_component, .data = data, .flags = flags };
    initialize(sched_ctx_id, &d, 1);
}

void starpu_sched_component_initialize_simple_schedulers(unsigned sched_ctx_id, unsigned ndecisions, ...)
{
    struct decision d[DECISIONS_MAX] = { 0 };
    va_list ap;
    if (ndecisions == 0 || ndecisions > DECISIONS_MAX) {
        orr_error(
            "starpu_sched_component_initialize_simple_schedulers: %u decisions; from 1 to %d are possible",
            ndecisions, DECISIONS_MAX);
        return;
    }
    va_start(ap, ndecisions);
    for (unsigned i = 0; i < ndecisions; i++) {
        d[i].create = va_arg(ap, starpu_sched_component_create_t);
        d[i].data = va_arg(ap, void *);
        d[i].flags = va_arg(ap, unsigned);
        if (!(d[i].flags & STARPU_SCHED_SIMPLE_PRE_DECISION)) continue;
        d[i].create_pre = va_arg(ap, starpu_sched_component_create_t);
        d[i].data_pre = va_arg(ap, void *);
    }
    va_end(ap);
    if (ndecisions > 1)
        for (unsigned i = 0; i < ndecisions; i++)
            if (d[i].flags & STARPU_SCHED_SIMPLE_PERFMODEL) {
                orr_error("starpu_sched_component_initialize_simple_schedulers: decision %u of several has "
                          "STARPU_SCHED_SIMPLE_PERFMODEL, which is for a single one",
                          i);
                return;
            }
    initialize(sched_ctx_id, d, ndecisions);
}
