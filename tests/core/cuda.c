/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver on a double of CUDA's driver library: what runs, where, and that nothing is left behind.
 * Threads: main and the workers. Owns: the data of each case. Not here: what fails (cuda_faults.c).
 */
#include "tests/core/cuda_helper.h"

enum { N = 1000, TASKS = 20 };

/* ---- a vector, scaled ---- */

struct scale {
    float *at, factor;
    unsigned n;
};

static void scale_kernel(void *arg)
{
    struct scale *s = arg;
    for (unsigned i = 0; i < s->n; i++) s->at[i] *= s->factor;
}

static void scale_func(void *buffers[], void *arg)
{
    struct scale s = { .at = (float *)STARPU_VECTOR_GET_PTR(buffers[0]),
                       .n = STARPU_VECTOR_GET_NX(buffers[0]) };
    starpu_codelet_unpack_args(arg, &s.factor);
    cuda_launch(scale_kernel, &s, sizeof s);
}
static struct starpu_codelet scale_cl = {
    .cuda_funcs = { scale_func },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "scale",
};
/* Whatever is there counts as written. */
static void stay_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
/* As programs that never heard of streams have it: it waits for nothing, and says nothing. */
static struct starpu_codelet forgetful_cl = {
    .cuda_funcs = { scale_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "forgetful",
};

static struct starpu_codelet fill_cl = {
    .cuda_funcs = { stay_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill"
};

/* In the default stream, as <<<>>> without more is. */
static void usual_func(void *buffers[], void *arg)
{
    struct scale s = { .at = (float *)STARPU_VECTOR_GET_PTR(buffers[0]),
                       .n = STARPU_VECTOR_GET_NX(buffers[0]) };
    starpu_codelet_unpack_args(arg, &s.factor);
    cuda_launch_in(NULL, scale_kernel, &s, sizeof s);
}
static struct starpu_codelet usual_cl = {
    .cuda_funcs = { usual_func },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "usual",
};

/* Looks at the other device, and stays there. */
static void stray_func(void *buffers[], void *arg)
{
    scale_func(buffers, arg);
    starpu_cuda_set_device(!starpu_worker_get_devid(starpu_worker_get_id_check()));
}
static struct starpu_codelet stray_cl = {
    .cuda_funcs = { stray_func },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "stray",
};

static void fill(float *v)
{
    for (int i = 0; i < N; i++) v[i] = (float)i;
}

static int wrong(const float *v, float factor)
{
    int count = 0;
    for (int i = 0; i < N; i++) count += v[i] != (float)i * factor;
    return count;
}

/* Runs some of them on the devices in turn: how many numbers are wrong, -1: a task was refused. */
static int scaled(struct starpu_codelet *cl, int tasks, float *v)
{
    float two = 2;
    int failed = 0, devices = (int)starpu_cuda_worker_get_count();
    starpu_data_handle_t h;
    fill(v);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof *v);
    for (int i = 0; i < tasks; i++)
        failed |= starpu_task_insert(cl, STARPU_RW, h, STARPU_VALUE, &two, sizeof two,
                                     STARPU_EXECUTE_ON_WORKER, cuda_worker(i / 5 % devices), 0);
    failed |= starpu_task_wait_for_all();
    starpu_data_unregister(h);
    return failed ? -1 : wrong(v, (float)(1 << tasks));
}

static void vector(void)
{
    float v[N];
    cuda_start(1, NULL);
    is_int(starpu_cuda_worker_get_count(), 2, "the double has two devices, with a worker each");
    is_int(starpu_memory_nodes_get_count(), 3, "and a memory each");
    is_int(scaled(&scale_cl, TASKS, v), 0, "%d asynchronous kernels on two devices in turn scale a vector",
           TASKS);
    is_int(scaled(&forgetful_cl, TASKS, v), 0,
           "so do functions that neither wait for their kernels nor say STARPU_CUDA_ASYNC");
    is_int(scaled(&usual_cl, TASKS, v), 0, "and those that launch in the default stream");
    is_int(scaled(&stray_cl, TASKS, v), 0, "and those that leave another device current");
    starpu_shutdown();
    is_int(cuda_double.left(), 0, "at the end nothing is left of contexts, streams, events and memory");
}

/* ---- other machines ---- */

static void delayed(void)
{
    float v[N];
    int all = 0, left = 0;
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", "200");
    for (int peers = 0; peers < 2; peers++) {
        cuda_setting("ORR_DOUBLE_CUDA_PEERS", peers ? "1" : "0");
        cuda_start(1, "eager");
        all |= scaled(&scale_cl, TASKS, v) | scaled(&usual_cl, TASKS, v);
        starpu_shutdown();
        left += cuda_double.left();
    }
    is_int(all, 0, "whatever streams take, with and without access from device to device, results are right");
    is_int(left, 0, "and nothing is left");
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", NULL);
    cuda_setting("ORR_DOUBLE_CUDA_PEERS", NULL);
}

/* ---- several workers of a device, and a simulated device with the number of a real one ---- */

static struct CUstream_st *_Atomic streams[STARPU_NMAXWORKERS];

static void stream_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_store(&streams[starpu_worker_get_id()], starpu_cuda_get_local_stream());
}
static struct starpu_codelet stream_cl = { .cuda_funcs = { stream_func }, .name = "stream" };

