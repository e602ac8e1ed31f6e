/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A handle from registration to unregistration, for each basic interface: sizes, pointers, lazy allocation,
 * invalidation, copies, asynchronous unregistration, what is attached to it.
 * Threads: main registers; workers execute.
 * Owns: the registered data.
 * Not here: partitioning (data_filters.c), acquiring (data_acquire.c).
 */
#include <malloc.h>
#include "tests/helper.h"

static int ran;
static void add_func(void *buffers[], void *arg)
{
    (*(int *)STARPU_VARIABLE_GET_PTR(buffers[0])) += arg ? *(int *)arg : 1;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static void void_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    ran++;
}
static struct starpu_codelet void_cl = {
    .cpu_funcs = { void_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "void"
};

static void interface_void(void)
{
    starpu_data_handle_t handle;
    int failed = 0;
    starpu_void_data_register(&handle);
    for (int i = 0; i < 1000; i++) failed |= starpu_task_insert(&void_cl, STARPU_RW, handle, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, ran == 1000, starpu_data_get_interface_id(handle) == STARPU_VOID_INTERFACE_ID),
       "a void handle carries order and exclusion without data");
    is_int((long long)starpu_data_get_size(handle), 0, "its size is 0");
    starpu_data_unregister(handle);
}

static void interface_variable(void)
{
    int value = 1, failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    ok(all_of(starpu_data_get_interface_id(handle) == STARPU_VARIABLE_INTERFACE_ID,
              starpu_data_get_size(handle) == sizeof value,
              starpu_variable_get_elemsize(handle) == sizeof value),
       "a variable knows its interface and size");
    ok(all_of(starpu_variable_get_local_ptr(handle) == (uintptr_t)&value,
              starpu_data_get_local_ptr(handle) == &value,
              starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM) == &value),
       "it lives in the memory that was registered");
    ok(starpu_data_lookup(&value) == handle, "a handle is found by the pointer it was registered with");
    for (int i = 0; i < 10; i++) failed |= starpu_task_insert(&add_cl, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 11), "unregistering waits for the tasks on it");
    ok(starpu_data_lookup(&value) == NULL, "after that the pointer is unknown");
}

static void scale_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] *= 2;
}
static struct starpu_codelet scale_cl = {
    .cpu_funcs = { scale_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "scale"
};

static void interface_vector(void)
{
    int v[100], wrong = 0;
    starpu_data_handle_t handle;
    for (int i = 0; i < 100; i++) v[i] = i;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 100, sizeof v[0]);
    ok(all_of(starpu_vector_get_nx(handle) == 100, starpu_vector_get_elemsize(handle) == sizeof v[0],
              starpu_data_get_size(handle) == sizeof v, starpu_vector_get_local_ptr(handle) == (uintptr_t)v),
       "a vector knows its length, element size, size and memory");
    int failed = starpu_task_insert(&scale_cl, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    for (int i = 0; i < 100; i++) wrong += v[i] != 2 * i;
    ok(all_of(!failed, wrong == 0), "a task works on it in place");
}

static void matrix_func(void *buffers[], void *arg UNUSED)
{
    int *m = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    unsigned nx = STARPU_MATRIX_GET_NX(buffers[0]), ny = STARPU_MATRIX_GET_NY(buffers[0]);
    unsigned ld = STARPU_MATRIX_GET_LD(buffers[0]);
    for (unsigned y = 0; y < ny; y++)
        for (unsigned x = 0; x < nx; x++) m[x + y * ld] += (int)(x + 100 * y);
}
static struct starpu_codelet matrix_cl = {
    .cpu_funcs = { matrix_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "matrix"
};

static void interface_matrix(void)
{
    enum { NX = 5, NY = 7, LD = 8 };
    int m[LD * NY], wrong = 0;
    starpu_data_handle_t handle;
    for (int i = 0; i < LD * NY; i++) m[i] = -1;
    starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)m, LD, NX, NY, sizeof m[0]);
    ok(all_of(starpu_matrix_get_nx(handle) == NX, starpu_matrix_get_ny(handle) == NY,
              starpu_matrix_get_local_ld(handle) == LD, starpu_matrix_get_elemsize(handle) == sizeof m[0],
              starpu_matrix_get_local_ptr(handle) == (uintptr_t)m,
              starpu_data_get_size(handle) == NX * NY * sizeof m[0]),
       "a matrix knows its dimensions, leading dimension, and a size without padding");
    int failed = starpu_task_insert(&matrix_cl, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < LD; x++) wrong += m[x + y * LD] != (x < NX ? x + 100 * y - 1 : -1);
    ok(all_of(!failed, wrong == 0), "a task works on its elements and leaves the padding alone");
}

