/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where copies are: prefetching, eviction with write-back, write-through, data that do not fit, sharing of
 * transfers, all with a simulated device.
 * Threads: main and the workers. Owns: the data of each case. Not here: random graphs (coherency_random.c),
 * the device itself (sim_device.c).
 */
#include "core/base/log.h"
#include "core/mem/node.h"
#include "core/worker/bus_profile.h"
#include "tests/core/sim_helper.h"

enum { KIB = 1024, BLOCK = 64 * KIB, MANY = 8 };

static char blocks[MANY][BLOCK];
static starpu_data_handle_t handles[MANY];

static void set_func(void *buffers[], void *arg)
{
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), (int)(intptr_t)arg, STARPU_VECTOR_GET_NX(buffers[0]));
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set_func }, .cuda_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};

static void add_func(void *buffers[], void *arg)
{
    char *p = (char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] = (char)(p[i] + (int)(intptr_t)arg);
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .cuda_funcs = { add_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "add" };

static atomic_int reads;
static void read_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&reads, 1);
}
static struct starpu_codelet read_cl = { .cpu_funcs = { read_func },
                                         .cuda_funcs = { read_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_R },
                                         .name = "read" };
static struct starpu_codelet read3_cl = {
    .cpu_funcs = { read_func },
    .cuda_funcs = { read_func },
    .nbuffers = 3,
    .modes = { STARPU_R, STARPU_R, STARPU_R },
    .name = "read3",
};

static int submit_on(int worker, struct starpu_codelet *cl, int value, starpu_data_handle_t *h, int count)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = (void *)(intptr_t)value;
    for (int i = 0; i < count; i++) task->handles[i] = h[i];
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    return starpu_task_submit(task);
}

static void register_blocks(void)
{
    for (int i = 0; i < MANY; i++) {
        memset(blocks[i], i, BLOCK);
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)blocks[i], BLOCK, 1);
    }
}

static void unregister_blocks(void)
{
    for (int i = 0; i < MANY; i++) starpu_data_unregister(handles[i]);
}

/* Blocks that are all equal to a value. */
static int all_equal(int i, int value)
{
    for (int k = 0; k < BLOCK; k++)
        if (blocks[i][k] != (char)value) return 0;
    return 1;
}

static bool valid_on(int i, unsigned node)
{
    int valid = 0;
    starpu_data_query_status(handles[i], (int)node, NULL, &valid, NULL);
    return valid;
}

static bool comes_on(int i, unsigned node)
{
    for (int k = 0; k < 20000 && !valid_on(i, node); k++) usleep(100);
    return valid_on(i, node);
}

/* ---- the device has room for four blocks ---- */

static void prefetching(void)
{
    unsigned node = sim_node(0);
    register_blocks();
    ok(all_of(!starpu_data_is_on_node(handles[0], node), starpu_data_is_on_node(handles[0], STARPU_MAIN_RAM)),
       "registered data is in main memory only");
    is_int(starpu_data_prefetch_on_node(handles[0], node, 0), 0, "it can be prefetched to the device");
    ok(all_of(valid_on(0, node), valid_on(0, STARPU_MAIN_RAM)), "then both copies are valid");
    starpu_data_prefetch_on_node(handles[1], node, 1);
    ok(comes_on(1, node), "an asynchronous prefetch arrives although nobody waits for it");
    uint64_t before = orr_bus_moved_bytes(STARPU_MAIN_RAM, node);
    int failed = submit_on(sim_worker(0), &read_cl, 0, &handles[0], 1);
    failed |= starpu_task_wait_for_all();
    is_int((long long)(orr_bus_moved_bytes(STARPU_MAIN_RAM, node) - before), 0,
           "a task that reads it there moves nothing");
    failed |= submit_on(sim_worker(0), &add_cl, 1, &handles[0], 1);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, valid_on(0, node), !valid_on(0, STARPU_MAIN_RAM)),
       "a task that writes it makes the other copy invalid");
    failed |= starpu_data_acquire(handles[0], STARPU_R);
    ok(all_of(!failed, all_equal(0, 1)), "the program sees the new value when it acquires it");
    starpu_data_release(handles[0]);
    for (int i = 0; i < 4; i++) failed |= starpu_data_fetch_on_node(handles[i], node, 0);
    starpu_data_prefetch_on_node(handles[5], node, 0);
    ok(all_of(!failed, !valid_on(5, node), valid_on(0, node)),
       "a prefetch to a full device is dropped rather than evicting others");
    starpu_data_wont_use(handles[1]);
    for (int k = 0; k < 2000 && !valid_on(5, node); k++) {
        starpu_data_prefetch_on_node(handles[5], node, 0);
        usleep(100);
    }
    ok(all_of(valid_on(5, node), !valid_on(1, node)), "but it takes the place of data that will not be used");
    unregister_blocks();
}

