/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans beside a device: what a plan pins it lets go of, however it was switched; what its pieces have on a
 * device is freed before their parent's unregistration returns; requests bring pieces and parents to devices.
 * Pieces are gathered on the node that is asked for.
 * And an acquisition that goes over from writing to reading writes through.
 * Threads: main and the workers. Owns: the data of each case. Not here: plans in main memory (plans_uses.c),
 * places of copies in general (coherency_places.c).
 */
#include "core/data/data.h"
#include "tests/core/sim_helper.h"

enum { N = 4096, PIECES = 4 };

static int v[N];
static starpu_data_handle_t whole, piece[PIECES];
static atomic_int surprises, allocated, freed;
static struct starpu_data_filter quarters = { .filter_func = starpu_vector_filter_block,
                                              .nchildren = PIECES };

static void add_func(void *buffers[], void *arg UNUSED)
{
    int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i]++;
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .cuda_funcs = { add_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "add" };

static void expect_func(void *buffers[], void *arg)
{
    int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        if (p[i] != (int)(intptr_t)arg) atomic_fetch_add(&surprises, 1);
}
static struct starpu_codelet expect_cl = { .cpu_funcs = { expect_func },
                                           .cuda_funcs = { expect_func },
                                           .nbuffers = 1,
                                           .modes = { STARPU_R },
                                           .name = "expect" };

static void held_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
}
static struct starpu_codelet held_cl = {
    .cpu_funcs = { held_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "held"
};

static int submit(struct starpu_codelet *cl, starpu_data_handle_t h, void *arg, int worker)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = arg;
    t->handles[0] = h;
    t->execute_on_a_specific_worker = worker >= 0;
    t->workerid = worker >= 0 ? (unsigned)worker : 0;
    return starpu_task_submit(t);
}

static int other_than(int want)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != want;
    return wrong;
}

static void begin(struct starpu_data_interface_ops *ops)
{
    for (int i = 0; i < N; i++) v[i] = 1;
    struct starpu_vector_interface vector = { .id = STARPU_VECTOR_INTERFACE_ID,
                                              .ptr = (uintptr_t)v,
                                              .dev_handle = (uintptr_t)v,
                                              .nx = N,
                                              .elemsize = sizeof v[0],
                                              .allocsize = sizeof v };
    starpu_data_register(&whole, STARPU_MAIN_RAM, &vector, ops);
    starpu_data_partition_plan(whole, &quarters, piece);
}

static void pins(void)
{
    struct gate gate = { 0, 0 };
    int failed = 0;
    unsigned held = 0;
    begin(&starpu_interface_vector_ops);
    failed |= submit(&held_cl, piece[0], &gate, -1);
    gate_wait_entered(&gate, 1);
    for (int round = 0; round < 300; round++) { /* to reading, off, and to reading again, while one reads */
        failed |= submit(&expect_cl, piece[1], (void *)(intptr_t)1, sim_worker(0));
        starpu_data_unpartition_submit(whole, PIECES, piece, -1);
        starpu_data_partition_readonly_submit(whole, PIECES, piece);
    }
    starpu_data_unpartition_submit(whole, PIECES, piece, -1);
    gate_open(&gate);
    failed |= submit(&add_cl, whole, NULL, sim_worker(0));
    starpu_task_wait_for_all();
    for (unsigned n = 0; n < whole->nnodes; n++) held += whole->replicates[n].users;
    is_int(held, 0, "nothing stays pinned when a plan is switched to reading, off and to reading again");
    starpu_data_partition_clean(whole, PIECES, piece);
    starpu_data_unregister(whole);
    ok(all_of(!failed, other_than(2) == 0, atomic_load(&surprises) == 0), "and all saw the value");
}

static void requests(void)
{
    int failed = 0;
    begin(&starpu_interface_vector_ops);
    failed |= submit(&add_cl, whole, NULL, -1);
    failed |= starpu_data_fetch_on_node(piece[2], sim_node(0), 0);
    ok(all_of(!failed, starpu_data_is_on_node(piece[2], sim_node(0))),
       "fetching a piece to a device after its parent was used");
    failed |= submit(&add_cl, piece[3], NULL, sim_worker(0));
    failed |= starpu_data_fetch_on_node(whole, sim_node(0), 0);
    ok(all_of(!failed, starpu_data_is_on_node(whole, sim_node(0))),
       "fetching the parent to a device after a piece was written there");
    failed |= starpu_data_prefetch_on_node(piece[0], sim_node(0), 1);
    failed |= starpu_data_idle_prefetch_on_node(whole, sim_node(0), 1);
    starpu_data_wont_use(piece[1]);
    starpu_data_partition_clean(whole, PIECES, piece);
    starpu_data_unregister(whole);
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != 2 + (i >= N / PIECES * 3);
    ok(all_of(!failed, wrong == 0), "prefetches to a device end with the data");
}

/* An interface that takes its time to free. */
static starpu_ssize_t allocate(void *interface, unsigned node)
{
    if (node != STARPU_MAIN_RAM) atomic_fetch_add(&allocated, 1);
    return starpu_interface_vector_ops.allocate_data_on_node(interface, node);
}
static void free_slowly(void *interface, unsigned node)
{
    starpu_interface_vector_ops.free_data_on_node(interface, node);
    usleep(20000);
    if (node != STARPU_MAIN_RAM) atomic_fetch_add(&freed, 1);
}

