/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda: what the runtime adds on a GPU of CUDA, beside CUDA's own calls in the same run. Bare and by tasks in
 * turn, after a round that warms up; medians of the rounds.
 *
 * launches: a task with an empty kernel, alone and in a row, beside a launch
 * copies: data fetched to the GPU and back, in pinned memory and not, beside the copies alone
 * overlap: tiles that come in while kernels run, beside the ideal: the first copy, then copies or kernels,
 * whichever take longer; where a part of the tiles fits, changed ones leave as others come
 * product: of two matrices in tiles, beside one call of cuBLAS, from and to main memory
 *
 * -o launches|copies|overlap|product: only these. -n launches (20000) -b KiB of a tile (4096) -t tiles (64)
 * -N rows of the product (16384) -T rows of its tiles (2048)
 * Threads: main; launches on the worker of the first GPU. Owns: the data. Not here: OpenCL (opencl.c).
 */
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "measure.h"

enum { ROUNDS = 5 };

static int worker;
static unsigned node;
static void *context;

static void must(int r, const char *what)
{
    if (r == 0) return;
    fprintf(stderr, "cuda: %s: error %d\n", what, r);
    exit(1);
}

/* ---- launches ---- */

static void empty_func(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    gpu_launch(GPU_EMPTY, 1, 1, NULL);
}
static struct starpu_codelet empty_cl = { .cuda_funcs = { empty_func },
                                          .cuda_flags = { STARPU_CUDA_ASYNC },
                                          .name = "empty" };

static struct CUstream_st *bare_stream;

static void launch_bare(void)
{
    must(gpu.launch(gpu_kernels[worker][GPU_EMPTY], 1, 1, 1, 1, 1, 1, 0, bare_stream, NULL, NULL),
         "a launch");
}

static void submit(struct starpu_codelet *cl, int synchronous)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->synchronous = synchronous;
    if (starpu_task_submit(t) != 0) exit(1);
}

/* One launch, or one task, is awaited before the next; us for each. */
static double one_at_a_time(int n, int tasks)
{
    double start = now();
    for (int i = 0; i < n / 20 + 1; i++) {
        if (tasks) {
            submit(&empty_cl, 1);
            continue;
        }
        launch_bare();
        must(gpu.stream_wait(bare_stream), "waiting");
    }
    return (now() - start) * 1e6 / (n / 20 + 1);
}

static double in_a_row(int n, int tasks)
{
    double start = now();
    for (int i = 0; i < n; i++) {
        if (tasks)
            submit(&empty_cl, 0);
        else
            launch_bare();
    }
    if (tasks)
        starpu_task_wait_for_all();
    else
        must(gpu.stream_wait(bare_stream), "waiting");
    return (now() - start) * 1e6 / n;
}

/* The same bare and by tasks, in turn; the medians of each, and of their ratio. */
static void compare(double (*measure)(int n, int tasks), int n, const char *what, const char *unit)
{
    struct in_turn r = measure_in_turn(measure, n);
    printf("cuda %-22s bare %8.2f  task %8.2f %-5s ratio %.3f\n", what, r.bare, r.task, unit, r.ratio);
    fflush(stdout);
}

/* ---- copies ---- */

/* Main memory with something in it, pinned or not. */
static char *memory_get(size_t size, bool pinned)
{
    void *p = NULL;
    if (pinned)
        must(starpu_malloc(&p, size), "memory");
    else
        p = malloc(size);
    must(p == NULL, "memory");
    return memset(p, 1, size);
}

static void memory_put(char *p, size_t size, bool pinned)
{
    if (pinned)
        starpu_free_noflag(p, size);
    else
        free(p);
}

static char *memory;
static size_t bytes;
static gpu_address on_device;

