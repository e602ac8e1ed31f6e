/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c: see view.h.
 * Threads: see view.h. Owns: see view.h. Not here: see view.h. */
#include "core/data/view.h"

#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/interfaces/dense.h"
#include "core/data/transfer.h"

/* Of orr_view.state: somebody is about to have it left, and it is not over meanwhile; it is over. */
enum { RECALLED = 1, OVER = 2 };
/* Of modes: what changes the value, or the memory. */
enum { CHANGES = STARPU_W | STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX };

static struct orr_sharing *sharing_of(struct orr_data *h)
{
    return &orr_data_rare(h)->sharing;
}

static struct orr_replicate *main_copy(struct orr_data *h)
{
    return &h->replicates[orr_node_home()];
}

static void update_locked(struct orr_data *h)
{
    const struct orr_sharing *a = sharing_of(h);
    orr_store_release(&h->apart, a->view || a->shown); /* pairs with is_apart: the value is here */
    orr_data_update_ready_locked(h);
}

static bool is_apart(const struct orr_data *h)
{
    return orr_unlikely(orr_load_acquire(&h->apart)); /* pairs with update_locked */
}

bool orr_data_may_be_apart(struct orr_data *h)
{
    unsigned id = (unsigned)h->ops->interfaceid;
    return h->nnodes == 1 && !h->parent && !orr_load_relaxed(&h->planned) && id < STARPU_MAX_INTERFACE_ID &&
           orr_dense_kinds[id] && orr_data_rare_get(h);
}

/* ---- a copy that is read elsewhere ---- */

bool orr_view_prepare(struct orr_data *h)
{
    if (!orr_data_may_be_apart(h)) return false;
    struct orr_sharing *a = sharing_of(h);
    if (!a->interface) a->interface = orr_malloc(h->ops->interface_size);
    return a->interface;
}

void orr_view_begin(struct orr_data *h, struct orr_view *v)
{
    struct orr_dense_head *head = sharing_of(h)->interface;
    orr_spin_lock(&h->queue.lock);
    memcpy(head, main_copy(h)->interface, h->ops->interface_size); /* its shape may be another than before */
    head->ptr = head->dev_handle = (uintptr_t)v->at;
    v->handle = h;
    v->users = 0;
    v->leaving = v->left = false;
    orr_store_relaxed(&v->state, 0u);
    sharing_of(h)->view = v;
    update_locked(h);
    orr_spin_unlock(&h->queue.lock);
}

static struct orr_fetch *take_waiters_locked(struct orr_data *h)
{
    struct orr_fetch *all = sharing_of(h)->waiters;
    sharing_of(h)->waiters = NULL;
    return all;
}

