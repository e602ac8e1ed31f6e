/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data handles: what a piece of registered data is, how a program outside of tasks gets at it, and
 * what it may tell the runtime about it.
 * Threads: any after starpu_init(), task bodies and callbacks included; those that say "blocks" are refused
 *   there. Results, ownership and units are as starpu.h says at its head; with a handle that is not
 *   registered a message is printed, and a question answered by 0, NULL or what its comment says.
 * Not here: how data of a given shape is registered (starpu_data_interfaces.h), cut into pieces
 *   (starpu_data_filters.h), or given to a rank (starpu_mpi.h).
 */
#ifndef STARPU_DATA_H
#define STARPU_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <starpu_config.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct orr_data;
struct starpu_codelet;
struct starpu_data_interface_ops;

/* A registered piece of data. Opaque; valid from its registration until its unregistration. */
typedef struct orr_data *starpu_data_handle_t;

/* How a task or an acquisition uses a piece of data: one of NONE, R, W, RW, SCRATCH, REDUX, and flags
 * beside it. */
enum starpu_data_access_mode {
    STARPU_NONE = 0,                 /* not known yet */
    STARPU_R = 1 << 0,               /* read: several at once */
    STARPU_W = 1 << 1,               /* write: what was there is lost, so nothing is transferred */
    STARPU_RW = STARPU_R | STARPU_W, /* read, then write */
    STARPU_SCRATCH = 1 << 2,         /* a temporary buffer of the task, undefined before and after */
    STARPU_REDUX = 1 << 3,           /* contribute, see starpu_data_set_reduction_methods() */
    STARPU_COMMUTE = 1 << 4,         /* with W or RW: in any order among neighbours that commute too */
    STARPU_SSEND = 1 << 5,           /* MPI: send in synchronous mode */
    STARPU_LOCALITY = 1 << 6,        /* no access, no dependency: only says what the task is close to */
    STARPU_MPI_REDUX = 1 << 7,       /* a reduction among ranks, in order inside each rank */
    STARPU_NOPLAN = 1 << 8,          /* do not let the runtime switch partitionings for this access */
    STARPU_UNMAP = 1 << 9,           /* undo a mapping of the data into another memory */
    STARPU_NOFOOTPRINT = 1 << 10,    /* leave this data out of the task's performance footprint */
    STARPU_MPI_SAME = 1 << 11,       /* MPI: every executing rank of a group task uses its own copy */
    STARPU_RECURSIVE_TASK_STRONG = 1 << 12, /* a recursive task uses the data itself */
    STARPU_ACCESS_MODE_MAX = 1 << 16        /* above every mode and flag */
};

/* Why a piece of data is being brought to a memory node, the most urgent first. */
enum starpu_is_prefetch {
    STARPU_FETCH = 0,         /* a task or an acquisition waits for it */
    STARPU_TASK_PREFETCH = 1, /* a task that has its worker will need it */
    STARPU_PREFETCH = 2,      /* it is thought to be needed */
    STARPU_IDLEFETCH = 3,     /* only while the link has nothing else to do */
    STARPU_NFETCH             /* number of values */
};

/* ---- Names and life ---- */

/* Names the data in messages, traces and displays. `name` is copied; NULL: no name. By one thread at a time,
 * and not while others may be printing the name. */
void starpu_data_set_name(starpu_data_handle_t handle, const char *name);

/* Gives the data `dimensions` integer coordinates (then that many ints), for traces and policies; at
 * most 5 are kept, none when out of memory. */
void starpu_data_set_coordinates(starpu_data_handle_t handle, unsigned dimensions, ...);

/* Same, from an array. `dims` is copied. */
void starpu_data_set_coordinates_array(starpu_data_handle_t handle, unsigned dimensions, int dims[]);

/* Copies at most `dimensions` coordinates into `dims`. Returns how many were copied. */
unsigned starpu_data_get_coordinates_array(starpu_data_handle_t handle, unsigned dimensions, int dims[]);

/* Waits for all tasks on the data that were submitted, those without sequential consistency too, brings its
 * value back to its home node, and destroys the handle. Blocks. Refused, with a message: a piece of other
 * data; data that is partitioned, or has partition plans; data unregistered already. A value that cannot be
 * brought back is given up, with a warning; one that there never was is none. */
void starpu_data_unregister(starpu_data_handle_t handle);

/* Same without bringing the value back: the home buffer may hold an old one. Blocks; refused as above. */
void starpu_data_unregister_no_coherency(starpu_data_handle_t handle);

