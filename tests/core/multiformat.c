/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multiformat data: each task finds it in the layout of its worker, made there by the codelets that convert,
 * and no more often than needed; everybody else finds the CPU's. Threads: main and the workers. Owns: the
 * points of each case. Not here: interfaces of one layout (interfaces.c), copies in general
 * (coherency_places.c).
 */
#include "orrery.h"
#include "tests/core/sim_helper.h"

enum { N = 50 };

/* CPUs have points, CUDA first all x and then all y, OpenCL wide elements in the order y, x. */
struct point {
    int x, y;
};
struct wide {
    long y, x;
};

static atomic_int to_cuda, from_cuda, to_opencl, from_opencl, misplaced, wrong;

static bool on(enum starpu_worker_archtype type)
{
    int w = starpu_worker_get_id();
    return w >= 0 && starpu_worker_get_type(w) == type;
}

static void cpu_to_cuda_func(void *buffers[], void *arg UNUSED)
{
    const struct point *from = STARPU_MULTIFORMAT_GET_CPU_PTR(buffers[0]);
    int *to = STARPU_MULTIFORMAT_GET_CUDA_PTR(buffers[0]);
    size_t n = STARPU_MULTIFORMAT_GET_NX(buffers[0]);
    for (size_t i = 0; i < n; i++) to[i] = from[i].x, to[n + i] = from[i].y;
    to_cuda++;
    if (!on(STARPU_CUDA_WORKER)) misplaced++;
}

static void cuda_to_cpu_func(void *buffers[], void *arg UNUSED)
{
    const int *from = STARPU_MULTIFORMAT_GET_CUDA_PTR(buffers[0]);
    struct point *to = STARPU_MULTIFORMAT_GET_CPU_PTR(buffers[0]);
    size_t n = STARPU_MULTIFORMAT_GET_NX(buffers[0]);
    for (size_t i = 0; i < n; i++) to[i] = (struct point){ from[i], from[n + i] };
    from_cuda++;
}

static void cpu_to_opencl_func(void *buffers[], void *arg UNUSED)
{
    const struct point *from = STARPU_MULTIFORMAT_GET_CPU_PTR(buffers[0]);
    struct wide *to = STARPU_MULTIFORMAT_GET_OPENCL_PTR(buffers[0]);
    size_t n = STARPU_MULTIFORMAT_GET_NX(buffers[0]);
    for (size_t i = 0; i < n; i++) to[i] = (struct wide){ from[i].y, from[i].x };
    to_opencl++;
    if (!on(STARPU_OPENCL_WORKER)) misplaced++;
}

static void opencl_to_cpu_func(void *buffers[], void *arg UNUSED)
{
    const struct wide *from = STARPU_MULTIFORMAT_GET_OPENCL_PTR(buffers[0]);
    struct point *to = STARPU_MULTIFORMAT_GET_CPU_PTR(buffers[0]);
    size_t n = STARPU_MULTIFORMAT_GET_NX(buffers[0]);
    for (size_t i = 0; i < n; i++) to[i] = (struct point){ (int)from[i].x, (int)from[i].y };
    from_opencl++;
}

