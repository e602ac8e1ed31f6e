/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of a data interface of the program's own that data gave back: kept for data of the same shape where
 * the interface can hand them on, and freed where it does not want that, where memory is wanted, and before
 * its table may go. Threads: main; workers; one that has buffers freed. Owns: the interface of trays, which
 * keeps books on every buffer. Not here: what such interfaces do else (data_own_interface.c), memory that is
 * kept below the predefined ones (recycle.c, memory_kept.c).
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/core/sim_helper.h"

/* `count` ints, in a buffer of whole lines of 16. */
struct tray {
    uintptr_t ptr;
    size_t count;
    char pad[40];
};

enum { LINE = 16, COUNT = 1024, BYTES = COUNT * 4, BUFFERS = 4096, MOST_KEPT = 64 };

static size_t room_of(const struct tray *t)
{
    return (t->count + LINE - 1) / LINE * LINE * sizeof(int);
}

/* ---- books: which buffers there are, and who has them ---- */

enum state { NONE, IN_USE, KEPT };
static struct {
    uintptr_t ptr;
    unsigned node;
    size_t bytes;
    enum state state;
} books[BUFFERS];
static int allocated, freed, cached, reused, refused, wrong, there, fails;
static atomic_bool gone; /* the table */
static atomic_bool slow; /* free_data_on_node */
static atomic_int freeing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while the runtime allocates, too */

static bool enter(bool well)
{
    pthread_mutex_lock(&lock);
    well &= !atomic_load(&gone);
    wrong += !well;
    return well;
}

/* The entry of a buffer in that state; of NONE: a free one. */
static int find(uintptr_t ptr, unsigned node, enum state state)
{
    for (int i = 0; i < BUFFERS; i++)
        if (state == NONE ? books[i].state == NONE
                          : books[i].state == state && books[i].ptr == ptr && books[i].node == node)
            return i;
    wrong++;
    return -1;
}

static void forget(void)
{
    allocated = freed = cached = reused = refused = wrong = 0;
}

static bool even(void)
{
    return allocated == freed && there == 0 && wrong == 0;
}

/* ---- the interface ---- */

static void tray_register(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    const struct tray *given = itf;
    for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
        struct tray *t = starpu_data_get_interface_on_node(h, node);
        *t = *given;
        if (node != home_node) t->ptr = 0;
    }
}

static starpu_ssize_t tray_allocate(void *itf, unsigned node)
{
    struct tray *t = itf;
    enter(true);
    uintptr_t ptr = fails > 0 && fails-- ? 0 : starpu_malloc_on_node(node, room_of(t));
    int i = ptr ? find(0, 0, NONE) : -1;
    if (i >= 0) {
        books[i].ptr = t->ptr = ptr;
        books[i].node = node;
        books[i].bytes = room_of(t);
        books[i].state = IN_USE;
        allocated++;
        there++;
    } else {
        refused++;
    }
    pthread_mutex_unlock(&lock);
    return i >= 0 ? (starpu_ssize_t)room_of(t) : -ENOMEM;
}

static void tray_free(void *itf, unsigned node)
{
    struct tray *t = itf;
    atomic_fetch_add(&freeing, 1);
    if (atomic_load(&slow)) starpu_usleep(20000);
    enter(true);
    int i = 0;
    while (i < BUFFERS - 1 && (books[i].state == NONE || books[i].ptr != t->ptr || books[i].node != node))
        i++;
    wrong += books[i].state == NONE || books[i].ptr != t->ptr || books[i].bytes != room_of(t);
    books[i].state = NONE;
    starpu_free_on_node(node, t->ptr, room_of(t));
    freed++;
    there--;
    pthread_mutex_unlock(&lock);
}

static void tray_cache(void *cached_itf, void *src, unsigned node)
{
    struct tray *to = cached_itf, *from = src;
    enter(memcmp(to, from, sizeof *to) == 0);
    int i = find(from->ptr, node, IN_USE);
    if (i >= 0) books[i].state = KEPT;
    to->ptr = from->ptr;
    from->ptr = 0;
    cached++;
    pthread_mutex_unlock(&lock);
}

