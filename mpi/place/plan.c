/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c: the placement plan: each insertion goes to the rank, worker and place in its order that a file says
 * (planfile.h). Threads: see place.h. Owns: what is left of the plan. Not here: the file (planfile.c), how a
 * run becomes one (history.c), orders on a worker (core/worker/local.c).
 *
 * Each rank reads the file, checks it against the cluster and in itself, and keeps a few words for each
 * insertion. What the program inserts is compared by a hash of codelet, tags and modes; after the first
 * difference everything is refused, on every rank at the same place. */
#include <errno.h>
#include <starpu.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/worker/order.h"
#include "mpi/place/place.h"
#include "mpi/place/planfile.h"
#include "mpi/place/plangraph.h"

/* An insertion. */
struct step {
    uint64_t hash;
    uint64_t before; /* a hash of all that come before it, ranks included */
    int32_t rank;
    int32_t worker;
    uint32_t order; /* 0: none */
};

struct plan {
    size_t steps, next; /* how many; the one that choose is asked for */
    struct step *step;
    unsigned *base; /* by worker of a rank: order there of what ran before */
    unsigned workers;
    bool refused;
    char path[]; /* for messages */
};

/* ---- begin ---- */

static void end(void *state)
{
    struct plan *p = state;
    if (!p->refused && p->next < p->steps)
        orr_warn("the plan %s goes on where the program ended: it has %zu tasks, and %zu were inserted",
                 p->path, p->steps, p->next);
    orr_free(p->step);
    orr_free(p->base);
    orr_free(p);
}

/* Reads and checks. 0 or a negative errno (said). */
static int load(struct orr_plan *file, const char *path, const struct orr_machines *m)
{
    char why[ORR_PLAN_TEXT];
    int r = orr_plan_read(file, path, why);
    if (!r && m) r = orr_plan_fits(file, m, why);
    if (!r) r = orr_plan_check(file, why);
    if (!r) return 0;
    orr_error("ORRERY_MPI_SCHED=plan: %s cannot be run: %s", path, why);
    orr_plan_fini(file);
    return r == -ENOMEM ? r : -EINVAL;
}

#define BASE 0x9e3779b97f4a7c15u

/* What a step adds to the hash of a stretch. */
static uint64_t mixed(const struct step *s)
{
    uint64_t h = (s->hash ^ (uint64_t)(uint32_t)s->rank * 0xff51afd7ed558ccdu) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 32;
}

static void keep(struct plan *p, const struct orr_plan *file)
{
    uint64_t before = 0;
    for (size_t i = 0; i < p->steps; i++) {
        const struct orr_plan_task *t = &file->task[i];
        p->step[i] = (struct step){ orr_plan_hash(file, i), before, t->rank, t->worker, t->order };
        before = before * BASE + mixed(&p->step[i]);
    }
    p->step[p->steps] = (struct step){ .before = before };
    for (unsigned w = 0; w < p->workers; w++) p->base[w] = orr_worker_order_next(w) - 1;
}

static int begin(const struct orr_place_setup *setup, void **state_out)
{
    struct orr_plan file;
    if (!setup->argument) {
        orr_error("ORRERY_MPI_SCHED=plan needs a file: ORRERY_MPI_SCHED=plan:FILE, the same on all ranks");
        return -EINVAL;
    }
    int r = load(&file, setup->argument, setup->machines);
    if (r) return r;
    struct plan *p = orr_calloc(1, sizeof *p + strlen(setup->argument) + 1);
    if (p) {
        strcpy(p->path, setup->argument);
        p->steps = file.tasks;
        p->workers = starpu_worker_get_count();
        p->step = orr_malloc((p->steps + 1) * sizeof *p->step);
        p->base = orr_calloc(p->workers + 1, sizeof *p->base);
    }
    if (!p || !p->step || !p->base) {
        if (p) orr_free(p->step);
        if (p) orr_free(p->base);
        orr_free(p);
        orr_plan_fini(&file);
        return -ENOMEM;
    }
    keep(p, &file);
    orr_plan_fini(&file);
    *state_out = p;
    return 0;
}

/* ---- each insertion ---- */

static uint64_t hash_of(const struct orr_place_view *v)
{
    uint64_t h = orr_plan_hash_begin(v->cl && v->cl->name ? v->cl->name : "");
    for (int i = 0; i < v->count; i++)
        h = orr_plan_hash_add(h, v->data[i].handle ? orr_owned_tag(v->data[i].handle) : -1, v->data[i].mode);
    return h;
}

