/* SPDX-License-Identifier: BSD-3-Clause */
/* times.h: what all ranks measured, made into lengths and slownesses: one length for what a task does, and
 * how many times that it takes on each rank. Integers alone. Threads: one at a time. Owns: struct orr_times.
 * Not here: measuring, and agreeing (feedback.c). */
#ifndef ORR_MPI_TIMES_H
#define ORR_MPI_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank measured of one thing that tasks do; or what follows. The same on the wire. */
struct orr_time_record {
    uint64_t key; /* orr_length_key; 0: it is the slowness of a rank */
    int32_t rank;
    uint32_t type;  /* of worker; from STARPU_NARCH on: what it consumes on one of that type less so many */
    uint64_t count; /* of measures; 0 in what follows from them */
    uint64_t ns; /* all measures together, of energy in nJ; then: a length, or a slowness of ORR_SPEED_UNIT */
};

struct orr_time_known;
struct orr_times {
    int ranks;
    uint32_t *slow; /* [rank * STARPU_NARCH + type]; 0: nothing was measured there */
    uint32_t *last; /* the same, twice: the last two that were measured, later first; 0: none */
    uint64_t *sums; /* the same, twice: while merging */
    struct orr_time_known *known;
    size_t count, room;
    uint32_t mask;
    int32_t *slots; /* open addressing: places in known + 1 */
};

int orr_times_init(struct orr_times *t, int ranks); /* 0 or -ENOMEM; then fini */
void orr_times_fini(struct orr_times *t);
/* Learns from what was measured since the last call; records may be changed. met: all ranks wait for all
 * tasks. Writes what is known now into out, which has room for orr_times_room(t) records once learned; how
 * many. */
int orr_times_learn(struct orr_times *t, const struct orr_time_record *records, size_t count,
                    bool met); /* 0, -ENOMEM */
size_t orr_times_room(const struct orr_times *t);
size_t orr_times_tell(const struct orr_times *t, struct orr_time_record *out);

#endif
