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

/* The next argument; kind 0: there is none. False: it is of a kind whose meaning is not in the words (lists,
 * arguments that are freed, dependencies). */
static inline bool read_word(va_list *ap, struct orr_script_word *w, const void **bytes_out)
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

static bool add_word(struct orr_recording *r, const struct orr_script_word *w)
{
    if (r->nwords == r->words_room) {
        size_t room = r->words_room ? 2 * r->words_room : 512;
        struct orr_script_word *more = orr_realloc(r->words, room * sizeof *more);
        if (!more) return false;
        r->words = more;
        r->words_room = room;
    }
    r->words[r->nwords++] = *w;
    return r->nwords < UINT32_MAX;
}

void orr_script_note(struct orr_recording *r, struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    if (orr_load_relaxed(&r->other)) return;
    bool good = make_room(r);
    struct orr_script_line line = { .cl = cl,
                                    .first = (uint32_t)r->nwords,
                                    .verbatim = r->parts[r->nparts - 1].once };
    struct orr_script_word w = { .kind = -1 };
    const void *bytes;
    int values = 0;
    va_list list;
    va_copy(list, ap);
    while (good && w.kind && !line.verbatim) {
        if (!read_word(&list, &w, &bytes) || (w.kind == STARPU_VALUE && ++values > VALUES_MAX)) {
            line.verbatim = true;
            r->parts[r->nparts - 1].once = true;
        } else {
            good = add_word(r, &w);
        }
    }
    va_end(list);
    line.count = (uint32_t)r->nwords - line.first;
    orr_stream_last(c, &line.entry, &line.hash);
    if (good)
        r->lines[r->nlines++] = line;
    else
        orr_recording_spoil(r, "it is too long, or there is no memory for the record");
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

static inline bool matches(const struct orr_recording *r, const struct orr_script_line *line, va_list *ap,
                           struct values *v)
{
    const struct orr_script_word *words = r->words + line->first;
    for (uint32_t i = 0; i < line->count; i++) {
        struct orr_script_word w;
        const void *bytes = NULL;
        if (!read_word(ap, &w, &bytes) || w.kind != words[i].kind || w.value != words[i].value) return false;
        if (w.kind != STARPU_VALUE) continue;
        v->bytes[v->count] = bytes;
        v->size[v->count++] = (size_t)w.value;
    }
    return true;
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

bool orr_script_follow(struct orr_comm *c, struct orr_recording *r, struct starpu_codelet *cl, va_list ap,
                       int *status_out)
{
    const struct orr_script_line *line = &r->lines[r->cursor];
    struct values v = { .count = 0 };
    if (orr_unlikely(r->strayed)) return false;
    bool same = r->cursor < r->nlines && is_right(c, r) && line->cl == cl;
    if (same && !line->verbatim) {
        va_list list;
        va_copy(list, ap);
        same = matches(r, line, &list, &v);
        va_end(list);
    }
    if (orr_unlikely(!same)) {
        r->strayed = true;
        return false;
    }
    r->cursor++;
    if (line->verbatim) return false;
    *status_out = 0;
    orr_stream_note_again(c, &line->entry, line->hash);
    if (!line->part) return true;
    const struct orr_recorded *p = &r->parts[line->part - 1];
    *status_out = orr_repeat(c, p, r->data + p->first, v.count ? set_values : NULL, &v);
    return true;
}
