/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies that wait for a link: the more urgent ones pass the others. The link of a simulated device is slow,
 * so that many wait.
 * Threads: main; one CPU worker, one device. Owns: data. Not here: prefetches among themselves
 * (memory_policies.c), memory that is short (memory_hungry.c).
 */
#include "tests/core/sim_helper.h"

enum { COUNT = 24, WORDS = 1 << 17, BYTES = WORDS * 4 };

static uint32_t memory[COUNT][WORDS];
static starpu_data_handle_t data[COUNT];
static atomic_int came, came_first;

static void begin(void)
{
    sim_start(1, &(struct sim_config){ "1", "64", "80", "1", NULL, NULL });
    for (int i = 0; i < COUNT; i++) {
        memory[i][0] = (uint32_t)i;
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)memory[i], WORDS, 4);
    }
    atomic_store(&came, 0);
    atomic_store(&came_first, -1);
}

static bool end(void)
{
    bool right = true;
    for (int i = 0; i < COUNT; i++) {
        starpu_data_unregister(data[i]);
        right &= memory[i][0] == (uint32_t)i;
    }
    starpu_shutdown();
    return right;
}

static void give_back(void *h)
{
    atomic_fetch_add(&came, 1);
    starpu_data_release_on_node(h, (int)sim_node(0));
}

static void acquire_all(int count)
{
    for (int i = 0; i < count; i++)
        starpu_data_acquire_on_node_cb(data[i], (int)sim_node(0), STARPU_R, give_back, data[i]);
}

static void look_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_store(&came_first, atomic_load(&came));
}
static struct starpu_codelet look_cl = {
    .cuda_funcs = { look_func }, .cpu_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_R }
};

static void look_at(starpu_data_handle_t h)
{
    starpu_task_insert(&look_cl, STARPU_R, h, STARPU_EXECUTE_ON_WORKER, sim_worker(0), 0);
    starpu_task_wait_for_all();
}

static void wait_for_all_to_come(int count)
{
    while (atomic_load(&came) < count) usleep(500);
}

static void behind_prefetches(void)
{
    int there = 0;
    begin();
    for (int i = 0; i < COUNT - 1; i++) starpu_data_prefetch_on_node(data[i], sim_node(0), 1);
    int r = starpu_data_fetch_on_node(data[COUNT - 1], sim_node(0), 0);
    for (int i = 0; i < COUNT - 1; i++) {
        int valid = 0;
        starpu_data_query_status(data[i], (int)sim_node(0), NULL, &valid, NULL);
        there += valid;
    }
    ok(all_of(r == 0, there < COUNT / 2), "a fetch passes prefetches (%d of %d were there)", there,
       COUNT - 1);
    ok(end(), "and nothing is lost");
}

static void behind_acquisitions(void)
{
    begin();
    acquire_all(COUNT - 1);
    look_at(data[COUNT - 1]);
    int first = atomic_load(&came_first);
    ok(all_of(first >= 0, first < COUNT / 2),
       "what a task loads passes what the program asked for (%d of %d)", first, COUNT - 1);
    wait_for_all_to_come(COUNT - 1);
    ok(end(), "which comes all the same");
}

static void urged(void)
{
    begin();
    acquire_all(COUNT);
    look_at(data[COUNT - 1]);
    int first = atomic_load(&came_first);
    ok(all_of(first >= 0, first < COUNT / 2), "a copy that waits goes ahead once a task loads it (%d of %d)",
       first, COUNT);
    wait_for_all_to_come(COUNT);
    ok(end(), "of all others, which come as well");
}

/* Copies down wait apart from those up. */
static void both_ways(void)
{
    starpu_data_handle_t down;
    begin();
    starpu_vector_data_register(&down, -1, 0, WORDS, 4);
    starpu_data_acquire_on_node(down, (int)sim_node(0), STARPU_W);
    starpu_data_release_on_node(down, (int)sim_node(0));
    acquire_all(COUNT);
    starpu_data_acquire(down, STARPU_R);
    int first = atomic_load(&came);
    ok(first < COUNT / 2, "a copy from the device does not wait for those to it (%d of %d)", first, COUNT);
    starpu_data_release(down);
    starpu_data_unregister(down);
    wait_for_all_to_come(COUNT);
    ok(end(), "and all of them come");
}

static atomic_int entered;

/* On the device's worker, which does nothing else meanwhile. */
static void until_all_there_func(void *buffers[] UNUSED, void *arg)
{
    int *there = arg, valid;
    atomic_store(&entered, 1);
    for (int naps = 0; *there < COUNT && naps < 10000; naps++) {
        *there = 0;
        for (int i = 0; i < COUNT; i++) {
            starpu_data_query_status(data[i], (int)sim_node(0), NULL, &valid, NULL);
            *there += valid;
        }
        usleep(1000);
    }
}
static struct starpu_codelet until_all_there_cl = { .cuda_funcs = { until_all_there_func } };

/* Main sleeps outside of the runtime. */
static void nobody_looks(void)
{
    int there = 0;
    begin();
    atomic_store(&entered, 0);
    struct starpu_task *t = starpu_task_create();
    t->cl = &until_all_there_cl;
    t->cl_arg = &there;
    t->detach = 0;
    int r = starpu_task_submit(t);
    while (r == 0 && !atomic_load(&entered)) usleep(500);
    for (int i = 0; i < COUNT; i++) starpu_data_prefetch_on_node(data[i], sim_node(0), 1);
    while (r == 0 && !starpu_task_finished(t)) usleep(500);
    if (r == 0) r = starpu_task_wait(t);
    ok(all_of(r == 0, there == COUNT),
       "copies come while the device's worker is in a kernel and nobody looks (%d of %d)", there, COUNT);
    ok(end(), "and are right");
}

static void touch_func(void *buffers[], void *arg UNUSED)
{
    *(uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]) += 1000;
}
static struct starpu_codelet touch_cl = { .cuda_funcs = { touch_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };

static bool comes_to_main(starpu_data_handle_t h)
{
    int valid = 0;
    for (int naps = 0; !valid && naps < 10000; naps++) {
        starpu_data_query_status(h, STARPU_MAIN_RAM, NULL, &valid, NULL);
        if (!valid) usleep(1000);
    }
    return valid;
}

/* One more than fit on the device: what has to leave next is written back already, so that writing and
 * reading go on at the same time. */
static void few_fit(void)
{
    enum { FIT = 8 };
    sim_start(1, &(struct sim_config){ "1", "4.001", "1000", "1", NULL, NULL });
    for (int i = 0; i <= FIT; i++) {
        memory[i][0] = (uint32_t)i;
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)memory[i], WORDS, 4);
        starpu_task_insert(&touch_cl, STARPU_RW, data[i], 0);
        if (i >= FIT - 1) starpu_task_wait_for_all();
    }
    ok(comes_to_main(data[1]), "where few fit, what leaves next is written back while there is time");
    ok(starpu_data_is_on_node(data[1], (int)sim_node(0)), "and stays until its room is needed");
    bool right = true;
    for (int i = 0; i <= FIT; i++) {
        starpu_data_unregister(data[i]);
        right &= memory[i][0] == (uint32_t)i + 1000;
    }
    ok(right, "and all come back");
    starpu_shutdown();
}

int main(void)
{
    alarm(50);
    if (getenv("ORR_TEST_CUDA")) skip_all("the double's links are not slow");
    behind_prefetches();
    behind_acquisitions();
    urged();
    both_ways();
    nobody_looks();
    few_fit();
    return done_testing();
}