static struct starpu_codelet cpu_to_cuda_cl = {
    .cuda_funcs = { cpu_to_cuda_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "cpu to cuda"
};
static struct starpu_codelet cuda_to_cpu_cl = {
    .cpu_funcs = { cuda_to_cpu_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "cuda to cpu"
};
static struct starpu_codelet cpu_to_opencl_cl = {
    .opencl_funcs = { cpu_to_opencl_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "cpu to opencl"
};
static struct starpu_codelet opencl_to_cpu_cl = {
    .cpu_funcs = { opencl_to_cpu_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "opencl to cpu"
};

static struct starpu_multiformat_data_interface_ops formats = {
    .cpu_elemsize = sizeof(struct point),
    .cuda_elemsize = 2 * sizeof(int),
    .opencl_elemsize = sizeof(struct wide),
    .cpu_to_cuda_cl = &cpu_to_cuda_cl,
    .cuda_to_cpu_cl = &cuda_to_cpu_cl,
    .cpu_to_opencl_cl = &cpu_to_opencl_cl,
    .opencl_to_cpu_cl = &opencl_to_cpu_cl,
};

/* Point i of value v is (v + i, v - i). A task checks against arg, and then writes arg + 1; STARPU_W alone
 * only writes. */
static void on_layout(int *x, int *y, size_t i, int v, int mode)
{
    if ((mode & STARPU_R) && (*x != v + (int)i || *y != v - (int)i)) wrong++;
    if (mode & STARPU_W) *x = v + 1 + (int)i, *y = v + 1 - (int)i;
}

static int mode_now(void)
{
    return starpu_task_get_current()->cl->modes[0];
}

static void cpu_func(void *buffers[], void *arg)
{
    struct point *p = STARPU_MULTIFORMAT_GET_CPU_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_MULTIFORMAT_GET_NX(buffers[0]); i++)
        on_layout(&p[i].x, &p[i].y, i, (int)(intptr_t)arg, mode_now());
}

static void cuda_func(void *buffers[], void *arg)
{
    int *p = STARPU_MULTIFORMAT_GET_CUDA_PTR(buffers[0]);
    size_t n = STARPU_MULTIFORMAT_GET_NX(buffers[0]);
    for (size_t i = 0; i < n; i++) on_layout(&p[i], &p[n + i], i, (int)(intptr_t)arg, mode_now());
}

static void opencl_func(void *buffers[], void *arg)
{
    struct wide *p = STARPU_MULTIFORMAT_GET_OPENCL_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_MULTIFORMAT_GET_NX(buffers[0]); i++) {
        int x = (int)p[i].x, y = (int)p[i].y;
        on_layout(&x, &y, i, (int)(intptr_t)arg, mode_now());
        if (mode_now() & STARPU_W) p[i] = (struct wide){ y, x };
    }
}

#define LAYOUT_CODELET(mode)                                                                                 \
    {                                                                                                        \
        .cpu_funcs = { cpu_func }, .cuda_funcs = { cuda_func }, .opencl_funcs = { opencl_func },             \
        .nbuffers = 1, .modes = {                                                                            \
            mode                                                                                             \
        }                                                                                                    \
    }
static struct starpu_codelet read_cl = LAYOUT_CODELET(STARPU_R);
static struct starpu_codelet write_cl = LAYOUT_CODELET(STARPU_W);
static struct starpu_codelet update_cl = LAYOUT_CODELET(STARPU_RW);
static struct starpu_codelet cpu_update_cl = { .cpu_funcs = { cpu_func },
                                               .nbuffers = 1,
                                               .modes = { STARPU_RW } };

static int cpu_worker(void)
{
    return starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
}
static int opencl_worker(void)
{
    return starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0);
}

static struct starpu_task *use_task(struct starpu_codelet *cl, int worker, starpu_data_handle_t h, int value)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->handles[0] = h;
    task->cl_arg = (void *)(intptr_t)value;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    return task;
}

static void use(struct starpu_codelet *cl, int worker, starpu_data_handle_t h, int value)
{
    if (starpu_task_submit(use_task(cl, worker, h, value)) != 0) wrong++;
}

static void fill(struct point *p, int v)
{
    for (int i = 0; i < N; i++) p[i] = (struct point){ v + i, v - i };
}

static bool has(const struct point *p, int v)
{
    for (int i = 0; p && i < N; i++)
        if (p[i].x != v + i || p[i].y != v - i) return false;
    return p != NULL;
}

static starpu_data_handle_t points(struct point *at, int v)
{
    starpu_data_handle_t h;
    if (at) fill(at, v);
    starpu_multiformat_data_register(&h, at ? STARPU_MAIN_RAM : -1, at, N, &formats);
    return h;
}

/* What is found in main memory while h is acquired; wrong values are counted. */
static void acquire_and_check(starpu_data_handle_t h, int v)
{
    if (starpu_data_acquire(h, STARPU_R) != 0) {
        wrong++;
        return;
    }
    if (!has(starpu_data_get_local_ptr(h), v)) wrong++;
    starpu_data_release(h);
}

static void forget(void)
{
    to_cuda = from_cuda = to_opencl = from_opencl = misplaced = wrong = 0;
}

static bool all_right(void)
{
    return starpu_task_wait_for_all() == 0 && wrong == 0 && misplaced == 0;
}

/* ---- one device ---- */

