/* SPDX-License-Identifier: BSD-3-Clause */
/* deps.pml: a model of core/task/deps.c for spin: lists that close, and edges known to both sides. Run by
 * scripts/check-models.
 *
 * Each step is one atomic access of the C code, or a section under an edge's lock (which has no other lock inside); they have
 * the same names there. Spin interleaves them sequentially consistently; the code's acquire and release suffice for that:
 * everything here is a read-modify-write of one word, published by one, or under the lock.
 *
 * Declarers hang edges on the same prerequisites while these complete: task 0 waits for all of them (declare), task 1 for the
 * first. An edge's number is its task and its prerequisite; NIL ends a list. With -DROUNDS the prerequisite and the tasks are
 * submitted again (kept edges, orr_edges_next_round, commit), at any speed; then each task is destroyed, at any time seen from
 * the prerequisite, which runs once more and is destroyed, too.
 *
 * Property: each edge is served at most once a round, each round of a task becomes ready exactly once and not before its
 * prerequisites have completed as often, no task is touched after it went, no edge after it was freed, each edge is freed
 * once, and nothing waits for ever.
 *
 * MUTANTS: -DPUSH_WITHOUT_CAS -DCLOSE_IN_TWO_STEPS -DCOUNT_AFTER_HANGING -DFREE_BY_LIST -DNO_LOCK,-DROUNDS -DNO_BALANCE,-DROUNDS
 * SIZES: -DTASKS=2 -DROUNDS
 */
#ifndef TASKS
#define TASKS 1
#endif
#define NIL 255
#define CLOSED 254
#ifdef ROUNDS
#define LAST_ROUND 3 /* of the prerequisite */
#define PREREQUISITES 1
#else
#define PREREQUISITES 2
#define LAST_ROUND 1
#endif
#define edge(g, p) ((g) * PREREQUISITES + (p))
#define EDGES (TASKS * PREREQUISITES)

/* orr_task.successors of the prerequisites, orr_edge */
byte successors[PREREQUISITES] = NIL;
byte next[EDGES] = NIL;
short balance[EDGES];
bool waiter[EDGES], listed[EDGES], owned[EDGES];
byte freed[EDGES];
/* orr_task of those that wait */
short pending[TASKS];
bool gone[TASKS];

byte closed[PREREQUISITES];    /* rounds whose list was closed */
byte completed[PREREQUISITES]; /* rounds of each prerequisite */
bool hung[EDGES];              /* the edge is on the list ... */
byte since[EDGES];             /* ... since that round of the prerequisite */
byte served[EDGES];
byte rounds[TASKS];            /* how often the task became ready */
bool resubmit[TASKS];

inline free_edge(e) { freed[e]++; assert(freed[e] == 1) }

/* orr_task_now_ready: a task that is kept starts its next round at once */
inline now_ready(g)
{
    rounds[g]++;
    assert(!hung[edge(g, 0)] || completed[0] >= rounds[g] + since[edge(g, 0)]);
#ifndef ROUNDS
    assert(rounds[g] == 1);
    assert(g > 0 || !hung[edge(g, PREREQUISITES - 1)] || completed[PREREQUISITES - 1] >= rounds[g]);
#else
    if
    :: owned[edge(g, 0)] ->
       pending[g] = pending[g] + 2;
       atomic { /* orr_edges_next_round */
           assert(!freed[edge(g, 0)]);
           if
           :: listed[edge(g, 0)] ->
              balance[edge(g, 0)]--;
              had = (balance[edge(g, 0)] >= 0)
           :: else -> had = true; owned[edge(g, 0)] = false; free_edge(edge(g, 0))
           fi
       };
       if
       :: had -> pending[g]-- /* not to 0: the submission still counts */
       :: else
       fi
    :: else -> pending[g]++
    fi;
    resubmit[g] = true
#endif
}

/* orr_edge_fire_task, and release: with drop the list's side lets go of the edge, too */
inline serve(e, g, drop)
{
#ifdef NO_LOCK
    ready = waiter[e];
    if
    :: ready ->
       atomic {
           balance[e]++;
           ready = (balance[e] == 0)
       };
       if
       :: ready -> atomic { assert(!gone[g]); pending[g]--; ready = (pending[g] == 0) }
       :: else
       fi
    :: else
    fi;
    if
    :: drop -> atomic { listed[e] = false; if :: !owned[e] -> free_edge(e) :: else fi }
    :: else
    fi;
#else
    atomic {
        assert(!freed[e]);
        ready = false;
        if
        :: drop -> ready = (waiter[e] && balance[e] < 0); balance[e] = 0; listed[e] = false
#ifdef NO_BALANCE
        :: !drop && waiter[e] -> balance[e]++; ready = true
#else
        :: !drop && waiter[e] -> balance[e]++; ready = (balance[e] == 0)
#endif
        :: else
        fi;
        if
        :: ready -> assert(!gone[g]); pending[g]--; ready = (pending[g] == 0)
        :: else
        fi;
        if
#ifdef FREE_BY_LIST
        :: drop -> free_edge(e)
#else
        :: drop && !owned[e] -> free_edge(e)
#endif
        :: else
        fi
    };
#endif
    if
    :: ready -> now_ready(g)
    :: else
    fi
}

