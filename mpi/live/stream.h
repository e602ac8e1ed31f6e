/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.h: what this rank inserted, in order: a rolling hash and a log of the latest insertions, so that
 * ranks whose streams differ can say where. Threads: note on the thread that submits; the rest on any, see
 * each. Owns: struct orr_streams, and struct orr_stream, one for each communicator on which tasks are
 * inserted. Not here: insertions (place/insert.c).
 *
 * An insertion is known by its codelet's name, the tags and modes of its data, its priority and its rank;
 * never by an address, and not by file and line either, since ranks may insert the same task from different
 * places. */
#ifndef ORR_MPI_STREAM_H
#define ORR_MPI_STREAM_H

#include <starpu_task.h>

#include "core/base/thread.h"
#include "core/data/data.h"
#include "mpi/live/control.h"
#include "mpi/live/guard.h"
#include "mpi/wire/cluster.h"

enum { ORR_STREAM_LOG = 16384, ORR_STREAM_SHOWN = 4, ORR_STREAM_NAMES = 1024, ORR_STREAM_CACHE = 64 };
enum { ORR_STREAM_HASHES = 256, ORR_STREAM_TEXT = 400, ORR_STREAM_ASKS = 32 };

#define ORR_STREAM_MIX 0xbf58476d1ce4e5b9u
#define ORR_STREAM_PIECE                                                                                     \
    UINT64_C(0x80000000) /* beside a mode: the datum is a piece of another, which matters */

/* One line of memory for each insertion. */
struct orr_stream_entry {
    uint64_t rolling;                /* the hash of the stream up to here */
    const char *file;                /* a literal of the program, or NULL */
    uint64_t data[ORR_STREAM_SHOWN]; /* the first: tag, as orr_stream_fold_tag, << 32 | mode, and _PIECE */
    uint32_t line;
    int32_t xrank, priority;
    uint16_t name;  /* in names */
    uint16_t count; /* of data */
};
_Static_assert(sizeof(struct orr_stream_entry) == ORR_CACHE_LINE, "one line");

struct orr_stream_name {
    const char *pointer; /* where it was last */
    const char *text;    /* our copy */
    uint64_t hash;
    uint32_t index;
    uint32_t codelet; /* the lower half of its codelet's address; 0: several codelets have that name */
};

/* Where the stream had a codelet first: what all ranks know it by. */
struct orr_stream_first {
    uint64_t name;              /* hash of its name */
    uint64_t position, rolling; /* how many insertions were before, and their hash */
};

/* Beside a name; published by nnames. */
struct orr_stream_codelet {
    _Atomic(const struct starpu_codelet *) cl;              /* NULL: none, or several */
    struct orr_stream_first first;                          /* [const] */
    starpu_cpu_func_t cpu_funcs[STARPU_MAXIMPLEMENTATIONS]; /* [const] the codelet may be gone here */
};

enum orr_stream_off {
    ORR_STREAM_FROZEN = 1, /* it is being read */
    ORR_STREAM_MIXED = 2,  /* several threads insert: there is no one order */
    ORR_STREAM_SAID = 4,   /* a difference was reported: one is enough */
    ORR_STREAM_LOST = 8    /* insertions were not logged while it was read: the hash is not that of others */
};

struct orr_stream {
    _Atomic uint32_t off;          /* enum orr_stream_off; FROZEN and MIXED stop the log */
    uint32_t context;              /* of the communicator [const] */
    const struct orr_comm *comm;   /* [const] */
    struct orr_thread *owner;      /* who inserts [const] */
    _Atomic bool whole;            /* all ranks must insert the same [atomic] */
    uint64_t rolling;              /* with step 0: of the iteration alone [own: owner] */
    uint64_t step;                 /* 0: an iteration is logged as a whole, at its end; else 1 [own: owner] */
    uint64_t before;               /* with step 0: of the stream before the iteration [own: owner] */
    _Atomic uint64_t count;        /* insertions [atomic: publishes the entries before] */
    struct orr_stream_entry *log;  /* ORR_STREAM_LOG entries [own: owner; published by count] */
    struct orr_stream_name *names; /* ORR_STREAM_NAMES [own: owner; published by count] */
    struct orr_stream_codelet *codelets;            /* of each name */
    _Atomic uint32_t nnames;                        /* [own: owner; publishes codelets] */
    struct orr_stream *next;                        /* [lock: streams] */
    struct orr_stream_name cache[ORR_STREAM_CACHE]; /* [own: owner] by pointer; text NULL: empty */
};

