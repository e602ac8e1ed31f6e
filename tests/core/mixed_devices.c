/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs on a node with everything: a CPU, two devices of PoCL, two of CUDA's double and a simulated
 * one, under several policies, with little memory on each device, and with some seeds in main memory, above a
 * disk. Tasks that write, add up, commute and contribute, pieces of plans and of synchronous partitions,
 * read-only copies, copies, packed data, contexts of devices; callbacks that give up, evict and prefetch;
 * pauses, data that go while copies are under way, and an end right behind the last submission. With some
 * seeds calls of a driver fail. What a task or the program reads is what the sequential program has; where
 * nothing fails all of it is there. Threads: main submits; callbacks run on any. Owns: data and their
 * shadows. Not here: one kind of devices by itself (memory_random.c). Usage: mixed_devices.tap [seed [how
 * many]].
 */
#include <orrery.h>
#include <stdbool.h>

#include "tests/core/cuda_helper.h"
#include "tests/opencl/shim.h"

enum {
    DATA = 10,
    VALUES = 96,
    PIECES = 3,
    SUMS = 2,
    OPERATIONS = SCALED(160, 80),
    PLANNED = 4,
    READS_MAX = 3
};

static uint32_t memory[DATA][VALUES], shadow[DATA][VALUES], copy_memory[VALUES];
static starpu_data_handle_t handles[DATA], pieces[PLANNED][PIECES], sums[SUMS], scratch;
static uint64_t sum_memory[SUMS], sum_shadow[SUMS];
static bool may_fail,
    at_once; /* a driver's call does, in this program; it ends right behind the last submission */
static atomic_int wrong;
static struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
static unsigned ctx, count_written; /* each datum has its first value */
static bool has_ctx;

/* ---- tasks ---- */

/* What a task reads: the sums of its data as they are to be, then what it writes. */
struct job {
    unsigned reads, first, count; /* where the written piece begins */
    bool keeps, with_scratch;
    uint32_t k, expected[READS_MAX + 1];
};

static uint32_t hash_of(const uint32_t *v, unsigned n)
{
    uint32_t h = 17;
    for (unsigned i = 0; i < n; i++) h = h * 31 + v[i];
    return h;
}

static void step(uint32_t *v, const struct job *j)
{
    for (unsigned i = 0; i < j->count; i++) v[i] = (j->keeps ? v[i] * 5 : 0) + j->k + i;
}

static void expect(uint32_t got, uint32_t want, const char *what)
{
    if (got == want) return;
    if (atomic_fetch_add(&wrong, 1) < 5) printf("# worker %d: %s\n", starpu_worker_get_id(), what);
}

/* The written datum first, then those that are read, then scratch memory. */
static void step_func(void *buffers[], void *arg)
{
    struct job *j = arg;
    uint32_t *v = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    if (j->keeps) expect(hash_of(v, j->count), j->expected[0], "what a task changes is not as it should be");
    for (unsigned i = 1; i <= j->reads; i++)
        expect(hash_of((uint32_t *)STARPU_VECTOR_GET_PTR(buffers[i]),
                       (unsigned)STARPU_VECTOR_GET_NX(buffers[i])),
               j->expected[i], "what a task reads is not as it should be");
    if (j->with_scratch) memset((void *)STARPU_VECTOR_GET_PTR(buffers[j->reads + 1]), 0x5a, VALUES * 4);
    step(v, j);
}
static struct starpu_perfmodel step_model = { .type = STARPU_HISTORY_BASED, .symbol = "mixed_step" };
static struct starpu_codelet step_cl = {
    .cpu_funcs = { step_func },
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .model = &step_model,
    .name = "step",
};

static void add_func(void *buffers[], void *arg)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint32_t *)arg;
}
static void zero_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0;
}
static void sum_func(void *buffers[], void *arg UNUSED)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func }, .nbuffers = STARPU_VARIABLE_NBUFFERS };
static struct starpu_codelet zero_cl = { .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func },
    .nbuffers = 2,
    .modes = { STARPU_RW | STARPU_COMMUTE, STARPU_R },
};

