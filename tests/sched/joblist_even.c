/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/sched/joblist_cases.h: random programs under every second policy. Threads, Owns, Not here: see
 * there. */
#define JOBLIST_POLICIES 0
#include "tests/sched/joblist_cases.h"
