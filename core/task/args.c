/* SPDX-License-Identifier: BSD-3-Clause */
/* args.c: packing values for a task body, and unpacking them there.
 * Threads: one per buffer. Owns: nothing. Not here: task_insert (insert.c). */
#include "core/task/args.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"

static bool grow(struct orr_args *a, size_t needed)
{
    size_t room = a->room * 2 > needed ? a->room * 2 : needed;
    char *b = orr_malloc(room); /* the program may free it */
    if (!b) return false;
    memcpy(b, a->buffer, a->used);
    if (a->in_slab)
        orr_slab_free(ORR_SLAB_ARGS, a->buffer);
    else
        free(a->buffer);
    a->in_slab = false;
    a->buffer = b;
    a->room = room;
    return true;
}

bool orr_args_add(struct orr_args *a, const void *value, size_t bytes)
{
    if (!a->buffer) {
        a->buffer = orr_slab_alloc(ORR_SLAB_ARGS);
        if (!a->buffer) return false;
        a->in_slab = true;
        a->room = ORR_ARGS_BLOCK_BYTES;
        a->used = sizeof(int);
    }
    size_t needed = a->used + sizeof bytes + bytes;
    if (needed < bytes) return false;
    if (orr_unlikely(needed > a->room) && !grow(a, needed)) return false;
    memcpy(a->buffer + a->used, &bytes, sizeof bytes);
    memcpy(a->buffer + a->used + sizeof bytes, value, bytes);
    a->used = needed;
    a->count++;
    return true;
}

void orr_args_finish(struct orr_args *a)
{
    if (a->buffer) memcpy(a->buffer, &a->count, sizeof a->count);
}

void orr_args_drop(struct orr_args *a)
{
    if (a->in_slab)
        orr_slab_free(ORR_SLAB_ARGS, a->buffer);
    else
        free(a->buffer);
    a->buffer = NULL;
}

/* ---- reading ---- */

struct reader {
    const char *at;
    int left;
};

static struct reader reader_of(const void *cl_arg)
{
    struct reader r = { cl_arg, 0 };
    if (!cl_arg) return r;
    memcpy(&r.left, r.at, sizeof r.left);
    r.at += sizeof r.left;
    return r;
}

/* The next value's address and size; NULL when there is none. */
static const char *next_value(struct reader *r, size_t *bytes_out)
{
    if (r->left <= 0) return NULL;
    memcpy(bytes_out, r->at, sizeof *bytes_out);
    const char *value = r->at + sizeof *bytes_out;
    r->at = value + *bytes_out;
    r->left--;
    return value;
}

static void unpack(struct reader *r, va_list ap)
{
    void *dst;
    while (r->left > 0 && (dst = va_arg(ap, void *)) != NULL) {
        size_t bytes = 0;
        const char *value = next_value(r, &bytes);
        memcpy(dst, value, bytes);
    }
}

void starpu_codelet_unpack_args(void *cl_arg, ...)
{
    va_list ap;
    va_start(ap, cl_arg);
    struct reader r = reader_of(cl_arg);
    unpack(&r, ap);
    va_end(ap);
}

void starpu_codelet_unpack_args_and_copyleft(void *cl_arg, void *buffer, size_t buffer_size, ...)
{
    va_list ap;
    va_start(ap, buffer_size);
    struct reader r = reader_of(cl_arg);
    unpack(&r, ap);
    va_end(ap);
    if (!buffer || buffer_size < sizeof r.left) return;
    struct reader end = r;
    size_t bytes;
    while (next_value(&end, &bytes)) {
    }
    size_t rest = (size_t)(end.at - r.at);
    if (rest > buffer_size - sizeof r.left) {
        orr_error("starpu_codelet_unpack_args_and_copyleft: %zu bytes remain, the buffer has room for %zu",
                  rest, buffer_size - sizeof r.left);
        return;
    }
    memcpy(buffer, &r.left, sizeof r.left);
    memcpy((char *)buffer + sizeof r.left, r.at, rest);
}

/* ---- value by value ---- */

void starpu_codelet_pack_arg_init(struct starpu_codelet_pack_arg_data *s)
{
    memset(s, 0, sizeof *s);
    s->arg_buffer_used = sizeof(int);
}

