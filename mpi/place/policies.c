/* SPDX-License-Identifier: BSD-3-Clause */
/* policies.c: see policies.h. Threads: see policies.h. Owns: see policies.h. Not here: see policies.h. */
#include "mpi/place/policies.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "mpi/live/stream.h"
#include "mpi/place/feedback.h"
#include "mpi/place/frozen.h"
#include "mpi/place/history.h"
#include "mpi/wire/builtin.h"
#include "mpi/wire/cluster.h"

#define ORR_PLACEMENT(name) extern const struct orr_place_ops orr_place_##name;
#include "mpi/place/builtin.def"
#undef ORR_PLACEMENT

static const struct orr_place_ops *const builtin[] = {
#define ORR_PLACEMENT(name) &orr_place_##name,
#include "mpi/place/builtin.def"
#undef ORR_PLACEMENT
};

enum { BUILTIN = sizeof builtin / sizeof builtin[0] };

/* A placement that is in force on a communicator. */
struct orr_placed {
    const struct orr_place_ops *ops;
    void *state;
    uint64_t position, turn;       /* turn: the position at which the feedback wants one */
    struct orr_feedback *feedback; /* NULL: it learns nothing */
    struct orr_thread *thread;     /* who inserts */
    const char *file;              /* where it did first; NULL: it is not known */
    int line;
    struct orr_frozen frozen; /* of one that has figures */
    uint64_t marks;           /* a hash of where the program's were, on this rank; 0: there was none */
    bool marked;              /* the iteration that has begun is one that it marked */
    bool begun;
    int failed; /* why it could not begin, which was said once: turn is 0 then */
};

/* ---- by number ---- */

int orr_policy_find(const char *name)
{
    return orr_builtin_find((const void *const *)builtin, BUILTIN, "ORRERY_MPI_SCHED", "placement", name,
                            name ? strcspn(name, ":") : 0);
}

/* state_out: what its choose gets, where it keeps none of its own. NULL: there is none of that number. */
static const struct orr_place_ops *ops_of(const struct orr_place *p, int policy, void **state_out)
{
    *state_out = NULL;
    if (policy < 0 || policy >= BUILTIN + ORR_POLICIES_MAX) return NULL;
    if (policy < BUILTIN) return builtin[policy];
    *state_out = (void *)&p->added[policy - BUILTIN].program;
    return p->added[policy - BUILTIN].ops;
}

int orr_policy_add(struct orr_place *p, const struct orr_place_ops *ops, orr_select_fn fn)
{
    if (ops == &orr_place_program && !fn) {
        orr_error("starpu_mpi_node_selection_register_policy: the function is NULL");
        return -EINVAL;
    }
    for (int i = 0; i < ORR_POLICIES_MAX; i++) {
        if (p->added[i].ops) continue;
        p->added[i] = (struct orr_policy){ ops, { .fn = fn } };
        return BUILTIN + i;
    }
    orr_error("starpu_mpi_node_selection_register_policy: no room for more than %d policies; unregister one",
              ORR_POLICIES_MAX);
    return -ENOSPC;
}

int orr_policy_add_viewer(struct orr_place *p, orr_view_fn fn, void *arg)
{
    if (!fn) {
        orr_error("orrery_mpi_node_selection_register: the function is NULL");
        return -EINVAL;
    }
    int number = orr_policy_add(p, &orr_place_viewer, NULL);
    if (number >= 0) p->added[number - BUILTIN].program = (struct orr_place_program){ .see = fn, .arg = arg };
    return number;
}

static int check(const struct orr_place *p, int policy, const char *fn)
{
    void *state;
    if (ops_of(p, policy, &state)) return 0;
    orr_error("%s: there is no node selection policy %d", fn, policy);
    return -EINVAL;
}

int orr_policy_remove(struct orr_place *p, int policy)
{
    static const char fn[] = "starpu_mpi_node_selection_unregister_policy";
    int r = check(p, policy, fn);
    if (r) return r;
    if (policy < BUILTIN) {
        orr_error("%s: policy %d is built in and stays", fn, policy);
        return -EINVAL;
    }
    p->added[policy - BUILTIN].ops = NULL;
    return p->current == policy ? orr_policy_set_current(p, 0) : 0;
}