static void tray_reuse(void *dst, const void *cached_itf, unsigned node)
{
    struct tray *to = dst;
    const struct tray *from = cached_itf;
    enter(to->ptr == 0 && room_of(to) == room_of(from));
    int i = find(from->ptr, node, KEPT);
    if (i >= 0) books[i].state = IN_USE;
    to->ptr = from->ptr;
    reused++;
    pthread_mutex_unlock(&lock);
}

static int tray_copy(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async)
{
    struct tray *from = src, *to = dst;
    return starpu_interface_copy(from->ptr, 0, src_node, to->ptr, 0, dst_node, from->count * sizeof(int),
                                 async);
}

static const struct tray *tray_of(starpu_data_handle_t h)
{
    return starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM);
}

static size_t tray_size(starpu_data_handle_t h)
{
    return tray_of(h)->count * sizeof(int);
}

static size_t tray_alloc_size(starpu_data_handle_t h)
{
    return room_of(tray_of(h));
}

static uint32_t tray_footprint(starpu_data_handle_t h)
{
    return (uint32_t)tray_size(h);
}

static uint32_t tray_alloc_footprint(starpu_data_handle_t h)
{
    return (uint32_t)tray_alloc_size(h);
}

static uint32_t same_footprint(starpu_data_handle_t h UNUSED)
{
    return 0;
}

static int tray_compare(void *a, void *b)
{
    return ((struct tray *)a)->count == ((struct tray *)b)->count;
}

static int tray_alloc_compare(void *a, void *b)
{
    return room_of(a) == room_of(b);
}

static void *tray_pointer(void *itf, unsigned node UNUSED)
{
    return (void *)((struct tray *)itf)->ptr;
}

static const struct starpu_data_copy_methods tray_copies = { .any_to_any = tray_copy };

#define TRAY_METHODS                                                                                         \
    .register_data_handle = tray_register, .allocate_data_on_node = tray_allocate,                           \
    .free_data_on_node = tray_free, .copy_methods = &tray_copies, .get_size = tray_size,                     \
    .footprint = tray_footprint, .compare = tray_compare, .to_pointer = tray_pointer,                        \
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID, .interface_size = sizeof(struct tray),                       \
    .name = (char *)"tray"
#define HANDS_ON .cache_data_on_node = tray_cache, .reuse_data_on_node = tray_reuse
#define BY_ROOM                                                                                              \
    .get_alloc_size = tray_alloc_size, .alloc_footprint = tray_alloc_footprint,                              \
    .alloc_compare = tray_alloc_compare

static struct starpu_data_interface_ops ops = { TRAY_METHODS, HANDS_ON, BY_ROOM },
                                        by_shape_ops = { TRAY_METHODS, HANDS_ON },
                                        alike_ops = { TRAY_METHODS, HANDS_ON,
                                                      .get_alloc_size = tray_alloc_size,
                                                      .alloc_footprint = same_footprint,
                                                      .alloc_compare = tray_alloc_compare },
                                        unwilling_ops = { TRAY_METHODS, HANDS_ON, BY_ROOM, .dontcache = 1 },
                                        unable_ops = { TRAY_METHODS, BY_ROOM };

static starpu_data_handle_t new_tray(struct starpu_data_interface_ops *table, size_t count)
{
    starpu_data_handle_t h;
    starpu_data_register(&h, -1, &(struct tray){ .count = count }, table);
    return h;
}

/* ---- tasks ---- */

static atomic_int misread;

static void set_func(void *buffers[], void *arg)
{
    const struct tray *t = buffers[0];
    int value = 0;
    if (arg) starpu_codelet_unpack_args(arg, &value);
    for (size_t i = 0; i < t->count; i++) ((int *)t->ptr)[i] = value;
}
static void check_func(void *buffers[], void *arg)
{
    const struct tray *t = buffers[0];
    int value = 0;
    if (arg) starpu_codelet_unpack_args(arg, &value);
    for (size_t i = 0; i < t->count; i++) misread += ((int *)t->ptr)[i] != value;
}
static void add_func(void *buffers[], void *arg UNUSED)
{
    const struct tray *a = buffers[0], *b = buffers[1];
    for (size_t i = 0; i < a->count; i++) ((int *)a->ptr)[i] += ((int *)b->ptr)[i];
}
static void increment_func(void *buffers[], void *arg UNUSED)
{
    const struct tray *t = buffers[0];
    for (size_t i = 0; i < t->count; i++) ((int *)t->ptr)[i]++;
}

