/* SPDX-License-Identifier: BSD-3-Clause */
/* lend.c: the lender: who asks is answered, tasks are sent, and what they wrote is put into place.
 * Threads: questions and results come on whoever polls; a worker takes the tasks. Owns: loans of this rank's
 * tasks. Not here: running others' tasks (borrow.c), when to ask (hungry.c).
 *
 * Who asks is told at once that there is nothing, where no task waits for a worker. Else a worker that comes
 * by gives a share of the others (half, to a rank that is as fast): those that are back before what waits
 * here would be over. A question that was taken back waits for no worker. The values go from where they are,
 * and come back there, without a copy; the task keeps its accesses until then. If the borrower cannot run it,
 * it is ready again, its data as they were. */
#include "mpi/value/lend.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/interfaces/dense.h"
#include "core/mem/node.h"
#include "core/task/task.h"
#include "core/worker/worker.h"
#include "mpi/value/borrow.h"
#include "mpi/value/handle_payload.h"
#include "mpi/value/ownership.h"

enum {
    ARGS_MOST = 1 << 20,
    TRANSFER_FIRST_NS = 20000,
    BYTES_PER_NS = 5,
    LATELY = 4,
    FADES = 512,
    SLOWER_AT_ONCE = 4
};
static const double bytes_most = 256e6;

/* Bytes of values that go there, and that come back, and data for which nothing goes. */
struct volume {
    double out, back;
    uint32_t in_place;
};

struct loan {
    struct loan *next, *prev; /* of those that others have [lock: lend] */
    uint64_t asked_back_ns;   /* when last, or since_ns [lock: lend] */
    struct orr_request out, back;
    struct orr_waiter waiter;
    struct orr_lend *lend;
    struct orr_task *task;
    int peer;
    _Atomic int left; /* messages under way */
    uint64_t since_ns;
    double here_ns; /* what it would have taken here; 0: not known */
    struct volume volume;
    struct orr_loan_head *message; /* of message_bytes */
    size_t message_bytes;
    struct orr_loan_back result;
    struct value {
        struct orr_request request; /* there, and then back */
        struct loan *loan;
    } values[];
};

/* ---- which tasks ---- */

static size_t aligned(size_t bytes)
{
    return (bytes + ORR_LOAN_ALIGN - 1) / ORR_LOAN_ALIGN * ORR_LOAN_ALIGN;
}

struct asked {
    struct orr_lend *lend;
    struct orr_worker *worker;
    const struct orr_loan_ask *ask;
    double queued;   /* when the last task that waits here would be over, in lengths of tasks */
    double slowness; /* of peer */
    double here_ns;  /* of the task looked at, as what follows */
    struct volume volume;
    struct orr_stream_first codelet;
};

static void *home_interface(struct orr_data *h)
{
    return h->replicates[orr_node_home()].interface;
}

/* Whether peer uses it where it is. */
static bool is_shown(const struct orr_lend *l, int peer, const struct orr_payload *p)
{
    struct orr_transport *t = l->cluster->engine.transport;
    return p->bytes && t->ops->shows && t->ops->shows(t, peer, p->base, true);
}

static void add_volume(struct volume *v, int mode, bool in_place, double bytes)
{
    v->in_place += in_place;
    if (mode & STARPU_R && !in_place) v->out += bytes;
    if (mode & STARPU_W && !in_place) v->back += bytes;
}

/* A function may lengthen such data, up to there. */
static bool has_room_for_more(const struct orr_data *h, const void *interface)
{
    const struct orr_dense_kind *k = orr_dense_kinds[h->ops->interfaceid];
    struct orr_dense_view v;
    orr_dense_read(interface, &v);
    return k->allocsize && orr_dense_member(interface, k->allocsize) > orr_dense_bytes(&v);
}

