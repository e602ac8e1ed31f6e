/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlock.c: see deadlock.h.
 * Threads: the watching thread. Owns: it, and what is to be done. Not here: messages between ranks (mpi/
 * excuses itself).
 *
 * A deadlock is known, not guessed: tasks are outstanding, every worker is parked with nothing to pop, every
 * thread that ever called the runtime is blocked inside it and in no function of the program's, no copy is
 * under way (or all wait for memory of a device that nobody gives back: starving.c), not a single task was
 * submitted or completed for a second and a half, each thread was seen to be asleep or to have looked in vain
 * since then (core/worker/rest.c: a thread whose wait is over may have no core yet, for as long as the
 * machine likes), and the process has no other thread that could act (strangers.c). Then nobody is left who
 * could move, and the program ends. While there are strangers nobody can know: after 5 s there is a warning
 * with the same explanation and their names, and the watching goes on. The program may say that something
 * outside will act (orrery_outside_begin): then there is never a word; that a thread never acts
 * (orrery_thread_passive), or that no stranger does (ORRERY_ON_DEADLOCK=exit).
 *
 * Without a task it is the same where a thread waits for data or for a tag: nobody is left who could release
 * them, or reach it. While others act nobody can know; one that has waited 10 s for data that the program has
 * acquired is told.
 *
 * A thread that called the runtime and is outside now computes, as a rule: nothing is said of that, but once
 * if it lasts 15 s while another thread waits; with other ranks, whose turn it may be, only if tasks or
 * messages here wait for data that the program has acquired, after 10 s. Tasks that go round between workers
 * and queues without one ending are told after 10 s. Neither ends the program. Tasks are found by looking
 * through the blocks they are allocated from: running normally costs nothing. */
#include "core/run/deadlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <orrery.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/code.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/worker/own.h"
#include "core/data/acquire.h"
#include "core/data/partition.h"
#include "core/data/starving.h"
#include "core/data/transfer.h"
#include "core/run/sentences.h"
#include "core/run/starving.h"
#include "core/run/strangers.h"
#include "core/task/deps.h"
#include "core/task/tag.h"
#include "core/task/task.h"
#include "core/worker/joblist.h"
#include "core/worker/parallel.h"
#include "core/worker/park.h"
#include "core/worker/worker.h"

enum {
    LOOK_EVERY_MS = 100,
    LOOKS_UNTIL_SURE = 14,
    LOOKS_FOR_REST = 4, /* of those before */
    LOOKS_IN_METHODS = 50,
    LOOKS_WHEN_UNSURE = 50,
    LOOKS_BETWEEN = 10, /* after a warning */
    LOOKS_UNTIL_WORRIED = 150,
    LOOKS_UNTIL_HELD = 100,
    LOOKS_GOING_ROUND = 100,
    LOOKS_BETWEEN_ACQUIRERS = 5, /* at threads that wait for data */
    ACQUIRERS_SHOWN = 16,
    TAGS_SHOWN = 16,
    ACQUIRER_PATIENCE_S = 10,
    TASKS_MAX = 1024,
    TASKS_SHOWN = 16
};
enum reaction { REACT_EXIT, REACT_WARN, REACT_ABORT };

static struct {
    pthread_t thread;
    bool running;
    _Atomic uint32_t stop; /* futex */
    enum reaction reaction;
    bool told;                  /* [const while running] the program is to end, whatever threads there are */
    _Atomic uint32_t announced; /* somebody outside will act */
    _Atomic(const struct orr_deadlock_outside *) outside;
    uint64_t submitted, completed, movement; /* at the last look [own: watching thread] */
    uint64_t method_calls, method_cpu_ns;
    uint64_t sleeps;
    unsigned in_methods;
    bool moved; /* it was seen between two looks */
} watch;

void orr_deadlock_outside(const struct orr_deadlock_outside *outside)
{
    orr_store_release(&watch.outside, outside);
}

void orr_deadlock_outside_over(const struct orr_deadlock_outside *outside)
{
    const struct orr_deadlock_outside *latest = outside;
    atomic_compare_exchange_strong_explicit(&watch.outside, &latest, NULL, memory_order_release,
                                            memory_order_relaxed);
}

/* ---- who waits for what ---- */

struct waiting {
    struct orr_task *task[TASKS_MAX];
    unsigned count, more;
    bool may_end;     /* they may end meanwhile: only what the runtime keeps in memory can be looked at */
    unsigned foreign; /* tasks left out for that, whose structs are in memory of the program's own */
};

static void collect(void *block, void *arg)
{
    struct waiting *all = arg;
    struct orr_task *t = block;
    uint32_t state = orr_load_acquire(&t->state);
    struct orr_edge *e = orr_load_acquire(&t->successors);
    bool never_submitted = state == ORR_TASK_CREATED && e && e != ORR_EDGES_CLOSED;
    if (state != ORR_TASK_SUBMITTED && state != ORR_TASK_READY && state != ORR_TASK_PUSHED &&
        state != ORR_TASK_RUNNING && !never_submitted)
        return;
    if (all->may_end && !(t->flags & ORR_TF_BLOCK))
        all->foreign++;
    else if (all->count < TASKS_MAX)
        all->task[all->count++] = t;
    else
        all->more++;
}

/* Whether a waits in its handle's queue; called with the queue's lock held. */
static bool is_waiting_locked(const struct orr_access_queue *q, const struct orr_access *a)
{
    for (const struct orr_waiter *w = q->head ? &q->head->waiter : NULL; w; w = w->next)
        if (w == &a->waiter) return true;
    return false;
}

static struct orr_data *handle_of(struct orr_task *t, const struct orr_access *a)
{
    return STARPU_TASK_GET_HANDLE(t->pub, a->index);
}

