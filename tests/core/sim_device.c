/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated device: it shows up as a worker with its own memory, its copies and kernels take the time
 * that was set and overlap, and it runs what an accelerator runs.
 * Threads: main and the workers. Owns: the
 * data of each case. Not here: coherence (coherency_places.c, coherency_random.c).
 */
#include "tests/core/sim_helper.h"

enum { BLOCK = 1 << 20, MANY = 12 };

static char blocks[MANY][BLOCK];
static starpu_data_handle_t handles[MANY];

static void *seen_ptr;
static int seen_worker, seen_implementation;
static void see(void *buffers[], int implementation)
{
    seen_ptr = (void *)STARPU_VECTOR_GET_PTR(buffers[0]);
    seen_worker = starpu_worker_get_id();
    seen_implementation = implementation;
    *(char *)seen_ptr = 77;
}
static void see_cpu(void *buffers[], void *arg UNUSED)
{
    see(buffers, STARPU_CPU);
}
static void see_cuda(void *buffers[], void *arg UNUSED)
{
    see(buffers, STARPU_CUDA);
}
static struct starpu_codelet both_cl = {
    .cpu_funcs = { see_cpu }, .cuda_funcs = { see_cuda }, .nbuffers = 1, .modes = { STARPU_RW }
};
static struct starpu_codelet cpu_cl = { .cpu_funcs = { see_cpu }, .nbuffers = 1, .modes = { STARPU_RW } };
static struct starpu_codelet cpu_only_cl = {
    .where = STARPU_CPU,
    .cpu_funcs = { see_cpu },
    .cuda_funcs = { see_cuda },
    .nbuffers = 1,
    .modes = { STARPU_RW },
};
static struct starpu_codelet node_cl = {
    .cpu_funcs = { see_cpu },
    .cuda_funcs = { see_cuda },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .specific_nodes = 1,
    .nodes = { STARPU_SPECIFIC_NODE_CPU },
};

static int seen_node;
static void see_node(void *buffers[], void *arg UNUSED)
{
    see(buffers, STARPU_CUDA);
    seen_node = starpu_task_get_current_data_node(0);
}
static struct starpu_codelet near_cl = {
    .cuda_funcs = { see_node },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .specific_nodes = 1,
    .nodes = { STARPU_SPECIFIC_NODE_LOCAL_OR_CPU },
};
static char found[2];
static void see_twice(void *buffers[], void *arg UNUSED)
{
    for (int i = 0; i < 2; i++) found[i] = *(char *)STARPU_VECTOR_GET_PTR(buffers[i]);
    *(char *)STARPU_VECTOR_GET_PTR(buffers[1]) = 78;
}
static struct starpu_codelet twice_cl = {
    .cuda_funcs = { see_twice },
    .nbuffers = 2,
    .modes = { STARPU_R, STARPU_RW },
    .specific_nodes = 1,
    .nodes = { STARPU_SPECIFIC_NODE_NONE, STARPU_SPECIFIC_NODE_LOCAL },
};

static void scratch_func(void *buffers[], void *arg UNUSED)
{
    char *scratch = (char *)STARPU_VECTOR_GET_PTR(buffers[1]);
    memset(scratch, starpu_worker_get_id() + 1, BLOCK);
    sched_yield();
    if (scratch[BLOCK - 1] == starpu_worker_get_id() + 1) ++*(char *)STARPU_VECTOR_GET_PTR(buffers[0]);
}
static struct starpu_codelet scratch_cl = {
    .cpu_funcs = { scratch_func },
    .cuda_funcs = { scratch_func },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_SCRATCH },
};

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static void contribute_func(void *buffers[], void *arg UNUSED)
{
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .cuda_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }
};
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func },
    .cuda_funcs = { sum_func },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_R },
};
static struct starpu_codelet contribute_cl = {
    .cpu_funcs = { contribute_func },
    .cuda_funcs = { contribute_func },
    .nbuffers = 1,
    .modes = { STARPU_REDUX },
};

