/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_hip.h: what a HIP codelet needs of the runtime.
 * Threads: task bodies on HIP workers, of which this build has none.
 * Not here: handles of the HIP libraries (starpu_hipblas.h, starpu_hipsolver.h).
 */
#ifndef STARPU_HIP_H
#define STARPU_HIP_H

#include <starpu_config.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The stream (hipStream_t) for the kernels of the calling task. On a thread that is not a HIP worker's: NULL,
 * and one line that says so. */
struct ihipStream_t *starpu_hip_get_local_stream(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
