/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.c: see heat.h. Threads: see heat.h. Owns: see heat.h. Not here: see heat.h. */
#include "mpi/place/heat.h"

/* What the last unit changed, on both sides. */
static void learn(struct orr_heat *heat, const int64_t *load, int me)
{
    if (!heat->gap) return;
    int64_t unit = (heat->gap - (load[me] - load[heat->receiver])) / 2;
    if (unit > 0) heat->unit = unit;
    heat->gap = 0;
}

int orr_heat_choose(struct orr_heat *heat, const int64_t *load, int me, const int *neighbours, int count)
{
    int coolest = -1;
    learn(heat, load, me);
    for (int i = 0; i < count; i++) {
        int n = neighbours[i];
        if (n != me && (coolest < 0 || load[n] < load[coolest])) coolest = n;
    }
    if (coolest < 0) return -1;
    int64_t gap = load[me] - load[coolest];
    return gap > load[me] / 10 && gap > heat->unit + heat->unit / 4 ? coolest : -1;
}

int orr_heat_settle(const int64_t *load, int *choice, int ranks)
{
    int given = 0;
    for (int r = 0; r < ranks; r++) {
        for (int other = 0; other < r && choice[r] >= 0; other++) {
            if (choice[other] != choice[r]) continue;
            choice[load[other] < load[r] ? other : r] = -1;
        }
    }
    for (int r = 0; r < ranks; r++) given += choice[r] >= 0;
    return given;
}

void orr_heat_gives(struct orr_heat *heat, const int64_t *load, int me, int receiver)
{
    heat->gap = receiver >= 0 ? load[me] - load[receiver] : 0;
    heat->receiver = receiver;
}
