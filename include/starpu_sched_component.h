/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modular schedulers: a policy as a tree of components, tasks pushed down from the root and pulled up
 * from by the workers at the leaves.
 * Threads: trees are built by init_sched() of a policy; the functions of a component are called by any
 *   thread that submits or works, several at once; a component guards what it owns with locks of its
 *   own.
 * Not here: policies without components (starpu_scheduler.h).
 */
#ifndef STARPU_SCHED_COMPONENT_H
#define STARPU_SCHED_COMPONENT_H

#include <starpu_config.h>
#include <starpu_bitmap.h>
#include <starpu_scheduler.h>
#include <starpu_task.h>
#include <starpu_thread.h>
#include <starpu_thread_util.h>
#include <starpu_worker.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct hwloc_obj;

/* What all workers below a component have in common. */
enum starpu_sched_component_properties {
    STARPU_SCHED_COMPONENT_HOMOGENEOUS = 1 << 0,       /* they run the same tasks equally fast */
    STARPU_SCHED_COMPONENT_SINGLE_MEMORY_NODE = 1 << 1 /* they have one memory node */
};

#define STARPU_SCHED_COMPONENT_IS_HOMOGENEOUS(component) \
    ((component)->properties & STARPU_SCHED_COMPONENT_HOMOGENEOUS)
#define STARPU_SCHED_COMPONENT_IS_SINGLE_MEMORY_NODE(component) \
    ((component)->properties & STARPU_SCHED_COMPONENT_SINGLE_MEMORY_NODE)

/* A component. starpu_sched_component_create() fills every function with a default. */
struct starpu_sched_component {
    struct starpu_sched_tree *tree;
    struct starpu_bitmap *workers;        /* the workers below */
    struct starpu_bitmap *workers_in_ctx; /* those of them in the tree's context */
    void *data;                           /* the component's own */
    char *name;
    unsigned nchildren;
    struct starpu_sched_component **children;
    unsigned nparents; /* more than one under several contexts or decisions */
    struct starpu_sched_component **parents;

    /* Change the links; both sides are linked by starpu_sched_component_connect(). */
    void (*add_child)(struct starpu_sched_component *component, struct starpu_sched_component *child);
    void (*remove_child)(struct starpu_sched_component *component, struct starpu_sched_component *child);
    void (*add_parent)(struct starpu_sched_component *component, struct starpu_sched_component *parent);
    void (*remove_parent)(
            struct starpu_sched_component *component, struct starpu_sched_component *parent);

    /* Takes a ready task from a parent. Returns 0 when taken; 1 when there is no room: it remains the
     * caller's, which is told by can_push when to try again. */
    int (*push_task)(struct starpu_sched_component *component, struct starpu_task *task);
    /* Gives child `to` a task, NULL if it has none. Default: asks the parents. */
    struct starpu_task *(*pull_task)(
            struct starpu_sched_component *from, struct starpu_sched_component *to);
    /* Child `to` has room again: push what waits. Returns 1 if something was pushed. Default: tells
     * the parents. */
    int (*can_push)(struct starpu_sched_component *from, struct starpu_sched_component *to);
    /* A parent has tasks: let workers below pull. Returns 1 if one was woken. Default: tells the
     * children. */
    int (*can_pull)(struct starpu_sched_component *component);
    /* A message between components, its meaning their own. Returns 1 when it was dealt with. */
    int (*notify)(struct starpu_sched_component *component, int message_ID, void *arg);
    /* starpu_do_schedule() was called. Default: tells the children. */
    void (*do_schedule)(struct starpu_sched_component *component);

    /* Work below by the models, in microseconds. */
    double (*estimated_load)(struct starpu_sched_component *component);
    /* Date by which the work below is done, in microseconds. */
    double (*estimated_end)(struct starpu_sched_component *component);

    /* Frees data. */
    void (*deinit_data)(struct starpu_sched_component *component);
    /* The workers below, or those in the context, have changed. */
    void (*notify_change_workers)(struct starpu_sched_component *component);

    int properties;        /* enum starpu_sched_component_properties */
    struct hwloc_obj *obj; /* the part of the machine it stands for, NULL for none */
};

/* A tree, one for each scheduling context. */
struct starpu_sched_tree {
    struct starpu_sched_component *root;
    struct starpu_bitmap *workers; /* of the context */
    unsigned sched_ctx_id;
    starpu_pthread_mutex_t lock; /* protects the shape of the tree */
};

