/* SPDX-License-Identifier: BSD-3-Clause */
/* tag.c: tags and the dependencies between them.
 * Threads: any. Owns: the table of tags. Not here: dependencies between tasks (deps.c).
 *
 * A tag is a successor list that closes when its task has ended (or the program notifies it), plus edges from
 * other tags that its task waits for. One may be served before the task is there: then it is a credit, which
 * the task takes up when it is submitted. Edges stay for the next round of tasks that are submitted again.
 * Several tasks may have one tag that waits for nothing: it is reached when all of them that are under way
 * have ended.
 *
 * A task closes the list before it gives back its data, so whoever learns of its end may bind or remove the
 * tag; what waits for the tag goes on after that, as the successors of a task do. A thread in starpu_tag_wait
 * may take the task's memory away: it goes on when that has ended altogether, so closings are numbered, and
 * announced when the last thread between the two is through. It waits for a number, and not for a state that
 * the next round would undo. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) orr_malloc(bytes)
#define uthash_free(p, bytes) orr_free(p)
#include "core/task/tag.h"

#include <stdarg.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/task/deps.h"

#define uthash_nonfatal_oom(element) (oom = true)
#include <uthash.h>

struct orr_tag {
    starpu_tag_t id;                       /* [const] */
    struct orr_task *task;                 /* bound last; NULL once it may have been freed [lock: tags] */
    unsigned under_way;                    /* tasks bound that have not begun to end [lock: tags] */
    _Atomic(struct orr_edge *) successors; /* ORR_EDGES_CLOSED once reached */
    struct orr_edge *kept;                 /* for the next round [lock: tags] */
    struct orr_edge *edges;                /* what its task waits for [lock: tags] */
    int nedges, credits, outstanding; /* [lock: tags] edges; fired early; the bound task still waits for */
    uint32_t closed, announced;       /* how often: the list, to waiting threads [lock: tags] */
    int reaching;                     /* closings not announced, which keep it in memory [lock: tags] */
    int waiting;                      /* threads in starpu_tag_wait, which keep it too [lock: tags] */
    bool removed;                     /* out of the table, not to be found again [lock: tags] */
    _Atomic uint32_t news;            /* futex: goes up when a waiting thread is to look again */
    struct orr_tag_nodes nodes;
    UT_hash_handle hh;
};

_Atomic uint64_t orr_tags_closings;

static ORR_MUTEX(tag) lock =
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
    bool oom = false;
    HASH_ADD(hh, table, id, sizeof id, g);
    if (!oom) return g;
    orr_free(g);
    return NULL;
}

/* A reached tag becomes reachable again. Called with the lock held. */
static void reopen_locked(struct orr_tag *g)
{
    if (orr_load_acquire(&g->successors) != ORR_EDGES_CLOSED) return;
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
    if (g->under_way && g->nedges) { /* whose prerequisites would they be? */
        pthread_mutex_unlock(&lock);
        orr_error("task %s: tag %llu waits for other tags and has a task that has not ended; use another tag",
                  orr_task_name(t), (unsigned long long)p->tag_id);
        return -EINVAL;
    }
    reopen_locked(g);
    int credits = g->credits < g->nedges ? g->credits : g->nedges;
    g->credits -= credits;
    g->outstanding = t->flags & ORR_TF_NO_QUEUE ? 0 : g->nedges - credits;
    g->task = t;
    g->under_way++;
    t->rare->tag = g;
    ORR_EVENT(TAG_BOUND, &g->nodes, (uintptr_t)t, 0, 0);
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
    orr_edges_drop(orr_load_relaxed(&g->successors), true);
    orr_edges_drop(g->kept, true);
    for (struct orr_edge *e = g->edges, *next; e; e = next) {
        next = e->sibling;
        orr_edge_disown(e); /* it hangs on tags that are not reached, and may yet fire */
    }
    ORR_EVENT(TAG_FREED, &g->nodes, 0, 0, 0);
    orr_free(g);
}

static void tell_waiting_locked(struct orr_tag *g)
{
    if (g->waiting == 0) return;
    orr_add_acq_rel(&g->news, 1u);
    orr_futex_wake(&g->news, INT32_MAX);
}

