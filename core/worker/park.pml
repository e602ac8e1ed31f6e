/* SPDX-License-Identifier: BSD-3-Clause */
/* park.pml: a model of core/worker/park.c for spin: sleeping workers, and who wakes them. Run by scripts/check-models.
 *
 * Each step is one atomic access of the C code, which has the same names. Spin interleaves them sequentially consistently:
 * that is what the seq_cst operations on orr_parking, on the ring's cells and on what orr_queue_length reads promise. The length
 * is read piece by piece, while others move tasks from the spill list to the ring.
 *
 * The queue is that of sched/queue.c in little: a ring whose cells are claimed first and written later, and a spill list,
 * from which whoever pops moves the rest back to the ring. A worker's own queue (orr_worker_push_local) is there as well.
 * A SHORT task is one that is known to be short. A LONG one is not, and here ends only when all shared tasks have begun: so
 * a task left waiting beside a sleeping worker is a deadlock, and spin reports it. An UNKNOWN one may end at any time.
 *
 * A LIAR is known to be short, and ends like a LONG one. The sentry's time-out may pass at any time; a worker that counts as
 * brief may be taken for slow at any time, too: more than the C code does.
 *
 * Property: no execution stops before every task has run once, and all workers have then left for the shutdown.
 *
 * MUTANTS: -DNO_LAST_LOOK -DLOOK_BEFORE_PUSH -DNO_DEBT,-DEACH=3 -DIGNORE_WAKER -DBIT_BEFORE_COUNT,-DLOCAL,-DEACH=1 -DSTALE_LENGTH -DLIARS,-DNO_SENTRY
 * SIZES: -DPRODUCERS=2,-DEACH=1 -DEACH=3 -DSPILL -DLOCAL,-DEACH=1 -DLIARS
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef EACH
#define EACH 2 /* shared tasks of each producer */
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#define SHARED (PRODUCERS * EACH)
#define LARGE_BACKLOG 2
#ifdef LOCAL
#define LOCAL_TASKS 1
#else
#define LOCAL_TASKS 0
#endif

mtype = { NOTHING, SHORT, UNKNOWN, LONG, LIAR };

/* orr_parking */
byte parked, searching, brief;
byte sentry; /* 1 + its number */
bool who[WORKERS];
bool stopping;
/* struct orr_worker */
bool futex[WORKERS];
bool short_tasks[WORKERS];
byte local_count; /* of worker 0 */
/* struct orr_queue */
byte tail, head;
bool written[SHARED];
byte spilled_count, spill_list;
bool lock;

/* what the property speaks of */
byte begun, longs, local_begun;

#define LENGTH (tail - head + spilled_count)

inline wake_claimed(id)
{
    parked--;
    futex[id] = true
}

/* Takes w's parked bit. */
inline claim(id, mine)
{
    atomic { mine = who[id]; who[id] = false }
}

/* wake_one, park.c: the lowest bit that could be claimed. Reading the bits and claiming one are a single step here: a claim
 * that fails is followed by another reading. */
inline wake_one(id, mine)
{
    atomic {
        id = 0;
        do
        :: id < WORKERS && !who[id] -> id++
        :: else -> break
        od;
        mine = id < WORKERS;
        if
        :: mine -> who[id] = false
        :: else -> id = 0
        fi
    };
    if
    :: mine -> searching++; wake_claimed(id); atomic { id = 0; mine = false }
    :: else
    fi
}

/* appoint_sentry: the last sleeper; who was woken meanwhile is none. That it stays parked, and only begins to look at the
 * clock, needs no word: sleep_parked reads `sentry` whenever it likes. */
inline appoint_sentry(id, mine)
{
#if defined(LIARS) && !defined(NO_SENTRY)
    atomic {
        id = WORKERS;
        do
        :: id > 0 && !who[id - 1] -> id--
        :: else -> break
        od;
        mine = id > 0 && sentry == 0;
        if
        :: mine -> sentry = id
        :: else -> id = 0
        fi
    };
    if
    :: mine ->
       if
       :: who[id - 1]
       :: else -> atomic { if :: sentry == id -> sentry = 0 :: else fi }
       fi;
       atomic { id = 0; mine = false }
    :: else
    fi
#else
    skip
#endif
}

