/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.c: see cores.h. Threads: see cores.h. Owns: see cores.h. Not here: see cores.h. */
#include "mpi/api/cores.h"

#include <sched.h>

#include "core/base/alloc.h"
#include "core/topo/topo.h"

static bool overlap(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;
    CPU_AND(&both, a, b);
    return CPU_COUNT(&both) > 0;
}

void orr_cores_share(MPI_Comm comm)
{
    MPI_Comm node;
    int rank, size, changed = 1;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS) return;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    cpu_set_t mine, *sets = orr_malloc((size_t)size * sizeof *sets);
    bool *with_me = orr_calloc((size_t)size, sizeof *with_me);
    CPU_ZERO(&mine);
    if (sets && with_me && sched_getaffinity(0, sizeof mine, &mine) == 0) {
        unsigned index = 0, sharers = 0;
        MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, sets, (int)sizeof mine, MPI_BYTE, node);
        with_me[rank] = true;
        while (changed) {
            changed = 0;
            for (int i = 0; i < size; i++)
                if (!with_me[i] && overlap(&sets[i], &mine)) {
                    with_me[i] = true;
                    changed = 1;
                    CPU_OR(&mine, &mine, &sets[i]);
                }
        }
        for (int i = 0; i < size; i++) {
            if (i < rank) index += with_me[i];
            sharers += with_me[i];
        }
        orr_topo_share(index, sharers);
    }
    orr_free(with_me);
    orr_free(sets);
    MPI_Comm_free(&node);
}
