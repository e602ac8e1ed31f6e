/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a running process shows of itself: its page, orrery_top, and the line of ORRERY_PROGRESS; and pages
 * that are damaged, of another version, of nobody any more. Threads: main; the programs that are looked at
 * are children, held at a gate until they are told to go on. Owns: a folder for the pages. Not here: what
 * tasks wait for (why.c).
 */
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <orrery.h>

#include "core/base/livepage.h"
#include "tests/core/sim_helper.h"
#include "tests/helper.h"
#include "tests/tools/child.h"
#include "tests/tools/runs.h"

enum { SMALL = 200 };

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet small = { .cpu_funcs = { nothing }, .name = "smallest" };

/* Says that it is ready when a task holds its worker; goes on when it is told to, and again. */
static int program(void)
{
    struct gate gate = { 0 };
    orrery_progress_expect(SMALL + 1);
    runtime_start(1, "eager");
    gate_submit(&gate, -1);
    while (!atomic_load(&gate.entered)) sched_yield();
    child_says("ready");
    child_waits();
    atomic_store(&gate.open, 1);
    for (int i = 0; i < SMALL; i++) starpu_task_insert(&small, 0);
    starpu_task_wait_for_all();
    child_says("done");
    child_waits();
    starpu_shutdown();
    return 0;
}

static struct starpu_codelet kernel = { .cuda_funcs = { nothing }, .name = "the kernel" };

/* A device whose kernels go on when their bodies are over, one behind the other, until it is told to end. */
static int on_device(void)
{
    struct pollfd told = { .fd = STDIN_FILENO, .events = POLLIN };
    sim_start_as(0, &(struct sim_config){ .devices = "1", .kernel_us = "50000" }, NULL, "eager");
    starpu_task_insert(&kernel, 0);
    child_says("ready");
    while (poll(&told, 1, 0) == 0) {
        starpu_task_insert(&kernel, 0);
        starpu_task_wait_for_n_submitted(1);
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
    return 0;
}

/* Starts and ends again and again; each time there is a page. */
static int again_and_again(void)
{
    int had = 0;
    char name[400];
    snprintf(name, sizeof name, "%s/orrery.%u.%d", getenv("ORRERY_LIVE"), (unsigned)geteuid(), (int)getpid());
    for (int i = 0; i < 20; i++) {
        runtime_start(1, NULL);
        had += access(name, F_OK) == 0;
        starpu_shutdown();
        had -= access(name, F_OK) == 0;
    }
    return had == 20 ? 0 : 1;
}

/* A child of the program's ends while it goes on: the page stays, and one more. */
static int with_fork(void)
{
    int status = 1;
    char name[400];
    snprintf(name, sizeof name, "%s/orrery.%u.%d", getenv("ORRERY_LIVE"), (unsigned)geteuid(), (int)getpid());
    runtime_start(1, NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, &status, 0);
    int stays = access(name, F_OK) == 0;
    starpu_shutdown();
    return stays && status == 0 && access(name, F_OK) != 0 ? 0 : 1;
}

/* ---- looking at it ---- */

static char folder[] = "/tmp/orrery-live.XXXXXX";

static int pages(void)
{
    run("ls %s | wc -l", folder);
    return atoi(output);
}

static void looked_at(char *self)
{
    struct stat st = { .st_mode = 0 };
    char name[200];
    struct child c = child_start(self, "program");
    if (!ok(child_hears(&c, "ready"), "a program runs")) return;
    snprintf(name, sizeof name, "%s/orrery.%u.%d", folder, (unsigned)geteuid(), (int)c.pid);
    ok(all_of(stat(name, &st) == 0, (st.st_mode & 0777) == 0600),
       "it has a page that its user alone may read");
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)c.pid);
    ok(all_of(run("tools/orrery_top") == 0, says(pid)), "orrery_top lists it");
    ok(all_of(run("tools/orrery_top -1 -d 0.2 %d", (int)c.pid) == 0, says("of 1 tasks, 201 expected"),
              says("gate (job "), says("100 % busy")),
       "shows which task its worker runs, and how many there are");
    child_tell(&c);
    child_hears(&c, "done");
    ok(all_of(run("tools/orrery_top -1 -d 0.2 %d", (int)c.pid) == 0, says("201 of 201 tasks"),
              says("smallest"), says(" 200 ")),
       "then which codelets ran, and how often");
    child_tell(&c);
    is_int(child_ends(&c), 0, "and does the program no harm");
    is_int(pages(), 0, "the page goes with the runtime");
    ok(all_of(run("tools/orrery_top -1 %d", (int)c.pid) == 1, says("there is no process")),
       "a process that has ended is no more shown");
}

static void on_device_looked_at(char *self)
{
    struct child c = child_start(self, "device");
    if (!ok(child_hears(&c, "ready"), "a program runs on a device")) return;
    ok(all_of(run("tools/orrery_top -1 -d 0.2 %d", (int)c.pid) == 0, says("the kernel (job ")),
       "orrery_top names the kernel that goes on there");
    child_tell(&c);
    is_int(child_ends(&c), 0, "which comes to its end");
}

