/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronous partitioning: the usual filters of vectors, matrices and blocks, several levels, tasks on
 * children.
 * Threads: main partitions; workers execute on the children. Owns: the partitioned data. Not here:
 * what the interfaces hold (data_lifecycle.c).
 */
#include "tests/helper.h"

static void vector_set_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = (int)(intptr_t)arg;
}
static struct starpu_codelet vector_set_cl = {
    .cpu_funcs = { vector_set_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "vector_set",
};
static void matrix_set_func(void *buffers[], void *arg)
{
    int *m = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    for (unsigned y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (unsigned x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
            m[x + y * STARPU_MATRIX_GET_LD(buffers[0])] = (int)(intptr_t)arg;
}
static struct starpu_codelet matrix_set_cl = {
    .cpu_funcs = { matrix_set_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "matrix_set",
};
static void block_set_func(void *buffers[], void *arg)
{
    int *b = (int *)STARPU_BLOCK_GET_PTR(buffers[0]);
    for (unsigned z = 0; z < STARPU_BLOCK_GET_NZ(buffers[0]); z++)
        for (unsigned y = 0; y < STARPU_BLOCK_GET_NY(buffers[0]); y++)
            for (unsigned x = 0; x < STARPU_BLOCK_GET_NX(buffers[0]); x++)
                b[x + y * STARPU_BLOCK_GET_LDY(buffers[0]) + z * STARPU_BLOCK_GET_LDZ(buffers[0])] =
                    (int)(intptr_t)arg;
}
static struct starpu_codelet block_set_cl = {
    .cpu_funcs = { block_set_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "block_set",
};

static int set(struct starpu_codelet *cl, starpu_data_handle_t handle, int value)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->cl_arg = (void *)(intptr_t)value;
    task->handles[0] = handle;
    return starpu_task_submit(task);
}

static void vector_in_blocks(void)
{
    int v[10], wrong = 0, failed = 0;
    starpu_data_handle_t handle;
    struct starpu_data_filter filter = { .filter_func = starpu_vector_filter_block, .nchildren = 3 };
    memset(v, 0, sizeof v);
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 10, sizeof v[0]);
    failed |= set(&vector_set_cl, handle, 9);
    starpu_data_partition(handle, &filter);
    is_int(starpu_data_get_nb_children(handle), 3, "a partitioned handle has its children");
    unsigned lengths[3], total = 0;
    for (unsigned i = 0; i < 3; i++)
        total += lengths[i] = starpu_vector_get_nx(starpu_data_get_sub_data(handle, 1, i));
    ok(all_of(total == 10, lengths[0] == 4, lengths[1] == 3, lengths[2] == 3),
       "ten elements in three blocks are 4, 3 and 3");
    ok(starpu_data_get_child(handle, 1) == starpu_data_get_sub_data(handle, 1, 1),
       "a child is found by its number");
    for (int i = 0; i < 10; i++) wrong += v[i] != 9;
    ok(all_of(!failed, wrong == 0), "partitioning waits for the tasks on the whole");
    for (unsigned i = 0; i < 3; i++)
        failed |= set(&vector_set_cl, starpu_data_get_sub_data(handle, 1, i), 10 + (int)i);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    wrong = 0;
    for (int i = 0; i < 10; i++) wrong += v[i] != (i < 4 ? 10 : i < 7 ? 11 : 12);
    ok(all_of(!failed, wrong == 0),
       "tasks on the children wrote each its own part, and unpartitioning waits for them");
    is_int(starpu_data_get_nb_children(handle), 0, "after it there are no children");
    failed |= set(&vector_set_cl, handle, 5);
    starpu_data_partition(handle, &filter);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    failed |= set(&vector_set_cl, handle, 6);
    starpu_data_unregister(handle);
    wrong = 0;
    for (int i = 0; i < 10; i++) wrong += v[i] != 6;
    ok(all_of(!failed, wrong == 0), "a handle can be partitioned again and used as a whole afterwards");
}

static void vector_by_list(void)
{
    int v[12], wrong = 0, failed = 0;
    uint32_t lengths[4] = { 1, 5, 2, 4 };
    starpu_data_handle_t handle;
    struct starpu_data_filter filter = {
        .filter_func = starpu_vector_filter_list,
        .nchildren = 4,
        .filter_arg_ptr = lengths,
    };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 12, sizeof v[0]);
    starpu_data_partition(handle, &filter);
    for (unsigned i = 0; i < 4; i++) {
        wrong += starpu_vector_get_nx(starpu_data_get_sub_data(handle, 1, i)) != lengths[i];
        failed |= set(&vector_set_cl, starpu_data_get_sub_data(handle, 1, i), (int)i);
    }
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    static const int want[12] = { 0, 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3 };
    wrong += memcmp(v, want, sizeof v) != 0;
    ok(all_of(!failed, wrong == 0), "a vector is cut by a list of lengths");

    long lengths_long[2] = { 4, 8 };
    struct starpu_data_filter filter_long = {
        .filter_func = starpu_vector_filter_list_long,
        .nchildren = 2,
        .filter_arg_ptr = lengths_long,
    };
    struct starpu_data_filter in_two = { .filter_func = starpu_vector_filter_divide_in_2,
                                         .nchildren = 2,
                                         .filter_arg = 5 };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 12, sizeof v[0]);
    starpu_data_partition(handle, &filter_long);
    unsigned first = starpu_vector_get_nx(starpu_data_get_sub_data(handle, 1, 0));
    unsigned second = starpu_vector_get_nx(starpu_data_get_sub_data(handle, 1, 1));
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    ok(all_of(first == 4, second == 8), "the lengths may be long integers");
    starpu_data_partition(handle, &in_two);
    first = starpu_vector_get_nx(starpu_data_get_sub_data(handle, 1, 0));
    second = starpu_vector_get_nx(starpu_data_get_sub_data(handle, 1, 1));
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    ok(all_of(first == 5, second == 7), "or it is cut in two at a given place");
}

typedef void (*filter_fn)(void *, void *, struct starpu_data_filter *, unsigned, unsigned);

static void matrix_cut(filter_fn filter_func, int along_x, const char *name)
{
    enum { NX = 8, NY = 6, LD = 10 };
    int m[LD * NY], wrong = 0, failed = 0;
    starpu_data_handle_t handle;
    struct starpu_data_filter filter = { .filter_func = filter_func, .nchildren = 2 };
    for (int i = 0; i < LD * NY; i++) m[i] = -1;
    starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)m, LD, NX, NY, sizeof m[0]);
    starpu_data_partition(handle, &filter);
    for (unsigned i = 0; i < 2; i++) {
        starpu_data_handle_t child = starpu_data_get_sub_data(handle, 1, i);
        wrong += starpu_matrix_get_nx(child) != (along_x ? NX / 2 : NX);
        wrong += starpu_matrix_get_ny(child) != (along_x ? NY : NY / 2);
        wrong += starpu_matrix_get_local_ld(child) != LD;
        failed |= set(&matrix_set_cl, child, (int)i);
    }
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < LD; x++)
            wrong += m[x + y * LD] != (x >= NX ? -1 : along_x ? x / (NX / 2) : y / (NY / 2));
    ok(all_of(!failed, wrong == 0), "a matrix is cut by %s", name);
}

