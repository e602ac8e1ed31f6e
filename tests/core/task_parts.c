/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the task layer by themselves, without a runtime: lists of dependencies that close, recycled
 * blocks, lists of ready tasks.
 * Threads: main, and those that a case starts. Owns: nothing. Not here: dependencies of tasks as programs
 * declare them (task_deps.c), failing allocations (alloc_failures.c).
 */
#include <pthread.h>
#include "core/base/slab.h"
#include "core/base/thread.h"
#include "core/task/deps.h"
#include "tests/helper.h"

/* ---- edges ---- */

enum { EDGES = 5, ROUNDS = SCALED(3000, 500), EACH = 32 };

static int waiters[EDGES], served[EDGES], count;
static atomic_int fired;

/* Notes which waiter was served, in order. */
static void note(struct orr_edge *e)
{
    served[count++] = (int)((int *)orr_load_relaxed(&e->waiter) - waiters);
}

static void list_that_closes(void)
{
    _Atomic(struct orr_edge *) list = NULL;
    struct orr_edge *e[EDGES];
    int hung = 0;
    for (int i = 0; i < EDGES; i++) {
        e[i] = orr_edge_create(&waiters[i], note);
        if (i < EDGES - 1) hung += orr_edge_hang(&list, e[i]);
    }
    is_int(hung, EDGES - 1, "a list takes edges while it is open");
    is_int(count, 0, "and serves none of them before it closes");
    orr_edges_serve(orr_edges_take(&list), false);
    ok(all_of(count == EDGES - 1, served[0] == 0, served[1] == 1, served[2] == 2, served[3] == 3),
       "it serves each once, the first declared first");
    ok(!orr_edge_hang(&list, e[EDGES - 1]), "a closed list takes none");
    ok(orr_edges_take(&list) == NULL, "nor has it any when it is closed once more");
    for (int i = 0; i < EDGES; i++) orr_edge_disown(e[i]);
    is_int(orr_slab_live(ORR_SLAB_EDGE), 0, "an edge is freed when both sides have let it go");
}

static void list_that_is_kept(void)
{
    _Atomic(struct orr_edge *) list = NULL;
    struct orr_edge *e[2] = { orr_edge_create(&waiters[0], note), orr_edge_create(&waiters[1], note) };
    count = 0;
    for (int i = 0; i < 2; i++) orr_edge_hang(&list, e[i]);
    struct orr_edge *kept = orr_edges_serve(orr_edges_take(&list), true);
    ok(all_of(kept, count == 2), "a list that is kept is served too, and comes back");
    orr_store_relaxed(&list, kept);
    orr_edges_serve(orr_edges_take(&list), false);
    ok(all_of(count == 4, served[2] == 0, served[3] == 1),
       "for another round, which serves the same edges in the same order");
    for (int i = 0; i < 2; i++) orr_edge_disown(e[i]);
    is_int(orr_slab_live(ORR_SLAB_EDGE), 0, "after the last round they are let go");
}

static void count_fire(struct orr_edge *e UNUSED)
{
    atomic_fetch_add(&fired, 1);
}

static _Atomic(struct orr_edge *) contended;
static atomic_int hanging, closed,
    refused; /* the round that one thread hangs in, that the other has closed */

/* Awake, so that both are at the list at the same time where there are cores for both. */
static void await(atomic_int *value, int round)
{
    for (int i = 1; atomic_load(value) < round; i++)
        if (i % 4096)
            orr_cpu_relax();
        else
            sched_yield();
}

static void *hang_some(void *arg UNUSED)
{
    for (int round = 1; round <= ROUNDS; round++) {
        struct orr_edge *e[EACH];
        for (int i = 0; i < EACH; i++) e[i] = orr_edge_create(&waiters[0], count_fire);
        orr_store_relaxed(&contended, (struct orr_edge *)NULL);
        atomic_store(&hanging, round);
        for (int i = 0; i < EACH; i++)
            if (!orr_edge_hang(&contended, e[i])) atomic_fetch_add(&refused, 1);
        await(&closed, round);
        for (int i = 0; i < EACH; i++) orr_edge_disown(e[i]);
    }
    return NULL;
}

static void served_or_refused(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, hang_some, NULL);
    for (int round = 1; round <= ROUNDS; round++) {
        await(&hanging, round);
        for (int i = 0; i < round % 16; i++) orr_cpu_relax();
        orr_edges_serve(orr_edges_take(&contended), false);
        atomic_store(&closed, round);
    }
    pthread_join(thread, NULL);
    diag("%d were served, %d refused", atomic_load(&fired), atomic_load(&refused));
    is_int(atomic_load(&fired) + atomic_load(&refused), ROUNDS * EACH,
           "beside a thread that closes the list, each edge is served or refused, never both or neither");
    is_int(orr_slab_live(ORR_SLAB_EDGE), 0, "and none is left");
}

/* ---- recycled blocks ---- */

enum { BLOCKS = 1000 };
static void *blocks[BLOCKS];

static void *free_all(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) orr_slab_free(ORR_SLAB_RARE, blocks[i]);
    return arg;
}

static int seen;
static void see(void *block UNUSED, void *arg UNUSED)
{
    seen++;
}

static void recycling(void)
{
    size_t bytes = orr_slab_block_bytes[ORR_SLAB_RARE];
    int torn = 0;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = orr_slab_alloc(ORR_SLAB_RARE);
        memset(blocks[i], i & 255, bytes);
    }
    for (int i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < bytes; k++) torn += ((unsigned char *)blocks[i])[k] != (i & 255);
    is_int(torn, 0, "no two blocks overlap");
    is_int(orr_slab_live(ORR_SLAB_RARE), BLOCKS, "a slab counts the blocks in use");
    pthread_t thread;
    pthread_create(&thread, NULL, free_all, NULL);
    pthread_join(thread, NULL);
    is_int(orr_slab_live(ORR_SLAB_RARE), 0, "also when another thread frees them, and ends");
    orr_slab_for_each(ORR_SLAB_RARE, see, NULL);
    int before = seen;
    for (int i = 0; i < BLOCKS; i++) blocks[i] = orr_slab_alloc(ORR_SLAB_RARE);
    seen = 0;
    orr_slab_for_each(ORR_SLAB_RARE, see, NULL);
    is_int(seen, before, "their memory serves the next allocations, without any more of it");
    free_all(NULL);
}

/* ---- ready tasks ---- */

static void in_order(void)
{
    static struct orr_task task[3];
    struct orr_ready_list list = { 0 };
    for (int i = 0; i < 3; i++) orr_ready_append(&list, &task[i]);
    ok(all_of(list.head == &task[0], task[0].next == &task[1], task[1].next == &task[2], !task[2].next,
              list.tail == &task[2]),
       "tasks that became ready stand in order");
}

int main(void)
{
    list_that_closes();
    list_that_is_kept();
    served_or_refused();
    recycling();
    in_order();
    return done_testing();
}
