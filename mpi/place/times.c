/* SPDX-License-Identifier: BSD-3-Clause */
/* times.c: see times.h. What is known keeps its length while ranks change their speed: a slowness is what a
 * rank's tasks took, over what they should have taken. What is new gets its length from the ranks'
 * slownesses, and where nothing is known, both are found by turns. Lengths follow what is measured slowly,
 * slownesses at once where they change by much. What is briefer
 * than a microsecond says nothing of a rank: its insertion costs as much, and what disturbs it is longer.
 * Energy is merged as lengths are, and has no slowness. Threads: see times.h. Owns: see times.h. Not here:
 * see times.h. */
#include "mpi/place/times.h"

#include <errno.h>
#include <starpu_worker.h>

#include "core/base/alloc.h"
#include "mpi/place/lengths.h"

enum { FIRST_ROOM = 32, TURNS = 6, STEADY_PERCENT = 10, SLOW_MAX = 1000000, LAST = 2 };

struct orr_time_known {
    uint64_t key;
    uint32_t type;
    bool is_new;
    uint64_t ns;         /* 0: not known yet */
    uint64_t sum, count; /* while merging: of times as they would be where nothing is slow */
};

int orr_times_init(struct orr_times *t, int ranks)
{
    size_t n = (size_t)ranks * STARPU_NARCH;
    *t = (struct orr_times){ .ranks = ranks };
    t->slow = orr_calloc(n, sizeof *t->slow);
    t->last = orr_calloc(LAST * n, sizeof *t->last);
    t->sums = orr_calloc(2 * n, sizeof *t->sums);
    if (!t->slow || !t->last || !t->sums) {
        orr_times_fini(t);
        return -ENOMEM;
    }
    return 0;
}

void orr_times_fini(struct orr_times *t)
{
    orr_free(t->slow);
    orr_free(t->last);
    orr_free(t->sums);
    orr_free(t->known);
    orr_free(t->slots);
    *t = (struct orr_times){ 0 };
}

/* ---- what is known of a key and a type ---- */

static uint32_t slot_of(const struct orr_times *t, uint64_t key, uint32_t type)
{
    uint32_t i = ((uint32_t)(key >> 32) + type * 0x9e3779b1u) & t->mask;
    for (; t->slots[i]; i = (i + 1) & t->mask) {
        const struct orr_time_known *k = &t->known[t->slots[i] - 1];
        if (k->key == key && k->type == type) break;
    }
    return i;
}

static bool grow(struct orr_times *t)
{
    size_t room = t->room ? 2 * t->room : FIRST_ROOM;
    int32_t *slots = orr_calloc(2 * room, sizeof *slots);
    struct orr_time_known *known = slots ? orr_realloc(t->known, room * sizeof *known) : NULL;
    if (!known) {
        orr_free(slots);
        return false;
    }
    orr_free(t->slots);
    t->slots = slots;
    t->known = known;
    t->room = room;
    t->mask = (uint32_t)(2 * room - 1);
    for (size_t i = 0; i < t->count; i++) t->slots[slot_of(t, known[i].key, known[i].type)] = (int32_t)i + 1;
    return true;
}

static struct orr_time_known *find(const struct orr_times *t, const struct orr_time_record *r)
{
    return &t->known[t->slots[slot_of(t, r->key, r->type)] - 1];
}

static bool add_if_new(struct orr_times *t, const struct orr_time_record *r)
{
    if (t->count == t->room && !grow(t)) return false;
    uint32_t i = slot_of(t, r->key, r->type);
    if (t->slots[i]) return true;
    t->known[t->count] = (struct orr_time_known){ .key = r->key, .type = r->type, .is_new = true };
    t->slots[i] = (int32_t)++t->count;
    return true;
}

static bool is_energy(const struct orr_time_record *r)
{
    return r->type >= STARPU_NARCH;
}

/* From another rank: nothing of it is trusted to be in range. */
static bool is_sound(const struct orr_times *t, const struct orr_time_record *r)
{
    return r->key && r->count && r->ns && r->rank >= 0 && r->rank < t->ranks && r->type < 2 * STARPU_NARCH &&
           r->count < UINT32_MAX && r->ns < UINT64_MAX / ORR_SPEED_UNIT / SLOW_MAX;
}

/* ---- learning ---- */

static uint32_t slow_of(const struct orr_times *t, size_t pair)
{
    return t->slow[pair] ? t->slow[pair] : ORR_SPEED_UNIT;
}

/* As it was measured now, if it was, and not as it counts. */
static uint32_t slow_now(const struct orr_times *t, size_t pair)
{
    bool is_measured = t->sums[(size_t)t->ranks * STARPU_NARCH + pair] && t->last[LAST * pair];
    return is_measured ? t->last[LAST * pair] : slow_of(t, pair);
}

