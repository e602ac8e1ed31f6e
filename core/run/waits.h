/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.h: who waits for whom at a deadlock, as a graph: the circle in it, or where it ends, and a DOT file.
 * Threads: one at a time. Owns: struct orr_waits. Not here: who fills it in (deadlock.c, mpi/live/stuck.c).
 *
 * Nodes are called by what they say: the same text is the same node, whoever names it first. So ranks meet in
 * it: what one waits for is what the other has, or there is no such thing. */
#ifndef ORR_RUN_WAITS_H
#define ORR_RUN_WAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/export.h"

enum { ORR_WAITS_LABEL = 240, ORR_WAITS_NODES = 4096, ORR_WAITS_EDGES = 16384 };

struct orr_waits_node {
    char label[ORR_WAITS_LABEL];
    bool is_there; /* not only waited for */
};

/* Begins as zeros. */
struct orr_waits {
    struct orr_waits_node *node;
    unsigned (*edge)[2];
    unsigned nodes, node_room, edges, edge_room;
};

/* It is there. What there is no memory for, or too much of, is left out. */
ORR_EXPORT void orr_waits_add(struct orr_waits *w, const char *label);
/* The first is there, and waits for the second. */
ORR_EXPORT void orr_waits_for(struct orr_waits *w, const char *label, const char *other);
/* The first is not there, for which the second is to blame. */
ORR_EXPORT void orr_waits_lacks(struct orr_waits *w, const char *label, const char *other);
ORR_EXPORT void orr_waits_fini(struct orr_waits *w);

/* "a -> b -> a" of the first circle. Without one false, and text is the longest way from something that waits
 * to something that waits for nothing, or is not there. */
ORR_EXPORT bool orr_waits_circle(const struct orr_waits *w, char *text, size_t bytes);
/* Writes it for Graphviz; what is waited for and not there is dashed, the circle red. 0 or a negative errno.
 */
int orr_waits_write(const struct orr_waits *w, const char *file);
/* Writes it, and says where, or why not. */
ORR_EXPORT void orr_waits_save(const struct orr_waits *w, const char *file);

#endif
