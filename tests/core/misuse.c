/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Misuses of tasks, data and workers while the runtime runs: the documented error code or a message, one line
 * that explains it, and a runtime that works on. Threads: each misuse in a child of its own. Owns: codelets
 * that are wrong on purpose. Not here: calls before init and after shutdown, configurations
 * (tests/core/misuse_init.c), the environment (env.c).
 */
#include "tests/core/misuse.h"

static void nothing(void *arg UNUSED)
{
}

static void empty_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}

static struct starpu_codelet read_cl = {
    .cpu_funcs = { empty_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};
static struct starpu_codelet redux_cl = {
    .cpu_funcs = { empty_func }, .nbuffers = 1, .modes = { STARPU_REDUX }, .name = "redux"
};
static struct starpu_codelet any_cl = { .cpu_funcs = { empty_func },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "any" };

static float values[64];

static starpu_data_handle_t vector_handle(void)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH(values), sizeof values[0]);
    return h;
}

/* Submits a task made here, which must be refused. */
static bool refused(struct starpu_task *task, int status)
{
    bool right = returns(starpu_task_submit(task), status);
    starpu_task_destroy(task);
    return right;
}

static struct starpu_task *task_of(struct starpu_codelet *cl)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    return task;
}

/* ---- tasks ---- */

static bool submit_null(void)
{
    return returns(starpu_task_submit(NULL), -EINVAL);
}

static bool submit_uninitialised(void)
{
    struct starpu_task task;
    memset(&task, 0, sizeof task);
    return returns(starpu_task_submit(&task), -EINVAL);
}

static bool submit_without_implementation(void)
{
    static struct starpu_codelet none = { .name = "none" };
    return refused(task_of(&none), -ENODEV);
}

static bool submit_gpu_only(void)
{
    static struct starpu_codelet gpu = { .where = STARPU_CUDA, .name = "gpu" };
    return refused(task_of(&gpu), -ENODEV);
}

static bool submit_where_without_function(void)
{
    static struct starpu_codelet cpu = { .where = STARPU_CPU, .name = "cpu" };
    return refused(task_of(&cpu), -ENODEV);
}

static bool submit_300_fixed(void)
{
    static struct starpu_codelet many = { .cpu_funcs = { empty_func }, .nbuffers = 300, .name = "many" };
    return refused(task_of(&many), -EINVAL);
}

static bool submit_300_fixed_with_modes(void)
{
    static enum starpu_data_access_mode modes[300];
    static struct starpu_codelet many = {
        .cpu_funcs = { empty_func }, .nbuffers = 300, .dyn_modes = modes, .name = "many"
    };
    return refused(task_of(&many), -EINVAL);
}

static bool submit_300_variable(void)
{
    struct starpu_task *task = task_of(&any_cl);
    task->nbuffers = 300;
    return refused(task, -EINVAL);
}

static bool submit_negative_count(void)
{
    static struct starpu_codelet minus = { .cpu_funcs = { empty_func }, .nbuffers = -5, .name = "minus" };
    return refused(task_of(&minus), -EINVAL);
}

static bool submit_negative_variable(void)
{
    struct starpu_task *task = task_of(&any_cl);
    task->nbuffers = -3;
    return refused(task, -EINVAL);
}

static bool submit_null_handle(void)
{
    return refused(task_of(&read_cl), -EINVAL);
}

static bool submit_unregistered(void)
{
    struct starpu_task *task = task_of(&read_cl);
    task->handles[0] = vector_handle();
    starpu_data_unregister(task->handles[0]);
    return refused(task, -EINVAL);
}

static bool submit_unknown_mode(void)
{
    static struct starpu_codelet odd = { .cpu_funcs = { empty_func }, .nbuffers = 1, .name = "odd" };
    odd.modes[0] = STARPU_NONE;
    struct starpu_task *task = task_of(&odd);
    task->handles[0] = vector_handle();
    bool right = refused(task, -EINVAL);
    starpu_data_unregister(task->handles[0]);
    return right;
}

static bool submit_redux_without_methods(void)
{
    starpu_data_handle_t h = vector_handle();
    bool right = returns(starpu_task_insert(&redux_cl, STARPU_REDUX, h, 0), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool read_never_written(void)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, 4, sizeof values[0]);
    return returns(starpu_task_insert(&read_cl, STARPU_R, h, 0), 0) && returns(starpu_task_wait_for_all(), 0);
}

static bool end_deps_null_task(void)
{
    starpu_task_end_dep_add(NULL, 1);
    return true;
}

static bool insert_too_few(void)
{
    return returns(starpu_task_insert(&read_cl, 0), -EINVAL);
}

static bool insert_with(int mode, int times, struct starpu_codelet *cl)
{
    starpu_data_handle_t h = vector_handle();
    int r = times == 1 ? starpu_task_insert(cl, mode, h, 0) : starpu_task_insert(cl, mode, h, mode, h, 0);
    starpu_data_unregister(h);
    return returns(r, -EINVAL);
}

static bool insert_too_many(void)
{
    return insert_with(STARPU_R, 2, &read_cl);
}

static bool insert_wrong_mode(void)
{
    return insert_with(STARPU_W, 1, &read_cl);
}

static bool insert_data_without_codelet(void)
{
    return insert_with(STARPU_R, 1, NULL);
}

static bool insert_null_handle(void)
{
    return returns(starpu_task_insert(&read_cl, STARPU_R, NULL, 0), -EINVAL);
}

static bool insert_unknown_kind(void)
{
    return returns(starpu_task_insert(&count_cl, 1 << 29, 0), -EINVAL);
}

static bool insert_args_twice(void)
{
    int x = 0;
    return returns(
        starpu_task_insert(&count_cl, STARPU_VALUE, &x, sizeof x, STARPU_CL_ARGS_NFREE, &x, sizeof x, 0),
        -EINVAL);
}

static bool insert_array_too_long(void)
{
    starpu_data_handle_t h[3] = { vector_handle() };
    h[1] = h[2] = h[0];
    bool right = returns(starpu_task_insert(&read_cl, STARPU_DATA_ARRAY, h, 3, 0), -EINVAL);
    starpu_data_unregister(h[0]);
    return right;
}

