/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that look dead but for a thread that the runtime does not know, or something outside of the
 * process: they are left alone, or warned, and go on; unless they say that nobody acts. Threads: each case
 * runs in a process of its own, all at a time. Owns: nothing. Not here: programs that are dead for certain
 * (deadlock.c).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <orrery.h>
#include <starpu_expert.h>

#include "tests/tap.h"

enum { TAG = 5, OUTPUT_BYTES = 16384, SOON_S = 3, LATE_S = 8 };

/* ---- what the cases are made of ---- */

static void wait_for_tag(starpu_tag_t tag)
{
    static struct starpu_codelet cl = { .where = STARPU_NOWHERE, .name = "patient" };
    struct starpu_task *t = starpu_task_create();
    starpu_tag_t dep = tag;
    t->cl = &cl;
    t->use_tag = 1;
    t->tag_id = tag + 1;
    starpu_tag_declare_deps_array(tag + 1, 1, &dep);
    if (starpu_task_submit(t) != 0) exit(3);
}

static int passive, seconds;

static void *notifier(void *arg)
{
    (void)arg;
    if (passive) orrery_thread_passive(1);
    sleep((unsigned)seconds);
    starpu_tag_notify_from_apps(TAG);
    return NULL;
}

/* A task waits for a tag that a thread which never called the runtime notifies after so many seconds. */
static void notified_after(int after_s)
{
    pthread_t thread;
    seconds = after_s;
    if (pthread_create(&thread, NULL, notifier, NULL) != 0) exit(3);
    pthread_setname_np(thread, "alarm clock");
    wait_for_tag(TAG);
    starpu_task_wait_for_all();
    pthread_join(thread, NULL);
}

static void soon(void)
{
    notified_after(SOON_S);
}

static void late(void)
{
    notified_after(LATE_S);
}

/* The task that waits is in memory of the program's own, which takes it back when it has ended. */
static void late_and_own(void)
{
    static struct starpu_codelet cl = { .where = STARPU_NOWHERE, .name = "own" };
    struct starpu_task *task = malloc(sizeof *task);
    starpu_tag_t dep = TAG;
    pthread_t thread;
    seconds = LATE_S;
    starpu_task_init(task);
    task->cl = &cl;
    task->detach = 0;
    task->use_tag = 1;
    task->tag_id = TAG + 1;
    starpu_tag_declare_deps_array(TAG + 1, 1, &dep);
    if (starpu_task_submit(task) != 0 || pthread_create(&thread, NULL, notifier, NULL) != 0) exit(3);
    if (starpu_task_wait(task) != 0) exit(4);
    starpu_task_clean(task);
    free(task);
    pthread_join(thread, NULL);
}

/* The main thread waits for the tag itself. */
static void late_without_task(void)
{
    pthread_t thread;
    seconds = LATE_S;
    if (pthread_create(&thread, NULL, notifier, NULL) != 0) exit(3);
    if (starpu_tag_wait(TAG) != 0) exit(4);
    pthread_join(thread, NULL);
}

static void late_and_quiet(void)
{
    orrery_outside_begin();
    notified_after(LATE_S);
    orrery_outside_end();
}

static void never_acts(void)
{
    passive = 1;
    notified_after(60);
}

static void slow_callback(void *arg)
{
    (void)arg;
    sleep(SOON_S);
}

static struct starpu_task *first;

/* Called by the waiting thread, on which the callback then runs. */
static unsigned hook(void *arg)
{
    static int done;
    (void)arg;
    if (starpu_worker_get_id() >= 0 || __atomic_exchange_n(&done, 1, __ATOMIC_SEQ_CST)) return 1;
    starpu_tag_notify_from_apps(TAG);
    return 1;
}

/* The waiting thread itself is in a callback for long. */
static void in_callback(void)
{
    first = starpu_task_create();
    starpu_tag_t dep = TAG;
    first->use_tag = 1;
    first->tag_id = TAG + 1;
    first->callback_func = slow_callback;
    starpu_tag_declare_deps_array(TAG + 1, 1, &dep);
    starpu_progression_hook_register(hook, NULL);
    if (starpu_task_submit(first) != 0) exit(3);
    starpu_task_wait_for_all();
}

/* A policy of which each worker hands its tasks to the other, for 12 s. */
static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static struct starpu_task *ring[2];
static double ring_until_s;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ring_push(struct starpu_task *task)
{
    pthread_mutex_lock(&ring_lock);
    ring[0] = task;
    pthread_mutex_unlock(&ring_lock);
    starpu_wake_worker_relax(0);
    return 0;
}

static struct starpu_task *ring_pop(unsigned ctx)
{
    int self = starpu_worker_get_id();
    (void)ctx;
    pthread_mutex_lock(&ring_lock);
    struct starpu_task *mine = ring[self], *result = NULL;
    ring[self] = NULL;
    if (mine && now_s() > ring_until_s)
        result = mine;
    else if (mine)
        ring[!self] = mine;
    pthread_mutex_unlock(&ring_lock);
    if (mine && !result) starpu_wake_worker_relax(!self);
    return result;
}

static struct starpu_sched_policy ring_policy = { .push_task = ring_push,
                                                  .pop_task = ring_pop,
                                                  .policy_name = "ring" };

