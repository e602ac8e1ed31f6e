/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data brought to a node with a callback, reductions with a scratch buffer, read-only duplicates, and the
 * check of where memory lies. Threads: main; workers execute and call back. Owns: its data. Not here: fetches
 * and prefetches without a callback (sim_device.c), reductions without scratch (data_modes.c).
 */
#include <sys/mman.h>
#include "tests/core/sim_helper.h"

enum { N = 8 };

static atomic_int calls;
static starpu_data_handle_t watched;
static int valid_in_callback, allocated_in_callback;

static void set_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (int i = 0; i < N; i++) v[i] = arg ? *(int *)arg : i;
}

static void gated_func(void *buffers[], void *arg)
{
    gate_pass(arg);
    set_func(buffers, NULL);
}

/* Simulated devices execute functions for CPUs too, and would have the value: these are inserted for CPUs. */
static struct starpu_codelet set_cl = { .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet gated_cl = { .cpu_funcs = { gated_func }, .nbuffers = 1, .modes = { STARPU_W } };

static starpu_data_handle_t vector(void)
{
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, -1, 0, N, sizeof(int));
    return h;
}

static void arrived(void *arg)
{
    int allocated = 0, valid = 0;
    starpu_data_query_status(watched, (int)sim_node(0), &allocated, &valid, NULL);
    valid_in_callback = valid;
    allocated_in_callback = allocated;
    if (arg) starpu_data_unregister_submit(*(starpu_data_handle_t *)arg);
    calls++;
}

/* Asks for the data on the device and waits for the callback. */
static int get(enum starpu_data_access_mode mode, enum starpu_is_prefetch urgency)
{
    calls = valid_in_callback = allocated_in_callback = 0;
    int r = starpu_data_get_on_node_cb_prio(watched, (int)sim_node(0), mode, arrived, NULL, urgency, 3);
    return r ? r : comes_to(&calls, 1, 10000) ? 0 : -1;
}

static void with_a_callback(void)
{
    int node = (int)sim_node(0);
    struct gate gate = { 0 };
    watched = vector();
    calls = 0;
    starpu_task_insert(&gated_cl, STARPU_EXECUTE_ON_WORKER, 0, STARPU_W, watched, STARPU_CL_ARGS_NFREE, &gate,
                       sizeof gate, 0);
    int r = starpu_data_get_on_node_cb_prio(watched, node, STARPU_R, arrived, NULL, STARPU_FETCH, 0);
    gate_wait_entered(&gate, 1);
    ok(all_of(r == 0, calls == 0), "data is asked for on a device while a task writes it");
    gate_open(&gate);
    ok(all_of(comes_to(&calls, 1, 10000), valid_in_callback),
       "the callback comes when a valid copy is there");
    starpu_task_wait_for_all();
    starpu_data_unregister(watched);
    watched = vector();
    starpu_task_insert(&set_cl, STARPU_EXECUTE_ON_WORKER, 0, STARPU_W, watched, 0);
    ok(all_of(get(STARPU_R, STARPU_PREFETCH) == 0, valid_in_callback), "so it does for a prefetch");
    starpu_task_insert(&set_cl, STARPU_EXECUTE_ON_WORKER, 0, STARPU_W, watched, 0);
    ok(all_of(get(STARPU_RW, STARPU_IDLEFETCH) == 0, valid_in_callback), "and for one when the link is idle");
    starpu_task_insert(&set_cl, STARPU_EXECUTE_ON_WORKER, 0, STARPU_W, watched, 0);
    ok(all_of(get(STARPU_W, STARPU_FETCH) == 0, allocated_in_callback, !valid_in_callback),
       "for writing there is memory only");
    ok(all_of(starpu_data_acquire(watched, STARPU_R) == 0,
              ((int *)starpu_data_get_local_ptr(watched))[3] == 3),
       "and the value is what it was");
    starpu_data_release(watched);
    calls = 0;
    r = starpu_data_get_on_node_cb_prio(watched, STARPU_MAIN_RAM, STARPU_R, arrived, &watched, STARPU_FETCH,
                                        0);
    ok(all_of(r == 0, comes_to(&calls, 1, 10000)), "a callback may end the data");
    starpu_task_wait_for_all();
    watched = vector();
    ok(all_of(
           starpu_data_get_on_node_cb_prio(watched, node, STARPU_SCRATCH, arrived, NULL, STARPU_FETCH, 0) ==
               -EINVAL,
           starpu_data_get_on_node_cb_prio(watched, 99, STARPU_R, arrived, NULL, STARPU_FETCH, 0) == -EINVAL,
           starpu_data_get_on_node_cb_prio(NULL, node, STARPU_R, arrived, NULL, STARPU_FETCH, 0) == -EINVAL),
       "another mode, node or handle is refused");
    starpu_data_unregister(watched);
}

