/* SPDX-License-Identifier: BSD-3-Clause */
/* history.h: what was measured for one model on one architecture with one implementation, by footprint, and
 * what follows from it for tasks to come.
 * Threads: any. Owns: entries, fits, the workers' caches of fresh measures. Not here: which model
 * (perfmodel.h), files (store.h), what a task's footprint is (core/task/perf.h). */
#ifndef ORR_PERF_HISTORY_H
#define ORR_PERF_HISTORY_H

#include <starpu_perfmodel.h>
#include <math.h>

#include "core/base/sync.h"

struct orr_perfmodel_state;

/* What tells tasks of one codelet apart. */
struct orr_perf_key {
    uint32_t footprint;
    size_t size;
    double flops;
    uint64_t tag;
    const double *parameters; /* as many as the model has; borrowed */
};

/* One footprint. Its memory lives as long as the model. */
struct orr_history_entry {
    uint32_t footprint;                        /* [const] */
    _Atomic double mean;                       /* NaN while there are too few measures [atomic] */
    struct starpu_perfmodel_history_entry pub; /* [lock: orr_perf_arch.lock] */
    struct starpu_perfmodel_history_list link; /* on orr_perf_arch.pub.list [const once published] */
};

/* Open addressing; replaced by a larger copy when half full. */
struct orr_history_table {
    struct orr_history_table *retired; /* the smaller one before it: readers may still be in it */
    uint32_t mask;
    _Atomic(struct orr_history_entry *) slots[]; /* [atomic: publishes the entry] */
};

/* A fitted law; replaced, never changed. */
struct orr_fit {
    struct orr_fit *retired;
    double min_size, max_size;
    double a, b, c;  /* a * size^b + c */
    unsigned ncoeff; /* > 0: sum of coeff[i] * monomial i instead */
    double coeff[];
};

struct orr_perf_arch {
    struct starpu_perfmodel_per_arch pub;      /* [lock, but the program's cost_function and size_base] */
    const struct orr_perfmodel_state *model;   /* [const] */
    _Atomic(struct orr_history_table *) table; /* [atomic: publishes the table] */
    _Atomic(struct orr_fit *) fit;             /* [atomic: publishes the fit] NULL: none yet */
    ORR_SPIN(history) lock;     /* protects entries' numbers and growing; after a cache's lock */
    unsigned count;             /* entries [lock] */
    uint64_t nsample, next_fit; /* measures so far, and when to fit again [lock] */
};

/* The entry of a footprint, NULL if there is none. Takes no lock. */
static inline struct orr_history_entry *orr_history_find(struct orr_perf_arch *pa, uint32_t footprint)
{
    struct orr_history_table *t = orr_load_acquire(&pa->table); /* pairs with history.c table_reserve */
    if (!t) return NULL;
    for (uint32_t i = (footprint * 0x9e3779b1u) >> 7;; i++) {
        struct orr_history_entry *e =
            orr_load_acquire(&t->slots[i & t->mask]); /* pairs with history.c table_put */
        if (!e || e->footprint == footprint) return e;
    }
}

/* Mean of the measures; NaN while there are fewer than the calibration minimum. */
static inline double orr_history_mean(struct orr_perf_arch *pa, uint32_t footprint)
{
    struct orr_history_entry *e = orr_history_find(pa, footprint);
    return e ? orr_load_relaxed(&e->mean) : NAN;
}

/* What the model says for key; NaN: not calibrated. type is the model's. */
double orr_history_predict(struct orr_perf_arch *pa, enum starpu_perfmodel_type type,
                           const struct orr_perf_key *key);

/* Adds n measures of the same value at once (visible at once). slack: a difference from the mean that is
 * never an error, in the model's unit. Values that are negative or not finite are ignored. */
void orr_history_record(struct orr_perf_arch *pa, const struct orr_perf_key *key, double value, unsigned n,
                        double slack);

/* Adds one measure made by worker workerid: kept in its cache and folded in batches once the entry is
 * calibrated. */
void orr_history_record_fast(struct orr_perf_arch *pa, int workerid, const struct orr_perf_key *key,
                             double value, double slack);

/* Adds an entry as it was saved. 0; -ENOMEM; -EEXIST. */
int orr_history_restore(struct orr_perf_arch *pa, const struct starpu_perfmodel_history_entry *saved);
/* Fits now, whatever there is. */
void orr_history_refit(struct orr_perf_arch *pa);

/* Folds what every worker has in its cache. */
void orr_history_flush(void);

/* Frees the caches of workers; flush first. */
void orr_history_caches_fini(void);

/* Frees what pa holds, but not pa. Nobody may use it any more; its measures were flushed. */
void orr_history_clear(struct orr_perf_arch *pa);

/* Settings, read by orr_perf_init [const afterwards] */
extern unsigned orr_calibration_minimum; /* measures that make a footprint count */
extern double
    orr_history_max_error; /* 0.5: a measure may be at most 1.5 times the mean, and the mean 1.5 times it */

#endif
