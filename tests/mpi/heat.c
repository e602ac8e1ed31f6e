/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load that is given to cooler neighbours: rings of ranks of any speeds come to rest, even. Threads: main.
 * Owns: nothing. Not here: what is measured and moved (tests/mpi/balance.c).
 */
#include "mpi/place/heat.h"

#include <string.h>

#include "tests/tap.h"

enum { MOST = 64 };

static int units[MOST], slow[MOST];

/* A step of all ranks, in a ring, whose units cost as much as the rank is slow: how many were given. */
static int step(struct orr_heat *heat, int ranks)
{
    int64_t load[MOST];
    int choice[MOST], given;
    for (int r = 0; r < ranks; r++) load[r] = 1000 * (int64_t)units[r] * slow[r];
    for (int r = 0; r < ranks; r++) {
        const int neighbours[] = { (r + 1) % ranks, (r + ranks - 1) % ranks };
        choice[r] = orr_heat_choose(&heat[r], load, r, neighbours, 2);
    }
    given = orr_heat_settle(load, choice, ranks);
    for (int r = 0; r < ranks; r++) {
        orr_heat_gives(&heat[r], load, r, choice[r]);
        if (choice[r] < 0) continue;
        units[r]--;
        units[choice[r]]++;
    }
    return given;
}

static void ring(int ranks, int slowest, const char *what)
{
    struct orr_heat heat[MOST];
    int steps = 0, quiet = 0, uneven = 0, total = 20 * ranks, sum = 0;
    memset(heat, 0, sizeof heat);
    for (int r = 0; r < ranks; r++) {
        units[r] = r ? 0 : total;
        slow[r] = 1 + r % slowest;
    }
    for (; steps < 100 * ranks * ranks && quiet < 5; steps++) quiet = step(heat, ranks) ? 0 : quiet + 1;
    for (int r = 0; r < ranks; r++) {
        int next = (r + 1) % ranks, a = units[r] * slow[r], b = units[next] * slow[next];
        int unit = slow[r] > slow[next] ? slow[r] : slow[next];
        int gap = a > b ? a - b : b - a, larger = a > b ? a : b;
        uneven += gap > 2 * unit && gap * 10 > larger * 2;
        sum += units[r];
    }
    ok(all_of(sum == total, quiet == 5, uneven == 0), "%s: %d steps, then nothing moves, neighbours are even",
       what, steps);
}

int main(void)
{
    int64_t load[] = { 100, 10, 90, 50 };
    int choice[] = { 1, -1, 1, 1 };
    ok(all_of(orr_heat_settle(load, choice, 4) == 1, choice[0] == 1, choice[2] == -1, choice[3] == -1),
       "of several who would give to one the hottest does");
    ring(2, 1, "two equal ranks");
    ring(3, 3, "three ranks of three speeds");
    ring(16, 1, "a ring of 16");
    ring(64, 4, "a ring of 64 of four speeds");
    return done_testing();
}
