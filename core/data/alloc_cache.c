/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc_cache.c: see alloc_cache.h.
 * Threads: any. Owns: the buffers kept, by node, and the tables of the interfaces that they are of. Not here:
 * when buffers are given back (eviction.c, coherency.c), limits (core/mem/node.h).
 *
 * What a program's allocate_data_on_node does may take long (a call of a driver), and only its own methods
 * can move a buffer from one structure to another. A buffer that is kept is a byte copy of the structure that
 * had it; it counts as in use, since nobody has freed it, and goes as soon as somebody finds no room on its
 * node: before data are evicted for it. None is kept in a main memory with a limit, where whoever waits for
 * room would not be told, nor in a store, where what is in use decides what is tried again.
 *
 * A method must not be called once its table may be gone: with the last data of a table its buffers go, and
 * who ends that data waits for those that others are just freeing. No method is called with the lock held. */
#include "core/data/alloc_cache.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/interfaces/dense.h"
#include "core/data/transfer.h"
#include "core/mem/node.h"
#include "core/mem/recycle.h"

enum { MOST = 64 }; /* of a node */

/* An interface with data. */
struct table {
    struct table *next;
    const struct starpu_data_interface_ops *ops; /* [const] */
    size_t handles;
    size_t buffers; /* kept, or in somebody's hands */
};

struct buffer {
    struct buffer *next; /* in its list; while it is freed: the one whose method frees this */
    struct table *table; /* [const], like the rest */
    size_t bytes;
    uint32_t key;
    _Alignas(max_align_t) char interface[];
};

static ORR_SPIN(alloc_cache) lock; /* protects all below; leaf */
static struct table *tables;
static struct {
    struct buffer *first; /* oldest first */
    unsigned count;
    size_t bytes;
    unsigned in_hand; /* taken off: being freed, or looked at */
} kept[STARPU_MAXNODES];

/* ---- tables ---- */

static struct table **find_locked(const struct starpu_data_interface_ops *ops)
{
    struct table **at = &tables;
    while (*at && (*at)->ops != ops) at = &(*at)->next;
    return at;
}

static bool is_for(const struct starpu_data_interface_ops *ops)
{
    return ops->allocate_data_on_node != orr_dense_allocate && ops->reuse_data_on_node && !ops->dontcache &&
           ops->allocate_data_on_node && ops->free_data_on_node && (ops->alloc_compare || ops->compare);
}

/* Counts one more handle; spare: for a new table. False: there is none yet. */
static bool count_handle(const struct starpu_data_interface_ops *ops, struct table *spare)
{
    orr_spin_lock(&lock);
    struct table **at = find_locked(ops), *t = *at;
    if (!t && spare) {
        *spare = (struct table){ .ops = ops };
        *at = t = spare;
    }
    if (t) t->handles++;
    orr_spin_unlock(&lock);
    if (t != spare) orr_free(spare);
    return t;
}

void orr_alloc_cache_enter(struct orr_data *h)
{
    const struct starpu_data_interface_ops *ops = h->ops;
    if (orr_likely(!is_for(ops))) return;
    uint32_t key = ops->alloc_footprint ? ops->alloc_footprint(h) : h->footprint;
    struct table *spare = NULL;
    if (!count_handle(ops, NULL) && (!(spare = orr_malloc(sizeof *spare)) || !count_handle(ops, spare)))
        return; /* no memory: its buffers are not kept */
    h->alloc_key = key ? key : 1;
}

/* ---- buffers ---- */

/* Takes one off its node's list. */
static struct buffer *take_locked(unsigned node, struct buffer **at)
{
    struct buffer *b = *at;
    *at = b->next;
    b->next = NULL;
    kept[node].count--;
    kept[node].bytes -= b->bytes;
    kept[node].in_hand++;
    return b;
}

static void put_locked(unsigned node, struct buffer *b)
{
    struct buffer **at = &kept[node].first;
    while (*at) at = &(*at)->next;
    *at = b;
    b->next = NULL;
    kept[node].count++;
    kept[node].bytes += b->bytes;
}

