/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers of devices that threads of the program's run: step by step, several by one thread, several that
 * share a device, in threads of their own, in a pause, given back with work under way. With simulated
 * devices, or those of CUDA's double (tests/double.sh). Threads: main submits, and runs devices; others run
 * devices. Owns: nothing. Not here: CPU workers that the program runs (driven.c), OpenCL's devices
 * (tests/opencl/driven.c).
 */
#include <pthread.h>

#include "tests/core/sim_helper.h"

enum { STEPS_MAX = 10000000 };

static pthread_t expected;
static atomic_int bodies, elsewhere, by_worker[STARPU_NMAXWORKERS];

static void add_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    atomic_fetch_add(&by_worker[starpu_worker_get_id_check()], 1);
    if (!pthread_equal(pthread_self(), expected)) atomic_fetch_add(&elsewhere, 1);
    atomic_fetch_add(&bodies, 1);
}
static struct starpu_codelet add_cl = {
    .cuda_funcs = { add_func },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "add",
};

static struct starpu_driver zero = { .type = STARPU_CUDA_WORKER, .id.cuda_id = 0 },
                            one = { .type = STARPU_CUDA_WORKER, .id.cuda_id = 1 };

static int start(const char *devices, const char *per_device, struct starpu_driver *drivers, unsigned count)
{
    struct starpu_conf conf;
    sim_setting("ORRERY_SIM_DEVICES", devices);
    sim_setting("ORRERY_SIM_WORKERS_PER_DEVICE", per_device);
    sim_setting("ORRERY_SIM_LATENCY_US", "1");
    sim_stand_ins();
    starpu_conf_init(&conf);
    conf.ncpus = 0;
    conf.ncuda = -1;
    conf.not_launched_drivers = drivers;
    conf.n_not_launched_drivers = count;
    conf.precedence_over_environment_variables = 1;
    atomic_store(&bodies, 0);
    atomic_store(&elsewhere, 0);
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) atomic_store(&by_worker[i], 0);
    expected = pthread_self();
    return starpu_init(&conf);
}

/* On that device's worker number `which`; it is to be waited for. */
static struct starpu_task *submit_to(int dev, int which, starpu_data_handle_t h)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &add_cl;
    task->handles[0] = h;
    task->detach = 0;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)(sim_worker(dev) + which);
    if (starpu_task_submit(task) != 0) printf("Bail out! a task was refused\n"), exit(1);
    return task;
}

/* How many steps the device takes until the task has ended. */
static int steps_until(struct starpu_driver *d, struct starpu_task *task, int *failed)
{
    int steps = 0;
    for (; !starpu_task_finished(task) && steps < STEPS_MAX; steps++) *failed |= starpu_driver_run_once(d);
    *failed |= starpu_task_wait(task);
    return steps;
}

static int steps_of(struct starpu_driver *d, atomic_int *count, int wanted)
{
    int failed = 0;
    for (int i = 0; atomic_load(count) < wanted && i < STEPS_MAX; i++) failed |= starpu_driver_run_once(d);
    return failed;
}

static void step_by_step(void)
{
    int value = 0, failed = start("1", NULL, &zero, 1), fewest = STEPS_MAX;
    is_int(failed, 0, "a device that the program runs can be had");
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    is_int(starpu_driver_run_once(&zero), -EINVAL, "it does not run before it is taken");
    failed |= starpu_driver_init(&zero);
    is_int(starpu_driver_init(&zero), -EBUSY, "nobody else can take it then");
    struct starpu_task *first = submit_to(0, 0, h);
    usleep(20000);
    is_int(atomic_load(&bodies), 0, "a task waits until the program runs the device");
    steps_until(&zero, first, &failed);
    for (int i = 0; i < 20; i++) {
        int steps = steps_until(&zero, submit_to(0, 0, h), &failed);
        if (steps < fewest) fewest = steps;
    }
    ok(all_of(!failed, atomic_load(&bodies) == 21, atomic_load(&elsewhere) == 0),
       "tasks with data run on the thread that runs the device");
    ok(fewest >= 2, "one step gives the device a task, a later one sees that it ended");
    is_int(starpu_worker_get_id(), -1, "the thread is no worker in between");
    is_int(starpu_driver_deinit(&zero), 0, "it can be given back");
    is_int(starpu_driver_run_once(&zero), -EINVAL, "and does not run any more");
    starpu_data_unregister(h);
    is_int(value, 21, "and what its memory has comes back without it");
    starpu_shutdown();
}

