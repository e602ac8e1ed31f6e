/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees that the program builds: methods of components one by one, limits and priorities of queues, pumps,
 * composition, a component of the program's own, several decisions; and malformed trees, which are refused.
 * Threads: main; one to three CPU workers. Owns: the trees.
 * Not here: the trees of the library (components.c).
 */
#include <math.h>
#include <starpu_sched_component.h>
#include "tests/helper.h"

typedef struct starpu_sched_component component;
typedef struct starpu_sched_tree tree;

static void (*build)(tree *t, unsigned context); /* sets t->root */

static void init_sched(unsigned context)
{
    tree *t = starpu_sched_tree_create(context);
    starpu_sched_ctx_set_policy_data(context, t);
    build(t, context);
}

static struct starpu_sched_policy policy = {
    .init_sched = init_sched,
    .deinit_sched = starpu_sched_tree_deinitialize,
    .add_workers = starpu_sched_tree_add_workers,
    .remove_workers = starpu_sched_tree_remove_workers,
    .push_task = starpu_sched_tree_push_task,
    .pop_task = starpu_sched_tree_pop_task,
    .do_schedule = starpu_sched_tree_do_schedule,
    .pre_exec_hook = starpu_sched_component_worker_pre_exec_hook,
    .post_exec_hook = starpu_sched_component_worker_post_exec_hook,
    .policy_name = "own tree",
    .worker_type = STARPU_WORKER_LIST,
};

static int start_with(void (*builder)(tree *, unsigned), int workers, int hooks)
{
    static struct starpu_sched_policy used;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    used = policy;
    if (!hooks) used.pre_exec_hook = used.post_exec_hook = NULL;
    conf.ncpus = workers;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = &used;
    conf.precedence_over_environment_variables = 1;
    build = builder;
    return starpu_init(&conf);
}

/* ---- what runs ---- */

static atomic_int runs;
static int order[512];
static void run_func(void *buffers[] UNUSED, void *arg)
{
    int at = atomic_fetch_add(&runs, 1);
    if (at < 512) order[at] = (int)(intptr_t)arg;
}
static double cost_100(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 100;
}
static struct starpu_perfmodel model = { .type = STARPU_COMMON, .cost_function = cost_100 };
static struct starpu_codelet run_cl = { .cpu_funcs = { run_func }, .name = "run" };
static struct starpu_codelet model_cl = { .cpu_funcs = { run_func }, .name = "modelled", .model = &model };

static struct starpu_task *new_task(struct starpu_codelet *cl, int number, int priority)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = (void *)(intptr_t)number;
    task->priority = priority;
    return task;
}

/* Half of the tasks have a model. Returns how many are missing or too many. */
static int run_many(int count)
{
    int failed = 0;
    atomic_store(&runs, 0);
    for (int i = 0; i < count; i++) {
        failed += starpu_task_submit(new_task(i % 2 ? &model_cl : &run_cl, i, i % 5)) != 0;
        if (i % 50 == 0) usleep(200); /* so that workers sleep in between */
    }
    starpu_task_wait_for_all();
    return failed + abs(runs - count);
}

static void starts_and_runs(void (*builder)(tree *, unsigned), int workers, const char *what)
{
    for (int hooks = 1; hooks >= 0; hooks--) {
        int r = start_with(builder, workers, hooks);
        if (r != 0) {
            ok(0, "%s: starpu_init returned %d", what, r);
            return;
        }
        is_int(run_many(1000), 0, "%s: each of 1000 tasks runs once%s", what,
               hooks ? "" : ", also without the hooks around execution");
        starpu_shutdown();
    }
}

/* ---- trees that are right ---- */

static void leaves_below(component *c, unsigned context)
{
    for (unsigned w = 0; w < starpu_worker_get_count(); w++)
        starpu_sched_component_connect(c, starpu_sched_component_worker_new(context, (int)w));
}

static void fifos_below(component *c, tree *t, unsigned context, unsigned limit)
{
    struct starpu_sched_component_fifo_data d = { .ntasks_threshold = limit };
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
        component *fifo = starpu_sched_component_fifo_create(t, &d);
        starpu_sched_component_connect(c, fifo);
        starpu_sched_component_connect(fifo, starpu_sched_component_worker_new(context, (int)w));
    }
}