/* t's access to h, or NULL. */
static struct orr_access *access_to(struct orr_task *t, const struct orr_data *h)
{
    uint32_t state = orr_load_acquire(&t->state);
    if (state == ORR_TASK_CREATED || !t->pub->cl) return NULL;
    for (unsigned i = 0; i < t->naccesses; i++)
        if (handle_of(t, &orr_task_accesses(t)[i]) == h) return &orr_task_accesses(t)[i];
    return NULL;
}

static bool waits_in_queue(struct orr_task *t, const struct orr_data *h, struct orr_access *a)
{
    struct orr_access_queue *q = (struct orr_access_queue *)&h->queue;
    (void)t;
    orr_spin_lock(&q->lock);
    bool waits = is_waiting_locked(q, a);
    orr_spin_unlock(&q->lock);
    return waits;
}

/* Whether t waits for explicit dependency on p. */
static bool waits_for_edge(struct orr_task *t, struct orr_task *p)
{
    struct orr_edge *e = orr_load_acquire(&p->successors);
    if (e == ORR_EDGES_CLOSED) return false;
    for (; e; e = e->next)
        if (orr_load_relaxed(&e->waiter) == t) return true;
    return false;
}

/* The handle through which t waits for p, or NULL. */
static struct orr_data *waits_for_data(struct orr_task *t, struct orr_task *p)
{
    if (orr_load_acquire(&t->state) != ORR_TASK_SUBMITTED || t == p) return NULL;
    for (unsigned i = 0; i < t->naccesses; i++) {
        struct orr_access *a = &orr_task_accesses(t)[i];
        struct orr_data *h = handle_of(t, a);
        struct orr_access *other = access_to(p, h);
        if (other && waits_in_queue(t, h, a) && !waits_in_queue(p, h, other)) return h;
    }
    return NULL;
}

/* Whether t's body has run and its end waits for others. */
static bool waits_to_end(struct orr_task *t)
{
    return orr_load_acquire(&t->state) == ORR_TASK_RUNNING && t->rare && t->rare->end_deps_used &&
           orr_load_acquire(&t->rare->end_deps) > 0;
}

static bool waits_for_task(struct orr_task *t, struct orr_task *p)
{
    if (t == p) return false;
    if (orr_load_acquire(&t->state) == ORR_TASK_SUBMITTED)
        return waits_for_edge(t, p) || waits_for_data(t, p);
    return waits_to_end(t) && waits_for_edge(t, p);
}

/* Why t, a job of a list, does not start before p has started or ended. */
static enum orr_job_obstacle obstacle(struct orr_task *t, struct orr_task *p)
{
    uint32_t state = orr_load_acquire(&t->state);
    bool under_way = orr_load_acquire(&p->state) != ORR_TASK_CREATED;
    return under_way && (state == ORR_TASK_SUBMITTED || state == ORR_TASK_READY) ? orr_job_obstacle(t, p)
                                                                                 : ORR_JOB_FREE;
}

/* The worker on whose order t has a place, or NULL. */
static struct orr_worker *ordered_on(const struct orr_task *t)
{
    const struct starpu_task *p = t->pub;
    bool has = p->workerorder && p->execute_on_a_specific_worker && p->workerid < orr_worker_count;
    return has ? &orr_workers[p->workerid] : NULL;
}

/* Whether t, which is ready, waits for its turn on w. */
static bool waits_for_turn(const struct orr_task *t, const struct orr_worker *w)
{
    return w && orr_load_acquire(&t->state) == ORR_TASK_READY && t->pub->workerorder > w->next_order;
}

/* Whether t waits because p comes next on its worker. */
static bool waits_for_order(const struct orr_task *t, const struct orr_task *p)
{
    const struct orr_worker *w = ordered_on(t);
    return waits_for_turn(t, w) && ordered_on(p) == w && p->pub->workerorder == w->next_order && p != t;
}

static bool waits_for(struct orr_task *t, struct orr_task *p)
{
    return waits_for_task(t, p) || obstacle(t, p) != ORR_JOB_FREE || waits_for_order(t, p);
}

/* ---- saying it ---- */

/* Errors while it is certain, warnings while it is not. [own: watching thread] */
static void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))) = orr_error;

static void describe(char *dst, size_t bytes, const struct orr_task *t)
{
    char order[64] = "", where[160] = "";
    const struct orr_worker *w = ordered_on(t);
    if (w) snprintf(order, sizeof order, ", order %u on worker %d", t->pub->workerorder, w->id);
    if (t->pub->file) snprintf(where, sizeof where, ", %s:%u", t->pub->file, t->pub->line);
    snprintf(dst, bytes, "%s (job %llu%s%s)", orr_task_name(t), (unsigned long long)t->id, order, where);
}

/* The task, other than t, that has h, or NULL. */
static struct orr_task *task_with(struct waiting *all, const struct orr_data *h, const struct orr_task *t)
{
    for (unsigned i = 0; i < all->count; i++) {
        struct orr_access *a = all->task[i] == t ? NULL : access_to(all->task[i], h);
        if (a && !waits_in_queue(all->task[i], h, a)) return all->task[i];
    }
    return NULL;
}