static void stay_func(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}
static struct starpu_codelet write_cl = { .cuda_funcs = { stay_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };

/* GB/s of a copy in (n 0) or out (1). */
static double copied(int n, int tasks)
{
    starpu_data_handle_t h;
    if (!tasks) {
        double start = now();
        must(n ? gpu.copy_from(memory, on_device, bytes, bare_stream)
               : gpu.copy_to(on_device, memory, bytes, bare_stream),
             "a copy");
        must(gpu.stream_wait(bare_stream), "waiting");
        return (double)bytes * 1e-9 / (now() - start);
    }
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)memory, (uint32_t)(bytes / 4), 4);
    starpu_data_fetch_on_node(h, node, 0); /* allocates there, too: kept from then on */
    starpu_data_acquire(h, STARPU_RW);
    starpu_data_release(h);
    double start = now();
    starpu_data_fetch_on_node(h, node, 0);
    double in = now() - start;
    starpu_task_insert(&write_cl, STARPU_RW, h, 0);
    starpu_task_wait_for_all();
    start = now();
    starpu_data_acquire(h, STARPU_R);
    double out = now() - start;
    starpu_data_release(h);
    starpu_data_unregister(h);
    return (double)bytes * 1e-9 / (n ? out : in);
}

static void copies(size_t mib, bool pinned)
{
    char what[40];
    bytes = mib << 20;
    memory = memory_get(bytes, pinned);
    must(gpu.alloc(&on_device, bytes), "memory of the GPU");
    for (int out = 0; out < 2; out++) {
        snprintf(what, sizeof what, "%zu MiB %s, %s", mib, out ? "out" : "in",
                 pinned ? "pinned" : "pageable");
        compare(copied, out, what, "GB/s");
    }
    gpu.free(on_device);
    memory_put(memory, bytes, pinned);
}

/* ---- copies beside kernels ---- */

static uint64_t spin_ns;
static void spin_func(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    gpu_spin(spin_ns);
}
static struct starpu_codelet spin_cl = { .cuda_funcs = { spin_func },
                                         .cuda_flags = { STARPU_CUDA_ASYNC },
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW },
                                         .name = "spin" };

/* Returns ideal over real time. */
static double overlap(int tiles, size_t tile_bytes, char *tile_memory, double copy_s, bool prefetches)
{
    starpu_data_handle_t *h = calloc((size_t)tiles, sizeof *h);
    for (int i = 0; i < tiles; i++)
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)(tile_memory + (size_t)i * tile_bytes),
                                    (uint32_t)(tile_bytes / 4), 4);
    double start = now();
    for (int i = 0; i < tiles; i++) {
        if (prefetches) starpu_data_prefetch_on_node(h[i], node, 1);
        starpu_task_insert(&spin_cl, STARPU_RW, h[i], 0);
    }
    starpu_task_wait_for_all();
    double real_s = now() - start, spin_s = (double)spin_ns * 1e-9;
    for (int i = 0; i < tiles; i++) starpu_data_unregister(h[i]);
    free(h);
    return (copy_s + tiles * (copy_s > spin_s ? copy_s : spin_s) + (copy_s > spin_s ? spin_s : 0)) / real_s;
}

static void overlaps(int tiles, size_t tile_bytes, bool pinned, const char *fits)
{
    size_t all = (size_t)tiles * tile_bytes;
    char *tile_memory = memory_get(all, pinned);
    double samples[2][ROUNDS], copy_s = 0;
    must(gpu.alloc(&on_device, tile_bytes), "memory of the GPU");
    memory = tile_memory;
    bytes = tile_bytes;
    for (int i = 0; i < 20; i++) copy_s = (double)bytes * 1e-9 / copied(0, 0);
    gpu.free(on_device);
    spin_ns = (uint64_t)(copy_s * 1.1e9);
    for (int p = 0; p < 2; p++) {
        overlap(tiles, tile_bytes, tile_memory, copy_s, p);
        for (int i = 0; i < ROUNDS; i++) samples[p][i] = overlap(tiles, tile_bytes, tile_memory, copy_s, p);
    }
    printf(
        "cuda overlap, %zu KiB %s, %s: copy %.0f us, kernel %.0f us: %.3f of ideal, %.3f with prefetches\n",
        tile_bytes / 1024, pinned ? "pinned" : "pageable", fits, copy_s * 1e6, (double)spin_ns * 1e-3,
        median(samples[0], ROUNDS), median(samples[1], ROUNDS));
    fflush(stdout);
    memory_put(tile_memory, all, pinned);
}

/* ---- a product in tiles, beside cuBLAS' of the whole ---- */

/* Of cuBLAS, which is loaded where the bench runs. */
static int (*dgemm)(void *handle, int trans_a, int trans_b, int m, int n, int k, const double *alpha,
                    const double *a, int lda, const double *b, int ldb, const double *beta, double *c,
                    int ldc);
static int (*create)(void **handle_out), (*set_stream)(void *handle, struct CUstream_st *s);

