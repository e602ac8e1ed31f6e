/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs and machines do to an OpenCL driver: builds from several threads, stored binaries that are
 * damaged, cut off, in a folder that nobody may write to, written by several at once; wrong arguments;
 * starting again; boxes with any pitches. Threads: main and its own; launches on the device's worker. Owns:
 * the data and the folders. Not here: calls that fail (failures.c), what works (vector.c, shapes.c).
 */
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/opencl/opencl_helper.h"

enum { THREADS = 4, BOXES = SCALED(300, 60), ROOM = 1 << 14, CELLS = 64 };

static const char source[] = "__kernel void set(__global int *v, int to) { v[get_global_id(0)] = to; }\n";

static atomic_int refused;
static char folder[] = "/tmp/orrery-opencl.XXXXXX";
static FILE *told; /* standard error, while it is looked at */

static void forget(void)
{
    if (ftruncate(2, 0) || lseek(2, 0, SEEK_SET) < 0) diag("what was said stays");
}

/* What the library and the compiler said since. */
static const char *said(void)
{
    static char text[1 << 16];
    ssize_t n = pread(2, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return text;
}

/* ---- a task ---- */

static void args_of(cl_kernel kernel, void *arg)
{
    cl_mem v = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(arg);
    int to = 42;
    if (clSetKernelArg(kernel, 0, sizeof v, &v) || clSetKernelArg(kernel, 1, sizeof to, &to))
        atomic_fetch_add(&refused, 1);
}

static void set_func(void *buffers[], void *arg UNUSED)
{
    if (opencl_launch("set", STARPU_VECTOR_GET_NX(buffers[0]), args_of, buffers[0]) != CL_SUCCESS)
        atomic_fetch_add(&refused, 1);
}

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}

static struct starpu_codelet set_cl = { .opencl_funcs = { set_func },
                                        .opencl_flags = { STARPU_OPENCL_ASYNC },
                                        .nbuffers = 1,
                                        .modes = { STARPU_W } };
static struct starpu_codelet nothing_cl = { .opencl_funcs = { nothing_func },
                                            .opencl_flags = { STARPU_OPENCL_ASYNC },
                                            .nbuffers = 1,
                                            .modes = { STARPU_RW } };

static bool sets_a_vector(void)
{
    int v[CELLS] = { 0 };
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, CELLS, sizeof v[0]);
    bool taken = starpu_task_insert(&set_cl, STARPU_W, h, 0) == 0;
    starpu_data_unregister(h);
    bool right = taken && refused == 0;
    for (int i = 0; i < CELLS; i++) right &= v[i] == 42;
    return right;
}

/* ---- programs ---- */

static void *build_some(void *arg)
{
    atomic_int *wrong = arg;
    struct starpu_opencl_program p;
    cl_kernel kernel;
    cl_command_queue queue;
    for (int i = 0; i < 3; i++) {
        if (starpu_opencl_compile_opencl_from_string(source, "hostile", NULL) != CL_SUCCESS ||
            starpu_opencl_load_binary_opencl("hostile", &p) != CL_SUCCESS) {
            atomic_fetch_add(wrong, 1);
            continue;
        }
        if (starpu_opencl_load_kernel(&kernel, &queue, &p, "set", 0) != CL_SUCCESS ||
            starpu_opencl_release_kernel(kernel) != CL_SUCCESS)
            atomic_fetch_add(wrong, 1);
        starpu_opencl_unload_opencl(&p);
    }
    return NULL;
}

static void several_threads(void)
{
    pthread_t threads[THREADS];
    atomic_int wrong = 0;
    forget();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, build_some, &wrong)) exit(1);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    ok(wrong == 0, "threads that build, store and load one program at once all have it");
    if (wrong) diag("%d: %s", (int)wrong, said());
}

static void build_log(void)
{
    struct starpu_opencl_program p;
    forget();
    int r = starpu_opencl_load_opencl_from_string("__kernel void f(void) { no_such_name = 1; }", &p, "-DX=1");
    ok(all_of(r == CL_BUILD_PROGRAM_FAILURE, strstr(said(), "no_such_name") != NULL,
              strstr(said(), "-DX=1") != NULL, p.programs[0] == NULL),
       "what cannot be built is refused, with what the compiler says and the options");
}

