/* SPDX-License-Identifier: BSD-3-Clause */
/* data.h: a piece of data the program registered: its access queue, its copies on the memory nodes, its place
 * in a partition.
 * Threads: any; fields say what guards them. Owns: struct orr_data. Not here: the methods of
 * an interface (interfaces/), transfers (coherency.h), partitioning (partition.c), reductions
 * (core/task/redux.c). */
#ifndef ORR_DATA_DATA_H
#define ORR_DATA_DATA_H

#include <starpu_data.h>
#include <starpu_data_interfaces.h>

#include "core/base/export.h"
#include "core/base/sync.h"
#include "core/data/access.h"

enum orr_msi { ORR_INVALID, ORR_SHARED, ORR_OWNED }; /* OWNED: the only valid copy */

/* The copy on one memory node. [lock: queue.lock] except interface. */
struct orr_replicate {
    void *interface; /* [const] this node's copy of the interface struct */
    uint8_t state;   /* enum orr_msi */
    bool allocated;  /* the interface points at memory of this node */
    bool ours;       /* that memory was allocated by us, and is ours to free */
    _Atomic uint8_t
        layouts;  /* of data with formats and an interface of the program (layouts.h); 0: the CPU's */
    bool mapped;  /* the interface points at main memory, as this node sees it (map.c) */
    bool writing; /* a task or an acquisition writes here now: others are not to be brought copies */
    bool leaves;  /* its memory is being freed, and the interface changes */
    bool before;  /* while one writes elsewhere: the copy here, if there is one still, has the value from
                   * before */
    _Atomic uint16_t
        promised;   /* prefetches asked for that are not over; predictions count the copy as there */
    uint32_t users; /* tasks and transfers that use the memory: not to be evicted */
    struct orr_transfer *incoming; /* a copy to this node under way, else NULL (core/data/coherency.c) */
    size_t packed; /* of a copy in a store that was packed: its bytes (packed.c) [own: the transfer] */
    struct orr_chunk
        *chunk; /* its place in the order of eviction of a device, else NULL (core/data/eviction.c) */
};

/* What a handle has of values that two processes use in one place (view.h). [lock: queue.lock unless said] */
struct orr_sharing {
    struct orr_view *view;     /* where its copy in main memory is read, elsewhere */
    struct orr_shown *shown;   /* others read in its memory */
    struct orr_fetch *waiters; /* for the end of either, chained by next */
    void *interface;           /* of the view, and of those before: who looks may be late; NULL: none yet */
    uint16_t shy, shy_left;    /* of so many values copies are sent; still [lock: views (mpi/value/seen.c)] */
};

/* What only few handles need; allocated when first used. [lock: queue.lock unless said] */
struct orr_data_rare {
    struct starpu_codelet *redux_cl, *init_cl;
    void *redux_cl_arg, *init_cl_arg;
    starpu_data_handle_t redux_scratch;     /* third datum of redux_cl, or NULL */
    starpu_data_handle_t *redux_per_worker; /* contributions by worker id; entries NULL until used */
    unsigned redux_count;
    bool contribution_lost; /* a task that was to contribute failed */
    starpu_data_handle_t
        *scratch_per_worker;  /* private buffers by worker id (core/data/scratch.c); NULL until used */
    void *_Atomic sched_data; /* [atomic: any thread of the program's] */
    void *_Atomic user_data;
    char *name; /* [lock: names in handle.c] */
    int coordinates[5];
    unsigned dimensions;
    void (*unregister_hook)(starpu_data_handle_t);
    struct orr_sharing sharing;
    struct orr_data_block *children; /* see partition.c */
    unsigned gathering_node;         /* where plans gather it unless told otherwise [lock: plans] */
    starpu_data_handle_t *pieces;    /* of starpu_data_partition, while they stand for it [lock: registry] */
};

