/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load balancer among ranks: moves the ownership of data from slow ranks to their faster
 * neighbours.
 * Threads: the thread that initialised; the functions of the table are called by the thread that
 *   waits for all.
 * Not here: moving one piece of data by hand (starpu_mpi_data_migrate(), starpu_mpi.h).
 */
#ifndef STARPU_MPI_LB_H
#define STARPU_MPI_LB_H

#include <starpu_data.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* What the program tells the balancer. Copied. */
struct starpu_mpi_lb_conf {
    /* Sets the ranks that may give and take load from this one. The array is allocated, the balancer
     * frees it. */
    void (*get_neighbors)(int **neighbor_ids, int *nneighbors);
    /* Sets the data to move to rank `dst_node` when this rank has too much to do. The array is
     * allocated, the balancer frees it. */
    void (*get_data_unit_to_migrate)(starpu_data_handle_t **handle_unit, int *nhandles, int dst_node);
};

/* Starts the balancer `lb_policy_name` ("heat"; STARPU_MPI_LB in the environment comes first; neither: none).
 * From then on each starpu_mpi_wait_for_all() on the communicator given to the initialisation compares for
 * how long the workers of each rank computed since the last one. A rank that computed for a tenth longer than
 * the coolest of its neighbours gives it a unit, as starpu_mpi_data_migrate() does, on all ranks alike; of
 * several who would give to one rank the hottest does. Nothing is moved where giving would only turn it
 * round. Data of a unit has tags; ranks that do not know a datum do nothing for it. What cannot be is said,
 * and no balancer is started, on any rank. The program is right without. After starpu_mpi_init_conf().
 * Collective. Blocks. */
void starpu_mpi_lb_init(const char *lb_policy_name, struct starpu_mpi_lb_conf *itf);

/* Stops it: data stay where they are. Before starpu_mpi_shutdown(), which does it otherwise. Collective. */
void starpu_mpi_lb_shutdown(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_MPI_LB_H */
