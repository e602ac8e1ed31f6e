/* SPDX-License-Identifier: BSD-3-Clause */
/* env.c: reads settings from the environment and refuses nonsense with one line.
 * Threads: any. Owns: nothing. Not here: what the settings mean. */
#include "core/base/env.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/log.h"

const char *orr_env_string(const struct orr_env *e)
{
    const char *s = getenv(e->name);
    return s && *s ? s : NULL;
}

long orr_env_long(const struct orr_env *e, long fallback, long min, long max)
{
    const char *s = orr_env_string(e);
    if (!s) return fallback;
    char *end;
    errno = 0;
    long v = strtol(s, &end, 10);
    if (errno || *end || v < min || v > max) {
        orr_warn("%s=%s is ignored: it takes a whole number from %ld to %ld (%s); using %ld", e->name, s, min, max, e->help,
                 fallback);
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
        orr_warn("%s=%s is ignored: it takes a number from %g to %g (%s); using %g", e->name, s, min, max, e->help, fallback);
        return fallback;
    }
    return v;
}