static void eager_alone(tree *t, unsigned context)
{
    t->root = starpu_sched_component_eager_create(t, NULL);
    leaves_below(t->root, context);
}
static void eager_over_full_fifos(tree *t, unsigned context)
{
    t->root = starpu_sched_component_eager_create(t, NULL);
    fifos_below(t->root, t, context, 1);
}
static void three_levels_of_fifos(tree *t, unsigned context)
{
    struct starpu_sched_component_fifo_data three = { .ntasks_threshold = 3 };
    component *fifo = starpu_sched_component_fifo_create(t, &three);
    component *eager = starpu_sched_component_eager_create(t, NULL);
    t->root = starpu_sched_component_prio_create(t, NULL);
    starpu_sched_component_connect(t->root, fifo);
    starpu_sched_component_connect(fifo, eager);
    fifos_below(eager, t, context, 1);
}
static void random_over_workers(tree *t, unsigned context)
{
    t->root = starpu_sched_component_random_create(t, NULL);
    leaves_below(t->root, context);
}
static void stealing_over_fifos(tree *t, unsigned context)
{
    t->root = starpu_sched_component_work_stealing_create(t, NULL);
    fifos_below(t->root, t, context, 2);
}
static void mct_over_workers(tree *t, unsigned context)
{
    t->root = starpu_sched_component_mct_create(t, NULL);
    leaves_below(t->root, context);
}
static void mct_over_fifos(tree *t, unsigned context)
{
    struct starpu_sched_component_mct_data d = { .alpha = 1, .beta = 2 };
    component *mct = starpu_sched_component_mct_create(t, &d);
    t->root = starpu_sched_component_fifo_create(t, NULL);
    starpu_sched_component_connect(t->root, mct);
    fifos_below(mct, t, context, 2);
}
static void heft_over_an_eager(tree *t, unsigned context)
{
    component *eager = starpu_sched_component_eager_create(t, NULL);
    t->root = starpu_sched_component_heft_create(t, NULL);
    starpu_sched_component_connect(t->root, eager);
    leaves_below(eager, context);
}
static void heteroprio_by_batches(tree *t, unsigned context)
{
    struct starpu_sched_component_heteroprio_data d = { .batch = 4 };
    t->root = starpu_sched_component_heteroprio_create(t, &d);
    fifos_below(t->root, t, context, 2);
}
/* A worker with a queue of its own beside two that fetch. */
static void mixed_below_an_eager(tree *t, unsigned context)
{
    struct starpu_sched_component_fifo_data one = { .ntasks_threshold = 1 };
    component *eager = starpu_sched_component_eager_create(t, NULL);
    t->root = starpu_sched_component_fifo_create(t, NULL);
    starpu_sched_component_connect(t->root, eager);
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
        component *leaf = starpu_sched_component_worker_new(context, (int)w);
        component *above = w == 0 ? starpu_sched_component_fifo_create(t, &one)
                                  : starpu_sched_component_best_implementation_create(t, NULL);
        starpu_sched_component_connect(eager, above);
        starpu_sched_component_connect(above, leaf);
    }
}
static void perfmodel_select(tree *t, unsigned context)
{
    struct starpu_sched_component_perfmodel_select_data d;
    d.calibrator_component = starpu_sched_component_eager_calibration_create(t, NULL);
    d.no_perfmodel_component = starpu_sched_component_eager_prio_create(t, NULL);
    d.perfmodel_component = starpu_sched_component_mct_create(t, NULL);
    component *select = starpu_sched_component_perfmodel_select_create(t, &d);
    component *all[3] = { d.calibrator_component, d.no_perfmodel_component, d.perfmodel_component };
    struct starpu_sched_component_fifo_data two = { .ntasks_threshold = 2 };
    t->root = starpu_sched_component_fifo_create(t, NULL);
    starpu_sched_component_connect(t->root, select);
    for (int i = 0; i < 3; i++) starpu_sched_component_connect(select, all[i]);
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
        component *fifo = starpu_sched_component_fifo_create(t, &two);
        for (int i = 0; i < 3; i++) starpu_sched_component_connect(all[i], fifo);
        starpu_sched_component_connect(fifo, starpu_sched_component_worker_new(context, (int)w));
    }
}

static component *make_fifo(tree *t, void *arg)
{
    return starpu_sched_component_fifo_create(t, arg);
}
static component *make_prio(tree *t, void *arg)
{
    return starpu_sched_component_prio_create(t, arg);
}
static void composed(tree *t, unsigned context)
{
    struct starpu_sched_component_composed_recipe *r = starpu_sched_component_composed_recipe_create();
    starpu_sched_component_composed_recipe_add(r, make_prio, NULL);
    starpu_sched_component_composed_recipe_add(r, make_fifo, NULL);
    starpu_sched_component_composed_recipe_add(r, starpu_sched_component_eager_create, NULL);
    t->root = starpu_sched_component_composed_component_create(t, r);
    starpu_sched_component_composed_recipe_destroy(r);
    leaves_below(t->root, context);
}