static int submit_on(int worker, struct starpu_codelet *cl, starpu_data_handle_t a, starpu_data_handle_t b)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = a;
    task->handles[1] = b;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    int status = starpu_task_submit(task);
    if (status) starpu_task_destroy(task);
    return status;
}

static void register_blocks(void)
{
    for (int i = 0; i < MANY; i++)
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)blocks[i], BLOCK, 1);
}

static void unregister_blocks(void)
{
    for (int i = 0; i < MANY; i++) starpu_data_unregister(handles[i]);
}

static void presence(void)
{
    int w = sim_worker(0);
    char name[64];
    is_int(starpu_cuda_worker_get_count(), 1, "one CUDA worker");
    is_int(starpu_memory_nodes_get_count(), 2, "two memory nodes");
    ok(all_of(starpu_node_get_kind(sim_node(0)) == STARPU_CUDA_RAM,
              starpu_node_get_kind(0) == STARPU_CPU_RAM),
       "of the right kinds");
    is_int(starpu_memory_get_total(sim_node(0)), 64 << 20, "the device has the memory that was set");
    starpu_worker_get_name(w, name, sizeof name);
    ok(all_of(strstr(name, "CUDA 0"), strstr(name, "simulated")), "its worker is called %s", name);
}

static void execution(void)
{
    int w = sim_worker(0);
    register_blocks();
    int failed = submit_on(w, &both_cl, handles[0], NULL);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, seen_worker == w, seen_implementation == STARPU_CUDA),
       "a task runs there with the CUDA implementation");
    ok(all_of(seen_ptr != blocks[0], blocks[0][0] != 77), "on memory that is not the program's");
    failed |= starpu_data_acquire(handles[0], STARPU_R);
    is_int(blocks[0][0], 77, "whose contents come back");
    starpu_data_release(handles[0]);
    failed |= submit_on(w, &cpu_cl, handles[0], NULL);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, seen_worker == w, seen_implementation == STARPU_CPU),
       "a codelet with a CPU implementation only runs there too");
    is_int(submit_on(w, &cpu_only_cl, handles[0], NULL), -ENODEV,
           "but not one whose where says CPU although it has both");
    failed |= submit_on(w, &node_cl, handles[1], NULL);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, seen_worker == w, seen_ptr == blocks[1]),
       "STARPU_SPECIFIC_NODE_CPU keeps the data in main memory");
    int cpu = STARPU_SPECIFIC_NODE_CPU;
    failed |= starpu_task_insert(&both_cl, STARPU_RW, handles[2], STARPU_NODE_ARRAY, &cpu, 1,
                                 STARPU_EXECUTE_ON_WORKER, w, 0);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, seen_worker == w, seen_ptr == blocks[2]), "as does STARPU_NODE_ARRAY for one task");
    unregister_blocks();
}

static void nodes_of_data(void)
{
    int w = sim_worker(0), failed = 0;
    register_blocks();
    struct starpu_task *task = starpu_task_create();
    task->cl = &near_cl;
    task->handles[0] = handles[0];
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)w;
    failed |= starpu_prefetch_task_input_on_node(task, sim_node(0));
    ok(all_of(!failed, !starpu_data_is_on_node(handles[0], sim_node(0)),
              starpu_task_expected_data_transfer_time(sim_node(0), task) == 0),
       "data wanted on the worker's node or in main memory, where they are, are not prefetched");
    failed |= starpu_task_submit(task);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, seen_ptr == blocks[0], seen_node == STARPU_MAIN_RAM),
       "but used there, and the task can tell");
    failed |= submit_on(w, &both_cl, handles[0], NULL);
    failed |= submit_on(w, &near_cl, handles[0], NULL);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, seen_ptr != blocks[0], seen_node == (int)sim_node(0)),
       "on the worker's node they are used there");
    failed |= starpu_task_insert(&twice_cl, STARPU_R, handles[0], STARPU_RW, handles[0],
                                 STARPU_EXECUTE_ON_WORKER, w, 0);
    failed |= starpu_task_wait_for_all();
    failed |= starpu_data_acquire(handles[0], STARPU_R);
    ok(all_of(!failed, found[0] == 77, found[1] == 77, blocks[0][0] == 78),
       "a datum that is wanted nowhere, and on the worker's node by another name, is there");
    starpu_data_release(handles[0]);
    unregister_blocks();
}

