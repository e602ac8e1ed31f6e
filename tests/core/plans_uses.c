/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way of using planned data switches its plan as a task does: requests of copies, acquisitions of all
 * kinds, copies from data to data, invalidations, tasks without sequential consistency, jobs of lists. Two
 * threads may use a parent and its pieces at the same time, and plan and clean it meanwhile.
 * Threads: main and a second one submit; workers execute. Owns: the partitioned data. Not here: what the
 * public functions of plans do (data_plans.c), messages (tests/mpi/plans.c), devices (plans_devices.c).
 */
#include <orrery.h>
#include <pthread.h>
#include "tests/helper.h"

enum { N = 24, PIECES = 3 };

static struct starpu_data_filter thirds = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
static struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };

static void add_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) v[i] += (int)(intptr_t)arg;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static atomic_int surprises, reads;
static void expect_func(void *buffers[], void *arg)
{
    int *v = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        if (v[i] != (int)(intptr_t)arg) atomic_fetch_add(&surprises, 1);
    atomic_fetch_add(&reads, 1);
}
static struct starpu_codelet expect_cl = {
    .cpu_funcs = { expect_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "expect"
};

static void held_func(void *buffers[] UNUSED, void *arg)
{
    gate_pass(arg);
}
static struct starpu_codelet held_cl = {
    .cpu_funcs = { held_func }, .nbuffers = 1, .modes = { STARPU_R }, .name = "held"
};

static struct starpu_task *make(struct starpu_codelet *cl, starpu_data_handle_t h, void *arg)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->cl_arg = arg;
    t->handles[0] = h;
    return t;
}

static int task(struct starpu_codelet *cl, starpu_data_handle_t h, int value)
{
    return starpu_task_submit(make(cl, h, (void *)(intptr_t)value));
}

static int other_than(const int *v, int want)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += v[i] != want;
    return wrong;
}

/* A vector of ones in three pieces, whose parent was used last (value 2) or its pieces (value 3). */
struct planned {
    int v[N];
    starpu_data_handle_t h, piece[PIECES];
};

static int begin(struct planned *p, int pieces_last)
{
    int failed = 0;
    for (int i = 0; i < N; i++) p->v[i] = 1;
    starpu_vector_data_register(&p->h, STARPU_MAIN_RAM, (uintptr_t)p->v, N, sizeof p->v[0]);
    starpu_data_partition_plan(p->h, &thirds, p->piece);
    failed |= task(&add_cl, p->h, 1);
    for (int i = 0; i < PIECES && pieces_last; i++) failed |= task(&add_cl, p->piece[i], 1);
    return failed;
}

static void end(struct planned *p)
{
    starpu_data_partition_clean(p->h, PIECES, p->piece);
    starpu_data_unregister(p->h);
}

static void requests(void)
{
    struct planned p;
    int failed = begin(&p, 0);
    failed |= starpu_data_fetch_on_node(p.piece[1], STARPU_MAIN_RAM, 0);
    ok(!failed, "fetching a piece whose parent was used last returns");
    failed |= task(&add_cl, p.h, 1);
    end(&p);
    ok(all_of(!failed, other_than(p.v, 3) == 0), "and the parent goes on with its value");

    failed = begin(&p, 1);
    failed |= starpu_data_fetch_on_node(p.h, STARPU_MAIN_RAM, 0);
    ok(all_of(!failed, other_than(p.v, 3) == 0),
       "fetching a parent whose pieces were used last puts it together");
    failed |= starpu_data_fetch_on_node(p.piece[0], STARPU_MAIN_RAM, 1);
    failed |= starpu_data_fetch_on_node(p.h, STARPU_MAIN_RAM, 1);
    failed |= starpu_data_prefetch_on_node(p.piece[2], STARPU_MAIN_RAM, 0);
    failed |= starpu_data_prefetch_on_node(p.h, STARPU_MAIN_RAM, 1);
    starpu_data_wont_use(p.piece[0]);
    failed |= task(&add_cl, p.piece[0], 0);
    end(&p);
    ok(all_of(!failed, other_than(p.v, 3) == 0),
       "requests that do not wait switch as well, and the data can end");
}

