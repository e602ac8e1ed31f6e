/* SPDX-License-Identifier: BSD-3-Clause */
/* watchman.c: see watchman.h.
 * Threads: see there. Owns: who looks. Not here: what waits, and who may take it: the policy says so. */
#include "sched/watchman.h"

enum { QUIET_LOOKS = 16 };

static bool is_parked(unsigned w)
{
    return orr_load_seq(&orr_parking.who[w / 64]) >> (w % 64) & 1;
}

/* The last one that sleeps: the first is woken next. One that was woken meanwhile is none; others may have
 * gone to sleep believing that it is: the search begins anew. */
void orr_watchman_appoint(struct orr_watchman *m)
{
    for (unsigned w = orr_worker_count; w-- > 0;) {
        uint32_t nobody = 0, it = w + 1;
        if (!orr_ctx_has(m->ctx, w) || !is_parked(w)) continue;
        if (!orr_cas_seq(&m->is, &nobody, it) || orr_watch_appoint(&orr_workers[w])) return;
        orr_cas_seq(&m->is, &it, 0);
        w = orr_worker_count;
    }
}

/* One that is idle takes what it was given by itself. */
static void note_slow(struct orr_watchman *m)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        if (!orr_ctx_has(m->ctx, i)) continue;
        uint64_t run = orr_load_relaxed(&w->tasks_run);
        if (run == m->pace[i].seen && !orr_load_relaxed(&w->idle_shown))
            orr_store_relaxed(&m->pace[i].slow_at, run + 1);
        m->pace[i].seen = run;
    }
}

bool orr_watchman_begins(struct orr_watchman *m, const struct orr_worker *w)
{
    if (orr_load_seq(&m->is) != (uint32_t)w->id + 1) return false;
    note_slow(m);
    return true;
}

bool orr_watchman_goes_on(struct orr_watchman *m, void *instance, orr_watchman_waits_fn waits,
                          const struct orr_worker *w, bool watches)
{
    uint32_t nobody = 0, me = (uint32_t)w->id + 1;
    if (!watches) watches = waits(instance) && orr_cas_seq(&m->is, &nobody, me);
    if (!watches) return false;
    m->quiet = waits(instance) ? 0 : m->quiet + 1;
    if (m->quiet < QUIET_LOOKS) return true;
    orr_store_seq(&m->is, 0u);
    nobody = 0;
    return waits(instance) && orr_cas_seq(&m->is, &nobody, me);
}

struct orr_task *orr_watchman_look(struct orr_watchman *m, void *instance, orr_watchman_waits_fn waits,
                                   orr_watchman_take_fn take, struct orr_worker *w, bool *again_out)
{
    bool watches = orr_watchman_begins(m, w);
    struct orr_task *t = take(instance, w);
    *again_out = t ? watches : orr_watchman_goes_on(m, instance, waits, w, watches);
    return t;
}

void orr_watchman_leaves(struct orr_watchman *m, void *instance, orr_watchman_waits_fn waits,
                         struct orr_worker *w)
{
    uint32_t me = (uint32_t)w->id + 1;
    if (orr_cas_seq(&m->is, &me, 0) && waits(instance)) orr_watchman_appoint(m);
}
