/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: the list of drivers, made of core/base/kind.def.
 * Threads: none. Owns: the list. Not here: the drivers. */
#include <stddef.h>

#include "core/worker/driver.h"

#define DRIVER(PREFIX, NAME, table) extern const struct orr_driver_ops table;
#include "core/base/kind.def"

const struct orr_driver orr_drivers[] = {
#define DRIVER(PREFIX, NAME, table) { &table, &orr_kinds[PREFIX##_##NAME##_WORKER] },
#include "core/base/kind.def"
    { NULL, NULL },
};
