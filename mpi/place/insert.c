/* SPDX-License-Identifier: BSD-3-Clause */
/* insert.c: see insert.h. Three steps: the argument list is read for what concerns ranks (arguments.c); the
 * rank is decided (decide.c); what follows for this rank is done here. Only the rank that runs the task reads
 * the list again, to make the task.
 * Threads: the thread that submits. Owns: nothing. Not here: messages (exchange.c). */
#include "mpi/place/insert.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/insert.h"
#include "core/task/task.h"
#include "mpi/live/stream.h"
#include "mpi/place/arguments.h"
#include "mpi/place/decide.h"
#include "mpi/place/history.h"
#include "mpi/place/machine.h"
#include "mpi/place/moving.h"
#include "mpi/place/policies.h"
#include "mpi/place/recording.h"
#include "mpi/place/repeat.h"
#include "mpi/place/script.h"
#include "mpi/value/exchange.h"
#include "mpi/value/moves.h"

/* ---- the three steps ---- */

/* Reads and decides; as orr_decide. */
static inline int read_and_place(struct orr_comm *c, struct starpu_codelet *cl, struct orr_arguments *a,
                                 va_list *list, int *xrank_out)
{
    orr_arguments_init(a);
    int r = orr_arguments_read(a, cl, list);
    return orr_likely(r == 0) ? orr_decide(c, cl, a, xrank_out) : r;
}

/* Where data move, what is a piece stays at home: all ranks must know it as one. */
static __attribute__((noinline)) uint64_t find_pieces(const struct orr_arguments *a)
{
    uint64_t found = 0;
    for (int i = 0; i < a->count && i < 64; i++) {
        const struct orr_data *h = a->data[i].handle;
        if (h && h->mpi_rank != ORR_RANK_UNKNOWN && h->mpi_flags & ORR_MPI_PIECE) found |= UINT64_C(1) << i;
    }
    return found;
}

static inline uint64_t pieces_of(const struct orr_comm *c, const struct orr_arguments *a)
{
    const struct orr_value *v = c->cluster->value;
    bool matters = orr_unlikely(orr_load_relaxed(&v->moves.pieces)) && orr_load_relaxed(&v->moves.on) &&
                   orr_comm_is_base(c);
    return matters ? find_pieces(a) : 0;
}

static inline void note(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
                        int xrank)
{
    const struct orr_stream_insertion in = { .cl = cl,
                                             .data = a->data,
                                             .count = a->count,
                                             .xrank = xrank,
                                             .priority = a->priority,
                                             .file = a->file,
                                             .line = a->line,
                                             .pieces = pieces_of(c, a) };
    orr_stream_note(c, &in);
    struct orr_history *history = c->cluster->place->history;
    if (orr_unlikely(history != NULL)) orr_history_note(history, c, cl, a, xrank);
}

/* A task for several ranks, or one whose transfers the program steers. */
static void note_unsaid(const struct orr_comm *c, const char *what)
{
    struct orr_history *history = c->cluster->place->history;
    if (orr_unlikely(history != NULL) && orr_comm_is_base(c)) orr_history_spoil(history, what);
}

static int exchange(struct orr_comm *c, const struct orr_arguments *a, int xrank,
                    int (*one)(struct orr_comm *, struct orr_data *, int, int, int))
{
    if (orr_unlikely(orr_load_relaxed(&c->cluster->value->moves.on))) /* not all ranks see this one */
        one = one == orr_exchange_before ? orr_moves_exchange_before : orr_moves_exchange_after;
    int status = 0;
    for (int i = 0; i < a->count; i++) {
        struct orr_data *h = a->data[i].handle;
        if (!h || h->mpi_rank == ORR_RANK_UNKNOWN) continue;
        int r = one(c, h, a->data[i].mode, xrank, a->priority);
        if (r) status = r;
    }
    return status;
}

static bool runs_here(const struct orr_comm *c, int xrank)
{
    return xrank == c->rank || xrank == ORR_RANK_PER_NODE;
}

/* The task of an insertion, where it runs here, bound to the worker of the cluster that the program says.
 * NULL: it cannot be (said). */