struct orr_data {
    /* line 0: what submission and completion touch */
    struct orr_access_queue queue;
    void *_Atomic
        ready_interface; /* the main-memory interface while it is certainly valid there (a single memory node,
                          * memory at hand): no coherency work. NULL: ask coherency. [atomic: publishes the
                          * value, which may have come while who uses it had its access (view.h)] */
    const void *_Atomic acquired_at; /* where the program acquired it last; NULL: it has released it since, so
                                      * perhaps nobody has it [any: for messages] */
    /* line 1: what submission looks at, and a placement across ranks. Workers do not write here */
    ORR_ALIGNED_LINE uint32_t magic; /* ORR_DATA_MAGIC while registered */
    uint32_t footprint;              /* hash of the shape; [const] once registered */
    int32_t mpi_rank;   /* [own: program's submitting thread] owner; -1 unknown to the MPI layer */
    uint32_t mpi_flags; /* [own: mpi, program's submitting thread] enum in mpi/value/ownership.h */
    uint32_t mpi_tag;   /* [own: mpi, program's submitting thread] its tag, folded (mpi/live/stream.h) */
    uint16_t nnodes;    /* length of replicates (orr_node_places) [const] */
    int16_t home_node;  /* -1: none [const] */
    void *mpi;          /* [own: mpi] */
    const struct starpu_data_interface_ops *ops; /* [const] */
    struct orr_replicate *replicates;            /* one for each memory node [const pointer] */
    struct orr_data_rare *_Atomic rare;          /* NULL until needed [written: lock] */
    bool sequential_consistency;                 /* [own: program] */
    _Atomic bool partitioned; /* its pieces stand for it; requests look at it while others cut it [any] */
    _Atomic bool away;        /* orr_data_hooks.use is to be asked before the program uses it [any] */
    bool formats;             /* its copies are in one layout or several (layouts.h) [const] */
    _Atomic bool neutral_due; /* of a contribution: its worker still gives it the neutral value [own: that
                               * worker; atomic, or compilers read its neighbours with it] */
    _Atomic bool planned;     /* queue.planned, for looks without the lock: the queue's line goes to and fro
                               * between submitters and workers [written: lock] */
    _Atomic bool lazy_unregister; /* starpu_data_unregister_submit was called [any] */
    _Atomic bool written_ahead; /* an access that joins now finds a value: a write joined before, or the data
                                 * was registered with memory [written: lock] */
    /* line 2 */
    ORR_ALIGNED_LINE bool initialized; /* somebody wrote, or it was registered with memory [lock] */
    bool lost; /* a task that was to write it failed, and nobody has written it since [lock] */
    bool is_not_important;
    bool has_mapped;    /* one of its copies is or was mapped [lock] */
    _Atomic bool apart; /* rare->sharing has a view, or others read here [written: lock] */
    bool ooc;           /* may leave main memory for a store [lock] */
    uint8_t reading_stopped;
    bool end_taken, end_due; /* `end` is in use; starpu_data_unregister_submit comes after that [lock] */
    uint32_t wt_mask;        /* write-through nodes */
    uint32_t expected;       /* accesses submitted that will join late (queue.expecting) [lock] */
    uint32_t child_index, nchildren; /* partitioning */
    uint32_t block_bytes;            /* of it and what follows it (block.h) [const] */
    uint32_t alloc_key; /* shapes that may share buffers have the same; 0: none (alloc_cache.h) [const] */
    struct orr_data *parent, *root; /* partitioning [const] */
    struct orr_data *next, **prev;  /* of those not found by address alone (registry.c) [lock: registry] */
    struct orr_data *ptr_next, **ptr_prev; /* of those with similar addresses [lock: registry] */
    void *local_ptr;                       /* as registered; key of the look-up [lock: registry] */
    struct orr_graph_datum
        *graph; /* while tasks that are recorded use it (core/task/graph.c) [lock: graph] */
    struct orr_access
        end; /* starpu_data_unregister_submit's, or of an invalidation without memory (handle.c) */
};
_Static_assert(offsetof(struct orr_data, initialized) == offsetof(struct orr_data, magic) + ORR_CACHE_LINE,
               "what submission looks at is one line");

enum { ORR_DATA_MAGIC = 0x0dda7a11 };

/* Whether the program has it for itself, or is about to: what it does next is seen by whoever is told of that
 * (orr_data_hooks.use). */
static inline bool orr_data_is_wanted(const struct orr_data *h)
{
    return orr_load_seq(&h->queue.wanted) > 0;
}

static inline bool orr_data_valid(const struct orr_data *h)
{
    return h && (uintptr_t)h % _Alignof(struct orr_data) == 0 && h->magic == ORR_DATA_MAGIC;
}