/* ---- Trees. The functions of a policy that is one tree ---- */

/* Makes an empty tree and attaches it to the context's policy. Returns NULL without memory. */
struct starpu_sched_tree *starpu_sched_tree_create(unsigned sched_ctx_id);

/* Frees a tree and every component only it has. */
void starpu_sched_tree_destroy(struct starpu_sched_tree *tree);

/* Frees a context's tree, as a policy's deinit_sched. */
void starpu_sched_tree_deinitialize(unsigned sched_ctx_id);

/* Returns a context's tree. */
struct starpu_sched_tree *starpu_sched_tree_get(unsigned sched_ctx_id);

/* Works the workers below each component out again, after the shape of the tree changed. */
void starpu_sched_tree_update_workers(struct starpu_sched_tree *t);

/* Same for those in the context. */
void starpu_sched_tree_update_workers_in_ctx(struct starpu_sched_tree *t);

/* Pushes a task into its context's tree, as a policy's push_task. */
int starpu_sched_tree_push_task(struct starpu_task *task);

/* Lets the calling worker pull from the tree, as a policy's pop_task. */
struct starpu_task *starpu_sched_tree_pop_task(unsigned sched_ctx);

/* Adds workers to a context's tree, as a policy's add_workers. */
void starpu_sched_tree_add_workers(unsigned sched_ctx_id, int *workerids, unsigned nworkers);

/* Removes workers from a context's tree, as a policy's remove_workers. */
void starpu_sched_tree_remove_workers(unsigned sched_ctx_id, int *workerids, unsigned nworkers);

/* Tells the tree of starpu_do_schedule(), as a policy's do_schedule. */
void starpu_sched_tree_do_schedule(unsigned sched_ctx_id);

/* Pushes a task where the calling worker is, as push_task of a work-stealing tree. */
int starpu_sched_tree_work_stealing_push_task(struct starpu_task *task);

/* ---- Components ---- */

typedef struct starpu_sched_component *(*starpu_sched_component_create_t)(
        struct starpu_sched_tree *tree, void *data);

/* Makes a component with the default functions. `name` is copied. Returns NULL without memory. */
struct starpu_sched_component *starpu_sched_component_create(
        struct starpu_sched_tree *tree, const char *name);

/* Frees a component without links. */
void starpu_sched_component_destroy(struct starpu_sched_component *component);

/* Frees a component and all below. */
void starpu_sched_component_destroy_rec(struct starpu_sched_component *component);

/* Adds a child, as the default add_child. */
void starpu_sched_component_add_child(
        struct starpu_sched_component *component, struct starpu_sched_component *child);

/* Links a parent and a child, both sides. */
void starpu_sched_component_connect(
        struct starpu_sched_component *parent, struct starpu_sched_component *child);

/* Pushes a task from one component to another, noting it in traces. Returns what push_task returns. */
int starpu_sched_component_push_task(
        struct starpu_sched_component *from, struct starpu_sched_component *to, struct starpu_task *task);

/* Pulls a task from one component for another, noting it in traces. */
struct starpu_task *starpu_sched_component_pull_task(
        struct starpu_sched_component *from, struct starpu_sched_component *to);

/* Pulls from `component` and pushes to `to` until one refuses; *success (may be NULL) tells whether
 * a task went. Returns the task that `to` refused, NULL if none. */
struct starpu_task *starpu_sched_component_pump_to(
        struct starpu_sched_component *component, struct starpu_sched_component *to, int *success);

/* Same to the only child. */
struct starpu_task *starpu_sched_component_pump_downstream(
        struct starpu_sched_component *component, int *success);

/* Tells the parents that there is room. Returns 1 if one pushed. */
int starpu_sched_component_send_can_push_to_parents(struct starpu_sched_component *component);

/* Pulls from the parents, as the default pull_task. */
struct starpu_task *starpu_sched_component_parents_pull_task(
        struct starpu_sched_component *component, struct starpu_sched_component *to);

/* Tells the parents, as the default can_push. */
int starpu_sched_component_can_push(
        struct starpu_sched_component *component, struct starpu_sched_component *to);

/* Tells the children until one takes it, as the default can_pull. */
int starpu_sched_component_can_pull(struct starpu_sched_component *component);

/* Tells all children. */
int starpu_sched_component_can_pull_all(struct starpu_sched_component *component);

