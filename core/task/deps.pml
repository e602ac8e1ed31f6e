/* SPDX-License-Identifier: BSD-3-Clause */
/* deps.pml: a model of core/task/deps.c for spin: successor lists that close, and groups of prerequisites. Run by
 * scripts/check-models.
 *
 * Each step is one atomic access of the C code, which has the same names; spin interleaves them sequentially consistently.
 * The code's acquire and release suffice for that: everything here is a read-modify-write of one word, or published by one.
 *
 * Two declarers hang groups on the same prerequisites while these complete: task 0 waits for both (orr_dep_hang,
 * declare_group), task 1 for the first. An edge's number is its group and its prerequisite; NIL ends a list.
 * With -DROUNDS the prerequisite and task 0 are submitted again (kept edges, orr_dep_next_round, commit), at any speed.
 *
 * Property: each edge is notified at most once a round, each round of a task becomes ready exactly once and not before its
 * prerequisites have completed as often, no group is used after it was freed, and nothing waits for ever.
 *
 * MUTANTS: -DPUSH_WITHOUT_CAS -DCLOSE_IN_TWO_STEPS -DCOUNT_AFTER_HANGING -DNO_EDGE_REF -DLATE_REARM,-DROUNDS -DNO_BALANCE,-DROUNDS
 * SIZES: -DTASKS=2 -DROUNDS
 */
#ifndef TASKS
#define TASKS 1
#endif
#define NIL 255
#define CLOSED 254
#ifdef ROUNDS
#define LAST_ROUND 3
#define PREREQUISITES 1 /* one group a prerequisite: see declare */
#else
#define PREREQUISITES 2
#define LAST_ROUND 1
#endif
#define edge(g, p) ((g) * PREREQUISITES + (p))

/* orr_task.successors, orr_edge.next, orr_task_rare.kept_edges of the prerequisites */
byte successors[PREREQUISITES] = NIL, kept_edges[PREREQUISITES] = NIL;
byte next[TASKS * PREREQUISITES] = NIL;
/* orr_dep_group */
short remaining[TASKS], balance[TASKS], total[TASKS];
byte refs[TASKS];
/* orr_task.pending of the tasks that wait */
short pending[TASKS];

byte closed[PREREQUISITES];                 /* rounds whose list was closed */
byte completed[PREREQUISITES];              /* rounds of each prerequisite */
bool hung[TASKS * PREREQUISITES];           /* the edge is on the list ... */
byte since[TASKS];                          /* ... since that round of the prerequisite (ROUNDS) */
byte notified[TASKS * PREREQUISITES];
byte rounds[TASKS];                         /* how often the task became ready */

inline unref(g)
{
    assert(refs[g] > 0);
    refs[g]--
}

/* now_ready: a task that is submitted again starts its next round at once */
inline now_ready(g, was)
{
    rounds[g]++;
    assert(rounds[g] <= LAST_ROUND);
    assert(!hung[edge(g, 0)] || completed[0] >= rounds[g] + since[g]);
#ifndef ROUNDS
    assert(!hung[edge(g, 1)] || completed[1] >= rounds[g]);
#endif
#ifdef ROUNDS
    pending[g] = pending[g] + 1 + (total[g] > 0);
    if
    :: total[g] > 0 ->
#ifdef NO_BALANCE
       atomic { was = 0; balance[g] = -1 };
#else
       atomic { was = balance[g]; balance[g]-- }; /* orr_dep_next_round */
#endif
       if
       :: was >= 1 -> pending[g]-- /* not the last: the submission still counts */
       :: else
       fi
    :: else
    fi;
    resubmit[g] = true
#endif
}

inline orr_task_unblock(g, was)
{
    atomic { was = pending[g]; pending[g]-- };
    assert(was > 0);
    if
    :: was == 1 -> now_ready(g, was)
    :: else
    fi
}

inline orr_dep_fire_task(g, was)
{
    atomic { was = balance[g]; balance[g]++ };
    if
    :: was == -1 -> orr_task_unblock(g, was)
    :: else
    fi
}

