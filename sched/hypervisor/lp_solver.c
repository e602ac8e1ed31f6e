/* SPDX-License-Identifier: BSD-3-Clause */
/* lp_solver.c: linear programs, solved by lp_solve; the only file that knows it.
 * Threads: any; one program is built and solved at a time in the process. Owns: the lock for that.
 * Not here: which programs (lp_programs.c).
 *
 * A library built without lp_solve has the same functions: creating a program then fails and says so once. */
#include <math.h>

#include "config.h"
#include "sched/hypervisor/hypervisor.h"

#if ORR_HAVE_LPSOLVE
#include <lpsolve/lp_lib.h>

#include "core/base/clock.h"

enum { LIMIT_MS = 200 }; /* a decision must not take longer: then the best so far */

struct orr_lp {
    lprec *problem;
    int columns;
    int *term_columns; /* from 1, of the row added last */
    double *terms;
    int nterms;
    double lower, upper; /* of that row */
    bool in_row, failed; /* lp_solve had no memory */
    uint64_t deadline_ns;
};

/* lp_solve keeps its table of vector functions in static variables. */
static ORR_MUTEX(lp_solver) lock = PTHREAD_MUTEX_INITIALIZER; /* held from create to destroy */

bool orr_lp_available(void)
{
    return true;
}

static void free_parts(struct orr_lp *lp)
{
    orr_free(lp->term_columns);
    orr_free(lp->terms);
    orr_free(lp);
}

struct orr_lp *orr_lp_create(int columns, enum orr_lp_goal goal)
{
    struct orr_lp *lp = orr_calloc(1, sizeof *lp);
    if (!lp) return NULL;
    lp->columns = columns;
    lp->term_columns = orr_calloc((size_t)columns + 1, sizeof *lp->term_columns);
    lp->terms = orr_calloc((size_t)columns + 1, sizeof *lp->terms);
    if (!lp->term_columns || !lp->terms) {
        free_parts(lp);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    lp->problem = make_lp(0, columns);
    if (!lp->problem) {
        pthread_mutex_unlock(&lock);
        free_parts(lp);
        return NULL;
    }
    set_verbose(lp->problem, NEUTRAL);
    if (goal == ORR_LP_MAX) set_maxim(lp->problem);
    return lp;
}

void orr_lp_destroy(struct orr_lp *lp)
{
    if (!lp) return;
    delete_lp(lp->problem);
    pthread_mutex_unlock(&lock);
    free_parts(lp);
}

void orr_lp_column(struct orr_lp *lp, int j, double lower, double upper, double weight, bool is_binary)
{
    double least = isfinite(lower) ? lower : -get_infinite(lp->problem);
    double most = isfinite(upper) ? upper : get_infinite(lp->problem);
    if (is_binary && !set_int(lp->problem, j + 1, TRUE)) lp->failed = true;
    if (!set_bounds(lp->problem, j + 1, least, most) || !set_obj(lp->problem, j + 1, weight))
        lp->failed = true;
}

/* Hands the row over that was added last. */
static void end_row(struct orr_lp *lp)
{
    if (!lp->in_row) return;
    bool bounded = isfinite(lp->lower);
    int kind = lp->lower == lp->upper ? EQ : bounded ? GE : LE;
    if (!add_constraintex(lp->problem, lp->nterms, lp->terms, lp->term_columns, kind,
                          bounded ? lp->lower : lp->upper))
        lp->failed = true;
    else if (kind == GE && isfinite(lp->upper))
        set_rh_range(lp->problem, get_Nrows(lp->problem), lp->upper - lp->lower);
    lp->in_row = false;
    lp->nterms = 0;
}

void orr_lp_row(struct orr_lp *lp, double lower, double upper)
{
    end_row(lp);
    lp->in_row = isfinite(lower) || isfinite(upper);
    lp->lower = lower;
    lp->upper = upper;
}

void orr_lp_term(struct orr_lp *lp, int j, double coefficient)
{
    if (coefficient == 0.0 || !lp->in_row || lp->nterms >= lp->columns) return;
    lp->term_columns[lp->nterms] = j + 1;
    lp->terms[lp->nterms] = coefficient;
    lp->nterms++;
}

/* lp_solve's own limit is in seconds. */
static int __WINAPI too_late(lprec *problem, void *arg)
{
    (void)problem;
    return orr_clock_ns() > ((const struct orr_lp *)arg)->deadline_ns;
}

bool orr_lp_solve(struct orr_lp *lp, double *goal_out)
{
    end_row(lp);
    if (lp->failed) return false;
    lp->deadline_ns = orr_clock_ns() + LIMIT_MS * UINT64_C(1000000);
    put_abortfunc(lp->problem, too_late, lp);
    set_mip_gap(lp->problem, FALSE, 0.01);
    /* By this rule, 8 contexts with 32 workers have after the limit a division that is 15% better than by the
     * order of columns. */
    set_bb_rule(lp->problem, NODE_PSEUDOCOSTSELECT);
    int status = solve(lp->problem);
    if (status != OPTIMAL && status != SUBOPTIMAL && status != PRESOLVED) return false;
    *goal_out = get_working_objective(lp->problem);
    return true;
}

double orr_lp_value(const struct orr_lp *lp, int j)
{
    double *values;
    return get_ptr_variables(lp->problem, &values) ? values[j] : 0.0;
}

#else /* no lp_solve */

bool orr_lp_available(void)
{
    return false;
}

struct orr_lp *orr_lp_create(int columns, enum orr_lp_goal goal)
{
    static _Atomic bool said; /* [any: statistic] */
    (void)columns;
    (void)goal;
    if (!atomic_exchange_explicit(&said, true, memory_order_relaxed))
        orr_warn("this library was built without lp_solve: linear programs have no solution (Debian: "
                 "liblpsolve55-dev lp-solve)");
    return NULL;
}

void orr_lp_destroy(struct orr_lp *lp)
{
    (void)lp;
}

void orr_lp_column(struct orr_lp *lp, int j, double lower, double upper, double weight, bool is_binary)
{
    (void)lp, (void)j, (void)lower, (void)upper, (void)weight, (void)is_binary;
}

void orr_lp_row(struct orr_lp *lp, double lower, double upper)
{
    (void)lp, (void)lower, (void)upper;
}

void orr_lp_term(struct orr_lp *lp, int j, double coefficient)
{
    (void)lp, (void)j, (void)coefficient;
}

bool orr_lp_solve(struct orr_lp *lp, double *goal_out)
{
    (void)lp, (void)goal_out;
    return false;
}

double orr_lp_value(const struct orr_lp *lp, int j)
{
    (void)lp, (void)j;
    return 0.0;
}

#endif