static void sharing(void)
{
    unsigned node = sim_node(0);
    register_blocks();
    atomic_store(&reads, 0);
    uint64_t before = orr_bus_moved_bytes(STARPU_MAIN_RAM, node);
    int failed = starpu_data_fetch_on_node(handles[0], node, 1);
    failed |= starpu_data_fetch_on_node(handles[0], node, 1);
    failed |= starpu_data_prefetch_on_node(handles[0], node, 1);
    for (int i = 0; i < 5; i++) failed |= submit_on(sim_worker(0), &read_cl, 0, &handles[0], 1);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, reads == 5), "several fetches and tasks at once get the data");
    is_int((long long)(orr_bus_moved_bytes(STARPU_MAIN_RAM, node) - before), BLOCK, "and share one transfer");
    unregister_blocks();
}

static void eviction(void)
{
    unsigned node = sim_node(0);
    int failed = 0, valid = 0;
    register_blocks();
    for (int i = 0; i < MANY; i++) failed |= submit_on(sim_worker(0), &add_cl, 10, &handles[i], 1);
    failed |= starpu_task_wait_for_all();
    for (int i = 0; i < MANY; i++) valid += valid_on(i, node);
    ok(all_of(!failed, valid > 0, valid <= 4),
       "eight blocks go through a device with room for four; %d remain", valid);
    ok(all_of(valid_on(0, STARPU_MAIN_RAM), all_equal(0, 10)),
       "the one written first was written back when it was evicted");
    ok(all_of(valid_on(MANY - 1, node), !valid_on(MANY - 1, STARPU_MAIN_RAM)),
       "the one written last is still there only");
    is_int(starpu_data_evict_from_node(handles[MANY - 1], node), 0, "it can be evicted by hand");
    ok(all_of(comes_on(MANY - 1, STARPU_MAIN_RAM), all_equal(MANY - 1, MANY - 1 + 10)),
       "which writes it back");
    for (int k = 0; k < 20000 && starpu_data_test_if_allocated_on_node(handles[MANY - 1], node); k++)
        usleep(100);
    ok(!starpu_data_test_if_allocated_on_node(handles[MANY - 1], node), "and frees its memory");
    is_int(starpu_data_acquire_on_node(handles[0], (int)node, STARPU_R), 0,
           "data can be acquired on the device");
    is_int(starpu_data_evict_from_node(handles[0], node), -1, "and is not evicted meanwhile");
    starpu_data_release_on_node(handles[0], (int)node);
    unregister_blocks();
    int right = 1;
    for (int i = 0; i < MANY; i++) right &= all_equal(i, i + 10);
    ok(right, "all values are right in the end");
    is_int((long long)starpu_memory_get_used(node), 0, "unregistering gives the device's memory back");
}

/* Four that were changed fill the device, and a fifth comes. */
static void writing_ahead(void)
{
    unsigned node = sim_node(0);
    int failed = 0;
    register_blocks();
    for (int i = 0; i < 4; i++) failed |= submit_on(sim_worker(0), &add_cl, 10, &handles[i], 1);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, !valid_on(0, STARPU_MAIN_RAM), !valid_on(1, STARPU_MAIN_RAM)),
       "what was changed on the device stays there as long as there is room");
    failed |= submit_on(sim_worker(0), &add_cl, 10, &handles[4], 1);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, !valid_on(0, node), comes_on(1, STARPU_MAIN_RAM), valid_on(1, node)),
       "where one made room, the next to do so is written back, too, and stays");
    ok(all_of(!valid_on(3, STARPU_MAIN_RAM), all_equal(1, 11)), "but not all of them");
    unregister_blocks();
}

static void write_through(void)
{
    unsigned node = sim_node(0);
    register_blocks();
    starpu_data_set_wt_mask(handles[0], 1);
    int failed = submit_on(sim_worker(0), &set_cl, 42, &handles[0], 1);
    failed |= submit_on(sim_worker(0), &set_cl, 43, &handles[1], 1);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, comes_on(0, STARPU_MAIN_RAM), all_equal(0, 42)),
       "data written on the device is written through to main memory");
    ok(valid_on(0, node), "and stays valid on the device");
    ok(!valid_on(1, STARPU_MAIN_RAM), "which other data is not");
    unregister_blocks();
}

