/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers that join and leave contexts while tasks are submitted and run, under every policy: each task runs
 * once, on a worker of its context, whoever makes the changes: threads outside, tasks, callbacks.
 * Threads: main and a second one submit; a third moves workers; so do tasks. Owns: nothing. Not here: what
 * contexts promise while nothing moves (contexts.c), policies of programs (contexts_user.c).
 */
#include <pthread.h>
#include <stdbool.h>

#include "tests/helper.h"

enum { WORKERS = 4, CONTEXTS = 3, ROUNDS = SCALED(40, 15) };

static unsigned contexts[CONTEXTS];
static atomic_int runs, outside, submitted_count;
static atomic_int busy; /* tasks of main's loop still to come */

/* Changes are made between tasks: while one runs, its worker is where it was when it took it. */
static void note_func(void *buffers[] UNUSED, void *arg)
{
    unsigned ctx = *(unsigned *)arg;
    if (!starpu_sched_ctx_contains_worker(starpu_worker_get_id(), ctx)) atomic_fetch_add(&outside, 1);
    atomic_fetch_add(&runs, 1);
}
static struct starpu_perfmodel note_model = { .type = STARPU_HISTORY_BASED, .symbol = "contexts_moves" };
static struct starpu_codelet note_cl = { .cpu_funcs = { note_func }, .name = "note", .model = &note_model };

static void move_at_random(uint64_t *seed)
{
    int worker = (int)random_below(seed, WORKERS);
    unsigned ctx = contexts[random_below(seed, CONTEXTS)];
    if (random_below(seed, 2))
        starpu_sched_ctx_add_workers(&worker, 1, ctx);
    else
        starpu_sched_ctx_remove_workers(&worker, 1, ctx);
}

static void moving_func(void *buffers[], void *arg)
{
    static _Thread_local uint64_t seed = 77;
    note_func(buffers, arg);
    if (atomic_load(&busy)) move_at_random(&seed);
}
static struct starpu_codelet moving_cl = { .cpu_funcs = { moving_func }, .name = "moving" };

static void moving_callback(void *arg UNUSED)
{
    static _Thread_local uint64_t seed = 78;
    if (atomic_load(&busy)) move_at_random(&seed);
}

static int submit_one(uint64_t *seed, bool moves)
{
    struct starpu_task *task = starpu_task_create();
    unsigned *ctx = &contexts[random_below(seed, CONTEXTS)];
    bool by_body = moves && random_below(seed, 4) == 0;
    task->cl = by_body ? &moving_cl : &note_cl;
    task->cl_arg = ctx;
    task->priority = (int)random_below(seed, 3) - 1;
    if (moves && random_below(seed, 4) == 0) task->callback_func = moving_callback;
    atomic_fetch_add(&submitted_count, 1);
    return starpu_task_submit_to_ctx(task, *ctx);
}

struct submitter {
    uint64_t seed;
    bool moves;
    int failed;
};

static void *submit_many(void *arg)
{
    struct submitter *s = arg;
    for (int i = 0; i < ROUNDS * 20; i++) {
        s->failed += submit_one(&s->seed, s->moves) != 0;
        if (i % 64 == 0) usleep(200);
    }
    return NULL;
}

static void *move_many(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    while (atomic_load(&busy)) move_at_random(&seed);
    return NULL;
}

/* A last task may still take one away: again until all have run. */
static void end_with_all(void)
{
    int all[WORKERS];
    for (int i = 0; i < WORKERS; i++) all[i] = i;
    do
        for (int i = 0; i < CONTEXTS; i++) starpu_sched_ctx_add_workers(all, WORKERS, contexts[i]);
    while (!comes_to(&runs, atomic_load(&submitted_count), 2000));
    starpu_task_wait_for_all();
}

static void storm(const char *policy, bool from_tasks, uint64_t seed)
{
    struct submitter s[2] = { { .seed = seed, .moves = from_tasks },
                              { .seed = seed + 1, .moves = from_tasks } };
    const char *who = from_tasks ? "tasks, callbacks and a thread" : "a thread";
    pthread_t second, mover;
    atomic_store(&runs, 0);
    atomic_store(&outside, 0);
    atomic_store(&submitted_count, 0);
    atomic_store(&busy, 1);
    for (int i = 0; i < CONTEXTS; i++) {
        int workers[2] = { i % WORKERS, (i + 1) % WORKERS };
        contexts[i] = starpu_sched_ctx_create(workers, 2, "storm", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
        if (contexts[i] == STARPU_NMAX_SCHED_CTXS) {
            ok(0, "%s: a context is made", policy);
            return;
        }
    }
    uint64_t mover_seed = seed + 2;
    pthread_create(&mover, NULL, move_many, &mover_seed);
    pthread_create(&second, NULL, submit_many, &s[1]);
    submit_many(&s[0]);
    pthread_join(second, NULL);
    atomic_store(&busy, 0);
    pthread_join(mover, NULL);
    end_with_all();
    is_int(s[0].failed + s[1].failed, 0, "%s, moved by %s: all tasks are taken", policy, who);
    is_int(atomic_load(&runs), atomic_load(&submitted_count), "%s, moved by %s: each runs once", policy, who);
    is_int(atomic_load(&outside), 0, "%s, moved by %s: on a worker of its context", policy, who);
    for (int i = 0; i < CONTEXTS; i++) starpu_sched_ctx_delete(contexts[i]);
    is_int(starpu_sched_ctx_get_nworkers(0), WORKERS, "%s, moved by %s: the main context has all", policy,
           who);
}

/* Contexts that come and go while others work. */
static void *come_and_go(void *arg)
{
    const char *policy = arg;
    for (int i = 0; i < ROUNDS / 3; i++) {
        int workers[2] = { i % WORKERS, (i + 1) % WORKERS };
        unsigned ctx = starpu_sched_ctx_create(workers, 2, "brief", STARPU_SCHED_CTX_POLICY_NAME, policy, 0);
        unsigned *arg_ctx = malloc(sizeof *arg_ctx);
        *arg_ctx = ctx;
        for (int k = 0; k < 20; k++) {
            struct starpu_task *task = starpu_task_create();
            task->cl = &note_cl;
            task->cl_arg = arg_ctx;
            if (starpu_task_submit_to_ctx(task, ctx) == 0) atomic_fetch_add(&submitted_count, 1);
        }
        if (i % 3 == 0) starpu_sched_ctx_remove_workers(workers, 2, ctx); /* its end is in others' hands */
        if (i % 3 == 1) starpu_sched_ctx_finished_submit(ctx);
        starpu_sched_ctx_delete(ctx);
        free(arg_ctx);
    }
    return NULL;
}

static void deletion(const char *policy)
{
    pthread_t threads[2];
    atomic_store(&runs, 0);
    atomic_store(&outside, 0);
    atomic_store(&submitted_count, 0);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, come_and_go, (void *)policy);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    is_int(atomic_load(&runs), atomic_load(&submitted_count),
           "%s: deleting waits for each task of the context", policy);
    is_int(atomic_load(&outside), 0, "%s: which ran on its workers", policy);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 42;
    alarm(170);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    runtime_start(WORKERS, NULL);
    require_workers(WORKERS);
    diag("seed %llu", (unsigned long long)seed);
    struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();
    for (unsigned i = 0; policies[i]; i++) {
        if (strncmp(policies[i]->policy_name, "modular-", 8) == 0) continue; /* the same as tree- */
        storm(policies[i]->policy_name, false, seed + i);
        storm(policies[i]->policy_name, true, seed + 100 + i);
        deletion(policies[i]->policy_name);
    }
    starpu_shutdown();
    return done_testing();
}
