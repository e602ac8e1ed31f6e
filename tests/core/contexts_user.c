/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts with a policy of the program: its methods see workers come and go one by one and never while they
 * walk the collection; workers of such a context and of one with a built-in policy miss no task of either.
 * Threads: main and a second one submit, a third moves workers. Owns: the policy's list and mutex.
 * Not here: the rest of the contract (tests/sched/user_policy.c).
 */
#include <pthread.h>
#include <stdbool.h>

#include "tests/helper.h"

enum { WORKERS = 4, TASKS = 2000 };

struct mine {
    starpu_pthread_mutex_t mutex;
    struct starpu_task_list list;
    bool member[STARPU_NMAXWORKERS]; /* as add_workers and remove_workers say; nothing protects it but the
                                        contract */
    int nmembers;
    atomic_int inside; /* threads in push_task */
};
static atomic_int disturbed, differs, unlocked;

static struct mine *of(unsigned ctx)
{
    return starpu_sched_ctx_get_policy_data(ctx);
}

static void init_mine(unsigned ctx)
{
    struct mine *m = calloc(1, sizeof *m);
    starpu_pthread_mutex_init(&m->mutex, NULL);
    starpu_task_list_init(&m->list);
    starpu_sched_ctx_set_policy_data(ctx, m);
}

static void deinit_mine(unsigned ctx)
{
    struct mine *m = of(ctx);
    starpu_pthread_mutex_destroy(&m->mutex);
    free(m);
}

static void change(unsigned ctx, int *workers, unsigned n, bool member)
{
    struct mine *m = of(ctx);
    if (atomic_load(&m->inside) > 0) atomic_fetch_add(&disturbed, 1);
    for (unsigned i = 0; i < n; i++) {
        m->member[workers[i]] = member;
        m->nmembers += member ? 1 : -1;
    }
}
static void add_mine(unsigned ctx, int *workers, unsigned n)
{
    change(ctx, workers, n, true);
}
static void remove_mine(unsigned ctx, int *workers, unsigned n)
{
    change(ctx, workers, n, false);
}

/* Walks the collection, which must be what add_workers and remove_workers said. */
static int walk(unsigned ctx, bool wake)
{
    struct starpu_worker_collection *workers = starpu_sched_ctx_get_worker_collection(ctx);
    struct starpu_sched_ctx_iterator it;
    struct mine *m = of(ctx);
    int n = 0;
    workers->init_iterator(workers, &it);
    while (workers->has_next(workers, &it)) {
        int worker = workers->get_next(workers, &it);
        n++;
        if (!m->member[worker]) atomic_fetch_add(&differs, 1);
        if (wake && n % 2) {
            starpu_wake_worker_relax(worker);
        } else if (wake) { /* as old programs do */
            starpu_pthread_mutex_t *mutex;
            starpu_pthread_cond_t *cond;
            starpu_worker_get_sched_condition(worker, &mutex, &cond);
            starpu_worker_relax_on();
            starpu_pthread_mutex_lock(mutex);
            starpu_pthread_cond_signal(cond);
            starpu_pthread_mutex_unlock(mutex);
            starpu_worker_relax_off();
        }
    }
    if (n != m->nmembers) atomic_fetch_add(&differs, 1);
    return n;
}

static int push_mine(struct starpu_task *task)
{
    struct mine *m = of(task->sched_ctx);
    unsigned ctx = task->sched_ctx;
    atomic_fetch_add(&m->inside, 1);
    starpu_pthread_mutex_lock(&m->mutex);
    starpu_task_list_push_back(&m->list, task);
    starpu_push_task_end(task);
    starpu_pthread_mutex_unlock(&m->mutex);
    walk(ctx, true);
    atomic_fetch_sub(&m->inside, 1);
    return 0;
}

static struct starpu_task *pop_mine(unsigned ctx)
{
    struct mine *m = of(ctx);
    struct starpu_task *task = NULL;
    starpu_pthread_mutex_t *mutex;
    starpu_pthread_cond_t *cond;
    starpu_worker_get_sched_condition(starpu_worker_get_id(), &mutex, &cond);
    if (starpu_pthread_mutex_trylock(mutex) == 0) atomic_fetch_add(&unlocked, 1);
    starpu_pthread_mutex_lock(&m->mutex);
    if (!starpu_task_list_empty(&m->list)) task = starpu_task_list_pop_front(&m->list);
    starpu_pthread_mutex_unlock(&m->mutex);
    return task;
}

