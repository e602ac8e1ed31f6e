/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.h: the one cutter behind the ready-made filters of dense arrays: a child is a range, an index, or all
 * of each dimension of its parent, seen as an interface of as many dimensions as are left.
 * Threads: any.
 * Owns: whether the last filter of this thread failed. Not here: sparse matrices (sparse.c), making handles
 * of the children (core/data/partition.c). */
#ifndef ORR_DATA_FILTERS_CUT_H
#define ORR_DATA_FILTERS_CUT_H

#include <starpu_data_filters.h>
#include <starpu_data_interfaces.h>
#include <stdbool.h>

/* The arguments of a filter. */
struct orr_cut {
    const char *fn; /* the filter, for messages */
    const void *parent;
    void *child;
    enum starpu_data_interface_id id; /* of the child's interface */
    const struct starpu_data_filter *f;
    unsigned part, nparts;
};

/* Defines a filter that calls one of the functions below; child_id names the child's interface. */
#define ORR_FILTER(name, child_id, call)                                                                     \
    void name(void *parent, void *child, struct starpu_data_filter *f, unsigned id, unsigned nparts)         \
    {                                                                                                        \
        const struct orr_cut c = {                                                                           \
            __func__, parent, child, STARPU_##child_id##_INTERFACE_ID, f, id, nparts                         \
        };                                                                                                   \
        call;                                                                                                \
    }

/* Defines the function that gives the children's interface. */
#define ORR_CHILD_OPS(name, ops)                                                                             \
    struct starpu_data_interface_ops *name(struct starpu_data_filter *f, unsigned child)                     \
    {                                                                                                        \
        (void)f;                                                                                             \
        (void)child;                                                                                         \
        return &ops;                                                                                         \
    }

/* Elements start .. start + count - 1 of dimension dim. */
void orr_cut_range(const struct orr_cut *c, size_t dim, size_t start, size_t count);
/* An even share of dimension dim. */
void orr_cut_block(const struct orr_cut *c, size_t dim);
/* The same, overlapping its neighbours by filter_arg_ptr elements on each side. */
void orr_cut_shadow(const struct orr_cut *c, size_t dim);
/* Index filter_arg_ptr + part of dimension dim, which is then gone. */
void orr_cut_pick(const struct orr_cut *c, size_t dim);
/* One element: filter_arg_ptr points to one index (uint32_t) for each dimension; part counts on along the
 * first. */
void orr_cut_element(const struct orr_cut *c);
/* The whole, seen as another interface. */
void orr_cut_whole(const struct orr_cut *c);

/* Whether the filter is one of ours that cuts all of its parent, each element once. */
bool orr_cut_tiles(const struct starpu_data_filter *f);

/* Says what is wrong (orr_error) and makes the partition under way fail. */
void orr_filter_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Whether a filter failed on this thread since the last call. */
bool orr_filter_failed(void);

#endif
