/* SPDX-License-Identifier: BSD-3-Clause */
/* observers.c: see observers.h.
 * Threads: see there. Owns: see there. Not here: see there. */
#include "core/run/observers.h"

#include "core/base/event.h"
#include "core/base/log.h"

#define OBSERVER(name) extern struct orr_observer orr_##name##_observer;
#include "core/run/observers.def"
#undef OBSERVER

static struct orr_observer *const all[] = {
#define OBSERVER(name) &orr_##name##_observer,
#include "core/run/observers.def"
#undef OBSERVER
};
enum { COUNT = sizeof all / sizeof all[0] };

void orr_observers_start(void)
{
    for (int i = 0; i < COUNT; i++) {
        if (all[i]->place <= 0 && orr_observer_add(all[i]))
            orr_error("the table of observers is full: %s does without", all[i]->name);
        if (all[i]->start) all[i]->start(all[i]);
    }
}

void orr_observers_stop(void)
{
    for (int i = 0; i < COUNT; i++) {
        if (all[i]->stop) all[i]->stop(all[i]);
        if (!(all[i]->kinds & ~ORR_EVENT_BIT(CONTEXT_OPENED))) orr_observer_remove(all[i]);
    }
}
