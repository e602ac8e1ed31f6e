/* SPDX-License-Identifier: BSD-3-Clause */
/* submit.c: from the program's hands to ready.
 * Threads: any. Owns: nothing lasting. Not here: explicit dependencies (deps.c), completion (complete.c).
 *
 * Submission has two phases. The first checks, allocates and sorts, and can fail with nothing done. The
 * second commits: it locks the queues of all handles in address order, joins them all, and unlocks. Holding
 * them together makes submissions from several threads serial, so no two tasks can each stand before the
 * other. A task with one handle, or none, pays one lock, or none. Data that is part of partition plans is
 * switched before it is joined, under the plans' mutex (core/data/partition.h). */
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/data/partition.h"
#include "core/task/deps.h"
#include "core/task/redux.h"
#include "core/task/tag.h"
#include "core/task/task.h"

#undef starpu_task_submit

enum { INSERTED_MAX = 32 }; /* data of a task: beyond that they are sorted at once */

static void access_granted(struct orr_waiter *w);

/* ---- phase one ---- */

static bool handle_is_sequential(const struct starpu_task *pub, const struct orr_data *h, unsigned i)
{
    if (!pub->sequential_consistency || !h->sequential_consistency) return false;
    return !pub->handles_sequential_consistency || pub->handles_sequential_consistency[i];
}

/* The runtime's own tasks complete what was submitted before the data was given up. */
static const char *refusal(const struct orr_task *t, const struct orr_data *h, int mode)
{
    if (!h) return "is NULL";
    if (h->magic != ORR_DATA_MAGIC) return "is not a registered handle";
    if (orr_unlikely(orr_load_relaxed(&h->lazy_unregister)) && !(t->flags & ORR_TF_INTERNAL))
        return "is unregistered already (starpu_data_unregister_submit)";
    if (orr_load_relaxed(&h->partitioned)) return "is partitioned: use its pieces, or unpartition it first";
    if ((mode & (STARPU_REDUX | STARPU_MPI_REDUX)) && (!orr_data_rare(h) || !orr_data_rare(h)->redux_cl))
        return "has no reduction methods: call starpu_data_set_reduction_methods";
    return NULL;
}

/* Whether buffer i of t can be used as mode says. */
static int check_buffer(struct orr_task *t, struct orr_data *h, int mode, unsigned i)
{
    const char *why = refusal(t, h, mode);
    if (orr_likely(!why)) return 0;
    orr_error("task %s: datum %u %s", orr_task_name(t), i, why);
    return -EINVAL;
}

/* The uses of data that are away are told twice, for a task of the program's own: at first their values are
 * brought in, and it may be refused; then as it joins. */
static int use_away(struct orr_task *t, struct orr_data *h, int mode, uint32_t joins)
{
    if (t->flags & ORR_TF_INTERNAL || mode & STARPU_SCRATCH || orr_acting(orr_self())->depth) return 0;
    bool reads = (mode & (STARPU_RW | STARPU_REDUX | STARPU_MPI_REDUX)) == STARPU_R;
    t->flags |= ORR_TF_AWAY;
    return orr_data_use_slow(h, (reads ? ORR_USE_READS : ORR_USE_WRITES) | joins);
}

/* All of them without a decision of the layer above from the first until it has joined. */
static int use_together(struct orr_task *t)
{
    struct orr_acting *own = orr_acting(orr_self());
    uint64_t lapses;
    int r = 0;
    do {
        lapses = own->lapses;
        for (unsigned i = 0; i < t->naccesses && !r; i++) {
            const struct orr_access *a = &orr_task_accesses(t)[i];
            struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, a->index);
            if (orr_load_relaxed(&h->away)) r = use_away(t, h, a->mode, ORR_USE_JOINS);
        }
    } while (own->lapses != lapses && !r);
    if (r) orr_data_joined();
    return r;
}

static int no_mode(struct orr_task *t, unsigned i, int mode)
{
    orr_error("task %s: datum %u has access mode %d, none of STARPU_R, STARPU_W, STARPU_RW, STARPU_SCRATCH, "
              "STARPU_REDUX",
              orr_task_name(t), i, mode);
    return -EINVAL;
}

/* Two accesses to one handle are one: same takes up what a does. */
static void absorb(struct orr_access *same, const struct orr_access *a)
{
    same->mode |= a->mode;
    if (same->group != a->group) same->group = ORR_GROUP_WRITE;
    if (same->group != ORR_GROUP_COMMUTE) same->flags &= (uint8_t)~ORR_AF_TURN;
    if (!(a->flags & ORR_AF_LATE)) same->flags &= (uint8_t)~ORR_AF_LATE;
}

