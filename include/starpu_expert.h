/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hooks into the workers, for layers built on the runtime (a communication library that must be
 * polled).
 * Threads: any thread after starpu_init(). A hook runs on workers, several at once, must be short and
 *   must not block.
 * Not here: policies (starpu_scheduler.h).
 */
#ifndef STARPU_EXPERT_H
#define STARPU_EXPERT_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Wakes all sleeping workers, which look for tasks again and poll the hooks. */
void starpu_wake_all_blocked_workers(void);

/* Calls `func(arg)` whenever a worker looks after transfers; it returns 0 as long as workers may not
 * sleep, 1 otherwise. Returns the hook's number; -1 when there is no room. */
int starpu_progression_hook_register(unsigned (*func)(void *arg), void *arg);

/* Removes a hook; it may still be running when this returns. */
void starpu_progression_hook_deregister(int hook_id);

/* Same, only when a worker found no task. */
int starpu_idle_hook_register(unsigned (*func)(void *arg), void *arg);

/* Removes such a hook; it may still be running when this returns. */
void starpu_idle_hook_deregister(int hook_id);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_EXPERT_H */
