/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: the list of drivers.
 * Threads: none. Owns: the list. Not here: the drivers. */
#include <stdbool.h>
#include <stddef.h>

#include "core/worker/driver.h"

#define ORR_DRIVER(table) extern const struct orr_driver_ops table;
#include "drivers/builtin.def"
#undef ORR_DRIVER

const struct orr_driver_ops *const orr_drivers[] = {
#define ORR_DRIVER(table) &table,
#include "drivers/builtin.def"
#undef ORR_DRIVER
    NULL,
};
