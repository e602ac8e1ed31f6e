/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h: numbers by a file and a key: open addressing.
 * Threads: main. Owns: nothing. Not here: who keeps what (model.c, order.c). */
#ifndef ORR_REPORT_TABLE_H
#define ORR_REPORT_TABLE_H

#include <stdlib.h>

#include "tools/report/report.h"

struct report_slot {
    uint64_t key;
    uint32_t file, value; /* value: 1 + what is kept; 0: empty */
};
struct report_table {
    struct report_slot *slots;
    size_t mask, used;
};

static inline struct report_slot *report_table_slot(const struct report_table *t, uint32_t file, uint64_t key)
{
    uint64_t h = (key ^ (uint64_t)file << 56) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (h >> 20) & t->mask;
    while (t->slots[i].value && (t->slots[i].key != key || t->slots[i].file != file)) i = (i + 1) & t->mask;
    return &t->slots[i];
}

/* REPORT_NONE: nothing is kept there. */
static inline uint32_t report_table_get(const struct report_table *t, uint32_t file, uint64_t key)
{
    return t->slots ? report_table_slot(t, file, key)->value - 1 : REPORT_NONE;
}

static inline void report_table_set(struct report_table *t, uint32_t file, uint64_t key, uint32_t value)
{
    if (!t->slots || t->used * 2 > t->mask) {
        struct report_table old = *t;
        t->mask = old.slots ? old.mask * 2 + 1 : 1023;
        t->slots = tool_alloc(t->mask + 1, sizeof *t->slots);
        for (size_t i = 0; old.slots && i <= old.mask; i++)
            if (old.slots[i].value) *report_table_slot(t, old.slots[i].file, old.slots[i].key) = old.slots[i];
        free(old.slots);
    }
    struct report_slot *s = report_table_slot(t, file, key);
    t->used += !s->value;
    *s = (struct report_slot){ key, file, value + 1 };
}

#endif
