/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c: see replay.h.
 * Threads: see replay.h. Owns: see replay.h. Not here: see replay.h. */
#include "mpi/place/replay.h"

#include <errno.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "mpi/live/stream.h"
#include "mpi/place/gaps.h"
#include "mpi/place/recording.h"
#include "mpi/place/repeat.h"
#include "mpi/place/script.h"

enum {
    RECORDS_MOST = 256, /* are kept: the one that was not used for longest goes */
    UNREPEATED_MOST =
        32 /* then an iteration is recorded when its number comes a second time, not the first */
};
enum { FAILURES_MAX = 4 }; /* records in a row that came to nothing, until none is tried any more */

struct orr_replays {
    struct orr_recording *list;    /* the latest first */
    struct orr_recording *current; /* the iteration that began, and has not ended; NULL: none */
    bool as_one;                   /* it is logged as one entry */
    size_t count;                  /* of list */
    uint32_t unrepeated;         /* numbers in a row whose iterations were recorded, and none was replayed */
    struct orr_recording pushed; /* of iterations between starpu_iteration_push and _pop */
};

/* ---- replaying ---- */

static int replay(struct orr_comm *c, const struct orr_recording *rec, orr_replay_patch_fn patch, void *arg)
{
    for (size_t i = 0; i < rec->nparts; i++) {
        const struct orr_recorded *p = &rec->parts[i];
        orr_repeat_prefetch(rec, i);
        int r = orr_repeat(c, p, rec->data + p->first, patch, arg);
        if (orr_likely(!r)) continue;
        orr_error(
            "orrery_mpi_iteration_begin: iteration %d was replayed up to its insertion %u, which failed "
            "(%d); the rest of it is not submitted here",
            rec->id, (unsigned)p->position + 1, r);
        return r;
    }
    return 0;
}

/* ---- which are recorded ---- */

static struct orr_recording *find(struct orr_replays *all, int id)
{
    struct orr_recording **p = &all->list, *r;
    while (*p && (*p)->id != id) p = &(*p)->next;
    r = *p;
    if (!r) return NULL;
    *p = r->next; /* to the front: the next is likely the same */
    r->next = all->list;
    return all->list = r;
}

/* NULL: out of memory. */
static struct orr_replays *replays_of(struct orr_comm *c)
{
    if (c->replays) return c->replays;
    c->replays = orr_calloc(1, sizeof *c->replays);
    if (c->replays) c->replays->pushed.by_itself = true;
    return c->replays;
}

/* The list is full. All ranks begin the same iterations in the same order, so they forget the same ones, and
 * log alike what they do not know any more. */
static void forget_last(struct orr_replays *all)
{
    struct orr_recording **p = &all->list, *r;
    while ((*p)->next) p = &(*p)->next;
    r = *p;
    *p = NULL;
    all->count--;
    orr_recording_clear(r);
    orr_free(r);
}

static struct orr_recording *find_or_add(struct orr_comm *c, int id, bool *first_out)
{
    struct orr_replays *all = replays_of(c);
    *first_out = false;
    struct orr_recording *r = all ? find(all, id) : NULL;
    if (r || !all) return r;
    *first_out = true;
    r = orr_calloc(1, sizeof *r);
    if (!r) return NULL;
    if (all->count++ == RECORDS_MOST) forget_last(all);
    r->id = id;
    r->next = all->list;
    return all->list = r;
}

/* Why what was recorded is not right any more; NULL: it is. */
static const char *why_old(const struct orr_comm *c, const struct orr_recording *r)
{
    struct orr_value *v = c->cluster->value;
    if (orr_load_acquire(&v->upsets) != r->upsets) /* pairs with orr_owned_ends and its like */
        return orr_load_relaxed(&v->upset_why);
    if (c->cluster->place->changes != r->changes) return "another node selection policy was chosen";
    return NULL;
}

/* A placement chooses for each task, and has not said what it repeats; data are not at home; or each task is
 * noted. */
static bool is_decided_anew(const struct orr_comm *c)
{
    const struct orr_place *p = c->cluster->place;
    if (p->for_all)
        return p->history || !p->moves || !orr_comm_is_base(c) ||
               !(orr_policy_repeats(p) || orr_policy_has_figures(p));
    return p->follows || c->cluster->value->moves.on;
}

/* What was recorded can be done again, here and as the placement says: NULL, and it has been told, if one is
 * asked. Else why not. */
static const char *why_not_again(struct orr_comm *c, const struct orr_recording *r, uint64_t *at_out)
{
    *at_out = 0;
    if (!r->moves) return NULL;
    if (r->thread != orr_self()) return "another thread inserts";
    if (!orr_gaps_fit(r, c)) return "data of other ranks are now used here";
    if (orr_policy_has_figures(c->cluster->place))
        return orr_placed_iteration_repeat(c, r->gaps->choices, r->insertions, at_out)
                   ? NULL
                   : "its insertions are others than before";
    if (!orr_placed_repeat(c, r->gaps->from, r->insertions, at_out))
        return "the plan has other ranks for it than before, or ends";
    return NULL;
}

