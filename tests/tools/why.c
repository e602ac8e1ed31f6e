/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tasks wait for, asked of a running process: by orrery_why, and by SIGUSR1; while all stands, and while
 * tasks end at full rate and take their names with them.
 * Threads: main; the programs that are asked are children. Owns: a folder for the pages. Not here: the pages
 * (live.c).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>

#include <orrery.h>

#include "tests/core/sim_helper.h"
#include "tests/helper.h"
#include "tests/tools/child.h"
#include "tests/tools/runs.h"

enum { ASKED = SCALED(20, 5) };

static void nothing(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet on_data = {
    .cpu_funcs = { nothing }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "on_data"
};
static struct starpu_codelet alone = { .cpu_funcs = { nothing }, .name = "alone" };
static struct starpu_codelet holds = {
    .cpu_funcs = { gate_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "holds"
};

static struct starpu_task *task(struct starpu_codelet *cl, const char *name)
{
    struct starpu_task *t = starpu_task_create();
    t->cl = cl;
    t->name = name;
    return t;
}

/* One task holds the datum, and others wait: for the datum, for that one, for one that is ready, for a tag.
 */
static int program(void)
{
    static int value, other;
    struct gate gate = { 0 };
    starpu_data_handle_t h, held;
    runtime_start(1, "eager");
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    starpu_variable_data_register(&held, STARPU_MAIN_RAM, (uintptr_t)&other, sizeof other);
    starpu_data_set_name(h, "the value");
    starpu_data_acquire(held, STARPU_W);
    struct starpu_task *first = task(&holds, "first"), *second = task(&on_data, "second"),
                       *ready = task(&alone, "free"), *third = task(&alone, "third"),
                       *tagged = task(&alone, "tagged"), *fifth = task(&on_data, "fifth");
    first->handles[0] = second->handles[0] = h;
    fifth->handles[0] = held;
    first->cl_arg = &gate;
    tagged->use_tag = 1;
    tagged->tag_id = 7;
    starpu_tag_declare_deps(7, 1, (starpu_tag_t)8);
    struct orrery_joblist *open = orrery_joblist_create("the open list", 0),
                          *stopped = orrery_joblist_create("the stopped list", 0);
    orrery_joblist_stop(stopped);
    starpu_task_declare_deps_array(third, 1, &ready);
    if (starpu_task_submit(first)) return 1;
    while (!atomic_load(&gate.entered)) sched_yield();
    if (starpu_task_submit(second) || starpu_task_submit(ready) || starpu_task_submit(third) ||
        starpu_task_submit(tagged) || starpu_task_submit(fifth) ||
        orrery_joblist_add_job(open, task(&alone, "sixth")) ||
        orrery_joblist_add_job(stopped, task(&alone, "seventh")))
        return 1;
    child_says("ready");
    child_waits();
    starpu_data_release(held);
    starpu_tag_notify_from_apps(8);
    orrery_joblist_start(stopped);
    atomic_store(&gate.open, 1);
    starpu_task_wait_for_all();
    orrery_joblist_destroy(open);
    orrery_joblist_destroy(stopped);
    starpu_data_unregister(h);
    starpu_data_unregister(held);
    starpu_shutdown();
    return 0;
}

static void spmd_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet together = {
    .cpu_funcs = { spmd_func }, .type = STARPU_SPMD, .max_parallelism = 2, .name = "together"
};

/* One of the two workers that a task is for is busy. */
static int parallel_program(void)
{
    struct gate gate = { 0 };
    int both[2] = { 0, 1 };
    runtime_start(2, "eager");
    int unit = starpu_combined_worker_assign_workerid(2, both);
    if (starpu_cpu_worker_get_count() < 2 || unit < 0) return 77;
    gate_submit(&gate, 1);
    gate_wait_entered(&gate, 1);
    struct starpu_task *t = task(&together, "of both");
    t->execute_on_a_specific_worker = 1;
    t->workerid = (unsigned)unit;
    if (starpu_task_submit(t)) return 1;
    child_says("ready");
    child_waits();
    gate_open(&gate);
    starpu_task_wait_for_all();
    starpu_shutdown();
    return 0;
}

static struct starpu_codelet on_two = {
    .cuda_funcs = { nothing }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_RW }, .name = "on_two"
};

/* A device has room for two blocks. The program holds one of them, and a task needs both. */
static int room_program(void)
{
    enum { BLOCK = 64 << 10 };
    static char blocks[3][BLOCK];
    starpu_data_handle_t h[3];
    sim_start_as(1, &(struct sim_config){ .devices = "1", .mem_mb = "0.14" }, NULL, "eager");
    for (int i = 0; i < 3; i++)
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)blocks[i], BLOCK, 1);
    starpu_data_set_name(h[0], "held");
    starpu_data_set_name(h[2], "wanted");
    if (starpu_data_acquire_on_node(h[0], (int)sim_node(0), STARPU_RW)) return 1;
    struct starpu_task *t = task(&on_two, "needs both");
    t->handles[0] = h[1];
    t->handles[1] = h[2];
    if (starpu_task_submit(t)) return 1;
    child_says("ready");
    child_waits();
    starpu_data_release_on_node(h[0], (int)sim_node(0));
    starpu_task_wait_for_all();
    for (int i = 0; i < 3; i++) starpu_data_unregister(h[i]);
    starpu_shutdown();
    return 0;
}

