/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data interfaces: the shapes of data the runtime knows (matrix, vector, ...), how data of each is
 * registered and read inside of a task, and the table with which a program adds a shape of its own.
 * Threads: registration and queries from any thread after starpu_init(), task bodies and callbacks too; none
 *   blocks. The functions of a table are called by any thread of the runtime, several at once for different
 *   data.
 * Not here: what can be done with a handle of any shape (starpu_data.h); cutting it into pieces
 *   (starpu_data_filters.h).
 *
 * Common rules. `home_node` is the memory node of the buffer given (STARPU_MAIN_RAM), or -1: the
 * runtime allocates when the data is first written, and the addresses given are ignored. Sizes and
 * leading dimensions count elements, `elemsize`, `allocsize` and `offset` bytes. nx is the contiguous
 * dimension. The buffer is borrowed until unregistration. A `_get_` function returns what was
 * registered (main memory's view of it, where tasks have changed it), a `_get_local_` one what holds on the
 * calling worker's memory node, or on main memory outside of a task; of a handle that is not registered, or
 * has another interface, 0 or NULL, with a message. A registration that is refused (sizes that cannot be, no
 * such node, no memory) says why and sets the handle to NULL; a `_ptr_register` says why and does nothing.
 * A codelet gets its buffers as pointers to the interface structures and reads them
 * with the macros: `ptr` is an address (offset included), `dev_handle` what the device knows its
 * buffer by (OpenCL: cl_mem), from which the data begins at `offset`.
 */
#ifndef STARPU_DATA_INTERFACES_H
#define STARPU_DATA_INTERFACES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <starpu_config.h>
#include <starpu_data.h>
#include <starpu_worker.h>

#if defined(STARPU_USE_CUDA) && !defined(STARPU_DONT_INCLUDE_CUDA_HEADERS)
#include <cuda_runtime.h>
typedef cudaStream_t starpu_cudaStream_t;
#else
typedef void *starpu_cudaStream_t;
#endif

typedef void *starpu_hipStream_t;

#if defined(STARPU_USE_OPENCL) && !defined(__CUDACC__)
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- The table of an interface ---- */

/* How data moves between two memory nodes. A pair of kinds without a function of its own uses
 * `any_to_any`, which is all that most interfaces need: it calls starpu_interface_copy() and its kin
 * for each contiguous part. A synchronous function returns 0 when the copy is done. An asynchronous
 * one returns 0 when it is done, or -EAGAIN when it goes on behind the stream or event given. */
struct starpu_data_copy_methods {
    /* Optional: whether the copy can be made by the driver of `handling_node`. */
    int (*can_copy)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                    unsigned handling_node);
    /* `async_data` is NULL for a synchronous copy, otherwise passed on to starpu_interface_copy().
     * Returns 0 or -EAGAIN. Without it, and without the method for two kinds below, data go to a store
     * (starpu_disk_register()) by pack_data, into the object that to_pointer answers there, which must have
     * room for that, and come back by unpack_data or peek_data; starpu_data_cpy() does likewise. */
    int (*any_to_any)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                      void *async_data);

    /* For pairs of kinds, called rather than any_to_any; beside a device those that are not _async only where
     * any_to_any is NULL, or copies are made in the foreground (starpu_asynchronous_copy_disabled()). Any
     * thread calls them, and any_to_any; where a device is at one end, starpu_worker_get_id() answers a
     * worker of it (the destination's if both are). An _async one starts its copies in the stream, or leaves
     * an event there, and returns -EAGAIN. Simulated devices have neither streams nor events. */
    int (*ram_to_ram)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*ram_to_cuda)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*ram_to_hip)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*ram_to_opencl)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*ram_to_max_fpga)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*cuda_to_ram)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*cuda_to_cuda)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*cuda_to_opencl)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*hip_to_ram)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*hip_to_hip)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*opencl_to_ram)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*opencl_to_cuda)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*opencl_to_opencl)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*max_fpga_to_ram)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);

    int (*ram_to_cuda_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                             starpu_cudaStream_t stream);
    int (*cuda_to_ram_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                             starpu_cudaStream_t stream);
    int (*cuda_to_cuda_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                              starpu_cudaStream_t stream);
    int (*ram_to_hip_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                            starpu_hipStream_t stream);
    int (*hip_to_ram_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                            starpu_hipStream_t stream);
    int (*hip_to_hip_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                            starpu_hipStream_t stream);
#if defined(STARPU_USE_OPENCL) && !defined(__CUDACC__)
    int (*ram_to_opencl_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                               cl_event *event);
    int (*opencl_to_ram_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                               cl_event *event);
    int (*opencl_to_opencl_async)(void *src_interface, unsigned src_node, void *dst_interface,
                                  unsigned dst_node, cl_event *event);
#else
    int (*ram_to_opencl_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                               void *event);
    int (*opencl_to_ram_async)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node,
                               void *event);
    int (*opencl_to_opencl_async)(void *src_interface, unsigned src_node, void *dst_interface,
                                  unsigned dst_node, void *event);
#endif
    int (*ram_to_max_fpga_async)(void *src_interface, unsigned src_node, void *dst_interface,
                                 unsigned dst_node);
    int (*max_fpga_to_ram_async)(void *src_interface, unsigned src_node, void *dst_interface,
                                 unsigned dst_node);
};

/* Which interface data has. Those of programs are numbered from STARPU_MAX_INTERFACE_ID on. */
enum starpu_data_interface_id {
    STARPU_UNKNOWN_INTERFACE_ID = -1,
    STARPU_MATRIX_INTERFACE_ID = 0,
    STARPU_BLOCK_INTERFACE_ID = 1,
    STARPU_VECTOR_INTERFACE_ID = 2,
    STARPU_CSR_INTERFACE_ID = 3,
    STARPU_BCSR_INTERFACE_ID = 4,
    STARPU_VARIABLE_INTERFACE_ID = 5,
    STARPU_VOID_INTERFACE_ID = 6,
    STARPU_MULTIFORMAT_INTERFACE_ID = 7,
    STARPU_COO_INTERFACE_ID = 8,
    STARPU_TENSOR_INTERFACE_ID = 9,
    STARPU_NDIM_INTERFACE_ID = 10,
    STARPU_MAX_INTERFACE_ID = 11
};

struct starpu_multiformat_data_interface_ops;

/* An interface. `data_interface` points to one structure of `interface_size` bytes; every handle has
 * one for each memory node. No function may wait for a task or submit one. Must stay valid as long as
 * data with it is registered: none is called after that. */
