/* SPDX-License-Identifier: BSD-3-Clause */
/* task.h: the private half of a task, and its life: created -> submitted -> waiting -> ready -> pushed ->
 * running -> done.
 * Threads: see each function. Owns: struct orr_task, explicit dependencies. Not here:
 * handles' queues (core/data/access.h), choosing a worker (sched/), running (core/worker/).
 *
 * A task waits on one countdown, whatever it waits for: the submission itself, accesses not yet granted,
 * explicit dependencies, tags. Who brings it to zero makes the task ready. Explicit successors hang on a list
 * that closes atomically at completion: an edge is either on the list before that, or finds it closed and
 * does not count. */
#ifndef ORR_TASK_TASK_H
#define ORR_TASK_TASK_H

#include <starpu_task.h>
#include <stddef.h>

#include "core/base/export.h"
#include "core/base/sync.h"
#include "core/base/thread.h"
#include "core/data/data.h"

enum orr_task_state {
    ORR_TASK_CREATED,
    ORR_TASK_SUBMITTED,
    ORR_TASK_READY,
    ORR_TASK_PUSHED, /* ready, in the hands of a policy of the program */
    ORR_TASK_RUNNING,
    ORR_TASK_DONE,   /* the program may free it now; where it waits, only once that is set, too */
    ORR_TASK_CALLING /* its callback runs, and the program may take it: orr_task_take */
};

enum { ORR_TASK_INLINE_ACCESSES = 3 };

struct orr_job;
struct orr_graph_node;
enum { ORR_GRAPH_NODE_BYTES = 384, ORR_GRAPH_DATUM_BYTES = 48 }; /* blocks of the slabs of graph.c */
struct orr_team;

struct orr_edge; /* an explicit dependency: deps.h */
#define ORR_EDGES_CLOSED ((struct orr_edge *)1)

/* Ready tasks put aside, in order. */
struct orr_ready_list {
    struct orr_task *head, *tail;
};

/* What this layer keeps for each thread. The runtime is quiescent when the completions, read first, equal the
 * submissions, read after: both only grow, so they were equal at a moment between the two readings. */
struct orr_task_thread {
    _Atomic uint64_t submitted; /* [own, read by sums] */
    _Atomic uint64_t completed; /* [own, read by sums] */
    /* Of these, in contexts other than the main one: counted after submitted, and before completed. */
    _Atomic uint64_t submitted_elsewhere, completed_elsewhere; /* [own, read by sums] */
    struct orr_task *current;                                  /* [own] the task whose body runs here */
    struct orr_ready_list
        *collect;      /* [own] where tasks that become ready are put aside; NULL: they are dispatched */
    uint64_t next_id;  /* [own] for a task; a multiple of the size of a block of them: take another block */
    bool checks_later; /* [own] a worker at work: it looks for waiting threads before it rests (wait.h) */
};

static inline struct orr_task_thread *orr_task_thread(struct orr_thread *t)
{
    return orr_thread_room(t, task, struct orr_task_thread);
}
static inline struct orr_task_thread *orr_task_self(void)
{
    return orr_task_thread(orr_self());
}
/* The task whose body, or callback, runs on the calling thread; NULL: none does. */
static inline struct orr_task *orr_task_current(void)
{
    return orr_task_self()->current;
}
/* Whether the calling thread is inside a function of the program's that must not block: a body or callback.
 */
static inline bool orr_task_inside(void)
{
    const struct orr_thread *self = orr_self();
    return orr_task_thread((struct orr_thread *)self)->current || self->callback_depth;
}

/* Tasks submitted and not yet completed, over all threads, without guests (core/worker/lending.h); exact when
 * it returns 0. The second: those of the main context. */
uint64_t orr_tasks_outstanding(void);
uint64_t orr_tasks_outstanding_main(void);
/* A guest, of the main context, was submitted; the calling thread will complete one. */
void orr_guest_counted(void);
void orr_guest_ends(void);

/* The bits of a mode that say what a task does with its data. */
enum { ORR_TASK_MODES = STARPU_RW | STARPU_SCRATCH | STARPU_REDUX | STARPU_MPI_REDUX };
_Static_assert(ORR_TASK_MODES <= UINT8_MAX, "they fit into struct orr_access");

