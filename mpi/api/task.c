/* SPDX-License-Identifier: BSD-3-Clause */
/* api/task.c: the public functions that insert tasks on all ranks, and those that choose ranks.
 * Threads: those that submit. Owns: nothing. Not here: what they do (place/, value/exchange.c). */
#include <errno.h>
#include <orrery_mpi.h>

#include "core/base/alloc.h"
#include "core/task/task.h"
#include "mpi/api/comm.h"
#include "mpi/api/session.h"
#include "mpi/value/moves.h"
#include "mpi/place/insert.h"
#include "mpi/place/policies.h"

#undef starpu_mpi_task_insert
#undef starpu_mpi_insert_task
#undef starpu_mpi_task_build
#undef starpu_mpi_task_post_build

/* Ours for comm; NULL with a message when the call cannot be right. */
static inline struct orr_comm *check(MPI_Comm comm, const char *fn, int *status_out)
{
    struct orr_comm *c = orr_session_check(fn) ? orr_comm_of(comm) : NULL;
    if (orr_likely(c != NULL)) return c;
    *status_out = orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    if (orr_session_runs()) orr_error("%s: the communicator is not a valid one", fn);
    return NULL;
}

int starpu_mpi_task_insert(MPI_Comm comm, struct starpu_codelet *codelet, ...)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_task_insert", &r);
    if (!c) return r;
    va_list ap;
    va_start(ap, codelet);
    r = orr_mpi_insert(c, codelet, ap);
    va_end(ap);
    return r;
}

int starpu_mpi_insert_task(MPI_Comm comm, struct starpu_codelet *codelet, ...)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_insert_task", &r);
    if (!c) return r;
    va_list ap;
    va_start(ap, codelet);
    r = orr_mpi_insert(c, codelet, ap);
    va_end(ap);
    return r;
}

struct starpu_task *starpu_mpi_task_build_v(MPI_Comm comm, struct starpu_codelet *codelet, va_list varg_list)
{
    int r;
    struct starpu_task *task = NULL;
    struct orr_comm *c = check(comm, "starpu_mpi_task_build", &r);
    if (c) orr_mpi_build(c, codelet, varg_list, &task);
    return task;
}

struct starpu_task *starpu_mpi_task_build(MPI_Comm comm, struct starpu_codelet *codelet, ...)
{
    va_list ap;
    va_start(ap, codelet);
    struct starpu_task *task = starpu_mpi_task_build_v(comm, codelet, ap);
    va_end(ap);
    return task;
}

int starpu_mpi_task_post_build_v(MPI_Comm comm, struct starpu_codelet *codelet, va_list varg_list)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_task_post_build", &r);
    return c ? orr_mpi_post_build(c, codelet, varg_list) : r;
}

int starpu_mpi_task_post_build(MPI_Comm comm, struct starpu_codelet *codelet, ...)
{
    va_list ap;
    va_start(ap, codelet);
    int r = starpu_mpi_task_post_build_v(comm, codelet, ap);
    va_end(ap);
    return r;
}

int starpu_mpi_tasks_insert(MPI_Comm comm, struct starpu_codelet *codelet, int p, int *nodes, ...)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_tasks_insert", &r);
    if (!c) return r;
    va_list ap;
    va_start(ap, nodes);
    r = orr_mpi_insert_on(c, codelet, p, nodes, ap);
    va_end(ap);
    return r;
}

int starpu_mpi_pre_submit_hook_register(void (*f)(struct starpu_task *))
{
    if (f && orr_load_acquire(&orr_the_session.place.pre_submit_hook)) {
        orr_error("starpu_mpi_pre_submit_hook_register: there is a hook already; unregister it first");
        return -EBUSY;
    }
    orr_store_release(&orr_the_session.place.pre_submit_hook, f);
    return 0;
}

int starpu_mpi_pre_submit_hook_unregister(void)
{
    orr_store_release(&orr_the_session.place.pre_submit_hook, NULL);
    return 0;
}

/* ---- tasks whose transfers the program steers ---- */

