/* SPDX-License-Identifier: BSD-3-Clause */
/* user.c: runs a policy that the program wrote against struct starpu_sched_policy, with the locking its
 * documentation promises: a worker's mutex is held around pop_task, and deciding to sleep is atomic with the
 * answer NULL.
 * Threads: as for any policy. Owns: the instance (a context and the program's table). Not here:
 * starpu_wake_worker and its relatives (core/worker/policy.c), a policy that holds tasks for ever
 * (core/run/deadlock.c).
 *
 * Programs' policies have mistakes. A task that the policy was given is in state ORR_TASK_PUSHED until the
 * policy gives it back, so that one given back twice, or never pushed, is noticed even after it was freed
 * (blocks of tasks stay tasks until shutdown). Each kind of mistake is said once, with the policy's name; the
 * task runs nevertheless, on the first worker that can. */
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/worker/park.h"
#include "core/worker/worker.h"
#include "sched/components/component.h"

enum mistake {
    REFUSED_TASK = 1 << 0,
    NOT_HELD = 1 << 1,
    CANNOT_RUN = 1 << 2,
    LEFT_RELAXED = 1 << 3,
    LEFT_UNLOCKED = 1 << 4,
    LEFT_LOCKED = 1 << 5,
    REFUSED_TAKEN = 1 << 6,
};

/* How often in a row a policy may answer with what it does not hold before its worker sleeps nevertheless. */
enum { STALE_MAX = 1000 };

struct adapted {
    struct orr_ctx *ctx;
    struct starpu_sched_policy *user; /* [const] the program's */
    _Atomic uint32_t told;            /* enum mistake: those that were said */
    _Atomic int32_t methods;          /* threads in its methods; WAITING, CHANGING */
    _Atomic uint32_t stale;           /* tasks in a row that it does not hold [any: hint] */
};

/* Whether this mistake is to be said now: the first time. */
static bool first(struct adapted *a, enum mistake m)
{
    return !(atomic_fetch_or_explicit(&a->told, (uint32_t)m, memory_order_relaxed) & (uint32_t)m);
}

static const char *name_of(const struct adapted *a)
{
    return orr_policy_name(a->ctx);
}

static void method_begin(const struct adapted *a, const char *method)
{
    const struct orr_worker *self = orr_worker_self();
    orr_method_begin(method, a->ctx->id, self ? self->id : -1);
}

/* ---- members stay while a method runs ---- */

/* Methods walk the context's collection of workers, so those change while no method runs. A method within
 * another of the same context is not counted again. A change that waits keeps methods out, but for those
 * within methods of other contexts: those are waited for, perhaps, by another change. */
enum { WAITING = 1 << 30, CHANGING = INT32_MIN };

static bool may_enter(int32_t methods, const struct orr_worker_thread *self)
{
    return !(methods & CHANGING) && (!(methods & WAITING) || self->inside_policies);
}

/* False: members are just changing, or about to. */
static bool enter_try(struct adapted *a, bool *outermost_out)
{
    struct orr_worker_thread *self = orr_worker_own();
    uint32_t bit = UINT32_C(1) << a->ctx->id;
    *outermost_out = !(self->inside_policies & bit);
    if (!*outermost_out) return true;
    int32_t methods = orr_load_relaxed(&a->methods);
    do
        if (orr_unlikely(!may_enter(methods, self))) return false;
    while (!orr_cas_weak_acq_rel(&a->methods, &methods, methods + 1)); /* pairs with change_begin */
    self->inside_policies |= bit;
    return true;
}

static bool enter(struct adapted *a)
{
    bool outermost;
    while (!enter_try(a, &outermost)) sched_yield();
    return outermost;
}

static void leave(struct adapted *a, bool outermost)
{
    if (!outermost) return;
    orr_worker_own()->inside_policies &= ~(UINT32_C(1) << a->ctx->id);
    orr_sub_seq(&a->methods, 1);
}

/* One thread at a time (change_lock in core/worker/member.c). */
static void change_begin(struct adapted *a)
{
    int32_t none = WAITING;
    atomic_fetch_or_explicit(&a->methods, WAITING, memory_order_seq_cst);
    while (!orr_cas_weak_acq_rel(&a->methods, &none, CHANGING)) {
        none = WAITING;
        sched_yield();
    }
    orr_worker_own()->inside_policies |= UINT32_C(1) << a->ctx->id;
}

static void change_end(struct adapted *a)
{
    orr_worker_own()->inside_policies &= ~(UINT32_C(1) << a->ctx->id);
    orr_store_release(&a->methods, 0);
}

