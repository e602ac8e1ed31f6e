/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.h: the driver of CPU cores.
 * Threads: none. Owns: nothing. Not here: anything but its table. */
#ifndef ORR_DRIVERS_CPU_CPU_H
#define ORR_DRIVERS_CPU_CPU_H

#include <stdbool.h>

#include "core/worker/driver.h"

extern const struct orr_driver_ops orr_cpu_driver;

#endif
