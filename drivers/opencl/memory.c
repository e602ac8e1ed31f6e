/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: memory of OpenCL devices, and copies to it, from it and within it.
 * Threads: any. Owns: nothing. Not here: asking how a copy goes (orr_opencl_ask in kernel.c).
 *
 * A place is a cl_mem and an offset. Copies to a device and from it have a queue each, in order; an event
 * stands for those before it of the same datum, too, because each is told to wait for the one before: if
 * that fails, so does the next. Boxes are rectangles of OpenCL where their pitches allow, else rows.
 * Devices of one context copy from each other by the queue of the one that gets it; else core makes a stop in
 * main memory. Devices that are
 * cores of this machine use main memory in place where the program wants that (STARPU_ENABLE_MAP). */
#include <errno.h>
#include <string.h>

#include "core/base/log.h"
#include "drivers/opencl/opencl.h"

/* ---- memory ---- */

static uintptr_t opencl_alloc(unsigned node, size_t bytes)
{
    struct orr_opencl_device *d = orr_opencl_device_of_node(node);
    if (!d || orr_load_relaxed(&d->silent)) return 0;
    return (uintptr_t)orr_cl.CreateBuffer(d->context, CL_MEM_READ_WRITE, bytes ? bytes : 1, NULL, NULL);
}

static void opencl_free(unsigned node, uintptr_t handle, size_t bytes)
{
    struct orr_opencl_device *d = orr_opencl_device_of_node(node);
    (void)bytes;
    if (!d || orr_load_relaxed(&d->silent)) return;
    cl_int r = orr_cl.ReleaseMemObject((cl_mem)handle);
    if (r != CL_SUCCESS)
        orr_warn("%s: clReleaseMemObject says %s (%d); that memory is lost", d->name, orr_opencl_error(r),
                 (int)r);
}

/* ---- one copy ---- */

/* The ends of a copy: a device at one of them, or at both; device: whose queue it goes through. */
struct link {
    struct orr_opencl_device *device; /* NULL: nobody's */
    bool from_device, to_device;
};

static struct link link_of(unsigned src, unsigned dst)
{
    struct orr_opencl_device *from = orr_opencl_device_of_node(src), *to = orr_opencl_device_of_node(dst);
    bool strange = from && to ? from->context != to->context || orr_load_relaxed(&from->silent)
                              : !orr_node_is_cpu(from ? dst : src);
    return (struct link){ strange ? NULL : to ? to : from, from != NULL, to != NULL };
}

static void *address(const struct orr_location *at)
{
    return (void *)(at->base + at->offset);
}

static cl_int copy_row(const struct link *l, const struct orr_location *src, const struct orr_location *dst,
                       size_t bytes, cl_event after, cl_event *event_out)
{
    struct orr_opencl_device *d = l->device;
    cl_uint n = after != NULL;
    const cl_event *list = after ? &after : NULL;
    if (l->from_device && l->to_device)
        return orr_cl.EnqueueCopyBuffer(d->in, (cl_mem)src->base, (cl_mem)dst->base, src->offset, dst->offset,
                                        bytes, n, list, event_out);
    if (l->to_device)
        return orr_cl.EnqueueWriteBuffer(d->in, (cl_mem)dst->base, CL_FALSE, dst->offset, bytes, address(src),
                                         n, list, event_out);
    return orr_cl.EnqueueReadBuffer(d->out, (cl_mem)src->base, CL_FALSE, src->offset, bytes, address(dst), n,
                                    list, event_out);
}

/* Rows and planes of a buffer, and where in it a box begins. */
struct pitch {
    size_t origin[3], row, plane;
};

/* False: OpenCL has no words for it. */
static bool pitch_of(size_t offset, const struct orr_box *b, size_t row, size_t plane, struct pitch *out)
{
    if (b->planes == 1) plane = 0;
    if (row < b->bytes || (plane && (plane % row || plane < row * b->rows))) return false;
    size_t in_plane = plane ? offset % plane : offset;
    *out = (struct pitch){ { in_plane % row, in_plane / row, plane ? offset / plane : 0 }, row, plane };
    return out->origin[0] + b->bytes <= row && (!plane || out->origin[1] + b->rows <= plane / row);
}

