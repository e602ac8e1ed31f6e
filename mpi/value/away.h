/* SPDX-License-Identifier: BSD-3-Clause */
/* away.h: what the program does at home, unseen by the others, with data that are away; and so, when this
 * rank may do what it decided with values of other homes.
 * Threads: see each. Owns: struct orr_away: actions put off, questions of other ranks, what home changed.
 * Not here: what all ranks decide alike (moves.h). The protocol: away.c, and away.pml, a model of it. */
#ifndef ORR_MPI_AWAY_H
#define ORR_MPI_AWAY_H

#include "mpi/live/control.h"
#include "mpi/value/actions.h"

struct orr_apart;
struct orr_later;
struct orr_news;

/* A datum of another rank's that is here, or was; by tag. */
struct orr_guest {
    struct orr_owned *owned; /* NULL: none; freed: the place is in use by nobody, look on behind it */
    uint64_t since;          /* the position at which it came */
};

struct orr_watcher {
    int peer;
    uint64_t position;
};

struct orr_away {
    struct orr_value *value;               /* [const while running] */
    struct orr_controls *controls;         /* [const while running] */
    _Atomic(struct orr_thread *) inserter; /* who inserted last [any] */
    struct orr_away *next;                 /* of those that run [lock: list in away.c] */
    struct orr_waiter waiter;              /* to go on when messages are not moved [lock] */
    ORR_SPIN(away) lock;                   /* protects the rest; leaf */
    uint64_t position;                     /* of the stream: insertions, and what else all see, that began */
    uint64_t decided;                      /* so many of them are decided whole, and done or put off */
    bool queued;                           /* waiter waits to be called */
    uint32_t asides;                       /* calls of it that wait or are on the way */
    bool busy;                             /* a thread carries out actions */
    bool deciding;  /* the inserting thread is in an insertion: what is known of data changes */
    uint32_t users; /* threads that look at it, for uses of the program's */
    struct orr_later *head, **tail;             /* actions put off, in order */
    struct orr_news *news, **last_news, *early; /* what came; what concerns positions to come */
    struct orr_news *coming;                    /* values that home announced */
    uint64_t *reached, *watched;  /* by rank: its position, as known; what it was asked to tell */
    struct orr_watcher *watchers; /* whom to tell */
    uint32_t nwatchers, watchers_room;
    struct orr_guest *guests; /* a table by tag, of a power of two */
    uint32_t nguests, guests_room;
    struct orr_apart *apart;    /* changes that homes hold */
    _Atomic uint32_t napart;    /* [any] so many */
    struct orr_kept *kept;      /* values that homes may still ask for */
    _Atomic uint32_t nkept;     /* [any] so many */
    struct orr_owned **changed; /* what home changed */
    uint32_t nchanged, changed_room;
};

/* The layer starts, or ends. -ENOMEM. */
int orr_away_start(struct orr_value *v, struct orr_controls *controls);
void orr_away_end(struct orr_value *v);

/* On the thread that submits: the next place of the stream begins. What home changed goes to those that have
 * it, before anybody is told. Returns the position. */
uint64_t orr_away_begin(struct orr_comm *c);
/* The same for a place at which this rank has nothing to do, but for what all ranks know of its data: that
 * changes until orr_away_pass_end, and nobody looks meanwhile. False: it has to begin as any other. */
bool orr_away_pass_begin(struct orr_comm *c);
void orr_away_pass_end(struct orr_comm *c);
/* The next places are of a replayed iteration, and this rank left them out (place/gaps.h): nothing of their
 * data is here, nor is their home. Another place begins next. */
void orr_away_skip(struct orr_comm *c, uint64_t places);
/* Does what is in the list, in order, and empties it; from the first on that has to wait, they are put off.
 * What failed first, also of the list's making (said). */
int orr_away_do(struct orr_actions *l);
/* The same, and waits until nothing of h is left to be done. */
int orr_away_settle(struct orr_actions *l, struct orr_data *h);

/* Waits until nothing of h, or nothing at all, is left to be done. */
void orr_away_settle_data(struct orr_comm *c, struct orr_data *h);
void orr_away_settle_all(struct orr_comm *c);

/* Home sends h to a rank of the transport, as not all see: it says so once it has asked for what it lacks.
 * The receiver waits for that, and for what it is asked: only then it may receive into the same datum.
 * Blocks. */
void orr_away_announce(struct orr_comm *c, struct orr_data *h, int peer);
void orr_away_expect(struct orr_comm *c, struct orr_data *h, int home);

/* h, which may be away, is used by insertions: the program's uses of it are looked at from now on. Here: a
 * value of it is, or will be, that is not this rank's own. */
void orr_away_watch(struct orr_comm *c, struct orr_data *h, bool here, uint64_t position);
/* Home is about to change h, by what not all ranks see: it asks for what it lacks. As orr_data_hooks.use. */
int orr_away_changes(struct orr_data *h);
/* Home tells what it changed of h ahead of its next insertion, and not rank except of the transport, which is
 * about to write its copy: that may be a task that the program submits later, and would be overwritten. */
void orr_away_tell_change(struct orr_comm *c, struct orr_data *h, int except);
/* Home has not changed it: its pieces are used instead, or it is overwritten. */
void orr_away_forget_change(struct orr_data *h);
/* All ranks are about to give up their copies of h (NULL: of all data), as all see: nobody is sent what home
 * changed since its last insertion. */
void orr_away_give_up_copies(struct orr_comm *c, const struct orr_data *h);

#endif
