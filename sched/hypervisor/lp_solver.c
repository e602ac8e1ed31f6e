/* SPDX-License-Identifier: BSD-3-Clause */
/* lp_solver.c: linear programs, solved by GLPK; the only file that knows it.
 * Threads: any; one program is built and solved at a time in the process. Owns: the lock for that.
 * Not here: which programs (lp_programs.c).
 *
 * A library built without GLPK has the same functions: creating a program then fails, and says so once. */
#include <math.h>

#include "config.h"
#include "sched/hypervisor/hypervisor.h"

#if ORR_HAVE_GLPK
#include <glpk.h>

enum { BINARY_LIMIT_MS = 200 }; /* a decision must not take longer: then the best so far */

struct orr_lp {
    glp_prob *problem;
    int columns, rows;
    int *term_columns; /* from 1, of the row added last, as GLPK wants them */
    double *terms;
    int nterms;
    bool has_binary, env_was_empty;
    int terminal; /* what the program had set */
};

/* GLPK keeps its memory by thread; what the program itself has there must stay. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held from create to destroy */

bool orr_lp_available(void)
{
    return true;
}

struct orr_lp *orr_lp_create(int columns, enum orr_lp_goal goal)
{
    struct orr_lp *lp = orr_calloc(1, sizeof *lp);
    if (!lp) return NULL;
    lp->columns = columns;
    lp->term_columns = orr_calloc((size_t)columns + 1, sizeof *lp->term_columns);
    lp->terms = orr_calloc((size_t)columns + 1, sizeof *lp->terms);
    if (!lp->term_columns || !lp->terms) {
        orr_free(lp->term_columns);
        orr_free(lp->terms);
        orr_free(lp);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    int blocks = 0;
    glp_mem_usage(&blocks, NULL, NULL, NULL);
    lp->env_was_empty = blocks == 0;
    lp->terminal = glp_term_out(GLP_OFF);
    lp->problem = glp_create_prob();
    glp_set_obj_dir(lp->problem, goal == ORR_LP_MAX ? GLP_MAX : GLP_MIN);
    if (columns > 0) glp_add_cols(lp->problem, columns);
    return lp;
}

void orr_lp_destroy(struct orr_lp *lp)
{
    if (!lp) return;
    glp_delete_prob(lp->problem);
    glp_term_out(lp->terminal);
    if (lp->env_was_empty) glp_free_env();
    pthread_mutex_unlock(&lock);
    orr_free(lp->term_columns);
    orr_free(lp->terms);
    orr_free(lp);
}

static int kind_of_bounds(double lower, double upper)
{
    if (!isfinite(lower)) return isfinite(upper) ? GLP_UP : GLP_FR;
    if (!isfinite(upper)) return GLP_LO;
    return lower == upper ? GLP_FX : GLP_DB;
}

void orr_lp_column(struct orr_lp *lp, int j, double lower, double upper, double weight, bool is_binary)
{
    glp_set_col_bnds(lp->problem, j + 1, kind_of_bounds(lower, upper), lower, upper);
    glp_set_obj_coef(lp->problem, j + 1, weight);
    if (!is_binary) return;
    glp_set_col_kind(lp->problem, j + 1, GLP_BV);
    lp->has_binary = true;
}

/* Hands the terms of the last row over. */
static void end_row(struct orr_lp *lp)
{
    if (lp->rows > 0 && lp->nterms > 0)
        glp_set_mat_row(lp->problem, lp->rows, lp->nterms, lp->term_columns, lp->terms);
    lp->nterms = 0;
}

void orr_lp_row(struct orr_lp *lp, double lower, double upper)
{
    end_row(lp);
    lp->rows = glp_add_rows(lp->problem, 1);
    glp_set_row_bnds(lp->problem, lp->rows, kind_of_bounds(lower, upper), lower, upper);
}

void orr_lp_term(struct orr_lp *lp, int j, double coefficient)
{
    if (coefficient == 0.0 || lp->nterms >= lp->columns) return;
    lp->nterms++;
    lp->term_columns[lp->nterms] = j + 1;
    lp->terms[lp->nterms] = coefficient;
}

static bool solve_relaxed(struct orr_lp *lp)
{
    glp_smcp settings;
    glp_init_smcp(&settings);
    settings.msg_lev = GLP_MSG_OFF;
    return glp_simplex(lp->problem, &settings) == 0 && glp_get_status(lp->problem) == GLP_OPT;
}

static bool solve_binary(struct orr_lp *lp)
{
    glp_iocp settings;
    glp_init_iocp(&settings);
    settings.msg_lev = GLP_MSG_OFF;
    settings.tm_lim = BINARY_LIMIT_MS;
    settings.mip_gap = 0.01;
    glp_intopt(lp->problem, &settings);
    int status = glp_mip_status(lp->problem);
    return status == GLP_OPT || status == GLP_FEAS;
}

bool orr_lp_solve(struct orr_lp *lp, double *goal_out)
{
    end_row(lp);
    if (!solve_relaxed(lp) || (lp->has_binary && !solve_binary(lp))) return false;
    *goal_out = lp->has_binary ? glp_mip_obj_val(lp->problem) : glp_get_obj_val(lp->problem);
    return true;
}

double orr_lp_value(const struct orr_lp *lp, int j)
{
    return lp->has_binary ? glp_mip_col_val(lp->problem, j + 1) : glp_get_col_prim(lp->problem, j + 1);
}

#else /* no GLPK */

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
        orr_warn("this library was built without GLPK: linear programs have no solution (Debian: "
                 "libglpk-dev)");
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
