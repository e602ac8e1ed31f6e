/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: what makes the copies of one direction of a simulated link, one after the other.
 * Threads: any. Owns: struct sim_engine. Not here: which link a copy takes (memory.c). */
#ifndef ORR_DRIVERS_SIM_ENGINE_H
#define ORR_DRIVERS_SIM_ENGINE_H

#include <stdbool.h>

#include "core/base/sync.h"
#include "core/mem/node.h"

struct sim_copy;

struct sim_engine {
    ORR_MUTEX(sim_engine) lock;    /* protects all of it but completed; leaf */
    struct sim_copy *first, *last; /* in order of their ends */
    bool moving;                   /* somebody moves the first one's bytes */
    bool has_thread, ends;
    double ns_per_byte;         /* how long that takes, about */
    uint64_t free_at_ns;        /* when the link has nothing more to do */
    uint64_t started;           /* copies */
    _Atomic uint64_t completed; /* publishes the bytes of the copies before it */
    pthread_cond_t news;
    pthread_t thread;
};

void orr_sim_engine_init(struct sim_engine *e);
/* All its copies have ended. */
void orr_sim_engine_fini(struct sim_engine *e);

/* A copy that takes link_ns of the link's time, and after that another latency_ns; fails: it ends with
 * nothing anybody wrote at its destination. Returns its number, 0: out of memory. */
uint64_t orr_sim_engine_add(struct sim_engine *e, const struct orr_location *src,
                            const struct orr_location *dst, const struct orr_box *box, uint64_t link_ns,
                            uint64_t latency_ns, bool fails);
/* Whether the copy of that number, and so all before it, have ended. Does not wait. */
bool orr_sim_engine_test(struct sim_engine *e, uint64_t number);

/* What is at a place is nothing that anybody wrote. */
void orr_sim_spoil(uintptr_t at, size_t bytes);

#endif
