/* SPDX-License-Identifier: BSD-3-Clause */
/* libraries.c: HIP's libraries, prepared on every worker of that kind, and the stream of one.
 * No driver of HIP is there (a simulated device has no such libraries), so that there is nothing to do, and
 * nothing is what init and shutdown do: as on any machine without a GPU, a program that calls them goes on.
 * Threads: any. Owns: nothing. Not here: CUDA's libraries (cuda/math.c). */
#include <stddef.h>

#include <starpu_hip.h>
#include <starpu_hipblas.h>
#include <starpu_hipsolver.h>

#include "core/base/log.h"

#define NOTHING_TO_PREPARE(library)                                                                          \
    void starpu_##library##_init(void)                                                                       \
    {                                                                                                        \
    }                                                                                                        \
    void starpu_##library##_shutdown(void)                                                                   \
    {                                                                                                        \
    }

NOTHING_TO_PREPARE(hipblas)
NOTHING_TO_PREPARE(hipsolver)

struct ihipStream_t *starpu_hip_get_local_stream(void)
{
    orr_error("starpu_hip_get_local_stream: this thread is no HIP worker, so there is no stream; call it "
              "in hip_funcs only, or keep it under #ifdef STARPU_USE_HIP");
    return NULL;
}
