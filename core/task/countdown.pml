/* SPDX-License-Identifier: BSD-3-Clause */
/* countdown.pml: a model for spin of a task's countdown to ready: join_accesses, commit, orr_task_unblock, orr_task_reclaim
 * (core/task/submit.c), and the queue of a handle with exempt accesses (core/data/access.c). Run by scripts/check-models.
 *
 * Each step is one atomic access of the C code, which has the same names, or a section under a handle's lock (its own
 * accesses to `pending` are steps). Spin interleaves them sequentially consistently; the code needs no more than acquire and
 * release there: `pending` is one word, queues are under locks.
 *
 * Tasks 0 and 1 write both handles and are submitted by two threads; task 2 (with -DTHIRD) writes the second handle; the
 * last is exempt from the order, and joins the first handle when it is ready (late_phase). All are writers.
 *
 * Property: a handle never has two users, each task becomes ready and runs exactly once, and nobody waits for ever.
 *
 * MUTANTS: -DNO_GUARD -DONE_LOCK_AT_A_TIME -DRECLAIM_WITHOUT_CAS -DRECLAIM_FOR_NOTHING -DREADY_AFTER_UNLOCK
 * SIZES: -DPAIR -DTHIRD
 */
#ifdef THIRD
#define TASKS 4
#else
#define TASKS 3
#endif
#define EXEMPT (TASKS - 1)
#define HANDLES 2
#define NONE 255

bool lock[HANDLES];
byte holder[HANDLES] = NONE;             /* orr_access_queue: group WRITE, active 1, or free */
chan waiting[HANDLES] = [TASKS] of { byte }; /* head ... tail, exempt ones in front */
chan reinsert = [TASKS] of { byte };
short pending[TASKS];
bool submitted[TASKS];
byte ran[TASKS], readied[TASKS];
byte users[HANDLES];
chan ready = [TASKS] of { byte };

inline acquire_lock(h) { atomic { !lock[h] -> lock[h] = true } }

/* whether task t accesses handle h */
#define uses(t, h) ((t) == EXEMPT && (h) == 0 || (t) < 2 || (t) == 2 && (t) != EXEMPT && (h) == 1)

inline push_front(h, t)
{
    atomic {
        do
        :: len(waiting[h]) > 0 -> waiting[h]?other; reinsert!other
        :: else -> break
        od;
        waiting[h]!t;
        do
        :: len(reinsert) > 0 -> reinsert?other; waiting[h]!other
        :: else -> break
        od;
        other = 0
    }
}

inline now_ready(t)
{
    atomic { readied[t]++; assert(readied[t] == 1); ready!t }
}

inline orr_task_unblock(t, was)
{
    atomic { was = pending[t]; pending[t]-- };
    if
    :: was == 1 -> now_ready(t)
    :: else
    fi
}

/* orr_access_join_locked */
inline join_locked(h, t, granted)
{
    atomic {
        if
        :: holder[h] == NONE -> holder[h] = t; granted++
        :: else -> waiting[h]!t
        fi
    }
}

/* commit and join_accesses */
proctype submitter(byte t)
{
    byte h, granted, early;
    short was;
    early = uses(t, 0) + uses(t, 1);
    submitted[t] = true;
#ifdef NO_GUARD
    pending[t] = early;
#else
    pending[t] = 1 + early;
#endif
#ifdef ONE_LOCK_AT_A_TIME
    for (h : 0 .. HANDLES - 1) {
        if
        :: uses(t, h) -> acquire_lock(h); join_locked(h, t, granted); lock[h] = false
        :: else
        fi
    }
#else
    for (h : 0 .. HANDLES - 1) {
        if
        :: uses(t, h) -> acquire_lock(h)
        :: else
        fi
    }
    for (h : 0 .. HANDLES - 1) {
        if
        :: uses(t, h) -> join_locked(h, t, granted)
        :: else
        fi
    }
#ifndef READY_AFTER_UNLOCK
    if
    :: granted == early -> pending[t] = 0
    :: else
    fi;
#endif
    for (h : 0 .. HANDLES - 1) {
        if
        :: uses(t, h) -> lock[h] = false
        :: else
        fi
    }
#endif
    if
    :: granted == early ->
#if defined(READY_AFTER_UNLOCK) || defined(ONE_LOCK_AT_A_TIME)
       pending[t] = 0;
#endif
       now_ready(t)
    :: else ->
#ifdef NO_GUARD
       atomic { was = pending[t]; pending[t] = pending[t] - granted };
       if
       :: was == granted -> now_ready(t)
       :: else
       fi
#else
       atomic { was = pending[t]; pending[t] = pending[t] - granted - 1 };
       if
       :: was == granted + 1 -> now_ready(t)
       :: else
       fi
#endif
    fi
}

