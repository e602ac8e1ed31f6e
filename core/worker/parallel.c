/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel.c: see parallel.h.
 * Threads: who pushes makes teams; their workers run them. Owns: teams and their parts. Not here: the
 * workers' queues (local.c).
 *
 * A task for several workers has a team, and a part for each of them. A worker that comes to its part waits
 * until the others have come to theirs; the last to come leads: it brings the data, runs a fork-join body
 * while the others sleep and their cores are its own, or its share of an SPMD body like them; then it waits
 * for the others and ends the task.
 *
 * No two teams wait for each other. orr_team_push puts the parts in all members' queues while it holds the
 * locks of all of them, taken in order of number: so of two teams that share workers one is the first in the
 * queue of each. Of all teams that have not begun, in that order the first waits only for workers that run
 * something else, and that ends. Policies of the program that hand out the parts themselves have to see to
 * that order (starpu_worker.h).
 *
 * A worker that waits is not to be in the way of a pause, or of a change of its contexts: it puts its part
 * back to the front of its queue and goes, and comes again. */
#include "core/worker/parallel.h"

#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/peek.h"
#include "core/perf/arch.h"
#include "core/task/perf.h"
#include "core/topo/topo.h"
#include "core/worker/inputs.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/tell.h"

enum phase { GATHERING, COMPLETE, RUNNING, OVER };

struct orr_team {
    struct orr_task *task;           /* [const] the whole; gone when the leader has ended it */
    const struct orr_combined *unit; /* [const] NULL: the first workers that come */
    unsigned size;                   /* [const] */
    int comb;                        /* [const] its architecture */
    bool spmd, hooked;               /* [own: leader, published by phase] */
    bool failed;                     /* [the same] there is no data */
    uint64_t start;                  /* [the same] ticks */
    uint64_t job;                    /* [the same] the whole's */
    struct orr_worker *leader;       /* [the same] */
    ORR_SPIN(team) lock;             /* protects arrived and worker; leaf */
    unsigned arrived;
    _Atomic uint32_t phase;      /* publishes what the leader sets */
    _Atomic uint32_t busy;       /* members that have not left */
    _Atomic uint32_t refs;       /* parts, and the whole */
    struct orr_worker *worker[]; /* by rank; NULL: it has not come. [const while RUNNING] */
};

/* ---- making teams and parts ---- */

static void unref(struct orr_team *team)
{
    if (orr_sub_acq_rel(&team->refs, 1u) == 1) orr_free(team);
}

static int comb_of_size(unsigned size)
{
    struct starpu_perfmodel_device d = { .type = STARPU_CPU_WORKER, .devid = 0, .ncores = (int)size };
    return orr_arch_intern(1, &d);
}

int orr_team_create(struct orr_task *t, const struct orr_combined *c, unsigned size)
{
    struct orr_task_rare *r = orr_task_rare_get(t);
    struct orr_team *team = r ? orr_calloc(1, sizeof *team + size * sizeof team->worker[0]) : NULL;
    if (!team) return -ENOMEM;
    team->task = t;
    team->unit = c;
    team->size = size;
    team->comb = c ? c->comb : comb_of_size(size);
    orr_store_relaxed(&team->busy, size);
    orr_store_relaxed(&team->refs, 1u);
    if (r->team) unref(r->team);
    r->team = team;
    t->flags |= ORR_TF_TEAM | ORR_TF_ANYWHERE;
    return 0;
}

static void team_drop(struct orr_task *t)
{
    struct orr_team *team = t->rare->team;
    t->rare->team = NULL;
    t->flags &= ~(uint32_t)(ORR_TF_TEAM | ORR_TF_ANYWHERE);
    unref(team);
}

static void join(struct orr_task *part, struct orr_task *t)
{
    struct orr_team *team = t->rare->team;
    orr_add_relaxed(&team->refs, 1u);
    part->rare->team = team;
    part->flags |= ORR_TF_TEAM | ORR_TF_ANYWHERE;
    part->sched_ctx = t->sched_ctx;
    part->priority = t->priority;
}

