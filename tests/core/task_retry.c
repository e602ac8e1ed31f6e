/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that are tried again until their result is good (starpu_task_ft_...).
 * Threads: main submits; workers execute and check. Owns: its data.
 * Not here: tasks that cannot run (task_failed.c), transactions (transactions.c).
 */
#include "orrery.h"
#include "tests/helper.h"

enum { GOOD = 42, BAD_TRIES = 3 };

static atomic_int runs, checks, ends, pops, told;

static void flaky_func(void *buffers[], void *arg)
{
    int n = runs++, *out = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    int in = *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]), add;
    starpu_codelet_unpack_args(arg, &add);
    *out = n < BAD_TRIES ? -1 : in + add;
    if (n < BAD_TRIES) starpu_task_ft_failed(starpu_task_get_current());
}

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = "task_retry_flaky" };
static struct starpu_codelet flaky_cl = { .cpu_funcs = { flaky_func },
                                          .nbuffers = 2,
                                          .modes = { STARPU_W, STARPU_R },
                                          .model = &model,
                                          .name = "flaky" };

static void read_func(void *buffers[], void *arg UNUSED)
{
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]) = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_func }, .nbuffers = 2, .modes = { STARPU_R, STARPU_W }, .name = "read"
};

static void count_end(void *arg UNUSED)
{
    ends++;
}

static void count_pop(void *arg UNUSED)
{
    pops++;
}

/* The program looks at the result itself. */
static starpu_data_handle_t checked;
static void check(void *arg)
{
    struct starpu_task *whole = arg, *last = starpu_task_get_current();
    checks++;
    if (*(int *)starpu_data_get_local_ptr(checked) != -1) {
        starpu_task_ft_success(whole);
        return;
    }
    struct starpu_task *next = starpu_task_ft_create_retry(whole, last, check);
    if (starpu_task_submit_nodeps(next) != 0) ok(0, "a try is submitted");
}

static void hook(const char *text UNUSED, void *arg UNUSED)
{
    told++;
}

static void until_good(void (*check_or_null)(void *), const char *how)
{
    int out = 0, in = 40, seen = 0, add = 2;
    starpu_data_handle_t h[3];
    runs = checks = ends = pops = 0;
    starpu_variable_data_register(&h[0], STARPU_MAIN_RAM, (uintptr_t)&out, sizeof out);
    starpu_variable_data_register(&h[1], STARPU_MAIN_RAM, (uintptr_t)&in, sizeof in);
    starpu_variable_data_register(&h[2], STARPU_MAIN_RAM, (uintptr_t)&seen, sizeof seen);
    checked = h[0];
    is_int(starpu_task_insert(&flaky_cl, STARPU_W, h[0], STARPU_R, h[1], STARPU_VALUE, &add, sizeof add,
                              STARPU_PROLOGUE_CALLBACK, starpu_task_ft_prologue,
                              STARPU_PROLOGUE_CALLBACK_ARG_NFREE, check_or_null, STARPU_PROLOGUE_CALLBACK_POP,
                              count_pop, STARPU_CALLBACK, count_end, 0),
           0, "a task that is to be tried again is inserted (%s)", how);
    starpu_task_insert(&read_cl, STARPU_R, h[0], STARPU_W, h[2], 0);
    is_int(starpu_task_wait_for_all(), 0, "all end");
    is_int(runs, BAD_TRIES + 1, "it ran until its result was good");
    is_int(pops, BAD_TRIES + 1, "a worker took each try");
    is_int(ends, 1, "its callback was called once");
    if (check_or_null) is_int(checks, BAD_TRIES + 1, "each try was checked");
    for (int i = 0; i < 3; i++) starpu_data_unregister(h[i]);
    is_int(out, GOOD, "the result is there");
    is_int(seen, GOOD, "and who reads it saw no other");
}

/* A program may wait for the task, and make the first try itself. */
static void prologue(void *arg UNUSED)
{
    struct starpu_task *whole = starpu_task_get_current();
    struct starpu_task *first = starpu_task_ft_create_retry(whole, whole, NULL);
    if (starpu_task_submit_nodeps(first) != 0) ok(0, "a try is submitted");
}

static void own_prologue(void)
{
    int out = 0, in = 40, add = 2;
    starpu_data_handle_t h[2];
    runs = 0;
    starpu_variable_data_register(&h[0], STARPU_MAIN_RAM, (uintptr_t)&out, sizeof out);
    starpu_variable_data_register(&h[1], STARPU_MAIN_RAM, (uintptr_t)&in, sizeof in);
    struct starpu_task *task =
        starpu_task_build(&flaky_cl, STARPU_W, h[0], STARPU_R, h[1], STARPU_VALUE, &add, sizeof add, 0);
    task->prologue_callback_func = prologue;
    task->detach = 0;
    task->destroy = 0;
    if (starpu_task_submit(task) != 0) ok(0, "the task is submitted");
    is_int(starpu_task_wait(task), 0, "a task that is tried again can be waited for");
    is_int(runs, BAD_TRIES + 1, "its tries were made by the program's prologue");
    starpu_task_destroy(task);
    for (int i = 0; i < 2; i++) starpu_data_unregister(h[i]);
    is_int(out, GOOD, "the result is there");
}

static void models_learn_from_good_tries(void)
{
    struct starpu_perfmodel_arch *arch = starpu_worker_get_perf_archtype(0, 0);
    int x = 0;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    struct starpu_task *task = starpu_task_create();
    task->cl = &flaky_cl;
    task->handles[0] = task->handles[1] = h;
    struct starpu_perfmodel_history_entry *e = NULL;
    struct starpu_perfmodel_per_arch *per = starpu_perfmodel_get_model_per_arch(&model, arch, 0);
    unsigned samples = 0;
    for (struct starpu_perfmodel_history_list *l = per ? per->list : NULL; l; l = l->next) {
        e = l->entry;
        samples += e->nsample;
    }
    ok(samples <= 3, "models learn nothing of a bad try (%u samples of 3 good ones)", samples);
    starpu_task_destroy(task);
    starpu_data_unregister(h);
}

static void not_for_all(void)
{
    struct starpu_task *task = starpu_task_create();
    task->prologue_callback_func = starpu_task_ft_prologue;
    told = 0;
    is_int(starpu_task_submit(task), 0, "an empty task with that prologue is submitted");
    is_int(starpu_task_wait_for_all(), 0, "and ends");
    ok(starpu_task_ft_create_retry(NULL, NULL, NULL) == NULL, "there is no try of NULL");
    starpu_task_ft_failed(NULL);
}

int main(void)
{
    char directory[] = "/tmp/orrery-retry-XXXXXX";
    if (!mkdtemp(directory)) skip_all("no directory for the models can be made");
    setenv("STARPU_HOME", directory, 1);
    setenv("STARPU_CALIBRATE", "1", 1);
    runtime_start(2, NULL);
    orrery_set_error_hook(hook, NULL);
    until_good(NULL, "the body says when it is bad");
    until_good(check, "a function of the program looks");
    own_prologue();
    models_learn_from_good_tries();
    not_for_all();
    starpu_shutdown();
    return done_testing();
}
