/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_disk.h: the table of functions by which a program describes a storage of its own. Memory nodes on
 * disk do not exist yet: nothing takes this table, so no function is declared.
 *
 * Threads: those of the runtime that moves data.
 * Owns: nothing.
 * Not here: memory nodes (starpu_worker.h).
 */
#ifndef STARPU_DISK_H
#define STARPU_DISK_H

#include <stddef.h>
#include <sys/types.h>

#include <starpu_config.h>

/* The least size of a disk, in bytes. */
#define STARPU_DISK_SIZE_MIN (16 * 1024 * 1024)

/* base: what plug() returned; obj: what alloc() or open() did. Functions of requests return one, NULL if they
 * cannot. */
struct starpu_disk_ops {
    void *(*plug)(void *parameter, starpu_ssize_t size); /* NULL: cannot be used */
    void (*unplug)(void *base);
    int (*bandwidth)(unsigned node, void *base); /* measures the links of this node; 1: done */

    /* Room for data, made or found. */
    void *(*alloc)(void *base, size_t size);
    void (*free)(void *base, void *obj, size_t size);
    void *(*open)(void *base, void *pos, size_t size);
    void (*close)(void *base, void *obj, size_t size);

    int (*read)(void *base, void *obj, void *buf, off_t offset, size_t size);
    int (*write)(void *base, void *obj, const void *buf, off_t offset, size_t size);
    /* All of an object, whose size may change. */
    int (*full_read)(void *base, void *obj, void **ptr, size_t *size, unsigned dst_node);
    int (*full_write)(void *base, void *obj, void *ptr, size_t size);

    /* The same as requests. */
    void *(*async_write)(void *base, void *obj, void *buf, off_t offset, size_t size);
    void *(*async_read)(void *base, void *obj, void *buf, off_t offset, size_t size);
    void *(*async_full_read)(void *base, void *obj, void **ptr, size_t *size, unsigned dst_node);
    void *(*async_full_write)(void *base, void *obj, void *ptr, size_t size);
    void *(*copy)(void *base_src, void *obj_src, off_t offset_src, void *base_dst, void *obj_dst,
                  off_t offset_dst, size_t size);
    void (*wait_request)(void *async_channel);
    int (*test_request)(void *async_channel); /* 1: done */
    void (*free_request)(void *async_channel);
};

#endif
