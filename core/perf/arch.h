/* SPDX-License-Identifier: BSD-3-Clause */
/* arch.h: architectures, as performance models tell them apart: one device, or several that run a task
 * together.
 * Threads: registration of workers by the main thread at start-up; the rest any. Owns: the numbered
 * table of architectures ("combs"), and each worker's. Not here: what was measured (history.h). */
#ifndef ORR_PERF_ARCH_H
#define ORR_PERF_ARCH_H

#include <starpu_perfmodel.h>

#include "core/base/export.h"

enum { ORR_ARCH_MAX = STARPU_NMAXWORKERS > 256 ? STARPU_NMAXWORKERS : 256 };

/* What models and policies need of a worker. [const after registration] */
struct orr_perf_worker {
    int comb;      /* number of its architecture; -1: not registered */
    unsigned node; /* its memory node */
    enum starpu_worker_archtype type;
};
extern struct orr_perf_worker orr_perf_workers[STARPU_NMAXWORKERS];
extern unsigned orr_perf_worker_count; /* highest registered number + 1 [const after registration] */

/* Says which architecture worker workerid has; before its thread starts. CPU cores count as one architecture,
 * devices each as one of its own, unless STARPU_PERF_MODEL_HOMOGENEOUS_* says otherwise.
 * 0; -ENOMEM; -ENOSPC. */
int orr_perf_worker_register(int workerid, enum starpu_worker_archtype type, int devid, unsigned node);
void orr_perf_workers_clear(void);

/* Combined workers come after the workers: says which architecture number n of them has (one call at a time,
 * in order); forgets them all. Then the architecture of a worker or combined worker, -1 for other numbers. */
void orr_perf_combined_register(unsigned n, int comb);
void orr_perf_combined_clear(void);
int orr_perf_comb_of(unsigned workerid);

/* The number of an architecture, -1 if it is not known. Cheap for pointers that came from us. */
int orr_arch_find(const struct starpu_perfmodel_arch *arch);
/* The same, known from now on; -1: out of memory or of room. */
int orr_arch_intern(int ndevices, const struct starpu_perfmodel_device *devices);
int orr_arch_count(void);
/* Forgets them all; with no model left. */
void orr_archs_clear(void);
const struct starpu_perfmodel_arch *orr_arch_get(int comb); /* borrowed, until shutdown */

/* The kind of worker with this name ("cpu"...), -1 if there is none. */
int orr_archtype_by_name(const char *name, size_t length);

#endif
