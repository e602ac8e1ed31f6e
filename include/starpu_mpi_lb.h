/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load balancer among ranks: moves the ownership of data from slow ranks to their faster
 * neighbours.
 * Threads: the thread that initialised; the functions of the table are called by any thread of the
 *   runtime.
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

/* Would start the balancer `lb_policy_name` ("heat"; STARPU_MPI_LB in the environment comes first; neither:
 * none). This version has none: it warns when one is named, and `itf` is not used. The program is right
 * without. After starpu_mpi_init_conf(). Collective. */
void starpu_mpi_lb_init(const char *lb_policy_name, struct starpu_mpi_lb_conf *itf);

/* Stops it: nothing happens. Before starpu_mpi_shutdown(). Collective. */
void starpu_mpi_lb_shutdown(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_MPI_LB_H */
