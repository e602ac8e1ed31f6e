/* SPDX-License-Identifier: BSD-3-Clause */
/* handle.c: registering data, and ending its life.
 * Threads: any. Owns: the handles that ended last. Not here: finding them by address (registry.c), acquiring
 * (acquire.c), copies (coherency.c), interfaces' shapes (interfaces/), partitions (partition.c). */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/block.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/data/alloc_cache.h"
#include "core/data/coherency.h"
#include "core/data/data.h"
#include "core/data/interfaces/dense.h"
#include "core/data/partition.h"
#include "core/data/registry.h"
#include "core/data/view.h"
#include "core/mem/node.h"

enum { RETIRED = 64 };

static _Atomic bool default_sequential_consistency = true;
static _Atomic(struct orr_data *) retired[RETIRED]; /* the handles that ended last */
static _Atomic unsigned next_retired;

static ORR_SPIN(names) names; /* protects the name of every handle, which anybody may read to say something,
                               * and the numbers that interfaces get */

struct orr_data_hooks orr_data_hooks;

static const char *where(void)
{
    return orr_data_hooks.where ? orr_data_hooks.where() : "";
}

static bool in_task(void)
{
    return orr_data_hooks.in_task && orr_data_hooks.in_task();
}

/* Whether h may be used by function fn; says so if not. */
static bool check(struct orr_data *h, const char *fn)
{
    if (orr_data_valid(h)) return true;
    orr_error("%s%s: %s; register the data first and keep its handle until it is unregistered", fn, where(),
              h ? "the handle is not a registered one" : "the handle is NULL");
    return false;
}

struct orr_data_rare *orr_data_rare_get(struct orr_data *h)
{
    struct orr_data_rare *r = orr_data_rare(h);
    if (r) return r;
    struct orr_data_rare *fresh = orr_block_calloc(sizeof *fresh);
    if (!fresh) return NULL;
    orr_spin_lock(&h->queue.lock);
    r = orr_data_rare(h);
    if (!r) orr_store_release(&h->rare, r = fresh); /* pairs with orr_data_rare */
    orr_spin_unlock(&h->queue.lock);
    if (r != fresh) orr_block_free(fresh, sizeof *fresh);
    return r;
}

static size_t interface_bytes(const struct starpu_data_interface_ops *ops)
{
    return (ops->interface_size + 15) & ~(size_t)15;
}

/* One block: the handle, its replicates, and every node's interface struct. */
struct orr_data *orr_data_create(const struct starpu_data_interface_ops *ops, int home_node,
                                 const void *interface_on_home)
{
    unsigned nodes = orr_node_places();
    size_t itf_bytes = interface_bytes(ops);
    unsigned structs = nodes + (ops->interface_size > ORR_SCRATCH_BYTES); /* see interface_of_none */
    size_t bytes = sizeof(struct orr_data) + nodes * sizeof(struct orr_replicate) + structs * itf_bytes;
    struct orr_data *h = orr_block_calloc(bytes);
    if (!h) return NULL;
    h->block_bytes = (uint32_t)bytes;
    h->ops = ops;
    h->home_node = (int16_t)home_node;
    h->nnodes = (uint16_t)nodes;
    h->replicates = (struct orr_replicate *)(h + 1);
    char *itf = (char *)(h->replicates + nodes);
    for (unsigned n = 0; n < nodes; n++, itf += itf_bytes) h->replicates[n].interface = itf;
    h->ooc = true;
    h->mpi_rank = -1;
    h->mpi_tag = UINT32_MAX;
    h->root = h;
    h->magic = ORR_DATA_MAGIC;
    h->formats = ops->is_multiformat && ops->get_mf_ops;
    h->sequential_consistency = orr_load_relaxed(&default_sequential_consistency);
    for (unsigned n = 0; ops->init && n < nodes; n++) ops->init(h->replicates[n].interface);
    if (ops->register_data_handle) ops->register_data_handle(h, home_node, (void *)interface_on_home);
    if (home_node >= 0) {
        h->replicates[home_node].state = ORR_OWNED;
        h->replicates[home_node].allocated = true;
        h->initialized = true;
        orr_store_relaxed(&h->written_ahead, true);
    }
    h->footprint = ops->footprint ? ops->footprint(h) : 0;
    orr_alloc_cache_enter(h);
    orr_data_update_ready_locked(h);
    ORR_EVENT(DATA_REGISTERED, h, ops->get_size ? ops->get_size(h) : 0, home_node, 0);
    return h;
}

