/* SPDX-License-Identifier: BSD-3-Clause */
/* lend.c: the lender: who asks is answered, tasks are sent, and what they wrote is put into place.
 * Threads: questions and results come on whoever polls; a worker takes the tasks. Owns: loans of this rank's
 * tasks. Not here: running others' tasks (borrow.c), when to ask (hungry.c).
 *
 * Who asks is told at once that there is nothing, where no task waits for a worker. Else a worker that comes
 * by gives a share of the others (half, to a rank that is as fast): those that are back before what waits
 * here would be over. A loan is one message each way, with copies of the values; the task keeps its accesses
 * until the results are in place. If the borrower cannot run it, it is ready again. */
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
#include "mpi/value/handle_payload.h"
#include "mpi/value/ownership.h"

enum { ARGS_MOST = 1 << 20, TRANSFER_FIRST_NS = 100000, LATELY = 4 };
static const double bytes_most = 256e6;

struct loan {
    struct orr_request out; /* first */
    struct orr_request back;
    struct orr_waiter waiter;
    struct orr_lend *lend;
    struct orr_task *task;
    int peer;
    _Atomic int left; /* messages under way */
    uint64_t since_ns;
    double here_ns;                /* what it would have taken here; 0: not known */
    struct orr_loan_head *message; /* bytes to send */
    size_t bytes;
    char *results; /* of head.end - head.back_at bytes */
};

/* ---- which tasks ---- */

static size_t aligned(size_t bytes)
{
    return (bytes + ORR_LOAN_ALIGN - 1) / ORR_LOAN_ALIGN * ORR_LOAN_ALIGN;
}

struct asked {
    struct orr_lend *lend;
    struct orr_worker *worker;
    int peer;
    double queued;   /* when the last task that waits here would be over, in lengths of tasks */
    double slowness; /* of peer */
    double here_ns;
    struct orr_stream_first codelet;
};

static void *home_interface(struct orr_data *h)
{
    return h->replicates[orr_node_home()].interface;
}

