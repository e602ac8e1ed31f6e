/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random shapes of every interface, with gaps between rows and planes, cut in random ways and their pieces
 * once more, used by random workers of devices that reach each other, that do not, and of two kinds: the
 * result is that of plain loops, and what lies in the gaps is untouched. And copies of boxes by an interface
 * between any two nodes, against memcpy.
 * Threads: main submits; workers execute. Owns: its data. Not here: single facts (data_pieces.c), which
 * copies are where (coherency_random.c).
 */
#include "tests/core/sim_helper.h"

enum { DIMS = 5, ROOM = 1 << 15, LEAVES = 64, ROUNDS = SCALED(30, 10), USES = 3, GAP = -77 };

static int data[ROOM], shadow[ROOM];
static uint64_t seed = 1;
static atomic_int wrong_seen;

static size_t below(size_t n)
{
    return random_next(&seed) % n;
}

/* Where elements are: first is an address, in elements. */
struct view {
    int *first;
    size_t ndim, nn[DIMS], ld[DIMS];
};

static struct view view_of(void *interface)
{
    const struct starpu_vector_interface *v = interface;
    const struct starpu_matrix_interface *m = interface;
    const struct starpu_block_interface *b = interface;
    const struct starpu_tensor_interface *t = interface;
    const struct starpu_ndim_interface *n = interface;
    switch (m->id) {
    case STARPU_VECTOR_INTERFACE_ID: return (struct view){ (int *)v->ptr, 1, { v->nx }, { 1 } };
    case STARPU_MATRIX_INTERFACE_ID: return (struct view){ (int *)m->ptr, 2, { m->nx, m->ny }, { 1, m->ld } };
    case STARPU_BLOCK_INTERFACE_ID:
        return (struct view){ (int *)b->ptr, 3, { b->nx, b->ny, b->nz }, { 1, b->ldy, b->ldz } };
    case STARPU_TENSOR_INTERFACE_ID:
        return (
            struct view){ (int *)t->ptr, 4, { t->nx, t->ny, t->nz, t->nt }, { 1, t->ldy, t->ldz, t->ldt } };
    default: break;
    }
    struct view a = { .first = (int *)n->ptr, .ndim = n->ndim };
    memcpy(a.nn, n->nn, n->ndim * sizeof a.nn[0]);
    memcpy(a.ld, n->ldn, n->ndim * sizeof a.ld[0]);
    return a;
}

/* The i-th element. */
static int *element(const struct view *v, size_t i)
{
    int *p = v->first;
    for (size_t d = 0; d < v->ndim; i /= v->nn[d++]) p += i % v->nn[d] * v->ld[d];
    return p;
}

static size_t elements(const struct view *v)
{
    size_t n = 1;
    for (size_t d = 0; d < v->ndim; d++) n *= v->nn[d];
    return n;
}

/* Every element becomes another, which depends on its place. */
static void change(const struct view *v, int k)
{
    size_t n = elements(v);
    for (size_t i = 0; i < n; i++) {
        int *p = element(v, i);
        *p = (int)((unsigned)*p * 31u + (unsigned)k + (unsigned)i);
    }
}

static void change_func(void *buffers[], void *arg)
{
    struct view v = view_of(buffers[0]);
    change(&v, (int)(intptr_t)arg);
}
static struct starpu_codelet change_cl = { .cpu_funcs = { change_func },
                                           .mini_funcs = { change_func },
                                           .nbuffers = 1,
                                           .modes = { STARPU_RW },
                                           .name = "change" };

static int sum_of(const struct view *v)
{
    unsigned sum = 0;
    size_t n = elements(v);
    for (size_t i = 0; i < n; i++) sum = sum * 7u + (unsigned)*element(v, i);
    return (int)sum;
}

static void expect_func(void *buffers[], void *arg)
{
    struct view v = view_of(buffers[0]);
    if (sum_of(&v) != (int)(intptr_t)arg) atomic_fetch_add(&wrong_seen, 1);
}
static struct starpu_codelet expect_cl = { .cpu_funcs = { expect_func },
                                           .mini_funcs = { expect_func },
                                           .nbuffers = 1,
                                           .modes = { STARPU_R },
                                           .name = "expect" };

