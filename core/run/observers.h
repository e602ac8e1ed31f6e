/* SPDX-License-Identifier: BSD-3-Clause */
/* observers.h: the library's own observers start and stop with the runtime.
 * Threads: that which starts or stops the runtime. Owns: which there are (observers.def). Not here: how they
 * are told (core/base/event.h). */
#ifndef ORR_RUN_OBSERVERS_H
#define ORR_RUN_OBSERVERS_H

/* When there are contexts, and before workers start; when workers have stopped. */
void orr_observers_start(void);
void orr_observers_stop(void);

#endif
