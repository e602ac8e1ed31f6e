/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees of components on two CPU workers and two simulated devices: data stays coherent under each of them,
 * tasks of one kind find their kind, queues below prefetch, trees that use models choose by time, transfer
 * and energy, and measure what is not calibrated. Threads: main; two CPU workers and two device workers.
 * Owns: a model folder of its own. Not here: the same trees on CPUs alone (components.c); dmda and its like
 * in more detail (dm_devices.c).
 */
#include <math.h>
#include "tests/sched/device_models.h"
#include "tests/core/sim_helper.h"
#include "tests/stream.h"

static const struct {
    const char *name;
    int prefetches;
    int models;
} trees[] = {
    { "eager", 0, 0 },
    { "eager-prefetching", 1, 0 },
    { "eager-prio", 1, 0 },
    { "prio", 0, 0 },
    { "prio-prefetching", 1, 0 },
    { "random", 0, 0 },
    { "random-prio", 1, 0 },
    { "random-prefetching", 1, 0 },
    { "random-prio-prefetching", 1, 0 },
    { "ws", 0, 0 },
    { "heft", 1, 1 },
    { "heft-prio", 1, 1 },
    { "heft2", 1, 1 },
    { "heteroprio", 1, 1 },
    { "dmda", 1, 1 },
    { "pheft", 1, 1 },
    { "dmdap", 1, 1 },
    { "dmdar", 1, 1 },
    { "dmdas", 1, 1 },
};

static int first_device;

static void start(const char *name)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.ncuda = 2;
    sim_stand_ins();
    conf.nopencl = 0;
    conf.sched_policy_name = name;
    conf.precedence_over_environment_variables = 1;
    int r = starpu_init(&conf);
    if (r != 0) {
        printf("Bail out! starpu_init returned %d for %s\n", r, name);
        exit(1);
    }
    first_device = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    if (first_device < 0 || starpu_cpu_worker_get_count() < 2) {
        starpu_shutdown();
        skip_all("there are no two simulated devices and two CPU workers");
    }
}

/* ---- data ---- */

static double stream_cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch,
                          unsigned nimpl UNUSED)
{
    return arch->devices[0].type == STARPU_CPU_WORKER ? 30 : 10;
}
static struct starpu_perfmodel stream_model = { .type = STARPU_PER_ARCH, .arch_cost_function = stream_cost };
static struct starpu_codelet stream_cl = { .cpu_funcs = { stream_func },
                                           .cuda_funcs = { stream_func },
                                           .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                           .name = "stream" };
static struct starpu_codelet modelled_cl = { .cpu_funcs = { stream_func },
                                             .cuda_funcs = { stream_func },
                                             .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                             .model = &stream_model,
                                             .name = "modelled stream" };

static void coherent(const char *name)
{
    is_int(stream_run(&stream_cl, 5, 400), 0,
           "%s: 400 random tasks on four workers give the sequential result", name);
    is_int(stream_run(&modelled_cl, 6, 400), 0, "%s: so do those with a model", name);
}

/* ---- kinds ---- */

static atomic_int on_cpu, on_cuda;
static void kind_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    int cpu = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
    atomic_fetch_add(cpu ? &on_cpu : &on_cuda, 1);
}
static struct starpu_codelet cpu_cl = { .cpu_funcs = { kind_func }, .name = "cpu" };
static struct starpu_codelet cuda_cl = { .cuda_funcs = { kind_func }, .name = "cuda" };
static struct starpu_codelet both_cl = { .cpu_funcs = { kind_func },
                                         .cuda_funcs = { kind_func },
                                         .name = "both" };

