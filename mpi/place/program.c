/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c: a function of the program's as a placement (starpu_mpi_node_selection_register_policy).
 * Threads: see place.h. Owns: nothing. Not here: its number (policies.c).
 * Its interface gives it its own rank; that it answers the same everywhere is up to the program. */
#include "mpi/place/program.h"

static int choose(void *program, const struct orr_place_view *v)
{
    const struct orr_place_program *p = program;
    return p->fn(v->comm->rank, v->comm->size, v->data, v->count);
}

const struct orr_place_ops orr_place_program = { .name = "the program's", .choose = choose };