#define CODELET(name, where, func, mode)                                                                     \
    static struct starpu_codelet name = { .where = { func }, .nbuffers = 1, .modes = { mode } }
CODELET(set_cl, cpu_funcs, set_func, STARPU_W);
CODELET(check_cl, cpu_funcs, check_func, STARPU_R);
CODELET(device_set_cl, cuda_funcs, set_func, STARPU_W);
CODELET(device_add_cl, cuda_funcs, increment_func, STARPU_RW);
CODELET(scratch_cl, cpu_funcs, set_func, STARPU_SCRATCH);
CODELET(contribute_cl, cpu_funcs, increment_func, STARPU_REDUX);
CODELET(zero_cl, cpu_funcs, set_func, STARPU_W);
static struct starpu_codelet sum_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = 2,
                                        .modes = { STARPU_RW, STARPU_R } };

static void set(struct starpu_codelet *cl, starpu_data_handle_t h, int value)
{
    starpu_task_insert(cl, cl->modes[0], h, STARPU_VALUE, &value, sizeof value, 0);
}

static bool fill(struct starpu_codelet *cl, starpu_data_handle_t h)
{
    set(cl, h, 1);
    return starpu_task_wait_for_all() == 0;
}

/* ---- one memory ---- */

/* One tray of a shape gives its buffer back, then one of another is filled; a third is there all the time.
 * Returns how often a buffer was handed on; -1: it went wrong. */
static int hand_on_to(struct starpu_data_interface_ops *table, size_t count,
                      struct starpu_data_interface_ops *other_table, size_t other)
{
    starpu_data_handle_t stays = new_tray(table, 1), first = new_tray(table, count),
                         then = new_tray(other_table, other);
    forget();
    bool well = fill(&set_cl, first);
    starpu_data_unregister(first);
    well &= fill(&set_cl, then) && wrong == 0;
    int times = reused;
    starpu_data_unregister(then);
    starpu_data_unregister(stays);
    return well && even() ? times : -1;
}

static int hand_on(struct starpu_data_interface_ops *table, size_t count, size_t other)
{
    return hand_on_to(table, count, table, other);
}

static void shapes(void)
{
    is_int(hand_on(&ops, COUNT, COUNT), 1, "a buffer that data gave back goes to data of the same shape");
    is_int(hand_on(&ops, COUNT, COUNT - 3), 1, "of the same alloc_footprint and alloc_compare");
    is_int(hand_on(&ops, COUNT, COUNT + 1), 0, "not to data of another");
    is_int(hand_on(&by_shape_ops, COUNT, COUNT), 1,
           "without these footprint and compare are asked: the same shape");
    is_int(hand_on(&by_shape_ops, COUNT, COUNT - 3), 0, "another shape");
    is_int(hand_on(&alike_ops, COUNT, COUNT + 1), 0, "where all footprints are alike, alloc_compare decides");
    is_int(hand_on_to(&ops, COUNT, &by_shape_ops, COUNT), 0, "nor does data of another interface get it");
    is_int(hand_on(&unwilling_ops, COUNT, COUNT), 0, "where dontcache is set none is kept");
    is_int(cached, 0, "and cache_data_on_node is not called");
    is_int(hand_on(&unable_ops, COUNT, COUNT), 0, "nor where the interface has no reuse_data_on_node");
}

