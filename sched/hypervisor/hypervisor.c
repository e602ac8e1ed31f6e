/* SPDX-License-Identifier: BSD-3-Clause */
/* hypervisor.c: starts and ends the hypervisor, and knows the contexts it resizes.
 * Threads: init and shutdown by the program; the rest by any. Owns: orr_hyp, the role.
 * Not here: callbacks of the runtime (counters.c), moving workers (resize.c), conditions (config.c). */
#include "sched/hypervisor/hypervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "sched_ctx_hypervisor.h"

struct orr_hyp orr_hyp = { .registry = PTHREAD_MUTEX_INITIALIZER };
starpu_pthread_mutex_t act_hypervisor_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;

/* ---- strategies ---- */

#define ORR_STRATEGY(id, lp) extern const struct sc_hypervisor_policy orr_hyp_##id;
#include "sched/hypervisor/strategies.def"
#undef ORR_STRATEGY

static const struct {
    const struct sc_hypervisor_policy *policy;
    bool needs_lp;
} strategies[] = {
#define ORR_STRATEGY(id, lp) { &orr_hyp_##id, lp },
#include "sched/hypervisor/strategies.def"
#undef ORR_STRATEGY
};
enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

static void list_strategies(void)
{
    fprintf(stderr, "strategies of the hypervisor (SC_HYPERVISOR_POLICY):\n");
    for (int i = 0; i < STRATEGIES; i++)
        fprintf(stderr, "  %s%s%s\n", strategies[i].policy->name, i == 0 ? " (default)" : "",
                strategies[i].needs_lp && !orr_lp_available() ? " (not in this library: it needs lp_solve)"
                                                              : "");
}

/* NULL, with a message: there is none, or it cannot be used. */
static const struct sc_hypervisor_policy *find_strategy(const char *name)
{
    const char *setting = orr_env_string(ORR_SETTING(SC_HYPERVISOR_POLICY));
    if (setting && strcasecmp(setting, "help") == 0) {
        list_strategies();
        setting = NULL;
    }
    if (!name) name = setting ? setting : strategies[0].policy->name;
    for (int i = 0; i < STRATEGIES; i++) {
        if (strcasecmp(name, strategies[i].policy->name) != 0) continue;
        if (!strategies[i].needs_lp || orr_lp_available()) return strategies[i].policy;
        orr_error("sc_hypervisor_init: strategy %s needs linear programs, and this library was built without "
                  "lp_solve (Debian: liblpsolve55-dev lp-solve)",
                  name);
        return NULL;
    }
    orr_error("sc_hypervisor_init: there is no strategy \"%s\"", name);
    list_strategies();
    return NULL;
}

/* ---- life ---- */

static unsigned read_trigger(void)
{
    const char *s = orr_env_string(ORR_SETTING(SC_HYPERVISOR_TRIGGER_RESIZE));
    if (!s || strcasecmp(s, "idle") == 0) return SC_IDLE;
    if (strcasecmp(s, "speed") == 0) return SC_SPEED;
    orr_env_refuse(ORR_SETTING(SC_HYPERVISOR_TRIGGER_RESIZE), "idle or speed", "idle");
    return SC_IDLE;
}

static bool read_by_time(void)
{
    const char *s = orr_env_string(ORR_SETTING(SC_HYPERVISOR_SAMPLE_CRITERIA));
    if (!s || strcasecmp(s, "flops") == 0) return false;
    if (strcasecmp(s, "time") == 0) return true;
    orr_env_refuse(ORR_SETTING(SC_HYPERVISOR_SAMPLE_CRITERIA), "flops or time", "flops");
    return false;
}

static void read_settings(void)
{
    orr_hyp.lazy = orr_env_long(ORR_SETTING(SC_HYPERVISOR_LAZY_RESIZE), 1, 0, 1) != 0;
    orr_hyp.print = orr_env_long(ORR_SETTING(SC_HYPERVISOR_STOP_PRINT), 0, 0, 1) == 0;
    orr_hyp.start_percent = orr_env_double(ORR_SETTING(SC_HYPERVISOR_START_RESIZE), 0.0, 0.0, 100.0);
    orr_hyp.max_gap_percent = orr_env_double(ORR_SETTING(SC_HYPERVISOR_MAX_SPEED_GAP), 50.0, 0.0, 1e9);
    orr_hyp.criteria = read_trigger();
    orr_hyp.sample_by_time = read_by_time();
}

