/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioning: cutting a piece of data into children that tasks use in its place, by a filter that
 * says where the i-th child lies.
 * Threads: any thread after starpu_init(). starpu_data_partition(), starpu_data_unpartition() and the
 *   functions that map filters wait for tasks, and are refused in a task body or a callback; planning and
 *   submitting never wait. All of them are void: what they refuse (a handle that is not registered, a NULL
 *   filter, a plan in another state, no memory) they say on stderr, and the data stays as it was.
 * Not here: the shapes themselves (starpu_data_interfaces.h).
 *
 * Two ways. *At once*: starpu_data_partition() makes the children, found by number; the parent must
 * not be used until starpu_data_unpartition(). *By plan*: starpu_data_partition_plan() makes children
 * beside the parent, several plans at the same time if wanted; the runtime, or an explicit submit
 * call, switches between parent and children in the order of submission: before tasks, acquisitions, requests
 * of copies, and messages alike, from any thread.
 */
#ifndef STARPU_DATA_FILTERS_H
#define STARPU_DATA_FILTERS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <starpu_config.h>
#include <starpu_data.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct starpu_data_interface_ops;

/* How data is cut. Zeroed except for what is set; borrowed until the call it is given to returns,
 * except for what filter_func needs of it later, when buffers on other nodes appear: filter_arg and
 * filter_arg_ptr are copied. */
struct starpu_data_filter {
    /* Required. Fills the interface structure of child `id` among `nparts` from its parent's, both of
     * the same memory node. Addresses that are NULL in the parent stay NULL. */
    void (*filter_func)(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                        unsigned id, unsigned nparts);
    unsigned nchildren; /* number of children, unless get_nchildren is set */
    /* Optional: number of children for this data. */
    unsigned (*get_nchildren)(struct starpu_data_filter *f, starpu_data_handle_t initial_handle);
    /* Optional: interface of child `id`; default: the parent's. */
    struct starpu_data_interface_ops *(*get_child_ops)(struct starpu_data_filter *f, unsigned id);
    unsigned filter_arg;  /* for filter_func; the meaning is the filter's */
    void *filter_arg_ptr; /* same */
};

/* ---- At once ---- */

/* Waits for the tasks on the data, brings it to main memory and cuts it. The parent must not be used until it
 * is put together again. Blocks. */
void starpu_data_partition(starpu_data_handle_t initial_handle, struct starpu_data_filter *f);

/* Waits for the tasks on all children (and theirs), brings them together in main memory, destroys them: the
 * parent may be used again. Then a copy is asked for on memory node `gathering_node`, and not waited for.
 * Blocks. */
void starpu_data_unpartition(starpu_data_handle_t root_data, unsigned gathering_node);

/* Returns the number of children, 0 when the data is not cut. */
int starpu_data_get_nb_children(starpu_data_handle_t handle);

/* Returns child `i`; NULL, with a message: there is none, or the data is not cut. The handle is the
 * library's. */
starpu_data_handle_t starpu_data_get_child(starpu_data_handle_t handle, unsigned i);

/* Returns a descendant: `depth` child numbers (unsigned) follow, one for each level; NULL as above. */
starpu_data_handle_t starpu_data_get_sub_data(starpu_data_handle_t root_data, unsigned depth, ...);

/* Returns the same, from a va_list. */
starpu_data_handle_t starpu_data_vget_sub_data(starpu_data_handle_t root_data, unsigned depth, va_list pa);

/* Cuts the data by the first of `nfilters` filters (struct starpu_data_filter *) that follow, each
 * child by the second, and so on. Blocks. */
void starpu_data_map_filters(starpu_data_handle_t root_data, unsigned nfilters, ...);

/* Same from a va_list. */
void starpu_data_vmap_filters(starpu_data_handle_t root_data, unsigned nfilters, va_list pa);

/* Same from an array of pointers. */
void starpu_data_map_filters_parray(starpu_data_handle_t root_handle, int nfilters,
                                    struct starpu_data_filter **filters);

/* Same from an array of filters. */
void starpu_data_map_filters_array(starpu_data_handle_t root_handle, int nfilters,
                                   struct starpu_data_filter *filters);

/* ---- By plan. `nparts` is the number of children, `children` the array that planning filled ---- */

/* Makes the children of a plan and fills `children` (room for all of them, the caller's; with NULL on an
 * error). Nothing is cut yet, nothing waits. Children may be planned again. */
void starpu_data_partition_plan(starpu_data_handle_t initial_handle, struct starpu_data_filter *f,
                                starpu_data_handle_t *children);

