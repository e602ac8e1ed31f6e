/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph_test, and the graph of tasks as a policy of the program sees it: tasks wait in a bag until the
 * program waits for something, then run by the longest path behind them; edges from data, declarations and
 * tags. Threads: main submits, in one case others too; one to three workers execute. Owns: what the bodies
 * noted. Not here: what holds for every policy (every_policy.c).
 */
#include <pthread.h>
#include <starpu_graph.h>
#include "tests/helper.h"

static atomic_int ran;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };
static struct starpu_codelet write_cl = {
    .cpu_funcs = { count_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "write"
};

static struct starpu_task *task_of(struct starpu_codelet *cl)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    return task;
}

/* ---- the bag ---- */

static void bag(void)
{
    atomic_store(&ran, 0);
    int failed = 0;
    for (int i = 0; i < 5; i++) failed |= starpu_task_submit(task_of(&count_cl));
    usleep(50000);
    ok(all_of(!failed, atomic_load(&ran) == 0), "tasks wait while the program submits");
    starpu_do_schedule();
    ok(comes_to(&ran, 5, 10000), "starpu_do_schedule lets them go");
    starpu_task_wait_for_all();
    failed = starpu_task_submit(task_of(&count_cl));
    usleep(50000);
    ok(all_of(!failed, atomic_load(&ran) == 5), "when all have ended, the next tasks wait again");
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran), 6, "until starpu_task_wait_for_all");
}

/* ---- whoever waits is not waiting for the bag ---- */

static void waits_for_task(void)
{
    struct starpu_task *two[2];
    for (int i = 0; i < 2; i++) {
        two[i] = task_of(&count_cl);
        two[i]->detach = 0;
        if (starpu_task_submit(two[i]) != 0) return;
    }
    atomic_store(&ran, 0);
    ok(all_of(starpu_task_wait(two[0]) == 0, starpu_task_wait_array(&two[1], 1) == 0),
       "starpu_task_wait does not hang");
    struct starpu_task *task = task_of(&count_cl);
    task->synchronous = 1;
    is_int(starpu_task_submit(task), 0, "a synchronous task does not hang");
}

static void waits_for_tag(void)
{
    struct starpu_task *task = task_of(&count_cl);
    task->use_tag = 1;
    task->tag_id = 77;
    ok(all_of(starpu_task_submit(task) == 0, starpu_tag_wait(77) == 0), "starpu_tag_wait does not hang");
    starpu_tag_remove(77);
}

static void waits_for_data(void)
{
    int value = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    int failed = starpu_task_insert(&write_cl, STARPU_RW, handle, 0);
    ok(all_of(!failed, starpu_data_acquire(handle, STARPU_R) == 0), "starpu_data_acquire does not hang");
    starpu_data_release(handle);
    failed = starpu_task_insert(&write_cl, STARPU_RW, handle, 0);
    starpu_data_unregister(handle);
    ok(!failed, "starpu_data_unregister does not hang");
}

static void waits_for_few(void)
{
    int failed = 0;
    for (int i = 0; i < 4; i++) failed |= starpu_task_submit(task_of(&count_cl));
    ok(all_of(!failed, starpu_task_wait_for_n_submitted(2) == 0),
       "starpu_task_wait_for_n_submitted does not hang");
    starpu_task_wait_for_all();
    starpu_set_limit_max_submitted_tasks(8);
    starpu_set_limit_min_submitted_tasks(4);
    for (int i = 0; i < 100; i++) failed |= starpu_task_submit(task_of(&count_cl));
    ok(!failed, "a limit on submitted tasks does not hang");
    starpu_set_limit_max_submitted_tasks(-1);
    starpu_set_limit_min_submitted_tasks(-1);
    starpu_task_wait_for_all();
}

static atomic_int chain_left;
static void submit_next(void *arg UNUSED)
{
    if (atomic_fetch_sub(&chain_left, 1) <= 0) return;
    struct starpu_task *task = task_of(&count_cl);
    task->callback_func = submit_next;
    if (starpu_task_submit(task) != 0) atomic_store(&chain_left, -1000);
}