/* "which ... has", of h or of what h's partitions wait for. */
static void print_holder(struct waiting *all, struct orr_data *h, const struct orr_task *t, char *text,
                         size_t bytes)
{
    struct orr_data *b = orr_partition_blocker(h);
    struct orr_task *has = task_with(all, b, t);
    char via[160] = "", label[96], name[300];
    if (b != h)
        snprintf(via, sizeof via, "whose partition waits for data %s, ",
                 orr_data_label(b, label, sizeof label));
    if (has) {
        describe(name, sizeof name, has);
        snprintf(text, bytes, "%swhich task %s has", via, name);
    } else {
        char holder[480] = ORR_SAY_PROGRAM_HOLDS, place[320];
        const void *at = orr_load_relaxed(&b->acquired_at);
        if (at)
            snprintf(holder, sizeof holder, ORR_SAY_PROGRAM_HOLDS ", at %s",
                     orr_code_name(at, true, place, sizeof place));
        const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
        if (outside) outside->holder(outside, b, holder, sizeof holder);
        snprintf(text, bytes, "%swhich %s", via, holder);
    }
}

static void collect_all(struct waiting *all)
{
    orr_slab_for_each(ORR_SLAB_TASK, collect, all);
    orr_slab_for_each(ORR_SLAB_JOB, collect, all);
}

void orr_deadlock_holder(struct orr_data *h, char *text, size_t bytes)
{
    struct waiting *all = orr_calloc(1, sizeof *all);
    *text = '\0';
    if (!all) return;
    collect_all(all);
    print_holder(all, h, NULL, text, bytes);
    orr_free(all);
}

/* Says what of the program's own holds data that t waits for, or what keeps its partition from it. */
static bool explain_held_by_program(struct waiting *all, struct orr_task *t, const char *name)
{
    for (unsigned i = 0; i < t->naccesses; i++) {
        struct orr_access *a = &orr_task_accesses(t)[i];
        struct orr_data *h = handle_of(t, a);
        if (!waits_in_queue(t, h, a)) continue;
        if (task_with(all, h, t)) continue;
        char label[64], holder[512];
        print_holder(all, h, t, holder, sizeof holder);
        say(ORR_SAY_FOR_DATA, name, orr_data_label(h, label, sizeof label), holder);
        return true;
    }
    return false;
}

static bool explain_order(struct waiting *all, struct orr_task *t, const char *name)
{
    const struct orr_worker *w = ordered_on(t);
    char next[300];
    if (!waits_for_turn(t, w)) return false;
    for (unsigned i = 0; i < all->count; i++) {
        if (!waits_for_order(t, all->task[i])) continue;
        describe(next, sizeof next, all->task[i]);
        say("  task %s waits for its turn: task %s comes next on that worker", name, next);
        return true;
    }
    if (all->more || all->foreign)
        say("  task %s waits for its turn: order %u comes next on worker %d", name, w->next_order, w->id);
    else
        say("  worker %d waits for order %u (STARPU_WORKER_ORDER), which no task has that was submitted "
            "here; "
            "task %s waits behind it",
            w->id, w->next_order, name);
    return true;
}

/* Says which job of its list t waits for. */
static bool explain_turn(struct waiting *all, struct orr_task *t, const char *name)
{
    char other[300];
    if (orr_job_is_stopped(t)) {
        say("  task %s is a job of list \"%s\", which is stopped: call orrery_joblist_start", name,
            orr_job_list_name(t));
        return true;
    }
    for (unsigned i = 0; i < all->count; i++) {
        enum orr_job_obstacle why = obstacle(t, all->task[i]);
        if (why == ORR_JOB_FREE) continue;
        describe(other, sizeof other, all->task[i]);
        say(why == ORR_JOB_AFTER_START
                ? "  task %s waits for its turn in job list \"%s\": task %s comes before it"
                : "  task %s is after a wait in job list \"%s\": task %s, before the signal, has not ended",
            name, orr_job_list_name(t), other);
        return true;
    }
    return false;
}

static void explain(struct waiting *all, struct orr_task *t)
{
    char name[300], other[300];
    bool said = false;
    uint32_t state = orr_load_acquire(&t->state);
    describe(name, sizeof name, t);
    if (orr_starving_explain_task(t, name, say)) return;
    unsigned come, size;
    if ((state == ORR_TASK_PUSHED || state == ORR_TASK_READY) && orr_team_waits(t, &come, &size)) {
        say(ORR_SAY_TEAM, name, size, come,
            "each needs a copy of it, and two such tasks must be given to all in the same order");
        return;
    }
    if (state == ORR_TASK_PUSHED) {
        say("  task %s is ready; scheduling policy %s was given it, and does not give it to a worker", name,
            orr_policy_name(&orr_contexts[t->sched_ctx]));
        return;
    }
    if (state == ORR_TASK_READY) {
        if (orr_load_relaxed(&orr_contexts[t->sched_ctx].nworkers) == 0)
            say(ORR_SAY_NO_WORKERS, name, t->sched_ctx);
        else if (!explain_order(all, t, name) && !explain_turn(all, t, name))
            say("  task %s is ready, and no worker takes it (scheduling policy)", name);
        return;
    }
    bool to_end = waits_to_end(t);
    if (state != ORR_TASK_SUBMITTED && !to_end) return;
    for (unsigned i = 0; i < all->count; i++) {
        struct orr_task *p = all->task[i];
        if (!waits_for_task(t, p)) continue;
        describe(other, sizeof other, p);
        const char *note = orr_load_acquire(&p->state) == ORR_TASK_CREATED ? ORR_SAY_NEVER_SUBMITTED : "";
        say(to_end ? ORR_SAY_END_FOR_TASK : ORR_SAY_FOR_TASK, name, other, note);
        said = true;
    }
    if (to_end) {
        if (!said) say(ORR_SAY_END_RELEASE, name, orr_load_acquire(&t->rare->end_deps));
        return;
    }
    if (t->rare && t->rare->tag && !said) {
        say(ORR_SAY_FOR_TAGS, name, (unsigned long long)t->pub->tag_id);
        said = true;
    }
    if (t->naccesses && explain_held_by_program(all, t, name)) said = true;
    if (explain_turn(all, t, name)) said = true;
    if (!said) say(ORR_SAY_CONDITIONS, name, (int)orr_load_acquire(&t->pending));
}

