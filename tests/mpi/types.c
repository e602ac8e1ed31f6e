/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 */
/*
 * What can be sent: each interface with its layout, an interface of the program with pack and unpack, a
 * datatype of the program. Threads: main of each rank; the progress engine packs and unpacks. Owns: the data
 * of each case, the interface of pairs. Not here: the forms of sending (p2p.c).
 */
#include "tests/mpi/helper_mpi.h"

/* Rank 0 sends, rank 1 receives, and sends the same back. */
static int there_and_back(starpu_data_handle_t out, starpu_data_handle_t in, starpu_mpi_tag_t tag)
{
    MPI_Status status;
    if (my_rank == 0)
        return starpu_mpi_send(out, 1, tag, MPI_COMM_WORLD) |
               starpu_mpi_recv(in, 1, tag + 1, MPI_COMM_WORLD, &status);
    if (my_rank == 1)
        return starpu_mpi_recv(in, 0, tag, MPI_COMM_WORLD, &status) |
               starpu_mpi_send(in, 0, tag + 1, MPI_COMM_WORLD);
    return 0;
}

static void matrix(void)
{
    enum { NX = 5, NY = 6 };
    /* the ranks lay out the same matrix differently */
    unsigned ld_in = my_rank == 0 ? 9 : 6;
    int from[8 * NY], to[9 * NY], wrong = 0;
    starpu_data_handle_t out, in;
    for (int i = 0; i < 8 * NY; i++) from[i] = i;
    for (int i = 0; i < 9 * NY; i++) to[i] = -1;
    starpu_matrix_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)from, 8, NX, NY, sizeof(int));
    starpu_matrix_data_register(&in, STARPU_MAIN_RAM, (uintptr_t)to, ld_in, NX, NY, sizeof(int));
    int failed = there_and_back(out, in, 100);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    for (int y = 0; my_rank < 2 && y < NY; y++)
        for (int x = 0; x < (int)ld_in; x++) wrong += to[x + y * (int)ld_in] != (x < NX ? x + 8 * y : -1);
    fact(!failed && wrong == 0,
         "a padded matrix arrives in a matrix of another leading dimension, padding untouched");
}

static void block(void)
{
    enum { NX = 3, NY = 4, NZ = 5 };
    static int from[5 * 5 * NZ], to[4 * 6 * NZ];
    int wrong = 0;
    starpu_data_handle_t out, in;
    for (int i = 0; i < 25 * NZ; i++) from[i] = i;
    for (int i = 0; i < 24 * NZ; i++) to[i] = -1;
    starpu_block_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)from, 5, 25, NX, NY, NZ, sizeof(int));
    starpu_block_data_register(&in, STARPU_MAIN_RAM, (uintptr_t)to, 4, 24, NX, NY, NZ, sizeof(int));
    int failed = there_and_back(out, in, 200);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    for (int z = 0; my_rank < 2 && z < NZ; z++)
        for (int i = 0; i < 24; i++) {
            int x = i % 4, y = i / 4;
            wrong += to[i + 24 * z] != (x < NX && y < NY ? x + 5 * y + 25 * z : -1);
        }
    fact(!failed && wrong == 0, "a padded block arrives in a block of another layout, padding untouched");
}

static void vector_and_variable(void)
{
    enum { N = 1000 };
    double from[N], to[N], single_from = 2.75, single_to = 0;
    int wrong = 0;
    starpu_data_handle_t out, in;
    for (int i = 0; i < N; i++) {
        from[i] = 0.5 * i;
        to[i] = -1;
    }
    starpu_vector_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)from, N, sizeof from[0]);
    starpu_vector_data_register(&in, STARPU_MAIN_RAM, (uintptr_t)to, N, sizeof to[0]);
    int failed = there_and_back(out, in, 300);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    for (int i = 0; my_rank < 2 && i < N; i++) wrong += to[i] != 0.5 * i;
    fact(!failed && wrong == 0, "a vector arrives");
    starpu_variable_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)&single_from, sizeof single_from);
    starpu_variable_data_register(&in, STARPU_MAIN_RAM, (uintptr_t)&single_to, sizeof single_to);
    failed = there_and_back(out, in, 310);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    fact(!failed && (my_rank > 1 || single_to == 2.75), "a variable arrives");
}

