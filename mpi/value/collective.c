/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.c: see collective.h.
 * Threads: the thread that submits; the countdown on whoever completes. Owns: nothing. Not here: single
 * messages (message.c). */
#include "mpi/value/collective.h"

#include <errno.h>

#include "core/base/alloc.h"
#include "mpi/value/message.h"
#include "mpi/value/ownership.h"

struct countdown {
    struct orr_waiter waiter; /* first */
    _Atomic int left;
    void (*callback)(void *);
    void *arg;
};

static void all_over(struct orr_waiter *w)
{
    struct countdown *d = (struct countdown *)w;
    if (d->callback) orr_progress_call_back(d->callback, d->arg);
    orr_free(d);
}

static void count_down(void *p)
{
    struct countdown *d = p;
    if (orr_sub_acq_rel(&d->left, 1) > 1) return;
    if (!orr_waiter_put_off(&d->waiter, all_over)) all_over(&d->waiter);
}

static struct countdown *countdown_create(void (*callback)(void *), void *arg)
{
    struct countdown *d = orr_malloc(sizeof *d);
    if (d) *d = (struct countdown){ .callback = callback, .arg = arg };
    if (d) atomic_init(&d->left, 1);
    return d;
}

static int start_one(struct orr_comm *c, struct orr_data *h, enum orr_request_kind kind, int peer,
                     struct countdown *d)
{
    const struct orr_message_spec s = { .kind = kind,
                                        .handle = h,
                                        .comm = c,
                                        .peer = peer,
                                        .tag = orr_owned_tag(h),
                                        .detached = true,
                                        .callback = count_down,
                                        .arg = d };
    orr_add_relaxed(&d->left, 1);
    int r = orr_message_start(
        &s, kind == ORR_SEND ? "starpu_mpi_scatter_detached" : "starpu_mpi_gather_detached", NULL);
    if (r) orr_sub_acq_rel(&d->left, 1);
    return r;
}

int orr_collective_start(struct orr_comm *c, const struct orr_collective *w)
{
    int me = c->rank, status = 0;
    bool sends = (me == w->root) != w->gather; /* which callback is this rank's */
    struct countdown *d =
        countdown_create(sends ? w->sent : w->received, sends ? w->sent_arg : w->received_arg);
    if (!d) return -ENOMEM;
    for (int i = 0; i < w->count; i++) {
        struct orr_data *h = w->handles[i];
        int owner = h ? orr_owned_rank(c, h) : -1, r = 0;
        if (owner < 0 || owner == w->root) continue;
        if (me == owner)
            r = start_one(c, h, w->gather ? ORR_SEND : ORR_RECV, w->root, d);
        else if (me == w->root)
            r = start_one(c, h, w->gather ? ORR_RECV : ORR_SEND, owner, d);
        if (r) status = r;
    }
    orr_progress_aside(&c->cluster->progress, count_down, d); /* if all is over, somebody else calls back */
    return status;
}
