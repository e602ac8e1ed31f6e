/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who gets a device's memory when there is not enough for all: nobody holds some for ever while waiting for
 * more, whoever can go on gets it, and no wake-up is lost. Threads: each case in a process of its own, so
 * that one that hangs fails alone. Owns: the data of each case. Not here: random programs (memory_random.c),
 * single facts about places of copies (coherency_places.c).
 */
#include <pthread.h>
#include <sys/wait.h>
#include "core/base/log.h"
#include "tests/core/sim_helper.h"

enum { KIB = 1024, BLOCK = 64 * KIB, MANY = 8, PATIENCE_S = 12 };

static char blocks[MANY][BLOCK];
static starpu_data_handle_t handles[MANY];
static atomic_int ran;

static void add_func(void *buffers[], void *arg UNUSED)
{
    ++*(char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    atomic_fetch_add(&ran, 1);
}
static void add_nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .cuda_funcs = { add_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "add" };
static struct starpu_codelet add2_cl = { .cpu_funcs = { add_func },
                                         .cuda_funcs = { add_func },
                                         .nbuffers = 2,
                                         .modes = { STARPU_RW, STARPU_R },
                                         .name = "add2" };
static struct starpu_codelet add3_cl = { .cpu_funcs = { add_func },
                                         .cuda_funcs = { add_func },
                                         .nbuffers = 3,
                                         .modes = { STARPU_RW, STARPU_R, STARPU_R },
                                         .name = "add3" };

static int submit_on(int worker, struct starpu_codelet *cl, starpu_data_handle_t a, starpu_data_handle_t b,
                     starpu_data_handle_t c)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = a;
    task->handles[1] = b;
    task->handles[2] = c;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    return starpu_task_submit(task);
}

/* Devices with room for so many blocks. */
static void start(int cpus, const char *devices, int room, const char *peers)
{
    char mb[32];
    snprintf(mb, sizeof mb, "%.6f", (room * 64 + 8) / 1024.);
    sim_start(cpus, &(struct sim_config){ devices, mb, "8000", "5", NULL, peers });
    for (int i = 0; i < MANY; i++) {
        memset(blocks[i], 0, BLOCK);
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)blocks[i], BLOCK, 1);
    }
}

static int stop(void)
{
    for (int i = 0; i < MANY; i++) starpu_data_unregister(handles[i]);
    int left = starpu_memory_get_used(sim_node(0)) != 0;
    starpu_shutdown();
    return left;
}

/* Lets what was asked for get as far as it can. */
static void settle(void)
{
    usleep(30000);
}

/* ---- cases: 0 is right ---- */

