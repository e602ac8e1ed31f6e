/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partition plans: switches between a parent and its pieces are submitted, wait for nothing, and keep the
 * order of the tasks; explicit and automatic ones, for writing and for reading, several plans of one parent,
 * plans of plans.
 * Threads: main submits; workers execute. Owns: the partitioned data. Not here: partitioning
 * at once (data_filters.c), what filters cut (data_pieces.c).
 */
#include "tests/helper.h"

enum { N = 24 };

/* Adds arg to every element, and counts the elements that were not what seen says. */
static atomic_int surprises, runs;

static void add_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = v[i] * 3 + (int)(intptr_t)arg;
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static void expect_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        if (v[i] != (int)(intptr_t)arg) atomic_fetch_add(&surprises, 1);
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet expect_cl = {
    .cpu_funcs = { expect_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "expect"
};

static void fill_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] = (int)(intptr_t)arg;
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill"
};

static void copy_func(void *buffers[], void *arg UNUSED)
{
    const int *from = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int *to = (int *)STARPU_VECTOR_GET_PTR(buffers[1]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[1]); i++) to[i] = from[i];
}
static struct starpu_codelet copy_cl = {
    .cpu_funcs = { copy_func }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "copy"
};

static int task(struct starpu_codelet *cl, starpu_data_handle_t h, int value)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = (void *)(intptr_t)value;
    t->handles[0] = h;
    return starpu_task_submit(t);
}

/* A task of which nothing can run before the gate is opened. */
static int hold(struct gate *g, starpu_data_handle_t h);
static void held_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
}
static struct starpu_codelet held_cl = {
    .cpu_funcs = { held_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "held"
};
static int hold(struct gate *g, starpu_data_handle_t h)
{
    struct starpu_task *t = starpu_task_create();
    atomic_store(&g->entered, 0);
    atomic_store(&g->open, 0);
    t->cl = &held_cl;
    t->cl_arg = g;
    t->handles[0] = h;
    return starpu_task_submit(t);
}

static int other_than(const int *v, int want)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != want;
    return wrong;
}

static struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = 3 };
static struct starpu_data_filter quarters = { .filter_func = starpu_vector_filter_block, .nchildren = 4 };
static struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };

static void reset(int *v, int value)
{
    for (int i = 0; i < N; i++) v[i] = value;
    atomic_store(&surprises, 0);
    atomic_store(&runs, 0);
}

static void set_flag(void *flag)
{
    atomic_store((atomic_int *)flag, 1);
}

static void explicit_switches(void)
{
    int v[N], failed = 0, want = 1;
    atomic_int done = 0;
    struct gate gate;
    starpu_data_handle_t h, piece[3];
    reset(v, 1);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &thirds, piece);
    is_int(starpu_data_partition_get_nplans(h), 1, "a plan is counted");
    failed |= hold(&gate, h);
    for (int round = 0; round < 50; round++) {
        failed |= task(&add_cl, h, round);
        want = want * 3 + round;
        starpu_data_partition_submit(h, 3, piece);
        for (int i = 0; i < 3; i++) {
            failed |= task(&expect_cl, piece[i], want);
            failed |= task(&add_cl, piece[i], round + 7);
        }
        want = want * 3 + round + 7;
        if (round == 49)
            starpu_data_unpartition_submit_sequential_consistency_cb(h, 3, piece, STARPU_MAIN_RAM, 1,
                                                                     set_flag, &done);
        else
            starpu_data_unpartition_submit(h, 3, piece, -1);
        failed |= task(&expect_cl, h, want);
        want = (int)((unsigned)want % 1000u);
        failed |= task(&fill_cl, h, want);
    }
    ok(all_of(!failed, atomic_load(&runs) == 0, !atomic_load(&done)),
       "switches are submitted behind a task, and wait for nothing");
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(surprises == 0, runs == 50 * (1 + 3 + 3 + 1)),
       "parent and pieces see each other's values in the order of submission");
    ok(comes_to(&done, 1, 2000), "the callback of an unpartition is called");
    starpu_data_partition_clean(h, 3, piece);
    is_int(starpu_data_partition_get_nplans(h), 0, "a cleaned plan is gone");
    starpu_data_unregister(h);
    is_int(other_than(v, want), 0, "the home of the parent has its last value");
}