static atomic_int over;

static void free_name(void *name)
{
    free(name);
}

/* Tasks on a few data, with names, codelets and handles that go with them, until it is told to end. */
static void *submit_on_and_on(void *unused UNUSED)
{
    static int value[4];
    for (unsigned i = 0; !atomic_load(&over); i++) {
        starpu_data_handle_t h[4];
        for (int k = 0; k < 4; k++)
            starpu_variable_data_register(&h[k], STARPU_MAIN_RAM, (uintptr_t)&value[k], sizeof value[k]);
        for (int k = 0; k < 32; k++) {
            char *name = malloc(40);
            snprintf(name, 40, "task number %u of round %u", k, i);
            struct starpu_task *t = task(&on_data, name);
            t->handles[0] = h[k % 4];
            t->callback_func = free_name; /* it is not named any more when its callback is over */
            t->callback_arg = name;
            if (starpu_task_submit(t)) abort();
        }
        for (int k = 0; k < 4; k++) starpu_data_unregister(h[k]);
    }
    return NULL;
}

static int at_full_rate(void)
{
    pthread_t thread;
    runtime_start(2, NULL);
    pthread_create(&thread, NULL, submit_on_and_on, NULL);
    child_says("ready");
    child_waits();
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    starpu_shutdown();
    return 0;
}

static atomic_int caught;

static void own_handler(int signal UNUSED)
{
    atomic_store(&caught, 1);
}

/* The program's handler stays; without one, a child that is forked off dies of the signal as ever. */
static int with_signals(void)
{
    int status = 0;
    struct sigaction own = { .sa_handler = own_handler }, now;
    runtime_start(1, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    starpu_shutdown();
    sigaction(SIGUSR1, NULL, &now);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGUSR1 || now.sa_handler != SIG_DFL) return 1;
    sigaction(SIGUSR1, &own, NULL);
    runtime_start(1, NULL);
    raise(SIGUSR1);
    starpu_shutdown();
    sigaction(SIGUSR1, NULL, &now);
    return atomic_load(&caught) && now.sa_handler == own_handler ? 0 : 2;
}

static char folder[] = "/tmp/orrery-why.XXXXXX";

static void all_stands(char *self)
{
    struct child c = child_start(self, "program");
    if (!ok(child_hears(&c, "ready"), "tasks wait in a program")) return;
    is_int(run("tools/orrery_why %d", (int)c.pid), 0, "orrery_why asks it");
    ok(all_of(says("1 run"), says("3 are ready"), says("4 tasks wait")), "how many wait, are ready and run");
    ok(all_of(says("task second (job "), says(" waits for data \"the value\", which task first (job "),
              says(" has\n")),
       "who waits for data, and which task has them");
    ok(all_of(says("task fifth (job "), says(", which no task has: the program holds it\n")),
       "or that the program has them");
    ok(all_of(says("task third (job "), says(" waits for task free (job ")), "who waits for a task");
    ok(all_of(says("task tagged (job "), says("tags that its tag 7 depends on")), "who waits for a tag");
    ok(all_of(says("task free (job "), says("is ready, and waits for a worker")), "and who for a worker");
    ok(all_of(says("task sixth (job "), says("waits in job list \"the open list\", for its turn"),
              says("task seventh (job "),
              says("waits in job list \"the stopped list\", which the program has stopped")),
       "and who in a list of jobs");
    kill(c.pid, SIGSTOP);
    run("timeout -s KILL 0.2 tools/orrery_why %d", (int)c.pid);
    kill(c.pid, SIGCONT);
    ok(all_of(run("tools/orrery_why %d", (int)c.pid) == 0, says("task second")),
       "one who asks and dies does not keep others from asking");
    child_tell(&c);
    is_int(child_ends(&c), 0, "the program goes on to its end");
    ok(all_of(run("tools/orrery_why %d", (int)c.pid) == 1, says("there is no process"),
              run("tools/orrery_why x") == 2),
       "a process that is gone cannot be asked");
}

