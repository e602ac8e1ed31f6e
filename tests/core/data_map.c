/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that devices use in main memory, in place (STARPU_ENABLE_MAP): without memory or copies of their own,
 * seen by all in the right order, also where what one side writes has to be shown to the other, and undone
 * when the data ends. Threads: main submits; workers execute. Owns: its data. Not here: random shapes that
 * are mapped (copies_random.c).
 */
#include <stdlib.h>
#include "core/data/data.h"
#include "tests/core/sim_helper.h"

enum { N = 64, ROUNDS = SCALED(300, 100) };

static int v[N];
static _Atomic(void *) seen;

static void add_func(void *buffers[], void *arg UNUSED)
{
    int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    atomic_store(&seen, p);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] = (int)((unsigned)p[i] * 3 + 1);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .mini_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }
};

static void copy_func(void *buffers[], void *arg UNUSED)
{
    int *to = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    memcpy(to, (void *)STARPU_VECTOR_GET_PTR(buffers[1]), sizeof v);
}
static struct starpu_codelet copy_cl = {
    .cpu_funcs = { copy_func }, .mini_funcs = { copy_func }, .nbuffers = 2, .modes = { STARPU_W, STARPU_R }
};

static int add(starpu_data_handle_t h, int worker)
{
    return starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, worker, 0);
}

static bool all_are(const int *p, int want)
{
    for (int i = 0; i < N; i++)
        if (p[i] != want) return false;
    return true;
}

static starpu_data_handle_t begin(struct starpu_data_interface_ops *ops)
{
    struct starpu_vector_interface vector = { .id = STARPU_VECTOR_INTERFACE_ID,
                                              .ptr = (uintptr_t)v,
                                              .dev_handle = (uintptr_t)v,
                                              .nx = N,
                                              .elemsize = sizeof v[0],
                                              .allocsize = sizeof v };
    starpu_data_handle_t h;
    for (int i = 0; i < N; i++) v[i] = 1;
    starpu_data_register(&h, STARPU_MAIN_RAM, &vector, ops);
    return h;
}

static void in_place(void)
{
    unsigned node = sim_node(0);
    starpu_data_handle_t h = begin(&starpu_interface_vector_ops);
    ok(starpu_data_expected_transfer_time(h, node, STARPU_R) == 0, "no time is expected for a copy");
    int failed = add(h, sim_worker(0));
    starpu_task_wait_for_all();
    ok(all_of(!failed, starpu_map_enabled(), atomic_load(&seen) == (void *)v,
              starpu_data_test_if_mapped_on_node(h, node)),
       "a device's kernel has the program's memory");
    ok(starpu_memory_get_used(node) == 0, "and none of the device is taken");
    failed |= starpu_data_acquire(h, STARPU_RW);
    ok(all_of(!failed, all_are(v, 4)), "the program sees what it wrote");
    starpu_data_release(h);
    starpu_data_unregister(h);
    starpu_vector_data_register(&h, -1, 0, N, sizeof v[0]);
    starpu_data_handle_t from = begin(&starpu_interface_vector_ops);
    failed |=
        starpu_task_insert(&copy_cl, STARPU_W, h, STARPU_R, from, STARPU_EXECUTE_ON_WORKER, sim_worker(0), 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, !starpu_data_test_if_mapped_on_node(h, node), starpu_memory_get_used(node) > 0),
       "data that is not in main memory has a copy there");
    starpu_data_invalidate(from);
    ok(!starpu_data_test_if_mapped_on_node(from, node), "what is invalidated is not mapped any more");
    unsigned held = 0;
    for (unsigned n = 0; n < from->nnodes; n++) held += from->replicates[n].users;
    is_int(held, 0, "and not held");
    starpu_data_unregister(from);
    starpu_data_unregister(h);
}