/* What the program inserted. */
static void describe_view(const struct orr_place_view *v, char *text, size_t bytes)
{
    struct orr_plan_access a[8];
    int count = v->count < 8 ? v->count : 8;
    for (int i = 0; i < count; i++)
        a[i] = (struct orr_plan_access){ v->data[i].handle ? orr_owned_tag(v->data[i].handle) : -1,
                                         orr_plan_mode(v->data[i].mode) };
    orr_plan_describe_accesses(v->cl && v->cl->name ? v->cl->name : "", a, count, text, bytes);
    size_t used = strlen(text);
    if (v->fixed >= 0) used += (size_t)snprintf(text + used, bytes - used, " on rank %d", v->fixed);
    if (v->file && used < bytes) snprintf(text + used, bytes - used, " [%s:%d]", v->file, v->line);
}

/* Whether this rank has it. */
static bool is_here(const struct plan *p, int worker)
{
    return worker >= 0 && (unsigned)worker < p->workers;
}

/* From here on nothing is inserted: what was does not wait for the turn of what comes no more. */
static void give_up(struct plan *p)
{
    p->refused = true;
    for (size_t i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        if (s->order && is_here(p, s->worker))
            orr_worker_order_skip((unsigned)s->worker, p->base[s->worker] + s->order + 1);
    }
}

/* The first difference: the plan's side is read again. */
static int refuse(struct plan *p, const struct orr_place_view *v, const char *what)
{
    struct orr_plan file;
    char why[ORR_PLAN_TEXT], planned[400] = "nothing more", inserted[400];
    give_up(p);
    describe_view(v, inserted, sizeof inserted);
    if (v->position < p->steps && !orr_plan_read(&file, p->path, why)) {
        if (v->position < file.tasks) orr_plan_describe(&file, v->position, planned, sizeof planned);
        orr_plan_fini(&file);
    }
    orr_error(
        "starpu_mpi_task_insert: the plan %s %s, at insertion %llu: it says task %s; the program inserts %s",
        p->path, what, (unsigned long long)v->position, planned, inserted);
    return -EINVAL;
}

static int choose(void *state, const struct orr_place_view *v)
{
    struct plan *p = state;
    if (p->refused) return -EINVAL;
    p->next = v->position + 1;
    if (v->position >= p->steps) return refuse(p, v, "ends before the program");
    const struct step *s = &p->step[v->position];
    if (s->hash != hash_of(v)) return refuse(p, v, "is of another program");
    if (v->fixed == ORR_PLACE_OPEN && s->rank >= 0) return s->rank;
    int said = v->fixed == ORR_RANK_PER_NODE ? ORR_PLAN_EACH : v->fixed;
    return said == s->rank ? v->fixed : refuse(p, v, "has another rank than the program names");
}

static int bind(void *state, struct starpu_task *task, uint64_t position)
{
    struct plan *p = state;
    const struct step *s = &p->step[position];
    if (!is_here(p, s->worker)) return 0;
    if (task->execute_on_a_specific_worker && task->workerid != (unsigned)s->worker) {
        orr_error("starpu_mpi_task_insert: the plan %s gives insertion %zu (%s) to worker %d, and the "
                  "program to %u",
                  p->path, (size_t)position, task->cl && task->cl->name ? task->cl->name : "without name",
                  s->worker, task->workerid);
        give_up(p);
        return -EINVAL;
    }
    task->workerid = (unsigned)s->worker;
    task->execute_on_a_specific_worker = 1;
    if (s->order) task->workerorder = p->base[s->worker] + s->order;
    return 0;
}

/* The hash of so many steps: a polynomial in BASE, so it is that of all up to their end without those before.
 */
static uint64_t stretch(const struct plan *p, uint64_t from, uint64_t count)
{
    uint64_t power = 1, square = BASE;
    for (uint64_t n = count; n; n >>= 1, square *= square)
        if (n & 1) power *= square;
    return p->step[from + count].before - p->step[from].before * power;
}

static bool repeat(void *state, uint64_t from, uint64_t next, uint64_t count)
{
    struct plan *p = state;
    if (p->refused || from + count > p->steps || next + count > p->steps) return false;
    if (stretch(p, from, count) != stretch(p, next, count)) return false;
    p->next = next + count;
    return true;
}

_Static_assert((int)ORR_PLAN_TEXT <= (int)ORR_PLACE_TEXT, "what differs is said there");

const struct orr_place_ops orr_place_plan = { .name = "plan",
                                              .for_all = true,
                                              .moves_data = true,
                                              .begin = begin,
                                              .agree = orr_plan_agree,
                                              .choose = choose,
                                              .bind = bind,
                                              .repeat = repeat,
                                              .end = end };