/* Destroys the handle once all tasks submitted on it are done; the value is not brought back. Does
 * not block; refused as above. From the call on the handle is the library's, and needs no memory. For data
 * without home, or whose home buffer is no longer needed. */
void starpu_data_unregister_submit(starpu_data_handle_t handle);

/* Waits for all tasks on the data and declares it uninitialised: reading it before the next write is
 * an error. Does the same as starpu_data_invalidate(): buffers of the runtime's are freed. Blocks. */
void starpu_data_deinitialize(starpu_data_handle_t handle);

/* Same, once all tasks submitted so far are done. Does not block. Refused, with a message, for data that is
 * partitioned or unregistered already. Out of memory, while another one is under way
 * and others are to use the data between the two: orrery_set_error_hook(). */
void starpu_data_deinitialize_submit(starpu_data_handle_t handle);

/* Waits for all tasks on the data, but those without sequential consistency that cannot start yet, then
 * frees every copy the runtime allocated: the value is lost. Blocks. Refused, with a message, for data that
 * is partitioned or unregistered already. */
void starpu_data_invalidate(starpu_data_handle_t handle);

/* Same, once all tasks submitted so far are done. Does not block. Refused, with a message, for data that is
 * partitioned or unregistered already. Out of memory, while another one is under way
 * and others are to use the data between the two: orrery_set_error_hook(). */
void starpu_data_invalidate_submit(starpu_data_handle_t handle);

/* Tells the runtime whether the data should be kept in device memories rather than evicted (1, the
 * default), or goes first, from the end of its next use on (0). */
void starpu_data_advise_as_important(starpu_data_handle_t handle, unsigned is_important);

/* Attaches a pointer of the program to the data (borrowed; never read by the runtime). Out of memory: nothing
 * is attached. */
void starpu_data_set_user_data(starpu_data_handle_t handle, void *user_data);

/* Returns what starpu_data_set_user_data() attached, NULL at first. */
void *starpu_data_get_user_data(starpu_data_handle_t handle);

/* Attaches a pointer of the scheduling policy to the data. Only for policies. Out of memory: nothing is
 * attached. */
void starpu_data_set_sched_data(starpu_data_handle_t handle, void *sched_data);

/* Returns what starpu_data_set_sched_data() attached, NULL at first. */
void *starpu_data_get_sched_data(starpu_data_handle_t handle);

/* Returns the table of the interface that the data was registered with, which is its owner's; NULL: the
 * handle is not registered. */
struct starpu_data_interface_ops *starpu_data_get_interface_ops(starpu_data_handle_t handle);

/* ---- Access from the program itself ---- */

/* In place of a node: hold the data without bringing its value to any memory node. */
#define STARPU_ACQUIRE_NO_NODE -1

/* In place of a node: the same in this version, which does not hold copies where they are. */
#define STARPU_ACQUIRE_NO_NODE_LOCK_ALL -2

/* Waits until the data can be accessed in `mode` after the tasks submitted before, and makes it
 * valid in main memory. Every success is paired with starpu_data_release(). Blocks. Returns 0; or, with
 * nothing acquired: -EDEADLK in a task body or callback; -EINVAL: the handle is not registered, the data is
 * partitioned or unregistered already (starpu_data_unregister_submit()), `mode` is none of STARPU_R,
 * STARPU_W, STARPU_RW, STARPU_REDUX (with methods), or it is to be read and has no value; -ENOMEM, or another
 * negative value: it could not be brought. */
int starpu_data_acquire(starpu_data_handle_t handle, enum starpu_data_access_mode mode);

/* Same on memory node `node` (or STARPU_ACQUIRE_NO_NODE). Blocks. Returns the same; -EINVAL also: there is no
 * such node. */
int starpu_data_acquire_on_node(starpu_data_handle_t handle, int node, enum starpu_data_access_mode mode);

/* Calls `callback(arg)` when the data can be accessed in main memory in `mode`; the callback, or
 * what follows it, calls starpu_data_release(). It runs on the calling thread before this returns, or on
 * whichever releases the data or brings it; on a worker it must not block: that is refused (-EDEADLK). Does
 * not block. `arg` is borrowed until then. Returns 0; -EINVAL as starpu_data_acquire(), where the data is
 * free and has no value to read too, or the callback is NULL; -ENOMEM: then it is not called. Nor is it when
 * it turns out only later that there is no value, or that it cannot be brought: then the data is given back
 * and the error hook told (orrery_set_error_hook), without which the program ends, as with a task in that
 * place. */
int starpu_data_acquire_cb(starpu_data_handle_t handle, enum starpu_data_access_mode mode,
                           void (*callback)(void *), void *arg);