/* The method took mutexes of workers and did not release them. */
static void unlock_forgotten(struct adapted *a, const char *method, int locks)
{
    int worker = orr_policy_unlock(locks);
    if (first(a, LEFT_LOCKED))
        orr_error(
            "scheduling policy %s: %s returned with worker %d locked; each starpu_worker_lock needs its "
            "starpu_worker_unlock",
            name_of(a), method, worker);
}

/* ---- giving tasks to the policy ---- */

/* Puts a task that the policy will not, or must not, place on a worker that can run it. No mutex held. */
static void place(void *instance, struct orr_task *t)
{
    struct adapted *a = instance;
    unsigned nimpl, n = a->ctx->nworkers;
    struct orr_worker *chosen = NULL;
    for (unsigned i = 0; i < n && !chosen; i++)
        if (orr_worker_can_run(&orr_workers[a->ctx->workers[i]], t, &nimpl))
            chosen = &orr_workers[a->ctx->workers[i]];
    for (unsigned i = 0; i < orr_worker_count && !chosen; i++)
        if (orr_worker_can_run(&orr_workers[i], t, &nimpl)) chosen = &orr_workers[i];
    t->nimpl_valid = 0;
    t->flags |= ORR_TF_ANYWHERE;
    if (chosen)
        orr_worker_push_local(chosen, t, false);
    else
        orr_error("task %s: no worker can run it any more", orr_task_name(t));
}

static void user_push(void *instance, struct orr_task *t)
{
    struct adapted *a = instance;
    t->pub->scheduled = 1;
    t->pub->sched_ctx = t->sched_ctx;
    orr_add_relaxed(&a->ctx->policy_holds, 1);
    orr_store_release(&t->state, ORR_TASK_PUSHED); /* pairs with orr_policy_releases */
    bool outermost = enter(a);
    method_begin(a, "push_task");
    int locks = orr_policy_locks(), r = a->user->push_task(t->pub);
    if (orr_unlikely(orr_policy_locks() > locks)) unlock_forgotten(a, "push_task", locks);
    orr_method_end();
    leave(a, outermost);
    if (orr_likely(r >= 0)) return;
    bool refused = orr_policy_releases(t); /* else it was popped meanwhile, and t may be gone */
    if (first(a, REFUSED_TASK) && refused)
        orr_error("scheduling policy %s: push_task refused task %s (%d); it runs on a worker that can",
                  name_of(a), orr_task_name(t), r);
    else if (!refused && first(a, REFUSED_TAKEN))
        orr_error("scheduling policy %s: push_task returned %d for a task that it took nevertheless",
                  name_of(a), r);
    if (refused) place(a, t);
}

/* ---- taking tasks from the policy ---- */

/* The task behind what a method returned, or NULL: a mistake, or it is in *misplaced, for others. */
static struct orr_task *accept(struct adapted *a, struct orr_worker *w, struct starpu_task *p,
                               struct orr_ready_list *misplaced)
{
    struct orr_task *t = orr_task_of(p);
    if (orr_unlikely(!t || !orr_policy_releases(t))) {
        if (first(a, NOT_HELD))
            orr_error(
                "scheduling policy %s: pop_task returned a task that it does not hold (given back before, or "
                "never pushed); it is ignored",
                name_of(a));
        /* That is not the answer NULL: behind it there may be tasks that it does hold. */
        if (orr_add_relaxed(&a->stale, 1u) < STALE_MAX) w->keep_awake = true;
        orr_store_relaxed(&a->ctx->gave_stale, true);
        return NULL;
    }
    if (orr_unlikely(orr_load_relaxed(&a->stale) > 0)) orr_store_relaxed(&a->stale, 0u);
    unsigned nimpl = t->nimpl;
    if (orr_likely(t->nimpl_valid ? orr_worker_can_run_impl(w, t, nimpl)
                                  : orr_worker_can_run(w, t, &nimpl)) ||
        (t->nimpl_valid && orr_worker_can_run(w, t, &nimpl))) {
        t->nimpl = (uint8_t)nimpl;
        t->nimpl_valid = 1;
        return t;
    }
    if (first(a, CANNOT_RUN))
        orr_error("scheduling policy %s: pop_task gave worker %d (%s) task %s, which it cannot execute; ask "
                  "starpu_worker_can_execute_task first. It runs on a worker that can",
                  name_of(a), w->id, w->name, orr_task_name(t));
    orr_ready_append(misplaced, t);
    return NULL;
}

