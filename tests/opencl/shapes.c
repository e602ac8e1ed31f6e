/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two OpenCL devices of PoCL: pieces of matrices and blocks, data from device to device, more data than a
 * device's memory, which devices are used, programs from files and binaries, copies that programs make.
 * Threads: main; launches on the devices' workers. Owns: the data. Not here: vectors (vector.c), failures.
 */
#include "tests/opencl/opencl_helper.h"

enum { NX = 30, NY = 20, NZ = 12, LDY = 37, LDZ = LDY * 23, CELLS = LDZ * NZ };

static const char source[] = "__kernel void add(__global int *v, ulong offset, uint nx, uint ny, uint nz, "
                             "uint ldy, uint ldz, int by)\n"
                             "{\n"
                             "    __global int *at = (__global int *)((__global char *)v + offset);\n"
                             "    uint i = get_global_id(0), x = i % nx, y = i / nx % ny, z = i / nx / ny;\n"
                             "    if (z < nz) at[z * ldz + y * ldy + x] += by;\n"
                             "}\n";

static int cells[CELLS], wanted[CELLS];
static atomic_int refused;

/* ---- a kernel over a box of cells ---- */

struct box {
    cl_mem v;
    cl_ulong offset;
    unsigned nx, ny, nz, ldy, ldz;
    int by;
};

static struct box box_of(void *itf)
{
    if (starpu_data_get_interface_id(starpu_task_get_current()->handles[0]) == STARPU_MATRIX_INTERFACE_ID)
        return (struct box){ (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(itf),
                             STARPU_MATRIX_GET_OFFSET(itf),
                             STARPU_MATRIX_GET_NX(itf),
                             STARPU_MATRIX_GET_NY(itf),
                             1,
                             STARPU_MATRIX_GET_LD(itf),
                             0,
                             0 };
    return (struct box){ (cl_mem)STARPU_BLOCK_GET_DEV_HANDLE(itf),
                         STARPU_BLOCK_GET_OFFSET(itf),
                         STARPU_BLOCK_GET_NX(itf),
                         STARPU_BLOCK_GET_NY(itf),
                         STARPU_BLOCK_GET_NZ(itf),
                         STARPU_BLOCK_GET_LDY(itf),
                         STARPU_BLOCK_GET_LDZ(itf),
                         0 };
}

static void args_of(cl_kernel kernel, void *arg)
{
    struct box *b = arg;
    cl_int err;
    int set = starpu_opencl_set_kernel_args(&err, &kernel, sizeof b->v, &b->v, sizeof b->offset, &b->offset,
                                            sizeof b->nx, &b->nx, sizeof b->ny, &b->ny, sizeof b->nz, &b->nz,
                                            sizeof b->ldy, &b->ldy, sizeof b->ldz, &b->ldz, sizeof b->by,
                                            &b->by, (size_t)0);
    if (set != 8 || err != CL_SUCCESS) atomic_fetch_add(&refused, 1);
}

static void add_func(void *buffers[], void *arg)
{
    struct box b = box_of(buffers[0]);
    b.by = (int)(intptr_t)arg;
    if (opencl_launch("add", (size_t)b.nx * b.ny * b.nz, args_of, &b) != CL_SUCCESS)
        atomic_fetch_add(&refused, 1);
}

static void add_cpu_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    for (unsigned y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (unsigned x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
            v[y * STARPU_MATRIX_GET_LD(buffers[0]) + x] += (int)(intptr_t)arg;
}

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "opencl_shapes" };
static struct starpu_codelet add_cl = { .opencl_funcs = { add_func },
                                        .opencl_flags = { STARPU_OPENCL_ASYNC },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW } };
static struct starpu_codelet both_cl = { .cpu_funcs = { add_cpu_func },
                                         .opencl_funcs = { add_func },
                                         .opencl_flags = { STARPU_OPENCL_ASYNC },
                                         .nbuffers = 1,
                                         .modes = { STARPU_RW },
                                         .model = &model };

/* On the worker of that device; device -1: on any. */
static bool add(struct starpu_codelet *cl, starpu_data_handle_t h, int by, int device)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = (void *)(intptr_t)by;
    t->handles[0] = h;
    t->execute_on_a_specific_worker = device >= 0;
    t->workerid = device >= 0 ? (unsigned)starpu_worker_get_by_devid(STARPU_OPENCL_WORKER, device) : 0;
    return starpu_task_submit(t) == 0;
}

