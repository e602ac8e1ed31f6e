/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices and their workers: several that share one device and its memory, and devices that do not open, for
 * which there is no worker. Threads: main and the workers; cases without a usual start in children. Owns: the
 * data of each case. Not here: what fails later (device_faults.c), copies and kernels (sim_device.c).
 */
#include "tests/core/misuse.h"
#include "tests/core/sim_graph.h"

enum { SHARERS = 2, BLOCK = 1 << 18, BLOCKS = 24 };

/* ---- sharing ---- */

static atomic_int ran_on[STARPU_NMAXWORKERS];

static void add_func(void *buffers[], void *arg UNUSED)
{
    unsigned char *at = (unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < BLOCK; i += 4096) at[i]++;
    atomic_fetch_add(&ran_on[starpu_worker_get_id()], 1);
}
static struct starpu_codelet add_cl = { .cuda_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW } };

static void names_and_numbers(void)
{
    int ids[STARPU_NMAXWORKERS], devids[4];
    char first[64], second[64];
    is_int(starpu_cuda_worker_get_count(), 2 * SHARERS, "two devices shared by two workers each: 4 workers");
    is_int(starpu_memory_nodes_get_count(), 3, "and one memory for each device beside main memory");
    is_int(starpu_worker_get_devids(STARPU_CUDA_WORKER, devids, 4), 2, "of two numbers");
    is_int(starpu_worker_get_stream_workerids(1, ids, STARPU_CUDA_WORKER), SHARERS,
           "device 1 has two workers");
    ok(all_of(starpu_worker_get_devid(ids[0]) == 1, starpu_worker_get_devid(ids[1]) == 1), "which say so");
    ok(all_of(starpu_worker_get_memory_node((unsigned)ids[0]) ==
                  starpu_worker_get_memory_node((unsigned)ids[1]),
              starpu_worker_get_memory_node((unsigned)ids[0]) != sim_node(0)),
       "and have the same memory node, which is not the other device's");
    ok(all_of(starpu_worker_get_subworkerid(ids[0]) == 0, starpu_worker_get_subworkerid(ids[1]) == 1),
       "they are its workers 0 and 1");
    starpu_worker_get_name(ids[0], first, sizeof first);
    starpu_worker_get_name(ids[1], second, sizeof second);
    ok(all_of(strncmp(first, "CUDA 1.0 ", 9) == 0, strncmp(second, "CUDA 1.1 ", 9) == 0), "called %s and %s",
       first, second);
}

/* Blocks of 6 MiB in memory of 1: both workers evict what the other brought. */
static void eviction(void)
{
    static unsigned char blocks[BLOCKS][BLOCK];
    starpu_data_handle_t handles[BLOCKS];
    int ids[STARPU_NMAXWORKERS], failed = 0, wrong = 0;
    starpu_worker_get_stream_workerids(0, ids, STARPU_CUDA_WORKER);
    for (int i = 0; i < BLOCKS; i++)
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)blocks[i], BLOCK, 1);
    for (int n = 0; n < 3; n++)
        for (int i = 0; i < BLOCKS; i++)
            failed |= starpu_task_insert(&add_cl, STARPU_RW, handles[i], STARPU_EXECUTE_ON_WORKER,
                                         ids[(i + n) % SHARERS], 0);
    failed |= starpu_task_wait_for_all();
    for (int i = 0; i < BLOCKS; i++) {
        starpu_data_unregister(handles[i]);
        for (int at = 0; at < BLOCK; at += 4096) wrong += blocks[i][at] != 3;
    }
    is_int(failed ? -1 : wrong, 0, "two workers run on one memory that holds a sixth of their data");
    ok(all_of(atomic_load(&ran_on[ids[0]]) == 3 * BLOCKS / 2, atomic_load(&ran_on[ids[1]]) == 3 * BLOCKS / 2),
       "each what was bound to it");
}

