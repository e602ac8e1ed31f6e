/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an OpenCL codelet needs of the runtime: contexts, queues, and its kernels built for every
 * device. Empty where the runtime is built without OpenCL.
 * Threads: any, between starpu_init() and starpu_shutdown(); the _current_ functions in task bodies on OpenCL
 *   workers. Building programs takes seconds: before the tasks.
 * Results: a function that returns int or cl_int returns CL_SUCCESS (0) or the OpenCL error that stopped it
 *   (starpu_opencl_display_error() prints its name); what it was to set is then undefined. What is made of
 *   programs, sources and kernels says why not.
 *   Objects that the get_ functions set are the runtime's: not to be released.
 * Not here: how data is read (starpu_data_interfaces.h: dev_handle is the cl_mem).
 */
#ifndef STARPU_OPENCL_H
#define STARPU_OPENCL_H

#include <starpu_config.h>

#ifdef STARPU_USE_OPENCL

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <starpu_worker.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* A program, built for every OpenCL device. */
struct starpu_opencl_program {
    cl_program programs[STARPU_MAXOPENCLDEVS];
};

/* ---- Contexts. `devid` is starpu_worker_get_devid() ---- */

/* Sets *context to the context of a device. */
void starpu_opencl_get_context(int devid, cl_context *context);

/* Sets *device to the OpenCL device of a device number. */
void starpu_opencl_get_device(int devid, cl_device_id *device);

/* Sets *queue to the command queue of a device. */
void starpu_opencl_get_queue(int devid, cl_command_queue *queue);

/* Sets *context to the context of the calling worker's device. */
void starpu_opencl_get_current_context(cl_context *context);

/* Sets *queue to the command queue of the calling worker's device. */
void starpu_opencl_get_current_queue(cl_command_queue *queue);

/* Sets the arguments of a kernel: pairs of size_t size and address follow, then 0. Returns the
 * number of arguments set; *err: 0, or the OpenCL error of the next one. */
int starpu_opencl_set_kernel_args(cl_int *err, cl_kernel *kernel, ...);

/* ---- Programs. Sources are looked for where the program runs, and in STARPU_OPENCL_PROGRAM_DIR. Functions
 * that return int return 0 (CL_SUCCESS), or an OpenCL error ---- */

/* Reads a source file into the three buffers: its path, its folder, its text. Each must be large
 * enough (path and folder 1024 bytes, text 65536). */
void starpu_opencl_load_program_source(const char *source_file_name, char *located_file_name,
                                       char *located_dir_name, char *opencl_program_source);

/* Same into buffers that are allocated; the caller frees them with free(). */
void starpu_opencl_load_program_source_malloc(const char *source_file_name, char **located_file_name,
                                              char **located_dir_name, char **opencl_program_source);

/* Builds a source file for every device and stores the binaries beside the models. `build_options`: as for
 * the OpenCL compiler; NULL: none. Returns 0, or the OpenCL error of the first device that failed. */
int starpu_opencl_compile_opencl_from_file(const char *source_file_name, const char *build_options);

/* Same for a text; `file_name` names the binaries. Returns 0, or an OpenCL error. */
int starpu_opencl_compile_opencl_from_string(const char *opencl_program_source, const char *file_name,
                                             const char *build_options);

/* Loads the stored binaries `kernel_id` for every device into a program, which starpu_opencl_unload_opencl()
 * frees. Returns 0, or an OpenCL error: CL_INVALID_BINARY also when a file is missing. */
int starpu_opencl_load_binary_opencl(const char *kernel_id, struct starpu_opencl_program *opencl_programs);

/* Builds a source file for every device into a program, which starpu_opencl_unload_opencl() frees. Returns 0,
 * or an OpenCL error, with a message that has what the compiler says. */
int starpu_opencl_load_opencl_from_file(const char *source_file_name,
                                        struct starpu_opencl_program *opencl_programs,
                                        const char *build_options);

/* Same for a text, which is not kept. Returns 0, or an OpenCL error. */
int starpu_opencl_load_opencl_from_string(const char *opencl_program_source,
                                          struct starpu_opencl_program *opencl_programs,
                                          const char *build_options);

/* Frees a program that was loaded, when no kernel of it runs any more. Returns 0, or an OpenCL error. */
int starpu_opencl_unload_opencl(struct starpu_opencl_program *opencl_programs);

