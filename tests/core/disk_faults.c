/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Disks that fail now and then, at any call, or for a while, and programs at the limit of main memory: values
 * are right or the failure is told, and everything ends.
 * Threads: main, others of the program; workers; those of the runtime that read and write. Owns: a folder, a
 * storage, data. Not here: what works (disk.c), a storage that fails for good (disk_own.c).
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/core/sim_helper.h"

enum { COUNT = 16, WORDS = 1024 + 5, BYTES = WORDS * 4, ROOM = 4 };

static starpu_data_handle_t data[COUNT];
static char folder[64];

static void start(int cpus, int room)
{
    char mb[32];
    snprintf(mb, sizeof mb, "%.7f", (room * BYTES + 100) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_MEM", room ? mb : NULL);
    sim_start(cpus, &(struct sim_config){ "0", NULL, NULL, NULL, NULL, NULL });
}

static void fill_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), first;
    starpu_codelet_unpack_args(arg, &first);
    for (uint32_t i = 0; i < WORDS; i++) p[i] = first + i;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W } };

static void add_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint32_t *q = (const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    for (uint32_t i = 0; i < WORDS; i++) p[i] += q[i];
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };

static void fill(int h, uint32_t value)
{
    starpu_task_insert(&fill_cl, STARPU_W, data[h], STARPU_VALUE, &value, sizeof value, 0);
}

static bool has(starpu_data_handle_t h, uint32_t first, uint32_t step)
{
    if (starpu_data_acquire(h, STARPU_R)) return false;
    const uint32_t *p = (const uint32_t *)starpu_data_get_local_ptr(h);
    bool right = true;
    for (uint32_t i = 0; i < WORDS; i++) right &= p[i] == first + step * i;
    starpu_data_release(h);
    return right;
}

static void register_all(void)
{
    for (int h = 0; h < COUNT; h++) starpu_vector_data_register(&data[h], -1, 0, WORDS, 4);
}

static void end(void)
{
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
}

/* The runtime's files have no names: nothing is left of them, whatever ends the process. */
static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    int names = 0;
    while (d && readdir(d)) names++;
    if (d) closedir(d);
    return names == 2;
}

static void same_folder_twice(struct starpu_disk_ops *ops, const char *kind)
{
    start(2, ROOM);
    int first = starpu_disk_register(ops, folder, STARPU_DISK_SIZE_MIN);
    int second = starpu_disk_register(ops, folder, STARPU_DISK_SIZE_MIN);
    if (first == -ENODEV) {
        skip("%s cannot be had here", kind);
        starpu_shutdown();
        return;
    }
    ok(all_of(first > 0, second > first, is_empty(folder)),
       "%s: a folder may be two disks, with no names in it", kind);
    register_all();
    bool right = true;
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    for (int h = 0; h < COUNT; h++) right &= has(data[h], (uint32_t)h, 1);
    ok(right, "%s: values come back from them", kind);
    end();
}

/* ---- a storage that fails now and then ---- */

static atomic_int every_alloc, every_write, every_read, calls, objects, capacity = INT_MAX;

static bool fails(atomic_int *every)
{
    int n = atomic_load(every);
    return n && atomic_fetch_add(&calls, 1) % n == n - 1;
}

static void *own_plug(void *parameter, starpu_ssize_t size UNUSED)
{
    return parameter;
}
static void own_unplug(void *base UNUSED)
{
}
static void *own_alloc(void *base UNUSED, size_t size)
{
    if (fails(&every_alloc) || atomic_load(&objects) >= atomic_load(&capacity)) return NULL;
    atomic_fetch_add(&objects, 1);
    return malloc(size);
}
static void own_free(void *base UNUSED, void *obj, size_t size UNUSED)
{
    atomic_fetch_sub(&objects, 1);
    free(obj);
}
static int own_read(void *base UNUSED, void *obj, void *buf, off_t offset, size_t size)
{
    if (fails(&every_read)) return (int)size / 2; /* short */
    memcpy(buf, (char *)obj + offset, size);
    return (int)size;
}
static int own_write(void *base UNUSED, void *obj, const void *buf, off_t offset, size_t size)
{
    bool fail = fails(&every_write);
    memcpy((char *)obj + offset, buf, fail ? size / 2 : size);
    return fail ? -EIO : 0;
}
static struct starpu_disk_ops own_ops = { .plug = own_plug,
                                          .unplug = own_unplug,
                                          .alloc = own_alloc,
                                          .free = own_free,
                                          .read = own_read,
                                          .write = own_write };