/* Who knows the data that are registered now, by what orr_stream_fold_tag makes of their tags. */
struct orr_stream_data {
    bool (*find_tag)(void *arg, uint32_t folded_tag, int64_t *tag_out);
    /* Whether that rank of the transport, or each rank, owns it. */
    bool (*owns)(void *arg, uint32_t folded_tag, int peer);
    void *arg;
};

/* A question of another rank. */
struct orr_stream_ask {
    int source;
    enum orr_control what;
    uint64_t first, stride;
    uint32_t context;
};

/* The streams of a cluster, and what its ranks ask each other of them. Zero, but for what init sets. */
struct orr_streams {
    struct orr_cluster *cluster;     /* [const while running] */
    struct orr_controls *controls;   /* [const while running] */
    struct orr_guard *guard;         /* [const while running] */
    struct orr_stream_data data;     /* [const while running] */
    ORR_MUTEX(stream_asking) asking; /* one question at a time */
    ORR_MUTEX(streams) lock;         /* protects list; held while one of it is read for another rank */
    struct orr_stream *list;         /* [lock: lock] */
    struct {
        ORR_SPIN(talk) lock; /* protects the rest; leaf */
        struct orr_stream_ask asks[ORR_STREAM_ASKS];
        unsigned nasks;
        int blamed; /* 1 + the rank of the transport, 0: nobody */
        struct orr_comm *blamed_comm;
        /* the answer that asking waits for */
        int from; /* -1: none */
        bool answered;
        uint64_t count, oldest, hashes[ORR_STREAM_HASHES];
        unsigned nhashes;
        char text[ORR_STREAM_TEXT];
        uint64_t text_says, text_hash; /* enum in stream.c */
    } talk;
};

/* Answers other ranks from now on. Borrows all but data, which is copied. */
void orr_streams_init(struct orr_streams *all, struct orr_cluster *cl, struct orr_controls *controls,
                      struct orr_guard *guard, const struct orr_stream_data *data);
void orr_streams_fini(struct orr_streams *all);

/* The stream of c, made on first use; NULL: out of memory, nothing is logged. On the thread that submits. */
struct orr_stream *orr_stream_create(struct orr_comm *c);
const struct orr_stream_name *orr_stream_name_slow(struct orr_stream *s, const char *name,
                                                   const struct starpu_codelet *cl);
/* An insertion is not logged. */
void orr_stream_lose(struct orr_stream *s);
/* Another thread than before inserts. */
void orr_stream_mixed(struct orr_stream *s);

/* Few bits for a tag: itself when it is small, a hash otherwise. */
#define ORR_STREAM_NO_TAG UINT32_MAX
uint32_t orr_stream_fold_tag(int64_t tag);

static inline unsigned orr_stream_slot(const char *name)
{
    return (unsigned)((uintptr_t)name >> 3 ^ (uintptr_t)name >> 11) % ORR_STREAM_CACHE;
}

/* The same place may hold another name by now. */
static inline bool orr_stream_same_text(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (!*a) return true;
    return false;
}

struct orr_stream_insertion {
    const struct starpu_codelet *cl;
    const struct starpu_data_descr *data;
    int count, xrank, priority, line;
    const char *file;
    uint64_t pieces; /* bits of the first 64 data, where it matters that they are pieces */
};

