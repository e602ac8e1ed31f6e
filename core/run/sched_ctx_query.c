/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_ctx_query.c: questions about scheduling contexts: their workers, their tasks, what is attached to
 * them.
 * Threads: any. An answer about workers is as of now: others may be moving them. Owns: nothing.
 * Not here: making and changing contexts (sched_ctx.c), priorities (context.c). */
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/run/collection.h"
#include "core/run/context.h"
#include "core/run/sched_ctx.h"
#include "core/topo/topo.h"
#include "core/worker/group.h"
#include "core/worker/member.h"
#include "core/worker/tally.h"
#include "core/worker/worker.h"

static bool is_worker(int id)
{
    return id >= 0 && (unsigned)id < orr_worker_count;
}

static bool contains(const struct orr_ctx *ctx, int worker)
{
    return ctx && is_worker(worker) && orr_ctx_has(ctx, (unsigned)worker);
}

/* ---- workers ---- */

unsigned starpu_sched_ctx_get_nworkers(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? orr_load_seq(&ctx->nworkers) : 0;
}

unsigned starpu_sched_ctx_get_nshared_workers(unsigned sched_ctx_id, unsigned sched_ctx_id2)
{
    struct orr_ctx *a = orr_ctx_get(sched_ctx_id), *b = orr_ctx_get(sched_ctx_id2);
    unsigned n = 0;
    for (unsigned i = 0; a && b && i < orr_worker_count; i++) n += orr_ctx_has(a, i) && orr_ctx_has(b, i);
    return n;
}

unsigned starpu_sched_ctx_get_workers_list_raw(unsigned sched_ctx_id, int **workerids)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    *workerids = NULL;
    return ctx && orr_load_acquire(&ctx->open) ? orr_ctx_raw(ctx, workerids) : 0;
}

unsigned starpu_sched_ctx_get_workers_list(unsigned sched_ctx_id, int **workerids)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    int now[STARPU_NMAXWORKERS];
    unsigned n = ctx ? orr_ctx_list(ctx, now) : 0;
    *workerids = n ? orr_malloc(n * sizeof **workerids) : NULL; /* the caller's, to free() */
    if (!*workerids) return 0;
    memcpy(*workerids, now, n * sizeof now[0]);
    return n;
}

unsigned starpu_sched_ctx_contains_worker(int workerid, unsigned sched_ctx_id)
{
    return contains(orr_ctx_get(sched_ctx_id), workerid);
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
    int *workers, id = starpu_worker_get_id(), rank = -1;
    unsigned n = starpu_sched_ctx_get_workers_list(sched_ctx_id, &workers);
    for (unsigned i = 0; i < n; i++)
        if (workers[i] == id) rank = (int)i;
    free(workers);
    return rank;
}

unsigned starpu_sched_ctx_overlapping_ctxs_on_worker(int workerid)
{
    if (!is_worker(workerid)) return 0;
    uint32_t in = orr_load_acquire(&orr_workers[workerid].in);
    return (in & (in - 1)) != 0;
}

unsigned starpu_sched_ctx_get_priority(int worker, unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx && is_worker(worker) ? orr_load_relaxed(&ctx->worker_priority[worker]) : 0;
}

void starpu_sched_ctx_display_workers(unsigned sched_ctx_id, FILE *f)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    int *workers;
    if (!ctx) return;
    unsigned n = starpu_sched_ctx_get_workers_list(sched_ctx_id, &workers);
    fprintf(f, "context %u (%s): %u workers\n", sched_ctx_id, ctx->name ? ctx->name : "main", n);
    for (unsigned i = 0; i < n; i++) fprintf(f, "\t%d\t%s\n", workers[i], orr_workers[workers[i]].name);
    free(workers);
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

/* ---- contexts without a policy ---- */

unsigned starpu_sched_ctx_has_starpu_scheduler(unsigned sched_ctx_id, unsigned *awake_workers)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    if (awake_workers) *awake_workers = ctx && ctx->awake_workers;
    return ctx && ctx->policy != &orr_group_policy;
}

unsigned starpu_sched_ctx_master_get_context(int masterid)
{
    for (unsigned i = 1; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (ctx && orr_load_acquire(&ctx->open) && masterid >= 0 && orr_group_master(ctx) == masterid)
            return i;
    }
    return STARPU_NMAX_SCHED_CTXS;
}

unsigned starpu_sched_ctx_worker_is_master_for_child_ctx(int workerid, unsigned sched_ctx_id)
{
    for (unsigned i = 1; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (!ctx || !orr_load_acquire(&ctx->open) || orr_load_relaxed(&ctx->nested_in) != sched_ctx_id)
            continue;
        if (workerid >= 0 && orr_group_master(ctx) == workerid) return i;
    }
    return STARPU_NMAX_SCHED_CTXS;
}