/* orr_wake_any */
inline orr_wake_any(id, mine)
{
    if
    :: parked == 0
    :: else ->
       if
       :: searching > 0
       :: else ->
          if
          :: brief > 0 && LENGTH < LARGE_BACKLOG ->
             if
             :: sentry == 0 -> appoint_sentry(id, mine)
             :: else
             fi
          :: else -> wake_one(id, mine)
          fi
       fi
    fi
}

/* orr_worker_push_local, orr_wake_worker */
inline push_local(mine)
{
    local_count++;
    if
    :: parked == 0
    :: else ->
       claim(0, mine);
       if
       :: mine -> searching++; wake_claimed(0)
       :: else
       fi
    fi;
    mine = false
}

proctype producer()
{
    byte pos, id, i;
    bool mine;
    for (i : 1 .. EACH) {
#ifdef LOOK_BEFORE_PUSH
        orr_wake_any(id, mine);
#endif
        if
        :: d_step { pos = tail; tail++ }
           d_step { written[pos] = true; pos = 0 }
#ifdef SPILL
        :: atomic { !lock -> spill_list++; spilled_count++ } /* the ring was full */
#endif
        fi;
#ifndef LOOK_BEFORE_PUSH
        orr_wake_any(id, mine)
#else
        skip
#endif
    }
}

proctype local_producer()
{
    bool mine;
    push_local(mine)
}

inline kind_of_task(t)
{
    if
    :: t = SHORT
    :: t = UNKNOWN
    :: longs < WORKERS - 1 -> longs++; t = LONG
#ifdef LIARS
    :: longs < WORKERS - 1 -> longs++; t = LIAR
#endif
    fi
}

/* pop_spilled, sched/queue.c: takes the first, and moves one behind it to the ring before the count falls. */
inline pop_spilled(t, pos)
{
    atomic { !lock -> lock = true };
    if
    :: spill_list > 0 ->
       atomic { spill_list--; begun++; kind_of_task(t) };
       if
       :: spill_list > 0 ->
          spill_list--;
          d_step { pos = tail; tail++ }
          d_step { written[pos] = true; pos = 0 }
          spilled_count = spilled_count - 2
       :: else -> spilled_count--
       fi
    :: else
    fi;
    lock = false
}

/* orr_worker_next: own queue, ring, spill list. */
inline orr_worker_next(w, t, pos)
{
    if
    :: atomic { w == 0 && local_count > 0 -> local_count--; local_begun++; t = UNKNOWN }
    :: else ->
       atomic {
           if
           :: head < SHARED && written[head] -> head++; begun++; kind_of_task(t)
           :: else
           fi
       };
       if
#ifdef SPILL
       :: t == NOTHING && spilled_count > 0 -> pop_spilled(t, pos)
#endif
       :: else
       fi
    fi
}

/* "if tasks wait and nobody looks, one is woken": the second half of stop_searching and of orr_worker_expects */
inline wake_for_backlog(id, mine, n)
{
#ifdef STALE_LENGTH
    if
    :: n > 0 -> wake_one(id, mine)
#else
#ifdef SPILL
    n = tail - head; /* orr_queue_length, piece by piece */
    if
    :: n + spilled_count > 0 -> wake_one(id, mine)
#else
    if
    :: LENGTH > 0 -> wake_one(id, mine)
#endif
#endif
    :: else
    fi;
#ifndef STALE_LENGTH
    n = 0
#endif
}

/* is_brief_no_more */
inline is_brief_no_more(x, mine)
{
    atomic { mine = short_tasks[x]; short_tasks[x] = false };
    if
    :: mine -> brief--; mine = false
    :: else
    fi
}

/* orr_worker_expects */
inline orr_worker_expects(is_short, w, id, mine, n)
{
    if
    :: is_short && !short_tasks[w] -> brief++; short_tasks[w] = true
    :: !is_short && short_tasks[w] -> is_brief_no_more(w, mine)
    :: else
    fi;
#ifndef NO_DEBT
    if
    :: is_short || parked == 0
    :: else ->
       if
       :: searching > 0
       :: else -> wake_for_backlog(id, mine, n)
       fi
    fi
#endif
}

/* stop_searching */
inline stop_searching(found, others, id, mine, n)
{
#ifdef STALE_LENGTH
    n = LENGTH; /* and a relaxed load might go on returning that */
#endif
    d_step { searching--; others = searching }
    if
    :: !found || others > 0 || parked == 0
    :: else -> wake_for_backlog(id, mine, n)
    fi;
    others = 0
}