/* A copy that a policy of the program made: it holds that now, too. */
static void team_joined(struct orr_task *t, struct orr_task *copy)
{
    join(copy, t);
    orr_add_relaxed(&orr_contexts[t->sched_ctx].policy_holds, 1);
    orr_store_release(&copy->state, ORR_TASK_PUSHED); /* pairs with orr_policy_releases */
}

/* A part of our own: a private half alone, which names the whole's public one. NULL: out of memory. */
static struct orr_task *part_create(struct orr_task *t)
{
    struct orr_task *part = orr_slab_alloc(ORR_SLAB_JOB);
    struct orr_task_rare *rare = part ? orr_calloc(1, sizeof *rare) : NULL;
    if (!rare) {
        if (part) orr_slab_free(ORR_SLAB_JOB, part);
        return NULL;
    }
    memset(part, 0, sizeof *part);
    part->pub = t->pub;
    part->id = t->id;
    part->worker = -1;
    part->rare = rare;
    part->flags = ORR_TF_PART;
    orr_store_relaxed(&part->state, ORR_TASK_DONE); /* so that a walk over all blocks does not count it */
    join(part, t);
    return part;
}

/* A part is of no more use; the whole is not meant, and may be gone. */
static void part_end(struct orr_task *part)
{
    if (part->flags & ORR_TF_PART) {
        unref(part->rare->team);
        orr_free(part->rare);
        orr_slab_free(ORR_SLAB_JOB, part);
    } else if (!part->pub->destroy) { /* the program frees its copy */
        team_drop(part);
        orr_store_release(&part->state, ORR_TASK_DONE);
    } else {
        orr_task_free(part);
    }
}

int orr_team_push(const struct orr_combined *c, struct orr_task *t)
{
    struct orr_task *parts[STARPU_NMAXWORKERS];
    struct orr_worker *members[STARPU_NMAXWORKERS];
    int r = orr_team_create(t, c, c->size);
    if (r) return r;
    for (unsigned i = 0; i < c->size; i++) {
        members[i] = &orr_workers[c->members[i]];
        if ((parts[i] = part_create(t)) != NULL) continue;
        while (i-- > 0) part_end(parts[i]);
        team_drop(t);
        return -ENOMEM;
    }
    orr_tell_placed(t, members[0]);
    for (unsigned i = 1; i < c->size; i++) ORR_EVENT(TASK_PLACED, NULL, members[i]->id, t->sched_ctx, 0);
    orr_worker_push_together(members, parts, c->size);
    return 0;
}

/* ---- waiting for the others ---- */

static bool is_called(struct orr_worker *w)
{
    return orr_load_seq(&orr_parking.paused) || orr_member_called(w);
}

/* Waits until the team has come to this phase. False: w is called away while the team gathers. */
static bool gate_wait(struct orr_worker *w, struct orr_team *team, uint32_t wanted, int yields)
{
    bool come = false;
    orr_store_seq(&w->at_gate, true);
    for (;;) {
        uint32_t seen = orr_load_seq(&w->gate); /* pairs with orr_gate_open */
        uint32_t phase = orr_load_acquire(&team->phase);
        come = phase >= wanted;
        if (come || (phase == GATHERING && is_called(w))) break;
        if (yields-- > 0)
            sched_yield();
        else
            orr_futex_wait(&w->gate, seen, -1);
    }
    orr_store_seq(&w->at_gate, false);
    return come;
}

static void announce(struct orr_team *team, enum phase phase)
{
    struct orr_worker *self = orr_worker_self();
    orr_store_release(&team->phase, (uint32_t)phase); /* pairs with gate_wait */
    for (unsigned i = 0; i < team->size; i++)
        if (team->worker[i] != self) orr_gate_open(team->worker[i]);
}

/* Its place in the combined worker if that is free, else the first free one. Called with the lock held. */
static unsigned rank_locked(const struct orr_team *team, const struct orr_worker *w)
{
    unsigned rank = 0;
    for (unsigned i = 0; team->unit && i < team->size; i++)
        if (team->unit->members[i] == w->id && !team->worker[i]) return i;
    while (team->worker[rank]) rank++;
    return rank;
}