static bool find_cublas(void)
{
    static const char *const files[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11" };
    void *library = NULL;
    for (unsigned i = 0; !library && i < sizeof files / sizeof *files; i++)
        library = dlopen(files[i], RTLD_NOW);
    if (!library) return false;
    *(void **)&dgemm = dlsym(library, "cublasDgemm_v2");
    *(void **)&create = dlsym(library, "cublasCreate_v2");
    *(void **)&set_stream = dlsym(library, "cublasSetStream_v2");
    return dgemm && create && set_stream;
}

static void *handles[STARPU_NMAXWORKERS]; /* [own: the worker] */

static void make_handle(void *arg)
{
    void **handle = &handles[starpu_worker_get_id_check()];
    (void)arg;
    must(create(handle), "cublasCreate");
    must(set_stream(*handle, starpu_cuda_get_local_stream()), "cublasSetStream");
}

static void product_func(void *buffers[], void *arg)
{
    double one = 1;
    int n = (int)STARPU_MATRIX_GET_NX(buffers[0]);
    (void)arg;
    must(dgemm(handles[starpu_worker_get_id_check()], 0, 0, n, n, n, &one,
               (const double *)STARPU_MATRIX_GET_PTR(buffers[0]), n,
               (const double *)STARPU_MATRIX_GET_PTR(buffers[1]), n, &one,
               (double *)STARPU_MATRIX_GET_PTR(buffers[2]), n),
         "cublasDgemm");
}
static struct starpu_codelet product_cl = { .cuda_funcs = { product_func },
                                            .cuda_flags = { STARPU_CUDA_ASYNC },
                                            .nbuffers = 3,
                                            .modes = { STARPU_R, STARPU_R, STARPU_RW },
                                            .name = "product" };

/* From and to main memory, as three matrices of tiles that lie one behind the other; *home_out: of that,
 * until the results are home and the data end. */
static double product_by_tasks(double *m, int size, int tile, double *home_out)
{
    int side = size / tile, tiles = side * side;
    size_t words = (size_t)tile * (size_t)tile;
    starpu_data_handle_t *h = calloc(3 * (size_t)tiles, sizeof *h), *a = h, *b = h + tiles, *c = b + tiles;
    for (int i = 0; i < 3 * tiles; i++)
        starpu_matrix_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)(m + (size_t)i * words),
                                    (uint32_t)tile, (uint32_t)tile, (uint32_t)tile, sizeof *m);
    double start = now();
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            for (int k = 0; k < side; k++)
                starpu_task_insert(&product_cl, STARPU_R, a[i * side + k], STARPU_R, b[k * side + j],
                                   STARPU_RW, c[i * side + j], 0);
    starpu_task_wait_for_all();
    double before = now();
    for (int i = 0; i < 3 * tiles; i++) starpu_data_unregister(h[i]);
    free(h);
    *home_out = now() - before;
    return now() - start;
}

/* The same by one call, all of it copied in before and the result out behind; *alone_out: that call alone. */
static double product_bare(void *handle, double *m, int size, double *alone_out)
{
    size_t all = (size_t)size * (size_t)size * sizeof *m;
    double one = 1;
    gpu_address d;
    must(gpu.alloc(&d, 3 * all), "memory of the GPU");
    const double *on = (const double *)(uintptr_t)d;
    double start = now();
    must(gpu.copy_to(d, m, 3 * all, bare_stream), "a copy");
    must(gpu.stream_wait(bare_stream), "waiting");
    double before = now();
    must(dgemm(handle, 0, 0, size, size, size, &one, on, size, on + all / sizeof *m, size, &one,
               (double *)(uintptr_t)(d + 2 * all), size),
         "cublasDgemm");
    must(gpu.stream_wait(bare_stream), "waiting");
    *alone_out = now() - before;
    must(gpu.copy_from(m + 2 * all / sizeof *m, d + 2 * all, all, bare_stream), "a copy");
    must(gpu.stream_wait(bare_stream), "waiting");
    double s = now() - start;
    gpu.free(d);
    return s;
}