static atomic_int called;
static starpu_data_handle_t acquired;
static void called_back(void *arg UNUSED)
{
    atomic_fetch_add(&called, 1);
    starpu_data_release(acquired);
}

static int acquire_try(starpu_data_handle_t h)
{
    int r = -EAGAIN;
    for (int i = 0; i < 20000 && r == -EAGAIN; i++) {
        r = starpu_data_acquire_try(h, STARPU_RW);
        if (r == -EAGAIN) usleep(100);
    }
    return r;
}

static void acquisitions(void)
{
    struct planned p;
    int failed = begin(&p, 0);
    failed |= starpu_data_acquire(p.piece[1], STARPU_RW);
    ((int *)starpu_data_get_local_ptr(p.piece[1]))[0] += 10;
    starpu_data_release(p.piece[1]);
    failed |= starpu_data_acquire(p.h, STARPU_R);
    ok(all_of(!failed, p.v[N / 3] == 12), "an acquired piece, then its parent, have the values before them");
    starpu_data_release(p.h);

    atomic_store(&called, 0);
    acquired = p.piece[2];
    failed |= starpu_data_acquire_cb(p.piece[2], STARPU_RW, called_back, NULL);
    ok(all_of(!failed, comes_to(&called, 1, 20000)), "a piece is acquired with a callback after its parent");
    acquired = p.h;
    failed |= starpu_data_acquire_cb_sequential_consistency(p.h, STARPU_R, called_back, NULL, 0);
    ok(all_of(!failed, comes_to(&called, 2, 20000)), "a parent is acquired out of order after its pieces");
    failed |= acquire_try(p.piece[0]);
    ok(!failed, "trying to acquire a piece succeeds once the parent is free");
    starpu_data_release(p.piece[0]);
    failed |= acquire_try(p.h);
    ok(!failed, "and trying the parent once its pieces are");
    starpu_data_release(p.h);
    end(&p);
}

static void copies(void)
{
    struct planned p, q;
    int failed = begin(&p, 0) | begin(&q, 1);
    failed |= starpu_data_cpy(q.piece[1], p.piece[1], 0, NULL, NULL);
    failed |= starpu_data_cpy(p.h, q.h, 0, NULL, NULL);
    end(&p);
    end(&q);
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += p.v[i] != (i / (N / PIECES) == 1 ? 2 : 3) || q.v[i] != p.v[i];
    ok(all_of(!failed, wrong == 0), "starpu_data_cpy between pieces, then between their parents");
}

static void given_up(void)
{
    struct planned p;
    int failed = begin(&p, 1);
    starpu_data_invalidate_submit(p.h);
    failed |= starpu_data_acquire(p.h, STARPU_W);
    for (int i = 0; i < N; i++) p.v[i] = 5;
    starpu_data_release(p.h);
    failed |= task(&add_cl, p.piece[0], 0);
    starpu_data_invalidate(p.piece[0]);
    failed |= starpu_data_acquire(p.piece[0], STARPU_W);
    for (int i = 0; i < N / PIECES; i++) p.v[i] = 5;
    starpu_data_release(p.piece[0]);
    end(&p);
    ok(all_of(!failed, other_than(p.v, 5) == 0), "a parent, then a piece, are given up and written anew");
}

static void piece_unregistered(void)
{
    struct planned p;
    int failed = begin(&p, 1);
    starpu_data_unregister(p.piece[0]);
    starpu_data_unregister_submit(p.piece[1]);
    starpu_data_unregister_no_coherency(p.piece[2]);
    for (int i = 0; i < PIECES; i++) failed |= task(&add_cl, p.piece[i], 1);
    end(&p);
    ok(all_of(!failed, other_than(p.v, 4) == 0), "a piece is not unregistered before its plan is cleaned");
}

static void unregistered_in_order(void)
{
    struct planned p;
    int failed = begin(&p, 1);
    starpu_data_partition_clean(p.h, PIECES, p.piece);
    starpu_data_unregister_submit(p.h);
    starpu_task_wait_for_all();
    while (starpu_data_lookup(p.v)) sched_yield(); /* pieces on devices may still be on their way */
    ok(all_of(!failed, other_than(p.v, 3) == 0),
       "a parent whose plan was cleaned is unregistered in the order of submission");
}