/* Returns w's rank; -1: there are enough already. */
static int arrive(struct orr_team *team, struct orr_worker *w, bool *last_out)
{
    int rank = -1;
    orr_spin_lock(&team->lock);
    if (orr_load_relaxed(&team->phase) == GATHERING) {
        rank = (int)rank_locked(team, w);
        team->worker[rank] = w;
        *last_out = ++team->arrived == team->size;
        if (*last_out) orr_store_relaxed(&team->phase, (uint32_t)COMPLETE);
    }
    orr_spin_unlock(&team->lock);
    return rank;
}

/* False: the team is complete now. */
static bool withdraw(struct orr_team *team, int rank)
{
    orr_spin_lock(&team->lock);
    bool gathering = orr_load_relaxed(&team->phase) == GATHERING;
    if (gathering) {
        team->worker[rank] = NULL;
        team->arrived--;
    }
    orr_spin_unlock(&team->lock);
    return gathering;
}

/* Waits for those who are to come. False: w was called away, and is not there any more. */
static bool gather(struct orr_team *team, struct orr_worker *w, int rank)
{
    enum { YIELDS = 40 };
    orr_tell_idle_begin(w, true);
    orr_store_relaxed(&w->idle_shown, true);
    bool come = gate_wait(w, team, RUNNING, YIELDS);
    if (!come && !withdraw(team, rank)) come = gate_wait(w, team, RUNNING, YIELDS);
    orr_store_relaxed(&w->idle_shown, false);
    orr_tell_idle_end(w, true);
    return come;
}

/* ---- running ---- */

static void choose_impl(struct orr_team *team, struct orr_worker *w, const struct orr_task *part)
{
    struct orr_task *t = team->task;
    unsigned nimpl = 0;
    if (t->nimpl_valid) return;
    if (part->nimpl_valid)
        nimpl = part->nimpl;
    else if (team->unit)
        orr_combined_can_run_any(team->unit, t, &nimpl);
    else
        orr_worker_can_run(w, t, &nimpl);
    t->nimpl = (uint8_t)nimpl;
    t->nimpl_valid = 1;
}

/* Everybody is here: what must be done once, before the body. By the leader. */
static void prepare(struct orr_team *team, struct orr_worker *w, const struct orr_task *part)
{
    struct orr_task *t = team->task;
    struct starpu_task *p = t->pub;
    const struct orr_policy_ops *policy = orr_contexts[t->sched_ctx].policy;
    team->leader = w;
    team->spmd = p->cl->type == STARPU_SPMD;
    team->hooked = policy->pre_exec || policy->post_exec || orr_events_wanted(ORR_EVENT_BIT(TASK_TAKEN));
    orr_policy_releases(t); /* a policy of the program gave its parts, and not itself */
    choose_impl(team, w, part);
    orr_worker_begin(w, t);
    orr_tell_popped(t, w);
    if (p->prologue_callback_pop_func)
        orr_call_back(t, p->prologue_callback_pop_func, p->prologue_callback_pop_arg);
    int r = orr_fetch_inputs_to_keep(w, t);
    team->failed = r != 0;
    if (r) orr_task_without_inputs(w, t, r);
    ORR_EVENT(TASK_STARTED, t, w->id, team->comb, -1);
    ORR_EVENT(TASK_LAUNCHED, t, w->id, 0, 0);
    team->start = orr_ticks();
    team->job = t->id;
    announce(team, RUNNING);
}

/* Threads that a fork-join body makes may use the cores of all: the leader's binding is theirs. */
static void bind_leader(const struct orr_team *team, const struct orr_worker *w, bool to_all)
{
    unsigned cores[STARPU_NMAXWORKERS], n = 0;
    if (team->spmd || w->bindid < 0) return;
    for (unsigned i = 0; i < team->size; i++)
        if (team->worker[i]->bindid >= 0) cores[n++] = (unsigned)team->worker[i]->bindid;
    if (to_all)
        orr_topo_bind_self_to(cores, n);
    else
        orr_topo_bind_self((unsigned)w->bindid);
}

