/* SPDX-License-Identifier: BSD-3-Clause */
/* borrow.c: the borrower: asks one rank, runs the tasks that it gets, and sends back what they wrote.
 * Threads: answers and tasks come on whoever polls; bodies run on workers. Owns: tasks of others that are
 * here. Not here: giving (lend.c), when to ask (hungry.c).
 *
 * A task is run by one of this rank's own without data: its body gives the codelet's function interfaces like
 * those at home, of values that were received apart, or that are seen where the lender has them. */
#include "mpi/value/borrow.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/interfaces/dense.h"
#include "core/mem/arena.h"
#include "core/task/task.h"

/* Any dense one whose sizes it has itself. */
union interface {
    struct orr_dense_head head;
    char room[ORR_LOAN_INTERFACE];
};

struct value {
    struct orr_request request; /* first: it comes, and goes back */
    struct orr_borrowed *borrowed;
    void *bytes;
};

struct orr_borrowed {
    struct orr_request request; /* first: the task comes, and its end is told */
    struct orr_waiter waiter;
    struct orr_lend *lend;
    struct orr_borrowed *next;
    int peer;
    _Atomic int left; /* messages under way */
    uint64_t since_ns;
    struct orr_loan_back back;
    struct orr_loan_head *message;
    starpu_cpu_func_t function;
    const char *name; /* of its codelet */
    void *interfaces[ORR_LOAN_DATA];
    enum starpu_data_access_mode modes[ORR_LOAN_DATA];
    union interface interface[ORR_LOAN_DATA];
    struct value values[ORR_LOAN_DATA];
};

static const struct orr_loan_datum *data_of(const struct orr_borrowed *b)
{
    return (const struct orr_loan_datum *)(b->message + 1);
}

