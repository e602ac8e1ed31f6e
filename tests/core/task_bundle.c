/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bundles: tasks said to belong together, for the scheduler's information.
 * Threads: main.
 * Owns: nothing.
 * Not here: what policies make of them.
 */
#include "tests/helper.h"

static atomic_int runs;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

int main(void)
{
    alarm(30);
    runtime_start(1, NULL);
    starpu_task_bundle_t bundle = NULL;
    struct starpu_task *tasks[3];
    starpu_task_bundle_create(&bundle);
    ok(bundle != NULL, "a bundle is created");
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        tasks[i] = starpu_task_create();
        tasks[i]->cl = &count_cl;
        tasks[i]->detach = 0;
        failed |= starpu_task_bundle_insert(bundle, tasks[i]);
    }
    ok(all_of(!failed, tasks[0]->bundle == bundle), "tasks are inserted before they are submitted");
    ok(all_of(starpu_task_bundle_remove(bundle, tasks[2]) == 0, tasks[2]->bundle == NULL),
       "a task can be taken out");
    ok(all_of(starpu_task_bundle_insert(bundle, tasks[2]) == 0, tasks[2]->bundle == bundle),
       "and put in again");
    starpu_task_bundle_close(bundle);
    struct starpu_task *late = starpu_task_create();
    late->cl = &count_cl;
    late->destroy = 0;
    is_int(starpu_task_bundle_insert(bundle, late), -EPERM, "a closed bundle takes no more tasks");
    struct gate gate = { 0 };
    starpu_task_bundle_t second = NULL;
    starpu_task_bundle_create(&second);
    gate_close(&gate, -1);
    failed |= starpu_task_submit(late);
    is_int(starpu_task_bundle_insert(second, late), -EINVAL, "a task already submitted is refused");
    starpu_task_bundle_close(second);
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_task_destroy(late);
    atomic_store(&runs, 0);
    for (int i = 0; i < 3; i++) failed |= starpu_task_submit(tasks[i]);
    for (int i = 0; i < 3; i++) failed |= starpu_task_wait(tasks[i]);
    ok(all_of(!failed, runs == 3), "the tasks of a closed bundle run");
    starpu_shutdown();
    return done_testing();
}
