/* SPDX-License-Identifier: BSD-3-Clause */
/* orrery_top.c: shows the workers, codelets and memories of a running process, and the ranks beside it, from
 * its page in shared memory (core/base/livepage.h). Threads: main. Owns: the terminal, while it draws. Not
 * here: who fills the page (core/run/live.c). */
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tools/live/pages.h"

static const struct tool tool = {
    .name = "orrery_top",
    .help = "what a running process does, worker by worker\n"
            "\n"
            "SYNOPSIS\n"
            "    orrery_top [-1] [-a] [-d SECONDS] [PID]\n"
            "\n"
            "DESCRIPTION\n"
            "    Shows the workers of process PID (what each runs, how long it was busy since the last look, "
            "how many tasks\n"
            "    it ran), its codelets (how often they ran and how long they take, since somebody began to "
            "look), and its\n"
            "    memories; with the ranks of the same run on this machine, a line for each. On a terminal it "
            "is drawn anew\n"
            "    until q is pressed or the process ends; else it is shown once. Without PID: the processes "
            "of this user\n"
            "    that can be shown. The process is not stopped, and counts only while somebody looks. Busy "
            "is what is not\n"
            "    idle: a worker that brings data for its task is busy, too.\n"
            "\n"
            "OPTIONS\n"
            "    -1, --once              show it once\n"
            "    -a, --alone             without the other ranks\n"
            "    -d, --delay SECONDS     between two looks [1]\n"
            "    -h, --help\n"
            "    -V, --version\n"
            "\n"
            "EXIT STATUS\n"
            "    0; 1: there is no such process, or it shows nothing; 2: wrong usage.\n"
            "\n"
            "ENVIRONMENT\n"
            "    ORRERY_LIVE             where the pages are, if the process has that setting\n",
};

enum { CODELETS_SHOWN = 12, ASK_AGAIN_MS = 5000 };

struct shown {
    pid_t pid;
    struct orr_live_page *page;
    struct orr_live_sums *now, *before;
    bool has_now, has_before;
};
static struct shown processes[RANKS_MOST]; /* the first is the one that was asked for */
static unsigned count;

/* ---- reading ---- */

static bool add_process(pid_t pid, struct orr_live_page *page)
{
    struct shown s = { .pid = pid, .page = page, .now = numbers_for(page), .before = numbers_for(page) };
    if (s.now && s.before && count < RANKS_MOST) {
        processes[count++] = s;
        return true;
    }
    free(s.now);
    free(s.before);
    orr_livepage_close(page);
    return false;
}

/* The numbers that were read into the older place are those of now. */
static void take(struct shown *s)
{
    struct orr_live_sums *newer = s->before;
    s->before = s->now;
    s->has_before = s->has_now && s->now->since_ns == newer->since_ns;
    s->now = newer;
    s->has_now = true;
}

/* Reads numbers that are newer than those it has. */
static void read_one(struct shown *s)
{
    uint64_t had = s->has_now ? s->now->at_ns : 0;
    s->has_before = false; /* what is there is written over */
    if (orr_livepage_read(s->page, s->before) && s->before->at_ns > had) take(s);
}

static void look_at_all(void)
{
    for (unsigned i = 0; i < count; i++) orr_livepage_look(processes[i].page);
}

/* Until the process has written numbers that are younger than the question; else those that it had do. */
static bool wait_for_numbers(struct shown *s)
{
    s->has_before = false;
    if (newest_numbers(s->page, s->pid, s->before)) take(s);
    return s->has_now && orr_livepage_lives(s->pid);
}

static bool is_shown(pid_t pid)
{
    for (unsigned k = 0; k < count; k++)
        if (processes[k].pid == pid) return true;
    return false;
}

/* The ranks of the same run that are not shown yet. Other processes are asked again when one has started or
 * ended, and now and then: they may have become ranks. */
static void find_ranks(void)
{
    static pid_t pids[RANKS_MOST], before[RANKS_MOST];
    static struct rank ranks[RANKS_MOST];
    static size_t n_before;
    static uint64_t asked_ns;
    uint64_t group = processes[0].has_now ? processes[0].now->group : 0;
    size_t n = group ? orr_livepage_list(pids, RANKS_MOST) : 0, unknown = 0;
    bool changed = n != n_before || memcmp(pids, before, n * sizeof pids[0]) != 0;
    if (!changed && now_ns() < asked_ns + (uint64_t)ASK_AGAIN_MS * 1000000) return;
    asked_ns = now_ns();
    memcpy(before, pids, n * sizeof pids[0]);
    n_before = n;
    for (size_t i = 0; i < n; i++)
        if (!is_shown(pids[i])) pids[unknown++] = pids[i];
    size_t found = find_ranks_among(pids, unknown, group, ranks);
    for (size_t i = 0; i < found; i++) {
        if (add_process(ranks[i].pid, ranks[i].page)) {
            struct shown *s = &processes[count - 1];
            memcpy(s->before, ranks[i].numbers, s->page->words * sizeof(uint64_t));
            take(s);
        }
        free(ranks[i].numbers);
    }
}

