/* SPDX-License-Identifier: BSD-3-Clause */
/* prof_tool.h: profiling tools (starpu_profiling_tool.h), at start and stop.
 * Threads: that of init or shutdown. Owns: nothing. Not here: what tools see. */
#ifndef ORR_RUN_PROF_TOOL_H
#define ORR_RUN_PROF_TOOL_H

#include <starpu.h>

/* Loads the tools that STARPU_PROF_TOOL names, before workers start. What cannot be loaded is told and left
 * out. */
void orr_prof_tools_open(struct starpu_conf *conf);
/* Workers have started. */
void orr_prof_tools_started(struct starpu_conf *conf);
/* Workers have ended, or never started; does nothing without tools. */
void orr_prof_tools_close(void);

#endif
