/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiling: when each task was submitted, scheduled and run, what each worker and each bus did.
 * Threads: any thread after starpu_init(), task bodies and callbacks too; nothing blocks. What is read while
 *   tasks run may be a little old.
 * Not here: traces (starpu_fxt.h); models of what tasks take (starpu_perfmodel.h).
 */
#ifndef STARPU_PROFILING_H
#define STARPU_PROFILING_H

#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <starpu_config.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* States of profiling. */
#define STARPU_PROFILING_DISABLE 0
#define STARPU_PROFILING_ENABLE 1

/* What a task did, by CLOCK_MONOTONIC; zero what did not happen. Hangs on task->profiling_info. */
struct starpu_profiling_task_info {
    struct timespec submit_time;
    struct timespec push_start_time; /* given to the policy */
    struct timespec push_end_time;
    struct timespec pop_start_time; /* taken from the policy */
    struct timespec pop_end_time;
    struct timespec acquire_data_start_time; /* its data was brought */
    struct timespec acquire_data_end_time;
    struct timespec start_time; /* it ran */
    struct timespec end_time;
    struct timespec release_data_start_time;
    struct timespec release_data_end_time;
    struct timespec callback_start_time;
    struct timespec callback_end_time;
    int workerid;           /* where it ran, -1 not yet */
    uint64_t used_cycles;   /* 0: they are not counted */
    uint64_t stall_cycles;  /* 0: they are not counted */
    double energy_consumed; /* joules, by the codelet's energy model; 0: it has none, or knows nothing */
    int *papi_values;       /* NULL: hardware counters are not read */
    int papi_event_set;
};

/* What a worker did from start_time on. The all_ times are the same here. */
struct starpu_profiling_worker_info {
    struct timespec start_time;
    struct timespec total_time;
    struct timespec executing_time;  /* tasks */
    struct timespec callback_time;   /* callbacks of tasks that ended on it */
    struct timespec waiting_time;    /* it had a task and ran none: the task's data was brought */
    struct timespec sleeping_time;   /* nothing to do */
    struct timespec scheduling_time; /* the rest: tasks are taken, and what else the runtime does */
    struct timespec all_executing_time;
    struct timespec all_callback_time;
    struct timespec all_waiting_time;
    struct timespec all_sleeping_time;
    struct timespec all_scheduling_time;
    int executed_tasks;
    uint64_t used_cycles;   /* 0: they are not counted */
    uint64_t stall_cycles;  /* 0: they are not counted */
    double energy_consumed; /* joules, of the tasks */
    double flops;           /* given by the tasks */
};

/* What a bus did from start_time on. */
struct starpu_profiling_bus_info {
    struct timespec start_time;
    struct timespec total_time;
    long long transferred_bytes;
    int transfer_count;
};

/* Starts profiling anew if the environment says so (STARPU_PROFILING, STARPU_WORKER_STATS). Done by
 * starpu_init(). */
void starpu_profiling_init(void);

/* Sets the number that profiling output of this process carries; below 0: none, as at first. At any time. */
void starpu_profiling_set_id(int new_id);

/* Turns profiling on or off (STARPU_PROFILING_ENABLE, STARPU_PROFILING_DISABLE); turning it on
 * starts all counts anew. Returns the state before. Also before starpu_init(), for what follows it. */
int starpu_profiling_status_set(int status);

/* Returns the state. At any time. */
int starpu_profiling_status_get(void);

/* Sets what the worker did since the last call (or since profiling began) and starts anew.
 * `worker_info` may be NULL. Returns 0; -EINVAL for a worker that is not there. */
int starpu_profiling_worker_get_info(int workerid, struct starpu_profiling_worker_info *worker_info);

/* ---- Buses: ordered pairs of memory nodes ---- */

/* Returns the number of buses. */
int starpu_bus_get_count(void);

/* Returns the bus from memory node `src` to `dst`; -1: there is none, or they are the same. */
int starpu_bus_get_id(int src, int dst);

/* Returns the memory node that a bus begins at; -1: there is no such bus. */
int starpu_bus_get_src(int busid);

/* Returns the memory node that a bus ends at; -1: there is no such bus. */
int starpu_bus_get_dst(int busid);

/* Says whether a bus between devices goes without main memory; for starpu_bus_get_direct() only. */
void starpu_bus_set_direct(int busid, int direct);

/* Returns what was said, else whether it does (1, else 0). */
int starpu_bus_get_direct(int busid);

/* Says how many devices share a bus; for starpu_bus_get_ngpus() only. */
void starpu_bus_set_ngpus(int busid, int ngpus);

/* Returns how many do, 0 if it was not said. */
int starpu_bus_get_ngpus(int busid);

/* Sets what a bus did since the last call and starts anew. `bus_info` may be NULL. Returns 0;
 * -EINVAL: there is no such bus. Buses count whether profiling is on or off. */
int starpu_bus_get_profiling_info(int busid, struct starpu_profiling_bus_info *bus_info);

/* ---- Display on stderr ---- */

/* Prints what all buses did. */
void starpu_profiling_bus_helper_display_summary(void);

/* Prints what all workers did. */
void starpu_profiling_worker_helper_display_summary(void);

/* Prints how many bytes of each memory node are in use, and its limit. */
void starpu_data_display_memory_stats(void);

/* ---- Times ---- */

#define STARPU_NS_PER_S 1000000000

/* Returns the microseconds from `start` to `end`. */
double starpu_timing_timespec_delay_us(struct timespec *start, struct timespec *end);

/* Returns a time in microseconds. */
double starpu_timing_timespec_to_us(struct timespec *ts);

/* Sets a time to zero. */
static __inline void starpu_timespec_clear(struct timespec *tsp)
{
    tsp->tv_sec = 0;
    tsp->tv_nsec = 0;
}

/* *result += *a, both normalised. */
static __inline void starpu_timespec_accumulate(struct timespec *result, struct timespec *a)
{
    long nsec = result->tv_nsec + a->tv_nsec;
    result->tv_sec += a->tv_sec + nsec / STARPU_NS_PER_S;
    result->tv_nsec = nsec % STARPU_NS_PER_S;
}

/* *result = *a + *b, both normalised. */
static __inline void starpu_timespec_add(struct timespec *a, struct timespec *b, struct timespec *result)
{
    struct timespec sum = *a;
    starpu_timespec_accumulate(&sum, b);
    *result = sum;
}

/* *result = *a - *b, both normalised. */
static __inline void starpu_timespec_sub(const struct timespec *a, const struct timespec *b,
                                         struct timespec *result)
{
    long nsec = a->tv_nsec - b->tv_nsec;
    int borrow = nsec < 0;
    result->tv_sec = a->tv_sec - b->tv_sec - borrow;
    result->tv_nsec = borrow ? nsec + STARPU_NS_PER_S : nsec;
}

/* Compares two normalised times, as in starpu_timespec_cmp(&a, &b, <). */
#define starpu_timespec_cmp(a, b, CMP)                                                                       \
    ((a)->tv_sec != (b)->tv_sec ? (a)->tv_sec CMP(b)->tv_sec : (a)->tv_nsec CMP(b)->tv_nsec)

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_PROFILING_H */
