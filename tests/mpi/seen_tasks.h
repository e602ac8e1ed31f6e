/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of tasks that keep their data share: bodies that write and read whole vectors, and data of
 * starpu_malloc, which ranks of a node see. Threads: main, and workers. Owns: how many values were wrong.
 * Not here: what is tested (seen_kept.c, seen_lent.c).
 */
#ifndef ORR_TESTS_SEEN_TASKS_H
#define ORR_TESTS_SEEN_TASKS_H

#include <unistd.h>

#include "tests/mpi/helper_mpi.h"

enum { COUNT = 16384, READ_US = 300 };

static int wrong;

static void write_body(void *buffers[], void *arg)
{
    uint64_t value, *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int i = 0; i < COUNT; i++) p[i] = value;
}

static void read_body(void *buffers[], void *arg)
{
    uint64_t value;
    const uint64_t *p = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i += 16)
            if (*(volatile const uint64_t *)&p[i] != value) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        starpu_usleep(READ_US / 2);
    }
}

static void nap_body(void *buffers[], void *arg)
{
    int us;
    (void)buffers;
    starpu_codelet_unpack_args(arg, &us);
    usleep((unsigned)us);
}

static starpu_data_handle_t make(starpu_mpi_tag_t tag, int owner, size_t count)
{
    starpu_data_handle_t h;
    void *memory = NULL;
    if (owner == my_rank) {
        starpu_malloc(&memory, count * sizeof(uint64_t));
        memset(memory, 0, count * sizeof(uint64_t));
    }
    starpu_vector_data_register(&h, memory ? STARPU_MAIN_RAM : -1, (uintptr_t)memory, (uint32_t)count,
                                sizeof(uint64_t));
    starpu_mpi_data_register(h, tag, owner);
    return h;
}

static void end(starpu_data_handle_t h, size_t count)
{
    void *memory = starpu_data_get_local_ptr(h);
    bool mine = starpu_mpi_data_get_rank(h) == my_rank;
    starpu_data_unregister(h);
    if (mine) starpu_free_noflag(memory, count * sizeof(uint64_t));
}

#endif