static void from_callbacks(void)
{
    atomic_store(&ran, 0);
    atomic_store(&chain_left, 300);
    submit_next(NULL);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran), 300, "tasks submitted by callbacks while the program waits run at once");
}

/* One thread waits for a task that another submits when nothing else is there. */
static atomic_int waiting, thread_failed;
static void *wait_all(void *arg UNUSED)
{
    atomic_store(&waiting, 1);
    for (int i = 0; i < 200; i++) {
        starpu_task_wait_for_all();
        if (i % 8 == 0) usleep(50);
    }
    return NULL;
}

static void from_another_thread(void)
{
    pthread_t thread;
    starpu_data_handle_t handle;
    int value = 0;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    atomic_store(&ran, 0);
    pthread_create(&thread, NULL, wait_all, NULL);
    while (!atomic_load(&waiting)) sched_yield();
    for (int i = 0; i < 400; i++) {
        if (starpu_task_insert(&write_cl, STARPU_RW, handle, 0) != 0) atomic_fetch_add(&thread_failed, 1);
        if (i % 4 == 0) usleep(30);
    }
    starpu_data_unregister(handle);
    pthread_join(thread, NULL);
    starpu_task_wait_for_all();
    ok(all_of(!thread_failed, atomic_load(&ran) == 400),
       "a thread that waits already gets what another submits");
}

/* ---- priorities ---- */

enum { PLACES = 64 };
static int place_of[PLACES], priority_of[PLACES];
static atomic_int places;
static void place_func(void *buffers[] UNUSED, void *arg)
{
    int i = (int)(intptr_t)arg;
    place_of[i] = atomic_fetch_add(&places, 1);
    priority_of[i] = starpu_task_get_current()->priority;
}
static struct starpu_codelet place_cl = { .cpu_funcs = { place_func }, .name = "place" };
static struct starpu_codelet place_rw_cl = {
    .cpu_funcs = { place_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "place_rw"
};

static int put(struct starpu_codelet *cl, int i, starpu_data_handle_t handle)
{
    struct starpu_task *task = task_of(cl);
    task->cl_arg = (void *)(intptr_t)i;
    task->handles[0] = handle;
    return starpu_task_submit(task);
}

/* 0: alone. 1, 2, 3: a chain by data. 4, 5: a chain by declaration. 6, 7: by tags. */
static void priorities(void)
{
    int value = 0, failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    atomic_store(&places, 0);
    failed |= put(&place_cl, 0, NULL);
    struct starpu_task *t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = task_of(&place_cl);
        t[i]->cl_arg = (void *)(intptr_t)(4 + i);
    }
    starpu_task_declare_deps_array(t[1], 1, &t[0]);
    t[2]->use_tag = t[3]->use_tag = 1;
    t[2]->tag_id = 6;
    t[3]->tag_id = 7;
    starpu_tag_declare_deps(7, 1, (starpu_tag_t)6);
    for (int i = 0; i < 4; i++) failed |= starpu_task_submit(t[i]);
    for (int i = 1; i <= 3; i++) failed |= put(&place_rw_cl, i, handle);
    starpu_data_unregister(handle);
    starpu_task_wait_for_all();
    ok(all_of(!failed, priority_of[1] == 2, priority_of[2] == 1, priority_of[3] == 0),
       "the priority is the length of the path behind a task, by data (%d %d %d)", priority_of[1],
       priority_of[2], priority_of[3]);
    ok(all_of(priority_of[4] == 1, priority_of[5] == 0), "by declared dependencies (%d %d)", priority_of[4],
       priority_of[5]);
    ok(all_of(priority_of[6] == 1, priority_of[7] == 0), "by tags (%d %d)", priority_of[6], priority_of[7]);
    ok(all_of(place_of[1] == 0, place_of[0] > place_of[4], place_of[0] > place_of[6]),
       "on one worker the longest path goes first, though it was submitted last");
    starpu_tag_remove(6);
    starpu_tag_remove(7);
}

