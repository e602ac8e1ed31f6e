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

/* The same in a matrix. */
static void raise_func(void *buffers[], void *arg UNUSED)
{
    int *p = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    for (size_t j = 0; j < STARPU_MATRIX_GET_NY(buffers[0]); j++)
        for (size_t i = 0; i < STARPU_MATRIX_GET_NX(buffers[0]); i++)
            p[j * STARPU_MATRIX_GET_LD(buffers[0]) + i]++;
}
static struct starpu_codelet raise_cl = { .cpu_funcs = { raise_func },
                                          .cuda_funcs = { raise_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW },
                                          .name = "raise" };

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
    failed |= starpu_data_acquire_on_node(whole, STARPU_ACQUIRE_NO_NODE, STARPU_R); /* the switch is over */
    bool there = starpu_data_is_on_node(whole, node);
    starpu_data_release_on_node(whole, STARPU_ACQUIRE_NO_NODE);
    failed |= starpu_data_acquire(whole, STARPU_R);
    ok(all_of(!failed, there, starpu_data_is_on_node(whole, node), other_than(2) == 0),
       "pieces are gathered on the device that is asked for");
    starpu_data_release(whole);
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

/* ---- gathering within a device ---- */

/* Bytes that went from a node to another since the last question. */
static long long moved(unsigned src, unsigned dst)
{
    struct starpu_profiling_bus_info info;
    return starpu_bus_get_profiling_info(starpu_bus_get_id((int)src, (int)dst), &info) == 0
               ? info.transferred_bytes
               : -1;
}
static bool none_moved(unsigned node)
{
    long long out = moved(node, STARPU_MAIN_RAM), in = moved(STARPU_MAIN_RAM, node);
    return out == 0 && in == 0;
}

/* Adds to the pieces that the mask has a bit for, on a device (-1: by a CPU), and lets that end. */
static int add_to(unsigned pieces, int device)
{
    int failed = 0;
    for (int i = 0; i < PIECES; i++)
        if (pieces >> i & 1) failed |= submit(&add_cl, piece[i], NULL, device < 0 ? 0 : sim_worker(device));
    starpu_task_wait_for_all();
    return failed;
}

/* Gathers all; whether the values are right then. */
static bool gather_on(unsigned node, bool *there_out)
{
    starpu_data_unpartition_submit(whole, PIECES, piece, (int)node);
    starpu_task_wait_for_all();
    starpu_data_acquire_on_node(whole, STARPU_ACQUIRE_NO_NODE, STARPU_R); /* the switch is over */
    starpu_data_release_on_node(whole, STARPU_ACQUIRE_NO_NODE);
    *there_out = starpu_data_is_on_node(whole, node);
    return submit(&expect_cl, whole, (void *)(intptr_t)2,
                  (int)starpu_worker_get_by_type(STARPU_CPU_WORKER, 0)) == 0;
}
static bool end_right(void)
{
    unsigned held = 0;
    starpu_task_wait_for_all();
    for (unsigned n = 0; n < whole->nnodes; n++) {
        for (int i = 0; i < PIECES; i++) held += n && piece[i]->replicates[n].users;
        held += n && whole->replicates[n].users;
    }
    end_gathering();
    return held == 0 && other_than(2) == 0 && atomic_exchange(&surprises, 0) == 0;
}

/* Of copies within a node the third fails. */
static atomic_int not_copied;
static int copy_or_fail(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async)
{
    static atomic_int count;
    if (src_node != dst_node || atomic_fetch_add(&count, 1) != 2)
        return starpu_interface_vector_ops.copy_methods->any_to_any(src, src_node, dst, dst_node, async);
    atomic_fetch_add(&not_copied, 1);
    return -EIO;
}