/* ---- showing ---- */

static const char *end_of_line = "\n";

static double since_before_s(const struct shown *s)
{
    return s->has_before ? (double)(s->now->at_ns - s->before->at_ns) * 1e-9 : 0;
}

static double rate(const struct shown *s)
{
    double seconds = since_before_s(s);
    return seconds > 0 ? (double)(s->now->completed - s->before->completed) / seconds : 0;
}

/* The share of the time between two looks, or since somebody looks, in which worker i was not idle. */
static double busy(const struct shown *s, unsigned i)
{
    const struct orr_live_worker *now = &orr_live_workers(s->now)[i], *then = &orr_live_workers(s->before)[i];
    uint64_t from = s->has_before ? s->before->at_ns : s->now->since_ns;
    uint64_t idle = s->has_before ? now->idle_ns - then->idle_ns : now->idle_ns;
    double share = s->now->at_ns > from ? 100 * (1 - (double)idle / (double)(s->now->at_ns - from)) : 0;
    return share < 0 ? 0 : share > 100 ? 100 : share;
}

static double mean_busy(const struct shown *s)
{
    double sum = 0;
    for (unsigned i = 0; i < s->page->workers; i++) sum += busy(s, i);
    return s->page->workers ? sum / s->page->workers : 0;
}

static const char *bytes_text(char dst[static 32], uint64_t bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    double n = (double)bytes;
    unsigned u = 0;
    for (; n >= 1000 && u + 1 < sizeof units / sizeof units[0]; u++) n /= 1000;
    snprintf(dst, 32, u ? "%.1f %s" : "%.0f %s", n, units[u]);
    return dst;
}

static void show_head(const struct shown *s)
{
    char moved[32], sent[32];
    const struct orr_live_sums *n = s->now;
    printf("%.63s, process %d", s->page->program, (int)s->pid);
    if (n->rank >= 0) printf(", rank %lld", (long long)n->rank);
    printf(": %llu of %llu tasks", (unsigned long long)n->completed, (unsigned long long)n->submitted);
    if (n->expected) printf(", %llu expected", (unsigned long long)n->expected);
    printf(", %.0f a second, %.0f %% busy, %s moved, %s sent%s", rate(s), mean_busy(s),
           bytes_text(moved, n->moved_bytes), bytes_text(sent, n->sent_bytes), end_of_line);
}

static void show_ranks(void)
{
    if (count < 2) return;
    printf("%s%6s %8s %12s %12s %10s %6s %10s%s", end_of_line, "RANK", "PID", "DONE", "SUBMITTED", "PER S",
           "BUSY %", "SENT", end_of_line);
    for (unsigned i = 0; i < count; i++) {
        const struct shown *s = &processes[i];
        char sent[32];
        printf("%6lld %8d %12llu %12llu %10.0f %6.0f %10s%s%s", (long long)s->now->rank, (int)s->pid,
               (unsigned long long)s->now->completed, (unsigned long long)s->now->submitted, rate(s),
               mean_busy(s), bytes_text(sent, s->now->sent_bytes),
               orr_livepage_lives(s->pid) ? "" : "  ended", end_of_line);
    }
}