static struct starpu_sched_component_composed_recipe *machine_recipe, *group_recipe, *worker_recipe;
static struct starpu_sched_component_composed_recipe *recipe_for(enum starpu_worker_archtype type UNUSED)
{
    return worker_recipe;
}
/* make_scheduler makes the tree itself. */
static void init_machine(unsigned context)
{
    static struct starpu_sched_component_prio_data two = { .ntasks_threshold = 2 };
    machine_recipe = starpu_sched_component_composed_recipe_create_singleton(make_fifo, NULL);
    starpu_sched_component_composed_recipe_add(machine_recipe, starpu_sched_component_eager_create, NULL);
    group_recipe = starpu_sched_component_composed_recipe_create_singleton(
        starpu_sched_component_work_stealing_create, NULL);
    worker_recipe = starpu_sched_component_composed_recipe_create_singleton(make_prio, &two);
    struct starpu_sched_component_specs s = { .hwloc_machine_composed_sched_component = machine_recipe,
                                              .hwloc_socket_composed_sched_component = group_recipe,
                                              .worker_composed_sched_component = recipe_for };
    starpu_sched_ctx_set_policy_data(context, starpu_sched_component_make_scheduler(context, s));
    starpu_sched_component_composed_recipe_destroy(machine_recipe);
    starpu_sched_component_composed_recipe_destroy(group_recipe);
    starpu_sched_component_composed_recipe_destroy(worker_recipe);
}

static void machine(void)
{
    void (*before)(unsigned) = policy.init_sched;
    policy.init_sched = init_machine;
    starts_and_runs(NULL, 3, "a tree in the shape of the machine");
    policy.init_sched = before;
}

/* ---- a component of the program's ---- */

struct bag {
    starpu_pthread_mutex_t mutex;
    struct starpu_task_list list;
};
static atomic_int bag_deinits, bag_changes;

static int bag_push(component *c, struct starpu_task *task)
{
    struct bag *bag = c->data;
    STARPU_COMPONENT_MUTEX_LOCK(&bag->mutex);
    starpu_task_list_push_back(&bag->list, task);
    STARPU_COMPONENT_MUTEX_UNLOCK(&bag->mutex);
    c->can_pull(c);
    return 0;
}
static struct starpu_task *bag_pull(component *c, component *to UNUSED)
{
    struct bag *bag = c->data;
    STARPU_COMPONENT_MUTEX_LOCK(&bag->mutex);
    struct starpu_task *task =
        starpu_task_list_empty(&bag->list) ? NULL : starpu_task_list_pop_front(&bag->list);
    STARPU_COMPONENT_MUTEX_UNLOCK(&bag->mutex);
    return task;
}
static int bag_can_push(component *c, component *to)
{
    struct bag *bag = c->data;
    int pushed = 0;
    struct starpu_task *task = starpu_sched_component_pump_to(c, to, &pushed);
    if (task) {
        STARPU_COMPONENT_MUTEX_LOCK(&bag->mutex);
        starpu_task_list_push_front(&bag->list, task);
        STARPU_COMPONENT_MUTEX_UNLOCK(&bag->mutex);
    }
    return pushed || starpu_sched_component_can_push(c, to);
}
static void bag_deinit(component *c)
{
    struct bag *bag = c->data;
    STARPU_PTHREAD_MUTEX_DESTROY(&bag->mutex);
    free(bag);
    atomic_fetch_add(&bag_deinits, 1);
}
static void bag_change(component *c UNUSED)
{
    atomic_fetch_add(&bag_changes, 1);
}
static component *bag_create(tree *t, void *arg UNUSED)
{
    component *c = starpu_sched_component_create(t, "bag");
    struct bag *bag = calloc(1, sizeof *bag);
    STARPU_PTHREAD_MUTEX_INIT(&bag->mutex, NULL);
    starpu_task_list_init(&bag->list);
    c->data = bag;
    c->push_task = bag_push;
    c->pull_task = bag_pull;
    c->can_push = bag_can_push;
    c->deinit_data = bag_deinit;
    c->notify_change_workers = bag_change;
    return c;
}
static void bag_over_fifos(tree *t, unsigned context)
{
    t->root = bag_create(t, NULL);
    fifos_below(t->root, t, context, 2);
}
static void bag_over_workers(tree *t, unsigned context)
{
    t->root = bag_create(t, NULL);
    leaves_below(t->root, context);
}

