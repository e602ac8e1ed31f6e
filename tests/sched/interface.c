/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a policy of the program may call, and what becomes of it: pop_every_task, order in a worker's own
 * queue, waking and its answers, who can execute what, workers that leave a context with tasks of theirs in
 * the policy, tasks that will be ready soon, priorities set by init_sched. Threads: main submits; workers
 * execute. Owns: the policies' lists. Not here: the order of the methods (user_policy.c), data
 * (interface_data.c), mistakes (interface_mistakes.c).
 */
#include <math.h>
#include "tests/helper.h"

static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER; /* protects lists */
static struct starpu_task_list lists[STARPU_NMAXWORKERS];
static atomic_int pops, pops_of[STARPU_NMAXWORKERS];

static void lock(void)
{
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    starpu_worker_relax_off();
}
static void unlock(void)
{
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
}

static void start(struct starpu_sched_policy *policy, int cpus)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = policy;
    conf.precedence_over_environment_variables = 1;
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) starpu_task_list_init(&lists[i]);
    if (starpu_init(&conf) != 0) skip_all("the runtime cannot be started");
}

static atomic_int ran;
enum { NOTED = 256 };
static int order[NOTED], by_worker[NOTED]; /* of the first ones */
static void note_func(void *buffers[] UNUSED, void *arg)
{
    int place = atomic_fetch_add(&ran, 1);
    if (place < NOTED) order[place] = (int)(intptr_t)arg;
    by_worker[(intptr_t)arg] = starpu_worker_get_id();
}
static struct starpu_codelet note_cl = { .cpu_funcs = { note_func }, .name = "note" };

static int submit_notes(int n)
{
    int failed = 0;
    atomic_store(&ran, 0);
    for (int i = 0; i < n; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &note_cl;
        task->cl_arg = (void *)(intptr_t)i;
        failed |= starpu_task_submit(task);
    }
    return failed;
}

/* ---- pop_every_task ---- */

static int push_first(struct starpu_task *task)
{
    lock();
    starpu_task_list_push_back(&lists[0], task);
    starpu_push_task_end(task);
    unlock();
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) starpu_wake_worker_relax((int)w);
    return 0;
}

static struct starpu_task *pop_every_task(unsigned context UNUSED)
{
    lock();
    struct starpu_task *all = starpu_task_list_empty(&lists[0]) ? NULL : starpu_task_list_front(&lists[0]);
    starpu_task_list_init(&lists[0]);
    unlock();
    if (all) atomic_fetch_add(&pops, 1);
    return all;
}

static struct starpu_sched_policy every_policy = { .push_task = push_first,
                                                   .pop_every_task = pop_every_task,
                                                   .policy_name = "every" };

static void pops_every(void)
{
    struct gate gate = { 0 };
    int swaps = 0;
    start(&every_policy, 1);
    gate_close(&gate, -1);
    atomic_store(&pops, 0);
    int failed = submit_notes(100);
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 0; i < 100; i++) swaps += order[i] != i;
    ok(all_of(!failed, ran == 100, pops == 1), "pop_every_task gives a worker all tasks at once (%d calls)",
       pops);
    is_int(swaps, 0, "and they run in the order of the chain");
    starpu_shutdown();
}

/* ---- a worker's own queue ---- */

static atomic_int at_back;
static int push_own(struct starpu_task *task)
{
    return starpu_push_local_task(0, task, at_back);
}
static struct starpu_sched_policy own_policy = { .push_task = push_own, .policy_name = "own" };

static void local_order(void)
{
    for (int back = 0; back < 2; back++) {
        struct gate gate = { 0 };
        int wrong = 0;
        atomic_store(&at_back, 0);
        start(&own_policy, 2);
        gate_close(&gate, 0);
        atomic_store(&at_back, back);
        int failed = submit_notes(50);
        gate_open(&gate);
        starpu_task_wait_for_all();
        for (int i = 0; i < 50; i++) wrong += order[i] != (back ? 49 - i : i) || by_worker[i] != 0;
        ok(all_of(!failed, wrong == 0), "starpu_push_local_task with back %d: %s, on that worker", back,
           back ? "the newest first" : "in order");
        starpu_shutdown();
    }
}

/* ---- waking ---- */

static int push_quietly(struct starpu_task *task)
{
    lock();
    starpu_task_list_push_back(&lists[0], task);
    starpu_push_task_end(task);
    unlock();
    return 0;
}
static struct starpu_task *pop_first(unsigned context UNUSED)
{
    lock();
    struct starpu_task *task =
        starpu_task_list_empty(&lists[0]) ? NULL : starpu_task_list_pop_front(&lists[0]);
    unlock();
    atomic_fetch_add(&pops_of[starpu_worker_get_id()], 1);
    return task;
}
static struct starpu_sched_policy quiet_policy = { .push_task = push_quietly,
                                                   .pop_task = pop_first,
                                                   .policy_name = "quiet" };