/* Whether the value of datum i can be sent; adds its bytes, to and fro. */
static bool may_send(const struct orr_lend *l, const struct starpu_task *p, unsigned i, double *bytes)
{
    struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
    int mode = (int)STARPU_TASK_GET_MODE(p, i) & ORR_TASK_MODES;
    const struct orr_owned *o = orr_owned_of(h);
    struct orr_payload payload;
    if (!o || o->value != l->cluster->value || (mode & ~(int)STARPU_RW)) return false;
    if (!orr_handle_payload_dense(h, home_interface(h), &payload)) return false;
    if (orr_dense_kinds[h->ops->interfaceid]->by_pointer || h->ops->interface_size > ORR_LOAN_INTERFACE)
        return false;
    *bytes += (double)payload.bytes * (((mode & STARPU_R) != 0) + ((mode & STARPU_W) != 0));
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

/* What it takes to send so much, from recent loans. */
static double transfer_ns(struct orr_lend *l, double bytes)
{
    orr_spin_lock(&l->lock);
    double ns = l->transfer_ns, mean = l->transfer_bytes;
    orr_spin_unlock(&l->lock);
    if (ns == 0) return TRANSFER_FIRST_NS + bytes;
    return bytes > mean ? ns * bytes / mean : ns;
}

/* Whether it is over there, and back, before all that waits here would be. */
static bool pays(struct asked *a, const struct orr_task *t, double bytes)
{
    double ns = a->here_ns = orr_worker_recent_ns(a->worker, t->pub->cl);
    return ns == 0 || transfer_ns(a->lend, bytes) + ns * a->slowness < ns * a->queued;
}

static bool may_lend(struct orr_task *t, void *asked)
{
    struct asked *a = asked;
    const struct starpu_task *p = t->pub;
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    double bytes = 0;
    if (n == 0 || n > ORR_LOAN_DATA || n != t->naccesses) return false;
    if ((p->cl_arg && p->cl_arg_size == 0) || p->cl_arg_size > ARGS_MOST) return false;
    for (unsigned i = 0; i < n; i++)
        if (!may_send(a->lend, p, i, &bytes)) return false;
    return bytes <= bytes_most && pays(a, t, bytes) && !knows_not(a->lend, p->cl, a->peer) &&
           orr_stream_codelet_first(a->lend->cluster->comm, p->cl, &a->codelet);
}

/* ---- a loan ---- */

static struct orr_loan_datum *data_of(struct orr_loan_head *h)
{
    return (struct orr_loan_datum *)(h + 1);
}

/* Which values come together: those that are only read, changed, only written. */
static int section_of(const struct starpu_task *p, unsigned i)
{
    int mode = (int)STARPU_TASK_GET_MODE(p, i);
    return !(mode & STARPU_W) ? 0 : mode & STARPU_R ? 1 : 2;
}

static void describe(struct orr_loan_datum *d, const void *interface)
{
    struct orr_dense_view v;
    orr_dense_read(interface, &v);
    *d = (struct orr_loan_datum){ .interface = ((const struct orr_dense_head *)interface)->id,
                                  .elemsize = v.elemsize,
                                  .ndim = (uint32_t)v.ndim };
    for (size_t i = 0; i < v.ndim; i++) d->nn[i] = v.nn[i];
}

/* Says where everything will be. Returns how many bytes are sent. */
static size_t lay_out(struct orr_loan_head *h, struct orr_loan_datum *data, const struct starpu_task *p)
{
    size_t at = sizeof *h + h->ndata * sizeof *data, sent = 0;
    h->args_at = at = aligned(at);
    at = aligned(at + h->args_bytes);
    for (int section = 0; section < 3; section++) {
        if (section == 1) {
            h->back_at = at;
            at += sizeof(struct orr_loan_back);
        }
        for (unsigned i = 0; i < h->ndata; i++) {
            struct orr_payload payload;
            if (section_of(p, i) != section) continue;
            orr_handle_payload_dense(STARPU_TASK_GET_HANDLE(p, i), STARPU_TASK_GET_INTERFACES(p)[i],
                                     &payload);
            data[i].at = at;
            at = aligned(at + payload.bytes);
        }
        if (section < 2) sent = at;
    }
    h->end = at;
    return sent;
}

static void free_loan(struct loan *n)
{
    orr_free(n->results);
    orr_free(n->message);
    orr_free(n);
}

static void fill(struct loan *n, const struct orr_loan_head *h, const struct orr_loan_datum *data)
{
    const struct starpu_task *p = n->task->pub;
    char *bytes = (char *)n->message;
    memset(bytes, 0, h->args_at);
    *n->message = *h;
    memcpy(data_of(n->message), data, h->ndata * sizeof *data);
    if (h->args_bytes) memcpy(bytes + h->args_at, p->cl_arg, h->args_bytes);
    for (unsigned i = 0; i < h->ndata; i++) {
        struct orr_payload payload;
        if (section_of(p, i) == 2) continue;
        orr_handle_payload_dense(STARPU_TASK_GET_HANDLE(p, i), STARPU_TASK_GET_INTERFACES(p)[i], &payload);
        if (payload.bytes) orr_payload_gather(&payload, bytes + data[i].at);
    }
}

/* The message for t, with copies of what it reads; NULL: out of memory. */
static struct loan *make_loan(const struct asked *a, struct orr_task *t)
{
    const struct starpu_task *p = t->pub;
    struct orr_loan_datum data[ORR_LOAN_DATA];
    struct orr_loan_head h = { .codelet = a->codelet,
                               .args_bytes = p->cl_arg ? p->cl_arg_size : 0,
                               .ndata = STARPU_TASK_GET_NBUFFERS(p),
                               .nimpl = t->nimpl,
                               .priority = p->priority };
    struct loan *n = orr_calloc(1, sizeof *n);
    if (!n) return NULL;
    for (unsigned i = 0; i < h.ndata; i++) describe(&data[i], STARPU_TASK_GET_INTERFACES(p)[i]);
    n->bytes = lay_out(&h, data, p);
    n->message = orr_malloc_aligned(ORR_LOAN_ALIGN, n->bytes);
    n->results = orr_malloc_aligned(ORR_LOAN_ALIGN, h.end - h.back_at);
    if (!n->message || !n->results) {
        free_loan(n);
        return NULL;
    }
    orr_spin_lock(&a->lend->lock);
    h.id = a->lend->next_id++;
    orr_spin_unlock(&a->lend->lock);
    n->lend = a->lend;
    n->task = t;
    n->peer = a->peer;
    n->here_ns = a->here_ns;
    fill(n, &h, data);
    return n;
}

/* ---- it comes back ---- */

static void put_into_place(struct loan *n)
{
    const struct starpu_task *p = n->task->pub;
    const struct orr_loan_head *h = n->message;
    for (unsigned i = 0; i < h->ndata; i++) {
        struct orr_payload payload;
        if (section_of(p, i) == 0) continue;
        orr_handle_payload_dense(STARPU_TASK_GET_HANDLE(p, i), STARPU_TASK_GET_INTERFACES(p)[i], &payload);
        if (payload.bytes)
            orr_payload_scatter(&payload, n->results + (data_of(n->message)[i].at - h->back_at));
    }
}

static void learn_locked(struct orr_lend *l, double ns, double bytes)
{
    bool first = l->transfer_ns == 0;
    l->transfer_ns += first ? ns : (ns - l->transfer_ns) / LATELY;
    l->transfer_bytes += first ? bytes : (bytes - l->transfer_bytes) / LATELY;
}

static void learn_slowness_locked(struct orr_lend *l, const struct loan *n, double body_ns)
{
    double *slowness = &l->slowness[n->peer], now = body_ns / n->here_ns;
    *slowness += *slowness == 0 ? now : (now - *slowness) / LATELY;
}

static void note_result(struct loan *n, int status)
{
    struct orr_lend *l = n->lend;
    const struct orr_loan_head *h = n->message;
    const struct orr_loan_back *back = (const struct orr_loan_back *)n->results;
    double bytes = (double)(n->bytes + h->end - h->back_at), took = (double)(orr_clock_ns() - n->since_ns);
    orr_spin_lock(&l->lock);
    l->counts.bytes += n->bytes + (status ? 0 : h->end - h->back_at);
    l->counts.undone += status != 0;
    if (status == -ENODEV) {
        l->unknown[l->nunknown % ORR_LEND_UNKNOWN].cl = n->task->pub->cl;
        l->unknown[l->nunknown++ % ORR_LEND_UNKNOWN].peer = n->peer;
    }
    if (!status && n->here_ns > 0) learn_slowness_locked(l, n, (double)back->body_ns);
    if (!status && took > (double)back->held_ns) learn_locked(l, took - (double)back->held_ns, bytes);
    orr_spin_unlock(&l->lock);
}

/* Both messages are over. By a thread that may call functions of the program. */
static void finish(struct orr_waiter *w)
{
    struct loan *n = (struct loan *)((char *)w - offsetof(struct loan, waiter));
    struct orr_lend *l = n->lend;
    int status = n->out.status ? n->out.status : n->back.status;
    note_result(n, status);
    if (!status) put_into_place(n);
    (status ? orr_lend_refused : orr_lend_returned)(n->task);
    free_loan(n);
    orr_loan_over(l);
}

static void message_over(struct loan *n)
{
    if (orr_sub_acq_rel(&n->left, 1) == 1 && !orr_waiter_put_off(&n->waiter, finish)) finish(&n->waiter);
}

static void sent(struct orr_request *r)
{
    message_over((struct loan *)r);
}

static void received(struct orr_request *r)
{
    message_over((struct loan *)((char *)r - offsetof(struct loan, back)));
}

static void start(struct loan *n)
{
    struct orr_lend *l = n->lend;
    const struct orr_loan_head *h = n->message;
    int64_t id = (int64_t)h->id;
    orr_store_relaxed(&n->left, 2);
    n->since_ns = orr_clock_ns();
    orr_request_init(&n->out);
    orr_request_init(&n->back);
    orr_loan_post(l, &n->back, ORR_RECV, n->peer, ORR_LOAN_TAG_BACK + id, n->results, h->end - h->back_at,
                  received);
    orr_loan_post(l, &n->out, ORR_SEND, n->peer, ORR_LOAN_TAG_TASK, n->message, n->bytes, sent);
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
        bool sent = orr_control_send(l->controls, peer, ORR_CONTROL_LENT, a->surplus, a->given, 0, a->room,
                                     sizeof a->room);
        if (!orr_progress_pass(&l->cluster->progress) && !sent) sched_yield();
        if (sent) return;
    }
}

