/* SPDX-License-Identifier: BSD-3-Clause */
/* api/workers.c: the public functions that look up the workers of all ranks.
 * Threads: any between init and shutdown. Owns: nothing. Not here: the table (place/machine.c). */
#include <errno.h>
#include <orrery.h>
#include <stdio.h>

#include "mpi/api/session.h"

/* NULL: the layer does not run (said). */
static const struct orr_machines *table(const char *fn)
{
    return orr_session_check(fn) ? orr_the_session.place.machines : NULL;
}

/* Its rank; -EINVAL or -ESHUTDOWN (said). */
static int look_up(const struct orr_machines *m, int worker, const char *fn)
{
    if (!m) return -ESHUTDOWN;
    int rank = orr_machines_rank_of(m, worker);
    if (rank >= 0) return rank;
    orr_error("%s: the cluster has no worker %d; it has %d", fn, worker, m->workers);
    return -EINVAL;
}

int orrery_cluster_worker_get_count(void)
{
    const struct orr_machines *m = table(__func__);
    return m ? m->workers : -ESHUTDOWN;
}

int orrery_cluster_worker_get_count_by_type(enum starpu_worker_archtype type)
{
    const struct orr_machines *m = table(__func__);
    return m ? orr_machines_count(m, -1, type) : -ESHUTDOWN;
}

int orrery_cluster_worker_get_first(void)
{
    const struct orr_machines *m = table(__func__);
    return m ? m->first[orr_the_session.cluster.rank] : -ESHUTDOWN;
}

int orrery_cluster_worker_get_id(void)
{
    const struct orr_machines *m = table(__func__);
    int own = starpu_worker_get_id();
    if (!m) return -ESHUTDOWN;
    return own < 0 ? -1 : orr_machines_number(m, orr_the_session.cluster.rank, own);
}

int orrery_cluster_worker_get_rank(int worker)
{
    return look_up(table(__func__), worker, __func__);
}

int orrery_cluster_worker_get_local_id(int worker)
{
    const struct orr_machines *m = table(__func__);
    int rank = look_up(m, worker, __func__);
    return rank < 0 ? rank : worker - m->first[rank];
}

int orrery_cluster_worker_get_type(int worker)
{
    const struct orr_machines *m = table(__func__);
    int rank = look_up(m, worker, __func__);
    return rank < 0 ? rank : m->worker[worker].type;
}

int orrery_cluster_worker_get_number(int rank, int workerid)
{
    const struct orr_machines *m = table(__func__);
    int number = m ? orr_machines_number(m, rank, workerid) : -ESHUTDOWN;
    if (number != -1) return number;
    orr_error("%s: rank %d has no worker %d", __func__, rank, workerid);
    return -EINVAL;
}

int orrery_cluster_worker_get_name(int worker, char *dst, size_t bytes)
{
    const struct orr_machines *m = table(__func__);
    int rank = look_up(m, worker, __func__);
    if (rank < 0) return rank;
    if (!dst || !bytes) {
        orr_error("%s: there is no room for the name", __func__);
        return -EINVAL;
    }
    snprintf(dst, bytes, "%s", m->worker[worker].name);
    return 0;
}

int orrery_task_set_cluster_worker(struct starpu_task *task, int worker)
{
    const struct orr_machines *m = table(__func__);
    int rank = look_up(m, worker, __func__);
    if (rank < 0) return rank;
    if (!task) {
        orr_error("%s: the task is NULL", __func__);
        return -EINVAL;
    }
    task->execute_on_a_specific_worker = rank == orr_the_session.cluster.rank;
    if (task->execute_on_a_specific_worker) task->workerid = (unsigned)(worker - m->first[rank]);
    return rank;
}
