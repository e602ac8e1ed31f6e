/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h: what the runtime keeps for every thread that ever called it, workers and others alike.
 * Threads: each touches its own record; sums over all records take the registry's mutex.
 * Owns: the records, slab caches, whether a thread blocks or acts. Not here: what layers above keep for each
 * thread, in rooms of the record (rooms.def; core/task/task.h, core/worker/own.h and others).
 *
 * A room is at a constant offset, so a field in it costs one instruction once the record is known.
 *
 * Counting without a shared counter: a thread adds to counters of its room that only it writes. Who wants a
 * sum goes through all records; the last of them has what ended threads had counted. */
#ifndef ORR_BASE_THREAD_H
#define ORR_BASE_THREAD_H

#include "core/base/export.h"
#include "core/base/slab.h"
#include "core/base/sync.h"

enum { ORR_SCRATCH_BYTES = 1024, ORR_HELD_LOCKS = 128 };

struct orr_thread {
    uint32_t callback_depth; /* [own] callbacks of the program within each other */
    bool serves; /* [own] others wait for what it does: the program's callbacks must not block it */
#define ROOM(name, counters, bytes) _Alignas(8) char room_##name[bytes]; /* [own] but for counters */
#include "core/base/rooms.def"
#undef ROOM
    struct orr_slab_cache caches[ORR_SLAB_COUNT]; /* [own] */
    _Atomic uint32_t blocked; /* [own, read by the deadlock detector] depth of blocking calls */
    _Atomic uint32_t looks; /* [own, read by core/worker/rest.c] odd while it waits by looking now and then */
    _Atomic uint32_t acting; /* [own, read by census] depth of functions of the program: it is not stuck */
    uint32_t blocks; /* [own] how often it began to block */
    struct orr_thread *next, **prev; /* [lock: registry] */
    _Atomic bool
        exempt;    /* one of the runtime's own threads: nobody waits for it to act [own, read by census] */
    int number;    /* [lock: registry] the system's, as in /proc/self/task */
    void *scratch; /* [own] see orr_thread_scratch */
#ifdef ORR_CHECK_LOCKS
    unsigned held_count; /* [own] */
    struct orr_held_lock {
        const void *lock;
        unsigned rank;
        const char *place;
    } held[ORR_HELD_LOCKS]; /* [own] in the order in which they were taken (rank.c) */
#endif
#ifdef ORR_WATCH_LOCKS
    unsigned spins_shown; /* [own] spin locks held that ThreadSanitizer was shown (sync.c) */
#endif
};

