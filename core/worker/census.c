/* SPDX-License-Identifier: BSD-3-Clause */
/* census.c: methods of the program's policies, and what all threads do.
 * Threads: any. Owns: nothing. Not here: who looks for stillness (core/run/deadlock.c, core/run/watchdog.c).
 */
#include "core/task/task.h"
#include "core/worker/own.h"

void orr_method_begin(const char *name, unsigned context, int worker)
{
    struct orr_method *m = orr_method_of(orr_self());
    clockid_t clock;
    if (m->depth++ > 0) return;
    if (orr_unlikely(orr_load_relaxed(&m->clock) == 0) && pthread_getcpuclockid(pthread_self(), &clock) == 0)
        orr_store_relaxed(&m->clock, clock);
    orr_store_relaxed(&m->name, name);
    orr_store_relaxed(&m->context, context);
    orr_store_relaxed(&m->worker, worker);
    orr_own_add(&m->calls, 1); /* pairs with the load in is_inside */
}

void orr_method_end(void)
{
    struct orr_method *m = orr_method_of(orr_self());
    if (--m->depth == 0) orr_own_add(&m->calls, 1);
}

bool orr_method_is_inside(const struct orr_method *m)
{
    return orr_load_acquire(&m->calls) % 2 == 1;
}

void orr_threads_in_methods(void (*fn)(const struct orr_method *m, void *arg), void *arg)
{
    for (struct orr_thread *t = orr_threads_lock(); t; t = t->next)
        if (orr_method_is_inside(orr_method_of(t))) fn(orr_method_of(t), arg);
    orr_threads_unlock();
}

/* Counts a thread that is inside a method; false: it is not. */
static bool count_method(struct orr_census *c, const struct orr_method *m)
{
    struct timespec cpu = { 0 };
    if (!orr_method_is_inside(m)) return false;
    clock_gettime(orr_load_relaxed(&m->clock), &cpu);
    c->in_methods++;
    c->workers_in_methods += orr_load_relaxed(&m->worker) >= 0;
    c->method_calls += orr_load_relaxed(&m->calls);
    c->method_cpu_ns += (uint64_t)cpu.tv_sec * UINT64_C(1000000000) + (uint64_t)cpu.tv_nsec;
    return true;
}

struct orr_census orr_threads_census(void)
{
    struct orr_census c = { .all_blocked = true };
    struct orr_thread *threads = orr_threads_lock();
    for (struct orr_thread *t = threads; t; t = t->next) {
        c.completed += orr_load_acquire(&orr_task_thread(t)->completed);
        if (count_method(&c, orr_method_of(t))) continue;
        bool exempt = orr_load_relaxed(&t->exempt), blocked = orr_load_acquire(&t->blocked) > 0;
        if ((!exempt && !blocked) || orr_load_acquire(&t->acting) > 0) c.all_blocked = false;
        c.any_blocked |= !exempt && blocked;
    }
    for (struct orr_thread *t = threads; t; t = t->next)
        c.submitted += orr_load_acquire(&orr_task_thread(t)->submitted);
    orr_threads_unlock();
    return c;
}