/* Depth first along "waits for" from t; the path is a cycle when it meets start again. */
static bool find_cycle(struct waiting *all, unsigned at, unsigned start, unsigned *path, unsigned *length,
                       bool *seen)
{
    if (*length >= TASKS_SHOWN) return false;
    path[(*length)++] = at;
    seen[at] = true;
    for (unsigned i = 0; i < all->count; i++) {
        if (!waits_for(all->task[at], all->task[i])) continue;
        if (i == start) return true;
        if (!seen[i] && find_cycle(all, i, start, path, length, seen)) return true;
    }
    --*length;
    return false;
}

static void print_cycle(struct waiting *all)
{
    bool seen[TASKS_MAX];
    unsigned path[TASKS_SHOWN + 1], length;
    for (unsigned s = 0; s < all->count && s < 64; s++) {
        memset(seen, 0, sizeof seen);
        length = 0;
        if (!find_cycle(all, s, s, path, &length, seen)) continue;
        char line[2048], name[300];
        size_t used = 0;
        for (unsigned i = 0; i <= length; i++) {
            describe(name, sizeof name, all->task[path[i % length]]);
            int n = snprintf(line + used, sizeof line - used, "%s%s", i ? " -> " : "", name);
            if (n < 0 || (size_t)n >= sizeof line - used) break;
            used += (size_t)n;
        }
        say("  they wait in a circle: %s", line);
        return;
    }
}

/* ---- the same as a graph ---- */

static void name_node(char *dst, const char *prefix, const struct orr_task *t)
{
    char name[200];
    describe(name, sizeof name, t);
    if (t->pub->execute_on_a_specific_worker)
        snprintf(dst, ORR_WAITS_LABEL, "%stask %s on worker %u", prefix, name, t->pub->workerid);
    else
        snprintf(dst, ORR_WAITS_LABEL, "%stask %s", prefix, name);
}

/* The node waits for who has h, which t (or nobody of the tasks) uses. */
static void graph_data(struct orr_waits *w, struct waiting *all, const char *prefix, const char *node,
                       struct orr_data *h, const struct orr_task *t)
{
    char other[ORR_WAITS_LABEL], name[160];
    struct orr_data *b = orr_partition_blocker(h);
    struct orr_task *has = task_with(all, b, t);
    const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
    if (has)
        name_node(other, prefix, has);
    else if (outside && outside->node(outside, b, name, sizeof name))
        snprintf(other, sizeof other, "%s%s", prefix, name);
    else {
        snprintf(other, sizeof other, "%sdata %s, acquired by the program", prefix,
                 orr_data_label(b, name, sizeof name));
        char program[64];
        snprintf(program, sizeof program, "%sthe program", prefix);
        orr_waits_for(w, other, program);
    }
    orr_waits_for(w, node, other);
}

/* Its turn on its worker: the task that comes next there, if there is one. */
static void graph_order(struct orr_waits *w, struct waiting *all, const char *prefix, const char *node,
                        struct orr_task *t)
{
    char turn[ORR_WAITS_LABEL], other[ORR_WAITS_LABEL];
    if (!t->pub->workerorder || !t->pub->execute_on_a_specific_worker ||
        t->pub->workerid >= orr_worker_count ||
        t->pub->workerorder <= orr_workers[t->pub->workerid].next_order)
        return;
    unsigned next = orr_workers[t->pub->workerid].next_order;
    snprintf(turn, sizeof turn, "%sworker %u, where workerorder %u comes next", prefix, t->pub->workerid,
             next);
    orr_waits_for(w, node, turn);
    for (unsigned i = 0; i < all->count; i++) {
        struct orr_task *p = all->task[i];
        if (p->pub->workerorder != next || p->pub->workerid != t->pub->workerid) continue;
        name_node(other, prefix, p);
        orr_waits_for(w, turn, other);
    }
}

static void graph_task(struct orr_waits *w, struct waiting *all, const char *prefix, struct orr_task *t)
{
    char node[ORR_WAITS_LABEL], other[ORR_WAITS_LABEL];
    uint32_t state = orr_load_acquire(&t->state);
    name_node(node, prefix, t);
    if (state != ORR_TASK_CREATED) orr_waits_add(w, node);
    for (unsigned i = 0; i < all->count; i++) {
        if (!waits_for(t, all->task[i])) continue;
        name_node(other, prefix, all->task[i]);
        orr_waits_for(w, node, other);
    }
    if (state == ORR_TASK_PUSHED) {
        snprintf(other, sizeof other, "%sscheduling policy %s, which has it", prefix,
                 orr_policy_name(&orr_contexts[t->sched_ctx]));
        orr_waits_for(w, node, other);
    }
    if (state == ORR_TASK_READY) graph_order(w, all, prefix, node, t);
    if (state != ORR_TASK_SUBMITTED) return;
    for (unsigned i = 0; i < t->naccesses; i++) {
        struct orr_access *a = &orr_task_accesses(t)[i];
        struct orr_data *h = handle_of(t, a);
        if (waits_in_queue(t, h, a) && !task_with(all, h, t)) graph_data(w, all, prefix, node, h, t);
    }
}

/* Tags that threads of the program wait for, and no task has. */
static void graph_tags(struct orr_waits *w, const char *prefix, const char *program)
{
    struct orr_tag_wait tag[TAGS_SHOWN];
    char node[ORR_WAITS_LABEL];
    unsigned n = orr_tags_waited(tag, TAGS_SHOWN);
    for (unsigned i = 0; i < n && i < TAGS_SHOWN; i++) {
        if (tag[i].tasks) continue;
        snprintf(node, sizeof node, "%stag %llu", prefix, (unsigned long long)tag[i].id);
        orr_waits_for(w, program, node);
    }
}