static void nothing(void)
{
    starpu_data_handle_t out, in;
    starpu_void_data_register(&out);
    starpu_void_data_register(&in);
    int failed = there_and_back(out, in, 400);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    fact(!failed, "a void handle is sent as a signal");
}

static void allocated_by_the_receive(void)
{
    enum { N = 500 };
    int from[N], wrong = 0;
    starpu_data_handle_t out, in;
    for (int i = 0; i < N; i++) from[i] = 3 * i;
    starpu_vector_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)from, N, sizeof(int));
    starpu_vector_data_register(&in, -1, 0, N, sizeof(int));
    int failed = there_and_back(out, in, 500);
    if (my_rank < 2) {
        failed |= starpu_data_acquire(in, STARPU_R);
        int *to = starpu_data_get_local_ptr(in);
        for (int i = 0; i < N; i++) wrong += to[i] != 3 * i;
        starpu_data_release(in);
    }
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    fact(!failed && wrong == 0, "a receive allocates the memory of a handle that has none");
}

/* An interface of the program: two arrays of doubles of the same length, apart in memory. */
struct pair_interface {
    uintptr_t first, second;
    int length;
};

static int packs, unpacks, peeks;

static void pair_register(starpu_data_handle_t handle, unsigned home, void *data)
{
    struct pair_interface *from = data;
    for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
        struct pair_interface *local = starpu_data_get_interface_on_node(handle, node);
        local->length = from->length;
        local->first = node == home ? from->first : 0;
        local->second = node == home ? from->second : 0;
    }
}

static starpu_ssize_t pair_allocate(void *data, unsigned node)
{
    struct pair_interface *pair = data;
    size_t bytes = (size_t)pair->length * sizeof(double);
    pair->first = starpu_malloc_on_node_flags(node, bytes, 0);
    pair->second = starpu_malloc_on_node_flags(node, bytes, 0);
    return pair->first && pair->second ? (starpu_ssize_t)(2 * bytes) : -ENOMEM;
}

static void pair_free(void *data, unsigned node)
{
    struct pair_interface *pair = data;
    size_t bytes = (size_t)pair->length * sizeof(double);
    starpu_free_on_node_flags(node, pair->first, bytes, 0);
    starpu_free_on_node_flags(node, pair->second, bytes, 0);
}

static int pair_copy(void *source, unsigned source_node, void *target, unsigned target_node, void *async)
{
    struct pair_interface *from = source, *to = target;
    size_t bytes = (size_t)from->length * sizeof(double);
    int again = starpu_interface_copy(from->first, 0, source_node, to->first, 0, target_node, bytes, async);
    int again_second =
        starpu_interface_copy(from->second, 0, source_node, to->second, 0, target_node, bytes, async);
    return again ? again : again_second;
}
static const struct starpu_data_copy_methods pair_copies = { .any_to_any = pair_copy };

static struct pair_interface *pair_of(starpu_data_handle_t handle, unsigned node)
{
    return starpu_data_get_interface_on_node(handle, node);
}
static size_t pair_size(starpu_data_handle_t handle)
{
    return 2 * (size_t)pair_of(handle, STARPU_MAIN_RAM)->length * sizeof(double);
}
static uint32_t pair_footprint(starpu_data_handle_t handle)
{
    return starpu_hash_crc32c_be((uint32_t)pair_of(handle, STARPU_MAIN_RAM)->length, 0);
}
static int pair_compare(void *a, void *b)
{
    return ((struct pair_interface *)a)->length == ((struct pair_interface *)b)->length;
}
static void *pair_pointer(void *data, unsigned node UNUSED)
{
    return (void *)((struct pair_interface *)data)->first;
}

