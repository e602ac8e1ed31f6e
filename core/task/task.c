/* SPDX-License-Identifier: BSD-3-Clause */
/* task.c: making and freeing tasks, and small questions about them.
 * Threads: any. Owns: tasks' memory. Not here: submission (submit.c), completion (complete.c). */
#include "core/task/task.h"
#include "core/task/transaction.h"

#include <math.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "core/task/deps.h"

enum { TASK_MAGIC = 42 };

struct task_block {
    struct orr_task private_half;
    struct starpu_task public_half;
};

static int not_initialised(struct orr_task *t)
{
    orr_error("task %s cannot be submitted: the runtime is not initialised; call starpu_init",
              orr_task_name(t));
    return -ENODEV;
}

struct orr_task_hooks orr_task_hooks = { .check_runnable = not_initialised };

_Static_assert(sizeof(struct task_block) <= 640 || STARPU_NMAXBUFS > 8,
               "a pending task is to take ten cache lines");

static const struct starpu_task blank = STARPU_TASK_INITIALIZER;

const size_t orr_slab_block_bytes[ORR_SLAB_COUNT] = {
    [ORR_SLAB_TASK] = ORR_SLAB_ROUND(sizeof(struct task_block), ORR_CACHE_LINE),
    [ORR_SLAB_JOB] = ORR_SLAB_ROUND(sizeof(struct orr_task), ORR_CACHE_LINE),
    [ORR_SLAB_EDGE] = ORR_SLAB_ROUND(sizeof(struct orr_edge), 16),
    [ORR_SLAB_ARGS] = ORR_SLAB_ROUND(ORR_ARGS_BLOCK_BYTES, 16),
    [ORR_SLAB_RARE] = ORR_SLAB_ROUND(sizeof(struct orr_task_rare), 16),
    [ORR_SLAB_GRAPH_NODE] = ORR_GRAPH_NODE_BYTES,
    [ORR_SLAB_GRAPH_DATUM] = ORR_GRAPH_DATUM_BYTES,
    /* whole pairs of lines: see ORR_SLAB_HEAD. 384: a handle on one memory node with one of the usual
     * interfaces; 512: on three */
    [ORR_SLAB_BLOCK_FIRST] = 64,
    [ORR_SLAB_BLOCK_FIRST + 1] = 128,
    [ORR_SLAB_BLOCK_FIRST + 2] = 256,
    [ORR_SLAB_BLOCK_FIRST + 3] = 384,
    [ORR_SLAB_BLOCK_FIRST + 4] = 512,
    [ORR_SLAB_BLOCK_FIRST + 5] = 768,
    [ORR_SLAB_BLOCK_LAST] = 1024,
};

/* Unique in the process, from blocks, so that threads do not share a counter. */
static uint64_t next_id(void)
{
    enum { BLOCK = 1024 };
    static _Atomic uint64_t next_block = 1;
    struct orr_task_thread *self = orr_task_self();
    if (orr_unlikely(self->next_id % BLOCK == 0))
        self->next_id = orr_add_relaxed(&next_block, (uint64_t)BLOCK);
    return self->next_id++;
}

static void private_init(struct orr_task *t, struct starpu_task *pub, uint32_t flags)
{
    memset(t, 0, offsetof(struct orr_task, heap_accesses));
    t->node = NULL;
    t->pub = pub;
    t->flags = flags;
    t->worker = -1;
    t->id = next_id();
    orr_store_relaxed(&t->pending, 1);
    pub->starpu_private = t;
}

/* The block that the next call will take was last written by another core: start fetching it now. */
static void prefetch_next_block(void)
{
    char *b = orr_self()->caches[ORR_SLAB_TASK].free_list;
    if (!b) return;
    for (size_t i = 0; i < sizeof(struct task_block); i += ORR_CACHE_LINE) orr_prefetch_write(b + i);
}

struct starpu_task *starpu_task_create(void)
{
    struct task_block *b = orr_slab_alloc(ORR_SLAB_TASK);
    if (orr_unlikely(!b)) {
        orr_error("starpu_task_create: out of memory");
        return NULL;
    }
    prefetch_next_block();
    b->public_half = blank;
    b->public_half.destroy = 1;
    private_init(&b->private_half, &b->public_half, ORR_TF_BLOCK);
    return &b->public_half;
}

void starpu_task_init(struct starpu_task *task)
{
    if (!task) {
        orr_error("starpu_task_init: the task is NULL");
        return;
    }
    memcpy(task, &blank, sizeof blank);
}

struct orr_task *orr_task_private(struct starpu_task *pub)
{
    struct orr_task *t = orr_task_of(pub);
    if (orr_likely(t)) return t;
    t = orr_slab_alloc(ORR_SLAB_JOB);
    if (t) private_init(t, pub, 0);
    return t;
}