/* Puts an access in its place by address. */
static void insert_sorted(struct orr_access *list, unsigned *count, starpu_data_handle_t *handles,
                          struct orr_access a)
{
    struct orr_data *h = handles[a.index];
    unsigned at = *count;
    while (at > 0 && handles[list[at - 1].index] > h) at--;
    if (at > 0 && handles[list[at - 1].index] == h) {
        absorb(&list[at - 1], &a);
        return;
    }
    memmove(&list[at + 1], &list[at], (*count - at) * sizeof a);
    list[at] = a;
    ++*count;
}

/* By address, then in the order given. */
static bool comes_after(starpu_data_handle_t *handles, const struct orr_access *a, const struct orr_access *b)
{
    struct orr_data *ha = handles[a->index], *hb = handles[b->index];
    return ha != hb ? ha > hb : a->index > b->index;
}

/* Of a heap in which only place `at` may be too small for its place. */
static void sift_down(struct orr_access *list, unsigned n, unsigned at, starpu_data_handle_t *handles)
{
    struct orr_access a = list[at];
    for (unsigned child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && comes_after(handles, &list[child + 1], &list[child])) child++;
        if (!comes_after(handles, &list[child], &a)) break;
        list[at] = list[child];
    }
    list[at] = a;
}

static bool is_sorted(const struct orr_access *list, unsigned n, starpu_data_handle_t *handles)
{
    for (unsigned i = 1; i < n; i++)
        if (comes_after(handles, &list[i - 1], &list[i])) return false;
    return true;
}

/* Sorts many accesses in place (heapsort), and makes those to one handle one. Returns how many are left. */
static unsigned sort_many(struct orr_access *list, unsigned n, starpu_data_handle_t *handles)
{
    bool sorted = is_sorted(list, n, handles);
    for (unsigned i = sorted ? 0 : n / 2; i-- > 0;) sift_down(list, n, i, handles);
    for (unsigned i = sorted ? 0 : n; i-- > 1;) {
        struct orr_access last = list[0];
        list[0] = list[i];
        list[i] = last;
        sift_down(list, i, 0, handles);
    }
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++)
        if (count > 0 && handles[list[count - 1].index] == handles[list[i].index])
            absorb(&list[count - 1], &list[i]);
        else
            list[count++] = list[i];
    return count;
}

/* Room for n accesses. */
static int reserve_access_block(struct orr_task *t, unsigned n)
{
    if (orr_unlikely(t->flags & ORR_TF_ACCESS_HEAP)) orr_free(t->heap_accesses);
    t->flags &= ~(uint32_t)ORR_TF_ACCESS_HEAP;
    t->inline_accesses.task = t;
    if (orr_likely(n <= ORR_TASK_INLINE_ACCESSES)) return 0;
    struct orr_access_block *b = orr_malloc(sizeof *b + n * sizeof b->access[0]);
    if (!b) return -ENOMEM;
    b->task = t;
    t->heap_accesses = b;
    t->flags |= ORR_TF_ACCESS_HEAP;
    return 0;
}

/* The list of accesses, sorted by address, each handle once. */
static int build_accesses(struct orr_task *t, unsigned n)
{
    struct starpu_task *pub = t->pub;
    int r = reserve_access_block(t, n);
    if (r) return r;
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(pub);
    const enum starpu_data_access_mode *modes = STARPU_TASK_GET_MODES_(pub);
    for (unsigned i = 0; i < n; i++) orr_prefetch_write(handles[i]);
    struct orr_access *list = orr_task_accesses(t);
    unsigned count = 0;
    t->flags |= ORR_TF_PLAIN;
    for (unsigned i = 0; i < n; i++) {
        int mode = modes[i];
        if ((r = check_buffer(t, handles[i], mode, i)) != 0) return r;
        if (orr_unlikely(orr_load_relaxed(&handles[i]->away)) && (r = use_away(t, handles[i], mode, 0)) != 0)
            return r;
        if (orr_unlikely(orr_load_relaxed(&handles[i]->planned))) {
            orr_data_announce_above(handles[i]);
            t->flags |= ORR_TF_PLANNED;
        }
        if (orr_unlikely(!(mode & (STARPU_RW | STARPU_REDUX | STARPU_MPI_REDUX)) ||
                         (mode & STARPU_SCRATCH))) {
            if (!(mode & STARPU_SCRATCH)) return no_mode(t, i, mode);
            t->flags &= ~(uint32_t)ORR_TF_PLAIN;
            mode = STARPU_R; /* nobody else sees its contents; but the handle must not go away meanwhile */
        } else if (orr_unlikely(!orr_load_relaxed(&handles[i]->written_ahead))) {
            orr_data_announce_slow(handles[i], mode);
            t->flags |= ORR_TF_FIRST;
        }
        struct orr_access a = { .waiter = { .granted = access_granted },
                                .index = (uint16_t)i,
                                .group = orr_access_group(mode),
                                .flags = ORR_ACCESS_LASTS,
                                .mode = (uint8_t)(modes[i] & ORR_TASK_MODES) };
        if (orr_unlikely(a.group == ORR_GROUP_REDUX))
            t->flags = (t->flags | ORR_TF_REDUX) & ~(uint32_t)ORR_TF_PLAIN;
        if (orr_unlikely(!handle_is_sequential(pub, handles[i], i)) && !(t->flags & ORR_TF_LISTED))
            a.flags |= ORR_AF_LATE; /* a job joins when it is added: jobs behind it may be given the data
                                       before it */
        if (orr_unlikely(a.group == ORR_GROUP_COMMUTE)) a.flags |= ORR_AF_TURN;
        if (orr_unlikely(a.flags & (ORR_AF_LATE | ORR_AF_TURN))) t->flags |= ORR_TF_LATE;
        if (orr_likely(n <= INSERTED_MAX))
            insert_sorted(list, &count, handles, a);
        else
            list[count++] = a;
    }
    if (orr_unlikely(n > INSERTED_MAX)) count = sort_many(list, n, handles);
    for (unsigned i = 0; i < count; i++) list[i].position = (uint16_t)i;
    t->naccesses = (uint16_t)count;
    return 0;
}