static void fill(void)
{
    for (int i = 0; i < CELLS; i++) cells[i] = wanted[i] = i;
    refused = 0;
}

static void want(int x0, int x1, int y0, int y1, int z0, int z1, int by)
{
    for (int z = z0; z < z1; z++)
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++) wanted[z * LDZ + y * LDY + x] += by;
}

static bool all_as_wanted(void)
{
    return refused == 0 && memcmp(cells, wanted, sizeof cells) == 0;
}

/* ---- pieces ---- */

static void matrix_pieces(void)
{
    starpu_data_handle_t h;
    struct starpu_data_filter rows = { .filter_func = starpu_matrix_filter_vertical_block, .nchildren = 4 };
    struct starpu_data_filter columns = { .filter_func = starpu_matrix_filter_block, .nchildren = 3 };
    bool taken = true;
    fill();
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, LDY, NX, NY, sizeof(int));
    starpu_data_map_filters(h, 2, &rows, &columns);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            taken &= add(&add_cl, starpu_data_get_sub_data(h, 2, i, j), 10 * i + j, (i + j) % 2);
            want(10 * j, 10 * j + 10, 5 * i, 5 * i + 5, 0, 1, 10 * i + j);
        }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    ok(all_of(taken, all_as_wanted()),
       "tiles of a matrix with a pitch go to two devices and come back, and nothing else");
}

static void block_pieces(void)
{
    starpu_data_handle_t h;
    struct starpu_data_filter x = { .filter_func = starpu_block_filter_block, .nchildren = 3 };
    struct starpu_data_filter y = { .filter_func = starpu_block_filter_vertical_block, .nchildren = 2 };
    struct starpu_data_filter z = { .filter_func = starpu_block_filter_depth_block, .nchildren = 3 };
    bool taken = true;
    fill();
    starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, LDY, LDZ, NX, NY, NZ, sizeof(int));
    taken &= add(&add_cl, h, 1000, 0); /* it is on the device when it is cut */
    want(0, NX, 0, NY, 0, NZ, 1000);
    starpu_data_map_filters(h, 3, &x, &y, &z);
    for (int i = 0; i < 18; i++) {
        int a = i % 3, b = i / 3 % 2, c = i / 6;
        taken &= add(&add_cl, starpu_data_get_sub_data(h, 3, a, b, c), i, i % 2);
        want(10 * a, 10 * a + 10, 10 * b, 10 * b + 10, 4 * c, 4 * c + 4, i);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    ok(all_of(taken, all_as_wanted()), "so do pieces of a block, cut in three dimensions");
}

static void between_devices(void)
{
    starpu_data_handle_t h;
    bool taken = true;
    fill();
    starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, LDY, LDZ, NX, NY, NZ, sizeof(int));
    for (int i = 0; i < 10; i++) taken &= add(&add_cl, h, i, i % 2);
    starpu_data_unregister(h);
    want(0, NX, 0, NY, 0, NZ, 45);
    ok(all_of(taken, all_as_wanted()), "a block goes from device to device, and each adds to it");
}

/* ---- more than a device's memory ---- */

static void eviction(void)
{
    enum { DATA = 24, SIDE = 128 };
    static int matrices[DATA][SIDE * SIDE];
    starpu_data_handle_t h[DATA];
    bool taken = true, right = true;
    setenv("STARPU_LIMIT_OPENCL_MEM", "0.5", 1);
    setenv("STARPU_LIMIT_OPENCL_1_MEM", "0.25", 1);
    opencl_start(0, NULL);
    unsigned nodes[2];
    starpu_memory_node_get_ids_by_type(STARPU_OPENCL_RAM, nodes, 2);
    ok(all_of(starpu_memory_get_total(nodes[0]) == 512 << 10, starpu_memory_get_total(nodes[1]) == 256 << 10),
       "STARPU_LIMIT_OPENCL_MEM limits devices, STARPU_LIMIT_OPENCL_1_MEM one of them");
    taken &= opencl_build(source);
    refused = 0;
    memset(matrices, 0, sizeof matrices);
    for (int i = 0; i < DATA; i++)
        starpu_matrix_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)matrices[i], SIDE, SIDE, SIDE,
                                    sizeof(int));
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < DATA; i++) taken &= add(&add_cl, h[i], i, -1);
    for (int i = 0; i < DATA; i++) starpu_data_unregister(h[i]);
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    unsetenv("STARPU_LIMIT_OPENCL_MEM");
    unsetenv("STARPU_LIMIT_OPENCL_1_MEM");
    for (int i = 0; i < DATA * SIDE * SIDE; i++)
        right &= matrices[i / (SIDE * SIDE)][i % (SIDE * SIDE)] == 3 * (i / (SIDE * SIDE));
    ok(all_of(taken, right, refused == 0), "twice the devices' memory goes through them, and all is right");
}