static void within(void)
{
    enum { ALL = (1 << PIECES) - 1 };
    static struct starpu_data_interface_ops ops;
    unsigned node = sim_node(0);
    bool there;
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    begin(&starpu_interface_vector_ops);
    int failed = add_to(ALL, 0);
    none_moved(node);
    starpu_data_unpartition_submit(whole, PIECES, piece, (int)node);
    failed |= submit(&expect_cl, whole, (void *)2, sim_worker(0));
    starpu_task_wait_for_all();
    ok(all_of(!failed, none_moved(node), starpu_data_is_on_node(whole, node), atomic_load(&surprises) == 0),
       "pieces that are on a device are gathered there without main memory");
    ok(end_right(), "and the value comes home from there");

    begin(&starpu_interface_vector_ops);
    failed = add_to(ALL & ~2u, 0) | add_to(2, -1);
    none_moved(node);
    starpu_data_unpartition_submit(whole, PIECES, piece, (int)node);
    failed |= submit(&expect_cl, whole, (void *)2, sim_worker(0));
    starpu_task_wait_for_all();
    ok(all_of(!failed, moved(node, STARPU_MAIN_RAM) == 0,
              moved(STARPU_MAIN_RAM, node) == (long long)(N / PIECES * sizeof v[0])),
       "one that a CPU changed is all that comes from main memory");
    ok(end_right(), "and they are right");

    begin(&starpu_interface_vector_ops);
    failed = add_to(ALL, 1);
    ok(all_of(!failed, gather_on(node, &there), there, end_right()),
       "pieces of another device are gathered by main memory");

    ops = starpu_interface_vector_ops;
    ops.allocate_data_on_node = allocate_or_not;
    begin(&ops);
    failed = add_to(ALL, 0);
    atomic_store(&refuse, 1);
    bool right = gather_on(node, &there);
    ok(all_of(!failed, right, !there, end_right()),
       "where the whole has no room beside its pieces they go to main memory");
    atomic_store(&refuse, 0);

    static struct starpu_data_copy_methods methods;
    methods = *starpu_interface_vector_ops.copy_methods;
    methods.any_to_any = copy_or_fail;
    ops = starpu_interface_vector_ops;
    ops.copy_methods = &methods;
    begin(&ops);
    failed = add_to(ALL, 0);
    right = gather_on(node, &there);
    ok(all_of(!failed, right, there, atomic_load(&not_copied) == 1, end_right()),
       "a copy within the device that fails is made by main memory");
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
}

static void at_once(void)
{
    unsigned node = sim_node(0);
    int failed = 0;
    for (int i = 0; i < N; i++) v[i] = 1;
    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition(whole, &quarters);
    for (int i = 0; i < PIECES; i++)
        failed |= submit(&add_cl, starpu_data_get_child(whole, (unsigned)i), NULL, sim_worker(0));
    starpu_task_wait_for_all();
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    none_moved(node);
    starpu_data_unpartition(whole, node);
    ok(all_of(!failed, none_moved(node), starpu_data_is_on_node(whole, node)),
       "so they are where starpu_data_unpartition names a device");
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    starpu_data_unregister(whole);
    is_int(other_than(2), 0, "with the right value at the end");
}

/* A matrix in bands of columns, so that no piece lies in one part of the whole. */
static void bands(void)
{
    enum { ROWS = 32, COLUMNS = N / ROWS };
    static struct starpu_data_filter columns = { .filter_func = starpu_matrix_filter_block,
                                                 .nchildren = PIECES };
    unsigned node = sim_node(0);
    int failed = 0;
    for (int i = 0; i < N; i++) v[i] = i;
    starpu_matrix_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, COLUMNS, COLUMNS, ROWS, sizeof v[0]);
    starpu_data_partition_plan(whole, &columns, piece);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PIECES; i++) failed |= submit(&raise_cl, piece[i], NULL, sim_worker(0));
        starpu_data_unpartition_submit(whole, PIECES, piece, (int)node);
        failed |= submit(&raise_cl, whole, NULL, round ? sim_worker(0) : -1);
    }
    end_gathering();
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != i + 6;
    ok(all_of(!failed, wrong == 0), "bands of columns find their places, in each round");
}

