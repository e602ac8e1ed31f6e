/* SPDX-License-Identifier: BSD-3-Clause */
/* starving.h: what the deadlock detector asks about transfers: whether all that are under way wait for memory
 * that nobody gives back, and which they are.
 * Threads: any. Owns: nothing. Not here: serving them (hungry.c), the tasks behind them
 * (core/run/deadlock.c). */
#ifndef ORR_DATA_STARVING_H
#define ORR_DATA_STARVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/data/data.h"

/* Whether transfers are under way, and each of them waits for memory of a device, and every way to serve one
 * was tried since memory was last given back. Only those that use memory there can change that. */
bool orr_transfers_starve(void);

/* Changes whenever a transfer gets memory, ends, or is thrown out. */
uint64_t orr_transfers_movement(void);

/* One that waits for memory, or one copy that somebody uses on a node where others wait. */
struct orr_starving {
    struct orr_data *handle; /* its waiter, or user, keeps it from being destroyed */
    unsigned node;
    size_t bytes;
    bool loading; /* a task waits for it; else the program */
    /* What the task that has the turn to load on the node gave as arg of its fetches (an orr_input_load),
     * which may be over by now; NULL: none has it. */
    const void *load;
};
/* Writes at most max of them, and returns how many there are. */
unsigned orr_starving_list(struct orr_starving *out, unsigned max);
unsigned orr_starving_holders(unsigned node, struct orr_starving *out, unsigned max);

#endif
