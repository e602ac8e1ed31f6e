/* SPDX-License-Identifier: BSD-3-Clause */
/* insert.c: see insert.h. The argument list is read once for the data and for what concerns ranks; only the
 * rank that runs the task reads it again, to make the task.
 * Threads: the thread that submits. Owns: nothing. Not here: policies (select.c), messages (exchange.c). */
#include "mpi/place/insert.h"

#include <errno.h>
#include <starpu.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/insert.h"
#include "core/task/task.h"
#include "mpi/value/exchange.h"
#include "mpi/place/select.h"
#include "mpi/live/stream.h"

enum { INLINE_DATA = 16, NO_PLACE = -1000 };

void (*_Atomic orr_mpi_pre_submit_hook)(struct starpu_task *task);

/* An argument list as far as ranks are concerned. */
struct parsed {
    const struct orr_comm *comm;
    struct starpu_data_descr *data; /* inline_data or heap */
    int count, room;
    int xrank;  /* NO_PLACE: not said */
    int policy; /* -1: the current one */
    int priority;
    const char *file;
    int line;
    struct starpu_data_descr inline_data[INLINE_DATA];
};

static void parsed_init(struct parsed *p, const struct orr_comm *c)
{
    p->comm = c;
    p->data = p->inline_data;
    p->count = 0;
    p->room = INLINE_DATA;
    p->xrank = NO_PLACE;
    p->policy = -1;
    p->priority = 0;
    p->file = NULL;
    p->line = 0;
}

static void parsed_fini(struct parsed *p)
{
    if (orr_unlikely(p->data != p->inline_data)) orr_free(p->data);
}

static bool make_room(struct parsed *p, int count)
{
    if (orr_likely(p->count + count <= p->room)) return true;
    int room = (p->count + count) * 2;
    struct starpu_data_descr *more = orr_malloc((size_t)room * sizeof *more);
    if (!more) return false;
    memcpy(more, p->data, (size_t)p->count * sizeof *more);
    parsed_fini(p);
    p->data = more;
    p->room = room;
    return true;
}

static void add(struct parsed *p, struct orr_data *h, int mode)
{
    p->data[p->count].handle = h;
    p->data[p->count++].mode = (enum starpu_data_access_mode)mode;
}

/* ---- reading the arguments ---- */

static int add_array(struct parsed *p, struct starpu_codelet *cl, starpu_data_handle_t *handles, int n)
{
    if (n < 0 || !make_room(p, n)) return n < 0 ? -EINVAL : -ENOMEM;
    for (int i = 0; i < n; i++) {
        if (!cl) return -EINVAL;
        add(p, handles[i], STARPU_CODELET_GET_MODE(cl, p->count));
    }
    return 0;
}

static int add_descrs(struct parsed *p, const struct starpu_data_descr *descrs, int n)
{
    if (n < 0 || !make_room(p, n)) return n < 0 ? -EINVAL : -ENOMEM;
    for (int i = 0; i < n; i++) add(p, descrs[i].handle, descrs[i].mode);
    return 0;
}

static int owner_of(const struct orr_comm *c, struct orr_data *h, const char *what)
{
    int owner = orr_data_valid(h) ? orr_owned_rank(c, h) : ORR_RANK_UNKNOWN;
    if (owner >= 0 || owner == ORR_RANK_PER_NODE) return owner;
    orr_error("starpu_mpi_task_insert: the data of %s %s", what,
              owner == ORR_RANK_OUTSIDE ? "belongs to a rank that is not in the communicator"
              : orr_data_valid(h)       ? "has no owner; call starpu_mpi_data_register for it"
                                        : "is not a registered handle");
    return -EINVAL;
}

/* Arguments that are no plain access. */
static int read_other(struct parsed *p, struct starpu_codelet *cl, int kind, va_list *ap)
{
    switch (kind) {
    case STARPU_TASK_FILE: p->file = va_arg(*ap, const char *); return 0;
    case STARPU_TASK_LINE: p->line = va_arg(*ap, int); return 0;
    case STARPU_PRIORITY: p->priority = va_arg(*ap, int); return 0;
    case STARPU_EXECUTE_ON_NODE:
        p->xrank = va_arg(*ap, int);
        if (p->xrank == -1) p->xrank = NO_PLACE;
        return 0;
    case STARPU_NODE_SELECTION_POLICY: p->policy = va_arg(*ap, int); return 0;
    case STARPU_EXECUTE_ON_DATA: {
        int owner = owner_of(p->comm, va_arg(*ap, starpu_data_handle_t), "STARPU_EXECUTE_ON_DATA");
        if (owner == -EINVAL) return owner;
        p->xrank = owner;
        return 0;
    }
    case STARPU_DATA_ARRAY: {
        starpu_data_handle_t *handles = va_arg(*ap, starpu_data_handle_t *);
        return add_array(p, cl, handles, va_arg(*ap, int));
    }
    case STARPU_DATA_MODE_ARRAY: {
        const struct starpu_data_descr *descrs = va_arg(*ap, struct starpu_data_descr *);
        return add_descrs(p, descrs, va_arg(*ap, int));
    }
    default:
        if (orr_insert_skip(kind, ap)) return 0;
        orr_error("starpu_mpi_task_insert: unknown argument kind %d%s; the list must end with 0", kind,
                  p->count ? " after the data" : "");
        return -EINVAL;
    }
}

