/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two OpenCL devices of one platform, as PoCL shows them when asked: data go from one to the other without
 * main memory, whole and in pieces, also by methods of an interface, and each has its binary of a program.
 * Threads: main; launches on the devices' workers. Owns: the data. Not here: one device (vector.c, links.c).
 */
#include "tests/opencl/opencl_helper.h"

static const char source[] = "__kernel void add(__global int *v, ulong at, uint nx, uint ld)\n"
                             "{\n"
                             "    v[at / 4 + get_global_id(0) % nx + get_global_id(0) / nx * ld] += 1;\n"
                             "}\n";

enum { NX = 48, NY = 40, PARTS = 4, ROUNDS = 12 };

static int cells[NX * NY];
static atomic_int refused, between;

struct part {
    cl_mem v;
    cl_ulong at;
    cl_uint nx, ld;
};

static void args_of(cl_kernel kernel, void *arg)
{
    struct part *p = arg;
    if (clSetKernelArg(kernel, 0, sizeof p->v, &p->v) || clSetKernelArg(kernel, 1, sizeof p->at, &p->at) ||
        clSetKernelArg(kernel, 2, sizeof p->nx, &p->nx) || clSetKernelArg(kernel, 3, sizeof p->ld, &p->ld))
        atomic_fetch_add(&refused, 1);
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    struct part p = { (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(buffers[0]), STARPU_MATRIX_GET_OFFSET(buffers[0]),
                      STARPU_MATRIX_GET_NX(buffers[0]), STARPU_MATRIX_GET_LD(buffers[0]) };
    if (opencl_launch("add", (size_t)p.nx * STARPU_MATRIX_GET_NY(buffers[0]), args_of, &p) != CL_SUCCESS)
        atomic_fetch_add(&refused, 1);
}
static struct starpu_codelet add_cl = { .opencl_funcs = { add_func },
                                        .opencl_flags = { STARPU_OPENCL_ASYNC },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW } };

static int worker(int device)
{
    return starpu_worker_get_by_type(STARPU_OPENCL_WORKER, device);
}
static unsigned node(int device)
{
    return starpu_worker_get_memory_node((unsigned)worker(device));
}

static bool add(starpu_data_handle_t h, int device)
{
    return starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, worker(device), 0) == 0;
}

/* Bytes that went that way since the last question. */
static long long moved(unsigned src, unsigned dst)
{
    struct starpu_profiling_bus_info info;
    return starpu_bus_get_profiling_info(starpu_bus_get_id((int)src, (int)dst), &info) == 0
               ? info.transferred_bytes
               : -1;
}
static long long through_main(void)
{
    return moved(node(0), STARPU_MAIN_RAM) + moved(node(1), STARPU_MAIN_RAM) +
           moved(STARPU_MAIN_RAM, node(0)) + moved(STARPU_MAIN_RAM, node(1));
}

static bool are(int value)
{
    for (int i = 0; i < NX * NY; i++)
        if (cells[i] != value) return false;
    return true;
}

static void whole(void)
{
    starpu_data_handle_t h;
    memset(cells, 0, sizeof cells);
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, NX, NX, NY, sizeof cells[0]);
    bool well = add(h, 0);
    starpu_task_wait_for_all();
    through_main(), moved(node(0), node(1)), moved(node(1), node(0));
    for (int i = 1; i < ROUNDS; i++) well &= add(h, i % 2);
    starpu_task_wait_for_all();
    ok(all_of(well, through_main() == 0, moved(node(0), node(1)) == ROUNDS / 2 * (long long)sizeof cells,
              moved(node(1), node(0)) == (ROUNDS / 2 - 1) * (long long)sizeof cells),
       "devices of one platform exchange data without main memory");
    starpu_data_unregister(h);
    ok(all_of(are(ROUNDS), atomic_load(&refused) == 0), "and the values are right");
}

