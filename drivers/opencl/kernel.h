/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.h: running a task's function on an OpenCL device.
 * Threads: the device's worker. Owns: nothing. Not here: which device (device.c). */
#ifndef ORR_DRIVERS_OPENCL_KERNEL_H
#define ORR_DRIVERS_OPENCL_KERNEL_H

struct orr_event;
struct orr_kernel;
struct orr_task;
struct orr_worker;

/* See submit, test and alarm in struct orr_driver_ops. */
int orr_opencl_submit(struct orr_worker *w, struct orr_task *t, struct orr_kernel *k);
int orr_opencl_test(struct orr_worker *w, struct orr_kernel *k);
struct orr_event *orr_opencl_alarm(struct orr_worker *w, struct orr_kernel *k);

#endif
