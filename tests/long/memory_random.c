/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs on devices whose memory just holds one task's data, on one main memory or two, which may
 * be as small, above a store: tasks on CPUs and devices, with scratch memory, commuting and reducing ones,
 * while the program prefetches, fetches, acquires on any node (also two at a time), evicts, gives up,
 * unregisters and writes anew. The values are those of the sequential program. In some programs data are so
 * large that copies wait for their link, in order of urgency; in some the store fails a copy now and then.
 * Threads: main submits; callbacks run on any. Owns: data and their shadows, on which the oracle works.
 * Not here: single cases of waiting for memory (tests/core/memory_hungry.c).
 * Usage: memory_random.tap [seed]; ORR_TEST_SEED too.
 */
#include "tests/core/sim_helper.h"

#ifndef ROUNDS
#define ROUNDS 60
#endif
/* The values of a datum lie a stride apart; what is between them is copied, and nobody looks at it. */
enum { DATA = 12, OWN = 3, VALUES = 512, LARGE_STRIDE = 256, OPERATIONS = 900, MAX_BUFFERS = 3 };

static unsigned stride, elements, bytes; /* of this program's data */
static uint32_t memory[DATA][VALUES * LARGE_STRIDE], own_memory[OWN][VALUES * LARGE_STRIDE];
static uint32_t shadow[DATA][VALUES];
static starpu_data_handle_t handles[DATA], own[OWN], scratch, sum;
static uint64_t total, expected_total;
static atomic_int wrong, callbacks;
static int expected_callbacks;

struct arg {
    uint32_t k;
    int buffers;
    bool keep, with_scratch, contributes;
};

/* apart: how far from each other their values lie. */
static void step(uint32_t *out, const uint32_t *a, const uint32_t *b, const struct arg *g, unsigned apart)
{
    for (unsigned v = 0, i = 0; v < VALUES; v++, i += apart)
        out[i] = (g->keep ? out[i] * 31 : 0) + (a ? a[i] * 17 : 0) + (b ? b[i] * 13 : 0) + g->k + v;
}

static void body(void *buffers[], void *cl_arg)
{
    const struct arg *g = cl_arg;
    uint32_t *p[MAX_BUFFERS] = { NULL };
    int n = g->buffers;
    for (int b = 0; b < n; b++) p[b] = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[b]);
    if (g->with_scratch) memset((void *)STARPU_VECTOR_GET_PTR(buffers[n++]), 0x5a, bytes);
    if (g->contributes) *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[n]) += g->k;
    step(p[0], p[1], p[2], g, stride);
}
static struct starpu_codelet step_cl = {
    .cpu_funcs = { body },
    .cuda_funcs = { body },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "step",
};

static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .cuda_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }
};
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func },
    .cuda_funcs = { sum_func },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_R },
};

/* A task that writes datum h, from itself (keep) or not. */
static int submit_step(uint64_t *seed, int h, bool keep)
{
    int used[MAX_BUFFERS] = { h, (h + 1 + (int)random_below(seed, DATA - 1)) % DATA, 0 };
    do used[2] = (int)random_below(seed, DATA);
    while (used[2] == used[0] || used[2] == used[1]);
    struct arg *g = malloc(sizeof *g);
    *g = (struct arg){ .k = (uint32_t)random_next(seed),
                       .buffers = 1 + (int)random_below(seed, MAX_BUFFERS),
                       .keep = keep,
                       .contributes = random_below(seed, 8) == 0 };
    g->with_scratch = g->buffers < MAX_BUFFERS && random_below(seed, 4) == 0;
    struct starpu_task *task = starpu_task_create();
    task->cl = &step_cl;
    task->cl_arg = g;
    task->cl_arg_free = 1;
    int n = 0;
    for (; n < g->buffers; n++) {
        task->handles[n] = handles[used[n]];
        task->modes[n] = n > 0 ? STARPU_R : keep ? STARPU_RW : STARPU_W;
    }
    if (g->with_scratch) {
        task->handles[n] = scratch;
        task->modes[n++] = STARPU_SCRATCH;
    }
    if (g->contributes) {
        task->handles[n] = sum;
        task->modes[n++] = STARPU_REDUX;
        expected_total += g->k;
    }
    task->nbuffers = n;
    if (random_below(seed, 5)) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = random_below(seed, starpu_worker_get_count());
    }
    step(shadow[h], g->buffers > 1 ? shadow[used[1]] : NULL, g->buffers > 2 ? shadow[used[2]] : NULL, g, 1);
    return starpu_task_submit(task);
}

/* What a callback finds: the datum at the place and with the value that it should have. */
struct visit {
    starpu_data_handle_t handle;
    int node, at;
    uint32_t found, put;
};

