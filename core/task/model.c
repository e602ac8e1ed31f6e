/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c: see model.h.
 * Threads: see model.h. Owns: see model.h. Not here: see model.h. */
#include "core/task/model.h"

#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/task.h"

const char *orr_task_why_once(const struct starpu_task *p)
{
    const struct orr_task *t = orr_task_of(p);
    if (p->use_tag) return "has a tag";
    if (!t || t->rare || orr_load_relaxed(&t->successors) || t->flags & (ORR_TF_EXPLICIT | ORR_TF_TEAM))
        return "has dependencies or nodes that the program named";
    if (p->synchronous || !p->detach || !p->destroy || p->regenerate) return "is waited for";
    if (p->cl_arg_free && !p->cl_arg_size) return "has an argument whose size is not known";
    if (p->cl_ret_free || (p->callback_arg_free && p->callback_arg) ||
        (p->epilogue_callback_arg_free && p->epilogue_callback_arg) ||
        (p->prologue_callback_arg_free && p->prologue_callback_arg) ||
        (p->prologue_callback_pop_arg_free && p->prologue_callback_pop_arg))
        return "has a callback whose argument is freed with it";
    if (p->workerorder) return "has an order on its worker, which each task has for itself";
    if (p->workerids_len || p->handles_sequential_consistency)
        return "has a list of workers or of consistency that is the program's";
    if (p->bundle || p->transaction || p->profiling_info || p->sched_data || p->nb_termination_call_required)
        return "is part of something else (a bundle, a transaction, a scheduler's data)";
    return NULL;
}

/* ---- keeping ---- */

/* Whether nothing is said of it but what a small model has room for. */
static bool is_usual(const struct starpu_task *task)
{
    const struct starpu_task *usual = starpu_task_create();
    if (!usual) return false;
    struct starpu_task rest;
    memcpy(&rest, task, sizeof rest);
    rest.cl = usual->cl;
    rest.name = usual->name;
    rest.file = usual->file;
    rest.line = usual->line;
    rest.cl_arg = usual->cl_arg;
    rest.cl_arg_size = usual->cl_arg_size;
    rest.cl_arg_free = usual->cl_arg_free;
    rest.flops = usual->flops;
    rest.priority = usual->priority;
    rest.workerid = usual->workerid;
    rest.execute_on_a_specific_worker = usual->execute_on_a_specific_worker;
    rest.starpu_private = usual->starpu_private;
    memcpy(rest.handles, usual->handles, sizeof rest.handles);
    bool same =
        task->cl && task->cl->nbuffers != STARPU_VARIABLE_NBUFFERS && !memcmp(&rest, usual, sizeof rest);
    starpu_task_destroy((struct starpu_task *)usual);
    return same;
}

/* Sorts by address what is plain, and of distinct data. */
static void sort(struct orr_task_model *m, const struct starpu_task *task)
{
    enum { PLAIN = STARPU_RW | STARPU_SSEND | STARPU_LOCALITY | STARPU_NOFOOTPRINT };
    m->sorted = m->handles > 0 && m->handles <= ORR_TASK_INLINE_ACCESSES;
    for (unsigned i = 0; i < m->handles && m->sorted; i++) {
        int mode = (int)STARPU_CODELET_GET_MODE(task->cl, i);
        unsigned at = i;
        m->sorted = mode & STARPU_RW && !(mode & ~PLAIN);
        for (; at > 0 && task->handles[m->order[at - 1]] > task->handles[i]; at--) {
            m->order[at] = m->order[at - 1];
            m->mode[at] = m->mode[at - 1];
            m->group[at] = m->group[at - 1];
        }
        if (at > 0 && task->handles[m->order[at - 1]] == task->handles[i]) m->sorted = false;
        m->order[at] = (uint8_t)i;
        m->mode[at] = (uint8_t)(mode & ORR_TASK_MODES);
        m->group[at] = orr_access_group(mode);
    }
}