static void killed(char *self)
{
    struct child c = child_start(self, "program");
    child_hears(&c, "ready");
    int master, status = -1;
    pid_t pid = forkpty(&master, NULL, NULL, NULL);
    if (pid == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", (int)c.pid);
        execlp("tools/orrery_top", "orrery_top", "-d", "0.1", number, (char *)NULL);
        _exit(127);
    }
    char shown[20000];
    size_t n = terminal_until(master, shown, sizeof shown, "gate (job ");
    kill(c.pid, SIGKILL);
    waitpid(c.pid, NULL, 0);
    n = terminal_until(master, shown, sizeof shown, "has ended");
    waitpid(pid, &status, 0);
    close(master);
    ok(all_of(n > 0, status == 0), "a process that is killed while it is looked at is told to have ended");
    child_forget(&c);
    run("tools/orrery_top");
    is_int(pages(), 0, "and its page is removed by whoever looks next");
}

/* Starting the runtime must not wait for that: the thread of the live view does it. */
static void removed_at_start(char *self)
{
    struct child first = child_start(self, "program");
    child_hears(&first, "ready");
    kill(first.pid, SIGKILL);
    waitpid(first.pid, NULL, 0);
    child_forget(&first);
    int left = pages();
    struct child next = child_start(self, "program");
    child_hears(&next, "ready");
    for (int i = 0; i < 400 && pages() != 1; i++) usleep(5000);
    char name[200];
    snprintf(name, sizeof name, "%s/orrery.%u.%d", folder, (unsigned)geteuid(), (int)next.pid);
    ok(all_of(left == 1, pages() == 1, access(name, F_OK) == 0),
       "the page of a killed process is removed when another starts");
    child_tell(&next);
    child_hears(&next, "done");
    child_tell(&next);
    is_int(child_ends(&next), 0, "and that has its own");
}

static void quits(char *self)
{
    struct child c = child_start(self, "program");
    int master, status = -1;
    char shown[20000], number[16];
    child_hears(&c, "ready");
    snprintf(number, sizeof number, "%d", (int)c.pid);
    pid_t pid = forkpty(&master, NULL, NULL, NULL);
    if (pid == 0) {
        execlp("tools/orrery_top", "orrery_top", number, (char *)NULL);
        _exit(127);
    }
    size_t n = terminal_until(master, shown, sizeof shown, "gate (job ");
    ssize_t written = write(master, "q", 1);
    terminal_until(master, shown, sizeof shown, NULL);
    waitpid(pid, &status, 0);
    close(master);
    ok(all_of(n > 0, written == 1, status == 0), "q ends it, and the program goes on");
    child_tell(&c);
    child_hears(&c, "done");
    child_tell(&c);
    is_int(child_ends(&c), 0, "to its end");
}

/* ---- pages that are none ---- */

