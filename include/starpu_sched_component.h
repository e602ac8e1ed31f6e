/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_sched_component.h: schedulers that are trees of components, from the root, which takes ready tasks,
 * down to the workers.
 *
 * Threads: a tree is built by one thread, in init_sched of a struct starpu_sched_policy. Afterwards methods
 * are called by any thread, several at once; never while workers enter or leave.
 * Owns: a tree owns the components that were created for it, connected or not.
 * Not here: the policy interface (starpu_scheduler.h), the trees that the library has (sched/components).
 *
 * The rules. Flow-control components (fifo, prio, heft, work_stealing, workers) keep tasks; they divide the
 * tree into areas. Resource-mapping components (eager, random, mct, ...) choose a child and keep nothing.
 * Downwards go push_task (take this task) and can_pull (there is something to fetch); upwards go pull_task
 * (give me one) and can_push (I have room). A flow-control component catches what comes from either side, and
 * moves tasks into the area below itself: that is its pump. push_task never calls upwards. No component holds
 * a lock while it calls another one. A flow-control component with one exit has one child; the root keeps
 * whatever it is given, or hands it on; each worker has one leaf.
 *
 * A tree is checked when workers enter it. One that breaks the rules is refused with a message, and
 * starpu_init() or starpu_sched_ctx_create() fails.
 *
 * Results: a function that creates a component returns it, the tree's, to be connected by the caller; NULL,
 * with a message: out of memory, or no tree. A function _is_ asks whether a component was created as that
 * kind. Components and tasks that are given are not NULL. Lengths and times are in us, as starpu_timing_now()
 * has them. */
#ifndef STARPU_SCHED_COMPONENT_H
#define STARPU_SCHED_COMPONENT_H

#include <starpu.h>
#include <starpu_bitmap.h>
#include <starpu_scheduler.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Bits of starpu_sched_component::properties: all workers below are of one kind; use one memory node. */
enum starpu_sched_component_properties {
    STARPU_SCHED_COMPONENT_HOMOGENEOUS = (1 << 0),
    STARPU_SCHED_COMPONENT_SINGLE_MEMORY_NODE = (1 << 1)
};

#define STARPU_SCHED_COMPONENT_IS_HOMOGENEOUS(component)                                                     \
    ((component)->properties & STARPU_SCHED_COMPONENT_HOMOGENEOUS)
#define STARPU_SCHED_COMPONENT_IS_SINGLE_MEMORY_NODE(component)                                              \
    ((component)->properties & STARPU_SCHED_COMPONENT_SINGLE_MEMORY_NODE)

struct starpu_sched_tree;

/* A component. starpu_sched_component_create() fills in every method but push_task; whoever makes a new kind
 * sets push_task and replaces what it needs. */
struct starpu_sched_component {
    struct starpu_sched_tree *tree;
    struct starpu_bitmap workers[1];        /* workers below */
    struct starpu_bitmap workers_in_ctx[1]; /* those of them that the context has now */
    void *data;                             /* the kind's own */
    char *name;
    unsigned nchildren;
    struct starpu_sched_component **children;
    unsigned nparents;
    struct starpu_sched_component **parents;

    /* Called by starpu_sched_component_connect() and _destroy(). */
    void (*add_child)(struct starpu_sched_component *component, struct starpu_sched_component *child);
    void (*remove_child)(struct starpu_sched_component *component, struct starpu_sched_component *child);
    void (*add_parent)(struct starpu_sched_component *component, struct starpu_sched_component *parent);
    void (*remove_parent)(struct starpu_sched_component *component, struct starpu_sched_component *parent);

    /* Takes the task, which some worker below can execute. 0: it is kept here or further down, and may have
     * run by now. Else it is still the caller's: there is no room. */
    int (*push_task)(struct starpu_sched_component *component, struct starpu_task *task);

    /* A task for `to`, one of the component's children, or NULL. Who asked can execute it. Default: ask the
     * parents. */
    struct starpu_task *(*pull_task)(struct starpu_sched_component *from, struct starpu_sched_component *to);

    /* `to`, one of the component's children, has room. Returns nonzero if a task was pushed. Default: tell
     * the parents. */
    int (*can_push)(struct starpu_sched_component *from, struct starpu_sched_component *to);

