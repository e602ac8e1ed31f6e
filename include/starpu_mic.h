/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_mic.h: Xeon Phi devices of the first sort, of which this build drives none; there so that programs
 * which include it compile.
 * Threads: none. Owns: nothing. Not here: kinds of devices that there are (starpu_worker.h).
 */
#ifndef STARPU_MIC_H
#define STARPU_MIC_H

#include <starpu_config.h>

#endif
