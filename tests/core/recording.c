/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings: a file has every task once, with its name, its data and its times in order; what does not fit
 * is counted in it; it can be read whatever became of the program; while nothing is recorded nothing is
 * wanted. Threads: main; programs of their own record. Owns: the files, in the working folder. Not here: what
 * is made of them (tests/tools/report.c), rings (tape.c).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/event.h"
#include "core/base/otrace.h"
#include "tests/helper.h"

enum { TASKS = 300, MANY = 60000, KINDS = OTRACE_KINDS };

/* ---- programs that record ---- */

static atomic_int gate;

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static void crash(void *buffers[] UNUSED, void *arg UNUSED)
{
    abort();
}
static void wait_for_ever(void *buffers[] UNUSED, void *arg UNUSED)
{
    while (!atomic_load(&gate)) usleep(1000);
}
static struct starpu_codelet twice = {
    .cpu_funcs = { nothing }, .nbuffers = 2, .modes = { STARPU_R, STARPU_RW }, .name = "twice"
};
static struct starpu_codelet plain = { .cpu_funcs = { nothing }, .name = "plain" };
static struct starpu_codelet crashing = { .cpu_funcs = { crash }, .name = "crashing" };
static struct starpu_codelet endless = { .cpu_funcs = { wait_for_ever }, .name = "endless" };

static int run_tasks(void)
{
    static int value[2];
    starpu_data_handle_t h[2];
    for (int i = 0; i < 2; i++)
        starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
    for (int i = 0; i < TASKS; i++) starpu_task_insert(&twice, STARPU_R, h[i & 1], STARPU_RW, h[!(i & 1)], 0);
    starpu_task_wait_for_all();
    starpu_fxt_trace_user_event(42);
    starpu_fxt_trace_user_event_string("a mark");
    starpu_iteration_push(7);
    starpu_iteration_pop();
    for (int i = 0; i < 2; i++) starpu_data_unregister(h[i]);
    return 0;
}

