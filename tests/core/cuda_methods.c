/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interfaces of the program's whose methods copy to CUDA devices, from them and between them: asynchronous
 * ones in the stream they are given, others in the device's context, all as a worker of the device.
 * Threads: main and the workers; methods are called by any. Owns: the interface of arrays. Not here: methods
 * for OpenCL (tests/opencl/links.c), any_to_any (data_own_interface.c).
 */
#include "tests/core/cuda_helper.h"

int starpu_cuda_copy_async_sync(void *src, unsigned src_node, void *dst, unsigned dst_node, size_t bytes,
                                struct CUstream_st *stream, int kind);

enum { N = 50000, ROUNDS = 12 };

struct array {
    int *at;
    size_t count;
};

static void array_register(starpu_data_handle_t h, unsigned home, void *given)
{
    for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
        struct array *a = starpu_data_get_interface_on_node(h, node);
        *a = *(struct array *)given;
        if (node != home) a->at = NULL;
    }
}
static starpu_ssize_t array_allocate(void *interface, unsigned node)
{
    struct array *a = interface;
    a->at = (int *)starpu_malloc_on_node(node, a->count * sizeof(int));
    return a->at ? (starpu_ssize_t)(a->count * sizeof(int)) : -ENOMEM;
}
static void array_free(void *interface, unsigned node)
{
    struct array *a = interface;
    starpu_free_on_node(node, (uintptr_t)a->at, a->count * sizeof(int));
}
static size_t array_size(starpu_data_handle_t h)
{
    return ((struct array *)starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM))->count * sizeof(int);
}
static uint32_t array_footprint(starpu_data_handle_t h)
{
    return (uint32_t)array_size(h);
}

/* ---- its methods ---- */

static atomic_int strangers, down, up, across, failures_due, holding;
static int (*context_get)(void **);

/* Whether the calling thread passes for a worker of the device at one end, in a context of CUDA's. */
static void look(unsigned src_node, unsigned dst_node)
{
    unsigned node = dst_node == STARPU_MAIN_RAM ? src_node : dst_node;
    unsigned id = starpu_worker_get_id_check();
    void *context = NULL;
    if (starpu_worker_get_memory_node(id) != node || starpu_worker_get_type((int)id) != STARPU_CUDA_WORKER ||
        !starpu_cuda_get_local_stream() || context_get(&context) != 0 || !context)
        atomic_fetch_add(&strangers, 1);
}

static int copy(void *src, unsigned src_node, void *dst, unsigned dst_node, starpu_cudaStream_t stream)
{
    struct array *from = src, *to = dst;
    look(src_node, dst_node);
    return starpu_cuda_copy_async_sync(from->at, src_node, to->at, dst_node, from->count * sizeof(int),
                                       (struct CUstream_st *)stream, 0);
}

static int down_async(void *src, unsigned src_node, void *dst, unsigned dst_node, starpu_cudaStream_t stream)
{
    atomic_fetch_add(&down, 1);
    int r = copy(src, src_node, dst, dst_node, stream);
    return atomic_load(&failures_due) ? -EIO : r;
}
static int up_async(void *src, unsigned src_node, void *dst, unsigned dst_node, starpu_cudaStream_t stream)
{
    atomic_fetch_add(&up, 1);
    return copy(src, src_node, dst, dst_node, stream);
}
static int across_async(void *src, unsigned src_node, void *dst, unsigned dst_node,
                        starpu_cudaStream_t stream)
{
    atomic_fetch_add(&across, 1);
    return copy(src, src_node, dst, dst_node, stream);
}
static int down_now(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    return down_async(src, src_node, dst, dst_node, NULL);
}
static int up_now(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    return up_async(src, src_node, dst, dst_node, NULL);
}
static int across_now(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    return across_async(src, src_node, dst, dst_node, NULL);
}

/* The same, as lazy programs have it: the copy goes on in the stream when it returns 0. */
static int up_lazily(void *src, unsigned src_node, void *dst, unsigned dst_node, starpu_cudaStream_t stream)
{
    int r = up_async(src, src_node, dst, dst_node, stream);
    return r == -EAGAIN ? 0 : r;
}

static atomic_int generic;
static int any_to_any(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async)
{
    struct array *from = src, *to = dst;
    atomic_fetch_add(&generic, 1);
    return starpu_interface_copy((uintptr_t)from->at, 0, src_node, (uintptr_t)to->at, 0, dst_node,
                                 from->count * sizeof(int), async);
}

static const struct starpu_data_copy_methods starting = { .ram_to_cuda_async = down_async,
                                                          .cuda_to_ram_async = up_async,
                                                          .cuda_to_cuda_async = across_async },
                                             lazy = { .ram_to_cuda_async = down_async,
                                                      .cuda_to_ram_async = up_lazily,
                                                      .cuda_to_cuda_async = across_async },
                                             waiting = { .ram_to_cuda = down_now,
                                                         .cuda_to_ram = up_now,
                                                         .cuda_to_cuda = across_now },
                                             starting_too = { .any_to_any = any_to_any,
                                                                .ram_to_cuda_async = down_async,
                                                                .cuda_to_ram_async = up_async,
                                                                .cuda_to_cuda_async = across_async },
                                             waiting_down = { .any_to_any = any_to_any,
                                                         .ram_to_cuda = down_now,
                                                         .cuda_to_ram_async = up_async };

