/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_fortran.h: functions for languages that know neither C's structures nor its variable arguments:
 * Fortran (fstarpu_mod.f90 declares them), Python (the package orrery). Threads: any, at any time but where
 * said. None blocks but fstarpu_data_map_filters() and fstarpu_data_acquire(), which are refused in tasks.
 * Owns: nothing; what an _allocate function gives is the caller's, to be given back by _free.
 * Not here: functions that such languages call under their C names (fstarpu_mod.f90 has them).
 *
 * Numbers of enumerations come as pointers (fstarpu_get_constant()), as arguments of fstarpu_task_insert()
 * are pointers all. Strings are copied. A NULL argument is ignored. */
#ifndef STARPU_FORTRAN_H
#define STARPU_FORTRAN_H

#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns the value of a constant, "FSTARPU_RW" say, as a pointer; of one that there is not -1, with a
 * message. */
void *fstarpu_get_constant(const char *name);

/* ---- starting ---- */

/* Make a configuration with default values; free it. Returns NULL: out of memory. */
struct starpu_conf *fstarpu_conf_allocate(void);
void fstarpu_conf_free(struct starpu_conf *conf);

/* Set a field. The name of the policy must stay until the runtime has started. */
void fstarpu_conf_set_sched_policy_name(struct starpu_conf *conf, const char *policy_name);
void fstarpu_conf_set_min_prio(struct starpu_conf *conf, int min_prio);
void fstarpu_conf_set_max_prio(struct starpu_conf *conf, int max_prio);
void fstarpu_conf_set_ncpu(struct starpu_conf *conf, int ncpu);
void fstarpu_conf_set_ncuda(struct starpu_conf *conf, int ncuda);
void fstarpu_conf_set_nopencl(struct starpu_conf *conf, int nopencl);

/* ---- codelets and models ---- */

/* Make a codelet; free one whose tasks have all ended, with its name. Returns NULL: out of memory. */
struct starpu_codelet *fstarpu_codelet_allocate(void);
void fstarpu_codelet_free(struct starpu_codelet *cl);

/* Set its name, model (borrowed), flags, mask of kinds of workers, colour, number of data; or say that each
 * task has its own number of data. */
void fstarpu_codelet_set_name(struct starpu_codelet *cl, const char *cl_name);
void fstarpu_codelet_set_color(struct starpu_codelet *cl, int color);
void fstarpu_codelet_set_model(struct starpu_codelet *cl, struct starpu_perfmodel *model);
void fstarpu_codelet_set_energy_model(struct starpu_codelet *cl, struct starpu_perfmodel *model);
void fstarpu_codelet_set_flags(struct starpu_codelet *cl, void *flags);
void fstarpu_codelet_set_where(struct starpu_codelet *cl, void *where);
void fstarpu_codelet_set_nbuffers(struct starpu_codelet *cl, int nbuffers);
void fstarpu_codelet_set_variable_nbuffers(struct starpu_codelet *cl);

/* Add an implementation, flags of the next one, a datum with its mode. One more than there is room for is
 * left out, with a message. */
void fstarpu_codelet_add_cpu_func(struct starpu_codelet *cl, starpu_cpu_func_t func);
void fstarpu_codelet_add_cuda_func(struct starpu_codelet *cl, starpu_cuda_func_t func);
void fstarpu_codelet_add_cuda_flags(struct starpu_codelet *cl, void *flags);
void fstarpu_codelet_add_opencl_func(struct starpu_codelet *cl, starpu_opencl_func_t func);
void fstarpu_codelet_add_opencl_flags(struct starpu_codelet *cl, void *flags);
void fstarpu_codelet_add_buffer(struct starpu_codelet *cl, void *mode);

/* Make a performance model; free one whose codelets are gone. Returns NULL: out of memory. */
struct starpu_perfmodel *fstarpu_perfmodel_allocate(void);
void fstarpu_perfmodel_free(struct starpu_perfmodel *model);
/* Set its symbol, its type. */
void fstarpu_perfmodel_set_symbol(struct starpu_perfmodel *model, const char *model_symbol);
void fstarpu_perfmodel_set_type(struct starpu_perfmodel *model, void *type);

/* ---- tasks ---- */

/* Submit a task. The list: the codelet; then kinds (fstarpu_get_constant()), each with its values, as
 * starpu_task_insert() takes them, numbers by their address and sizes as pointers; NULL at the end. Kinds:
 * modes, DATA_ARRAY, DATA_MODE_ARRAY, VALUE, CL_ARGS, CL_ARGS_NFREE, CALLBACK, PROLOGUE_CALLBACK,
 * PROLOGUE_CALLBACK_POP, each with _ARG (borrowed until the end), CALLBACK_WITH_ARG, PRIORITY,
 * EXECUTE_ON_WORKER, EXECUTE_WHERE, WORKER_ORDER, SCHED_CTX, TAG, TAG_ONLY, NAME (borrowed until the end),
 * FLOPS, TASK_COLOR, TASK_SYNCHRONOUS, TASK_DEPS_ARRAY, TASK_END_DEP, TASK_SCHED_DATA, TASK_NO_SUBMITORDER,
 * POSSIBLY_PARALLEL, HYPERVISOR_TAG, SEQUENTIAL_CONSISTENCY, HANDLES_SEQUENTIAL_CONSISTENCY (borrowed until
 * the end); and for ranks EXECUTE_ON_NODE, EXECUTE_ON_DATA, NODE_SELECTION_POLICY. Returns as
 * starpu_task_insert(); -EINVAL also: another kind. */
