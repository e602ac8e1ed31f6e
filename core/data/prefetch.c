/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.c: what the program and policies say and ask about places of copies: bring it there, drop it,
 * where is it.
 * Threads: any; the forms with async 0 block. Owns: requests under way. Not here: how copies
 * move (coherency.c). A request joins the handle's access queue as a reader, so that it comes after the tasks
 * submitted before it and before later ones. */
#include <errno.h>
#include <stdlib.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/block.h"
#include "core/base/log.h"
#include "core/data/acquire.h"
#include "core/data/alloc_cache.h"
#include "core/data/partition.h"
#include "core/data/transfer.h"
#include "core/mem/kept.h"
#include "core/mem/recycle.h"

struct request {
    struct orr_access access; /* first */
    struct orr_fetch fetch;
    struct orr_event *done;     /* of a caller that waits, else NULL */
    struct orr_acquiring *turn; /* the same, that waits for its turn */
    int *status_out;
    bool unwanted;            /* wont_use: afterwards devices may drop it */
    void (*callback)(void *); /* the program's, while the copy is there; or NULL */
    void *callback_arg;
    int status; /* of the fetch */
};

static bool check(struct orr_data *h, unsigned node, const char *fn)
{
    const char *where = orr_data_hooks.where ? orr_data_hooks.where() : "";
    if (!orr_data_valid(h)) {
        orr_error("%s%s: %s; register the data first and keep its handle until it is unregistered", fn, where,
                  h ? "the handle is not a registered one" : "the handle is NULL");
        return false;
    }
    if (!orr_data_has_node(h, node)) {
        orr_error("%s%s: there is no memory node %u (there are %u)", fn, where, node, orr_data_nodes(h));
        return false;
    }
    return true;
}

static void mark_unwanted(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    for (unsigned n = 0; n < h->nnodes; n++)
        if (h->replicates[n].chunk && h->replicates[n].users == 0)
            orr_chunk_touch_locked(&h->replicates[n], n, true);
    orr_spin_unlock(&h->queue.lock);
}

/* Ends a request that kept its access to the end. */
static void end_request(struct orr_waiter *w)
{
    struct request *q = (struct request *)w;
    struct orr_data *h = q->fetch.handle;
    struct orr_event *done = q->done;
    if (q->callback) q->callback(q->callback_arg);
    if (q->status >= 0 && !q->fetch.prefetch) orr_fetch_end(h, q->fetch.node, q->fetch.mode);
    if (q->unwanted) mark_unwanted(h);
    if (q->status_out) *q->status_out = q->status < 0 ? q->status : 0;
    orr_data_leave(h, &q->access);
    orr_block_free(q, sizeof *q);
    if (done) orr_event_set(done);
}

static void request_over(struct request *q, int status)
{
    q->status = status;
    if (!q->callback || !orr_waiter_put_off(&q->access.waiter, end_request)) end_request(&q->access.waiter);
}

static void request_fetched(struct orr_fetch *f, int status)
{
    request_over((struct request *)((char *)f - offsetof(struct request, fetch)), status);
}

static void free_wish(struct orr_fetch *f, int status)
{
    (void)status;
    orr_block_free(f, sizeof *f);
}

/* A mere prefetch is started in its turn, but does not keep the tasks behind it waiting for it. */
static void wish(struct request *q)
{
    struct orr_fetch *f = orr_block_alloc(sizeof *f);
    if (f) {
        *f = q->fetch;
        f->done = free_wish;
        if (orr_fetch_start(f) != 0) free_wish(f, 0);
    }
    orr_data_leave(q->fetch.handle, &q->access);
    orr_block_free(q, sizeof *q);
}

static void request_granted(struct orr_waiter *w)
{
    struct request *q = (struct request *)w;
    if (q->turn) orr_acquiring_end(q->turn);
    if (q->fetch.prefetch && !q->done && !q->unwanted && !q->callback) {
        wish(q);
        return;
    }
    int r = orr_fetch_start(&q->fetch);
    if (r) request_over(q, r);
}

static void look_at(struct orr_data *h, void *why)
{
    const char **w = why;
    if (!*w) *w = orr_data_hooks.no_wait(h);
}