/* From here in the order of submission the children may be written, the parent not used. */
void starpu_data_partition_submit(starpu_data_handle_t initial_handle, unsigned nparts,
                                  starpu_data_handle_t *children);

/* From here parent and children may only be read; several plans may be active this way. */
void starpu_data_partition_readonly_submit(starpu_data_handle_t initial_handle, unsigned nparts,
                                           starpu_data_handle_t *children);

/* From here the children of a plan that was active for reading may be written. Other plans must have
 * been ended. */
void starpu_data_partition_readwrite_upgrade_submit(starpu_data_handle_t initial_handle, unsigned nparts,
                                                    starpu_data_handle_t *children);

/* From here the children of a plan that was active for writing may only be read, and so may the
 * parent. */
void starpu_data_partition_readonly_downgrade_submit(starpu_data_handle_t initial_handle, unsigned nparts,
                                                     starpu_data_handle_t *children);

/* From here the parent may be used and the children not. The pieces are brought together in main memory, and
 * from there to memory node `gathering_node`, where the parent is before anybody uses it, if there is room.
 * -1: that of starpu_data_set_gathering_node(). */
void starpu_data_unpartition_submit(starpu_data_handle_t initial_handle, unsigned nparts,
                                    starpu_data_handle_t *children, int gathering_node);

/* Same for whatever plan is active, at all levels below. */
void starpu_data_unpartition_submit_r(starpu_data_handle_t initial_handle, int gathering_node);

/* From here parent and children may both be read: the same as
 * starpu_data_partition_readonly_downgrade_submit(), but for `gathering_node`, as above. */
void starpu_data_unpartition_readonly_submit(starpu_data_handle_t initial_handle, unsigned nparts,
                                             starpu_data_handle_t *children, int gathering_node);

/* The next four do as their names say without "sequential_consistency". With 0 the switch waits only for
 * those who use the data now, not for what was submitted before and waits for its turn, or for a dependency:
 * that comes after it, when the data is usable as it needs it again. Like starpu_data_partition_submit(). */
void starpu_data_partition_submit_sequential_consistency(starpu_data_handle_t initial_handle, unsigned nparts,
                                                         starpu_data_handle_t *children,
                                                         int sequential_consistency);

/* Like starpu_data_partition_readonly_submit(). */
void starpu_data_partition_readonly_submit_sequential_consistency(starpu_data_handle_t initial_handle,
                                                                  unsigned nparts,
                                                                  starpu_data_handle_t *children,
                                                                  int sequential_consistency);

/* Like starpu_data_unpartition_submit(). */
void starpu_data_unpartition_submit_sequential_consistency(starpu_data_handle_t initial_handle,
                                                           unsigned nparts, starpu_data_handle_t *children,
                                                           int gathering_node, int sequential_consistency);

/* Same, and calls `callback_func(callback_arg)` when the switch is done, on the thread that ends it; it must
 * not block. NULL: nothing. */
void starpu_data_unpartition_submit_sequential_consistency_cb(starpu_data_handle_t initial_handle,
                                                              unsigned nparts, starpu_data_handle_t *children,
                                                              int gather_node, int sequential_consistency,
                                                              void (*callback_func)(void *),
                                                              void *callback_arg);

/* Destroys the children of a plan once the tasks submitted on them are done; if the plan is active it is
 * first put together in main memory. Refused while a child has plans of its own. Does not wait. Before the
 * parent is unregistered. */
void starpu_data_partition_clean(starpu_data_handle_t root_data, unsigned nparts,
                                 starpu_data_handle_t *children);

/* Same, and gathers it on memory node `gather_node`; -1: that of starpu_data_set_gathering_node(). */
void starpu_data_partition_clean_node(starpu_data_handle_t root_data, unsigned nparts,
                                      starpu_data_handle_t *children, int gather_node);

/* Returns how many plans the data has. */
int starpu_data_partition_get_nplans(starpu_data_handle_t initial_handle);

/* ---- Ready-made filters, for filter_func. Cut evenly: pieces differ by at most one element. A function
 * ..._child_ops is for get_child_ops of the same filter: it returns the interface of its children. A filter
 * that does not go with the data says so, and nothing is cut ---- */

/* Cuts `n` elements evenly for filters: sets *chunk_size to the elements of piece `id` of `nparts`,
 * and *offset (unless NULL) to the bytes before it, where neighbours in the dimension cut are
 * `blocksize` elements of `elemsize` bytes apart. */
