/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cluster: ranks that own data, messages of registered data, and tasks that run on the rank the
 * runtime works out.
 * Threads: any thread of the rank between starpu_mpi_init_conf() and starpu_mpi_shutdown(), task bodies
 *   and callbacks included; those that say "blocks" are refused there with -EDEADLK. What says how data
 *   is owned, and calls that all ranks make in the same order, come from one thread at a time. MPI is
 *   initialised with MPI_THREAD_SERIALIZED or above; the program's own MPI calls follow MPI's rules.
 * Not here: what a single rank does (starpu.h); moving owners by load (starpu_mpi_lb.h); placement and
 *   static schedules across the cluster (orrery.h).
 *
 * Ranks. A call is *local*; *collective*: all ranks of the communicator make it, in the same order
 * among collective calls; or *matched*: it needs its counterpart on another rank. A status is 0, or a
 * negative errno with nothing done, and a message: -EINVAL (a rank, handle or communicator that cannot
 * be, data that is partitioned or has no owner), -ENOMEM, -ESHUTDOWN (the layer does not run); a void
 * function does nothing then. A callback runs when the transfer is over, on whichever thread of this rank
 * moved it, must be short and must not block; NULL for none. When a call returns an error it is not
 * called. In a *detached* operation nothing is waited for; the data may be used by tasks at once,
 * dependencies see to the order. Ownership and units: as starpu.h says at its head.
 */
#ifndef STARPU_MPI_H
#define STARPU_MPI_H

#include <starpu.h>

#if defined(STARPU_USE_MPI)

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct starpu_codelet;
struct starpu_conf;
struct starpu_data_descr;
struct starpu_task;

/* Names data in messages, the same on all ranks; 0 or more. */
typedef int64_t starpu_mpi_tag_t;

/* A pending transfer, from its start to the wait or test that ends it. */
typedef void *starpu_mpi_req;

/* ---- Beginning and end ---- */

/* Starts the runtime (with `conf`, NULL: defaults; also started if it is not yet) and the
 * communication on `comm`, initialising MPI first if `initialize_mpi` is not 0 and it is not yet. argc and
 * argv as for MPI_Init(), may be NULL. Collective; by one thread, outside of tasks. Returns 0; or, with
 * nothing started: -EALREADY: the layer runs; -EINVAL: MPI has ended, or is not initialised, or `comm` is
 * MPI_COMM_NULL, or ranks run different versions of the library; -ENOMEM; what starpu_init() returns, if it
 * fails on any rank. */
int starpu_mpi_init_conf(int *argc, char ***argv, int initialize_mpi, MPI_Comm comm,
                         struct starpu_conf *conf);

/* Same after the program called starpu_init() itself, whose starpu_shutdown() may come before that of the
 * layer: the runtime then ends with the layer. -EINVAL also: it did not. */
int starpu_mpi_init_comm(int *argc, char ***argv, int initialize_mpi, MPI_Comm comm);

/* Same on MPI_COMM_WORLD. Returns the same. */
int starpu_mpi_init(int *argc, char ***argv, int initialize_mpi);

/* Older spelling of starpu_mpi_init(NULL, NULL, 0). Returns the same. */
int starpu_mpi_initialize(void);

/* Older spelling of starpu_mpi_init(NULL, NULL, 1); sets *rank and *world_size. Returns the same. */
int starpu_mpi_initialize_extended(int *rank, int *world_size);

/* Waits for all transfers, ends the communication, the runtime if starpu_mpi_init_conf() started it,
 * and MPI if it was initialised there. Collective. Blocks. Returns 0; -EIO: some message was never matched or
 * received, or failed, or MPI ended before, which was said; -ESHUTDOWN; -EDEADLK. A message of a task's that
 * was not matched ends the process. */
int starpu_mpi_shutdown(void);

/* Same, whatever `comm` is. Returns the same. */
int starpu_mpi_shutdown_comm(MPI_Comm comm);

/* Makes a communicator known before transfers on it are timed or counted. Optional: its first use
 * does it, in any order on the ranks. Local. Returns 0;
 * -EINVAL: no communicator, or one between two groups. */
int starpu_mpi_comm_register(MPI_Comm comm);

