/* SPDX-License-Identifier: BSD-3-Clause */
/* data_cpy.c: copying one datum to another, as a task in main memory.
 * Threads: any. Owns: the codelet of such tasks. Not here: copies of one datum between memories
 * (core/data/transfer.c). */
#include <errno.h>
#include <string.h>

#include <starpu.h>

#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/data/data.h"
#include "core/data/interfaces/dense.h"
#include "core/mem/node.h"
#include "core/task/task.h"

/* By the bytes of a message, where there is no method that copies. */
static int copy_packed(struct orr_data *dst, struct orr_data *src)
{
    unsigned own = starpu_worker_get_local_memory_node();
    unsigned from = orr_data_place(src, own), to = orr_data_place(dst, own);
    starpu_ssize_t count = 0;
    void *bytes = NULL;
    if (!src->ops->pack_data || !dst->ops->unpack_data) return -ENOSYS;
    int r = src->ops->pack_data(src, from, &bytes, &count);
    return r ? r : dst->ops->unpack_data(dst, to, bytes, (size_t)count);
}

static void copy_body(void *buffers[], void *arg)
{
    struct orr_data *dst = STARPU_TASK_GET_HANDLE(starpu_task_get_current(), 0);
    struct orr_data *src = STARPU_TASK_GET_HANDLE(starpu_task_get_current(), 1);
    const struct starpu_data_copy_methods *m = dst->ops->copy_methods;
    int r = -ENOSYS;
    (void)arg;
    if (m && m->ram_to_ram)
        r = m->ram_to_ram(buffers[1], orr_node_home(), buffers[0], orr_node_home());
    else if (m && m->any_to_any)
        r = m->any_to_any(buffers[1], orr_node_home(), buffers[0], orr_node_home(), NULL);
    else
        r = copy_packed(dst, src);
    if (!r) return;
    orr_task_fail(orr_task_of(starpu_task_get_current()), r);
    orr_fatal("starpu_data_cpy: the copy failed (%s), and its destination has no value",
              r == -ENOSYS ? "the interface needs any_to_any, ram_to_ram, or pack_data and unpack_data"
                           : strerror(-r));
}

static struct starpu_codelet copy_cl = {
#define WITH_FUNCTIONS(PREFIX, NAME, name) .name##_funcs = { copy_body },
#include "core/base/kind.def"
    .nbuffers = 2,
    .modes = { STARPU_W, STARPU_R },
    .specific_nodes = 1,
    .nodes = { STARPU_SPECIFIC_NODE_CPU, STARPU_SPECIFIC_NODE_CPU },
    .name = "data_cpy",
};

/* Why the shape of src cannot be copied over dst's. Dense data takes another of as many bytes where nothing
 * lies between its elements; interfaces of programs judge for themselves. */
static const char *shape_refusal(struct orr_data *dst, struct orr_data *src)
{
    void *to = dst->replicates[orr_node_home()].interface, *from = src->replicates[orr_node_home()].interface;
    bool dense = dst->ops->copy_methods == &orr_dense_copy_methods;
    if (starpu_data_get_size(dst) != starpu_data_get_size(src)) return "the sizes differ";
    bool of_program = dst->ops->interfaceid >= STARPU_MAX_INTERFACE_ID || !dst->ops->compare;
    if (of_program || dst->ops->compare(to, from)) return NULL;
    return dense && orr_dense_may_take(to, from) ? NULL : "the shapes differ";
}

static const char *refusal(struct orr_data *dst, struct orr_data *src)
{
    if (!orr_data_valid(dst) || !orr_data_valid(src)) return "not a registered handle";
    return dst->ops != src->ops ? "the interfaces differ" : shape_refusal(dst, src);
}

int starpu_data_cpy_priority(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle,
                             int asynchronous, void (*callback_func)(void *), void *callback_arg,
                             int priority)
{
    const char *why = refusal(dst_handle, src_handle);
    if (why) {
        orr_error("starpu_data_cpy: %s", why);
        return -EINVAL;
    }
    struct starpu_task *task = starpu_task_create();
    if (!task) return -ENOMEM;
    task->cl = &copy_cl;
    STARPU_TASK_SET_HANDLE(task, dst_handle, 0);
    STARPU_TASK_SET_HANDLE(task, src_handle, 1);
    task->callback_func = callback_func;
    task->callback_arg = callback_arg;
    task->priority = priority;
    task->synchronous = !asynchronous;
    task->type = STARPU_TASK_TYPE_INTERNAL;
    int r = starpu_task_submit(task);
    if (r) starpu_task_destroy(task);
    return r;
}

int starpu_data_cpy(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle, int asynchronous,
                    void (*callback_func)(void *), void *callback_arg)
{
    return starpu_data_cpy_priority(dst_handle, src_handle, asynchronous, callback_func, callback_arg,
                                    STARPU_DEFAULT_PRIO);
}

int starpu_data_dup_ro(starpu_data_handle_t *dst_handle, starpu_data_handle_t src_handle)
{
    starpu_data_register_same(dst_handle, src_handle);
    if (!*dst_handle) return orr_data_valid(src_handle) ? -ENOMEM : -EINVAL;
    int r = starpu_data_cpy(*dst_handle, src_handle, 1, NULL, NULL);
    if (!r) return 0;
    starpu_data_unregister_submit(*dst_handle); /* in tasks as well */
    *dst_handle = NULL;
    return r;
}

starpu_data_handle_t starpu_data_dup_ro_get(starpu_data_handle_t handle)
{
    starpu_data_handle_t copy;
    return starpu_data_dup_ro(&copy, handle) == 0 ? copy : NULL;
}