/* resign */
inline resign(w)
{
    atomic { if :: sentry == w + 1 -> sentry = 0 :: else fi }
}

/* sleep_parked, with stand_guard: it is woken, or takes a brief worker for slow, or nobody is brief and it retires. The last
 * happens only when that changes something. */
inline sleep_parked(w, id, mine)
{
    do
    :: futex[w] -> break
#ifdef LIARS
    :: atomic { sentry == w + 1 && short_tasks[0] -> id = 0 }
       guard(w, id, mine)
    :: atomic { sentry == w + 1 && WORKERS > 1 && short_tasks[WORKERS - 1] -> id = WORKERS - 1 }
       guard(w, id, mine)
    :: sentry == w + 1 && brief == 0 ->
       resign(w);
       if
       :: brief > 0 -> atomic { if :: sentry == 0 -> sentry = w + 1 :: else fi }
       :: else
       fi
#endif
    od;
    mine = false
}

inline guard(w, id, mine)
{
    is_brief_no_more(id, mine);
    id = 0;
    claim(w, mine);
    if
    :: mine -> parked--; searching++; break
    :: else
    fi
}

/* park */
inline park(w, t, pos, id, mine)
{
    futex[w] = false;
#ifdef BIT_BEFORE_COUNT
    who[w] = true;
    parked++;
#else
    parked++;
    who[w] = true;
#endif
    searching--;
#ifdef NO_LAST_LOOK
    t = NOTHING;
#else
    orr_worker_next(w, t, pos);
#endif
    if
    :: t != NOTHING || stopping ->
       claim(w, mine);
       if
       :: mine -> parked--; searching++
       :: else ->
#ifdef IGNORE_WAKER
          searching++
#else
          sleep_parked(w, id, mine) /* somebody is waking us */
#endif
       fi;
       mine = false
    :: else -> sleep_parked(w, id, mine)
    fi;
#ifdef LIARS
    resign(w)
#else
    skip
#endif
}

/* idle */
inline idle(w, t, pos, others, id, mine, n)
{
    is_brief_no_more(w, mine);
    orr_worker_next(w, t, pos); /* LOOKS_BEFORE_SEARCHING */
    if
    :: t != NOTHING
    :: else ->
       searching++;
       do
       :: t != NOTHING || stopping -> break
       :: else ->
          orr_worker_next(w, t, pos); /* search */
          if
          :: t != NOTHING || stopping
          :: t == NOTHING && !stopping -> park(w, t, pos, id, mine)
          :: t == NOTHING && !stopping /* searches on */
          fi
       od;
       stop_searching((t != NOTHING), others, id, mine, n)
    fi
}

/* cpu_loop, worker.c */
proctype worker(byte w)
{
    byte id, pos, others, n;
    bool mine;
    mtype t = NOTHING;
    do
    :: orr_worker_next(w, t, pos);
       if
       :: t == NOTHING -> idle(w, t, pos, others, id, mine, n)
       :: else
       fi;
       if
       :: t == NOTHING && stopping -> break
       :: t == NOTHING && !stopping
       :: t == SHORT -> orr_worker_expects(true, w, id, mine, n)
       :: t == UNKNOWN -> orr_worker_expects(false, w, id, mine, n)
       :: t == LIAR -> orr_worker_expects(true, w, id, mine, n); begun == SHARED
       :: t == LONG -> orr_worker_expects(false, w, id, mine, n); begun == SHARED
       fi;
       t = NOTHING
    od
}

/* orr_workers_stop: everything has run; workers are anywhere between looking and sleeping */
init
{
    byte i;
    bool mine;
    atomic {
        for (i : 0 .. WORKERS - 1) { run worker(i) }
        for (i : 1 .. PRODUCERS) { run producer() }
#ifdef LOCAL
        run local_producer()
#endif
    };
    begun == SHARED && local_begun == LOCAL_TASKS;
    stopping = true;
    for (i : 0 .. WORKERS - 1) {
        claim(i, mine);
        if
        :: mine -> searching++; wake_claimed(i)
        :: else
        fi
    }
    (_nr_pr == 1);
    assert(parked == 0 && searching == 0 && brief == 0 && tail == head && spilled_count == 0 && local_count == 0)
}