static void call_body(struct orr_team *team, struct orr_worker *w, int rank)
{
    struct orr_task_thread *self = orr_task_self();
    struct orr_task *t = team->task;
    struct starpu_task *p = t->pub;
    if (team->failed) return;
    w->team = team;
    w->team_rank = team->spmd ? rank : 0;
    self->current = t;
    p->cl->cpu_funcs[t->nimpl](STARPU_TASK_GET_INTERFACES(p), p->cl_arg);
    self->current = NULL;
    w->team = NULL;
}

static void pre_exec(struct orr_worker *w, struct orr_task *part)
{
    struct orr_ctx *ctx = &orr_contexts[part->sched_ctx];
    ORR_EVENT(TASK_TAKEN, part, w->id, part->id, 0);
    if (ctx->policy->pre_exec) ctx->policy->pre_exec(ctx->instance, part, w);
}

static void post_exec(struct orr_worker *w, struct orr_task *part)
{
    struct orr_ctx *ctx = &orr_contexts[part->sched_ctx];
    if (ctx->policy->post_exec) ctx->policy->post_exec(ctx->instance, part, w);
}

/* Another member than the leader. The whole is there only until it has left, if anybody waits for that. */
static void follow(struct orr_team *team, struct orr_worker *w, struct orr_task *part, int rank)
{
    bool spmd = team->spmd, hooked = team->hooked;
    uint64_t start = orr_ticks(), job = team->job; /* it was idle until now, however late it woke */
    struct orr_worker *leader = team->leader;
    if (hooked) pre_exec(w, part);
    if (spmd)
        call_body(team, w, rank);
    else
        gate_wait(w, team, OVER, 0);
    ORR_EVENT(TASK_PART_ENDED, NULL, w->id, orr_ticks() - start, job);
    if (hooked) post_exec(w, part);
    bool whole = part == team->task;
    if (orr_sub_acq_rel(&team->busy, 1u) == 2)
        orr_gate_open(leader); /* it alone is left; pairs with wait_for_others */
    if (!whole) part_end(part);
}

static void wait_for_others(struct orr_team *team, struct orr_worker *w)
{
    enum { YIELDS = 100 };
    orr_store_seq(&w->at_gate, true);
    for (int i = 0;; i++) {
        uint32_t seen = orr_load_seq(&w->gate);
        if (orr_load_acquire(&team->busy) == 1) break;
        if (i < YIELDS)
            sched_yield();
        else
            orr_futex_wait(&w->gate, seen, -1);
    }
    orr_store_seq(&w->at_gate, false);
}

/* The leader's part, and the end of the task. */
static void lead(struct orr_team *team, struct orr_worker *w, struct orr_task *part, int rank)
{
    struct orr_task *t = team->task;
    pre_exec(w, part);
    bind_leader(team, w, true);
    call_body(team, w, rank);
    bind_leader(team, w, false);
    if (!team->spmd) announce(team, OVER);
    if (team->spmd || team->hooked) wait_for_others(team, w);
    uint64_t ticks = orr_ticks() - team->start;
    if (t->flags & ORR_TF_FETCHED) orr_task_inputs_done(w, t);
    t->flags &= ~(uint32_t)ORR_TF_FETCHED;
    ORR_EVENT(TASK_ENDED, t, w->id, ticks, t->id);
    if (t->pub->cl->model && !team->failed) orr_perf_task_measured_on(t, team->comb, ticks);
    post_exec(w, part);
    if (part != t) part_end(part);
    team_drop(t);
    orr_worker_finish(w, t);
    w->last_ticks = 0; /* what follows did not take as long */
}

void orr_team_run(struct orr_worker *w, struct orr_task *part)
{
    struct orr_team *team = part->rare->team;
    bool last = false;
    orr_worker_expects(w, false); /* it may wait for long: others are to take what comes */
    int rank = arrive(team, w, &last);
    if (rank < 0) {
        orr_error("a parallel task was given to worker %d, but all of its %u workers have it already", w->id,
                  team->size);
        if (part != team->task) part_end(part);
        return;
    }
    if (last) {
        prepare(team, w, part);
        lead(team, w, part, rank);
    } else if (gather(team, w, rank)) {
        follow(team, w, part, rank);
    } else {
        orr_worker_push_local(w, part, true);
    }
}