static void private_buffers(void)
{
    starpu_data_handle_t scratch, total;
    int sum = 5, failed = 0;
    register_blocks();
    memset(blocks[0], 0, BLOCK);
    memset(blocks[1], 0, BLOCK);
    starpu_vector_data_register(&scratch, -1, 0, BLOCK, 1);
    for (int i = 0; i < 20; i++)
        failed |= submit_on(i % 2 ? sim_worker(0) : 0, &scratch_cl, handles[i % 2], scratch);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(scratch);
    unregister_blocks();
    ok(all_of(!failed, blocks[0][0] == 10, blocks[1][0] == 10), "each worker has scratch memory of its own");
    starpu_variable_data_register(&total, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof sum);
    starpu_data_set_reduction_methods(total, &sum_cl, &zero_cl);
    for (int i = 0; i < 40; i++) failed |= submit_on(i % 2 ? sim_worker(0) : 0, &contribute_cl, total, NULL);
    starpu_data_unregister(total);
    ok(all_of(!failed, sum == 45), "contributions of both kinds of workers to a reduction are added up");
}

/* ---- time ---- */

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet nothing_cl = {
    .cpu_funcs = { nothing_func }, .cuda_funcs = { nothing_func }, .nbuffers = 1, .modes = { STARPU_R }
};
static struct starpu_codelet kernel_cl = { .cpu_funcs = { nothing_func },
                                           .cuda_funcs = { nothing_func },
                                           .nbuffers = 0 };

static void transfer_time(void)
{
    register_blocks();
    double start = starpu_timing_now();
    int failed = starpu_data_fetch_on_node(handles[0], sim_node(0), 0);
    double us = starpu_timing_now() - start;
    ok(all_of(!failed, us >= 2000.), "1 MiB at 524 MB/s takes 2 ms: %.0f us", us);
    double predicted = starpu_transfer_predict(STARPU_MAIN_RAM, sim_node(0), BLOCK);
    ok(all_of(predicted > 2000., predicted < 2100.), "which is what is predicted: %.0f us", predicted);
    unregister_blocks();
}

static void kernel_time(void)
{
    double start = starpu_timing_now();
    int failed = 0;
    for (int i = 0; i < 4; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &kernel_cl;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)sim_worker(0);
        failed |= starpu_task_submit(task);
    }
    failed |= starpu_task_wait_for_all();
    double us = starpu_timing_now() - start;
    ok(all_of(!failed, us >= 40000.), "four kernels of 10 ms take 40 ms: %.0f us", us);
}

static atomic_int ended;
static void count_end(void *arg UNUSED)
{
    atomic_fetch_add(&ended, 1);
}

/* A kernel on each block, the data being in main memory. beside[i]: block i came while the kernel before it
 * had not ended yet. This thread stays outside of the runtime meanwhile: it carries no copy on. */
static int look_beside(bool beside[MANY])
{
    int failed = 0;
    register_blocks();
    atomic_store(&ended, 0);
    for (int i = 0; i < MANY; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &nothing_cl;
        task->handles[0] = handles[i];
        task->callback_func = count_end;
        task->execute_on_a_specific_worker = 1;
        task->workerid = (unsigned)sim_worker(0);
        failed |= starpu_task_submit(task);
    }
    for (int i = 1; !failed && i < MANY; i++) {
        while (!starpu_data_is_on_node(handles[i], sim_node(0))) usleep(50);
        beside[i] |= atomic_load(&ended) < i;
    }
    failed |= starpu_task_wait_for_all();
    unregister_blocks();
    return failed;
}