/* The rare part; NULL: none was needed yet. */
static inline struct orr_data_rare *orr_data_rare(const struct orr_data *h)
{
    return orr_load_acquire(&h->rare); /* pairs with orr_data_rare_get */
}
/* Allocated if need be; NULL when out of memory. */
struct orr_data_rare *orr_data_rare_get(struct orr_data *h);

/* Copies the name that the program gave h, cut to fit. False: it has none. */
ORR_EXPORT bool orr_data_name(struct orr_data *h, char *name_out, size_t bytes);
/* The same for a signal handler; also false while somebody changes or reads a name. */
bool orr_data_name_now(struct orr_data *h, char *name_out, size_t bytes);

/* Calls fn with every access that waits for a registered handle or a piece. For diagnosis: locks are held,
 * and fn only looks. */
ORR_EXPORT void orr_data_visit_waiting(void (*fn)(struct orr_data *h, struct orr_access *a, void *arg),
                                       void *arg);

/* How the program is about to use h. */
enum orr_use {
    ORR_USE_READS = 1,
    ORR_USE_WRITES = 2,
    ORR_USE_EMPTIES = 4,
    ORR_USE_ENDS = 8,
    ORR_USE_TRIES = 16,
    ORR_USE_JOINS = 32 /* it joins h's queue next, and then calls orr_data_joined, as it does on an error */
};

/* What the layers above lend to this one; set once at start-up by core/task. */
struct orr_data_hooks {
    /* Has a task give h the neutral value of its init codelet (orr_data_join_first). */
    void (*initialise)(struct orr_data *h);
    void (*reduction_start)(
        struct orr_data *h); /* the queue is held (ORR_GROUP_REDUCING); call orr_data_reduction_done */
    /* The owner of an access that has its handle but cannot start yet gives it back, to be granted anew. With
     * the lock. */
    bool (*reclaim)(struct orr_access *holder);
    bool (*in_task)(void);      /* the calling thread runs a task body or callback: must not block */
    const char *(*where)(void); /* "in task NAME", for messages */
    bool (*holds_view)(struct orr_data *h); /* the calling thread's task reads h by a view (view.h) */
    /* Why the calling thread, in a task or callback, must not wait for h's turn; NULL: it may. */
    const char *(*no_wait)(struct orr_data *h);
    /* Runs a codelet that converts h's copy on a node: 0, or -errno (core/worker/convert.h). */
    int (*convert)(struct orr_data *h, unsigned node, struct starpu_codelet *cl, void *cl_arg);
    /* Has the calling thread's worker give back data of tasks that it will run next. False: there are none.
     */
    bool (*give_back)(void);
    /* Of handles with h->mpi; set by liborrery-mpi. */
    void (*forget)(struct orr_data *h); /* it ends */
    void (*leaves)(struct orr_data *h); /* it will: starpu_data_unregister_submit, a plan is cleaned */
    /* Brings in what the program is about to use: h->away. 0, -EAGAIN (ORR_USE_TRIES), or -EDEADLK (said);
     * set by liborrery-mpi. With ORR_USE_JOINS nothing is decided about data meanwhile, or what is changed
     * would be taken for told though it is not in the queue yet. No function of the program is called then.
     * Where it has to wait for the second of several data it lets decisions be made (orr_acting.lapses): then
     * all uses are to be told once more. */
    int (*use)(struct orr_data *h, uint32_t how);
    void (*joined)(void);
    /* Tasks that the calling thread inserted are submitted now, if they were put off; the same. */
    void (*settle)(void);
};
extern ORR_EXPORT struct orr_data_hooks orr_data_hooks;

/* What the layers above keep for a thread that uses data for them, and ask of one. */
struct orr_acting {
    uint64_t depth;      /* [own] not 0: orr_data_hooks.use has nothing to do */
    void *joins;         /* [own] what of the layer above waits for orr_data_joined; NULL: nothing */
    uint64_t lapses;     /* [own] how often it did not wait between two uses */
    uint64_t looks;      /* [own] how often it acquired data, or waited for tasks of others than its own */
    uint64_t copies_for; /* [own] 1 + the node of a device for which an interface's method copies; 0: none */
    void *frees;        /* [own] of kept buffers, the one whose free_data_on_node is called (alloc_cache.c) */
    uint64_t allocates; /* [own] not 0: within an interface's allocate_data_on_node */
};
static inline struct orr_acting *orr_acting(struct orr_thread *t)
{
    return orr_thread_room(t, acting, struct orr_acting);
}

