/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c: from events to what happened: tasks and what they waited for, what workers did, and why not.
 * Threads: main. Owns: nothing. Not here: the files (read.c), dependencies (order.c), what is shown (text.c
 * and others).
 *
 * A worker that is idle is so because, at that moment and on its rank: nothing is submitted that has not
 * ended; or a task is ready, but not here; or tasks run that others wait for; or nothing runs, so that what
 * all wait for comes from outside (a message, data that the program has). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/order.h"
#include "tools/report/table.h"

/* ---- what the model is made with ---- */

struct lane_now {
    double since, idle_since, idle_until, asleep_since;
    double cause_then[REPORT_CAUSES];
    uint32_t task;
    bool idle, asleep, runs;
};

struct maker {
    struct report_model *m;
    struct report_table tasks, codelets, lanes, copies, data;
    uint64_t *bytes; /* of data, by what is kept in that table */
    size_t ndata, data_room;
    struct order order;
    struct lane_now *now; /* of each lane */
    struct rank_now {
        double cause_ns[REPORT_CAUSES], at;
        long waiting, ready, running;
    } * rank;
};

static uint32_t codelet_of(struct maker *k, uint32_t hash)
{
    struct report_model *m = k->m;
    uint32_t i = report_table_get(&k->codelets, 0, hash);
    if (i != REPORT_NONE) return i;
    i = (uint32_t)m->ncodelets;
    *TOOL_PUSH(m->codelets, m->ncodelets, m->codelets_room) =
        (struct report_codelet){ .hash = hash, .name = report_name_of(m->run, hash), .min = INFINITY };
    report_table_set(&k->codelets, 0, hash, i);
    return i;
}

void report_task_clear(struct report_task *t)
{
    *t = (struct report_task){ .submitted = NAN,
                               .ready = NAN,
                               .taken = NAN,
                               .started = NAN,
                               .ended = NAN,
                               .predicted_ns = NAN,
                               .worker = -1,
                               .before = REPORT_NONE };
}

static uint32_t task_new(struct maker *k, uint32_t file, uint64_t job)
{
    struct report_model *m = k->m;
    uint32_t i = (uint32_t)m->ntasks;
    struct report_task *t = TOOL_PUSH(m->tasks, m->ntasks, m->tasks_room);
    report_task_clear(t);
    t->job = job;
    t->file = file;
    report_table_set(&k->tasks, file, job, i);
    return i;
}

/* The task under that number, the latest; made where its submission was lost, or came before the recording.
 */
static struct report_task *task_of(struct maker *k, uint32_t file, uint64_t job)
{
    uint32_t i = report_table_get(&k->tasks, file, job);
    if (i == REPORT_NONE) {
        i = task_new(k, file, job);
        k->m->tasks[i].name = codelet_of(k, 0);
    }
    return &k->m->tasks[i];
}

/* ---- submission ---- */

static void registered(struct maker *k, uint32_t file, const uint64_t *w)
{
    report_table_set(&k->data, file, w[1], (uint32_t)k->ndata);
    *TOOL_PUSH(k->bytes, k->ndata, k->data_room) = otrace_low(w[2]);
}

static void add_sizes(struct maker *k, uint32_t file, struct report_task *t, const uint64_t *words,
                      unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t at = report_table_get(&k->data, file, words[i] & ~(uint64_t)15);
        uint64_t bytes = at == REPORT_NONE ? 0 : k->bytes[at];
        t->bytes += bytes;
        t->footprint = (uint32_t)(((t->footprint ^ bytes) * UINT64_C(0x9e3779b97f4a7c15) + 1) >> 32);
    }
}

static void accesses(struct maker *k, uint32_t file, uint32_t task, const uint64_t *words, unsigned n)
{
    add_sizes(k, file, &k->m->tasks[task], words, n);
    if (k->m->tasks[task].flags & OTRACE_NO_ORDER) return;
    for (unsigned i = 0; i < n; i++) order_access(&k->order, file, task, words[i]);
}