void *sc_hypervisor_init(struct sc_hypervisor_policy *policy)
{
    const struct sc_hypervisor_policy *chosen =
        policy && policy->custom ? policy : find_strategy(policy ? policy->name : NULL);
    if (!chosen) return NULL;
    pthread_mutex_lock(&orr_hyp.registry);
    bool twice = orr_load_relaxed(&orr_hyp.running);
    if (!twice) {
        orr_clock_init();
        read_settings();
        orr_hyp.policy = *chosen;
        orr_hyp.first_popped = NULL;
        orr_hyp.first_post_exec = NULL;
        orr_store_relaxed(&orr_hyp.resizes, 0);
        orr_store_relaxed(&orr_hyp.moved, 0);
        orr_store_relaxed(&orr_hyp.decisions, 0);
        orr_store_relaxed(&orr_hyp.decisions_ns, 0);
        orr_store_release(&orr_hyp.running, true);
    }
    pthread_mutex_unlock(&orr_hyp.registry);
    if (twice) {
        orr_error("sc_hypervisor_init: the hypervisor runs already, with strategy %s; there is a single one",
                  orr_hyp.policy.name ? orr_hyp.policy.name : "of the program");
        return NULL;
    }
    starpu_sched_ctx_notify_hypervisor_exists();
    return &orr_hyp_counters;
}

static void free_slot(struct orr_hyp_slot *slot)
{
    if (!slot->w) return;
    orr_hyp_tagged_free(slot);
    orr_hyp_requests_free(slot);
    pthread_mutex_destroy(&slot->w->mutex);
    orr_free(slot->w->resize_ack.moved_workers);
    orr_free(slot->w->resize_ack.acked_workers);
    orr_free(slot->w->config);
    orr_free(slot->w);
    slot->w = NULL;
    orr_store_relaxed(&slot->known, false);
}

void sc_hypervisor_shutdown(void)
{
    if (!orr_load_acquire(&orr_hyp.running)) return;
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++)
        if (orr_hyp_slot(i)) sc_hypervisor_unregister_ctx(i);
    orr_hyp_wait_outside();
    orr_hyp_forget_moves(STARPU_NMAX_SCHED_CTXS);
    sc_hypervisor_free_size_req();
    pthread_mutex_lock(&orr_hyp.registry);
    for (unsigned i = 0; i < STARPU_NMAX_SCHED_CTXS; i++) free_slot(&orr_hyp.slots[i]);
    orr_store_release(&orr_hyp.running, false);
    pthread_mutex_unlock(&orr_hyp.registry);
}

const char *sc_hypervisor_get_policy(void)
{
    return orr_load_acquire(&orr_hyp.running) ? orr_hyp.policy.name : NULL;
}

void sc_hypervisor_print_overhead(void)
{
    uint64_t decisions = orr_load_relaxed(&orr_hyp.decisions);
    double us = (double)orr_load_relaxed(&orr_hyp.decisions_ns) * 1e-3;
    fprintf(stderr,
            "hypervisor: %llu resizes moved %llu workers; %llu decisions took %.1f us, %.2f us each\n",
            (unsigned long long)orr_load_relaxed(&orr_hyp.resizes),
            (unsigned long long)orr_load_relaxed(&orr_hyp.moved), (unsigned long long)decisions, us,
            decisions ? us / (double)decisions : 0.0);
}

/* ---- contexts ---- */

struct orr_hyp_slot *orr_hyp_slot(unsigned ctx)
{
    struct orr_hyp_slot *slot = &orr_hyp.slots[ctx < STARPU_NMAX_SCHED_CTXS ? ctx : 0];
    return ctx < STARPU_NMAX_SCHED_CTXS && orr_load_seq(&slot->registered) ? slot : NULL;
}

/* Contexts leave while strategies think. */
static bool has_just_left(unsigned ctx)
{
    return ctx < STARPU_NMAX_SCHED_CTXS && orr_load_relaxed(&orr_hyp.slots[ctx].known) && orr_hyp_is_inside();
}

struct orr_hyp_slot *orr_hyp_slot_or_error(unsigned ctx, const char *function)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(ctx);
    if (!slot && !has_just_left(ctx)) {
        if (orr_load_acquire(&orr_hyp.running))
            orr_error("%s: scheduling context %u is not registered to the hypervisor; call "
                      "sc_hypervisor_register_ctx",
                      function, ctx);
        else
            orr_error("%s: there is no hypervisor; call sc_hypervisor_init", function);
    }
    return slot;
}

static struct sc_hypervisor_wrapper *create_wrapper(void)
{
    struct sc_hypervisor_wrapper *w = orr_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->config = orr_hyp_config_create();
    w->resize_ack.moved_workers = orr_calloc(STARPU_NMAXWORKERS, sizeof(int));
    w->resize_ack.acked_workers = orr_calloc(STARPU_NMAXWORKERS, sizeof(int));
    if (w->config && w->resize_ack.moved_workers && w->resize_ack.acked_workers) {
        pthread_mutex_init(&w->mutex, NULL);
        return w;
    }
    orr_free(w->config);
    orr_free(w->resize_ack.moved_workers);
    orr_free(w->resize_ack.acked_workers);
    orr_free(w);
    return NULL;
}