/* ---- policies ---- */

static void by_models(void)
{
    starpu_data_handle_t h;
    bool taken = true;
    setenv("STARPU_CALIBRATE", "1", 1);
    opencl_start(1, "dmda");
    unsetenv("STARPU_CALIBRATE");
    taken &= opencl_build(source);
    fill();
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, LDY, NX, NY, sizeof(int));
    for (int i = 0; i < 60; i++) taken &= add(&both_cl, h, i, -1);
    starpu_data_unregister(h);
    int per_cpu = 0, per_device = 0;
    for (unsigned w = 0; w < starpu_worker_get_count(); w++)
        *(starpu_worker_get_type((int)w) == STARPU_CPU_WORKER ? &per_cpu : &per_device) +=
            (int)both_cl.per_worker_stats[w];
    double bandwidth = starpu_transfer_bandwidth(STARPU_MAIN_RAM, opencl_node());
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    want(0, NX, 0, NY, 0, 1, 59 * 60 / 2);
    ok(all_of(taken, all_as_wanted(), per_cpu > 0, per_device > 0, per_cpu + per_device == 60),
       "dmda calibrates a codelet on the CPU and on devices, in one datum");
    ok(all_of(bandwidth > 1, bandwidth < 1e9), "and knows the bandwidth of the link, which was measured");
}

/* ---- which devices ---- */

static void which(void)
{
    struct starpu_conf conf;
    setenv("STARPU_WORKERS_OPENCLID", "1", 1);
    opencl_start(0, NULL);
    ok(all_of(starpu_opencl_worker_get_count() == 1, starpu_worker_get_devid(0) == 1),
       "STARPU_WORKERS_OPENCLID chooses the device");
    starpu_shutdown();
    unsetenv("STARPU_WORKERS_OPENCLID");
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.use_explicit_workers_opencl_gpuid = 1;
    conf.workers_opencl_gpuid[0] = 1;
    conf.workers_opencl_gpuid[1] = 0;
    conf.nopencl = 2;
    int r = starpu_init(&conf);
    ok(all_of(r == 0, starpu_opencl_worker_get_count() == 2,
              starpu_worker_get_devid(starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0)) == 1),
       "so does workers_opencl_gpuid, in its order");
    starpu_shutdown();
    setenv("STARPU_NOPENCL", "0", 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    r = starpu_init(&conf);
    ok(all_of(r == 0, starpu_opencl_worker_get_count() == 0), "STARPU_NOPENCL=0 means none");
    starpu_shutdown();
    unsetenv("STARPU_NOPENCL");
}

