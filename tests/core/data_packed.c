/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data of an interface without copy methods for stores go there packed, and are unpacked when they come back:
 * as many bytes as packing made of them, which may be more or fewer than they take in memory.
 * Threads: main; workers. Owns: its interface and data. Not here: interfaces that copy (data_own_interface.c,
 * disk.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/core/sim_helper.h"

enum { COUNT = 12, ELEMENTS = 4096, BYTES = ELEMENTS * 4, HEADER = 64, ROOM = 4 };

struct runs {
    uintptr_t ptr;
    uint32_t elements;
};

static atomic_int tries, packs, unpacks;
static bool fails, makes_room = true;

static void register_runs(starpu_data_handle_t h, unsigned home, void *itf)
{
    for (unsigned n = 0; n < STARPU_MAXNODES; n++) {
        struct runs *r = starpu_data_get_interface_on_node(h, n);
        *r = *(struct runs *)itf;
        if (n != home) r->ptr = 0;
    }
}

static starpu_ssize_t allocate(void *itf, unsigned node)
{
    struct runs *r = itf;
    size_t bytes = BYTES + (makes_room ? HEADER : 0);
    r->ptr = starpu_malloc_on_node(node, bytes);
    return r->ptr ? (starpu_ssize_t)bytes : -ENOMEM;
}

static void free_runs(void *itf, unsigned node)
{
    struct runs *r = itf;
    starpu_free_on_node(node, r->ptr, BYTES + (makes_room ? HEADER : 0));
    r->ptr = 0;
}

static size_t get_size(starpu_data_handle_t h UNUSED)
{
    return BYTES;
}

static uint32_t footprint(starpu_data_handle_t h UNUSED)
{
    return BYTES;
}

static void *to_pointer(void *itf, unsigned node UNUSED)
{
    return (void *)((struct runs *)itf)->ptr;
}

/* An array of equal numbers is a short header; any other one a header and its numbers, in another order. */
static int pack(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count)
{
    const uint32_t *p = (const uint32_t *)((struct runs *)starpu_data_get_interface_on_node(h, node))->ptr;
    *count = -1;
    if (!ptr) return 0;
    atomic_fetch_add(&tries, 1);
    if (fails) return -EIO;
    bool equal = true;
    for (int i = 1; i < ELEMENTS; i++) equal &= p[i] == p[0];
    *count = HEADER + (equal ? 0 : BYTES);
    uint32_t *to = (uint32_t *)starpu_malloc_on_node_flags(node, (size_t)*count, 0);
    *ptr = to;
    if (!to) return -ENOMEM;
    memset(to, 0, HEADER);
    to[0] = p[0];
    for (int i = 0; !equal && i < ELEMENTS; i++) to[HEADER / 4 + i] = p[ELEMENTS - 1 - i];
    atomic_fetch_add(&packs, 1);
    return 0;
}

static int peek(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    uint32_t *p = (uint32_t *)((struct runs *)starpu_data_get_interface_on_node(h, node))->ptr;
    const uint32_t *from = ptr;
    if (count != HEADER && count != HEADER + BYTES) return -EINVAL;
    for (int i = 0; i < ELEMENTS; i++) p[i] = count == HEADER ? from[0] : from[HEADER / 4 + ELEMENTS - 1 - i];
    atomic_fetch_add(&unpacks, 1);
    return 0;
}

static int unpack(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    int r = peek(h, node, ptr, count);
    starpu_free_on_node_flags(node, (uintptr_t)ptr, count, 0);
    return r;
}

static const struct starpu_data_copy_methods none;
static struct starpu_data_interface_ops ops = {
    .register_data_handle = register_runs,
    .allocate_data_on_node = allocate,
    .free_data_on_node = free_runs,
    .copy_methods = &none,
    .get_size = get_size,
    .footprint = footprint,
    .to_pointer = to_pointer,
    .pack_data = pack,
    .unpack_data = unpack,
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
    .interface_size = sizeof(struct runs),
    .name = (char *)"runs",
};

static starpu_data_handle_t data[COUNT];

static void fill_func(void *buffers[], void *arg)
{
    uint32_t *p = (uint32_t *)((struct runs *)buffers[0])->ptr, first, step;
    starpu_codelet_unpack_args(arg, &first, &step);
    for (uint32_t i = 0; i < ELEMENTS; i++) p[i] = first + step * i;
}
static struct starpu_codelet fill_cl = { .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W } };

