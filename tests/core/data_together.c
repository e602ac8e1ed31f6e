/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many tasks that change the same data in any order: commuting writers of several data at once, with and
 * without an arbiter, and contributions to reductions of wholes and of pieces, by CPUs and devices of two
 * kinds.
 * Threads: main submits; workers execute. Owns: its data. Not here: what one access mode means
 * (data_modes.c).
 */
#include "tests/core/sim_helper.h"

enum { HANDLES = 8, MOST = 4, TASKS = SCALED(600, 200), N = 64, PIECES = 4, SUMS = SCALED(200, 80) };

static int counters[HANDLES], expected[HANDLES];
static starpu_data_handle_t handles[HANDLES];
static atomic_int inside[HANDLES], overlaps;

/* Its argument: which data it has, a bit each. */
static void commute_func(void *buffers[], void *arg)
{
    unsigned which = (unsigned)(uintptr_t)arg, b = 0;
    for (unsigned h = 0; h < HANDLES; h++)
        if (which >> h & 1 && atomic_fetch_add(&inside[h], 1) != 0) atomic_fetch_add(&overlaps, 1);
    for (unsigned h = 0; h < HANDLES; h++)
        if (which >> h & 1) ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[b++]);
    for (unsigned h = 0; h < HANDLES; h++)
        if (which >> h & 1) atomic_fetch_sub(&inside[h], 1);
}
static struct starpu_codelet commute_cl = { .cpu_funcs = { commute_func },
                                            .mini_funcs = { commute_func },
                                            .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                            .name = "commute" };

/* One task on some of the data, named in any order; now and then a reader or a plain writer comes between. */
static int submit_commuting(uint64_t *seed, unsigned worker)
{
    struct starpu_task *t = starpu_task_create();
    unsigned which = 0, count = 1 + random_below(seed, MOST);
    while (count--) which |= 1u << random_below(seed, HANDLES);
    enum starpu_data_access_mode mode = random_below(seed, 20) ? STARPU_RW | STARPU_COMMUTE : STARPU_RW;
    for (unsigned h = 0; h < HANDLES; h++) {
        if (!(which >> h & 1)) continue;
        t->handles[t->nbuffers] = handles[h];
        t->modes[t->nbuffers++] = mode;
        expected[h]++;
    }
    t->cl = &commute_cl;
    t->cl_arg = (void *)(uintptr_t)which;
    t->execute_on_a_specific_worker = random_below(seed, 2);
    t->workerid = worker;
    return starpu_task_submit(t);
}

static void commuting(bool arbitrated)
{
    uint64_t seed = 3 + arbitrated;
    starpu_arbiter_t arbiter[2] = { NULL };
    int failed = 0, wrong = 0;
    for (unsigned i = 0; i < 2 && arbitrated; i++) arbiter[i] = starpu_arbiter_create();
    for (unsigned h = 0; h < HANDLES; h++) {
        counters[h] = expected[h] = 0;
        starpu_variable_data_register(&handles[h], STARPU_MAIN_RAM, (uintptr_t)&counters[h], sizeof(int));
        if (arbitrated && h % 3) starpu_data_assign_arbiter(handles[h], arbiter[h % 3 - 1]);
    }
    for (int i = 0; i < TASKS; i++)
        failed |= submit_commuting(&seed, random_below(&seed, starpu_worker_get_count()));
    for (unsigned h = 0; h < HANDLES; h++) starpu_data_unregister(handles[h]);
    for (unsigned h = 0; h < HANDLES; h++) wrong += counters[h] != expected[h];
    for (unsigned i = 0; i < 2 && arbitrated; i++) starpu_arbiter_destroy(arbiter[i]);
    ok(all_of(!failed, wrong == 0, atomic_load(&overlaps) == 0),
       "commuting writers of up to %d data each all come to their end, one at a time, %s arbiters", MOST,
       arbitrated ? "under two" : "without");
}

/* ---- reductions ---- */

static void zero_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = 0;
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    int *to = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), *from = (int *)STARPU_VECTOR_GET_PTR(buffers[1]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) to[i] += from[i];
}
static void contribute_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] += (int)(intptr_t)arg + (int)i;
}
static struct starpu_codelet zero_cl = {
    .cpu_funcs = { zero_func }, .mini_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W }
};
static struct starpu_codelet sum_cl = { .cpu_funcs = { sum_func },
                                        .mini_funcs = { sum_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R } };