static void visited(void *arg)
{
    struct visit *v = arg;
    uint32_t *p =
        (uint32_t *)STARPU_VECTOR_GET_PTR(starpu_data_get_interface_on_node(v->handle, (unsigned)v->node));
    if (p[(unsigned)v->at * stride] != v->found) atomic_fetch_add(&wrong, 1);
    p[(unsigned)v->at * stride] = v->put;
    atomic_fetch_add(&callbacks, 1); /* the program goes on when this lets go */
    starpu_data_release_on_node(v->handle, v->node);
    free(v);
}

static int visit_later(uint64_t *seed, int h, int node)
{
    struct visit *v = malloc(sizeof *v);
    *v = (struct visit){ handles[h], node, (int)random_below(seed, VALUES), 0, (uint32_t)random_next(seed) };
    v->found = shadow[h][v->at];
    shadow[h][v->at] = v->put;
    expected_callbacks++;
    return starpu_data_acquire_on_node_cb(handles[h], node, STARPU_RW, visited, v);
}

static int visit_now(int h, int node)
{
    if (starpu_data_acquire_on_node(handles[h], node, STARPU_R)) return 1;
    void *itf = starpu_data_get_interface_on_node(handles[h], (unsigned)node);
    const uint32_t *p = (const uint32_t *)STARPU_VECTOR_GET_PTR(itf);
    bool right = true;
    for (unsigned v = 0; v < VALUES; v++) right &= p[v * stride] == shadow[h][v];
    if (!right) atomic_fetch_add(&wrong, 1);
    starpu_data_release_on_node(handles[h], node);
    return 0;
}

/* Two of the program's own data on a node at once, which no task uses, while tasks go on. */
static int hold_two(uint64_t *seed, int node)
{
    int a = (int)random_below(seed, OWN), b = (a + 1) % OWN;
    int failed = starpu_data_acquire_on_node(own[a], node, STARPU_RW);
    for (int i = 0; i < 3; i++) failed |= submit_step(seed, (int)random_below(seed, DATA), true);
    failed |= starpu_data_acquire_on_node(own[b], node, STARPU_R);
    starpu_data_release_on_node(own[b], node);
    starpu_data_release_on_node(own[a], node);
    return failed;
}

static void register_data(int h)
{
    bool at_home = h % 2 == 0;
    starpu_vector_data_register(&handles[h], at_home ? STARPU_MAIN_RAM : -1,
                                at_home ? (uintptr_t)memory[h] : 0, elements, 4);
}

/* Copies of all data to a node, some of which tasks come to need while they wait for their link. */
static int burst(uint64_t *seed, unsigned node)
{
    int failed = 0;
    for (int h = 0; h < DATA; h++)
        failed |= starpu_data_prefetch_on_node_prio(handles[h], node, 1, (int)random_below(seed, 5));
    for (int i = 0; i < 3; i++) failed |= submit_step(seed, (int)random_below(seed, DATA), true);
    return failed;
}

static int operate(uint64_t *seed)
{
    int h = (int)random_below(seed, DATA), node = (int)random_below(seed, starpu_memory_nodes_get_count());
    unsigned on = (unsigned)node;
    switch (random_below(seed, 25)) {
    case 0: return starpu_data_prefetch_on_node(handles[h], on, 1);
    case 1: return starpu_data_prefetch_on_node(handles[h], on, 0);
    case 2: return starpu_data_idle_prefetch_on_node(handles[h], on, 1);
    case 3: return starpu_data_fetch_on_node(handles[h], on, 1);
    case 4: return starpu_data_fetch_on_node(handles[h], on, 0);
    case 5: starpu_data_wont_use(handles[h]); return 0;
    case 6: starpu_data_evict_from_node(handles[h], on); return 0; /* may be refused */
    case 7: starpu_data_request_allocation(handles[h], on); return 0;
    case 8: starpu_data_set_wt_mask(handles[h], random_below(seed, 2)); return 0;
    case 9: return visit_now(h, node);
    case 10: return visit_later(seed, h, node);
    case 11: return hold_two(seed, node);
    case 12: starpu_data_invalidate_submit(handles[h]); return submit_step(seed, h, false);
    case 13:
        if (h % 2 == 0) return 0; /* its memory is still read by what was submitted */
        starpu_data_unregister_submit(handles[h]);
        register_data(h);
        return submit_step(seed, h, false);
    case 14: starpu_memchunk_tidy(on); return 0;
    case 15: return burst(seed, on);
    default: return submit_step(seed, h, random_below(seed, 3) != 0);
    }
}

static void set_mb(char mb[32], const char *name, unsigned data, unsigned more)
{
    snprintf(mb, 32, "%.7f", ((double)data * bytes + more) / 1048576.);
    if (name) sim_setting(name, mb);
}

