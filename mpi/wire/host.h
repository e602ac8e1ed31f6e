/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h: which computer a process runs on, as a number that processes can compare.
 * Threads: any. Owns: nothing. Not here: what the computer has (place/machine.h). */
#ifndef ORR_MPI_HOST_H
#define ORR_MPI_HOST_H

#include <stdint.h>

/* Stands for the computer that this process runs on, until it starts anew; 0: not known. */
uint64_t orr_host_number(void);

#endif
