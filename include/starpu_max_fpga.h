/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_max_fpga.h: Maxeler FPGAs, of which this build drives none; there so that programs which include it
 * compile.
 * Threads: none. Not here: the field max_fpga_load of struct starpu_conf (starpu.h).
 */
#ifndef STARPU_MAX_FPGA_H
#define STARPU_MAX_FPGA_H

#include <starpu_config.h>

struct starpu_max_load;

#endif