void starpu_codelet_pack_arg(struct starpu_codelet_pack_arg_data *s, const void *ptr, size_t bytes)
{
    size_t needed = s->arg_buffer_used + sizeof bytes + bytes;
    if (needed > s->arg_buffer_size) {
        size_t room = needed > 2 * s->arg_buffer_size ? needed : 2 * s->arg_buffer_size;
        char *b = orr_realloc(s->arg_buffer, room);
        if (!b) {
            orr_fatal("starpu_codelet_pack_arg: out of memory for %zu bytes", room);
            return;
        }
        s->arg_buffer = b;
        s->arg_buffer_size = room;
    }
    memcpy(s->arg_buffer + s->arg_buffer_used, &bytes, sizeof bytes);
    memcpy(s->arg_buffer + s->arg_buffer_used + sizeof bytes, ptr, bytes);
    s->arg_buffer_used = needed;
    s->nargs++;
}

void starpu_codelet_pack_arg_fini(struct starpu_codelet_pack_arg_data *s, void **cl_arg, size_t *cl_arg_size)
{
    if (s->arg_buffer) memcpy(s->arg_buffer, &s->nargs, sizeof s->nargs);
    *cl_arg = s->arg_buffer;
    *cl_arg_size = s->arg_buffer ? s->arg_buffer_used : 0;
}

void starpu_codelet_pack_args(void **arg_buffer, size_t *arg_buffer_size, ...)
{
    struct starpu_codelet_pack_arg_data s;
    starpu_codelet_pack_arg_init(&s);
    va_list ap;
    va_start(ap, arg_buffer_size);
    for (int kind; (kind = va_arg(ap, int)) != 0;) {
        const void *ptr = va_arg(ap, const void *);
        size_t bytes = va_arg(ap, size_t);
        if (kind != STARPU_VALUE) {
            orr_error("starpu_codelet_pack_args: only STARPU_VALUE can be packed; the rest is left out");
            break;
        }
        starpu_codelet_pack_arg(&s, ptr, bytes);
    }
    va_end(ap);
    starpu_codelet_pack_arg_fini(&s, arg_buffer, arg_buffer_size);
}

void starpu_codelet_unpack_arg_init(struct starpu_codelet_pack_arg_data *s, void *cl_arg, size_t cl_arg_size)
{
    memset(s, 0, sizeof *s);
    s->arg_buffer = cl_arg;
    s->arg_buffer_size = cl_arg_size;
    s->current_offset = sizeof(int);
    if (cl_arg) memcpy(&s->nargs, cl_arg, sizeof s->nargs);
}

static char *pick(struct starpu_codelet_pack_arg_data *s, size_t *bytes_out)
{
    if (s->nargs <= 0) {
        orr_error("unpacking codelet arguments%s: there is none left", "");
        *bytes_out = 0;
        return NULL;
    }
    memcpy(bytes_out, s->arg_buffer + s->current_offset, sizeof *bytes_out);
    char *value = s->arg_buffer + s->current_offset + sizeof *bytes_out;
    s->current_offset += sizeof *bytes_out + *bytes_out;
    s->nargs--;
    return value;
}

void starpu_codelet_unpack_arg(struct starpu_codelet_pack_arg_data *s, void *ptr, size_t size)
{
    size_t bytes;
    char *value = pick(s, &bytes);
    if (value && bytes != size)
        orr_error("starpu_codelet_unpack_arg: the value has %zu bytes, not %zu", bytes, size);
    if (value && ptr) memcpy(ptr, value, bytes < size ? bytes : size);
}

void starpu_codelet_dup_arg(struct starpu_codelet_pack_arg_data *s, void **ptr, size_t *size)
{
    char *value = pick(s, size);
    *ptr = value ? orr_malloc(*size ? *size : 1) : NULL;
    if (*ptr) memcpy(*ptr, value, *size);
}

void starpu_codelet_pick_arg(struct starpu_codelet_pack_arg_data *s, void **ptr, size_t *size)
{
    *ptr = pick(s, size);
}

void starpu_codelet_unpack_discard_arg(struct starpu_codelet_pack_arg_data *s)
{
    size_t bytes;
    pick(s, &bytes);
}

void starpu_codelet_unpack_arg_fini(struct starpu_codelet_pack_arg_data *s)
{
    s->arg_buffer = NULL;
}