int orr_policy_get_current(const struct orr_place *p)
{
    return p->current;
}

int orr_policy_set_current(struct orr_place *p, int policy)
{
    void *state;
    if (policy == -1) return 0;
    int r = check(p, policy, "starpu_mpi_node_selection_set_current_policy");
    if (r) return r;
    p->changes += p->current != policy;
    p->current = policy;
    p->for_all = ops_of(p, policy, &state)->for_all;
    p->moves = p->for_all && ops_of(p, policy, &state)->moves_data;
    p->follows = p->history || ops_of(p, policy, &state)->bind;
    return 0;
}

bool orr_policy_is_programs(const struct orr_place *p, int policy)
{
    void *state;
    return ops_of(p, policy < 0 ? p->current : policy, &state) == &orr_place_program;
}

/* Its answer, if that is a rank. */
static int checked(const struct orr_place_ops *ops, int rank, const struct orr_comm *c)
{
    if (rank >= 0 && rank < c->size) return rank;
    orr_error("starpu_mpi_task_insert: the node selection policy \"%s\" chose rank %d of %d", ops->name, rank,
              c->size);
    return -EINVAL;
}

void orr_policy_start(struct orr_place *p, struct orr_comm *c)
{
    void *state;
    p->network = (struct orr_network){ 0 };
    if (c->size > 1 && ops_of(p, p->current, &state)->learns)
        p->network = orr_network_measure(c, p->machines);
}

void orr_policy_agree(struct orr_place *p, const struct orr_bootstrap *b)
{
    void *state;
    const struct orr_place_ops *ops = ops_of(p, p->current, &state);
    p->refusal[0] = 0;
    if (!ops->agree || !p->argument[0]) return;
    int r = ops->agree(b, p->argument, p->refusal);
    if (r && r != -EINVAL)
        snprintf(p->refusal, sizeof p->refusal, "the ranks could not compare \"%.200s\": %s", p->argument,
                 strerror(-r));
}

int orr_policy_choose(const struct orr_place *p, int policy, const struct orr_place_view *v)
{
    void *state;
    if (policy < 0)
        policy = p->for_all ? 0 : p->current; /* one for all acts on one communicator: not on this */
    const struct orr_place_ops *ops = ops_of(p, policy, &state);
    if (ops && !ops->for_all) return checked(ops, ops->choose(state, v), v->comm);
    orr_error(ops ? "starpu_mpi_task_insert: node selection policy %d places whole streams: make it the "
                    "current one, with starpu_mpi_node_selection_set_current_policy"
                  : "starpu_mpi_task_insert: there is no node selection policy %d; register it first, on all "
                    "ranks",
              policy);
    return -EINVAL;
}

/* ---- those that are asked for all ---- */

void orr_placed_drop(struct orr_comm *c)
{
    struct orr_placed *d = c->placed;
    c->placed = NULL;
    if (!d) return;
    if (d->begun) d->ops->end(d->state);
    if (d->feedback) orr_feedback_destroy(d->feedback);
    orr_frozen_fini(&d->frozen);
    orr_free(d);
}

static void tell(void *placed, const struct orr_place_measure *m)
{
    const struct orr_placed *d = placed;
    d->ops->measured(d->state, m);
}

static void seen(void *placed, const struct starpu_codelet *cl, uint32_t footprint)
{
    const struct orr_placed *d = placed;
    if (d->feedback) orr_feedback_seen(d->feedback, cl, footprint);
}

/* 0 or -ENOMEM: it is to learn, and cannot. */
static int begin_feedback(struct orr_comm *c, struct orr_placed *d)
{
    d->turn = UINT64_MAX;
    if (!d->ops->learns || !c->cluster->started || !orr_comm_is_base(c) || c->size == 1) return 0;
    d->feedback = orr_feedback_create(c, tell, d);
    if (!d->feedback) return -ENOMEM;
    d->turn = orr_feedback_next(d->feedback);
    return 0;
}