static starpu_data_handle_t *handles_of(const struct orr_task_model *m)
{
    return (starpu_data_handle_t *)(m + 1);
}

struct orr_task_model *orr_task_model(const struct starpu_task *task)
{
    bool usual = is_usual(task);
    size_t handles = usual ? orr_task_nbuffers(task) : 0,
           args = usual && task->cl_arg_free && task->cl_arg ? task->cl_arg_size : 0;
    struct orr_task_model *m = orr_calloc(1, sizeof *m + handles * sizeof task->handles[0] + args);
    if (!m) return NULL;
    if (!usual) {
        m->whole = starpu_task_dup((struct starpu_task *)task);
        if (m->whole) return m;
        orr_free(m);
        return NULL;
    }
    m->cl = task->cl;
    m->name = task->name;
    m->file = task->file;
    m->line = task->line;
    m->cl_arg = args ? NULL : task->cl_arg;
    m->args_bytes = (uint32_t)(task->cl_arg ? task->cl_arg_size : 0);
    m->flops = task->flops;
    m->priority = task->priority;
    m->workerid = task->execute_on_a_specific_worker ? (int32_t)task->workerid : -1;
    m->handles = (uint16_t)handles;
    memcpy(handles_of(m), task->handles, handles * sizeof task->handles[0]);
    if (args) memcpy(handles_of(m) + handles, task->cl_arg, args);
    sort(m, task);
    return m;
}

void orr_task_model_free(struct orr_task_model *m)
{
    if (m && m->whole) starpu_task_destroy(m->whole);
    orr_free(m);
}

/* ---- making ---- */

/* The packed arguments: in a block of the slab where they fit. */
static bool set_args(struct starpu_task *task, const struct orr_task_model *m)
{
    bool small = m->args_bytes <= ORR_ARGS_BLOCK_BYTES;
    void *args = small ? orr_slab_alloc(ORR_SLAB_ARGS) : orr_malloc(m->args_bytes);
    if (!args) return false;
    if (small) orr_prefetch_write(orr_self()->caches[ORR_SLAB_ARGS].free_list); /* of the next such task */
    memcpy(args, handles_of(m) + m->handles, m->args_bytes);
    task->cl_arg = args;
    task->cl_arg_size = m->args_bytes;
    task->cl_arg_free = 1;
    if (small) orr_task_of(task)->flags |= ORR_TF_ARGS_SLAB;
    return true;
}

static void set_accesses(struct orr_task *t, const struct orr_task_model *m)
{
    for (unsigned i = 0; i < m->handles; i++) {
        struct orr_access *a = &t->inline_accesses.access[i];
        a->index = m->order[i];
        a->group = m->group[i];
        a->mode = m->mode[i];
    }
}

struct starpu_task *orr_task_from(const struct orr_task_model *m, uint32_t *flags_out)
{
    *flags_out = 0;
    struct starpu_task *task =
        orr_unlikely(m->whole != NULL) ? starpu_task_dup(m->whole) : starpu_task_create();
    if (orr_unlikely(!task || m->whole)) return task;
    task->cl = m->cl;
    task->name = m->name;
    task->file = m->file;
    task->line = m->line;
    task->flops = m->flops;
    task->priority = m->priority;
    if (orr_unlikely(m->workerid >= 0)) {
        task->workerid = (unsigned)m->workerid;
        task->execute_on_a_specific_worker = 1;
    }
    for (unsigned i = 0; i < m->handles; i++) task->handles[i] = handles_of(m)[i];
    task->cl_arg = m->cl_arg;
    if (m->cl_arg) task->cl_arg_size = m->args_bytes;
    if (m->args_bytes && !m->cl_arg && orr_unlikely(!set_args(task, m))) {
        orr_error("out of memory for a task that is submitted again");
        starpu_task_destroy(task);
        return NULL;
    }
    if (m->sorted) {
        set_accesses(orr_task_of(task), m);
        *flags_out = ORR_TF_SORTED;
    }
    return task;
}
