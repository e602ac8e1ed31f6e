/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Older spelling of starpu_parallel_worker.h.
 * Threads: see there.
 */
#ifndef STARPU_CLUSTERS_H
#define STARPU_CLUSTERS_H

#include <starpu_parallel_worker.h>

#endif /* STARPU_CLUSTERS_H */
