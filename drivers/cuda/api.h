/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h: what is used of CUDA's driver interface, declared here so that the driver is built and tested on
 * machines without CUDA's headers; tests/double/headers.c compares with them where they are.
 * Threads: any. Owns: the declarations. Not here: loading the library (library.h). */
#ifndef ORR_DRIVERS_CUDA_API_H
#define ORR_DRIVERS_CUDA_API_H

#include <stddef.h>

typedef int cuda_device_handle;
typedef unsigned long long cuda_address;
typedef struct CUctx_st *cuda_context;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;

enum {
    CUDA_OK = 0,
    CUDA_NO_MEMORY = 2,
    CUDA_GONE = 4, /* the library is closed, as the process ends */
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NOT_READY = 600,
    CUDA_BAD_ADDRESS = 700, /* of a kernel: the context answers nothing else from then on */
    CUDA_PEER_ALREADY = 704,
    CUDA_ALREADY_REGISTERED = 712,
    CUDA_NOT_REGISTERED = 713,
    CUDA_UNKNOWN = 999
};
enum { CUDA_STREAM_DEFAULT = 0, CUDA_STREAM_NON_BLOCKING = 1 };
enum { CUDA_EVENT_NO_TIMING = 2 };
enum { CUDA_REGISTER_PORTABLE = 1 };
enum { CUDA_ALLOC_PORTABLE = 1 };
enum { CUDA_POINTER_MEMORY = 2 }; /* what cuPointerGetAttribute is asked for: one of these */
enum { CUDA_HOST_MEMORY = 1, CUDA_DEVICE_MEMORY = 2 };

/* One end of a copy of planes of rows. */
struct cuda_end {
    size_t x_bytes, y, z, level;
    unsigned memory;
    void *host;
    cuda_address device;
    void *array;
    cuda_context context; /* between devices; else NULL */
    size_t pitch, height;
};
struct cuda_copy3d {
    struct cuda_end src, dst;
    size_t width_bytes, height, depth;
};

/* FUNCTION(name, symbol in the library, parameters) */
#define CUDA_FUNCTIONS(FUNCTION)                                                                             \
    FUNCTION(init, cuInit, (unsigned flags))                                                                 \
    FUNCTION(error_name, cuGetErrorName, (int error, const char **out))                                      \
    FUNCTION(error_text, cuGetErrorString, (int error, const char **out))                                    \
    FUNCTION(device_count, cuDeviceGetCount, (int *out))                                                     \
    FUNCTION(device_get, cuDeviceGet, (cuda_device_handle * out, int number))                                \
    FUNCTION(device_name, cuDeviceGetName, (char *out, int bytes, cuda_device_handle d))                     \
    FUNCTION(device_bus, cuDeviceGetPCIBusId, (char *out, int bytes, cuda_device_handle d))                  \
    FUNCTION(device_reaches, cuDeviceCanAccessPeer, (int *out, cuda_device_handle d, cuda_device_handle to)) \
    FUNCTION(context_retain, cuDevicePrimaryCtxRetain, (cuda_context * out, cuda_device_handle d))           \
    FUNCTION(context_release, cuDevicePrimaryCtxRelease_v2, (cuda_device_handle d))                          \
    FUNCTION(context_get, cuCtxGetCurrent, (cuda_context * out))                                             \
    FUNCTION(context_set, cuCtxSetCurrent, (cuda_context c))                                                 \
    FUNCTION(context_push, cuCtxPushCurrent_v2, (cuda_context c))                                            \
    FUNCTION(context_pop, cuCtxPopCurrent_v2, (cuda_context * out))                                          \
    FUNCTION(peer_enable, cuCtxEnablePeerAccess, (cuda_context to, unsigned flags))                          \
    FUNCTION(memory_info, cuMemGetInfo_v2, (size_t * free_out, size_t * total_out))                          \
    FUNCTION(alloc, cuMemAlloc_v2, (cuda_address * out, size_t bytes))                                       \
    FUNCTION(free, cuMemFree_v2, (cuda_address p))                                                           \
    FUNCTION(host_register, cuMemHostRegister_v2, (void *p, size_t bytes, unsigned flags))                   \
    FUNCTION(host_alloc, cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                         \
    FUNCTION(host_free, cuMemFreeHost, (void *p))                                                            \
    FUNCTION(pointer_is, cuPointerGetAttribute, (void *out, int attribute, cuda_address p))                  \
    FUNCTION(host_unregister, cuMemHostUnregister, (void *p))                                                \
    FUNCTION(copy_to, cuMemcpyHtoDAsync_v2,                                                                  \
             (cuda_address dst, const void *src, size_t bytes, cuda_stream s))                               \
    FUNCTION(copy_from, cuMemcpyDtoHAsync_v2, (void *dst, cuda_address src, size_t bytes, cuda_stream s))    \
    FUNCTION(copy_within, cuMemcpyDtoDAsync_v2,                                                              \
             (cuda_address dst, cuda_address src, size_t bytes, cuda_stream s))                              \
    FUNCTION(copy_peer, cuMemcpyPeerAsync,                                                                   \
             (cuda_address dst, cuda_context to, cuda_address src, cuda_context from, size_t bytes,          \
              cuda_stream s))                                                                                \
    FUNCTION(copy3d, cuMemcpy3DAsync_v2, (const struct cuda_copy3d *c, cuda_stream s))                       \
    FUNCTION(copy3d_peer, cuMemcpy3DPeerAsync, (const struct cuda_copy3d *c, cuda_stream s))                 \
    FUNCTION(stream_create, cuStreamCreate, (cuda_stream * out, unsigned flags))                             \
    FUNCTION(stream_destroy, cuStreamDestroy_v2, (cuda_stream s))                                            \
    FUNCTION(stream_query, cuStreamQuery, (cuda_stream s))                                                   \
    FUNCTION(event_create, cuEventCreate, (cuda_event * out, unsigned flags))                                \
    FUNCTION(event_destroy, cuEventDestroy_v2, (cuda_event e))                                               \
    FUNCTION(event_record, cuEventRecord, (cuda_event e, cuda_stream s))                                     \
    FUNCTION(event_query, cuEventQuery, (cuda_event e))

#endif
