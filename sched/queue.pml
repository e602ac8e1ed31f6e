/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.pml: a model of sched/queue.c for spin: the ring with turn numbers, and the spill list. Run by scripts/check-models.
 *
 * Each step is one atomic access of the C code, which has the same names, or an access under the spin lock. Spin interleaves
 * them sequentially consistently; in the code a cell's task is published by its turn (seq_cst store, load in ring_pop), and
 * tail and head are compare-and-swaps of one word. Heaps (priorities other than 0) are wholly under the lock: left out.
 *
 * Property: when all have ended, one more consumer empties the queue: each task was popped exactly once, none is lost, and
 * the count of spilled tasks is 0.
 *
 * MUTANTS: -DTURN_BEFORE_TASK -DCLAIM_WITHOUT_CAS -DNO_TURNS -DUNLOCKED_SPILL -DFULL_IS_LOST
 * SIZES: -DPRODUCERS=2,-DEACH=2,-DTRIES=2 -DPRODUCERS=1,-DEACH=4,-DTRIES=3
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef EACH
#define EACH 2
#endif
#ifndef TRIES
#define TRIES 2
#endif
#define CELLS 2 /* ORR_QUEUE_CELLS */
#define REFILL 2
#define TASKS (PRODUCERS * EACH)
#define NIL 0

byte tail, head;
byte turn[CELLS], task[CELLS];
bool lock;
byte spilled_count;
byte spilled[TASKS], nspilled; /* the list, first at 0; under the lock */
byte popped[TASKS + 1];

inline ring_push(t, pos, seen, done)
{
    pos = tail;
    done = false;
    do
    :: seen = turn[pos % CELLS];
       if
#ifdef NO_TURNS
       :: true ->
#else
       :: seen == pos ->
#endif
          atomic {
              if
#ifdef CLAIM_WITHOUT_CAS
              :: true -> tail = pos + 1; done = true
#else
              :: tail == pos -> tail = pos + 1; done = true
              :: else -> pos = tail
#endif
              fi
          };
          if
          :: done ->
#ifdef TURN_BEFORE_TASK
             turn[pos % CELLS] = pos + 1;
             task[pos % CELLS] = t;
#else
             task[pos % CELLS] = t;
             turn[pos % CELLS] = pos + 1;
#endif
             break
          :: else
          fi
#ifndef NO_TURNS
       :: seen < pos -> break /* full */
       :: seen > pos -> pos = tail
#endif
       fi
    od
}

inline ring_pop(t, pos, seen, mine)
{
    pos = head;
    t = NIL;
    mine = false;
    do
    :: seen = turn[pos % CELLS];
       if
       :: seen == pos + 1 ->
          atomic {
              if
              :: head == pos -> head = pos + 1; mine = true
              :: else -> pos = head
              fi
          };
          if
          :: mine ->
             t = task[pos % CELLS];
             turn[pos % CELLS] = pos + CELLS;
             break
          :: else
          fi
       :: seen < pos + 1 -> break
       :: seen > pos + 1 -> pos = head
       fi
    od
}

inline acquire_lock() { atomic { !lock -> lock = true } }

/* orr_queue_push */
inline orr_queue_push(t, pos, seen, done)
{
    done = false;
    if
    :: spilled_count == 0 -> ring_push(t, pos, seen, done)
    :: else
    fi;
    if
    :: done
    :: else ->
#ifndef FULL_IS_LOST
       acquire_lock();
       atomic { spilled[nspilled] = t; nspilled++ }; /* spill_locked */
       spilled_count++;
       lock = false
#endif
    fi
}

inline take_first(t, i)
{
    atomic {
        t = spilled[0];
        nspilled--;
        i = 0;
        do
        :: i < nspilled -> spilled[i] = spilled[i + 1]; i++
        :: else -> break
        od;
        spilled[nspilled] = NIL;
        i = 0
    }
}

/* pop_spilled */
inline pop_spilled(t, next, moved, i, pos, seen, done)
{
#ifndef UNLOCKED_SPILL
    acquire_lock();
#endif
    if
    :: nspilled > 0 ->
#ifdef UNLOCKED_SPILL
       t = spilled[0];
       take_first(next, i);
#else
       take_first(t, i);
#endif
       moved = 1;
       do
       :: moved < REFILL && nspilled > 0 ->
          next = spilled[0];
          ring_push(next, pos, seen, done);
          if
          :: done -> take_first(next, i); moved++
          :: else -> break
          fi
       :: else -> break
       od;
       spilled_count = spilled_count - moved;
       moved = 0;
       next = NIL
    :: else
    fi;
#ifndef UNLOCKED_SPILL
    lock = false
#else
    skip
#endif
}

/* orr_queue_pop */
inline orr_queue_pop(t, next, moved, i, pos, seen, done)
{
    ring_pop(t, pos, seen, done);
    if
    :: t == NIL && spilled_count > 0 -> pop_spilled(t, next, moved, i, pos, seen, done)
    :: else
    fi;
    if
    :: t != NIL -> popped[t]++; assert(popped[t] == 1)
    :: else
    fi
}

proctype producer(byte first)
{
    byte k, pos, seen;
    bool done;
    for (k : first .. first + EACH - 1) {
        orr_queue_push(k, pos, seen, done);
        pos = 0;
        seen = 0
    }
}

proctype consumer()
{
    byte k, t, next, moved, i, pos, seen;
    bool done;
    for (k : 1 .. TRIES) {
        orr_queue_pop(t, next, moved, i, pos, seen, done);
        d_step { t = NIL; pos = 0; seen = 0; done = false }
    }
}

init
{
    byte k, t, next, moved, i, pos, seen;
    bool done;
    atomic {
        for (k : 0 .. CELLS - 1) { turn[k] = k }
        for (k : 0 .. PRODUCERS - 1) { run producer(1 + k * EACH) }
        run consumer();
        run consumer()
    };
    (_nr_pr == 1);
    do
    :: orr_queue_pop(t, next, moved, i, pos, seen, done);
       if
       :: t == NIL -> break
       :: else
       fi
    od;
    for (k : 1 .. TASKS) { assert(popped[k] == 1) }
    assert(spilled_count == 0)
}
