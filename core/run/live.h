/* SPDX-License-Identifier: BSD-3-Clause */
/* live.h: what a running process shows of itself: its page for orrery_top and orrery_why, SIGUSR1, and
 * ORRERY_PROGRESS. Threads: one of its own, which sleeps until somebody asks. Owns: that thread, the page.
 * Not here: the page's layout (core/base/livepage.h), the numbers (gather.h), the line (progress.h). */
#ifndef ORR_RUN_LIVE_H
#define ORR_RUN_LIVE_H

struct starpu_conf;

/* After the workers have started; before they stop. What cannot be had is left out: the runtime starts
 * nevertheless. */
void orr_live_start(const struct starpu_conf *conf);
void orr_live_stop(void);

#endif
