/* SPDX-License-Identifier: BSD-3-Clause */
/* victim.c: the program's function that chooses which copy makes room.
 * Threads: any. Owns: that function, and how long it has refused (orr_memory.denial). Not here: what happens
 * to the copy (eviction.c). */
#include "core/data/victim.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/code.h"
#include "core/base/log.h"

static starpu_data_victim_eviction_failed *_Atomic told_failed;
static void *_Atomic selector_data;
starpu_data_victim_selector *_Atomic orr_victim_selector;

void starpu_data_register_victim_selector(starpu_data_victim_selector selector,
                                          starpu_data_victim_eviction_failed evicted, void *data)
{
    orr_store_seq(&orr_victim_selector, NULL);
    orr_store_relaxed(&told_failed, evicted);
    orr_store_relaxed(&selector_data, data);
    orr_store_release(&orr_victim_selector, selector); /* pairs with orr_victim_choose */
}

struct orr_data *orr_victim_choose(struct orr_data *to_load, unsigned node, bool prefetch)
{
    starpu_data_victim_selector *choose = orr_load_acquire(&orr_victim_selector);
    return choose ? choose(to_load, node, prefetch ? STARPU_PREFETCH : STARPU_FETCH,
                           orr_load_relaxed(&selector_data))
                  : NULL;
}

/* ---- when it gives nothing ---- */

enum {
    PATIENCE_US = 1000000,
    PATIENCE_MIN_US = 1000,
    LESS_EACH_TIME = 8,
    LONGER_IN_USE = 3,
    STEP_US = 20000
};

static const char *name_selector(char *buf, size_t bytes)
{
    union { /* a function's address as an object's */
        starpu_data_victim_selector *fn;
        const void *address;
    } at = { orr_load_relaxed(&orr_victim_selector) };
    return orr_code_name(at.address, false, buf, bytes);
}

static void say_overruled(const struct orr_wish *w, double seconds, bool in_use)
{
    char name[256], label[64], whom[128] = "";
    if (w->handle)
        snprintf(whom, sizeof whom, " for data %s", orr_data_label(w->handle, label, sizeof label));
    orr_warn(
        "memory node %u (%s): the victim selector %s (starpu_data_register_victim_selector) has answered "
        "STARPU_DATA_NO_VICTIM for %.1f s to who waits for %zu bytes%s, %s; what was used longest ago "
        "goes instead, now and, sooner, when that happens again. Have it return data, or NULL, when "
        "nothing that is under way could make room",
        w->node, orr_nodes[w->node].name, name_selector(name, sizeof name), seconds, w->bytes, whom,
        in_use ? "and nobody gave back what is in use there" : "although nothing there is in use");
}

/* Whether others than who wishes use anything that is to stay. */
static bool others_use_locked(struct orr_memory *m, const struct orr_wish *w)
{
    if (m->copying) return true;
    for (struct orr_chunk *c = m->first; c; c = c->next) {
        if (orr_own_set_has(w->own, c->handle, w->node)) continue;
        if (!orr_spin_try(&c->handle->queue.lock)) return true; /* the other order of locks: never wait */
        bool used = c->handle->replicates[w->node].users > 0;
        orr_spin_unlock(&c->handle->queue.lock);
        if (used) return true;
    }
    return false;
}

static uint64_t patience_ticks(const struct orr_denial *d)
{
    uint64_t us = PATIENCE_US;
    for (unsigned i = 0; i < d->times && us > PATIENCE_MIN_US; i++) us /= LESS_EACH_TIME;
    return orr_us_to_ticks((double)(us > PATIENCE_MIN_US ? us : PATIENCE_MIN_US));
}

bool orr_victim_overruled(const struct orr_wish *w)
{
    if (!w->waits) return false;
    struct orr_memory *m = &orr_memories[w->node];
    struct orr_denial *d = &m->denial;
    orr_spin_lock(&m->lock);
    uint64_t now = orr_ticks(), most = orr_us_to_ticks(STEP_US); /* with the lock; clocks of cores differ */
    if (!d->who) d->who = w->who;
    /* A process that was stopped has not waited: it counts by steps. */
    uint64_t step = d->last_ticks && now > d->last_ticks ? now - d->last_ticks : 0,
             patience = patience_ticks(d);
    bool in_use = others_use_locked(m, w);
    step = step < most ? step : most;
    d->last_ticks = now;
    d->ticks += step;
    d->unused_ticks = in_use ? 0 : d->unused_ticks + step;
    bool over = d->unused_ticks >= patience || d->ticks >= LONGER_IN_USE * patience;
    if (over && !d->over) d->times++;
    bool says = over && !d->said;
    double seconds = orr_ticks_to_us(d->ticks) / 1e6;
    d->over |= over;
    d->said |= says;
    over = d->over;
    orr_spin_unlock(&m->lock);
    if (says) say_overruled(w, seconds, in_use);
    return over;
}

void orr_victim_denial_over(unsigned node, bool by_itself)
{
    struct orr_memory *m = &orr_memories[node];
    struct orr_denial *d = &m->denial;
    orr_spin_lock(&m->lock);
    *d = (struct orr_denial){ .times = by_itself ? 0 : d->times, .said = d->said };
    orr_spin_unlock(&m->lock);
}

void orr_victim_stays(struct orr_data *h)
{
    starpu_data_victim_eviction_failed *tell = orr_load_relaxed(&told_failed);
    if (tell) tell(h, orr_load_relaxed(&selector_data));
}

void orr_victim_forget(void)
{
    starpu_data_register_victim_selector(NULL, NULL, NULL);
}