static int submit(struct starpu_codelet *cl, starpu_data_handle_t h, int k)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = (void *)(intptr_t)k;
    t->handles[0] = h;
    t->execute_on_a_specific_worker = 1;
    t->workerid = (unsigned)below(starpu_worker_get_count());
    return starpu_task_submit(t);
}

/* ---- arrays ---- */

static starpu_data_handle_t register_random(void)
{
    starpu_data_handle_t h;
    size_t ndim = 1 + below(DIMS), most = ndim < 3 ? 40 : ndim < 5 ? 9 : 5;
    struct view v = { .first = data + below(16), .ndim = ndim };
    for (size_t d = 0; d < ndim; d++) {
        v.nn[d] = 1 + below(most);
        v.ld[d] = d == 0 ? 1 : v.ld[d - 1] * v.nn[d - 1];
        if (d > 0 && below(2)) v.ld[d] += below(4);
    }
    uintptr_t at = (uintptr_t)v.first;
    size_t *n = v.nn, *l = v.ld, e = sizeof data[0];
    switch (below(2) ? ndim : 0) {
    case 1: starpu_vector_data_register(&h, STARPU_MAIN_RAM, at, n[0], e); break;
    case 2: starpu_matrix_data_register(&h, STARPU_MAIN_RAM, at, l[1], n[0], n[1], e); break;
    case 3: starpu_block_data_register(&h, STARPU_MAIN_RAM, at, l[1], l[2], n[0], n[1], n[2], e); break;
    case 4:
        starpu_tensor_data_register(&h, STARPU_MAIN_RAM, at, l[1], l[2], l[3], n[0], n[1], n[2], n[3], e);
        break;
    default: starpu_ndim_data_register(&h, STARPU_MAIN_RAM, at, l, n, ndim, e);
    }
    return h;
}

typedef void (*filter_fn)(void *, void *, struct starpu_data_filter *, unsigned, unsigned);
static const filter_fn filters[4][4] = {
    { starpu_vector_filter_block },
    { starpu_matrix_filter_block, starpu_matrix_filter_vertical_block },
    { starpu_block_filter_block, starpu_block_filter_vertical_block, starpu_block_filter_depth_block },
    { starpu_tensor_filter_block, starpu_tensor_filter_vertical_block, starpu_tensor_filter_depth_block,
      starpu_tensor_filter_time_block },
};

/* What is not to be cut any further. */
static starpu_data_handle_t leaves[LEAVES];
static unsigned leaf_count;

static void cut(starpu_data_handle_t h, int depth)
{
    void *interface = starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM);
    struct view v = view_of(interface);
    size_t dim = below(v.ndim), most = v.nn[dim] < 4 ? v.nn[dim] : 4;
    if (depth == 0 || most < 2 || leaf_count + most > LEAVES - 8) {
        if (leaf_count < LEAVES) leaves[leaf_count++] = h;
        return;
    }
    bool is_ndim = *(enum starpu_data_interface_id *)interface == STARPU_NDIM_INTERFACE_ID;
    struct starpu_data_filter f = { .filter_func =
                                        is_ndim ? starpu_ndim_filter_block : filters[v.ndim - 1][dim],
                                    .nchildren = 2 + (unsigned)below(most - 1),
                                    .filter_arg = (unsigned)dim };
    starpu_data_partition(h, &f);
    for (unsigned i = 0; i < f.nchildren; i++) cut(starpu_data_get_sub_data(h, 1, i), depth - 1);
}

/* The same elements of the shadow. */
static struct view mirror(starpu_data_handle_t h)
{
    struct view v = view_of(starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM));
    v.first = shadow + (v.first - data);
    return v;
}

static int use(starpu_data_handle_t h)
{
    struct view v = mirror(h);
    int k = (int)below(1000), failed = 0;
    if (below(3) == 0) {
        failed |= submit(&expect_cl, h, sum_of(&v));
    } else {
        change(&v, k);
        failed |= submit(&change_cl, h, k);
    }
    if (below(8) == 0)
        failed |= starpu_data_prefetch_on_node(h, (unsigned)below(starpu_memory_nodes_get_count()), 1);
    return failed;
}