/* Same on memory node `node`. Returns the same. */
int starpu_data_acquire_on_node_cb(starpu_data_handle_t handle, int node, enum starpu_data_access_mode mode,
                                   void (*callback)(void *), void *arg);

/* Same in main memory; with `sequential_consistency` 0 it does not wait for tasks that were
 * submitted before but are not ready. Returns the same. */
int starpu_data_acquire_cb_sequential_consistency(starpu_data_handle_t handle,
                                                  enum starpu_data_access_mode mode, void (*callback)(void *),
                                                  void *arg, int sequential_consistency);

/* Same on memory node `node`. Returns the same. */
int starpu_data_acquire_on_node_cb_sequential_consistency(starpu_data_handle_t handle, int node,
                                                          enum starpu_data_access_mode mode,
                                                          void (*callback)(void *), void *arg,
                                                          int sequential_consistency);

/* Same; `quick` is ignored. Returns the same. */
int starpu_data_acquire_on_node_cb_sequential_consistency_quick(starpu_data_handle_t handle, int node,
                                                                enum starpu_data_access_mode mode,
                                                                void (*callback)(void *), void *arg,
                                                                int sequential_consistency, int quick);

/* Like starpu_data_acquire() if it can be done at once. Returns 0 when acquired; -EAGAIN when tasks are in
 * the way; else as that. A reduction that nobody has asked for yet is one: it is started. Never waits for
 * tasks, but for the transfer of the value; also in task bodies. */
int starpu_data_acquire_try(starpu_data_handle_t handle, enum starpu_data_access_mode mode);

/* Same on memory node `node`. Returns the same. */
int starpu_data_acquire_on_node_try(starpu_data_handle_t handle, int node, enum starpu_data_access_mode mode);

/* Ends an acquisition in main memory: tasks in its way may run. From the thread that acquired, or any other;
 * callbacks of others who wait for the data may run inside. Data that nobody holds: a message. */
void starpu_data_release(starpu_data_handle_t handle);

/* Ends an acquisition on memory node `node`, which must be the one given when it was acquired. */
void starpu_data_release_on_node(starpu_data_handle_t handle, int node);

/* Weakens an acquisition to `down_to_mode` (STARPU_R after STARPU_W or STARPU_RW, STARPU_NONE to release)
 * without letting writers in between. Any other change does nothing. */
void starpu_data_release_to(starpu_data_handle_t handle, enum starpu_data_access_mode down_to_mode);

/* Same for an acquisition on memory node `node`. */
void starpu_data_release_to_on_node(starpu_data_handle_t handle, enum starpu_data_access_mode down_to_mode,
                                    int node);

/* Runs `code` once `handle` can be accessed in `mode`, then releases it; C only, since it nests a
 * function. The nested function lives in the caller's frame: the caller must not return before it has
 * run. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define STARPU_DATA_ACQUIRE_CB(handle, mode, code)                                                           \
    do {                                                                                                     \
        void orr_acquired_(void *orr_unused_)                                                                \
        {                                                                                                    \
            (void)orr_unused_;                                                                               \
            code;                                                                                            \
            starpu_data_release(handle);                                                                     \
        }                                                                                                    \
        starpu_data_acquire_cb(handle, mode, orr_acquired_, NULL);                                           \
    } while (0)
#endif

/* ---- Arbiters: a task takes several commuting pieces of data at once, without deadlock and in any
 * order ---- */

struct starpu_arbiter;
typedef struct starpu_arbiter *starpu_arbiter_t;

/* Creates an arbiter, for the caller to destroy. Returns NULL, after a message, when out of memory. */
starpu_arbiter_t starpu_arbiter_create(void);

/* Lets `arbiter` decide about commuting accesses to the data. Before the first task on it, and not
 * to be changed. It makes no difference here: commuting tasks never deadlock, with an arbiter or without. */
void starpu_data_assign_arbiter(starpu_data_handle_t handle, starpu_arbiter_t arbiter);

/* Frees an arbiter; NULL is nothing. All data assigned to it must be unregistered before. */
void starpu_arbiter_destroy(starpu_arbiter_t arbiter);

/* ---- Places of copies. `node` is a memory node, 0 is the main memory ----
 *
 * To fetch and to prefetch come in their turn among the tasks on the data. With `async` 0 they wait for that,
 * in task bodies as well: never for data that one uses which waits for the task. For data that the task
 * itself uses, or some that may overlap it, and in callbacks, -EDEADLK is returned. */

/* Asks that a buffer for the data be allocated on `node` ahead of time; it may come to nothing. Returns 0;
 * -EINVAL; -ENOMEM. */
