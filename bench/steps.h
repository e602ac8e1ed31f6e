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

/* One computation of so many steps with kernels of so many us, on all ranks: returns its us for each step,
 * the same on all ranks. */
typedef double (*steps_fn)(long steps, double kernel_us, void *data);

struct steps {
    steps_fn run;
    void *data;
    long steps; /* with short kernels; fewer with long ones */
    int repeats;
    double kernels; /* that each core runs in a step */
};

/* Median us of a step. */
static inline double step_us(const struct steps *s, double kernel_us)
{
    double us[SAMPLES_MAX];
    long steps = (long)((double)s->steps * 10 / (10 + kernel_us));
    for (int k = -1; k < s->repeats; k++) {
        double took = s->run(steps < 50 ? 50 : steps, kernel_us, s->data);
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

/* With -m the shortest kernel, else a step with kernels of -k us. */
static inline double steps_measure(const struct steps *s, int argc, char **argv)
{
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