int fstarpu_task_insert(void **arglist);

/* starpu_tag_declare_deps_array() with a tag of 32 bits. */
void fstarpu_tag_declare_deps_array(int id, int ndeps, starpu_tag_t *tags);

/* In a task: copy the packed values (VALUE) to the addresses of the list, which NULL ends. */
void fstarpu_unpack_arg(void *cl_arg, void **bufferlist);

/* ---- what a task's body reads of its i-th datum, from 0: its address, its sizes ---- */

/* Return them. */
void *fstarpu_variable_get_ptr(void **buffers, int i);
void *fstarpu_vector_get_ptr(void **buffers, int i);
int fstarpu_vector_get_nx(void **buffers, int i);
void *fstarpu_matrix_get_ptr(void **buffers, int i);
int fstarpu_matrix_get_ld(void **buffers, int i);
int fstarpu_matrix_get_nx(void **buffers, int i);
int fstarpu_matrix_get_ny(void **buffers, int i);
void *fstarpu_block_get_ptr(void **buffers, int i);
int fstarpu_block_get_ldy(void **buffers, int i);
int fstarpu_block_get_ldz(void **buffers, int i);
int fstarpu_block_get_nx(void **buffers, int i);
int fstarpu_block_get_ny(void **buffers, int i);
int fstarpu_block_get_nz(void **buffers, int i);
void *fstarpu_tensor_get_ptr(void **buffers, int i);
int fstarpu_tensor_get_ldy(void **buffers, int i);
int fstarpu_tensor_get_ldz(void **buffers, int i);
int fstarpu_tensor_get_ldt(void **buffers, int i);
int fstarpu_tensor_get_nx(void **buffers, int i);
int fstarpu_tensor_get_ny(void **buffers, int i);
int fstarpu_tensor_get_nz(void **buffers, int i);
int fstarpu_tensor_get_nt(void **buffers, int i);

/* ---- data ---- */

/* The functions of that name with sizes of 32 bits. */
void fstarpu_vector_data_register(starpu_data_handle_t *handle, int home, void *ptr, int nx, size_t elemsize);
void fstarpu_matrix_data_register(starpu_data_handle_t *handle, int home, void *ptr, int ld, int nx, int ny,
                                  size_t elemsize);
void fstarpu_block_data_register(starpu_data_handle_t *handle, int home, void *ptr, int ldy, int ldz, int nx,
                                 int ny, int nz, size_t elemsize);
void fstarpu_tensor_data_register(starpu_data_handle_t *handle, int home, void *ptr, int ldy, int ldz,
                                  int ldt, int nx, int ny, int nz, int nt, size_t elemsize);
void fstarpu_matrix_ptr_register(starpu_data_handle_t handle, int node, void *ptr, void *dev_handle,
                                 size_t offset, int ld);
void fstarpu_block_ptr_register(starpu_data_handle_t handle, int node, void *ptr, void *dev_handle,
                                size_t offset, int ldy, int ldz);

/* starpu_data_acquire() with the mode as a pointer. Returns its status. Blocks. */
int fstarpu_data_acquire(starpu_data_handle_t handle, void *mode);

/* Make a filter of that name; free it. Return NULL: out of memory. The number of children is to be set, but
 * for vector_filter_divide_in_2 and bcsr_filter_canonical_block. */
struct starpu_data_filter *fstarpu_df_alloc_vector_filter_block(void);
struct starpu_data_filter *fstarpu_df_alloc_matrix_filter_block(void);
struct starpu_data_filter *fstarpu_df_alloc_matrix_filter_vertical_block(void);
struct starpu_data_filter *fstarpu_df_alloc_block_filter_block(void);
struct starpu_data_filter *fstarpu_df_alloc_vector_filter_block_shadow(void);
struct starpu_data_filter *fstarpu_df_alloc_vector_filter_list(void);
struct starpu_data_filter *fstarpu_df_alloc_vector_filter_divide_in_2(void);
struct starpu_data_filter *fstarpu_df_alloc_matrix_filter_block_shadow(void);
struct starpu_data_filter *fstarpu_df_alloc_matrix_filter_vertical_block_shadow(void);
struct starpu_data_filter *fstarpu_df_alloc_block_filter_block_shadow(void);
struct starpu_data_filter *fstarpu_df_alloc_block_filter_vertical_block(void);
struct starpu_data_filter *fstarpu_df_alloc_block_filter_vertical_block_shadow(void);
struct starpu_data_filter *fstarpu_df_alloc_tensor_filter_block(void);
struct starpu_data_filter *fstarpu_df_alloc_tensor_filter_vertical_block(void);
struct starpu_data_filter *fstarpu_df_alloc_tensor_filter_depth_block(void);
struct starpu_data_filter *fstarpu_df_alloc_tensor_filter_time_block(void);
struct starpu_data_filter *fstarpu_df_alloc_csr_filter_vertical_block(void);
struct starpu_data_filter *fstarpu_df_alloc_bcsr_filter_canonical_block(void);
struct starpu_data_filter *fstarpu_data_filter_allocate(void);
void fstarpu_data_filter_free(struct starpu_data_filter *filter);

