/* SPDX-License-Identifier: BSD-3-Clause */
/* recorder.c: see recorder.h.
 * Threads: see there. Owns: which recorders there are. Not here: see there.
 *
 * A ring is written by its thread alone. The writer says that it begins the n-th record, writes its words,
 * and says that it is done; a reader copies what is done, and then looks how far the writer has begun: what
 * it may have begun to overwrite meanwhile is thrown away. The words are atomic, each stored with release and
 * loaded with acquire, so that whoever has a word of a later record sees that it was begun. */
#include "core/base/recorder.h"

#include <errno.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/thread.h"

enum { RECORDERS = 4, WORDS = 6 };
_Static_assert(sizeof(struct orr_record) == WORDS * sizeof(uint64_t), "a record is its words");

struct orr_ring {
    struct orr_ring *next;                   /* [const once listed] */
    _Atomic bool written;                    /* it has a thread [own; taken over under recorders_lock] */
    uint64_t mask;                           /* [const] */
    ORR_ALIGNED_LINE _Atomic uint64_t begun; /* [own: the thread] records */
    _Atomic uint64_t done;                   /* [own: the thread] publishes them */
    ORR_ALIGNED_LINE _Atomic uint64_t read;  /* [own: who drains] records before that may be overwritten */
    ORR_ALIGNED_LINE _Atomic uint64_t words[];
};

struct own { /* of a thread */
    struct {
        struct orr_ring *ring;
        uint64_t generation; /* whose */
    } of[RECORDERS];
};

static struct own *own_of(struct orr_thread *t)
{
    return orr_thread_room(t, recorders, struct own);
}

static ORR_MUTEX(recorders) recorders_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects these, and adding rings; leaf */
static struct orr_recorder *recorders[RECORDERS];
static uint64_t generations;

/* ---- rings ---- */

static struct orr_ring *ring_create(size_t records)
{
    size_t bytes = sizeof(struct orr_ring) + records * WORDS * sizeof(uint64_t);
    struct orr_ring *ring =
        orr_malloc_aligned(ORR_CACHE_LINE, (bytes + ORR_CACHE_LINE - 1) & ~(size_t)(ORR_CACHE_LINE - 1));
    if (!ring) return NULL;
    memset(ring, 0, sizeof *ring);
    ring->mask = records - 1;
    return ring;
}

/* A ring for the calling thread: that of one that has ended, or a new one. NULL: out of memory. */
static struct orr_ring *ring_find(struct orr_recorder *r)
{
    pthread_mutex_lock(&recorders_lock);
    struct orr_ring *ring = orr_load_relaxed(&r->rings);
    while (ring && orr_load_relaxed(&ring->written)) ring = ring->next;
    if (!ring && (ring = ring_create(r->records)) != NULL) {
        ring->next = orr_load_relaxed(&r->rings);
        orr_store_release(&r->rings, ring); /* pairs with orr_recorder_drain */
    }
    if (ring) orr_store_relaxed(&ring->written, true);
    pthread_mutex_unlock(&recorders_lock);
    return ring;
}

void orr_recorders_let_go(struct orr_thread *t)
{
    struct own *own = own_of(t);
    pthread_mutex_lock(&recorders_lock);
    for (unsigned i = 0; i < RECORDERS; i++)
        if (own->of[i].ring && recorders[i] && recorders[i]->generation == own->of[i].generation)
            orr_store_relaxed(&own->of[i].ring->written, false);
    pthread_mutex_unlock(&recorders_lock);
}

static struct orr_ring *own_ring(struct orr_recorder *r)
{
    struct own *own = own_of(orr_self());
    if (orr_likely(own->of[r->number].ring && own->of[r->number].generation == r->generation))
        return own->of[r->number].ring;
    own->of[r->number].ring = ring_find(r);
    own->of[r->number].generation = r->generation;
    return own->of[r->number].ring;
}

/* ---- recording ---- */

/* Whether there is room in the ring for one more. */
static bool has_room(struct orr_recorder *r, struct orr_ring *ring, uint64_t n)
{
    if (!r->full || n - orr_load_acquire(&ring->read) <= ring->mask) return true;
    r->full(r);
    return n - orr_load_acquire(&ring->read) <= ring->mask;
}

void orr_recorder_put(struct orr_recorder *r, const struct orr_record *record)
{
    struct orr_ring *ring = own_ring(r);
    uint64_t words[WORDS], n = ring ? orr_load_relaxed(&ring->begun) : 0;
    if (orr_unlikely(!ring || !has_room(r, ring, n))) {
        orr_add_relaxed(&r->lost, 1u);
        return;
    }
    memcpy(words, record, sizeof words);
    _Atomic uint64_t *to = &ring->words[(n & ring->mask) * WORDS];
    orr_store_relaxed(&ring->begun, n + 1);
    for (int i = 0; i < WORDS; i++) orr_store_release(&to[i], words[i]); /* pairs with read_one */
    orr_store_release(&ring->done, n + 1);                               /* pairs with drain_ring */
}