/* Each device has room for one block, and the tasks swap two blocks that were written there. */
static int swap_two(const char *peers)
{
    enum { ROUNDS = 60 };
    int failed = 0;
    start(1, "2", 1, peers);
    for (int i = 0; i < ROUNDS; i++)
        for (int d = 0; d < 2; d++)
            failed |= submit_on(sim_worker(d), &add_cl, handles[(i + d) % 2], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= stop();
    return failed || blocks[0][0] != ROUNDS || blocks[1][0] != ROUNDS;
}
static int swapping(void)
{
    return swap_two(NULL);
}
static int swapping_directly(void)
{
    return swap_two("1");
}

/* The first device is full with block 0, which a fetch to the second, full with an acquired one, waits to
 * bring there. A task on the first needs that place. */
static int waiting_fetch_holds_nothing(void)
{
    start(1, "2", 1, NULL);
    unsigned second = sim_node(1);
    int failed = submit_on(sim_worker(0), &add_cl, handles[0], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= starpu_data_acquire_on_node(handles[1], (int)second, STARPU_R);
    failed |= starpu_data_fetch_on_node(handles[0], second, 1);
    settle();
    failed |= submit_on(sim_worker(0), &add_cl, handles[2], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    starpu_data_release_on_node(handles[1], (int)second);
    return failed | stop();
}

/* As before, but main memory has the block by the time the fetch goes on; who waits for the place on the
 * first device must hear of it. */
static int copy_by_main_memory_tells(void)
{
    start(1, "2", 1, NULL);
    unsigned second = sim_node(1);
    int failed = submit_on(sim_worker(0), &add_cl, handles[0], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= starpu_data_acquire_on_node(handles[1], (int)second, STARPU_R);
    failed |= starpu_data_fetch_on_node(handles[0], second, 1);
    settle();
    failed |= starpu_data_acquire(handles[0], STARPU_R);
    starpu_data_release(handles[0]);
    failed |= submit_on(sim_worker(0), &add_cl, handles[2], NULL, NULL);
    settle();
    starpu_data_release_on_node(handles[1], (int)second);
    failed |= starpu_task_wait_for_all();
    return failed | stop();
}

/* A large fetch of the program's waits before a task that has room. */
static int task_goes_first(void)
{
    static char large[3 * BLOCK];
    starpu_data_handle_t h;
    start(1, "1", 3, NULL);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)large, sizeof large, 1);
    int node = (int)sim_node(0);
    int failed = starpu_data_acquire_on_node(handles[0], node, STARPU_R);
    failed |= starpu_data_fetch_on_node(h, (unsigned)node, 1);
    settle();
    failed |= submit_on(sim_worker(0), &add2_cl, handles[1], handles[2], NULL);
    failed |= starpu_task_wait_for_all();
    starpu_data_release_on_node(handles[0], node);
    starpu_data_unregister(h);
    return failed | stop();
}

static void note_got(void *arg)
{
    atomic_store((atomic_int *)arg, 1);
}

/* The same among the program's own: what it waits for last is what there is room for. */
static int small_passes_large(void)
{
    static char large[3 * BLOCK];
    static atomic_int got;
    starpu_data_handle_t h;
    start(1, "1", 3, NULL);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)large, sizeof large, 1);
    int node = (int)sim_node(0);
    int failed = starpu_data_acquire_on_node(handles[0], node, STARPU_R);
    failed |= starpu_data_acquire_on_node_cb(h, node, STARPU_R, note_got, &got);
    settle();
    failed |= starpu_data_acquire_on_node(handles[1], node, STARPU_R);
    failed |= atomic_load(&got);
    starpu_data_release_on_node(handles[0], node);
    starpu_data_release_on_node(handles[1], node);
    failed |= !comes_to(&got, 1, 10000);
    starpu_data_release_on_node(h, node);
    starpu_data_unregister(h);
    return failed | stop();
}

/* A prefetch waits for memory behind a fetch that cannot get any; a task elsewhere writes what it was to
 * bring.
 */
static int writer_ends_prefetch(void)
{
    static char large[2 * BLOCK];
    starpu_data_handle_t h;
    start(1, "1", 2, NULL);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)large, sizeof large, 1);
    int node = (int)sim_node(0);
    int failed = starpu_data_acquire_on_node(handles[0], node, STARPU_R);
    failed |= starpu_data_fetch_on_node(h, (unsigned)node, 1);
    failed |= starpu_data_prefetch_on_node(handles[1], (unsigned)node, 1);
    settle();
    failed |= submit_on(0, &add_cl, handles[1], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    starpu_data_release_on_node(handles[0], node);
    starpu_data_unregister(h);
    return failed | stop();
}

/* A task has loaded two of its three blocks, and the program holds one and wants another: of four places. The
 * task cannot have its third, and holds what the program needs to release the first. */
static int loading_gives_back(void)
{
    start(1, "1", 3, NULL);
    int node = (int)sim_node(0);
    int failed = starpu_data_acquire_on_node(handles[0], node, STARPU_RW);
    failed |= submit_on(sim_worker(0), &add3_cl, handles[1], handles[2], handles[3]);
    settle();
    failed |= starpu_data_acquire_on_node(handles[4], node, STARPU_RW);
    failed |= atomic_load(&ran);
    starpu_data_release_on_node(handles[4], node);
    starpu_data_release_on_node(handles[0], node);
    failed |= starpu_task_wait_for_all();
    failed |= stop();
    return failed || blocks[1][0] != 1;
}