struct starpu_data_interface_ops {
    /* -- Required -- */
    /* Fills the structure of every memory node from the one given to starpu_data_register(); only
     * `home_node`'s (if any) gets its addresses, the others NULL. */
    void (*register_data_handle)(starpu_data_handle_t handle, unsigned home_node, void *data_interface);
    /* Allocates a buffer on `node` and sets its addresses. Returns its size in bytes, or -ENOMEM with
     * nothing allocated. */
    starpu_ssize_t (*allocate_data_on_node)(void *data_interface, unsigned node);
    /* Frees that buffer. The addresses may be left as they are. */
    void (*free_data_on_node)(void *data_interface, unsigned node);
    const struct starpu_data_copy_methods *copy_methods;
    /* Size of the data in bytes: what a transfer moves, and what models count. */
    size_t (*get_size)(starpu_data_handle_t handle);
    /* Hash of the shape (not of the values) for performance models. */
    uint32_t (*footprint)(starpu_data_handle_t handle);
    /* Whether two structures have the same shape. */
    int (*compare)(void *data_interface_a, void *data_interface_b);
    enum starpu_data_interface_id
        interfaceid;       /* STARPU_UNKNOWN_INTERFACE_ID: given at the first registration */
    size_t interface_size; /* bytes of the structure */

    /* -- Optional -- */
    char *name; /* of the interface, for messages */
    /* Frees what register_data_handle allocated inside of the structures. */
    void (*unregister_data_handle)(starpu_data_handle_t handle);
    /* Sets up a structure before anything else is stored in it: of every memory node before
     * register_data_handle is called, and of a piece before its filter's function. */
    void (*init)(void *data_interface);
    /* With reuse_data_on_node, and dontcache 0, a buffer that data gave back is kept for other data with this
     * table: cache_data_on_node moves the addresses into `cached_interface`, which is a byte copy of the
     * structure already (all that is done if it is NULL); reuse_data_on_node, called instead of
     * allocate_data_on_node, moves them into a structure of equal alloc_footprint for which alloc_compare
     * holds. A buffer that is not taken is freed by free_data_on_node of the cached structure: when there is
     * no memory on its node otherwise, before anything is evicted; when more than 64 are kept there, half of
     * a device's memory, or ORRERY_RECYCLE_MEM; by starpu_memchunk_tidy() and starpu_shutdown(); and at the
     * latest by the end of the last data with this table. Until then it counts as in use. Cached structures
     * outlive their handle: methods that get one must not follow what unregister_data_handle frees. Any
     * starpu_malloc_on_node() may free one: hold no lock there that free_data_on_node takes, but in
     * allocate_data_on_node. Main
     * memory is not kept with ORRERY_RECYCLE_MEM=0 or a limit, stores' never; memory of the interfaces below
     * is kept by starpu_free_on_node() itself. */
    void (*cache_data_on_node)(void *cached_interface, void *src_data_interface, unsigned node);
    void (*reuse_data_on_node)(void *dst_data_interface, const void *cached_interface, unsigned node);
    /* Maps the source's memory into `dst_node`, undoes it, makes writes on one side visible on the other.
     * Returns 0, or a negative errno where it cannot be mapped. */
    int (*map_data)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*unmap_data)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    int (*update_map)(void *src_interface, unsigned src_node, void *dst_interface, unsigned dst_node);
    /* Address of the data on `node`. to_pointer is the one to give; handle_to_pointer is its older
     * spelling. */
    void *(*handle_to_pointer)(starpu_data_handle_t handle, unsigned node);
    void *(*to_pointer)(void *data_interface, unsigned node);
    /* Whether `ptr` lies in the data on `node`. */
    int (*pointer_is_inside)(void *data_interface, unsigned node, void *ptr);
    size_t (*get_alloc_size)(starpu_data_handle_t handle); /* bytes of the buffer; get_size() if NULL */
    starpu_ssize_t (*get_max_size)(
        starpu_data_handle_t handle); /* most bytes it may grow to; not known if NULL */
    /* Hash of the buffer's shape, asked at registration; footprint() if NULL. */
    uint32_t (*alloc_footprint)(starpu_data_handle_t handle);
    /* Whether the first, a cached structure, has a buffer as the second needs it; compare() if NULL. */
    int (*alloc_compare)(void *data_interface_a, void *data_interface_b);
    void (*display)(starpu_data_handle_t handle, FILE *f); /* prints the shape on one line */
    /* Writes the shape into `buf` of `size` bytes, as snprintf() does, and returns its length. */
    starpu_ssize_t (*describe)(void *data_interface, char *buf, size_t size);
    char is_multiformat; /* has get_mf_ops: copies go to a device in the CPU's layout, and back in its own */
    char dontcache;      /* freed buffers must not be kept for other data */
    struct starpu_multiformat_data_interface_ops *(*get_mf_ops)(void *data_interface);
    /* Packs the data on `node` for a message: with `ptr` NULL only sets `count` to the bytes it takes
     * (or -1 if it is not known); otherwise allocates *ptr with starpu_malloc_on_node_flags(node,
     * *count, 0) and fills it. Returns 0. */
    int (*pack_data)(starpu_data_handle_t handle, unsigned node, void **ptr, starpu_ssize_t *count);
    /* Sets the data on `node` from `count` packed bytes, leaving `ptr` to the caller. Returns 0. */
    int (*peek_data)(starpu_data_handle_t handle, unsigned node, void *ptr, size_t count);
    /* Same, and frees `ptr` with starpu_free_on_node_flags(). Returns 0. */
    int (*unpack_data)(starpu_data_handle_t handle, unsigned node, void *ptr, size_t count);
    /* Packs the shape itself, rebuilds it (allocating *data_interface), frees what the rebuilding
     * allocated. Return 0. Not called: they tell shapes to processes that register nothing themselves
     * (StarPU's master-slave drivers), of which there are none here. */
    int (*pack_meta)(void *data_interface, void **ptr, starpu_ssize_t *count);
    int (*unpack_meta)(void **data_interface, void *ptr, starpu_ssize_t *count);
    int (*free_meta)(void *data_interface);
};

/* Returns an interface number that no other interface has. */
int starpu_data_interface_get_next_id(void);

/* Gives an interface whose interfaceid is STARPU_UNKNOWN_INTERFACE_ID a number that no other has. */
void starpu_data_register_ops(struct starpu_data_interface_ops *ops);

/* ---- Data of any interface ---- */

/* Registers data with the interface `ops`. `data_interface` is a filled structure of it (copied).
 * Sets *handleptr; to NULL, with a message: an argument is NULL, there is no such node, or no memory. `ops`
 * is borrowed as long as such data exists. */
void starpu_data_register(starpu_data_handle_t *handleptr, int home_node, void *data_interface,
                          struct starpu_data_interface_ops *ops);

/* Says that the memory of `node` has got a buffer of the program for the data; called by the typed
 * functions after they set its addresses. */
