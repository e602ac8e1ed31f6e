/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.h: what orrery_top and orrery_why share: finding a process by what the user typed, saying why it is
 * none, and finding the ranks beside it. Threads: main. Owns: nothing. Not here: the pages
 * (core/base/livepage.h). */
#ifndef ORR_TOOLS_LIVE_PAGES_H
#define ORR_TOOLS_LIVE_PAGES_H

#include <ctype.h>
#include <signal.h>
#include <time.h>

#include "core/base/livepage.h"
#include "tools/tool.h"

/* The number of a process, or 0. */
static pid_t pid_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && n > 0 && n <= INT32_MAX ? (pid_t)n : 0;
}

/* Its page, or NULL, which was complained of. */
static struct orr_live_page *page_of(const struct tool *t, pid_t pid)
{
    struct orr_live_page *page = NULL;
    const char *folder = orr_livepage_folder();
    if (!folder) {
        tool_complain(t, "ORRERY_LIVE=0: there are no pages to look at");
        return NULL;
    }
    switch (orr_livepage_open(pid, &page)) {
    case ORR_LIVE_FOUND: return page;
    case ORR_LIVE_OTHER:
        tool_complain(t, "process %d runs another version of Orrery: use the %s that came with it", (int)pid,
                      t->name);
        return NULL;
    case ORR_LIVE_REFUSED:
        tool_complain(t, "the page of process %d in %s cannot be read, or is damaged", (int)pid, folder);
        return NULL;
    case ORR_LIVE_NONE: break;
    }
    if (kill(pid, 0) != 0 && errno == ESRCH)
        tool_complain(t, "there is no process %d", (int)pid);
    else
        tool_complain(
            t,
            "process %d shows nothing in %s: it is another user's, has not called starpu_init, or has "
            "ORRERY_LIVE=0; %s without a number lists those that do",
            (int)pid, folder, t->name);
    return NULL;
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* ---- the numbers, and the ranks of a run ---- */

enum { RANKS_MOST = 4096, NUMBERS_WITHIN_MS = 3000 };
static volatile sig_atomic_t stopped; /* by a signal: waiting ends */

/* The numbers of a page, to be freed; NULL: out of memory. */
static struct orr_live_sums *numbers_for(const struct orr_live_page *page)
{
    return calloc(page->words, sizeof(uint64_t));
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Copies numbers that the process wrote after it was asked, at that time; false: it has ended, or does not
 * answer. */
static bool newer_numbers(struct orr_live_page *page, pid_t pid, uint64_t asked_ns,
                          struct orr_live_sums *numbers_out)
{
    while (!stopped) {
        bool late = now_ns() > asked_ns + (uint64_t)NUMBERS_WITHIN_MS * 1000000;
        if (orr_livepage_read(page, numbers_out) && numbers_out->at_ns >= asked_ns) return true;
        if (late || !orr_livepage_lives(pid)) return false;
        nap(20);
    }
    return false;
}

static bool newest_numbers(struct orr_live_page *page, pid_t pid, struct orr_live_sums *numbers_out)
{
    uint64_t asked_ns = now_ns();
    orr_livepage_look(page);
    return newer_numbers(page, pid, asked_ns, numbers_out);
}

struct rank {
    pid_t pid;
    struct orr_live_page *page;
    struct orr_live_sums *numbers; /* to be freed */
};

/* Which of these processes belong to the run of that group; their number. All are asked before the first is
 * waited for, so those that do not answer cost their time once. */
static size_t find_ranks_among(const pid_t *pids, size_t n, uint64_t group, struct rank *ranks_out)
{
    size_t asked = 0, found = 0;
    uint64_t asked_ns = now_ns();
    for (size_t i = 0; i < n; i++) {
        struct rank r = { .pid = pids[i] };
        if (orr_livepage_open(r.pid, &r.page) != ORR_LIVE_FOUND) continue;
        r.numbers = numbers_for(r.page);
        orr_livepage_look(r.page);
        ranks_out[asked++] = r;
    }
    for (size_t i = 0; i < asked; i++) {
        struct rank r = ranks_out[i];
        if (r.numbers && newer_numbers(r.page, r.pid, asked_ns, r.numbers) && r.numbers->group == group) {
            ranks_out[found++] = r;
        } else {
            free(r.numbers);
            orr_livepage_close(r.page);
        }
    }
    return found;
}

/* ---- the command line ---- */

/* Prints all processes of this user. */
static int list_processes(const struct tool *t)
{
    enum { MOST = 4096 };
    static pid_t pids[MOST];
    size_t n = orr_livepage_list(pids, MOST);
    if (n) printf("%8s %8s  %-20s %s\n", "PID", "WORKERS", "STARTED", "PROGRAM");
    for (size_t i = 0; i < n; i++) {
        struct orr_live_page *page;
        char when[64] = "";
        enum orr_livepage_found found = orr_livepage_open(pids[i], &page);
        if (found == ORR_LIVE_OTHER) printf("%8d of another version of Orrery\n", (int)pids[i]);
        if (found != ORR_LIVE_FOUND) continue;
        time_t started = (time_t)page->started_s;
        struct tm tm;
        if (localtime_r(&started, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
        printf("%8d %8u  %-20s %.*s\n", (int)pids[i], page->workers, when, (int)sizeof page->program - 1,
               page->program);
        orr_livepage_close(page);
    }
    if (n == 0) printf("no process of this user shows what it does\n");
    return tool_end(t);
}

/* What is left of the command line: the page of the process that it names. NULL: main ends with *status_out;
 * if it names none, all were listed. */
static struct orr_live_page *page_of_arguments(const struct tool *t, int argc, char **argv, pid_t *pid_out,
                                               int *status_out)
{
    orr_livepage_set_folder(getenv("ORRERY_LIVE"));
    *status_out = TOOL_FAILED;
    if (argc - optind > 1) {
        *status_out = tool_usage(t);
        return NULL;
    }
    if (optind == argc) {
        *status_out = list_processes(t);
        return NULL;
    }
    *pid_out = pid_of(argv[optind]);
    if (*pid_out) return page_of(t, *pid_out);
    tool_complain(t, "%s is no number of a process", argv[optind]);
    *status_out = tool_usage(t);
    return NULL;
}

/* Of a process that was asked, and said nothing. */
static int no_answer(const struct tool *t, pid_t pid)
{
    return orr_livepage_lives(pid)
               ? tool_complain(t, "process %d does not answer: it is stopped, perhaps", (int)pid)
               : tool_complain(t, "process %d has ended", (int)pid);
}

#endif
