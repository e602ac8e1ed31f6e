/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line of ORRERY_PROGRESS when the ranks of a machine end one after the other: another goes on with it,
 * and the last line is said once, with what all of them have done. ranks: 2 3 Threads: main. Owns: a file or
 * terminal for each rank's messages, pages in a folder of this run. Not here: the line of one process
 * (tests/tools/live.c).
 */
#include <fcntl.h>
#include <pty.h>
#include "core/base/livepage.h"
#include "tests/mpi/helper_mpi.h"
#include "tests/tools/runs.h"

enum { TASKS = 20 };

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet plain = { .cpu_funcs = { nothing }, .name = "plain" };

static char folder[] = "/tmp/orrery-line.XXXXXX";

/* What a rank has said. */
static const char *said_by(int rank)
{
    static char text[1 << 17];
    char path[60];
    snprintf(path, sizeof path, "%s/said.%d", folder, rank);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0) close(fd);
    return text;
}

static int count_in(const char *text, const char *what)
{
    int n = 0;
    while ((text = strstr(text, what))) n++, text++;
    return n;
}

/* Until this rank has said it. */
static int waits_for(const char *what)
{
    for (int i = 0; i < 2000; i++, usleep(10000))
        if (strstr(said_by(my_rank), what)) return 1;
    return 0;
}

static void begin(int *argc, char ***argv)
{
    int provided;
    signal(SIGALRM, out_of_time);
    alarm(50);
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (my_rank == 0 && !mkdtemp(folder)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    setenv("ORRERY_LIVE", folder, 1);
    setenv("ORRERY_PROGRESS", "1", 1);
    setenv("ORRERY_PROGRESS_INTERVAL", "20", 1);
}

static void start(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    conf.precedence_over_environment_variables = 1;
    if (starpu_init(&conf) != 0 || starpu_mpi_init(NULL, NULL, 0) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void some_tasks(void)
{
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&plain, 0);
    starpu_task_wait_for_all();
}

/* Whether the rank of that process would go on with the line; it is another: to close one's own page loses
 * it. */
static int follows(int pid)
{
    struct orr_live_page page = { .place = 0 };
    char path[80];
    snprintf(path, sizeof path, "%s/orrery.%u.%d", folder, (unsigned)geteuid(), pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, &page, sizeof page) : 0;
    if (fd >= 0) close(fd);
    return n == sizeof page && atomic_load(&page.follows);
}

/* Until the first rank has seen that all others know it. */
static int all_follow(void)
{
    int pid = (int)getpid(), pids[RANKS_MOST], count = 1;
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; my_rank == 0 && count < ranks && i < 2000; i++, usleep(10000)) {
        count = 1;
        for (int r = 1; r < ranks; r++) count += follows(pids[r]);
    }
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return count == ranks;
}

/* The ranks do some tasks and end, each when the one before it has. */
static void in_turn(void)
{
    char path[60], all[60];
    int counted = 0, known, own = dup(2);
    snprintf(path, sizeof path, "%s/said.%d", folder, my_rank);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || dup2(fd, 2) != 2) MPI_Abort(MPI_COMM_WORLD, 1);
    start();
    known = all_follow();
    starpu_mpi_shutdown();
    for (int r = 0; r < ranks; r++) {
        if (r == my_rank) {
            some_tasks();
            snprintf(all, sizeof all, "progress: %d of %d tasks (100 %%)", TASKS * (r + 1), TASKS * (r + 1));
            counted = waits_for(all);
            starpu_shutdown();
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    dup2(own, 2);
    close(own), close(fd);
    fact(known, "ranks of a machine find each other");
    fact(counted,
         "each rank goes on with the line when those before it have ended, and counts their tasks, too");
}

/* What came on the terminal until now, or until it says what is wanted. */
static int shown_on(int terminal, char *text, size_t room, const char *wanted)
{
    size_t n = strlen(text);
    for (int i = 0; i < 500; i++, usleep(10000)) {
        ssize_t got = n + 1 < room ? read(terminal, text + n, room - 1 - n) : 0;
        if (got > 0) n += (size_t)got;
        text[n] = 0;
        if (!wanted || strstr(text, wanted)) return 1;
    }
    return 0;
}

/* On terminals, where the last line alone stays; all end at once. */
static void at_once(void)
{
    static char text[1 << 16];
    char all[60];
    int terminal, ours, own = dup(2), lasting, lasting_of_all, ready = 1;
    if (openpty(&terminal, &ours, NULL, NULL, NULL) != 0 || dup2(ours, 2) != 2) MPI_Abort(MPI_COMM_WORLD, 1);
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    start();
    some_tasks();
    snprintf(all, sizeof all, "\r%d of %d tasks (100 %%)", 2 * TASKS * ranks, 2 * TASKS * ranks);
    if (my_rank == 0) ready = shown_on(terminal, text, sizeof text, all);
    fact(ready, "the first rank counts the tasks of all");
    starpu_mpi_shutdown();
    starpu_shutdown();
    shown_on(terminal, text, sizeof text, NULL);
    dup2(own, 2);
    close(own), close(terminal), close(ours);
    lasting = count_in(text, "\033[K\r\n");
    MPI_Allreduce(&lasting, &lasting_of_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    fact(lasting_of_all == 1, "when all end at once one says the last line");
    const char *last = strstr(text, "\033[K\r\n");
    while (last && last > text && *last != '\r') last--;
    fact(!lasting || (last && strncmp(last, all, strlen(all)) == 0), "and knows what all of them have done");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    in_turn();
    at_once();
    setenv("ORRERY_PROGRESS", "0", 1);
    start();
    starpu_shutdown(); /* with the layer */
    if (my_rank == 0 && run("rm -rf %s", folder) != 0) fprintf(stderr, "# %s remains\n", folder);
    return mpi_finish();
}