static void block_cut(filter_fn filter_func, int axis, const char *name)
{
    enum { NX = 4, NY = 6, NZ = 8, LDY = 5, LDZ = 31 };
    static int b[LDZ * NZ];
    int wrong = 0, failed = 0, n[3] = { NX, NY, NZ };
    starpu_data_handle_t handle;
    struct starpu_data_filter filter = { .filter_func = filter_func, .nchildren = 2 };
    starpu_block_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)b, LDY, LDZ, NX, NY, NZ, sizeof b[0]);
    starpu_data_partition(handle, &filter);
    for (unsigned i = 0; i < 2; i++)
        failed |= set(&block_set_cl, starpu_data_get_sub_data(handle, 1, i), (int)i);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                int at[3] = { x, y, z };
                wrong += b[x + y * LDY + z * LDZ] != at[axis] / (n[axis] / 2);
            }
    ok(all_of(!failed, wrong == 0), "a block is cut by %s", name);
}

static void two_levels(void)
{
    enum { N = 12, PARTS_X = 3, PARTS_Y = 4 };
    int m[N * N], wrong = 0, failed = 0;
    starpu_data_handle_t handle;
    struct starpu_data_filter by_x = { .filter_func = starpu_matrix_filter_block, .nchildren = PARTS_X };
    struct starpu_data_filter by_y = { .filter_func = starpu_matrix_filter_vertical_block,
                                       .nchildren = PARTS_Y };
    starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)m, N, N, N, sizeof m[0]);
    starpu_data_map_filters(handle, 2, &by_x, &by_y);
    ok(all_of(starpu_data_get_nb_children(handle) == PARTS_X,
              starpu_data_get_nb_children(starpu_data_get_sub_data(handle, 1, 2)) == PARTS_Y),
       "mapping two filters makes children of children");
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < PARTS_X; i++)
            for (int j = 0; j < PARTS_Y; j++)
                failed |=
                    set(&matrix_set_cl, starpu_data_get_sub_data(handle, 2, i, j), 1000 * round + 10 * i + j);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++)
            wrong += m[x + y * N] != 19000 + 10 * (x / (N / PARTS_X)) + y / (N / PARTS_Y);
    ok(all_of(!failed, wrong == 0), "tasks on the tiles write each its tile, in order");
}

