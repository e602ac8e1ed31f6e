/* SPDX-License-Identifier: BSD-3-Clause */
/* perfmodel.h: the models that programs declared: their states, by symbol, and what each knows by
 * architecture.
 * Threads: any, unless a function says otherwise. Owns: the registry of states, the calibration
 * mode. Not here: measures (history.h), files (store.h), tasks (core/task/perf.h). */
#ifndef ORR_PERF_PERFMODEL_H
#define ORR_PERF_PERFMODEL_H

#include <starpu_perfmodel.h>

#include "core/base/sync.h"
#include "core/perf/arch.h"
#include "core/perf/history.h"

struct orr_perf_impls {
    _Atomic(struct orr_perf_arch *) impl[STARPU_MAXIMPLEMENTATIONS];
};

struct orr_model_user {
    struct starpu_perfmodel *model;
    struct orr_model_user *next;
};

/* What a model knows. Models of measured types that have the same symbol share one. */
struct orr_perfmodel_state {
    enum starpu_perfmodel_type type;     /* [const once in use] */
    char *symbol;                        /* [const once in use] NULL: measures are not kept in a file */
    char *path;                          /* [const] the program's own file name, or NULL */
    unsigned nparameters, ncombinations; /* [const] of multiple regression */
    unsigned *combinations;              /* [const] exponents, ncombinations rows of nparameters */
    _Atomic bool benchmarking;           /* measures are taken */
    _Atomic bool dirty;                  /* there are measures that are not in the file */
    struct orr_model_user *users;        /* [lock: registry] */
    struct orr_perfmodel_state *next;    /* [lock: registry] */
    _Atomic(struct orr_perf_impls *) arch[ORR_ARCH_MAX];
};

static inline bool orr_perfmodel_is_measured(enum starpu_perfmodel_type type)
{
    return type == STARPU_HISTORY_BASED || type == STARPU_REGRESSION_BASED ||
           type == STARPU_NL_REGRESSION_BASED || type == STARPU_MULTIPLE_REGRESSION_BASED;
}

/* The field is the program's, so it is not declared atomic; it is never accessed in another way. */
static inline struct orr_perfmodel_state *orr_perfmodel_peek(struct starpu_perfmodel *m)
{
    return orr_load_acquire(
        (struct orr_perfmodel_state * _Atomic *)&m->state); /* pairs with attach in perfmodel.c */
}

struct orr_perfmodel_state *orr_perfmodel_get_slow(struct starpu_perfmodel *m);

/* The model's state, made and loaded from its file the first time. NULL: no such type, or out of memory. */
static inline struct orr_perfmodel_state *orr_perfmodel_get(struct starpu_perfmodel *m)
{
    struct orr_perfmodel_state *s = orr_perfmodel_peek(m);
    return orr_likely(s != NULL) ? s : orr_perfmodel_get_slow(m);
}

/* What is known for architecture comb and implementation nimpl; NULL if nothing. */
static inline struct orr_perf_arch *orr_perfmodel_arch(struct orr_perfmodel_state *s, int comb,
                                                       unsigned nimpl)
{
    struct orr_perf_impls *impls = orr_load_acquire(&s->arch[comb]); /* pairs with orr_perfmodel_arch_make */
    return impls ? orr_load_acquire(&impls->impl[nimpl]) : NULL;
}

/* The same, made if need be; NULL: out of memory. */
struct orr_perf_arch *orr_perfmodel_arch_make(struct orr_perfmodel_state *s, int comb, unsigned nimpl);

/* Calls fn for everything the state holds. */
typedef void (*orr_perf_arch_fn)(struct orr_perf_arch *pa, int comb, unsigned nimpl, void *arg);
void orr_perfmodel_each(struct orr_perfmodel_state *s, orr_perf_arch_fn fn, void *arg);

/* Says that predictions are missing: measures are taken from now on. */
void orr_perfmodel_want_calibration(struct orr_perfmodel_state *s);

/* A state that is in no registry and belongs to the caller, for tools and tests; freed with
 * orr_perfmodel_state_destroy. */
struct orr_perfmodel_state *orr_perfmodel_state_create(const struct starpu_perfmodel *m);
void orr_perfmodel_state_destroy(struct orr_perfmodel_state *s);
/* Forgets all measures. Nobody else may be using it. */
void orr_perfmodel_state_clear(struct orr_perfmodel_state *s);
/* Gives m the state s, which then belongs to the registry. */
int orr_perfmodel_attach(struct starpu_perfmodel *m, struct orr_perfmodel_state *s);

/* ---- life of the layer; main thread ---- */

/* Reads settings. conf_calibrate: starpu_conf.calibrate, -1 unset; it wins over the environment when
 * conf_wins. */
int orr_perf_init(int conf_calibrate, bool conf_wins);
/* With all workers stopped: saves what was measured, and frees everything. */
void orr_perf_fini(void);
extern int orr_calibrate; /* 0: only what is missing; 1: always; 2: always, and from nothing [const] */

#endif
