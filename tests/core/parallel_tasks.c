/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel tasks: combined workers in the shape of the machine, SPMD and fork-join bodies, tasks that overlap
 * in the workers they need, under pauses and changes of contexts; and misuse. Threads: main submits, one more
 * pauses and resumes; up to eight workers execute, on whatever cores there are. Owns: what the bodies noted.
 * Not here: which combined worker a policy chooses (tests/sched/pheft.c, peager.c).
 */
#include <limits.h>
#include <pthread.h>
#include "tests/helper.h"

enum { WORKERS = 8 };

static void start(const char *policy, int cpus)
{
    runtime_start(cpus, policy);
    require_workers((unsigned)cpus);
}

static int size_of(int id)
{
    int size = -1, *members = NULL;
    return starpu_combined_worker_get_description(id, &size, &members) == 0 ? size : -1;
}

/* The first combined worker of that size, -1: none. */
static int one_of_size(int size)
{
    int first = (int)starpu_worker_get_count(), count = (int)starpu_combined_worker_get_count();
    for (int id = first; id < first + count; id++)
        if (size_of(id) == size) return id;
    return -1;
}

/* ---- the hierarchy ---- */

static int count_of_size(int size)
{
    int first = (int)starpu_worker_get_count(), count = (int)starpu_combined_worker_get_count(), n = 0;
    for (int id = first; id < first + count; id++) n += size_of(id) == size;
    return n;
}

static void hierarchy(void)
{
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0 0 0 0 0", 1); /* all on one core: a flat machine everywhere */
    start("peager", WORKERS);
    is_int(count_of_size(8), 1, "8 workers of a flat machine: one combined worker of all");
    is_int(count_of_size(4), 2, "and two of 4");
    is_int(count_of_size(2), 4, "and four of 2");
    is_int((int)starpu_combined_worker_get_count(), 7, "and no others");
    int id = one_of_size(8), *members, size, rising = 1;
    is_int(starpu_combined_worker_get_description(id, &size, &members), 0, "it can be described");
    for (int i = 0; i < size; i++) rising &= members[i] == i;
    ok(rising, "its members are all workers");
    ok(all_of(starpu_worker_is_combined_worker(id), !starpu_worker_is_combined_worker(0),
              !starpu_worker_is_combined_worker(-1), !starpu_worker_is_combined_worker(10000)),
       "its number is that of a combined worker; others are not");
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(id, 0);
    ok(all_of(arch, arch->ndevices == 1, arch->devices[0].ncores == 8), "models know it as 8 cores");
    starpu_shutdown();
    setenv("STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER", "4", 1);
    setenv("STARPU_MAX_WORKERSIZE", "4", 1);
    start("peager", WORKERS);
    ok(all_of(count_of_size(2) == 4, starpu_combined_worker_get_count() == 4),
       "with arity 4 and at most 4 workers: four of 2 alone");
    starpu_shutdown();
    unsetenv("STARPU_MAX_WORKERSIZE");
    setenv("STARPU_MIN_WORKERSIZE", "3", 1);
    start("pheft", WORKERS);
    ok(all_of(count_of_size(8) == 1, starpu_combined_worker_get_count() == 1),
       "with at least 3: that of 8 alone");
    starpu_shutdown();
    unsetenv("STARPU_MIN_WORKERSIZE");
    unsetenv("STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER");
    setenv("STARPU_SINGLE_COMBINED_WORKER", "1", 1);
    start("pheft", 4);
    ok(all_of(starpu_combined_worker_get_count() == 3, count_of_size(2) == 1, count_of_size(3) == 1,
              count_of_size(4) == 1),
       "one task at a time: one combined worker of each size");
    starpu_shutdown();
    unsetenv("STARPU_SINGLE_COMBINED_WORKER");
    unsetenv("STARPU_WORKERS_CPUID");
    start("eager", 2);
    is_int((int)starpu_combined_worker_get_count(), 0, "a policy that uses none makes none");
    starpu_shutdown();
}

/* hwloc reads a description instead of the machine. Two packages of 3 cores each, in which 2 share a cache.
 */