static void check_func(void *buffers[], void *arg)
{
    expect(hash_of((uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), VALUES), *(uint32_t *)arg,
           "a copy is not as it should be");
}
static struct starpu_codelet check_cl = { .cpu_funcs = { check_func }, .nbuffers = 1, .modes = { STARPU_R } };

/* Callbacks do what a program should not have to think about. */
static void meddle(void *arg)
{
    uintptr_t what = (uintptr_t)arg;
    starpu_data_handle_t h =
        handles[what % DATA]; /* may be another datum by now: not those that are renewed */
    unsigned node = (unsigned)(what / DATA) % starpu_memory_nodes_get_count();
    switch (what / 1000 % 4) {
    case 0: starpu_data_wont_use(h); break;
    case 1: starpu_data_evict_from_node(h, node); break; /* may be refused */
    case 2: starpu_data_prefetch_on_node(h, node, 1); break;
    default: starpu_data_idle_prefetch_on_node(h, node, 1);
    }
}

/* Data that are unregistered while the program goes on: callbacks keep off. */
static bool is_renewed(int h)
{
    return h >= DATA - 2;
}

static void dress(uint64_t *seed, struct starpu_task *t)
{
    if (!at_once && random_below(seed, 4) == 0) {
        uintptr_t what = random_below(seed, 4000);
        if (is_renewed((int)(what % DATA))) what -= what % DATA;
        t->callback_func = meddle;
        t->callback_arg = (void *)what;
    }
    t->priority = (int)random_below(seed, 3) - 1;
    if (has_ctx && random_below(seed, 4) == 0) t->sched_ctx = ctx;
}

static int submit_step(uint64_t *seed, int h, int piece, bool keeps)
{
    struct job *j = calloc(1, sizeof *j);
    struct starpu_task *t = starpu_task_create();
    unsigned n = 1;
    int used[READS_MAX + 1] = { h };
    j->first = piece < 0 ? 0 : (unsigned)piece * (VALUES / PIECES);
    j->count = piece < 0 ? VALUES : VALUES / PIECES;
    j->keeps = keeps;
    j->k = (uint32_t)random_next(seed);
    j->expected[0] = hash_of(shadow[h] + j->first, j->count);
    t->handles[0] = piece < 0 ? handles[h] : pieces[h][piece];
    t->modes[0] = keeps ? STARPU_RW : STARPU_W;
    for (unsigned want = count_written < DATA ? 0 : random_below(seed, READS_MAX); j->reads < want;) {
        int r = (int)random_below(seed, DATA);
        bool again = false;
        for (unsigned i = 0; i < n; i++) again |= used[i] == r;
        if (again) continue;
        used[n] = r;
        j->expected[n] = hash_of(shadow[r], VALUES);
        t->handles[n] = handles[r];
        t->modes[n++] = STARPU_R;
        j->reads++;
    }
    j->with_scratch = random_below(seed, 5) == 0;
    if (j->with_scratch) {
        t->handles[n] = scratch;
        t->modes[n++] = STARPU_SCRATCH;
    }
    step(shadow[h] + j->first, j);
    count_written++;
    t->cl = &step_cl;
    t->cl_arg = j;
    t->cl_arg_free = 1;
    t->nbuffers = (int)n;
    dress(seed, t);
    return starpu_task_submit(t);
}

static int submit_add(uint64_t *seed, int s, enum starpu_data_access_mode mode)
{
    uint32_t *k = malloc(sizeof *k);
    struct starpu_task *t = starpu_task_create();
    *k = random_below(seed, 1000);
    sum_shadow[s] += *k;
    t->cl = &add_cl;
    t->cl_arg = k;
    t->cl_arg_free = 1;
    t->handles[0] = sums[s];
    t->modes[0] = mode;
    t->nbuffers = 1;
    dress(seed, t);
    return starpu_task_submit(t);
}

