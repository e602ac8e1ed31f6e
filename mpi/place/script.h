/* SPDX-License-Identifier: BSD-3-Clause */
/* script.h: the insertions of an iteration, word by word, so that the same ones are recognised: an iteration
 * between starpu_iteration_push and _pop, which the program goes on inserting, is replayed from its record as
 * long as its argument lists repeat. STARPU_VALUEs may differ.
 * Threads: the thread that submits. Owns: the lines of struct orr_recording. Not here: see replay.h.
 *
 * An insertion that is recognised, by 64 bits of hash, costs reading its list, and its line in the log; if
 * this rank has a part in it, that part is done again with the new values. Since this is what its insertion
 * would do, an iteration that strays from its record is inserted from there on, and nothing is lost. */
#ifndef ORR_MPI_SCRIPT_H
#define ORR_MPI_SCRIPT_H

#include <stdarg.h>

#include "mpi/place/recording.h"

/* The insertion that was just noted (orr_recording_note), and logged. */
void orr_script_note(struct orr_recording *r, struct orr_comm *c, struct starpu_codelet *cl, va_list ap);
/* The iteration begins again. */
void orr_script_begin(struct orr_recording *r);
/* The next insertion: true when it was recognised, and done with that status; false: the caller inserts it.
 */
bool orr_script_follow(struct orr_comm *c, struct orr_recording *r, struct starpu_codelet *cl, va_list ap,
                       int *status_out);
/* The iteration ends: whether it was all of the record. */
bool orr_script_end(struct orr_recording *r);

#endif
