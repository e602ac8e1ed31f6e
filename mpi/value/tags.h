/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.h: ranges of data tags, handed out alike on all ranks.
 * Threads: any. Owns: its part of struct orr_value. Not here: what tags are for (ownership.h). */
#ifndef ORR_MPI_TAGS_H
#define ORR_MPI_TAGS_H

#include <stdint.h>

#include "mpi/value/value.h"

int64_t orr_tags_allocate(struct orr_value *v,
                          int64_t count); /* the first of the lowest free range; -EINVAL, -ENOMEM */
void orr_tags_free(struct orr_value *v, int64_t first);
int64_t orr_tags_next(struct orr_value *v); /* what an allocation of one would return */
void orr_tag_ranges_fini(struct orr_value *v);

#endif