static void round_trips(const char *type)
{
    struct point memory[N];
    sim_start_as(1, &(struct sim_config){ .devices = "1" }, type, NULL);
    bool opencl = strcmp(type, "opencl") == 0;
    int dev = opencl ? opencl_worker() : sim_worker(0);
    atomic_int *there = opencl ? &to_opencl : &to_cuda, *back = opencl ? &from_opencl : &from_cuda;
    forget();
    starpu_data_handle_t h = points(memory, 7);
    use(&update_cl, dev, h, 7);
    use(&update_cl, dev, h, 8);
    ok(all_of(all_right(), *there == 1, *back == 0),
       "%s: a device's task finds the device's layout, made once, on its worker", type);
    use(&update_cl, cpu_worker(), h, 9);
    ok(all_of(all_right(), *there == 1, *back == 1), "%s: a CPU's task finds the CPU's again", type);
    forget();
    use(&read_cl, dev, h, 10);
    use(&read_cl, cpu_worker(), h, 10);
    use(&read_cl, dev, h, 10);
    ok(all_of(all_right(), *there == 1, *back == 0), "%s: a value that is read in both is converted once",
       type);
    forget();
    use(&write_cl, dev, h, 20);
    acquire_and_check(h, 21);
    acquire_and_check(h, 21);
    ok(all_of(all_right(), *there == 0, *back == 1),
       "%s: what is written needs no conversion before, and is acquired in the CPU's layout", type);
    use(&update_cl, dev, h, 21);
    starpu_data_unregister(h);
    ok(all_of(all_right(), has(memory, 22)), "%s: data goes home in the CPU's layout", type);
    starpu_shutdown();
}

static atomic_int called;
static void check_in_callback(void *arg)
{
    starpu_data_handle_t h = arg;
    if (!has(starpu_data_get_local_ptr(h), 5)) wrong++;
    starpu_data_release(h);
    called++;
}

static void halves(void *father, void *child, struct starpu_data_filter *f UNUSED, unsigned i, unsigned parts)
{
    struct starpu_multiformat_interface *from = father, *to = child;
    *to = *from;
    to->nx = N / parts;
    if (from->cpu_ptr) to->cpu_ptr = (struct point *)from->cpu_ptr + i * to->nx;
}

/* Elements on the device, all x and then all y, of value v; each becomes one more. */
static bool next_on_device(starpu_data_handle_t h, int v, bool write)
{
    int *p = STARPU_MULTIFORMAT_GET_CUDA_PTR(starpu_data_get_interface_on_node(h, sim_node(0)));
    bool same = true;
    for (int i = 0; i < N; i++) {
        same &= p[i] == v + i && p[N + i] == v - i;
        if (write) p[i]++, p[N + i]++;
    }
    return same;
}

static void check_there(void *arg)
{
    starpu_data_handle_t h = arg;
    if (!next_on_device(h, 13, false)) wrong++;
    starpu_data_release_on_node(h, (int)sim_node(0));
    called++;
}

static void acquired_there(void)
{
    struct point memory[N];
    sim_start(1, &(struct sim_config){ .devices = "1" });
    int node = (int)sim_node(0), failed = 0;
    forget();
    called = 0;
    starpu_data_handle_t h = points(memory, 11);
    failed |= starpu_data_acquire_on_node(h, node, STARPU_R);
    ok(all_of(!failed, next_on_device(h, 11, false), to_cuda == 1, misplaced == 0),
       "what the program acquires on a device's node is in the device's layout, made on its worker");
    starpu_data_release_on_node(h, node);
    failed |= starpu_data_acquire_on_node(h, node, STARPU_RW);
    ok(all_of(!failed, next_on_device(h, 11, true), to_cuda == 1), "and made once");
    starpu_data_release_on_node(h, node);
    use(&update_cl, cpu_worker(), h, 12);
    ok(all_of(all_right(), from_cuda == 1), "what it writes there comes back in the CPU's");
    failed |= starpu_data_acquire_on_node_cb(h, node, STARPU_R, check_there, h);
    for (int i = 0; i < 10000 && !called; i++) usleep(1000);
    ok(all_of(!failed, all_right(), called == 1, to_cuda == 2), "a callback finds it so, too");
    use(&update_cl, cpu_worker(), h, 13);
    failed |= starpu_task_wait_for_all();
    failed |= starpu_data_acquire_on_node(h, node, STARPU_RW);
    failed |= !next_on_device(h, 14, true);
    starpu_data_release_on_node(h, node);
    use(&read_cl, sim_worker(0), h, 15);
    starpu_data_unregister(h);
    ok(all_of(!failed, all_right(), has(memory, 15)), "after a task on a CPU it is made anew, and goes home");
    starpu_shutdown();
}

