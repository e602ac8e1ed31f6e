/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_task_bundle.h: groups of tasks that a scheduler should keep together.
 *
 * Threads: any, task bodies and callbacks too; operations on one bundle are serialised inside.
 * Owns: nothing.
 * Not here: the member `bundle` of struct starpu_task (starpu_task.h).
 */
#ifndef STARPU_TASK_BUNDLE_H
#define STARPU_TASK_BUNDLE_H

#include <starpu_config.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;
struct starpu_perfmodel_arch;

/* A bundle; freed by the library once it is closed and empty. */
typedef struct starpu_task_bundle *starpu_task_bundle_t;

/* Make an empty, open bundle. Out of memory: NULL is written, and orrery_set_error_hook() told. */
void starpu_task_bundle_create(starpu_task_bundle_t *bundle);

/* Put a task that is not submitted yet into an open bundle.
 * Returns 0; -EPERM: the bundle is closed; -EINVAL: NULL, or the task is submitted or in a bundle already;
 * -ENOMEM. A task leaves its bundle when it is freed. */
int starpu_task_bundle_insert(starpu_task_bundle_t bundle, struct starpu_task *task);

/* Take a task out of its bundle. Returns 0; -ENOENT: the task is not in it, or NULL. */
int starpu_task_bundle_remove(starpu_task_bundle_t bundle, struct starpu_task *task);

/* Say that nothing more will be inserted; the bundle goes away with its last task. NULL is nothing. */
void starpu_task_bundle_close(starpu_task_bundle_t bundle);

/* What the whole bundle should cost: time in us, transfers in us, energy in J. Tasks about which models know
 * nothing are left out. */
double starpu_task_bundle_expected_length(starpu_task_bundle_t bundle, struct starpu_perfmodel_arch *arch,
                                          unsigned nimpl);
double starpu_task_bundle_expected_data_transfer_time(starpu_task_bundle_t bundle, unsigned memory_node);
double starpu_task_bundle_expected_energy(starpu_task_bundle_t bundle, struct starpu_perfmodel_arch *arch,
                                          unsigned nimpl);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
