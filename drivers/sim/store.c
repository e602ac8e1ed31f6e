/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c: a simulated store below main memory, as a disk would be: with its size, and the speed of simulated
 * devices. Off by default.
 * Threads: main. Owns: the store. Not here: its memory and copies (memory.c). */
#include "core/base/env.h"
#include "drivers/sim/faults.h"
#include "drivers/sim/memory.h"

static struct sim_memory store;
static struct sim_faults faults;
static bool is_open;

static int store_open(void)
{
    if (!orr_env_string(ORR_SETTING(ORRERY_SIM_STORE_MB))) return 0;
    double mb = orr_env_double(ORR_SETTING(ORRERY_SIM_STORE_MB), 0, 0, 1e6);
    if (mb <= 0) return 0;
    store.bandwidth_MB_per_s = orr_env_double(ORR_SETTING(ORRERY_SIM_BANDWIDTH_MB_S), 10000, 1e-3, 1e9);
    store.latency_us = orr_env_double(ORR_SETTING(ORRERY_SIM_LATENCY_US), 10, 0, 1e9);
    store.peers = false;
    orr_sim_faults_init(&faults, SIM_STORE);
    store.faults = &faults;
    int r = orr_sim_memory_init(&store, STARPU_DISK_RAM, 0, (size_t)(mb * 1048576.), "Disk 0");
    is_open = r == 0;
    return r;
}

static void store_close(void)
{
    if (is_open) orr_sim_memory_fini(&store);
    is_open = false;
}

const struct orr_store_ops orr_sim_store = { .open = store_open, .close = store_close };