/* Whether the caller may wait for its turn to read h; says so if not. */
static bool may_wait(struct orr_data *h, const char *fn)
{
    const char *why = NULL;
    if (!orr_data_hooks.in_task || !orr_data_hooks.in_task()) return true;
    look_at(h, &why);
    orr_partition_relatives(h, look_at, &why);
    if (why) orr_error("%s%s: %s; call it with async 1, or before the task", fn, orr_data_hooks.where(), why);
    return !why;
}

/* A body waits for memory that tasks may hold which its worker has loaded, to run them next: they are loaded
 * again. What kernels have that ended, but of which the worker has not taken note, nobody gives back. */
static void wait_in_body(struct orr_event *done, struct orr_data *h, unsigned node, const char *fn)
{
    enum { BRIEFLY_US = 5000, PATIENCE_US = 1000000 };
    char label[64];
    if (!orr_transfers_wait_fed(done, BRIEFLY_US) && orr_data_hooks.give_back) orr_data_hooks.give_back();
    while (!orr_transfers_wait_fed(done, PATIENCE_US))
        if (orr_memory_give_up(h, node))
            orr_error("%s%s: for a second nothing has given back memory on node %u (%s) for data %s; kernels "
                      "before this task may hold it: fetch it before the task, or submit fewer kernels at a "
                      "time (STARPU_*_PIPELINE)",
                      fn, orr_data_hooks.where(), node, orr_nodes[node].name,
                      orr_data_label(h, label, sizeof label));
}

static int request(struct orr_data *h, struct orr_fetch fetch, bool unwanted, bool async, const void *at,
                   const char *fn)
{
    if (orr_load_relaxed(&h->partitioned)) return 0; /* its value is in its pieces */
    if (!async && !may_wait(h, fn)) return -EDEADLK;
    bool in_body = !async && orr_data_hooks.in_task && orr_data_hooks.in_task();
    struct request *q = orr_block_calloc(sizeof *q);
    if (!q) return -ENOMEM;
    struct orr_event done;
    int status = 0;
    orr_event_init(&done);
    q->access.group = ORR_GROUP_READ;
    q->access.waiter.granted = request_granted;
    q->fetch = fetch;
    q->fetch.handle = h;
    q->fetch.mode = STARPU_R;
    q->fetch.done = request_fetched;
    q->fetch.gives_up = in_body;
    q->unwanted = unwanted;
    q->done = async ? NULL : &done;
    q->status_out = async ? NULL : &status;
    if (!fetch.prefetch) orr_data_announce(h, STARPU_R);
    struct orr_acquiring turn;
    if (!async) orr_acquiring_begin(q->turn = &turn, h, at); /* until it is granted: h may go after its end */
    int granted = orr_data_join(h, &q->access);
    if (granted < 0) {
        if (!async) orr_acquiring_end(&turn);
        orr_block_free(q, sizeof *q);
        return granted;
    }
    if (granted) request_granted(&q->access.waiter);
    if (in_body)
        wait_in_body(&done, h, fetch.node, fn);
    else if (!async)
        orr_transfers_wait(&done);
    return status == -ENODATA || fetch.prefetch ? 0 : status; /* what was never written need not be brought */
}

int starpu_data_fetch_on_node(starpu_data_handle_t h, unsigned node, unsigned async)
{
    static const char fn[] = "starpu_data_fetch_on_node";
    if (!check(h, node, fn)) return -EINVAL;
    return request(h, (struct orr_fetch){ .node = (uint16_t)node }, false, async != 0,
                   __builtin_return_address(0), fn);
}

static int prefetch(struct orr_data *h, unsigned node, bool async, int prio, bool idle, const char *fn)
{
    if (!check(h, node, fn)) return -EINVAL;
    if (h->nnodes == 1) return 0;
    return request(h,
                   (struct orr_fetch){ .node = (uint16_t)node, .prefetch = true, .idle = idle, .prio = prio },
                   false, async, NULL, fn);
}

int starpu_data_prefetch_on_node_prio(starpu_data_handle_t h, unsigned node, unsigned async, int prio)
{
    return prefetch(h, node, async != 0, prio, false, "starpu_data_prefetch_on_node");
}