/* The same where the submitter holds the data, and the queues are left alone. */
static int check_held(struct orr_task *t, unsigned n)
{
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(t->pub);
    const enum starpu_data_access_mode *modes = STARPU_TASK_GET_MODES_(t->pub);
    for (unsigned i = 0; i < n; i++) {
        int r = check_buffer(t, handles[i], modes[i], i);
        if (r) return r;
        if (modes[i] & (STARPU_REDUX | STARPU_MPI_REDUX)) {
            orr_error("task %s: datum %u is contributed to, which needs the order of tasks: submit it with "
                      "starpu_task_submit",
                      orr_task_name(t), i);
            return -EINVAL;
        }
        if (!(modes[i] & (STARPU_RW | STARPU_SCRATCH))) return no_mode(t, i, modes[i]);
        if (modes[i] & STARPU_W) orr_data_announce(handles[i], STARPU_W);
    }
    return 0;
}

/* The same for a task from a model (model.c), whose accesses are plain, sorted and of distinct data; unless
 * something of the data wants a look at each. */
static int take_sorted(struct orr_task *t, unsigned n)
{
    starpu_data_handle_t *handles = t->pub->handles;
    struct orr_access *list = t->inline_accesses.access;
    for (unsigned i = 0; i < n; i++) {
        struct orr_data *h = handles[list[i].index];
        if (orr_unlikely(refusal(t, h, list[i].mode) || orr_load_relaxed(&h->planned) ||
                         !orr_load_relaxed(&h->written_ahead) || !h->sequential_consistency))
            return build_accesses(t, n);
        list[i].waiter = (struct orr_waiter){ .granted = access_granted };
        list[i].position = (uint16_t)i;
        list[i].flags = ORR_ACCESS_LASTS;
    }
    t->inline_accesses.task = t;
    t->flags |= ORR_TF_PLAIN;
    t->naccesses = (uint16_t)n;
    return 0;
}

static int check_variable_buffers(struct orr_task *t, unsigned n)
{
    struct starpu_task *pub = t->pub;
    if (orr_unlikely(n > UINT16_MAX)) {
        orr_error("task %s: %u data are more than a task can have (%d)", orr_task_name(t), n, UINT16_MAX);
        return -EINVAL;
    }
    if (n > STARPU_NMAXBUFS && !pub->dyn_handles) {
        orr_error("task %s: %u data are more than STARPU_NMAXBUFS (%d); give them in dyn_handles",
                  orr_task_name(t), n, STARPU_NMAXBUFS);
        return -EINVAL;
    }
    bool codelet_tells = pub->cl->nbuffers != STARPU_VARIABLE_NBUFFERS && pub->cl->dyn_modes;
    if (n > STARPU_NMAXBUFS && !pub->dyn_modes && !codelet_tells) {
        orr_error("task %s: %u data are more than STARPU_NMAXBUFS (%d); give their modes in dyn_modes",
                  orr_task_name(t), n, STARPU_NMAXBUFS);
        return -EINVAL;
    }
    if (n > 0 && pub->dyn_handles && (!pub->dyn_interfaces || (t->flags & ORR_TF_DYN_OWNED))) {
        void **room = orr_realloc(pub->dyn_interfaces, n * sizeof *room); /* more than last time, maybe */
        if (!room) return -ENOMEM;
        pub->dyn_interfaces = room;
        t->flags |= ORR_TF_DYN_OWNED;
    }
    return 0;
}