static bool insert_array_null(void)
{
    return returns(starpu_task_insert(&read_cl, STARPU_DATA_ARRAY, NULL, 1, 0), -EINVAL);
}

static bool insert_value_null(void)
{
    return returns(starpu_task_insert(&count_cl, STARPU_VALUE, NULL, sizeof(int), 0), -EINVAL);
}

static bool build_too_few(void)
{
    return starpu_task_build(&read_cl, 0) == NULL;
}

/* Calls fn on a task that waits in a gate. */
static bool while_under_way(bool (*fn)(struct starpu_task *))
{
    struct gate gate = { 0 };
    struct starpu_task *task = task_of(&gate_cl);
    task->cl_arg = &gate;
    task->detach = 0;
    task->destroy = 0;
    if (starpu_task_submit(task) != 0) return false;
    gate_wait_entered(&gate, 1);
    bool right = fn(task);
    gate_open(&gate);
    if (!returns(starpu_task_wait(task), 0)) return false;
    starpu_task_destroy(task);
    return right;
}

static bool again(struct starpu_task *task)
{
    return returns(starpu_task_submit(task), -EINVAL);
}

static bool destroyed(struct starpu_task *task)
{
    starpu_task_destroy(task);
    return true;
}

static bool cleaned(struct starpu_task *task)
{
    starpu_task_clean(task);
    return true;
}

static bool depends(struct starpu_task *task)
{
    struct starpu_task *other = starpu_task_create();
    starpu_task_declare_deps_array(task, 1, &other);
    starpu_task_destroy(other);
    return true;
}

static bool waited_as_submitted(struct starpu_task *task)
{
    task->detach = 1; /* too late: by then the bits beside it may be written by a worker */
    return true;
}

static bool submit_twice(void)
{
    return while_under_way(again);
}

static bool destroy_while_running(void)
{
    return while_under_way(destroyed);
}

static bool clean_while_running(void)
{
    return while_under_way(cleaned);
}

static bool depend_while_running(void)
{
    return while_under_way(depends);
}

static bool detach_while_running(void)
{
    return while_under_way(waited_as_submitted);
}

static bool wait_detached(void)
{
    struct gate gate = { 0 };
    struct starpu_task *task = task_of(&gate_cl);
    task->cl_arg = &gate;
    if (starpu_task_submit(task) != 0) return false;
    bool right = returns(starpu_task_wait(task), -EINVAL);
    gate_open(&gate);
    return right && returns(starpu_task_wait_for_all(), 0);
}

static bool wait_unsubmitted(void)
{
    struct starpu_task *task = task_of(&count_cl);
    task->detach = 0;
    bool right = returns(starpu_task_wait(task), -EINVAL);
    starpu_task_destroy(task);
    return right;
}

static bool wait_null(void)
{
    return returns(starpu_task_wait(NULL), -EINVAL);
}

static bool wait_array_null(void)
{
    struct starpu_task *none[1] = { NULL };
    return returns(starpu_task_wait_array(none, 1), -EINVAL);
}

/* ---- dependencies and tags ---- */

static bool runs(struct starpu_task *task)
{
    int before = atomic_load(&misuse_ran);
    return returns(starpu_task_submit(task), 0) && returns(starpu_task_wait_for_all(), 0) &&
           atomic_load(&misuse_ran) == before + 1;
}

static bool deps_null_entry(void)
{
    struct starpu_task *task = task_of(&count_cl), *deps[1] = { NULL };
    starpu_task_declare_deps_array(task, 1, deps);
    return runs(task);
}

static bool deps_null_array(void)
{
    struct starpu_task *task = task_of(&count_cl);
    starpu_task_declare_deps_array(task, 2, NULL);
    return runs(task);
}

static bool deps_null_task(void)
{
    struct starpu_task *dep = task_of(&count_cl);
    starpu_task_declare_deps_array(NULL, 1, &dep);
    return runs(dep);
}

static bool deps_itself(void)
{
    struct starpu_task *task = task_of(&count_cl);
    starpu_task_declare_deps_array(task, 1, &task);
    return runs(task);
}

static bool end_deps_null_entry(void)
{
    struct starpu_task *task = task_of(&count_cl), *deps[1] = { NULL };
    starpu_task_declare_end_deps_array(task, 1, deps);
    return runs(task);
}

static bool end_dep_release_without_add(void)
{
    struct starpu_task *task = task_of(&count_cl);
    starpu_task_end_dep_release(task);
    return runs(task);
}

static bool tag_on_itself(void)
{
    starpu_tag_declare_deps(7, 1, (starpu_tag_t)7);
    struct starpu_task *task = task_of(&count_cl);
    task->use_tag = 1;
    task->tag_id = 7;
    return runs(task);
}

static bool tag_deps_null(void)
{
    starpu_tag_declare_deps_array(7, 2, NULL);
    return true;
}

static bool tag_wait_array_null(void)
{
    return returns(starpu_tag_wait_array(2, NULL), -EINVAL);
}

static bool tag_of_another(void)
{
    struct gate gate = { 0 };
    struct starpu_task *task = task_of(&gate_cl), *second = task_of(&count_cl);
    task->cl_arg = &gate;
    task->use_tag = second->use_tag = 1;
    task->tag_id = second->tag_id = 9;
    starpu_tag_declare_deps(9, 1, (starpu_tag_t)8);
    starpu_tag_notify_from_apps(8);
    if (starpu_task_submit(task) != 0) return false;
    bool right = refused(second, -EINVAL);
    gate_open(&gate);
    return right && returns(starpu_tag_wait(9), 0);
}

static bool tag_remove_busy(void)
{
    struct gate gate = { 0 };
    struct starpu_task *task = task_of(&gate_cl);
    task->cl_arg = &gate;
    task->use_tag = 1;
    task->tag_id = 9;
    if (starpu_task_submit(task) != 0) return false;
    starpu_tag_remove(9);
    gate_open(&gate);
    return returns(starpu_tag_wait(9), 0);
}

