/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver on a GPU, with CUDA's own library: data of all shapes in pinned and other memory, random
 * tasks on CPUs and the GPU against what they should compute, memory that is too small, kernels that go
 * wrong, what is left. Where there is no GPU all of it is skipped. Threads: main submits. Owns: the data of
 * each case. Not here: what CUDA itself never does (tests/core/cuda.c).
 */
#include <orrery.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/gpu.h"
#include "tests/helper.h"

/* ---- the tasks ---- */

/* v = v * a + w, whatever their shape: rows of all planes. */
static void combine_rows(void *buffers[], uint32_t a, bool on_gpu)
{
    uintptr_t v = STARPU_BLOCK_GET_PTR(buffers[0]), w = STARPU_BLOCK_GET_PTR(buffers[1]);
    unsigned nx = STARPU_BLOCK_GET_NX(buffers[0]);
    for (size_t z = 0; z < STARPU_BLOCK_GET_NZ(buffers[0]); z++)
        for (size_t y = 0; y < STARPU_BLOCK_GET_NY(buffers[0]); y++) {
            uintptr_t pv = v +
                           4 * (z * STARPU_BLOCK_GET_LDZ(buffers[0]) + y * STARPU_BLOCK_GET_LDY(buffers[0])),
                      pw = w +
                           4 * (z * STARPU_BLOCK_GET_LDZ(buffers[1]) + y * STARPU_BLOCK_GET_LDY(buffers[1]));
            if (on_gpu) {
                gpu_combine(pv, pw, a, nx);
                continue;
            }
            for (unsigned x = 0; x < nx; x++)
                ((uint32_t *)pv)[x] = ((uint32_t *)pv)[x] * a + ((const uint32_t *)pw)[x];
        }
}

static void combine_cpu(void *buffers[], void *arg)
{
    uint32_t a;
    starpu_codelet_unpack_args(arg, &a);
    combine_rows(buffers, a, false);
}

static void combine_cuda(void *buffers[], void *arg)
{
    uint32_t a;
    starpu_codelet_unpack_args(arg, &a);
    combine_rows(buffers, a, true);
}

static struct starpu_codelet combine_cl = {
    .cpu_funcs = { combine_cpu },
    .cuda_funcs = { combine_cuda },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 2,
    .modes = { STARPU_RW, STARPU_R },
    .name = "combine",
};

static void start(int cpus, const char *policy)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.nopencl = 0;
    conf.sched_policy_name = policy;
    if (starpu_init(&conf) == 0 && gpu_prepare()) return;
    printf("Bail out! the runtime does not start on the GPU\n");
    exit(1);
}

static void setting(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* ---- random tasks against what they should compute ---- */

enum { DATA = 24, NX = 37, NY = 11, NZ = 3, PAD = 5, LDY = NX + PAD, LDZ = LDY * (NY + 2), WORDS = LDZ * NZ };

static uint32_t random_state;
static uint32_t next_random(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)random_state * below >> 32);
}

/* What a task does, on main's own copies. */
static void combine_here(uint32_t *v, const uint32_t *w, uint32_t a)
{
    for (size_t z = 0; z < NZ; z++)
        for (size_t y = 0; y < NY; y++)
            for (size_t x = 0; x < NX; x++) {
                size_t i = z * LDZ + y * LDY + x;
                v[i] = v[i] * a + w[i];
            }
}

/* Blocks with gaps between rows and planes, by turns in pinned memory. Returns how many numbers are wrong,
 * gaps too; -1: a task was refused. */
