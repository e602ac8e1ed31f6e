/* SPDX-License-Identifier: BSD-3-Clause */
/* near.h: which of several names somebody meant who wrote another.
 * Threads: any. Owns: nothing. Not here: the names. */
#ifndef ORR_BASE_NEAR_H
#define ORR_BASE_NEAR_H

/* How many letters must be changed, added or taken away to make b of a (Levenshtein); of b the first 64
 * count. */
int orr_letters_apart(const char *a, const char *b);

/* The nearest so far: begin with { NULL }. name is borrowed. */
struct orr_near {
    const char *name;
    int apart;
};
/* Takes name in the place of the one before if it is nearer to what was written, and near at all: a letter or
 * two of a short word, three of a long one. */
void orr_near_offer(struct orr_near *n, const char *written, const char *name);

#endif
