/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c: the interface for languages without C's structures and variable arguments (starpu_fortran.h).
 * Threads: any. Owns: nothing. Not here: what such languages call by its C name. */
#include <starpu_fortran.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/foreign_list.h"

static void *pointer(intptr_t value)
{
    return (void *)value;
}

/* ---- constants ---- */

#define CONSTANT(name)                                                                                       \
    {                                                                                                        \
        "FSTARPU_" #name, (intptr_t)STARPU_##name                                                            \
    }

static const struct constant {
    const char *name;
    intptr_t value;
} constants[] = {
    CONSTANT(R),
    CONSTANT(W),
    CONSTANT(RW),
    CONSTANT(SCRATCH),
    CONSTANT(REDUX),
    CONSTANT(COMMUTE),
    CONSTANT(SSEND),
    CONSTANT(LOCALITY),
    CONSTANT(DATA_ARRAY),
    CONSTANT(DATA_MODE_ARRAY),
    CONSTANT(CL_ARGS),
    CONSTANT(CL_ARGS_NFREE),
    CONSTANT(CALLBACK),
    CONSTANT(CALLBACK_WITH_ARG),
    CONSTANT(CALLBACK_ARG),
    CONSTANT(PRIORITY),
    CONSTANT(EXECUTE_ON_NODE),
    CONSTANT(EXECUTE_ON_DATA),
    CONSTANT(EXECUTE_ON_WORKER),
    CONSTANT(WORKER_ORDER),
    CONSTANT(EXECUTE_WHERE),
    CONSTANT(FLOPS),
    CONSTANT(TAG),
    CONSTANT(TAG_ONLY),
    CONSTANT(NAME),
    CONSTANT(TASK_COLOR),
    CONSTANT(TASK_SYNCHRONOUS),
    CONSTANT(VALUE),
    CONSTANT(SCHED_CTX),
    CONSTANT(CPU_WORKER),
    CONSTANT(CUDA_WORKER),
    CONSTANT(OPENCL_WORKER),
    CONSTANT(ANY_WORKER),
    CONSTANT(NMAXBUFS),
    CONSTANT(NOWHERE),
    CONSTANT(CPU),
    CONSTANT(CUDA),
    CONSTANT(OPENCL),
    CONSTANT(CUDA_ASYNC),
    CONSTANT(OPENCL_ASYNC),
    CONSTANT(HISTORY_BASED),
    CONSTANT(REGRESSION_BASED),
    CONSTANT(NL_REGRESSION_BASED),
    CONSTANT(MULTIPLE_REGRESSION_BASED),
    CONSTANT(MPI_REDUX),
    CONSTANT(PROLOGUE_CALLBACK),
    CONSTANT(PROLOGUE_CALLBACK_ARG),
    CONSTANT(PROLOGUE_CALLBACK_POP),
    CONSTANT(PROLOGUE_CALLBACK_POP_ARG),
    CONSTANT(NODE_SELECTION_POLICY),
    CONSTANT(HYPERVISOR_TAG),
    CONSTANT(POSSIBLY_PARALLEL),
    CONSTANT(SEQUENTIAL_CONSISTENCY),
    CONSTANT(HANDLES_SEQUENTIAL_CONSISTENCY),
    CONSTANT(TASK_NO_SUBMITORDER),
    CONSTANT(TASK_DEPS_ARRAY),
    CONSTANT(TASK_END_DEP),
    CONSTANT(TASK_SCHED_DATA),
    CONSTANT(SCHED_CTX_POLICY_NAME),
    CONSTANT(SCHED_CTX_POLICY_STRUCT),
    CONSTANT(SCHED_CTX_POLICY_MIN_PRIO),
    CONSTANT(SCHED_CTX_POLICY_MAX_PRIO),
    CONSTANT(SCHED_CTX_POLICY_INIT),
    CONSTANT(SCHED_CTX_HIERARCHY_LEVEL),
    CONSTANT(SCHED_CTX_NESTED),
    CONSTANT(SCHED_CTX_AWAKE_WORKERS),
    CONSTANT(SCHED_CTX_USER_DATA),
    CONSTANT(PER_WORKER),
    CONSTANT(PER_ARCH),
    CONSTANT(CODELET_SIMGRID_EXECUTE),
    CONSTANT(CODELET_SIMGRID_EXECUTE_AND_INJECT),
};