/* ---- workers and contexts ---- */

static struct starpu_task *bound(unsigned worker, unsigned order)
{
    struct starpu_task *task = task_of(&count_cl);
    task->execute_on_a_specific_worker = 1;
    task->workerid = worker;
    task->workerorder = order;
    return task;
}

static bool worker_99(void)
{
    return refused(bound(99, 0), -ENODEV);
}

static bool worker_ids_none(void)
{
    static uint32_t none[1];
    struct starpu_task *task = task_of(&count_cl);
    task->workerids = none;
    task->workerids_len = 1;
    return refused(task, -ENODEV);
}

static bool order_twice(void)
{
    if (!returns(starpu_task_submit(bound(0, 1)), 0)) return false;
    starpu_task_wait_for_all();
    return refused(bound(0, 1), -ENODEV);
}

static bool order_twice_waiting(void)
{
    if (!returns(starpu_task_submit(bound(0, 2)), 0)) return false;
    bool right = refused(bound(0, 2), -ENODEV);
    return right && returns(starpu_task_submit(bound(0, 1)), 0);
}

/* Neither is ready when it is submitted: which one takes the other's order is seen later. */
static bool order_twice_later(void)
{
    struct starpu_task *before = task_of(&count_cl), *first = bound(0, 1), *second = bound(0, 1);
    first->detach = second->detach = 0;
    starpu_task_declare_deps_array(first, 1, &before);
    starpu_task_declare_deps_array(second, 1, &before);
    if (!returns(starpu_task_submit(first), 0) || !returns(starpu_task_submit(second), 0)) return false;
    if (!returns(starpu_task_submit(before), 0)) return false;
    return returns(starpu_task_wait(first), 0) && returns(starpu_task_wait(second), 0);
}

static bool context_99(void)
{
    struct starpu_task *task = task_of(&count_cl);
    task->sched_ctx = 99;
    return refused(task, -ENODEV);
}

static bool context_unused(void)
{
    struct starpu_task *task = task_of(&count_cl);
    task->sched_ctx = 3;
    return refused(task, -ENODEV);
}

static bool context_delete_unknown(void)
{
    starpu_sched_ctx_delete(5);
    return true;
}

static bool context_delete_main(void)
{
    starpu_sched_ctx_delete(0);
    return true;
}

static bool context_wrong_policy(void)
{
    return returns(starpu_sched_ctx_create(NULL, -1, "wrong", STARPU_SCHED_CTX_POLICY_NAME, "nonsense", 0),
                   STARPU_NMAX_SCHED_CTXS);
}

static bool context_unknown_kind(void)
{
    return returns(starpu_sched_ctx_create(NULL, -1, "wrong", 1 << 29, 0), STARPU_NMAX_SCHED_CTXS);
}

static bool context_worker_99(void)
{
    int none = 99;
    starpu_sched_ctx_add_workers(&none, 1, 0);
    return true;
}

/* Whether the main context is as it was. */
static bool context_priority(void)
{
    int least = starpu_sched_ctx_get_min_priority(0);
    return returns(starpu_sched_ctx_set_min_priority(99, least - 7), -EINVAL) &&
           returns(starpu_sched_ctx_get_min_priority(0), least);
}

static bool context_priority_unused(void)
{
    int most = starpu_sched_get_max_priority();
    return returns(starpu_sched_ctx_set_max_priority(3, most + 7), -EINVAL) &&
           returns(starpu_sched_get_max_priority(), most);
}

static bool context_policy_data(void)
{
    void *before = starpu_sched_ctx_get_policy_data(0);
    starpu_sched_ctx_set_policy_data(STARPU_NMAX_SCHED_CTXS, values);
    return starpu_sched_ctx_get_policy_data(0) == before;
}

static bool context_asked(void)
{
    return starpu_sched_ctx_get_policy_data(99) == NULL && returns(starpu_sched_ctx_get_max_priority(3), 0) &&
           returns(starpu_sched_ctx_min_priority_is_set(99), 0);
}

static bool context_of_thread(void)
{
    unsigned none = 99;
    starpu_sched_ctx_set_context(&none);
    return returns(starpu_sched_ctx_get_context(), STARPU_NMAX_SCHED_CTXS);
}

static bool context_of_thread_back(void)
{
    unsigned none = STARPU_NMAX_SCHED_CTXS; /* what starpu_sched_ctx_get_context says when there is none */
    starpu_sched_ctx_set_context(&none);
    return returns(starpu_sched_ctx_get_context(), STARPU_NMAX_SCHED_CTXS);
}

static bool worker_questions(void)
{
    char name[16] = "x";
    starpu_worker_get_name(99, name, sizeof name);
    starpu_worker_get_name(-1, name, sizeof name);
    return returns(starpu_worker_get_devid(99), -1) && returns(starpu_worker_get_memory_node(99), 0) &&
           returns(starpu_worker_get_by_type(STARPU_CPU_WORKER, 99), -1) &&
           returns(starpu_worker_get_by_devid(STARPU_CPU_WORKER, 99), -1) &&
           returns(starpu_worker_get_bindid(99), -1) &&
           (starpu_worker_get_type(99), starpu_worker_get_perf_archtype(99, 0), true) &&
           (starpu_worker_is_blocked_in_parallel(99),
            starpu_worker_get_sched_ctx_list(99, &(unsigned *){ NULL }), true);
}

static bool implementation_200(void)
{
    struct starpu_task *task = task_of(&count_cl);
    starpu_task_set_implementation(task, 200);
    return runs(task);
}

static bool execute_null(void)
{
    starpu_execute_on_each_worker(NULL, NULL, STARPU_CPU);
    return true;
}

/* ---- data ---- */

static bool register_home_99(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_vector_data_register(&h, 99, (uintptr_t)values, 4, sizeof values[0]);
    return h == NULL;
}

static bool register_home_minus_7(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_vector_data_register(&h, -7, (uintptr_t)values, 4, sizeof values[0]);
    return h == NULL;
}

