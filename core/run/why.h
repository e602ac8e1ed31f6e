/* SPDX-License-Identifier: BSD-3-Clause */
/* why.h: what every waiting task waits for, while the program runs on.
 * Threads: any, one at a time; nobody waits for it. Owns: nothing lasting. Not here: when nothing moves any
 * more (deadlock.h), who asks (live.c). */
#ifndef ORR_RUN_WHY_H
#define ORR_RUN_WHY_H

#include <stdio.h>

/* Writes it, a line for each; lines begin with prefix. */
void orr_why(FILE *f, const char *prefix);

#endif
