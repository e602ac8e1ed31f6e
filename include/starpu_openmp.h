/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The OpenMP runtime interface: what a compiler that maps OpenMP to tasks calls. Empty where the
 * runtime is built without it (STARPU_OPENMP, which this version never defines).
 * Threads: those of the innermost parallel region, between starpu_omp_init() and starpu_omp_shutdown(); each
 *   directive is met by all of them or by one, as OpenMP says of that of the same name.
 * Results: there are no errors to return. What OpenMP leaves undefined (a barrier within a single block, a
 *   lock that is set twice) is undefined; a number that OpenMP would ignore is ignored.
 * Owns: nothing. `arg` and arrays are borrowed until the call returns, structs of attributes are copied.
 * Not here: tasks themselves (starpu_task.h).
 */
#ifndef STARPU_OPENMP_H
#define STARPU_OPENMP_H

#include <starpu_config.h>

#if defined(STARPU_OPENMP)

#include <stddef.h>
#include <stdint.h>
#include <starpu_data.h>
#include <starpu_task.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Locks: memory of the program's, set up by the init functions, not copied while in use. */
typedef struct {
    void *internal;
} starpu_omp_lock_t;
typedef struct {
    void *internal;
} starpu_omp_nest_lock_t;

enum starpu_omp_sched_value {
    starpu_omp_sched_undefined = 0,
    starpu_omp_sched_static = 1,
    starpu_omp_sched_dynamic = 2,
    starpu_omp_sched_guided = 3,
    starpu_omp_sched_auto = 4,
    starpu_omp_sched_runtime = 5
};

enum starpu_omp_proc_bind_value {
    starpu_omp_proc_bind_undefined = -1,
    starpu_omp_proc_bind_false = 0,
    starpu_omp_proc_bind_true = 1,
    starpu_omp_proc_bind_master = 2,
    starpu_omp_proc_bind_close = 3,
    starpu_omp_proc_bind_spread = 4
};

/* A parallel region: what each of its threads runs. */
struct starpu_omp_parallel_region_attr {
    struct starpu_codelet cl;
    starpu_data_handle_t *handles; /* cl.nbuffers of them */
    void *cl_arg;
    size_t cl_arg_size;
    unsigned cl_arg_free; /* free cl_arg at the end */
    int if_clause;        /* 0: one thread */
    int num_threads;      /* 0: as many as there are */
};

/* A task, or the tasks of a taskloop. */
struct starpu_omp_task_region_attr {
    struct starpu_codelet cl;
    starpu_data_handle_t *handles;
    void *cl_arg;
    size_t cl_arg_size;
    unsigned cl_arg_free;
    int priority;
    int if_clause;
    int final_clause;
    int untied_clause;
    int mergeable_clause;
    int is_loop;
    int nogroup_clause;
    int collapse;
    int num_tasks;
    unsigned long long nb_iterations;
    unsigned long long grainsize;
    unsigned long long begin_i;
    unsigned long long end_i;
    unsigned long long chunk;
};

/* ---- Beginning and end ---- */

/* Starts the runtime (not after starpu_init()); the caller becomes the initial thread. Returns 0; -ENODEV: no
 * CPU worker can be started; another negative errno of starpu_init(). */
int starpu_omp_init(void);

/* Ends it. By the initial thread, outside of parallel regions; waits for all tasks. */
void starpu_omp_shutdown(void);

/* ---- Directives. Where a call runs a function it has run at the return. _inline forms leave the block in
 * the caller: they return 1 to the thread that is to run it and 0 to others, or stand before and behind it.
 * Who waits here runs other tasks of the region meanwhile ---- */

/* Runs a region (cl, with its handles) on a team of new threads, the caller being its master, and waits for
 * them and for the tasks they made. cl_arg is freed then if cl_arg_free says so. */
void starpu_omp_parallel_region(const struct starpu_omp_parallel_region_attr *attr);

/* Runs `f(arg)` on the master thread only. */
void starpu_omp_master(void (*f)(void *arg), void *arg);

/* Returns 1 on the master thread, 0 on others, which do not wait. */
int starpu_omp_master_inline(void);

/* Waits until all threads of the team have come here, and the tasks that they made are over. */
void starpu_omp_barrier(void);

/* Runs `f(arg)` on one thread at a time among sections of the same `name` (NULL is a name too). */
void starpu_omp_critical(void (*f)(void *arg), void *arg, const char *name);

/* Stand before and behind such a section; the second by the thread that passed the first, with the same name.
 */
void starpu_omp_critical_inline_begin(const char *name);
void starpu_omp_critical_inline_end(const char *name);

/* Runs `f(arg)` on the thread that comes first; the others wait for its end unless `nowait`. Met by the whole
 * team. */
void starpu_omp_single(void (*f)(void *arg), void *arg, int nowait);

