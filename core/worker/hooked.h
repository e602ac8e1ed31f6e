/* SPDX-License-Identifier: BSD-3-Clause */
/* hooked.h: which methods of policies look at tasks: at submissions, and around bodies.
 * Threads: any. Owns: nothing but that. Not here: calling those around bodies (running.c, parallel.c). */
#ifndef ORR_WORKER_HOOKED_H
#define ORR_WORKER_HOOKED_H

struct orr_ctx;

/* Finds out what the policy of a context that is being opened wants to see. */
void orr_hooked_open(struct orr_ctx *ctx);
/* After a context was opened or closed. */
void orr_hooked_consider(void);

#endif
