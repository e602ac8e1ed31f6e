/* SPDX-License-Identifier: BSD-3-Clause */
/* insert.c: starpu_task_insert and its relatives: a task from a list of arguments.
 * Threads: any. Owns: nothing. Not here: packed values (args.c), ranks (mpi/place/insert.c).
 *
 * The list is walked once. Data go straight into the task; values into a buffer of the task's own. */
#include "core/task/insert.h"

#include <stdlib.h>
#include <string.h>

#include <orrery.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/args.h"
#include "core/task/task.h"
#include "core/task/transaction.h"

#undef starpu_task_insert
#undef starpu_insert_task
#undef starpu_task_build
#undef starpu_task_set
#undef starpu_task_submit /* the task knows where it was inserted */

enum { MODE_FLAGS_COMPARED = STARPU_RW | STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX };

/* A task being filled in. */
struct building {
    struct starpu_codelet *cl;
    struct starpu_task *task;
    struct orr_args args;
    unsigned count; /* data so far */
    unsigned room;  /* data there is room for in dyn_handles; 0: inline */
    int error;
};

static int fail(struct building *b, int error)
{
    if (!b->error) b->error = error;
    return error;
}

/* ---- data ---- */

static bool modes_are_variable(const struct starpu_codelet *cl)
{
    return cl->nbuffers == STARPU_VARIABLE_NBUFFERS;
}

/* Moves what is inline to dynamic arrays, and enlarges those. */
static int make_room(struct building *b, unsigned wanted)
{
    struct starpu_task *t = b->task;
    unsigned room = wanted > 2 * b->room ? wanted : 2 * b->room;
    starpu_data_handle_t *handles = orr_realloc(t->dyn_handles, room * sizeof *handles);
    if (!handles) return fail(b, -ENOMEM);
    if (!t->dyn_handles) memcpy(handles, t->handles, b->count * sizeof *handles);
    t->dyn_handles = handles;
    if (modes_are_variable(b->cl)) {
        enum starpu_data_access_mode *modes = orr_realloc(t->dyn_modes, room * sizeof *modes);
        if (!modes) return fail(b, -ENOMEM);
        if (!t->dyn_modes) memcpy(modes, t->modes, b->count * sizeof *modes);
        t->dyn_modes = modes;
    }
    b->room = room;
    return 0;
}

/* The codelet's mode for datum i against the one given: equal, or not said by the codelet so far. */
static int check_mode(struct building *b, unsigned i, int mode)
{
    struct starpu_codelet *cl = b->cl;
    if (orr_unlikely(i >= (unsigned)cl->nbuffers)) {
        orr_error("task_insert of %s: more data than the codelet's nbuffers (%d)",
                  cl->name ? cl->name : "(unnamed)", cl->nbuffers);
        return fail(b, -EINVAL);
    }
    if (orr_unlikely(cl->nbuffers > STARPU_NMAXBUFS && !cl->dyn_modes)) { /* the codelet keeps it */
        cl->dyn_modes = orr_calloc((size_t)cl->nbuffers, sizeof *cl->dyn_modes);
        if (!cl->dyn_modes) return fail(b, -ENOMEM);
    }
    enum starpu_data_access_mode *modes = STARPU_CODELET_GET_MODES_(cl);
    if (orr_likely(modes[i] == (enum starpu_data_access_mode)mode)) return 0;
    if (modes[i] == STARPU_NONE) {
        modes[i] = mode;
        return 0;
    }
    if (!((modes[i] ^ mode) & MODE_FLAGS_COMPARED)) return 0; /* only hints differ */
    if (mode & STARPU_MPI_REDUX && (modes[i] & MODE_FLAGS_COMPARED) == STARPU_RW)
        return 0; /* among ranks it is a reduction, on each the codelet's mode holds */
    orr_error("task_insert of %s: datum %u is inserted with mode %d, the codelet says %d",
              cl->name ? cl->name : "(unnamed)", i, mode, modes[i]);
    return fail(b, -EINVAL);
}

