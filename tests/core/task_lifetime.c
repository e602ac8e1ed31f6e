/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a task as the program sees it (starpu_task_wait, starpu_task_finished, starpu_tag_wait,
 * starpu_task_wait_for_all) is the runtime's last access to it: tasks in memory that is taken away at once,
 * blocks that the next task uses at once. Workers are stopped at random instructions meanwhile, by signals,
 * so that whatever comes after the end comes late.
 * Threads: main submits and waits, one more sends the signals; workers execute. Owns: the tasks' memory.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include "tests/helper.h"

enum { WORKERS = 4 };

/* ---- delays ---- */

static pthread_t victims[STARPU_NMAXWORKERS];
static atomic_int stop_delays;
static pthread_t delayer;

static void on_signal(int signal UNUSED)
{
    int saved = errno;
    nanosleep(&(struct timespec){ .tv_nsec = 60000 }, NULL);
    errno = saved;
}

static void note_thread(void *arg UNUSED)
{
    victims[starpu_worker_get_id()] = pthread_self();
}

static void *send_signals(void *arg UNUSED)
{
    while (!atomic_load(&stop_delays)) {
        for (int i = 0; i < WORKERS; i++) pthread_kill(victims[i], SIGUSR1);
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    }
    return NULL;
}

static void delays_begin(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigaction(SIGUSR1, &action, NULL);
    starpu_execute_on_each_worker(note_thread, NULL, STARPU_CPU);
    atomic_store(&stop_delays, 0);
    pthread_create(&delayer, NULL, send_signals, NULL);
}

static void delays_end(void)
{
    atomic_store(&stop_delays, 1);
    pthread_join(delayer, NULL);
}

static double seconds(void)
{
    return starpu_timing_now() * 1e-6;
}

/* ---- tasks in memory that goes away ---- */

static void *page_new(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) printf("Bail out! no memory\n"), exit(1);
    return p;
}

static void page_drop(void *page)
{
    munmap(page, 4096);
}

static atomic_int ran;
static int failed; /* [own: main] */

static void count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&ran, 1);
}

static struct starpu_codelet count_cl = { .cpu_funcs = { count_func }, .name = "count" };
static struct starpu_codelet forkjoin_cl = {
    .cpu_funcs = { count_func }, .type = STARPU_FORKJOIN, .max_parallelism = INT32_MAX, .name = "fork-join"
};
static struct starpu_codelet spmd_cl = {
    .cpu_funcs = { count_func }, .type = STARPU_SPMD, .max_parallelism = INT32_MAX, .name = "spmd"
};

static struct starpu_task *task_in(void *page, struct starpu_codelet *cl)
{
    struct starpu_task *t = page;
    starpu_task_init(t);
    t->cl = cl;
    t->destroy = 0;
    return t;
}

static void submit(struct starpu_task *t)
{
    if (starpu_task_submit(t) != 0) printf("Bail out! a task was refused\n"), exit(1);
}

/* On all workers together; waited for; and gone. */
static void together(struct starpu_codelet *cl, const char *fact)
{
    int rounds = 0, all = (int)starpu_worker_get_count(), before = atomic_load(&ran), found = 0;
    for (int id = all; id < all + (int)starpu_combined_worker_get_count(); id++) {
        int size, *members;
        if (starpu_combined_worker_get_description(id, &size, &members) == 0 && size == WORKERS) found = id;
    }
    for (double end = seconds() + 0.4; found && (rounds < 20 || seconds() < end); rounds++) {
        struct starpu_task *t = task_in(page_new(), cl);
        t->detach = 0;
        t->execute_on_a_specific_worker = 1;
        t->workerid = (unsigned)found;
        submit(t);
        failed += starpu_task_wait(t) != 0;
        starpu_task_clean(t);
        page_drop(t);
    }
    is_int(atomic_load(&ran) - before, rounds * (cl == &spmd_cl ? WORKERS : 1), "%s", fact);
}

enum how { WAIT, WAIT_ALL, TAG_WAIT, POLL };

/* Many at a time, so that workers are stopped anywhere in their ends. */
static void in_own_memory(enum how how, const char *fact)
{
    enum { BATCH = 32 };
    struct starpu_task *t[BATCH];
    int rounds = 0, before = atomic_load(&ran);
    for (double end = seconds() + 0.3; rounds < 20 || seconds() < end; rounds++) {
        for (int i = 0; i < BATCH; i++) {
            t[i] = task_in(page_new(), &count_cl);
            t[i]->detach = how != WAIT && how != POLL;
            t[i]->use_tag = how == TAG_WAIT;
            t[i]->tag_id = (starpu_tag_t)(rounds * BATCH + i);
            submit(t[i]);
        }
        if (how == WAIT_ALL) starpu_task_wait_for_all();
        for (int i = 0; i < BATCH; i++) {
            if (how == WAIT) failed += starpu_task_wait(t[i]) != 0;
            if (how == TAG_WAIT) failed += starpu_tag_wait(t[i]->tag_id) != 0;
            while (how == POLL && !starpu_task_finished(t[i])) sched_yield();
            if (how == TAG_WAIT) starpu_tag_remove(t[i]->tag_id);
            starpu_task_clean(t[i]);
            page_drop(t[i]);
        }
    }
    is_int(atomic_load(&ran) - before, rounds * BATCH, "%s", fact);
}

/* ---- what the next task takes up at once ---- */

static void mark_func(void *buffers[] UNUSED, void *arg)
{
    atomic_store((atomic_int *)arg, 1);
}

