/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scheduling policy of the program: its methods are called in the documented order and number, tasks for
 * one worker are only notified, workers are woken, tasks may be given straight to a worker's own queue.
 * Threads: init and deinit on main, push on any thread, pop and the execution hooks on workers.
 * Owns: the central list, and a trace of the calls for each task.
 * Not here: the built-in policies (policies.c).
 */
#include "tests/stream.h"

struct policy_data {
    starpu_pthread_mutex_t mutex;
    struct starpu_task_list list;
};

enum wake_style { WAKE_NO_RELAX, WAKE_RELAX_LIGHT };

static atomic_int wake_style; /* enum wake_style; a push may still wake others when its task has ended */
static atomic_int take_newest;
static atomic_int inits, deinits, added, removed, schedules, wrong_context, pops_off_worker, add_before_init;
static atomic_int context_of_init;

/* What happened to a task, one letter per call: S submit, U push, N notify, P pop, B before, F function, A
 * after. */
struct trace {
    char letters[16];
    atomic_int length;
    int notified_worker, before_worker, function_worker, after_worker;
};

static struct starpu_codelet traced_cl, traced_fixed_cl;

static struct trace *trace_of(struct starpu_task *task)
{
    return task->cl == &traced_cl || task->cl == &traced_fixed_cl ? task->cl_arg : NULL;
}

static void mark(struct starpu_task *task, char letter)
{
    struct trace *trace = trace_of(task);
    if (trace) trace->letters[atomic_fetch_add(&trace->length, 1) % 15] = letter;
}

static void check_context(unsigned context)
{
    if ((int)context != atomic_load(&context_of_init)) atomic_fetch_add(&wrong_context, 1);
}

static void init_sched(unsigned context)
{
    struct policy_data *data = calloc(1, sizeof *data);
    STARPU_PTHREAD_MUTEX_INIT(&data->mutex, NULL);
    starpu_task_list_init(&data->list);
    starpu_sched_ctx_set_policy_data(context, data);
    atomic_store(&context_of_init, (int)context);
    atomic_fetch_add(&inits, 1);
}

static void deinit_sched(unsigned context)
{
    struct policy_data *data = starpu_sched_ctx_get_policy_data(context);
    check_context(context);
    STARPU_PTHREAD_MUTEX_DESTROY(&data->mutex);
    free(data);
    atomic_fetch_add(&deinits, 1);
}

static void add_workers(unsigned context, int *workers UNUSED, unsigned count)
{
    check_context(context);
    atomic_fetch_add(&add_before_init, atomic_load(&inits) == 0);
    atomic_fetch_add(&added, (int)count);
}

static void remove_workers(unsigned context UNUSED, int *workers UNUSED, unsigned count)
{
    atomic_fetch_add(&removed, (int)count);
}

static void wake_all(void)
{
    for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++) {
        if (wake_style == WAKE_RELAX_LIGHT) {
            starpu_wake_worker_relax_light((int)worker);
        } else {
            starpu_worker_relax_on();
            starpu_wake_worker_no_relax((int)worker);
            starpu_worker_relax_off();
        }
    }
}

static int push_task(struct starpu_task *task)
{
    struct policy_data *data = starpu_sched_ctx_get_policy_data(task->sched_ctx);
    mark(task, 'U');
    check_context(task->sched_ctx);
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&data->mutex);
    starpu_worker_relax_off();
    starpu_task_list_push_back(&data->list, task);
    starpu_push_task_end(task);
    STARPU_PTHREAD_MUTEX_UNLOCK(&data->mutex);
    wake_all();
    return 0;
}

static struct starpu_task *pop_task(unsigned context)
{
    struct policy_data *data = starpu_sched_ctx_get_policy_data(context);
    int worker = starpu_worker_get_id();
    struct starpu_task *task = NULL;
    check_context(context);
    atomic_fetch_add(&pops_off_worker, worker < 0);
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&data->mutex);
    starpu_worker_relax_off();
    if (!starpu_task_list_empty(&data->list)) {
        task = take_newest ? starpu_task_list_back(&data->list) : starpu_task_list_begin(&data->list);
        unsigned implementation;
        if (starpu_worker_can_execute_task_first_impl((unsigned)worker, task, &implementation)) {
            starpu_task_list_erase(&data->list, task);
            starpu_task_set_implementation(task, implementation);
        } else {
            task = NULL;
        }
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&data->mutex);
    if (task) mark(task, 'P');
    return task;
}

static void push_task_notify(struct starpu_task *task, int worker, int perf_worker UNUSED, unsigned context)
{
    struct trace *trace = trace_of(task);
    check_context(context);
    mark(task, 'N');
    if (trace) trace->notified_worker = worker;
}

static void submit_hook(struct starpu_task *task)
{
    mark(task, 'S');
}