/* Sets *size to the number of ranks of `comm`. Local; also while MPI runs and the layer does not. Returns 0;
 * -EINVAL: MPI_COMM_NULL. */
int starpu_mpi_comm_size(MPI_Comm comm, int *size);

/* Sets *rank to this rank's number in `comm`. Returns the same. Local. */
int starpu_mpi_comm_rank(MPI_Comm comm, int *rank);

/* Returns this rank's number in MPI_COMM_WORLD. While MPI runs. */
int starpu_mpi_world_rank(void);

/* Returns the number of ranks of MPI_COMM_WORLD. While MPI runs. */
int starpu_mpi_world_size(void);

/* Returns -1: no thread of the layer is bound to a core. */
int starpu_mpi_get_thread_cpuid(void);

/* To starpu_mpi_comm_get_attr(): the highest tag that data may have. */
#define STARPU_MPI_TAG_UB MPI_TAG_UB

/* Like MPI_Comm_get_attr(), except that for STARPU_MPI_TAG_UB *(int64_t **)attribute_val points to
 * the highest tag of the 64-bit tags here. Sets *flag: 0 also for a key that MPI does not know, and while MPI
 * does not run. Returns 0. Local. */
int starpu_mpi_comm_get_attr(MPI_Comm comm, int keyval, void *attribute_val, int *flag);

/* Returns the MPI tag (42) with which messages are sent on communicators of the program other than the one
 * given to the initialisation: one before the first transfer to each rank. Do not receive it there. */
starpu_mpi_tag_t starpu_mpi_get_communication_tag(void);

/* Sets it, before the initialisation, the same on all ranks:
 * 0 to 32767; any other is refused with a message. */
void starpu_mpi_set_communication_tag(starpu_mpi_tag_t tag);

/* ---- Messages. `dest` and `source` are ranks of `comm`; every send is matched by a receive of the
 * same tag. They return 0 when they were started (those that block: when they are over), or a status as said
 * at the head ---- */

/* Sends the data's value after the tasks submitted before. Returns when the program may go on: 0; -EDEADLK;
 * another status: the message failed. Matched. Blocks. */
int starpu_mpi_send(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag, MPI_Comm comm);

/* Same with a priority among this rank's messages, higher first. Blocks. */
int starpu_mpi_send_prio(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag, int prio,
                         MPI_Comm comm);

/* Receives into the data, as a task that writes it would. `status` may be NULL or MPI_STATUS_IGNORE. Returns
 * as starpu_mpi_send(). Matched. Blocks. */
int starpu_mpi_recv(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag, MPI_Comm comm,
                    MPI_Status *status);

/* Same with a priority. Blocks. */
int starpu_mpi_recv_prio(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag, int prio,
                         MPI_Comm comm, MPI_Status *status);

/* Starts a send; starpu_mpi_wait() or a successful starpu_mpi_test() ends it. *req is set on success.
 * Matched. */
int starpu_mpi_isend(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                     starpu_mpi_tag_t data_tag, MPI_Comm comm);

/* Same with a priority. */
int starpu_mpi_isend_prio(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                          starpu_mpi_tag_t data_tag, int prio, MPI_Comm comm);

/* Starts a receive; starpu_mpi_wait() or a successful starpu_mpi_test() ends it. *req is set on success.
 * Matched. */
int starpu_mpi_irecv(starpu_data_handle_t data_handle, starpu_mpi_req *req, int source,
                     starpu_mpi_tag_t data_tag, MPI_Comm comm);

/* Starts a synchronous send: over only when the receive has begun. Matched. */
int starpu_mpi_issend(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                      starpu_mpi_tag_t data_tag, MPI_Comm comm);

/* Same with a priority. */
int starpu_mpi_issend_prio(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                           starpu_mpi_tag_t data_tag, int prio, MPI_Comm comm);

/* Waits until the transfer is over, frees it and sets *req to NULL. `status` may be NULL or
 * MPI_STATUS_IGNORE. Blocks. Returns 0; -EINVAL: there is no request; -EDEADLK, -ESHUTDOWN: it is pending
 * still; else why the transfer failed. Local. */