/* The oldest if more than so many, or so many bytes, are kept. */
static struct buffer *take_beyond(unsigned node, unsigned most, size_t most_bytes)
{
    struct buffer *b = NULL;
    orr_spin_lock(&lock);
    if (kept[node].first && (kept[node].count > most || kept[node].bytes > most_bytes))
        b = take_locked(node, &kept[node].first);
    orr_spin_unlock(&lock);
    return b;
}

/* The oldest of a table. */
static struct buffer *take_of(const struct starpu_data_interface_ops *ops, unsigned node)
{
    struct buffer *b = NULL, **at = &kept[node].first;
    orr_spin_lock(&lock);
    while (*at && (*at)->table->ops != ops) at = &(*at)->next;
    if (*at) b = take_locked(node, at);
    orr_spin_unlock(&lock);
    return b;
}

/* The latest that may have the shape of h: most of it may be in the caches. */
static struct buffer *take_like(const struct orr_data *h, unsigned node)
{
    struct buffer **found = NULL, *b = NULL;
    orr_spin_lock(&lock);
    for (struct buffer **at = &kept[node].first; *at; at = &(*at)->next)
        if ((*at)->key == h->alloc_key && (*at)->table->ops == h->ops) found = at;
    if (found) b = take_locked(node, found);
    orr_spin_unlock(&lock);
    return b;
}

/* Takes a table off that has no data and no buffers. */
static struct table *take_table_locked(struct table *t)
{
    if (t->handles > 0 || t->buffers > 0) return NULL;
    *find_locked(t->ops) = t->next;
    return t;
}

/* It is nobody's any more. */
static void forget(struct buffer *b, unsigned node)
{
    orr_spin_lock(&lock);
    kept[node].in_hand--;
    b->table->buffers--; /* its table may be gone from here on */
    struct table *over = take_table_locked(b->table);
    orr_spin_unlock(&lock);
    orr_free(over);
    orr_free(b);
}

static size_t free_buffer(struct buffer *b, unsigned node)
{
    size_t bytes = b->bytes;
    struct orr_acting *acting = orr_acting(orr_self());
    b->next = acting->frees; /* its method may end data of the same table */
    acting->frees = b;
    b->table->ops->free_data_on_node(b->interface, node);
    acting->frees = b->next;
    forget(b, node);
    return bytes;
}

/* ---- allocating ---- */

static bool fits(const struct orr_data *h, struct buffer *b, void *itf)
{
    const struct starpu_data_interface_ops *ops = h->ops;
    return (ops->alloc_compare ? ops->alloc_compare : ops->compare)(b->interface, itf);
}

/* Puts back what only looked as if it had the shape. */
static void put_back(struct buffer *refused, unsigned node)
{
    orr_spin_lock(&lock);
    for (struct buffer *next; refused; refused = next) {
        next = refused->next;
        put_locked(node, refused);
        kept[node].in_hand--;
    }
    orr_spin_unlock(&lock);
}

/* Gives h a buffer that was kept: its bytes; -1: there is none. */
static starpu_ssize_t reuse(struct orr_data *h, unsigned node)
{
    void *itf = h->replicates[node].interface;
    struct buffer *refused = NULL, *b;
    while ((b = take_like(h, node)) && !fits(h, b, itf)) {
        b->next = refused;
        refused = b;
    }
    if (orr_unlikely(refused)) put_back(refused, node);
    if (!b) return -1;
    starpu_ssize_t bytes = (starpu_ssize_t)b->bytes;
    h->ops->reuse_data_on_node(itf, b->interface, node);
    forget(b, node);
    return bytes;
}

static size_t size_of(struct orr_data *h)
{
    if (h->ops->get_alloc_size) return h->ops->get_alloc_size(h);
    return h->ops->get_size ? h->ops->get_size(h) : 1;
}

static starpu_ssize_t allocate_new(struct orr_data *h, unsigned node)
{
    void *itf = h->replicates[node].interface;
    if (orr_likely(h->ops->allocate_data_on_node == orr_dense_allocate)) return orr_dense_allocate(itf, node);
    struct orr_acting *acting = orr_acting(orr_self());
    acting->allocates++;
    starpu_ssize_t bytes = h->ops->allocate_data_on_node(itf, node);
    acting->allocates--;
    return bytes;
}