static void free_contributions(struct orr_data_rare *r)
{
    for (unsigned i = 0; i < r->redux_count; i++)
        if (r->redux_per_worker[i]) orr_data_destroy(r->redux_per_worker[i]);
    orr_free(r->redux_per_worker);
}

static void free_block(struct orr_data *h)
{
    if (h) orr_block_free(h, h->block_bytes);
}

/* A handle that ended is kept for a while, without its magic: so its use, or a second unregistration, is
 * noticed. */
static void retire(struct orr_data *h)
{
    unsigned place = orr_add_relaxed(&next_retired, 1u) % RETIRED;
    free_block(orr_exchange_acq_rel(&retired[place], h));
}

void orr_data_retired_free(void)
{
    for (unsigned i = 0; i < RETIRED; i++) free_block(orr_exchange_acq_rel(&retired[i], NULL));
    orr_registry_trim();
}

void orr_data_destroy(struct orr_data *h)
{
    ORR_EVENT(DATA_UNREGISTERED, h, 0, 0, 0);
    if (h->mpi && orr_data_hooks.forget) orr_data_hooks.forget(h);
    orr_data_invalidate_copies(h);
    if (h->ops->unregister_data_handle) h->ops->unregister_data_handle(h);
    struct orr_data_rare *r = orr_data_rare(h);
    if (r) {
        if (r->unregister_hook) r->unregister_hook(h);
        orr_data_scratch_free(h);
        free_contributions(r);
        orr_free(r->name);
        orr_free(r->sharing.interface);
        orr_block_free(r, sizeof *r);
    }
    orr_alloc_cache_leave(h); /* the last call of a method: who waits for the end may take the table away */
    h->magic = 0;
    retire(h);
}

static void *pointer_in(struct orr_data *h, void *itf, int node)
{
    if (h->ops->to_pointer) return h->ops->to_pointer(itf, (unsigned)node);
    if (h->ops->handle_to_pointer) return h->ops->handle_to_pointer(h, (unsigned)node);
    return NULL;
}

static void *pointer_of(struct orr_data *h, int node)
{
    return pointer_in(h, h->replicates[node].interface, node);
}

/* The same where h's value is: for the program. */
static void *value_pointer_of(struct orr_data *h, int node)
{
    void *view = node == (int)orr_node_home() ? orr_view_interface(h) : NULL;
    return pointer_in(h, view ? view : h->replicates[node].interface, node);
}

/* The main memory in which the program has h, or would have it. */
static unsigned main_home(const struct orr_data *h)
{
    bool there = h->home_node >= 0 && orr_node_is_cpu((unsigned)h->home_node);
    return there ? (unsigned)h->home_node : orr_node_home();
}

void starpu_data_register(starpu_data_handle_t *handleptr, int home_node, void *data_interface,
                          struct starpu_data_interface_ops *ops)
{
    if (!handleptr || !ops || !data_interface) {
        orr_error("starpu_data_register: %s is NULL", !handleptr ? "where the handle goes"
                                                      : !ops     ? "ops"
                                                                 : "the interface");
        if (handleptr) *handleptr = NULL;
        return;
    }
    *handleptr = NULL;
    if (home_node >= 0 && (unsigned)home_node >= (orr_node_count ? orr_node_count : 1)) {
        orr_error("starpu_data_register: there is no memory node %d (there are %u); use STARPU_MAIN_RAM, or "
                  "-1 for data that "
                  "the runtime allocates",
                  home_node, orr_node_count ? orr_node_count : 1);
        return;
    }
    if (home_node < -1) {
        orr_error("starpu_data_register: home node %d is none; use STARPU_MAIN_RAM, or -1 for data that the "
                  "runtime allocates",
                  home_node);
        return;
    }
    if (ops->allocate_data_on_node == orr_dense_allocate && !orr_dense_kind_of(data_interface)) {
        orr_error("starpu_data_register: the structure's id %d is none of the interface that the "
                  "table's functions are for; a table that is copied from starpu_interface_vector_ops, say, "
                  "serves structures with "
                  "id = STARPU_VECTOR_INTERFACE_ID",
                  (int)((const struct orr_dense_head *)data_interface)->id);
        return;
    }
    starpu_data_register_ops(ops);
    struct orr_data *h = orr_data_create(ops, home_node, data_interface);
    if (!h) {
        orr_error("starpu_data_register: out of memory for a handle");
        return;
    }
    orr_registry_add(h, home_node >= 0 && orr_node_is_cpu((unsigned)home_node) ? pointer_of(h, home_node)
                                                                               : NULL);
    *handleptr = h;
}

