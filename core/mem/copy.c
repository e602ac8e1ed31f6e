/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c: moving bytes between any two memory nodes, for the copy methods of interfaces.
 * Threads: any. Owns: nothing.
 * Not here: deciding what to move (core/data/coherency.c), the links themselves (drivers/), how fast they are
 * (core/perf/bus.c). */
#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/mem/node.h"

uint32_t orr_foreground_kinds;

bool orr_nodes_reach(unsigned src, unsigned dst)
{
    const struct orr_node_ops *from = orr_nodes[src].ops, *to = orr_nodes[dst].ops;
    if (!from || !to || src == dst) return true;
    if (orr_nodes[src].role == ORR_STORE || orr_nodes[dst].role == ORR_STORE) return false;
    return to->reaches && to->reaches(src, dst);
}

/* The ops that copy between two nodes; NULL within main memory. */
static const struct orr_node_ops *link_ops(unsigned src, unsigned dst)
{
    return orr_nodes[dst].ops ? orr_nodes[dst].ops : orr_nodes[src].ops;
}

static unsigned link_node(unsigned src, unsigned dst)
{
    return orr_nodes[dst].ops ? dst : src;
}

static bool nodes_exist(unsigned src, unsigned dst)
{
    unsigned count = orr_node_count ? orr_node_count : 1;
    if (src < count && dst < count) return true;
    orr_error("starpu_interface_copy: there is no memory node %u", src < count ? dst : src);
    return false;
}

/* Folds the result of one part into the whole copy: an error stays, else -EAGAIN, else 0. */
static int combine(int whole, int part)
{
    return whole != 0 && whole != -EAGAIN ? whole : part != 0 ? part : whole;
}

/* A copy through a piece of main memory, for device pairs without a direct link; synchronous. */
static int copy_by_ram(const struct orr_location *src, const struct orr_location *dst, size_t bytes)
{
    void *bounce = orr_malloc(bytes);
    if (!bounce) return -ENOMEM;
    const struct orr_location stop = { .base = (uintptr_t)bounce, .node = STARPU_MAIN_RAM };
    int r = orr_nodes[src->node].ops->copy(src, &stop, bytes, NULL);
    if (r == 0) r = orr_nodes[dst->node].ops->copy(&stop, dst, bytes, NULL);
    orr_free(bounce);
    return r;
}

/* Notes in the caller's async what the ops answered. */
static int note(struct orr_async *async, const struct orr_copy_event *event, unsigned node, int r)
{
    if (!async) return r == -EAGAIN ? -EIO : r; /* -EAGAIN without an event is against the contract */
    if (r == -EAGAIN) {
        async->last = *event;
        async->last.node = node;
        async->pending = true;
    } else if (r != 0 && async->error == 0) {
        async->error = r;
    }
    return r;
}

/* A box with as few rows and planes as it can be: those that follow each other are one. */
static struct orr_box flatten(struct orr_box b)
{
    if (b.rows == 1) {
        b.rows = b.planes;
        b.src_row = b.src_plane;
        b.dst_row = b.dst_plane;
        b.planes = 1;
    }
    if (b.rows > 1 && b.src_row == b.bytes && b.dst_row == b.bytes) {
        b.bytes *= b.rows;
        b.rows = 1;
    } else if (b.planes > 1 && b.src_plane == b.rows * b.src_row && b.dst_plane == b.rows * b.dst_row) {
        b.rows *= b.planes;
        b.planes = 1;
    }
    return b.rows == 1 && b.planes > 1 ? flatten(b) : b;
}

static int copy_row(const struct orr_node_ops *ops, bool reached, const struct orr_location *src,
                    const struct orr_location *dst, size_t bytes, struct orr_copy_event *event)
{
    if (ops) return reached ? ops->copy(src, dst, bytes, event) : copy_by_ram(src, dst, bytes);
    memcpy((void *)(dst->base + dst->offset), (const void *)(src->base + src->offset), bytes);
    return 0;
}

static int copy_box(struct orr_location src, struct orr_location dst, const struct orr_box *whole_box,
                    struct orr_async *async)
{
    if (whole_box->bytes == 0 || whole_box->rows == 0 || whole_box->planes == 0) return 0;
    if (!nodes_exist(src.node, dst.node)) return note(async, NULL, 0, -EINVAL);
    struct orr_box box = flatten(*whole_box);
    ORR_EVENT(BYTES_COPIED, NULL, box.bytes * box.rows * box.planes, src.node, dst.node);
    const struct orr_node_ops *ops = link_ops(src.node, dst.node);
    unsigned whose = link_node(src.node, dst.node);
    bool reached = orr_nodes_reach(src.node, dst.node);
    struct orr_copy_event last = { 0 }, *event = async ? &last : NULL;
    if (async && async->pending) last = async->last;
    if (box.rows > 1 && ops && ops->copy_box && reached)
        return note(async, event, whose, ops->copy_box(&src, &dst, &box, event));
    int whole = 0;
    for (size_t p = 0; p < box.planes; p++)
        for (size_t i = 0; i < box.rows; i++) {
            struct orr_location from = src, to = dst;
            from.offset += p * box.src_plane + i * box.src_row;
            to.offset += p * box.dst_plane + i * box.dst_row;
            int r = copy_row(ops, reached, &from, &to, box.bytes, event);
            whole = combine(whole, note(async, event, whose, r));
        }
    return whole;
}