int starpu_sched_ctx_book_workers_for_task(unsigned sched_ctx_id, int *workerids, int nworkers)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_book_workers_for_task");
    int others[STARPU_NMAXWORKERS], master = -1;
    unsigned n = 0;
    for (int i = 0; ctx && i < nworkers; i++) {
        if (!contains(ctx, workerids[i])) continue;
        if (master < 0)
            master = workerids[i];
        else if (orr_load_relaxed(&orr_workers[workerids[i]].booked_by) == 0)
            others[n++] = workerids[i];
    }
    for (unsigned i = 0; i < n; i++) orr_store_relaxed(&orr_workers[others[i]].booked_by, master + 1);
    if (n > 0) orr_sched_ctx_suspend(others, n, 1);
    return master;
}

void starpu_sched_ctx_unbook_workers_for_task(unsigned sched_ctx_id, int master)
{
    int others[STARPU_NMAXWORKERS];
    unsigned n = 0;
    if (!orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_unbook_workers_for_task")) return;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        int mine = master + 1;
        if (master < 0 || !orr_cas_seq(&orr_workers[i].booked_by, &mine, 0)) continue;
        others[n++] = (int)i;
    }
    if (n > 0) orr_sched_ctx_suspend(others, n, -1);
}

/* ---- parts of a GPU ---- */

int starpu_sched_ctx_get_nsms(unsigned sched_ctx)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx);
    return ctx ? ctx->nsms : 0;
}

int starpu_sched_ctx_get_stream_worker(unsigned sub_ctx)
{
    int *workers, worker = -1;
    if (starpu_sched_ctx_get_workers_list(sub_ctx, &workers) > 0) worker = workers[0];
    free(workers);
    return worker;
}

static struct orr_ctx *part_of(unsigned worker)
{
    for (unsigned i = 1; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        if (ctx && orr_load_acquire(&ctx->open) && ctx->nsms > 0 && contains(ctx, (int)worker)) return ctx;
    }
    return NULL;
}

void starpu_sched_ctx_get_sms_interval(int stream_workerid, int *start, int *end)
{
    struct orr_ctx *ctx = stream_workerid >= 0 ? part_of((unsigned)stream_workerid) : NULL;
    *start = ctx ? ctx->sms_start : -1;
    *end = ctx ? ctx->sms_start + ctx->nsms : -1;
}

unsigned starpu_worker_get_sched_ctx_id_stream(unsigned stream_workerid)
{
    struct orr_ctx *ctx = part_of(stream_workerid);
    return ctx ? ctx->id : STARPU_NMAX_SCHED_CTXS;
}

/* ---- tasks ---- */

unsigned starpu_sched_ctx_get_ctx_for_task(struct starpu_task *task)
{
    struct orr_task *t = orr_task_of(task);
    bool submitted = t && orr_load_acquire(&t->state) != ORR_TASK_CREATED;
    return submitted ? t->sched_ctx : task->sched_ctx;
}

int starpu_sched_ctx_get_nready_tasks(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx && orr_load_acquire(&ctx->open) ? (int)orr_tally_nready(ctx) : 0;
}

double starpu_sched_ctx_get_nready_flops(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? orr_load_relaxed(&ctx->tally.ready_flops) : 0;
}

void starpu_sched_ctx_revert_task_counters_ctx_locked(unsigned sched_ctx_id, double flops)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_revert_task_counters_ctx_locked");
    if (ctx && sched_ctx_id) orr_tally_revert(ctx, -1, flops);
}

void starpu_sched_ctx_move_task_to_ctx_locked(struct starpu_task *task, unsigned sched_ctx,
                                              unsigned with_repush)
{
    static const char function[] = "starpu_sched_ctx_move_task_to_ctx_locked";
    struct orr_task *t = orr_task_of(task);
    if (!orr_ctx_find(sched_ctx, function)) return;
    uint32_t state = t ? orr_load_acquire(&t->state) : ORR_TASK_CREATED;
    if (state != ORR_TASK_READY && state != ORR_TASK_PUSHED) {
        orr_error("%s: task %s is not in the hands of a policy", function, t ? orr_task_name(t) : "");
        return;
    }
    orr_policy_releases(t);
    t->nimpl_valid = 0;
    orr_tally_move(t, sched_ctx);
    if (with_repush) orr_task_hooks.push(t);
}

unsigned starpu_sched_ctx_get_hierarchy_level(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? ctx->hierarchy_level : 0;
}

unsigned starpu_sched_ctx_get_inheritor(unsigned sched_ctx_id)
{
    struct orr_ctx *ctx = orr_ctx_get(sched_ctx_id);
    return ctx ? orr_load_relaxed(&ctx->inheritor) : STARPU_NMAX_SCHED_CTXS;
}

/* ---- what is attached ---- */

void starpu_sched_ctx_set_user_data(unsigned sched_ctx_id, void *user_data)
{
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_set_user_data");
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
    struct orr_ctx *ctx = orr_ctx_find(sched_ctx_id, "starpu_sched_ctx_create_worker_collection");
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

/* ---- hints that are not needed: a worker of several contexts looks in all of them ---- */

void starpu_sched_ctx_stop_task_submission(void)
{
    /* tasks of contexts without workers wait until some are added; nothing submits them meanwhile */
}

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
