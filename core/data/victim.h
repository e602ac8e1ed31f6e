/* SPDX-License-Identifier: BSD-3-Clause */
/* victim.h: the program's function that chooses which copy makes room.
 * Threads: any; no locks held. Owns: nothing. Not here: the order without one (eviction.c). */
#ifndef ORR_DATA_VICTIM_H
#define ORR_DATA_VICTIM_H

#include <starpu.h>
#include <stdbool.h>

#include "core/base/sync.h"
#include "core/data/data.h"

/* NULL: there is none. */
extern starpu_data_victim_selector *_Atomic orr_victim_selector;

/* Its choice for a node where to_load (NULL: nothing in particular) needs room: a handle,
 * STARPU_DATA_NO_VICTIM, or NULL: it has no opinion. */
struct orr_data *orr_victim_choose(struct orr_data *to_load, unsigned node, bool prefetch);
/* h, which it chose, cannot leave now. */
void orr_victim_stays(struct orr_data *h);
/* At shutdown. */
void orr_victim_forget(void);

#endif
