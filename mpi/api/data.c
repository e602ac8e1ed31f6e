/* SPDX-License-Identifier: BSD-3-Clause */
/* api/data.c: the public functions about owners and tags of data, the cache, values moved without a task, and
 * collectives.
 * Threads: those that submit; get_data_on_node blocks. Owns: the setting for coop sends. Not here: tasks
 * (api/task.c). */
#include <errno.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/task/task.h"
#include "mpi/api/comm.h"
#include "mpi/api/session.h"
#include "mpi/place/policies.h"
#include "mpi/value/cache.h"
#include "mpi/value/calls.h"
#include "mpi/value/tags.h"

static bool check_handle(struct orr_data *h, const char *fn)
{
    if (orr_data_valid(h)) return true;
    orr_error("%s: %s; register the data first", fn,
              h ? "the handle is not a registered one" : "the handle is NULL");
    return false;
}

/* Ours for comm if the layer runs; says what is wrong otherwise. */
static struct orr_comm *check_comm(MPI_Comm comm, const char *fn)
{
    if (!orr_session_check(fn)) return NULL;
    struct orr_comm *c = orr_comm_of(comm);
    if (!c) orr_error("%s: the communicator is not a valid one", fn);
    return c;
}

static struct orr_comm *check(MPI_Comm comm, struct orr_data *h, const char *fn)
{
    struct orr_comm *c = check_comm(comm, fn);
    if (!c || !check_handle(h, fn)) return NULL;
    if (orr_owned_rank(c, h) == ORR_RANK_OUTSIDE) {
        orr_error("%s: the data belongs to a rank that is not in the communicator", fn);
        return NULL;
    }
    if (h->mpi_rank != ORR_RANK_UNKNOWN) return c;
    orr_error("%s: the data has no owner; call starpu_mpi_data_register for it first, on every rank", fn);
    return NULL;
}

/* ---- owners and tags ---- */

void starpu_mpi_data_set_tag(starpu_data_handle_t handle, starpu_mpi_tag_t data_tag)
{
    if (!check_handle(handle, "starpu_mpi_data_set_tag")) return;
    orr_owned_set_tag(&orr_the_session.value, handle, data_tag);
}

void starpu_mpi_data_set_rank_comm(starpu_data_handle_t handle, int rank, MPI_Comm comm)
{
    static const char fn[] = "starpu_mpi_data_set_rank";
    struct orr_comm *c = check_comm(comm, fn);
    if (!c || !check_handle(handle, fn)) return;
    if (rank >= c->size || rank < STARPU_MPI_PER_NODE) {
        orr_error("%s: there is no rank %d among %d; the data keeps its owner", fn, rank, c->size);
        return;
    }
    if (handle->mpi_rank != ORR_RANK_UNKNOWN && orr_owned_rank(c, handle) != rank)
        orr_placed_thaw(c); /* its tasks are wanted elsewhere */
    orr_call_set_owner(c, handle, rank);
}

void starpu_mpi_data_register_comm(starpu_data_handle_t data_handle, starpu_mpi_tag_t data_tag, int rank,
                                   MPI_Comm comm)
{
    static const char fn[] = "starpu_mpi_data_register";
    if (!check_handle(data_handle, fn) || !check_comm(comm, fn)) return;
    if (data_tag != -1) starpu_mpi_data_set_tag(data_handle, data_tag);
    if (rank != -1) starpu_mpi_data_set_rank_comm(data_handle, rank, comm);
}

int starpu_mpi_data_get_rank(starpu_data_handle_t handle)
{
    return check_handle(handle, "starpu_mpi_data_get_rank") ? handle->mpi_rank : -1;
}

starpu_mpi_tag_t starpu_mpi_data_get_tag(starpu_data_handle_t handle)
{
    return check_handle(handle, "starpu_mpi_data_get_tag") ? orr_owned_tag(handle) : -1;
}

char *starpu_mpi_data_get_redux_map(starpu_data_handle_t handle)
{
    return orr_data_valid(handle) && handle->mpi && orr_owned_of(handle)->redux
               ? orr_owned_of(handle)->redux->map
               : NULL;
}

