/* SPDX-License-Identifier: BSD-3-Clause */
/* pulse.c: see pulse.h.
 * Threads: see pulse.h. Owns: nothing. Not here: threads and messages (guard.c). */
#include "mpi/live/pulse.h"

#include <string.h>

enum { LOOK_MAX_MS = 125, BEAT_MAX_MS = 500, BEATS_PER_LIMIT = 10, LOOKS_PER_LIMIT = 32 };

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value > most ? most : value > 0 ? value : 1;
}

void orr_pulse_init(struct orr_pulse *p, int rank, int size, uint32_t limit_ms)
{
    memset(p, 0, sizeof *p);
    p->rank = rank;
    p->size = size;
    p->neighbours = size - 1 < ORR_PULSE_NEIGHBOURS ? size - 1 : ORR_PULSE_NEIGHBOURS;
    p->limit_ms = limit_ms;
    p->beat_ms = at_most(limit_ms / BEATS_PER_LIMIT, BEAT_MAX_MS);
    p->look_ms = at_most(limit_ms / LOOKS_PER_LIMIT, LOOK_MAX_MS);
    p->since_beat_ms = p->beat_ms;
}

void orr_pulse_heard(struct orr_pulse *p, int source)
{
    int distance = (p->rank - source + p->size) % p->size;
    if (distance >= 1 && distance <= p->neighbours) orr_store_relaxed(&p->heard[distance - 1], 1u);
}

static void send_beats(struct orr_pulse *p, bool (*beat)(void *arg, int peer), void *arg)
{
    bool due = p->since_beat_ms >= p->beat_ms;
    if (due) p->since_beat_ms = 0;
    for (int i = 0; i < p->neighbours; i++)
        if (due || p->owes[i]) p->owes[i] = !beat(arg, (p->rank + 1 + i) % p->size);
}

int orr_pulse_tick(struct orr_pulse *p, uint64_t elapsed_ms, bool (*beat)(void *arg, int peer), void *arg)
{
    int verdict = -1;
    if (elapsed_ms > 2 * p->look_ms) elapsed_ms = 2 * p->look_ms; /* this rank itself was stopped */
    for (int i = 0; i < p->neighbours; i++) {
        if (atomic_exchange_explicit(&p->heard[i], 0u, memory_order_relaxed))
            p->silent_ms[i] = 0;
        else
            p->silent_ms[i] += (uint32_t)elapsed_ms;
        if (p->silent_ms[i] < p->limit_ms || p->given_up[i] || verdict >= 0) continue;
        p->given_up[i] = true;
        verdict = (p->rank - 1 - i + p->size) % p->size;
    }
    p->since_beat_ms += (uint32_t)elapsed_ms;
    send_beats(p, beat, arg);
    return verdict;
}
