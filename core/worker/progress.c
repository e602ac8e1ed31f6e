/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: functions that idle workers and blocked threads call.
 * Threads: any. Owns: the list of them. Not here: what they move: messages, transfers. */
#include "core/worker/worker.h"

#include <errno.h>

/* Who polls may still look at a function that was unregistered: its entry never changes, and is used again
 * for the same function and argument alone. */
enum { PROGRESS_MAX = 64, KNOWN_MAX = 256 };
static struct {
    _Atomic uint32_t count; /* of entries, up to the last that is set; NULL: free */
    _Atomic(const struct orr_progress *) entry[PROGRESS_MAX];
    struct orr_progress known[KNOWN_MAX]; /* [lock, and then const] all that there ever were */
    unsigned nknown;                      /* [lock] */
    ORR_MUTEX(progress) lock;             /* protects registration; leaf */
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool blocked_poll(void)
{
    return orr_progress_poll();
}

static bool is_same(const struct orr_progress *a, const struct orr_progress *b)
{
    return a->poll == b->poll && a->arg == b->arg;
}

/* The one that stands for p for ever; NULL: there is no room. Called with the lock held. */
static const struct orr_progress *know_locked(const struct orr_progress *p)
{
    for (unsigned i = 0; i < progress.nknown; i++)
        if (is_same(&progress.known[i], p)) return &progress.known[i];
    if (progress.nknown == KNOWN_MAX) return NULL;
    progress.known[progress.nknown] = *p;
    return &progress.known[progress.nknown++];
}

int orr_progress_register(struct orr_progress p)
{
    pthread_mutex_lock(&progress.lock);
    uint32_t n = orr_load_relaxed(&progress.count), at = 0;
    while (at < n && orr_load_relaxed(&progress.entry[at])) at++;
    const struct orr_progress *known = at < PROGRESS_MAX ? know_locked(&p) : NULL;
    if (known) {
        orr_store_release(&progress.entry[at], known); /* pairs with orr_progress_poll */
        orr_store_release(&progress.count, at < n ? n : at + 1);
        orr_store_release(&orr_blocked_poll, blocked_poll);
    }
    pthread_mutex_unlock(&progress.lock);
    return known ? 0 : -ENOSPC;
}

void orr_progress_unregister(struct orr_progress p)
{
    pthread_mutex_lock(&progress.lock);
    uint32_t n = orr_load_relaxed(&progress.count);
    for (uint32_t i = 0; i < n; i++) {
        const struct orr_progress *known = orr_load_relaxed(&progress.entry[i]);
        if (known && is_same(known, &p)) orr_store_release(&progress.entry[i], NULL);
    }
    while (n > 0 && !orr_load_relaxed(&progress.entry[n - 1])) n--;
    orr_store_release(&progress.count, n);
    if (n == 0) orr_store_release(&orr_blocked_poll, NULL);
    pthread_mutex_unlock(&progress.lock);
}

bool orr_progress_poll(void)
{
    bool moved = false;
    uint32_t n = orr_load_acquire(&progress.count);
    for (uint32_t i = 0; i < n; i++) {
        const struct orr_progress *p = orr_load_acquire(&progress.entry[i]);
        if (p) moved |= p->poll(p->arg);
    }
    return moved;
}