/* Makes kernel `kernel_name` of a program for device `devid`, and sets the queue to put it into. The kernel
 * is the caller's, for starpu_opencl_release_kernel(). Returns 0, or an OpenCL error: CL_INVALID_KERNEL_NAME
 * if the program has none of that name. */
int starpu_opencl_load_kernel(cl_kernel *kernel, cl_command_queue *queue,
                              struct starpu_opencl_program *opencl_programs, const char *kernel_name,
                              int devid);

/* Frees a kernel; one that was put into a queue runs to its end. Returns 0, or an OpenCL error. */
int starpu_opencl_release_kernel(cl_kernel kernel);

/* Has no effect in this version: it takes the event of a kernel, which stays the caller's. In a task body.
 * Returns 0. */
int starpu_opencl_collect_stats(cl_event event);

/* ---- Errors ---- */

/* Returns the name of an OpenCL error. Static. */
const char *starpu_opencl_error_string(cl_int status);

/* Prints an OpenCL error with its place. `msg` may be NULL. */
void starpu_opencl_display_error(const char *func, const char *file, int line, const char *msg,
                                 cl_int status);
#define STARPU_OPENCL_DISPLAY_ERROR(status)                                                                  \
    starpu_opencl_display_error(__starpu_func__, __FILE__, __LINE__, NULL, status)

/* Prints an OpenCL error with its place and ends the program. */
static __inline void starpu_opencl_report_error(const char *func, const char *file, int line, const char *msg,
                                                cl_int status)
{
    starpu_opencl_display_error(func, file, line, msg, status);
    assert(!"OpenCL error, see above");
}
#define STARPU_OPENCL_REPORT_ERROR(status)                                                                   \
    starpu_opencl_report_error(__starpu_func__, __FILE__, __LINE__, NULL, status)
#define STARPU_OPENCL_REPORT_ERROR_WITH_MSG(msg, status)                                                     \
    starpu_opencl_report_error(__starpu_func__, __FILE__, __LINE__, msg, status)

/* ---- Copies, for copy methods of data interfaces. With `event` NULL they are done at the return, and *ret
 * is 0; else *event is to be waited for, and *ret (unless NULL) is -EAGAIN. They return CL_SUCCESS or an
 * OpenCL error ---- */

/* Allocates `size` bytes on a device; *addr is the caller's. Returns CL_SUCCESS, or an OpenCL error. */
cl_int starpu_opencl_allocate_memory(int devid, cl_mem *addr, size_t size, cl_mem_flags flags);

/* From main memory, `size` bytes to `offset` in the buffer. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_ram_to_opencl(void *ptr, unsigned src_node, cl_mem buffer, unsigned dst_node,
                                        size_t size, size_t offset, cl_event *event, int *ret);

/* To main memory, `size` bytes from `offset` in the buffer. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_opencl_to_ram(cl_mem buffer, unsigned src_node, void *ptr, unsigned dst_node,
                                        size_t size, size_t offset, cl_event *event, int *ret);

/* Between devices, `size` bytes. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_opencl_to_opencl(cl_mem src, unsigned src_node, size_t src_offset, cl_mem dst,
                                           unsigned dst_node, size_t dst_offset, size_t size, cl_event *event,
                                           int *ret);

/* Between any two memory nodes, the addresses being dev_handles. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_async_sync(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                                     size_t dst_offset, unsigned dst_node, size_t size, cl_event *event);

/* From main memory, places named by device instead of by node. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_ram_to_opencl_devid(void *ptr, int src_devid, cl_mem buffer, int dst_devid,
                                              size_t size, size_t offset, cl_event *event, int *ret);

/* To main memory, places named by device. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_opencl_to_ram_devid(cl_mem buffer, int src_devid, void *ptr, int dst_devid,
                                              size_t size, size_t offset, cl_event *event, int *ret);

/* Between devices, places named by device. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_opencl_to_opencl_devid(cl_mem src, int src_devid, size_t src_offset, cl_mem dst,
                                                 int dst_devid, size_t dst_offset, size_t size,
                                                 cl_event *event, int *ret);

/* Between any two memories, places named by device. Returns CL_SUCCESS or an OpenCL error. */
cl_int starpu_opencl_copy_async_sync_devid(uintptr_t src, size_t src_offset, int src_devid,
                                           enum starpu_node_kind src_kind, uintptr_t dst, size_t dst_offset,
                                           int dst_devid, enum starpu_node_kind dst_kind, size_t size,
                                           cl_event *event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_USE_OPENCL */

#endif /* STARPU_OPENCL_H */