/* ---- what a program does besides ---- */

static int check_later(starpu_data_handle_t h, int of)
{
    uint32_t *want = malloc(sizeof *want);
    struct starpu_task *t = starpu_task_create();
    *want = hash_of(shadow[of], VALUES);
    t->cl = &check_cl;
    t->cl_arg = want;
    t->cl_arg_free = 1;
    t->handles[0] = h;
    return starpu_task_submit(t);
}

/* A copy that nobody may write, read by two tasks and gone before they ran. */
static int duplicate(uint64_t *seed, int h)
{
    starpu_data_handle_t dup;
    int r = starpu_data_dup_ro(&dup, handles[h]);
    if (r) return r;
    r = check_later(dup, h);
    r |= submit_step(seed, h, -1, true);
    starpu_data_unregister_submit(dup);
    return r;
}

/* A copy in memory of the program, which is unregistered while it is under way. */
static int copy_out(int h)
{
    starpu_data_handle_t to;
    memset(copy_memory, 0, sizeof copy_memory);
    starpu_vector_data_register(&to, STARPU_MAIN_RAM, (uintptr_t)copy_memory, VALUES, 4);
    int r = starpu_data_cpy(to, handles[h], 1, NULL, NULL);
    starpu_data_unregister(to);
    if (!may_fail) expect(hash_of(copy_memory, VALUES), hash_of(shadow[h], VALUES), "copied data differ");
    return r;
}

static int pack_it(int h)
{
    void *p = NULL;
    starpu_ssize_t n = 0;
    int r = starpu_data_acquire(handles[h], STARPU_R);
    if (r) return r;
    r = starpu_data_pack(handles[h], &p, &n);
    if (!r)
        expect(n == VALUES * 4 ? hash_of(p, VALUES) : 0, hash_of(shadow[h], VALUES), "packed data differ");
    starpu_free_noflag(p, (size_t)n);
    starpu_data_release(handles[h]);
    return r;
}

static int look(int h, int node)
{
    int r = starpu_data_acquire_on_node(handles[h], node, STARPU_R);
    if (r) return r;
    if (node == STARPU_MAIN_RAM) {
        void *itf = starpu_data_get_interface_on_node(handles[h], STARPU_MAIN_RAM);
        expect(hash_of((uint32_t *)STARPU_VECTOR_GET_PTR(itf), VALUES), hash_of(shadow[h], VALUES),
               "what the program acquires is not as it should be");
    }
    starpu_data_release_on_node(handles[h], node);
    return 0;
}

/* Pieces that there are only between two calls. */
static int cut(uint64_t *seed, int h)
{
    int r = 0;
    starpu_data_partition(handles[h], &thirds);
    if (starpu_data_get_nb_children(handles[h]) == 0) return -EIO; /* a device failed: nothing was cut */
    for (int i = 0; i < PIECES; i++) {
        struct job *j = calloc(1, sizeof *j);
        struct starpu_task *t = starpu_task_create();
        j->count = VALUES / PIECES;
        j->keeps = true;
        j->k = (uint32_t)random_next(seed);
        j->expected[0] = hash_of(shadow[h] + i * (VALUES / PIECES), j->count);
        step(shadow[h] + i * (VALUES / PIECES), j);
        t->cl = &step_cl;
        t->cl_arg = j;
        t->cl_arg_free = 1;
        t->handles[0] = starpu_data_get_sub_data(handles[h], 1, i);
        t->modes[0] = STARPU_RW;
        t->nbuffers = 1;
        dress(seed, t);
        r |= starpu_task_submit(t);
    }
    starpu_data_unpartition(handles[h], random_below(seed, starpu_memory_nodes_get_count()));
    return r;
}

