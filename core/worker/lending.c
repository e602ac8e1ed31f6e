/* SPDX-License-Identifier: BSD-3-Clause */
/* lending.c: see lending.h.
 * Threads: see lending.h. Owns: the list of who waits. Not here: see lending.h.
 *
 * Who wants to lend raises orr_parking.attention, which workers read between tasks anyway: so nothing is
 * added to their way while nobody lends. A worker that sleeps is woken for it (must_leave in park.c). */
#include "core/worker/lending.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/clock.h"
#include "core/worker/inputs.h"
#include "core/worker/park.h"
#include "core/worker/policy.h"
#include "core/worker/tell.h"
#include "core/worker/wait.h"

enum { SKIPPED_MOST = 4 };

static struct {
    ORR_SPIN(lenders) lock; /* protects list; leaf */
    struct orr_lender *list;
    _Atomic uint32_t serving; /* workers inside of a serve */
} lenders;

/* Whether w pops for the main context, from a policy of ours. */
static bool can_serve(const struct orr_worker *w)
{
    return w->direct && !(orr_contexts[0].policy->flags & ORR_POLICY_USER) &&
           orr_ctx_has(&orr_contexts[0], (unsigned)w->id);
}

static struct orr_worker *first_who_can(unsigned *count_out)
{
    struct orr_worker *first = NULL;
    *count_out = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        if (!can_serve(&orr_workers[i])) continue;
        if (!first) first = &orr_workers[i];
        ++*count_out;
    }
    return first;
}

/* How many tasks wait in the policy of the main context; w: one who can serve, or NULL. */
static uint32_t backlog(struct orr_worker *w)
{
    struct orr_ctx *ctx = &orr_contexts[0];
    return w && ctx->policy->backlog ? ctx->policy->backlog(ctx->instance, w) : 0;
}

/* How long it has been idle by now: all of one moment, though the caller may be held up anywhere in here. */
static uint64_t idle_in_all_ns(const struct orr_worker *w)
{
    uint64_t account, ns;
    do {
        account = orr_load_acquire(&w->idle_account);
        ns = account & 1 ? orr_clock_ns() - account / 2 : account / 2;
    } while (account != orr_load_relaxed(&w->idle_account));
    return ns;
}

void orr_lend_look(struct orr_lend_look *out, uint64_t longer_than_ns)
{
    uint64_t now_ns = orr_clock_ns();
    *out = (struct orr_lend_look){ .now_ns = now_ns, .pauses = orr_load_seq(&orr_parking.pause_epoch) };
    out->backlog = backlog(first_who_can(&out->workers));
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        if (!can_serve(w)) continue;
        uint64_t began_ns = orr_load_acquire(&w->idle_since_ns);
        out->run += orr_load_relaxed(&w->tasks_run);
        uint64_t idle_ns = began_ns != 0 && now_ns > began_ns ? now_ns - began_ns : 0;
        out->idle_all_ns += idle_in_all_ns(w);
        out->idle += began_ns != 0;
        out->hungry += idle_ns > longer_than_ns;
        if (idle_ns > out->idle_ns) out->idle_ns = idle_ns;
    }
    if (orr_load_seq(&orr_parking.paused)) out->workers = out->idle = out->hungry = 0;
}

/* ---- who is told of idle workers ---- */

_Atomic(struct orr_idle_listener *) orr_idle_listener;
static struct {
    _Atomic uint64_t after_ns, again_ns; /* the terms */
    _Atomic uint64_t told_ns;            /* when a worker last said so */
    _Atomic int teller;                  /* which one */
    _Atomic uint32_t telling;            /* who may be in the listener */
} idle;

void orr_idle_change(struct orr_idle_terms terms)
{
    orr_store_relaxed(&idle.after_ns, terms.after_ns);
    orr_store_relaxed(&idle.again_ns, terms.again_ns);
}

void orr_idle_listen(struct orr_idle_listener *l, struct orr_idle_terms terms)
{
    orr_idle_change(terms);
    orr_store_relaxed(&idle.told_ns, 0);
    orr_store_seq(&orr_idle_listener, l); /* pairs with enter_listener */
    orr_wake_all();                       /* who sleeps may do so for good */
}

void orr_idle_unlisten(void)
{
    orr_store_seq(&orr_idle_listener, NULL); /* pairs with enter_listener */
    while (orr_load_seq(&idle.telling) > 0) sched_yield();
}

static struct orr_idle_listener *enter_listener(void)
{
    orr_add_seq(&idle.telling, 1u);
    return orr_load_seq(&orr_idle_listener);
}

static void leave_listener(void)
{
    orr_sub_seq(&idle.telling, 1u);
}

