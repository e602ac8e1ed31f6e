/* SPDX-License-Identifier: BSD-3-Clause */
/* taskq.c: queues of the components: a short array of priorities, each with a list of its tasks.
 * Threads: see taskq.h. Owns: nothing. Not here: the lock-free queue of the other policies (sched/queue.c).
 *
 * A heap would be faster for thousands of different priorities, but tasks are also put back, walked over in
 * order and taken from the middle here.
 *
 * A worker walks past tasks that it cannot execute (workerids, can_execute, no implementation). Where these
 * are many, it is noted how far each worker has come, so that it does not walk past them for each task that
 * it takes: for tasks in order the walks add up to one. As can_execute may answer otherwise later, a worker
 * begins anew when it has asked as often as it has walked past tasks. */
#include "sched/components/taskq.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/task/task.h"
#include "core/worker/worker.h"
#include "sched/pool.h"

enum { SKIPS_NOTED = 32, BEGIN_ANEW = 256 };

struct orr_taskq_skip {
    struct starpu_task *last; /* it has walked past this one, and all before; NULL: past nothing */
    uint32_t walked;          /* that many since it began */
    uint32_t asked;           /* so often meanwhile */
};

void orr_taskq_init(struct orr_taskq *q, bool sorted)
{
    memset(q, 0, sizeof *q);
    q->rank = q->inline_ranks;
    q->room = ORR_TASKQ_INLINE;
    q->sorted = sorted;
    q->kinds = orr_worker_kinds();
}

void orr_taskq_fini(struct orr_taskq *q)
{
    if (q->rank != q->inline_ranks) orr_free(q->rank);
    q->rank = q->inline_ranks;
    q->ranks = 0;
    orr_free(q->skips);
    q->skips = NULL;
}

static int32_t key(const struct orr_taskq *q, const struct starpu_task *p)
{
    return q->sorted ? orr_task_of(p)->priority : 0;
}

