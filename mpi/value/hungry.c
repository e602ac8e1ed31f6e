/* SPDX-License-Identifier: BSD-3-Clause */
/* hungry.c: see hungry.h. Threads: see hungry.h. Owns: see hungry.h. Not here: see hungry.h.
 *
 * Tasks end at different times, so each rank idles now and then, however well they are shared out: a gap
 * that is no longer than a task of this rank's, or than a question took to be answered, says nothing. Who
 * idles for longer asks the rank that gave last, else the one that is known to have most, else one after
 * another; each refusal makes the next question later. A rank whose workers are all in long tasks answers
 * when one of these ends: who asked it asks others meanwhile, and takes what then comes as well. As long as
 * tasks are given the rank asks again before it runs out of them, without idling first.
 *
 * Who idles while others have its tasks for long, and have not begun them, asks for them back.
 *
 * The worker that idles sees to it itself, and who has just run a task of another rank: a thread of its own
 * would need a core, and wait for it where another rank computes there. */
#include "mpi/value/hungry.h"

#include <errno.h>
#include <sched.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/sync.h"
#include "core/worker/lending.h"
#include "mpi/value/borrow.h"
#include "mpi/value/lend.h"

/* How often a new idleness is worth a question: the less often the longer nothing has come of it. */
enum { BEGINS_EVERY_NS = 250000, BEGINS_SELDOM_NS = 16000000 };
enum { LATELY = 4 };

struct orr_hungry {
    struct orr_idle_listener listener; /* first */
    struct orr_lend *lend;
    _Atomic uint32_t looking; /* who wants to; the rest is whose was the first [atomic] */
    struct orr_appetite appetite;
    uint32_t *surplus;           /* by rank: what it said last */
    bool *asked;                 /* by rank: its answer is to come */
    uint64_t began_ns, every_ns; /* began: the last idleness that was worth one */
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
    double old = a->length_ns > 0 ? 1 : 0; /* what the mean until now counts */
    for (uint64_t i = 0; i < ended && old > 1e-6; i++) old *= 1 - 1. / LATELY;
    a->length_ns = each + (a->length_ns - each) * old;
    a->busy_ns = 0;
    a->run = run;
}

void orr_appetite_saw(struct orr_appetite *a, const struct orr_lend_look *look)
{
    bool same = look->workers == a->workers && look->pauses == a->pauses && look->run >= a->run &&
                look->idle_all_ns >= a->idle_all_ns;
    if (same) {
        double time_ns = (double)look->workers * (double)(look->now_ns - a->seen_ns),
               idle_ns = (double)(look->idle_all_ns - a->idle_all_ns);
        orr_appetite_worked(a, time_ns > idle_ns ? time_ns - idle_ns : 0, look->run);
    } else {
        a->busy_ns = 0;
        a->run = look->run;
    }
    a->seen_ns = look->now_ns;
    a->idle_all_ns = look->idle_all_ns;
    a->workers = look->workers;
    a->pauses = look->pauses;
}

uint64_t orr_appetite_patience_ns(const struct orr_appetite *a)
{
    return a->length_ns > ORR_HUNGRY_GAP_NS ? (uint64_t)a->length_ns : ORR_HUNGRY_GAP_NS;
}

void orr_appetite_answered(struct orr_appetite *a, int peer, uint32_t given, uint64_t after_ns,
                           uint64_t at_ns)
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
    a->not_before_ns = at_ns + a->pause_ns;
}

uint32_t orr_appetite_wish(const struct orr_appetite *a, const struct orr_lend_look *look, uint32_t to_run)
{
    uint32_t enough = ORR_HUNGRY_AHEAD * look->workers;
    if (a->giver < 0) return look->hungry > to_run ? look->hungry - to_run : 0;
    return to_run <= enough && look->backlog == 0 ? 2 * enough - to_run : 0;
}

