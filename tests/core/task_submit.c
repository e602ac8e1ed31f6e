/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of one task: creation, submission, callbacks and their order, waiting, who frees what.
 * Threads: main submits; one worker executes.
 * Owns: the log of events.
 * Not here: dependencies between tasks (task_deps.c), starpu_task_insert (task_insert.c).
 */
#include <malloc.h>
#include "tests/helper.h"

static char event_log[64];
static atomic_int event_count;

static void event(char c)
{
    event_log[atomic_fetch_add(&event_count, 1)] = c;
}

static void events_clear(void)
{
    atomic_store(&event_count, 0);
    memset(event_log, 0, sizeof event_log);
}

static void log_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    event('f');
}
static void log_callback(void *arg)
{
    event(*(const char *)arg);
}

static struct starpu_codelet log_cl = { .cpu_funcs = { log_func }, .name = "log" };

static atomic_int runs;
static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&runs, 1);
}
static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };

static void defaults(void)
{
    struct starpu_task *task = starpu_task_create();
    ok(all_of(task, task->cl == NULL, task->detach == 1, task->destroy == 1, task->synchronous == 0),
       "a created task is detached, destroyed by the runtime and asynchronous");
    ok(all_of(task->sequential_consistency == 1, task->priority == STARPU_DEFAULT_PRIO, task->use_tag == 0,
              task->regenerate == 0, task->execute_on_a_specific_worker == 0, task->callback_func == NULL),
       "a created task has sequential consistency, default priority, no tag, no callback, no fixed worker");
    task->destroy = 0;
    starpu_task_destroy(task);

    struct starpu_task own;
    memset(&own, 0xff, sizeof own);
    starpu_task_init(&own);
    ok(all_of(own.cl == NULL, own.detach == 1, own.destroy == 0, own.cl_arg == NULL, own.cl_arg_size == 0),
       "a task initialised in the caller's memory is detached and not destroyed by the runtime");
    starpu_task_clean(&own);
}

static void order_of_callbacks(void)
{
    events_clear();
    struct starpu_task *task = starpu_task_create();
    task->cl = &log_cl;
    task->prologue_callback_func = log_callback;
    task->prologue_callback_arg = "p";
    task->prologue_callback_pop_func = log_callback;
    task->prologue_callback_pop_arg = "o";
#if STARPU_AT_LEAST(1, 4)
    task->epilogue_callback_func = log_callback;
    task->epilogue_callback_arg = "e";
    const char *want = "pofec";
#else
    const char *want = "pofc";
#endif
    task->callback_func = log_callback;
    task->callback_arg = "c";
    task->synchronous = 1;
    is_int(starpu_task_submit(task), 0, "a synchronous task is accepted");
    ok(strcmp(event_log, want) == 0,
       "prologue, pop prologue, function, epilogue, callback in order: %s (want %s)", event_log, want);
}

static void callback_before_wait_returns(void)
{
    events_clear();
    struct gate gate = { 0 };
    gate_close(&gate, -1);
    struct starpu_task *task = starpu_task_create();
    task->cl = &log_cl;
    task->callback_func = log_callback;
    task->callback_arg = "c";
    task->detach = 0;
    task->destroy = 0;
    int submitted = starpu_task_submit(task);
    is_int(starpu_task_finished(task), 0, "a task behind a busy worker is not finished");
    ok(all_of(submitted == 0, event_log[0] == 0), "submission returns before the task runs");
    gate_open(&gate);
    is_int(starpu_task_wait(task), 0, "a task that is not detached can be waited for");
    ok(strcmp(event_log, "fc") == 0, "the wait returns after the function and its callback");
    is_int(starpu_task_finished(task), 1, "a task waited for is finished");
    is_int(task->status, STARPU_TASK_FINISHED, "its status says so");
    starpu_task_destroy(task);

#if STARPU_AT_LEAST(1, 4) /* 1.3 stops the program instead */
    struct starpu_task *detached = starpu_task_create();
    detached->cl = &count_cl;
    detached->destroy = 0;
    int accepted = starpu_task_submit(detached);
    ok(all_of(accepted == 0, starpu_task_wait(detached) == -EINVAL),
       "waiting for a detached task is refused with EINVAL");
    starpu_task_wait_for_all();
    starpu_task_destroy(detached);
#endif
}

static void one_task_submitted_again(void)
{
    atomic_store(&runs, 0);
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    task->detach = 0;
    task->destroy = 0;
    int failures = 0;
    for (int i = 0; i < 50; i++) failures += starpu_task_submit(task) != 0 || starpu_task_wait(task) != 0;
    starpu_task_destroy(task);
    ok(all_of(failures == 0, atomic_load(&runs) == 50),
       "a task that is not destroyed can be submitted again and again");

    struct starpu_task *many[20];
    for (unsigned i = 0; i < LENGTH(many); i++) {
        many[i] = starpu_task_create();
        many[i]->cl = &count_cl;
        many[i]->detach = 0;
        failures += starpu_task_submit(many[i]) != 0;
    }
    ok(all_of(failures == 0, starpu_task_wait_array(many, LENGTH(many)) == 0, atomic_load(&runs) == 70),
       "an array of tasks is waited for at once");
}

struct held {
    struct gate gate;
    atomic_int done;
};
static void held_func(void *buffers[] UNUSED, void *arg)
{
    struct held *held = arg;
    gate_pass(&held->gate);
    atomic_store(&held->done, 1);
}
static struct starpu_codelet held_cl = { .cpu_funcs = { held_func }, .name = "held" };

