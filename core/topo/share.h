/* SPDX-License-Identifier: BSD-3-Clause */
/* share.h: the processors of a node, shared out among the ranks that may use them: sets in, sets out.
 * Threads: any; nothing is kept. Owns: nothing. Not here: what this process may use (topo.c), who gathers the
 * claims (mpi/api/cores.c). */
#ifndef ORR_TOPO_SHARE_H
#define ORR_TOPO_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/export.h"

enum { ORR_SHARE_PROCESSORS = 4096, ORR_SHARE_WORDS = ORR_SHARE_PROCESSORS / 64 };

/* By the system's numbers. */
struct orr_processors {
    uint64_t words[ORR_SHARE_WORDS];
};

/* What a rank says; plain bytes, so that it can be gathered. */
struct orr_share_claim {
    struct orr_processors allowed;
    uint16_t
        core[ORR_SHARE_PROCESSORS]; /* the first processor of the core of each allowed one; 0 for others */
    uint32_t wanted;                /* cores at most; 0: as many as there are */
    uint32_t runs;                  /* 1: its workers run already, and keep what they have */
};

/* Who gets what. Each rank has cores of its own as long as there are enough, the smallest part as large as it
 * can be, then the second smallest...; nobody gets more than it wants or may use. Ranks for which none is
 * left get one core that others have, too, the most of them on one core as few as it can be. Ranks with the
 * same claim get neighbouring cores, in their order. The same on whoever computes it. 0 or -ENOMEM. */
ORR_EXPORT int orr_share_out(const struct orr_share_claim *claims, unsigned ranks,
                             struct orr_processors *shares_out);

/* Of so many devices that all ranks see, those of rank index of sharers: *first_out and those after it,
 * modulo total. Returns how many: wanted, or if that is negative its part, which with fewer devices than
 * ranks is one that others have, too. */
unsigned orr_share_slice(unsigned index, unsigned sharers, unsigned total, long wanted, unsigned *first_out);

/* "0-3,8" */
ORR_EXPORT void orr_share_text(const struct orr_processors *set, char *dst, size_t bytes);

static inline int orr_share_has(const struct orr_processors *set, unsigned processor)
{
    return set->words[processor / 64] >> processor % 64 & 1;
}

static inline void orr_share_add(struct orr_processors *set, unsigned processor)
{
    set->words[processor / 64] |= UINT64_C(1) << processor % 64;
}

#endif
