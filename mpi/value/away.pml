/* SPDX-License-Identifier: BSD-3-Clause */
/* away.pml: a model for spin of data that are away from home: who asks whom for a value that others do not know is wanted, and who
 * waits for whom so that it is still there. Run by scripts/check-models.
 *
 * Three ranks walk the same stream of LENGTH insertions, chosen freely: a task on any rank reads, changes or overwrites a datum, or all
 * see that it returns home. Home of datum d is rank d. Between any two insertions home may read or write its datum without that the
 * others see it. What home has asked for does not come home once more. Each rank inserts (ins), carries out its part in order as far as its backlog lets it (gate), and each datum has a queue
 * of its own (done). With DATA=2 each task also reads the other datum, whose home is elsewhere, so that two homes wait.
 *
 * Properties: every task, and every call at home, finds the value of its place in the stream; no execution stops before the end.
 *
 * MUTANTS: -DREACHED_IS_ENOUGH -DDROP_AT_ONCE -DBACK_TOO_LATE -DSERVE_EARLY -DSEND_AT_ONCE -DCOPIES_ARE_LEFT -DCOPIES_AT_ONCE
 * MUTANTS: -DSERVED_WHEN_HEARD,-DLENGTH=3,-DFEW -DSERVED_FOR_EVER,-DLENGTH=3,-DFEW -DGOT_FOR_EVER,-DLENGTH=3,-DFEW
 * SIZES: -DLENGTH=2 -DLENGTH=3,-DFEW -DLENGTH=2,-DDATA=2,-DFEW
 */
#ifndef LENGTH
#define LENGTH 2
#endif
#ifndef DATA
#define DATA 1
#endif
#define RANKS  3
#define PLACES (LENGTH + 1) /* where home may call: before each insertion, and at the end */
#define NONE   255

#define AT(d, p)     ((d) * PLACES + (p))
#define ON(r, d)     ((r) * DATA + (d))
#define HAS(set, r)  (((set) >> (r)) & 1)
#define HOME(d)      (d)
#define PART(r, d, q) (((r) * DATA + (d)) * LENGTH + (q))

/* Accesses of insertions; calls at home. */
#define READ   1
#define CHANGE 2
#define WRITE  3
#define RETURN 4
#define READS(m)  ((m) == READ || (m) == CHANGE)
#define WRITES(m) ((m) == CHANGE || (m) == WRITE)
#define LOOK   1 /* waits for the value */
#define MODIFY 2 /* waits */
#define LATER  3 /* modifies it in a callback, and goes on at once */

mtype = { ASK, REACHED }; /* ASK: for the place p; what follows from it the model knows from the call */

/* The stream, and what follows from it on every rank alike. */
byte on[LENGTH];                /* where the task runs */
byte mode[DATA * PLACES];       /* of the access; 0: none */
byte call[DATA * PLACES];       /* what home does before */
byte holder[DATA * PLACES];     /* before the insertion */
byte copies[DATA * PLACES];
bool moves[DATA * PLACES];      /* the holder sends to who uses it */
bool part[DATA * RANKS * LENGTH]; /* the rank does something with it */
byte gated[RANKS * LENGTH];     /* whose homes must have gone past: a set of data */
/* What only home knows, and what the model compares with. */
bool home_has[DATA * PLACES];
byte before[DATA * PLACES];     /* the value that a call at home finds */
byte found[DATA * PLACES];      /* the value that the task finds */

/* Ranks. */
byte ins[RANKS];                /* insertions begun */
byte gate[RANKS];               /* insertions out of the backlog */
byte done[RANKS * DATA];        /* of those: carried out, for that datum */
byte value[RANKS * DATA];
bool came[RANKS * DATA];        /* the input of the next task */
byte known[RANKS * DATA];       /* how far home was known to be */
byte watch[RANKS * DATA];       /* 1 + the position that home is asked to tell; 0: none */
byte asked[RANKS * DATA];       /* places for which home wants or brings a value */
byte borrowed[RANKS * DATA];    /* 1 + the place for which the new value is to come back */
bool got[DATA], served[RANKS * DATA]; /* home asked for this value, and the holder sent it */
byte called[DATA], answered[DATA]; /* home's calls: begun, carried out */
byte late[DATA];

