/* SPDX-License-Identifier: BSD-3-Clause */
/* env.h: settings from the environment. All are in one list, settings.def; who wants one says
 * ORR_SETTING(NAME).
 * Threads: any. Owns: nothing. Not here: struct starpu_conf (core/run). */
#ifndef ORR_BASE_ENV_H
#define ORR_BASE_ENV_H

#include <stdbool.h>

#include "core/base/export.h"

struct orr_env {
    const char *name;          /* as in the environment */
    const char *default_value; /* for the list of settings */
    const char *unit;          /* "us", "MiB", "0|1", "name", ... */
    const char *help;          /* one line */
    const char *theme;
};

enum orr_setting {
#define SETTING(theme, name, default_value, unit, help) ORR_SETTING_##name,
#define FOREIGN(theme, pattern, why)
#include "core/base/settings.def"
#undef SETTING
#undef FOREIGN
    ORR_SETTINGS
};
extern ORR_EXPORT const struct orr_env orr_settings[ORR_SETTINGS];
#define ORR_SETTING(name) (&orr_settings[ORR_SETTING_##name])

/* The variable's text, or NULL when unset or empty. */
ORR_EXPORT const char *orr_env_string(const struct orr_env *e);
/* Its value, or fallback when unset; nonsense or a value outside [min, max] is one warning, and fallback. */
ORR_EXPORT long orr_env_long(const struct orr_env *e, long fallback, long min, long max);
ORR_EXPORT double orr_env_double(const struct orr_env *e, double fallback, double min, double max);

/* The program gave the setting this value in another way (starpu_conf): for the list alone. NULL: it does not
 * any more. The text is copied, 31 bytes of it. While the runtime starts or ends. */
void orr_env_give(const struct orr_env *e, const char *text);

/* Says, the first time, that the variable's text is not what it takes, and what is used instead. */
void orr_env_refuse(const struct orr_env *e, const char *wants, const char *used);

/* Warns, once in a process, of variables that look like settings and have no effect. */
void orr_settings_check(void);

#endif