/* When w is to say that it is idle, if that was last said at told_ns; 0: never. Who said so goes on; another
 * does when that one must have turned to work. */
static uint64_t say_at_ns(const struct orr_worker *w, uint64_t told_ns)
{
    enum { MOMENT_NS = 1000000 };
    uint64_t since_ns = orr_load_relaxed(&w->idle_since_ns), again_ns = orr_load_relaxed(&idle.again_ns);
    if (since_ns == 0 || !can_serve(w)) return 0;
    if (since_ns > told_ns) return since_ns + orr_load_relaxed(&idle.after_ns);
    bool went_on = orr_load_relaxed(&idle.teller) == w->id;
    return told_ns + again_ns + (went_on ? 0 : MOMENT_NS);
}

int64_t orr_idle_due_slow(const struct orr_worker *w)
{
    uint64_t at_ns = say_at_ns(w, orr_load_acquire(&idle.told_ns));
    if (at_ns == 0) return -1;
    uint64_t now_ns = orr_clock_ns();
    return at_ns > now_ns ? (int64_t)(at_ns - now_ns) : 0;
}

/* Whether w is to say so now, and nobody else does. */
static bool takes_its_turn(const struct orr_worker *w, bool *again_out)
{
    uint64_t told_ns = orr_load_acquire(&idle.told_ns), at_ns = say_at_ns(w, told_ns);
    if (at_ns == 0) return false;
    uint64_t now_ns = orr_clock_ns();
    if (now_ns < at_ns || !orr_cas_seq(&idle.told_ns, &told_ns, now_ns)) return false;
    *again_out = orr_load_relaxed(&w->idle_since_ns) <= told_ns;
    orr_store_relaxed(&idle.teller, w->id);
    return true;
}

void orr_idle_began(struct orr_worker *w, uint64_t now_ns)
{
    uint64_t account = orr_load_relaxed(&w->idle_account);
    if (!(account & 1)) orr_store_relaxed(&w->idle_account, (now_ns - account / 2) << 1 | 1);
}

void orr_idle_say_slow(struct orr_worker *w)
{
    bool again;
    if (!(orr_load_relaxed(&w->idle_account) & 1))
        orr_idle_began(w, orr_clock_ns()); /* before one listened */
    if (!takes_its_turn(w, &again)) return;
    struct orr_idle_listener *l = enter_listener();
    if (l) l->idle(l, again);
    leave_listener();
}

void orr_idle_ended(struct orr_worker *w)
{
    uint64_t account = orr_load_relaxed(&w->idle_account);
    if (account & 1) orr_store_relaxed(&w->idle_account, (orr_clock_ns() - account / 2) << 1);
}

void orr_idle_paused(void)
{
    struct orr_idle_listener *l = enter_listener();
    if (l) l->paused(l);
    leave_listener();
}

void orr_idle_left(void)
{
    unsigned count;
    if (orr_unlikely(orr_load_relaxed(&orr_idle_listener) != NULL) && !first_who_can(&count))
        orr_idle_paused();
}

/* ---- calling a worker ---- */

bool orr_lend_call(struct orr_lender *l)
{
    unsigned workers;
    struct orr_worker *w = first_who_can(&workers);
    if (!w || orr_load_seq(&orr_parking.paused)) return false;
    orr_spin_lock(&lenders.lock);
    bool waited = l->waits;
    if (!waited) {
        l->waits = true;
        l->next = lenders.list;
        lenders.list = l;
        orr_add_seq(&orr_parking.lenders, 1); /* before who is parked is read: pairs with must_leave */
        orr_add_seq(&orr_parking.attention, 1);
    }
    orr_spin_unlock(&lenders.lock);
    if (!waited) orr_wake_worker(w);
    return true;
}

/* With the lock held: l waits no more. */
static void forget_locked(struct orr_lender *l)
{
    l->waits = false;
    orr_sub_seq(&orr_parking.lenders, 1);
    orr_sub_seq(&orr_parking.attention, 1);
}

void orr_lend_recall(struct orr_lender *l)
{
    orr_spin_lock(&lenders.lock);
    struct orr_lender **p = &lenders.list;
    while (*p && *p != l) p = &(*p)->next;
    if (*p) {
        *p = l->next;
        forget_locked(l);
    }
    orr_spin_unlock(&lenders.lock);
    while (orr_load_seq(&lenders.serving) > 0) sched_yield();
}

static struct orr_lender *next_lender(void)
{
    orr_spin_lock(&lenders.lock);
    struct orr_lender *l = lenders.list;
    if (l) {
        lenders.list = l->next;
        forget_locked(l);
        orr_add_seq(&lenders.serving, 1);
    }
    orr_spin_unlock(&lenders.lock);
    return l;
}

