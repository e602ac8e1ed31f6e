/* SPDX-License-Identifier: BSD-3-Clause */
/* given.c: compares starpu_conf with what starpu_conf_init() makes of it; see given.h.
 * Threads: who starts or ends the runtime, under init_lock. Owns: nothing. Not here: struct starpu_conf
 * (include/starpu.h). */
#include "core/run/given.h"

#include <stddef.h>
#include <stdio.h>

#include <orrery.h>

#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/base/log.h"

/* Fields that have a setting, besides those of the kinds of devices. */
static const struct field {
    enum orr_setting setting;
    size_t offset;
    int unset;    /* the field says nothing */
    bool is_flag; /* it always says something, and without precedence 0 does not go before the environment */
} fields[] = {
#define FIELD(name, setting, ...)                                                                            \
    {                                                                                                        \
        ORR_SETTING_##setting, offsetof(struct starpu_conf, name), __VA_ARGS__                               \
    }
    FIELD(ncpus, STARPU_NCPU, -1, false),
    FIELD(reserve_ncpus, STARPU_RESERVE_NCPU, -1, false),
    FIELD(bus_calibrate, STARPU_BUS_CALIBRATE, -1, false),
    FIELD(calibrate, STARPU_CALIBRATE, -1, false),
    FIELD(single_combined_worker, STARPU_SINGLE_COMBINED_WORKER, -1, false),
    FIELD(disable_asynchronous_copy, STARPU_DISABLE_ASYNCHRONOUS_COPY, 0, true),
    FIELD(enable_map, STARPU_ENABLE_MAP, 0, true),
    FIELD(catch_signals, STARPU_CATCH_SIGNALS, 1, true),
#undef FIELD
};

static int number_at(const struct starpu_conf *conf, size_t offset)
{
    return *(const int *)((const char *)conf + offset);
}

/* Notes the number of a field if it is in force. */
static void give(const struct orr_env *e, const struct starpu_conf *conf, size_t offset, int unset,
                 bool is_flag)
{
    int value = number_at(conf, offset);
    bool before = conf->precedence_over_environment_variables != 0, is_set = orr_env_string(e) != NULL;
    if (is_set ? !before || (value == unset && !is_flag) : value == unset) return;
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    orr_env_give(e, text);
}

static void give_policy(const struct starpu_conf *conf)
{
    const struct orr_env *e = ORR_SETTING(STARPU_SCHED);
    if (orr_env_string(e) && !conf->precedence_over_environment_variables) return;
    if (conf->sched_policy)
        orr_env_give(e,
                     conf->sched_policy->policy_name ? conf->sched_policy->policy_name : "the program's own");
    else if (conf->sched_policy_name)
        orr_env_give(e, conf->sched_policy_name);
}

static void give_cores(const struct starpu_conf *conf)
{
    bool is_set = orr_env_string(ORR_SETTING(STARPU_WORKERS_CPUID)) ||
                  orr_env_string(ORR_SETTING(STARPU_WORKERS_COREID));
    if (conf->use_explicit_workers_bindid && (!is_set || conf->precedence_over_environment_variables))
        orr_env_give(ORR_SETTING(STARPU_WORKERS_CPUID), "the program's list");
}

static void tell(void)
{
    struct orrery_setting s;
    for (unsigned n = 0; orrery_setting_get(n, &s) == 0; n++)
        if (s.value) orr_info("setting %s=%s (%s)", s.name, s.value, s.source);
}

void orr_given_start(const struct starpu_conf *conf)
{
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        give(&orr_settings[fields[i].setting], conf, fields[i].offset, fields[i].unset, fields[i].is_flag);
    for (unsigned i = 0; i < STARPU_NARCH; i++) {
        const struct orr_kind *k = &orr_kinds[i];
        if (k->number_setting) give(k->number_setting, conf, k->number, -1, false);
        if (k->in_foreground_setting) give(k->in_foreground_setting, conf, k->in_foreground, 0, true);
    }
    give_policy(conf);
    give_cores(conf);
    tell();
}

void orr_given_stop(void)
{
    for (int i = 0; i < ORR_SETTINGS; i++) orr_env_give(&orr_settings[i], NULL);
}
