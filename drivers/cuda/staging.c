/* SPDX-License-Identifier: BSD-3-Clause */
/* staging.c: copies of main memory that is not pinned, by way of some that is.
 * Threads: any, for one copy one at a time. Owns: each device's buffers. Not here: copies without a stop
 * (memory.c).
 *
 * CUDA keeps the caller of such a copy until it has ended, for ever if the device hangs. So it goes through
 * pinned buffers here, a piece at a time: one is filled or emptied while the device has the other. Whoever
 * tests the copy takes it further. Where all buffers are in use a copy waits for those that have them, which
 * need nothing else to end. */
#include "drivers/cuda/staging.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"

enum { PIECE_BYTES = 1 << 20, BUFFERS_MAX = 8 };

struct cuda_buffer {
    struct cuda_buffer *next;
    char *bytes;
};

/* ---- buffers ---- */

/* NULL: all are in use, or there can be none. In the context. */
static struct cuda_buffer *buffer_get(struct cuda_device *d)
{
    void *bytes;
    orr_spin_lock(&d->lock);
    struct cuda_buffer *b = d->buffers;
    bool another = !b && d->buffer_count < BUFFERS_MAX;
    if (b) d->buffers = b->next;
    if (another) d->buffer_count++;
    orr_spin_unlock(&d->lock);
    if (!another) return b;
    b = orr_malloc(sizeof *b);
    int r = b ? orr_cuda.host_alloc(&bytes, PIECE_BYTES, CUDA_ALLOC_PORTABLE) : CUDA_NO_MEMORY;
    if (r == CUDA_OK) {
        b->bytes = bytes;
        return b;
    }
    orr_free(b);
    orr_spin_lock(&d->lock);
    d->buffer_count--;
    orr_spin_unlock(&d->lock);
    return NULL;
}

static void buffer_put(struct cuda_device *d, struct cuda_buffer *b)
{
    orr_spin_lock(&d->lock);
    b->next = d->buffers;
    d->buffers = b;
    orr_spin_unlock(&d->lock);
}

static bool has_buffers(struct cuda_device *d)
{
    orr_spin_lock(&d->lock);
    bool has = d->buffer_count > 0;
    orr_spin_unlock(&d->lock);
    return has;
}

void orr_cuda_buffers_free(struct cuda_device *d, bool inside)
{
    for (struct cuda_buffer *b; (b = d->buffers);) {
        d->buffers = b->next;
        if (inside) orr_cuda.host_free(b->bytes);
        orr_free(b);
    }
    d->buffer_count = 0;
}

/* ---- whether ---- */

static bool is_pinned(uintptr_t at)
{
    unsigned memory = 0;
    return orr_cuda.pointer_is(&memory, CUDA_POINTER_MEMORY, at) == CUDA_OK && memory != 0;
}

bool orr_cuda_needs_stop(const struct cuda_job *j, const struct orr_box *b)
{
    if ((j->from && j->to) || b->bytes == 0 || b->rows == 0 || b->planes == 0) return false;
    uintptr_t at = j->from ? j->dst : j->src;
    size_t row = j->from ? b->dst_row : b->src_row, plane = j->from ? b->dst_plane : b->src_plane;
    return !is_pinned(at) || !is_pinned(at + (b->planes - 1) * plane + (b->rows - 1) * row + b->bytes - 1);
}

/* ---- pieces ---- */

static bool is_all_given(const struct cuda_staged *s)
{
    return s->plane == s->box.planes;
}

/* Takes the next piece off what is to be given: some rows, or a part of one. */
static struct cuda_piece cut(struct cuda_staged *s, struct orr_box *box_out, struct cuda_job *job_out)
{
    const struct orr_box *b = &s->box;
    size_t left = b->bytes - s->offset, fit = PIECE_BYTES / b->bytes;
    struct cuda_piece p = { .bytes = left < PIECE_BYTES ? left : PIECE_BYTES, .rows = 1 };
    if (s->offset == 0 && fit > 1) p.rows = b->rows - s->row < fit ? b->rows - s->row : fit;
    *job_out = s->job;
    job_out->src += s->plane * b->src_plane + s->row * b->src_row + s->offset;
    job_out->dst += s->plane * b->dst_plane + s->row * b->dst_row + s->offset;
    *box_out = (struct orr_box){
        .bytes = p.bytes, .rows = p.rows, .planes = 1, .src_row = b->src_row, .dst_row = b->dst_row
    };
    s->offset += p.bytes;
    if (s->offset < b->bytes) return p;
    s->offset = 0;
    s->row += p.rows;
    if (s->row < b->rows) return p;
    s->row = 0;
    s->plane++;
    return p;
}

