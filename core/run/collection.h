/* SPDX-License-Identifier: BSD-3-Clause */
/* collection.h: sets of workers that policies walk, one for each scheduling context.
 * Threads: changed while workers are halted. Owns: nothing. Not here: the methods (collection.c). */
#ifndef ORR_RUN_COLLECTION_H
#define ORR_RUN_COLLECTION_H

#include <starpu.h>

/* An empty collection; NULL: out of memory. */
struct starpu_worker_collection *orr_collection_create(enum starpu_worker_collection_type type);
void orr_collection_destroy(struct starpu_worker_collection *c); /* NULL: nothing */

#endif
