/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests that start mpirun themselves.
 * Threads: main. Owns: nothing. Not here: what they start (checkpoints.c, shared_node.c).
 */
#ifndef ORR_TESTS_LAUNCHES_H
#define ORR_TESTS_LAUNCHES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* Sets the environment for mpirun. False: it cannot be used here, which was said as a skip. */
static bool may_launch(void)
{
    const char *sanitizer = getenv("ORR_SANITIZER");
    if (sanitizer && *sanitizer && strcmp(sanitizer, "none") != 0) {
        skip_all("sanitizers and ranks that die, or many at once, do not go together");
        return false;
    }
    if (system("${ORR_MPIRUN:-mpirun} --version >/dev/null 2>&1") != 0) {
        skip_all("there is no mpirun");
        return false;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_MCA_plm_rsh_agent", "false", 0);
    unsetenv("STARPU_SILENT"); /* what they warn of is looked for */
    return true;
}

#endif