static void other_ways(void)
{
    struct point memory[N], copied[N];
    sim_start(1, &(struct sim_config){ .devices = "1" });
    int dev = sim_worker(0);
    forget();
    starpu_data_handle_t h = points(NULL, 0), copy = points(copied, 0);
    use(&write_cl, dev, h, 4);
    starpu_data_acquire_cb(h, STARPU_R, check_in_callback, h);
    while (!called) sched_yield();
    ok(all_of(all_right(), called == 1), "a callback finds the CPU's layout of what a device wrote");
    use(&write_cl, dev, h, 9);
    starpu_data_cpy(copy, h, 0, NULL, NULL);
    ok(all_right(), "data in a device's layout is copied");
    starpu_data_unregister(copy);
    ok(has(copied, 10), "and the copy is right");
    use(&write_cl, dev, h, 11);
    void *packed = NULL;
    starpu_ssize_t bytes = 0;
    starpu_data_acquire(h, STARPU_R);
    starpu_data_pack(h, &packed, &bytes);
    starpu_data_release(h);
    ok(all_of(bytes == (starpu_ssize_t)sizeof memory, has(packed, 12)),
       "packed bytes are in the CPU's layout");
    use(&write_cl, dev, h, 0);
    starpu_data_acquire(h, STARPU_W);
    starpu_data_unpack(h, packed, (size_t)bytes);
    starpu_data_release(h);
    use(&read_cl, dev, h, 12);
    ok(all_right(), "and so are those unpacked");
    use(&cpu_update_cl, dev, h, 12);
    use(&cpu_update_cl, cpu_worker(), h, 13);
    ok(all_right(), "an implementation for CPUs that a simulated device runs finds the CPU's");
    starpu_data_unregister(h);

    h = points(memory, 0);
    use(&update_cl, dev, h, 0);
    struct starpu_data_filter f = { .filter_func = halves, .nchildren = 2 };
    starpu_data_partition(h, &f);
    for (int round = 0; round < 2; round++) {
        starpu_data_handle_t first = starpu_data_get_sub_data(h, 1, 0);
        use(&update_cl, dev, first, 1 + 2 * round);
        use(&update_cl, cpu_worker(), first, 2 + 2 * round);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    ok(all_of(all_right(), memory[3].x == 5 + 3, memory[N - 1].x == 1 + N - 1),
       "pieces go to a device's layout and back");
    starpu_shutdown();
}

/* ---- several devices ---- */

static void two_devices(const char *peers)
{
    struct point memory[N];
    sim_start(1, &(struct sim_config){ .devices = "2", .peers = peers });
    forget();
    starpu_data_handle_t h = points(memory, 0);
    use(&write_cl, sim_worker(0), h, 0);
    use(&update_cl, sim_worker(1), h, 1);
    use(&read_cl, sim_worker(0), h, 2);
    ok(all_of(all_right(), to_cuda + from_cuda == 0),
       "peers %s: devices of a kind give data to each other without conversions", peers);
    starpu_data_unregister(h);
    ok(has(memory, 2), "and the last value goes home");
    h = points(memory, 3);
    forget();
    use(&read_cl, sim_worker(0), h, 3);
    use(&read_cl, cpu_worker(), h, 3);
    starpu_task_wait_for_all();
    use(&read_cl, sim_worker(1), h, 3);
    ok(all_of(all_right(), to_cuda == (*peers == '1' ? 1 : 2)),
       "a device with a direct way takes what another made");
    starpu_data_unregister(h);
    starpu_shutdown();
}

static void both_kinds(const char *peers)
{
    struct point memory[N];
    sim_start_as(1, &(struct sim_config){ .devices = "2", .peers = peers }, "cuda,opencl", NULL);
    forget();
    starpu_data_handle_t h = points(memory, 0);
    use(&write_cl, sim_worker(0), h, 0);
    use(&update_cl, opencl_worker(), h, 1);
    use(&update_cl, sim_worker(0), h, 2);
    ok(all_of(all_right(), from_cuda == 1, to_opencl == 1, from_opencl == 1, to_cuda == 1),
       "peers %s: from one kind of device to another by way of the CPU's layout", peers);
    starpu_data_prefetch_on_node(h, starpu_worker_get_memory_node((unsigned)opencl_worker()), 0);
    use(&read_cl, opencl_worker(), h, 3);
    starpu_data_unregister(h);
    ok(all_of(all_right(), has(memory, 3)), "also when prefetched");
    starpu_shutdown();
}

/* ---- little memory ---- */

static void full_device(void)
{
    enum { DATA = 40, ROUNDS = 4 };
    static struct point memory[DATA][N];
    starpu_data_handle_t h[DATA];
    sim_start(1, &(struct sim_config){ .devices = "1", .mem_mb = "0.004" }); /* 4 of 40 */
    forget();
    for (int d = 0; d < DATA; d++) h[d] = points(memory[d], d);
    for (int r = 0; r < ROUNDS; r++)
        for (int d = 0; d < DATA; d++) use(&update_cl, sim_worker(0), h[d], d + r);
    ok(all_of(all_right(), from_cuda == 0), "what a full device gives up comes back in its layout");
    for (int d = 0; d < DATA; d++) starpu_data_unregister(h[d]);
    for (int d = 0; d < DATA; d++)
        if (!has(memory[d], d + ROUNDS)) wrong++;
    ok(all_of(all_right(), to_cuda == DATA, from_cuda == DATA), "each was converted there and back once");
    starpu_shutdown();
}

/* ---- at random ---- */

static void at_random(const char *peers)
{
    enum { DATA = 6, TASKS = 600 };
    static struct point memory[DATA][N];
    starpu_data_handle_t h[DATA];
    int value[DATA], workers[5];
    unsigned seed = 1;
    struct sim_config three = { .devices = "3", .mem_mb = "0.006", .peers = peers, .latency_us = "5" };
    sim_start_as(2, &three, "cuda,opencl", NULL);
    unsigned count = starpu_worker_get_count();
    for (unsigned w = 0; w < count && w < LENGTH(workers); w++) workers[w] = (int)w;
    forget();
    for (int d = 0; d < DATA; d++) h[d] = points(memory[d], value[d] = 100 * d);
    for (int t = 0; t < TASKS; t++) {
        unsigned d = (unsigned)rand_r(&seed) % DATA, w = (unsigned)rand_r(&seed) % count,
                 what = (unsigned)rand_r(&seed) % 8;
        if (what == 0) {
            acquire_and_check(h[d], value[d]);
            continue;
        }
        struct starpu_codelet *cl = what < 5 ? &read_cl : what < 7 ? &update_cl : &write_cl;
        use(cl, workers[w], h[d], value[d]);
        value[d] += cl != &read_cl;
    }
    for (int d = 0; d < DATA; d++) starpu_data_unregister(h[d]);
    for (int d = 0; d < DATA; d++)
        if (!has(memory[d], value[d])) wrong++;
    ok(all_of(all_right(), to_cuda, from_cuda, to_opencl, from_opencl),
       "peers %s: %d uses at random on CPUs and full devices of two kinds find their layouts", peers, TASKS);
    starpu_shutdown();
}

/* ---- failures ---- */

static char message[1024];
static atomic_int hooked;
static void hook(const char *text, void *arg UNUSED)
{
    snprintf(message, sizeof message, "%s", text);
    hooked++;
}

static int run_now(struct starpu_codelet *cl, int worker, starpu_data_handle_t h, int value)
{
    struct starpu_task *task = use_task(cl, worker, h, value);
    task->detach = 0;
    if (starpu_task_submit(task) != 0) return 1;
    return starpu_task_wait(task);
}

static void failures(void)
{
    static struct starpu_multiformat_data_interface_ops one_way, other_way;
    struct point memory[N];
    one_way = other_way = formats;
    one_way.cuda_to_cpu_cl = NULL;
    other_way.cpu_to_cuda_cl = &cuda_to_cpu_cl; /* cannot run on a device that runs no CPU implementations */
    setenv("ORRERY_SIM_RUN_CPU_FUNCS", "0", 1);
    sim_start(1, &(struct sim_config){ .devices = "1" });
    orrery_set_error_hook(hook, NULL);
    forget();
    starpu_data_handle_t h;
    fill(memory, 0);
    starpu_multiformat_data_register(&h, STARPU_MAIN_RAM, memory, N, &one_way);
    is_int(run_now(&update_cl, sim_worker(0), h, 0), 0, "a conversion that is there");
    is_int(run_now(&read_cl, cpu_worker(), h, 1), -EIO, "and one that is not fails the task that needs it");
    is_int(hooked, 1, "which is said");
    is_int(run_now(&read_cl, sim_worker(0), h, 1), 0, "the device's tasks go on");
    is_int(starpu_data_acquire(h, STARPU_R), -EIO, "acquiring fails as well");
    is_int(run_now(&write_cl, cpu_worker(), h, 4), 0, "whoever writes needs none");
    starpu_data_unregister(h);
    ok(all_of(has(memory, 5), wrong == 0), "and then all is well");

    fill(memory, 0);
    starpu_multiformat_data_register(&h, STARPU_MAIN_RAM, memory, N, &other_way);
    is_int(run_now(&update_cl, sim_worker(0), h, 0), -EIO,
           "a codelet that cannot run on the device fails the task");
    is_int(starpu_data_acquire(h, STARPU_R), -EINVAL, "and what that was to write has no value");
    is_int(run_now(&write_cl, sim_worker(0), h, 1), 0, "until somebody writes it");
    acquire_and_check(h, 2);
    starpu_data_unregister(h);
    is_int(wrong, 0, "and it is right again");
    starpu_task_wait_for_all();
    orrery_set_error_hook(NULL, NULL);
    starpu_shutdown();
    unsetenv("ORRERY_SIM_RUN_CPU_FUNCS");
}

/* ---- predictions ---- */

static double cost[STARPU_NARCH];
static double cost_func(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl UNUSED)
{
    return cost[arch->devices[0].type];
}
static double cheap_on_devices(struct starpu_task *task UNUSED, struct starpu_perfmodel_arch *arch,
                               unsigned nimpl UNUSED)
{
    return arch->devices[0].type == STARPU_CPU_WORKER ? 300 : 1;
}
static struct starpu_perfmodel conversion_model = { .type = STARPU_PER_ARCH,
                                                    .arch_cost_function = cost_func,
                                                    .symbol = "multiformat_conversion" };
static struct starpu_perfmodel use_model = { .type = STARPU_PER_ARCH,
                                             .arch_cost_function = cheap_on_devices,
                                             .symbol = "multiformat_use" };
static struct starpu_codelet modelled_cl = { .cpu_funcs = { cpu_func },
                                             .cuda_funcs = { cuda_func },
                                             .nbuffers = 1,
                                             .modes = { STARPU_RW },
                                             .model = &use_model };

static int expected(struct starpu_task *task, int worker)
{
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(worker, 0);
    double us = starpu_task_expected_conversion_time(task, arch, 0);
    return us != us ? -1 : (int)us;
}

static int where_it_ran(starpu_data_handle_t h, int value)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &modelled_cl;
    task->handles[0] = h;
    task->cl_arg = (void *)(intptr_t)value;
    task->destroy = 0;
    task->synchronous = 1;
    if (starpu_task_submit(task) != 0) return -1;
    int worker = task->profiling_info ? task->profiling_info->workerid : -1;
    starpu_task_destroy(task);
    return worker;
}