static void wait_asleep(int worker)
{
    for (int before = -1, same = 0; same < 20; usleep(10000)) {
        int now = atomic_load(&pops_of[worker]);
        same = now == before ? same + 1 : 0;
        before = now;
    }
}

static int wake_locked(int worker)
{
    starpu_pthread_mutex_t *m;
    starpu_pthread_cond_t *c;
    starpu_worker_get_sched_condition(worker, &m, &c);
    STARPU_PTHREAD_MUTEX_LOCK(m);
    int slept = starpu_wake_worker_locked(worker);
    STARPU_PTHREAD_MUTEX_UNLOCK(m);
    return slept;
}

static int signal_cond(int worker)
{
    starpu_pthread_mutex_t *m;
    starpu_pthread_cond_t *c;
    starpu_worker_get_sched_condition(worker, &m, &c);
    STARPU_PTHREAD_MUTEX_LOCK(m);
    STARPU_PTHREAD_COND_SIGNAL(c);
    STARPU_PTHREAD_MUTEX_UNLOCK(m);
    return 1;
}

static void waking(void)
{
    static const struct {
        const char *name;
        int (*wake)(int worker);
    } ways[] = {
        { "starpu_wake_worker_no_relax", starpu_wake_worker_no_relax },
        { "starpu_wake_worker_relax", starpu_wake_worker_relax },
        { "starpu_wake_worker_relax_light", starpu_wake_worker_relax_light },
        { "starpu_wake_worker_locked", wake_locked },
        { "the condition variable itself", signal_cond },
#if STARPU_AT_LEAST(1, 4)
        { "starpu_wake_worker", starpu_wake_worker },
#endif
    };
    start(&quiet_policy, 1);
    for (unsigned i = 0; i < LENGTH(ways); i++) {
        wait_asleep(0);
        int failed = submit_notes(1), before = pops_of[0];
        usleep(20000);
        int slept_on = atomic_load(&ran) == 0 && pops_of[0] == before;
        int answer = ways[i].wake(0), came = comes_to(&ran, 1, 5000);
        if (!came) starpu_wake_worker_relax(0);
        starpu_task_wait_for_all();
        ok(all_of(!failed, slept_on, came, answer), "a worker sleeps until %s, which says that it slept",
           ways[i].name);
    }
    struct gate gate = { 0 };
    gate_submit(&gate, 0);
    gate_wait_entered(&gate, 1);
    ok(starpu_wake_worker_relax(0) == 0, "waking a worker that is awake says so");
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
}

/* ---- who can execute what ---- */

static int second_only(unsigned worker UNUSED, struct starpu_task *task UNUSED, unsigned implementation)
{
    return implementation == 1;
}
static void other_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet two_cl = { .cpu_funcs = { note_func, other_func }, .name = "two" };
static struct starpu_codelet second_cl = { .cpu_funcs = { note_func, other_func },
                                           .can_execute = second_only,
                                           .name = "second" };
static struct starpu_codelet cuda_cl = { .where = STARPU_CUDA, .cuda_funcs = { other_func }, .name = "cuda" };

static struct starpu_task *task_of(struct starpu_codelet *cl)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    return task;
}

static void capabilities(void)
{
    unsigned mask = 77, first = 77;
    runtime_start(2, NULL);
    struct starpu_task *two = task_of(&two_cl), *second = task_of(&second_cl), *cuda = task_of(&cuda_cl);
    ok(all_of(starpu_worker_can_execute_task_impl(0, two, &mask), mask == 3),
       "a mask says which implementations there are");
    ok(all_of(starpu_worker_can_execute_task_impl(0, second, &mask), mask == 2),
       "those that can_execute refuses left out");
    ok(all_of(starpu_worker_can_execute_task_first_impl(1, second, &first), first == 1),
       "the first that can be used is found");
    ok(all_of(!starpu_worker_can_execute_task(0, second, 0), starpu_worker_can_execute_task(0, second, 1),
              !starpu_worker_can_execute_task(0, two, 2)),
       "and each can be asked for");
    mask = 77;
    ok(all_of(!starpu_worker_can_execute_task_impl(0, cuda, &mask), mask == 0,
              !starpu_worker_can_execute_task_impl(0, cuda, NULL),
              !starpu_worker_can_execute_task_first_impl(0, cuda, NULL)),
       "a worker of another kind can use none");
    uint32_t only_one = 2;
    two->workerids = &only_one;
    two->workerids_len = 1;
    ok(all_of(!starpu_worker_can_execute_task(0, two, 0), starpu_worker_can_execute_task(1, two, 0)),
       "workerids leaves the other workers out");
    ok(!starpu_worker_can_execute_task(999, two, 0), "a worker that is not there can execute nothing");
    starpu_task_destroy(two);
    starpu_task_destroy(second);
    starpu_task_destroy(cuda);
    starpu_shutdown();
}

