/* SPDX-License-Identifier: BSD-3-Clause */
/* by_hand.h: recordings that a test writes itself, so that it knows what they say: a tick is a nanosecond.
 * Threads: main. Owns: the recording that is being written. Not here: the form (core/base/otrace.h). */
#ifndef ORR_TESTS_BY_HAND_H
#define ORR_TESTS_BY_HAND_H

#include <stdio.h>
#include <string.h>

#include "core/base/otrace.h"

static struct {
    FILE *file;
    uint64_t words[1 << 14];
    size_t count;
    double offset, rate; /* of its clock against the true one */
    double jumped;       /* the system's clock, by so much, when a block is written */
} hand;

static uint64_t its_time(double true_ns)
{
    return (uint64_t)(hand.offset + true_ns * hand.rate);
}

static void put_block(uint32_t type, double true_ns, const void *bytes, size_t n)
{
    enum { SUMMED = sizeof(struct otrace_block) / 8 - 1 };
    union {
        struct otrace_block b;
        uint64_t w[SUMMED + 1];
    } h = { .b = { .magic = OTRACE_BLOCK_MAGIC, .type = type, .bytes = n } };
    h.b.ticks = its_time(true_ns);
    h.b.mono_ns = h.b.ticks + (uint64_t)(int64_t)hand.jumped;
    h.b.checksum = otrace_sum(otrace_sum(0, h.w, SUMMED), bytes, n / 8);
    fwrite(&h, sizeof h, 1, hand.file);
    fwrite(bytes, 1, n, hand.file);
}

static void begin_by_hand(const char *path, int rank, const char *meta, double offset, double rate,
                          double clock_of_day)
{
    static char text[512] __attribute__((aligned(8)));
    hand.file = fopen(path, "wb");
    hand.offset = offset;
    hand.rate = rate;
    hand.jumped = 0;
    hand.count = 0;
    struct otrace_file h = { .magic = OTRACE_FILE_MAGIC,
                             .version = OTRACE_VERSION,
                             .header_bytes = sizeof h,
                             .ns_per_tick = 1,
                             .start_ticks = its_time(0),
                             .start_mono_ns = its_time(0),
                             .start_real_ns = (uint64_t)(1e18 + clock_of_day),
                             .rank = rank };
    fwrite(&h, sizeof h, 1, hand.file);
    memset(text, '\n', sizeof text);
    memcpy(text, meta, strlen(meta));
    put_block(OTRACE_META, 0, text, sizeof text);
}

static void put_record(unsigned kind, double true_ns, const uint64_t *words, unsigned n)
{
    hand.words[hand.count++] = OTRACE_HEAD(kind, n + 1, its_time(true_ns));
    for (unsigned i = 0; i < n; i++) hand.words[hand.count++] = words[i];
}
#define PUT(kind, ns, ...)                                                                                   \
    put_record((kind), (ns), (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8)

__attribute__((unused)) static void end_by_hand(double true_ns)
{
    put_block(OTRACE_RECORDS, true_ns, hand.words, hand.count * 8);
    put_block(OTRACE_END, true_ns, hand.words, 0);
    fclose(hand.file);
}

#endif