/* A page of that process, with these words at its head, locked by this one if it is to seem alive. */
static int forged(pid_t pid, const uint64_t *words, size_t bytes, int locked)
{
    char name[200];
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    snprintf(name, sizeof name, "%s/orrery.%u.%d", folder, (unsigned)geteuid(), (int)pid);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && (write(fd, words, bytes) < 0 || (locked && fcntl(fd, F_SETLK, &lock) != 0))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void strange_pages(void)
{
    uint64_t words[600] = { UINT64_C(0x6576694c7972724f), 99 };
    int fd = forged(getpid(), words, sizeof words, 1);
    ok(all_of(run("tools/orrery_top -1 %d", (int)getpid()) == 1, says("another version"),
              run("tools/orrery_top") == 0, says("another version")),
       "a page of another version is told as such");
    words[1] = UINT64_C(0xffffffff00000000) | ORR_LIVE_VERSION;
    words[2] = words[3] = ~UINT64_C(0);
    pwrite(fd, words, sizeof words, 0) < 0 ? diag("cannot write") : (void)0;
    ok(all_of(run("tools/orrery_top -1 %d", (int)getpid()) == 1, says("damaged")),
       "one that lies about its size is refused");
    ftruncate(fd, 20) < 0 ? diag("cannot cut") : (void)0;
    ok(all_of(run("tools/orrery_top -1 %d", (int)getpid()) == 1, says("damaged")), "so is one that was cut");
    close(fd);
    close(forged(getpid(), words, sizeof words, 0));
    ok(all_of(run("tools/orrery_top -1 %d", (int)getpid()) == 1, says("shows nothing"), pages() == 0),
       "one without an owner is removed, though another process has its number by now");
    run("ln -s /etc/passwd %s/orrery.%u.%d", folder, (unsigned)geteuid(), (int)getpid());
    ok(all_of(run("tools/orrery_top -1 %d", (int)getpid()) == 1, says("cannot be read")),
       "a link is not followed");
    run("rm %s/orrery.*", folder);
    ok(all_of(run("tools/orrery_top -1 1") == 1, says("shows nothing"), run("tools/orrery_top x") == 2,
              run("tools/orrery_top 1 2") == 2, run("tools/orrery_top -d 0 1") == 2,
              run("tools/orrery_top 99999999") == 1),
       "a process without a page, and what is no process, are refused");
}

/* ---- the line ---- */

static void progress(char *self)
{
    char shown[20000];
    int master, status = -1;
    run("printf ..| ORRERY_PROGRESS=1 ORRERY_PROGRESS_INTERVAL=10 %s program", self);
    ok(all_of(says("orrery: progress: "), says("201 of 201 tasks (100 %)"), says("CPU "), says("% busy")),
       "ORRERY_PROGRESS says in lines how far the run is");
    pid_t pid = forkpty(&master, NULL, NULL, NULL);
    if (pid == 0) {
        setenv("STARPU_TASK_PROGRESS", "1", 1);
        execl(self, self, "program", (char *)NULL);
        _exit(127);
    }
    size_t drawn = terminal_until(master, shown, sizeof shown, "0 of 201 tasks");
    int keys = write(master, "..\n", 3) == 3;
    size_t last = terminal_until(master, shown, sizeof shown, "201 of 201 tasks");
    terminal_until(master, shown, sizeof shown, NULL);
    waitpid(pid, &status, 0);
    close(master);
    ok(all_of(drawn > 0, last > 0, keys, status == 0), "on a terminal in one that is drawn anew");
}

static void without_pages(char *self)
{
    is_int(run("printf ..| ORRERY_LIVE=/nonexistent/folder ORRERY_PROGRESS=1 %s program", self), 0,
           "without a folder for pages the runtime starts");
    ok(says("201 of 201 tasks"), "and says how far it is nevertheless");
    if (SANITIZED) {
        skip("a sanitizer itself writes files");
        return;
    }
    is_int(run("printf ..| sh -c 'ulimit -f 0; exec \"$0\" program' %s | cat", self), 0,
           "nor needs it room for them");
    ok(says("done"), "and goes on to its end");
}

/* In a namespace of its own, where the folder has room for one page and nothing else. 0: all is as it is to
 * be; SKIPPED: there are no namespaces here. */
enum { SKIPPED = 77 };
static int in_little_room(char *self)
{
    if (run("mount -t tmpfs -o size=8k none %s", getenv("ORRERY_LIVE")) != 0) return SKIPPED;
    snprintf(folder, sizeof folder, "%s", getenv("ORRERY_LIVE"));
    struct child has = child_start(self, "program"), has_none;
    if (!child_hears(&has, "ready")) return 1;
    has_none = child_start(self, "program");
    if (!child_hears(&has_none, "ready")) return 2;
    if (pages() != 1 || run("tools/orrery_top -1 %d", (int)has.pid) != 0 || !says("gate (job ")) return 3;
    if (run("tools/orrery_why %d", (int)has.pid) != 1 || !says("no room for the answer")) return 4;
    if (run("tools/orrery_top -1 %d", (int)has_none.pid) != 1 || !says("shows nothing")) return 5;
    if (pages() != 1) return 6;
    struct child *both[] = { &has, &has_none };
    for (int i = 0; i < 2; i++) {
        child_tell(both[i]);
        if (!child_hears(both[i], "done")) return 7;
        child_tell(both[i]);
        if (child_ends(both[i]) != 0) return 8;
    }
    return pages() == 0 ? 0 : 9;
}

static void little_room(char *self)
{
    int status = run("unshare -rm %s room", self);
    if (status == SKIPPED || strstr(output, "unshare"))
        skip("a namespace of one's own cannot be had here");
    else if (!is_int(status, 0,
                     "where there is room for one page, another process runs without, and answers have none"))
        diag("%.800s", output);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "program") == 0) return program();
    if (argc > 1 && strcmp(argv[1], "again") == 0) return again_and_again();
    if (argc > 1 && strcmp(argv[1], "fork") == 0) return with_fork();
    if (argc > 1 && strcmp(argv[1], "device") == 0) return on_device();
    if (argc > 1 && strcmp(argv[1], "room") == 0) return in_little_room(argv[0]);
    if (!mkdtemp(folder)) return 99;
    setenv("ORRERY_LIVE", folder, 1);
    unsetenv("ORRERY_PROGRESS");
    looked_at(argv[0]);
    on_device_looked_at(argv[0]);
    killed(argv[0]);
    removed_at_start(argv[0]);
    quits(argv[0]);
    strange_pages();
    is_int(run("%s again", argv[0]), 0,
           "a program that starts and ends the runtime again and again has one page each time");
    is_int(run("%s fork", argv[0]), 0, "the end of a child does not take the page away");
    progress(argv[0]);
    without_pages(argv[0]);
    little_room(argv[0]);
    is_int(pages(), 0, "nothing is left");
    rmdir(folder);
    return done_testing();
}