/* Messages: one at most of each name. Those that control come in order. */
byte moved[DATA * PLACES], fetched[DATA * PLACES], back[DATA * PLACES];
chan control[RANKS * DATA] = [LENGTH + 3] of { mtype, byte };

#define ASKS(d, p) (holder[AT(d, p)] != HOME(d) && (call[AT(d, p)] >= MODIFY || !home_has[AT(d, p)]))

#if DATA == 1
#define SETTLE settle(0)
#else
#define SETTLE settle(0); settle(1)
#endif

/* ---- choosing the stream ---- */

inline choose_access(q)
{
    if
    :: on[q] = 0
    :: on[q] = 1
    :: q > 0 -> on[q] = 2
    fi;
    if
    :: m = READ
    :: m = CHANGE
    :: m = WRITE
    :: on[q] == 0 -> m = RETURN
    fi;
#if DATA == 1
    mode[AT(0, q)] = m;
#else
    if
    :: mode[AT(0, q)] = m; mode[AT(1, q)] = (m == RETURN -> RETURN : READ)
    :: m != RETURN -> mode[AT(1, q)] = m; mode[AT(0, q)] = READ
    fi;
#endif
    m = 0
}

inline choose_call(d, p)
{
    if
    :: call[AT(d, p)] = 0
    :: p < LENGTH -> call[AT(d, p)] = MODIFY
#ifndef FEW
    :: p < LENGTH -> call[AT(d, p)] = LOOK
    :: p < LENGTH -> call[AT(d, p)] = LATER
#endif
    :: p == LENGTH -> call[AT(d, p)] = LOOK
    fi
}

/* What follows for datum d before insertion q + 1. */
inline follow(d, q)
{
    before[AT(d, q)] = v;
    if
    :: call[AT(d, q)] >= MODIFY -> v = 50 + q
    :: else
    fi;
    found[AT(d, q)] = v;
    h = holder[AT(d, q)];
    s = copies[AT(d, q)];
    x = (mode[AT(d, q)] == RETURN -> HOME(d) : on[q]);
    m = mode[AT(d, q)];
    moves[AT(d, q)] = (m != 0 && m != WRITE && x != h && !HAS(s, x));
    for (r : 0 .. RANKS - 1) {
        part[PART(r, d, q)] = m != 0 && (r == x || r == h && moves[AT(d, q)] || WRITES(m) && (r == h || HAS(s, r) || r == HOME(d)));
        if
        :: r == HOME(d) || m == 0 || !(r == h || HAS(s, r))
#ifdef COPIES_AT_ONCE
        :: r != HOME(d) && r != h
#endif
        :: else ->
           if
#ifndef SEND_AT_ONCE
           :: r == h && moves[AT(d, q)] -> gated[r * LENGTH + q] = gated[r * LENGTH + q] | (1 << d)
#endif
#ifndef DROP_AT_ONCE
           :: r != on[q] && WRITES(m) && !(r == h && moves[AT(d, q)]) ->
              gated[r * LENGTH + q] = gated[r * LENGTH + q] | (1 << d)
#endif
           :: r == on[q] && m != RETURN -> gated[r * LENGTH + q] = gated[r * LENGTH + q] | (1 << d)
           :: else
           fi
        fi
    }
    home_has[AT(d, q + 1)] = home_has[AT(d, q)] || call[AT(d, q)] != 0;
    if
    :: WRITES(m) ->
       v = 10 + q;
       h = x;
       s = 0;
       home_has[AT(d, q + 1)] = (x == HOME(d))
    :: m == READ ->
       s = (x == h -> s : s | (1 << x));
       home_has[AT(d, q + 1)] = home_has[AT(d, q + 1)] || x == HOME(d)
    :: m == RETURN ->
       s = (s | (1 << h)) & ~(1 << HOME(d));
       h = HOME(d);
       home_has[AT(d, q + 1)] = true
    :: else
    fi;
    holder[AT(d, q + 1)] = h;
    copies[AT(d, q + 1)] = s;
    r = 0
}

