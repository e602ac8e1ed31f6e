/* SPDX-License-Identifier: BSD-3-Clause */
/* victim.c: the program's function that chooses which copy makes room.
 * Threads: any. Owns: that function. Not here: what happens to the copy (eviction.c). */
#include "core/data/victim.h"

static starpu_data_victim_eviction_failed *_Atomic told_failed;
static void *_Atomic selector_data;
starpu_data_victim_selector *_Atomic orr_victim_selector;

void starpu_data_register_victim_selector(starpu_data_victim_selector selector,
                                          starpu_data_victim_eviction_failed evicted, void *data)
{
    orr_store_seq(&orr_victim_selector, NULL);
    orr_store_relaxed(&told_failed, evicted);
    orr_store_relaxed(&selector_data, data);
    orr_store_release(&orr_victim_selector, selector); /* pairs with orr_victim_choose */
}

struct orr_data *orr_victim_choose(struct orr_data *to_load, unsigned node, bool prefetch)
{
    starpu_data_victim_selector *choose = orr_load_acquire(&orr_victim_selector);
    return choose ? choose(to_load, node, prefetch ? STARPU_PREFETCH : STARPU_FETCH,
                           orr_load_relaxed(&selector_data))
                  : NULL;
}

void orr_victim_stays(struct orr_data *h)
{
    starpu_data_victim_eviction_failed *tell = orr_load_relaxed(&told_failed);
    if (tell) tell(h, orr_load_relaxed(&selector_data));
}

void orr_victim_forget(void)
{
    starpu_data_register_victim_selector(NULL, NULL, NULL);
}