/* ---- workers that leave ---- */

static atomic_int shares;
static void add_workers(unsigned context, int *workers, unsigned count)
{
    for (unsigned i = 0; shares && i < count; i++)
        starpu_sched_ctx_worker_shares_tasks_lists(workers[i], (int)context);
}

/* A list for each worker, or one for all. */
static atomic_int push_to;
static int push_listed(struct starpu_task *task)
{
    lock();
    starpu_task_list_push_back(&lists[shares ? 0 : push_to], task);
    starpu_push_task_end(task);
    unlock();
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) starpu_wake_worker_relax((int)w);
    return 0;
}
static struct starpu_task *pop_listed(unsigned context UNUSED)
{
    struct starpu_task_list *list = &lists[shares ? 0 : starpu_worker_get_id()];
    lock();
    struct starpu_task *task = starpu_task_list_empty(list) ? NULL : starpu_task_list_pop_front(list);
    unlock();
    return task;
}
static struct starpu_sched_policy listed_policy = {
    .add_workers = add_workers, .push_task = push_listed, .pop_task = pop_listed, .policy_name = "listed"
};

static void leaving(void)
{
    for (int share = 0; share < 2; share++) {
        struct gate gate = { 0 };
        int workers[2] = { 0, 1 }, one = 1, on_one = 0;
        atomic_store(&shares, share);
        atomic_store(&push_to, 0);
        runtime_start(2, NULL);
        require_workers(2);
        unsigned context =
            starpu_sched_ctx_create(workers, 2, "leaving", STARPU_SCHED_CTX_POLICY_STRUCT, &listed_policy, 0);
        starpu_sched_ctx_set_context(&context);
        gate_submit(&gate, 0);
        gate_submit(&gate, 1);
        gate_wait_entered(&gate, 2);
        atomic_store(&push_to, 1);
        int failed = submit_notes(40); /* to the list of worker 1, which is busy */
        atomic_store(&push_to, 0);
        gate_open(&gate);
        starpu_sched_ctx_remove_workers(&one, 1, context);
        failed |= !comes_to(&ran, 40, 20000);
        starpu_task_wait_for_all();
        for (int i = 0; i < 40; i++) on_one += by_worker[i] == 1;
        ok(all_of(!failed, ran == 40), "a worker leaves a context %s: no task is lost (%d ran there before)",
           share ? "whose list is shared" : "with tasks in its own list", on_one);
        context = 0;
        starpu_sched_ctx_set_context(&context);
        starpu_shutdown();
    }
}

/* ---- soon ready ---- */

static double long_cost(struct starpu_task *task UNUSED, unsigned implementation UNUSED)
{
    return 12345;
}
static struct starpu_perfmodel cost_model = { .type = STARPU_COMMON,
                                              .cost_function = long_cost,
                                              .symbol = "orrery_test_soon" };
static struct starpu_codelet writer_cl = {
    .cpu_funcs = { note_func }, .nbuffers = 1, .modes = { STARPU_RW }, .model = &cost_model, .name = "writer"
};
static struct starpu_codelet both_cl = { .cpu_funcs = { note_func },
                                         .nbuffers = 2,
                                         .modes = { STARPU_R, STARPU_R },
                                         .model = &cost_model,
                                         .name = "both" };
static struct starpu_codelet unknown_cl = { .cpu_funcs = { note_func },
                                            .nbuffers = 1,
                                            .modes = { STARPU_RW } };

static struct {
    long id;
    double delay;
    int after; /* how many tasks had started */
} told[64];
static atomic_int told_count;

static void soon(void *data, struct starpu_task *task, double delay)
{
    int i = atomic_fetch_add(&told_count, 1);
    if (i >= (int)LENGTH(told) || data != told) return;
    told[i].id = (long)(intptr_t)task->cl_arg;
    told[i].delay = delay;
    told[i].after = atomic_load(&ran);
}

static void submit_on(struct starpu_codelet *cl, starpu_data_handle_t h, starpu_data_handle_t other, long id)
{
    struct starpu_task *task = task_of(cl);
    task->handles[0] = h;
    if (other) task->handles[1] = other;
    task->cl_arg = (void *)id;
    if (starpu_task_submit(task) != 0) printf("Bail out! a task was refused\n");
}

