/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.h: what coherency.c, transfer.c, links.c, hungry.c and eviction.c share: a copy under way, and the
 * memory a device lends to data. Threads: any. Owns: the shape of struct orr_transfer, struct orr_chunk and
 * struct orr_memory. Not here: what other layers may call (coherency.h).
 *
 * Locks: a handle's queue lock, then a node's memory lock; in the other order only by trying. Neither is held
 * over a call of an interface or a driver. A transfer is private to whoever carries it on, but for the fields
 * marked. */
#ifndef ORR_DATA_TRANSFER_H
#define ORR_DATA_TRANSFER_H

#include "core/data/coherency.h"
#include "core/mem/node.h"

/* Who needs a transfer, least first: nobody yet (it may be dropped), the program, a task that is loading. */
enum orr_urgency { ORR_PREFETCH, ORR_NEEDED, ORR_LOADING, ORR_URGENCIES };
/* What observers are told beside that: it goes where it makes room for others whence it came. */
enum { ORR_COPY_MAKES_ROOM = ORR_URGENCIES, ORR_COPY_CAUSE_SHIFT = 16 };

/* A copy on its way to a node, or one being thrown out of it: replicates[dst].incoming points here until it
 * ends. It pins its destination; its source only once it has memory there. */
struct orr_transfer {
    struct orr_transfer *next, *prev; /* [lock: memory] of the list it is on; prev: among the hungry */
    struct orr_data *handle;          /* [const] */
    uint16_t dst;                     /* [const] */
    int16_t src;                      /* whence, pinned; -1: not chosen */
    bool brings;                      /* [const] a copy; else only memory is wanted */
    uint8_t converts;        /* [const] not 0: into which layout dst's copy is put; nothing is brought */
    bool eviction;           /* [const] dst's copy is thrown out; nothing is brought */
    bool in_chunk;           /* [const] belongs to a chunk: not to be freed */
    uint32_t failed_sources; /* bit: the copy there could not be brought */
    uint8_t tries;           /* how often a store failed it */
    bool exchanged;          /* its memory is beyond the limit (hungry.c) */
    uint8_t presses;         /* hungry: how often what the store had refused was tried again for it */
    bool has_turn;           /* [lock: memory] counts among the prefetches under way */
    bool hungry;             /* [lock: memory] waits for memory */
    bool queued;             /* [lock: memory] waits for its link */
    uint8_t link;            /* of its copy: [own] as links.c numbers those to dst */
    size_t link_bytes;       /* [own: who enters] what it counts there */
    bool arrived;            /* [lock: memory] its copy has ended */
    bool evict_after;        /* throw the source out when it is done */
    bool quiet;
    _Atomic uint8_t urgency;   /* enum orr_urgency; grows under the handle's and the memory's lock */
    size_t bytes;              /* of memory, about; [const] while hungry */
    struct orr_fetch *waiters; /* [lock: handle] chained by next */
    struct orr_async async;
    struct orr_fetch via;    /* of the stop in main memory */
    struct orr_waiter later; /* of a conversion that was put off */
};

/* A buffer on a device, in the order in which they are to be evicted. */
struct orr_chunk {
    struct orr_chunk *prev, *next; /* [lock: memory] */
    struct orr_data *handle;       /* [const] */
    size_t bytes;                  /* [const] */
    size_t stuck;  /* [lock: handle] its write-back failed: 1 + what was in use below then; 0: it may
                    * be tried */
    bool listed;   /* [lock: memory] counted among the node's */
    bool awaited;  /* [lock: handle] brought for a task that is queued, and not used since */
    bool unwanted; /* [lock: handle] the program said so: even a prefetch may take its place */
    struct orr_transfer out; /* its write-back, then its eviction */
};

/* The fetches of a task that is loading; empty for whatever is not a task's. */
struct orr_own_set {
    const struct orr_fetch *fetches;
    unsigned count;
};

/* In order, chained by next and prev. */
struct orr_transfers {
    struct orr_transfer *first, *last;
};

/* What is given to a driver for one link, and what waits for that (links.c). [lock: memory] */
struct orr_link {
    struct orr_transfers waiting[ORR_URGENCIES];
    size_t bytes; /* of those under way */
    uint32_t under_way;
};

/* For how long the program's victim selector has given nothing to those who wait for memory (victim.c). All
 * zero: it has not. [lock: memory] */
struct orr_denial {
    const void *who;     /* whose wish was denied first (orr_wish.who) */
    uint64_t last_ticks; /* when it was asked */
    uint64_t ticks,
        unused_ticks; /* in all; since anybody used what could go. Where nobody asks, time stands */
    unsigned times;   /* how often it was overruled, since it last gave something */
    bool over, said;  /* it is overruled now; that was said */
};