    /* There is something to pull. Returns nonzero if a worker was woken, or is about to pull. Default: tell
     * the children one by one, until one returns nonzero. */
    int (*can_pull)(struct starpu_sched_component *component);

    /* A message between components; the library's know none and return 0. Default: NULL. */
    int (*notify)(struct starpu_sched_component *component, int message_ID, void *arg);

    /* Number of tasks over the speed of the workers below; of those here, and the sum over the children. */
    double (*estimated_load)(struct starpu_sched_component *component);
    /* When (starpu_timing_now()) a worker below will have nothing to do. Counts tasks whose time is
     * predicted. */
    double (*estimated_end)(struct starpu_sched_component *component);

    /* Frees data. Called by starpu_sched_component_destroy(). Default: does nothing. */
    void (*deinit_data)(struct starpu_sched_component *component);
    /* Workers entered or left; workers_in_ctx is up to date. No other method runs. Default: does nothing. */
    void (*notify_change_workers)(struct starpu_sched_component *component);
    /* A good time to decide (starpu_do_schedule()). Default: tell the children. */
    void (*do_schedule)(struct starpu_sched_component *component);

    int properties; /* bits of enum starpu_sched_component_properties */
    void *obj;      /* the part of the machine it serves (hwloc_obj_t), or NULL */
};

struct starpu_sched_tree {
    struct starpu_sched_component *root;
    struct starpu_bitmap workers[1]; /* that the context has now */
    unsigned sched_ctx_id;
    starpu_pthread_mutex_t lock; /* held while workers enter or leave */
};

/* ---- Trees ---- */

/* An empty tree for a context; its root is set by the caller. NULL: out of memory, no such context. */
struct starpu_sched_tree *starpu_sched_tree_create(unsigned sched_ctx_id);
/* Destroys the tree and all its components, after its context's workers have left. NULL: nothing. */
void starpu_sched_tree_destroy(struct starpu_sched_tree *tree);
/* The same for the tree of a context; for starpu_sched_policy::deinit_sched. */
void starpu_sched_tree_deinitialize(unsigned sched_ctx_id);
/* The tree of a context: the last one created for it; NULL: it has none. */
struct starpu_sched_tree *starpu_sched_tree_get(unsigned sched_ctx_id);

/* Computes which workers are below each component, and which of them the context has. Done by
 * starpu_sched_tree_add_workers() too, so needed by who looks at the sets while he builds the tree. */
void starpu_sched_tree_update_workers(struct starpu_sched_tree *t);
void starpu_sched_tree_update_workers_in_ctx(struct starpu_sched_tree *t);

/* Methods for struct starpu_sched_policy. Push returns 0, or what says that the tree has not taken the task
 * (-EINVAL: its context has no tree); pop, on a worker, the worker's next task, NULL: none. */
int starpu_sched_tree_push_task(struct starpu_task *task);
struct starpu_task *starpu_sched_tree_pop_task(unsigned sched_ctx);
/* add_workers checks the tree, and wakes who waits for a worker; a tree that it refuses fails the call that
 * created the context. The others do nothing for a context without a tree. */
void starpu_sched_tree_add_workers(unsigned sched_ctx_id, int *workerids, unsigned nworkers);
void starpu_sched_tree_remove_workers(unsigned sched_ctx_id, int *workerids, unsigned nworkers);
void starpu_sched_tree_do_schedule(unsigned sched_ctx_id);
/* Keep the predictions of estimated_end in step with what workers do; on the worker, around each task of the
 * context. */
void starpu_sched_component_worker_pre_exec_hook(struct starpu_task *task, unsigned sched_ctx_id);
void starpu_sched_component_worker_post_exec_hook(struct starpu_task *task, unsigned sched_ctx_id);

/* ---- Components in general ---- */

typedef struct starpu_sched_component *(*starpu_sched_component_create_t)(struct starpu_sched_tree *tree,
                                                                          void *data);

/* A component with the default methods and no push_task. The name is copied. NULL: out of memory. */
struct starpu_sched_component *starpu_sched_component_create(struct starpu_sched_tree *tree,
                                                             const char *name);
