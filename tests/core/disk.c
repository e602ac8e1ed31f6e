/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Disks that the program adds while the runtime runs: what does not fit into main memory goes there and comes
 * back, files of the program's are data, and what cannot be used is told.
 * Threads: main; workers. Owns: a folder, data and what they should hold. Not here: which data go
 * (memory_store.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/sim_helper.h"

enum { COUNT = 24, ELEMENTS = 4096 + 3, BYTES = ELEMENTS * 4, ROOM = 4 };

static starpu_data_handle_t data[COUNT];
static char folder[64];

static void start(int cpus, double room_bytes)
{
    char mb[32];
    snprintf(mb, sizeof mb, "%.7f", room_bytes / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_MEM", room_bytes > 0 ? mb : NULL);
    sim_setting("ORRERY_SIM_STORE_MB", NULL);
    sim_start(cpus, &(struct sim_config){ "0", NULL, NULL, NULL, NULL, NULL });
}

static void fill_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), first;
    starpu_codelet_unpack_args(arg, &first);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] = first + i;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W } };

static void add_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), what;
    starpu_codelet_unpack_args(arg, &what);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] += what;
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW } };

static void insert(struct starpu_codelet *cl, starpu_data_handle_t h, uint32_t value)
{
    starpu_task_insert(cl, cl->modes[0], h, STARPU_VALUE, &value, sizeof value, 0);
}

static bool has(starpu_data_handle_t h, uint32_t first)
{
    if (starpu_data_acquire(h, STARPU_R)) return false;
    const uint32_t *p = (const uint32_t *)starpu_data_get_local_ptr(h);
    bool right = true;
    for (uint32_t i = 0; i < ELEMENTS; i++) right &= p[i] == first + i;
    starpu_data_release(h);
    return right;
}

/* More data than main memory has room for, in a disk of this kind. */
static void more_than_memory(struct starpu_disk_ops *ops, const char *kind)
{
    start(2, ROOM * BYTES + 100);
    int disk = starpu_disk_register(ops, folder, STARPU_DISK_SIZE_MIN);
    ok(all_of(disk > 0, starpu_node_get_kind((unsigned)disk) == STARPU_DISK_RAM),
       "%s: a disk is a memory node", kind);
    if (disk > 0) {
        for (int h = 0; h < COUNT; h++) starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
        for (int h = 0; h < COUNT; h++) insert(&fill_cl, data[h], 1000u * (uint32_t)h);
        for (int h = 0; h < COUNT; h++) insert(&add_cl, data[h], 7);
        starpu_task_wait_for_all();
        ok(starpu_memory_get_used(STARPU_MAIN_RAM) <= (size_t)starpu_memory_get_total(STARPU_MAIN_RAM),
           "%s: main memory keeps its limit", kind);
        ok(starpu_memory_get_used((unsigned)disk) >= (COUNT - ROOM) * (size_t)BYTES,
           "%s: the rest is on the disk", kind);
        bool all = true;
        for (int h = 0; h < COUNT; h++) all &= has(data[h], 1000u * (uint32_t)h + 7);
        ok(all, "%s: each value comes back", kind);
        for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
        is_int((int)starpu_memory_get_used((unsigned)disk), 0, "%s: unregistered they take no room there",
               kind);
    }
    starpu_shutdown();
}

/* Data that were there, some with values, when the disk came. */
static void disk_comes_late(void)
{
    static uint32_t mine[ELEMENTS];
    starpu_data_handle_t own;
    start(2, ROOM * BYTES + 100);
    for (int h = 0; h < COUNT; h++) starpu_vector_data_register(&data[h], -1, 0, ELEMENTS, 4);
    starpu_vector_data_register(&own, STARPU_MAIN_RAM, (uintptr_t)mine, ELEMENTS, 4);
    for (int h = 0; h < ROOM; h++) insert(&fill_cl, data[h], 1000u * (uint32_t)h);
    insert(&fill_cl, own, 5);
    starpu_task_wait_for_all();
    ok(all_of(starpu_data_prefetch_on_node(data[0], 1, 0) != 0,
              starpu_data_acquire_on_node(data[0], 1, STARPU_R) != 0,
              starpu_data_evict_from_node(data[0], STARPU_MAIN_RAM) != 0),
       "before the disk comes data cannot be brought to its node, and do not leave main memory");
    int disk = starpu_disk_register(&starpu_disk_unistd_ops, folder, STARPU_DISK_SIZE_MIN);
    ok(all_of(disk == 1, starpu_data_evict_from_node(data[0], STARPU_MAIN_RAM) == 0),
       "a disk that comes late takes what was there");
    for (int h = ROOM; h < COUNT; h++) insert(&fill_cl, data[h], 1000u * (uint32_t)h);
    for (int h = 0; h < COUNT; h++) insert(&add_cl, data[h], 7);
    insert(&add_cl, own, 7);
    starpu_task_wait_for_all();
    ok(all_of(starpu_memory_get_used(STARPU_MAIN_RAM) <= (size_t)starpu_memory_get_total(STARPU_MAIN_RAM),
              starpu_memory_get_used((unsigned)disk) >= (COUNT - ROOM) * (size_t)BYTES),
       "so six times as many as fit go on");
    bool all = has(own, 12);
    for (int h = 0; h < COUNT; h++) all &= has(data[h], 1000u * (uint32_t)h + 7);
    ok(all_of(all, mine[1] == 13), "each with its value, the program's memory where it was");
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    starpu_data_unregister(own);
    ok(all_of(starpu_memory_get_used((unsigned)disk) == 0, starpu_memory_get_used(STARPU_MAIN_RAM) == 0),
       "unregistered they take no room");
    starpu_shutdown();
}

