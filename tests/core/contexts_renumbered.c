/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of contexts are used again: who still holds one of a context that is gone gets an error or the new
 * one, never half of either; lists of members do not pile up. Threads: main makes and deletes contexts,
 * others add workers to their numbers; workers execute. Owns: nothing. Not here: changes of contexts that
 * stay (contexts_moves.c).
 */
#include <malloc.h>
#include <pthread.h>

#include <starpu_sched_component.h>

#include "tests/helper.h"

enum { WORKERS = 4, ROUNDS = 300 };

static _Atomic unsigned number;
static atomic_int stop, ran;

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void *add_for_ever(void *arg)
{
    int workers[2] = { (int)(intptr_t)arg, 3 };
    while (!atomic_load(&stop)) {
        unsigned id = atomic_load(&number);
        starpu_sched_ctx_add_workers(workers, 2, id);
        starpu_sched_ctx_set_priority(workers, 1, id, 1);
        starpu_sched_ctx_remove_workers(workers, 1, id);
    }
    return NULL;
}

/* Two threads add workers to the number of a context that is deleted and made again all the time. */
static void add_while_deleted(void)
{
    pthread_t thread[2];
    int all[1] = { 0 }, made = 0, failed = 0;
    runtime_start(WORKERS, "eager");
    require_workers(WORKERS);
    setenv("STARPU_SILENT", "1", 1);
    atomic_store(&number, 1);
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, add_for_ever, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < ROUNDS; i++) {
        unsigned id = starpu_sched_ctx_create(all, 1, "again", STARPU_SCHED_CTX_POLICY_NAME,
                                              i % 3 ? "dmda" : "modular-eager", 0);
        if (id >= STARPU_NMAX_SCHED_CTXS) continue;
        made++;
        atomic_store(&number, id);
        for (int k = 0; k < 5; k++) failed |= starpu_task_insert(&count_cl, STARPU_SCHED_CTX, id, 0);
        starpu_sched_ctx_delete(id);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    starpu_task_wait_for_all();
    ok(all_of(made == ROUNDS, !failed, atomic_load(&ran) == 5 * made),
       "contexts are made and deleted %d times while others add workers to their number; each task ran once",
       made);
    int members = 0;
    for (int i = 0; i < WORKERS; i++) members += starpu_sched_ctx_contains_worker(i, 0) != 0;
    is_int(members, WORKERS, "all workers are in the main context at the end");
    atomic_store(&ran, 0);
    for (int k = 0; k < 100; k++) failed |= starpu_task_insert(&count_cl, 0);
    starpu_task_wait_for_all();
    ok(all_of(!failed, atomic_load(&ran) == 100), "and it executes tasks");
    starpu_shutdown();
}

/* Workers come and go; somebody asks who is there each time. */
static void lists_of_members(void)
{
    int all[WORKERS] = { 0, 1, 2, 3 }, *raw, right = 1;
    size_t before = 0;
    runtime_start(WORKERS, "eager");
    unsigned id = starpu_sched_ctx_create(all, 1, "few", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    for (int i = 0; i < 2000; i++) {
        starpu_sched_ctx_add_workers(&all[1 + i % 3], 1, id);
        right &= starpu_sched_ctx_get_workers_list_raw(id, &raw) == 2 && raw[0] == 0 && raw[1] == 1 + i % 3;
        starpu_sched_ctx_remove_workers(&all[1 + i % 3], 1, id);
        right &= starpu_sched_ctx_get_workers_list_raw(id, &raw) == 1 && raw[0] == 0;
        if (i == 100) before = mallinfo2().uordblks;
    }
    size_t after = mallinfo2().uordblks;
    ok(right, "the list of members is right at each of 4000 changes");
    ok(after < before + 8192, "and what it takes does not grow with them (%zu, then %zu bytes)", before,
       after);
    starpu_sched_ctx_delete(id);
    starpu_shutdown();
}

static void make_tree_without_root(unsigned context)
{
    starpu_sched_ctx_set_policy_data(context, starpu_sched_tree_create(context));
}
static void free_tree(unsigned context)
{
    starpu_sched_tree_destroy(starpu_sched_tree_get(context));
}
static struct starpu_sched_policy refuses_workers = { .init_sched = make_tree_without_root,
                                                      .deinit_sched = free_tree,
                                                      .add_workers = starpu_sched_tree_add_workers,
                                                      .remove_workers = starpu_sched_tree_remove_workers,
                                                      .push_task = starpu_sched_tree_push_task,
                                                      .pop_task = starpu_sched_tree_pop_task,
                                                      .policy_name = "refuses workers" };

/* A context with parts that cannot be made leaves them as they were. */
static void failed_parent(void)
{
    int one = 0, two = 1;
    runtime_start(WORKERS, "eager");
    unsigned part = starpu_sched_ctx_create(&one, 1, "part", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    unsigned parent = starpu_sched_ctx_create(&one, 1, "parent", STARPU_SCHED_CTX_POLICY_STRUCT,
                                              &refuses_workers, STARPU_SCHED_CTX_SUB_CTXS, &part, 1, 0);
    is_int((int)parent, STARPU_NMAX_SCHED_CTXS, "a context whose policy takes no workers is not made");
    unsigned other = starpu_sched_ctx_create(&two, 1, "other", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    starpu_sched_ctx_delete(part);
    is_int(starpu_sched_ctx_contains_worker(one, other), 0,
           "its would-be part does not hand its worker to whoever has that number now");
    starpu_sched_ctx_delete(other);
    starpu_shutdown();
}

int main(void)
{
    alarm(100);
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 1);
    add_while_deleted();
    lists_of_members();
    failed_parent();
    return done_testing();
}