static inline struct starpu_task *make(struct orr_comm *c, struct starpu_codelet *cl,
                                       const struct orr_arguments *a, va_list ap)
{
    const struct orr_machines *machines = c->cluster->place->machines;
    struct starpu_task *task = orr_task_build_v(cl, 0, ap);
    if (orr_likely(a->xrank != ORR_PLACE_OF_WORKER) || !task) return task;
    task->workerid = (unsigned)(a->on_worker - machines->first[c->cluster->rank]); /* it is of this rank */
    task->execute_on_a_specific_worker = 1;
    return task;
}

/* Binds it to the worker that a plan says, and has it noted. */
static inline int bind(struct orr_comm *c, struct starpu_task *task)
{
    const struct orr_place *p = c->cluster->place;
    if (orr_likely(!p->follows) || !orr_comm_is_base(c)) return 0;
    int r = orr_placed_bind(c, task);
    if (p->history && !r) orr_history_task(p->history, task);
    return r;
}

static void give_up(struct starpu_task *task)
{
    task->destroy = 0;
    starpu_task_destroy(task);
}

/* As make, and bound. */
static inline struct starpu_task *build(struct orr_comm *c, struct starpu_codelet *cl,
                                        const struct orr_arguments *a, va_list ap)
{
    struct starpu_task *task = make(c, cl, a, ap);
    if (!task || !bind(c, task)) return task;
    give_up(task);
    return NULL;
}

static struct orr_moving moving_of(const struct orr_arguments *a, const int *ranks, int count)
{
    return (struct orr_moving){
        .data = a->data, .count = a->count, .priority = a->priority, .ranks = ranks, .nranks = count
    };
}

/* ---- insertions ---- */

/* All of an insertion that lies before the task: as orr_decide, or what failed. *task_out: the task, if
 * this rank runs it, else NULL. */
static inline int begin(struct orr_comm *c, struct starpu_codelet *cl, va_list ap, struct orr_arguments *a,
                        int *xrank_out, struct starpu_task **task_out)
{
    va_list again, list;
    va_copy(again, ap);
    va_copy(list, ap);
    *task_out = NULL;
    int r = read_and_place(c, cl, a, &list, xrank_out);
    if (orr_likely(r >= 0)) note(c, cl, a, *xrank_out);
    if (r > 0) {
        int status = exchange(c, a, *xrank_out, orr_exchange_before);
        if (!status && runs_here(c, *xrank_out) && !(*task_out = build(c, cl, a, again))) status = -EINVAL;
        if (status) r = status;
    }
    va_end(list);
    va_end(again);
    return r;
}

static int insert_moving(struct orr_comm *c, struct orr_recording *rec, struct starpu_codelet *cl, int count,
                         const int *ranks, va_list ap);

/* Whether data move: then all that follows is decided first, and done after. */
static inline bool moves(const struct orr_comm *c)
{
    return orr_unlikely(c->cluster->place->moves || orr_load_relaxed(&c->cluster->value->moves.on)) &&
           orr_comm_is_base(c);
}

/* ---- inside of an iteration (replay.h) ---- */

static int refuse_replayed(const struct orr_recording *rec)
{
    orr_error("starpu_mpi_task_insert: iteration %d was replayed, and this would be inserted a second time; "
              "insert only where orrery_mpi_iteration_begin returned 0",
              rec->id);
    return -EINVAL;
}

/* What is not recorded, in an iteration: 0, or -EINVAL (said): there must be no insertion now. */
static int inside_iteration(struct orr_comm *c, const char *what)
{
    struct orr_recording *rec = orr_load_acquire(&c->recording); /* pairs with replay.c */
    if (orr_likely(!rec) || rec->by_itself) return 0;
    if (rec->state == ORR_RECORDING_READY) return refuse_replayed(rec);
    orr_recording_spoil(rec, what);
    return 0;
}

static int insert_and_note(struct orr_comm *c, struct orr_recording *rec, struct starpu_codelet *cl,
                           va_list ap)
{
    const struct orr_task_thread *self = orr_task_self();
    uint64_t submitted = orr_load_relaxed(&self->submitted), rolling = orr_stream_rolling(c);
    struct orr_arguments a;
    struct starpu_task *task;
    int xrank, r = begin(c, cl, ap, &a, &xrank, &task);
    if (r >= 0) {
        rec->hash = orr_stream_iteration_last(c, rolling, rec->hash);
        orr_recording_note(rec, c, cl, &a, xrank, task);
        if (rec->by_itself) orr_script_note(rec, c, cl, ap);
    } else {
        orr_recording_spoil(rec, "an insertion failed");
    }
    if (r > 0) {
        r = task ? orr_mpi_submit(c, task, 0) : 0;
        if (!r) r = exchange(c, &a, xrank, orr_exchange_after);
        if (r) orr_recording_spoil(rec, "an insertion failed");
    }
    rec->submitted += orr_load_relaxed(&self->submitted) - submitted;
    orr_arguments_fini(&a);
    return r;
}