static int add_datum(struct building *b, starpu_data_handle_t h, int mode)
{
    struct starpu_task *t = b->task;
    unsigned i = b->count;
    if (orr_unlikely(!b->cl)) {
        orr_error("task_insert: data need a codelet, and it is NULL");
        return fail(b, -EINVAL);
    }
    if (orr_unlikely(i >= (b->room ? b->room : STARPU_NMAXBUFS)) && make_room(b, i + 8)) return -ENOMEM;
    STARPU_TASK_GET_HANDLES(t)[i] = h;
    if (modes_are_variable(b->cl)) {
        if (t->dyn_modes)
            t->dyn_modes[i] = mode;
        else
            t->modes[i] = mode;
    } else if (orr_unlikely(check_mode(b, i, mode))) {
        return -EINVAL;
    }
    b->count++;
    return 0;
}

static int no_array(struct building *b)
{
    orr_error("task_insert of %s: the array of data is NULL",
              b->cl && b->cl->name ? b->cl->name : "(unnamed)");
    return fail(b, -EINVAL);
}

/* Data in the codelet's modes. */
static int add_array(struct building *b, starpu_data_handle_t *handles, int n)
{
    int r = n > 0 && !handles ? no_array(b) : 0;
    for (int i = 0; i < n && r == 0; i++) {
        int mode = STARPU_RW;
        if (b->cl && !modes_are_variable(b->cl)) {
            if (b->count >= (unsigned)b->cl->nbuffers) return check_mode(b, b->count, 0);
            mode = STARPU_CODELET_GET_MODE(b->cl, b->count);
        }
        r = add_datum(b, handles[i], mode);
    }
    return r;
}

static int add_described(struct building *b, struct starpu_data_descr *descrs, int n)
{
    int r = n > 0 && !descrs ? no_array(b) : 0;
    for (int i = 0; i < n && r == 0; i++) r = add_datum(b, descrs[i].handle, descrs[i].mode);
    return r;
}

/* Where the data are wanted: memory nodes, or STARPU_SPECIFIC_NODE_.... */
static int set_nodes(struct building *b, const int *nodes, int n)
{
    bool good = n >= 0 && (nodes || !n);
    for (int i = 0; good && i < n; i++)
        good = nodes[i] >= STARPU_SPECIFIC_NODE_LOCAL_OR_SIMILAR_OR_CPU && nodes[i] < STARPU_MAXNODES;
    if (good) return orr_task_set_nodes(orr_task_of(b->task), nodes, (unsigned)n) ? fail(b, -ENOMEM) : 0;
    orr_error("task_insert of %s: STARPU_NODE_ARRAY is NULL, or one of its numbers is no memory node",
              b->cl && b->cl->name ? b->cl->name : "(unnamed)");
    return fail(b, -EINVAL);
}

/* ---- the other kinds ---- */

typedef void (*callback)(void *);

#define SET_OWNED(field, value) ((field) = (value), field##_free = (value) != NULL)
#define SET_BORROWED(field, value) ((field) = (value), field##_free = 0)

static void set_cl_arg(struct starpu_task *t, void *arg, size_t bytes, bool owned)
{
    t->cl_arg = arg;
    t->cl_arg_size = bytes;
    t->cl_arg_free = owned && arg;
}

static int add_value(struct building *b, const void *value, size_t bytes)
{
    if (orr_unlikely(!value && bytes > 0)) {
        orr_error("task_insert of %s: the address of a STARPU_VALUE of %zu bytes is NULL",
                  b->cl && b->cl->name ? b->cl->name : "(unnamed)", bytes);
        return fail(b, -EINVAL);
    }
    return orr_args_add(&b->args, value, bytes) ? 0 : fail(b, -ENOMEM);
}

static void add_packed(struct building *b, const char *packed)
{
    int left = 0;
    if (!packed) return;
    memcpy(&left, packed, sizeof left);
    packed += sizeof left;
    for (size_t bytes; left > 0; left--, packed += sizeof bytes + bytes) {
        memcpy(&bytes, packed, sizeof bytes);
        add_value(b, packed + sizeof bytes, bytes);
    }
}

static void set_worker(struct starpu_task *t, int id)
{
    if (id < 0) return;
    t->workerid = (unsigned)id;
    t->execute_on_a_specific_worker = 1;
}

