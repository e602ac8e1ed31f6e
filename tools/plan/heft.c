/* SPDX-License-Identifier: BSD-3-Clause */
/* heft.c: see heft.h. Threads: see heft.h. Owns: see heft.h. Not here: see heft.h.
 *
 * A task's length is the model's for its footprint, else the mean of the recorded tasks of its codelet and
 * footprint on that type of worker, else of its codelet there. A codelet that was measured on some type runs
 * on measured ones only. Tasks go by falling upward rank to the worker on which they end first, into a gap if
 * there is one. Data travel once to each rank, from where they were written. */
#include "tools/plan/heft.h"

#include <errno.h>
#include <math.h>
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/place/plangraph.h"

/* The mean length of a codelet's tasks of a footprint on a type. */
struct mean {
    int codelet, type, any; /* any: over all footprints */
    uint32_t footprint;
    double sum;
    long count;
};

struct slot {
    double start, end;
};

struct heft {
    struct orr_plan *plan;
    const struct orr_machines *machines;
    const struct heft_setup *setup;
    struct mean *mean;
    size_t means;
    char *types;    /* by codelet * STARPU_NARCH + type: measured there */
    double *length; /* by task * STARPU_NARCH + type; negative: not there */
    struct orr_plan_graph graph;
    double *upward, *ready; /* by node */
    size_t *order;          /* tasks by falling upward rank */
    double *there;          /* by datum * ranks + rank: when its value is there; infinite: it is not */
    int *holder;            /* by datum: who wrote it last */
    struct slot **slot;     /* by worker: sorted */
    size_t *slots, *room;
    int present[STARPU_NARCH];
};

/* ---- lengths ---- */

static int by_kind(const void *a, const void *b)
{
    const struct mean *x = a, *y = b;
    if (x->codelet != y->codelet) return x->codelet > y->codelet ? 1 : -1;
    if (x->type != y->type) return x->type > y->type ? 1 : -1;
    if (x->any != y->any) return x->any > y->any ? 1 : -1;
    return (x->footprint > y->footprint) - (x->footprint < y->footprint);
}

static int measure(struct heft *h)
{
    const struct orr_plan *p = h->plan;
    size_t kept = 0;
    h->mean = malloc((2 * p->tasks + 1) * sizeof *h->mean);
    h->types = calloc(p->codelets * STARPU_NARCH + 1, 1);
    if (!h->mean || !h->types) return -ENOMEM;
    for (size_t i = 0; i < p->tasks; i++) {
        const struct orr_plan_task *t = &p->task[i];
        int number = t->rank >= 0 ? orr_machines_number(&p->machines, t->rank, t->worker) : -1;
        if (number < 0 || t->length_us <= 0) continue;
        int type = p->machines.worker[number].type;
        h->types[t->codelet * STARPU_NARCH + type] = 1;
        h->mean[h->means++] = (struct mean){ t->codelet, type, 0, t->footprint, t->length_us, 1 };
        h->mean[h->means++] = (struct mean){ t->codelet, type, 1, 0, t->length_us, 1 };
    }
    if (h->means) qsort(h->mean, h->means, sizeof *h->mean, by_kind);
    for (size_t i = 0; i < h->means; i++) {
        if (kept && !by_kind(&h->mean[kept - 1], &h->mean[i])) {
            h->mean[kept - 1].sum += h->mean[i].sum;
            h->mean[kept - 1].count++;
        } else {
            h->mean[kept++] = h->mean[i];
        }
    }
    h->means = kept;
    return 0;
}

/* Negative: nothing is known. */
static double mean_of(const struct heft *h, int codelet, int type, uint32_t footprint, int any)
{
    const struct mean key = { codelet, type, any, any ? 0 : footprint, 0, 0 };
    const struct mean *m = h->means ? bsearch(&key, h->mean, h->means, sizeof key, by_kind) : NULL;
    return m ? m->sum / (double)m->count : -1;
}

static double modelled(struct starpu_perfmodel *model, int type, uint32_t footprint)
{
    struct starpu_perfmodel_device device = { .type = (enum starpu_worker_archtype)type,
                                              .devid = 0,
                                              .ncores = 1 };
    struct starpu_perfmodel_arch arch = { 1, &device };
    double us = starpu_perfmodel_history_based_expected_perf(model, &arch, footprint);
    return isfinite(us) && us > 0 ? us : -1;
}