/* ---- several decisions ---- */

static void init_two(unsigned context)
{
    starpu_sched_component_initialize_simple_schedulers(
        context, 2, (starpu_sched_component_create_t)starpu_sched_component_heft_create, NULL,
        STARPU_SCHED_SIMPLE_DECIDE_WORKERS | STARPU_SCHED_SIMPLE_FIFOS_BELOW,
        (starpu_sched_component_create_t)starpu_sched_component_eager_create, NULL,
        STARPU_SCHED_SIMPLE_DECIDE_WORKERS | STARPU_SCHED_SIMPLE_FIFO_ABOVE |
            STARPU_SCHED_SIMPLE_FIFOS_BELOW);
}
static void init_pre(unsigned context)
{
    starpu_sched_component_initialize_simple_schedulers(
        context, 1, (starpu_sched_component_create_t)starpu_sched_component_random_create, NULL,
        STARPU_SCHED_SIMPLE_DECIDE_WORKERS | STARPU_SCHED_SIMPLE_PRE_DECISION, bag_create, NULL);
}
static void several_decisions(void)
{
    void (*before)(unsigned) = policy.init_sched;
    policy.init_sched = init_two;
    if (start_with(NULL, 2, 1) == 0) {
        component *root = starpu_sched_tree_get(0)->root;
        ok(all_of(starpu_sched_component_is_userchoice(root), root->nchildren == 2,
                  starpu_sched_component_is_heft(root->children[0]),
                  starpu_sched_component_is_fifo(root->children[1]),
                  starpu_sched_component_is_stage(root->children[0]->children[0])),
           "two decisions: the program chooses between them, a stage joins them");
        atomic_store(&runs, 0);
        for (int i = 0; i < 500; i++) {
            struct starpu_task *task = new_task(&model_cl, i, 0);
            task->sched_data = (void *)(intptr_t)(i % 3); /* 2: there is none, so the first */
            starpu_task_submit(task);
        }
        starpu_task_wait_for_all();
        is_int(runs, 500, "two decisions: each of 500 tasks runs once");
        starpu_shutdown();
    } else {
        ok(0, "two decisions: starpu_init succeeds");
    }
    policy.init_sched = init_pre;
    starts_and_runs(NULL, 2, "a component before the one that decides");
    policy.init_sched = before;
}

/* ---- parallel workers ---- */

static atomic_int bodies, sizes, ranks;
static void share_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&bodies, 1);
    atomic_fetch_add(&sizes, starpu_combined_worker_get_size());
    atomic_fetch_add(&ranks, starpu_combined_worker_get_rank());
}
/* Three workers together are twice as fast as one. */
static double share_cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl UNUSED)
{
    return arch->devices[0].ncores >= 3 ? 1000 : 2000;
}
static struct starpu_perfmodel share_model = { .type = STARPU_PER_ARCH, .arch_cost_function = share_cost };
static struct starpu_codelet share_cl = { .cpu_funcs = { share_func },
                                          .type = STARPU_SPMD,
                                          .max_parallelism = 3,
                                          .model = &share_model,
                                          .name = "share" };

static void three_together(tree *t, unsigned context)
{
    unsigned workers[3] = { 0, 1, 2 };
    t->root = starpu_sched_component_mct_create(t, NULL);
    leaves_below(t->root, context);
    starpu_sched_component_connect(t->root, starpu_sched_component_parallel_worker_create(t, 3, workers));
}
static void stealing_from_a_team(tree *t, unsigned context)
{
    unsigned workers[2] = { 0, 1 };
    t->root = starpu_sched_component_work_stealing_create(t, NULL);
    leaves_below(t->root, context);
    starpu_sched_component_connect(t->root, starpu_sched_component_parallel_worker_create(t, 2, workers));
}

static void parallel_tasks(void)
{
    int r = start_with(three_together, 3, 1), failed = 0;
    if (r != 0) {
        ok(0, "a tree with a parallel worker starts");
        return;
    }
    component *team = starpu_sched_tree_get(0)->root->children[3];
    ok(all_of(starpu_sched_component_is_combined_worker(team), starpu_sched_component_is_worker(team),
              !starpu_sched_component_is_simple_worker(team)),
       "a parallel worker is a combined one");
    for (int i = 0; i < 20; i++) {
        failed |= starpu_task_submit(new_task(&share_cl, i, 0));
        starpu_task_wait_for_all();
    }
    ok(all_of(!failed, bodies == 60, sizes == 180, ranks == 60),
       "a task that is faster on three workers runs on all of them, by rank (%d bodies)", bodies);
    for (int i = 0; i < 50; i++) failed |= starpu_task_submit(new_task(i % 2 ? &share_cl : &model_cl, i, 0));
    starpu_task_wait_for_all();
    is_int(run_many(300) + failed, 0, "other tasks run once beside them");
    starpu_shutdown();
}

