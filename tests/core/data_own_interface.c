/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A data interface of the program's own whose init sets a default for everything: what registration stores
 * must not be lost to it, and what registration leaves alone must be there in every structure that the
 * runtime makes. Threads: main; workers check the structures that they are given. Owns: the interface of
 * boxes. Not here: the built-in interfaces (interfaces.c), messages with an own interface
 * (tests/mpi/types.c).
 */
#include "tests/core/sim_helper.h"

/* An array of int. tint is what only init sets. */
struct box {
    int id;
    uintptr_t ptr;
    size_t count;
    unsigned tint;
};

enum { TINT = 0x7147, COUNT = 12 };

static void box_init(void *itf)
{
    *(struct box *)itf = (struct box){ .tint = TINT };
}

static void box_register(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    const struct box *given = itf;
    for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
        struct box *b = starpu_data_get_interface_on_node(h, node);
        b->id = given->id;
        b->count = given->count;
        b->ptr = node == home_node ? given->ptr : 0;
    }
}

static starpu_ssize_t box_allocate(void *itf, unsigned node)
{
    struct box *b = itf;
    b->ptr = starpu_malloc_on_node(node, b->count * sizeof(int));
    return b->ptr ? (starpu_ssize_t)(b->count * sizeof(int)) : -ENOMEM;
}

static void box_free(void *itf, unsigned node)
{
    struct box *b = itf;
    starpu_free_on_node(node, b->ptr, b->count * sizeof(int));
    b->ptr = 0;
}

static atomic_int strangers; /* that copied for a device, and did not pass for a worker of it */

static int box_copy(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async)
{
    struct box *from = src, *to = dst;
    unsigned device = starpu_node_get_kind(dst_node) != STARPU_CPU_RAM ? dst_node : src_node;
    if (starpu_node_get_kind(device) != STARPU_CPU_RAM &&
        starpu_worker_get_memory_node(starpu_worker_get_id_check()) != device)
        strangers++;
    return starpu_interface_copy(from->ptr, 0, src_node, to->ptr, 0, dst_node, from->count * sizeof(int),
                                 async);
}

static size_t box_size(starpu_data_handle_t h)
{
    return ((struct box *)starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM))->count * sizeof(int);
}

static uint32_t box_footprint(starpu_data_handle_t h)
{
    return (uint32_t)box_size(h);
}

static int box_compare(void *a, void *b)
{
    return ((struct box *)a)->count == ((struct box *)b)->count;
}

static const struct starpu_data_copy_methods box_copies = { .any_to_any = box_copy };
static struct starpu_data_interface_ops box_ops = {
    .init = box_init,
    .register_data_handle = box_register,
    .allocate_data_on_node = box_allocate,
    .free_data_on_node = box_free,
    .copy_methods = &box_copies,
    .get_size = box_size,
    .footprint = box_footprint,
    .compare = box_compare,
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
    .interface_size = sizeof(struct box),
};

static void box_data_register(starpu_data_handle_t *h, int *values)
{
    if (box_ops.interfaceid == STARPU_UNKNOWN_INTERFACE_ID)
        box_ops.interfaceid = (enum starpu_data_interface_id)starpu_data_interface_get_next_id();
    struct box given = { .id = box_ops.interfaceid, .ptr = (uintptr_t)values, .count = COUNT };
    starpu_data_register(h, values ? STARPU_MAIN_RAM : -1, &given, &box_ops);
}

static int whole(const struct box *b, size_t count)
{
    return b->id == (int)box_ops.interfaceid && b->count == count && b->tint == TINT;
}

/* ---- tasks ---- */

static atomic_int wrong, runs;

/* Adds 1 to each element of a box whose structure is whole. */
static void add_one(void *buffers[], void *arg)
{
    struct box *b = buffers[0];
    size_t count = arg ? *(size_t *)arg : COUNT;
    runs++;
    if (!whole(b, count) || !b->ptr) {
        wrong++;
        return;
    }
    for (size_t i = 0; i < count; i++) ((int *)b->ptr)[i]++;
}

static void zero(void *buffers[], void *arg UNUSED)
{
    struct box *b = buffers[0];
    if (!whole(b, COUNT) || !b->ptr) {
        wrong++;
        return;
    }
    memset((void *)b->ptr, 0, COUNT * sizeof(int));
}

static void add(void *buffers[], void *arg UNUSED)
{
    struct box *a = buffers[0], *b = buffers[1];
    if (!whole(a, COUNT) || !whole(b, COUNT)) {
        wrong++;
        return;
    }
    for (size_t i = 0; i < COUNT; i++) ((int *)a->ptr)[i] += ((int *)b->ptr)[i];
}

static struct starpu_codelet add_one_cl = { .cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW } };
static struct starpu_codelet device_cl = { .cuda_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW } };
static struct starpu_codelet scratch_cl = { .cpu_funcs = { add_one },
                                            .nbuffers = 1,
                                            .modes = { STARPU_SCRATCH } };
static struct starpu_codelet contribute_cl = { .cpu_funcs = { add_one },
                                               .nbuffers = 1,
                                               .modes = { STARPU_REDUX } };