/* The only file in the folder of programs; NULL: there is none, or several. */
static char *stored_file(void)
{
    static char path[PATH_MAX];
    char where[PATH_MAX - 300];
    int files = 0;
    snprintf(where, sizeof where, "%s/.starpu/sampling/programs/orrery", folder);
    DIR *d = opendir(where);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", where, e->d_name);
        files++;
    }
    if (d) closedir(d);
    if (files != 1) diag("%d files in %s", files, where);
    return files == 1 ? path : NULL;
}

static long size_of(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (long)s.st_size : -1;
}

static void spoil(const char *path, long at, int by)
{
    FILE *f = fopen(path, "r+");
    if (!f || fseek(f, at, SEEK_SET)) exit(1);
    int c = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(c ^ by, f);
    fclose(f);
}

/* Whether a stored program is refused; one that crashes the library does so in a process of its own. */
static bool refuses_binary(void)
{
    struct starpu_opencl_program p;
    return starpu_opencl_load_binary_opencl("hostile", &p) == CL_INVALID_BINARY && p.programs[0] == NULL;
}

static void damaged(void)
{
    struct starpu_opencl_program p;
    char *file = stored_file();
    long size = file ? size_of(file) : 0, wrong = 0;
    ok(size > 0, "one file is stored, and nothing is left beside it");
    if (size <= 0) return;
    for (long at = 0; at < size; at += size / 40 + 1) {
        spoil(file, at, 0x55);
        wrong += !refuses_binary();
        spoil(file, at, 0x55);
    }
    wrong += starpu_opencl_load_binary_opencl("hostile", &p) != CL_SUCCESS;
    starpu_opencl_unload_opencl(&p);
    ok(wrong == 0, "a stored binary with a byte that is another is refused; mended it is taken again");
    wrong = 0;
    for (int i = 3; i >= 0; i--) {
        if (truncate(file, size * i / 4 - (i > 0))) exit(1);
        wrong += !refuses_binary();
    }
    ok(wrong == 0, "so is one that is cut off, or empty");
    forget();
    ok(all_of(starpu_opencl_compile_opencl_from_string(source, "hostile", NULL) == CL_SUCCESS,
              starpu_opencl_load_binary_opencl("hostile", &p) == CL_SUCCESS),
       "and made again");
    starpu_opencl_unload_opencl(&p);
}

/* Processes that share a folder, as ranks do. */
static void several_processes(void)
{
    enum { PROCESSES = 2 };
    pid_t child[PROCESSES];
    int wrong = 0;
    fflush(stdout);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i]) continue;
        atomic_int bad = 0;
        opencl_start(0, NULL);
        build_some(&bad);
        starpu_shutdown();
        _exit(bad ? 1 : 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        waitpid(child[i], &status, 0);
        wrong += status != 0;
    }
    ok(wrong == 0, "so do processes that share the folder");
}

/* root writes everywhere: there the folder is a file. */
static void no_folder(void)
{
    char where[PATH_MAX];
    forget();
    snprintf(where, sizeof where, "%s/plain", folder);
    FILE *f = fopen(where, "w");
    if (f) fclose(f);
    setenv("STARPU_HOME", where, 1);
    opencl_start(0, NULL);
    int r = starpu_opencl_compile_opencl_from_string(source, "hostile", NULL);
    ok(all_of(r != CL_SUCCESS, strstr(said(), "cannot be stored") != NULL, opencl_build(source),
              sets_a_vector()),
       "where nothing can be stored that is said, and programs are built as ever");
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    setenv("STARPU_HOME", folder, 1);
}

/* ---- wrong arguments ---- */