static int insert_plainly(struct orr_comm *c, struct starpu_codelet *cl, va_list ap);

static __attribute__((noinline)) int insert_in_iteration(struct orr_comm *c, struct orr_recording *rec,
                                                         struct starpu_codelet *cl, va_list ap)
{
    int r;
    if (rec->thread != orr_self()) {
        if (rec->state == ORR_RECORDING_MAKING) orr_recording_spoil(rec, "several threads insert");
        return insert_plainly(c, cl, ap);
    }
    if (rec->by_itself && rec->state == ORR_RECORDING_READY)
        return orr_script_follow(c, rec, cl, ap, &r) ? r : insert_plainly(c, cl, ap);
    if (rec->state == ORR_RECORDING_READY) return refuse_replayed(rec);
    if (moves(c) != rec->moves) orr_recording_spoil(rec, "starpu_mpi_node_selection_set_current_policy");
    return moves(c) ? insert_moving(c, rec, cl, 0, NULL, ap) : insert_and_note(c, rec, cl, ap);
}

static inline int insert_one(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct orr_arguments a;
    struct starpu_task *task;
    int xrank, r = begin(c, cl, ap, &a, &xrank, &task);
    if (r > 0) {
        r = task ? orr_mpi_submit(c, task, 0) : 0;
        if (!r) r = exchange(c, &a, xrank, orr_exchange_after);
    }
    orr_arguments_fini(&a);
    return r;
}

static int insert_plainly(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    return moves(c) ? insert_moving(c, NULL, cl, 0, NULL, ap) : insert_one(c, cl, ap);
}

int orr_mpi_insert(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct orr_recording *rec = orr_load_acquire(&c->recording); /* pairs with replay.c */
    if (orr_unlikely(rec != NULL)) return insert_in_iteration(c, rec, cl, ap);
    if (moves(c)) return insert_moving(c, NULL, cl, 0, NULL, ap);
    return insert_one(c, cl, ap);
}

/* ---- tasks that the program submits itself ---- */

/* One that was built where data move, or under a placement that is asked once for each task, and not posted
 * yet. */
struct orr_built {
    struct orr_built *next;
    const struct starpu_codelet *cl;
    int xrank, count;
    struct orr_data *data[];
};

static bool is_asked_once(const struct orr_comm *c)
{
    return (orr_unlikely(c->cluster->place->for_all) && orr_comm_is_base(c)) || moves(c);
}

static int keep_built(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
                      int xrank)
{
    struct orr_built *b = orr_malloc(sizeof *b + (size_t)a->count * sizeof b->data[0]);
    if (!b) {
        orr_error("starpu_mpi_task_build: out of memory");
        return -ENOMEM;
    }
    *b = (struct orr_built){ .next = c->cluster->place->built, .cl = cl, .xrank = xrank, .count = a->count };
    for (int i = 0; i < a->count; i++) b->data[i] = a->data[i].handle;
    c->cluster->place->built = b;
    return 0;
}

static bool is_of(const struct orr_built *b, const struct starpu_codelet *cl, const struct orr_arguments *a)
{
    if (b->cl != cl || b->count != a->count) return false;
    for (int i = 0; i < b->count; i++)
        if (b->data[i] != a->data[i].handle) return false;
    return true;
}

/* The rank of the last such task that was built, since the program may have given up those before; -EINVAL
 * (said): none was. */
static int take_built(struct orr_comm *c, const struct starpu_codelet *cl, const struct orr_arguments *a,
                      int *xrank_out)
{
    struct orr_built **at = &c->cluster->place->built, *b;
    while ((b = *at) && !is_of(b, cl, a)) at = &b->next;
    if (!b) {
        orr_error("starpu_mpi_task_post_build: no task with this codelet and these data was built; call "
                  "starpu_mpi_task_build with the same arguments before, on every rank");
        return -EINVAL;
    }
    *xrank_out = b->xrank;
    *at = b->next;
    orr_free(b);
    return 0;
}