/* Whether the value of datum i can be sent or shown to peer; adds what that takes. */
static bool may_send(const struct orr_lend *l, int peer, const struct starpu_task *p, unsigned i,
                     struct volume *v)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
    int mode = (int)STARPU_TASK_GET_MODE(p, i) & ORR_TASK_MODES;
    const struct orr_owned *o = orr_owned_of(h);
    struct orr_payload payload;
    if (!o || o->value != l->cluster->value || (mode & ~(int)STARPU_RW)) return false;
    if (!orr_handle_payload_dense(h, home_interface(h), &payload)) return false;
    if (orr_dense_kinds[h->ops->interfaceid]->by_pointer || h->ops->interface_size > ORR_LOAN_INTERFACE)
        return false;
    if (has_room_for_more(h, home_interface(h))) return false;
    bool in_place = is_shown(l, peer, &payload);
    add_volume(v, mode, in_place, (double)payload.bytes);
    return true;
}

static bool knows_not(struct orr_lend *l, const struct starpu_codelet *cl, int peer)
{
    bool found = false;
    orr_spin_lock(&l->lock);
    for (unsigned i = 0; i < ORR_LEND_UNKNOWN && !found; i++)
        found = l->unknown[i].cl == cl && l->unknown[i].peer == peer;
    orr_spin_unlock(&l->lock);
    return found;
}

/* What it takes to send so much, from recent loans. For more than those had a good speed is assumed, which
 * one loan corrects: what few bytes take is mostly not for their bytes. */
static double transfer_ns_locked(const struct orr_lend *l, double bytes)
{
    double ns = l->transfer_ns > 0 ? l->transfer_ns : TRANSFER_FIRST_NS, mean = l->transfer_bytes;
    return bytes > mean ? ns + (bytes - mean) / BYTES_PER_NS : ns;
}

static double transfer_ns(struct orr_lend *l, double bytes)
{
    orr_spin_lock(&l->lock);
    double ns = transfer_ns_locked(l, bytes);
    orr_spin_unlock(&l->lock);
    return ns;
}

/* What forbids loans is not corrected by them. */
static void fade(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    l->transfer_ns -= l->transfer_ns / FADES;
    orr_spin_unlock(&l->lock);
}

/* How long a loan keeps a worker here busy: mostly with values that go, and taking those that come back. What
 * is measured of transfers says nothing of that: it has the time until a worker comes by. */
static double effort_ns(const struct volume *v)
{
    enum { EFFORT_NS = 4000, VALUES_NS = 6000, TAKEN_BYTES_PER_NS = 4 };
    return EFFORT_NS + (v->out + v->back > 0 ? VALUES_NS : 0) + v->back / TAKEN_BYTES_PER_NS;
}

/* Whether it is over there, and back, before all that waits here would be, and saves half of its time here.
 */
static bool pays(struct asked *a, const struct orr_task *t)
{
    const struct volume *v = &a->volume;
    double ns = a->here_ns = orr_worker_recent_ns(a->worker, t->pub->cl),
           transfer = transfer_ns(a->lend, v->out + v->back);
    if (ns == 0) return true;
    if (a->slowness >= a->queued || effort_ns(v) * 2 > ns) return false;
    bool does = transfer < ns * (a->queued - a->slowness);
    if (!does) fade(a->lend);
    return does;
}

/* They would run on whoever takes what comes back, and which need not be a worker. */
static bool calls_back(const struct starpu_task *p)
{
    return p->callback_func || p->epilogue_callback_func || p->cl->callback_func;
}

static bool may_lend(struct orr_task *t, void *asked)
{
    struct asked *a = asked;
    const struct starpu_task *p = t->pub;
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    a->volume = (struct volume){ 0 };
    if (n == 0 || n > ORR_LOAN_DATA || n != t->naccesses || calls_back(p)) return false;
    if ((p->cl_arg && p->cl_arg_size == 0) || p->cl_arg_size > ARGS_MOST) return false;
    for (unsigned i = 0; i < n; i++)
        if (!may_send(a->lend, a->ask->peer, p, i, &a->volume)) return false;
    return a->volume.out + a->volume.back <= bytes_most && pays(a, t) &&
           !knows_not(a->lend, p->cl, a->ask->peer) &&
           orr_stream_codelet_first(a->lend->cluster->comm, p->cl, &a->codelet) &&
           a->codelet.position < a->ask->insertions;
}

/* ---- a loan ---- */