/* Only for tasks that will be waited for, submitted again, or given end dependencies ahead. */
static int reserve_rare(struct orr_task *t)
{
    struct starpu_task *pub = t->pub;
    struct orr_task_rare *r = orr_task_rare_get(t);
    if (!r) return -ENOMEM;
    orr_event_init(&r->done);
    orr_edges_disown_served(r);
    r->late_next = 0;
    r->status = 0;
    r->persistent = !pub->destroy || pub->regenerate;
    r->awaited = !pub->detach;
    r->synchronous = pub->synchronous;
    if (pub->nb_termination_call_required) {
        starpu_task_end_dep_add(pub, (int)pub->nb_termination_call_required);
        pub->nb_termination_call_required = 0;
    } else if (r->end_deps_used && orr_load_relaxed(&r->end_deps) == 0) {
        orr_store_relaxed(&r->end_deps, 1); /* submitted again: the body counts anew */
    }
    return 0;
}

static int reserve(struct orr_task *t, uint32_t flags)
{
    struct starpu_task *pub = t->pub;
    if (orr_unlikely(orr_load_acquire(&t->state) != ORR_TASK_CREATED && !orr_task_take(t))) {
        orr_error("task %s is submitted a second time while it is still under way; submit it again after it "
                  "has ended",
                  orr_task_name(t));
        return -EINVAL;
    }
    t->flags = (t->flags & (ORR_TF_BLOCK | ORR_TF_ARGS_SLAB | ORR_TF_ACCESS_HEAP | ORR_TF_EXPLICIT |
                            ORR_TF_DYN_OWNED | ORR_TF_NODES)) |
               flags;
    t->naccesses = 0;
    t->priority = pub->priority;
    t->nimpl_valid = 0;
    t->worker = -1;
    int r;
    if (orr_likely(pub->cl)) {
        if (orr_unlikely((r = orr_codelet_check(pub->cl)) != 0)) {
            if (r < 0) return r;
            t->flags |= ORR_TF_UNCOUNTED;
        }
        unsigned n = STARPU_TASK_GET_NBUFFERS(pub);
        if (orr_unlikely(n > STARPU_NMAXBUFS || pub->dyn_handles) && (r = check_variable_buffers(t, n)) != 0)
            return r;
        if (n > 0 && (r = orr_unlikely(flags & (ORR_TF_NO_QUEUE | ORR_TF_SORTED))
                              ? (flags & ORR_TF_SORTED ? take_sorted(t, n) : check_held(t, n))
                              : build_accesses(t, n)) != 0)
            return r;
        if (n == 0) t->flags |= ORR_TF_PLAIN;
        if ((r = orr_task_hooks.check_runnable(t)) != 0) return r;
    } else if (orr_unlikely(orr_task_hooks.check_runnable(t) != 0)) {
        return -ENODEV;
    }
    if (orr_unlikely(!pub->detach || pub->synchronous || !pub->destroy || pub->regenerate || t->rare ||
                     (t->flags & ORR_TF_LATE) || pub->nb_termination_call_required) &&
        (r = reserve_rare(t)) != 0)
        return r;
    return 0;
}

/* ---- phase two ---- */

static int switch_some(struct orr_task *t, struct orr_partition_use *u, bool read)
{
    int r = 0;
    for (unsigned i = 0; i < t->naccesses && !r; i++) {
        struct orr_access *a = &orr_task_accesses(t)[i];
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, a->index);
        if (!(a->flags & ORR_AF_LATE) && (a->group == ORR_GROUP_READ) == read &&
            orr_load_relaxed(&h->planned))
            r = orr_partition_switch(u, h, read ? STARPU_R : STARPU_RW);
    }
    return r;
}

/* Submits the switches that t's accesses need, but for the late ones, which see to it when they join. To
 * write a piece may end the plans below its neighbours, in passing: what is read comes after. */
static int switch_plans(struct orr_task *t, struct orr_partition_use *u)
{
    int r = switch_some(t, u, false);
    return r ? r : switch_some(t, u, true);
}

/* Locks the queues that t joins now. True: some of their data is planned; *away_out: or away. */
static inline bool lock_queues(starpu_data_handle_t *handles, struct orr_access *a, unsigned n,
                               bool *away_out)
{
    bool planned = false, away = false;
    for (unsigned i = 0; i < n; i++) {
        if (orr_unlikely(a[i].flags & ORR_AF_LATE)) continue;
        struct orr_data *h = handles[a[i].index];
        orr_spin_lock(&h->queue.lock);
        planned |= h->queue.planned;
        away |= orr_load_relaxed(&h->away);
    }
    *away_out = away;
    return planned;
}