/* As many as there can be, where it is no sound one. */
static size_t bytes_of(const struct orr_loan_datum *d)
{
    unsigned __int128 bytes = d->elemsize;
    for (uint32_t i = 0; i < d->ndim && i < ORR_LOAN_DIMS && bytes <= SIZE_MAX; i++) bytes *= d->nn[i];
    return bytes <= SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* Whether a message has its value, here (STARPU_R) or back (STARPU_W). */
static bool goes(const struct orr_loan_datum *d, unsigned mode)
{
    return !d->at && d->mode & mode && bytes_of(d) > 0;
}

/* ---- records ---- */

/* They are large, and tasks come one after another. */
enum { KEPT_MOST = 2 * ORR_LEND_AT_ONCE };

static struct orr_borrowed *new_record(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    struct orr_borrowed *b = l->kept;
    if (b) {
        l->kept = b->next;
        l->nkept--;
    }
    orr_spin_unlock(&l->lock);
    if (b) memset(b, 0, sizeof *b);
    return b ? b : orr_calloc(1, sizeof *b);
}

static void free_record(struct orr_lend *l, struct orr_borrowed *b)
{
    orr_spin_lock(&l->lock);
    bool keeps = l->nkept < KEPT_MOST;
    if (keeps) {
        b->next = l->kept;
        l->kept = b;
        l->nkept++;
    }
    orr_spin_unlock(&l->lock);
    if (!keeps) orr_free(b);
}

void orr_borrow_end(struct orr_lend *l)
{
    for (struct orr_borrowed *b = l->kept, *next; b; b = next) {
        next = b->next;
        orr_free(b);
    }
    l->kept = NULL;
    l->nkept = 0;
}

/* ---- back ---- */

static void is_not_to_run(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    l->to_run--;
    orr_spin_unlock(&l->lock);
}

static void forget(struct orr_borrowed *b)
{
    struct orr_lend *l = b->lend;
    orr_spin_lock(&l->lock);
    l->borrowed--;
    orr_spin_unlock(&l->lock);
    for (uint32_t i = 0; i < ORR_LOAN_DATA; i++) orr_shared_free(b->values[i].bytes);
    orr_free(b->message);
    free_record(l, b);
    orr_loan_over(l);
}

static void message_over(struct orr_borrowed *b)
{
    if (orr_sub_acq_rel(&b->left, 1) == 1) forget(b);
}

static void end_told(struct orr_request *r)
{
    message_over((struct orr_borrowed *)r);
}

static void value_returned(struct orr_request *r)
{
    message_over(((struct value *)r)->borrowed);
}

static void return_values(struct orr_borrowed *b)
{
    for (uint32_t i = 0; i < b->message->ndata; i++) {
        const struct orr_loan_datum *d = &data_of(b)[i];
        struct value *v = &b->values[i];
        if (!goes(d, STARPU_W)) continue;
        memset(&v->request, 0, sizeof v->request);
        orr_request_init(&v->request);
        v->request.payload.base = v->bytes;
        v->request.payload.bytes = bytes_of(d);
        v->request.done = value_returned;
        orr_add_relaxed(&b->left, 1);
        orr_loan_post(b->lend, &v->request, ORR_SEND, b->peer,
                      orr_loan_value_tag(ORR_LOAN_TAG_RESULT, b->message->id, i));
    }
}

/* What its function left beside values. */
static void describe_end(struct orr_borrowed *b)
{
    b->back.held_ns = orr_clock_ns() - b->since_ns;
    for (uint32_t i = 0; i < b->message->ndata; i++) {
        struct orr_dense_view v;
        orr_dense_read(&b->interface[i], &v);
        for (size_t k = 0; k < v.ndim; k++) b->back.nn[i][k] = v.nn[k];
    }
}

/* failure: the lender runs it itself. */
static void send_back(struct orr_borrowed *b, int failure)
{
    struct orr_lend *l = b->lend;
    orr_spin_lock(&l->lock);
    l->counts.failed += failure != 0;
    l->to_run--;
    orr_spin_unlock(&l->lock);
    orr_store_relaxed(&b->left, 2);
    if (!failure) describe_end(b);
    memset(&b->request, 0, sizeof b->request);
    orr_request_init(&b->request);
    b->request.failure = failure;
    b->request.payload.base = &b->back;
    b->request.payload.bytes = orr_loan_back_bytes(b->message->ndata);
    b->request.done = end_told;
    orr_loan_post(l, &b->request, ORR_SEND, b->peer, ORR_LOAN_TAG_BACK + (int64_t)b->message->id);
    if (!failure) return_values(b);
    message_over(b); /* b may be gone */
    orr_loan_move(l);
}

/* ---- running ---- */

/* A task of the runtime runs whichever is first then, and not all need be there any more. */
static void add_unrun(struct orr_lend *l, struct orr_borrowed *b)
{
    b->next = NULL;
    orr_spin_lock(&l->lock);
    if (l->unrun)
        l->unrun_last->next = b;
    else
        l->unrun = b;
    l->unrun_last = b;
    orr_spin_unlock(&l->lock);
}

static struct orr_borrowed *take_unrun(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    struct orr_borrowed *b = l->unrun;
    if (b) l->unrun = b->next;
    orr_spin_unlock(&l->lock);
    return b;
}

/* What a function may ask its task. */
static void show(struct starpu_task *t, int nbuffers, enum starpu_data_access_mode *modes, void *args,
                 size_t args_bytes)
{
    static starpu_data_handle_t none[ORR_LOAN_DATA]; /* its data have handles with the lender only */
    t->nbuffers = nbuffers;
    t->dyn_handles = nbuffers > STARPU_NMAXBUFS ? none : NULL;
    t->dyn_modes = modes;
    t->cl_arg = args;
    t->cl_arg_size = args_bytes;
}

static void body(void *buffers[], void *lend)
{
    struct starpu_task *t = starpu_task_get_current();
    (void)buffers;
    orr_guest_begins();
    struct orr_borrowed *b = take_unrun(lend);
    if (!b) return; /* it was given back */
    const struct orr_loan_head *h = b->message;
    void *args = h->args_bytes ? (char *)b->message + h->args_at : NULL;
    uint64_t began_ns = orr_clock_ns();
    t->name = b->name;
    t->callback_arg = b;
    t->priority = h->priority;
    show(t, (int)h->ndata, b->modes, args, h->args_bytes);
    b->function(b->interfaces, args);
    show(t, 0, NULL, lend, 0);
    b->back.failed = t->failed;
    t->failed = 0;
    b->back.body_ns = orr_clock_ns() - began_ns;
}

static void ended(void *borrowed)
{
    orr_guest_is_over();
    if (!borrowed) return;
    struct orr_lend *l = ((struct orr_borrowed *)borrowed)->lend;
    orr_add_seq(&l->open, 1); /* the layer is not to end meanwhile */
    send_back(borrowed, 0);
    orr_loan_look(l);
    orr_loan_over(l);
}

static struct starpu_codelet borrowed_cl = { .cpu_funcs = { body },
                                             .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                             .name = "borrowed" };

/* Whether it is an interface that we make, of what came. */
static bool is_sound(const struct value *v, const struct orr_loan_datum *d)
{
    const struct orr_dense_kind *k =
        d->interface < STARPU_MAX_INTERFACE_ID ? orr_dense_kinds[d->interface] : NULL;
    if (!k || k->by_pointer || d->ndim != k->ndim || d->ndim > ORR_LOAN_DIMS) return false;
    size_t bytes = bytes_of(d);
    return bytes < SIZE_MAX && (!goes(d, STARPU_R) || v->request.moved_bytes == bytes);
}

/* Where it is used in place; NULL: it is not seen, or not as that says. */
static void *place_of(const struct orr_lend *l, int peer, const struct orr_loan_datum *d)
{
    struct orr_transport *t = l->cluster->engine.transport;
    unsigned __int128 last = 0; /* element */
    for (uint32_t i = 0; i < d->ndim && last <= SIZE_MAX; i++)
        last += d->nn[i] ? (unsigned __int128)(d->nn[i] - 1) * d->ld[i] : 0;
    unsigned __int128 bytes = last <= SIZE_MAX ? (last + 1) * d->elemsize : last;
    return bytes <= SIZE_MAX && t->ops->view ? t->ops->view(t, peer, d->at, (uint64_t)bytes) : NULL;
}

/* 0; -EPROTO; -ENOMEM for a value that is only written; -ENODEV: it cannot be used in place here. */
static int find_bytes(struct orr_borrowed *b, unsigned i, const struct orr_loan_datum *d, void **out)
{
    struct value *v = &b->values[i];
    if (!is_sound(v, d)) return -EPROTO;
    if (d->at) return (*out = place_of(b->lend, b->peer, d)) ? 0 : -ENODEV;
    if (!v->bytes && bytes_of(d)) v->bytes = orr_shared_malloc(bytes_of(d));
    *out = v->bytes;
    return v->bytes || !bytes_of(d) ? 0 : -ENOMEM;
}

/* The same. */
static int make_interface(struct orr_borrowed *b, unsigned i, const struct orr_loan_datum *d)
{
    struct orr_dense_view view = { .ndim = d->ndim, .elemsize = d->elemsize };
    void *bytes = NULL;
    int r = find_bytes(b, i, d, &bytes);
    if (r) return r;
    for (uint32_t k = 0; k < d->ndim; k++) view.nn[k] = d->nn[k], view.ld[k] = d->ld[k];
    if (!d->at) orr_dense_pack(&view);
    memset(&b->interface[i], 0, sizeof b->interface[i]);
    b->interface[i].head.id = (enum starpu_data_interface_id)d->interface;
    b->interface[i].head.ptr = b->interface[i].head.dev_handle = (uintptr_t)bytes;
    orr_dense_write(&b->interface[i], &view);
    orr_dense_set_base(&b->interface[i], d->base);
    b->modes[i] = (enum starpu_data_access_mode)d->mode;
    b->interfaces[i] = &b->interface[i];
    return 0;
}

/* 0; -ENODEV: the codelet is not known here, or has no function for CPUs, or data are not seen that were to
 * be used in place; -EPROTO, -ENOMEM. */
static int prepare(struct orr_borrowed *b)
{
    const struct orr_loan_head *h = b->message;
    int r = 0;
    for (unsigned i = 0; i < h->ndata && !r; i++) r = make_interface(b, i, &data_of(b)[i]);
    if (r) return r;
    b->function = orr_stream_codelet_find(b->lend->cluster->comm, &h->codelet, h->nimpl, &b->name);
    return b->function ? 0 : -ENODEV;
}

static int submit(struct orr_lend *l, const char *name, int priority)
{
    struct starpu_task *t = starpu_task_create();
    if (!t) return -ENOMEM;
    t->cl = &borrowed_cl;
    t->name = name;
    t->cl_arg = l;
    t->priority = priority;
    t->callback_func = ended;
    t->sched_ctx = 0;
    int r = orr_guest_submit(t);
    if (r) starpu_task_destroy(t);
    return r;
}

static struct orr_borrowed *borrowed_of(struct orr_waiter *w)
{
    return (struct orr_borrowed *)((char *)w - offsetof(struct orr_borrowed, waiter));
}

static void run(struct orr_waiter *w)
{
    struct orr_borrowed *b = borrowed_of(w);
    struct orr_lend *l = b->lend;
    const char *name;
    b->since_ns = orr_clock_ns();
    int r = prepare(b), priority = b->message->priority;
    if (r) {
        send_back(b, r);
        return;
    }
    name = b->name;
    orr_add_seq(&l->open, 1); /* as in ended */
    add_unrun(l, b);
    r = submit(l, name, priority); /* b may be gone */
    if (r && (b = take_unrun(l)) != NULL) send_back(b, r);
    if (!r) orr_loan_look(l);
    orr_loan_over(l);
}

void orr_borrow_give_back(struct orr_lend *l)
{
    for (struct orr_borrowed *b; (b = take_unrun(l)) != NULL;) send_back(b, -EBUSY);
}

/* With the lock: what the ranks lent that want it back, off the list. */
static struct orr_borrowed *take_wanted_locked(struct orr_lend *l)
{
    struct orr_borrowed *taken = NULL, **at = &l->unrun, *last = NULL;
    for (struct orr_borrowed *b; (b = *at);) {
        if (l->wanted_back && l->wanted_back[b->peer]) {
            *at = b->next;
            b->next = taken;
            taken = b;
        } else {
            last = b;
            at = &b->next;
        }
    }
    l->unrun_last = last;
    return taken;
}

/* What was asked back, and is not all here yet, is asked for once more. */
static void give_wanted_back(struct orr_waiter *w)
{
    struct orr_lend *l = (struct orr_lend *)((char *)w - offsetof(struct orr_lend, back_waiter));
    orr_spin_lock(&l->lock);
    l->giving_back = false;
    struct orr_borrowed *b = take_wanted_locked(l);
    for (int i = 0; l->wanted_back && i < l->cluster->size; i++) l->wanted_back[i] = false;
    orr_spin_unlock(&l->lock);
    for (struct orr_borrowed *next; b; b = next) {
        next = b->next;
        send_back(b, -EBUSY);
    }
    orr_loan_over(l);
}

/* LEND_BACK came. */
static void heard_back(void *lend, int source, const struct orr_wire_header *h, const void *none)
{
    struct orr_lend *l = lend;
    (void)h;
    (void)none;
    orr_spin_lock(&l->lock);
    bool some = l->wanted_back && l->borrowed > 0, first = some && !l->giving_back;
    if (some) l->wanted_back[source] = true;
    l->giving_back |= first;
    orr_spin_unlock(&l->lock);
    if (!first) return;
    orr_add_seq(&l->open, 1);
    if (!orr_waiter_put_off(&l->back_waiter, give_wanted_back)) give_wanted_back(&l->back_waiter);
}

/* ---- here ---- */

static void part_came(struct orr_borrowed *b)
{
    if (orr_sub_acq_rel(&b->left, 1) == 1 && !orr_waiter_put_off(&b->waiter, run)) run(&b->waiter);
}

static void value_came(struct orr_request *r)
{
    part_came(((struct value *)r)->borrowed);
}

static void *value_room(struct orr_request *r, size_t bytes)
{
    struct value *v = (struct value *)r;
    if (!v->bytes) v->bytes = orr_shared_malloc(bytes);
    return v->bytes;
}

static void receive_value(struct orr_borrowed *b, uint32_t i)
{
    struct value *v = &b->values[i];
    v->borrowed = b;
    orr_request_init(&v->request);
    v->request.make_room = value_room;
    v->request.payload.any_size = true;
    v->request.done = value_came;
    orr_add_relaxed(&b->left, 1);
    orr_loan_post(b->lend, &v->request, ORR_RECV, b->peer,
                  orr_loan_value_tag(ORR_LOAN_TAG_VALUE, b->message->id, i));
}

static void receive_values(struct orr_waiter *w)
{
    struct orr_borrowed *b = borrowed_of(w);
    struct orr_lend *l = b->lend;
    orr_store_relaxed(&b->left, 1);
    for (uint32_t i = 0; i < b->message->ndata; i++) {
        const struct orr_loan_datum *d = &data_of(b)[i];
        b->values[i].borrowed = b;
        if (goes(d, STARPU_R)) receive_value(b, i);
    }
    part_came(b); /* b may be gone */
    orr_loan_move(l);
}

static void *task_room(struct orr_request *r, size_t bytes)
{
    struct orr_borrowed *b = (struct orr_borrowed *)r;
    if (!b->message) b->message = orr_malloc_aligned(ORR_LOAN_ALIGN, bytes);
    return b->message;
}

static bool is_usable(const struct orr_borrowed *b)
{
    const struct orr_loan_head *h = b->message;
    size_t bytes = b->request.moved_bytes;
    return !b->request.status && bytes >= sizeof *h && h->ndata <= ORR_LOAN_DATA &&
           sizeof *h + h->ndata * sizeof(struct orr_loan_datum) <= h->args_at && h->args_at <= bytes &&
           h->args_bytes <= bytes - h->args_at;
}

static void came(struct orr_request *r)
{
    struct orr_borrowed *b = (struct orr_borrowed *)r;
    if (!is_usable(b)) {
        is_not_to_run(b->lend);
        forget(b); /* the layer gave up */
    } else if (!orr_waiter_put_off(&b->waiter, receive_values)) {
        receive_values(&b->waiter);
    }
}

static void receive(struct orr_lend *l, struct orr_borrowed *b, int peer)
{
    b->lend = l;
    b->peer = peer;
    orr_request_init(&b->request);
    b->request.make_room = task_room;
    b->request.payload.any_size = true;
    b->request.done = came;
    orr_loan_post(l, &b->request, ORR_RECV, peer, ORR_LOAN_TAG_TASK);
}

/* ---- the question ---- */

static void drop_spare(struct orr_question *q)
{
    for (struct orr_borrowed *b = q->spare, *next; b; b = next) {
        next = b->next;
        free_record(q->lend, b);
    }
    q->spare = NULL;
}

/* The answer is here: what was given is on its way. */
static void answered(struct orr_waiter *w)
{
    struct orr_question *q = (struct orr_question *)w;
    struct orr_lend *l = q->lend;
    uint32_t n = 0;
    for (struct orr_borrowed *b; n < q->answer.given && n < ORR_LEND_AT_ONCE && (b = q->spare); n++) {
        q->spare = b->next;
        orr_add_seq(&l->open, 1);
        orr_spin_lock(&l->lock);
        l->borrowed++;
        l->to_run++;
        orr_spin_unlock(&l->lock);
        receive(l, b, q->peer);
    }
    drop_spare(q);
    if (n) orr_loan_move(l);
    orr_spin_lock(&l->lock);
    q->answered_ns = orr_clock_ns();
    q->given = n;
    q->surplus = q->answer.surplus;
    q->out = false;
    q->news = true;
    l->counts.refused += n == 0;
    l->counts.borrowed += n;
    orr_spin_unlock(&l->lock);
    if (n == 0) orr_loan_look(l);
    orr_loan_over(l);
}

/* With the lock: the question to peer that is out; NULL: there is none. */
static struct orr_question *question_to(struct orr_lend *l, int peer)
{
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++)
        if (l->questions[i].out && l->questions[i].peer == peer) return &l->questions[i];
    return NULL;
}

