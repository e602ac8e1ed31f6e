/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same cases over every policy and tree that the library lists, with CPU workers and a simulated device:
 * each task once, the sequential result, bound tasks, their order, sets of workers, no starvation, workers
 * that come and go under load, a shutdown under load, and the orders that a policy promises. A new policy is
 * tested by its line in the list. Threads: main and three more submit; each policy runs in a child process.
 * Owns: counters of each case. Not here: cases for few policies (policies.c, dm_devices.c, components.c).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include "tests/core/sim_helper.h"
#include "tests/stream.h"

enum { CPUS = 2, TASKS = 400, SECONDS = 40 };

/* Names of policies with a promise; of trees without "tree" or "modular". */
static const char *const by_priority[] = { "prio",       "lws",        "dmdap", "dmdas",
                                           "dmdasd",     "heteroprio", "-prio", "-random-prio",
                                           "-heft-prio", "-dmdap",     "-dmdas" };
static const char *const first_come[] = { "eager", "prio", "heteroprio", "dm", "dmda", "-eager", "-prio" };

static const char *policy; /* under test */
static int results = -1;   /* the child tells its facts here */

static bool promised(const char *const *names, size_t count)
{
    const char *tree = strchr(policy, '-');
    for (size_t i = 0; i < count; i++)
        if (strcmp(tree ? tree : policy, names[i]) == 0) return true;
    return false;
}

/* ---- facts go to the parent, a line each ---- */

__attribute__((format(printf, 2, 3))) static void fact(bool holds, const char *fmt, ...)
{
    char line[256];
    va_list ap;
    int n = snprintf(line, sizeof line, "%d", holds);
    va_start(ap, fmt);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
    line[n++] = '\n';
    if (write(results, line, (size_t)n) != n) _exit(3);
}

static void start(int cpus, const char *devices)
{
    struct starpu_conf conf;
    sim_setting("ORRERY_SIM_DEVICES", devices);
    /* no_starvation has more tasks than workers take at a time, brief as they are: else graph_test finds that
     * none waits */
    setenv("STARPU_CUDA_PIPELINE", "2", 0);
    setenv("STARPU_OPENCL_PIPELINE", "2", 0);
    sim_stand_ins();
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.sched_policy_name = policy;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) _exit(4);
}

/* ---- each task once ---- */

static atomic_int times[TASKS * 4], failures, misplaced;

static void once_func(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&times[(intptr_t)arg], 1);
}
static double some_cost(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 50;
}
static struct starpu_perfmodel some_model = { .type = STARPU_COMMON, .cost_function = some_cost };
static struct starpu_codelet once_cl = { .cpu_funcs = { once_func }, .name = "once" };
static struct starpu_codelet modelled_cl = { .cpu_funcs = { once_func },
                                             .model = &some_model,
                                             .name = "modelled" };

static int not_once(int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += atomic_exchange(&times[i], 0) != 1;
    return wrong;
}

static void submit(int i, struct starpu_task *task)
{
    task->cl_arg = (void *)(intptr_t)i;
    if (starpu_task_submit(task) != 0) atomic_fetch_add(&failures, 1);
}

static struct starpu_task *make(int i)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = i % 2 ? &once_cl : &modelled_cl;
    task->priority = i % 3 - 1;
    return task;
}

static void *submit_some(void *arg)
{
    int first = (int)(intptr_t)arg * TASKS;
    for (int i = first; i < first + TASKS; i++) submit(i, make(i));
    return NULL;
}

static void each_once(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, submit_some, (void *)(intptr_t)(i + 1));
    submit_some(NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    starpu_task_wait_for_all();
    fact(not_once(4 * TASKS) == 0 && failures == 0, "each of %d tasks from four threads runs once",
         4 * TASKS);
}

static struct starpu_codelet stream_cl = { .cpu_funcs = { stream_func },
                                           .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                           .name = "stream" };

static void idle_then_one(void)
{
    int wrong = 0;
    for (int i = 0; i < 10; i++) {
        usleep(500);
        submit(i, make(i));
        starpu_task_wait_for_all();
        wrong += atomic_load(&times[i]) != 1;
    }
    fact(wrong == 0 && not_once(10) == 0, "idle workers wake up for each task");
}

/* ---- places ---- */

static void place_func(void *buffers[] UNUSED, void *arg)
{
    int worker = (int)(intptr_t)arg % STARPU_NMAXWORKERS;
    atomic_fetch_add(&misplaced, starpu_worker_get_id() != worker);
    atomic_fetch_add(&times[(intptr_t)arg / STARPU_NMAXWORKERS], 1);
}
static struct starpu_codelet place_cl = { .cpu_funcs = { place_func },
                                          .model = &some_model,
                                          .name = "place" };