inline start(d)
{
    for (q : 0 .. RANKS - 1) { value[ON(q, d)] = NONE }
    for (q : 0 .. LENGTH) {
        moved[AT(d, q)] = NONE;
        fetched[AT(d, q)] = NONE;
        back[AT(d, q)] = NONE
    }
    value[ON(HOME(d), d)] = 1;
    holder[AT(d, 0)] = HOME(d);
    home_has[AT(d, 0)] = true;
    v = 1;
    for (q : 0 .. LENGTH - 1) { follow(d, q) }
    before[AT(d, LENGTH)] = v;
    q = 0;
    v = 0;
    h = 0;
    s = 0;
    x = 0;
    m = 0
}

/* ---- a datum's queue: where it stands ---- */

#define NEXT(d)    (done[ON(me, d)])
#define USED(d)    mode[AT(d, NEXT(d))]
#define MOVES(d)   moves[AT(d, NEXT(d))]
#define HOLDER(d)  holder[AT(d, NEXT(d))]
#define TARGET(d)  (USED(d) == RETURN -> HOME(d) : on[NEXT(d)])
/* Everything before its next action has been carried out. */
#define FREE(d) \
    (NEXT(d) < gate[me] && !borrowed[ON(me, d)] && (me != HOME(d) || answered[d] > NEXT(d)) && \
     !(asked[ON(me, d)] & ((2 << NEXT(d)) - 1)))
#define RUNS(d)    (USED(d) && USED(d) != RETURN && on[NEXT(d)] == me)
#define HERE(d)    (!MOVES(d) || came[ON(me, d)] || me == HOME(d) && got[d])
#define SENDS(d)   (USED(d) && MOVES(d) && me == HOLDER(d) && !(TARGET(d) == HOME(d) && served[ON(me, d)]))
#if DATA == 1
#define TASK_CAN_RUN(d) HERE(d)
#else
#define TASK_CAN_RUN(d) (HERE(d) && NEXT(1 - (d)) == NEXT(d) && FREE(1 - (d)) && HERE(1 - (d)))
#endif

/* ---- home: calls that the others do not see ---- */

/* The call before insertion p: asks for the value (FETCH, BORROW), and tells who has a copy that it changes (UPDATE). */
#define HEARS(d, p, r) \
    ((r) != HOME(d) && ((r) == holder[AT(d, p)] && ASKS(d, p) || TELLS_COPIES && call[AT(d, p)] >= MODIFY && HAS(copies[AT(d, p)], r)))
#ifdef COPIES_ARE_LEFT
#define TELLS_COPIES false
#else
#define TELLS_COPIES true
#endif
inline begin_call(d)
{
    p = called[d];
    if
    :: call[AT(d, p)] ->
       for (k : 0 .. RANKS - 1) {
           if
           :: HEARS(d, p, k) -> control[ON(k, d)] ! ASK(p)
           :: else
           fi
       }
       k = 0
    :: else
    fi;
    called[d]++;
    p = 0;
    SETTLE
}

#define CALL_CAN_END(d) \
    (answered[d] < called[d] && answered[d] == done[ON(HOME(d), d)] && \
     (call[AT(d, answered[d])] == 0 || !ASKS(d, answered[d]) || fetched[AT(d, answered[d])] != NONE))

inline end_call(d)
{
    p = answered[d];
    if
    :: call[AT(d, p)] && ASKS(d, p) -> value[ON(me, d)] = fetched[AT(d, p)]; got[d] = true
    :: else
    fi;
    if
    :: call[AT(d, p)] -> assert(value[ON(me, d)] == before[AT(d, p)])
    :: else
    fi;
    if
    :: call[AT(d, p)] >= MODIFY ->
       value[ON(me, d)] = 50 + p;
#ifdef BACK_TOO_LATE
       late[d] = p + 1
#else
       back[AT(d, p)] = 50 + p
#endif
    :: else
    fi;
    answered[d]++;
    p = 0;
    SETTLE
}

/* All of a rank's calls before its next insertion are begun, and ended if it waits for them. */
#define HAS_CALLED(r, d) \
    ((r) != HOME(d) || (called[d] > ins[r] && (call[AT(d, ins[r])] == 0 || call[AT(d, ins[r])] == LATER || answered[d] > ins[r])))

