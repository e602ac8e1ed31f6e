/* SPDX-License-Identifier: BSD-3-Clause */
/* report.h: what orrery_report knows of a run: its files, its events, and what follows from them.
 * Threads: main. Owns: nothing. Not here: the form of the files (core/base/otrace.h). */
#ifndef ORR_REPORT_REPORT_H
#define ORR_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/otrace.h"
#include "tools/grow.h"

/* ---- read.c: files ---- */

struct report_worker {
    unsigned id, node;
    int type;
    char *name;
};

struct report_event {
    double ns;             /* on the common clock, from the start of the run */
    const uint64_t *words; /* the record */
    uint32_t rank;         /* index of its file */
    uint16_t ring;
    uint8_t kind; /* enum otrace_kind; RAN comes as STARTED and ENDED, of the same words */
};

struct report_name {
    uint32_t hash;
    char *text;
};

struct report_file {
    const char *path;
    char *program, *policy, *host;
    int rank;
    unsigned pid;
    uint64_t *words; /* the whole file */
    size_t count;
    struct otrace_file head;
    double ns_per_tick;
    double shift_ns;             /* to be added to its own clock, and then */
    double drift, drift_from_ns; /* so much for each ns since then (clocks.c) */
    double early_ns;             /* by which messages of its were received before they were sent; 0: none */
    bool own_clock;              /* another than the ranks of its host */
    uint64_t last_ticks, last_mono_ns;
    uint64_t blocks, damaged, lost;
    bool ended; /* in order */
    struct report_worker *workers;
    size_t nworkers, workers_room;
    char **nodes;
    size_t nnodes, nodes_room;
    struct report_event *events; /* of all rings, in the order of time */
    size_t nevents, events_room;
};

struct report_message {
    uint32_t from, to; /* files */
    uint64_t tag, bytes;
    double sent, received;
    const uint64_t *sent_words, *received_words; /* their records */
};

struct report_run {
    struct report_file *files;
    size_t nfiles;
    struct report_message *messages; /* with both ends */
    size_t nmessages, messages_room;
    struct report_name *names; /* sorted by hash */
    size_t nnames, names_room;
    struct report_event *events; /* of all files, in the order of time */
    size_t nevents;
};

/* Reads the files, the name of each by who calls. 0; -1: one cannot be read at all, which was said. */
int report_read(struct report_run *run, char *const *paths, size_t n,
                void (*complain)(const char *path, const char *what));
/* "?" where it is not known. */
const char *report_name_of(const struct report_run *run, uint32_t hash);

/* ---- clocks.c ---- */

/* The times of all files' events on the clock of the first, and the messages between them; early_ns of files
 * that this could not be done for. */
void report_align(struct report_run *run);

/* ---- notes.c ---- */

enum { REPORT_NOTE_BYTES = 160 };
enum report_note { REPORT_CUT_OFF, REPORT_DAMAGED, REPORT_LOST, REPORT_CLOCK, REPORT_NOTES };
/* Tells what is wrong with each file, and which it is; how often. */
size_t report_notes(const struct report_run *run,
                    void (*tell)(void *arg, const struct report_file *file, const char *note), void *arg);

/* Opens it for writing, if it is none of the recordings. NULL: it cannot be, which was said. */
FILE *report_open_output(const struct report_run *run, const char *path,
                         void (*complain)(const char *path, const char *what));

/* ---- model.c: what happened ---- */

enum { REPORT_NONE = UINT32_MAX };

struct report_task {
    uint64_t job;
    double submitted, ready, taken, started, ended; /* ns; NAN: it was not seen */
    uint32_t file, name;                            /* name: index in codelets */
    int32_t worker;                                 /* index in workers; -1: none */
    int16_t priority;
    uint8_t flags; /* enum otrace_task_flag */
    bool failed;
    uint32_t first_dep, ndeps; /* in deps: what it waits for */
    double path_ns;            /* the longest way to its end */
    uint32_t before;           /* the task before it on that way */
    bool critical;
    double predicted_ns;     /* its body, when it started; NAN: nobody did */
    uint64_t bytes;          /* of all its data, as far as their sizes are known */
    uint32_t footprint;      /* its model's; without one a hash of the sizes, one by one */
    uint32_t model;          /* the hash of its model's name; 0: none is known */
    const uint64_t *weighed; /* the last OTRACE_WEIGHED of it; NULL: no worker was compared for it */
};
void report_task_clear(struct report_task *t); /* nothing is known */

enum report_state { REPORT_RUNS, REPORT_FETCHES, REPORT_IDLE, REPORT_OVERHEAD, REPORT_STATES };
enum report_cause { REPORT_NO_READY, REPORT_READY_ELSEWHERE, REPORT_OUTSIDE, REPORT_NOTHING, REPORT_CAUSES };

struct report_lane { /* a worker of a rank */
    uint32_t file;
    const struct report_worker *worker;
    size_t tasks;
    double ns[REPORT_STATES], cause_ns[REPORT_CAUSES], asleep_ns;
};