static inline void unlock_queues(starpu_data_handle_t *handles, struct orr_access *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (orr_likely(!(a[i].flags & ORR_AF_LATE))) orr_spin_unlock(&handles[a[i].index]->queue.lock);
}

/* Some data of t had no value when it was submitted. Called with the locks of all that join. */
static void mark_written_locked(struct orr_task *t)
{
    struct orr_access *a = orr_task_accesses(t);
    for (unsigned i = 0; i < t->naccesses; i++)
        if (!(a[i].flags & ORR_AF_LATE))
            orr_data_written_locked(STARPU_TASK_GET_HANDLE(t->pub, a[i].index), &a[i]);
}

/* Another thread made the first plan of t's data since t was checked: switches it. The queues are locked
 * before and after. */
static __attribute__((noinline)) void lock_newly_planned(struct orr_task *t, struct orr_partition_use *u)
{
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(t->pub);
    bool away;
    unlock_queues(handles, orr_task_accesses(t), t->naccesses);
    orr_data_joined();
    orr_partition_begin(u);
    switch_plans(t, u); /* out of memory was said; it is too late to refuse t */
    lock_queues(handles, orr_task_accesses(t), t->naccesses, &away);
}

/* Some data of t is away, and perhaps was not when it was looked at: its use is told. The same. */
static __attribute__((noinline)) bool lock_away(struct orr_task *t)
{
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(t->pub);
    bool away;
    if (t->flags & (ORR_TF_INTERNAL | ORR_TF_LISTED) || orr_acting(orr_self())->joins ||
        orr_acting(orr_self())->depth)
        return false;
    unlock_queues(handles, orr_task_accesses(t), t->naccesses);
    use_together(t); /* a refusal was said; the same */
    return lock_queues(handles, orr_task_accesses(t), t->naccesses, &away);
}

/* Joins every access that is not late. Returns how many were granted at once. u: the plans' mutex is held,
 * and let go here. */
static int join_accesses(struct orr_task *t, int early, bool shared, struct orr_partition_use *u)
{
    starpu_data_handle_t *handles = STARPU_TASK_GET_HANDLES(t->pub);
    struct orr_access *a = orr_task_accesses(t);
    unsigned n = t->naccesses;
    int granted = 0;
    bool kick = false;
    struct orr_partition_use own;
    bool away, planned = lock_queues(handles, a, n, &away);
    if (orr_unlikely(away) && !u) planned |= lock_away(t);
    if (orr_unlikely(planned) && !u && !(t->flags & ORR_TF_LISTED)) {
        u = &own;
        lock_newly_planned(t, u);
    }
    if (orr_unlikely(t->flags & ORR_TF_FIRST)) mark_written_locked(t);
    for (unsigned i = 0; i < n; i++) {
        if (orr_unlikely(a[i].flags & ORR_AF_LATE)) continue;
        struct orr_access_queue *q = &handles[a[i].index]->queue;
        if (orr_access_join_locked(q, &a[i]))
            granted++;
        else if (orr_unlikely(q->group == ORR_GROUP_REDUX && q->active == 0))
            kick = true;
    }
    if (orr_likely(granted == early && !shared)) orr_store_relaxed(&t->pending, 0); /* ready: see reclaim */
    /* from here on others may grant the rest; the task's own guard keeps it from starting */
    unlock_queues(handles, a, n);
    if (orr_unlikely(u != NULL)) orr_partition_unlock(u);
    if (orr_unlikely(kick))
        for (unsigned i = 0; i < n; i++)
            if (!(a[i].flags & ORR_AF_LATE)) orr_data_kick_reduction(handles[a[i].index]);
    if (orr_unlikely(u == &own)) orr_partition_start(u);
    return granted;
}

/* How many accesses join now. The others are announced, so that nobody takes their data away meanwhile. */
static int count_early(struct orr_task *t)
{
    if (orr_likely(!(t->flags & ORR_TF_LATE))) return t->naccesses;
    struct orr_access *a = orr_task_accesses(t);
    int n = 0;
    for (unsigned i = 0; i < t->naccesses; i++)
        if (a[i].flags & ORR_AF_LATE)
            orr_data_expect(STARPU_TASK_GET_HANDLE(t->pub, a[i].index), &a[i]);
        else
            n++;
    return n;
}

static void dispatch_one(struct orr_task *t)
{
    struct orr_task_thread *self = orr_task_self();
    if (self->collect) {
        orr_ready_append(self->collect, t);
        return;
    }
    struct orr_ready_list list = { t, t };
    t->next = NULL;
    orr_ready_dispatch(&list, NULL);
}

