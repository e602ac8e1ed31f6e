/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How data get to an OpenCL device otherwise than by copies of ours: main memory used in place, and
 * interfaces of the program with methods that start copies themselves. Threads: main; launches on the
 * device's worker. Owns: the data, the interface. Not here: copies (vector.c, shapes.c).
 */
#include <dlfcn.h>

#include "tests/opencl/opencl_helper.h"
#include "tests/opencl/shim.h"

static const char source[] = "__kernel void add(__global int *v, uint n)\n"
                             "{\n"
                             "    if (get_global_id(0) < n) v[get_global_id(0)] += get_global_id(0);\n"
                             "}\n";

enum { N = 3000, ROUNDS = 6 };

static const struct shim *shim;
static int cells[N + 3];
static atomic_int refused, to_device, from_device, strangers;

static long copies(void)
{
    return shim->counts().copies;
}

/* ---- a vector ---- */

struct part {
    cl_mem v;
    unsigned n;
};

static void args_of(cl_kernel kernel, void *arg)
{
    struct part *p = arg;
    if (clSetKernelArg(kernel, 0, sizeof p->v, &p->v) || clSetKernelArg(kernel, 1, sizeof p->n, &p->n))
        atomic_fetch_add(&refused, 1);
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    struct part p = { (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]) };
    if (STARPU_VECTOR_GET_OFFSET(buffers[0]) != 0 || opencl_launch("add", p.n, args_of, &p) != CL_SUCCESS)
        atomic_fetch_add(&refused, 1);
}

static void add_cpu_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] += (int)i;
}

static struct starpu_codelet add_cl = { .opencl_funcs = { add_func },
                                        .opencl_flags = { STARPU_OPENCL_ASYNC },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW } };
static struct starpu_codelet add_cpu_cl = { .cpu_funcs = { add_cpu_func },
                                            .nbuffers = 1,
                                            .modes = { STARPU_RW } };

static bool are(const int *v, int first, int n, int times)
{
    for (int i = 0; i < n; i++)
        if (v[first + i] != times * i) return false;
    return true;
}

/* At an address that is aligned to an int alone. */
static void in_place(void)
{
    starpu_data_handle_t h;
    int *v = cells + 1;
    long before = copies();
    bool well = true;
    memset(cells, 0, sizeof cells);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    for (int i = 0; i < ROUNDS; i++)
        well &= starpu_task_insert(i % 3 == 2 ? &add_cpu_cl : &add_cl, STARPU_RW, h, 0) == 0;
    well &= starpu_data_acquire(h, STARPU_RW) == 0 && are(v, 0, N, ROUNDS);
    for (int i = 0; i < N; i++) v[i] = 7 * i;
    starpu_data_release(h);
    well &= starpu_task_insert(&add_cl, STARPU_RW, h, 0) == 0;
    starpu_data_unregister(h);
    ok(all_of(well, refused == 0, are(v, 0, N, 8), cells[0] == 0, cells[N + 1] == 0, copies() == before),
       "with STARPU_ENABLE_MAP tasks of the device, of a CPU and the program use a vector in place: no "
       "copies");
}

static void pieces_in_place(void)
{
    enum { PIECES = 5 };
    starpu_data_handle_t h;
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    long before = copies();
    bool well = true;
    memset(cells, 0, sizeof cells);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, N, sizeof cells[0]);
    starpu_data_partition(h, &f);
    for (int i = 0; i < 3 * PIECES; i++)
        well &= starpu_task_insert(i % 2 ? &add_cpu_cl : &add_cl, STARPU_RW,
                                   starpu_data_get_child(h, (unsigned)i % PIECES), 0) == 0;
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    for (int i = 0; i < PIECES; i++) well &= are(cells, N / PIECES * i, N / PIECES, 3);
    ok(all_of(well, refused == 0, copies() == before), "so do they use pieces of one");
}

/* Memory that the library allocates is no program's: it is copied, or mapped, but right. */
static void of_the_library(void)
{
    starpu_data_handle_t h;
    bool well = true;
    starpu_vector_data_register(&h, -1, 0, N, sizeof(int));
    static struct starpu_codelet first_cl = { .cpu_funcs = { add_cpu_func },
                                              .nbuffers = 1,
                                              .modes = { STARPU_W } };
    well &= starpu_task_insert(&first_cl, STARPU_W, h, 0) == 0;
    well &= starpu_data_acquire(h, STARPU_W) == 0;
    memset(starpu_data_get_local_ptr(h), 0, N * sizeof(int));
    starpu_data_release(h);
    for (int i = 0; i < ROUNDS; i++) well &= starpu_task_insert(&add_cl, STARPU_RW, h, 0) == 0;
    well &= starpu_data_acquire(h, STARPU_R) == 0 && are(starpu_data_get_local_ptr(h), 0, N, ROUNDS);
    starpu_data_release(h);
    starpu_data_unregister(h);
    ok(well && refused == 0, "and what the library allocates");
}

/* ---- an interface of the program ---- */

struct own_interface {
    int *ptr;
    cl_mem there;
    unsigned n;
};

static void own_register(starpu_data_handle_t h, unsigned home, void *data_interface)
{
    for (unsigned node = 0; node < STARPU_MAXNODES && node < starpu_memory_nodes_get_count(); node++) {
        struct own_interface *local = starpu_data_get_interface_on_node(h, node);
        *local = (struct own_interface){ .n = ((struct own_interface *)data_interface)->n };
        if (node == home) local->ptr = ((struct own_interface *)data_interface)->ptr;
    }
}

