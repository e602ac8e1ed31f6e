/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h: a function of the program's as a placement.
 * Threads: see place.h. Owns: nothing. Not here: its number (policies.h). */
#ifndef ORR_MPI_PROGRAM_H
#define ORR_MPI_PROGRAM_H

#include "mpi/place/place.h"

typedef int (*orr_select_fn)(int me, int nb_nodes, struct starpu_data_descr *descr, int nb_data);

/* What the placement gets as state. */
struct orr_place_program {
    orr_select_fn fn;
};

extern const struct orr_place_ops orr_place_program;

#endif