static void described_machine(void)
{
    setenv("HWLOC_SYNTHETIC", "pack:2 l2:2 core:2 pu:1", 1);
    start("peager", WORKERS);
    is_int(count_of_size(8), 1, "two packages of four cores, two to a cache: one of all");
    is_int(count_of_size(4), 2, "one of each package");
    is_int(count_of_size(2), 4, "one of each cache");
    int id = one_of_size(4), *members, size;
    starpu_combined_worker_get_description(id, &size, &members);
    ok(all_of(size == 4, members[3] - members[0] == 3), "of neighbours");
    starpu_shutdown();
    setenv("HWLOC_SYNTHETIC", "pack:1 core:6 pu:1", 1);
    start("peager", 6);
    ok(all_of(count_of_size(6) == 1, count_of_size(3) == 2, count_of_size(2) == 2,
              starpu_combined_worker_get_count() == 5),
       "six cores, arity 2: of 6, two of 3, and of 2 in each of those");
    starpu_shutdown();
    setenv("STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER", "3", 1);
    start("peager", 6);
    ok(all_of(count_of_size(6) == 1, count_of_size(2) == 3, starpu_combined_worker_get_count() == 4),
       "arity 3: of 6, three of 2");
    starpu_shutdown();
    unsetenv("STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER");
    unsetenv("HWLOC_SYNTHETIC");
}

/* ---- bodies ---- */

static atomic_int bodies, callbacks, wrong, inside, ranks_seen;

static void spmd_func(void *buffers[], void *arg)
{
    int size = starpu_combined_worker_get_size(), rank = starpu_combined_worker_get_rank();
    int expected = (int)(intptr_t)arg;
    if (size != expected || rank < 0 || rank >= size) atomic_fetch_add(&wrong, 1);
    if (size > 1 && size_of(starpu_combined_worker_get_id()) != size) atomic_fetch_add(&wrong, 1);
    int *vector = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int n = (int)STARPU_VECTOR_GET_NX(buffers[0]);
    for (int i = rank; i < n; i += size) vector[i]++;
    atomic_fetch_add(&bodies, 1);
}

static void forkjoin_func(void *buffers[], void *arg)
{
    int size = starpu_combined_worker_get_size();
    if (size != (int)(intptr_t)arg || starpu_combined_worker_get_rank() != 0) atomic_fetch_add(&wrong, 1);
    int *vector = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) vector[i]++;
    atomic_fetch_add(&bodies, 1);
}

static void count_callback(void *arg UNUSED)
{
    atomic_fetch_add(&callbacks, 1);
}

static struct starpu_codelet spmd_cl = { .cpu_funcs = { spmd_func },
                                         .type = STARPU_SPMD,
                                         .max_parallelism = INT_MAX,
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW },
                                         .name = "spmd" };
static struct starpu_codelet forkjoin_cl = { .cpu_funcs = { forkjoin_func },
                                             .type = STARPU_FORKJOIN,
                                             .max_parallelism = INT_MAX,
                                             .nbuffers = 1,
                                             .modes = { STARPU_RW },
                                             .name = "forkjoin" };

static int submit_to(struct starpu_codelet *cl, int worker, starpu_data_handle_t handle, int size)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = handle;
    task->cl_arg = (void *)(intptr_t)size;
    task->callback_func = count_callback;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    int r = starpu_task_submit(task);
    if (r) starpu_task_destroy(task);
    return r;
}

static void reset(void)
{
    atomic_store(&bodies, 0);
    atomic_store(&callbacks, 0);
    atomic_store(&wrong, 0);
}

static void each_size(const char *policy)
{
    enum { N = 100, ROUNDS = 20 };
    int vector[N] = { 0 }, expected = 0, expected_bodies = 0, failed = 0;
    starpu_data_handle_t handle;
    start(policy, WORKERS);
    int all[WORKERS] = { 0, 1, 2, 3, 4, 5, 6, 7 },
        unit[4] = { starpu_combined_worker_assign_workerid(2, all),
                    starpu_combined_worker_assign_workerid(3, all + 1),
                    starpu_combined_worker_assign_workerid(8, all), 0 };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)vector, N, sizeof vector[0]);
    reset();
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < 4; k++) {
            int size = k < 3 ? size_of(unit[k]) : 1;
            failed |= submit_to(&spmd_cl, unit[k], handle, size);
            failed |= submit_to(&forkjoin_cl, unit[k], handle, size);
            expected += 2;
            expected_bodies += size + 1;
        }
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    int different = 0;
    for (int i = 0; i < N; i++) different += vector[i] != expected;
    ok(all_of(!failed, atomic_load(&wrong) == 0), "%s: sizes, ranks and numbers are right in every body",
       policy);
    is_int(atomic_load(&bodies), expected_bodies,
           "%s: SPMD bodies run once for each rank, fork-join ones once", policy);
    is_int(different, 0, "%s: together they did all of the work, once", policy);
    is_int(atomic_load(&callbacks), expected, "%s: each task ends once", policy);
    starpu_shutdown();
}

