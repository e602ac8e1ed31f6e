/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.h: what coherency.c, transfer.c and eviction.c share: a copy under way, and the memory a device
 * lends to data.
 * Threads: any. Owns: the shape of struct orr_transfer, struct orr_chunk and struct
 * orr_memory. Not here: what other layers may call (coherency.h).
 *
 * Locks: a handle's queue lock, then a node's memory lock; in the other order only by trying. Neither is held
 * over a call of an interface or a driver. A transfer is private to whoever carries it on, but for the fields
 * marked. */
#ifndef ORR_DATA_TRANSFER_H
#define ORR_DATA_TRANSFER_H

#include "core/data/coherency.h"
#include "core/mem/node.h"

/* A copy on its way to a node, or one being thrown out of it: replicates[dst].incoming points here until it
 * ends. It pins both its ends. */
struct orr_transfer {
    struct orr_transfer *next; /* [lock: memory] of the list it is on */
    struct orr_data *handle;   /* [const] */
    uint16_t dst;              /* [const] */
    int16_t src;               /* whence; -1: only memory is wanted */
    bool eviction;             /* [const] dst's copy is thrown out; nothing is brought */
    bool in_chunk;             /* [const] belongs to a chunk: not to be freed */
    bool has_turn;             /* counts among the prefetches under way */
    bool arrived;              /* [lock: memory] its copy has ended */
    bool evict_after;          /* throw the source out when it is done */
    bool quiet;
    _Atomic bool
        prefetch; /* nobody needs it yet: may be dropped. Cleared under the handle's lock, for ever */
    struct orr_fetch *waiters; /* [lock: handle] chained by next */
    struct orr_async async;
    struct orr_fetch via; /* of the stop in main memory */
};

/* A buffer on a device, in the order in which they are to be evicted. */
struct orr_chunk {
    struct orr_chunk *prev, *next; /* [lock: memory] */
    struct orr_data *handle;       /* [const] */
    size_t bytes;                  /* [const] */
    bool stuck;                    /* [lock: handle] could not be written back: no use trying again */
    bool unwanted;           /* [lock: handle] the program said so: even a prefetch may take its place */
    struct orr_transfer out; /* its write-back, then its eviction */
};

/* What is known of a node's memory and of the transfers to it. */
struct orr_memory {
    ORR_ALIGNED_LINE orr_spin lock;            /* protects all of it; see above */
    struct orr_chunk *first, *last;            /* least recently used first */
    struct orr_transfer *copying;              /* under way in the driver */
    struct orr_transfer *hungry, *hungry_last; /* wait for memory, in order */
    bool feeding, feed_again;                  /* somebody serves the hungry; and must look once more */
    bool retry;                                /* nobody will say when it is worth another look: poll */
    size_t used_when_stuck;                    /* used_bytes when the first hungry one found no room */
    struct orr_fetch *prefetches;              /* not started, most urgent first; they pin nothing */
    uint32_t prefetching;                      /* prefetches under way */
    uint32_t incoming;                         /* transfers under way to this node */
};
extern struct orr_memory orr_memories[STARPU_MAXNODES];

enum { ORR_PREFETCHES_AT_ONCE = 4 };

/* Carries on a transfer that was just made and published. No locks held; t may be gone on return. */
void orr_transfer_start(struct orr_transfer *t);
/* Ends it: publishes the copy (status 0), tells or resumes who waited. -EAGAIN: a prefetch that was dropped.
 */
void orr_transfer_finish(struct orr_transfer *t, int status);
/* Whether a prefetch may start now (f->has_turn is set then); else it is queued. Called with the handle's
 * lock held. */
bool orr_prefetch_turn_locked(struct orr_fetch *f);
/* The same question for one on the queue. Called with the memory's lock held. */
bool orr_prefetch_may_start_locked(const struct orr_memory *m, const struct orr_fetch *f);
/* Starts the first of the queue if its turn has come (coherency.c); false: not now. No locks held. */
bool orr_prefetch_start_next(unsigned node);
/* Gives a turn back that was not used. No locks held. */
void orr_prefetch_pass(unsigned node);
/* Drops the prefetches of h that are queued. No locks held. */
void orr_prefetches_drop(struct orr_data *h);
/* Resumes those who waited for a transfer to dst, or tells them that it failed: -EAGAIN: it brought nothing,
 * look again. */
void orr_waiters_tell(struct orr_fetch *waiters, unsigned dst, int status);
void orr_transfers_count(int by);

/* Goes on with a fetch after a transfer or a turn it waited for; calls done() when it is over (coherency.c).
 * No locks held. */
void orr_fetch_resume(struct orr_fetch *f);
/* Prepares the transfer of a valid copy to dst. Called with the handle's lock held. False: nobody has one. */
bool orr_transfer_prepare_locked(struct orr_transfer *t, struct orr_data *h, unsigned dst, bool with_bytes);

/* Serves those who wait for memory of a node (eviction.c). No locks held. */
void orr_memory_feed(unsigned node);
/* Adds t to them. */
void orr_memory_ask(struct orr_transfer *t);
/* Most recently used; called with the handle's lock held. first: to be evicted first instead. */
void orr_chunk_touch_locked(struct orr_replicate *r, unsigned node, bool first);
/* Takes the chunk off its list; the caller frees it. Called with the handle's lock held. */
struct orr_chunk *orr_chunk_detach_locked(struct orr_replicate *r, unsigned node);
/* Starts throwing h's copy out of a node, after writing it back if need be. 0, or -EBUSY. */
int orr_memory_evict(struct orr_data *h, unsigned node);

/* An eviction: whoever asks for the copy from now on waits for c->out. Called with the handle's lock held.
 * Then its running, with no locks held: c is gone afterwards. */
void orr_eviction_begin_locked(struct orr_chunk *c, unsigned node);
void orr_eviction_run(struct orr_chunk *c, unsigned node);
/* Starts to make a node that is nearly full less so. */
void orr_memory_tidy(unsigned node);

/* Allocates t's destination: 0 or -ENOMEM. Then it is carried on to the copy. No locks held. */
int orr_transfer_allocate(struct orr_transfer *t);
void orr_transfer_carry_on(struct orr_transfer *t);

/* A name for messages. */
const char *orr_data_label(struct orr_data *h, char *buf, size_t bytes);

#endif
