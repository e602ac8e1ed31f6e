/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.c: functions of the program that workers call between tasks or while idle (starpu_expert.h).
 * Threads: registration by any; the functions are called by workers and by threads blocked in the runtime.
 * Owns: the table of hooks. Not here: the runtime's own progress functions (progress.c), through which these
 * are called. */
#include <starpu_expert.h>

#include "core/worker/park.h"
#include "core/worker/worker.h"

enum { HOOKS_MAX = 4 };

struct hook {
    _Atomic(unsigned (*)(void *)) func; /* NULL: free */
    _Atomic(void *) arg;
    _Atomic uint32_t changes; /* odd while the two are changed; who saw it change has not read a pair */
};
static struct hook hooks[HOOKS_MAX];
static ORR_MUTEX(hooks) hooks_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects registration; outside that of progress.c */

/* A hook that wants to be called again soon returns 0. */
static bool call(void *arg)
{
    struct hook *h = arg;
    uint32_t changes = orr_load_acquire(&h->changes);
    unsigned (*func)(void *) = orr_load_acquire(&h->func);
    void *func_arg = orr_load_acquire(&h->arg);
    if (!func || (changes & 1) || orr_load_relaxed(&h->changes) != changes) return false;
    orr_acting_begin();
    bool again = func(func_arg) == 0;
    orr_acting_end();
    return again;
}

/* Called with the lock held. */
static void set_locked(struct hook *h, unsigned (*func)(void *), void *arg)
{
    orr_add_acq_rel(&h->changes, 1u);
    orr_store_release(&h->func, func);
    orr_store_release(&h->arg, arg);
    orr_add_acq_rel(&h->changes, 1u);
}

static int add(unsigned (*func)(void *), void *arg)
{
    int id = -1;
    pthread_mutex_lock(&hooks_lock);
    for (int i = 0; i < HOOKS_MAX && id < 0; i++)
        if (!orr_load_relaxed(&hooks[i].func)) id = i;
    if (id >= 0) {
        set_locked(&hooks[id], func, arg);
        if (orr_progress_register((struct orr_progress){ .poll = call, .arg = &hooks[id] }) != 0) {
            set_locked(&hooks[id], NULL, NULL);
            id = -1;
        }
    }
    pthread_mutex_unlock(&hooks_lock);
    if (id >= 0) orr_wake_all();
    return id;
}

static void drop(int id)
{
    if (id < 0 || id >= HOOKS_MAX) return;
    pthread_mutex_lock(&hooks_lock);
    orr_progress_unregister((struct orr_progress){ .poll = call, .arg = &hooks[id] });
    set_locked(&hooks[id], NULL, NULL);
    pthread_mutex_unlock(&hooks_lock);
}

int starpu_progression_hook_register(unsigned (*func)(void *arg), void *arg)
{
    return add(func, arg);
}

void starpu_progression_hook_deregister(int hook_id)
{
    drop(hook_id);
}

/* Idle workers are among those who call progress functions. */
int starpu_idle_hook_register(unsigned (*func)(void *arg), void *arg)
{
    return add(func, arg);
}

void starpu_idle_hook_deregister(int hook_id)
{
    drop(hook_id);
}

void starpu_wake_all_blocked_workers(void)
{
    orr_wake_all();
}
