/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_ctx.c: scheduling contexts as programs use them: sets of workers with a policy each. A worker is in
 * one context.
 * Threads: any outside of tasks changes contexts, one at a time; questions from any thread.
 * Owns: which thread is in which context. Not here: members and policies (context.c), collections
 * (collection.c).
 *
 * Workers change their context while all are halted: each ends its task, and waits until the change is made.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/run/collection.h"
#include "core/run/context.h"
#include "core/topo/topo.h"
#include "core/worker/wait.h"
#include "core/worker/worker.h"

static pthread_mutex_t change_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects changes of contexts; outside all others */

/* Before and after a change. False, with a message: not now. */
static bool change_begin(const char *function)
{
    struct orr_thread *self = orr_self();
    if (!orr_worker_count)
        orr_error("%s: the runtime is not initialised; call starpu_init", function);
    else if (self->current || self->callback_depth)
        orr_error("%s: not possible in a task or a callback", function);
    else {
        pthread_mutex_lock(&change_lock);
        orr_workers_halt();
        return true;
    }
    return false;
}

static void change_end(void)
{
    orr_workers_update_plain();
    orr_workers_resume();
    pthread_mutex_unlock(&change_lock);
    starpu_do_schedule();
}

static struct orr_ctx *find(unsigned id, const char *function)
{
    struct orr_ctx *ctx = orr_ctx_get(id);
    if (!ctx) orr_error("%s: there is no scheduling context %u", function, id);
    return ctx;
}

/* Takes workers out of the contexts they are in. */
static void detach(const int *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (orr_workers[workers[i]].ctx) orr_ctx_remove_workers(orr_workers[workers[i]].ctx, &workers[i], 1);
}

/* Copies those workers of the list that exist, and that (member) are in ctx or (not member) are not, each
 * once. */
static unsigned select_workers(int *list_out, const int *workers, unsigned count, const struct orr_ctx *ctx,
                               bool member, const char *function)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        bool twice = false;
        for (unsigned k = 0; k < n; k++) twice |= list_out[k] == workers[i];
        if (workers[i] < 0 || (unsigned)workers[i] >= orr_worker_count)
            orr_error("%s: there is no worker %d; it is left out", function, workers[i]);
        else if (!twice && (orr_workers[workers[i]].ctx == ctx) == member)
            list_out[n++] = workers[i];
    }
    return n;
}

/* ---- making ---- */

typedef void (*init_fn)(unsigned);

/* Reads the arguments of starpu_sched_ctx_create. False: an unknown one. */
static bool parse(struct orr_ctx_settings *s, va_list *ap)
{
    s->max_priority = 1;
    for (int kind; (kind = va_arg(*ap, int)) != 0;) {
        switch (kind) {
        case STARPU_SCHED_CTX_POLICY_NAME: s->policy_name = va_arg(*ap, const char *); break;
        case STARPU_SCHED_CTX_POLICY_STRUCT: s->policy = va_arg(*ap, struct starpu_sched_policy *); break;
        case STARPU_SCHED_CTX_POLICY_MIN_PRIO:
            s->min_priority = va_arg(*ap, int);
            s->priorities_set = true;
            break;
        case STARPU_SCHED_CTX_POLICY_MAX_PRIO:
            s->max_priority = va_arg(*ap, int);
            s->priorities_set = true;
            break;
        case STARPU_SCHED_CTX_POLICY_INIT: s->policy_init = va_arg(*ap, init_fn); break;
        case STARPU_SCHED_CTX_USER_DATA: s->user_data = va_arg(*ap, void *); break;
        case STARPU_SCHED_CTX_HIERARCHY_LEVEL:
            (void)va_arg(*ap, unsigned);
            break; /* a worker is in one context */
        case STARPU_SCHED_CTX_NESTED: s->nested_in = va_arg(*ap, unsigned); break;
        case STARPU_SCHED_CTX_AWAKE_WORKERS: break; /* workers sleep only while there is nothing for them */
        case STARPU_SCHED_CTX_CUDA_NSMS: (void)va_arg(*ap, int); break; /* a GPU is not divided */
        case STARPU_SCHED_CTX_SUB_CTXS:
            (void)va_arg(*ap, unsigned *);
            (void)va_arg(*ap, int);
            break;
        default: return false;
        }
    }
    return true;
}