/* LENT came. */
static void heard(void *lend, int source, const struct orr_wire_header *h, const void *none)
{
    struct orr_lend *l = lend;
    orr_spin_lock(&l->lock);
    struct orr_question *q = question_to(l, source);
    orr_spin_unlock(&l->lock);
    (void)none;
    if (!q) return;
    q->answer = (struct orr_loan_answer){ .given = (uint32_t)h->id, .surplus = (uint32_t)h->tag };
    if (!orr_waiter_put_off(&q->waiter, answered)) answered(&q->waiter);
}

void orr_borrow_begin(struct orr_lend *l)
{
    orr_control_listen(l->controls, ORR_CONTROL_LENT, ORR_CONTROL_LENT, heard, l);
    orr_control_listen(l->controls, ORR_CONTROL_LEND_BACK, ORR_CONTROL_LEND_BACK, heard_back, l);
}

/* With the lock. */
static bool is_awaited(const struct orr_lend *l)
{
    bool awaited = false;
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++) awaited |= l->questions[i].out && !l->questions[i].late;
    return awaited;
}

/* With the lock: one that is free, of which nothing is to be heard if there is such. */
static struct orr_question *free_question(struct orr_lend *l)
{
    struct orr_question *found = NULL;
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++)
        if (!l->questions[i].out && (!found || found->news)) found = &l->questions[i];
    return found;
}

