/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_config.h: limits and features of this build, as plain constants.
 *
 * Threads: none; constants only.
 * Owns: nothing.
 * Not here: run-time settings (struct starpu_conf in starpu.h, environment variables in the handbook).
 */
#ifndef STARPU_CONFIG_H
#define STARPU_CONFIG_H

#include <sys/types.h>

/* The version of the StarPU interface that Orrery offers; Orrery's own is in orrery.h. */
#define STARPU_MAJOR_VERSION 1
#define STARPU_MINOR_VERSION 4
#define STARPU_RELEASE_VERSION 0

/* Limits. */
#define STARPU_NMAXBUFS 8           /* data of a task without dyn_handles */
#define STARPU_MAXIMPLEMENTATIONS 4 /* implementations of a codelet per kind of worker */
#define STARPU_NMAXWORKERS 256
#define STARPU_NMAX_COMBINEDWORKERS 256
#define STARPU_MAXNODES 16 /* memory nodes of one process */
#define STARPU_MAXNUMANODES 8
#define STARPU_NMAX_SCHED_CTXS 16
#define STARPU_MAXCPUS 256
#define STARPU_MAXCUDADEVS 8
#define STARPU_MAXOPENCLDEVS 8
#define STARPU_MAXHIPDEVS 0
#define STARPU_MAXMAXFPGADEVS 0
#define STARPU_MAXSYCLDEVS 0
#define STARPU_MAXMICDEVS 0
#define STARPU_MAXMPKERNELS 10
#define STARPU_FXT_MAX_FILES 64

/* Kinds of workers that this build can drive. */
#define STARPU_USE_CPU 1

/* The MPI layer (liborrery-mpi, starpu_mpi.h). */
#define STARPU_USE_MPI 1
#define STARPU_USE_MPI_MPI 1

/* What the runtime offers. */
#define STARPU_NON_BLOCKING_DRIVERS 1
#define STARPU_PARALLEL_WORKER 1
#define STARPU_USE_SC_HYPERVISOR 1

/* What the platform offers: Linux, glibc, GCC or Clang, hwloc 2. */
#define STARPU_LINUX_SYS 1
#define STARPU_HAVE_HWLOC 1
#define STARPU_HAVE_UNISTD_H 1
#define STARPU_HAVE_MALLOC_H 1
#define STARPU_HAVE_MEMALIGN 1
#define STARPU_HAVE_POSIX_MEMALIGN 1
#define STARPU_HAVE_SETENV 1
#define STARPU_HAVE_UNSETENV 1
#define STARPU_HAVE_STRERROR_R 1
#define STARPU_HAVE_NEARBYINTF 1
#define STARPU_HAVE_RINTF 1
#define STARPU_HAVE_STRUCT_TIMESPEC 1
#define STARPU_USE_DRAND48 1
#define STARPU_USE_ERAND48_R 1
#define STARPU_HAVE_PTHREAD_SPIN_LOCK 1
#define STARPU_HAVE_PTHREAD_BARRIER 1
#define STARPU_HAVE_PTHREAD_SETNAME_NP 1
#define STARPU_PTHREAD_MUTEX_INITIALIZER_ZERO 1
#define STARPU_PTHREAD_COND_INITIALIZER_ZERO 1
#define STARPU_PTHREAD_RWLOCK_INITIALIZER_ZERO 1

/* What the compiler offers. */
#define STARPU_HAVE_CXX11 1
#define STARPU_HAVE_STATEMENT_EXPRESSIONS 1
#define STARPU_HAVE_SYNC_BOOL_COMPARE_AND_SWAP 1
#define STARPU_HAVE_SYNC_BOOL_COMPARE_AND_SWAP_8 1
#define STARPU_HAVE_SYNC_VAL_COMPARE_AND_SWAP 1
#define STARPU_HAVE_SYNC_VAL_COMPARE_AND_SWAP_8 1
#define STARPU_HAVE_SYNC_FETCH_AND_ADD 1
#define STARPU_HAVE_SYNC_FETCH_AND_ADD_8 1
#define STARPU_HAVE_SYNC_FETCH_AND_OR 1
#define STARPU_HAVE_SYNC_FETCH_AND_OR_8 1
#define STARPU_HAVE_SYNC_LOCK_TEST_AND_SET 1
#define STARPU_HAVE_SYNC_SYNCHRONIZE 1
#define STARPU_HAVE_ATOMIC_COMPARE_EXCHANGE_N 1
#define STARPU_HAVE_ATOMIC_COMPARE_EXCHANGE_N_8 1
#define STARPU_HAVE_ATOMIC_EXCHANGE_N 1
#define STARPU_HAVE_ATOMIC_EXCHANGE_N_8 1
#define STARPU_HAVE_ATOMIC_FETCH_ADD 1
#define STARPU_HAVE_ATOMIC_FETCH_ADD_8 1
#define STARPU_HAVE_ATOMIC_FETCH_OR 1
#define STARPU_HAVE_ATOMIC_FETCH_OR_8 1
#define STARPU_HAVE_ATOMIC_TEST_AND_SET 1

/* A size that may be negative: -1 says unknown or unlimited. */
typedef ssize_t starpu_ssize_t;

#define __starpu_func__ __func__
#define __starpu_inline __inline__

#endif