void *fstarpu_get_constant(const char *name)
{
    for (size_t i = 0; name && i < sizeof constants / sizeof *constants; i++)
        if (!strcmp(constants[i].name, name)) return pointer(constants[i].value);
    orr_error("fstarpu_get_constant: there is no \"%s\"; starpu_fortran.h names the kinds, without FSTARPU_",
              name ? name : "");
    return pointer(-1);
}

/* ---- starting ---- */

struct starpu_conf *fstarpu_conf_allocate(void)
{
    struct starpu_conf *conf = orr_calloc(1, sizeof *conf);
    if (conf) starpu_conf_init(conf);
    return conf;
}

void fstarpu_conf_free(struct starpu_conf *conf)
{
    orr_free(conf);
}

void fstarpu_conf_set_sched_policy_name(struct starpu_conf *conf, const char *policy_name)
{
    if (conf) conf->sched_policy_name = policy_name;
}

void fstarpu_conf_set_min_prio(struct starpu_conf *conf, int min_prio)
{
    if (!conf) return;
    conf->global_sched_ctx_min_priority = min_prio;
}

void fstarpu_conf_set_max_prio(struct starpu_conf *conf, int max_prio)
{
    if (!conf) return;
    conf->global_sched_ctx_max_priority = max_prio;
}

void fstarpu_conf_set_ncpu(struct starpu_conf *conf, int ncpu)
{
    if (conf) conf->ncpus = ncpu;
}

void fstarpu_conf_set_ncuda(struct starpu_conf *conf, int ncuda)
{
    if (conf) conf->ncuda = ncuda;
}

void fstarpu_conf_set_nopencl(struct starpu_conf *conf, int nopencl)
{
    if (conf) conf->nopencl = nopencl;
}

/* ---- codelets and models ---- */

struct starpu_codelet *fstarpu_codelet_allocate(void)
{
    struct starpu_codelet *cl = orr_calloc(1, sizeof *cl);
    if (cl) starpu_codelet_init(cl);
    return cl;
}

static void replace(const char **text, const char *by)
{
    orr_free((void *)*text);
    *text = orr_strdup(by);
}

void fstarpu_codelet_free(struct starpu_codelet *cl)
{
    if (!cl) return;
    orr_free((void *)cl->name);
    orr_free(cl->dyn_modes);
    orr_free(cl);
}

void fstarpu_codelet_set_name(struct starpu_codelet *cl, const char *cl_name)
{
    if (cl) replace(&cl->name, cl_name);
}

void fstarpu_codelet_set_color(struct starpu_codelet *cl, int color)
{
    if (cl) cl->color = (unsigned)color;
}

void fstarpu_codelet_set_model(struct starpu_codelet *cl, struct starpu_perfmodel *model)
{
    if (cl) cl->model = model;
}

void fstarpu_codelet_set_energy_model(struct starpu_codelet *cl, struct starpu_perfmodel *model)
{
    if (cl) cl->energy_model = model;
}

void fstarpu_codelet_set_flags(struct starpu_codelet *cl, void *flags)
{
    if (cl) cl->flags = (int)(intptr_t)flags;
}

void fstarpu_codelet_set_where(struct starpu_codelet *cl, void *where)
{
    if (cl) cl->where = (uint32_t)(intptr_t)where;
}

void fstarpu_codelet_set_nbuffers(struct starpu_codelet *cl, int nbuffers)
{
    if (cl) cl->nbuffers = nbuffers;
}

void fstarpu_codelet_set_variable_nbuffers(struct starpu_codelet *cl)
{
    if (cl) cl->nbuffers = STARPU_VARIABLE_NBUFFERS;
}

