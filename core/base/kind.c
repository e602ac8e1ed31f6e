/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.c: the table of kinds of devices, made of kind.def, and look-ups in it.
 * Threads: any. Owns: the table, which is constant. Not here: see kind.h. */
#include "core/base/kind.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Of kinds whose devices can be listed and their memory limited. */
static const struct {
    size_t used, ids; /* offsets in struct starpu_conf */
    const struct orr_env *ids_setting, *limit_setting, *own_limit_setting;
} listed[STARPU_NARCH] = {
#define LISTED(NAME, name)                                                                                   \
    [STARPU_##NAME##_WORKER] = { offsetof(struct starpu_conf, use_explicit_workers_##name##_gpuid),          \
                                 offsetof(struct starpu_conf, workers_##name##_gpuid),                       \
                                 ORR_SETTING(STARPU_WORKERS_##NAME##ID),                                     \
                                 ORR_SETTING(STARPU_LIMIT_##NAME##_MEM),                                     \
                                 ORR_SETTING(STARPU_LIMIT_##NAME##_0_MEM) },
#include "core/base/kind.def"
};

/* "0 2,3"; returns how many; 0 also for nonsense, of which one warning. */
static unsigned read_ids(const struct orr_env *e, int *ids_out, unsigned max)
{
    unsigned n = 0;
    char *end;
    for (const char *s = orr_env_string(e); s && *s; s = end) {
        s += strspn(s, " ,");
        if (!*s) break;
        long id = strtol(s, &end, 10);
        if (end == s || id < 0 || id > INT_MAX) {
            orr_env_refuse(e, "a list of numbers of devices, such as 0 2", "all devices");
            return 0;
        }
        if (n < max) ids_out[n++] = (int)id;
    }
    return n;
}

unsigned orr_kind_ids(const struct orr_kind *k, const struct starpu_conf *conf, int *ids_out, unsigned max)
{
    const struct orr_env *e = listed[k->type].ids_setting;
    if (!e) return 0;
    bool in_conf = *(const unsigned *)((const char *)conf + listed[k->type].used) != 0;
    const unsigned *ids = (const unsigned *)((const char *)conf + listed[k->type].ids);
    if (!in_conf || (orr_env_string(e) && !conf->precedence_over_environment_variables))
        return read_ids(e, ids_out, max);
    long wanted = orr_kind_wanted(k, conf, max);
    unsigned n = wanted < 0 ? max : (unsigned)wanted;
    for (unsigned i = 0; i < n; i++) {
        ids_out[i] = (int)ids[i];
        for (unsigned j = 0; j < i; j++)
            if (ids[j] == ids[i]) return i; /* entries that the program did not write are all 0 */
    }
    return n;
}

bool orr_kind_is_asked_for(const struct orr_kind *k, const struct starpu_conf *conf)
{
    int ids[STARPU_NMAXWORKERS];
    return orr_kind_wanted(k, conf, STARPU_NMAXWORKERS) >= 0 ||
           orr_kind_ids(k, conf, ids, STARPU_NMAXWORKERS) > 0;
}

size_t orr_kind_memory_limit(const struct orr_kind *k, int number)
{
    char name[64];
    const struct orr_env *all = listed[k->type].limit_setting;
    if (!all) return 0;
    struct orr_env own = *listed[k->type].own_limit_setting;
    snprintf(name, sizeof name, "STARPU_LIMIT_%s_%d_MEM", k->name, number);
    own.name = name;
    const struct orr_env *e = orr_env_string(&own) ? &own : all;
    return orr_env_string(e) ? (size_t)(orr_env_double(e, 0, 0, 1e12) * 1048576.) : 0;
}

orr_copy_method_fn orr_kind_copy_method(const struct starpu_data_copy_methods *methods,
                                        enum starpu_node_kind from, enum starpu_node_kind to)
{
#define COPY(FROM, TO, method)                                                                               \
    if (from == STARPU_##FROM##_RAM && to == STARPU_##TO##_RAM) return methods->method;
#include "core/base/kind.def"
    return NULL;
}

void orr_kind_copies_that_start(const struct starpu_data_copy_methods *methods,
                                struct starpu_data_copy_methods *out)
{
    *out = *methods;
#define COPY(FROM, TO, method) out->method = NULL;
#include "core/base/kind.def"
}
