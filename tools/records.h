/* SPDX-License-Identifier: BSD-3-Clause */
/* records.h: reads files of records, as tasks.rec is: lines NAME: VALUE, an empty one behind each record.
 * Threads: main. Owns: nothing. Not here: what is done with them (starpu_perfmodel_recdump.c,
 * starpu_tasks_rec_complete.c), who writes them (report/export.c). */
#ifndef ORR_TOOLS_RECORDS_H
#define ORR_TOOLS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/tool.h"

struct records {
    const struct tool *tool; /* in whose name is complained */
    const char *path;
    FILE *in;
    size_t number; /* of the latest line */
    char *line;    /* that one */
    size_t line_room;
    /* the latest record */
    char *text; /* its lines, as they are */
    size_t bytes, text_room;
    char *model; /* NULL: it has none; and so on */
    bool has_footprint, closed;
    uint32_t footprint;
};

enum records_status { RECORDS_DAMAGED = -1, RECORDS_END = 0, RECORDS_ONE = 1 };

/* path NULL or "-": the standard input. False: it cannot be read, which was said. */
bool records_open(struct records *r, const struct tool *tool, const char *path);
/* Of a record without lines, bytes is 0. RECORDS_DAMAGED was said. Text and model until the next call. */
enum records_status records_next(struct records *r);
void records_close(struct records *r);

#endif
