/* SPDX-License-Identifier: BSD-3-Clause */
/* why.c: see why.h.
 * Threads: see there. Owns: see there. Not here: see there.
 *
 * Tasks end, and their memory is used anew, while this looks. So nothing of them is read here: the system
 * copies it (core/base/peek.h), for which a bad address is no crash. A task's number is used once. What was
 * copied of a task, its data and its names is believed if the task has the same number and state after all
 * was copied: then it was there all the time, and with it what it uses. Blocks of tasks stay tasks' while the
 * runtime is up. Queues and lists are walked over copies and for a limited number of steps: they may change
 * under way, and what is then said of who stands before whom may be some microseconds old.
 *
 * It takes no lock but that of the blocks, to list them, and where somebody waits for memory that of the
 * node's list. Messages between ranks are told by who has them, who copies them, and are looked at last: what
 * a message holds it held after the tasks were seen to wait. */
#include "core/run/why.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/peek.h"
#include "core/base/sync.h"
#include "core/data/data.h"
#include "core/data/starving.h"
#include "core/mem/node.h"
#include "core/run/sentences.h"
#include "core/task/deps.h"
#include "core/task/task.h"
#include "core/worker/inputs.h"
#include "core/worker/joblist.h"
#include "core/worker/parallel.h"
#include "core/worker/worker.h"

enum { TASKS = 2048, ACCESSES = 32, EDGES = 8192, STEPS = 4096, NAME = 160 };
enum { HUNGRY = 64, HOLDERS = 16, MANY = 4 * HOLDERS, MESSAGES = 1024 };

struct use { /* an access: where it is, and to what */
    const void *access;
    const struct orr_data *handle;
    bool waits;
};
struct seen {
    struct orr_task *at; /* only a name */
    struct orr_task_rare rare;
    bool has_rare, listed;
    uint64_t id, tag_id;
    uint32_t state;
    int pending;
    unsigned context, uses;
    int worker; /* that runs it, or ran it last; -1: none */
    struct orr_team *team;
    struct orr_edge *successors;
    struct use use[ACCESSES];
    char name[NAME];
};
struct looked {
    FILE *f;
    const char *prefix;
    struct orr_task *at[TASKS];
    struct seen *task;
    struct {
        unsigned waits, for_task;
    } edge[EDGES];
    unsigned found, more, tasks, edges;
    struct orr_starving hungry[HUNGRY]; /* what waits for memory */
    const struct seen *loads[HUNGRY];   /* the task that waits for it; NULL: none that is known */
    unsigned hungry_count;
    struct orr_why_messages messages;
    bool *message_waits; /* of each, whether it stands in its data's queue */
    bool has_ranks, ranks_seen;
};

static struct {
    ORR_MUTEX(why_outside) lock; /* protects who; held while that looks */
    const struct orr_why_outside *who;
} outside = { .lock = PTHREAD_MUTEX_INITIALIZER };

void orr_why_outside(const struct orr_why_outside *who)
{
    pthread_mutex_lock(&outside.lock);
    outside.who = who;
    pthread_mutex_unlock(&outside.lock);
}

void orr_why_outside_over(const struct orr_why_outside *who)
{
    pthread_mutex_lock(&outside.lock);
    if (outside.who == who) outside.who = NULL;
    pthread_mutex_unlock(&outside.lock);
}

/* ---- copying ---- */

/* Called with the lock of the blocks held. */
static void note_block(void *block, void *arg)
{
    struct looked *l = arg;
    struct orr_task *t = block;
    uint32_t state = orr_load_acquire(&t->state);
    struct orr_edge *e = orr_load_acquire(&t->successors);
    bool unsubmitted = state == ORR_TASK_CREATED && e && e != ORR_EDGES_CLOSED;
    if (!unsubmitted && (state < ORR_TASK_SUBMITTED || state > ORR_TASK_RUNNING)) return;
    if (l->found < TASKS)
        l->at[l->found++] = t;
    else
        l->more++;
}

static void copy_name(struct seen *s, const struct orr_task *t, const struct starpu_task *pub)
{
    struct starpu_codelet *cl = pub->cl;
    const char *name = pub->name;
    char file[100] = "", text[80] = "";
    if (!name && cl && !orr_peek(&name, &cl->name, sizeof name)) name = NULL;
    if (!name || !orr_peek_text(text, sizeof text, name)) snprintf(text, sizeof text, "(unnamed)");
    if (pub->file && orr_peek_text(file, sizeof file, pub->file))
        snprintf(s->name, sizeof s->name, "%s (job %llu, %.40s:%d)", text, (unsigned long long)t->id, file,
                 pub->line);
    else
        snprintf(s->name, sizeof s->name, "%s (job %llu)", text, (unsigned long long)t->id);
}

