/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: what functions of codelets and of interfaces ask of the driver: its objects, copies, names of
 * errors.
 * Threads: any. Owns: nothing. Not here: programs and kernels (program.c). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/log.h"
#include "drivers/opencl/opencl.h"

/* ---- contexts ---- */

/* The device of that number, or one line says that there is none. */
static struct orr_opencl_device *device_for(const char *caller, int devid)
{
    struct orr_opencl_device *d = orr_opencl_device(devid);
    if (!d)
        orr_error(
            "%s: there is no OpenCL device %d in use; take starpu_worker_get_devid() of an OpenCL worker",
            caller, devid);
    return d;
}

static struct orr_opencl_device *device_here(const char *caller)
{
    struct orr_opencl_device *d = orr_opencl_device_here();
    if (!d)
        orr_error("%s: this thread is no OpenCL worker; call it in opencl_funcs, or name the device", caller);
    return d;
}

void starpu_opencl_get_context(int devid, cl_context *context)
{
    struct orr_opencl_device *d = device_for(__func__, devid);
    *context = d ? d->context : NULL;
}

void starpu_opencl_get_device(int devid, cl_device_id *device)
{
    struct orr_opencl_device *d = device_for(__func__, devid);
    *device = d ? d->id : NULL;
}

void starpu_opencl_get_queue(int devid, cl_command_queue *queue)
{
    struct orr_opencl_device *d = device_for(__func__, devid);
    *queue = d ? d->kernels : NULL;
}

void starpu_opencl_get_current_context(cl_context *context)
{
    struct orr_opencl_device *d = device_here(__func__);
    *context = d ? d->context : NULL;
}

void starpu_opencl_get_current_queue(cl_command_queue *queue)
{
    struct orr_opencl_device *d = device_here(__func__);
    *queue = d ? d->kernels : NULL;
}

/* Programs end the list with 0, which is an int: what stands beside it counts for nothing. */
int starpu_opencl_set_kernel_args(cl_int *err, cl_kernel *kernel, ...)
{
    va_list args;
    int set = 0;
    *err = *kernel ? CL_SUCCESS : CL_INVALID_KERNEL;
    if (!*kernel) return 0;
    va_start(args, kernel);
    for (size_t bytes; (bytes = (unsigned)va_arg(args, size_t)) != 0; set++) {
        const void *value = va_arg(args, const void *);
        *err = orr_cl.SetKernelArg(*kernel, (cl_uint)set, bytes, value);
        if (*err != CL_SUCCESS) break;
    }
    va_end(args);
    return set;
}

int starpu_opencl_collect_stats(cl_event event)
{
    (void)event;
    return 0;
}

/* ---- errors ---- */

const char *starpu_opencl_error_string(cl_int status)
{
    return orr_opencl_error(status);
}

void starpu_opencl_display_error(const char *func, const char *file, int line, const char *msg, cl_int status)
{
    orr_error("%s (%s:%d): %s%s%s (%d)", func, file, line, msg ? msg : "", msg ? ": " : "",
              orr_opencl_error(status), (int)status);
}

/* ---- copies ---- */

cl_int starpu_opencl_allocate_memory(int devid, cl_mem *addr, size_t size, cl_mem_flags flags)
{
    cl_int r = CL_INVALID_DEVICE;
    struct orr_opencl_device *d = device_for(__func__, devid);
    if (d) *addr = orr_cl.CreateBuffer(d->context, flags, size, NULL, &r);
    return r;
}

/* Between two devices: through main memory, before returning. */
static cl_int copy_by_main_memory(const struct orr_location *src, const struct orr_location *dst, size_t size)
{
    return starpu_interface_copy(src->base, src->offset, src->node, dst->base, dst->offset, dst->node, size,
                                 NULL) == 0
               ? CL_SUCCESS
               : CL_OUT_OF_RESOURCES;
}