/* What is seen once was so; where the machine keeps this thread from looking in time, it looks again. */
static void overlap(void)
{
    enum { LOOKS = 20 };
    bool beside[MANY] = { false };
    int failed = 0, seen = 0;
    for (int n = 0; n < LOOKS && !failed && seen < MANY - 1; n++) {
        failed |= look_beside(beside);
        seen = 0;
        for (int i = 1; i < MANY; i++) seen += beside[i];
    }
    is_int(failed ? -1 : seen, MANY - 1,
           "each transfer of 2 ms goes on beside the kernels before it, which take 10");
}

/* ---- kernels that are submitted, and then go on ---- */

static atomic_int begun;
static int begun_at_end[MANY];

static void begin_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&begun, 1);
}
static struct starpu_codelet begin_cl = { .cpu_funcs = { begin_func },
                                          .cuda_funcs = { begin_func },
                                          .cuda_flags = { STARPU_CUDA_ASYNC },
                                          .nbuffers = 0 };

static void note_begun(void *arg)
{
    begun_at_end[(intptr_t)arg] = atomic_load(&begun);
}

/* Kernels on workers in turn; how long they took together, in us; -1: not submitted. */
static double run_kernels(const int *workers, int count, int kernels)
{
    double start = starpu_timing_now();
    int failed = 0;
    atomic_store(&begun, 0);
    for (int i = 0; i < kernels; i++)
        failed |= starpu_task_insert(&begin_cl, STARPU_EXECUTE_ON_WORKER, workers[i % count],
                                     STARPU_CALLBACK_WITH_ARG_NFREE, note_begun, (void *)(intptr_t)i, 0);
    failed |= starpu_task_wait_for_all();
    return failed ? -1 : starpu_timing_now() - start;
}

/* What is seen once was so; how many kernels had begun at the first's end, at most. */
static int most_begun(const int *workers, int count)
{
    enum { LOOKS = 20, ENOUGH = 3, KERNELS = 5 };
    int most = 0;
    for (int n = 0; n < LOOKS && most < ENOUGH; n++) {
        if (run_kernels(workers, count, KERNELS) < 0) return -1;
        if (begun_at_end[0] > most) most = begun_at_end[0];
    }
    return most;
}

static void several_under_way(void)
{
    int w = sim_worker(0);
    is_int(most_begun(&w, 1), 3, "a pipeline of 3: three kernels are under way when the first one ends");
    double us = run_kernels(&w, 1, 4);
    ok(us >= 20000., "they do not run beside each other: four of 5 ms take 20: %.0f us", us);
}

static void shared_by_two(void)
{
    int ids[STARPU_NMAXWORKERS];
    is_int(starpu_worker_get_stream_workerids(0, ids, STARPU_CUDA_WORKER), 2, "two workers share a device");
    double us = run_kernels(ids, 2, 4);
    ok(us >= 20000., "which is no faster for that: four kernels of 5 ms take 20: %.0f us", us);
}

int main(void)
{
    sim_start(1, &(struct sim_config){ "1", "64", "524.288", "10", NULL, NULL });
    presence();
    execution();
    nodes_of_data();
    private_buffers();
    transfer_time();
    starpu_shutdown();
    sim_start(1, &(struct sim_config){ "1", "64", "524.288", "10", "10000", NULL });
    kernel_time();
    overlap();
    starpu_shutdown();
    sim_setting("STARPU_CUDA_PIPELINE", "3");
    sim_start(1, &(struct sim_config){ "1", "64", NULL, NULL, "5000", NULL });
    several_under_way();
    starpu_shutdown();
    sim_setting("ORRERY_SIM_WORKERS_PER_DEVICE", "2");
    sim_start(1, &(struct sim_config){ "1", "64", NULL, NULL, "5000", NULL });
    shared_by_two();
    starpu_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = 0;
    conf.precedence_over_environment_variables = 1;
    is_int(starpu_init(&conf), 0, "the runtime starts without CUDA");
    ok(all_of(starpu_cuda_worker_get_count() == 0, starpu_memory_nodes_get_count() == 1),
       "ncuda = 0 leaves the simulated device out");
    starpu_shutdown();
    return done_testing();
}
