/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The graph of who waits for whom: its circle, where it ends, its DOT file. Threads: main. Owns: nothing. Not
 * here: deadlocks (tests/core/deadlock.c, tests/mpi/failures.h).
 */
#include "core/run/waits.h"

#include <starpu.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static char text[4096];

static void body(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static void circles(void)
{
    struct orr_waits w = { 0 };
    ok(all_of(!orr_waits_circle(&w, text, sizeof text), !*text), "of nothing there is nothing to say");
    orr_waits_for(&w, "a", "b");
    orr_waits_for(&w, "x", "a");
    orr_waits_for(&w, "b", "c");
    ok(all_of(!orr_waits_circle(&w, text, sizeof text), !strcmp(text, "x -> a -> b -> c (not begun)")),
       "without a circle: the way to what all waits for, which is not there");
    orr_waits_add(&w, "c");
    ok(all_of(!orr_waits_circle(&w, text, sizeof text), !strcmp(text, "x -> a -> b -> c")), "or is");
    orr_waits_for(&w, "c", "a");
    ok(all_of(orr_waits_circle(&w, text, sizeof text), !strcmp(text, "a -> b -> c -> a")),
       "a circle is found");
    orr_waits_fini(&w);
    orr_waits_for(&w, "self", "self");
    ok(all_of(orr_waits_circle(&w, text, sizeof text), !strcmp(text, "self -> self")), "also one of one");
    orr_waits_fini(&w);
    for (int i = 0; i < 6000; i++) {
        char from[16], to[16];
        snprintf(from, sizeof from, "n%d", i);
        snprintf(to, sizeof to, "n%d", i + 1);
        orr_waits_for(&w, from, to);
    }
    ok(all_of(!orr_waits_circle(&w, text, sizeof text), !strncmp(text, "n0 -> n1 -> n2", 14),
              strlen(text) == sizeof text - 1),
       "what is too much is cut");
    orr_waits_fini(&w);
}

static void dot(void)
{
    struct orr_waits w = { 0 };
    char file[] = "/tmp/orrery-waits-XXXXXX";
    int fd = mkstemp(file);
    orr_waits_for(&w, "rank 0: task \"a\"", "rank 1: task b");
    orr_waits_for(&w, "rank 1: task b", "rank 0: task \"a\"");
    orr_waits_for(&w, "rank 1: task b", "somebody");
    ok(orr_waits_write(&w, file) == 0, "a file is written");
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    ok(all_of(!strncmp(text, "digraph", 7), strstr(text, "label=\"task \\\"a\\\"\""),
              strstr(text, "cluster_rank1"), strstr(text, "n0 -> n1 [color=red]"),
              strstr(text, "n1 -> n0 [color=red]"), strstr(text, "n1 -> n2;"),
              strstr(text, "[label=\"somebody\", style=dashed]")),
       "with the ranks, the circle, and what is not there");
    ok(orr_waits_write(&w, "/nonexistent/file") < 0, "where none can be written that is told");
    orr_waits_fini(&w);
    close(fd);
    unlink(file);
}

/* Its program waits for a task that waits for its program. */
static void stuck(void)
{
    static struct starpu_codelet cl = {
        .where = STARPU_CPU, .nbuffers = 1, .modes = { STARPU_RW }, .name = "waiter"
    };
    starpu_data_handle_t h;
    int x = 0;
    cl.cpu_funcs[0] = body;
    if (starpu_init(NULL)) _exit(9);
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    starpu_data_acquire(h, STARPU_W);
    starpu_task_insert(&cl, STARPU_RW, h, 0);
    starpu_task_wait_for_all();
    _exit(8);
}

/* A process of its own; what it draws is read when it has ended. */
static pid_t begin_stuck(const char *file)
{
    fflush(stdout);
    pid_t child = fork();
    if (child) return child;
    setenv("ORRERY_DEADLOCK_DOT", file, 1);
    alarm(40);
    stuck();
    return -1;
}

static void alone(pid_t child, const char *file)
{
    int status;
    waitpid(child, &status, 0);
    FILE *f = fopen(file, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f) fclose(f);
    remove(file);
    ok(all_of(WIFEXITED(status), WEXITSTATUS(status) == 1, strstr(text, "label=\"task waiter"),
              strstr(text, "tests/core/waits.c:"), strstr(text, "acquired by the program\""),
              strstr(text, "[color=red]")),
       "a deadlock of one process is drawn: its task, and who holds its data");
}

int main(void)
{
    char file[64];
    snprintf(file, sizeof file, "/tmp/orrery-waits-%d.dot", (int)getpid());
    pid_t child = begin_stuck(file);
    circles();
    dot();
    alone(child, file);
    return done_testing();
}