uint64_t orr_appetite_again_ns(const struct orr_appetite *a, const struct orr_lend_look *look, bool asks,
                               uint32_t wanted)
{
    uint64_t gap = orr_appetite_gap_ns(a), again = gap > ORR_HUNGRY_CALM_NS ? gap : ORR_HUNGRY_CALM_NS;
    if (asks)
        again = orr_appetite_patience_ns(a); /* then it is late; the answer is heard when it comes */
    else if (wanted > 0)
        again = ORR_HUNGRY_GAP_MOST_NS; /* all were asked, and are in long tasks */
    else if (a->not_before_ns > look->now_ns)
        again = a->not_before_ns - look->now_ns;
    else if (gap > look->idle_ns)
        again = gap - look->idle_ns;
    return again > ORR_HUNGRY_AGAIN_NS ? again : ORR_HUNGRY_AGAIN_NS;
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

/* ---- looking ---- */

static void hear_answers(struct orr_hungry *g)
{
    struct orr_borrow_news n;
    while (orr_borrow_hear(g->lend, &n)) {
        g->surplus[n.peer] = n.given ? n.surplus : 0;
        orr_appetite_answered(&g->appetite, n.peer, n.given, n.after_ns, n.answered_ns);
        if (n.given) g->every_ns = BEGINS_EVERY_NS;
    }
}

static int whom(struct orr_hungry *g)
{
    const struct orr_cluster *cl = g->lend->cluster;
    for (int i = 0; i < cl->size; i++) g->asked[i] = orr_borrow_is_asked(g->lend, i);
    return orr_appetite_whom(&g->appetite, cl->rank, cl->size, g->surplus, g->asked);
}

/* Whether the idleness that has just begun comes too soon after another. */
static bool is_too_soon(struct orr_hungry *g, uint64_t now_ns)
{
    if (g->appetite.giver >= 0) return false;
    if (now_ns < g->began_ns + g->every_ns) return true;
    g->began_ns = now_ns;
    if (g->every_ns < BEGINS_SELDOM_NS) g->every_ns *= 2;
    return false;
}

/* One look; newly: a worker has just become idle. Workers that become idle say so after a moment, where
 * somebody gives at once; what is a gap is seen then. */
static void look_once(struct orr_hungry *g, bool newly)
{
    const struct orr_appetite *a = &g->appetite;
    struct orr_lend_look look;
    hear_answers(g);
    orr_lend_look(&look, orr_appetite_gap_ns(a));
    orr_appetite_saw(&g->appetite, &look);
    bool soon = newly && is_too_soon(g, look.now_ns),
         asks = orr_borrow_awaits(g->lend, orr_appetite_patience_ns(a));
    bool may = !soon && !asks && look.now_ns >= a->not_before_ns;
    uint32_t count = may ? orr_appetite_wish(a, &look, orr_borrow_to_run(g->lend)) : 0;
    int peer = count > 0 ? whom(g) : -1;
    if (peer >= 0) asks = orr_borrow_ask(g->lend, peer, count);
    uint64_t again_ns =
        soon ? g->began_ns + g->every_ns - look.now_ns : orr_appetite_again_ns(a, &look, asks, count);
    uint64_t back_ns = look.idle > 0 && look.backlog == 0 ? orr_lend_want_back(g->lend) : UINT64_MAX;
    if (back_ns < again_ns) again_ns = back_ns > ORR_HUNGRY_AGAIN_NS ? back_ns : ORR_HUNGRY_AGAIN_NS;
    orr_idle_change(
        (struct orr_idle_terms){ .after_ns = a->giver < 0 ? ORR_HUNGRY_GAP_NS : 0, .again_ns = again_ns });
}

/* Who comes while another looks leaves it to that one. */
static void look_around(struct orr_hungry *g, bool newly)
{
    uint32_t n = 1;
    if (orr_add_acq_rel(&g->looking, n) > 0) return;
    do {
        look_once(g, newly);
        newly = false;
        n = orr_sub_acq_rel(&g->looking, n) - n;
    } while (n > 0);
}

static void ran_dry(struct orr_idle_listener *l, bool again)
{
    look_around((struct orr_hungry *)l, !again);
}

static void were_paused(struct orr_idle_listener *l)
{
    orr_borrow_give_back(((struct orr_hungry *)l)->lend);
}

/* Tasks of others came, or one was run. */
static void has_borrowed(struct orr_hungry *g)
{
    look_around(g, false);
}

/* ---- beginning and end ---- */

static void free_hungry(struct orr_hungry *g)
{
    orr_free(g->asked);
    orr_free(g->surplus);
    orr_free(g);
}

int orr_hungry_start(struct orr_lend *l)
{
    struct orr_hungry *g = orr_calloc(1, sizeof *g);
    if (!g) return -ENOMEM;
    g->surplus = orr_calloc((size_t)l->cluster->size, sizeof *g->surplus);
    g->asked = orr_calloc((size_t)l->cluster->size, sizeof *g->asked);
    if (!g->surplus || !g->asked) {
        free_hungry(g);
        return -ENOMEM;
    }
    g->listener = (struct orr_idle_listener){ .idle = ran_dry, .paused = were_paused };
    g->lend = l;
    g->appetite.giver = -1;
    g->appetite.last = l->cluster->rank;
    g->every_ns = BEGINS_EVERY_NS;
    l->look = has_borrowed;
    orr_store_seq(&l->hungry, g);
    orr_idle_listen(&g->listener,
                    (struct orr_idle_terms){ .after_ns = ORR_HUNGRY_GAP_NS, .again_ns = ORR_HUNGRY_GAP_NS });
    return 0;
}

void orr_hungry_stop(struct orr_lend *l)
{
    struct orr_hungry *g = orr_load_seq(&l->hungry);
    if (!g) return;
    orr_store_seq(&l->hungry, NULL); /* pairs with orr_loan_look */
    orr_idle_unlisten();
    while (orr_load_seq(&l->lookers) > 0) sched_yield();
    free_hungry(g);
}
