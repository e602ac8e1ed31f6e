/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What drivers/cuda/api.h declares is what CUDA's own headers do: compiled only (tests/cuda.sh).
 * Threads: none. Owns: nothing. Not here: what the functions do.
 */
#include <cuda.h>

#include "drivers/cuda/api.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #theirs)
#define FIELD(ours, theirs)                                                                                  \
    SAME(offsetof(struct cuda_copy3d, ours), offsetof(CUDA_MEMCPY3D_PEER, theirs));                          \
    SAME(sizeof(((struct cuda_copy3d *)0)->ours), sizeof(((CUDA_MEMCPY3D_PEER *)0)->theirs))
#define END(side)                                                                                            \
    FIELD(side.x_bytes, side##XInBytes);                                                                     \
    FIELD(side.y, side##Y);                                                                                  \
    FIELD(side.z, side##Z);                                                                                  \
    FIELD(side.level, side##LOD);                                                                            \
    FIELD(side.memory, side##MemoryType);                                                                    \
    FIELD(side.host, side##Host);                                                                            \
    FIELD(side.device, side##Device);                                                                        \
    FIELD(side.array, side##Array);                                                                          \
    FIELD(side.context, side##Context);                                                                      \
    FIELD(side.pitch, side##Pitch);                                                                          \
    FIELD(side.height, side##Height)

END(src);
END(dst);
FIELD(width_bytes, WidthInBytes);
FIELD(height, Height);
FIELD(depth, Depth);
SAME(sizeof(struct cuda_copy3d), sizeof(CUDA_MEMCPY3D_PEER));
SAME(sizeof(struct cuda_copy3d), sizeof(CUDA_MEMCPY3D));
SAME(sizeof(cuda_address), sizeof(CUdeviceptr));
SAME(sizeof(cuda_device_handle), sizeof(CUdevice));
SAME(CUDA_OK, CUDA_SUCCESS);
SAME(CUDA_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CUDA_PEER_ALREADY, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(CUDA_GONE, CUDA_ERROR_DEINITIALIZED);
SAME(CUDA_BAD_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(CUDA_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(CUDA_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN);
SAME(CUDA_STREAM_DEFAULT, CU_STREAM_DEFAULT);
SAME(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(CUDA_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(CUDA_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME(CUDA_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(CUDA_POINTER_MEMORY, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(CUDA_HOST_MEMORY, CU_MEMORYTYPE_HOST);
SAME(CUDA_DEVICE_MEMORY, CU_MEMORYTYPE_DEVICE);

/* Each function is there, with as many parameters. */
#define FUNCTION(name, symbol, parameters)                                                                   \
    int(*name##_ours) parameters;                                                                            \
    __typeof__(&symbol) name##_theirs;
struct functions {
    CUDA_FUNCTIONS(FUNCTION)
};
