/* SPDX-License-Identifier: BSD-3-Clause */
/* env.c: reads settings from the environment and refuses nonsense with one line.
 * Threads: any. Owns: nothing. Not here: what the settings mean. */
#include "core/base/env.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/sync.h"

const char *orr_env_string(const struct orr_env *e)
{
    const char *s = getenv(e->name);
    return s && *s ? s : NULL;
}

/* A setting may be read often: nonsense is said once. */
static bool first_time(const struct orr_env *e)
{
    enum { TOLD = 128 };
    static _Atomic(const struct orr_env *) told[TOLD];
    for (int i = 0; i < TOLD; i++) {
        const struct orr_env *other = NULL;
        if (atomic_compare_exchange_strong_explicit(&told[i], &other, e, memory_order_relaxed,
                                                    memory_order_relaxed))
            return true;
        if (other == e) return false;
    }
    return true;
}

void orr_env_refuse(const struct orr_env *e, const char *wants, const char *used)
{
    if (first_time(e))
        orr_warn("%s=%s is ignored: it takes %s (%s); using %s", e->name, orr_env_string(e), wants, e->help,
                 used);
}

long orr_env_long(const struct orr_env *e, long fallback, long min, long max)
{
    const char *s = orr_env_string(e);
    if (!s) return fallback;
    char *end;
    errno = 0;
    long v = strtol(s, &end, 10);
    if (errno || *end || v < min || v > max) {
        char wants[64], used[32];
        snprintf(wants, sizeof wants, "a whole number from %ld to %ld", min, max);
        snprintf(used, sizeof used, "%ld", fallback);
        orr_env_refuse(e, wants, used);
        return fallback;
    }
    return v;
}

double orr_env_double(const struct orr_env *e, double fallback, double min, double max)
{
    const char *s = orr_env_string(e);
    if (!s) return fallback;
    char *end;
    errno = 0;
    double v = strtod(s, &end);
    if (errno || *end || !isfinite(v) || v < min || v > max) {
        char wants[64], used[32];
        snprintf(wants, sizeof wants, "a number from %g to %g", min, max);
        snprintf(used, sizeof used, "%g", fallback);
        orr_env_refuse(e, wants, used);
        return fallback;
    }
    return v;
}