/* What is known of a node's memory and of the transfers to it. */
struct orr_memory {
    ORR_ALIGNED_LINE ORR_SPIN(memory) lock; /* protects all of it; see above */
    struct orr_chunk *first, *last;         /* least recently used first */
    unsigned chunks;                        /* how many */
    struct orr_transfer *copying;           /* under way in the driver */
    bool testing, again; /* somebody tests them; another was told of an end meanwhile, and left that to it */
    struct orr_transfers hungry[ORR_URGENCIES]; /* wait for memory, in order */
    struct orr_transfer *serving;               /* one of them that somebody serves just now */
    struct orr_own_set load;                    /* of the task that has the turn to load here */
    struct orr_transfer *favoured; /* one of them that goes first, since nothing moved otherwise */
    bool look;                     /* something has changed since the hungry were served */
    bool retry;                    /* nobody will say when it is worth another look: poll */
    bool tried;                    /* unstick() did what it could since then */
    size_t used_when_stuck;        /* used_bytes when the first hungry one found no room */
    size_t below_when_stuck;       /* of where copies to be thrown out go */
    uint64_t stuck_since;          /* ticks */
    struct orr_denial denial;
    struct orr_fetch *prefetches;           /* not started, most urgent first; they pin nothing */
    uint32_t prefetching;                   /* prefetches under way */
    uint32_t exchanging;                    /* transfers under way that got memory beyond the limit */
    uint32_t incoming;                      /* transfers under way to this node, but for the hungry */
    _Atomic uint32_t queued;                /* how many wait for a link [written: lock] */
    struct orr_link links[STARPU_MAXNODES]; /* that end here */
};
extern struct orr_memory orr_memories[STARPU_MAXNODES];

/* Who wished waits no longer, served or not: if it was denied first, time begins anew for the others. Called
 * with the memory's lock held. */
static inline void orr_denial_end_locked(struct orr_memory *m, const void *who)
{
    if (orr_unlikely(m->denial.who == who))
        m->denial = (struct orr_denial){ .times = m->denial.times, .said = m->denial.said };
}

enum { ORR_PREFETCHES_AT_ONCE = 4 };

/* Carries on a transfer that was just made and published. No locks held; t may be gone on return. */
void orr_transfer_start(struct orr_transfer *t);
/* Copies h's value from a node to a place on a device, which an interface of the same shape says: 0 or
 * -errno, when it is over. By a thread that has pinned both. No locks held. */
int orr_copy_to_place(struct orr_data *h, unsigned src, void *to, unsigned dst);
/* Ends it: publishes the copy (status 0), tells or resumes who waited.
 * -EAGAIN: a prefetch that was dropped. */
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
/* Resumes those who waited for a transfer to dst, or tells them that it failed. -EAGAIN: it brought nothing,
 * look again; -ECANCELED: the same, but a task that is loading gives back what it has. */
void orr_waiters_tell(struct orr_fetch *waiters, unsigned dst, int status);
/* Ends all of a list, chained by next. No locks held. */
void orr_transfers_finish(struct orr_transfer *list, int status);
void orr_transfers_count(int by);
extern _Atomic uint64_t orr_transfers_moved; /* got memory, or ended [any: statistic] */

/* Goes on with a fetch after a transfer or a turn it waited for; calls done() when it is over (coherency.c).
 * No locks held. */
void orr_fetch_resume(struct orr_fetch *f);
/* Ends it with an error. No locks held. */
void orr_fetch_fail(struct orr_fetch *f, int status);
/* Prepares the transfer of a valid copy to dst. Called with the handle's lock held. False: nobody has one. */
bool orr_transfer_prepare_locked(struct orr_transfer *t, struct orr_data *h, unsigned dst, bool with_bytes);
/* The node whose copy would be brought to dst, -1: none; but those (a bit each), where it failed. Called with
 * the handle's lock held. */
int orr_transfer_source_locked(struct orr_data *h, unsigned dst, uint32_t failed);
/* Chooses the copy that t brings, and pins it. Called with the handle's lock held. */
void orr_transfer_choose_source_locked(struct orr_transfer *t);

/* Whether t's copy, from its source, may go to the driver now. Else it waits with the others; orr_link_next,
 * which the caller asks, tells which of them may. No locks held. */
bool orr_link_enter(struct orr_transfer *t);
/* Its copy is over. */
void orr_link_leave(struct orr_transfer *t);
/* The most urgent of the copies to a node that wait and may go now; NULL: none. */
struct orr_transfer *orr_link_next(unsigned dst);
/* Sets t's urgency, and its place among those that wait. Called with both locks. */
void orr_link_urge_locked(struct orr_transfer *t, unsigned urgency);

/* Something has changed: serves those who wait for memory of a node (hungry.c), unless this thread is doing
 * so further up its stack. No locks held. */