static struct orr_loan_datum *data_of(struct orr_loan_head *h)
{
    return (struct orr_loan_datum *)(h + 1);
}

/* Whether a message has its value, there (STARPU_R) or back (STARPU_W). */
static bool goes(const struct orr_loan_datum *d, int mode)
{
    return !d->at && d->mode & (uint32_t)mode;
}

/* Adds what it takes to send it, or show it: what is only written had no place before the task was taken. */
static void describe(struct orr_loan_datum *d, const struct asked *a, const struct starpu_task *p, unsigned i,
                     struct volume *volume)
{
    const void *interface = STARPU_TASK_GET_INTERFACES(p)[i];
    int mode = (int)STARPU_TASK_GET_MODE(p, i);
    struct orr_dense_view v;
    struct orr_payload payload;
    orr_dense_read(interface, &v);
    *d = (struct orr_loan_datum){ .interface = ((const struct orr_dense_head *)interface)->id,
                                  .elemsize = v.elemsize,
                                  .ndim = (uint32_t)v.ndim,
                                  .mode = (uint32_t)mode };
    d->base = orr_dense_base(orr_dense_kinds[d->interface], interface);
    for (size_t k = 0; k < v.ndim; k++) d->nn[k] = v.nn[k], d->ld[k] = v.ld[k];
    if (!orr_handle_payload_dense(STARPU_TASK_GET_HANDLE(p, i), interface, &payload)) return;
    bool in_place = is_shown(a->lend, a->ask->peer, &payload);
    if (in_place) d->at = (uintptr_t)payload.base;
    add_volume(volume, mode, in_place, (double)payload.bytes);
}

static void free_loan(struct loan *n)
{
    orr_free(n->message);
    orr_free(n);
}

/* The message for t; NULL: out of memory. */
static struct loan *make_loan(const struct asked *a, struct orr_task *t)
{
    const struct starpu_task *p = t->pub;
    uint32_t ndata = STARPU_TASK_GET_NBUFFERS(p);
    size_t args_bytes = p->cl_arg ? p->cl_arg_size : 0,
           args_at = aligned(sizeof(struct orr_loan_head) + ndata * sizeof(struct orr_loan_datum));
    struct loan *n = orr_calloc(1, sizeof *n + ndata * sizeof n->values[0]);
    if (!n) return NULL;
    n->message_bytes = args_at + args_bytes;
    n->message = orr_malloc_aligned(ORR_LOAN_ALIGN, n->message_bytes);
    if (!n->message) {
        orr_free(n);
        return NULL;
    }
    memset(n->message, 0, args_at);
    *n->message = (struct orr_loan_head){ .codelet = a->codelet,
                                          .args_at = args_at,
                                          .args_bytes = args_bytes,
                                          .ndata = ndata,
                                          .nimpl = t->nimpl,
                                          .priority = p->priority };
    orr_spin_lock(&a->lend->lock);
    n->message->id = a->lend->next_id++;
    orr_spin_unlock(&a->lend->lock);
    for (uint32_t i = 0; i < ndata; i++) describe(&data_of(n->message)[i], a, p, i, &n->volume);
    if (args_bytes) memcpy((char *)n->message + args_at, p->cl_arg, args_bytes);
    n->lend = a->lend;
    n->task = t;
    n->peer = a->ask->peer;
    n->here_ns = a->here_ns;
    return n;
}

/* One that takes much longer than was expected counts as somewhat longer: if it said that loans do not pay,
 * there would be none to show that it was alone. */
static double at_most(double now, double expected)
{
    return now < expected * SLOWER_AT_ONCE ? now : expected * SLOWER_AT_ONCE;
}

static void learn_locked(struct orr_lend *l, double ns, double bytes)
{
    bool first = l->transfer_ns == 0;
    ns = at_most(ns, transfer_ns_locked(l, bytes));
    l->transfer_ns += first ? ns : (ns - l->transfer_ns) / LATELY;
    l->transfer_bytes += first ? bytes : (bytes - l->transfer_bytes) / LATELY;
}

