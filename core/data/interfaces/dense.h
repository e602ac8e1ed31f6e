/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.h: what the interfaces of dense arrays have in common (variable, vector, matrix, block, tensor,
 * ndim): all are n-dimensional arrays, and differ in where their structure keeps the sizes.
 * Threads: any.
 * Owns: nothing. Not here: those of several arrays (arrays.h), cutting (core/data/filters/).
 *
 * An interface is one struct orr_dense_kind (offsets of its members), one table of methods
 * (ORR_DENSE_METHODS), its registration function and its getters. Memory that the runtime allocates is always
 * packed: only the program's own buffers have leading dimensions larger than the array. */
#ifndef ORR_DATA_INTERFACES_DENSE_H
#define ORR_DATA_INTERFACES_DENSE_H

#include <starpu_data_interfaces.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/export.h"

enum { ORR_DENSE_MAX_DIMS = 32, ORR_DENSE_NAMED_DIMS = 4 };

/* The first members of every dense interface. */
struct orr_dense_head {
    enum starpu_data_interface_id id;
    uintptr_t ptr, dev_handle;
    size_t offset;
};

/* Where a structure keeps what; all are offsets of size_t members. */
struct orr_dense_kind {
    const char *name;                  /* for messages */
    char letter;                       /* of descriptions */
    uint8_t ndim;                      /* dimensions with a member each */
    bool by_pointer;                   /* the sizes are arrays that the structure points to (ndim) */
    uint16_t nn[ORR_DENSE_NAMED_DIMS]; /* elements */
    uint16_t ld[ORR_DENSE_NAMED_DIMS]; /* elements between neighbours; [0] is unused */
    uint16_t elemsize;
    uint16_t allocsize; /* 0: it has none */
    uint16_t base;      /* of a piece: where in the whole it begins, in elements; 0: it does not say */
};

#define DENSE(ID, name, phrase) extern const struct orr_dense_kind orr_##name##_kind;
#define ARRAYS(ID, name, phrase)
#define OTHER(ID, name, phrase)
#include "core/data/interfaces/interfaces.def"
#undef DENSE
#undef ARRAYS
#undef OTHER

/* By the number of the interface; NULL: it is none of dense arrays. The second: what messages call it. */
extern ORR_EXPORT const struct orr_dense_kind *const orr_dense_kinds[STARPU_MAX_INTERFACE_ID];
extern ORR_EXPORT const char *const orr_interface_phrases[STARPU_MAX_INTERFACE_ID];

#define ORR_DENSE_CHECK_HEAD(type)                                                                           \
    _Static_assert(offsetof(type, ptr) == offsetof(struct orr_dense_head, ptr) &&                            \
                       offsetof(type, dev_handle) == offsetof(struct orr_dense_head, dev_handle) &&          \
                       offsetof(type, offset) == offsetof(struct orr_dense_head, offset),                    \
                   "a dense interface begins with the members of orr_dense_head")

/* The member at that offset of a structure. */
static inline size_t orr_dense_member(const void *itf, uint16_t at)
{
    return *(const size_t *)((const char *)itf + at);
}

/* An array, whatever its interface. */
struct orr_dense_view {
    size_t ndim, elemsize;
    size_t nn[ORR_DENSE_MAX_DIMS + 1],
        ld[ORR_DENSE_MAX_DIMS + 1]; /* ld[0] is 1, but for pieces of ndim; one to spare */
};

/* The kind of an interface structure; NULL when it is no dense one. */
const struct orr_dense_kind *orr_dense_kind_of(const void *itf);

/* Reads the shape and layout of an interface structure. */
ORR_EXPORT void orr_dense_read(const void *itf, struct orr_dense_view *view_out);

/* Writes them; its number of dimensions must be that of the structure's kind (any for ndim). allocsize is set
 * to the packed size. An ndim structure must be followed by room for the arrays (orr_ndim_ops has it in
 * interface_size). */
ORR_EXPORT void orr_dense_write(void *itf, const struct orr_dense_view *view);

/* Where in the whole it begins; 0 where its kind does not say, for which nothing is set. */
static inline size_t orr_dense_base(const struct orr_dense_kind *k, const void *itf)
{
    return k->base ? orr_dense_member(itf, k->base) : 0;
}
ORR_EXPORT void orr_dense_set_base(void *itf, size_t base);
/* Writes the numbers of elements alone, ndim of them. */
ORR_EXPORT void orr_dense_set_shape(void *itf, const uint64_t *nn);

/* Bytes of the elements. */
ORR_EXPORT size_t orr_dense_bytes(const struct orr_dense_view *view);

