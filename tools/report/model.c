/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c: from events to what happened: tasks and what they waited for, what workers did, and why not.
 * Threads: main. Owns: nothing. Not here: the files (read.c), what is shown (text.c and others).
 *
 * Dependencies by data follow from the accesses in the order of submission, as the library grants them: a
 * group of tasks that may share (readers, commuting, contributing) waits for all of the group before it.
 * A worker that is idle is so because, at that moment and on its rank: nothing is submitted that has not
 * ended; or a task is ready, but not here; or tasks run that others wait for; or nothing runs, so that what
 * all wait for comes from outside (a message, data that the program has). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"

/* ---- numbers by keys: open addressing, keys of two words ---- */

struct slot {
    uint64_t key;
    uint32_t file, value; /* value: 1 + what is kept; 0: empty */
};
struct table {
    struct slot *slots;
    size_t mask, used;
};

static struct slot *table_slot(const struct table *t, uint32_t file, uint64_t key)
{
    uint64_t h = (key ^ (uint64_t)file << 56) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (h >> 20) & t->mask;
    while (t->slots[i].value && (t->slots[i].key != key || t->slots[i].file != file)) i = (i + 1) & t->mask;
    return &t->slots[i];
}

static uint32_t table_get(const struct table *t, uint32_t file, uint64_t key)
{
    return t->slots ? table_slot(t, file, key)->value - 1 : REPORT_NONE;
}

static void table_set(struct table *t, uint32_t file, uint64_t key, uint32_t value)
{
    if (!t->slots || t->used * 2 > t->mask) {
        struct table old = *t;
        t->mask = old.slots ? old.mask * 2 + 1 : 1023;
        t->slots = report_alloc(t->mask + 1, sizeof *t->slots);
        for (size_t i = 0; old.slots && i <= old.mask; i++)
            if (old.slots[i].value) *table_slot(t, old.slots[i].file, old.slots[i].key) = old.slots[i];
        free(old.slots);
    }
    struct slot *s = table_slot(t, file, key);
    t->used += !s->value;
    *s = (struct slot){ key, file, value + 1 };
}

/* ---- what the model is made with ---- */

struct list {
    uint32_t *at;
    size_t count, room;
};

struct datum {
    struct list before, latest; /* tasks: the group before the latest, and that */
    unsigned group;
};

struct tag {
    uint32_t task;         /* the one that it was given to; REPORT_NONE: none */
    struct list waits_for; /* tags */
};

struct edge {
    uint32_t task, before;
};

struct lane_now {
    double since, idle_since, asleep_since;
    double cause_then[REPORT_CAUSES];
    uint32_t task;
    bool idle, asleep, runs;
};

struct maker {
    struct report_model *m;
    struct table tasks, data, tags, codelets, lanes, copies;
    struct datum *datum;
    size_t ndatum, datum_room;
    struct tag *tag;
    size_t ntag, tag_room;
    struct edge *edges;
    size_t nedges, edges_room;
    struct edge *declared; /* task: its index; before: index in jobs */
    size_t ndeclared, declared_room;
    struct lane_now *now; /* of each lane */
    struct rank_now {
        double cause_ns[REPORT_CAUSES], at;
        long waiting, ready, running;
    } * rank;
};

static uint32_t codelet_of(struct maker *k, uint32_t hash)
{
    struct report_model *m = k->m;
    uint32_t i = table_get(&k->codelets, 0, hash);
    if (i != REPORT_NONE) return i;
    i = (uint32_t)m->ncodelets;
    *REPORT_PUSH(m->codelets, m->ncodelets, m->codelets_room) =
        (struct report_codelet){ .hash = hash, .name = report_name_of(m->run, hash), .min = INFINITY };
    table_set(&k->codelets, 0, hash, i);
    return i;
}

static uint32_t task_new(struct maker *k, uint32_t file, uint64_t job)
{
    struct report_model *m = k->m;
    uint32_t i = (uint32_t)m->ntasks;
    *REPORT_PUSH(m->tasks, m->ntasks, m->tasks_room) = (struct report_task){ .job = job,
                                                                             .file = file,
                                                                             .submitted = NAN,
                                                                             .ready = NAN,
                                                                             .taken = NAN,
                                                                             .started = NAN,
                                                                             .ended = NAN,
                                                                             .worker = -1,
                                                                             .before = REPORT_NONE };
    table_set(&k->tasks, file, job, i);
    return i;
}