/* A removed tag goes when no task of it is under way, no closing is to be announced, and nobody waits. Called
 * with the lock held. */
static void dispose_if_idle_locked(struct orr_tag *g)
{
    if (!g->removed || g->reaching > 0 || g->under_way > 0) return;
    if (g->waiting > 0)
        tell_waiting_locked(g);
    else
        dispose_locked(g);
}

/* Closes the list: what was on it is to be notified without the lock, and the closing announced later. Called
 * with the lock held. */
static struct orr_edge *close_locked(struct orr_tag *g)
{
    g->closed++;
    g->reaching++;
    orr_store_relaxed(&orr_tags_closings, orr_load_relaxed(&orr_tags_closings) + 1); /* with the lock */
    return orr_edges_take(&g->successors);
}

/* Edges of the round that closed are those of the next, too; that may be under way already. Called with the
 * lock held, under which alone lists close. */
static void keep_locked(struct orr_tag *g, struct orr_edge *kept)
{
    struct orr_edge *last = kept, *head = orr_load_acquire(&g->successors);
    if (!kept) return;
    while (last->next) last = last->next;
    if (head == ORR_EDGES_CLOSED) {
        last->next = g->kept;
        g->kept = kept;
        return;
    }
    do last->next = head;
    while (
        !orr_cas_weak_acq_rel(&g->successors, &head, kept)); /* pairs with the exchange in orr_edges_take */
}

/* Serves what closing number `closing` took. While that is out, the tag may close again: for those who wait
 * for each round that is another one. */
static void notify(struct orr_tag *g, struct orr_edge *taken, uint32_t closing)
{
    bool missed = true;
    while (missed && (taken = orr_edges_serve(taken, true))) {
        pthread_mutex_lock(&lock);
        missed = g->closed != closing++;
        if (!missed) keep_locked(g, taken);
        pthread_mutex_unlock(&lock);
    }
}

void orr_tag_announce(struct orr_tag *g)
{
    pthread_mutex_lock(&lock);
    if (--g->reaching == 0) {
        g->announced = g->closed;
        tell_waiting_locked(g);
    }
    dispose_if_idle_locked(g);
    pthread_mutex_unlock(&lock);
}

void orr_tag_ending(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    struct orr_tag *g = r->tag;
    pthread_mutex_lock(&lock);
    bool last = --g->under_way == 0;
    if (g->task == t && (t->pub->destroy || !last)) g->task = NULL;
    if (last)
        r->tag_edges = close_locked(g);
    else
        g->reaching++; /* its end is announced with the others' */
    r->tag_closing = g->closed;
    pthread_mutex_unlock(&lock);
}

struct orr_tag *orr_tag_done(struct orr_task *t)
{
    struct orr_task_rare *r = t->rare;
    struct orr_tag *g = r->tag;
    struct orr_edge *taken = r->tag_edges;
    r->tag = NULL;
    r->tag_edges = NULL;
    notify(g, taken, r->tag_closing);
    return g;
}

/* A tag that another waits for is reached. */
static void edge_fired(struct orr_edge *e)
{
    struct orr_task *t = NULL;
    pthread_mutex_lock(&lock);
    struct orr_tag *g = orr_load_relaxed(&e->waiter); /* [lock: tags] */
    if (g && g->outstanding > 0) {
        g->outstanding--;
        t = g->task;
    } else if (g) {
        g->credits++;
    }
    pthread_mutex_unlock(&lock);
    if (t) orr_task_unblock(t);
}

/* Tag id waits for tag dep; 0 or -ENOMEM. */
static int declare_locked(starpu_tag_t id, starpu_tag_t dep)
{
    struct orr_tag *g = get_locked(id, true), *d = g ? get_locked(dep, true) : NULL;
    struct orr_edge *e = d ? orr_edge_create(g, edge_fired) : NULL;
    if (!e) return -ENOMEM;
    g->nedges++;
    if (!orr_edge_hang(&d->successors, e)) {
        g->nedges--; /* reached already: nothing to wait for, now or later */
        orr_edge_disown(e);
        return 0;
    }
    ORR_EVENT(TAG_DECLARED, &g->nodes, (uintptr_t)&d->nodes, 0, 0);
    e->sibling = g->edges;
    g->edges = e;
    return 0;
}