/* ---- the backlog ---- */

#ifdef REACHED_IS_ENOUGH
#define PAST(reached, q) ((reached) >= (q))
#else
#define PAST(reached, q) ((reached) > (q))
#endif
#define WAITS_FOR(r, d) (HAS(gated[(r) * LENGTH + gate[r]], d) && !PAST(known[ON(r, d)], gate[r]))
#if DATA == 1
#define WAITS(r)        WAITS_FOR(r, 0)
#define MAY_INSERT(r)   HAS_CALLED(r, 0)
#else
#define WAITS(r)        (WAITS_FOR(r, 0) || WAITS_FOR(r, 1))
#define MAY_INSERT(r)   (HAS_CALLED(r, 0) && HAS_CALLED(r, 1))
#endif

/* Steps that nobody can see are taken at once. */
inline settle(d)
{
    do
    :: me == HOME(d) && called[d] == ins[me] && called[d] < PLACES && call[AT(d, called[d])] == 0 -> called[d]++
    :: else ->
       if
       :: me == HOME(d) && answered[d] < called[d] && answered[d] == NEXT(d) && call[AT(d, answered[d])] == 0 -> answered[d]++
       :: else ->
          if
          :: FREE(d) && !part[PART(me, d, NEXT(d))] -> done[ON(me, d)]++
          :: else -> break
          fi
       fi
    od
}

inline ask_how_far(d)
{
    if
    :: WAITS_FOR(me, d) && !watch[ON(me, d)] -> watch[ON(me, d)] = gate[me] + 1
    :: else
    fi
}

/* As far as it goes; what then waits has asked. */
inline empty_backlog()
{
    do
    :: gate[me] < ins[me] && !WAITS(me) -> gate[me]++
    :: else -> break
    od;
    if
    :: gate[me] < ins[me] ->
       ask_how_far(0);
#if DATA == 2
       ask_how_far(1)
#endif
    :: else
    fi;
    SETTLE
}

/* ---- a datum's queue: its steps ---- */

inline next(d)
{
    came[ON(me, d)] = false;
    done[ON(me, d)]++;
#ifdef BACK_TOO_LATE
    if
    :: me == HOME(d) && late[d] -> back[AT(d, late[d] - 1)] = value[ON(me, d)]; late[d] = 0
    :: else
    fi;
#endif
    settle(d)
}

/* The value is another from here on. */
inline forget(d)
{
#ifndef SERVED_FOR_EVER
    served[ON(me, d)] = false;
#endif
#ifndef GOT_FOR_EVER
    got[d] = got[d] && me != HOME(d);
#endif
    skip
}

/* The task's part in d. */
inline end_task(d)
{
    assert(!READS(USED(d)) || value[ON(me, d)] == found[AT(d, NEXT(d))]);
    if
    :: WRITES(USED(d)) -> value[ON(me, d)] = 10 + NEXT(d); forget(d)
    :: else
    fi;
    next(d)
}

/* Here runs no task: sends, drops, or nothing. */
inline pass(d)
{
    if
    :: SENDS(d) ->
       assert(value[ON(me, d)] != NONE);
       moved[AT(d, NEXT(d))] = value[ON(me, d)]
    :: else
    fi;
    if
    :: WRITES(USED(d)) -> value[ON(me, d)] = NONE; forget(d)
    :: else
    fi;
    next(d)
}

#ifdef SERVE_EARLY
#define MAY_SERVE(d, p) (value[ON(me, d)] != NONE)
#else
#define MAY_SERVE(d, p) (NEXT(d) >= (p) && gate[me] >= (p))
#endif
#define SERVE(d, p) \
    :: atomic { \
           HAS(asked[ON(me, d)], p) && !(asked[ON(me, d)] & ((1 << (p)) - 1)) && !borrowed[ON(me, d)] && MAY_SERVE(d, p) -> \
           serve(d, p) \
       }
inline serve(d, p)
{
    if
    :: me == holder[AT(d, p)] ->
       assert(value[ON(me, d)] != NONE);
       fetched[AT(d, p)] = value[ON(me, d)];
       served[ON(me, d)] = true
    :: else
    fi;
    if
    :: call[AT(d, p)] >= MODIFY -> borrowed[ON(me, d)] = p + 1
    :: else
    fi;
    asked[ON(me, d)] = asked[ON(me, d)] & ~(1 << (p));
    SETTLE
}

