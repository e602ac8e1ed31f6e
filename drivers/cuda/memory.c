/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: the memory of a CUDA device: allocating, and copies in its queues.
 * Threads: any. Owns: nothing. Not here: the end of a copy (mark.c), which copies are made (core/data).
 *
 * A copy's event holds a mark. A later copy for the same datum goes to the same queue, whose order makes one
 * mark stand for both; copies with a stop are a list besides (staging.c). What was given to a queue is over
 * only when the mark is reached, even if a later part could not be given to it: so a copy of which something
 * has begun never ends at once. */
#include <errno.h>
#include <sched.h>

#include "core/base/kind.h"
#include "core/base/log.h"
#include "drivers/cuda/staging.h"

enum {
    MARK,
    STAGED,
    FAILED
}; /* of an orr_copy_event's words: a mark, copies with a stop, whether one failed */

/* ---- allocating ---- */

static uintptr_t cuda_alloc(unsigned node, size_t bytes)
{
    struct cuda_device *d = orr_cuda_of_node(node);
    struct cuda_visit v;
    cuda_address p = 0;
    if (orr_load_relaxed(&d->lost) || orr_cuda_enter(d, &v)) return 0;
    int r = orr_cuda.alloc(&p, bytes);
    orr_cuda_leave(&v);
    if (r == CUDA_OK) return (uintptr_t)p;
    if (r != CUDA_NO_MEMORY) orr_cuda_failed(d, "cuMemAlloc", r);
    return 0;
}

static void cuda_free(unsigned node, uintptr_t addr, size_t bytes)
{
    struct cuda_device *d = orr_cuda_of_node(node);
    struct cuda_visit v;
    (void)bytes;
    if (orr_load_relaxed(&d->lost) || orr_cuda_enter(d, &v)) return;
    int r = orr_cuda.free(addr);
    if (r != CUDA_OK) orr_cuda_failed(d, "cuMemFree", r);
    orr_cuda_leave(&v);
}

/* ---- pinning ---- */

static int cuda_pin(unsigned node, void *p, size_t bytes)
{
    struct cuda_device *d = orr_cuda_of_node(node);
    struct cuda_visit v;
    if (orr_load_relaxed(&d->lost) || orr_cuda_enter(d, &v)) return -EIO;
    int r = orr_cuda.host_register(p, bytes, CUDA_REGISTER_PORTABLE);
    orr_cuda_leave(&v);
    if (r == CUDA_OK) return 0;
    return r == CUDA_ALREADY_REGISTERED ? -EALREADY : orr_cuda_failed(d, "cuMemHostRegister", r);
}

static void cuda_unpin(unsigned node, void *p)
{
    struct cuda_device *d = orr_cuda_of_node(node);
    struct cuda_visit v;
    if (orr_load_relaxed(&d->hangs) || orr_cuda_enter(d, &v)) return;
    int r = orr_cuda.host_unregister(p);
    if (r != CUDA_OK) orr_cuda_failed(d, "cuMemHostUnregister", r);
    orr_cuda_leave(&v);
}

/* ---- copying ---- */

static struct cuda_job job_of(const struct orr_location *src, const struct orr_location *dst)
{
    struct cuda_device *from = orr_cuda_of_node(src->node), *to = orr_cuda_of_node(dst->node);
    struct cuda_job j = { .device = to ? to : from, .from = from, .to = to };
    j.queue = !from ? &to->in : !to ? &from->out : &to->peer;
    j.src = src->base + src->offset;
    j.dst = dst->base + dst->offset;
    return j;
}

static int give_row(const struct cuda_job *j, uintptr_t src, uintptr_t dst, size_t bytes)
{
    cuda_stream s = j->queue->stream;
    if (!j->from) return orr_cuda.copy_to(dst, (const void *)src, bytes, s);
    if (!j->to) return orr_cuda.copy_from((void *)dst, src, bytes, s);
    if (j->from == j->to) return orr_cuda.copy_within(dst, src, bytes, s);
    return orr_cuda.copy_peer(dst, j->to->context, src, j->from->context, bytes, s);
}

