/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlock.h: notices that nothing can ever move again, says which tasks wait for what, and ends the program.
 * Threads: one of its own. Owns: that thread. Not here: waiting itself. */
#ifndef ORR_RUN_DEADLOCK_H
#define ORR_RUN_DEADLOCK_H

#include <stdbool.h>

#include "core/base/export.h"

void orr_deadlock_start(void); /* reads ORRERY_ON_DEADLOCK */
void orr_deadlock_stop(void);

/* Somebody outside (a message under way) may still make things move: while fn returns true there is no deadlock. At most
 * one; NULL: nobody. Any thread. */
ORR_EXPORT void orr_deadlock_excuse(bool (*fn)(void));

#endif
