/* SPDX-License-Identifier: BSD-3-Clause */
/* export.h: marks the private functions that liborrery-mpi calls across the library border.
 * Threads: none. Owns: nothing. Not here: public functions (exported by their headers). */
#ifndef ORR_BASE_EXPORT_H
#define ORR_BASE_EXPORT_H

#define ORR_EXPORT __attribute__((visibility("default")))

#endif
