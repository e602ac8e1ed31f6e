/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit to main memory: what the runtime allocates for data counts, counted allocations of the program too;
 * beyond the limit they are refused, exceed it, or wait, as their flags say. Threads: main; a second one
 * waits for room; one worker. Owns: nothing. Not here: memory of devices (sim_device.c), the limit to
 * submitted tasks (limits.c).
 */
#include <pthread.h>
#include "tests/helper.h"

#define MIB ((size_t)1 << 20)
enum { LIMIT = 8, LARGE = 6 };

static void fill_func(void *buffers[], void *arg UNUSED)
{
    memset((void *)STARPU_VARIABLE_GET_PTR(buffers[0]), 1, LARGE * MIB);
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill"
};

static starpu_ssize_t limit_with(const char *numa_0, const char *numa, const char *cpu)
{
    static const char *const names[] = { "STARPU_LIMIT_CPU_NUMA_0_MEM", "STARPU_LIMIT_CPU_NUMA_MEM",
                                         "STARPU_LIMIT_CPU_MEM" };
    const char *values[] = { numa_0, numa, cpu };
    for (unsigned i = 0; i < LENGTH(names); i++)
        if (values[i])
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
    runtime_start(1, NULL);
    return starpu_memory_get_total(STARPU_MAIN_RAM);
}

static void names(void)
{
    is_int(limit_with(NULL, NULL, NULL), -1, "there is no limit when none is set");
    starpu_shutdown();
    is_int(limit_with(NULL, NULL, "3"), 3 * MIB, "STARPU_LIMIT_CPU_MEM sets one");
    starpu_shutdown();
    is_int(limit_with(NULL, "4", "3"), 4 * MIB, "STARPU_LIMIT_CPU_NUMA_MEM goes before it");
    starpu_shutdown();
    is_int(limit_with("5", "4", "3"), 5 * MIB, "STARPU_LIMIT_CPU_NUMA_0_MEM before both");
    starpu_shutdown();
}

static atomic_int got_room;

static void *allocate_waiting(void *arg)
{
    void **block = arg;
    int r = starpu_malloc_flags(block, LARGE * MIB, STARPU_MALLOC_COUNT | STARPU_MEMORY_WAIT);
    atomic_store(&got_room, r == 0 ? 1 : -1);
    return NULL;
}

static void flags(starpu_data_handle_t h)
{
    void *block = NULL;
    pthread_t thread;
    is_int(starpu_malloc_flags(&block, LARGE * MIB, STARPU_MALLOC_COUNT), -ENOMEM,
           "a counted allocation beyond the limit is -ENOMEM");
    ok(all_of(starpu_memory_get_used(STARPU_MAIN_RAM) == LARGE * MIB, !block), "and leaves nothing behind");
    is_int(starpu_malloc_flags(&block, LARGE * MIB, STARPU_MALLOC_COUNT | STARPU_MALLOC_NORECLAIM), 0,
           "with STARPU_MALLOC_NORECLAIM it exceeds the limit");
    is_int(starpu_memory_get_used(STARPU_MAIN_RAM), 2 * LARGE * MIB, "and is counted");
    is_int(starpu_memory_get_available(STARPU_MAIN_RAM), 0, "nothing is available then");
    if (block) memset(block, 2, LARGE * MIB);
    starpu_free_flags(block, LARGE * MIB, STARPU_MALLOC_COUNT);
    pthread_create(&thread, NULL, allocate_waiting, &block);
    usleep(50000);
    int early = atomic_load(&got_room);
    starpu_data_unregister(h);
    ok(all_of(early == 0, comes_to(&got_room, 1, 10000)),
       "with STARPU_MEMORY_WAIT it waits until data are gone");
    pthread_join(thread, NULL);
    starpu_free_flags(block, LARGE * MIB, STARPU_MALLOC_COUNT);
    is_int(starpu_memory_get_used(STARPU_MAIN_RAM), 0, "at the end nothing is in use");
}

int main(void)
{
    alarm(50);
    unsetenv("STARPU_NCPU");
    names();
    limit_with(NULL, "8", NULL);
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, -1, 0, LARGE * MIB);
    is_int(starpu_memory_get_used(STARPU_MAIN_RAM), 0, "data that nobody wrote take no memory");
    starpu_task_insert(&fill_cl, STARPU_W, h, 0);
    starpu_task_wait_for_all();
    is_int(starpu_memory_get_used(STARPU_MAIN_RAM), LARGE * MIB, "data that a task wrote count");
    is_int(starpu_memory_get_available(STARPU_MAIN_RAM), (LIMIT - LARGE) * MIB, "and leave the rest");
    flags(h);
    starpu_shutdown();
    return done_testing();
}
