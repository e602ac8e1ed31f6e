/* SPDX-License-Identifier: BSD-3-Clause */
/* query.c: public questions about workers: how many, of which kind, where.
 * Threads: any, between init and shutdown. Owns: nothing. Not here: names (names.c), waking (policy.c), cores
 * (binding.c). */
#include <stdlib.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/data.h"
#include "core/mem/node.h"
#include "core/worker/driver.h"
#include "core/worker/member.h"
#include "core/worker/worker.h"

/* ---- counting and finding ---- */

static struct orr_worker *worker_of(int id)
{
    return id >= 0 && (unsigned)id < orr_worker_count ? &orr_workers[id] : NULL;
}

static bool matches(const struct orr_worker *w, enum starpu_worker_archtype type)
{
    return type == STARPU_ANY_WORKER || w->type == type;
}

static unsigned count_of(enum starpu_worker_archtype type)
{
    unsigned n = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) n += matches(&orr_workers[i], type);
    return n;
}

unsigned starpu_worker_get_count(void)
{
    return orr_worker_count;
}

/* starpu_<kind>_worker_get_count, for each kind of StarPU's. */
#define COUNT_STARPU(NAME, name)                                                                             \
    unsigned starpu_##name##_worker_get_count(void)                                                          \
    {                                                                                                        \
        return count_of(STARPU_##NAME##_WORKER);                                                             \
    }
#define COUNT_ORRERY(NAME, name)
#define KIND(PREFIX, NAME, name, title) COUNT_##PREFIX(NAME, name)
#include "core/base/kind.def"

int starpu_worker_get_count_by_type(enum starpu_worker_archtype type)
{
    if (type != STARPU_ANY_WORKER && !starpu_worker_archtype_is_valid(type)) return -EINVAL;
    return (int)count_of(type);
}

unsigned starpu_worker_get_ids_by_type(enum starpu_worker_archtype type, int *workerids, unsigned maxsize)
{
    unsigned n = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        if (!matches(&orr_workers[i], type)) continue;
        if (n == maxsize) return (unsigned)-ERANGE;
        workerids[n++] = (int)i;
    }
    return n;
}

int starpu_worker_get_by_type(enum starpu_worker_archtype type, int num)
{
    for (unsigned i = 0; num >= 0 && i < orr_worker_count; i++)
        if (matches(&orr_workers[i], type) && num-- == 0) return (int)i;
    return -1;
}

int starpu_worker_get_by_devid(enum starpu_worker_archtype type, int devid)
{
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (matches(&orr_workers[i], type) && orr_workers[i].devid == devid) return (int)i;
    return -1;
}

void starpu_worker_wait_for_initialisation(void)
{
    starpu_wait_initialized();
}

/* ---- facts about one ---- */

struct orr_worker *orr_worker_here(void)
{
    struct orr_thread *self = orr_self();
    struct orr_worker *w = orr_worker_thread(self)->worker;
    uint64_t copies_for = orr_acting(self)->copies_for;
    if (orr_likely(copies_for == 0) || (w && w->node == copies_for - 1)) return w;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_workers[i].node == copies_for - 1) return &orr_workers[i];
    return w;
}

int starpu_worker_get_id(void)
{
    struct orr_worker *w = orr_worker_here();
    return w ? w->id : -1;
}

unsigned starpu_worker_get_id_check(void)
{
    int id = starpu_worker_get_id();
    if (id < 0)
        orr_fatal(
            "starpu_worker_get_id_check: the calling thread is not a worker; call it in task bodies only");
    return (unsigned)id;
}

enum starpu_worker_archtype starpu_worker_get_type(int id)
{
    const struct orr_worker *w = worker_of(id);
    return w ? w->type : STARPU_UNKNOWN_WORKER;
}

unsigned starpu_worker_archtype_is_valid(enum starpu_worker_archtype type)
{
    return (unsigned)type < STARPU_NARCH;
}

unsigned starpu_worker_type_can_execute_task(enum starpu_worker_archtype type, const struct starpu_task *task)
{
    if (!task->cl || orr_codelet_check(task->cl) < 0) return 0;
    return (orr_task_where(task) & STARPU_WORKER_TO_MASK(type)) != 0;
}

