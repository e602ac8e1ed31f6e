/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ready-made filters: every element of every piece is where the filter says, for each shape, with overlaps,
 * with picks, for sparse matrices; and what filters refuse. Then all of it again with each piece written on a
 * device, from where it comes back to its place.
 * Threads: main. Owns: the arrays cut, whose
 * elements hold their own index. Not here: tasks on pieces (data_filters.c), plans (data_plans.c).
 */
#include "tests/core/sim_helper.h"

enum { ELEMENTS = 4096 };
static int cells[ELEMENTS];

typedef void (*filter_fn)(void *, void *, struct starpu_data_filter *, unsigned, unsigned);
typedef struct starpu_data_interface_ops *(*child_ops_fn)(struct starpu_data_filter *, unsigned);

/* A dense array as a test expects it: dimensions, and elements between neighbours. */
struct shape {
    size_t ndim, first, nn[5], ld[5];
};

static int next_expected(const struct shape *s, size_t at[5])
{
    for (size_t i = 0; i < s->ndim; i++) {
        if (++at[i] < s->nn[i]) return 1;
        at[i] = 0;
    }
    return 0;
}

static int device = -1; /* a worker's number: pieces are written there before they are looked at */

static void touch_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet touch_cl = { .cpu_funcs = { touch_func },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW } };

/* Its only valid copy is on the device afterwards. */
static void touch(starpu_data_handle_t h)
{
    if (device >= 0) starpu_task_insert(&touch_cl, STARPU_RW, h, STARPU_EXECUTE_ON_WORKER, device, 0);
}

/* Whether the handle's packed elements are those of the shape. */
static int has_elements(starpu_data_handle_t h, const struct shape *s)
{
    size_t count = 1, at[5] = { 0 }, wrong = 0, n = 0;
    for (size_t i = 0; i < s->ndim; i++) count *= s->nn[i];
    if (starpu_data_get_size(h) != count * sizeof(int)) return 0;
    void *packed;
    starpu_ssize_t bytes;
    touch(h);
    starpu_data_acquire(h, STARPU_R);
    starpu_data_pack(h, &packed, &bytes);
    starpu_data_release(h);
    if (count > 0) do {
            size_t index = s->first;
            for (size_t i = 0; i < s->ndim; i++) index += at[i] * s->ld[i];
            wrong += ((int *)packed)[n++] != (int)index;
        } while (next_expected(s, at));
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)packed, (size_t)bytes, 0);
    return wrong == 0 && n == count;
}

static starpu_data_handle_t make(const struct shape *s, int as_ndim)
{
    starpu_data_handle_t h;
    uintptr_t at = (uintptr_t)cells;
    const size_t *n = s->nn, *l = s->ld, e = sizeof cells[0];
    if (as_ndim)
        starpu_ndim_data_register(&h, STARPU_MAIN_RAM, at, (size_t *)l, (size_t *)n, s->ndim, e);
    else if (s->ndim == 1)
        starpu_vector_data_register(&h, STARPU_MAIN_RAM, at, n[0], e);
    else if (s->ndim == 2)
        starpu_matrix_data_register(&h, STARPU_MAIN_RAM, at, l[1], n[0], n[1], e);
    else if (s->ndim == 3)
        starpu_block_data_register(&h, STARPU_MAIN_RAM, at, l[1], l[2], n[0], n[1], n[2], e);
    else
        starpu_tensor_data_register(&h, STARPU_MAIN_RAM, at, l[1], l[2], l[3], n[0], n[1], n[2], n[3], e);
    return h;
}

static const struct shape whole[6] = {
    { 0 },
    { 1, 0, { 11 }, { 1 } },
    { 2, 0, { 7, 5 }, { 1, 9 } },
    { 3, 0, { 7, 5, 4 }, { 1, 9, 50 } },
    { 4, 0, { 7, 5, 4, 3 }, { 1, 9, 50, 210 } },
    { 5, 0, { 7, 5, 4, 3, 2 }, { 1, 9, 50, 210, 640 } },
};