enum orr_access_flag {
    ORR_AF_LATE = 1 << 0,    /* joins when the task is otherwise ready: no sequential consistency */
    ORR_AF_TURN = 1 << 1,    /* commuting: takes its turn when the task is otherwise ready */
    ORR_AF_STARTED = 1 << 2, /* a late access that was asked for; grants continue the late phase */
    ORR_AF_JOINED = 1 << 3,  /* a late access that holds its place; the turn is next */
};

/* Accesses of one task, sorted by handle address. The back pointer lets a waiter find its task. */
struct orr_access_block {
    struct orr_task *task;
    struct orr_access access[];
};

static inline struct orr_task *orr_access_owner(struct orr_access *a)
{
    return ((struct orr_access_block *)((char *)(a - a->position) -
                                        offsetof(struct orr_access_block, access)))
        ->task;
}

/* What only some tasks need; allocated when first used, freed with the private half. [own: the
 * holder of the task] */
struct orr_task_rare {
    struct orr_edge *edges;     /* what this task waits for explicitly */
    struct orr_edge *end_edges; /* what its end waits for */
    uint32_t nedges;
    uint16_t late_next; /* late accesses before this one are granted */
    bool persistent;    /* may be submitted again: dependencies are kept */
    /* As it was submitted; the bits of its public half are for the worker's side alone from then on, which
     * writes others of the same word. */
    bool awaited;                /* detach was 0: `done` is set at its end */
    bool synchronous;            /* its submitter waits for it, and nobody else may */
    struct orr_tag *tag;         /* the tag this task notifies */
    struct orr_edge *tag_edges;  /* of the tag, which this task's end closed: what it is to serve (tag.c) */
    uint32_t tag_closing;        /* with what number */
    _Atomic int end_deps;        /* end dependencies outstanding, and the body itself */
    struct orr_event done;       /* set when completed, for starpu_task_wait */
    struct orr_edge *kept_edges; /* successors that stay over resubmissions */
    void (*internal_done)(struct orr_task *t,
                          void *arg); /* runtime's own continuation, last before the end */
    void *internal_arg;
    bool end_deps_used;
    int status;            /* why it failed; 0: it did not */
    struct orr_job *job;   /* its place in a list (core/worker/joblist.h); only with ORR_TF_LISTED */
    struct orr_team *team; /* [ref] the workers that run it together (core/worker/parallel.h) */
    int *nodes;            /* where its data are wanted (STARPU_NODE_ARRAY), before what the codelet says */
    unsigned nnodes;       /* length of nodes */
    struct orr_task_tried *tried; /* only with ORR_TF_TRIED */
    void (*prologue)(void *);     /* of a task of a transaction, the program's (transaction.c) */
    uint64_t views;               /* a bit for each datum, of the first 64; only with ORR_TF_VIEWS */
};

/* A task that could not run where it was first: which workers are left. */
enum { ORR_TRIED_WORDS = (STARPU_NMAXWORKERS + 31) / 32 };
struct orr_task_tried {
    uint32_t *workerids; /* what the program said */
    unsigned workerids_len;
    uint32_t left_out[ORR_TRIED_WORDS]; /* bit: not that worker */
    uint32_t set[ORR_TRIED_WORDS];      /* what policies see */
};