static unsigned free_id(void)
{
    unsigned id = 1;
    while (id < STARPU_NMAX_SCHED_CTXS && orr_ctx_get(id)) id++;
    return id;
}

/* Called between change_begin and change_end. */
static unsigned create(const struct orr_ctx_settings *s, const int *workers, unsigned count)
{
    unsigned id = free_id();
    if (id == STARPU_NMAX_SCHED_CTXS) {
        orr_error(
            "starpu_sched_ctx_create: there are %d contexts already (STARPU_NMAX_SCHED_CTXS); delete one",
            STARPU_NMAX_SCHED_CTXS);
        return id;
    }
    struct orr_ctx *before[STARPU_NMAXWORKERS];
    for (unsigned i = 0; i < count; i++) before[i] = orr_workers[workers[i]].ctx;
    detach(workers, count);
    if (orr_ctx_open_with(id, s, workers, count) == 0) return id;
    for (unsigned i = 0; i < count; i++) orr_ctx_add_workers(before[i], &workers[i], 1);
    return STARPU_NMAX_SCHED_CTXS;
}

unsigned starpu_sched_ctx_create(int *workerids_ctx, int nworkers_ctx, const char *sched_ctx_name, ...)
{
    struct orr_ctx_settings s = { .name = sched_ctx_name };
    int workers[STARPU_NMAXWORKERS];
    unsigned count = 0;
    va_list ap;
    va_start(ap, sched_ctx_name);
    bool understood = parse(&s, &ap);
    va_end(ap);
    if (!understood) {
        orr_error("starpu_sched_ctx_create: an argument is none of STARPU_SCHED_CTX_...; does the list end "
                  "with 0?");
        return STARPU_NMAX_SCHED_CTXS;
    }
    if (!change_begin("starpu_sched_ctx_create")) return STARPU_NMAX_SCHED_CTXS;
    if (workerids_ctx && nworkers_ctx >= 0) {
        count = select_workers(workers, workerids_ctx, (unsigned)nworkers_ctx, NULL, false,
                               "starpu_sched_ctx_create");
    } else {
        for (; count < orr_worker_count; count++) workers[count] = (int)count;
    }
    unsigned id = create(&s, workers, count);
    change_end();
    return id;
}

void starpu_sched_ctx_register_close_callback(unsigned sched_ctx_id,
                                              void (*close_callback)(unsigned sched_ctx_id, void *args),
                                              void *args)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_register_close_callback");
    if (!ctx) return;
    ctx->close_callback = close_callback;
    ctx->close_arg = args;
}

/* ---- moving workers, ending ---- */

void starpu_sched_ctx_add_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_add_workers");
    int workers[STARPU_NMAXWORKERS];
    if (!ctx || !change_begin("starpu_sched_ctx_add_workers")) return;
    unsigned count =
        select_workers(workers, workerids_ctx, nworkers_ctx, ctx, false, "starpu_sched_ctx_add_workers");
    detach(workers, count);
    orr_ctx_add_workers(ctx, workers, count);
    change_end();
}

void starpu_sched_ctx_remove_workers(int *workerids_ctx, unsigned nworkers_ctx, unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_remove_workers");
    int workers[STARPU_NMAXWORKERS];
    if (ctx && ctx->id == 0) {
        orr_error(
            "starpu_sched_ctx_remove_workers: workers leave the main context by being added to another");
        return;
    }
    if (!ctx || !change_begin("starpu_sched_ctx_remove_workers")) return;
    unsigned count =
        select_workers(workers, workerids_ctx, nworkers_ctx, ctx, true, "starpu_sched_ctx_remove_workers");
    detach(workers, count);
    orr_ctx_add_workers(&orr_contexts[0], workers, count);
    change_end();
}

void starpu_sched_ctx_set_inheritor(unsigned sched_ctx_id, unsigned inheritor)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_set_inheritor");
    if (ctx && find(inheritor, "starpu_sched_ctx_set_inheritor")) ctx->inheritor = inheritor;
}

unsigned starpu_sched_ctx_get_inheritor(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? ctx->inheritor : STARPU_NMAX_SCHED_CTXS;
}