starpu_ssize_t orr_buffer_allocate(struct orr_data *h, unsigned node)
{
    starpu_ssize_t bytes = orr_unlikely(h->alloc_key) ? reuse(h, node) : -1;
    if (bytes >= 0) return bytes;
    while ((bytes = allocate_new(h, node)) < 0 && orr_alloc_cache_drop(node, size_of(h))) continue;
    return bytes < 0 ? -ENOMEM : bytes;
}

/* ---- giving back ---- */

/* How many bytes may be kept. */
static size_t most_bytes(unsigned node)
{
    size_t limit = orr_nodes[node].limit_bytes;
    if (orr_nodes[node].role == ORR_MAIN_MEMORY) return orr_recycle_limit() / orr_main_memories;
    if (orr_nodes[node].role == ORR_STORE) return 0;
    return limit ? limit / 2 : SIZE_MAX;
}

/* h's buffer as one to keep, no longer h's; NULL: no memory for it. */
static struct buffer *buffer_of(struct orr_data *h, unsigned node, size_t bytes)
{
    const struct starpu_data_interface_ops *ops = h->ops;
    void *itf = h->replicates[node].interface;
    struct buffer *b = orr_malloc(sizeof *b + ops->interface_size);
    if (!b) return NULL;
    b->bytes = bytes;
    b->key = h->alloc_key;
    memcpy(b->interface, itf, ops->interface_size);
    if (ops->cache_data_on_node) ops->cache_data_on_node(b->interface, itf, node);
    return b;
}

bool orr_buffer_keep(struct orr_data *h, unsigned node)
{
    const struct orr_chunk *c = h->replicates[node].chunk; /* changed only by who gives the buffer back */
    size_t most = most_bytes(node), bytes = c ? c->bytes : size_of(h);
    struct buffer *b = most > 0 && bytes <= most ? buffer_of(h, node, bytes) : NULL;
    if (!b) return false;
    orr_spin_lock(&lock);
    b->table = *find_locked(h->ops);
    b->table->buffers++;
    put_locked(node, b);
    orr_spin_unlock(&lock);
    while ((b = take_beyond(node, MOST, most))) free_buffer(b, node);
    return true;
}

bool orr_alloc_cache_drop(unsigned node, size_t bytes)
{
    size_t dropped = 0;
    bool any = false;
    for (struct buffer *b; (dropped < bytes || !any) && (b = take_beyond(node, 0, 0)); any = true)
        dropped += free_buffer(b, node);
    return any;
}

bool orr_alloc_cache_make_room(unsigned node, size_t bytes)
{
    return !orr_acting(orr_self())->allocates && orr_alloc_cache_drop(node, bytes);
}

size_t orr_alloc_cache_bytes(unsigned node)
{
    orr_spin_lock(&lock);
    size_t bytes = kept[node].bytes;
    orr_spin_unlock(&lock);
    return bytes;
}

bool orr_alloc_cache_busy(unsigned node)
{
    orr_spin_lock(&lock);
    bool busy = kept[node].in_hand > 0;
    orr_spin_unlock(&lock);
    return busy;
}

/* ---- the end of a table ---- */

/* How many of a table this thread, whose they are, is just freeing further up its stack. */
static size_t freed_here(const struct buffer *frees, const struct table *t)
{
    size_t n = 0;
    for (const struct buffer *b = frees; b; b = b->next) n += b->table == t;
    return n;
}

/* Forgets it if it has no data and no buffers. False: others are freeing some. */
static bool forget_table(const struct starpu_data_interface_ops *ops)
{
    const struct buffer *frees = orr_acting(orr_self())->frees;
    orr_spin_lock(&lock);
    struct table *t = *find_locked(ops);
    bool busy =
        t && t->handles == 0 && t->buffers > freed_here(frees, t); /* what is freed here ends after this */
    struct table *over = t ? take_table_locked(t) : NULL;
    orr_spin_unlock(&lock);
    orr_free(over);
    return !busy;
}

void orr_alloc_cache_leave_table(const struct starpu_data_interface_ops *ops)
{
    orr_spin_lock(&lock);
    bool last = --(*find_locked(ops))->handles == 0;
    orr_spin_unlock(&lock);
    if (!last) return;
    for (unsigned n = 0; n < STARPU_MAXNODES; n++)
        for (struct buffer *b; (b = take_of(ops, n));) free_buffer(b, n);
    while (!forget_table(ops)) sched_yield();
}