/* ---- an SPMD body in which all must be present ---- */

static void meet_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    int size = starpu_combined_worker_get_size();
    atomic_fetch_or(&ranks_seen, 1 << starpu_combined_worker_get_rank());
    atomic_fetch_add(&inside, 1);
    while (atomic_load(&inside) % size != 0) sched_yield();
}
static struct starpu_codelet meet_cl = { .cpu_funcs = { meet_func }, .type = STARPU_SPMD, .name = "meet" };

static int submit_meeting(int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &meet_cl;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    return starpu_task_submit(task);
}

static void together(void)
{
    start("lws", 4);
    int all[4] = { 3, 1, 0, 2 }, id = starpu_combined_worker_assign_workerid(4, all);
    atomic_store(&inside, 0);
    atomic_store(&ranks_seen, 0);
    is_int(submit_meeting(id), 0, "a task whose ranks wait for each other is accepted");
    starpu_task_wait_for_all();
    is_int(atomic_load(&ranks_seen), 15, "all four ranks were there at the same time");
    is_int(starpu_combined_worker_assign_workerid(4, all), id,
           "the same workers are the same combined worker");
    starpu_shutdown();
}

/* ---- overlapping units, from several threads, with single tasks between ---- */

static atomic_int small;
static void small_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&small, 1);
}
static struct starpu_codelet small_cl = { .cpu_funcs = { small_func }, .name = "small" };

static int units[12], unit_count;
static atomic_int parts, failures;
static void part_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&parts, 1);
    if (starpu_combined_worker_get_rank() == 0) sched_yield();
}
static struct starpu_codelet part_cl = {
    .cpu_funcs = { part_func }, .type = STARPU_SPMD, .max_parallelism = INT_MAX, .name = "part"
};
static struct starpu_codelet master_cl = {
    .cpu_funcs = { part_func }, .type = STARPU_FORKJOIN, .max_parallelism = INT_MAX, .name = "master"
};

enum { EACH = 300 };
static atomic_int expected_parts;

static void *submit_overlapping(void *arg)
{
    uint64_t seed = (uint64_t)(intptr_t)arg;
    for (int i = 0; i < EACH; i++) {
        int unit = units[random_below(&seed, (unsigned)unit_count)], spmd = (int)random_below(&seed, 2);
        struct starpu_task *task = starpu_task_create();
        task->cl = spmd ? &part_cl : &master_cl;
        task->callback_func = count_callback;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)unit;
        atomic_fetch_add(&expected_parts, spmd ? size_of(unit) : 1);
        if (starpu_task_submit(task) != 0) atomic_fetch_add(&failures, 1);
        if (starpu_task_insert(&small_cl, 0) != 0) atomic_fetch_add(&failures, 1);
    }
    return NULL;
}

static void make_units(unsigned workers)
{
    uint64_t seed = 7;
    unit_count = 0;
    for (int i = 0; i < 12; i++) {
        int list[WORKERS], n = 0;
        for (unsigned w = 0; w < workers; w++)
            if (random_below(&seed, 2)) list[n++] = (int)w;
        if (n > 1) units[unit_count++] = starpu_combined_worker_assign_workerid(n, list);
    }
}

static atomic_int stop;
static void *disturb(void *arg)
{
    unsigned context = *(unsigned *)arg;
    int some[2] = { 1, 2 };
    for (int i = 0; !atomic_load(&stop); i++) {
        starpu_pause();
        usleep(200);
        if (i % 3 == 0) starpu_sched_ctx_add_workers(some, 2, context);
        if (i % 3 == 1) starpu_sched_ctx_remove_workers(some, 2, context);
        starpu_resume();
        usleep(700);
    }
    return NULL;
}

