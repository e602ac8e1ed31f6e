/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.c: see cores.h. Threads: see cores.h. Owns: see cores.h. Not here: see cores.h. */
#include "mpi/api/cores.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/topo/topo.h"
#include "core/worker/worker.h"

/* ---- sharing ---- */

/* Of workers that run. */
static void claim_what_runs(struct orr_share_claim *c)
{
    memset(&c->allowed, 0, sizeof c->allowed);
    for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
        int p = starpu_cpu_os_index(starpu_worker_get_bindid((int)w));
        if (p < 0 || p >= ORR_SHARE_PROCESSORS) continue;
        orr_share_add(&c->allowed, (unsigned)p);
        c->core[p] = (uint16_t)p;
    }
}

/* claims: room for all on the node. */
static void share(MPI_Comm node, int rank, int size, const struct starpu_conf *conf, bool runs,
                  struct orr_share_claim *claims, struct orr_processors *shares)
{
    struct orr_share_claim *mine = &claims[rank];
    memset(mine, 0, sizeof *mine);
    mine->wanted = runs ? 0 : orr_cores_wanted(conf);
    if (runs)
        claim_what_runs(mine);
    else
        orr_topo_claim(mine); /* what fails claims nothing; starpu_init will say it */
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, claims, (int)sizeof *claims, MPI_BYTE, node);
    if (!runs) orr_topo_take(orr_share_out(claims, (unsigned)size, shares) ? &mine->allowed : &shares[rank]);
}

void orr_cores_share(MPI_Comm comm, const struct starpu_conf *conf, bool runs)
{
    MPI_Comm node;
    int rank, size, ready, all_ready = 0;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS) return;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    struct orr_share_claim *claims = orr_malloc((size_t)size * sizeof *claims);
    struct orr_processors *shares = orr_malloc((size_t)size * sizeof *shares);
    ready = claims && shares;
    MPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, node);
    if (!runs) orr_topo_share((unsigned)rank, (unsigned)size);
    if (all_ready) share(node, rank, size, conf, runs, claims, shares);
    orr_free(shares);
    orr_free(claims);
    MPI_Comm_free(&node);
}

/* ---- telling ---- */

enum { DEVICES = 32, TEXT = 1536 };

/* What a rank has. */
struct got {
    int rank;
    unsigned workers, devices;
    uint16_t processor[STARPU_NMAXWORKERS]; /* of each worker */
    uint8_t kind[DEVICES], number[DEVICES];
};

static bool knows_device(const struct got *g, unsigned kind, unsigned number)
{
    for (unsigned i = 0; i < g->devices; i++)
        if (g->kind[i] == kind && g->number[i] == number) return true;
    return false;
}

static void look_at_workers(struct got *g)
{
    unsigned n = starpu_worker_get_count();
    for (unsigned w = 0; w < n; w++) {
        int p = starpu_cpu_os_index(starpu_worker_get_bindid((int)w));
        if (p >= 0 && p < ORR_SHARE_PROCESSORS) g->processor[g->workers++] = (uint16_t)p;
        unsigned kind = (unsigned)starpu_worker_get_type((int)w);
        unsigned number = (unsigned)starpu_worker_get_devid((int)w);
        if (kind == STARPU_CPU_WORKER || g->devices == DEVICES || knows_device(g, kind, number)) continue;
        g->kind[g->devices] = (uint8_t)kind;
        g->number[g->devices++] = (uint8_t)number;
    }
}

/* "rank 1: cores 4-7", and the devices, appended to text; returns the new length. */
static size_t add_rank(char *text, size_t at, const struct got *g)
{
    struct orr_processors set = { { 0 } };
    char list[160];
    for (unsigned w = 0; w < g->workers; w++) orr_share_add(&set, g->processor[w]);
    orr_share_text(&set, list, sizeof list);
    at += (size_t)snprintf(text + at, TEXT - at, "%srank %d: %s %s", at ? "; " : "", g->rank,
                           strpbrk(list, ",-") ? "cores" : "core", *list ? list : "none");
    for (unsigned i = 0; i < g->devices && at < TEXT; i++)
        at += (size_t)snprintf(text + at, TEXT - at, ", %s %u",
                               starpu_worker_get_type_as_env_var((enum starpu_worker_archtype)g->kind[i]),
                               g->number[i]);
    return at < TEXT ? at : TEXT - 1;
}

