/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data interfaces' methods on main memory: packing and unpacking strided data, copies between layouts,
 * sizes, footprints, memory of the runtime's own, and what registration refuses.
 * Threads: main. Owns: the
 * arrays registered. Not here: tasks on data (data_lifecycle.c), partitioning (data_filters.c, data_plans.c).
 */
#include <starpu_hash.h>

#include "core/base/alloc.h"
#include "core/data/data.h"
#include "tests/helper.h"

static const struct starpu_data_interface_ops *ops_of(starpu_data_handle_t h)
{
    return h->ops;
}

/* Packs h, clears its memory, unpacks it again; whether the memory is as before and holes were not touched.
 */
static int round_trip(starpu_data_handle_t h, void *memory, size_t bytes, size_t packed)
{
    void *before = malloc(bytes), *buffer = NULL;
    starpu_ssize_t count = -5, count2 = -5;
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)memory)[i] = (unsigned char)(i * 7 + 3);
    memcpy(before, memory, bytes);
    int good = ops_of(h)->pack_data(h, STARPU_MAIN_RAM, NULL, &count) == 0 && count == (starpu_ssize_t)packed;
    good = good && ops_of(h)->pack_data(h, STARPU_MAIN_RAM, &buffer, &count2) == 0 && count2 == count;
    /* what was packed is overwritten through a second buffer, the rest is not */
    unsigned char *other = malloc(packed ? packed : 1);
    memset(other, 0x55, packed);
    good = good && ops_of(h)->peek_data(h, STARPU_MAIN_RAM, other, packed) == 0;
    size_t changed = 0;
    for (size_t i = 0; i < bytes; i++)
        changed += ((unsigned char *)memory)[i] != ((unsigned char *)before)[i];
    size_t unlucky = 0; /* bytes that were 0x55 before */
    for (size_t i = 0; i < packed; i++) unlucky += ((unsigned char *)buffer)[i] == 0x55;
    good = good && changed == packed - unlucky;
    good = good && ops_of(h)->unpack_data(h, STARPU_MAIN_RAM, buffer, packed) == 0;
    good = good && memcmp(before, memory, bytes) == 0;
    good = good && ops_of(h)->peek_data(h, STARPU_MAIN_RAM, other, packed + 1) != 0;
    free(other);
    free(before);
    return good;
}

/* A structure of the same shape on memory that the interface allocates gets the same packed bytes by a copy.
 */
static int copies_to_own_memory(starpu_data_handle_t h)
{
    starpu_data_handle_t twin;
    starpu_data_register_same(&twin, h);
    if (!twin) return 0;
    void *from = starpu_data_get_interface_on_node(h, 0), *to = starpu_data_get_interface_on_node(twin, 0);
    starpu_ssize_t count = 0, count2 = 0;
    void *a = NULL, *b = NULL;
    starpu_ssize_t got = ops_of(twin)->allocate_data_on_node(to, 0);
    int good = got == (starpu_ssize_t)starpu_data_get_alloc_size(twin);
    good = good && ops_of(twin)->copy_methods->any_to_any(from, 0, to, 0, NULL) == 0;
    good = good && ops_of(h)->compare(from, to) && ops_of(h)->footprint(h) == ops_of(twin)->footprint(twin);
    good = good && ops_of(h)->pack_data(h, 0, &a, &count) == 0 &&
           ops_of(twin)->pack_data(twin, 0, &b, &count2) == 0;
    good = good && count == count2 && memcmp(a, b, (size_t)count) == 0;
    starpu_free_on_node_flags(0, (uintptr_t)a, (size_t)count, 0);
    starpu_free_on_node_flags(0, (uintptr_t)b, (size_t)count2, 0);
    ops_of(twin)->free_data_on_node(to, 0);
    starpu_data_unregister_no_coherency(twin);
    return good;
}