/* Zeroes a wrapper but for what it owns. Called with its mutex held. */
static void reset_wrapper_locked(struct sc_hypervisor_wrapper *w, unsigned ctx, double total_flops)
{
    struct sc_hypervisor_policy_config *config = w->config;
    struct sc_hypervisor_resize_ack ack = w->resize_ack;
    double now = starpu_timing_now();
    size_t mutex_at = offsetof(struct sc_hypervisor_wrapper, mutex), after = mutex_at + sizeof w->mutex;
    memset(w, 0, mutex_at);
    memset((char *)w + after, 0, sizeof *w - after);
    orr_hyp_config_reset(config);
    w->sched_ctx = ctx;
    w->config = config;
    w->resize_ack = ack;
    w->resize_ack.receiver_sched_ctx = -1;
    w->resize_ack.nmoved_workers = 0;
    w->total_flops = w->remaining_flops = total_flops;
    w->total_flops_available = total_flops > 0.0;
    w->start_time = now;
    w->ref_speed[0] = w->ref_speed[1] = -1.0;
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) {
        w->compute_idle[i] = 1;
        w->start_time_w[i] = now;
    }
}

static void reset_slot(struct orr_hyp_slot *slot, double total_flops)
{
    pthread_mutex_lock(&slot->w->mutex);
    reset_wrapper_locked(slot->w, orr_hyp_id(slot), total_flops);
    slot->min_tasks = 0;
    slot->submitted = slot->executed = 0;
    slot->types_known = false;
    memset(slot->worked_us, 0, sizeof slot->worked_us);
    pthread_mutex_unlock(&slot->w->mutex);
    orr_hyp_tagged_free(slot);
    orr_hyp_requests_free(slot);
    orr_store_relaxed(&slot->allowed, true);
    orr_store_relaxed(&slot->starving, false);
}

/* Called with the registry locked. False, with a message: it cannot be. */
static bool register_locked(unsigned ctx, double total_flops)
{
    struct orr_hyp_slot *slot = &orr_hyp.slots[ctx];
    if (orr_load_relaxed(&slot->registered)) {
        orr_error("sc_hypervisor_register_ctx: scheduling context %u is registered already", ctx);
        return false;
    }
    if (!slot->w) slot->w = create_wrapper();
    if (!slot->w) {
        orr_error("sc_hypervisor_register_ctx: out of memory");
        return false;
    }
    reset_slot(slot, total_flops);
    orr_hyp.sched_ctxs[orr_hyp.nsched_ctxs++] = ctx;
    orr_store_relaxed(&slot->known, true);
    orr_store_seq(&slot->registered, true);
    return true;
}

void sc_hypervisor_register_ctx(unsigned sched_ctx, double total_flops)
{
    if (!orr_load_acquire(&orr_hyp.running)) {
        orr_error("sc_hypervisor_register_ctx: there is no hypervisor; call sc_hypervisor_init");
        return;
    }
    if (sched_ctx >= STARPU_NMAX_SCHED_CTXS || !(total_flops >= 0.0)) {
        orr_error("sc_hypervisor_register_ctx: %s",
                  total_flops >= 0.0 ? "there is no such scheduling context" : "total_flops is negative");
        return;
    }
    pthread_mutex_lock(&orr_hyp.registry);
    bool done = register_locked(sched_ctx, total_flops);
    pthread_mutex_unlock(&orr_hyp.registry);
    if (!done) return;
    if (orr_hyp.policy.start_ctx) orr_hyp.policy.start_ctx(sched_ctx);
    int *workers;
    unsigned n = starpu_sched_ctx_get_workers_list(sched_ctx, &workers);
    for (unsigned i = 0; i < n; i++) sc_hypervisor_init_worker(workers[i], sched_ctx);
    free(workers);
}