/* Before a use by the program; no lock is held. As orr_data_hooks.use. */
int orr_data_use_slow(struct orr_data *h, uint32_t how);
static inline int orr_data_use(struct orr_data *h, uint32_t how)
{
    return orr_likely(!orr_load_relaxed(&h->away)) ? 0 : orr_data_use_slow(h, how);
}
/* After uses with ORR_USE_JOINS. Of the layer above, which itself joins on the way: nothing. */
static inline void orr_data_joined(void)
{
    const struct orr_acting *own = orr_acting(orr_self());
    if (own->joins && !own->depth) orr_data_hooks.joined();
}

/* Joins, the lock taken here, after switching the plans that h is part of (partition.h): the way in for every
 * use that is no task. 1: granted at once; 0: a is granted later;
 * -ENOMEM, which was said: it did not join. */
ORR_EXPORT int orr_data_join(struct orr_data *h, struct orr_access *a);
/* The same by orr_access_join_exempt_locked, and whatever happens:
 * true when granted at once. Sets a's flag. */
bool orr_data_join_exempt(struct orr_data *h, struct orr_access *a);
/* Access a of a submitted task will join by orr_data_join_late, once, when the task is otherwise ready: h is
 * not taken away before. */
void orr_data_expect(struct orr_data *h, struct orr_access *a);
bool orr_data_join_late(struct orr_data *h, struct orr_access *a);
/* Leaves: tells the accesses that are granted by that, and starts a reduction when one is due. */
ORR_EXPORT void orr_data_leave(struct orr_data *h, struct orr_access *a);
/* Somebody joined behind a drained REDUX group: starts the reduction. Called after a join that was not
 * granted. */
void orr_data_kick_reduction(struct orr_data *h);
void orr_data_reduction_done(struct orr_data *h);

/* From write access down to read access: others may read as well. */
ORR_EXPORT void orr_data_downgrade(struct orr_data *h);

/* Joins, and blocks the calling thread until granted. 0, or -ENOMEM as orr_data_join. */
int orr_data_acquire_blocking(struct orr_data *h, struct orr_access *a);

/* An access in this mode is about to join: data that nobody ever wrote gets its initial value first, if it
 * has an init codelet. */
ORR_EXPORT void orr_data_announce_slow(struct orr_data *h, int mode);
static inline void orr_data_announce(struct orr_data *h, int mode)
{
    if (orr_unlikely(!orr_load_relaxed(&h->written_ahead))) orr_data_announce_slow(h, mode);
}
/* The same for what h is a piece of: pieces get their initial values with the whole. Called without locks. */
void orr_data_announce_above(struct orr_data *h);
/* Joins the access that gives h its initial value.
 * False: a write comes before it, and it is not needed. */
bool orr_data_join_first(struct orr_data *h, struct orr_access *a, bool *granted_out);
/* a joins, or will: what it writes counts. Called with the lock held. */
static inline void orr_data_written_locked(struct orr_data *h, const struct orr_access *a)
{
    if (a->group != ORR_GROUP_READ) orr_store_relaxed(&h->written_ahead, !(a->flags & ORR_ACCESS_EMPTIES));
}

/* h's interface of a node, as starpu_data_get_interface_on_node, for its shape: its value may be elsewhere
 * (view.h). */
void *orr_data_interface(struct orr_data *h, unsigned node);

/* A handle that belongs to a parent (partition.c) or to a reduction: same interface, given contents, no
 * registry entry. */
struct orr_data *orr_data_create(const struct starpu_data_interface_ops *ops, int home_node,
                                 const void *interface_on_home);
/* Copies the shape of h, of a node whose structure no transfer is just changing. There is one soon: who takes
 * memory for the only copy does not wait for anything. */
void orr_data_copy_shape(struct orr_data *h, void *itf_out);
void orr_data_destroy(struct orr_data *h); /* frees memory of ours; nobody may use it any more */
void orr_data_retired_free(void);          /* what is kept of destroyed handles; called by shutdown */

#endif
