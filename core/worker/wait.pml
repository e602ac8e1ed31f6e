/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.pml: a model of core/worker/wait.c for spin: threads that wait for all tasks, and who wakes them. Run by scripts/check-models.
 *
 * Each step is one atomic access of the C code. Every thread counts what it completed in a record of its own; the sum is read
 * piece by piece. A task ends on a worker at work, on one that rests (a progress function, a callback or a hook ended it), or
 * on a thread that is no worker. Workers may rest for ever at any time, because they are idle or paused: nothing but the
 * completions themselves can wake who waits.
 *
 * Property: no execution stops with a thread that waits although all tasks have ended.
 *
 * MUTANTS: -DRESTING_IS_WORK -DREST_WITHOUT_CHECK -DCHECK_BEFORE_COUNT -DCOUNT_BEFORE_ANNOUNCE -DSEEN_AFTER_COUNT
 * SIZES: -DTASKS=2 -DTASKS=3,-DWORKERS=1 -DTASKS=2,-DWAITERS=2,-DWORKERS=1
 */
#ifndef TASKS
#define TASKS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef WAITERS
#define WAITERS 1
#endif
#define THREADS (WORKERS + 1) /* the last is no worker */

byte todo = TASKS;        /* not begun */
byte completed[THREADS];  /* struct orr_thread */
byte waiters, epoch;      /* wait.c */
bool asleep[WAITERS];     /* on the futex */

/* orr_tasks_outstanding() == 0 */
inline count(sum, i)
{
    sum = 0;
    for (i : 0 .. THREADS - 1) { sum = sum + completed[i] }
    i = 0
}

/* orr_wait_check */
inline check(sum, i)
{
    if
    :: waiters == 0
    :: else ->
       count(sum, i);
       if
       :: sum != TASKS
       :: else ->
          epoch++;
          d_step { for (i : 0 .. WAITERS - 1) { asleep[i] = false } i = 0 }
       fi
    fi;
    sum = 0
}

/* orr_task_complete: the thread's count, then completed_elsewhere unless it checks later */
inline complete(me, checks_later, sum, i)
{
#ifdef CHECK_BEFORE_COUNT
    if
    :: !checks_later -> check(sum, i)
    :: else
    fi;
    completed[me]++
#else
    completed[me]++;
    if
    :: !checks_later -> check(sum, i)
    :: else
    fi
#endif
}

/* worker_thread, cpu_loop, orr_worker_idle, wait_while_paused */
proctype worker(byte me)
{
    byte sum, i;
    bool checks_later = true, resting;
end: do
    :: atomic { todo > 0 && !resting -> todo-- }
       complete(me, checks_later, sum, i)
    :: atomic { todo > 0 && resting -> todo-- } /* a poll, a hook */
       complete(me, checks_later, sum, i)
    :: atomic { !resting -> resting = true } /* orr_wait_rest_begin */
#ifndef RESTING_IS_WORK
       checks_later = false;
#endif
#ifndef REST_WITHOUT_CHECK
       check(sum, i)
#else
       skip
#endif
    :: atomic { resting && todo > 0 -> resting = false; checks_later = true } /* orr_wait_rest_end: it found a task */
    od
}

/* A thread of the program that releases data, notifies a tag, drives messages. */
proctype outsider()
{
    byte sum, i;
end: do
    :: atomic { todo > 0 -> todo-- }
       complete(WORKERS, false, sum, i)
    od
}

/* wait_until */
proctype waiter(byte me)
{
    byte sum, i, seen;
#ifdef COUNT_BEFORE_ANNOUNCE
    count(sum, i);
    seen = epoch;
    waiters++;
#else
    waiters++;
#endif
    do
    :: true ->
#ifndef COUNT_BEFORE_ANNOUNCE
#ifdef SEEN_AFTER_COUNT
       count(sum, i);
       seen = epoch;
#else
       seen = epoch;
       count(sum, i);
#endif
#endif
       if
       :: sum == TASKS -> break
       :: else ->
          atomic {
              if
              :: epoch == seen -> asleep[me] = true
              :: else
              fi
          };
          !asleep[me]
       fi;
#ifdef COUNT_BEFORE_ANNOUNCE
       seen = epoch;
       count(sum, i)
#else
       skip
#endif
    od;
    waiters--
}

init
{
    byte k;
    atomic {
        for (k : 0 .. WORKERS - 1) { run worker(k) }
        run outsider();
        for (k : 0 .. WAITERS - 1) { run waiter(k) }
    }
}