/* Calls the method with w's mutex held, and has it held afterwards whatever the method did. */
static struct starpu_task *call_pop(struct adapted *a, struct orr_worker *w,
                                    struct starpu_task *(*method)(unsigned), const char *name)
{
    w->holds_mutex = true;
    method_begin(a, name);
    int locks = orr_policy_locks();
    struct starpu_task *p = method(a->ctx->id);
    if (orr_unlikely(orr_policy_locks() > locks)) unlock_forgotten(a, name, locks);
    orr_method_end();
    w->holds_mutex = false;
    if (orr_unlikely(w->relaxed > 0)) {
        w->relaxed = 0;
        pthread_mutex_lock(&w->sched_mutex);
        if (first(a, LEFT_RELAXED))
            orr_error("scheduling policy %s: %s returned relaxed; each starpu_worker_relax_on needs its "
                      "starpu_worker_relax_off",
                      name_of(a), name);
    } else if (orr_unlikely(pthread_mutex_lock(&w->sched_mutex) ==
                            0)) { /* EDEADLK: it is held, as promised */
        if (first(a, LEFT_UNLOCKED))
            orr_error(
                "scheduling policy %s: %s returned without the mutex of its worker; a method that releases "
                "it takes it again before it decides",
                name_of(a), name);
    }
    return p;
}

/* Puts all the policy has in w's own queue; returns the first of it. */
static struct orr_task *pop_every(struct adapted *a, struct orr_worker *w, struct orr_ready_list *misplaced)
{
    struct orr_task *taken = NULL;
    struct starpu_task *p = call_pop(a, w, a->user->pop_every_task, "pop_every_task");
    for (struct starpu_task *next; p; p = next) {
        next = p->next;
        struct orr_task *t = accept(a, w, p, misplaced);
        if (t && taken)
            orr_worker_push_local(w, t, false);
        else if (t)
            taken = t;
    }
    return taken;
}

/* Called with w->sched_mutex held, which the method may release and take again. */
static struct orr_task *call_and_accept(struct adapted *a, struct orr_worker *w,
                                        struct orr_ready_list *misplaced)
{
    if (!a->user->pop_task) return a->user->pop_every_task ? pop_every(a, w, misplaced) : NULL;
    struct starpu_task *p = call_pop(a, w, a->user->pop_task, "pop_task");
    if (p) return accept(a, w, p, misplaced);
    if (orr_unlikely(orr_load_relaxed(&a->stale) > 0)) orr_store_relaxed(&a->stale, 0u);
    return NULL;
}

/* While members change it finds nothing, but w does not sleep on that. */
static struct orr_task *pop_locked(void *instance, struct orr_worker *w, struct orr_ready_list *misplaced)
{
    struct adapted *a = instance;
    bool outermost;
    if (orr_unlikely(!enter_try(a, &outermost))) {
        w->keep_awake = true;
        return NULL;
    }
    struct orr_task *t = call_and_accept(a, w, misplaced);
    leave(a, outermost);
    return t;
}

static void place_all(struct adapted *a, struct orr_ready_list *misplaced)
{
    for (struct orr_task *t = misplaced->head, *next; t; t = next) {
        next = t->next;
        place(a, t);
    }
}

/* Takes w's mutex; shown as a method, for a policy may have forgotten to release it. */
static void lock_worker(const struct adapted *a, struct orr_worker *w)
{
    if (orr_likely(pthread_mutex_trylock(&w->sched_mutex) == 0)) return;
    method_begin(a, "(taking its worker's mutex)");
    pthread_mutex_lock(&w->sched_mutex);
    orr_method_end();
}

static struct orr_task *user_pop(void *instance, struct orr_worker *w)
{
    struct adapted *a = instance;
    struct orr_ready_list misplaced = { NULL, NULL };
    lock_worker(a, w);
    struct orr_task *t = pop_locked(a, w, &misplaced);
    pthread_mutex_unlock(&w->sched_mutex);
    if (orr_unlikely(misplaced.head != NULL)) place_all(a, &misplaced);
    return t;
}

/* ---- notices ---- */

static void submit_hook(void *instance, struct orr_task *t)
{
    struct adapted *a = instance;
    t->pub->sched_ctx = t->sched_ctx;
    if (!a->user->submit_hook) return;
    bool outermost = enter(a);
    a->user->submit_hook(t->pub);
    leave(a, outermost);
}

static void user_push_notify(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct adapted *a = instance;
    t->pub->sched_ctx = t->sched_ctx;
    if (!a->user->push_task_notify) return;
    bool outermost = enter(a);
    /* for a combined worker it is called for each member, with the number under which models know all */
    int known_as = t->pub->execute_on_a_specific_worker ? (int)t->pub->workerid : w->id;
    a->user->push_task_notify(t->pub, w->id, known_as, a->ctx->id);
    leave(a, outermost);
}