/* Sum over the children. */
double starpu_sched_component_estimated_load(struct starpu_sched_component *component);

/* Least of the children. */
double starpu_sched_component_estimated_end_min(struct starpu_sched_component *component);

/* Same, `exp_len` microseconds later, shared among the workers below. */
double starpu_sched_component_estimated_end_min_add(
        struct starpu_sched_component *component, double exp_len);

/* Average over the children. */
double starpu_sched_component_estimated_end_average(struct starpu_sched_component *component);

/* Returns 1 if a worker below can run the task. */
int starpu_sched_component_can_execute_task(
        struct starpu_sched_component *component, struct starpu_task *task);

/* Returns 1 if a worker below can run the task, and sets *length to its least time (microseconds,
 * NaN uncalibrated). */
int STARPU_WARN_UNUSED_RESULT starpu_sched_component_execute_preds(
        struct starpu_sched_component *component, struct starpu_task *task, double *length);

/* Returns the microseconds to bring what the task lacks to the component's memory nodes, on average. */
double starpu_sched_component_transfer_length(
        struct starpu_sched_component *component, struct starpu_task *task);

/* Prefetches the task's data to the component's memory node. */
void starpu_sched_component_prefetch_on_node(
        struct starpu_sched_component *component, struct starpu_task *task);

/* ---- Workers: the leaves ---- */

/* Returns the leaf of a worker in a context. */
struct starpu_sched_component *starpu_sched_component_worker_get(unsigned sched_ctx, int workerid);

/* Returns the leaf of a worker in a context, made at the first call. */
struct starpu_sched_component *starpu_sched_component_worker_new(unsigned sched_ctx, int workerid);

/* Makes a leaf of several workers that run parallel tasks together. */
struct starpu_sched_component *starpu_sched_component_parallel_worker_create(
        struct starpu_sched_tree *tree, unsigned nworkers, unsigned *workers);

/* Returns the worker of a leaf. */
int starpu_sched_component_worker_get_workerid(struct starpu_sched_component *worker_component);

/* Returns 1 for a leaf. */
int starpu_sched_component_is_worker(struct starpu_sched_component *component);

/* Returns 1 for the leaf of one worker. */
int starpu_sched_component_is_simple_worker(struct starpu_sched_component *component);

/* Returns 1 for the leaf of several workers. */
int starpu_sched_component_is_combined_worker(struct starpu_sched_component *component);

/* Notes that a task begins, as a policy's pre_exec_hook. */
void starpu_sched_component_worker_pre_exec_hook(struct starpu_task *task, unsigned sched_ctx_id);

/* Notes that a task is over, as a policy's post_exec_hook. */
void starpu_sched_component_worker_post_exec_hook(struct starpu_task *task, unsigned sched_ctx_id);

/* ---- Queues. `data` structures are copied, NULL: defaults ---- */

struct starpu_sched_component_fifo_data {
    unsigned ntasks_threshold; /* full at that many tasks, 0: never */
    double exp_len_threshold;  /* full at that many microseconds of work, 0: never */
    int ready;                 /* first the task that lacks the fewest bytes */
    int exp;                   /* keep the expected work up to date */
    int ready_first;           /* among equal ones the oldest */
};

/* Makes a queue in order of arrival. */
struct starpu_sched_component *starpu_sched_component_fifo_create(
        struct starpu_sched_tree *tree, struct starpu_sched_component_fifo_data *fifo_data);

/* Returns 1 for one. */
int starpu_sched_component_is_fifo(struct starpu_sched_component *component);

struct starpu_sched_component_prio_data {
    unsigned ntasks_threshold; /* as above */
    double exp_len_threshold;
    int ready;
    int exp;
};

/* Makes a queue in order of priority. */
struct starpu_sched_component *starpu_sched_component_prio_create(
        struct starpu_sched_tree *tree, struct starpu_sched_component_prio_data *prio_data);

/* Returns 1 for one. */
int starpu_sched_component_is_prio(struct starpu_sched_component *component);

/* ---- Choosing among children without models ---- */

/* Makes queues, one for each child, which steal from each other. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_work_stealing_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_work_stealing(struct starpu_sched_component *component);

/* Makes one that chooses at random, by speed. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_random_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_random(struct starpu_sched_component *);

/* Makes one that pushes to the first worker with room. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_eager_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_eager(struct starpu_sched_component *);

/* Same in order of priority. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_eager_prio_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_eager_prio(struct starpu_sched_component *);

/* ---- Choosing among children by models ---- */

