/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store below main memory: what the runtime allocated for data leaves a full main memory for it, least
 * recently used first, comes back when it is wanted, and nothing is lost; the program's own memory stays.
 * Threads: main; workers; callbacks on any. Owns: data and what they should hold. Not here: random programs
 * (tests/long/memory_random.c).
 */
#include "tests/core/sim_helper.h"

enum { COUNT = 24, ELEMENTS = 4096, BYTES = ELEMENTS * 4, ROOM = 4 };

static starpu_data_handle_t data[COUNT];
static uint32_t own_memory[ELEMENTS];
static int store;

static void mb(char text[32], double bytes)
{
    snprintf(text, 32, "%.7f", bytes / 1048576.);
}

/* room, stored: of how many data there is room in main memory and in the store; stored 0: there is none. */
static void begin(int cpus, const char *devices, int device_room, int room, int stored, const char *latency)
{
    char main_mb[32], store_mb[32], device_mb[32];
    mb(main_mb, room * BYTES + 100);
    mb(store_mb, stored * BYTES + 100);
    mb(device_mb, device_room * BYTES + 100);
    sim_setting("STARPU_LIMIT_CPU_MEM", main_mb);
    sim_setting("ORRERY_SIM_STORE_MB", stored ? store_mb : NULL);
    sim_start(cpus, &(struct sim_config){ devices, device_mb, "20000", latency, NULL, NULL });
    store = (int)starpu_memory_nodes_get_count() - 1;
}

static void fill_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < ELEMENTS; i++) p[i] = *(uint32_t *)arg + (uint32_t)i;
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .cuda_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }
};

static atomic_int wrong;

static void add_func(void *buffers[], void *arg)
{
    uint32_t *a = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint32_t *b = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (int i = 0; i < ELEMENTS; i++) a[i] += b[i];
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func },
    .cuda_funcs = { add_func },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_R },
};

static void fill(int h, uint32_t value, int worker)
{
    struct starpu_task *task = starpu_task_create();
    uint32_t *arg = malloc(sizeof *arg);
    *arg = value;
    task->cl = &fill_cl;
    task->handles[0] = data[h];
    task->cl_arg = arg;
    task->cl_arg_size = sizeof *arg;
    task->cl_arg_free = 1;
    task->execute_on_a_specific_worker = worker >= 0;
    task->workerid = (unsigned)(worker >= 0 ? worker : 0);
    if (starpu_task_submit(task)) atomic_fetch_add(&wrong, 1);
}

static void register_all(int count)
{
    for (int h = 0; h < count; h++) starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
}

static bool holds(const uint32_t *p, uint32_t value, uint32_t step)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        if (p[i] != value + step * i) return false;
    return true;
}

/* Whether datum h, acquired, holds value + step * i. */
static bool has(int h, uint32_t value, uint32_t step)
{
    if (starpu_data_acquire(data[h], STARPU_R)) return false;
    bool right = holds((uint32_t *)starpu_data_get_local_ptr(data[h]), value, step);
    starpu_data_release(data[h]);
    return right;
}

static bool within_limit(void)
{
    return starpu_memory_get_used(STARPU_MAIN_RAM) <= (size_t)starpu_memory_get_total(STARPU_MAIN_RAM);
}

