/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_why.c: asks a running process what its tasks wait for, by its page in shared memory
 * (core/base/livepage.h). Threads: main. Owns: nothing. Not here: who finds it out (core/run/why.c). */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "tools/live/pages.h"

static const struct tool tool = {
    .name = "orrery_why",
    .help = "what the tasks of a running process wait for\n"
            "\n"
            "SYNOPSIS\n"
            "    orrery_why [PID]\n"
            "\n"
            "DESCRIPTION\n"
            "    Asks process PID what each of its waiting tasks waits for, and prints the answer: other "
            "tasks, data and who\n"
            "    has them, tags, a worker. The process goes on meanwhile, and is not stopped; so an answer "
            "is of a moment,\n"
            "    and tasks that went on while it was written are left out. Without PID: the processes of "
            "this user that can\n"
            "    be asked. SIGUSR1 makes a process print the same on its standard error, unless the program "
            "has a handler\n"
            "    of its own for it.\n"
            "\n"
            "OPTIONS\n"
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

/* Waits until the process has answered what was asked. */
static bool wait_for_answer(struct orr_live_page *page, pid_t pid, uint32_t asked)
{
    for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
        if ((int32_t)(orr_load_acquire(&page->why_given) - asked) >= 0) return true;
        if (!orr_livepage_lives(pid)) return false;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return false;
}

static int print_answer(pid_t pid)
{
    char name[320], buffer[65536];
    orr_livepage_name(name, sizeof name, pid, true);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return tool_complain(&tool, "%s cannot be read: %s; there is no room for the answer, perhaps", name,
                             strerror(errno));
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) fwrite(buffer, 1, (size_t)n, stdout);
    close(fd);
    return tool_end(&tool);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", 0, 0, 'h' },
                                             { "version", 0, 0, 'V' },
                                             { 0, 0, 0, 0 } };
    for (int c; (c = getopt_long(argc, argv, "hV", options, NULL)) != -1;) switch (c) {
        case 'h': return tool_help(&tool);
        case 'V': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    orr_livepage_set_folder(getenv("ORRERY_LIVE"));
    if (argc - optind > 1) return tool_usage(&tool);
    if (optind == argc) return list_processes(&tool);
    pid_t pid = pid_of(argv[optind]);
    if (!pid) {
        tool_complain(&tool, "%s is no number of a process", argv[optind]);
        return tool_usage(&tool);
    }
    struct orr_live_page *page = page_of(&tool, pid);
    if (!page) return TOOL_FAILED;
    uint32_t asked = orr_add_seq(&page->why_asked, 1u) + 1;
    orr_livepage_ring(page);
    if (!wait_for_answer(page, pid, asked))
        return orr_livepage_lives(pid)
                   ? tool_complain(&tool, "process %d does not answer: it is stopped, perhaps", (int)pid)
                   : tool_complain(&tool, "process %d has ended", (int)pid);
    return print_answer(pid);
}