static void given_back_at_work(void)
{
    int value = 0, failed = start("1", NULL, &zero, 1) || starpu_driver_init(&zero);
    starpu_data_handle_t h;
    struct starpu_task *tasks[6];
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < 6; i++) tasks[i] = submit_to(0, 0, h);
    failed |= steps_of(&zero, &bodies, 1);
    int begun = atomic_load(&bodies);
    failed |= starpu_driver_deinit(&zero);
    for (int i = 0; i < 6; i++) failed |= !starpu_task_finished(tasks[i]) || starpu_task_wait(tasks[i]);
    ok(all_of(!failed, begun < 6), "a device that is given back ends the tasks it has");
    struct starpu_task *later = submit_to(0, 0, h);
    failed = starpu_task_finished(later);
    failed |= starpu_driver_init(&zero);
    steps_until(&zero, later, &failed);
    starpu_data_unregister(h);
    ok(all_of(!failed, value == 7), "and runs later ones when it is taken again");
    starpu_shutdown(); /* with the device taken */
}

static void two_by_one_thread(void)
{
    enum { ROUNDS = 30 };
    struct starpu_driver both[2] = { zero, one };
    int value = 0, failed = start("2", NULL, both, 2);
    failed |= starpu_driver_init(&zero) || starpu_driver_init(&one);
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct starpu_task *tasks[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) tasks[i] = submit_to(i % 2, 0, h);
    for (int i = 0; !starpu_task_finished(tasks[ROUNDS - 1]) && i < STEPS_MAX; i++)
        failed |= starpu_driver_run_once(&zero) || starpu_driver_run_once(&one);
    for (int i = 0; i < ROUNDS; i++) failed |= starpu_task_wait(tasks[i]);
    failed |= starpu_driver_deinit(&zero) || starpu_driver_deinit(&one);
    starpu_data_unregister(h);
    ok(all_of(!failed, value == ROUNDS, atomic_load(&elsewhere) == 0),
       "one thread runs two devices, between which data go to and fro");
    starpu_shutdown();
}

static void in_a_pause(void)
{
    int value = 0, failed = start("1", NULL, &zero, 1) || starpu_driver_init(&zero);
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    struct starpu_task *before = submit_to(0, 0, h);
    failed |= steps_of(&zero, &bodies, 1); /* it may be on the device still */
    starpu_pause();
    struct starpu_task *task = submit_to(0, 0, h);
    steps_until(&zero, before, &failed);
    for (int i = 0; i < 100; i++) failed |= starpu_driver_run_once(&zero);
    int early = starpu_task_finished(task);
    starpu_resume();
    steps_until(&zero, task, &failed);
    failed |= starpu_driver_deinit(&zero);
    starpu_data_unregister(h);
    ok(all_of(!failed, !early, value == 2),
       "in a pause a step ends what the device has, begins nothing, and does not wait");
    starpu_shutdown();
}

static void *run(void *arg)
{
    return (void *)(intptr_t)starpu_driver_run(arg);
}

/* The first device, of two workers, is run by a thread; the second has threads of its own. */
static void in_a_thread(bool by_request)
{
    enum { DATA = 8, ROUNDS = 25 };
    pthread_t thread;
    void *result = (void *)1;
    int values[DATA] = { 0 }, failed = start("2", "2", &zero, 1);
    starpu_data_handle_t h[DATA];
    for (int i = 0; i < DATA; i++)
        starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
    pthread_create(&thread, NULL, run, &zero);
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < DATA; i++) failed |= starpu_task_insert(&add_cl, STARPU_RW, h[i], 0);
    failed |= starpu_task_wait(submit_to(0, 0, h[0])) || starpu_task_wait(submit_to(0, 1, h[1]));
    starpu_task_wait_for_all();
    for (int i = 0; i < DATA; i++) starpu_data_unregister(h[i]);
    bool right = values[0] == ROUNDS + 1 && values[1] == ROUNDS + 1;
    for (int i = 2; i < DATA; i++) right &= values[i] == ROUNDS;
    bool both = atomic_load(&by_worker[sim_worker(0)]) && atomic_load(&by_worker[sim_worker(0) + 1]);
    if (by_request) starpu_drivers_request_termination();
    if (!by_request) starpu_shutdown();
    pthread_join(thread, &result);
    ok(all_of(!failed, !result, right, both),
       "a thread runs all workers of a device beside those of another, until %s",
       by_request ? "it is asked to end" : "the shutdown");
    if (by_request) starpu_shutdown();
}

static void refusals(void)
{
    is_int(start("1", NULL, &one, 1), -EINVAL, "a device that is not there is refused");
    int failed = start("1", NULL, NULL, 0);
    is_int(failed ? 0 : starpu_driver_init(&zero), -EINVAL, "a device with a thread of its own is not run");
    is_int(starpu_driver_run(&zero), -EINVAL, "nor in a thread of the program's");
    starpu_shutdown();
}

int main(void)
{
    alarm(50);
    step_by_step();
    given_back_at_work();
    two_by_one_thread();
    in_a_pause();
    in_a_thread(true);
    in_a_thread(false);
    refusals();
    return done_testing();
}