static void learn_slowness_locked(struct orr_lend *l, const struct loan *n, double body_ns)
{
    double *slowness = &l->slowness[n->peer],
           now = at_most(body_ns / n->here_ns, *slowness > 0 ? *slowness : 1);
    *slowness += *slowness == 0 ? now : (now - *slowness) / LATELY;
}

/* It is lent from now on. */
static void add_given(struct orr_lend *l, struct loan *n)
{
    n->asked_back_ns = n->since_ns;
    n->next = NULL;
    orr_spin_lock(&l->lock);
    n->prev = l->given_last;
    *(n->prev ? &n->prev->next : &l->given) = n;
    l->given_last = n;
    orr_spin_unlock(&l->lock);
}

static void remove_given_locked(struct orr_lend *l, struct loan *n)
{
    *(n->prev ? &n->prev->next : &l->given) = n->next;
    *(n->next ? &n->next->prev : &l->given_last) = n->prev;
}

static void note_result(struct loan *n, int status)
{
    struct orr_lend *l = n->lend;
    double took = (double)(orr_clock_ns() - n->since_ns);
    orr_spin_lock(&l->lock);
    remove_given_locked(l, n);
    l->counts.bytes += (uint64_t)n->volume.out + (status ? 0 : (uint64_t)n->volume.back);
    l->counts.undone += status != 0;
    l->counts.in_place += status ? 0 : n->volume.in_place;
    if (status == -ENODEV) {
        l->unknown[l->nunknown % ORR_LEND_UNKNOWN].cl = n->task->pub->cl;
        l->unknown[l->nunknown++ % ORR_LEND_UNKNOWN].peer = n->peer;
    }
    if (!status && n->here_ns > 0) learn_slowness_locked(l, n, (double)n->result.body_ns);
    if (!status && took > (double)n->result.held_ns)
        learn_locked(l, took - (double)n->result.held_ns, n->volume.out + n->volume.back);
    orr_spin_unlock(&l->lock);
}

/* What its function left beside values. */
static void take_end(struct loan *n)
{
    struct starpu_task *p = n->task->pub;
    p->failed = n->result.failed != 0;
    for (uint32_t i = 0; i < n->message->ndata; i++) {
        const struct orr_loan_datum *d = &data_of(n->message)[i];
        const uint64_t *nn = n->result.nn[i];
        if (d->mode & STARPU_W && memcmp(d->nn, nn, d->ndim * sizeof *nn))
            orr_dense_set_shape(STARPU_TASK_GET_INTERFACES(p)[i], nn);
    }
}

static void finish(struct loan *n, int status)
{
    struct orr_lend *l = n->lend;
    note_result(n, status);
    if (!status) take_end(n);
    (status ? orr_lend_refused : orr_lend_returned)(n->task);
    free_loan(n);
    orr_loan_over(l);
}

/* A message is over; after the last one next is called, by a thread that may call functions of the program.
 */
static void message_over(struct loan *n, void (*next)(struct orr_waiter *w))
{
    if (orr_sub_acq_rel(&n->left, 1) == 1 && !orr_waiter_put_off(&n->waiter, next)) next(&n->waiter);
}

static struct loan *loan_of(struct orr_waiter *w)
{
    return (struct loan *)((char *)w - offsetof(struct loan, waiter));
}

static void is_back(struct orr_waiter *w)
{
    struct loan *n = loan_of(w);
    int status = 0;
    for (uint32_t i = 0; i < n->message->ndata; i++)
        if (goes(&data_of(n->message)[i], STARPU_W) && !status) status = n->values[i].request.status;
    finish(n, status);
}

static void value_is_back(struct orr_request *r)
{
    message_over(((struct value *)r)->loan, is_back);
}

/* Moves the values of data that are read there, or of those that are written back: STARPU_R or _W. Each is
 * one message more of those under way. */