static void predictions(void)
{
    struct point memory[N], others[N];
    struct sim_config two = { .devices = "2", .latency_us = "1" };
    setenv("ORRERY_SIM_RUN_CPU_FUNCS", "0", 1); /* not on the device of the other kind */
    sim_start_as(1, &two, "cuda,opencl", "dmda");
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    forget();
    cpu_to_cuda_cl.model = cuda_to_cpu_cl.model = cpu_to_opencl_cl.model = &conversion_model;
    cost[STARPU_CPU_WORKER] = 10;
    cost[STARPU_CUDA_WORKER] = 1000;
    cost[STARPU_OPENCL_WORKER] = 200;
    starpu_data_handle_t h = points(memory, 0), h2 = points(others, 0);
    struct starpu_task *task = use_task(&read_cl, 0, h, 0);
    ok(all_of(expected(task, sim_worker(0)) == 1000, expected(task, opencl_worker()) == 200,
              expected(task, cpu_worker()) == 0),
       "the time of a conversion is foretold where one would be needed");
    is_int((int)starpu_task_expected_data_transfer_time(STARPU_MAIN_RAM, task), 0,
           "that of transfers is apart");
    ok(starpu_worker_get_type(where_it_ran(h2, 0)) == STARPU_CPU_WORKER,
       "dmda runs a task on a slower CPU if that saves a conversion");
    cost[STARPU_CUDA_WORKER] = 5;
    ok(starpu_worker_get_type(where_it_ran(h2, 1)) == STARPU_CUDA_WORKER, "and not if it does not");
    use(&update_cl, sim_worker(0), h, 0);
    ok(all_of(all_right(), expected(task, sim_worker(0)) == 0, expected(task, cpu_worker()) == 10,
              expected(task, opencl_worker()) == 210),
       "from device to device there are two");
    cpu_to_opencl_cl.model = NULL;
    is_int(expected(task, opencl_worker()), -1, "and no time is told where no model knows");
    ok(cpu_to_cuda_cl.per_worker_stats[sim_worker(0)] > 0,
       "codelets that convert are counted where they ran");
    cpu_to_cuda_cl.model = cuda_to_cpu_cl.model = NULL;
    starpu_task_destroy(task);
    starpu_data_unregister(h);
    starpu_data_unregister(h2);
    starpu_shutdown();
    unsetenv("ORRERY_SIM_RUN_CPU_FUNCS");
}

