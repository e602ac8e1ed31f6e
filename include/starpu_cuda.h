/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a CUDA codelet needs of the runtime: its stream, its device, and a way to report errors. Where the
 * runtime is built without CUDA, or after STARPU_DONT_INCLUDE_CUDA_HEADERS, the stream alone.
 * Threads: task bodies on CUDA workers, unless a comment says otherwise.
 * Not here: handles of the CUDA libraries (starpu_cublas_v2.h, starpu_cusparse.h).
 */
#ifndef STARPU_CUDA_H
#define STARPU_CUDA_H

#include <starpu_config.h>

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)

#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#ifdef STARPU_HAVE_NVML_H
#include <nvml.h>
#endif
#include <starpu_worker.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Reports a CUBLAS error with its place, as a task that failed. Any thread. */
void starpu_cublas_report_error(const char *func, const char *file, int line, int status);
#define STARPU_CUBLAS_REPORT_ERROR(status)                                                                   \
    starpu_cublas_report_error(__starpu_func__, __FILE__, __LINE__, (int)(status))

/* Reports a CUDA error with its place, as a task that failed. Any thread. */
void starpu_cuda_report_error(const char *func, const char *file, int line, cudaError_t status);
#define STARPU_CUDA_REPORT_ERROR(status)                                                                     \
    starpu_cuda_report_error(__starpu_func__, __FILE__, __LINE__, (status))

/* Returns the stream for the kernels of the calling task, the library's: not to be destroyed. With
 * STARPU_CUDA_ASYNC the task is over when the stream has done them; otherwise the codelet synchronises it. */
cudaStream_t starpu_cuda_get_local_stream(void);

/* Returns the properties of a CUDA worker's device, the library's; NULL: it is no CUDA worker. Any thread. */
const struct cudaDeviceProp *starpu_cuda_get_device_properties(unsigned workerid);

/* Makes a device (its CUDA number) current for the calling thread; an error is reported as above. Any thread.
 */
void starpu_cuda_set_device(int devid);

/* Copies between addresses of two memory nodes, for copy methods of data interfaces; any thread that the
 * runtime calls one on. They return -EAGAIN when the copy goes on behind `stream` (not NULL, and a kind of
 * copy that can), 0 when it is done; errors of CUDA are reported as above. The memory is borrowed until the
 * copy is done. */

/* `ssize` bytes. Returns 0 or -EAGAIN, as the others. */
int starpu_cuda_copy_async_sync(void *src_ptr, unsigned src_node, void *dst_ptr, unsigned dst_node,
                                size_t ssize, cudaStream_t stream, enum cudaMemcpyKind kind);

/* `numblocks` blocks of `blocksize` bytes each, which begin `ld_` bytes after each other. Returns 0 or
 * -EAGAIN. */
int starpu_cuda_copy2d_async_sync(void *src_ptr, unsigned src_node, void *dst_ptr, unsigned dst_node,
                                  size_t blocksize, size_t numblocks, size_t ld_src, size_t ld_dst,
                                  cudaStream_t stream, enum cudaMemcpyKind kind);

/* Same with a second level: `numblocks_2` of those, `ld2_` bytes after each other. Returns 0 or -EAGAIN. */
int starpu_cuda_copy3d_async_sync(void *src_ptr, unsigned src_node, void *dst_ptr, unsigned dst_node,
                                  size_t blocksize, size_t numblocks_1, size_t ld1_src, size_t ld1_dst,
                                  size_t numblocks_2, size_t ld2_src, size_t ld2_dst, cudaStream_t stream,
                                  enum cudaMemcpyKind kind);

/* Like starpu_cuda_copy_async_sync(), places named by device. Returns 0 or -EAGAIN. */
int starpu_cuda_copy_async_sync_devid(void *src_ptr, int src_dev, enum starpu_node_kind src_kind,
                                      void *dst_ptr, int dst_dev, enum starpu_node_kind dst_kind,
                                      size_t ssize, cudaStream_t stream, enum cudaMemcpyKind kind);

/* Like starpu_cuda_copy2d_async_sync(), places named by device. Returns 0 or -EAGAIN. */
int starpu_cuda_copy2d_async_sync_devid(void *src_ptr, int src_dev, enum starpu_node_kind src_kind,
                                        void *dst_ptr, int dst_dev, enum starpu_node_kind dst_kind,
                                        size_t blocksize, size_t numblocks, size_t ld_src, size_t ld_dst,
                                        cudaStream_t stream, enum cudaMemcpyKind kind);

/* Like starpu_cuda_copy3d_async_sync(), places named by device. Returns 0 or -EAGAIN. */
int starpu_cuda_copy3d_async_sync_devid(void *src_ptr, int src_dev, enum starpu_node_kind src_kind,
                                        void *dst_ptr, int dst_dev, enum starpu_node_kind dst_kind,
                                        size_t blocksize, size_t numblocks_1, size_t ld1_src, size_t ld1_dst,
                                        size_t numblocks_2, size_t ld2_src, size_t ld2_dst,
                                        cudaStream_t stream, enum cudaMemcpyKind kind);

#ifdef STARPU_HAVE_NVML_H

/* Returns NVML's handle of a device, NULL without one. Any thread. */
nvmlDevice_t starpu_cuda_get_nvmldev(unsigned devid);
#endif

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#else /* STARPU_USE_CUDA && !STARPU_DONT_INCLUDE_CUDA_HEADERS */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The stream (cudaStream_t) of the calling task. On a thread that is not a CUDA worker's: NULL, and one line
 * that says so. */
struct CUstream_st *starpu_cuda_get_local_stream(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif

#endif /* STARPU_CUDA_H */