/* ---- methods, one by one: on a tree that serves no context, with tasks that are held back meanwhile ---- */

enum { HELD = 12 };
static struct starpu_task *held[HELD];
static atomic_int held_count, released;
static starpu_pthread_mutex_t held_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;

static int hold_push(struct starpu_task *task)
{
    STARPU_PTHREAD_MUTEX_LOCK(&held_mutex);
    held[atomic_fetch_add(&held_count, 1)] = task;
    STARPU_PTHREAD_MUTEX_UNLOCK(&held_mutex);
    return 0;
}
static struct starpu_task *hold_pop(unsigned context UNUSED)
{
    struct starpu_task *task = NULL;
    STARPU_COMPONENT_MUTEX_LOCK(&held_mutex);
    if (released && held_count > 0) task = held[atomic_fetch_sub(&held_count, 1) - 1];
    STARPU_COMPONENT_MUTEX_UNLOCK(&held_mutex);
    return task;
}

static component *spare_eager, *spare_queue[2], *spare_leaf[2];
static tree *spare;

static component *spare_fifo(unsigned tasks, double us)
{
    struct starpu_sched_component_fifo_data d = { .ntasks_threshold = tasks, .exp_len_threshold = us };
    return starpu_sched_component_fifo_create(spare, &d);
}
static component *spare_prio(unsigned tasks, double us)
{
    struct starpu_sched_component_prio_data d = { .ntasks_threshold = tasks, .exp_len_threshold = us };
    return starpu_sched_component_prio_create(spare, &d);
}

/* An eager over two queues, each over a worker. */
static void spare_make(component *(*queue)(unsigned, double), unsigned tasks, double us)
{
    spare = starpu_sched_tree_create(5);
    spare_eager = starpu_sched_component_eager_create(spare, NULL);
    spare->root = spare_eager;
    for (int i = 0; i < 2; i++) {
        spare_queue[i] = queue(tasks, us);
        spare_leaf[i] = starpu_sched_component_worker_get(5, i);
        starpu_sched_component_connect(spare_eager, spare_queue[i]);
        starpu_sched_component_connect(spare_queue[i], spare_leaf[i]);
        starpu_bitmap_set(spare->workers, i);
    }
    starpu_sched_tree_update_workers(spare);
    starpu_sched_tree_update_workers_in_ctx(spare);
}

static component *queue, *leaf;
static int put(int i)
{
    held[i]->predicted = 100;
    return queue->push_task(queue, held[i]);
}
static struct starpu_task *get(void)
{
    return queue->pull_task(queue, leaf);
}

static void structure(void)
{
    spare_make(spare_fifo, 2, 0);
    ok(all_of(starpu_sched_component_is_eager(spare_eager),
              !starpu_sched_component_is_eager_prio(spare_eager),
              starpu_sched_component_is_fifo(spare_queue[0]), !starpu_sched_component_is_prio(spare_queue[0]),
              starpu_sched_component_is_worker(spare_leaf[0]),
              starpu_sched_component_is_simple_worker(spare_leaf[0]),
              !starpu_sched_component_is_combined_worker(spare_leaf[0])),
       "components know what they are");
    ok(all_of(spare_eager->nchildren == 2, spare_queue[1]->nparents == 1,
              spare_queue[1]->parents[0] == spare_eager),
       "connect makes a child and a parent");
    ok(all_of(starpu_bitmap_cardinal(spare_eager->workers) == 2,
              starpu_bitmap_get(spare_queue[1]->workers_in_ctx, 1),
              !starpu_bitmap_get(spare_queue[1]->workers_in_ctx, 0)),
       "each component knows the workers below it");
    ok(all_of(STARPU_SCHED_COMPONENT_IS_HOMOGENEOUS(spare_eager),
              STARPU_SCHED_COMPONENT_IS_SINGLE_MEMORY_NODE(spare_eager)),
       "CPU workers are of one kind and use one memory node");
    ok(all_of(starpu_sched_component_worker_get(5, 0) == spare_leaf[0],
              starpu_sched_component_worker_get_workerid(spare_leaf[1]) == 1,
              starpu_sched_tree_get(5) == spare),
       "a worker has one leaf in the tree of a context");
    starpu_bitmap_unset(spare->workers, 1);
    starpu_sched_tree_update_workers_in_ctx(spare);
    ok(all_of(starpu_bitmap_cardinal(spare_eager->workers_in_ctx) == 1,
              starpu_bitmap_cardinal(spare_eager->workers) == 2),
       "a worker that the context has not is below nevertheless");
    starpu_sched_component_destroy_rec(spare_queue[1]);
    ok(spare_eager->nchildren == 1, "a component that is destroyed leaves its parent");
    starpu_sched_tree_destroy(spare);
    ok(starpu_sched_tree_get(5) == NULL, "a tree that is destroyed is forgotten");
}

