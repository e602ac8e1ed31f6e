/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.pml: a model of sched/watchman.c, of sched/components/guard.c, which stands on it, and of watching in
 * core/worker/park.c for spin: who looks after tasks that were given to a worker which does not get to them. Run by scripts/check-models.
 *
 * Each step is one atomic access of the C code, which has the same names; all of them are seq_cst there. The worker that the
 * tasks are given to is stuck for good, and is not modelled. The others sleep, are woken for something else at any time, and
 * sleep again, or are away for good as well, but for one. A look of the guard may find the stuck worker slow or not yet; a sleep of a watchman may time out at any time,
 * other sleeps never do.
 *
 * Property: no execution stops before all tasks were taken.
 *
 * MUTANTS: -DNO_LOOK_BEFORE_SLEEP -DLEAVES_IN_SILENCE -DRETIRES_BLINDLY,-DTASKS=2 -DAPPOINTS_BLINDLY -DSEARCHES_ON -DLOOKS_BEFORE_ADDING -DSILENT_WITH_A_TASK,-DTASKS=2,-DTAKES_LONG,-DNO_WAKER
 * SIZES: -DPUSHERS=2,-DNO_WAKER -DWAKES=2 -DTASKS=2,-DTAKES_LONG,-DNO_WAKER
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 1 /* of each pusher */
#endif
#ifndef PUSHERS
#define PUSHERS 1
#endif
#ifndef WAKES
#define WAKES 1
#endif
#define ALL (PUSHERS * TASKS)
#define NOTIFIED 1
#define TO_BE_SENTRY 2

byte parked, guard; /* guard: 1 + its number */
bool who[WORKERS], watches[WORKERS];
byte futex[WORKERS];
byte waiting, taken;
byte away;
bool slow; /* it was seen that the worker gets to nothing */

inline claim(id, mine)
{
    atomic { mine = who[id]; who[id] = false }
}

inline wake_claimed(id)
{
    parked--;
    futex[id] = NOTIFIED
}

/* orr_watchman_appoint, watchman.c, with orr_watch_appoint, park.c: leaves by setting i to 0 */
inline appoint(i, cas)
{
    i = WORKERS;
    do
    :: i > 0 ->
       i--;
       if
       :: who[i] ->
          atomic { cas = (guard == 0); if :: cas -> guard = i + 1 :: else fi };
          if
          :: !cas -> break
          :: cas ->
             cas = false;
             watches[i] = true;
             if
#ifndef APPOINTS_BLINDLY
             :: !who[i] ->
                atomic { if :: guard == i + 1 -> guard = 0 :: else fi };
#ifndef SEARCHES_ON
                i = WORKERS
#endif
#endif
#ifdef APPOINTS_BLINDLY
             :: true ->
#else
             :: who[i] ->
#endif
                atomic { if :: futex[i] == 0 -> futex[i] = TO_BE_SENTRY :: else fi };
                break
             fi
          fi
       :: !who[i]
       fi
    :: else -> break
    od;
    atomic { i = 0; cas = false }
}

/* orr_guard_added, guard.c; orr_watchman_wanted, watchman.h */
inline added(i, cas)
{
    if
    :: parked == 0
    :: else ->
       if
       :: guard != 0
       :: else -> appoint(i, cas)
       fi
    fi
}

proctype pusher()
{
    byte n, i;
    bool cas;
    for (n : 1 .. TASKS) {
#ifdef LOOKS_BEFORE_ADDING
        added(i, cas);
        waiting++
#else
        waiting++;
        added(i, cas)
#endif
    }
}