void sc_hypervisor_unregister_ctx(unsigned sched_ctx)
{
    if (!orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_unregister_ctx")) return;
    pthread_mutex_lock(&orr_hyp.registry);
    bool was = atomic_exchange_explicit(&orr_hyp.slots[sched_ctx].registered, false, memory_order_seq_cst);
    int at = 0;
    while (at < orr_hyp.nsched_ctxs && orr_hyp.sched_ctxs[at] != sched_ctx) at++;
    if (was && at < orr_hyp.nsched_ctxs) {
        orr_hyp.nsched_ctxs--;
        memmove(&orr_hyp.sched_ctxs[at], &orr_hyp.sched_ctxs[at + 1],
                (size_t)(orr_hyp.nsched_ctxs - at) * sizeof orr_hyp.sched_ctxs[0]);
    }
    pthread_mutex_unlock(&orr_hyp.registry);
    orr_hyp_forget_moves(sched_ctx);
    if (was) orr_hyp_wait_outside_of(sched_ctx);
    if (was && orr_hyp.policy.end_ctx) orr_hyp.policy.end_ctx(sched_ctx);
}

int orr_hyp_contexts(unsigned list_out[STARPU_NMAX_SCHED_CTXS], const unsigned *given, int ngiven)
{
    int n = 0;
    if (given && ngiven >= 0) {
        for (int i = 0; i < ngiven && n < STARPU_NMAX_SCHED_CTXS; i++)
            if (orr_hyp_slot(given[i])) list_out[n++] = given[i];
        return n;
    }
    pthread_mutex_lock(&orr_hyp.registry);
    n = orr_hyp.nsched_ctxs;
    memcpy(list_out, orr_hyp.sched_ctxs, (size_t)n * sizeof *list_out);
    pthread_mutex_unlock(&orr_hyp.registry);
    return n;
}

int orr_hyp_workers(int list_out[STARPU_NMAXWORKERS], const int *given, int ngiven)
{
    int all = (int)starpu_worker_get_count(), n = 0;
    if (!given || ngiven < 0) {
        for (; n < all; n++) list_out[n] = n;
        return n;
    }
    for (int i = 0; i < ngiven && n < STARPU_NMAXWORKERS; i++)
        if (given[i] >= 0 && given[i] < all) list_out[n++] = given[i];
    return n;
}

void sc_hypervisor_stop_resize(unsigned sched_ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_stop_resize");
    if (slot) orr_store_relaxed(&slot->allowed, false);
}

void sc_hypervisor_start_resize(unsigned sched_ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_start_resize");
    if (slot) orr_store_relaxed(&slot->allowed, true);
}

unsigned sc_hypervisor_can_resize(unsigned sched_ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(sched_ctx);
    return slot && orr_load_relaxed(&slot->allowed) && !orr_hyp_resizing();
}

/* ---- the strategy's own functions ---- */

void sc_hypervisor_resize_ctxs(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    if (!orr_load_acquire(&orr_hyp.running))
        orr_error("sc_hypervisor_resize_ctxs: there is no hypervisor; call sc_hypervisor_init");
    else if (orr_hyp.policy.resize_ctxs)
        orr_hyp.policy.resize_ctxs(sched_ctxs, nsched_ctxs, workers, nworkers);
    else
        orr_warn("sc_hypervisor_resize_ctxs: strategy %s resizes by events only; nothing is done",
                 orr_hyp.policy.name ? orr_hyp.policy.name : "of the program");
}

void sc_hypervisor_size_ctxs(unsigned *sched_ctxs, int nsched_ctxs, int *workers, int nworkers)
{
    if (!orr_load_acquire(&orr_hyp.running))
        orr_error("sc_hypervisor_size_ctxs: there is no hypervisor; call sc_hypervisor_init");
    else if (orr_hyp.policy.size_ctxs)
        orr_hyp.policy.size_ctxs(sched_ctxs, nsched_ctxs, workers, nworkers);
    else
        orr_warn("sc_hypervisor_size_ctxs: strategy %s makes no first distribution; nothing is done",
                 orr_hyp.policy.name ? orr_hyp.policy.name : "of the program");
}

bool orr_hyp_is_deciding(void)
{
    return orr_hyp_thread()->deciding;
}

bool orr_hyp_is_inside(void)
{
    return orr_hyp_thread()->deciding || orr_hyp_thread()->entered > 0;
}

bool orr_hyp_begin_decision(uint64_t *start_out, bool wait)
{
    if (orr_hyp_thread()->deciding) return false; /* within another decision of this thread */
    if (wait)
        pthread_mutex_lock(&act_hypervisor_mutex);
    else if (pthread_mutex_trylock(&act_hypervisor_mutex) != 0)
        return false;
    orr_hyp_thread()->deciding = true;
    *start_out = orr_clock_ns();
    return true;
}

void orr_hyp_end_decision(uint64_t start)
{
    orr_add_relaxed(&orr_hyp.decisions, 1);
    orr_add_relaxed(&orr_hyp.decisions_ns, orr_clock_ns() - start);
    orr_hyp_thread()->deciding = false;
    pthread_mutex_unlock(&act_hypervisor_mutex);
    orr_hyp_advance();
}