static void pre_exec_mine(struct starpu_task *task, unsigned ctx)
{
    if (task->sched_ctx != ctx || of(ctx) == NULL) atomic_fetch_add(&differs, 1);
    walk(ctx, false);
}

static struct starpu_sched_policy mine = { .init_sched = init_mine,
                                           .deinit_sched = deinit_mine,
                                           .add_workers = add_mine,
                                           .remove_workers = remove_mine,
                                           .push_task = push_mine,
                                           .pop_task = pop_mine,
                                           .pre_exec_hook = pre_exec_mine,
                                           .policy_name = "mine",
                                           .worker_type = STARPU_WORKER_LIST };

static atomic_int runs, outside, stop;
static unsigned contexts[3];

static void note_func(void *buffers[] UNUSED, void *arg)
{
    if (!starpu_sched_ctx_contains_worker(starpu_worker_get_id(), *(unsigned *)arg))
        atomic_fetch_add(&outside, 1);
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet note_cl = { .cpu_funcs = { note_func }, .name = "note" };

static void submit(unsigned *ctx)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &note_cl;
    task->cl_arg = ctx;
    if (starpu_task_submit_to_ctx(task, *ctx) != 0) ok(0, "a task is taken");
}

static void *submit_many(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    for (int i = 0; i < TASKS; i++) {
        submit(&contexts[random_below(&seed, LENGTH(contexts))]);
        if (i % 16 == 0) usleep(100);
    }
    return NULL;
}

static void *move_many(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    while (!atomic_load(&stop)) {
        int worker = (int)random_below(&seed, WORKERS);
        unsigned ctx = contexts[random_below(&seed, LENGTH(contexts))];
        if (random_below(&seed, 2))
            starpu_sched_ctx_add_workers(&worker, 1, ctx);
        else
            starpu_sched_ctx_remove_workers(&worker, 1, ctx);
    }
    return NULL;
}

static void storm(uint64_t seed)
{
    pthread_t submitter, mover;
    int all[WORKERS] = { 0, 1, 2, 3 };
    uint64_t seeds[3] = { seed, seed + 1, seed + 2 };
    for (int i = 0; i < 2; i++)
        contexts[i] = starpu_sched_ctx_create(all, 3, "mine", STARPU_SCHED_CTX_POLICY_STRUCT, &mine, 0);
    contexts[2] = starpu_sched_ctx_create(&all[1], 3, "built in", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    atomic_store(&stop, 0);
    pthread_create(&mover, NULL, move_many, &seeds[0]);
    pthread_create(&submitter, NULL, submit_many, &seeds[1]);
    submit_many(&seeds[2]);
    pthread_join(submitter, NULL);
    atomic_store(&stop, 1);
    pthread_join(mover, NULL);
    for (unsigned i = 0; i < LENGTH(contexts); i++) starpu_sched_ctx_add_workers(all, WORKERS, contexts[i]);
    starpu_task_wait_for_all();
    is_int(atomic_load(&runs), 2 * TASKS, "with workers coming and going each task runs once");
    is_int(atomic_load(&outside), 0, "on a worker of its context");
    is_int(atomic_load(&disturbed), 0, "no worker comes or goes while a method runs");
    is_int(atomic_load(&differs), 0, "and the collection is as add_workers and remove_workers said");
    is_int(atomic_load(&unlocked), 0, "pop_task has its worker's mutex");
}

/* One worker sleeps for three contexts; each task must wake it. */
static void no_wake_up_is_lost(void)
{
    int one = 1, three[3] = { 0, 2, 3 };
    for (unsigned i = 0; i < LENGTH(contexts); i++) starpu_sched_ctx_remove_workers(three, 3, contexts[i]);
    int before = atomic_load(&runs), lost = 0;
    for (int i = 0; i < 300; i++) {
        submit(&contexts[i % 3]);
        if (i % 7 == 0) usleep(1000);
        if (!comes_to(&runs, before + i + 1, 20000)) lost++;
    }
    is_int(lost, 0, "a worker that sleeps for several contexts is woken for each");
    starpu_sched_ctx_set_priority(&one, 1, contexts[2], 5);
    submit(&contexts[0]);
    submit(&contexts[2]);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < LENGTH(contexts); i++) starpu_sched_ctx_delete(contexts[i]);
    is_int(starpu_sched_ctx_get_nworkers(0), WORKERS, "all end");
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 42;
    alarm(100);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    runtime_start(WORKERS, NULL);
    require_workers(WORKERS);
    diag("seed %llu", (unsigned long long)seed);
    storm(seed);
    no_wake_up_is_lost();
    starpu_shutdown();
    return done_testing();
}