static void shared(void)
{
    int twice = 0, missing = 0, cuda[STARPU_NMAXWORKERS];
    cuda_setting("STARPU_NWORKER_PER_CUDA", "2");
    cuda_setting("ORRERY_SIM_DEVICES", "1");
    cuda_start(1, NULL);
    int n = (int)starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, cuda, STARPU_NMAXWORKERS);
    for (int i = 0; i < n; i++) {
        atomic_store(&streams[cuda[i]], NULL);
        starpu_task_insert(&stream_cl, STARPU_EXECUTE_ON_WORKER, cuda[i], 0);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < n; i++) {
        missing += !atomic_load(&streams[cuda[i]]);
        for (int j = 0; j < i; j++)
            twice += atomic_load(&streams[cuda[i]]) && streams[cuda[i]] == streams[cuda[j]];
    }
    is_int(n, 5, "two workers for each of two devices, and a simulated device");
    ok(all_of(twice == 0, missing == 1),
       "each has a stream of its own, but the simulated one, which has none");
    starpu_shutdown();
    cuda_setting("STARPU_NWORKER_PER_CUDA", NULL);
    cuda_setting("ORRERY_SIM_DEVICES", NULL);
}

/* ---- again and again ---- */

static void again(void)
{
    float v[N];
    int all = 0, left = 0;
    for (int round = 0; round < 4; round++) {
        cuda_setting("ORR_DOUBLE_CUDA_DEVICES", round % 2 ? "3" : "1");
        cuda_start(1, "dmda");
        all |= scaled(&scale_cl, 6, v);
        starpu_shutdown();
        left += cuda_double.left();
    }
    is_int(all, 0, "the runtime starts and stops again and again, with other devices");
    is_int(left, 0, "and leaves nothing each time");
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", NULL);
}

/* ---- pinned memory ---- */

enum { LARGE = 1 << 20 };

