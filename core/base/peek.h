/* SPDX-License-Identifier: BSD-3-Clause */
/* peek.h: copies of memory that may be written, freed or unmapped meanwhile, as a debugger's.
 * Threads: any. Owns: nothing. Not here: what the bytes mean; whoever looks has to find out whether what he
 * copied belongs together, as by a number that is not used twice.
 *
 * The system copies: a bad address is an error and no crash, and no race that a language knows of. */
#ifndef ORR_BASE_PEEK_H
#define ORR_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* False: not all of it can be read. */
bool orr_peek(void *dst, const void *src, size_t bytes);
/* At most bytes - 1 characters, up to the 0 or what cannot be read; what does not print becomes '?'. False:
 * nothing can be read. */
bool orr_peek_text(char *dst, size_t bytes, const char *src);

#endif
