/* SPDX-License-Identifier: BSD-3-Clause */
/* strangers.h: threads of this process that the runtime does not know, and that may act on it all the same.
 * Threads: the deadlock detector's. Owns: nothing. Not here: threads that called the runtime
 * (core/base/thread.h). */
#ifndef ORR_RUN_STRANGERS_H
#define ORR_RUN_STRANGERS_H

enum { ORR_STRANGERS_BYTES = 256 };

struct orr_strangers {
    unsigned count;                  /* 0: every thread that could act is known */
    char names[ORR_STRANGERS_BYTES]; /* number and name of the first, for a message */
};

/* Looks at every thread of the process. One is no stranger when it has called the runtime, is declared
 * passive (orrery_thread_passive), has ended, or certainly belongs to a library whose threads do nothing of
 * their own. */
struct orr_strangers orr_strangers_look(void);

#endif
