/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.c: see statistics.h, and the public functions for it.
 * Threads: any. Owns: see statistics.h. Not here: see statistics.h. */
#include "mpi/api/statistics.h"

#include <errno.h>
#include <starpu_mpi.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "mpi/api/comm.h"
#include "mpi/api/session.h"
#include "mpi/value/message.h"
#include "mpi/wire/event.h"
#include "mpi/wire/request.h"

enum { MATRIX_MOST = 64 }; /* ranks: of more there are only the lines of each */

struct sent {
    _Atomic uint64_t bytes, messages; /* [any: statistic] */
};

/* Of the session that the StarPU interface means. */
static struct sent *sent; /* by rank; NULL: nothing was counted since the start */
static int ranks;
static bool watches;          /* the observer is told */
static bool shows, shows_all; /* at the end: this rank, every rank */
static uint64_t began_ns;

/* ---- counting ---- */

/* A message left. The layer's own do not count, nor those that were started while counting was off. */
static void see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    const struct orr_request *r = e->subject;
    uint32_t rank = (uint32_t)e->b;
    if (r->uncounted || r->node.context & ORR_CONTEXT_UNCOUNTED || rank >= (uint32_t)ranks) return;
    orr_add_relaxed(&sent[rank].bytes, e->a);
    orr_add_relaxed(&sent[rank].messages, 1u);
}

static struct orr_observer observer = { .name = "messages",
                                        .see = see,
                                        .kinds = ORR_EVENT_BIT(MESSAGE_SENT) };

/* Messages count from now on that are not marked otherwise. One thread at a time. False: they cannot (said).
 */
static bool watch(int size)
{
    if (watches) return true;
    if (!sent) sent = orr_calloc((size_t)size, sizeof *sent);
    ranks = size;
    int r = sent ? orr_observer_add(&observer) : -ENOMEM;
    if (r)
        orr_error("what goes to other ranks cannot be counted: %s",
                  r == -ENOMEM ? "out of memory" : "there are too many observers");
    return watches = r == 0;
}

bool orr_statistics_begin(const struct orr_bootstrap *b)
{
    shows = orr_env_long(ORR_SETTING(STARPU_MPI_STATS), 0, 0, 1) ||
            orr_env_long(ORR_SETTING(STARPU_COMM_STATS), 0, 0, 1);
    shows_all = b->agree(b, shows) == 1;
    began_ns = orr_clock_ns();
    return shows && watch(b->size);
}

void orr_statistics_end(void)
{
    if (watches) orr_observer_remove(&observer);
    watches = false;
    orr_free(sent);
    sent = NULL;
}

/* ---- showing ---- */

/* What went from one rank to another. */
struct row {
    uint64_t bytes, messages;
};

static struct row row_of(int to)
{
    if (!sent) return (struct row){ 0 };
    return (struct row){ orr_load_relaxed(&sent[to].bytes), orr_load_relaxed(&sent[to].messages) };
}

static void show_mine(const struct orr_cluster *cl)
{
    struct row all = { 0 };
    for (int i = 0; i < cl->size; i++) {
        struct row r = row_of(i);
        all.bytes += r.bytes;
        all.messages += r.messages;
    }
    fprintf(stderr, "[mpi stats] rank %d: %llu bytes sent in %llu messages, in %.6f s\n", cl->rank,
            (unsigned long long)all.bytes, (unsigned long long)all.messages,
            (double)(orr_clock_ns() - began_ns) * 1e-9);
    for (int i = 0; i < cl->size; i++) {
        struct row r = row_of(i);
        if (r.messages)
            fprintf(stderr, "[mpi stats] rank %d -> %d: %llu bytes in %llu messages\n", cl->rank, i,
                    (unsigned long long)r.bytes, (unsigned long long)r.messages);
    }
}

/* What this rank did for others, and they for it. */
static void show_loans(const struct orr_cluster *cl)
{
    struct orr_lend_counts c = orr_lend_get_counts(&orr_the_session.lend);
    if (c.asked + c.lent + c.borrowed == 0) return;
    fprintf(stderr,
            "[mpi stats] rank %d: lent %llu tasks (%llu came back undone), %llu bytes to and fro, %llu data "
            "used in place; borrowed "
            "%llu; asked %llu times, %llu for nothing\n",
            cl->rank, (unsigned long long)c.lent, (unsigned long long)c.undone, (unsigned long long)c.bytes,
            (unsigned long long)c.in_place, (unsigned long long)c.borrowed, (unsigned long long)c.asked,
            (unsigned long long)c.refused);
}

static void print_cell(const struct row *r)
{
    char messages[24];
    snprintf(messages, sizeof messages, "(%llu)", (unsigned long long)r->messages);
    if (r->messages)
        fprintf(stderr, " %9.3f %8s", (double)r->bytes / (1 << 20), messages);
    else
        fprintf(stderr, " %9s %8s", "-", "");
}

static void print_matrix(const struct row *all, int size)
{
    fprintf(stderr,
            "[mpi stats] MiB (messages) from the rank of the line to that of the column\n[mpi stats]     ");
    for (int to = 0; to < size; to++) fprintf(stderr, " %9d %8s", to, "");
    for (int i = 0; i < size * size; i++) {
        if (i % size == 0) fprintf(stderr, "\n[mpi stats] %4d", i / size);
        print_cell(&all[i]);
    }
    fprintf(stderr, "\n");
}

/* Collective. Without memory on rank 0 there is none. */
static void show_matrix(const struct orr_cluster *cl, MPI_Comm comm)
{
    struct row mine[MATRIX_MOST], *all = NULL;
    int there = 1;
    for (int i = 0; i < cl->size; i++) mine[i] = row_of(i);
    if (cl->rank == 0) {
        all = orr_malloc((size_t)cl->size * (size_t)cl->size * sizeof *all);
        there = all != NULL;
    }
    orr_mpi_enter();
    if (MPI_Bcast(&there, 1, MPI_INT, 0, comm) == MPI_SUCCESS && there)
        MPI_Gather(mine, (int)((size_t)cl->size * sizeof *mine), MPI_BYTE, all,
                   (int)((size_t)cl->size * sizeof *mine), MPI_BYTE, 0, comm);
    orr_mpi_leave();
    if (all) print_matrix(all, cl->size);
    orr_free(all);
}

void orr_statistics_show(const struct orr_cluster *cl)
{
    MPI_Comm comm = orr_comm_mpi(cl->comm);
    if (shows) show_mine(cl);
    if (shows) show_loans(cl);
    if (shows_all && cl->size <= MATRIX_MOST && comm != MPI_COMM_NULL) show_matrix(cl, comm);
}

/* ---- public ---- */

/* A message counts when it was started while counting was on, whenever it leaves. */
void starpu_mpi_comm_stats_enable(void)
{
    if (!orr_session_check("starpu_mpi_comm_stats_enable")) return;
    if (watch(orr_the_session.cluster.size)) orr_messages_count(&orr_the_session.value, true);
}

void starpu_mpi_comm_stats_disable(void)
{
    if (orr_session_check("starpu_mpi_comm_stats_disable")) orr_messages_count(&orr_the_session.value, false);
}

void starpu_mpi_comm_stats_retrieve(size_t *comm_stats)
{
    if (!comm_stats || !orr_session_check("starpu_mpi_comm_stats_retrieve")) return;
    for (int i = 0; i < orr_the_session.cluster.size; i++) comm_stats[i] = (size_t)row_of(i).bytes;
}
