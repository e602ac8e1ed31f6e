/* SPDX-License-Identifier: BSD-3-Clause */
/* code.h: names for places in code, for messages.
 * Threads: any. Owns: nothing. Not here: lines of sources, which addr2line tells. */
#ifndef ORR_BASE_CODE_H
#define ORR_BASE_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* "function in file+0x12", or, where the function's name is not in the file's dynamic symbols, "file+0x12",
 * as addr2line -e file 0x12 takes it. returns: the address follows a call, which is meant. */
const char *orr_code_name(const void *address, bool returns, char *buf, size_t bytes);

#endif
