/* SPDX-License-Identifier: BSD-3-Clause */
/* async_copy.c: the settings that have copies made in the foreground or not at all, and questions about them.
 * Threads: any asks. Owns: nothing beyond the settings' declarations. Not here: copying
 * (core/data/transfer.c). */
#include "core/run/async_copy.h"

#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/mem/node.h"

static bool is_on(const struct starpu_conf *conf, int said, const struct orr_env *setting)
{
    if (conf->precedence_over_environment_variables) return said > 0;
    return orr_env_long(setting, said > 0, 0, 1) != 0;
}

void orr_async_copy_init(const struct starpu_conf *conf)
{
    orr_foreground_kinds = 0;
    for (unsigned i = 0; i < STARPU_NARCH; i++) {
        const struct orr_kind *k = &orr_kinds[i];
        if (!k->in_foreground_setting) continue;
        int said = *(const int *)((const char *)conf + k->in_foreground);
        if (is_on(conf, said, k->in_foreground_setting)) orr_foreground_kinds |= 1u << k->memory;
    }
    if (is_on(conf, conf->disable_asynchronous_copy, ORR_SETTING(STARPU_DISABLE_ASYNCHRONOUS_COPY)))
        orr_foreground_kinds = ~0u;
    orr_map_wanted = is_on(conf, conf->enable_map, ORR_SETTING(STARPU_ENABLE_MAP));
}

int starpu_asynchronous_copy_disabled(void)
{
    return orr_foreground_kinds == ~0u;
}

int starpu_asynchronous_copy_disabled_for(enum starpu_node_kind kind)
{
    return (unsigned)kind < STARPU_NRAM && (orr_foreground_kinds >> kind & 1);
}

/* starpu_asynchronous_<kind>_copy_disabled, for each kind of StarPU's that is no CPU. */
#define QUESTION_STARPU(NAME, name)                                                                          \
    int starpu_asynchronous_##name##_copy_disabled(void)                                                     \
    {                                                                                                        \
        return starpu_asynchronous_copy_disabled_for(STARPU_##NAME##_RAM);                                   \
    }
#define QUESTION_ORRERY(NAME, name)
#define CPU_KIND(PREFIX, NAME, name, title, ...)
#define KIND(PREFIX, NAME, name, title) QUESTION_##PREFIX(NAME, name)
#include "core/base/kind.def"