int starpu_mpi_data_get_source(starpu_data_handle_t data, int node)
{
    if (!check_handle(data, "starpu_mpi_data_get_source")) return -1;
    struct orr_comm *c = data->mpi ? orr_owned_of(data)->comm : NULL;
    return orr_owned_source(c ? c : orr_the_session.cluster.comm, data, node);
}

void starpu_mpi_data_reset_source(starpu_data_handle_t data, int node)
{
    if (!check_handle(data, "starpu_mpi_data_reset_source") || !data->mpi) return;
    struct orr_redirection **p = &orr_owned_of(data)->redirections, *r;
    while (*p && (*p)->node != node) p = &(*p)->next;
    if (!(r = *p)) return;
    *p = r->next;
    orr_free(r);
    if (!orr_owned_of(data)->redirections) data->mpi_flags &= ~(uint32_t)ORR_MPI_REDIRECTED;
}

void starpu_mpi_data_set_source(starpu_data_handle_t data, int node, int new_source)
{
    if (!check_handle(data, "starpu_mpi_data_set_source")) return;
    starpu_mpi_data_reset_source(data, node);
    struct orr_owned *o = orr_owned_get(&orr_the_session.value, data);
    struct orr_redirection *r = o ? orr_malloc(sizeof *r) : NULL;
    if (!r) {
        orr_error("starpu_mpi_data_set_source: out of memory; the value goes on coming from its owner");
        return;
    }
    *r = (struct orr_redirection){ node, new_source, o->redirections };
    o->redirections = r;
    orr_owned_reduces(&orr_the_session.value, data);
    data->mpi_flags |= ORR_MPI_REDIRECTED;
}

/* ---- values without a task ---- */

static int get_on(MPI_Comm comm, starpu_data_handle_t h, int node, void (*callback)(void *), void *arg,
                  const char *fn)
{
    struct orr_comm *c = check(comm, h, fn);
    if (!c) return orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    if (node < 0 || node >= c->size) {
        orr_error("%s: there is no rank %d among %d", fn, node, c->size);
        return -EINVAL;
    }
    return orr_call_get(c, h, node, callback, arg);
}

int starpu_mpi_get_data_on_node_detached(MPI_Comm comm, starpu_data_handle_t data_handle, int node,
                                         void (*callback)(void *), void *arg)
{
    return get_on(comm, data_handle, node, callback, arg, "starpu_mpi_get_data_on_node_detached");
}

struct here {
    struct orr_mpi_progress *progress;
    _Atomic uint32_t is;
};

static void it_is_here(void *p)
{
    struct here *h = p;
    struct orr_mpi_progress *progress = h->progress;
    orr_store_seq(&h->is, 1u); /* h may be gone from here on; before the look who sleeps */
    orr_progress_signal(progress);
}

static bool is_here(void *p)
{
    return orr_load_acquire(&((struct here *)p)->is);
}

int starpu_mpi_get_data_on_node(MPI_Comm comm, starpu_data_handle_t data_handle, int node)
{
    static const char fn[] = "starpu_mpi_get_data_on_node";
    struct orr_comm *c = check(comm, data_handle, fn);
    if (!c) return orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    if (orr_task_inside()) {
        orr_error("%s: it blocks, and must not be called from a task or a callback; use its detached form",
                  fn);
        return -EDEADLK;
    }
    int owner = orr_owned_rank(c, data_handle);
    bool waits = c->rank == node && owner != node && owner >= 0;
    struct here here = { .progress = &c->cluster->progress };
    int r = get_on(comm, data_handle, node, waits ? it_is_here : NULL, &here, fn);
    if (r || !waits) return r;
    orr_progress_wait(here.progress, is_here, &here);
    orr_spin_lock(&data_handle->queue.lock);
    bool came = data_handle->initialized;
    orr_spin_unlock(&data_handle->queue.lock);
    return came ? 0 : -ENODATA; /* why not was said */
}

void starpu_mpi_get_data_on_all_nodes_detached(MPI_Comm comm, starpu_data_handle_t data_handle)
{
    static const char fn[] = "starpu_mpi_get_data_on_all_nodes_detached";
    struct orr_comm *c = check(comm, data_handle, fn);
    for (int node = 0; c && node < c->size; node++)
        if (get_on(comm, data_handle, node, NULL, NULL, fn)) break;
}