static bool next_ask(struct orr_lend *l, int *peer_out, uint32_t *count_out)
{
    orr_spin_lock(&l->lock);
    bool any = l->nasks > 0;
    if (any) {
        *peer_out = l->asks[0].peer;
        *count_out = l->asks[0].count;
        memmove(l->asks, l->asks + 1, --l->nasks * sizeof *l->asks);
    }
    orr_spin_unlock(&l->lock);
    return any;
}

static void refuse_all(struct orr_lend *l)
{
    int peer;
    uint32_t count;
    const struct orr_loan_answer nothing = { .surplus = backlog_now(NULL) };
    while (next_ask(l, &peer, &count)) send_answer(l, peer, &nothing);
}

static double slowness_of(struct orr_lend *l, int peer)
{
    orr_spin_lock(&l->lock);
    double slowness = l->slowness[peer];
    orr_spin_unlock(&l->lock);
    return slowness > 0 ? slowness : 1;
}

/* Of what the workers here do not begin at once, a rank as fast gets half; a faster one more, and of less. */
static uint32_t share(double slowness, uint32_t backlog, unsigned workers)
{
    double surplus = (double)backlog - (slowness < 1 ? slowness : 1) * workers;
    double part = workers ? surplus / (1 + slowness) : 0;
    return part >= 1 ? (uint32_t)part : 0;
}