static starpu_ssize_t own_allocate(void *interface, unsigned node)
{
    struct own_interface *own = interface;
    int device = starpu_memory_node_get_devid(node);
    if (starpu_node_get_kind(node) == STARPU_CPU_RAM)
        own->ptr = malloc(own->n * sizeof(int));
    else if (starpu_opencl_allocate_memory(device, &own->there, own->n * sizeof(int), CL_MEM_READ_WRITE))
        return -ENOMEM;
    return (starpu_ssize_t)(own->n * sizeof(int));
}

static void own_free(void *interface, unsigned node)
{
    struct own_interface *own = interface;
    if (starpu_node_get_kind(node) == STARPU_CPU_RAM)
        free(own->ptr);
    else
        clReleaseMemObject(own->there);
}

/* Whether the calling thread passes for the worker of the device with this memory. */
static void look(unsigned node)
{
    if (starpu_worker_get_memory_node(starpu_worker_get_id_check()) != node) atomic_fetch_add(&strangers, 1);
}

static int own_ram_to_opencl(void *src, unsigned src_node, void *dst, unsigned dst_node, cl_event *event)
{
    struct own_interface *from = src, *to = dst;
    int ret;
    look(dst_node);
    atomic_fetch_add(&to_device, 1);
    if (starpu_opencl_copy_ram_to_opencl(from->ptr, src_node, to->there, dst_node, from->n * sizeof(int), 0,
                                         event, &ret))
        return -EIO;
    return ret;
}

static int own_opencl_to_ram(void *src, unsigned src_node, void *dst, unsigned dst_node, cl_event *event)
{
    struct own_interface *from = src, *to = dst;
    int ret;
    look(src_node);
    atomic_fetch_add(&from_device, 1);
    if (starpu_opencl_copy_opencl_to_ram(from->there, src_node, to->ptr, dst_node, from->n * sizeof(int), 0,
                                         event, &ret))
        return -EIO;
    return ret;
}

/* Those that wait. */
static int own_ram_to_opencl_now(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    return own_ram_to_opencl(src, src_node, dst, dst_node, NULL);
}
static int own_opencl_to_ram_now(void *src, unsigned src_node, void *dst, unsigned dst_node)
{
    return own_opencl_to_ram(src, src_node, dst, dst_node, NULL);
}

static size_t own_size(starpu_data_handle_t h)
{
    return ((struct own_interface *)starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM))->n * sizeof(int);
}

static uint32_t own_footprint(starpu_data_handle_t h)
{
    return (uint32_t)own_size(h);
}

static const struct starpu_data_copy_methods own_methods = { .ram_to_opencl_async = own_ram_to_opencl,
                                                             .opencl_to_ram_async = own_opencl_to_ram },
                                             waiting_methods = { .ram_to_opencl = own_ram_to_opencl_now,
                                                                 .opencl_to_ram = own_opencl_to_ram_now };
static struct starpu_data_interface_ops own_ops = { .register_data_handle = own_register,
                                                    .allocate_data_on_node = own_allocate,
                                                    .free_data_on_node = own_free,
                                                    .copy_methods = &own_methods,
                                                    .get_size = own_size,
                                                    .footprint = own_footprint,
                                                    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
                                                    .interface_size = sizeof(struct own_interface) };

static void own_func(void *buffers[], void *arg UNUSED)
{
    struct own_interface *own = buffers[0];
    struct part p = { own->there, own->n };
    if (opencl_launch("add", p.n, args_of, &p) != CL_SUCCESS) atomic_fetch_add(&refused, 1);
}

static struct starpu_codelet own_cl = { .opencl_funcs = { own_func },
                                        .opencl_flags = { STARPU_OPENCL_ASYNC },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW } };

static void own_methods_copy(const struct starpu_data_copy_methods *methods, const char *which)
{
    starpu_data_handle_t h;
    struct own_interface own = { .ptr = cells, .n = N };
    long events = shim->counts().events;
    bool well = true;
    memset(cells, 0, sizeof cells);
    to_device = from_device = strangers = 0;
    own_ops.copy_methods = methods;
    starpu_data_register(&h, STARPU_MAIN_RAM, &own, &own_ops);
    for (int i = 0; i < ROUNDS; i++) {
        well &= starpu_task_insert(&own_cl, STARPU_RW, h, 0) == 0;
        if (i % 2) continue;
        well &= starpu_data_acquire(h, STARPU_RW) == 0 && are(cells, 0, N, i + 1);
        starpu_data_release(h);
    }
    starpu_data_unregister(h);
    ok(all_of(well, refused == 0, are(cells, 0, N, ROUNDS), to_device >= 3, from_device >= 3,
              shim->counts().events == events, copies() > 0),
       "an interface's %s copy it, and their events are awaited", which);
    is_int(strangers, 0, "each as the device's worker");
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
    opencl_start(1, NULL);
    bool built = opencl_build(source);
    own_methods_copy(&own_methods, "ram_to_opencl_async and opencl_to_ram_async");
    own_methods_copy(&waiting_methods, "ram_to_opencl and opencl_to_ram");
    setenv("STARPU_DISABLE_ASYNCHRONOUS_COPY", "1", 1);
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    opencl_start(1, NULL);
    built = built && opencl_build(source);
    own_methods_copy(&own_methods, "ram_to_opencl_async alone, where all copies are to be awaited,");
    unsetenv("STARPU_DISABLE_ASYNCHRONOUS_COPY");
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    setenv("STARPU_ENABLE_MAP", "1", 1);
    opencl_start(1, NULL);
    built = built && opencl_build(source);
    in_place();
    pieces_in_place();
    of_the_library();
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    ok(built, "the kernel was built");
    return done_testing();
}
