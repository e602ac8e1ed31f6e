/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy that ends while a thread looks at all copies is noticed by that thread, if another came meanwhile
 * and left it to look: the other may have been the only one who knew. Threads: main polls, one comes
 * meanwhile; the device's own do as they like. Owns: the device's test. Not here: where copies go
 * (coherency_places.c).
 */
#include <pthread.h>

#include "core/data/coherency.h"
#include "tests/core/sim_helper.h"

enum { BLOCK = 4096 };

static const struct orr_node_ops *real;
static struct orr_node_ops ops;
static atomic_bool has_ended, noticed; /* the copy, as far as the device says; main has asked again */
static atomic_int visits;
static _Thread_local bool is_main;

static void *come_meanwhile(void *arg UNUSED)
{
    orr_transfers_told();
    return NULL;
}

/* Main is told that the copy goes on; before it hears that, the copy ends, and somebody comes to see. */
static int test(struct orr_copy_event *event)
{
    int r;
    if (is_main && !has_ended) {
        pthread_t other;
        has_ended = true;
        if (pthread_create(&other, NULL, come_meanwhile, NULL) == 0) {
            pthread_join(other, NULL);
            visits++;
        }
        return -EAGAIN;
    }
    if (!has_ended) return -EAGAIN;
    if (is_main) noticed = true;
    while ((r = real->test(event)) == -EAGAIN) continue;
    return r;
}

static void a_copy(unsigned node)
{
    static char block[BLOCK];
    starpu_data_handle_t h;
    has_ended = noticed = false;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)block, BLOCK, 1);
    int r = starpu_data_prefetch_on_node(h, node, 1);
    while (r == 0 && !has_ended) orr_transfers_poll();
    ok(all_of(r == 0, visits == 1, noticed),
       "a copy that ends meanwhile is noticed before the thread leaves");
    int valid = 0;
    for (int k = 0; k < 20000 && !valid; k++) {
        starpu_data_query_status(h, (int)node, NULL, &valid, NULL);
        if (!valid) usleep(100);
    }
    ok(valid, "and is valid then");
    starpu_data_unregister(h);
}

int main(void)
{
    const struct sim_config one = { "1", "1", "8000", "5", NULL, NULL };
    is_main = true;
    sim_start(1, &one);
    unsigned node = sim_node(0);
    real = orr_nodes[node].ops;
    ops = *real;
    ops.test = test;
    orr_nodes[node].ops = &ops;
    a_copy(node);
    orr_nodes[node].ops = real;
    starpu_shutdown();
    return done_testing();
}
