/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_disk.h: memory nodes below main memory, for more data than fits: files in a folder, or a storage
 * that the program describes by a table of functions.
 *
 * Threads: those of the runtime that move data call the functions of a table, several at a time.
 * Owns: nothing.
 * Not here: memory nodes (starpu_worker.h), what may leave main memory (starpu_data_set_ooc_flag).
 */
#ifndef STARPU_DISK_H
#define STARPU_DISK_H

#include <stddef.h>
#include <sys/types.h>

#include <starpu_config.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The least size of a disk, in bytes. */
#define STARPU_DISK_SIZE_MIN (16 * 1024 * 1024)

/* base: what plug() returned; obj: what alloc() or open() did. Required: plug, unplug, alloc, free, read and
 * write; open and close for starpu_disk_open. Functions of requests return one, or NULL if they cannot: then
 * read and write are called, on a thread of the runtime's own. */
struct starpu_disk_ops {
    void *(*plug)(void *parameter, starpu_ssize_t size); /* NULL: cannot be used */
    void (*unplug)(void *base);
    int (*bandwidth)(unsigned node, void *base); /* not called: the runtime measures all links itself */

    /* Room for data, made or found. */
    void *(*alloc)(void *base, size_t size); /* NULL: there is no room */
    void (*free)(void *base, void *obj, size_t size);
    void *(*open)(void *base, void *pos, size_t size);
    void (*close)(void *base, void *obj, size_t size);

    int (*read)(void *base, void *obj, void *buf, off_t offset, size_t size); /* bytes read; else it failed */
    int (*write)(void *base, void *obj, const void *buf, off_t offset, size_t size); /* 0; else it failed */
    /* All of an object, whose size may change. Not called. */
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
    int (*test_request)(void *async_channel); /* 1: done; 0: it goes on; negative: it failed */
    void (*free_request)(void *async_channel);
};

/* Files in a folder, whose name is the parameter of plug(); it is made if it is not there. What the runtime
 * puts there is in one file that goes with the process. open() takes the name of a file in the folder.
 * By read and write; the same past the system's cache; by FILE. */
extern struct starpu_disk_ops starpu_disk_unistd_ops;
extern struct starpu_disk_ops starpu_disk_unistd_o_direct_ops;
extern struct starpu_disk_ops starpu_disk_stdio_ops;

/* One HDF5 file, made for the process: the parameter is its folder, or with open() a file that is there, in
 * which a place is the name of a data set of bytes. The library is loaded when it is asked for: without it
 * plug() says so. */
extern struct starpu_disk_ops starpu_disk_hdf5_ops;

/* The node that STARPU_DISK_SWAP (a folder) asked for; -1: none. */
extern int starpu_disk_swap_node;

/* Adds a memory node that keeps data in a storage: parameter is handed to func->plug; size in bytes, at least
 * STARPU_DISK_SIZE_MIN, or negative: as much as there is room. Data that the runtime allocated go there when
 * main memory (STARPU_LIMIT_CPU_MEM) is full: those registered from now on and, if this is the first storage,
 * also those registered before while main memory had a limit. Any thread, after starpu_init,
 * outside tasks. The node's number, or -EINVAL, -ENODEV (it cannot be plugged), -ENOSPC (too many nodes),
 * -ENOMEM; which is said. */
int starpu_disk_register(struct starpu_disk_ops *func, void *parameter, starpu_ssize_t size);

/* An object of size bytes that is in a storage already, at a place that its open() knows (a file's name), to
 * register data with that node as home: the value there is theirs, and is written back there when they are
 * unregistered. Any thread. NULL: it cannot be opened, which is said. */
void *starpu_disk_open(unsigned node, void *pos, size_t size);
/* Ends the use of such an object; data that have their home there were unregistered. Any thread. */
void starpu_disk_close(unsigned node, void *obj, size_t size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