/* ---- programs ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (f) fputs(text, f);
    if (f) fclose(f);
}

static void programs(void)
{
    char folder[] = "/tmp/orrery-opencl.XXXXXX", path[64], header[64], *located, *where, *text;
    struct starpu_opencl_program p;
    cl_kernel kernel;
    cl_command_queue queue;
    if (!mkdtemp(folder)) exit(1);
    snprintf(path, sizeof path, "%s/one.cl", folder);
    snprintf(header, sizeof header, "%s/one.h", folder);
    write_text(header, "#define VALUE 1\n");
    write_text(path, "#include \"one.h\"\n__kernel void one(__global int *v) { *v = VALUE + MORE; }\n");
    setenv("STARPU_OPENCL_PROGRAM_DIR", folder, 1);
    ok(starpu_opencl_load_opencl_from_file("one.cl", &p, "-DMORE=2") == CL_SUCCESS,
       "a program is built from a file in STARPU_OPENCL_PROGRAM_DIR, with what it includes and options");
    bool found = starpu_opencl_load_kernel(&kernel, &queue, &p, "one", 1) == CL_SUCCESS;
    ok(all_of(found, queue != NULL, starpu_opencl_release_kernel(kernel) == CL_SUCCESS,
              starpu_opencl_load_kernel(&kernel, &queue, &p, "two", 1) == CL_INVALID_KERNEL_NAME),
       "a kernel of it is found, and one that it does not have is not");
    starpu_opencl_unload_opencl(&p);
    ok(all_of(starpu_opencl_compile_opencl_from_file("one.cl", "-DMORE=3") == CL_SUCCESS,
              starpu_opencl_load_binary_opencl("one.cl", &p) == CL_SUCCESS,
              starpu_opencl_load_kernel(&kernel, &queue, &p, "one", 0) == CL_SUCCESS),
       "binaries are stored and loaded again");
    starpu_opencl_release_kernel(kernel);
    starpu_opencl_unload_opencl(&p);
    ok(starpu_opencl_load_binary_opencl("other.cl", &p) == CL_INVALID_BINARY,
       "one that is not stored is refused");
    ok(starpu_opencl_load_opencl_from_string("__kernel void bad(", &p, NULL) == CL_BUILD_PROGRAM_FAILURE,
       "a program that does not compile is refused");
    ok(starpu_opencl_load_opencl_from_file("none.cl", &p, NULL) != CL_SUCCESS,
       "so is a file that is not there");
    starpu_opencl_load_program_source_malloc("one.cl", &located, &where, &text);
    ok(all_of(text && strstr(text, "VALUE + MORE"), located && strcmp(located, path) == 0,
              where && strcmp(where, folder) == 0),
       "a source is found with its path and its folder");
    free(located);
    free(where);
    free(text);
    unlink(path);
    unlink(header);
    rmdir(folder);
}

/* ---- copies that programs make ---- */

static void copies(void)
{
    int from[100], to[100], ret[4];
    unsigned nodes[2];
    cl_mem m[2];
    cl_event event;
    starpu_memory_node_get_ids_by_type(STARPU_OPENCL_RAM, nodes, 2);
    for (int i = 0; i < 100; i++) from[i] = 3 * i;
    memset(to, 0, sizeof to);
    bool made = starpu_opencl_allocate_memory(0, &m[0], sizeof from, CL_MEM_READ_WRITE) == CL_SUCCESS &&
                starpu_opencl_allocate_memory(1, &m[1], sizeof from, CL_MEM_READ_WRITE) == CL_SUCCESS;
    bool copied = starpu_opencl_copy_ram_to_opencl(from, STARPU_MAIN_RAM, m[0], nodes[0], sizeof from, 0,
                                                   &event, &ret[0]) == CL_SUCCESS &&
                  clWaitForEvents(1, &event) == CL_SUCCESS && clReleaseEvent(event) == CL_SUCCESS;
    copied = copied && starpu_opencl_copy_opencl_to_opencl(m[0], nodes[0], 40, m[0], nodes[0], 0, 40, NULL,
                                                           &ret[1]) == CL_SUCCESS;
    copied = copied && starpu_opencl_copy_opencl_to_opencl(m[0], nodes[0], 0, m[1], nodes[1], 0, sizeof from,
                                                           NULL, &ret[2]) == CL_SUCCESS;
    copied = copied && starpu_opencl_copy_opencl_to_ram_devid(m[1], 1, to, 0, sizeof to, 0, NULL, &ret[3]) ==
                           CL_SUCCESS;
    bool right = true;
    for (int i = 0; i < 100; i++) right &= to[i] == 3 * (i < 10 ? i + 10 : i);
    clReleaseMemObject(m[0]);
    clReleaseMemObject(m[1]);
    ok(all_of(made, copied, ret[0] == -EAGAIN, ret[1] == 0, ret[2] == 0, ret[3] == 0, right),
       "a program copies to a device, within it, to the other, and back");
    cl_context context;
    starpu_opencl_get_context(5, &context);
    ok(context == NULL, "there is no context of a device that there is not");
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread", 1);
    opencl_start(0, NULL);
    is_int(starpu_opencl_worker_get_count(), 2, "there are two devices");
    ok(opencl_build(source), "a program is built for both");
    matrix_pieces();
    block_pieces();
    between_devices();
    copies();
    programs();
    starpu_opencl_unload_opencl(&cl_program_of_test);
    starpu_shutdown();
    eviction();
    by_models();
    which();
    return done_testing();
}
