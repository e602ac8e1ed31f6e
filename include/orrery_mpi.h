/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_mpi.h: what Orrery offers across ranks beyond the StarPU interface.
 * Threads: as starpu_mpi.h says at its head; iterations begin and end on the thread that inserts the tasks of
 *   the communicator. None blocks but as an insertion does (too many tasks are pending; dmda).
 * Owns: nothing.
 * Not here: the StarPU interface (starpu_mpi.h), and what needs no other rank (orrery.h).
 */
#ifndef ORRERY_MPI_H
#define ORRERY_MPI_H

#include <orrery.h>
#include <starpu_mpi.h>
#include <stdint.h>

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
 * no waiting, no messages, no tasks of this rank's alone, no data registered or given up, and none acquired
 * but behind the last insertion. That is noticed, and then the iteration is inserted each time, which is said
 * once with the reason. Where data are acquired, or tasks waited for, in a replayed iteration only, they are
 * as at its end: that is said, and the iteration is inserted from then on. What is not noticed must stand
 * outside: what the program does without the runtime (an MPI_Allreduce, a variable that it sets).
 *
 * Numbers. The 256 that came last are kept. A program that gives each iteration a number of its own gains
 * nothing; when 32 were recorded and none was replayed it is told so, and new ones are recorded when they
 * come a second time.
 *
 * What is repeated. A task is submitted with the arguments of the recorded one: its STARPU_VALUEs and its
 * STARPU_CL_ARGS are copied (bytes; what they point to is the program's, and must last), as must what is
 * passed with the _NFREE kinds, names, and callbacks. A function may change them:
 * orrery_mpi_iteration_begin_patched().
 *
 * What cannot be repeated is inserted each time: a task here that is synchronous, has a tag, an order on its
 * worker (STARPU_WORKER_ORDER) or explicit dependencies, a callback whose argument is freed with it, an
 * argument of unknown size, or a list of its own (STARPU_TASK_WORKERIDS,
 * STARPU_HANDLES_SEQUENTIAL_CONSISTENCY, STARPU_NODE_ARRAY); a task whose rank a policy of the program chose.
 * Under a plan (ORRERY_MPI_SCHED=plan:FILE) an iteration is replayed where the plan has the ranks of the
 * recorded one for it, with the workers and orders that the plan has for this one, and is recorded anew where
 * it has others. Under dmda its tasks go where they went before, and it is replayed, once it was placed twice
 * by the same speeds of ranks and lengths of tasks; when these change by more than 20 % it is placed anew.
 * Under a placement of the program's that is asked for all tasks, and while a schedule is recorded, all is
 * inserted.
 *
 * When it is recorded anew: by itself, when data of the iteration were unregistered or got another owner,
 * when the node selection policy changed, and when data that other ranks shared among themselves came to this
 * one. A change that the runtime cannot see (another tile size, another order of the tasks) the program tells
 * by orrery_mpi_iteration_forget(), on all ranks.
 *
 * Each rank decides for itself; one may replay what another inserts. So beginning and end are local calls,
 * at the same places of the insertions on all ranks, and what must be done by all ranks alike must not depend
 * on what the beginning returned. Under dmda a beginning may wait, as an insertion may, for what ranks tell
 * each other of the time that tasks take. */

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

/* ---- where tasks run ---- */

/* The number of the placement dmda, for starpu_mpi_node_selection_set_current_policy(); as
 * ORRERY_MPI_SCHED=dmda does, from this place of the insertions on. */
#define ORRERY_MPI_NODE_SELECTION_DMDA 1

/* A task that is being inserted, as a function of the program's sees it that chooses its rank. All ranks call
 * the function for each task, in the order of the insertions, and it must return the same on all of them. So
 * it may look at what is here, at what the functions below tell, and at what it itself made of earlier calls;
 * not at a clock, an address (of a handle, say), its own rank, or what a rank alone knows. */
struct orrery_mpi_view {
    int ranks;         /* of the communicator */
    int priority;      /* of the task */
    int owner;         /* the rank that owns all that it writes; -1: several do, or it writes nothing */
    int count;         /* of data */
    uint64_t position; /* of the insertion, from 0 */
    const struct starpu_codelet *codelet; /* NULL: none */
    const struct starpu_data_descr *data; /* handles and modes */
};

/* Returns the rank on which a task is to run. arg: as registered. */
typedef int (*orrery_mpi_view_fn)(const struct orrery_mpi_view *view, void *arg);

/* Adds a node selection policy, for starpu_mpi_node_selection_set_current_policy(): what tasks write stays on
 * the rank that wrote it then, until the program needs it at its owner. On all ranks, in the same order.
 * Returns its number; -EINVAL: fn is NULL; -ENOSPC: there are 63. */
int orrery_mpi_node_selection_register(orrery_mpi_view_fn fn, void *arg);

/* Inside of such a function. Returns the rank that has the current value of datum number `datum`; -1: no
 * single one. */
int orrery_mpi_view_holder(const struct orrery_mpi_view *view, int datum);
/* Inside of such a function. Returns 1: the rank has the current value, or will have received it; 0: not. */
int orrery_mpi_view_has(const struct orrery_mpi_view *view, int datum, int rank);
/* Inside of such a function. Returns the nanoseconds that the task is expected to take on a worker of that
 * type of that rank, as all ranks agreed at the last place where they did; 0: not known yet. */
uint64_t orrery_mpi_view_expected_ns(const struct orrery_mpi_view *view, int rank,
                                     enum starpu_worker_archtype type);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
#endif
