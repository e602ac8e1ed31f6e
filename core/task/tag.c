/* SPDX-License-Identifier: BSD-3-Clause */
/* tag.c: tags and the dependencies between them.
 * Threads: any. Owns: the table of tags. Not here: dependencies between tasks (deps.c).
 *
 * A tag is a successor list that closes when its task has ended (or the program notifies it), plus groups of
 * other tags that its task waits for. A group may fire before the task is there: then it is a credit, which
 * the task takes up when it is submitted. Edges stay for the next round of tasks that are submitted again.
 * Several tasks may have one tag that waits for nothing: it is reached when all of them that are under way
 * have ended. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) orr_malloc(bytes)
#define uthash_free(p, bytes) orr_free(p)
#include "core/task/tag.h"

#include <stdarg.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/deps.h"
#include "core/task/graph.h"

#define uthash_nonfatal_oom(element) (oom = true)
#include <uthash.h>

struct orr_tag {
    starpu_tag_t id;                       /* [const] */
    struct orr_task *task;                 /* bound last; NULL once it may have been freed [lock: tags] */
    unsigned under_way;                    /* tasks bound that have not ended [lock: tags] */
    _Atomic unsigned ending;               /* of those, the ones that have begun to end */
    _Atomic(struct orr_edge *) successors; /* ORR_EDGES_CLOSED once reached */
    struct orr_edge *kept;                 /* for the next round [lock: tags] */
    struct orr_dep_group *groups;          /* what its task waits for [lock: tags] */
    int ngroups, credits, outstanding; /* [lock: tags] groups; fired early; the bound task still waits for */
    int reaching;                      /* threads in reach(), which keep it in memory [lock: tags] */
    bool removed;                      /* out of the table, not to be found again [lock: tags] */
    struct orr_event reached;
    struct orr_graph_tag graph;
    UT_hash_handle hh;
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* "tags": protects the table and as said above; above queue locks */
static struct orr_tag *table;

/* Called with the lock held. NULL: out of memory, or absent and not to be made. */
static struct orr_tag *get_locked(starpu_tag_t id, bool make)
{
    struct orr_tag *g = NULL;
    HASH_FIND(hh, table, &id, sizeof id, g);
    if (g || !make) return g;
    g = orr_calloc(1, sizeof *g);
    if (!g) return NULL;
    g->id = id;
    orr_event_init(&g->reached);
    bool oom = false;
    HASH_ADD(hh, table, id, sizeof id, g);
    if (!oom) return g;
    orr_free(g);
    return NULL;
}

static struct orr_tag *get(starpu_tag_t id, bool make)
{
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, make);
    pthread_mutex_unlock(&lock);
    if (!g && make) orr_fatal("tag %llu: out of memory", (unsigned long long)id);
    return g;
}

/* A reached tag becomes reachable again. Called with the lock held. */
static void reopen_locked(struct orr_tag *g)
{
    if (orr_load_acquire(&g->successors) != ORR_EDGES_CLOSED) return;
    orr_event_init(&g->reached);
    orr_store_release(&g->successors, g->kept);
    g->kept = NULL;
}

