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
#include "mpi/place/insert.h"
#include "mpi/place/recording.h"
#include "mpi/value/cache.h"
#include "mpi/value/exchange.h"

enum { AHEAD = 2 };        /* models are fetched so many tasks before they are needed */
enum { FAILURES_MAX = 4 }; /* records in a row that came to nothing, until none is tried any more */

struct orr_replays {
    struct orr_recording *list;    /* the latest first */
    struct orr_recording *current; /* the iteration that began, and has not ended; NULL: none */
    bool as_one;                   /* it is logged as one entry */
};

/* ---- replaying ---- */

/* An access by a task here to data of its own, of which nothing is pending: what orr_exchange_before and
 * _after come to. */
static inline bool is_quiet(const struct orr_data *h)
{
    return !(h->mpi_flags & (ORR_MPI_CONCERNED & ~(int)ORR_MPI_SENT));
}

static int exchange_own(const struct starpu_data_descr *data, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!(data[i].mode & STARPU_W)) continue;
        orr_cache_written(data[i].handle);
        data[i].handle->mpi_flags |= ORR_MPI_WRITTEN;
    }
    return 0;
}

static int exchange(struct orr_comm *c, const struct orr_recorded *p, const struct starpu_data_descr *data,
                    int (*one)(struct orr_comm *, struct orr_data *, int, int, int))
{
    int status = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        int r = one(c, data[i].handle, data[i].mode, p->xrank, p->priority);
        if (r) status = r;
    }
    return status;
}

static int submit(struct orr_comm *c, const struct orr_recorded *p, orr_replay_patch_fn patch, void *arg)
{
    uint32_t flags;
    struct starpu_task *task = orr_task_from(p->model, &flags);
    if (!task) return -ENOMEM;
    if (patch) patch(task, p->position, arg);
    return orr_mpi_submit(c, task, flags);
}

static int replay_one(struct orr_comm *c, const struct orr_recorded *p, const struct starpu_data_descr *data,
                      orr_replay_patch_fn patch, void *arg)
{
    bool own = p->own;
    for (uint32_t i = 0; i < p->count && own; i++) own = is_quiet(data[i].handle);
    int r = own ? 0 : exchange(c, p, data, orr_exchange_before);
    if (!r && p->model) r = submit(c, p, patch, arg);
    if (r) return r;
    return own ? exchange_own(data, p->count) : exchange(c, p, data, orr_exchange_after);
}

static int replay(struct orr_comm *c, const struct orr_recording *rec, orr_replay_patch_fn patch, void *arg)
{
    for (size_t i = 0; i < rec->nparts; i++) {
        const struct orr_recorded *p = &rec->parts[i];
        if (i + AHEAD < rec->nparts && p[AHEAD].model) orr_task_model_prefetch(p[AHEAD].model);
        int r = replay_one(c, p, rec->data + p->first, patch, arg);
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

static struct orr_recording *find_or_add(struct orr_comm *c, int id, bool *first_out)
{
    struct orr_replays *all = c->replays;
    *first_out = false;
    if (!all) all = c->replays = orr_calloc(1, sizeof *all);
    struct orr_recording *r = all ? find(all, id) : NULL;
    if (r || !all) return r;
    *first_out = true;
    r = orr_calloc(1, sizeof *r);
    if (!r) return NULL;
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

static void say_once(struct orr_recording *r, const char *what, const char *task, const char *why)
{
    if (r->said) return;
    r->said = true;
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
    if (!atomic_compare_exchange_strong_explicit(&c->cluster->place->recording, &none, r,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    orr_recording_begin(r, c);
    c->recording = r;
}

static void end_recording(struct orr_comm *c, struct orr_recording *r)
{
    orr_store_release(&c->cluster->place->recording, NULL); /* pairs with begin_recording */
    if (orr_recording_end(r, c)) {
        r->failures = 0;
        return;
    }
    say_once(r, "is inserted each time, not replayed", r->task, orr_load_relaxed(&r->other));
    if (++r->failures >= FAILURES_MAX) r->state = ORR_RECORDING_GIVEN_UP;
}

/* What was recorded is not right any more. One that is never replayed is not recorded for ever. */
static void discard(struct orr_recording *r, const char *why)
{
    say_once(r, "is recorded anew", NULL, why);
    uint32_t failures = r->replays ? 0 : r->failures + 1;
    orr_recording_clear(r);
    r->failures = failures;
    if (failures >= FAILURES_MAX) r->state = ORR_RECORDING_GIVEN_UP;
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
    struct orr_recording *r = find_or_add(c, id, &first);
    if (!r) {
        orr_error("orrery_mpi_iteration_begin: out of memory");
        return -ENOMEM;
    }
    c->replays->current = r;
    if (c->cluster->place->for_all || c->cluster->place->history || c->cluster->value->moves.on) {
        say_once(r, "is inserted each time, not replayed", NULL,
                 c->cluster->place->history ? "the schedule is recorded (ORRERY_PLAN_RECORD)"
                                            : "the placement in use decides anew for each task");
        return 0;
    }
    const char *old = r->state == ORR_RECORDING_READY ? why_old(c, r) : NULL;
    if (old) discard(r, old);
    if (r->state != ORR_RECORDING_READY) {
        c->replays->as_one = !first;
        if (!first) orr_stream_iteration_begin(c);
        begin_recording(c, r);
        return 0;
    }
    r->replays++;
    int status = replay(c, r, patch, arg);
    orr_stream_iteration_replayed(c, id, r->hash);
    c->recording = r; /* what is inserted now is refused */
    return status ? status : 1;
}

int orr_replay_end(struct orr_comm *c)
{
    struct orr_recording *r = c->replays ? c->replays->current : NULL;
    if (!r) {
        orr_error("orrery_mpi_iteration_end: no iteration has begun on this communicator");
        return -EINVAL;
    }
    c->replays->current = NULL;
    bool recorded = c->recording == r && r->state == ORR_RECORDING_MAKING;
    c->recording = NULL;
    if (recorded) end_recording(c, r);
    if (c->replays->as_one) r->hash = orr_stream_iteration_end(c, r->id);
    c->replays->as_one = false;
    return 0;
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
    struct orr_recording *made = c->recording;
    c->replays = NULL;
    c->recording = NULL;
    if (!all) return;
    if (made && orr_load_relaxed(&c->cluster->place->recording) == made)
        orr_store_release(&c->cluster->place->recording, NULL); /* pairs with begin_recording */
    for (struct orr_recording *r = all->list, *next; r; r = next) {
        next = r->next;
        orr_recording_clear(r);
        orr_free(r);
    }
    orr_free(all);
}
