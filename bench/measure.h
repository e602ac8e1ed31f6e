/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, medians and command lines for all benchmarks, those without a task runtime too.
 * Threads: any.
 * Owns: nothing.
 * Not here: starting a runtime (stream.h). */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES_MAX = 64 };

static inline double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread: not moved by other load on a shared machine. */
static inline double thread_seconds(void)
{
    return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static int compare_samples(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the samples, so that the first is the least and the last the largest; returns the median. */
static inline double median(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, compare_samples);
    return count % 2 ? samples[count / 2] : 0.5 * (samples[count / 2 - 1] + samples[count / 2]);
}

/* Medians of five rounds, after one that warms up; n and what a figure is are the caller's. */
struct in_turn {
    double bare, task, ratio; /* of the two in each round */
};
/* The same bare (tasks 0) and by tasks (1), in turn. */
static inline struct in_turn measure_in_turn(double (*figure)(int n, int tasks), int n)
{
    enum { ROUNDS_IN_TURN = 5 };
    double bare[ROUNDS_IN_TURN], task[ROUNDS_IN_TURN], ratio[ROUNDS_IN_TURN];
    figure(n, 0);
    figure(n, 1);
    for (int i = 0; i < ROUNDS_IN_TURN; i++) {
        bare[i] = figure(n, 0);
        task[i] = figure(n, 1);
        ratio[i] = task[i] / bare[i];
    }
    return (struct in_turn){ median(bare, ROUNDS_IN_TURN), median(task, ROUNDS_IN_TURN),
                             median(ratio, ROUNDS_IN_TURN) };
}

static inline double resident_bytes(void)
{
    long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static inline const char *option_text(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int k = 1; k + 1 < argc; k++)
        if (!strcmp(argv[k], name)) return argv[k + 1];
    return otherwise;
}

static inline long option_number(int argc, char **argv, const char *name, long otherwise)
{
    const char *text = option_text(argc, argv, name, NULL);
    return text ? atol(text) : otherwise;
}

static inline int option_given(int argc, char **argv, const char *name)
{
    for (int k = 1; k < argc; k++)
        if (!strcmp(argv[k], name)) return 1;
    return 0;
}

/* -r, kept within what the sample arrays hold. */
static inline int option_repeats(int argc, char **argv)
{
    long repeats = option_number(argc, argv, "-r", 5);
    return repeats < 1 ? 1 : repeats > SAMPLES_MAX ? SAMPLES_MAX : (int)repeats;
}

#endif