void orr_mpi_forget_built(struct orr_place *p)
{
    for (struct orr_built *b; (b = p->built);) {
        p->built = b->next;
        orr_free(b);
    }
}

static int build_moving(struct orr_comm *c, const struct orr_arguments *a, int xrank)
{
    const struct orr_moving m = moving_of(a, &xrank, 1);
    return orr_moving_before(c, &m);
}

static int post_build_moving(struct orr_comm *c, const struct orr_arguments *a, int xrank)
{
    const struct orr_moving m = moving_of(a, &xrank, 1);
    return orr_moving_after(c, &m);
}

static int build_once(struct orr_comm *c, struct starpu_codelet *cl, va_list ap,
                      struct starpu_task **task_out)
{
    struct orr_arguments a;
    va_list list;
    int xrank;
    va_copy(list, ap);
    int r = read_and_place(c, cl, &a, &list, &xrank);
    if (r >= 0) {
        note(c, cl, &a, xrank);
        r = keep_built(c, cl, &a, xrank);
        if (!r) r = moves(c) ? build_moving(c, &a, xrank) : exchange(c, &a, xrank, orr_exchange_before);
        if (!r && runs_here(c, xrank) && !(*task_out = build(c, cl, &a, ap))) r = -EINVAL;
    }
    va_end(list);
    orr_arguments_fini(&a);
    return r;
}

static int post_build_once(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct orr_arguments a;
    int xrank;
    va_list list;
    va_copy(list, ap);
    orr_arguments_init(&a);
    int r = orr_arguments_read(&a, cl, &list);
    if (!r) r = take_built(c, cl, &a, &xrank);
    if (!r) r = moves(c) ? post_build_moving(c, &a, xrank) : exchange(c, &a, xrank, orr_exchange_after);
    va_end(list);
    orr_arguments_fini(&a);
    return r;
}

int orr_mpi_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap, struct starpu_task **task_out)
{
    struct orr_arguments a;
    *task_out = NULL;
    int xrank, r = inside_iteration(c, "starpu_mpi_task_build");
    if (r) return r;
    if (is_asked_once(c)) return build_once(c, cl, ap, task_out);
    r = begin(c, cl, ap, &a, &xrank, task_out);
    orr_arguments_fini(&a);
    return r > 0 ? 0 : r;
}

int orr_mpi_post_build(struct orr_comm *c, struct starpu_codelet *cl, va_list ap)
{
    struct orr_arguments a;
    int xrank;
    va_list list;
    if (orr_comm_is_base(c) && (c->cluster->place->built || is_asked_once(c)))
        return post_build_once(c, cl, ap);
    va_copy(list, ap);
    int r = read_and_place(c, cl, &a, &list, &xrank);
    if (r > 0) r = exchange(c, &a, xrank, orr_exchange_after);
    va_end(list);
    orr_arguments_fini(&a);
    return r;
}

static int check_several(const struct orr_arguments *a)
{
    if (a->xrank != ORR_PLACE_OF_WORKER) return 0;
    orr_error("starpu_mpi_tasks_insert: ORRERY_EXECUTE_ON_CLUSTER_WORKER names one worker, and the task runs "
              "on several ranks; use STARPU_EXECUTE_ON_WORKER");
    return -EINVAL;
}

/* Every rank of the group gets the inputs and runs the task; what it writes comes back from the first of
 * them. */
int orr_mpi_insert_on(struct orr_comm *c, struct starpu_codelet *cl, int count, const int *ranks, va_list ap)
{
    struct orr_arguments a;
    va_list again, list;
    int xrank, r = inside_iteration(c, "starpu_mpi_tasks_insert");
    if (r) return r;
    note_unsaid(c, "starpu_mpi_tasks_insert makes one task for several ranks");
    if (moves(c)) return count > 0 ? insert_moving(c, NULL, cl, count, ranks, ap) : -EINVAL;
    va_copy(again, ap);
    va_copy(list, ap);
    orr_arguments_init(&a);
    r = count > 0 ? orr_arguments_read(&a, cl, &list) : -EINVAL;
    if (!r) r = check_several(&a);
    if (!r) note(c, cl, &a, ranks[0]);
    for (int i = 0; i < count && !r; i++) {
        a.xrank = ranks[i];
        r = orr_decide(c, cl, &a, &xrank);
        if (r > 0) r = exchange(c, &a, xrank, orr_exchange_before);
    }
    for (int i = 0; i < count && !r; i++) {
        if (ranks[i] != c->rank) continue;
        struct starpu_task *task = orr_task_build_v(cl, 0, again);
        r = task ? orr_mpi_submit(c, task, 0) : -EINVAL;
        break;
    }
    if (!r) r = exchange(c, &a, ranks[0], orr_exchange_after);
    va_end(list);
    va_end(again);
    orr_arguments_fini(&a);
    return r;
}