static void renew(int h)
{
    starpu_data_unregister_submit(handles[h]);
    starpu_vector_data_register(&handles[h], -1, 0, VALUES, 4);
}

/* A context of devices of every kind comes or goes. */
static void change_context(uint64_t *seed)
{
    int ids[STARPU_NMAXWORKERS], n = 0;
    if (has_ctx) {
        has_ctx = false;
        starpu_task_wait_for_all();
        starpu_sched_ctx_delete(ctx);
        return;
    }
    for (unsigned w = 0; w < starpu_worker_get_count(); w++)
        if (random_below(seed, 2) || w == 0) ids[n++] = (int)w;
    ctx = starpu_sched_ctx_create(ids, n, "some", STARPU_SCHED_CTX_POLICY_NAME,
                                  random_below(seed, 2) ? "dmda" : "lws", 0);
    has_ctx = ctx != STARPU_NMAX_SCHED_CTXS;
}

static int operate(uint64_t *seed)
{
    int h = (int)random_below(seed, DATA), node = (int)random_below(seed, starpu_memory_nodes_get_count());
    switch (random_below(seed, 26)) {
    case 0: return duplicate(seed, h);
    case 1: return copy_out(h);
    case 2: return pack_it(h);
    case 3: return look(h, node);
    case 4: return h < PLANNED || random_below(seed, 2) ? 0 : cut(seed, h);
    case 5:
        if (!is_renewed(h)) return 0;
        renew(h);
        return submit_step(seed, h, -1, false);
    case 6: starpu_data_invalidate_submit(handles[h]); return submit_step(seed, h, -1, false);
    case 7: starpu_pause(); return submit_step(seed, h, -1, true) | (starpu_resume(), 0);
    case 8:
        if (random_below(seed, 4) == 0) change_context(seed);
        return 0;
    case 9: meddle((void *)(uintptr_t)random_below(seed, 4000)); return 0;
    case 10: starpu_data_set_wt_mask(handles[h], random_below(seed, 4)); return 0;
    case 11: return starpu_data_prefetch_on_node(handles[h], (unsigned)node, (int)random_below(seed, 2));
    case 12: return starpu_data_fetch_on_node(handles[h], (unsigned)node, (int)random_below(seed, 2));
    case 13:
    case 14: return submit_add(seed, 0, STARPU_REDUX);
    case 15: return submit_add(seed, 1, STARPU_RW | STARPU_COMMUTE);
    case 16: return submit_add(seed, (int)random_below(seed, SUMS), STARPU_RW);
    case 17:
    case 18:
    case 19:
        return submit_step(seed, h % PLANNED, (int)random_below(seed, PIECES), random_below(seed, 3) != 0);
    default: return submit_step(seed, h, -1, random_below(seed, 3) != 0);
    }
}

/* ---- a program ---- */

static const char *const policies[] = { "dmda",  "dmdas", "heteroprio", "modular-heft",
                                        "pheft", "lws",   "eager",      "dmdar" };

static const char *beside(const char *name)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 40);
    path[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) *strrchr(path, '/') = '\0';
    strcat(path, name);
    return path;
}

static void set_number(const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6f", value);
    cuda_setting(name, text);
}

static const struct shim *shim;

