/* SPDX-License-Identifier: BSD-3-Clause */
/* message.h: sending a handle's value, and receiving one: an access in the handle's queue together with an
 * engine request.
 * Threads: start from any; the rest on whoever completes. Owns: struct orr_message, from start until it is
 * over (detached) or waited for. Not here: matching (engine.h), which messages a task needs (exchange.c). */
#ifndef ORR_MPI_MESSAGE_H
#define ORR_MPI_MESSAGE_H

#include "core/data/coherency.h"
#include "mpi/live/stuck.h"
#include "mpi/value/value.h"
#include "mpi/wire/cluster.h"

struct orr_message {
    struct orr_access access; /* first */
    struct orr_data *handle;
    struct orr_comm *comm;
    struct orr_cluster *cluster;
    int64_t tag;
    int peer;              /* rank in comm */
    _Atomic uint32_t over; /* [atomic: publishes the results to a waiting thread] */
    uint32_t session;      /* of the layer, when it was started */
    uint8_t mode;          /* STARPU_R or STARPU_W */
    bool detached;
    bool fetched;   /* the copy on node is pinned */
    bool packed;    /* by the interface's pack_data */
    bool unawaited; /* as in its spec, until it need not wait so any more */
    void (*callback)(void *);
    void *arg;
    struct orr_request request;
    struct orr_fetch *fetch; /* where the bytes have to be brought to main memory, perhaps; else NULL */
    union {
        void *packed_bytes;          /* with packed */
        struct orr_showing *showing; /* with request.in_place, of a send (seen.c); NULL: it is not told of */
        struct orr_seen *seen;       /* with request.seen, of a receive */
    };
    size_t packed_size;
    uint8_t node; /* whose memory the bytes are in, or come to; with fetched */
};
_Static_assert(sizeof(struct orr_message) <= 512, "the size of a block (core/base/block.h)");

/* Messages of calls that only home sees have a context of their own beside that of their communicator. */
#define ORR_CONTEXT_AWAY 0x40000000u

struct orr_message_spec {
    enum orr_request_kind kind;
    struct orr_data *handle;
    struct orr_comm *comm;
    int peer;
    int64_t tag;
    int priority;
    bool sync;
    bool detached;
    bool inferred;           /* made by a task: when it does not fit, the ranks differ */
    bool only_read;          /* that task reads the value, and does not change it there (seen.h) */
    uint64_t position, hash; /* of the stream, where it was made; hash 0: not known */
    bool away;               /* of data away from home, for a call that only home sees (away.h) */
    bool unawaited; /* it waits until the program releases the data: who waits for all messages does not wait
                     * for it meanwhile */
    bool unordered; /* not in the handle's queue */
    bool will_wait; /* the calling thread waits for it at once, and polls */
    void (*callback)(void *);
    void *arg;
};

/* Starts a message; out may be NULL for detached ones. 0, -EINVAL, -ENOMEM, -ESHUTDOWN (said why). */
int orr_message_start(const struct orr_message_spec *spec, const char *fn, struct orr_message **out);
/* Blocks until it is over, and returns its status; the caller frees it. */
int orr_message_wait(struct orr_message *m);
static inline bool orr_message_is_over(struct orr_message *m)
{
    return orr_load_acquire(&m->over);
}

void orr_messages_begin(struct orr_value *v, bool counting); /* the layer starts */
/* Whether the bytes of messages that are started from now on are counted. */
void orr_messages_count(struct orr_value *v, bool counting);
/* Why the first message failed since this was asked for, or 0. */
int orr_messages_take_failure(struct orr_value *v);
/* Otherwise the layer was shut down since m was started, and m's communicator is gone. */
static inline bool orr_message_is_current(const struct orr_message *m)
{
    return orr_likely(m->session == orr_load_relaxed(&m->cluster->value->session));
}
/* One that is over and not detached. */
void orr_message_free(struct orr_message *m);

/* ---- for who says where messages stand ---- */

/* The message of a request that is no own one of the layer (ORR_CONTEXT_UNCOUNTED, nameless). */
static inline const struct orr_message *orr_message_of(const struct orr_request *r)
{
    return (const struct orr_message *)((const char *)r - offsetof(struct orr_message, request));
}
/* Whether it is not in its data's queue. */
static inline bool orr_message_is_unordered(const struct orr_message *m)
{
    return m->access.group == ORR_GROUP_NONE;
}
/* "receive of tag 1 from rank 2", with what the next says behind it: as all ranks call it. */
void orr_message_name(const struct orr_message *m, char *dst, size_t bytes);
/* ", for insertion 12" where the ranks know which value it carries: the one that this place of the stream
 * needs; else "". */
void orr_message_place(const struct orr_message *m, char *dst, size_t bytes);

/* Print one that is not matched, or not received, or count it. arg: a struct orr_unmatched. */
void orr_message_describe(const struct orr_request *r, void *arg);
/* Print one that is not over, but matched or not ready; at shutdown, and when it is given up. */
void orr_message_describe_under_way(const struct orr_request *r);
void orr_message_describe_left(const struct orr_request *r);
void orr_message_describe_early(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg);
extern const struct orr_stuck_story orr_message_story;
/* The layer ends: messages that were given up end later, without their communicator. */
void orr_messages_end(struct orr_value *v);

#endif