static void recorder_see(struct orr_observer *o, const struct orr_seen *e)
{
    struct orr_record record = { .ticks = orr_ticks(),
                                 .subject = (uintptr_t)e->subject,
                                 .a = e->a,
                                 .b = e->b,
                                 .c = e->c,
                                 .thread = (uint32_t)orr_self()->number,
                                 .kind = (uint16_t)e->kind };
    if (e->kind == ORR_EVENT_USER_TEXT && e->subject) {
        char text[3 * sizeof(uint64_t)] = { 0 };
        memcpy(text, e->subject, strnlen(e->subject, sizeof text));
        memcpy(&record.a, text, sizeof text);
    }
    orr_recorder_put((struct orr_recorder *)o, &record);
}

/* ---- reading ---- */

/* False: it was overwritten meanwhile. */
static bool read_one(struct orr_ring *ring, uint64_t n, struct orr_record *out)
{
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++) words[i] = orr_load_acquire(&ring->words[(n & ring->mask) * WORDS + i]);
    memcpy(out, words, sizeof words);
    return orr_load_relaxed(&ring->begun) <= n + ring->mask + 1;
}

static size_t drain_ring(struct orr_recorder *r, struct orr_ring *ring,
                         void (*take)(const struct orr_record *record, void *arg), void *arg)
{
    uint64_t done = orr_load_acquire(&ring->done), from = orr_load_relaxed(&ring->read), lost = 0;
    struct orr_record record;
    if (done - from > ring->mask + 1) {
        lost = done - from - (ring->mask + 1);
        from += lost;
    }
    size_t count = done - from;
    for (uint64_t n = from; n < done; n++) {
        if (read_one(ring, n, &record)) {
            take(&record, arg);
        } else {
            lost++;
            count--;
        }
        orr_store_release(&ring->read, n + 1); /* pairs with has_room */
    }
    orr_add_relaxed(&r->lost, lost);
    return count;
}

size_t orr_recorder_drain(struct orr_recorder *r, void (*take)(const struct orr_record *record, void *arg),
                          void *arg)
{
    size_t count = 0;
    if (orr_load_relaxed(&r->drainer) == orr_self()) return 0; /* take itself was recorded, and a ring full */
    pthread_mutex_lock(&r->drain_lock);
    orr_store_relaxed(&r->drainer, orr_self());
    for (struct orr_ring *ring = orr_load_acquire(&r->rings); ring; ring = ring->next)
        count += drain_ring(r, ring, take, arg);
    orr_store_relaxed(&r->drainer, NULL);
    pthread_mutex_unlock(&r->drain_lock);
    return count;
}

uint64_t orr_recorder_lost(const struct orr_recorder *r)
{
    return orr_load_relaxed(&r->lost);
}

/* ---- beginning and end ---- */

int orr_recorder_start(struct orr_recorder *r)
{
    if (r->records == 0 || r->records & (r->records - 1)) return -EINVAL;
    r->observer.see = recorder_see;
    orr_store_relaxed(&r->rings, NULL);
    orr_store_relaxed(&r->lost, 0);
    orr_store_relaxed(&r->drainer, NULL);
    pthread_mutex_init(&r->drain_lock, NULL);
    pthread_mutex_lock(&recorders_lock);
    r->number = 0;
    while (r->number < RECORDERS && recorders[r->number]) r->number++;
    if (r->number < RECORDERS) {
        recorders[r->number] = r;
        r->generation = ++generations;
    }
    pthread_mutex_unlock(&recorders_lock);
    if (r->number == RECORDERS) return -ENOSPC;
    if (orr_observer_add(&r->observer) == 0) return 0;
    orr_recorder_free(r);
    return -ENOSPC;
}

void orr_recorder_stop(struct orr_recorder *r)
{
    orr_observer_remove(&r->observer);
}

void orr_recorder_free(struct orr_recorder *r)
{
    pthread_mutex_lock(&recorders_lock);
    if (r->number < RECORDERS && recorders[r->number] == r) recorders[r->number] = NULL;
    struct orr_ring *ring = orr_load_relaxed(&r->rings);
    orr_store_relaxed(&r->rings, NULL);
    pthread_mutex_unlock(&recorders_lock);
    for (struct orr_ring *next; ring; ring = next) {
        next = ring->next;
        orr_free(ring);
    }
}