/* ---- where data move ---- */

/* The insertion, recorded where rec says, and its task, made where it runs here. NULL: it runs elsewhere, or
 * it cannot be (*status_out). */
static struct starpu_task *note_and_make(struct orr_comm *c, struct orr_recording *rec,
                                         struct starpu_codelet *cl, const struct orr_arguments *a, bool here,
                                         int xrank, va_list ap, int *status_out)
{
    struct starpu_task *task = here ? make(c, cl, a, ap) : NULL;
    if (rec) orr_recording_note(rec, c, cl, a, xrank, task);
    if (here && (!task || bind(c, task))) {
        if (task) give_up(task);
        *status_out = -EINVAL;
        return NULL;
    }
    void (*hook)(struct starpu_task *) = orr_load_acquire(&c->cluster->place->pre_submit_hook);
    if (task && hook) hook(task);
    return task;
}

/* Decided already: all that follows of it, on the ranks that run it. */
static int act(struct orr_comm *c, struct orr_recording *rec, struct starpu_codelet *cl,
               const struct orr_arguments *a, const int *ranks, int count, va_list ap)
{
    const struct orr_moving m = moving_of(a, ranks, count);
    bool here = false;
    for (int i = 0; i < count; i++) here |= runs_here(c, ranks[i]);
    if (!here && count == 1 && orr_moves_pass(c, a->data, a->count, ranks[0])) {
        if (rec) orr_recording_note(rec, c, cl, a, ranks[0], NULL);
        return 0;
    }
    int status = 0;
    struct starpu_task *task = note_and_make(c, rec, cl, a, here, ranks[0], ap, &status);
    int r = orr_moving_do(c, &m, task, false);
    return status ? status : r;
}

/* ranks: NULL, or on which it runs; rec: the iteration that is recorded, or NULL. */
static int insert_moving(struct orr_comm *c, struct orr_recording *rec, struct starpu_codelet *cl, int count,
                         const int *ranks, va_list ap)
{
    struct orr_arguments a;
    va_list list;
    va_copy(list, ap);
    orr_arguments_init(&a);
    const struct orr_task_thread *self = orr_task_self();
    uint64_t submitted = orr_load_relaxed(&self->submitted);
    int xrank = ORR_PLACE_OPEN, r = orr_arguments_read(&a, cl, &list);
    if (!r && ranks) r = check_several(&a);
    if (ranks) a.xrank = ranks[0];
    if (!r) r = orr_decide(c, cl, &a, &xrank);
    for (int i = 1; i < count && r >= 0; i++)
        if (ranks[i] < 0 || ranks[i] >= c->size) r = -EINVAL;
    if (r >= 0) {
        uint64_t rolling = orr_stream_rolling(c);
        note(c, cl, &a, xrank);
        if (rec) rec->hash = orr_stream_iteration_last(c, rolling, rec->hash);
        r = act(c, rec, cl, &a, ranks ? ranks : &xrank, ranks ? count : 1, ap);
    }
    if (rec && r) orr_recording_spoil(rec, "an insertion failed");
    if (rec && rec->by_itself) orr_script_note(rec, c, cl, ap);
    if (rec) rec->submitted += orr_load_relaxed(&self->submitted) - submitted;
    va_end(list);
    orr_arguments_fini(&a);
    return r;
}

int orr_mpi_place(struct orr_comm *c, struct orr_placement *p, int policy)
{
    struct orr_arguments a;
    int xrank;
    orr_arguments_init(&a);
    a.data = p->data;
    a.count = p->count;
    a.policy = policy;
    if (p->xrank >= 0) a.xrank = p->xrank;
    note_unsaid(c, "starpu_mpi_task_exchange_data_before_execution leaves the task to the program");
    int r = orr_decide(c, NULL, &a, &xrank);
    if (r < 0) return r;
    p->xrank = xrank;
    p->concerned = r > 0;
    return 0;
}
