/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the CUDA driver share: starting the runtime on the double of CUDA's driver library, and
 * launching functions of the host as kernels in a stream.
 * Threads: main starts; kernels are launched by any. Owns: the double's functions. Not here: the double.
 */
#ifndef ORR_TESTS_CUDA_HELPER_H
#define ORR_TESTS_CUDA_HELPER_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include "tests/double/cuda.h"
#include "tests/helper.h"

/* As starpu_cuda.h declares them where CUDA's headers are. */
void starpu_cuda_report_error(const char *func, const char *file, int line, int status);
void starpu_cusolver_report_error(const char *func, const char *file, int line, int status);
void starpu_cuda_set_device(int devid);

static struct {
    void (*reset)(void);
    long (*calls)(void);
    size_t (*pinned)(const void *p);
    int (*left)(void);
    int (*launch)(struct CUstream_st *s, void (*fn)(void *), void *data);
} cuda_double;

static void *cuda_symbol(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (!f) {
        printf("Bail out! %s\n", dlerror());
        exit(1);
    }
    return f;
}

/* The double is beside the tests, in the build folder. */
UNUSED static void cuda_use_double(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    path[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) *strrchr(path, '/') = '\0';
    strcat(path, "/double/cuda.so");
    setenv("ORRERY_CUDA_LIBRARY", path, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("Bail out! %s\n", dlerror());
        exit(1);
    }
    *(void **)&cuda_double.reset = cuda_symbol(library, "double_cuda_reset");
    *(void **)&cuda_double.calls = cuda_symbol(library, "double_cuda_calls");
    *(void **)&cuda_double.pinned = cuda_symbol(library, "double_cuda_pinned");
    *(void **)&cuda_double.left = cuda_symbol(library, "double_cuda_left");
    *(void **)&cuda_double.launch = cuda_symbol(library, "cuLaunchHostFunc");
}

UNUSED static void cuda_setting(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Starts with CPU workers and the double's devices; returns what starpu_init does. */
UNUSED static int cuda_try_start(int cpus, const char *policy)
{
    struct starpu_conf conf;
    cuda_use_double();
    cuda_double.reset();
    starpu_conf_init(&conf);
    conf.ncpus = cpus;
    conf.sched_policy_name = policy;
    conf.disable_asynchronous_copy = getenv("STARPU_DISABLE_ASYNCHRONOUS_COPY") != NULL;
    conf.precedence_over_environment_variables = 1;
    return starpu_init(&conf);
}

UNUSED static void cuda_start(int cpus, const char *policy)
{
    int status = cuda_try_start(cpus, policy);
    if (status == 0) return;
    printf("Bail out! starpu_init returned %d\n", status);
    exit(1);
}

/* A worker of device dev, and its memory node. */
UNUSED static int cuda_worker(int dev)
{
    return starpu_worker_get_by_type(STARPU_CUDA_WORKER, dev);
}
UNUSED static unsigned cuda_node(int dev)
{
    return starpu_worker_get_memory_node((unsigned)cuda_worker(dev));
}

/* How many launches the double refused. */
static atomic_int cuda_refused;
static void cuda_not_launched(void)
{
    atomic_fetch_add(&cuda_refused, 1);
    starpu_cuda_report_error(__func__, __FILE__, __LINE__, 999);
}

/* Runs fn on a copy of these bytes when the calling worker's stream comes to it. */
struct cuda_launch {
    void (*fn)(void *);
    max_align_t bytes[];
};
static void cuda_run_launch(void *arg)
{
    struct cuda_launch *l = arg;
    l->fn(l->bytes);
    free(l);
}
UNUSED static void cuda_launch_in(struct CUstream_st *stream, void (*fn)(void *), const void *arguments,
                                  size_t bytes)
{
    struct cuda_launch *l = malloc(sizeof *l + bytes);
    l->fn = fn;
    memcpy(l->bytes, arguments, bytes);
    if (cuda_double.launch(stream, cuda_run_launch, l) != 0) {
        free(l);
        cuda_not_launched();
    }
}
UNUSED static void cuda_launch(void (*fn)(void *), const void *arguments, size_t bytes)
{
    cuda_launch_in(starpu_cuda_get_local_stream(), fn, arguments, bytes);
}

#endif
