/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that data gave back and gets again: without page faults, of the right size and alignment, within
 * ORRERY_RECYCLE_MEM, and given up by starpu_memchunk_tidy and starpu_shutdown. Threads: main, one worker.
 * Owns: nothing. Not here: limits to what is in use (memory_limit.c).
 */
#include <malloc.h>
#include <sys/resource.h>
#include "tests/helper.h"

#define MIB ((size_t)1 << 20)
enum { BLOCKS = 16 };

static uintptr_t blocks[BLOCKS];

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Allocates, writes and frees so many blocks; returns the page faults. -1: something went wrong. */
static long round_of(unsigned count, size_t bytes)
{
    long before = faults();
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = starpu_malloc_on_node(STARPU_MAIN_RAM, bytes);
        if (!blocks[i]) return -1;
        memset((void *)blocks[i], (int)i + 1, bytes);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned char *p = (unsigned char *)blocks[i];
        if (p[0] != i + 1 || p[bytes / 2] != i + 1 || p[bytes - 1] != i + 1) return -1;
        starpu_free_on_node(STARPU_MAIN_RAM, blocks[i], bytes);
    }
    return faults() - before;
}

static int is_reused(size_t first_bytes, size_t then_bytes)
{
    uintptr_t first = starpu_malloc_on_node(STARPU_MAIN_RAM, first_bytes);
    starpu_free_on_node(STARPU_MAIN_RAM, first, first_bytes);
    uintptr_t then = starpu_malloc_on_node(STARPU_MAIN_RAM, then_bytes);
    int ample = malloc_usable_size((void *)then) >= then_bytes;
    starpu_free_on_node(STARPU_MAIN_RAM, then, then_bytes);
    return ample && first == then;
}

static void set_func(void *buffers[], void *arg UNUSED)
{
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 7, STARPU_VECTOR_GET_NX(buffers[0]));
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};

/* Page faults of tasks that fill data without a home, which is then dropped. */
static long faults_of_data(void)
{
    starpu_data_handle_t h[BLOCKS];
    int failed = 0;
    long before = faults();
    for (unsigned i = 0; i < BLOCKS; i++) {
        starpu_vector_data_register(&h[i], -1, 0, (uint32_t)(MIB / 2), 1);
        failed |= starpu_task_insert(&set_cl, STARPU_W, h[i], 0);
    }
    starpu_task_wait_for_all(); /* so that all have memory at the same time */
    for (unsigned i = 0; i < BLOCKS; i++) starpu_data_unregister(h[i]);
    return failed ? -1 : faults() - before;
}

static void start_with(const char *limit_MiB)
{
    if (limit_MiB)
        setenv("ORRERY_RECYCLE_MEM", limit_MiB, 1);
    else
        unsetenv("ORRERY_RECYCLE_MEM");
    runtime_start(1, NULL);
}

/* Sanitizers keep freed memory for a while, and have page faults of their own: what is counted says nothing
 * then. */
static int faults_count(void)
{
    const char *build = getenv("ORR_SANITIZER");
    return !build || strcmp(build, "none") == 0;
}

static int is_warm(long count)
{
    return count >= 0 && (count < BLOCKS * 16 || !faults_count());
}

static int is_cold(long count, long cold)
{
    return count >= 0 && (count > cold / 4 || !faults_count());
}

int main(void)
{
    alarm(50);
    mallopt(M_MMAP_THRESHOLD, MIB / 2); /* what is not kept goes back to the system, wherever it lies */
    start_with(NULL);
    long cold = round_of(BLOCKS, MIB), second = round_of(BLOCKS, MIB);
    ok(all_of(cold >= 0, is_warm(second)), "blocks given back are used again: %ld faults, then %ld", cold,
       second);
    ok(is_reused(3 * MIB, 3 * MIB), "a block serves the same size");
    ok(all_of(!is_reused(5 * MIB, 6 * MIB), !is_reused(8 * MIB, 7 * MIB)), "and no other");
    long first = faults_of_data();
    second = faults_of_data();
    ok(all_of(first >= 0, is_warm(second)), "data without a home too: %ld faults, then %ld", first, second);
    size_t used = starpu_memory_get_used(STARPU_MAIN_RAM);
    is_int(used, 0, "what is kept does not count as used");
    starpu_malloc_set_align(MIB);
    uintptr_t aligned = starpu_malloc_on_node(STARPU_MAIN_RAM, 3 * MIB);
    ok(all_of(aligned, aligned % MIB == 0), "a block that is not aligned enough is not used");
    starpu_free_on_node(STARPU_MAIN_RAM, aligned, 3 * MIB);
    starpu_memchunk_tidy(STARPU_MAIN_RAM);
    second = round_of(BLOCKS, MIB);
    ok(is_cold(second, cold), "starpu_memchunk_tidy gives them up: %ld faults", second);
    starpu_shutdown();

    start_with("4");
    round_of(BLOCKS, MIB);
    second = round_of(BLOCKS, MIB);
    ok(is_cold(second, cold), "ORRERY_RECYCLE_MEM=4 keeps 4 MiB: %ld faults", second);
    round_of(4, MIB);
    second = round_of(4, MIB);
    ok(is_warm(second), "and those are used: %ld faults", second);
    starpu_shutdown();

    start_with("0");
    round_of(BLOCKS, MIB);
    second = round_of(BLOCKS, MIB);
    ok(is_cold(second, cold), "ORRERY_RECYCLE_MEM=0 keeps nothing: %ld faults", second);
    starpu_shutdown();
    return done_testing();
}