/* Two CPU workers run tasks that each use both devices, in opposite orders, each with room for one block. */
static struct starpu_codelet both_cl = { .cpu_funcs = { add_func },
                                         .nbuffers = 2,
                                         .modes = { STARPU_RW, STARPU_RW },
                                         .specific_nodes = 1,
                                         .name = "both" };
static struct starpu_codelet both_reverse_cl;
static int two_nodes_each(void)
{
    start(2, "2", 1, NULL);
    both_cl.nodes[0] = (int)sim_node(0);
    both_cl.nodes[1] = (int)sim_node(1);
    both_reverse_cl = both_cl;
    both_reverse_cl.nodes[0] = (int)sim_node(1);
    both_reverse_cl.nodes[1] = (int)sim_node(0);
    int failed = 0;
    for (int i = 0; i < 60; i++) {
        failed |= submit_on(0, &both_cl, handles[i % 2], handles[2 + i % 2], NULL);
        failed |= submit_on(1, &both_reverse_cl, handles[4 + i % 2], handles[6 + i % 2], NULL);
    }
    failed |= starpu_task_wait_for_all();
    failed |= stop();
    return failed || ran != 120;
}

static void expect_func(void *buffers[], void *arg UNUSED)
{
    const char *p = (const char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    if (p[0] == 7 && p[BLOCK - 1] == 7) atomic_fetch_add(&ran, 1);
}
static void fill_func(void *buffers[], void *arg UNUSED)
{
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 7, BLOCK);
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .cuda_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }
};
static struct starpu_codelet expect_cl = {
    .cpu_funcs = { expect_func }, .cuda_funcs = { expect_func }, .nbuffers = 1, .modes = { STARPU_R }
};

/* Data without a home goes from one device to another while main memory has no room for it. */
static int main_memory_is_full(void)
{
    enum { MIB = 1024 * KIB };
    starpu_data_handle_t h;
    void *filler = NULL;
    setenv("STARPU_LIMIT_CPU_MEM", "1", 1);
    start(1, "2", 2, NULL);
    int failed = starpu_malloc_flags(&filler, MIB, STARPU_MALLOC_COUNT);
    starpu_vector_data_register(&h, -1, 0, BLOCK, 1);
    failed |= submit_on(sim_worker(0), &fill_cl, h, NULL, NULL);
    failed |= submit_on(sim_worker(1), &expect_cl, h, NULL, NULL);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(h);
    starpu_free_flags(filler, MIB, STARPU_MALLOC_COUNT);
    return failed | stop() | (atomic_load(&ran) != 1);
}

/* ---- bodies that ask for more ---- */

static int asked_first;

