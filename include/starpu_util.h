/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_util.h: assertions, compiler attributes and atomic operations for programs.
 *
 * Threads: any.
 * Owns: nothing; macros only.
 * Not here: STARPU_MIN/STARPU_MAX and environment variables
 * (starpu_helper.h), locks (starpu_thread.h). */
#ifndef STARPU_UTIL_H
#define STARPU_UTIL_H

#include <starpu_config.h>

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

/* ---- Compiler attributes ---- */

#if defined(__GNUC__) && defined(__GNUC_MINOR__)
#define STARPU_GNUC_PREREQ(maj, min) (__GNUC__ > (maj) || (__GNUC__ == (maj) && __GNUC_MINOR__ >= (min)))
#else
#define STARPU_GNUC_PREREQ(maj, min) 0
#endif

#define STARPU_LIKELY(expr) __builtin_expect(!!(expr), 1)
#define STARPU_UNLIKELY(expr) __builtin_expect(!!(expr), 0)

#define STARPU_INLINE __inline__
#define STARPU_ATTRIBUTE_UNUSED __attribute__((unused))
#define STARPU_ATTRIBUTE_NORETURN __attribute__((noreturn))
#define STARPU_ATTRIBUTE_MALLOC __attribute__((malloc))
#define STARPU_ATTRIBUTE_PURE __attribute__((pure))
#define STARPU_ATTRIBUTE_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define STARPU_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define STARPU_ATTRIBUTE_ALIGNED(size) __attribute__((aligned(size)))
#define STARPU_ATTRIBUTE_FORMAT(type, string, first) __attribute__((format(type, string, first)))
#define STARPU_ATTRIBUTE_ALLOC_SIZE(size) __attribute__((alloc_size(size)))
#define STARPU_ATTRIBUTE_CALLOC_SIZE(num, size) __attribute__((alloc_size(num, size)))
#define STARPU_ATTRIBUTE_INTERNAL __attribute__((visibility("internal")))
#define STARPU_ATTRIBUTE_VISIBILITY_DEFAULT __attribute__((visibility("default")))
#define STARPU_VISIBILITY_PUSH_HIDDEN _Pragma("GCC visibility push(hidden)")
#define STARPU_VISIBILITY_POP _Pragma("GCC visibility pop")

/* Marks old names; a program that defines STARPU_USE_DEPRECATED_API is not warned. */
#ifdef STARPU_USE_DEPRECATED_API
#define STARPU_DEPRECATED
#else
#define STARPU_DEPRECATED __attribute__((deprecated))
#endif

#ifdef __cplusplus
#define STARPU_STATIC_ASSERT(x) static_assert(x, #x)
#else
#define STARPU_STATIC_ASSERT(x) _Static_assert(x, #x)
#endif

/* Size to which data that threads write independently is aligned. */
#if defined(__powerpc64__) || defined(__powerpc__)
#define STARPU_CACHELINE_SIZE 128
#elif defined(__s390__)
#define STARPU_CACHELINE_SIZE 256
#else
#define STARPU_CACHELINE_SIZE 64
#endif

/* ---- Assertions ---- */

#define STARPU_BACKTRACE_LENGTH 32

/* Write the call stack of the calling thread to stderr. */
#ifdef __GLIBC__
#define STARPU_DUMP_BACKTRACE()                                                                              \
    do {                                                                                                     \
        void *starpu_frames_[STARPU_BACKTRACE_LENGTH];                                                       \
        backtrace_symbols_fd(starpu_frames_, backtrace(starpu_frames_, STARPU_BACKTRACE_LENGTH), 2);         \
    } while (0)
#else
#define STARPU_DUMP_BACKTRACE() ((void)0)
#endif

/* Say where the program stopped, and abort. */
#define STARPU_ABORT()                                                                                       \
    do {                                                                                                     \
        fprintf(stderr, "[starpu] abort at %s:%d (%s)\n", __FILE__, __LINE__, __func__);                     \
        STARPU_DUMP_BACKTRACE();                                                                             \
        abort();                                                                                             \
    } while (0)

/* STARPU_ABORT_MSG(format, ...): the same, with a message. */
#define STARPU_ABORT_MSG(...)                                                                                \
    do {                                                                                                     \
        fprintf(stderr, "[starpu] abort at %s:%d (%s): ", __FILE__, __LINE__, __func__);                     \
        fprintf(stderr, __VA_ARGS__);                                                                        \
        fputc('\n', stderr);                                                                                 \
        STARPU_DUMP_BACKTRACE();                                                                             \
        abort();                                                                                             \
    } while (0)

/* STARPU_ASSERT_MSG_ALWAYS(x, format, ...): abort with a message unless x; not switched off by
 * STARPU_NO_ASSERT. */
