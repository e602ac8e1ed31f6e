/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policies that use models, on two CPU workers and a simulated device: time, transfers, energy,
 * implementations, priorities and data at hand decide as they should, and what is not calibrated becomes so.
 * Threads: main; two CPU workers and one device worker. Owns: a model folder of its own.
 * Not here: the same cases on CPUs alone, over every policy (policies.c).
 */
#include <math.h>
#include "tests/helper.h"
#include "tests/sched/device_models.h"

static atomic_int on_cpu, on_cuda, second_impl;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER ? &on_cpu : &on_cuda,
                     1);
}
static void count_second_func(void *buffers[], void *arg)
{
    atomic_fetch_add(&second_impl, 1);
    count_func(buffers, arg);
}

static struct starpu_codelet plain_cl = { .cpu_funcs = { count_func },
                                          .cuda_funcs = { count_func },
                                          .model = &time_model };
static struct starpu_codelet data_cl = { .cpu_funcs = { count_func },
                                         .cuda_funcs = { count_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_R },
                                         .model = &time_model };
static struct starpu_codelet energy_cl = { .cpu_funcs = { count_func },
                                           .cuda_funcs = { count_func },
                                           .model = &time_model,
                                           .energy_model = &energy_model };
static struct starpu_codelet impl_cl = { .cpu_funcs = { count_func, count_second_func },
                                         .model = &time_model };
static struct starpu_codelet cuda_cl = { .cuda_funcs = { count_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW } };

static int device = -1; /* the worker of the simulated device */

static void start(const char *policy)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.ncuda = 1;
    conf.nopencl = 0;
    conf.sched_policy_name = policy;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) skip_all("no worker can be started here");
    device = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    if (device < 0) {
        starpu_shutdown();
        skip_all("there is no simulated device");
    }
    atomic_store(&on_cpu, 0);
    atomic_store(&on_cuda, 0);
    atomic_store(&second_impl, 0);
}

/* Runs count tasks one after the other and returns how many the device ran. */
static int device_share(struct starpu_codelet *cl, int count, starpu_data_handle_t handle)
{
    int before = on_cuda, failed = 0;
    for (int i = 0; i < count; i++) {
        failed |= handle ? starpu_task_insert(cl, STARPU_R, handle, 0) : starpu_task_insert(cl, 0);
        starpu_task_wait_for_all();
    }
    return failed ? -1 : on_cuda - before;
}

static void time_decides(const char *policy)
{
    number[CPU_TIME] = 5000, number[CUDA_TIME] = 500;
    is_int(device_share(&plain_cl, 20, NULL), 20,
           "%s: idle workers, device ten times faster: it gets every task", policy);
    number[CPU_TIME] = 500, number[CUDA_TIME] = 5000;
    is_int(device_share(&plain_cl, 20, NULL), 0, "%s: device ten times slower: it gets none", policy);
    number[CPU_TIME] = 4000, number[CUDA_TIME] = 1000;
    struct gate gates[3] = { 0 };
    int before = on_cuda, failed = 0;
    static struct starpu_codelet both_gate = { .cpu_funcs = { gate_func }, .cuda_funcs = { gate_func } };
    for (unsigned i = 0; i < 3; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &both_gate;
        task->cl_arg = &gates[i];
        task->execute_on_a_specific_worker = 1;
        task->workerid = i;
        failed |= starpu_task_submit(task);
        gate_wait_entered(&gates[i], 1);
    }
    for (int i = 0; i < 60; i++) failed |= starpu_task_insert(&plain_cl, 0);
    for (int i = 0; i < 3; i++) gate_open(&gates[i]);
    starpu_task_wait_for_all();
    int share = on_cuda - before;
    ok(all_of(!failed, share >= 36, share <= 44),
       "%s: four times faster than each of two cores: two thirds of the tasks (%d of 60)", policy, share);
}

