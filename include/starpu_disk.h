/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out of core: a disk as a memory node, to which main memory's least used data goes when main memory
 * is full.
 * Threads: registration from any thread after starpu_init(); the functions of a table are called by
 *   several threads of the runtime at once, for different objects.
 * Not here: which data may go to disk (starpu_data_set_ooc_flag(), starpu_data.h).
 */
#ifndef STARPU_DISK_H
#define STARPU_DISK_H

#include <stddef.h>
#include <sys/types.h>
#include <starpu_config.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* A way of storing. `base` is what plug returned, `obj` what alloc or open did; sizes and offsets in
 * bytes. Functions that return int return 0, or a negative errno. The async_ ones return a channel,
 * NULL to have the synchronous one called; the buffer is borrowed until its request is over. */
struct starpu_disk_ops {
    /* Required. Opens the store `parameter` of `size` bytes; returns its base, NULL if it cannot. */
    void *(*plug)(void *parameter, starpu_ssize_t size);
    void (*unplug)(void *base);
    /* Measures the store for memory node `node`; returns 1 when it did, 0 when it cannot. */
    int (*bandwidth)(unsigned node, void *base);
    /* Makes room for `size` bytes and returns its object, NULL when full. */
    void *(*alloc)(void *base, size_t size);
    void (*free)(void *base, void *obj, size_t size);
    /* Opens what is stored already at `pos`; returns its object, NULL if it is not there. close leaves
     * it stored. */
    void *(*open)(void *base, void *pos, size_t size);
    void (*close)(void *base, void *obj, size_t size);
    int (*read)(void *base, void *obj, void *buf, off_t offset, size_t size);
    int (*write)(void *base, void *obj, const void *buf, off_t offset, size_t size);

    /* Optional. The whole object, of a size that is not known before: *ptr is allocated on `dst_node`. */
    int (*full_read)(void *base, void *obj, void **ptr, size_t *size, unsigned dst_node);
    int (*full_write)(void *base, void *obj, void *ptr, size_t size);
    /* Optional. */
    void *(*async_write)(void *base, void *obj, void *buf, off_t offset, size_t size);
    void *(*async_read)(void *base, void *obj, void *buf, off_t offset, size_t size);
    void *(*async_full_read)(void *base, void *obj, void **ptr, size_t *size, unsigned dst_node);
    void *(*async_full_write)(void *base, void *obj, void *ptr, size_t size);
    /* Optional. From one object to another of two stores of this kind. */
    void *(*copy)(void *base_src, void *obj_src, off_t offset_src, void *base_dst, void *obj_dst,
            off_t offset_dst, size_t size);
    /* Required with any async_ function or copy: wait; 1 when it is over, else 0; free. */
    void (*wait_request)(void *async_channel);
    int (*test_request)(void *async_channel);
    void (*free_request)(void *async_channel);
};

/* Files in the folder `parameter`: through stdio; through read() and write(); the same past the page
 * cache. */
extern struct starpu_disk_ops starpu_disk_stdio_ops;
extern struct starpu_disk_ops starpu_disk_unistd_ops;
extern struct starpu_disk_ops starpu_disk_unistd_o_direct_ops;

#ifdef STARPU_HAVE_HDF5
extern struct starpu_disk_ops starpu_disk_hdf5_ops;
#endif
#ifdef STARPU_HAVE_LEVELDB
extern struct starpu_disk_ops starpu_disk_leveldb_ops;
#endif

/* Least size of a disk, for its measurement. */
#define STARPU_DISK_SIZE_MIN (16 * 1024 * 1024)

/* Makes a disk a memory node. `parameter` is the store's own (a folder); `size` -1 for no limit,
 * otherwise at least STARPU_DISK_SIZE_MIN. Returns the memory node; -ENOENT when it cannot be opened
 * or measured; -EINVAL. Measures the disk: may take seconds. */
int starpu_disk_register(struct starpu_disk_ops *func, void *parameter, starpu_ssize_t size);

/* Opens `size` bytes that are stored already at `pos` (a file name), to register data whose home is
 * the disk. Returns its object, NULL if it is not there. */
void *starpu_disk_open(unsigned node, void *pos, size_t size);

/* Closes what starpu_disk_open() returned, after the data is unregistered. */
void starpu_disk_close(unsigned node, void *obj, size_t size);

/* The memory node of the disk that STARPU_DISK_SWAP in the environment asked for, -1 without. */
extern int starpu_disk_swap_node;

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_DISK_H */