static struct starpu_codelet zero_cl = { .cpu_funcs = { zero }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet add_cl = { .cpu_funcs = { add },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };

static void run(struct starpu_codelet *cl, starpu_data_handle_t h, size_t *count)
{
    starpu_task_insert(cl, cl->modes[0], h, STARPU_CL_ARGS_NFREE, count, count ? sizeof *count : 0, 0);
}

static int all_are(const int *values, int want)
{
    int right = 1;
    for (int i = 0; i < COUNT; i++) right &= values[i] == want;
    return right;
}

/* ---- cases ---- */

static void registered(void)
{
    int values[COUNT] = { 0 };
    starpu_data_handle_t h;
    box_data_register(&h, values);
    int every_node = 1;
    for (unsigned n = 0; n < starpu_memory_nodes_get_count(); n++)
        every_node &= whole(starpu_data_get_interface_on_node(h, n), COUNT);
    ok(every_node, "the structure of each memory node has what registration stored, and the default of init "
                   "for the rest");
    ok(((struct box *)starpu_data_get_interface_on_node(h, 0))->ptr == (uintptr_t)values,
       "main memory's structure points at the program's buffer");
    wrong = runs = 0;
    run(&add_one_cl, h, NULL);
    run(&device_cl, h, NULL);
    run(&add_one_cl, h, NULL);
    starpu_data_unregister(h);
    ok(all_of(wrong == 0, runs == 3, all_are(values, 3)), "tasks on a CPU and on a device compute with it");
}

static void private_copies(void)
{
    starpu_data_handle_t h;
    wrong = runs = 0;
    box_data_register(&h, NULL);
    starpu_data_set_reduction_methods(h, &add_cl, &zero_cl);
    for (int i = 0; i < 4; i++) run(&scratch_cl, h, NULL);
    starpu_task_wait_for_all();
    ok(all_of(wrong == 0, runs == 4), "a worker's scratch buffer has a whole structure");
    wrong = runs = 0;
    for (int i = 0; i < 10; i++) run(&contribute_cl, h, NULL);
    starpu_data_acquire(h, STARPU_R);
    const struct box *b = starpu_data_get_interface_on_node(h, 0);
    ok(all_of(wrong == 0, runs == 10, all_are((int *)b->ptr, 10)),
       "so have the contributions to a reduction");
    starpu_data_handle_t same, copy;
    starpu_data_release(h);
    starpu_data_register_same(&same, h);
    ok(whole(starpu_data_get_interface_on_node(same, 0), COUNT), "so has a handle of the same shape");
    starpu_data_dup_ro(&copy, h);
    starpu_data_acquire(copy, STARPU_R);
    b = starpu_data_get_interface_on_node(copy, 0);
    ok(all_of(whole(b, COUNT), all_are((int *)b->ptr, 10)), "so has a duplicate");
    starpu_data_release(copy);
    starpu_data_unregister(copy);
    starpu_data_unregister(same);
    starpu_data_unregister(h);
}

/* Leaves the tint to init, as a filter may that knows nothing of it. */
static void halves(void *father, void *child, struct starpu_data_filter *f UNUSED, unsigned i, unsigned parts)
{
    const struct box *from = father;
    struct box *to = child;
    to->id = from->id;
    to->count = from->count / parts;
    to->ptr = from->ptr ? from->ptr + i * to->count * sizeof(int) : 0;
}

static void pieces(void)
{
    int values[COUNT] = { 0 };
    size_t half = COUNT / 2;
    starpu_data_handle_t h, planned[2];
    struct starpu_data_filter f = { .filter_func = halves, .nchildren = 2 };
    wrong = runs = 0;
    box_data_register(&h, values);
    starpu_data_partition(h, &f);
    for (unsigned i = 0; i < 2; i++) {
        run(&add_one_cl, starpu_data_get_child(h, i), &half);
        run(&device_cl, starpu_data_get_child(h, i), &half);
    }
    starpu_data_unpartition(h, STARPU_MAIN_RAM);
    ok(all_of(wrong == 0, runs == 4, all_are(values, 2)),
       "pieces have what the filter stored, and the default for the rest");
    wrong = runs = 0;
    starpu_data_partition_plan(h, &f, planned);
    for (unsigned i = 0; i < 2; i++) run(&add_one_cl, planned[i], &half);
    starpu_data_partition_clean(h, 2, planned);
    starpu_data_unregister(h);
    ok(all_of(wrong == 0, runs == 2, all_are(values, 3)), "so have planned pieces");
}

/* ---- a structure larger than the library's own ---- */

struct large {
    char room[3000];
};
static unsigned places;

static void large_register(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    (void)home_node;
    for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
        struct large *l = starpu_data_get_interface_on_node(h, node);
        if (l) memcpy(l, itf, sizeof *l);
        places += l != NULL;
    }
}

static struct starpu_data_interface_ops large_ops = {
    .register_data_handle = large_register,
    .get_size = box_size,
    .footprint = NULL,
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
    .interface_size = sizeof(struct large),
};

static void large(void)
{
    starpu_data_handle_t h;
    struct large given = { .room = "given" };
    large_ops.interfaceid = (enum starpu_data_interface_id)starpu_data_interface_get_next_id();
    starpu_data_register(&h, -1, &given, &large_ops);
    is_int((int)places, STARPU_MAXNODES,
           "every node has a place for a structure of 3000 bytes, there or not");
    ok(strcmp(((struct large *)starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM))->room, "given") == 0,
       "and that of main memory is kept");
    starpu_data_unregister(h);
}

int main(void)
{
    sim_start(2, &(struct sim_config){ .devices = "1", .mem_mb = "16" });
    registered();
    private_copies();
    pieces();
    large();
    starpu_shutdown();
    is_int(strangers, 0, "whoever copies for a device passes for a worker of it, in any_to_any too");
    return done_testing();
}
