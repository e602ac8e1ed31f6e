/* SPDX-License-Identifier: BSD-3-Clause */
/* planfile.h: a schedule of a whole cluster as a text file: which worker ran each insertion, in which order.
 * Threads: any, each on a plan of its own. Owns: struct orr_plan. Not here: writing one of a run (history.c),
 * running one (plan.c); tools/plan/, which is compiled with this file. doc/PLANS.md describes the text.
 */
#ifndef ORR_MPI_PLANFILE_H
#define ORR_MPI_PLANFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mpi/place/machine.h"

struct orr_bootstrap;

enum { ORR_PLAN_EACH = -2, ORR_PLAN_NO_WORKER = -1 }; /* a rank: each of them; a worker: not said */
enum { ORR_PLAN_NO_TAG = -1, ORR_PLAN_TEXT = 600 };

/* Beside STARPU_R, W, ...: its tasks are in no order among each other (handles without sequential
 * consistency). */
enum { ORR_PLAN_UNORDERED = 1 << 30 };

struct orr_plan_access {
    int64_t tag; /* ORR_PLAN_NO_TAG */
    int mode;    /* as orr_plan_mode makes it, and ORR_PLAN_UNORDERED */
};

struct orr_plan_task {
    int codelet;    /* in codelet */
    int rank;       /* ORR_PLAN_EACH */
    int worker;     /* of that rank; ORR_PLAN_NO_WORKER */
    unsigned order; /* on that worker, from 1; 0: none */
    int priority;
    uint32_t footprint;
    double start_us, length_us; /* 0: not known */
    size_t access;              /* its first one */
    int accesses;
};

struct orr_plan_datum {
    int64_t tag, whole; /* whole: of what this is a piece; ORR_PLAN_NO_TAG: of nothing known */
    uint64_t bytes;
    int home;
};

/* The tag is another datum's from this task on: what tasks before it did to the one before is nobody's wait.
 */
struct orr_plan_renewal {
    size_t task;
    int64_t tag;
};

struct orr_plan_codelet {
    char *name, *model; /* "": none */
};

/* Zero at first. Tasks are in the order of insertion. */
struct orr_plan {
    struct orr_machines machines;
    struct orr_plan_codelet *codelet;
    struct orr_plan_datum *datum; /* by rising tag, once it is read */
    struct orr_plan_task *task;
    struct orr_plan_access *access;
    size_t *wait; /* before which tasks the program waits for all that it inserted, on all ranks; rising */
    struct orr_plan_renewal *renewal; /* by rising task */
    size_t codelets, data, tasks, accesses, waits, renewals;
    size_t room[6]; /* in the same order */
};

void orr_plan_fini(struct orr_plan *p);

/* What is compared of a mode. */
int orr_plan_mode(int mode);

/* What an insertion is known by. begin, then each access, in order. */
uint64_t orr_plan_hash_begin(const char *codelet);
uint64_t orr_plan_hash_add(uint64_t hash, int64_t tag, int mode);
uint64_t orr_plan_hash(const struct orr_plan *p, size_t task);
uint64_t orr_plan_fingerprint(const struct orr_plan *p); /* of the stream */

/* Adders; -1: out of memory. The codelet is found again by its name; access is added to the last task. */
int orr_plan_add_codelet(struct orr_plan *p, const char *name, const char *model);
int orr_plan_add_datum(struct orr_plan *p, const struct orr_plan_datum *d);
int orr_plan_add_task(struct orr_plan *p, const struct orr_plan_task *t);
int orr_plan_add_access(struct orr_plan *p, int64_t tag, int mode);
int orr_plan_add_wait(struct orr_plan *p); /* here; once for several */
int orr_plan_add_renewal(struct orr_plan *p, const struct orr_plan_renewal *n);
/* For qsort: by tag, and by task within. */
int orr_plan_renewal_by_tag(const void *a, const void *b);

/* NULL: nothing is said of it. Of a plan that was read. */
const struct orr_plan_datum *orr_plan_datum_of(const struct orr_plan *p, int64_t tag);

/* Reads a file. 0; -EINVAL (why has the line and what is wrong), -ENOENT and its like, or -ENOMEM, with
 * nothing made. What is read can be used without further checks but those of orr_plan_check (plangraph.h). */
int orr_plan_read(struct orr_plan *p, const char *path, char why[ORR_PLAN_TEXT]);
/* Under a name of its own first. 0 or a negative errno, with why. */
int orr_plan_write(const struct orr_plan *p, const char *path, char why[ORR_PLAN_TEXT]);

/* Whether all ranks find the same file there. Collective. 0, -EINVAL (why has both sides), -ENOMEM or -EIO
 * (planagree.c). */
int orr_plan_agree(const struct orr_bootstrap *b, const char *path, char why[ORR_PLAN_TEXT]);

/* Whether it was made for that cluster. 0 or -EINVAL (why). */
int orr_plan_fits(const struct orr_plan *p, const struct orr_machines *m, char why[ORR_PLAN_TEXT]);
/* "3 gemm (RW 12, R 13) on rank 1, worker 0, order 4". */
void orr_plan_describe(const struct orr_plan *p, size_t task, char *text, size_t bytes);
/* "gemm (RW 12, R 13)", of what was inserted. */
void orr_plan_describe_accesses(const char *codelet, const struct orr_plan_access *a, int count, char *text,
                                size_t bytes);

/* For who finds fault with one: writes why, of ORR_PLAN_TEXT bytes. -EINVAL, and -ENOMEM. */
__attribute__((format(printf, 2, 3))) int orr_plan_refuse(char *why, const char *fmt, ...);
int orr_plan_no_memory(char *why);

#endif
