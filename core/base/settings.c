/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c: the list of settings, what is told of it, and a word about variables that have no effect.
 * Threads: any. Owns: the list, which is constant, and what programs gave. Not here: reading values (env.c),
 * what they mean (their users). */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include <orrery.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/near.h"
#include "core/base/sync.h"

const struct orr_env orr_settings[ORR_SETTINGS] = {
#define SETTING(theme, name, default_value, unit, help)                                                      \
    [ORR_SETTING_##name] = { #name, default_value, unit, help, theme },
#define FOREIGN(theme, pattern, why)
#include "core/base/settings.def"
#undef SETTING
#undef FOREIGN
};

static const struct foreign {
    const char *theme, *pattern, *why;
} foreign[] = {
#define SETTING(theme, name, default_value, unit, help)
#define FOREIGN(theme, pattern, why) { theme, pattern, why },
#include "core/base/settings.def"
#undef SETTING
#undef FOREIGN
};
enum { FOREIGNERS = sizeof foreign / sizeof foreign[0] };

enum { GIVEN_BYTES = 32 };
static char given[ORR_SETTINGS][GIVEN_BYTES]; /* [init_lock] by the program; "": nothing */

void orr_env_give(const struct orr_env *e, const char *text)
{
    snprintf(given[e - orr_settings], GIVEN_BYTES, "%s", text ? text : "");
}

int orrery_setting_get(unsigned n, struct orrery_setting *setting_out)
{
    if (!setting_out || n >= ORR_SETTINGS + FOREIGNERS) return -EINVAL;
    memset(setting_out, 0, sizeof *setting_out);
    if (n >= ORR_SETTINGS) {
        const struct foreign *f = &foreign[n - ORR_SETTINGS];
        setting_out->theme = f->theme;
        setting_out->name = f->pattern;
        setting_out->help = f->why;
        return 0;
    }
    const struct orr_env *e = &orr_settings[n];
    setting_out->theme = e->theme;
    setting_out->name = e->name;
    setting_out->default_value = e->default_value;
    setting_out->unit = e->unit;
    setting_out->help = e->help;
    setting_out->value = given[n][0] ? given[n] : orr_env_string(e);
    setting_out->source = given[n][0] ? "starpu_conf" : setting_out->value ? "environment" : "default";
    setting_out->is_honoured = 1;
    return 0;
}

/* ---- variables that have no effect ---- */

enum { NAME_MAX_BYTES = 64, TOLD_MAX = 5 };

/* STARPU_LIMIT_CPU_NUMA_0_MEM stands for those of other nodes. */
static bool is_setting(const char *name)
{
    if (fnmatch("STARPU_LIMIT_CPU_NUMA_[0-9]*_MEM", name, 0) == 0) return true;
#define LISTED(NAME, unused)                                                                                 \
    if (fnmatch("STARPU_LIMIT_" #NAME "_[0-9]*_MEM", name, 0) == 0) return true;
#include "core/base/kind.def"
    for (int i = 0; i < ORR_SETTINGS; i++)
        if (strcmp(orr_settings[i].name, name) == 0) return true;
    return false;
}

static const struct foreign *find_foreign(const char *name)
{
    for (int i = 0; i < FOREIGNERS; i++)
        if (fnmatch(foreign[i].pattern, name, 0) == 0) return &foreign[i];
    return NULL;
}

/* NULL: no setting has a name like this one. */
static const char *nearest(const char *name)
{
    struct orr_near near = { NULL, 0 };
    for (int i = 0; i < ORR_SETTINGS; i++) orr_near_offer(&near, name, orr_settings[i].name);
    return near.name;
}

static void tell(const char *name)
{
    const struct foreign *f = find_foreign(name);
    const char *like = f ? NULL : nearest(name);
    if (f)
        orr_warn("%s is set and has no effect: %s", name, f->why);
    else if (like)
        orr_warn("%s is set and is no setting; %s is (orrery_settings lists them)", name, like);
    else
        orr_warn("%s is set and is no setting (orrery_settings lists them)", name);
}

/* Copies the name of an entry "NAME=value" of the environment if it looks like a setting
 * that nobody reads. */
static bool has_no_effect(const char *entry, char name_out[NAME_MAX_BYTES])
{
    static const char *const prefixes[] = { "STARPU_", "ORRERY_", "SC_HYPERVISOR_", "SOCL_" };
    size_t bytes = strcspn(entry, "=");
    bool ours = false;
    if (bytes >= NAME_MAX_BYTES || entry[bytes] == 0 || entry[bytes + 1] == 0)
        return false; /* empty: unset */
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        ours |= strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0;
    if (!ours) return false;
    memcpy(name_out, entry, bytes);
    name_out[bytes] = 0;
    return !is_setting(name_out);
}

void orr_settings_check(void)
{
    static _Atomic bool checked;
    extern char **environ;
    char name[NAME_MAX_BYTES];
    int found = 0;
    if (atomic_exchange_explicit(&checked, true, memory_order_relaxed)) return;
    for (char **entry = environ; entry && *entry; entry++)
        if (has_no_effect(*entry, name) && ++found <= TOLD_MAX) tell(name);
    if (found > TOLD_MAX)
        orr_warn("%d more variables are set and have no effect (orrery_settings lists them)",
                 found - TOLD_MAX);
}