/* NULL: it must not ask now. */
static struct orr_question *begin_question(struct orr_lend *l, int peer)
{
    orr_spin_lock(&l->lock);
    struct orr_question *q = is_awaited(l) || question_to(l, peer) ? NULL : free_question(l);
    if (q) {
        q->lend = l;
        q->peer = peer;
        q->asked_ns = orr_clock_ns();
        q->late = q->news = false;
        q->out = true;
        l->counts.asked++;
    }
    orr_spin_unlock(&l->lock);
    return q;
}

static void unask(struct orr_question *q)
{
    struct orr_lend *l = q->lend;
    drop_spare(q);
    orr_spin_lock(&l->lock);
    q->out = false;
    l->counts.asked--;
    orr_spin_unlock(&l->lock);
}

/* What is given must be taken: the records for it are made before. */
static uint32_t make_spare(struct orr_question *q, uint32_t count)
{
    uint32_t n = 0;
    for (struct orr_borrowed *b; n < count && n < ORR_LEND_AT_ONCE && (b = new_record(q->lend)); n++) {
        b->next = q->spare;
        q->spare = b;
    }
    return n;
}

uint32_t orr_borrow_to_run(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    uint32_t n = l->to_run;
    orr_spin_unlock(&l->lock);
    return n;
}

bool orr_borrow_ask(struct orr_lend *l, int peer, uint32_t count)
{
    struct orr_question *q = l->on && peer != l->cluster->rank ? begin_question(l, peer) : NULL;
    if (!q) return false;
    count = make_spare(q, count);
    orr_add_seq(&l->open, 1); /* the answer may be quick */
    if (count > 0 && orr_control_send(l->controls, peer, ORR_CONTROL_LEND,
                                      (int64_t)orr_stream_insertions(l->cluster->comm), count,
                                      orr_borrow_to_run(l), NULL, 0)) {
        orr_progress_pass(&l->cluster->progress);
        return true;
    }
    unask(q);
    orr_loan_over(l);
    return false;
}