int starpu_mpi_wait(starpu_mpi_req *req, MPI_Status *status);

/* Sets *flag to whether the transfer is over; if so, frees it and sets *req to NULL. Does not block, and may
 * call callbacks. Returns as starpu_mpi_wait(). Local. */
int starpu_mpi_test(starpu_mpi_req *req, int *flag, MPI_Status *status);

/* Starts a send that nobody waits for. Matched. */
int starpu_mpi_isend_detached(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                              MPI_Comm comm, void (*callback)(void *), void *arg);

/* Same with a priority. */
int starpu_mpi_isend_detached_prio(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                                   int prio, MPI_Comm comm, void (*callback)(void *), void *arg);

/* Starts a receive that nobody waits for. Matched. */
int starpu_mpi_irecv_detached(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag,
                              MPI_Comm comm, void (*callback)(void *), void *arg);

/* Same with a priority. */
int starpu_mpi_irecv_detached_prio(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag,
                                   int prio, MPI_Comm comm, void (*callback)(void *), void *arg);

/* Same; with `sequential_consistency` 0 the receive is not ordered with the tasks submitted before
 * it. */
int starpu_mpi_irecv_detached_sequential_consistency(starpu_data_handle_t data_handle, int source,
                                                     starpu_mpi_tag_t data_tag, MPI_Comm comm,
                                                     void (*callback)(void *), void *arg,
                                                     int sequential_consistency);

/* Starts a synchronous send that nobody waits for. Matched. */
int starpu_mpi_issend_detached(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                               MPI_Comm comm, void (*callback)(void *), void *arg);

/* Same with a priority. */
int starpu_mpi_issend_detached_prio(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                                    int prio, MPI_Comm comm, void (*callback)(void *), void *arg);

/* Starts a send after which task tag `tag` counts as done (starpu_tag_notify_from_apps()). Matched. */
int starpu_mpi_isend_detached_unlock_tag(starpu_data_handle_t data_handle, int dest,
                                         starpu_mpi_tag_t data_tag, MPI_Comm comm, starpu_tag_t tag);

/* Same with a priority. */
int starpu_mpi_isend_detached_unlock_tag_prio(starpu_data_handle_t data_handle, int dest,
                                              starpu_mpi_tag_t data_tag, int prio, MPI_Comm comm,
                                              starpu_tag_t tag);

/* Starts a receive after which `tag` counts as done. Matched. */
int starpu_mpi_irecv_detached_unlock_tag(starpu_data_handle_t data_handle, int source,
                                         starpu_mpi_tag_t data_tag, MPI_Comm comm, starpu_tag_t tag);

/* Starts `array_size` sends, after all of which `tag` counts as done; at once if there are none. The arrays
 * are borrowed until return. Returns the last error of any of them; the others were started, and `tag` counts
 * as done after those. Matched. */
int starpu_mpi_isend_array_detached_unlock_tag(unsigned array_size, starpu_data_handle_t *data_handle,
                                               int *dest, starpu_mpi_tag_t *data_tag, MPI_Comm *comm,
                                               starpu_tag_t tag);

/* Same with priorities; `prio` NULL: 0 for all. */
int starpu_mpi_isend_array_detached_unlock_tag_prio(unsigned array_size, starpu_data_handle_t *data_handle,
                                                    int *dest, starpu_mpi_tag_t *data_tag, int *prio,
                                                    MPI_Comm *comm, starpu_tag_t tag);

/* Same for `array_size` receives. Matched. */
int starpu_mpi_irecv_array_detached_unlock_tag(unsigned array_size, starpu_data_handle_t *data_handle,
                                               int *source, starpu_mpi_tag_t *data_tag, MPI_Comm *comm,
                                               starpu_tag_t tag);

/* Waits until all ranks of `comm` are here. Tasks and transfers go on meanwhile, and are not waited for.
 * Collective. Blocks. Returns 0; -EINVAL; -EDEADLK; -ESHUTDOWN; -EIO: a rank could not be reached. */
int starpu_mpi_barrier(MPI_Comm comm);

/* Waits until all tasks and transfers of all ranks of `comm` are done; pending contributions to reductions
 * are added up first. Collective. Blocks. Returns the same; -EIO also: tasks or transfers of this rank failed
 * since the last time, which was said. */