static struct starpu_codelet contribute_cl = { .cpu_funcs = { contribute_func },
                                               .mini_funcs = { contribute_func },
                                               .nbuffers = 1,
                                               .modes = { STARPU_REDUX } };

static struct starpu_codelet zero_on_device_cl = { .cuda_funcs = { zero_func },
                                                   .opencl_funcs = { zero_func },
                                                   .mini_funcs = { zero_func },
                                                   .nbuffers = 1,
                                                   .modes = { STARPU_W } };
static struct starpu_codelet sum_on_device_cl = { .cuda_funcs = { sum_func },
                                                  .opencl_funcs = { sum_func },
                                                  .mini_funcs = { sum_func },
                                                  .nbuffers = 2,
                                                  .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R } };

static int contribute(starpu_data_handle_t h, int k, int want[], size_t n)
{
    unsigned worker = (unsigned)k % starpu_worker_get_count();
    for (size_t i = 0; i < n; i++) want[i] += k + (int)i;
    return starpu_task_insert(&contribute_cl, STARPU_REDUX, h, STARPU_EXECUTE_ON_WORKER, (int)worker,
                              STARPU_CL_ARGS_NFREE, (void *)(intptr_t)k, (size_t)0, 0);
}

static int total[N], want[N];

static void reducing(void)
{
    starpu_data_handle_t h, piece[PIECES];
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    int failed = 0, wrong = 0;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)total, N, sizeof total[0]);
    starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
    for (int k = 0; k < SUMS; k++) failed |= contribute(h, k, want, N);
    starpu_data_partition_plan(h, &f, piece);
    for (int k = 0; k < SUMS; k++)
        failed |= contribute(piece[k % PIECES], k, want + k % PIECES * (N / PIECES), N / PIECES);
    for (int k = 0; k < SUMS; k++) {
        failed |= contribute(h, k, want, N);
        if (k % 32 == 31) failed |= starpu_data_fetch_on_node(h, (unsigned)k % 3, 1); /* adds them up */
    }
    starpu_data_partition_clean(h, PIECES, piece);
    starpu_data_unregister(h);
    for (int i = 0; i < N; i++) wrong += total[i] != want[i];
    ok(all_of(!failed, wrong == 0),
       "contributions of all kinds of workers to a whole and its pieces are added up");
}

static void reducing_on_devices(void)
{
    starpu_data_handle_t h;
    int failed = 0, wrong = 0;
    unsigned cpus = starpu_cpu_worker_get_count(), all = starpu_worker_get_count();
    memset(want, 0, sizeof want);
    starpu_vector_data_register(&h, -1, 0, N, sizeof total[0]);
    starpu_data_set_reduction_methods(h, &sum_on_device_cl, &zero_on_device_cl);
    for (int k = 0; k < SUMS; k++) {
        int worker = (int)(cpus + (unsigned)k % (all - cpus));
        for (int i = 0; i < N; i++) want[i] += k + i;
        failed |= starpu_task_insert(&contribute_cl, STARPU_REDUX, h, STARPU_EXECUTE_ON_WORKER, worker,
                                     STARPU_CL_ARGS_NFREE, (void *)(intptr_t)k, (size_t)0, 0);
        if (k % 16 == 15) failed |= starpu_data_prefetch_on_node(h, (unsigned)k % 3, 1);
    }
    failed |= starpu_data_acquire(h, STARPU_R);
    int *v = starpu_data_get_local_ptr(h);
    for (int i = 0; i < N; i++) wrong += v[i] != want[i];
    starpu_data_release(h);
    starpu_data_unregister(h);
    ok(all_of(!failed, wrong == 0), "also where only devices can make neutral values and add up");
}

int main(void)
{
    static const struct sim_config two = {
        .devices = "2", .mem_mb = "64", .bandwidth_MB_s = "100000", .latency_us = "1"
    };
    alarm(60);
    setenv("ORRERY_NMINI", "1", 1);
    sim_start(2, &two);
    commuting(false);
    commuting(true);
    reducing();
    reducing_on_devices();
    starpu_shutdown();
    return done_testing();
}
