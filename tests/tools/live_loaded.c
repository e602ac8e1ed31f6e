/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live view of a program that loads the library at run time, as Python does: its page, what its tasks
 * wait for, and SIGUSR1 while the runtime runs, after it ended, and when it runs again. Threads: main; tools
 * are children. Owns: a folder for the page. Not here: loading itself (tests/core/dlopen.c), other programs
 * (live.c, why.c).
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <starpu.h>

#include "tests/tap.h"
#include "tests/tools/runs.h"

static struct {
    void *library;
    int (*init)(struct starpu_conf *);
    void (*shutdown)(void);
    struct starpu_task *(*create)(void);
    int (*submit)(struct starpu_task *);
    int (*wait_for_all)(void);
} api;

static char folder[] = "/tmp/orrery-loaded.XXXXXX";
static atomic_int entered, opened;

static void hold(void *buffers[] __attribute__((unused)), void *arg __attribute__((unused)))
{
    atomic_store(&entered, 1);
    while (!atomic_load(&opened)) sched_yield();
}
static struct starpu_codelet holds = { .cpu_funcs = { hold }, .name = "holds the worker" };

static void *find(const char *name)
{
    void *f = dlsym(api.library, name);
    if (!f) printf("Bail out! %s\n", dlerror()), exit(1);
    return f;
}

static void load(void)
{
    char path[4096];
    const char *build = getenv("ORR_BUILDDIR");
    snprintf(path, sizeof path, "%s/.libs/liborrery.so", build ? build : ".");
    api.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!api.library) skip_all("the library cannot be loaded: it is static, or wants a sanitizer before it");
    *(void **)&api.init = find("starpu_init");
    *(void **)&api.shutdown = find("starpu_shutdown");
    *(void **)&api.create = find("starpu_task_create");
    *(void **)&api.submit = find("starpu_task_submit");
    *(void **)&api.wait_for_all = find("starpu_task_wait_for_all");
}

static int pages(void)
{
    run("ls %s | wc -l", folder);
    return atoi(output);
}

static int submit(const char *name)
{
    struct starpu_task *t = api.create();
    t->cl = &holds;
    t->name = name;
    return api.submit(t);
}

static void look(const char *when)
{
    atomic_store(&entered, 0);
    atomic_store(&opened, 0);
    if (!ok(api.init(NULL) == 0 && submit("the first") == 0, "%s: the runtime runs", when)) exit(1);
    while (!atomic_load(&entered)) sched_yield();
    ok(submit("the second") == 0, "a task runs, and one waits");
    ok(all_of(run("tools/orrery_top -1 -a -d 0.1 %d", (int)getpid()) == 0, says("the first (job ")),
       "orrery_top shows what runs");
    ok(all_of(run("tools/orrery_why %d", (int)getpid()) == 0, says("task the second (job "),
              says("waits for a worker")),
       "and orrery_why what waits");
    atomic_store(&opened, 1);
    api.wait_for_all();
    api.shutdown();
    is_int(pages(), 0, "nothing is left when the runtime has ended");
}

/* A handler that stayed would be called in a library that may be gone. */
static int dies_of_signal(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
}

int main(void)
{
    load();
    if (!mkdtemp(folder)) return 99;
    setenv("ORRERY_LIVE", folder, 1);
    setenv("STARPU_NCPU", "1", 1);
    setenv("STARPU_SCHED", "eager", 1);
    look("loaded");
    dlclose(api.library);
    ok(dies_of_signal(), "SIGUSR1 means what it did before, when the library is closed");
    load();
    look("loaded again");
    dlclose(api.library);
    rmdir(folder);
    return done_testing();
}