static void overlapping(const char *policy, int disturbed)
{
    pthread_t threads[3], disturber;
    start(policy, WORKERS);
    make_units(WORKERS);
    atomic_store(&parts, 0);
    atomic_store(&expected_parts, 0);
    atomic_store(&small, 0);
    atomic_store(&stop, 0);
    reset();
    int context_workers[1] = { 0 };
    unsigned context = disturbed ? starpu_sched_ctx_create(context_workers, 1, "side",
                                                           STARPU_SCHED_CTX_POLICY_NAME, "eager", 0)
                                 : 0;
    if (disturbed) pthread_create(&disturber, NULL, disturb, &context);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, submit_overlapping, (void *)(intptr_t)(i + 11));
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    starpu_task_wait_for_all();
    atomic_store(&stop, 1);
    if (disturbed) {
        pthread_join(disturber, NULL);
        starpu_sched_ctx_delete(context);
    }
    const char *when = disturbed ? ", with pauses and workers that change contexts" : "";
    ok(all_of(!failures, atomic_load(&parts) == atomic_load(&expected_parts)),
       "%s: overlapping parallel tasks from three threads each run on all their workers%s", policy, when);
    ok(all_of(atomic_load(&callbacks) == 3 * EACH, atomic_load(&small) == 3 * EACH),
       "%s: they and the tasks between them each end once%s", policy, when);
    starpu_shutdown();
}

/* ---- a policy of the program that hands out the copies itself ---- */

static pthread_mutex_t policy_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int with_size;

static int push_to_all(struct starpu_task *task)
{
    int n = atomic_load(&with_size), size, *members;
    pthread_mutex_lock(&policy_lock);
    if (n) {
        starpu_parallel_task_barrier_init_n(task, n);
        for (int i = 0; i < n; i++) starpu_push_local_task(i + 1, starpu_task_dup(task), 0);
    } else {
        int id = (int)starpu_worker_get_count();
        starpu_combined_worker_get_description(id, &size, &members);
        starpu_parallel_task_barrier_init(task, id);
        for (int i = 0; i < size; i++) starpu_push_local_task(members[i], starpu_task_dup(task), 0);
    }
    pthread_mutex_unlock(&policy_lock);
    return 0;
}
static atomic_int pre_hooks, post_hooks;
static void pre_hook(struct starpu_task *task UNUSED, unsigned context UNUSED)
{
    atomic_fetch_add(&pre_hooks, 1);
}
static void post_hook(struct starpu_task *task UNUSED, unsigned context UNUSED)
{
    atomic_fetch_add(&post_hooks, 1);
}
static struct starpu_sched_policy to_all = {
    .push_task = push_to_all, .pre_exec_hook = pre_hook, .post_exec_hook = post_hook, .policy_name = "to all"
};

static void own_policy(void)
{
    enum { TASKS = 200 };
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 4;
    conf.sched_policy = &to_all;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) return;
    int all[4] = { 0, 1, 2, 3 }, failed = 0;
    starpu_combined_worker_assign_workerid(4, all);
    atomic_store(&parts, 0);
    reset();
    for (int i = 0; i < TASKS; i++) {
        if (i == TASKS / 2) {
            starpu_task_wait_for_all();
            atomic_store(&with_size, 3);
        }
        failed |= starpu_task_insert(i % 2 ? &part_cl : &master_cl, STARPU_CALLBACK, count_callback, 0);
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&callbacks) == TASKS),
       "a program's policy hands out copies: each task ends once");
    is_int(atomic_load(&parts), TASKS / 4 * (4 + 1) + TASKS / 4 * (3 + 1),
           "each runs on as many workers as it said");
    ok(all_of(atomic_load(&pre_hooks) == TASKS / 2 * 4 + TASKS / 2 * 3,
              atomic_load(&pre_hooks) == atomic_load(&post_hooks)),
       "its hooks see each worker's part");
    starpu_shutdown();
}

