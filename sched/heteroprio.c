/* SPDX-License-Identifier: BSD-3-Clause */
/* heteroprio.c: tasks wait in buckets, numbered by their priority; each kind of worker looks at them in its
 * own order. Threads: any pushes; workers pop; settings before there are tasks. Owns: the buckets. Not here:
 * models (dm.c).
 *
 * Where all workers are of one kind, their order of the buckets is one of priorities, and a pool does.
 *
 * A slow kind takes from a bucket only what the fast workers would not get to in the time it needs: when more
 * than (its slow factor) tasks wait for each fast worker. (E. Agullo et al., Task-based FMM for heterogeneous
 * architectures, 2016.) */
#include <starpu.h>
#include <starpu_heteroprio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "sched/pool.h"

enum { BUCKETS = STARPU_HETEROPRIO_BUCKETS, NO_KIND = -1, WORD_BITS = 64, WORDS = (BUCKETS + 63) / 64 };

struct bucket {
    struct orr_task *first, *last;
    uint32_t count;
    int fastest;              /* a kind, or NO_KIND [const] */
    float slow[STARPU_NARCH]; /* 0: not set [const] */
};

struct heteroprio {
    struct orr_ctx *ctx;
    struct orr_pool *pool; /* of the only kind; NULL: there are several [const] */
    int kind;              /* the only one [const] */
    ORR_SPIN(heteroprio)
    lock; /* protects the tasks in buckets, filled; held when a codelet's can_execute is asked; leaf */
    _Atomic uint32_t length;
    struct bucket bucket[BUCKETS];
    uint64_t filled[STARPU_NARCH][WORDS];  /* bit i: there are tasks in looks[kind][i] */
    unsigned nlooks[STARPU_NARCH];         /* [const] */
    unsigned looks[STARPU_NARCH][BUCKETS]; /* buckets in their order [const] */
    int16_t position[STARPU_NARCH]
                    [BUCKETS]; /* where a bucket comes first in that order, -1: nowhere [const] */
    _Atomic unsigned workers[STARPU_NARCH]; /* of each kind */
};

static void find_positions(struct heteroprio *h, int kind)
{
    memset(h->position[kind], -1, sizeof h->position[kind]);
    for (unsigned i = h->nlooks[kind]; i-- > 0;) h->position[kind][h->looks[kind][i]] = (int16_t)i;
}

static void *heteroprio_create(struct orr_ctx *ctx)
{
    struct heteroprio *h = orr_calloc(1, sizeof *h);
    if (!h) return NULL;
    h->ctx = ctx;
    uint32_t kinds = orr_worker_kinds();
    bool one_kind = kinds && !(kinds & (kinds - 1));
    h->kind = one_kind ? (int)orr_workers[0].type : NO_KIND;
    if (one_kind && !(h->pool = orr_pool_create())) {
        orr_free(h);
        return NULL;
    }
    orr_spin_init(&h->lock);
    for (int b = 0; b < BUCKETS; b++) h->bucket[b].fastest = NO_KIND;
    for (int kind = 0; kind < STARPU_NARCH; kind++) {
        h->nlooks[kind] = BUCKETS;
        for (unsigned i = 0; i < BUCKETS; i++) h->looks[kind][i] = BUCKETS - 1 - i;
        find_positions(h, kind);
    }
    return h;
}

static void heteroprio_destroy(void *instance)
{
    struct heteroprio *h = instance;
    if (h->pool) orr_pool_destroy(h->pool);
    orr_free(h);
}

static int heteroprio_add_workers(void *instance, const int *workers, unsigned count)
{
    struct heteroprio *h = instance;
    for (unsigned i = 0; i < count; i++) orr_add_relaxed(&h->workers[orr_workers[workers[i]].type], 1u);
    return 0;
}

static void heteroprio_remove_workers(void *instance, const int *workers, unsigned count)
{
    struct heteroprio *h = instance;
    for (unsigned i = 0; i < count; i++) orr_add_relaxed(&h->workers[orr_workers[workers[i]].type], -1u);
}

