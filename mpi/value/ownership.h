/* SPDX-License-Identifier: BSD-3-Clause */
/* ownership.h: what the MPI layer knows of a handle: its tag, its owner (h->mpi_rank), and who has its value.
 * Threads: the thread that submits (as the insertions themselves); the list of all takes its lock.
 * Owns: struct orr_owned, from the first use until the handle ends. Not here: the transfers (exchange.c).
 * Nothing here grows with the number of ranks unless very many of them hold the same value. */
#ifndef ORR_MPI_OWNERSHIP_H
#define ORR_MPI_OWNERSHIP_H

#include "core/data/data.h"
#include "mpi/live/stream.h"
#include "mpi/value/value.h"
#include "mpi/wire/comm.h"

enum { ORR_RANK_UNKNOWN = -1, ORR_RANK_PER_NODE = -2, ORR_RANK_OUTSIDE = -3 };

/* h->mpi_flags: why a rank that neither owns a handle nor executes the task still has something to do. */
enum orr_mpi_flag {
    ORR_MPI_RECEIVED = 1 << 0,   /* this rank holds a value it received */
    ORR_MPI_SENT = 1 << 1,       /* others hold a value this rank sent */
    ORR_MPI_REDUX = 1 << 2,      /* contributions are pending */
    ORR_MPI_REDIRECTED = 1 << 3, /* some ranks get it from another source */
    ORR_MPI_WRITTEN = 1 << 4,    /* tasks inserted here write it: it has a value, or will have */
    ORR_MPI_MADE = 1 << 5,       /* as RECEIVED, but a task here wrote it for its owner */
    ORR_MPI_HELD = 1 << 6,       /* there is memory of ours here for a value that another rank owns */
    ORR_MPI_OTHER_COMM = 1 << 7, /* the owner is a rank of another communicator than the layer's own */
    ORR_MPI_PINNED = 1 << 8,     /* insertions use it beside what overlaps it: it is never away from home */
    ORR_MPI_AWAY = 1 << 9,       /* another rank than its owner holds the value: all ranks know (moves.h) */
    /* for recorded iterations (place/recording.h): what would make a record wrong is noticed where it happens
     */
    ORR_MPI_RECORDED = 1 << 12,  /* a record counts on it to be there, and owned by who owns it */
    ORR_MPI_LEFT_OUT = 1 << 13,  /* a record leaves accesses out, since there is no mark of ours on it */
    ORR_MPI_UNREDUCED = 1 << 14, /* likewise, since nobody contributes to it */
    ORR_MPI_TOUCHED = 1 << 15,   /* it was LEFT_OUT, wrongly; UNREDUCED, wrongly: not again */
    ORR_MPI_REDUCED = 1 << 16,
    ORR_MPI_PIECE = 1 << 17, /* of another datum that was known before, or of which it is a piece */
    ORR_MPI_NOTED = 1 << 18  /* a schedule that is recorded knows it under its tag (place/history.h) */
};
/* Those that count for a rank without a part in the task. */
enum {
    ORR_MPI_CONCERNED =
        ORR_MPI_RECEIVED | ORR_MPI_MADE | ORR_MPI_SENT | ORR_MPI_REDUX | ORR_MPI_REDIRECTED | ORR_MPI_HELD
};
/* Those with which it stays at home wherever tasks are placed. */
enum { ORR_MPI_NEVER_AWAY = ORR_MPI_OTHER_COMM | ORR_MPI_REDIRECTED | ORR_MPI_PINNED | ORR_MPI_PIECE };

enum { ORR_RANKS_INLINE = 6, ORR_RANKS_SOME = 32 };

/* A small set of ranks. All 0: empty. */
struct orr_rank_set {
    uint32_t count;
    uint32_t some; /* a bit for each, its number modulo ORR_RANKS_SOME: most that are not in it are told by
                    * this, and all where there are no more than ORR_RANKS_SOME ranks */
    int32_t inline_ranks[ORR_RANKS_INLINE];
    struct orr_rank_bits *bits; /* all of them, once there are more than ORR_RANKS_INLINE */
};

struct orr_rank_bits {
    uint64_t words; /* so many */
    uint64_t word[];
};

struct orr_redirection {
    int node, source;
    struct orr_redirection *next;
};

/* Contributions that wait to be gathered. */
struct orr_redux_pending {
    struct orr_comm *comm; /* on which they were inserted */
    bool unseen; /* not all ranks know of them, and who has the old value is not changed (moves.h) */
    char map[];  /* one byte for each rank of it: whether that one contributed */
};