void orr_deadlock_graph(struct orr_waits *w, const char *prefix)
{
    enum { GRAPHED = 200 };
    char program[64], node[ORR_WAITS_LABEL];
    struct waiting *all = orr_calloc(1, sizeof *all);
    if (!all) return;
    collect_all(all);
    if (all->count > GRAPHED) all->count = GRAPHED;
    snprintf(program, sizeof program, "%sthe program", prefix);
    orr_waits_add(w, program);
    for (unsigned i = 0; i < all->count; i++) {
        name_node(node, prefix, all->task[i]);
        orr_waits_for(w, program, node); /* it is blocked: for one of them at least */
        graph_task(w, all, prefix, all->task[i]);
    }
    struct orr_acquirer a[ACQUIRERS_SHOWN];
    unsigned n = orr_acquirers_list(a, ACQUIRERS_SHOWN, 0, false);
    for (unsigned i = 0; i < n; i++) graph_data(w, all, prefix, program, a[i].handle, NULL);
    graph_tags(w, prefix, program);
    orr_free(all);
}

void orr_deadlock_graph_data(struct orr_waits *w, const char *prefix, const char *node, struct orr_data *h)
{
    struct waiting *all = orr_calloc(1, sizeof *all);
    if (!all) return;
    collect_all(all);
    graph_data(w, all, prefix, node, h, NULL);
    orr_free(all);
}

/* Without other ranks, who draw theirs, too. */
static void draw_alone(void)
{
    const char *file = orr_env_string(ORR_SETTING(ORRERY_DEADLOCK_DOT));
    struct orr_waits w = { 0 };
    if (!file || orr_load_acquire(&watch.outside)) return;
    orr_deadlock_graph(&w, "");
    orr_waits_save(&w, file);
    orr_waits_fini(&w);
}

static void explain_method(const struct orr_method *m, void *arg)
{
    int worker = orr_load_relaxed(&m->worker);
    char who[32];
    (void)arg;
    snprintf(who, sizeof who, worker >= 0 ? "worker %d" : "a thread", worker);
    say("  %s waits inside %s of scheduling policy %s: a lock that somebody forgot to release?", who,
        orr_load_relaxed(&m->name), orr_policy_name(&orr_contexts[orr_load_relaxed(&m->context)]));
}

static void explain_policies(void)
{
    orr_threads_in_methods(explain_method, NULL);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) {
        struct orr_ctx *ctx = orr_ctx_get(i);
        unsigned n = ctx ? orr_load_acquire(&ctx->policy_holds) : 0;
        if (n)
            say("  scheduling policy %s holds %u task%s and gives none: pop_task returned %s to every "
                "worker, and "
                "nobody is woken (starpu_wake_worker)",
                orr_policy_name(ctx), n, n > 1 ? "s" : "",
                orr_load_relaxed(&ctx->gave_stale) ? "NULL, or tasks that it does not hold," : "NULL");
    }
}

/* "thread 12 (name)", of this process. */
static void name_thread(char *dst, size_t bytes, int number)
{
    char name[48], path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", number);
    FILE *f = fopen(path, "re");
    bool named = f && fgets(name, sizeof name, f);
    if (f) fclose(f);
    if (named) name[strcspn(name, "\n")] = '\0';
    snprintf(dst, bytes, named ? "thread %d (%s)" : "thread %d", number, name);
}

/* Says for what a waits. holder: "which ... has". */
static void say_acquirer(const struct orr_acquirer *a, const char *holder)
{
    char thread[96], at[400] = "", place[320];
    name_thread(thread, sizeof thread, a->thread);
    if (a->at) snprintf(at, sizeof at, ", at %s", orr_code_name(a->at, true, place, sizeof place));
    say("  %s has waited %.1f s for data %s%s, %s", thread, a->seconds, a->label, at, holder);
}

void orr_deadlock_program_holds(const void *at, char *text, size_t bytes)
{
    char place[320];
    snprintf(text, bytes, "which " ORR_SAY_PROGRAM_HOLDS ", at %s",
             orr_code_name(at, true, place, sizeof place));
}

/* Without a look at the data, which may end meanwhile. */
static void holder_by_name(struct waiting *all, const struct orr_acquirer *a, char *text, size_t bytes)
{
    char name[320];
    struct orr_task *has = task_with(all, a->handle, NULL);
    const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
    if (has) {
        describe(name, sizeof name, has);
        snprintf(text, bytes, "which task %s has", name);
    } else if (a->held_at) {
        orr_deadlock_program_holds(a->held_at, text, bytes);
    } else if (outside && outside->holder(outside, a->handle, name, sizeof name)) {
        snprintf(text, bytes, "which %s", name);
    } else {
        snprintf(text, bytes, "which is in use");
    }
}

static void explain_acquirers(struct waiting *all, bool certain)
{
    struct orr_acquirer a[ACQUIRERS_SHOWN];
    char holder[800];
    unsigned n = orr_acquirers_list(a, ACQUIRERS_SHOWN, 0, false);
    for (unsigned i = 0; i < n; i++) {
        if (certain)
            print_holder(all, a[i].handle, NULL, holder, sizeof holder);
        else
            holder_by_name(all, &a[i], holder, sizeof holder);
        say_acquirer(&a[i], holder);
    }
    if (orr_acquirers_count() > n) say("  ... and %u more threads wait for data", orr_acquirers_count() - n);
}

