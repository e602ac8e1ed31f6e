/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c: who is granted next when the holders of a handle leave.
 * Threads: any, with the queue's lock held. Owns: nothing. Not here: calling the waiters (the caller, after
 * unlocking). */
#include "core/data/access.h"

#include <starpu_data.h>

uint8_t orr_access_group(int mode)
{
    if (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) return ORR_GROUP_REDUX;
    if ((mode & STARPU_COMMUTE) && (mode & STARPU_W)) return ORR_GROUP_COMMUTE;
    return mode & STARPU_W ? ORR_GROUP_WRITE : ORR_GROUP_READ;
}

static bool shares(uint8_t group)
{
    return group == ORR_GROUP_READ || group == ORR_GROUP_COMMUTE || group == ORR_GROUP_REDUX;
}

/* Grants the first group of the waiting list; nobody holds. What takes the handle away stays first while
 * others are expected: the last of them lets it in when it leaves. */
static struct orr_waiter *grant_first_group(struct orr_access_queue *q)
{
    struct orr_access *first = q->head, *last = first;
    if (!first || orr_unlikely((first->flags & ORR_ACCESS_ENDS) && q->expecting)) {
        q->group = ORR_GROUP_NONE;
        return NULL;
    }
    q->group = first->group;
    q->active = 1;
    q->holder = orr_access_holder(first);
    if (shares(q->group))
        for (struct orr_access *n; (n = (struct orr_access *)last->waiter.next) && n->group == q->group;
             last = n)
            q->active++;
    q->head = (struct orr_access *)last->waiter.next;
    for (unsigned i = 0; q->head && i < last->next_lines; i++)
        orr_prefetch_write((char *)q->head + (size_t)i * ORR_CACHE_LINE);
    last->waiter.next = NULL;
    return &first->waiter;
}

/* Puts a behind the exempt accesses that wait already, and before all others. */
static void insert_exempt(struct orr_access_queue *q, struct orr_access *a)
{
    struct orr_access *before = NULL, *next = q->head;
    while (next && (next->flags & ORR_ACCESS_EXEMPT)) {
        before = next;
        next = (struct orr_access *)next->waiter.next;
    }
    a->waiter.next = next ? &next->waiter : NULL;
    if (before)
        before->waiter.next = &a->waiter;
    else
        q->head = a;
    if (!next) q->tail = a;
}

bool orr_access_join_exempt_locked(struct orr_access_queue *q, struct orr_access *a,
                                   bool (*reclaim)(struct orr_access *holder))
{
    if (q->active == 0 && q->group != ORR_GROUP_REDUX) { /* nobody waits, or what ENDS */
        q->group = a->group;
        q->active = 1;
        q->holder = orr_access_holder(a);
        return true;
    }
    if (q->group == ORR_GROUP_READ && a->group == ORR_GROUP_READ) {
        q->active++;
        return true;
    }
    if (q->group == ORR_GROUP_WRITE && q->holder && !(q->holder->flags & ORR_ACCESS_EXEMPT) && reclaim &&
        reclaim(q->holder)) {
        struct orr_access *back = q->holder;
        back->waiter.next = q->head ? &q->head->waiter : NULL;
        if (!q->head) q->tail = back;
        q->head = back;
        q->group = a->group;
        q->holder = orr_access_holder(a);
        return true;
    }
    insert_exempt(q, a);
    return false;
}

struct orr_waiter *orr_access_leave_locked(struct orr_access_queue *q, bool *reduce_out)
{
    *reduce_out = false;
    if (--q->active > 0) return NULL;
    if (q->group == ORR_GROUP_REDUX) {
        /* contributions stay in the replicates until somebody wants the value; more contributors just join */
        if (q->head) *reduce_out = orr_access_start_reduction_locked(q);
        return NULL;
    }
    return grant_first_group(q);
}

struct orr_waiter *orr_access_downgrade_locked(struct orr_access_queue *q)
{
    if (q->group != ORR_GROUP_WRITE) return NULL;
    q->group = ORR_GROUP_READ;
    if (!q->head || q->head->group != ORR_GROUP_READ) return NULL;
    uint32_t mine = q->active;
    struct orr_waiter *w = grant_first_group(q);
    q->active += mine;
    return w;
}

bool orr_access_start_reduction_locked(struct orr_access_queue *q)
{
    if (q->group != ORR_GROUP_REDUX || q->active > 0) return false;
    q->group = ORR_GROUP_REDUCING;
    q->active = 1;
    return true;
}

bool orr_access_commute_enter_locked(struct orr_access_queue *q, struct orr_access *a)
{
    if (!q->commute_busy) {
        q->commute_busy = true;
        return true;
    }
    a->waiter.next = q->commuters ? &q->commuters->waiter : NULL;
    q->commuters = a;
    return false;
}

struct orr_waiter *orr_access_commute_exit_locked(struct orr_access_queue *q)
{
    struct orr_access *a = q->commuters;
    if (!a) {
        q->commute_busy = false;
        return NULL;
    }
    q->commuters = (struct orr_access *)a->waiter.next;
    a->waiter.next = NULL;
    return &a->waiter;
}
