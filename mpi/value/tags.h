/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.h: ranges of data tags, handed out alike on all ranks.
 * Threads: any. Owns: the list of ranges. Not here: what tags are for (ownership.h). */
#ifndef ORR_MPI_TAGS_H
#define ORR_MPI_TAGS_H

#include <stdint.h>

int64_t orr_tags_allocate(int64_t count); /* the first of the lowest free range; -EINVAL, -ENOMEM */
void orr_tags_free(int64_t first);
int64_t orr_tags_next(void); /* what an allocation of one would return */
void orr_tag_ranges_fini(void);

#endif
