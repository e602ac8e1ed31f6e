/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_helper.h: small services: environment variables, time, a function on every worker, copies of data.
 *
 * Threads: any, unless a function says otherwise; while the runtime is up, but for environment variables and
 * time. Only starpu_execute_on_... and synchronous copies block.
 * Owns: nothing.
 * Not here: assertions and atomic operations (starpu_util.h).
 */
#ifndef STARPU_HELPER_H
#define STARPU_HELPER_H

#include <starpu_data.h>
#include <starpu_util.h>

#include <stdio.h>
#include <stdlib.h>
#ifdef STARPU_HAVE_HWLOC
#include <hwloc.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define STARPU_MIN(a, b) ((a) < (b) ? (a) : (b))
#define STARPU_MAX(a, b) ((a) < (b) ? (b) : (a))

/* A pointer that is never valid. */
#define STARPU_POISON_PTR ((void *)0xdeadbeef)

/* Is the library asked to print nothing (STARPU_SILENT)? */
extern int _starpu_silent;

/* ---- Environment variables ---- */

/* Value of a variable; NULL: not set, or set to nothing. Borrowed until the environment changes. */
char *starpu_getenv(const char *str);

/* Index in strings (ended by NULL) of a variable's value; defvalue: not set, or none of them, which is
 * reported. */
int starpu_get_env_string_var_default(const char *str, const char *strings[], int defvalue);

/* Size that a variable gives, in bytes; K, M, G and so on are understood, in powers of 1024. defval: not set;
 * or not a size from 0 to INT_MAX, which is reported. */
int starpu_get_env_size_default(const char *str, int defval);

/* A variable's value as a number that is not negative; -1: not set, or something else, which is reported. */
static STARPU_INLINE int starpu_get_env_number(const char *str)
{
    const char *value = starpu_getenv(str);
    char *end;
    long number;
    if (!value) return -1;
    number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || number < 0 || number > 0x7fffffffL) {
        fprintf(stderr, "[starpu] %s=%s is ignored: it should be a number from 0 to 2147483647\n", str,
                value);
        return -1;
    }
    return (int)number;
}

/* The same; defval where that is -1. */
static STARPU_INLINE int starpu_get_env_number_default(const char *str, int defval)
{
    int number = starpu_get_env_number(str);
    return number == -1 ? defval : number;
}

/* A variable's value as a number; defval: not set, or something else, which is reported. */
static STARPU_INLINE float starpu_get_env_float_default(const char *str, float defval)
{
    const char *value = starpu_getenv(str);
    char *end;
    float number;
    if (!value) return defval;
    number = strtof(value, &end);
    if (end == value || *end != '\0') {
        fprintf(stderr, "[starpu] %s=%s is ignored: it should be a number\n", str, value);
        return defval;
    }
    return number;
}

#define starpu_getenv_number(str) starpu_get_env_number(str)
#define starpu_getenv_number_default(str, defval) starpu_get_env_number_default((str), (defval))
#define starpu_getenv_float_default(str, defval) starpu_get_env_float_default((str), (defval))
#define starpu_getenv_size_default(str, defval) starpu_get_env_size_default((str), (defval))
#define starpu_getenv_string_var_default(str, strings, defvalue)                                             \
    starpu_get_env_string_var_default((str), (strings), (defvalue))

/* ---- Running a function on workers. These block until it has run everywhere. What goes wrong (in a task
 * body or a callback, func NULL, no memory, a worker that is none) goes to orrery_set_error_hook() ---- */

/* Call func(arg) once on each worker that the mask `where` allows, as a task bound to it; the second form
 * names it (may be NULL). */
void starpu_execute_on_each_worker(void (*func)(void *), void *arg, uint32_t where);
void starpu_execute_on_each_worker_ex(void (*func)(void *), void *arg, uint32_t where, const char *name);

/* The same on the workers given. */
void starpu_execute_on_specific_workers(void (*func)(void *), void *arg, unsigned num_workers,
                                        unsigned *workers, const char *name);

/* ---- Time ---- */

/* Time in us, from some moment in the past; never goes back. And that moment, in the same clock: 0. */
double starpu_timing_now(void);
double starpu_timing_get_reference(void);

/* ---- Copying data ---- */

/* Copy a datum to another of the same kind and size, as a task: submitted, or also waited for if not
 * asynchronous. A dense destination takes the source's shape if nothing lies between its elements. When
 * it has ended, callback_func(callback_arg) is called unless NULL. Returns 0; -EINVAL: a handle is not
 * registered, or interfaces, sizes or shapes do not go together; -EDEADLK: not asynchronous, in a task or a
 * callback; -ENODEV, -ENOMEM and others as starpu_task_submit(). */
int starpu_data_cpy(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle, int asynchronous,
                    void (*callback_func)(void *), void *callback_arg);
int starpu_data_cpy_priority(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle,
                             int asynchronous, void (*callback_func)(void *), void *callback_arg,
                             int priority);

/* Make a read-only copy of a datum, which may share its memory. The new handle is the caller's to unregister.
 * Returns 0; -ENOMEM, or as an asynchronous starpu_data_cpy(): then the new handle is none. */
int starpu_data_dup_ro(starpu_data_handle_t *dst_handle, starpu_data_handle_t src_handle);

/* Same, returning the new handle; NULL on an error that was said. */
starpu_data_handle_t starpu_data_dup_ro_get(starpu_data_handle_t handle);

/* ---- Machine ---- */

/* Print, on stdout, where workers are bound. */
void starpu_display_bindings(void);

/* The system's number of a processing unit. */
int starpu_get_pu_os_index(unsigned logical_index);

/* Mask of the NUMA nodes that hold a memory area (bit n: the one the system numbers n); -1: not known. */
long starpu_get_memory_location_bitmap(void *ptr, size_t size);

#ifdef STARPU_HAVE_HWLOC
/* The library's own topology; borrowed until starpu_shutdown(). */
hwloc_topology_t starpu_get_hwloc_topology(void);
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