/* Logs one. */
static inline void orr_stream_note(struct orr_comm *c, const struct orr_stream_insertion *in)
{
    struct orr_stream *s = orr_load_acquire(&c->stream); /* pairs with orr_stream_create */
    if (orr_unlikely(!s) && !(s = orr_stream_create(c))) return;
    if (orr_unlikely(orr_load_relaxed(&s->off) & (ORR_STREAM_FROZEN | ORR_STREAM_MIXED))) {
        orr_stream_lose(s);
        return;
    }
    if (orr_unlikely(s->owner != orr_self())) {
        orr_stream_mixed(s);
        return;
    }
    const char *text = in->cl && in->cl->name ? in->cl->name : "";
    const struct orr_stream_name *name = &s->cache[orr_stream_slot(text)];
    if (orr_unlikely(name->pointer != text || !orr_stream_same_text(name->text, text) ||
                     (name->codelet != (uint32_t)(uintptr_t)in->cl && name->codelet)))
        name = orr_stream_name_slow(s, text, in->cl);
    uint64_t n = orr_load_relaxed(&s->count),
             h = name->hash ^ ((uint64_t)(uint32_t)in->xrank << 32 | (uint32_t)in->priority);
    struct orr_stream_entry *e = &s->log[n % ORR_STREAM_LOG];
    for (int i = 0; i < in->count; i++) {
        const struct orr_data *d = in->data[i].handle;
        uint64_t datum = (uint64_t)(d ? d->mpi_tag : ORR_STREAM_NO_TAG) << 32 | (uint32_t)in->data[i].mode;
        if (orr_unlikely(in->pieces != 0) && i < 64 && in->pieces >> i & 1) datum |= ORR_STREAM_PIECE;
        if (i < ORR_STREAM_SHOWN) e->data[i] = datum;
        h = (h ^ datum) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    s->rolling = ((s->rolling << 5 | s->rolling >> 59) ^ h) * ORR_STREAM_MIX;
    e->rolling = s->rolling;
    e->file = in->file;
    e->line = (uint32_t)in->line;
    e->xrank = in->xrank;
    e->priority = in->priority;
    e->name = (uint16_t)name->index;
    e->count = (uint16_t)in->count;
    orr_store_release(&s->count, n + s->step); /* pairs with whoever reads the log */
}

/* Iterations (place/replay.h). The first of its kind is logged insertion by insertion; each further one as
 * one entry with the hash of its insertions, so that ranks that insert it agree with those that replay it.
 * begin and end: around the insertions of a further one; the end tells their hash. replayed: instead of both.
 * last: the latest insertion joins the hash of a first one (0 before it). marked: one begins here that the
 * program only marks; those that all ranks go by are logged as insertions are. */
void orr_stream_iteration_begin(struct orr_comm *c);
uint64_t orr_stream_iteration_end(struct orr_comm *c, int id);
void orr_stream_iteration_replayed(struct orr_comm *c, int id, uint64_t hash);
void orr_stream_iteration_marked(struct orr_comm *c);
/* The latest insertion, with its own hash for the stream's; and an insertion just like it. */
void orr_stream_last(const struct orr_comm *c, struct orr_stream_entry *entry_out);
static inline void orr_stream_note_again(struct orr_comm *c, const struct orr_stream_entry *again)
{
    struct orr_stream *s = orr_load_acquire(&c->stream); /* pairs with orr_stream_create */
    if (orr_unlikely(!s || orr_load_relaxed(&s->off) & (ORR_STREAM_FROZEN | ORR_STREAM_MIXED))) return;
    uint64_t n = orr_load_relaxed(&s->count);
    struct orr_stream_entry *e = &s->log[n % ORR_STREAM_LOG];
    s->rolling = ((s->rolling << 5 | s->rolling >> 59) ^ again->rolling) * ORR_STREAM_MIX;
    *e = *again;
    e->rolling = s->rolling;
    orr_store_release(&s->count, n + s->step); /* pairs with whoever reads the log */
}
/* So many insertions ahead. */
static inline void orr_stream_prefetch(const struct orr_comm *c, unsigned ahead)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    if (s) orr_prefetch_write(&s->log[(orr_load_relaxed(&s->count) + ahead) % ORR_STREAM_LOG]);
}
/* Whether the calling thread alone inserted so far, if anybody did. */
bool orr_stream_is_own(const struct orr_comm *c);
uint64_t orr_stream_iteration_last(struct orr_comm *c, uint64_t before, uint64_t hash);
static inline uint64_t orr_stream_rolling(const struct orr_comm *c)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    return s ? s->rolling : 0;
}

