/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/sched/joblist_cases.h: under the other policies. Threads, Owns, Not here: see there. */
#define JOBLIST_POLICIES 1
#include "tests/sched/joblist_cases.h"
