/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the messages that a task stream implies, for every rank, from owners and places alone.
 * Threads: the main thread.
 * Owns: which ranks hold the present value of each datum.
 * Not here: what really ran (kernels_tasks_executed); a runtime may send less, or more. */
#ifndef CHOLESKY_TRAFFIC_H
#define CHOLESKY_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

/* One access of a task. */
struct traffic_use {
    int datum; /* from 0 */
    int owner; /* rank */
    size_t bytes;
};

struct traffic {
    int ranks, data;
    uint8_t *holds;                    /* one bit per datum and rank */
    int64_t *tasks, *messages, *bytes; /* per rank: run there; sent from there */
};

/* Returns 0, or -1 when memory ran out. */
int traffic_init(struct traffic *traffic, int ranks, int data);
void traffic_fini(struct traffic *traffic);

/* A task on `rank` reads up to two data (NULL: none) and then writes one, whose new value goes back to its
 * owner. A value that a rank received stays with it until the datum is written again. Does nothing when
 * traffic is NULL. */
void traffic_note(struct traffic *traffic, int rank, const struct traffic_use *first,
                  const struct traffic_use *second, const struct traffic_use *write);

#endif
