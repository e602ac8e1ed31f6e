/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several main memories, on a machine of hwloc's imagination with two NUMA nodes: each is a memory node, CPU
 * workers use data wherever they are in main memory, and what they write anew is near them.
 * Threads: main; four CPU workers, devices. Owns: data. Not here: random programs
 * (tests/long/memory_random.c), stores (memory_store.c).
 */
#include "tests/core/sim_helper.h"

enum { ELEMENTS = 4096, BYTES = ELEMENTS * 4, NUMA = 2 };
#define MIB ((size_t)1 << 20)

static uint32_t memory[ELEMENTS];
static const char machine[] = "package:2 numa:1 core:2 pu:1";

static void begin(const char *use_numa, const char *devices)
{
    setenv("HWLOC_SYNTHETIC", machine, 1);
    sim_setting("STARPU_USE_NUMA", use_numa);
    sim_start(4, &(struct sim_config){ devices, "64", "20000", "5", NULL, NULL });
}

/* What a body saw of its first datum. */
static struct {
    atomic_uintptr_t at, local;
    atomic_int node;
} seen;

static void look_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int add;
    starpu_codelet_unpack_args(arg, &add);
    for (int i = 0; i < ELEMENTS && add; i++) p[i] += (uint32_t)add;
    struct starpu_task *task = starpu_task_get_current();
    atomic_store(&seen.at, (uintptr_t)p);
    atomic_store(&seen.local, starpu_vector_get_local_ptr(task->handles[0]));
    atomic_store(&seen.node, starpu_task_get_current_data_node(0));
}
static void set_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < ELEMENTS; i++) p[i] = 0;
    look_func(buffers, arg);
}
#define WITH(function, mode)                                                                                 \
    {                                                                                                        \
        .cpu_funcs = { function }, .cuda_funcs = { function }, .nbuffers = 1, .modes = { mode }              \
    }
static struct starpu_codelet read_cl = WITH(look_func, STARPU_R), change_cl = WITH(look_func, STARPU_RW),
                             write_cl = WITH(set_func, STARPU_W);
static struct starpu_codelet local_cl = {
    .cpu_funcs = { look_func },
    .nbuffers = 1,
    .modes = { STARPU_R },
    .specific_nodes = 1,
    .nodes = { STARPU_SPECIFIC_NODE_LOCAL },
};

static void run(struct starpu_codelet *cl, starpu_data_handle_t h, int add, int worker)
{
    if (starpu_task_insert(cl, cl->modes[0], h, STARPU_VALUE, &add, sizeof add, STARPU_EXECUTE_ON_WORKER,
                           worker, 0))
        ok(false, "a task can be submitted");
    starpu_task_wait_for_all();
}

static bool holds(const uint32_t *p, uint32_t value)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (p[i] != value) return false;
    return true;
}

static starpu_ssize_t limits(const char *all, const char *each, const char *of_one, unsigned node)
{
    sim_setting("STARPU_LIMIT_CPU_MEM", all);
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", each);
    sim_setting("STARPU_LIMIT_CPU_NUMA_1_MEM", of_one);
    begin("1", "0");
    starpu_ssize_t total = starpu_memory_get_total(node);
    starpu_shutdown();
    return total;
}

static void the_nodes(void)
{
    char name[32];
    begin(NULL, "0");
    is_int(starpu_memory_nodes_get_count(), 1,
           "main memory is one node unless STARPU_USE_NUMA says otherwise");
    is_int(starpu_worker_get_memory_node(3), STARPU_MAIN_RAM, "of all CPU workers");
    starpu_shutdown();
    begin("1", "0");
    ok(all_of(starpu_memory_nodes_get_count() == NUMA, starpu_memory_nodes_get_numa_count() == NUMA,
              starpu_node_get_kind(1) == STARPU_CPU_RAM),
       "with it each NUMA node is a memory node");
    starpu_memory_node_get_name(1, name, sizeof name);
    ok(strcmp(name, "NUMA 1") == 0, "with a name");
    bool right = true;
    for (unsigned w = 0; w < 4; w++) right &= starpu_worker_get_memory_node(w) == w / 2;
    ok(right, "the node of a CPU worker is that of its core");
    ok(all_of(starpu_memory_nodes_numa_id_to_hwloclogid(1) == 1,
              starpu_memory_nodes_numa_id_to_hwloclogid(2) == -1,
              starpu_memory_nodes_numa_id_to_devid(1) == 1, starpu_memory_nodes_numa_id_to_devid(7) == -1,
              starpu_memory_nodes_numa_devid_to_id(1) == 1, starpu_memory_nodes_numa_devid_to_id(2) == -1),
       "numbers of the system, of hwloc and of memory nodes are found from each other");
    ok(all_of(starpu_memory_node_get_devid(1) == 1, starpu_memory_devid_find_node(1, STARPU_CPU_RAM) == 1),
       "the device of a main memory is the NUMA node");
    starpu_shutdown();
    is_int(limits("6", NULL, NULL, 1), 3 * MIB, "each has its part of STARPU_LIMIT_CPU_MEM");
    is_int(limits("6", "4", NULL, 1), 4 * MIB, "STARPU_LIMIT_CPU_NUMA_MEM is for each");
    is_int(limits("6", "4", "5", 1), 5 * MIB, "STARPU_LIMIT_CPU_NUMA_1_MEM for one");
    is_int(limits("6", "4", "5", 0), 4 * MIB, "and not for the other");
    limits(NULL, NULL, NULL, 0);
}