static void both(starpu_data_handle_t h, void *memory, size_t bytes, size_t packed, const char *name)
{
    is_int(starpu_data_get_size(h), packed, "the size of a %s is that of its elements", name);
    ok(round_trip(h, memory, bytes, packed),
       "a %s is packed and unpacked, and nothing between its elements is touched", name);
    ok(copies_to_own_memory(h), "a %s is copied into memory of the runtime's own", name);
    char text[256];
    starpu_ssize_t length = ops_of(h)->describe(starpu_data_get_interface_on_node(h, 0), text, sizeof text);
    ok(all_of(length > 0, (size_t)length == strlen(text)), "a %s is described as %s", name, text);
    starpu_data_unregister(h);
}

static int memory[4096];

static void dense_interfaces(void)
{
    starpu_data_handle_t h;
    uintptr_t at = (uintptr_t)memory;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, at, 24);
    both(h, memory, 48, 24, "variable");
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, at, 10, 4);
    both(h, memory, 80, 40, "vector");
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, at, 7, 5, 3, 4);
    is_int(starpu_matrix_get_local_ld(h), 7, "a matrix has the leading dimension it was registered with");
    both(h, memory, 7 * 4 * 4, 60, "matrix with a gap");
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, at, 5, 5, 3, 4);
    both(h, memory, 80, 60, "matrix without a gap");
    starpu_block_data_register(&h, STARPU_MAIN_RAM, at, 5, 26, 4, 5, 3, 8);
    both(h, memory, 3 * 26 * 8, 480, "block with gaps");
    starpu_block_data_register(&h, STARPU_MAIN_RAM, at, 4, 26, 4, 5, 3, 8);
    both(h, memory, 3 * 26 * 8, 480, "block with one gap");
    starpu_block_data_register(&h, STARPU_MAIN_RAM, at, 30, 6, 4, 3, 5, 2);
    both(h, memory, 200, 120, "block whose y is further apart than its z");
    starpu_tensor_data_register(&h, STARPU_MAIN_RAM, at, 4, 17, 60, 3, 4, 3, 2, 4);
    both(h, memory, 2 * 60 * 4, 72 * 4, "tensor with gaps");
    size_t nn[5] = { 3, 2, 4, 2, 3 }, ldn[5] = { 1, 4, 9, 40, 81 };
    starpu_ndim_data_register(&h, STARPU_MAIN_RAM, at, ldn, nn, 5, 4);
    nn[2] = 99; /* copied at registration */
    ok(all_of(starpu_ndim_get_ni(h, 2) == 4, starpu_ndim_get_local_ldi(h, 4) == 81,
              starpu_ndim_get_ndim(h) == 5),
       "an n-dimensional array keeps its own copy of its sizes");
    both(h, memory, 250 * 4, 144 * 4, "five-dimensional array");
    starpu_ndim_data_register(&h, STARPU_MAIN_RAM, at, NULL, NULL, 0, 16);
    both(h, memory, 32, 16, "zero-dimensional array");
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, at, 0, 4);
    both(h, memory, 16, 0, "vector of no elements");
}