static void counting_submitted(void)
{
    struct held held[6];
    memset(held, 0, sizeof held);
    starpu_task_wait_for_all();
    is_int(starpu_task_nsubmitted(), 0, "nothing is submitted after waiting for all");
    for (unsigned i = 0; i < LENGTH(held); i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &held_cl;
        task->cl_arg = &held[i];
        if (starpu_task_submit(task) != 0) ok(0, "submitted");
    }
    is_int(starpu_task_nsubmitted(), 6, "six held tasks are counted as submitted");
    for (unsigned i = 0; i < 4; i++) gate_open(&held[i].gate);
    starpu_task_wait_for_n_submitted(2);
    int done = 0;
    for (unsigned i = 0; i < LENGTH(held); i++) done += atomic_load(&held[i].done);
    ok(all_of(done == 4, starpu_task_nsubmitted() <= 2),
       "waiting for at most two left returns while two are held");
    for (unsigned i = 4; i < LENGTH(held); i++) gate_open(&held[i].gate);
    starpu_task_wait_for_all();
    is_int(starpu_task_nsubmitted(), 0, "the count comes back to zero");
}

#define ARG_BYTES (64 * 1024)

static unsigned char first_byte;
static void look_func(void *buffers[] UNUSED, void *arg)
{
    first_byte = *(unsigned char *)arg;
}
static struct starpu_codelet look_cl = { .cpu_funcs = { look_func }, .name = "look" };

static int submit_with_argument(int given)
{
    unsigned char *arg = malloc(ARG_BYTES);
    memset(arg, 0x5a, ARG_BYTES);
    struct starpu_task *task = starpu_task_create();
    task->cl = &look_cl;
    task->cl_arg = arg;
    task->cl_arg_size = ARG_BYTES;
    task->cl_arg_free = given ? 1 : 0;
    task->synchronous = 1;
    int failed = starpu_task_submit(task) != 0 || first_byte != 0x5a;
    if (!given) {
        for (int i = 0; i < ARG_BYTES; i++) failed |= arg[i] != 0x5a;
        free(arg);
    }
    return failed;
}

static void ownership_of_arguments(void)
{
    int failed = submit_with_argument(1);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 200; i++) failed |= submit_with_argument(1);
    size_t after = mallinfo2().uordblks;
    ok(all_of(!failed, after < before + 50 * ARG_BYTES),
       "an argument given with cl_arg_free is freed by the runtime");
    ok(!submit_with_argument(0), "an argument not given away is untouched after the task");

    before = mallinfo2().uordblks;
    for (int i = 0; i < 200; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &count_cl;
        task->callback_func = log_callback;
        task->callback_arg = calloc(1, ARG_BYTES);
        task->callback_arg_free = 1;
        task->synchronous = 1;
        events_clear();
        failed |= starpu_task_submit(task) != 0;
    }
    after = mallinfo2().uordblks;
    ok(all_of(!failed, after < before + 50 * ARG_BYTES),
       "a callback's argument given away is freed by the runtime");
}

static struct starpu_task *seen;
static void current_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    seen = starpu_task_get_current();
}
static struct starpu_codelet current_cl = { .cpu_funcs = { current_func }, .name = "current" };

static void identity(void)
{
    ok(starpu_task_get_current() == NULL, "outside any task there is no current task");
    struct starpu_task *task = starpu_task_create();
    task->cl = &current_cl;
    task->destroy = 0;
    task->detach = 0;
    ok(strcmp(starpu_task_get_name(task), "current") == 0, "a task without a name has its codelet's");
    task->name = "mine";
    ok(strcmp(starpu_task_get_name(task), "mine") == 0, "a task's own name comes first");
    int failed = starpu_task_submit(task) != 0 || starpu_task_wait(task) != 0;
    ok(all_of(!failed, seen == task), "inside its function the current task is the task");
    starpu_task_destroy(task);
}

static void submit_one_more(void *arg)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &count_cl;
    int left = (int)(intptr_t)arg;
    if (left > 1) {
        task->callback_func = submit_one_more;
        task->callback_arg = (void *)(intptr_t)(left - 1);
    }
    if (starpu_task_submit(task) != 0) atomic_fetch_sub(&runs, 1000);
}

static void special_tasks(void)
{
    events_clear();
    struct starpu_task *empty = starpu_task_create();
    empty->callback_func = log_callback;
    empty->callback_arg = "n";
    empty->detach = 0;
    int failed = starpu_task_submit(empty) != 0 || starpu_task_wait(empty) != 0;
    ok(all_of(!failed, strcmp(event_log, "n") == 0),
       "a task without codelet terminates and calls its callback");

    static struct starpu_codelet nowhere_cl = { .where = STARPU_CUDA,
                                                .cuda_funcs = { count_func },
                                                .name = "gpu" };
    struct starpu_task *impossible = starpu_task_create();
    impossible->cl = &nowhere_cl;
    impossible->destroy = 0;
    is_int(starpu_task_submit(impossible), -ENODEV,
           "a task that no worker can execute is refused with ENODEV");
    starpu_task_destroy(impossible);

    atomic_store(&runs, 0);
    submit_one_more((void *)(intptr_t)100);
    starpu_task_wait_for_all();
    is_int(atomic_load(&runs), 100, "waiting for all includes tasks that callbacks submit");

    struct starpu_task own;
    starpu_task_init(&own);
    own.cl = &count_cl;
    own.detach = 0;
    failed = starpu_task_submit(&own) != 0 || starpu_task_wait(&own) != 0;
    starpu_task_clean(&own);
    ok(all_of(!failed, atomic_load(&runs) == 101), "a task may live in the caller's memory");
}

int main(void)
{
    alarm(30);
    runtime_start(1, NULL);
    defaults();
    order_of_callbacks();
    callback_before_wait_returns();
    one_task_submitted_again();
    counting_submitted();
    ownership_of_arguments();
    identity();
    special_tasks();
    starpu_shutdown();
    return done_testing();
}
