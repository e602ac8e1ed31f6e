/* SPDX-License-Identifier: BSD-3-Clause */
/* script.c: see script.h.
 * Threads: see script.h. Owns: see script.h. Not here: see script.h. */
#include "mpi/place/script.h"

#include <errno.h>
#include <orrery.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "mpi/place/repeat.h"

enum { LINES_MAX = 1 << 20, VALUES_MAX = 24 };

/* The values of an insertion, in order. */
struct values {
    const void *bytes[VALUES_MAX];
    size_t size[VALUES_MAX];
    int count;
};

/* ---- reading ---- */

/* One argument: of data the handle, of a value its size, else what was given. */
struct word {
    int kind;
    uint64_t value;
};

/* The next argument; kind 0: there is none. False: it is of a kind whose meaning is not in the words (lists,
 * arguments that are freed, dependencies). */
static inline bool read_word(va_list *ap, struct word *w, const void **bytes_out)
{
    w->kind = va_arg(*ap, int);
    w->value = 0;
    if (orr_likely(w->kind < STARPU_ACCESS_MODE_MAX)) {
        if (w->kind) w->value = (uintptr_t)va_arg(*ap, void *);
        return true;
    }
    switch (w->kind) {
    case STARPU_VALUE:
        *bytes_out = va_arg(*ap, void *);
        w->value = va_arg(*ap, size_t);
        return true;
    case STARPU_PRIORITY:
    case STARPU_EXECUTE_ON_NODE:
    case STARPU_EXECUTE_ON_WORKER:
    case ORRERY_EXECUTE_ON_CLUSTER_WORKER:
    case STARPU_TASK_LINE: w->value = (uint64_t)va_arg(*ap, int); return true;
    case STARPU_TASK_FILE:
    case STARPU_NAME:
    case STARPU_EXECUTE_ON_DATA:
    case STARPU_CALLBACK_ARG_NFREE: w->value = (uintptr_t)va_arg(*ap, void *); return true;
    case STARPU_CALLBACK: w->value = (uintptr_t)va_arg(*ap, void (*)(void *)); return true;
    case STARPU_FLOPS: {
        double flops = va_arg(*ap, double);
        memcpy(&w->value, &flops, sizeof flops);
        return true;
    }
    default: return false;
    }
}