static void nested_by_hand(void)
{
    int v[16], wrong = 0, failed = 0;
    starpu_data_handle_t handle;
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 16, sizeof v[0]);
    starpu_data_partition(handle, &halves);
    starpu_data_partition(starpu_data_get_sub_data(handle, 1, 1), &halves);
    failed |= set(&vector_set_cl, starpu_data_get_sub_data(handle, 1, 0), 1);
    failed |= set(&vector_set_cl, starpu_data_get_sub_data(handle, 2, 1, 0), 2);
    failed |= set(&vector_set_cl, starpu_data_get_sub_data(handle, 2, 1, 1), 3);
    starpu_data_unpartition(starpu_data_get_sub_data(handle, 1, 1), STARPU_MAIN_RAM);
    failed |= set(&vector_set_cl, starpu_data_get_sub_data(handle, 1, 0), 4);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    for (int i = 0; i < 16; i++) wrong += v[i] != (i < 8 ? 4 : i < 12 ? 2 : 3);
    ok(all_of(!failed, wrong == 0), "one child may be partitioned again and its siblings not");
}

static unsigned one_child_per_four(struct starpu_data_filter *filter UNUSED, starpu_data_handle_t handle)
{
    return starpu_vector_get_nx(handle) / 4;
}

static void own_filter_func(void *parent, void *child, struct starpu_data_filter *filter, unsigned id,
                            unsigned parts UNUSED)
{
    /* every second element left out: pairs of a given stride */
    struct starpu_vector_interface *from = parent;
    struct starpu_variable_interface *to = child;
    memset(to, 0, sizeof *to);
    to->id = STARPU_VARIABLE_INTERFACE_ID;
    to->elemsize = from->elemsize;
    if (from->ptr) {
        to->ptr = from->ptr + (size_t)id * filter->filter_arg * from->elemsize;
        to->dev_handle = to->ptr;
        to->offset = 0;
    }
}
static struct starpu_data_interface_ops *variable_ops(struct starpu_data_filter *filter UNUSED,
                                                      unsigned child UNUSED)
{
    return &starpu_interface_variable_ops;
}
static void variable_set_func(void *buffers[], void *arg)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = (int)(intptr_t)arg;
}
static struct starpu_codelet variable_set_cl = {
    .cpu_funcs = { variable_set_func },
    .nbuffers = 1,
    .modes = { STARPU_RW },
    .name = "variable_set",
};

static void filters_of_the_program(void)
{
    int v[20], wrong = 0, failed = 0;
    starpu_data_handle_t handle;
    struct starpu_data_filter counted = { .filter_func = starpu_vector_filter_block,
                                          .get_nchildren = one_child_per_four };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 20, sizeof v[0]);
    starpu_data_partition(handle, &counted);
    is_int(starpu_data_get_nb_children(handle), 5, "a filter may compute the number of its children");
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    struct starpu_data_filter own = {
        .filter_func = own_filter_func,
        .nchildren = 10,
        .get_child_ops = variable_ops,
        .filter_arg = 2,
    };
    memset(v, 0, sizeof v);
    starpu_data_partition(handle, &own);
    for (unsigned i = 0; i < 10; i++)
        failed |= set(&variable_set_cl, starpu_data_get_sub_data(handle, 1, i), 50 + (int)i);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    for (int i = 0; i < 20; i++) wrong += v[i] != (i % 2 ? 0 : 50 + i / 2);
    ok(all_of(!failed, wrong == 0), "a filter of the program makes children of another interface");
}

static atomic_int inside, inside_most;
static void meet_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    raise_to(&inside_most, atomic_fetch_add(&inside, 1) + 1);
    for (int i = 0; i < 10000 && atomic_load(&inside_most) < 2; i++) usleep(100);
    atomic_fetch_sub(&inside, 1);
}
static struct starpu_codelet meet_cl = {
    .cpu_funcs = { meet_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "meet"
};

static void children_in_parallel(void)
{
    int v[2] = { 0, 0 };
    starpu_data_handle_t handle;
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)v, 2, sizeof v[0]);
    starpu_data_partition(handle, &halves);
    int failed = 0;
    for (unsigned i = 0; i < 2; i++)
        failed |= starpu_task_insert(&meet_cl, STARPU_RW, starpu_data_get_sub_data(handle, 1, i), 0);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    ok(all_of(!failed, inside_most == 2), "writers of two children run at the same time");
}

int main(void)
{
    alarm(30);
    runtime_start(2, NULL);
    require_workers(2);
    vector_in_blocks();
    vector_by_list();
    matrix_cut(starpu_matrix_filter_block, 1, "starpu_matrix_filter_block along x");
    matrix_cut(starpu_matrix_filter_vertical_block, 0, "starpu_matrix_filter_vertical_block along y");
    block_cut(starpu_block_filter_block, 0, "starpu_block_filter_block along x");
    block_cut(starpu_block_filter_vertical_block, 1, "starpu_block_filter_vertical_block along y");
    block_cut(starpu_block_filter_depth_block, 2, "starpu_block_filter_depth_block along z");
    two_levels();
    nested_by_hand();
    filters_of_the_program();
    children_in_parallel();
    starpu_shutdown();
    return done_testing();
}
