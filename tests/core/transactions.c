/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions: epochs of tasks that run, or are left out together.
 * Threads: main inserts, and a second one too; workers execute and decide. Owns: its data.
 * Not here: tasks that are tried again (task_retry.c).
 */
#include <stdbool.h>

#include "tests/helper.h"

enum { EPOCHS = 6, TASKS = 5 };

static atomic_int started, over, ended, prologues, pops;
static int value;
static starpu_data_handle_t handle;
static int at_start[EPOCHS];

static void add_func(void *buffers[], void *arg)
{
    int n;
    starpu_codelet_unpack_args(arg, &n);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += n;
}

static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

/* Odd epochs are left out. */
static int every_second(void *descr UNUSED, void *arg)
{
    intptr_t epoch = (intptr_t)arg;
    at_start[epoch] = over;
    started++;
    return epoch % 2 == 0;
}

/* Before what waits for the task may go on; its callback is called afterwards. */
static void at_epilogue(void *arg UNUSED)
{
    over++;
}

static void at_end(void *arg UNUSED)
{
    ended++;
}

static void at_begin(void *arg UNUSED)
{
    prologues++;
}

static void at_pop(void *arg UNUSED)
{
    pops++;
}

static void insert_on(struct starpu_transaction *t, starpu_data_handle_t on, int n)
{
    if (starpu_task_insert(&add_cl, STARPU_RW, on, STARPU_VALUE, &n, sizeof n, STARPU_TRANSACTION, t,
                           STARPU_PROLOGUE_CALLBACK, at_begin, STARPU_PROLOGUE_CALLBACK_POP, at_pop,
                           STARPU_EPILOGUE_CALLBACK, at_epilogue, STARPU_CALLBACK, at_end, 0) != 0)
        ok(0, "a task of a transaction is inserted");
}

static void insert(struct starpu_transaction *t, int n)
{
    insert_on(t, handle, n);
}

static void reset(void)
{
    starpu_task_wait_for_all();
    started = over = ended = prologues = pops = 0;
    starpu_data_acquire(handle, STARPU_RW);
    value = 0;
    starpu_data_release(handle);
}

static int result(void)
{
    starpu_data_acquire(handle, STARPU_R);
    int v = value;
    starpu_data_release(handle);
    return v;
}

static void epochs(void)
{
    bool in_order = true;
    reset();
    struct starpu_transaction *t = starpu_transaction_open(every_second, (void *)0);
    ok(t != NULL, "a transaction is opened");
    int expected = 0;
    for (int e = 0; e < EPOCHS; e++) {
        for (int i = 0; i < TASKS; i++) insert(t, 1 + e);
        if (e % 2 == 0) expected += TASKS * (1 + e);
        if (e + 1 < EPOCHS) starpu_transaction_next_epoch(t, (void *)(intptr_t)(e + 1));
    }
    starpu_transaction_close(t);
    is_int(starpu_task_wait_for_all(), 0, "all its tasks end");
    is_int(started, EPOCHS, "the program was asked for each epoch");
    is_int(result(), expected, "tasks of epochs that were not to start changed nothing");
    is_int(ended, EPOCHS * TASKS, "their callbacks were called all the same");
    is_int(prologues, EPOCHS / 2 * TASKS, "their prologues were not");
    is_int(pops, EPOCHS / 2 * TASKS, "nor those for when a worker takes them");
    for (int e = 0; e < EPOCHS; e++) in_order &= at_start[e] == e * TASKS;
    ok(in_order, "an epoch is asked for when all tasks before it have ended");
}

static void tasks_run_before_the_epoch_is_complete(void)
{
    reset();
    struct starpu_transaction *t = starpu_transaction_open(NULL, NULL);
    insert(t, 3);
    is_int(starpu_task_wait_for_all(), 0, "tasks of an open epoch can be waited for");
    is_int(result(), 3, "and have run");
    insert(t, 4);
    starpu_transaction_next_epoch(t, NULL);
    starpu_transaction_next_epoch(t, NULL);
    insert(t, 5);
    starpu_transaction_close(t);
    is_int(starpu_task_wait_for_all(), 0, "more may follow, and epochs be empty");
    is_int(result(), 12, "without a function all epochs run");
}

