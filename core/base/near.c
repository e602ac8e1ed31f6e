/* SPDX-License-Identifier: BSD-3-Clause */
/* near.c: see near.h. Threads: see near.h. Owns: see near.h. Not here: see near.h. */
#include "core/base/near.h"

#include <string.h>

enum { NAME_MAX_BYTES = 64, FAR = 3 };

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

int orr_letters_apart(const char *a, const char *b)
{
    int row[NAME_MAX_BYTES + 1], columns = (int)strnlen(b, NAME_MAX_BYTES);
    for (int j = 0; j <= columns; j++) row[j] = j;
    for (int i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < columns; j++) {
            int above = row[j + 1];
            row[j + 1] = least(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    return row[columns];
}

void orr_near_offer(struct orr_near *n, const char *written, const char *name)
{
    int apart = orr_letters_apart(written, name), far = 1 + (int)(strnlen(written, NAME_MAX_BYTES) / 4);
    if (far > FAR) far = FAR;
    if (apart > far || (n->name && apart >= n->apart)) return;
    n->name = name;
    n->apart = apart;
}
