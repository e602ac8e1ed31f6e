/* SPDX-License-Identifier: BSD-3-Clause */
/* hash.c: CRC-32C (Castagnoli), the hash that footprints are made of.
 * Threads: any. Owns: its table, made on first use. Not here: what is hashed (core/data, core/task/perf.c).
 *
 * A sum is kept in its final, inverted form, so that sums start at 0 and continue each other: the sum of
 * "123456789" is 0xe3069283 however it is cut. */
#include <pthread.h>
#include <starpu_hash.h>
#include <string.h>
#if defined(__SSE4_2__) && defined(__x86_64__)
#include <nmmintrin.h>
#endif

#if defined(__SSE4_2__) && defined(__x86_64__)

static uint32_t update(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t c = crc, word;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        c = _mm_crc32_u64(c, word);
    }
    crc = (uint32_t)c;
    for (; n > 0; n--) crc = _mm_crc32_u8(crc, *p++);
    return crc;
}

#else

static uint32_t table[256]; /* [const after make_table] */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        table[i] = c;
    }
}

static uint32_t update(uint32_t crc, const unsigned char *p, size_t n)
{
    pthread_once(&table_once, make_table);
    for (; n > 0; n--) crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
    return crc;
}

#endif

uint32_t starpu_hash_crc32c_be_n(const void *input, size_t n, uint32_t inputcrc)
{
    return ~update(~inputcrc, input, n);
}

uint32_t starpu_hash_crc32c_be(uint32_t input, uint32_t inputcrc)
{
    const unsigned char bytes[4] = { (unsigned char)(input >> 24), (unsigned char)(input >> 16),
                                     (unsigned char)(input >> 8), (unsigned char)input };
    return starpu_hash_crc32c_be_n(bytes, sizeof bytes, inputcrc);
}

uint32_t starpu_hash_crc32c_be_ptr(void *input, uint32_t inputcrc)
{
    uint64_t value = (uintptr_t)input;
    inputcrc = starpu_hash_crc32c_be((uint32_t)(value >> 32), inputcrc);
    return starpu_hash_crc32c_be((uint32_t)value, inputcrc);
}

uint32_t starpu_hash_crc32c_string(const char *str, uint32_t inputcrc)
{
    return starpu_hash_crc32c_be_n(str, strlen(str), inputcrc);
}
