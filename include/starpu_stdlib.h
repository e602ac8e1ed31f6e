/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_stdlib.h: main memory that devices reach fast, and what memory each node has.
 *
 * Threads: any, while the runtime is up, task bodies and callbacks too; starpu_malloc() and
 * starpu_free_noflag() at any time. What waits for room (STARPU_MEMORY_WAIT) gets that of data that can go to
 * a store; it is not refused in task bodies, and must not wait there for what the task itself uses.
 * Owns: nothing.
 * Not here: memory of data handles (starpu_data_interfaces.h).
 */
#ifndef STARPU_STDLIB_H
#define STARPU_STDLIB_H

#include <starpu_util.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Flags of starpu_malloc_flags() and the like. */
#define STARPU_MALLOC_PINNED (1 << 1)    /* pin it, so that devices transfer it fast */
#define STARPU_MALLOC_COUNT (1 << 2)     /* count it against the limit of the node; -ENOMEM beyond it */
#define STARPU_MALLOC_NORECLAIM (1 << 3) /* with COUNT: count, but exceed the limit if need be */
#define STARPU_MEMORY_WAIT (1 << 4)      /* with COUNT, and starpu_memory_allocate(): wait for room */
#define STARPU_MEMORY_OVERFLOW (1 << 5)  /* starpu_memory_allocate(): may exceed the limit */
#define STARPU_MALLOC_SIMULATION_FOLDED (1 << 6) /* when simulating, all such memory may be the same */
#define STARPU_MALLOC_SIMULATION_UNIQUE (1 << 7) /* when simulating, keep it real */

#define starpu_data_malloc_pinned_if_possible starpu_malloc
#define starpu_data_free_pinned_if_possible starpu_free

/* Align what starpu_malloc() gives from now on; a power of two, at least sizeof(void *), or it is refused
 * with a message. It never becomes less. At any time. */
void starpu_malloc_set_align(size_t align);

/* Allocate main memory, pinned if a device profits, into *A. Once starpu_mpi_init() has found several ranks
 * on this node, blocks of 32 KiB and more are in memory that all of them see, and messages of what is in them
 * are copied once, in half the time. It goes back by starpu_free() alone, never by free(); a process made by
 * fork() has no copy of it but the same, and core dumps have it only where /proc/PID/coredump_filter says so
 * (bit 3). Returns 0; -ENOMEM: none, or over the limit; -EINVAL: A is NULL. *A is then unchanged. */
int starpu_malloc(void **A, size_t dim);
int starpu_malloc_flags(void **A, size_t dim, int flags);

/* Free it, with the size and flags of its allocation; NULL is nothing. Return 0. */
int starpu_free_noflag(void *A, size_t dim);
int starpu_free_flags(void *A, size_t dim, int flags);

/* Old: the same without the size, for what starpu_malloc() gave. Returns 0. */
int starpu_free(void *A);

/* Functions to allocate and free main memory instead of the library's; set before starpu_init() and any
 * allocation. They return 0 or an error, and are called by any thread. NULL: the library's own. */
typedef int (*starpu_malloc_hook)(unsigned dst_node, void **A, size_t dim, int flags);
typedef int (*starpu_free_hook)(unsigned dst_node, void *A, size_t dim, int flags);
void starpu_malloc_set_hooks(starpu_malloc_hook malloc_hook, starpu_free_hook free_hook);

/* Pin memory that the program allocated, and undo that before it is freed; at the end of the runtime nothing
 * is pinned any more. Return 0, also where no device profits and nothing is done, and for what is pinned
 * already (undone as often) or was never; -ENOMEM, -EIO: it could not be pinned, and copies of it are slower.
 */
int starpu_memory_pin(void *addr, size_t size);
int starpu_memory_unpin(void *addr, size_t size);

/* Bytes of a node, or of all: limit, what is left of it (-1: no limit, or no such node; of all: one of them
 * has none), what is used (0: no such node). */
starpu_ssize_t starpu_memory_get_total(unsigned node);
starpu_ssize_t starpu_memory_get_available(unsigned node);
size_t starpu_memory_get_used(unsigned node);
starpu_ssize_t starpu_memory_get_total_all_nodes(void);
starpu_ssize_t starpu_memory_get_available_all_nodes(void);
size_t starpu_memory_get_used_all_nodes(void);

/* Count memory that the program uses on a node, and that it does not any more. Returns 0; -ENOMEM: over the
 * limit and neither flag was given, or more than the limit itself; -EINVAL: there is no such node. */
int starpu_memory_allocate(unsigned node, size_t size, int flags);
void starpu_memory_deallocate(unsigned node, size_t size);

/* Wait until size bytes are left on the node, if it has a limit; not in task bodies. More than the limit: a
 * message, at once. */
void starpu_memory_wait_available(unsigned node, size_t size);

/* Sleep, for so many seconds, or microseconds. At any time. */
void starpu_sleep(float nb_sec);
void starpu_usleep(float nb_micro_sec);

/* Count energy, in J, that the program says it used; and what it said in all. At any time. */
void starpu_energy_use(float joules);
double starpu_energy_used(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