/* Asks until the process has come so far that it says so. */
static int comes_to_say(const struct child *c, const char *text)
{
    for (int i = 0; i < 200; i++) {
        if (run("tools/orrery_why %d", (int)c->pid) != 0) return 0;
        if (strstr(output, text)) return 1;
        usleep(10000);
    }
    return says(text);
}

static void in_parallel(char *self)
{
    struct child c = child_start(self, "parallel");
    if (!child_hears(&c, "ready")) {
        skip("two workers cannot be had here");
        child_ends(&c);
        return;
    }
    ok(all_of(comes_to_say(&c, "task of both (job "),
              comes_to_say(&c, "is to run on 2 workers together, and 1 have come: it waits for CPU 1"),
              says(", which runs task gate (job ")),
       "who waits for a worker of several that are to come together, and what that one runs");
    child_tell(&c);
    is_int(child_ends(&c), 0, "that program goes on to its end");
}

static void in_little_memory(char *self)
{
    struct child c = child_start(self, "memory");
    if (!ok(child_hears(&c, "ready"), "a device has too little memory")) return;
    ok(all_of(comes_to_say(&c, "task needs both (job "),
              comes_to_say(&c, "waits for 65536 bytes of memory for data"),
              comes_to_say(&c, "65536 bytes for data \"held\", which the program holds there")),
       "who waits for memory of a device, and who has it");
    ok(all_of(says("on memory node 1 ("), says(" bytes are taken, and these cannot be thrown out:\n")),
       "of which node, and how much of it is taken");
    child_tell(&c);
    is_int(child_ends(&c), 0, "and that program, too");
}

static void by_signal(char *self)
{
    char name[100];
    snprintf(name, sizeof name, "%s/stderr", folder);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600), saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    struct child c = child_start(self, "program");
    dup2(saved, STDERR_FILENO);
    close(saved), close(fd);
    child_hears(&c, "ready");
    kill(c.pid, SIGUSR1);
    for (int i = 0; i < 1000 && run("grep -q 'task fifth' %s", name); i++) usleep(5000);
    child_tell(&c);
    is_int(child_ends(&c), 0, "SIGUSR1 does not end the program");
    run("cat %s", name);
    ok(all_of(says("orrery: 4 tasks wait"), says("orrery:   task second (job ")),
       "which prints what tasks wait for");
    unlink(name);
    is_int(run("%s signals", self), 0,
           "a handler of the program's stays, and a child that is forked off dies as ever");
}

static void asked_at_full_rate(char *self)
{
    int answered = 0;
    struct child c = child_start(self, "rate");
    child_hears(&c, "ready");
    for (int i = 0; i < ASKED; i++)
        answered += run("tools/orrery_why %d", (int)c.pid) == 0 && says("are ready");
    is_int(answered, ASKED, "a program whose tasks end at full rate answers each time");
    child_tell(&c);
    is_int(child_ends(&c), 0, "and comes to no harm");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "program") == 0) return program();
    if (argc > 1 && strcmp(argv[1], "rate") == 0) return at_full_rate();
    if (argc > 1 && strcmp(argv[1], "parallel") == 0) return parallel_program();
    if (argc > 1 && strcmp(argv[1], "memory") == 0) return room_program();
    if (argc > 1 && strcmp(argv[1], "signals") == 0) return with_signals();
    if (!mkdtemp(folder)) return 99;
    setenv("ORRERY_LIVE", folder, 1);
    setenv("ORRERY_ON_DEADLOCK", "off", 1);
    all_stands(argv[0]);
    in_parallel(argv[0]);
    in_little_memory(argv[0]);
    if (SANITIZED)
        skip("sanitizers put signals' handlers off until a thread calls the C library");
    else
        by_signal(argv[0]);
    asked_at_full_rate(argv[0]);
    run("ls %s | wc -l", folder);
    is_int(atoi(output), 0, "no answer is left");
    rmdir(folder);
    return done_testing();
}