static void ask_func(void *buffers[], void *arg UNUSED)
{
    unsigned mine = starpu_worker_get_memory_node((unsigned)starpu_worker_get_id());
    usleep(2000); /* until the next task is loaded */
    int r = starpu_data_fetch_on_node(handles[MANY - 1], mine, 0);
    if (r && !asked_first) asked_first = r;
    add_func(buffers, NULL);
}
static struct starpu_codelet ask_cl = { .cpu_funcs = { ask_func },
                                        .cuda_funcs = { ask_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "ask" };

/* There is room for a task's block and one more, which the next task has by then. */
static int body_asks_for_more(void)
{
    enum { TASKS = 20, DATA = 4 };
    int failed = 0, wrong = 0;
    start(1, "1", 2, NULL);
    for (int i = 0; i < TASKS; i++)
        failed |= submit_on(sim_worker(0), &ask_cl, handles[i % DATA], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= stop();
    for (int i = 0; i < DATA; i++) wrong |= blocks[i][0] != TASKS / DATA;
    return failed | wrong | asked_first | (atomic_load(&ran) != TASKS);
}

/* And here the program has it. */
static int body_gives_up(void)
{
    start(1, "1", 2, NULL);
    int node = (int)sim_node(0), failed = starpu_data_acquire_on_node(handles[1], node, STARPU_R);
    failed |= submit_on(sim_worker(0), &ask_cl, handles[0], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    starpu_data_release_on_node(handles[1], node);
    failed |= starpu_data_fetch_on_node(handles[MANY - 1], (unsigned)node, 0);
    return stop() | failed | (asked_first != -ENOMEM) | (blocks[0][0] != 1);
}

/* ---- data whose memory on the device is freed when the test says so ---- */

static struct gate freeing;
static struct starpu_data_interface_ops slow_ops;

static void free_slowly(void *itf, unsigned node)
{
    if (node != STARPU_MAIN_RAM && !atomic_load(&freeing.open)) gate_pass(&freeing);
    starpu_interface_variable_ops.free_data_on_node(itf, node);
}

static starpu_data_handle_t register_slow(void)
{
    static char memory[BLOCK];
    starpu_data_handle_t h;
    struct starpu_variable_interface v = { .id = STARPU_VARIABLE_INTERFACE_ID,
                                           .ptr = (uintptr_t)memory,
                                           .dev_handle = (uintptr_t)memory,
                                           .elemsize = BLOCK };
    slow_ops = starpu_interface_variable_ops;
    slow_ops.free_data_on_node = free_slowly;
    starpu_data_register(&h, STARPU_MAIN_RAM, &v, &slow_ops);
    return h;
}

static void *invalidate(void *h)
{
    starpu_data_invalidate(h);
    return NULL;
}

/* A task asks for memory while an invalidation is about to free some. */
static int invalidation_frees(void)
{
    start(1, "1", 1, NULL);
    pthread_t thread;
    starpu_data_handle_t h = register_slow();
    int failed = starpu_data_fetch_on_node(h, sim_node(0), 0);
    pthread_create(&thread, NULL, invalidate, h);
    gate_wait_entered(&freeing, 1);
    failed |= submit_on(sim_worker(0), &add_cl, handles[0], NULL, NULL);
    settle();
    gate_open(&freeing);
    failed |= starpu_task_wait_for_all();
    pthread_join(thread, NULL);
    starpu_data_unregister(h);
    return failed | stop() | (atomic_load(&ran) != 1);
}

/* Variables whose first copy back to main memory waits in a gate. */
static struct gate leaving;
static struct starpu_data_interface_ops gated_ops;

static int gated_copy(void *src, unsigned from, void *dst, unsigned to, void *async UNUSED)
{
    struct starpu_variable_interface *a = src, *b = dst;
    if (to == STARPU_MAIN_RAM && !atomic_load(&leaving.open)) gate_pass(&leaving);
    return starpu_interface_copy(a->ptr, 0, from, b->ptr, 0, to, a->elemsize, NULL);
}

static starpu_data_handle_t register_gated(char *memory)
{
    static const struct starpu_data_copy_methods copies = { .any_to_any = gated_copy };
    starpu_data_handle_t h;
    struct starpu_variable_interface v = { .id = STARPU_VARIABLE_INTERFACE_ID,
                                           .ptr = (uintptr_t)memory,
                                           .dev_handle = (uintptr_t)memory,
                                           .elemsize = BLOCK };
    gated_ops = starpu_interface_variable_ops;
    gated_ops.copy_methods = &copies;
    starpu_data_register(&h, STARPU_MAIN_RAM, &v, &gated_ops);
    return h;
}

static starpu_data_handle_t given_up;

static void give_up_other(void *h)
{
    starpu_data_invalidate_submit(given_up);
    starpu_data_release(h);
    atomic_fetch_add(&ran, 1);
}

/* Two data are written back to make room for a third, one after the other. Who waited for the first gives up
 * the second, whose turn has not come. */
static int two_leave(void)
{
    static char memory[2][BLOCK], large[2 * BLOCK];
    static struct starpu_codelet write_cl = {
        .cuda_funcs = { add_nothing }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
    };
    starpu_data_handle_t first, third;
    start(1, "1", 2, NULL);
    first = register_gated(memory[0]);
    given_up = register_gated(memory[1]);
    starpu_vector_data_register(&third, STARPU_MAIN_RAM, (uintptr_t)large, 2 * BLOCK, 1);
    int failed = submit_on(sim_worker(0), &write_cl, first, NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= submit_on(sim_worker(0), &write_cl, given_up, NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= submit_on(sim_worker(0), &write_cl, third, NULL, NULL);
    gate_wait_entered(&leaving, 1);
    failed |= starpu_data_acquire_cb(first, STARPU_R, give_up_other, first);
    gate_open(&leaving);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(first);
    starpu_data_unregister(given_up);
    starpu_data_unregister(third);
    return failed | stop() | (atomic_load(&ran) != 1);
}

static void release(void *h)
{
    starpu_data_release(h);
}

/* While a block is thrown out for a task, the program asks to write it, to bring it back, and to give it up:
 * each comes in its turn when the memory is free. */
static int callbacks_of_evictions(void)
{
    start(1, "1", 1, NULL);
    starpu_data_handle_t h = register_slow();
    int failed = starpu_data_fetch_on_node(h, sim_node(0), 0);
    failed |= submit_on(sim_worker(0), &add_cl, handles[0], NULL, NULL);
    gate_wait_entered(&freeing, 1);
    failed |= starpu_data_acquire_cb(h, STARPU_RW, release, h);
    failed |= starpu_data_prefetch_on_node(h, sim_node(0), 1);
    starpu_data_invalidate_submit(h);
    gate_open(&freeing);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(h);
    return failed | stop() | (atomic_load(&ran) != 1);
}

/* ---- what the deadlock detector says ---- */

/* A task needs all the memory, of which the program holds a part for ever. */
static int task_starves(void)
{
    start(1, "1", 2, NULL);
    starpu_data_set_name(handles[0], "held");
    starpu_data_set_name(handles[2], "last");
    int failed = starpu_data_acquire_on_node(handles[0], (int)sim_node(0), STARPU_RW);
    failed |= submit_on(sim_worker(0), &add2_cl, handles[1], handles[2], NULL);
    return failed | starpu_task_wait_for_all();
}

/* The program holds some and asks for more; there is no task. */
static int program_starves(void)
{
    start(1, "1", 1, NULL);
    starpu_data_set_name(handles[0], "held");
    starpu_data_set_name(handles[1], "asked");
    int failed = starpu_data_acquire_on_node(handles[0], (int)sim_node(0), STARPU_RW);
    return failed | starpu_data_acquire_on_node(handles[1], (int)sim_node(0), STARPU_R);
}

static void *release_late(void *arg UNUSED)
{
    int node = (int)sim_node(0);
    if (starpu_data_acquire_on_node(handles[0], node, STARPU_RW)) _exit(3);
    gate_pass(&freeing);
    sleep(2);
    starpu_data_release_on_node(handles[0], node);
    return NULL;
}

/* The same, but another thread gives the memory back after a while. */
static int thread_releases(void)
{
    pthread_t thread;
    start(1, "1", 2, NULL);
    pthread_create(&thread, NULL, release_late, NULL);
    gate_wait_entered(&freeing, 1);
    gate_open(&freeing);
    int failed = submit_on(sim_worker(0), &add2_cl, handles[1], handles[2], NULL);
    failed |= starpu_task_wait_for_all();
    pthread_join(thread, NULL);
    return failed | stop();
}

/* ---- a victim selector that gives nothing ---- */

static atomic_int asked_selector, holding, refused_while_held;

static starpu_data_handle_t gives_none(starpu_data_handle_t toload UNUSED, unsigned node UNUSED,
                                       enum starpu_is_prefetch is_prefetch UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&asked_selector, 1);
    return STARPU_DATA_NO_VICTIM;
}

/* Whether tasks on more blocks than there is room for end, and are right. */
static int tasks_pass_through(int rounds)
{
    int failed = 0;
    for (int i = 0; i < rounds * MANY; i++)
        failed |= submit_on(sim_worker(0), &add_cl, handles[i % MANY], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    failed |= stop();
    for (int i = 0; i < MANY; i++) failed |= blocks[i][0] != rounds;
    return failed | !atomic_load(&asked_selector);
}

static int tasks_denied(void)
{
    start(1, "1", 2, NULL);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    return tasks_pass_through(10);
}

/* The program holds one of the two places until the first task has run. */
static int denied_beside_held(void)
{
    start(1, "1", 2, NULL);
    int node = (int)sim_node(0), failed = starpu_data_fetch_on_node(handles[1], (unsigned)node, 0);
    failed |= starpu_data_acquire_on_node(handles[0], node, STARPU_R);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    failed |= submit_on(sim_worker(0), &add_cl, handles[2], NULL, NULL);
    failed |= starpu_task_wait_for_all();
    starpu_data_release_on_node(handles[0], node);
    return failed | stop() | (blocks[2][0] != 1);
}

static int denied_for_ever(void)
{
    start(1, "1", 1, NULL);
    starpu_data_set_name(handles[0], "held");
    starpu_data_set_name(handles[1], "asked");
    int failed = starpu_data_acquire_on_node(handles[0], (int)sim_node(0), STARPU_RW);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    return failed | starpu_data_acquire_on_node(handles[1], (int)sim_node(0), STARPU_R);
}

static int allocation_denied(void)
{
    start(1, "1", 2, NULL);
    unsigned node = sim_node(0);
    int failed = starpu_data_fetch_on_node(handles[0], node, 0);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    failed |= starpu_memory_allocate(node, 2 * BLOCK, STARPU_MEMORY_WAIT);
    starpu_memory_deallocate(node, 2 * BLOCK);
    return failed | stop();
}

/* Gives nothing while the program holds what is to go, and then that. */
static starpu_data_handle_t waits_for_held(starpu_data_handle_t toload UNUSED, unsigned node UNUSED,
                                           enum starpu_is_prefetch is_prefetch UNUSED, void *arg UNUSED)
{
    bool held = atomic_load(&holding);
    if (held) atomic_fetch_add(&refused_while_held, 1);
    return held ? STARPU_DATA_NO_VICTIM : handles[0];
}

/* A second and a half, in which the other block there is not touched. */
static int selector_waits(void)
{
    start(1, "1", 2, NULL);
    int node = (int)sim_node(0), failed = starpu_data_fetch_on_node(handles[1], (unsigned)node, 0);
    failed |= starpu_data_acquire_on_node(handles[0], node, STARPU_R);
    atomic_store(&holding, 1);
    starpu_data_register_victim_selector(waits_for_held, NULL, NULL);
    failed |= submit_on(sim_worker(0), &add_cl, handles[2], NULL, NULL);
    usleep(1500000);
    failed |=
        !starpu_data_is_on_node(handles[1], node) || atomic_load(&ran) || !atomic_load(&refused_while_held);
    starpu_data_release_on_node(handles[0], node);
    atomic_store(&holding, 0);
    failed |= starpu_task_wait_for_all();
    failed |= !starpu_data_is_on_node(handles[1], node) || starpu_data_is_on_node(handles[0], node);
    return failed | stop() | (blocks[2][0] != 1);
}

static void *gives_room(void *node)
{
    usleep(300000);
    starpu_memory_deallocate(*(unsigned *)node, BLOCK);
    return NULL;
}

/* Five waits of 0.3 s each, which the program ends itself. */
static int short_waits(void)
{
    start(1, "1", 2, NULL);
    unsigned node = sim_node(0);
    int failed = starpu_data_fetch_on_node(handles[0], node, 0);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    failed |= starpu_memory_allocate(node, BLOCK, 0);
    for (int i = 0; i < 5; i++) {
        pthread_t other;
        pthread_create(&other, NULL, gives_room, &node);
        failed |= starpu_memory_allocate(node, BLOCK, STARPU_MEMORY_WAIT);
        failed |= !starpu_data_is_on_node(handles[0], (int)node);
        pthread_join(other, NULL);
    }
    starpu_memory_deallocate(node, BLOCK);
    return failed | stop();
}

static atomic_int large_came;

static void *waits_for_three(void *node)
{
    starpu_memory_wait_available(*(unsigned *)node, 3 * BLOCK);
    atomic_store(&large_came, 1);
    return NULL;
}

/* Room for three of four blocks is waited for, two of which hold data that nobody uses, while a task at a
 * time uses one. */
static int large_beside_small(void)
{
    static struct starpu_codelet write_cl = {
        .cuda_funcs = { add_nothing }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
    };
    start(1, "1", 4, NULL);
    unsigned node = sim_node(0);
    int failed = 0;
    for (int i = 0; i < 2; i++) failed |= starpu_data_fetch_on_node(handles[i], node, 0);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    pthread_t other;
    double end = starpu_timing_now() + 10e6;
    pthread_create(&other, NULL, waits_for_three, &node);
    while (!atomic_load(&large_came) && starpu_timing_now() < end) {
        starpu_data_handle_t small;
        starpu_vector_data_register(&small, -1, 0, BLOCK, 1);
        failed |= submit_on(sim_worker(0), &write_cl, small, NULL, NULL);
        failed |= starpu_task_wait_for_all();
        starpu_data_unregister_no_coherency(small);
        usleep(1000);
    }
    failed |= !atomic_load(&large_came);
    pthread_join(other, NULL);
    return failed | stop();
}

/* ---- in processes ---- */

static int only; /* case to run, for a closer look; 0: all */

static void in_process(int (*fn)(void), const char *fact)
{
    static int number;
    if (++number != only && only) return;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE_S);
        _exit(fn() ? 1 : 0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ok(all_of(WIFEXITED(status), WEXITSTATUS(status) == 0), "%s", fact);
    if (WIFSIGNALED(status)) diag("it ended by signal %d", WTERMSIG(status));
}

/* A process that runs fn, and what it writes to its standard error. */
struct talk {
    pid_t pid;
    int from, status;
    char said[16384];
};

static void talk_begin(struct talk *t, int (*fn)(void))
{
    int fds[2];
    fflush(NULL);
    if (pipe(fds) != 0) exit(99);
    t->pid = fork();
    if (t->pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        alarm(PATIENCE_S);
        _exit(fn() ? 2 : 0);
    }
    close(fds[1]);
    t->from = fds[0];
}

static void talk_end(struct talk *t)
{
    size_t used = 0;
    for (ssize_t n;
         used < sizeof t->said - 1 && (n = read(t->from, t->said + used, sizeof t->said - 1 - used)) > 0;)
        used += (size_t)n;
    t->said[used] = 0;
    close(t->from);
    waitpid(t->pid, &t->status, 0);
    t->status = WIFEXITED(t->status) ? WEXITSTATUS(t->status) : -1;
}

static bool says_all(const char *output, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (!strstr(output, words[i])) return false;
    return true;
}

static void told(void)
{
    static const char *const task_words[] = {
        "deadlock", "task add2", "65536 bytes", "\"last\"", "CUDA 0", "\"held\"", "which the program holds"
    };
    static const char *const program_words[] = { "deadlock", "the program waits for 65536 bytes", "\"asked\"",
                                                 "\"held\"" };
    static struct talk task, program, thread; /* all at a time: they wait */
    if (only && only < 15) return;
    talk_begin(&task, task_starves);
    talk_begin(&program, program_starves);
    talk_begin(&thread, thread_releases);
    talk_end(&task);
    bool right =
        ok(all_of(task.status == 1, says_all(task.said, task_words, LENGTH(task_words))),
           "a task that waits for memory which the program never gives back is told, with what and who");
    if (!right) diag("status %d: %s", task.status, task.said);
    talk_end(&program);
    right = ok(all_of(program.status == 1, says_all(program.said, program_words, LENGTH(program_words))),
               "so is the program when it waits for what it holds itself");
    if (!right) diag("status %d: %s", program.status, program.said);
    talk_end(&thread);
    ok(all_of(thread.status == 0, !strstr(thread.said, "deadlock")),
       "nothing is said while another thread may give it back");
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, word)) != NULL; p++) n++;
    return n;
}

static void told_of_selectors(void)
{
    static const char *const words[] = { "CUDA 0", "NO_VICTIM", "65536 bytes",
                                         "starpu_data_register_victim_selector" };
    static const char *const held_words[] = { "NO_VICTIM", "deadlock", "\"asked\"", "\"held\"" };
    static struct talk tasks, held, ever, allocation, patient, brief, large;
    if (only && only < 16) return;
    talk_begin(&tasks, tasks_denied);
    talk_begin(&held, denied_beside_held);
    talk_begin(&ever, denied_for_ever);
    talk_begin(&allocation, allocation_denied);
    talk_begin(&patient, selector_waits);
    talk_begin(&brief, short_waits);
    talk_begin(&large, large_beside_small);
    struct talk *all[] = { &tasks, &held, &ever, &allocation, &patient, &brief, &large };
    for (unsigned i = 0; i < LENGTH(all); i++) talk_end(all[i]);
    bool right =
        ok(all_of(tasks.status == 0, says_all(tasks.said, words, LENGTH(words)),
                  count_of(tasks.said, "NO_VICTIM") == 1),
           "a selector that never gives anything is overruled, which is said once, with node and size");
    right &= ok(all_of(held.status == 0, strstr(held.said, "NO_VICTIM") != NULL),
                "also while the program holds memory there");
    right &= ok(all_of(ever.status == 1, says_all(ever.said, held_words, LENGTH(held_words))),
                "where that is all the memory, the deadlock is told");
    right &= ok(all_of(allocation.status == 0, strstr(allocation.said, "NO_VICTIM") != NULL),
                "memory that the program waits for comes, too");
    right &= ok(all_of(patient.status == 0, !strstr(patient.said, "NO_VICTIM")),
                "one that waits for a second and a half for what is in use has its way");
    right &= ok(all_of(brief.status == 0, !strstr(brief.said, "NO_VICTIM")),
                "waits that the program ends do not add up");
    right &= ok(all_of(large.status == 0, strstr(large.said, "NO_VICTIM") != NULL),
                "who waits for much room is not passed over for those who want little");
    for (unsigned i = 0; !right && i < LENGTH(all); i++) diag("status %d: %s", all[i]->status, all[i]->said);
}

int main(int argc, char **argv)
{
    only = argc > 1 ? atoi(argv[1]) : 0;
    in_process(swapping, "tasks that swap data between two full devices by main memory end");
    in_process(swapping_directly, "and by a direct link");
    in_process(waiting_fetch_holds_nothing, "a fetch that waits for memory holds no copy elsewhere");
    in_process(copy_by_main_memory_tells, "nor keeps who waits for that place asleep");
    in_process(task_goes_first, "a task gets memory although a fetch has waited for longer");
    in_process(small_passes_large, "an acquisition that fits passes one that does not when nothing moves");
    in_process(writer_ends_prefetch, "a writer does not wait for a prefetch to get memory");
    in_process(loading_gives_back, "a task that cannot be loaded gives back what the program needs");
    in_process(two_nodes_each, "tasks that use two devices each, in opposite orders, end");
    in_process(invalidation_frees, "a task waits for memory that an invalidation is about to free");
    in_process(two_leave, "who waited for a datum that leaves may give up the one that leaves next");
    in_process(callbacks_of_evictions, "callbacks that an eviction held up may give up the same data");
    in_process(main_memory_is_full, "data passes between devices when main memory is full");
    in_process(body_asks_for_more, "a body that waits for more has it from the tasks loaded behind it");
    in_process(body_gives_up, "where nobody gives back any it is told after a second, and can have it later");
    told();
    told_of_selectors();
    return done_testing();
}
