/* SPDX-License-Identifier: BSD-3-Clause */
/* frozen.c: see frozen.h. An iteration goes where it went when it was inserted twice in a row, the same both
 * times, and the placement went by the same figures from the first beginning to the second end. Of the first
 * only the hash is kept.
 * Threads: see frozen.h. Owns: see frozen.h. Not here: see frozen.h. */
#include "mpi/place/frozen.h"

#include <errno.h>

#include "core/base/alloc.h"
#include "mpi/place/planfile.h"

enum { ITERATIONS_MOST = 256 /* are kept: the one that did not begin for longest goes */ };
enum { ALIKE = 2, FIRST_ROOM = 64 };

/* An insertion. */
struct step {
    uint32_t hash;
    int32_t rank;
};

struct orr_frozen_iteration {
    struct orr_frozen_iteration *next;
    int64_t id;
    unsigned alike;   /* so often in a row it was the same, under the same figures; at most ALIKE */
    bool repeated;    /* it went where it went before, the last time */
    uint64_t figures; /* with alike, these */
    uint64_t stream, choices;
    struct step *step;
    size_t steps, room; /* with alike == ALIKE, all its steps */
};

/* ---- the list ---- */

static struct orr_frozen_iteration *find(struct orr_frozen *f, int64_t id)
{
    struct orr_frozen_iteration **p = &f->list, *i;
    while (*p && (*p)->id != id) p = &(*p)->next;
    i = *p;
    if (!i) return NULL;
    *p = i->next; /* to the front */
    i->next = f->list;
    return f->list = i;
}

static void drop(struct orr_frozen_iteration *i)
{
    orr_free(i->step);
    orr_free(i);
}

static void drop_last(struct orr_frozen *f)
{
    struct orr_frozen_iteration **p = &f->list;
    while ((*p)->next) p = &(*p)->next;
    drop(*p);
    *p = NULL;
    f->count--;
}

static struct orr_frozen_iteration *find_or_add(struct orr_frozen *f, int64_t id)
{
    struct orr_frozen_iteration *i = find(f, id);
    if (i) return i;
    i = orr_calloc(1, sizeof *i);
    if (!i) return NULL;
    if (f->count++ == ITERATIONS_MOST) drop_last(f);
    i->id = id;
    i->next = f->list;
    return f->list = i;
}

void orr_frozen_fini(struct orr_frozen *f)
{
    for (struct orr_frozen_iteration *i = f->list, *next; i; i = next) {
        next = i->next;
        drop(i);
    }
    *f = (struct orr_frozen){ 0 };
}

void orr_frozen_thaw(struct orr_frozen *f)
{
    for (struct orr_frozen_iteration *i = f->list; i; i = i->next) i->alike = 0;
}

/* ---- an iteration ---- */

int orr_frozen_begin(struct orr_frozen *f, int64_t id, uint64_t figures, bool they_stand)
{
    struct orr_frozen_iteration *i = find_or_add(f, id);
    if (!i) return -ENOMEM;
    bool repeated = i->repeated, same = i->alike && i->figures == figures;
    f->current = i;
    f->figures = figures;
    f->stream = f->choices = 0;
    f->steps = 0;
    f->replayed = false;
    f->repeats = i->repeated = same && i->alike == ALIKE && they_stand;
    f->keeps = same && !f->repeats;
    return f->repeats ? ORR_FROZEN_STILL : repeated ? ORR_FROZEN_NO_MORE : ORR_FROZEN_NOT;
}

uint32_t orr_frozen_hash(const struct orr_place_view *v)
{
    uint64_t h = orr_plan_hash_begin(v->cl && v->cl->name ? v->cl->name : "");
    for (int i = 0; i < v->count; i++)
        h = orr_plan_hash_add(h, v->data[i].handle ? orr_owned_tag(v->data[i].handle) : -1, v->data[i].mode);
    h = (h ^ (uint64_t)(uint32_t)v->fixed) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h ^ h >> 32);
}

static void add(struct orr_frozen *f, uint32_t hash, int rank)
{
    f->stream = ((f->stream << 5 | f->stream >> 59) ^ hash) * 0x9e3779b97f4a7c15u;
    f->choices =
        ((f->choices << 5 | f->choices >> 59) ^ hash ^ (uint64_t)(uint32_t)rank << 32) * 0xbf58476d1ce4e5b9u;
}

int orr_frozen_next(struct orr_frozen *f, uint32_t hash)
{
    struct orr_frozen_iteration *i = f->current;
    if (!f->repeats) return ORR_PLACE_OPEN;
    if (f->steps < i->steps && i->step[f->steps].hash == hash) {
        int rank = i->step[f->steps++].rank;
        add(f, hash, rank);
        return rank;
    }
    f->repeats = false; /* it is another */
    i->alike = 0;
    return ORR_PLACE_OPEN;
}

bool orr_frozen_step(struct orr_frozen *f, size_t step)
{
    const struct orr_frozen_iteration *i = f->current;
    if (!i || !f->repeats || f->steps != step || step >= i->steps) return false;
    add(f, i->step[step].hash, i->step[step].rank);
    f->steps++;
    return true;
}

int orr_frozen_note(struct orr_frozen *f, uint32_t hash, int rank)
{
    struct orr_frozen_iteration *i = f->current;
    add(f, hash, rank);
    if (!f->keeps) return 0;
    if (f->steps == i->room) {
        size_t room = i->room ? 2 * i->room : FIRST_ROOM;
        struct step *more = orr_realloc(i->step, room * sizeof *more);
        if (!more) return -ENOMEM;
        i->step = more;
        i->room = room;
    }
    i->step[f->steps++] = (struct step){ hash, rank };
    return 0;
}

uint64_t orr_frozen_choices(const struct orr_frozen *f)
{
    return f->current && f->repeats ? f->current->choices : 0;
}

bool orr_frozen_repeat(struct orr_frozen *f, uint64_t choices, size_t count)
{
    const struct orr_frozen_iteration *i = f->current;
    if (!i || !f->repeats || f->steps || i->choices != choices || i->steps != count) return false;
    return f->replayed = true;
}

uint64_t orr_frozen_end(struct orr_frozen *f, uint64_t figures)
{
    struct orr_frozen_iteration *i = f->current;
    f->current = NULL;
    if (f->replayed || (f->repeats && f->steps == i->steps)) return i->choices;
    bool stood = figures == f->figures, again = f->keeps && f->stream == i->stream;
    i->alike = !stood ? 0 : again && i->alike ? ALIKE : 1;
    i->figures = figures;
    i->stream = f->stream;
    i->choices = f->choices;
    i->steps = again ? f->steps : 0;
    return f->choices;
}
