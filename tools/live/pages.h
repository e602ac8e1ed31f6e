/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.h: what orrery_top and orrery_why share: finding a process by what the user typed, and saying why it
 * is none. Threads: main. Owns: nothing. Not here: the pages (core/base/livepage.h). */
#ifndef ORR_TOOLS_LIVE_PAGES_H
#define ORR_TOOLS_LIVE_PAGES_H

#include <ctype.h>
#include <signal.h>

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

/* The numbers of a page, to be freed; NULL: out of memory. */
__attribute__((unused)) static struct orr_live_sums *numbers_for(const struct orr_live_page *page)
{
    return calloc(page->words, sizeof(uint64_t));
}

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

#endif