struct report_span { /* idle */
    double from, to;
    uint32_t lane;
    uint8_t cause; /* the one that lasted longest */
};

struct report_part { /* of a parallel task, by another worker than the one that the task says */
    double from, to;
    uint32_t lane, name, task; /* name: as the task's; task: REPORT_NONE in older recordings */
};

enum { REPORT_BARS = 24 };
struct report_codelet {
    uint32_t hash;
    const char *name;
    size_t count, ended;
    double total, square, min, max, critical; /* ns */
    size_t critical_count;
    size_t predicted;                           /* tasks of which the time was */
    double predicted_ns, measured_ns, error_ns; /* sums over these; error: of the differences */
    uint32_t histogram[REPORT_BARS];            /* from min to max, each bar the same factor wider */
};

struct report_copy {
    double started, ended;
    uint64_t handle, bytes;
    uint32_t file;
    uint16_t from, to;
    uint8_t cause; /* enum otrace_cause */
    int status;
};

struct report_link { /* from a memory node to another */
    uint32_t file;
    uint16_t from, to;
    size_t copies;
    uint64_t bytes;
    double ns, busy_ns; /* of all copies together; in which there was any */
};

struct report_memory { /* in use, from then on */
    double ns;
    uint64_t bytes, limit;
    uint32_t file;
    uint16_t node;
};

struct report_mark { /* of the program */
    double ns;
    uint32_t file;
    uint64_t number;
    const char *text; /* NULL: it is the number */
};

struct report_iteration {
    double from, to; /* NAN: it had not ended */
    uint32_t file, ring, depth;
    uint64_t number;
};

struct report_advice {
    const char *title;
    char *figures; /* that it rests on, and what to do */
};

struct report_model {
    const struct report_run *run;
    struct report_task *tasks; /* and after them steps, which take no time (order.c) */
    size_t ntasks, tasks_room, nsteps;
    struct report_memory *memory;
    size_t nmemory, memory_room;
    struct report_mark *marks;
    size_t nmarks, marks_room;
    struct report_iteration *iterations;
    size_t niterations, iterations_room;
    struct report_advice *advice;
    size_t nadvice, advice_room;
    double bound_ns;           /* starpu_bound_compute; 0: it was not called */
    size_t critical_messages;  /* on the critical path */
    double critical_waited_ns; /* its tasks were ready and did not run */
    uint32_t *deps;
    size_t ndeps, deps_room;
    struct report_lane *lanes;
    size_t nlanes;
    struct report_span *idle;
    size_t nidle, idle_room;
    struct report_part *parts;
    size_t nparts, parts_room;
    struct report_codelet *codelets;
    size_t ncodelets, codelets_room;
    struct report_copy *copies;
    size_t ncopies, copies_room;
    struct report_link *links;
    size_t nlinks, links_room;
    size_t evictions;
    double from, to; /* of the run: first submission, last end */
    size_t unended, internal, failed;
    double critical_ns;
    size_t critical_count;
    uint32_t critical_last;
    double area_ns; /* of all bodies */
};

void report_model(struct report_model *m, const struct report_run *run);

/* A file's memory node, with its rank where there are several. Until the next call. */
const char *report_node_name(const struct report_model *m, uint32_t file, unsigned node);
void report_links(struct report_model *m);
void report_advise(struct report_model *m); /* the last of it (advice.c) */

/* The tasks that a task waits for, up to so many: past steps, which are none. */
struct report_walk {
    uint32_t *found;
    size_t count, found_room;
    uint32_t *stack, *seen; /* seen: of each task and step, in which walk */
    size_t depth, stack_room;
    uint32_t number; /* of walks */
};
void report_before(struct report_walk *walk, const struct report_model *m, uint32_t task, size_t most);
void report_walk_end(struct report_walk *walk);

/* ---- what is made of it; false: it could not be written ---- */

bool report_text(FILE *out, const struct report_model *m);
bool report_html(FILE *out, const struct report_model *m);   /* a page for a browser */
bool report_chrome(FILE *out, const struct report_model *m); /* JSON for Perfetto and Chrome */
bool report_csv(FILE *out, const struct report_model *m);    /* a line for each task */
bool report_dot(FILE *out, const struct report_model *m);    /* the graph of tasks, for Graphviz */
bool report_rec(FILE *out, const struct report_model *m);    /* tasks, as tasks.rec of StarPU */
bool report_paje(FILE *out, const struct report_model *m);   /* a trace of Paje, for ViTE */
/* As StarPU's tool names them: distrib.data, activity.data, trace.rec. Times in ms. */
bool report_distrib(FILE *out, const struct report_model *m);  /* a line for each body */
bool report_activity(FILE *out, const struct report_model *m); /* what workers did in each slice of the run */
bool report_states(FILE *out, const struct report_model *m);   /* the states of workers, one record each */

#endif
