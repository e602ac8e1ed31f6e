/* SPDX-License-Identifier: BSD-3-Clause */
/* config.c: conditions of resizing a context: set now, or when a task with a tag has run.
 * Threads: any. Owns: conditions that wait for their tag. Not here: who obeys them (tools.c, strategies). */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/hypervisor/hypervisor.h"

/* One argument of an ioctl with its values. */
struct setting {
    int kind;
    int value;
    double time;
    int nworkers;
    int workers[STARPU_NMAXWORKERS];
};

enum { SETTINGS_MAX = 32 };

struct orr_hyp_tagged {
    struct orr_hyp_tagged *next;
    int tag;
    struct setting *settings;
    int count;
};

struct sc_hypervisor_policy_config *orr_hyp_config_create(void)
{
    struct sc_hypervisor_policy_config *c = orr_calloc(1, sizeof *c);
    if (c) orr_hyp_config_reset(c);
    return c;
}

void orr_hyp_config_reset(struct sc_hypervisor_policy_config *c)
{
    memset(c, 0, sizeof *c);
    c->max_nworkers = STARPU_NMAXWORKERS;
    c->granularity = 1;
    c->new_workers_max_idle = MAX_IDLE_TIME;
    for (int i = 0; i < STARPU_NMAXWORKERS; i++) c->max_idle[i] = MAX_IDLE_TIME;
}

void sc_hypervisor_set_config(unsigned sched_ctx, void *config)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(sched_ctx, "sc_hypervisor_set_config");
    if (!slot) return;
    if (!config) {
        orr_error("sc_hypervisor_set_config: the configuration is NULL");
        return;
    }
    pthread_mutex_lock(&slot->w->mutex);
    *slot->w->config = *(const struct sc_hypervisor_policy_config *)config;
    pthread_mutex_unlock(&slot->w->mutex);
}

struct sc_hypervisor_policy_config *sc_hypervisor_get_config(unsigned sched_ctx)
{
    struct orr_hyp_slot *slot = orr_hyp_slot(sched_ctx);
    return slot ? slot->w->config : NULL;
}

/* ---- reading the arguments ---- */

static const char *name_of(int kind)
{
    switch (kind) {
    case SC_HYPERVISOR_MAX_IDLE: return "HYPERVISOR_MAX_IDLE";
    case SC_HYPERVISOR_MIN_WORKING: return "HYPERVISOR_MIN_WORKING";
    case SC_HYPERVISOR_PRIORITY: return "HYPERVISOR_PRIORITY";
    case SC_HYPERVISOR_MIN_WORKERS: return "HYPERVISOR_MIN_WORKERS";
    case SC_HYPERVISOR_MAX_WORKERS: return "HYPERVISOR_MAX_WORKERS";
    case SC_HYPERVISOR_GRANULARITY: return "HYPERVISOR_GRANULARITY";
    case SC_HYPERVISOR_FIXED_WORKERS: return "HYPERVISOR_FIXED_WORKERS";
    case SC_HYPERVISOR_MIN_TASKS: return "HYPERVISOR_MIN_TASKS";
    case SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE: return "HYPERVISOR_NEW_WORKERS_MAX_IDLE";
    case SC_HYPERVISOR_TIME_TO_APPLY: return "HYPERVISOR_TIME_TO_APPLY";
    case SC_HYPERVISOR_ISPEED_W_SAMPLE: return "HYPERVISOR_ISPEED_W_SAMPLE";
    case SC_HYPERVISOR_ISPEED_CTX_SAMPLE: return "HYPERVISOR_ISPEED_CTX_SAMPLE";
    case SC_HYPERVISOR_TIME_SAMPLE: return "HYPERVISOR_TIME_SAMPLE";
    default: return NULL;
    }
}

static bool takes_workers(int kind)
{
    return kind == SC_HYPERVISOR_MAX_IDLE || kind == SC_HYPERVISOR_MIN_WORKING ||
           kind == SC_HYPERVISOR_PRIORITY || kind == SC_HYPERVISOR_FIXED_WORKERS ||
           kind == SC_HYPERVISOR_ISPEED_W_SAMPLE;
}