/* Home says how far it is. */
#define TELL(d, r) \
    :: atomic { \
           me == HOME(d) && r != me && watch[ON(r, d)] && PAST(ins[me], watch[ON(r, d)] - 1) -> \
           control[ON(r, d)] ! REACHED(ins[me]); \
           watch[ON(r, d)] = 0 \
       }

#ifdef SERVED_WHEN_HEARD
#define HEARD(d) served[ON(me, d)] = true
#else
#define HEARD(d) skip
#endif

/* All that rank me does with datum d. */
#define QUEUE(d) \
    :: atomic { me == HOME(d) && called[d] == ins[me] && called[d] < PLACES -> begin_call(d) } \
    :: atomic { me == HOME(d) && CALL_CAN_END(d) -> end_call(d) } \
    :: atomic { \
           control[ON(me, d)] ? what, p -> \
           if \
           :: what == REACHED -> known[ON(me, d)] = p; empty_backlog() \
           :: else -> asked[ON(me, d)] = asked[ON(me, d)] | (1 << p); HEARD(d) \
           fi; \
           p = 0; \
           what = 0 \
       } \
    :: atomic { \
           borrowed[ON(me, d)] && back[AT(d, borrowed[ON(me, d)] - 1)] != NONE -> \
           value[ON(me, d)] = back[AT(d, borrowed[ON(me, d)] - 1)]; \
           borrowed[ON(me, d)] = 0; \
           SETTLE \
       } \
    :: atomic { \
           FREE(d) && MOVES(d) && TARGET(d) == me && !came[ON(me, d)] && moved[AT(d, NEXT(d))] != NONE -> \
           value[ON(me, d)] = moved[AT(d, NEXT(d))]; \
           came[ON(me, d)] = true \
       } \
    :: atomic { FREE(d) && !RUNS(d) && (TARGET(d) != me || HERE(d)) -> pass(d) } \
    TELL(d, 0) TELL(d, 1) TELL(d, 2) SERVE(d, 0) SERVE(d, 1) SERVE(d, 2) SERVE(d, 3) SERVE(d, 4)

#if DATA == 1
#define RUN   :: atomic { FREE(0) && RUNS(0) && TASK_CAN_RUN(0) -> end_task(0) }
#define ENDED (answered[0] == PLACES && ALL_DONE(0))
#else
#define RUN   :: atomic { FREE(0) && RUNS(0) && TASK_CAN_RUN(0) -> end_task(0); end_task(1) }
#define ENDED (answered[0] == PLACES && ALL_DONE(0) && answered[1] == PLACES && ALL_DONE(1))
#endif
#define ALL_DONE(d) (done[ON(0, d)] == LENGTH && done[ON(1, d)] == LENGTH && done[ON(2, d)] == LENGTH)

/* Those without a part, too: when they are inserted makes no difference. */
#if DATA == 1
#define IDLE (me != 0 && !part[PART(me, 0, ins[me])])
#else
#define IDLE (me == 2 && !part[PART(me, 0, ins[me])] && !part[PART(me, 1, ins[me])])
#endif
inline insert()
{
    ins[me]++;
    do
    :: ins[me] < LENGTH && IDLE -> ins[me]++
    :: else -> break
    od;
    empty_backlog()
}

proctype rank(byte me)
{
    byte p, k;
    mtype what;
    atomic { SETTLE }
    do
    :: atomic { ins[me] < LENGTH && MAY_INSERT(me) -> insert() }
    RUN
    QUEUE(0)
#if DATA == 2
    QUEUE(1)
#endif
    :: ENDED -> break
    od
}

init {
    byte q, r, v, h, s, x, m;
    atomic {
        for (q : 0 .. LENGTH - 1) { choose_access(q) }
        for (q : 0 .. LENGTH) {
            choose_call(0, q);
#if DATA == 2
            choose_call(1, q)
#endif
        }
        start(0);
#if DATA == 2
        start(1);
#endif
        run rank(0);
        run rank(1);
        run rank(2)
    }
}