/* Each step can be undone, so lists that differ in one value alone never have the same hash. */
static inline uint64_t mix(uint64_t hash, const struct word *w)
{
    uint64_t word = w->value + (uint64_t)(uint32_t)w->kind * 0x9e3779b97f4a7c15u;
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

/* All of them. False: something in them is not comparable, or they have too many values. */
static inline bool read_arguments(va_list *ap, uint64_t *hash_out, struct values *v)
{
    struct word w;
    const void *bytes = NULL;
    uint64_t hash = 0;
    v->count = 0;
    do {
        if (!read_word(ap, &w, &bytes)) return false;
        hash = mix(hash, &w);
        if (w.kind != STARPU_VALUE) continue;
        if (v->count == VALUES_MAX) return false;
        v->bytes[v->count] = bytes;
        v->size[v->count++] = (size_t)w.value;
    } while (w.kind);
    *hash_out = hash;
    return true;
}

/* ---- noting ---- */

static bool make_room(struct orr_recording *r)
{
    if (r->nlines == r->lines_room) {
        size_t room = r->lines_room ? 2 * r->lines_room : 64;
        struct orr_script_line *more = orr_realloc(r->lines, room * sizeof *more);
        if (!more) return false;
        r->lines = more;
        r->lines_room = room;
    }
    return r->nlines < LINES_MAX;
}

void orr_script_note(struct orr_recording *r, struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    if (orr_load_relaxed(&r->other)) return;
    if (!make_room(r)) {
        orr_recording_spoil(r, "it is too long, or there is no memory for the record");
        return;
    }
    struct orr_recorded *p = &r->parts[r->nparts - 1];
    struct orr_script_line *line = &r->lines[r->nlines++];
    struct values v;
    va_list list;
    va_copy(list, ap);
    *line = (struct orr_script_line){ .cl = cl };
    p->once = line->verbatim = p->once || !read_arguments(&list, &line->arguments, &v);
    va_end(list);
    orr_stream_last(c, &line->entry);
}

/* ---- following ---- */

void orr_script_begin(struct orr_recording *r)
{
    r->cursor = 0;
    r->strayed = false;
}

bool orr_script_end(struct orr_recording *r)
{
    return !r->strayed && r->cursor == r->nlines;
}

/* Packed as in core/task/args.h: a count, then for each value its size and its bytes. */
static void set_values(struct starpu_task *task, unsigned position, void *arg)
{
    const struct values *v = arg;
    char *to = (char *)task->cl_arg + sizeof(int);
    (void)position;
    for (int i = 0; i < v->count; i++) {
        memcpy(to + sizeof v->size[i], v->bytes[i], v->size[i]);
        to += sizeof v->size[i] + v->size[i];
    }
}

static bool is_right(const struct orr_comm *c, const struct orr_recording *r)
{
    return orr_load_acquire(&c->cluster->value->upsets) == r->upsets && /* pairs with orr_owned_ends */
           c->cluster->place->changes == r->changes;
}

/* Has the lines soon to come fetched, and the places where they are logged. */
static inline void prefetch_ahead(const struct orr_comm *c, const struct orr_recording *r)
{
    enum { AHEAD = 4 };
    if (r->cursor + AHEAD >= r->nlines) return;
    const struct orr_script_line *line = &r->lines[r->cursor + AHEAD];
    __builtin_prefetch(line);
    __builtin_prefetch((const char *)line + ORR_CACHE_LINE);
    orr_stream_prefetch(c, AHEAD);
}

/* Where data move: the next one, which was recorded as p. */
static int repeat_moving(struct orr_comm *c, const struct orr_recording *r, const struct orr_recorded *p,
                         uint64_t position, const struct values *v)
{
    const struct orr_moving m = { .data = r->data + p->first,
                                  .count = (int)p->count,
                                  .priority = p->priority,
                                  .ranks = &p->xrank,
                                  .nranks = 1 };
    if (!p->model && orr_moves_pass(c, m.data, m.count, p->xrank)) return 0;
    return orr_repeat_moving(c, p, &m, position, v->count ? set_values : NULL, (void *)v);
}

bool orr_script_follow(struct orr_comm *c, struct orr_recording *r, struct starpu_codelet *cl, va_list ap,
                       int *status_out)
{
    const struct orr_script_line *line = &r->lines[r->cursor];
    struct values v; /* large: only what is counted is set */
    if (orr_unlikely(r->strayed)) return false;
    bool same = r->cursor < r->nlines && is_right(c, r) && line->cl == cl;
    if (same && !line->verbatim) {
        uint64_t arguments;
        va_list list;
        va_copy(list, ap);
        same = read_arguments(&list, &arguments, &v) && arguments == line->arguments;
        va_end(list);
    }
    uint64_t position = 0;
    if (same && r->moves && !line->verbatim)
        same = orr_placed_repeat_one(c, r->gaps->from, r->cursor, &position);
    if (orr_unlikely(!same)) {
        r->strayed = true;
        return false;
    }
    r->cursor++;
    prefetch_ahead(c, r);
    if (line->verbatim) return false;
    *status_out = 0;
    orr_stream_note_again(c, &line->entry);
    if (!line->part) return true;
    const struct orr_recorded *p = &r->parts[line->part - 1];
    orr_repeat_prefetch(r, line->part - 1);
    *status_out = r->moves ? repeat_moving(c, r, p, position, &v)
                           : orr_repeat(c, p, r->data + p->first, v.count ? set_values : NULL, &v);
    return true;
}