/* ---- what is measured and recorded ---- */

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "orrery_test_parallel" };
static void nap_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    usleep(2000);
}
static struct starpu_codelet nap_cl = {
    .cpu_funcs = { nap_func }, .type = STARPU_SPMD, .max_parallelism = INT_MAX, .model = &model, .name = "nap"
};

static int is_known(struct starpu_task *task, struct starpu_perfmodel_arch *arch)
{
    double us = starpu_task_expected_length(task, arch, 0);
    return us == us;
}

static void measured(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 3;
    conf.calibrate = 1;
    conf.sched_policy_name = "eager";
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) return;
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    int all[3] = { 0, 1, 2 }, id = starpu_combined_worker_assign_workerid(3, all), tasks = 0;
    struct starpu_task *task = NULL;
    struct starpu_profiling_worker_info info;
    double busy[3];
    int n = 0;
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(id, 0);
    for (; n < 12 || (n < 300 && !is_known(task, arch)); n++) { /* on a busy machine times scatter */
        if (task) starpu_task_destroy(task);
        task = starpu_task_create();
        task->cl = &nap_cl;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)id;
        task->detach = 0;
        task->destroy = 0;
        if (starpu_task_submit(task) != 0) break;
        if (starpu_task_wait(task) != 0) break;
    }
    ok(all_of(task, task->profiling_info, task->profiling_info->workerid >= 0,
              starpu_timing_timespec_delay_us(&task->profiling_info->start_time,
                                              &task->profiling_info->end_time) > 1500),
       "the profile of a parallel task has its times");
    for (int i = 0; i < 3; i++) {
        starpu_profiling_worker_get_info(i, &info);
        busy[i] = starpu_timing_timespec_to_us(&info.executing_time);
        tasks += info.executed_tasks;
    }
    is_int(tasks, n, "each counts as one task, on one of its workers");
    ok(all_of(busy[0] > 20000, busy[1] > 20000, busy[2] > 20000), "all of its workers are busy meanwhile");
    double together = starpu_task_expected_length(task, arch, 0),
           alone = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(0, 0), 0);
    ok(together > 1500, "its time is measured for three workers together (%g us)", together);
    ok(!(alone == alone), "and not for one alone");
    starpu_task_destroy(task);
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_shutdown();
}

/* ---- binding ---- */

static atomic_int cores;
static void cores_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) atomic_store(&cores, CPU_COUNT(&set));
}
static struct starpu_codelet cores_cl = { .cpu_funcs = { cores_func },
                                          .type = STARPU_FORKJOIN,
                                          .name = "cores" };

static void binding(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) {
        skip("binding: there is one core only");
        return;
    }
    start("eager", 2);
    int all[2] = { 0, 1 }, id = starpu_combined_worker_assign_workerid(2, all), within = 0, after[2];
    for (int k = -1; k < 2; k++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &cores_cl;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)(k < 0 ? id : k);
        if (starpu_task_submit(task) != 0) break;
        starpu_task_wait_for_all();
        if (k < 0)
            within = atomic_load(&cores);
        else
            after[k] = atomic_load(&cores);
    }
    is_int(within, 2, "a fork-join body may use the cores of both workers");
    ok(all_of(after[0] == 1, after[1] == 1), "afterwards each worker has its own again");
    starpu_shutdown();
}

/* ---- misuse ---- */

static int never(unsigned worker UNUSED, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 0;
}

static int refused(struct starpu_codelet *cl, int worker, unsigned order)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    task->workerorder = order;
    int r = starpu_task_submit(task);
    if (r) starpu_task_destroy(task);
    return r;
}

