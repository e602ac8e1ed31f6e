/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.c: see gather.h.
 * Threads: workers count, each for itself; the live thread adds up. Owns: the observer, a row of counters for
 * each worker, the names of codelets. Not here: see gather.h.
 *
 * How many tasks there are, and since when a worker is idle, is known anyway. What a worker runs is copied
 * from its thread's record, or its device's pipeline (peek.h): it may end meanwhile, and is believed if the
 * same task is there afterwards. So of tasks the observer is told only when they end, and only while codelets
 * are counted; of workers when they go from idle to busy. A codelet is known by its address and its name
 * together: either may be used again. */
#include "core/run/gather.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/base/peek.h"
#include "core/mem/node.h"
#include "core/topo/topo.h"
#include "core/worker/device.h"
#include "core/worker/own.h"
#include "core/worker/worker.h"

struct cell { /* [atomic: statistic] */
    _Atomic uint64_t tasks, ticks;
};
struct row { /* [own: worker, read by the live thread] */
    ORR_ALIGNED_LINE _Atomic uint64_t idle_ns;
    struct cell cell[ORR_LIVE_CODELETS];
};
struct traffic {
    _Atomic uint64_t in_bytes, out_bytes;
};
struct known { /* a codelet; written once, published by its address */
    _Atomic(const void *) codelet;
    char name[sizeof((struct orr_live_codelet *)0)->name];
};

static struct {
    struct row *rows;        /* one for each worker [const while anything is counted] */
    struct traffic *traffic; /* one for each node [const while anything is counted] */
    unsigned nodes;          /* how many of these [const] */
    ORR_SPIN(gather) lock;   /* protects adding to known; leaf */
    struct known known[ORR_LIVE_CODELETS];
    _Atomic uint64_t moved_bytes, sent_bytes, messages; /* [any: statistic] */
    uint64_t since_ns;                                  /* [own: live thread] */
    enum orr_gathering wanted;                          /* [own: live thread] */
    uint64_t group;                                     /* [own: live thread] */
    int rank;                                           /* [own: live thread] also when it has left MPI */
} gathered;

static _Atomic uint64_t expected; /* [any] */

void orrery_progress_expect(unsigned long tasks)
{
    orr_store_relaxed(&expected, tasks);
}

uint64_t orr_tasks_expected(void)
{
    return orr_load_relaxed(&expected);
}

/* ---- counting ---- */

static const char *name_of(const struct starpu_codelet *cl)
{
    return cl->name ? cl->name : cl->model && cl->model->symbol ? cl->model->symbol : "(unnamed)";
}

static bool is(const struct known *k, const struct starpu_codelet *cl, const char *name)
{
    return orr_load_acquire(&k->codelet) == cl && strncmp(k->name, name, sizeof k->name - 1) == 0;
}

/* Its place in the table: the last, which is everybody else's, when the table is full. */
static unsigned add_codelet(const struct starpu_codelet *cl, const char *name)
{
    unsigned i = 0;
    orr_spin_lock(&gathered.lock);
    while (i < ORR_LIVE_CODELETS - 1 && orr_load_relaxed(&gathered.known[i].codelet) &&
           !is(&gathered.known[i], cl, name))
        i++;
    struct known *k = &gathered.known[i];
    if (!orr_load_relaxed(&k->codelet)) {
        strncpy(k->name, i < ORR_LIVE_CODELETS - 1 ? name : "(others)", sizeof k->name - 1);
        orr_store_release(&k->codelet, cl); /* pairs with the load in is */
    }
    orr_spin_unlock(&gathered.lock);
    return i;
}

static unsigned place_of(const struct starpu_codelet *cl)
{
    const char *name = name_of(cl);
    for (unsigned i = 0; i < ORR_LIVE_CODELETS - 1 && orr_load_acquire(&gathered.known[i].codelet); i++)
        if (is(&gathered.known[i], cl, name)) return i;
    return add_codelet(cl, name);
}

static void task_ended(const struct orr_task *t, unsigned worker, uint64_t ticks)
{
    if (worker >= orr_worker_count || !t->pub->cl) return;
    struct cell *c = &gathered.rows[worker].cell[place_of(t->pub->cl)];
    orr_add_relaxed(&c->tasks, 1);
    orr_add_relaxed(&c->ticks, ticks);
}

static void idle_over(unsigned worker, uint64_t since_ns)
{
    uint64_t now = orr_clock_ns(), begun = gathered.since_ns;
    if (since_ns < begun) since_ns = begun;
    if (worker < orr_worker_count && since_ns < now)
        orr_own_add(&gathered.rows[worker].idle_ns, now - since_ns);
}

static void copied(uint64_t bytes, unsigned from, unsigned to)
{
    orr_add_relaxed(&gathered.moved_bytes, bytes);
    if (from < gathered.nodes) orr_add_relaxed(&gathered.traffic[from].out_bytes, bytes);
    if (to < gathered.nodes) orr_add_relaxed(&gathered.traffic[to].in_bytes, bytes);
}

