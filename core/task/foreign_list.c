/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign_list.c: see foreign_list.h.
 * Threads: see foreign_list.h. Owns: nothing. Not here: see foreign_list.h. */
#include "core/task/foreign_list.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

/* The places of each sort, and the kind that fills one that is not given: the last, with its own place behind
 * all that repeat it. */
static const int calls[] = { STARPU_PROLOGUE_CALLBACK, STARPU_PROLOGUE_CALLBACK_POP, STARPU_CALLBACK };
static const int pointers[] = { STARPU_CALLBACK_ARG_NFREE,
                                STARPU_PROLOGUE_CALLBACK_ARG_NFREE,
                                STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE,
                                STARPU_HANDLES_SEQUENTIAL_CONSISTENCY,
                                STARPU_TASK_SCHED_DATA,
                                STARPU_EXECUTE_ON_DATA,
                                STARPU_NAME };
static const int numbers[] = { STARPU_PRIORITY,
                               STARPU_EXECUTE_ON_WORKER,
                               STARPU_EXECUTE_ON_NODE,
                               STARPU_NODE_SELECTION_POLICY,
                               STARPU_HYPERVISOR_TAG,
                               STARPU_TASK_END_DEP,
                               STARPU_TASK_SYNCHRONOUS,
                               STARPU_WORKER_ORDER,
                               STARPU_SCHED_CTX,
                               STARPU_POSSIBLY_PARALLEL,
                               STARPU_SEQUENTIAL_CONSISTENCY,
                               STARPU_TASK_NO_SUBMITORDER,
                               STARPU_TASK_COLOR };
static const int words[] = { STARPU_EXECUTE_WHERE, STARPU_TAG_ONLY };

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
_Static_assert(COUNT(calls) == ORR_FOREIGN_CALLS && COUNT(pointers) == ORR_FOREIGN_POINTERS &&
                   COUNT(numbers) == ORR_FOREIGN_NUMBERS && COUNT(words) == ORR_FOREIGN_WORDS,
               "each place is in ORR_FOREIGN_ARGUMENTS");

static void begin(struct orr_foreign_list *l)
{
    *l = (struct orr_foreign_list){ .args_kind = STARPU_CL_ARGS_NFREE };
    for (int i = 0; i < COUNT(calls); i++) l->calls[i].kind = calls[COUNT(calls) - 1];
    for (int i = 0; i < COUNT(pointers); i++) l->pointers[i].kind = pointers[COUNT(pointers) - 1];
    for (int i = 0; i < COUNT(numbers); i++) l->numbers[i].kind = numbers[COUNT(numbers) - 1];
    for (int i = 0; i < COUNT(words); i++) l->words[i].kind = words[COUNT(words) - 1];
}

static int place_of(int kind, const int *kinds, int count)
{
    for (int i = 0; i < count; i++)
        if (kinds[i] == kind) return i;
    return -1;
}

/* ---- data and values ---- */

static int add_datum(struct orr_foreign_list *l, starpu_data_handle_t handle,
                     enum starpu_data_access_mode mode)
{
    if (l->count == l->room) {
        int room = l->room ? 2 * l->room : 8;
        struct starpu_data_descr *data = orr_realloc(l->data, (size_t)room * sizeof *data);
        if (!data) return -ENOMEM;
        l->data = data;
        l->room = room;
    }
    l->data[l->count++] = (struct starpu_data_descr){ handle, mode };
    return 0;
}

static int add_array(struct orr_foreign_list *l, const struct starpu_codelet *cl,
                     starpu_data_handle_t *handles, int nb)
{
    int error = 0;
    for (int i = 0; i < nb && !error; i++) {
        int known = cl->nbuffers > l->count;
        error = add_datum(l, handles[i], known ? STARPU_CODELET_GET_MODE(cl, l->count) : STARPU_RW);
    }
    return error;
}

static int add_described(struct orr_foreign_list *l, const struct starpu_data_descr *data, int nb)
{
    int error = 0;
    for (int i = 0; i < nb && !error; i++) error = add_datum(l, data[i].handle, data[i].mode);
    return error;
}

/* ---- kinds ---- */

static void set_call(struct orr_foreign_list *l, int kind, void *value)
{
    int i = place_of(kind, calls, COUNT(calls));
    l->calls[i].kind = kind;
    memcpy(&l->calls[i].value, &value, sizeof value); /* ISO C has no cast to functions */
}