static size_t pair_of(const struct orr_time_record *r)
{
    return (size_t)r->rank * STARPU_NARCH + r->type;
}

/* Lengths from slownesses: of what is new; then of all, a quarter of the way. */
static void find_lengths(struct orr_times *t, const struct orr_time_record *records, size_t count, bool all)
{
    for (size_t i = 0; i < t->count; i++) t->known[i].sum = t->known[i].count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct orr_time_record *r = &records[i];
        if (!is_sound(t, r)) continue;
        struct orr_time_known *k = find(t, r);
        k->sum += is_energy(r) ? r->ns : r->ns * ORR_SPEED_UNIT / slow_now(t, pair_of(r));
        k->count += r->count;
    }
    for (size_t i = 0; i < t->count; i++) {
        struct orr_time_known *k = &t->known[i];
        if (!k->count || (!k->is_new && !all)) continue;
        uint64_t now = k->sum / k->count;
        k->ns = k->is_new ? now : (3 * k->ns + now) / 4;
        if (!k->ns) k->ns = 1;
    }
}

static uint32_t within_range(uint64_t slow)
{
    return slow < 1 ? 1 : slow > SLOW_MAX ? SLOW_MAX : (uint32_t)slow;
}

static uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

/* The median of the last three. */
static uint32_t without_outliers(const uint32_t *last, uint32_t measured)
{
    return last[1] ? median(last[0], last[1], measured) : measured;
}

static uint32_t smoothed(uint32_t before, uint32_t now)
{
    uint64_t difference = now > before ? now - before : before - now;
    return difference * 100 <= (uint64_t)before * STEADY_PERCENT ? (3 * before + now) / 4 : now;
}

/* Where all wait for all, once an iteration, what was measured counts at once: a rank that is disturbed in
 * one is as fast as before and after. */
static void note_slowness(struct orr_times *t, size_t pair, uint32_t measured, bool met)
{
    uint32_t *last = &t->last[LAST * pair];
    t->slow[pair] = smoothed(slow_of(t, pair), met ? without_outliers(last, measured) : measured);
    last[1] = last[0];
    last[0] = measured;
}

/* Slownesses from lengths: what tasks took over what they should have. The first ones are not noted. */
static void find_slownesses(struct orr_times *t, const struct orr_time_record *records, size_t count,
                            bool first, bool met)
{
    size_t pairs = (size_t)t->ranks * STARPU_NARCH;
    uint64_t *took = t->sums, *should = t->sums + pairs;
    for (size_t i = 0; i < 2 * pairs; i++) t->sums[i] = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_sound(t, &records[i]) || is_energy(&records[i])) continue;
        uint64_t ns = find(t, &records[i])->ns;
        if (ns < ORR_LENGTH_BRIEF_NS) continue;
        took[pair_of(&records[i])] += records[i].ns;
        should[pair_of(&records[i])] += records[i].count * ns;
    }
    for (size_t i = 0; i < pairs; i++) {
        if (!should[i]) continue;
        uint32_t now = within_range(took[i] / (should[i] / ORR_SPEED_UNIT + 1));
        if (first)
            t->slow[i] = now;
        else
            note_slowness(t, i, now, met);
    }
}

int orr_times_learn(struct orr_times *t, const struct orr_time_record *records, size_t count, bool met)
{
    bool knew = t->count > 0;
    for (size_t i = 0; i < count; i++)
        if (is_sound(t, &records[i]) && !add_if_new(t, &records[i])) return -ENOMEM;
    if (!t->count) return 0;
    if (knew) find_slownesses(t, records, count, false, met);
    for (int turn = 0; !knew && turn < TURNS; turn++) {
        find_lengths(t, records, count, false);
        find_slownesses(t, records, count, true, met);
    }
    find_lengths(t, records, count, knew);
    for (size_t i = 0; i < t->count; i++) t->known[i].is_new &= !t->known[i].ns;
    return 0;
}

/* ---- what is known ---- */

size_t orr_times_room(const struct orr_times *t)
{
    return t->count + (size_t)t->ranks * STARPU_NARCH;
}

size_t orr_times_tell(const struct orr_times *t, struct orr_time_record *out)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->known[i].ns)
            out[n++] = (struct orr_time_record){
                .key = t->known[i].key, .rank = -1, .type = t->known[i].type, .ns = t->known[i].ns
            };
    for (int r = 0; r < t->ranks; r++)
        for (uint32_t type = 0; type < STARPU_NARCH; type++) {
            uint32_t slow = t->slow[(size_t)r * STARPU_NARCH + type];
            if (slow) out[n++] = (struct orr_time_record){ .rank = r, .type = type, .ns = slow };
        }
    return n;
}