static void written_first_on_device(void)
{
    starpu_data_handle_t h;
    char byte = 0;
    starpu_vector_data_register(&h, -1, 0, BLOCK, 1);
    ok(starpu_data_acquire(h, STARPU_R) != 0, "data without home that was never written cannot be read");
    int failed = submit_on(sim_worker(0), &set_cl, 5, &h, 1);
    failed |= submit_on(sim_worker(0), &add_cl, 2, &h, 1);
    failed |= starpu_data_acquire(h, STARPU_R);
    if (!failed) byte = *(char *)starpu_data_get_local_ptr(h);
    ok(all_of(!failed, byte == 7),
       "written on the device it is allocated in main memory when the program reads it");
    if (!failed) starpu_data_release(h);
    starpu_data_invalidate(h);
    is_int((long long)starpu_memory_get_used(sim_node(0)), 0, "invalidating it frees it everywhere");
    starpu_data_unregister(h);
}

static atomic_int errors;
static void count_error(const char *message, void *arg UNUSED)
{
    diag("reported: %.200s", message);
    atomic_fetch_add(&errors, 1);
}

static void too_large(void)
{
    static char large[5 * BLOCK];
    starpu_data_handle_t h;
    register_blocks();
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)large, sizeof large, 1);
    orr_log_set_hook(count_error, NULL);
    int failed = submit_on(sim_worker(0), &add_cl, 1, &h, 1);
    int told = starpu_task_wait_for_all();
    is_int(errors, 1, "a task whose data can never fit is reported once");
    ok(all_of(!failed, told == -EIO, large[0] == 0), "and is not run, which waiting tells");
    failed |= submit_on(0, &set_cl, 3, &h, 1);
    failed |= submit_on(sim_worker(0), &add_cl, 1, &handles[0], 1);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(h);
    unregister_blocks();
    ok(all_of(!failed, large[sizeof large - 1] == 3, all_equal(0, 1)), "other workers and other tasks go on");
    orr_log_set_hook(NULL, NULL);
}

/* Tasks with three blocks each, on a device for four: loading ahead must not starve the one that is next. */
static void tight(void)
{
    int failed = 0;
    register_blocks();
    atomic_store(&reads, 0);
    for (int i = 0; i < 60; i++) {
        starpu_data_handle_t three[3] = { handles[i % MANY], handles[(i * 3 + 1) % MANY],
                                          handles[(i * 5 + 2) % MANY] };
        if (three[0] == three[1] || three[1] == three[2] || three[0] == three[2])
            three[0] = handles[(i + 7) % MANY];
        if (three[0] == three[1] || three[0] == three[2] || three[1] == three[2]) continue;
        failed |= submit_on(sim_worker(0), &read3_cl, 0, three, 3);
        atomic_fetch_sub(&reads, 1);
        failed |= submit_on(sim_worker(0), &add_cl, 1, &three[1], 1);
    }
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, reads == 0), "tasks that need most of the memory run one after the other");
    unregister_blocks();
}

static void between_devices(void)
{
    register_blocks();
    int failed = 0;
    for (int i = 0; i < 6; i++) failed |= submit_on(sim_worker(i % 2), &add_cl, 1, &handles[0], 1);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, valid_on(0, sim_node(1)), !valid_on(0, sim_node(0))),
       "data goes to and fro between two devices");
    unregister_blocks();
    ok(all_equal(0, 6), "and arrives each time");
}

int main(void)
{
    const struct sim_config four = { "1", "0.26", "8000", "5", NULL, NULL };
    sim_start(1, &four);
    prefetching();
    sharing();
    eviction();
    writing_ahead();
    write_through();
    written_first_on_device();
    too_large();
    tight();
    starpu_shutdown();
    struct sim_config two = four;
    two.devices = "2";
    sim_start(1, &two);
    between_devices();
    starpu_shutdown();
    two.peers = "1";
    sim_start(1, &two);
    uint64_t by_ram = orr_bus_moved_bytes(sim_node(0), STARPU_MAIN_RAM);
    between_devices();
    is_int((long long)(orr_bus_moved_bytes(sim_node(0), STARPU_MAIN_RAM) - by_ram), 0,
           "devices with a direct link do not copy through main memory");
    starpu_shutdown();
    return done_testing();
}
