/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlock.h: notices that nothing can ever move again, says which tasks wait for what, and ends the program.
 * Threads: one of its own. Owns: that thread. Not here: waiting itself. */
#ifndef ORR_RUN_DEADLOCK_H
#define ORR_RUN_DEADLOCK_H

#include <stdbool.h>

#include "core/base/export.h"

void orr_deadlock_start(void); /* reads ORRERY_ON_DEADLOCK */
void orr_deadlock_stop(void);

/* Somebody outside (another rank) may still make things move: fn is asked, on the watching thread, whenever
 * this process has not moved for two seconds, and while it returns true there is no deadlock; when it returns
 * false there is one, even without a task here. It may take some tenths of a second. At most one; NULL:
 * nobody. Any thread. */
ORR_EXPORT void orr_deadlock_excuse(bool (*fn)(void));

#endif