void starpu_data_ptr_register(starpu_data_handle_t handle, unsigned node);

/* Same for a piece of data that is cut; other data is refused with a message. */
void starpu_subdata_ptr_register(starpu_data_handle_t handle, unsigned node);

/* Registers new data with the shape of `handlesrc`, without home. Nothing of its value is copied. Sets
 * *handledst; to NULL on an error, which is said. */
void starpu_data_register_same(starpu_data_handle_t *handledst, starpu_data_handle_t handlesrc);

/* Returns the address of the data on `node`, NULL if it has none there. Valid while the data is acquired
 * there, or used by the task that asks. */
void *starpu_data_handle_to_pointer(starpu_data_handle_t handle, unsigned node);

/* Returns the same, and keeps the buffer there from being evicted until
 * starpu_data_handle_to_pointer_unref(). */
void *starpu_data_handle_to_pointer_ref(starpu_data_handle_t handle, unsigned node);

/* Ends what starpu_data_handle_to_pointer_ref() began; what nobody began: a message. */
void starpu_data_handle_to_pointer_unref(starpu_data_handle_t handle, unsigned node);

/* Returns 1 if `ptr` lies in the data's buffer on `node`, 0 if not; -1: its interface cannot tell. */
int starpu_data_pointer_is_inside(starpu_data_handle_t handle, unsigned node, void *ptr);

/* Returns the address of the data in main memory. Only valid while the data is acquired. */
void *starpu_data_get_local_ptr(starpu_data_handle_t handle);

/* Returns the data's interface structure of `memory_node`, which is the library's; NULL: there is no such
 * node. */
void *starpu_data_get_interface_on_node(starpu_data_handle_t handle, unsigned memory_node);

/* Returns which interface the data has; STARPU_UNKNOWN_INTERFACE_ID: the handle is not registered. */
enum starpu_data_interface_id starpu_data_get_interface_id(starpu_data_handle_t handle);

/* Returns the bytes of the data; 0: the handle is not registered. */
size_t starpu_data_get_size(starpu_data_handle_t handle);

/* Returns the bytes of the data's buffer; those of the data, if its interface does not say. */
size_t starpu_data_get_alloc_size(starpu_data_handle_t handle);

/* Returns the most bytes that the data may take; -1: its interface does not say. */
starpu_ssize_t starpu_data_get_max_size(starpu_data_handle_t handle);

/* Returns the memory node of the program's buffer; -1: there is none, or the handle is not registered. */
int starpu_data_get_home_node(starpu_data_handle_t handle);

/* Returns the data whose main-memory buffer begins at `ptr`, NULL if there is none. */
starpu_data_handle_t starpu_data_lookup(const void *ptr);

/* Prints the shape of the data as it is on `node`, on one line. */
void starpu_data_print(starpu_data_handle_t handle, unsigned node, FILE *stream);

/* Packs the data on `node`, which the caller has acquired there, into a buffer of *count bytes; with `ptr`
 * NULL only sets `count`. The caller frees *ptr with starpu_free_on_node_flags(node, ptr, count, 0). Returns
 * 0; -EINVAL: the handle is not registered, or its interface cannot; else what that returns (-ENOMEM). */
int starpu_data_pack_node(starpu_data_handle_t handle, unsigned node, void **ptr, starpu_ssize_t *count);

/* Same in main memory. Returns the same. */
int starpu_data_pack(starpu_data_handle_t handle, void **ptr, starpu_ssize_t *count);

/* Sets the data on `node`, which the caller has acquired there for writing, from `count` packed bytes. `ptr`
 * remains the caller's. Returns 0; -EINVAL: the handle is not registered, or its interface cannot, or `count`
 * does not fit. */
int starpu_data_peek_node(starpu_data_handle_t handle, unsigned node, void *ptr, size_t count);

/* Same in main memory. Returns the same. */
int starpu_data_peek(starpu_data_handle_t handle, void *ptr, size_t count);

/* Same as starpu_data_peek_node(), and frees `ptr`, as the data's interface does it (those here: also after
 * an error). Returns the same. */
int starpu_data_unpack_node(starpu_data_handle_t handle, unsigned node, void *ptr, size_t count);

/* Same in main memory. Returns the same. */
int starpu_data_unpack(starpu_data_handle_t handle, void *ptr, size_t count);

/* ---- What a table is built from ---- */

/* Copies `size` bytes between two buffers of any two memory nodes. The addresses are dev_handles.
 * Returns 0 when done, -EAGAIN when it goes on behind `async_data` (NULL: it never does), or why it failed:
 * -EINVAL: there is no such node; -ENOMEM; a device's error. So do the next. */
int starpu_interface_copy(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                          size_t dst_offset, unsigned dst_node, size_t size, void *async_data);

/* Same for `numblocks` blocks of `blocksize` bytes, `ld_` bytes apart. */
int starpu_interface_copy2d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t blocksize, size_t numblocks,
                            size_t ld_src, size_t ld_dst, void *async_data);

/* Same with a second level of blocks. */
int starpu_interface_copy3d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t blocksize, size_t numblocks1,
                            size_t ld1_src, size_t ld1_dst, size_t numblocks2, size_t ld2_src, size_t ld2_dst,
                            void *async_data);

/* Same with a third level of blocks. */
int starpu_interface_copy4d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t blocksize, size_t numblocks1,
                            size_t ld1_src, size_t ld1_dst, size_t numblocks2, size_t ld2_src, size_t ld2_dst,
                            size_t numblocks3, size_t ld3_src, size_t ld3_dst, void *async_data);

/* Same for an array of `ndim` dimensions: nn elements in each, ldn elements between neighbours of
 * each. */
int starpu_interface_copynd(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                            size_t dst_offset, unsigned dst_node, size_t elemsize, size_t ndim, size_t *nn,
                            size_t *ldn_src, size_t *ldn_dst, void *async_data);

/* Notes that an interface's own driver copy begins; *start is for the end. */
void starpu_interface_start_driver_copy_async(unsigned src_node, unsigned dst_node, double *start);

/* Notes that it was submitted: in a verbose run one that took long is told. */
void starpu_interface_end_driver_copy_async(unsigned src_node, unsigned dst_node, double start);

/* Same as starpu_interface_start_driver_copy_async(), places named by device. */
void starpu_interface_start_driver_copy_async_devid(int src_dev, enum starpu_node_kind src_kind, int dst_dev,
                                                    enum starpu_node_kind dst_kind, double *start);

/* Same as starpu_interface_end_driver_copy_async(), places named by device. */
void starpu_interface_end_driver_copy_async_devid(int src_dev, enum starpu_node_kind src_kind, int dst_dev,
                                                  enum starpu_node_kind dst_kind, double start);

