/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_task_util.h: making and submitting a task in one call, and packing its arguments.
 *
 * Threads: any, task bodies and callbacks too; a buffer being packed or unpacked by one at a time. Nothing
 * blocks, but to insert a synchronous task.
 * Owns: nothing.
 * Not here: the same over MPI (starpu_mpi.h), the task itself (starpu_task.h).
 *
 * starpu_task_insert(&cl, STARPU_RW, handle, STARPU_VALUE, &n, sizeof(n), STARPU_PRIORITY, 3, 0): after the
 * codelet come argument kinds, each followed by its arguments, ended by 0. An access mode (starpu_data.h) is
 * a kind too, followed by a handle. The kinds that carry data come in the order of the codelet's modes, the
 * others anywhere.
 */
#ifndef STARPU_TASK_UTIL_H
#define STARPU_TASK_UTIL_H

#include <starpu_data.h>
#include <starpu_task.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Argument kinds: multiples of 1 << STARPU_MODE_SHIFT, above every access mode ---- */

#define STARPU_MODE_SHIFT 17
#define STARPU_ARGUMENT_KIND_(n) ((n) << STARPU_MODE_SHIFT)

/* const void *, size_t: a value, copied, for starpu_codelet_unpack_args() in the body */
#define STARPU_VALUE STARPU_ARGUMENT_KIND_(1)
/* void (*)(void *): starpu_task::callback_func; its argument; both. Arguments are freed with the task, except
 * _NFREE's */
#define STARPU_CALLBACK STARPU_ARGUMENT_KIND_(2)
#define STARPU_CALLBACK_WITH_ARG STARPU_ARGUMENT_KIND_(3)
#define STARPU_CALLBACK_ARG STARPU_ARGUMENT_KIND_(4)
/* int */
#define STARPU_PRIORITY STARPU_ARGUMENT_KIND_(5)
/* int: MPI, the rank that runs the task */
#define STARPU_EXECUTE_ON_NODE STARPU_ARGUMENT_KIND_(6)
/* starpu_data_handle_t: MPI, the owner of this datum runs the task */
#define STARPU_EXECUTE_ON_DATA STARPU_ARGUMENT_KIND_(7)
/* starpu_data_handle_t *, int: data, in the codelet's modes */
#define STARPU_DATA_ARRAY STARPU_ARGUMENT_KIND_(8)
/* struct starpu_data_descr *, int: data with their modes */
#define STARPU_DATA_MODE_ARRAY STARPU_ARGUMENT_KIND_(9)
/* int *, int: on which memory nodes the first data are wanted (STARPU_SPECIFIC_NODE_... too), before what the
 * codelet's nodes say; copied */