static starpu_data_handle_t others; /* epochs begin while the second thread inserts: it has data of its own */

static void *second_thread(void *arg)
{
    for (int i = 0; i < 100; i++) insert_on(arg, others, 1);
    return NULL;
}

static void two_threads(void)
{
    pthread_t second;
    int other = 0;
    reset();
    starpu_variable_data_register(&others, STARPU_MAIN_RAM, (uintptr_t)&other, sizeof other);
    struct starpu_transaction *t = starpu_transaction_open(NULL, NULL);
    pthread_create(&second, NULL, second_thread, t);
    for (int i = 0; i < 100; i++) {
        insert(t, 1);
        if (i % 10 == 0) starpu_transaction_next_epoch(t, NULL);
    }
    pthread_join(second, NULL);
    starpu_transaction_close(t);
    starpu_task_wait_for_all();
    starpu_data_unregister(others);
    is_int(result() + other, 200, "two threads insert into one transaction");
}

static int never(void *descr UNUSED, void *arg UNUSED)
{
    return 0;
}

static void misuses(void)
{
    reset();
    int one = 1;
    struct starpu_transaction *t = starpu_transaction_open(never, NULL);
    is_int(starpu_task_insert(&add_cl, STARPU_RW, handle, STARPU_VALUE, &one, sizeof one, STARPU_TRANSACTION,
                              t, STARPU_WORKER_ORDER, 1u, STARPU_EXECUTE_ON_WORKER, 0, 0),
           -EINVAL, "a task with a place in the order of a worker is refused");
    struct starpu_task *task = starpu_task_build(&add_cl, STARPU_RW, handle, STARPU_VALUE, &one, sizeof one,
                                                 STARPU_TRANSACTION, t, 0);
    struct starpu_task *copy = starpu_task_dup(task);
    starpu_task_destroy(task);
    ok(all_of(copy != NULL, copy->transaction == NULL), "a copy is of no transaction");
    if (starpu_task_submit(copy) != 0) ok(0, "the copy is submitted");
    starpu_transaction_close(t);
    is_int(starpu_task_wait_for_all(), 0, "one that is destroyed holds nothing up");
    is_int(result(), 1, "the copy ran, though its original's epoch did not");
    starpu_transaction_close(NULL);
}

/* Tasks that stay the program's outlive their epoch. */
static void taken_up_again(void)
{
    reset();
    struct starpu_transaction *t = starpu_transaction_open(NULL, NULL);
    int one = 1;
    struct starpu_task *task[2];
    for (int i = 0; i < 2; i++) {
        task[i] = starpu_task_build(&add_cl, STARPU_RW, handle, STARPU_VALUE, &one, sizeof one,
                                    STARPU_TRANSACTION, t, STARPU_PROLOGUE_CALLBACK, at_begin, 0);
        task[i]->destroy = 0;
    }
    starpu_task_clean(task[1]);
    if (starpu_task_submit(task[0]) != 0) ok(0, "a task is submitted");
    starpu_transaction_close(t);
    is_int(starpu_task_wait_for_all(), 0, "a task that is cleaned leaves its epoch");
    for (int i = 0; i < 2; i++)
        if (starpu_task_submit(task[i]) != 0) ok(0, "a task is submitted");
    starpu_task_wait_for_all();
    is_int(result(), 3, "tasks that are taken up again when all is over run");
    is_int(prologues, 3, "and their prologues are called");
    struct starpu_task *copy = starpu_task_dup(task[0]);
    if (!copy || starpu_task_submit(copy) != 0) ok(0, "a copy is submitted");
    starpu_task_wait_for_all();
    is_int(result(), 4, "and so does a copy");
    for (int i = 0; i < 2; i++) starpu_task_destroy(task[i]);
}

int main(void)
{
    runtime_start(2, NULL);
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    epochs();
    tasks_run_before_the_epoch_is_complete();
    two_threads();
    misuses();
    taken_up_again();
    starpu_data_unregister(handle);
    starpu_shutdown();
    ok(starpu_transaction_open(NULL, NULL) == NULL, "there is none without the runtime");
    return done_testing();
}