static void path_of(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static void made_folder_goes(struct starpu_disk_ops *ops, const char *kind)
{
    char path[128];
    path_of(path, "made");
    void *base = ops->plug(path, -1);
    bool there = access(path, F_OK) == 0;
    if (base) ops->unplug(base);
    ok(all_of(base, there, access(path, F_OK) != 0), "%s: a folder that was made for a disk goes with it",
       kind);
}

/* The status of a process that runs fn and ends with what it returns; 128 + the signal that ended it. */
static int forked(int (*fn)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(fn());
    if (child < 0 || waitpid(child, &status, 0) != child) return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* 0: writing fails, what was written before is read, and the file is closed. */
static int past_the_file_limit(void)
{
    enum { PART = 256 << 10, PARTS = 16, LIMIT = 1 << 20 };
    static char bytes[PART], back[PART];
    const struct starpu_disk_ops *ops = &starpu_disk_hdf5_ops;
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ LIMIT, LIMIT });
    void *base = ops->plug(folder, -1), *first = base ? ops->alloc(base, PART) : NULL;
    bool failed = false;
    memset(bytes, 7, sizeof bytes);
    if (!first || ops->write(base, first, bytes, 0, PART) != 0) return 1;
    for (int i = 0; i < PARTS && !failed; i++) {
        void *more = ops->alloc(base, PART);
        failed = !more || ops->write(base, more, bytes, 0, PART) != 0;
    }
    if (!failed) return 2;
    if (ops->read(base, first, back, 0, PART) != PART || memcmp(bytes, back, PART) != 0) return 3;
    ops->unplug(base);
    return 0;
}

static void by_hdf5(void)
{
    void *base = starpu_disk_hdf5_ops.plug(folder, -1);
    if (!base) {
        skip("libhdf5 is not installed");
        return;
    }
    starpu_disk_hdf5_ops.unplug(base);
    is_int(forked(past_the_file_limit), 0, "HDF5: past the process's limit of files writing fails, no more");
    made_folder_goes(&starpu_disk_hdf5_ops, "HDF5");
    more_than_memory(&starpu_disk_hdf5_ops, "HDF5");
}

/* Writes, or reads and compares, value + i. */
static bool on_file(const char *name, uint32_t value, bool writes)
{
    static uint32_t numbers[ELEMENTS];
    char path[128];
    path_of(path, name);
    FILE *f = fopen(path, writes ? "w" : "r");
    bool right = f != NULL;
    for (uint32_t i = 0; writes && i < ELEMENTS; i++) numbers[i] = value + i;
    if (f && writes) right = fwrite(numbers, 4, ELEMENTS, f) == ELEMENTS;
    if (f && !writes) right = fread(numbers, 4, ELEMENTS, f) == ELEMENTS && fgetc(f) == EOF;
    for (uint32_t i = 0; i < ELEMENTS; i++) right &= numbers[i] == value + i;
    if (f) fclose(f);
    return right;
}

static void files_are_data(struct starpu_disk_ops *ops, const char *kind)
{
    starpu_data_handle_t h;
    start(2, 0);
    int disk = starpu_disk_register(ops, folder, -1);
    void *obj =
        on_file("numbers", 5, true) ? starpu_disk_open((unsigned)disk, (void *)"numbers", BYTES) : NULL;
    ok(obj != NULL, "%s: a file of the program's is opened", kind);
    if (obj) {
        starpu_vector_data_register(&h, disk, (uintptr_t)obj, ELEMENTS, 4);
        insert(&add_cl, h, 10);
        ok(has(h, 15), "%s: a task reads and changes what is in the file", kind);
        starpu_data_unregister(h);
        starpu_disk_close((unsigned)disk, obj, BYTES);
        ok(on_file("numbers", 15, false), "%s: the file has the new value when the data are unregistered",
           kind);
    }
    starpu_shutdown();
}

static void what_cannot_be_used(void)
{
    setenv("STARPU_SILENT", "1", 1);
    start(1, 0);
    ok(starpu_disk_register(&starpu_disk_unistd_ops, (void *)"/proc/no-such-folder", -1) < 0,
       "a folder that cannot be made is refused");
    ok(starpu_disk_register(&starpu_disk_unistd_ops, folder, 1000) < 0, "so is a size below the least");
    ok(starpu_disk_register(NULL, folder, -1) < 0, "and no table at all");
    is_int((int)starpu_memory_nodes_get_count(), 1, "none of them leaves a memory node");
    int disk = starpu_disk_register(&starpu_disk_unistd_ops, folder, -1);
    ok(disk > 0 && !starpu_disk_open((unsigned)disk, (void *)"absent", 10),
       "a file that is not there is not opened");
    ok(!starpu_disk_open(0, (void *)"absent", 10), "nor is one in main memory");
    starpu_shutdown();
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/orrery-disk-XXXXXX");
    if (!mkdtemp(folder)) return 99;
    made_folder_goes(&starpu_disk_unistd_ops, "unistd");
    made_folder_goes(&starpu_disk_stdio_ops, "stdio");
    more_than_memory(&starpu_disk_unistd_ops, "unistd");
    more_than_memory(&starpu_disk_stdio_ops, "stdio");
    more_than_memory(&starpu_disk_unistd_o_direct_ops, "O_DIRECT");
    disk_comes_late();
    by_hdf5();
    files_are_data(&starpu_disk_unistd_ops, "unistd");
    files_are_data(&starpu_disk_stdio_ops, "stdio");
    files_are_data(&starpu_disk_unistd_o_direct_ops, "O_DIRECT");
    what_cannot_be_used();
    char path[128];
    path_of(path, "numbers");
    unlink(path);
    rmdir(folder);
    return done_testing();
}