/* What all ranks know a codelet of this rank's stream on c by. False: it was not inserted, another one has
 * its name, it has other functions by now, or several threads insert. Any thread. */
bool orr_stream_codelet_first(const struct orr_comm *c, const struct starpu_codelet *cl,
                              struct orr_stream_first *first_out);
/* Implementation nimpl for CPUs of the codelet that is known by that, and its name, as long as the stream is
 * kept; NULL: there is none (yet), or the streams differ. Any thread. */
starpu_cpu_func_t orr_stream_codelet_find(const struct orr_comm *c, const struct orr_stream_first *first,
                                          unsigned nimpl, const char **name_out);

/* How many insertions this rank has made on c: it knows codelets whose first position is before. Any thread.
 */
static inline uint64_t orr_stream_insertions(const struct orr_comm *c)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    return s ? orr_load_acquire(&s->count) : 0;
}

/* From here on all ranks of c must insert the same, every one: a difference ends the job. 0; -EINVAL: the
 * program says that its loops are pruned (said), -ENOMEM. On the thread that submits. */
int orr_stream_need_whole(struct orr_comm *c);
/* What messages of the latest insertion say of the stream; 0: nothing. On the thread that submits. */
static inline uint64_t orr_stream_hash(const struct orr_comm *c)
{
    const struct orr_stream *s = orr_load_acquire(&c->stream);
    return s && !(orr_load_relaxed(&s->off) & ~(uint32_t)ORR_STREAM_SAID) ? s->rolling : 0;
}

/* ---- comparing: not on the thread that guards others' locks, no engine call is under way ---- */

/* Asks rank peer of the transport for its stream on c, and describes the first difference to this rank's: 1;
 * ORR_STREAM_PRUNED: one that is there too when each rank leaves out tasks in which it has no part. 0: there
 * is none, or (prefix only) one stream only goes on where the other ends. -EAGAIN: no answer. Stops the log
 * on both ranks. */
enum { ORR_STREAM_PRUNED = 2 };
int orr_stream_compare(struct orr_comm *c, int peer, bool prefix_only, char *text, size_t bytes);
/* Collective on c, with every thread that inserts inside: a barrier that also looks whether the streams
 * agree, and warns once if not; where all must be the same, the job ends. final: they must be of the same
 * length as well. Returns 0 or -EIO. */
int orr_stream_meet(struct orr_comm *c, bool final);
/* As orr_stream_explain, and a barrier. */
int orr_stream_explain_all(struct orr_comm *c);
/* On every rank: prints the first difference to a rank with which messages that tasks made have no other end
 * here (rank 0, if it has none such: to any rank), if there is one that pruned loops do not explain. */
void orr_stream_explain(struct orr_comm *c);
/* A message that the stream made does not fit what peer (of the transport) sent: the guard says where the
 * streams differ and ends the job. Any thread, the engine may be busy. */
void orr_stream_blame(struct orr_comm *c, int peer);

/* For the guard's thread: answers what was asked; when somebody must be blamed, says so and returns true. */
bool orr_stream_chore(void *streams);

/* c ends: its stream goes. */
void orr_stream_drop(struct orr_comm *c);

#endif