/* Returns 1 on that thread, 0 on the others, which go on at once. */
int starpu_omp_single_inline(void);

/* Same, then every thread has `data` (`data_size` bytes, copied) of the one that ran it; all wait for that.
 */
void starpu_omp_single_copyprivate(void (*f)(void *arg, void *data, unsigned long long data_size), void *arg,
                                   void *data, unsigned long long data_size);

/* Stand before and behind such a block; begin returns NULL on the thread that runs it, which then calls end,
 * and the `data` of that one, valid until the next directive, on the others. */
void *starpu_omp_single_copyprivate_inline_begin(void *data);
void starpu_omp_single_copyprivate_inline_end(void);

/* Shares iterations 0 to nb_iterations - 1 among the team: calls f(first, count, arg) for chunks of at most
 * `chunk` (0: as the schedule has it; `schedule`: an enum starpu_omp_sched_value). `ordered`: blocks of
 * starpu_omp_ordered() run in order. Waits for the whole team unless `nowait`. */
void starpu_omp_for(void (*f)(unsigned long long _first_i, unsigned long long _nb_i, void *arg), void *arg,
                    unsigned long long nb_iterations, unsigned long long chunk, int schedule, int ordered,
                    int nowait);

/* Same as loops of the caller's: set the next chunk of this thread and return 1, or return 0 when there is
 * none. first begins, next goes on; a barrier is the caller's business. */
int starpu_omp_for_inline_first(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                                int ordered, unsigned long long *_first_i, unsigned long long *_nb_i);
int starpu_omp_for_inline_next(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                               int ordered, unsigned long long *_first_i, unsigned long long *_nb_i);

/* Like starpu_omp_for(), with begin and end (not included) of each chunk instead of begin and length. */
void starpu_omp_for_alt(void (*f)(unsigned long long _begin_i, unsigned long long _end_i, void *arg),
                        void *arg, unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                        int ordered, int nowait);

/* Like the _inline_ forms above, with begin and end (not included) of each chunk. Return 1; 0: there is none.
 */
int starpu_omp_for_inline_first_alt(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                                    int ordered, unsigned long long *_begin_i, unsigned long long *_end_i);
int starpu_omp_for_inline_next_alt(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                                   int ordered, unsigned long long *_begin_i, unsigned long long *_end_i);

/* Runs `f(arg)` when all earlier iterations have run theirs; once in an iteration of an `ordered` loop. */
void starpu_omp_ordered(void (*f)(void *arg), void *arg);

/* Stand before and behind such a block, on one thread; the first waits. */
void starpu_omp_ordered_inline_begin(void);
void starpu_omp_ordered_inline_end(void);

/* Shares sections among the team: section_f[i](section_arg[i]) runs once on some thread. Waits for all of
 * them unless `nowait`. */
void starpu_omp_sections(unsigned long long nb_sections, void (**section_f)(void *arg), void **section_arg,
                         int nowait);

/* Same with one function that is told the section's number, from 0, and the same argument. */
void starpu_omp_sections_combined(unsigned long long nb_sections,
                                  void (*section_f)(unsigned long long section_num, void *arg),
                                  void *section_arg, int nowait);

/* Makes a task, which may begin at once; with if_clause 0 it is over at the return. Its accesses order it
 * among the tasks of the same parent. cl_arg is freed at its end if cl_arg_free says so. */
void starpu_omp_task_region(const struct starpu_omp_task_region_attr *attr);

/* Waits for the tasks that the calling one made, not for what those made. */
void starpu_omp_taskwait(void);

/* Runs `f(arg)` and waits for the tasks made there, and theirs. */
void starpu_omp_taskgroup(void (*f)(void *arg), void *arg);

/* Stand before and behind such a block, in one task; the second waits. */
void starpu_omp_taskgroup_inline_begin(void);
void starpu_omp_taskgroup_inline_end(void);

/* Make the tasks of a loop over nb_iterations, of grainsize iterations each or num_tasks in all; each finds
 * its own in begin_i and end_i. end waits for them unless nogroup_clause. */
void starpu_omp_taskloop_inline_begin(struct starpu_omp_task_region_attr *attr);
void starpu_omp_taskloop_inline_end(const struct starpu_omp_task_region_attr *attr);

/* Stand before and behind an atomic operation that the machine does not have: a lock for the whole process.
 */
void starpu_omp_atomic_fallback_inline_begin(void);
void starpu_omp_atomic_fallback_inline_end(void);

/* ---- Data of task dependencies ---- */

/* Makes data (a handle of starpu_data.h, which stays the program's) known by its address. */
void starpu_omp_handle_register(starpu_data_handle_t handle);

/* Undoes it, before the handle is unregistered. */
void starpu_omp_handle_unregister(starpu_data_handle_t handle);