static void choose_faults(uint64_t *seed)
{
    static const char *const sim[] = { "copy:0:%u-%u", "submit:0:%u-%u", "kernel:0:%u-%u", "dies:0:%u" };
    static const char *const double_[] = { "%u-%u", "cuMemAlloc_v2:%u-%u", "cuMemcpyHtoDAsync_v2:%u-%u",
                                           "cuEventQuery:%u-%u" };
    static const char *const gone[] = { "ORR_DOUBLE_CUDA_SPOIL", "ORR_DOUBLE_CUDA_GONE" };
    char text[80];
    cuda_setting("ORRERY_SIM_FAIL", NULL);
    cuda_setting("ORR_DOUBLE_CUDA_FAIL", NULL);
    for (int i = 0; i < 2; i++) cuda_setting(gone[i], NULL);
    shim->fail(LONG_MAX, 0);
    may_fail = random_below(seed, 3) == 0;
    if (!may_fail) return;
    unsigned first = 1 + random_below(seed, 120), last = first + random_below(seed, 6);
    snprintf(text, sizeof text, sim[random_below(seed, 4)], first, last);
    if (random_below(seed, 2)) cuda_setting("ORRERY_SIM_FAIL", text);
    first = 100 + random_below(seed, 600), last = first + random_below(seed, 20);
    snprintf(text, sizeof text, double_[random_below(seed, 4)], first, last);
    if (random_below(seed, 2)) cuda_setting("ORR_DOUBLE_CUDA_FAIL", text);
    if (random_below(seed, 2)) shim->fail(first, last);
    snprintf(text, sizeof text, "%u", first);
    if (random_below(seed, 4) == 0) cuda_setting(gone[random_below(seed, 2)], text);
}

static const char *begin(uint64_t *seed)
{
    const double mb = VALUES * 4 / 1048576.;
    const char *policy = policies[random_below(seed, LENGTH(policies))];
    struct starpu_conf conf;
    bool stored = random_below(seed, 2);
    at_once = random_below(seed, 4) == 0;
    choose_faults(seed);
    starpu_conf_init(&conf);
    set_number("STARPU_LIMIT_OPENCL_MEM", mb * (READS_MAX + 3 + random_below(seed, 4)));
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "2");
    cuda_setting("ORR_DOUBLE_CUDA_RUN_CPU_FUNCS", "1");
    cuda_setting("ORR_DOUBLE_CUDA_PEERS", random_below(seed, 2) ? "1" : "0");
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", random_below(seed, 2) ? "50" : "0");
    set_number("STARPU_LIMIT_CUDA_MEM", mb * (READS_MAX + 3 + random_below(seed, 4)));
    cuda_setting("ORRERY_SIM_DEVICES", "1");
    cuda_setting("ORRERY_SIM_TYPE", "hip");
    set_number("ORRERY_SIM_MEM_MB", mb * (READS_MAX + 3) + 2e-3);
    cuda_setting("STARPU_DISK_SWAP", stored ? "/tmp" : NULL);
    cuda_setting("STARPU_DISK_SWAP_SIZE", "16");
    if (stored)
        set_number("STARPU_LIMIT_CPU_MEM", mb * (DATA + 8));
    else
        cuda_setting("STARPU_LIMIT_CPU_MEM", NULL);
    conf.sched_policy_name = policy;
    conf.ncpus = 1;
    conf.ncuda = 2;
    conf.nopencl = 2;
    cuda_use_double();
    cuda_double.reset();
    int r = starpu_init(&conf);
    if (r && !may_fail) {
        printf("Bail out! starpu_init returned %d\n", r);
        exit(1);
    }
    if (getenv("ORR_TEST_VERBOSE"))
        diag("%s, %u workers%s, failing: %s %s", policy, r ? 0 : starpu_worker_get_count(),
             stored ? ", a disk" : "", getenv("ORRERY_SIM_FAIL"), getenv("ORR_DOUBLE_CUDA_FAIL"));
    return r ? NULL : policy;
}

static void register_all(void)
{
    count_written = 0;
    memset(memory, 0, sizeof memory);
    memset(shadow, 0, sizeof shadow);
    memset(sum_memory, 0, sizeof sum_memory);
    memset(sum_shadow, 0, sizeof sum_shadow);
    starpu_vector_data_register(&scratch, -1, 0, VALUES, 4);
    for (int h = 0; h < DATA; h++) {
        starpu_vector_data_register(&handles[h], is_renewed(h) ? -1 : STARPU_MAIN_RAM,
                                    is_renewed(h) ? 0 : (uintptr_t)memory[h], VALUES, 4);
        if (h < PLANNED) starpu_data_partition_plan(handles[h], &thirds, pieces[h]);
    }
    for (int s = 0; s < SUMS; s++) {
        starpu_variable_data_register(&sums[s], STARPU_MAIN_RAM, (uintptr_t)&sum_memory[s],
                                      sizeof sum_memory[s]);
        starpu_data_set_reduction_methods(sums[s], &sum_cl, &zero_cl);
    }
}