static void nothing(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static void going_round(void)
{
    static struct starpu_codelet cl = { .cpu_funcs = { nothing }, .name = "dizzy" };
    starpu_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.sched_policy = &ring_policy;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) _exit(77);
    ring_until_s = now_s() + 16; /* 10, and what a busy machine makes of that */
    struct starpu_task *t = starpu_task_create();
    t->cl = &cl;
    if (starpu_task_submit(t) != 0) exit(3);
    starpu_task_wait_for_all();
}

/* ---- running them ---- */

struct trial {
    void (*body)(void);
    const char *reaction; /* ORRERY_ON_DEADLOCK, or NULL */
    pid_t pid;
    int out;
    int status;
    double seconds;
    char output[OUTPUT_BYTES];
};

static void begin(struct trial *t)
{
    int fd[2];
    if (pipe(fd) != 0) exit(3);
    fflush(stdout);
    t->seconds = now_s();
    t->pid = fork();
    if (t->pid == 0) {
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        alarm(40);
        unsetenv("ORRERY_ON_DEADLOCK");
        if (t->reaction) setenv("ORRERY_ON_DEADLOCK", t->reaction, 1);
        struct starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = 2;
        if (starpu_init(&conf) != 0) _exit(77);
        t->body();
        starpu_shutdown();
        _exit(0);
    }
    close(fd[1]);
    t->out = fd[0];
}

static void end(struct trial *t)
{
    size_t used = 0;
    int status;
    for (ssize_t n;
         used < OUTPUT_BYTES - 1 && (n = read(t->out, t->output + used, OUTPUT_BYTES - 1 - used)) > 0;)
        used += (size_t)n;
    t->output[used] = 0;
    close(t->out);
    waitpid(t->pid, &status, 0);
    t->seconds = now_s() - t->seconds;
    t->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int has(const struct trial *t, const char *text)
{
    return strstr(t->output, text) != NULL;
}

static void fact(const struct trial *t, int good, const char *text)
{
    ok(good, "%s", text);
    if (!good) printf("# status %d after %.1f s: %s\n", t->status, t->seconds, t->output);
}

int main(void)
{
    enum { SOON, LATE, OWN, ALONE, QUIET, PASSIVE, TOLD, CALLBACK, ABORT, ROUND, COUNT };
    static struct trial trial[COUNT] = {
        [SOON] = { .body = soon },
        [LATE] = { .body = late },
        [OWN] = { .body = late_and_own },
        [ALONE] = { .body = late_without_task },
        [QUIET] = { .body = late_and_quiet },
        [PASSIVE] = { .body = never_acts },
        [TOLD] = { .body = late, .reaction = "exit" },
        [CALLBACK] = { .body = in_callback },
        [ABORT] = { .body = late, .reaction = "abort" },
        [ROUND] = { .body = going_round },
    };
    for (int i = 0; i < COUNT; i++) begin(&trial[i]);
    for (int i = 0; i < COUNT; i++) end(&trial[i]);

    struct trial *t = &trial[SOON];
    fact(t, t->status == 0 && !has(t, "deadlock"),
         "a thread that the runtime does not know notifies a tag after 3 s: not a word");
    t = &trial[LATE];
    fact(t, t->status == 0 && has(t, "deadlock?") && has(t, "alarm clock") && has(t, "patient"),
         "after 8 s: there is a warning with the task and the thread's name, and the program goes on");
    fact(t,
         has(t, "orrery_outside_begin") && has(t, "orrery_thread_passive") &&
             has(t, "ORRERY_ON_DEADLOCK=exit"),
         "it says what the program can do about it");
    t = &trial[OWN];
    fact(t, t->status == 0 && has(t, "1 that the program has in memory of its own") && !has(t, "task own"),
         "a task in the program's own memory, which may go at any time, is counted and not looked at");
    t = &trial[ALONE];
    fact(t, t->status == 0 && has(t, "deadlock?") && has(t, "in starpu_tag_wait for tag 5"),
         "a thread that waits for the tag without a task is a warning, too, and goes on");
    t = &trial[QUIET];
    fact(t, t->status == 0 && !has(t, "deadlock"),
         "the same announced with orrery_outside_begin: not a word");
    t = &trial[PASSIVE];
    fact(t, t->status == 1 && has(t, "deadlock:") && has(t, "patient"),
         "the only other thread is declared passive: it is a deadlock, and the program ends");
    t = &trial[TOLD];
    fact(t, t->status == 1 && has(t, "deadlock:"),
         "ORRERY_ON_DEADLOCK=exit: unknown threads do not count, and the program ends");
    t = &trial[CALLBACK];
    fact(t, t->status == 0 && !has(t, "deadlock"),
         "a callback sleeps 3 s on the thread that waits: not a word");
    t = &trial[ABORT];
    fact(t, t->status == -SIGABRT && has(t, "deadlock:"),
         "ORRERY_ON_DEADLOCK=abort: the same, with a core file");
    t = &trial[ROUND];
    fact(t, t->status == 0 && has(t, "tasks go round") && has(t, "dizzy") && has(t, "ring"),
         "a task that a policy hands from worker to worker for ever is named with the policy, as a warning");
    return done_testing();
}