static int arrays_round(void)
{
    int failed = 0;
    for (size_t i = 0; i < ROOM; i++) data[i] = shadow[i] = GAP;
    starpu_data_handle_t h = register_random();
    for (int times = 0; times < 2; times++) {
        failed |= use(h);
        leaf_count = 0;
        cut(h, 2);
        for (unsigned i = 0; i < USES * leaf_count; i++) failed |= use(leaves[below(leaf_count)]);
        if (leaf_count > 1 || leaves[0] != h)
            starpu_data_unpartition(h, below(2) ? STARPU_MAIN_RAM
                                                : (unsigned)below(starpu_memory_nodes_get_count()));
        failed |= use(h);
    }
    starpu_data_unregister(h);
    return failed ? -1 : memcmp(data, shadow, sizeof data) != 0;
}

/* ---- several arrays ---- */

static void add_values(void *interface)
{
    struct starpu_csr_interface *csr = interface;
    struct starpu_bcsr_interface *bcsr = interface;
    struct starpu_coo_interface *coo = interface;
    if (csr->id == STARPU_CSR_INTERFACE_ID)
        for (unsigned i = 0; i < csr->nnz; i++) ((int *)csr->nzval)[i] += (int)csr->colind[i] + 1;
    else if (bcsr->id == STARPU_BCSR_INTERFACE_ID)
        for (unsigned i = 0; i < bcsr->nnz * bcsr->r * bcsr->c; i++)
            ((int *)bcsr->nzval)[i] += (int)bcsr->colind[i / (bcsr->r * bcsr->c)] + 1;
    else
        for (unsigned i = 0; i < coo->n_values; i++)
            ((int *)coo->values)[i] += (int)coo->columns[i] + (int)coo->rows[i];
}
static void add_func(void *buffers[], void *arg UNUSED)
{
    add_values(buffers[0]);
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .mini_funcs = { add_func },
                                        .nbuffers = 1,
                                        .modes = { STARPU_RW },
                                        .name = "add" };

enum { NNZ = 12, R = 2, C = 3 };

static int sparse_round(void)
{
    /* Each has its own: they are copied, and written back, like the values. */
    static const uint32_t starts[4] = { 0, 3, 7, NNZ };
    static uint32_t columns[NNZ], rows[NNZ], columns_of[3][NNZ],
        starts_of[2][4] = { { 0, 3, 7, NNZ }, { 0, 3, 7, NNZ } };
    static int values[3][NNZ * R * C];
    starpu_data_handle_t h[3];
    int failed = 0, wrong = 0, uses = 1 + (int)below(10);
    memset(values, 0, sizeof values);
    for (uint32_t i = 0; i < NNZ; i++) {
        columns[i] = (uint32_t)below(9);
        rows[i] = (uint32_t)below(9);
    }
    for (int i = 0; i < 3; i++) memcpy(columns_of[i], columns, sizeof columns);
    starpu_csr_data_register(&h[0], STARPU_MAIN_RAM, NNZ, 3, (uintptr_t)values[0], columns_of[0],
                             starts_of[0], 0, sizeof values[0][0]);
    starpu_bcsr_data_register(&h[1], STARPU_MAIN_RAM, NNZ, 3, (uintptr_t)values[1], columns_of[1],
                              starts_of[1], 0, R, C, sizeof values[0][0]);
    starpu_coo_data_register(&h[2], STARPU_MAIN_RAM, 9, 9, NNZ, columns_of[2], rows, (uintptr_t)values[2],
                             sizeof values[0][0]);
    struct starpu_data_filter f = { .filter_func = starpu_csr_filter_vertical_block, .nchildren = 3 };
    for (int u = 0; u < uses; u++)
        for (int i = 0; i < 3; i++) failed |= submit(&add_cl, h[i], 0);
    starpu_data_partition(h[0], &f);
    f.filter_func = starpu_bcsr_filter_vertical_block;
    starpu_data_partition(h[1], &f);
    for (unsigned i = 0; i < 6; i++)
        failed |= submit(&add_cl, starpu_data_get_sub_data(h[i % 2], 1, i / 2), 0);
    for (int i = 0; i < 2; i++)
        starpu_data_unpartition(h[i], (unsigned)below(starpu_memory_nodes_get_count()));
    for (int i = 0; i < 3; i++) starpu_data_unregister(h[i]);
    for (int i = 0; i < 2; i++) wrong += memcmp(starts_of[i], starts, sizeof starts) != 0;
    for (unsigned i = 0; i < NNZ; i++) {
        int adds = uses + 1;
        wrong += values[0][i] != adds * (int)(columns[i] + 1);
        wrong += values[2][i] != uses * (int)(columns[i] + rows[i]);
        for (unsigned j = 0; j < R * C; j++)
            wrong += values[1][i * R * C + j] != adds * (int)(columns[i] + 1);
    }
    return failed ? -1 : wrong;
}

