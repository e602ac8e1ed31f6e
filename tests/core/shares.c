/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who gets which cores of a node that ranks share: sets in, shares out, for thousands of ranks and against an
 * exhaustive search for few. Threads: main. Owns: nothing. Not here: who asks (tests/mpi/shared_node.c).
 */
#include "core/topo/share.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/tap.h"

enum { MANY = 3000 };

static struct orr_share_claim *claims;
static struct orr_processors *shares;

/* Rank r may use processors [first, last], of which so many make a core. */
static void claim(unsigned r, unsigned first, unsigned last, unsigned threads, unsigned wanted)
{
    memset(&claims[r], 0, sizeof claims[r]);
    claims[r].wanted = wanted;
    for (unsigned p = first; p <= last; p++) {
        orr_share_add(&claims[r].allowed, p);
        claims[r].core[p] = (uint16_t)(p / threads * threads);
    }
}

static const char *text(unsigned ranks)
{
    static char all[512];
    size_t at = 0;
    if (orr_share_out(claims, ranks, shares)) return "no memory";
    for (unsigned r = 0; r < ranks; r++) {
        char one[64];
        orr_share_text(&shares[r], one, sizeof one);
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", r ? " | " : "", one);
    }
    return all;
}

static void is_text(const char *got, const char *want, const char *fact)
{
    if (!ok(strcmp(got, want) == 0, "%s", fact)) printf("#   got  %s\n#   want %s\n", got, want);
}

static void cases(void)
{
    for (unsigned r = 0; r < 4; r++) claim(r, 0, 7, 1, 0);
    is_text(text(4), "0-1 | 2-3 | 4-5 | 6-7", "ranks that may use the same have neighbouring cores");
    for (unsigned r = 0; r < 2; r++) claim(r, 0, 7, 2, 0);
    is_text(text(2), "0-3 | 4-7", "the threads of a core stay together");
    claim(0, 0, 1, 1, 0), claim(1, 1, 2, 1, 0), claim(2, 2, 3, 1, 0);
    is_text(text(3), "0-1 | 2 | 3", "a chain of sets that overlap: each has one of its own, nobody three");
    claim(0, 0, 3, 1, 0), claim(1, 0, 3, 1, 0), claim(2, 2, 7, 1, 0);
    is_text(text(3), "0-1 | 2-3 | 4-7", "who has others that nobody else may use leaves the shared ones");
    claim(0, 0, 1, 1, 0), claim(1, 2, 3, 1, 0);
    is_text(text(2), "0-1 | 2-3", "sets apart stay as the launcher gave them");
    for (unsigned r = 0; r < 3; r++) claim(r, 0, 7, 1, r == 1 ? 1 : 0);
    is_text(text(3), "0-3 | 4 | 5-7", "who wants fewer leaves them to the others");
    for (unsigned r = 0; r < 4; r++) claim(r, 0, 1, 1, 0);
    is_text(text(4), "0 | 0 | 1 | 1", "twice as many ranks as cores: two on each");
    claim(0, 0, 0, 1, 0), claim(1, 0, 0, 1, 0), claim(2, 0, 3, 1, 0);
    is_text(text(3), "0 | 0 | 1-3", "where some must share, the others do not");
    claim(0, 0, 3, 2, 0), claim(1, 0, 3, 2, 0);
    for (unsigned p = 0; p < 4; p++) claims[p % 2 ? 0 : 1].allowed.words[0] &= ~(UINT64_C(1) << p);
    is_text(text(2), "0,2 | 1,3", "hyperthreads that a launcher dealt out are kept by each");
    claim(0, 0, 3, 1, 0), claim(1, 0, 3, 1, 0);
    memset(&claims[1].allowed, 0, sizeof claims[1].allowed);
    is_text(text(2), "0-3 | ", "who could not read the machine takes nothing from others");
}

/* ---- thousands ---- */

/* How many have a processor at most, and whether each has only what it may. */
static unsigned most_on_one(unsigned ranks, bool *right)
{
    static unsigned load[ORR_SHARE_PROCESSORS];
    unsigned most = 0;
    memset(load, 0, sizeof load);
    for (unsigned r = 0; r < ranks; r++) {
        unsigned count = 0;
        for (unsigned p = 0; p < ORR_SHARE_PROCESSORS; p++) {
            if (!orr_share_has(&shares[r], p)) continue;
            *right &= orr_share_has(&claims[r].allowed, p);
            count++;
            if (++load[p] > most) most = load[p];
        }
        *right &= count > 0;
    }
    return most;
}