static void explain_tags(void)
{
    struct orr_tag_wait tag[TAGS_SHOWN];
    unsigned n = orr_tags_waited(tag, TAGS_SHOWN);
    for (unsigned i = 0; i < n && i < TAGS_SHOWN; i++)
        say("  %u thread%s in starpu_tag_wait for tag %llu, %s", tag[i].threads,
            tag[i].threads > 1 ? "s wait" : " waits", (unsigned long long)tag[i].id,
            tag[i].tasks ? "whose task has not ended" : "which no task has that was submitted");
    if (n > TAGS_SHOWN) say("  ... and threads wait for %u more tags", n - TAGS_SHOWN);
}

static void explain_all(bool certain)
{
    struct waiting *all = orr_calloc(1, sizeof *all);
    explain_policies();
    if (!all) return;
    all->may_end = !certain;
    collect_all(all);
    for (unsigned i = 0; i < all->count && i < TASKS_SHOWN; i++) explain(all, all->task[i]);
    if (all->count + all->more > TASKS_SHOWN)
        say("  ... and %u more tasks", all->count + all->more - TASKS_SHOWN);
    if (all->foreign)
        say("  ... and %u that the program has in memory of its own (starpu_task_init), where nobody may "
            "look while another thread might end them",
            all->foreign);
    print_cycle(all);
    explain_acquirers(all, certain);
    explain_tags();
    orr_starving_explain(all->task, all->count, say);
    orr_free(all);
}

/* What threads wait for that only the program can let go, or reach: no copy is under way, and no task. NULL:
 * for nothing of the kind. */
static const char *wait_without_task(void)
{
    if (orr_load_seq(&orr_transfers_active) != 0 || orr_load_acquire(&watch.outside)) return NULL;
    if (orr_acquirers_count() > 0) return "data that are not released";
    return orr_tags_waited(NULL, 0) > 0 ? "a tag that nobody reaches" : NULL;
}

static void report(uint64_t outstanding)
{
    const char *wait = wait_without_task();
    say = orr_error;
    if (outstanding)
        say("deadlock: %llu tasks are submitted, every worker is idle, every thread waits, and nothing "
            "moved for 1.5 s",
            (unsigned long long)outstanding);
    else if (orr_transfers_starve())
        say("deadlock: memory of a device is asked for and not given back, every thread waits, and nothing "
            "moved for 1.5 s");
    else if (wait)
        say("deadlock: every thread waits, one for %s, no task is submitted, and nothing moved for 1.5 s",
            wait);
    explain_all(true);
    draw_alone();
}

/* What looks like a deadlock, and may be none because of these threads. */
static void report_doubt(uint64_t outstanding, const struct orr_strangers *s)
{
    const char *wait = wait_without_task(); /* perhaps not any more */
    say = orr_warn;
    if (outstanding)
        say("deadlock? %llu tasks are submitted, every worker is idle, every thread that the runtime knows "
            "waits, and nothing moved for 5 s",
            (unsigned long long)outstanding);
    else if (orr_transfers_starve())
        say("deadlock? memory of a device is asked for and not given back, every thread that the runtime "
            "knows waits, and nothing moved for 5 s");
    else if (wait)
        say("deadlock? every thread that the runtime knows waits, one for %s, no task is submitted, and "
            "nothing moved for 5 s",
            wait);
    explain_all(false);
    if (s->count == 0) return;
    say("  the program goes on, because %u other thread%s may still act: %s", s->count,
        s->count > 1 ? "s" : "", s->names);
    say("  if it is right to wait, call orrery_outside_begin meanwhile; if such a thread never acts, "
        "orrery_thread_passive in it; if none does, ORRERY_ON_DEADLOCK=exit ends the program");
}

/* ---- watching ---- */

/* in_methods: workers that count as idle, for they are stuck in a method of the program's policy. */
static bool everybody_idle(unsigned in_methods)
{
    if (orr_worker_count == 0 || orr_load_seq(&orr_parking.paused) || orr_load_seq(&orr_parking.stopping))
        return false;
    unsigned asleep = orr_load_seq(&orr_parking.parked) + in_methods + orr_starving_workers();
    uint64_t sleeps = 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        if (orr_load_seq(&w->at_gate)) asleep++;                   /* for others of its team */
        if (pthread_mutex_trylock(&w->sched_mutex) != 0) continue; /* perhaps held for ever, by mistake */
        if (w->sleeping_on_cond && !w->counted_parked && !w->keep_awake)
            asleep++; /* and is not woken just now */
        sleeps += w->sleeps;
        pthread_mutex_unlock(&w->sched_mutex);
    }
    bool same = sleeps == watch.sleeps; /* no worker was awake in between, however it was woken */
    watch.sleeps = sleeps;
    return same && asleep >= orr_worker_count;
}

/* Whether threads that are inside methods of the program's policies have not moved since the last look. */
static bool methods_are_still(const struct orr_census *c)
{
    bool still = c->method_calls == watch.method_calls && c->method_cpu_ns == watch.method_cpu_ns;
    watch.method_calls = c->method_calls;
    watch.method_cpu_ns = c->method_cpu_ns;
    watch.in_methods = c->in_methods;
    return still;
}

/* What one look shows; same: nothing has moved since the last one, and nothing outside was announced. */
struct look {
    bool same, methods_still, all_blocked, any_blocked, idle, paused;
};

static struct look look(void)
{
    const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
    struct orr_census c = orr_threads_census();
    uint64_t movement = (outside ? outside->movement(outside) : 0) + orr_transfers_movement() +
                        orr_load_relaxed(&orr_tags_closings);
    struct look l = {
        .same = c.submitted == watch.submitted && c.completed == watch.completed &&
                movement == watch.movement && orr_load_acquire(&watch.announced) == 0,
        .methods_still = methods_are_still(&c),
        .all_blocked = c.all_blocked,
        .any_blocked = c.any_blocked,
        .idle = everybody_idle(c.workers_in_methods),
        .paused = orr_load_seq(&orr_parking.paused) || orr_load_seq(&orr_parking.stopping),
    };
    watch.submitted = c.submitted;
    watch.completed = c.completed;
    watch.movement = movement;
    return l;
}