/* Each datum is the sum of some, while one in so many calls fails. */
static void now_and_then(const char *what, atomic_int *every, int n)
{
    start(3, 2);
    int disk = starpu_disk_register(&own_ops, &own_ops, -1), failed = disk < 0;
    atomic_store(every, n);
    register_all();
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    uint32_t first[COUNT], step[COUNT];
    for (int h = 0; h < COUNT; h++) first[h] = (uint32_t)h, step[h] = 1;
    for (int round = 1; round < 8; round++)
        for (int h = 0; h < COUNT; h++) {
            int from = (h * 5 + round) % COUNT;
            if (from == h) continue;
            failed |= starpu_task_insert(&add_cl, STARPU_RW, data[h], STARPU_R, data[from], 0);
            first[h] += first[from];
            step[h] += step[from];
        }
    int status = starpu_task_wait_for_all();
    int wrong = 0;
    for (int h = 0; h < COUNT; h++) wrong += !has(data[h], first[h], step[h]);
    atomic_store(every, 0);
    end();
    ok(all_of(failed == 0, status == 0, wrong == 0), "one %s in %d fails, and all values are right", what, n);
}

/* Main memory and the storage have room for all data, but not for one more. */
static void exchanged(void)
{
    start(2, 3);
    starpu_disk_register(&own_ops, &own_ops, -1);
    atomic_store(&capacity, COUNT - 3);
    register_all();
    int wrong = 0;
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    wrong += starpu_task_wait_for_all() != 0;
    for (int h = 0; h < COUNT; h++) wrong += !has(data[h], (uint32_t)h, 1);
    is_int(wrong, 0, "what is in a full storage comes back into full memory, in exchange for another");
    for (int h = 0; h < COUNT; h++)
        wrong += starpu_task_insert(&add_cl, STARPU_RW, data[h], STARPU_R, data[(h + 1) % COUNT], 0) != 0;
    wrong += starpu_task_wait_for_all() != 0;
    for (int h = 0; h < COUNT - 1; h++) wrong += !has(data[h], (uint32_t)(2 * h + 1), 2);
    is_int(wrong, 0, "also for tasks that need two of them");
    ok(starpu_memory_get_used(STARPU_MAIN_RAM) <= (size_t)starpu_memory_get_total(STARPU_MAIN_RAM) + BYTES,
       "and no more than one passes the limit");
    end();
    atomic_store(&capacity, INT_MAX);
}

static void *frees(void *arg)
{
    usleep(20000);
    starpu_data_release(*(starpu_data_handle_t *)arg);
    return NULL;
}

/* All of memory is in use when the program asks for some, and waits: what is released then must go. */
static void waits_for_data_to_go(void)
{
    pthread_t thread;
    void *p = NULL;
    start(1, 2);
    starpu_disk_register(&own_ops, &own_ops, -1);
    register_all();
    fill(0, 0);
    fill(1, 1);
    starpu_task_wait_for_all();
    starpu_data_acquire(data[0], STARPU_RW);
    starpu_data_acquire(data[1], STARPU_RW);
    pthread_create(&thread, NULL, frees, &data[0]);
    is_int(starpu_malloc_flags(&p, BYTES, STARPU_MALLOC_COUNT | STARPU_MEMORY_WAIT), 0,
           "counted memory that waits gets the room of data that are released");
    pthread_join(thread, NULL);
    starpu_data_release(data[1]);
    starpu_free_flags(p, BYTES, STARPU_MALLOC_COUNT);
    ok(has(data[0], 0, 1), "which keep their values");
    end();
}