static bool takes_double(int kind)
{
    return kind == SC_HYPERVISOR_MAX_IDLE || kind == SC_HYPERVISOR_MIN_WORKING ||
           kind == SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE || kind == SC_HYPERVISOR_ISPEED_W_SAMPLE ||
           kind == SC_HYPERVISOR_ISPEED_CTX_SAMPLE || kind == SC_HYPERVISOR_TIME_SAMPLE;
}

/* Copies a list of workers. False, with a message: there is something wrong with it. */
static bool read_workers(struct setting *s, const int *list, int count, const char *function)
{
    if (count < 0 || count > STARPU_NMAXWORKERS || (!list && count > 0)) {
        orr_error("%s: %s: an array of workers and its length must follow (length %d)", function,
                  name_of(s->kind), count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (list[i] >= 0 && list[i] < STARPU_NMAXWORKERS) continue;
        orr_error("%s: %s: there is no worker %d", function, name_of(s->kind), list[i]);
        return false;
    }
    if (count > 0) memcpy(s->workers, list, (size_t)count * sizeof *list);
    s->nworkers = count;
    return true;
}

/* Reads the values after an argument. False, with a message: they make no sense. */
static bool read_setting(struct setting *s, va_list *ap, const char *function)
{
    if (takes_workers(s->kind)) {
        const int *list = va_arg(*ap, const int *);
        int count = va_arg(*ap, int);
        if (!read_workers(s, list, count, function)) return false;
    }
    if (takes_double(s->kind)) {
        s->time = va_arg(*ap, double);
        if (s->time >= 0.0) return true;
        orr_error("%s: %s: a double that is not negative must follow, not %g", function, name_of(s->kind),
                  s->time);
        return false;
    }
    if (s->kind == SC_HYPERVISOR_FIXED_WORKERS) return true;
    s->value = va_arg(*ap, int);
    int least = s->kind == SC_HYPERVISOR_PRIORITY ? INT_MIN : s->kind == SC_HYPERVISOR_GRANULARITY ? 1 : 0;
    if (s->value >= least) return true;
    orr_error("%s: %s: an int of at least %d must follow, not %d", function, name_of(s->kind), least,
              s->value);
    return false;
}

/* Reads the whole list. Returns how many settings there are, *tag_out among them if there is a tag; -1, with
 * a message. */
static int read_all(struct setting *list, va_list *ap, int *tag_out, const char *function)
{
    int count = 0;
    for (int kind; (kind = va_arg(*ap, int)) != 0 && kind != SC_HYPERVISOR_NULL;) {
        struct setting *s = &list[count];
        memset(s, 0, sizeof *s);
        s->kind = kind;
        if (!name_of(kind)) {
            orr_error("%s: argument %d is none of HYPERVISOR_...; does the list end with 0?", function, kind);
            return -1;
        }
        if (!read_setting(s, ap, function)) return -1;
        if (kind == SC_HYPERVISOR_TIME_TO_APPLY) {
            *tag_out = s->value;
            continue;
        }
        if (++count == SETTINGS_MAX) {
            orr_error("%s: more than %d settings in one call", function, SETTINGS_MAX - 1);
            return -1;
        }
    }
    return count;
}

/* ---- applying ---- */

static void apply_to_workers(struct sc_hypervisor_policy_config *c, const struct setting *s)
{
    for (int i = 0; i < s->nworkers; i++) {
        int worker = s->workers[i];
        switch (s->kind) {
        case SC_HYPERVISOR_MAX_IDLE: c->max_idle[worker] = s->time; break;
        case SC_HYPERVISOR_MIN_WORKING: c->min_working[worker] = s->time; break;
        case SC_HYPERVISOR_PRIORITY: c->priority[worker] = s->value; break;
        case SC_HYPERVISOR_FIXED_WORKERS: c->fixed_workers[worker] = 1; break;
        case SC_HYPERVISOR_ISPEED_W_SAMPLE: c->ispeed_w_sample[worker] = s->time; break;
        default: break;
        }
    }
}

/* Called with w->mutex held. */
static void apply_locked(struct orr_hyp_slot *slot, const struct setting *list, int count)
{
    struct sc_hypervisor_policy_config *c = slot->w->config;
    for (int i = 0; i < count; i++) {
        const struct setting *s = &list[i];
        switch (s->kind) {
        case SC_HYPERVISOR_MIN_WORKERS: c->min_nworkers = s->value; break;
        case SC_HYPERVISOR_MAX_WORKERS: c->max_nworkers = s->value; break;
        case SC_HYPERVISOR_GRANULARITY: c->granularity = s->value; break;
        case SC_HYPERVISOR_MIN_TASKS: slot->min_tasks = s->value; break;
        case SC_HYPERVISOR_NEW_WORKERS_MAX_IDLE: c->new_workers_max_idle = s->time; break;
        case SC_HYPERVISOR_ISPEED_CTX_SAMPLE: c->ispeed_ctx_sample = s->time; break;
        case SC_HYPERVISOR_TIME_SAMPLE: c->time_sample = s->time; break;
        default: apply_to_workers(c, s); break;
        }
    }
}

/* Takes the list over. */
static void keep_for_tag(struct orr_hyp_slot *slot, int tag, struct setting *list, int count)
{
    struct orr_hyp_tagged *t = orr_calloc(1, sizeof *t);
    if (!t) {
        orr_error("sc_hypervisor_ctl: out of memory; the settings for tag %d are lost", tag);
        orr_free(list);
        return;
    }
    t->tag = tag;
    t->settings = list;
    t->count = count;
    pthread_mutex_lock(&slot->w->mutex);
    struct orr_hyp_tagged **at = &slot->tagged;
    while (*at) at = &(*at)->next; /* later ones are applied later */
    *at = t;
    pthread_mutex_unlock(&slot->w->mutex);
}

void orr_hyp_ctl(unsigned ctx, const char *function, va_list *ap)
{
    struct orr_hyp_slot *slot = orr_hyp_slot_or_error(ctx, function);
    struct setting *list = slot ? orr_malloc(SETTINGS_MAX * sizeof *list) : NULL;
    int tag = INT_MIN;
    if (!slot) return;
    if (!list) {
        orr_error("%s: out of memory", function);
        return;
    }
    int count = read_all(list, ap, &tag, function);
    if (count > 0 && tag != INT_MIN) {
        keep_for_tag(slot, tag, list, count);
        return;
    }
    pthread_mutex_lock(&slot->w->mutex);
    if (count > 0) apply_locked(slot, list, count);
    pthread_mutex_unlock(&slot->w->mutex);
    orr_free(list);
}

void sc_hypervisor_ctl(unsigned sched_ctx, ...)
{
    va_list ap;
    va_start(ap, sched_ctx);
    orr_hyp_ctl(sched_ctx, "sc_hypervisor_ctl", &ap);
    va_end(ap);
}

static void free_tagged(struct orr_hyp_tagged *t)
{
    orr_free(t->settings);
    orr_free(t);
}

void orr_hyp_apply_tag(struct orr_hyp_slot *slot, int tag)
{
    pthread_mutex_lock(&slot->w->mutex);
    for (struct orr_hyp_tagged **at = &slot->tagged; *at;) {
        struct orr_hyp_tagged *t = *at;
        if (t->tag == tag) {
            apply_locked(slot, t->settings, t->count);
            *at = t->next;
            free_tagged(t);
        } else {
            at = &t->next;
        }
    }
    pthread_mutex_unlock(&slot->w->mutex);
}

void orr_hyp_tagged_free(struct orr_hyp_slot *slot)
{
    pthread_mutex_lock(&slot->w->mutex);
    struct orr_hyp_tagged *t = slot->tagged;
    slot->tagged = NULL;
    pthread_mutex_unlock(&slot->w->mutex);
    for (struct orr_hyp_tagged *next; t; t = next) {
        next = t->next;
        free_tagged(t);
    }
}
