/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows when calls of OpenCL fail, each in turn, or all from one on, or a device stops answering:
 * tasks run elsewhere, or their failure is told; nothing hangs, and none is lost. Threads: main; launches on
 * the device's worker. Owns: the data. Not here: what works (vector.c).
 */
#include <dlfcn.h>
#include <orrery.h>
#include <signal.h>

#include "tests/opencl/opencl_helper.h"
#include "tests/opencl/shim.h"

/* tests/long/opencl_failures.c has each call fail, this one some of them. */
#ifndef STEP
#define STEP SCALED(11, 31)
#endif
enum { N = 1000, VECTORS = 3, ROUNDS = 3, CALLS = 300 };

static const char source[] = "__kernel void add(__global int *v, unsigned n)\n"
                             "{\n"
                             "    if (get_global_id(0) < n) v[get_global_id(0)]++;\n"
                             "}\n"
                             "__kernel void set(__global int *v, unsigned n)\n"
                             "{\n"
                             "    if (get_global_id(0) < n) v[get_global_id(0)] = 7;\n"
                             "}\n";

static const struct shim *shim;
static int vectors[VECTORS][N];
static atomic_int called, told;
static long now;         /* the call that fails */
static bool lasting;     /* what fails goes on to do so */
static const char *name; /* of the first that failed */

static void count_called(void *arg UNUSED)
{
    atomic_fetch_add(&called, 1);
}

static void hook(const char *message UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&told, 1);
}

static void hangs(int signal UNUSED)
{
    char text[128];
    shim->failed(&name);
    int length = snprintf(text, sizeof text, "Bail out! it hangs where call %ld (%s) fails\n", now,
                          name ? name : "none");
    (void)!write(1, text, (size_t)length);
    _exit(1);
}

/* ---- codelets ---- */

static void args_of(cl_kernel kernel, void *interface)
{
    cl_mem v = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(interface);
    unsigned n = STARPU_VECTOR_GET_NX(interface);
    clSetKernelArg(kernel, 0, sizeof v, &v);
    clSetKernelArg(kernel, 1, sizeof n, &n);
}

/* The argument names the kernel. A launch that fails is the program's to mend: it tries again. */
static void launch_func(void *buffers[], void *kernel)
{
    for (int i = 0; i < 3; i++)
        if (opencl_launch(kernel, N, args_of, buffers[0]) == CL_SUCCESS) return;
    atomic_fetch_add(&told, 1);
}

static void cpu_func(void *buffers[], void *kernel)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < N; i++) v[i] = strcmp(kernel, "set") == 0 ? 7 : v[i] + 1;
}

static struct starpu_codelet there_cl = { .opencl_funcs = { launch_func },
                                          .opencl_flags = { STARPU_OPENCL_ASYNC },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };
static struct starpu_codelet anywhere_cl = {
    .cpu_funcs = { cpu_func }, .opencl_funcs = { launch_func }, .nbuffers = 1, .modes = { STARPU_RW }
};
static struct starpu_codelet set_cl = { .cpu_funcs = { cpu_func },
                                        .opencl_funcs = { launch_func },
                                        .opencl_flags = { STARPU_OPENCL_ASYNC },
                                        .nbuffers = 1,
                                        .modes = { STARPU_W } };

/* Returns whether it was taken. */
static bool submit(struct starpu_codelet *cl, starpu_data_handle_t h, const char *kernel)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = (void *)(uintptr_t)kernel;
    t->handles[0] = h;
    t->callback_func = count_called;
    if (starpu_task_submit(t) == 0) return true;
    t->destroy = 0;
    starpu_task_destroy(t);
    return false;
}

/* ---- calls that fail ---- */

static bool all_are(int value)
{
    for (int i = 0; i < VECTORS; i++)
        for (int j = 0; j < N; j++)
            if (vectors[i][j] != value) return false;
    return true;
}

/* The runtime from start to stop, while calls first to last fail: tasks in each vector, on the device alone
 * or anywhere. Returns whether all is right, or what is not was told. */
static bool run(long first, long last, bool anywhere)
{
    starpu_data_handle_t h[VECTORS];
    int taken = 0, refused = 0;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = 0;
    memset(vectors, 0, sizeof vectors);
    called = told = 0;
    now = first;
    shim->fail(first, last);
    alarm(20);
    if (starpu_init(&conf) != 0) return false; /* there is a CPU */
    bool built = starpu_opencl_worker_get_count() > 0 && (opencl_build(source) || opencl_build(source));
    for (int i = 0; i < VECTORS; i++)
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i], N, sizeof(int));
    for (int r = 0; built && r < ROUNDS; r++)
        for (int i = 0; i < VECTORS; i++)
            if (submit(anywhere ? &anywhere_cl : &there_cl, h[i], "add"))
                taken++;
            else
                refused++;
    for (int i = 0; i < VECTORS; i++) {
        if (lasting && starpu_data_acquire(h[i], STARPU_R) != 0)
            told++;
        else if (lasting)
            starpu_data_release(h[i]);
        starpu_data_unregister(h[i]); /* a copy that fails once is made again */
    }
    starpu_task_wait_for_all();
    if (built) starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    shim->failed(&name);
    shim->fail(LONG_MAX, 0);
    alarm(0);
    return called == taken && (told > 0 || refused > 0 || all_are(built ? ROUNDS : 0));
}