struct orr_owned {
    /* 64 bytes: all that a placement looks at, and writes where this rank has no part in a task */
    int64_t tag;              /* -1: none */
    struct orr_rank_set sent; /* who holds the current value: ranks of the transport */
    int32_t holder;   /* the rank with the current value, where that is not its owner; -1: its owner [own: who
                       * submits] */
    uint32_t version; /* counts writes of the stream, where all ranks see them [own: who submits] */
    uint64_t ready_ns; /* when its value will be there, by a placement's virtual time [own: who submits] */
    /* the rest */
    struct orr_data *handle;
    struct orr_comm *comm;
    struct orr_redux_pending *redux; /* NULL: no contributions are pending */
    struct orr_value *value;         /* whose record it is [const] */
    struct orr_redirection *redirections;
    struct orr_owned *next, **prev; /* [lock: list] */
    uint32_t old_bytes;             /* of a copy that is old, and kept for the next value; else 0 */
    uint32_t place_away;            /* 1 + its place in moves.list; 0: it is not away [lock: records] */
    /* away.c */
    _Atomic uint32_t put_off; /* actions with it that wait to be done [any] */
    uint32_t asked,
        served;         /* 1 + the version that home asked for, and that this rank sent home [lock: away] */
    bool is_guest;      /* a value of it is here, or was, though its home is elsewhere [own: who submits] */
    bool ahead;         /* a thread is about to have something done ahead of a use [lock: away] */
    bool changed;       /* home has, or may have, changed what others hold [lock: away] */
    _Atomic bool ended; /* the program gave the handle up, which goes when its uses are over [any] */
};
_Static_assert(sizeof(struct orr_owned) <= 144, "a handle costs no more, whatever the number of ranks");
_Static_assert(offsetof(struct orr_owned, handle) == 64, "what a placement looks at is as long as a line");

static inline uint32_t orr_rank_some(int rank)
{
    return UINT32_C(1) << ((uint32_t)rank % ORR_RANKS_SOME);
}
static inline bool orr_rank_set_has(const struct orr_rank_set *s, int rank)
{
    if (!(s->some & orr_rank_some(rank))) return false;
    if (orr_unlikely(s->bits != NULL))
        return (uint32_t)rank / 64 < s->bits->words && (s->bits->word[rank / 64] >> (rank % 64) & 1);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->inline_ranks[i] == rank) return true;
    return false;
}
/* True when it was there already. Out of memory: forgets instead, which only costs a message too many on this
 * side; ranks is the size of the communicator. */
bool orr_rank_set_add(struct orr_rank_set *s, int rank, int ranks, bool *failed_out);
void orr_rank_set_remove(struct orr_rank_set *s, int rank);
void orr_rank_set_free(struct orr_rank_set *s); /* also empties it */
static inline void orr_rank_set_clear(struct orr_rank_set *s)
{
    if (orr_unlikely(s->bits != NULL)) orr_rank_set_free(s);
    s->count = s->some = 0;
}

/* h's record, made on first use, as one of v; NULL when out of memory (said). */
struct orr_owned *orr_owned_get(struct orr_value *v, struct orr_data *h);
int orr_owned_set_tag(struct orr_value *v, struct orr_data *h, int64_t tag); /* 0 or -ENOMEM (said) */
/* It gets an owner, or a tag: if others are known that overlap it, it is not to be away beside them. */
void orr_owned_meets(struct orr_value *v, struct orr_data *h);
/* The same for a new handle of the layer's own, whose thread is not the program's: who visits all does not
 * see it. 0 or -ENOMEM. */