inline orr_dep_group_notify(g, was)
{
    assert(refs[g] > 0);
#ifdef LATE_REARM
    atomic { was = remaining[g]; remaining[g]-- };
    if
    :: was == 1 -> remaining[g] = remaining[g] + total[g]; orr_dep_fire_task(g, was)
    :: else
    fi
#else
    atomic { /* a loop of compare-and-swap */
        was = remaining[g];
        if
        :: was == 1 -> remaining[g] = total[g]
        :: else -> remaining[g]--
        fi
    };
    if
    :: was == 1 -> orr_dep_fire_task(g, was)
    :: else
    fi
#endif
}

#ifdef ROUNDS
bool resubmit[TASKS];
#endif

/* orr_dep_hang */
inline orr_dep_hang(p, g, seen, success)
{
    seen = successors[p];
    success = false;
    if
    :: seen == CLOSED
    :: else ->
#ifndef NO_EDGE_REF
       refs[g]++;
#endif
       do
       :: seen == CLOSED -> unref(g); break
       :: else ->
          next[edge(g, p)] = seen;
          atomic {
              if
#ifdef PUSH_WITHOUT_CAS
              :: true -> successors[p] = edge(g, p); hung[edge(g, p)] = true; success = true
#else
              :: successors[p] == seen ->
                 successors[p] = edge(g, p); hung[edge(g, p)] = true; since[g] = closed[p]; success = true
              :: else -> seen = successors[p]
#endif
              fi
          };
          if
          :: success -> break
          :: else
          fi
       od
    fi
}

/* declare_group; then commit */
proctype declarer(byte g; byte ndeps)
{
    byte p, seen, satisfied, one_more;
    short was;
    bool success;
    atomic { /* orr_dep_group_create, orr_task_add_group: nobody else knows the group yet */
        refs[g] = 1;
#ifdef LATE_REARM
        one_more = 1;
#else
        one_more = (ndeps > 1);
#endif
        total[g] = ndeps + one_more;
#ifdef COUNT_AFTER_HANGING
        remaining[g] = one_more;
#else
        remaining[g] = ndeps + one_more;
#endif
        balance[g] = -1;
        pending[g] = 2; /* the submission, and the group */
        satisfied = one_more
    };
    for (p : 0 .. ndeps - 1) {
        orr_dep_hang(p, g, seen, success);
        if
#ifdef COUNT_AFTER_HANGING
        :: success -> remaining[g]++
        :: else -> total[g]--
#else
        :: success
        :: else -> satisfied++; total[g]--
#endif
        fi
    }
    total[g] = total[g] - one_more;
    do
    :: satisfied > 0 ->
       satisfied--;
       orr_dep_group_notify(g, was)
    :: else -> break
    od;
    orr_task_unblock(g, was); /* commit */
#ifdef ROUNDS
    for (p : 1 .. LAST_ROUND - since[g]) {
        resubmit[g];
        resubmit[g] = false;
        if
        :: p < LAST_ROUND - since[g] -> orr_task_unblock(g, was)
        :: else
        fi
    }
#endif
}

/* orr_dep_close, and commit of the next round */
proctype prerequisite(byte p)
{
    byte e, after, reverse, round;
    short was;
    for (round : 1 .. LAST_ROUND) {
        completed[p]++;
#ifdef CLOSE_IN_TWO_STEPS
        e = successors[p];
        successors[p] = CLOSED;
#else
        d_step { e = successors[p]; successors[p] = CLOSED; closed[p]++ }
#endif
        reverse = NIL;
        do /* reversed */
        :: e != NIL -> d_step { after = next[e]; next[e] = reverse; reverse = e; e = after }
        :: else -> break
        od;
        e = reverse;
        do
        :: e != NIL ->
           after = next[e];
           notified[e]++;
           assert(notified[e] <= round);
           orr_dep_group_notify((e / PREREQUISITES), was);
#ifndef ROUNDS
           unref((e / PREREQUISITES));
#endif
           e = after
        :: else -> break
        od;
#ifdef ROUNDS
        if
        :: round < LAST_ROUND -> successors[p] = reverse /* commit: kept_edges */
        :: else
        fi
#endif
    }
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
    for (i : 0 .. TASKS - 1) {
        assert(rounds[i] == LAST_ROUND - since[i]);
#ifndef ROUNDS
        unref(i); /* orr_task_free */
        assert(refs[i] == 0)
#endif
    }
}