/* ---- an interface of the program ---- */

/* Copies as StarPU's programs do: to a device in the CPU's layout, back in the device's, with methods for
 * pairs of kinds, none between devices. */
struct shape {
    struct point *cpu_ptr;
    void *device_ptr;
    size_t nx;
};

static void shape_register(starpu_data_handle_t h, unsigned home, void *itf)
{
    for (unsigned n = 0; n < STARPU_MAXNODES; n++) {
        struct shape *to = starpu_data_get_interface_on_node(h, n);
        *to = *(struct shape *)itf;
        if (n != home) to->cpu_ptr = NULL;
    }
}

static size_t room(const struct shape *s)
{
    return s->nx * sizeof(struct wide); /* the largest of the three */
}

static void shape_free(void *itf, unsigned node)
{
    struct shape *s = itf;
    starpu_free_on_node(node, (uintptr_t)s->cpu_ptr, room(s));
    if (s->device_ptr) starpu_free_on_node(node, (uintptr_t)s->device_ptr, room(s));
    s->cpu_ptr = s->device_ptr = NULL;
}

static starpu_ssize_t shape_allocate(void *itf, unsigned node)
{
    struct shape *s = itf;
    s->cpu_ptr = (void *)starpu_malloc_on_node(node, room(s));
    s->device_ptr = (void *)starpu_malloc_on_node(node, room(s));
    if (s->cpu_ptr && s->device_ptr) return (starpu_ssize_t)(2 * room(s));
    shape_free(s, node);
    return -12; /* ENOMEM */
}