/* The methods by themselves, one after the other. */
static void in_order(void)
{
    starpu_data_handle_t a = new_tray(&ops, COUNT), b = new_tray(&ops, COUNT), c = new_tray(&ops, COUNT);
    size_t before = starpu_memory_get_used(STARPU_MAIN_RAM);
    forget();
    fill(&set_cl, a);
    starpu_data_unregister(a);
    ok(all_of(allocated == 1, cached == 1, freed == 0, reused == 0),
       "the end of data calls cache_data_on_node instead of free_data_on_node");
    is_int((long long)(starpu_memory_get_used(STARPU_MAIN_RAM) - before), BYTES,
           "the buffer counts as in use");
    fill(&set_cl, b);
    fill(&set_cl, c);
    ok(all_of(allocated == 2, cached == 1, reused == 1),
       "the next data takes it by reuse_data_on_node, and the one after allocates");
    starpu_data_invalidate(b);
    is_int(cached, 2, "data that lose their value give it back, too");
    starpu_memchunk_tidy(STARPU_MAIN_RAM);
    ok(all_of(freed == 1, there == 1), "starpu_memchunk_tidy frees it");
    starpu_data_unregister(b);
    starpu_data_unregister(c);
    ok(all_of(cached == 3, even()), "the end of the last data of an interface frees all");
    is_int((long long)starpu_memory_get_used(STARPU_MAIN_RAM), (long long)before, "and nothing is in use");
}

static void bounded(void)
{
    enum { MANY = MOST_KEPT + 20 };
    starpu_data_handle_t h[MANY], other = new_tray(&alike_ops, 2 * LINE), stays = new_tray(&alike_ops, 1);
    forget();
    for (int i = 0; i < MANY; i++) {
        h[i] = new_tray(&alike_ops, COUNT);
        set(&set_cl, h[i], i);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < MANY; i++) starpu_data_unregister(h[i]);
    is_int(there, MOST_KEPT, "so many are kept of a node at most");
    fill(&set_cl, other);
    is_int(allocated, MANY + 1, "with many of another shape there, one of its own is allocated");
    h[0] = new_tray(&alike_ops, COUNT);
    fill(&set_cl, h[0]);
    is_int(reused, 1, "and those remain");
    starpu_data_unregister(h[0]);
    starpu_data_unregister(other);
    starpu_data_unregister(stays);
    ok(even(), "all are freed in the end");
}

static void refusals(void)
{
    starpu_data_handle_t a = new_tray(&ops, COUNT), b = new_tray(&ops, 2 * COUNT);
    forget();
    fill(&set_cl, a);
    starpu_data_unregister(a);
    fails = 1;
    bool well = fill(&set_cl, b);
    ok(all_of(well, freed == 1, refused == 1, allocated == 2),
       "where allocate_data_on_node finds no memory, what is kept is freed, and it is asked again");
    starpu_data_unregister(b);
    ok(even(), "nothing is left");
}

static void own_copies(void)
{
    starpu_data_handle_t h = new_tray(&ops, COUNT), stays = new_tray(&ops, 1);
    forget();
    for (int i = 0; i < 4; i++) set(&scratch_cl, h, i);
    starpu_task_wait_for_all();
    starpu_data_unregister(h);
    h = new_tray(&ops, COUNT);
    starpu_data_set_reduction_methods(h, &sum_cl, &zero_cl);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++) starpu_task_insert(&contribute_cl, STARPU_REDUX, h, 0);
        set(&check_cl, h, 8 * (round + 1));
    }
    starpu_task_wait_for_all();
    starpu_data_unregister(h);
    ok(all_of(reused > 0, misread == 0), "scratch buffers and contributions are kept and handed on");
    starpu_data_unregister(stays);
    ok(even(), "and freed in the end");
}

static void setting(const char *name, const char *value, const char *fact)
{
    sim_setting(name, value);
    sim_start(1, &(struct sim_config){ NULL, NULL, NULL, NULL, NULL, NULL });
    int times = hand_on(&ops, COUNT, COUNT);
    starpu_shutdown();
    sim_setting(name, NULL);
    is_int(times, 0, "%s", fact);
}

/* ---- a device with room for four ---- */

enum { ROOM = 4, DATA = 2 * ROOM };

static void start_device(void)
{
    char room[32];
    snprintf(room, sizeof room, "%.7f", (ROOM * BYTES + 100) / 1048576.);
    sim_start(1, &(struct sim_config){ "1", room, NULL, NULL, NULL, NULL });
}