static void thousands(void)
{
    bool right = true;
    for (unsigned r = 0; r < MANY; r++) claim(r, 0, 255, 1, 0);
    orr_share_out(claims, MANY, shares);
    unsigned most = most_on_one(MANY, &right);
    ok(all_of(right, most == (MANY + 255) / 256), "%u ranks on 256 cores: at most %u on one", MANY, most);
    for (unsigned r = 0; r < MANY; r++) claim(r, r, r + 1, 1, 0);
    orr_share_out(claims, MANY, shares);
    most = most_on_one(MANY, &right);
    ok(all_of(right, most == 1), "%u ranks in a chain of pairs: none shares", MANY);
}

/* ---- against all assignments ---- */

enum { FEW_CORES = 5, FEW_RANKS = 4 };

/* Sorted counts as a number: a larger one is fairer. */
static unsigned fairness(const unsigned *count, unsigned ranks)
{
    unsigned value = 0, sorted[FEW_RANKS];
    memcpy(sorted, count, sizeof sorted);
    for (unsigned i = 0; i < ranks; i++)
        for (unsigned j = i + 1; j < ranks; j++)
            if (sorted[j] < sorted[i]) {
                unsigned other = sorted[i];
                sorted[i] = sorted[j];
                sorted[j] = other;
            }
    for (unsigned i = 0; i < ranks; i++) value = value * 8 + sorted[i];
    return value;
}

/* The fairest of all ways to give each core to a rank that may use it, or to none. */
static unsigned fairest(unsigned ranks)
{
    unsigned best = 0, ways = 1;
    for (unsigned c = 0; c < FEW_CORES; c++) ways *= ranks + 1;
    for (unsigned way = 0; way < ways; way++) {
        unsigned count[FEW_RANKS] = { 0 };
        bool possible = true;
        for (unsigned c = 0, rest = way; c < FEW_CORES; c++, rest /= ranks + 1) {
            unsigned r = rest % (ranks + 1);
            if (r == ranks) continue;
            possible &= orr_share_has(&claims[r].allowed, c);
            count[r]++;
        }
        for (unsigned r = 0; r < ranks; r++) possible &= !claims[r].wanted || count[r] <= claims[r].wanted;
        if (possible && fairness(count, ranks) > best) best = fairness(count, ranks);
    }
    return best;
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 12;
}

static void random_sets(void)
{
    unsigned seed = 1, unfair = 0, shared = 0, wrong = 0, tries = SCALED(300, 40);
    for (unsigned i = 0; i < tries; i++) {
        unsigned ranks = 2 + next_random(&seed) % (FEW_RANKS - 1), count[FEW_RANKS] = { 0 };
        unsigned users[FEW_CORES] = { 0 }, most = 0;
        for (unsigned r = 0; r < ranks; r++) {
            claim(r, 0, FEW_CORES - 1, 1, next_random(&seed) % 4);
            claims[r].allowed.words[0] = 1 + next_random(&seed) % ((1 << FEW_CORES) - 1);
        }
        orr_share_out(claims, ranks, shares);
        for (unsigned r = 0; r < ranks; r++)
            for (unsigned c = 0; c < FEW_CORES; c++) {
                if (!orr_share_has(&shares[r], c)) continue;
                wrong += !orr_share_has(&claims[r].allowed, c);
                count[r]++;
                if (++users[c] > most) most = users[c];
            }
        unsigned best = fairest(ranks), got = fairness(count, ranks);
        if (best >= 1u << 3 * (ranks - 1)) { /* there is one for each */
            unfair += got != best;
            shared += most > 1;
        } else
            wrong += got < 1u << 3 * (ranks - 1); /* everybody has one nevertheless */
    }
    ok(all_of(wrong == 0, unfair == 0, shared == 0),
       "%u random nodes: shares are as even as any assignment, and apart where they can be", tries);
}

static void devices(void)
{
    unsigned first, bad = 0;
    for (unsigned total = 1; total < 40; total++)
        for (unsigned n = 1; n < 40; n++) {
            unsigned users[40] = { 0 };
            for (unsigned r = 0; r < n; r++) {
                unsigned count = orr_share_slice(r, n, total, -1, &first);
                for (unsigned d = 0; d < count; d++) users[(first + d) % total]++;
            }
            for (unsigned d = 0; d < total; d++) bad += users[d] < 1 || users[d] > (n + total - 1) / total;
        }
    ok(bad == 0, "devices: each is used, by as few ranks as can be");
    unsigned count = orr_share_slice(1, 2, 4, 1, &first);
    ok(all_of(count == 1, first == 2), "a rank that wants one takes the first of its part");
}

int main(void)
{
    claims = orr_calloc(MANY, sizeof *claims);
    shares = orr_calloc(MANY, sizeof *shares);
    if (!claims || !shares) return 99;
    cases();
    thousands();
    random_sets();
    devices();
    orr_free(claims);
    orr_free(shares);
    return done_testing();
}