static void fill(const struct cuda_piece *p, size_t row)
{
    for (size_t i = 0; i < p->rows; i++)
        memcpy(p->buffer->bytes + i * p->bytes, (const char *)p->at + i * row, p->bytes);
}

static void empty(const struct cuda_piece *p, size_t row)
{
    for (size_t i = 0; i < p->rows; i++)
        memcpy((char *)p->at + i * row, p->buffer->bytes + i * p->bytes, p->bytes);
}

/* Gives the next piece to the device; what fails is said. In the context. */
static void give_next(struct cuda_staged *s, struct cuda_buffer *buffer)
{
    struct cuda_job j;
    struct orr_box b;
    bool begun = false;
    struct cuda_mark *m = orr_cuda_mark_get(s->job.device, s->job.queue);
    if (!m) {
        s->failed = true;
        buffer_put(s->job.device, buffer);
        return;
    }
    struct cuda_piece p = cut(s, &b, &j);
    p.mark = m;
    p.buffer = buffer;
    p.at = j.from ? j.dst : j.src;
    *(j.from ? &j.dst : &j.src) = (uintptr_t)buffer->bytes;
    if (!j.from) fill(&p, b.src_row);
    *(j.from ? &b.dst_row : &b.src_row) = p.bytes;
    int r = orr_cuda_give_box(&j, &b, &begun);
    if (r != CUDA_OK) orr_cuda_failed(j.device, "copying", r);
    s->failed |= r != CUDA_OK;
    if (!begun) {
        orr_cuda_mark_put(m);
        buffer_put(j.device, buffer);
        return;
    }
    orr_cuda_mark_set(m, r != CUDA_OK);
    s->pieces[(s->first + s->count++) % 2] = p;
}

/* Gives the device as much as it may have. In the context. */
static void give(struct cuda_staged *s)
{
    while (s->count < 2 && !s->failed && !is_all_given(s)) {
        struct cuda_buffer *b = buffer_get(s->job.device);
        if (!b) return;
        give_next(s, b);
    }
}

/* How it goes with the first piece: -EAGAIN: the device has it. */
static int end_piece(struct cuda_staged *s, struct cuda_text *why_out)
{
    struct cuda_piece *p = &s->pieces[s->first];
    int r = orr_cuda_mark_test(p->mark, why_out);
    if (r == -EAGAIN) return r;
    if (r == 0 && s->job.from) empty(p, s->box.dst_row);
    s->failed |= r != 0;
    buffer_put(s->job.device, p->buffer); /* of a lost device, only to be told apart from what is leaked */
    s->first = !s->first;
    s->count--;
    return 0;
}

struct cuda_staged *orr_cuda_stage(const struct cuda_job *j, const struct orr_box *b)
{
    struct cuda_staged *s = orr_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->job = *j;
    s->box = *b;
    give(s);
    if (s->count > 0 || s->failed || has_buffers(j->device)) return s;
    orr_free(s);
    return NULL;
}

static void go_on(struct cuda_staged *s, struct cuda_text *why_out)
{
    struct cuda_visit v;
    if (orr_load_relaxed(&s->job.device->lost) || orr_cuda_enter(s->job.device, &v)) {
        *why_out = (struct cuda_text){ "the device cannot be reached" };
        s->failed = true;
        return;
    }
    give(s);
    orr_cuda_leave(&v);
}

int orr_cuda_staged_test(struct cuda_staged *s, struct cuda_text *why_out, bool *moved)
{
    *why_out = (struct cuda_text){ "as was said before" };
    unsigned count = s->count;
    if (count > 0 && end_piece(s, why_out) == -EAGAIN) return -EAGAIN;
    if (!s->failed && !is_all_given(s)) go_on(s, why_out);
    *moved |= count > 0 || s->count > 0;
    if (s->count > 0 || (!s->failed && !is_all_given(s))) return -EAGAIN;
    int r = s->failed ? -EIO : 0;
    orr_free(s);
    return r;
}