static void see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    switch (e->kind) {
    case ORR_EVENT_TASK_ENDED: task_ended(e->subject, (unsigned)e->a, e->b); break;
    case ORR_EVENT_WORKER_BUSY: idle_over((unsigned)e->a, e->c); break;
    case ORR_EVENT_BYTES_COPIED: copied(e->a, (unsigned)e->b, (unsigned)e->c); break;
    case ORR_EVENT_MESSAGE_SENT:
        orr_add_relaxed(&gathered.messages, 1);
        orr_add_relaxed(&gathered.sent_bytes, e->a);
        break;
    default: break;
    }
}

static struct orr_observer observer = { .name = "the live view", .see = see };

static void start_over(void)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        orr_store_relaxed(&gathered.rows[i].idle_ns, 0);
        for (unsigned k = 0; k < ORR_LIVE_CODELETS; k++) {
            orr_store_relaxed(&gathered.rows[i].cell[k].tasks, 0);
            orr_store_relaxed(&gathered.rows[i].cell[k].ticks, 0);
        }
    }
    for (unsigned i = 0; i < gathered.nodes; i++) {
        orr_store_relaxed(&gathered.traffic[i].in_bytes, 0);
        orr_store_relaxed(&gathered.traffic[i].out_bytes, 0);
    }
    orr_store_relaxed(&gathered.moved_bytes, 0);
    orr_store_relaxed(&gathered.sent_bytes, 0);
    orr_store_relaxed(&gathered.messages, 0);
    memset(gathered.known, 0, sizeof gathered.known);
    gathered.since_ns = orr_clock_ns();
}

void orr_gather_want(enum orr_gathering wanted)
{
    static const uint64_t sums =
        ORR_EVENT_BIT(WORKER_BUSY) | ORR_EVENT_BIT(BYTES_COPIED) | ORR_EVENT_BIT(MESSAGE_SENT);
    if (wanted == gathered.wanted || !gathered.rows) return;
    if (gathered.wanted == ORR_GATHER_NOTHING) {
        start_over();
        if (orr_observer_add(&observer)) return; /* the table is full: another time perhaps */
    }
    gathered.wanted = wanted;
    if (wanted == ORR_GATHER_NOTHING)
        orr_observer_remove(&observer); /* and nobody is in it any more */
    else
        orr_observer_want(&observer, wanted == ORR_GATHER_CODELETS ? sums | ORR_EVENT_BIT(TASK_ENDED) : sums);
}

/* ---- adding up ---- */

static uint64_t idle_of(unsigned i, uint64_t now)
{
    uint64_t since = orr_load_acquire(&orr_workers[i].idle_since_ns);
    uint64_t idle = orr_load_acquire(&gathered.rows[i].idle_ns);
    if (since && since < gathered.since_ns) since = gathered.since_ns;
    return since && since < now ? idle + now - since : idle;
}

static void clear_worker(unsigned i, struct orr_live_worker *w, uint64_t now)
{
    const struct orr_worker *from = &orr_workers[i];
    memset(w, 0, sizeof *w);
    snprintf(w->name, sizeof w->name, "%.31s", from->name);
    w->tasks = orr_load_acquire(&from->tasks_run);
    w->kind = from->type;
    w->is_idle = orr_load_acquire(&from->idle_since_ns) != 0;
    w->idle_ns = idle_of(i, now);
}

/* The name of a task that may end meanwhile; false: nobody knows. */
static bool peek_name(const struct orr_task *t, char *dst, size_t bytes)
{
    struct starpu_task *pub;
    struct starpu_codelet *cl;
    struct starpu_perfmodel *model;
    const char *name = NULL;
    if (!orr_peek(&pub, &t->pub, sizeof pub)) return false;
    if (!orr_peek(&name, &pub->name, sizeof name) || !orr_peek(&cl, &pub->cl, sizeof cl)) return false;
    if (!name && cl && !orr_peek(&name, &cl->name, sizeof name)) return false;
    if (!name && cl && orr_peek(&model, &cl->model, sizeof model) && model &&
        !orr_peek(&name, &model->symbol, sizeof name))
        return false;
    return orr_peek_text(dst, bytes, name) || snprintf(dst, bytes, "(unnamed)") > 0;
}

/* What the thread is running; NULL: nothing. */
static struct orr_task *on_thread(const void *thread)
{
    struct orr_task *t = NULL;
    return orr_peek(&t, &orr_task_thread((struct orr_thread *)thread)->current, sizeof t) ? t : NULL;
}

static struct orr_task *on_device(const void *worker)
{
    return orr_device_peek(worker);
}

