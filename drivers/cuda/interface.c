/* SPDX-License-Identifier: BSD-3-Clause */
/* interface.c: the public functions of starpu_cuda.h, for task bodies on CUDA workers.
 * Threads: see starpu_cuda.h. Owns: what the body of each worker reported. Not here: handles of libraries
 * (math.c). */
#include "drivers/cuda/interface.h"

#include <errno.h>
#include <stdio.h>

#include <starpu.h>

#include "core/base/export.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/worker/worker.h"
#include "core/worker/driver.h"
#include "drivers/cuda/device.h"

static bool reported[STARPU_NMAXWORKERS]; /* [own: the worker] */

void orr_cuda_reports_begin(struct orr_worker *w)
{
    reported[w->id] = false;
}

bool orr_cuda_reports_end(struct orr_worker *w)
{
    return reported[w->id];
}

/* As starpu_cuda.h declares them where CUDA's headers are. */
ORR_EXPORT void starpu_cuda_report_error(const char *func, const char *file, int line, int status);
ORR_EXPORT void starpu_cublas_report_error(const char *func, const char *file, int line, int status);
ORR_EXPORT void starpu_cusolver_report_error(const char *func, const char *file, int line, int status);
ORR_EXPORT const void *starpu_cuda_get_device_properties(unsigned workerid);
ORR_EXPORT void starpu_cuda_set_device(int devid);
ORR_EXPORT int starpu_cuda_copy_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node,
                                           size_t bytes, cuda_stream stream, int kind);
ORR_EXPORT int starpu_cuda_copy2d_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node,
                                             size_t bytes, size_t rows, size_t src_row, size_t dst_row,
                                             cuda_stream stream, int kind);
ORR_EXPORT int starpu_cuda_copy3d_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node,
                                             size_t bytes, size_t rows, size_t src_row, size_t dst_row,
                                             size_t planes, size_t src_plane, size_t dst_plane,
                                             cuda_stream stream, int kind);
ORR_EXPORT int starpu_cuda_copy_async_sync_devid(void *src, int src_dev, enum starpu_node_kind src_kind,
                                                 void *dst, int dst_dev, enum starpu_node_kind dst_kind,
                                                 size_t bytes, cuda_stream stream, int kind);
ORR_EXPORT int starpu_cuda_copy2d_async_sync_devid(void *src, int src_dev, enum starpu_node_kind src_kind,
                                                   void *dst, int dst_dev, enum starpu_node_kind dst_kind,
                                                   size_t bytes, size_t rows, size_t src_row, size_t dst_row,
                                                   cuda_stream stream, int kind);
ORR_EXPORT int starpu_cuda_copy3d_async_sync_devid(void *src, int src_dev, enum starpu_node_kind src_kind,
                                                   void *dst, int dst_dev, enum starpu_node_kind dst_kind,
                                                   size_t bytes, size_t rows, size_t src_row, size_t dst_row,
                                                   size_t planes, size_t src_plane, size_t dst_plane,
                                                   cuda_stream stream, int kind);

/* ---- errors ---- */

/* Says it, and whose body it was: that task's kernel counts as failed. */
static void report(const char *library, const char *what, const char *func, const char *file, int line)
{
    const struct orr_worker *w = orr_worker_self();
    struct orr_task *t = orr_task_current();
    orr_error("%s:%d: %s: %s says %s%s%s", file, line, func, library, what, t ? ", in task " : "",
              t ? orr_task_name(t) : "");
    if (w && w->device->ops == &orr_cuda_driver) reported[w->id] = true;
}

void starpu_cuda_report_error(const char *func, const char *file, int line, int status)
{
    report("CUDA", orr_cuda_text(status).chars, func, file, line);
}

/* The same for a library whose statuses are numbers of its own. */
static void report_status(const char *library, int status, const char *func, const char *file, int line)
{
    char what[32];
    snprintf(what, sizeof what, "status %d", status);
    report(library, what, func, file, line);
}

void starpu_cublas_report_error(const char *func, const char *file, int line, int status)
{
    report_status("cuBLAS", status, func, file, line);
}

void starpu_cusolver_report_error(const char *func, const char *file, int line, int status)
{
    report_status("cuSOLVER", status, func, file, line);
}

/* ---- devices ---- */

void starpu_cuda_set_device(int devid)
{
    struct cuda_device *d = orr_cuda_by_number(devid);
    int r = d ? orr_cuda.context_set(d->context) : CUDA_NO_DEVICE;
    if (r == CUDA_OK) return;
    if (d)
        orr_cuda_failed(d, "cuCtxSetCurrent", r);
    else
        orr_error("starpu_cuda_set_device: no CUDA device %d is used", devid);
}

/* The structure is that of the CUDA runtime which the program has, so it is filled in by that; larger than
 * any has been. */
struct properties {
    _Alignas(16) char bytes[8192];
    int number; /* of the device, plus 1; 0: of none yet */
};
static struct properties
    properties[STARPU_MAXNODES]; /* by node [lock: properties_lock; const once filled in] */
static ORR_MUTEX(cuda_properties) properties_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects the filling in; leaf */

static int ask_properties(struct properties *p, int number)
{
    static const char *const files[] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                         "libcudart.so", NULL };
    static const char *const nowhere[] = { NULL };
    int (*get)(void *, int) = (int (*)(void *, int))orr_cuda_find("cudaGetDeviceProperties_v2", nowhere);
    if (!get) get = (int (*)(void *, int))orr_cuda_find("cudaGetDeviceProperties", files);
    if (!get) return CUDA_NO_DEVICE;
    return get(p->bytes, number);
}