/* While both kinds idle, and while one is far behind: tasks of one kind come after many of the other. */
static void kinds(const char *name)
{
    int failed = 0;
    atomic_store(&on_cpu, 0);
    atomic_store(&on_cuda, 0);
    for (int i = 0; i < 20; i++) {
        failed |= starpu_task_insert(i % 2 ? &cpu_cl : &cuda_cl, 0);
        starpu_task_wait_for_all();
    }
    for (int i = 0; i < 300; i++) failed |= starpu_task_insert(i < 200 ? &cpu_cl : &cuda_cl, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, on_cpu == 210, on_cuda == 110), "%s: tasks for one kind of worker run there", name);
    for (int i = 0; i < 200; i++) failed |= starpu_task_insert(&both_cl, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, on_cpu + on_cuda == 520), "%s: tasks for any kind run once", name);
}

/* ---- prefetching ---- */

static void touch_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static double touch_cost(struct starpu_task *task UNUSED, unsigned nimpl UNUSED)
{
    return 100;
}
static struct starpu_perfmodel touch_model = { .type = STARPU_COMMON, .cost_function = touch_cost };
static struct starpu_codelet touch_cl = {
    .cuda_funcs = { touch_func }, .nbuffers = 1, .modes = { STARPU_R }, .model = &touch_model, .name = "touch"
};

static int is_on_a_device(starpu_data_handle_t handle)
{
    for (int d = 0; d < 2; d++) {
        int allocated = 0, valid = 0, loading = 0;
        unsigned node = starpu_worker_get_memory_node((unsigned)(first_device + d));
        starpu_data_query_status2(handle, (int)node, &allocated, &valid, &loading, NULL);
        if (valid) return 1;
    }
    return 0;
}

/* Both devices are held, with as many tasks as they prepare; then comes a task with data. */
static void prefetch(const char *name, int prefetches)
{
    static struct starpu_codelet gate_cuda_cl = { .cuda_funcs = { gate_func }, .name = "device gate" };
    static int value;
    struct gate gate = { 0 };
    starpu_data_handle_t handle;
    int failed = 0, there = 0;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < 8; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &gate_cuda_cl;
        task->cl_arg = &gate;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)(first_device + i % 2);
        failed |= starpu_task_submit(task);
    }
    gate_wait_entered(&gate, 2);
    failed |= starpu_task_insert(&touch_cl, STARPU_R, handle, 0);
    for (int i = 0; i < (prefetches ? 5000 : 100) && !there; i++) {
        failed |= starpu_task_insert(&cpu_cl, 0); /* transfers move while somebody looks for work */
        usleep(1000);
        there = is_on_a_device(handle);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, there == prefetches), "%s: data of a task that waits for a busy device %s", name,
       prefetches ? "comes meanwhile" : "stays where it is");
    starpu_data_unregister(handle);
}

/* ---- models ---- */

static struct starpu_codelet time_cl = { .cpu_funcs = { kind_func },
                                         .cuda_funcs = { kind_func },
                                         .model = &time_model };
static struct starpu_codelet energy_cl = { .cpu_funcs = { kind_func },
                                           .cuda_funcs = { kind_func },
                                           .model = &time_model,
                                           .energy_model = &energy_model };
static struct starpu_codelet data_cl = { .cpu_funcs = { kind_func },
                                         .cuda_funcs = { kind_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_R },
                                         .model = &time_model };
static atomic_int second_impl;
static void second_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&second_impl, 1);
}
static struct starpu_codelet impl_cl = { .cpu_funcs = { touch_func, second_func }, .model = &time_model };

/* Runs 10 tasks one after the other and returns how many the devices ran. */
static int device_share(struct starpu_codelet *cl, starpu_data_handle_t handle)
{
    int before = on_cuda, failed = 0;
    for (int i = 0; i < 10; i++) {
        failed |= handle ? starpu_task_insert(cl, STARPU_R, handle, 0) : starpu_task_insert(cl, 0);
        starpu_task_wait_for_all();
    }
    return failed ? -1 : on_cuda - before;
}