static void tell_parts(const struct got *all, int size, const char *node)
{
    enum { SHOWN = 32 };
    char text[TEXT] = "", more[48] = "";
    size_t at = 0;
    for (int i = 0; i < size && i < SHOWN; i++) at = add_rank(text, at, &all[i]);
    if (size > SHOWN) snprintf(more, sizeof more, "; and %d more ranks", size - SHOWN);
    orr_note("node %s is shared: %s%s", node, text, more);
}

/* Who is on cores that more than one worker has. */
static void warn_of_cores(const struct got *all, int size, const char *node)
{
    static uint16_t load[ORR_SHARE_PROCESSORS];
    unsigned cores = 0, workers = 0, ranks = 0, cores_of_all = 0;
    memset(load, 0, sizeof load);
    for (int i = 0; i < size; i++)
        for (unsigned w = 0; w < all[i].workers; w++) load[all[i].processor[w]]++;
    for (unsigned p = 0; p < ORR_SHARE_PROCESSORS; p++) {
        cores += load[p] > 1;
        workers += load[p] > 1 ? load[p] : 0;
        cores_of_all += load[p] > 0;
    }
    if (cores == 0) return;
    for (int i = 0; i < size; i++) {
        bool shares = false;
        for (unsigned w = 0; w < all[i].workers; w++) shares |= load[all[i].processor[w]] > 1;
        ranks += shares;
    }
    char mend[200];
    if (cores_of_all >= (unsigned)size)
        snprintf(
            mend, sizeof mend,
            "set STARPU_NCPU=%u (or starpu_conf.ncpus), or let the launcher give each rank cores of its own "
            "(mpirun --bind-to core --map-by slot:PE=%u)",
            cores_of_all / (unsigned)size, cores_of_all / (unsigned)size);
    else
        snprintf(mend, sizeof mend, "start at most %u ranks here", cores_of_all);
    orr_warn(
        "%u rank%s with %u workers share %u core%s on node %s: each of these workers has %.2g of a core; %s",
        ranks, ranks == 1 ? "" : "s", workers, cores, cores == 1 ? "" : "s", node, (double)cores / workers,
        mend);
}

static void warn_of_devices(const struct got *all, int size, const char *node)
{
    unsigned shared = 0, users = 0;
    const struct got *first = NULL;
    unsigned which = 0;
    for (int i = 0; i < size; i++)
        for (unsigned d = 0; d < all[i].devices; d++) {
            unsigned before = 0, after = 0;
            for (int j = 0; j < size; j++)
                *(j < i ? &before : &after) += knows_device(&all[j], all[i].kind[d], all[i].number[d]);
            if (before || after < 2) continue;
            shared++;
            users += after;
            if (!first) which = d, first = &all[i];
        }
    if (!first) return;
    const char *kind = starpu_worker_get_type_as_env_var((enum starpu_worker_archtype)first->kind[which]);
    orr_warn(
        "%u device%s of node %s (%s %u%s) are used by %u ranks: each computes for one rank at a time; start "
        "fewer ranks here, or set STARPU_N%s=0 on some",
        shared, shared == 1 ? "" : "s", node, kind, first->number[which], shared == 1 ? "" : "...", users,
        kind);
}

void orr_cores_tell(MPI_Comm comm)
{
    static bool told;
    MPI_Comm node;
    int rank, size, ready, all_ready = 0;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS) return;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    struct got *mine = orr_calloc(1, sizeof *mine);
    struct got *all = rank == 0 ? orr_malloc((size_t)size * sizeof *all) : mine;
    ready = mine && all;
    MPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, node);
    if (all_ready && size > 1) {
        char name[256] = "";
        MPI_Comm_rank(comm, &mine->rank);
        look_at_workers(mine);
        MPI_Gather(mine, (int)sizeof *mine, MPI_BYTE, all, (int)sizeof *mine, MPI_BYTE, 0, node);
        gethostname(name, sizeof name - 1);
        if (rank == 0 && !told) {
            tell_parts(all, size, name);
            warn_of_cores(all, size, name);
            warn_of_devices(all, size, name);
        }
        told = true;
    }
    if (all != mine) orr_free(all);
    orr_free(mine);
    MPI_Comm_free(&node);
}