static int exchange_before(struct orr_comm *c, struct starpu_task *task, struct starpu_data_descr *descrs,
                           struct starpu_mpi_task_exchange_params *params)
{
    int count = orr_task_nbuffers(task);
    for (int i = 0; i < count; i++) {
        descrs[i].handle = STARPU_TASK_GET_HANDLE(task, i);
        descrs[i].mode = STARPU_TASK_GET_MODE(task, i);
    }
    struct orr_placement p = { .data = descrs, .count = count, .xrank = params->xrank };
    int r = orr_mpi_place(c, &p, -1);
    if (r) return r;
    params->xrank = p.xrank;
    params->me = c->rank;
    params->do_execute = p.xrank == c->rank || p.xrank == ORR_RANK_PER_NODE;
    params->exchange_needed = p.concerned || params->do_execute;
    params->priority = task->priority;
    for (int i = 0; i < count && params->exchange_needed && !r; i++)
        r = orr_moves_exchange_before(c, descrs[i].handle, descrs[i].mode, p.xrank, params->priority);
    return r;
}

int starpu_mpi_task_exchange_data_before_execution_on_node(MPI_Comm comm, struct starpu_task *task,
                                                           struct starpu_data_descr *descrs,
                                                           struct starpu_mpi_task_exchange_params *params,
                                                           int xrank)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_task_exchange_data_before_execution", &r);
    if (!c) return r;
    if (!task || !task->cl || !descrs || !params) {
        orr_error("starpu_mpi_task_exchange_data_before_execution: task, descrs or params is NULL, or the "
                  "task has no codelet");
        return -EINVAL;
    }
    params->xrank = xrank;
    return exchange_before(c, task, descrs, params);
}

int starpu_mpi_task_exchange_data_before_execution(MPI_Comm comm, struct starpu_task *task,
                                                   struct starpu_data_descr *descrs,
                                                   struct starpu_mpi_task_exchange_params *params)
{
    return starpu_mpi_task_exchange_data_before_execution_on_node(comm, task, descrs, params, -1);
}

int starpu_mpi_task_exchange_data_after_execution(MPI_Comm comm, struct starpu_data_descr *descrs,
                                                  unsigned nb_data,
                                                  struct starpu_mpi_task_exchange_params params)
{
    int r = 0;
    struct orr_comm *c = check(comm, "starpu_mpi_task_exchange_data_after_execution", &r);
    for (unsigned i = 0; c && i < nb_data && !r; i++)
        r = orr_moves_exchange_after(c, descrs[i].handle, descrs[i].mode, params.xrank, params.priority);
    return r;
}

int starpu_mpi_exchange_data_before_execution(MPI_Comm comm, starpu_data_handle_t data,
                                              enum starpu_data_access_mode mode,
                                              struct starpu_mpi_task_exchange_params *params)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_exchange_data_before_execution", &r);
    return c ? orr_moves_exchange_before(c, data, mode, params->xrank, params->priority) : r;
}

int starpu_mpi_exchange_data_after_execution(MPI_Comm comm, starpu_data_handle_t data,
                                             enum starpu_data_access_mode mode,
                                             struct starpu_mpi_task_exchange_params params)
{
    int r;
    struct orr_comm *c = check(comm, "starpu_mpi_exchange_data_after_execution", &r);
    return c ? orr_moves_exchange_after(c, data, mode, params.xrank, params.priority) : r;
}

/* ---- node selection ---- */

int starpu_mpi_node_selection_register_policy(starpu_mpi_select_node_policy_func_t policy_func)
{
    return orr_policy_add(&orr_the_session.place, &orr_place_program, policy_func);
}

int starpu_mpi_node_selection_unregister_policy(int policy)
{
    return orr_policy_remove(&orr_the_session.place, policy);
}

int starpu_mpi_node_selection_get_current_policy(void)
{
    return orr_policy_get_current(&orr_the_session.place);
}

int starpu_mpi_node_selection_set_current_policy(int policy)
{
    return orr_policy_set_current(&orr_the_session.place, policy);
}

int orrery_mpi_node_selection_register(orrery_mpi_view_fn fn, void *arg)
{
    return orr_policy_add_viewer(&orr_the_session.place, fn, arg);
}
