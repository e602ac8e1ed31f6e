/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of mpi_cholesky.
 * Threads: main.
 * Owns: nothing.
 * Not here: what the options do (mpi_cholesky.c). */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "usage: mpirun -n RANKS mpi_cholesky [OPTION]... FILE | --generate N\n"
    "Factorises a sparse symmetric positive definite matrix A = L L' in tiles, on all ranks, and solves A x "
    "= b.\n"
    "\n"
    "  FILE            Matrix Market file, plain or gzipped: coordinate; real, integer or pattern; symmetric "
    "or general\n"
    "  --generate N    a random matrix of N rows instead\n"
    "  --band W        its half band width (default: N/8)\n"
    "  --seed S        its seed (default: 1)\n"
    "  --tile B        rows and columns of a tile (default: 128)\n"
    "  --grid PxQ      tile (i, j) lives on rank (i mod P, j mod Q); P times Q is the number of ranks\n"
    "                  (default: as square as possible)\n"
    "  --no-priorities all tasks are alike (default: priority is the length of the path to the end)\n"
    "  --repeat R      assemble, factorise and solve R times; print the best and the median time\n"
    "  --check         compare with LAPACK on rank 0 (up to 6000 rows); fail where errors exceed bounds\n"
    "  --quiet         print one line\n"
    "  --help          print this\n"
    "\n"
    "The scheduling policy is that of STARPU_SCHED, the number of workers per rank that of STARPU_NCPU.\n"
    "Exit status: 0 when all is well, 1 for a failure, 2 for a bad command line; the same on every rank.\n";

static bool parse_int(const char *text, long low, long high, long *value_out)
{
    char *end;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value < low || value > high) return false;
    *value_out = value;
    return true;
}

static bool parse_grid(const char *text, struct options *options)
{
    int used = 0, p, q;
    if (!text || sscanf(text, "%9dx%9d%n", &p, &q, &used) != 2 || text[used] || p < 1 || q < 1) return false;
    options->grid_rows = p;
    options->grid_columns = q;
    return true;
}

/* Reads the value of an option that takes one. Returns false when it is bad; *known_out tells a strange
 * option. */
static bool parse_value(struct options *options, const char *name, const char *text, bool *known_out)
{
    static const struct {
        const char *name;
        long low, high;
    } table[] = { { "--generate", 1, INT_MAX / 16 },
                  { "--band", 1, INT_MAX / 16 },
                  { "--seed", 0, LONG_MAX },
                  { "--tile", 1, 32768 },
                  { "--repeat", 1, 1000 } };
    long value = 0;
    *known_out = true;
    if (!strcmp(name, "--grid")) return parse_grid(text, options);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (strcmp(name, table[k].name)) continue;
        if (!parse_int(text, table[k].low, table[k].high, &value)) return false;
        switch (k) {
        case 0: options->generate = (int)value; break;
        case 1: options->band = (int)value; break;
        case 2: options->seed = (uint64_t)value; break;
        case 3: options->tile_size = (int)value; break;
        default: options->repeat = (int)value; break;
        }
        return true;
    }
    *known_out = false;
    return false;
}

static bool parse_flag(struct options *options, const char *name)
{
    if (!strcmp(name, "--no-priorities"))
        options->priorities = false;
    else if (!strcmp(name, "--check"))
        options->check = true;
    else if (!strcmp(name, "--quiet"))
        options->quiet = true;
    else if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        options->help = true;
    else
        return false;
    return true;
}

static int finish(struct options *options, int ranks, char *error_out, size_t error_size)
{
    if (!options->path && !options->generate) {
        snprintf(error_out, error_size, "no input: give a Matrix Market FILE or --generate N (see --help)");
        return -1;
    }
    if (options->path && options->generate) {
        snprintf(error_out, error_size, "both %s and --generate: only one input is possible", options->path);
        return -1;
    }
    if (!options->grid_rows) {
        for (int p = 1; (long)p * p <= ranks; p++)
            if (ranks % p == 0) options->grid_rows = p;
        options->grid_columns = ranks / options->grid_rows;
    }
    if ((long)options->grid_rows * options->grid_columns != ranks) {
        snprintf(error_out, error_size, "grid %dx%d needs %ld ranks, but this job has %d", options->grid_rows,
                 options->grid_columns, (long)options->grid_rows * options->grid_columns, ranks);
        return -1;
    }
    return 0;
}

int options_parse(struct options *options, int argc, char **argv, int ranks, char *error_out,
                  size_t error_size)
{
    *options = (struct options){ .seed = 1, .tile_size = 128, .repeat = 1, .priorities = true };
    for (int k = 1; k < argc; k++) {
        bool known;
        if (argv[k][0] != '-') {
            if (options->path) {
                snprintf(error_out, error_size, "two files, %s and %s: only one is possible", options->path,
                         argv[k]);
                return -1;
            }
            options->path = argv[k];
            continue;
        }
        if (parse_flag(options, argv[k])) continue;
        if (parse_value(options, argv[k], argv[k + 1], &known)) {
            k++;
            continue;
        }
        if (!known)
            snprintf(error_out, error_size, "unknown option %s (see --help)", argv[k]);
        else
            snprintf(error_out, error_size, "bad or missing value after %s: %s (see --help)", argv[k],
                     argv[k + 1] ? argv[k + 1] : "nothing");
        return -1;
    }
    return options->help ? 0 : finish(options, ranks, error_out, error_size);
}