int starpu_data_request_allocation(starpu_data_handle_t handle, unsigned node);

/* Brings a valid copy to `node` as if a task waited for it; with `async` 0 waits until it is there. Returns
 * 0, also for data that is partitioned or has no value; -EINVAL; -ENOMEM; with `async` 0 also why it could
 * not be brought: -ENOMEM in a task body where nothing gave back memory on `node` for a second. */
int starpu_data_fetch_on_node(starpu_data_handle_t handle, unsigned node, unsigned async);

/* Same at the lower urgency of a prefetch; it may be dropped when `node` is full. Returns 0; -EINVAL;
 * -ENOMEM. So do the next ones. */
int starpu_data_prefetch_on_node(starpu_data_handle_t handle, unsigned node, unsigned async);

/* Same with a priority among prefetches, higher first. */
int starpu_data_prefetch_on_node_prio(starpu_data_handle_t handle, unsigned node, unsigned async, int prio);

/* Same, only when the link is idle. */
int starpu_data_idle_prefetch_on_node(starpu_data_handle_t handle, unsigned node, unsigned async);

/* Same with a priority among idle prefetches, higher first. */
int starpu_data_idle_prefetch_on_node_prio(starpu_data_handle_t handle, unsigned node, unsigned async,
                                           int prio);

/* Brings the data to `node` in its turn among the accesses to it (STARPU_R, STARPU_RW: a valid copy;
 * STARPU_W: only memory for one), as urgently as `prefetch` says, with a priority among prefetches, and calls
 * callback(arg) unless NULL. A copy asked for with STARPU_FETCH is there while the callback runs, unless it
 * could not be brought, and nobody writes the data meanwhile; a prefetch may have been dropped. Returns 0 at
 * once; -EINVAL, -ENOMEM: the callback is not called. */
int starpu_data_get_on_node_cb_prio(starpu_data_handle_t handle, int node, enum starpu_data_access_mode mode,
                                    void (*callback)(void *), void *arg, enum starpu_is_prefetch prefetch,
                                    int prio);

/* Returns 1 if `node` has a valid copy, or one is on its way there; else 0. This and the next answers are as
 * of now: they may be old when they are read. */
unsigned starpu_data_is_on_node(starpu_data_handle_t handle, unsigned node);

/* Returns the same, but a copy on its way because of a mere prefetch does not count. */
unsigned starpu_data_is_on_node_excluding_prefetch(starpu_data_handle_t handle, unsigned node);

/* Says that the data will not be used for some time once the tasks submitted so far are done: its
 * device copies are the first to be written back and evicted. Does not block. */
void starpu_data_wont_use(starpu_data_handle_t handle);

/* Returns 1 if the copy on `node` is in memory that the library took and can take back, and nobody uses it
 * now, whatever `is_prefetch` says; else 0. For policies. */
int starpu_data_can_evict(starpu_data_handle_t handle, unsigned node, enum starpu_is_prefetch is_prefetch);

/* Tries to evict the copy on `node`, writing it back first when it is the only one. Returns 0, also when
 * there is none, and while the writing back goes on; -1 when it is in use, or cannot be evicted (in main
 * memory without a store below it, or the program's own). */
int starpu_data_evict_from_node(starpu_data_handle_t handle, unsigned node);

/* Sets the memory nodes (bit n is node n) to which the data is written through after every write from now
 * on. Nodes that there are not are ignored. */
void starpu_data_set_wt_mask(starpu_data_handle_t handle, uint32_t wt_mask);

/* Tells whether `memory_node` has a buffer for the data, whether its copy is valid, and whether a
 * transfer to it is under way. Any output may be NULL. The answer may be old when it is read. */
void starpu_data_query_status(starpu_data_handle_t handle, int memory_node, int *is_allocated, int *is_valid,
                              int *is_requested);

/* Same, with `is_loading` beside; in this version it says the same as `is_requested`. */
void starpu_data_query_status2(starpu_data_handle_t handle, int memory_node, int *is_allocated, int *is_valid,
                               int *is_loading, int *is_requested);

/* Returns 1 if `memory_node` has a buffer for the data, else 0. */
unsigned starpu_data_test_if_allocated_on_node(starpu_data_handle_t handle, unsigned memory_node);

/* Returns 1 if the copy of `memory_node` is no copy but main memory, used in place (STARPU_ENABLE_MAP); else
 * 0. */
unsigned starpu_data_test_if_mapped_on_node(starpu_data_handle_t handle, unsigned memory_node);