static void evictions(void)
{
    starpu_data_handle_t h[DATA];
    forget();
    for (int i = 0; i < DATA; i++) {
        h[i] = new_tray(&ops, COUNT);
        set(&set_cl, h[i], i);
    }
    starpu_task_wait_for_all();
    int before = allocated;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < DATA; i++) starpu_task_insert(&device_add_cl, STARPU_RW, h[i], 0);
    starpu_task_wait_for_all();
    ok(all_of(allocated - before <= ROOM, reused >= 3 * DATA - ROOM),
       "a buffer that is evicted goes to what it was evicted for: %d were allocated, %d handed on",
       allocated - before, reused);
    misread = 0;
    for (int i = 0; i < DATA; i++) set(&check_cl, h[i], i + 3);
    starpu_task_wait_for_all();
    is_int(misread, 0, "all values are right");
    for (int i = 0; i < DATA; i++) starpu_data_unregister(h[i]);
    ok(even(), "all buffers are freed in the end");
}

/* Two data that stay on the device, and two buffers that are kept there. */
static void half_kept(starpu_data_handle_t h[ROOM])
{
    forget();
    for (int i = 0; i < ROOM; i++) {
        h[i] = new_tray(&ops, COUNT);
        fill(&device_set_cl, h[i]);
    }
    starpu_data_unregister_no_coherency(h[2]);
    starpu_data_unregister_no_coherency(h[3]);
}

static bool still_there(starpu_data_handle_t h[ROOM])
{
    return starpu_data_is_on_node(h[0], sim_node(0)) && starpu_data_is_on_node(h[1], sim_node(0));
}

static void end_half(starpu_data_handle_t h[ROOM])
{
    starpu_data_unregister(h[0]);
    starpu_data_unregister(h[1]);
}

static void fill_vector(void *buffers[], void *arg UNUSED)
{
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 1, STARPU_VECTOR_GET_NX(buffers[0]));
}
CODELET(vector_cl, cuda_funcs, fill_vector, STARPU_W);

static void pressure(void)
{
    starpu_data_handle_t h[ROOM], other;
    unsigned node = sim_node(0);
    half_kept(h);
    ok(all_of(cached == 2, freed == 0, starpu_memory_get_used(node) == ROOM * BYTES),
       "buffers that are kept on a device count there");
    starpu_vector_data_register(&other, -1, 0, 2 * BYTES, 1);
    bool well = fill(&vector_cl, other);
    ok(all_of(well, freed == 2, still_there(h)), "they make room for other data before any is evicted");
    starpu_data_unregister_no_coherency(other);
    end_half(h);

    half_kept(h);
    other = new_tray(&ops, 2 * COUNT);
    well = fill(&device_set_cl, other);
    ok(all_of(well, freed == 2, still_there(h)),
       "for data of their own interface, not within its allocate_data_on_node");
    starpu_data_unregister_no_coherency(other);
    end_half(h);

    half_kept(h);
    uintptr_t own = starpu_malloc_on_node(node, 2 * BYTES);
    ok(all_of(own != 0, freed == 2, still_there(h)), "and for memory that the program allocates there");
    starpu_free_on_node(node, own, 2 * BYTES);
    end_half(h);

    half_kept(h);
    ok(all_of(starpu_memory_allocate(node, 2 * BYTES, STARPU_MEMORY_WAIT) == 0, freed == 2, still_there(h)),
       "that it counts and waits for");
    starpu_memory_deallocate(node, 2 * BYTES);
    end_half(h);

    half_kept(h);
    starpu_memory_wait_available(node, BYTES);
    ok(all_of(freed >= 1, still_there(h)), "or only waits for");
    end_half(h);

    half_kept(h);
    starpu_memchunk_tidy(node);
    ok(all_of(freed == 2, still_there(h)), "starpu_memchunk_tidy frees them");
    end_half(h);
    ok(even(), "nothing is left");
}

static void at_shutdown(void)
{
    starpu_data_handle_t h[ROOM];
    half_kept(h);
    starpu_shutdown();
    is_int(there, 0, "starpu_shutdown frees what is kept, and what is on devices");
    end_half(h);
    ok(even(), "data may end after it");
}

