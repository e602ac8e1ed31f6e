/* SPDX-License-Identifier: BSD-3-Clause */
/* A computation in steps: what a step costs beyond its kernels, and the shortest kernel that is worth it.
 * Threads: the one that measures; kernels anywhere.
 * Owns: nothing.
 * Not here: what makes the steps (mpi_stencil.c, mpi_raw.c).
 *
 * The shortest kernel: with which half of the cores' time goes into kernels (METG(50 %), as Task Bench calls
 * it: E. Slaughter and others, SC 2020). */
#ifndef BENCH_STEPS_H
#define BENCH_STEPS_H

#include "measure.h"

static inline void spin_us(double us)
{
    double until = now() + us * 1e-6;
    while (us > 0 && now() < until) continue;
}

/* When steps ended on the core that says so, one kernel a step: of the latest. */
enum { STEP_ENDS = 1 << 14 };
static double step_ends[STEP_ENDS];
static long step_count;

static inline void step_over(void)
{
    step_ends[step_count++ % STEP_ENDS] = now();
}

/* Median us of the steps that ended since there were `before`, but for the first. */
static inline double typical_us(long before)
{
    static double us[STEP_ENDS];
    int count = 0;
    if (step_count - before > STEP_ENDS) before = step_count - STEP_ENDS;
    for (long i = before + 1; i < step_count; i++)
        us[count++] = (step_ends[i % STEP_ENDS] - step_ends[(i - 1) % STEP_ENDS]) * 1e6;
    return count ? median(us, count) : 0;
}

/* One computation of so many steps with kernels of so many us, on all ranks: returns its us for each step,
 * the same on all ranks. */
typedef double (*steps_fn)(long steps, double kernel_us, void *data);

struct steps {
    steps_fn run;
    void *data;
    long steps; /* with short kernels; fewer with long ones */
    int repeats;
    double kernels; /* that each core runs in a step */
    int is_typical; /* a step's time is the median of all; else their mean, with all that interrupts them */
};

/* Median us of a step. */
static inline double step_us(const struct steps *s, double kernel_us)
{
    double us[SAMPLES_MAX];
    long steps = (long)((double)s->steps * 10 / (10 + kernel_us));
    for (int k = -1; k < s->repeats; k++) {
        long before = step_count;
        double took = s->run(steps < 50 ? 50 : steps, kernel_us, s->data);
        if (s->is_typical) took = typical_us(before);
        if (k >= 0) us[k] = took;
    }
    return median(us, s->repeats);
}

/* The shortest kernel with which half of the time goes into kernels, in us. */
static inline double shortest_kernel_us(const struct steps *s)
{
    double low = 0, high = 0.25;
    while (high < 10000 && high * s->kernels / step_us(s, high) < 0.5) {
        low = high;
        high *= 2;
    }
    for (int k = 0; k < 4; k++) {
        double middle = 0.5 * (low + high);
        if (middle * s->kernels / step_us(s, middle) < 0.5)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* With -m the shortest kernel, else a step with kernels of -k us; with -q a typical one. */
static inline double steps_measure(struct steps *s, int argc, char **argv)
{
    s->is_typical = option_given(argc, argv, "-q");
    return option_given(argc, argv, "-m") ? shortest_kernel_us(s)
                                          : step_us(s, atof(option_text(argc, argv, "-k", "0")));
}

static inline void steps_print(const struct steps *s, const char *name, double us, int argc, char **argv,
                               int is_right)
{
    double kernel = atof(option_text(argc, argv, "-k", "0"));
    const char *end = is_right ? "ok" : "WRONG";
    if (option_given(argc, argv, "-m"))
        printf("%s shortest_us=%.3f %s\n", name, us, end);
    else
        printf("%s kernel_us=%g step_us=%.3f overhead_us=%.3f %s\n", name, kernel, us,
               us - kernel * s->kernels, end);
    fflush(stdout);
}

#endif