static void transfers_decide(const char *policy, int data_aware)
{
    static char bytes[1 << 20];
    starpu_data_handle_t handle;
    number[CPU_TIME] = 3000, number[CUDA_TIME] = 1000;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)bytes, sizeof bytes, 1);
    struct starpu_task *task = starpu_task_create();
    task->cl = &data_cl;
    task->handles[0] = handle;
    double there = starpu_task_expected_data_transfer_time_for(task, (unsigned)device);
    double here = starpu_task_expected_data_transfer_time_for(task, 0);
    ok(all_of(fabs(there - 10496) < 10, here == 0),
       "%s: 1 MiB at 100 MB/s and 10 us is expected to take 10496 us (%.0f), to main memory 0", policy,
       there);
    starpu_task_destroy(task);
    is_int(device_share(&data_cl, 1, handle), !data_aware,
           "%s: the device saves 2 ms, the transfer takes 10: %s", policy,
           data_aware ? "the task stays" : "dm does not look at transfers");
    struct starpu_task *fetch = starpu_task_create();
    fetch->cl = &cuda_cl;
    fetch->handles[0] = handle;
    int failed = starpu_task_submit(fetch);
    starpu_task_wait_for_all();
    is_int(failed ? -1 : device_share(&data_cl, 1, handle), 1,
           "%s: once the data is on the device, the task goes there", policy);
    starpu_data_unregister(handle);
}

static void energy_decides(const char *policy)
{
    number[CPU_TIME] = 2000, number[CUDA_TIME] = 1000, number[CPU_JOULES] = 1, number[CUDA_JOULES] = 1.5;
    is_int(device_share(&energy_cl, 5, NULL), 5, "%s: half a joule is worth less than 1000 us", policy);
    number[CUDA_JOULES] = 4;
    is_int(device_share(&energy_cl, 5, NULL), 0, "%s: three joules are worth more", policy);
}

static void fastest_implementation(const char *policy)
{
    number[CPU_TIME] = 1000;
    int before = second_impl;
    device_share(&impl_cl, 8, NULL);
    is_int(second_impl - before, 8, "%s: of two implementations the faster one runs", policy);
}

static void spin_func(void *buffers[], void *arg)
{
    double us = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER ? 400 : 100,
           end = starpu_timing_now() + us;
    while (starpu_timing_now() < end)
        ;
    count_func(buffers, arg);
}

static void calibration(const char *policy)
{
    static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED };
    static char symbol[64];
    snprintf(symbol, sizeof symbol, "orrery_test_devices_%s", policy);
    model.symbol = symbol;
    static struct starpu_codelet cl = { .cpu_funcs = { spin_func },
                                        .cuda_funcs = { spin_func },
                                        .model = &model };
    int failed = 0;
    double cpu = NAN, cuda = NAN;
    struct starpu_task *task = starpu_task_create();
    task->cl = &cl;
    /* once is enough, but on a busy machine times may differ so much that they are forgotten */
    for (int round = 0; round < 50 && (isnan(cpu) || isnan(cuda)); round++) {
        for (int i = 0; i < 100; i++) failed |= starpu_task_insert(&cl, 0);
        starpu_task_wait_for_all();
        cpu = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(0, 0), 0);
        cuda = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(device, 0), 0);
    }
    ok(all_of(!failed, cpu >= 399, cuda >= 99, cpu > cuda),
       "%s: a hundred tasks calibrate both kinds of workers (%.0f and %.0f us)", policy, cpu, cuda);
    double average = starpu_task_expected_length_average(task, 0);
    ok(all_of(average > cuda, average < cpu), "%s: the average lies between (%.0f us)", policy, average);
    starpu_task_destroy(task);
}

static atomic_int order_count;
enum { ORDERED = 64 };
static int order[ORDERED];
static void order_func(void *buffers[] UNUSED, void *arg)
{
    order[atomic_fetch_add(&order_count, 1) % ORDERED] = (int)(intptr_t)arg;
}
static double order_cost(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 100;
}
static struct starpu_perfmodel order_model = { .type = STARPU_COMMON, .cost_function = order_cost };
static struct starpu_codelet order_cl = {
    .cuda_funcs = { order_func }, .nbuffers = 1, .modes = { STARPU_R }, .model = &order_model
};