/* Bands of columns: rectangles of the whole in main memory, and in a plan gathered on a device. */
static void pieces(void)
{
    static struct starpu_data_filter columns = { .filter_func = starpu_matrix_filter_block,
                                                 .nchildren = PARTS };
    starpu_data_handle_t h, part[PARTS];
    bool well = true;
    memset(cells, 0, sizeof cells);
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, NX, NX, NY, sizeof cells[0]);
    starpu_data_partition_plan(h, &columns, part);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < PARTS; k++) well &= add(part[k], (i + k) % 2);
    starpu_data_unpartition_submit(h, PARTS, part, (int)node(1));
    for (int i = 0; i < ROUNDS; i++) well &= add(h, i % 2);
    for (int k = 0; k < PARTS; k++) well &= add(part[k], 1);
    starpu_data_unpartition_submit(h, PARTS, part, (int)node(1));
    well &= add(h, 0);
    starpu_data_partition_clean(h, PARTS, part);
    starpu_data_unregister(h);
    ok(all_of(well, are(2 * ROUNDS + 2), atomic_load(&refused) == 0), "so do bands of columns");
}

/* ---- an interface's own method ---- */

static int own_between(void *src, unsigned src_node, void *dst, unsigned dst_node, cl_event *event)
{
    struct starpu_matrix_interface *from = src, *to = dst;
    int ret;
    atomic_fetch_add(&between, 1);
    if (starpu_opencl_copy_opencl_to_opencl((cl_mem)from->dev_handle, src_node, from->offset,
                                            (cl_mem)to->dev_handle, dst_node, to->offset, sizeof cells, event,
                                            &ret))
        return -EIO;
    return ret;
}
static int own_up(void *src, unsigned src_node, void *dst, unsigned dst_node, cl_event *event)
{
    struct starpu_matrix_interface *from = src, *to = dst;
    int ret;
    return starpu_opencl_copy_ram_to_opencl((void *)from->ptr, src_node, (cl_mem)to->dev_handle, dst_node,
                                            sizeof cells, to->offset, event, &ret)
               ? -EIO
               : ret;
}
static int own_down(void *src, unsigned src_node, void *dst, unsigned dst_node, cl_event *event)
{
    struct starpu_matrix_interface *from = src, *to = dst;
    int ret;
    return starpu_opencl_copy_opencl_to_ram((cl_mem)from->dev_handle, src_node, (void *)to->ptr, dst_node,
                                            sizeof cells, from->offset, event, &ret)
               ? -EIO
               : ret;
}
static const struct starpu_data_copy_methods own_methods = { .ram_to_opencl_async = own_up,
                                                             .opencl_to_ram_async = own_down,
                                                             .opencl_to_opencl_async = own_between };

static void own_method(void)
{
    struct starpu_data_interface_ops ops = starpu_interface_matrix_ops;
    struct starpu_matrix_interface matrix = { .id = STARPU_MATRIX_INTERFACE_ID,
                                              .ptr = (uintptr_t)cells,
                                              .dev_handle = (uintptr_t)cells,
                                              .nx = NX,
                                              .ny = NY,
                                              .ld = NX,
                                              .elemsize = sizeof cells[0],
                                              .allocsize = sizeof cells };
    starpu_data_handle_t h;
    bool well = true;
    ops.copy_methods = &own_methods;
    memset(cells, 0, sizeof cells);
    starpu_data_register(&h, STARPU_MAIN_RAM, &matrix, &ops);
    for (int i = 0; i < ROUNDS; i++) well &= add(h, i % 2);
    starpu_task_wait_for_all();
    starpu_data_unregister(h);
    ok(all_of(well, are(ROUNDS), atomic_load(&between) == ROUNDS - 1),
       "an interface's opencl_to_opencl_async is called between devices");
}

static void binaries(void)
{
    struct starpu_opencl_program p;
    bool stored = starpu_opencl_compile_opencl_from_string(source, "peers", NULL) == CL_SUCCESS;
    if (!ok(all_of(stored, starpu_opencl_load_binary_opencl("peers", &p) == CL_SUCCESS),
            "each has its binary"))
        return;
    starpu_opencl_unload_opencl(&cl_program_of_test);
    cl_program_of_test = p;
    whole();
}

int main(void)
{
    alarm(60);
    setenv("POCL_DEVICES", "pthread pthread", 1);
    opencl_start(1, "eager");
    if (starpu_opencl_worker_get_count() < 2) {
        starpu_shutdown();
        skip_all("PoCL does not show two devices when asked (POCL_DEVICES)");
    }
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    ok(opencl_build(source), "a program is built for both");
    whole();
    pieces();
    own_method();
    binaries();
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    return done_testing();
}