/* It was recorded with other choices than the placement repeats, or that chooses anew. */
static bool is_of_other_choices(const struct orr_comm *c, const struct orr_recording *r, bool repeats)
{
    if (r->state != ORR_RECORDING_READY || !r->moves || !orr_policy_has_figures(c->cluster->place))
        return false;
    return !repeats || r->gaps->choices != orr_placed_iteration_choices(c);
}

static void say_once(struct orr_recording *r, const char *what, const char *task, const char *why)
{
    if (r->said) return;
    r->said = true;
    if (r->by_itself) {
        orr_warn("iterations between starpu_iteration_push and starpu_iteration_pop were replayed, and now "
                 "differ: %s; they are recorded anew",
                 why);
        return;
    }
    bool is_function = !strncmp(why, "starpu_", 7) || !strncmp(why, "orrery_", 7);
    orr_warn("iteration %d %s: %s%s%s%s%s", r->id, what, task ? "task " : "", task ? task : "",
             task ? " " : "", why, is_function ? " is called in it" : "");
}

/* ---- inside of an iteration ---- */

/* It is recorded, unless it was given up, or another is being recorded by another thread. */
static void begin_recording(struct orr_comm *c, struct orr_recording *r)
{
    struct orr_recording *none = NULL;
    if (r->state == ORR_RECORDING_GIVEN_UP) return;
    orr_recording_begin(r, c); /* first: other threads read it once it is there */
    if (!atomic_compare_exchange_strong_explicit(&c->cluster->place->recording, &none, r,
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        orr_recording_clear(r);
        return;
    }
    orr_store_release(&c->recording, r); /* pairs with orr_mpi_insert */
}

static void end_recording(struct orr_comm *c, struct orr_recording *r, uint64_t choices)
{
    orr_store_release(&c->cluster->place->recording, NULL); /* pairs with begin_recording */
    bool ready = orr_recording_end(r, c);
    if (ready && r->moves && !orr_gaps_make(r, c)) {
        orr_recording_spoil(r, "there is no memory for the record");
        orr_recording_clear(r);
        ready = false;
    }
    if (ready) {
        r->failures = 0;
        if (r->moves) r->gaps->choices = choices;
        return;
    }
    say_once(r, "is inserted each time, not replayed", r->task, orr_load_relaxed(&r->other));
    if (++r->failures >= FAILURES_MAX) r->state = ORR_RECORDING_GIVEN_UP;
}

/* What was recorded is not right any more. One that is never replayed is not recorded for ever. */
static void discard(struct orr_recording *r, const char *why)
{
    if (!r->by_itself || r->replays) say_once(r, "is recorded anew", NULL, why);
    uint32_t failures = r->replays ? 0 : r->failures + 1;
    orr_recording_clear(r);
    r->failures = failures;
    if (failures >= FAILURES_MAX) r->state = ORR_RECORDING_GIVEN_UP;
}

/* One that the program only marks ends, with these choices, if this thread has begun one. */
static void end_by_itself(struct orr_comm *c, uint64_t choices)
{
    struct orr_recording *r = orr_load_relaxed(&c->recording);
    if (!r || !r->by_itself || r->thread != orr_self()) return;
    orr_store_relaxed(&c->recording, NULL);
    if (r->state == ORR_RECORDING_READY && orr_script_end(r)) {
        r->replays++;
    } else if (r->state == ORR_RECORDING_READY) {
        discard(r, "the tasks, or their arguments, are others than before");
    } else if (orr_recording_end(r, c)) {
        if (r->moves) r->gaps->choices = choices;
    } else if (++r->failures >= FAILURES_MAX) {
        r->state = ORR_RECORDING_GIVEN_UP;
    }
}

/* A program that counts its iterations would have each recorded, and none replayed. */
static bool is_worth_it(struct orr_replays *all)
{
    if (all->unrepeated == UNREPEATED_MOST)
        orr_warn("orrery_mpi_iteration_begin: %u iterations were recorded, and each had a number of its own: "
                 "none was replayed; give the same number to those that insert the same tasks",
                 (unsigned)UNREPEATED_MOST);
    return all->unrepeated++ < UNREPEATED_MOST;
}

/* An iteration was replayed, and the program looked at its data or waited between its beginning and its end:
 * what the record was made of did not. So it may have meant a place in the middle, which is over. */
static void looked_at_replayed(struct orr_recording *r)
{
    orr_warn(
        "iteration %d was replayed, and data were acquired, or tasks waited for, before its end: they saw "
        "all of it done; it is inserted each time from now on (call orrery_mpi_iteration_end before)",
        r->id);
    orr_recording_clear(r);
    r->state = ORR_RECORDING_GIVEN_UP;
}

int orr_replay_begin(struct orr_comm *c, int id, orr_replay_patch_fn patch, void *arg)
{
    bool first;
    if (c->replays && c->replays->current) {
        orr_error(
            "orrery_mpi_iteration_begin: iteration %d has not ended; call orrery_mpi_iteration_end first",
            c->replays->current->id);
        return -EINVAL;
    }
    end_by_itself(c, orr_placed_mark_cut(c)); /* what says more goes first */
    struct orr_recording *r = find_or_add(c, id, &first);
    if (!r) {
        orr_error("orrery_mpi_iteration_begin: out of memory");
        return -ENOMEM;
    }
    bool repeats = orr_placed_iteration_begin(c, id);
    c->replays->current = r;
    if (is_decided_anew(c)) {
        say_once(r, "is inserted each time, not replayed", NULL,
                 c->cluster->place->history ? "the schedule is recorded (ORRERY_PLAN_RECORD)"
                                            : "the placement in use decides anew for each task");
        return 0;
    }
    uint64_t at;
    if (is_of_other_choices(c, r, repeats)) orr_recording_clear(r);
    const char *old = r->state == ORR_RECORDING_READY ? why_old(c, r) : NULL;
    if (!old && r->state == ORR_RECORDING_READY) old = why_not_again(c, r, &at);
    if (old) discard(r, old);
    if (r->state != ORR_RECORDING_READY) {
        c->replays->as_one = !first;
        if (!first) orr_stream_iteration_begin(c);
        if (repeats && (!first || is_worth_it(c->replays))) begin_recording(c, r);
        return 0;
    }
    r->replays++;
    c->replays->unrepeated = 0;
    r->looks = orr_acting(orr_self())->looks;
    int status = r->moves ? orr_gaps_replay(c, r, at, patch, arg) : replay(c, r, patch, arg);
    orr_stream_iteration_replayed(c, id, r->hash);
    orr_store_release(&c->recording, r); /* what is inserted now is refused; pairs with orr_mpi_insert */
    return status ? status : 1;
}

int orr_replay_end(struct orr_comm *c)
{
    struct orr_recording *r = c->replays ? c->replays->current : NULL;
    uint64_t choices = orr_placed_iteration_end(c);
    if (!r) {
        orr_error("orrery_mpi_iteration_end: no iteration has begun on this communicator");
        return -EINVAL;
    }
    c->replays->current = NULL;
    bool recorded = orr_load_relaxed(&c->recording) == r && r->state == ORR_RECORDING_MAKING;
    orr_store_relaxed(&c->recording, NULL);
    if (recorded) end_recording(c, r, choices);
    if (!recorded && r->state == ORR_RECORDING_READY && !r->looked && orr_recording_looked(r))
        looked_at_replayed(r);
    if (c->replays->as_one) r->hash = orr_stream_iteration_end(c, r->id);
    c->replays->as_one = false;
    return 0;
}

/* ---- by itself ---- */

/* Marks inside of an iteration with a number are none: who replays that does not come by them. */
static bool is_inside_another(const struct orr_comm *c)
{
    return c->replays && c->replays->current;
}

void orr_replay_push(struct orr_comm *c)
{
    bool repeats = true;
    if (!orr_stream_is_own(c) || is_inside_another(c)) return;
    if (orr_policy_has_figures(c->cluster->place) && !orr_placed_mark_begin(c, &repeats)) return;
    struct orr_replays *all = replays_of(c);
    struct orr_recording *r = all ? &all->pushed : NULL;
    if (!r || r->state == ORR_RECORDING_GIVEN_UP || orr_load_relaxed(&c->recording)) return;
    if (is_decided_anew(c)) return;
    if (r->state == ORR_RECORDING_READY && r->thread != orr_self()) return;
    if (is_of_other_choices(c, r, repeats)) orr_recording_clear(r);
    const char *old = r->state == ORR_RECORDING_READY ? why_old(c, r) : NULL;
    if (old) discard(r, old);
    if (r->state == ORR_RECORDING_GIVEN_UP) return;
    if (r->state == ORR_RECORDING_READY)
        orr_script_begin(r);
    else if (repeats)
        orr_recording_begin(r, c);
    else
        return;
    orr_store_release(&c->recording, r); /* pairs with orr_mpi_insert */
}

void orr_replay_pop(struct orr_comm *c)
{
    uint64_t choices = 0;
    if (orr_stream_is_own(c)) {
        if (is_inside_another(c)) return;
        if (orr_policy_has_figures(c->cluster->place) && !orr_placed_mark_end(c, &choices)) return;
    }
    end_by_itself(c, choices);
}

void orr_replay_forget(struct orr_comm *c, int id)
{
    for (struct orr_recording *r = c->replays ? c->replays->list : NULL; r; r = r->next) {
        if ((id != -1 && r->id != id) || r == c->replays->current) continue;
        orr_recording_clear(r);
        r->failures = 0;
    }
}

void orr_replay_drop(struct orr_comm *c)
{
    struct orr_replays *all = c->replays;
    struct orr_recording *made = orr_load_relaxed(&c->recording);
    c->replays = NULL;
    orr_store_relaxed(&c->recording, NULL);
    if (!all) return;
    if (made && orr_load_relaxed(&c->cluster->place->recording) == made)
        orr_store_release(&c->cluster->place->recording, NULL); /* pairs with begin_recording */
    for (struct orr_recording *r = all->list, *next; r; r = next) {
        next = r->next;
        orr_recording_clear(r);
        orr_free(r);
    }
    orr_recording_clear(&all->pushed);
    orr_free(all);
}