static long random_tasks(unsigned tasks, uint32_t seed)
{
    static uint32_t want[DATA][WORDS];
    uint32_t *memory[DATA];
    starpu_data_handle_t h[DATA];
    long wrong = 0, refused = 0;
    random_state = seed;
    for (int d = 0; d < DATA; d++) {
        if (d % 2)
            starpu_malloc((void **)&memory[d], sizeof want[d]);
        else
            memory[d] = malloc(sizeof want[d]);
        for (int i = 0; i < WORDS; i++) want[d][i] = memory[d][i] = next_random(UINT32_MAX);
        starpu_block_data_register(&h[d], STARPU_MAIN_RAM, (uintptr_t)memory[d], LDY, LDZ, NX, NY, NZ, 4);
    }
    for (unsigned t = 0; t < tasks; t++) {
        uint32_t v = next_random(DATA), w = (v + 1 + next_random(DATA - 1)) % DATA, a = next_random(1000);
        refused |=
            starpu_task_insert(&combine_cl, STARPU_RW, h[v], STARPU_R, h[w], STARPU_VALUE, &a, sizeof a, 0);
        combine_here(want[v], want[w], a);
        if (next_random(200) > 0) continue;
        starpu_data_acquire(h[v], STARPU_RW); /* by the program, now and then */
        memory[v][0] += a;
        want[v][0] += a;
        starpu_data_release(h[v]);
    }
    refused |= starpu_task_wait_for_all();
    for (int d = 0; d < DATA; d++) {
        starpu_data_unregister(h[d]);
        for (int i = 0; i < WORDS; i++) wrong += memory[d][i] != want[d][i];
        if (d % 2)
            starpu_free_noflag(memory[d], sizeof want[d]);
        else
            free(memory[d]);
    }
    return refused ? -1 : wrong;
}

static void mixtures(void)
{
    static const struct {
        const char *policy, *workers, *pipeline;
        int cpus;
    } cases[] = {
        { "eager", "1", "0", 0 }, { "eager", "1", "2", 2 },         { "lws", "4", "0", 2 },
        { "dmda", "1", "2", 2 },  { "modular-eager", "2", "2", 1 }, { "dmdas", "4", "4", 1 },
    };
    for (unsigned i = 0; i < LENGTH(cases); i++) {
        setting("STARPU_NWORKER_PER_CUDA", cases[i].workers);
        setting("STARPU_CUDA_PIPELINE", cases[i].pipeline);
        start(cases[i].cpus, cases[i].policy);
        is_int(random_tasks(3000, i + 1), 0,
               "%s, %s workers of the GPU, %s tasks ahead, %d CPUs: blocks are right", cases[i].policy,
               cases[i].workers, cases[i].pipeline, cases[i].cpus);
        starpu_shutdown();
    }
    setting("STARPU_NWORKER_PER_CUDA", NULL);
    setting("STARPU_CUDA_PIPELINE", NULL);
}

/* ---- memory that is too small ---- */

enum { BIG = 24, BIG_WORDS = 1 << 18 };

/* 24 MiB of vectors on a device that may use 8. */
static void evicted(void)
{
    static uint32_t *memory[BIG];
    starpu_data_handle_t h[BIG];
    long wrong = 0, failed = 0;
    uint32_t want[BIG], three = 3;
    setting("STARPU_LIMIT_CUDA_MEM", "8");
    start(0, "eager");
    for (uint32_t d = 0; d < BIG; d++) {
        memory[d] = malloc(sizeof(uint32_t) * BIG_WORDS);
        for (int i = 0; i < BIG_WORDS; i++) memory[d][i] = d;
        want[d] = d;
        starpu_block_data_register(&h[d], STARPU_MAIN_RAM, (uintptr_t)memory[d], BIG_WORDS, BIG_WORDS,
                                   BIG_WORDS, 1, 1, 4);
    }
    for (uint32_t t = 0; t < 20 * BIG; t++) {
        uint32_t v = t * 7 % BIG, w = (t * 5 + 1) % BIG;
        if (v == w) continue;
        failed |= starpu_task_insert(&combine_cl, STARPU_RW, h[v], STARPU_R, h[w], STARPU_VALUE, &three,
                                     sizeof three, 0);
        want[v] = want[v] * three + want[w];
    }
    failed |= starpu_task_wait_for_all();
    for (int d = 0; d < BIG; d++) {
        starpu_data_unregister(h[d]);
        for (int i = 0; i < BIG_WORDS; i++) wrong += memory[d][i] != want[d];
        free(memory[d]);
    }
    is_int(failed ? -1 : wrong, 0, "vectors of three times the memory that the GPU may use are right");
    starpu_shutdown();
    setting("STARPU_LIMIT_CUDA_MEM", NULL);
}

