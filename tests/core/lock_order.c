/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks out of their order end a process of a build with --enable-lock-checks, and are said with both places;
 * in other builds a lock is what it was. Threads: main, in children. Owns: nothing. Not here: what the order
 * is (core/base/ranks.def), whether the runtime keeps it: all tests see that (make check-locks).
 */
#include <signal.h>
#include <sys/wait.h>

#include "core/base/thread.h"
#include "tests/helper.h"

#ifdef ORR_CHECK_LOCKS
static ORR_MUTEX(plans) plans = PTHREAD_MUTEX_INITIALIZER;
static ORR_SPIN(slab) slab;
static ORR_SPIN(memory) memories[2];
static ORR_SPIN(queue) queues[2];
static ORR_MUTEX(records) records;

static void in_order(void)
{
    pthread_mutex_lock(&plans);
    orr_spin_lock(&queues[0]);
    orr_spin_lock(&queues[1]);
    orr_spin_lock(&slab);
    orr_spin_unlock(&queues[0]); /* released in any order */
    orr_spin_unlock(&slab);
    orr_spin_unlock(&queues[1]);
    pthread_mutex_unlock(&plans);
    pthread_mutex_lock(&plans); /* what was released is forgotten */
}

static void the_other_way(void)
{
    orr_spin_lock(&slab);
    pthread_mutex_lock(&plans);
}

static void two_of_a_kind(void)
{
    orr_spin_lock(&memories[0]);
    orr_spin_lock(&memories[1]);
}

static void falling(void)
{
    orr_spin_lock(&queues[1]);
    orr_spin_lock(&queues[0]);
}

static void tried(void)
{
    orr_spin_lock(&slab);
    if (pthread_mutex_trylock(&plans) != 0) _exit(2);
}

static void below_a_tried_one(void)
{
    if (!orr_spin_try(&slab)) _exit(2);
    orr_spin_lock(&queues[0]);
}

static void again(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&records, &attr);
    pthread_mutex_lock(&records);
    orr_spin_lock(&queues[0]);
    pthread_mutex_lock(&records);
}

/* What a child says that calls fn; "in order" when it ends by itself. */
static const char *said(void (*fn)(void))
{
    static char text[512];
    int out[2], status = 0;
    if (pipe(out) != 0) return "no pipe";
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDERR_FILENO);
        orr_self(); /* known threads are watched */
        fn();
        _exit(0);
    }
    close(out[1]);
    ssize_t n = read(out[0], text, sizeof text - 1);
    close(out[0]);
    waitpid(child, &status, 0);
    text[n > 0 ? n : 0] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "in order";
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "another end";
}

static void checks(void)
{
    const char *text = said(the_other_way);
    ok(all_of(strstr(text, "lock plans (") != NULL, strstr(text, "while slab (") != NULL,
              strstr(strstr(text, "lock_order.c:") ? strstr(text, "lock_order.c:") + 1 : "",
                     "lock_order.c:") != NULL),
       "a lock above one that is held is said, with both names and places");
    ok(strstr(said(two_of_a_kind), "lock memory (") != NULL, "so are two of a kind");
    ok(strstr(said(falling), "lock queue (") != NULL, "and two of a kind at falling addresses");
    ok(strstr(said(below_a_tried_one), "lock queue (") != NULL, "and one above a lock that was tried");
    ok(strcmp(said(in_order), "in order") == 0, "nothing is said of locks in order");
    ok(strcmp(said(tried), "in order") == 0, "nor of one that is only tried");
    ok(strcmp(said(again), "in order") == 0, "nor of a recursive one that the thread has");
}
#else
static void checks(void)
{
    ok(all_of(sizeof(ORR_SPIN(queue)) == sizeof(orr_spin),
              sizeof(ORR_MUTEX(plans)) == sizeof(pthread_mutex_t)),
       "a lock with a name is no larger than one without");
    skip("this build does not check the order of locks (configure --enable-lock-checks)");
}
#endif

int main(void)
{
    alarm(30);
    checks();
    return done_testing();
}