static int pair_pack(starpu_data_handle_t handle, unsigned node, void **memory, starpu_ssize_t *count)
{
    struct pair_interface *pair = pair_of(handle, node);
    size_t bytes = (size_t)pair->length * sizeof(double);
    *count = (starpu_ssize_t)(2 * bytes);
    if (memory) {
        char *packed = (char *)starpu_malloc_on_node_flags(node, 2 * bytes, 0);
        memcpy(packed, (void *)pair->first, bytes);
        memcpy(packed + bytes, (void *)pair->second, bytes);
        *memory = packed;
        packs++;
    }
    return 0;
}

static int pair_peek(starpu_data_handle_t handle, unsigned node, void *memory, size_t count)
{
    struct pair_interface *pair = pair_of(handle, node);
    size_t bytes = (size_t)pair->length * sizeof(double);
    if (count != 2 * bytes) return -1;
    memcpy((void *)pair->first, memory, bytes);
    memcpy((void *)pair->second, (char *)memory + bytes, bytes);
    peeks++;
    return 0;
}

static int pair_unpack(starpu_data_handle_t handle, unsigned node, void *memory, size_t count)
{
    int status = pair_peek(handle, node, memory, count);
#if STARPU_AT_LEAST(1, 4) /* 1.3 frees the memory itself */
    starpu_free_on_node_flags(node, (uintptr_t)memory, count, 0);
#endif
    unpacks++;
    return status;
}

static struct starpu_data_interface_ops pair_ops = {
    .register_data_handle = pair_register,
    .allocate_data_on_node = pair_allocate,
    .free_data_on_node = pair_free,
    .copy_methods = &pair_copies,
    .get_size = pair_size,
    .footprint = pair_footprint,
    .compare = pair_compare,
    .to_pointer = pair_pointer,
    .pack_data = pair_pack,
#if STARPU_AT_LEAST(1, 4)
    .peek_data = pair_peek,
#endif
    .unpack_data = pair_unpack,
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
    .interface_size = sizeof(struct pair_interface),
};

static void pair_data_register(starpu_data_handle_t *handle, double *first, double *second, int length)
{
    struct pair_interface pair = { .first = (uintptr_t)first, .second = (uintptr_t)second, .length = length };
    if (pair_ops.interfaceid == STARPU_UNKNOWN_INTERFACE_ID)
        pair_ops.interfaceid = (enum starpu_data_interface_id)starpu_data_interface_get_next_id();
    starpu_data_register(handle, STARPU_MAIN_RAM, &pair, &pair_ops);
}

static void pair_swap_func(void *buffers[], void *arg UNUSED)
{
    struct pair_interface *pair = buffers[0];
    double *first = (double *)pair->first, *second = (double *)pair->second;
    for (int i = 0; i < pair->length; i++) {
        double x = first[i];
        first[i] = second[i];
        second[i] = x;
    }
}
static struct starpu_codelet pair_swap_cl = {
    .cpu_funcs = { pair_swap_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "swap"
};

static void own_interface(void)
{
    enum { N = 30 };
    double a[N], b[N], c[N], d[N];
    int wrong = 0, failed = 0;
    starpu_data_handle_t out, in;
    for (int i = 0; i < N; i++) {
        a[i] = i;
        b[i] = -i;
        c[i] = d[i] = 1000;
    }
    pair_data_register(&out, a, b, N);
    pair_data_register(&in, c, d, N);
    failed |= starpu_task_insert(&pair_swap_cl, STARPU_RW, out, 0);
    failed |= there_and_back(out, in, 600);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    for (int i = 0; my_rank < 2 && i < N; i++) wrong += c[i] != -i || d[i] != i;
    fact(!failed && wrong == 0, "data of an interface of the program arrives by its pack and unpack");
    fact(my_rank > 1 || (packs == 1 && peeks == 1), "packed and unpacked once per message (%d, %d, %d)",
         my_rank > 1 ? 1 : packs, my_rank > 1 ? 1 : peeks, my_rank > 1 ? 1 : unpacks);
}

static int datatypes, datatypes_freed;

static int pair_datatype(starpu_data_handle_t handle, MPI_Datatype *type)
{
    struct pair_interface *pair = starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM);
    int lengths[2] = { pair->length, pair->length };
    MPI_Aint places[2] = { 0, (MPI_Aint)(pair->second - pair->first) };
    MPI_Datatype types[2] = { MPI_DOUBLE, MPI_DOUBLE };
    MPI_Type_create_struct(2, lengths, places, types, type);
    MPI_Type_commit(type);
    datatypes++;
    return 0;
}