static void automatic_switches(void)
{
    int v[N], failed = 0;
    starpu_data_handle_t h, three[3], four[4];
    reset(v, 1);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &thirds, three);
    starpu_data_partition_plan(h, &quarters, four);
    int want = 1;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 3; i++) failed |= task(&add_cl, three[i], 1);
        want = want * 3 + 1;
        for (int i = 0; i < 4; i++)
            failed |= task(&expect_cl, four[i], want); /* both plans and the parent may be read */
        failed |= task(&expect_cl, h, want);
        failed |= task(&expect_cl, three[1], want);
        for (int i = 0; i < 4; i++) failed |= task(&add_cl, four[i], 2);
        want = want * 3 + 2;
        failed |= task(&expect_cl, three[0], want);
        want = round;
        failed |= task(&fill_cl, h, want);
    }
    starpu_task_wait_for_all();
    ok(all_of(!failed, surprises == 0, runs == 30 * 14),
       "without any call, two plans and their parent take turns as tasks need them");
    starpu_data_acquire(three[2], STARPU_RW);
    for (int i = 16; i < N; i++) v[i] = 77;
    starpu_data_release(three[2]);
    starpu_data_acquire(h, STARPU_R);
    ok(all_of(v[15] == 29, v[16] == 77, v[N - 1] == 77), "acquiring a piece, then its parent, switches too");
    starpu_data_release(h);
    starpu_data_partition_clean(h, 3, three);
    starpu_data_partition_clean(h, 4, four);
    starpu_data_unregister(h);
}

/* Two readers, of the parent and of a piece, that meet. */
static atomic_int inside, met;
static void meet_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&inside, 1);
    for (int i = 0; i < 20000 && atomic_load(&inside) < 2; i++) usleep(100);
    if (atomic_load(&inside) >= 2) atomic_fetch_add(&met, 1);
}
static struct starpu_codelet meet_cl = {
    .cpu_funcs = { meet_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "meet"
};

static void reading(void)
{
    int v[N], failed = 0;
    starpu_data_handle_t h, piece[2];
    reset(v, 5);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &halves, piece);
    starpu_data_partition_readonly_submit(h, 2, piece);
    failed |= task(&meet_cl, h, 0);
    failed |= task(&meet_cl, piece[1], 0);
    starpu_task_wait_for_all();
    is_int(met, 2, "cut for reading, parent and pieces are read at the same time");
    starpu_data_partition_readwrite_upgrade_submit(h, 2, piece);
    for (int i = 0; i < 2; i++) failed |= task(&add_cl, piece[i], 1);
    starpu_data_partition_readonly_downgrade_submit(h, 2, piece);
    failed |= task(&expect_cl, h, 16);
    failed |= task(&expect_cl, piece[0], 16);
    starpu_data_unpartition_submit(h, 2, piece, STARPU_MAIN_RAM);
    failed |= task(&add_cl, h, 2);
    starpu_data_partition_submit(h, 2, piece);
    failed |= task(&add_cl, piece[0], 3);
    failed |= task(&add_cl, piece[1], 3);
    starpu_data_unpartition_readonly_submit(h, 2, piece, STARPU_MAIN_RAM);
    failed |= task(&expect_cl, h, 153);
    failed |= task(&expect_cl, piece[1], 153);
    starpu_data_partition_clean_node(h, 2, piece, STARPU_MAIN_RAM);
    starpu_data_unregister(h);
    ok(all_of(!failed, surprises == 0, other_than(v, 153) == 0),
       "upgrades and downgrades keep the order of reads and writes");
}

static void plans_of_plans(void)
{
    int v[N], failed = 0, want = 1;
    starpu_data_handle_t h, half[2], part[2][3];
    reset(v, 1);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &halves, half);
    for (int i = 0; i < 2; i++) starpu_data_partition_plan(half[i], &thirds, part[i]);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++) failed |= task(&add_cl, part[i][j], 1);
        want = want * 3 + 1;
        failed |= task(&expect_cl, half[0], want);
        failed |= task(&add_cl, half[1], 2);
        failed |= task(&add_cl, part[0][0], 2);
        failed |= task(&add_cl, part[0][1], 2);
        failed |= task(&add_cl, part[0][2], 2);
        want = want * 3 + 2;
        failed |= task(&expect_cl, h, want);
        want = round;
        failed |= task(&fill_cl, h, want);
    }
    starpu_data_partition_submit(h, 2, half);
    starpu_data_partition_submit(half[1], 3, part[1]);
    for (int j = 0; j < 3; j++) failed |= task(&add_cl, part[1][j], 4);
    failed |= task(&add_cl, half[0], 4);
    starpu_data_unpartition_submit_r(h, STARPU_MAIN_RAM);
    want = want * 3 + 4;
    failed |= task(&expect_cl, h, want);
    for (int i = 0; i < 2; i++) starpu_data_partition_clean(half[i], 3, part[i]);
    starpu_data_partition_clean(h, 2, half);
    starpu_data_unregister(h);
    ok(all_of(!failed, surprises == 0, other_than(v, want) == 0),
       "pieces may be planned again, and are put together level by level");
}

/* A task that reads a piece of a piece and writes one of its neighbour's: to write ends what was begun for
 * reading, and the plan of the piece that is read with it. */