static struct starpu_codelet two_cl = {
    .cuda_funcs = { order_func }, .nbuffers = 2, .modes = { STARPU_R, STARPU_R }, .model = &order_model
};

/* Holds the device: as many tasks as it may have at once, and one that runs. */
static int hold_device(struct gate *gate)
{
    static struct starpu_codelet gate_cuda = { .cuda_funcs = { gate_func } };
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &gate_cuda;
        task->cl_arg = gate;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)device;
        failed |= starpu_task_submit(task);
    }
    gate_wait_entered(gate, 1);
    return failed;
}

/* Behind many tasks that miss two small data each: one that misses one large datum, and one that misses none.
 */
static void fewest_missing(const char *policy)
{
    enum { MANY = 30 };
    static char small[2][64], large[1 << 18], near[64];
    starpu_data_handle_t s[2], l, n;
    struct gate gate = { 0 };
    for (int i = 0; i < 2; i++)
        starpu_vector_data_register(&s[i], STARPU_MAIN_RAM, (uintptr_t)small[i], sizeof small[i], 1);
    starpu_vector_data_register(&l, STARPU_MAIN_RAM, (uintptr_t)large, sizeof large, 1);
    starpu_vector_data_register(&n, STARPU_MAIN_RAM, (uintptr_t)near, sizeof near, 1);
    int failed = starpu_task_insert(&cuda_cl, STARPU_RW, n, 0);
    starpu_task_wait_for_all();
    failed |= hold_device(&gate);
    atomic_store(&order_count, 0);
    for (int i = 0; i < MANY; i++)
        failed |= starpu_task_insert(&two_cl, STARPU_R, s[0], STARPU_R, s[1], STARPU_CL_ARGS_NFREE, (void *)2,
                                     (size_t)0, 0);
    failed |= starpu_task_insert(&order_cl, STARPU_R, l, STARPU_CL_ARGS_NFREE, (void *)1, (size_t)0, 0);
    failed |= starpu_task_insert(&order_cl, STARPU_R, n, STARPU_CL_ARGS_NFREE, (void *)3, (size_t)0, 0);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, order_count == MANY + 2, order[0] == 3, order[1] == 1),
       "%s: the number of data at hand decides, not how long they take, however far behind (%d, %d, %d)",
       policy, order[0], order[1], order[2]);
    for (int i = 0; i < 2; i++) starpu_data_unregister(s[i]);
    starpu_data_unregister(l);
    starpu_data_unregister(n);
}

/* While the device is held, a task whose data is elsewhere and one whose data is there are pushed to it, in
 * this order. */
static void data_at_hand(const char *policy, int ready_first)
{
    static char near_bytes[4096], far_bytes[1 << 18];
    starpu_data_handle_t near, far;
    struct gate gate = { 0 };
    starpu_vector_data_register(&near, STARPU_MAIN_RAM, (uintptr_t)near_bytes, sizeof near_bytes, 1);
    starpu_vector_data_register(&far, STARPU_MAIN_RAM, (uintptr_t)far_bytes, sizeof far_bytes, 1);
    int failed = starpu_task_insert(&cuda_cl, STARPU_RW, near, 0);
    starpu_task_wait_for_all();
    failed |= hold_device(&gate);
    atomic_store(&order_count, 0);
    failed |= starpu_task_insert(&order_cl, STARPU_R, far, STARPU_CL_ARGS_NFREE, (void *)1, (size_t)0, 0);
    failed |= starpu_task_insert(&order_cl, STARPU_R, near, STARPU_CL_ARGS_NFREE, (void *)2, (size_t)0, 0);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, order_count == 2, order[0] == (ready_first ? 2 : 1)), "%s: %s", policy,
       ready_first ? "the task whose data is at hand runs first" : "tasks run in the order of their coming");
    starpu_data_unregister(near);
    starpu_data_unregister(far);
}

