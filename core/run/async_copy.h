/* SPDX-License-Identifier: BSD-3-Clause */
/* async_copy.h: whether copies between memory nodes are made in the background.
 * Threads: init by the main thread. Owns: nothing (orr_foreground_kinds is in core/mem).
 * Not here: copying. */
#ifndef ORR_RUN_ASYNC_COPY_H
#define ORR_RUN_ASYNC_COPY_H

#include <starpu.h>

void orr_async_copy_init(const struct starpu_conf *conf); /* before memory nodes are used */

#endif