/* ---- out of order, and in lists ---- */

static void without_order(void)
{
    struct planned p;
    struct gate gate = { 0, 0 };
    int failed = begin(&p, 0), last = 0;
    failed |= starpu_task_submit(make(&held_cl, p.piece[0], &gate));
    gate_wait_entered(&gate, 1);
    for (int i = 0; i < 100; i++) {
        struct starpu_task *t = make(&add_cl, i % 2 ? p.h : p.piece[i % PIECES], (void *)(intptr_t)1);
        t->sequential_consistency = 0;
        failed |= starpu_task_submit(t);
    }
    gate_open(&gate);
    starpu_task_wait_for_all();
    end(&p);
    for (int i = 0; i < N; i += N / PIECES) last += p.v[i] - 2;
    ok(all_of(!failed, last == 50 * PIECES + 50),
       "tasks without sequential consistency on a parent and its pieces all run, one at a time");
}

static void cleaned_before(void)
{
    struct planned p;
    struct gate gate = { 0, 0 };
    int failed = begin(&p, 0);
    struct starpu_task *first = starpu_task_create();
    first->cl = &gate_cl;
    first->cl_arg = &gate;
    first->destroy = 0;
    failed |= starpu_task_submit(first);
    for (int i = 0; i < PIECES; i++) {
        struct starpu_task *t = make(&add_cl, p.piece[i], (void *)(intptr_t)1);
        t->sequential_consistency = 0;
        starpu_task_declare_deps_array(t, 1, &first);
        failed |= starpu_task_submit(t);
    }
    gate_wait_entered(&gate, 1);
    starpu_data_partition_clean(p.h, PIECES, p.piece);
    gate_open(&gate);
    starpu_data_unregister(p.h);
    starpu_task_wait_for_all();
    starpu_task_destroy(first);
    ok(all_of(!failed, other_than(p.v, 3) == 0),
       "a cleaned plan waits for tasks without sequential consistency that are not ready yet");
}

static void in_lists(void)
{
    struct planned p;
    struct orrery_joblist *list = orrery_joblist_create("pieces", 0);
    int failed = begin(&p, 0), want = 2;
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < PIECES; k++)
            failed |= orrery_joblist_add_job(list, make(&add_cl, p.piece[k], (void *)(intptr_t)i));
        failed |= orrery_joblist_add_job(list, make(&expect_cl, p.h, (void *)(intptr_t)(want += i)));
    }
    orrery_joblist_wait_for_all(list);
    orrery_joblist_destroy(list);
    end(&p);
    ok(all_of(!failed, other_than(p.v, want) == 0, atomic_load(&surprises) == 0),
       "jobs of a list switch between a parent and its pieces");
}

/* ---- switched to reading, off, and to reading again while readers are at work ---- */

static void reading_again(void)
{
    enum { TIMES = 2000 };
    struct planned p;
    struct gate gate = { 0, 0 };
    int failed = begin(&p, 0);
    atomic_store(&surprises, 0);
    atomic_store(&reads, 0);
    failed |= starpu_task_submit(make(&held_cl, p.piece[0], &gate));
    gate_wait_entered(&gate, 1);
    for (int round = 0; round < TIMES; round++) {
        failed |= task(&expect_cl, p.piece[round % PIECES], 2);
        failed |= task(&expect_cl, p.h, 2);
        starpu_data_unpartition_submit(p.h, PIECES, p.piece, -1);
        starpu_data_partition_readonly_submit(p.h, PIECES, p.piece);
    }
    starpu_data_unpartition_submit(p.h, PIECES, p.piece, -1);
    failed |= task(&add_cl, p.h, 1);
    rest_but(1);
    int waits = p.v[0] == 2;
    gate_open(&gate);
    starpu_task_wait_for_all();
    ok(all_of(!failed, waits),
       "a write of the parent waits for a reader of a piece, however often it was switched");
    end(&p);
    ok(all_of(other_than(p.v, 3) == 0, atomic_load(&surprises) == 0, atomic_load(&reads) == 2 * TIMES),
       "switched to reading, off and to reading again, all readers see the value");
}

