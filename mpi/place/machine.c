/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c: see machine.h. Threads: see machine.h. Owns: see machine.h. Not here: see machine.h. */
#include "mpi/place/machine.h"

#include <errno.h>
#include <limits.h>
#include <starpu.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "mpi/wire/host.h"

/* ---- the table ---- */

void orr_machines_fini(struct orr_machines *m)
{
    orr_free(m->first);
    orr_free(m->node);
    orr_free(m->worker);
    *m = (struct orr_machines){ 0 };
}

int orr_machines_make(struct orr_machines *m, int ranks, const int *workers)
{
    *m = (struct orr_machines){ .ranks = ranks };
    if (ranks < 1) return -EINVAL;
    for (int r = 0; r < ranks; r++) {
        if (workers[r] < 0 || workers[r] > INT_MAX - m->workers) return -EINVAL;
        m->workers += workers[r];
    }
    m->first = orr_malloc(((size_t)ranks + 1) * sizeof *m->first);
    m->node = orr_malloc((size_t)ranks * sizeof *m->node);
    m->worker = orr_calloc((size_t)m->workers + 1, sizeof *m->worker);
    if (!m->first || !m->node || !m->worker) {
        orr_machines_fini(m);
        return -ENOMEM;
    }
    m->first[0] = 0;
    for (int r = 0; r < ranks; r++) {
        m->first[r + 1] = m->first[r] + workers[r];
        m->node[r] = r;
        for (int i = 0; i < workers[r]; i++) {
            struct orr_machine_worker *w = &m->worker[m->first[r] + i];
            w->type = STARPU_CPU_WORKER;
            snprintf(w->name, sizeof w->name, "CPU %d", i);
        }
    }
    return 0;
}

int orr_machines_rank_of(const struct orr_machines *m, int number)
{
    int low = 0, high = m->ranks;
    if (number < 0 || number >= m->workers) return -1;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        *(m->first[middle] <= number ? &low : &high) = middle;
    }
    return low;
}

int orr_machines_count(const struct orr_machines *m, int rank, enum starpu_worker_archtype type)
{
    int begin = rank < 0 ? 0 : m->first[rank], end = rank < 0 ? m->workers : m->first[rank + 1], count = 0;
    if (type == STARPU_ANY_WORKER) return end - begin;
    for (int i = begin; i < end; i++) count += m->worker[i].type == (uint8_t)type;
    return count;
}

/* ---- that of this job ---- */

/* What each rank says before its workers. */
struct hello {
    uint64_t host;
    int32_t workers;
};

/* Of a name like "Mini 0 (what its device is)" the part before that. */
static void describe(struct orr_machine_worker *w, int id)
{
    char name[64];
    w->type = (uint8_t)starpu_worker_get_type(id);
    starpu_worker_get_name(id, name, sizeof name);
    name[strcspn(name, "(")] = 0;
    size_t length = strlen(name);
    while (length && name[length - 1] == ' ') name[--length] = 0;
    snprintf(w->name, sizeof w->name, "%.*s", (int)sizeof w->name - 1, name);
}

/* Ranks with the same host have the same number; the first rank of each gives it. */
static void number_nodes(struct orr_machines *m, const struct hello *all)
{
    int count = 0;
    for (int r = 0; r < m->ranks; r++) {
        int first = 0;
        while (first < r && (!all[r].host || all[first].host != all[r].host)) first++;
        m->node[r] = first < r ? m->node[first] : count++;
    }
}

/* rows: `most` places for each rank. */
static void fill(struct orr_machines *m, const struct hello *all, const struct orr_machine_worker *rows,
                 int most)
{
    number_nodes(m, all);
    for (int r = 0; r < m->ranks; r++)
        for (int i = 0; i < all[r].workers; i++) {
            struct orr_machine_worker *w = &m->worker[m->first[r] + i];
            *w = rows[(size_t)r * (size_t)most + (size_t)i];
            w->name[sizeof w->name - 1] = 0;
        }
}

/* With the sizes of all known. */
static int gather_workers(struct orr_machines *m, const struct orr_bootstrap *b, const struct hello *all)
{
    int most = 1, *counts = orr_malloc((size_t)b->size * sizeof *counts);
    for (int r = 0; r < b->size; r++) most = all[r].workers > most ? all[r].workers : most;
    for (int r = 0; r < b->size && counts; r++) counts[r] = all[r].workers;
    size_t row = (size_t)most * sizeof *m->worker;
    struct orr_machine_worker *mine = orr_calloc(1, row), *rows = orr_malloc((size_t)b->size * row);
    int r = counts && mine && rows ? orr_machines_make(m, b->size, counts) : -ENOMEM;
    for (int i = 0; !r && i < all[b->rank].workers; i++) describe(&mine[i], i);
    r = b->agree(b, r);
    if (!r) r = b->all_gather(b, mine, row, rows);
    if (!r) fill(m, all, rows, most);
    orr_free(rows);
    orr_free(mine);
    orr_free(counts);
    return r;
}

int orr_machines_gather(struct orr_machines *m, const struct orr_bootstrap *b)
{
    struct hello me = { .host = orr_host_number(), .workers = (int32_t)starpu_worker_get_count() },
                 *all = orr_malloc((size_t)b->size * sizeof *all);
    *m = (struct orr_machines){ 0 };
    int r = b->agree(b, all ? 0 : -ENOMEM);
    if (!r) r = b->all_gather(b, &me, sizeof me, all);
    if (!r) r = gather_workers(m, b, all);
    if (r) orr_machines_fini(m);
    if (r == -ENOMEM) orr_error("starpu_mpi_init: out of memory for the table of the workers of all ranks");
    orr_free(all);
    return r;
}
