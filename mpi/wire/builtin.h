/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.h: tables in the library that a setting names: transports, placements.
 * Threads: any. Owns: nothing. Not here: the lists (transports/builtin.c, place/policies.c). */
#ifndef ORR_MPI_BUILTIN_H
#define ORR_MPI_BUILTIN_H

#include <stddef.h>

/* The number of the table with that name, of so many characters; each of the tables begins with its name.
 * NULL: 0, the default. -EINVAL: there is none (said, for the setting, with those that are). */
int orr_builtin_find(const void *const *tables, int count, const char *setting, const char *what,
                     const char *name, size_t length);

#endif