/* The room `name` of record t, as the type that its owner keeps there. */
#define orr_thread_room(t, name, type)                                                                       \
    ({                                                                                                       \
        _Static_assert(sizeof(type) <= sizeof((t)->room_##name), "core/base/rooms.def: too small");          \
        _Static_assert(_Alignof(type) <= 8, "core/base/rooms.def: rooms are aligned to 8 bytes");            \
        (type *)(void *)(t)->room_##name;                                                                    \
    })

/* The library's one thread-local variable, the record of the calling thread. It is reached in one
 * instruction, for which it must lie in the space that the C library keeps for libraries that are loaded
 * later (dlopen). That space is small, and others want some: so it is a pointer. */
extern ORR_EXPORT _Thread_local struct orr_thread *orr_thread_own __attribute__((tls_model("initial-exec")));

ORR_EXPORT struct orr_thread *orr_thread_register(void);

/* The calling thread's record; registers the thread the first time. Never NULL. */
static inline struct orr_thread *orr_self(void)
{
    struct orr_thread *t = orr_thread_own;
    return orr_likely(t != NULL) ? t : orr_thread_register();
}

/* ORR_SCRATCH_BYTES that nobody relies on once another function of the runtime is called; NULL: out of
 * memory. */
void *orr_thread_scratch(void);

/* Called by a thread of the program's that is about to block, once it counts as blocked; NULL: nobody needs
 * to know. Set by core/worker. */
extern ORR_EXPORT void (*_Atomic orr_blocking)(void);

static inline void orr_thread_blocked_begin(void)
{
    struct orr_thread *self = orr_self();
    orr_store_seq(&self->blocked,
                  orr_load_relaxed(&self->blocked) + 1); /* pairs with orr_threads_any_blocked */
    self->blocks++;
    void (*blocking)(void) = orr_load_acquire(&orr_blocking);
    if (orr_unlikely(blocking != NULL) && !self->serves && orr_load_relaxed(&self->blocked) == 1) blocking();
}
static inline void orr_thread_blocked_end(void)
{
    orr_own_add(&orr_self()->blocked, (uint32_t)-1);
}

/* While it counts as blocked, each time before it looks again whether its wait is over: nobody need wake it,
 * and that it still comes by is all that shows it waits. Once it is over, _end. */
static inline void orr_thread_looks_again(void)
{
    struct orr_thread *self = orr_self();
    orr_store_release(&self->looks, (orr_load_relaxed(&self->looks) + 2) | 1);
}
static inline void orr_thread_looks_end(void)
{
    struct orr_thread *self = orr_self();
    orr_store_release(&self->looks, orr_load_relaxed(&self->looks) & ~UINT32_C(1));
}

/* Whether some other thread, not one of the runtime's own, is blocked in the runtime. */
bool orr_threads_any_blocked(void);

/* The first of all records, the rest by their links; to be unlocked. The last is no thread: it has the
 * counters of those that have ended, and is exempt. Who sums two counters up that grow one after the other
 * reads, in a loop of its own, the one first that grows last. */
struct orr_thread *orr_threads_lock(void);
void orr_threads_unlock(void);

/* The system's numbers of the threads that called the runtime, at most max. */
unsigned orr_threads_numbers(int *numbers_out, unsigned max);

/* Around a function of the program's, but bodies of tasks: called on a thread of the runtime's, or on one
 * that waits, which may act on whatever it likes meanwhile. */
static inline void orr_acting_begin(void)
{
    orr_own_add(&orr_self()->acting, 1);
}
static inline void orr_acting_end(void)
{
    orr_own_add(&orr_self()->acting, (uint32_t)-1);
}

/* Around a callback of the program's that belongs to no task. On a thread that serves others it must not
 * block: what it waits for may need that thread. */
static inline void orr_callback_begin(void)
{
    struct orr_thread *self = orr_self();
    if (self->serves) self->callback_depth++;
    orr_own_add(&self->acting, 1);
}
static inline void orr_callback_end(void)
{
    struct orr_thread *self = orr_self();
    orr_own_add(&self->acting, (uint32_t)-1);
    if (self->serves) self->callback_depth--;
}

/* The calling thread is the runtime's own: it is never waited for. The second: the program says so of one of
 * its threads, or takes it back. */
ORR_EXPORT void orr_thread_is_internal(void);
void orr_thread_set_passive(bool passive);

/* Starts a thread on which no handler of the program's runs but for faults of its own, named so for
 * debuggers: 0 or -errno. */
ORR_EXPORT int orr_thread_start(pthread_t *out, void *(*run)(void *), void *arg, const char *name);

/* For slab.c. */
long orr_threads_cached_blocks(enum orr_slab_id id);
void orr_threads_drop_caches(enum orr_slab_id id);

struct orr_free_link {
    struct orr_free_link *next;
};

/* A block of slab id, uninitialised, or NULL. The block that comes next is prefetched: it was written by
 * another core. */
static inline void *orr_slab_alloc(enum orr_slab_id id)
{
    struct orr_slab_cache *c = &orr_self()->caches[id];
    struct orr_free_link *b = c->free_list;
    if (orr_unlikely(!b)) return orr_slab_alloc_slow(id);
    c->free_list = b->next;
    c->count--;
    return b;
}

enum { ORR_SLAB_CACHE_MAX = 64 };

static inline void orr_slab_free(enum orr_slab_id id, void *block)
{
    struct orr_slab_cache *c = &orr_self()->caches[id];
    struct orr_free_link *b = block;
    b->next = c->free_list;
    c->free_list = b;
    if (orr_unlikely(++c->count >= ORR_SLAB_CACHE_MAX)) orr_slab_free_slow(id);
}

#endif
