/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h: the recording of a run in a file (ORRERY_TRACE), from the observer to the file.
 * Threads: stated below. Owns: the recording, one in a process. Not here: the form of the file
 * (core/base/otrace.h, doc/TRACE.md), what is made of it (tools/report). */
#ifndef ORR_RUN_RECORD_H
#define ORR_RUN_RECORD_H

#include "core/base/tape.h"

/* ---- record.c: what happens, as records ---- */

/* Whether a file is being recorded, or will be when the runtime starts. Any thread. */
bool orr_record_possible(void);
/* Whether what happens now is recorded. Any thread. */
bool orr_record_is_on(void);
/* The runtime records what happens from now on, or no more. Any thread; before it starts, for then. */
void orr_record_switch(bool on);

/* ---- record_file.c: the thread that writes them. By one thread at a time ---- */

struct orr_record_file;

/* The file's name, to be freed: of a rank of several its number is in it. NULL: none is wanted, or no memory.
 */
char *orr_record_name(void);
/* Makes the file and the thread that writes what is on the tape there. NULL: it cannot, which was said. */
struct orr_record_file *orr_record_file_open(const char *name, struct orr_tape *tape);
/* All that was put on the tape is in the file, if there is one: returns when it is, or after a second. Also
 * for a signal handler, and in whatever order the process ends. */
void orr_record_flush_now(void);
/* Nobody writes on the tape any more: the rest goes to the file, which ends. */
void orr_record_file_close(struct orr_record_file *f);

#endif