/* Returns the data whose address is `ptr`, NULL if none was made known. */
starpu_data_handle_t starpu_omp_data_lookup(const void *ptr);

/* Sets the slice_base of a vector: the number of its first element in the array that it is a piece of. */
void starpu_omp_vector_annotate(starpu_data_handle_t handle, uint32_t slice_base);

/* Returns the arbiter for commuting accesses, the library's. */
struct starpu_arbiter *starpu_omp_get_default_arbiter(void);

/* ---- The functions of OpenMP's own interface, by the same names: effect, results and where they may be
 * called as OpenMP says of omp_NAME. They do not wait, but for starpu_omp_set_lock() and _set_nest_lock()
 * ---- */

/* Threads. The number that the next region of this task gets (at least 1); the calling thread's team: how
 * many, and which one, from 0; how many a region could get; cores; is a region active (1 or 0); threads at
 * most in all. */
void starpu_omp_set_num_threads(int threads);
int starpu_omp_get_num_threads(void);
int starpu_omp_get_thread_num(void);
int starpu_omp_get_max_threads(void);
int starpu_omp_get_num_procs(void);
int starpu_omp_in_parallel(void);
int starpu_omp_get_thread_limit(void);

/* Settings of the calling task: may teams be smaller, may regions nest, can they be cancelled (1 or 0); the
 * schedule "runtime"; the highest priority of tasks; is the calling task final (1 or 0)? */
void starpu_omp_set_dynamic(int dynamic_threads);
int starpu_omp_get_dynamic(void);
void starpu_omp_set_nested(int nested);
int starpu_omp_get_nested(void);
int starpu_omp_get_cancellation(void);
void starpu_omp_set_schedule(enum starpu_omp_sched_value kind, int modifier);
void starpu_omp_get_schedule(enum starpu_omp_sched_value *kind, int *modifier);
int starpu_omp_get_max_task_priority(void);
int starpu_omp_in_final(void);

/* Nesting: how many regions may be active within each other; how many regions enclose the caller; the number
 * of its ancestor and the size of the team at a level from 0 to that (-1: another level); how many of them
 * are active. */
void starpu_omp_set_max_active_levels(int max_levels);
int starpu_omp_get_max_active_levels(void);
int starpu_omp_get_level(void);
int starpu_omp_get_ancestor_thread_num(int level);
int starpu_omp_get_team_size(int level);
int starpu_omp_get_active_level(void);

/* Places, numbered from 0: how threads are bound; how many places, and the cores in one, whose numbers go to
 * an array of the caller's with room for them; the calling thread's place (-1: it is not bound); the places
 * of its partition, likewise. */
enum starpu_omp_proc_bind_value starpu_omp_get_proc_bind(void);
int starpu_omp_get_num_places(void);
int starpu_omp_get_place_num_procs(int place_num);
void starpu_omp_get_place_proc_ids(int place_num, int *ids);
int starpu_omp_get_place_num(void);
int starpu_omp_get_partition_num_places(void);
void starpu_omp_get_partition_place_nums(int *place_nums);

/* Devices and teams: the device that constructs without one go to; how many there are besides the host; how
 * many teams the league has, and which the caller's is; is the caller on the host (1 or 0); the host's
 * number. */
void starpu_omp_set_default_device(int device_num);
int starpu_omp_get_default_device(void);
int starpu_omp_get_num_devices(void);
int starpu_omp_get_num_teams(void);
int starpu_omp_get_team_num(void);
int starpu_omp_is_initial_device(void);
int starpu_omp_get_initial_device(void);

/* Locks: set up; given up (not held); taken, waiting for it; given back by who holds it; taken if it is free:
 * 1, else 0. */
void starpu_omp_init_lock(starpu_omp_lock_t *lock);
void starpu_omp_destroy_lock(starpu_omp_lock_t *lock);
void starpu_omp_set_lock(starpu_omp_lock_t *lock);
void starpu_omp_unset_lock(starpu_omp_lock_t *lock);
int starpu_omp_test_lock(starpu_omp_lock_t *lock);

/* The same for locks that the task which holds them may take again; test returns how often it holds it then,
 * 0: it could not. */
void starpu_omp_init_nest_lock(starpu_omp_nest_lock_t *lock);
void starpu_omp_destroy_nest_lock(starpu_omp_nest_lock_t *lock);
void starpu_omp_set_nest_lock(starpu_omp_nest_lock_t *lock);
void starpu_omp_unset_nest_lock(starpu_omp_nest_lock_t *lock);
int starpu_omp_test_nest_lock(starpu_omp_nest_lock_t *lock);

/* Time in seconds (not us), from some moment in the past that stays the same; how long a tick of that clock
 * is. */
double starpu_omp_get_wtime(void);
double starpu_omp_get_wtick(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_OPENMP */

#endif /* STARPU_OPENMP_H */
