/* SPDX-License-Identifier: BSD-3-Clause */
/* control.h: the messages of the layer itself, which carry no data of the program.
 * Threads: any; what arrives is handed on by whoever polls. Owns: the list of kinds, and struct orr_controls:
 * who listens to which. Not here: what they mean (stuck.c, guard.c, stream.c). */
#ifndef ORR_MPI_CONTROL_H
#define ORR_MPI_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/wire/engine.h"

/* Each says what the header's values tag, id and bulk_tag are. */
enum orr_control {
    ORR_CONTROL_REPORT = 1, /* messages sent, received, wave (stuck.c) */
    ORR_CONTROL_WAVE,       /* -, -, wave */
    ORR_CONTROL_DEADLOCK,   /* -, -, wave */
    ORR_CONTROL_BEAT,       /* - (guard.c) */
    ORR_CONTROL_GONE,       /* rank, why, - */
    ORR_CONTROL_ASK,        /* first insertion, stride, context (stream.c) */
    ORR_CONTROL_ANSWER,     /* insertions so far, the oldest known, number of hashes that follow */
    ORR_CONTROL_ASK_TEXT,   /* insertion, the asker's own hash of it, context */
    ORR_CONTROL_TEXT,       /* enum in stream.c, hash of the insertion, -; the text follows */
    ORR_CONTROL_EDGE,       /* -, -, -; "who\nfor whom" follows (stuck.c) */
    ORR_CONTROL_EDGES_OVER, /* - */
    ORR_CONTROL_DRAWN,      /* - */
    ORR_CONTROL_WRITTEN,    /* which template, which instance, how it went (value/checkpoint.c) */
    ORR_CONTROL_SETTLED,    /* the same, of all ranks */
    ORR_CONTROL_FETCH,      /* tag, position, version (value/away.c) */
    ORR_CONTROL_CHANGED,    /* tag, position, 1: the program at home has acquired it */
    ORR_CONTROL_WATCH,      /* -, position, - */
    ORR_CONTROL_REACHED,    /* -, position, - */
    ORR_CONTROL_COMING,     /* tag, -, - */
    ORR_CONTROL_LEND,       /* insertions so far, tasks (0: none any more), to run (value/borrow.c) */
    ORR_CONTROL_LENT,       /* what waits there, how many come, - (value/lend.c) */
    ORR_CONTROL_LEND_BACK,  /* -: what it was given and has not begun is to go back */
    ORR_CONTROL_RECALL,     /* -, name of a value that is shown, - (value/seen.c) */
    ORR_CONTROL_UNSEEN,     /* the same */
    ORR_CONTROL_KINDS
};

/* One came from that rank, with h->bytes at data. The engine is busy: it must not be called. */
typedef void (*orr_control_fn)(void *arg, int source, const struct orr_wire_header *h, const void *data);

/* The control messages of an engine. Zero, but for what init sets. */
struct orr_controls {
    struct orr_engine *engine; /* [const] */
    struct {
        _Atomic(orr_control_fn) fn; /* [atomic: set before one can come, or late; publishes arg] */
        void *arg;                  /* [const once fn is set] */
    } listeners[ORR_CONTROL_KINDS];
};

/* Borrows the engine, which hands on what comes from now on. Before messages flow. */
void orr_controls_init(struct orr_controls *all, struct orr_engine *e);
/* Messages of the kinds first to last go to fn, from now on; of one kind always with the same arg. Others are
 * dropped. */
void orr_control_listen(struct orr_controls *all, enum orr_control first, enum orr_control last,
                        orr_control_fn fn, void *arg);
/* Sends one to a rank of the transport; data of so many bytes behind it. False: no buffer just now. */
bool orr_control_send(struct orr_controls *all, int peer, enum orr_control what, int64_t tag, uint64_t id,
                      uint32_t more, const void *data, size_t bytes);

#endif