static void block_func(void *buffers[], void *arg UNUSED)
{
    int *b = (int *)STARPU_BLOCK_GET_PTR(buffers[0]);
    unsigned nx = STARPU_BLOCK_GET_NX(buffers[0]), ny = STARPU_BLOCK_GET_NY(buffers[0]),
             nz = STARPU_BLOCK_GET_NZ(buffers[0]);
    unsigned ldy = STARPU_BLOCK_GET_LDY(buffers[0]), ldz = STARPU_BLOCK_GET_LDZ(buffers[0]);
    for (unsigned z = 0; z < nz; z++)
        for (unsigned y = 0; y < ny; y++)
            for (unsigned x = 0; x < nx; x++) b[x + y * ldy + z * ldz] = (int)(x + 10 * y + 100 * z);
}
static struct starpu_codelet block_cl = {
    .cpu_funcs = { block_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "block"
};

static void interface_block(void)
{
    enum { NX = 3, NY = 4, NZ = 5, LDY = 4, LDZ = 20 };
    int b[LDZ * NZ], wrong = 0;
    starpu_data_handle_t handle;
    for (int i = 0; i < LDZ * NZ; i++) b[i] = -1;
    starpu_block_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)b, LDY, LDZ, NX, NY, NZ, sizeof b[0]);
    ok(all_of(starpu_block_get_nx(handle) == NX, starpu_block_get_ny(handle) == NY,
              starpu_block_get_nz(handle) == NZ, starpu_block_get_local_ldy(handle) == LDY,
              starpu_block_get_local_ldz(handle) == LDZ,
              starpu_data_get_size(handle) == NX * NY * NZ * sizeof b[0]),
       "a block knows its dimensions, leading dimensions, and a size without padding");
    int failed = starpu_task_insert(&block_cl, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    for (int z = 0; z < NZ; z++)
        for (int i = 0; i < LDZ; i++) {
            int x = i % LDY, y = i / LDY;
            wrong += b[i + z * LDZ] != (x < NX && y < NY ? x + 10 * y + 100 * z : -1);
        }
    ok(all_of(!failed, wrong == 0),
       "a task works on its elements and leaves the padding alone, in three dimensions");
}

static void fill_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), start = arg ? *(int *)arg : 0;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = start + (int)i;
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill"
};

static long long sum_seen;
static void sum_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    sum_seen = 0;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) sum_seen += v[i];
}
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "sum"
};

static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void lazy_allocation(void)
{
    enum { N = 64 * 1024 };
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, -1, 0, N, sizeof(int));
    int allocated = 1, valid = 1, requested = 1;
    starpu_data_query_status(handle, STARPU_MAIN_RAM, &allocated, &valid, &requested);
    ok(all_of(!allocated, !valid), "a handle without home has neither memory nor value at first");
    int failed =
        starpu_task_insert(&fill_cl, STARPU_W, handle, 0) | starpu_task_insert(&sum_cl, STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, sum_seen == (long long)N * (N - 1) / 2),
       "its memory is allocated by the first writer and read by the next task");
    starpu_data_query_status(handle, STARPU_MAIN_RAM, &allocated, &valid, &requested);
    ok(all_of(allocated, valid) || !runtime_on_cpus(), "then it is allocated and valid in main memory");
    failed = starpu_data_acquire(handle, STARPU_R);
    int *v = starpu_data_get_local_ptr(handle);
    ok(all_of(!failed, v, v[N - 1] == N - 1), "an acquire gives access to it");
    starpu_data_release(handle);
    starpu_data_unregister_no_coherency(handle);

    size_t before = 0;
    for (int i = 0; i < 110; i++) {
        starpu_vector_data_register(&handle, -1, 0, N, sizeof(int));
        failed |= starpu_task_insert(&fill_cl, STARPU_W, handle, 0);
        if (i % 2)
            starpu_data_unregister_submit(handle);
        else
            starpu_data_unregister(handle);
        starpu_task_wait_for_all();
        if (i == 10) before = memory_in_use();
    }
    ok(all_of(!failed, memory_in_use() < before + 20 * N * sizeof(int)),
       "memory allocated for handles without home is freed with them");
}

