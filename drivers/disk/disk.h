/* SPDX-License-Identifier: BSD-3-Clause */
/* disk.h: what the files of this folder share: copies in pieces that threads of the folder's own make.
 * Threads: any. Owns: the shape of a job. Not here: the table of a storage's functions (starpu_disk.h). */
#ifndef ORR_DRIVERS_DISK_DISK_H
#define ORR_DRIVERS_DISK_DISK_H

#include <stdbool.h>

/* Something to be run on one of the threads; the caller's until run was called. */
struct orr_disk_job {
    void (*run)(struct orr_disk_job *job);
    struct orr_disk_job *next; /* [own: jobs.c] */
};

/* Starts the threads if there are none yet. False: there can be none. One thread at a time. */
bool orr_disk_threads_start(void);
/* Ends them; jobs that were handed in are run first. */
void orr_disk_threads_stop(void);
/* Jobs are begun in this order. Any thread; between start and stop. */
void orr_disk_run(struct orr_disk_job *job);

#endif
