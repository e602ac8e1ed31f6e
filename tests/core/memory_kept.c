/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of devices: what data gave back is used again where allocating takes long, and what was brought for
 * a task that is queued goes last. Threads: main; workers. Owns: data. Not here: which copies are valid
 * (coherency_random.c).
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/core/sim_helper.h"

enum { ELEMENTS = 4096, BYTES = ELEMENTS * 4, ROOM = 4, COUNT = 2 * ROOM };

static starpu_data_handle_t data[COUNT];
static atomic_int as_left;

static void start(int cpus)
{
    char room[32];
    snprintf(room, sizeof room, "%.7f", (ROOM * BYTES + 100) / 1048576.);
    sim_start(cpus, &(struct sim_config){ "1", room, "20", "1", NULL, NULL });
}

/* Counts buffers that are as data of the same size left them. */
static void look_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]),
             n = (uint32_t)STARPU_VECTOR_GET_NX(buffers[0]);
    bool same = true;
    for (uint32_t i = 0; same && i < n; i++) same = p[i] == n + i;
    atomic_fetch_add(&as_left, same);
    for (uint32_t i = 0; i < n; i++) p[i] = n + i;
}
static struct starpu_codelet look_cl = { .cuda_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_W } };

/* Whether a task on the device could write a new datum. */
static bool write_new(uint32_t elements)
{
    starpu_vector_data_register(&data[0], -1, 0, elements, 4);
    bool well = starpu_task_insert(&look_cl, STARPU_W, data[0], 0) == 0 && starpu_task_wait_for_all() == 0;
    starpu_data_unregister_no_coherency(data[0]);
    return well;
}

static void what_is_kept(void)
{
    sim_setting("ORRERY_SIM_KEEP", "1");
    start(1);
    bool well = true;
    for (int i = 0; i < 4; i++) well &= write_new(ELEMENTS);
    ok(all_of(well, atomic_load(&as_left) == 3),
       "memory of a device that data gave back is used again as it is");
    is_int((long long)starpu_memory_get_used(sim_node(0)), 0, "meanwhile it counts for nobody");
    ok(write_new(ROOM * ELEMENTS), "it goes when the room is needed for another size");
    starpu_memchunk_tidy(sim_node(0));
    atomic_store(&as_left, 0);
    well = write_new(ROOM * ELEMENTS);
    ok(all_of(well, atomic_load(&as_left) == 0), "and when the program tidies up");
    starpu_shutdown();
    sim_setting("ORRERY_SIM_KEEP", NULL);
}

/* Of many data at a time, and of more sizes than are kept. */
static void many_are_kept(void)
{
    enum { MANY = 200, SIZES = 100 };
    static starpu_data_handle_t many[MANY];
    sim_setting("ORRERY_SIM_KEEP", "1");
    sim_start(1, &(struct sim_config){ "1", "16", "20", "1", NULL, NULL });
    int failed = 0;
    atomic_store(&as_left, 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            starpu_vector_data_register(&many[i], -1, 0, ELEMENTS, 4);
            failed |= starpu_task_insert(&look_cl, STARPU_W, many[i], 0);
        }
        failed |= starpu_task_wait_for_all();
        for (int i = 0; i < MANY; i++) starpu_data_unregister_no_coherency(many[i]);
    }
    ok(all_of(!failed, atomic_load(&as_left) == MANY), "the memory of %d data is used again", MANY);
    bool well = true;
    for (uint32_t n = 1; n <= SIZES; n++) well &= write_new(ELEMENTS + n);
    atomic_store(&as_left, 0);
    for (int i = 0; i < 4; i++) well &= write_new(2 * ELEMENTS);
    ok(all_of(well, atomic_load(&as_left) == 3),
       "after %d sizes that came once, one that comes again is kept", SIZES);
    starpu_shutdown();
    sim_setting("ORRERY_SIM_KEEP", NULL);
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (uint32_t i = 0; i < ELEMENTS; i++) p[i]++;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { look_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet add_cl = { .cuda_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW } };

/* Adds to some on the device; whether datum 0 was there all the time. */
static bool add_to(int first, int end)
{
    bool there = true;
    for (int h = first; h < end; h++) {
        starpu_task_insert(&add_cl, STARPU_RW, data[h], 0);
        starpu_task_wait_for_all();
        there &= starpu_data_is_on_node(data[0], sim_node(0)) != 0;
    }
    return there;
}

static bool holds(int h, uint32_t more)
{
    if (starpu_data_acquire(data[h], STARPU_R)) return false;
    const uint32_t *p = (const uint32_t *)starpu_data_get_local_ptr(data[h]);
    bool right = true;
    for (uint32_t i = 0; i < ELEMENTS; i++) right &= p[i] == ELEMENTS + i + more;
    starpu_data_release(data[h]);
    return right;
}

/* Datum 0 is brought for a task that has not run; then the device is used for others, more than it holds. */
static void what_is_awaited(void)
{
    start(1);
    unsigned node = sim_node(0);
    int cpu = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
    for (int h = 0; h < COUNT; h++) {
        starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
        starpu_task_insert(&fill_cl, STARPU_W, data[h], STARPU_EXECUTE_ON_WORKER, cpu, 0);
    }
    starpu_task_wait_for_all();
    struct starpu_task *task = starpu_task_create();
    task->cl = &add_cl;
    task->handles[0] = data[0];
    starpu_prefetch_task_input_on_node(task, node);
    for (int i = 0; i < 20000 && !starpu_data_is_on_node_excluding_prefetch(data[0], node); i++)
        starpu_usleep(100);
    ok(add_to(1, COUNT), "what was brought for a task that is queued stays, though others were used later");
    bool submitted = starpu_task_submit(task) == 0;
    starpu_task_wait_for_all();
    ok(all_of(submitted, !add_to(1, COUNT)), "when the task has run it goes in its turn");
    ok(all_of(holds(0, 1), holds(1, 2), holds(COUNT - 1, 2)), "and all values are right");
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
}

int main(void)
{
    alarm(60);
    what_is_kept();
    many_are_kept();
    what_is_awaited();
    return done_testing();
}