/* Where the task's accesses are, and to which data. */
static void copy_uses(struct seen *s, const struct orr_task *t, const struct starpu_task *pub)
{
    const struct orr_access *first =
        (t->flags & ORR_TF_ACCESS_HEAP)
            ? (const struct orr_access *)((const char *)t->heap_accesses +
                                          offsetof(struct orr_access_block, access))
            : (const struct orr_access *)((const char *)s->at +
                                          offsetof(struct orr_task, inline_accesses.access));
    for (unsigned i = 0; i < t->naccesses && s->uses < ACCESSES; i++) {
        struct orr_access a;
        starpu_data_handle_t h;
        if (!orr_peek(&a, first + i, sizeof a) || (!pub->dyn_handles && a.index >= STARPU_NMAXBUFS)) return;
        if (!pub->dyn_handles)
            h = pub->handles[a.index];
        else if (!orr_peek(&h, &pub->dyn_handles[a.index], sizeof h))
            return;
        s->use[s->uses++] = (struct use){ .access = first + i, .handle = h };
    }
}

/* Whether all of it could be copied, and the task is one that waits or runs still. */
static bool copy_task(struct seen *s, struct orr_task *at)
{
    static struct starpu_task pub; /* large [own: the thread that asks why] */
    struct orr_task t;
    memset(s, 0, sizeof *s);
    s->at = at;
    if (!orr_peek(&t, at, sizeof t) || !t.pub || !orr_peek(&pub, t.pub, sizeof pub)) return false;
    s->state = orr_load_relaxed(&t.state);
    if (s->state > ORR_TASK_RUNNING) return false;
    s->id = t.id;
    s->pending = orr_load_relaxed(&t.pending);
    s->context = t.sched_ctx;
    s->tag_id = pub.tag_id;
    s->successors = orr_load_relaxed(&t.successors);
    s->has_rare = t.rare && orr_peek(&s->rare, t.rare, sizeof s->rare);
    s->listed = s->has_rare && t.flags & ORR_TF_LISTED;
    s->team = s->has_rare && t.flags & ORR_TF_TEAM ? s->rare.team : NULL;
    s->worker = t.worker;
    copy_name(s, &t, &pub);
    if (s->state != ORR_TASK_CREATED && pub.cl) copy_uses(s, &t, &pub);
    return true;
}

/* Whether the task is still as it was when it was copied. */
static bool is_same(const struct seen *s)
{
    uint64_t id;
    uint32_t state;
    return orr_peek(&id, &s->at->id, sizeof id) && id == s->id &&
           orr_peek(&state, (const void *)&s->at->state, sizeof state) && state == s->state;
}

/* Whether the access is in that list of its handle's queue. */
static bool is_listed(const struct orr_access *a, const void *which)
{
    for (unsigned steps = 0; a && steps < STEPS; steps++) {
        struct orr_waiter w;
        if (a == which) return true;
        if (!orr_peek(&w, a, sizeof w)) return false;
        a = (const struct orr_access *)w.next;
    }
    return false;
}

static bool waits_in_queue(const struct use *u)
{
    struct orr_access_queue q;
    if (!u->handle || !orr_peek(&q, &u->handle->queue, sizeof q)) return false;
    return is_listed(q.head, u->access) || is_listed(q.commuters, u->access);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct seen *)a)->at, y = (uintptr_t)((const struct seen *)b)->at;
    return (x > y) - (x < y);
}

/* Who waits, by declaration, for task i. */
static void copy_edges(struct looked *l, unsigned i)
{
    struct orr_edge *e = l->task[i].successors, copy;
    for (unsigned steps = 0; e && e != ORR_EDGES_CLOSED && steps < STEPS; steps++, e = copy.next) {
        if (!orr_peek(&copy, e, sizeof copy)) return;
        struct seen key = { .at = NULL }, *found;
        key.at = orr_load_relaxed(&copy.waiter);
        found = key.at ? bsearch(&key, l->task, l->tasks, sizeof key, by_address) : NULL;
        if (!found || l->edges == EDGES) continue;
        l->edge[l->edges].waits = (unsigned)(found - l->task);
        l->edge[l->edges++].for_task = i;
    }
}