static struct orr_placed *begin(struct orr_comm *c, const struct orr_place_ops *ops, int *status_out)
{
    orr_placed_drop(c);
    const struct orr_place *p = c->cluster->place;
    void *program;
    ops_of(p, p->current, &program);
    struct orr_placed *d = orr_calloc(1, sizeof *d);
    const struct orr_place_setup setup = { .ranks = c->size,
                                           .argument = p->argument[0] ? p->argument : NULL,
                                           .machines = p->machines,
                                           .latency_ns = p->network.latency_ns,
                                           .bytes_per_us = p->network.bytes_per_us,
                                           .us_per_joule = p->us_per_joule,
                                           .program = program,
                                           .seen = seen,
                                           .seen_arg = d };
    if (d) *d = (struct orr_placed){ .ops = ops, .thread = orr_self() };
    c->placed = d;
    int r = d ? 0 : -ENOMEM;
    if (!r && c->cluster->started) r = orr_stream_need_whole(c); /* else it is tried alone */
    if (!r && ops->agree && p->refusal[0]) {
        orr_error("ORRERY_MPI_SCHED: %s", p->refusal);
        r = -EINVAL;
    }
    if (!r) r = ops->begin(&setup, &d->state);
    if (d) d->begun = r == 0;
    if (!r) r = begin_feedback(c, d);
    if (r == -ENOMEM) orr_error("starpu_mpi_task_insert: out of memory for the placement \"%s\"", ops->name);
    if (!r) return d;
    *status_out = r;
    if (!d) return NULL;
    if (d->begun) d->ops->end(d->state);
    *d = (struct orr_placed){ .ops = ops, .thread = orr_self(), .failed = r };
    return NULL;
}

/* What it needs for one insertion is missing here: no later one is placed either. */
static int fail(struct orr_placed *d, int status)
{
    d->failed = status;
    d->turn = 0;
    return status;
}

static int take_turn(struct orr_placed *d)
{
    if (d->failed) return d->failed;
    orr_feedback_turn(d->feedback, d->position);
    d->turn = orr_feedback_next(d->feedback);
    return 0;
}

/* The placement's own answer for the next insertion. */
static inline int ask(struct orr_placed *d, struct orr_place_view *v)
{
    if (orr_unlikely(d->position >= d->turn)) {
        int r = take_turn(d);
        if (r) return r;
    }
    v->position = d->position++;
    return d->ops->choose(d->state, v);
}

static bool is_error(int rank)
{
    return rank == -EINVAL || rank == -ENOMEM;
}

/* The same inside of an iteration. While that goes where it went, the feedback has no turn. */
static int ask_in_iteration(struct orr_placed *d, struct orr_place_view *v)
{
    uint64_t hash = orr_frozen_hash(v);
    int rank = d->failed ? ORR_PLACE_OPEN : orr_frozen_next(&d->frozen, hash);
    if (rank != ORR_PLACE_OPEN) {
        v->position = d->position++;
        return rank;
    }
    rank = ask(d, v);
    if (is_error(rank)) return rank;
    if (orr_frozen_note(&d->frozen, hash, rank)) return fail(d, -ENOMEM);
    return rank;
}

/* A thread inserts beside the one that has from the first. */
static int refuse_thread(const struct orr_placed *d, const struct orr_place_view *v)
{
    char here[256] = "", there[256] = "";
    if (v->file) snprintf(here, sizeof here, " (%s:%d)", v->file, v->line);
    if (d->file) snprintf(there, sizeof there, ", the other from %s:%d on", d->file, d->line);
    orr_error("starpu_mpi_task_insert%s: the placement \"%s\" needs one order of all tasks, and two threads "
              "insert on one communicator%s; insert from one, or give each a communicator",
              here, d->ops->name, there);
    return -EINVAL;
}