static void fill_lengths(struct heft *h, size_t i, struct starpu_perfmodel *model)
{
    const struct orr_plan_task *t = &h->plan->task[i];
    int known = 0;
    for (int type = 0; type < STARPU_NARCH; type++) {
        double *us = &h->length[i * STARPU_NARCH + (size_t)type];
        *us = h->present[type] && model ? modelled(model, type, t->footprint) : -1;
        if (*us < 0) *us = mean_of(h, t->codelet, type, t->footprint, 0);
        if (*us < 0) *us = mean_of(h, t->codelet, type, 0, 1);
        known |= *us >= 0;
    }
    for (int type = 0; type < STARPU_NARCH && !known; type++) h->length[i * STARPU_NARCH + (size_t)type] = 0;
}

static int find_lengths(struct heft *h)
{
    const struct orr_plan *p = h->plan;
    struct starpu_perfmodel *models = calloc(p->codelets + 1, sizeof *models);
    char *loaded = calloc(p->codelets + 1, 1);
    h->length = malloc((p->tasks * STARPU_NARCH + 1) * sizeof *h->length);
    int good = models && loaded && h->length;
    for (size_t c = 0; c < p->codelets && good && h->setup->store; c++)
        loaded[c] =
            *p->codelet[c].model && starpu_perfmodel_load_symbol(p->codelet[c].model, &models[c]) == 0;
    for (size_t i = 0; i < p->tasks && good; i++) {
        int c = p->task[i].codelet;
        fill_lengths(h, i, loaded[c] ? &models[c] : NULL);
    }
    for (size_t c = 0; c < p->codelets && good; c++)
        if (loaded[c]) starpu_perfmodel_unload_model(&models[c]);
    free(models);
    free(loaded);
    return good ? 0 : -ENOMEM;
}

/* ---- upward ranks ---- */

static double transfer_us(const struct heft *h, const struct orr_plan_datum *d)
{
    return h->setup->latency_us + (d ? (double)d->bytes / h->setup->bytes_per_us : 0);
}

/* The mean over the workers that there are, and what its results cost if they travel. */
static double weight(const struct heft *h, size_t i)
{
    const struct orr_plan_task *t = &h->plan->task[i];
    double sum = 0, travels = 0;
    int count = 0;
    for (int type = 0; type < STARPU_NARCH; type++) {
        double us = h->length[i * STARPU_NARCH + (size_t)type];
        if (us < 0) continue;
        sum += us * h->present[type];
        count += h->present[type];
    }
    for (int k = 0; k < t->accesses; k++) {
        const struct orr_plan_access *a = &h->plan->access[t->access + (size_t)k];
        if (a->mode & STARPU_W && a->tag != ORR_PLAN_NO_TAG)
            travels = fmax(travels, transfer_us(h, orr_plan_datum_of(h->plan, a->tag)));
    }
    int ranks = h->machines->ranks;
    return (count ? sum / count : 0) + travels * (ranks - 1) / ranks;
}

static const double *sorted_by; /* for qsort: main only */

static int by_upward(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    if (sorted_by[i] != sorted_by[k]) return sorted_by[i] < sorted_by[k] ? 1 : -1;
    return (i > k) - (i < k);
}

static int rank_tasks(struct heft *h)
{
    const struct orr_plan_graph *g = &h->graph;
    size_t *queue = malloc((g->nodes + 1) * sizeof *queue), *left = malloc((g->nodes + 1) * sizeof *left),
           count = 0;
    h->upward = calloc(g->nodes + 1, sizeof *h->upward);
    h->ready = calloc(g->nodes + 1, sizeof *h->ready);
    h->order = malloc((h->plan->tasks + 1) * sizeof *h->order);
    int good = queue && left && h->upward && h->ready && h->order;
    if (good) memcpy(left, g->missing, g->nodes * sizeof *left);
    for (size_t i = 0; i < g->nodes && good; i++)
        if (!left[i]) queue[count++] = i;
    for (size_t at = 0; at < count && good; at++)
        for (size_t e = g->first[queue[at]]; e < g->first[queue[at] + 1]; e++)
            if (--left[g->target[e]] == 0) queue[count++] = g->target[e];
    for (size_t at = count; at-- > 0 && good;) {
        size_t node = queue[at];
        for (size_t e = g->first[node]; e < g->first[node + 1]; e++)
            h->upward[node] = fmax(h->upward[node], h->upward[g->target[e]]);
        if (node < h->plan->tasks) h->upward[node] += weight(h, node);
    }
    for (size_t i = 0; i < h->plan->tasks && good; i++) h->order[i] = i;
    sorted_by = h->upward;
    if (good && h->plan->tasks) qsort(h->order, h->plan->tasks, sizeof *h->order, by_upward);
    free(queue);
    free(left);
    return good ? 0 : -ENOMEM;
}

