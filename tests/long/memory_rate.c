/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Working sets many times larger than a memory: the result is right, and the time is not far from what the
 * link needs for the bytes: where nothing else runs, so not in make check. The best of a few runs counts.
 * Threads: main; workers. Owns: data. Not here: which copies go
 * (memory_store.c, memory_limit.c).
 */
#include "tests/core/sim_helper.h"

enum { ELEMENTS = 4096, BYTES = ELEMENTS * 4, COUNT = 200, SWEEPS = 2, TRIES = 6 };

static starpu_data_handle_t data[COUNT];

static void fill_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (uint32_t i = 0; i < ELEMENTS; i++) p[i] = i;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W } };

static void add_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (uint32_t i = 0; i < ELEMENTS; i++) p[i]++;
}
static struct starpu_codelet add_on_cpus_cl = { .cpu_funcs = { add_func },
                                                .nbuffers = 1,
                                                .modes = { STARPU_RW } };
static struct starpu_codelet add_on_devices_cl = { .cuda_funcs = { add_func },
                                                   .nbuffers = 1,
                                                   .modes = { STARPU_RW } };

static bool holds(int h, uint32_t more)
{
    if (starpu_data_acquire(data[h], STARPU_R)) return false;
    const uint32_t *p = (const uint32_t *)starpu_data_get_local_ptr(data[h]);
    bool right = true;
    for (uint32_t i = 0; i < ELEMENTS; i++) right &= p[i] == i + more;
    starpu_data_release(data[h]);
    return right;
}

/* Changes all data twice; each time each comes in, and goes out: the bytes one way over the bandwidth is what
 * the link needs. Returns the part of the time that is. */
static double rate(struct starpu_codelet *cl, int count, double bandwidth_MB_s, bool *right_out)
{
    for (int h = 0; h < count; h++) {
        starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
        starpu_task_insert(&fill_cl, STARPU_W, data[h], 0);
    }
    starpu_task_wait_for_all();
    double start = starpu_timing_now();
    for (int s = 0; s < SWEEPS; s++)
        for (int h = 0; h < count; h++) starpu_task_insert(cl, STARPU_RW, data[h], 0);
    starpu_task_wait_for_all();
    double us = starpu_timing_now() - start, needed_us = (double)SWEEPS * count * BYTES / bandwidth_MB_s;
    for (int h = 0; h < count; h++) *right_out &= holds(h, SWEEPS);
    for (int h = 0; h < count; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
    return needed_us / us;
}

static void mb(char text[32], double bytes)
{
    snprintf(text, 32, "%.7f", bytes / 1048576.);
}

static void device(void)
{
    char room[32];
    bool right = true;
    double best = 0;
    mb(room, COUNT / 10 * BYTES + 100);
    for (int i = 0; i < TRIES && best < 0.6; i++) {
        sim_setting("STARPU_LIMIT_CPU_MEM", NULL);
        sim_setting("ORRERY_SIM_STORE_MB", NULL);
        sim_start(1, &(struct sim_config){ "1", room, "10", "10", NULL, NULL });
        double r = rate(&add_on_devices_cl, COUNT, 10, &right);
        diag("ten times a device's memory: %.2f of what the link allows", r);
        if (r > best) best = r;
    }
    ok(right, "a working set ten times a device's memory is worked on rightly");
    ok(best >= 0.6, "at 60%% or more of what the link allows");
}

static void store(void)
{
    char room[32];
    bool right = true;
    double best = 0;
    mb(room, COUNT / 5 * BYTES + 100);
    for (int i = 0; i < TRIES && best < 0.6; i++) {
        sim_setting("STARPU_LIMIT_CPU_MEM", room);
        sim_setting("ORRERY_SIM_STORE_MB", "64");
        sim_start(2, &(struct sim_config){ "0", NULL, "10", "10", NULL, NULL });
        double r = rate(&add_on_cpus_cl, COUNT, 10, &right);
        diag("five times the limit of main memory: %.2f of what the link allows", r);
        if (r > best) best = r;
    }
    ok(right, "a working set five times the limit of main memory is worked on rightly");
    ok(best >= 0.6, "at 60%% or more of what the link allows");
}

int main(void)
{
    device();
    store();
    return done_testing();
}
