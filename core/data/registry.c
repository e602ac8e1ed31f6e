/* SPDX-License-Identifier: BSD-3-Clause */
/* registry.c: see registry.h.
 * Threads: any. Owns: the table by address, and the list of handles that it does not tell where they are.
 * Not here: making and ending handles (handle.c). */
#include "core/data/registry.h"

#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/data.h"

enum { FIRST_BITS = 8, MOST_BITS = 40 };

static ORR_MUTEX(handles) lock = PTHREAD_MUTEX_INITIALIZER; /* rank: above queue locks */
static struct orr_data *first_buckets[1 << FIRST_BITS];     /* [lock] */
static struct {
    struct orr_data **buckets;  /* chains by address; as many as handles, or memory was short */
    unsigned bits;              /* 2^bits of them */
    size_t pointers;            /* handles in them */
    struct orr_data *elsewhere; /* handles whose memory is allocated later, or in the hands of pieces */
} table = { .buckets = first_buckets, .bits = FIRST_BITS }; /* [lock] */

static size_t bucket(const void *ptr)
{
    return (size_t)(((uintptr_t)ptr * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - table.bits));
}

static void chain(struct orr_data *h)
{
    struct orr_data **b = &table.buckets[bucket(h->local_ptr)];
    h->ptr_next = *b;
    h->ptr_prev = b;
    if (*b) (*b)->ptr_prev = &h->ptr_next;
    *b = h;
}

static void use_buckets(struct orr_data **fresh, unsigned bits)
{
    struct orr_data **old = table.buckets;
    size_t count = (size_t)1 << table.bits;
    table.buckets = fresh;
    table.bits = bits;
    for (size_t i = 0; i < count; i++)
        for (struct orr_data *h = old[i], *next; h; h = next) {
            next = h->ptr_next;
            chain(h);
        }
    if (old == first_buckets)
        memset(first_buckets, 0, sizeof first_buckets);
    else
        orr_free(old);
}

/* Room for one more; without memory the chains grow longer. */
static void grow(void)
{
    if (table.pointers < (size_t)1 << table.bits || table.bits >= MOST_BITS) return;
    struct orr_data **fresh = orr_calloc((size_t)2 << table.bits, sizeof *fresh);
    if (fresh) use_buckets(fresh, table.bits + 1);
}

/* Puts h into the list of those to be searched, or takes it out, as it should be. */
static void sort_in(struct orr_data *h)
{
    bool searched = !h->local_ptr || orr_load_relaxed(&h->partitioned);
    if (searched == (h->prev != NULL)) return;
    if (searched) {
        h->next = table.elsewhere;
        h->prev = &table.elsewhere;
        if (h->next) h->next->prev = &h->next;
        table.elsewhere = h;
        return;
    }
    *h->prev = h->next;
    if (h->next) h->next->prev = h->prev;
    h->prev = NULL;
}

static void set_pointer(struct orr_data *h, void *ptr)
{
    if (!ptr || h->local_ptr) return;
    grow();
    h->local_ptr = ptr;
    chain(h);
    table.pointers++;
}

void orr_registry_add(struct orr_data *h, void *ptr)
{
    pthread_mutex_lock(&lock);
    set_pointer(h, ptr);
    sort_in(h);
    pthread_mutex_unlock(&lock);
}

void orr_registry_set_pointer(struct orr_data *h, void *ptr)
{
    pthread_mutex_lock(&lock);
    set_pointer(h, ptr);
    sort_in(h);
    pthread_mutex_unlock(&lock);
}

void orr_registry_set_pieces(struct orr_data *h, struct orr_data **pieces, unsigned count)
{
    pthread_mutex_lock(&lock);
    orr_store_relaxed(&h->partitioned, pieces != NULL);
    h->nchildren = count;
    orr_data_rare(h)->pieces = pieces;
    if (!h->parent) sort_in(h); /* pieces are found through what they are pieces of */
    pthread_mutex_unlock(&lock);
}

void orr_registry_remove(struct orr_data *h)
{
    pthread_mutex_lock(&lock);
    if (h->prev) {
        *h->prev = h->next;
        if (h->next) h->next->prev = h->prev;
        h->prev = NULL;
    }
    if (h->local_ptr) {
        *h->ptr_prev = h->ptr_next;
        if (h->ptr_next) h->ptr_next->ptr_prev = h->ptr_prev;
        h->local_ptr = NULL;
        table.pointers--;
    }
    pthread_mutex_unlock(&lock);
}

struct orr_data *orr_registry_find(const void *ptr,
                                   struct orr_data *(*at)(struct orr_data *h, const void *ptr))
{
    struct orr_data *found = NULL;
    pthread_mutex_lock(&lock);
    struct orr_data *h;
    for (h = table.buckets[bucket(ptr)]; h && !found; h = h->ptr_next)
        if (h->local_ptr == ptr) found = at(h, ptr);
    for (h = table.elsewhere; h && !found; h = h->next) found = at(h, ptr);
    pthread_mutex_unlock(&lock);
    return found;
}

void orr_registry_visit(void (*fn)(struct orr_data *h, void *arg), void *arg)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < (size_t)1 << table.bits; i++)
        for (struct orr_data *h = table.buckets[i]; h; h = h->ptr_next) fn(h, arg);
    for (struct orr_data *h = table.elsewhere; h; h = h->next)
        if (!h->local_ptr) fn(h, arg);
    pthread_mutex_unlock(&lock);
}

void orr_registry_trim(void)
{
    pthread_mutex_lock(&lock);
    if (table.pointers == 0 && table.buckets != first_buckets) use_buckets(first_buckets, FIRST_BITS);
    pthread_mutex_unlock(&lock);
}

size_t orr_registry_longest_chain(void)
{
    size_t longest = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < (size_t)1 << table.bits; i++) {
        size_t length = 0;
        for (struct orr_data *h = table.buckets[i]; h; h = h->ptr_next) length++;
        if (length > longest) longest = length;
    }
    pthread_mutex_unlock(&lock);
    return longest;
}
