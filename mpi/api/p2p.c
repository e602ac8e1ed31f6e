/* SPDX-License-Identifier: BSD-3-Clause */
/* api/p2p.c: the public functions that send and receive one piece of data, and those that wait.
 * Threads: any. Owns: nothing. Not here: what they stand for (message.c), waiting for all (api/wait.c). */
#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/thread.h"
#include "core/task/task.h"
#include "mpi/api/comm.h"
#include "mpi/api/session.h"
#include "mpi/api/wait.h"
#include "mpi/place/history.h"
#include "mpi/value/message.h"

typedef void (*callback_fn)(void *);

static void fill_status(const struct orr_message *m, MPI_Status *status)
{
    if (!status || status == MPI_STATUS_IGNORE) return;
    const struct orr_comm *c = orr_message_is_current(m) ? m->comm : m->cluster->comm;
    status->MPI_SOURCE = m->mode == STARPU_W ? m->peer : c->rank;
    status->MPI_TAG = (int)m->tag;
    status->MPI_ERROR = m->request.status ? MPI_ERR_OTHER : MPI_SUCCESS;
    int bytes = m->request.moved_bytes > INT32_MAX ? INT32_MAX : (int)m->request.moved_bytes;
    orr_mpi_enter();
    MPI_Status_set_elements(status, MPI_BYTE, bytes);
    MPI_Status_set_cancelled(status, 0);
    orr_mpi_leave();
}

static struct orr_message_spec spec(enum orr_request_kind kind, starpu_data_handle_t h, int peer,
                                    starpu_mpi_tag_t tag, MPI_Comm comm)
{
    return (struct orr_message_spec){ .kind = kind,
                                      .handle = h,
                                      .peer = peer,
                                      .tag = tag,
                                      .comm = orr_session_runs() ? orr_comm_of(comm) : NULL };
}

static int wait_for(struct orr_message *m, MPI_Status *status)
{
    int r = orr_message_wait(m);
    fill_status(m, status);
    orr_message_free(m);
    return r;
}

static int start(const struct orr_message_spec *s, const char *fn, struct orr_message **out)
{
    struct orr_history *history = s->comm ? s->comm->cluster->place->history : NULL;
    if (orr_unlikely(history != NULL)) orr_history_act(history);
    return orr_session_check(fn) ? orr_message_start(s, fn, out) : -ESHUTDOWN;
}

static int blocking(struct orr_message_spec s, const char *fn, MPI_Status *status)
{
    struct orr_message *m;
    if (!orr_wait_may_block(fn, "; use its detached form")) return -EDEADLK;
    s.will_wait = true;
    int r = start(&s, fn, &m);
    return r ? r : wait_for(m, status);
}

static int pending(struct orr_message_spec s, const char *fn, starpu_mpi_req *req)
{
    struct orr_message *m;
    if (!req) {
        orr_error("%s: where the request goes is NULL", fn);
        return -EINVAL;
    }
    int r = start(&s, fn, &m);
    if (!r) *req = m;
    return r;
}

static int detached(struct orr_message_spec s, const char *fn, callback_fn callback, void *arg)
{
    s.detached = true;
    s.callback = callback;
    s.arg = arg;
    return start(&s, fn, NULL);
}

/* ---- blocking ---- */

int starpu_mpi_send_prio(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag, int prio,
                         MPI_Comm comm)
{
    struct orr_message_spec s = spec(ORR_SEND, data_handle, dest, data_tag, comm);
    s.priority = prio;
    return blocking(s, "starpu_mpi_send", NULL);
}

int starpu_mpi_send(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag, MPI_Comm comm)
{
    return starpu_mpi_send_prio(data_handle, dest, data_tag, 0, comm);
}

int starpu_mpi_recv_prio(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag, int prio,
                         MPI_Comm comm, MPI_Status *status)
{
    struct orr_message_spec s = spec(ORR_RECV, data_handle, source, data_tag, comm);
    s.priority = prio;
    return blocking(s, "starpu_mpi_recv", status);
}

int starpu_mpi_recv(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag, MPI_Comm comm,
                    MPI_Status *status)
{
    return starpu_mpi_recv_prio(data_handle, source, data_tag, 0, comm, status);
}

/* ---- with a request ---- */

static int send_request(starpu_data_handle_t h, starpu_mpi_req *req, int dest, starpu_mpi_tag_t tag, int prio,
                        MPI_Comm comm, bool sync, const char *fn)
{
    struct orr_message_spec s = spec(ORR_SEND, h, dest, tag, comm);
    s.priority = prio;
    s.sync = sync;
    return pending(s, fn, req);
}