void starpu_data_ptr_register(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, "starpu_data_ptr_register") || !orr_data_has_node(h, node)) return;
    orr_spin_lock(&h->queue.lock);
    struct orr_replicate *r = &h->replicates[node];
    if (!r->allocated) r->ours = false; /* the program's buffer is used from now on */
    r->allocated = true;
    orr_spin_unlock(&h->queue.lock);
    if (node == main_home(h)) orr_registry_set_pointer(h, pointer_of(h, (int)node));
}

void starpu_subdata_ptr_register(starpu_data_handle_t h, unsigned node)
{
    static const char fn[] = "starpu_subdata_ptr_register";
    if (!check(h, fn)) return;
    if (h->parent)
        starpu_data_ptr_register(h, node);
    else
        orr_error("%s: the data is no piece of other data; call starpu_data_ptr_register", fn);
}

static bool copy_shape_now(struct orr_data *h, void *itf_out)
{
    bool found = false;
    orr_spin_lock(&h->queue.lock);
    for (unsigned n = 0; n < h->nnodes && !found; n++) {
        found = !h->replicates[n].incoming && !h->replicates[n].leaves;
        if (found) memcpy(itf_out, h->replicates[n].interface, h->ops->interface_size);
    }
    orr_spin_unlock(&h->queue.lock);
    return found;
}

void orr_data_copy_shape(struct orr_data *h, void *itf_out)
{
    while (!copy_shape_now(h, itf_out)) sched_yield();
}

void starpu_data_register_same(starpu_data_handle_t *dst, starpu_data_handle_t src)
{
    if (!check(src, "starpu_data_register_same")) {
        *dst = NULL;
        return;
    }
    void *itf = orr_malloc(src->ops->interface_size);
    if (!itf) {
        orr_error("starpu_data_register_same: out of memory");
        *dst = NULL;
        return;
    }
    orr_data_copy_shape(src, itf);
    starpu_data_register(dst, -1, itf, (struct starpu_data_interface_ops *)src->ops);
    orr_free(itf);
}

static bool is_allocated(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool is = h->replicates[main_home(h)].allocated;
    orr_spin_unlock(&h->queue.lock);
    return is;
}

/* While h is partitioned its pieces stand for it: the innermost one that begins at ptr, or NULL. With the
 * registry's lock, under which data is partitioned, and put together before its pieces go. */
static struct orr_data *piece_at(struct orr_data *h, const void *ptr)
{
    struct orr_data *found = NULL;
    if (!orr_load_relaxed(&h->partitioned))
        return is_allocated(h) && pointer_of(h, (int)main_home(h)) == ptr ? h : NULL;
    for (unsigned i = 0; i < h->nchildren && !found; i++) found = piece_at(orr_data_rare(h)->pieces[i], ptr);
    return found;
}

starpu_data_handle_t starpu_data_lookup(const void *ptr)
{
    return orr_registry_find(ptr, piece_at);
}

struct visit {
    void (*fn)(struct orr_data *h, struct orr_access *a, void *arg);
    void *arg;
};

static void visit_queue(struct orr_data *h, void *visit)
{
    struct visit *v = visit;
    orr_spin_lock(&h->queue.lock);
    for (struct orr_access *a = h->queue.head; a; a = (struct orr_access *)a->waiter.next)
        v->fn(h, a, v->arg);
    orr_spin_unlock(&h->queue.lock);
}

static void visit_family(struct orr_data *h, void *visit)
{
    orr_partition_visit(h, visit_queue, visit);
}

