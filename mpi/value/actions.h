/* SPDX-License-Identifier: BSD-3-Clause */
/* actions.h: what an insertion means for this rank, as a short list: send, receive, submit, drop. It is
 * decided whole (moves.h) before anything of it is done; so it can be done at once, later, or again.
 * Threads: the thread that submits. Owns: struct orr_actions, its tasks until they are submitted.
 * Not here: what is decided. */
#ifndef ORR_MPI_ACTIONS_H
#define ORR_MPI_ACTIONS_H

#include "mpi/value/ownership.h"

enum orr_action_kind {
    ORR_ACT_NONE, /* nothing is done; but it may have to wait (gate) */
    ORR_ACT_SEND,
    ORR_ACT_RECEIVE,
    ORR_ACT_DROP,  /* the memory of an old copy is given back */
    ORR_ACT_SUBMIT /* the task of the insertion */
};

struct orr_action {
    uint8_t kind;   /* enum orr_action_kind */
    bool sync;      /* of a send */
    bool only_read; /* a message whose receiver does not change the value (seen.h) */
    bool away;      /* a message under the name of a call at home that others do not see (away.h) */
    bool sorted;    /* of a task: as ORR_TF_SORTED */
    bool aside;     /* no use of the program's: plans of partitioning are left as they are */
    bool uses;      /* of nothing to be done: the program uses the copy here from there on */
    bool changed;   /* a value that home changed unseen is received */
    bool acquired;  /* of a change: the program at home has the datum, until it releases it */
    bool unserved;  /* of a send home: only if home has not asked for that version itself */
    int32_t gate;   /* the home of the datum, which must have come to the insertion first; -1: nobody */
    int32_t peer, priority;
    uint32_t version;         /* of an unserved send, and of an answer */
    struct orr_owned *serves; /* of an answer to home: what it asked for; else NULL */
    struct orr_data *handle;  /* NULL with a task */
    struct starpu_task *task; /* to be submitted */
    uint64_t position, hash;  /* of the list; set as it is added */
};

enum { ORR_ACTIONS_INLINE = 16 };

struct orr_actions {
    struct orr_comm *comm;
    uint64_t position; /* of the insertion */
    uint64_t hash;     /* of the stream up to here, as messages say it */
    int count, room, status;
    struct orr_action *list; /* inline_list or heap */
    struct orr_action inline_list[ORR_ACTIONS_INLINE];
};

static inline void orr_actions_init(struct orr_actions *l, struct orr_comm *c, uint64_t position)
{
    l->comm = c;
    l->position = position;
    l->hash = orr_stream_hash(c);
    l->count = l->status = 0;
    l->room = ORR_ACTIONS_INLINE;
    l->list = l->inline_list;
}

/* Appends one. Out of memory: said, and in l->status. */
void orr_actions_add(struct orr_actions *l, const struct orr_action *a);
/* Does one, now. 0 or a negative errno (said). */
int orr_action_carry_out(struct orr_comm *c, const struct orr_action *a);
/* The list ends: tasks that were not submitted go. */
void orr_actions_fini(struct orr_actions *l);

#endif