enum starpu_worker_archtype starpu_arch_mask_to_worker_archtype(unsigned mask)
{
    for (unsigned type = 0; type < STARPU_NARCH; type++)
        if (mask == STARPU_WORKER_TO_MASK(type)) return (enum starpu_worker_archtype)type;
    return STARPU_UNKNOWN_WORKER;
}

int starpu_worker_get_devid(int id)
{
    const struct orr_worker *w = worker_of(id);
    return w ? w->devid : -1;
}

/* Whether an earlier worker drives the same device. */
static bool device_seen(const struct orr_worker *w)
{
    for (const struct orr_worker *e = orr_workers; e < w; e++)
        if (e->type == w->type && e->devid == w->devid) return true;
    return false;
}

int starpu_worker_get_devnum(int id)
{
    const struct orr_worker *w = worker_of(id);
    int n = 0;
    if (!w) return -1;
    for (const struct orr_worker *e = orr_workers; e < w; e++)
        if (e->type == w->type && e->devid == w->devid)
            return starpu_worker_get_devnum(e->id);
        else
            n += e->type == w->type && !device_seen(e);
    return n;
}

int starpu_worker_get_subworkerid(int id)
{
    const struct orr_worker *w = worker_of(id);
    int n = 0;
    if (!w) return -1;
    for (const struct orr_worker *e = orr_workers; e < w; e++)
        n += e->type == w->type && e->devid == w->devid;
    return n;
}

int starpu_worker_get_devids(enum starpu_worker_archtype type, int *devids, int num)
{
    int n = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        const struct orr_worker *w = &orr_workers[i];
        if (w->type != type || device_seen(w)) continue;
        if (n < num) devids[n] = w->devid;
        n++;
    }
    return n;
}

int starpu_worker_get_stream_workerids(unsigned devid, int *workerids, enum starpu_worker_archtype type)
{
    int n = 0;
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (orr_workers[i].type == type && orr_workers[i].devid == (int)devid) workerids[n++] = (int)i;
    return n;
}

unsigned starpu_worker_get_sched_ctx_list(int worker, unsigned **sched_ctx)
{
    const struct orr_worker *w = worker_of(worker);
    uint32_t in = w ? orr_load_acquire(&w->in) : 0;
    unsigned count = (unsigned)__builtin_popcount(in), n = 0;
    unsigned *list = in ? orr_malloc(count * sizeof *list) : NULL; /* the program's, to free() */
    *sched_ctx = list;
    for (; list && in; in &= in - 1) list[n++] = (unsigned)__builtin_ctz(in);
    return n;
}

/* ---- workers that others run for ---- */

unsigned starpu_worker_is_blocked_in_parallel(int workerid)
{
    struct orr_worker *w = worker_of(workerid);
    return w && orr_member_held(w);
}

unsigned starpu_worker_is_slave_somewhere(int workerid)
{
    return starpu_worker_is_blocked_in_parallel(workerid);
}

/* ---- memory ---- */

unsigned starpu_worker_get_memory_node(unsigned workerid)
{
    const struct orr_worker *w = worker_of((int)workerid);
    return w ? w->node : orr_node_home();
}

unsigned starpu_worker_get_local_memory_node(void)
{
    const struct orr_worker *w = orr_worker_self();
    return w ? w->node : orr_node_home();
}

int starpu_task_get_current_data_node(unsigned i)
{
    const struct orr_worker *w = orr_worker_self();
    struct orr_task *t = orr_task_current();
    if (!w || !t || i >= orr_task_nbuffers(t->pub)) return -1;
    struct orr_data *h = STARPU_TASK_GET_HANDLE(t->pub, i);
    if (!h) return (int)w->node; /* of a task that another rank lent */
    if (orr_task_has_nodes(t->pub) && orr_task_wanted_node(t->pub, i) == STARPU_SPECIFIC_NODE_NONE) return -1;
    for (unsigned n = 0; n < h->nnodes; n++)
        if (h->replicates[n].interface == STARPU_TASK_GET_INTERFACES(t->pub)[i]) return (int)n;
    return orr_task_datum_node(t->pub, i, w->node); /* memory of the worker's */
}
