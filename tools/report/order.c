/* SPDX-License-Identifier: BSD-3-Clause */
/* order.c: see order.h.
 * Threads: main. Owns: nothing. Not here: see order.h.
 *
 * Dependencies by data follow from the accesses in the order of submission, as the library grants them: a
 * group of tasks that may share (readers, commuting, contributing) waits for all of the group before it.
 * Beside tasks there are steps, which take no time: the switch between a datum and its pieces, either end of
 * a message, and, between two large groups, one that waits for all of the first and is waited for by all of
 * the second, so that there are as many dependencies as tasks, not their square. */
#include "tools/report/order.h"

#include <stdlib.h>

/* Indices of steps until order_finish, when it is known how many tasks there are. */
enum { MOST_DIRECT = 8 };
static const uint32_t STEP = UINT32_C(1) << 31;

struct list {
    uint32_t *at;
    size_t count, room;
};

struct order_datum {
    struct list before, latest; /* tasks: the group before the latest, and that */
    unsigned group;
};

struct order_tag {
    uint32_t task;         /* the one that it was given to; REPORT_NONE: none */
    struct list waits_for; /* tags */
};

struct order_edge {
    uint32_t task, before;
};

static uint32_t step_new(struct order *o)
{
    return STEP | (uint32_t)o->m->nsteps++;
}

static void add_edge(struct order *o, uint32_t task, uint32_t before)
{
    if (task == before || task == REPORT_NONE || before == REPORT_NONE) return;
    *TOOL_PUSH(o->edges, o->nedges, o->edges_room) = (struct order_edge){ task, before };
}

/* ---- data ---- */

/* The latest group has ended: another one begins. */
static void next_group(struct order *o, struct order_datum *d, unsigned group)
{
    struct list old = d->before;
    d->before = d->latest;
    d->latest = old;
    d->latest.count = 0;
    d->group = group;
    if (d->before.count <= MOST_DIRECT) return;
    uint32_t all = step_new(o);
    for (size_t i = 0; i < d->before.count; i++) add_edge(o, all, d->before.at[i]);
    d->before.at[0] = all;
    d->before.count = 1;
}

static struct order_datum *datum_of(struct order *o, uint32_t file, uint64_t handle)
{
    uint32_t i = report_table_get(&o->data, file, handle);
    if (i == REPORT_NONE) {
        i = (uint32_t)o->ndatum;
        *TOOL_PUSH(o->datum, o->ndatum, o->datum_room) = (struct order_datum){ .group = 0 };
        report_table_set(&o->data, file, handle, i);
    }
    return &o->datum[i];
}

void order_access(struct order *o, uint32_t file, uint32_t task, uint64_t word)
{
    unsigned group = word & OTRACE_GROUP;
    if (word & OTRACE_LATE || !group) return;
    struct order_datum *d = datum_of(o, file, word & ~(uint64_t)15);
    if (d->group != group || group == OTRACE_WRITE) next_group(o, d, group);
    for (size_t j = 0; j < d->before.count; j++) add_edge(o, task, d->before.at[j]);
    *TOOL_PUSH(d->latest.at, d->latest.count, d->latest.room) = task;
}

void order_forget(struct order *o, uint32_t file, uint64_t handle)
{
    uint32_t i = report_table_get(&o->data, file, handle);
    if (i != REPORT_NONE) o->datum[i].before.count = o->datum[i].latest.count = o->datum[i].group = 0;
}

/* ---- steps: the first access of one makes it anew, as addresses come again ---- */

void order_joined(struct order *o, uint32_t file, const uint64_t *w)
{
    uint64_t who = otrace_low(w[1]);
    uint32_t step = report_table_get(&o->steps, file, who);
    if (otrace_high(w[1]) || step == REPORT_NONE) {
        step = step_new(o);
        report_table_set(&o->steps, file, who, step);
    }
    order_access(o, file, step, w[2]);
}

void order_message_end(struct order *o, uint32_t file, const uint64_t *w)
{
    uint32_t step = report_table_get(&o->steps, file, otrace_low(w[1]));
    if (step != REPORT_NONE) report_table_set(&o->ends, 0, (uintptr_t)w, step);
}

/* What a rank between sends on is what it received. */
void order_passed(struct order *o, uint32_t file, const uint64_t *w)
{
    if (!w[3]) return;
    uint32_t step = report_table_get(&o->steps, file, otrace_low(w[3]));
    report_table_set(&o->steps, file, otrace_low(w[1]), step != REPORT_NONE ? step : step_new(o));
}

static void message_edges(struct order *o)
{
    const struct report_run *run = o->m->run;
    for (size_t i = 0; i < run->nmessages; i++) {
        const struct report_message *g = &run->messages[i];
        add_edge(o, report_table_get(&o->ends, 0, (uintptr_t)g->received_words),
                 report_table_get(&o->ends, 0, (uintptr_t)g->sent_words));
    }
}

/* ---- tags and declarations ---- */

void order_declared(struct order *o, uint32_t task, uint32_t before)
{
    add_edge(o, task, before);
}