int starpu_data_prefetch_on_node(starpu_data_handle_t h, unsigned node, unsigned async)
{
    return prefetch(h, node, async != 0, 0, false, "starpu_data_prefetch_on_node");
}

int starpu_data_idle_prefetch_on_node_prio(starpu_data_handle_t h, unsigned node, unsigned async, int prio)
{
    return prefetch(h, node, async != 0, prio, true, "starpu_data_idle_prefetch_on_node");
}

int starpu_data_idle_prefetch_on_node(starpu_data_handle_t h, unsigned node, unsigned async)
{
    return prefetch(h, node, async != 0, 0, true, "starpu_data_idle_prefetch_on_node");
}

void starpu_data_wont_use(starpu_data_handle_t h)
{
    static const char fn[] = "starpu_data_wont_use";
    if (!check(h, 0, fn) || h->nnodes == 1) return;
    request(h, (struct orr_fetch){ .node = (uint16_t)orr_node_home(), .prefetch = true }, true, true, NULL,
            fn);
}

int starpu_data_get_on_node_cb_prio(starpu_data_handle_t h, int node, enum starpu_data_access_mode mode,
                                    void (*callback)(void *), void *arg, enum starpu_is_prefetch prefetch,
                                    int prio)
{
    static const char fn[] = "starpu_data_get_on_node_cb_prio";
    if (!check(h, (unsigned)node, fn)) return -EINVAL;
    bool reads = mode & STARPU_R;
    if (orr_load_relaxed(&h->partitioned) || !(mode & STARPU_RW)) {
        orr_error("%s: %s", fn,
                  orr_load_relaxed(&h->partitioned) ? "the data is partitioned; ask for its pieces"
                                                    : "the mode is none of STARPU_R, STARPU_W, STARPU_RW");
        return -EINVAL;
    }
    struct request *q = orr_block_calloc(sizeof *q);
    if (!q) return -ENOMEM;
    q->access.group = ORR_GROUP_READ;
    q->access.waiter.granted = request_granted;
    q->callback = callback;
    q->callback_arg = arg;
    q->fetch =
        (struct orr_fetch){ .done = request_fetched,
                            .handle = h,
                            .node = (uint16_t)node,
                            .mode = reads ? STARPU_R : STARPU_W,
                            .prefetch = !reads || prefetch != STARPU_FETCH, /* else W would be a write */
                            .idle = prefetch == STARPU_IDLEFETCH,
                            .prio = prio };
    if (reads) orr_data_announce(h, STARPU_R);
    int granted = orr_data_join(h, &q->access);
    if (granted < 0) orr_block_free(q, sizeof *q);
    if (granted > 0) request_granted(&q->access.waiter);
    return granted < 0 ? granted : 0;
}

int starpu_data_evict_from_node(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, node, "starpu_data_evict_from_node")) return -1;
    return orr_memory_evict(h, node) == 0 ? 0 : -1;
}

int starpu_data_can_evict(starpu_data_handle_t h, unsigned node, enum starpu_is_prefetch is_prefetch)
{
    (void)is_prefetch;
    if (!orr_data_valid(h) || !orr_data_has_node(h, node)) return 0;
    orr_spin_lock(&h->queue.lock);
    struct orr_replicate *r = &h->replicates[node];
    int can = r->chunk && r->users == 0 && !r->incoming;
    orr_spin_unlock(&h->queue.lock);
    return can;
}

int starpu_data_request_allocation(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, node, "starpu_data_request_allocation")) return -EINVAL;
    if (h->nnodes == 1) return 0;
    struct orr_fetch *f = orr_block_calloc(sizeof *f);
    if (!f) return -ENOMEM;
    *f = (struct orr_fetch){
        .done = free_wish, .handle = h, .node = (uint16_t)node, .mode = STARPU_W, .prefetch = true
    };
    if (orr_fetch_start(f) != 0) free_wish(f, 0);
    return 0;
}

/* ---- what is said of a handle ---- */

void starpu_data_set_wt_mask(starpu_data_handle_t h, uint32_t wt_mask)
{
    if (!check(h, 0, "starpu_data_set_wt_mask")) return;
    orr_spin_lock(&h->queue.lock);
    h->wt_mask = wt_mask;
    orr_spin_unlock(&h->queue.lock);
}