static void pinned(void)
{
    static char own[3 * 4096];
    void *a, *b, *c;
    cuda_start(1, NULL);
    size_t before = cuda_double.pinned(NULL);
    starpu_malloc(&a, LARGE);
    ok(cuda_double.pinned(a) >= LARGE, "what starpu_malloc gives is pinned");
    starpu_free_noflag(a, LARGE);
    starpu_malloc_flags(&b, LARGE, STARPU_MALLOC_COUNT);
    ok(all_of(cuda_double.pinned(NULL) == before, cuda_double.pinned(b) == 0),
       "and not any more when it is freed, nor is what is allocated without STARPU_MALLOC_PINNED");
    starpu_free_flags(b, LARGE, STARPU_MALLOC_COUNT);
    int r = starpu_memory_pin(own, sizeof own) | starpu_memory_pin(own, sizeof own);
    r |= starpu_memory_unpin(own, sizeof own);
    bool once = cuda_double.pinned(own) == sizeof own;
    r |= starpu_memory_unpin(own, sizeof own) | starpu_memory_unpin(own, sizeof own);
    ok(all_of(r == 0, once, cuda_double.pinned(NULL) == before),
       "the program's own is as long as it is pinned more often than unpinned");

    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, LARGE, 1);
    starpu_data_acquire(h, STARPU_W);
    ok(cuda_double.pinned(starpu_data_get_local_ptr(h)) >= LARGE,
       "so is what data without memory of their own get");
    starpu_data_release(h);
    starpu_data_unregister(h);
    starpu_malloc(&c, LARGE);
    starpu_memory_pin(own, sizeof own);
    starpu_shutdown();
    is_int((long long)cuda_double.pinned(NULL), 0, "at the end nothing is pinned, freed or not");
    starpu_free_noflag(c, LARGE);

    cuda_setting("STARPU_DISABLE_PINNING", "1");
    cuda_start(1, NULL);
    starpu_malloc(&a, LARGE);
    r = starpu_memory_pin(own, sizeof own);
    ok(all_of(r == 0, cuda_double.pinned(a) == 0, cuda_double.pinned(own) == 0),
       "STARPU_DISABLE_PINNING=1: nothing is");
    starpu_free_noflag(a, LARGE);
    starpu_shutdown();
    cuda_setting("STARPU_DISABLE_PINNING", NULL);

    cuda_setting("ORR_DOUBLE_CUDA_FAIL", "cuMemHostRegister_v2:1-1000");
    cuda_start(1, NULL);
    r = starpu_malloc(&a, LARGE);
    int own_r = starpu_memory_pin(own, sizeof own);
    ok(all_of(r == 0, a != NULL, own_r == -EIO), "where it cannot be pinned, memory is memory nevertheless");
    starpu_memory_unpin(own, sizeof own);
    starpu_free_noflag(a, LARGE);
    starpu_shutdown();
    cuda_setting("ORR_DOUBLE_CUDA_FAIL", NULL);
}

/* ---- memory that is not pinned ---- */

enum { MANY = 12, ROW = 3 << 20, ROWS = 300, GAP = 100 };

static void invert_rows(void *arg)
{
    struct {
        unsigned char *at;
        size_t bytes, rows, row;
    } *m = arg;
    for (size_t y = 0; y < m->rows; y++)
        for (size_t i = 0; i < m->bytes; i++) m->at[y * m->row + i] ^= 0xff;
}

static void invert_func(void *buffers[], void *arg UNUSED)
{
    struct {
        unsigned char *at;
        size_t bytes, rows, row;
    } m = { (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[0]), STARPU_MATRIX_GET_NX(buffers[0]),
            STARPU_MATRIX_GET_NY(buffers[0]), STARPU_MATRIX_GET_LD(buffers[0]) };
    cuda_launch(invert_rows, &m, sizeof m);
}
static struct starpu_codelet invert_cl = {
    .cuda_funcs = { invert_func },
    .cuda_flags = { STARPU_CUDA_ASYNC },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "invert",
};

static unsigned char byte_of(size_t i)
{
    return (unsigned char)(i * 2654435761u >> 13);
}

/* Inverts it on a device: how many bytes are not what they should be, those between rows too. */
static size_t inverted(unsigned char *at, size_t bytes, size_t rows, size_t row)
{
    size_t bad = 0;
    starpu_data_handle_t h;
    for (size_t i = 0; i < rows * row; i++) at[i] = byte_of(i);
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)at, (uint32_t)row, (uint32_t)bytes,
                                (uint32_t)rows, 1);
    starpu_task_insert(&invert_cl, STARPU_RW, h, 0);
    starpu_data_unregister(h);
    for (size_t i = 0; i < rows * row; i++)
        bad += at[i] != (unsigned char)(i % row < bytes ? ~byte_of(i) : byte_of(i));
    return bad;
}

static void pageable(void)
{
    unsigned char *at = malloc((size_t)MANY * ROW);
    starpu_data_handle_t h[MANY];
    size_t bad = 0;
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", "500");
    cuda_start(0, "eager");
    is_int((long long)inverted(at, ROW, 2, ROW), 0, "rows larger than a stop come and go in parts");
    is_int((long long)inverted(at, 8192, ROWS, 8192 + GAP), 0, "rows of a matrix with gaps some at a time");
    for (size_t i = 0; i < MANY; i++) {
        memset(at + i * ROW, (int)i, ROW);
        starpu_matrix_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)(at + i * ROW), ROW, ROW, 1, 1);
    }
    for (size_t i = 0; i < MANY; i++) starpu_data_prefetch_on_node(h[i], cuda_node((int)i % 2), 1);
    for (size_t i = 0; i < MANY; i++) starpu_task_insert(&invert_cl, STARPU_RW, h[i], 0);
    for (size_t i = 0; i < MANY; i++) {
        starpu_data_unregister(h[i]);
        for (size_t k = 0; k < ROW; k++) bad += at[i * ROW + k] != (unsigned char)~i;
    }
    is_int((long long)bad, 0, "more copies at a time than there are stops wait for each other");
    starpu_shutdown();
    is_int(cuda_double.left(), 0, "and nothing is left");
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", NULL);
    free(at);
}