/* The task under that number, the latest; made where its submission was lost, or came before the recording.
 */
static struct report_task *task_of(struct maker *k, uint32_t file, uint64_t job)
{
    uint32_t i = table_get(&k->tasks, file, job);
    if (i == REPORT_NONE) {
        i = task_new(k, file, job);
        k->m->tasks[i].name = codelet_of(k, 0);
    }
    return &k->m->tasks[i];
}

/* ---- dependencies ---- */

static void add_edge(struct maker *k, uint32_t task, uint32_t before)
{
    if (task == before || task == REPORT_NONE || before == REPORT_NONE) return;
    *REPORT_PUSH(k->edges, k->nedges, k->edges_room) = (struct edge){ task, before };
}

static void use_datum(struct maker *k, uint32_t file, uint32_t task, uint64_t word)
{
    uint64_t handle = word & ~(uint64_t)15;
    unsigned group = word & OTRACE_GROUP;
    if (word & OTRACE_LATE || !group) return;
    uint32_t i = table_get(&k->data, file, handle);
    if (i == REPORT_NONE) {
        i = (uint32_t)k->ndatum;
        *REPORT_PUSH(k->datum, k->ndatum, k->datum_room) = (struct datum){ .group = 0 };
        table_set(&k->data, file, handle, i);
    }
    struct datum *d = &k->datum[i];
    if (d->group != group || group == OTRACE_WRITE) {
        struct list old = d->before;
        d->before = d->latest;
        d->latest = old;
        d->latest.count = 0;
        d->group = group;
    }
    for (size_t j = 0; j < d->before.count; j++) add_edge(k, task, d->before.at[j]);
    *REPORT_PUSH(d->latest.at, d->latest.count, d->latest.room) = task;
}

/* A handle ends, and its address may be another's. */
static void forget_datum(struct maker *k, uint32_t file, uint64_t handle)
{
    uint32_t i = table_get(&k->data, file, handle);
    if (i != REPORT_NONE) k->datum[i].before.count = k->datum[i].latest.count = k->datum[i].group = 0;
}

static uint32_t tag_new(struct maker *k, uint32_t file, uint64_t name)
{
    uint32_t i = (uint32_t)k->ntag;
    *REPORT_PUSH(k->tag, k->ntag, k->tag_room) = (struct tag){ .task = REPORT_NONE };
    table_set(&k->tags, file, name, i);
    return i;
}

static uint32_t tag_of(struct maker *k, uint32_t file, uint64_t name)
{
    uint32_t i = table_get(&k->tags, file, name);
    return i != REPORT_NONE ? i : tag_new(k, file, name);
}

/* A tag is given to a task before it is submitted, and waits for others that are declared before or after. */
static void tag_seen(struct maker *k, uint32_t file, const uint64_t *w)
{
    uint32_t i = tag_of(k, file, w[1]);
    struct tag *t = &k->tag[i];
    if (otrace_kind(*w) == OTRACE_TAG_FREED) {
        tag_new(k, file, w[1]); /* what was known of the old one holds still */
    } else if (otrace_kind(*w) == OTRACE_TAG_DECLARED) {
        uint32_t other = tag_of(k, file, w[2]);
        t = &k->tag[i];
        *REPORT_PUSH(t->waits_for.at, t->waits_for.count, t->waits_for.room) = other;
    } else {
        t->task = table_get(&k->tasks, file, w[2]);
        if (t->task == REPORT_NONE || !isnan(k->m->tasks[t->task].ended)) t->task = task_new(k, file, w[2]);
    }
}

static void tag_edges(struct maker *k)
{
    for (size_t i = 0; i < k->ntag; i++)
        for (size_t j = 0; j < k->tag[i].waits_for.count; j++)
            add_edge(k, k->tag[i].task, k->tag[k->tag[i].waits_for.at[j]].task);
}

/* ---- submission ---- */

static void accesses(struct maker *k, uint32_t file, uint32_t task, const uint64_t *words, unsigned n)
{
    if (k->m->tasks[task].flags & OTRACE_NO_ORDER) return;
    for (unsigned i = 0; i < n; i++) use_datum(k, file, task, words[i]);
}

static bool is_new(const struct report_task *t)
{
    return isnan(t->submitted) && isnan(t->ready) && isnan(t->started) && isnan(t->ended);
}