/* Notes `size` bytes moved by an interface's own copy, for traces and statistics. */
void starpu_interface_data_copy(unsigned src_node, unsigned dst_node, size_t size);

/* Checks that `size` bytes at `addr` are memory of `node`, for interfaces under test. Says so where it can
 * tell that they are not: no such node; main memory that is not there. */
void starpu_check_on_node(unsigned node, uintptr_t addr, size_t size);

/* For map methods: has `dst_node` use `size` bytes of main memory `src_node` in place, and returns their
 * address there, until starpu_interface_unmap(). *ret: 0, or with address 0: -ENOSYS (not enabled, or no such
 * device), -EIO (not these bytes). */
uintptr_t starpu_interface_map(uintptr_t src, size_t src_offset, unsigned src_node, unsigned dst_node,
                               size_t size, int *ret);

/* Undoes starpu_interface_map(), with the same arguments and the address it returned. Returns 0, or -ENOSYS.
 */
int starpu_interface_unmap(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                           unsigned dst_node, size_t size);

/* Has what was written on one side seen on the other: one is main memory, the other where it was mapped.
 * Returns 0, -EIO, or -ENOSYS. */
int starpu_interface_update_map(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                                size_t dst_offset, unsigned dst_node, size_t size);

/* Allocates `size` bytes on `dst_node`; `flags` as for starpu_malloc_flags(). Returns a dev_handle;
 * 0: there is no memory, or (with a message) no such node. With STARPU_MEMORY_WAIT it waits for room. */
uintptr_t starpu_malloc_on_node_flags(unsigned dst_node, size_t size, int flags);

/* Returns the same, with the node's default flags. */
uintptr_t starpu_malloc_on_node(unsigned dst_node, size_t size);

/* Frees what starpu_malloc_on_node_flags() returned; size and flags must be the same. 0 is nothing. */
void starpu_free_on_node_flags(unsigned dst_node, uintptr_t addr, size_t size, int flags);

/* Frees what starpu_malloc_on_node() returned. */
void starpu_free_on_node(unsigned dst_node, uintptr_t addr, size_t size);

/* Sets the default flags of `node` (STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT at first). At any time, but
 * not between allocating and freeing a buffer with the others. */
void starpu_malloc_on_node_set_default_flags(unsigned node, int flags);

/* ---- The interfaces that the library has. Of each of them:
 *
 * _data_register() registers a buffer of the program's on `home_node` (mostly STARPU_MAIN_RAM), borrowed
 * until the data is unregistered; -1: there is none, and the runtime allocates one when the data is first
 * written. Sets *handle; to NULL, with a message: sizes that cannot be, no such node, no memory.
 *
 * _ptr_register() gives the data a buffer of the program's on a node, before it is first used there;
 * `dev_handle` is what copies to that node take (the address, where memory has one), `offset` is added to it.
 * Another interface, or no such node: a message, and nothing is registered.
 *
 * _get_ functions return what the data was registered with; those with _local_ of the copy on the memory node
 * of the calling worker, in main memory for other threads: while the data is acquired there, or used by the
 * running task. 0 (NULL), with a message: the handle is not registered, or has another interface. ---- */

/* ---- Variable: some bytes ---- */

extern struct starpu_data_interface_ops starpu_interface_variable_ops;

struct starpu_variable_interface {
    enum starpu_data_interface_id id;
    uintptr_t ptr;
    uintptr_t dev_handle;
    size_t offset;
    size_t elemsize;
};

/* Registers `size` bytes at `ptr`. */
void starpu_variable_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t size);

/* Gives the data a buffer of the program on `node`. */
void starpu_variable_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                  uintptr_t dev_handle, size_t offset);

/* Bytes of the variable. */
size_t starpu_variable_get_elemsize(starpu_data_handle_t handle);

/* Its address here. */
uintptr_t starpu_variable_get_local_ptr(starpu_data_handle_t handle);

#define STARPU_VARIABLE_CHECK(interface)                                                                     \
    STARPU_ASSERT_MSG(((struct starpu_variable_interface *)(interface))->id == STARPU_VARIABLE_INTERFACE_ID, \
                      "this buffer is not a variable")
#define STARPU_VARIABLE_GET_PTR(interface) (((struct starpu_variable_interface *)(interface))->ptr)
#define STARPU_VARIABLE_GET_DEV_HANDLE(interface)                                                            \
    (((struct starpu_variable_interface *)(interface))->dev_handle)
#define STARPU_VARIABLE_GET_OFFSET(interface) (((struct starpu_variable_interface *)(interface))->offset)
#define STARPU_VARIABLE_GET_ELEMSIZE(interface) (((struct starpu_variable_interface *)(interface))->elemsize)

/* ---- Vector: nx elements ---- */

extern struct starpu_data_interface_ops starpu_interface_vector_ops;

struct starpu_vector_interface {
    enum starpu_data_interface_id id;
    uintptr_t ptr;
    uintptr_t dev_handle;
    size_t offset;
    size_t nx;
    size_t elemsize;
    size_t slice_base; /* of a piece: index in its parent's parent-most vector of its first element */
    size_t allocsize;  /* bytes of the buffer, at least nx * elemsize */
};

/* Registers `nx` contiguous elements at `ptr`. */
void starpu_vector_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t nx,
                                 size_t elemsize);

/* Same with a buffer of `allocsize` bytes, so that nx may change later. */
void starpu_vector_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr,
                                           size_t nx, size_t elemsize, size_t allocsize);

/* Gives the data a buffer of the program on `node`. */
void starpu_vector_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                uintptr_t dev_handle, size_t offset);

/* Elements. */
size_t starpu_vector_get_nx(starpu_data_handle_t handle);

/* Bytes of an element. */
size_t starpu_vector_get_elemsize(starpu_data_handle_t handle);

/* Bytes of the buffer. */
size_t starpu_vector_get_allocsize(starpu_data_handle_t handle);

/* Its address here. */
uintptr_t starpu_vector_get_local_ptr(starpu_data_handle_t handle);

#define STARPU_VECTOR_CHECK(interface)                                                                       \
    STARPU_ASSERT_MSG(((struct starpu_vector_interface *)(interface))->id == STARPU_VECTOR_INTERFACE_ID,     \
                      "this buffer is not a vector")