enum orr_task_flag {
    ORR_TF_BLOCK = 1 << 0,       /* public and private half share one slab block */
    ORR_TF_ARGS_SLAB = 1 << 1,   /* cl_arg is a block of ORR_SLAB_ARGS */
    ORR_TF_LATE = 1 << 2,        /* some accesses join, or take their turn, when ready */
    ORR_TF_INTERNAL = 1 << 3,    /* runtime's own: no program callbacks */
    ORR_TF_NO_QUEUE = 1 << 4,    /* accesses bypass the queues: the submitter holds them */
    ORR_TF_FOOTPRINT = 1 << 5,   /* footprint is valid */
    ORR_TF_EXPLICIT = 1 << 6,    /* countdown may be touched by others before submission */
    ORR_TF_FETCHED = 1 << 7,     /* inputs are pinned on the worker's node: orr_fetch_end is due */
    ORR_TF_ACCESS_HEAP = 1 << 8, /* access block is on the heap */
    ORR_TF_REDUX = 1 << 9,       /* contributes to a reduction */
    ORR_TF_DYN_OWNED = 1 << 10,  /* dyn_interfaces was allocated here */
    ORR_TF_PLAIN =
        1 << 11, /* every buffer is an ordinary access: no scratch, no reduction, no specific node */
    ORR_TF_READY = 1 << 12,    /* counted as ready in its context, which is not the main one */
    ORR_TF_ANYWHERE = 1 << 13, /* runs where it was put, be that in its context or not */
    ORR_TF_TEAM = 1 << 14, /* several workers run it together, or it is the part of one of them: rare->team */
    ORR_TF_PART = 1 << 15, /* such a part, made by the runtime: its public half is the whole's */
    ORR_TF_LISTED = 1 << 16,    /* a job of a list, which decides when it starts: rare->job is valid */
    ORR_TF_HELD = 1 << 17,      /* its turn in the list has not come */
    ORR_TF_ENDED = 1 << 18,     /* put aside with tasks that are ready, but only to be completed */
    ORR_TF_PLANNED = 1 << 19,   /* some of its data is part of a partition plan */
    ORR_TF_PLACED = 1 << 20,    /* it was told that a worker was chosen (core/worker/tell.h) */
    ORR_TF_UNCOUNTED = 1 << 21, /* its codelet does not count how often it runs where */
    ORR_TF_FIRST = 1 << 22,     /* some of its data had no value yet when it was submitted */
    ORR_TF_FAILED = 1 << 23,    /* it could not do its work: orr_task_fail */
    ORR_TF_NODES = 1 << 24,     /* rare->nodes says where its data are wanted */
    ORR_TF_FORMATS = 1 << 25,   /* multiformat data, or a contribution without its neutral value, was fetched
  for   it: to be seen to before it runs */
    ORR_TF_TRIED = 1 << 26,     /* it could not run on some worker: rare->tried (core/worker/elsewhere.h) */
    ORR_TF_POPPED = 1 << 27,    /* prologue_callback_pop was called: once, though it may be taken again */
    ORR_TF_SORTED = 1 << 28,    /* at submission: from a model, its accesses are in order (model.h) */
    ORR_TF_VIEWS = 1 << 29,     /* it reads some of its data by views (core/data/view.h): rare->views */
    ORR_TF_AWAY = 1 << 30       /* uses of some of its data are told again as it joins */
};

struct orr_task {
    /* line 0: between submission and execution */
    struct orr_task *next;   /* [own: the queue it is on] first: the link of a freed block lies here */
    struct starpu_task *pub; /* [const] */
    _Atomic(struct orr_edge *) successors; /* ORR_EDGES_CLOSED once completed */
    _Atomic int32_t pending;               /* countdown to ready */
    _Atomic uint32_t state;                /* enum orr_task_state */
    uint32_t flags;                        /* enum orr_task_flag [own] */
    int32_t priority;                      /* clamped copy */
    uint16_t naccesses;                    /* distinct handles */
    uint8_t nimpl;                         /* implementation chosen by the policy */
    uint8_t nimpl_valid;
    int16_t worker; /* chosen or forced worker, -1 none */
    uint16_t sched_ctx;
    uint32_t footprint;
    /* line 1 */
    struct orr_task_rare *rare;
    uint64_t id;
    union { /* which: ORR_TF_ACCESS_HEAP */
        struct orr_access_block *heap_accesses;
        struct {
            struct orr_task *task;
            struct orr_access access[ORR_TASK_INLINE_ACCESSES];
        } inline_accesses;
    };
    struct orr_graph_node *node; /* in the recorded graph (graph.h); NULL: it has none [lock: graph] */
};

/* The task's accesses, naccesses of them. */
static inline struct orr_access *orr_task_accesses(struct orr_task *t)
{
    return orr_likely(!(t->flags & ORR_TF_ACCESS_HEAP)) ? t->inline_accesses.access
                                                        : t->heap_accesses->access;
}

static inline struct orr_task *orr_task_of(const struct starpu_task *t)
{
    return (struct orr_task *)t->starpu_private;
}

