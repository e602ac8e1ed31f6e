/* SPDX-License-Identifier: BSD-3-Clause */
/* hungry.c: see hungry.h. Threads: see hungry.h. Owns: see hungry.h. Not here: see hungry.h.
 *
 * Tasks end at different times, so each rank idles now and then, however well they are shared out: a gap
 * that is no longer than a task of this rank's, or than a question took to be answered, says nothing. Who
 * idles for longer asks the rank that gave last, else the one that is known to have most, else one after
 * another; each refusal makes the next question later. A rank whose workers are all in long tasks answers
 * when one of these ends: who asked it asks others meanwhile, and takes what then comes as well. As long as
 * tasks are given the rank asks again when it is about to run out of them, without idling first. */
#include "mpi/value/hungry.h"

#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "mpi/value/borrow.h"

/* How often it looks when workers are about to run dry. */
enum { LOOK_DRY_NS = 150000, LATELY = 4 };
/* And how often workers say that they are idle: the less often the longer nothing has come of it. */
enum { TOLD_EVERY_NS = 1000000, TOLD_SELDOM_NS = 4000000 };

struct orr_hungry {
    struct orr_lend *lend;
    pthread_t thread;
    _Atomic bool stop;                          /* [atomic] */
    struct orr_appetite appetite;               /* the rest: [own: the thread] */
    uint32_t *surplus;                          /* by rank: what it said last */
    bool *asked;                                /* by rank: its answer is to come */
    uint64_t looked_ns, told_ns, told_every_ns; /* told: when a worker last said that it is idle */
};

/* ---- rules ---- */

uint64_t orr_appetite_gap_ns(const struct orr_appetite *a)
{
    double gap = ORR_HUNGRY_GAP_NS;
    if (a->length_ns > gap) gap = a->length_ns;
    if (a->answer_ns > gap) gap = a->answer_ns;
    /* of tasks that long one may just have been an exception, and who never asks never learns */
    return gap < ORR_HUNGRY_GAP_MOST_NS ? (uint64_t)gap : ORR_HUNGRY_GAP_MOST_NS;
}

void orr_appetite_worked(struct orr_appetite *a, double busy_ns, uint64_t run)
{
    a->busy_ns += busy_ns;
    uint64_t ended = run - a->run;
    if (ended == 0) { /* at least so long */
        if (a->busy_ns > a->length_ns) a->length_ns = a->busy_ns;
        return;
    }
    double each = a->busy_ns / (double)ended;
    a->refusals = 0; /* of another time than this, when there was nothing to do */
    a->pause_ns = a->not_before_ns = 0;
    a->length_ns = a->run ? a->length_ns + (each - a->length_ns) / LATELY : each;
    a->busy_ns = 0;
    a->run = run;
}

uint64_t orr_appetite_patience_ns(const struct orr_appetite *a)
{
    return a->length_ns > ORR_HUNGRY_GAP_NS ? (uint64_t)a->length_ns : ORR_HUNGRY_GAP_NS;
}

void orr_appetite_answered(struct orr_appetite *a, int peer, uint32_t given, uint64_t after_ns,
                           uint64_t now_ns)
{
    a->last = peer;
    if (given) {
        a->giver = peer;
        a->refusals = 0;
        a->pause_ns = a->not_before_ns = 0;
        if (after_ns > orr_appetite_patience_ns(a)) return; /* it was not waited for so long */
        a->answer_ns =
            a->answer_ns > 0 ? a->answer_ns + ((double)after_ns - a->answer_ns) / LATELY : (double)after_ns;
        return;
    }
    if (a->giver == peer) a->giver = -1;
    uint64_t gap = orr_appetite_gap_ns(a);
    bool quick = ++a->refusals < ORR_HUNGRY_QUICK;
    a->pause_ns = quick || a->pause_ns < gap ? gap : a->pause_ns * 2;
    if (a->pause_ns > ORR_HUNGRY_PAUSE_MOST_NS) a->pause_ns = ORR_HUNGRY_PAUSE_MOST_NS;
    a->not_before_ns = now_ns + a->pause_ns;
}

uint32_t orr_appetite_wish(const struct orr_appetite *a, const struct orr_lend_look *look, uint32_t borrowed)
{
    uint32_t enough = ORR_HUNGRY_AHEAD * look->workers;
    if (a->giver < 0) return look->hungry > borrowed ? look->hungry - borrowed : 0;
    return borrowed < enough && look->backlog == 0 ? enough + look->workers - borrowed : 0;
}

int orr_appetite_whom(const struct orr_appetite *a, int rank, int size, const uint32_t *surplus,
                      const bool *asked)
{
    int most = -1;
    if (a->giver >= 0 && !asked[a->giver]) return a->giver;
    for (int i = 0; i < size; i++)
        if (i != rank && !asked[i] && surplus[i] > 1 && (most < 0 || surplus[i] > surplus[most])) most = i;
    if (most >= 0) return most;
    for (int i = 1; i <= size; i++) {
        int next = (a->last + i) % size;
        if (next != rank && !asked[next]) return next;
    }
    return -1;
}

/* ---- the thread ---- */

static void hear_answers(struct orr_hungry *g, uint64_t now_ns)
{
    struct orr_borrow_news n;
    while (orr_borrow_hear(g->lend, &n)) {
        g->surplus[n.peer] = n.given ? n.surplus : 0;
        orr_appetite_answered(&g->appetite, n.peer, n.given, n.after_ns, now_ns);
        if (n.given) g->told_every_ns = TOLD_EVERY_NS;
    }
}