static void limits(void)
{
    spare_make(spare_fifo, 2, 0);
    queue = spare_queue[0], leaf = spare_leaf[0];
    ok(all_of(put(0) == 0, put(1) == 0, put(2) != 0), "a fifo of two tasks refuses the third");
    ok(all_of(spare_eager->push_task(spare_eager, held[2]) == 0,
              spare_eager->push_task(spare_eager, held[3]) == 0,
              spare_eager->push_task(spare_eager, held[4]) != 0),
       "eager gives it to the next child, and refuses when all are full");
    double load = spare_eager->estimated_load(spare_eager);
    ok(all_of(load > 3.9, load < 4.1), "four tasks over two workers: the sum of their loads is 4 (%.2f)",
       load);
    double now = starpu_timing_now(), end = queue->estimated_end(queue);
    ok(all_of(end > now + 150, end < now + 5e6), "two tasks of 100 us: the queue ends in 200 us or later");
    ok(all_of(get() == held[0], get() == held[1], get() == NULL), "a fifo gives tasks in their order");
    queue = spare_queue[1], leaf = spare_leaf[1];
    ok(all_of(get() == held[2], get() == held[3]), "so does the other");
    starpu_sched_tree_destroy(spare);

    spare_make(spare_fifo, 0, 250);
    queue = spare_queue[0], leaf = spare_leaf[0];
    ok(all_of(put(0) == 0, put(1) == 0, put(2) == 0, put(3) != 0), "a fifo of 250 us is full at 300");
    ok(all_of(get() == held[0], put(3) == 0, put(4) != 0), "and has room when one is taken");
    while (get())
        ;
    held[5]->predicted = 1e6;
    ok(all_of(queue->push_task(queue, held[5]) == 0, get() == held[5]),
       "an empty one takes a task however long");
    starpu_sched_tree_destroy(spare);

    spare_make(spare_prio, 0, 0);
    queue = spare_queue[0], leaf = spare_leaf[0];
    int failed = 0, right = 1;
    for (int i = 0; i < HELD; i++) failed |= put(i);
    int last = 1000, last_number = -1;
    for (int i = 0; i < HELD; i++) {
        struct starpu_task *task = get();
        int number = task ? (int)(intptr_t)task->cl_arg : -1;
        if (!task || task->priority > last || (task->priority == last && number < last_number)) right = 0;
        if (task) last = task->priority;
        last_number = number;
    }
    ok(all_of(!failed, right, !get()), "prio gives the highest priority first, and equals in their order");
    starpu_sched_tree_destroy(spare);
}

static void predictions(void)
{
    double length = -1;
    spare_make(spare_fifo, 0, 0);
    ok(all_of(starpu_sched_component_can_execute_task(spare_eager, held[0]),
              starpu_sched_component_execute_preds(spare_eager, held[0], &length), length == 100),
       "execute_preds asks the model: %.0f us", length);
    ok(starpu_sched_component_transfer_length(spare_eager, held[0]) == 0, "there is nothing to bring");
    static uint32_t only_second = 2;
    held[0]->workerids = &only_second;
    held[0]->workerids_len = 1;
    ok(all_of(!starpu_sched_component_can_execute_task(spare_queue[0], held[0]),
              starpu_sched_component_can_execute_task(spare_queue[1], held[0])),
       "a component cannot execute what none of its workers can");
    ok(all_of(starpu_sched_component_push_task(spare_eager, spare_queue[0], held[0]) != 0,
              spare_eager->push_task(spare_eager, held[0]) == 0,
              spare_queue[1]->pull_task(spare_queue[1], spare_leaf[1]) == held[0]),
       "it is refused there and goes to the other");
    held[0]->workerids_len = 0;
    int success = 0;
    component *upper = starpu_sched_component_fifo_create(spare, NULL);
    starpu_sched_component_connect(upper, spare_eager);
    for (int i = 0; i < 3; i++) held[i]->predicted = 100;
    starpu_sched_tree_update_workers(spare);
    ok(all_of(upper->push_task(upper, held[0]) == 0,
              spare_queue[0]->pull_task(spare_queue[0], spare_leaf[0]) == held[0]),
       "a queue above pumps what it gets down to where there is room");
    ok(all_of(spare_queue[0]->push_task(spare_queue[0], held[1]) == 0,
              starpu_sched_component_pump_to(spare_queue[0], spare_leaf[0], &success) == NULL, success == 1,
              spare_leaf[0]->pull_task(spare_leaf[0], NULL) == held[1]),
       "pump_to moves tasks from a component to its child");
    success = 7;
    ok(all_of(starpu_sched_component_pump_downstream(spare_queue[0], &success) == NULL, success == 7),
       "pumping an empty component moves nothing, and says so by leaving success alone");
    double least = starpu_sched_component_estimated_end_min(spare_eager),
           average = starpu_sched_component_estimated_end_average(spare_eager);
    ok(all_of(fabs(least - average) < 5e6,
              starpu_sched_component_estimated_end_min_add(spare_eager, 2e8) > least + 9e7),
       "200 s more over two workers is 100 s later");
    starpu_sched_tree_destroy(spare);
}

