/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery.h: what Orrery offers beyond the StarPU interface.
 *
 * Threads: any, unless a function says otherwise.
 * Owns: nothing.
 * Not here: the StarPU interface (starpu.h, starpu_mpi.h).
 */
#ifndef ORRERY_H
#define ORRERY_H

#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The version that a program is compiled against. */
#define ORRERY_VERSION_MAJOR 0
#define ORRERY_VERSION_MINOR 1
#define ORRERY_VERSION_PATCH 0
#define ORRERY_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define ORRERY_VERSION ORRERY_VERSION_NUMBER(ORRERY_VERSION_MAJOR, ORRERY_VERSION_MINOR, ORRERY_VERSION_PATCH)

/* The version of the library that a program runs with: as a number to compare with ORRERY_VERSION; as
 * "0.1.0", a static string. At any time, starpu_init() or not. */
int orrery_version(void);
const char *orrery_version_string(void);

/* Called with each message about an error in a function that cannot return one; without a hook, such an error
 * ends the process with status 1. The message is borrowed until the hook returns. fn NULL: no hook. */
void orrery_set_error_hook(void (*fn)(const char *message, void *arg), void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