/* The box as one command. False: it takes several. */
static bool copy_rectangle(const struct link *l, const struct orr_location *src,
                           const struct orr_location *dst, const struct orr_box *b, cl_event after,
                           cl_event *event_out, cl_int *status_out)
{
    struct orr_opencl_device *d = l->device;
    struct pitch from, to;
    const size_t region[3] = { b->bytes, b->rows, b->planes };
    cl_uint n = after != NULL;
    const cl_event *list = after ? &after : NULL;
    if (!pitch_of(l->from_device ? src->offset : 0, b, b->src_row, b->src_plane, &from) ||
        !pitch_of(l->to_device ? dst->offset : 0, b, b->dst_row, b->dst_plane, &to))
        return false;
    if (l->from_device && l->to_device)
        *status_out =
            orr_cl.EnqueueCopyBufferRect(d->in, (cl_mem)src->base, (cl_mem)dst->base, from.origin, to.origin,
                                         region, from.row, from.plane, to.row, to.plane, n, list, event_out);
    else if (l->to_device)
        *status_out = orr_cl.EnqueueWriteBufferRect(d->in, (cl_mem)dst->base, CL_FALSE, to.origin,
                                                    from.origin, region, to.row, to.plane, from.row,
                                                    from.plane, address(src), n, list, event_out);
    else
        *status_out = orr_cl.EnqueueReadBufferRect(d->out, (cl_mem)src->base, CL_FALSE, from.origin,
                                                   to.origin, region, from.row, from.plane, to.row, to.plane,
                                                   address(dst), n, list, event_out);
    return true;
}

/* Row after row, each behind the one before. On an error nothing of it goes on. */
static cl_int copy_rows(const struct link *l, const struct orr_location *src, const struct orr_location *dst,
                        const struct orr_box *b, cl_event after, cl_event *event_out)
{
    cl_event last = after;
    for (size_t p = 0; p < b->planes; p++)
        for (size_t i = 0; i < b->rows; i++) {
            struct orr_location from = *src, to = *dst;
            cl_event next;
            from.offset += p * b->src_plane + i * b->src_row;
            to.offset += p * b->dst_plane + i * b->dst_row;
            cl_int r = copy_row(l, &from, &to, b->bytes, last, &next);
            if (r != CL_SUCCESS) {
                if (last != after) orr_opencl_wait(l->device, last);
                return r;
            }
            if (last != after) orr_cl.ReleaseEvent(last);
            last = next;
        }
    *event_out = last;
    return CL_SUCCESS;
}

static cl_int enqueue(const struct link *l, const struct orr_location *src, const struct orr_location *dst,
                      const struct orr_box *b, cl_event after, cl_event *event_out)
{
    cl_int r;
    if (b->rows == 1 && b->planes == 1)
        r = copy_row(l, src, dst, b->bytes, after, event_out);
    else if (!copy_rectangle(l, src, dst, b, after, event_out, &r))
        r = copy_rows(l, src, dst, b, after, event_out);
    if (r == CL_SUCCESS)
        orr_cl.Flush(l->to_device ? l->device->in : l->device->out);
    else
        orr_warn("%s: a copy could not be started: %s (%d)", l->device->name, orr_opencl_error(r), (int)r);
    return r;
}

cl_int orr_opencl_enqueue(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                          cl_event after, cl_event *event_out)
{
    const struct orr_box b = { .bytes = bytes, .rows = 1, .planes = 1 };
    struct link l = link_of(src->node, dst->node);
    if (!l.device) return CL_INVALID_MEM_OBJECT;
    if (orr_load_relaxed(&l.device->silent)) return CL_DEVICE_NOT_AVAILABLE;
    return enqueue(&l, src, dst, &b, after, event_out);
}

/* ---- the methods ---- */

static int opencl_copy_box(const struct orr_location *src, const struct orr_location *dst,
                           const struct orr_box *box, struct orr_copy_event *event)
{
    struct link l = link_of(src->node, dst->node);
    cl_event own, before = event ? (cl_event)(uintptr_t)event->words[OPENCL_EVENT] : NULL;
    if (!l.device || orr_load_relaxed(&l.device->silent)) return -EIO;
    if (enqueue(&l, src, dst, box, before, &own) != CL_SUCCESS) return -EIO; /* what was before goes on */
    if (!event) return orr_opencl_wait(l.device, own);
    if (before) orr_cl.ReleaseEvent(before);
    memset(event->words, 0, sizeof event->words);
    event->words[OPENCL_EVENT] = (uintptr_t)own;
    event->words[OPENCL_DEVICE] = (uintptr_t)l.device;
    return -EAGAIN;
}