/* Calls deinit_data, disconnects the component and frees it. */
void starpu_sched_component_destroy(struct starpu_sched_component *component);
/* The same for the component and all below it that have no other parent. */
void starpu_sched_component_destroy_rec(struct starpu_sched_component *component);

/* Makes child a child of parent, and parent a parent of child. */
void starpu_sched_component_connect(struct starpu_sched_component *parent,
                                    struct starpu_sched_component *child);
/* The default of add_child: appends to the list of children; child is not told. */
void starpu_sched_component_add_child(struct starpu_sched_component *component,
                                      struct starpu_sched_component *child);

/* Returns to->push_task(to, task): 0 if it took the task. But refuses one that no worker below `to` can
 * execute (1), and wakes the workers that can. */
int starpu_sched_component_push_task(struct starpu_sched_component *from, struct starpu_sched_component *to,
                                     struct starpu_task *task);
/* Returns from->pull_task(from, to): a task, or NULL. */
struct starpu_task *starpu_sched_component_pull_task(struct starpu_sched_component *from,
                                                     struct starpu_sched_component *to);

/* Pumps: pull tasks from component and push them to `to` (to its only child) until there is none, or one is
 * refused, which is returned. *success: at least one was pushed. */
struct starpu_task *starpu_sched_component_pump_to(struct starpu_sched_component *component,
                                                   struct starpu_sched_component *to, int *success);
struct starpu_task *starpu_sched_component_pump_downstream(struct starpu_sched_component *component,
                                                           int *success);

/* Tells the parents one by one that component has room, until one pushes something: then 1, else 0. */
int starpu_sched_component_send_can_push_to_parents(struct starpu_sched_component *component);

/* What methods are by default, or may be set to; they return what the methods do. parents_pull_task asks the
 * parents in turn, can_push tells them, can_pull the children one by one; a root does so with the tasks that
 * the tree keeps above it. can_pull_all tells every child. */
struct starpu_task *starpu_sched_component_parents_pull_task(struct starpu_sched_component *component,
                                                             struct starpu_sched_component *to);
int starpu_sched_component_can_push(struct starpu_sched_component *component,
                                    struct starpu_sched_component *to);
int starpu_sched_component_can_pull(struct starpu_sched_component *component);
int starpu_sched_component_can_pull_all(struct starpu_sched_component *component);
/* The number of tasks here over the speed of the workers below, and the sum over the children; the earliest
 * end of a child, now without children. */
double starpu_sched_component_estimated_load(struct starpu_sched_component *component);
double starpu_sched_component_estimated_end_min(struct starpu_sched_component *component);
/* The same, once exp_len (us) more work is shared among the workers below; the mean of the children's ends.
 */
double starpu_sched_component_estimated_end_min_add(struct starpu_sched_component *component, double exp_len);
double starpu_sched_component_estimated_end_average(struct starpu_sched_component *component);

/* Can a worker below, of those in the context, execute the task? */
int starpu_sched_component_can_execute_task(struct starpu_sched_component *component,
                                            struct starpu_task *task);
/* The same; writes the time in us of the best implementation on the best worker, NAN when a model lacks
 * measures for one of them. */
int starpu_sched_component_execute_preds(struct starpu_sched_component *component, struct starpu_task *task,
                                         double *length);
/* The time in us that it takes to bring the task's data to the workers below, on average over their memory
 * nodes; 0: it is there. */
double starpu_sched_component_transfer_length(struct starpu_sched_component *component,
                                              struct starpu_task *task);
/* Asks for the task's data on the memory node of the workers below, if they have one in common. Does not
 * wait. */
void starpu_sched_component_prefetch_on_node(struct starpu_sched_component *component,
                                             struct starpu_task *task);

/* ---- Workers: the leaves. They keep any number of tasks, in order ---- */

/* The leaf of a worker in the last tree created for the context, made on first use. NULL, with a message:
 * there is no such worker or tree, or out of memory. */
struct starpu_sched_component *starpu_sched_component_worker_get(unsigned sched_ctx, int workerid);
/* The same, but always a new one. A tree may have one only for each worker. */
struct starpu_sched_component *starpu_sched_component_worker_new(unsigned sched_ctx, int workerid);
/* A leaf for several workers, which run each parallel task pushed to it together. NULL, with a message: there
 * is no combined worker of these. */