/* An interface that stands for a device which sees main memory only when it is shown what changed. */
static atomic_int mapped, shown, refuse;
static int map_apart(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    struct starpu_vector_interface *s = src, *d = dst;
    int r;
    if (atomic_load(&refuse)) return -EIO;
    if (!starpu_interface_map(s->ptr, 0, src_node, dst_node, sizeof v, &r)) return r;
    d->ptr = d->dev_handle = (uintptr_t)calloc(N, sizeof v[0]);
    atomic_fetch_add(&mapped, 1);
    return 0;
}
static int unmap_apart(void *src UNUSED, unsigned src_node UNUSED, void *dst, unsigned dst_node UNUSED)
{
    struct starpu_vector_interface *d = dst;
    free((void *)d->ptr);
    d->ptr = d->dev_handle = 0;
    atomic_fetch_sub(&mapped, 1);
    return 0;
}
static int update_apart(void *src, unsigned src_node UNUSED, void *dst, unsigned dst_node UNUSED)
{
    memcpy((void *)((struct starpu_vector_interface *)dst)->ptr,
           (void *)((struct starpu_vector_interface *)src)->ptr, sizeof v);
    atomic_fetch_add(&shown, 1);
    return 0;
}

static void shown_what_changes(const char *where)
{
    static struct starpu_data_interface_ops ops;
    uint64_t seed = 5;
    int failed = 0, workers = (int)starpu_worker_get_count();
    unsigned want = 1;
    ops = starpu_interface_vector_ops;
    ops.map_data = map_apart;
    ops.unmap_data = unmap_apart;
    ops.update_map = update_apart;
    starpu_data_handle_t h = begin(&ops);
    for (int i = 0; i < ROUNDS; i++) {
        failed |= add(h, (int)random_below(&seed, (unsigned)workers));
        want = want * 3 + 1;
        if (random_below(&seed, 4) == 0)
            failed |=
                starpu_data_prefetch_on_node(h, random_below(&seed, starpu_memory_nodes_get_count()), 1);
        if (random_below(&seed, 16)) continue;
        failed |= starpu_data_acquire(h, STARPU_R);
        failed |= !all_are(v, (int)want);
        starpu_data_release(h);
    }
    starpu_data_unregister(h);
    ok(all_of(!failed, all_are(v, (int)want), atomic_load(&shown) > 0),
       "what one side wrote is shown to the other before it is used, %s", where);
    is_int(atomic_load(&mapped), 0, "and all is undone");
    atomic_store(&refuse, 1);
    h = begin(&ops);
    failed = add(h, sim_worker(0));
    starpu_data_unregister(h);
    atomic_store(&refuse, 0);
    ok(all_of(!failed, all_are(v, 4)), "data that cannot be mapped is copied");
}

static void pieces(void)
{
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t h = begin(&starpu_interface_vector_ops), of_library, own;
    int failed = add(h, sim_worker(0));
    starpu_data_partition(h, &halves);
    failed |= add(starpu_data_get_sub_data(h, 1, 1), sim_worker(0));
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&seen) == (void *)(v + N / 2)), "pieces are used in place");
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    failed |= add(h, sim_worker(1));
    starpu_data_unregister(h);
    ok(all_of(!failed, v[0] == 13, v[N - 1] == 40), "and so is the whole after them");
    starpu_vector_data_register(&of_library, -1, 0, N, sizeof v[0]);
    own = begin(&starpu_interface_vector_ops);
    failed |=
        starpu_task_insert(&copy_cl, STARPU_W, of_library, STARPU_R, own, STARPU_EXECUTE_ON_WORKER, 0, 0);
    starpu_data_partition(of_library, &halves);
    failed |= add(starpu_data_get_sub_data(of_library, 1, 0), sim_worker(0));
    starpu_task_wait_for_all();
    ok(!starpu_data_test_if_mapped_on_node(starpu_data_get_sub_data(of_library, 1, 0), sim_node(0)),
       "pieces of memory that may move are not");
    starpu_data_unpartition(of_library, STARPU_MAIN_RAM);
    failed |= add(of_library, sim_worker(1));
    failed |= starpu_task_insert(&copy_cl, STARPU_W, own, STARPU_R, of_library, 0);
    starpu_data_unregister(of_library);
    starpu_data_unregister(own);
    ok(all_of(!failed, v[0] == 13, v[N - 1] == 4), "and have the right values");
}

int main(void)
{
    struct sim_config two = { .devices = "2", .mem_mb = "64", .bandwidth_MB_s = "100000", .latency_us = "1" };
    alarm(60);
    setenv("ORRERY_NMINI", "1", 1);
    setenv("STARPU_ENABLE_MAP", "1", 1);
    sim_start(1, &two);
    in_place();
    shown_what_changes("between devices that do not reach each other");
    pieces();
    starpu_shutdown();
    two.peers = "1";
    sim_start(1, &two);
    shown_what_changes("and between those that do");
    starpu_shutdown();
    return done_testing();
}
