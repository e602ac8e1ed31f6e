/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_mpi_fortran.h: starpu_fortran.h for ranks: communicators are Fortran's numbers, task lists arrays
 * (fstarpu_mpi_mod.f90 declares these functions). Threads, ranks, errors: as starpu_mpi.h says of the
 * function of that name; a void function says its errors and does nothing then. Owns: nothing; what an _alloc
 * function gives is the caller's, to be given back by _free. Not here: functions that such languages call
 * under their C names (fstarpu_mpi_mod.f90 has them). */
#ifndef STARPU_MPI_FORTRAN_H
#define STARPU_MPI_FORTRAN_H

#include <starpu_fortran.h>
#include <starpu_mpi.h>

#ifdef STARPU_USE_MPI

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- the session, ranks ---- */

/* starpu_mpi_init_comm(), without arguments of the program; has_comm 0: on MPI_COMM_WORLD. Returns the same.
 */
int fstarpu_mpi_init_comm(int initialize_mpi, int has_comm, MPI_Fint comm);

/* The functions of that name. Return the same; fstarpu_mpi_world_comm(): MPI_COMM_WORLD. */
int fstarpu_mpi_barrier(MPI_Fint comm);
int fstarpu_mpi_wait_for_all(MPI_Fint comm);
int fstarpu_mpi_comm_size(MPI_Fint comm, int *size_out);
int fstarpu_mpi_comm_rank(MPI_Fint comm, int *rank_out);
MPI_Fint fstarpu_mpi_world_comm(void);

/* ---- data and their owners ---- */

/* The functions of that name. */
void fstarpu_mpi_data_register_comm(starpu_data_handle_t handle, starpu_mpi_tag_t tag, int rank,
                                    MPI_Fint comm);
void fstarpu_mpi_data_register(starpu_data_handle_t handle, starpu_mpi_tag_t tag, int rank);
void fstarpu_mpi_data_set_rank_comm(starpu_data_handle_t handle, int rank, MPI_Fint comm);
void fstarpu_mpi_data_set_rank(starpu_data_handle_t handle, int rank);
void fstarpu_mpi_data_migrate(MPI_Fint comm, starpu_data_handle_t handle, int rank);
void fstarpu_mpi_get_data_on_node(MPI_Fint comm, starpu_data_handle_t handle, int node);
void fstarpu_mpi_get_data_on_node_detached(MPI_Fint comm, starpu_data_handle_t handle, int node,
                                           void (*callback)(void *), void *arg);
void fstarpu_mpi_cache_flush(MPI_Fint comm, starpu_data_handle_t handle);
void fstarpu_mpi_cache_flush_all_data(MPI_Fint comm);
void fstarpu_mpi_redux_data(MPI_Fint comm, starpu_data_handle_t handle);
void fstarpu_mpi_redux_data_prio(MPI_Fint comm, starpu_data_handle_t handle, int prio);

/* starpu_mpi_scatter_detached(), starpu_mpi_gather_detached(). Return the same. */
int fstarpu_mpi_scatter_detached(starpu_data_handle_t *handles, int count, int root, MPI_Fint comm,
                                 void (*send_callback)(void *), void *send_arg, void (*recv_callback)(void *),
                                 void *recv_arg);
int fstarpu_mpi_gather_detached(starpu_data_handle_t *handles, int count, int root, MPI_Fint comm,
                                void (*send_callback)(void *), void *send_arg, void (*recv_callback)(void *),
                                void *recv_arg);

/* ---- messages ---- */

/* The functions of that name. A request comes from fstarpu_mpi_req_alloc(), a status from
 * fstarpu_mpi_status_alloc(), or is NULL. Return the same. */
int fstarpu_mpi_isend(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                      MPI_Fint comm);
int fstarpu_mpi_isend_prio(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                           int prio, MPI_Fint comm);
int fstarpu_mpi_irecv(starpu_data_handle_t handle, void *request, int source, starpu_mpi_tag_t tag,
                      MPI_Fint comm);
int fstarpu_mpi_issend(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                       MPI_Fint comm);
int fstarpu_mpi_issend_prio(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                            int prio, MPI_Fint comm);
int fstarpu_mpi_send(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, MPI_Fint comm);
int fstarpu_mpi_send_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, int prio,
                          MPI_Fint comm);
int fstarpu_mpi_recv(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag, MPI_Fint comm,
                     void *status);
int fstarpu_mpi_isend_detached(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, MPI_Fint comm,
                               void (*callback)(void *), void *arg);
int fstarpu_mpi_isend_detached_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, int prio,
                                    MPI_Fint comm, void (*callback)(void *), void *arg);
int fstarpu_mpi_issend_detached(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, MPI_Fint comm,
                                void (*callback)(void *), void *arg);
int fstarpu_mpi_issend_detached_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, int prio,
                                     MPI_Fint comm, void (*callback)(void *), void *arg);
int fstarpu_mpi_recv_detached(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag, MPI_Fint comm,
                              void (*callback)(void *), void *arg);
int fstarpu_mpi_recv_detached_sequential_consistency(starpu_data_handle_t handle, int source,
                                                     starpu_mpi_tag_t tag, MPI_Fint comm,
                                                     void (*callback)(void *), void *arg,
                                                     int sequential_consistency);

/* Same, where starpu_tag, a number, is signalled at the end. */
int fstarpu_mpi_isend_detached_unlock_tag(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag,
                                          MPI_Fint comm, void *starpu_tag);
int fstarpu_mpi_isend_detached_unlock_tag_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag,
                                               int prio, MPI_Fint comm, void *starpu_tag);
int fstarpu_mpi_recv_detached_unlock_tag(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag,
                                         MPI_Fint comm, void *starpu_tag);

/* Same for several messages, of which the last signals. Their communicators may differ. Return the same;
 * -ENOMEM. */
int fstarpu_mpi_isend_array_detached_unlock_tag(int count, starpu_data_handle_t *handles, int *dests,
                                                starpu_mpi_tag_t *tags, MPI_Fint *comms, void *starpu_tag);
int fstarpu_mpi_isend_array_detached_unlock_tag_prio(int count, starpu_data_handle_t *handles, int *dests,
                                                     starpu_mpi_tag_t *tags, int *prios, MPI_Fint *comms,
                                                     void *starpu_tag);
int fstarpu_mpi_recv_array_detached_unlock_tag(int count, starpu_data_handle_t *handles, int *sources,
                                               starpu_mpi_tag_t *tags, MPI_Fint *comms, void *starpu_tag);

/* Make a request, a status; free one that nobody uses. Return NULL: out of memory. */
void *fstarpu_mpi_req_alloc(void);
void fstarpu_mpi_req_free(void *request);
void *fstarpu_mpi_status_alloc(void);
void fstarpu_mpi_status_free(void *status);

/* ---- tasks ---- */

/* starpu_mpi_task_insert(), _build(), _post_build(). The list: a communicator's address; then as for
 * fstarpu_task_insert(). Return the same; an error also: a list that cannot be. */
int fstarpu_mpi_task_insert(void **arglist);
struct starpu_task *fstarpu_mpi_task_build(void **arglist);
int fstarpu_mpi_task_post_build(void **arglist);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
#endif
