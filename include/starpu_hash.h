/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_hash.h: a running CRC-32C, the hash that footprints are made of.
 *
 * Threads: any.
 * Owns: nothing.
 * Not here: footprints of tasks (starpu_scheduler.h).
 */
#ifndef STARPU_HASH_H
#define STARPU_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Continue the sum inputcrc (start with 0) over: n bytes; a 32-bit value, most significant byte first; a
 * pointer's value; a string without its NUL. Return the new sum. */
uint32_t starpu_hash_crc32c_be_n(const void *input, size_t n, uint32_t inputcrc);
uint32_t starpu_hash_crc32c_be(uint32_t input, uint32_t inputcrc);
uint32_t starpu_hash_crc32c_be_ptr(void *input, uint32_t inputcrc);
uint32_t starpu_hash_crc32c_string(const char *str, uint32_t inputcrc);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
