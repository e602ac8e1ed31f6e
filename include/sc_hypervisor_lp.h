/* SPDX-License-Identifier: BSD-3-Clause */
/* sc_hypervisor_lp.h: distributions of workers over contexts by linear programs, and how to apply them.
 *
 * Threads: any; programs are solved one at a time.
 * Owns: nothing.
 * Not here: when to do it (the strategies).
 *
 * ns contexts, nw kinds of workers or workers, nt kinds of tasks. Speeds in Gflop/s of one worker, flops as
 * in tasks, times in s where speeds are given and else in the unit of the times given. A library that was
 * built without lp_solve solves nothing: 0 then stands for "no solution", with one warning.
 */
#ifndef SC_HYPERVISOR_LP_H
#define SC_HYPERVISOR_LP_H

#include <sc_hypervisor.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct sc_hypervisor_policy_task_pool;
struct types_of_workers;

/* The time (s) in which these workers (NULL: all) could execute what remains in all registered contexts; 0:
 * not known. */
double sc_hypervisor_lp_get_tmax(int nw, int *workers);

/* Give workers that are in none of the contexts to them, in turn, those with room. */
void sc_hypervisor_lp_share_remaining_resources(int ns, unsigned *sched_ctxs, int nworkers, int *workers);

/* Returns the middle of an interval. */
double sc_hypervisor_lp_find_tmax(double t1, double t2);

#ifndef __cplusplus /* which has no arrays of variable length */

/* ---- The programs ---- */

/* res[s][t], a number of workers of kind t for context s, such that all contexts end together as early as
 * can be, by what is known of their speeds and remaining operations; total_nw[t]: how many there are.
 * in_sched_ctxs: NULL: all registered. Returns that time (s); 0: nothing remains, or no solution. */
double sc_hypervisor_lp_get_nworkers_per_ctx(int nsched_ctxs, int ntypes_of_workers,
                                             double res[nsched_ctxs][ntypes_of_workers],
                                             int total_nw[ntypes_of_workers], struct types_of_workers *tw,
                                             unsigned *in_sched_ctxs);

/* The same from explicit speeds and flops. Limits of registered contexts are obeyed; sched_ctxs NULL: none.
 * vmax > 0: as few workers as do it in 1 / vmax. Returns 1 / time; 0: no solution. */
double sc_hypervisor_lp_simulate_distrib_flops(int nsched_ctxs, int ntypes_of_workers,
                                               double speed[nsched_ctxs][ntypes_of_workers],
                                               double flops[nsched_ctxs],
                                               double res[nsched_ctxs][ntypes_of_workers],
                                               int total_nw[ntypes_of_workers], unsigned *sched_ctxs,
                                               double vmax);

/* w_in_s[s][w], the part of worker w that context s gets (0 or 1, if is_integer), and tasks[w][t], how many
 * tasks of the t-th pool it runs, taking times[w][t] each, such that all are done in tmax, in the least total
 * time. Returns that total; 0: not possible. */
double sc_hypervisor_lp_simulate_distrib_tasks(int ns, int nw, int nt, double w_in_s[ns][nw],
                                               double tasks[nw][nt], double times[nw][nt],
                                               unsigned is_integer, double tmax, unsigned *in_sched_ctxs,
                                               struct sc_hypervisor_policy_task_pool *tmp_task_pools);

/* Same for operations: worker w executes final_flops_on_w[s][w] for context s, which needs flops[s].
 * Returns the total time of all workers; 0: not possible in tmax (s). */
double sc_hypervisor_lp_simulate_distrib_flops_on_sample(int ns, int nw, double final_w_in_s[ns][nw],
                                                         unsigned is_integer, double tmax, double **speed,
                                                         double flops[ns], double **final_flops_on_w);

/* Looks between tmin and tmax for the least time for which func finds a distribution (returns more than 0),
 * not below smallest_tmax, to one part in a thousand. w_in_s: the distribution for it. Returns 1; 0: there is
 * none for tmax. */
unsigned sc_hypervisor_lp_execute_dichotomy(
    int ns, int nw, double w_in_s[ns][nw], unsigned solve_lp_integer, void *specific_data, double tmin,
    double tmax, double smallest_tmax,
    double (*lp_estimated_distrib_func)(int lns, int lnw, double ldraft_w_in_s[lns][lnw],
                                        unsigned lis_integer, double ltmax, void *lspecifc_data));

/* ---- From fractions to workers ---- */

/* Whole numbers with the same total per kind; a context that was to have some is not left with none while
 * another has two. */
void sc_hypervisor_lp_round_double_to_int(int ns, int nw, double res[ns][nw], int res_rounded[ns][nw]);

/* Move workers between contexts that have some, so that each gets its number of each kind. */
void sc_hypervisor_lp_redistribute_resources_in_ctxs(int ns, int nw, int res_rounded[ns][nw],
                                                     double res[ns][nw], unsigned *sched_ctxs,
                                                     struct types_of_workers *tw);

/* First distribution: give each context its number of each kind, from these workers (NULL: all) in turn. */
void sc_hypervisor_lp_distribute_resources_in_ctxs(unsigned *sched_ctxs, int ns, int nw,
                                                   int res_rounded[ns][nw], double res[ns][nw], int *workers,
                                                   int nworkers, struct types_of_workers *tw);

/* The same from fractions. */
void sc_hypervisor_lp_distribute_floating_no_resources_in_ctxs(unsigned *sched_ctxs, int ns, int nw,
                                                               double res[ns][nw], int *workers, int nworkers,
                                                               struct types_of_workers *tw);

/* Give each worker to the context with its largest part w_in_s[s][w]; do_size: as a first distribution. */
void sc_hypervisor_lp_place_resources_in_ctx(int ns, int nw, double w_in_s[ns][nw], unsigned *sched_ctxs,
                                             int *workers, unsigned do_size, struct types_of_workers *tw);
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
