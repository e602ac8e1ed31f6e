/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A working set ten times a device's memory, and one five times main memory's above a store, and both, under
 * every policy: the result is that of the sequential program, limits are kept, and it ends.
 * Threads: main; workers. Owns: data and their shadows. Not here: random programs
 * (tests/long/memory_random.c), how fast it goes (tests/long/memory_rate.c).
 */
#include <stdlib.h>
#include <string.h>

#include "tests/core/sim_helper.h"

enum {
    COUNT = 60,
    WORDS = 512,
    BYTES = WORDS * 4,
    ON_DEVICE = COUNT / 10,
    IN_MAIN = COUNT / 5,
    TASKS = SCALED(360, 90)
};

static uint32_t shadow[COUNT][WORDS];
static starpu_data_handle_t data[COUNT];
static atomic_int by_device;

struct step {
    uint32_t k;
    int reads;
};

static void mix(uint32_t *to, const uint32_t *a, const uint32_t *b, uint32_t k)
{
    for (uint32_t i = 0; i < WORDS; i++)
        to[i] = to[i] * 31 + (a ? a[i] * 17 : 0) + (b ? b[i] * 13 : 0) + k + i;
}

static void step_func(void *buffers[], void *arg)
{
    struct step s;
    uint32_t *p[3] = { NULL, NULL, NULL };
    starpu_codelet_unpack_args(arg, &s);
    if (starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CUDA_WORKER) atomic_fetch_add(&by_device, 1);
    for (int i = 0; i <= s.reads; i++) p[i] = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[i]);
    mix(p[0], p[1], p[2], s.k);
}

static double cost(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch, unsigned nimpl UNUSED)
{
    return arch->devices[0].type == STARPU_CPU_WORKER ? 40. : 10.;
}
static struct starpu_perfmodel model = { .type = STARPU_PER_ARCH,
                                         .symbol = "tests_memory_policies",
                                         .arch_cost_function = cost };

/* Some tasks are for one kind alone, so that data travel under every policy. */
enum { ANY, DEVICE, CPU };
static struct starpu_codelet step_cls[] = {
    { .cpu_funcs = { step_func },
      .cuda_funcs = { step_func },
      .nbuffers = STARPU_VARIABLE_NBUFFERS,
      .model = &model },
    { .cuda_funcs = { step_func }, .nbuffers = STARPU_VARIABLE_NBUFFERS, .model = &model },
    { .cpu_funcs = { step_func }, .nbuffers = STARPU_VARIABLE_NBUFFERS, .model = &model },
};

static void fill_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), first;
    starpu_codelet_unpack_args(arg, &first);
    for (uint32_t i = 0; i < WORDS; i++) p[i] = first + i;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func },
                                         .cuda_funcs = { fill_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_W },
                                         .model = &model };

static int insert_step(uint64_t *seed, int n, bool device)
{
    int to = n % COUNT, a = (to + 1 + (int)random_below(seed, COUNT - 1)) % COUNT, b = a;
    while (b == a || b == to) b = (int)random_below(seed, COUNT);
    struct step s = { (uint32_t)n, (int)random_below(seed, 3) };
    mix(shadow[to], s.reads > 0 ? shadow[a] : NULL, s.reads > 1 ? shadow[b] : NULL, s.k);
    int kind = device ? (int)random_below(seed, 3) : ANY;
    struct starpu_data_descr read[2] = { { data[a], STARPU_R }, { data[b], STARPU_R } };
    return starpu_task_insert(&step_cls[kind], STARPU_RW, data[to], STARPU_DATA_MODE_ARRAY, read, s.reads,
                              STARPU_PRIORITY, (int)random_below(seed, 3) - 1, STARPU_VALUE, &s, sizeof s, 0);
}

static bool has(int h)
{
    if (starpu_data_acquire(data[h], STARPU_R)) return false;
    bool same = memcmp((void *)starpu_data_get_local_ptr(data[h]), shadow[h], BYTES) == 0;
    starpu_data_release(data[h]);
    return same;
}

static int program(bool device)
{
    const char *given = getenv("ORR_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 7;
    int failed = 0;
    for (int h = 0; h < COUNT; h++) starpu_vector_data_register(&data[h], -1, 0, WORDS, 4);
    for (int h = 0; h < COUNT; h++) {
        uint32_t first = (uint32_t)h * 100;
        for (uint32_t i = 0; i < WORDS; i++) shadow[h][i] = first + i;
        failed |= starpu_task_insert(&fill_cl, STARPU_W, data[h], STARPU_VALUE, &first, sizeof first, 0);
    }
    for (int n = 0; n < TASKS; n++) failed |= insert_step(&seed, n, device);
    return failed | starpu_task_wait_for_all();
}

static void under(const char *policy, bool device_small, bool main_small)
{
    char mb[2][32];
    alarm(60);
    snprintf(mb[0], sizeof mb[0], "%.7f", ((device_small ? ON_DEVICE : COUNT) * BYTES + 100) / 1048576.);
    snprintf(mb[1], sizeof mb[1], "%.7f", (IN_MAIN * BYTES + 100) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_MEM", main_small ? mb[1] : NULL);
    sim_setting("ORRERY_SIM_STORE_MB", main_small ? "1" : NULL);
    sim_start_as(2, &(struct sim_config){ device_small ? "1" : "0", mb[0], "20000", "1", NULL, NULL }, NULL,
                 policy);
    atomic_store(&by_device, 0);
    int failed = program(device_small), wrong = 0;
    bool kept = true;
    for (unsigned n = 0; n < starpu_memory_nodes_get_count(); n++)
        kept &=
            starpu_memory_get_total(n) < 0 || starpu_memory_get_used(n) <= (size_t)starpu_memory_get_total(n);
    for (int h = 0; h < COUNT; h++) wrong += !has(h);
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
    ok(all_of(failed == 0, wrong == 0, kept, !device_small || atomic_load(&by_device) > 0), "%s: %s%s%s",
       policy, device_small ? "ten times a device's memory" : "", device_small && main_small ? ", and " : "",
       main_small ? "five times main memory" : "");
}

int main(void)
{
    static const char *const policies[] = { "eager", "lws",          "dm",         "dmda", "dmdas",
                                            "dmdar", "modular-heft", "heteroprio", "pheft" };
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        under(policies[p], true, false);
        under(policies[p], false, true);
        under(policies[p], true, true);
    }
    return done_testing();
}