/* The private half of a task, made on first use; NULL when out of memory. */
struct orr_task *orr_task_private(struct starpu_task *t);
struct orr_task_rare *orr_task_rare_get(struct orr_task *t);

/* The one of these devices' nodes (a bit each) on which the task uses h that has it next, when it is certain
 * now: it can run on no CPU, and on one of them alone, or one alone has memory for h. Else the home node. */
ORR_EXPORT unsigned orr_data_next_on(struct orr_data *h, uint32_t nodes);

/* Whether the codelet, or the task itself, says on which memory nodes its data are wanted; and where datum i
 * is then: a node, or STARPU_SPECIFIC_NODE_... */
static inline bool orr_task_has_nodes(const struct starpu_task *p)
{
    const struct orr_task *t = orr_task_of(p);
    return p->cl->specific_nodes || (t && t->flags & ORR_TF_NODES);
}
int orr_task_wanted_node(const struct starpu_task *p, unsigned i);
/* Where a worker of a node uses h, which is that datum, or the worker's part of it, or NULL: not known; -1:
 * nowhere, nothing is fetched. For tasks of which orr_task_has_nodes. */
int orr_task_place(const struct starpu_task *p, unsigned i, unsigned node, struct orr_data *h);
/* The same of any task, before it has a worker. */
int orr_task_datum_node(const struct starpu_task *p, unsigned i, unsigned node);
/* Copies the nodes that a task wants its first n data on. 0 or -ENOMEM. */
int orr_task_set_nodes(struct orr_task *t, const int *nodes, unsigned n);

/* As starpu_task_dup, of a task that may have begun or ended; of a parallel task without its team. */
struct starpu_task *orr_task_copy(const struct starpu_task *task);

/* Submission for the layers above (the public functions are thin). Returns 0, -ENOMEM, -EINVAL, -ENODEV,
 * -EDEADLK: on an error nothing was submitted, and the task still belongs to the caller. */
ORR_EXPORT int orr_task_submit(struct starpu_task *t, uint32_t flags);

/* The same in two steps: all that can fail; then, at once, what cannot. The first calls the program's hooks;
 * the second calls nothing of the program's while orr_task_self()->collect is set. Afterwards, without locks,
 * orr_partition_start(u). */
struct orr_partition_use;
int orr_task_prepare(struct starpu_task *t, uint32_t flags, struct orr_partition_use *u);
void orr_task_commit(struct orr_task *t, struct orr_partition_use *u);
/* Waits while there are more tasks than the program's limit says. For a layer above, before it acts: what it
 * submits itself (orr_acting.depth) does not wait. */
ORR_EXPORT void orr_task_throttle(void);

/* The turn of t, a held job, has come: it is dispatched like any task. Called once, by the holder of t. */
void orr_task_release_held(struct orr_task *t);

/* One condition fewer: the call that reaches zero makes the task ready. Any thread. */
void orr_task_unblock(struct orr_task *t);
/* The second half of that: t's countdown has reached zero. */
void orr_task_now_ready(struct orr_task *t);

/* Completion of a task whose body has run (or that has none); on the worker or wherever it ended. Frees what
 * is due. t must not be touched afterwards. */
void orr_task_complete(struct orr_task *t);

/* t could not do its work for the reason status (< 0), which was said: threads that wait for it are told, and
 * what it was to write has no value when it completes. By the holder of t, before that. */
void orr_task_fail(struct orr_task *t, int status);
/* How many did since somebody waited for all of a context. */
extern _Atomic uint32_t orr_tasks_failed[STARPU_NMAX_SCHED_CTXS];

/* Completes t, whose last end dependency is gone; later, where tasks are being put aside: a chain of them
 * would not fit the stack. */
void orr_task_ended(struct orr_task *t);

/* Between the body's end and orr_task_complete: false when end dependencies are still out (the last one
 * released completes the task). */
bool orr_task_body_done(struct orr_task *t);

/* Whether t is neither submitted nor under way, and so the program's: to submit, to clean or to free. If its
 * callback runs just now, that is not to know it any more. */
bool orr_task_take(struct orr_task *t);