bool orr_team_waits(const struct orr_task *t, unsigned *come_out, unsigned *size_out)
{
    struct orr_team *team = t->flags & ORR_TF_TEAM ? t->rare->team : NULL;
    if (!team || orr_load_acquire(&team->phase) != GATHERING) return false;
    orr_spin_lock(&team->lock);
    *come_out = team->arrived;
    *size_out = team->size;
    orr_spin_unlock(&team->lock);
    return true;
}

static bool has_come(const struct orr_worker *const *come, unsigned n, int id)
{
    for (unsigned i = 0; i < n; i++)
        if (come[i] == &orr_workers[id]) return true;
    return false;
}

static bool is_published(const struct orr_combined *c)
{
    for (unsigned i = 0; i < orr_combined_count(); i++)
        if (orr_combined_at(i) == c) return true;
    return false;
}

bool orr_team_peek(const struct orr_team *at, struct orr_team_look *out)
{
    struct orr_team team;
    const struct orr_worker *come[STARPU_NMAXWORKERS];
    if (!orr_peek(&team, at, sizeof team) || orr_load_relaxed(&team.phase) != GATHERING) return false;
    if (team.size > STARPU_NMAXWORKERS || !orr_peek(come, at->worker, team.size * sizeof come[0]))
        return false;
    *out = (struct orr_team_look){ .come = team.arrived, .size = team.size };
    if (!is_published(team.unit) || team.unit->size != team.size) return true;
    for (unsigned i = 0; i < team.size; i++)
        if (!has_come(come, team.size, team.unit->members[i]))
            out->waits_for[out->missing++] = team.unit->members[i];
    return true;
}

/* ---- for programs ---- */

static void barrier_init(struct starpu_task *task, const struct orr_combined *c, unsigned size)
{
    struct orr_task *t = orr_task_private(task);
    if (!t || orr_team_create(t, c, size) != 0) orr_fatal("starpu_parallel_task_barrier_init: out of memory");
}

static bool can_be_parallel(const struct starpu_task *task, const char *function)
{
    if (task && task->cl) return true;
    orr_error("%s: %s", function, task ? "the task has no codelet" : "the task is NULL");
    return false;
}

void starpu_parallel_task_barrier_init(struct starpu_task *task, int workerid)
{
    const struct orr_combined *c = workerid >= 0 ? orr_combined_get((unsigned)workerid) : NULL;
    if (!can_be_parallel(task, "starpu_parallel_task_barrier_init")) return;
    if (c)
        barrier_init(task, c, c->size);
    else if (workerid >= 0 && (unsigned)workerid < orr_worker_count)
        barrier_init(task, NULL, 1);
    else
        orr_error("starpu_parallel_task_barrier_init: there is no worker or combined worker %d", workerid);
}

void starpu_parallel_task_barrier_init_n(struct starpu_task *task, int worker_size)
{
    if (!can_be_parallel(task, "starpu_parallel_task_barrier_init_n")) return;
    if (worker_size < 1 || (unsigned)worker_size > starpu_cpu_worker_get_count())
        orr_error(
            "starpu_parallel_task_barrier_init_n: a task cannot run on %d workers; there are %u of CPUs",
            worker_size, starpu_cpu_worker_get_count());
    else
        barrier_init(task, NULL, (unsigned)worker_size);
}

int starpu_combined_worker_get_id(void)
{
    const struct orr_worker *w = orr_worker_self();
    if (!w) return -1;
    return w->team && w->team->unit ? w->team->unit->id : w->id;
}

int starpu_combined_worker_get_size(void)
{
    const struct orr_worker *w = orr_worker_self();
    return w && w->team ? (int)w->team->size : 1;
}

int starpu_combined_worker_get_rank(void)
{
    const struct orr_worker *w = orr_worker_self();
    return w && w->team ? w->team_rank : 0;
}

void orr_teams_init(void)
{
    orr_task_hooks.team_joined = team_joined;
    orr_task_hooks.team_unref = unref;
}