int starpu_mpi_isend_prio(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                          starpu_mpi_tag_t data_tag, int prio, MPI_Comm comm)
{
    return send_request(data_handle, req, dest, data_tag, prio, comm, false, "starpu_mpi_isend");
}

int starpu_mpi_isend(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                     starpu_mpi_tag_t data_tag, MPI_Comm comm)
{
    return send_request(data_handle, req, dest, data_tag, 0, comm, false, "starpu_mpi_isend");
}

int starpu_mpi_issend_prio(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                           starpu_mpi_tag_t data_tag, int prio, MPI_Comm comm)
{
    return send_request(data_handle, req, dest, data_tag, prio, comm, true, "starpu_mpi_issend");
}

int starpu_mpi_issend(starpu_data_handle_t data_handle, starpu_mpi_req *req, int dest,
                      starpu_mpi_tag_t data_tag, MPI_Comm comm)
{
    return send_request(data_handle, req, dest, data_tag, 0, comm, true, "starpu_mpi_issend");
}

int starpu_mpi_irecv(starpu_data_handle_t data_handle, starpu_mpi_req *req, int source,
                     starpu_mpi_tag_t data_tag, MPI_Comm comm)
{
    return pending(spec(ORR_RECV, data_handle, source, data_tag, comm), "starpu_mpi_irecv", req);
}

int starpu_mpi_wait(starpu_mpi_req *req, MPI_Status *status)
{
    if (!orr_session_check("starpu_mpi_wait")) return -ESHUTDOWN;
    if (!req || !*req) {
        orr_error("starpu_mpi_wait: there is no request; it was waited for already, or never started");
        return -EINVAL;
    }
    if (!orr_wait_may_block("starpu_mpi_wait", "; use its detached form")) return -EDEADLK;
    struct orr_message *m = *req;
    *req = NULL;
    return wait_for(m, status);
}

int starpu_mpi_test(starpu_mpi_req *req, int *flag, MPI_Status *status)
{
    if (!orr_session_check("starpu_mpi_test")) return -ESHUTDOWN;
    if (!req || !*req || !flag) {
        orr_error("starpu_mpi_test: %s",
                  flag ? "there is no request; it was waited for already, or never started" : "flag is NULL");
        return -EINVAL;
    }
    struct orr_message *m = *req;
    if (!orr_message_is_over(m)) {
        if (orr_self()->callback_depth)
            orr_progress_pass(&m->cluster->progress); /* callbacks within callbacks would pile up */
        else
            orr_progress_turn(&m->cluster->progress);
    }
    *flag = orr_message_is_over(m);
    if (!*flag) return 0;
    int r = m->request.status;
    fill_status(m, status);
    orr_message_free(m);
    *req = NULL;
    return r;
}

/* ---- detached ---- */

static int send_detached(starpu_data_handle_t h, int dest, starpu_mpi_tag_t tag, int prio, MPI_Comm comm,
                         callback_fn callback, void *arg, bool sync)
{
    struct orr_message_spec s = spec(ORR_SEND, h, dest, tag, comm);
    s.priority = prio;
    s.sync = sync;
    return detached(s, sync ? "starpu_mpi_issend_detached" : "starpu_mpi_isend_detached", callback, arg);
}

int starpu_mpi_isend_detached_prio(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                                   int prio, MPI_Comm comm, void (*callback)(void *), void *arg)
{
    return send_detached(data_handle, dest, data_tag, prio, comm, callback, arg, false);
}

int starpu_mpi_isend_detached(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                              MPI_Comm comm, void (*callback)(void *), void *arg)
{
    return send_detached(data_handle, dest, data_tag, 0, comm, callback, arg, false);
}

int starpu_mpi_issend_detached_prio(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                                    int prio, MPI_Comm comm, void (*callback)(void *), void *arg)
{
    return send_detached(data_handle, dest, data_tag, prio, comm, callback, arg, true);
}

int starpu_mpi_issend_detached(starpu_data_handle_t data_handle, int dest, starpu_mpi_tag_t data_tag,
                               MPI_Comm comm, void (*callback)(void *), void *arg)
{
    return send_detached(data_handle, dest, data_tag, 0, comm, callback, arg, true);
}

int starpu_mpi_irecv_detached_prio(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag,
                                   int prio, MPI_Comm comm, void (*callback)(void *), void *arg)
{
    struct orr_message_spec s = spec(ORR_RECV, data_handle, source, data_tag, comm);
    s.priority = prio;
    return detached(s, "starpu_mpi_irecv_detached", callback, arg);
}

int starpu_mpi_irecv_detached(starpu_data_handle_t data_handle, int source, starpu_mpi_tag_t data_tag,
                              MPI_Comm comm, void (*callback)(void *), void *arg)
{
    return starpu_mpi_irecv_detached_prio(data_handle, source, data_tag, 0, comm, callback, arg);
}