/* The first free place of an array of functions; -1, with a message: there is none. */
static int place(const starpu_cpu_func_t *funcs)
{
    for (int i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (!funcs[i]) return i;
    orr_error("a codelet has %d implementations of a kind at most: this one is left out (configure "
              "--enable-maximplementations)",
              STARPU_MAXIMPLEMENTATIONS);
    return -1;
}

void fstarpu_codelet_add_cpu_func(struct starpu_codelet *cl, starpu_cpu_func_t func)
{
    int i = cl && func ? place(cl->cpu_funcs) : -1;
    if (i >= 0) cl->cpu_funcs[i] = func;
}

void fstarpu_codelet_add_cuda_func(struct starpu_codelet *cl, starpu_cuda_func_t func)
{
    int i = cl && func ? place(cl->cuda_funcs) : -1;
    if (i >= 0) cl->cuda_funcs[i] = func;
}

void fstarpu_codelet_add_opencl_func(struct starpu_codelet *cl, starpu_opencl_func_t func)
{
    int i = cl && func ? place(cl->opencl_funcs) : -1;
    if (i >= 0) cl->opencl_funcs[i] = func;
}

static void add_flags(char flags[STARPU_MAXIMPLEMENTATIONS], void *added)
{
    for (int i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++)
        if (!flags[i]) {
            flags[i] = (char)(intptr_t)added;
            return;
        }
}

void fstarpu_codelet_add_cuda_flags(struct starpu_codelet *cl, void *flags)
{
    if (cl) add_flags(cl->cuda_flags, flags);
}

void fstarpu_codelet_add_opencl_flags(struct starpu_codelet *cl, void *flags)
{
    if (cl) add_flags(cl->opencl_flags, flags);
}

void fstarpu_codelet_add_buffer(struct starpu_codelet *cl, void *mode)
{
    if (!cl) return;
    if (cl->nbuffers < 0 || cl->nbuffers >= STARPU_NMAXBUFS) {
        orr_error("fstarpu_codelet_add_buffer: a codelet has %d data at most: this one is left out "
                  "(fstarpu_codelet_set_variable_nbuffers(), and modes with each task)",
                  STARPU_NMAXBUFS);
        return;
    }
    cl->modes[cl->nbuffers++] = (enum starpu_data_access_mode)(intptr_t)mode;
}

struct starpu_perfmodel *fstarpu_perfmodel_allocate(void)
{
    return orr_calloc(1, sizeof(struct starpu_perfmodel));
}

void fstarpu_perfmodel_free(struct starpu_perfmodel *model)
{
    if (!model) return;
    starpu_perfmodel_unload_model(model);
    orr_free((void *)model->symbol);
    orr_free(model);
}

void fstarpu_perfmodel_set_symbol(struct starpu_perfmodel *model, const char *model_symbol)
{
    if (model) replace(&model->symbol, model_symbol);
}

void fstarpu_perfmodel_set_type(struct starpu_perfmodel *model, void *type)
{
    if (model) model->type = (enum starpu_perfmodel_type)(intptr_t)type;
}

/* ---- tasks ---- */

int fstarpu_task_insert(void **arglist)
{
    struct starpu_codelet *cl = arglist ? arglist[0] : NULL;
    if (!cl) {
        orr_error("fstarpu_task_insert: the list must begin with a codelet");
        return -EINVAL;
    }
    struct orr_foreign_list list;
    int error = orr_foreign_list_read(&list, cl, arglist + 1, "fstarpu_task_insert");
    if (!error) error = (starpu_task_insert)(cl, ORR_FOREIGN_ARGUMENTS(&list));
    orr_foreign_list_drop(&list);
    return error;
}

void fstarpu_tag_declare_deps_array(int id, int ndeps, starpu_tag_t *tags)
{
    starpu_tag_declare_deps_array((starpu_tag_t)id, (unsigned)ndeps, tags);
}

void fstarpu_unpack_arg(void *cl_arg, void **bufferlist)
{
    struct starpu_codelet_pack_arg_data state;
    if (!cl_arg || !bufferlist) return;
    starpu_codelet_unpack_arg_init(&state, cl_arg, 0);
    for (; *bufferlist && state.nargs > 0; bufferlist++) {
        void *value;
        size_t bytes;
        starpu_codelet_pick_arg(&state, &value, &bytes);
        memcpy(*bufferlist, value, bytes);
    }
}

/* ---- what a body reads ---- */

void *fstarpu_variable_get_ptr(void **buffers, int i)
{
    return (void *)STARPU_VARIABLE_GET_PTR(buffers[i]);
}

#define READ(result, shape, what, macro)                                                                     \
    result fstarpu_##shape##_get_##what(void **buffers, int i)                                               \
    {                                                                                                        \
        return (result)macro(buffers[i]);                                                                    \
    }
READ(void *, vector, ptr, STARPU_VECTOR_GET_PTR)
READ(int, vector, nx, STARPU_VECTOR_GET_NX)
READ(void *, matrix, ptr, STARPU_MATRIX_GET_PTR)
READ(int, matrix, ld, STARPU_MATRIX_GET_LD)
READ(int, matrix, nx, STARPU_MATRIX_GET_NX)
READ(int, matrix, ny, STARPU_MATRIX_GET_NY)
READ(void *, block, ptr, STARPU_BLOCK_GET_PTR)
READ(int, block, ldy, STARPU_BLOCK_GET_LDY)
READ(int, block, ldz, STARPU_BLOCK_GET_LDZ)
READ(int, block, nx, STARPU_BLOCK_GET_NX)
READ(int, block, ny, STARPU_BLOCK_GET_NY)
READ(int, block, nz, STARPU_BLOCK_GET_NZ)
READ(void *, tensor, ptr, STARPU_TENSOR_GET_PTR)
READ(int, tensor, ldy, STARPU_TENSOR_GET_LDY)
READ(int, tensor, ldz, STARPU_TENSOR_GET_LDZ)
READ(int, tensor, ldt, STARPU_TENSOR_GET_LDT)
READ(int, tensor, nx, STARPU_TENSOR_GET_NX)
READ(int, tensor, ny, STARPU_TENSOR_GET_NY)
READ(int, tensor, nz, STARPU_TENSOR_GET_NZ)
READ(int, tensor, nt, STARPU_TENSOR_GET_NT)

/* ---- data ---- */

/* C's functions with sizes of 32 bits, as other languages count. */
void fstarpu_vector_data_register(starpu_data_handle_t *handle, int home, void *ptr, int nx, size_t elemsize)
{
    starpu_vector_data_register(handle, home, (uintptr_t)ptr, (size_t)nx, elemsize);
}

void fstarpu_matrix_data_register(starpu_data_handle_t *handle, int home, void *ptr, int ld, int nx, int ny,
                                  size_t elemsize)
{
    starpu_matrix_data_register(handle, home, (uintptr_t)ptr, (size_t)ld, (size_t)nx, (size_t)ny, elemsize);
}

void fstarpu_block_data_register(starpu_data_handle_t *handle, int home, void *ptr, int ldy, int ldz, int nx,
                                 int ny, int nz, size_t elemsize)
{
    starpu_block_data_register(handle, home, (uintptr_t)ptr, (size_t)ldy, (size_t)ldz, (size_t)nx, (size_t)ny,
                               (size_t)nz, elemsize);
}

void fstarpu_tensor_data_register(starpu_data_handle_t *handle, int home, void *ptr, int ldy, int ldz,
                                  int ldt, int nx, int ny, int nz, int nt, size_t elemsize)
{
    starpu_tensor_data_register(handle, home, (uintptr_t)ptr, (size_t)ldy, (size_t)ldz, (size_t)ldt,
                                (size_t)nx, (size_t)ny, (size_t)nz, (size_t)nt, elemsize);
}

void fstarpu_matrix_ptr_register(starpu_data_handle_t handle, int node, void *ptr, void *dev_handle,
                                 size_t offset, int ld)
{
    starpu_matrix_ptr_register(handle, (unsigned)node, (uintptr_t)ptr, (uintptr_t)dev_handle, offset,
                               (size_t)ld);
}

void fstarpu_block_ptr_register(starpu_data_handle_t handle, int node, void *ptr, void *dev_handle,
                                size_t offset, int ldy, int ldz)
{
    starpu_block_ptr_register(handle, (unsigned)node, (uintptr_t)ptr, (uintptr_t)dev_handle, offset,
                              (size_t)ldy, (size_t)ldz);
}

int fstarpu_data_acquire(starpu_data_handle_t handle, void *mode)
{
    return starpu_data_acquire(handle, (enum starpu_data_access_mode)(intptr_t)mode);
}

struct starpu_data_filter *fstarpu_data_filter_allocate(void)
{
    return orr_calloc(1, sizeof(struct starpu_data_filter));
}

#define FILTER(name)                                                                                         \
    struct starpu_data_filter *fstarpu_df_alloc_##name(void)                                                 \
    {                                                                                                        \
        struct starpu_data_filter *filter = fstarpu_data_filter_allocate();                                  \
        if (filter) filter->filter_func = starpu_##name;                                                     \
        return filter;                                                                                       \
    }
FILTER(vector_filter_block)
FILTER(matrix_filter_block)
FILTER(matrix_filter_vertical_block)
FILTER(block_filter_block)
FILTER(vector_filter_block_shadow)
FILTER(vector_filter_list)
FILTER(matrix_filter_block_shadow)
FILTER(matrix_filter_vertical_block_shadow)
FILTER(block_filter_block_shadow)
FILTER(block_filter_vertical_block)
FILTER(block_filter_vertical_block_shadow)
FILTER(tensor_filter_block)
FILTER(tensor_filter_vertical_block)
FILTER(tensor_filter_depth_block)
FILTER(tensor_filter_time_block)
FILTER(csr_filter_vertical_block)

struct starpu_data_filter *fstarpu_df_alloc_vector_filter_divide_in_2(void)
{
    struct starpu_data_filter *filter = fstarpu_data_filter_allocate();
    if (filter) filter->filter_func = starpu_vector_filter_divide_in_2;
    if (filter) filter->nchildren = 2;
    return filter;
}

struct starpu_data_filter *fstarpu_df_alloc_bcsr_filter_canonical_block(void)
{
    struct starpu_data_filter *filter = fstarpu_data_filter_allocate();
    if (!filter) return NULL;
    filter->filter_func = starpu_bcsr_filter_canonical_block;
    filter->get_nchildren = starpu_bcsr_filter_canonical_block_get_nchildren;
    filter->get_child_ops = starpu_bcsr_filter_canonical_block_child_ops;
    return filter;
}

void fstarpu_data_filter_free(struct starpu_data_filter *filter)
{
    orr_free(filter);
}

void fstarpu_data_filter_set_nchildren(struct starpu_data_filter *filter, int nchildren)
{
    if (filter) filter->nchildren = (unsigned)nchildren;
}

void fstarpu_data_filter_set_filter_func(struct starpu_data_filter *filter, fstarpu_filter_fn func)
{
    if (filter) filter->filter_func = func;
}

void fstarpu_data_filter_set_get_nchildren_func(struct starpu_data_filter *filter,
                                                fstarpu_get_nchildren_fn func)
{
    if (filter) filter->get_nchildren = func;
}

void fstarpu_data_filter_set_get_child_ops_func(struct starpu_data_filter *filter,
                                                fstarpu_get_child_ops_fn func)
{
    if (filter) filter->get_child_ops = func;
}

void fstarpu_data_filter_set_filter_arg(struct starpu_data_filter *filter, int filter_arg)
{
    if (filter) filter->filter_arg = (unsigned)filter_arg;
}

void fstarpu_data_filter_set_filter_arg_ptr(struct starpu_data_filter *filter, void *filter_arg_ptr)
{
    if (filter) filter->filter_arg_ptr = filter_arg_ptr;
}

starpu_data_handle_t fstarpu_data_get_sub_data(starpu_data_handle_t root, int depth, const int *indices)
{
    for (int i = 0; i < depth && root; i++) root = starpu_data_get_child(root, (unsigned)indices[i]);
    return root;
}

void fstarpu_data_map_filters(starpu_data_handle_t root, int nfilters, struct starpu_data_filter **filters)
{
    starpu_data_map_filters_parray(root, nfilters, filters);
}

starpu_data_handle_t *fstarpu_data_handle_array_alloc(int nb)
{
    return nb > 0 ? orr_calloc((size_t)nb, sizeof(starpu_data_handle_t)) : NULL;
}

void fstarpu_data_handle_array_free(starpu_data_handle_t *handles)
{
    orr_free(handles);
}

void fstarpu_data_handle_array_set(starpu_data_handle_t *handles, int i, starpu_data_handle_t handle)
{
    if (handles) handles[i] = handle;
}

struct starpu_data_descr *fstarpu_data_descr_array_alloc(int nb)
{
    return nb > 0 ? orr_calloc((size_t)nb, sizeof(struct starpu_data_descr)) : NULL;
}

void fstarpu_data_descr_array_free(struct starpu_data_descr *descrs)
{
    orr_free(descrs);
}

void fstarpu_data_descr_array_set(struct starpu_data_descr *descrs, int i, starpu_data_handle_t handle,
                                  void *mode)
{
    if (descrs)
        descrs[i] = (struct starpu_data_descr){ handle, (enum starpu_data_access_mode)(intptr_t)mode };
}

struct starpu_data_descr *fstarpu_data_descr_alloc(void)
{
    return fstarpu_data_descr_array_alloc(1);
}

void fstarpu_data_descr_set(struct starpu_data_descr *descr, starpu_data_handle_t handle, void *mode)
{
    fstarpu_data_descr_array_set(descr, 0, handle, mode);
}

/* ---- contexts ---- */

struct foreign_ctx {
    const char *policy_name;
    struct starpu_sched_policy *policy;
    void (*policy_init)(unsigned);
    void *user_data;
    unsigned hierarchy_level, nested;
    struct {
        int kind, value;
    } optional[2];
    int noptional;
    int awake; /* STARPU_SCHED_CTX_AWAKE_WORKERS, or 0 */
};

/* Reads one kind with its value; the two priorities and the flag, which must not be said where they were not
 * given, go to optional, one behind the other. Returns how many values it had; -1: it is none. */
static int read_ctx(struct foreign_ctx *c, intptr_t kind, void *v)
{
    switch (kind) {
    case STARPU_SCHED_CTX_POLICY_NAME: c->policy_name = v ? v : ""; return 1;
    case STARPU_SCHED_CTX_POLICY_STRUCT: c->policy = v; return 1;
    case STARPU_SCHED_CTX_POLICY_INIT: memcpy(&c->policy_init, &v, sizeof v); return 1;
    case STARPU_SCHED_CTX_USER_DATA: c->user_data = v; return 1;
    case STARPU_SCHED_CTX_HIERARCHY_LEVEL: c->hierarchy_level = *(unsigned *)v; return 1;
    case STARPU_SCHED_CTX_NESTED: c->nested = *(unsigned *)v; return 1;
    case STARPU_SCHED_CTX_POLICY_MIN_PRIO:
    case STARPU_SCHED_CTX_POLICY_MAX_PRIO:
        if (c->noptional == 2) return -1;
        c->optional[c->noptional].kind = (int)kind;
        c->optional[c->noptional++].value = *(int *)v;
        return 1;
    case STARPU_SCHED_CTX_AWAKE_WORKERS: c->awake = (int)kind; return 0;
    default: return -1;
    }
}

int fstarpu_sched_ctx_create(int *workers, int nworkers, const char *name, void **arglist)
{
    struct foreign_ctx c = { .noptional = 0 };
    for (void **at = arglist; at && *at;) {
        intptr_t kind = (intptr_t)*at++;
        int values = read_ctx(&c, kind, *at);
        if (values < 0) {
            orr_error(
                "fstarpu_sched_ctx_create: %#lx, argument %td of the list, is no kind that it takes, or "
                "is there for the third time (starpu_fortran.h)",
                (unsigned long)kind, at - arglist);
            return -EINVAL;
        }
        at += values;
    }
    if (c.noptional < 2) c.optional[c.noptional].kind = c.awake; /* the list of C ends at the first 0 */
    int last = c.noptional == 2 ? c.awake : 0;
    return (int)starpu_sched_ctx_create(
        workers, nworkers, name, STARPU_SCHED_CTX_POLICY_STRUCT, c.policy, STARPU_SCHED_CTX_POLICY_NAME,
        c.policy_name, STARPU_SCHED_CTX_POLICY_INIT, c.policy_init, STARPU_SCHED_CTX_USER_DATA, c.user_data,
        STARPU_SCHED_CTX_HIERARCHY_LEVEL, c.hierarchy_level, STARPU_SCHED_CTX_NESTED, c.nested,
        c.optional[0].kind, c.optional[0].value, c.optional[1].kind, c.optional[1].value, last, 0);
}

void fstarpu_sched_ctx_display_workers(int ctx)
{
    starpu_sched_ctx_display_workers((unsigned)ctx, stderr);
}

/* ---- workers ---- */

void *fstarpu_worker_get_type(int workerid)
{
    return pointer((intptr_t)starpu_worker_get_type(workerid));
}

int fstarpu_worker_get_count_by_type(void *type)
{
    return starpu_worker_get_count_by_type((enum starpu_worker_archtype)(intptr_t)type);
}

int fstarpu_worker_get_ids_by_type(void *type, int *workerids, int maxsize)
{
    return (int)starpu_worker_get_ids_by_type((enum starpu_worker_archtype)(intptr_t)type, workerids,
                                              (unsigned)maxsize);
}

int fstarpu_worker_get_by_type(void *type, int num)
{
    return starpu_worker_get_by_type((enum starpu_worker_archtype)(intptr_t)type, num);
}

int fstarpu_worker_get_by_devid(void *type, int devid)
{
    return starpu_worker_get_by_devid((enum starpu_worker_archtype)(intptr_t)type, devid);
}

void fstarpu_worker_get_type_as_string(void *type, char *dst, size_t maxlen)
{
    if (maxlen)
        snprintf(dst, maxlen, "%s",
                 starpu_worker_get_type_as_string((enum starpu_worker_archtype)(intptr_t)type));
}

void fstarpu_topology_print(void)
{
    starpu_topology_print(stderr);
}
