/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.c: the table of kinds of devices, made of kind.def, and look-ups in it.
 * Threads: any. Owns: the table, which is constant. Not here: see kind.h. */
#include "core/base/kind.h"

#include <string.h>

#define NAMES(PREFIX, NAME, word_, title_)                                                                   \
    .type = PREFIX##_##NAME##_WORKER, .memory = PREFIX##_##NAME##_RAM,                                       \
    .symbol = #PREFIX "_" #NAME "_WORKER", .name = #NAME, .word = #word_, .title = title_
#define NUMBER(field) .number = offsetof(struct starpu_conf, field)
#define IN_FOREGROUND(PREFIX, NAME, word_)                                                                   \
    .in_foreground = offsetof(struct starpu_conf, disable_asynchronous_##word_##_copy),                      \
    .in_foreground_setting = ORR_SETTING(PREFIX##_DISABLE_ASYNCHRONOUS_##NAME##_COPY)
#define FUNCTIONS(word_) .functions = offsetof(struct starpu_codelet, word_##_funcs)
#define SHARED_MODEL(PREFIX, NAME) .shared_model_setting = ORR_SETTING(PREFIX##_PERF_MODEL_HOMOGENEOUS_##NAME)

_Static_assert(STARPU_NARCH < 31 && STARPU_NRAM <= 32, "sets of kinds are words of 32 bits");

const struct orr_kind orr_kinds[STARPU_NARCH] = {
#define CPU_KIND(PREFIX, NAME, name, title, ...)                                                             \
    [PREFIX##_##NAME##_WORKER] = { NAMES(PREFIX, NAME, name, title), NUMBER(n##name##s), FUNCTIONS(name),    \
                                   SHARED_MODEL(PREFIX, NAME), __VA_ARGS__ },
#define ACCELERATOR(PREFIX, NAME, name, title, default_number, ...)                                          \
    [PREFIX##_##NAME##_WORKER] = { NAMES(PREFIX, NAME, name, title),                                         \
                                   NUMBER(n##name),                                                          \
                                   FUNCTIONS(name),                                                          \
                                   SHARED_MODEL(PREFIX, NAME),                                               \
                                   IN_FOREGROUND(PREFIX, NAME, name),                                        \
                                   .number_setting = ORR_SETTING(PREFIX##_N##NAME),                          \
                                   .pipeline_setting = ORR_SETTING(PREFIX##_##NAME##_PIPELINE),              \
                                   __VA_ARGS__ },
#define NAME_ONLY(PREFIX, NAME, name, title, why)                                                            \
    [PREFIX##_##NAME##_WORKER] = { NAMES(PREFIX, NAME, name, title), NUMBER(n##name),                        \
                                   IN_FOREGROUND(PREFIX, NAME, name), .speed = 1 },
#include "core/base/kind.def"
};

const enum starpu_worker_archtype orr_any_accelerator = STARPU_CUDA_WORKER;

const struct orr_kind *orr_kind_of_memory(enum starpu_node_kind memory)
{
    for (unsigned i = 0; i < STARPU_NARCH; i++)
        if (orr_kinds[i].memory == memory) return &orr_kinds[i];
    return NULL;
}

const struct orr_kind *orr_kind_by_word(const char *word, size_t length)
{
    for (unsigned i = 0; i < STARPU_NARCH; i++)
        if (strlen(orr_kinds[i].word) == length && strncmp(orr_kinds[i].word, word, length) == 0)
            return &orr_kinds[i];
    return NULL;
}

long orr_kind_wanted(const struct orr_kind *k, const struct starpu_conf *conf, long max)
{
    int from_conf = *(const int *)((const char *)conf + k->number);
    bool program_first = conf->precedence_over_environment_variables || !orr_env_string(k->number_setting);
    if (from_conf >= 0 && program_first) return from_conf < max ? from_conf : max;
    return orr_env_long(k->number_setting, -1, -1, max);
}

orr_copy_method_fn orr_kind_copy_method(const struct starpu_data_copy_methods *methods,
                                        enum starpu_node_kind from, enum starpu_node_kind to)
{
#define COPY(FROM, TO, method)                                                                               \
    if (from == STARPU_##FROM##_RAM && to == STARPU_##TO##_RAM) return methods->method;
#include "core/base/kind.def"
    return NULL;
}
