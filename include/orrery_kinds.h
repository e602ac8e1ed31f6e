/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_kinds.h: kinds of devices that StarPU has no name for.
 *
 * Threads: none.
 * Owns: nothing.
 * Not here: StarPU's kinds (starpu_worker.h); how many there are (struct starpu_conf). */
#ifndef ORRERY_KINDS_H
#define ORRERY_KINDS_H

/* A kind NAME, in small letters name, has
 *   ORRERY_NAME_WORKER                  the type of its workers (enum starpu_worker_archtype); as a mask for
 *                                       `where`: STARPU_WORKER_TO_MASK(ORRERY_NAME_WORKER)
 *   ORRERY_NAME_RAM                     the kind of its memory (enum starpu_node_kind)
 *   starpu_codelet.name_funcs           implementations, called as those for CPUs
 *   starpu_conf.nname                   how many, ORRERY_NNAME
 *   starpu_conf.disable_asynchronous_name_copy  copy in the foreground
 * and is counted by starpu_worker_get_count_by_type(), like any other.
 *
 * One line each, KIND(NAME, name); a line ends in a backslash. */
#define ORRERY_KINDS(KIND) KIND(MINI, mini)

/* What the headers make of a line. */
#define ORRERY_KIND_WORKER(NAME, name) ORRERY_##NAME##_WORKER,
#define ORRERY_KIND_RAM(NAME, name) ORRERY_##NAME##_RAM,
#define ORRERY_KIND_FUNCTIONS(NAME, name) starpu_cpu_func_t name##_funcs[STARPU_MAXIMPLEMENTATIONS];
#define ORRERY_KIND_SETTINGS(NAME, name)                                                                     \
    int n##name;                                                                                             \
    int disable_asynchronous_##name##_copy;

#endif