/* ---- pieces ---- */

static void pieces(void)
{
    enum { SIDE = 96, PARTS = 4 };
    static uint32_t v[SIDE * SIDE], w[SIDE * SIDE], want[SIDE * SIDE];
    starpu_data_handle_t hv, hw;
    uint32_t two = 2, three = 3, failed = 0, wrong = 0;
    struct starpu_data_filter rows = { .filter_func = starpu_block_filter_block, .nchildren = PARTS },
                              planes = { .filter_func = starpu_block_filter_vertical_block,
                                         .nchildren = PARTS };
    start(1, "eager");
    for (uint32_t i = 0; i < SIDE * SIDE; i++) v[i] = i, w[i] = i * i, want[i] = (v[i] * 2 + w[i]) * 3 + w[i];
    starpu_block_data_register(&hv, STARPU_MAIN_RAM, (uintptr_t)v, SIDE, SIDE * SIDE, SIDE, SIDE, 1, 4);
    starpu_block_data_register(&hw, STARPU_MAIN_RAM, (uintptr_t)w, SIDE, SIDE * SIDE, SIDE, SIDE, 1, 4);
    failed |=
        starpu_task_insert(&combine_cl, STARPU_RW, hv, STARPU_R, hw, STARPU_VALUE, &two, sizeof two, 0) != 0;
    starpu_data_map_filters(hv, 2, &rows, &planes);
    starpu_data_map_filters(hw, 2, &rows, &planes);
    for (int i = 0; i < PARTS; i++)
        for (int j = 0; j < PARTS; j++)
            failed |= starpu_task_insert(&combine_cl, STARPU_RW, starpu_data_get_sub_data(hv, 2, i, j),
                                         STARPU_R, starpu_data_get_sub_data(hw, 2, i, j), STARPU_VALUE,
                                         &three, sizeof three, 0) != 0;
    starpu_data_unpartition(hv, STARPU_MAIN_RAM);
    starpu_data_unpartition(hw, STARPU_MAIN_RAM);
    starpu_data_unregister(hv);
    starpu_data_unregister(hw);
    for (int i = 0; i < SIDE * SIDE; i++) wrong += v[i] != want[i];
    is_int(failed ? -1 : (int)wrong, 0, "a matrix in 16 pieces, used whole before, is right");
    starpu_shutdown();
}

/* ---- kernels that go wrong ---- */

static void stray_cuda(void *buffers[] UNUSED, void *arg UNUSED)
{
    gpu_launch(GPU_STRAY, 1, 1, NULL);
}
static struct starpu_codelet stray_cl = { .cuda_funcs = { stray_cuda },
                                          .cuda_flags = { STARPU_CUDA_ASYNC },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW },
                                          .name = "stray" };

/* In a process of its own, as its context is worth nothing afterwards. Returns what it printed. */
static const char *said_by(void (*program)(void))
{
    static char text[1 << 16];
    size_t got = 0;
    int ends[2], status = 0;
    if (pipe(ends)) return "no pipe";
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        program();
        fprintf(stderr, "orderly end\n");
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; got < sizeof text - 1 && (n = read(ends[0], text + got, sizeof text - 1 - got)) > 0;)
        got += (size_t)n;
    close(ends[0]);
    waitpid(child, &status, 0);
    snprintf(text + got, sizeof text - got, " status %d", status);
    return text;
}

