/* SPDX-License-Identifier: BSD-3-Clause */
/* given.h: which settings the program gave in its starpu_conf, so that the list of settings tells where each
 * value comes from.
 * Threads: who starts the runtime. Owns: nothing. Not here: what the settings do (their users read
 * starpu_conf themselves), the list (core/base/settings.c). */
#ifndef ORR_RUN_GIVEN_H
#define ORR_RUN_GIVEN_H

#include <starpu.h>

/* The runtime has started with conf: its values are in force where they go before the environment's. With
 * ORRERY_VERBOSE all that is not a default is said. */
void orr_given_start(const struct starpu_conf *conf);
void orr_given_stop(void);

#endif