#define STARPU_VECTOR_GET_PTR(interface) (((struct starpu_vector_interface *)(interface))->ptr)
#define STARPU_VECTOR_GET_DEV_HANDLE(interface) (((struct starpu_vector_interface *)(interface))->dev_handle)
#define STARPU_VECTOR_GET_OFFSET(interface) (((struct starpu_vector_interface *)(interface))->offset)
#define STARPU_VECTOR_GET_NX(interface) (((struct starpu_vector_interface *)(interface))->nx)
#define STARPU_VECTOR_GET_ELEMSIZE(interface) (((struct starpu_vector_interface *)(interface))->elemsize)
#define STARPU_VECTOR_GET_ALLOCSIZE(interface) (((struct starpu_vector_interface *)(interface))->allocsize)
#define STARPU_VECTOR_GET_SLICE_BASE(interface) (((struct starpu_vector_interface *)(interface))->slice_base)

/* From a task that writes the vector: sets its length, within allocsize. */
#define STARPU_VECTOR_SET_NX(interface, newnx)                                                               \
    ((void)(((struct starpu_vector_interface *)(interface))->nx = (newnx)))

/* ---- Matrix: element (x, y) is at index x + y * ld ---- */

extern struct starpu_data_interface_ops starpu_interface_matrix_ops;

struct starpu_matrix_interface {
    enum starpu_data_interface_id id;
    uintptr_t ptr;
    uintptr_t dev_handle;
    size_t offset;
    size_t nx;
    size_t ny;
    size_t ld;
    size_t elemsize;
    size_t allocsize; /* bytes of a buffer of the runtime's own, at least nx * ny * elemsize */
};

/* Registers `ny` columns of `nx` contiguous elements, `ld` elements apart. */
void starpu_matrix_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t ld,
                                 size_t nx, size_t ny, size_t elemsize);

/* Same with buffers of `allocsize` bytes, so that nx and ny may change later. */
void starpu_matrix_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr,
                                           size_t ld, size_t nx, size_t ny, size_t elemsize,
                                           size_t allocsize);

/* Gives the data a buffer of the program on `node`. */
void starpu_matrix_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                uintptr_t dev_handle, size_t offset, size_t ld);

/* Same for a piece of a partitioned matrix. */
void starpu_submatrix_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                   uintptr_t dev_handle, size_t offset, size_t ld);

/* Elements of the contiguous dimension. */
size_t starpu_matrix_get_nx(starpu_data_handle_t handle);

/* Elements of the other one. */
size_t starpu_matrix_get_ny(starpu_data_handle_t handle);

/* Leading dimension here. */
size_t starpu_matrix_get_local_ld(starpu_data_handle_t handle);

/* Its address here. */
uintptr_t starpu_matrix_get_local_ptr(starpu_data_handle_t handle);

/* Bytes of an element. */
size_t starpu_matrix_get_elemsize(starpu_data_handle_t handle);

/* Bytes of the buffer. */
size_t starpu_matrix_get_allocsize(starpu_data_handle_t handle);

#define STARPU_MATRIX_CHECK(interface)                                                                       \
    STARPU_ASSERT_MSG(((struct starpu_matrix_interface *)(interface))->id == STARPU_MATRIX_INTERFACE_ID,     \
                      "this buffer is not a matrix")
#define STARPU_MATRIX_GET_PTR(interface) (((struct starpu_matrix_interface *)(interface))->ptr)
#define STARPU_MATRIX_GET_DEV_HANDLE(interface) (((struct starpu_matrix_interface *)(interface))->dev_handle)
#define STARPU_MATRIX_GET_OFFSET(interface) (((struct starpu_matrix_interface *)(interface))->offset)
#define STARPU_MATRIX_GET_NX(interface) (((struct starpu_matrix_interface *)(interface))->nx)
#define STARPU_MATRIX_GET_NY(interface) (((struct starpu_matrix_interface *)(interface))->ny)
#define STARPU_MATRIX_GET_LD(interface) (((struct starpu_matrix_interface *)(interface))->ld)
#define STARPU_MATRIX_GET_ELEMSIZE(interface) (((struct starpu_matrix_interface *)(interface))->elemsize)
#define STARPU_MATRIX_GET_ALLOCSIZE(interface) (((struct starpu_matrix_interface *)(interface))->allocsize)

/* From a task that writes the matrix: set its shape, within allocsize. */
#define STARPU_MATRIX_SET_NX(interface, newnx)                                                               \
    ((void)(((struct starpu_matrix_interface *)(interface))->nx = (newnx)))
#define STARPU_MATRIX_SET_NY(interface, newny)                                                               \
    ((void)(((struct starpu_matrix_interface *)(interface))->ny = (newny)))
#define STARPU_MATRIX_SET_LD(interface, newld)                                                               \
    ((void)(((struct starpu_matrix_interface *)(interface))->ld = (newld)))

/* ---- Block: element (x, y, z) is at index x + y * ldy + z * ldz ---- */

extern struct starpu_data_interface_ops starpu_interface_block_ops;

struct starpu_block_interface {
    enum starpu_data_interface_id id;
    uintptr_t ptr;
    uintptr_t dev_handle;
    size_t offset;
    size_t nx;
    size_t ny;
    size_t nz;
    size_t ldy;
    size_t ldz;
    size_t elemsize;
};

/* Registers a block of nx * ny * nz elements. */
void starpu_block_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t ldy,
                                size_t ldz, size_t nx, size_t ny, size_t nz, size_t elemsize);

/* Gives the data a buffer of the program on `node`. */
void starpu_block_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                               uintptr_t dev_handle, size_t offset, size_t ldy, size_t ldz);

/* Elements of each dimension. */
size_t starpu_block_get_nx(starpu_data_handle_t handle);
size_t starpu_block_get_ny(starpu_data_handle_t handle);
size_t starpu_block_get_nz(starpu_data_handle_t handle);

/* Leading dimensions here. */
size_t starpu_block_get_local_ldy(starpu_data_handle_t handle);
size_t starpu_block_get_local_ldz(starpu_data_handle_t handle);

/* Its address here. */
uintptr_t starpu_block_get_local_ptr(starpu_data_handle_t handle);

/* Bytes of an element. */
size_t starpu_block_get_elemsize(starpu_data_handle_t handle);

#define STARPU_BLOCK_CHECK(interface)                                                                        \
    STARPU_ASSERT_MSG(((struct starpu_block_interface *)(interface))->id == STARPU_BLOCK_INTERFACE_ID,       \
                      "this buffer is not a block")
#define STARPU_BLOCK_GET_PTR(interface) (((struct starpu_block_interface *)(interface))->ptr)
#define STARPU_BLOCK_GET_DEV_HANDLE(interface) (((struct starpu_block_interface *)(interface))->dev_handle)
#define STARPU_BLOCK_GET_OFFSET(interface) (((struct starpu_block_interface *)(interface))->offset)
#define STARPU_BLOCK_GET_NX(interface) (((struct starpu_block_interface *)(interface))->nx)
#define STARPU_BLOCK_GET_NY(interface) (((struct starpu_block_interface *)(interface))->ny)
#define STARPU_BLOCK_GET_NZ(interface) (((struct starpu_block_interface *)(interface))->nz)
#define STARPU_BLOCK_GET_LDY(interface) (((struct starpu_block_interface *)(interface))->ldy)
#define STARPU_BLOCK_GET_LDZ(interface) (((struct starpu_block_interface *)(interface))->ldz)
#define STARPU_BLOCK_GET_ELEMSIZE(interface) (((struct starpu_block_interface *)(interface))->elemsize)