/* All conditions hold. */
void orr_task_now_ready(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    /* the next round's conditions count from here on: explicit prerequisites may be submitted again before t
     * is */
    if (orr_unlikely(r && r->persistent)) {
        orr_add_acq_rel(&t->pending, 1 + (int32_t)r->nedges);
        orr_edges_next_round(t);
    }
    dispatch_one(t);
}

void orr_task_unblock(struct orr_task *t)
{
    if (orr_sub_acq_rel(&t->pending, 1) == 1)
        orr_task_now_ready(t); /* pairs with itself: the last sees what the others did */
}

static void commit(struct orr_task *t, struct orr_partition_use *u)
{
    struct orr_task_thread *self = orr_task_self();
    if (orr_unlikely(orr_load_relaxed(&t->successors) ==
                     ORR_EDGES_CLOSED)) { /* submitted again: so are its dependencies */
        orr_store_release(&t->successors, t->rare ? t->rare->kept_edges : NULL);
        if (t->rare) t->rare->kept_edges = NULL;
    }
    t->pub->status = STARPU_TASK_BLOCKED;
    orr_store_relaxed(&t->state, ORR_TASK_SUBMITTED);
    orr_own_add(&self->submitted, 1);
    if (orr_unlikely(t->sched_ctx != 0)) orr_task_hooks.ctx_submitted(t->sched_ctx);
    int early = t->naccesses ? count_early(t) : 0;
    bool shared = (t->flags & ORR_TF_EXPLICIT) != 0 || (t->rare && t->rare->persistent);
    if (orr_unlikely(shared))
        orr_add_acq_rel(&t->pending, early);
    else
        orr_store_relaxed(&t->pending, 1 + early);
    int granted = early ? join_accesses(t, early, shared, u) : 0;
    if (orr_unlikely(u && !early)) orr_partition_unlock(u);
    if (orr_unlikely(t->flags & ORR_TF_AWAY)) orr_data_joined();
    if (orr_likely(granted == early && !shared)) {
        if (!early) orr_store_relaxed(&t->pending, 0);
        orr_task_now_ready(t);
        return;
    }
    if (orr_sub_acq_rel(&t->pending, granted + 1) == granted + 1) orr_task_now_ready(t);
}

/* The last of what can fail, for a task whose data is part of plans: on success the plans' mutex is held. */
static int begin_planned(struct orr_task *t, struct orr_partition_use *u)
{
    orr_partition_begin(u);
    int r = switch_plans(t, u);
    if (!r && t->pub->use_tag) r = orr_tag_bind(t);
    if (!r) return 0;
    orr_partition_unlock(u);
    orr_partition_start(u);
    return r;
}

static inline int prepare(struct starpu_task *pub, uint32_t flags, struct orr_partition_use *u)
{
    struct orr_task *t = orr_task_private(pub);
    if (orr_unlikely(!t)) return -ENOMEM;
    if (orr_unlikely(orr_task_hooks.throttle != NULL) && !(flags & ORR_TF_INTERNAL) &&
        !orr_acting(orr_self())->depth)
        orr_task_hooks.throttle();
    int r = reserve(t, flags);
    if (orr_unlikely(r != 0)) return r;
    bool planned = t->flags & ORR_TF_PLANNED;
    if (orr_unlikely(flags & ORR_TF_NO_QUEUE)) orr_edges_forget(t);
    if (orr_unlikely(pub->use_tag) && !planned && (r = orr_tag_bind(t)) != 0) return r;
    ORR_EVENT(TASK_SUBMITTED, t, t->id, t->sched_ctx, 0);
    if (orr_unlikely(t->flags & ORR_TF_AWAY)) r = use_together(t);
    if (orr_unlikely(planned) && !r && (r = begin_planned(t, u)) != 0) orr_data_joined();
    return r;
}

int orr_task_submit(struct starpu_task *pub, uint32_t flags)
{
    struct orr_partition_use u;
    int r = prepare(pub, flags, &u);
    if (orr_unlikely(r != 0)) return r;
    struct orr_task *t = orr_task_of(pub);
    bool planned = t->flags & ORR_TF_PLANNED; /* t may be gone after the commit */
    commit(t, orr_unlikely(planned) ? &u : NULL);
    if (orr_unlikely(planned)) orr_partition_start(&u);
    return 0;
}

int orr_task_prepare(struct starpu_task *pub, uint32_t flags, struct orr_partition_use *u)
{
    *u = (struct orr_partition_use){ 0 };
    return prepare(pub, flags, u);
}