int starpu_mpi_wait_for_all(MPI_Comm comm);

/* Same with the tasks of `sched_ctx` only, and all transfers; a context has another number on each rank,
 * perhaps. Collective. Blocks. Returns the same; -EINVAL also: there is no such context. */
int starpu_mpi_wait_for_all_in_ctx(MPI_Comm comm, unsigned sched_ctx);

/* ---- MPI datatypes of data interfaces. Without one, data is packed by its interface. To be registered at
 * any time before messages of such data, by any thread; return 0; -EINVAL: NULL, or no such interface ---- */

/* Sets *datatype to a committed type for the data. Returns 0; -1 to let the data be packed instead. */
typedef int (*starpu_mpi_datatype_allocate_func_t)(starpu_data_handle_t handle, MPI_Datatype *datatype);
/* Same for the copy on memory node `node`. */
typedef int (*starpu_mpi_datatype_node_allocate_func_t)(starpu_data_handle_t handle, unsigned node,
                                                        MPI_Datatype *datatype);
/* Frees the type. */
typedef void (*starpu_mpi_datatype_free_func_t)(MPI_Datatype *datatype);

/* Gives all data of an interface its MPI type. Local, the same on all ranks. */
int starpu_mpi_interface_datatype_register(enum starpu_data_interface_id id,
                                           starpu_mpi_datatype_allocate_func_t allocate_datatype_func,
                                           starpu_mpi_datatype_free_func_t free_datatype_func);

/* Same with a function that is told the memory node. */
int starpu_mpi_interface_datatype_node_register(
    enum starpu_data_interface_id id, starpu_mpi_datatype_node_allocate_func_t allocate_datatype_func,
    starpu_mpi_datatype_free_func_t free_datatype_func);

/* Undoes it. */
int starpu_mpi_interface_datatype_unregister(enum starpu_data_interface_id id);

/* Same for all data of the interface of `handle`. */
int starpu_mpi_datatype_register(starpu_data_handle_t handle,
                                 starpu_mpi_datatype_allocate_func_t allocate_datatype_func,
                                 starpu_mpi_datatype_free_func_t free_datatype_func);

/* Same with a function that is told the memory node. */
int starpu_mpi_datatype_node_register(starpu_data_handle_t handle,
                                      starpu_mpi_datatype_node_allocate_func_t allocate_datatype_func,
                                      starpu_mpi_datatype_free_func_t free_datatype_func);

/* Undoes it. */
int starpu_mpi_datatype_unregister(starpu_data_handle_t handle);

/* ---- Who owns data ---- */

/* In place of a rank: every rank has a value of its own, tasks read and write the local one. */
#define STARPU_MPI_PER_NODE -2

/* Gives the data its tag (-1: none) and its owner, `rank` of `comm` (-1: none; STARPU_MPI_PER_NODE). Every
 * rank that inserts tasks on it says the same. Where a placement moves data (ORRERY_MPI_SCHED=dmda, plan)
 * that includes whether it overlaps other data with an owner, such as its pieces or what it is a piece of:
 * else the job ends with an error at the first task on it. Of those it is the one that was given its owner
 * first that moves, until tasks use others of them. Local. */
void starpu_mpi_data_register_comm(starpu_data_handle_t data_handle, starpu_mpi_tag_t data_tag, int rank,
                                   MPI_Comm comm);

/* Says that the owner is another one now; the value is not moved. A rank that there is not: the data keeps
 * its owner, with a message. Local, the same on all ranks. */
void starpu_mpi_data_set_rank_comm(starpu_data_handle_t handle, int rank, MPI_Comm comm);

/* Gives the data its tag. Local; also before the initialisation. */
void starpu_mpi_data_set_tag(starpu_data_handle_t handle, starpu_mpi_tag_t data_tag);

/* Returns the owner, in the communicator with which it was given;
 * STARPU_MPI_PER_NODE; -1 if there is none. */
int starpu_mpi_data_get_rank(starpu_data_handle_t handle);