/* A bucket has got its first task. Called with the lock held. */
static void show_filled_locked(struct heteroprio *h, unsigned number)
{
    for (int kind = 0; kind < STARPU_NARCH; kind++) {
        int at = h->position[kind][number];
        if (at < 0) continue;
        uint64_t *word = &h->filled[kind][at / WORD_BITS], bit = UINT64_C(1) << (at % WORD_BITS);
        if (!(*word & bit)) *word |= bit; /* seldom written */
    }
}

/* By the priority that the program gave: t's own is a rank when it was in the pool before. */
static unsigned bucket_of(const struct orr_task *t)
{
    int priority = t->pub->priority;
    return priority < 0 ? 0 : priority >= BUCKETS ? BUCKETS - 1 : (unsigned)priority;
}

/* What stands for the place of t's bucket in the order of the only kind; negative: it is not looked at. */
static int32_t rank(const struct heteroprio *h, const struct orr_task *t)
{
    int at = h->position[h->kind][bucket_of(t)];
    return at < 0 ? -1 : (int32_t)h->nlooks[h->kind] - 1 - at;
}

static void push_by_rank(struct heteroprio *h, struct orr_task *t, int32_t priority)
{
    t->priority = priority;
    orr_pool_give(h->pool, h->ctx, t);
}

static bool heteroprio_may_keep(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct heteroprio *h = instance;
    (void)w;
    int32_t priority = h->pool ? rank(h, t) : -1;
    return priority >= 0 && orr_queue_would_lead(&h->pool->queue[0], priority);
}

static void heteroprio_push(void *instance, struct orr_task *t)
{
    struct heteroprio *h = instance;
    bool tells = orr_task_where_tells(t->pub); /* now: it may have run once it is in */
    unsigned number = bucket_of(t);
    struct bucket *b = &h->bucket[number];
    int32_t priority = h->pool ? rank(h, t) : -1;
    if (priority >= 0) {
        push_by_rank(h, t, priority);
        return;
    }
    t->next = NULL;
    orr_spin_lock(&h->lock);
    if (b->last)
        b->last->next = t;
    else
        b->first = t;
    b->last = t;
    if (b->count++ == 0) show_filled_locked(h, number);
    uint32_t length = orr_add_seq(&h->length, 1u);
    orr_spin_unlock(&h->lock);
    if (tells)
        orr_wake_any(h->ctx, length); /* each, where there are several kinds: who takes it depends on that */
    else
        orr_wake_each(h->ctx);
}

static bool looks_at(const struct heteroprio *h, int kind, const struct bucket *b)
{
    return h->position[kind][b - h->bucket] >= 0;
}

/* Whether the fastest workers are to have t, w being slower. Called with the lock held. */
static bool leaves_alone(struct heteroprio *h, const struct bucket *b, const struct orr_task *t,
                         const struct orr_worker *w)
{
    if (b->fastest == NO_KIND || b->fastest == (int)w->type || b->slow[w->type] <= 0) return false;
    unsigned fast = orr_load_relaxed(&h->workers[b->fastest]);
    bool they_can = (orr_task_where(t->pub) & STARPU_WORKER_TO_MASK(b->fastest)) &&
                    !t->pub->cl->can_execute && !t->pub->workerids_len;
    return fast > 0 && they_can && (float)b->count < b->slow[w->type] * (float)fast &&
           looks_at(h, b->fastest, b);
}

/* The first task of the bucket that is for w. Called with the lock held. */
static struct orr_task *take(struct heteroprio *h, struct bucket *b, struct orr_worker *w)
{
    struct orr_task *before = NULL, *t = b->first;
    unsigned nimpl;
    while (t && (leaves_alone(h, b, t, w) || !orr_worker_can_run(w, t, &nimpl))) {
        before = t;
        t = t->next;
    }
    if (!t) return NULL;
    if (before)
        before->next = t->next;
    else
        b->first = t->next;
    if (b->last == t) b->last = before;
    b->count--;
    t->next = NULL;
    t->nimpl = (uint8_t)nimpl;
    t->nimpl_valid = 1;
    return t;
}