void orr_task_throttle(void)
{
    if (orr_task_hooks.throttle) orr_task_hooks.throttle();
}

void orr_task_commit(struct orr_task *t, struct orr_partition_use *u)
{
    commit(t, t->flags & ORR_TF_PLANNED ? u : NULL);
}

static int submit(struct starpu_task *task, uint32_t flags)
{
    if (orr_unlikely(!task)) {
        orr_error("starpu_task_submit: the task is NULL");
        return -EINVAL;
    }
    if (orr_unlikely(task->magic != 42)) {
        orr_error(
            "starpu_task_submit: the task was not initialised; use starpu_task_create or starpu_task_init");
        return -EINVAL;
    }
    if (orr_likely(!task->synchronous)) return orr_task_submit(task, flags);
    if (orr_task_inside()) {
        orr_error("starpu_task_submit of synchronous task %s in task %s: a task must not block; submit it "
                  "asynchronously",
                  orr_task_name(orr_task_private(task)), orr_task_name(orr_task_current()));
        return -EDEADLK;
    }
    task->detach = 0;
    int r = orr_task_submit(task, flags);
    if (r) return r;
    struct orr_task *t = orr_task_of(task);
    orr_event_wait(&t->rare->done);
    int status = t->rare->status;
    if (task->destroy && !status) orr_task_free(t); /* on an error the task is its caller's */
    return status;
}

int starpu_task_submit(struct starpu_task *task)
{
    return submit(task, 0);
}

int starpu_task_submit_to_ctx(struct starpu_task *task, unsigned sched_ctx_id)
{
    if (task) task->sched_ctx = sched_ctx_id;
    return starpu_task_submit(task);
}

int starpu_task_submit_nodeps(struct starpu_task *task)
{
    return submit(task, ORR_TF_NO_QUEUE);
}

/* ---- the late phase: accesses that join, or take turns, when everything else is ready ---- */

/* Goes on with t's late accesses, in address order so that holders never wait in a circle. True: all are
 * granted. */
static bool late_phase(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    for (; r->late_next < t->naccesses; r->late_next++) {
        struct orr_access *a = &orr_task_accesses(t)[r->late_next];
        struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, a->index);
        if ((a->flags & ORR_AF_LATE) && !(a->flags & ORR_AF_JOINED)) {
            a->flags |= ORR_AF_STARTED | ORR_AF_JOINED;
            if (!orr_data_join_late(h, a)) return false;
        }
        if ((a->flags & ORR_AF_TURN) && a->group == ORR_GROUP_COMMUTE) {
            a->flags = (uint8_t)((a->flags | ORR_AF_STARTED) & ~ORR_AF_TURN);
            orr_spin_lock(&h->queue.lock);
            bool mine = orr_access_commute_enter_locked(&h->queue, a);
            orr_spin_unlock(&h->queue.lock);
            if (!mine) return false;
        }
    }
    return true;
}

static void access_granted(struct orr_waiter *w)
{
    struct orr_access *a = (struct orr_access *)w;
    struct orr_task *t = orr_access_owner(a);
    if (orr_likely(!(a->flags & ORR_AF_STARTED))) {
        orr_task_unblock(t);
        return;
    }
    dispatch_one(t);
}

/* An exempt access asks for a handle that t has but does not use yet. While t waits for something else it
 * takes one more condition upon itself, and gives the handle back; once ready, it keeps it. */
bool orr_task_reclaim(struct orr_access *a)
{
    if (a->waiter.granted != access_granted || (a->flags & ORR_AF_STARTED)) return false;
    struct orr_task *t = orr_access_owner(a);
    if (t->rare && t->rare->persistent) return false; /* its countdown counts for the next round, too */
    int32_t pending = orr_load_relaxed(&t->pending);
    while (pending > 0 && orr_load_relaxed(&t->state) == ORR_TASK_SUBMITTED)
        if (orr_cas_weak_acq_rel(&t->pending, &pending, pending + 1)) return true;
    return false;
}

struct orr_task *orr_access_task(struct orr_access *a)
{
    return a->waiter.granted == access_granted ? orr_access_owner(a) : NULL;
}

/* ---- dispatching ---- */

static bool has_body(const struct orr_task *t)
{
    const struct starpu_task *p = t->pub;
    return p->cl && orr_task_where(p) != STARPU_NOWHERE;
}

