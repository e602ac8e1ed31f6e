/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crash in a kernel says which task, codelet, worker and data it was, and ends the program as it would
 * have. Threads: each case runs in a process of its own. Owns: nothing. Not here: errors that are returned.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/helper.h"

enum { OUTPUT_BYTES = 8192, OWN_STATUS = 5 };

static volatile int zero, depth_seen;
static volatile int *volatile nowhere;

static int deep(int n)
{
    volatile char room[4096];
    room[0] = (char)n;
    depth_seen = n;
    return n < 0 ? 0 : deep(n + 1) + room[0];
}

/* Memory of a file that has no such place. */
static volatile int *beyond_the_file(void)
{
    FILE *empty = tmpfile();
    void *at = empty ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(empty), 0) : MAP_FAILED;
    if (at == MAP_FAILED) _exit(78);
    return at;
}

static void crash(void *buffers[], void *arg)
{
    (void)buffers;
    switch ((intptr_t)arg) {
    case SIGSEGV: *nowhere = 1; break;
    case SIGBUS: *beyond_the_file() = 1; break;
    case SIGFPE: depth_seen = depth_seen / zero; break;
    case SIGILL: raise(SIGILL); break;
    case SIGABRT: abort();
    default: depth_seen = deep(0); break;
    }
}

static struct starpu_codelet cl = {
    .cpu_funcs = { crash }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "crasher"
};

static void own_handler(int signal)
{
    static const char text[] = "own handler\n";
    (void)signal;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
    _exit(OWN_STATUS);
}

/* Returns the exit status, or -signal. */
static int run(int how, int own, const char *setting, char *output)
{
    int fd[2], status = 0;
    size_t used = 0;
    if (pipe(fd) != 0) exit(3);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        static int x;
        starpu_data_handle_t h;
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        alarm(20);
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        if (setting) setenv("STARPU_CATCH_SIGNALS", setting, 1);
        if (own) signal(how, own_handler);
        struct starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = 1;
        if (starpu_init(&conf) != 0) _exit(77);
        starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
        starpu_data_set_name(h, "victim");
        starpu_task_insert(&cl, STARPU_RW, h, STARPU_CL_ARGS_NFREE, (void *)(intptr_t)how, sizeof(int),
                           STARPU_NAME, "fatal", 0);
        starpu_task_wait_for_all();
        _exit(0);
    }
    close(fd[1]);
    for (ssize_t n; used < OUTPUT_BYTES - 1 && (n = read(fd[0], output + used, OUTPUT_BYTES - 1 - used)) > 0;)
        used += (size_t)n;
    output[used] = 0;
    close(fd[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int tells(const char *output)
{
    return strstr(output, "task fatal") && strstr(output, "codelet crasher") &&
           strstr(output, "on worker 0") && strstr(output, "victim");
}

static void says(int how, const char *name)
{
    static char output[OUTPUT_BYTES];
    int status = run(how, 0, NULL, output), want = how ? how : SIGSEGV;
    if (!ok(all_of(status == -want, strstr(output, name), tells(output)),
            "%s%s: task, codelet, worker and data are named, and the program dies of it", name,
            how ? "" : " of an overflowing stack"))
        printf("# status %d: %s\n", status, output);
}

int main(void)
{
    static char output[OUTPUT_BYTES];
    if (SANITIZED) skip_all("sanitizers have these signals");
    says(SIGSEGV, "SIGSEGV");
    says(SIGBUS, "SIGBUS");
    says(SIGFPE, "SIGFPE");
    says(SIGILL, "SIGILL");
    says(SIGABRT, "SIGABRT");
    says(0, "SIGSEGV");
    int status = run(SIGSEGV, 1, NULL, output);
    ok(all_of(status == OWN_STATUS, tells(output), strstr(output, "own handler")),
       "a handler that the program had installed is called afterwards");
    status = run(SIGSEGV, 0, "0", output);
    ok(all_of(status == -SIGSEGV, !strstr(output, "fatal")), "STARPU_CATCH_SIGNALS=0: not a word");
    return done_testing();
}