/* Returns the tag, -1 if there is none. */
starpu_mpi_tag_t starpu_mpi_data_get_tag(starpu_data_handle_t handle);

/* Moves the value to `new_rank`, which becomes the owner. All ranks that know the data, in the same
 * order. Does not block. Nothing happens to data that each rank has for itself. */
void starpu_mpi_data_migrate(MPI_Comm comm, starpu_data_handle_t handle, int new_rank);

/* Returns which ranks hold a contribution to a pending reduction, one byte each, NULL if none is
 * pending. The library's, until the reduction. Local. */
char *starpu_mpi_data_get_redux_map(starpu_data_handle_t handle);

/* Says that the value for rank `node` is to come from `new_source` instead of the owner. All ranks
 * that know the data. Out of memory: it comes from the owner, with a message. */
void starpu_mpi_data_set_source(starpu_data_handle_t data, int node, int new_source);

/* Returns the rank that the value for rank `node` comes from; -1: the handle is not registered. */
int starpu_mpi_data_get_source(starpu_data_handle_t data, int node);

/* Undoes starpu_mpi_data_set_source(). */
void starpu_mpi_data_reset_source(starpu_data_handle_t data, int node);

/* All on MPI_COMM_WORLD. */
#define starpu_mpi_data_register(data_handle, data_tag, rank)                                                \
    starpu_mpi_data_register_comm(data_handle, data_tag, rank, MPI_COMM_WORLD)
#define starpu_mpi_data_set_rank(handle, rank) starpu_mpi_data_set_rank_comm(handle, rank, MPI_COMM_WORLD)

/* Older spellings. */
#define starpu_data_set_tag starpu_mpi_data_set_tag
#define starpu_data_get_tag starpu_mpi_data_get_tag
#define starpu_data_set_rank starpu_mpi_data_set_rank
#define starpu_data_get_rank starpu_mpi_data_get_rank

/* Returns the first of `nbtags` neighbouring tags that no other call returned, by any thread; -EINVAL: fewer
 * than 1, or as many as are not left; -ENOMEM. Local: the same on all ranks if they all call in the same
 * order. At shutdown all are free. */
int64_t starpu_mpi_tags_allocate(int64_t nbtags);

/* Gives back what starpu_mpi_tags_allocate() returned; anything else: a message. */
void starpu_mpi_tags_free(int64_t mintag);

/* Returns the tag that a call for one tag would return now. */
int64_t starpu_mpi_tags_get_next_value(void);

/* ---- Tasks. All ranks insert the same tasks in the same order; a rank may leave out those in which
 * it has no part ---- */

/* Inserts a task with the arguments of starpu_task_insert(): it runs on the owner of the data it
 * writes, or as STARPU_EXECUTE_ON_NODE, STARPU_EXECUTE_ON_DATA or STARPU_NODE_SELECTION_POLICY say,
 * and the messages it needs are sent. Returns 0; -EINVAL when the rank cannot be worked out, or an argument
 * is unknown; on the rank that runs it what starpu_task_submit() returns (-ENODEV when no worker there can
 * run it); -ENOMEM; -ESHUTDOWN. */
int starpu_mpi_task_insert(MPI_Comm comm, struct starpu_codelet *codelet, ...);

/* Older spelling. Returns the same. */
int starpu_mpi_insert_task(MPI_Comm comm, struct starpu_codelet *codelet, ...);

/* Same up to the task itself: makes the transfers before it and returns the task on the rank that
 * runs it, NULL on the others, and after an error, which is said. To be submitted by the program, then
 * starpu_mpi_task_post_build() with the same arguments. */
struct starpu_task *starpu_mpi_task_build(MPI_Comm comm, struct starpu_codelet *codelet, ...);

/* Makes the transfers after a task that starpu_mpi_task_build() made, the last one with these arguments.
 * Returns 0; -EINVAL; -ENOMEM; -ESHUTDOWN. */
int starpu_mpi_task_post_build(MPI_Comm comm, struct starpu_codelet *codelet, ...);

/* Returns the same as starpu_mpi_task_build(), from a va_list. */
struct starpu_task *starpu_mpi_task_build_v(MPI_Comm comm, struct starpu_codelet *codelet, va_list varg_list);

