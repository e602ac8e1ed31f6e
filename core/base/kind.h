/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.h: what there is to know of a kind of device, by the type of its workers or the kind of its memory.
 * Threads: any. Owns: the table, which is constant. Not here: how a kind is driven (drivers/), which devices
 * there are (core/worker, core/mem).
 *
 * The rows are in kind.def. No file but that, the public headers and drivers/ names a kind other than CPU. */
#ifndef ORR_BASE_KIND_H
#define ORR_BASE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include <starpu.h>

#include "core/base/env.h"

struct orr_kind {
    enum starpu_worker_archtype type;
    enum starpu_node_kind memory;
    const char *symbol; /* of the type: "STARPU_CPU_WORKER" */
    const char *name;   /* in the names of settings: "CPU" */
    const char *word;   /* in models' files, of tools and settings: "cpu" */
    const char *title;  /* for people */

    size_t functions;     /* offset in struct starpu_codelet of its implementations; 0: it has none */
    size_t number;        /* offset in struct starpu_conf: how many */
    size_t in_foreground; /* the same: copy in the foreground; 0: there is no such field */
    /* Settings; NULL: there is none. */
    const struct orr_env *number_setting, *pipeline_setting, *in_foreground_setting, *shared_model_setting;

    double speed;         /* a rough guess relative to a core, for models that do not tell kinds apart */
    bool is_shared_model; /* the default of shared_model_setting: all workers share their models */
    bool needs_offset;    /* the address of a datum is a handle; the place in it is apart */
};

extern const struct orr_kind orr_kinds[STARPU_NARCH]; /* by type; each type has one */

/* The kind of that memory; NULL: no kind of device has such memory (disks). */
const struct orr_kind *orr_kind_of_memory(enum starpu_node_kind memory);
/* The kind with this word; NULL: there is none. */
const struct orr_kind *orr_kind_by_word(const char *word, size_t length);

/* What stands for all that are no CPUs where an interface tells two sorts of workers apart. */
extern const enum starpu_worker_archtype orr_any_accelerator;

/* How many of the kind the program or the environment wants, max at most; -1: neither says. */
long orr_kind_wanted(const struct orr_kind *k, const struct starpu_conf *conf, long max);

/* The numbers of the devices that the program or the environment lists, in that order, max at most: returns
 * how many; 0: neither does. They may be numbers of no device. */
unsigned orr_kind_ids(const struct orr_kind *k, const struct starpu_conf *conf, int *ids_out, unsigned max);
/* Whether the program or the environment says how many of its devices are used, or which. */
bool orr_kind_is_asked_for(const struct orr_kind *k, const struct starpu_conf *conf);
/* How many bytes of a device's memory are to be used; 0: nobody says. */
size_t orr_kind_memory_limit(const struct orr_kind *k, int number);

/* Its implementations in a codelet. Of a kind that has some. */
static inline const starpu_cpu_func_t *orr_kind_functions(size_t offset, const struct starpu_codelet *cl)
{
    return (const starpu_cpu_func_t *)((const char *)cl + offset);
}

/* The method that copies from one kind of memory to another; NULL: the interface has none. */
typedef int (*orr_copy_method_fn)(void *src_interface, unsigned src_node, void *dst_interface,
                                  unsigned dst_node);
orr_copy_method_fn orr_kind_copy_method(const struct starpu_data_copy_methods *methods,
                                        enum starpu_node_kind from, enum starpu_node_kind to);
/* The methods without those that return when their copy is done. */
void orr_kind_copies_that_start(const struct starpu_data_copy_methods *methods,
                                struct starpu_data_copy_methods *out);

#endif