/* Looks at buckets that are filled, or were when a worker of this kind last looked. */
static struct orr_task *pop_locked(struct heteroprio *h, struct orr_worker *w)
{
    for (unsigned i = 0; i < WORDS; i++)
        for (uint64_t bits = h->filled[w->type][i]; bits; bits &= bits - 1) {
            struct bucket *b = &h->bucket[h->looks[w->type][i * WORD_BITS + (unsigned)__builtin_ctzll(bits)]];
            struct orr_task *t = take(h, b, w);
            if (t) return t;
            if (b->count == 0) h->filled[w->type][i] &= ~(bits & -bits);
        }
    return NULL;
}

static struct orr_task *heteroprio_pop(void *instance, struct orr_worker *w)
{
    struct heteroprio *h = instance;
    if (orr_likely(h->pool != NULL)) return orr_pool_pop(h->pool, w); /* nobody looks at other buckets */
    if (orr_load_seq(&h->length) == 0) return NULL;
    orr_spin_lock(&h->lock);
    struct orr_task *t = pop_locked(h, w);
    if (t) orr_sub_seq(&h->length, 1u);
    orr_spin_unlock(&h->lock);
    return t;
}

static uint32_t backlog(void *instance, struct orr_worker *w)
{
    struct heteroprio *h = instance;
    (void)w;
    return h->pool ? orr_pool_length(h->pool) : orr_load_seq(&h->length);
}

const struct orr_policy_ops orr_policy_heteroprio = {
    .name = "heteroprio",
    .description = "buckets of tasks, which each kind of worker looks at in its own order",
    .max_priority = BUCKETS - 1,
    .create = heteroprio_create,
    .destroy = heteroprio_destroy,
    .add_workers = heteroprio_add_workers,
    .remove_workers = heteroprio_remove_workers,
    .push = heteroprio_push,
    .pop = heteroprio_pop,
    .may_keep = heteroprio_may_keep,
    .backlog = backlog,
};

/* ---- settings ---- */

/* The policy of that context; NULL with a message when a number is out of range or it is another policy. */
static struct heteroprio *settings_of(unsigned id, int arch, unsigned number, unsigned limit,
                                      const char *function)
{
    struct orr_ctx *ctx = orr_ctx_get(id);
    if (!ctx || ctx->policy != &orr_policy_heteroprio)
        orr_error("%s: context %u has no policy heteroprio", function, id);
    else if (arch < 0 || arch >= STARPU_NARCH)
        orr_error("%s: %d is no kind of worker", function, arch);
    else if (number >= limit)
        orr_error("%s: %u is too large, there are %d buckets", function, number, BUCKETS);
    else
        return ctx->instance;
    return NULL;
}

void starpu_heteroprio_set_nb_prios(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                    unsigned max_prio)
{
    struct heteroprio *h =
        settings_of(sched_ctx_id, (int)arch, max_prio, BUCKETS + 1, "starpu_heteroprio_set_nb_prios");
    if (!h) return;
    h->nlooks[arch] = max_prio;
    for (unsigned i = 0; i < BUCKETS; i++) h->looks[arch][i] = i;
    find_positions(h, (int)arch);
}

void starpu_heteroprio_set_mapping(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                   unsigned source_prio, unsigned dest_bucket_id)
{
    unsigned larger = source_prio > dest_bucket_id ? source_prio : dest_bucket_id;
    struct heteroprio *h =
        settings_of(sched_ctx_id, (int)arch, larger, BUCKETS, "starpu_heteroprio_set_mapping");
    if (!h) return;
    h->looks[arch][source_prio] = dest_bucket_id;
    find_positions(h, (int)arch);
}

void starpu_heteroprio_set_faster_arch(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                       unsigned bucket_id)
{
    struct heteroprio *h =
        settings_of(sched_ctx_id, (int)arch, bucket_id, BUCKETS, "starpu_heteroprio_set_faster_arch");
    if (h) h->bucket[bucket_id].fastest = (int)arch;
}

void starpu_heteroprio_set_arch_slow_factor(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                            unsigned bucket_id, float slow_factor)
{
    struct heteroprio *h =
        settings_of(sched_ctx_id, (int)arch, bucket_id, BUCKETS, "starpu_heteroprio_set_arch_slow_factor");
    if (h) h->bucket[bucket_id].slow[arch] = slow_factor;
}