static void set_pointer(struct orr_foreign_list *l, int kind, void *value)
{
    int i = place_of(kind, pointers, COUNT(pointers));
    l->pointers[i].kind = kind;
    l->pointers[i].value = value;
}

static void set_args(struct orr_foreign_list *l, int kind, void **v)
{
    l->args_kind = kind;
    l->args = v[0];
    l->args_bytes = (size_t)(uintptr_t)v[1];
}

static void set_word(struct orr_foreign_list *l, int kind, unsigned long long value)
{
    int i = kind == STARPU_EXECUTE_WHERE ? 0 : 1;
    l->words[i].kind = kind;
    l->words[i].value = value;
}

/* What other languages have for a kind whose argument C frees: what they give is theirs. */
static int borrowed(int kind)
{
    switch (kind) {
    case STARPU_CALLBACK_ARG: return STARPU_CALLBACK_ARG_NFREE;
    case STARPU_PROLOGUE_CALLBACK_ARG: return STARPU_PROLOGUE_CALLBACK_ARG_NFREE;
    case STARPU_PROLOGUE_CALLBACK_POP_ARG: return STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE;
    default: return kind;
    }
}

/* A kind with two values. False: it is none. */
static bool read_pair(struct orr_foreign_list *l, const struct starpu_codelet *cl, int kind, void **v,
                      int *error_out)
{
    switch (kind) {
    case STARPU_VALUE:
        if (!orr_args_add(&l->values, v[0], (size_t)(uintptr_t)v[1])) *error_out = -ENOMEM;
        return true;
    case STARPU_CL_ARGS:
    case STARPU_CL_ARGS_NFREE: set_args(l, kind, v); return true;
    case STARPU_DATA_ARRAY: *error_out = add_array(l, cl, v[0], *(int *)v[1]); return true;
    case STARPU_DATA_MODE_ARRAY: *error_out = add_described(l, v[0], *(int *)v[1]); return true;
    case STARPU_TASK_DEPS_ARRAY:
        l->deps_count = *(unsigned *)v[0];
        l->deps = v[1];
        return true;
    case STARPU_CALLBACK_WITH_ARG:
    case STARPU_CALLBACK_WITH_ARG_NFREE:
        set_call(l, STARPU_CALLBACK, v[0]);
        set_pointer(l, STARPU_CALLBACK_ARG_NFREE, v[1]);
        return true;
    default: return false;
    }
}

/* A kind with one value. False: it is none. */
static bool read_single(struct orr_foreign_list *l, int kind, void *v, int *error_out)
{
    int number = place_of(kind, numbers, COUNT(numbers));
    if (kind < STARPU_ACCESS_MODE_MAX)
        *error_out = add_datum(l, v, (enum starpu_data_access_mode)kind);
    else if (kind == STARPU_FLOPS)
        l->flops = *(double *)v;
    else if (kind == STARPU_EXECUTE_WHERE || kind == STARPU_TAG || kind == STARPU_TAG_ONLY)
        set_word(l, kind, *(unsigned long long *)v);
    else if (place_of(kind, calls, COUNT(calls)) >= 0)
        set_call(l, kind, v);
    else if (place_of(borrowed(kind), pointers, COUNT(pointers)) >= 0)
        set_pointer(l, borrowed(kind), v);
    else if (number >= 0) {
        l->numbers[number].kind = kind;
        l->numbers[number].value = *(int *)v;
    } else
        return false;
    return true;
}

int orr_foreign_list_read(struct orr_foreign_list *l, const struct starpu_codelet *cl, void **list,
                          const char *fn)
{
    int error = 0;
    begin(l);
    for (void **at = list; *at && !error;) {
        intptr_t kind = (intptr_t)*at++;
        bool is_kind = kind > 0 && kind <= INT32_MAX;
        if (is_kind && read_pair(l, cl, (int)kind, at, &error)) {
            at += 2;
        } else if (is_kind && read_single(l, (int)kind, *at, &error)) {
            at++;
        } else {
            orr_error("%s: %#lx, argument %td of the list, is no kind that it takes (starpu_fortran.h)", fn,
                      (unsigned long)kind, at - list);
            error = -EINVAL;
        }
    }
    orr_args_finish(&l->values);
    return error;
}

void orr_foreign_list_drop(struct orr_foreign_list *l)
{
    orr_free(l->data);
    if (l->values.buffer) orr_args_drop(&l->values);
}