static void copy_messages(struct looked *l)
{
    pthread_mutex_lock(&outside.lock);
    l->has_ranks = outside.who != NULL;
    l->ranks_seen = l->has_ranks && outside.who->look(outside.who, &l->messages);
    pthread_mutex_unlock(&outside.lock);
    for (unsigned i = 0; i < l->messages.count; i++) {
        const struct orr_why_message *m = &l->messages.message[i];
        const struct use u = { .access = m->access, .handle = m->handle };
        l->message_waits[i] = !m->has_data && m->access && waits_in_queue(&u);
    }
}

static void copy_all(struct looked *l)
{
    orr_slab_for_each(ORR_SLAB_TASK, note_block, l);
    orr_slab_for_each(ORR_SLAB_JOB, note_block, l);
    for (unsigned i = 0; i < l->found; i++)
        if (copy_task(&l->task[l->tasks], l->at[i])) l->tasks++;
    qsort(l->task, l->tasks, sizeof *l->task, by_address);
    for (unsigned i = 0; i < l->tasks; i++) {
        struct seen *s = &l->task[i];
        copy_edges(l, i);
        for (unsigned k = 0; s->state == ORR_TASK_SUBMITTED && k < s->uses; k++)
            s->use[k].waits = waits_in_queue(&s->use[k]);
    }
    l->hungry_count = orr_starving_list(l->hungry, HUNGRY);
    copy_messages(l);
}

/* ---- saying it ---- */

__attribute__((format(printf, 2, 3))) static void say(struct looked *l, const char *fmt, ...)
{
    va_list ap;
    fputs(l->prefix, l->f);
    va_start(ap, fmt);
    vfprintf(l->f, fmt, ap);
    va_end(ap);
    putc('\n', l->f);
}

/* The task that has h, as far as is known; NULL: none of those looked at. */
static const struct seen *task_with(const struct looked *l, const struct orr_data *h,
                                    const struct seen *other)
{
    for (unsigned i = 0; i < l->tasks; i++) {
        const struct seen *s = &l->task[i];
        if (s == other || s->state == ORR_TASK_CREATED) continue;
        for (unsigned k = 0; k < s->uses; k++)
            if (s->use[k].handle == h && !s->use[k].waits) return s;
    }
    return NULL;
}

static void label_data(const struct orr_data *h, char *dst, size_t bytes)
{
    struct orr_data_rare *rare = NULL;
    const char *name = NULL;
    char text[80];
    if (orr_peek(&rare, (const void *)&h->rare, sizeof rare) && rare &&
        orr_peek(&name, &rare->name, sizeof name) && name && orr_peek_text(text, sizeof text, name))
        snprintf(dst, bytes, "\"%s\"", text);
    else
        snprintf(dst, bytes, "%p", (const void *)h);
}

/* The message that has h, as far as is known; NULL: none of those looked at. */
static const struct orr_why_message *message_with(const struct looked *l, const struct orr_data *h,
                                                  const struct orr_why_message *other)
{
    for (unsigned i = 0; i < l->messages.count; i++) {
        const struct orr_why_message *m = &l->messages.message[i];
        if (m != other && m->handle == h && m->access && !l->message_waits[i]) return m;
    }
    return NULL;
}

static void say_none_has(const struct looked *l, char *text, size_t bytes)
{
    bool all = !l->more && !l->messages.more && l->has_ranks == l->ranks_seen;
    snprintf(text, bytes, "which no task%s has%s: the program%s holds it", l->ranks_seen ? " or message" : "",
             all ? "" : " that was looked at", all ? "" : ", or one of the others,");
}

/* "which ... has" of h, for other, a task or message that waits for it. *task_out: who has it, if it is one:
 * to be believed if that is the same afterwards. */
static void find_holder(const struct looked *l, const struct orr_data *h, const void *other, char *text,
                        size_t bytes, const struct seen **task_out)
{
    const struct seen *has = task_with(l, h, other);
    const struct orr_why_message *m = has ? NULL : message_with(l, h, other);
    *task_out = has;
    if (has)
        snprintf(text, bytes, "which task %s has", has->name);
    else if (m)
        snprintf(text, bytes, "which " ORR_SAY_MESSAGE_HOLDS, m->name, m->until);
    else
        say_none_has(l, text, bytes);
}