static void ready_soon(void)
{
    int a = 0, b = 0;
    struct gate gate = { 0 };
    starpu_data_handle_t ha, hb;
    runtime_start(1, NULL);
    starpu_task_notify_ready_soon_register(soon, told);
    starpu_variable_data_register(&ha, STARPU_MAIN_RAM, (uintptr_t)&a, sizeof a);
    starpu_variable_data_register(&hb, STARPU_MAIN_RAM, (uintptr_t)&b, sizeof b);
    gate_close(&gate, 0);
    atomic_store(&ran, 0);
    submit_on(&writer_cl, ha, NULL, 1); /* starts first: 2 will be ready when it ends */
    submit_on(&writer_cl, ha, NULL, 2); /* 3 will not, for it waits for 5 too */
    submit_on(&writer_cl, hb, NULL, 5);
    submit_on(&both_cl, ha, hb, 3);      /* told of when the later of 2 and 5 starts */
    submit_on(&unknown_cl, ha, NULL, 4); /* told of when 3 starts */
    struct starpu_task *tail = task_of(&writer_cl), *last = task_of(&note_cl), *empty = starpu_task_create();
    tail->handles[0] = hb;
    tail->cl_arg = (void *)6L;
    last->cl_arg = (void *)7L;
    starpu_task_declare_deps_array(empty, 1, &tail); /* 7 waits for 6, through a task without a codelet */
    starpu_task_declare_deps_array(last, 1, &empty);
    int failed = starpu_task_submit(empty) | starpu_task_submit(last) | starpu_task_submit(tail);
    gate_open(&gate);
    starpu_task_wait_for_all();
    int seen[8] = { 0 }, wrong = 0;
    for (int i = 0; i < told_count && i < (int)LENGTH(told); i++) {
        wrong += told[i].delay != 12345;
        if (told[i].id > 0 && told[i].id < 8) seen[told[i].id]++;
    }
    ok(all_of(!failed, seen[2] == 1, seen[3] == 1, seen[4] == 1),
       "a task is told of once, when the last task that it waits for starts");
    ok(seen[6] == 1, "and so is one that waits for a task that reads");
    is_int(seen[7], 1, "explicit dependencies count, and tasks without a codelet are passed through");
    is_int(seen[1] + seen[5], 0, "tasks that wait for nothing are not told of");
    is_int(wrong, 0, "with the time that the task should take");
    enum { MANY = 5000 };
    int told_before = told_count;
    gate_close(&gate, 0);
    submit_on(&writer_cl, ha, NULL, 1);
    for (int i = 0; i < MANY; i++) {
        struct starpu_task *task = task_of(&both_cl);
        task->handles[0] = task->handles[1] = ha;
        failed |= starpu_task_submit(task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    is_int(told_count - told_before, MANY, "thousands of tasks that wait for one are all told of");
    starpu_task_notify_ready_soon_register(NULL, NULL);
    int before = told_count;
    submit_on(&writer_cl, ha, NULL, 1);
    submit_on(&writer_cl, ha, NULL, 2);
    starpu_data_unregister(ha);
    starpu_data_unregister(hb);
    ok(told_count == before, "nobody is told after it was registered away");
    starpu_shutdown();
}

/* ---- priorities ---- */

static int least[2], most[2];
static void init_priorities(unsigned context)
{
    int i = context != 0;
    starpu_sched_set_min_priority(-3 - i);
    starpu_sched_set_max_priority(4 + i);
    least[i] = starpu_sched_ctx_get_min_priority(context);
    most[i] = starpu_sched_ctx_get_max_priority(context);
}
static struct starpu_sched_policy priority_policy = { .init_sched = init_priorities,
                                                      .push_task = push_own,
                                                      .policy_name = "priorities" };

static void priorities(void)
{
    int worker = 1;
    atomic_store(&at_back, 0);
    start(&priority_policy, 2);
    ok(all_of(least[0] == -3, most[0] == 4, starpu_sched_get_min_priority() == -3,
              starpu_sched_get_max_priority() == 4),
       "init_sched sets the range of priorities");
    starpu_sched_ctx_create(&worker, 1, "other", STARPU_SCHED_CTX_POLICY_STRUCT, &priority_policy, 0);
    ok(all_of(least[1] == -4, most[1] == 5, starpu_sched_get_max_priority() == 4),
       "in the init_sched of a context they are that context's");
    starpu_shutdown();
}

int main(void)
{
    alarm(120);
    pops_every();
    local_order();
    waking();
    capabilities();
    leaving();
    ready_soon();
    priorities();
    return done_testing();
}