static void placed(void)
{
    int workers = (int)starpu_worker_get_count(), n = 20 * workers;
    static uint32_t only[STARPU_NMAXWORKERS][1];
    for (int w = 0; w < workers && w < 32; w++) only[w][0] = UINT32_C(1) << w;
    for (int i = 0; i < n; i++) {
        struct starpu_task *task = starpu_task_create();
        int worker = i % workers;
        task->cl = &place_cl;
        if (i / workers % 2) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = (unsigned)worker;
        } else {
            task->workerids = only[worker];
            task->workerids_len = 1;
        }
        submit(i * STARPU_NMAXWORKERS + worker, task);
    }
    starpu_task_wait_for_all();
    fact(not_once(n) == 0 && misplaced == 0 && failures == 0,
         "tasks bound to a worker, or to a set of one, run there, on each of %d workers", workers);
}

static atomic_int turn[STARPU_NMAXWORKERS], out_of_turn;
static void turn_func(void *buffers[] UNUSED, void *arg)
{
    int worker = starpu_worker_get_id();
    atomic_fetch_add(&out_of_turn, atomic_fetch_add(&turn[worker], 1) + 1 != (int)(intptr_t)arg);
}
static struct starpu_codelet turn_cl = { .cpu_funcs = { turn_func }, .name = "turn" };

static void ordered(void)
{
    enum { EACH = 20 };
    int workers = (int)starpu_worker_get_count();
    for (int i = EACH; i > 0; i--) /* the last first */
        for (int w = 0; w < workers; w++) {
            struct starpu_task *task = starpu_task_create();
            task->cl = &turn_cl;
            task->execute_on_a_specific_worker = 1;
            task->workerid = (unsigned)w;
            task->workerorder = (unsigned)i;
            submit(i, task);
        }
    starpu_task_wait_for_all();
    int wrong = 0;
    for (int w = 0; w < workers; w++) wrong += turn[w] != EACH;
    fact(wrong == 0 && out_of_turn == 0 && failures == 0,
         "workerorder is kept whatever the order of submission");
}

/* ---- everybody works, nobody starves ---- */

static atomic_uint worked;
static void nap_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_or(&worked, 1u << starpu_worker_get_id());
    usleep(1000);
}
static struct starpu_codelet nap_cl = { .cpu_funcs = { nap_func }, .name = "nap" };

static void shared_out(void)
{
    unsigned all = (1u << starpu_worker_get_count()) - 1;
    for (int round = 0; round < 20 && atomic_load(&worked) != all; round++) {
        for (int i = 0; i < 40; i++) {
            struct starpu_task *task = starpu_task_create();
            task->cl = &nap_cl;
            submit(0, task);
        }
        starpu_task_wait_for_all();
    }
    fact(worked == all && failures == 0, "every worker, the device among them, gets work (%x of %x)", worked,
         all);
}

static atomic_int go_on, marker_ran;
static atomic_long busy_ran;
static void again(void *arg);
static void busy_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&busy_ran, 1);
}
static void marker_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_store(&marker_ran, 1);
}
static struct starpu_codelet busy_cl = { .cpu_funcs = { busy_func }, .name = "busy" };
static struct starpu_codelet marker_cl = { .cpu_funcs = { marker_func }, .name = "marker" };

static void submit_busy(void)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &busy_cl;
    task->callback_func = again;
    if (starpu_task_submit(task) != 0) atomic_fetch_add(&failures, 1);
}
static void again(void *arg UNUSED)
{
    if (atomic_load(&go_on)) submit_busy();
}

/* Tasks that submit themselves again keep all workers busy; another of the same priority must get its turn.
 */
static void no_starvation(void)
{
    atomic_store(&go_on, 1);
    for (int i = 0; i < 8; i++) submit_busy();
    starpu_do_schedule(); /* this thread waits outside of the runtime: graph_test is to know */
    while (atomic_load(&busy_ran) < 1000) sched_yield();
    for (int i = 0; i < 3; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &marker_cl;
        atomic_store(&marker_ran, 0);
        submit(0, task);
        if (!comes_to(&marker_ran, 1, 10000)) break;
    }
    atomic_store(&go_on, 0);
    bool came = marker_ran != 0;
    starpu_task_wait_for_all();
    fact(came && failures == 0, "no task starves while others are submitted again and again");
}

/* ---- workers come and go, and the end ---- */

