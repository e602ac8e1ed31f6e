/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A storage of the program's own, by functions that return at once or by requests: it may be slow, full, or
 * fail, and nothing is lost. And who makes room: the program's choice, counted memory, idle workers. Threads:
 * main; workers; those of the runtime that read and write. Owns: the storage, data. Not here: files (disk.c).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/core/sim_helper.h"

enum { COUNT = 16, ELEMENTS = 4096, BYTES = ELEMENTS * 4, ROOM = 4 };

static starpu_data_handle_t data[COUNT];

/* ---- the storage ---- */

static atomic_int plugged, objects, reads, writes, requests, writing_fails, reading_fails;
static atomic_int capacity = INT_MAX; /* objects */

static void *own_plug(void *parameter, starpu_ssize_t size UNUSED)
{
    atomic_fetch_add(&plugged, 1);
    return parameter;
}

static void own_unplug(void *base UNUSED)
{
    atomic_fetch_sub(&plugged, 1);
}

static void *own_alloc(void *base UNUSED, size_t size)
{
    if (atomic_fetch_add(&objects, 1) >= atomic_load(&capacity)) {
        atomic_fetch_sub(&objects, 1);
        return NULL;
    }
    return malloc(size);
}

static void own_free(void *base UNUSED, void *obj, size_t size UNUSED)
{
    atomic_fetch_sub(&objects, 1);
    free(obj);
}

static int own_read(void *base UNUSED, void *obj, void *buf, off_t offset, size_t size)
{
    if (atomic_load(&reading_fails)) return -1;
    atomic_fetch_add(&reads, 1);
    memcpy(buf, (char *)obj + offset, size);
    return (int)size;
}

static int own_write(void *base UNUSED, void *obj, const void *buf, off_t offset, size_t size)
{
    if (atomic_load(&writing_fails)) return -1;
    atomic_fetch_add(&writes, 1);
    memcpy((char *)obj + offset, buf, size);
    return 0;
}

/* A request moves its bytes when it is asked for the third time. */
struct own_request {
    void *to;
    const void *from;
    size_t size;
    int asked;
};

static void *own_request(void *to, const void *from, size_t size)
{
    struct own_request *r = malloc(sizeof *r);
    *r = (struct own_request){ to, from, size, 0 };
    atomic_fetch_add(&requests, 1);
    return r;
}

static atomic_int requests_fail; /* when they are asked for the third time */

static void *own_async_read(void *base UNUSED, void *obj, void *buf, off_t offset, size_t size)
{
    return own_request(buf, (char *)obj + offset, size);
}

static void *own_async_write(void *base UNUSED, void *obj, void *buf, off_t offset, size_t size)
{
    return own_request((char *)obj + offset, buf, size);
}

static int own_test(void *channel)
{
    struct own_request *r = channel;
    if (++r->asked < 3) return 0;
    if (atomic_load(&requests_fail)) return -EIO;
    memcpy(r->to, r->from, r->size);
    return 1;
}

static struct starpu_disk_ops own_ops = { .plug = own_plug,
                                          .unplug = own_unplug,
                                          .alloc = own_alloc,
                                          .free = own_free,
                                          .read = own_read,
                                          .write = own_write };

/* ---- data ---- */

static void fill_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), first;
    starpu_codelet_unpack_args(arg, &first);
    for (uint32_t i = 0; i < ELEMENTS; i++) p[i] = first + i;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W } };

static void fill(int h, uint32_t value)
{
    starpu_task_insert(&fill_cl, STARPU_W, data[h], STARPU_VALUE, &value, sizeof value, 0);
}

static bool has(int h, uint32_t first)
{
    if (starpu_data_acquire(data[h], STARPU_R)) return false;
    const uint32_t *p = (const uint32_t *)starpu_data_get_local_ptr(data[h]);
    bool right = true;
    for (uint32_t i = 0; i < ELEMENTS; i++) right &= p[i] == first + i;
    starpu_data_release(data[h]);
    return right;
}