struct starpu_sched_component *starpu_sched_component_parallel_worker_create(struct starpu_sched_tree *tree,
                                                                             unsigned nworkers,
                                                                             unsigned *workers);
/* The number of the worker whose leaf this is; -1: it is no leaf of one worker. Then: is it a leaf; of one
 * worker; of several? */
int starpu_sched_component_worker_get_workerid(struct starpu_sched_component *worker_component);
int starpu_sched_component_is_worker(struct starpu_sched_component *component);
int starpu_sched_component_is_simple_worker(struct starpu_sched_component *component);
int starpu_sched_component_is_combined_worker(struct starpu_sched_component *component);

/* ---- Flow control ---- */

/* A queue in the order of coming, or (prio) by priority. It is full at so many tasks, or us of predicted
 * work; 0: no limit. An empty one takes a task however long. ready: among the first tasks of equal rank it
 * gives out the one with the least data to bring; ready_first: the first one with nothing to bring. exp:
 * accepted; the predicted work is always counted. */
struct starpu_sched_component_fifo_data {
    unsigned ntasks_threshold;
    double exp_len_threshold;
    int ready;
    int ready_first;
    int exp;
};
struct starpu_sched_component_prio_data {
    unsigned ntasks_threshold;
    double exp_len_threshold;
    int ready;
    int ready_first;
    int exp;
};
/* NULL for data: no limits. The data is copied. */
struct starpu_sched_component *starpu_sched_component_fifo_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_fifo_data *fifo_data);
int starpu_sched_component_is_fifo(struct starpu_sched_component *component);
struct starpu_sched_component *starpu_sched_component_prio_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_prio_data *prio_data);
int starpu_sched_component_is_prio(struct starpu_sched_component *component);

/* A queue for each child. A worker's own tasks go to its child's, others in turn; who has none takes from the
 * others in turn, the last one of the highest priority. */
struct starpu_sched_component *starpu_sched_component_work_stealing_create(struct starpu_sched_tree *tree,
                                                                           void *arg);
int starpu_sched_component_is_work_stealing(struct starpu_sched_component *component);
/* For starpu_sched_policy::push_task: straight to the tree's work_stealing component, or to the root if there
 * is none. Returns what starpu_sched_tree_push_task() does. */
int starpu_sched_tree_work_stealing_push_task(struct starpu_task *task);

/* ---- Resource mapping; arg is not used ---- */

/* The first child that takes the task, beginning with the calling worker's; for children without a queue:
 * the first worker that pulls. */
struct starpu_sched_component *starpu_sched_component_eager_create(struct starpu_sched_tree *tree, void *arg);
int starpu_sched_component_is_eager(struct starpu_sched_component *component);
/* The same, with the children in turn: those with the least load first. */
struct starpu_sched_component *starpu_sched_component_eager_prio_create(struct starpu_sched_tree *tree,
                                                                        void *arg);
int starpu_sched_component_is_eager_prio(struct starpu_sched_component *component);
/* The same, with the children first for whose workers the task's model lacks measures. */
struct starpu_sched_component *starpu_sched_component_eager_calibration_create(struct starpu_sched_tree *tree,
                                                                               void *arg);
int starpu_sched_component_is_eager_calibration(struct starpu_sched_component *component);
/* A component that hands a task to any child, with a probability in proportion to the speed of its workers.
 */
struct starpu_sched_component *starpu_sched_component_random_create(struct starpu_sched_tree *tree,
                                                                    void *arg);
int starpu_sched_component_is_random(struct starpu_sched_component *component);

/* The child with the least alpha * end of the task + beta * transfer + _gamma * energy, in us and J;
 * idle_power in W counts as energy for as long as the task prolongs the whole. Tasks without predictions go
 * to the child with the least load. NULL for data: STARPU_SCHED_ALPHA, _BETA, _GAMMA, STARPU_IDLE_POWER. The
 * data is copied. nolock: accepted; decisions take no lock. */
struct starpu_sched_component_mct_data {
    double alpha;
    double beta;
    double _gamma;
    double idle_power;
    int nolock;
};
struct starpu_sched_component *starpu_sched_component_mct_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_mct_data *mct_data);
int starpu_sched_component_is_mct(struct starpu_sched_component *component);