static bool is_still(const struct look *l)
{
    return l->same && l->methods_still && l->all_blocked && l->idle;
}

bool orr_deadlock_still(void)
{
    struct look l = look();
    watch.moved |= !l.same || !l.methods_still || !l.all_blocked;
    return is_still(&l);
}

/* Whether somebody outside may still move things, or else says that nobody can: then it is a deadlock even
 * without a task. */
static enum orr_verdict verdict(bool sure)
{
    const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
    if (outside) return outside->verdict(outside, sure);
    if (watch.submitted == watch.completed && !orr_transfers_starve() && !wait_without_task())
        return ORR_MAY_MOVE;
    return sure ? ORR_STUCK : ORR_STUCK_PERHAPS;
}

static void react(uint64_t outstanding)
{
    report(outstanding);
    if (watch.reaction == REACT_WARN) return;
    orr_error("the program ends here; ORRERY_ON_DEADLOCK=warn lets it wait on, =abort leaves a core file");
    fflush(NULL);
    const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
    if (watch.reaction == REACT_ABORT) abort();
    if (outside) outside->end(outside);
    _exit(1);
}

/* A method of the program's policy may sleep for a while: nobody can tell that from waiting for a lock. */
static unsigned looks_until_sure(void)
{
    return watch.in_methods ? LOOKS_IN_METHODS : LOOKS_UNTIL_SURE;
}

/* In a row: looks at which everybody waited; at which all but a thread outside did; at which workers were
 * awake. */
struct watching {
    unsigned still, outside, awake, acquiring;
    bool said, unsure, warned;
};

/* Everybody waits: is it certain that nobody will act? */
static void consider(struct watching *s)
{
    struct orr_strangers strangers = { 0 };
    if (s->unsure && s->still % LOOKS_BETWEEN != 0) return; /* looking at all threads costs something */
    if (!watch.told) strangers = orr_strangers_look();
    s->unsure = strangers.count > 0;
    if (s->unsure && s->still < LOOKS_WHEN_UNSURE) return;
    enum orr_verdict v = verdict(strangers.count == 0);
    if (v == ORR_MAY_MOVE || orr_load_acquire(&watch.stop)) return;
    uint64_t outstanding = watch.submitted - watch.completed;
    if (v == ORR_STUCK_PERHAPS) {
        if (!s->warned) report_doubt(outstanding, &strangers);
        s->unsure = s->warned = true;
        return;
    }
    s->said = true;
    react(outstanding);
}

/* A thread that called the runtime is outside, while another waits. */
static void worry(void)
{
    if (orr_load_acquire(&watch.outside) || watch.submitted == watch.completed) return;
    say = orr_warn;
    say("deadlock? %llu tasks are submitted, every worker is idle, and nothing moved for 15 s; a thread of "
        "the "
        "program is not in the runtime, and may still act (or waits for a thread that is)",
        (unsigned long long)(watch.submitted - watch.completed));
    explain_all(false);
}

/* Tasks that wait for data that the program has acquired. */
struct held {
    struct {
        char task[300], data[96];
        const void *at;
    } shown[TASKS_SHOWN];
    unsigned count;
};

/* Locks are held: what is to be said is copied. */
static void collect_held(struct orr_data *h, struct orr_access *a, void *arg)
{
    struct held *all = arg;
    const void *at = orr_data_is_wanted(h) ? orr_load_relaxed(&h->acquired_at) : NULL;
    struct orr_task *t = at ? orr_access_task(a) : NULL;
    unsigned n = t ? all->count++ : 0;
    if (!t || n >= TASKS_SHOWN) return;
    all->shown[n].at = at;
    describe(all->shown[n].task, sizeof all->shown[n].task, t);
    orr_data_label(h, all->shown[n].data, sizeof all->shown[n].data);
}

/* The same with other ranks: this one's thread may wait for what they do. What waits for the program here is
 * told. */
static void worry_of_held(void)
{
    const struct orr_deadlock_outside *outside = orr_load_acquire(&watch.outside);
    struct held *all = outside && orr_load_acquire(&watch.announced) == 0 ? orr_calloc(1, sizeof *all) : NULL;
    if (!all) return;
    orr_data_visit_waiting(collect_held, all);
    say = orr_warn;
    if (all->count || outside->held(outside, false))
        say("deadlock? A thread waits, nothing has moved here for 10 s, and the program has acquired data "
            "that others wait for; if it is right to wait, call orrery_outside_begin meanwhile");
    for (unsigned i = 0; i < all->count && i < TASKS_SHOWN; i++) {
        char holder[512];
        orr_deadlock_program_holds(all->shown[i].at, holder, sizeof holder);
        say(ORR_SAY_FOR_DATA, all->shown[i].task, all->shown[i].data, holder);
    }
    if (all->count > TASKS_SHOWN) say("  ... and %u more tasks", all->count - TASKS_SHOWN);
    outside->held(outside, true);
    orr_free(all);
}

/* Threads have waited for data for long, while others act, whose tasks cannot be looked at: tells of those
 * that the program has acquired. */
static void look_at_acquirers(void)
{
    struct orr_acquirer a[ACQUIRERS_SHOWN];
    char holder[800];
    unsigned n = orr_acquirers_list(a, ACQUIRERS_SHOWN, ACQUIRER_PATIENCE_S, true);
    say = orr_warn;
    for (unsigned i = 0; i < n; i++) {
        if (!a[i].held_at) continue;
        say("deadlock? A thread waits for data that others act with, or have forgotten; "
            "if it is right to wait, call orrery_outside_begin meanwhile");
        orr_deadlock_program_holds(a[i].held_at, holder, sizeof holder);
        say_acquirer(&a[i], holder);
        orr_acquirers_told(&a[i]);
    }
}