struct orr_task_rare *orr_task_rare_get(struct orr_task *t)
{
    if (t->rare) return t->rare;
    struct orr_task_rare *r = orr_slab_alloc(ORR_SLAB_RARE);
    if (r) memset(r, 0, sizeof *r);
    return t->rare = r;
}

int orr_task_wanted_node(const struct starpu_task *p, unsigned i)
{
    const struct orr_task *t = orr_task_of(p);
    const struct orr_task_rare *r = t ? t->rare : NULL;
    if (r && i < r->nnodes) return r->nodes[i];
    return p->cl->specific_nodes ? STARPU_CODELET_GET_NODE(p->cl, i) : STARPU_SPECIFIC_NODE_LOCAL;
}

static bool valid_on(struct orr_data *h, unsigned node)
{
    orr_spin_lock(&h->queue.lock);
    bool valid = node < h->nnodes && h->replicates[node].state != ORR_INVALID;
    orr_spin_unlock(&h->queue.lock);
    return valid;
}

int orr_task_place(const struct starpu_task *p, unsigned i, unsigned node, struct orr_data *h)
{
    int wanted = orr_task_wanted_node(p, i);
    unsigned cpu = orr_node_main_of(node);
    if (wanted >= 0) return wanted < (int)orr_node_count ? wanted : (int)node;
    if (h) cpu = orr_data_place(h, cpu);
    switch (wanted) {
    case STARPU_SPECIFIC_NODE_LOCAL_OR_CPU:
    case STARPU_SPECIFIC_NODE_LOCAL_OR_SIMILAR_OR_CPU:
        return (int)(h && !valid_on(h, node) && valid_on(h, cpu) ? cpu : node);
    case STARPU_SPECIFIC_NODE_CPU:
    case STARPU_SPECIFIC_NODE_SLOW: return (int)cpu;
    case STARPU_SPECIFIC_NODE_NONE: return -1;
    default: return (int)node;
    }
}

int orr_task_datum_node(const struct starpu_task *p, unsigned i, unsigned node)
{
    enum { OF_A_WORKER = STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX };
    if (orr_likely(!orr_task_has_nodes(p))) return (int)node;
    struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
    bool own = STARPU_TASK_GET_MODE(p, i) & OF_A_WORKER;
    return orr_task_place(p, i, node, own || !orr_data_valid(h) ? NULL : h);
}

int orr_task_set_nodes(struct orr_task *t, const int *nodes, unsigned n)
{
    struct orr_task_rare *r = orr_task_rare_get(t);
    int *copy = r && n ? orr_malloc(n * sizeof *copy) : NULL;
    if (!r || (n && !copy)) return -ENOMEM;
    if (n) memcpy(copy, nodes, n * sizeof *copy);
    orr_free(r->nodes);
    r->nodes = copy;
    r->nnodes = n;
    t->flags |= ORR_TF_NODES;
    return 0;
}

static void free_rare(struct orr_task_rare *r)
{
    orr_free(r->nodes);
    orr_free(r->tried);
    orr_edges_disown(r);
    orr_edges_drop(r->kept_edges, false);
    if (orr_unlikely(r->team != NULL)) orr_task_hooks.team_unref(r->team);
    orr_slab_free(ORR_SLAB_RARE, r);
}

static void free_args(struct orr_task *t)
{
    struct starpu_task *pub = t->pub;
    if (pub->cl_arg_free && pub->cl_arg) {
        if (t->flags & ORR_TF_ARGS_SLAB)
            orr_slab_free(ORR_SLAB_ARGS, pub->cl_arg);
        else
            free(pub->cl_arg);
    }
    if (pub->cl_ret_free) free(pub->cl_ret);
    if (pub->callback_arg_free) free(pub->callback_arg);
    if (pub->epilogue_callback_arg_free) free(pub->epilogue_callback_arg);
    if (pub->prologue_callback_arg_free) free(pub->prologue_callback_arg);
    if (pub->prologue_callback_pop_arg_free) free(pub->prologue_callback_pop_arg);
}