int starpu_interface_copy(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                          size_t dst_offset, unsigned dst_node, size_t size, void *async_data)
{
    return starpu_interface_copy3d(src, src_offset, src_node, dst, dst_offset, dst_node, size, 1, size, size,
                                   1, size, size, async_data);
}

int starpu_interface_copy2d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t blocksize, size_t numblocks,
                            size_t ld_src, size_t ld_dst, void *async_data)
{
    return starpu_interface_copy3d(src, src_offset, src_node, dst, dst_offset, dst_node, blocksize, numblocks,
                                   ld_src, ld_dst, 1, ld_src, ld_dst, async_data);
}

int starpu_interface_copy3d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t blocksize, size_t numblocks1,
                            size_t ld1_src, size_t ld1_dst, size_t numblocks2, size_t ld2_src, size_t ld2_dst,
                            void *async_data)
{
    const struct orr_box box = { .bytes = blocksize,
                                 .rows = numblocks1,
                                 .planes = numblocks2,
                                 .src_row = ld1_src,
                                 .dst_row = ld1_dst,
                                 .src_plane = ld2_src,
                                 .dst_plane = ld2_dst };
    return copy_box((struct orr_location){ src, src_offset, src_node },
                    (struct orr_location){ dst, dst_offset, dst_node }, &box, async_data);
}

int starpu_interface_copy4d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t blocksize, size_t numblocks1,
                            size_t ld1_src, size_t ld1_dst, size_t numblocks2, size_t ld2_src, size_t ld2_dst,
                            size_t numblocks3, size_t ld3_src, size_t ld3_dst, void *async_data)
{
    int whole = 0;
    for (size_t i = 0; i < numblocks3; i++)
        whole = combine(whole,
                        starpu_interface_copy3d(src, src_offset + i * ld3_src, src_node, dst,
                                                dst_offset + i * ld3_dst, dst_node, blocksize, numblocks1,
                                                ld1_src, ld1_dst, numblocks2, ld2_src, ld2_dst, async_data));
    return whole;
}

int starpu_interface_copynd(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t elemsize, size_t ndim, size_t *nn,
                            size_t *ldn_src, size_t *ldn_dst, void *async_data)
{
    if (ndim == 0)
        return starpu_interface_copy(src, src_offset, src_node, dst, dst_offset, dst_node, elemsize,
                                     async_data);
    if (ndim == 1)
        return starpu_interface_copy(src, src_offset, src_node, dst, dst_offset, dst_node, nn[0] * elemsize,
                                     async_data);
    if (ndim == 2)
        return starpu_interface_copy2d(src, src_offset, src_node, dst, dst_offset, dst_node, nn[0] * elemsize,
                                       nn[1], ldn_src[1] * elemsize, ldn_dst[1] * elemsize, async_data);
    if (ndim == 3)
        return starpu_interface_copy3d(src, src_offset, src_node, dst, dst_offset, dst_node, nn[0] * elemsize,
                                       nn[1], ldn_src[1] * elemsize, ldn_dst[1] * elemsize, nn[2],
                                       ldn_src[2] * elemsize, ldn_dst[2] * elemsize, async_data);
    int whole = 0;
    for (size_t i = 0; i < nn[ndim - 1]; i++)
        whole = combine(whole,
                        starpu_interface_copynd(src, src_offset + i * ldn_src[ndim - 1] * elemsize, src_node,
                                                dst, dst_offset + i * ldn_dst[ndim - 1] * elemsize, dst_node,
                                                elemsize, ndim - 1, nn, ldn_src, ldn_dst, async_data));
    return whole;
}

/* ---- what interfaces say about copies of their own ---- */

void starpu_interface_start_driver_copy_async(unsigned src_node, unsigned dst_node, double *start)
{
    (void)src_node;
    (void)dst_node;
    *start = (double)orr_clock_ns() * 1e-3;
}

/* A submission that took long blocked the worker: worth a line in a verbose run. */
void starpu_interface_end_driver_copy_async(unsigned src_node, unsigned dst_node, double start)
{
    double us = (double)orr_clock_ns() * 1e-3 - start;
    if (us > 300.)
        orr_info("starting a copy from node %u to %u took %.0f us; is the memory pinned?", src_node, dst_node,
                 us);
}

void starpu_interface_start_driver_copy_async_devid(int src_dev, enum starpu_node_kind src_kind, int dst_dev,
                                                    enum starpu_node_kind dst_kind, double *start)
{
    starpu_interface_start_driver_copy_async(starpu_memory_devid_find_node(src_dev, src_kind),
                                             starpu_memory_devid_find_node(dst_dev, dst_kind), start);
}

void starpu_interface_end_driver_copy_async_devid(int src_dev, enum starpu_node_kind src_kind, int dst_dev,
                                                  enum starpu_node_kind dst_kind, double start)
{
    starpu_interface_end_driver_copy_async(starpu_memory_devid_find_node(src_dev, src_kind),
                                           starpu_memory_devid_find_node(dst_dev, dst_kind), start);
}

void starpu_interface_data_copy(unsigned src_node, unsigned dst_node, size_t size)
{
    if (src_node < STARPU_MAXNODES && dst_node < STARPU_MAXNODES)
        ORR_EVENT(BYTES_COPIED, NULL, size, src_node, dst_node);
}