/* ---- Tensor: element (x, y, z, t) is at index x + y * ldy + z * ldz + t * ldt ---- */

extern struct starpu_data_interface_ops starpu_interface_tensor_ops;

struct starpu_tensor_interface {
    enum starpu_data_interface_id id;
    uintptr_t ptr;
    uintptr_t dev_handle;
    size_t offset;
    size_t nx;
    size_t ny;
    size_t nz;
    size_t nt;
    size_t ldy;
    size_t ldz;
    size_t ldt;
    size_t elemsize;
};

/* Registers a tensor of nx * ny * nz * nt elements. */
void starpu_tensor_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t ldy,
                                 size_t ldz, size_t ldt, size_t nx, size_t ny, size_t nz, size_t nt,
                                 size_t elemsize);

/* Gives the data a buffer of the program on `node`. */
void starpu_tensor_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr,
                                uintptr_t dev_handle, size_t offset, size_t ldy, size_t ldz, size_t ldt);

/* Elements of each dimension. */
size_t starpu_tensor_get_nx(starpu_data_handle_t handle);
size_t starpu_tensor_get_ny(starpu_data_handle_t handle);
size_t starpu_tensor_get_nz(starpu_data_handle_t handle);
size_t starpu_tensor_get_nt(starpu_data_handle_t handle);

/* Leading dimensions here. */
size_t starpu_tensor_get_local_ldy(starpu_data_handle_t handle);
size_t starpu_tensor_get_local_ldz(starpu_data_handle_t handle);
size_t starpu_tensor_get_local_ldt(starpu_data_handle_t handle);

/* Its address here. */
uintptr_t starpu_tensor_get_local_ptr(starpu_data_handle_t handle);

/* Bytes of an element. */
size_t starpu_tensor_get_elemsize(starpu_data_handle_t handle);

#define STARPU_TENSOR_CHECK(interface)                                                                       \
    STARPU_ASSERT_MSG(((struct starpu_tensor_interface *)(interface))->id == STARPU_TENSOR_INTERFACE_ID,     \
                      "this buffer is not a tensor")
#define STARPU_TENSOR_GET_PTR(interface) (((struct starpu_tensor_interface *)(interface))->ptr)
#define STARPU_TENSOR_GET_DEV_HANDLE(interface) (((struct starpu_tensor_interface *)(interface))->dev_handle)
#define STARPU_TENSOR_GET_OFFSET(interface) (((struct starpu_tensor_interface *)(interface))->offset)
#define STARPU_TENSOR_GET_NX(interface) (((struct starpu_tensor_interface *)(interface))->nx)
#define STARPU_TENSOR_GET_NY(interface) (((struct starpu_tensor_interface *)(interface))->ny)
#define STARPU_TENSOR_GET_NZ(interface) (((struct starpu_tensor_interface *)(interface))->nz)
#define STARPU_TENSOR_GET_NT(interface) (((struct starpu_tensor_interface *)(interface))->nt)
#define STARPU_TENSOR_GET_LDY(interface) (((struct starpu_tensor_interface *)(interface))->ldy)
#define STARPU_TENSOR_GET_LDZ(interface) (((struct starpu_tensor_interface *)(interface))->ldz)
#define STARPU_TENSOR_GET_LDT(interface) (((struct starpu_tensor_interface *)(interface))->ldt)
#define STARPU_TENSOR_GET_ELEMSIZE(interface) (((struct starpu_tensor_interface *)(interface))->elemsize)

/* ---- N dimensions: element (i0, i1, ...) is at index i0 * ldn[0] + i1 * ldn[1] + ..., with ldn[0] =
 * 1 ---- */

extern struct starpu_data_interface_ops starpu_interface_ndim_ops;

struct starpu_ndim_interface {
    enum starpu_data_interface_id id;
    uintptr_t ptr;
    uintptr_t dev_handle;
    size_t offset;
    size_t allocsize; /* bytes of a buffer of the runtime's own */
    size_t *nn;       /* elements of each dimension */
    size_t *ldn;      /* elements between neighbours of each dimension */
    size_t ndim;
    size_t elemsize;
};

/* Registers an array of `ndim` dimensions. `ldn` and `nn` are copied. With ndim 0 it is one element. */
void starpu_ndim_data_register(starpu_data_handle_t *handleptr, int home_node, uintptr_t ptr, size_t *ldn,
                               size_t *nn, size_t ndim, size_t elemsize);

/* Gives the data a buffer of the program on `node`. `ldn` is copied. */
void starpu_ndim_ptr_register(starpu_data_handle_t handle, unsigned node, uintptr_t ptr, uintptr_t dev_handle,
                              size_t offset, size_t *ldn);

/* Elements of each dimension: an array of the library's. */
size_t *starpu_ndim_get_nn(starpu_data_handle_t handle);

/* Elements of dimension `i`; 0, with a message: there is no such dimension. */
size_t starpu_ndim_get_ni(starpu_data_handle_t handle, size_t i);

/* Leading dimensions here: an array of the library's. */
size_t *starpu_ndim_get_local_ldn(starpu_data_handle_t handle);

/* Leading dimension of dimension `i` here; 0, with a message: there is no such dimension. */
size_t starpu_ndim_get_local_ldi(starpu_data_handle_t handle, size_t i);

/* Its address here. */
uintptr_t starpu_ndim_get_local_ptr(starpu_data_handle_t handle);

/* Number of dimensions. */
size_t starpu_ndim_get_ndim(starpu_data_handle_t handle);

/* Bytes of an element. */
size_t starpu_ndim_get_elemsize(starpu_data_handle_t handle);

#define STARPU_NDIM_CHECK(interface)                                                                         \
    STARPU_ASSERT_MSG(((struct starpu_ndim_interface *)(interface))->id == STARPU_NDIM_INTERFACE_ID,         \
                      "this buffer is not an n-dimensional array")