int starpu_mpi_irecv_detached_sequential_consistency(starpu_data_handle_t data_handle, int source,
                                                     starpu_mpi_tag_t data_tag, MPI_Comm comm,
                                                     void (*callback)(void *), void *arg,
                                                     int sequential_consistency)
{
    struct orr_message_spec s = spec(ORR_RECV, data_handle, source, data_tag, comm);
    s.unordered = !sequential_consistency;
    return detached(s, "starpu_mpi_irecv_detached_sequential_consistency", callback, arg);
}

/* ---- detached, with a task tag ---- */

/* Counts down to the tag. */
struct unlock {
    _Atomic unsigned left;
    starpu_tag_t tag;
};

static void one_arrived(void *p)
{
    struct unlock *u = p;
    if (orr_sub_acq_rel(&u->left, 1u) > 1) return;
    starpu_tag_notify_from_apps(u->tag);
    orr_free(u);
}

static struct unlock *make_unlock(unsigned count, starpu_tag_t tag)
{
    struct unlock *u = orr_malloc(sizeof *u);
    if (!u) return NULL;
    atomic_init(&u->left, count);
    u->tag = tag;
    return u;
}

/* One unit more than messages is counted, and given back here: the tag is notified even if there are none. */
static int start_array(enum orr_request_kind kind, unsigned count, starpu_data_handle_t *handles, int *peers,
                       starpu_mpi_tag_t *tags, int *prios, MPI_Comm *comms, starpu_tag_t tag, const char *fn)
{
    struct unlock *u = make_unlock(count + 1, tag);
    int status = 0;
    if (!u) return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        struct orr_message_spec s = spec(kind, handles[i], peers[i], tags[i], comms[i]);
        s.priority = prios ? prios[i] : 0;
        int r = detached(s, fn, one_arrived, u);
        if (r) {
            one_arrived(u);
            status = r;
        }
    }
    orr_progress_aside(&orr_the_session.cluster.progress, one_arrived,
                       u); /* tasks may follow that call back at once */
    return status;
}

int starpu_mpi_isend_detached_unlock_tag_prio(starpu_data_handle_t data_handle, int dest,
                                              starpu_mpi_tag_t data_tag, int prio, MPI_Comm comm,
                                              starpu_tag_t tag)
{
    return start_array(ORR_SEND, 1, &data_handle, &dest, &data_tag, &prio, &comm, tag,
                       "starpu_mpi_isend_detached_unlock_tag");
}

int starpu_mpi_isend_detached_unlock_tag(starpu_data_handle_t data_handle, int dest,
                                         starpu_mpi_tag_t data_tag, MPI_Comm comm, starpu_tag_t tag)
{
    return starpu_mpi_isend_detached_unlock_tag_prio(data_handle, dest, data_tag, 0, comm, tag);
}

int starpu_mpi_irecv_detached_unlock_tag(starpu_data_handle_t data_handle, int source,
                                         starpu_mpi_tag_t data_tag, MPI_Comm comm, starpu_tag_t tag)
{
    return start_array(ORR_RECV, 1, &data_handle, &source, &data_tag, NULL, &comm, tag,
                       "starpu_mpi_irecv_detached_unlock_tag");
}

int starpu_mpi_isend_array_detached_unlock_tag_prio(unsigned array_size, starpu_data_handle_t *data_handle,
                                                    int *dest, starpu_mpi_tag_t *data_tag, int *prio,
                                                    MPI_Comm *comm, starpu_tag_t tag)
{
    return start_array(ORR_SEND, array_size, data_handle, dest, data_tag, prio, comm, tag,
                       "starpu_mpi_isend_array_detached_unlock_tag");
}

int starpu_mpi_isend_array_detached_unlock_tag(unsigned array_size, starpu_data_handle_t *data_handle,
                                               int *dest, starpu_mpi_tag_t *data_tag, MPI_Comm *comm,
                                               starpu_tag_t tag)
{
    return starpu_mpi_isend_array_detached_unlock_tag_prio(array_size, data_handle, dest, data_tag, NULL,
                                                           comm, tag);
}

int starpu_mpi_irecv_array_detached_unlock_tag(unsigned array_size, starpu_data_handle_t *data_handle,
                                               int *source, starpu_mpi_tag_t *data_tag, MPI_Comm *comm,
                                               starpu_tag_t tag)
{
    return start_array(ORR_RECV, array_size, data_handle, source, data_tag, NULL, comm, tag,
                       "starpu_mpi_irecv_array_detached_unlock_tag");
}