static unsigned begin(int room)
{
    char mb[32];
    snprintf(mb, sizeof mb, "%.7f", (room * BYTES + 100) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_MEM", mb);
    sim_start(2, &(struct sim_config){ "0", NULL, NULL, NULL, NULL, NULL });
    int disk = starpu_disk_register(&own_ops, &own_ops, -1);
    if (disk < 0) {
        printf("Bail out! starpu_disk_register returned %d\n", disk);
        exit(1);
    }
    for (int h = 0; h < COUNT; h++) starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
    return (unsigned)disk;
}

static void end(void)
{
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
}

static bool fill_and_look(void)
{
    bool right = true;
    for (int h = 0; h < COUNT; h++) fill(h, 100u * (uint32_t)h);
    starpu_task_wait_for_all();
    for (int h = 0; h < COUNT; h++) right &= has(h, 100u * (uint32_t)h);
    return right;
}

static void by_functions_and_requests(void)
{
    begin(ROOM);
    int before = atomic_load(&writes);
    ok(fill_and_look(), "data go to a storage of the program's own by read and write, and come back");
    ok(atomic_load(&writes) >= before + COUNT - ROOM, "each that did not fit was written");
    end();
    is_int(atomic_load(&objects), 0, "all its objects are freed");
    is_int(atomic_load(&plugged), 0, "and it is unplugged at the end");
    own_ops.async_read = own_async_read;
    own_ops.async_write = own_async_write;
    own_ops.test_request = own_test;
    own_ops.free_request = free;
    begin(ROOM);
    ok(fill_and_look(), "the same by requests");
    ok(atomic_load(&requests) >= 2 * (COUNT - ROOM), "which were asked for");
    int gone = 0;
    while (gone < COUNT - 1 && starpu_data_is_on_node(data[gone], STARPU_MAIN_RAM)) gone++;
    atomic_store(&requests_fail, 1);
    ok(starpu_data_acquire(data[gone], STARPU_R) != 0, "a request that fails late is told");
    atomic_store(&requests_fail, 0);
    bool kept = true;
    for (int h = 0; h < COUNT; h++) kept &= has(h, 100u * (uint32_t)h);
    ok(kept, "and nothing is lost by it");
    end();
    own_ops.async_read = own_ops.async_write = NULL;
}

static void nothing_is_lost(void)
{
    begin(ROOM);
    for (int h = 0; h < ROOM; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    atomic_store(&writing_fails, 1);
    ok(starpu_data_acquire(data[ROOM], STARPU_W) != 0, "what there is no room for is refused");
    bool kept = true;
    for (int h = 0; h < ROOM; h++) kept &= has(h, (uint32_t)h);
    ok(kept, "a storage that cannot write loses nothing: what was to go is still there");
    atomic_store(&writing_fails, 0);
    atomic_store(&capacity, atomic_load(&objects));
    if (starpu_data_acquire(data[ROOM + 1], STARPU_W) == 0) starpu_data_release(data[ROOM + 1]);
    for (int h = 0; h < ROOM; h++) kept &= has(h, (uint32_t)h);
    ok(kept, "nor does one that is full");
    atomic_store(&capacity, INT_MAX);
    ok(fill_and_look(), "when it is mended the program goes on");
    starpu_task_wait_for_all();
    int gone = -1;
    for (int h = 0; h < COUNT && gone < 0; h++)
        if (!starpu_data_is_on_node(data[h], STARPU_MAIN_RAM)) gone = h;
    atomic_store(&reading_fails, 1);
    ok(gone >= 0 && starpu_data_acquire(data[gone], STARPU_R) != 0, "what cannot be read is told");
    atomic_store(&reading_fails, 0);
    ok(gone >= 0 && has(gone, 100u * (uint32_t)gone), "and is there when it can be read again");
    end();
}

static atomic_int asked, refused;
static starpu_data_handle_t _Atomic chosen;

static starpu_data_handle_t choose(starpu_data_handle_t toload UNUSED, unsigned node UNUSED,
                                   enum starpu_is_prefetch is_prefetch UNUSED, void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return atomic_load(&chosen);
}

static void cannot(starpu_data_handle_t victim UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&refused, 1);
}

static void program_chooses(void)
{
    begin(ROOM);
    for (int h = 0; h < ROOM; h++) {
        fill(h, (uint32_t)h);
        starpu_task_wait_for_all();
    }
    starpu_data_register_victim_selector(choose, cannot, &asked);
    atomic_store(&chosen, data[2]);
    fill(ROOM, 9);
    starpu_task_wait_for_all();
    ok(all_of(atomic_load(&asked) > 0, !starpu_data_is_on_node(data[2], STARPU_MAIN_RAM),
              starpu_data_is_on_node(data[0], STARPU_MAIN_RAM)),
       "the program's function chooses what leaves");
    starpu_data_acquire(data[3], STARPU_R);
    atomic_store(&chosen, data[3]);
    fill(ROOM + 1, 9);
    starpu_task_wait_for_all();
    starpu_data_release(data[3]);
    ok(all_of(atomic_load(&refused) > 0, starpu_data_is_on_node(data[3], STARPU_MAIN_RAM),
              !starpu_data_is_on_node(data[0], STARPU_MAIN_RAM)),
       "it is told when that is in use; then what was used longest ago goes");
    starpu_data_register_victim_selector(NULL, NULL, NULL);
    bool right = true;
    for (int h = 0; h < ROOM; h++) right &= has(h, (uint32_t)h);
    ok(right, "and nothing is lost by it");
    end();
}

static starpu_data_handle_t gives_none(starpu_data_handle_t toload UNUSED, unsigned node UNUSED,
                                       enum starpu_is_prefetch is_prefetch UNUSED, void *arg UNUSED)
{
    return STARPU_DATA_NO_VICTIM;
}

/* It is overruled, with a warning. */
static void program_gives_none(void)
{
    begin(ROOM);
    starpu_data_register_victim_selector(gives_none, NULL, NULL);
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    bool right = true;
    for (int h = 0; h < COUNT; h++) right &= has(h, (uint32_t)h);
    ok(right, "data leave main memory although the program's function gives none, and nothing is lost");
    end();
}

static void counted_memory(void)
{
    void *p = NULL;
    begin(ROOM);
    for (int h = 0; h < ROOM; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    is_int(starpu_malloc_flags(&p, 2 * BYTES, STARPU_MALLOC_COUNT | STARPU_MALLOC_NORECLAIM), 0,
           "counted memory with STARPU_MALLOC_NORECLAIM may pass the limit");
    starpu_free_flags(p, 2 * BYTES, STARPU_MALLOC_COUNT);
    is_int(starpu_malloc_flags(&p, 2 * BYTES, STARPU_MALLOC_COUNT), 0, "data make room for counted memory");
    ok(starpu_memory_get_used(STARPU_MAIN_RAM) <= (size_t)starpu_memory_get_total(STARPU_MAIN_RAM),
       "within the limit");
    bool right = true;
    for (int h = 0; h < ROOM; h++) right &= has(h, (uint32_t)h);
    ok(right, "and keep their values");
    starpu_free_flags(p, 2 * BYTES, STARPU_MALLOC_COUNT);
    end();
}

static void idle_workers_clean(void)
{
    setenv("STARPU_MINIMUM_CLEAN_BUFFERS", "50", 1);
    setenv("STARPU_TARGET_CLEAN_BUFFERS", "50", 1);
    begin(COUNT);
    int before = atomic_load(&writes);
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    for (int i = 0; i < 10000 && atomic_load(&writes) < before + COUNT / 2; i++) starpu_usleep(500);
    ok(atomic_load(&writes) >= before + COUNT / 2, "idle workers write back half of the copies, as asked");
    int there = 0;
    for (int h = 0; h < COUNT; h++) there += starpu_data_is_on_node(data[h], STARPU_MAIN_RAM) != 0;
    is_int(there, COUNT, "which stay where they are");
    end();
    unsetenv("STARPU_MINIMUM_CLEAN_BUFFERS");
    unsetenv("STARPU_TARGET_CLEAN_BUFFERS");
    setenv("STARPU_MINIMUM_AVAILABLE_MEM", "25", 1);
    setenv("STARPU_TARGET_AVAILABLE_MEM", "50", 1);
    begin(COUNT);
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    size_t most = (size_t)starpu_memory_get_total(STARPU_MAIN_RAM) / 4 * 3;
    for (int i = 0; i < 10000 && starpu_memory_get_used(STARPU_MAIN_RAM) > most; i++) starpu_usleep(500);
    ok(starpu_memory_get_used(STARPU_MAIN_RAM) <= most, "idle workers keep a quarter of it free, as asked");
    bool right = true;
    for (int h = 0; h < COUNT; h++) right &= has(h, (uint32_t)h);
    ok(right, "and nothing is lost by it");
    end();
    unsetenv("STARPU_MINIMUM_AVAILABLE_MEM");
    unsetenv("STARPU_TARGET_AVAILABLE_MEM");
}

static void swap_of_the_environment(void)
{
    char folder[] = "/tmp/orrery-swap-XXXXXX";
    if (!mkdtemp(folder)) exit(99);
    char mb[32];
    snprintf(mb, sizeof mb, "%.7f", (ROOM * BYTES + 100) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_MEM", mb);
    setenv("STARPU_DISK_SWAP", folder, 1);
    setenv("STARPU_DISK_SWAP_SIZE", "64", 1);
    sim_start(2, &(struct sim_config){ "0", NULL, NULL, NULL, NULL, NULL });
    ok(starpu_disk_swap_node > 0, "STARPU_DISK_SWAP is a disk from the start");
    is_int((long long)starpu_memory_get_total((unsigned)starpu_disk_swap_node), 64 << 20,
           "of the size asked for");
    for (int h = 0; h < COUNT; h++) starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
    ok(fill_and_look(), "to which data go, and come back");
    end();
    is_int(starpu_disk_swap_node, -1, "after the end there is none");
    setenv("STARPU_DISK_SWAP", "/proc/none", 1);
    sim_start(1, &(struct sim_config){ "0", NULL, NULL, NULL, NULL, NULL });
    is_int(starpu_disk_swap_node, -1, "a folder that cannot be used is told, and the runtime starts");
    starpu_shutdown();
    unsetenv("STARPU_DISK_SWAP");
    unsetenv("STARPU_DISK_SWAP_SIZE");
    rmdir(folder);
}

int main(void)
{
    unsetenv("ORRERY_SIM_STORE_MB");
    by_functions_and_requests();
    nothing_is_lost();
    program_chooses();
    program_gives_none();
    counted_memory();
    idle_workers_clean();
    swap_of_the_environment();
    return done_testing();
}