/* Set a field: how many children; the functions of a filter of the program's own; its argument. */
typedef void (*fstarpu_filter_fn)(void *parent_interface, void *child_interface,
                                  struct starpu_data_filter *filter, unsigned id, unsigned nparts);
typedef unsigned (*fstarpu_get_nchildren_fn)(struct starpu_data_filter *filter, starpu_data_handle_t parent);
typedef struct starpu_data_interface_ops *(*fstarpu_get_child_ops_fn)(struct starpu_data_filter *filter,
                                                                      unsigned id);
void fstarpu_data_filter_set_nchildren(struct starpu_data_filter *filter, int nchildren);
void fstarpu_data_filter_set_filter_func(struct starpu_data_filter *filter, fstarpu_filter_fn func);
void fstarpu_data_filter_set_get_nchildren_func(struct starpu_data_filter *filter,
                                                fstarpu_get_nchildren_fn func);
void fstarpu_data_filter_set_get_child_ops_func(struct starpu_data_filter *filter,
                                                fstarpu_get_child_ops_fn func);
void fstarpu_data_filter_set_filter_arg(struct starpu_data_filter *filter, int filter_arg);
void fstarpu_data_filter_set_filter_arg_ptr(struct starpu_data_filter *filter, void *filter_arg_ptr);

/* A descendant of partitioned data, by child numbers of each level. Returns NULL, with a message: there is
 * none. */
starpu_data_handle_t fstarpu_data_get_sub_data(starpu_data_handle_t root, int depth, const int *indices);

/* Cut data, and the pieces again, by each filter in turn. Blocks. */
void fstarpu_data_map_filters(starpu_data_handle_t root, int nfilters, struct starpu_data_filter **filters);

/* Arrays of data, and of data with modes, for DATA_ARRAY and DATA_MODE_ARRAY. Return NULL: out of memory. */
starpu_data_handle_t *fstarpu_data_handle_array_alloc(int nb);
void fstarpu_data_handle_array_free(starpu_data_handle_t *handles);
void fstarpu_data_handle_array_set(starpu_data_handle_t *handles, int i, starpu_data_handle_t handle);
struct starpu_data_descr *fstarpu_data_descr_array_alloc(int nb);
void fstarpu_data_descr_array_free(struct starpu_data_descr *descrs);
void fstarpu_data_descr_array_set(struct starpu_data_descr *descrs, int i, starpu_data_handle_t handle,
                                  void *mode);

/* One of them; set it. To be given back by fstarpu_data_descr_array_free(). Returns NULL: out of memory. */
struct starpu_data_descr *fstarpu_data_descr_alloc(void);
void fstarpu_data_descr_set(struct starpu_data_descr *descr, starpu_data_handle_t handle, void *mode);

/* ---- contexts ---- */

/* starpu_sched_ctx_create() with a list that NULL ends: SCHED_CTX_POLICY_NAME (NULL: the default policy),
 * SCHED_CTX_POLICY_STRUCT, SCHED_CTX_POLICY_INIT, SCHED_CTX_USER_DATA, each with a pointer;
 * SCHED_CTX_POLICY_MIN_PRIO, SCHED_CTX_POLICY_MAX_PRIO, SCHED_CTX_HIERARCHY_LEVEL, SCHED_CTX_NESTED, each
 * with a number's address; SCHED_CTX_AWAKE_WORKERS. Returns the same; -EINVAL: another kind. */
int fstarpu_sched_ctx_create(int *workers, int nworkers, const char *name, void **arglist);

/* Print a context's workers to stderr. */
void fstarpu_sched_ctx_display_workers(int ctx);

/* ---- workers ---- */

/* Print the machine and the workers to stderr. */
void fstarpu_topology_print(void);

/* Write the type's name to dst, which has room for maxlen bytes with the 0. */
void fstarpu_worker_get_type_as_string(void *type, char *dst, size_t maxlen);

/* The functions of that name, with the type as a pointer. Return the same. */
int fstarpu_worker_get_by_devid(void *type, int devid);
void *fstarpu_worker_get_type(int workerid);
int fstarpu_worker_get_count_by_type(void *type);
int fstarpu_worker_get_ids_by_type(void *type, int *workerids, int maxsize);
int fstarpu_worker_get_by_type(void *type, int num);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
