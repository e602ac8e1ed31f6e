/* SPDX-License-Identifier: BSD-3-Clause */
/* lengths.c: see lengths.h. Threads: see lengths.h. Owns: see lengths.h. Not here: see lengths.h. */
#include "mpi/place/lengths.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"

enum { FIRST_ROOM = 32 };

int orr_lengths_init(struct orr_lengths *l, int ranks, int kinds)
{
    size_t pairs = (size_t)ranks * (size_t)kinds;
    *l = (struct orr_lengths){ .kinds = kinds, .ranks = ranks, .unknown_ns = ORR_LENGTH_UNKNOWN_NS };
    memset(l->kind_of, UINT8_MAX, sizeof l->kind_of);
    l->slow = orr_malloc(pairs * sizeof *l->slow);
    for (size_t i = 0; l->slow && i < pairs; i++) l->slow[i] = ORR_SPEED_UNIT;
    return l->slow ? 0 : -ENOMEM;
}

void orr_lengths_fini(struct orr_lengths *l)
{
    orr_free(l->known);
    orr_free(l->slots);
    orr_free(l->slow);
    *l = (struct orr_lengths){ 0 };
}

/* ---- keys ---- */

static inline uint64_t stir(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

uint64_t orr_length_key(const char *symbol, uint32_t footprint)
{
    size_t length = strlen(symbol);
    uint64_t word, h = stir(footprint, length);
    for (; length >= sizeof word; symbol += sizeof word, length -= sizeof word) {
        memcpy(&word, symbol, sizeof word);
        h = stir(h, word);
    }
    word = 0;
    memcpy(&word, symbol, length);
    h = stir(h, word);
    return h ? h : 1;
}

/* The kinds of the cluster that the codelet can use, as the program wrote it: the runtime completes a codelet
 * only on the ranks that run it. */
static uint32_t kinds_of(const struct orr_lengths *l, const struct starpu_codelet *cl)
{
    uint32_t where = cl->where, kinds = 0;
#define WITH_FUNCTIONS(PREFIX, NAME, name)                                                                   \
    if (!cl->where && cl->name##_funcs[0]) where |= STARPU_WORKER_TO_MASK(PREFIX##_##NAME##_WORKER);
#define SINGLE_FUNCTION(NAME, name)                                                                          \
    if (!cl->where && cl->name##_func) where |= STARPU_WORKER_TO_MASK(STARPU_##NAME##_WORKER);
#include "core/base/kind.def"
    for (int type = 0; type < STARPU_NARCH; type++)
        if (l->kind_of[type] != UINT8_MAX && where & STARPU_WORKER_TO_MASK(type))
            kinds |= 1u << l->kind_of[type];
    return kinds;
}

/* ---- numbers ---- */

static uint32_t first_slot(const struct orr_lengths *l, uint64_t key)
{
    return (uint32_t)(key >> 32) & l->mask;
}

static int find(const struct orr_lengths *l, uint64_t key)
{
    if (!l->slots) return -1;
    for (uint32_t i = first_slot(l, key); l->slots[i]; i = (i + 1) & l->mask)
        if (l->known[l->slots[i] - 1].key == key) return l->slots[i] - 1;
    return -1;
}

static void fill_slot(struct orr_lengths *l, int number)
{
    uint32_t i = first_slot(l, l->known[number].key);
    while (l->slots[i]) i = (i + 1) & l->mask;
    l->slots[i] = number + 1;
}

/* Twice the room. */
static bool grow(struct orr_lengths *l)
{
    int room = l->room ? 2 * l->room : FIRST_ROOM;
    int32_t *slots = orr_calloc(2 * (size_t)room, sizeof *slots);
    struct orr_length *known = slots ? orr_realloc(l->known, (size_t)room * sizeof *known) : NULL;
    if (!known) {
        orr_free(slots);
        return false;
    }
    orr_free(l->slots);
    l->slots = slots;
    l->known = known;
    l->room = room;
    l->mask = 2 * (uint32_t)room - 1;
    for (int i = 0; i < l->count; i++) fill_slot(l, i);
    return true;
}

int orr_lengths_of_key(struct orr_lengths *l, uint64_t key)
{
    int number = find(l, key);
    if (number >= 0) return number;
    if (l->count == l->room && !grow(l)) return -1;
    l->known[l->count] = (struct orr_length){ .key = key };
    fill_slot(l, l->count);
    return l->count++;
}

int orr_lengths_number(struct orr_lengths *l, const struct starpu_codelet *cl, uint32_t footprint)
{
    uint64_t key = orr_length_key(orr_length_symbol(cl), footprint);
    uint32_t at = (uint32_t)(key >> 40) % (sizeof l->recent / sizeof l->recent[0]);
    if (l->recent[at].key == key) return l->recent[at].number;
    int number = orr_lengths_of_key(l, key);
    if (number < 0) return -1;
    if (!l->known[number].seen) {
        l->known[number].kinds = kinds_of(l, cl);
        l->known[number].seen = true;
        if (l->seen) l->seen(l->seen_arg, cl, footprint);
    }
    l->recent[at].key = key;
    l->recent[at].number = number;
    return number;
}

/* What is not known yet is taken for the mean of what is. */
static void find_mean(struct orr_lengths *l)
{
    uint64_t sum = 0, count = 0;
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < l->kinds; k++) {
            sum += l->known[i].ns[k];
            count += l->known[i].ns[k] > 0;
        }
    l->unknown_ns = count ? sum / count : ORR_LENGTH_UNKNOWN_NS;
}

void orr_lengths_set(struct orr_lengths *l, int number, int kind, uint64_t ns)
{
    l->known[number].ns[kind] = ns ? ns : 1;
    find_mean(l);
}
