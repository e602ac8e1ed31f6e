/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c: the interface for languages without C's structures and variable arguments (starpu_fortran.h).
 * Threads: any. Owns: nothing. Not here: what such languages call by its C name. */
#include <starpu_fortran.h>

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

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

/* What the list says that the task gets at its building, before its other fields. */
struct inserted {
    struct starpu_data_descr *data;
    int count, room;
    struct starpu_codelet_pack_arg_data values;
    int has_values;
};

static int add_datum(struct inserted *in, starpu_data_handle_t handle, enum starpu_data_access_mode mode)
{
    if (in->count == in->room) {
        int room = in->room ? 2 * in->room : 8;
        struct starpu_data_descr *data = orr_realloc(in->data, (size_t)room * sizeof *data);
        if (!data) return -ENOMEM;
        in->data = data;
        in->room = room;
    }
    in->data[in->count++] = (struct starpu_data_descr){ handle, mode };
    return 0;
}

static int add_array(struct inserted *in, const struct starpu_codelet *cl, starpu_data_handle_t *handles,
                     int nb)
{
    int error = 0;
    for (int i = 0; i < nb && !error; i++) {
        int known = cl->nbuffers > in->count;
        error = add_datum(in, handles[i], known ? STARPU_CODELET_GET_MODE(cl, in->count) : STARPU_RW);
    }
    return error;
}

/* How many values follow a kind; -1: it is none that lists may have. */
static int values_of(intptr_t kind)
{
    switch (kind) {
    case STARPU_VALUE:
    case STARPU_CL_ARGS:
    case STARPU_CL_ARGS_NFREE:
    case STARPU_DATA_ARRAY:
    case STARPU_DATA_MODE_ARRAY:
    case STARPU_CALLBACK_WITH_ARG: return 2;
    case STARPU_CALLBACK:
    case STARPU_CALLBACK_ARG:
    case STARPU_PRIORITY:
    case STARPU_EXECUTE_ON_WORKER:
    case STARPU_EXECUTE_WHERE:
    case STARPU_WORKER_ORDER:
    case STARPU_SCHED_CTX:
    case STARPU_TAG:
    case STARPU_TAG_ONLY:
    case STARPU_NAME:
    case STARPU_FLOPS:
    case STARPU_TASK_COLOR:
    case STARPU_TASK_SYNCHRONOUS: return 1;
    default: return kind > 0 && kind < STARPU_ACCESS_MODE_MAX ? 1 : -1;
    }
}

/* Data and packed values of one kind with its values. */
static int gather(struct inserted *in, const struct starpu_codelet *cl, intptr_t kind, void **v)
{
    if (kind < STARPU_ACCESS_MODE_MAX) return add_datum(in, v[0], (enum starpu_data_access_mode)kind);
    if (kind == STARPU_DATA_ARRAY) return add_array(in, cl, v[0], *(int *)v[1]);
    if (kind == STARPU_DATA_MODE_ARRAY) {
        struct starpu_data_descr *data = v[0];
        int error = 0;
        for (int i = 0; i < *(int *)v[1] && !error; i++) error = add_datum(in, data[i].handle, data[i].mode);
        return error;
    }
    if (kind != STARPU_VALUE) return 0;
    if (!in->has_values) starpu_codelet_pack_arg_init(&in->values);
    in->has_values = 1;
    starpu_codelet_pack_arg(&in->values, v[0], (size_t)(intptr_t)v[1]);
    return 0;
}

/* A field of the task; what gather() took is left out. */
static void set_field(struct starpu_task *task, intptr_t kind, void **v)
{
    switch (kind) {
    case STARPU_CL_ARGS:
    case STARPU_CL_ARGS_NFREE:
        task->cl_arg = v[0];
        task->cl_arg_size = (size_t)(intptr_t)v[1];
        task->cl_arg_free = kind == STARPU_CL_ARGS;
        break;
    case STARPU_CALLBACK_WITH_ARG: task->callback_arg = v[1]; /* fall through */
    case STARPU_CALLBACK: memcpy(&task->callback_func, &v[0], sizeof v[0]); break;
    case STARPU_CALLBACK_ARG: task->callback_arg = v[0]; break;
    case STARPU_PRIORITY: task->priority = *(int *)v[0]; break;
    case STARPU_EXECUTE_ON_WORKER:
        task->execute_on_a_specific_worker = *(int *)v[0] >= 0;
        task->workerid = (unsigned)*(int *)v[0];
        break;
    case STARPU_EXECUTE_WHERE: task->where = (int32_t) * (unsigned long long *)v[0]; break;
    case STARPU_WORKER_ORDER: task->workerorder = *(unsigned *)v[0]; break;
    case STARPU_SCHED_CTX: task->sched_ctx = *(unsigned *)v[0]; break;
    case STARPU_TAG: task->use_tag = 1; /* fall through */
    case STARPU_TAG_ONLY: task->tag_id = *(starpu_tag_t *)v[0]; break;
    case STARPU_NAME: task->name = v[0]; break;
    case STARPU_FLOPS: task->flops = *(double *)v[0]; break;
    case STARPU_TASK_COLOR: task->color = *(unsigned *)v[0]; break;
    case STARPU_TASK_SYNCHRONOUS: task->synchronous = *(int *)v[0] != 0; break;
    default: break;
    }
}

/* Reads the list once: with a task its fields are set, without one its data and values are gathered. */
static int read_list(struct inserted *in, struct starpu_codelet *cl, struct starpu_task *task, void **list)
{
    for (void **at = list; *at;) {
        intptr_t kind = (intptr_t)*at++;
        int values = values_of(kind);
        if (values < 0) {
            orr_error("fstarpu_task_insert: %#lx, argument %td of the list, is no kind that it takes "
                      "(starpu_fortran.h)",
                      (unsigned long)kind, at - list);
            return -EINVAL;
        }
        if (task) set_field(task, kind, at);
        int error = task ? 0 : gather(in, cl, kind, at);
        if (error) return error;
        at += values;
    }
    return 0;
}

int fstarpu_task_insert(void **arglist)
{
    struct starpu_codelet *cl = arglist ? arglist[0] : NULL;
    struct inserted in = { .count = 0 };
    struct starpu_task *task = NULL;
    if (!cl) {
        orr_error("fstarpu_task_insert: the list must begin with a codelet");
        return -EINVAL;
    }
    int error = read_list(&in, cl, NULL, arglist + 1);
    if (!error && !(task = starpu_task_build(cl, STARPU_DATA_MODE_ARRAY, in.data, in.count, 0)))
        error = -EINVAL;
    if (!error) error = read_list(&in, cl, task, arglist + 1);
    if (in.has_values) {
        void *values = NULL;
        size_t bytes = 0;
        starpu_codelet_pack_arg_fini(&in.values, &values, &bytes);
        if (!error) {
            task->cl_arg = values;
            task->cl_arg_size = bytes;
            task->cl_arg_free = 1;
        } else
            orr_free(values);
    }
    if (!error && (error = (starpu_task_submit)(task)) != 0) starpu_task_destroy(task);
    orr_free(in.data);
    return error;
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

/* ---- data ---- */

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

void fstarpu_data_filter_free(struct starpu_data_filter *filter)
{
    orr_free(filter);
}

void fstarpu_data_filter_set_nchildren(struct starpu_data_filter *filter, int nchildren)
{
    if (filter) filter->nchildren = (unsigned)nchildren;
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
