/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random task graphs over CPU workers and simulated devices whose memory is smaller than the working set,
 * with prefetches, evictions and accesses of the program in between: the result is that of the sequential
 * program.
 * Threads: main submits; workers execute. Owns: the data and their shadows, on which the oracle
 * works. Not here: single facts about places of copies (coherency_places.c).
 */
#include "tests/core/sim_helper.h"

enum { HANDLES = 24, ELEMENTS = 4096, TASKS = SCALED(3000, 1000), ROWS = 64, MAX_BUFFERS = 3 };

static uint32_t data[HANDLES][ELEMENTS], shadow[HANDLES][ELEMENTS];
static starpu_data_handle_t handles[HANDLES];
static bool as_matrix[HANDLES]; /* the left half of each row: strided; a vector has the first half */
static atomic_int on_cpu, on_device;

/* What a task does: the first is written from what was there and from the others. */
static void step(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t k, bool keep)
{
    *out = (keep ? *out * 31 : 0) + (a ? *a * 17 : 0) + (b ? *b * 13 : 0) + k;
}

struct arg {
    uint32_t k;
    int buffers;
    bool keep;
};

static uint32_t *element(void *itf, bool matrix, unsigned i)
{
    if (!matrix) return (uint32_t *)STARPU_VECTOR_GET_PTR(itf) + i;
    return (uint32_t *)STARPU_MATRIX_GET_PTR(itf) + i / (ELEMENTS / ROWS / 2) * STARPU_MATRIX_GET_LD(itf) +
           i % (ELEMENTS / ROWS / 2);
}

static bool is_matrix(void *itf)
{
    return *(enum starpu_data_interface_id *)itf == STARPU_MATRIX_INTERFACE_ID;
}

static void body(void *buffers[], void *cl_arg)
{
    const struct arg *g = cl_arg;
    bool m[MAX_BUFFERS] = { false };
    for (int b = 0; b < g->buffers; b++) m[b] = is_matrix(buffers[b]);
    for (unsigned i = 0; i < ELEMENTS / 2; i++)
        step(element(buffers[0], m[0], i), g->buffers > 1 ? element(buffers[1], m[1], i) : NULL,
             g->buffers > 2 ? element(buffers[2], m[2], i) : NULL, g->k, g->keep);
    atomic_fetch_add(
        starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER ? &on_cpu : &on_device, 1);
}

static struct starpu_codelet cl = {
    .cpu_funcs = { body },
    .cuda_funcs = { body },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "step",
};

/* The i-th element of handle h as the tasks see it. */
static unsigned place(int h, unsigned i)
{
    if (!as_matrix[h]) return i;
    return i / (ELEMENTS / ROWS / 2) * (ELEMENTS / ROWS) + i % (ELEMENTS / ROWS / 2);
}

static void oracle(const int *used, const struct arg *g)
{
    for (unsigned i = 0; i < ELEMENTS / 2; i++)
        step(&shadow[used[0]][place(used[0], i)], g->buffers > 1 ? &shadow[used[1]][place(used[1], i)] : NULL,
             g->buffers > 2 ? &shadow[used[2]][place(used[2], i)] : NULL, g->k, g->keep);
}

static int submit_random(uint64_t *seed)
{
    int used[MAX_BUFFERS];
    struct arg *g = malloc(sizeof *g);
    g->k = (uint32_t)random_next(seed);
    g->buffers = 1 + (int)random_below(seed, MAX_BUFFERS);
    g->keep = random_below(seed, 3) != 0;
    used[0] = (int)random_below(seed, HANDLES);
    used[1] = (used[0] + 1 + (int)random_below(seed, HANDLES - 2)) % HANDLES;
    do used[2] = (int)random_below(seed, HANDLES);
    while (used[2] == used[0] || used[2] == used[1]);
    struct starpu_task *task = starpu_task_create();
    task->cl = &cl;
    task->cl_arg = g;
    task->cl_arg_free = 1;
    task->nbuffers = g->buffers;
    for (int b = 0; b < g->buffers; b++) {
        task->handles[b] = handles[used[b]];
        task->modes[b] = b > 0 ? STARPU_R : g->keep ? STARPU_RW : STARPU_W;
    }
    if (random_below(seed, 4)) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = random_below(seed, starpu_worker_get_count());
    }
    oracle(used, g);
    return starpu_task_submit(task);
}