/* Called between change_begin and change_end. */
static void hand_over(struct orr_ctx *ctx)
{
    int workers[STARPU_NMAXWORKERS];
    unsigned count = ctx->nworkers;
    struct orr_ctx *heir = orr_ctx_get(ctx->inheritor ? ctx->inheritor : ctx->nested_in);
    if (!heir || heir == ctx) heir = &orr_contexts[0];
    memcpy(workers, ctx->workers, count * sizeof workers[0]);
    detach(workers, count);
    orr_ctx_add_workers(heir, workers, count);
}

/* The workers go at once if there is nothing left to do, else when the context is deleted. */
void starpu_sched_ctx_finished_submit(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_finished_submit");
    if (!ctx || ctx->id == 0 || orr_threads_outstanding() > 0 ||
        !change_begin("starpu_sched_ctx_finished_submit"))
        return;
    hand_over(ctx);
    change_end();
}

void starpu_sched_ctx_delete(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_delete");
    if (!ctx) return;
    if (ctx->id == 0) {
        orr_error("starpu_sched_ctx_delete: the main context ends with starpu_shutdown");
        return;
    }
    ctx->closing = true;
    orr_ctx_push_held(ctx);
    if (orr_wait_until(0) != 0 || !change_begin("starpu_sched_ctx_delete")) return;
    void (*callback)(unsigned, void *) = ctx->close_callback;
    void *arg = ctx->close_arg;
    hand_over(ctx);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++)
        if (orr_contexts[i].nested_in == sched_ctx_id) orr_contexts[i].nested_in = ctx->nested_in;
    orr_ctx_close(sched_ctx_id);
    change_end();
    if (orr_self()->sched_ctx == sched_ctx_id) orr_self()->sched_ctx = 0;
    if (callback) callback(sched_ctx_id, arg);
}

/* ---- the context of a thread and of a task ---- */

void starpu_sched_ctx_set_context(unsigned *sched_ctx_id)
{
    orr_self()->sched_ctx = sched_ctx_id && *sched_ctx_id < STARPU_NMAX_SCHED_CTXS ? *sched_ctx_id : 0;
}

unsigned starpu_sched_ctx_get_context(void)
{
    struct orr_thread *self = orr_self();
    if (self->current) return self->current->sched_ctx;
    return self->sched_ctx ? self->sched_ctx : STARPU_NMAX_SCHED_CTXS;
}

unsigned starpu_sched_ctx_get_ctx_for_task(struct starpu_task *task)
{
    struct orr_task *t = orr_task_of(task);
    bool submitted = t && orr_load_acquire(&t->state) != ORR_TASK_CREATED;
    return submitted ? t->sched_ctx : task->sched_ctx;
}

/* ---- questions about workers ---- */

unsigned starpu_sched_ctx_get_nworkers(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? ctx->nworkers : 0;
}

unsigned starpu_sched_ctx_get_nshared_workers(unsigned sched_ctx_id, unsigned sched_ctx_id2)
{
    return sched_ctx_id == sched_ctx_id2 ? starpu_sched_ctx_get_nworkers(sched_ctx_id) : 0;
}

unsigned starpu_sched_ctx_get_workers_list_raw(unsigned sched_ctx_id, int **workerids)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    *workerids = ctx ? ctx->workers : NULL;
    return ctx ? ctx->nworkers : 0;
}

unsigned starpu_sched_ctx_get_workers_list(unsigned sched_ctx_id, int **workerids)
{
    int *raw;
    unsigned n = starpu_sched_ctx_get_workers_list_raw(sched_ctx_id, &raw);
    *workerids = n ? malloc(n * sizeof **workerids) : NULL; /* the caller's, to free() */
    if (!*workerids) return 0;
    memcpy(*workerids, raw, n * sizeof **workerids);
    return n;
}

unsigned starpu_sched_ctx_contains_worker(int workerid, unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx && workerid >= 0 && (unsigned)workerid < orr_worker_count && orr_workers[workerid].ctx == ctx;
}

unsigned starpu_sched_ctx_contains_type_of_worker(enum starpu_worker_archtype arch, unsigned sched_ctx_id)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_workers[i].type == arch && starpu_sched_ctx_contains_worker((int)i, sched_ctx_id)) return 1;
    return 0;
}

unsigned starpu_sched_ctx_worker_get_id(unsigned sched_ctx_id)
{
    int id = starpu_worker_get_id();
    return starpu_sched_ctx_contains_worker(id, sched_ctx_id) ? (unsigned)id : (unsigned)-1;
}