static bool is_new(const struct report_task *t)
{
    return isnan(t->submitted) && isnan(t->ready) && isnan(t->started) && isnan(t->ended);
}

static void submitted(struct maker *k, const struct report_event *e)
{
    const uint64_t *w = e->words;
    uint32_t i = report_table_get(&k->tasks, e->rank, w[1]);
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
    uint32_t before = report_table_get(&k->tasks, e->rank, e->words[2]),
             task = report_table_get(&k->tasks, e->rank, e->words[1]);
    if (before == REPORT_NONE) before = task_new(k, e->rank, e->words[2]);
    if (task == REPORT_NONE || !is_new(&k->m->tasks[task])) task = task_new(k, e->rank, e->words[1]);
    order_declared(&k->order, task, before);
}

/* A tag is given to a task before that is submitted. */
static void tag_bound(struct maker *k, uint32_t file, const uint64_t *w)
{
    uint32_t task = report_table_get(&k->tasks, file, w[2]);
    if (task == REPORT_NONE || !isnan(k->m->tasks[task].ended)) task = task_new(k, file, w[2]);
    order_tag_bound(&k->order, file, w[1], task);
}

/* ---- first look: tasks, copies, the time it took ---- */

static void started(struct report_task *t, const struct report_event *e)
{
    unsigned predicted = otrace_kind(*e->words) == OTRACE_RAN ? 3 : 2;
    t->started = e->ns;
    t->worker = (int32_t)otrace_high(e->words[1]);
    bool has = otrace_words(*e->words) > predicted && e->words[predicted] > 0;
    t->predicted_ns = has ? (double)e->words[predicted] : NAN;
}

static void took(struct maker *k, const struct report_event *e)
{
    struct report_task *t = task_of(k, e->rank, otrace_low(e->words[1]));
    double ns = (double)e->words[2] * k->m->run->files[e->rank].ns_per_tick;
    unsigned model = otrace_kind(*e->words) == OTRACE_RAN ? 4 : 3;
    if (otrace_words(*e->words) > model) {
        t->footprint = (uint32_t)e->words[model];
        t->model = (uint32_t)(e->words[model] >> 32);
    }
    t->ended = e->ns;
    t->started = e->ns - ns;
    t->worker = (int32_t)otrace_high(e->words[1]);
}

