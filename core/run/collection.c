/* SPDX-License-Identifier: BSD-3-Clause */
/* collection.c: sets of workers: as a list, walked by number; as a tree, walked from the caller's neighbours
 * outwards.
 * Threads: any walks, with an iterator of its own; changes while nobody walks. Owns: nothing beyond a
 * collection's arrays. Not here: which workers are in a context's (context.c). */
#include "core/run/collection.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"

/* ---- members; the same for both kinds ---- */

/* No parallel section captures workers: all are free, and each stands for itself. */
static void update_views(struct starpu_worker_collection *c)
{
    c->unblocked_workers = c->masters = c->workerids;
    c->nunblocked_workers = c->nmasters = c->nworkers;
    memcpy(c->is_unblocked, c->present, sizeof c->present);
    memcpy(c->is_master, c->present, sizeof c->present);
}

static void init(struct starpu_worker_collection *c)
{
    c->workerids = orr_calloc(STARPU_NMAXWORKERS, sizeof *c->workerids);
    c->collection_private = NULL;
    c->nworkers = 0;
    memset(c->present, 0, sizeof c->present);
    update_views(c);
    if (!c->workerids) orr_fatal("starpu_worker_collection: out of memory");
}

static void deinit(struct starpu_worker_collection *c)
{
    orr_free(c->workerids);
    c->workerids = NULL;
    c->nworkers = 0;
    update_views(c);
}

static int add(struct starpu_worker_collection *c, int worker)
{
    if (worker < 0 || worker >= STARPU_NMAXWORKERS || c->present[worker] || !c->workerids) return -1;
    unsigned at = c->nworkers++;
    for (; at > 0 && c->workerids[at - 1] > worker; at--) c->workerids[at] = c->workerids[at - 1];
    c->workerids[at] = worker; /* by number: workers join when they have ended what they ran */
    c->present[worker] = 1;
    update_views(c);
    return worker;
}

static int drop(struct starpu_worker_collection *c, int worker)
{
    if (worker < 0 || worker >= STARPU_NMAXWORKERS || !c->present[worker]) return -1;
    unsigned at = 0;
    while (c->workerids[at] != worker) at++;
    c->nworkers--;
    memmove(&c->workerids[at], &c->workerids[at + 1], (c->nworkers - at) * sizeof c->workerids[0]);
    c->present[worker] = 0;
    update_views(c);
    return worker;
}

/* ---- walking a list ---- */

static unsigned list_has_next(struct starpu_worker_collection *c, struct starpu_sched_ctx_iterator *it)
{
    return (unsigned)it->cursor < c->nworkers;
}

static int list_get_next(struct starpu_worker_collection *c, struct starpu_sched_ctx_iterator *it)
{
    return c->workerids[it->cursor++];
}

static void list_init_iterator(struct starpu_worker_collection *c, struct starpu_sched_ctx_iterator *it)
{
    (void)c;
    it->cursor = 0;
    it->possibly_parallel = -1;
}

static void list_init_iterator_for_task(struct starpu_worker_collection *c,
                                        struct starpu_sched_ctx_iterator *it, struct starpu_task *task)
{
    (void)task; /* whatever it is, single workers run it */
    list_init_iterator(c, it);
}

/* ---- walking a tree: iterator->cursor counts those visited ---- */

/* The worker nearest to the caller that is not visited; nearest to the first one's core for callers that are
 * no worker. */
static int tree_get_next(struct starpu_worker_collection *c, struct starpu_sched_ctx_iterator *it)
{
    const struct orr_worker *self = orr_worker_self();
    int from = starpu_worker_get_bindid(self ? self->id : c->workerids[0]), best = -1, best_depth = -1;
    for (unsigned i = 0; i < c->nworkers; i++) {
        int id = c->workerids[i], core = starpu_worker_get_bindid(id);
        if (it->visited[id]) continue;
        int depth = from >= 0 && core >= 0 ? orr_topo_shared_depth((unsigned)from, (unsigned)core) : 0;
        if (self && id == self->id) depth = INT32_MAX;
        if (depth <= best_depth) continue;
        best = id;
        best_depth = depth;
    }
    if (best >= 0) {
        it->visited[best] = 1;
        it->cursor++;
    }
    return best;
}

static void tree_init_iterator(struct starpu_worker_collection *c, struct starpu_sched_ctx_iterator *it)
{
    list_init_iterator(c, it);
    memset(it->visited, 0, sizeof it->visited);
}

static void tree_init_iterator_for_task(struct starpu_worker_collection *c,
                                        struct starpu_sched_ctx_iterator *it, struct starpu_task *task)
{
    (void)task;
    tree_init_iterator(c, it);
}

/* ---- the two kinds ---- */

struct starpu_worker_collection starpu_worker_list = {
    .type = STARPU_WORKER_LIST,
    .has_next = list_has_next,
    .get_next = list_get_next,
    .add = add,
    .remove = drop,
    .init = init,
    .deinit = deinit,
    .init_iterator = list_init_iterator,
    .init_iterator_for_parallel_tasks = list_init_iterator_for_task,
};

struct starpu_worker_collection starpu_worker_tree = {
    .type = STARPU_WORKER_TREE,
    .has_next = list_has_next,
    .get_next = tree_get_next,
    .add = add,
    .remove = drop,
    .init = init,
    .deinit = deinit,
    .init_iterator = tree_init_iterator,
    .init_iterator_for_parallel_tasks = tree_init_iterator_for_task,
};

struct starpu_worker_collection *orr_collection_create(enum starpu_worker_collection_type type)
{
    struct starpu_worker_collection *c = orr_malloc(sizeof *c);
    if (!c) return NULL;
    *c = type == STARPU_WORKER_TREE ? starpu_worker_tree : starpu_worker_list;
    c->init(c);
    if (c->workerids) return c;
    orr_free(c);
    return NULL;
}

void orr_collection_destroy(struct starpu_worker_collection *c)
{
    if (!c) return;
    c->deinit(c);
    orr_free(c);
}