static void user_pre_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct adapted *a = instance;
    (void)w;
    if (!a->user->pre_exec_hook) return;
    bool outermost = enter(a);
    a->user->pre_exec_hook(t->pub, a->ctx->id);
    leave(a, outermost);
}

static void user_post_exec(void *instance, struct orr_task *t, struct orr_worker *w)
{
    struct adapted *a = instance;
    (void)w;
    if (!a->user->post_exec_hook) return;
    bool outermost = enter(a);
    a->user->post_exec_hook(t->pub, a->ctx->id);
    leave(a, outermost);
}

static void user_do_schedule(void *instance)
{
    struct adapted *a = instance;
    if (!a->user->do_schedule) return;
    bool outermost = enter(a);
    method_begin(a, "do_schedule");
    a->user->do_schedule(a->ctx->id);
    orr_method_end();
    leave(a, outermost);
}

/* ---- life ---- */

static void *user_create(struct orr_ctx *ctx)
{
    struct orr_worker_thread *self = orr_worker_own();
    struct adapted *a = orr_calloc(1, sizeof *a);
    if (!a) return NULL;
    a->ctx = ctx;
    a->user = ctx->user;
    unsigned outer = self->sched_ctx; /* starpu_sched_set_min_priority and its like mean this context */
    self->sched_ctx = ctx->id;
    if (a->user->init_sched) a->user->init_sched(ctx->id);
    self->sched_ctx = outer;
    return a;
}

static void user_destroy(void *instance)
{
    struct adapted *a = instance;
    if (a->user->deinit_sched) a->user->deinit_sched(a->ctx->id);
    orr_free(a);
}

static int user_add_workers(void *instance, const int *workers, unsigned count)
{
    struct adapted *a = instance;
    change_begin(a);
    for (unsigned i = 0; i < count; i++) a->ctx->collection->add(a->ctx->collection, workers[i]);
    if (a->user->add_workers) a->user->add_workers(a->ctx->id, (int *)workers, count);
    int r = orr_tree_take_error(a->ctx->id);
    for (unsigned i = 0; r && i < count; i++) a->ctx->collection->remove(a->ctx->collection, workers[i]);
    change_end(a);
    return r;
}

/* Pops, in the place of a worker that leaves, what the policy keeps for it. */
static void drain(struct adapted *a, struct orr_worker *w, struct orr_ready_list *found)
{
    struct orr_worker *outer = orr_worker_become(w); /* starpu_worker_get_id says whose list */
    while (orr_load_acquire(&a->ctx->policy_holds) > 0) {
        struct orr_ready_list misplaced = { NULL, NULL };
        pthread_mutex_lock(&w->sched_mutex);
        struct orr_task *t = pop_locked(a, w, &misplaced);
        pthread_mutex_unlock(&w->sched_mutex);
        if (t) orr_ready_append(&misplaced, t);
        if (!misplaced.head) break;
        for (struct orr_task *next; (t = misplaced.head) != NULL; misplaced.head = next) {
            next = t->next;
            t->nimpl_valid = 0;
            orr_ready_append(found, t);
        }
    }
    orr_worker_become(outer);
}

/* Tasks of a worker that leaves go to the others; those of lists that it shares stay there while there are
 * others. */
static void user_remove_workers(void *instance, const int *workers, unsigned count)
{
    struct adapted *a = instance;
    struct orr_ready_list found = { NULL, NULL };
    change_begin(a);
    for (unsigned i = 0; i < count; i++) a->ctx->collection->remove(a->ctx->collection, workers[i]);
    for (unsigned i = 0; i < count; i++) {
        unsigned w = (unsigned)workers[i];
        bool shares = orr_load_relaxed(&a->ctx->shares[w / 32]) >> (w % 32) & 1;
        if (!shares || a->ctx->nworkers == 0) drain(a, &orr_workers[w], &found);
    }
    if (a->user->remove_workers) a->user->remove_workers(a->ctx->id, (int *)workers, count);
    change_end(a);
    for (struct orr_task *t = found.head, *next; t; t = next) {
        next = t->next;
        orr_task_hooks.push(t);
    }
}

const struct orr_policy_ops orr_user_policy = {
    .name = "user",
    .description = "a policy of the program's own",
    .flags = ORR_POLICY_USER,
    .create = user_create,
    .destroy = user_destroy,
    .add_workers = user_add_workers,
    .remove_workers = user_remove_workers,
    .push = user_push,
    .pop = user_pop,
    .pop_locked = pop_locked,
    .place = place,
    .submit_hook = submit_hook,
    .push_notify = user_push_notify,
    .pre_exec = user_pre_exec,
    .post_exec = user_post_exec,
    .do_schedule = user_do_schedule,
};
