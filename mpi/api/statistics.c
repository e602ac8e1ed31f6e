/* SPDX-License-Identifier: BSD-3-Clause */
/* statistics.c: see statistics.h, and the public functions for it.
 * Threads: any. Owns: see statistics.h. Not here: see statistics.h. */
#include "mpi/api/statistics.h"

#include <starpu_mpi.h>
#include <stdio.h>

#include "core/base/env.h"
#include "mpi/api/session.h"
#include "mpi/value/message.h"

bool orr_statistics_wanted(void)
{
    return orr_env_long(ORR_SETTING(STARPU_MPI_STATS), 0, 0, 1) ||
           orr_env_long(ORR_SETTING(STARPU_COMM_STATS), 0, 0, 1);
}

void orr_statistics_show(struct orr_cluster *cl)
{
    const uint64_t *bytes = cl->engine.sent_bytes;
    uint64_t total = 0;
    for (int i = 0; i < cl->size; i++) total += bytes[i];
    fprintf(stderr, "[mpi stats] rank %d: %llu bytes sent in %llu messages\n", cl->rank,
            (unsigned long long)total, (unsigned long long)orr_engine_get_counts(&cl->engine).sent_messages);
    for (int i = 0; i < cl->size; i++)
        if (bytes[i])
            fprintf(stderr, "[mpi stats] rank %d -> %d: %llu bytes\n", cl->rank, i,
                    (unsigned long long)bytes[i]);
}

/* ---- public ---- */

/* A message counts when it was started while counting was on, whenever it leaves. */
void starpu_mpi_comm_stats_enable(void)
{
    if (orr_session_check("starpu_mpi_comm_stats_enable")) orr_messages_count(&orr_the_session.value, true);
}

void starpu_mpi_comm_stats_disable(void)
{
    if (orr_session_check("starpu_mpi_comm_stats_disable")) orr_messages_count(&orr_the_session.value, false);
}

void starpu_mpi_comm_stats_retrieve(size_t *comm_stats)
{
    if (!comm_stats || !orr_session_check("starpu_mpi_comm_stats_retrieve")) return;
    const uint64_t *bytes = orr_the_session.cluster.engine.sent_bytes; /* NULL once MPI is over */
    for (int i = 0; i < orr_the_session.cluster.size; i++) comm_stats[i] = bytes ? (size_t)bytes[i] : 0;
}