/* ---- threads ---- */

static void several_workers(void)
{
    enum { SHAPES = 3, AT_ONCE = 12 };
    int rounds = SCALED(400, 60);
    starpu_data_handle_t stays = new_tray(&alike_ops, 1);
    forget();
    misread = 0;
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < AT_ONCE; k++) {
            starpu_data_handle_t h = new_tray(k % 2 ? &ops : &alike_ops, (size_t)(1 + k % SHAPES) * 64);
            set(k % 4 ? &set_cl : &device_set_cl, h, i + k);
            if (k % 3) starpu_task_insert(&device_add_cl, STARPU_RW, h, 0);
            set(&check_cl, h, i + k + (k % 3 ? 1 : 0));
            starpu_data_unregister_submit(h);
        }
        if (i % 16 == 0) starpu_task_wait_for_all();
        if (i % 40 == 0) starpu_memchunk_tidy(i % 80 ? STARPU_MAIN_RAM : sim_node(0));
    }
    starpu_task_wait_for_all();
    starpu_data_unregister(stays);
    ok(all_of(misread == 0, wrong == 0, reused > 0), "several workers hand buffers on: %d of %d", reused,
       reused + allocated);
    ok(even(), "and all are freed");
}

static atomic_bool stop_dropping;

static void *drop_all_the_time(void *arg UNUSED)
{
    while (!atomic_load(&stop_dropping)) {
        starpu_memchunk_tidy(STARPU_MAIN_RAM);
        starpu_memchunk_tidy(sim_node(0));
    }
    return NULL;
}

/* The table may go when the last data has ended, though another thread frees buffers just then. */
static void last_ones(void)
{
    int rounds = SCALED(300, 60);
    pthread_t dropper;
    forget();
    pthread_create(&dropper, NULL, drop_all_the_time, NULL);
    for (int i = 0; i < rounds; i++) {
        starpu_data_handle_t h[ROOM];
        atomic_store(&gone, false);
        for (int k = 0; k < ROOM; k++) {
            h[k] = new_tray(&ops, COUNT);
            set(k % 2 ? &set_cl : &device_set_cl, h[k], 1);
        }
        starpu_task_wait_for_all();
        for (int k = 0; k < ROOM; k++) starpu_data_unregister_no_coherency(h[k]);
        atomic_store(&gone, true);
    }
    atomic_store(&stop_dropping, true);
    pthread_join(dropper, NULL);
    atomic_store(&gone, false);
    ok(all_of(wrong == 0, even()), "no method is called after the end of the last data");
}

/* Wherever the task ran: simulated devices run CPU functions, too. */
static void *drop_once(void *arg UNUSED)
{
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++) starpu_memchunk_tidy(node);
    return NULL;
}

static void last_one_waits(void)
{
    starpu_data_handle_t h = new_tray(&ops, COUNT), last = new_tray(&ops, COUNT);
    pthread_t dropper;
    forget();
    fill(&set_cl, h);
    starpu_data_unregister(h);
    atomic_store(&slow, true);
    atomic_store(&freeing, 0);
    pthread_create(&dropper, NULL, drop_once, NULL);
    while (atomic_load(&freeing) == 0) sched_yield();
    starpu_data_unregister(last);
    atomic_store(&gone, true);
    pthread_join(dropper, NULL);
    atomic_store(&gone, false);
    atomic_store(&slow, false);
    ok(all_of(freed == 1, even()), "nor goes one on that another thread has called");
}

static void *end_it(void *handle)
{
    starpu_data_unregister_no_coherency(handle);
    return NULL;
}