/* Makes one that sends tasks where their models lack measures. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_eager_calibration_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_eager_calibration(struct starpu_sched_component *);

/* The cost that is made least: alpha * execution + beta * transfer (microseconds) + _gamma * energy
 * (joules). */
struct starpu_sched_component_mct_data {
    double alpha;
    double beta;
    double _gamma;
    double idle_power; /* watts of an idle machine, counted as energy while the schedule grows */
    int nolock;        /* choose without the component's lock: faster, less exact */
};

/* Makes one that sends each task where it costs least. */
struct starpu_sched_component *starpu_sched_component_mct_create(
        struct starpu_sched_tree *tree, struct starpu_sched_component_mct_data *mct_data);

/* Returns 1 for one. */
int starpu_sched_component_is_mct(struct starpu_sched_component *component);

/* Same, several tasks at a time in order of priority. */
struct starpu_sched_component *starpu_sched_component_heft_create(
        struct starpu_sched_tree *tree, struct starpu_sched_component_mct_data *mct_data);

/* Returns 1 for one. */
int starpu_sched_component_is_heft(struct starpu_sched_component *component);

struct starpu_sched_component_heteroprio_data {
    struct starpu_sched_component_mct_data *mct;
    unsigned batch; /* treat tasks of near accelerations alike */
};

/* Makes one that gives each kind of worker the tasks it speeds up most. */
struct starpu_sched_component *starpu_sched_component_heteroprio_create(
        struct starpu_sched_tree *tree, struct starpu_sched_component_heteroprio_data *params);

/* Returns 1 for one. */
int starpu_sched_component_is_heteroprio(struct starpu_sched_component *component);

/* Makes one that sets the fastest implementation of each task. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_best_implementation_create(
        struct starpu_sched_tree *tree, void *arg);

/* Where tasks go: while their models lack measures, without a model, and else. */
struct starpu_sched_component_perfmodel_select_data {
    struct starpu_sched_component *calibrator_component;
    struct starpu_sched_component *no_perfmodel_component;
    struct starpu_sched_component *perfmodel_component;
};

/* Makes one that chooses among its three children. */
struct starpu_sched_component *starpu_sched_component_perfmodel_select_create(
        struct starpu_sched_tree *tree,
        struct starpu_sched_component_perfmodel_select_data *perfmodel_select_data);

/* Returns 1 for one. */
int starpu_sched_component_is_perfmodel_select(struct starpu_sched_component *component);

/* ---- Choosing among children by the task ---- */

/* Makes one that keeps tasks until starpu_do_schedule(), each stage after the other. `arg` is
 * ignored. */
struct starpu_sched_component *starpu_sched_component_stage_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_stage(struct starpu_sched_component *component);

/* Makes one whose child number is task->sched_data. `arg` is ignored. */
struct starpu_sched_component *starpu_sched_component_userchoice_create(
        struct starpu_sched_tree *tree, void *arg);

/* Returns 1 for one. */
int starpu_sched_component_is_userchoice(struct starpu_sched_component *component);

/* Makes one that splits recursive tasks. */
struct starpu_sched_component *starpu_sched_component_splitter_create(struct starpu_sched_tree *tree);

/* ---- Recipes: chains of components, made where they are needed ---- */

struct starpu_sched_component_composed_recipe;

/* Makes an empty recipe. */
struct starpu_sched_component_composed_recipe *starpu_sched_component_composed_recipe_create(void);

/* Makes a recipe of one component. */
struct starpu_sched_component_composed_recipe *starpu_sched_component_composed_recipe_create_singleton(
        struct starpu_sched_component *(*create_component)(struct starpu_sched_tree *tree, void *arg),
        void *arg);

/* Adds a component below the others. `arg` is borrowed until the recipe is destroyed. */
void starpu_sched_component_composed_recipe_add(struct starpu_sched_component_composed_recipe *recipe,
        struct starpu_sched_component *(*create_component)(struct starpu_sched_tree *tree, void *arg),
        void *arg);

/* Frees a recipe; NULL does nothing. */
void starpu_sched_component_composed_recipe_destroy(struct starpu_sched_component_composed_recipe *);

/* Makes the chain of a recipe as one component. */
struct starpu_sched_component *starpu_sched_component_composed_component_create(
        struct starpu_sched_tree *tree, struct starpu_sched_component_composed_recipe *recipe);

