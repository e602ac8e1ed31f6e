/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign_list.h: lists of fstarpu_task_insert() and its relatives, in arrays of pointers, as lists of
 * starpu_task_insert(). C cannot make a list of arguments at run time: so the list always has the same kinds,
 * and a place whose kind was not given repeats one that does no harm, before where that has its own place.
 * Threads: one per list. Owns: nothing; see orr_foreign_list_drop(). Not here: the kinds' meaning
 * (arguments.def). */
#ifndef ORR_TASK_FOREIGN_LIST_H
#define ORR_TASK_FOREIGN_LIST_H

#include <starpu.h>

#include "core/base/export.h"
#include "core/task/args.h"
#include "core/task/insert.h"

enum { ORR_FOREIGN_CALLS = 3, ORR_FOREIGN_POINTERS = 7, ORR_FOREIGN_NUMBERS = 13, ORR_FOREIGN_WORDS = 2 };

struct orr_foreign_list {
    struct starpu_data_descr *data;
    int count, room; /* of data */
    struct orr_args values;
    int args_kind; /* STARPU_CL_ARGS or STARPU_CL_ARGS_NFREE */
    void *args;
    size_t args_bytes;
    struct {
        int kind;
        void (*value)(void *);
    } calls[ORR_FOREIGN_CALLS];
    struct {
        int kind;
        void *value;
    } pointers[ORR_FOREIGN_POINTERS];
    struct {
        int kind, value;
    } numbers[ORR_FOREIGN_NUMBERS];
    struct {
        int kind;
        unsigned long long value;
    } words[ORR_FOREIGN_WORDS];
    double flops;
    unsigned deps_count;
    struct starpu_task **deps;
};

/* Reads list, which NULL ends, for tasks of cl; fn says it in messages. The caller drops *l in either case.
 * Returns 0; -EINVAL: a kind that lists do not have (said); -ENOMEM. */
ORR_EXPORT int orr_foreign_list_read(struct orr_foreign_list *l, const struct starpu_codelet *cl, void **list,
                                     const char *fn);

/* Frees what the list holds, when a task has been made of it. */
ORR_EXPORT void orr_foreign_list_drop(struct orr_foreign_list *l);

/* What follows the codelet in a call of starpu_task_insert() and its relatives, with the 0 at the end. */
#define ORR_FOREIGN_PLACE_(a, i) (a)[i].kind, (a)[i].value
#define ORR_FOREIGN_PLACES_2_(a, i) ORR_FOREIGN_PLACE_(a, i), ORR_FOREIGN_PLACE_(a, (i) + 1)
#define ORR_FOREIGN_PLACES_6_(a, i)                                                                          \
    ORR_FOREIGN_PLACES_2_(a, i), ORR_FOREIGN_PLACES_2_(a, (i) + 2), ORR_FOREIGN_PLACES_2_(a, (i) + 4)
#define ORR_FOREIGN_ARGUMENTS(l)                                                                             \
    STARPU_DATA_MODE_ARRAY, (l)->data, (l)->count, (l)->args_kind, (l)->args, (l)->args_bytes,               \
        ORR_INSERT_PACKED, (l)->values.buffer, ORR_FOREIGN_PLACES_2_((l)->calls, 0),                         \
        ORR_FOREIGN_PLACE_((l)->calls, 2), ORR_FOREIGN_PLACES_6_((l)->pointers, 0),                          \
        ORR_FOREIGN_PLACE_((l)->pointers, 6), ORR_FOREIGN_PLACES_6_((l)->numbers, 0),                        \
        ORR_FOREIGN_PLACES_6_((l)->numbers, 6), ORR_FOREIGN_PLACE_((l)->numbers, 12),                        \
        ORR_FOREIGN_PLACES_2_((l)->words, 0), STARPU_FLOPS, (l)->flops, STARPU_TASK_DEPS_ARRAY,              \
        (l)->deps_count, (l)->deps, 0

#endif