/* ---- boxes ---- */

enum { SPAN = 4096 };

/* One random box of n dimensions from a node to another. */
static int box_round(void)
{
    static char from[SPAN], to[SPAN], want[SPAN];
    unsigned nodes = starpu_memory_nodes_get_count(), src = (unsigned)below(nodes),
             dst = (unsigned)below(nodes);
    size_t ndim = below(5), elemsize = 1 + below(5), nn[DIMS], lds[DIMS], ldd[DIMS], src_offset = below(64),
           dst_offset = below(64), all = 1;
    for (size_t i = 0; i < SPAN; i++) {
        from[i] = (char)below(256);
        to[i] = want[i] = (char)below(256);
    }
    for (size_t d = 0; d < ndim; d++) {
        nn[d] = 1 + below(4);
        lds[d] = d ? lds[d - 1] * nn[d - 1] + below(3) * (d < 3) : 1;
        ldd[d] = d ? ldd[d - 1] * nn[d - 1] + below(3) * (d < 3) : 1;
        all *= nn[d];
    }
    for (size_t i = 0; i < all; i++) {
        size_t s = src_offset, t = dst_offset, rest = i;
        for (size_t d = 0; d < ndim; rest /= nn[d++]) {
            s += rest % nn[d] * lds[d] * elemsize;
            t += rest % nn[d] * ldd[d] * elemsize;
        }
        if (s + elemsize > SPAN || t + elemsize > SPAN) return 0;
        memcpy(want + t, from + s, elemsize);
    }
    uintptr_t a = starpu_malloc_on_node(src, SPAN), b = starpu_malloc_on_node(dst, SPAN);
    if (!a || !b) return -1;
    int r = starpu_interface_copy((uintptr_t)from, 0, STARPU_MAIN_RAM, a, 0, src, SPAN, NULL);
    r |= starpu_interface_copy((uintptr_t)to, 0, STARPU_MAIN_RAM, b, 0, dst, SPAN, NULL);
    r |= starpu_interface_copynd(a, src_offset, src, b, dst_offset, dst, elemsize, ndim, nn, lds, ldd, NULL);
    r |= starpu_interface_copy(b, 0, dst, (uintptr_t)to, 0, STARPU_MAIN_RAM, SPAN, NULL);
    starpu_free_on_node(src, a, SPAN);
    starpu_free_on_node(dst, b, SPAN);
    return r ? -1 : memcmp(to, want, SPAN) != 0;
}

static void all_kinds(const char *title, const struct sim_config *c, const char *mini)
{
    int wrong_arrays = 0, wrong_sparse = 0, wrong_boxes = 0;
    setenv("ORRERY_NMINI", mini, 1);
    sim_start(1, c);
    for (int i = 0; i < ROUNDS; i++) wrong_arrays += arrays_round() != 0;
    is_int(wrong_arrays + atomic_load(&wrong_seen), 0, "arrays with gaps and their pieces' pieces, %s",
           title);
    for (int i = 0; i < ROUNDS; i++) wrong_sparse += sparse_round() != 0;
    is_int(wrong_sparse, 0, "sparse matrices and their pieces, %s", title);
    for (int i = 0; i < 10 * ROUNDS; i++) wrong_boxes += box_round() != 0;
    is_int(wrong_boxes, 0, "boxes of up to 4 dimensions, %s", title);
    starpu_shutdown();
}

int main(void)
{
    struct sim_config two = { .devices = "2", .mem_mb = "64", .bandwidth_MB_s = "100000", .latency_us = "1" };
    alarm(60);
    const char *given = getenv("ORR_SEED");
    if (given) seed = strtoull(given, NULL, 0);
    all_kinds("devices without a way between them", &two, "0");
    two.peers = "1";
    all_kinds("devices that reach each other", &two, "0");
    all_kinds("and those of another kind", &two, "1");
    setenv("STARPU_ENABLE_MAP", "1", 1);
    all_kinds("in place where that can be", &two, "1");
    unsetenv("STARPU_ENABLE_MAP");
    two.devices = "0";
    all_kinds("the smallest driver's alone", &two, "2");
    return done_testing();
}