static void sparse_interfaces(void)
{
    starpu_data_handle_t h;
    struct {
        double values[6];
        uint32_t columns[6], rows[6], after;
    } coo;
    struct {
        float values[6];
        uint32_t columns[6], rowptr[4], after;
    } csr;
    struct {
        float values[2 * 6];
        uint32_t columns[2], rowptr[3], after;
    } bcsr;
    starpu_coo_data_register(&h, STARPU_MAIN_RAM, 9, 9, 6, coo.columns, coo.rows, (uintptr_t)coo.values,
                             sizeof(double));
    both(h, &coo, sizeof coo, 6 * 16, "sparse matrix by coordinates");
    starpu_csr_data_register(&h, STARPU_MAIN_RAM, 6, 3, (uintptr_t)csr.values, csr.columns, csr.rowptr, 0,
                             sizeof(float));
    both(h, &csr, sizeof csr, 6 * 8 + 4 * 4, "sparse matrix of rows");
    starpu_bcsr_data_register(&h, STARPU_MAIN_RAM, 2, 2, (uintptr_t)bcsr.values, bcsr.columns, bcsr.rowptr, 0,
                              2, 3, sizeof(float));
    both(h, &bcsr, sizeof bcsr, 48 + 8 + 12, "sparse matrix of blocks");
    struct starpu_multiformat_data_interface_ops formats = { .cpu_elemsize = 6,
                                                             .cuda_elemsize = 8,
                                                             .opencl_elemsize = 10 };
    starpu_multiformat_data_register(&h, STARPU_MAIN_RAM, memory, 5, &formats);
    both(h, memory, 40, 30, "multiformat vector");
    starpu_void_data_register(&h);
    starpu_ssize_t count = -1;
    ok(all_of(starpu_data_get_size(h) == 0, starpu_data_pack(h, NULL, &count) == 0, count == 0),
       "void data has no bytes");
    starpu_data_unregister(h);
}

/* The footprint of a block, or of a vector when ny is 0. */
static uint32_t footprint(size_t nx, size_t ny, size_t nz, size_t ld, size_t elemsize)
{
    starpu_data_handle_t h;
    if (ny == 0)
        starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)memory, nx, elemsize);
    else
        starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)memory, ld, ld * ny, nx, ny, nz, elemsize);
    uint32_t sum = ops_of(h)->footprint(h);
    starpu_data_unregister(h);
    return sum;
}

static void footprints(void)
{
    ok(footprint(4, 5, 6, 4, 8) == footprint(4, 5, 6, 7, 8),
       "footprints of equal shapes are equal, whatever the layout");
    uint32_t sums[] = {
        footprint(4, 5, 6, 4, 8),   footprint(5, 4, 6, 5, 8),   footprint(6, 5, 4, 6, 8),
        footprint(4, 5, 6, 4, 4),   footprint(8, 5, 6, 8, 4),   footprint(120, 1, 1, 120, 8),
        footprint(120, 0, 0, 0, 8), footprint(960, 0, 0, 0, 1),
    };
    int same = 0;
    for (size_t i = 0; i < LENGTH(sums); i++)
        for (size_t j = 0; j < i; j++) same += sums[i] == sums[j];
    is_int(same, 0, "footprints of other shapes are others");
}

static struct starpu_multiformat_data_interface_ops one_too_large = { .cpu_elemsize = 8,
                                                                      .cuda_elemsize = SIZE_MAX / 16 };

static unsigned two_pieces(struct starpu_data_filter *f UNUSED, starpu_data_handle_t h UNUSED)
{
    return 2;
}

/* Of a matrix whose rows are not in order. */
static void cuts_refused(void)
{
    starpu_data_handle_t h, piece[3] = { (void *)1, (void *)1, (void *)1 };
    uint32_t columns[4] = { 0, 1, 2, 3 }, rows[3] = { 0, 3, 1 };
    struct starpu_data_filter f = { .filter_func = starpu_csr_filter_vertical_block,
                                    .get_nchildren = two_pieces,
                                    .nchildren = 3 };
    starpu_csr_data_register(&h, STARPU_MAIN_RAM, 4, 2, (uintptr_t)memory, columns, rows, 0, 4);
    starpu_data_partition_plan(h, &f, piece);
    ok(all_of(!piece[0], !piece[1]), "a sparse matrix whose rows do not come in order is not cut");
    ok(piece[2] == (void *)1, "and as many handles are NULL as get_nchildren says, not more");
    rows[1] = 1;
    rows[2] = 5;
    starpu_data_partition_plan(h, &f, piece);
    ok(all_of(!piece[0], !piece[1]), "nor one whose rows end behind its entries");
    rows[2] = 4;
    f.nchildren = 0;
    starpu_data_partition_plan(h, &f, piece);
    ok(all_of(piece[0], piece[1], starpu_csr_get_nnz(piece[1]) == 3), "a right one is");
    starpu_data_partition_clean(h, 2, piece);
    starpu_data_unregister(h);
}