/* What a worker runs, as look says of where, if it is the same before and after the name was copied. */
static void copy_running(struct orr_live_worker *to, struct orr_task *(*look)(const void *where),
                         const void *where)
{
    uint64_t id, id_again;
    char name[sizeof to->runs];
    struct orr_task *t = look(where);
    if (!t || !orr_peek(&id, &t->id, sizeof id) || !peek_name(t, name, sizeof name)) return;
    if (look(where) != t || !orr_peek(&id_again, &t->id, sizeof id_again) || id_again != id) return;
    memcpy(to->runs, name, sizeof name);
    to->job = id;
}

static void look_at_thread(struct orr_thread *thread, struct orr_live_worker *workers)
{
    struct orr_worker *w;
    if (!orr_peek(&w, &orr_worker_thread(thread)->worker, sizeof w) || !w) return;
    unsigned i = (unsigned)(w - orr_workers);
    if (i < orr_worker_count) copy_running(&workers[i], on_thread, thread);
}

static void gather_codelets(struct orr_live_codelet *c)
{
    memset(c, 0, ORR_LIVE_CODELETS * sizeof *c);
    for (unsigned k = 0; k < ORR_LIVE_CODELETS && orr_load_acquire(&gathered.known[k].codelet); k++) {
        uint64_t ticks = 0;
        memcpy(c[k].name, gathered.known[k].name, sizeof c[k].name);
        for (unsigned i = 0; i < orr_worker_count; i++) {
            ticks += orr_load_relaxed(&gathered.rows[i].cell[k].ticks);
            c[k].tasks += orr_load_relaxed(&gathered.rows[i].cell[k].tasks);
        }
        c[k].ns = (uint64_t)(orr_ticks_to_us(ticks) * 1e3);
    }
}

static void gather_node(unsigned i, struct orr_live_node *n)
{
    starpu_ssize_t limit = starpu_memory_get_total(i);
    memset(n, 0, sizeof *n);
    starpu_memory_node_get_name(i, n->name, sizeof n->name);
    n->used_bytes = starpu_memory_get_used(i);
    n->limit_bytes = limit > 0 ? (uint64_t)limit : 0;
    n->in_bytes = orr_load_relaxed(&gathered.traffic[i].in_bytes);
    n->out_bytes = orr_load_relaxed(&gathered.traffic[i].out_bytes);
}

void orr_gather(struct orr_live_sums *s)
{
    struct orr_live_worker *w = orr_live_workers(s);
    struct orr_live_node *n = orr_live_nodes(s, orr_worker_count);
    struct orr_census c = orr_threads_census();
    if (orr_log_rank() >= 0) gathered.rank = orr_log_rank();
    *s = (struct orr_live_sums){ .at_ns = orr_clock_ns(),
                                 .since_ns = gathered.since_ns,
                                 .submitted = c.submitted,
                                 .completed = c.completed,
                                 .expected = orr_tasks_expected(),
                                 .moved_bytes = orr_load_relaxed(&gathered.moved_bytes),
                                 .sent_bytes = orr_load_relaxed(&gathered.sent_bytes),
                                 .messages = orr_load_relaxed(&gathered.messages),
                                 .group = gathered.rank < 0 ? 0 : gathered.group,
                                 .rank = gathered.rank };
    for (unsigned i = 0; i < orr_worker_count; i++) clear_worker(i, &w[i], s->at_ns);
    for (struct orr_thread *t = orr_threads_lock(); t; t = t->next) look_at_thread(t, w);
    orr_threads_unlock();
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (!w[i].job) copy_running(&w[i], on_device, &orr_workers[i]);
    gather_codelets(orr_live_codelets(s, orr_worker_count));
    for (unsigned i = 0; i < gathered.nodes && i < orr_node_count; i++) gather_node(i, &n[i]);
}

struct orr_live_sums *orr_gather_init(unsigned nodes)
{
    size_t bytes = sizeof(struct orr_live_sums) + orr_worker_count * sizeof(struct orr_live_worker) +
                   ORR_LIVE_CODELETS * sizeof(struct orr_live_codelet) + nodes * sizeof(struct orr_live_node);
    struct orr_live_sums *s = orr_calloc(1, bytes);
    gathered.rows = orr_malloc_aligned(ORR_CACHE_LINE, (orr_worker_count + 1) * sizeof *gathered.rows);
    gathered.traffic = orr_calloc(nodes + 1, sizeof *gathered.traffic);
    gathered.nodes = nodes;
    gathered.wanted = ORR_GATHER_NOTHING;
    gathered.group = orr_topo_run();
    gathered.rank = -1;
    if (s && gathered.rows && gathered.traffic) return s;
    orr_gather_fini(s);
    return NULL;
}

void orr_gather_fini(struct orr_live_sums *s)
{
    orr_gather_want(ORR_GATHER_NOTHING);
    orr_free(gathered.rows);
    orr_free(gathered.traffic);
    gathered.rows = NULL;
    gathered.traffic = NULL;
    orr_free(s);
}