static bool is_in_its_body(struct orr_task *t)
{
    return orr_load_acquire(&t->state) == ORR_TASK_RUNNING && !waits_to_end(t);
}

static bool is_ready(const struct orr_task *t)
{
    uint32_t state = orr_load_acquire(&t->state);
    return state == ORR_TASK_READY || state == ORR_TASK_PUSHED;
}

/* Workers are awake, and no task ends: if none is in its body either, they hand tasks round. */
static void look_for_circulation(void)
{
    struct waiting *all = orr_calloc(1, sizeof *all);
    char name[200];
    unsigned ready = 0, shown = 0;
    bool works = !all || orr_load_seq(&orr_transfers_active) > 0;
    if (!works) {
        orr_slab_for_each(ORR_SLAB_TASK, collect, all);
        orr_slab_for_each(ORR_SLAB_JOB, collect, all);
    }
    for (unsigned i = 0; !works && i < all->count; i++) {
        works = is_in_its_body(all->task[i]);
        ready += is_ready(all->task[i]);
    }
    if (!works && ready > 0 && all->more == 0) {
        orr_warn(
            "tasks go round: %u are ready, workers are awake, and for 10 s none has begun or ended: does "
            "the scheduling policy give them back and forth?",
            ready);
        for (unsigned i = 0; i < all->count && shown < TASKS_SHOWN; i++) {
            if (!is_ready(all->task[i])) continue;
            describe(name, sizeof name, all->task[i]);
            orr_warn("  task %s is ready under scheduling policy %s", name,
                     orr_policy_name(&orr_contexts[all->task[i]->sched_ctx]));
            shown++;
        }
    }
    orr_free(all);
}

/* Whether those who wait were seen to do so since all is still; a late thread seems to wait, too. */
static bool all_rest(const struct watching *s)
{
    if (!s->still) orr_rest_forget();
    return s->still + LOOKS_FOR_REST > looks_until_sure() && orr_rest_look();
}

static void watch_once(struct watching *s)
{
    struct look l = look();
    bool awake = l.same && !l.idle && !l.paused && watch.submitted != watch.completed;
    s->still = is_still(&l) && !watch.moved ? s->still + 1 : 0;
    watch.moved = false;
    s->outside = l.same && l.methods_still && l.idle && !l.all_blocked && l.any_blocked ? s->outside + 1 : 0;
    s->awake = awake ? s->awake + 1 : 0;
    if (!s->still) s->said = s->unsure = s->warned = false;
    if (all_rest(s) && s->still >= looks_until_sure() && !s->said) consider(s);
    if (s->outside == LOOKS_UNTIL_WORRIED) worry();
    if (s->outside == LOOKS_UNTIL_HELD) worry_of_held();
    if (s->awake == LOOKS_GOING_ROUND) look_for_circulation();
    bool acquiring = orr_acquirers_count() > 0 && orr_load_acquire(&watch.announced) == 0;
    s->acquiring = acquiring ? s->acquiring + 1 : 0;
    if (acquiring && s->acquiring % LOOKS_BETWEEN_ACQUIRERS == 0) look_at_acquirers();
}

static void *run(void *unused)
{
    struct watching s = { 0 };
    (void)unused;
    orr_thread_is_internal(); /* it may run callbacks of messages */
    while (!orr_load_acquire(&watch.stop)) {
        orr_futex_wait(&watch.stop, 0, (int64_t)LOOK_EVERY_MS * 1000000);
        watch_once(&s);
    }
    return NULL;
}

void orr_deadlock_start(void)
{
    const char *s = orr_env_string(ORR_SETTING(ORRERY_ON_DEADLOCK));
    watch.reaction = REACT_EXIT;
    watch.running = watch.told = false;
    if (s && strcmp(s, "off") == 0) return;
    if (s && strcmp(s, "warn") == 0)
        watch.reaction = REACT_WARN;
    else if (s && strcmp(s, "abort") == 0)
        watch.reaction = REACT_ABORT;
    else if (s && strcmp(s, "exit") != 0 && strcmp(s, "auto") != 0)
        orr_warn("ORRERY_ON_DEADLOCK=%s is ignored: it takes auto, exit, abort, warn or off; using auto", s);
    watch.told = s && (strcmp(s, "exit") == 0 || strcmp(s, "abort") == 0);
    orr_store_release(&watch.stop, 0u);
    watch.running = orr_thread_start(&watch.thread, run, NULL, "orr-deadlock") == 0;
    if (!watch.running) orr_warn("deadlocks will not be noticed: no thread can be made for it");
}

void orr_deadlock_stop(void)
{
    if (!watch.running) return;
    orr_store_release(&watch.stop, 1u);
    orr_futex_wake(&watch.stop, 1);
    pthread_join(watch.thread, NULL);
    watch.running = false;
}

/* ---- what the program says about itself ---- */

void orrery_outside_begin(void)
{
    orr_add_acq_rel(&watch.announced, 1u);
}

int orrery_outside_end(void)
{
    uint32_t n = orr_load_acquire(&watch.announced);
    while (n > 0 && !orr_cas_weak_acq_rel(&watch.announced, &n, n - 1)) continue;
    if (n > 0) return 0;
    orr_error("orrery_outside_end: there is no orrery_outside_begin before it");
    return -EINVAL;
}

void orrery_thread_passive(int passive)
{
    orr_thread_set_passive(passive != 0);
}