/* h's view, if it is over now: taken from h, and still to be told. Those who wait for that may go on. */
static struct orr_view *end_locked(struct orr_data *h, struct orr_fetch **waiters_out)
{
    struct orr_view *v = sharing_of(h)->view;
    uint32_t none = 0;
    if (!v || !v->left || v->users) return NULL;
    if (!atomic_compare_exchange_strong_explicit(&v->state, &none, OVER, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return NULL; /* who recalls it does this then */
    sharing_of(h)->view = NULL;
    update_locked(h);
    *waiters_out = take_waiters_locked(h);
    return v;
}

void orr_fetches_resume(struct orr_fetch *waiters)
{
    while (waiters) {
        struct orr_fetch *next = waiters->next;
        orr_fetch_resume(waiters);
        waiters = next;
    }
}

/* over: NULL: it is not. First it: who waits may end the handle. */
static void tell(struct orr_view *over, struct orr_fetch *waiters)
{
    if (over) over->over(over);
    orr_fetches_resume(waiters);
}

/* The calling thread has begun to leave it. */
static void leave(struct orr_view *v, bool with_value, bool recalled)
{
    struct orr_data *h = v->handle;
    void *own = (void *)((const struct orr_dense_head *)main_copy(h)->interface)->ptr;
    struct orr_fetch *waiters;
    if (with_value) memcpy(own, v->at, h->ops->get_size(h));
    orr_spin_lock(&h->queue.lock);
    v->left = true;
    if (recalled) orr_store_relaxed(&v->state, 0u);
    waiters = take_waiters_locked(h); /* who reads has what it waited for */
    struct orr_view *over = end_locked(h, &(struct orr_fetch *){ NULL });
    orr_spin_unlock(&h->queue.lock);
    tell(over, waiters);
}

void orr_view_recall(struct orr_view *v)
{
    if (atomic_fetch_or_explicit(&v->state, RECALLED, memory_order_acq_rel) & OVER) return;
    struct orr_data *h = v->handle; /* which does not end before v */
    struct orr_fetch *waiters = NULL;
    struct orr_view *over = NULL;
    orr_spin_lock(&h->queue.lock);
    bool first = !v->leaving;
    v->leaving = true;
    if (!first) { /* another thread is at it, or was */
        orr_store_relaxed(&v->state, 0u);
        over = end_locked(h, &waiters);
    }
    orr_spin_unlock(&h->queue.lock);
    if (first)
        leave(v, true, true);
    else
        tell(over, waiters);
}

void *orr_view_hold(struct orr_data *h)
{
    if (!is_apart(h)) return NULL;
    orr_spin_lock(&h->queue.lock);
    struct orr_view *v = sharing_of(h)->view;
    bool is_used = v && !v->left;
    if (is_used) v->users++;
    orr_spin_unlock(&h->queue.lock);
    return is_used ? sharing_of(h)->interface : NULL;
}

void orr_view_let_go(struct orr_data *h)
{
    struct orr_fetch *waiters = NULL;
    orr_spin_lock(&h->queue.lock);
    sharing_of(h)->view->users--; /* it is not over before */
    struct orr_view *over = end_locked(h, &waiters);
    orr_spin_unlock(&h->queue.lock);
    tell(over, waiters);
}

void orr_view_leave(struct orr_data *h)
{
    if (!is_apart(h)) return;
    if (orr_fetch_blocking(h, orr_node_home(), STARPU_R) == 0) orr_fetch_end(h, orr_node_home(), STARPU_R);
}

void *orr_view_interface(struct orr_data *h)
{
    if (!is_apart(h)) return NULL;
    bool held = orr_data_hooks.holds_view && orr_data_hooks.holds_view(h);
    if (!held) orr_view_leave(h);
    orr_spin_lock(&h->queue.lock);
    const struct orr_view *v = sharing_of(h)->view;
    bool is_there = held && v && !v->left; /* else the value is here, and stays for longer than that task */
    orr_spin_unlock(&h->queue.lock);
    return is_there ? sharing_of(h)->interface : NULL;
}

/* ---- memory in which others read ---- */

void orr_shown_begin(struct orr_data *h, struct orr_shown *s)
{
    struct orr_sharing *a = sharing_of(h);
    orr_spin_lock(&h->queue.lock);
    s->wanted = false;
    s->next = a->shown;
    a->shown = s;
    update_locked(h);
    orr_spin_unlock(&h->queue.lock);
}

bool orr_shown_is_wanted(struct orr_data *h, const struct orr_shown *s)
{
    orr_spin_lock(&h->queue.lock);
    bool wanted = s->wanted;
    orr_spin_unlock(&h->queue.lock);
    return wanted;
}

struct orr_fetch *orr_shown_end(struct orr_data *h, struct orr_shown *s)
{
    struct orr_fetch *waiters = NULL;
    orr_spin_lock(&h->queue.lock);
    struct orr_shown **at = &sharing_of(h)->shown;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    update_locked(h);
    if (!sharing_of(h)->shown) waiters = take_waiters_locked(h);
    orr_spin_unlock(&h->queue.lock);
    return waiters;
}

/* Asks for all that were not asked for. */
static void want_locked(struct orr_data *h, struct orr_view_todo *todo)
{
    for (struct orr_shown *s = sharing_of(h)->shown; s; s = s->next) {
        if (s->wanted) continue;
        s->wanted = true;
        s->want(s);
        todo->flush = s->flush;
        todo->owner = s->owner;
    }
}

/* ---- who waits ---- */

bool orr_view_hinders_locked(struct orr_fetch *f, struct orr_view_todo *todo)
{
    struct orr_sharing *a = sharing_of(f->handle);
    bool writes = f->mode & CHANGES;
    bool waits = (a->view && (writes || (!a->view->left && !f->brief))) || (a->shown && writes);
    if (f->prefetch || !waits) return false;
    f->next = a->waiters;
    a->waiters = f;
    if (writes) want_locked(f->handle, todo);
    if (!a->view || a->view->leaving) return true;
    a->view->leaving = true;
    todo->leave = a->view;
    todo->with_value = f->mode & STARPU_R;
    return true;
}

bool orr_shown_ask(struct orr_data *h)
{
    struct orr_view_todo todo = { .leave = NULL };
    if (!is_apart(h)) return false;
    orr_spin_lock(&h->queue.lock);
    bool is = sharing_of(h)->shown != NULL;
    want_locked(h, &todo);
    orr_spin_unlock(&h->queue.lock);
    orr_view_do(&todo);
    return is;
}

void orr_view_do(const struct orr_view_todo *todo)
{
    if (todo->flush) todo->flush(todo->owner);
    if (todo->leave) leave(todo->leave, todo->with_value, false);
}

struct together {
    struct orr_fetch fetch; /* first */
    struct orr_waiter *waiter;
};

static void together(struct orr_fetch *f, int status)
{
    struct orr_waiter *w = ((struct together *)f)->waiter;
    (void)status; /* nothing is brought */
    orr_free(f);
    w->granted(w);
}

bool orr_data_together_first(struct orr_data *h, struct orr_waiter *w)
{
    if (!is_apart(h)) return false;
    struct together *t = orr_calloc(1, sizeof *t);
    if (!t) {
        orr_data_together_blocking(h);
        return false;
    }
    t->waiter = w;
    t->fetch = (struct orr_fetch){
        .done = together, .handle = h, .node = (uint16_t)orr_node_home(), .mode = STARPU_W
    };
    if (orr_fetch_start(&t->fetch) == 0) return true;
    orr_free(t);
    return false;
}

void orr_data_together_blocking(struct orr_data *h)
{
    if (is_apart(h)) orr_fetch_blocking(h, orr_node_home(), STARPU_W);
}
