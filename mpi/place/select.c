/* SPDX-License-Identifier: BSD-3-Clause */
/* select.c: see select.h. Policy 0 is built in: the rank that owns most of the bytes that would otherwise be
 * sent.
 * Threads: the thread that submits. Owns: the table of policies. Not here: ownership (owner.c). */
#include "mpi/place/select.h"

#include <errno.h>
#include <starpu.h>

#include "core/base/log.h"
#include "core/data/data.h"
#include "mpi/value/ownership.h"

enum { POLICIES_MAX = 64 };

static orr_select_fn policies[POLICIES_MAX];
static int current;

/* What a rank need not receive, or send back, for a task that runs on it. */
static size_t bytes_saved(const struct starpu_data_descr *d)
{
    int transfers = ((d->mode & STARPU_R) != 0) + ((d->mode & STARPU_W) != 0);
    return transfers ? (size_t)transfers * d->handle->ops->get_size(d->handle) : 0;
}

/* Few different owners appear in one task: their sums are found by looking, whatever the number of ranks. */
static int most_read_data(const struct orr_comm *c, struct starpu_data_descr *descr, int nb_data)
{
    int best = -1;
    size_t best_bytes = 0;
    for (int i = 0; i < nb_data; i++) {
        int owner = descr[i].handle ? orr_owned_rank(c, descr[i].handle) : -1;
        size_t bytes = 0;
        if (owner < 0 || owner >= c->size) continue;
        for (int k = 0; k < nb_data; k++)
            if (descr[k].handle && orr_owned_rank(c, descr[k].handle) == owner)
                bytes += bytes_saved(&descr[k]);
        if (best < 0 || bytes > best_bytes || (bytes == best_bytes && owner < best)) {
            best = owner;
            best_bytes = bytes;
        }
    }
    return best < 0 ? 0 : best;
}

int orr_select(const struct orr_comm *c, struct starpu_data_descr *data, int count, int policy)
{
    if (policy < 0) policy = current;
    if (policy == 0) return most_read_data(c, data, count);
    orr_select_fn fn = policy < POLICIES_MAX ? policies[policy] : NULL;
    if (!fn) {
        orr_error(
            "starpu_mpi_task_insert: there is no node selection policy %d; register it first, on all ranks",
            policy);
        return -EINVAL;
    }
    int rank = fn(c->rank, c->size, data, count);
    if (rank >= 0 && rank < c->size) return rank;
    orr_error("starpu_mpi_task_insert: node selection policy %d chose rank %d of %d", policy, rank, c->size);
    return -EINVAL;
}

int orr_select_register(orr_select_fn fn)
{
    if (!fn) {
        orr_error("starpu_mpi_node_selection_register_policy: the function is NULL");
        return -EINVAL;
    }
    for (int i = 1; i < POLICIES_MAX; i++) {
        if (policies[i]) continue;
        policies[i] = fn;
        return i;
    }
    orr_error("starpu_mpi_node_selection_register_policy: no room for more than %d policies; unregister one",
              POLICIES_MAX - 1);
    return -ENOSPC;
}

static int check(int policy, const char *fn)
{
    if (policy >= 0 && policy < POLICIES_MAX && (policy == 0 || policies[policy])) return 0;
    orr_error("%s: there is no node selection policy %d", fn, policy);
    return -EINVAL;
}

int orr_select_unregister(int policy)
{
    int r = check(policy, "starpu_mpi_node_selection_unregister_policy");
    if (!r && policy == 0) {
        orr_error("starpu_mpi_node_selection_unregister_policy: policy 0 is built in and stays");
        r = -EINVAL;
    }
    if (r) return r;
    policies[policy] = NULL;
    if (current == policy) current = 0;
    return 0;
}

int orr_select_get_current(void)
{
    return current;
}

int orr_select_set_current(int policy)
{
    int r = policy == -1 ? 0 : check(policy, "starpu_mpi_node_selection_set_current_policy");
    if (!r && policy >= 0) current = policy;
    return r;
}