static uint32_t tag_new(struct order *o, uint32_t file, uint64_t name)
{
    uint32_t i = (uint32_t)o->ntag;
    *TOOL_PUSH(o->tag, o->ntag, o->tag_room) = (struct order_tag){ .task = REPORT_NONE };
    report_table_set(&o->tags, file, name, i);
    return i;
}

static uint32_t tag_of(struct order *o, uint32_t file, uint64_t name)
{
    uint32_t i = report_table_get(&o->tags, file, name);
    return i != REPORT_NONE ? i : tag_new(o, file, name);
}

/* A tag is given to a task before it is submitted, and waits for others that are declared before or after. */
void order_tag(struct order *o, uint32_t file, const uint64_t *w)
{
    uint32_t i = tag_of(o, file, w[1]);
    if (otrace_kind(*w) == OTRACE_TAG_FREED) {
        tag_new(o, file, w[1]); /* what was known of the old one holds still */
        return;
    }
    uint32_t other = tag_of(o, file, w[2]);
    struct order_tag *t = &o->tag[i];
    *TOOL_PUSH(t->waits_for.at, t->waits_for.count, t->waits_for.room) = other;
}

void order_tag_bound(struct order *o, uint32_t file, uint64_t tag, uint32_t task)
{
    uint32_t i = tag_of(o, file, tag); /* may move o->tag */
    o->tag[i].task = task;
}

static void tag_edges(struct order *o)
{
    for (size_t i = 0; i < o->ntag; i++)
        for (size_t j = 0; j < o->tag[i].waits_for.count; j++)
            add_edge(o, o->tag[i].task, o->tag[o->tag[i].waits_for.at[j]].task);
}

/* ---- the end ---- */

static int by_task(const void *a, const void *b)
{
    const struct order_edge *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

/* Steps come after all tasks. */
static void append_steps(struct order *o)
{
    struct report_model *m = o->m;
    struct report_task *all = tool_alloc(m->ntasks + m->nsteps, sizeof *all);
    for (size_t i = 0; i < m->ntasks; i++) all[i] = m->tasks[i];
    for (size_t i = 0; i < m->nsteps; i++) report_task_clear(&all[m->ntasks + i]);
    free(m->tasks);
    m->tasks = all;
    m->tasks_room = m->ntasks + m->nsteps;
}

static uint32_t final(const struct report_model *m, uint32_t node)
{
    return node & STEP ? (uint32_t)m->ntasks + (node & ~STEP) : node;
}

static void keep_edges(struct order *o)
{
    struct report_model *m = o->m;
    for (size_t i = 0; i < o->nedges; i++) {
        o->edges[i].task = final(m, o->edges[i].task);
        o->edges[i].before = final(m, o->edges[i].before);
    }
    if (o->nedges) qsort(o->edges, o->nedges, sizeof *o->edges, by_task);
    m->deps = tool_alloc(o->nedges, sizeof *m->deps);
    for (size_t i = 0; i < o->nedges; i++) {
        const struct order_edge *e = &o->edges[i];
        if (i && e[-1].task == e->task && e[-1].before == e->before) continue;
        struct report_task *t = &m->tasks[e->task];
        if (!t->ndeps) t->first_dep = (uint32_t)m->ndeps;
        t->ndeps++;
        m->deps[m->ndeps++] = e->before;
    }
}

void order_finish(struct order *o)
{
    tag_edges(o);
    message_edges(o);
    append_steps(o);
    keep_edges(o);
    for (size_t i = 0; i < o->ndatum; i++) free(o->datum[i].before.at), free(o->datum[i].latest.at);
    for (size_t i = 0; i < o->ntag; i++) free(o->tag[i].waits_for.at);
    free(o->datum), free(o->tag), free(o->edges);
    free(o->data.slots), free(o->tags.slots), free(o->steps.slots), free(o->ends.slots);
}

/* ---- past steps ---- */

void report_before(struct report_walk *walk, const struct report_model *m, uint32_t task, size_t most)
{
    if (!walk->seen) walk->seen = tool_alloc(m->ntasks + m->nsteps, sizeof *walk->seen);
    walk->number++;
    walk->count = walk->depth = 0;
    *TOOL_PUSH(walk->stack, walk->depth, walk->stack_room) = task;
    while (walk->depth > 0) {
        const struct report_task *t = &m->tasks[walk->stack[--walk->depth]];
        for (uint32_t d = 0; d < t->ndeps && walk->count < most; d++) {
            uint32_t before = m->deps[t->first_dep + d];
            if (walk->seen[before] == walk->number) continue;
            walk->seen[before] = walk->number;
            if (before < m->ntasks)
                *TOOL_PUSH(walk->found, walk->count, walk->found_room) = before;
            else
                *TOOL_PUSH(walk->stack, walk->depth, walk->stack_room) = before;
        }
    }
}

void report_walk_end(struct report_walk *walk)
{
    free(walk->found), free(walk->stack), free(walk->seen);
}