int orr_placed_choose(struct orr_comm *c, struct orr_place_view *v)
{
    const struct orr_place *p = c->cluster->place;
    void *none;
    const struct orr_place_ops *ops = ops_of(p, p->current, &none);
    struct orr_placed *d = c->placed;
    int r = 0;
    if (orr_unlikely(!d || d->ops != ops)) {
        if (!(d = begin(c, ops, &r))) return r;
        d->file = v->file;
        d->line = v->line;
    }
    if (orr_unlikely(d->thread != orr_self())) return refuse_thread(d, v);
    for (int i = 0; i < v->count; i++) orr_owned_expect(v->data[i].handle);
    int rank = orr_unlikely(d->frozen.current != NULL) ? ask_in_iteration(d, v) : ask(d, v);
    if (orr_unlikely(is_error(rank))) return rank; /* said */
    return v->fixed != ORR_PLACE_OPEN ? v->fixed : checked(ops, rank, c);
}

int orr_placed_bind_at(struct orr_comm *c, struct starpu_task *task, uint64_t position)
{
    struct orr_placed *d = c->placed;
    if (!d || !d->begun || !c->cluster->place->for_all || !d->ops->bind) return 0;
    return d->ops->bind(d->state, task, position);
}

int orr_placed_bind(struct orr_comm *c, struct starpu_task *task)
{
    return c->placed ? orr_placed_bind_at(c, task, c->placed->position - 1) : 0;
}

bool orr_policy_repeats(const struct orr_place *p)
{
    void *state;
    return ops_of(p, p->current, &state)->repeat;
}

uint64_t orr_placed_position(const struct orr_comm *c)
{
    void *state;
    const struct orr_place *p = c->cluster->place;
    return c->placed && c->placed->ops == ops_of(p, p->current, &state) ? c->placed->position : 0;
}

bool orr_placed_repeat(struct orr_comm *c, uint64_t from, uint64_t count, uint64_t *at_out)
{
    void *state;
    struct orr_placed *d = c->placed;
    if (!d || !d->begun || d->thread != orr_self() ||
        d->ops != ops_of(c->cluster->place, c->cluster->place->current, &state))
        return false;
    *at_out = d->position;
    if (!d->ops->repeat || !d->ops->repeat(d->state, from, d->position, count)) return false;
    d->position += count;
    return true;
}

bool orr_placed_repeat_one(struct orr_comm *c, uint64_t from, uint64_t step, uint64_t *at_out)
{
    struct orr_placed *d = c->placed;
    if (!d || !d->ops->figures) return orr_placed_repeat(c, from + step, 1, at_out);
    if (d->failed || d->thread != orr_self() || !orr_frozen_step(&d->frozen, step)) return false;
    *at_out = d->position++;
    return true;
}

/* ---- iterations of one that has figures ---- */

bool orr_policy_has_figures(const struct orr_place *p)
{
    void *state;
    return ops_of(p, p->current, &state)->figures;
}

/* It, begun, for the thread that inserts; NULL: it cannot (said). */
static struct orr_placed *with_figures(struct orr_comm *c)
{
    void *none;
    const struct orr_place_ops *ops = ops_of(c->cluster->place, c->cluster->place->current, &none);
    struct orr_placed *d = c->placed;
    int r = 0;
    if (!d || d->ops != ops) d = begin(c, ops, &r);
    return d && d->begun && !d->failed && d->thread == orr_self() ? d : NULL;
}

/* Whether it goes where it went. */
static bool begin_iteration(struct orr_placed *d, int64_t id)
{
    uint64_t figures;
    if (d->position >= d->turn) take_turn(d);
    bool they_stand = d->ops->figures(d->state, &figures);
    int r = orr_frozen_begin(&d->frozen, id, figures, they_stand);
    if (r < 0) {
        orr_error("the placement \"%s\": out of memory for an iteration", d->ops->name);
        fail(d, r);
        return false;
    }
    if (r != ORR_FROZEN_NOT) d->ops->frozen(d->state, r == ORR_FROZEN_STILL);
    return r == ORR_FROZEN_STILL;
}

bool orr_placed_iteration_begin(struct orr_comm *c, int id)
{
    if (!orr_comm_is_base(c) || !orr_policy_has_figures(c->cluster->place)) return true;
    struct orr_placed *d = with_figures(c);
    return d && begin_iteration(d, id);
}

