/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of mpi_cholesky.
 * Threads: main.
 * Owns: nothing.
 * Not here: what the options do (mpi_cholesky.c). */
#ifndef CHOLESKY_OPTIONS_H
#define CHOLESKY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
    const char *path;   /* NULL: generate */
    int generate, band; /* rows; half band width, 0: an eighth of the rows */
    uint64_t seed;
    int tile_size, grid_rows, grid_columns, repeat;
    bool priorities, check, quiet, help;
};

extern const char options_help[];

/* Parses the command line for a job of `ranks` ranks. Returns 0, or -1 with one line in error_out. */
int options_parse(struct options *options, int argc, char **argv, int ranks, char *error_out,
                  size_t error_size);

#endif
