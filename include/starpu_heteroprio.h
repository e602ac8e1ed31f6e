/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of the scheduling policy "heteroprio": each kind of worker looks at the buckets of tasks in an
 * order of its own. A task's priority is the number of its bucket, from 0 to STARPU_HETEROPRIO_BUCKETS - 1
 * (others count as the nearest). A kind of worker for which nothing is set looks at all buckets, from the
 * highest number down. Threads: the thread that makes the context, in starpu_conf.sched_policy_callback or
 * STARPU_SCHED_CTX_POLICY_INIT. Not here: choosing the policy (starpu_conf.sched_policy_name).
 */
#ifndef STARPU_HETEROPRIO_H
#define STARPU_HETEROPRIO_H

#include <starpu_worker.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define STARPU_HETEROPRIO_BUCKETS 100

/* Names that the 1.3 series has for kinds of workers here. */
#define STARPU_CPU_IDX STARPU_CPU_WORKER
#define STARPU_CUDA_IDX STARPU_CUDA_WORKER
#define STARPU_OPENCL_IDX STARPU_OPENCL_WORKER

/* How many buckets workers of this kind look at. Until set_mapping says otherwise, the i-th is bucket i. */
void starpu_heteroprio_set_nb_prios(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                    unsigned max_prio);

/* The source_prio-th bucket, from 0, that workers of this kind look at is dest_bucket_id. */
void starpu_heteroprio_set_mapping(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                   unsigned source_prio, unsigned dest_bucket_id);

/* Which kind of worker is the fastest for this bucket; by default all are alike. */
void starpu_heteroprio_set_faster_arch(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                       unsigned bucket_id);

/* How many times slower than the fastest kind this one is for the bucket. Its workers leave the bucket alone
 * while it holds fewer tasks than that for each of the fastest workers. */
void starpu_heteroprio_set_arch_slow_factor(unsigned sched_ctx_id, enum starpu_worker_archtype arch,
                                            unsigned bucket_id, float slow_factor);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_HETEROPRIO_H */