int starpu_sched_ctx_get_worker_rank(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    int id = starpu_worker_get_id();
    for (unsigned i = 0; ctx && i < ctx->nworkers; i++)
        if (ctx->workers[i] == id) return (int)i;
    return -1;
}

unsigned starpu_sched_ctx_overlapping_ctxs_on_worker(int workerid)
{
    (void)workerid; /* a worker is in one context */
    return 0;
}

void starpu_sched_ctx_display_workers(unsigned sched_ctx_id, FILE *f)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (!ctx) return;
    fprintf(f, "context %u (%s): %u workers\n", sched_ctx_id, ctx->name ? ctx->name : "main", ctx->nworkers);
    for (unsigned i = 0; i < ctx->nworkers; i++)
        fprintf(f, "\t%d\t%s\n", ctx->workers[i], orr_workers[ctx->workers[i]].name);
}

void starpu_sched_ctx_get_available_cpuids(unsigned sched_ctx_id, int **cpuids, int *ncpuids)
{
    int *workers;
    *ncpuids = (int)starpu_sched_ctx_get_workers_list(sched_ctx_id, &workers);
    for (int i = 0; i < *ncpuids; i++) workers[i] = starpu_worker_get_bindid(workers[i]);
    *cpuids = workers;
}

void starpu_sched_ctx_bind_current_thread_to_cpuid(unsigned cpuid)
{
    orr_topo_bind_self(cpuid);
}

/* ---- data and collections ---- */

unsigned starpu_sched_ctx_has_starpu_scheduler(unsigned sched_ctx_id, unsigned *awake_workers)
{
    if (awake_workers) *awake_workers = 0;
    return orr_ctx_get(sched_ctx_id) != NULL; /* each has a policy */
}

void starpu_sched_ctx_set_user_data(unsigned sched_ctx_id, void *user_data)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_set_user_data");
    if (ctx) ctx->user_data = user_data;
}

void *starpu_sched_ctx_get_user_data(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? ctx->user_data : NULL;
}

void (*starpu_sched_ctx_get_sched_policy_callback(unsigned sched_ctx_id))(unsigned)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? ctx->policy_init : NULL;
}

/* The context has a collection already, still empty while its policy is set up: only its kind may have to
 * change. */
struct starpu_worker_collection *starpu_sched_ctx_create_worker_collection(
    unsigned sched_ctx_id, enum starpu_worker_collection_type type)
{
    struct orr_ctx *ctx = find(sched_ctx_id, "starpu_sched_ctx_create_worker_collection");
    if (!ctx) return NULL;
    if (ctx->collection && (ctx->collection->type == type || ctx->collection->nworkers > 0))
        return ctx->collection;
    orr_collection_destroy(ctx->collection);
    ctx->collection = orr_collection_create(type);
    if (!ctx->collection) orr_fatal("starpu_sched_ctx_create_worker_collection: out of memory");
    return ctx->collection;
}

void starpu_sched_ctx_delete_worker_collection(unsigned sched_ctx_id)
{
    (void)sched_ctx_id; /* it goes with the context, after the policy */
}

struct starpu_worker_collection *starpu_sched_ctx_get_worker_collection(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? ctx->collection : NULL;
}

/* ---- hints to workers of several contexts, of which there are none ---- */

void starpu_sched_ctx_list_task_counters_increment(unsigned sched_ctx_id, int workerid)
{
    (void)sched_ctx_id;
    (void)workerid;
}

void starpu_sched_ctx_list_task_counters_decrement(unsigned sched_ctx_id, int workerid)
{
    (void)sched_ctx_id;
    (void)workerid;
}

void starpu_sched_ctx_list_task_counters_reset(unsigned sched_ctx_id, int workerid)
{
    (void)sched_ctx_id;
    (void)workerid;
}

void starpu_sched_ctx_list_task_counters_increment_all_ctx_locked(struct starpu_task *task,
                                                                  unsigned sched_ctx_id)
{
    (void)task;
    (void)sched_ctx_id;
}

void starpu_sched_ctx_list_task_counters_decrement_all_ctx_locked(struct starpu_task *task,
                                                                  unsigned sched_ctx_id)
{
    (void)task;
    (void)sched_ctx_id;
}

void starpu_sched_ctx_list_task_counters_reset_all(struct starpu_task *task, unsigned sched_ctx_id)
{
    (void)task;
    (void)sched_ctx_id;
}