static void prefetch(void)
{
    static unsigned char block[BLOCK];
    starpu_data_handle_t h;
    int ids[STARPU_NMAXWORKERS], failed = 0;
    starpu_worker_get_stream_workerids(0, ids, STARPU_CUDA_WORKER);
    unsigned node = starpu_worker_get_memory_node((unsigned)ids[0]);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)block, BLOCK, 1);
    failed |= starpu_data_prefetch_on_node(h, node, 1);
    for (int i = 0; i < 10; i++)
        failed |= starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, ids[i % 2], 0);
    failed |= starpu_task_wait_for_all();
    uint64_t moved = starpu_data_is_on_node(h, node);
    starpu_data_unregister(h);
    ok(all_of(!failed, moved, block[0] == 10), "what was prefetched for one is used by both in turn");
}

static void graphs(void)
{
    static const char *const policies[] = { "eager", "dmda", "lws", "modular-eager-prefetching" };
    for (size_t i = 0; i < LENGTH(policies); i++) {
        int failed;
        sim_start_as(1, &(struct sim_config){ "2", "0.25", "5000", "1", "20", NULL }, NULL, policies[i]);
        bool right = graph_is_right(2, &failed);
        starpu_shutdown();
        ok(all_of(!failed, right), "%s: a factorisation on a CPU and 4 workers of 2 devices", policies[i]);
    }
}

/* ---- devices that do not open ---- */

static int start_failing(int cpus, const char *fail)
{
    struct starpu_conf conf;
    setenv("ORRERY_SIM_DEVICES", "3", 1);
    setenv("ORRERY_SIM_FAIL", fail, 1);
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.precedence_over_environment_variables = 1;
    return starpu_init(&conf);
}

static bool one_does_not_open(void)
{
    int devids[4] = { -1, -1, -1, -1 }, failed;
    char name[64];
    if (!returns(start_failing(1, "open:1"), 0)) return false;
    bool there = returns(starpu_worker_get_count(), 3) && returns(starpu_cuda_worker_get_count(), 2) &&
                 returns(starpu_memory_nodes_get_count(), 3) &&
                 returns(starpu_worker_get_devids(STARPU_CUDA_WORKER, devids, 4), 2) &&
                 returns(devids[1], 2) && returns(starpu_worker_get_by_devid(STARPU_CUDA_WORKER, 1), -1);
    starpu_worker_get_name(2, name, sizeof name);
    there &= strncmp(name, "CUDA 2 ", 7) == 0;
    bool right = graph_is_right(1, &failed);
    starpu_shutdown();
    return there && right && !failed;
}

static bool none_opens(void)
{
    struct starpu_codelet cl = { .cuda_funcs = { add_func }, .nbuffers = 0, .name = "device_only" };
    if (!returns(start_failing(1, "open:0,open:1,open:2"), 0)) return false;
    bool there = returns(starpu_worker_get_count(), 1) && returns(starpu_memory_nodes_get_count(), 1) &&
                 returns(starpu_task_insert(&cl, 0), -ENODEV);
    starpu_shutdown();
    return there;
}

static bool nobody_is_left(void)
{
    if (!returns(start_failing(0, "open:0,open:1,open:2"), -ENODEV)) return false;
    if (starpu_is_initialized()) return false;
    return returns(start_failing(0, "open:0"), 0) && returns(starpu_worker_get_count(), 2) &&
           (starpu_shutdown(), true);
}

static bool bad_setting(void)
{
    if (!returns(start_failing(1, "open:1,frobnicate:2"), 0)) return false;
    bool there = returns(starpu_cuda_worker_get_count(), 3);
    starpu_shutdown();
    return there;
}

static const struct misuse failing[] = {
    { "a device does not open: one line, no worker, no memory; the graph runs on the others",
      one_does_not_open, 0 },
    { "no device opens: the CPU goes on, and tasks for devices are refused", none_opens, LINES },
    { "nor is there a CPU: -ENODEV, and the next start works", nobody_is_left, LINES },
    { "a fault that does not exist is one line, and none fails", bad_setting, 0 },
};

int main(void)
{
    sim_setting("ORRERY_SIM_WORKERS_PER_DEVICE", "2");
    sim_start(1, &(struct sim_config){ "2", "1", "10000", "1", NULL, NULL });
    names_and_numbers();
    eviction();
    prefetch();
    starpu_shutdown();
    graphs();
    sim_setting("ORRERY_SIM_WORKERS_PER_DEVICE", NULL);
    return misuse_check_all(failing, LENGTH(failing));
}