static int program(const char *what)
{
    runtime_start(2, "eager");
    if (strcmp(what, "tasks") == 0) run_tasks();
    if (strcmp(what, "exit") == 0) run_tasks(), exit(3);
    if (strcmp(what, "pause") == 0) {
        starpu_fxt_stop_profiling();
        run_tasks();
        starpu_fxt_start_profiling();
        starpu_task_insert(&plain, 0);
    }
    if (strcmp(what, "fork") == 0) {
        pid_t child = fork();
        if (child == 0 && SANITIZED) _exit(0); /* its allocator may be locked by a thread that is not there */
        if (child == 0) exit(0);
        waitpid(child, NULL, 0);
        run_tasks();
    }
    if (strcmp(what, "crash") == 0) run_tasks(), starpu_task_insert(&crashing, 0);
    if (strcmp(what, "endless") == 0) run_tasks(), starpu_task_insert(&endless, 0);
    if (strcmp(what, "many") == 0) {
        for (int i = 0; i < MANY; i++) starpu_task_insert(&plain, 0);
        starpu_task_wait_for_all();
        if (write(STDOUT_FILENO, "!", 1) != 1) return 1;
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
    return 0;
}

/* Starts this test as a program that records; what it prints goes to *out, if that is not NULL. */
static pid_t start(const char *what, const char *file, int *out)
{
    int pipes[2];
    if (pipe(pipes)) return -1;
    pid_t child = fork();
    if (child == 0) {
        if (file)
            setenv("ORRERY_TRACE", file, 1);
        else
            unsetenv("ORRERY_TRACE");
        setenv("ORRERY_TRACE_BUFFER", "1", 1);
        dup2(pipes[1], STDOUT_FILENO);
        if (out) dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execl("/proc/self/exe", "recording", what, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    if (out)
        *out = pipes[0];
    else
        close(pipes[0]);
    return child;
}

static int status_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/* ---- reading ---- */

struct job {
    uint64_t submitted, ready, started, ended;
    unsigned naccesses, groups;
    uint32_t name;
};

static struct reading {
    uint64_t kinds[KINDS], backwards, lost, bad;
    uint64_t running; /* the last job of which RUNNING told */
    bool ended, readable;
    uint32_t names[64];
    char texts[64][32];
    unsigned nnames;
    struct job jobs[1 << 16];
} r;

static struct job *job_of(uint64_t id)
{
    return &r.jobs[id % LENGTH(r.jobs)];
}

static const char *text_of(uint32_t hash)
{
    for (unsigned i = 0; i < r.nnames; i++)
        if (r.names[i] == hash) return r.texts[i];
    return "";
}

static void read_record(const uint64_t *w, unsigned words, uint64_t ticks)
{
    unsigned kind = otrace_kind(*w);
    if (kind < KINDS) r.kinds[kind]++;
    if (kind == OTRACE_NAME && r.nnames < 64) {
        r.names[r.nnames] = (uint32_t)w[1];
        snprintf(r.texts[r.nnames++], 32, "%.*s", (int)w[2], (const char *)(w + 3));
    }
    if (kind == OTRACE_SUBMITTED) {
        struct job *j = job_of(w[1]); /* of which other rings may have told already */
        j->submitted = ticks;
        j->name = (uint32_t)w[2];
        j->naccesses = words - 3;
        for (unsigned i = 3; i < words; i++) j->groups |= 1u << (w[i] & OTRACE_GROUP);
    }
    if (kind == OTRACE_READY) job_of(w[1])->ready = ticks;
    if (kind == OTRACE_STARTED) job_of(otrace_low(w[1]))->started = ticks;
    if (kind == OTRACE_ENDED) job_of(otrace_low(w[1]))->ended = ticks;
    if (kind == OTRACE_RAN) {
        job_of(otrace_low(w[1]))->started = ticks - w[2];
        job_of(otrace_low(w[1]))->ended = ticks;
    }
    if (kind == OTRACE_RUNNING) r.running = otrace_low(w[1]);
}

static void read_words(const struct otrace_block *b, const uint64_t *w, size_t n)
{
    static const uint64_t mask = (UINT64_C(1) << OTRACE_TICKS_BITS) - 1;
    static uint64_t before[64];
    if (b->ticks && r.kinds[0]++ == 0) memset(before, 0, sizeof before);
    while (n > 0 && otrace_kind(*w) != OTRACE_SKIP) {
        unsigned words = otrace_words(*w);
        if (!words || words > n) {
            r.bad++;
            return;
        }
        uint64_t ticks = b->ticks - ((b->ticks - otrace_ticks(*w)) & mask);
        if (ticks < before[b->ring % 64]) r.backwards++;
        before[b->ring % 64] = ticks;
        read_record(w, words, ticks);
        w += words;
        n -= words;
    }
}

static void read_file(const char *path)
{
    static uint64_t words[1 << 21];
    enum { HEAD = sizeof(struct otrace_block) / 8 };
    memset(&r, 0, sizeof r);
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(words, 8, LENGTH(words), f) : 0;
    if (f) fclose(f);
    const struct otrace_file *h = (const void *)words;
    if (n < sizeof *h / 8 || h->magic != OTRACE_FILE_MAGIC) return;
    r.readable = true;
    for (size_t i = h->header_bytes / 8; i + HEAD <= n;) {
        const struct otrace_block *b = (const void *)&words[i];
        size_t inside = b->bytes / 8;
        if (b->magic != OTRACE_BLOCK_MAGIC || inside > n - i - HEAD) {
            r.bad += b->magic != OTRACE_BLOCK_MAGIC;
            return;
        }
        uint64_t sum = otrace_sum(otrace_sum(0, &words[i], HEAD - 1), &words[i + HEAD], inside);
        r.bad += sum != b->checksum;
        if (b->type == OTRACE_RECORDS) read_words(b, &words[i + HEAD], inside);
        if (b->type == OTRACE_END) r.ended = true;
        if (b->type == OTRACE_END) r.lost = b->lost;
        i += HEAD + inside;
    }
}

/* ---- cases ---- */

static int jobs_in_order(void)
{
    int good = 0;
    for (size_t i = 0; i < LENGTH(r.jobs); i++) {
        const struct job *j = &r.jobs[i];
        good += j->submitted && j->submitted <= j->ready && j->ready <= j->started && j->started <= j->ended;
    }
    return good;
}

/* Which body was being run when the recording ended. */
static bool left_running(const char *name)
{
    const struct job *j = job_of(r.running);
    return r.kinds[OTRACE_RUNNING] == 1 && !j->ended && j->submitted && strcmp(text_of(j->name), name) == 0;
}

static void whole(const char *file)
{
    read_file(file);
    ok(all_of(r.readable, r.ended, r.bad == 0, r.lost == 0), "a recording that was ended has all of the run");
    is_int(jobs_in_order(), TASKS, "each task was submitted, ready, started and ended, in this order");
    ok(all_of(r.kinds[OTRACE_SUBMITTED] == TASKS, r.kinds[OTRACE_RAN] == TASKS, r.backwards == 0),
       "each once, and the time of a thread does not go back");
    int named = 0, used = 0;
    for (size_t i = 0; i < LENGTH(r.jobs); i++) {
        const struct job *j = &r.jobs[i];
        named += j->submitted && strcmp(text_of(j->name), "twice") == 0;
        used += j->naccesses == 2 && j->groups == (1u << OTRACE_READ | 1u << OTRACE_WRITE);
    }
    ok(all_of(named == TASKS, used == TASKS), "with its name, and how it uses its data");
    ok(all_of(r.kinds[OTRACE_USER_NUMBER] == 1, r.kinds[OTRACE_USER_TEXT] == 1,
              r.kinds[OTRACE_ITERATION] == 1, r.kinds[OTRACE_ITERATION_END] == 1,
              r.kinds[OTRACE_REGISTERED] == 2, r.kinds[OTRACE_UNREGISTERED] == 2),
       "and what the program said");
}

static void ends_of_programs(void)
{
    static const char *const what[] = { "tasks", "exit", "crash", "pause", "fork", "tasks" };
    static const char *const file[] = { "recording-tasks.otrace", "recording-exit.otrace",
                                        "recording-crash.otrace", "recording-pause.otrace",
                                        "recording-fork.otrace",  "/dev/full" };
    enum { PROGRAMS = LENGTH(what) };
    pid_t child[PROGRAMS];
    int status[PROGRAMS], out[PROGRAMS];
    for (int i = 0; i < PROGRAMS; i++) child[i] = start(what[i], file[i], &out[i]);
    for (int i = 0; i < PROGRAMS; i++) status[i] = status_of(child[i]);
    ok(status[0] == 0, "a program that is recorded runs as ever");
    whole(file[0]);
    read_file(file[1]);
    ok(all_of(WIFEXITED(status[1]), WEXITSTATUS(status[1]) == 3, r.bad == 0, !r.ended,
              jobs_in_order() == TASKS),
       "a program that exits without shutting down leaves all there was");
    read_file(file[2]);
    if (SANITIZED)
        skip("a sanitizer has the handlers of signals here");
    else
        ok(all_of(WIFSIGNALED(status[2]), WTERMSIG(status[2]) == SIGABRT, r.bad == 0,
                  jobs_in_order() == TASKS, left_running("crashing")),
           "one that crashes leaves all, and which task had not ended");
    read_file(file[3]);
    ok(all_of(status[3] == 0, r.ended, r.kinds[OTRACE_RAN] == 1, r.kinds[OTRACE_USER_NUMBER] == 0),
       "what happens while the program does not want it recorded is not");
    read_file(file[4]);
    ok(all_of(status[4] == 0, r.ended, r.bad == 0, jobs_in_order() == TASKS),
       "a child that was forked leaves the file alone");
    char said[4096] = "";
    ssize_t n = read(out[5], said, sizeof said - 1);
    ok(all_of(status[5] == 0, n > 0, strstr(said, "/dev/full") != NULL),
       "where the disk is full the program runs on, and that is said");
    for (int i = 0; i < PROGRAMS; i++) close(out[i]);
    for (int i = 0; i < PROGRAMS - 1; i++) unlink(file[i]);
}

static void killed(void)
{
    static const char *const file = "recording-killed.otrace";
    unlink(file);
    pid_t child = start("endless", file, NULL);
    for (int i = 0; i < 30000 && !left_running("endless"); i++) {
        usleep(1000);
        read_file(file);
    }
    kill(child, SIGKILL);
    status_of(child);
    read_file(file);
    ok(all_of(r.readable, r.bad == 0, !r.ended, jobs_in_order() == TASKS, left_running("endless")),
       "one that is killed leaves what was written before, without its asking");
    unlink(file);
}

/* Nobody reads while the program runs: nothing is written but what a pipe holds. */
static void lost(void)
{
    static const char *const pipe_name = "recording-pipe.otrace", *const file = "recording-lost.otrace";
    int from_child, in;
    char byte;
    unlink(pipe_name);
    if (mkfifo(pipe_name, 0600) != 0 || (in = open(pipe_name, O_RDONLY | O_NONBLOCK)) < 0) {
        skip("no named pipe can be made here");
        return;
    }
    pid_t child = start("many", pipe_name, &from_child);
    ssize_t got;
    do got = read(from_child, &byte, 1);
    while (got == 1 && byte != '!');
    fcntl(in, F_SETFL, 0);
    FILE *copy = fopen(file, "wb");
    static char bytes[1 << 16];
    while ((got = read(in, bytes, sizeof bytes)) > 0) fwrite(bytes, 1, (size_t)got, copy);
    fclose(copy);
    is_int(status_of(child), 0, "a program does not wait for its recording");
    read_file(file);
    uint64_t kept = r.kinds[OTRACE_SUBMITTED] + r.kinds[OTRACE_READY] + r.kinds[OTRACE_RAN];
    ok(all_of(r.ended, r.bad == 0, r.lost > 0, kept + r.lost >= 3 * (uint64_t)MANY, kept < 3 * MANY),
       "what did not fit into memory is counted in the file");
    close(in), close(from_child);
    unlink(pipe_name), unlink(file);
}

/* Named as StarPU does; and by a launcher's rank. */
static void names(void)
{
    static const char *const file[] = { "prof_file_tester_0.x", "recording-rank.3.otrace" };
    setenv("STARPU_FXT_TRACE", "1", 1);
    setenv("STARPU_FXT_PREFIX", ".", 1);
    setenv("STARPU_FXT_SUFFIX", ".x", 1);
    setenv("USER", "tester", 1);
    pid_t peers = start("tasks", NULL, NULL);
    unsetenv("STARPU_FXT_TRACE");
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    pid_t ranks = start("tasks", "recording-rank.otrace", NULL);
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    status_of(peers);
    status_of(ranks);
    read_file(file[0]);
    ok(all_of(r.ended, jobs_in_order() == TASKS), "STARPU_FXT_TRACE records under StarPU's name");
    read_file(file[1]);
    ok(all_of(r.ended, jobs_in_order() == TASKS), "a rank's file has its number in its name");
    unlink(file[0]), unlink(file[1]);
}

static void off(void)
{
    unsetenv("ORRERY_TRACE");
    runtime_start(2, "eager");
    ok(!orr_events_wanted(~UINT64_C(0) & ~ORR_EVENT_BIT(CONTEXT_OPENED)),
       "while nothing is recorded no event is wanted");
    is_int(starpu_fxt_is_enabled(), 0, "and the program can know it");
    run_tasks();
    starpu_shutdown();
}

int main(int argc, char **argv)
{
    if (argc > 1) return program(argv[1]);
    off();
    ends_of_programs();
    names();
    killed();
    lost();
    return done_testing();
}
