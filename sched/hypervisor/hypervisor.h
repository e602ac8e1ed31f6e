/* SPDX-License-Identifier: BSD-3-Clause */
/* hypervisor.h: what the files of the hypervisor share.
 * Threads: each function says. Owns: the shape of the hypervisor's state. Not here: public structures and
 * functions (include/sc_hypervisor*.h), strategies (strategies.def).
 *
 * Locks: act_hypervisor_mutex (the role) > registry > moves (resize.c) > a wrapper's mutex. Callbacks of the
 * runtime take the role by trying only. */
#ifndef ORR_HYPERVISOR_H
#define ORR_HYPERVISOR_H

#include <sc_hypervisor.h>
#include <sc_hypervisor_lp.h>
#include <sc_hypervisor_policy.h>

#include "core/base/thread.h"
#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/base/sync.h"

struct starpu_sched_ctx_hypervisor_policy;

/* The tags at which a context is to be resized. */
struct starpu_htbl32_node {
    int *tags;
    unsigned count, room;
};

struct orr_hyp_tagged; /* conditions that wait for their tag (config.c) */

/* A context, registered or once registered. Slots live until shutdown. */
struct orr_hyp_slot {
    _Atomic bool registered;         /* publishes w */
    _Atomic bool known;              /* it is, or once was */
    _Atomic uint32_t inside;         /* threads in a callback for this context */
    _Atomic bool allowed;            /* the program allows resizing it */
    _Atomic bool starving;           /* a task became ready while it had no worker */
    struct sc_hypervisor_wrapper *w; /* [lock: registry] allocated at the first registration */
    /* [lock: w->mutex] */
    int min_tasks;
    unsigned long submitted, executed;    /* tasks since registration */
    bool types_known;                     /* by announcements, not by submissions */
    double worked_us[STARPU_NMAXWORKERS]; /* since the worker was last idle for long */
    struct orr_hyp_tagged *tagged;
    struct starpu_htbl32_node requests;
};

struct orr_hyp {
    _Atomic bool running; /* publishes policy */
    struct sc_hypervisor_policy policy;
    /* handlers of a strategy under the first names, called beside the policy's; NULL: not that */
    void (*first_popped)(unsigned ctx, int worker);
    void (*first_post_exec)(unsigned ctx, struct starpu_htbl32_node *requests, int tag);
    struct orr_hyp_slot slots[STARPU_NMAX_SCHED_CTXS];
    ORR_MUTEX(hyp_registry) registry; /* protects sched_ctxs, slots[].w, the size request */
    unsigned sched_ctxs[STARPU_NMAX_SCHED_CTXS];
    int nsched_ctxs;
    /* settings [const while running] */
    bool lazy, print, sample_by_time;
    unsigned criteria;
    double start_percent, max_gap_percent;
    /* statistics */
    _Atomic uint64_t resizes, moved, decisions, decisions_ns;
};
extern struct orr_hyp orr_hyp;

/* The slot of a registered context, or NULL. With a function's name: NULL is an error message, but for a
 * context that left while the calling thread is called back or decides: that is nobody's mistake. */
struct orr_hyp_slot *orr_hyp_slot(unsigned ctx);
struct orr_hyp_slot *orr_hyp_slot_or_error(unsigned ctx, const char *function);

static inline unsigned orr_hyp_id(const struct orr_hyp_slot *slot)
{
    return (unsigned)(slot - orr_hyp.slots);
}

/* Copies the registered contexts (or those of the list given) to list_out; returns how many. */
int orr_hyp_contexts(unsigned list_out[STARPU_NMAX_SCHED_CTXS], const unsigned *given, int ngiven);
/* The same for workers. */
int orr_hyp_workers(int list_out[STARPU_NMAXWORKERS], const int *given, int ngiven);

/* Zeroes what is measured by sample. Takes w->mutex. */
void orr_hyp_begin_sample(struct orr_hyp_slot *slot);

/* Tasks submitted and not executed, by what the counters said; 0 as well for one that is not registered. */
unsigned long orr_hyp_unfinished(unsigned ctx);

/* Around a decision: takes the role, unless somebody else has it (wait: then waits); gives it back, and only
 * then begins the moves that were decided: they may wait for workers, who may wait for the role. */
bool orr_hyp_begin_decision(uint64_t *start_out, bool wait);
void orr_hyp_end_decision(uint64_t start);
/* What the calling thread is doing here. */
struct orr_hyp_thread {
    bool deciding;
    unsigned entered; /* contexts, see orr_hyp_enter */
};
static inline struct orr_hyp_thread *orr_hyp_thread(void)
{
    return orr_thread_room(orr_self(), hypervisor, struct orr_hyp_thread);
}
/* Whether the calling thread is deciding; deciding, or in a callback. */
bool orr_hyp_is_deciding(void);
bool orr_hyp_is_inside(void);

/* Whether a strategy may resize this context now: allowed, MIN_TASKS and SC_HYPERVISOR_START_RESIZE reached,
 * and no resize under way. */
bool orr_hyp_may_resize(unsigned ctx);

/* ---- counters.c ---- */

