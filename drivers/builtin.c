/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: the list of drivers, made of core/base/kind.def, and that of stores.
 * Threads: none. Owns: the lists. Not here: the drivers. */
#include <stddef.h>

#include "config.h"

#include "core/mem/node.h"
#include "core/worker/driver.h"

#define DRIVER(PREFIX, NAME, table) extern const struct orr_driver_ops table;
#include "core/base/kind.def"

const struct orr_driver orr_drivers[] = {
#define DRIVER(PREFIX, NAME, table) { &table, &orr_kinds[PREFIX##_##NAME##_WORKER] },
#include "core/base/kind.def"
    { NULL, NULL },
};

extern const struct orr_store_ops orr_sim_store, orr_disk_store;

const struct orr_store_ops *const orr_stores[] = { &orr_sim_store, &orr_disk_store, NULL };