/* Runs through tasks that became ready: each goes to the scheduler, or is completed here when it has nothing
 * to run. keep (may be NULL): the first that the calling worker may run next is stored there instead. */
ORR_EXPORT void orr_ready_dispatch(struct orr_ready_list *list, struct orr_task **keep_out);
static inline void orr_ready_append(struct orr_ready_list *list, struct orr_task *t)
{
    t->next = NULL;
    if (list->head)
        list->tail->next = t;
    else
        list->head = t;
    list->tail = t;
}

/* The task whose access a is; NULL: somebody else's. */
struct orr_task *orr_access_task(struct orr_access *a);

/* Installed as orr_data_hooks.reclaim. */
bool orr_task_reclaim(struct orr_access *a);

/* Calls a callback of the program on behalf of t, which is the current task meanwhile; what it makes ready is
 * dispatched at once. */
void orr_call_back(struct orr_task *t, void (*fn)(void *), void *arg);

/* What the layer above does; set once at start-up by core/worker. */
struct orr_task_hooks {
    void (*push)(struct orr_task *t);          /* a ready task goes to its worker or policy */
    bool (*may_keep)(struct orr_task *t);      /* the calling worker may run t next, past the policy */
    int (*check_runnable)(struct orr_task *t); /* 0, or -ENODEV: no worker can ever run it (said why) */
    void (*completed_elsewhere)(void); /* a task was completed by a thread that is no worker at work */
    /* Tasks of contexts other than the main one, after they are counted by the thread: submitted; completed,
     * with what the task was. */
    void (*ctx_submitted)(unsigned ctx);
    void (*ctx_completed)(unsigned ctx, bool was_ready, double flops);
    void (*throttle)(void);                /* blocks while too many tasks are pending; NULL: no limit */
    void (*job_ready)(struct orr_task *t); /* a job has all it waits for but its turn in the list */
    void (*job_ended)(struct orr_job *job, bool failed); /* its task has ended, and may be gone */
    /* copy was made of t, which has a team: it is a part of it; a reference to a team is dropped. */
    void (*team_joined)(struct orr_task *t, struct orr_task *copy);
    void (*team_unref)(struct orr_team *team);
};
extern struct orr_task_hooks orr_task_hooks;

/* A short name for messages; never NULL. */
const char *orr_task_name(const struct orr_task *t);

/* starpu_codelet.checked. What the program marks as checked is never written to: it may be constant. */
enum {
    ORR_CODELET_CONSTANT = 1,
    ORR_CODELET_CHECKED = 2,        /* by us */
    ORR_CODELET_CLAIMS_TOO_MUCH = 4 /* where names kinds it has no function for */
};

/* Derives what a codelet leaves unsaid (where, legacy fields), once. 0; 1: the same, but its statistics are
 * not kept; or -EINVAL with a message. */
ORR_EXPORT int orr_codelet_check(struct starpu_codelet *cl);
/* Reads the settings, at start-up. */
void orr_codelets_init(void);

/* The kinds of workers that it has functions for. */
uint32_t orr_codelet_where(const struct starpu_codelet *cl);

static inline unsigned orr_task_nbuffers(const struct starpu_task *t)
{
    return t->cl ? STARPU_TASK_GET_NBUFFERS(t) : 0;
}

/* The mask of kinds of workers the task may run on. */
static inline uint32_t orr_task_where(const struct starpu_task *t)
{
    uint32_t where = t->where != -1 ? (uint32_t)t->where : t->cl->where;
    return orr_likely(where != 0) ? where : orr_codelet_where(t->cl); /* constant, and did not say it */
}

/* Whether that mask alone tells which workers can execute it. Of a codelet that was checked. */
static inline bool orr_task_where_tells(const struct starpu_task *t)
{
    const struct starpu_codelet *cl = t->cl;
    if (cl->can_execute || t->workerids_len) return false;
    if (orr_likely(cl->checked == ORR_CODELET_CHECKED)) return orr_task_where(t) == cl->where;
    return cl->checked == ORR_CODELET_CONSTANT && !(orr_task_where(t) & ~orr_codelet_where(cl));
}

/* Frees both halves (or the private half of a task of the program's own). Nobody may use it any more. */
void orr_task_free(struct orr_task *t);

#endif