void starpu_mpi_data_migrate(MPI_Comm comm, starpu_data_handle_t handle, int new_rank)
{
    static const char fn[] = "starpu_mpi_data_migrate";
    struct orr_comm *c = check(comm, handle, fn);
    if (!c) return;
    if (new_rank < 0 || new_rank >= c->size) {
        orr_error("%s: there is no rank %d among %d", fn, new_rank, c->size);
        return;
    }
    orr_placed_thaw(c);                    /* its tasks are wanted elsewhere */
    orr_call_migrate(c, handle, new_rank); /* what failed was said */
}

/* ---- copies ---- */

int starpu_mpi_data_cpy_priority(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle,
                                 MPI_Comm comm, int asynchronous, void (*callback_func)(void *),
                                 void *callback_arg, int priority)
{
    static const char fn[] = "starpu_mpi_data_cpy";
    struct orr_comm *c = check(comm, dst_handle, fn);
    if (!c || !check(comm, src_handle, fn)) return orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    return orr_call_copy(c, dst_handle, src_handle, asynchronous, callback_func, callback_arg, priority);
}

int starpu_mpi_data_cpy(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle, MPI_Comm comm,
                        int asynchronous, void (*callback_func)(void *), void *callback_arg)
{
    return starpu_mpi_data_cpy_priority(dst_handle, src_handle, comm, asynchronous, callback_func,
                                        callback_arg, STARPU_DEFAULT_PRIO);
}

/* ---- the cache ---- */

int starpu_mpi_cache_is_enabled(void)
{
    return orr_cache_is_on(&orr_the_session.value);
}

int starpu_mpi_cache_set(int enabled)
{
    if (orr_session_runs())
        orr_call_set_cache(orr_the_session.cluster.comm, enabled);
    else
        orr_cache_set(&orr_the_session.value, enabled != 0);
    return 0;
}

void starpu_mpi_cache_flush(MPI_Comm comm, starpu_data_handle_t data_handle)
{
    struct orr_comm *c = check_comm(comm, "starpu_mpi_cache_flush");
    if (c && check_handle(data_handle, "starpu_mpi_cache_flush")) orr_call_flush(c, data_handle);
}

void starpu_mpi_cache_flush_all_data(MPI_Comm comm)
{
    struct orr_comm *c = check_comm(comm, "starpu_mpi_cache_flush_all_data");
    if (c) orr_call_flush_all(c);
}

int starpu_mpi_cached_receive(starpu_data_handle_t data_handle)
{
    return check_handle(data_handle, "starpu_mpi_cached_receive") &&
           data_handle->mpi_flags & ORR_MPI_RECEIVED;
}

int starpu_mpi_cached_receive_set(starpu_data_handle_t data)
{
    return check_handle(data, "starpu_mpi_cached_receive_set") &&
           orr_cache_received(&orr_the_session.value, data);
}

int starpu_mpi_cached_cp_receive_set(starpu_data_handle_t data_handle)
{
    return starpu_mpi_cached_receive_set(data_handle);
}

void starpu_mpi_cached_receive_clear(starpu_data_handle_t data)
{
    if (check_handle(data, "starpu_mpi_cached_receive_clear"))
        data->mpi_flags &= ~(uint32_t)(ORR_MPI_RECEIVED | ORR_MPI_MADE);
}

/* Rank dest of comm as the transport counts, or -1 (said why). */
static int peer_of(MPI_Comm comm, starpu_data_handle_t h, int dest, const char *fn)
{
    struct orr_comm *c = check_handle(h, fn) ? check_comm(comm, fn) : NULL;
    int peer = c ? orr_comm_peer(c, dest) : -1;
    if (c && peer < 0) orr_error("%s: there is no rank %d among %d", fn, dest, c->size);
    return peer;
}

int starpu_mpi_cached_send_comm(starpu_data_handle_t data_handle, int dest, MPI_Comm comm)
{
    int peer = peer_of(comm, data_handle, dest, "starpu_mpi_cached_send");
    return peer >= 0 && data_handle->mpi && orr_rank_set_has(&orr_owned_of(data_handle)->sent, peer);
}

int starpu_mpi_cached_send_set_comm(starpu_data_handle_t data_handle, int dest, MPI_Comm comm)
{
    int peer = peer_of(comm, data_handle, dest, "starpu_mpi_cached_send_set");
    return peer >= 0 && orr_cache_sent(&orr_the_session.value, data_handle, peer);
}