static void end(int count)
{
    for (int h = 0; h < count; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
}

static void goes_down_and_comes_back(void)
{
    begin(2, "0", 0, ROOM, COUNT, "5");
    is_int(starpu_node_get_kind((unsigned)store), STARPU_DISK_RAM, "there is a memory node of a disk");
    register_all(COUNT);
    for (int h = 0; h < COUNT; h++) fill(h, 1000u * (unsigned)h, -1);
    starpu_task_wait_for_all();
    ok(within_limit(), "24 data are written with room for 4 of them, and the limit is kept");
    ok(starpu_memory_get_used((unsigned)store) >= (COUNT - ROOM) * (size_t)BYTES,
       "the others are in the store");
    bool all = true;
    for (int h = 0; h < COUNT; h++) all &= has(h, 1000u * (unsigned)h, 1);
    ok(all, "each of them comes back with its value");
    for (int h = 1; h < COUNT; h++) starpu_task_insert(&add_cl, STARPU_RW, data[h], STARPU_R, data[h - 1], 0);
    starpu_task_wait_for_all();
    uint32_t sum = 0;
    for (int h = 0; h < COUNT; h++) {
        sum += 1000u * (unsigned)h;
        all &= has(h, sum, (uint32_t)h + 1);
    }
    ok(all, "values that tasks changed are written again, not those of before");
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    ok(all_of(starpu_memory_get_used(STARPU_MAIN_RAM) == 0, starpu_memory_get_used((unsigned)store) == 0),
       "unregistered they take no memory, neither above nor below");
    starpu_shutdown();
}

static void oldest_goes_first(void)
{
    begin(1, "0", 0, ROOM, COUNT, "5");
    register_all(ROOM + 1);
    for (int h = 0; h < ROOM; h++) {
        fill(h, (uint32_t)h, -1);
        starpu_task_wait_for_all();
    }
    has(0, 0, 1); /* used after 1, 2, 3 */
    fill(ROOM, 0, -1);
    starpu_task_wait_for_all();
    ok(all_of(starpu_data_is_on_node(data[0], STARPU_MAIN_RAM),
              !starpu_data_is_on_node(data[1], STARPU_MAIN_RAM),
              starpu_data_is_on_node(data[1], (unsigned)store)),
       "what was used longest ago goes, not what was written first");
    is_int(starpu_data_evict_from_node(data[0], STARPU_MAIN_RAM), 0, "the program may send data down itself");
    while (starpu_data_is_on_node(data[0], STARPU_MAIN_RAM)) starpu_usleep(100);
    ok(has(0, 0, 1), "and gets them back");
    starpu_data_set_ooc_flag(data[0], 0);
    for (int h = 1; h <= ROOM; h++) fill(h, 0, -1);
    starpu_task_wait_for_all();
    ok(starpu_data_is_on_node(data[0], STARPU_MAIN_RAM),
       "starpu_data_set_ooc_flag keeps them in main memory");
    end(ROOM + 1);
}

static void own_memory_stays(void)
{
    begin(1, "0", 0, ROOM, COUNT, "5");
    starpu_data_handle_t own;
    starpu_vector_data_register(&own, STARPU_MAIN_RAM, (uintptr_t)own_memory, ELEMENTS, 4);
    register_all(COUNT);
    for (int h = 0; h < COUNT; h++) fill(h, 7, -1);
    starpu_task_wait_for_all();
    ok(all_of(starpu_data_is_on_node(own, STARPU_MAIN_RAM), !starpu_data_is_on_node(own, (unsigned)store),
              starpu_data_evict_from_node(own, STARPU_MAIN_RAM) == -1),
       "memory of the program's is not evicted, neither by need nor on demand");
    starpu_task_insert(&add_cl, STARPU_RW, own, STARPU_R, data[3], 0);
    starpu_data_unregister(own);
    ok(holds(own_memory, 7, 1), "a task on it and on data from the store writes it in its place");
    end(COUNT);
}

/* Room on the device for two data, in main memory for two: the third that the device writes must first go to
 * main memory, where the first two must go down. */
static void device_over_full_memory(void)
{
    begin(1, "1", 2, 2, COUNT, "5");
    register_all(COUNT);
    for (int h = 0; h < COUNT; h++) fill(h, 500u * (unsigned)h, sim_worker(0));
    starpu_task_wait_for_all();
    ok(all_of(within_limit(), starpu_memory_get_used((unsigned)store) >= (COUNT - 4) * (size_t)BYTES),
       "what a device writes back makes main memory evict first");
    for (int h = 1; h < COUNT; h++) {
        struct starpu_task *task = starpu_task_build(&add_cl, STARPU_RW, data[h], STARPU_R, data[h - 1],
                                                     STARPU_EXECUTE_ON_WORKER, sim_worker(0), 0);
        if (!task || starpu_task_submit(task)) atomic_fetch_add(&wrong, 1);
    }
    starpu_task_wait_for_all();
    bool all = true;
    uint32_t sum = 0;
    for (int h = 0; h < COUNT; h++) {
        sum += 500u * (unsigned)h;
        all &= has(h, sum, (uint32_t)h + 1);
    }
    ok(all, "a device gets data from the store by way of main memory, and nothing is lost");
    end(COUNT);
}

static void prefetched(void *event)
{
    atomic_store((atomic_int *)event, 1);
}

/* Nobody waits in the runtime: idle workers carry the copies on. */
static void idle_workers_drive(void)
{
    atomic_int here = 0;
    begin(2, "0", 0, ROOM, COUNT, "3000");
    register_all(COUNT);
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h, -1);
    starpu_task_wait_for_all();
    starpu_data_acquire_cb(data[0], STARPU_R, prefetched, &here);
    ok(comes_to(&here, 1, 10000),
       "an acquisition with a callback comes back from a slow store while all sleep");
    starpu_data_release(data[0]);
    end(COUNT);
}

/* Room in the store for all but one of them, so not for what is no longer true besides. */
static void old_copies_make_room(void)
{
    begin(1, "0", 0, 2, 7, "5");
    register_all(8);
    bool all = true;
    for (uint32_t round = 0; round < 4; round++) {
        for (int h = 0; h < 8; h++) fill(h, round * 100 + (uint32_t)h, -1);
        starpu_task_wait_for_all();
        for (int h = 0; h < 8; h++) all &= has(h, round * 100 + (uint32_t)h, 1);
    }
    ok(all, "a full store drops copies that are not true any more, or are in main memory as well");
    end(8);
}

