/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlock.h: notices that nothing can ever move again, says which tasks wait for what, and ends the program.
 * Threads: one of its own. Owns: that thread. Not here: waiting itself. */
#ifndef ORR_RUN_DEADLOCK_H
#define ORR_RUN_DEADLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/export.h"
#include "core/run/waits.h"

struct orr_data;

void orr_deadlock_start(void); /* reads ORRERY_ON_DEADLOCK */
void orr_deadlock_stop(void);

enum orr_verdict {
    ORR_MAY_MOVE,
    ORR_STUCK,        /* for certain */
    ORR_STUCK_PERHAPS /* but for threads that the runtime does not know, here or elsewhere */
};

/* Other ranks, who may still make things move here. All are called on the watching thread, with the table
 * itself, which is part of what they need. */
struct orr_deadlock_outside {
    /* A number that changes whenever a message moves. */
    uint64_t (*movement)(const struct orr_deadlock_outside *self);
    /* Asked whenever nothing has moved here for 1.5 s, now and then; sure: no thread here could act. Whether
     * the others may still move; if not it is a deadlock, even without a task here, and what this rank waits
     * for was said. Some tenths of a second. */
    enum orr_verdict (*verdict)(const struct orr_deadlock_outside *self, bool sure);
    /* Ends this process, once the others have said what they wait for. */
    void (*end)(const struct orr_deadlock_outside *self);
    /* Whether h is held by something from outside; text: what ("the receive of ..."). */
    bool (*holder)(const struct orr_deadlock_outside *self, struct orr_data *h, char *text, size_t bytes);
    /* The same, as a node of the graph is called ("receive of ..."). */
    bool (*node)(const struct orr_deadlock_outside *self, struct orr_data *h, char *text, size_t bytes);
    /* How many things from outside wait for data that the program has acquired; print: warns of each. */
    unsigned (*held)(const struct orr_deadlock_outside *self, bool print);
};
/* The latest counts, borrowed until it is over, and beyond by a look that has begun. Any thread. */
ORR_EXPORT void orr_deadlock_outside(const struct orr_deadlock_outside *outside);
ORR_EXPORT void orr_deadlock_outside_over(const struct orr_deadlock_outside *outside);
/* For verdict: whether still nothing has moved here, and everybody waits. */
ORR_EXPORT bool orr_deadlock_still(void);
/* Who has h at a deadlock, for a line about somebody who waits for it:
 * "which ... has". The watching thread. */
struct orr_data;
ORR_EXPORT void orr_deadlock_holder(struct orr_data *h, char *text, size_t bytes);
/* The same of data that the program acquired at `at`, in its code. Any thread. */
ORR_EXPORT void orr_deadlock_program_holds(const void *at, char *text, size_t bytes);
/* Adds the tasks that wait here, and for what; names of nodes begin with prefix. The watching thread. */
ORR_EXPORT void orr_deadlock_graph(struct orr_waits *w, const char *prefix);
/* Adds that the node waits for who has h. The watching thread. */
ORR_EXPORT void orr_deadlock_graph_data(struct orr_waits *w, const char *prefix, const char *node,
                                        struct orr_data *h);

#endif