static void *rooms[64]; /* of a device's layout in main memory, for data in the program's memory */
static int rooms_used;

static int shape_down(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    struct shape *from = src, *to = dst;
    if (!to->device_ptr) to->device_ptr = rooms[rooms_used++] = malloc(room(to));
    return starpu_interface_copy((uintptr_t)from->device_ptr, 0, src_node, (uintptr_t)to->device_ptr, 0,
                                 dst_node, room(from), NULL);
}

static int shape_up(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    struct shape *from = src, *to = dst;
    return starpu_interface_copy((uintptr_t)from->cpu_ptr, 0, src_node, (uintptr_t)to->cpu_ptr, 0, dst_node,
                                 from->nx * sizeof(struct point), NULL);
}

static size_t shape_size(starpu_data_handle_t h)
{
    const struct shape *s = starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM);
    return s->nx * sizeof(struct point);
}

static uint32_t shape_footprint(starpu_data_handle_t h)
{
    return (uint32_t)shape_size(h);
}

static void *shape_pointer(void *itf, unsigned node)
{
    struct shape *s = itf;
    return starpu_node_get_kind(node) == STARPU_CPU_RAM ? (void *)s->cpu_ptr : s->device_ptr;
}

#define AS_MULTIFORMAT(layout)                                                                               \
    const struct shape *s = buffers[0];                                                                      \
    struct starpu_multiformat_interface m = { .id = STARPU_MULTIFORMAT_INTERFACE_ID,                         \
                                              .cpu_ptr = s->cpu_ptr,                                         \
                                              .layout##_ptr = s->device_ptr,                                 \
                                              .nx = s->nx };                                                 \
    void *as_it_is[] = { &m }

static void shape_to_cuda(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(cuda);
    cpu_to_cuda_func(as_it_is, arg);
}
static void shape_from_cuda(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(cuda);
    cuda_to_cpu_func(as_it_is, arg);
}
static void shape_to_opencl(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(opencl);
    cpu_to_opencl_func(as_it_is, arg);
}
static void shape_from_opencl(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(opencl);
    opencl_to_cpu_func(as_it_is, arg);
}
static void shape_cpu(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(cuda);
    cpu_func(as_it_is, arg);
}
static void shape_cuda(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(cuda);
    cuda_func(as_it_is, arg);
}
static void shape_opencl(void *buffers[], void *arg)
{
    AS_MULTIFORMAT(opencl);
    opencl_func(as_it_is, arg);
}

static struct starpu_codelet to_cuda_cl = { .cuda_funcs = { shape_to_cuda },
                                            .nbuffers = 1,
                                            .modes = { STARPU_RW } };
static struct starpu_codelet from_cuda_cl = { .cpu_funcs = { shape_from_cuda },
                                              .nbuffers = 1,
                                              .modes = { STARPU_RW } };
static struct starpu_codelet to_opencl_cl = { .opencl_funcs = { shape_to_opencl },
                                              .nbuffers = 1,
                                              .modes = { STARPU_RW } };
static struct starpu_codelet from_opencl_cl = { .cpu_funcs = { shape_from_opencl },
                                                .nbuffers = 1,
                                                .modes = { STARPU_RW } };
static struct starpu_multiformat_data_interface_ops shape_formats = {
    .cpu_elemsize = sizeof(struct point),
    .cuda_elemsize = 2 * sizeof(int),
    .opencl_elemsize = sizeof(struct wide),
    .cpu_to_cuda_cl = &to_cuda_cl,
    .cuda_to_cpu_cl = &from_cuda_cl,
    .cpu_to_opencl_cl = &to_opencl_cl,
    .opencl_to_cpu_cl = &from_opencl_cl,
};