static void post_values(struct loan *n, int mode, void (*done)(struct orr_request *r))
{
    enum orr_request_kind kind = mode == STARPU_R ? ORR_SEND : ORR_RECV;
    int64_t way = mode == STARPU_R ? ORR_LOAN_TAG_VALUE : ORR_LOAN_TAG_RESULT;
    const struct starpu_task *p = n->task->pub;
    for (uint32_t i = 0; i < n->message->ndata; i++) {
        struct orr_payload payload;
        struct value *v = &n->values[i];
        if (!goes(&data_of(n->message)[i], mode)) continue;
        orr_handle_payload_dense(STARPU_TASK_GET_HANDLE(p, i), STARPU_TASK_GET_INTERFACES(p)[i], &payload);
        if (!payload.bytes) continue;
        v->loan = n;
        orr_request_init(&v->request);
        v->request.payload = payload;
        v->request.done = done;
        orr_add_relaxed(&n->left, 1);
        orr_loan_post(n->lend, &v->request, kind, n->peer, orr_loan_value_tag(way, n->message->id, i));
    }
}

/* All of it was sent, and it was run there, or could not be. */
static void was_run(struct orr_waiter *w)
{
    struct loan *n = loan_of(w);
    int status = n->out.status ? n->out.status : n->back.status;
    if (status) {
        finish(n, status);
        return;
    }
    struct orr_lend *l = n->lend;
    orr_store_relaxed(&n->left, 1);
    post_values(n, STARPU_W, value_is_back);
    message_over(n, is_back); /* n may be gone */
    orr_loan_move(l);
}

static void value_sent(struct orr_request *r)
{
    message_over(((struct value *)r)->loan, was_run);
}

static void sent(struct orr_request *r)
{
    message_over((struct loan *)((char *)r - offsetof(struct loan, out)), was_run);
}

static void came_back(struct orr_request *r)
{
    message_over((struct loan *)((char *)r - offsetof(struct loan, back)), was_run);
}

static void start(struct loan *n)
{
    struct orr_lend *l = n->lend;
    orr_store_relaxed(&n->left, 3);
    n->since_ns = orr_clock_ns();
    add_given(l, n);
    orr_request_init(&n->out);
    orr_request_init(&n->back);
    n->back.payload.base = &n->result;
    n->back.payload.bytes = orr_loan_back_bytes(n->message->ndata);
    n->back.done = came_back;
    n->out.payload.base = n->message;
    n->out.payload.bytes = n->message_bytes;
    n->out.done = sent;
    orr_loan_post(l, &n->back, ORR_RECV, n->peer, ORR_LOAN_TAG_BACK + (int64_t)n->message->id);
    orr_loan_post(l, &n->out, ORR_SEND, n->peer, ORR_LOAN_TAG_TASK);
    post_values(n, STARPU_R, value_sent);
    message_over(n, was_run); /* n may be gone */
    orr_loan_move(l);
}

/* In how many ns it is to be asked back if it has not begun: 0, now. With the lock. */
static uint64_t wanted_back_in_ns(const struct loan *n, uint64_t now_ns)
{
    enum { PATIENCE_NS = 20000000, LENGTHS = 4 };
    double patience_ns = n->here_ns * LENGTHS;
    uint64_t due_ns = n->asked_back_ns + (patience_ns > PATIENCE_NS ? (uint64_t)patience_ns : PATIENCE_NS);
    return due_ns > now_ns ? due_ns - now_ns : 0;
}

/* With the lock: who has what is to be asked back now, or -1; *again_ns: when the next is due. All that it
 * has counts as asked for. */
static int whom_to_ask_back(struct orr_lend *l, uint64_t now_ns, uint64_t *again_ns)
{
    int peer = -1;
    *again_ns = UINT64_MAX;
    for (struct loan *n = l->given; n; n = n->next) {
        if (peer < 0 && wanted_back_in_ns(n, now_ns) == 0) peer = n->peer;
        if (n->peer == peer) n->asked_back_ns = now_ns;
        uint64_t in_ns = wanted_back_in_ns(n, now_ns);
        if (in_ns < *again_ns) *again_ns = in_ns;
    }
    return peer;
}

uint64_t orr_lend_want_back(struct orr_lend *l)
{
    uint64_t again_ns;
    orr_spin_lock(&l->lock);
    int peer = whom_to_ask_back(l, orr_clock_ns(), &again_ns);
    orr_spin_unlock(&l->lock);
    if (peer >= 0 && orr_control_send(l->controls, peer, ORR_CONTROL_LEND_BACK, 0, 0, 0, NULL, 0))
        orr_progress_pass(&l->cluster->progress); /* else: in a while, once more */
    return again_ns;
}