/* The same, deciding by falling priority over the tasks that wait: it keeps tasks until the child chosen has
 * room. Up to 64 tasks are looked at together: one that waits for a busy child counts as that child's load
 * when the next are decided. */
struct starpu_sched_component *starpu_sched_component_heft_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_mct_data *mct_data);
int starpu_sched_component_is_heft(struct starpu_sched_component *component);

/* Like heft, but the tasks that are faster on a child by the largest factor go to it first (affinity), and
 * priority decides among those alike. batch: tasks of one kind are taken so many at a time; 0: one. */
struct starpu_sched_component_heteroprio_data {
    struct starpu_sched_component_mct_data *mct;
    unsigned batch;
};
struct starpu_sched_component *starpu_sched_component_heteroprio_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_heteroprio_data *params);
int starpu_sched_component_is_heteroprio(struct starpu_sched_component *component);

/* ---- Special purposes ---- */

/* A component that sets the fastest implementation for the worker that pulls (for the first that can run the
 * task, when it is pushed), or one that lacks measures, and starpu_task::predicted. One child. */
struct starpu_sched_component *starpu_sched_component_best_implementation_create(
    struct starpu_sched_tree *tree, void *arg);

/* A component that hands tasks on: without a performance model to one child; whose model lacks measures to
 * another; the others to the third. All three are required, and are connected by the caller. */
struct starpu_sched_component_perfmodel_select_data {
    struct starpu_sched_component *calibrator_component;
    struct starpu_sched_component *no_perfmodel_component;
    struct starpu_sched_component *perfmodel_component;
};
struct starpu_sched_component *starpu_sched_component_perfmodel_select_create(
    struct starpu_sched_tree *tree,
    struct starpu_sched_component_perfmodel_select_data *perfmodel_select_data);
int starpu_sched_component_is_perfmodel_select(struct starpu_sched_component *component);

/* A component with several parents above one child: a parent gives tasks only while those before it have
 * none. */
struct starpu_sched_component *starpu_sched_component_stage_create(struct starpu_sched_tree *tree, void *arg);
int starpu_sched_component_is_stage(struct starpu_sched_component *component);

/* Hands each task to the child whose number is its starpu_task::sched_data (as an intptr_t); another one if
 * that cannot execute it. */
struct starpu_sched_component *starpu_sched_component_userchoice_create(struct starpu_sched_tree *tree,
                                                                        void *arg);
int starpu_sched_component_is_userchoice(struct starpu_sched_component *component);

/* ---- Composition: several components, each above the next, as one ---- */

struct starpu_sched_component_composed_recipe;

/* An empty recipe; one with a component; adding one below the others. arg is kept until the recipe's end. */
struct starpu_sched_component_composed_recipe *starpu_sched_component_composed_recipe_create(void);
struct starpu_sched_component_composed_recipe *starpu_sched_component_composed_recipe_create_singleton(
    struct starpu_sched_component *(*create_component)(struct starpu_sched_tree *tree, void *arg), void *arg);
void starpu_sched_component_composed_recipe_add(
    struct starpu_sched_component_composed_recipe *recipe,
    struct starpu_sched_component *(*create_component)(struct starpu_sched_tree *tree, void *arg), void *arg);
void starpu_sched_component_composed_recipe_destroy(struct starpu_sched_component_composed_recipe *recipe);
/* Makes the components. Children of the result are children of the lowest one. A recipe of one component
 * gives that component. NULL: the recipe is empty, or out of memory. */
struct starpu_sched_component *starpu_sched_component_composed_component_create(
    struct starpu_sched_tree *tree, struct starpu_sched_component_composed_recipe *recipe);

/* What to put at each level of the machine, from the whole down to a worker; NULL: nothing, but for the
 * whole. mix_heterogeneous_workers: devices share the components of the NUMA node, socket and cache near
 * them; else they hang below the whole machine. */