static struct starpu_multiformat_data_interface_ops *shape_formats_of(void *itf UNUSED)
{
    return &shape_formats;
}

static const struct starpu_data_copy_methods shape_copies = {
    .ram_to_cuda = shape_up,
    .cuda_to_ram = shape_down,
    .ram_to_opencl = shape_up,
    .opencl_to_ram = shape_down,
};
static struct starpu_data_interface_ops shape_ops = {
    .register_data_handle = shape_register,
    .allocate_data_on_node = shape_allocate,
    .free_data_on_node = shape_free,
    .copy_methods = &shape_copies,
    .get_size = shape_size,
    .footprint = shape_footprint,
    .to_pointer = shape_pointer,
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
    .interface_size = sizeof(struct shape),
    .is_multiformat = 1,
    .get_mf_ops = shape_formats_of,
};

#define SHAPE_CODELET(mode)                                                                                  \
    {                                                                                                        \
        .cpu_funcs = { shape_cpu }, .cuda_funcs = { shape_cuda }, .opencl_funcs = { shape_opencl },          \
        .nbuffers = 1, .modes = {                                                                            \
            mode                                                                                             \
        }                                                                                                    \
    }
static struct starpu_codelet shape_read_cl = SHAPE_CODELET(STARPU_R);
static struct starpu_codelet shape_write_cl = SHAPE_CODELET(STARPU_W);
static struct starpu_codelet shape_update_cl = SHAPE_CODELET(STARPU_RW);
static struct starpu_codelet shape_borrowed_cl = { .cpu_funcs = { shape_cpu },
                                                   .nbuffers = 1,
                                                   .modes = { STARPU_RW } };

static starpu_data_handle_t shaped(struct point *at, int v)
{
    starpu_data_handle_t h;
    if (at) fill(at, v);
    starpu_data_register(&h, at ? STARPU_MAIN_RAM : -1, &(struct shape){ .cpu_ptr = at, .nx = N },
                         &shape_ops);
    return h;
}

static void interface_of_the_program(const char *peers)
{
    struct point memory[N];
    sim_start_as(1, &(struct sim_config){ .devices = "3", .peers = peers }, "cuda,opencl,cuda", NULL);
    int cuda = sim_worker(0), other = sim_worker(2) >= 0 ? sim_worker(2) : sim_worker(1);
    starpu_data_handle_t h = shaped(memory, 1);
    forget();
    use(&shape_read_cl, cuda, h, 1);
    use(&shape_update_cl, cuda, h, 1);
    ok(all_of(all_right(), to_cuda == 1, from_cuda == 0),
       "data of an interface of the program that is multiformat come to a device in its layout");
    use(&shape_update_cl, cpu_worker(), h, 2);
    ok(all_of(all_right(), from_cuda == 1), "and back in the CPU's");
    use(&shape_update_cl, opencl_worker(), h, 3);
    use(&shape_update_cl, cuda, h, 4);
    use(&shape_read_cl, other, h, 5);
    use(&shape_update_cl, other, h, 5);
    use(&shape_read_cl, opencl_worker(), h, 6);
    acquire_and_check(h, 6);
    ok(all_right(), "they go from one kind of device to another, and to another of the kind");
    ok(starpu_data_acquire_on_node(h, (int)sim_node(0), STARPU_R) == 0, "they are acquired on a device");
    starpu_data_release_on_node(h, (int)sim_node(0));
    for (int v = 6; v < 30; v++) {
        struct starpu_task *task = use_task(&shape_borrowed_cl, 0, h, v);
        task->execute_on_a_specific_worker = 0;
        if (starpu_task_submit(task) != 0) wrong++;
    }
    starpu_data_unregister(h);
    ok(all_of(all_right(), has(memory, 30)), "and go home in the CPU's, whoever ran functions for CPUs");
    h = shaped(NULL, 0);
    use(&shape_write_cl, opencl_worker(), h, 10);
    use(&shape_update_cl, cuda, h, 11);
    use(&shape_read_cl, cpu_worker(), h, 12);
    ok(all_right(), "so do those that a device writes first");
    starpu_data_unregister(h);
    starpu_shutdown();
    while (rooms_used > 0) free(rooms[--rooms_used]);
}

int main(void)
{
    round_trips("cuda");
    round_trips("opencl");
    other_ways();
    acquired_there();
    two_devices("0");
    two_devices("1");
    both_kinds("0");
    both_kinds("1");
    full_device();
    at_random("0");
    at_random("1");
    failures();
    predictions();
    interface_of_the_program("0");
    interface_of_the_program("1");
    return done_testing();
}