static int opencl_copy(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                       struct orr_copy_event *event)
{
    return opencl_copy_box(src, dst, &(struct orr_box){ .bytes = bytes, .rows = 1, .planes = 1 }, event);
}

static int opencl_test(struct orr_copy_event *event)
{
    return orr_opencl_ask(event->words);
}

/* ---- interfaces that copy themselves ---- */

static int opencl_copy_by(const struct starpu_data_copy_methods *m, void *src_interface, unsigned src_node,
                          void *dst_interface, unsigned dst_node, struct orr_copy_event *event)
{
    cl_event own = NULL;
    struct link l = link_of(src_node, dst_node);
    if (!l.device || orr_load_relaxed(&l.device->silent)) return -EIO;
    bool within = l.to_device && l.from_device;
    __typeof__(m->ram_to_opencl_async) method = within        ? m->opencl_to_opencl_async
                                                : l.to_device ? m->ram_to_opencl_async
                                                              : m->opencl_to_ram_async;
    bool waits = within ? m->opencl_to_opencl : l.to_device ? m->ram_to_opencl : m->opencl_to_ram;
    if (!method || (!event && waits)) return -ENOSYS;
    int r = method(src_interface, src_node, dst_interface, dst_node, &own);
    if (r != -EAGAIN) return r;
    if (!own) return 0; /* it has waited itself */
    if (!event) return orr_opencl_wait(l.device, own);
    *event = (struct orr_copy_event){
        .words = { [OPENCL_EVENT] = (uintptr_t)own, [OPENCL_DEVICE] = (uintptr_t)l.device }
    };
    return r;
}

static bool opencl_between(const struct starpu_data_copy_methods *m)
{
    return m->opencl_to_opencl_async != NULL;
}

static bool opencl_reaches(unsigned src, unsigned dst)
{
    const struct orr_opencl_device *from = orr_opencl_device_of_node(src),
                                   *to = orr_opencl_device_of_node(dst);
    return from && to && from->context == to->context;
}

/* ---- main memory in place ---- */

/* A buffer over it; only for devices that are cores of this machine and see it anyway. */
static uintptr_t opencl_map(const struct orr_location *src, unsigned node, size_t bytes)
{
    struct orr_opencl_device *d = orr_opencl_device_of_node(node);
    if (!d || !d->in_place || bytes == 0 || orr_load_relaxed(&d->silent)) return 0;
    return (uintptr_t)orr_cl.CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                          address(src), NULL);
}

static void opencl_unmap(const struct orr_location *src, unsigned node, uintptr_t handle, size_t bytes)
{
    (void)src;
    opencl_free(node, handle, bytes);
}

/* OpenCL wants to hear who uses the memory next: main memory is up to date while the buffer is mapped, and
 * what it holds is the device's once the buffer is unmapped. */
static int opencl_update_map(const struct orr_location *src, const struct orr_location *dst, size_t bytes)
{
    bool down = !orr_node_is_cpu(src->node);
    const struct orr_location *there = down ? src : dst;
    struct orr_opencl_device *d = orr_opencl_device_of_node(there->node);
    cl_map_flags flags = down ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION;
    cl_event mapped, unmapped;
    cl_int r;
    if (!d || orr_load_relaxed(&d->silent)) return -EIO;
    void *at = orr_cl.EnqueueMapBuffer(d->in, (cl_mem)there->base, CL_FALSE, flags, there->offset, bytes, 0,
                                       NULL, &mapped, &r);
    if (!at) return -EIO;
    r = orr_cl.EnqueueUnmapMemObject(d->in, (cl_mem)there->base, at, 1, &mapped, &unmapped);
    int first = orr_opencl_wait(d, mapped);
    int second = r == CL_SUCCESS ? orr_opencl_wait(d, unmapped) : -EIO;
    return first ? first : second;
}

const struct orr_node_ops orr_opencl_node_ops = {
    .name = "OpenCL",
    .alloc = opencl_alloc,
    .free = opencl_free,
    .copy = opencl_copy,
    .copy_box = opencl_copy_box,
    .test = opencl_test,
    .copy_by = opencl_copy_by,
    .between = opencl_between,
    .reaches = opencl_reaches,
    .map = opencl_map,
    .unmap = opencl_unmap,
    .update_map = opencl_update_map,
};