uint64_t orr_placed_iteration_choices(const struct orr_comm *c)
{
    return c->placed ? orr_frozen_choices(&c->placed->frozen) : 0;
}

bool orr_placed_iteration_repeat(struct orr_comm *c, uint64_t choices, uint64_t count, uint64_t *at_out)
{
    struct orr_placed *d = c->placed;
    if (!d || d->failed || !orr_frozen_repeat(&d->frozen, choices, count)) return false;
    *at_out = d->position;
    d->position += count;
    return true;
}

uint64_t orr_placed_iteration_end(struct orr_comm *c)
{
    struct orr_placed *d = c->placed;
    uint64_t figures;
    if (!d || !d->frozen.current) return 0;
    d->ops->figures(d->state, &figures);
    return orr_frozen_end(&d->frozen, figures);
}

/* It, if marks by this thread count. One that no insertion began yet is left alone: it would belong to this
 * thread, which may insert nothing. */
static struct orr_placed *marking(const struct orr_comm *c)
{
    void *none;
    const struct orr_place *p = c->cluster->place;
    struct orr_placed *d = c->placed;
    if (!d || d->ops != ops_of(p, p->current, &none) || !d->ops->figures) return NULL;
    return d->begun && !d->failed && d->thread == orr_self() ? d : NULL;
}

enum mark { MARK_MEETS = 1, MARK_ENDS, MARK_BEGINS };

static void note_mark(struct orr_placed *d, enum mark what)
{
    d->marks = ((d->marks << 5 | d->marks >> 59) ^ (4 * d->position + what)) * 0x9e3779b97f4a7c15u;
    if (!d->marks) d->marks = 1;
    if (d->feedback) orr_feedback_say(d->feedback, d->marks);
}

/* Which marks of one rank are another's is not known before they were compared, so a first one counts for
 * nothing; from then on a difference is one of the streams, and told as such. */
static bool are_marks_agreed(const struct orr_comm *c, const struct orr_placed *d)
{
    return c->size == 1 || (d->feedback && orr_feedback_agreed(d->feedback));
}

bool orr_placed_mark_begin(struct orr_comm *c, bool *repeats_out)
{
    struct orr_placed *d = marking(c);
    if (!d) return false;
    note_mark(d, MARK_BEGINS);
    if (d->frozen.current || !are_marks_agreed(c, d)) return false;
    orr_stream_iteration_marked(c);
    *repeats_out = begin_iteration(d, ORR_FROZEN_MARKED);
    return d->marked = !d->failed;
}

bool orr_placed_mark_end(struct orr_comm *c, uint64_t *choices_out)
{
    struct orr_placed *d = marking(c);
    if (!d) return false;
    note_mark(d, MARK_ENDS);
    if (!d->marked) return false;
    *choices_out = orr_placed_mark_cut(c);
    return true;
}

uint64_t orr_placed_mark_cut(struct orr_comm *c)
{
    if (!c->placed || !c->placed->marked) return 0;
    c->placed->marked = false;
    return orr_placed_iteration_end(c);
}

void orr_placed_thaw(struct orr_comm *c)
{
    if (c->placed) orr_frozen_thaw(&c->placed->frozen);
}

void orr_place_set_history(struct orr_place *p, struct orr_history *h)
{
    void *state;
    p->history = h;
    p->follows = h || ops_of(p, p->current, &state)->bind;
}

void orr_placed_measured(struct orr_comm *c, const struct orr_place_measure *m)
{
    struct orr_placed *d = c->placed;
    if (d && d->begun && d->ops->measured) d->ops->measured(d->state, m);
}

void orr_placed_met(struct orr_comm *c)
{
    struct orr_placed *d = c->placed;
    struct orr_history *h = c->cluster->place->history;
    if (orr_unlikely(h != NULL)) orr_history_met(h, c);
    if (!d) return;
    if (d->marks) note_mark(d, MARK_MEETS); /* which side of it a mark is on decides what it begins with */
    if (d->feedback) {
        orr_feedback_meet(d->feedback, d->position);
        d->turn = orr_feedback_next(d->feedback);
    }
    if (d->begun && d->ops->met) d->ops->met(d->state);
}
