/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.c: children of dense arrays: their shape, and where they begin in their parent.
 * Threads: any. Owns: whether the last filter of this thread failed. Not here: the filters by name (vector.c,
 * ...). */
#include "core/data/filters/cut.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/data/interfaces/dense.h"

void orr_filter_fail(const char *fmt, ...)
{
    char line[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    orr_error("%s", line);
    *orr_thread_room(orr_self(), filter, bool) = true;
}

bool orr_filter_failed(void)
{
    bool *failed = orr_thread_room(orr_self(), filter, bool), was = *failed;
    *failed = false;
    return was;
}

#undef starpu_filter_nparts_compute_chunk_size_and_offset
void starpu_filter_nparts_compute_chunk_size_and_offset(unsigned n, unsigned nparts, size_t elemsize,
                                                        unsigned id, size_t blocksize, size_t *chunk_size,
                                                        size_t *offset)
{
    unsigned longer = n % nparts; /* the first ones have one more */
    *chunk_size = n / nparts + (id < longer);
    if (offset) *offset = ((size_t)id * (n / nparts) + (id < longer ? id : longer)) * blocksize * elemsize;
}

bool orr_cut_tiles(const struct starpu_data_filter *f)
{
    static void (*const filters[])(void *, void *, struct starpu_data_filter *, unsigned, unsigned) = {
        starpu_vector_filter_block,          starpu_matrix_filter_block,
        starpu_matrix_filter_vertical_block, starpu_block_filter_block,
        starpu_block_filter_vertical_block,  starpu_block_filter_depth_block,
        starpu_tensor_filter_block,          starpu_tensor_filter_vertical_block,
        starpu_tensor_filter_depth_block,    starpu_tensor_filter_time_block,
    };
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
        if (f->filter_func == filters[i]) return true;
    return false;
}

/* Where an even share of n begins, and how long it is; for lengths beyond those of the public function. */
static void share(size_t n, unsigned nparts, unsigned part, size_t *start_out, size_t *count_out)
{
    size_t longer = n % nparts;
    *count_out = n / nparts + (part < longer);
    *start_out = part * (n / nparts) + (part < longer ? part : longer);
}

/* Fills the child: a view of its parent's memory that begins after so many elements. */
static void fill(const struct orr_cut *c, const struct orr_dense_view *v, size_t elements)
{
    const struct orr_dense_head *parent = c->parent;
    struct orr_dense_head *child = c->child;
    child->id = c->id;
    const struct orr_dense_kind *k = orr_dense_kind_of(child);
    if (!k->by_pointer && k->ndim != v->ndim) {
        orr_filter_fail(
            "%s: the piece has %zu dimensions, and a %s has %u; choose the filter that goes with the data",
            c->fn, v->ndim, k->name, k->ndim);
        return;
    }
    if (!k->by_pointer && v->ndim > 0 && v->ld[0] != 1) {
        orr_filter_fail("%s: the piece has gaps between its elements, which only n-dimensional arrays can "
                        "have; pick from "
                        "another dimension, or use starpu_ndim_filter_pick_ndim",
                        c->fn);
        return;
    }
    orr_dense_write(child, v);
    child->ptr = child->dev_handle = 0;
    child->offset = 0;
    if (!parent->dev_handle && !parent->ptr) return;
    child->ptr = parent->ptr ? parent->ptr + elements * v->elemsize : 0;
    child->dev_handle = parent->dev_handle;
    child->offset = parent->offset + elements * v->elemsize;
}

static bool read_parent(const struct orr_cut *c, size_t dim, struct orr_dense_view *v)
{
    if (!orr_dense_kind_of(c->parent)) {
        orr_filter_fail("%s: the data to be cut is no dense array; choose the filter that goes with the data",
                        c->fn);
        return false;
    }
    orr_dense_read(c->parent, v);
    if (dim < v->ndim) return true;
    orr_filter_fail("%s: dimension %zu is to be cut, and the data has %zu", c->fn, dim, v->ndim);
    return false;
}

void orr_cut_range(const struct orr_cut *c, size_t dim, size_t start, size_t count)
{
    struct orr_dense_view v;
    if (!read_parent(c, dim, &v)) return;
    if (start > v.nn[dim] || count > v.nn[dim] - start) {
        orr_filter_fail("%s: piece %u (%zu elements from %zu on) ends behind the %zu elements there are",
                        c->fn, c->part, count, start, v.nn[dim]);
        return;
    }
    v.nn[dim] = count;
    fill(c, &v, start * v.ld[dim]);
}

void orr_cut_block(const struct orr_cut *c, size_t dim)
{
    struct orr_dense_view v;
    size_t start, count;
    if (!read_parent(c, dim, &v)) return;
    share(v.nn[dim], c->nparts, c->part, &start, &count);
    orr_cut_range(c, dim, start, count);
}

void orr_cut_shadow(const struct orr_cut *c, size_t dim)
{
    struct orr_dense_view v;
    size_t shadow = (uintptr_t)c->f->filter_arg_ptr, start, count;
    if (!read_parent(c, dim, &v)) return;
    if (shadow > v.nn[dim] / 2) {
        orr_filter_fail("%s: a shadow of %zu elements on each side does not fit into %zu; filter_arg_ptr is "
                        "the number itself",
                        c->fn, shadow, v.nn[dim]);
        return;
    }
    share(v.nn[dim] - 2 * shadow, c->nparts, c->part, &start, &count);
    orr_cut_range(c, dim, start, count + 2 * shadow);
}

/* Removes dimension dim at an index. */
static void pick(const struct orr_cut *c, struct orr_dense_view *v, size_t dim, size_t index)
{
    if (index >= v->nn[dim]) {
        orr_filter_fail("%s: index %zu of dimension %zu was picked, and there are %zu", c->fn, index, dim,
                        v->nn[dim]);
        return;
    }
    size_t elements = index * v->ld[dim];
    for (size_t i = dim; i + 1 < v->ndim; i++) {
        v->nn[i] = v->nn[i + 1];
        v->ld[i] = v->ld[i + 1];
    }
    v->ndim--;
    fill(c, v, elements);
}

void orr_cut_pick(const struct orr_cut *c, size_t dim)
{
    struct orr_dense_view v;
    if (read_parent(c, dim, &v)) pick(c, &v, dim, (uintptr_t)c->f->filter_arg_ptr + c->part);
}

void orr_cut_element(const struct orr_cut *c)
{
    struct orr_dense_view v;
    const uint32_t *index = c->f->filter_arg_ptr;
    size_t elements = 0;
    if (!read_parent(c, 0, &v)) return;
    for (size_t i = 0; i < v.ndim; i++) {
        size_t at = (index ? index[i] : 0) + (i == 0 ? c->part : 0);
        if (at >= v.nn[i]) {
            orr_filter_fail("%s: index %zu of dimension %zu was picked, and there are %zu", c->fn, at, i,
                            v.nn[i]);
            return;
        }
        elements += at * v.ld[i];
    }
    v.ndim = 0;
    fill(c, &v, elements);
}

void orr_cut_whole(const struct orr_cut *c)
{
    struct orr_dense_view v;
    orr_dense_read(c->parent, &v);
    fill(c, &v, 0);
}