/* ---- answers ---- */

/* Ready tasks that no worker has; *workers_out: who could take them. */
static uint32_t backlog_now(unsigned *workers_out)
{
    struct orr_lend_look look;
    orr_lend_look(&look, 0);
    if (workers_out) *workers_out = look.workers;
    return look.backlog;
}

/* Until there is a buffer for it: who asked waits. There is none any more when the program ended MPI. */
static void send_answer(struct orr_lend *l, int peer, const struct orr_loan_answer *a)
{
    enum { TRIES = 1 << 20 };
    for (int i = 0; i < TRIES; i++) {
        bool sent = orr_control_send(l->controls, peer, ORR_CONTROL_LENT, a->surplus, a->given, 0, NULL, 0);
        if (!orr_progress_pass(&l->cluster->progress) && !sent) sched_yield();
        if (sent) return;
    }
}

enum which { ANY_ASK, TAKEN_BACK };

/* The first of those, off the list. */
static bool next_ask(struct orr_lend *l, enum which which, struct orr_loan_ask *out)
{
    uint32_t i = 0;
    orr_spin_lock(&l->lock);
    while (which == TAKEN_BACK && i < l->nasks && l->asks[i].count > 0) i++;
    bool any = i < l->nasks;
    if (any) {
        *out = l->asks[i];
        memmove(l->asks + i, l->asks + i + 1, (--l->nasks - i) * sizeof *l->asks);
    }
    orr_spin_unlock(&l->lock);
    return any;
}

static void refuse(struct orr_lend *l, enum which which)
{
    struct orr_loan_ask ask;
    const struct orr_loan_answer nothing = { .surplus = backlog_now(NULL) };
    while (next_ask(l, which, &ask)) send_answer(l, ask.peer, &nothing);
}

static double slowness_of(struct orr_lend *l, int peer)
{
    orr_spin_lock(&l->lock);
    double slowness = l->slowness[peer];
    orr_spin_unlock(&l->lock);
    return slowness > 0 ? slowness : 1;
}

/* Of what the workers here do not begin at once, and what it has, a rank as fast gets half; a faster one
 * more, and of less. */
static uint32_t share(double slowness, uint32_t backlog, unsigned workers, uint32_t to_run)
{
    double surplus = (double)backlog - (slowness < 1 ? slowness : 1) * workers - slowness * to_run;
    double part = workers ? surplus / (1 + slowness) : 0;
    return part >= 1 ? (uint32_t)part : 0;
}

/* Takes as many tasks as there are for who asks; how many. */
static uint32_t take(struct orr_lend *l, struct orr_worker *w, const struct orr_loan_ask *ask,
                     struct loan *loans[ORR_LEND_AT_ONCE])
{
    unsigned workers;
    uint32_t backlog = backlog_now(&workers), n = 0, count = ask->count;
    struct asked a = { .lend = l, .worker = w, .ask = ask, .slowness = slowness_of(l, ask->peer) };
    uint32_t part = share(a.slowness, backlog, workers, ask->to_run);
    if (count > part) count = part;
    if (count > ORR_LEND_AT_ONCE) count = ORR_LEND_AT_ONCE;
    for (; n < count; n++) {
        a.queued = 1 + (double)(backlog - n) / workers;
        struct orr_task *t = orr_lend_take(w, may_lend, &a);
        if (!t) break;
        if ((loans[n] = make_loan(&a, t)) != NULL) continue;
        orr_lend_refused(t);
        break;
    }
    return n;
}

static void give(struct orr_lend *l, struct orr_worker *w, const struct orr_loan_ask *ask)
{
    struct loan *loans[ORR_LEND_AT_ONCE];
    struct orr_loan_answer a = { .given = take(l, w, ask, loans) };
    uint32_t n = a.given;
    a.surplus = backlog_now(NULL);
    orr_spin_lock(&l->lock);
    l->counts.lent += n;
    orr_spin_unlock(&l->lock);
    orr_add_seq(&l->open, (int64_t)n);
    send_answer(l, ask->peer, &a);
    for (uint32_t i = 0; i < n; i++) start(loans[i]);
}