static void arguments(void)
{
    struct starpu_opencl_program none = { { NULL } };
    cl_kernel kernel;
    cl_command_queue queue;
    cl_mem m = NULL;
    cl_int err = 0;
    int value = 0, ret = 0;
    forget();
    ok(all_of(starpu_opencl_load_kernel(&kernel, &queue, &none, "set", 0) != CL_SUCCESS, kernel == NULL,
              starpu_opencl_release_kernel(kernel) != CL_SUCCESS,
              starpu_opencl_set_kernel_args(&err, &kernel, sizeof value, &value, (size_t)0) == 0,
              err != CL_SUCCESS, starpu_opencl_load_kernel(&kernel, NULL, &none, "set", 99) != CL_SUCCESS),
       "a kernel that there is not has no arguments, and is not given back");
    ok(all_of(starpu_opencl_allocate_memory(99, &m, 4, CL_MEM_READ_WRITE) != CL_SUCCESS,
              starpu_opencl_copy_ram_to_opencl_devid(&value, 0, m, 99, sizeof value, 0, NULL, &ret) !=
                  CL_SUCCESS,
              ret < 0,
              starpu_opencl_copy_opencl_to_ram(m, 999, &value, STARPU_MAIN_RAM, sizeof value, 0, NULL,
                                               &ret) != CL_SUCCESS,
              ret < 0,
              starpu_opencl_copy_opencl_to_ram(m, opencl_node(), &value, 999, sizeof value, 0, NULL, &ret) !=
                  CL_SUCCESS),
       "nor are there copies on devices and nodes that there are not");
    char path[1024] = "x", where[1024] = "x", *text = malloc(65536);
    if (!text) exit(1);
    text[0] = 'x';
    starpu_opencl_load_program_source("no/such.cl", path, where, text);
    ok(all_of(text[0] == 0, where[0] == 0), "a source that there is not has no text and no folder");
    free(text);
}

static void empty_data(void)
{
    starpu_data_handle_t h;
    int v[1] = { 7 };
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, 0, sizeof v[0]);
    bool taken = true;
    for (int i = 0; i < 3; i++) taken &= starpu_task_insert(&nothing_cl, STARPU_RW, h, 0) == 0;
    starpu_data_unregister(h);
    ok(taken && v[0] == 7, "a vector of no elements goes there and comes back");
}

/* ---- starting again ---- */

static void again(void)
{
    bool right = true;
    for (int i = 0; i < 5; i++) {
        opencl_start(i % 2, NULL);
        right &= opencl_build(source) && sets_a_vector();
        if (i % 2) { /* programs may outlive the runtime */
            starpu_shutdown();
            right &= starpu_opencl_unload_opencl(&cl_program_of_test) == CL_SUCCESS;
        } else {
            right &= starpu_opencl_unload_opencl(&cl_program_of_test) == CL_SUCCESS;
            starpu_shutdown();
        }
    }
    ok(right,
       "the runtime starts and stops with devices five times, and programs may be given back after it");
}

/* ---- boxes ---- */

static uint64_t seed = 7;
static size_t below(size_t n)
{
    return random_next(&seed) % n;
}

struct shape {
    size_t offset, row, plane;
};

static struct shape random_shape(size_t bytes, size_t rows, size_t planes)
{
    struct shape s = { below(50), bytes + below(3) * below(9), 0 };
    switch (below(3)) {
    case 0: s.plane = s.row * rows + below(30); break; /* OpenCL has no words for most of these */
    case 1: s.plane = s.row * (rows + below(3)); break;
    default: s.plane = s.row * rows; break;
    }
    if (s.offset + s.plane * planes + s.row > ROOM) s.offset = 0;
    return s;
}

static void copy_by_hand(const unsigned char *src, const struct shape *f, unsigned char *dst,
                         const struct shape *t, const size_t n[3])
{
    for (size_t p = 0; p < n[2]; p++)
        for (size_t r = 0; r < n[1]; r++)
            memcpy(dst + t->offset + p * t->plane + r * t->row, src + f->offset + p * f->plane + r * f->row,
                   n[0]);
}

/* Main memory to the device, within it to another buffer, and back, with shapes of their own. */
static bool one_box(cl_mem m[2], unsigned node)
{
    static unsigned char from[ROOM], there[2][ROOM], to[ROOM], wanted[ROOM];
    const size_t n[3] = { 1 + below(20), 1 + below(9), 1 + below(5) };
    struct shape s[4];
    int r[4];
    for (int i = 0; i < 4; i++) s[i] = random_shape(n[0], n[1], n[2]);
    for (int i = 0; i < ROOM; i++) from[i] = (unsigned char)below(256);
    memset(there, 1, sizeof there);
    memset(to, 2, sizeof to);
    memcpy(wanted, to, sizeof to);
    for (int i = 0; i < 2; i++)
        if (starpu_opencl_copy_ram_to_opencl(there[i], STARPU_MAIN_RAM, m[i], node, ROOM, 0, NULL, NULL))
            return false;
    copy_by_hand(from, &s[0], there[0], &s[1], n);
    copy_by_hand(there[0], &s[1], there[1], &s[2], n);
    copy_by_hand(there[1], &s[2], wanted, &s[3], n);
    r[0] =
        starpu_interface_copy3d((uintptr_t)from, s[0].offset, STARPU_MAIN_RAM, (uintptr_t)m[0], s[1].offset,
                                node, n[0], n[1], s[0].row, s[1].row, n[2], s[0].plane, s[1].plane, NULL);
    r[1] = starpu_interface_copy3d((uintptr_t)m[0], s[1].offset, node, (uintptr_t)m[1], s[2].offset, node,
                                   n[0], n[1], s[1].row, s[2].row, n[2], s[1].plane, s[2].plane, NULL);
    r[2] = starpu_interface_copy3d((uintptr_t)m[1], s[2].offset, node, (uintptr_t)to, s[3].offset,
                                   STARPU_MAIN_RAM, n[0], n[1], s[2].row, s[3].row, n[2], s[2].plane,
                                   s[3].plane, NULL);
    unsigned char *back = from; /* all of the second buffer: nothing beside the box was written */
    r[3] = starpu_opencl_copy_opencl_to_ram(m[1], node, back, STARPU_MAIN_RAM, ROOM, 0, NULL, NULL);
    return !r[0] && !r[1] && !r[2] && !r[3] && memcmp(to, wanted, ROOM) == 0 &&
           memcmp(back, there[1], ROOM) == 0;
}