static void many_prefetches(void)
{
    start(1, 3);
    starpu_disk_register(&own_ops, &own_ops, -1);
    register_all();
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    starpu_task_wait_for_all();
    for (int i = 0; i < 2000; i++) starpu_data_prefetch_on_node(data[i % COUNT], STARPU_MAIN_RAM, 1);
    for (int i = 0; i < 200; i++)
        starpu_task_insert(&add_cl, STARPU_RW, data[i % 3], STARPU_R, data[3 + i % (COUNT - 3)], 0);
    for (int i = 0; i < 2000; i++) starpu_data_idle_prefetch_on_node(data[i % COUNT], STARPU_MAIN_RAM, 1);
    is_int(starpu_task_wait_for_all(), 0, "prefetches that fill memory keep no task waiting");
    end();
}

static void *holds_some(void *arg)
{
    int first = *(int *)arg;
    for (int i = 0; i < 200; i++) {
        int h = (first * 3 + i) % COUNT;
        if (starpu_data_acquire(data[h], STARPU_RW)) return arg;
        ((uint32_t *)starpu_data_get_local_ptr(data[h]))[0]++;
        starpu_data_release(data[h]);
    }
    return NULL;
}

static void many_threads(void)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    int number[THREADS];
    start(2, 2);
    starpu_disk_register(&own_ops, &own_ops, -1);
    register_all();
    for (int h = 0; h < COUNT; h++) fill(h, 0);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, holds_some, &number[i]);
    }
    int failed = 0;
    for (int i = 0; i < THREADS; i++) {
        void *r;
        pthread_join(thread[i], &r);
        failed += r != NULL;
    }
    uint32_t sum = 0;
    for (int h = 0; h < COUNT; h++) {
        starpu_data_acquire(data[h], STARPU_R);
        sum += ((uint32_t *)starpu_data_get_local_ptr(data[h]))[0];
        starpu_data_release(data[h]);
    }
    ok(all_of(failed == 0, sum == THREADS * 200), "eight threads take turns in room for two");
    end();
}

static void comes_while_tasks_run(void)
{
    start(2, 0);
    register_all();
    for (int h = 0; h < COUNT; h++) fill(h, (uint32_t)h);
    for (int i = 0; i < 20; i++) {
        for (int h = 1; h < COUNT; h++) starpu_task_insert(&add_cl, STARPU_RW, data[h], STARPU_R, data[0], 0);
        if (i < 4) starpu_disk_register(&own_ops, &own_ops, -1);
        starpu_data_handle_t late;
        uint32_t v = 3;
        starpu_vector_data_register(&late, -1, 0, WORDS, 4);
        starpu_task_insert(&fill_cl, STARPU_W, late, STARPU_VALUE, &v, sizeof v, 0);
        starpu_task_insert(&add_cl, STARPU_RW, data[1], STARPU_R, late, 0);
        if (starpu_memory_nodes_get_count() > 1) starpu_data_prefetch_on_node(late, 1, 1);
        if (i % 2)
            starpu_data_unregister_submit(late);
        else
            starpu_data_unregister_no_coherency(late);
    }
    is_int(starpu_task_wait_for_all(), 0, "disks come while tasks run");
    end();
}

int main(void)
{
    alarm(60);
    unsetenv("ORRERY_SIM_STORE_MB");
    snprintf(folder, sizeof folder, "/tmp/orrery-disk-XXXXXX");
    if (!mkdtemp(folder)) return 99;
    same_folder_twice(&starpu_disk_unistd_ops, "unistd");
    same_folder_twice(&starpu_disk_hdf5_ops, "HDF5");
    for (int n = 2; n < 5; n++) {
        now_and_then("allocation", &every_alloc, n);
        now_and_then("write", &every_write, n);
        now_and_then("read", &every_read, n);
    }
    exchanged();
    waits_for_data_to_go();
    many_prefetches();
    many_threads();
    comes_while_tasks_run();
    rmdir(folder);
    is_int(atomic_load(&objects), 0, "of all this nothing is left in the storage");
    return done_testing();
}
