/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.c: see kept.h. Threads: see kept.h. Owns: see kept.h. Not here: see kept.h. */
#include "mpi/value/kept.h"

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

struct orr_kept *orr_kept_make(struct orr_owned *o)
{
    struct orr_kept *k = orr_calloc(1, sizeof *k);
    if (!k) goto fail;
    *k = (struct orr_kept){ .owned = o, .version = o->version };
    starpu_data_register_same(&k->value, o->handle);
    if (!k->value) goto free_kept;
    orr_acting(orr_self())->depth++;
    int r = orr_owned_set_tag(o->value, k->value, o->tag);
    if (!r) r = starpu_data_cpy(k->value, o->handle, 1, NULL, NULL);
    orr_acting(orr_self())->depth--;
    if (!r) return k;
    starpu_data_unregister_submit(k->value);
free_kept:
    orr_free(k);
fail:
    orr_error(
        "out of memory for the value of the data with tag %lld, which is written where its owner may still "
        "ask for it",
        (long long)o->tag);
    return NULL;
}

struct orr_kept *orr_kept_find(struct orr_kept *list, const struct orr_owned *o, uint32_t version)
{
    while (list && (list->owned != o || list->version != version)) list = list->next;
    return list;
}

static bool is_old(const struct orr_kept *k, const struct orr_owned *o)
{
    bool passed = k->version != k->owned->version && orr_load_acquire(&k->owned->put_off) == 0;
    return (k->owned == o || passed) && orr_load_acquire(&orr_owned_of(k->value)->put_off) == 0;
}

struct orr_kept *orr_kept_take_old(struct orr_kept **list, const struct orr_owned *o)
{
    while (*list && !is_old(*list, o)) list = &(*list)->next;
    struct orr_kept *k = *list;
    if (k) *list = k->next;
    return k;
}

void orr_kept_drop(struct orr_kept *k)
{
    starpu_data_unregister_submit(k->value);
    orr_free(k);
}