static int parse(struct parsed *p, struct starpu_codelet *cl, va_list *ap)
{
    for (int kind; (kind = va_arg(*ap, int)) != 0;) {
        if (orr_likely(kind < STARPU_ACCESS_MODE_MAX)) {
            if (orr_unlikely(!make_room(p, 1))) return -ENOMEM;
            add(p, va_arg(*ap, starpu_data_handle_t), kind);
        } else if (kind == STARPU_TASK_FILE) {
            p->file = va_arg(*ap, const char *);
        } else if (kind == STARPU_TASK_LINE) {
            p->line = va_arg(*ap, int);
        } else {
            int r = read_other(p, cl, kind, ap);
            if (orr_unlikely(r)) return r;
        }
    }
    return 0;
}

/* ---- the rank ---- */

enum { SPECIAL_MODES = STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX | STARPU_LOCALITY };

/* What the data say. writer: who owns what is written; several: they differ. */
struct look {
    int writer;
    bool several, per_node, concerned, unknown, outside, absent;
};

static inline void look_at(struct look *l, const struct orr_comm *c, struct orr_data *h, int mode)
{
    if (orr_unlikely(!h)) {
        l->absent = true;
        return;
    }
    int owner = orr_owned_rank(c, h);
    l->concerned |= owner == c->rank || h->mpi_flags & ORR_MPI_CONCERNED;
    if (orr_unlikely(owner < 0 || mode & SPECIAL_MODES)) {
        if (mode & (STARPU_REDUX | STARPU_MPI_REDUX))
            l->concerned = true; /* every rank notes who contributes */
        if (owner == ORR_RANK_UNKNOWN && !(mode & (STARPU_SCRATCH | STARPU_LOCALITY))) l->unknown = true;
        if (owner == ORR_RANK_OUTSIDE && !(mode & (STARPU_SCRATCH | STARPU_LOCALITY))) l->outside = true;
        if (owner == ORR_RANK_PER_NODE && mode & STARPU_W) l->per_node = true;
        if (owner < 0 || mode & SPECIAL_MODES) return;
    }
    if (!(mode & STARPU_W)) return;
    if (l->writer == NO_PLACE)
        l->writer = owner;
    else if (l->writer != owner)
        l->several = true;
}

static void say_where(const struct parsed *p, char *text, size_t bytes)
{
    text[0] = 0;
    if (p->file) snprintf(text, bytes, " (%s:%d)", p->file, p->line);
}

static int bad_task(const struct parsed *p, const struct starpu_codelet *cl, const char *what)
{
    char where[256];
    say_where(p, where, sizeof where);
    orr_error("starpu_mpi_task_insert%s: task %s: %s", where, cl && cl->name ? cl->name : "without name",
              what);
    return -EINVAL;
}

/* Sets p->xrank. Returns 1 when this rank has something to do, 0 when it has not, or a negative errno. */
static int place(const struct orr_comm *c, const struct starpu_codelet *cl, struct parsed *p)
{
    struct look l = { .writer = NO_PLACE };
    int me = c->rank;
    for (int i = 0; i < p->count; i++) look_at(&l, c, p->data[i].handle, p->data[i].mode);
    if (orr_unlikely(l.unknown))
        return bad_task(p, cl, "data without an owner; call starpu_mpi_data_register for it on every rank");
    if (orr_unlikely(l.outside)) return bad_task(p, cl, "data whose owner is no rank of the communicator");
    if (p->xrank == NO_PLACE) {
        if (l.per_node)
            p->xrank = ORR_RANK_PER_NODE;
        else if (l.writer != NO_PLACE && !l.several)
            p->xrank = l.writer;
        else if (l.absent)
            return 0; /* the program left the data out here: it knows that this rank has no part */
        else if ((p->xrank = orr_select(c, p->data, p->count, p->policy)) < 0)
            return p->xrank;
    }
    if (orr_likely(p->xrank != me && p->xrank >= 0)) {
        if (orr_unlikely(p->xrank >= c->size))
            return bad_task(p, cl, "the rank it is to run on does not exist");
        return l.concerned;
    }
    if (p->xrank < 0 && p->xrank != ORR_RANK_PER_NODE)
        return bad_task(p, cl, "the rank it is to run on is negative");
    if (l.absent) return bad_task(p, cl, "it runs on this rank, but one of its handles is NULL");
    return 1;
}

