/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.c: the environment as programs ask for it (starpu_helper.h).
 * Threads: any that nobody sets variables beside. Owns: nothing. Not here: the runtime's own settings
 * (core/base/env.h). */
#include <limits.h>
#include <stdlib.h>
#include <strings.h>

#include <starpu.h>

#include "core/base/log.h"

char *starpu_getenv(const char *str)
{
    char *s = getenv(str);
    return s && *s ? s : NULL;
}

int starpu_get_env_string_var_default(const char *str, const char *strings[], int defvalue)
{
    const char *value = starpu_getenv(str);
    if (!value) return defvalue;
    for (int i = 0; strings[i]; i++)
        if (strcasecmp(value, strings[i]) == 0) return i;
    orr_warn("%s=%s is ignored: it is none of the values that it takes, such as %s", str, value,
             strings[0] ? strings[0] : "(none)");
    return defvalue;
}

/* The factor of a letter: K, M, G, T, P, E, in powers of 1024; B or nothing: 1; 0: none of these. */
static double factor_of(const char *suffix)
{
    static const char letters[] = "KMGTPE";
    double factor = 1;
    if (*suffix == 0 || strcasecmp(suffix, "B") == 0) return 1;
    for (const char *l = letters; *l; l++) {
        factor *= 1024;
        if ((*suffix == *l || *suffix == *l + ('a' - 'A')) &&
            (suffix[1] == 0 || strcasecmp(suffix + 1, "B") == 0))
            return factor;
    }
    return 0;
}

int starpu_get_env_size_default(const char *str, int defval)
{
    const char *value = starpu_getenv(str);
    char *end;
    if (!value) return defval;
    double bytes = strtod(value, &end), factor = end == value ? 0 : factor_of(end);
    if (factor > 0 && bytes >= 0 && bytes * factor <= INT_MAX) return (int)(bytes * factor);
    orr_warn("%s=%s is ignored: it takes a size from 0 to %d bytes, such as 64K", str, value, INT_MAX);
    return defval;
}