static void refused(void)
{
    starpu_data_handle_t h = (void *)1;
    size_t huge = SIZE_MAX / 4 + 2, two[2] = { huge, 8 }, ld[2] = { 1, huge };
    uintptr_t at = (uintptr_t)memory;
    starpu_vector_data_register(&h, -1, 0, huge, 4);
    ok(!h, "a vector whose bytes overflow is refused, and its handle is NULL");
    h = (void *)1;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, at, (size_t)-1, 1);
    ok(!h, "so is one of a negative length");
    h = (void *)1;
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, at, huge, 2, 3, 4);
    ok(!h, "so is a matrix whose leading dimension overflows");
    h = (void *)1;
    starpu_matrix_data_register(&h, STARPU_MAIN_RAM, at, 3, 4, 5, 4);
    ok(!h, "or is less than what lies in a row");
    h = (void *)1;
    starpu_block_data_register(&h, -1, 0, 0, 0, (size_t)1 << 22, (size_t)1 << 22, (size_t)1 << 22, 1);
    ok(!h, "so is a block, of which no two sizes overflow");
    h = (void *)1;
    starpu_ndim_data_register(&h, -1, 0, ld, two, 2, 1);
    ok(!h, "so is an n-dimensional array");
    h = (void *)1;
    starpu_vector_data_register_allocsize(&h, -1, 0, 10, 4, 39);
    ok(!h, "so is a vector larger than its own allocsize");
    h = (void *)1;
    starpu_coo_data_register(&h, -1, 1, 1, UINT32_MAX, NULL, NULL, 0, SIZE_MAX / 8);
    ok(!h, "so is a sparse matrix whose values overflow");
    h = (void *)1;
    starpu_matrix_data_register_allocsize(&h, -1, 0, 4, 4, 4, 4, SIZE_MAX - 3);
    ok(!h, "so is an allocsize beyond the address space");
    h = (void *)1;
    starpu_multiformat_data_register(&h, -1, 0, 100, &one_too_large);
    ok(!h, "so is multiformat data of which a device's layout overflows");
    h = NULL;
    starpu_matrix_data_register(&h, -1, 0, 0, 4, 5, 4);
    ok(all_of(h, starpu_matrix_get_local_ld(h) == 4), "a matrix without a home needs no leading dimension");
    starpu_data_unregister(h);
    ok(starpu_vector_get_nx(NULL) == 0, "reading no handle gives zero");
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, at, 4);
    ok(starpu_vector_get_nx(h) == 0, "and so does reading a vector's length of a variable");
    starpu_data_unregister(h);
}

/* A task may change the shape within allocsize; a copy takes it along. */
static void shapes_that_change(void)
{
    starpu_data_handle_t a, b;
    int source[16], target[16];
    for (int i = 0; i < 16; i++) {
        source[i] = i;
        target[i] = -1;
    }
    starpu_vector_data_register_allocsize(&a, STARPU_MAIN_RAM, (uintptr_t)source, 4, sizeof source[0],
                                          sizeof source);
    starpu_vector_data_register_allocsize(&b, STARPU_MAIN_RAM, (uintptr_t)target, 4, sizeof target[0],
                                          sizeof target);
    void *from = starpu_data_get_interface_on_node(a, 0), *to = starpu_data_get_interface_on_node(b, 0);
    STARPU_VECTOR_SET_NX(from, 9);
    ok(all_of(ops_of(a)->copy_methods->any_to_any(from, 0, to, 0, NULL) == 0, STARPU_VECTOR_GET_NX(to) == 9,
              memcmp(source, target, 9 * sizeof source[0]) == 0, target[9] == -1),
       "a copy takes the shape of its source along");
    is_int(starpu_data_get_alloc_size(b), sizeof target, "and the size of the buffer is what it was");
    starpu_data_unregister(a);
    starpu_data_unregister(b);
}