static struct starpu_codelet mark_cl = { .cpu_funcs = { mark_func }, .name = "mark" };

/* A task that is found finished is destroyed; the next one has its memory, and is waited for. (An end that is
 * seen two instructions early is found here with luck, and by ThreadSanitizer at once.) */
static void finished_then_next(void)
{
    int early = 0, rounds = 0;
    for (double end = seconds() + 1.0; seconds() < end; rounds++) {
        struct starpu_task *first = starpu_task_create();
        first->cl = &count_cl;
        first->detach = 0;
        first->destroy = 0;
        submit(first);
        while (!starpu_task_finished(first)) sched_yield();
        starpu_task_destroy(first);
        atomic_int mark = 0;
        struct starpu_task *second = starpu_task_create();
        second->cl = &mark_cl;
        second->cl_arg = &mark;
        second->detach = 0;
        submit(second);
        failed += starpu_task_wait(second) != 0;
        early += !atomic_load(&mark);
        while (!atomic_load(&mark)) sched_yield();
    }
    is_int(early, 0, "no task is taken for ended because an earlier one was found finished and destroyed");
}

/* ---- callbacks ---- */

static atomic_int called, called_finished, called_other;

static void callback(void *arg)
{
    struct starpu_task *t = arg;
    if (starpu_task_get_current() != t) atomic_fetch_add(&called_other, 1);
    if (starpu_task_finished(t)) atomic_fetch_add(&called_finished, 1);
    atomic_fetch_add(&called, 1);
}

/* The program keeps the task, and looks whether it is finished. */
static void callback_comes_first(void)
{
    int late = 0, rounds = 0;
    for (double end = seconds() + 0.3; rounds < 20 || seconds() < end; rounds++) {
        struct starpu_task *t = task_in(page_new(), &count_cl);
        t->callback_func = callback;
        t->callback_arg = t;
        int before = atomic_load(&called);
        submit(t);
        while (!starpu_task_finished(t)) sched_yield();
        late += atomic_load(&called) == before;
        starpu_task_clean(t);
        page_drop(t);
    }
    starpu_task_wait_for_all();
    is_int(late, 0, "starpu_task_finished says yes when the callback is over");
    is_int(atomic_load(&called_finished), 0, "in the callback it says no");
    is_int(atomic_load(&called_other), 0, "where the task is the current one");
}

static atomic_int again_left;

static void callback_again(void *arg)
{
    if (atomic_fetch_sub(&again_left, 1) > 0) submit(arg);
}

static void callback_destroys(void *arg)
{
    starpu_task_destroy(arg);
    if (starpu_task_get_current()) atomic_fetch_add(&called_other, 1);
    atomic_fetch_add(&called, 1);
}

static void callback_signals(void *arg UNUSED)
{
    atomic_fetch_add(&called, 1);
    usleep(200); /* what it belonged to goes meanwhile */
}

static void callbacks_that_end_their_task(void)
{
    struct starpu_task *t = task_in(page_new(), &count_cl);
    int before = atomic_load(&ran);
    atomic_store(&again_left, 1000);
    t->callback_func = callback_again;
    t->callback_arg = t;
    submit(t);
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran) - before, 1001, "a task that its callback submits again runs as often");
    ok(starpu_task_finished(t), "and is finished after the last time");
    starpu_task_clean(t);
    page_drop(t);
    atomic_store(&called, 0);
    for (int i = 0; i < 100; i++) {
        t = starpu_task_create();
        t->cl = &count_cl;
        t->destroy = 0;
        t->callback_func = callback_destroys;
        t->callback_arg = t;
        submit(t);
    }
    starpu_task_wait_for_all();
    is_int(atomic_load(&called_other), 0, "a task that its callback destroys is the current one no more");
    before = atomic_load(&ran);
    for (int i = 0; i < 100; i++) {
        t = task_in(page_new(), &count_cl);
        t->callback_func = callback_signals;
        int seen = atomic_load(&called);
        submit(t);
        while (atomic_load(&called) == seen) sched_yield();
        if (i % 2 == 0) { /* once more, as its callback allows */
            t->callback_func = NULL;
            submit(t);
            while (!starpu_task_finished(t)) sched_yield();
        }
        starpu_task_clean(t);
        page_drop(t);
    }
    starpu_task_wait_for_all();
    is_int(atomic_load(&ran) - before, 150, "what a callback signals may submit the task again, or end it");
}

int main(void)
{
    setenv("STARPU_WORKERS_CPUID", "0 0 0 0", 0); /* a flat machine: one combined worker of all */
    runtime_start(WORKERS, "peager");
    require_workers(WORKERS);
    delays_begin();
    together(&forkjoin_cl, "fork-join tasks whose memory goes after starpu_task_wait");
    together(&spmd_cl, "SPMD tasks whose memory goes after starpu_task_wait");
    in_own_memory(WAIT, "tasks whose memory goes after starpu_task_wait");
    in_own_memory(POLL, "tasks whose memory goes after starpu_task_finished");
    in_own_memory(WAIT_ALL, "tasks whose memory goes after starpu_task_wait_for_all");
    in_own_memory(TAG_WAIT, "tasks whose memory goes after starpu_tag_wait");
    finished_then_next();
    callback_comes_first();
    callbacks_that_end_their_task();
    delays_end();
    starpu_shutdown();
    is_int(failed, 0, "every wait ended well");
    return done_testing();
}
