/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the messages that a task stream implies, for every rank, from owners and places alone.
 * Threads: the main thread.
 * Owns: which ranks hold the present value of each datum.
 * Not here: what really ran (kernels.c). */
#include "traffic.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t row_bytes(const struct traffic *traffic)
{
    return ((size_t)traffic->ranks + 7) / 8;
}

int traffic_init(struct traffic *traffic, int ranks, int data)
{
    *traffic = (struct traffic){ .ranks = ranks, .data = data };
    traffic->holds = calloc((size_t)data, row_bytes(traffic));
    traffic->tasks = calloc((size_t)ranks, sizeof *traffic->tasks);
    traffic->messages = calloc((size_t)ranks, sizeof *traffic->messages);
    traffic->bytes = calloc((size_t)ranks, sizeof *traffic->bytes);
    if (traffic->holds && traffic->tasks && traffic->messages && traffic->bytes) return 0;
    traffic_fini(traffic);
    return -1;
}

void traffic_fini(struct traffic *traffic)
{
    free(traffic->holds);
    free(traffic->tasks);
    free(traffic->messages);
    free(traffic->bytes);
    memset(traffic, 0, sizeof *traffic);
}

static void send_value(struct traffic *traffic, const struct traffic_use *use, int from)
{
    traffic->messages[from]++;
    traffic->bytes[from] += (int64_t)use->bytes;
}

/* Brings the present value to `rank`, from its owner, unless it is there. */
static void fetch(struct traffic *traffic, const struct traffic_use *use, int rank)
{
    uint8_t *holders = traffic->holds + (size_t)use->datum * row_bytes(traffic);
    if (rank == use->owner || (holders[rank / 8] >> (rank % 8) & 1)) return;
    holders[rank / 8] |= (uint8_t)(1u << (rank % 8));
    send_value(traffic, use, use->owner);
}

void traffic_note(struct traffic *traffic, int rank, const struct traffic_use *first,
                  const struct traffic_use *second, const struct traffic_use *write)
{
    if (!traffic) return;
    traffic->tasks[rank]++;
    if (first) fetch(traffic, first, rank);
    if (second) fetch(traffic, second, rank);
    if (rank != write->owner) {
        fetch(traffic, write, rank);
        send_value(traffic, write, rank);
    }
    memset(traffic->holds + (size_t)write->datum * row_bytes(traffic), 0, row_bytes(traffic));
}