/* ---- placing ---- */

static size_t index_of(const struct heft *h, int64_t tag)
{
    const struct orr_plan_datum *d = tag == ORR_PLAN_NO_TAG ? NULL : orr_plan_datum_of(h->plan, tag);
    return d ? (size_t)(d - h->plan->datum) : SIZE_MAX;
}

/* When the value of a datum can be on a rank. */
static double arrival(const struct heft *h, size_t datum, int rank)
{
    const double *there = h->there + datum * (size_t)h->machines->ranks;
    if (there[rank] < INFINITY) return there[rank];
    double begun = there[h->holder[datum]];
    return (begun < INFINITY ? begun : 0) + transfer_us(h, &h->plan->datum[datum]);
}

static double data_ready(const struct heft *h, const struct orr_plan_task *t, int rank)
{
    double us = 0;
    for (int k = 0; k < t->accesses; k++) {
        const struct orr_plan_access *a = &h->plan->access[t->access + (size_t)k];
        size_t datum = a->mode & STARPU_R ? index_of(h, a->tag) : SIZE_MAX;
        if (datum != SIZE_MAX) us = fmax(us, arrival(h, datum, rank));
    }
    return us;
}

/* The first gap of a worker that is long enough, from a time on; *at_out: before which slot. */
static double gap(const struct heft *h, int worker, double from, double length, size_t *at_out)
{
    const struct slot *s = h->slot[worker];
    size_t at = h->slots[worker];
    double best = at ? fmax(from, s[at - 1].end) : from;
    *at_out = at;
    for (; at > 0 && s[at - 1].end > from; at--) {
        double begins = fmax(from, at > 1 ? s[at - 2].end : 0);
        if (begins + length > s[at - 1].start) continue;
        best = begins;
        *at_out = at - 1;
    }
    return best;
}

static int take_slot(struct heft *h, int worker, size_t at, double start, double end)
{
    if (h->slots[worker] == h->room[worker]) {
        size_t room = h->room[worker] ? 2 * h->room[worker] : 64;
        struct slot *more = realloc(h->slot[worker], room * sizeof *more);
        if (!more) return -ENOMEM;
        h->slot[worker] = more;
        h->room[worker] = room;
    }
    struct slot *s = h->slot[worker];
    memmove(s + at + 1, s + at, (h->slots[worker] - at) * sizeof *s);
    s[at] = (struct slot){ start, end };
    h->slots[worker]++;
    return 0;
}

/* Its results are there, and nowhere else; what it read is there too. */
static void move_data(struct heft *h, const struct orr_plan_task *t, int rank, double end)
{
    size_t ranks = (size_t)h->machines->ranks;
    for (int k = 0; k < t->accesses; k++) {
        const struct orr_plan_access *a = &h->plan->access[t->access + (size_t)k];
        size_t datum = index_of(h, a->tag);
        if (datum == SIZE_MAX) continue;
        double *there = h->there + datum * ranks;
        if (a->mode & STARPU_R) there[rank] = arrival(h, datum, rank);
        if (!(a->mode & (STARPU_W | STARPU_REDUX | STARPU_MPI_REDUX))) continue;
        for (size_t r = 0; r < ranks; r++) there[r] = INFINITY;
        there[rank] = end;
        h->holder[datum] = rank;
    }
}

/* Those that wait for a node, through meeting points. */
static void release(struct heft *h, size_t node, double end)
{
    struct orr_plan_graph *g = &h->graph;
    for (size_t e = g->first[node]; e < g->first[node + 1]; e++) {
        size_t next = g->target[e];
        h->ready[next] = fmax(h->ready[next], end);
        if (--g->missing[next] == 0 && next >= h->plan->tasks) release(h, next, h->ready[next]);
    }
}

