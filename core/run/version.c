/* SPDX-License-Identifier: BSD-3-Clause */
/* version.c: which library this is, and where its errors go.
 * Threads: any. Owns: nothing. Not here: the version of the StarPU interface (core/run/init.c), messages
 * (core/base/log.c). */
#include <orrery.h>

#include "core/base/log.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

int orrery_version(void)
{
    return ORRERY_VERSION;
}

const char *orrery_version_string(void)
{
    return TEXT(ORRERY_VERSION_MAJOR) "." TEXT(ORRERY_VERSION_MINOR) "." TEXT(ORRERY_VERSION_PATCH);
}

void orrery_set_error_hook(void (*fn)(const char *message, void *arg), void *arg)
{
    orr_log_set_hook(fn, arg);
}