#define STARPU_NDIM_GET_PTR(interface) (((struct starpu_ndim_interface *)(interface))->ptr)
#define STARPU_NDIM_GET_DEV_HANDLE(interface) (((struct starpu_ndim_interface *)(interface))->dev_handle)
#define STARPU_NDIM_GET_OFFSET(interface) (((struct starpu_ndim_interface *)(interface))->offset)
#define STARPU_NDIM_GET_NN(interface) (((struct starpu_ndim_interface *)(interface))->nn)
#define STARPU_NDIM_GET_LDN(interface) (((struct starpu_ndim_interface *)(interface))->ldn)
#define STARPU_NDIM_GET_NDIM(interface) (((struct starpu_ndim_interface *)(interface))->ndim)
#define STARPU_NDIM_GET_ELEMSIZE(interface) (((struct starpu_ndim_interface *)(interface))->elemsize)

/* ---- Void: no bytes, only dependencies ---- */

extern struct starpu_data_interface_ops starpu_interface_void_ops;

/* Registers data without bytes. Nothing is ever transferred for it. */
void starpu_void_data_register(starpu_data_handle_t *handle);

/* ---- Sparse matrix, compressed rows: row i has the entries rowptr[i] .. rowptr[i + 1] - 1, all less
 * firstentry ---- */

extern struct starpu_data_interface_ops starpu_interface_csr_ops;

struct starpu_csr_interface {
    enum starpu_data_interface_id id;
    uint32_t nnz;         /* non-zero entries */
    uint32_t nrow;        /* rows */
    uintptr_t nzval;      /* nnz values */
    uint32_t *colind;     /* nnz columns */
    uint32_t *rowptr;     /* nrow + 1 indices */
    uint32_t *ram_colind; /* colind in main memory, NULL if there is none */
    uint32_t *ram_rowptr; /* rowptr in main memory, NULL if there is none */
    uint32_t firstentry;  /* number of the first entry: 0 as in C, or 1 as in Fortran */
    size_t elemsize;
    uint32_t
        shares_rows; /* the library's: its first and last index in main memory are its neighbours', too */
};

/* Registers a sparse matrix of `nrow` rows and `nnz` entries. */
void starpu_csr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow,
                              uintptr_t nzval, uint32_t *colind, uint32_t *rowptr, uint32_t firstentry,
                              size_t elemsize);

/* Non-zero entries. */
uint32_t starpu_csr_get_nnz(starpu_data_handle_t handle);

/* Rows. */
uint32_t starpu_csr_get_nrow(starpu_data_handle_t handle);

/* Number of the first entry. */
uint32_t starpu_csr_get_firstentry(starpu_data_handle_t handle);

/* Values here. */
uintptr_t starpu_csr_get_local_nzval(starpu_data_handle_t handle);

/* Columns here. */
uint32_t *starpu_csr_get_local_colind(starpu_data_handle_t handle);

/* Row indices here. */
uint32_t *starpu_csr_get_local_rowptr(starpu_data_handle_t handle);

/* Bytes of a value. */
size_t starpu_csr_get_elemsize(starpu_data_handle_t handle);

#define STARPU_CSR_GET_NNZ(interface) (((struct starpu_csr_interface *)(interface))->nnz)
#define STARPU_CSR_GET_NROW(interface) (((struct starpu_csr_interface *)(interface))->nrow)
#define STARPU_CSR_GET_NZVAL(interface) (((struct starpu_csr_interface *)(interface))->nzval)
#define STARPU_CSR_GET_NZVAL_DEV_HANDLE(interface) (((struct starpu_csr_interface *)(interface))->nzval)
#define STARPU_CSR_GET_COLIND(interface) (((struct starpu_csr_interface *)(interface))->colind)
#define STARPU_CSR_GET_COLIND_DEV_HANDLE(interface) (((struct starpu_csr_interface *)(interface))->colind)
#define STARPU_CSR_GET_RAM_COLIND(interface) (((struct starpu_csr_interface *)(interface))->ram_colind)
#define STARPU_CSR_GET_ROWPTR(interface) (((struct starpu_csr_interface *)(interface))->rowptr)
#define STARPU_CSR_GET_ROWPTR_DEV_HANDLE(interface) (((struct starpu_csr_interface *)(interface))->rowptr)
#define STARPU_CSR_GET_RAM_ROWPTR(interface) (((struct starpu_csr_interface *)(interface))->ram_rowptr)
#define STARPU_CSR_GET_OFFSET 0
#define STARPU_CSR_GET_FIRSTENTRY(interface) (((struct starpu_csr_interface *)(interface))->firstentry)
#define STARPU_CSR_GET_ELEMSIZE(interface) (((struct starpu_csr_interface *)(interface))->elemsize)

/* ---- Sparse matrix of dense blocks, compressed rows: as above, entries and rows counting blocks of r
 * * c values ---- */

extern struct starpu_data_interface_ops starpu_interface_bcsr_ops;

struct starpu_bcsr_interface {
    enum starpu_data_interface_id id;
    uint32_t nnz;         /* non-zero blocks */
    uint32_t nrow;        /* rows of blocks */
    uintptr_t nzval;      /* nnz * r * c values */
    uint32_t *colind;     /* nnz columns */
    uint32_t *rowptr;     /* nrow + 1 indices */
    uint32_t *ram_colind; /* colind in main memory, NULL if there is none */
    uint32_t *ram_rowptr; /* rowptr in main memory, NULL if there is none */
    uint32_t firstentry;  /* number of the first entry: 0 as in C, or 1 as in Fortran */
    uint32_t r;           /* values of a block, contiguous dimension last */
    uint32_t c;
    size_t elemsize;
    uint32_t
        shares_rows; /* the library's: its first and last index in main memory are its neighbours', too */
};

/* Registers a sparse matrix of `nrow` rows of blocks and `nnz` blocks of `r` * `c` values. */
void starpu_bcsr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow,
                               uintptr_t nzval, uint32_t *colind, uint32_t *rowptr, uint32_t firstentry,
                               uint32_t r, uint32_t c, size_t elemsize);

/* Non-zero blocks. */
uint32_t starpu_bcsr_get_nnz(starpu_data_handle_t handle);

/* Rows of blocks. */
uint32_t starpu_bcsr_get_nrow(starpu_data_handle_t handle);

/* Number of the first entry. */
uint32_t starpu_bcsr_get_firstentry(starpu_data_handle_t handle);

/* Values here. */
uintptr_t starpu_bcsr_get_local_nzval(starpu_data_handle_t handle);

/* Columns here. */
uint32_t *starpu_bcsr_get_local_colind(starpu_data_handle_t handle);

/* Row indices here. */
uint32_t *starpu_bcsr_get_local_rowptr(starpu_data_handle_t handle);

/* Values of a block. */
uint32_t starpu_bcsr_get_r(starpu_data_handle_t handle);
uint32_t starpu_bcsr_get_c(starpu_data_handle_t handle);

/* Bytes of a value. */
size_t starpu_bcsr_get_elemsize(starpu_data_handle_t handle);

