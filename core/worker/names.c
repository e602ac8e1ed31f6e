/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: names of workers and of their kinds, and lists of them for people.
 * Threads: any. Owns: nothing. Not here: a worker's own name (its driver makes it), the names of kinds
 * (core/base/kind.def). */
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/kind.h"
#include "core/worker/worker.h"

const char *starpu_worker_get_type_as_string(enum starpu_worker_archtype type)
{
    if (type == STARPU_ANY_WORKER) return "STARPU_ANY_WORKER";
    return starpu_worker_archtype_is_valid(type) ? orr_kinds[type].symbol : "STARPU_unknown_WORKER";
}

const char *starpu_worker_get_type_as_env_var(enum starpu_worker_archtype type)
{
    return starpu_worker_archtype_is_valid(type) ? orr_kinds[type].name : "UNKNOWN";
}

enum starpu_worker_archtype starpu_worker_get_type_from_string(const char *type)
{
    for (unsigned i = 0; type && i < STARPU_NARCH; i++)
        if (strcmp(type, orr_kinds[i].symbol) == 0 || strcmp(type, orr_kinds[i].name) == 0)
            return (enum starpu_worker_archtype)i;
    return STARPU_UNKNOWN_WORKER;
}

void starpu_worker_get_name(int id, char *dst, size_t maxlen)
{
    if (!dst || maxlen == 0) return;
    bool known = id >= 0 && (unsigned)id < orr_worker_count;
    snprintf(dst, maxlen, "%s", known ? orr_workers[id].name : "");
}

void starpu_worker_display_names(FILE *output, enum starpu_worker_archtype type)
{
    int n = starpu_worker_get_count_by_type(type);
    if (n <= 0) {
        fprintf(output, "No %s worker\n", starpu_worker_get_type_as_env_var(type));
        return;
    }
    fprintf(output, "%d %s worker%s:\n", n,
            type == STARPU_ANY_WORKER ? "ANY" : starpu_worker_get_type_as_env_var(type), n > 1 ? "s" : "");
    for (unsigned i = 0; i < orr_worker_count; i++)
        if (type == STARPU_ANY_WORKER || orr_workers[i].type == type)
            fprintf(output, "\t%s\n", orr_workers[i].name);
}

void starpu_worker_display_count(FILE *output, enum starpu_worker_archtype type)
{
    int n = starpu_worker_get_count_by_type(type);
    fprintf(output, "%d %s worker%s\n", n > 0 ? n : 0,
            type == STARPU_ANY_WORKER ? "ANY" : starpu_worker_get_type_as_env_var(type), n == 1 ? "" : "s");
}

void starpu_worker_display_all(FILE *output)
{
    for (unsigned type = 0; type < STARPU_NARCH; type++)
        if (starpu_worker_get_count_by_type((enum starpu_worker_archtype)type) > 0)
            starpu_worker_display_names(output, (enum starpu_worker_archtype)type);
}