static void meta(void)
{
    size_t nn[3] = { 3, 4, 5 }, ldn[3] = { 1, 3, 12 };
    starpu_data_handle_t h;
    starpu_ndim_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)memory, ldn, nn, 3, 2);
    void *packed = NULL, *rebuilt = NULL, *itf = starpu_data_get_interface_on_node(h, 0);
    starpu_ssize_t count, used;
    int good = ops_of(h)->pack_meta(itf, &packed, &count) == 0 &&
               ops_of(h)->unpack_meta(&rebuilt, packed, &used) == 0;
    ok(all_of(good, used == count, ops_of(h)->compare(itf, rebuilt)),
       "a shape is rebuilt from its packed form");
    starpu_free_on_node_flags(0, (uintptr_t)packed, (size_t)count, 0);
    ops_of(h)->free_meta(rebuilt);
    starpu_data_unregister(h);
}

static void without_memory(void)
{
    starpu_data_handle_t h;
    struct starpu_csr_interface *m;
    starpu_csr_data_register(&h, -1, 10, 10, 0, NULL, NULL, 0, 4);
    m = starpu_data_get_interface_on_node(h, 0);
    int failed_all = 1, left = 0;
    for (int skip = 0; skip < 3; skip++) { /* any of the three arrays */
        orr_alloc_fail_after(skip, true);
        failed_all &= ops_of(h)->allocate_data_on_node(m, 0) == -ENOMEM;
        orr_alloc_fail_after(-1, false);
        left += m->nzval || m->colind || m->rowptr;
    }
    ok(all_of(failed_all, left == 0), "a sparse matrix that cannot have all of its arrays has none of them");
    starpu_data_unregister_no_coherency(h);
}

/* Whatever allocation fails, partitioning and unpartitioning either work or leave everything as it was. */
static void partitions_without_memory(void)
{
    int v[12], wrong = 0, refused_cuts = 0, refused_ends = 0;
    starpu_data_handle_t h;
    struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = 3 };
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, 12, sizeof v[0]);
    for (int skip = 0; skip < 12; skip++) {
        for (int i = 0; i < 12; i++) v[i] = i;
        orr_alloc_fail_after(skip, true);
        starpu_data_partition(h, &thirds);
        orr_alloc_fail_after(-1, false);
        if (starpu_data_get_nb_children(h) == 0) {
            refused_cuts++;
            wrong += starpu_data_acquire_try(h, STARPU_RW) != 0;
            starpu_data_release(h);
            continue;
        }
        orr_alloc_fail_after(0, true);
        starpu_data_unpartition(h, STARPU_MAIN_RAM);
        orr_alloc_fail_after(-1, false);
        refused_ends += starpu_data_get_nb_children(h) == 3;
        wrong += starpu_data_acquire_try(starpu_data_get_child(h, 2), STARPU_RW) != 0;
        v[11] = 50;
        starpu_data_release(starpu_data_get_child(h, 2));
        starpu_data_unpartition(h, STARPU_MAIN_RAM);
        wrong += starpu_data_acquire_try(h, STARPU_RW) != 0 || v[11] != 50;
        starpu_data_release(h);
    }
    starpu_data_unregister(h);
    ok(all_of(wrong == 0, refused_cuts >= 4, refused_ends > 0),
       "without memory, data stays whole (%d times) or cut (%d times), and usable", refused_cuts,
       refused_ends);
}

int main(void)
{
    alarm(30);
    runtime_start(1, NULL);
    dense_interfaces();
    sparse_interfaces();
    footprints();
    refused();
    cuts_refused();
    shapes_that_change();
    meta();
    without_memory();
    partitions_without_memory();
    starpu_shutdown();
    return done_testing();
}