/* Ends it at once, or when all has run. */
static int end(void)
{
    int bad = 0;
    has_ctx = false;
    if (at_once) {
        for (int h = 0; h < DATA; h++) {
            if (h < PLANNED) starpu_data_partition_clean(handles[h], PIECES, pieces[h]);
            starpu_data_unregister_submit(handles[h]);
        }
        for (int s = 0; s < SUMS; s++) starpu_data_unregister_submit(sums[s]);
        starpu_data_unregister_submit(scratch);
        starpu_shutdown();
        return 0;
    }
    bad |= starpu_task_wait_for_all();
    for (int h = 0; h < DATA; h++) bad |= look(h, STARPU_MAIN_RAM);
    for (int s = 0; s < SUMS; s++) {
        int r = starpu_data_acquire(sums[s], STARPU_R);
        bad |= r;
        if (r) continue;
        expect(sum_memory[s] == sum_shadow[s], 1, s ? "the sum of those that commute" : "the reduction");
        starpu_data_release(sums[s]);
    }
    for (int h = 0; h < DATA; h++) {
        if (h < PLANNED) starpu_data_partition_clean(handles[h], PIECES, pieces[h]);
        starpu_data_unregister(handles[h]);
    }
    for (int s = 0; s < SUMS; s++) starpu_data_unregister(sums[s]);
    starpu_data_unregister(scratch);
    for (unsigned n = 1; n < starpu_memory_nodes_get_count(); n++)
        if (starpu_memory_get_used(n) != 0 && !may_fail) {
            bad = 1;
            diag("memory node %u still has %zd bytes", n, (ssize_t)starpu_memory_get_used(n));
        }
    starpu_shutdown();
    return bad;
}

static void note_error(const char *message, void *arg UNUSED)
{
    if (!may_fail) diag("%s", message);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int failed = 0, rounds = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : SCALED(24, 10);
    setenv("ORR_TEST_OPENCL", beside("/opencl/shim.so"), 1);
    if (access("/etc/OpenCL/vendors/pocl.icd", R_OK) != 0)
        skip_all("PoCL is not installed (Debian: pocl-opencl-icd)");
    runtime_opencl_settings(); /* the shim reads one as it is loaded */
    void *library = dlopen(getenv("ORR_TEST_OPENCL"), RTLD_NOW | RTLD_LOCAL);
    shim = library ? dlsym(library, "shim_control") : NULL;
    if (!shim) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    orrery_set_error_hook(note_error, NULL);
    for (int r = 0; r < rounds; r++) {
        uint64_t seed = first + (uint64_t)r;
        int before = atomic_load(&wrong), bad = 0;
        alarm(50);
        const char *policy = begin(&seed);
        if (!policy) continue;
        register_all();
        for (int h = 0; h < DATA; h++) bad |= submit_step(&seed, h, -1, false);
        for (int i = 0; i < OPERATIONS; i++) {
            int now = operate(&seed);
            if (now && !may_fail) diag("operation %d: %d", i, now);
            bad |= now;
        }
        bad |= end();
        if (may_fail) bad = 0;
        bad |= atomic_load(&wrong) > before;
        if (bad) diag("wrong with seed %llu under %s", (unsigned long long)first + (unsigned)r, policy);
        failed += bad != 0;
    }
    is_int(failed, 0, "%d random programs on every kind of device end as they should", rounds);
    is_int(atomic_load(&wrong), 0, "and every value is that of the sequential program");
    return done_testing();
}
