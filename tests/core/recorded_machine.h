/* SPDX-License-Identifier: BSD-3-Clause */
/* recorded_machine.h: a machine of tests/machines in the place of this one.
 * Threads: one. Owns: HWLOC_XMLFILE in the environment. Not here: the machines (tests/machines/write.py). */
#ifndef ORR_TESTS_RECORDED_MACHINE_H
#define ORR_TESTS_RECORDED_MACHINE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/topo/topo.h"

/* The runtime that is started next sees machine `name`, all of it. */
static void use_machine(const char *name)
{
    char path[PATH_MAX];
    const char *top = getenv("ORR_SRCDIR"), *file = __FILE__;
    if (top)
        snprintf(path, sizeof path, "%s/tests/machines/%s.xml", top, name);
    else
        snprintf(path, sizeof path, "%.*s../machines/%s.xml", (int)(strrchr(file, '/') + 1 - file), file,
                 name);
    setenv("HWLOC_XMLFILE", path, 1);
    orr_topo_share(0, 1);
}

#endif