/* Something else that programs do with data; nothing of it may change a value, but for what the oracle is
 * told. */
static int disturb(uint64_t *seed)
{
    int h = (int)random_below(seed, HANDLES), wrong = 0;
    unsigned node = random_below(seed, starpu_memory_nodes_get_count());
    switch (random_below(seed, 7)) {
    case 0: return starpu_data_prefetch_on_node(handles[h], node, 1);
    case 1: return starpu_data_idle_prefetch_on_node_prio(handles[h], node, 1, (int)random_below(seed, 10));
    case 2: starpu_data_wont_use(handles[h]); return 0;
    case 3: starpu_data_evict_from_node(handles[h], node); return 0; /* may be refused */
    case 4: starpu_data_set_wt_mask(handles[h], random_below(seed, 2)); return 0;
    case 5: return starpu_data_fetch_on_node(handles[h], node, 1);
    default:
        if (starpu_data_acquire(handles[h], STARPU_RW)) return 1;
        for (unsigned i = 0; i < ELEMENTS / 2; i++) wrong += data[h][place(h, i)] != shadow[h][place(h, i)];
        data[h][place(h, 7)] = shadow[h][place(h, 7)] = 4711;
        starpu_data_release(handles[h]);
        return wrong;
    }
}

static void run(const char *what, const struct sim_config *config, uint64_t seed)
{
    atomic_store(&on_cpu, 0);
    atomic_store(&on_device, 0);
    sim_start(2, config);
    for (int h = 0; h < HANDLES; h++) {
        for (unsigned i = 0; i < ELEMENTS; i++) data[h][i] = shadow[h][i] = (uint32_t)random_next(&seed);
        as_matrix[h] = h % 3 == 0;
        if (as_matrix[h])
            starpu_matrix_data_register(&handles[h], STARPU_MAIN_RAM, (uintptr_t)data[h], ELEMENTS / ROWS,
                                        ELEMENTS / ROWS / 2, ROWS, 4);
        else
            starpu_vector_data_register(&handles[h], STARPU_MAIN_RAM, (uintptr_t)data[h], ELEMENTS / 2, 4);
    }
    int failed = 0, wrong = 0;
    for (int i = 0; i < TASKS; i++) {
        failed += submit_random(&seed) != 0;
        if (random_below(&seed, 3) == 0) wrong += disturb(&seed);
    }
    starpu_task_wait_for_all();
    int cpu = atomic_load(&on_cpu), device = atomic_load(&on_device);
    for (int h = 0; h < HANDLES; h++) starpu_data_unregister(handles[h]);
    wrong += memcmp(data, shadow, sizeof data) != 0;
    size_t left = starpu_memory_get_used(sim_node(0));
    starpu_shutdown();
    ok(all_of(!failed, cpu + device == TASKS, cpu > 0, device > 0),
       "%s: all tasks ran, %d on CPUs and %d on devices", what, cpu, device);
    is_int(wrong, 0, "%s: the values are those of the sequential program", what);
    is_int((long long)left, 0, "%s: nothing is left in the device's memory", what);
}

int main(void)
{
    const char *given = getenv("ORR_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20261;
    diag("seed %llu", (unsigned long long)seed);
    /* 24 data of 8 KiB; a task needs up to 24 KiB */
    run("one device", &(struct sim_config){ "1", "0.06", "4000", "5", NULL, NULL }, seed);
    run("one small device", &(struct sim_config){ "1", "0.025", "20000", "0", NULL, NULL }, seed + 1);
    run("two devices", &(struct sim_config){ "2", "0.06", "4000", "5", NULL, NULL }, seed + 2);
    run("three devices with direct links", &(struct sim_config){ "3", "0.05", "8000", "2", NULL, "1" },
        seed + 3);
    run("room for everything", &(struct sim_config){ "1", "16", "4000", "5", NULL, NULL }, seed + 4);
    return done_testing();
}