#define STARPU_ASSERT_MSG_ALWAYS(x, ...)                                                                     \
    do {                                                                                                     \
        if (STARPU_UNLIKELY(!(x))) {                                                                         \
            fprintf(stderr, "[starpu] %s:%d (%s): not true: %s: ", __FILE__, __LINE__, __func__, #x);        \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
            STARPU_DUMP_BACKTRACE();                                                                         \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* Abort unless x. With STARPU_NO_ASSERT defined, x is compiled but not evaluated. */
#ifdef STARPU_NO_ASSERT
#define STARPU_ASSERT(x)                                                                                     \
    do {                                                                                                     \
        if (0) {                                                                                             \
            (void)(x);                                                                                       \
        }                                                                                                    \
    } while (0)
#define STARPU_ASSERT_MSG(x, ...)                                                                            \
    do {                                                                                                     \
        if (0) {                                                                                             \
            (void)(x);                                                                                       \
        }                                                                                                    \
    } while (0)
#define STARPU_ASSERT_ACCESSIBLE(ptr)                                                                        \
    do {                                                                                                     \
        if (0) {                                                                                             \
            (void)(ptr);                                                                                     \
        }                                                                                                    \
    } while (0)
#else
#define STARPU_ASSERT(x)                                                                                     \
    do {                                                                                                     \
        if (STARPU_UNLIKELY(!(x))) {                                                                         \
            fprintf(stderr, "[starpu] %s:%d (%s): not true: %s\n", __FILE__, __LINE__, __func__, #x);        \
            STARPU_DUMP_BACKTRACE();                                                                         \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
#define STARPU_ASSERT_MSG(x, ...) STARPU_ASSERT_MSG_ALWAYS(x, __VA_ARGS__)
/* Crash here rather than later when ptr cannot be read. */
#define STARPU_ASSERT_ACCESSIBLE(ptr) ((void)*(volatile const char *)(ptr))
#endif

/* Text of an errno value, into a buffer of the caller. */
#define starpu_strerror_r(errnum, buf, buflen) ((void)snprintf((buf), (buflen), "%s", strerror(errnum)))

/* STARPU_CHECK_RETURN_VALUE(err, format, ...): abort unless err is 0. The braces, rather than a do-while, let
 * programs leave out the semicolon, as many do. */
#define STARPU_CHECK_RETURN_VALUE(err, ...) STARPU_CHECK_RETURN_VALUE_IS(err, 0, __VA_ARGS__)

/* STARPU_CHECK_RETURN_VALUE_IS(err, value, format, ...): abort unless err is value. */
#define STARPU_CHECK_RETURN_VALUE_IS(err, value, ...)                                                        \
    {                                                                                                        \
        const int starpu_err_ = (int)(err);                                                                  \
        if (STARPU_UNLIKELY(starpu_err_ != (int)(value))) {                                                  \
            fprintf(stderr, "[starpu] %s:%d: got %d (%s) instead of %d from ", __FILE__, __LINE__,           \
                    starpu_err_, strerror(starpu_err_ < 0 ? -starpu_err_ : starpu_err_), (int)(value));      \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
            STARPU_ABORT();                                                                                  \
        }                                                                                                    \
    }

/* ---- Atomic operations, all sequentially consistent ---- */

/* Add; gives the new value. */
#define STARPU_ATOMIC_ADD(ptr, value) __atomic_add_fetch((ptr), (value), __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_ADDL(ptr, value) STARPU_ATOMIC_ADD(ptr, value)
#define STARPU_ATOMIC_ADD64(ptr, value) STARPU_ATOMIC_ADD(ptr, value)

/* Or; gives the old value. */
#define STARPU_ATOMIC_OR(ptr, value) __atomic_fetch_or((ptr), (value), __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_ORL(ptr, value) STARPU_ATOMIC_OR(ptr, value)
#define STARPU_ATOMIC_OR64(ptr, value) STARPU_ATOMIC_OR(ptr, value)

/* Store value where old was found; gives whether it did. */
#define STARPU_BOOL_COMPARE_AND_SWAP(ptr, old, value) __sync_bool_compare_and_swap((ptr), (old), (value))
#define STARPU_BOOL_COMPARE_AND_SWAP32(ptr, old, value) STARPU_BOOL_COMPARE_AND_SWAP(ptr, old, value)
#define STARPU_BOOL_COMPARE_AND_SWAP64(ptr, old, value) STARPU_BOOL_COMPARE_AND_SWAP(ptr, old, value)
#define STARPU_BOOL_COMPARE_AND_SWAP_PTR(ptr, old, value) STARPU_BOOL_COMPARE_AND_SWAP(ptr, old, value)

/* Store value where old was found; gives what was found. */
#define STARPU_VAL_COMPARE_AND_SWAP(ptr, old, value) __sync_val_compare_and_swap((ptr), (old), (value))
#define STARPU_VAL_COMPARE_AND_SWAP32(ptr, old, value) STARPU_VAL_COMPARE_AND_SWAP(ptr, old, value)
#define STARPU_VAL_COMPARE_AND_SWAP64(ptr, old, value) STARPU_VAL_COMPARE_AND_SWAP(ptr, old, value)
#define STARPU_VAL_COMPARE_AND_SWAP_PTR(ptr, old, value) STARPU_VAL_COMPARE_AND_SWAP(ptr, old, value)

/* Store value; gives the old one. */
#define STARPU_VAL_EXCHANGE(ptr, value) __atomic_exchange_n((ptr), (value), __ATOMIC_SEQ_CST)
#define STARPU_VAL_EXCHANGEL(ptr, value) STARPU_VAL_EXCHANGE(ptr, value)
#define STARPU_VAL_EXCHANGE32(ptr, value) STARPU_VAL_EXCHANGE(ptr, value)
#define STARPU_VAL_EXCHANGE64(ptr, value) STARPU_VAL_EXCHANGE(ptr, value)

/* A flag as a simple lock: take (gives the old value), give back. */
#define STARPU_TEST_AND_SET(ptr, value) __sync_lock_test_and_set((ptr), (value))
#define STARPU_RELEASE(ptr) __sync_lock_release(ptr)

/* Order what is before with what is after: all accesses, reads, writes. */
#define STARPU_SYNCHRONIZE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define STARPU_RMB() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define STARPU_WMB() __atomic_thread_fence(__ATOMIC_RELEASE)

#endif
