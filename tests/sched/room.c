/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policies that use models and a device whose memory is small: what never fits is not sent there, and room
 * that others have to make by writing back counts as time.
 * Threads: main; a CPU worker and a device's. Owns: its data. Not here: time, transfers, energy
 * (dm_devices.c).
 */
#include "tests/core/sim_helper.h"
#include "tests/sched/device_models.h"

enum { MIB = 1 << 20, BLOCKS = 4, HALF = MIB / 2 };

static atomic_int on_cpu, on_device;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(
        starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER ? &on_cpu : &on_device, 1);
}
static struct starpu_codelet write_cl = { .cpu_funcs = { count_func },
                                          .cuda_funcs = { count_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_W },
                                          .model = &time_model };

static struct starpu_codelet twice_cl = { .cpu_funcs = { count_func },
                                          .cuda_funcs = { count_func },
                                          .nbuffers = 2,
                                          .modes = { STARPU_W, STARPU_R },
                                          .model = &time_model };

/* Writes data anew: nothing is to be brought. Where it ran: 1 on the device, 0 on the CPU. */
static int writes(starpu_data_handle_t h)
{
    int before = atomic_load(&on_device);
    if (starpu_task_insert(&write_cl, STARPU_W, h, 0) != 0) return -1;
    starpu_task_wait_for_all();
    return atomic_load(&on_device) - before;
}

static atomic_int attempts; /* to get memory on the device */
static starpu_ssize_t allocate(void *interface, unsigned node)
{
    if (node != STARPU_MAIN_RAM) atomic_fetch_add(&attempts, 1);
    return starpu_interface_vector_ops.allocate_data_on_node(interface, node);
}

static starpu_data_handle_t vector(size_t bytes)
{
    static struct starpu_data_interface_ops ops;
    struct starpu_vector_interface v = {
        .id = STARPU_VECTOR_INTERFACE_ID, .nx = (uint32_t)bytes, .elemsize = 1, .allocsize = bytes
    };
    starpu_data_handle_t h;
    ops = starpu_interface_vector_ops;
    ops.allocate_data_on_node = allocate;
    starpu_data_register(&h, -1, &v, &ops);
    return h;
}

static void room(const char *policy)
{
    static const struct sim_config small = {
        .devices = "1", .mem_mb = "2", .bandwidth_MB_s = "100", .latency_us = "1"
    };
    starpu_data_handle_t h[BLOCKS + 2], large;
    sim_start_as(1, &small, NULL, policy);
    number[CPU_TIME] = 3000, number[CUDA_TIME] = 300;
    large = vector(3 * MIB);
    for (unsigned i = 0; i < BLOCKS + 2; i++) h[i] = vector(HALF);
    ok(all_of(writes(large) == 0, atomic_load(&attempts) == 0),
       "%s: what never fits the device is not sent there, though it is faster", policy);
    starpu_data_handle_t half = vector(MIB + HALF);
    writes(half);
    starpu_task_insert(&twice_cl, STARPU_W, half, STARPU_R, half, 0);
    starpu_task_wait_for_all();
    is_int(on_device, 2, "%s: what is named twice takes its place once", policy);
    starpu_data_unregister(half);
    int there = 0;
    for (unsigned i = 0; i < BLOCKS; i++) there += writes(h[i]);
    is_int(there, BLOCKS, "%s: while there is room the device has all", policy);
    is_int(writes(h[BLOCKS]), 0, "%s: a block that would have to be written back takes longer than the CPU",
           policy);
    is_int(writes(h[0]), 1, "%s: what has its place there already does not", policy);
    for (unsigned i = 0; i < BLOCKS; i++) starpu_data_fetch_on_node(h[i], STARPU_MAIN_RAM, 0);
    is_int(writes(h[BLOCKS + 1]), 1, "%s: nor do copies that others have as well", policy);
    for (unsigned i = 0; i < BLOCKS + 2; i++) starpu_data_unregister(h[i]);
    starpu_data_unregister(large);
    atomic_store(&attempts, 0);
    atomic_store(&on_device, 0);
    starpu_shutdown();
}

int main(void)
{
    static const char *const policies[] = { "dmda", "dmdas", "modular-heft", "pheft" };
    alarm(60);
    for (unsigned i = 0; i < LENGTH(policies); i++) room(policies[i]);
    return done_testing();
}