static bool register_null_place(void)
{
    starpu_vector_data_register(NULL, STARPU_MAIN_RAM, (uintptr_t)values, 4, sizeof values[0]);
    return true;
}

static bool register_null_ops(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_data_register(&h, STARPU_MAIN_RAM, values, NULL);
    return h == NULL;
}

static bool register_other_structure(void)
{
    starpu_data_handle_t h = (void *)values;
    struct starpu_data_interface_ops copied = starpu_interface_vector_ops;
    copied.interfaceid = (enum starpu_data_interface_id)starpu_data_interface_get_next_id();
    struct starpu_vector_interface vector = {
        .id = copied.interfaceid, .ptr = (uintptr_t)values, .nx = 4, .elemsize = sizeof values[0]
    };
    starpu_data_register(&h, STARPU_MAIN_RAM, &vector, &copied);
    return h == NULL;
}

static bool register_same_null(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_data_register_same(&h, NULL);
    return h == NULL;
}

static bool register_vector_overflow(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_vector_data_register(&h, -1, 0, SIZE_MAX / 2, 16);
    return h == NULL;
}

static bool register_matrix_overflow(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_matrix_data_register(&h, -1, 0, (uint32_t)-1, (uint32_t)-1, (uint32_t)-1, (size_t)1 << 40);
    return h == NULL;
}

static bool register_variable_overflow(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_variable_data_register(&h, -1, 0, SIZE_MAX);
    return h == NULL;
}

static bool register_short_rows(void)
{
    starpu_data_handle_t h = (void *)values;
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)values, 2, 4, 4, sizeof values[0]);
    return h == NULL;
}

static bool unregister_null(void)
{
    starpu_data_unregister(NULL);
    return true;
}

static bool unregister_twice(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_unregister(h);
    starpu_data_unregister(h);
    return true;
}

static bool unregister_submit_twice(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_unregister_submit(h);
    starpu_data_unregister_submit(h);
    return true;
}

/* Calls fn on data whose unregistration was submitted while it is held. */
static bool while_ending(bool (*fn)(starpu_data_handle_t))
{
    starpu_data_handle_t h = vector_handle();
    if (!returns(starpu_data_acquire(h, STARPU_RW), 0)) return false;
    starpu_data_unregister_submit(h);
    bool right = fn(h);
    starpu_data_release(h);
    return right;
}

static bool unregister_submit_again(starpu_data_handle_t h)
{
    starpu_data_unregister_submit(h);
    return true;
}

static bool used(starpu_data_handle_t h)
{
    return returns(starpu_task_insert(&read_cl, STARPU_R, h, 0), -EINVAL);
}

static bool unregister_submit_twice_held(void)
{
    return while_ending(unregister_submit_again);
}

static bool use_ending(void)
{
    return while_ending(used);
}

static void never_called(void *arg)
{
    *(bool *)arg = true;
}

static bool acquired_ending(starpu_data_handle_t h)
{
    bool called = false;
    bool right = returns(starpu_data_acquire(h, STARPU_R), -EINVAL) &&
                 returns(starpu_data_acquire_try(h, STARPU_R), -EINVAL) &&
                 returns(starpu_data_acquire_cb(h, STARPU_R, never_called, &called), -EINVAL);
    return right && !called;
}

static bool acquire_ending(void)
{
    return while_ending(acquired_ending);
}

static bool invalidated(starpu_data_handle_t h)
{
    starpu_data_invalidate_submit(h);
    starpu_data_invalidate(h);
    return used(h);
}

static bool invalidate_ending(void)
{
    return while_ending(invalidated);
}

static bool unregister_not_a_handle(void)
{
    static char zeros[4096];
    starpu_data_unregister((starpu_data_handle_t)(void *)zeros);
    return true;
}

static bool acquire_unregistered(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_unregister(h);
    return returns(starpu_data_acquire(h, STARPU_R), -EINVAL);
}

static bool acquire_null(void)
{
    return returns(starpu_data_acquire(NULL, STARPU_R), -EINVAL);
}

