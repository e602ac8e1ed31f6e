/* SPDX-License-Identifier: BSD-3-Clause */
/* lengths.c: see lengths.h. Threads: see lengths.h. Owns: see lengths.h. Not here: see lengths.h. */
#include "mpi/place/lengths.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/sync.h"
#include "core/task/task.h"
#include "mpi/place/machine.h"

enum { FIRST_ROOM = 32 };

/* Without a table of machines each rank counts as one core. */
unsigned orr_lengths_workers(const struct orr_machines *m, int rank, int type)
{
    if (!m) return type == STARPU_CPU_WORKER;
    return (unsigned)orr_machines_count(m, rank, (enum starpu_worker_archtype)type);
}

/* The kinds of workers that there are, as numbers; more than there is room for are left out. */
static int find_kinds(const struct orr_machines *m, uint8_t kind_of[STARPU_NARCH])
{
    int kinds = 0;
    memset(kind_of, UINT8_MAX, STARPU_NARCH);
    for (int type = 0; type < STARPU_NARCH; type++)
        if (kinds < ORR_CLOCK_KINDS && orr_lengths_workers(m, -1, type)) kind_of[type] = (uint8_t)kinds++;
    return kinds;
}

int orr_lengths_init(struct orr_lengths *l, const struct orr_place_setup *setup)
{
    *l = (struct orr_lengths){ .ranks = setup->ranks,
                               .unknown_ns = ORR_LENGTH_UNKNOWN_NS,
                               .seen = setup->seen,
                               .seen_arg = setup->seen_arg };
    l->kinds = find_kinds(setup->machines, l->kind_of);
    if (!l->kinds) l->kinds = 1;
    size_t pairs = (size_t)l->ranks * (size_t)l->kinds;
    l->slow = orr_malloc(pairs * sizeof *l->slow);
    l->slow_then = orr_malloc(pairs * sizeof *l->slow_then);
    if (!l->slow || !l->slow_then) return -ENOMEM;
    for (size_t i = 0; i < pairs; i++) l->slow[i] = l->slow_then[i] = ORR_SPEED_UNIT;
    return 0;
}

void orr_lengths_fini(struct orr_lengths *l)
{
    orr_free(l->known);
    orr_free(l->slots);
    orr_free(l->slow);
    orr_free(l->slow_then);
    *l = (struct orr_lengths){ 0 };
}

/* ---- keys ---- */