/* ---- the main memory that a device is near ---- */

enum { GPUS = 4 };

static void near_memory(void)
{
    char path[PATH_MAX];
    const char *top = getenv("ORR_SRCDIR"), *file = __FILE__;
    int right = 0;
    if (top)
        snprintf(path, sizeof path, "%s/tests/machines/server.xml", top);
    else
        snprintf(path, sizeof path, "%.*s../machines/server.xml", (int)(strrchr(file, '/') + 1 - file), file);
    cuda_setting("HWLOC_XMLFILE", path);
    cuda_setting("STARPU_USE_NUMA", "1");
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "4");
    cuda_start(1, "eager");
    ok(all_of(starpu_memory_nodes_get_numa_count() == GPUS, starpu_cuda_worker_get_count() == GPUS),
       "a machine with %d NUMA nodes and a GPU near each", GPUS);
    for (unsigned i = 0; i < GPUS; i++) {
        starpu_data_handle_t h;
        starpu_vector_data_register(&h, -1, 0, N, sizeof(float));
        starpu_task_insert(&fill_cl, STARPU_W, h, STARPU_EXECUTE_ON_WORKER, cuda_worker((int)i), 0);
        starpu_task_wait_for_all();
        starpu_data_evict_from_node(h, cuda_node((int)i));
        while (starpu_data_is_on_node(h, cuda_node((int)i))) starpu_usleep(100);
        right += starpu_data_is_on_node(h, i);
        starpu_data_unregister(h);
    }
    is_int(right, GPUS, "what leaves a device goes to the main memory near it, as its place on the bus says");
    starpu_shutdown();
    cuda_setting("HWLOC_XMLFILE", NULL);
    cuda_setting("STARPU_USE_NUMA", NULL);
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", NULL);
}

/* ---- brief tasks are taken in numbers, others are not ---- */

static atomic_int on_cpu;

static void nothing_kernel(void *arg UNUSED)
{
}
static void brief_func(void *buffers[] UNUSED, void *arg)
{
    cuda_launch(nothing_kernel, &arg, sizeof arg);
}
static void long_kernel(void *arg UNUSED)
{
    usleep(20000);
}
static void long_func(void *buffers[] UNUSED, void *arg)
{
    cuda_launch(long_kernel, &arg, sizeof arg);
}
static void long_cpu(void *buffers[] UNUSED, void *arg)
{
    atomic_fetch_add(&on_cpu, 1);
    long_kernel(arg);
}
static struct starpu_codelet brief_cl = { .cuda_funcs = { brief_func }, .cuda_flags = { STARPU_CUDA_ASYNC } };
static struct starpu_codelet long_cl = { .cuda_funcs = { long_func },
                                         .cpu_funcs = { long_cpu },
                                         .cuda_flags = { STARPU_CUDA_ASYNC } };

static void brief_and_long(void)
{
    enum { BRIEF = 500, LONG = 8 };
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "1");
    cuda_start(1, "eager");
    int failed = 0;
    for (int i = 0; i < BRIEF; i++) failed |= starpu_task_insert(&brief_cl, 0);
    failed |= starpu_task_wait_for_all();
    for (int i = 0; i < LONG; i++) failed |= starpu_task_insert(&long_cl, 0);
    failed |= starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&on_cpu) > 1),
       "after %d brief tasks a device leaves others long ones: a CPU runs %d of %d", BRIEF,
       atomic_load(&on_cpu), LONG);
    starpu_shutdown();
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", NULL);
}

int main(void)
{
    vector();
    delayed();
    shared();
    again();
    pinned();
    pageable();
    near_memory();
    brief_and_long();
    return done_testing();
}
