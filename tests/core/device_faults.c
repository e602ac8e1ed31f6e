/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices that fail while they work, as ORRERY_SIM_FAIL asks for: copies that do not arrive. Threads: main
 * and the workers. Owns: the data of each case. Not here: devices that do not open (devices.c).
 */
#include "tests/core/sim_graph.h"

enum { WORDS = 1 << 14 };

static void start(const char *fail, const char *devices, const char *peers, const char *policy)
{
    sim_setting("ORRERY_SIM_FAIL", fail);
    sim_start_as(1, &(struct sim_config){ devices, "16", "2000", "1", NULL, peers }, NULL, policy);
}

static bool all_are(const uint32_t *at, uint32_t value)
{
    for (int i = 0; i < WORDS; i++)
        if (at[i] != value) return false;
    return true;
}

static void fill(uint32_t *at, uint32_t value)
{
    for (int i = 0; i < WORDS; i++) at[i] = value;
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *at = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < WORDS; i++) at[i]++;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .cuda_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }
};
static void look_func(void *buffers[], void *arg)
{
    *(bool *)arg = all_are((const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), 6);
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look_func }, .cuda_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_R }
};

static uint32_t words[WORDS];

/* ---- copies ---- */

static void one_copy(void)
{
    starpu_data_handle_t h;
    start("copy:0:1", "1", NULL, NULL);
    fill(words, 6);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)words, WORDS, sizeof words[0]);
    is_int(starpu_data_fetch_on_node(h, sim_node(0), 0), -EIO,
           "who brings data by a copy that fails is told");
    ok(!starpu_data_is_on_node(h, sim_node(0)), "and there is no copy");
    is_int(starpu_data_fetch_on_node(h, sim_node(0), 0), 0, "the next one comes");
    starpu_data_unregister(h);
    ok(all_are(words, 6), "nothing was lost");
    starpu_shutdown();
}

/* Slices of a block that is part of a larger one: each is a copy of its own, of which the first fails. */
static void one_part_of_a_copy(void)
{
    starpu_data_handle_t h;
    enum { N = 8, LD = 12 };
    start("copy:0:1", "1", NULL, NULL);
    starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)words, LD, LD * LD, N, N, N, sizeof words[0]);
    is_int(starpu_data_fetch_on_node(h, sim_node(0), 0), -EIO,
           "a copy of eight parts, of which one fails, fails");
    is_int(starpu_data_fetch_on_node(h, sim_node(0), 0), 0, "the next one comes");
    starpu_data_unregister(h);
    starpu_shutdown();
}

static struct starpu_task *task_on(struct starpu_codelet *cl, starpu_data_handle_t h, int worker)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = h;
    task->execute_on_a_specific_worker = worker >= 0;
    task->workerid = worker >= 0 ? (unsigned)worker : 0;
    return task;
}

/* Device 0 writes (copy 1), device 1 reads from it (copy 2); then device 0 cannot be read (copy 3). */
static void another_source(void)
{
    starpu_data_handle_t h;
    bool seen = false;
    start("copy:0:3", "2", "1", NULL);
    fill(words, 5);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)words, WORDS, sizeof words[0]);
    struct starpu_task *write = task_on(&add_cl, h, sim_worker(0)),
                       *read = task_on(&look_cl, h, sim_worker(1));
    read->cl_arg = &seen;
    int failed = starpu_task_submit(write);
    failed |= starpu_task_submit(read);
    failed |= starpu_task_wait_for_all();
    failed |= starpu_data_acquire(h, STARPU_R);
    bool right = all_are(words, 6);
    if (!failed) starpu_data_release(h);
    starpu_data_unregister(h);
    ok(all_of(!failed, seen, right), "where one device cannot be read, the copy of another is brought");
    starpu_shutdown();
}

/* Device 0's only copy cannot be brought home, once. */
static void no_other_source(void)
{
    starpu_data_handle_t h;
    start("copy:0:2", "1", NULL, NULL);
    fill(words, 5);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)words, WORDS, sizeof words[0]);
    starpu_task_submit(task_on(&add_cl, h, sim_worker(0)));
    starpu_task_wait_for_all();
    ok(starpu_data_acquire(h, STARPU_R) < 0, "who acquires data that cannot be brought is told");
    int again = starpu_data_acquire(h, STARPU_R);
    bool right = again == 0 && all_are(words, 6);
    if (again == 0) starpu_data_release(h);
    starpu_data_unregister(h);
    ok(right, "and gets them when they can be brought after all");
    starpu_shutdown();
}

int main(void)
{
    one_copy();
    one_part_of_a_copy();
    another_source();
    no_other_source();
    return done_testing();
}