static void *move_workers(void *arg)
{
    unsigned context = (unsigned)(intptr_t)arg;
    for (int i = 0; i < 6; i++) {
        int worker = 1 + i / 2 % 2;
        if (i % 2 == 0)
            starpu_sched_ctx_remove_workers(&worker, 1, context);
        else
            starpu_sched_ctx_add_workers(&worker, 1, context);
        usleep(500);
    }
    return NULL;
}

static void come_and_go(void)
{
    int workers[] = { 0, 1, 2 };
    pthread_t mover;
    unsigned context = starpu_sched_ctx_create(workers, 3, "moving", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
    if (context >= STARPU_NMAX_SCHED_CTXS) {
        fact(false, "a context can be made with it");
        return;
    }
    pthread_create(&mover, NULL, move_workers, (void *)(intptr_t)context);
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *task = make(i);
        task->sched_ctx = context;
        submit(i, task);
        if (i % 50 == 0) usleep(300);
    }
    pthread_join(mover, NULL);
    starpu_task_wait_for_all();
    fact(not_once(TASKS) == 0 && failures == 0,
         "workers leave and join a context under load: each task runs once");
    starpu_sched_ctx_delete(context);
}

static void shut_down(void)
{
    for (int i = 0; i < TASKS; i++) submit(i, make(i));
    starpu_shutdown();
    fact(not_once(TASKS) == 0 && failures == 0, "a shutdown under load waits for all tasks");
}

/* ---- promised orders ---- */

static int order[TASKS], order_priority[TASKS];
static atomic_int order_count;
static void order_func(void *buffers[] UNUSED, void *arg)
{
    int place = atomic_fetch_add(&order_count, 1);
    order[place] = (int)(intptr_t)arg;
    order_priority[place] = starpu_task_get_current()->priority;
}
static struct starpu_codelet order_cl = { .cpu_funcs = { order_func },
                                          .model = &some_model,
                                          .name = "order" };

static void orders(void)
{
    enum { N = 100 };
    struct gate gate = { 0 };
    uint64_t seed = 7;
    int least = starpu_sched_get_min_priority(), most = starpu_sched_get_max_priority(), rises = 0, swaps = 0;
    bool sorted = promised(by_priority, LENGTH(by_priority)), fifo = promised(first_come, LENGTH(first_come));
    least = least < -3 ? -3 : least;
    most = most > 3 ? 3 : most;
    gate_close(&gate, -1);
    for (int i = 0; i < N; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &order_cl;
        task->priority = sorted ? least + (int)random_below(&seed, (unsigned)(most - least + 1)) : 0;
        submit(i, task);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    for (int i = 1; i < N; i++) {
        rises += order_priority[i] > order_priority[i - 1];
        swaps += order_priority[i] == order_priority[i - 1] && order[i] < order[i - 1];
    }
    if (sorted) fact(most > least && rises == 0, "ready tasks run by falling priority (%d rises)", rises);
    if (fifo) fact(swaps == 0, "tasks of one priority run in the order of submission (%d swaps)", swaps);
    fact(order_count == N && failures == 0, "one worker alone runs them all");
}

/* ---- one policy ---- */

/* Trees have two names: under the second one only few cases run. */
static void run_cases(bool all)
{
    alarm(SECONDS);
    start(CPUS, "1");
    each_once();
    placed();
    if (all) {
        fact(stream_run(&stream_cl, 11, 300) == 0, "300 random tasks give the sequential result (seed 11)");
        idle_then_one();
        ordered();
        shared_out();
        no_starvation();
        come_and_go();
    }
    shut_down();
    if (!all) return;
    start(1, NULL);
    orders();
    starpu_shutdown();
}

static void report(FILE *facts)
{
    char line[512];
    while (fgets(line, sizeof line, facts)) {
        line[strcspn(line, "\n")] = 0;
        ok(line[0] == '1', "%s: %s", policy, line + 1);
    }
}

static void try_policy(const char *name, bool all)
{
    int ends[2], status = -1;
    policy = name;
    if (pipe(ends) != 0) return;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        results = ends[1];
        run_cases(all);
        _exit(0);
    }
    close(ends[1]);
    FILE *facts = fdopen(ends[0], "r");
    report(facts);
    fclose(facts);
    waitpid(child, &status, 0);
    ok(all_of(WIFEXITED(status), WEXITSTATUS(status) == 0), "%s: comes to its end (%s %d)", name,
       WIFSIGNALED(status) ? "signal" : "status",
       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    unsetenv("STARPU_SCHED");
    sim_setting("ORRERY_SIM_LATENCY_US", "1");
    for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p; p++) {
        const char *name = (*p)->policy_name;
        if (argc < 2 || strcmp(argv[1], name) == 0)
            try_policy(name, argc > 1 || strncmp(name, "modular-", 8) != 0);
    }
    return done_testing();
}