void orr_memory_feed(unsigned node);
/* Adds t to them. */
void orr_memory_ask(struct orr_transfer *t);
/* If h's transfer to the node waits for memory there, cancels it: fetches that give up end with -ENOMEM,
 * others begin again. */
bool orr_memory_give_up(struct orr_data *h, unsigned node);
/* Somebody needs what t brings. Called with the handle's lock held. */
void orr_transfer_urge_locked(struct orr_transfer *t, enum orr_urgency u);
/* Looks after those who wait, if nobody else will. Called by polls; no locks held. */
void orr_memory_poll(unsigned node);
/* Around a poll: orr_memory_feed serves even where this thread was serving, because it may be waiting for
 * what it serves. Returns what to hand to the second. */
bool orr_memory_nest(void);
void orr_memory_unnest(bool was);
/* Most recently used; called with the handle's lock held. first: to be evicted first instead. */
void orr_chunk_touch_locked(struct orr_replicate *r, unsigned node, bool first);
/* Takes the chunk off its list; the caller frees it. Called with the handle's lock held. */
struct orr_chunk *orr_chunk_detach_locked(struct orr_replicate *r, unsigned node);
/* Starts throwing h's copy out of a node, after writing it back if need be. 0, or -EBUSY. */
int orr_memory_evict(struct orr_data *h, unsigned node);

/* Begins an eviction: requests for the copy wait for t from now on (the chunk's `out`, where there is a
 * chunk). Called with the handle's lock held. The second function carries it out, with no locks held: the
 * chunk is gone afterwards, and the caller tells the waiters (orr_waiters_tell with -EAGAIN). A chunk stays
 * on its list until its memory is free, so that a search for room sees that some is coming. */
void orr_eviction_begin_locked(struct orr_transfer *t, struct orr_data *h, unsigned node);
struct orr_fetch *orr_eviction_run(struct orr_transfer *t);
/* What a search for room leaves to be done once nobody waits for its end, in this order: write-backs to start
 * and waiters to tell, whose callbacks may do anything; transfers that end without memory; one that got it,
 * and is carried on to the copy. */
struct orr_aftermath {
    struct orr_transfer *write_backs; /* chained by next */
    struct orr_fetch *waiters;
    struct orr_transfer *finish; /* chained by next */
    int finish_status;
    struct orr_transfer *fed;
};
/* No locks held. */
void orr_aftermath_run(const struct orr_aftermath *a, unsigned node);
bool orr_own_set_has(const struct orr_own_set *s, const struct orr_data *h, unsigned node);
/* Throws out what nobody uses, until about so many bytes are free or on their way out; gently: only what is
 * of no use to anybody. LEAVING: write-backs have to end first; IN_USE: and others hold the rest; REFUSED:
 * the store does not take the rest; NOTHING: the rest is the set's own. */
enum orr_outcome { ORR_FREED, ORR_LEAVING, ORR_IN_USE, ORR_REFUSED, ORR_NOTHING };
struct orr_wish {
    unsigned node;
    const struct orr_own_set *own;
    size_t bytes;
    bool gently;
    struct orr_data *handle; /* what is to come; NULL: nothing in particular */
    bool waits;              /* whoever wishes it waits until there is room */
    bool evict_after;        /* dirty victims go when they are written, without another look */
    bool pressed;            /* also those that the store has refused */
    const void *who;         /* wishes: a transfer, or a thread that waits */
};
enum orr_outcome orr_memory_reclaim(const struct orr_wish *w, struct orr_aftermath *after);
/* Starts to make a node that is nearly full less so. */
void orr_memory_tidy(unsigned node);

/* Allocates t's destination: 0 or -ENOMEM. No locks held. */
int orr_transfer_allocate(struct orr_transfer *t);

/* Maps h's main memory into a node, which has no memory for h, instead of allocating there (map.c). False:
 * that cannot be. No locks held. */
bool orr_map_instead(struct orr_data *h, unsigned node);
/* Between main memory and a mapped copy: what was written at src is seen at dst. 0 or -errno. */
int orr_map_update(struct orr_data *h, unsigned src, unsigned dst);
/* Gives back the memory of a copy, or unmaps it. No locks held. */
void orr_replicate_free(struct orr_data *h, unsigned node);

/* Whether the copy of h between main memory and a store, for which its interface has no method, can be made
 * by packing; and makes it before it returns: 0 or -errno (packed.c). */
bool orr_packed_possible(const struct orr_data *h, unsigned src, unsigned dst);
int orr_packed_copy(struct orr_data *h, unsigned src, unsigned dst);

/* A name for messages. */
const char *orr_data_label(struct orr_data *h, char *buf, size_t bytes);

#endif