static void submitted(struct maker *k, const struct report_event *e)
{
    const uint64_t *w = e->words;
    uint32_t i = table_get(&k->tasks, e->rank, w[1]);
    if (i == REPORT_NONE || !is_new(&k->m->tasks[i])) i = task_new(k, e->rank, w[1]);
    struct report_task *t = &k->m->tasks[i];
    t->submitted = e->ns;
    t->name = codelet_of(k, (uint32_t)w[2]);
    t->priority = (int16_t)(w[2] >> 32);
    t->flags = (uint8_t)(w[2] >> 48);
    accesses(k, e->rank, i, w + 3, otrace_words(*w) - 3);
}

static void declared(struct maker *k, const struct report_event *e)
{
    uint32_t before = table_get(&k->tasks, e->rank, e->words[2]),
             task = table_get(&k->tasks, e->rank, e->words[1]);
    if (before == REPORT_NONE) before = task_new(k, e->rank, e->words[2]);
    if (task == REPORT_NONE || !is_new(&k->m->tasks[task])) task = task_new(k, e->rank, e->words[1]);
    add_edge(k, task, before);
}

/* ---- first look: tasks, copies, the time it took ---- */

static void took(struct maker *k, const struct report_event *e)
{
    struct report_task *t = task_of(k, e->rank, otrace_low(e->words[1]));
    double ns = (double)e->words[2] * k->m->run->files[e->rank].ns_per_tick;
    t->ended = e->ns;
    t->started = e->ns - ns;
    t->worker = (int32_t)otrace_high(e->words[1]);
}

static void copy_seen(struct maker *k, const struct report_event *e)
{
    struct report_model *m = k->m;
    const uint64_t *w = e->words;
    uint64_t key = w[1] ^ (uint64_t)otrace_high(w[2]) << 48 ^ (uint64_t)otrace_high(w[3]) << 54;
    if (otrace_kind(*w) == OTRACE_COPY_STARTED) {
        table_set(&k->copies, e->rank, key, (uint32_t)m->ncopies);
        *REPORT_PUSH(m->copies, m->ncopies, m->copies_room) =
            (struct report_copy){ .started = e->ns,
                                  .ended = NAN,
                                  .handle = w[1],
                                  .bytes = otrace_low(w[2]),
                                  .file = e->rank,
                                  .from = (uint16_t)otrace_high(w[2]),
                                  .to = (uint16_t)otrace_high(w[3]),
                                  .cause = (uint8_t)w[3] };
        return;
    }
    uint32_t i = table_get(&k->copies, e->rank, key);
    if (i == REPORT_NONE || !isnan(m->copies[i].ended)) return;
    m->copies[i].ended = e->ns;
    m->copies[i].status = (int)((int64_t)(w[2] << 16) >> 16);
}

static void look(struct maker *k, const struct report_event *e)
{
    const uint64_t *w = e->words;
    struct report_task *t;
    switch (otrace_kind(*w)) {
    case OTRACE_SUBMITTED: submitted(k, e); break;
    case OTRACE_ACCESSES:
        t = task_of(k, e->rank, w[1]);
        accesses(k, e->rank, (uint32_t)(t - k->m->tasks), w + 2, otrace_words(*w) - 2);
        break;
    case OTRACE_READY: task_of(k, e->rank, w[1])->ready = e->ns; break;
    case OTRACE_TAKEN: task_of(k, e->rank, otrace_low(w[1]))->taken = e->ns; break;
    case OTRACE_STARTED:
        t = task_of(k, e->rank, otrace_low(w[1]));
        t->started = e->ns;
        t->worker = (int32_t)otrace_high(w[1]);
        break;
    case OTRACE_ENDED: took(k, e); break;
    case OTRACE_FAILED: task_of(k, e->rank, w[1])->failed = true; break;
    case OTRACE_DECLARED: declared(k, e); break;
    case OTRACE_TAG_BOUND:
    case OTRACE_TAG_DECLARED:
    case OTRACE_TAG_FREED: tag_seen(k, e->rank, w); break;
    case OTRACE_REGISTERED:
    case OTRACE_UNREGISTERED: forget_datum(k, e->rank, w[1]); break;
    case OTRACE_COPY_STARTED:
    case OTRACE_COPY_ENDED: copy_seen(k, e); break;
    case OTRACE_EVICTED: k->m->evictions++; break;
    default: break;
    }
}

