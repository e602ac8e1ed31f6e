/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that does not know the library: plug-ins, Python, Julia. It loads others first, which take of the
 * little space that late-comers have for thread-local variables, then ours; threads that called it end after
 * it was closed; it is loaded again.
 * Threads: main loads and closes; others run tasks. Owns: nothing.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <starpu.h>
#include "tests/tap.h"

static struct {
    void *library;
    int (*init)(struct starpu_conf *);
    void (*shutdown)(void);
    struct starpu_task *(*create)(void);
    int (*submit)(struct starpu_task *);
    int (*wait)(struct starpu_task *);
} api;

static void *find(const char *name)
{
    void *f = dlsym(api.library, name);
    if (!f) printf("Bail out! %s\n", dlerror()), exit(1);
    return f;
}

static void *load(const char *name)
{
    char path[4096];
    const char *folder = getenv("ORR_BUILDDIR");
    snprintf(path, sizeof path, "%s/.libs/%s", folder ? folder : ".", name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int open_library(void)
{
    api.library = load("liborrery.so");
    if (!api.library) {
        printf("# %s\n", dlerror());
        return 0;
    }
    *(void **)&api.init = find("starpu_init");
    *(void **)&api.shutdown = find("starpu_shutdown");
    *(void **)&api.create = find("starpu_task_create");
    *(void **)&api.submit = find("starpu_task_submit");
    *(void **)&api.wait = find("starpu_task_wait");
    return 1;
}

static atomic_int ran, wrong, users, closed;

static void count(void *buffers[] __attribute__((unused)), void *arg __attribute__((unused)))
{
    atomic_fetch_add(&ran, 1);
}

static struct starpu_codelet count_cl = { .cpu_funcs = { count }, .name = "count" };

enum { TASKS = 100, THREADS = 4 };

static void run_tasks(void)
{
    for (int i = 0; i < TASKS; i++) {
        struct starpu_task *t = api.create();
        t->cl = &count_cl;
        t->detach = 0;
        if (api.submit(t) != 0 || api.wait(t) != 0) atomic_fetch_add(&wrong, 1);
    }
}

/* Uses the library, and ends after that was closed. */
static void *user(void *arg)
{
    run_tasks();
    atomic_fetch_add(&users, 1);
    while (!atomic_load(&closed)) sched_yield();
    return arg;
}

static int session(void)
{
    pthread_t threads[THREADS];
    struct starpu_conf *none = NULL;
    int r = api.init(none);
    if (r != 0) return r;
    atomic_store(&closed, 0);
    atomic_store(&users, 0);
    atomic_store(&ran, 0);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, user, NULL);
    run_tasks();
    while (atomic_load(&users) < THREADS) sched_yield();
    api.shutdown();
    r = dlclose(api.library);
    atomic_store(&closed, 1);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return r;
}

/* The bytes of thread-local variables of the libraries whose name begins so. */
struct found {
    const char *name;
    size_t bytes;
    int libraries;
};

static int look(struct dl_phdr_info *info, size_t size __attribute__((unused)), void *arg)
{
    struct found *f = arg;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(name, f->name, strlen(f->name)) != 0) return 0;
    f->libraries++;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) f->bytes += info->dlpi_phdr[i].p_memsz;
    return 0;
}

int main(void)
{
    static const char *const others[] = { "libgomp.so.1", "libstdc++.so.6", "libhwloc.so.15",
                                          "libgfortran.so.5" };
    const char *sanitizer = getenv("ORR_SANITIZER");
    if (sanitizer && strcmp(sanitizer, "none") != 0)
        skip_all("a library with a sanitizer cannot be loaded late");
    setenv("STARPU_NCPU", "2", 1);
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        printf("# %s: %s\n", others[i], dlopen(others[i], RTLD_NOW) ? "loaded before" : "is not here");
    ok(open_library(), "liborrery can be loaded after libgomp and others");
    if (!api.library) return done_testing();
    struct found own = { .name = "liborrery.so" };
    dl_iterate_phdr(look, &own);
    ok(all_of(own.libraries == 1, own.bytes <= 16), "it takes %zu bytes of thread-local variables",
       own.bytes);
    is_int(session(), 0, "threads of the program use it, and end after dlclose");
    is_int(atomic_load(&ran), (THREADS + 1) * TASKS, "all their tasks ran");
    ok(all_of(open_library(), session() == 0), "it can be loaded again");
    is_int(atomic_load(&ran), (THREADS + 1) * TASKS, "and runs tasks again");
    is_int(atomic_load(&wrong), 0, "every task was taken");
    void *mpi = load("liborrery-mpi.so");
    if (!mpi) printf("# %s\n", dlerror());
    struct found mpi_own = { .name = "liborrery-mpi.so" };
    dl_iterate_phdr(look, &mpi_own);
    if (mpi)
        ok(all_of(dlsym(mpi, "starpu_mpi_init"), mpi_own.bytes == 0),
           "liborrery-mpi can be loaded late, too");
    else
        skip("liborrery-mpi was not built, or MPI cannot be loaded");
    if (mpi) dlclose(mpi);
    return done_testing();
}