/* Three wholes, in turn, by tasks anywhere, gathered anywhere. */
static void crowded(unsigned first_seed, int rounds)
{
    enum { WHOLES = 3 };
    static int values[WHOLES][N];
    starpu_data_handle_t all[WHOLES], parts[WHOLES][PIECES];
    int failed = 0, expected[WHOLES][PIECES] = { { 0 } }, wrong = 0;
    unsigned seed = first_seed;
    memset(values, 0, sizeof values);
    for (int k = 0; k < WHOLES; k++) {
        starpu_vector_data_register(&all[k], STARPU_MAIN_RAM, (uintptr_t)values[k], N, sizeof v[0]);
        starpu_data_partition_plan(all[k], &quarters, parts[k]);
    }
    for (int round = 0; round < rounds; round++) {
        int k = rand_r(&seed) % WHOLES, where = rand_r(&seed) % 3 - 1;
        for (int i = 0; i < PIECES; i++) {
            if (rand_r(&seed) % 4 == 0) where = rand_r(&seed) % 3 - 1;
            failed |= submit(&add_cl, parts[k][i], NULL, where < 0 ? -1 : sim_worker(where));
            expected[k][i]++;
        }
        starpu_data_unpartition_submit(all[k], PIECES, parts[k],
                                       rand_r(&seed) % 3 ? (int)sim_node(rand_r(&seed) % 2) : 0);
        if (rand_r(&seed) % 3) continue;
        failed |= submit(&add_cl, all[k], NULL, rand_r(&seed) % 2 ? -1 : sim_worker(rand_r(&seed) % 2));
        for (int i = 0; i < PIECES; i++) expected[k][i]++;
    }
    for (int k = 0; k < WHOLES; k++) {
        starpu_data_partition_clean(all[k], PIECES, parts[k]);
        starpu_data_unregister(all[k]);
        for (int i = 0; i < N; i++) wrong += values[k][i] != expected[k][i / (N / PIECES)];
    }
    ok(all_of(!failed, wrong == 0), "%d rounds on devices, seed %u", rounds, first_seed);
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

static int submit_without_order(starpu_data_handle_t h, int worker)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = &add_cl;
    t->handles[0] = h;
    t->sequential_consistency = 0;
    t->execute_on_a_specific_worker = worker >= 0;
    t->workerid = worker >= 0 ? (unsigned)worker : 0;
    return starpu_task_submit(t);
}

/* A task that writes a piece without order while another reads it: the parent, of which the device still has
 * a copy from when it was only read, goes on with the piece's value. */
static void written_without_order(void)
{
    struct gate gate = { 0, 0 };
    for (int i = 0; i < N; i++) v[i] = 0;
    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(whole, &quarters, piece);
    int failed = submit(&add_cl, whole, NULL, sim_worker(0));
    failed |= submit(&held_cl, piece[0], &gate, starpu_worker_get_by_type(STARPU_CPU_WORKER, 0));
    gate_wait_entered(&gate, 1);
    failed |= submit_without_order(piece[0], -1);
    failed |= submit_without_order(whole, sim_worker(0));
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_data_partition_clean(whole, PIECES, piece);
    starpu_data_unregister(whole);
    ok(all_of(!failed, v[0] == 3, v[N - 1] == 2),
       "what a task without order writes to a piece that is being read is in the parent (%d, %d)", v[0],
       v[N - 1]);
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
    written_without_order();
    starpu_shutdown();
    static const struct sim_config two = { .devices = "2", .mem_mb = "64", .bandwidth_MB_s = "10000" };
    sim_start(2, &two);
    within();
    at_once();
    bands();
    crowded(1, 300);
    starpu_shutdown();
    static const struct sim_config small = { .devices = "2", .mem_mb = "0.036", .bandwidth_MB_s = "10000" };
    sim_start(2, &small); /* each has room for little more than two of them */
    crowded(2, 300);
    starpu_shutdown();
    return done_testing();
}