void orr_data_visit_waiting(void (*fn)(struct orr_data *h, struct orr_access *a, void *arg), void *arg)
{
    struct visit v = { fn, arg };
    struct orr_partition_use u;
    orr_partition_begin(&u);
    orr_registry_visit(visit_family, &v);
    orr_partition_unlock(&u);
}

/* ---- the end of a handle's life ---- */

static bool may_block(const char *fn)
{
    if (!in_task()) return true;
    orr_error("%s%s: it blocks, and must not be called from a task or a callback; use its _submit form", fn,
              where());
    return false;
}

/* Whether h is whole and not ending already; says so if not. */
static bool may_end(struct orr_data *h, const char *fn)
{
    if (orr_load_relaxed(&h->lazy_unregister))
        orr_error("%s%s: the data is unregistered already", fn, where());
    else if (h->parent)
        orr_error("%s%s: the data is a piece of other data; it ends with starpu_data_partition_clean or "
                  "starpu_data_unpartition of that",
                  fn, where());
    else if (orr_load_relaxed(&h->partitioned))
        orr_error("%s%s: the data is still partitioned; call starpu_data_unpartition first", fn, where());
    else if (orr_partition_plans(h))
        orr_error("%s%s: the data still has %u partition plans; call starpu_data_partition_clean first", fn,
                  where(), orr_partition_plans(h));
    else
        return true;
    return false;
}

/* What is not brought home now is lost, so a copy that fails is made again. */
enum { BRING_HOME_TRIES = 3 };

/* Waits until nobody uses h, nor will (tasks without sequential consistency join late), brings the bytes home
 * if asked, and destroys it. */
static void unregister(struct orr_data *h, bool bring_home, const char *fn)
{
    if (!check(h, fn) || !may_block(fn)) return;
    if (!may_end(h, fn)) return;
    struct orr_access a = { .group = ORR_GROUP_WRITE, .flags = ORR_ACCESS_ENDS };
    if (orr_data_acquire_blocking(h, &a) != 0) return;
    if (bring_home && h->home_node >= 0 && !orr_load_relaxed(&h->ready_interface)) {
        int r = -EIO;
        for (int tries = 0; r == -EIO && tries < BRING_HOME_TRIES; tries++)
            r = orr_fetch_blocking(h, (unsigned)h->home_node, STARPU_R);
        if (r == 0)
            orr_fetch_end(h, (unsigned)h->home_node, STARPU_R);
        else if (r != -ENODATA) /* else its contents were given up: there is nothing to bring home */
            orr_error("%s: the data could not be brought to its home node (%s)", fn, strerror(-r));
    }
    orr_data_together_blocking(h);
    orr_registry_remove(h);
    orr_data_destroy(h);
}

void starpu_data_unregister(starpu_data_handle_t h)
{
    unregister(h, true, "starpu_data_unregister");
}

void starpu_data_unregister_no_coherency(starpu_data_handle_t h)
{
    unregister(h, false, "starpu_data_unregister_no_coherency");
}

/* starpu_data_unregister_submit has its access in the handle, so it needs no memory. An invalidation takes
 * that place if there is none for its own; an end that is submitted meanwhile joins when it is granted, which
 * is soon enough: nobody else may join after an end. */

/* Whether the place is the caller's now. If not, an end is due when it is free. */
static bool place_take(struct orr_data *h, bool ends)
{
    orr_spin_lock(&h->queue.lock);
    bool taken = h->end_taken;
    h->end_due = taken && (h->end_due || ends);
    h->end_taken = true;
    orr_spin_unlock(&h->queue.lock);
    return !taken;
}

/* Gives it up: true when it is the end's now. */
static bool place_leave(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool due = h->end_taken = h->end_due;
    h->end_due = false;
    orr_spin_unlock(&h->queue.lock);
    return due;
}

static struct orr_data *holder_of_place(struct orr_waiter *w)
{
    return (struct orr_data *)((char *)w - offsetof(struct orr_data, end));
}

static void end_granted(struct orr_waiter *w)
{
    struct orr_data *h = holder_of_place(w);
    if (orr_data_together_first(h, w)) return;
    if (orr_waiter_put_off(w, end_granted)) return; /* methods of the program's follow */
    orr_registry_remove(h);
    orr_data_destroy(h);
}