/* The private half goes; the public one is the program's, or the block's. */
static void free_private(struct orr_task *t)
{
    if (orr_unlikely(t->flags & ORR_TF_ACCESS_HEAP)) orr_free(t->heap_accesses);
    if (orr_unlikely(t->flags & ORR_TF_DYN_OWNED)) {
        free(t->pub->dyn_interfaces);
        t->pub->dyn_interfaces = NULL;
    }
    if (orr_unlikely(t->rare)) free_rare(t->rare);
    ORR_EVENT(TASK_FREED, t, t->id, 0, 0);
    if (orr_unlikely(t->pub->bundle)) starpu_task_bundle_remove(t->pub->bundle, t->pub);
    if (orr_unlikely(t->pub->profiling_info)) {
        orr_free(t->pub->profiling_info);
        t->pub->profiling_info = NULL;
    }
    struct orr_edge *e = orr_load_relaxed(&t->successors);
    if (orr_unlikely(e && e != ORR_EDGES_CLOSED))
        orr_edges_drop(e, !t->pub->trs_epoch); /* the gate behind its epoch is not to wait for it for ever */
}

void orr_task_free(struct orr_task *t)
{
    struct starpu_task *pub = t->pub;
    orr_store_relaxed(&t->state,
                      ORR_TASK_DONE); /* for the watcher, which looks at all blocks (core/run/deadlock.c) */
    free_private(t);
    free_args(t);
    if (orr_unlikely(pub->dyn_handles || pub->dyn_modes)) {
        free(pub->dyn_handles);
        free(pub->dyn_modes);
        free(pub->dyn_interfaces);
    }
    if (orr_likely(t->flags & ORR_TF_BLOCK)) {
        orr_slab_free(ORR_SLAB_TASK, t);
        return;
    }
    orr_slab_free(ORR_SLAB_JOB, t);
    pub->starpu_private = NULL;
}

void starpu_task_clean(struct starpu_task *task)
{
    if (!task) return;
    struct orr_task *t = orr_task_of(task);
    if (!t) return;
    if (!orr_task_take(t)) {
        orr_error("starpu_task_clean: task %s has not ended; wait for it first", orr_task_name(t));
        return;
    }
    if (t == orr_task_current()) orr_task_self()->current = NULL; /* by its own callback */
    if (orr_unlikely(task->trs_epoch != NULL)) {                  /* built, and never submitted */
        orr_edges_drop(orr_edges_take(&t->successors), false);
        orr_transaction_leave(task, task);
    }
    free_private(t);
    t->flags &= ~(uint32_t)(ORR_TF_ACCESS_HEAP | ORR_TF_DYN_OWNED);
    t->rare = NULL;
    if (t->flags & ORR_TF_BLOCK) {
        private_init(t, task, ORR_TF_BLOCK | (t->flags & ORR_TF_ARGS_SLAB));
        return;
    }
    orr_slab_free(ORR_SLAB_JOB, t);
    task->starpu_private = NULL;
}

void starpu_task_destroy(struct starpu_task *task)
{
    if (!task) return;
    struct orr_task *t = orr_task_of(task);
    if (!t || !(t->flags &
                ORR_TF_BLOCK)) { /* in memory of the program's own, from malloc as the interface has it */
        starpu_task_clean(task);
        free(task);
        return;
    }
    struct orr_task_thread *self = orr_task_self();
    bool own = t == self->current, free_now = orr_task_take(t);
    if (own && !free_now) {
        task->destroy = 1; /* a callback destroys its own task: at its end */
        return;
    }
    if (own) self->current = NULL;
    if (!free_now) {
        orr_error(
            "starpu_task_destroy: task %s has not ended; wait for it first, or let task->destroy free it",
            orr_task_name(t));
        return;
    }
    orr_task_free(t);
}

/* A copy of so many bytes; *good turns false when there is no memory for it. */
static void *own_copy(const void *original, size_t bytes, bool *good)
{
    if (!original || !bytes) return NULL;
    void *copy = orr_malloc(bytes);
    if (copy)
        memcpy(copy, original, bytes);
    else
        *good = false;
    return copy;
}

/* What is freed with a task must not be shared by two. Of arguments whose size is not known the original
 * stays the owner. False: out of memory. */
static bool own_what_is_freed(struct starpu_task *copy)
{
    unsigned n = copy->cl ? STARPU_TASK_GET_NBUFFERS(copy) : 0;
    bool good = true;
    copy->dyn_handles = own_copy(copy->dyn_handles, n * sizeof *copy->dyn_handles, &good);
    copy->dyn_modes = own_copy(copy->dyn_modes, n * sizeof *copy->dyn_modes, &good);
    copy->dyn_interfaces = NULL;
    if (copy->cl_arg_free && copy->cl_arg_size)
        copy->cl_arg = own_copy(copy->cl_arg, copy->cl_arg_size, &good);
    else
        copy->cl_arg_free = 0;
    copy->cl_ret_free = copy->callback_arg_free = copy->epilogue_callback_arg_free = 0;
    copy->prologue_callback_arg_free = copy->prologue_callback_pop_arg_free = 0;
    return good;
}

