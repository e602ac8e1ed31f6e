/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenCL devices for real, on PoCL: vectors go there, kernels change them, and they come back.
 * Threads: main; launches on the device's worker. Owns: nothing. Not here: shapes of data, failures.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/opencl/opencl_helper.h"

enum { N = 10000 };

static const char source[] = "__kernel void scale(__global float *v, unsigned offset, unsigned n, float by)\n"
                             "{\n"
                             "    __global float *at = (__global float *)((__global char *)v + offset);\n"
                             "    if (get_global_id(0) < n) at[get_global_id(0)] *= by;\n"
                             "}\n";
static float vector[N];
static atomic_int launches, refused;

struct scale {
    void *interface;
    float by;
};

static void scale_args(cl_kernel kernel, void *arg)
{
    struct scale *s = arg;
    cl_int err;
    cl_mem v = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(s->interface);
    unsigned offset = (unsigned)STARPU_VECTOR_GET_OFFSET(s->interface),
             n = STARPU_VECTOR_GET_NX(s->interface);
    int set = starpu_opencl_set_kernel_args(&err, &kernel, sizeof v, &v, sizeof offset, &offset, sizeof n, &n,
                                            sizeof s->by, &s->by, (size_t)0);
    if (set != 4 || err != CL_SUCCESS) atomic_fetch_add(&refused, 1);
}

static void scale_func(void *buffers[], void *arg)
{
    float by;
    starpu_codelet_unpack_args(arg, &by);
    if (opencl_launch("scale", STARPU_VECTOR_GET_NX(buffers[0]), scale_args,
                      &(struct scale){ buffers[0], by }) != CL_SUCCESS)
        atomic_fetch_add(&refused, 1);
    atomic_fetch_add(&launches, 1);
}

static struct starpu_codelet sync_cl = { .opencl_funcs = { scale_func },
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW } };
static struct starpu_codelet async_cl = { .opencl_funcs = { scale_func },
                                          .opencl_flags = { STARPU_OPENCL_ASYNC },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };

static void fill(void)
{
    for (int i = 0; i < N; i++) vector[i] = (float)(i % 100);
}

static bool is_scaled(int first, int last, float by)
{
    for (int i = first; i < last; i++)
        if (vector[i] != (float)(i % 100) * by) return false;
    return true;
}

static bool scale_by(starpu_data_handle_t h, struct starpu_codelet *cl, float by)
{
    return starpu_task_insert(cl, STARPU_RW, h, STARPU_VALUE, &by, sizeof by, 0) == 0;
}

static starpu_data_handle_t vector_register(void)
{
    starpu_data_handle_t h;
    fill();
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)vector, N, sizeof vector[0]);
    return h;
}

static void whole_vector(struct starpu_codelet *cl, const char *how)
{
    starpu_data_handle_t h = vector_register();
    atomic_store(&launches, 0);
    bool taken = scale_by(h, cl, 2) && scale_by(h, cl, 3);
    starpu_data_unregister(h);
    ok(all_of(taken, launches == 2, refused == 0, is_scaled(0, N, 6)),
       "two tasks, %s, scale a vector on the device, and it comes back", how);
}

static void pieces(void)
{
    starpu_data_handle_t h = vector_register();
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 7 };
    starpu_data_partition(h, &f);
    bool taken = true;
    for (int i = 0; i < 7; i += 2) taken &= scale_by(starpu_data_get_child(h, (unsigned)i), &async_cl, 5);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    int per = N / 7, more = N % 7, at = 0;
    bool right = true;
    for (int i = 0; i < 7; i++) {
        int length = per + (i < more);
        right &= is_scaled(at, at + length, i % 2 ? 1 : 5);
        at += length;
    }
    ok(all_of(taken, right, refused == 0), "every other piece of a vector is scaled there, and nothing else");
}

/* A vector that is there is cut there: its pieces are places in one cl_mem. */
static void pieces_on_the_device(void)
{
    starpu_data_handle_t h = vector_register(), parts[4];
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 4 };
    bool taken = scale_by(h, &async_cl, 2);
    starpu_data_partition_plan(h, &f, parts);
    for (int i = 0; i < 4; i++) taken &= scale_by(parts[i], &async_cl, (float)(i + 2));
    taken &= scale_by(h, &async_cl, 10);
    starpu_data_partition_clean(h, 4, parts);
    starpu_data_unregister(h);
    bool right = true;
    for (int i = 0; i < 4; i++) right &= is_scaled(N / 4 * i, N / 4 * (i + 1), 20 * (float)(i + 2));
    ok(all_of(taken, right, refused == 0), "pieces of a vector that is on the device are scaled within it");
}

/* In a process of its own: data that are acquired twice, once a kernel has run. */
static void wait_for_itself(void)
{
    enum { HANGS_S = 40 };
    starpu_data_handle_t h;
    alarm(HANGS_S);
    if (dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) < 0) _exit(0);
    opencl_start(1, NULL);
    if (!opencl_build(source)) _exit(0);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)vector, N, sizeof vector[0]);
    float by = 2;
    starpu_task_insert(&sync_cl, STARPU_RW, h, STARPU_VALUE, &by, sizeof by, 0);
    starpu_data_acquire(h, STARPU_RW);
    starpu_data_acquire(h, STARPU_RW);
    _exit(0);
}

/* They sleep until a kernel comes: it is no mere doubt. (Under sanitizers their stacks have more on them.) */
static void a_deadlock_beside_its_threads(void)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) wait_for_itself();
    waitpid(child, &status, 0);
    ok(child > 0 && WIFEXITED(status) && WEXITSTATUS(status),
       "a deadlock ends the program beside PoCL's threads (0x%x)", (unsigned)status);
}

int main(void)
{
    if (!SANITIZED && opencl_is_there()) a_deadlock_beside_its_threads();
    opencl_start(1, NULL);
    int w = opencl_worker();
    char name[64];
    starpu_worker_get_name(w, name, sizeof name);
    diag("%s", name);
    ok(all_of(w >= 0, starpu_node_get_kind(opencl_node()) == STARPU_OPENCL_RAM,
              starpu_node_needs_offset(opencl_node())),
       "PoCL's device is a worker, with a memory of its own");
    ok(opencl_build(source), "a program is built from a text");
    whole_vector(&sync_cl, "in the foreground");
    whole_vector(&async_cl, "asynchronous");
    pieces();
    pieces_on_the_device();
    ok(starpu_opencl_unload_opencl(&cl_program_of_test) == CL_SUCCESS, "the program is given back");
    starpu_shutdown();
    return done_testing();
}