static struct cuda_end end_of(const struct cuda_device *d, uintptr_t at, bool peer, size_t row, size_t plane)
{
    struct cuda_end e = { .memory = d ? CUDA_DEVICE_MEMORY : CUDA_HOST_MEMORY,
                          .pitch = row,
                          .height = plane / row };
    if (d)
        e.device = at;
    else
        e.host = (void *)at;
    if (peer) e.context = d->context;
    return e;
}

/* Rows and planes that CUDA can step through: rows do not overlap, planes begin at rows. */
static bool is_regular(size_t bytes, size_t rows, size_t row, size_t plane)
{
    return row >= bytes && row <= INT32_MAX && plane % row == 0 && plane / row >= rows;
}

/* Some planes in one call. */
static int give_planes(const struct cuda_job *j, const struct orr_box *b, size_t first, size_t planes)
{
    bool peer = j->from && j->to && j->from != j->to;
    struct cuda_copy3d c = { .width_bytes = b->bytes, .height = b->rows, .depth = planes };
    bool one = planes == 1;
    c.src = end_of(j->from, j->src + first * b->src_plane, peer, b->src_row,
                   one ? b->rows * b->src_row : b->src_plane);
    c.dst = end_of(j->to, j->dst + first * b->dst_plane, peer, b->dst_row,
                   one ? b->rows * b->dst_row : b->dst_plane);
    return (peer ? orr_cuda.copy3d_peer : orr_cuda.copy3d)(&c, j->queue->stream);
}

/* Gives a plane to the queue: 0, or what the library says; *begun_out: part of it was taken. */
static int give_plane(const struct cuda_job *j, const struct orr_box *b, size_t plane, bool *begun_out)
{
    int r = CUDA_OK;
    if (b->src_row >= b->bytes && b->dst_row >= b->bytes && b->src_row <= INT32_MAX &&
        b->dst_row <= INT32_MAX && b->rows > 1) {
        r = give_planes(j, b, plane, 1);
        *begun_out |= r == CUDA_OK;
        return r;
    }
    for (size_t row = 0; row < b->rows && r == CUDA_OK; row++) {
        r = give_row(j, j->src + plane * b->src_plane + row * b->src_row,
                     j->dst + plane * b->dst_plane + row * b->dst_row, b->bytes);
        *begun_out |= r == CUDA_OK;
    }
    return r;
}

int orr_cuda_give_box(const struct cuda_job *j, const struct orr_box *b, bool *begun_out)
{
    int r = CUDA_OK;
    if (b->planes > 1 && is_regular(b->bytes, b->rows, b->src_row, b->src_plane) &&
        is_regular(b->bytes, b->rows, b->dst_row, b->dst_plane)) {
        r = give_planes(j, b, 0, b->planes);
        *begun_out = r == CUDA_OK;
        return r;
    }
    for (size_t plane = 0; plane < b->planes && r == CUDA_OK; plane++) r = give_plane(j, b, plane, begun_out);
    return r;
}

/* Whether the copy was begun with a stop. In the context. */
static bool stage(const struct cuda_job *j, const struct orr_box *box, struct orr_copy_event *event)
{
    struct cuda_staged *s = orr_cuda_needs_stop(j, box) ? orr_cuda_stage(j, box) : NULL;
    if (!s) return false;
    s->next = (struct cuda_staged *)(uintptr_t)event->words[STAGED];
    event->words[STAGED] = (uintptr_t)s;
    return true;
}

/* Nothing of a copy could be begun: what was begun for the event goes on, and ends as failed. */
static int fail(struct orr_copy_event *event)
{
    if (!event->words[STAGED]) return -EIO;
    event->words[FAILED] = 1;
    return -EAGAIN;
}

/* In the context. */
static int start(const struct cuda_job *j, const struct orr_box *box, struct orr_copy_event *event)
{
    struct cuda_mark *m = (struct cuda_mark *)(uintptr_t)event->words[MARK];
    bool begun = m != NULL;
    if (stage(j, box, event)) return -EAGAIN;
    if (!m && !(m = orr_cuda_mark_get(j->device, j->queue))) return fail(event);
    int r = orr_cuda_give_box(j, box, &begun);
    if (r != CUDA_OK) orr_cuda_failed(j->device, "copying", r);
    if (!begun) {
        orr_cuda_mark_put(m);
        return fail(event);
    }
    orr_cuda_mark_set(m, r != CUDA_OK);
    event->words[MARK] = (uintptr_t)m;
    return -EAGAIN;
}