/* A function of the program's, most often of its policy, that chooses which data leave `node` for `toload`
 * (NULL: for none in particular). It returns data with a buffer there, STARPU_DATA_NO_VICTIM (who wants
 * memory waits, and asks again), or NULL: what was used longest ago goes. If it has been
 * STARPU_DATA_NO_VICTIM for a second in which nothing there was in use, or for three, what was used longest
 * ago goes as well, which is said once for a node; each time after that sooner, until the function answers
 * otherwise. Any thread of the runtime's calls it, maybe several, while others wait for the node: it must not
 * block, nor use functions that wait. */
typedef starpu_data_handle_t starpu_data_victim_selector(starpu_data_handle_t toload, unsigned node,
                                                         enum starpu_is_prefetch is_prefetch, void *data);
/* Told when data that were chosen cannot leave now: somebody uses them, or there is no room below. Then what
 * was used longest ago goes. */
typedef void starpu_data_victim_eviction_failed(starpu_data_handle_t victim, void *data);
#define STARPU_DATA_NO_VICTIM ((starpu_data_handle_t)-1)
/* Registers both, for all nodes where data make room, until shutdown; NULL: none any more. `data` is handed
 * to them. From a policy's init_sched, or while no data are in use. */
void starpu_data_register_victim_selector(starpu_data_victim_selector selector,
                                          starpu_data_victim_eviction_failed evicted, void *data);

/* Writes back and frees some of the copies that `memory_node` is unlikely to need, if it is nearly
 * full; does not wait for the writing. Frees the memory that is kept there for data to come. */
void starpu_memchunk_tidy(unsigned memory_node);

/* Writes all data with a buffer on `node`, which is a device, whether each copy is valid (1, else 0), and how
 * many there are. Both arrays are allocated, the caller frees them with free(); NULL and 0: there is no such
 * node, or no memory. For policies. */
void starpu_data_get_node_data(unsigned node, starpu_data_handle_t **handles, int **valid, unsigned *n);

/* ---- Consistency ---- */

/* Says whether tasks on the data depend on each other in submission order (1, the default), for those that
 * are submitted from now on. */
void starpu_data_set_sequential_consistency_flag(starpu_data_handle_t handle, unsigned flag);

/* Returns what the data has, 1 or 0. */
unsigned starpu_data_get_sequential_consistency_flag(starpu_data_handle_t handle);

/* Sets the flag of data registered from now on, by any thread. At any time. */
void starpu_data_set_default_sequential_consistency_flag(unsigned flag);

/* Returns the flag that data registered now gets, 1 or 0. At any time. */
unsigned starpu_data_get_default_sequential_consistency_flag(void);

/* ---- Out of core ---- */

/* Says whether the data may be moved from main memory to a store below it (1, the default), if main memory
 * has a limit and there is a store. The program's own memory is never moved. */
void starpu_data_set_ooc_flag(starpu_data_handle_t handle, unsigned flag);

/* Returns what the data has, 1 or 0. */
unsigned starpu_data_get_ooc_flag(starpu_data_handle_t handle);

/* ---- Plans ---- */

/* Says on which memory node the pieces of plans are gathered (main memory unless said) when that is not said
 * otherwise: by starpu_data_unpartition_submit() with -1, and when a use of the data does it by itself. */
void starpu_data_set_gathering_node(starpu_data_handle_t handle, unsigned node);

/* ---- Reductions ---- */

/* Gives the codelets of STARPU_REDUX accesses: `redux_cl` (first buffer RW, second R) adds the
 * second to the first, `init_cl` (one buffer W) sets the neutral value, by an implementation for
 * CPUs or else for the workers that contribute. Borrowed until the data is unregistered. */
void starpu_data_set_reduction_methods(starpu_data_handle_t handle, struct starpu_codelet *redux_cl,
                                       struct starpu_codelet *init_cl);

/* Same, with the `cl_arg` of each codelet's tasks (borrowed as long). */
void starpu_data_set_reduction_methods_with_args(starpu_data_handle_t handle, struct starpu_codelet *redux_cl,
                                                 void *redux_cl_arg, struct starpu_codelet *init_cl,
                                                 void *init_cl_arg);

/* Gives the tasks that add contributions to `handle` up a third datum, of which each worker has a private
 * buffer: `redux_cl` then has a third buffer with mode STARPU_SCRATCH. The data `redux_scratch_handle` (NULL:
 * none any more) must stay registered as long as `handle` is. */
void starpu_data_set_reduction_scratch(starpu_data_handle_t handle,
                                       starpu_data_handle_t redux_scratch_handle);

/* Returns 1 if the data has a codelet that adds two contributions up, else 0. */
unsigned starpu_data_has_reduction_methods(starpu_data_handle_t handle);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_DATA_H */
