/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: how far the run is, in a line for people (ORRERY_PROGRESS).
 * Threads: the live thread. Owns: what the last line said, the pages of the node's other ranks. Not here: the
 * numbers (gather.h), when a line is due (live.c). */
#ifndef ORR_RUN_PROGRESS_H
#define ORR_RUN_PROGRESS_H

#include "core/base/livepage.h"

/* Reads the settings. Whether lines are wanted of this process: it is the first of its node's ranks.
 * *every_ms_out: how often. */
bool orr_progress_line_start(int64_t *every_ms_out);
/* Draws or prints the line. last: it stays. */
void orr_progress_line(const struct orr_live_sums *own, unsigned workers, bool last);
void orr_progress_line_stop(void);

#endif