static struct starpu_data_interface_ops ops = { .register_data_handle = array_register,
                                                .allocate_data_on_node = array_allocate,
                                                .free_data_on_node = array_free,
                                                .get_size = array_size,
                                                .footprint = array_footprint,
                                                .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
                                                .interface_size = sizeof(struct array) };

/* ---- tasks ---- */

static void add_kernel(void *arg)
{
    const struct array *a = arg;
    for (size_t i = 0; i < a->count; i++) a->at[i]++;
}
static void add_func(void *buffers[], void *arg UNUSED)
{
    cuda_launch(add_kernel, buffers[0], sizeof(struct array));
}
static void add_cpu_func(void *buffers[], void *arg UNUSED)
{
    add_kernel(buffers[0]);
}
static struct starpu_codelet add_cl = {
    .cuda_funcs = { add_func }, .cuda_flags = { STARPU_CUDA_ASYNC }, .nbuffers = 1, .modes = { STARPU_RW }
};
static struct starpu_codelet both_cl = {
    .cpu_funcs = { add_cpu_func }, .cuda_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }
};

/* Keeps the CPU until a method was called. */
static void hold_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_store(&holding, 1);
    while (atomic_load(&down) == 0) sched_yield();
}
static struct starpu_codelet hold_cl = { .cpu_funcs = { hold_func }, .where = STARPU_CPU };

static int cells[N];

static starpu_data_handle_t fresh(const struct starpu_data_copy_methods *methods)
{
    starpu_data_handle_t h;
    for (int i = 0; i < N; i++) cells[i] = i;
    struct array given = { cells, N };
    ops.copy_methods = methods;
    starpu_data_register(&h, STARPU_MAIN_RAM, &given, &ops);
    down = up = across = strangers = 0;
    return h;
}

static bool are(int more)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += cells[i] != i + more;
    return wrong == 0;
}

/* Two devices in turn, and main memory now and then. */
static void to_and_fro(const struct starpu_data_copy_methods *methods, const char *which)
{
    starpu_data_handle_t h = fresh(methods);
    int failed = 0;
    bool well = true;
    for (int i = 0; i < ROUNDS; i++) {
        failed |= starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, cuda_worker(i % 2), 0);
        if (i % 4 < 3) continue;
        failed |= starpu_data_acquire(h, STARPU_RW);
        well &= are(i + 1);
        starpu_data_release(h);
    }
    starpu_data_unregister(h);
    ok(all_of(!failed, well, are(ROUNDS), down == 3, up == 3, across == 9),
       "%s copy to devices, from them and between them", which);
    is_int(atomic_load(&strangers), 0, "each as a worker of the device, in its context");
}

/* any_to_any makes the copies for which there is no other method, or none that starts them. */
static void beside_any_to_any(bool foreground)
{
    cuda_setting("STARPU_DISABLE_ASYNCHRONOUS_COPY", foreground ? "1" : NULL);
    cuda_start(1, NULL);
    atomic_store(&generic, 0);
    to_and_fro(&starting_too, "beside any_to_any, those of pairs");
    is_int(atomic_load(&generic), 0, "which is not asked");
    starpu_data_handle_t h = fresh(&waiting_down);
    int failed = starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, cuda_worker(0), 0);
    starpu_data_unregister(h);
    ok(all_of(!failed, are(1), atomic_load(&generic) == !foreground, down == foreground, up == 1),
       foreground ? "and one that waits for its copy" : "it is where that of the pair would wait");
    starpu_shutdown();
    cuda_setting("STARPU_DISABLE_ASYNCHRONOUS_COPY", NULL);
}

/* What it began in the stream goes on, and its failure is that of the copy. */
static void that_fails(void)
{
    starpu_data_handle_t h = fresh(&starting);
    struct starpu_task *task = starpu_task_create();
    atomic_store(&failures_due, 1);
    task->cl = &both_cl;
    task->handles[0] = h;
    task->detach = 0;
    int failed = starpu_task_insert(&hold_cl, 0);
    while (!failed && !atomic_load(&holding)) sched_yield();
    failed |= starpu_task_submit(task) || starpu_task_wait(task);
    atomic_store(&failures_due, 0);
    starpu_data_unregister(h);
    ok(all_of(!failed, are(1)), "a task whose data such a method cannot bring runs elsewhere");
}

int main(void)
{
    alarm(50);
    cuda_setting("ORR_DOUBLE_CUDA_DELAY_US", "300");
    cuda_start(1, NULL);
    void *library = dlopen(getenv("ORRERY_CUDA_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    *(void **)&context_get = cuda_symbol(library, "cuCtxGetCurrent");
    to_and_fro(&starting, "methods that start copies in a stream");
    to_and_fro(&lazy, "those that do not say that they go on");
    to_and_fro(&waiting, "those that wait");
    starpu_shutdown();
    is_int(cuda_double.left(), 0, "and leave nothing behind");
    setenv("STARPU_DISABLE_ASYNCHRONOUS_COPY", "1", 1);
    cuda_start(1, NULL);
    to_and_fro(&starting, "where copies are to be awaited, methods that start them");
    starpu_shutdown();
    unsetenv("STARPU_DISABLE_ASYNCHRONOUS_COPY");
    beside_any_to_any(false);
    beside_any_to_any(true);
    cuda_setting("ORR_DOUBLE_CUDA_DEVICES", "1");
    cuda_start(1, NULL);
    that_fails();
    starpu_shutdown();
    return done_testing();
}