/* Recipes for the parts of a machine, NULL: no component there. */
struct starpu_sched_component_specs {
    struct starpu_sched_component_composed_recipe *hwloc_machine_composed_sched_component;
    struct starpu_sched_component_composed_recipe
            *hwloc_component_composed_sched_component; /* NUMA nodes */
    struct starpu_sched_component_composed_recipe *hwloc_socket_composed_sched_component;
    struct starpu_sched_component_composed_recipe *hwloc_cache_composed_sched_component;
    /* What stands above a worker of that kind. The recipe is freed after use. */
    struct starpu_sched_component_composed_recipe *(*worker_composed_sched_component)(
            enum starpu_worker_archtype archtype);
    int mix_heterogeneous_workers; /* 0: different kinds of workers of one part get components of their
                                      own */
};

/* Makes a tree in the shape of the machine. */
struct starpu_sched_tree *starpu_sched_component_make_scheduler(
        unsigned sched_ctx_id, struct starpu_sched_component_specs s);

/* ---- Simple schedulers: one decision, with queues above and below ---- */

#define STARPU_SCHED_SIMPLE_DECIDE_MASK (3 << 0)
#define STARPU_SCHED_SIMPLE_DECIDE_WORKERS (1 << 0)  /* decide among workers */
#define STARPU_SCHED_SIMPLE_DECIDE_MEMNODES (2 << 0) /* among memory nodes */
#define STARPU_SCHED_SIMPLE_DECIDE_ARCHS (3 << 0)    /* among kinds of workers */
#define STARPU_SCHED_SIMPLE_DECIDE_ALWAYS (1 << 3)   /* the component even if there is one choice only */
#define STARPU_SCHED_SIMPLE_PERFMODEL (1 << 4)       /* send tasks that cannot be predicted another way */
#define STARPU_SCHED_SIMPLE_IMPL (1 << 5)            /* choose the implementation */
#define STARPU_SCHED_SIMPLE_FIFO_ABOVE (1 << 6)      /* a queue above the decision */
#define STARPU_SCHED_SIMPLE_FIFO_ABOVE_PRIO (1 << 7) /* by priority */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW (1 << 8)     /* queues below it */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_PRIO (1 << 9)   /* by priority */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY (1 << 10) /* first what lacks the fewest bytes */
#define STARPU_SCHED_SIMPLE_WS_BELOW (1 << 11)          /* queues that steal below it */
#define STARPU_SCHED_SIMPLE_COMBINED_WORKERS (1 << 12)  /* combined workers too */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_EXP (1 << 13)   /* queues keep the expected work up to date */
#define STARPU_SCHED_SIMPLE_PRE_DECISION (1 << 14)      /* a component follows that decides before */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_READY_FIRST (1 << 15) /* among equal ones the oldest */
#define STARPU_SCHED_SIMPLE_FIFOS_BELOW_NOLIMIT (1 << 16)     /* queues never full */

/* Makes the tree of a policy with one decision component, as init_sched. `data` is passed to
 * create_decision_component. */
void starpu_sched_component_initialize_simple_scheduler(
        starpu_sched_component_create_t create_decision_component, void *data, unsigned flags,
        unsigned sched_ctx_id);

/* Same with several, tasks going to the one of their number; for each: create function, data, flags
 * (and those again of a component before it, with STARPU_SCHED_SIMPLE_PRE_DECISION). */
void starpu_sched_component_initialize_simple_schedulers(unsigned sched_ctx_id, unsigned ndecisions, ...);

/* Lock a component's mutex in a function that a worker calls: relaxed while it waits. */
#define STARPU_COMPONENT_MUTEX_LOCK(m)                               \
    do {                                                             \
        const int relaxed_before_ = starpu_worker_get_relax_state(); \
        if (!relaxed_before_)                                        \
            starpu_worker_relax_on();                                \
        STARPU_PTHREAD_MUTEX_LOCK((m));                              \
        if (!relaxed_before_)                                        \
            starpu_worker_relax_off();                               \
    } while (0)
#define STARPU_COMPONENT_MUTEX_TRYLOCK(m) STARPU_PTHREAD_MUTEX_TRYLOCK((m))
#define STARPU_COMPONENT_MUTEX_UNLOCK(m) STARPU_PTHREAD_MUTEX_UNLOCK((m))

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_SCHED_COMPONENT_H */
