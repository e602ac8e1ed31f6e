/* SPDX-License-Identifier: BSD-3-Clause */
/* faults.h: what goes wrong on a simulated device, as ORRERY_SIM_FAIL asks for.
 * Threads: any, but for opening. Owns: the shape of a device's faults. Not here: what follows from one. */
#ifndef ORR_DRIVERS_SIM_FAULTS_H
#define ORR_DRIVERS_SIM_FAULTS_H

#include <stdbool.h>

#include "core/base/sync.h"

enum sim_operation {
    SIM_OPEN,
    SIM_COPY,   /* to or from the device */
    SIM_SUBMIT, /* of a kernel: nothing of it runs */
    SIM_KERNEL, /* that ran, and may have written anything */
    SIM_LIFE,   /* with which kernel the device dies: nothing works any more */
    SIM_OPERATIONS
};

struct sim_faults {
    struct {
        long first, last;   /* of the operations that fail, from 1 on; 0: none [const] */
        _Atomic long count; /* how many there were */
    } of[SIM_OPERATIONS];
    _Atomic bool dead;
};

enum { SIM_STORE = -1 };

/* Reads the setting for device `number`, or SIM_STORE. */
void orr_sim_faults_init(struct sim_faults *f, int number);
/* Counts an operation. True: it fails. */
bool orr_sim_fails(struct sim_faults *f, enum sim_operation operation);

#endif
