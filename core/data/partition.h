/* SPDX-License-Identifier: BSD-3-Clause */
/* partition.h: what submission asks of partitioning: that the data of a task be usable when its turn comes.
 * Threads: the program's submitting thread. Owns: nothing. Not here: the public functions
 * (starpu_data_filters.h). */
#ifndef ORR_DATA_PARTITION_H
#define ORR_DATA_PARTITION_H

#include "core/data/data.h"

/* Submits the switches between parents and children that an access in this mode needs, when h is part of a
 * plan (h->planned). Called before the access joins the queue of h. Does not block. */
void orr_partition_switch(struct orr_data *h, int mode);

/* How many plans, made by starpu_data_partition_plan and not yet cleaned, h has. */
unsigned orr_partition_plans(const struct orr_data *h);

#endif
