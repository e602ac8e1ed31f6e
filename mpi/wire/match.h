/* SPDX-License-Identifier: BSD-3-Clause */
/* match.h: first-in first-out lists found by (context, peer, tag): who waits for a message, and which message
 * waits.
 * Threads: one at a time (the engine's lock). Owns: the bucket array; nodes belong to whoever embeds them.
 * Not here: what matching means (receiving.c). */
#ifndef ORR_MPI_MATCH_H
#define ORR_MPI_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orr_match_node {
    int64_t tag;
    int32_t peer;
    uint32_t context;
    struct orr_match_node *chain; /* next list of the bucket; only of the first node of a list */
    struct orr_match_node *same;  /* next node with the same key */
    struct orr_match_node *last;  /* only of the first */
};

enum { ORR_MATCH_BUCKETS_MIN = 64 };

struct orr_match_table {
    struct orr_match_node **buckets;
    size_t mask; /* number of buckets - 1 */
    size_t lists;
    size_t nodes;
    struct orr_match_node *inline_buckets[ORR_MATCH_BUCKETS_MIN]; /* so that a table always works */
};

void orr_match_init(struct orr_match_table *t);
void orr_match_fini(struct orr_match_table *t); /* nodes that are left are forgotten */

/* Appends n to the list of its key. Never fails: when memory is short the buckets stay as they are. */
void orr_match_append(struct orr_match_table *t, struct orr_match_node *n);
/* The first with this key, or NULL. */
struct orr_match_node *orr_match_first(const struct orr_match_table *t, uint32_t context, int32_t peer,
                                       int64_t tag);
/* Takes the first with this key out, or NULL. */
struct orr_match_node *orr_match_pop(struct orr_match_table *t, uint32_t context, int32_t peer, int64_t tag);
/* Takes any node out, or NULL when there is none. */
struct orr_match_node *orr_match_pop_any(struct orr_match_table *t);
/* Calls visit for every node. */
void orr_match_visit(const struct orr_match_table *t, void (*visit)(struct orr_match_node *n, void *arg),
                     void *arg);

#endif
