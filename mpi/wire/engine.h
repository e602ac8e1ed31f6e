/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: sends and receives between ranks, matched by (context, peer, tag) in the order in which they were
 * posted.
 * Threads: post, ready and poll from any thread, none of them blocks; done and make_room run on whichever
 * thread polls.
 * Owns: requests between post and done, early messages, credits. Not here: handles (message.c), bytes on the
 * wire (transport.h), who polls when (progress.c).
 *
 * A request is posted when the program calls, which fixes its place in the order, and is ready when its data
 * may be read or written, which may be much later. A message that arrives before its receive is ready is
 * kept. */
#ifndef ORR_MPI_ENGINE_H
#define ORR_MPI_ENGINE_H

#include "mpi/wire/engine_state.h"

/* Borrows the transport, and the bells, which may be NULL. 0 or -ENOMEM. */
int orr_engine_init(struct orr_engine *e, struct orr_transport *t, const struct orr_bells *bells);
/* All ranks keep so many bytes at most for messages that come before their receives, and about as many for
 * announcements, headers and payloads of up to ORR_CREDIT_FREE bytes apart; every rank says the same, before
 * the first message. Without it: no limit. */
void orr_engine_limit_early(struct orr_engine *e, uint64_t bytes);
/* No transfer is under way; early messages that nobody received are dropped. A closed engine may still be
 * polled by a thread that comes late, and ends requests that were given up before as they get ready. */
void orr_engine_fini(struct orr_engine *e);

/* Takes the request. ready: its payload is filled in already. */
void orr_engine_post(struct orr_engine *e, struct orr_request *r, bool ready);
/* Once for each request posted without ready; may come before the post itself was seen. */
void orr_engine_ready(struct orr_engine *e, struct orr_request *r);
/* The same for several, which nobody sees before all of them are. Zero is none; ready_all empties it. */
struct orr_ready_batch {
    struct orr_inbox_item *latest, *first;
};
void orr_ready_batch_add(struct orr_ready_batch *b, struct orr_request *r);
void orr_engine_ready_all(struct orr_engine *e, struct orr_ready_batch *b);
/* Moves what can move and calls done for what ended; true if anything did. From inside done it returns at
 * once. */
bool orr_engine_poll(struct orr_engine *e);
/* The same for who is about to sleep: all that has come by now is taken, by another thread if one polls just
 * now. */
bool orr_engine_look(struct orr_engine *e);

/* True on a thread that is inside of done. */
bool orr_engine_in_callback(void);

/* For shutdown: visits receives and sends that were never matched; early messages of the program that nobody
 * received, whose number it returns. */
void orr_engine_visit_unmatched(struct orr_engine *e, void (*visit)(const struct orr_request *r, void *arg),
                                void *arg);
size_t orr_engine_visit_early(struct orr_engine *e,
                              void (*visit)(const struct orr_match_node *n, const struct orr_wire_header *h,
                                            void *arg),
                              void *arg);
/* Requests that are matched but not over, and sends that are not ready. */
void orr_engine_visit_under_way(struct orr_engine *e, void (*visit)(const struct orr_request *r, void *arg),
                                void *arg);
/* How a request stands. */
enum orr_request_stands {
    ORR_STANDS_UNNAMED,   /* a receive that does not know yet what its sender calls the communicator */
    ORR_STANDS_UNMATCHED, /* a receive without a message; a send that waits to be received */
    ORR_STANDS_MATCHED,   /* a receive whose message has come, or was announced, before its data were ready */
    ORR_STANDS_STALLED,   /* the same, of one that lacks memory or a buffer */
    ORR_STANDS_MOVES,     /* its bytes are on their way, or wait for the other end to take them */
    ORR_STANDS_HELD,      /* a send that is not ready, or stands behind one of its name that is not */
    ORR_STANDS_LEAVES,    /* a send that leaves as soon as there is a buffer for it */
    ORR_STANDS_RELAYED,   /* a send that another rank makes, or that stands behind such a one */
    ORR_STANDS_UNANNOUNCED /* a send that is announced when it is wanted, since so many others are (credit.h)
                            */
};
/* For who looks while all goes on: visits every request that is posted, but for those of the last moments,
 * and the early messages of the program. Called with busy held, so they
 * must be brief and call nothing of the program's; who posts or polls meanwhile goes on with other things,
 * and the caller polls afterwards. False: busy was not to be had for so long, and nothing was visited. */
struct orr_engine_view {
    void (*request)(const struct orr_request *r, enum orr_request_stands stands, void *arg);
    void (*early)(const struct orr_match_node *n, const struct orr_wire_header *h, void *arg);
    void *arg;
};
bool orr_engine_view(struct orr_engine *e, const struct orr_engine_view *v, unsigned patience_ms);
/* All ranks give up, and nothing moves any more: what is not matched ends with -ECANCELED, at once or when it
 * is ready, and messages that nobody receives are taken off the network, so that their senders end. Transfers
 * go on: they are over when the counts say so. */
void orr_engine_cancel_unmatched(struct orr_engine *e);
struct orr_engine_counts orr_engine_get_counts(struct orr_engine *e);

/* ---- contexts that ranks number by themselves: communicators of the program (names.h) ---- */

/* Tells a rank what this one calls a communicator, before the first send on it. Waits for whoever polls. */
int orr_engine_greet(struct orr_engine *e, const struct orr_foreign *to, uint32_t context);
/* Wants to know what peer calls context, before the first receive on it that is foreign. Waits for whoever
 * polls. 0, -ENOMEM or -EIO. */
int orr_engine_listen(struct orr_engine *e, const struct orr_foreign *from, uint32_t context, int peer);
/* What peer calls context; 0: not known. Waits for whoever polls. */
uint32_t orr_engine_name(struct orr_engine *e, uint32_t context, int peer);
/* No receive on context from peer is outstanding, and none will be. Waits for whoever polls. */
void orr_engine_forget(struct orr_engine *e, uint32_t context, int peer);
/* Between these nobody else is in the transport: for other calls of what it stands on, where that may be used
 * by one thread at a time only. Not while done is called with the lock, not twice. */
void orr_engine_enter(struct orr_engine *e);
void orr_engine_leave(struct orr_engine *e);

/* Sends a control message: its type, tag, id and bulk_tag, and data of so many bytes, at most
 * orr_engine_control_max. False: no buffer just now. Waits for whoever polls. */
bool orr_engine_send_control(struct orr_engine *e, int peer, const struct orr_wire_header *values,
                             const void *data, size_t bytes);
size_t orr_engine_control_max(const struct orr_engine *e);

#endif