/* A buffer is being freed, by the end of the last data of its table, while a task wants all of the device. */
static void room_that_comes(void)
{
    starpu_data_handle_t h = new_tray(&ops, COUNT), last = new_tray(&ops, COUNT), all;
    pthread_t other;
    forget();
    fill(&device_set_cl, h);
    starpu_data_unregister_no_coherency(h);
    starpu_vector_data_register(&all, -1, 0, ROOM * BYTES, 1);
    atomic_store(&slow, true);
    atomic_store(&freeing, 0);
    pthread_create(&other, NULL, end_it, last);
    while (atomic_load(&freeing) == 0) sched_yield();
    bool well = fill(&vector_cl, all) && starpu_data_is_on_node(all, sim_node(0));
    pthread_join(other, NULL);
    atomic_store(&slow, false);
    starpu_data_unregister_no_coherency(all);
    ok(all_of(well, even()), "a task waits for a buffer that another thread is just freeing");
}

/* A list: a buffer has the next datum of the same table, which ends with it. */
struct link {
    uintptr_t ptr;
    starpu_data_handle_t next;
    size_t left;
};
static int links;
static struct starpu_data_interface_ops link_ops;

static void link_register(starpu_data_handle_t h, unsigned home_node UNUSED, void *itf)
{
    for (unsigned n = 0; n < STARPU_MAXNODES; n++) {
        struct link *l = starpu_data_get_interface_on_node(h, n);
        *l = *(struct link *)itf;
    }
}
static starpu_ssize_t link_allocate(void *itf, unsigned node)
{
    struct link *l = itf;
    if (!(l->ptr = starpu_malloc_on_node(node, LINE))) return -ENOMEM;
    links++;
    struct link next = { .left = l->left - 1 };
    if (l->left) starpu_data_register(&l->next, -1, &next, &link_ops);
    return LINE;
}
static void link_free(void *itf, unsigned node)
{
    struct link *l = itf;
    if (l->next) starpu_data_unregister_no_coherency(l->next);
    starpu_free_on_node(node, l->ptr, LINE);
    links--;
}
static void link_reuse(void *dst, const void *from, unsigned node UNUSED)
{
    ((struct link *)dst)->ptr = ((const struct link *)from)->ptr;
    ((struct link *)dst)->next = ((const struct link *)from)->next;
}
static size_t link_size(starpu_data_handle_t h UNUSED)
{
    return LINE;
}
static uint32_t link_footprint(starpu_data_handle_t h)
{
    return (uint32_t)((struct link *)starpu_data_get_interface_on_node(h, 0))->left;
}
static int link_compare(void *a, void *b)
{
    return ((struct link *)a)->left == ((struct link *)b)->left;
}
static void touch_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
CODELET(touch_cl, cpu_funcs, touch_func, STARPU_W);
static const struct starpu_data_copy_methods no_copies;
static struct starpu_data_interface_ops link_ops = {
    .register_data_handle = link_register,
    .allocate_data_on_node = link_allocate,
    .free_data_on_node = link_free,
    .reuse_data_on_node = link_reuse,
    .copy_methods = &no_copies,
    .get_size = link_size,
    .footprint = link_footprint,
    .compare = link_compare,
    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
    .interface_size = sizeof(struct link),
    .name = "link",
};

static void lists(void)
{
    starpu_data_handle_t h;
    struct link first = { .left = 2 };
    starpu_data_register(&h, -1, &first, &link_ops);
    bool well = fill(&touch_cl, h);
    starpu_data_unregister_no_coherency(h);
    for (unsigned n = 0; n < starpu_memory_nodes_get_count(); n++) starpu_memchunk_tidy(n);
    ok(all_of(well, links == 0), "freeing a buffer may end the last data of its own table");
}

int main(void)
{
    alarm(SCALED(60, 300));
    sim_start(2, &(struct sim_config){ NULL, NULL, NULL, NULL, NULL, NULL });
    shapes();
    in_order();
    bounded();
    refusals();
    own_copies();
    starpu_shutdown();
    setting("ORRERY_RECYCLE_MEM", "0", "ORRERY_RECYCLE_MEM=0 keeps none in main memory");
    setting("STARPU_LIMIT_CPU_MEM", "16", "nor is any kept in main memory with a limit");
    start_device();
    evictions();
    pressure();
    room_that_comes();
    lists();
    at_shutdown();
    sim_start(3, &(struct sim_config){ "1", "1", NULL, NULL, NULL, NULL });
    several_workers();
    last_ones();
    last_one_waits();
    starpu_shutdown();
    return done_testing();
}
