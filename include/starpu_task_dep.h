/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_task_dep.h: dependencies that the program states itself, between tasks and between tags.
 *
 * Threads: any, task bodies and callbacks too; only starpu_tag_wait() blocks.
 * Owns: nothing.
 * Not here: dependencies inferred from data (starpu_data.h: sequential consistency).
 */
#ifndef STARPU_TASK_DEP_H
#define STARPU_TASK_DEP_H

#include <starpu_util.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct starpu_task;

/* A name that the program chooses for a point in its graph: the end of the task that carries it, or a
 * notification. */
typedef uint64_t starpu_tag_t;

/* Make task start only after the ndeps tasks of task_array have ended. Call before submitting task (else it
 * is refused with a message); the others must not have been destroyed (detached tasks with destroy set: not
 * submitted yet). The array is borrowed until return; NULL in it, and task itself, are left out with a
 * message. Out of memory: orrery_set_error_hook(). */
void starpu_task_declare_deps_array(struct starpu_task *task, unsigned ndeps,
                                    struct starpu_task *task_array[]);

/* The same, with ndeps arguments of type struct starpu_task *. */
void starpu_task_declare_deps(struct starpu_task *task, unsigned ndeps, ...);

/* Make task end (callbacks, successors, waiters) only after the tasks of task_array have ended; once, should
 * it be submitted again. Call before it has ended. Errors as above. */
void starpu_task_declare_end_deps_array(struct starpu_task *task, unsigned ndeps,
                                        struct starpu_task *task_array[]);
void starpu_task_declare_end_deps(struct starpu_task *task, unsigned ndeps, ...);

/* Write up to ndeps tasks that wait for task into task_array. Returns how many there are, which may be more;
 * 0 once it has ended. For its scheduler or its body:
 * task, and who waits for it, must not go away meanwhile. */
int starpu_task_get_task_succs(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[]);

/* The same, for those that miss nothing else and will therefore be scheduled when task ends; of tasks that
 * wait for it because of data none is told. */
int starpu_task_get_task_scheduled_succs(struct starpu_task *task, unsigned ndeps,
                                         struct starpu_task *task_array[]);

/* Make t end only after nb_deps more calls of starpu_task_end_dep_release(). Call before t has ended. */
void starpu_task_end_dep_add(struct starpu_task *t, int nb_deps);

/* One such call. The last ends t, on the calling thread, with its callbacks. A task that has no end
 * dependency: a message. Undefined: more calls than were added. */
void starpu_task_end_dep_release(struct starpu_task *t);

/* Make tag id reached only after ndeps other tags (arguments of type starpu_tag_t: cast integer constants; or
 * an array, borrowed until return). Call before its task is submitted. Tags that were reached do not count;
 * id itself is left out with a message. Out of memory: orrery_set_error_hook(). */
void starpu_tag_declare_deps(starpu_tag_t id, unsigned ndeps, ...);
void starpu_tag_declare_deps_array(starpu_tag_t id, unsigned ndeps, starpu_tag_t *array);

/* Block until the task that carries the tag has ended, its callback too: its memory may be freed then.
 * Returns 0; -ENOENT: the tag was removed before it was reached; -EDEADLK: called from a task or a callback;
 * -ENOMEM. Of an array: the first error, at which it stops; -EINVAL: NULL. A task with detach == 0 stays the
 * caller's, to starpu_task_wait(). */
int starpu_tag_wait(starpu_tag_t id);
int starpu_tag_wait_array(unsigned ntags, starpu_tag_t *id);

/* Make a tag that was reached reachable again, with the dependencies it has. */
void starpu_tag_restart(starpu_tag_t id);

/* Forget the tag: whoever names it from now on means a new one. A tag that there is not is nothing; one of
 * which a task has not ended stays, with a message. */
void starpu_tag_remove(starpu_tag_t id);

/* Forget all tags but those with a task under way. */
void starpu_tag_clear(void);

/* Mark the tag as reached, without any task: what waits for it becomes ready before this returns. The second
 * form restarts it at once, for use in a loop. */
void starpu_tag_notify_from_apps(starpu_tag_t id);
void starpu_tag_notify_restart_from_apps(starpu_tag_t id);

/* The task that carries the tag; NULL: none, or one that may have been freed. */
struct starpu_task *starpu_tag_get_task(starpu_tag_t id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