static void used_in_place(void)
{
    starpu_data_handle_t own, made;
    begin("1", "0");
    starpu_vector_data_register(&own, STARPU_MAIN_RAM, (uintptr_t)memory, ELEMENTS, 4);
    starpu_vector_data_register(&made, -1, 0, ELEMENTS, 4);
    run(&change_cl, own, 3, 3);
    ok(all_of(atomic_load(&seen.at) == (uintptr_t)memory, starpu_memory_get_used(1) == 0, holds(memory, 3)),
       "a worker of node 1 writes the program's memory in its place");
    run(&write_cl, made, 5, 2);
    uintptr_t first = atomic_load(&seen.at);
    ok(all_of(starpu_memory_get_used(1) == BYTES, starpu_memory_get_used(0) == 0),
       "what it writes anew is on node 1");
    ok(all_of(atomic_load(&seen.node) == 1, atomic_load(&seen.local) == first), "and the task can tell");
    run(&change_cl, made, 1, 0);
    ok(all_of(atomic_load(&seen.at) == first, atomic_load(&seen.node) == 1, atomic_load(&seen.local) == first,
              starpu_memory_get_used(0) == 0),
       "a worker of node 0 changes it there");
    is_int((int)starpu_data_expected_transfer_time(made, 0, STARPU_R), 0,
           "and policies know that nothing is moved");
    run(&local_cl, made, 0, 0);
    ok(all_of(atomic_load(&seen.at) != first, starpu_memory_get_used(0) == BYTES),
       "a codelet that wants it on its own node gets a copy");
    run(&change_cl, made, 1, 1);
    ok(all_of(!starpu_data_is_on_node(made, 1), starpu_data_is_on_node(made, 0)),
       "which then is used by its workers");
    run(&change_cl, made, 1, 2);
    starpu_data_acquire(made, STARPU_R);
    ok(holds((uint32_t *)starpu_data_get_local_ptr(made), 8), "and by all, with the latest value");
    starpu_data_release(made);
    starpu_data_unregister(made);
    starpu_data_unregister(own);
    ok(all_of(starpu_memory_get_used(0) == 0, starpu_memory_get_used(1) == 0),
       "at the end nothing is in use");
    starpu_shutdown();
}

static void other_homes(void)
{
    starpu_data_handle_t h;
    begin("1", "0");
    uintptr_t p = starpu_malloc_on_node(1, MIB); /* large enough to be bound */
    ok(all_of(p != 0, starpu_memory_get_used(1) == MIB), "memory can be had of either");
    memset((void *)p, 0, BYTES);
    starpu_vector_data_register(&h, 1, p, ELEMENTS, 4);
    ok(starpu_data_lookup((void *)p) == h, "data whose home is node 1 are found by their address");
    run(&change_cl, h, 4, 0);
    ok(all_of(atomic_load(&seen.at) == p, starpu_memory_get_used(0) == 0), "and are used there");
    starpu_data_acquire(h, STARPU_RW);
    ((uint32_t *)starpu_data_get_local_ptr(h))[0] = 4;
    starpu_data_release(h);
    starpu_data_unregister(h);
    ok(holds((uint32_t *)p, 4), "unregistered they are at home");
    starpu_free_on_node(1, p, MIB);
    starpu_shutdown();
}

