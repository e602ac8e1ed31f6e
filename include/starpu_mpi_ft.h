/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints: values of data and variables, as they are at one place of the program on all ranks, in files
 * from which a run that was cut off goes on.
 * Threads: one thread of each rank, between starpu_mpi_init_conf() and starpu_mpi_shutdown(); all ranks make
 *   the calls that are collective in the same order. None may be called in tasks or callbacks.
 * Not here: ranks that fail (the job ends; start it again), data and tasks (starpu_mpi.h).
 */
#ifndef STARPU_MPI_FT_H
#define STARPU_MPI_FT_H

#include <starpu_mpi.h>

#if defined(STARPU_USE_MPI)

#define STARPU_USE_MPI_FT 1

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* A template says what a checkpoint has; each submission of it is an instance, numbered from 1 on, through
 * restarts too. Every rank writes what it owns to a file of its own in ORRERY_CHECKPOINT_DIR
 * (./orrery-checkpoints), beside the program, with checksums. An instance is complete once all ranks have
 * their files on the disk; the last two complete ones are kept. A run with ORRERY_CHECKPOINT_RESTART=folder
 * gets its values back by orrery_mpi_checkpoint_restart(). */
typedef struct starpu_mpi_checkpoint_template *starpu_mpi_checkpoint_template_t;

/* Starts what writes checkpoints; the first template does it otherwise. After starpu_mpi_init_conf().
 * Collective. Blocks. Returns 0; -ESHUTDOWN: the layer does not run; -EAGAIN: there is no thread;
 * -ENAMETOOLONG: the folder's name; -EIO: ranks disagree, or do not hear each other. */
int starpu_mpi_checkpoint_init(void);

/* Waits until what was submitted is complete, and ends all templates. starpu_mpi_shutdown() does it
 * otherwise. Collective. Blocks. Returns 0; -ESHUTDOWN; the status of an instance that could not be written.
 */
int starpu_mpi_checkpoint_shutdown(void);

/* Makes a template with the given entries, and freezes it. No two templates have the same `cp_id` and
 * `cp_domain`. Entries are, up to a 0:
 *   STARPU_R, starpu_data_handle_t, int: data with an owner and a tag, and a backup rank;
 *   STARPU_DATA_ARRAY, starpu_data_handle_t *, int, int: an array of so many, and a backup rank for them;
 *   STARPU_VALUE, void *, size_t, starpu_mpi_tag_t, int (*)(int): a variable that each rank has for itself,
 * its size, a tag of its own among values, and a function that gives the backup rank of a rank. Data and
 * variables are borrowed until the template ends. Backup ranks must exist; they are not used otherwise: the
 * files are the backup. Returns 0, and sets *cp_template; -EINVAL: an entry is not valid (said); -ENOMEM; as
 * starpu_mpi_checkpoint_init(). Collective. Blocks. */
int starpu_mpi_checkpoint_template_register(starpu_mpi_checkpoint_template_t *cp_template, int cp_id,
                                            int cp_domain, ...);

/* Makes one without entries, to which entries can be added. Returns the same. Collective. Blocks. */
int starpu_mpi_checkpoint_template_create(starpu_mpi_checkpoint_template_t *cp_template, int cp_id,
                                          int cp_domain);

/* Adds one entry, in the words above. Returns 0; -EINVAL: it is not valid, or the template is frozen (said);
 * -ENOMEM. */
int starpu_mpi_checkpoint_template_add_entry(starpu_mpi_checkpoint_template_t *cp_template, ...);

/* Ends adding: all ranks have the same entries now. Who owns data now writes them; they may change their
 * owners later (are sent back for each instance), but a run that starts again freezes with the same owners.
 * Returns 0; -EINVAL: it is frozen already (said). */
int starpu_mpi_checkpoint_template_freeze(starpu_mpi_checkpoint_template_t *cp_template);

/* Takes the values as the tasks inserted before leave them; variables as they are. Does not wait for them:
 * they are copied when they are there, and written by a thread. What cannot be written on one rank is given
 * up on all, said, and told by orrery_mpi_checkpoint_wait(). Pending reductions are gathered with priority
 * `prio`. Data that has no value there, or is partitioned, makes it be given up. Returns 0; -EINVAL: the
 * template is not frozen, data of it was unregistered (said); -ENOMEM. Collective. */
int starpu_mpi_checkpoint_template_submit(starpu_mpi_checkpoint_template_t cp_template, int prio);

/* Prints its entries to stderr, one line each. Returns 0 or -EINVAL. */
int starpu_mpi_checkpoint_template_print(starpu_mpi_checkpoint_template_t cp_template);

/* ---- What Orrery adds ---- */

/* Where ORRERY_CHECKPOINT_RESTART names a folder: gives data and variables the values of the last complete
 * instance that all ranks can read there, and sets *instance_out to its number: the program goes on as after
 * that many submissions. Otherwise sets 0. Files that are damaged or cut are named, and the instance before
 * is taken. After the template is frozen, before tasks use its data. Returns 0; -EINVAL: not frozen, NULL,
 * data changed their owners since; -ENODATA: there is none that all can use: damaged, of another program, of
 * another number of ranks (said for each file); -EIO. Collective. Blocks. */
int orrery_mpi_checkpoint_restart(starpu_mpi_checkpoint_template_t cp_template, unsigned long *instance_out);

/* Waits until all instances that were submitted are complete or given up, on all ranks. Returns 0; -EINVAL;
 * the status of the last that was given up since this was called last (-ENOSPC, ...). Blocks. */
int orrery_mpi_checkpoint_wait(starpu_mpi_checkpoint_template_t cp_template);

/* Waits, and removes this rank's files: the run is over, and none is needed. Returns the same. Blocks. */
int orrery_mpi_checkpoint_discard(starpu_mpi_checkpoint_template_t cp_template);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_USE_MPI */
#endif /* STARPU_MPI_FT_H */