static inline void note(struct orr_comm *c, const struct starpu_codelet *cl, const struct parsed *p)
{
    const struct orr_stream_insertion in = { .cl = cl,
                                             .data = p->data,
                                             .count = p->count,
                                             .xrank = p->xrank,
                                             .priority = p->priority,
                                             .file = p->file,
                                             .line = p->line };
    orr_stream_note(c, &in);
}

/* ---- before, the task, after ---- */

static int exchange(struct orr_comm *c, const struct parsed *p,
                    int (*one)(struct orr_comm *, struct orr_data *, int, int, int))
{
    int status = 0;
    for (int i = 0; i < p->count; i++) {
        struct orr_data *h = p->data[i].handle;
        if (!h || h->mpi_rank == ORR_RANK_UNKNOWN) continue;
        int r = one(c, h, p->data[i].mode, p->xrank, p->priority);
        if (r) status = r;
    }
    return status;
}

static bool runs_here(const struct orr_comm *c, const struct parsed *p)
{
    return p->xrank == c->rank || p->xrank == ORR_RANK_PER_NODE;
}

static int submit_here(struct starpu_task *task)
{
    void (*hook)(struct starpu_task *) = orr_load_acquire(&orr_mpi_pre_submit_hook);
    if (hook) hook(task);
    int r = orr_task_submit(task, 0);
    if (orr_unlikely(r)) {
        task->destroy = 0;
        starpu_task_destroy(task);
    }
    return r;
}

int orr_mpi_insert(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct parsed p;
    va_list again, list;
    va_copy(again, ap);
    va_copy(list, ap);
    parsed_init(&p, c);
    int r = parse(&p, cl, &list);
    if (orr_likely(r == 0)) r = place(c, cl, &p);
    if (orr_likely(r >= 0)) note(c, cl, &p);
    if (r > 0) {
        r = exchange(c, &p, orr_exchange_before);
        if (!r && runs_here(c, &p)) {
            struct starpu_task *task = orr_task_build_v(cl, 0, again);
            r = task ? submit_here(task) : -EINVAL;
        }
        if (!r) r = exchange(c, &p, orr_exchange_after);
    }
    va_end(list);
    va_end(again);
    parsed_fini(&p);
    return r;
}

int orr_mpi_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap, struct starpu_task **task_out)
{
    struct parsed p;
    va_list again, list;
    va_copy(again, ap);
    va_copy(list, ap);
    *task_out = NULL;
    parsed_init(&p, c);
    int r = parse(&p, cl, &list);
    if (!r) r = place(c, cl, &p);
    if (r >= 0) note(c, cl, &p);
    if (r > 0) {
        r = exchange(c, &p, orr_exchange_before);
        if (!r && runs_here(c, &p) && !(*task_out = orr_task_build_v(cl, 0, again))) r = -EINVAL;
    }
    va_end(list);
    va_end(again);
    parsed_fini(&p);
    return r;
}

int orr_mpi_post_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct parsed p;
    va_list list;
    va_copy(list, ap);
    parsed_init(&p, c);
    int r = parse(&p, cl, &list);
    if (!r) r = place(c, cl, &p);
    if (r > 0) r = exchange(c, &p, orr_exchange_after);
    va_end(list);
    parsed_fini(&p);
    return r;
}

/* Every rank of the group gets the inputs and runs the task; what it writes comes back from the first of
 * them. */
int orr_mpi_insert_on(struct orr_comm *c, struct starpu_codelet *cl, int count, const int *ranks, va_list ap)
{
    struct parsed p;
    va_list again, list;
    va_copy(again, ap);
    va_copy(list, ap);
    parsed_init(&p, c);
    int r = count > 0 ? parse(&p, cl, &list) : -EINVAL;
    p.xrank = count > 0 ? ranks[0] : NO_PLACE;
    if (!r) note(c, cl, &p);
    for (int i = 0; i < count && !r; i++) {
        p.xrank = ranks[i];
        r = place(c, cl, &p);
        if (r > 0) r = exchange(c, &p, orr_exchange_before);
    }
    for (int i = 0; i < count && !r; i++) {
        if (ranks[i] != c->rank) continue;
        struct starpu_task *task = orr_task_build_v(cl, 0, again);
        r = task ? submit_here(task) : -EINVAL;
        break;
    }
    p.xrank = count > 0 ? ranks[0] : NO_PLACE;
    if (!r) r = exchange(c, &p, orr_exchange_after);
    va_end(list);
    va_end(again);
    parsed_fini(&p);
    return r;
}

int orr_mpi_place(const struct orr_comm *c, struct orr_placement *pl, int policy)
{
    struct parsed p;
    parsed_init(&p, c);
    p.data = pl->data;
    p.count = pl->count;
    p.policy = policy;
    p.xrank = pl->xrank >= 0 ? pl->xrank : NO_PLACE;
    int r = place(c, NULL, &p);
    if (r < 0) return r;
    pl->xrank = p.xrank;
    pl->concerned = r > 0;
    return 0;
}