/* orr_edge_disown */
inline disown(e)
{
    atomic {
        assert(!freed[e]);
        waiter[e] = false;
        owned[e] = false;
        if
        :: !listed[e] -> free_edge(e)
        :: else
        fi
    }
}

/* orr_edge_hang */
inline hang(p, e, seen, success)
{
    success = false;
    listed[e] = true;
    seen = successors[p];
    do
    :: seen == CLOSED -> listed[e] = false; break
    :: else ->
       next[e] = seen;
       atomic {
           if
#ifdef PUSH_WITHOUT_CAS
           :: true -> successors[p] = e; since[e] = closed[p]; hung[e] = true; success = true
#else
           :: successors[p] == seen -> successors[p] = e; since[e] = closed[p]; hung[e] = true; success = true
           :: else -> seen = successors[p]
#endif
           fi
       };
       if
       :: success -> break
       :: else
       fi
    od
}

/* declare; then commit; then, when all rounds are over, orr_task_free */
proctype declarer(byte g; byte ndeps)
{
    byte p, seen, target = 1;
    bool success, ready, had;
    pending[g] = 1; /* the submission */
    for (p : 0 .. ndeps - 1) {
        atomic { balance[edge(g, p)] = -1; waiter[edge(g, p)] = true; owned[edge(g, p)] = true };
#ifndef COUNT_AFTER_HANGING
        pending[g]++;
#endif
        hang(p, edge(g, p), seen, success);
        if
#ifdef COUNT_AFTER_HANGING
        :: success -> pending[g]++
        :: else -> disown(edge(g, p))
#else
        :: success
        :: else -> pending[g]--; disown(edge(g, p))
#endif
        fi
    }
#ifdef ROUNDS
    /* as often as the prerequisite, but for its last time */
    if
    :: hung[edge(g, 0)] && LAST_ROUND - 1 > since[edge(g, 0)] -> target = LAST_ROUND - 1 - since[edge(g, 0)]
    :: else
    fi;
#endif
    for (p : 1 .. target) {
        atomic { pending[g]--; ready = (pending[g] == 0) }; /* commit */
        if
        :: ready -> now_ready(g)
        :: else
        fi;
#ifdef ROUNDS
        resubmit[g]; /* it has ended */
        resubmit[g] = false
#else
        rounds[g] == 1
#endif
    }
    assert(rounds[g] == target);
    for (p : 0 .. ndeps - 1) {
        if
        :: owned[edge(g, p)] -> disown(edge(g, p))
        :: else
        fi
    }
    gone[g] = true
}

/* orr_edges_take and orr_edges_serve, and commit of the next round; then orr_task_free */
proctype prerequisite(byte p)
{
    byte e, after, reverse, kept, round;
    bool ready, had, alive;
    for (round : 1 .. LAST_ROUND) {
        completed[p]++;
#ifdef CLOSE_IN_TWO_STEPS
        e = successors[p];
        successors[p] = CLOSED;
        closed[p]++;
#else
        d_step { e = successors[p]; successors[p] = CLOSED; closed[p]++ };
#endif
        reverse = NIL;
        do /* reversed */
        :: e != NIL -> d_step { after = next[e]; next[e] = reverse; reverse = e; e = after }
        :: else -> break
        od;
        e = reverse;
        kept = NIL;
        do
        :: e != NIL ->
           after = next[e];
           served[e]++;
           assert(served[e] <= round);
#ifdef ROUNDS
           serve(e, e / PREREQUISITES, false);
           alive = waiter[e];
           if
           :: alive -> next[e] = kept; kept = e
           :: else -> atomic { listed[e] = false; if :: !owned[e] -> free_edge(e) :: else fi } /* unlist */
           fi;
#else
           serve(e, e / PREREQUISITES, true);
#endif
           e = after
        :: else -> break
        od;
#ifdef ROUNDS
        if
        :: round < LAST_ROUND -> successors[p] = kept /* commit: kept_edges */
        :: else
        fi
#endif
    }
#ifdef ROUNDS
    e = kept; /* orr_edges_drop */
    do
    :: e != NIL -> after = next[e]; serve(e, e / PREREQUISITES, true); e = after
    :: else -> break
    od
#endif
}

init
{
    byte i;
    atomic {
        for (i : 0 .. PREREQUISITES - 1) { run prerequisite(i) }
        run declarer(0, PREREQUISITES);
#if TASKS > 1
        run declarer(1, 1)
#endif
    };
    (_nr_pr == 1);
    for (i : 0 .. PREREQUISITES - 1) { assert(freed[edge(0, i)] == 1) }
#if TASKS > 1
    assert(freed[edge(1, 0)] == 1)
#endif
}
