/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_bitmap.h: a set of small numbers, such as workers (combined ones included), as bits.
 *
 * Threads: the caller keeps others out while it changes a set.
 * Owns: nothing; everything is inline.
 * Not here: collections of workers (starpu_worker.h).
 *
 * Undefined: elements that are negative or not below STARPU_BITMAP_SIZE.
 */
#ifndef STARPU_BITMAP_H
#define STARPU_BITMAP_H

#include <starpu_util.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STARPU_BITMAP_SIZE (STARPU_NMAXWORKERS + STARPU_NMAX_COMBINEDWORKERS)
#define STARPU_BITMAP_WORD_BITS_ ((int)(sizeof(unsigned long) * CHAR_BIT))
#define STARPU_BITMAP_NWORDS_ ((STARPU_BITMAP_SIZE + STARPU_BITMAP_WORD_BITS_ - 1) / STARPU_BITMAP_WORD_BITS_)

struct starpu_bitmap {
    unsigned long bits[STARPU_BITMAP_NWORDS_];
    int cardinal; /* number of elements */
};

/* Empty a set. */
static STARPU_INLINE void starpu_bitmap_init(struct starpu_bitmap *b)
{
    memset(b, 0, sizeof(*b));
}

/* The same. */
static STARPU_INLINE void starpu_bitmap_unset_all(struct starpu_bitmap *b)
{
    starpu_bitmap_init(b);
}

/* Make an empty set, for the caller to destroy; NULL: out of memory. */
static STARPU_INLINE struct starpu_bitmap *starpu_bitmap_create(void)
{
    return (struct starpu_bitmap *)calloc(1, sizeof(struct starpu_bitmap));
}

/* Free a set of starpu_bitmap_create(); NULL is nothing. */
static STARPU_INLINE void starpu_bitmap_destroy(struct starpu_bitmap *b)
{
    free(b);
}

/* Is e in the set? */
static STARPU_INLINE int starpu_bitmap_get(const struct starpu_bitmap *b, int e)
{
    return (int)(b->bits[e / STARPU_BITMAP_WORD_BITS_] >> (e % STARPU_BITMAP_WORD_BITS_) & 1UL);
}

/* Put e, from 0 to STARPU_NMAXWORKERS - 1, into the set. */
static STARPU_INLINE void starpu_bitmap_set(struct starpu_bitmap *b, int e)
{
    b->cardinal += !starpu_bitmap_get(b, e);
    b->bits[e / STARPU_BITMAP_WORD_BITS_] |= 1UL << (e % STARPU_BITMAP_WORD_BITS_);
}

/* Take e out of the set, if it is there. */
static STARPU_INLINE void starpu_bitmap_unset(struct starpu_bitmap *b, int e)
{
    b->cardinal -= starpu_bitmap_get(b, e);
    b->bits[e / STARPU_BITMAP_WORD_BITS_] &= ~(1UL << (e % STARPU_BITMAP_WORD_BITS_));
}

/* Number of elements. */
static STARPU_INLINE int starpu_bitmap_cardinal(const struct starpu_bitmap *b)
{
    return b->cardinal;
}

/* a = b and c. */
static STARPU_INLINE void starpu_bitmap_unset_and(struct starpu_bitmap *a, const struct starpu_bitmap *b,
                                                  const struct starpu_bitmap *c)
{
    int i;
    a->cardinal = 0;
    for (i = 0; i < STARPU_BITMAP_NWORDS_; i++) {
        a->bits[i] = b->bits[i] & c->bits[i];
        a->cardinal += __builtin_popcountl(a->bits[i]);
    }
}

/* a = a or b. */
static STARPU_INLINE void starpu_bitmap_or(struct starpu_bitmap *a, const struct starpu_bitmap *b)
{
    int i;
    a->cardinal = 0;
    for (i = 0; i < STARPU_BITMAP_NWORDS_; i++) {
        a->bits[i] |= b->bits[i];
        a->cardinal += __builtin_popcountl(a->bits[i]);
    }
}

/* Is e in both sets? */
static STARPU_INLINE int starpu_bitmap_and_get(const struct starpu_bitmap *b1, const struct starpu_bitmap *b2,
                                               int e)
{
    return starpu_bitmap_get(b1, e) && starpu_bitmap_get(b2, e);
}

/* The smallest element above e (-1: the smallest of all); -1: none. */
static STARPU_INLINE int starpu_bitmap_next(const struct starpu_bitmap *b, int e)
{
    int first = e + 1, i = first / STARPU_BITMAP_WORD_BITS_;
    unsigned long word;
    if (i >= STARPU_BITMAP_NWORDS_) return -1;
    word = b->bits[i] & (~0UL << (first % STARPU_BITMAP_WORD_BITS_));
    while (!word) {
        if (++i == STARPU_BITMAP_NWORDS_) return -1;
        word = b->bits[i];
    }
    return i * STARPU_BITMAP_WORD_BITS_ + __builtin_ctzl(word);
}

/* Is there an element above e? */
static STARPU_INLINE int starpu_bitmap_has_next(const struct starpu_bitmap *b, int e)
{
    return starpu_bitmap_next(b, e) != -1;
}

/* The smallest element; -1: the set is empty. */
static STARPU_INLINE int starpu_bitmap_first(const struct starpu_bitmap *b)
{
    return starpu_bitmap_next(b, -1);
}

/* The largest element; -1: the set is empty. */
static STARPU_INLINE int starpu_bitmap_last(const struct starpu_bitmap *b)
{
    int i;
    for (i = STARPU_BITMAP_NWORDS_ - 1; i >= 0; i--)
        if (b->bits[i])
            return i * STARPU_BITMAP_WORD_BITS_ + STARPU_BITMAP_WORD_BITS_ - 1 - __builtin_clzl(b->bits[i]);
    return -1;
}

#endif