static void note_failure(struct orr_copy_event *event, const struct cuda_text *why)
{
    orr_warn("a copy to or from memory node %s failed: %s", orr_nodes[event->node].name, why->chars);
    event->words[FAILED] = 1;
}

static void test_mark(struct orr_copy_event *event)
{
    struct cuda_text why;
    struct cuda_mark *m = (struct cuda_mark *)(uintptr_t)event->words[MARK];
    int r = m ? orr_cuda_mark_test(m, &why) : 0;
    if (r == -EIO) note_failure(event, &why);
    if (r != -EAGAIN) event->words[MARK] = 0;
}

/* Takes all of them further; the list is left with those that go on. */
static void test_staged(struct orr_copy_event *event)
{
    struct cuda_staged *s = (struct cuda_staged *)(uintptr_t)event->words[STAGED], *left = NULL;
    for (struct cuda_staged *next; s; s = next) {
        struct cuda_text why;
        next = s->next;
        int r = orr_cuda_staged_test(s, &why, &event->moved);
        if (r == -EIO) note_failure(event, &why);
        if (r != -EAGAIN) continue;
        s->next = left;
        left = s;
    }
    event->words[STAGED] = (uintptr_t)left;
}

static int cuda_test(struct orr_copy_event *event)
{
    if (event->words[MARK]) test_mark(event);
    if (event->words[STAGED]) test_staged(event);
    if (event->words[MARK] || event->words[STAGED]) return -EAGAIN;
    return event->words[FAILED] ? -EIO : 0;
}

static int cuda_copy_box(const struct orr_location *src, const struct orr_location *dst,
                         const struct orr_box *box, struct orr_copy_event *event)
{
    struct cuda_job j = job_of(src, dst);
    struct orr_copy_event own = { .node = j.device->node };
    struct cuda_visit v;
    if (orr_load_relaxed(&j.device->lost) || (j.from && orr_load_relaxed(&j.from->lost)) ||
        orr_cuda_enter(j.device, &v))
        return -EIO;
    int r = start(&j, box, event ? event : &own);
    orr_cuda_leave(&v);
    while (!event && r == -EAGAIN)
        if ((r = cuda_test(&own)) == -EAGAIN) sched_yield();
    return r;
}

static int cuda_copy(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                     struct orr_copy_event *event)
{
    return cuda_copy_box(src, dst, &(struct orr_box){ .bytes = bytes, .rows = 1, .planes = 1 }, event);
}

int orr_cuda_copy_in(cuda_stream stream, const struct orr_location *src, const struct orr_location *dst,
                     const struct orr_box *box)
{
    struct cuda_queue q = { .stream = stream };
    struct cuda_job j = job_of(src, dst);
    bool begun = false;
    j.queue = &q;
    return orr_cuda_give_box(&j, box, &begun);
}

/* ---- interfaces that copy themselves ---- */

typedef int (*stream_method_fn)(void *src_interface, unsigned src_node, void *dst_interface,
                                unsigned dst_node, starpu_cudaStream_t stream);

static stream_method_fn stream_method(const struct starpu_data_copy_methods *m, const struct cuda_job *j)
{
    return !j->from ? m->ram_to_cuda_async : !j->to ? m->cuda_to_ram_async : m->cuda_to_cuda_async;
}

/* Calls the method that starts its copies in a stream. What it began ends at the mark, whatever it answers.
 * In the context. */
static int start_method(stream_method_fn method, const struct cuda_job *j, void *src_interface,
                        unsigned src_node, void *dst_interface, unsigned dst_node,
                        struct orr_copy_event *event)
{
    struct cuda_mark *m = orr_cuda_mark_get(j->device, j->queue);
    if (!m) return -EIO;
    int r = method(src_interface, src_node, dst_interface, dst_node, (starpu_cudaStream_t)j->queue->stream);
    bool failed = r != 0 && r != -EAGAIN;
    if (failed)
        orr_warn("an interface's method for CUDA from memory node %u to %u returned %d", src_node, dst_node,
                 r);
    orr_cuda_mark_set(m, failed);
    *event = (struct orr_copy_event){ .node = event->node, .words = { [MARK] = (uintptr_t)m } };
    return -EAGAIN;
}

