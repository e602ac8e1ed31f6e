/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The OpenMP runtime interface: what a compiler that maps OpenMP to tasks calls. Empty where the
 * runtime is built without it (STARPU_OPENMP).
 * Threads: those of the innermost parallel region, as OpenMP says of the directive or function of the
 *   same name.
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

/* Locks. Set up by the init functions. */
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

/* Starts the runtime; the caller becomes the initial thread. Returns 0; a negative errno. */
int starpu_omp_init(void);

/* Ends it. */
void starpu_omp_shutdown(void);

/* ---- Directives. _inline forms return 1 to the thread that is to run the block, or bracket it ---- */

/* Runs a region on a team of threads and waits for them. */
void starpu_omp_parallel_region(const struct starpu_omp_parallel_region_attr *attr);

/* Runs `f(arg)` on the master thread only. */
void starpu_omp_master(void (*f)(void *arg), void *arg);

/* Returns 1 on the master thread. */
int starpu_omp_master_inline(void);

/* Waits for all threads of the team and the tasks. */
void starpu_omp_barrier(void);

/* Runs `f(arg)` on one thread at a time among sections of the same `name` (NULL is a name too). */
void starpu_omp_critical(void (*f)(void *arg), void *arg, const char *name);

/* Bracket such a section. */
void starpu_omp_critical_inline_begin(const char *name);
void starpu_omp_critical_inline_end(const char *name);

/* Runs `f(arg)` on one thread; the others wait unless `nowait`. */
void starpu_omp_single(void (*f)(void *arg), void *arg, int nowait);

/* Returns 1 on that thread. */
int starpu_omp_single_inline(void);

/* Same, then every thread has `data` of the one that ran it. */
void starpu_omp_single_copyprivate(void (*f)(void *arg, void *data, unsigned long long data_size), void *arg,
                                   void *data, unsigned long long data_size);

/* Bracket such a block; begin returns NULL on the thread that runs it, its data on the others. */
void *starpu_omp_single_copyprivate_inline_begin(void *data);
void starpu_omp_single_copyprivate_inline_end(void);

/* Shares iterations among the team: calls f(first, count, arg). `ordered`: blocks of
 * starpu_omp_ordered() run in order. */
void starpu_omp_for(void (*f)(unsigned long long _first_i, unsigned long long _nb_i, void *arg), void *arg,
                    unsigned long long nb_iterations, unsigned long long chunk, int schedule, int ordered,
                    int nowait);

/* Same as loops: set the next chunk, return 0 when there is none. */
int starpu_omp_for_inline_first(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                                int ordered, unsigned long long *_first_i, unsigned long long *_nb_i);
int starpu_omp_for_inline_next(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                               int ordered, unsigned long long *_first_i, unsigned long long *_nb_i);

/* Same with begin and end of each chunk. */
void starpu_omp_for_alt(void (*f)(unsigned long long _begin_i, unsigned long long _end_i, void *arg),
                        void *arg, unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                        int ordered, int nowait);

/* Same with begin and end of each chunk. */
int starpu_omp_for_inline_first_alt(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                                    int ordered, unsigned long long *_begin_i, unsigned long long *_end_i);
int starpu_omp_for_inline_next_alt(unsigned long long nb_iterations, unsigned long long chunk, int schedule,
                                   int ordered, unsigned long long *_begin_i, unsigned long long *_end_i);

/* Runs `f(arg)` in the order of the iterations. */
void starpu_omp_ordered(void (*f)(void *arg), void *arg);

/* Bracket such a block. */
void starpu_omp_ordered_inline_begin(void);
void starpu_omp_ordered_inline_end(void);

/* Shares sections among the team. */
void starpu_omp_sections(unsigned long long nb_sections, void (**section_f)(void *arg), void **section_arg,
                         int nowait);

/* Same with one function that is told the section's number. */
void starpu_omp_sections_combined(unsigned long long nb_sections,
                                  void (*section_f)(unsigned long long section_num, void *arg),
                                  void *section_arg, int nowait);

/* Makes a task. */
void starpu_omp_task_region(const struct starpu_omp_task_region_attr *attr);

/* Waits for the tasks that the calling one made. */
void starpu_omp_taskwait(void);

/* Runs `f(arg)` and waits for the tasks made there, and theirs. */
void starpu_omp_taskgroup(void (*f)(void *arg), void *arg);

