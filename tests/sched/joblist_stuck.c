/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist_stuck.c: job lists that can never go on are explained, and those that only wait are left alone.
 * Threads: each case runs in a process of its own. Owns: nothing. Not here: other deadlocks
 * (tests/core/deadlock.c), what lists do when all is well (joblist.c). */
#include <orrery.h>
#include <sys/wait.h>
#include "tests/helper.h"

enum { OUTPUT_BYTES = 16384, LONG_S = 3 };

static void nothing_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static void slow_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    sleep(LONG_S);
}
static struct starpu_codelet nothing_cl = { .cpu_funcs = { nothing_func }, .name = "nothing" };
static struct starpu_codelet slow_cl = { .cpu_funcs = { slow_func }, .name = "slow" };

static struct starpu_task *make(struct starpu_codelet *cl, const char *name)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = cl;
    task->name = name;
    return task;
}

static void add(struct orrery_joblist *list, struct starpu_task *task)
{
    if (orrery_joblist_add_job(list, task) != 0) exit(3);
}

/* The first job waits for the second, which comes after it. */
static void forward(void)
{
    struct orrery_joblist *list = orrery_joblist_create("errands", 0);
    struct starpu_task *shop = make(&nothing_cl, "shop"), *cook = make(&nothing_cl, "cook");
    starpu_task_declare_deps_array(shop, 1, &cook);
    add(list, shop);
    add(list, cook);
    orrery_joblist_wait_for_all(list);
}

/* Two lists, each of whose first jobs waits for the other's second. */
static void crosswise(void)
{
    struct orrery_joblist *one = orrery_joblist_create("one", 0), *two = orrery_joblist_create("two", 0);
    struct starpu_task *a = make(&nothing_cl, "ant"), *b = make(&nothing_cl, "bee"),
                       *c = make(&nothing_cl, "cow"), *d = make(&nothing_cl, "dog");
    starpu_task_declare_deps_array(a, 1, &d);
    starpu_task_declare_deps_array(c, 1, &b);
    add(one, a);
    add(one, b);
    add(two, c);
    add(two, d);
    starpu_task_wait_for_all();
}

/* A job before the signal cannot end before one after the wait. */
static void behind_wait(void)
{
    struct orrery_joblist *list = orrery_joblist_create("window", 0);
    struct starpu_task *early = make(&nothing_cl, "early"), *late = make(&nothing_cl, "late");
    starpu_task_declare_end_deps_array(early, 1, &late);
    add(list, early);
    if (orrery_joblist_add_signal(list) || orrery_joblist_add_wait(list)) exit(3);
    add(list, late);
    orrery_joblist_wait_for_all(list);
}

/* Nobody starts the list. */
static void stopped(void)
{
    struct orrery_joblist *list = orrery_joblist_create("idle hands", 0);
    if (orrery_joblist_stop(list)) exit(3);
    add(list, make(&nothing_cl, "work"));
    orrery_joblist_wait_for_all(list);
}

static void only_slow(void)
{
    struct orrery_joblist *list = orrery_joblist_create("slow", 0);
    add(list, make(&slow_cl, "slow"));
    if (orrery_joblist_add_signal(list) || orrery_joblist_add_wait(list)) exit(3);
    add(list, make(&nothing_cl, "after"));
    orrery_joblist_wait_for_all(list);
    orrery_joblist_destroy(list);
}

/* Runs one case in a child; fills output with what it wrote to standard error. Returns its exit status, or
 * -signal. */
static int run(void (*body)(void), char *output)
{
    int fd[2], status = 0;
    if (pipe(fd) != 0) exit(3);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        alarm(50);
        runtime_start(2, "eager");
        body();
        starpu_shutdown();
        _exit(0);
    }
    close(fd[1]);
    size_t used = 0;
    for (ssize_t n; used < OUTPUT_BYTES - 1 && (n = read(fd[0], output + used, OUTPUT_BYTES - 1 - used)) > 0;)
        used += (size_t)n;
    output[used] = 0;
    close(fd[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void stuck(void (*body)(void), const char *first, const char *second, const char *fact)
{
    static char output[OUTPUT_BYTES];
    int status = run(body, output);
    ok(all_of(status == 1, strstr(output, "deadlock"), strstr(output, first), strstr(output, second)), "%s",
       fact);
    if (status != 1 || !strstr(output, first) || !strstr(output, second))
        printf("# status %d: %s\n", status, output);
}

int main(void)
{
    static char output[OUTPUT_BYTES];
    stuck(forward, "waits for its turn in job list \"errands\": task shop",
          "in a circle: ", "a job that waits for one behind it in its list is explained, as a circle");
    stuck(crosswise, "job list \"one\": task ant", "job list \"two\": task cow",
          "two lists that wait for each other are explained");
    stuck(behind_wait, "is after a wait in job list \"window\": task early",
          "in a circle: ", "a job before a signal that waits for one after the wait is explained");
    stuck(stopped, "is a job of list \"idle hands\", which is stopped", "orrery_joblist_start",
          "a list that nobody starts is explained");
    is_int(run(only_slow, output), 0, "a list that waits for a long job is left alone");
    return done_testing();
}
