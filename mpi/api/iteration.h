/* SPDX-License-Identifier: BSD-3-Clause */
/* api/iteration.h: the layer hears of iterations while it runs.
 * Threads: that of init and shutdown. Owns: nothing. Not here: what follows (place/replay.h). */
#ifndef ORR_MPI_API_ITERATION_H
#define ORR_MPI_API_ITERATION_H

void orr_iterations_attach(void);
void orr_iterations_detach(void);

#endif
