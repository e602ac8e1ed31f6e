/* SPDX-License-Identifier: BSD-3-Clause */
/* bell.pml: a model of core/worker/bell.c for spin, with what uses it: a rank that sends (mpi/wire/engine.c), threads that
 * listen and threads that only come by (mpi/wire/progress.c), and workers that others of their process call (park.c). Run by
 * scripts/check-models.
 *
 * Each step is one atomic access of the C code, or a full fence between two. Messages are counted: `sent` by the other
 * process, `taken` by whoever polls, one by one. One thread polls at a time; one that finds the lock taken goes on, and so may
 * sleep on the word of the other: `again` has that one look once more, until nothing is left.
 *
 * A listener that found something may turn to a long computation, which ends only when all messages were taken: so a message
 * that waits beside a sleeping thread is a deadlock, and spin reports it. The last listener never computes: somebody is idle.
 * A ring wakes any one of those that sleep, more than the kernel does.
 *
 * With ATTENDANT all messages want an answer, and all listeners may compute: then the attendant (attend, progress.c) is
 * to take them. That it wakes up by itself after a while is left out.
 *
 * MUTANTS: -DNO_LAST_LOOK -DNO_GIVE_BACK -DNO_AGAIN,-DPASSERS=1 -DAGAIN_UNLOCKED,-DPASSERS=1,-DMESSAGES=2 -DLOOK_TAKES_ONE -DSEEN_LATE -DGIVE_BACK_FIRST -DCALLER,-DCALL_WORD_LAST -DLOOK_BEFORE_WISH -DATTENDANT,-DRING_ONE_KIND -DATTENDANT,-DATTEND_LATE -DDOZING,-DSEEN_AFTER_LOOKERS
 * SIZES: -DPASSERS=1,-DMESSAGES=2 -DMESSAGES=3 -DSENDERS=2,-DMESSAGES=2 -DCALLER,-DMESSAGES=2 -DATTENDANT -DATTENDANT,-DDOZING -DDOZING,-DMESSAGES=2
 */
#ifdef ATTENDANT /* one listener, which may lose its wish by a thread that comes by */
#define LISTENERS 1
#define PASSERS 1
#define MESSAGES 2
#endif
#ifndef LISTENERS
#define LISTENERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 3 /* of all senders */
#endif
#ifndef SENDERS
#define SENDERS 1
#endif
#ifndef PASSERS
#define PASSERS 0
#endif
#ifdef ATTENDANT
#define MAY_COMPUTE LISTENERS
#define WOKE ; woke = true
#else
#define MAY_COMPUTE (LISTENERS - 1)
#define WOKE
#endif

/* struct orr_bell */
bool wanted;
byte rings;
bool asleep[LISTENERS]; /* in the futex */
bool attended;
bool dozing; /* a listener watches rings */

/* of the process that listens */
byte listening;
bool at_bell, futex_word; /* of listener 0, a worker: another thread calls it */
bool answered;            /* it took note of that */
bool lock, again;         /* struct orr_engine */
byte searching;           /* orr_parking: workers that look; and orr_bell_lookers */

byte sent, taken, computing;

#if LISTENERS > 2
#define ANYBODY_SLEEPS (asleep[0] || asleep[1] || asleep[2])
#elif LISTENERS > 1
#define ANYBODY_SLEEPS (asleep[0] || asleep[1])
#else
#define ANYBODY_SLEEPS asleep[0]
#endif
#define ALL_TAKEN (taken == MESSAGES)

/* orr_engine_poll: whoever holds the lock takes one, and all that are there if somebody looks. */
inline poll(moved)
{
    moved = false;
    do
    :: atomic { lock -> asked = false; break }
    :: atomic { !lock -> lock = true };
#ifndef AGAIN_UNLOCKED
       atomic { asked = asked || again; again = false };
#endif
       atomic {
          if
          :: taken != sent -> moved = true; taken++
          :: else -> asked = false
          fi;
#ifdef LOOK_TAKES_ONE
          asked = false;
#endif
       };
       lock = false;
       if
#ifdef AGAIN_UNLOCKED
       :: atomic { again -> again = false; asked = true }
#else
       :: again
#endif
       :: atomic { !again && asked }
       :: atomic { !again && !asked -> break }
       fi
    od
}

/* orr_engine_look */
inline look(moved)
{
#ifndef NO_AGAIN
    again = true;
#endif
    poll(moved)
}

/* orr_bell_give_back */
inline give_back(moved)
{
#ifndef NO_GIVE_BACK
    if
    :: listening > 0 ->
       if
       :: searching > 0 /* of orr_bell_lookers: it says it when it stops */
       :: true ->
          if
          :: !wanted -> wanted = true; look(moved)
          :: else
          fi
       fi
    :: else
    fi
#else
    skip
#endif
}