/* The products of the tiles alone, on the GPU. */
static double product_in_tiles(void *handle, int size, int tile)
{
    gpu_address d;
    size_t words = (size_t)tile * (size_t)tile;
    double one = 1;
    long calls = (long)(size / tile) * (size / tile) * (size / tile);
    must(gpu.alloc(&d, 3 * words * sizeof one), "memory of the GPU");
    double *on = (double *)(uintptr_t)d, start = 0;
    for (long i = -8; i < calls; i++) {
        if (i == 0) must(gpu.stream_wait(bare_stream), "waiting");
        if (i == 0) start = now();
        must(dgemm(handle, 0, 0, tile, tile, tile, &one, on, tile, on + words, tile, &one, on + 2 * words,
                   tile),
             "cublasDgemm");
    }
    must(gpu.stream_wait(bare_stream), "waiting");
    gpu.free(d);
    return now() - start;
}

static void products(int size, int tile)
{
    double *m, tasks[ROUNDS], bare[ROUNDS], alone[ROUNDS], home[ROUNDS];
    size_t all = 3 * (size_t)size * (size_t)size * sizeof *m;
    double flops = 2.0 * size * size * size;
    void *handle;
    if (!find_cublas()) {
        printf("cuda product: no cuBLAS\n");
        return;
    }
    starpu_execute_on_each_worker(make_handle, NULL, STARPU_CUDA);
    must(create(&handle), "cublasCreate");
    must(set_stream(handle, bare_stream), "cublasSetStream");
    m = (double *)(void *)memory_get(all, true);
    for (size_t i = 0; i < all / sizeof *m; i++) m[i] = (double)(i % 7);
    product_by_tasks(m, size, tile, home);
    product_bare(handle, m, size, alone);
    for (int i = 0; i < ROUNDS; i++) {
        bare[i] = product_bare(handle, m, size, &alone[i]);
        tasks[i] = product_by_tasks(m, size, tile, &home[i]);
    }
    double tiles = product_in_tiles(handle, size, tile);
    printf("cuda product %d in tiles of %d, from and to main memory: tasks %.1f ms (%.1f to bring home), "
           "cuBLAS %.1f ms; the product alone %.1f (%.1f TFlop/s), in tiles %.1f\n",
           size, tile, median(tasks, ROUNDS) * 1e3, median(home, ROUNDS) * 1e3, median(bare, ROUNDS) * 1e3,
           median(alone, ROUNDS) * 1e3, flops * 1e-12 / median(alone, ROUNDS), tiles * 1e3);
    memory_put((char *)m, all, true);
}

static void enter(void *arg)
{
    (void)arg;
    gpu.context_get(&context);
}

static void start(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 0;
    conf.ncuda = 1;
    conf.nopencl = 0;
    must(starpu_init(&conf), "starpu_init");
    if (!gpu_prepare()) exit(1);
    worker = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
    node = starpu_worker_get_memory_node((unsigned)worker);
    starpu_execute_on_each_worker(enter, NULL, STARPU_CUDA);
    must(gpu.context_set(context), "the context");
    must(gpu.stream_create(&bare_stream, GPU_STREAM_NON_BLOCKING), "a stream");
}

int main(int argc, char **argv)
{
    int n = (int)option_number(argc, argv, "-n", 20000), tiles = (int)option_number(argc, argv, "-t", 64);
    size_t tile_bytes = (size_t)option_number(argc, argv, "-b", 4096) * 1024;
    const char *only = option_text(argc, argv, "-o", "");
    char limit[24];
    if (!gpu_is_there()) {
        printf("no GPU of CUDA\n");
        return 0;
    }
    start();
    if (strstr("launches", only)) {
        compare(one_at_a_time, n, "one at a time", "us");
        compare(in_a_row, n, "in a row", "us");
    }
    for (int i = 0; i < 4 && strstr("copies", only); i++) copies(i % 2 ? 256 : 1, i < 2);
    if (strstr("overlap", only)) {
        overlaps(tiles, tile_bytes, true, "all fit");
        overlaps(tiles, tile_bytes, false, "all fit");
    }
    if (strstr("product", only))
        products((int)option_number(argc, argv, "-N", 16384), (int)option_number(argc, argv, "-T", 2048));
    starpu_shutdown();
    if (!strstr("overlap", only)) return 0;
    snprintf(limit, sizeof limit, "%zu", tile_bytes * 8 >> 20);
    setenv("STARPU_LIMIT_CUDA_MEM", limit, 1);
    start();
    overlaps(tiles, tile_bytes, true, "8 fit");
    starpu_shutdown();
    return 0;
}