static int other_kinds(struct building *b, int kind, va_list *ap)
{
    struct starpu_task *t = b->task;
    switch (kind) {
#define ORR_ARGUMENT(KIND, TYPE, ACTION)                                                                     \
    case KIND: {                                                                                             \
        TYPE x = va_arg(*ap, TYPE);                                                                          \
        ACTION;                                                                                              \
        return b->error;                                                                                     \
    }
#define ORR_ARGUMENT_2(KIND, TYPE_X, TYPE_Y, ACTION)                                                         \
    case KIND: {                                                                                             \
        TYPE_X x = va_arg(*ap, TYPE_X);                                                                      \
        TYPE_Y y = va_arg(*ap, TYPE_Y);                                                                      \
        ACTION;                                                                                              \
        return b->error;                                                                                     \
    }
#include "core/task/arguments.def"
#undef ORR_ARGUMENT
#undef ORR_ARGUMENT_2
    default: break;
    }
    orr_error("task_insert of %s: argument kind %d is unknown; did you forget the 0 at the end?",
              b->cl && b->cl->name ? b->cl->name : "(unnamed)", kind);
    return fail(b, -EINVAL);
}

bool orr_insert_skip(int kind, va_list *ap)
{
    switch (kind) {
    case STARPU_VALUE:
        (void)va_arg(*ap, void *);
        (void)va_arg(*ap, size_t);
        return true;
#define ORR_ARGUMENT(KIND, TYPE, ACTION)                                                                     \
    case KIND:                                                                                               \
        (void)va_arg(*ap, TYPE);                                                                             \
        return true;
#define ORR_ARGUMENT_2(KIND, TYPE_X, TYPE_Y, ACTION)                                                         \
    case KIND:                                                                                               \
        (void)va_arg(*ap, TYPE_X);                                                                           \
        (void)va_arg(*ap, TYPE_Y);                                                                           \
        return true;
#include "core/task/arguments.def"
#undef ORR_ARGUMENT
#undef ORR_ARGUMENT_2
    default: return false;
    }
}

/* ---- the walk ---- */

static int walk(struct building *b, va_list *ap)
{
    for (int kind; (kind = va_arg(*ap, int)) != 0;) {
        int r = 0;
        if (kind < 1 << STARPU_MODE_SHIFT) {
            r = add_datum(b, va_arg(*ap, starpu_data_handle_t), kind);
        } else if (kind == STARPU_VALUE) {
            const void *value = va_arg(*ap, const void *);
            r = add_value(b, value, va_arg(*ap, size_t));
        } else {
            r = other_kinds(b, kind, ap);
        }
        if (orr_unlikely(r != 0)) return r;
    }
    return 0;
}

static int finish(struct building *b)
{
    struct starpu_task *t = b->task;
    if (b->cl && modes_are_variable(b->cl))
        t->nbuffers = (int)b->count;
    else if (b->cl && b->count != (unsigned)b->cl->nbuffers) {
        orr_error("task_insert of %s: %u data for a codelet with nbuffers %d",
                  b->cl->name ? b->cl->name : "(unnamed)", b->count, b->cl->nbuffers);
        return fail(b, -EINVAL);
    }
    if (!b->args.buffer) return 0;
    if (t->cl_arg) {
        orr_error("task_insert of %s: STARPU_CL_ARGS and STARPU_VALUE exclude each other",
                  b->cl && b->cl->name ? b->cl->name : "(unnamed)");
        return fail(b, -EINVAL);
    }
    orr_args_finish(&b->args);
    t->cl_arg = b->args.buffer;
    t->cl_arg_size = b->args.used;
    t->cl_arg_free = 1;
    if (b->args.in_slab) orr_task_of(t)->flags |= ORR_TF_ARGS_SLAB;
    return 0;
}

