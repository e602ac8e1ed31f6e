/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small services: time, hashes, random numbers, memory, environment, text about the machine.
 * Threads: main.
 * Owns: nothing.
 * Not here: what each belongs to.
 */
#include "tests/helper.h"

static void timing(void)
{
    double start = starpu_timing_now(), previous = start;
    int backwards = 0;
    for (int i = 0; i < 10000; i++) {
        double now = starpu_timing_now();
        backwards += now < previous;
        previous = now;
    }
    is_int(backwards, 0, "time does not go backwards");
    start = starpu_timing_now();
    usleep(20000);
    double passed = starpu_timing_now() - start;
    ok(all_of(passed >= 19000, passed < 2e6), "it is counted in microseconds (a sleep of 20000 took %.0f)",
       passed);
    struct timespec span = { .tv_sec = 2, .tv_nsec = 500000 }, from = { .tv_sec = 1, .tv_nsec = 0 };
    ok(all_of(starpu_timing_timespec_to_us(&span) == 2000500.0,
              starpu_timing_timespec_delay_us(&from, &span) == 1000500.0),
       "a timespec is turned to microseconds");
}

static void hashes(void)
{
    const char text[] = "distributed tasks";
    uint32_t whole = starpu_hash_crc32c_be_n(text, sizeof text, 0);
    uint32_t first = starpu_hash_crc32c_be_n(text, 5, 0);
    ok(whole == starpu_hash_crc32c_be_n(text, sizeof text, 0), "a hash is the same each time");
    ok(starpu_hash_crc32c_be_n(text + 5, sizeof text - 5, first) == whole, "it can be computed in parts");
    ok(all_of(starpu_hash_crc32c_be_n("distributed taskt", sizeof text, 0) != whole, first != whole),
       "it depends on each byte");
    ok(all_of(starpu_hash_crc32c_be(1, 0) != starpu_hash_crc32c_be(2, 0),
              starpu_hash_crc32c_be(1, 0) != starpu_hash_crc32c_be(1, 7)),
       "the hash of a word depends on the word and on the hash before");
    ok(starpu_hash_crc32c_string("distributed", 3) == starpu_hash_crc32c_be_n("distributed", 11, 3),
       "a string is hashed as its bytes");
}

static void random_numbers(void)
{
    int wrong = 0, large = 0;
    starpu_srand48(7);
    double first = starpu_drand48();
    for (int i = 0; i < 1000; i++) {
        double x = starpu_drand48();
        wrong += x < 0 || x >= 1;
        large += x > 0.5;
    }
    starpu_srand48(7);
    ok(all_of(wrong == 0, large > 400, large < 600, starpu_drand48() == first),
       "random numbers lie in [0,1) and repeat with their seed");
}

static void memory(void)
{
    void *block = NULL;
    int status = starpu_malloc(&block, 100000);
    ok(all_of(status == 0, block), "memory is allocated");
    memset(block, 1, 100000);
#if STARPU_AT_LEAST(1, 4)
    starpu_free_noflag(block, 100000);
#else
    starpu_free(block);
#endif
    block = NULL;
    status = starpu_malloc_flags(&block, 4096, STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT);
    ok(all_of(status == 0, block), "memory is allocated with flags");
    starpu_free_flags(block, 4096, STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT);
    uintptr_t on_node = starpu_malloc_on_node(STARPU_MAIN_RAM, 1000);
    ok(on_node != 0, "memory is allocated on a node");
    memset((void *)on_node, 2, 1000);
    starpu_free_on_node(STARPU_MAIN_RAM, on_node, 1000);
    starpu_malloc_set_align(256);
    block = NULL;
    status = starpu_malloc(&block, 1000);
    ok(all_of(status == 0, (uintptr_t)block % 256 == 0), "memory is aligned as asked for");
    starpu_free_flags(block, 1000, STARPU_MALLOC_PINNED);
    char pinned[64];
    ok(all_of(starpu_memory_pin(pinned, sizeof pinned) == 0, starpu_memory_unpin(pinned, sizeof pinned) == 0),
       "memory is pinned and unpinned");
}

static void environment(void)
{
    setenv("ORRERY_TEST_NUMBER", "12", 1);
    unsetenv("ORRERY_TEST_ABSENT");
    is_int(starpu_get_env_number("ORRERY_TEST_NUMBER"), 12, "a number is read from the environment");
    is_int(starpu_get_env_number("ORRERY_TEST_ABSENT"), -1, "an absent one is -1");
    is_int(starpu_get_env_number_default("ORRERY_TEST_ABSENT", 5), 5, "or the default given");
}

/* How many bytes a function prints. */
static long printed(void (*print)(FILE *))
{
    FILE *file = tmpfile();
    if (!file) return -1;
    print(file);
    long length = ftell(file);
    fclose(file);
    return length;
}

static void print_names(FILE *file)
{
    starpu_worker_display_names(file, STARPU_CPU_WORKER);
}

static void text(void)
{
    ok(printed(starpu_topology_print) > 10, "the topology is printed");
    ok(printed(print_names) > 5, "the names of the workers are printed");
    ok(printed(starpu_perfmodel_directory) > 1, "the directory of the models is printed");
}

static void transfers(void)
{
    double alone = starpu_transfer_predict(STARPU_MAIN_RAM, STARPU_MAIN_RAM, 1 << 20);
    ok(all_of(alone >= 0, alone < 1e6), "a transfer from a node to itself is predicted to be short");
    ok(starpu_asynchronous_copy_disabled() == 0 || starpu_asynchronous_copy_disabled() == 1,
       "asynchronous copies are on or off");
}

static atomic_int runs;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void profiling(void)
{
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    is_int(starpu_profiling_status_get(), STARPU_PROFILING_ENABLE, "profiling is turned on");
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    task->destroy = 0;
    task->detach = 0;
    int failed = starpu_task_submit(task) | starpu_task_wait(task);
    struct starpu_profiling_task_info *info = task->profiling_info;
    ok(all_of(!failed, info, starpu_timing_timespec_delay_us(&info->submit_time, &info->end_time) >= 0,
              starpu_timing_timespec_delay_us(&info->start_time, &info->end_time) >= 0, info->workerid == 0),
       "then a task carries the times of its submission, start and end, and its worker");
    starpu_task_destroy(task);
    starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
    is_int(starpu_profiling_status_get(), STARPU_PROFILING_DISABLE, "and off");
}

int main(void)
{
    alarm(30);
    runtime_start(1, NULL);
    timing();
    hashes();
    random_numbers();
    memory();
    environment();
    text();
    transfers();
    profiling();
    starpu_shutdown();
    return done_testing();
}
