/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog.c: see watchdog.h.
 * Threads: the watching thread, which calls the hook. Owns: it, and the hook. Not here: deadlocks
 * (deadlock.c). */
#include "core/run/watchdog.h"

#include <stdlib.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/worker/own.h"

static struct {
    pthread_t thread;
    bool running;          /* [own: the initialising thread] */
    _Atomic uint32_t stop; /* futex */
    int64_t timeout_ns, delay_ns;
    bool crash; /* [const while running] */
} dog;

static ORR_MUTEX(watchdog) hook_lock = PTHREAD_MUTEX_INITIALIZER; /* protects these; leaf */
static void (*hook)(void *);
static void *hook_arg;

void starpu_task_watchdog_set_hook(void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&hook_lock);
    hook = fn;
    hook_arg = arg;
    pthread_mutex_unlock(&hook_lock);
}

static void call_hook(void)
{
    pthread_mutex_lock(&hook_lock);
    void (*fn)(void *) = hook;
    void *arg = hook_arg;
    pthread_mutex_unlock(&hook_lock);
    if (!fn) return;
    orr_acting_begin();
    fn(arg);
    orr_acting_end();
}

/* Sleeps so long; false: the runtime stops. */
static bool nap(int64_t ns)
{
    while (!orr_load_acquire(&dog.stop))
        if (!orr_futex_wait(&dog.stop, 0, ns)) return true;
    return false;
}

static void *run(void *unused)
{
    (void)unused;
    orr_thread_is_internal();
    if (dog.delay_ns && !nap(dog.delay_ns)) return NULL;
    uint64_t completed = orr_threads_census().completed;
    while (nap(dog.timeout_ns)) {
        struct orr_census c = orr_threads_census();
        bool stuck = c.completed == completed && c.submitted != c.completed;
        completed = c.completed;
        if (!stuck) continue;
        orr_error("no task has ended for %.3f s (STARPU_WATCHDOG_TIMEOUT); %llu are submitted",
                  (double)dog.timeout_ns * 1e-9, (unsigned long long)(c.submitted - c.completed));
        call_hook();
        if (dog.crash) abort();
    }
    return NULL;
}

void orr_watchdog_start(void)
{
    dog.timeout_ns = orr_env_long(ORR_SETTING(STARPU_WATCHDOG_TIMEOUT), 0, 0, INT32_MAX) * 1000;
    dog.delay_ns = orr_env_long(ORR_SETTING(STARPU_WATCHDOG_DELAY), 0, 0, INT32_MAX) * 1000;
    dog.crash = orr_env_long(ORR_SETTING(STARPU_WATCHDOG_CRASH), 0, 0, 1) != 0;
    orr_store_release(&dog.stop, 0u);
    dog.running = dog.timeout_ns > 0 && orr_thread_start(&dog.thread, run, NULL, "orr-watchdog") == 0;
    if (dog.timeout_ns > 0 && !dog.running) orr_warn("there is no watchdog: no thread can be made for it");
}

void orr_watchdog_stop(void)
{
    if (!dog.running) return;
    orr_store_release(&dog.stop, 1u);
    orr_futex_wake(&dog.stop, 1);
    pthread_join(dog.thread, NULL);
    dog.running = false;
}