/* ---- a random graph, against what follows from the modes ---- */

enum { TASKS = 60, HANDLES = 5 };
static int waits[TASKS][TASKS], longest[TASKS], behind[TASKS], shown_depth[TASKS], shown_descendants[TASKS],
    shown;
static struct starpu_task *random_task[TASKS];

static void order_oracle(int used[TASKS][HANDLES])
{
    memset(waits, 0, sizeof waits);
    for (int i = 0; i < TASKS; i++)
        for (int k = 0; k < i; k++)
            for (int h = 0; h < HANDLES; h++)
                if (used[i][h] && used[k][h] && (used[i][h] == 2 || used[k][h] == 2)) waits[i][k] = 1;
}

static void close_oracle(void)
{
    for (int i = 0; i < TASKS; i++) { /* tasks wait for earlier ones only */
        for (int k = 0; k < i; k++)
            for (int m = 0; waits[i][k] && m < k; m++) waits[i][m] |= waits[k][m];
        longest[i] = behind[i] = 0;
    }
    for (int k = TASKS - 1; k >= 0; k--)
        for (int i = k + 1; i < TASKS; i++) {
            if (!waits[i][k]) continue;
            behind[k]++;
            if (longest[k] < longest[i] + 1) longest[k] = longest[i] + 1;
        }
}

static void show(void *data UNUSED, struct _starpu_graph_node *node)
{
    shown++;
    for (int i = 0; i < TASKS; i++)
        if (random_task[i] == node->task) {
            shown_depth[i] = (int)node->depth;
            shown_descendants[i] = (int)node->descendants;
        }
}

static struct starpu_codelet any_cl = { .cpu_funcs = { count_func },
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "any" };

static void random_graph(uint64_t seed)
{
    int used[TASKS][HANDLES], values[HANDLES] = { 0 }, failed = 0;
    unsigned long long first_seed = seed;
    starpu_data_handle_t handles[HANDLES];
    for (int h = 0; h < HANDLES; h++)
        starpu_variable_data_register(&handles[h], STARPU_MAIN_RAM, (uintptr_t)&values[h], sizeof values[h]);
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *task = random_task[i] = task_of(&any_cl);
        task->nbuffers = 0;
        for (int h = 0; h < HANDLES; h++) {
            used[i][h] = random_below(&seed, 3) ? 0 : 1 + (int)random_below(&seed, 2);
            if (!used[i][h]) continue;
            task->handles[task->nbuffers] = handles[h];
            task->modes[task->nbuffers++] = used[i][h] == 2 ? STARPU_RW : STARPU_R;
        }
    }
    order_oracle(used);
    for (int i = 1; i < TASKS; i += 3) { /* and some that were declared */
        int k = (int)random_below(&seed, (unsigned)i);
        starpu_task_declare_deps_array(random_task[i], 1, &random_task[k]);
        waits[i][k] = 1;
    }
    for (int i = 0; i < TASKS; i++) failed |= starpu_task_submit(random_task[i]);
    close_oracle();
    _starpu_graph_compute_depths();
    _starpu_graph_compute_descendants();
    shown = 0;
    _starpu_graph_foreach(show, NULL);
    int wrong = 0;
    for (int i = 0; i < TASKS; i++)
        wrong += shown_depth[i] != longest[i] || shown_descendants[i] != behind[i];
    ok(all_of(!failed, shown == TASKS, wrong == 0),
       "seed %llu: depths and descendants of %d random tasks are right", first_seed, TASKS);
    for (int h = 0; h < HANDLES; h++) starpu_data_unregister(handles[h]);
    starpu_task_wait_for_all();
    shown = 0;
    _starpu_graph_foreach(show, NULL);
    is_int(shown, 0, "nothing is left when they have ended");
}

/* ---- a task that is submitted again ---- */

