/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: how far the run is, in a line for people (ORRERY_PROGRESS).
 * Threads: the live thread. Owns: what the last line said, the pages of the node's other ranks. Not here: the
 * numbers (gather.h), when a line is due (live.c). */
#ifndef ORR_RUN_PROGRESS_H
#define ORR_RUN_PROGRESS_H

#include "core/base/livepage.h"

/* Reads the settings. Whether lines are wanted. *every_ms_out: how often. */
bool orr_progress_line_start(int64_t *every_ms_out);
/* Draws or prints the line, if this is the first of its node's ranks that are there still. own: its numbers,
 * as its page has them. stop: it is not called again; what the last of the ranks says then stays. */
void orr_progress_line(struct orr_live_page *page, const struct orr_live_sums *own, bool stop);
void orr_progress_line_stop(void);

#endif