static void copy_seen(struct maker *k, const struct report_event *e)
{
    struct report_model *m = k->m;
    const uint64_t *w = e->words;
    uint64_t key = w[1] ^ (uint64_t)otrace_high(w[2]) << 48 ^ (uint64_t)otrace_high(w[3]) << 54;
    if (e->kind == OTRACE_COPY_STARTED) {
        report_table_set(&k->copies, e->rank, key, (uint32_t)m->ncopies);
        *TOOL_PUSH(m->copies, m->ncopies, m->copies_room) =
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
    uint32_t i = report_table_get(&k->copies, e->rank, key);
    if (i == REPORT_NONE || !isnan(m->copies[i].ended)) return;
    m->copies[i].ended = e->ns;
    m->copies[i].status = (int)((int64_t)(w[2] << 16) >> 16);
}

static void iteration_ends(struct report_model *m, const struct report_event *e)
{
    for (size_t i = m->niterations; i > 0; i--) {
        struct report_iteration *n = &m->iterations[i - 1];
        if (n->file != e->rank || n->ring != e->ring || n->depth != e->words[2]) continue;
        if (isnan(n->to)) n->to = e->ns;
        return;
    }
}

/* What is neither of tasks nor of their data. */
static void rest_seen(struct report_model *m, const struct report_event *e)
{
    const uint64_t *w = e->words;
    switch (e->kind) {
    case OTRACE_MEMORY:
        *TOOL_PUSH(m->memory, m->nmemory, m->memory_room) =
            (struct report_memory){ e->ns, otrace_low(w[1]), w[2], e->rank, (uint16_t)otrace_high(w[1]) };
        break;
    case OTRACE_USER_NUMBER:
        *TOOL_PUSH(m->marks, m->nmarks, m->marks_room) = (struct report_mark){ e->ns, e->rank, w[1], NULL };
        break;
    case OTRACE_USER_TEXT:
        *TOOL_PUSH(m->marks, m->nmarks, m->marks_room) =
            (struct report_mark){ e->ns, e->rank, 0, report_name_of(m->run, (uint32_t)w[1]) };
        break;
    case OTRACE_ITERATION:
        *TOOL_PUSH(m->iterations, m->niterations, m->iterations_room) =
            (struct report_iteration){ e->ns, NAN, e->rank, e->ring, (uint32_t)w[2], w[1] };
        break;
    case OTRACE_ITERATION_END: iteration_ends(m, e); break;
    case OTRACE_BOUND:
        if ((double)w[1] > m->bound_ns) m->bound_ns = (double)w[1];
        break;
    default: break;
    }
}

static void look(struct maker *k, const struct report_event *e)
{
    const uint64_t *w = e->words;
    struct report_task *t;
    switch (e->kind) {
    case OTRACE_SUBMITTED: submitted(k, e); break;
    case OTRACE_ACCESSES:
        t = task_of(k, e->rank, w[1]);
        accesses(k, e->rank, (uint32_t)(t - k->m->tasks), w + 2, otrace_words(*w) - 2);
        break;
    case OTRACE_READY: task_of(k, e->rank, w[1])->ready = e->ns; break;
    case OTRACE_TAKEN: task_of(k, e->rank, otrace_low(w[1]))->taken = e->ns; break;
    case OTRACE_RUNNING:
    case OTRACE_STARTED: started(task_of(k, e->rank, otrace_low(w[1])), e); break;
    case OTRACE_ENDED: took(k, e); break;
    case OTRACE_FAILED: task_of(k, e->rank, w[1])->failed = true; break;
    case OTRACE_DECLARED: declared(k, e); break;
    case OTRACE_TAG_BOUND: tag_bound(k, e->rank, w); break;
    case OTRACE_TAG_DECLARED:
    case OTRACE_TAG_FREED: order_tag(&k->order, e->rank, w); break;
    case OTRACE_REGISTERED: registered(k, e->rank, w); /* fall through */
    case OTRACE_UNREGISTERED: order_forget(&k->order, e->rank, w[1]); break;
    case OTRACE_JOINED: order_joined(&k->order, e->rank, w); break;
    case OTRACE_PASSED: order_passed(&k->order, e->rank, w); break;
    case OTRACE_SENT:
    case OTRACE_RECEIVED: order_message_end(&k->order, e->rank, w); break;
    case OTRACE_COPY_STARTED:
    case OTRACE_COPY_ENDED: copy_seen(k, e); break;
    case OTRACE_EVICTED: k->m->evictions++; break;
    case OTRACE_WEIGHED: task_of(k, e->rank, otrace_low(w[1]))->weighed = w; break;
    default: rest_seen(k->m, e); break;
    }
}

static void draw_bars(struct report_model *m)
{
    for (size_t i = 0; i < m->ntasks; i++) {
        const struct report_task *t = &m->tasks[i];
        struct report_codelet *c = &m->codelets[t->name];
        if (isnan(t->ended)) continue;
        double ns = t->ended - t->started, least = c->min > 1 ? c->min : 1;
        double at = c->max > least && ns > least ? log(ns / least) / log(c->max / least) * REPORT_BARS : 0;
        c->histogram[at < REPORT_BARS ? (unsigned)at : REPORT_BARS - 1]++;
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
        if (isnan(t->predicted_ns)) continue;
        c->predicted++;
        c->predicted_ns += t->predicted_ns;
        c->measured_ns += ns;
        c->error_ns += fabs(t->predicted_ns - ns);
    }
    draw_bars(m);
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
    n->idle_until = to;
    l->ns[REPORT_IDLE] += to - from;
    for (unsigned c = 0; c < REPORT_CAUSES; c++) {
        n->cause_then[c] = k->rank[file].cause_ns[c] - n->cause_then[c];
        l->cause_ns[c] += n->cause_then[c];
        if (n->cause_then[c] > n->cause_then[most]) most = c;
    }
    if (to > from)
        *TOOL_PUSH(m->idle, m->nidle, m->idle_room) =
            (struct report_span){ .from = from, .to = to, .lane = lane, .cause = (uint8_t)most };
}

static void asleep_ends(struct maker *k, uint32_t lane, double ns)
{
    struct lane_now *n = &k->now[lane];
    if (n->asleep) k->m->lanes[lane].asleep_ns += within(k->m, ns) - within(k->m, n->asleep_since);
    n->asleep = false;
}

static bool still_runs(struct maker *k, const struct report_event *e)
{
    uint32_t i = report_table_get(&k->tasks, e->rank, otrace_low(e->words[1]));
    return i != REPORT_NONE && isnan(k->m->tasks[i].ended) && k->m->tasks[i].started == e->ns;
}

/* A worker begins or ends with a task. */
static void work(struct maker *k, uint32_t lane, const struct report_event *e)
{
    struct rank_now *r = &k->rank[e->rank];
    struct report_lane *l = &k->m->lanes[lane];
    struct lane_now *n = &k->now[lane];
    double ns = within(k->m, e->ns), rate = k->m->run->files[e->rank].ns_per_tick;
    switch (e->kind) {
    case OTRACE_TAKEN: n->since = e->ns; break;
    case OTRACE_RUNNING:
        if (!still_runs(k, e)) break; /* its end says the same */
        /* fall through */
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

/* A worker has had its part of a parallel task, from when the task began or the worker had come to it. */
static void part(struct maker *k, uint32_t lane, const struct report_event *e)
{
    struct report_model *m = k->m;
    const uint64_t *w = e->words;
    double ns = (double)otrace_low(w[1]) * m->run->files[e->rank].ns_per_tick;
    double to = within(m, e->ns), from = fmax(within(m, e->ns - ns), k->now[lane].idle_until);
    uint32_t task = otrace_words(*w) > 2 ? report_table_get(&k->tasks, e->rank, w[2]) : REPORT_NONE;
    if (from >= to) return;
    m->lanes[lane].ns[REPORT_RUNS] += to - from;
    *TOOL_PUSH(m->parts, m->nparts, m->parts_room) =
        (struct report_part){ .from = from,
                              .to = to,
                              .lane = lane,
                              .name = task == REPORT_NONE ? 0 : m->tasks[task].name,
                              .task = task };
}

static uint32_t lane_of(struct maker *k, const struct report_event *e)
{
    const uint64_t *w = e->words;
    switch (e->kind) {
    case OTRACE_TAKEN:
    case OTRACE_STARTED:
    case OTRACE_RUNNING:
    case OTRACE_ENDED:
    case OTRACE_GIVEN_UP:
    case OTRACE_PART: return report_table_get(&k->lanes, e->rank, otrace_high(w[1]));
    case OTRACE_IDLE:
    case OTRACE_BUSY:
    case OTRACE_SLEEPS:
    case OTRACE_WAKES: return report_table_get(&k->lanes, e->rank, w[1]);
    default: return REPORT_NONE;
    }
}

static void count_tasks(struct maker *k, const struct report_event *e)
{
    struct rank_now *r = &k->rank[e->rank];
    const uint64_t *w = e->words;
    uint32_t i;
    switch (e->kind) {
    case OTRACE_SUBMITTED: r->waiting++; break;
    case OTRACE_READY:
        i = report_table_get(&k->tasks, e->rank, w[1]);
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
    switch (e->kind) {
    case OTRACE_IDLE: idle_begins(k, lane, e->rank, e->ns); break;
    case OTRACE_BUSY: idle_ends(k, lane, e->rank, e->ns); break;
    case OTRACE_SLEEPS:
        k->now[lane].asleep = true;
        k->now[lane].asleep_since = e->ns;
        break;
    case OTRACE_WAKES: asleep_ends(k, lane, e->ns); break;
    case OTRACE_PART: part(k, lane, e); break;
    default: work(k, lane, e); break;
    }
}

static void make_lanes(struct maker *k)
{
    struct report_model *m = k->m;
    const struct report_run *run = m->run;
    for (size_t f = 0; f < run->nfiles; f++) m->nlanes += run->files[f].nworkers;
    m->lanes = tool_alloc(m->nlanes, sizeof *m->lanes);
    k->now = tool_alloc(m->nlanes, sizeof *k->now);
    size_t n = 0;
    for (size_t f = 0; f < run->nfiles; f++)
        for (size_t i = 0; i < run->files[f].nworkers; i++, n++) {
            m->lanes[n].file = (uint32_t)f;
            m->lanes[n].worker = &run->files[f].workers[i];
            report_table_set(&k->lanes, (uint32_t)f, m->lanes[n].worker->id, (uint32_t)n);
        }
    for (size_t i = 0; i < m->ntasks; i++)
        if (m->tasks[i].worker >= 0)
            m->tasks[i].worker =
                (int32_t)report_table_get(&k->lanes, m->tasks[i].file, (uint64_t)m->tasks[i].worker);
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
    size_t nodes = m->ntasks + m->nsteps;
    uint32_t *left = tool_alloc(nodes, sizeof *left), *first = tool_alloc(nodes + 1, sizeof *first);
    uint32_t *after = tool_alloc(m->ndeps, sizeof *after), *queue = tool_alloc(nodes, sizeof *queue);
    size_t n = 0;
    for (size_t i = 0; i < m->ndeps; i++) first[m->deps[i] + 1]++;
    for (size_t i = 0; i < nodes; i++) first[i + 1] += first[i];
    uint32_t *at = tool_alloc(nodes, sizeof *at);
    for (size_t i = 0; i < nodes; i++) {
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
    uint32_t file = REPORT_NONE;
    for (uint32_t i = m->critical_last; i != REPORT_NONE; i = m->tasks[i].before) {
        struct report_task *t = &m->tasks[i];
        t->critical = true;
        if (i >= m->ntasks) continue; /* a step */
        m->critical_count++;
        m->critical_messages += file != REPORT_NONE && file != t->file;
        file = t->file;
        m->codelets[t->name].critical += length_of(t);
        m->codelets[t->name].critical_count++;
        if (t->started > t->ready) m->critical_waited_ns += t->started - t->ready;
    }
}

const char *report_node_name(const struct report_model *m, uint32_t file, unsigned node)
{
    static char text[120];
    const struct report_file *f = &m->run->files[file];
    char number[32];
    snprintf(number, sizeof number, "memory node %u", node);
    const char *name = node < f->nnodes && f->nodes[node] && f->nodes[node][0] ? f->nodes[node] : number;
    if (m->run->nfiles > 1)
        snprintf(text, sizeof text, "%d: %s", f->rank, name);
    else
        snprintf(text, sizeof text, "%s", name);
    return text;
}

void report_model(struct report_model *m, const struct report_run *run)
{
    struct maker k = { .m = m, .order = { .m = m } };
    *m = (struct report_model){ .run = run };
    codelet_of(&k, 0);
    for (size_t i = 0; i < run->nevents; i++) look(&k, &run->events[i]);
    measure(m);
    make_lanes(&k);
    k.rank = tool_alloc(run->nfiles, sizeof *k.rank);
    for (size_t i = 0; i < run->nevents; i++) look_again(&k, &run->events[i]);
    end_lanes(&k);
    order_finish(&k.order);
    find_paths(m);
    follow_critical(m);
    report_links(m);
    report_advise(m);
    free(k.now), free(k.rank);
    free(k.tasks.slots), free(k.codelets.slots), free(k.lanes.slots), free(k.copies.slots);
    free(k.data.slots), free(k.bytes);
}
