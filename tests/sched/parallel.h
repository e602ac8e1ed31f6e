/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of policies for parallel tasks share: bodies that note on how many workers, and on which,
 * each task ran. Threads: workers note; main reads between waits. Owns: the notes. Not here: how tasks run on
 * several workers (tests/core/parallel_tasks.c).
 */
#ifndef ORR_TESTS_SCHED_PARALLEL_H
#define ORR_TESTS_SCHED_PARALLEL_H

#include <limits.h>
#include "tests/helper.h"

enum { SIZES = 16 };
static atomic_int of_size[SIZES + 1]; /* tasks that ran on so many workers */
static atomic_int on_worker[STARPU_NMAXWORKERS];
static atomic_int ended, spmd_bodies, nap_us;

static void note(int count_it)
{
    if (count_it) atomic_fetch_add(&of_size[starpu_combined_worker_get_size()], 1);
    atomic_fetch_add(&on_worker[starpu_worker_get_id()], 1);
    if (atomic_load(&nap_us))
        usleep((unsigned)atomic_load(&nap_us) / (unsigned)starpu_combined_worker_get_size());
}

static inline void spmd_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&spmd_bodies, 1);
    note(starpu_combined_worker_get_rank() == 0);
}

static inline void forkjoin_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    note(1);
}

static inline void count_end(void *arg UNUSED)
{
    atomic_fetch_add(&ended, 1);
}

static inline void forget(void)
{
    for (int i = 0; i <= SIZES; i++) atomic_store(&of_size[i], 0);
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) atomic_store(&on_worker[i], 0);
    atomic_store(&ended, 0);
    atomic_store(&spmd_bodies, 0);
}

/* Submits so many tasks; returns 0 when all were accepted. */
static inline int submit_many(struct starpu_codelet *cl, int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++) failed |= starpu_task_insert(cl, STARPU_CALLBACK, count_end, 0);
    return failed;
}

/* The same, and waits; true when each ended once. */
static inline int run_many(struct starpu_codelet *cl, int count)
{
    forget();
    int failed = submit_many(cl, count);
    starpu_task_wait_for_all();
    return !failed && atomic_load(&ended) == count;
}

#endif
