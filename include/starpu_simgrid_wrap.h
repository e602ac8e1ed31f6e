/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_simgrid_wrap.h: renames main() under SimGrid, which Orrery does not use: nothing, there so that
 * programs which include it compile.
 * Threads: none. Not here: simulated devices (drivers/sim).
 */
#ifndef STARPU_SIMGRID_WRAP_H
#define STARPU_SIMGRID_WRAP_H

#include <starpu_config.h>

#endif