static void pre_exec_hook(struct starpu_task *task, unsigned context UNUSED)
{
    struct trace *trace = trace_of(task);
    mark(task, 'B');
    if (trace) trace->before_worker = starpu_worker_get_id();
}

static void post_exec_hook(struct starpu_task *task, unsigned context UNUSED)
{
    struct trace *trace = trace_of(task);
    mark(task, 'A');
    if (trace) trace->after_worker = starpu_worker_get_id();
}

static void do_schedule(unsigned context)
{
    check_context(context);
    atomic_fetch_add(&schedules, 1);
}

static struct starpu_sched_policy central_policy = {
    .init_sched = init_sched,
    .deinit_sched = deinit_sched,
    .add_workers = add_workers,
    .remove_workers = remove_workers,
    .push_task = push_task,
    .pop_task = pop_task,
    .push_task_notify = push_task_notify,
    .submit_hook = submit_hook,
    .pre_exec_hook = pre_exec_hook,
    .post_exec_hook = post_exec_hook,
    .do_schedule = do_schedule,
    .policy_name = "central",
    .policy_description = "one list for all workers",
    .worker_type = STARPU_WORKER_LIST,
};

static void traced_func(void *buffers[] UNUSED, void *arg)
{
    struct trace *trace = arg;
    trace->letters[atomic_fetch_add(&trace->length, 1) % 15] = 'F';
    trace->function_worker = starpu_worker_get_id();
}
static struct starpu_codelet traced_cl = { .cpu_funcs = { traced_func }, .name = "traced" };
static struct starpu_codelet traced_fixed_cl = { .cpu_funcs = { traced_func }, .name = "traced_fixed" };

static void start(struct starpu_sched_policy *policy, int cpus)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = policy;
    conf.precedence_over_environment_variables = 1;
    int status = starpu_init(&conf);
    if (status == -ENODEV) skip_all("no CPU worker can be started here");
    if (status != 0) {
        printf("Bail out! starpu_init returned %d\n", status);
        exit(1);
    }
}

#define TRACED 500
static struct trace traces[TRACED];

static void through_the_policy(void)
{
    int wrong_order = 0, wrong_worker = 0, failed = 0;
    memset(traces, 0, sizeof traces);
    for (int i = 0; i < TRACED; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &traced_cl;
        task->cl_arg = &traces[i];
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < TRACED; i++) {
        wrong_order += strcmp(traces[i].letters, "SUPBFA") != 0;
        wrong_worker += traces[i].before_worker != traces[i].function_worker ||
                        traces[i].after_worker != traces[i].function_worker;
    }
    if (wrong_order) diag("the first task went through %s", traces[0].letters);
    ok(all_of(!failed, wrong_order == 0),
       "submit_hook, push, pop, pre_exec_hook, function, post_exec_hook: each once, in this order");
    is_int(wrong_worker, 0, "the hooks around the function are called by its worker");
}

static void past_the_policy(void)
{
    int wrong_order = 0, wrong_worker = 0, failed = 0;
    int workers = (int)starpu_worker_get_count();
    memset(traces, 0, sizeof traces);
    for (int i = 0; i < TRACED; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &traced_fixed_cl;
        task->cl_arg = &traces[i];
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)(i % workers);
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < TRACED; i++) {
        wrong_order += strcmp(traces[i].letters, "SNBFA") != 0;
        wrong_worker += traces[i].notified_worker != i % workers || traces[i].function_worker != i % workers;
    }
    if (wrong_order) diag("the first task went through %s", traces[0].letters);
    ok(all_of(!failed, wrong_order == 0),
       "a task for one worker is notified instead of pushed and popped, and has the hooks");
    is_int(wrong_worker, 0, "the notification names that worker, and the task runs there");
}

static void pushed_when_ready(void)
{
    struct gate gate = { 0 };
    struct starpu_task *head = starpu_task_create();
    head->cl = &gate_cl;
    head->cl_arg = &gate;
    memset(traces, 0, sizeof traces);
    struct starpu_task *task = starpu_task_create();
    task->cl = &traced_cl;
    task->cl_arg = &traces[0];
    starpu_task_declare_deps_array(task, 1, &head);
    int failed = starpu_task_submit(task) | starpu_task_submit(head);
    gate_wait_entered(&gate, 1);
    ok(all_of(!failed, strcmp(traces[0].letters, "S") == 0),
       "a task that waits for another has seen submit_hook only");
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(strcmp(traces[0].letters, "SUPBFA") == 0, "it is pushed when it becomes ready");
}

static void asked_to_schedule(void)
{
    int before = atomic_load(&schedules);
    starpu_do_schedule();
    ok(schedules > before, "starpu_do_schedule reaches the policy");
    before = atomic_load(&schedules);
    starpu_task_wait_for_all();
    ok(schedules > before, "and so does waiting for all tasks");
}

static struct starpu_codelet stream_cl = {
    .cpu_funcs = { stream_func },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "stream",
};