#define STARPU_NODE_ARRAY STARPU_ARGUMENT_KIND_(53)
/* starpu_tag_t: tag_id, with use_tag */
#define STARPU_TAG STARPU_ARGUMENT_KIND_(10)
/* int */
#define STARPU_HYPERVISOR_TAG STARPU_ARGUMENT_KIND_(11)
/* double */
#define STARPU_FLOPS STARPU_ARGUMENT_KIND_(12)
/* unsigned: scheduling context */
#define STARPU_SCHED_CTX STARPU_ARGUMENT_KIND_(13)
/* void (*)(void *), void *: the prologue callbacks and their arguments */
#define STARPU_PROLOGUE_CALLBACK STARPU_ARGUMENT_KIND_(14)
#define STARPU_PROLOGUE_CALLBACK_ARG STARPU_ARGUMENT_KIND_(15)
#define STARPU_PROLOGUE_CALLBACK_POP STARPU_ARGUMENT_KIND_(16)
#define STARPU_PROLOGUE_CALLBACK_POP_ARG STARPU_ARGUMENT_KIND_(17)
/* int: workerid, with execute_on_a_specific_worker */
#define STARPU_EXECUTE_ON_WORKER STARPU_ARGUMENT_KIND_(18)
/* unsigned long long: where */
#define STARPU_EXECUTE_WHERE STARPU_ARGUMENT_KIND_(19)
/* starpu_tag_t: tag_id, without use_tag */
#define STARPU_TAG_ONLY STARPU_ARGUMENT_KIND_(20)
/* unsigned: possibly_parallel, which has no effect */
#define STARPU_POSSIBLY_PARALLEL STARPU_ARGUMENT_KIND_(21)
/* unsigned: workerorder */
#define STARPU_WORKER_ORDER STARPU_ARGUMENT_KIND_(22)
/* int: MPI, a policy that chooses the rank */
#define STARPU_NODE_SELECTION_POLICY STARPU_ARGUMENT_KIND_(23)
/* const char *: name */
#define STARPU_NAME STARPU_ARGUMENT_KIND_(24)
/* void *, size_t: cl_arg and its size; freed with the task, or not */
#define STARPU_CL_ARGS STARPU_ARGUMENT_KIND_(25)
#define STARPU_CL_ARGS_NFREE STARPU_ARGUMENT_KIND_(26)
/* unsigned, struct starpu_task **: tasks to wait for */
#define STARPU_TASK_DEPS_ARRAY STARPU_ARGUMENT_KIND_(27)
/* unsigned: color */
#define STARPU_TASK_COLOR STARPU_ARGUMENT_KIND_(28)
/* unsigned char *: handles_sequential_consistency */
#define STARPU_HANDLES_SEQUENTIAL_CONSISTENCY STARPU_ARGUMENT_KIND_(29)
/* int: synchronous */
#define STARPU_TASK_SYNCHRONOUS STARPU_ARGUMENT_KIND_(30)
/* unsigned, struct starpu_task **: tasks that the end waits for */
#define STARPU_TASK_END_DEPS_ARRAY STARPU_ARGUMENT_KIND_(31)
/* int: number of starpu_task_end_dep_release() that the end waits for */
#define STARPU_TASK_END_DEP STARPU_ARGUMENT_KIND_(32)
/* unsigned, uint32_t *: workerids_len and workerids */
#define STARPU_TASK_WORKERIDS STARPU_ARGUMENT_KIND_(33)
/* unsigned: sequential_consistency */
#define STARPU_SEQUENTIAL_CONSISTENCY STARPU_ARGUMENT_KIND_(34)
/* struct starpu_profiling_task_info * */
#define STARPU_TASK_PROFILING_INFO STARPU_ARGUMENT_KIND_(35)
/* unsigned: no_submitorder, which has no effect */
#define STARPU_TASK_NO_SUBMITORDER STARPU_ARGUMENT_KIND_(36)
/* as the kinds without _NFREE, but the argument is not freed */
#define STARPU_CALLBACK_ARG_NFREE STARPU_ARGUMENT_KIND_(37)
#define STARPU_CALLBACK_WITH_ARG_NFREE STARPU_ARGUMENT_KIND_(38)
#define STARPU_PROLOGUE_CALLBACK_ARG_NFREE STARPU_ARGUMENT_KIND_(39)
#define STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE STARPU_ARGUMENT_KIND_(40)
/* void *: sched_data */
#define STARPU_TASK_SCHED_DATA STARPU_ARGUMENT_KIND_(41)
/* struct starpu_transaction *: the task is of its current epoch (starpu_transaction_open()) */
#define STARPU_TRANSACTION STARPU_ARGUMENT_KIND_(42)
/* const char *, int: where the task was submitted; borrowed for good */
#define STARPU_TASK_FILE STARPU_ARGUMENT_KIND_(43)
#define STARPU_TASK_LINE STARPU_ARGUMENT_KIND_(44)
/* void (*)(void *), void *: the epilogue callback and its argument */
#define STARPU_EPILOGUE_CALLBACK STARPU_ARGUMENT_KIND_(45)
#define STARPU_EPILOGUE_CALLBACK_ARG STARPU_ARGUMENT_KIND_(46)
/* Recursive tasks and others of StarPU's development version: known by name, and refused with -EINVAL. */
#define STARPU_RECURSIVE_TASK_FUNC STARPU_ARGUMENT_KIND_(47)
#define STARPU_RECURSIVE_TASK_FUNC_ARG STARPU_ARGUMENT_KIND_(48)
#define STARPU_RECURSIVE_TASK_GEN_DAG_FUNC STARPU_ARGUMENT_KIND_(49)
#define STARPU_RECURSIVE_TASK_GEN_DAG_FUNC_ARG STARPU_ARGUMENT_KIND_(50)
#define STARPU_RECURSIVE_TASK_PARENT STARPU_ARGUMENT_KIND_(51)
#define STARPU_RECURSIVE_TASK_NO_PRUNE STARPU_ARGUMENT_KIND_(52)
#define STARPU_SOON_CALLBACK STARPU_ARGUMENT_KIND_(54)
#define STARPU_SOON_CALLBACK_ARG STARPU_ARGUMENT_KIND_(55)
#define STARPU_SOON_CALLBACK_ARG_NFREE STARPU_ARGUMENT_KIND_(56)
/* Above every kind. */
#define STARPU_SHIFTED_MODE_MAX STARPU_ARGUMENT_KIND_(64)

/* ---- Making tasks ---- */

/* Make and submit a task. Returns as starpu_task_submit(); -EINVAL also: an unknown argument kind, or data
 * that do not go with the codelet. After an error nothing is left of it. */