struct starpu_sched_component_specs {
    struct starpu_sched_component_composed_recipe *hwloc_machine_composed_sched_component;
    struct starpu_sched_component_composed_recipe *hwloc_component_composed_sched_component; /* NUMA node */
    struct starpu_sched_component_composed_recipe *hwloc_socket_composed_sched_component;
    struct starpu_sched_component_composed_recipe *hwloc_cache_composed_sched_component;
    struct starpu_sched_component_composed_recipe *(*worker_composed_sched_component)(
        enum starpu_worker_archtype archtype);
    int mix_heterogeneous_workers;
};
/* A tree of those over all workers. NULL, with a message: it cannot be made. */
struct starpu_sched_tree *starpu_sched_component_make_scheduler(unsigned sched_ctx_id,
                                                                struct starpu_sched_component_specs s);

/* ---- Common shapes ---- */

/* Whether the decision is among workers, memory nodes or kinds of workers. */
#define STARPU_SCHED_SIMPLE_DECIDE_MASK (3 << 0)
#define STARPU_SCHED_SIMPLE_DECIDE_WORKERS (1 << 0)
#define STARPU_SCHED_SIMPLE_DECIDE_MEMNODES (2 << 0)
#define STARPU_SCHED_SIMPLE_DECIDE_ARCHS (3 << 0)
/* Make the component that decides even where there is one choice only. */
#define STARPU_SCHED_SIMPLE_DECIDE_ALWAYS (1 << 3)
/* Put perfmodel_select above it, with eager for what has no model, and a queue for what lacks measures, from
 * which workers fetch that are to be measured. */
#define STARPU_SCHED_SIMPLE_PERFMODEL (1 << 4)
/* Put best_implementation above each worker. */
#define STARPU_SCHED_SIMPLE_IMPL (1 << 5)
/* Put a fifo above the component that decides; by priority. */
#define STARPU_SCHED_SIMPLE_FIFO_ABOVE (1 << 6)
#define STARPU_SCHED_SIMPLE_FIFO_ABOVE_PRIO (1 << 7)
/* Put a fifo below it for each choice; by priority; giving out first what has its data at hand. They take
 * STARPU_NTASKS_THRESHOLD tasks and STARPU_EXP_LEN_THRESHOLD us of work. */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW (1 << 8)
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_PRIO (1 << 9)
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY (1 << 10)
/* Put work_stealing between the fifo and the workers that share it. */
#define STARPU_SCHED_SIMPLE_WS_BELOW (1 << 11)
/* Choose among combined workers too. */
#define STARPU_SCHED_SIMPLE_COMBINED_WORKERS (1 << 12)
/* The fifos below take any number of tasks; they count predicted lengths (which they always do). */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_NOLIMIT (1 << 13)
/* The next two arguments are a function and its data, for a component to put above the one that decides. */
#define STARPU_SCHED_SIMPLE_PRE_DECISION (1 << 14)
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_EXP (1 << 15)
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY_FIRST (1 << 16)

/* Makes a tree around the component that create_decision_component(tree, data) makes, for all workers, and
 * makes it the context's policy data. For init_sched. */
void starpu_sched_component_initialize_simple_scheduler(
    starpu_sched_component_create_t create_decision_component, void *data, unsigned flags,
    unsigned sched_ctx_id);
/* The same with several components that decide: for each of the ndecisions its
 * starpu_sched_component_create_t, void *data, and unsigned flags follow. The program chooses by
 * starpu_task::sched_data; a decision before another has precedence. All decide among the same things,
 * without STARPU_SCHED_SIMPLE_PERFMODEL. */
void starpu_sched_component_initialize_simple_schedulers(unsigned sched_ctx_id, unsigned ndecisions, ...);

/* ---- Locks of components: a worker that waits for one lets others have its own mutex meanwhile ---- */

#define STARPU_COMPONENT_MUTEX_LOCK(m)                                                                       \
    do {                                                                                                     \
        const int starpu_relaxed_ = starpu_worker_get_relax_state();                                         \
        if (!starpu_relaxed_) starpu_worker_relax_on();                                                      \
        STARPU_PTHREAD_MUTEX_LOCK((m));                                                                      \
        if (!starpu_relaxed_) starpu_worker_relax_off();                                                     \
    } while (0)
#define STARPU_COMPONENT_MUTEX_TRYLOCK(m) STARPU_PTHREAD_MUTEX_TRYLOCK((m))
#define STARPU_COMPONENT_MUTEX_UNLOCK(m) STARPU_PTHREAD_MUTEX_UNLOCK((m))

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