static void read_beside_written(void)
{
    int v[N], failed = 0;
    starpu_data_handle_t h, half[2], part[2][3];
    reset(v, 5);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &halves, half);
    for (int i = 0; i < 2; i++) starpu_data_partition_plan(half[i], &thirds, part[i]);
    for (int i = 0; i < 2; i++) {
        failed |= starpu_task_insert(&copy_cl, STARPU_R, part[i][0], STARPU_RW, part[1 - i][1], 0);
        failed |= task(&expect_cl, h, 5);
    }
    failed |= starpu_task_wait_for_all();
    for (int i = 0; i < 2; i++) starpu_data_partition_clean(half[i], 3, part[i]);
    starpu_data_partition_clean(h, 2, half);
    starpu_data_unregister(h);
    ok(all_of(!failed, surprises == 0, other_than(v, 5) == 0),
       "a task reads a piece of a piece and writes one of its neighbour's");
}

/* Data that the runtime allocates has no address when it is planned. */
static void without_a_home(void)
{
    int failed = 0;
    starpu_data_handle_t h, piece[3];
    atomic_store(&surprises, 0);
    starpu_vector_data_register(&h, -1, 0, N, sizeof(int));
    starpu_data_partition_plan(h, &thirds, piece);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) failed |= task(&fill_cl, piece[i], round);
        failed |= task(&expect_cl, h, round);
        if (round % 3 == 2) starpu_data_invalidate_submit(h);
        if (round % 3 == 1)
            for (int i = 0; i < 3; i++) failed |= task(&expect_cl, piece[i], round);
    }
    starpu_task_wait_for_all();
    starpu_data_partition_clean(h, 3, piece);
    starpu_data_unregister(h);
    ok(all_of(!failed, surprises == 0),
       "data without a home is planned before it has memory, and its pieces follow its memory");
}

/* Nothing but switches: they must not pile up on the stack. */
static void many_switches(void)
{
    int v[N], failed = 0;
    struct gate gate;
    starpu_data_handle_t h, piece[2];
    reset(v, 1);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &halves, piece);
    failed |= hold(&gate, h);
    for (int i = 0; i < 100000; i++) {
        starpu_data_partition_submit(h, 2, piece);
        starpu_data_unpartition_submit(h, 2, piece, -1);
    }
    failed |= task(&add_cl, h, 1);
    gate_open(&gate);
    starpu_data_partition_clean(h, 2, piece);
    starpu_data_unregister(h);
    ok(all_of(!failed, other_than(v, 4) == 0),
       "a hundred thousand switches without a task between them end one after the other");
}

/* The whole is first for a task that waits for one on a piece: in order neither could begin. */
static void out_of_order(void)
{
    int v[N];
    starpu_data_handle_t h, piece[3];
    reset(v, 1);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &thirds, piece);
    starpu_tag_declare_deps(2, 1, (starpu_tag_t)1);
    struct starpu_task *waits = starpu_task_create(), *first = starpu_task_create();
    waits->cl = first->cl = &add_cl;
    waits->use_tag = first->use_tag = 1;
    waits->tag_id = 2;
    first->tag_id = 1;
    waits->handles[0] = h;
    first->handles[0] = piece[0];
    waits->cl_arg = (void *)(intptr_t)10;
    first->cl_arg = (void *)(intptr_t)1;
    int failed = starpu_task_submit(waits);
    starpu_data_partition_submit_sequential_consistency(h, 3, piece, 0);
    failed |= starpu_task_submit(first);
    starpu_data_unpartition_submit(h, 3, piece, STARPU_MAIN_RAM);
    failed |= starpu_task_wait_for_all();
    starpu_data_partition_clean(h, 3, piece);
    starpu_data_unregister(h);
    ok(all_of(!failed, v[0] == 4 * 3 + 10, v[N - 1] == 1 * 3 + 10),
       "a switch without sequential consistency goes ahead of a task that waits for a dependency");
    starpu_tag_remove(1);
    starpu_tag_remove(2);
}

static void misuse(void)
{
    int v[N];
    starpu_data_handle_t h, piece[3], strange[3] = { NULL, NULL, NULL };
    reset(v, 1);
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)v, N, sizeof v[0]);
    starpu_data_partition_plan(h, &thirds, piece);
    starpu_data_unpartition_submit(h, 3, piece, STARPU_MAIN_RAM);
    starpu_data_partition_submit(h, 3, strange);
    starpu_data_partition_submit(h, 2, piece);
    starpu_data_partition_readwrite_upgrade_submit(h, 3, piece);
    starpu_data_unregister(h);
    is_int(starpu_data_partition_get_nplans(h), 1,
           "misuse of a plan changes nothing, and data with a plan is not unregistered");
    int failed = task(&add_cl, h, 1);
    starpu_data_partition_clean(h, 3, piece);
    starpu_data_unregister(h);
    ok(all_of(!failed, other_than(v, 4) == 0), "after which the data is used as before");
}

int main(void)
{
    alarm(60);
    runtime_start(2, NULL);
    require_workers(2);
    explicit_switches();
    automatic_switches();
    reading();
    plans_of_plans();
    read_beside_written();
    without_a_home();
    many_switches();
    out_of_order();
    misuse();
    starpu_shutdown();
    return done_testing();
}