static void decides(const char *name)
{
    static char bytes[1 << 20];
    starpu_data_handle_t handle;
    number[CPU_TIME] = 50000, number[CUDA_TIME] = 5000;
    is_int(device_share(&time_cl, NULL), 10, "%s: devices ten times faster get every task", name);
    number[CPU_TIME] = 500, number[CUDA_TIME] = 5000;
    is_int(device_share(&time_cl, NULL), 0, "%s: ten times slower, none", name);
    number[CPU_TIME] = 3000, number[CUDA_TIME] = 1000;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)bytes, sizeof bytes, 1);
    is_int(device_share(&data_cl, handle), 0, "%s: what a device saves is less than the transfer: none",
           name);
    starpu_data_unregister(handle);
    number[CPU_TIME] = 2000, number[CUDA_TIME] = 1000, number[CPU_JOULES] = 1, number[CUDA_JOULES] = 1.5;
    is_int(device_share(&energy_cl, NULL), 10, "%s: half a joule is worth less than 1000 us", name);
    number[CUDA_JOULES] = 7; /* more than a CPU that has not been seen to end the task before would add */
    is_int(device_share(&energy_cl, NULL), 0, "%s: six joules are worth more", name);
    atomic_store(&second_impl, 0);
    device_share(&impl_cl, NULL);
    is_int(second_impl, 10, "%s: of two implementations the faster one runs", name);
}

static void spin_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    int cpu = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
    double end = starpu_timing_now() + (cpu ? 200 : 50);
    while (starpu_timing_now() < end)
        ;
}

static void measures(const char *name)
{
    static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED };
    static char symbol[64];
    snprintf(symbol, sizeof symbol, "orrery_test_%s", name);
    model = (struct starpu_perfmodel){ .type = STARPU_HISTORY_BASED, .symbol = symbol };
    static struct starpu_codelet cl;
    cl = (struct starpu_codelet){ .cpu_funcs = { spin_func }, .cuda_funcs = { spin_func }, .model = &model };
    int failed = 0, tasks = 0;
    double cpu = NAN, cuda0 = NAN, cuda1 = NAN;
    struct starpu_task *task = starpu_task_create();
    task->cl = &cl;
    /* 240 do on an idle machine; on a busy one measures differ so much that some are not counted */
    while (tasks < 4000 && !(cpu > 0 && cuda0 > 0 && cuda1 > 0)) {
        for (int i = 0; i < 80; i++, tasks++) failed |= starpu_task_insert(&cl, 0);
        starpu_task_wait_for_all();
        cpu = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(0, 0), 0);
        cuda0 = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(first_device, 0), 0);
        cuda1 = starpu_task_expected_length(task, starpu_worker_get_perf_archtype(first_device + 1, 0), 0);
    }
    ok(all_of(!failed, cpu >= 199, cuda0 >= 49, cuda1 >= 49),
       "%s: every kind of worker is calibrated (%.0f, %.0f and %.0f us)", name, cpu, cuda0, cuda1);
    starpu_task_destroy(task);
    starpu_perfmodel_unload_model(&model);
}

int main(int argc, char **argv)
{
    char folder[32] = "components.XXXXXX", command[96];
    alarm(300);
    if (!mkdtemp(folder)) skip_all("no folder can be made here");
    setenv("STARPU_PERF_MODEL_DIR", folder, 1);
    setenv("ORRERY_SIM_DEVICES", "2", 1);
    setenv("ORRERY_SIM_TYPE", "cuda", 1);
    setenv("ORRERY_SIM_BANDWIDTH_MB_S", "100", 1);
    setenv("ORRERY_SIM_LATENCY_US", "10", 1);
    setenv("ORRERY_SIM_RUN_CPU_FUNCS", "0", 1);
    for (unsigned i = 0; i < LENGTH(trees); i++) {
        char name[48];
        if (argc > 1 && strcmp(argv[1], trees[i].name) != 0) continue;
        snprintf(name, sizeof name, "tree-%s", trees[i].name);
        start(name);
        coherent(name);
        kinds(name);
        prefetch(name, trees[i].prefetches);
        if (trees[i].models) {
            decides(name);
            measures(name);
        }
        starpu_shutdown();
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) diag("%s is left", folder);
    return done_testing();
}
