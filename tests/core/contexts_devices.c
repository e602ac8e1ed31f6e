/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device workers that come and go: what they had prepared is run by members, tasks that only a device can run
 * wait for one, data stays right.
 * Threads: main submits; a second one moves workers. Owns: the data. Not here: CPU workers
 * (contexts_moves.c).
 */
#include <pthread.h>

#include "tests/core/sim_helper.h"

enum { HANDLES = 8, TASKS = 600, LENGTH_OF_VECTOR = 64 };

static unsigned contexts[2];
static atomic_int runs, outside, stop;
static atomic_int expected[HANDLES];

static void add_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < LENGTH_OF_VECTOR; i++) v[i]++;
    if (!starpu_sched_ctx_contains_worker(starpu_worker_get_id(), *(unsigned *)arg))
        atomic_fetch_add(&outside, 1);
    atomic_fetch_add(&runs, 1);
}
static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "contexts_devices" };
static struct starpu_codelet any_cl = { .cpu_funcs = { add_func },
                                        .cuda_funcs = { add_func },
                                        .opencl_funcs = { add_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .model = &model,
                                        .name = "any" };
static struct starpu_codelet device_cl = { .cuda_funcs = { add_func },
                                           .opencl_funcs = { add_func },
                                           .nbuffers = 1,
                                           .modes = { STARPU_RW },
                                           .name = "device only" };

static void *move_many(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    unsigned workers = starpu_worker_get_count();
    while (!atomic_load(&stop)) {
        int worker = (int)random_below(&seed, workers);
        unsigned ctx = contexts[random_below(&seed, 2)];
        if (random_below(&seed, 2))
            starpu_sched_ctx_add_workers(&worker, 1, ctx);
        else
            starpu_sched_ctx_remove_workers(&worker, 1, ctx);
    }
    return NULL;
}

static void storm(const char *policy, uint64_t seed)
{
    static int vectors[HANDLES][LENGTH_OF_VECTOR];
    starpu_data_handle_t handles[HANDLES];
    pthread_t mover;
    int all[STARPU_NMAXWORKERS], failed = 0, wrong = 0;
    uint64_t mover_seed = seed + 1;
    unsigned workers = starpu_worker_get_count();
    for (unsigned i = 0; i < workers; i++) all[i] = (int)i;
    memset(vectors, 0, sizeof vectors);
    memset(expected, 0, sizeof expected);
    atomic_store(&runs, 0);
    atomic_store(&outside, 0);
    atomic_store(&stop, 0);
    for (int i = 0; i < HANDLES; i++)
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i], LENGTH_OF_VECTOR,
                                    sizeof(int));
    for (int i = 0; i < 2; i++)
        contexts[i] =
            starpu_sched_ctx_create(all, (int)workers, "storm", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
    pthread_create(&mover, NULL, move_many, &mover_seed);
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *task = starpu_task_create();
        unsigned h = random_below(&seed, HANDLES), c = random_below(&seed, 2);
        task->cl = random_below(&seed, 4) == 0 ? &device_cl : &any_cl;
        task->cl_arg = &contexts[c];
        task->handles[0] = handles[h];
        atomic_fetch_add(&expected[h], 1);
        failed += starpu_task_submit_to_ctx(task, contexts[c]) != 0;
        if (i % 32 == 0) usleep(300);
    }
    atomic_store(&stop, 1);
    pthread_join(mover, NULL);
    for (int i = 0; i < 2; i++) starpu_sched_ctx_add_workers(all, workers, contexts[i]);
    starpu_task_wait_for_all();
    for (int i = 0; i < HANDLES; i++) {
        starpu_data_unregister(handles[i]);
        for (int k = 0; k < LENGTH_OF_VECTOR; k++) wrong += vectors[i][k] != atomic_load(&expected[i]);
    }
    ok(all_of(failed == 0, atomic_load(&runs) == TASKS), "%s: each task runs once", policy);
    is_int(atomic_load(&outside), 0, "%s: on a worker of its context", policy);
    is_int(wrong, 0, "%s: and its data is right", policy);
    for (int i = 0; i < 2; i++) starpu_sched_ctx_delete(contexts[i]);
}

static void only_on_devices(const char *policy)
{
    int cpu = 0, device = sim_worker(0), value = 0;
    starpu_data_handle_t handle;
    int vector[LENGTH_OF_VECTOR] = { 0 };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)vector, LENGTH_OF_VECTOR, sizeof(int));
    contexts[0] = starpu_sched_ctx_create(&cpu, 1, "CPU", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
    atomic_store(&runs, 0);
    for (int i = 0; i < 5; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &device_cl;
        task->cl_arg = &contexts[0];
        task->handles[0] = handle;
        value += starpu_task_submit_to_ctx(task, contexts[0]) == 0;
    }
    usleep(3000);
    ok(all_of(value == 5, atomic_load(&runs) == 0), "%s: tasks for devices wait in a context without one",
       policy);
    starpu_sched_ctx_add_workers(&device, 1, contexts[0]);
    starpu_task_wait_for_all_in_ctx(contexts[0]);
    is_int(atomic_load(&runs), 5, "%s: until one joins", policy);
    starpu_sched_ctx_delete(contexts[0]);
    starpu_data_unregister(handle);
}

int main(int argc, char **argv)
{
    static const char *const policies[] = { "eager", "random", "ws",    "lws",       "dm",
                                            "dmda",  "dmdar",  "dmdas", "heteroprio" };
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 42;
    alarm(170);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    sim_start(2, &(struct sim_config){ .devices = "2", .kernel_us = "10" });
    diag("seed %llu", (unsigned long long)seed);
    for (unsigned i = 0; i < LENGTH(policies); i++) {
        storm(policies[i], seed + i);
        only_on_devices(policies[i]);
    }
    starpu_shutdown();
    return done_testing();
}
