/* SPDX-License-Identifier: BSD-3-Clause */
/* paje.h: the states in a trace of Paje, whoever wrote it.
 * Threads: main. Owns: nothing. Not here: what is made of them (paje_states.c). */
#ifndef ORR_STATS_PAJE_H
#define ORR_STATS_PAJE_H

#include "tools/stats/stats.h"

struct paje_state {
    unsigned container, value; /* names */
    double from, to;           /* in the trace's unit, ms */
};

struct paje {
    struct stats_names containers, values; /* as they are called, not their aliases */
    struct paje_state *states;             /* in the order in which they ended */
    size_t count, room;
};

/* 0, or TOOL_FAILED and it was said. */
int paje_read(const struct tool *tool, const char *path, struct paje *out);

#endif