bool orr_borrow_awaits(struct orr_lend *l, uint64_t patience_ns)
{
    uint64_t now_ns = orr_clock_ns();
    orr_spin_lock(&l->lock);
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++)
        l->questions[i].late |= now_ns > l->questions[i].asked_ns + patience_ns;
    bool awaited = is_awaited(l);
    orr_spin_unlock(&l->lock);
    return awaited;
}

bool orr_borrow_is_asked(struct orr_lend *l, int peer)
{
    orr_spin_lock(&l->lock);
    bool asked = question_to(l, peer) != NULL;
    orr_spin_unlock(&l->lock);
    return asked;
}

bool orr_borrow_hear(struct orr_lend *l, struct orr_borrow_news *out)
{
    struct orr_question *q = NULL;
    orr_spin_lock(&l->lock);
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++)
        if (l->questions[i].news) q = &l->questions[i];
    if (q) {
        q->news = false;
        *out = (struct orr_borrow_news){ .peer = q->peer,
                                         .given = q->given,
                                         .surplus = q->surplus,
                                         .answered_ns = q->answered_ns,
                                         .after_ns = q->answered_ns - q->asked_ns };
    }
    orr_spin_unlock(&l->lock);
    return q != NULL;
}

static bool has_no_wish(void *lend)
{
    struct orr_lend *l = lend;
    orr_spin_lock(&l->lock);
    bool none = l->borrowed == 0;
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++) none &= !l->questions[i].out;
    orr_spin_unlock(&l->lock);
    return none;
}

static bool is_out(struct orr_lend *l, const struct orr_question *q)
{
    orr_spin_lock(&l->lock);
    bool out = q->out;
    orr_spin_unlock(&l->lock);
    return out;
}

/* Answers are waited for: who waits for a worker to give one is to say at once that there is nothing. */
static void take_back_questions(struct orr_lend *l)
{
    for (int i = 0; i < ORR_LEND_QUESTIONS; i++) {
        const struct orr_question *q = &l->questions[i];
        while (is_out(l, q) && !orr_control_send(l->controls, q->peer, ORR_CONTROL_LEND, 0, 0, 0, NULL, 0))
            if (!orr_progress_pass(&l->cluster->progress)) sched_yield();
    }
}

void orr_borrow_settle(struct orr_lend *l)
{
    struct orr_lend_look look;
    if (!l->on) return;
    orr_lend_look(&look, 0);
    if (look.workers == 0) orr_borrow_give_back(l);
    take_back_questions(l);
    orr_progress_wait(&l->cluster->progress, has_no_wish, l);
}
