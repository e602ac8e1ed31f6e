/* SPDX-License-Identifier: BSD-3-Clause */
/* doze.h: a light sleep at a futex word: for a while a thread watches the word before it sleeps there, as
 * long as nobody else wants its core. Who wakes it does all as if it slept.
 *
 * It is on its feet at once, without a system call on its side, and its core stays in use: one that is idle
 * for milliseconds may be given to others (by a hypervisor), or slowed down, and then computes slowly for
 * tens of milliseconds. OpenMP's runtimes do so for the same reasons (KMP_BLOCKTIME). Threads: each dozes by
 * itself. Owns: nothing. Not here: who sleeps, and what wakes it (park.h, bell.h). */
#ifndef ORR_WORKER_DOZE_H
#define ORR_WORKER_DOZE_H

#include "core/base/export.h"
#include "core/base/sync.h"

/* Of a thread, at first zeros. */
struct orr_doze {
    uint64_t until; /* ticks: then it sleeps soundly; 0: at once */
    uint64_t again; /* ticks: others wanted the core, and until then it sleeps */
    int64_t nap_ns; /* for so long, the next time twice that; 0: they did not, of late */
};

/* Reads ORRERY_BLOCKTIME. Before others call the rest. */
void orr_doze_configure(void);
/* The thread has nothing to do from now on: it dozes for ORRERY_BLOCKTIME. */
ORR_EXPORT void orr_doze_begin(struct orr_doze *d);

/* Where a thread sleeps. */
struct orr_bed {
    _Atomic uint32_t *word;
    uint32_t seen; /* it sleeps while the word is this */
    uint32_t bits; /* of a word in memory that processes share (orr_futex_wait_shared); 0: it is not */
    _Atomic uint32_t *dozing; /* of who may doze there, one at a time: 1 while somebody does; NULL: all may */
    const _Atomic uint32_t *pollers; /* threads that poll, which a switch costs as much as what they wait for;
                                      * NULL: there are none */
};

/* Sleeps until the word changes or the time is over (< 0: no limit); returns whether it changed. d: NULL: it
 * does not doze. Who changed the word and then reads that somebody is dozing need not wake that one. */
bool orr_doze(struct orr_doze *d, const struct orr_bed *bed, int64_t timeout_ns);

#endif