static uint32_t borrowed_now(struct orr_lend *l)
{
    orr_spin_lock(&l->lock);
    uint32_t borrowed = l->borrowed;
    orr_spin_unlock(&l->lock);
    return borrowed;
}

static uint32_t wish(struct orr_hungry *g, const struct orr_lend_look *look, uint32_t borrowed,
                     uint64_t now_ns)
{
    bool awaits = orr_borrow_awaits(g->lend, orr_appetite_patience_ns(&g->appetite));
    return awaits || now_ns < g->appetite.not_before_ns ? 0 : orr_appetite_wish(&g->appetite, look, borrowed);
}

static int whom(struct orr_hungry *g)
{
    const struct orr_cluster *cl = g->lend->cluster;
    for (int i = 0; i < cl->size; i++) g->asked[i] = orr_borrow_is_asked(g->lend, i);
    return orr_appetite_whom(&g->appetite, cl->rank, cl->size, g->surplus, g->asked);
}

/* Workers that are to become idle say so: after a gap; or at once, where somebody gives. */
static void be_told(struct orr_hungry *g)
{
    uint64_t told_ns = orr_lend_told_idle_ns(),
             idle_ns = g->appetite.giver >= 0 ? 0 : orr_appetite_gap_ns(&g->appetite);
    if (told_ns != g->told_ns && g->told_every_ns < TOLD_SELDOM_NS) g->told_every_ns *= 2;
    g->told_ns = told_ns;
    orr_lend_tell_idle(&g->lend->nudges, idle_ns, g->told_every_ns);
}

/* For how long nothing need be looked at, unless it is nudged. While all that are idle will say so, as while
 * all are busy, that is long: each look disturbs a worker on whose core it is. While tasks are borrowed it is
 * not: workers that are paused give them back. */
static uint64_t rest_ns(const struct orr_hungry *g, const struct orr_lend_look *look, uint32_t borrowed,
                        uint64_t now_ns)
{
    const struct orr_appetite *a = &g->appetite;
    uint64_t gap = orr_appetite_gap_ns(a), rest = gap > look->idle_ns ? gap - look->idle_ns : gap,
             most = ORR_HUNGRY_LOOK_NS;
    if (look->workers == 0) return most;
    if (look->idle == 0 && a->giver >= 0 && look->backlog == 0) {
        rest = a->length_ns / 2 > LOOK_DRY_NS ? (uint64_t)a->length_ns / 2 : LOOK_DRY_NS;
    } else if (look->idle == 0 || now_ns - look->idle_ns > g->told_ns) {
        rest = ORR_HUNGRY_REST_NS;
        if (borrowed == 0) most = ORR_HUNGRY_REST_NS;
    } else if (a->not_before_ns > now_ns + rest) {
        rest = a->not_before_ns - now_ns;
    }
    return rest < most ? rest : most;
}

/* Returns how long it rests then. */
static int64_t look_around(struct orr_hungry *g)
{
    struct orr_lend_look look;
    uint64_t now_ns = orr_clock_ns();
    hear_answers(g, now_ns);
    be_told(g); /* before it looks: who is idle by then is seen */
    orr_lend_look(&look, orr_appetite_gap_ns(&g->appetite));
    orr_appetite_worked(&g->appetite, (double)(look.workers - look.idle) * (double)(now_ns - g->looked_ns),
                        look.run);
    g->looked_ns = now_ns;
    if (look.workers == 0) orr_borrow_give_back(g->lend); /* they are paused */
    uint32_t borrowed = borrowed_now(g->lend), count = wish(g, &look, borrowed, now_ns);
    int peer = count > 0 ? whom(g) : -1;
    if (peer >= 0) orr_borrow_ask(g->lend, peer, count);
    return (int64_t)rest_ns(g, &look, borrowed, now_ns);
}

static void *run(void *hungry)
{
    struct orr_hungry *g = hungry;
    orr_thread_is_internal();
    g->looked_ns = orr_clock_ns();
    orr_lend_tell_idle(&g->lend->nudges, ORR_HUNGRY_GAP_NS, g->told_every_ns);
    g->told_ns = orr_lend_told_idle_ns();
    for (;;) {
        uint32_t nudges = orr_load_acquire(&g->lend->nudges);
        if (orr_load_acquire(&g->stop)) break;
        orr_futex_wait(&g->lend->nudges, nudges, look_around(g));
    }
    orr_lend_tell_idle(NULL, 0, 0);
    return NULL;
}

int orr_hungry_start(struct orr_lend *l)
{
    struct orr_hungry *g = orr_calloc(1, sizeof *g);
    uint32_t *surplus = orr_calloc((size_t)l->cluster->size, sizeof *surplus);
    bool *asked = orr_calloc((size_t)l->cluster->size, sizeof *asked);
    int r = g && surplus && asked ? 0 : -ENOMEM;
    if (r) goto fail;
    g->lend = l;
    g->surplus = surplus;
    g->asked = asked;
    g->appetite.giver = -1;
    g->told_every_ns = TOLD_EVERY_NS;
    g->appetite.last = l->cluster->rank;
    r = orr_thread_start(&g->thread, run, g, "orr-lend");
    if (r) goto fail;
    l->hungry = g;
    return 0;
fail:
    orr_free(asked);
    orr_free(surplus);
    orr_free(g);
    return r;
}

void orr_hungry_stop(struct orr_lend *l)
{
    struct orr_hungry *g = l->hungry;
    if (!g) return;
    orr_store_release(&g->stop, true);
    orr_loan_nudge(l);
    pthread_join(g->thread, NULL);
    l->hungry = NULL;
    orr_free(g->asked);
    orr_free(g->surplus);
    orr_free(g);
}