int orr_owned_hide(struct orr_value *v, struct orr_data *h, int64_t tag);
static inline struct orr_owned *orr_owned_of(const struct orr_data *h)
{
    return h->mpi;
}
/* Its record will be looked at soon. h may be NULL. */
static inline void orr_owned_expect(const struct orr_data *h)
{
    if (!h || !h->mpi) return;
    __builtin_prefetch(h->mpi, 1);
    __builtin_prefetch((const char *)h->mpi + ORR_CACHE_LINE - 1, 1);
}
static inline int64_t orr_owned_tag(const struct orr_data *h)
{
    return h->mpi ? ((struct orr_owned *)h->mpi)->tag : -1;
}
/* The owner of h as a rank of c; ORR_RANK_UNKNOWN, ORR_RANK_PER_NODE, ORR_RANK_OUTSIDE: no rank of c. */
int orr_owned_rank_slow(const struct orr_comm *c, const struct orr_data *h);
static inline int orr_owned_rank(const struct orr_comm *c, const struct orr_data *h)
{
    if (orr_comm_is_base(c) && orr_likely(!(h->mpi_flags & ORR_MPI_OTHER_COMM))) return h->mpi_rank;
    return orr_owned_rank_slow(c, h);
}
/* The rank of c, the layer's own communicator, that has h's current value for certain. */
static inline int orr_owned_holder(const struct orr_comm *c, const struct orr_data *h)
{
    const struct orr_owned *o = orr_owned_of(h);
    return orr_unlikely(o && o->holder >= 0) ? o->holder : orr_owned_rank(c, h);
}
/* Whether h may be away from its home. Its transfers are decided by moves.h then, else by exchange.h. */
static inline bool orr_owned_can_move(const struct orr_comm *c, const struct orr_data *h)
{
    return orr_comm_is_base(c) && h->mpi_rank >= 0 && !(h->mpi_flags & ORR_MPI_NEVER_AWAY) &&
           orr_owned_tag(h) != -1;
}
/* Who else has it, as far as this rank knows: under a placement that moves data, as all ranks know alike. */
static inline const struct orr_rank_set *orr_owned_copies(const struct orr_data *h)
{
    static const struct orr_rank_set none;
    const struct orr_owned *o = orr_owned_of(h);
    return o ? &o->sent : &none;
}
/* Where rank node of c gets h's value from. */
int orr_owned_source(const struct orr_comm *c, const struct orr_data *h, int node);
/* The communicator that the owner is counted in. */
static inline void orr_owned_set_comm(struct orr_owned *o, struct orr_comm *c)
{
    orr_comm_hold(c);
    if (o->comm) orr_comm_drop(o->comm);
    o->comm = c;
    if (orr_comm_is_base(c))
        o->handle->mpi_flags &= ~(uint32_t)ORR_MPI_OTHER_COMM;
    else
        o->handle->mpi_flags |= ORR_MPI_OTHER_COMM;
}
/* The small copy here is old: its memory is kept for the next value. False: there are too many already. */
bool orr_owned_keep_old(struct orr_owned *o, size_t bytes);
/* It gets a new value, or is given up: whether it was kept. */
bool orr_owned_forget_old(struct orr_owned *o);
/* The layer ends, and data may outlive it: from here on an owner is counted in the communicator that the next
 * start of the layer has. */
void orr_owned_let_go(struct orr_value *v);
/* No contributions are pending any more. */
void orr_owned_end_redux(struct orr_owned *o);
/* Something happens to h that some record did not count on: records are made anew. Any thread that may use h.
 * marks: there will be a mark of ours; reduces: contributions, or another source; ends: it goes, or gets
 * another owner (why: a literal). */
void orr_owned_marks_slow(struct orr_value *v, struct orr_data *h);
void orr_owned_reduces_slow(struct orr_value *v, struct orr_data *h);
void orr_owned_ends(struct orr_value *v, struct orr_data *h, const char *why);
static inline void orr_owned_marks(struct orr_value *v, struct orr_data *h)
{
    if (orr_unlikely(h->mpi_flags & ORR_MPI_LEFT_OUT)) orr_owned_marks_slow(v, h);
}
static inline void orr_owned_reduces(struct orr_value *v, struct orr_data *h)
{
    if (orr_unlikely(h->mpi_flags & ORR_MPI_UNREDUCED)) orr_owned_reduces_slow(v, h);
}
/* What the log of insertions asks; v lasts longer. */
struct orr_stream_data orr_owned_stream_data(struct orr_value *v);
/* Whether another rank than its owner has the value, as all ranks know; rank: that one, or the owner. Takes
 * the records' lock where the value goes away or comes home. */
void orr_owned_set_holder(struct orr_data *h, int rank);
static inline bool orr_owned_goes_or_comes(const struct orr_data *h, int rank)
{
    return (rank != h->mpi_rank) != (orr_owned_of(h)->holder >= 0);
}
/* Calls fn for every record with a value that is away; fn may set the holder of the one it is given. */
void orr_owned_visit_away(struct orr_value *v, void (*fn)(struct orr_owned *o, void *arg), void *arg);
/* Calls fn for every record of v; fn may end the one it is given, and no other. */
void orr_owned_visit(struct orr_value *v, void (*fn)(struct orr_owned *o, void *arg), void *arg);

#endif
