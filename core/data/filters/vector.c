/* SPDX-License-Identifier: BSD-3-Clause */
/* vector.c: the filters of vectors.
 * Threads: any. Owns: nothing. Not here: the cutting (cut.c). */
#include "core/data/filters/cut.h"

/* The children know where they began. */
static void set_slice_base(const struct orr_cut *c)
{
    const struct starpu_vector_interface *parent = c->parent;
    struct starpu_vector_interface *child = c->child;
    child->slice_base = parent->slice_base;
    if (parent->elemsize > 0) child->slice_base += (child->offset - parent->offset) / parent->elemsize;
}

static void block(const struct orr_cut *c)
{
    orr_cut_block(c, 0);
    set_slice_base(c);
}

static void shadow(const struct orr_cut *c)
{
    orr_cut_shadow(c, 0);
    set_slice_base(c);
}

static void range(const struct orr_cut *c, size_t start, size_t count)
{
    orr_cut_range(c, 0, start, count);
    set_slice_base(c);
}

static void by_list(const struct orr_cut *c)
{
    const uint32_t *lengths = c->f->filter_arg_ptr;
    size_t start = 0;
    for (unsigned i = 0; i < c->part; i++) start += lengths[i];
    range(c, start, lengths[c->part]);
}

static void by_list_long(const struct orr_cut *c)
{
    const long *lengths = c->f->filter_arg_ptr;
    size_t start = 0;
    for (unsigned i = 0; i < c->part; i++) start += (size_t)lengths[i];
    range(c, start, (size_t)lengths[c->part]);
}

static void in_two(const struct orr_cut *c)
{
    size_t nx = ((const struct starpu_vector_interface *)c->parent)->nx, first = c->f->filter_arg;
    if (c->nparts != 2 || first > nx) {
        orr_filter_fail(
            "%s: it cuts into 2 children, the first of filter_arg (%zu) of the %zu elements; nchildren is %u",
            c->fn, first, nx, c->nparts);
        return;
    }
    range(c, c->part == 0 ? 0 : first, c->part == 0 ? first : nx - first);
}

ORR_FILTER(starpu_vector_filter_block, VECTOR, block(&c))
ORR_FILTER(starpu_vector_filter_block_shadow, VECTOR, shadow(&c))
ORR_FILTER(starpu_vector_filter_list, VECTOR, by_list(&c))
ORR_FILTER(starpu_vector_filter_list_long, VECTOR, by_list_long(&c))
ORR_FILTER(starpu_vector_filter_divide_in_2, VECTOR, in_two(&c))
ORR_FILTER(starpu_vector_filter_pick_variable, VARIABLE, orr_cut_pick(&c, 0))
ORR_CHILD_OPS(starpu_vector_filter_pick_variable_child_ops, starpu_interface_variable_ops)