static bool acquire_mode(int mode)
{
    starpu_data_handle_t h = vector_handle();
    bool right = returns(starpu_data_acquire(h, (enum starpu_data_access_mode)mode), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool acquire_mode_0(void)
{
    return acquire_mode(0);
}

static bool acquire_mode_scratch(void)
{
    return acquire_mode(STARPU_SCRATCH);
}

static bool acquire_mode_redux(void)
{
    return acquire_mode(STARPU_REDUX);
}

static bool acquire_node_99(void)
{
    starpu_data_handle_t h = vector_handle();
    bool right = returns(starpu_data_acquire_on_node(h, 99, STARPU_R), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool acquire_never_written(void)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, 4, sizeof values[0]);
    bool right = returns(starpu_data_acquire(h, STARPU_R), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool acquire_cb_null(void)
{
    starpu_data_handle_t h = vector_handle();
    bool right = returns(starpu_data_acquire_cb(h, STARPU_R, NULL, NULL), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool release_not_acquired(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_release(h);
    starpu_data_unregister(h);
    return true;
}

static bool release_to_not_acquired(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_release_to(h, STARPU_R);
    starpu_data_unregister(h);
    return true;
}

static bool release_twice(void)
{
    starpu_data_handle_t h = vector_handle();
    if (!returns(starpu_data_acquire(h, STARPU_RW), 0)) return false;
    starpu_data_release(h);
    starpu_data_release(h);
    starpu_data_unregister(h);
    return true;
}

static bool release_null(void)
{
    starpu_data_release(NULL);
    return true;
}

static bool reduction_null_codelets(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_set_reduction_methods(h, NULL, NULL);
    bool right = returns(starpu_task_insert(&redux_cl, STARPU_REDUX, h, 0), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool set_name_null_handle(void)
{
    starpu_data_set_name(NULL, "x");
    return true;
}

static bool prefetch_node_99(void)
{
    starpu_data_handle_t h = vector_handle();
    bool right = returns(starpu_data_prefetch_on_node(h, 99, 1), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool copy_null(void)
{
    starpu_data_handle_t h = vector_handle();
    bool right = returns(starpu_data_cpy(h, NULL, 0, NULL, NULL), -EINVAL);
    starpu_data_unregister(h);
    return right;
}

static bool lookup_null(void)
{
    return starpu_data_lookup(NULL) == NULL;
}

static bool malloc_null(void)
{
    return returns(starpu_malloc(NULL, 8), -EINVAL);
}

static bool malloc_node_99(void)
{
    return returns(starpu_malloc_on_node(99, 8), 0);
}

/* ---- partitions ---- */

static struct starpu_data_filter filter_of(unsigned children)
{
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = children };
    return f;
}

/* Calls fn on data cut into four. */
static bool on_partitioned(bool (*fn)(starpu_data_handle_t))
{
    starpu_data_handle_t h = vector_handle();
    struct starpu_data_filter f = filter_of(4);
    starpu_data_partition(h, &f);
    bool right = returns(starpu_data_get_nb_children(h), 4) && fn(h);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    return right;
}

static bool partition_0(void)
{
    starpu_data_handle_t h = vector_handle();
    struct starpu_data_filter f = filter_of(0);
    starpu_data_partition(h, &f);
    starpu_data_unregister(h);
    return true;
}

static bool partition_no_function(void)
{
    starpu_data_handle_t h = vector_handle();
    struct starpu_data_filter f = { .nchildren = 4 };
    starpu_data_partition(h, &f);
    starpu_data_unregister(h);
    return true;
}

static bool partition_null_filter(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_partition(h, NULL);
    starpu_data_unregister(h);
    return true;
}

static bool partition_null(void)
{
    struct starpu_data_filter f = filter_of(4);
    starpu_data_partition(NULL, &f);
    return true;
}

static bool unpartition_whole(void)
{
    starpu_data_handle_t h = vector_handle();
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    return true;
}

static bool acquired(starpu_data_handle_t h)
{
    return returns(starpu_data_acquire(h, STARPU_R), -EINVAL);
}

static bool unregistered(starpu_data_handle_t h)
{
    starpu_data_unregister(h);
    return true;
}

static bool unregistered_submit(starpu_data_handle_t h)
{
    starpu_data_unregister_submit(h);
    return true;
}

static bool cut_again(starpu_data_handle_t h)
{
    struct starpu_data_filter f = filter_of(2);
    starpu_data_partition(h, &f);
    return returns(starpu_data_get_nb_children(h), 4);
}

static bool child_7(starpu_data_handle_t h)
{
    return starpu_data_get_child(h, 7) == NULL;
}

static bool sub_data_7(starpu_data_handle_t h)
{
    return starpu_data_get_sub_data(h, 1, 7) == NULL;
}

static bool use_partitioned(void)
{
    return on_partitioned(used);
}

static bool acquire_partitioned(void)
{
    return on_partitioned(acquired);
}

static bool unregister_partitioned(void)
{
    return on_partitioned(unregistered);
}

static bool unregister_submit_partitioned(void)
{
    return on_partitioned(unregistered_submit);
}

static bool partition_partitioned(void)
{
    return on_partitioned(cut_again);
}

static bool child_out_of_range(void)
{
    return on_partitioned(child_7);
}

static bool sub_data_out_of_range(void)
{
    return on_partitioned(sub_data_7);
}

/* ---- blocking inside of a task ---- */

static bool (*task_body)(void);
static starpu_data_handle_t task_data;
static bool task_right;

static void body_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    task_right = task_body();
}

static bool in_task_of(struct starpu_codelet *cl, bool (*body)(void))
{
    task_body = body;
    task_data = vector_handle();
    struct starpu_task *task = task_of(cl);
    if (cl->nbuffers > 0) task->handles[0] = task_data;
    bool submitted = returns(starpu_task_submit(task), 0) && returns(starpu_task_wait_for_all(), 0);
    starpu_data_unregister(task_data);
    return submitted && task_right;
}

static bool in_task(bool (*body)(void))
{
    static struct starpu_codelet body_cl = { .cpu_funcs = { body_func }, .name = "body" };
    return in_task_of(&body_cl, body);
}

static bool in_task_on_its_data(bool (*body)(void))
{
    static struct starpu_codelet body_cl = {
        .cpu_funcs = { body_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "body"
    };
    return in_task_of(&body_cl, body);
}

static bool body_acquire(void)
{
    return returns(starpu_data_acquire(task_data, STARPU_R), -EDEADLK);
}

static bool body_wait_all(void)
{
    return returns(starpu_task_wait_for_all(), -EDEADLK);
}

static bool body_wait_n(void)
{
    return returns(starpu_task_wait_for_n_submitted(0), -EDEADLK);
}

static bool body_tag_wait(void)
{
    return returns(starpu_tag_wait(99), -EDEADLK);
}

static bool body_wait(void)
{
    struct starpu_task *task = task_of(&count_cl);
    task->detach = 0;
    task->destroy = 0;
    if (!returns(starpu_task_submit(task), 0) || !returns(starpu_task_wait(task), -EDEADLK)) return false;
    return true; /* the task stays: nobody may free it before it has ended */
}

static bool body_synchronous(void)
{
    struct starpu_task *task = task_of(&count_cl);
    task->synchronous = 1;
    return refused(task, -EDEADLK);
}

static bool body_unregister(void)
{
    starpu_data_unregister(task_data);
    return true;
}

static bool body_invalidate(void)
{
    starpu_data_invalidate(task_data);
    return true;
}

static bool body_partition(void)
{
    struct starpu_data_filter f = filter_of(4);
    starpu_data_partition(task_data, &f);
    return true;
}

static bool body_shutdown(void)
{
    starpu_shutdown();
    return returns(starpu_is_initialized(), 1);
}

static unsigned task_context;
static bool body_context(void)
{
    starpu_sched_ctx_delete(task_context);
    return starpu_sched_ctx_get_nworkers(task_context) > 0;
}

static bool body_copy(void)
{
    starpu_data_handle_t other = vector_handle();
    bool right = returns(starpu_data_cpy(task_data, other, 0, NULL, NULL), -EDEADLK);
    starpu_data_unregister_submit(other);
    return right;
}

static starpu_data_handle_t partitioned_data;

static bool body_duplicate(void)
{
    starpu_data_handle_t copy = task_data;
    return returns(starpu_data_dup_ro(&copy, partitioned_data), -EINVAL) && copy == NULL;
}

static bool body_fetch(void)
{
    return returns(starpu_data_fetch_on_node(task_data, STARPU_MAIN_RAM, 0), -EDEADLK);
}

static bool body_fetch_later(void)
{
    return returns(starpu_data_fetch_on_node(task_data, STARPU_MAIN_RAM, 1), 0);
}

static bool body_fetch_other(void)
{
    starpu_data_handle_t other = vector_handle();
    bool right = returns(starpu_data_fetch_on_node(other, STARPU_MAIN_RAM, 0), 0);
    starpu_data_unregister_submit(other);
    return right;
}

/* A task writes a piece, and fetches the whole, or a piece of another plan. */
static struct overlap {
    starpu_data_handle_t whole, half[2], quarter[4];
    bool right;
} overlap;

static void overlap_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    overlap.right = returns(starpu_data_fetch_on_node(overlap.whole, STARPU_MAIN_RAM, 0), -EDEADLK) &&
                    returns(starpu_data_fetch_on_node(overlap.quarter[3], STARPU_MAIN_RAM, 0), -EDEADLK) &&
                    returns(starpu_data_fetch_on_node(overlap.half[1], STARPU_MAIN_RAM, 0), 0);
}

static bool task_fetches_overlap(void)
{
    static struct starpu_codelet cl = { .cpu_funcs = { overlap_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW } };
    struct starpu_data_filter halves = filter_of(2), quarters = filter_of(4);
    overlap.whole = vector_handle();
    starpu_data_partition_plan(overlap.whole, &halves, overlap.half);
    starpu_data_partition_plan(overlap.whole, &quarters, overlap.quarter);
    if (!returns(starpu_task_insert(&cl, STARPU_RW, overlap.half[0], 0), 0)) return false;
    starpu_task_wait_for_all();
    starpu_data_partition_clean(overlap.whole, 4, overlap.quarter);
    starpu_data_partition_clean(overlap.whole, 2, overlap.half);
    starpu_data_unregister(overlap.whole);
    return overlap.right;
}

static atomic_int callback_status;

static void fetch_in_callback(void *handle)
{
    atomic_store(&callback_status, starpu_data_fetch_on_node(handle, STARPU_MAIN_RAM, 0));
    starpu_data_release(handle);
}

static bool callback_fetches(void)
{
    static struct starpu_codelet held_cl = { .cpu_funcs = { gate_func },
                                             .nbuffers = 1,
                                             .modes = { STARPU_RW } };
    struct gate gate = { 0 };
    starpu_data_handle_t h = vector_handle();
    struct starpu_task *task = task_of(&held_cl);
    task->handles[0] = h;
    task->cl_arg = &gate;
    if (!returns(starpu_task_submit(task), 0)) return false;
    starpu_data_acquire_cb(h, STARPU_RW, fetch_in_callback, h); /* so it is a worker that calls it */
    gate_open(&gate);
    starpu_data_unregister(h);
    return returns(atomic_load(&callback_status), -EDEADLK);
}

static bool body_execute(void)
{
    starpu_execute_on_each_worker(nothing, NULL, STARPU_CPU);
    return true;
}

static bool task_acquires(void)
{
    return in_task(body_acquire);
}
static bool task_waits_all(void)
{
    return in_task(body_wait_all);
}
static bool task_waits_n(void)
{
    return in_task(body_wait_n);
}
static bool task_waits_tag(void)
{
    return in_task(body_tag_wait);
}
static bool task_waits_task(void)
{
    return in_task(body_wait);
}
static bool task_submits_synchronous(void)
{
    return in_task(body_synchronous);
}
static bool task_unregisters(void)
{
    return in_task(body_unregister);
}
static bool task_invalidates(void)
{
    return in_task(body_invalidate);
}
static bool task_partitions(void)
{
    return in_task(body_partition);
}
static bool task_shuts_down(void)
{
    return in_task(body_shutdown);
}
static bool task_deletes_context(void)
{
    task_context = starpu_sched_ctx_create(NULL, -1, "inner", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    bool right = in_task(body_context);
    starpu_sched_ctx_delete(task_context);
    return right;
}
static bool task_copies(void)
{
    return in_task(body_copy);
}
static bool task_duplicates(void)
{
    struct starpu_data_filter f = filter_of(4);
    partitioned_data = vector_handle();
    starpu_data_partition(partitioned_data, &f);
    bool right = in_task(body_duplicate);
    starpu_data_unpartition(partitioned_data, STARPU_MAIN_RAM);
    starpu_data_unregister(partitioned_data);
    return right;
}
static bool task_fetches(void)
{
    return in_task_on_its_data(body_fetch);
}
static bool task_fetches_later(void)
{
    return in_task_on_its_data(body_fetch_later) && in_task_on_its_data(body_fetch_other);
}
static bool task_executes_everywhere(void)
{
    return in_task(body_execute);
}

/* ---- the rest ---- */

static int forked;

/* LeakSanitizer asks this at exit: in a forked child it does not see what the workers' stacks point at. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return forked;
}

static bool fork_and_exit(void)
{
    int status;
    for (int i = 0; i < 20; i++) starpu_task_insert(&count_cl, 0);
    pid_t child = fork();
    if (child == 0) {
        forked = 1;
        alarm(3);
        exit(5);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && returns(WEXITSTATUS(status), 5);
}

static bool model_null_symbol(void)
{
    return returns(starpu_perfmodel_load_symbol(NULL, &(struct starpu_perfmodel){ 0 }), 1);
}

static bool model_unknown_symbol(void)
{
    return returns(starpu_perfmodel_load_symbol("no/such model", &(struct starpu_perfmodel){ 0 }), 1);
}

static bool resume_without_pause(void)
{
    starpu_resume();
    return returns(starpu_is_paused(), 0);
}

static bool unpack_more(void)
{
    struct starpu_codelet_pack_arg_data s;
    int a = 1, b = 7;
    void *packed;
    size_t bytes;
    starpu_codelet_pack_arg_init(&s);
    starpu_codelet_pack_arg(&s, &a, sizeof a);
    starpu_codelet_pack_arg_fini(&s, &packed, &bytes);
    starpu_codelet_unpack_arg_init(&s, packed, bytes);
    starpu_codelet_unpack_arg(&s, &b, sizeof b);
    starpu_codelet_unpack_arg(&s, &a, sizeof a);
    starpu_codelet_unpack_arg_fini(&s);
    free(packed);
    return returns(b, 1);
}

static const struct misuse misuses[] = {
    { "submitting NULL is -EINVAL", submit_null, UP },
    { "submitting a struct of zeros is -EINVAL", submit_uninitialised, UP },
    { "a codelet without any implementation is -ENODEV", submit_without_implementation, UP },
    { "a codelet for devices that are not there is -ENODEV", submit_gpu_only, UP },
    { "a codelet whose where names no function is -ENODEV", submit_where_without_function, UP },
    { "300 data without dyn_modes are -EINVAL", submit_300_fixed, UP },
    { "300 data without dyn_handles are -EINVAL", submit_300_fixed_with_modes, UP },
    { "300 variable data without dyn_handles are -EINVAL", submit_300_variable, UP },
    { "nbuffers below zero is -EINVAL", submit_negative_count, UP },
    { "nbuffers of a task below zero is -EINVAL", submit_negative_variable, UP },
    { "a task without its handle is -EINVAL", submit_null_handle, UP },
    { "a task on unregistered data is -EINVAL", submit_unregistered, UP },
    { "a datum without an access mode is -EINVAL", submit_unknown_mode, UP },
    { "STARPU_REDUX without reduction methods is -EINVAL", submit_redux_without_methods, UP },
    { "a task that reads what nobody wrote ends the program", read_never_written, UP | ENDS },
    { "inserting with too few data is -EINVAL", insert_too_few, UP },
    { "inserting with too many data is -EINVAL", insert_too_many, UP },
    { "inserting in another mode than the codelet's is -EINVAL", insert_wrong_mode, UP },
    { "inserting data without a codelet is -EINVAL", insert_data_without_codelet, UP },
    { "inserting a NULL handle is -EINVAL", insert_null_handle, UP },
    { "inserting an unknown kind of argument is -EINVAL", insert_unknown_kind, UP },
    { "inserting STARPU_VALUE beside STARPU_CL_ARGS is -EINVAL", insert_args_twice, UP },
    { "inserting an array of more handles than the codelet's is -EINVAL", insert_array_too_long, UP },
    { "inserting a NULL array of handles is -EINVAL", insert_array_null, UP },
    { "inserting a value at NULL is -EINVAL", insert_value_null, UP },
    { "building a task with too few data gives NULL", build_too_few, UP },
    { "submitting a task a second time while it runs is -EINVAL", submit_twice, UP },
    { "destroying a task while it runs is refused", destroy_while_running, UP },
    { "cleaning a task while it runs is refused", clean_while_running, UP },
    { "declaring dependencies of a running task is refused", depend_while_running, UP },
    { "a task that was submitted with detach 0 is waited for, whatever it says later", detach_while_running,
      UP | QUIET },
    { "waiting for a detached task is -EINVAL", wait_detached, UP },
    { "waiting for a task that was not submitted is -EINVAL", wait_unsubmitted, UP },
    { "waiting for NULL is -EINVAL", wait_null, UP },
    { "waiting for an array with NULL is -EINVAL", wait_array_null, UP },
    { "a NULL dependency is left out", deps_null_entry, UP },
    { "a NULL array of dependencies is left out", deps_null_array, UP },
    { "dependencies of NULL are refused", deps_null_task, UP },
    { "a dependency of a task on itself is left out", deps_itself, UP },
    { "a NULL end dependency is left out", end_deps_null_entry, UP },
    { "an end dependency of NULL ends the program", end_deps_null_task, UP | ENDS },
    { "releasing an end dependency that was never added is refused", end_dep_release_without_add, UP },
    { "a dependency of a tag on itself is left out", tag_on_itself, UP },
    { "a NULL array of tags is refused", tag_deps_null, UP },
    { "waiting for a NULL array of tags is -EINVAL", tag_wait_array_null, UP },
    { "a tag with dependencies that a running task has is -EINVAL", tag_of_another, UP },
    { "removing the tag of a running task is refused", tag_remove_busy, UP },
    { "a task for worker 99 is -ENODEV", worker_99, UP },
    { "a task for no worker at all is -ENODEV", worker_ids_none, UP },
    { "a workerorder that has run is -ENODEV", order_twice, UP },
    { "a workerorder that is taken is -ENODEV", order_twice_waiting, UP },
    { "a workerorder that is taken before the task is ready is said, and it runs", order_twice_later, UP },
    { "scheduling context 99 is -ENODEV", context_99, UP },
    { "a scheduling context that does not exist is -ENODEV", context_unused, UP },
    { "deleting a context that does not exist is refused", context_delete_unknown, UP },
    { "deleting the main context is refused", context_delete_main, UP },
    { "a context with an unknown policy is not made", context_wrong_policy, UP | LINES },
    { "a context with an unknown argument is not made", context_unknown_kind, UP },
    { "adding worker 99 to a context is left out", context_worker_99, UP },
    { "setting a priority of context 99 is -EINVAL, not the main one's", context_priority, UP },
    { "setting a priority of a context that does not exist is -EINVAL", context_priority_unused, UP },
    { "policy data of no context are not the main one's", context_policy_data, UP },
    { "questions about contexts that do not exist are refused", context_asked, UP | LINES },
    { "a thread does not enter context 99", context_of_thread, UP },
    { "a thread goes back to where it was: in none", context_of_thread_back, UP | QUIET },
    { "questions about worker 99 are answered", worker_questions, UP | QUIET },
    { "implementation 200 of a task is refused", implementation_200, UP },
    { "executing NULL on each worker ends the program", execute_null, UP | ENDS },
    { "data at home on node 99 are not registered", register_home_99, UP },
    { "data at home on node -7 are not registered", register_home_minus_7, UP },
    { "registering without a place for the handle is refused", register_null_place, UP },
    { "registering without ops is refused", register_null_ops, UP },
    { "a copied table of vectors with a structure of its own is refused", register_other_structure, UP },
    { "registering the same as NULL is refused", register_same_null, UP },
    { "a vector beyond the address space is not registered", register_vector_overflow, UP },
    { "a matrix beyond the address space is not registered", register_matrix_overflow, UP },
    { "a variable beyond the address space is not registered", register_variable_overflow, UP },
    { "a matrix whose rows overlap is not registered", register_short_rows, UP },
    { "unregistering NULL is refused", unregister_null, UP },
    { "unregistering twice is refused", unregister_twice, UP },
    { "submitting an unregistration twice is refused", unregister_submit_twice, UP },
    { "the same while somebody holds the data", unregister_submit_twice_held, UP },
    { "a task on data whose unregistration was submitted is -EINVAL", use_ending, UP },
    { "acquiring data whose unregistration was submitted is -EINVAL", acquire_ending, UP | LINES },
    { "invalidating it is refused, and does not undo that", invalidate_ending, UP | LINES },
    { "unregistering what is no handle is refused", unregister_not_a_handle, UP },
    { "acquiring unregistered data is -EINVAL", acquire_unregistered, UP },
    { "acquiring NULL is -EINVAL", acquire_null, UP },
    { "acquiring in mode 0 is -EINVAL", acquire_mode_0, UP },
    { "acquiring in mode STARPU_SCRATCH is -EINVAL", acquire_mode_scratch, UP },
    { "acquiring in mode STARPU_REDUX without methods is -EINVAL", acquire_mode_redux, UP },
    { "acquiring on node 99 is -EINVAL", acquire_node_99, UP },
    { "acquiring for reading what nobody wrote is -EINVAL", acquire_never_written, UP },
    { "acquiring with a NULL callback is -EINVAL", acquire_cb_null, UP },
    { "releasing what was not acquired is refused", release_not_acquired, UP },
    { "releasing to reading what was not acquired is refused", release_to_not_acquired, UP },
    { "releasing twice is refused", release_twice, UP },
    { "releasing NULL is refused", release_null, UP },
    { "reduction methods of NULL are none", reduction_null_codelets, UP },
    { "naming a NULL handle is refused", set_name_null_handle, UP },
    { "prefetching to node 99 is -EINVAL", prefetch_node_99, UP },
    { "copying from NULL is -EINVAL", copy_null, UP },
    { "looking NULL up finds nothing", lookup_null, UP | QUIET },
    { "starpu_malloc to NULL is -EINVAL", malloc_null, UP },
    { "starpu_malloc_on_node on node 99 is 0", malloc_node_99, UP },
    { "cutting into 0 pieces is refused", partition_0, UP },
    { "a filter without a function is refused", partition_no_function, UP },
    { "a NULL filter is refused", partition_null_filter, UP },
    { "cutting NULL is refused", partition_null, UP },
    { "unpartitioning what is whole is refused", unpartition_whole, UP },
    { "a task on partitioned data is -EINVAL", use_partitioned, UP },
    { "acquiring partitioned data is -EINVAL", acquire_partitioned, UP },
    { "unregistering partitioned data is refused", unregister_partitioned, UP },
    { "submitting the unregistration of partitioned data is refused", unregister_submit_partitioned, UP },
    { "cutting partitioned data again is refused", partition_partitioned, UP },
    { "child 7 of 4 is NULL", child_out_of_range, UP },
    { "sub data 7 of 4 is NULL", sub_data_out_of_range, UP },
    { "acquiring in a task is -EDEADLK", task_acquires, UP },
    { "waiting for all tasks in a task is -EDEADLK", task_waits_all, UP },
    { "waiting for few tasks in a task is -EDEADLK", task_waits_n, UP },
    { "waiting for a tag in a task is -EDEADLK", task_waits_tag, UP },
    { "waiting for a task in a task is -EDEADLK", task_waits_task, UP },
    { "a synchronous task in a task is -EDEADLK", task_submits_synchronous, UP },
    { "unregistering in a task is refused", task_unregisters, UP },
    { "invalidating in a task is refused", task_invalidates, UP },
    { "partitioning in a task is refused", task_partitions, UP },
    { "shutting down in a task is refused", task_shuts_down, UP },
    { "deleting a context in a task is refused", task_deletes_context, UP },
    { "a blocking copy in a task is -EDEADLK", task_copies, UP },
    { "a copy in a task that cannot be submitted leaves no handle", task_duplicates, UP },
    { "fetching in a task what it uses, and waiting for that, is -EDEADLK", task_fetches, UP },
    { "fetching it without waiting, and other data, is allowed", task_fetches_later, UP | QUIET },
    { "fetching data that overlaps the task's is -EDEADLK", task_fetches_overlap, UP | LINES },
    { "waiting for a fetch in a callback is -EDEADLK", callback_fetches, UP },
    { "executing on each worker in a task ends the program", task_executes_everywhere, UP | ENDS },
    { "a forked child exits", fork_and_exit, UP | QUIET },
    { "loading the performance model NULL fails", model_null_symbol, UP },
    { "loading an unknown performance model fails", model_unknown_symbol, UP },
    { "resuming without a pause does nothing", resume_without_pause, UP | QUIET },
    { "unpacking more than was packed is refused", unpack_more, UP },
};

int main(void)
{
    return misuse_check_all(misuses, LENGTH(misuses));
}
