/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c: the interface of ranks for languages without C's structures and variable arguments
 * (starpu_mpi_fortran.h).
 * Threads: as the functions that are called. Owns: nothing. Not here: lists (core/task/foreign_list.c). */
#include <starpu_mpi_fortran.h>

#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/task/foreign_list.h"

int fstarpu_mpi_init_comm(int initialize_mpi, int has_comm, MPI_Fint comm)
{
    return starpu_mpi_init_comm(NULL, NULL, initialize_mpi, has_comm ? MPI_Comm_f2c(comm) : MPI_COMM_WORLD);
}

int fstarpu_mpi_barrier(MPI_Fint comm)
{
    return starpu_mpi_barrier(MPI_Comm_f2c(comm));
}

int fstarpu_mpi_wait_for_all(MPI_Fint comm)
{
    return starpu_mpi_wait_for_all(MPI_Comm_f2c(comm));
}

int fstarpu_mpi_comm_size(MPI_Fint comm, int *size_out)
{
    return starpu_mpi_comm_size(MPI_Comm_f2c(comm), size_out);
}

int fstarpu_mpi_comm_rank(MPI_Fint comm, int *rank_out)
{
    return starpu_mpi_comm_rank(MPI_Comm_f2c(comm), rank_out);
}

MPI_Fint fstarpu_mpi_world_comm(void)
{
    return MPI_Comm_c2f(MPI_COMM_WORLD);
}

void fstarpu_mpi_data_register_comm(starpu_data_handle_t handle, starpu_mpi_tag_t tag, int rank,
                                    MPI_Fint comm)
{
    starpu_mpi_data_register_comm(handle, tag, rank, MPI_Comm_f2c(comm));
}

void fstarpu_mpi_data_register(starpu_data_handle_t handle, starpu_mpi_tag_t tag, int rank)
{
    starpu_mpi_data_register(handle, tag, rank);
}

void fstarpu_mpi_data_set_rank_comm(starpu_data_handle_t handle, int rank, MPI_Fint comm)
{
    starpu_mpi_data_set_rank_comm(handle, rank, MPI_Comm_f2c(comm));
}

void fstarpu_mpi_data_set_rank(starpu_data_handle_t handle, int rank)
{
    starpu_mpi_data_set_rank(handle, rank);
}

void fstarpu_mpi_data_migrate(MPI_Fint comm, starpu_data_handle_t handle, int rank)
{
    starpu_mpi_data_migrate(MPI_Comm_f2c(comm), handle, rank);
}

void fstarpu_mpi_get_data_on_node(MPI_Fint comm, starpu_data_handle_t handle, int node)
{
    starpu_mpi_get_data_on_node(MPI_Comm_f2c(comm), handle, node);
}

void fstarpu_mpi_get_data_on_node_detached(MPI_Fint comm, starpu_data_handle_t handle, int node,
                                           void (*callback)(void *), void *arg)
{
    starpu_mpi_get_data_on_node_detached(MPI_Comm_f2c(comm), handle, node, callback, arg);
}

void fstarpu_mpi_cache_flush(MPI_Fint comm, starpu_data_handle_t handle)
{
    starpu_mpi_cache_flush(MPI_Comm_f2c(comm), handle);
}

void fstarpu_mpi_cache_flush_all_data(MPI_Fint comm)
{
    starpu_mpi_cache_flush_all_data(MPI_Comm_f2c(comm));
}

void fstarpu_mpi_redux_data(MPI_Fint comm, starpu_data_handle_t handle)
{
    starpu_mpi_redux_data(MPI_Comm_f2c(comm), handle);
}

void fstarpu_mpi_redux_data_prio(MPI_Fint comm, starpu_data_handle_t handle, int prio)
{
    starpu_mpi_redux_data_prio(MPI_Comm_f2c(comm), handle, prio);
}

int fstarpu_mpi_scatter_detached(starpu_data_handle_t *handles, int count, int root, MPI_Fint comm,
                                 void (*send_callback)(void *), void *send_arg, void (*recv_callback)(void *),
                                 void *recv_arg)
{
    return starpu_mpi_scatter_detached(handles, count, root, MPI_Comm_f2c(comm), send_callback, send_arg,
                                       recv_callback, recv_arg);
}

int fstarpu_mpi_gather_detached(starpu_data_handle_t *handles, int count, int root, MPI_Fint comm,
                                void (*send_callback)(void *), void *send_arg, void (*recv_callback)(void *),
                                void *recv_arg)
{
    return starpu_mpi_gather_detached(handles, count, root, MPI_Comm_f2c(comm), send_callback, send_arg,
                                      recv_callback, recv_arg);
}