/* Takes up to count tasks for peer; how many. */
static uint32_t take(struct orr_lend *l, struct orr_worker *w, int peer, uint32_t count,
                     struct loan *loans[ORR_LEND_AT_ONCE])
{
    unsigned workers;
    uint32_t backlog = backlog_now(&workers), n = 0;
    struct asked a = { .lend = l, .worker = w, .peer = peer, .slowness = slowness_of(l, peer) };
    uint32_t part = share(a.slowness, backlog, workers);
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

static void give(struct orr_lend *l, struct orr_worker *w, int peer, uint32_t count)
{
    struct loan *loans[ORR_LEND_AT_ONCE];
    struct orr_loan_answer a = { .given = take(l, w, peer, count, loans) };
    uint32_t n = a.given;
    for (uint32_t i = 0; i < n; i++) a.room[i] = loans[i]->message->end;
    a.surplus = backlog_now(NULL);
    orr_spin_lock(&l->lock);
    l->counts.lent += n;
    orr_spin_unlock(&l->lock);
    orr_add_seq(&l->open, (int64_t)n);
    send_answer(l, peer, &a);
    for (uint32_t i = 0; i < n; i++) start(loans[i]);
}

/* A worker came by. */
static void serve(struct orr_lender *lender, struct orr_worker *w)
{
    struct orr_lend *l = (struct orr_lend *)lender;
    int peer;
    uint32_t count;
    while (next_ask(l, &peer, &count)) give(l, w, peer, count);
}

/* Outside of the engine: nothing to give, or a worker sees to it. */
static void answer(struct orr_waiter *w)
{
    struct orr_lend *l = (struct orr_lend *)((char *)w - offsetof(struct orr_lend, waiter));
    orr_spin_lock(&l->lock);
    l->answering = false;
    orr_spin_unlock(&l->lock);
    if (orr_load_seq(&l->closing) || backlog_now(NULL) == 0 || !orr_lend_call(&l->lender)) refuse_all(l);
}

/* ASK came. */
static void heard(void *lend, int source, const struct orr_wire_header *h, const void *none)
{
    struct orr_lend *l = lend;
    (void)none;
    orr_spin_lock(&l->lock);
    bool first = !l->answering, fits = l->asks && l->nasks < (uint32_t)l->cluster->size;
    if (fits) {
        l->asks[l->nasks].peer = source;
        l->asks[l->nasks++].count = (uint32_t)h->id;
        l->answering = true;
    }
    orr_spin_unlock(&l->lock);
    if (fits && first && !orr_waiter_put_off(&l->waiter, answer)) answer(&l->waiter);
}

/* ---- beginning and end ---- */

static void forget(struct orr_lend *l)
{
    orr_spin_lock(&l->lock); /* a rank that could not end with the others may still ask */
    void *asks = l->asks, *slowness = l->slowness;
    l->asks = NULL;
    l->slowness = NULL;
    l->nasks = 0;
    orr_spin_unlock(&l->lock);
    orr_free(slowness);
    orr_free(asks);
}

int orr_lend_begin(struct orr_lend *l, struct orr_cluster *cl, struct orr_controls *controls)
{
    *l = (struct orr_lend){ .lender.serve = serve, .cluster = cl, .controls = controls };
    l->asks = orr_calloc((size_t)cl->size, sizeof *l->asks);
    l->slowness = orr_calloc((size_t)cl->size, sizeof *l->slowness);
    if (!l->asks || !l->slowness) {
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
    refuse_all(l); /* of a rank that does not end as it should */
    orr_progress_wait(&l->cluster->progress, is_over, l);
    l->on = false;
    forget(l);
}
