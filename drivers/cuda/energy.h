/* SPDX-License-Identifier: BSD-3-Clause */
/* energy.h: what a CUDA device has taken.
 * Threads: any. Owns: nothing. Not here: who measures (core/worker/energy.c). */
#ifndef ORR_DRIVERS_CUDA_ENERGY_H
#define ORR_DRIVERS_CUDA_ENERGY_H

struct orr_device;

/* As energy of struct orr_driver_ops. */
int orr_cuda_energy(const struct orr_device *d, double *joules_out);

#endif