/* Returns the same as starpu_mpi_task_post_build(), from a va_list. */
int starpu_mpi_task_post_build_v(MPI_Comm comm, struct starpu_codelet *codelet, va_list varg_list);

/* Inserts the task on each of the `p` ranks of `nodes` (borrowed until return). Data it writes is sent from
 * the first of them. Returns as starpu_mpi_task_insert(). */
int starpu_mpi_tasks_insert(MPI_Comm comm, struct starpu_codelet *codelet, int p, int *nodes, ...);

/* The macros add the place of the insertion, which messages about it name. The library's own
 * definitions come after #undefs. */
#define starpu_mpi_task_insert(comm, cl, ...)                                                                \
    starpu_mpi_task_insert((comm), (cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)
#define starpu_mpi_insert_task(comm, cl, ...)                                                                \
    starpu_mpi_insert_task((comm), (cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)
#define starpu_mpi_task_build(comm, cl, ...)                                                                 \
    starpu_mpi_task_build((comm), (cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)
#define starpu_mpi_task_post_build(comm, cl, ...)                                                            \
    starpu_mpi_task_post_build((comm), (cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__,         \
                               __VA_ARGS__)

/* A task whose transfers the program steers itself. */
struct starpu_mpi_task_exchange_params {
    int do_execute;      /* this rank runs the task */
    int xrank;           /* the rank that runs it */
    int priority;        /* of its messages */
    int exchange_needed; /* this rank has a transfer to make */
    int me;              /* this rank */
};

/* Works out where `task` runs, makes the transfers before it, fills `descrs` (room for the task's
 * data) and *params. Returns 0; -EINVAL: NULL, the task has no codelet, or the rank cannot be worked out;
 * -ENOMEM; -ESHUTDOWN. So do the others. */
int starpu_mpi_task_exchange_data_before_execution(MPI_Comm comm, struct starpu_task *task,
                                                   struct starpu_data_descr *descrs,
                                                   struct starpu_mpi_task_exchange_params *params);

/* Same for a task that runs on rank `xrank`. */
int starpu_mpi_task_exchange_data_before_execution_on_node(MPI_Comm comm, struct starpu_task *task,
                                                           struct starpu_data_descr *descrs,
                                                           struct starpu_mpi_task_exchange_params *params,
                                                           int xrank);

/* Makes the transfers after it. */
int starpu_mpi_task_exchange_data_after_execution(MPI_Comm comm, struct starpu_data_descr *descrs,
                                                  unsigned nb_data,
                                                  struct starpu_mpi_task_exchange_params params);

/* Makes the transfer of one piece of data before a task. */
int starpu_mpi_exchange_data_before_execution(MPI_Comm comm, starpu_data_handle_t data,
                                              enum starpu_data_access_mode mode,
                                              struct starpu_mpi_task_exchange_params *params);

/* Makes the transfer of one piece of data after a task. */
int starpu_mpi_exchange_data_after_execution(MPI_Comm comm, starpu_data_handle_t data,
                                             enum starpu_data_access_mode mode,
                                             struct starpu_mpi_task_exchange_params params);

/* Sends the value from its owner to rank `node`, and waits there. All ranks that know the data. Blocks.
 * Returns 0; -EINVAL; -EDEADLK; -ESHUTDOWN; -ENOMEM; on `node` -ENODATA: it did not come, which was said. */
int starpu_mpi_get_data_on_node(MPI_Comm comm, starpu_data_handle_t data_handle, int node);

/* Same without waiting; `callback(arg)` on rank `node`. Returns 0; -EINVAL; -ESHUTDOWN; -ENOMEM. */
int starpu_mpi_get_data_on_node_detached(MPI_Comm comm, starpu_data_handle_t data_handle, int node,
                                         void (*callback)(void *), void *arg);

/* Sends the value from its owner to all ranks. Collective. Does not block. */
void starpu_mpi_get_data_on_all_nodes_detached(MPI_Comm comm, starpu_data_handle_t data_handle);

/* Copies `src_handle` to `dst_handle`, between their owners if they differ.
 * `callback_func(callback_arg)` on the destination's owner. With `asynchronous` 0 the two owners
 * wait, which blocks: -EDEADLK in a task or a callback, where the copy goes on. All ranks that know the data.
 * Returns 0; -EINVAL, -ENOMEM, -ESHUTDOWN; where one rank owns both, what starpu_data_cpy() returns. */
int starpu_mpi_data_cpy(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle, MPI_Comm comm,
                        int asynchronous, void (*callback_func)(void *), void *callback_arg);

/* Same with a priority. Returns the same. */
int starpu_mpi_data_cpy_priority(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle,
                                 MPI_Comm comm, int asynchronous, void (*callback_func)(void *),
                                 void *callback_arg, int priority);

/* Calls `f(task)` before each task that starpu_mpi_task_insert() submits on this rank, on the thread that
 * inserts. Returns 0; -EBUSY: there is one already. */
int starpu_mpi_pre_submit_hook_register(void (*f)(struct starpu_task *));

/* Ends it. Returns 0. */
int starpu_mpi_pre_submit_hook_unregister(void);

/* ---- The cache of received values ---- */

/* Returns 1 if received values are kept until the data is written again (the default). */
int starpu_mpi_cache_is_enabled(void);

/* Turns the cache on or off, the same on all ranks between the same insertions. Turning it off drops what was
 * received. Returns 0. */
int starpu_mpi_cache_set(int enabled);

/* Drops what this rank received of the data, and remembers no more what was sent, once the tasks
 * submitted so far are done. All ranks that know the data. Does not block. */
void starpu_mpi_cache_flush(MPI_Comm comm, starpu_data_handle_t data_handle);

/* Same for all data. Collective. Does not block. */
void starpu_mpi_cache_flush_all_data(MPI_Comm comm);

/* Returns 1 if this rank keeps a received value of the data, else 0. */
int starpu_mpi_cached_receive(starpu_data_handle_t data_handle);

/* Says that this rank has received the value. Returns 1 if it was kept already, else 0. */
int starpu_mpi_cached_receive_set(starpu_data_handle_t data);

/* Says that the received value is no longer good. */
void starpu_mpi_cached_receive_clear(starpu_data_handle_t data);

/* Does and returns the same as starpu_mpi_cached_receive_set(): there are no checkpoints here. */
int starpu_mpi_cached_cp_receive_set(starpu_data_handle_t data_handle);

/* Returns 1 if the value was sent to rank `dest` of `comm`, which keeps it, else 0. */
int starpu_mpi_cached_send_comm(starpu_data_handle_t data_handle, int dest, MPI_Comm comm);

/* Says that it was sent there. Returns 1 if it was already, else 0. */
int starpu_mpi_cached_send_set_comm(starpu_data_handle_t data_handle, int dest, MPI_Comm comm);

/* Says that no rank has the value any more. */
void starpu_mpi_cached_send_clear(starpu_data_handle_t data);

/* All on MPI_COMM_WORLD. */
#define starpu_mpi_cached_send(data_handle, dest)                                                            \
    starpu_mpi_cached_send_comm(data_handle, dest, MPI_COMM_WORLD)
#define starpu_mpi_cached_send_set(data_handle, dest)                                                        \
    starpu_mpi_cached_send_set_comm(data_handle, dest, MPI_COMM_WORLD)

/* ---- Where tasks run that write data of several owners ---- */

/* The policy set by starpu_mpi_node_selection_set_current_policy(). */
#define STARPU_MPI_NODE_SELECTION_CURRENT_POLICY -1
/* The rank that owns the most bytes read and written, each counted (the default). */
#define STARPU_MPI_NODE_SELECTION_MOST_R_DATA 0

/* Returns the rank for a task on `nb_data` pieces of data. Must return the same on all ranks. */
typedef int (*starpu_mpi_select_node_policy_func_t)(int me, int nb_nodes, struct starpu_data_descr *descr,
                                                    int nb_data);

/* Adds a policy and returns its number, above 0; -EINVAL: NULL; -ENOSPC: there are 63. The same on all ranks;
 * by the thread that inserts tasks, as the next ones. At any time. */
int starpu_mpi_node_selection_register_policy(starpu_mpi_select_node_policy_func_t policy_func);

/* Removes a policy that the program added; the one in use is then the default. Returns 0; -EINVAL: there is
 * no such policy, or it is built in. */
int starpu_mpi_node_selection_unregister_policy(int policy);

/* Returns the number of the policy in use. */
int starpu_mpi_node_selection_get_current_policy(void);

/* Sets the policy in use (STARPU_MPI_NODE_SELECTION_CURRENT_POLICY: no change). The same on all ranks.
 * Returns 0; -EINVAL: there is no such policy. */
int starpu_mpi_node_selection_set_current_policy(int policy);

/* ---- Collective operations ---- */

/* Reduces the contributions (STARPU_REDUX, STARPU_MPI_REDUX) of all ranks into the owner's value.
 * Done by itself before the next other access. All ranks that contributed, and the owner. Does nothing
 * where no contribution was inserted by starpu_mpi_task_insert() since the last time. Does not block. Returns
 * 0; -EINVAL also: no reduction methods, or ranks contributed that are not in `comm`; -ENOMEM; -ESHUTDOWN. */
int starpu_mpi_redux_data(MPI_Comm comm, starpu_data_handle_t data_handle);

/* Same with a priority. */
int starpu_mpi_redux_data_prio(MPI_Comm comm, starpu_data_handle_t data_handle, int prio);

/* Same in a tree in which every rank sums up from `arity` others: 2 or more; 0: chosen; else -EINVAL. */
int starpu_mpi_redux_data_tree(MPI_Comm comm, starpu_data_handle_t data_handle, int arity);

/* Same with both. */
int starpu_mpi_redux_data_prio_tree(MPI_Comm comm, starpu_data_handle_t data_handle, int prio, int arity);

/* Sends from `root` each of `count` pieces of data to its owner. When all its sends are over, `root`
 * calls `scallback(sarg)`; when all its receives are, each other rank calls `rcallback(rarg)`.
 * Collective. Does not block. Returns 0; -EINVAL: no such root, or a list that is none; -ENOMEM; -ESHUTDOWN.
 * The array is borrowed until return. */
int starpu_mpi_scatter_detached(starpu_data_handle_t *data_handles, int count, int root, MPI_Comm comm,
                                void (*scallback)(void *), void *sarg, void (*rcallback)(void *), void *rarg);

/* Sends each of `count` pieces of data from its owner to `root`, which calls `rcallback(rarg)` when it
 * has all of them; the others call `scallback(sarg)`. Collective. Does not block. Returns the same. */
int starpu_mpi_gather_detached(starpu_data_handle_t *data_handles, int count, int root, MPI_Comm comm,
                               void (*scallback)(void *), void *sarg, void (*rcallback)(void *), void *rarg);

/* Asks that one large value for several ranks be forwarded along a tree: before the layer starts, and on all
 * ranks, else it has no effect. Under placements that move data (ORRERY_MPI_SCHED) all ranks see who has the
 * value, and who sends it next; under owner-computes its owner makes a tree of those whose sends, of tasks,
 * wait for the value when it is made, and who wait for it themselves. At any time. */
void starpu_mpi_coop_sends_set_use(int use_coop_sends);

/* Returns what was asked for, 1 or 0 (STARPU_MPI_COOP_SENDS; 1, if nothing was). At any time. */
int starpu_mpi_coop_sends_get_use(void);

/* Without effect: says that the next value of the data goes to `nb_sends` ranks. */
void starpu_mpi_coop_sends_data_handle_nb_sends(starpu_data_handle_t data_handle, int nb_sends);

/* ---- Counting ---- */

/* Counts the bytes sent to each rank, of messages that are started from here on. Local. */
void starpu_mpi_comm_stats_enable(void);

/* Stops counting messages that are started from here on. Local. */
void starpu_mpi_comm_stats_disable(void);

/* Sets the bytes sent to each rank of the communicator that the layer was started with, in an array of that
 * many. NULL is nothing. Local. */
void starpu_mpi_comm_stats_retrieve(size_t *comm_stats);

/* Older spelling. */
#define starpu_mpi_comm_amounts_retrieve starpu_mpi_comm_stats_retrieve

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_USE_MPI */

#endif /* STARPU_MPI_H */