static void boxes(void)
{
    cl_mem m[2];
    long wrong = 0;
    for (int i = 0; i < 2; i++)
        if (starpu_opencl_allocate_memory(0, &m[i], ROOM, CL_MEM_READ_WRITE) != CL_SUCCESS) exit(1);
    for (int i = 0; i < BOXES; i++) wrong += !one_box(m, opencl_node());
    for (int i = 0; i < 2; i++) clReleaseMemObject(m[i]);
    ok(wrong == 0, "boxes of any pitches and offsets go there, within, and back, and nothing beside them");
    if (wrong) diag("%ld of %d are wrong", wrong, BOXES);
}

/* A kernel may be given a part of what is there. */
static void sub_buffers(void)
{
    int v[CELLS] = { 0 }, to = 9;
    cl_mem whole, part = NULL;
    cl_buffer_region region = { 32 * sizeof v[0], 16 * sizeof v[0] };
    cl_kernel kernel;
    cl_command_queue queue;
    cl_int err;
    size_t n = 16;
    opencl_build(source);
    bool well = starpu_opencl_allocate_memory(0, &whole, sizeof v, CL_MEM_READ_WRITE) == CL_SUCCESS;
    unsigned node = opencl_node();
    well = well && starpu_opencl_copy_ram_to_opencl(v, STARPU_MAIN_RAM, whole, node, sizeof v, 0, NULL,
                                                    NULL) == CL_SUCCESS;
    part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &err);
    well = well && part &&
           starpu_opencl_load_kernel(&kernel, &queue, &cl_program_of_test, "set", 0) == CL_SUCCESS &&
           starpu_opencl_set_kernel_args(&err, &kernel, sizeof part, &part, sizeof to, &to, (size_t)0) == 2 &&
           clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL) == CL_SUCCESS &&
           clFinish(queue) == CL_SUCCESS && starpu_opencl_release_kernel(kernel) == CL_SUCCESS;
    well = well && starpu_opencl_copy_opencl_to_ram(whole, node, v, STARPU_MAIN_RAM, sizeof v, 0, NULL,
                                                    NULL) == CL_SUCCESS;
    for (int i = 0; i < CELLS; i++) well &= v[i] == (i >= 32 && i < 48 ? 9 : 0);
    if (part) clReleaseMemObject(part);
    clReleaseMemObject(whole);
    starpu_opencl_unload_opencl(&cl_program_of_test);
    ok(well, "a kernel writes a part of a buffer, by a sub-buffer, and copies see it");
}

static void remove_all(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) diag("%s is left", folder);
}

int main(void)
{
    if (!mkdtemp(folder) || !(told = tmpfile()) || dup2(fileno(told), 2) < 0) exit(1);
    setenv("STARPU_HOME", folder, 1);
    unsetenv("STARPU_PERF_MODEL_DIR");
    unsetenv("STARPU_PERF_MODEL_HOMOGENEOUS");
    several_processes();
    opencl_start(0, NULL);
    several_threads();
    build_log();
    damaged();
    arguments();
    empty_data();
    boxes();
    sub_buffers();
    starpu_shutdown();
    no_folder();
    again();
    remove_all();
    return done_testing();
}
