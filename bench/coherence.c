/* SPDX-License-Identifier: BSD-3-Clause */
/* coherence: what it costs to find out that data are valid where a task wants them, by the number of memory
 * nodes: beginning a use and ending it, without any copy.
 * Threads: main, nobody else looks. Owns: the data. Not here: what an acquisition adds (its place in the
 * queue of accesses is part of both figures), copies (overlap.c).
 *
 * -m nodes (8; 2 at least) -n uses -H data -r runs. Each use is an acquisition and its release. The same with
 * no memory but the main one is subtracted: what is left is the decision. */
#include <starpu.h>

#include "measure.h"

enum { DATA_MAX = 4096 };

static starpu_data_handle_t handles[DATA_MAX];
static long values[DATA_MAX];

static void start(long nodes)
{
    struct starpu_conf conf;
    char devices[24];
    snprintf(devices, sizeof devices, "%ld", nodes - 1);
    setenv("ORRERY_SIM_DEVICES", devices, 1);
    setenv("ORRERY_SIM_MEM_MB", "16", 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf) != 0) exit(2);
    if ((long)starpu_memory_nodes_get_count() != nodes) exit(2);
}

/* ns for a use in this mode; they go from one datum to the next. */
static double use_ns(long count, long data, enum starpu_data_access_mode mode)
{
    double begin = now();
    for (long k = 0; k < count; k++) {
        starpu_data_handle_t h = handles[k % data];
        if (starpu_data_acquire(h, mode) != 0) exit(2);
        *(long *)starpu_data_get_local_ptr(h) += mode != STARPU_R;
        starpu_data_release(h);
    }
    return (now() - begin) * 1e9 / (double)count;
}

/* On so many nodes: the medians for reading and for changing; the data were on a device before. */
static int measure(long nodes, long count, long data, int runs, double *read_ns_out, double *change_ns_out)
{
    double reads[SAMPLES_MAX], changes[SAMPLES_MAX];
    start(nodes);
    for (long i = 0; i < data; i++) {
        values[i] = 0;
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
        if (nodes > 1) starpu_data_fetch_on_node(handles[i], 1, 0);
    }
    for (int r = 0; r < runs; r++) {
        reads[r] = use_ns(count, data, STARPU_R);
        changes[r] = use_ns(count, data, STARPU_RW);
    }
    *read_ns_out = median(reads, runs);
    *change_ns_out = median(changes, runs);
    long sum = 0;
    for (long i = 0; i < data; i++) {
        starpu_data_unregister(handles[i]);
        sum += values[i];
    }
    starpu_shutdown();
    return sum == count * runs;
}

int main(int argc, char **argv)
{
    long nodes = option_number(argc, argv, "-m", 8), count = option_number(argc, argv, "-n", 200000),
         data = option_number(argc, argv, "-H", 1000);
    int runs = option_repeats(argc, argv);
    double alone_read, alone_change, read, change;
    if (nodes < 2 || count < 1 || data < 1 || data > DATA_MAX) {
        fprintf(stderr, "coherence: -m takes at least 2, -H at most %d\n", DATA_MAX);
        return 2;
    }
    int right = measure(1, count, data, runs, &alone_read, &alone_change);
    right &= measure(nodes, count, data, runs, &read, &change);
    double worse = read - alone_read > change - alone_change ? read - alone_read : change - alone_change;
    printf("coherence nodes=%ld read_ns=%.1f change_ns=%.1f alone_read_ns=%.1f alone_change_ns=%.1f "
           "decision_ns=%.1f %s\n",
           nodes, read, change, alone_read, alone_change, worse, right ? "ok" : "WRONG");
    return right ? 0 : 1;
}
