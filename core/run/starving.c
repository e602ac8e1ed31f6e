/* SPDX-License-Identifier: BSD-3-Clause */
/* starving.c: see starving.h.
 * Threads: the watching thread. Owns: nothing. Not here: when it is a deadlock (deadlock.c). */
#include "core/run/starving.h"

#include <stdio.h>
#include <time.h>

#include <starpu.h>

#include "core/data/starving.h"
#include "core/data/transfer.h"
#include "core/run/sentences.h"
#include "core/worker/park.h"
#include "core/worker/worker.h"

enum { SHOWN = 16, GLANCES = 200, GLANCE_NS = 10000 };

/* Whether w only waits for transfers: between two polls it says so. It is looked at many times, for short
 * ones; in a function of the program's it never says it. */
static bool waits(struct orr_worker *w)
{
    for (unsigned i = 0; i < GLANCES; i++) {
        if (orr_load_relaxed(&w->waits_for_data)) return true;
        nanosleep(&(struct timespec){ .tv_nsec = GLANCE_NS }, NULL);
    }
    return false;
}

unsigned orr_starving_workers(void)
{
    unsigned count = 0;
    if (!orr_transfers_starve()) return 0;
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct orr_worker *w = &orr_workers[i];
        if (orr_worker_is_parked(w)) continue;
        count += waits(w);
    }
    return orr_transfers_starve() ? count : 0;
}

static bool uses(struct orr_task *t, const struct orr_data *h)
{
    if (!t->pub->cl || orr_load_acquire(&t->state) == ORR_TASK_CREATED) return false;
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(t->pub); i++)
        if (STARPU_TASK_GET_HANDLE(t->pub, i) == h) return true;
    return false;
}

static void say_wait(const char *who, const struct orr_starving *s, orr_say_fn say)
{
    char label[64];
    say(ORR_SAY_FOR_MEMORY, who, s->bytes, orr_data_label(s->handle, label, sizeof label), s->node,
        orr_nodes[s->node].name);
}

bool orr_starving_explain_task(struct orr_task *t, const char *name, orr_say_fn say)
{
    struct orr_starving all[SHOWN];
    char who[256];
    uint32_t state = orr_load_acquire(&t->state);
    unsigned n = state == ORR_TASK_SUBMITTED || state == ORR_TASK_CREATED ? 0 : orr_starving_list(all, SHOWN);
    for (unsigned i = 0; i < n && i < SHOWN; i++) {
        if (!all[i].loading || !uses(t, all[i].handle)) continue;
        snprintf(who, sizeof who, "task %s", name);
        say_wait(who, &all[i], say);
        return true;
    }
    return false;
}

static bool runs_on(const struct orr_task *t, unsigned node)
{
    return orr_load_acquire(&t->state) == ORR_TASK_RUNNING && t->worker >= 0 &&
           orr_workers[t->worker].node == node;
}

/* The task that loads the copy, or uses it; NULL: none does. */
static struct orr_task *user_of(const struct orr_starving *s, struct orr_task *const *tasks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bool may = s->loading ? orr_load_acquire(&tasks[i]->state) != ORR_TASK_SUBMITTED
                              : runs_on(tasks[i], s->node);
        if (may && uses(tasks[i], s->handle)) return tasks[i];
    }
    return NULL;
}

static void say_holder(const struct orr_starving *s, struct orr_task *t, orr_say_fn say)
{
    char label[64], use[300] = ORR_SAY_MEMORY_PROGRAM;
    orr_data_label(s->handle, label, sizeof label);
    if (t)
        snprintf(use, sizeof use, "task %s (job %llu) %s", orr_task_name(t), (unsigned long long)t->id,
                 s->loading ? "has loaded so far" : "uses");
    say(ORR_SAY_MEMORY_USE, s->bytes, label, use);
}

static void explain_node(unsigned node, struct orr_task *const *tasks, unsigned count, orr_say_fn say)
{
    struct orr_starving held[SHOWN];
    struct orr_node *n = &orr_nodes[node];
    unsigned holders = orr_starving_holders(node, held, SHOWN);
    say(ORR_SAY_MEMORY_NODE, node, n->name, orr_load_relaxed(&n->used_bytes), n->limit_bytes);
    for (unsigned i = 0; i < holders && i < SHOWN; i++)
        say_holder(&held[i], user_of(&held[i], tasks, count), say);
    if (holders > SHOWN) say("    ... and %u more", holders - SHOWN);
}

void orr_starving_explain(struct orr_task *const *tasks, unsigned count, orr_say_fn say)
{
    struct orr_starving all[SHOWN];
    if (!orr_transfers_starve()) return;
    unsigned n = orr_starving_list(all, SHOWN);
    uint32_t nodes = 0;
    for (unsigned i = 0; i < n && i < SHOWN; i++) {
        nodes |= UINT32_C(1) << all[i].node;
        if (!all[i].loading) say_wait("the program", &all[i], say);
    }
    if (n > SHOWN) say("  ... and %u more transfers", n - SHOWN);
    for (; nodes; nodes &= nodes - 1) explain_node((unsigned)__builtin_ctz(nodes), tasks, count, say);
}
