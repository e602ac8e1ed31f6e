/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_scheduler_toolbox.h: the same as schedulers/starpu_scheduler_toolbox.h; programs include either.
 * Threads: see there. Not here: anything of its own.
 */
#include <schedulers/starpu_scheduler_toolbox.h>