/* In the context. */
static int call_method(const struct starpu_data_copy_methods *m, const struct cuda_job *j,
                       void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                       struct orr_copy_event *event)
{
    struct orr_copy_event own = { .node = j->device->node };
    stream_method_fn starts = stream_method(m, j);
    int (*copies)(void *, unsigned, void *, unsigned) = !j->from ? m->ram_to_cuda
                                                        : !j->to ? m->cuda_to_ram
                                                                 : m->cuda_to_cuda;
    if (copies && !(starts && event)) {
        int r = copies(src_interface, src_node, dst_interface, dst_node);
        return r == -EAGAIN ? 0 : r;
    }
    if (!starts) return -ENOSYS;
    int r = start_method(starts, j, src_interface, src_node, dst_interface, dst_node, event ? event : &own);
    while (!event && r == -EAGAIN)
        if ((r = cuda_test(&own)) == -EAGAIN) sched_yield();
    return r;
}

static int cuda_copy_by(const struct starpu_data_copy_methods *m, void *src_interface, unsigned src_node,
                        void *dst_interface, unsigned dst_node, struct orr_copy_event *event)
{
    struct cuda_job j =
        job_of(&(struct orr_location){ .node = src_node }, &(struct orr_location){ .node = dst_node });
    struct cuda_visit v;
    if (orr_load_relaxed(&j.device->lost) || (j.from && orr_load_relaxed(&j.from->lost)) ||
        orr_cuda_enter(j.device, &v))
        return -EIO;
    int r = call_method(m, &j, src_interface, src_node, dst_interface, dst_node, event);
    orr_cuda_leave(&v);
    return r;
}

static bool cuda_between(const struct starpu_data_copy_methods *m)
{
    return m->cuda_to_cuda_async != NULL;
}

/* What the CUDA libraries of other people know as a device's address. */
static enum orr_addresses cuda_addresses(unsigned node)
{
    (void)node;
    return ORR_ADDRESSES_DEVICE;
}

static bool cuda_reaches(unsigned src, unsigned dst)
{
    const struct cuda_device *d = orr_cuda_of_node(dst);
    return d && (d->reaches >> src & 1);
}

static const struct orr_node_ops cuda_node_ops = {
    .name = "CUDA",
    .alloc = cuda_alloc,
    .free = cuda_free,
    .costly = true,
    .copy = cuda_copy,
    .copy_box = cuda_copy_box,
    .test = cuda_test,
    .copy_by = cuda_copy_by,
    .between = cuda_between,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .reaches = cuda_reaches,
    .addresses = cuda_addresses,
};

/* ---- opening ---- */

/* d reads the memory of another device from now on, if the two can. */
static void reach(struct cuda_device *d, struct cuda_device *other)
{
    struct cuda_visit v;
    int can = 0;
    if (orr_cuda.device_reaches(&can, d->handle, other->handle) != CUDA_OK || !can || orr_cuda_enter(d, &v))
        return;
    int r = orr_cuda.peer_enable(other->context, 0);
    if (r == CUDA_OK || r == CUDA_PEER_ALREADY) d->reaches |= UINT32_C(1) << other->node;
    orr_cuda_leave(&v);
}

int orr_cuda_memory_open(struct cuda_device *d, const struct orr_kind *kind, const char *name)
{
    size_t free_bytes, total_bytes, limit = orr_kind_memory_limit(kind, d->number);
    int r = orr_cuda.memory_info(&free_bytes, &total_bytes);
    if (r != CUDA_OK) {
        orr_cuda_failed(d, "cuMemGetInfo", r);
        return -ENODEV;
    }
    if (limit == 0) limit = free_bytes / 10 * 9;
    if (limit > free_bytes) limit = free_bytes;
    int node = orr_node_register(kind->memory, d->number, &cuda_node_ops, limit, name);
    if (node < 0) return node;
    d->node = (unsigned)node;
    d->reaches = UINT32_C(1) << node;
    for (unsigned n = 0; n < d->node; n++) {
        struct cuda_device *other = orr_cuda_of_node(n);
        if (!other) continue;
        reach(d, other);
        reach(other, d);
    }
    return 0;
}
