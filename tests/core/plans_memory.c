/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles, plans and their switches are recycled: a program that makes one for everything it looks at calls
 * malloc next to never, whoever frees them, and does not grow.
 * Threads: main submits; workers execute and free. Owns: the calls of malloc that are counted.
 * Not here: what plans do (data_plans.c, plans_uses.c), slabs (base_slab.c).
 */
#include <stdlib.h>
#include "tests/helper.h"

enum { N = 64, ROUNDS = 5000, FEW = 200 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { COUNTING = 0 }; /* they bring a malloc of their own */
static atomic_long calls, requested;
#else
enum { COUNTING = 1 };
static atomic_long calls, requested;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void count(size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    atomic_fetch_add(&requested, (long)bytes);
}
void *malloc(size_t bytes)
{
    count(bytes);
    return __libc_malloc(bytes);
}
void *calloc(size_t number, size_t bytes)
{
    count(number * bytes);
    return __libc_calloc(number, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    count(bytes);
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}
#endif

static void add_func(void *buffers[], void *arg UNUSED)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i]++;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static int v[N], failed;
static starpu_data_handle_t whole;

static int add(starpu_data_handle_t h)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = &add_cl;
    t->handles[0] = h;
    return starpu_task_submit(t);
}

/* Cuts the vector, uses its pieces, then the whole, and forgets the plan. */
static void look_at_pieces(unsigned pieces)
{
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = pieces };
    starpu_data_handle_t parts[8];
    starpu_data_partition_plan(whole, &f, parts);
    for (unsigned i = 0; i < pieces; i++) failed |= add(parts[i]);
    failed |= add(whole);
    starpu_data_partition_clean(whole, pieces, parts);
}

static void one_piece(void)
{
    look_at_pieces(1);
}

static void four_pieces(void)
{
    look_at_pieces(4);
}

static starpu_data_handle_t piece[4];
static void switch_only(void)
{
    failed |= add(piece[1]) | add(whole) | starpu_data_fetch_on_node(piece[2], STARPU_MAIN_RAM, 1);
}

static void register_and_forget(void)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, 1, sizeof v[0]);
    failed |= add(h);
    starpu_data_unregister_submit(h);
}

static void released(void *h)
{
    starpu_data_release(h);
}

static void acquire_with_callback(void)
{
    failed |= starpu_data_acquire_cb(whole, STARPU_R, released, whole);
}

/* So often that whatever is kept has been made, then again, counting. */
static void measure(void (*fn)(void), const char *what)
{
    for (int i = 0; i < ROUNDS; i++) fn();
    starpu_task_wait_for_all();
    long calls_before = atomic_load(&calls), requested_before = atomic_load(&requested);
    for (int i = 0; i < ROUNDS; i++) {
        fn();
        if (i % 64 == 63) starpu_task_wait_for_all();
    }
    starpu_task_wait_for_all();
    long called = atomic_load(&calls) - calls_before, bytes = atomic_load(&requested) - requested_before;
    printf("# %s: %ld calls of malloc, %ld bytes in %d rounds\n", what, called, bytes, ROUNDS);
    ok(all_of(!failed, called < FEW, bytes < (1 << 20)), "%s %d times calls malloc less than %d times", what,
       ROUNDS, FEW);
}

int main(void)
{
    alarm(60);
    if (!COUNTING) skip_all("a sanitizer has taken malloc");
    runtime_start(2, NULL);
    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    measure(one_piece, "a plan of one piece, used and cleaned");
    measure(four_pieces, "a plan of four pieces, used and cleaned");
    measure(register_and_forget, "data registered, used and unregistered by submission");
    measure(acquire_with_callback, "an acquisition with a callback");
    struct starpu_data_filter quarters = { .filter_func = starpu_vector_filter_block, .nchildren = 4 };
    starpu_data_partition_plan(whole, &quarters, piece);
    measure(switch_only, "a switch to pieces and back");
    starpu_data_partition_clean(whole, 4, piece);
    starpu_data_unregister(whole);
    starpu_shutdown();
    return done_testing();
}