int starpu_task_insert(struct starpu_codelet *cl, ...);

/* Old name of the same. Returns the same. */
int starpu_insert_task(struct starpu_codelet *cl, ...);

/* Make a task without submitting it; it is the caller's. Returns NULL after an error, which was reported. */
struct starpu_task *starpu_task_build(struct starpu_codelet *cl, ...);

/* Fill in a task that the program made. Returns 0; -EINVAL: NULL, or as above; -ENOMEM. */
int starpu_task_set(struct starpu_task *task, struct starpu_codelet *cl, ...);

/* These note the caller's file and line, for messages. */
#define starpu_task_insert(cl, ...)                                                                          \
    starpu_task_insert((cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)
#define starpu_insert_task(cl, ...)                                                                          \
    starpu_insert_task((cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)
#define starpu_task_build(cl, ...)                                                                           \
    starpu_task_build((cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)
#define starpu_task_set(task, cl, ...)                                                                       \
    starpu_task_set((task), (cl), STARPU_TASK_FILE, __FILE__, STARPU_TASK_LINE, __LINE__, __VA_ARGS__)

/* ---- Building blocks for a program's own insertion function ---- */

/* Make room for `room` data more than current_buffer; allocated_buffers says how many the task has room for,
 * which stays as it was when out of memory. */
void starpu_task_insert_data_make_room(struct starpu_codelet *cl, struct starpu_task *task,
                                       int *allocated_buffers, int current_buffer, int room);

/* Add one datum in mode arg_type; several in the codelet's modes; several in their own modes. */
void starpu_task_insert_data_process_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                         int *allocated_buffers, int *current_buffer, int arg_type,
                                         starpu_data_handle_t handle);
void starpu_task_insert_data_process_array_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                               int *allocated_buffers, int *current_buffer, int nb_handles,
                                               starpu_data_handle_t *handles);
void starpu_task_insert_data_process_mode_array_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                                    int *allocated_buffers, int *current_buffer,
                                                    int nb_descrs, struct starpu_data_descr *descrs);

/* ---- Packing and unpacking values for a task body ---- */

/* Pack values, given as STARPU_VALUE, pointer, size, ..., 0, into a new buffer for cl_arg; the caller's, to
 * free(); NULL and 0 if there are none. Another kind ends it, with a message. Out of memory:
 * orrery_set_error_hook(). */
void starpu_codelet_pack_args(void **arg_buffer, size_t *arg_buffer_size, ...);

/* Copy packed values, in order, to the pointers given, ended by 0; a NULL pointer ends it too. */
void starpu_codelet_unpack_args(void *cl_arg, ...);

/* The same, and copy the packed values that remain to buffer, for a later unpack; what does not fit into
 * buffer_size bytes is not copied, with a message. */
void starpu_codelet_unpack_args_and_copyleft(void *cl_arg, void *buffer, size_t buffer_size, ...);

/* A buffer being packed or unpacked value by value. */
struct starpu_codelet_pack_arg_data {
    char *arg_buffer;
    size_t arg_buffer_size; /* bytes allocated, or given */
    size_t arg_buffer_used; /* bytes packed */
    size_t current_offset;  /* next byte to unpack */
    int nargs;
};

/* Pack: init, any number of values (copied), fini, which hands the buffer over to the caller, to free(). */
void starpu_codelet_pack_arg_init(struct starpu_codelet_pack_arg_data *state);
void starpu_codelet_pack_arg(struct starpu_codelet_pack_arg_data *state, const void *ptr, size_t ptr_size);
void starpu_codelet_pack_arg_fini(struct starpu_codelet_pack_arg_data *state, void **cl_arg,
                                  size_t *cl_arg_size);

/* Unpack: init on a packed buffer (borrowed until fini), then for each value one of: copy it to ptr, which
 * has its size (NULL: skip it); copy it to a new block, the caller's to free() (NULL: out of memory); point
 * into the buffer; skip it. When no value is left: a message, NULL and 0. */
void starpu_codelet_unpack_arg_init(struct starpu_codelet_pack_arg_data *state, void *cl_arg,
                                    size_t cl_arg_size);
void starpu_codelet_unpack_arg(struct starpu_codelet_pack_arg_data *state, void *ptr, size_t size);
void starpu_codelet_dup_arg(struct starpu_codelet_pack_arg_data *state, void **ptr, size_t *size);
void starpu_codelet_pick_arg(struct starpu_codelet_pack_arg_data *state, void **ptr, size_t *size);
void starpu_codelet_unpack_discard_arg(struct starpu_codelet_pack_arg_data *state);
void starpu_codelet_unpack_arg_fini(struct starpu_codelet_pack_arg_data *state);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