struct starpu_performance_counters;
extern struct starpu_performance_counters orr_hyp_counters;
/* Around what is done for a context, which stays registered meanwhile or, if it is unregistered, is waited
 * for. NULL: it is not registered. */
struct orr_hyp_slot *orr_hyp_enter(unsigned ctx);
void orr_hyp_leave(struct orr_hyp_slot *slot);
/* Waits until no thread is between the two. Not from there. */
void orr_hyp_wait_outside(void);
/* The same for one context. A thread that is itself inside, or decides, goes on: others may wait for it. */
void orr_hyp_wait_outside_of(unsigned ctx);

/* ---- resize.c ---- */

/* Whether workers move, or are to. */
bool orr_hyp_resizing(void);
/* Worker was seen at work, or looking for it, in a context. */
void orr_hyp_seen(unsigned ctx, int worker);
/* Begins the next resize if none is under way and one is due. */
void orr_hyp_advance(void);
/* A context is no longer registered: moves from or to it end. ctx STARPU_NMAX_SCHED_CTXS: all end. */
void orr_hyp_forget_moves(unsigned ctx);
/* Whether the worker is on the way between contexts, or to be. */
bool orr_hyp_is_moving(int worker);
/* Where the worker is or will be, looking only at these contexts: an index of the list, -1: in none. */
int orr_hyp_place_of(int worker, const unsigned *ctxs, int n);

/* ---- config.c ---- */

struct sc_hypervisor_policy_config *orr_hyp_config_create(void);
void orr_hyp_config_reset(struct sc_hypervisor_policy_config *c);
/* Reads the arguments of an ioctl. */
void orr_hyp_ctl(unsigned ctx, const char *function, va_list *ap);
/* Applies what waited for a tag; called without locks. */
void orr_hyp_apply_tag(struct orr_hyp_slot *slot, int tag);
void orr_hyp_tagged_free(struct orr_hyp_slot *slot);

/* ---- requests.c ---- */

void orr_hyp_requests_free(struct orr_hyp_slot *slot);
/* Whether a resize is requested at this tag; take: and remove the request. Called with w->mutex held. */
bool orr_hyp_requested_locked(struct orr_hyp_slot *slot, int tag, bool take);

/* A demand for a first distribution. */
struct orr_hyp_size_request {
    unsigned ctxs[STARPU_NMAX_SCHED_CTXS];
    int workers[STARPU_NMAXWORKERS];
    int nctxs, nworkers; /* -1: all */
};
/* Takes the demand away, if there is one and it can be met. One thread gets it. */
bool orr_hyp_take_size_request(struct orr_hyp_size_request *out, bool (*can_be_met)(unsigned *, int));

/* ---- lp_solver.c ---- */

/* A linear program in the making: columns are variables, rows constraints. */
struct orr_lp;
enum orr_lp_goal { ORR_LP_MIN, ORR_LP_MAX };
bool orr_lp_available(void);
/* NULL: out of memory, or there is no solver (said once). */
struct orr_lp *orr_lp_create(int columns, enum orr_lp_goal goal);
void orr_lp_destroy(struct orr_lp *lp);
/* Column j from 0: its bounds (upper INFINITY: none), its weight in the goal, whether it is 0 or 1. */
void orr_lp_column(struct orr_lp *lp, int j, double lower, double upper, double weight, bool is_binary);
/* Adds a row with bounds (-INFINITY, INFINITY: none); then terms of the row added last. */
void orr_lp_row(struct orr_lp *lp, double lower, double upper);
void orr_lp_term(struct orr_lp *lp, int j, double coefficient);
/* True: there is a solution, the best one unless binary variables took too long. */
bool orr_lp_solve(struct orr_lp *lp, double *goal_out);
double orr_lp_value(const struct orr_lp *lp, int j);

/* ---- what several strategies share (planning.c) ---- */

/* Gives the contexts whole numbers of workers of each kind by fractions res, first or again. */
void orr_hyp_apply_fractions(unsigned *ctxs, int ns, int nw, double res[ns][nw], int *workers, int nworkers,
                             struct types_of_workers *tw, bool first);
/* Reactions of a strategy to notices: handle_poped_task with the criterion SC_SPEED, handle_idle_cycle with
 * SC_IDLE. When the criterion is met and nothing hinders, call the strategy's resize_ctxs with the role. */
void orr_hyp_react_to_task(unsigned ctx, int worker, struct starpu_task *task, uint32_t footprint);
void orr_hyp_react_to_idle(unsigned ctx, int worker);
/* Prints speeds and workers of contexts, unless SC_HYPERVISOR_STOP_PRINT. */
void orr_hyp_print_speeds(void);
/* Operations that remain in a context. */
double orr_hyp_remaining_flops(unsigned ctx);
/* Maximises the operations per second of all contexts: res[s][t] workers of kind t; limits are obeyed, and a
 * context with needs[s] gets one if there are enough. Returns Gflop/s; 0: no solution. */
double orr_hyp_lp_throughput(int ns, int nt, double speed[ns][nt], const unsigned *needs, double res[ns][nt],
                             const int total_nw[nt], const unsigned *ctxs);

#endif