static void declare_one(starpu_tag_t id, starpu_tag_t dep)
{
    if (dep == id) {
        orr_error("tag %llu cannot wait for itself; left out", (unsigned long long)id);
        return;
    }
    pthread_mutex_lock(&lock);
    int r = declare_locked(id, dep);
    pthread_mutex_unlock(&lock);
    if (r) orr_fatal("starpu_tag_declare_deps: out of memory");
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

static void sleep_until_news(struct orr_tag *g, uint32_t seen)
{
    enum { YIELDS = 100 };
    bool (*poll)(void) = orr_load_acquire(&orr_blocked_poll);
    for (int i = 0; i < YIELDS; i++) {
        if (orr_load_acquire(&g->news) != seen) return;
        if (poll && poll()) i = 0;
        sched_yield();
    }
    orr_thread_blocked_begin();
    while (orr_load_acquire(&g->news) == seen) orr_futex_wait(&g->news, seen, -1);
    orr_thread_blocked_end();
}

/* Until g is reached: the last time, if that is just being announced, else the next. Called with the lock
 * held, which is given up meanwhile. -ENOENT: it was removed, and nobody can reach it. */
static int wait_locked(struct orr_tag *g)
{
    bool open = orr_load_acquire(&g->successors) != ORR_EDGES_CLOSED;
    uint32_t number = g->closed + open;
    int r = 0;
    g->waiting++;
    while ((int32_t)(g->announced - number) < 0) {
        if (g->removed && g->reaching == 0 && g->under_way == 0) {
            r = -ENOENT;
            break;
        }
        uint32_t seen = orr_load_relaxed(&g->news);
        pthread_mutex_unlock(&lock);
        sleep_until_news(g, seen);
        pthread_mutex_lock(&lock);
    }
    if (--g->waiting == 0) dispose_if_idle_locked(g);
    return r;
}

int starpu_tag_wait(starpu_tag_t id)
{
    if (orr_task_inside()) {
        orr_error("starpu_tag_wait in task %s: a task must not block; use a dependency",
                  orr_task_name(orr_task_current()));
        return -EDEADLK;
    }
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, true);
    int r = g ? wait_locked(g) : -ENOMEM;
    pthread_mutex_unlock(&lock);
    if (r == -ENOENT)
        orr_error("starpu_tag_wait: tag %llu was removed (starpu_tag_remove) before it was reached",
                  (unsigned long long)id);
    return r;
}

unsigned orr_tags_waited(struct orr_tag_wait *list, unsigned most)
{
    struct orr_tag *g, *next;
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    HASH_ITER(hh, table, g, next)
    {
        if (g->waiting == 0) continue;
        if (count < most)
            list[count] =
                (struct orr_tag_wait){ g->id, (unsigned)g->waiting, g->under_way + (unsigned)g->reaching };
        count++;
    }
    pthread_mutex_unlock(&lock);
    return count;
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
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, true);
    if (g) reopen_locked(g);
    pthread_mutex_unlock(&lock);
    if (!g) orr_fatal("starpu_tag_restart: tag %llu: out of memory", (unsigned long long)id);
}

void starpu_tag_notify_from_apps(starpu_tag_t id)
{
    pthread_mutex_lock(&lock);
    struct orr_tag *g = get_locked(id, true);
    struct orr_edge *taken = g ? close_locked(g) : NULL;
    uint32_t closing = g ? g->closed : 0;
    pthread_mutex_unlock(&lock);
    if (!g) {
        orr_fatal("starpu_tag_notify_from_apps: tag %llu: out of memory", (unsigned long long)id);
        return;
    }
    notify(g, taken, closing);
    orr_tag_announce(g);
}

void starpu_tag_notify_restart_from_apps(starpu_tag_t id)
{
    starpu_tag_notify_from_apps(id);
    starpu_tag_restart(id);
}

/* Takes g out of the table: its number means another tag from now on. Called with the lock held. */
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
    if (g && g->under_way > 0)
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
    HASH_ITER(hh, table, g, next) if (g->under_way == 0) remove_locked(g);
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