static void again(void)
{
    struct starpu_task *first = task_of(&place_cl), *second = task_of(&place_cl);
    int failed = 0;
    first->detach = first->destroy = second->detach = second->destroy = 0;
    first->cl_arg = (void *)0;
    second->cl_arg = (void *)1;
    starpu_task_declare_deps_array(second, 1, &first);
    for (int round = 0; round < 3; round++) {
        priority_of[0] = -1;
        failed |= starpu_task_submit(first) | starpu_task_submit(second);
        failed |= starpu_task_wait(second) | starpu_task_wait(first);
        failed |= priority_of[0] != 1;
    }
    ok(!failed, "tasks that are submitted again keep their declared edges");
    starpu_task_destroy(second);
    starpu_task_destroy(first);
}

/* ---- tasks that nothing was connected with when they were submitted ---- */

static struct starpu_task *kept(int place)
{
    struct starpu_task *task = task_of(&place_cl);
    task->detach = task->destroy = 0;
    task->cl_arg = (void *)(intptr_t)place;
    return task;
}

static void connected_later(void)
{
    struct starpu_task *first = kept(0), *second = kept(1), *third = kept(2);
    int failed = 0;
    atomic_store(&places, 0);
    failed |= put(&place_cl, 3, NULL) | starpu_task_submit(first);
    shown = 0;
    _starpu_graph_foreach(show, NULL);
    is_int(shown, 0, "graph_test does without nodes of tasks that are alone");
    starpu_task_declare_deps_array(second, 1, &first);
    starpu_task_declare_deps_array(third, 1, &second);
    failed |= starpu_task_submit(second) | starpu_task_submit(third);
    shown = 0;
    _starpu_graph_foreach(show, NULL);
    is_int(shown, 3, "one gets a node when another is declared to wait for it");
    starpu_task_wait_for_all();
    ok(all_of(!failed, priority_of[0] == 2, priority_of[1] == 1, place_of[3] > place_of[0]),
       "and its priority by it (%d %d)", priority_of[0], priority_of[1]);
    priority_of[0] = -1;
    failed |= starpu_task_submit(first) | starpu_task_submit(second) | starpu_task_submit(third);
    starpu_task_wait_for_all();
    ok(all_of(!failed, priority_of[0] == 2), "also when it is submitted again (%d)", priority_of[0]);
    starpu_task_destroy(third);
    starpu_task_destroy(second);
    starpu_task_destroy(first);
}

/* While prerequisites are running and ending. */
static void connected_meanwhile(void)
{
    enum { ROUNDS = 3000 };
    int failed = 0;
    atomic_store(&ran, 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct starpu_task *before = task_of(&count_cl), *after[2];
        before->detach = before->destroy = 0;
        failed |= starpu_task_submit(before);
        if (i % 2) starpu_do_schedule();
        for (int k = 0; k < 2; k++) {
            after[k] = task_of(&count_cl);
            starpu_task_declare_deps_array(after[k], 1, &before);
            failed |= starpu_task_submit(after[k]);
        }
        failed |= starpu_task_wait(before);
        starpu_task_destroy(before);
    }
    starpu_task_wait_for_all();
    shown = 0;
    _starpu_graph_foreach(show, NULL);
    ok(all_of(!failed, atomic_load(&ran) == 3 * ROUNDS, shown == 0),
       "tasks declared to wait for those that are ending: each runs, no node is left (%d)", shown);
}

/* ---- a policy of the program ---- */

static struct starpu_task *own_list;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int own_open, own_edges, own_shown;

