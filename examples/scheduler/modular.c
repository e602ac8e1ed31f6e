/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scheduler of the program's own, as a tree of the library's components:
 *
 *     prio                 keeps what is ready, by priority
 *     eager                to the first worker that has room
 *     fifo  fifo  ...      two tasks for each worker, whose data can come in advance
 *     worker worker ...
 *
 * Output:
 *     squares of 1000 numbers, by 1000 tasks: right
 */
#include <starpu.h>
#include <starpu_sched_component.h>

static void init_sched(unsigned context)
{
    struct starpu_sched_tree *tree = starpu_sched_tree_create(context);
    struct starpu_sched_component *prio = starpu_sched_component_prio_create(tree, NULL);
    struct starpu_sched_component *eager = starpu_sched_component_eager_create(tree, NULL);
    struct starpu_sched_component_fifo_data two = { .ntasks_threshold = 2 };

    tree->root = prio;
    starpu_sched_component_connect(prio, eager);
    for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++) {
        struct starpu_sched_component *fifo = starpu_sched_component_fifo_create(tree, &two);
        starpu_sched_component_connect(eager, fifo);
        starpu_sched_component_connect(fifo, starpu_sched_component_worker_new(context, (int)worker));
    }
    starpu_sched_ctx_set_policy_data(context, tree);
}

static struct starpu_sched_policy policy = {
    .init_sched = init_sched,
    .deinit_sched = starpu_sched_tree_deinitialize,
    .add_workers = starpu_sched_tree_add_workers,
    .remove_workers = starpu_sched_tree_remove_workers,
    .push_task = starpu_sched_tree_push_task,
    .pop_task = starpu_sched_tree_pop_task,
    .pre_exec_hook = starpu_sched_component_worker_pre_exec_hook,
    .post_exec_hook = starpu_sched_component_worker_post_exec_hook,
    .policy_name = "example",
    .policy_description = "a queue by priority above short queues",
};

static void square(void *buffers[], void *arg)
{
    int *x = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    (void)arg;
    *x *= *x;
}

static struct starpu_codelet square_cl = { .cpu_funcs = { square }, .nbuffers = 1, .modes = { STARPU_RW } };

int main(void)
{
    enum { N = 1000 };
    static int number[N];
    int wrong = 0;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.sched_policy = &policy;
    if (starpu_init(&conf) != 0) return 77;
    for (int i = 0; i < N; i++) {
        starpu_data_handle_t handle;
        number[i] = i;
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&number[i], sizeof number[i]);
        wrong += starpu_task_insert(&square_cl, STARPU_RW, handle, STARPU_PRIORITY, i % 10, 0) != 0;
        starpu_data_unregister_submit(handle);
    }
    starpu_task_wait_for_all();
    for (int i = 0; i < N; i++) wrong += number[i] != i * i;
    starpu_shutdown();
    printf("squares of %d numbers, by %d tasks: %s\n", N, N, wrong ? "wrong" : "right");
    return wrong != 0;
}