static void asynchronous_end(void)
{
    starpu_data_handle_t handle;
    int failed = 0;
    sum_seen = 0;
    starpu_vector_data_register(&handle, -1, 0, 1000, sizeof(int));
    failed |=
        starpu_task_insert(&fill_cl, STARPU_W, handle, 0) | starpu_task_insert(&sum_cl, STARPU_R, handle, 0);
    struct gate gate = { 0 };
    gate_submit(&gate, -1);
    starpu_data_unregister_submit(handle);
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, sum_seen == 499500),
       "a handle may be unregistered by submission, after the tasks before");
}

static void invalidation(void)
{
    starpu_data_handle_t handle;
    int ten = 10, failed;
    starpu_vector_data_register(&handle, -1, 0, 100, sizeof(int));
    failed =
        starpu_task_insert(&fill_cl, STARPU_W, handle, 0) | starpu_task_insert(&sum_cl, STARPU_R, handle, 0);
    starpu_data_invalidate_submit(handle);
    struct starpu_task *task = starpu_task_create();
    task->cl = &fill_cl;
    task->handles[0] = handle;
    task->cl_arg = &ten;
    failed |= starpu_task_submit(task) | starpu_task_insert(&sum_cl, STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    is_int(failed ? -1 : sum_seen, 4950 + 1000,
           "invalidation by submission comes between the tasks before and after");
    starpu_data_invalidate(handle);
    int allocated = 0, valid = 1, requested = 0;
    starpu_data_query_status(handle, STARPU_MAIN_RAM, &allocated, &valid, &requested);
    is_int(valid, 0, "an invalidated handle has no valid copy");
    failed =
        starpu_task_insert(&fill_cl, STARPU_W, handle, 0) | starpu_task_insert(&sum_cl, STARPU_R, handle, 0);
    starpu_task_wait_for_all();
    is_int(failed ? -1 : sum_seen, 4950, "a writer gives it a value again");
    starpu_data_unregister(handle);
}

static atomic_int copies;
static void copied(void *arg)
{
    atomic_fetch_add(&copies, *(int *)arg);
}

static void copying(void)
{
    int from[50], to[50], wrong = 0, one = 1, hundred = 100;
    starpu_data_handle_t source, target;
    memset(to, 0, sizeof to);
    starpu_vector_data_register(&source, STARPU_MAIN_RAM, (uintptr_t)from, 50, sizeof from[0]);
    starpu_vector_data_register(&target, STARPU_MAIN_RAM, (uintptr_t)to, 50, sizeof to[0]);
    int failed = starpu_task_insert(&fill_cl, STARPU_W, source, 0);
    failed |= starpu_data_cpy(target, source, 0, NULL, NULL);
    for (int i = 0; i < 50; i++) wrong += to[i] != i;
    ok(all_of(!failed, wrong == 0),
       "a synchronous copy waits for the writer of its source and is there on return");

    struct starpu_task *task = starpu_task_create();
    task->cl = &fill_cl;
    task->handles[0] = source;
    task->cl_arg = &hundred;
    failed |= starpu_task_submit(task);
    failed |= starpu_data_cpy(target, source, 1, copied, &one);
    failed |= starpu_task_insert(&fill_cl, STARPU_W, source, 0) |
              starpu_task_insert(&scale_cl, STARPU_RW, target, 0);
    starpu_task_wait_for_all();
    ok(comes_to(&copies, 1, 1000), "an asynchronous copy calls back");
    starpu_data_unregister(target);
    starpu_data_unregister(source);
    wrong = 0;
    for (int i = 0; i < 50; i++) wrong += to[i] != 2 * (100 + i) || from[i] != i;
    ok(all_of(!failed, wrong == 0), "it takes its place among the tasks on both handles");
}

static void copying_padded(void)
{
    enum { NX = 3, NY = 4 };
    int from[5 * NY], to[7 * NY], wrong = 0;
    starpu_data_handle_t source, target;
    for (int i = 0; i < 5 * NY; i++) from[i] = i;
    for (int i = 0; i < 7 * NY; i++) to[i] = -1;
    starpu_matrix_data_register(&source, STARPU_MAIN_RAM, (uintptr_t)from, 5, NX, NY, sizeof(int));
    starpu_matrix_data_register(&target, STARPU_MAIN_RAM, (uintptr_t)to, 7, NX, NY, sizeof(int));
    int failed = starpu_data_cpy(target, source, 0, NULL, NULL);
    starpu_data_unregister(source);
    starpu_data_unregister(target);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < 7; x++) wrong += to[x + 7 * y] != (x < NX ? x + 5 * y : -1);
    ok(all_of(!failed, wrong == 0),
       "matrices of different leading dimensions are copied without touching the padding");
}

