/* SPDX-License-Identifier: BSD-3-Clause */
/* victim.h: the program's function that chooses which copy makes room.
 * Threads: any; no locks held. Owns: nothing. Not here: the order without one (eviction.c). */
#ifndef ORR_DATA_VICTIM_H
#define ORR_DATA_VICTIM_H

#include <starpu.h>
#include <stdbool.h>

#include "core/base/sync.h"
#include "core/data/data.h"
#include "core/data/transfer.h"

/* NULL: there is none. */
extern starpu_data_victim_selector *_Atomic orr_victim_selector;

/* Its choice for a node where to_load (NULL: nothing in particular) needs room: a handle,
 * STARPU_DATA_NO_VICTIM, or NULL: it has no opinion. */
struct orr_data *orr_victim_choose(struct orr_data *to_load, unsigned node, bool prefetch);
/* It answered STARPU_DATA_NO_VICTIM to a wish. Whether that has lasted for so long that the order decides: a
 * second in which nobody used what could go, or three; less each time, until it gives something. Who waits
 * for memory would wait for ever. The first time that is said. */
bool orr_victim_overruled(const struct orr_wish *w);
/* It gave something (by itself), or something goes against its word: time begins anew. */
void orr_victim_denial_over(unsigned node, bool by_itself);
/* h, which it chose, cannot leave now. */
void orr_victim_stays(struct orr_data *h);
/* At shutdown. */
void orr_victim_forget(void);

#endif