/* Sets the leading dimensions to those of an array without gaps. */
ORR_EXPORT void orr_dense_pack(struct orr_dense_view *view);

/* Whether the data of a structure may take the shape of another of the same interface and as many bytes. */
bool orr_dense_may_take(const void *itf, const void *other);

/* Registers data from a filled structure after checking its sizes; *handle_out is NULL when they were refused
 * (and why was said, under the name of function fn). */
void orr_dense_data_register(starpu_data_handle_t *handle_out, int home_node, void *itf,
                             struct starpu_data_interface_ops *ops, const char *fn);

/* Gives h a buffer of the program on a node, with ld[1..] as its layout (NULL: packed as it is). */
void orr_dense_ptr_register(starpu_data_handle_t h, unsigned node, uintptr_t ptr, uintptr_t dev_handle,
                            size_t offset, const size_t *ld, const struct orr_dense_kind *kind,
                            const char *fn);

/* The structure of h on main memory, or (local) on the calling worker's node. When h is no data of that
 * interface, says so and returns a structure of zeros, so that a getter needs no branch of its own. */
const void *orr_interface_get(starpu_data_handle_t h, enum starpu_data_interface_id id, bool local,
                              const char *fn);

/* ---- methods of the tables ---- */

void orr_dense_register_handle(starpu_data_handle_t h, unsigned home_node, void *itf);
starpu_ssize_t orr_dense_allocate(void *itf, unsigned node);
void orr_dense_free(void *itf, unsigned node);
int orr_dense_map(void *from, unsigned from_node, void *to, unsigned to_node);
int orr_dense_unmap(void *from, unsigned from_node, void *to, unsigned to_node);
int orr_dense_update_map(void *from, unsigned from_node, void *to, unsigned to_node);
void orr_dense_cache(void *cached, void *itf, unsigned node);
void orr_dense_reuse(void *itf, const void *cached, unsigned node);
void *orr_dense_to_pointer(void *itf, unsigned node);
int orr_dense_pointer_is_inside(void *itf, unsigned node, void *ptr);
size_t orr_dense_get_size(starpu_data_handle_t h);
size_t orr_dense_get_alloc_size(starpu_data_handle_t h);
starpu_ssize_t orr_dense_get_max_size(starpu_data_handle_t h);
uint32_t orr_dense_footprint(starpu_data_handle_t h);
uint32_t orr_dense_alloc_footprint(starpu_data_handle_t h);
int orr_dense_compare(void *a, void *b);
int orr_dense_alloc_compare(void *a, void *b);
void orr_dense_display(starpu_data_handle_t h, FILE *f);
starpu_ssize_t orr_dense_describe(void *itf, char *buf, size_t size);
int orr_dense_pack_data(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count);
int orr_dense_peek_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count);
int orr_dense_unpack_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count);
int orr_dense_pack_meta(void *itf, void **ptr, starpu_ssize_t *count);
int orr_dense_unpack_meta(void **itf_out, void *ptr, starpu_ssize_t *count);
int orr_dense_free_meta(void *itf);
extern const struct starpu_data_copy_methods orr_dense_copy_methods;

#define ORR_DENSE_METHODS                                                                                    \
    .register_data_handle = orr_dense_register_handle, .allocate_data_on_node = orr_dense_allocate,          \
    .free_data_on_node = orr_dense_free, .cache_data_on_node = orr_dense_cache,                              \
    .reuse_data_on_node = orr_dense_reuse, .map_data = orr_dense_map, .unmap_data = orr_dense_unmap,         \
    .update_map = orr_dense_update_map, .copy_methods = &orr_dense_copy_methods,                             \
    .to_pointer = orr_dense_to_pointer, .pointer_is_inside = orr_dense_pointer_is_inside,                    \
    .get_size = orr_dense_get_size, .get_alloc_size = orr_dense_get_alloc_size,                              \
    .get_max_size = orr_dense_get_max_size, .footprint = orr_dense_footprint,                                \
    .alloc_footprint = orr_dense_alloc_footprint, .compare = orr_dense_compare,                              \
    .alloc_compare = orr_dense_alloc_compare, .display = orr_dense_display, .describe = orr_dense_describe,  \
    .pack_data = orr_dense_pack_data, .peek_data = orr_dense_peek_data,                                      \
    .unpack_data = orr_dense_unpack_data, .pack_meta = orr_dense_pack_meta,                                  \
    .unpack_meta = orr_dense_unpack_meta, .free_meta = orr_dense_free_meta

#endif
