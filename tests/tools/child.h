/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that is looked at while it runs: this one with another argument, which says how far it is on its
 * standard output, and goes on when a byte comes on its standard input; and reading what a terminal shows.
 * Threads: main. Owns: the pipes. Not here: what it does.
 */
#ifndef ORR_TESTS_TOOLS_CHILD_H
#define ORR_TESTS_TOOLS_CHILD_H

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#define CHILD_UNUSED __attribute__((unused))

struct child {
    pid_t pid;
    int to, from;
};

/* ---- in the child ---- */

CHILD_UNUSED static void child_says(const char *word)
{
    printf("%s\n", word);
    fflush(stdout);
}

CHILD_UNUSED static void child_waits(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) < 0) continue;
}

/* ---- in the parent ---- */

CHILD_UNUSED static struct child child_start(const char *self, const char *role)
{
    int to[2], from[2];
    struct child c = { .pid = -1 };
    if (pipe(to) || pipe(from)) return c;
    c.pid = fork();
    if (c.pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execl(self, self, role, (char *)NULL);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    c.to = to[1];
    c.from = from[0];
    return c;
}

/* Reads lines until that word; false: the child ended without it. */
CHILD_UNUSED static int child_hears(const struct child *c, const char *word)
{
    char text[256];
    size_t n = 0;
    while (n < sizeof text - 1 && read(c->from, text + n, 1) == 1) {
        text[++n] = 0;
        if (strstr(text, word)) return 1;
        if (text[n - 1] == '\n') n = 0;
    }
    return 0;
}

CHILD_UNUSED static void child_tell(const struct child *c)
{
    if (write(c->to, ".", 1) != 1) diag("the child is gone");
}

CHILD_UNUSED static void child_forget(const struct child *c)
{
    close(c->to);
    close(c->from);
}

CHILD_UNUSED static int child_ends(const struct child *c)
{
    int status = -1;
    child_forget(c);
    waitpid(c->pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Reads what a terminal shows until text, or its end (NULL); 0: it did not come. */
CHILD_UNUSED static size_t terminal_until(int master, char *shown, size_t bytes, const char *text)
{
    enum { PATIENCE_MS = 20000 };
    size_t n = 0;
    struct pollfd p = { .fd = master, .events = POLLIN };
    for (;;) {
        if (n > bytes - 512) { /* keeps the end */
            memmove(shown, shown + n / 2, n - n / 2);
            n -= n / 2;
        }
        ssize_t got = poll(&p, 1, PATIENCE_MS) > 0 ? read(master, shown + n, 500) : -1;
        if (got <= 0) return text ? 0 : n;
        for (ssize_t i = 0; i < got; i++)
            if (!shown[n + (size_t)i]) shown[n + (size_t)i] = ' ';
        n += (size_t)got;
        shown[n] = 0;
        if (text && strstr(shown, text)) return n;
    }
}

#endif
