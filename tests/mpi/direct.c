/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 */
/*
 * Messages straight from and to the memory of devices, where the network takes it: simulated ones, whose
 * memory is real, and those of CUDA's double with an MPI that says that it knows CUDA.
 * Threads: main of each rank; the progress engine.
 * Owns: the data of each case.
 * Not here: what a device does with its memory (tests/core/memory_hungry.c).
 */
#include <limits.h>

#include "tests/mpi/helper_mpi.h"

enum { LARGE = 64 * 1024, SMALL = 1024, ROUNDS = 40 };

static unsigned device; /* its memory node */

static void increment_func(void *buffers[], void *args UNUSED)
{
    unsigned char *p = (unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i]++;
}
static void fill_func(void *buffers[], void *args)
{
    int value;
    starpu_codelet_unpack_args(args, &value);
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), value, STARPU_VECTOR_GET_NX(buffers[0]));
}
static int wrong;
static void expect_func(void *buffers[], void *args)
{
    const unsigned char *p = (const unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int value;
    starpu_codelet_unpack_args(args, &value);
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) wrong += p[i] != value;
}
static struct starpu_codelet
    increment_cl = { .cuda_funcs = { increment_func },
                     .nbuffers = 1,
                     .modes = { STARPU_RW },
                     .name = "increment" },
    fill_cl = { .cuda_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill" },
    expect_cl = { .cuda_funcs = { expect_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "expect" },
    expect_on_cpu_cl = { .cpu_funcs = { expect_func },
                         .where = STARPU_CPU,
                         .nbuffers = 1,
                         .modes = { STARPU_R },
                         .name = "expect_on_cpu" };

/* Where an MPI that knows CUDA has its answer. The double's memory is host memory, which any MPI takes. */
__attribute__((visibility("default"))) int MPIX_Query_cuda_support(void);
static int knows_cuda;
int MPIX_Query_cuda_support(void)
{
    return knows_cuda;
}

/* In the place of simulated devices from now on: those of CUDA's double, beside the tests in the build
 * folder. */
static void use_double(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    path[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) *strrchr(path, '/') = '\0';
    strcat(path, "/double/cuda.so");
    setenv("ORRERY_CUDA_LIBRARY", path, 1);
    setenv("ORR_DOUBLE_CUDA_DEVICES", "2", 1);
    setenv("ORR_DOUBLE_CUDA_MEM_KB", "1138", 1); /* of which nine tenths are used */
    setenv("ORRERY_SIM_DEVICES", "0", 1);
}

/* A runtime with one device of 1 MiB a rank. False: there is none. */
static int start(const char *direct)
{
    struct starpu_conf conf;
    setenv("ORRERY_SIM_DEVICES", "2", 0); /* they are shared out */
    setenv("ORRERY_SIM_TYPE", "cuda", 1);
    setenv("ORRERY_SIM_DIRECT", "1", 1);
    setenv("ORRERY_SIM_MEM_MB", "1", 1);
    setenv("STARPU_MPI_GPUDIRECT", direct, 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf)) return 0;
    if (starpu_cuda_worker_get_count() != 1) return 0;
    device = starpu_worker_get_memory_node((unsigned)starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0));
    return 1;
}

static starpu_data_handle_t make(uint32_t bytes)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, bytes, 1);
    return h;
}

static int is_on(starpu_data_handle_t h, unsigned node)
{
    int allocated, valid = 0, requested;
    starpu_data_query_status(h, (int)node, &allocated, &valid, &requested);
    return valid;
}

static int insert(struct starpu_codelet *cl, int mode, starpu_data_handle_t h, int value)
{
    return starpu_task_insert(cl, mode, h, STARPU_VALUE, &value, sizeof value, 0);
}

