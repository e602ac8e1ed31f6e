/* SPDX-License-Identifier: BSD-3-Clause */
/* moves.h: transfers where a placement moves data: what is written stays on the rank that wrote it (its
 * holder), and goes to its owner (its home) only where all ranks see that the program needs it there.
 * What some ranks do on another communicator changes nothing of that: to the others it is something that home
 * did unseen.
 * Threads: the thread that submits. Owns: holder, version and sent of struct orr_owned, then alike on all
 * ranks. Not here: what the program does at home alone (away.h), owner-computes (exchange.h). */
#ifndef ORR_MPI_MOVES_H
#define ORR_MPI_MOVES_H

#include "mpi/value/actions.h"

/* From here on this room decides, on all ranks alike; before, who has copies is not known to all. At the same
 * place of the stream of c on every rank, the layer's own communicator. 0 or what failed (said). */
int orr_moves_start(struct orr_comm *c);
/* The next place in the stream of c begins; the first one starts it all. */
void orr_moves_begin(struct orr_actions *l, struct orr_comm *c);

/* The insertion uses h: what overlaps it and could be away until now stays at home from here on. */
void orr_moves_pin(struct orr_actions *l, struct orr_data *h);

/* A task on rank xrank (or ORR_RANK_PER_NODE: on all) accesses h, which may be away: what is to be done here
 * before and after it. ran: it runs here too, though what it writes counts on xrank. */
void orr_moves_before(struct orr_actions *l, struct orr_data *h, int mode, int xrank, int priority);
void orr_moves_after(struct orr_actions *l, struct orr_data *h, int mode, int xrank, bool ran);

/* The whole of an insertion that runs on rank xrank, where this one has no part in it: nothing of its data is
 * here, nor theirs is this home. False: it has, or may have, and nothing was done. */
bool orr_moves_pass(struct orr_comm *c, const struct starpu_data_descr *data, int count, int xrank);

/* The same where an iteration is replayed (place/gaps.h). left_out: of the data of an insertion, whether it
 * would be left out if nothing of them were here; is_here: and whether something is. */
bool orr_moves_left_out(const struct orr_comm *c, const struct orr_data *h);
bool orr_moves_is_here(const struct orr_data *h);
/* What insertions that were left out did to a datum, one after the other. */
struct orr_missed {
    struct orr_data *handle;
    uint32_t writes;   /* how many wrote it */
    int32_t writer;    /* the rank that did last, with writes */
    uint32_t nreaders; /* that did since, each once */
    int32_t *readers;  /* in this order */
};
void orr_moves_catch_up(struct orr_comm *c, const struct orr_missed *missed, size_t count);

/* Where not all ranks see it: on other communicators (orr_moves_unseen), or where the program steers the
 * transfers. As orr_exchange_before and _after: owner-computes, and nothing is remembered; home brings in
 * what it lacks. */
bool orr_moves_unseen(const struct orr_comm *c, const struct orr_data *h);
int orr_moves_exchange_before(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority);
int orr_moves_exchange_after(struct orr_comm *c, struct orr_data *h, int mode, int xrank, int priority);

/* What is away returns to its home, which all ranks see. */
void orr_moves_return(struct orr_actions *l, struct orr_data *h, int priority);
/* h's value goes to rank node besides. */
void orr_moves_bring(struct orr_actions *l, struct orr_data *h, int node, int mode, int priority);
/* All copies elsewhere than at home go. */
void orr_moves_flush(struct orr_actions *l, struct orr_data *h);

/* ---- places of the stream that all ranks of c see and that are no insertions; nothing is done under
 * owner-computes ---- */

/* The contributions to these data that not all ranks saw are summed up before the insertion begins that uses
 * them. 0 or what failed last (said). */
int orr_moves_sum(struct orr_comm *c, const struct starpu_data_descr *data, int count, int priority);
/* As orr_redux_gather, and what is away returns home. */
int orr_moves_gather(struct orr_comm *c, struct orr_data *h, int priority, int arity);
/* All that is away returns home. 0 or a negative errno (said). */
int orr_moves_home_all(struct orr_comm *c);
/* Copies elsewhere go, too. False: nothing moves here; the caller flushes what it knows. */
bool orr_moves_flush_all(struct orr_comm *c);
/* The same for one, as far as others have it; then nothing of it is left to be done here. */
int orr_moves_home(struct orr_comm *c, struct orr_data *h);
/* False: it is not for this room. Copies of h elsewhere go; h's value goes to rank node besides, 0 or a
 * negative errno; and is that one's own from now on (what failed was said). */
bool orr_moves_flush_one(struct orr_comm *c, struct orr_data *h);
bool orr_moves_get(struct orr_comm *c, struct orr_data *h, int node, int *status_out);
bool orr_moves_migrate(struct orr_comm *c, struct orr_data *h, int node);

#endif