void starpu_filter_nparts_compute_chunk_size_and_offset(unsigned n, unsigned nparts, size_t elemsize,
                                                        unsigned id, size_t blocksize, size_t *chunk_size,
                                                        size_t *offset);

/* Vector. _list cuts at the lengths in filter_arg_ptr (uint32_t, or long); divide_in_2 after filter_arg
 * elements; _shadow overlaps neighbours by filter_arg_ptr elements on each side (the number itself, as a
 * pointer); pick gives one element each from filter_arg_ptr on. */
void starpu_vector_filter_block(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                unsigned id, unsigned nparts);
void starpu_vector_filter_block_shadow(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_vector_filter_list(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                               unsigned id, unsigned nparts);
void starpu_vector_filter_list_long(void *parent_interface, void *child_interface,
                                    struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_vector_filter_divide_in_2(void *parent_interface, void *child_interface,
                                      struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_vector_filter_pick_variable(void *parent_interface, void *child_interface,
                                        struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_vector_filter_pick_variable_child_ops(struct starpu_data_filter *f,
                                                                               unsigned child);

/* Matrix. block cuts x, vertical_block y; _shadow overlaps neighbours by filter_arg_ptr elements on
 * each side; pick gives one column (vector of constant y), or one element each, from filter_arg_ptr
 * on. */
void starpu_matrix_filter_block(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                unsigned id, unsigned nparts);
void starpu_matrix_filter_block_shadow(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_matrix_filter_vertical_block(void *parent_interface, void *child_interface,
                                         struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_matrix_filter_vertical_block_shadow(void *parent_interface, void *child_interface,
                                                struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_matrix_filter_pick_vector_y(void *parent_interface, void *child_interface,
                                        struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_matrix_filter_pick_vector_child_ops(struct starpu_data_filter *f,
                                                                             unsigned child);
void starpu_matrix_filter_pick_variable(void *parent_interface, void *child_interface,
                                        struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_matrix_filter_pick_variable_child_ops(struct starpu_data_filter *f,
                                                                               unsigned child);

/* Block. block cuts x, vertical_block y, depth_block z; the rest as for matrices, picking planes of
 * constant z or y. */
void starpu_block_filter_block(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                               unsigned id, unsigned nparts);
void starpu_block_filter_block_shadow(void *parent_interface, void *child_interface,
                                      struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_vertical_block(void *parent_interface, void *child_interface,
                                        struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_vertical_block_shadow(void *parent_interface, void *child_interface,
                                               struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_depth_block(void *parent_interface, void *child_interface,
                                     struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_depth_block_shadow(void *parent_interface, void *child_interface,
                                            struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_pick_matrix_z(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_pick_matrix_y(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_block_filter_pick_matrix_child_ops(struct starpu_data_filter *f,
                                                                            unsigned child);
void starpu_block_filter_pick_variable(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_block_filter_pick_variable_child_ops(struct starpu_data_filter *f,
                                                                              unsigned child);

/* Tensor. block cuts x, vertical_block y, depth_block z, time_block t; the rest as for blocks. */
void starpu_tensor_filter_block(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                unsigned id, unsigned nparts);
void starpu_tensor_filter_block_shadow(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_vertical_block(void *parent_interface, void *child_interface,
                                         struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_vertical_block_shadow(void *parent_interface, void *child_interface,
                                                struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_depth_block(void *parent_interface, void *child_interface,
                                      struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_depth_block_shadow(void *parent_interface, void *child_interface,
                                             struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_time_block(void *parent_interface, void *child_interface,
                                     struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_time_block_shadow(void *parent_interface, void *child_interface,
                                            struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_pick_block_t(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_pick_block_z(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_tensor_filter_pick_block_y(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_tensor_filter_pick_block_child_ops(struct starpu_data_filter *f,
                                                                            unsigned child);
void starpu_tensor_filter_pick_variable(void *parent_interface, void *child_interface,
                                        struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_tensor_filter_pick_variable_child_ops(struct starpu_data_filter *f,
                                                                               unsigned child);

/* N dimensions. block cuts dimension filter_arg; pick_ndim gives arrays of one dimension less,
 * constant in dimension filter_arg; the others the same as the shape of their name. to_ gives the
 * whole array, which must have the right number of dimensions, as another shape (nchildren 1). */
void starpu_ndim_filter_block(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                              unsigned id, unsigned nparts);
void starpu_ndim_filter_block_shadow(void *parent_interface, void *child_interface,
                                     struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_ndim_filter_pick_ndim(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                  unsigned id, unsigned nparts);
void starpu_ndim_filter_5d_pick_tensor(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_pick_tensor_child_ops(struct starpu_data_filter *f,
                                                                           unsigned child);
void starpu_ndim_filter_4d_pick_block(void *parent_interface, void *child_interface,
                                      struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_pick_block_child_ops(struct starpu_data_filter *f,
                                                                          unsigned child);
void starpu_ndim_filter_3d_pick_matrix(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_pick_matrix_child_ops(struct starpu_data_filter *f,
                                                                           unsigned child);
void starpu_ndim_filter_2d_pick_vector(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_pick_vector_child_ops(struct starpu_data_filter *f,
                                                                           unsigned child);
void starpu_ndim_filter_1d_pick_variable(void *parent_interface, void *child_interface,
                                         struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_ndim_filter_pick_variable(void *parent_interface, void *child_interface,
                                      struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_pick_variable_child_ops(struct starpu_data_filter *f,
                                                                             unsigned child);
void starpu_ndim_filter_to_tensor(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                  unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_to_tensor_child_ops(struct starpu_data_filter *f,
                                                                         unsigned child);
void starpu_ndim_filter_to_block(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                 unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_to_block_child_ops(struct starpu_data_filter *f,
                                                                        unsigned child);
void starpu_ndim_filter_to_matrix(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                  unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_to_matrix_child_ops(struct starpu_data_filter *f,
                                                                         unsigned child);
void starpu_ndim_filter_to_vector(void *parent_interface, void *child_interface, struct starpu_data_filter *f,
                                  unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_to_vector_child_ops(struct starpu_data_filter *f,
                                                                         unsigned child);
void starpu_ndim_filter_to_variable(void *parent_interface, void *child_interface,
                                    struct starpu_data_filter *f, unsigned id, unsigned nparts);
struct starpu_data_interface_ops *starpu_ndim_filter_to_variable_child_ops(struct starpu_data_filter *f,
                                                                           unsigned child);

/* Sparse matrices. vertical_block cuts the rows; canonical_block gives each dense block of r * c
 * values as a matrix. */
void starpu_csr_filter_vertical_block(void *parent_interface, void *child_interface,
                                      struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_bcsr_filter_vertical_block(void *parent_interface, void *child_interface,
                                       struct starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_bcsr_filter_canonical_block(void *parent_interface, void *child_interface,
                                        struct starpu_data_filter *f, unsigned id, unsigned nparts);
unsigned starpu_bcsr_filter_canonical_block_get_nchildren(struct starpu_data_filter *f,
                                                          starpu_data_handle_t handle);
struct starpu_data_interface_ops *starpu_bcsr_filter_canonical_block_child_ops(struct starpu_data_filter *f,
                                                                               unsigned child);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

/* StarPU before 1.5 takes `unsigned *chunk_size`: both kinds of pointer are accepted. The library's
 * own definition of the function comes after an #undef. */
static __inline void starpu_filter_nparts_compute_chunk_size_and_offset_unsigned(unsigned n, unsigned nparts,
                                                                                 size_t elemsize, unsigned id,
                                                                                 size_t blocksize,
                                                                                 unsigned *chunk_size,
                                                                                 size_t *offset)
{
    size_t chunk;
    starpu_filter_nparts_compute_chunk_size_and_offset(n, nparts, elemsize, id, blocksize, &chunk, offset);
    *chunk_size = (unsigned)chunk;
}
#ifdef __cplusplus
static __inline void starpu_filter_nparts_compute_chunk_size_and_offset(unsigned n, unsigned nparts,
                                                                        size_t elemsize, unsigned id,
                                                                        size_t blocksize,
                                                                        unsigned *chunk_size, size_t *offset)
{
    starpu_filter_nparts_compute_chunk_size_and_offset_unsigned(n, nparts, elemsize, id, blocksize,
                                                                chunk_size, offset);
}
#else
#define starpu_filter_nparts_compute_chunk_size_and_offset(n, nparts, elemsize, id, blocksize, chunk_size,   \
                                                           offset)                                           \
    _Generic((chunk_size), unsigned *: starpu_filter_nparts_compute_chunk_size_and_offset_unsigned, \
            default: starpu_filter_nparts_compute_chunk_size_and_offset)( \
            n, nparts, elemsize, id, blocksize, chunk_size, offset)
#endif

#endif /* STARPU_DATA_FILTERS_H */