void starpu_data_set_ooc_flag(starpu_data_handle_t h, unsigned flag)
{
    if (!check(h, 0, "starpu_data_set_ooc_flag")) return;
    orr_spin_lock(&h->queue.lock);
    h->ooc = flag != 0;
    orr_spin_unlock(&h->queue.lock);
}

unsigned starpu_data_get_ooc_flag(starpu_data_handle_t h)
{
    return check(h, 0, "starpu_data_get_ooc_flag") && h->ooc;
}

/* ---- where it is ---- */

struct place {
    bool allocated, valid, loading, needed, mapped;
};

static struct place place_of(struct orr_data *h, unsigned node)
{
    struct orr_replicate *r = &h->replicates[node];
    orr_spin_lock(&h->queue.lock);
    struct orr_transfer *t = r->incoming;
    bool comes = t && !t->eviction;
    struct place p = { r->allocated, r->state != ORR_INVALID, comes,
                       comes && orr_load_relaxed(&t->urgency) != ORR_PREFETCH, r->mapped };
    orr_spin_unlock(&h->queue.lock);
    return p;
}

unsigned starpu_data_is_on_node(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, node, "starpu_data_is_on_node")) return 0;
    struct place p = place_of(h, node);
    return p.valid || p.loading;
}

unsigned starpu_data_is_on_node_excluding_prefetch(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, node, "starpu_data_is_on_node_excluding_prefetch")) return 0;
    struct place p = place_of(h, node);
    return p.valid || p.needed;
}

void starpu_data_query_status2(starpu_data_handle_t h, int node, int *is_allocated, int *is_valid,
                               int *is_loading, int *is_requested)
{
    if (!check(h, (unsigned)node, "starpu_data_query_status")) return;
    struct place p = place_of(h, (unsigned)node);
    if (is_allocated) *is_allocated = p.allocated;
    if (is_valid) *is_valid = p.valid;
    if (is_loading) *is_loading = p.loading;
    if (is_requested) *is_requested = p.loading;
}

void starpu_data_query_status(starpu_data_handle_t h, int node, int *is_allocated, int *is_valid,
                              int *is_requested)
{
    starpu_data_query_status2(h, node, is_allocated, is_valid, NULL, is_requested);
}

unsigned starpu_data_test_if_allocated_on_node(starpu_data_handle_t h, unsigned node)
{
    return check(h, node, "starpu_data_test_if_allocated_on_node") && place_of(h, node).allocated;
}

unsigned starpu_data_test_if_mapped_on_node(starpu_data_handle_t h, unsigned node)
{
    return check(h, node, "starpu_data_test_if_mapped_on_node") && place_of(h, node).mapped;
}

void starpu_data_get_node_data(unsigned node, starpu_data_handle_t **handles, int **valid, unsigned *n)
{
    *handles = NULL;
    *valid = NULL;
    *n = 0;
    if (node >= orr_node_count) return;
    struct orr_memory *m = &orr_memories[node];
    unsigned room = 0, count = 0;
    do { /* count, allocate for them and a few more, and count again while they became too many */
        free(*handles);
        free(*valid);
        room = count + 16;
        *handles = orr_malloc(room * sizeof **handles); /* both are the program's, to free() */
        *valid = orr_malloc(room * sizeof **valid);
        count = 0;
        if (!*handles || !*valid) break;
        orr_spin_lock(&m->lock);
        for (struct orr_chunk *c = m->first; c; c = c->next, count++) {
            if (count >= room) continue;
            (*handles)[count] = c->handle;
            bool free_now = orr_spin_try(&c->handle->queue.lock); /* else it is just being used */
            (*valid)[count] = !free_now || c->handle->replicates[node].state != ORR_INVALID;
            if (free_now) orr_spin_unlock(&c->handle->queue.lock);
        }
        orr_spin_unlock(&m->lock);
    } while (count > room);
    *n = count;
}

void starpu_memchunk_tidy(unsigned node)
{
    if (node >= orr_node_count) return;
    orr_alloc_cache_drop(node, SIZE_MAX);
    if (orr_node_is_cpu(node))
        orr_recycle_drain();
    else
        orr_kept_drain(node);
    orr_memory_tidy(node);
}
