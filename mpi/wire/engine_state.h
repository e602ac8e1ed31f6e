/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_state.h: what an engine remembers: its requests, what it knows of other ranks, its counts.
 * Threads: each field says. Owns: struct orr_engine. Not here: what others may ask of it (engine.h). */
#ifndef ORR_MPI_ENGINE_STATE_H
#define ORR_MPI_ENGINE_STATE_H

#include "core/base/sync.h"
#include "mpi/wire/bells.h"
#include "mpi/wire/match.h"
#include "mpi/wire/request.h"
#include "mpi/wire/transport.h"
#include "mpi/wire/wire.h"

struct orr_engine_counts {
    uint64_t sent_messages, received_messages; /* without control messages */
    uint64_t bad_messages, early_messages;
    uint64_t ended;                          /* requests */
    uint64_t program_sent, program_received; /* of those above, in contexts that are counted */
    uint32_t bulk_receives, bulk_sends;      /* under way now */
    uint32_t waiting_data;                   /* requests that are not ready now */
    uint64_t asked;                          /* sends that had no credit */
    uint64_t kept_back;                      /* of sends, those that were not announced at first */
    uint64_t kept_bytes, kept_most;          /* payload that came before its receive: now, and ever */
    uint64_t relayed;                        /* sends that were left to others (spread.h) */
    bool queued;                             /* some have to wait for memory or a buffer */
};

/* What is known of another rank. */
struct orr_peer {
    struct orr_request_list waiting; /* ready sends for which there is no buffer */
    struct orr_peer *next_blocked;   /* of those with something in waiting or wanted */
    bool priorities, unsorted;       /* some request there has one; was put there since they were sorted */
    bool blocked;                    /* it is one of those */
    bool has_more;                   /* it has sends for this rank that it does not announce */
    uint32_t asked;                  /* announcements there that wait to be wanted */
    int64_t credit;                  /* what may still be sent there before it is received (credit.h) */
    uint64_t owed;                   /* what was taken of it and it was not told yet */
    uint64_t spread;                 /* the latest tree that it is in, by number */
    uint32_t announced, heard; /* of messages that are not eager: sent there, come from there (spread.h) */
    struct orr_request_list wanted; /* sends that were not announced and are to be now, before waiting */
    uint32_t unannounced;           /* sends there that are not announced before they are wanted */
};

/* Of large transfers, those that one end chooses. */
struct orr_bulk_tags {
    uint32_t next;
    bool again; /* they began anew: some may be in use */
};

struct orr_engine {
    _Atomic(struct orr_inbox_item *)
        inbox;          /* [atomic] posted and ready, latest first; pairs with drain_inbox */
    _Atomic bool again; /* [atomic] whoever polls just now is to poll once more, and take all that is there */
    void (*_Atomic missed)(void *arg); /* NULL, or told: somebody left it to who held busy without polling */
    void *missed_arg;                  /* [const while missed is there] */
    ORR_ALIGNED_LINE _Atomic uint32_t busy; /* [atomic] 1 while a thread works; protects all that follows */
    _Atomic uint64_t polls;                 /* [any: statistic] how often somebody polled */
    _Atomic bool unsent;             /* the transport needs polls although nothing may be outstanding */
    _Atomic bool moving;             /* large transfers go on, or unsent: polls move them */
    struct orr_transport *transport; /* [own: who holds busy] NULL: closed */
    const struct orr_bells *bells;   /* to wake who receives; NULL: nobody sleeps [const while open] */
    /* Optional: a control message came, with h->bytes behind its header; called with busy held, must not call
     * the engine. [const once messages flow] */
    void (*on_control)(void *arg, int source, const struct orr_wire_header *h, const void *data);
    void *on_control_arg; /* [const once messages flow] */
    /* Optional: of values that are used where they are (request.h, in_place). show: by what name a send's is
     * known, 0: it is not shown; see: a receive's is there, under that name; false: it is to be copied. With
     * busy held. [const once messages flow] */
    uint64_t (*show)(struct orr_request *r);
    bool (*see)(struct orr_request *r, void *at, uint64_t name);
    struct orr_match_table held;           /* sends posted and not ready, in order, and those behind them */
    struct orr_match_table receives;       /* posted receives without a message */
    struct orr_match_table early;          /* messages without a receive */
    struct orr_match_table unacknowledged; /* synchronous sends; tag is the id */
    struct orr_match_table unannounced;    /* sends whose receivers have to want them first (credit.h) */
    struct orr_match_table relayed;    /* sends that others make, and those with the same key behind them */
    struct orr_match_table names;      /* what other ranks call contexts of ours (names.h) */
    struct orr_request_list outgoing;  /* ready sends */
    struct orr_peer *blocked;          /* those that have some in waiting or wanted */
    struct orr_peer *peers;            /* by rank */
    int64_t share;                     /* of memory for early messages, for each rank */
    uint32_t asked_most;               /* announcements to one rank that wait to be wanted (credit.h) */
    struct orr_request *wanting;       /* receives of which their senders are still to be told, linked */
    struct orr_request_list stalled;   /* receives that could not go on for want of memory or buffers */
    struct orr_request_list completed; /* done is to be called */
    struct orr_request *to_place;      /* place is to be called, chained by next_to_place */
    struct orr_request *under_way;     /* large transfers, and receives whose message waits for ready */
    void *spare_buffer;
    bool priorities;              /* some request in outgoing has one */
    bool cancelled;               /* shutdown gave up: everything ends with -ECANCELED */
    struct orr_bulk_tags tags[2]; /* by enum orr_request_kind */
    uint64_t next_id;
    uint64_t spreads; /* trees so far */
    struct orr_engine_counts counts;
};

#endif
