/* SPDX-License-Identifier: BSD-3-Clause */
/* arrays.h: what the interfaces made of several contiguous arrays have in common: sparse matrices (csr, bcsr,
 * coo), and one array in several formats (multiformat).
 * Threads: any. Owns: nothing. Not here: interfaces of one strided array (dense.h).
 *
 * An interface is one struct orr_arrays_kind, one table of methods (ORR_ARRAYS_METHODS), its registration
 * function and its getters. */
#ifndef ORR_DATA_INTERFACES_ARRAYS_H
#define ORR_DATA_INTERFACES_ARRAYS_H

#include <starpu_data_interfaces.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORR_ARRAYS_MAX = 3, ORR_ARRAYS_MAX_SHAPE = 6 };

struct orr_arrays_kind {
    const char *name;              /* for messages */
    char letter;                   /* of descriptions */
    uint16_t addr[ORR_ARRAYS_MAX]; /* offsets of the members that point to the arrays; the first is "the"
                                      pointer */
    uint16_t
        ram[ORR_ARRAYS_MAX]; /* offsets of members that point to the same array in main memory; 0: none */
    uint16_t shared;         /* offset of shares_rows, of which the last array is the row pointers; 0: none */
    /* Writes the numbers that make up the shape; returns how many. */
    unsigned (*shape)(const void *itf, size_t numbers_out[ORR_ARRAYS_MAX_SHAPE]);
    /* Bytes of each array on a node (0: not there); SIZE_MAX when they are too many to count. */
    void (*bytes)(const void *itf, unsigned node, size_t bytes_out[ORR_ARRAYS_MAX]);
};

#define ARRAYS(ID, name, phrase) extern const struct orr_arrays_kind orr_##name##_kind;
#define DENSE(ID, name, phrase)
#define OTHER(ID, name, phrase)
#include "core/data/interfaces/interfaces.def"
#undef DENSE
#undef ARRAYS
#undef OTHER

/* Both SIZE_MAX when the result does not fit. */
size_t orr_bytes_times(size_t a, size_t b);
size_t orr_bytes_plus(size_t a, size_t b);

/* Registers data from a filled structure after checking its sizes; *handle_out is NULL when they were refused
 * (and why was said, under the name of function fn). */
void orr_arrays_data_register(starpu_data_handle_t *handle_out, int home_node, void *itf,
                              struct starpu_data_interface_ops *ops, const char *fn);

/* ---- methods of the tables ---- */

void orr_arrays_register_handle(starpu_data_handle_t h, unsigned home_node, void *itf);
starpu_ssize_t orr_arrays_allocate(void *itf, unsigned node);
void orr_arrays_free(void *itf, unsigned node);
int orr_arrays_map(void *from, unsigned from_node, void *to, unsigned to_node);
int orr_arrays_unmap(void *from, unsigned from_node, void *to, unsigned to_node);
int orr_arrays_update_map(void *from, unsigned from_node, void *to, unsigned to_node);
void *orr_arrays_to_pointer(void *itf, unsigned node);
int orr_arrays_pointer_is_inside(void *itf, unsigned node, void *ptr);
size_t orr_arrays_get_size(starpu_data_handle_t h);
uint32_t orr_arrays_footprint(starpu_data_handle_t h);
int orr_arrays_compare(void *a, void *b);
void orr_arrays_display(starpu_data_handle_t h, FILE *f);
starpu_ssize_t orr_arrays_describe(void *itf, char *buf, size_t size);
int orr_arrays_pack_data(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count);
int orr_arrays_peek_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count);
int orr_arrays_unpack_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count);
extern const struct starpu_data_copy_methods orr_arrays_copy_methods;

#define ORR_ARRAYS_METHODS                                                                                   \
    .register_data_handle = orr_arrays_register_handle, .allocate_data_on_node = orr_arrays_allocate,        \
    .free_data_on_node = orr_arrays_free, .map_data = orr_arrays_map, .unmap_data = orr_arrays_unmap,        \
    .update_map = orr_arrays_update_map, .copy_methods = &orr_arrays_copy_methods,                           \
    .to_pointer = orr_arrays_to_pointer, .pointer_is_inside = orr_arrays_pointer_is_inside,                  \
    .get_size = orr_arrays_get_size, .footprint = orr_arrays_footprint, .compare = orr_arrays_compare,       \
    .display = orr_arrays_display, .describe = orr_arrays_describe, .pack_data = orr_arrays_pack_data,       \
    .peek_data = orr_arrays_peek_data, .unpack_data = orr_arrays_unpack_data

#endif
