/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of misuse share: each misuse runs in a child of its own, whose messages, result and end are
 * looked at. Children run several at a time: most of them wait, for the kernel or for a deadlock to be
 * noticed. Threads: main only; the runtime is started in children. Owns: the children. Not here: the misuses
 * (tests/core/misuse*.c, tests/core/env.c, tests/core/deadlock.c).
 */
#ifndef ORR_TESTS_MISUSE_H
#define ORR_TESTS_MISUSE_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include "tests/helper.h"

enum {
    UP = 1,    /* the runtime runs, and must still work afterwards */
    QUIET = 2, /* documented not to be an error: nothing is said */
    LINES = 4, /* more than one line may be said */
    ENDS = 8,  /* returns nothing, and cannot go on: ends the process with status 1, without an error hook */
};

struct misuse {
    const char *what;
    bool (*run)(void); /* whether the result was the documented one */
    int flags;
};

enum {
    SECONDS = 15,
    AT_A_TIME = 3,
    AS_DOCUMENTED = 0,
    WRONG_RESULT = 91,
    BROKEN_AFTERWARDS = 92,
    NO_RUNTIME = 93
};

/* What a child said and how it ended. */
struct outcome {
    char said[8192];
    int lines; /* of messages: those that begin with "orrery" */
    int status;
};

UNUSED static bool returns_line(long got, long want, const char *text, int line)
{
    if (got != want) diag("line %d: %s is %ld, not %ld", line, text, got, want);
    return got == want;
}
#define returns(call, want) returns_line((long)(call), (long)(want), #call, __LINE__)

static atomic_int misuse_ran;

static void misuse_count_func(void *buffers[] UNUSED, void *arg UNUSED)
{
    atomic_fetch_add(&misuse_ran, 1);
}
UNUSED static struct starpu_codelet count_cl = { .cpu_funcs = { misuse_count_func }, .name = "count" };

static inline bool runtime_up(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.precedence_over_environment_variables = 1;
    return starpu_init(&conf) == 0;
}

/* Whether tasks with data still run, and the runtime can be stopped. */
static inline bool runtime_works(void)
{
    starpu_task_wait_for_all();
    int x = 1, before = atomic_load(&misuse_ran);
    starpu_data_handle_t h;
    static struct starpu_codelet one_cl = { .cpu_funcs = { misuse_count_func },
                                            .nbuffers = 1,
                                            .modes = { STARPU_RW } };
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    for (int i = 0; i < 10; i++)
        if (starpu_task_insert(&one_cl, STARPU_RW, h, 0) != 0) return false;
    starpu_data_unregister(h);
    starpu_task_wait_for_all();
    starpu_shutdown();
    return atomic_load(&misuse_ran) == before + 10 && !starpu_is_initialized();
}

static inline int misuse_child(const struct misuse *m, int to)
{
    int own = dup(STDERR_FILENO);
    alarm(SECONDS);
    if ((m->flags & UP) && !runtime_up()) return NO_RUNTIME;
    dup2(to, STDERR_FILENO);
    bool right = m->run();
    fflush(stderr);
    dup2(own, STDERR_FILENO);
    if (!right) return WRONG_RESULT;
    return (m->flags & UP) && starpu_is_initialized() && !runtime_works() ? BROKEN_AFTERWARDS : AS_DOCUMENTED;
}

static inline void outcome_read(struct outcome *o, int from)
{
    size_t at = 0;
    for (ssize_t n; (n = read(from, o->said + at, sizeof o->said - 1 - at)) > 0;) at += (size_t)n;
    o->said[at] = '\0';
    for (const char *p = o->said; (p = strstr(p, "orrery")) != NULL; p++)
        if (p == o->said || p[-1] == '\n') o->lines++;
}

/* A child that runs a misuse. */
struct trial {
    struct outcome o;
    pid_t child;
    int from; /* what it says */
};

/* Starts one; it goes on while others are started and ended. */
static inline struct trial misuse_begin(const struct misuse *m)
{
    struct trial t = { .o = { .status = -1 }, .child = -1, .from = -1 };
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0) return t;
    t.from = ends[0];
    t.child = fork();
    if (t.child == 0) {
        close(ends[0]);
        _exit(misuse_child(m, ends[1]));
    }
    close(ends[1]);
    return t;
}

/* Waits for its end; its outcome is complete then. */
static inline void misuse_end(struct trial *t)
{
    if (t->child < 0) return;
    outcome_read(&t->o, t->from);
    close(t->from);
    waitpid(t->child, &t->o.status, 0);
    t->child = -1;
}

static inline struct outcome misuse_try(const struct misuse *m)
{
    struct trial t = misuse_begin(m);
    misuse_end(&t);
    return t.o;
}

static inline const char *outcome_text(int status)
{
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashes";
    switch (WEXITSTATUS(status)) {
    case AS_DOCUMENTED: return "as documented";
    case WRONG_RESULT: return "another result than documented";
    case BROKEN_AFTERWARDS: return "the runtime does not work afterwards";
    case NO_RUNTIME: return "the runtime could not be started";
    default: return "it ended the process";
    }
}

/* Prints the lines that a child said, as comments. */
static inline void outcome_show(const struct outcome *o)
{
    char copy[sizeof o->said], *rest = copy;
    memcpy(copy, o->said, sizeof copy);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line) diag("said: %s", line);
}

static inline void misuse_check(const struct misuse *m, const struct outcome *o)
{
    bool ended = WIFEXITED(o->status) && WEXITSTATUS(o->status) == (m->flags & ENDS ? 1 : AS_DOCUMENTED);
    bool said = m->flags & QUIET ? o->lines == 0 : m->flags & LINES ? o->lines > 0 : o->lines == 1;
    if (!ok(ended && said, "%s", m->what)) {
        diag("%s, with %d lines said", outcome_text(o->status), o->lines);
        outcome_show(o);
    }
}

static inline int misuse_check_all(const struct misuse *all, size_t count)
{
    static struct trial trials[AT_A_TIME];
    for (size_t i = 0; i < count + AT_A_TIME; i++) { /* the one begun so many before is ended */
        struct trial *t = &trials[i % AT_A_TIME];
        if (i >= AT_A_TIME) {
            misuse_end(t);
            misuse_check(&all[i - AT_A_TIME], &t->o);
        }
        if (i < count) *t = misuse_begin(&all[i]);
    }
    return done_testing();
}

#endif