/* look, guard.c, or orr_watchman_look, watchman.c, and watch, park.c */
inline look(w, got, guards, cas)
{
    got = false;
    guards = (guard == w + 1);
    if
    :: guards -> if :: slow = true :: true fi
    :: else
    fi;
    if
    :: slow -> atomic { if :: waiting > 0 -> waiting--; got = true :: else fi }
    :: else
    fi;
    if
#ifdef SILENT_WITH_A_TASK
    :: got
#else
    :: got -> if :: guards -> watches[w] = true :: else fi
#endif
    :: else ->
       if
       :: !guards && waiting > 0 -> atomic { guards = (guard == 0); if :: guards -> guard = w + 1 :: else fi }
       :: else
       fi;
       if
       :: guards && waiting == 0 -> /* orr_watchman_goes_on */
          if
          :: true
          :: guard = 0;
             guards = false;
#ifndef RETIRES_BLINDLY
             if
             :: waiting > 0 -> atomic { guards = (guard == 0); if :: guards -> guard = w + 1 :: else fi }
             :: else
             fi
#endif
          fi
       :: else
       fi;
       if
       :: guards -> watches[w] = true
       :: else
       fi
    fi;
    atomic { guards = false; cas = false }
}

/* end_sleep: watch_end, park.c, and orr_guard_leaves, guard.c, or orr_watchman_leaves, watchman.c */
inline end_sleep(w, cas, i)
{
    if
    :: watches[w] ->
       watches[w] = false;
       atomic { cas = (guard == w + 1); if :: cas -> guard = 0 :: else fi };
#ifndef LEAVES_IN_SILENCE
       if
       :: cas && waiting > 0 -> appoint(i, cas)
       :: else
       fi
#endif
    :: else
    fi
}

/* sleep_parked, park.c */
inline sleep_parked(w, got, guards, cas, watched, mine)
{
    mine = false;
    do
    :: mine || futex[w] == NOTIFIED -> break
    :: else ->
       atomic { if :: futex[w] == TO_BE_SENTRY -> futex[w] = 0 :: else fi };
       watched = watches[w];
       if
       :: futex[w] != 0
       :: watched && !got -> /* the time is over */
          watches[w] = false;
          look(w, got, guards, cas);
          if
          :: got -> claim(w, mine); if :: mine -> parked-- :: else fi
          :: else
          fi
       fi
    od
}

proctype worker(byte w)
{
    byte i;
    bool got, guards, cas, watched, mine;
    do
    :: taken == ALL -> break
    :: else ->
       /* park, park.c */
       futex[w] = 0;
       parked++;
       who[w] = true;
       got = false;
#ifndef NO_LOOK_BEFORE_SLEEP
       look(w, got, guards, cas);
#endif
       if
       :: got || taken == ALL ->
          claim(w, mine);
          if
          :: mine -> parked--
          :: else -> futex[w] == NOTIFIED
          fi
       :: else -> sleep_parked(w, got, guards, cas, watched, mine)
       fi;
       atomic { guards = false; watched = false; mine = false; i = 0 };
       end_sleep(w, cas, i);
       atomic { cas = false; i = 0 };
       if
       :: got ->
          taken++;
          got = false;
#ifdef TAKES_LONG
          if
          :: true
          :: atomic { away < WORKERS - 1 -> away++ } -> taken == ALL /* what it took takes long */
          fi
#endif
       :: else ->
          if
          :: true
          :: atomic { away < WORKERS - 1 -> away++ } -> taken == ALL /* what it was woken for takes long */
          fi
       fi
    od
}

/* There is something else for a worker that sleeps, now and then. */
proctype waker()
{
    byte n;
    bool mine;
    for (n : 1 .. WAKES) {
        if
        :: claim(0, mine); if :: mine -> wake_claimed(0) :: else fi
        :: claim(1, mine); if :: mine -> wake_claimed(1) :: else fi
        fi
    }
}

init
{
    byte i;
    bool mine;
    atomic {
        for (i : 0 .. WORKERS - 1) { run worker(i) }
        for (i : 1 .. PUSHERS) { run pusher() }
#ifndef NO_WAKER
        run waker()
#endif
    };
    taken == ALL;
    for (i : 0 .. WORKERS - 1) {
        claim(i, mine);
        if
        :: mine -> wake_claimed(i)
        :: else
        fi
    }
    (_nr_pr == 1);
    assert(parked == 0 && waiting == 0)
}