int orr_tag_bind(struct orr_task *t)
{
    struct starpu_task *p = t->pub;
    if (!orr_task_rare_get(t)) return -ENOMEM;
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(p->tag_id, true);
    if (!g) {
        pthread_mutex_unlock(&lock);
        return -ENOMEM;
    }
    if (g->under_way && g->ngroups) { /* whose prerequisites would they be? */
        pthread_mutex_unlock(&lock);
        orr_error("task %s: tag %llu waits for other tags and has a task that has not ended; use another tag",
                  orr_task_name(t), (unsigned long long)p->tag_id);
        return -EINVAL;
    }
    reopen_locked(g);
    int credits = g->credits < g->ngroups ? g->credits : g->ngroups;
    g->credits -= credits;
    g->outstanding = g->ngroups - credits;
    g->task = t;
    g->under_way++;
    t->rare->tag = g;
    if (orr_unlikely(orr_load_relaxed(&orr_graph.recording))) orr_graph_tag_bound(&g->graph, t);
    if (g->outstanding) {
        t->flags |= ORR_TF_EXPLICIT;
        orr_add_acq_rel(&t->pending, g->outstanding);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Called with the lock held; nobody else uses g. */
static void dispose_locked(struct orr_tag *g)
{
    orr_edges_free(orr_load_relaxed(&g->successors));
    orr_edges_free(g->kept);
    for (struct orr_dep_group *i = g->groups, *next; i; i = next) {
        next = i->next;
        i->owner = NULL; /* it hangs on tags that are not reached, and may yet fire */
        orr_dep_group_unref(i);
    }
    orr_graph_tag_free(&g->graph);
    orr_free(g);
}

/* A removed tag goes when no task of it is under way, and nobody in reach(). Called with the lock held. */
static void dispose_if_idle_locked(struct orr_tag *g)
{
    if (g->removed && g->reaching == 0 && g->under_way == 0) dispose_locked(g);
}

/* Goes on after the list was closed; g->reaching counts those who do. */
static void reach(struct orr_tag *g, struct orr_edge *taken)
{
    struct orr_edge *kept = orr_dep_notify(taken, true);
    pthread_mutex_lock(&lock);
    if (kept) g->kept = kept;
    pthread_mutex_unlock(&lock);
    orr_event_set(&g->reached);
    pthread_mutex_lock(&lock);
    g->reaching--;
    dispose_if_idle_locked(g);
    pthread_mutex_unlock(&lock);
}

void orr_tag_ending(struct orr_task *t)
{
    orr_add_seq(&t->rare->tag->ending, 1);
}

void orr_tag_done(struct orr_task *t)
{
    struct orr_tag *g = t->rare->tag;
    t->rare->tag = NULL;
    pthread_mutex_lock(&lock);
    orr_sub_seq(&g->ending, 1);
    bool last = --g->under_way == 0;
    if (g->task == t && (t->pub->destroy || !last)) g->task = NULL;
    struct orr_edge *taken =
        last ? orr_dep_take(&g->successors) : NULL; /* before another task can be bound */
    if (last) g->reaching++;
    pthread_mutex_unlock(&lock);
    if (last) reach(g, taken);
}

/* All tags of one declaration are reached. */
static void group_fired(struct orr_dep_group *group)
{
    struct orr_task *t = NULL;
    pthread_mutex_lock(&lock);
    struct orr_tag *g = group->owner; /* [lock: tags] */
    if (g && g->outstanding > 0) {
        g->outstanding--;
        t = g->task;
    } else if (g) {
        g->credits++;
    }
    pthread_mutex_unlock(&lock);
    if (t) orr_task_unblock(t);
}

/* Tag id waits for tag dep. */
static void declare_one(starpu_tag_t id, starpu_tag_t dep)
{
    if (dep == id) {
        orr_error("tag %llu cannot wait for itself; left out", (unsigned long long)id);
        return;
    }
    struct orr_tag *g = get(id, true), *d = g ? get(dep, true) : NULL;
    struct orr_dep_group *group = d ? orr_dep_group_create(1, group_fired) : NULL;
    int status = 0;
    if (!group) {
        orr_fatal("starpu_tag_declare_deps: out of memory");
        return;
    }
    group->owner = g;
    pthread_mutex_lock(&lock);
    g->ngroups++;
    pthread_mutex_unlock(&lock);
    bool waits = orr_dep_hang(&d->successors, group, &status);
    if (orr_unlikely(waits && orr_load_relaxed(&orr_graph.recording)))
        orr_graph_tag_declared(&g->graph, &d->graph);
    pthread_mutex_lock(&lock);
    if (waits) {
        group->next = g->groups;
        g->groups = group;
    } else {
        g->ngroups--; /* reached already: nothing to wait for, now or later */
    }
    pthread_mutex_unlock(&lock);
    if (!waits) orr_dep_group_unref(group);
    if (status) orr_fatal("starpu_tag_declare_deps: out of memory");
}

/* Tags may be reached again and again at different speeds: each dependency counts for itself. */
void starpu_tag_declare_deps_array(starpu_tag_t id, unsigned ndeps, starpu_tag_t *deps)
{
    if (!deps && ndeps > 0) {
        orr_error("starpu_tag_declare_deps_array: the array of tags is NULL");
        return;
    }
    for (unsigned i = 0; i < ndeps; i++) declare_one(id, deps[i]);
}

void starpu_tag_declare_deps(starpu_tag_t id, unsigned ndeps, ...)
{
    starpu_tag_t *deps = orr_malloc((ndeps ? ndeps : 1) * sizeof *deps);
    if (!deps) {
        orr_fatal("starpu_tag_declare_deps: out of memory");
        return;
    }
    va_list ap;
    va_start(ap, ndeps);
    for (unsigned i = 0; i < ndeps; i++) deps[i] = va_arg(ap, starpu_tag_t);
    va_end(ap);
    starpu_tag_declare_deps_array(id, ndeps, deps);
    orr_free(deps);
}

int starpu_tag_wait(starpu_tag_t id)
{
    if (orr_self()->current || orr_self()->callback_depth) {
        orr_error("starpu_tag_wait in task %s: a task must not block; use a dependency",
                  orr_task_name(orr_self()->current));
        return -EDEADLK;
    }
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, true);
    struct orr_task *t = g ? g->task : NULL;
    struct starpu_task *owned = t && g->under_way && !t->pub->detach && !t->pub->destroy ? t->pub : NULL;
    pthread_mutex_unlock(&lock);
    if (!g) return -ENOMEM;
    orr_event_wait(&g->reached);
    return owned ? starpu_task_wait(owned) : 0;
}

int starpu_tag_wait_array(unsigned ntags, starpu_tag_t *id)
{
    if (!id && ntags > 0) {
        orr_error("starpu_tag_wait_array: the array of tags is NULL");
        return -EINVAL;
    }
    for (unsigned i = 0; i < ntags; i++) {
        int r = starpu_tag_wait(id[i]);
        if (r) return r;
    }
    return 0;
}

void starpu_tag_restart(starpu_tag_t id)
{
    struct orr_tag *g = get(id, true);
    if (!g) return;
    pthread_mutex_lock(&lock);
    reopen_locked(g);
    pthread_mutex_unlock(&lock);
}

void starpu_tag_notify_from_apps(starpu_tag_t id)
{
    struct orr_tag *g = get(id, true);
    if (!g) return;
    pthread_mutex_lock(&lock);
    g->reaching++;
    pthread_mutex_unlock(&lock);
    reach(g, orr_dep_take(&g->successors));
}

void starpu_tag_notify_restart_from_apps(starpu_tag_t id)
{
    starpu_tag_notify_from_apps(id);
    starpu_tag_restart(id);
}

/* Out of the table: whoever names it from now on means another. Called with the lock held. */
static void remove_locked(struct orr_tag *g)
{
    HASH_DELETE(hh, table, g);
    g->removed = true;
    dispose_if_idle_locked(g);
}

void starpu_tag_remove(starpu_tag_t id)
{
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, false);
    if (g && g->under_way > orr_load_seq(&g->ending))
        orr_error("starpu_tag_remove: a task of tag %llu has not ended; the tag stays",
                  (unsigned long long)id);
    else if (g)
        remove_locked(g);
    pthread_mutex_unlock(&lock);
}

void starpu_tag_clear(void)
{
    pthread_mutex_lock(&lock);
    struct orr_tag *g, *next;
    HASH_ITER(hh, table, g, next) if (g->under_way <= orr_load_seq(&g->ending)) remove_locked(g);
    pthread_mutex_unlock(&lock);
}

void orr_tags_fini(void)
{
    pthread_mutex_lock(&lock);
    struct orr_tag *g, *next;
    HASH_ITER(hh, table, g, next)
    {
        if (g->under_way && g->task && g->task->rare) g->task->rare->tag = NULL;
        g->under_way = 0;
        remove_locked(g);
    }
    pthread_mutex_unlock(&lock);
}

struct starpu_task *starpu_tag_get_task(starpu_tag_t id)
{
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, false);
    struct starpu_task *p = g && g->task ? g->task->pub : NULL;
    pthread_mutex_unlock(&lock);
    return p;
}