/* NULL, after a message: out of memory. */
static struct starpu_task *copy_of(const struct starpu_task *task, bool in_its_team)
{
    struct starpu_task *copy = starpu_task_create();
    if (!copy) return NULL;
    struct orr_task *t = orr_task_of(copy);
    *copy = *task;
    copy->starpu_private = t;
    copy->status = STARPU_TASK_INIT;
    copy->profiling_info = NULL;
    copy->bundle = NULL;
    copy->destroy = 1;
    bool good = own_what_is_freed(copy);
    struct orr_task *original = orr_task_of(task);
    if (task->trs_epoch) orr_transaction_leave(copy, task);
    if (good && in_its_team && original && original->flags & ORR_TF_TEAM) {
        good = orr_task_rare_get(t) != NULL;
        if (good) orr_task_hooks.team_joined(original, t);
    }
    if (good && original && original->flags & ORR_TF_NODES)
        good = orr_task_set_nodes(t, original->rare->nodes, original->rare->nnodes) == 0;
    if (good) return copy;
    orr_error("starpu_task_dup: out of memory");
    starpu_task_destroy(copy);
    return NULL;
}

struct starpu_task *starpu_task_dup(struct starpu_task *task)
{
    return task ? copy_of(task, true) : NULL;
}

struct starpu_task *orr_task_copy(const struct starpu_task *task)
{
    return copy_of(task, false);
}

const char *orr_task_name(const struct orr_task *t)
{
    const struct starpu_task *p = t ? t->pub : NULL;
    if (!p) return "(none)";
    if (p->name) return p->name;
    if (!p->cl) return "(empty)";
    if (p->cl->name) return p->cl->name;
    if (p->cl->model && p->cl->model->symbol) return p->cl->model->symbol;
    return p->cl->cpu_funcs_name[0] ? p->cl->cpu_funcs_name[0] : "(unnamed)";
}

const char *starpu_task_get_name(struct starpu_task *task)
{
    return task ? orr_task_name(orr_task_private(task)) : NULL;
}

const char *starpu_task_get_model_name(struct starpu_task *task)
{
    if (!task || !task->cl) return NULL;
    return task->cl->model && task->cl->model->symbol ? task->cl->model->symbol : task->cl->name;
}

unsigned long starpu_task_get_job_id(struct starpu_task *task)
{
    struct orr_task *t = task ? orr_task_private(task) : NULL;
    return t ? (unsigned long)t->id : 0;
}

struct starpu_task *starpu_task_get_current(void)
{
    struct orr_task *t = orr_task_current();
    return t ? t->pub : NULL;
}

void starpu_task_set_implementation(struct starpu_task *task, unsigned impl)
{
    struct orr_task *t = task ? orr_task_private(task) : NULL;
    if (impl >= STARPU_MAXIMPLEMENTATIONS) {
        orr_error("starpu_task_set_implementation: there is no implementation %u; a codelet has %d at most",
                  impl, STARPU_MAXIMPLEMENTATIONS);
        return;
    }
    if (!t) return;
    t->nimpl = (uint8_t)impl;
    t->nimpl_valid = 1;
}

unsigned starpu_task_get_implementation(struct starpu_task *task)
{
    struct orr_task *t = task ? orr_task_private(task) : NULL;
    return t ? t->nimpl : 0;
}

int starpu_task_finished(struct starpu_task *task)
{
    struct orr_task *t = task ? orr_task_of(task) : NULL;
    if (!t || orr_load_acquire(&t->state) != ORR_TASK_DONE) return 0;
    return !t->rare || !t->rare->awaited ||
           orr_event_is_set(&t->rare->done); /* the last that end() touches */
}

int starpu_task_wait(struct starpu_task *task)
{
    struct orr_task *t = task ? orr_task_of(task) : NULL;
    if (!t || !t->rare || !t->rare->awaited || t->rare->synchronous) {
        orr_error("starpu_task_wait: %s", !t ? "the task was not submitted"
                                             : "it was not submitted, or as a detached or synchronous "
                                               "task; set detach to 0 before submitting it");
        return -EINVAL;
    }
    if (orr_task_inside()) {
        orr_error("starpu_task_wait in task %s: a task must not block; use a dependency or a callback",
                  orr_task_name(orr_task_current()));
        return -EDEADLK;
    }
    orr_event_wait(&t->rare->done);
    int status = t->rare->status;
    if (task->destroy) orr_task_free(t);
    return status;
}

int starpu_task_wait_array(struct starpu_task **tasks, unsigned nb_tasks)
{
    int status = 0;
    for (unsigned i = 0; i < nb_tasks; i++) {
        int r = starpu_task_wait(tasks[i]);
        if (status == 0) status = r;
    }
    return status;
}