static inline uint64_t stir(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* The last bytes of a text, of which the length is known otherwise: words that overlap, since copying a few
 * bytes takes longer than all the rest. */
static inline uint64_t last_word(const char *end, size_t length)
{
    uint64_t word = 0;
    uint32_t first, last;
    if (length >= sizeof word) {
        memcpy(&word, end - sizeof word, sizeof word);
    } else if (length >= sizeof first) {
        memcpy(&first, end - length, sizeof first);
        memcpy(&last, end - sizeof last, sizeof last);
        word = (uint64_t)first << 32 | last;
    } else {
        for (size_t i = 1; i <= length; i++) word = word << 8 | (unsigned char)end[-(ptrdiff_t)i];
    }
    return word;
}

static inline uint64_t key_of(const char *symbol, uint32_t number)
{
    size_t length = strlen(symbol), i = 0;
    uint64_t word, h = stir(number, (uint64_t)length << 32); /* apart, or one would make up for the other */
    for (; i + sizeof word < length; i += sizeof word) {
        memcpy(&word, symbol + i, sizeof word);
        h = stir(h, word);
    }
    return stir(h, last_word(symbol + length, length));
}

uint64_t orr_length_key(const char *symbol, uint32_t footprint)
{
    uint64_t key = key_of(symbol, footprint);
    return key ? key : 1;
}

/* The kinds of the cluster that the codelet can use. It is completed first, as on the ranks that run it:
 * another thread may be about to do so. */
static uint32_t kinds_of(const struct orr_lengths *l, const struct starpu_codelet *cl)
{
    orr_codelet_check((struct starpu_codelet *)cl); /* what is wrong with it is told here and where it runs */
    uint32_t where = cl->where, kinds = 0;
    bool is_said = where != 0;
#define WITH_FUNCTIONS(PREFIX, NAME, name)                                                                   \
    if (!is_said && cl->name##_funcs[0]) where |= STARPU_WORKER_TO_MASK(PREFIX##_##NAME##_WORKER);
#define SINGLE_FUNCTION(NAME, name)                                                                          \
    if (!is_said && cl->name##_func) where |= STARPU_WORKER_TO_MASK(STARPU_##NAME##_WORKER);
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

static int number_of(struct orr_lengths *l, const struct orr_place_view *v)
{
    uint32_t footprint = orr_place_footprint(v);
    int number = orr_lengths_of_key(l, orr_length_key(orr_length_symbol(v->cl), footprint));
    if (number < 0) return -1;
    if (!l->known[number].seen) {
        l->known[number].kinds = kinds_of(l, v->cl);
        l->known[number].seen = true;
        if (l->seen) l->seen(l->seen_arg, v->cl, footprint);
    }
    return number;
}

/* The latest are found by symbol and footprints of the data, without the footprint of the task. */
int orr_lengths_number(struct orr_lengths *l, const struct orr_place_view *v)
{
    uint64_t key = key_of(orr_length_symbol(v->cl), (uint32_t)v->count);
    for (int i = 0; i < v->count; i++)
        if (v->data[i].handle && !(v->data[i].mode & STARPU_NOFOOTPRINT))
            key = stir(key, v->data[i].handle->footprint);
    if (orr_unlikely(key == 0)) key = 1; /* 0: nothing was found there yet */
    uint32_t at = (uint32_t)(key >> 40) % (sizeof l->recent / sizeof l->recent[0]);
    if (orr_likely(l->recent[at].key == key)) return l->recent[at].number;
    int number = number_of(l, v);
    if (number < 0) return -1;
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

/* ---- what changes ---- */

static bool is_changed(uint64_t now, uint64_t then)
{
    uint64_t difference = now > then ? now - then : then - now;
    return difference > then / 100 * ORR_CHANGED_PERCENT + then % 100 * ORR_CHANGED_PERCENT / 100;
}

void orr_lengths_remember(struct orr_lengths *l)
{
    size_t pairs = (size_t)l->ranks * (size_t)l->kinds;
    memcpy(l->slow_then, l->slow, pairs * sizeof *l->slow);
    for (int i = 0; i < l->count; i++) memcpy(l->known[i].then_ns, l->known[i].ns, sizeof l->known[i].ns);
    l->is_new = l->is_other = false;
}

bool orr_lengths_are_others(const struct orr_lengths *l)
{
    for (int i = 0; i < l->ranks * l->kinds; i++)
        if (is_changed(l->slow[i], l->slow_then[i])) return true;
    return false;
}

/* Of what the stream has: a rank's own tasks are nobody else's. */
static void note_length(struct orr_lengths *l, const struct orr_length *of, int kind)
{
    if (!of->seen) return;
    uint64_t now = of->ns[kind], then = of->then_ns[kind];
    bool is_brief = now < ORR_LENGTH_BRIEF_NS && then < ORR_LENGTH_BRIEF_NS;
    if (!then)
        l->is_new = true;
    else
        l->is_other |= !is_brief && is_changed(now, then);
}

/* From one telling to the next. */
static void note_energy(struct orr_lengths *l, const struct orr_length *of, int kind, uint64_t nj)
{
    if (!of->seen) return;
    l->is_new |= !of->nj[kind];
    l->is_other |= is_changed(nj, of->nj[kind]);
}

bool orr_lengths_measured(struct orr_lengths *l, const struct orr_place_measure *m)
{
    int kind = m->kind >= 0 && m->kind < STARPU_NARCH ? l->kind_of[m->kind] : UINT8_MAX;
    if (kind == UINT8_MAX) return false;
    if (m->symbol || m->key) {
        int number = orr_lengths_of_key(l, m->key ? m->key : orr_length_key(m->symbol, m->footprint));
        if (number < 0) return false;
        if (m->is_energy) {
            note_energy(l, &l->known[number], kind, m->ns);
            l->known[number].nj[kind] = m->ns;
            l->has_energy = true;
            return false;
        }
        l->known[number].ns[kind] = m->ns ? m->ns : 1;
        note_length(l, &l->known[number], kind);
        find_mean(l);
        return false;
    }
    if (m->rank < 0 || m->rank >= l->ranks) return false;
    l->slow[m->rank * l->kinds + kind] = m->slow ? m->slow : 1;
    return true;
}