static void misuse(void)
{
    static struct starpu_codelet two_cl = { .cpu_funcs = { part_func },
                                            .type = STARPU_SPMD,
                                            .max_parallelism = 2 },
                                 never_cl = { .cpu_funcs = { part_func },
                                              .type = STARPU_SPMD,
                                              .can_execute = never };
    start("eager", 4);
    int twice[2] = { 1, 1 }, far[2] = { 0, 4 }, negative[2] = { -1, 0 }, three[3] = { 0, 1, 2 }, size;
    is_int(starpu_combined_worker_assign_workerid(0, three), -EINVAL, "no worker: refused");
    is_int(starpu_combined_worker_assign_workerid(-1, three), -EINVAL,
           "a negative number of workers: refused");
    is_int(starpu_combined_worker_assign_workerid(5, three), -EINVAL, "more workers than there are: refused");
    is_int(starpu_combined_worker_assign_workerid(2, NULL), -EINVAL, "no array: refused");
    is_int(starpu_combined_worker_assign_workerid(2, twice), -EINVAL, "a worker twice: refused");
    is_int(starpu_combined_worker_assign_workerid(2, far), -EINVAL, "an unknown worker: refused");
    is_int(starpu_combined_worker_assign_workerid(2, negative), -EINVAL, "a negative worker: refused");
    is_int(starpu_combined_worker_get_description(0, &size, NULL), -EINVAL,
           "a single worker has no description");
    is_int(starpu_combined_worker_get_description(99, &size, NULL), -EINVAL, "nor has an unknown one");
    int id = starpu_combined_worker_assign_workerid(3, three);
    is_int(starpu_combined_worker_get_description(id, NULL, NULL), 0, "outputs may be left out");
    is_int(refused(&small_cl, id, 0), -ENODEV, "a sequential task is refused by a combined worker");
    is_int(refused(&two_cl, id, 0), -ENODEV, "one for at most two is refused by one of three");
    is_int(refused(&never_cl, id, 0), -ENODEV, "and one whose can_execute says no");
    is_int(refused(&part_cl, id, 1), -ENODEV, "a combined worker has no order");
    is_int(refused(&part_cl, id + 1, 0), -ENODEV, "a number after the last combined worker is refused");
    struct starpu_task *task = starpu_task_create();
    task->cl = &part_cl;
    ok(all_of(starpu_combined_worker_can_execute_task((unsigned)id, task, 0),
              starpu_combined_worker_can_execute_task(0, task, 0),
              !starpu_combined_worker_can_execute_task((unsigned)id, task, 1),
              !starpu_combined_worker_can_execute_task(99, task, 0)),
       "who can run it is told right");
    task->cl = &two_cl;
    ok(!starpu_combined_worker_can_execute_task((unsigned)id, task, 0), "max_parallelism counts");
    starpu_parallel_task_barrier_init(NULL, id);
    starpu_parallel_task_barrier_init(task, 99);
    starpu_parallel_task_barrier_init_n(task, 0);
    starpu_parallel_task_barrier_init_n(task, 5);
    task->cl = &part_cl;
    atomic_store(&parts, 0);
    int r = starpu_task_submit(task);
    starpu_task_wait_for_all();
    ok(all_of(r == 0, atomic_load(&parts) == 1),
       "a barrier of nobody, or of too many, is refused: the task runs alone");
    ok(all_of(starpu_combined_worker_get_id() == -1, starpu_combined_worker_get_size() == 1,
              starpu_combined_worker_get_rank() == 0),
       "outside of workers: no number, size 1, rank 0");
    int made = 0, pair[2];
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++) {
            pair[0] = a;
            pair[1] = b;
            made += starpu_combined_worker_assign_workerid(2, pair) >= 0;
        }
    is_int(made, 6, "all pairs can be made");
    starpu_shutdown();
    start("eager", 4);
    is_int((int)starpu_combined_worker_get_count(), 0, "they are gone with the runtime");
    starpu_shutdown();
}

static void too_many(void)
{
    start("eager", 12);
    int made = 0, r = 0;
    for (int bits = 1; bits < 1 << 12 && r >= 0; bits++) {
        int list[12], n = 0;
        for (int w = 0; w < 12; w++)
            if (bits >> w & 1) list[n++] = w;
        r = n > 1 ? starpu_combined_worker_assign_workerid(n, list) : 0;
        made += n > 1 && r >= 0;
    }
    ok(all_of(r == -ENOSPC, made == STARPU_NMAX_COMBINEDWORKERS), "one more than %d is refused", made);
    starpu_shutdown();
}

int main(void)
{
    alarm(280);
    hierarchy();
    described_machine();
    each_size("eager");
    each_size("dmda");
    each_size("pheft");
    each_size("peager");
    together();
    overlapping("eager", 0);
    overlapping("ws", 1);
    overlapping("dm", 1);
    overlapping("pheft", 1);
    own_policy();
    measured();
    binding();
    misuse();
    too_many();
    return done_testing();
}
