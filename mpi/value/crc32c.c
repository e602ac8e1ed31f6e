/* SPDX-License-Identifier: BSD-3-Clause */
/* crc32c.c: see crc32c.h. Threads: see crc32c.h. Owns: see crc32c.h. Not here: see crc32c.h.
 * Eight bytes at a time, each by a table of its own: table k says what a byte does that k zero bytes
 * follow. */
#include "mpi/value/crc32c.h"

#include <string.h>

#include "core/base/sync.h"

enum { AT_A_TIME = 8 };

static uint32_t tables[AT_A_TIME][256]; /* [const once made] */
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t c = byte;
        for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
        tables[0][byte] = c;
    }
    for (int k = 1; k < AT_A_TIME; k++)
        for (int byte = 0; byte < 256; byte++)
            tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 255];
}

uint32_t orr_crc32c(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    pthread_once(&made, make_tables);
    crc = ~crc;
    for (; bytes >= AT_A_TIME; bytes -= AT_A_TIME, p += AT_A_TIME) {
        uint32_t next = 0, low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                                        (uint32_t)p[3] << 24);
        for (int i = 0; i < 4; i++) {
            next ^= tables[7 - i][low >> 8 * i & 255];
            next ^= tables[3 - i][p[4 + i]];
        }
        crc = next;
    }
    while (bytes--) crc = crc >> 8 ^ tables[0][(crc ^ *p++) & 255];
    return ~crc;
}
