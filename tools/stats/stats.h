/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.h: the programs that orrery_stats has in it, and what they share: lines of text files, numbers,
 * tables of names. Threads: main. Owns: nothing. Not here: choosing among them (orrery_stats.c). */
#ifndef ORR_STATS_STATS_H
#define ORR_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/grow.h"
#include "tools/tool.h"

/* A program under a name of StarPU's: what it says of itself, and its main. */
struct stats_program {
    struct tool tool;
    int (*run)(const struct tool *tool, int argc, char **argv);
};
extern const struct stats_program stats_codelet_profile, stats_codelet_histo_profile, stats_workers_activity,
    stats_paje_state_stats, stats_paje_draw_histogram, stats_paje_summary, stats_trace_state_stats,
    stats_lp2paje;

/* ---- texts ---- */

/* Reads a file line by line, without their ends; each returns NULL, or what is wrong with it. 0, or
 * TOOL_FAILED and that was said. */
int stats_each_line(const struct tool *tool, const char *path, const char *(*fn)(void *arg, char *line),
                    void *arg);
/* The whole of s as a number that is finite. */
bool stats_number(const char *s, double *out);
/* Splits a line at tabs, in place. Returns how many fields there are, most at most. */
size_t stats_split(char *line, char *field[], size_t most);

/* Names and their numbers, in the order in which they were met. */
struct stats_names {
    char **at;
    size_t count, room;
    unsigned *sorted;
    size_t sorted_room;
};
unsigned stats_name(struct stats_names *n, const char *name);

/* The value so that a share of the sorted ones (0 to 1) is below it, between two of them in proportion. */
double stats_quantile(const double *sorted, size_t n, double share);
void stats_sort(double *values, size_t n);

#endif
