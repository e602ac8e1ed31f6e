/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * In builds with AddressSanitizer: after messages and tasks between ranks nothing of ours is leaked, and a
 * block lost on purpose is seen although Open MPI's leaks are not (tests/lsan.supp). Threads: main of each
 * rank. Owns: the lost block. Not here: other sanitizers' eyesight (tests/core/sanitizers.c).
 */
#include "tests/mpi/helper_mpi.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define leaks_now() __lsan_do_recoverable_leak_check()
#else
#define leaks_now() (-1)
#endif

static void add_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "add"
};

/* Tasks on each rank with data of the others, and a message round the ranks. */
static void work(void)
{
    enum { ROUNDS = 20 };
    int value = my_rank + 1, in = 0, next = (my_rank + 1) % ranks, previous = (my_rank + ranks - 1) % ranks;
    starpu_data_handle_t handles[2], h;
    for (int i = 0; i < 2; i++) register_owned(&handles[i], &value, 10 + i, i);
    for (int i = 0; i < ROUNDS; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &add_cl, STARPU_RW, handles[i % 2], STARPU_R,
                               handles[(i + 1) % 2], 0);
    for (int i = 0; i < 2; i++) starpu_data_unregister(handles[i]);
    register_int(&h, &in);
    starpu_mpi_irecv_detached(h, previous, 5, MPI_COMM_WORLD, NULL, NULL);
    starpu_data_handle_t out;
    register_int(&out, &value);
    starpu_mpi_isend_detached(out, next, 5, MPI_COMM_WORLD, NULL, NULL);
    starpu_data_unregister(h);
    starpu_data_unregister(out);
    fact(in != 0, "tasks and messages between the ranks work");
}

/* The address of a block of the library's, so that no pointer to it is left in memory. */
__attribute__((noinline)) static uintptr_t hidden(void)
{
    unsigned *volatile list = NULL;
    unsigned count = starpu_worker_get_sched_ctx_list(0, (unsigned **)&list);
    uintptr_t address = ~(uintptr_t)list;
    list = NULL;
    fact(count == 1, "the library hands out a block");
    return address;
}

/* Overwrites what calls left on the stack. */
__attribute__((noinline)) static void scrub(void)
{
    volatile char old[8192];
    for (size_t i = 0; i < sizeof old; i++) old[i] = 0;
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    if (leaks_now() < 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        starpu_mpi_shutdown();
        MPI_Finalize();
        if (my_rank == 0) skip_all("this build has no AddressSanitizer");
        return 0;
    }
    work();
    fact(leaks_now() == 0, "nothing is leaked");
    uintptr_t lost = hidden();
    scrub();
    int own_stderr = dup(2), seen = 0;
    if (freopen("/dev/null", "w", stderr)) seen = leaks_now() == 1;
    dup2(own_stderr, 2);
    fact(seen, "a lost block is seen");
    free((void *)~lost);
    return mpi_finish();
}
