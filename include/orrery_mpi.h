/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_mpi.h: what Orrery offers across ranks beyond the StarPU interface.
 * Threads: as starpu_mpi.h says at its head; iterations begin and end on the thread that inserts the tasks of
 *   the communicator. None blocks but where too many tasks are pending, as at an insertion.
 * Owns: nothing.
 * Not here: the StarPU interface (starpu_mpi.h), and what needs no other rank (orrery.h).
 */
#ifndef ORRERY_MPI_H
#define ORRERY_MPI_H

#include <orrery.h>
#include <starpu_mpi.h>

#if defined(STARPU_USE_MPI)

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- iterations: inserted once, then replayed ----
 *
 *     for (int step = 0; step < steps; step++) {
 *         if (orrery_mpi_iteration_begin(MPI_COMM_WORLD, 1) == 0)
 *             insert_all_tasks();
 *         orrery_mpi_iteration_end(MPI_COMM_WORLD);
 *     }
 *
 * The first time the program inserts the tasks of an iteration, and each rank records its part in them: the
 * tasks that it runs, what it sends, receives and gives back. From then on the beginning submits this part
 * anew, with the effect that the insertions would have, and with nothing for a task in which the rank has no
 * part. Any number of iterations may be under way at a time; tasks and messages depend on others by their
 * data, as ever. Tasks of different kinds of iterations get different numbers (id).
 *
 * What an iteration may be. Between beginning and end there are insertions on this communicator, by
 * starpu_mpi_task_insert() and of the same tasks each time, and nothing else of the runtime that counts:
 * no waiting, no messages, no tasks of this rank's alone, no data acquired, registered or given up. Most of
 * that is noticed, and then the iteration is inserted each time, which is said once with the reason; what the
 * program does without the runtime (an MPI_Allreduce, a variable that it sets) is not noticed, and must stand
 * outside.
 *
 * What is repeated. A task is submitted with the arguments of the recorded one: its STARPU_VALUEs and its
 * STARPU_CL_ARGS are copied (bytes; what they point to is the program's, and must last), as must what is
 * passed with the _NFREE kinds, names, and callbacks. A function may change them:
 * orrery_mpi_iteration_begin_patched().
 *
 * What cannot be repeated is inserted each time: a task here that is synchronous, has a tag or explicit
 * dependencies, a callback whose argument is freed with it, an argument of unknown size, or a list of its own
 * (STARPU_TASK_WORKERIDS, STARPU_HANDLES_SEQUENTIAL_CONSISTENCY, STARPU_NODE_ARRAY); a task whose rank a
 * policy of the program chose. Under a placement that decides anew for each task (dmda, plan) all is
 * inserted.
 *
 * When it is recorded anew: by itself, when data of the iteration were unregistered or got another owner,
 * when the node selection policy changed, and when data that other ranks shared among themselves came to this
 * one. A change that the runtime cannot see (another tile size, another order of the tasks) the program tells
 * by orrery_mpi_iteration_forget(), on all ranks.
 *
 * Each rank decides for itself; one may replay what another inserts. So beginning and end are local calls,
 * and what must be done by all ranks alike must not depend on what the beginning returned. */

/* Begins iteration id. Returns 1: it was replayed, the program inserts nothing (that would be refused); 0:
 * the program inserts it; -EINVAL: another has not ended, and goes on; -ENOMEM, or the error of a task or
 * message: the iteration has begun, its rest is missing on this rank. Each but -EINVAL needs its end. */
int orrery_mpi_iteration_begin(MPI_Comm comm, int id);

/* The same, with a function that sees each task of this rank before it is submitted by a replay; it is not
 * called where the program inserts. position: of the insertion among all of the iteration, from 0. It may
 * change the bytes of task->cl_arg (packed by STARPU_VALUE: see starpu_codelet_unpack_args()), and the
 * arguments of callbacks; not data, modes, priority or the worker. On the calling thread; fn NULL: none.
 * Returns as above. */
int orrery_mpi_iteration_begin_patched(MPI_Comm comm, int id,
                                       void (*fn)(struct starpu_task *task, unsigned position, void *arg),
                                       void *arg);

/* Ends the iteration that has begun on the communicator. Returns 0; -EINVAL: none has. */
int orrery_mpi_iteration_end(MPI_Comm comm);

/* Iteration id, or each (-1), is inserted and recorded anew the next time; also one that was given up because
 * it changed each time. Not the one that has begun. Returns 0; -EINVAL: the communicator is none. */
int orrery_mpi_iteration_forget(MPI_Comm comm, int id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
#endif
