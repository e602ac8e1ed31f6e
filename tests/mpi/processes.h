/* SPDX-License-Identifier: BSD-3-Clause */
/* processes.h: ranks without MPI: each is a process of the test, and they bootstrap by memory.
 * Threads: main of each process. Owns: that memory. Not here: facts. */
#ifndef ORR_TESTS_MPI_PROCESSES_H
#define ORR_TESTS_MPI_PROCESSES_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/wire/transport.h"

enum { PROCESSES_MAX = 4, SLOT_BYTES = 64 };

static struct processes {
    pthread_barrier_t barrier;
    int count;
    char slots[PROCESSES_MAX][SLOT_BYTES];
    int status[PROCESSES_MAX];
} * processes;

static bool is_mute; /* they cannot talk */

/* Memory that all of them see, zero; before they are there. */
static void *shared_memory(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void processes_init(int count)
{
    pthread_barrierattr_t attr;
    processes = shared_memory(sizeof *processes);
    processes->count = count;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&processes->barrier, &attr, (unsigned)count);
}

static void meet(void)
{
    pthread_barrier_wait(&processes->barrier);
}

static int all_gather(const struct orr_bootstrap *b, const void *mine, size_t bytes, void *all)
{
    memcpy(processes->slots[b->rank], mine, bytes);
    meet();
    for (int i = 0; i < b->size; i++) memcpy((char *)all + (size_t)i * bytes, processes->slots[i], bytes);
    meet();
    return is_mute ? -EIO : 0;
}

static int agree(const struct orr_bootstrap *b, int status)
{
    int worst = status;
    processes->status[b->rank] = status;
    meet();
    for (int i = 0; i < b->size; i++)
        if (processes->status[i] < worst) worst = processes->status[i];
    meet();
    return worst;
}

/* Runs fn as each rank, in a process of its own; the number of ranks for which it was true. */
static int on_all_ranks(bool (*fn)(const struct orr_bootstrap *b))
{
    int good = 0, status;
    fflush(stdout);
    for (int i = 0; i < processes->count; i++) {
        if (fork()) continue;
        struct orr_bootstrap b = {
            .rank = i, .size = processes->count, .all_gather = all_gather, .agree = agree
        };
        alarm(50);
        _exit(fn(&b) ? 0 : 1);
    }
    while (wait(&status) > 0) good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good;
}

#endif