static void pair_datatype_free(MPI_Datatype *type)
{
    MPI_Type_free(type);
    datatypes_freed++;
}

static void own_datatype(void)
{
    enum { N = 30 };
    double a[N], b[N], c[N], d[N];
    int wrong = 0, failed = 0, packs_before = packs;
    starpu_data_handle_t out, in;
    for (int i = 0; i < N; i++) {
        a[i] = 2 * i;
        b[i] = -2 * i;
        c[i] = d[i] = 1000;
    }
    pair_data_register(&out, a, b, N);
    pair_data_register(&in, c, d, N);
    failed |= starpu_mpi_interface_datatype_register(pair_ops.interfaceid, pair_datatype, pair_datatype_free);
    failed |= there_and_back(out, in, 700);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    for (int i = 0; my_rank < 2 && i < N; i++) wrong += c[i] != 2 * i || d[i] != -2 * i;
    fact(!failed && wrong == 0, "or by a datatype that the program registers for the interface");
    fact(my_rank > 1 || (datatypes >= 2 && packs == packs_before), "which is used instead of packing");
    fact(datatypes == datatypes_freed, "and freed as often as it is made");
    failed |= starpu_mpi_interface_datatype_unregister(pair_ops.interfaceid);

    /* without it, packing is back */
    pair_data_register(&out, a, b, N);
    pair_data_register(&in, d, c, N);
    failed |= there_and_back(out, in, 800);
    starpu_data_unregister(out);
    starpu_data_unregister(in);
    for (int i = 0; my_rank < 2 && i < N; i++) wrong += d[i] != 2 * i || c[i] != -2 * i;
    fact(!failed && wrong == 0 && (my_rank > 1 || packs == packs_before + 1),
         "unregistering the datatype goes back to packing");
}

static void double_func(void *buffers[], void *arg UNUSED)
{
    int *m = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
    for (unsigned y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
        for (unsigned x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
            m[x + y * STARPU_MATRIX_GET_LD(buffers[0])] *= 2;
}
static struct starpu_codelet double_cl = {
    .cpu_funcs = { double_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "double"
};

static void in_tasks(void)
{
    /* a padded matrix of rank 0, doubled on rank 1 and on rank 0 */
    enum { NX = 3, NY = 3, LD = 4 };
    int m[LD * NY], wrong = 0, failed = 0;
    starpu_data_handle_t handle;
    for (int i = 0; i < LD * NY; i++) m[i] = i;
    if (my_rank == 0)
        starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)m, LD, NX, NY, sizeof(int));
    else
        starpu_matrix_data_register(&handle, -1, 0, NX, NX, NY, sizeof(int));
    starpu_mpi_data_register(handle, 900, 0);
    failed |=
        starpu_mpi_task_insert(MPI_COMM_WORLD, &double_cl, STARPU_RW, handle, STARPU_EXECUTE_ON_NODE, 1, 0);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &double_cl, STARPU_RW, handle, 0);
    starpu_task_wait_for_all();
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(handle);
    for (int i = 0; my_rank == 0 && i < LD * NY; i++) wrong += m[i] != (i % LD < NX ? 4 * i : i);
    fact(!failed && wrong == 0, "a padded matrix travels for tasks, and comes back into its place");
}

int main(int argc, char **argv)
{
    mpi_start(&argc, &argv, 1);
    matrix();
    block();
    vector_and_variable();
    nothing();
    allocated_by_the_receive();
    own_interface();
    own_datatype();
    in_tasks();
    return mpi_finish();
}