/* Bracket such a block. */
void starpu_omp_taskgroup_inline_begin(void);
void starpu_omp_taskgroup_inline_end(void);

/* Make the tasks of a loop. */
void starpu_omp_taskloop_inline_begin(struct starpu_omp_task_region_attr *attr);
void starpu_omp_taskloop_inline_end(const struct starpu_omp_task_region_attr *attr);

/* Bracket an atomic operation that the machine does not have. */
void starpu_omp_atomic_fallback_inline_begin(void);
void starpu_omp_atomic_fallback_inline_end(void);

/* ---- Data of task dependencies ---- */

/* Makes data known by its address. */
void starpu_omp_handle_register(starpu_data_handle_t handle);

/* Undoes it. */
void starpu_omp_handle_unregister(starpu_data_handle_t handle);

/* Returns the data whose address is `ptr`, NULL if there is none. */
starpu_data_handle_t starpu_omp_data_lookup(const void *ptr);

/* Sets the slice_base of a vector, for its pieces. */
void starpu_omp_vector_annotate(starpu_data_handle_t handle, uint32_t slice_base);

/* Returns the arbiter for commuting accesses. */
struct starpu_arbiter *starpu_omp_get_default_arbiter(void);

/* ---- The functions of OpenMP's own interface, by the same names ---- */

/* Threads. */
void starpu_omp_set_num_threads(int threads);
int starpu_omp_get_num_threads(void);
int starpu_omp_get_thread_num(void);
int starpu_omp_get_max_threads(void);
int starpu_omp_get_num_procs(void);
int starpu_omp_in_parallel(void);
int starpu_omp_get_thread_limit(void);

/* Settings. */
void starpu_omp_set_dynamic(int dynamic_threads);
int starpu_omp_get_dynamic(void);
void starpu_omp_set_nested(int nested);
int starpu_omp_get_nested(void);
int starpu_omp_get_cancellation(void);
void starpu_omp_set_schedule(enum starpu_omp_sched_value kind, int modifier);
void starpu_omp_get_schedule(enum starpu_omp_sched_value *kind, int *modifier);
int starpu_omp_get_max_task_priority(void);
int starpu_omp_in_final(void);

/* Nesting. */
void starpu_omp_set_max_active_levels(int max_levels);
int starpu_omp_get_max_active_levels(void);
int starpu_omp_get_level(void);
int starpu_omp_get_ancestor_thread_num(int level);
int starpu_omp_get_team_size(int level);
int starpu_omp_get_active_level(void);

/* Places. */
enum starpu_omp_proc_bind_value starpu_omp_get_proc_bind(void);
int starpu_omp_get_num_places(void);
int starpu_omp_get_place_num_procs(int place_num);
void starpu_omp_get_place_proc_ids(int place_num, int *ids);
int starpu_omp_get_place_num(void);
int starpu_omp_get_partition_num_places(void);
void starpu_omp_get_partition_place_nums(int *place_nums);

/* Devices. */
void starpu_omp_set_default_device(int device_num);
int starpu_omp_get_default_device(void);
int starpu_omp_get_num_devices(void);
int starpu_omp_get_num_teams(void);
int starpu_omp_get_team_num(void);
int starpu_omp_is_initial_device(void);
int starpu_omp_get_initial_device(void);

/* Locks. */
void starpu_omp_init_lock(starpu_omp_lock_t *lock);
void starpu_omp_destroy_lock(starpu_omp_lock_t *lock);
void starpu_omp_set_lock(starpu_omp_lock_t *lock);
void starpu_omp_unset_lock(starpu_omp_lock_t *lock);
int starpu_omp_test_lock(starpu_omp_lock_t *lock);

/* Nestable locks. */
void starpu_omp_init_nest_lock(starpu_omp_nest_lock_t *lock);
void starpu_omp_destroy_nest_lock(starpu_omp_nest_lock_t *lock);
void starpu_omp_set_nest_lock(starpu_omp_nest_lock_t *lock);
void starpu_omp_unset_nest_lock(starpu_omp_nest_lock_t *lock);
int starpu_omp_test_nest_lock(starpu_omp_nest_lock_t *lock);

/* Time. */
double starpu_omp_get_wtime(void);
double starpu_omp_get_wtick(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_OPENMP */

#endif /* STARPU_OPENMP_H */
