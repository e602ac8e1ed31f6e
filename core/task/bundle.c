/* SPDX-License-Identifier: BSD-3-Clause */
/* bundle.c: groups of tasks that a scheduler should keep together. A hint: no task waits for another by it.
 * Threads: any. Owns: bundles and their lists; a bundle dies when it is closed and empty.
 * Not here: what policies make of a bundle (sched/). */
#include <errno.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/task.h"

struct entry {
    struct entry *next;
    struct starpu_task *task;
};

struct starpu_task_bundle {
    ORR_MUTEX(bundle) lock; /* protects all; leaf */
    struct entry *entries;
    bool closed;
};

void starpu_task_bundle_create(starpu_task_bundle_t *bundle)
{
    struct starpu_task_bundle *b = orr_calloc(1, sizeof *b);
    *bundle = b;
    if (b)
        pthread_mutex_init(&b->lock, NULL);
    else
        orr_fatal("starpu_task_bundle_create: out of memory");
}

static void destroy(struct starpu_task_bundle *b)
{
    pthread_mutex_destroy(&b->lock);
    orr_free(b);
}

/* Unlocks, and frees what nobody can use any more. */
static void unlock(struct starpu_task_bundle *b)
{
    bool over = b->closed && !b->entries;
    pthread_mutex_unlock(&b->lock);
    if (over) destroy(b);
}

static int insert_locked(struct starpu_task_bundle *b, struct starpu_task *task)
{
    if (b->closed) {
        orr_error("starpu_task_bundle_insert: the bundle is closed");
        return -EPERM;
    }
    struct orr_task *t = orr_task_private(task);
    struct entry *e = t ? orr_malloc(sizeof *e) : NULL;
    if (!e) return -ENOMEM;
    if (task->bundle || orr_load_acquire(&t->state) != ORR_TASK_CREATED) {
        orr_error("starpu_task_bundle_insert: task %s is %s", orr_task_name(t),
                  task->bundle ? "in a bundle already" : "submitted already");
        orr_free(e);
        return -EINVAL;
    }
    *e = (struct entry){ .next = b->entries, .task = task };
    b->entries = e;
    task->bundle = b;
    return 0;
}

int starpu_task_bundle_insert(starpu_task_bundle_t bundle, struct starpu_task *task)
{
    if (!bundle || !task) return -EINVAL;
    pthread_mutex_lock(&bundle->lock);
    int r = insert_locked(bundle, task);
    pthread_mutex_unlock(&bundle->lock);
    return r;
}

int starpu_task_bundle_remove(starpu_task_bundle_t bundle, struct starpu_task *task)
{
    if (!bundle || !task) return -ENOENT;
    pthread_mutex_lock(&bundle->lock);
    struct entry **at = &bundle->entries;
    while (*at && (*at)->task != task) at = &(*at)->next;
    struct entry *e = *at;
    if (e) {
        *at = e->next;
        task->bundle = NULL;
    }
    unlock(bundle);
    orr_free(e);
    return e ? 0 : -ENOENT;
}

void starpu_task_bundle_close(starpu_task_bundle_t bundle)
{
    if (!bundle) return;
    pthread_mutex_lock(&bundle->lock);
    bundle->closed = true;
    unlock(bundle);
}

/* ---- what it should cost ---- */

double starpu_task_bundle_expected_length(starpu_task_bundle_t bundle, struct starpu_perfmodel_arch *arch,
                                          unsigned nimpl)
{
    double sum = 0;
    pthread_mutex_lock(&bundle->lock);
    for (const struct entry *e = bundle->entries; e; e = e->next) {
        double us = e->task->cl ? starpu_task_expected_length(e->task, arch, nimpl) : 0;
        if (us > 0) sum += us; /* not one that is unknown */
    }
    pthread_mutex_unlock(&bundle->lock);
    return sum;
}

double starpu_task_bundle_expected_energy(starpu_task_bundle_t bundle, struct starpu_perfmodel_arch *arch,
                                          unsigned nimpl)
{
    double sum = 0;
    pthread_mutex_lock(&bundle->lock);
    for (const struct entry *e = bundle->entries; e; e = e->next) {
        double joules = e->task->cl ? starpu_task_expected_energy(e->task, arch, nimpl) : 0;
        if (joules > 0) sum += joules;
    }
    pthread_mutex_unlock(&bundle->lock);
    return sum;
}

/* Whether an earlier task of the list, or an earlier datum of this one, reads the same handle. */
static bool seen_before(const struct entry *first, const struct entry *e, unsigned upto)
{
    starpu_data_handle_t h = STARPU_TASK_GET_HANDLE(e->task, upto);
    for (const struct entry *p = first;; p = p->next) {
        unsigned n = p == e ? upto : orr_task_nbuffers(p->task);
        for (unsigned i = 0; i < n; i++)
            if (STARPU_TASK_GET_HANDLE(p->task, i) == h && (STARPU_TASK_GET_MODE(p->task, i) & STARPU_R))
                return true;
        if (p == e) return false;
    }
}

double starpu_task_bundle_expected_data_transfer_time(starpu_task_bundle_t bundle, unsigned memory_node)
{
    double sum = 0;
    pthread_mutex_lock(&bundle->lock);
    for (const struct entry *e = bundle->entries; e; e = e->next)
        for (unsigned i = 0; i < orr_task_nbuffers(e->task); i++) {
            int mode = STARPU_TASK_GET_MODE(e->task, i);
            if (!(mode & STARPU_R) || seen_before(bundle->entries, e, i))
                continue; /* what is there is there for all */
            sum += starpu_data_expected_transfer_time(STARPU_TASK_GET_HANDLE(e->task, i), memory_node,
                                                      (enum starpu_data_access_mode)mode);
        }
    pthread_mutex_unlock(&bundle->lock);
    return sum;
}