active [SENDERS] proctype sender()
{
    byte i;
    bool mine;
#ifdef ATTENDANT
    bool woke;
#endif
    for (i : 1 .. (MESSAGES / SENDERS)) {
        sent++; /* the message; a full fence; then orr_bell_ring */
        if
        :: wanted ->
#ifdef RING_ONE_KIND
           woke = true;
#endif
           atomic { mine = wanted; wanted = false };
           if
           :: mine ->
              rings++;
#ifdef DOZING
              if
              :: atomic { dozing -> skip WOKE }; goto rung /* that one sees it */
              :: else
              fi;
#endif
              if /* FUTEX_WAKE of one */
              :: atomic { asleep[0] -> asleep[0] = false WOKE }
#if LISTENERS > 1
              :: atomic { asleep[1] -> asleep[1] = false WOKE }
#endif
#if LISTENERS > 2
              :: atomic { asleep[2] -> asleep[2] = false WOKE }
#endif
              :: !ANYBODY_SLEEPS
              fi;
rung:         skip
           :: else
           fi
        :: else
        fi;
#ifdef ATTENDANT
        if
        :: !woke && attended -> attended = false
        :: else
        fi;
        woke = false
#endif
    }
}

active [LISTENERS] proctype listener()
{
    bool moved, asked;
    byte seen, me = _pid - SENDERS;
    searching++;
    do
    :: poll(moved);
       if
       :: me == 0 && futex_word -> answered = true; at_bell = false
       :: else
       fi;
       if
       :: moved ->
          moved = false;
          if
          :: skip
          :: atomic { computing < MAY_COMPUTE -> computing++ };
#ifndef GIVE_BACK_FIRST
             searching--;
#endif
             give_back(moved);
#ifdef GIVE_BACK_FIRST
             searching--;
#endif
             ALL_TAKEN; /* computes */
             computing--;
             searching++
          fi
       :: else ->
          searching--;
          /* orr_bell_enter */
          listening++;
#if !defined(SEEN_LATE) && !defined(SEEN_AFTER_LOOKERS)
          seen = rings;
#endif
#ifdef LOOK_BEFORE_WISH
          look(moved);
#endif
          if
          :: searching == 0 ->
             if
             :: !wanted -> wanted = true
             :: else
             fi;
#ifdef SEEN_LATE
             seen = rings; /* another may have taken both the wish and the message meanwhile */
#endif
#if !defined(NO_LAST_LOOK) && !defined(LOOK_BEFORE_WISH)
             look(moved)
#endif
          :: else
#ifdef SEEN_AFTER_LOOKERS
             seen = rings /* who looked may have stopped meanwhile, and a ring come for it */
#endif
          fi;
          if
          :: moved
          :: else ->
             if /* sleep_in, park.c */
             :: me == 0 -> at_bell = true
             :: else
             fi;
#ifdef DOZING /* one watches rings for as long as it likes, before it sleeps (doze.c) */
             if
             :: atomic { !dozing -> dozing = true };
                if
                :: rings != seen
                :: true
                fi;
                dozing = false
             :: true
             fi;
#endif
             if
             :: me == 0 && futex_word
             :: else ->
                if
                :: atomic { rings == seen -> asleep[me] = true };
end_asleep:        !asleep[me]
                :: else
                fi
             fi;
             if
             :: me == 0 -> at_bell = false
             :: else
             fi
          fi;
          searching++;
          atomic { listening--; seen = 0; moved = false };
          if
          :: listening == 0 -> wanted = false
          :: else
          fi
       fi
    od
}

/* Threads that post a message, and go on. */
#if PASSERS > 0
active [PASSERS] proctype passer()
{
    bool moved, asked;
    give_back(moved);
    poll(moved)
}
#endif

#ifdef ATTENDANT
active proctype attendant()
{
    bool moved, asked;
    do
    :: moved = false;
#ifdef ATTEND_LATE
       look(moved);
       attended = true;
#else
       attended = true;
       look(moved);
#endif
       if
       :: moved -> attended = false
       :: else ->
end_attended:
          !attended
       fi
    od
}
#endif

/* call, park.c: another thread wakes worker 0. */
#ifdef CALLER
active proctype caller()
{
#ifdef CALL_WORD_LAST
    bool there = at_bell;
    futex_word = true;
#else
    bool there;
    futex_word = true;
    there = at_bell;
#endif
    if
    :: there -> rings++; asleep[0] = false
    :: else
    fi
}
#endif

/* What must come about. */
active proctype monitor()
{
    ALL_TAKEN;
#ifdef CALLER
    answered
#endif
}
