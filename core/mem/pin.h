/* SPDX-License-Identifier: BSD-3-Clause */
/* pin.h: main memory that stays where it is, so that devices copy from and to it by themselves.
 * Threads: any, but where it says main. Owns: what is pinned. Not here: how a device does it (node.h). */
#ifndef ORR_MEM_PIN_H
#define ORR_MEM_PIN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/sync.h"

/* Whether a device profits, and the environment lets it (STARPU_DISABLE_PINNING); false while the runtime is
 * down. [any: changes at start and stop] */
extern _Atomic bool orr_pinning;

/* When devices are open / before they are closed: then nothing is pinned any more. Main thread. */
void orr_pins_start(void);
void orr_pins_stop(void);

/* Whether a new block of so many bytes should be pinned: copies of small ones gain nothing by it. */
static inline bool orr_pin_is_worth(size_t bytes)
{
    return orr_unlikely(orr_load_relaxed(&orr_pinning)) && bytes >= 64 << 10;
}
/* Allocates a block that shares no page with others, to be pinned and given back with orr_free; NULL: out of
 * memory. */
void *orr_pin_malloc(size_t alignment, size_t bytes);

/* Pins a block, once more if it is pinned already. 0, also where no device profits; -ENOMEM; -EIO: the device
 * cannot, said once. */
int orr_pin(void *p, size_t bytes);
/* Undoes that; nothing for what is not pinned. */
void orr_unpin(void *p);

#endif