/* The place is taken. */
static void join_end(struct orr_data *h)
{
    h->end = (struct orr_access){ .waiter.granted = end_granted,
                                  .group = ORR_GROUP_WRITE,
                                  .flags = ORR_ACCESS_ENDS };
    int granted = orr_data_join(h, &h->end);
    if (granted > 0) end_granted(&h->end.waiter);
    if (granted >= 0) return;
    place_leave(h); /* a plan was made meanwhile, against the rules, and could not be switched */
    orr_store_relaxed(&h->lazy_unregister, false);
}

static void submit_end(struct orr_data *h, const char *fn)
{
    if (!check(h, fn) || !may_end(h, fn) || orr_data_use(h, ORR_USE_ENDS)) return;
    if (h->mpi && orr_data_hooks.leaves) orr_data_hooks.leaves(h);
    if (orr_exchange_acq_rel(&h->lazy_unregister, true)) /* by another thread, just now */
        may_end(h, fn);
    else if (place_take(h, true))
        join_end(h);
}

struct submitted_invalidation {
    struct orr_access access;
    struct orr_data *handle;
};

static void invalidation_granted(struct orr_waiter *w)
{
    struct submitted_invalidation *e = (struct submitted_invalidation *)w;
    if (orr_data_together_first(e->handle, w)) return;
    orr_data_invalidate_copies(e->handle);
    orr_data_leave(e->handle, &e->access);
    orr_block_free(e, sizeof *e);
}

/* The same in the handle's own place, which is given on before the handle may go. */
static void placed_invalidation_granted(struct orr_waiter *w)
{
    struct orr_data *h = holder_of_place(w);
    if (orr_data_together_first(h, w)) return;
    orr_data_invalidate_copies(h);
    if (place_leave(h)) join_end(h);
    orr_data_leave(h, NULL);
}

static void join_invalidation(struct orr_data *h, struct submitted_invalidation *e)
{
    struct orr_access *a = e ? &e->access : &h->end;
    *a = (struct orr_access){ .waiter.granted = e ? invalidation_granted : placed_invalidation_granted,
                              .group = ORR_GROUP_WRITE,
                              .flags = ORR_ACCESS_EMPTIES };
    int granted = orr_data_join(h, a);
    if (granted > 0) a->waiter.granted(&a->waiter);
    if (granted >= 0) return;
    if (e)
        orr_block_free(e, sizeof *e);
    else if (place_leave(h))
        join_end(h);
}

/* Whether h, which stays, may lose its value; says so if not. */
static bool may_empty(struct orr_data *h, const char *fn)
{
    if (!check(h, fn)) return false;
    if (orr_load_relaxed(&h->partitioned))
        orr_error("%s%s: the data is partitioned; call starpu_data_unpartition first", fn, where());
    else if (orr_load_relaxed(&h->lazy_unregister))
        orr_error("%s%s: the data is unregistered already (starpu_data_unregister_submit)", fn, where());
    else
        return true;
    return false;
}

/* Whether the last that waits for h is the invalidation in its place: one more would change nothing. */
static bool empties_last(struct orr_data *h)
{
    orr_spin_lock(&h->queue.lock);
    bool last = h->queue.head && h->queue.tail == &h->end && (h->end.flags & ORR_ACCESS_EMPTIES);
    orr_spin_unlock(&h->queue.lock);
    return last;
}

static void submit_invalidation(struct orr_data *h, const char *fn)
{
    if (!may_empty(h, fn)) return;
    struct submitted_invalidation *e = orr_block_calloc(sizeof *e);
    if (e) e->handle = h;
    if (e || place_take(h, false))
        join_invalidation(h, e);
    else if (!empties_last(h))
        orr_fatal("%s%s: out of memory while the last invalidation of the data, and what was submitted after "
                  "it, have yet to come; it keeps its value",
                  fn, where());
}

void starpu_data_unregister_submit(starpu_data_handle_t h)
{
    submit_end(h, "starpu_data_unregister_submit");
}

void starpu_data_invalidate_submit(starpu_data_handle_t h)
{
    submit_invalidation(h, "starpu_data_invalidate_submit");
}

void starpu_data_deinitialize_submit(starpu_data_handle_t h)
{
    submit_invalidation(h, "starpu_data_deinitialize_submit");
}

