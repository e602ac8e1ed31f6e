/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: the spine: what happens to tasks, data, messages and workers is told to observers through here.
 * Threads: any; an observer is called on the thread where something happens. Owns: the table of observers.
 * Not here: what can happen (event.def), keeping it (recorder.h), who observes (core/run/observers.def).
 *
 * Who tells knows no observer. While nobody wants a kind, telling it is a load of orr_events, which is read
 * often and seldom written, and a branch. */
#ifndef ORR_BASE_EVENT_H
#define ORR_BASE_EVENT_H

#include "core/base/export.h"
#include "core/base/sync.h"

enum orr_event_kind {
#define EVENT(group, KIND, words, subject, a, b, c) ORR_EVENT_##KIND,
#include "core/base/event.def"
#undef EVENT
    ORR_EVENT_KINDS
};
_Static_assert(ORR_EVENT_KINDS <= 64, "a set of kinds is a word");

enum orr_event_group {
    ORR_EVENTS_TASKS,
    ORR_EVENTS_DEPENDENCIES,
    ORR_EVENTS_DATA,
    ORR_EVENTS_TRANSFERS,
    ORR_EVENTS_WORKERS,
    ORR_EVENTS_CONTEXTS,
    ORR_EVENTS_MESSAGES,
    ORR_EVENTS_USER
};

#define ORR_EVENT_BIT(KIND) (UINT64_C(1) << ORR_EVENT_##KIND)

/* The kinds of a group. */
static inline uint64_t orr_events_of(enum orr_event_group wanted)
{
    uint64_t kinds = 0;
#define EVENT(group, KIND, words, subject, a, b, c)                                                          \
    if (wanted == ORR_EVENTS_##group) kinds |= ORR_EVENT_BIT(KIND);
#include "core/base/event.def"
#undef EVENT
    return kinds;
}

enum { ORR_PASSED_DECLINED = UINT16_MAX }; /* MESSAGE_PASSED */

/* ---- for those who tell ---- */

struct orr_events {
    ORR_ALIGNED_LINE _Atomic uint64_t wanted; /* bit: somebody wants that kind [lock: table, read by any] */
};
#ifdef ORR_EVENTS_FROM_CORE /* in liborrery-mpi (mpi/wire/event.h) */
extern ORR_EXPORT struct orr_events orr_events_of_core;
#define ORR_EVENTS_WANTED orr_events_of_core.wanted
#else
extern struct orr_events orr_events;
#define ORR_EVENTS_WANTED orr_events.wanted
#endif

static inline bool orr_events_wanted(uint64_t kinds)
{
    return (orr_load_relaxed(&ORR_EVENTS_WANTED) & kinds) != 0;
}

/* Tells who wants this kind, whether it was asked for or not. Any thread. */
ORR_EXPORT void orr_event_tell(enum orr_event_kind kind, const void *subject, uint64_t a, uint64_t b,
                               uint64_t c);

/* Something happened; the values are computed only if somebody wants to know. */
#define ORR_EVENT(KIND, subject, a, b, c)                                                                    \
    do                                                                                                       \
        if (orr_unlikely(orr_events_wanted(ORR_EVENT_BIT(KIND))))                                            \
            orr_event_tell(ORR_EVENT_##KIND, (subject), (uint64_t)(a), (uint64_t)(b), (uint64_t)(c));        \
    while (0)

/* "task submitted" for TASK_SUBMITTED. */
const char *orr_event_name(enum orr_event_kind kind);

/* ---- for observers ---- */

struct orr_seen {
    enum orr_event_kind kind;
    const void *subject;
    uint64_t a, b, c; /* event.def says what they are */
};

/* What it does must not block, and neither must what it calls; of what it causes itself, on its thread, it is
 * not told, unless it nests. Observers are called in the order in which they were added. */
struct orr_observer {
    const char *name;
    void (*see)(struct orr_observer *o, const struct orr_seen *e);
    /* Of those in core/run/observers.def: when the runtime starts, and at its end. NULL: nothing. */
    void (*start)(struct orr_observer *o);
    void (*stop)(struct orr_observer *o);
    bool nests; /* it is told of what it causes, too */
    /* It calls functions of the program: who is inside of one is not stuck, and must not block others. */
    bool calls_program;
    uint64_t kinds; /* that it wants; before it is added, then by orr_observer_want [lock: table] */
    int place;      /* [lock: table] 1 + where it is in the table; negative: where it was; 0: it never was */
};

/* o is told from now on. 0, or -ENOSPC: there are too many. The others hear of nothing but of what begins
 * after. */
ORR_EXPORT int orr_observer_add(struct orr_observer *o);
/* o, which was added, wants these kinds from now on. It may still be told what is just being told. */
ORR_EXPORT void orr_observer_want(struct orr_observer *o, uint64_t kinds);
/* o is told nothing more. True: nobody is in o->see any more, so that it may go away. False, only where an
 * observer calls this, which must not wait for others: somebody may still be; the same call tells later,
 * elsewhere. */
ORR_EXPORT bool orr_observer_remove(struct orr_observer *o);

#endif