static void pieces_follow(void)
{
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t pieces[2];
    begin(1, "0", 0, ROOM, COUNT, "5");
    register_all(COUNT);
    fill(0, 50, -1);
    starpu_task_wait_for_all(); /* it has its memory: a plan looks where that is */
    starpu_data_partition_plan(data[0], &halves, pieces);
    bool all = true;
    for (int round = 0; round < 3; round++) {
        for (int h = 1; h < COUNT; h++) fill(h, (uint32_t)h, -1); /* the whole goes down */
        starpu_data_partition_submit(data[0], 2, pieces);
        starpu_data_acquire(pieces[1], STARPU_RW);
        uint32_t *p = (uint32_t *)starpu_data_get_local_ptr(pieces[1]);
        all &= p[0] == 50 + ELEMENTS / 2 + (uint32_t)round;
        for (int i = 0; i < ELEMENTS / 2; i++) p[i]++;
        starpu_data_release(pieces[1]);
        starpu_data_unpartition_submit(data[0], 2, pieces, STARPU_MAIN_RAM);
    }
    starpu_data_acquire(data[0], STARPU_R);
    uint32_t *p = (uint32_t *)starpu_data_get_local_ptr(data[0]);
    all &= p[1] == 51 && p[ELEMENTS - 1] == 50 + ELEMENTS - 1 + 3;
    starpu_data_release(data[0]);
    ok(all, "pieces of data that went down and came back are in the right place");
    starpu_data_partition_clean(data[0], 2, pieces);
    end(COUNT);
}

/* What was said to stderr since listen(). */
static FILE *heard;
static int saved_stderr;
static void listen(void)
{
    heard = tmpfile();
    fflush(stderr);
    saved_stderr = dup(2);
    dup2(fileno(heard), 2);
}
static bool was_said(const char *text)
{
    static char said[4096];
    fflush(stderr);
    dup2(saved_stderr, 2);
    close(saved_stderr);
    rewind(heard);
    said[fread(said, 1, sizeof said - 1, heard)] = 0;
    fclose(heard);
    bool found = strstr(said, text) != NULL;
    if (!found) diag("said: %s", said);
    return found;
}

static void full_for_ever(void)
{
    begin(1, "0", 0, 2, 0, "5");
    register_all(3);
    for (int h = 0; h < 2; h++) fill(h, 1, -1);
    starpu_task_wait_for_all();
    listen();
    is_int(starpu_data_acquire(data[2], STARPU_W), -ENOMEM, "without a store what does not fit is -ENOMEM");
    ok(was_said("no node is below it"), "and the reason is said");
    end(3);
    begin(1, "0", 0, 2, 1, "5");
    register_all(4);
    for (int h = 0; h < 3; h++) fill(h, (uint32_t)h, -1);
    starpu_task_wait_for_all();
    listen();
    is_int(starpu_data_acquire(data[3], STARPU_W), -ENOMEM,
           "so is what neither main memory nor the store holds");
    ok(was_said("nor can that go to the store"), "that is said as well");
    bool above = has(1, 1, 1) && has(2, 2, 1);
    starpu_data_invalidate(data[1]);
    ok(all_of(above, has(0, 0, 1), has(2, 2, 1)), "and the others keep their values");
    for (int h = 0; h < 4; h++) starpu_data_unregister_no_coherency(data[h]);
    starpu_shutdown();
}

/* What cannot be written back stays; who wants its place is told, instead of trying for ever. */
static void broken_links(void)
{
    setenv("ORRERY_SIM_FAIL", "copy:store:1-", 1);
    begin(1, "0", 0, 2, COUNT, "5");
    register_all(3);
    for (int h = 0; h < 2; h++) fill(h, (uint32_t)h, -1);
    starpu_task_wait_for_all();
    is_int(starpu_data_acquire(data[2], STARPU_W), -ENOMEM,
           "where no copy to the store works there is no room");
    ok(all_of(has(0, 0, 1), has(1, 1, 1)), "and nothing is lost");
    end(3);
    setenv("ORRERY_SIM_FAIL", "copy:0:1-", 1);
    begin(1, "1", 2, ROOM, 0, "5");
    register_all(3);
    for (int h = 0; h < 2; h++) fill(h, (uint32_t)h, sim_worker(0));
    starpu_task_wait_for_all();
    is_int(starpu_data_acquire_on_node(data[2], (int)sim_node(0), STARPU_W), -ENOMEM,
           "where no copy from a device works there is no room on it");
    for (int h = 0; h < 3; h++) starpu_data_unregister_no_coherency(data[h]);
    starpu_shutdown();
    unsetenv("ORRERY_SIM_FAIL");
}

int main(void)
{
    alarm(50);
    goes_down_and_comes_back();
    oldest_goes_first();
    own_memory_stays();
    device_over_full_memory();
    idle_workers_drive();
    old_copies_make_room();
    pieces_follow();
    full_for_ever();
    broken_links();
    is_int(atomic_load(&wrong), 0, "every task could be submitted");
    return done_testing();
}