void starpu_mpi_cached_send_clear(starpu_data_handle_t data)
{
    if (!check_handle(data, "starpu_mpi_cached_send_clear") || !data->mpi) return;
    orr_rank_set_clear(&orr_owned_of(data)->sent);
    data->mpi_flags &= ~(uint32_t)ORR_MPI_SENT;
}

/* ---- collectives ---- */

static int collective(MPI_Comm comm, const struct orr_collective *w, const char *fn)
{
    struct orr_comm *c = check_comm(comm, fn);
    if (!c) return orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    if (w->root >= 0 && w->root < c->size && w->count >= 0 && (w->handles || !w->count))
        return orr_call_collective(c, w);
    orr_error("%s: %s", fn,
              w->count < 0 || !w->handles ? "the list of data is not valid" : "the root does not exist");
    return -EINVAL;
}

int starpu_mpi_scatter_detached(starpu_data_handle_t *data_handles, int count, int root, MPI_Comm comm,
                                void (*scallback)(void *), void *sarg, void (*rcallback)(void *), void *rarg)
{
    const struct orr_collective w = { data_handles, count, root, false, scallback, sarg, rcallback, rarg };
    return collective(comm, &w, "starpu_mpi_scatter_detached");
}

int starpu_mpi_gather_detached(starpu_data_handle_t *data_handles, int count, int root, MPI_Comm comm,
                               void (*scallback)(void *), void *sarg, void (*rcallback)(void *), void *rarg)
{
    const struct orr_collective w = { data_handles, count, root, true, scallback, sarg, rcallback, rarg };
    return collective(comm, &w, "starpu_mpi_gather_detached");
}

int starpu_mpi_redux_data_prio_tree(MPI_Comm comm, starpu_data_handle_t data_handle, int prio, int arity)
{
    static const char fn[] = "starpu_mpi_redux_data";
    struct orr_comm *c = check(comm, data_handle, fn);
    if (!c) return orr_session_runs() ? -EINVAL : -ESHUTDOWN;
    if (arity < 0 || arity == 1) {
        orr_error("%s: a tree of arity %d is none; give 2 or more, or 0 to have it chosen", fn, arity);
        return -EINVAL;
    }
    return orr_call_gather_sums(c, data_handle, prio, arity);
}

int starpu_mpi_redux_data_tree(MPI_Comm comm, starpu_data_handle_t data_handle, int arity)
{
    return starpu_mpi_redux_data_prio_tree(comm, data_handle, 0, arity);
}

int starpu_mpi_redux_data_prio(MPI_Comm comm, starpu_data_handle_t data_handle, int prio)
{
    return starpu_mpi_redux_data_prio_tree(comm, data_handle, prio, 0);
}

int starpu_mpi_redux_data(MPI_Comm comm, starpu_data_handle_t data_handle)
{
    return starpu_mpi_redux_data_prio_tree(comm, data_handle, 0, 0);
}

/* ---- values for several ranks: what holds is what all ranks had when the layer started (session.c) ---- */

static _Atomic int coop_use = -1;

int starpu_mpi_coop_sends_get_use(void)
{
    if (orr_load_relaxed(&coop_use) < 0)
        orr_store_relaxed(&coop_use, (int)orr_env_long(ORR_SETTING(STARPU_MPI_COOP_SENDS), 1, 0, 1));
    return orr_load_relaxed(&coop_use);
}

void starpu_mpi_coop_sends_set_use(int use_coop_sends)
{
    orr_store_relaxed(&coop_use, use_coop_sends != 0);
}

void starpu_mpi_coop_sends_data_handle_nb_sends(starpu_data_handle_t data_handle, int nb_sends)
{
    (void)nb_sends;
    check_handle(data_handle, "starpu_mpi_coop_sends_data_handle_nb_sends");
}

/* ---- tags ---- */

int64_t starpu_mpi_tags_allocate(int64_t nbtags)
{
    return orr_tags_allocate(&orr_the_session.value, nbtags);
}

void starpu_mpi_tags_free(int64_t mintag)
{
    orr_tags_free(&orr_the_session.value, mintag);
}

int64_t starpu_mpi_tags_get_next_value(void)
{
    return orr_tags_next(&orr_the_session.value);
}
