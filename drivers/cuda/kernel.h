/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.h: starting tasks on a CUDA device.
 * Threads: the worker's. Owns: nothing. Not here: the rest of the driver's table (device.c). */
#ifndef ORR_DRIVERS_CUDA_KERNEL_H
#define ORR_DRIVERS_CUDA_KERNEL_H

#include "drivers/cuda/device.h"

struct orr_kernel;
struct orr_task;

/* Slots of struct orr_driver_ops. */
int orr_cuda_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k);
int orr_cuda_test(struct orr_worker *w, struct orr_kernel *k);

/* The queue of a worker of ours. */
struct cuda_queue *orr_cuda_queue_of(const struct orr_worker *w);

#endif