/* Cuts dimension dim into 3 pieces that overlap by 2 * shadow, and looks at each. */
static void cut(filter_fn filter_func, size_t ndim, unsigned dim, size_t shadow, int as_ndim,
                const char *name)
{
    starpu_data_handle_t h = make(&whole[ndim], as_ndim);
    struct starpu_data_filter f = {
        .filter_func = filter_func,
        .nchildren = 3,
        .filter_arg = dim,
        .filter_arg_ptr = (void *)shadow,
    };
    int wrong = 0;
    size_t start = 0, inner = whole[ndim].nn[dim] - 2 * shadow;
    starpu_data_partition(h, &f);
    for (unsigned i = 0; i < 3; i++) {
        struct shape s = whole[ndim];
        size_t length = inner / 3 + (i < inner % 3);
        s.nn[dim] = length + 2 * shadow;
        s.first = start * s.ld[dim];
        start += length;
        wrong += !has_elements(starpu_data_get_sub_data(h, 1, i), &s);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    ok(all_of(wrong == 0, start == inner), "%s cuts dimension %u%s", name, dim,
       shadow ? ", with overlap" : "");
    starpu_data_unregister(h);
}

/* Picks two neighbours of dimension dim from index 1 on. */
static void pick(filter_fn filter_func, child_ops_fn ops, size_t ndim, unsigned dim, int as_ndim,
                 const char *name)
{
    starpu_data_handle_t h = make(&whole[ndim], as_ndim);
    struct starpu_data_filter f = {
        .filter_func = filter_func,
        .nchildren = 2,
        .get_child_ops = ops,
        .filter_arg = dim,
        .filter_arg_ptr = (void *)1,
    };
    int wrong = 0;
    starpu_data_partition(h, &f);
    for (unsigned i = 0; i < 2; i++) {
        struct shape s = { .ndim = ndim - 1, .first = (1 + i) * whole[ndim].ld[dim] };
        for (size_t from = 0, to = 0; from < ndim; from++)
            if (from != dim) {
                s.nn[to] = whole[ndim].nn[from];
                s.ld[to++] = whole[ndim].ld[from];
            }
        wrong += !has_elements(starpu_data_get_sub_data(h, 1, i), &s);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    ok(wrong == 0, "%s picks from dimension %u", name, dim);
    starpu_data_unregister(h);
}

/* Picks one element, at index 3, 2, 1, 2, 1. */
static void pick_element(filter_fn filter_func, child_ops_fn ops, size_t ndim, int as_ndim, const char *name)
{
    uint32_t index[5] = { 3, 2, 1, 2, 1 };
    starpu_data_handle_t h = make(&whole[ndim], as_ndim);
    struct starpu_data_filter f = {
        .filter_func = filter_func, .nchildren = 1, .get_child_ops = ops, .filter_arg_ptr = index
    };
    struct shape s = { .ndim = 0 };
    for (size_t i = 0; i < ndim; i++) s.first += index[i] * whole[ndim].ld[i];
    starpu_data_partition(h, &f);
    ok(has_elements(starpu_data_get_sub_data(h, 1, 0), &s), "%s picks one element", name);
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
}

#define CUT(shape, what, ndim, dim)                                                                          \
    cut(starpu_##shape##_filter_##what, ndim, dim, 0, 0, #shape "_filter_" #what);                           \
    cut(starpu_##shape##_filter_##what##_shadow, ndim, dim, 1, 0, #shape "_filter_" #what "_shadow")
#define PICK(shape, what, ops, ndim, dim)                                                                    \
    pick(starpu_##shape##_filter_##what, starpu_##shape##_filter_##ops##_child_ops, ndim, dim, 0,            \
         #shape "_filter_" #what)
#define PICK_ELEMENT(shape, ndim)                                                                            \
    pick_element(starpu_##shape##_filter_pick_variable, starpu_##shape##_filter_pick_variable_child_ops,     \
                 ndim, 0, #shape)

static void named_shapes(void)
{
    CUT(vector, block, 1, 0);
    CUT(matrix, block, 2, 0);
    CUT(matrix, vertical_block, 2, 1);
    CUT(block, block, 3, 0);
    CUT(block, vertical_block, 3, 1);
    CUT(block, depth_block, 3, 2);
    CUT(tensor, block, 4, 0);
    CUT(tensor, vertical_block, 4, 1);
    CUT(tensor, depth_block, 4, 2);
    CUT(tensor, time_block, 4, 3);
    PICK(vector, pick_variable, pick_variable, 1, 0);
    PICK(matrix, pick_vector_y, pick_vector, 2, 1);
    PICK(block, pick_matrix_y, pick_matrix, 3, 1);
    PICK(block, pick_matrix_z, pick_matrix, 3, 2);
    PICK(tensor, pick_block_y, pick_block, 4, 1);
    PICK(tensor, pick_block_z, pick_block, 4, 2);
    PICK(tensor, pick_block_t, pick_block, 4, 3);
    PICK_ELEMENT(matrix, 2);
    PICK_ELEMENT(block, 3);
    PICK_ELEMENT(tensor, 4);
}

static void any_dimensions(void)
{
    for (unsigned dim = 0; dim < 5; dim++) {
        cut(starpu_ndim_filter_block, 5, dim, 0, 1, "ndim_filter_block");
        cut(starpu_ndim_filter_block_shadow, 5, dim, dim < 3 ? 1 : 0, 1, "ndim_filter_block_shadow");
    }
    for (unsigned dim = 0; dim < 4; dim++)
        pick(starpu_ndim_filter_pick_ndim, NULL, 4, dim, 1, "ndim_filter_pick_ndim");
    pick(starpu_ndim_filter_4d_pick_block, starpu_ndim_filter_pick_block_child_ops, 4, 2, 1,
         "ndim_filter_4d_pick_block");
    pick(starpu_ndim_filter_3d_pick_matrix, starpu_ndim_filter_pick_matrix_child_ops, 3, 1, 1,
         "ndim_filter_3d_pick_matrix");
    pick(starpu_ndim_filter_2d_pick_vector, starpu_ndim_filter_pick_vector_child_ops, 2, 1, 1,
         "ndim_filter_2d_pick_vector");
    pick(starpu_ndim_filter_1d_pick_variable, starpu_ndim_filter_pick_variable_child_ops, 1, 0, 1,
         "ndim_filter_1d_pick_variable");
    pick_element(starpu_ndim_filter_pick_variable, starpu_ndim_filter_pick_variable_child_ops, 5, 1, "ndim");
    static const struct {
        filter_fn func;
        child_ops_fn ops;
        const char *name;
    } to[5] = {
        { starpu_ndim_filter_to_variable, starpu_ndim_filter_to_variable_child_ops, "a variable" },
        { starpu_ndim_filter_to_vector, starpu_ndim_filter_to_vector_child_ops, "a vector" },
        { starpu_ndim_filter_to_matrix, starpu_ndim_filter_to_matrix_child_ops, "a matrix" },
        { starpu_ndim_filter_to_block, starpu_ndim_filter_to_block_child_ops, "a block" },
        { starpu_ndim_filter_to_tensor, starpu_ndim_filter_to_tensor_child_ops, "a tensor" },
    };
    for (size_t ndim = 0; ndim < 5; ndim++) {
        starpu_data_handle_t h = make(&whole[ndim], 1);
        struct starpu_data_filter f = { .filter_func = to[ndim].func,
                                        .nchildren = 1,
                                        .get_child_ops = to[ndim].ops };
        starpu_data_partition(h, &f);
        ok(has_elements(starpu_data_get_sub_data(h, 1, 0), &whole[ndim]),
           "an array of %zu dimensions is seen as %s", ndim, to[ndim].name);
        starpu_data_unpartition(h, STARPU_MAIN_RAM);
        starpu_data_unregister(h);
    }
}

static void slice_bases(void)
{
    starpu_data_handle_t h;
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)cells, 12, sizeof cells[0]);
    starpu_data_map_filters(h, 2, &halves, &halves);
    struct starpu_vector_interface *v =
        starpu_data_get_interface_on_node(starpu_data_get_sub_data(h, 2, 1, 1), 0);
    is_int(v->slice_base, 9, "a piece of a piece of a vector knows where it begins in the whole");
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
}

/* A matrix of 5 rows, entries numbered from base on. */
static void csr_rows(uint32_t base)
{
    float values[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    uint32_t columns[8] = { 0, 2, 1, 0, 3, 4, 1, 4 }, rowptr[6], starts[6] = { 0, 2, 3, 3, 6, 8 };
    for (int i = 0; i < 6; i++) rowptr[i] = starts[i] + base;
    starpu_data_handle_t h;
    struct starpu_data_filter f = { .filter_func = starpu_csr_filter_vertical_block, .nchildren = 2 };
    starpu_csr_data_register(&h, STARPU_MAIN_RAM, 8, 5, (uintptr_t)values, columns, rowptr, base,
                             sizeof values[0]);
    starpu_data_partition(h, &f);
    int wrong = 0;
    uint32_t row = 0;
    for (unsigned i = 0; i < 2; i++) {
        starpu_data_handle_t child = starpu_data_get_sub_data(h, 1, i);
        struct starpu_csr_interface *m = starpu_data_get_interface_on_node(child, 0);
        wrong += m->nrow != (i ? 2 : 3);
        for (uint32_t r = 0; r < m->nrow; r++, row++) {
            wrong += m->rowptr[r + 1] - m->rowptr[r] != starts[row + 1] - starts[row];
            for (uint32_t e = m->rowptr[r]; e < m->rowptr[r + 1]; e++) {
                uint32_t at = e - m->firstentry, entry = e - base;
                wrong += at >= m->nnz || ((float *)m->nzval)[at] != values[entry] ||
                         m->colind[at] != columns[entry];
            }
        }
        wrong += m->nnz != (i ? 5 : 3);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    ok(all_of(wrong == 0, row == 5), "the rows of a sparse matrix are cut, with entries numbered from %u",
       base);
}

static void bcsr_blocks(void)
{
    int values[4 * 6];
    uint32_t columns[4] = { 0, 1, 1, 0 }, rowptr[4] = { 0, 1, 3, 4 };
    starpu_data_handle_t h;
    for (int i = 0; i < 24; i++) values[i] = i;
    starpu_bcsr_data_register(&h, STARPU_MAIN_RAM, 4, 3, (uintptr_t)values, columns, rowptr, 0, 2, 3,
                              sizeof values[0]);
    struct starpu_data_filter blocks = {
        .filter_func = starpu_bcsr_filter_canonical_block,
        .get_nchildren = starpu_bcsr_filter_canonical_block_get_nchildren,
        .get_child_ops = starpu_bcsr_filter_canonical_block_child_ops,
    };
    struct starpu_data_filter rows = { .filter_func = starpu_bcsr_filter_vertical_block, .nchildren = 3 };
    starpu_data_partition(h, &blocks);
    int wrong = starpu_data_get_nb_children(h) != 4;
    for (unsigned i = 0; i < 4 && !wrong; i++) {
        struct shape s = { 2, 6 * i, { 3, 2 }, { 1, 3 } };
        wrong += !has_elements(starpu_data_get_sub_data(h, 1, i), &s);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    ok(wrong == 0, "each block of a sparse matrix of blocks is a matrix");
    starpu_data_partition(h, &rows);
    struct starpu_bcsr_interface *m = starpu_data_get_interface_on_node(starpu_data_get_sub_data(h, 1, 1), 0);
    ok(all_of(m->nnz == 2, m->nrow == 1, ((int *)m->nzval)[0] == 6, m->colind[1] == 1,
              m->rowptr[0] - m->firstentry == 0),
       "and its rows of blocks are cut");
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
}

static void refused(void)
{
    starpu_data_handle_t h = make(&whole[2], 0);
    struct starpu_data_filter none = { .filter_func = starpu_matrix_filter_block };
    starpu_data_partition(h, &none);
    is_int(starpu_data_get_nb_children(h), 0, "a filter that makes no children is refused");
    struct starpu_data_filter beyond = {
        .filter_func = starpu_matrix_filter_pick_vector_y,
        .get_child_ops = starpu_matrix_filter_pick_vector_child_ops,
        .nchildren = 6,
    };
    starpu_data_partition(h, &beyond);
    is_int(starpu_data_get_nb_children(h), 0, "so is one that picks more columns than there are");
    struct starpu_data_filter forgotten = { .filter_func = starpu_matrix_filter_pick_vector_y,
                                            .nchildren = 2 };
    starpu_data_partition(h, &forgotten);
    is_int(starpu_data_get_nb_children(h), 0, "so is one whose children's interface was forgotten");
    struct starpu_data_filter wide = {
        .filter_func = starpu_matrix_filter_block_shadow,
        .nchildren = 2,
        .filter_arg_ptr = (void *)4,
    };
    starpu_data_partition(h, &wide);
    is_int(starpu_data_get_nb_children(h), 0, "so is an overlap wider than the matrix");
    ok(starpu_data_get_sub_data(h, 1, 0) == NULL, "data that was not cut has no pieces");
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    ok(has_elements(h, &whole[2]), "and may be used as before, even after an unpartition of nothing");
    struct starpu_data_filter halves = { .filter_func = starpu_matrix_filter_block, .nchildren = 2 };
    starpu_data_partition(h, &halves);
    starpu_data_partition(h, &halves);
    is_int(starpu_data_get_nb_children(h), 2, "partitioning twice changes nothing");
    ok(starpu_data_get_child(h, 2) == NULL, "there is no third half");
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
}

static void all_cases(void)
{
    named_shapes();
    any_dimensions();
    slice_bases();
    csr_rows(0);
    csr_rows(1);
    bcsr_blocks();
    refused();
}

int main(void)
{
    static const struct sim_config one = { .devices = "1", .bandwidth_MB_s = "100000", .latency_us = "1" };
    int wrong = 0;
    alarm(30);
    for (int i = 0; i < ELEMENTS; i++) cells[i] = i;
    runtime_start(1, NULL);
    all_cases();
    starpu_shutdown();
    sim_start(1, &one);
    device = sim_worker(0);
    all_cases();
    starpu_shutdown();
    for (int i = 0; i < ELEMENTS; i++) wrong += cells[i] != i;
    is_int(wrong, 0, "what was written on a device came back to its place");
    return done_testing();
}