static void program_looks(void)
{
    if (gpu_is_there()) fprintf(stderr, "a GPU is here\n");
}

static void note(const char *message, void *arg)
{
    (void)arg;
    fprintf(stderr, "the hook hears: %s\n", message);
}

static void program_stray(void)
{
    uint32_t x[64] = { 0 };
    gpu_is_there();
    orrery_set_error_hook(note, NULL);
    starpu_data_handle_t h;
    start(1, "eager");
    starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 64, 64, 64, 1, 1, 4);
    starpu_task_insert(&stray_cl, STARPU_RW, h, 0);
    int r = starpu_task_wait_for_all();
    starpu_data_unregister(h);
    starpu_shutdown();
    fprintf(stderr, "wait said %d\n", r);
}

static void strays(void)
{
    const char *said = said_by(program_stray);
    ok(strstr(said, "stray") && strstr(said, "CUDA_ERROR_ILLEGAL_ADDRESS") && strstr(said, "orderly end"),
       "a kernel that writes where nothing is fails its task, by name, and the program ends in order");
    diag("%s", said);
}

/* ---- what is left ---- */

static void program_leaks(void)
{
    size_t before = 0, after = 0, total;
    void *c;
    gpu_is_there();
    for (int i = 0; i < 6; i++) {
        if (i == 1) gpu.memory_info(&before, &total);
        start(1, "eager");
        if (i == 0) gpu.context_retain(&c, 0), gpu.context_set(c);
        random_tasks(200, 9);
        starpu_shutdown();
    }
    gpu.memory_info(&after, &total);
    fprintf(stderr, "left over: %ld KiB\n", ((long)before - (long)after) / 1024);
}

static void leaks(void)
{
    const char *said = said_by(program_leaks), *number = strstr(said, "left over: ");
    long kib = number ? atol(number + 11) : -1;
    ok(number && kib <= 4096, "five more starts of the runtime leave no memory of the GPU in use: %ld KiB",
       kib);
    if (!number) diag("%s", said);
}

/* ---- what the interface tells ---- */

static void told(void)
{
    char name[64];
    start(1, "eager");
    int worker = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    unsigned node = starpu_worker_get_memory_node((unsigned)worker);
    starpu_worker_get_name(worker, name, sizeof name);
    ok(strstr(name, "CUDA 0"), "its worker is called %s", name);
    starpu_ssize_t total = starpu_memory_get_total(node), available = starpu_memory_get_available(node);
    ok(total > 1 << 30 && available > 0 && available <= total,
       "its memory is counted: %.1f of %.1f GiB are free", (double)available / 0x1p30,
       (double)total / 0x1p30);
    uint32_t x[256] = { 0 };
    void *pinned = NULL;
    is_int(starpu_malloc(&pinned, 1 << 20), 0, "memory for copies is allocated");
    unsigned where = 0;
    ok(gpu.pointer_is(&where, GPU_POINTER_MEMORY, (gpu_address)(uintptr_t)pinned) == GPU_OK &&
           where == GPU_HOST_MEMORY,
       "and is pinned: CUDA knows it");
    starpu_free_noflag(pinned, 1 << 20);
    ok(gpu.pointer_is(&where, GPU_POINTER_MEMORY, (gpu_address)(uintptr_t)x) != GPU_OK,
       "as it does not know what is not");
    is_int(starpu_memory_pin(x, sizeof x), 0, "memory of the program is pinned");
    is_int(starpu_memory_unpin(x, sizeof x), 0, "and let go");
    starpu_shutdown();
}

int main(void)
{
    /* Processes of their own come first: one that used CUDA cannot fork another that does. */
    if (!strstr(said_by(program_looks), "a GPU is here")) skip_all("there is no GPU of CUDA");
    strays();
    leaks();
    if (!gpu_is_there()) return 1;
    told();
    mixtures();
    evicted();
    pieces();
    return done_testing();
}