const void *starpu_cuda_get_device_properties(unsigned workerid)
{
    const struct orr_worker *w = workerid < orr_worker_count ? &orr_workers[workerid] : NULL;
    if (!w || w->device->ops != &orr_cuda_driver) return NULL;
    struct cuda_device *d = w->device->state;
    struct properties *p = &properties[d->node];
    pthread_mutex_lock(&properties_lock);
    int r = p->number == d->number + 1 ? CUDA_OK : ask_properties(p, d->number);
    p->number = r == CUDA_OK ? d->number + 1 : 0;
    pthread_mutex_unlock(&properties_lock);
    if (r == CUDA_OK) return p->bytes;
    orr_error(
        "starpu_cuda_get_device_properties: the CUDA runtime (libcudart) of the program cannot be asked (%d)",
        r);
    return NULL;
}

/* ---- copies of interfaces of the program's ---- */

/* In the stream, or at once. 0, -EAGAIN: it goes on there, or -errno, said. */
static int copy(const struct orr_location *src, const struct orr_location *dst, const struct orr_box *b,
                cuda_stream stream)
{
    struct cuda_device *d = orr_cuda_of_node(dst->node);
    struct cuda_visit v;
    if (!d) d = orr_cuda_of_node(src->node);
    if (!d) {
        orr_error("starpu_cuda_copy_async_sync: neither node %u nor %u is a CUDA device's", src->node,
                  dst->node);
        return -EINVAL;
    }
    if (!stream)
        return starpu_interface_copy3d(src->base, 0, src->node, dst->base, 0, dst->node, b->bytes, b->rows,
                                       b->src_row, b->dst_row, b->planes, b->src_plane, b->dst_plane, NULL);
    if (orr_load_relaxed(&d->lost) || orr_cuda_enter(d, &v)) return -EIO;
    int r = orr_cuda_copy_in(stream, src, dst, b);
    orr_cuda_leave(&v);
    return r == CUDA_OK ? -EAGAIN : orr_cuda_failed(d, "copying", r);
}

int starpu_cuda_copy3d_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node, size_t bytes,
                                  size_t rows, size_t src_row, size_t dst_row, size_t planes,
                                  size_t src_plane, size_t dst_plane, cuda_stream stream, int kind)
{
    const struct orr_location from = { .base = (uintptr_t)src, .node = src_node };
    const struct orr_location to = { .base = (uintptr_t)dst, .node = dst_node };
    const struct orr_box b = { .bytes = bytes,
                               .rows = rows,
                               .planes = planes,
                               .src_row = src_row,
                               .dst_row = dst_row,
                               .src_plane = src_plane,
                               .dst_plane = dst_plane };
    (void)kind; /* the nodes say it */
    return copy(&from, &to, &b, stream);
}

int starpu_cuda_copy2d_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node, size_t bytes,
                                  size_t rows, size_t src_row, size_t dst_row, cuda_stream stream, int kind)
{
    return starpu_cuda_copy3d_async_sync(src, src_node, dst, dst_node, bytes, rows, src_row, dst_row, 1,
                                         rows * src_row, rows * dst_row, stream, kind);
}

int starpu_cuda_copy_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node, size_t bytes,
                                cuda_stream stream, int kind)
{
    return starpu_cuda_copy3d_async_sync(src, src_node, dst, dst_node, bytes, 1, bytes, bytes, 1, bytes,
                                         bytes, stream, kind);
}

int starpu_cuda_copy3d_async_sync_devid(void *src, int src_dev, enum starpu_node_kind src_kind, void *dst,
                                        int dst_dev, enum starpu_node_kind dst_kind, size_t bytes,
                                        size_t rows, size_t src_row, size_t dst_row, size_t planes,
                                        size_t src_plane, size_t dst_plane, cuda_stream stream, int kind)
{
    return starpu_cuda_copy3d_async_sync(src, starpu_memory_devid_find_node(src_dev, src_kind), dst,
                                         starpu_memory_devid_find_node(dst_dev, dst_kind), bytes, rows,
                                         src_row, dst_row, planes, src_plane, dst_plane, stream, kind);
}

int starpu_cuda_copy2d_async_sync_devid(void *src, int src_dev, enum starpu_node_kind src_kind, void *dst,
                                        int dst_dev, enum starpu_node_kind dst_kind, size_t bytes,
                                        size_t rows, size_t src_row, size_t dst_row, cuda_stream stream,
                                        int kind)
{
    return starpu_cuda_copy3d_async_sync_devid(src, src_dev, src_kind, dst, dst_dev, dst_kind, bytes, rows,
                                               src_row, dst_row, 1, rows * src_row, rows * dst_row, stream,
                                               kind);
}

int starpu_cuda_copy_async_sync_devid(void *src, int src_dev, enum starpu_node_kind src_kind, void *dst,
                                      int dst_dev, enum starpu_node_kind dst_kind, size_t bytes,
                                      cuda_stream stream, int kind)
{
    return starpu_cuda_copy3d_async_sync_devid(src, src_dev, src_kind, dst, dst_dev, dst_kind, bytes, 1,
                                               bytes, bytes, 1, bytes, bytes, stream, kind);
}

struct CUstream_st *starpu_cuda_get_local_stream(void)
{
    struct cuda_queue *q;
    if (orr_cuda_mine(&q)) return q->stream;
    orr_error("starpu_cuda_get_local_stream: this thread is no CUDA worker, so there is no stream; call it "
              "in cuda_funcs only, or keep it under #ifdef STARPU_USE_CUDA");
    return NULL;
}