/* ---- reductions ---- */

static atomic_int scratch_uses;

static void zero_func(void *buffers[], void *arg UNUSED)
{
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 0, N * sizeof(int));
}

static void add_func(void *buffers[], void *arg UNUSED)
{
    int *a = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), *b = (int *)STARPU_VECTOR_GET_PTR(buffers[1]);
    int *scratch = (int *)STARPU_VECTOR_GET_PTR(buffers[2]);
    if (STARPU_VECTOR_GET_NX(buffers[2]) != 2 * N) return;
    for (int i = 0; i < N; i++) scratch[2 * i] = a[i] + b[i];
    for (int i = 0; i < N; i++) a[i] = scratch[2 * i];
    scratch_uses++;
}

static void one_more_func(void *buffers[], void *arg UNUSED)
{
    for (int i = 0; i < N; i++) ((int *)STARPU_VECTOR_GET_PTR(buffers[0]))[i]++;
}

static struct starpu_codelet zero_cl = { .cpu_funcs = { zero_func }, .nbuffers = 1, .modes = { STARPU_W } };
static struct starpu_codelet add_cl = { .cpu_funcs = { add_func },
                                        .nbuffers = 3,
                                        .modes = { STARPU_RW, STARPU_R, STARPU_SCRATCH } };
static struct starpu_codelet one_more_cl = { .cpu_funcs = { one_more_func },
                                             .nbuffers = 1,
                                             .modes = { STARPU_REDUX } };

static void with_scratch(void)
{
    starpu_data_handle_t sum = vector(), scratch;
    starpu_vector_data_register(&scratch, -1, 0, 2 * N, sizeof(int));
    starpu_data_set_reduction_methods(sum, &add_cl, &zero_cl);
    starpu_data_set_reduction_scratch(sum, scratch);
    for (int i = 0; i < 100; i++) starpu_task_insert(&one_more_cl, STARPU_REDUX, sum, 0);
    starpu_data_acquire(sum, STARPU_R);
    int *v = starpu_data_get_local_ptr(sum);
    ok(all_of(v[0] == 100, v[N - 1] == 100, scratch_uses > 0),
       "contributions are added up with a scratch buffer");
    starpu_data_release(sum);
    starpu_data_unregister(sum);
    starpu_data_unregister(scratch);
}

/* ---- the rest ---- */

static void duplicates(void)
{
    starpu_data_handle_t h = vector();
    int nines = 9;
    starpu_task_insert(&set_cl, STARPU_W, h, 0);
    starpu_data_handle_t copy = starpu_data_dup_ro_get(h);
    starpu_task_insert(&set_cl, STARPU_W, h, STARPU_CL_ARGS_NFREE, &nines, sizeof nines, 0);
    int r = copy ? starpu_data_acquire(copy, STARPU_R) : -1;
    ok(all_of(r == 0, ((int *)starpu_data_get_local_ptr(copy))[5] == 5),
       "a duplicate keeps the value there was");
    if (r == 0) starpu_data_release(copy);
    if (copy) starpu_data_unregister(copy);
    starpu_data_unregister(h);
    ok(starpu_data_dup_ro_get(NULL) == NULL, "of nothing there is none");
}

/* Whether the check says something on standard error. */
static int complains(unsigned node, uintptr_t addr, size_t size)
{
    FILE *said = tmpfile();
    int before = dup(2);
    dup2(fileno(said), 2);
    starpu_check_on_node(node, addr, size);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    int any = lseek(fileno(said), 0, SEEK_END) > 0;
    fclose(said);
    return any;
}

static void memory_of_nodes(void)
{
    static char memory[100000];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(two + page, page);
    ok(all_of(!complains(STARPU_MAIN_RAM, (uintptr_t)memory, sizeof memory),
              !complains(STARPU_MAIN_RAM, (uintptr_t)two + 5, page - 5), !complains(STARPU_MAIN_RAM, 0, 0)),
       "memory of this process is on the main node");
    ok(complains(STARPU_MAIN_RAM, (uintptr_t)two + 5, page),
       "bytes beyond a mapping are not, and this is said");
    ok(all_of(complains(99, (uintptr_t)memory, 4), complains(STARPU_MAIN_RAM, 0, 4)),
       "nor is anything on a node that is not there, or at no address");
    uintptr_t there = starpu_malloc_on_node(sim_node(0), 1000);
    ok(!complains(sim_node(0), there, 1000), "memory of a device is on its node");
    starpu_free_on_node(sim_node(0), there, 1000);
    munmap(two, page);
}

int main(void)
{
    sim_start(2, &(struct sim_config){ .devices = "1", .mem_mb = "16" });
    with_a_callback();
    with_scratch();
    duplicates();
    memory_of_nodes();
    starpu_shutdown();
    return done_testing();
}