static cl_int copy(const struct orr_location *src, const struct orr_location *dst, size_t size,
                   cl_event *event, int *ret)
{
    struct orr_opencl_device *from = orr_opencl_device_of_node(src->node);
    struct orr_opencl_device *to = orr_opencl_device_of_node(dst->node);
    cl_event own;
    cl_int r;
    if (src->node >= orr_node_count || dst->node >= orr_node_count || (!from && !to)) {
        orr_error("an OpenCL copy of %zu bytes from memory node %u to %u: one must be of an OpenCL device, "
                  "the other "
                  "too, or main memory",
                  size, src->node, dst->node);
        if (ret) *ret = -EINVAL;
        return CL_INVALID_MEM_OBJECT;
    }
    if (from != to && from && to) {
        if (event) *event = NULL;
        r = copy_by_main_memory(src, dst, size);
        if (ret) *ret = r == CL_SUCCESS ? 0 : -EIO;
        return r;
    }
    r = orr_opencl_enqueue(src, dst, size, NULL, event ? event : &own);
    if (r == CL_SUCCESS && !event && orr_opencl_wait(to ? to : from, own) != 0) r = CL_OUT_OF_RESOURCES;
    if (ret) *ret = r != CL_SUCCESS ? -EIO : event ? -EAGAIN : 0;
    return r;
}

cl_int starpu_opencl_copy_ram_to_opencl(void *ptr, unsigned src_node, cl_mem buffer, unsigned dst_node,
                                        size_t size, size_t offset, cl_event *event, int *ret)
{
    return copy(&(struct orr_location){ (uintptr_t)ptr, 0, src_node },
                &(struct orr_location){ (uintptr_t)buffer, offset, dst_node }, size, event, ret);
}

cl_int starpu_opencl_copy_opencl_to_ram(cl_mem buffer, unsigned src_node, void *ptr, unsigned dst_node,
                                        size_t size, size_t offset, cl_event *event, int *ret)
{
    return copy(&(struct orr_location){ (uintptr_t)buffer, offset, src_node },
                &(struct orr_location){ (uintptr_t)ptr, 0, dst_node }, size, event, ret);
}

cl_int starpu_opencl_copy_opencl_to_opencl(cl_mem src, unsigned src_node, size_t src_offset, cl_mem dst,
                                           unsigned dst_node, size_t dst_offset, size_t size, cl_event *event,
                                           int *ret)
{
    return copy(&(struct orr_location){ (uintptr_t)src, src_offset, src_node },
                &(struct orr_location){ (uintptr_t)dst, dst_offset, dst_node }, size, event, ret);
}

cl_int starpu_opencl_copy_async_sync(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                                     size_t dst_offset, unsigned dst_node, size_t size, cl_event *event)
{
    return copy(&(struct orr_location){ src, src_offset, src_node },
                &(struct orr_location){ dst, dst_offset, dst_node }, size, event, NULL);
}

static unsigned node_of(int devid)
{
    return starpu_memory_devid_find_node(devid, STARPU_OPENCL_RAM);
}

cl_int starpu_opencl_copy_ram_to_opencl_devid(void *ptr, int src_devid, cl_mem buffer, int dst_devid,
                                              size_t size, size_t offset, cl_event *event, int *ret)
{
    return starpu_opencl_copy_ram_to_opencl(ptr, starpu_memory_devid_find_node(src_devid, STARPU_CPU_RAM),
                                            buffer, node_of(dst_devid), size, offset, event, ret);
}

cl_int starpu_opencl_copy_opencl_to_ram_devid(cl_mem buffer, int src_devid, void *ptr, int dst_devid,
                                              size_t size, size_t offset, cl_event *event, int *ret)
{
    return starpu_opencl_copy_opencl_to_ram(buffer, node_of(src_devid), ptr,
                                            starpu_memory_devid_find_node(dst_devid, STARPU_CPU_RAM), size,
                                            offset, event, ret);
}

cl_int starpu_opencl_copy_opencl_to_opencl_devid(cl_mem src, int src_devid, size_t src_offset, cl_mem dst,
                                                 int dst_devid, size_t dst_offset, size_t size,
                                                 cl_event *event, int *ret)
{
    return starpu_opencl_copy_opencl_to_opencl(src, node_of(src_devid), src_offset, dst, node_of(dst_devid),
                                               dst_offset, size, event, ret);
}

cl_int starpu_opencl_copy_async_sync_devid(uintptr_t src, size_t src_offset, int src_devid,
                                           enum starpu_node_kind src_kind, uintptr_t dst, size_t dst_offset,
                                           int dst_devid, enum starpu_node_kind dst_kind, size_t size,
                                           cl_event *event)
{
    return starpu_opencl_copy_async_sync(src, src_offset, starpu_memory_devid_find_node(src_devid, src_kind),
                                         dst, dst_offset, starpu_memory_devid_find_node(dst_devid, dst_kind),
                                         size, event);
}