/* Of t, a line for each of the data that it waits for; whether there was one. */
static bool explain_data(struct looked *l, const struct seen *t)
{
    bool said = false;
    for (unsigned k = 0; k < t->uses; k++) {
        char data[100], holder[NAME + 80];
        const struct seen *has;
        if (!t->use[k].waits) continue;
        find_holder(l, t->use[k].handle, t, holder, sizeof holder, &has);
        label_data(t->use[k].handle, data, sizeof data);
        if (!has && !waits_in_queue(&t->use[k])) continue; /* it does not any more */
        if (!is_same(t) || (has && !is_same(has))) continue;
        say(l, ORR_SAY_FOR_DATA, t->name, data, holder);
        said = true;
    }
    return said;
}

static bool explain_edges(struct looked *l, unsigned i, bool to_end)
{
    bool said = false;
    for (unsigned e = 0; e < l->edges; e++) {
        const struct seen *t = &l->task[i], *p = &l->task[l->edge[e].for_task];
        if (l->edge[e].waits != i || !is_same(t) || !is_same(p)) continue;
        say(l, to_end ? ORR_SAY_END_FOR_TASK : ORR_SAY_FOR_TASK, t->name, p->name,
            p->state == ORR_TASK_CREATED ? ORR_SAY_NEVER_SUBMITTED : "");
        said = true;
    }
    return said;
}

/* Of a job that waits for nothing but its list; whether it is one. */
static bool explain_listed(struct looked *l, const struct seen *t)
{
    struct orrery_joblist *list;
    const char *at;
    char name[80];
    bool stopped;
    if (!t->listed || !orr_peek(&list, &t->rare.job->list, sizeof list)) return false;
    if (!orr_peek(&stopped, &list->stopped, sizeof stopped) || !orr_peek(&at, &list->name, sizeof at))
        return false;
    if (!at || !orr_peek_text(name, sizeof name, at)) snprintf(name, sizeof name, "(unnamed)");
    if (!is_same(t)) return false;
    say(l, "  task %s waits in job list \"%s\", %s", t->name, name,
        stopped ? "which the program has stopped" : "for its turn and a worker");
    return true;
}

/* ---- workers that are to come together ---- */

/* The task that worker w runs, as far as is known. */
static const struct seen *task_on(const struct looked *l, int w)
{
    for (unsigned i = 0; i < l->tasks; i++)
        if (l->task[i].state == ORR_TASK_RUNNING && l->task[i].worker == w) return &l->task[i];
    return NULL;
}

/* Of a parallel task, which workers it waits for; whether it is one, and does. */
static bool explain_team(struct looked *l, const struct seen *t)
{
    struct orr_team_look team;
    char missing[400] = "it waits for others";
    size_t used = 0;
    if (!t->team || !orr_team_peek(t->team, &team)) return false;
    for (unsigned i = 0; i < team.missing && used < sizeof missing - 1; i++) {
        const struct seen *runs = task_on(l, team.waits_for[i]);
        int n = snprintf(missing + used, sizeof missing - used, "%s%s%s%s", i ? ", " : "it waits for ",
                         orr_workers[team.waits_for[i]].name, runs ? ", which runs task " : "",
                         runs ? runs->name : "");
        used += n > 0 ? (size_t)n : 0;
    }
    if (!is_same(t)) return false;
    say(l, ORR_SAY_TEAM, t->name, team.size, team.come, missing);
    return true;
}

/* ---- memory that a node lacks ---- */

static bool uses(const struct seen *t, const struct orr_data *h)
{
    for (unsigned i = 0; i < t->uses; i++)
        if (t->use[i].handle == h) return true;
    return false;
}

static bool has_begun(const struct seen *t)
{
    return t->state == ORR_TASK_READY || t->state == ORR_TASK_PUSHED || t->state == ORR_TASK_RUNNING;
}

/* The task that loads h on a node: that which has the turn there, if it uses h; else, where h is on its way
 * through that node, another that does; else again the first, as data for one worker alone (scratch,
 * contributions) have handles that no task names. */
static const struct seen *task_loading(const struct looked *l, const struct orr_starving *s)
{
    const struct orr_task *at = orr_inputs_peek_task(s->load);
    const struct seen *turn = NULL, *user = NULL;
    for (unsigned i = 0; i < l->tasks; i++) {
        const struct seen *t = &l->task[i];
        if (!has_begun(t)) continue;
        if (t->at == at) turn = t;
        if (!user && uses(t, s->handle)) user = t;
    }
    return turn && (!user || uses(turn, s->handle)) ? turn : user;
}