/* Rank 0's device makes a value, which a task of cl on rank 1 reads: posted long before it is sent. */
static starpu_data_handle_t pass_on(uint32_t bytes, struct starpu_codelet *cl)
{
    starpu_data_handle_t h = make(bytes);
    int failed = 0;
    if (my_rank == 1) {
        failed |= starpu_mpi_irecv_detached(h, 0, 1, MPI_COMM_WORLD, NULL, NULL);
        failed |= insert(cl, STARPU_R, h, 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
        failed |= insert(&fill_cl, STARPU_W, h, 7);
        failed |= starpu_mpi_isend_detached(h, 1, 1, MPI_COMM_WORLD, NULL, NULL);
    }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    wrong += failed != 0;
    return h;
}

static void from_device_to_device(void)
{
    starpu_data_handle_t h = pass_on(LARGE, &expect_cl);
    fact(wrong == 0, "what a device made comes to a device of another rank");
    fact(is_on(h, device) && !is_on(h, STARPU_MAIN_RAM), "by way of no main memory");
    starpu_data_unregister(h);
}

static void from_device_to_cpu(void)
{
    starpu_data_handle_t h = pass_on(LARGE, &expect_on_cpu_cl);
    fact(wrong == 0 && is_on(h, STARPU_MAIN_RAM) == (my_rank == 1),
         "or straight to main memory, where a CPU needs it");
    starpu_data_unregister(h);
}

static void small(void)
{
    starpu_data_handle_t h = pass_on(SMALL, &expect_cl);
    fact(wrong == 0 && is_on(h, STARPU_MAIN_RAM), "a small one goes by way of main memory, in the message");
    starpu_data_unregister(h);
}

static void to_and_fro(void)
{
    starpu_data_handle_t h = make(LARGE);
    unsigned char sum = 0;
    int failed = 0;
    starpu_mpi_data_register(h, 17, 0);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &fill_cl, STARPU_VALUE, &(int){ 0 }, sizeof(int),
                                     STARPU_W, h, 0);
    for (int k = 0; k < ROUNDS; k++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &increment_cl, STARPU_RW, h, STARPU_EXECUTE_ON_NODE,
                                         k % 2, 0);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    if (my_rank == 0) {
        failed |= starpu_data_acquire(h, STARPU_R);
        sum = *(unsigned char *)starpu_data_get_local_ptr(h);
        starpu_data_release(h);
    }
    starpu_data_unregister(h);
    fact(!failed && (my_rank || sum == ROUNDS), "%d tasks on both devices in turn each see the one before",
         ROUNDS);
}

/* More is received than the device holds, and a task needs most of it before any of that is sent. */
static void more_than_fits(void)
{
    enum { N = 32, NEEDED = 3 * 256 * 1024 };
    starpu_data_handle_t h[N], big = make(NEEDED), go = make(1);
    int failed = 0;
    for (int i = 0; i < N; i++) {
        h[i] = make(LARGE);
        if (my_rank == 1) {
            failed |= starpu_mpi_irecv_detached(h[i], 0, 100 + i, MPI_COMM_WORLD, NULL, NULL);
            failed |= insert(&expect_cl, STARPU_R, h[i], i);
        }
    }
    if (my_rank == 1) {
        failed |= insert(&fill_cl, STARPU_W, big, 3) | insert(&expect_cl, STARPU_R, big, 3);
        starpu_data_acquire(big, STARPU_R);
        starpu_data_release(big);
        failed |= insert(&fill_cl, STARPU_W, go, 1);
        failed |= starpu_mpi_send(go, 0, 5, MPI_COMM_WORLD);
    } else {
        failed |= starpu_mpi_recv(go, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++) {
            failed |= insert(&fill_cl, STARPU_W, h[i], i);
            failed |= starpu_mpi_isend_detached(h[i], 1, 100 + i, MPI_COMM_WORLD, NULL, NULL);
        }
    }
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) starpu_data_unregister(h[i]);
    starpu_data_unregister(big);
    starpu_data_unregister(go);
    fact(!failed && wrong == 0, "receives that wait keep no memory of the device from tasks");
}

