/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces: what every worker did when, recorded while the program runs, converted afterwards. (The name
 * is that of the library StarPU records with; Orrery has a recorder of its own.)
 * Threads: any thread; options and conversion one thread at a time.
 * Not here: sums and counts (starpu_profiling.h).
 */
#ifndef STARPU_FXT_H
#define STARPU_FXT_H

#include <stddef.h>
#include <stdint.h>
#include <starpu_config.h>
#include <starpu_perfmodel.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#ifndef STARPU_FXT_MAX_FILES
#define STARPU_FXT_MAX_FILES 64
#endif

/* One execution of a codelet. */
struct starpu_fxt_codelet_event {
    char symbol[2048]; /* of its model */
    int workerid;
    char perfmodel_archname[256];
    uint32_t hash; /* footprint */
    size_t size;   /* bytes */
    float time;    /* microseconds */
};

/* A rank's clock against rank 0's, in nanoseconds. */
struct starpu_fxt_mpi_offset {
    uint64_t local_time_start; /* at the first synchronisation */
    int64_t offset_start;
    uint64_t local_time_end; /* at the last */
    int64_t offset_end;
    int nb_barriers; /* synchronisations found: 0, 1 or 2 */
};

/* What to convert, and how. A path of NULL: that file is not written. */
struct starpu_fxt_options {
    unsigned per_task_colour;
    unsigned no_events; /* leave out ... */
    unsigned no_counter;
    unsigned no_bus;
    unsigned no_flops;
    unsigned no_smooth;
    unsigned no_acquire;
    unsigned memory_states; /* show what each memory node holds */
    unsigned internal;      /* show tasks of the runtime itself */
    unsigned label_deps;    /* name the data of each dependency */
    unsigned use_task_color;

    unsigned ninputfiles; /* recordings to convert */
    char *filenames[STARPU_FXT_MAX_FILES];

    char *out_paje_path;
    char *distrib_time_path;
    char *activity_path;
    char *sched_tasks_path;
    char *dag_path;
    char *tasks_path;
    char *data_path;
    char *papi_path;
    char *comms_path;
    char *number_events_path;
    char *anim_path;
    char *states_path;
    char *dir; /* where they are written */
    char worker_names[STARPU_NMAXWORKERS][256];
    int nworkers;

    /* Kept by the conversion. */
    char *file_prefix;
    struct starpu_fxt_mpi_offset file_offset;
    int file_rank;
    struct starpu_perfmodel_arch worker_archtypes[STARPU_NMAXWORKERS];
    struct starpu_fxt_codelet_event *
        *dumped_codelets; /* set it to have all executions returned there, to be freed */
    long dumped_codelets_count;
};

/* ---- Recording. Where starpu_fxt_is_enabled() returns 0 these do nothing ---- */

/* Says, before starpu_init(), whether recording starts with the runtime (the default). */
void starpu_fxt_autostart_profiling(int autostart);

/* Starts recording, or goes on with it. */
void starpu_fxt_start_profiling(void);

/* Stops recording. */
void starpu_fxt_stop_profiling(void);

/* Returns 1 if a file is named in which the run is recorded (ORRERY_TRACE, or STARPU_FXT_TRACE=1), else 0. */
int starpu_fxt_is_enabled(void);

/* Records a mark with a number. */
void starpu_fxt_trace_user_event(unsigned long code);

/* Records a mark with a text (copied, cut where it is too long). */
void starpu_fxt_trace_user_event_string(const char *s);

/* Records a text about the whole run, as starpu_fxt_trace_user_event_string() does. */
void starpu_fxt_trace_user_meta_string(const char *s);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_FXT_H */