static void measure(struct report_model *m)
{
    m->from = INFINITY;
    m->to = -INFINITY;
    for (size_t i = 0; i < m->ntasks; i++) {
        struct report_task *t = &m->tasks[i];
        struct report_codelet *c = &m->codelets[t->name];
        double first = isnan(t->submitted) ? t->started : t->submitted;
        double last = isnan(t->ended) ? t->ready : t->ended;
        if (first < m->from) m->from = first;
        if (last > m->to) m->to = last;
        m->internal += t->flags & OTRACE_INTERNAL;
        m->failed += t->failed;
        c->count++;
        m->unended += isnan(t->ended) && !(t->flags & OTRACE_NO_BODY && !isnan(t->ready));
        if (isnan(t->ended)) continue;
        double ns = t->ended - t->started;
        c->ended++;
        c->total += ns;
        c->square += ns * ns;
        if (ns < c->min) c->min = ns;
        if (ns > c->max) c->max = ns;
        m->area_ns += ns;
    }
    if (!(m->from <= m->to)) m->from = m->to = 0;
}

/* ---- second look: what workers did, in the time of the run ---- */

static enum report_cause cause_now(const struct rank_now *r)
{
    if (r->ready > 0) return REPORT_READY_ELSEWHERE;
    if (r->running > 0) return r->waiting > 0 ? REPORT_NO_READY : REPORT_NOTHING;
    return r->waiting > 0 ? REPORT_OUTSIDE : REPORT_NOTHING;
}

static double within(const struct report_model *m, double ns)
{
    return ns < m->from ? m->from : ns > m->to ? m->to : ns;
}

static void time_goes_on(struct maker *k, uint32_t file, double to)
{
    struct rank_now *r = &k->rank[file];
    double ns = within(k->m, to) - within(k->m, r->at);
    if (ns > 0) r->cause_ns[cause_now(r)] += ns;
    r->at = to;
}

static void idle_begins(struct maker *k, uint32_t lane, uint32_t file, double ns)
{
    struct lane_now *n = &k->now[lane];
    if (n->idle) return;
    n->idle = true;
    n->idle_since = ns;
    memcpy(n->cause_then, k->rank[file].cause_ns, sizeof n->cause_then);
}

static void idle_ends(struct maker *k, uint32_t lane, uint32_t file, double ns)
{
    struct report_model *m = k->m;
    struct lane_now *n = &k->now[lane];
    struct report_lane *l = &m->lanes[lane];
    double from = within(m, n->idle_since), to = within(m, ns);
    unsigned most = 0;
    if (!n->idle) return;
    n->idle = false;
    l->ns[REPORT_IDLE] += to - from;
    for (unsigned c = 0; c < REPORT_CAUSES; c++) {
        n->cause_then[c] = k->rank[file].cause_ns[c] - n->cause_then[c];
        l->cause_ns[c] += n->cause_then[c];
        if (n->cause_then[c] > n->cause_then[most]) most = c;
    }
    if (to > from)
        *REPORT_PUSH(m->idle, m->nidle, m->idle_room) =
            (struct report_span){ .from = from, .to = to, .lane = lane, .cause = (uint8_t)most };
}

static void asleep_ends(struct maker *k, uint32_t lane, double ns)
{
    struct lane_now *n = &k->now[lane];
    if (n->asleep) k->m->lanes[lane].asleep_ns += within(k->m, ns) - within(k->m, n->asleep_since);
    n->asleep = false;
}

/* A worker begins or ends with a task. */
static void work(struct maker *k, uint32_t lane, const struct report_event *e)
{
    struct rank_now *r = &k->rank[e->rank];
    struct report_lane *l = &k->m->lanes[lane];
    struct lane_now *n = &k->now[lane];
    double ns = within(k->m, e->ns), rate = k->m->run->files[e->rank].ns_per_tick;
    switch (otrace_kind(*e->words)) {
    case OTRACE_TAKEN: n->since = e->ns; break;
    case OTRACE_STARTED:
        if (n->since > 0) l->ns[REPORT_FETCHES] += ns - within(k->m, n->since);
        n->since = 0;
        n->runs = true;
        r->ready--;
        r->running++;
        break;
    case OTRACE_ENDED:
        if (n->runs) r->running--;
        n->runs = false;
        l->tasks++;
        l->ns[REPORT_RUNS] += (double)e->words[2] * rate;
        break;
    case OTRACE_GIVEN_UP:
        if (n->runs)
            r->running--;
        else
            r->ready--;
        n->runs = false;
        break;
    default: break;
    }
}