static void freed_in_time(void)
{
    static struct starpu_data_interface_ops ops;
    int failed = 0;
    ops = starpu_interface_vector_ops;
    ops.allocate_data_on_node = allocate;
    ops.free_data_on_node = free_slowly;
    begin(&ops);
    for (int i = 0; i < PIECES; i++) failed |= submit(&add_cl, piece[i], NULL, sim_worker(0));
    starpu_data_partition_clean(whole, PIECES, piece);
    starpu_data_unregister(whole);
    int left = atomic_load(&allocated) - atomic_load(&freed);
    ok(all_of(!failed, atomic_load(&allocated) >= PIECES, left == 0),
       "what pieces have on a device is freed before their parent's unregistration returns");
    is_int(other_than(2), 0, "and their values are home");
}

/* ---- gathering ---- */

static atomic_int refuse;
static starpu_ssize_t allocate_or_not(void *interface, unsigned node)
{
    if (node != STARPU_MAIN_RAM && atomic_load(&refuse)) return -ENOMEM;
    return starpu_interface_vector_ops.allocate_data_on_node(interface, node);
}

/* Writes pieces on both kinds of workers. */
static int write_pieces(void)
{
    int failed = 0;
    for (int i = 0; i < PIECES; i++) failed |= submit(&add_cl, piece[i], NULL, i % 2 ? sim_worker(0) : -1);
    return failed;
}

static void end_gathering(void)
{
    starpu_data_partition_clean(whole, PIECES, piece);
    starpu_data_unregister(whole);
}

static void gathered(void)
{
    unsigned node = sim_node(0);
    begin(&starpu_interface_vector_ops);
    int failed = write_pieces();
    starpu_data_unpartition_submit(whole, PIECES, piece, (int)node);
    starpu_task_wait_for_all();
    failed |= starpu_data_acquire_on_node(whole, STARPU_ACQUIRE_NO_NODE, STARPU_R);
    ok(all_of(!failed, starpu_data_is_on_node(whole, node), other_than(2) == 0),
       "pieces are gathered on the device that is asked for");
    starpu_data_release_on_node(whole, STARPU_ACQUIRE_NO_NODE);
    failed |= write_pieces();
    starpu_data_unpartition_readonly_submit(whole, PIECES, piece, (int)node);
    failed |= submit(&expect_cl, piece[0], (void *)3, 0);
    failed |= submit(&expect_cl, whole, (void *)3, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, starpu_data_is_on_node(whole, node), atomic_load(&surprises) == 0),
       "also to be read beside them");
    failed |= write_pieces();
    starpu_data_unpartition_submit(whole, PIECES, piece, STARPU_MAIN_RAM);
    failed |= submit(&expect_cl, whole, (void *)4, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, !starpu_data_is_on_node(whole, node), atomic_load(&surprises) == 0),
       "or in main memory alone");
    starpu_data_set_gathering_node(whole, node);
    failed |= write_pieces();
    failed |= submit(&expect_cl, whole, (void *)5, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, starpu_data_is_on_node(whole, node), atomic_load(&surprises) == 0),
       "a use that gathers by itself does it where starpu_data_set_gathering_node says");
    failed |= write_pieces();
    starpu_data_partition_clean_node(whole, PIECES, piece, STARPU_MAIN_RAM);
    failed |= submit(&expect_cl, whole, (void *)6, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, !starpu_data_is_on_node(whole, node), atomic_load(&surprises) == 0),
       "the end of a plan does it where it is told");
    starpu_data_unregister(whole);
}

static void gathered_nowhere(void)
{
    static struct starpu_data_interface_ops ops;
    ops = starpu_interface_vector_ops;
    ops.allocate_data_on_node = allocate_or_not;
    begin(&ops);
    int failed = 0;
    for (int i = 0; i < PIECES; i++) failed |= submit(&add_cl, piece[i], NULL, -1);
    starpu_task_wait_for_all();
    atomic_store(&refuse, 1);
    starpu_data_unpartition_submit(whole, PIECES, piece, (int)sim_node(0));
    failed |= submit(&expect_cl, whole, (void *)2, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, !starpu_data_is_on_node(whole, sim_node(0)), atomic_load(&surprises) == 0),
       "where a device has no room the data stay in main memory");
    atomic_store(&refuse, 0);
    starpu_data_unpartition_submit_r(whole, (int)sim_node(0));
    failed |= submit(&add_cl, piece[0], NULL, -1);
    starpu_data_unpartition_submit(whole, PIECES, piece, 77);
    starpu_data_set_gathering_node(whole, 77);
    end_gathering();
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != 2 + (i < N / PIECES);
    ok(all_of(!failed, wrong == 0), "a node that is not there is said, and the values are home");
}

static void write_through(void)
{
    starpu_data_handle_t h;
    int x = 1, failed = 0;
    unsigned node = sim_node(0);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    starpu_data_set_wt_mask(h, 1u << node);
    failed |= starpu_data_acquire(h, STARPU_RW);
    x = 2;
    starpu_data_release_to(h, STARPU_R);
    for (int i = 0; i < 20000 && !starpu_data_is_on_node(h, node); i++) usleep(100);
    ok(all_of(!failed, starpu_data_is_on_node(h, node)),
       "released to reading, the value goes where the write-through mask wants it");
    starpu_data_release(h);
    starpu_data_unregister(h);
}

int main(void)
{
    static const struct sim_config one = { .devices = "1", .mem_mb = "64", .bandwidth_MB_s = "10000" };
    alarm(60);
    sim_start(2, &one);
    pins();
    requests();
    freed_in_time();
    gathered();
    gathered_nowhere();
    write_through();
    starpu_shutdown();
    return done_testing();
}