static void add_func(void *buffers[], void *arg UNUSED)
{
    uint32_t *p = (uint32_t *)((struct runs *)buffers[0])->ptr;
    for (uint32_t i = 0; i < ELEMENTS; i++) p[i] += 7;
}
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW } };

/* Every other one is of equal numbers. */
static uint32_t step_of(int h)
{
    return h % 2 ? 3 : 0;
}

static bool has(int h, uint32_t added)
{
    if (starpu_data_acquire(data[h], STARPU_R)) return false;
    const uint32_t *p = (const uint32_t *)starpu_data_get_local_ptr(data[h]);
    bool right = true;
    for (uint32_t i = 0; i < ELEMENTS; i++) right &= p[i] == 100u * (uint32_t)h + step_of(h) * i + added;
    starpu_data_release(data[h]);
    return right;
}

static int start(const char *store_mb, int room)
{
    char mb[32];
    snprintf(mb, sizeof mb, "%.7f", room * (BYTES + HEADER + 16) / 1048576.);
    sim_setting("STARPU_LIMIT_CPU_MEM", mb);
    sim_setting("ORRERY_SIM_STORE_MB", store_mb);
    sim_start(2, &(struct sim_config){ "0", NULL, NULL, NULL, NULL, NULL });
    for (int h = 0; h < COUNT; h++) starpu_data_register(&data[h], -1, &(struct runs){ 0, ELEMENTS }, &ops);
    return (int)starpu_memory_nodes_get_count() - 1;
}

static void write_all(void)
{
    for (int h = 0; h < COUNT; h++) {
        uint32_t first = 100u * (uint32_t)h, step = step_of(h);
        starpu_task_insert(&fill_cl, STARPU_W, data[h], STARPU_VALUE, &first, sizeof first, STARPU_VALUE,
                           &step, sizeof step, 0);
    }
}

static bool all_have(uint32_t added)
{
    bool all = true;
    for (int h = 0; h < COUNT; h++) all &= has(h, added);
    return all;
}

static void end(void)
{
    for (int h = 0; h < COUNT; h++) starpu_data_unregister(data[h]);
    starpu_shutdown();
}

static void go_and_come(const char *what)
{
    int store = start("8", ROOM);
    write_all();
    for (int h = 0; h < COUNT; h++) starpu_task_insert(&add_cl, STARPU_RW, data[h], 0);
    starpu_task_wait_for_all();
    ok(all_of(starpu_memory_get_used((unsigned)store) > 0, atomic_load(&packs) > 0),
       "%s: what has no room in main memory is packed into the store", what);
    ok(all_of(all_have(7), atomic_load(&unpacks) > 0), "%s: each value comes back", what);
    end();
    atomic_store(&packs, 0);
    atomic_store(&unpacks, 0);
}

/* Whoever is asked to go and cannot stays. There is room for all in main memory. */
static void stay(const char *why)
{
    start("8", COUNT);
    write_all();
    starpu_task_wait_for_all();
    starpu_data_evict_from_node(data[1], STARPU_MAIN_RAM);
    bool tried = comes_to(&tries, 1, 10000) && has(1, 0);
    ok(all_of(tried, starpu_data_is_on_node(data[1], STARPU_MAIN_RAM), all_have(0)),
       "data stay in main memory when %s", why);
    atomic_store(&tries, 0);
    end();
    fails = false;
    makes_room = true;
}

static void are_copied(void)
{
    starpu_data_handle_t copy;
    start("8", COUNT);
    ok(starpu_data_get_interface_id(data[0]) >= STARPU_MAX_INTERFACE_ID,
       "an interface without a number gets one with its first data");
    write_all();
    starpu_data_handle_t last = data[3];
    bool done = starpu_data_dup_ro(&copy, last) == 0;
    if (done) {
        data[3] = copy;
        done = has(3, 0);
        data[3] = last;
        starpu_data_unregister(copy);
    }
    ok(done, "data are copied packed to other data");
    end();
}

int main(void)
{
    are_copied();
    go_and_come("unpack_data");
    ops.unpack_data = NULL;
    ops.peek_data = peek;
    go_and_come("peek_data");
    atomic_store(&tries, 0);
    setenv("STARPU_SILENT", "1", 1);
    fails = true;
    stay("packing fails");
    makes_room = false;
    stay("its packed bytes are more than the room that was made for them");
    return done_testing();
}