static uint32_t lane_of(struct maker *k, const struct report_event *e)
{
    const uint64_t *w = e->words;
    switch (otrace_kind(*w)) {
    case OTRACE_TAKEN:
    case OTRACE_STARTED:
    case OTRACE_ENDED:
    case OTRACE_GIVEN_UP:
    case OTRACE_PART: return table_get(&k->lanes, e->rank, otrace_high(w[1]));
    case OTRACE_IDLE:
    case OTRACE_BUSY:
    case OTRACE_SLEEPS:
    case OTRACE_WAKES: return table_get(&k->lanes, e->rank, w[1]);
    default: return REPORT_NONE;
    }
}

static void count_tasks(struct maker *k, const struct report_event *e)
{
    struct rank_now *r = &k->rank[e->rank];
    const uint64_t *w = e->words;
    uint32_t i;
    switch (otrace_kind(*w)) {
    case OTRACE_SUBMITTED: r->waiting++; break;
    case OTRACE_READY:
        i = table_get(&k->tasks, e->rank, w[1]);
        if (i != REPORT_NONE && !isnan(k->m->tasks[i].submitted)) r->waiting--;
        if (i != REPORT_NONE && !(k->m->tasks[i].flags & OTRACE_NO_BODY)) r->ready++;
        break;
    default: break;
    }
}

static void look_again(struct maker *k, const struct report_event *e)
{
    uint32_t lane = lane_of(k, e);
    time_goes_on(k, e->rank, e->ns);
    count_tasks(k, e);
    if (lane == REPORT_NONE) return;
    switch (otrace_kind(*e->words)) {
    case OTRACE_IDLE: idle_begins(k, lane, e->rank, e->ns); break;
    case OTRACE_BUSY: idle_ends(k, lane, e->rank, e->ns); break;
    case OTRACE_SLEEPS:
        k->now[lane].asleep = true;
        k->now[lane].asleep_since = e->ns;
        break;
    case OTRACE_WAKES: asleep_ends(k, lane, e->ns); break;
    case OTRACE_PART:
        k->m->lanes[lane].ns[REPORT_RUNS] +=
            (double)otrace_low(e->words[1]) * k->m->run->files[e->rank].ns_per_tick;
        break;
    default: work(k, lane, e); break;
    }
}

static void make_lanes(struct maker *k)
{
    struct report_model *m = k->m;
    const struct report_run *run = m->run;
    for (size_t f = 0; f < run->nfiles; f++) m->nlanes += run->files[f].nworkers;
    m->lanes = report_alloc(m->nlanes, sizeof *m->lanes);
    k->now = report_alloc(m->nlanes, sizeof *k->now);
    size_t n = 0;
    for (size_t f = 0; f < run->nfiles; f++)
        for (size_t i = 0; i < run->files[f].nworkers; i++, n++) {
            m->lanes[n].file = (uint32_t)f;
            m->lanes[n].worker = &run->files[f].workers[i];
            table_set(&k->lanes, (uint32_t)f, m->lanes[n].worker->id, (uint32_t)n);
        }
    for (size_t i = 0; i < m->ntasks; i++)
        if (m->tasks[i].worker >= 0)
            m->tasks[i].worker =
                (int32_t)table_get(&k->lanes, m->tasks[i].file, (uint64_t)m->tasks[i].worker);
}

/* What has not ended goes on until the run does; the rest of the time is the runtime's own. */
static void end_lanes(struct maker *k)
{
    struct report_model *m = k->m;
    for (size_t f = 0; f < m->run->nfiles; f++) time_goes_on(k, (uint32_t)f, m->to);
    for (uint32_t i = 0; i < m->nlanes; i++) {
        struct report_lane *l = &m->lanes[i];
        idle_ends(k, i, l->file, m->to);
        asleep_ends(k, i, m->to);
        double rest = m->to - m->from - l->ns[REPORT_RUNS] - l->ns[REPORT_FETCHES] - l->ns[REPORT_IDLE];
        l->ns[REPORT_OVERHEAD] = rest > 0 ? rest : 0;
    }
}

/* ---- the critical path ---- */

