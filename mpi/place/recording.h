/* SPDX-License-Identifier: BSD-3-Clause */
/* recording.h: what one iteration of the stream means for this rank: the insertions in which it has a part.
 * Threads: the thread that submits; orr_recording_called: any. Owns: struct orr_recording. Not here: when one
 * is made and replayed (replay.h).
 *
 * A record keeps accesses, not messages: whether a value must be sent is decided anew each time, by the same
 * marks as at an insertion. So a replay does what the insertions would do, whatever came before it. What is
 * left out are accesses by others to data that others own and of which there is no mark here. That stays
 * right as long as data stay registered and owned as they are, and no such mark appears: bits of the handles
 * (ownership.h) have the event noticed where it happens, so that nothing is looked through at a replay. Where
 * data move it is otherwise: gaps.h. */
#ifndef ORR_MPI_RECORDING_H
#define ORR_MPI_RECORDING_H

#include "core/task/model.h"
#include "mpi/place/arguments.h"
#include "mpi/place/policies.h"
#include "mpi/value/moves.h"

/* One insertion of an iteration that is recognised (script.h). Short: what is read of it is cold. */
struct orr_script_line {
    struct starpu_codelet *cl;
    uint64_t arguments;            /* their hash, without the bytes of values */
    uint32_t part;                 /* 1 + its number among the parts; 0: this rank has none */
    bool verbatim;                 /* it is inserted each time: something in it is not comparable */
    struct orr_stream_entry entry; /* in the log; rolling is its own hash */
};

/* An insertion. */
struct orr_recorded {
    struct orr_task_model *model; /* what runs here; NULL: it runs elsewhere */
    uint32_t first, count;        /* of its accesses in data */
    int32_t xrank, priority;
    uint32_t position; /* in the iteration */
    bool own;          /* it runs here, with plain accesses to data that this rank owns */
    bool once;         /* it cannot be repeated: only noted, to know its data */
};

/* Before a part, or (the last one) behind all of them. */
struct orr_gap {
    uint64_t hash;  /* of the iteration up to here, as messages say it */
    size_t missed;  /* the first */
    size_t nmissed; /* that the part makes good */
};

struct orr_left_out {
    struct orr_data *handle;
    bool must_be_elsewhere; /* when the iteration begins */
};

/* What is left out, where data move (gaps.h). */
struct orr_gaps {
    uint64_t from;       /* the position of its first insertion, as the placement counts */
    uint64_t choices;    /* of a placement with figures: what it chose, a hash (frozen.h) */
    struct orr_gap *gap; /* of each part, and one more */
    bool *was_here;      /* of each access that was noted, what it needs: before it */
    struct orr_missed *missed;
    struct orr_left_out *data;
    int32_t *readers; /* of all missed */
    size_t nmissed, ndata, nreaders, missed_room, data_room, readers_room;
};

enum orr_recording_state {
    ORR_RECORDING_EMPTY,
    ORR_RECORDING_MAKING,
    ORR_RECORDING_READY,
    ORR_RECORDING_GIVEN_UP /* it is inserted each time */
};

struct orr_recording {
    struct orr_recording *next;
    int id;
    enum orr_recording_state state;
    struct orr_recorded *parts;
    struct starpu_data_descr *data;
    size_t nparts, ndata, parts_room, data_room;
    uint64_t hash;     /* in the log */
    uint32_t upsets;   /* of the cluster, when it was made */
    uint32_t ends;     /* of the cluster, when it was begun */
    uint32_t changes;  /* of the node selection policy, when it was begun */
    uint32_t replays;  /* since it was made */
    uint32_t failures; /* records in a row that came to nothing */
    bool said;
    /* of one that began between starpu_iteration_push and _pop (script.h) */
    bool by_itself, strayed; /* strayed: the present iteration is another than was recorded */
    struct orr_script_line *lines;
    size_t nlines, lines_room;
    size_t cursor; /* the line that comes next */
    /* while it is made */
    uint32_t insertions;
    uint32_t calls;              /* of insertions by this thread, on any communicator */
    uint64_t submitted;          /* tasks of this thread, by insertions */
    uint64_t submitted_before;   /* at the beginning, all of the thread */
    uint64_t looks;              /* of the thread, at the beginning (struct orr_acting) */
    bool looked;                 /* data were acquired, or tasks waited for, behind its last insertion */
    bool moves;                  /* data move (gaps.h) */
    struct orr_gaps *gaps;       /* with moves, else NULL */
    struct orr_thread *thread;   /* who inserts [const] */
    _Atomic(const char *) other; /* why it cannot be replayed: a literal; NULL: it can [any] */
    const char *task;            /* of which task that is said; NULL: of none */
};

/* Begins one, with what was recorded before gone. */
void orr_recording_begin(struct orr_recording *r, struct orr_comm *c);
/* An insertion, decided and exchanged, whose task (NULL: it runs elsewhere) is not submitted yet. */
void orr_recording_note(struct orr_recording *r, struct orr_comm *c, const struct starpu_codelet *cl,
                        const struct orr_arguments *a, int xrank, const struct starpu_task *task);
/* Something that a replay would leave out, or could not repeat: why, a literal. */
void orr_recording_spoil(struct orr_recording *r, const char *why);
/* Whether the calling thread acquired data, or waited for tasks, since the iteration began. */
bool orr_recording_looked(const struct orr_recording *r);
/* The public function fn was called meanwhile. */
void orr_recording_called(struct orr_recording *r, const char *fn);
/* Ends it: true, and it is ready, but for its gaps; false, and it is empty (other says why). */
bool orr_recording_end(struct orr_recording *r, struct orr_comm *c);
/* Gives back what it keeps. */
void orr_recording_clear(struct orr_recording *r);

#endif