static void each_call(bool anywhere)
{
    long wrong = 0, leaks = 0;
    for (long n = anywhere ? 1 : 2; n <= CALLS; n += STEP) {
        long events = shim->counts().events;
        bool right = run(n, n, anywhere);
        bool kept = shim->counts().events != events && strcmp(name ? name : "", "clReleaseEvent") != 0;
        if (kept && leaks++ < 5)
            diag("call %ld (%s): an event is not given back, or twice", n, name ? name : "none");
        if (!right && wrong++ < 5)
            diag("call %ld (%s): %d called, %d told", n, name ? name : "none", (int)called, (int)told);
    }
    ok(wrong == 0,
       "with one of the first calls failing, each in turn, tasks of %s end right, or their failure is told",
       anywhere ? "CPUs and OpenCL" : "OpenCL alone");
    ok(leaks == 0, "and each event that was made is given back once");
}

/* ---- all calls ---- */

static void all_calls(void)
{
    long wrong = 0;
    lasting = true;
    for (long n = 1; n <= CALLS; n += 3 * STEP)
        if (!run(n, LONG_MAX, n % 2) && wrong++ < 5)
            diag("from call %ld: %d called, %d told", n, (int)called, (int)told);
    ok(wrong == 0, "with all calls failing from one on, tasks end right, or their failure is told");
}

/* ---- all calls of one function ---- */

static void each_function(void)
{
    static const char *const functions[] = { "clGetPlatformIDs",
                                             "clGetDeviceIDs",
                                             "clGetDeviceInfo",
                                             "clCreateContext",
                                             "clReleaseContext",
                                             "clCreateCommandQueue",
                                             "clReleaseCommandQueue",
                                             "clCreateBuffer",
                                             "clReleaseMemObject",
                                             "clEnqueueReadBuffer",
                                             "clEnqueueWriteBuffer",
                                             "clEnqueueMarkerWithWaitList",
                                             "clGetEventInfo",
                                             "clGetEventProfilingInfo",
                                             "clSetEventCallback",
                                             "clReleaseEvent",
                                             "clFlush",
                                             "clCreateProgramWithSource",
                                             "clBuildProgram",
                                             "clReleaseProgram",
                                             "clCreateKernel",
                                             "clReleaseKernel" };
    int wrong = 0;
    for (size_t i = 0; i < 2 * sizeof functions / sizeof functions[0]; i += SCALED(1, 7)) {
        shim->fail_always(functions[i / 2]);
        bool right = run(LONG_MAX, 0, i % 2);
        if (!right && wrong++ < 5)
            diag("%s always fails: %d called, %d told", functions[i / 2], (int)called, (int)told);
    }
    shim->fail_always(NULL);
    lasting = false;
    ok(wrong == 0, "with all calls of one function failing, each in turn, too");
}

/* ---- a device that does not answer ---- */

static void no_answer(void)
{
    starpu_data_handle_t h[VECTORS];
    setenv("ORRERY_DEVICE_PATIENCE", "0.3", 1);
    opencl_start(1, NULL);
    memset(vectors, 0, sizeof vectors);
    called = told = 0;
    bool taken = opencl_build(source);
    alarm(20);
    shim->silent(1);
    for (int i = 0; i < VECTORS; i++) {
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i], N, sizeof(int));
        taken &= submit(&set_cl, h[i], "set");
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < VECTORS; i++) starpu_data_unregister(h[i]);
    starpu_shutdown();
    alarm(0);
    shim->silent(0);
    unsetenv("ORRERY_DEVICE_PATIENCE");
    ok(all_of(taken, called == VECTORS, told == 0, all_are(7)),
       "what a device does not end in time runs on a CPU");
}

int main(void)
{
    char file[4096];
    const char *build = getenv("ORR_BUILDDIR");
    snprintf(file, sizeof file, "%s/tests/opencl/shim.so", build ? build : ".");
    setenv("ORRERY_OPENCL_LIBRARY", file, 1);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    shim = library ? dlsym(library, "shim_control") : NULL;
    if (!shim) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    signal(SIGALRM, hangs);
    orrery_set_error_hook(hook, NULL);
    opencl_start(1, NULL);
    starpu_shutdown();
    ok(run(LONG_MAX, 0, false) && told == 0, "without a failure all tasks end right on the device");
    each_call(true);
    each_call(false);
    all_calls();
    each_function();
    no_answer();
    return done_testing();
}