static void invalidate(struct orr_data *h, const char *fn)
{
    if (!may_empty(h, fn) || !may_block(fn)) return;
    struct orr_access a = { .group = ORR_GROUP_WRITE, .flags = ORR_ACCESS_EMPTIES };
    if (orr_data_acquire_blocking(h, &a) != 0) return;
    orr_data_invalidate_copies(h);
    orr_data_leave(h, &a);
}

void starpu_data_invalidate(starpu_data_handle_t h)
{
    invalidate(h, "starpu_data_invalidate");
}

void starpu_data_deinitialize(starpu_data_handle_t h)
{
    invalidate(h, "starpu_data_deinitialize");
}

/* ---- what the program says and asks ---- */

void starpu_data_set_sequential_consistency_flag(starpu_data_handle_t h, unsigned flag)
{
    if (check(h, "starpu_data_set_sequential_consistency_flag")) h->sequential_consistency = flag != 0;
}

unsigned starpu_data_get_sequential_consistency_flag(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_sequential_consistency_flag") && h->sequential_consistency;
}

unsigned starpu_data_get_default_sequential_consistency_flag(void)
{
    return orr_load_relaxed(&default_sequential_consistency);
}

void starpu_data_set_default_sequential_consistency_flag(unsigned flag)
{
    orr_store_relaxed(&default_sequential_consistency, flag != 0);
}

void starpu_data_set_name(starpu_data_handle_t h, const char *name)
{
    if (!check(h, "starpu_data_set_name")) return;
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (!r) return;
    char *copy = orr_strdup(name);
    orr_spin_lock(&names);
    char *old = r->name;
    r->name = copy;
    orr_spin_unlock(&names);
    orr_free(old);
}

static bool copy_name_locked(struct orr_data *h, char *name_out, size_t bytes)
{
    const struct orr_data_rare *r = orr_data_rare(h);
    size_t n = 0;
    if (!r || !r->name) return false;
    for (; n + 1 < bytes && r->name[n]; n++) name_out[n] = r->name[n]; /* also in signal handlers */
    name_out[n] = '\0';
    return true;
}

bool orr_data_name(struct orr_data *h, char *name_out, size_t bytes)
{
    orr_spin_lock(&names);
    bool named = copy_name_locked(h, name_out, bytes);
    orr_spin_unlock(&names);
    return named;
}

bool orr_data_name_now(struct orr_data *h, char *name_out, size_t bytes)
{
    if (!orr_spin_try(&names)) return false;
    bool named = copy_name_locked(h, name_out, bytes);
    orr_spin_unlock(&names);
    return named;
}

void starpu_data_set_coordinates_array(starpu_data_handle_t h, unsigned dimensions, int dims[])
{
    if (!check(h, "starpu_data_set_coordinates_array")) return;
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (!r) return;
    r->dimensions = dimensions < 5 ? dimensions : 5;
    for (unsigned i = 0; i < r->dimensions; i++) r->coordinates[i] = dims[i];
}

void starpu_data_set_coordinates(starpu_data_handle_t h, unsigned dimensions, ...)
{
    int dims[5];
    va_list ap;
    va_start(ap, dimensions);
    for (unsigned i = 0; i < dimensions && i < 5; i++) dims[i] = va_arg(ap, int);
    va_end(ap);
    starpu_data_set_coordinates_array(h, dimensions < 5 ? dimensions : 5, dims);
}

unsigned starpu_data_get_coordinates_array(starpu_data_handle_t h, unsigned dimensions, int dims[])
{
    struct orr_data_rare *r = check(h, "starpu_data_get_coordinates_array") ? orr_data_rare(h) : NULL;
    if (!r) return 0;
    unsigned n = r->dimensions < dimensions ? r->dimensions : dimensions;
    for (unsigned i = 0; i < n; i++) dims[i] = r->coordinates[i];
    return n;
}

void starpu_data_set_user_data(starpu_data_handle_t h, void *user_data)
{
    if (!check(h, "starpu_data_set_user_data")) return;
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (r) orr_store_release(&r->user_data, user_data);
}

void *starpu_data_get_user_data(starpu_data_handle_t h)
{
    const struct orr_data_rare *r = check(h, "starpu_data_get_user_data") ? orr_data_rare(h) : NULL;
    return r ? orr_load_acquire(&r->user_data) : NULL;
}