void orr_lend_serve(struct orr_worker *w)
{
    if (!w->direct) return;
    for (struct orr_lender *l; (l = next_lender()) != NULL;) {
        l->serve(l, w);
        orr_sub_seq(&lenders.serving, 1);
    }
}

/* ---- a task ---- */

/* What only this process can run, or what its runtime has to know more of. */
static bool is_ordinary(const struct orr_task *t)
{
    static const uint32_t not_flags = ORR_TF_INTERNAL | ORR_TF_NO_QUEUE | ORR_TF_REDUX | ORR_TF_TEAM |
                                      ORR_TF_PART | ORR_TF_LISTED | ORR_TF_NODES | ORR_TF_TRIED;
    const struct starpu_task *p = t->pub;
    return (t->flags & ORR_TF_PLAIN) && !(t->flags & not_flags) && t->sched_ctx == 0 &&
           p->cl->type == STARPU_SEQ && !p->cl->can_execute && !p->workerids_len && !p->cl->specific_nodes &&
           !p->execute_on_a_specific_worker && p->cl->cpu_funcs[0];
}

/* Back to the policy, as after orr_task_did_not_run. */
static void make_ready(struct orr_task *t)
{
    t->nimpl_valid = 0;
    t->worker = -1;
    t->pub->status = STARPU_TASK_READY;
    orr_store_relaxed(&t->state, ORR_TASK_READY);
    orr_task_hooks.push(t);
}

/* It begins on w, as far as anybody can see, and its body is never told of. */
static bool begin(struct orr_worker *w, struct orr_task *t)
{
    orr_worker_begin(w, t);
    if (orr_worker_observes(t)) {
        orr_tell_popped(t, w);
        orr_worker_popped(w, t);
        orr_worker_gave_up(w, t, false);
    }
    if (orr_fetch_inputs_to_keep(w, t) == 0) return true;
    orr_lend_refused(t); /* who runs it finds why */
    return false;
}

struct orr_task *orr_lend_take(struct orr_worker *w, bool (*may)(struct orr_task *t, void *arg), void *arg)
{
    struct orr_task *skipped[SKIPPED_MOST], *t = NULL;
    unsigned n = 0;
    if (!can_serve(w) || w->ctx != &orr_contexts[0]) return NULL;
    while (n < SKIPPED_MOST && (t = w->ctx->policy->pop(w->ctx->instance, w)) != NULL) {
        if (is_ordinary(t) && may(t, arg)) break;
        skipped[n++] = t;
        t = NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        skipped[i]->nimpl_valid = 0;
        orr_task_hooks.push(skipped[i]);
    }
    return t && begin(w, t) ? t : NULL;
}

void orr_lend_returned(struct orr_task *t)
{
    if (t->flags & ORR_TF_FETCHED) {
        orr_task_inputs_done(&orr_workers[t->worker], t);
        t->flags &= ~(uint32_t)ORR_TF_FETCHED;
    }
    if (orr_task_body_done(t)) orr_task_complete(t);
}

void orr_lend_refused(struct orr_task *t)
{
    struct orr_worker *w = &orr_workers[t->worker];
    orr_task_inputs_undo(w, t, false);
    t->flags |= ORR_TF_UNCOUNTED; /* it was, for w, whose count others must not write */
    make_ready(t);
}

/* ---- guests ---- */

/* A worker that has nothing to do, and no guest yet; else the only one; or NULL. */
static struct orr_worker *host(struct orr_worker *first, unsigned count)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        if (can_serve(w) && orr_load_acquire(&w->local_count) == 0 && orr_load_relaxed(&w->idle_shown))
            return w;
    }
    return count == 1 ? first : NULL;
}

/* Whose task it is waits for it: it goes before what has become ready here since it was asked for. */
int orr_guest_submit(struct starpu_task *t)
{
    unsigned count;
    struct orr_worker *first = first_who_can(&count);
    if (!first || orr_load_seq(&orr_parking.paused)) return -EBUSY;
    const struct orr_worker *w = host(first, count);
    if (w) {
        t->execute_on_a_specific_worker = 1;
        t->workerid = (unsigned)w->id;
    }
    int r = orr_task_submit(t, ORR_TF_INTERNAL);
    if (r) return r;
    orr_guest_counted();
    orr_wait_check(); /* somebody may have counted it as the program's */
    return 0;
}

/* A worker that goes from the program's last task to a guest does not rest in between. */
void orr_guest_begins(void)
{
    orr_wait_check();
}

void orr_guest_is_over(void)
{
    orr_guest_ends();
}