static void fill_matrix_func(void *buffers[], void *args UNUSED)
{
    unsigned char *p = (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[0]);
    size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    for (size_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (size_t x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
            p[y * ld + x] = (unsigned char)(x * 3 + y);
}
static void raise_matrix_func(void *buffers[], void *args UNUSED)
{
    unsigned char *p = (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[0]);
    size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);
    for (size_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (size_t x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++) p[y * ld + x]++;
}

/* Rows that lie apart in main memory, of odd sizes, on either rank; on devices they may lie otherwise. */
static void with_gaps(void)
{
    enum { NX = 301, NY = 203, LD = 307 };
    static unsigned char memory[LD * NY];
    static struct starpu_codelet fill = { .cuda_funcs = { fill_matrix_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_W } },
                                 raise = { .cuda_funcs = { raise_matrix_func },
                                           .nbuffers = 1,
                                           .modes = { STARPU_RW } };
    starpu_data_handle_t h;
    int bad = 0;
    memset(memory, 250, sizeof memory);
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)memory, LD, NX, NY, 1);
    if (my_rank == 1) {
        bad |= starpu_mpi_irecv_detached(h, 0, 31, MPI_COMM_WORLD, NULL, NULL);
        bad |= starpu_task_insert(&raise, STARPU_RW, h, 0);
        bad |= starpu_mpi_isend_detached(h, 0, 32, MPI_COMM_WORLD, NULL, NULL);
    } else {
        bad |= starpu_task_insert(&fill, STARPU_W, h, 0);
        bad |= starpu_mpi_isend_detached(h, 1, 31, MPI_COMM_WORLD, NULL, NULL);
        bad |= starpu_mpi_irecv_detached(h, 1, 32, MPI_COMM_WORLD, NULL, NULL);
        bad |= starpu_task_insert(&raise, STARPU_RW, h, 0);
    }
    bad |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(h);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < LD; x++)
            bad |= memory[y * LD + x] != (x < NX ? (unsigned char)(x * 3 + y + 2 - my_rank) : 250);
    fact(!bad, "rows that lie apart come and go, and what is between them stays");
}

static void another_size(void)
{
    starpu_data_handle_t h = make(my_rank ? 2 * LARGE : LARGE);
    if (my_rank == 1)
        starpu_mpi_irecv_detached(h, 0, 9, MPI_COMM_WORLD, NULL, NULL);
    else if (insert(&fill_cl, STARPU_W, h, 7) == 0)
        starpu_mpi_isend_detached(h, 1, 9, MPI_COMM_WORLD, NULL, NULL);
    int status = starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fact(status == (my_rank ? -EMSGSIZE : 0), "a message of another size is refused (%s)", "as ever");
    starpu_data_unregister(h);
}

static void by_way_of_main_memory(void)
{
    starpu_data_handle_t h = pass_on(LARGE, &expect_cl);
    fact(wrong == 0 && is_on(h, STARPU_MAIN_RAM), "then all goes by way of main memory");
    starpu_data_unregister(h);
}

static void all(void)
{
    from_device_to_device();
    from_device_to_cpu();
    small();
    to_and_fro();
    more_than_fits();
    with_gaps();
    another_size();
    starpu_mpi_shutdown();
}

int main(int argc, char **argv)
{
    int provided;
    signal(SIGALRM, out_of_time);
    alarm(50);
    setenv("STARPU_SILENT", "1", 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fact(provided == MPI_THREAD_MULTIPLE && ranks == 2 && start("1"), "each rank has a device of 1 MiB");
    all();
    fact(start("0"), "once more with STARPU_MPI_GPUDIRECT=0");
    by_way_of_main_memory();
    starpu_mpi_shutdown();
    use_double();
    knows_cuda = 1;
    fact(start("1"), "each rank has a CUDA device, and MPI knows those");
    all();
    knows_cuda = 0;
    fact(start("1"), "and MPI does not");
    by_way_of_main_memory();
    return mpi_finish();
}