/* orr_task_reclaim, with the lock held */
inline orr_task_reclaim(t, seen, given)
{
    given = false;
    if
    :: t == EXEMPT
    :: else ->
       seen = pending[t];
       do
       :: given || seen <= 0 -> break
       :: else ->
#ifdef RECLAIM_WITHOUT_CAS
          pending[t]++;
          given = true
#else
          atomic {
              if
              :: pending[t] == seen ->
#ifndef RECLAIM_FOR_NOTHING
                 pending[t]++;
#endif
                 given = true
              :: else -> seen = pending[t]
              fi
          }
#endif
       od
    fi
}

/* orr_data_join_exempt: the exempt task asks for handle 0 when it is ready */
inline join_exempt(granted, seen, given)
{
    acquire_lock(0);
    if
    :: holder[0] == NONE -> holder[0] = EXEMPT; granted = true
    :: else ->
       orr_task_reclaim(holder[0], seen, given);
       if
       :: given -> push_front(0, holder[0]); holder[0] = EXEMPT; granted = true
       :: else -> push_front(0, EXEMPT); granted = false
       fi
    fi;
    lock[0] = false
}

/* access_granted: a late access goes on, others count down */
inline access_granted(t, was)
{
    if
    :: t == EXEMPT -> ready!t
    :: else -> orr_task_unblock(t, was)
    fi
}

/* orr_ready_dispatch, the body, release_accesses */
proctype worker()
{
    byte t, h, next, other;
    short was, seen;
    bool granted, given;
end:
    do
    :: ready?t ->
       granted = true;
       if
       :: t == EXEMPT && holder[0] != EXEMPT -> join_exempt(granted, seen, given)
       :: else
       fi;
       if
       :: !granted
       :: else ->
          atomic {
              ran[t]++;
              assert(ran[t] == 1);
              for (h : 0 .. HANDLES - 1) {
                  if
                  :: uses(t, h) -> assert(holder[h] == t); users[h]++; assert(users[h] == 1)
                  :: else
                  fi
              }
          };
          for (h : 0 .. HANDLES - 1) {
              if
              :: uses(t, h) ->
                 acquire_lock(h);
                 atomic {
                     users[h]--;
                     if
                     :: len(waiting[h]) > 0 -> waiting[h]?next; holder[h] = next
                     :: else -> holder[h] = NONE; next = NONE
                     fi
                 };
                 lock[h] = false;
                 if
                 :: next != NONE -> access_granted(next, was)
                 :: else
                 fi
              :: else
              fi
          }
       fi;
       atomic { was = 0; seen = 0; given = false; granted = false; next = 0; h = 0; t = 0 }
    od
}

init
{
    byte i;
    atomic {
        run submitter(0);
        run submitter(1);
#ifdef THIRD
        run submitter(2);
#endif
        readied[EXEMPT] = 1; /* nothing early: ready at once */
        ready!EXEMPT;
        run worker();
        run worker()
    };
    ran[0] == 1 && ran[1] == 1 && ran[EXEMPT] == 1;
#ifdef THIRD
    ran[2] == 1;
#endif
    timeout;
    for (i : 0 .. HANDLES - 1) { assert(holder[i] == NONE && users[i] == 0) }
}
