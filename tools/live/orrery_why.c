/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_why.c: asks a running process, and the ranks beside it, what their tasks wait for, by their pages in
 * shared memory (core/base/livepage.h). Threads: main. Owns: nothing. Not here: who finds it out
 * (core/run/why.c). */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "tools/live/pages.h"

static const struct tool tool = {
    .name = "orrery_why",
    .help = "what the tasks of a running process wait for\n"
            "\n"
            "SYNOPSIS\n"
            "    orrery_why [-a] [PID]\n"
            "\n"
            "DESCRIPTION\n"
            "    Asks process PID what each of its waiting tasks waits for, and prints the answer: other "
            "tasks, data and which\n"
            "    task or message has them, tags, memory of a device and who has that, workers. Messages "
            "between ranks are told,\n"
            "    too: those that wait for their other end or their data, and those that are under way. "
            "The process goes on\n"
            "    meanwhile, and is not stopped; so an answer is of a moment, and tasks that went on while "
            "it was written are left\n"
            "    out. Without PID: the processes of this user that can be asked. The ranks of the same run "
            "on this machine are\n"
            "    asked, too, each under a line with its number.\n"
            "    SIGUSR1 makes a process print the same on its standard error, unless the program "
            "has a handler\n"
            "    of its own for it.\n"
            "\n"
            "OPTIONS\n"
            "    -a, --alone             without the other ranks\n"
            "    -h, --help\n"
            "    -V, --version\n"
            "\n"
            "EXIT STATUS\n"
            "    0; 1: there is no such process, or it does not answer; 2: wrong usage.\n"
            "\n"
            "ENVIRONMENT\n"
            "    ORRERY_LIVE             where the pages are, if the process has that setting\n",
};

enum { PATIENCE_MS = 20000 };

struct asked {
    pid_t pid;
    struct orr_live_page *page;
    int64_t rank; /* -1: it has none */
    uint32_t number;
};
static struct asked processes[RANKS_MOST];
static size_t count;

static void add_process(pid_t pid, struct orr_live_page *page, int64_t rank)
{
    processes[count++] = (struct asked){ .pid = pid, .page = page, .rank = rank };
}

static int by_rank(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The process that was named, and those of its run, by rank. One that writes no numbers is asked alone: it
 * may be slow, or have no memory for them. */
static void find_all(pid_t pid, struct orr_live_page *page, bool alone)
{
    static pid_t pids[RANKS_MOST];
    static struct rank ranks[RANKS_MOST];
    struct orr_live_sums *numbers = alone ? NULL : numbers_for(page);
    uint64_t group = numbers && newest_numbers(page, pid, numbers) ? numbers->group : 0;
    add_process(pid, page, group ? numbers->rank : -1);
    free(numbers);
    size_t n = group ? orr_livepage_list(pids, RANKS_MOST - 1) : 0, others = 0;
    for (size_t i = 0; i < n; i++)
        if (pids[i] != pid) pids[others++] = pids[i];
    size_t found = find_ranks_among(pids, others, group, ranks);
    for (size_t i = 0; i < found; i++) {
        add_process(ranks[i].pid, ranks[i].page, ranks[i].numbers->rank);
        free(ranks[i].numbers);
    }
    qsort(processes, count, sizeof processes[0], by_rank);
}

/* Waits until the process has answered what was asked. */
static bool wait_for_answer(const struct asked *a)
{
    for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
        if ((int32_t)(orr_load_acquire(&a->page->why_given) - a->number) >= 0) return true;
        if (!orr_livepage_lives(a->pid)) return false;
        nap(10);
    }
    return false;
}

static int print_answer(const struct asked *a)
{
    char name[320], buffer[65536];
    if (!wait_for_answer(a)) return no_answer(&tool, a->pid);
    orr_livepage_name(name, sizeof name, a->pid, true);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return tool_complain(&tool, "%s cannot be read: %s; there is no room for the answer, perhaps", name,
                             strerror(errno));
    if (count > 1) printf("rank %lld, process %d:\n", (long long)a->rank, (int)a->pid);
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) fwrite(buffer, 1, (size_t)n, stdout);
    close(fd);
    return TOOL_OK;
}

/* All are asked before the first answer is waited for. */
static int ask_all(void)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < count; i++) {
        processes[i].number = orr_add_seq(&processes[i].page->why_asked, 1u) + 1;
        orr_livepage_ring(processes[i].page);
    }
    for (size_t i = 0; i < count; i++)
        if (print_answer(&processes[i]) != TOOL_OK) status = TOOL_FAILED;
    return tool_end(&tool) == TOOL_OK ? status : TOOL_FAILED;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "alone", 0, 0, 'a' }, { "help", 0, 0, 'h' }, { "version", 0, 0, 'V' }, { 0, 0, 0, 0 }
    };
    bool alone = false;
    for (int c; (c = getopt_long(argc, argv, "ahV", options, NULL)) != -1;) switch (c) {
        case 'a': alone = true; break;
        case 'h': return tool_help(&tool);
        case 'V': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    pid_t pid;
    int status;
    struct orr_live_page *page = page_of_arguments(&tool, argc, argv, &pid, &status);
    if (!page) return status;
    find_all(pid, page, alone);
    return ask_all();
}
