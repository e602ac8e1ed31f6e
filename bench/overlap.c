/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap: how well copies to and from a device hide behind its kernels: the ideal time over the real one.
 * Threads: main submits; one worker per device. Owns: the tiles. Not here: memories many times too small
 * (tests/long/memory_rate.c), which worker is chosen (schedules.c).
 *
 * -n tiles -s policy -D devices -k us of a kernel -b KiB of a tile -B MB/s of a link -M tiles that fit on a
 * device (0: all) -a: kernels are the device's own time; else they sleep in their function, on the worker's
 * thread. -R: only read. -P: the program prefetches. -r runs.
 *
 * Each tile is used once. Ideal: the first tile comes in, then kernels or copies of one direction, what takes
 * longer, go on without a gap. A kernel takes as long as it says itself. Where not all fit, what was changed
 * has to go out as well, at the same time as others come in. */
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "measure.h"

enum { DEVICES_MAX = 8 };

static long kernel_us;
static bool asynchronous;
static _Atomic uint64_t kernels_ns; /* in all */

static uint64_t clock_ns(void)
{
    return (uint64_t)(now() * 1e9);
}

static void work(void *buffers[], void *arg)
{
    uint64_t start = clock_ns();
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const bool *changes = arg;
    if (*changes) p[0] = p[STARPU_VECTOR_GET_NX(buffers[0]) - 1] + 1;
    if (asynchronous) return;
    prctl(PR_SET_TIMERSLACK, 1ul);
    while (clock_ns() < start + (uint64_t)kernel_us * 1000) {
        int64_t left = (int64_t)(start + (uint64_t)kernel_us * 1000 - clock_ns());
        if (left > 0) nanosleep(&(struct timespec){ .tv_nsec = left }, NULL);
    }
    atomic_fetch_add(&kernels_ns, clock_ns() - start);
}

static double given_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
    (void)task;
    (void)arch;
    (void)nimpl;
    return (double)kernel_us;
}
static struct starpu_perfmodel model = { .type = STARPU_PER_ARCH,
                                         .symbol = "overlap",
                                         .arch_cost_function = given_us };
static struct starpu_codelet change_cl = {
    .cuda_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "change", .model = &model
};
static struct starpu_codelet read_cl = {
    .cuda_funcs = { work }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read", .model = &model
};

static void set_number(const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.7f", value);
    setenv(name, text, 1);
}

struct shape {
    long tiles, devices, bytes, fit;
    double bandwidth_MB_s;
    bool reads, prefetches;
    const char *policy;
};

static int start(const struct shape *s)
{
    struct starpu_conf conf;
    set_number("ORRERY_SIM_MEM_MB",
               (double)s->bytes * (double)(s->fit ? s->fit : s->tiles + 1) / 1048576. + 1e-4);
    set_number("ORRERY_SIM_BANDWIDTH_MB_S", s->bandwidth_MB_s);
    set_number("ORRERY_SIM_LATENCY_US", 0);
    if (asynchronous) set_number("ORRERY_SIM_KERNEL_US", (double)kernel_us);
    char devices[24];
    snprintf(devices, sizeof devices, "%ld", s->devices);
    setenv("ORRERY_SIM_DEVICES", devices, 1);
    setenv("ORRERY_SIM_KEEP", "1", 0); /* as of devices whose allocation takes long */
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.sched_policy_name = s->policy;
    return starpu_init(&conf);
}

/* Returns ideal over real time; *right_out: whether the tiles hold what they should. */
static double run(const struct shape *s, uint32_t *memory, starpu_data_handle_t *tiles, bool *right_out)
{
    size_t words = (size_t)s->bytes / sizeof *memory;
    bool changes = !s->reads;
    atomic_store(&kernels_ns, 0);
    for (long i = 0; i < s->tiles; i++) {
        for (size_t k = 0; k < words; k++) memory[(size_t)i * words + k] = (uint32_t)i;
        starpu_vector_data_register(&tiles[i], STARPU_MAIN_RAM, (uintptr_t)(memory + (size_t)i * words),
                                    (uint32_t)words, sizeof *memory);
    }
    double begin = now();
    for (long i = 0; i < s->tiles; i++) {
        if (s->prefetches) starpu_data_prefetch_on_node(tiles[i], 1 + (unsigned)(i % s->devices), 1);
        struct starpu_task *t = starpu_task_create();
        t->cl = changes ? &change_cl : &read_cl;
        t->handles[0] = tiles[i];
        t->cl_arg = &changes;
        t->cl_arg_size = 0;
        if (s->prefetches && s->devices > 1) {
            t->execute_on_a_specific_worker = 1;
            t->workerid = (unsigned)starpu_worker_get_by_devid(STARPU_CUDA_WORKER, (int)(i % s->devices));
        }
        if (starpu_task_submit(t) != 0) exit(2);
    }
    starpu_task_wait_for_all();
    double real_s = now() - begin, copy_s = (double)s->bytes * 1e-6 / s->bandwidth_MB_s;
    double kernels_s = asynchronous ? (double)(s->tiles * kernel_us) * 1e-6 : (double)kernels_ns * 1e-9;
    double copies_s = copy_s * (double)s->tiles, longer_s = kernels_s > copies_s ? kernels_s : copies_s;
    for (long i = 0; i < s->tiles; i++) {
        starpu_data_unregister(tiles[i]);
        uint32_t want = (uint32_t)i + changes;
        *right_out &= memory[(size_t)i * words] == want && memory[(size_t)(i + 1) * words - 1] == (uint32_t)i;
    }
    return (copy_s + longer_s / (double)s->devices) / real_s;
}

int main(int argc, char **argv)
{
    struct shape s = { .tiles = option_number(argc, argv, "-n", 200),
                       .devices = option_number(argc, argv, "-D", 1),
                       .bytes = option_number(argc, argv, "-b", 512) * 1024,
                       .fit = option_number(argc, argv, "-M", 0),
                       .bandwidth_MB_s = (double)option_number(argc, argv, "-B", 1000),
                       .reads = option_given(argc, argv, "-R"),
                       .prefetches = option_given(argc, argv, "-P"),
                       .policy = option_text(argc, argv, "-s", "eager") };
    kernel_us = option_number(argc, argv, "-k", 600);
    asynchronous = option_given(argc, argv, "-a");
    int runs = option_repeats(argc, argv);
    if (s.tiles < 1 || s.devices < 1 || s.devices > DEVICES_MAX || s.bytes < 1024 || kernel_us < 1) {
        fprintf(stderr, "overlap: numbers must be positive, at most %d devices\n", DEVICES_MAX);
        return 2;
    }
    uint32_t *memory = malloc((size_t)(s.tiles * s.bytes));
    starpu_data_handle_t *tiles = calloc((size_t)s.tiles, sizeof *tiles);
    double samples[SAMPLES_MAX];
    bool right = true;
    if (!memory || !tiles || start(&s) != 0) return 2;
    for (int r = 0; r < runs; r++) samples[r] = run(&s, memory, tiles, &right);
    double middle = median(samples, runs);
    printf("overlap policy=%s devices=%ld kernels=%s tiles=%ld fit=%ld overlap=%.3f least=%.3f %s\n",
           s.policy, s.devices, asynchronous ? "device" : "sleep", s.tiles, s.fit, middle, samples[0],
           right ? "ok" : "WRONG");
    starpu_shutdown();
    free(memory);
    free(tiles);
    return right ? 0 : 1;
}
