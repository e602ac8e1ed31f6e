/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance monitoring: counters of tasks, which listeners of the program are told while it runs.
 * Threads: any thread, before starpu_init() and after starpu_shutdown() too; to take a listener away blocks.
 * Not here: the times of each task and worker (starpu_profiling.h), traces (starpu_fxt.h).
 */
#ifndef STARPU_PERF_MONITORING_H
#define STARPU_PERF_MONITORING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- The counters ----
 *
 * Counters are of three scopes. Of tasks with a codelet, while counters are collected, these are counted:
 *
 *   global       starpu.task.g_total_submitted       int64   submitted
 *                starpu.task.g_peak_submitted        int64   most that were submitted and had not ended
 *                starpu.task.g_peak_ready            int64   most that were ready or running
 *                starpu.task.g_total_executed        int64   whose bodies have run
 *                starpu.task.g_cumul_execution_time  double  us that these took
 *   per_worker   starpu.task.w_total_executed, starpu.task.w_cumul_execution_time: of one worker
 *   per_codelet  starpu.task.c_total_submitted, starpu.task.c_peak_submitted, starpu.task.c_peak_ready,
 *                starpu.task.c_total_executed, starpu.task.c_cumul_execution_time: of one codelet, since it
 *                got a listener
 *
 * They never go back: collecting that is stopped and started again goes on where it was. Parallel tasks count
 * once, for the worker that leads.
 */

struct starpu_codelet;
struct starpu_perf_counter_set;
struct starpu_perf_counter_sample;
struct starpu_perf_counter_listener;

/* What a counter is of. */
enum starpu_perf_counter_scope {
    starpu_perf_counter_scope_undefined = 0,
    starpu_perf_counter_scope_global = 2,
    starpu_perf_counter_scope_per_worker = 4,
    starpu_perf_counter_scope_per_codelet = 6
};

/* What its values are. */
enum starpu_perf_counter_type {
    starpu_perf_counter_type_undefined = 0,
    starpu_perf_counter_type_int32 = 1,
    starpu_perf_counter_type_int64 = 2,
    starpu_perf_counter_type_float = 3,
    starpu_perf_counter_type_double = 4
};

/* Begin and stop to count; with starpu_conf::start_perf_counter_collection starpu_init() begins. */
void starpu_perf_counter_collection_start(void);
void starpu_perf_counter_collection_stop(void);

/* ---- Which there are ---- */

/* Names and numbers of scopes ("global", "per_worker", "per_codelet") and types ("int32", "int64", "float",
 * "double"). -1, or NULL: there is none. */
int starpu_perf_counter_scope_name_to_id(const char *name);
const char *starpu_perf_counter_scope_id_to_name(enum starpu_perf_counter_scope scope);
int starpu_perf_counter_type_name_to_id(const char *name);
const char *starpu_perf_counter_type_id_to_name(enum starpu_perf_counter_type type);

/* Number of counters of a scope. */
int starpu_perf_counter_nb(enum starpu_perf_counter_scope scope);

/* A counter's number: by its name, or the nth of its scope, from 0. -1: there is none. */
int starpu_perf_counter_name_to_id(enum starpu_perf_counter_scope scope, const char *name);
int starpu_perf_counter_nth_to_id(enum starpu_perf_counter_scope scope, int nth);

/* Its name, its type (enum starpu_perf_counter_type), a sentence that explains it. NULL, or -1: there is
 * none. */
const char *starpu_perf_counter_id_to_name(int id);
int starpu_perf_counter_get_type_id(int id);
const char *starpu_perf_counter_get_help_string(int id);

/* Print them, one a line, on the standard output: those of a scope; all. */
void starpu_perf_counter_list_avail(enum starpu_perf_counter_scope scope);
void starpu_perf_counter_list_all_avail(void);

/* ---- Sets: which of a scope a listener is to be told ---- */

/* A set without counters, to be freed. Returns NULL: out of memory, or no such scope. */
struct starpu_perf_counter_set *starpu_perf_counter_set_alloc(enum starpu_perf_counter_scope scope);
void starpu_perf_counter_set_free(struct starpu_perf_counter_set *set);

/* Put a counter into the set, or take it out; one of another scope is refused with a message. */
void starpu_perf_counter_set_enable_id(struct starpu_perf_counter_set *set, int id);
void starpu_perf_counter_set_disable_id(struct starpu_perf_counter_set *set, int id);

/* ---- Listeners ---- */

/* A listener to the counters that are in the set now (copied). While counters are collected callback is
 * called on the thread where they have changed, with user_arg, by several threads at once: for all tasks and
 * of a codelet when one was submitted, is ready or has run; of a worker when one has run there. It must not
 * block, and calls no function of this header but those for samples. The sample is borrowed until it returns.
 * Returns NULL: out of memory, or of NULL. */
struct starpu_perf_counter_listener *starpu_perf_counter_listener_init(
    struct starpu_perf_counter_set *set,
    void (*callback)(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample,
                     void *context),
    void *user_arg);

/* Frees a listener that is set nowhere any more. */
void starpu_perf_counter_listener_exit(struct starpu_perf_counter_listener *listener);

/* Set a listener, one in each place; borrowed until it is taken away. One of another scope, or for a worker
 * that is not there, or where one is set already, or for more than 64 codelets, is refused with a message. */
void starpu_perf_counter_set_global_listener(struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_set_per_worker_listener(unsigned workerid,
                                                 struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_set_all_per_worker_listeners(struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_set_per_codelet_listener(struct starpu_codelet *cl,
                                                  struct starpu_perf_counter_listener *listener);

/* Take it away. Blocks until nobody is in a listener's callback. */
void starpu_perf_counter_unset_global_listener(void);
void starpu_perf_counter_unset_per_worker_listener(unsigned workerid);
void starpu_perf_counter_unset_all_per_worker_listeners(void);
void starpu_perf_counter_unset_per_codelet_listener(struct starpu_codelet *cl);

/* ---- Samples ---- */

/* In a listener's callback: the value of a counter of its set, of the type that it has; else 0, with a
 * message. */
int32_t starpu_perf_counter_sample_get_int32_value(struct starpu_perf_counter_sample *sample,
                                                   const int counter_id);
int64_t starpu_perf_counter_sample_get_int64_value(struct starpu_perf_counter_sample *sample,
                                                   const int counter_id);
float starpu_perf_counter_sample_get_float_value(struct starpu_perf_counter_sample *sample,
                                                 const int counter_id);
double starpu_perf_counter_sample_get_double_value(struct starpu_perf_counter_sample *sample,
                                                   const int counter_id);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