static void with_devices(void)
{
    starpu_data_handle_t h;
    begin("1", "2");
    starpu_vector_data_register(&h, -1, 0, ELEMENTS, 4);
    run(&write_cl, h, 6, sim_worker(1));
    run(&read_cl, h, 0, sim_worker(0));
    ok(all_of(starpu_data_is_on_node(h, 0), !starpu_data_is_on_node(h, 1)),
       "data go from device to device by the main memory near the second");
    run(&write_cl, h, 7, sim_worker(1));
    starpu_data_unregister(h);
    starpu_vector_data_register(&h, -1, 0, ELEMENTS, 4);
    run(&write_cl, h, 7, sim_worker(1));
    starpu_data_evict_from_node(h, sim_node(1));
    while (starpu_data_is_on_node(h, sim_node(1))) starpu_usleep(100);
    ok(all_of(starpu_data_is_on_node(h, 1), !starpu_data_is_on_node(h, 0)),
       "what device 1 writes back goes to the main memory near it");
    run(&change_cl, h, 1, 0);
    ok(atomic_load(&seen.node) == 1, "where a CPU of the other uses it");
    starpu_data_unregister(h);
    starpu_shutdown();
}

static void full_ones(void)
{
    starpu_data_handle_t h[3];
    char mb[32];
    snprintf(mb, sizeof mb, "%.7f", (BYTES + 100) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", mb);
    begin("1", "0");
    for (int i = 0; i < 3; i++) starpu_vector_data_register(&h[i], -1, 0, ELEMENTS, 4);
    run(&write_cl, h[0], 1, 3);
    run(&write_cl, h[1], 2, 3);
    ok(all_of(starpu_data_is_on_node(h[0], 1), starpu_data_is_on_node(h[1], 0)),
       "what has no room on a worker's node is on another");
    for (int i = 0; i < 3; i++) starpu_data_unregister(h[i]);
    starpu_shutdown();
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", NULL);
}

/* There is room for one datum in each: workers of one node that see it at the same time get one place each.
 */
static void the_last_room(void)
{
    enum { ROUNDS = SCALED(300, 60) };
    starpu_data_handle_t h[NUMA];
    char mb[32];
    int right = 0, none = 0;
    snprintf(mb, sizeof mb, "%.7f", (BYTES + 100) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", mb);
    begin("1", "0");
    for (int i = 0; i < NUMA; i++) starpu_vector_data_register(&h[i], -1, 0, ELEMENTS, 4);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < NUMA; i++)
            starpu_task_insert(&write_cl, STARPU_W, h[i], STARPU_VALUE, &none, sizeof none,
                               STARPU_EXECUTE_ON_WORKER, 2 + i, 0);
        starpu_task_wait_for_all();
        right += starpu_data_is_on_node(h[0], 0) + starpu_data_is_on_node(h[0], 1) +
                     starpu_data_is_on_node(h[1], 0) + starpu_data_is_on_node(h[1], 1) ==
                 NUMA;
        for (int i = 0; i < NUMA; i++) starpu_data_invalidate(h[i]);
    }
    is_int(right, ROUNDS, "two workers that find the last room at once are both served");
    for (int i = 0; i < NUMA; i++) starpu_data_unregister(h[i]);
    starpu_shutdown();
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", NULL);
}

static uint64_t total;
static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet zero_cl = { .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };
static atomic_int elsewhere;
static void contribute_func(void *buffers[], void *arg UNUSED)
{
    int node = (int)starpu_worker_get_local_memory_node();
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[1]), 1, BYTES);
    for (unsigned i = 0; i < 2; i++)
        if (starpu_task_get_current_data_node(i) != node) atomic_fetch_add(&elsewhere, 1);
}
static struct starpu_codelet contribute_cl = { .cpu_funcs = { contribute_func },
                                               .nbuffers = 2,
                                               .modes = { STARPU_REDUX, STARPU_SCRATCH } };

static void parts_of_workers(void)
{
    starpu_data_handle_t sum, scratch;
    begin("1", "0");
    total = 10;
    starpu_variable_data_register(&sum, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    starpu_data_set_reduction_methods(sum, &sum_cl, &zero_cl);
    starpu_vector_data_register(&scratch, -1, 0, ELEMENTS, 4);
    for (int i = 0; i < 400; i++)
        starpu_task_insert(&contribute_cl, STARPU_REDUX, sum, STARPU_SCRATCH, scratch,
                           STARPU_EXECUTE_ON_WORKER, i % 4, 0);
    starpu_data_unregister(sum);
    starpu_data_unregister(scratch);
    is_int((int)total, 410, "contributions from all nodes are added up");
    is_int(atomic_load(&elsewhere), 0, "contributions and scratch memory are on the worker's node");
    starpu_shutdown();
}

int main(void)
{
    alarm(50);
    unsetenv("STARPU_NCPU");
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    the_nodes();
    used_in_place();
    other_homes();
    with_devices();
    full_ones();
    the_last_room();
    parts_of_workers();
    return done_testing();
}