static void own_init(unsigned context UNUSED)
{
    _starpu_graph_record = 1;
}
static void own_look(void *data, struct _starpu_graph_node *node)
{
    (*(int *)data)++;
    atomic_fetch_add(&own_edges, (int)node->n_outgoing);
    node->task->priority = (int)node->depth;
}
static void own_do_schedule(unsigned context UNUSED)
{
    int count = 0;
    _starpu_graph_compute_depths();
    atomic_store(&own_edges, 0);
    _starpu_graph_foreach(own_look, &count);
    if (count) atomic_store(&own_shown, count);
    atomic_store(&own_open, 1);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) starpu_wake_worker_relax_light((int)i);
}
static int own_push(struct starpu_task *task)
{
    pthread_mutex_lock(&own_lock);
    task->next = own_list;
    own_list = task;
    starpu_push_task_end(task); /* once it is unlocked the task may run, and be gone */
    pthread_mutex_unlock(&own_lock);
    for (unsigned i = 0; i < starpu_worker_get_count(); i++) starpu_wake_worker_relax_light((int)i);
    return 0;
}
static struct starpu_task *own_pop(unsigned context UNUSED)
{
    struct starpu_task *task = NULL;
    starpu_worker_relax_on();
    pthread_mutex_lock(&own_lock);
    starpu_worker_relax_off();
    if (atomic_load(&own_open) && own_list) {
        task = own_list;
        own_list = task->next;
    }
    pthread_mutex_unlock(&own_lock);
    return task;
}
static struct starpu_sched_policy own = { .init_sched = own_init,
                                          .push_task = own_push,
                                          .pop_task = own_pop,
                                          .do_schedule = own_do_schedule,
                                          .policy_name = "own" };

static void own_policy(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.sched_policy = &own;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) return;
    int value = 0, failed = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    atomic_store(&ran, 0);
    for (int i = 0; i < 10; i++) failed |= starpu_task_insert(&write_cl, STARPU_RW, handle, 0);
    struct starpu_task *task = task_of(&count_cl);
    task->detach = 0;
    failed |= starpu_task_submit(task);
    failed |= starpu_task_wait(task);
    ok(all_of(!failed, atomic_load(&own_shown) == 11),
       "a program's policy sees all tasks when a thread waits for one (%d)", atomic_load(&own_shown));
    starpu_data_unregister(handle);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran), 11, "each of them runs");
    starpu_shutdown();
    is_int(_starpu_graph_record, 0, "recording ends with the runtime");
}

static void off(void)
{
    runtime_start(1, "eager");
    struct gate gate = { 0 };
    gate_close(&gate, 0);
    int failed = starpu_task_submit(task_of(&count_cl));
    shown = 0;
    _starpu_graph_foreach(show, NULL);
    ok(all_of(!failed, shown == 0), "nothing is recorded unless a policy asks for it");
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
}

/* ---- contexts ---- */

static void changing(void)
{
    runtime_start(3, "eager");
    require_workers(3);
    int one[1] = { 2 }, failed = 0;
    unsigned context =
        starpu_sched_ctx_create(one, 1, "graph", STARPU_SCHED_CTX_POLICY_NAME, "graph_test", 0);
    atomic_store(&ran, 0);
    for (int i = 0; i < 20; i++) failed |= starpu_task_submit_to_ctx(task_of(&count_cl), context);
    usleep(30000);
    is_int(atomic_load(&ran), 0, "in a context of its own, too, tasks wait in the bag");
    starpu_task_wait_for_all_in_ctx(context);
    ok(all_of(!failed, atomic_load(&ran) == 20), "until somebody waits for the context");
    for (int i = 0; i < 20; i++) failed |= starpu_task_submit_to_ctx(task_of(&count_cl), context);
    starpu_sched_ctx_delete(context);
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&ran) == 40), "or it is deleted");
    starpu_shutdown();
}

int main(void)
{
    alarm(120);
    off();
    runtime_start(2, "graph_test");
    bag();
    waits_for_task();
    waits_for_tag();
    waits_for_data();
    waits_for_few();
    from_callbacks();
    from_another_thread();
    connected_meanwhile();
    starpu_shutdown();
    _starpu_graph_record = 1;
    runtime_start(2, "graph_test");
    for (uint64_t seed = 1; seed <= 5; seed++) random_graph(seed);
    starpu_shutdown();
    runtime_start(1, "graph_test");
    priorities();
    again();
    connected_later();
    starpu_shutdown();
    own_policy();
    changing();
    return done_testing();
}
