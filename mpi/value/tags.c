/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.c: a sorted list of the ranges in use; the first gap that fits is taken.
 * Threads: any. Owns: see tags.h. Not here: the public functions (api/data.c). */
#include "mpi/value/tags.h"

#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/sync.h"

struct orr_tag_range {
    int64_t first, count;
    struct orr_tag_range *next;
};

/* The place in the list for count more tags, and where they begin. */
static struct orr_tag_range **find_gap(struct orr_value *v, int64_t count, int64_t *first_out)
{
    struct orr_tag_range **p = &v->tags;
    *first_out = 0;
    for (; *p && (*p)->first - *first_out < count; p = &(*p)->next) *first_out = (*p)->first + (*p)->count;
    return p;
}

int64_t orr_tags_allocate(struct orr_value *v, int64_t count)
{
    if (count <= 0) {
        orr_error("starpu_mpi_tags_allocate: %lld tags cannot be allocated; ask for at least 1",
                  (long long)count);
        return -EINVAL;
    }
    struct orr_tag_range *r = orr_malloc(sizeof *r);
    if (!r) return -ENOMEM;
    orr_spin_lock(&v->tags_lock);
    struct orr_tag_range **p = find_gap(v, count, &r->first);
    if (r->first > INT64_MAX - count) {
        orr_spin_unlock(&v->tags_lock);
        orr_free(r);
        orr_error("starpu_mpi_tags_allocate: no %lld tags are left", (long long)count);
        return -EINVAL;
    }
    int64_t first = r->first;
    r->count = count;
    r->next = *p;
    *p = r;
    orr_spin_unlock(&v->tags_lock);
    return first;
}

void orr_tags_free(struct orr_value *v, int64_t first)
{
    orr_spin_lock(&v->tags_lock);
    struct orr_tag_range **p = &v->tags, *r;
    while (*p && (*p)->first != first) p = &(*p)->next;
    r = *p;
    if (r) *p = r->next;
    orr_spin_unlock(&v->tags_lock);
    if (!r) orr_error("starpu_mpi_tags_free: no tags from %lld on were allocated", (long long)first);
    orr_free(r);
}

int64_t orr_tags_next(struct orr_value *v)
{
    int64_t first;
    orr_spin_lock(&v->tags_lock);
    find_gap(v, 1, &first);
    orr_spin_unlock(&v->tags_lock);
    return first;
}

void orr_tag_ranges_fini(struct orr_value *v)
{
    orr_spin_lock(&v->tags_lock);
    struct orr_tag_range *r = v->tags;
    v->tags = NULL;
    orr_spin_unlock(&v->tags_lock);
    while (r) {
        struct orr_tag_range *next = r->next;
        orr_free(r);
        r = next;
    }
}