/* ---- two threads ---- */

enum { ROUNDS = SCALED(20000, 4000) };

struct submitter {
    struct planned *p;
    pthread_barrier_t *start;
    int failed;
};

static void *use_pieces(void *arg)
{
    struct submitter *s = arg;
    pthread_barrier_wait(s->start);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < PIECES; k++) s->failed |= task(&add_cl, s->p->piece[k], 1);
    return NULL;
}

static void two_threads(void)
{
    struct planned p;
    pthread_barrier_t start;
    struct submitter s = { &p, &start, 0 };
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    int failed = begin(&p, 0);
    failed |= pthread_create(&thread, NULL, use_pieces, &s);
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++) {
        failed |= task(&add_cl, p.h, 1);
        if (i % 64 == 0) failed |= starpu_data_fetch_on_node(p.piece[0], STARPU_MAIN_RAM, 1);
    }
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    ok(1, "two threads use a parent and its pieces: every task runs");
    end(&p);
    ok(all_of(!failed, !s.failed, other_than(p.v, 2 + 2 * ROUNDS) == 0), "and none of their values is lost");
}

static void *plan_and_look(void *arg)
{
    struct submitter *s = arg;
    starpu_data_handle_t half[2];
    pthread_barrier_wait(s->start);
    for (int i = 0; i < ROUNDS; i++) {
        starpu_data_partition_plan(s->p->h, &halves, half);
        s->failed |= task(&add_cl, half[0], 1);
        s->failed |= task(&add_cl, half[1], 1);
        starpu_data_partition_clean(s->p->h, 2, half);
    }
    return NULL;
}

static void planned_meanwhile(void)
{
    struct planned p;
    pthread_barrier_t start;
    struct submitter s[2] = { { &p, &start, 0 }, { &p, &start, 0 } };
    pthread_t thread[2];
    int failed = 0;
    pthread_barrier_init(&start, NULL, 3);
    for (int i = 0; i < N; i++) p.v[i] = 0;
    starpu_vector_data_register(&p.h, STARPU_MAIN_RAM, (uintptr_t)p.v, N, sizeof p.v[0]);
    for (int i = 0; i < 2; i++) failed |= pthread_create(&thread[i], NULL, plan_and_look, &s[i]);
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++) failed |= task(&add_cl, p.h, 1);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    starpu_task_wait_for_all();
    starpu_data_unregister(p.h);
    ok(all_of(!failed, !s[0].failed, !s[1].failed, other_than(p.v, 3 * ROUNDS) == 0),
       "two threads plan, use and clean pieces of data that a third one uses as a whole");
}

/* ---- looked up meanwhile ---- */

enum { SWITCHES = SCALED(300, 100), VALUES = 8 };
static int looked_up[VALUES];
static atomic_int switched, unknown;

static void *look_up(void *arg UNUSED)
{
    while (!switched) {
        unknown += starpu_data_lookup(&looked_up[0]) == NULL;
        starpu_data_lookup(&looked_up[VALUES / 2]); /* is there while it is partitioned */
    }
    return NULL;
}

static void looked_up_meanwhile(void)
{
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = 4 };
    starpu_data_handle_t h;
    pthread_t thread;
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)looked_up, VALUES, sizeof(int));
    pthread_create(&thread, NULL, look_up, NULL);
    for (int i = 0; i < SWITCHES; i++) {
        starpu_data_partition(h, &f);
        starpu_data_unpartition(h, STARPU_MAIN_RAM);
    }
    switched = 1;
    pthread_join(thread, NULL);
    starpu_data_unregister(h);
    is_int(unknown, 0, "data is found by its address while another thread partitions it");
}

int main(void)
{
    alarm(60);
    runtime_start(2, NULL);
    require_workers(2);
    requests();
    acquisitions();
    copies();
    given_up();
    piece_unregistered();
    unregistered_in_order();
    without_order();
    cleaned_before();
    in_lists();
    reading_again();
    two_threads();
    planned_meanwhile();
    looked_up_meanwhile();
    starpu_shutdown();
    return done_testing();
}
