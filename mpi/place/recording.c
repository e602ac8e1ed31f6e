/* SPDX-License-Identifier: BSD-3-Clause */
/* recording.c: see recording.h. All insertions are noted first; at the end those without a part of this rank
 * are thrown out, since only then it is known which data it touches.
 * Threads: see recording.h. Owns: see recording.h. Not here: see recording.h. */
#include "mpi/place/recording.h"

#include <errno.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/task.h"

static const char no_memory[] = "there is no memory for the record";

void orr_recording_spoil(struct orr_recording *r, const char *why)
{
    const char *none = NULL;
    atomic_compare_exchange_strong_explicit(&r->other, &none, why, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* What may be called meanwhile: it changes nothing, or is noted elsewhere. */
static bool is_harmless(const char *fn)
{
    static const char *const names[] = { "starpu_mpi_comm_rank", "starpu_mpi_comm_size",
                                         "orrery_mpi_iteration_end" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(fn, names[i])) return true;
    static const char of_workers[] = "orrery_cluster_worker_"; /* tables of what never changes */
    return !strncmp(fn, of_workers, sizeof of_workers - 1);
}

/* Those that are not noted are on another communicator. */
static bool is_insertion(const char *fn)
{
    return !strcmp(fn, "starpu_mpi_task_insert") || !strcmp(fn, "starpu_mpi_insert_task");
}

void orr_recording_called(struct orr_recording *r, const char *fn)
{
    if (is_insertion(fn))
        r->calls += r->thread == orr_self();
    else if (!is_harmless(fn))
        orr_recording_spoil(r, fn);
}

/* ---- noting ---- */

static void clear_gaps(struct orr_recording *r)
{
    if (!r->gaps) return;
    orr_free(r->gaps->gap);
    orr_free(r->gaps->was_here);
    orr_free(r->gaps->missed);
    orr_free(r->gaps->data);
    orr_free(r->gaps->readers);
    orr_free(r->gaps);
    r->gaps = NULL;
}

static void clear_parts(struct orr_recording *r)
{
    for (size_t i = 0; i < r->nparts; i++) orr_task_model_free(r->parts[i].model);
    orr_free(r->parts);
    orr_free(r->data);
    orr_free(r->lines);
    clear_gaps(r);
    r->parts = NULL;
    r->data = NULL;
    r->lines = NULL;
    r->nparts = r->ndata = r->parts_room = r->data_room = 0;
    r->nlines = r->lines_room = 0;
}

void orr_recording_clear(struct orr_recording *r)
{
    clear_parts(r);
    r->state = ORR_RECORDING_EMPTY;
}

static bool make_gaps(struct orr_recording *r, size_t room)
{
    struct orr_gap *more = orr_realloc(r->gaps->gap, room * sizeof *more);
    if (more) r->gaps->gap = more;
    return more;
}

static bool make_notes(struct orr_recording *r, size_t room)
{
    bool *more = orr_realloc(r->gaps->was_here, room * sizeof *more);
    if (more) r->gaps->was_here = more;
    return more;
}

void orr_recording_begin(struct orr_recording *r, struct orr_comm *c)
{
    orr_recording_clear(r);
    r->state = ORR_RECORDING_MAKING;
    r->changes = c->cluster->place->changes;
    r->insertions = 0;
    r->calls = 0;
    r->hash = 0;
    r->submitted = 0;
    r->submitted_before = orr_load_relaxed(&orr_task_self()->submitted);
    r->looks = orr_acting(orr_self())->looks;
    r->looked = false;
    r->thread = orr_self();
    r->ends = orr_load_acquire(&c->cluster->value->ends); /* pairs with orr_owned_ends */
    r->task = NULL;
    orr_store_relaxed(&r->other, NULL);
    r->moves = c->cluster->place->moves && orr_comm_is_base(c);
    if (!r->moves) return;
    r->gaps = orr_calloc(1, sizeof *r->gaps);
    if (r->gaps && make_gaps(r, 1)) /* that behind all parts, if there are any */
        r->gaps->from = orr_placed_position(c);
    else
        orr_recording_spoil(r, no_memory);
}

bool orr_recording_looked(const struct orr_recording *r)
{
    return orr_acting(orr_self())->looks != r->looks;
}

/* Room for one more part with so many accesses. */
static bool make_room(struct orr_recording *r, size_t accesses)
{
    if (r->nparts == r->parts_room) {
        size_t room = r->parts_room ? 2 * r->parts_room : 64;
        struct orr_recorded *more = orr_realloc(r->parts, room * sizeof *more);
        if (!more) return false;
        r->parts = more;
        if (r->moves && !make_gaps(r, room + 1)) return false;
        r->parts_room = room;
    }
    if (r->ndata + accesses > r->data_room) {
        size_t room = 2 * (r->data_room + accesses) + 128;
        struct starpu_data_descr *more = orr_realloc(r->data, room * sizeof *more);
        if (!more) return false;
        r->data = more;
        if (r->moves && !make_notes(r, room)) return false;
        r->data_room = room;
    }
    return r->ndata + accesses <= UINT32_MAX && r->nparts < UINT32_MAX;
}

/* The rank was chosen by a function of the program's, which may answer otherwise the next time. */
static bool chosen_by_program(const struct orr_comm *c, const struct orr_arguments *a)
{
    const struct orr_place *place = c->cluster->place;
    if (place->for_all) /* the current one says what it repeats */
        return a->policy >= 0 && a->policy != orr_policy_get_current(place);
    if (a->xrank != ORR_PLACE_OPEN) return false;
    int writer = ORR_PLACE_OPEN;
    for (int i = 0; i < a->count; i++) {
        const struct orr_data *h = a->data[i].handle;
        int mode = a->data[i].mode;
        if (!h || !(mode & STARPU_W) || mode & (STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX)) continue;
        int owner = orr_owned_rank(c, h);
        if (owner == ORR_RANK_PER_NODE) return false;
        if (owner < 0) continue;
        if (writer != ORR_PLACE_OPEN && writer != owner)
            return orr_policy_is_programs(c->cluster->place, a->policy);
        writer = owner;
    }
    return writer == ORR_PLACE_OPEN && orr_policy_is_programs(c->cluster->place, a->policy);
}

/* Keeps an access. From here on it is noticed when h goes. */
static bool keep_access(struct orr_recording *r, struct orr_value *v, struct orr_data *h, int mode)
{
    if (!orr_owned_get(v, h)) return false;
    h->mpi_flags |= ORR_MPI_RECORDED;
    if (r->moves) r->gaps->was_here[r->ndata] = orr_moves_is_here(h);
    r->data[r->ndata++] =
        (struct starpu_data_descr){ .handle = h, .mode = (enum starpu_data_access_mode)mode };
    return true;
}

/* The accesses of the insertion, and the datum that it is placed by: that is none, but must stay where it is.
 */
static bool keep_accesses(struct orr_recording *r, struct orr_value *v, const struct orr_arguments *a)
{
    bool good = true;
    for (int i = 0; i < a->count && good; i++)
        if (a->data[i].handle) good = keep_access(r, v, a->data[i].handle, a->data[i].mode);
    if (good && a->xrank == ORR_PLACE_OF_DATA) good = keep_access(r, v, a->on_data, STARPU_NONE);
    if (good && a->xrank == ORR_PLACE_OF_DATA && r->moves) r->ndata--; /* only noticed */
    return good;
}

static const char *keep_model(struct orr_recorded *p, const struct starpu_task *task)
{
    const char *why = orr_task_why_once(task);
    if (why) return why;
    p->model = orr_task_model(task);
    return p->model ? NULL : no_memory;
}

void orr_recording_note(struct orr_recording *r, struct orr_comm *c, const struct starpu_codelet *cl,
                        const struct orr_arguments *a, int xrank, const struct starpu_task *task)
{
    if (orr_self() != r->thread) {
        orr_recording_spoil(r, "several threads insert");
        return;
    }
    uint32_t position = r->insertions++;
    if (!r->by_itself && orr_recording_looked(r))
        orr_recording_spoil(r, "data were acquired, or tasks waited for, before its last insertion");
    if (orr_load_relaxed(&r->other)) return;
    const char *why = NULL;
    struct orr_recorded p = {
        .first = (uint32_t)r->ndata, .xrank = xrank, .priority = a->priority, .position = position
    };
    if (!make_room(r, (size_t)a->count + 1)) why = no_memory;
    if (!why && !keep_accesses(r, c->cluster->value, a)) why = no_memory;
    if (!why && chosen_by_program(c, a)) why = "was placed by a node selection policy of its own";
    if (!why && task) why = keep_model(&p, task);
    if (why && why != no_memory && r->by_itself) {
        p.once = true;
        why = NULL;
    }
    if (why) {
        r->task = cl && why != no_memory ? cl->name : NULL;
        orr_recording_spoil(r, why);
        return;
    }
    p.count = (uint32_t)r->ndata - p.first;
    if (r->moves) r->gaps->gap[r->nparts].hash = r->hash;
    r->parts[r->nparts++] = p;
}

/* ---- at the end: which data this rank touches ---- */

/* A handle of the iteration. */
struct datum {
    struct orr_data *handle; /* NULL: free */
    bool touched;            /* there is a mark of ours on it, or may be in a later iteration */
    bool whole;              /* all accesses to it are kept */
    bool clean;              /* while parts are thrown out: what is kept so far leaves no mark */
};

struct data {
    struct datum *slots;
    size_t mask;
};

static struct datum *find(const struct data *all, struct orr_data *h)
{
    size_t i = (size_t)(((uintptr_t)h >> 6) * 0x9e3779b97f4a7c15u >> 20) & all->mask;
    while (all->slots[i].handle && all->slots[i].handle != h) i = (i + 1) & all->mask;
    return &all->slots[i];
}

static bool runs_here(const struct orr_comm *c, int xrank)
{
    return xrank == c->rank || xrank == ORR_RANK_PER_NODE;
}

enum { REDUCTIONS = STARPU_REDUX | STARPU_MPI_REDUX };

static void look_at(struct datum *d, const struct orr_comm *c, struct orr_data *h, int mode, bool here)
{
    enum { MARKS = ORR_MPI_CONCERNED | ORR_MPI_TOUCHED };
    enum { WHOLE = ORR_MPI_REDUX | ORR_MPI_REDIRECTED | ORR_MPI_REDUCED };
    d->handle = h;
    d->touched |= here || h->mpi_flags & MARKS || orr_owned_rank(c, h) == c->rank;
    d->whole |= mode & REDUCTIONS || h->mpi_flags & WHOLE || h->mpi_rank == ORR_RANK_PER_NODE || h->parent ||
                h->partitioned || orr_load_relaxed(&h->planned);
}

/* Finds all handles of the accesses. False: out of memory. */
static bool survey(const struct orr_recording *r, const struct orr_comm *c, struct data *all)
{
    size_t slots = 64;
    while (slots < 2 * r->ndata) slots *= 2;
    all->slots = orr_calloc(slots, sizeof *all->slots);
    all->mask = slots - 1;
    for (size_t i = 0; all->slots && i < r->nparts; i++) {
        const struct orr_recorded *p = &r->parts[i];
        for (uint32_t k = 0; k < p->count; k++) {
            struct starpu_data_descr *a = &r->data[p->first + k];
            look_at(find(all, a->handle), c, a->handle, a->mode, runs_here(c, p->xrank));
        }
    }
    return all->slots != NULL;
}

/* Whether this rank does anything for the access; see orr_exchange_before and _after. alone: nothing but the
 * record gives this rank a copy during the iteration. */
static bool is_kept(struct datum *d, const struct orr_comm *c, int mode, bool here, bool alone)
{
    const struct orr_data *h = d->handle;
    if (h->mpi_rank == ORR_RANK_UNKNOWN || mode == STARPU_NONE) return false;
    if (here) d->clean = false;
    if (here || d->whole || orr_owned_rank(c, h) == c->rank) return true;
    if (!(mode & STARPU_W) || mode & STARPU_SCRATCH || !d->touched || d->clean) return false;
    d->clean = alone; /* others wrote it: our copy is old, and stays so until there is another */
    return true;
}

/* Plain accesses to data of its own only: no messages. */
static bool is_own(const struct orr_comm *c, const struct orr_recorded *p,
                   const struct starpu_data_descr *data)
{
    bool own = p->xrank == c->rank;
    for (uint32_t k = 0; k < p->count && own; k++)
        own = orr_owned_rank(c, data[k].handle) == c->rank &&
              !(data[k].mode & (STARPU_SCRATCH | STARPU_LOCALITY | REDUCTIONS));
    return own;
}

static void throw_out(struct orr_recording *r, const struct orr_comm *c, const struct data *all)
{
    size_t nparts = 0, ndata = 0;
    for (size_t i = 0; i < r->nparts; i++) {
        struct orr_recorded p = r->parts[i];
        bool here = runs_here(c, p.xrank);
        uint32_t first = (uint32_t)ndata;
        if (p.once) {
            orr_task_model_free(p.model);
            continue;
        }
        for (uint32_t k = 0; k < p.count; k++) {
            const struct starpu_data_descr a = r->data[p.first + k];
            if (is_kept(find(all, a.handle), c, a.mode, here, !r->by_itself)) r->data[ndata++] = a;
        }
        p.first = first;
        p.count = (uint32_t)ndata - first;
        p.own = is_own(c, &p, r->data + first);
        if (!here && !p.count) continue;
        r->parts[nparts++] = p;
        if (r->by_itself) r->lines[p.position].part = (uint32_t)nparts;
    }
    r->nparts = nparts;
    r->ndata = ndata;
}

/* From here on it is noticed when data that are left out get a mark. */
static void watch(const struct data *all)
{
    for (size_t i = 0; i <= all->mask; i++) {
        const struct datum *d = &all->slots[i];
        if (!d->handle || d->whole) continue;
        d->handle->mpi_flags |= ORR_MPI_UNREDUCED;
        if (!d->touched) d->handle->mpi_flags |= ORR_MPI_LEFT_OUT;
    }
}

static void number_lines(struct orr_recording *r)
{
    for (size_t i = 0; i < r->nparts; i++)
        if (!r->parts[i].once) r->lines[r->parts[i].position].part = (uint32_t)i + 1;
}

static void fit(struct orr_recording *r)
{
    void *parts = r->nparts ? orr_realloc(r->parts, r->nparts * sizeof *r->parts) : NULL;
    void *data = r->ndata ? orr_realloc(r->data, r->ndata * sizeof *r->data) : NULL;
    if (parts) r->parts = parts;
    if (data) r->data = data;
}

bool orr_recording_end(struct orr_recording *r, struct orr_comm *c)
{
    struct orr_value *v = c->cluster->value;
    struct data all = { 0 };
    if (!r->by_itself && orr_load_relaxed(&orr_task_self()->submitted) - r->submitted_before != r->submitted)
        orr_recording_spoil(r, "tasks were submitted that are this rank's alone");
    if (!r->by_itself && r->calls > r->insertions)
        orr_recording_spoil(r, "tasks were inserted on another communicator");
    if (c->cluster->place->changes != r->changes)
        orr_recording_spoil(r, "another node selection policy was chosen meanwhile");
    if (orr_load_acquire(&v->ends) != r->ends) /* pairs with orr_owned_ends */
        orr_recording_spoil(r, "data were unregistered meanwhile, or got another owner");
    if (!orr_load_relaxed(&r->other) && !r->moves && !survey(r, c, &all)) orr_recording_spoil(r, no_memory);
    if (orr_load_relaxed(&r->other)) {
        orr_recording_clear(r);
        return false;
    }
    r->looked = orr_recording_looked(r);
    r->upsets = orr_load_relaxed(&v->upsets);
    if (r->moves && r->by_itself) number_lines(r); /* all are kept: each is compared anyway */
    if (!r->moves) {
        watch(&all);
        throw_out(r, c, &all);
        orr_free(all.slots);
    }
    fit(r);
    r->state = ORR_RECORDING_READY;
    r->replays = 0;
    return true;
}
