/* SPDX-License-Identifier: BSD-3-Clause */
/* crc32c.h: the checksum of files of checkpoints (Castagnoli's polynomial, as iSCSI has it).
 * Threads: any. Owns: its tables. Not here: what is summed (snapshot.c). */
#ifndef ORR_MPI_CRC32C_H
#define ORR_MPI_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of the bytes, after those of which crc is the sum; 0: they are the first. */
uint32_t orr_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