static int by_task(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

static void keep_edges(struct maker *k)
{
    struct report_model *m = k->m;
    if (k->nedges) qsort(k->edges, k->nedges, sizeof *k->edges, by_task);
    m->deps = report_alloc(k->nedges, sizeof *m->deps);
    for (size_t i = 0; i < k->nedges; i++) {
        const struct edge *e = &k->edges[i];
        if (i && e[-1].task == e->task && e[-1].before == e->before) continue;
        struct report_task *t = &m->tasks[e->task];
        if (!t->ndeps) t->first_dep = (uint32_t)m->ndeps;
        t->ndeps++;
        m->deps[m->ndeps++] = e->before;
    }
}

static double length_of(const struct report_task *t)
{
    return isnan(t->ended) ? 0 : t->ended - t->started;
}

/* The longest way to the end of each task, when those of all before it are known. */
static void reach(struct report_model *m, struct report_task *t)
{
    double longest = 0;
    for (uint32_t i = 0; i < t->ndeps; i++) {
        const struct report_task *p = &m->tasks[m->deps[t->first_dep + i]];
        if (p->path_ns <= longest) continue;
        longest = p->path_ns;
        t->before = m->deps[t->first_dep + i];
    }
    t->path_ns = longest + length_of(t);
}

/* Tasks in an order in which each comes after those that it waits for. */
static void find_paths(struct report_model *m)
{
    uint32_t *left = report_alloc(m->ntasks, sizeof *left),
             *first = report_alloc(m->ntasks + 1, sizeof *first);
    uint32_t *after = report_alloc(m->ndeps, sizeof *after), *queue = report_alloc(m->ntasks, sizeof *queue);
    size_t n = 0;
    for (size_t i = 0; i < m->ndeps; i++) first[m->deps[i] + 1]++;
    for (size_t i = 0; i < m->ntasks; i++) first[i + 1] += first[i];
    uint32_t *at = report_alloc(m->ntasks, sizeof *at);
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        left[i] = t->ndeps;
        if (!t->ndeps) queue[n++] = (uint32_t)i;
        for (uint32_t j = 0; j < t->ndeps; j++) {
            uint32_t p = m->deps[t->first_dep + j];
            after[first[p] + at[p]++] = (uint32_t)i;
        }
    }
    for (size_t q = 0; q < n; q++) {
        reach(m, &m->tasks[queue[q]]);
        for (uint32_t j = first[queue[q]]; j < first[queue[q] + 1]; j++)
            if (--left[after[j]] == 0) queue[n++] = after[j];
    }
    free(left), free(first), free(after), free(queue), free(at);
}

static void follow_critical(struct report_model *m)
{
    m->critical_last = REPORT_NONE;
    for (size_t i = 0; i < m->ntasks; i++)
        if (m->tasks[i].path_ns > m->critical_ns) {
            m->critical_ns = m->tasks[i].path_ns;
            m->critical_last = (uint32_t)i;
        }
    for (uint32_t i = m->critical_last; i != REPORT_NONE; i = m->tasks[i].before) {
        struct report_task *t = &m->tasks[i];
        t->critical = true;
        m->critical_count++;
        m->codelets[t->name].critical += length_of(t);
        m->codelets[t->name].critical_count++;
    }
}

void report_model(struct report_model *m, const struct report_run *run)
{
    struct maker k = { .m = m };
    *m = (struct report_model){ .run = run };
    codelet_of(&k, 0);
    for (size_t i = 0; i < run->nevents; i++) look(&k, &run->events[i]);
    measure(m);
    make_lanes(&k);
    k.rank = report_alloc(run->nfiles, sizeof *k.rank);
    for (size_t i = 0; i < run->nevents; i++) look_again(&k, &run->events[i]);
    end_lanes(&k);
    tag_edges(&k);
    keep_edges(&k);
    find_paths(m);
    follow_critical(m);
    free(k.edges), free(k.now), free(k.rank);
    for (size_t i = 0; i < k.ndatum; i++) free(k.datum[i].before.at), free(k.datum[i].latest.at);
    for (size_t i = 0; i < k.ntag; i++) free(k.tag[i].waits_for.at);
    free(k.datum), free(k.tag);
    free(k.tasks.slots), free(k.data.slots), free(k.tags.slots);
    free(k.codelets.slots), free(k.lanes.slots), free(k.copies.slots);
}