void starpu_data_set_sched_data(starpu_data_handle_t h, void *sched_data)
{
    if (!check(h, "starpu_data_set_sched_data")) return;
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (r) orr_store_release(&r->sched_data, sched_data);
}

void *starpu_data_get_sched_data(starpu_data_handle_t h)
{
    const struct orr_data_rare *r = check(h, "starpu_data_get_sched_data") ? orr_data_rare(h) : NULL;
    return r ? orr_load_acquire(&r->sched_data) : NULL;
}

void starpu_data_advise_as_important(starpu_data_handle_t h, unsigned is_important)
{
    if (check(h, "starpu_data_advise_as_important")) h->is_not_important = !is_important;
}

void starpu_data_set_reduction_methods_with_args(starpu_data_handle_t h, struct starpu_codelet *redux_cl,
                                                 void *redux_arg, struct starpu_codelet *init_cl,
                                                 void *init_arg)
{
    if (!check(h, "starpu_data_set_reduction_methods")) return;
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (!r) {
        orr_error("starpu_data_set_reduction_methods: out of memory");
        return;
    }
    r->redux_cl = redux_cl;
    r->redux_cl_arg = redux_arg;
    r->init_cl = init_cl;
    r->init_cl_arg = init_arg;
}

void starpu_data_set_reduction_methods(starpu_data_handle_t h, struct starpu_codelet *redux_cl,
                                       struct starpu_codelet *init_cl)
{
    starpu_data_set_reduction_methods_with_args(h, redux_cl, NULL, init_cl, NULL);
}

void starpu_data_set_reduction_scratch(starpu_data_handle_t h, starpu_data_handle_t scratch)
{
    static const char fn[] = "starpu_data_set_reduction_scratch";
    if (!check(h, fn) || (scratch && !check(scratch, fn))) return;
    struct orr_data_rare *r = orr_data_rare_get(h);
    if (r)
        r->redux_scratch = scratch;
    else
        orr_error("%s: out of memory", fn);
}

unsigned starpu_data_has_reduction_methods(starpu_data_handle_t h)
{
    return check(h, "starpu_data_has_reduction_methods") && orr_data_rare(h) && orr_data_rare(h)->redux_cl;
}

int starpu_data_get_home_node(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_home_node") ? h->home_node : -1;
}

/* ---- reading an interface ---- */

/* A program's register_data_handle fills in the struct of every one of STARPU_MAXNODES nodes: those that do
 * not exist share one that nobody reads, which is the thread's, or follows those of the handle. NULL: out of
 * memory. */
static void *interface_of_none(struct orr_data *h)
{
    if (h->ops->interface_size <= ORR_SCRATCH_BYTES) return orr_thread_scratch();
    return (char *)h->replicates[h->nnodes - 1].interface + interface_bytes(h->ops);
}

void *orr_data_interface(struct orr_data *h, unsigned node)
{
    if (!h || node >= STARPU_MAXNODES) return NULL;
    return node < h->nnodes ? h->replicates[node].interface : interface_of_none(h);
}

void *starpu_data_get_interface_on_node(starpu_data_handle_t h, unsigned node)
{
    void *view = h && node == orr_node_home() ? orr_view_interface(h) : NULL;
    return view ? view : orr_data_interface(h, node);
}

enum starpu_data_interface_id starpu_data_get_interface_id(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_interface_id") ? h->ops->interfaceid : STARPU_UNKNOWN_INTERFACE_ID;
}

struct starpu_data_interface_ops *starpu_data_get_interface_ops(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_interface_ops") ? (struct starpu_data_interface_ops *)h->ops : NULL;
}

void *starpu_data_handle_to_pointer(starpu_data_handle_t h, unsigned node)
{
    return check(h, "starpu_data_handle_to_pointer") && orr_data_has_node(h, node)
               ? value_pointer_of(h, (int)node)
               : NULL;
}

void *starpu_data_handle_to_pointer_ref(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, "starpu_data_handle_to_pointer_ref") || !orr_data_has_node(h, node)) return NULL;
    orr_view_leave(h); /* it is held for as long as the program likes */
    orr_spin_lock(&h->queue.lock);
    h->replicates[node].users++;
    orr_spin_unlock(&h->queue.lock);
    return pointer_of(h, (int)node);
}