static int place(struct heft *h, size_t i, char *why)
{
    struct orr_plan_task *t = &h->plan->task[i];
    double best_end = INFINITY, best_start = 0, best_ready = 0;
    int best = -1, last_rank = -1;
    size_t best_at = 0, at;
    if (t->rank == ORR_PLAN_EACH) {
        release(h, i, h->ready[i]);
        return 0;
    }
    for (int w = 0; w < h->machines->workers; w++) {
        double length = h->length[i * STARPU_NARCH + h->machines->worker[w].type];
        int rank = orr_machines_rank_of(h->machines, w);
        if (length < 0) continue;
        if (rank != last_rank) best_ready = fmax(h->ready[i], data_ready(h, t, rank));
        last_rank = rank;
        double start = gap(h, w, best_ready, length, &at);
        if (start + length >= best_end) continue;
        best = w;
        best_end = start + length;
        best_start = start;
        best_at = at;
    }
    if (best < 0) {
        snprintf(why, ORR_PLAN_TEXT, "task %zu %s ran on no type of worker that this cluster has", i,
                 h->plan->codelet[t->codelet].name);
        return -EINVAL;
    }
    t->rank = orr_machines_rank_of(h->machines, best);
    t->worker = best - h->machines->first[t->rank];
    t->start_us = best_start;
    t->length_us = best_end - best_start;
    move_data(h, t, t->rank, best_end);
    release(h, i, best_end);
    return take_slot(h, best, best_at, best_start, best_end);
}

static const struct orr_plan *ordered_in; /* for qsort: main only */

static int by_start(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const struct orr_plan_task *x = &ordered_in->task[i], *y = &ordered_in->task[k];
    if (x->rank != y->rank) return x->rank > y->rank ? 1 : -1;
    if (x->worker != y->worker) return x->worker > y->worker ? 1 : -1;
    if (x->start_us != y->start_us) return x->start_us > y->start_us ? 1 : -1;
    return (i > k) - (i < k);
}

static void give_orders(struct heft *h)
{
    struct orr_plan *p = h->plan;
    unsigned order = 0;
    for (size_t i = 0; i < p->tasks; i++) h->order[i] = i;
    ordered_in = p;
    if (p->tasks) qsort(h->order, p->tasks, sizeof *h->order, by_start);
    for (size_t i = 0; i < p->tasks; i++) {
        struct orr_plan_task *t = &p->task[h->order[i]], *before = i ? &p->task[h->order[i - 1]] : NULL;
        bool same = before && before->rank == t->rank && before->worker == t->worker;
        t->order = t->rank == ORR_PLAN_EACH ? 0 : (order = same ? order + 1 : 1);
    }
}

static int begin(struct heft *h)
{
    const struct orr_plan *p = h->plan;
    size_t ranks = (size_t)h->machines->ranks, workers = (size_t)h->machines->workers;
    for (size_t w = 0; w < workers; w++) h->present[h->machines->worker[w].type]++;
    if (orr_plan_graph(p, false, &h->graph)) return -ENOMEM;
    h->there = malloc((p->data * ranks + 1) * sizeof *h->there);
    h->holder = malloc((p->data + 1) * sizeof *h->holder);
    h->slot = calloc(workers + 1, sizeof *h->slot);
    h->slots = calloc(workers + 1, sizeof *h->slots);
    h->room = calloc(workers + 1, sizeof *h->room);
    if (!h->there || !h->holder || !h->slot || !h->slots || !h->room) return -ENOMEM;
    for (size_t d = 0; d < p->data; d++) {
        int home = p->datum[d].home;
        h->holder[d] = home >= 0 && home < h->machines->ranks ? home : 0;
        for (size_t r = 0; r < ranks; r++)
            h->there[d * ranks + r] = home < 0 || (int)r == h->holder[d] ? 0 : INFINITY;
    }
    return 0;
}

int heft(struct orr_plan *p, const struct orr_machines *m, const struct heft_setup *setup,
         char why[ORR_PLAN_TEXT])
{
    struct heft h = { .plan = p, .machines = m, .setup = setup };
    snprintf(why, ORR_PLAN_TEXT, "out of memory");
    int r = begin(&h);
    if (!r) r = measure(&h);
    if (!r) r = find_lengths(&h);
    if (!r) r = rank_tasks(&h);
    for (size_t i = 0; i < p->tasks && !r; i++) r = place(&h, h.order[i], why);
    if (!r) give_orders(&h);
    for (int w = 0; h.slot && w < m->workers; w++) free(h.slot[w]);
    free(h.slot);
    free(h.slots);
    free(h.room);
    free(h.there);
    free(h.holder);
    free(h.mean);
    free(h.types);
    free(h.length);
    free(h.upward);
    free(h.ready);
    free(h.order);
    orr_plan_graph_fini(&h.graph);
    return r;
}