void orr_call_back(struct orr_task *t, void (*fn)(void *), void *arg)
{
    struct orr_thread *self = orr_self();
    struct orr_task_thread *own = orr_task_thread(self);
    struct orr_ready_list *collect = own->collect;
    struct orr_task *current = own->current;
    struct orr_acting *acting = orr_acting(self);
    uint64_t depth = acting->depth; /* who submits the task uses data for itself, the callback does not */
    /* what a callback submits should run while the callback goes on; but callbacks within callbacks must end
     * somewhere */
    enum { NESTING_MAX = 16 };
    if (self->callback_depth < NESTING_MAX) own->collect = NULL;
    self->callback_depth++;
    orr_acting_begin();
    own->current = t;
    acting->depth = 0;
    fn(arg);
    acting->depth = depth;
    own->current = current;
    orr_acting_end();
    self->callback_depth--;
    own->collect = collect;
}

/* What has a body goes to its worker, policy or list next. */
static __attribute__((noinline)) void tell_ready(struct orr_task *t)
{
    ORR_EVENT(TASK_READY, t, t->id, t->sched_ctx, 0);
    if (orr_events_wanted(ORR_EVENT_BIT(TASK_PUSHED)) && has_body(t))
        ORR_EVENT(TASK_PUSHED, t, t->id, t->sched_ctx, 0);
}

static inline void announce_ready(struct orr_task *t)
{
    struct starpu_task *pub = t->pub;
    orr_store_relaxed(&t->state, ORR_TASK_READY);
    pub->status = STARPU_TASK_READY;
    if (orr_unlikely(orr_events_wanted(ORR_EVENT_BIT(TASK_READY) | ORR_EVENT_BIT(TASK_PUSHED))))
        tell_ready(t);
    if (orr_unlikely(pub->prologue_callback_func != NULL))
        orr_call_back(t, pub->prologue_callback_func, pub->prologue_callback_arg);
}

/* Whether a task with late accesses, or a job of a list, can be dispatched now; else it has ended already, or
 * it comes again, or its list has it. A job takes what it must share (turns, late accesses) only when its
 * turn in the list has come: a job before it in the list may want the same. */
static bool may_dispatch(struct orr_task *t)
{
    bool listed = (t->flags & ORR_TF_LISTED) != 0;
    if (t->flags & ORR_TF_ENDED) {
        orr_task_complete(t);
        return false;
    }
    if ((t->flags & ORR_TF_HELD) && ((t->flags & ORR_TF_LATE) || !has_body(t))) {
        orr_task_hooks.job_ready(t);
        return false;
    }
    if ((t->flags & ORR_TF_LATE) && !late_phase(t)) return false;
    if (!listed || !has_body(t)) return true;
    announce_ready(t);
    orr_task_hooks.job_ready(t);
    return false;
}

void orr_task_ended(struct orr_task *t)
{
    if (!orr_task_self()->collect) {
        orr_task_complete(t);
        return;
    }
    t->flags |= ORR_TF_ENDED;
    dispatch_one(t);
}

void orr_task_release_held(struct orr_task *t)
{
    t->flags &= ~(uint32_t)ORR_TF_HELD;
    dispatch_one(t);
}

static void put_off(struct orr_put_off *p, struct orr_task *t)
{
    orr_put_off_begin(p);
    t->next = NULL;
    if (p->tasks)
        p->last_task->next = t;
    else
        p->tasks = t;
    p->last_task = t;
}

/* Whether to dispatch t would call functions of the program here and now. */
static bool calls_program(const struct orr_task *t)
{
    return !has_body(t) || t->flags & ORR_TF_ENDED || t->pub->prologue_callback_func;
}

void orr_ready_dispatch(struct orr_ready_list *list, struct orr_task **keep_out)
{
    struct orr_thread *self = orr_self();
    struct orr_task_thread *own = orr_task_thread(self);
    struct orr_ready_list *outer = own->collect;
    own->collect = list;
    for (struct orr_task *t; (t = list->head) != NULL;) {
        list->head = t->next;
        if (orr_unlikely(orr_data_thread(self)->put_off != NULL) && calls_program(t)) {
            put_off(orr_data_thread(self)->put_off, t);
            continue;
        }
        if (orr_unlikely(t->flags & (ORR_TF_LATE | ORR_TF_LISTED | ORR_TF_ENDED)) && !may_dispatch(t))
            continue;
        struct starpu_task *pub = t->pub;
        announce_ready(t);
        if (orr_unlikely(!has_body(t))) {
            if (pub->prologue_callback_pop_func)
                orr_call_back(t, pub->prologue_callback_pop_func, pub->prologue_callback_pop_arg);
            if (t->rare && t->rare->end_deps_used) orr_store_relaxed(&t->state, ORR_TASK_RUNNING);
            if (orr_task_body_done(t)) orr_task_complete(t);
        } else if (keep_out && !*keep_out && orr_task_hooks.may_keep(t)) {
            *keep_out = t;
        } else {
            orr_task_hooks.push(t);
        }
    }
    own->collect = outer;
}