void starpu_data_handle_to_pointer_unref(starpu_data_handle_t h, unsigned node)
{
    if (!check(h, "starpu_data_handle_to_pointer_unref") || !orr_data_has_node(h, node)) return;
    orr_spin_lock(&h->queue.lock);
    bool held = h->replicates[node].users > 0;
    if (held) h->replicates[node].users--;
    orr_spin_unlock(&h->queue.lock);
    if (!held)
        orr_error("starpu_data_handle_to_pointer_unref: nobody holds the buffer on memory node %u", node);
}

void starpu_data_print(starpu_data_handle_t h, unsigned node, FILE *stream)
{
    char shape[256];
    if (!check(h, "starpu_data_print") || !orr_data_has_node(h, node)) return;
    bool described =
        h->ops->describe && h->ops->describe(h->replicates[node].interface, shape, sizeof shape) >= 0;
    if (described)
        fprintf(stream, "%s", shape);
    else if (h->ops->display)
        h->ops->display(h, stream);
    else
        fprintf(stream, "%s", h->ops->name ? h->ops->name : "data");
    fprintf(stream, "\n");
}

int starpu_data_pointer_is_inside(starpu_data_handle_t h, unsigned node, void *ptr)
{
    if (!check(h, "starpu_data_pointer_is_inside") || !orr_data_has_node(h, node)) return 0;
    if (!h->ops->pointer_is_inside) return -1;
    return h->ops->pointer_is_inside(h->replicates[node].interface, node, ptr);
}

void *starpu_data_get_local_ptr(starpu_data_handle_t h)
{
    if (!check(h, "starpu_data_get_local_ptr")) return NULL;
    return starpu_data_handle_to_pointer(h, orr_data_place(h, orr_node_home()));
}

size_t starpu_data_get_size(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_size") && h->ops->get_size ? h->ops->get_size(h) : 0;
}

size_t starpu_data_get_alloc_size(starpu_data_handle_t h)
{
    if (!check(h, "starpu_data_get_alloc_size")) return 0;
    return h->ops->get_alloc_size ? h->ops->get_alloc_size(h) : starpu_data_get_size(h);
}

starpu_ssize_t starpu_data_get_max_size(starpu_data_handle_t h)
{
    return check(h, "starpu_data_get_max_size") && h->ops->get_max_size ? h->ops->get_max_size(h) : -1;
}

int starpu_data_pack_node(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count)
{
    if (!check(h, "starpu_data_pack_node") || !h->ops->pack_data) return -EINVAL;
    return h->ops->pack_data(h, node, ptr, count);
}

int starpu_data_pack(starpu_data_handle_t h, void **ptr, starpu_ssize_t *count)
{
    return starpu_data_pack_node(h, orr_node_home(), ptr, count);
}

int starpu_data_unpack_node(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    if (!check(h, "starpu_data_unpack_node") || !h->ops->unpack_data) return -EINVAL;
    return h->ops->unpack_data(h, node, ptr, count);
}

int starpu_data_unpack(starpu_data_handle_t h, void *ptr, size_t count)
{
    return starpu_data_unpack_node(h, orr_node_home(), ptr, count);
}

int starpu_data_peek_node(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    if (!check(h, "starpu_data_peek_node") || !h->ops->peek_data) return -EINVAL;
    return h->ops->peek_data(h, node, ptr, count);
}

int starpu_data_peek(starpu_data_handle_t h, void *ptr, size_t count)
{
    return starpu_data_peek_node(h, orr_node_home(), ptr, count);
}

static _Atomic int next_interface_id = STARPU_MAX_INTERFACE_ID;

int starpu_data_interface_get_next_id(void)
{
    return orr_add_relaxed(&next_interface_id, 1);
}

void starpu_data_register_ops(struct starpu_data_interface_ops *ops)
{
    orr_spin_lock(&names); /* several threads may register the first data of an interface */
    if (ops->interfaceid == STARPU_UNKNOWN_INTERFACE_ID)
        ops->interfaceid = (enum starpu_data_interface_id)starpu_data_interface_get_next_id();
    orr_spin_unlock(&names);
}