int fstarpu_mpi_isend(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                      MPI_Fint comm)
{
    return starpu_mpi_isend(handle, request, dest, tag, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_isend_prio(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                           int prio, MPI_Fint comm)
{
    return starpu_mpi_isend_prio(handle, request, dest, tag, prio, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_irecv(starpu_data_handle_t handle, void *request, int source, starpu_mpi_tag_t tag,
                      MPI_Fint comm)
{
    return starpu_mpi_irecv(handle, request, source, tag, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_issend(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                       MPI_Fint comm)
{
    return starpu_mpi_issend(handle, request, dest, tag, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_issend_prio(starpu_data_handle_t handle, void *request, int dest, starpu_mpi_tag_t tag,
                            int prio, MPI_Fint comm)
{
    return starpu_mpi_issend_prio(handle, request, dest, tag, prio, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_send(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, MPI_Fint comm)
{
    return starpu_mpi_send(handle, dest, tag, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_send_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, int prio,
                          MPI_Fint comm)
{
    return starpu_mpi_send_prio(handle, dest, tag, prio, MPI_Comm_f2c(comm));
}

int fstarpu_mpi_recv(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag, MPI_Fint comm,
                     void *status)
{
    return starpu_mpi_recv(handle, source, tag, MPI_Comm_f2c(comm), status);
}

int fstarpu_mpi_isend_detached(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, MPI_Fint comm,
                               void (*callback)(void *), void *arg)
{
    return starpu_mpi_isend_detached(handle, dest, tag, MPI_Comm_f2c(comm), callback, arg);
}

int fstarpu_mpi_isend_detached_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, int prio,
                                    MPI_Fint comm, void (*callback)(void *), void *arg)
{
    return starpu_mpi_isend_detached_prio(handle, dest, tag, prio, MPI_Comm_f2c(comm), callback, arg);
}

int fstarpu_mpi_issend_detached(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, MPI_Fint comm,
                                void (*callback)(void *), void *arg)
{
    return starpu_mpi_issend_detached(handle, dest, tag, MPI_Comm_f2c(comm), callback, arg);
}

int fstarpu_mpi_issend_detached_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag, int prio,
                                     MPI_Fint comm, void (*callback)(void *), void *arg)
{
    return starpu_mpi_issend_detached_prio(handle, dest, tag, prio, MPI_Comm_f2c(comm), callback, arg);
}

int fstarpu_mpi_recv_detached(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag, MPI_Fint comm,
                              void (*callback)(void *), void *arg)
{
    return starpu_mpi_irecv_detached(handle, source, tag, MPI_Comm_f2c(comm), callback, arg);
}

int fstarpu_mpi_recv_detached_sequential_consistency(starpu_data_handle_t handle, int source,
                                                     starpu_mpi_tag_t tag, MPI_Fint comm,
                                                     void (*callback)(void *), void *arg,
                                                     int sequential_consistency)
{
    return starpu_mpi_irecv_detached_sequential_consistency(handle, source, tag, MPI_Comm_f2c(comm), callback,
                                                            arg, sequential_consistency);
}

int fstarpu_mpi_isend_detached_unlock_tag(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag,
                                          MPI_Fint comm, void *starpu_tag)
{
    return starpu_mpi_isend_detached_unlock_tag(handle, dest, tag, MPI_Comm_f2c(comm),
                                                (starpu_tag_t)(uintptr_t)starpu_tag);
}

int fstarpu_mpi_isend_detached_unlock_tag_prio(starpu_data_handle_t handle, int dest, starpu_mpi_tag_t tag,
                                               int prio, MPI_Fint comm, void *starpu_tag)
{
    return starpu_mpi_isend_detached_unlock_tag_prio(handle, dest, tag, prio, MPI_Comm_f2c(comm),
                                                     (starpu_tag_t)(uintptr_t)starpu_tag);
}

int fstarpu_mpi_recv_detached_unlock_tag(starpu_data_handle_t handle, int source, starpu_mpi_tag_t tag,
                                         MPI_Fint comm, void *starpu_tag)
{
    return starpu_mpi_irecv_detached_unlock_tag(handle, source, tag, MPI_Comm_f2c(comm),
                                                (starpu_tag_t)(uintptr_t)starpu_tag);
}

/* ---- arrays ---- */

/* NULL: out of memory, or count is nothing. */
static MPI_Comm *comms_of(const MPI_Fint *comms, int count)
{
    MPI_Comm *all = count > 0 ? orr_malloc((size_t)count * sizeof *all) : NULL;
    for (int i = 0; all && i < count; i++) all[i] = MPI_Comm_f2c(comms[i]);
    return all;
}

int fstarpu_mpi_isend_array_detached_unlock_tag(int count, starpu_data_handle_t *handles, int *dests,
                                                starpu_mpi_tag_t *tags, MPI_Fint *comms, void *starpu_tag)
{
    MPI_Comm *all = comms_of(comms, count);
    if (!all && count > 0) return -ENOMEM;
    int r = starpu_mpi_isend_array_detached_unlock_tag((unsigned)count, handles, dests, tags, all,
                                                       (starpu_tag_t)(uintptr_t)starpu_tag);
    orr_free(all);
    return r;
}

int fstarpu_mpi_isend_array_detached_unlock_tag_prio(int count, starpu_data_handle_t *handles, int *dests,
                                                     starpu_mpi_tag_t *tags, int *prios, MPI_Fint *comms,
                                                     void *starpu_tag)
{
    MPI_Comm *all = comms_of(comms, count);
    if (!all && count > 0) return -ENOMEM;
    int r = starpu_mpi_isend_array_detached_unlock_tag_prio((unsigned)count, handles, dests, tags, prios, all,
                                                            (starpu_tag_t)(uintptr_t)starpu_tag);
    orr_free(all);
    return r;
}

int fstarpu_mpi_recv_array_detached_unlock_tag(int count, starpu_data_handle_t *handles, int *sources,
                                               starpu_mpi_tag_t *tags, MPI_Fint *comms, void *starpu_tag)
{
    MPI_Comm *all = comms_of(comms, count);
    if (!all && count > 0) return -ENOMEM;
    int r = starpu_mpi_irecv_array_detached_unlock_tag((unsigned)count, handles, sources, tags, all,
                                                       (starpu_tag_t)(uintptr_t)starpu_tag);
    orr_free(all);
    return r;
}

void *fstarpu_mpi_req_alloc(void)
{
    return orr_calloc(1, sizeof(starpu_mpi_req));
}

void fstarpu_mpi_req_free(void *request)
{
    orr_free(request);
}

void *fstarpu_mpi_status_alloc(void)
{
    return orr_calloc(1, sizeof(MPI_Status));
}

void fstarpu_mpi_status_free(void *status)
{
    orr_free(status);
}

/* ---- tasks ---- */

/* The list's first two, and the rest read into *l. Returns 0; -EINVAL (said); -ENOMEM. */
static int read_list(void **arglist, const char *fn, MPI_Comm *comm_out, struct starpu_codelet **cl_out,
                     struct orr_foreign_list *l)
{
    if (!arglist || !arglist[0] || !arglist[1]) {
        orr_error("%s: the list must begin with the address of a communicator and a codelet", fn);
        return -EINVAL;
    }
    *comm_out = MPI_Comm_f2c(*(MPI_Fint *)arglist[0]);
    *cl_out = arglist[1];
    int r = orr_foreign_list_read(l, *cl_out, arglist + 2, fn);
    if (r) orr_foreign_list_drop(l);
    return r;
}

int fstarpu_mpi_task_insert(void **arglist)
{
    MPI_Comm comm;
    struct starpu_codelet *cl;
    struct orr_foreign_list list;
    int r = read_list(arglist, "fstarpu_mpi_task_insert", &comm, &cl, &list);
    if (r) return r;
    r = (starpu_mpi_task_insert)(comm, cl, ORR_FOREIGN_ARGUMENTS(&list));
    orr_foreign_list_drop(&list);
    return r;
}

struct starpu_task *fstarpu_mpi_task_build(void **arglist)
{
    MPI_Comm comm;
    struct starpu_codelet *cl;
    struct orr_foreign_list list;
    if (read_list(arglist, "fstarpu_mpi_task_build", &comm, &cl, &list)) return NULL;
    struct starpu_task *task = (starpu_mpi_task_build)(comm, cl, ORR_FOREIGN_ARGUMENTS(&list));
    orr_foreign_list_drop(&list);
    return task;
}

int fstarpu_mpi_task_post_build(void **arglist)
{
    MPI_Comm comm;
    struct starpu_codelet *cl;
    struct orr_foreign_list list;
    int r = read_list(arglist, "fstarpu_mpi_task_post_build", &comm, &cl, &list);
    if (r) return r;
    r = (starpu_mpi_task_post_build)(comm, cl, ORR_FOREIGN_ARGUMENTS(&list));
    orr_foreign_list_drop(&list);
    return r;
}