/* A worker came by. */
static void serve(struct orr_lender *lender, struct orr_worker *w)
{
    struct orr_lend *l = (struct orr_lend *)lender;
    struct orr_loan_ask ask;
    while (next_ask(l, ANY_ASK, &ask)) give(l, w, &ask);
}

/* Outside of the engine: nothing to give, or a worker sees to it. */
static void answer(struct orr_waiter *w)
{
    struct orr_lend *l = (struct orr_lend *)((char *)w - offsetof(struct orr_lend, waiter));
    orr_spin_lock(&l->lock);
    l->answering = false;
    orr_spin_unlock(&l->lock);
    refuse(l, TAKEN_BACK);
    orr_spin_lock(&l->lock);
    bool any = l->nasks > 0;
    orr_spin_unlock(&l->lock);
    if (!any) return;
    if (orr_load_seq(&l->closing) || backlog_now(NULL) == 0 || !orr_lend_call(&l->lender)) refuse(l, ANY_ASK);
}

/* With the lock. False: there is no room, or what it takes back has been answered. */
static bool add_ask_locked(struct orr_lend *l, const struct orr_loan_ask *ask)
{
    uint32_t i = 0;
    while (i < l->nasks && l->asks[i].peer != ask->peer) i++;
    if (ask->count == 0 ? i == l->nasks : !l->asks || l->nasks == (uint32_t)l->cluster->size) return false;
    if (ask->count > 0) i = l->nasks++;
    l->asks[i] = *ask;
    return true;
}

/* LEND came. */
static void heard(void *lend, int source, const struct orr_wire_header *h, const void *none)
{
    struct orr_lend *l = lend;
    const struct orr_loan_ask ask = {
        .peer = source, .count = (uint32_t)h->id, .to_run = h->bulk_tag, .insertions = (uint64_t)h->tag
    };
    (void)none;
    orr_spin_lock(&l->lock);
    bool fits = add_ask_locked(l, &ask), first = fits && !l->answering;
    l->answering |= fits;
    orr_spin_unlock(&l->lock);
    if (first && !orr_waiter_put_off(&l->waiter, answer)) answer(&l->waiter);
}

/* ---- beginning and end ---- */

static void forget(struct orr_lend *l)
{
    orr_spin_lock(&l->lock); /* a rank that could not end with the others may still ask */
    void *asks = l->asks, *slowness = l->slowness, *wanted_back = l->wanted_back;
    l->asks = NULL;
    l->slowness = NULL;
    l->wanted_back = NULL;
    l->nasks = 0;
    orr_spin_unlock(&l->lock);
    orr_free(wanted_back);
    orr_free(slowness);
    orr_free(asks);
}

int orr_lend_begin(struct orr_lend *l, struct orr_cluster *cl, struct orr_controls *controls)
{
    *l = (struct orr_lend){ .lender.serve = serve, .cluster = cl, .controls = controls };
    l->asks = orr_calloc((size_t)cl->size, sizeof *l->asks);
    l->slowness = orr_calloc((size_t)cl->size, sizeof *l->slowness);
    l->wanted_back = orr_calloc((size_t)cl->size, sizeof *l->wanted_back);
    if (!l->asks || !l->slowness || !l->wanted_back) {
        forget(l);
        return -ENOMEM;
    }
    l->on = true;
    orr_control_listen(controls, ORR_CONTROL_LEND, ORR_CONTROL_LEND, heard, l);
    orr_progress_attend(&cl->progress, true);
    return 0;
}

static bool is_over(void *lend)
{
    struct orr_lend *l = lend;
    return orr_load_seq(&l->open) == 0;
}

void orr_lend_end(struct orr_lend *l)
{
    if (!l->on) return;
    orr_store_seq(&l->closing, true);
    orr_lend_recall(&l->lender);
    refuse(l, ANY_ASK); /* of a rank that does not end as it should */
    orr_progress_wait(&l->cluster->progress, is_over, l);
    l->on = false;
    orr_borrow_end(l);
    forget(l);
}