static void show_workers(const struct shown *s)
{
    printf("%s%-24s %6s %12s  %s%s", end_of_line, "WORKER", "BUSY %", "TASKS", "RUNS", end_of_line);
    for (unsigned i = 0; i < s->page->workers; i++) {
        const struct orr_live_worker *w = &orr_live_workers(s->now)[i];
        printf("%-24.31s %6.0f %12llu  ", w->name, busy(s, i), (unsigned long long)w->tasks);
        if (w->runs[0])
            printf("%.55s (job %llu)%s", w->runs, (unsigned long long)w->job, end_of_line);
        else
            printf("%s%s", w->is_idle ? "-" : "", end_of_line);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct orr_live_codelet *x = *(struct orr_live_codelet *const *)a,
                                  *y = *(struct orr_live_codelet *const *)b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void show_codelets(const struct shown *s)
{
    struct orr_live_codelet *all = orr_live_codelets(s->now, s->page->workers), *order[ORR_LIVE_CODELETS];
    unsigned n = 0;
    for (unsigned i = 0; i < ORR_LIVE_CODELETS; i++)
        if (all[i].tasks) order[n++] = &all[i];
    if (n == 0) return;
    qsort(order, n, sizeof order[0], by_time);
    printf("%s%-40s %12s %12s%s", end_of_line, "CODELET", "TASKS", "MEAN us", end_of_line);
    for (unsigned i = 0; i < n && i < CODELETS_SHOWN; i++)
        printf("%-40.47s %12llu %12.2f%s", order[i]->name, (unsigned long long)order[i]->tasks,
               (double)order[i]->ns * 1e-3 / (double)order[i]->tasks, end_of_line);
    if (n > CODELETS_SHOWN) printf("and %u more%s", n - CODELETS_SHOWN, end_of_line);
}

static void show_nodes(const struct shown *s)
{
    const struct orr_live_node *all = orr_live_nodes(s->now, s->page->workers);
    char used[32], limit[32], in[32], out[32];
    printf("%s%-24s %10s %10s %10s %10s%s", end_of_line, "MEMORY", "USED", "OF", "IN", "OUT", end_of_line);
    for (unsigned i = 0; i < s->page->nodes; i++)
        if (all[i].name[0])
            printf("%-24.31s %10s %10s %10s %10s%s", all[i].name, bytes_text(used, all[i].used_bytes),
                   all[i].limit_bytes ? bytes_text(limit, all[i].limit_bytes) : "-",
                   bytes_text(in, all[i].in_bytes), bytes_text(out, all[i].out_bytes), end_of_line);
}

static void show_all(void)
{
    const struct shown *s = &processes[0];
    show_head(s);
    show_ranks();
    show_workers(s);
    show_codelets(s);
    show_nodes(s);
}

/* ---- the terminal ---- */

static struct termios normal;

static void on_signal(int signal)
{
    (void)signal;
    stopped = 1;
}

static bool begin_drawing(void)
{
    struct termios keys;
    if (tcgetattr(STDIN_FILENO, &normal) != 0) return false;
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    keys = normal;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

/* Whether q is pressed within that time. */
static bool is_quit(long ms)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    char key;
    if (poll(&in, 1, (int)ms) <= 0) return false;
    ssize_t n = read(STDIN_FILENO, &key, 1);
    return n <= 0 || key == 'q' || key == 'Q';
}

static int draw(long delay_ms, bool alone)
{
    bool keys = begin_drawing();
    struct shown *s = &processes[0];
    end_of_line = "\033[K\n";
    while (!stopped) {
        look_at_all();
        if (!wait_for_numbers(s)) break;
        for (unsigned i = 1; i < count; i++) read_one(&processes[i]);
        if (!alone) find_ranks();
        printf("\033[H");
        show_all();
        printf("\033[J");
        fflush(stdout);
        if (ferror(stdout) || !orr_livepage_lives(s->pid)) break;
        if (keys ? is_quit(delay_ms) : (nap(delay_ms), false)) stopped = 1;
    }
    if (keys) tcsetattr(STDIN_FILENO, TCSANOW, &normal);
    if (!stopped) printf("process %d has ended\n", (int)s->pid);
    return tool_end(&tool);
}

static int show_once(long delay_ms, bool alone)
{
    struct shown *s = &processes[0];
    look_at_all();
    if (!wait_for_numbers(s)) return no_answer(&tool, s->pid);
    if (!alone) find_ranks();
    nap(delay_ms < 500 ? delay_ms : 500); /* what is busy shows between two looks */
    look_at_all();
    for (unsigned i = 0; i < count; i++) wait_for_numbers(&processes[i]);
    show_all();
    return tool_end(&tool);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "once", 0, 0, '1' },    { "alone", 0, 0, 'a' },
                                             { "delay", 1, 0, 'd' },   { "help", 0, 0, 'h' },
                                             { "version", 0, 0, 'V' }, { 0, 0, 0, 0 } };
    bool once = false, alone = false;
    double delay_s = 1;
    char *end = NULL;
    for (int c; (c = getopt_long(argc, argv, "1ad:hV", options, NULL)) != -1;) switch (c) {
        case '1': once = true; break;
        case 'a': alone = true; break;
        case 'd':
            delay_s = strtod(optarg, &end);
            if (*end || !(delay_s >= 0.1 && delay_s <= 3600)) {
                tool_complain(&tool, "-d %s: it takes seconds, 0.1 to 3600", optarg);
                return tool_usage(&tool);
            }
            break;
        case 'h': return tool_help(&tool);
        case 'V': return tool_version(&tool);
        default: return tool_usage(&tool);
        }
    pid_t pid;
    int status;
    struct orr_live_page *page = page_of_arguments(&tool, argc, argv, &pid, &status);
    if (!page) return status;
    if (!add_process(pid, page)) return tool_complain(&tool, "out of memory");
    long ms = (long)(delay_s * 1000);
    return once || !isatty(STDOUT_FILENO) ? show_once(ms, alone) : draw(ms, alone);
}