static double length_cost(struct starpu_task *task, unsigned nimpl UNUSED)
{
    return (double)(intptr_t)task->cl_arg;
}
static struct starpu_perfmodel length_model = { .type = STARPU_COMMON, .cost_function = length_cost };
static atomic_int ran_on[3];
static void where_func(void *buffers[] UNUSED, void *arg)
{
    atomic_store(&ran_on[(intptr_t)arg / 1000], starpu_worker_get_id());
}
/* Where a task is to run is decided when it is pushed; after that no other worker may steal it. */
static atomic_bool decided;
static int until_decided(unsigned worker UNUSED, struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return !decided;
}
static struct starpu_codelet length_cl = { .cpu_funcs = { where_func }, .model = &length_model };

static int submit_length(int us, int priority, int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &length_cl;
    task->cl_arg = (void *)(intptr_t)us;
    task->priority = priority;
    task->execute_on_a_specific_worker = worker >= 0;
    task->workerid = worker >= 0 ? (unsigned)worker : 0;
    return starpu_task_submit(task);
}

/* Both cores are held; the first gets a long task of low priority, the second a shorter one. */
static int sorted_decision_once(int sorted)
{
    struct gate gates[2] = { 0 };
    int failed = 0;
    gate_close(&gates[0], 0);
    gate_close(&gates[1], 1);
    decided = false;
    failed |= submit_length(2000, 0, -1);
    failed |= submit_length(1000, 1, 1);
    failed |= submit_length(500, 1, -1);
    decided = true;
    gate_open(&gates[0]);
    gate_open(&gates[1]);
    starpu_task_wait_for_all();
    return !failed && ran_on[0] == ran_on[sorted ? 2 : 1];
}

/* In a tree of components a task is taken from a worker that has not got through its gate for milliseconds,
 * and that cannot be forbidden, since it asks again before a task runs: then once more. */
static void sorted_decision(const char *policy, int sorted)
{
    int tree = strchr(policy, '-') != NULL, right = 0;
    length_cl.can_execute = tree ? NULL : until_decided;
    for (int attempt = 0; attempt < (tree ? 10 : 1) && !right; attempt++)
        right = sorted_decision_once(sorted);
    ok(right, "%s: %s", policy,
       sorted ? "a task of high priority goes before the long one of low priority"
              : "a task goes to the worker with the least load");
}

static void run_policy(const char *policy, int data_aware, int ready, int sorted)
{
    start(policy);
    time_decides(policy);
    transfers_decide(policy, data_aware);
    energy_decides(policy);
    fastest_implementation(policy);
    calibration(policy);
    data_at_hand(policy, ready);
    if (ready && !strchr(policy, '-')) fewest_missing(policy);
    sorted_decision(policy, sorted);
    starpu_shutdown();
}

int main(void)
{
    char folder[64] = "dm_devices.XXXXXX", command[96];
    alarm(60);
    if (!mkdtemp(folder)) skip_all("no folder can be made here");
    setenv("STARPU_PERF_MODEL_DIR", folder, 1);
    setenv("ORRERY_SIM_DEVICES", "1", 1);
    setenv("ORRERY_SIM_TYPE", "cuda", 1);
    setenv("ORRERY_SIM_BANDWIDTH_MB_S", "100", 1);
    setenv("ORRERY_SIM_LATENCY_US", "10", 1);
    setenv("ORRERY_SIM_RUN_CPU_FUNCS", "0", 1);
    setenv("STARPU_PREFETCH", "0", 1);
    run_policy("dm", 0, 0, 0);
    run_policy("dmda", 1, 0, 0);
    run_policy("dmdap", 1, 0, 0);
    run_policy("dmdar", 1, 1, 0);
    run_policy("dmdas", 1, 1, 0);
    run_policy("dmdasd", 1, 1, 1);
    run_policy("tree-dmda", 1, 0, 0);
    run_policy("tree-dmdap", 1, 0, 0);
    run_policy("tree-dmdar", 1, 1, 0);
    run_policy("modular-dmdas", 1, 1, 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) diag("%s is left", folder);
    return done_testing();
}
