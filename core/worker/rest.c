/* SPDX-License-Identifier: BSD-3-Clause */
/* rest.c: whether threads that seem to wait do.
 * Threads: the deadlock detector's. Owns: what was seen of each thread. Not here: whether they seem to
 * (census.c), what follows (core/run/deadlock.c).
 *
 * A thread counts as blocked until it runs again: one whose wait is over, and that has no core yet, looks
 * like one that waits for others, for seconds on a busy machine. So no time proves that it waits; these do:
 * it looks again and again whether its wait is over, and has done so meanwhile; or it sleeps, as the system
 * says, on a futex as all that wait here do, and has not run in between, so nobody has woken it. One that the
 * program's signals wake again and again must be found so each time; in their handlers it may sleep, but
 * elsewhere. Workers are counted by who wakes them, and need to be seen asleep once. That is asked for twice:
 * in the first round a late thread may have done what nothing counts. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/worker/own.h"

enum { ROUNDS = 2, LOOKS_WANTED = 2, NAPS_WANTED = 5, STATUS_BYTES = 4096 };

/* [lock: registry] but for is_worker. */
struct rest {
    _Atomic bool is_worker; /* [own, read here] */
    bool seen;              /* to rest, in this round */
    uint32_t round;         /* that what follows was seen in */
    uint32_t looks;         /* when it began */
    unsigned long switches; /* of the thread, from and to a core, when it was looked at last */
    unsigned naps;          /* how often it was asleep, and had run since */
};

/* [own: the detector] */
static uint32_t round_now; /* 0: none was ever begun */
static unsigned rounds_over;
static bool begun;

struct sight {
    uint32_t looks;
    bool asleep;
    unsigned long switches;
};

static struct rest *rest_of(struct orr_thread *t)
{
    return orr_thread_room(t, rest, struct rest);
}

void orr_rest_is_worker(void)
{
    orr_store_relaxed(&rest_of(orr_self())->is_worker, true);
}

static unsigned long number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

static bool is_worker(struct orr_thread *t)
{
    return orr_load_relaxed(&rest_of(t)->is_worker);
}

/* Reads what the system says of t into text; false: nothing. */
static bool ask(const struct orr_thread *t, const char *what, char text[STATUS_BYTES])
{
    snprintf(text, STATUS_BYTES, "/proc/self/task/%d/%s", t->number, what);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, STATUS_BYTES - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Where the system says nothing, t sleeps, and on a futex. */
static struct sight look_at(struct orr_thread *t)
{
    struct sight s = { .looks = orr_load_acquire(&t->looks), .asleep = true };
    char text[STATUS_BYTES];
    if (!is_worker(t) && ask(t, "syscall", text)) s.asleep = orr_futex_is(strtol(text, NULL, 10));
    const char *state = ask(t, "status", text) ? strstr(text, "\nState:\t") : NULL;
    if (!state) return s;
    s.asleep &= state[8] == 'S';
    s.switches = number_after(text, "\nvoluntary_ctxt_switches:") +
                 number_after(text, "\nnonvoluntary_ctxt_switches:");
    return s;
}

/* A thread in a method of the program's policy is looked at elsewhere. */
static bool must_rest(struct orr_thread *t)
{
    if (orr_method_is_inside(orr_method_of(t))) return false;
    return is_worker(t) || (!orr_load_relaxed(&t->exempt) && orr_load_acquire(&t->blocked) > 0);
}

static void begin_round_locked(struct orr_thread *threads)
{
    round_now++;
    for (struct orr_thread *t = threads; t; t = t->next) {
        if (!must_rest(t)) continue;
        struct sight s = look_at(t);
        struct rest *r = rest_of(t);
        r->round = round_now;
        r->seen = false;
        r->looks = s.looks;
        r->switches = s.switches;
        r->naps = 0;
    }
}

/* False: it has done something else, and the round begins anew. */
static bool goes_on_locked(struct orr_thread *t)
{
    struct sight s = look_at(t);
    struct rest *r = rest_of(t);
    if (r->round != round_now) return false;
    if (is_worker(t) || s.looks % 2) {
        r->seen |= is_worker(t) ? s.asleep : s.looks - r->looks >= 2 * LOOKS_WANTED;
        return is_worker(t) || r->looks % 2;
    }
    if (!s.asleep || s.looks != r->looks) return false;
    r->naps += s.switches != r->switches;
    r->seen |= s.switches == r->switches || r->naps == NAPS_WANTED;
    r->switches = s.switches;
    return true;
}

void orr_rest_forget(void)
{
    rounds_over = 0;
    begun = false;
}

bool orr_rest_look(void)
{
    bool all = true, undisturbed = true;
    if (rounds_over >= ROUNDS) return true;
    struct orr_thread *threads = orr_threads_lock();
    for (struct orr_thread *t = threads; begun && t && undisturbed; t = t->next) {
        if (!must_rest(t)) continue;
        undisturbed = goes_on_locked(t);
        all &= rest_of(t)->seen;
    }
    bool over = begun && undisturbed && all;
    rounds_over += over;
    if (!begun || !undisturbed || (over && rounds_over < ROUNDS)) begin_round_locked(threads);
    begun = true;
    orr_threads_unlock();
    return rounds_over >= ROUNDS;
}