/* The first rank of at least this priority. */
static uint32_t find(const struct orr_taskq *q, int32_t priority)
{
    uint32_t low = 0, high = q->ranks;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (q->rank[middle].priority < priority)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(struct orr_taskq *q)
{
    if (q->ranks < q->room) return true;
    bool heap = q->rank != q->inline_ranks;
    struct orr_taskq_rank *more = orr_realloc(heap ? q->rank : NULL, 2 * q->room * sizeof *more);
    if (!more) return false;
    if (!heap) memcpy(more, q->inline_ranks, sizeof q->inline_ranks);
    q->rank = more;
    q->room *= 2;
    return true;
}

/* The rank for a priority, made if need be; when there is no memory for it, the nearest. */
static struct orr_taskq_rank *rank_for(struct orr_taskq *q, int32_t priority)
{
    uint32_t at = find(q, priority);
    if (at < q->ranks && q->rank[at].priority == priority) return &q->rank[at];
    if (!make_room(q)) return &q->rank[at < q->ranks ? at : q->ranks - 1];
    memmove(&q->rank[at + 1], &q->rank[at], (q->ranks - at) * sizeof q->rank[0]);
    q->ranks++;
    q->rank[at] = (struct orr_taskq_rank){ .priority = priority };
    return &q->rank[at];
}

/* ---- what workers have walked past ---- */

struct starpu_task *orr_taskq_first_for(struct orr_taskq *q, int w)
{
    struct orr_taskq_skip *s = q->skips ? &q->skips[w] : NULL;
    if (orr_likely(!s || !s->last)) return orr_taskq_first(q);
    if (++s->asked <= s->walked + BEGIN_ANEW) return orr_taskq_next(q, s->last);
    *s = (struct orr_taskq_skip){ NULL, 0, 0 };
    return orr_taskq_first(q);
}

void orr_taskq_skipped(struct orr_taskq *q, int w, struct starpu_task *last, uint32_t n)
{
    if (!q->skips && n >= SKIPS_NOTED) q->skips = orr_calloc(orr_worker_count, sizeof *q->skips);
    if (!q->skips) return; /* few, or no memory for more than walking */
    q->skips[w].last = last;
    q->skips[w].walked += n;
}

/* p is there now: who has walked past where it is has not seen it. */
static void skips_added(struct orr_taskq *q, const struct starpu_task *p, bool front)
{
    for (unsigned w = 0; w < orr_worker_count; w++) {
        struct orr_taskq_skip *s = &q->skips[w];
        if (!s->last) continue;
        int32_t theirs = key(q, s->last), ours = key(q, p);
        if (ours > theirs || (ours == theirs && front)) s->last = NULL;
    }
}

/* p leaves. Who came to it came to the one before; at the first of its rank he begins anew. */
static void skips_removed(struct orr_taskq *q, const struct starpu_task *p)
{
    for (unsigned w = 0; w < orr_worker_count; w++)
        if (q->skips[w].last == p) q->skips[w].last = p->prev;
}

static bool has_one_kind(const struct orr_taskq *q)
{
    return !(q->kinds & (q->kinds - 1));
}

static void count_kinds(struct orr_taskq *q, const struct starpu_task *p, uint32_t difference)
{
    if (orr_likely(has_one_kind(q))) return;
    for (uint32_t where = p->cl ? orr_task_where(p) : 0; where; where &= where - 1)
        q->where[__builtin_ctz(where)] += difference;
}

static void link_in(struct orr_taskq *q, struct starpu_task *p, bool front)
{
    int32_t priority = key(q, p);
    struct orr_taskq_rank *r = &q->rank[q->ranks ? q->ranks - 1 : 0];
    if (orr_unlikely(q->ranks == 0 || r->priority != priority)) r = rank_for(q, priority);
    p->prev = front ? NULL : r->last;
    p->next = front ? r->first : NULL;
    if (p->prev)
        p->prev->next = p;
    else
        r->first = p;
    if (p->next)
        p->next->prev = p;
    else
        r->last = p;
    q->count++;
    count_kinds(q, p, 1);
}

void orr_taskq_add(struct orr_taskq *q, struct starpu_task *p, bool front)
{
    link_in(q, p, front);
    if (orr_unlikely(q->skips != NULL)) skips_added(q, p, front);
}

void orr_taskq_put_back(struct orr_taskq *q, struct starpu_task *p)
{
    link_in(q, p, true);
}

static bool at_end_of(const struct orr_taskq_rank *r, const struct starpu_task *p)
{
    return (p->prev || r->first == p) && (p->next || r->last == p);
}

/* The rank at the end of whose list p is: its own, unless memory was short when it came. */
static uint32_t rank_of(const struct orr_taskq *q, const struct starpu_task *p)
{
    uint32_t at = q->ranks - 1;
    if (at_end_of(&q->rank[at], p)) return at; /* the usual one */
    at = find(q, key(q, p));
    if (at < q->ranks && at_end_of(&q->rank[at], p)) return at;
    for (at = 0; !at_end_of(&q->rank[at], p);) at++;
    return at;
}

void orr_taskq_remove(struct orr_taskq *q, struct starpu_task *p)
{
    struct starpu_task *prev = p->prev, *next = p->next;
    if (orr_unlikely(q->skips != NULL)) skips_removed(q, p);
    if (!prev || !next) {
        struct orr_taskq_rank *r = &q->rank[q->ranks - 1];
        if (orr_unlikely(!at_end_of(r, p))) r = &q->rank[rank_of(q, p)];
        if (!prev) r->first = next;
        if (!next) r->last = prev;
        if (!prev && !next) {
            q->ranks--;
            if (r != &q->rank[q->ranks]) memmove(r, r + 1, (size_t)(&q->rank[q->ranks] - r) * sizeof *r);
        }
    }
    if (prev) prev->next = next;
    if (next) next->prev = prev;
    p->prev = p->next = NULL;
    q->count--;
    count_kinds(q, p, (uint32_t)-1);
}

struct starpu_task *orr_taskq_first(const struct orr_taskq *q)
{
    return q->ranks ? q->rank[q->ranks - 1].first : NULL;
}

struct starpu_task *orr_taskq_next(const struct orr_taskq *q, const struct starpu_task *p)
{
    if (p->next) return p->next;
    uint32_t at = rank_of(q, p);
    return at > 0 ? q->rank[at - 1].first : NULL;
}

struct starpu_task *orr_taskq_last_of_first(const struct orr_taskq *q)
{
    return q->ranks ? q->rank[q->ranks - 1].last : NULL;
}

bool orr_taskq_has_for(const struct orr_taskq *q, uint32_t where)
{
    if (orr_likely(has_one_kind(q))) return (where & q->kinds) && q->count > 0;
    for (; where; where &= where - 1)
        if (q->where[__builtin_ctz(where)]) return true;
    return false;
}