#define STARPU_BCSR_GET_NNZ(interface) (((struct starpu_bcsr_interface *)(interface))->nnz)
#define STARPU_BCSR_GET_NROW(interface) (((struct starpu_bcsr_interface *)(interface))->nrow)
#define STARPU_BCSR_GET_NZVAL(interface) (((struct starpu_bcsr_interface *)(interface))->nzval)
#define STARPU_BCSR_GET_NZVAL_DEV_HANDLE(interface) (((struct starpu_bcsr_interface *)(interface))->nzval)
#define STARPU_BCSR_GET_COLIND(interface) (((struct starpu_bcsr_interface *)(interface))->colind)
#define STARPU_BCSR_GET_COLIND_DEV_HANDLE(interface) (((struct starpu_bcsr_interface *)(interface))->colind)
#define STARPU_BCSR_GET_RAM_COLIND(interface) (((struct starpu_bcsr_interface *)(interface))->ram_colind)
#define STARPU_BCSR_GET_ROWPTR(interface) (((struct starpu_bcsr_interface *)(interface))->rowptr)
#define STARPU_BCSR_GET_ROWPTR_DEV_HANDLE(interface) (((struct starpu_bcsr_interface *)(interface))->rowptr)
#define STARPU_BCSR_GET_RAM_ROWPTR(interface) (((struct starpu_bcsr_interface *)(interface))->ram_rowptr)
#define STARPU_BCSR_GET_OFFSET 0
#define STARPU_BCSR_GET_FIRSTENTRY(interface) (((struct starpu_bcsr_interface *)(interface))->firstentry)
#define STARPU_BCSR_GET_R(interface) (((struct starpu_bcsr_interface *)(interface))->r)
#define STARPU_BCSR_GET_C(interface) (((struct starpu_bcsr_interface *)(interface))->c)
#define STARPU_BCSR_GET_ELEMSIZE(interface) (((struct starpu_bcsr_interface *)(interface))->elemsize)

/* ---- Sparse matrix, coordinates: entry i is values[i] at (columns[i], rows[i]) ---- */

extern struct starpu_data_interface_ops starpu_interface_coo_ops;

struct starpu_coo_interface {
    enum starpu_data_interface_id id;
    uint32_t *columns; /* n_values columns */
    uint32_t *rows;    /* n_values rows */
    uintptr_t values;  /* n_values values */
    uint32_t nx;       /* columns of the matrix */
    uint32_t ny;       /* rows of the matrix */
    uint32_t n_values; /* entries */
    size_t elemsize;
};

/* Registers a sparse matrix of `nx` columns, `ny` rows and `n_values` entries. */
void starpu_coo_data_register(starpu_data_handle_t *handleptr, int home_node, uint32_t nx, uint32_t ny,
                              uint32_t n_values, uint32_t *columns, uint32_t *rows, uintptr_t values,
                              size_t elemsize);

#define STARPU_COO_GET_COLUMNS(interface) (((struct starpu_coo_interface *)(interface))->columns)
#define STARPU_COO_GET_COLUMNS_DEV_HANDLE(interface) (((struct starpu_coo_interface *)(interface))->columns)
#define STARPU_COO_GET_ROWS(interface) (((struct starpu_coo_interface *)(interface))->rows)
#define STARPU_COO_GET_ROWS_DEV_HANDLE(interface) (((struct starpu_coo_interface *)(interface))->rows)
#define STARPU_COO_GET_VALUES(interface) (((struct starpu_coo_interface *)(interface))->values)
#define STARPU_COO_GET_VALUES_DEV_HANDLE(interface) (((struct starpu_coo_interface *)(interface))->values)
#define STARPU_COO_GET_OFFSET 0
#define STARPU_COO_GET_NX(interface) (((struct starpu_coo_interface *)(interface))->nx)
#define STARPU_COO_GET_NY(interface) (((struct starpu_coo_interface *)(interface))->ny)
#define STARPU_COO_GET_NVALUES(interface) (((struct starpu_coo_interface *)(interface))->n_values)
#define STARPU_COO_GET_ELEMSIZE(interface) (((struct starpu_coo_interface *)(interface))->elemsize)

/* ---- Multiformat: nx elements that have one layout for each kind of device ---- */

/* The layouts (sizes of an element; 0: the kind of device uses the CPU's), and the codelets that convert. A
 * task finds what it reads in the layout of its worker: cpu_ptr, or the device's pointer. A codelet that
 * converts has one buffer, with the pointers of both layouts, and runs where its result is wanted: to a
 * device's layout on a worker of the device, to the CPU's in main memory, on a CPU worker before its task, or
 * on a thread that has brought the data for who is no task. */
struct starpu_multiformat_data_interface_ops {
    size_t cpu_elemsize;
    size_t cuda_elemsize;
    size_t opencl_elemsize;
    struct starpu_codelet *cpu_to_cuda_cl;
    struct starpu_codelet *cuda_to_cpu_cl;
    struct starpu_codelet *cpu_to_opencl_cl;
    struct starpu_codelet *opencl_to_cpu_cl;
};

struct starpu_multiformat_interface {
    enum starpu_data_interface_id id;
    void *cpu_ptr;
    void *cuda_ptr;
    void *hip_ptr;
    void *opencl_ptr;
    size_t nx;
    struct starpu_multiformat_data_interface_ops *ops;
};

/* Registers `nx` elements at `ptr` in the CPU layout of `format_ops` (borrowed until unregistration).
 * `home_node`: STARPU_MAIN_RAM, or -1. What the program acquires in main memory, packs or sends is in the
 * CPU's layout; what it acquires on a device's node is in the device's if it is there already, else in the
 * CPU's. */
void starpu_multiformat_data_register(starpu_data_handle_t *handle, int home_node, void *ptr, size_t nx,
                                      struct starpu_multiformat_data_interface_ops *format_ops);

#define STARPU_MULTIFORMAT_GET_CPU_PTR(interface)                                                            \
    (((struct starpu_multiformat_interface *)(interface))->cpu_ptr)
#define STARPU_MULTIFORMAT_GET_CUDA_PTR(interface)                                                           \
    (((struct starpu_multiformat_interface *)(interface))->cuda_ptr)
#define STARPU_MULTIFORMAT_GET_HIP_PTR(interface)                                                            \
    (((struct starpu_multiformat_interface *)(interface))->hip_ptr)
#define STARPU_MULTIFORMAT_GET_OPENCL_PTR(interface)                                                         \
    (((struct starpu_multiformat_interface *)(interface))->opencl_ptr)
#define STARPU_MULTIFORMAT_GET_NX(interface) (((struct starpu_multiformat_interface *)(interface))->nx)

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_DATA_INTERFACES_H */
