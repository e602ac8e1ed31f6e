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

/* Calls `func(arg)` whenever a worker, or a thread that waits in the runtime, looks after transfers; it
 * returns 0 to be called again soon, 1 otherwise. Returns the hook's number; -1 when there are 4, of both
 * kinds together. */
int starpu_progression_hook_register(unsigned (*func)(void *arg), void *arg);

/* Removes a hook; it may still be running when this returns. A number that is none is nothing. */
void starpu_progression_hook_deregister(int hook_id);

/* Does and returns the same: idle workers are among those who look. */
int starpu_idle_hook_register(unsigned (*func)(void *arg), void *arg);

/* Removes such a hook; it may still be running when this returns. */
void starpu_idle_hook_deregister(int hook_id);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* STARPU_EXPERT_H */