static void methods(void)
{
    static struct starpu_sched_policy hold = { .push_task = hold_push,
                                               .pop_task = hold_pop,
                                               .policy_name = "hold" };
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = &hold;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) skip_all("two workers cannot be started here");
    int failed = 0;
    atomic_store(&runs, 0);
    for (int i = 0; i < HELD; i++) failed |= starpu_task_submit(new_task(&model_cl, i, i * 5 % 4));
    is_int(failed || held_count != HELD, 0, "the tasks are held");
    structure();
    limits();
    predictions();
    atomic_store(&released, 1);
    for (int w = 0; w < 2; w++) starpu_wake_worker_relax(w);
    starpu_task_wait_for_all();
    starpu_shutdown();
    is_int(runs, HELD, "all ran in the end");
}

/* ---- malformed trees ---- */

static void no_root(tree *t UNUSED, unsigned context UNUSED)
{
}
static void cycle(tree *t, unsigned context)
{
    component *a = starpu_sched_component_eager_create(t, NULL),
              *b = starpu_sched_component_eager_create(t, NULL);
    t->root = a;
    leaves_below(a, context);
    starpu_sched_component_connect(a, b);
    starpu_sched_component_connect(b, a);
}
static void no_worker(tree *t, unsigned context UNUSED)
{
    t->root = starpu_sched_component_fifo_create(t, NULL);
    starpu_sched_component_connect(t->root, starpu_sched_component_eager_create(t, NULL));
}
static void one_worker_missing(tree *t, unsigned context)
{
    t->root = starpu_sched_component_fifo_create(t, NULL);
    starpu_sched_component_connect(t->root, starpu_sched_component_worker_new(context, 0));
}
static void worker_twice(tree *t, unsigned context)
{
    t->root = starpu_sched_component_eager_create(t, NULL);
    leaves_below(t->root, context);
    starpu_sched_component_connect(t->root, starpu_sched_component_worker_new(context, 1));
}
static void worker_with_a_child(tree *t, unsigned context)
{
    t->root = starpu_sched_component_eager_create(t, NULL);
    leaves_below(t->root, context);
    component *under = starpu_sched_component_fifo_create(t, NULL);
    starpu_sched_component_connect(t->root->children[0], under);
}
static void without_push(tree *t, unsigned context)
{
    t->root = starpu_sched_component_create(t, "forgetful");
    leaves_below(t->root, context);
}
static void root_with_a_limit(tree *t, unsigned context)
{
    struct starpu_sched_component_fifo_data two = { .ntasks_threshold = 2 };
    component *eager = starpu_sched_component_eager_create(t, NULL);
    t->root = starpu_sched_component_fifo_create(t, &two);
    starpu_sched_component_connect(t->root, eager);
    leaves_below(eager, context);
}
static void fifo_with_two_children(tree *t, unsigned context)
{
    t->root = starpu_sched_component_fifo_create(t, NULL);
    leaves_below(t->root, context);
}
static void select_without_calibrator(tree *t, unsigned context)
{
    struct starpu_sched_component_perfmodel_select_data d = { 0 };
    d.perfmodel_component = starpu_sched_component_mct_create(t, NULL);
    d.no_perfmodel_component = starpu_sched_component_eager_create(t, NULL);
    t->root = starpu_sched_component_perfmodel_select_create(t, &d);
    starpu_sched_component_connect(t->root, d.perfmodel_component);
    starpu_sched_component_connect(t->root, d.no_perfmodel_component);
    leaves_below(d.perfmodel_component, context);
    for (unsigned w = 0; w < starpu_worker_get_count(); w++)
        starpu_sched_component_connect(d.no_perfmodel_component,
                                       starpu_sched_component_worker_get(context, (int)w));
}
static void half_a_link(tree *t, unsigned context)
{
    component *eager = starpu_sched_component_eager_create(t, NULL);
    t->root = starpu_sched_component_fifo_create(t, NULL);
    t->root->add_child(t->root, eager);
    leaves_below(eager, context);
}
static void init_nothing(unsigned context UNUSED)
{
}

