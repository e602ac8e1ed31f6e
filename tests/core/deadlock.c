/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlock.c: programs that can never go on are told why and ended, and programs that can are left alone.
 * Threads: each case runs in a process of its own. Owns: nothing. Not here: deadlocks across ranks. */
#include <signal.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

enum { OUTPUT_BYTES = 16384, LONG_S = 3 };

static void nothing(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static void slow(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    sleep(LONG_S);
}

static struct starpu_codelet plain_cl = { .cpu_funcs = { nothing }, .name = "plain" };
static struct starpu_codelet slow_cl = { .cpu_funcs = { slow }, .name = "slow" };
static struct starpu_codelet writer_cl = {
    .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "writer"
};

static struct starpu_task *make(struct starpu_codelet *cl, const char *name)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->name = name;
    return t;
}

static void submit(struct starpu_task *t)
{
    if (starpu_task_submit(t) != 0) exit(3);
}

static void cycle(void)
{
    struct starpu_task *a = make(&plain_cl, "hen"), *b = make(&plain_cl, "egg");
    starpu_task_declare_deps_array(a, 1, &b);
    starpu_task_declare_deps_array(b, 1, &a);
    submit(a);
    submit(b);
    starpu_task_wait_for_all();
}

static void never_submitted(void)
{
    struct starpu_task *a = make(&plain_cl, "patient"), *b = make(&plain_cl, "forgotten");
    starpu_task_declare_deps_array(a, 1, &b);
    submit(a);
    starpu_task_wait_for_all();
}

static void never_released(void)
{
    static int x;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    if (starpu_data_acquire(h, STARPU_RW) != 0) exit(3);
    starpu_task_insert(&writer_cl, STARPU_RW, h, STARPU_NAME, "kept_out", 0);
    starpu_task_wait_for_all();
}

static void hole_in_order(void)
{
    struct starpu_task *t = make(&plain_cl, "second");
    t->execute_on_a_specific_worker = 1;
    t->workerid = 0;
    t->workerorder = 2;
    submit(t);
    starpu_task_wait_for_all();
}

/* A policy of the program's that says "two workers", and gives the task to one. */
static int push_to_one(struct starpu_task *task)
{
    starpu_parallel_task_barrier_init_n(task, 2);
    return starpu_push_local_task(0, starpu_task_dup(task), 0);
}
static struct starpu_sched_policy to_one = { .push_task = push_to_one, .policy_name = "to one" };
static struct starpu_codelet spmd_cl = { .cpu_funcs = { nothing }, .type = STARPU_SPMD, .name = "spmd" };

static void half_a_team(void)
{
    starpu_shutdown();
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.sched_policy = &to_one;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0) _exit(77);
    submit(make(&spmd_cl, "half"));
    starpu_task_wait_for_all();
}

static void only_long(void)
{
    submit(make(&slow_cl, "long"));
    starpu_task_wait_for_all();
}

/* The main thread is outside the runtime all the while, and submits what is missing in the end. */
static void late_program(void)
{
    struct starpu_task *a = make(&plain_cl, "patient"), *b = make(&plain_cl, "late");
    starpu_task_declare_deps_array(a, 1, &b);
    submit(a);
    sleep(LONG_S);
    submit(b);
    starpu_task_wait_for_all();
}

/* Runs one case in a child; fills output with what it wrote to standard error. Returns its exit status, or
 * -signal. */
static int run(void (*body)(void), char *output, double *seconds_out)
{
    int fd[2], status = 0;
    if (pipe(fd) != 0) exit(3);
    fflush(stdout);
    double begin = starpu_timing_now();
    pid_t child = fork();
    if (child == 0) {
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        alarm(15);
        struct starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = 2;
        if (starpu_init(&conf) != 0) _exit(77);
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
    *seconds_out = (starpu_timing_now() - begin) * 1e-6;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void stuck(void (*body)(void), const char *expected, const char *fact)
{
    static char output[OUTPUT_BYTES];
    double seconds;
    int status = run(body, output, &seconds);
    ok(all_of(status == 1, strstr(output, "deadlock"), strstr(output, expected), seconds < 6), "%s", fact);
    if (status != 1 || !strstr(output, expected))
        printf("# status %d after %.1f s: %s\n", status, seconds, output);
}

static void left_alone(void (*body)(void), const char *fact)
{
    static char output[OUTPUT_BYTES];
    double seconds;
    int status = run(body, output, &seconds);
    ok(all_of(status == 0, !strstr(output, "deadlock")), "%s", fact);
}

int main(void)
{
    stuck(cycle, "in a circle",
          "a cycle of dependencies is printed as one, and the program ends with status 1");
    stuck(never_submitted, "forgotten", "a dependency that was never submitted is named");
    stuck(never_released, "starpu_data_acquire without starpu_data_release",
          "data that the program never released is named");
    stuck(hole_in_order, "workerorder 1", "a missing workerorder is named");
    stuck(half_a_team, "half", "a parallel task that too few workers were given is named");
    stuck(half_a_team, "on 2 workers together, and 1 have come", "and how many have come");
    left_alone(only_long, "a task that runs longer than the limit is no deadlock");
    left_alone(late_program, "a program that computes outside the runtime is no deadlock");
    return done_testing();
}