static void say_memory(struct looked *l, const char *who, const struct orr_starving *s, const char *data)
{
    say(l, ORR_SAY_FOR_MEMORY, who, s->bytes, data, s->node, orr_nodes[s->node].name);
}

static void find_loading(struct looked *l)
{
    for (unsigned i = 0; i < l->hungry_count && i < HUNGRY; i++)
        if (l->hungry[i].loading) l->loads[i] = task_loading(l, &l->hungry[i]);
}

/* For which memory t waits; whether it does. */
static bool explain_memory(struct looked *l, const struct seen *t)
{
    char who[NAME + 8], data[100];
    for (unsigned i = 0; i < l->hungry_count && i < HUNGRY; i++) {
        const struct orr_starving *s = &l->hungry[i];
        if (l->loads[i] != t) continue;
        label_data(s->handle, data, sizeof data);
        if (!is_same(t)) return false;
        snprintf(who, sizeof who, "task %s", t->name);
        say_memory(l, who, s, data);
        return true;
    }
    return false;
}

static bool is_among(const struct orr_starving *s, const struct orr_starving *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (all[i].handle == s->handle && all[i].node == s->node) return true;
    return false;
}

/* What uses memory there: a task that runs on the node, or loads; one that is to run next, or elsewhere; a
 * message; else the program. */
static const struct seen *name_user(const struct looked *l, const struct orr_starving *s, char *text,
                                    size_t bytes)
{
    const struct orr_why_message *m = message_with(l, s->handle, NULL);
    const struct seen *t = s->loading ? task_loading(l, s) : NULL, *next = NULL;
    for (unsigned i = 0; i < l->tasks && !t; i++) {
        const struct seen *u = &l->task[i];
        if (!has_begun(u) || !uses(u, s->handle)) continue;
        bool here = u->worker >= 0 && (unsigned)u->worker < orr_worker_count &&
                    orr_workers[u->worker].node == s->node;
        if (u->state == ORR_TASK_RUNNING && here) t = u;
        if (!next) next = u;
    }
    if (t)
        snprintf(text, bytes, "task %s %s", t->name, s->loading ? "has loaded so far" : "uses");
    else if (next)
        snprintf(text, bytes, "task %s is to use", next->name);
    else if (m)
        snprintf(text, bytes, ORR_SAY_MESSAGE_HOLDS, m->name, m->until);
    else
        snprintf(text, bytes, "%s", ORR_SAY_MEMORY_PROGRAM);
    return t ? t : next;
}

/* Who has the memory of a node that is too full. Names are copied first; what is still there then was there
 * all the time, and its name is its own. */
static void explain_node(struct looked *l, unsigned node)
{
    struct orr_starving held[HOLDERS], now[MANY];
    char data[HOLDERS][100];
    const struct orr_node *n = &orr_nodes[node];
    unsigned count = orr_starving_holders(node, held, HOLDERS), shown = count < HOLDERS ? count : HOLDERS;
    for (unsigned i = 0; i < shown; i++) label_data(held[i].handle, data[i], sizeof data[i]);
    unsigned left = orr_starving_holders(node, now, MANY);
    say(l, ORR_SAY_MEMORY_NODE, node, n->name, orr_load_relaxed(&n->used_bytes), n->limit_bytes);
    for (unsigned i = 0; i < shown; i++) {
        char use[NAME + 80];
        if (!is_among(&held[i], now, left < MANY ? left : MANY)) continue;
        const struct seen *t = name_user(l, &held[i], use, sizeof use);
        if (!t || is_same(t)) say(l, ORR_SAY_MEMORY_USE, held[i].bytes, data[i], use);
    }
    if (count > HOLDERS) say(l, "    ... and %u more", count - HOLDERS);
}

/* What the program asked for and does not get, and who has the memory that it and tasks wait for. */
static void explain_nodes(struct looked *l)
{
    uint32_t nodes = 0;
    for (unsigned i = 0; i < l->hungry_count && i < HUNGRY; i++) {
        const struct orr_starving *s = &l->hungry[i];
        struct orr_starving now[HUNGRY];
        char data[100], who[120] = "the program";
        const struct orr_why_message *m = message_with(l, s->handle, NULL);
        label_data(s->handle, data, sizeof data);
        unsigned left = orr_starving_list(now, HUNGRY);
        if (!is_among(s, now, left < HUNGRY ? left : HUNGRY)) continue;
        nodes |= UINT32_C(1) << s->node;
        if (m) snprintf(who, sizeof who, "the %s", m->name);
        if (!s->loading) say_memory(l, who, s, data);
    }
    if (l->hungry_count > HUNGRY) say(l, "  ... and %u more transfers", l->hungry_count - HUNGRY);
    for (; nodes; nodes &= nodes - 1) explain_node(l, (unsigned)__builtin_ctz(nodes));
}