static void packing(void)
{
    int from[4 * 6], to[3 * 6], wrong = 0;
    starpu_data_handle_t source, target;
    for (int i = 0; i < 4 * 6; i++) from[i] = i;
    memset(to, 0, sizeof to);
    starpu_matrix_data_register(&source, STARPU_MAIN_RAM, (uintptr_t)from, 4, 3, 6, sizeof(int));
    starpu_matrix_data_register(&target, STARPU_MAIN_RAM, (uintptr_t)to, 3, 3, 6, sizeof(int));
    void *buffer = NULL;
    starpu_ssize_t count = 0;
    int failed = starpu_data_pack(source, &buffer, &count);
    ok(all_of(!failed, buffer, count == 3 * 6 * (starpu_ssize_t)sizeof(int)),
       "data is packed without its padding");
    failed = starpu_data_unpack(target, buffer, (size_t)count);
    starpu_data_unregister(source);
    starpu_data_unregister(target);
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 3; x++) wrong += to[x + 3 * y] != x + 4 * y;
    ok(all_of(!failed, wrong == 0), "and unpacked into a handle of another layout");
}

static void attachments(void)
{
    int value = 0, mark = 0;
    starpu_data_handle_t handle, same;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    ok(starpu_data_get_user_data(handle) == NULL, "a handle has no user data at first");
    starpu_data_set_user_data(handle, &mark);
    ok(starpu_data_get_user_data(handle) == &mark, "it keeps what is attached to it");
    starpu_data_register_same(&same, handle);
    ok(all_of(starpu_data_get_size(same) == sizeof value,
              starpu_data_get_interface_id(same) == STARPU_VARIABLE_INTERFACE_ID),
       "a handle registered like another has its interface and size");
    int failed = starpu_data_cpy(same, handle, 0, NULL, NULL);
    failed |= starpu_task_insert(&add_cl, STARPU_RW, same, 0) | starpu_data_cpy(handle, same, 0, NULL, NULL);
    starpu_data_unregister(same);
    starpu_data_unregister(handle);
    ok(all_of(!failed, value == 1), "and memory of its own");
}

static void many_handles(void)
{
    enum { N = 5000 };
    static int values[N];
    static starpu_data_handle_t handles[N];
    int failed = 0, wrong = 0;
    for (int i = 0; i < N; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i], sizeof values[i]);
    for (int i = 0; i < N; i++) {
        failed |= starpu_task_insert(&add_cl, STARPU_RW, handles[i], 0);
        wrong += starpu_data_lookup(&values[i]) != handles[i];
    }
    for (int i = 0; i < N; i++) starpu_data_unregister(handles[i]);
    for (int i = 0; i < N; i++) wrong += values[i] != 1;
    ok(all_of(!failed, wrong == 0), "%d handles live at the same time, each found by its pointer", N);
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    interface_void();
    interface_variable();
    interface_vector();
    interface_matrix();
    interface_block();
    lazy_allocation();
    asynchronous_end();
    invalidation();
    copying();
    copying_padded();
    packing();
    attachments();
    many_handles();
    starpu_shutdown();
    return done_testing();
}
