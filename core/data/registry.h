/* SPDX-License-Identifier: BSD-3-Clause */
/* registry.h: the handles that the program registered, found again by the address of their memory.
 * Threads: any. Owns: nothing. Not here: the pieces of a partition, which are found through their parent. */
#ifndef ORR_DATA_REGISTRY_H
#define ORR_DATA_REGISTRY_H

#include <stddef.h>

struct orr_data;

/* h is registered; its memory begins at ptr (NULL: it has none of the program's yet). */
void orr_registry_add(struct orr_data *h, void *ptr);
/* h is not to be found any more. */
void orr_registry_remove(struct orr_data *h);
/* A registered h without memory of the program's got some. */
void orr_registry_set_pointer(struct orr_data *h, void *ptr);
/* From here on h's pieces, count of them, stand for it; NULL: no longer, and they may go. */
void orr_registry_set_pieces(struct orr_data *h, struct orr_data **pieces, unsigned count);
/* The first h for which at(h, ptr) gives something, and that: among those whose memory begins at ptr, and
 * those of which this is not known. at is called with the registry's lock. */
struct orr_data *orr_registry_find(const void *ptr,
                                   struct orr_data *(*at)(struct orr_data *h, const void *ptr));
/* Calls fn, which only looks, with every registered handle. */
void orr_registry_visit(void (*fn)(struct orr_data *h, void *arg), void *arg);
/* Gives back what an empty registry holds; at shutdown. */
void orr_registry_trim(void);
/* The most handles that a look-up may have to pass, for tests. */
size_t orr_registry_longest_chain(void);

#endif