static const struct {
    void (*build)(tree *, unsigned);
    const char *what, *reason;
} malformed[] = {
    { no_root, "a tree without a root", "has no root" },
    { cycle, "a cycle", "cycle" },
    { no_worker, "a leaf that is no worker", "no worker" },
    { one_worker_missing, "a worker that no leaf covers", "worker 1 has no leaf" },
    { worker_twice, "a worker with two leaves", "another leaf" },
    { worker_with_a_child, "a worker with a child", "has a child" },
    { without_push, "a component without push_task", "no push_task" },
    { root_with_a_limit, "a root with a limit", "limit" },
    { fifo_with_two_children, "a fifo with two children", "several children" },
    { select_without_calibrator, "perfmodel_select without its calibrator", "calibrator" },
    { half_a_link, "a child that does not know its parent", "list of parents" },
    { stealing_from_a_team, "work_stealing over a parallel worker", "never asks" },
    { NULL, "no tree at all", "is not the tree" },
};

/* Starts with stderr in a file; returns whether that names the reason. */
static int says_why(int which, int *result_out)
{
    char text[4096] = "";
    FILE *file = tmpfile();
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    if (!file || saved < 0) return 0;
    dup2(fileno(file), STDERR_FILENO);
    policy.init_sched = malformed[which].build ? init_sched : init_nothing;
    *result_out = start_with(malformed[which].build, 2, 1);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    policy.init_sched = init_sched;
    if (*result_out == 0) starpu_shutdown();
    return strstr(text, malformed[which].reason) != NULL;
}

static void are_refused(void)
{
    for (unsigned i = 0; i < LENGTH(malformed); i++) {
        int result = 0, said = says_why((int)i, &result);
        ok(all_of(result == -EINVAL, said), "%s is refused, and it is said why (%d)", malformed[i].what,
           result);
    }
    static struct starpu_sched_policy bad;
    int workers[2] = { 0, 1 };
    bad = policy;
    runtime_start(2, "eager");
    build = cycle;
    unsigned context = starpu_sched_ctx_create(workers, 2, "bad", STARPU_SCHED_CTX_POLICY_STRUCT, &bad, 0);
    is_int((int)context, STARPU_NMAX_SCHED_CTXS, "no context is made with a malformed tree");
    is_int(run_many(100), 0, "and the main one goes on with its workers");
    starpu_shutdown();
}

int main(void)
{
    alarm(200);
    methods();
    starts_and_runs(eager_alone, 2, "eager over workers");
    starts_and_runs(eager_over_full_fifos, 3, "eager over fifos of one task, and nothing above");
    starts_and_runs(three_levels_of_fifos, 3, "three levels of queues");
    starts_and_runs(random_over_workers, 2, "random over workers");
    starts_and_runs(stealing_over_fifos, 3, "work_stealing over fifos");
    starts_and_runs(mct_over_workers, 2, "mct over workers");
    starts_and_runs(mct_over_fifos, 3, "mct between queues");
    starts_and_runs(heft_over_an_eager, 3, "heft over an eager");
    starts_and_runs(heteroprio_by_batches, 3, "heteroprio by batches");
    starts_and_runs(mixed_below_an_eager, 3, "workers with and without a queue below an eager");
    starts_and_runs(perfmodel_select, 3, "perfmodel_select over three ways to shared fifos");
    starts_and_runs(composed, 3, "a composed component");
    machine();
    starts_and_runs(bag_over_fifos, 3, "the program's component over fifos");
    starts_and_runs(bag_over_workers, 3, "the program's component over workers");
    ok(all_of(bag_deinits == 4, bag_changes >= 4), "its deinit_data and notify_change_workers are called");
    several_decisions();
    parallel_tasks();
    are_refused();
    return done_testing();
}
