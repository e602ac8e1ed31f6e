/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h: a function of the program's as a placement.
 * Threads: see place.h. Owns: nothing. Not here: its number (policies.h). */
#ifndef ORR_MPI_PROGRAM_H
#define ORR_MPI_PROGRAM_H

#include "mpi/place/place.h"

typedef int (*orr_select_fn)(int me, int nb_nodes, struct starpu_data_descr *descr, int nb_data);

struct orrery_mpi_view;
typedef int (*orr_view_fn)(const struct orrery_mpi_view *view, void *arg);

/* Of the one without state, what it gets as state; of the other, what it begins with. */
struct orr_place_program {
    orr_select_fn fn;
    orr_view_fn see; /* orr_place_viewer's */
    void *arg;
};

extern const struct orr_place_ops orr_place_program;
extern const struct orr_place_ops orr_place_viewer; /* viewer.c */

#endif
