/* SPDX-License-Identifier: BSD-3-Clause */
/* api/lb.c: the load balancer's interface. No balancer is built in yet: data stay with the owners the program
 * gave them.
 * Threads: the main thread. Owns: nothing. Not here: moving one piece of data (starpu_mpi_data_migrate,
 * api/data.c). */
#include <starpu_mpi_lb.h>
#include <stdlib.h>

#include "core/base/env.h"
#include "core/base/log.h"

void starpu_mpi_lb_init(const char *lb_policy_name, struct starpu_mpi_lb_conf *itf)
{
    const char *name = orr_env_string(ORR_SETTING(STARPU_MPI_LB));
    (void)itf;
    if (!name) name = lb_policy_name;
    if (name)
        orr_warn("starpu_mpi_lb_init: there is no load balancer \"%s\" in this version; the program is right "
                 "without it, data stay with "
                 "their owners",
                 name);
}

void starpu_mpi_lb_shutdown(void)
{
}