static int fill(struct starpu_task *task, struct starpu_codelet *cl, va_list *ap)
{
    struct building b = { .cl = cl, .task = task };
    if (!orr_task_private(task)) return -ENOMEM;
    task->cl = cl;
    int r = walk(&b, ap);
    if (r == 0) r = finish(&b);
    if (r == 0 && orr_unlikely(task->transaction != NULL)) r = orr_transaction_join(task);
    if (orr_unlikely(r != 0) && b.args.buffer && task->cl_arg != b.args.buffer) orr_args_drop(&b.args);
    return r;
}

struct starpu_task *orr_task_build_v(struct starpu_codelet *cl, int flags, va_list ap)
{
    (void)flags;
    struct starpu_task *task = starpu_task_create();
    if (!task) return NULL;
    va_list copy;
    va_copy(copy, ap);
    int r = fill(task, cl, &copy);
    va_end(copy);
    if (r == 0) return task;
    starpu_task_destroy(task);
    return NULL;
}

static int insert_v(struct starpu_codelet *cl, va_list ap)
{
    struct starpu_task *task = starpu_task_create();
    if (!task) return -ENOMEM;
    va_list copy;
    va_copy(copy, ap);
    int r = fill(task, cl, &copy);
    va_end(copy);
    if (r == 0) r = starpu_task_submit(task);
    if (orr_unlikely(r != 0)) starpu_task_destroy(task);
    return r;
}

int starpu_task_insert(struct starpu_codelet *cl, ...)
{
    va_list ap;
    va_start(ap, cl);
    int r = insert_v(cl, ap);
    va_end(ap);
    return r;
}

int starpu_insert_task(struct starpu_codelet *cl, ...)
{
    va_list ap;
    va_start(ap, cl);
    int r = insert_v(cl, ap);
    va_end(ap);
    return r;
}

struct starpu_task *starpu_task_build(struct starpu_codelet *cl, ...)
{
    va_list ap;
    va_start(ap, cl);
    struct starpu_task *task = orr_task_build_v(cl, 0, ap);
    va_end(ap);
    return task;
}

int starpu_task_set(struct starpu_task *task, struct starpu_codelet *cl, ...)
{
    if (!task) return -EINVAL;
    va_list ap, copy;
    va_start(ap, cl);
    va_copy(copy, ap);
    int r = fill(task, cl, &copy);
    va_end(copy);
    va_end(ap);
    return r;
}

/* ---- building blocks for a program's own insertion function ---- */

static struct building resume(struct starpu_codelet *cl, struct starpu_task *task, const int *allocated,
                              int current)
{
    struct building b = { .cl = cl, .task = task, .count = (unsigned)current };
    b.room = task->dyn_handles ? (unsigned)*allocated : 0;
    task->cl = cl;
    return b;
}

void starpu_task_insert_data_make_room(struct starpu_codelet *cl, struct starpu_task *task,
                                       int *allocated_buffers, int current_buffer, int room)
{
    struct building b = resume(cl, task, allocated_buffers, current_buffer);
    unsigned wanted = (unsigned)(current_buffer + room);
    if (wanted > (b.room ? b.room : STARPU_NMAXBUFS) && make_room(&b, wanted) == 0)
        *allocated_buffers = (int)b.room;
}

void starpu_task_insert_data_process_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                         int *allocated_buffers, int *current_buffer, int arg_type,
                                         starpu_data_handle_t handle)
{
    struct building b = resume(cl, task, allocated_buffers, *current_buffer);
    add_datum(&b, handle, arg_type);
    *allocated_buffers = (int)b.room;
    *current_buffer = (int)b.count;
}

void starpu_task_insert_data_process_array_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                               int *allocated_buffers, int *current_buffer, int nb_handles,
                                               starpu_data_handle_t *handles)
{
    struct building b = resume(cl, task, allocated_buffers, *current_buffer);
    add_array(&b, handles, nb_handles);
    *allocated_buffers = (int)b.room;
    *current_buffer = (int)b.count;
}

void starpu_task_insert_data_process_mode_array_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                                    int *allocated_buffers, int *current_buffer,
                                                    int nb_descrs, struct starpu_data_descr *descrs)
{
    struct building b = resume(cl, task, allocated_buffers, *current_buffer);
    add_described(&b, descrs, nb_descrs);
    *allocated_buffers = (int)b.room;
    *current_buffer = (int)b.count;
}