static atomic_int runs;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void workers_are_woken(const char *how)
{
    int wrong = 0, failed = 0;
    atomic_store(&runs, 0);
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 0) usleep(200);
        failed |= starpu_task_insert(&count_cl, 0);
        if (i % 2) {
            starpu_task_wait_for_all();
            wrong += runs != i + 1;
        }
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, wrong == 0, runs == 300), "workers asleep are woken by %s", how);
    is_int(stream_run(&stream_cl, 31, 2000), 0,
           "2000 random tasks released by workers give the sequential result (seed 31)");
}

static int order[100];
static atomic_int order_count;
static void order_func(void *buffers[] UNUSED, void *arg)
{
    order[atomic_fetch_add(&order_count, 1)] = (int)(intptr_t)arg;
}
static struct starpu_codelet order_cl = { .cpu_funcs = { order_func }, .name = "order" };

static void policy_decides(void)
{
    struct gate gate = { 0 };
    int wrong = 0, failed = 0;
    take_newest = 1;
    start(&central_policy, 1);
    atomic_store(&order_count, 0);
    gate_close(&gate, -1);
    for (int i = 0; i < 100; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &order_cl;
        task->cl_arg = (void *)(intptr_t)i;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
    take_newest = 0;
    for (int i = 0; i < 100; i++) wrong += order[i] != 99 - i;
    ok(all_of(!failed, wrong == 0), "the policy alone decides the order: the newest first");
}

static void with_central_list(void)
{
    start(&central_policy, 2);
    int workers = (int)starpu_worker_get_count();
    ok(all_of(inits == 1, add_before_init == 0), "init_sched is called once, before add_workers");
    is_int(added, workers, "add_workers is called for all workers");
    through_the_policy();
    past_the_policy();
    pushed_when_ready();
    asked_to_schedule();
    wake_style = WAKE_NO_RELAX;
    workers_are_woken("starpu_wake_worker_no_relax");
    wake_style = WAKE_RELAX_LIGHT;
    workers_are_woken("starpu_wake_worker_relax_light");
    is_int(pops_off_worker, 0, "pop_task is called by workers");
    starpu_shutdown();
    ok(all_of(deinits == 1, removed == workers),
       "at shutdown remove_workers is called for all workers, and deinit_sched once");
    is_int(wrong_context, 0, "every method got the context that init_sched got");
}

static atomic_uint next_worker;
static int worker_pushed_to[1000], worker_that_ran[1000];

static void local_func(void *buffers[] UNUSED, void *arg)
{
    worker_that_ran[(intptr_t)arg] = starpu_worker_get_id();
    order_func(NULL, (void *)((intptr_t)arg % 100));
}
static struct starpu_codelet local_cl = { .cpu_funcs = { local_func }, .name = "local" };

static int push_local(struct starpu_task *task)
{
    unsigned worker = atomic_fetch_add(&next_worker, 1) % starpu_worker_get_count();
    if (task->cl == &local_cl) worker_pushed_to[(intptr_t)task->cl_arg] = (int)worker;
    return starpu_push_local_task((int)worker, task, 0);
}

static void nothing(unsigned context UNUSED)
{
}
static void nothing_workers(unsigned context UNUSED, int *workers UNUSED, unsigned count UNUSED)
{
}

static int least_priority, most_priority;
static void init_priorities(unsigned context UNUSED)
{
    starpu_sched_set_min_priority(-7);
    starpu_sched_set_max_priority(9);
    least_priority = starpu_sched_get_min_priority();
    most_priority = starpu_sched_get_max_priority();
}

static struct starpu_sched_policy local_policy = {
    .init_sched = init_priorities,
    .deinit_sched = nothing,
    .add_workers = nothing_workers,
    .remove_workers = nothing_workers,
    .push_task = push_local,
    .pop_task = NULL,
    .policy_name = "local",
    .policy_description = "each worker in turn",
    .worker_type = STARPU_WORKER_LIST,
};

static void with_local_queues(void)
{
    int failed = 0, wrong = 0;
    start(&local_policy, 2);
    ok(all_of(least_priority == -7, most_priority == 9, starpu_sched_get_max_priority() == 9),
       "a policy sets the range of priorities");
    atomic_store(&order_count, 0);
    for (int i = 0; i < 100; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &local_cl;
        task->cl_arg = (void *)(intptr_t)i;
        failed |= starpu_task_submit(task);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < 100; i++) wrong += worker_that_ran[i] != worker_pushed_to[i];
    ok(all_of(!failed, order_count == 100, wrong == 0),
       "without pop_task each worker executes what was pushed to its own queue");
    is_int(stream_run(&stream_cl, 37, 2000), 0,
           "2000 random tasks in local queues give the sequential result (seed 37)");
    workers_are_woken("starpu_push_local_task");
    starpu_shutdown();
}

int main(void)
{
    alarm(60);
    with_central_list();
    policy_decides();
    with_local_queues();
    return done_testing();
}
