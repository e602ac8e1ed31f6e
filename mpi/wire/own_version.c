/* SPDX-License-Identifier: BSD-3-Clause */
/* own_version.c: what this rank runs; apart, so that tests may say something else.
 * Threads: any. Owns: nothing. Not here: comparing it (version.c). */
#include <stdio.h>

#include <orrery.h>

#include "mpi/wire/version.h"
#include "mpi/wire/wire.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

void orr_version_own(char text_out[ORR_VERSION_BYTES])
{
    static const char own[] =
        TEXT(ORRERY_VERSION_MAJOR) "." TEXT(ORRERY_VERSION_MINOR) "." TEXT(ORRERY_VERSION_PATCH);
    int n = snprintf(text_out, ORR_VERSION_BYTES, "%s", own);
    if (orrery_version() != ORRERY_VERSION) /* liborrery is another program's, so to speak */
        n += snprintf(text_out + n, ORR_VERSION_BYTES - (size_t)n, " with liborrery %s",
                      orrery_version_string());
    snprintf(text_out + n, ORR_VERSION_BYTES - (size_t)n, ", messages of form %d", ORR_WIRE_VERSION);
}