/* ---- messages ---- */

static void explain_message(struct looked *l, unsigned i)
{
    const struct orr_why_message *m = &l->messages.message[i];
    char holder[NAME + 80] = "which is being brought";
    const struct seen *has = NULL;
    if (m->has_data) {
        say(l, "  %s %s", m->line, m->stands);
        return;
    }
    if (l->message_waits[i]) find_holder(l, m->handle, m, holder, sizeof holder, &has);
    if (has && !is_same(has)) return;
    say(l, "  %s waits for its data, %s%s%s", m->line, holder, *m->stands ? "; " : "", m->stands);
}

static void explain_messages(struct looked *l)
{
    for (unsigned i = 0; i < l->messages.count; i++) explain_message(l, i);
    if (l->messages.more) say(l, "  ... and %u more messages, which were not looked at", l->messages.more);
    if (l->has_ranks && !l->ranks_seen)
        say(l, "  messages between ranks cannot be told just now: a thread is in MPI all the time, or there "
               "is no memory");
}

/* ---- all ---- */

static void explain_ready(struct looked *l, const struct seen *t)
{
    const struct orr_ctx *ctx = orr_ctx_get(t->context);
    if (!is_same(t)) return;
    if (explain_listed(l, t) || explain_team(l, t)) return;
    if (ctx && orr_load_relaxed(&ctx->nworkers) == 0)
        say(l, ORR_SAY_NO_WORKERS, t->name, t->context);
    else
        say(l, "  task %s is ready, and waits for a worker", t->name);
}

static void explain(struct looked *l, unsigned i)
{
    const struct seen *t = &l->task[i];
    int left = t->has_rare && t->rare.end_deps_used ? orr_load_relaxed(&t->rare.end_deps) : 0;
    if (l->hungry_count && has_begun(t) && explain_memory(l, t)) return;
    if (t->state == ORR_TASK_READY || t->state == ORR_TASK_PUSHED) explain_ready(l, t);
    if (t->state == ORR_TASK_RUNNING && left > 0 && !explain_edges(l, i, true) && is_same(t))
        say(l, ORR_SAY_END_RELEASE, t->name, left);
    if (t->state != ORR_TASK_SUBMITTED) return;
    bool said = explain_edges(l, i, false);
    if (explain_data(l, t)) said = true;
    if (said || !is_same(t) || explain_listed(l, t)) return;
    if (t->has_rare && t->rare.tag)
        say(l, ORR_SAY_FOR_TAGS, t->name, (unsigned long long)t->tag_id);
    else
        say(l, ORR_SAY_CONDITIONS, t->name, t->pending);
}

void orr_why(FILE *f, const char *prefix)
{
    struct looked *l = orr_calloc(1, sizeof *l);
    struct seen *task = orr_calloc(TASKS, sizeof *task);
    struct orr_why_message *message = orr_calloc(MESSAGES, sizeof *message);
    bool *waits = orr_calloc(MESSAGES, sizeof *waits);
    if (l && task && message && waits) {
        unsigned running = 0, ready = 0, waiting = 0;
        l->f = f;
        l->prefix = prefix;
        l->task = task;
        l->messages = (struct orr_why_messages){ .message = message, .room = MESSAGES };
        l->message_waits = waits;
        copy_all(l);
        for (unsigned i = 0; i < l->tasks; i++) {
            running += task[i].state == ORR_TASK_RUNNING;
            ready += task[i].state == ORR_TASK_READY || task[i].state == ORR_TASK_PUSHED;
            waiting += task[i].state == ORR_TASK_SUBMITTED;
        }
        say(l, "%u tasks wait for others, %u are ready, %u run%s", waiting, ready, running,
            waiting + ready ? "; just now:" : "");
        find_loading(l);
        for (unsigned i = 0; i < l->tasks; i++) explain(l, i);
        if (l->more) say(l, "  ... and %u more tasks, which were not looked at", l->more);
        if (l->hungry_count) explain_nodes(l);
        explain_messages(l);
    } else {
        fprintf(f, "%sthere is no memory to look at the tasks\n", prefix);
    }
    orr_free(waits);
    orr_free(message);
    orr_free(task);
    orr_free(l);
}
