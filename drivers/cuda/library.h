/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h: CUDA's driver library, loaded when it is asked for.
 * Threads: loading by the main thread; what is called is any's, as CUDA says. Owns: the table of its
 * functions.
 * Not here: their declarations (api.h), the libraries above it (math.c). */
#ifndef ORR_DRIVERS_CUDA_LIBRARY_H
#define ORR_DRIVERS_CUDA_LIBRARY_H

#include <stdbool.h>

#include "drivers/cuda/api.h"

struct cuda_library {
#define FIELD(name, symbol, parameters) int(*name) parameters;
    CUDA_FUNCTIONS(FIELD)
#undef FIELD
};

extern struct cuda_library orr_cuda; /* [const once orr_cuda_load said yes] */

/* Whether functions for CPUs run on its devices, whose memory is the host's: only a double of the library,
 * for tests, says so. */
bool orr_cuda_runs_cpu_functions(void);

/* Loads the library, or the file that ORRERY_CUDA_LIBRARY names, and initialises it. False: there is none, or
 * it has no device. */
bool orr_cuda_load(void);

/* A text for a result of the library's: its name and what that means. */
struct cuda_text {
    char chars[160];
};
struct cuda_text orr_cuda_text(int result);

/* The function with this name that the program itself has, or the first of these files (the list ends with
 * NULL; tried in order, and kept loaded); NULL: nobody has it. */
void *orr_cuda_find(const char *name, const char *const *files);

#endif
