/* SPDX-License-Identifier: BSD-3-Clause */
/* borrow.h: asking another rank for tasks, and running what it gives.
 * Threads: stated below. Owns: nothing. Not here: the state (loan.h), when to ask (hungry.h). */
#ifndef ORR_MPI_BORROW_H
#define ORR_MPI_BORROW_H

#include "mpi/value/loan.h"

/* After orr_lend_begin: hears answers. */
void orr_borrow_begin(struct orr_lend *l);
/* Tasks of others that are here or on their way, and were not run yet. */
uint32_t orr_borrow_to_run(struct orr_lend *l);
/* Asks peer for so many tasks, ORR_LEND_AT_ONCE at most. False: an answer is awaited already, or one of
 * peer's is late, or many are; there is no buffer just now, or no memory. Not in the engine, one thread at a
 * time. */
bool orr_borrow_ask(struct orr_lend *l, int peer, uint32_t count);

/* Whether a question is out, and none of those that were asked longer ago: they are late, and their answers
 * come while others are asked. */
bool orr_borrow_awaits(struct orr_lend *l, uint64_t patience_ns);
/* Whether an answer of peer's is to come. */
bool orr_borrow_is_asked(struct orr_lend *l, int peer);

/* An answer. */
struct orr_borrow_news {
    int peer;
    uint32_t given, surplus;
    uint64_t answered_ns; /* orr_clock_ns */
    uint64_t after_ns;    /* the question */
};
/* Takes one that was not heard yet; false: there is none. */
bool orr_borrow_hear(struct orr_lend *l, struct orr_borrow_news *out);
/* Before orr_lend_end ends: no record is kept any more. */
void orr_borrow_end(struct orr_lend *l);

/* Workers are paused: tasks that none of them has begun go back. Not in the engine. */
void orr_borrow_give_back(struct orr_lend *l);

/* Nobody asks any more: takes questions back, and waits for answers and for what was borrowed. Blocks. */
void orr_borrow_settle(struct orr_lend *l);

#endif