static int begin(uint64_t *seed)
{
    char mb[32], fails[32], devices[2] = { 0 };
    bool stored = random_below(seed, 2), numa = random_below(seed, 2), large = random_below(seed, 3) == 0,
         faulty = stored && random_below(seed, 3) == 0, roomy = random_below(seed, 3) == 0;
    devices[0] = (char)((stored || numa ? '0' : '2') + random_below(seed, 2 + numa));
    stride = large ? LARGE_STRIDE : 1;
    elements = VALUES * stride;
    bytes = elements * 4;
    sim_setting("STARPU_LIMIT_CPU_NUMA_MEM", NULL);
    /* of each main memory with a store below it: the two own data that are held, and what two tasks hold */
    if (stored) set_mb(mb, "STARPU_LIMIT_CPU_NUMA_MEM", 8, 256);
    sim_setting("ORRERY_SIM_STORE_MB", stored ? (large ? "128" : "1") : NULL);
    sim_setting("HWLOC_SYNTHETIC", numa ? "package:2 numa:1 core:1 pu:1" : NULL);
    sim_setting("STARPU_USE_NUMA", numa ? "1" : NULL);
    unsigned nth = 1 + random_below(seed, 200); /* no copy fails more than twice, of three tries */
    snprintf(fails, sizeof fails, "copy:store:%u-%u", nth, nth + 1);
    sim_setting("ORRERY_SIM_FAIL", faulty ? fails : NULL);
    /* a task of three data; with scratch and a contribution beside two */
    set_mb(mb, NULL, roomy ? DATA : MAX_BUFFERS + random_below(seed, 2), 64);
    sim_start(2,
              &(struct sim_config){ devices, mb, large ? "5000" : "20000", random_below(seed, 2) ? "0" : "5",
                                    NULL, random_below(seed, 2) ? "1" : NULL });
    if (getenv("ORR_TEST_VERBOSE"))
        diag("%s devices%s%s%s%s%s", devices, roomy ? " with room" : "", stored ? ", a store" : "",
             faulty ? " that fails" : "", numa ? ", two main memories" : "", large ? ", large data" : "");
    int failed = 0;
    starpu_vector_data_register(&scratch, -1, 0, elements, 4);
    starpu_variable_data_register(&sum, STARPU_MAIN_RAM, (uintptr_t)&total, sizeof total);
    starpu_data_set_reduction_methods(sum, &sum_cl, &zero_cl);
    total = expected_total = 0;
    atomic_store(&callbacks, expected_callbacks = 0);
    for (int i = 0; i < OWN; i++)
        starpu_vector_data_register(&own[i], STARPU_MAIN_RAM, (uintptr_t)own_memory[i], elements, 4);
    for (int h = 0; h < DATA; h++) register_data(h);
    for (int h = 0; h < DATA; h++) {
        struct arg *g = calloc(1, sizeof *g);
        *g = (struct arg){ .k = (uint32_t)h, .buffers = 1 };
        step(shadow[h], NULL, NULL, g, 1);
        failed |= starpu_task_insert(&step_cl, STARPU_W, handles[h], STARPU_CL_ARGS, g, sizeof *g, 0);
    }
    return failed;
}

static int end(void)
{
    int failed = starpu_task_wait_for_all();
    for (int h = 0; h < DATA; h++) failed |= visit_now(h, STARPU_MAIN_RAM);
    for (int h = 0; h < DATA; h++) starpu_data_unregister(handles[h]);
    for (int i = 0; i < OWN; i++) starpu_data_unregister(own[i]);
    starpu_data_unregister(scratch);
    starpu_data_unregister(sum);
    failed |= total != expected_total || atomic_load(&callbacks) != expected_callbacks;
    for (unsigned n = 1; n < starpu_memory_nodes_get_count(); n++) failed |= starpu_memory_get_used(n) != 0;
    starpu_shutdown();
    return failed;
}

int main(int argc, char **argv)
{
    const char *given = argc > 1 ? argv[1] : getenv("ORR_TEST_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1003;
    int failed = 0, rounds = given && argc > 1 ? 1 : ROUNDS;
    for (int r = 0; r < rounds; r++) {
        uint64_t seed = first + (uint64_t)r;
        alarm(50);
        if (getenv("ORR_TEST_VERBOSE")) diag("seed %llu", (unsigned long long)seed);
        int bad = begin(&seed);
        int operations = stride == 1 ? OPERATIONS : OPERATIONS / 4;
        for (int i = 0; i < operations; i++) bad |= operate(&seed);
        bad |= end();
        if (bad || atomic_load(&wrong)) diag("wrong with seed %llu", (unsigned long long)first + (unsigned)r);
        failed += bad != 0;
    }
    is_int(failed, 0, "%d random programs end, and leave nothing on the devices", rounds);
    is_int(atomic_load(&wrong), 0, "and every value is that of the sequential program");
    return done_testing();
}
