/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What orrery_report knows beside tasks: what came before what through pieces of data and messages, large
 * groups, communicators, predictions, memory, iterations and marks; and what it advises.
 * Threads: main; programs of their own record. Owns: files in the working folder. Not here: tasks, workers
 * and clocks (report.c), the page (page.c).
 */
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/helper.h"
#include "tests/tools/by_hand.h"
#include "tests/tools/runs.h"

enum { ROUNDS = 10, PIECES = 4, GROUP = 900 };
static const double ms = 1e6;

/* ---- programs ---- */

static const struct starpu_codelet *slow;
static void work(void *buffers[] UNUSED, void *arg UNUSED)
{
    if (starpu_task_get_current()->cl == slow) usleep(1000);
}
static double cost(struct starpu_task *t UNUSED, unsigned workerid UNUSED, unsigned implementation UNUSED)
{
    return 70;
}
static struct starpu_perfmodel model = { .type = STARPU_PER_WORKER, .worker_cost_function = cost };
static struct starpu_codelet whole = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "whole"
};
static struct starpu_codelet piece = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "piece"
};
static struct starpu_codelet looker = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_R }, .name = "looker"
};
static struct starpu_codelet known = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "known", .model = &model
};

/* The whole, its pieces, the whole again, and so on, by a plan or at once. */
static void in_pieces(starpu_data_handle_t h, bool planned)
{
    starpu_data_handle_t child[PIECES];
    struct starpu_data_filter f = { .filter_func = starpu_vector_filter_block, .nchildren = PIECES };
    if (planned) starpu_data_partition_plan(h, &f, child);
    for (int i = 0; i < ROUNDS; i++) {
        starpu_task_insert(&whole, STARPU_RW, h, 0);
        if (!planned) starpu_data_partition(h, &f);
        for (int j = 0; j < PIECES; j++)
            starpu_task_insert(&piece, STARPU_RW, planned ? child[j] : starpu_data_get_sub_data(h, 1, j), 0);
        if (!planned) starpu_data_unpartition(h, STARPU_MAIN_RAM);
    }
    if (planned) starpu_data_partition_clean(h, PIECES, child);
}

static void give_back(void *h)
{
    starpu_data_release(h);
}

/* Readers of one datum, and between them the program: written by each way to acquire, and read, which holds
 * up no reader. */
static void acquired(starpu_data_handle_t h)
{
    for (int i = 0; i < 4; i++) {
        starpu_task_insert(&looker, STARPU_R, h, 0);
        if (i == 0 && starpu_data_acquire(h, STARPU_RW) == 0) starpu_data_release(h);
        if (i == 1) starpu_data_acquire_cb(h, STARPU_W, give_back, h);
        if (i == 2) starpu_task_wait_for_all();
        if (i == 2 && starpu_data_acquire_try(h, STARPU_RW) == 0) starpu_data_release(h);
    }
    for (int i = 0; i < 4; i++) {
        if (starpu_data_acquire(h, STARPU_R) == 0) starpu_data_release(h);
        starpu_data_acquire_cb_sequential_consistency(h, STARPU_R, give_back, h, 0);
        starpu_task_insert(&looker, STARPU_R, h, 0);
    }
}

static int program(const char *which)
{
    static float value[1 << 12];
    starpu_data_handle_t h;
    slow = &piece; /* any path with most pieces is the longest */
    if (strcmp(which, "together") == 0) {
        known.type = STARPU_FORKJOIN;
        known.max_parallelism = 2;
    }
    runtime_start(2, getenv("STARPU_SCHED") ? getenv("STARPU_SCHED") : "dmda");
    starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)value, LENGTH(value), sizeof value[0]);
    if (strcmp(which, "model") == 0 || known.type == STARPU_FORKJOIN) {
        for (int i = 0; i < ROUNDS; i++) {
            starpu_iteration_push(i);
            starpu_task_insert(&known, STARPU_RW, h, 0);
            starpu_task_wait_for_all();
            starpu_iteration_pop();
        }
        starpu_fxt_trace_user_event_string("half of it");
        double bound, whole_bound;
        starpu_bound_start(0, 0);
        starpu_task_insert(&known, STARPU_RW, h, 0);
        starpu_task_wait_for_all();
        starpu_bound_stop();
        starpu_bound_compute(&bound, &whole_bound, 0);
    } else if (strcmp(which, "acquired") == 0) {
        slow = &looker;
        acquired(h);
    } else {
        in_pieces(h, strcmp(which, "plan") == 0);
    }
    starpu_data_unregister(h);
    starpu_shutdown();
    return 0;
}

static const char *line(const char *name)
{
    const char *at = strstr(output, name);
    if (!at) diag("no %s in: %.3000s", name, output);
    return at ? at + strlen(name) : "";
}

static void pieces(const char *self)
{
    static const char *const how[] = { "plan", "at_once" };
    for (size_t i = 0; i < LENGTH(how); i++) {
        double path = 0;
        int tasks = 0;
        run("ORRERY_TRACE=orders-run.otrace %s %s", self, how[i]);
        run("tools/orrery_report orders-run.otrace");
        sscanf(line("\ncritical path"), "%lf ms %d tasks", &path, &tasks);
        if (!ok(all_of(tasks == 2 * ROUNDS, path >= ROUNDS),
                "tasks on a whole and on its pieces wait for each other (%s)", how[i]))
            diag("%d tasks", tasks);
    }
}

static void models(const char *self)
{
    int tasks = 0;
    double predicted = 0, iterations = 0, marks = 0;
    run("ORRERY_TRACE=orders-run.otrace %s model", self);
    run("tools/orrery_report orders-run.otrace");
    sscanf(line("off by%\nknown"), "%d %lf", &tasks, &predicted);
    sscanf(line("\niterations"), "%lf", &iterations);
    sscanf(line("\nmarks of the program"), "%lf", &marks);
    ok(all_of(tasks == ROUNDS + 1, predicted > 69, predicted < 75),
       "what tasks were predicted to take is known");
    ok(all_of(iterations > ROUNDS - 0.5, iterations<ROUNDS + 0.5, marks> 0.5, marks < 1.5),
       "so are iterations and marks");
    ok(says("\nstarpu_bound"), "and the bound that the program had computed");
    run("tools/orrery_report -o orders-run.csv orders-run.otrace");
    run("python3 -c 'import csv; print(sum(69 < float(r[\"predicted_us\"]) < 75 and int(r[\"candidates\"]) "
        "== 2 "
        "for r in csv.DictReader(open(\"orders-run.csv\")) if r[\"codelet\"] == \"known\"))'");
    is_int(atol(output), ROUNDS + 1, "and between how many workers the policy chose");
    unlink("orders-run.csv");
}

/* Each policy that compares says what: both workers; of a task that may have several, these together, too. */
static void compared(const char *self)
{
    static const struct {
        const char *policy, *program;
        int candidates;
    } cases[] = { { "modular-heft", "model", 2 },       { "modular-heft2", "model", 2 },
                  { "modular-heteroprio", "model", 2 }, { "modular-dmda", "model", 2 },
                  { "modular-heft-prio", "model", 1 },  { "pheft", "model", 2 },
                  { "pheft", "together", 3 },           { "modular-pheft", "together", 3 } };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        run("ORRERY_TRACE=orders-run.otrace STARPU_SCHED=%s %s %s", cases[i].policy, self, cases[i].program);
        run("tools/orrery_report -o orders-run.csv orders-run.otrace");
        run("python3 -c 'import csv; print(sum(69 < float(r[\"predicted_us\"]) < 75 and "
            "int(r[\"candidates\"]) "
            "== %d for r in csv.DictReader(open(\"orders-run.csv\")) if r[\"codelet\"] == \"known\"))'",
            cases[i].candidates);
        is_int(atol(output), ROUNDS + 1, "%s tells what it compared (%s): %d", cases[i].policy,
               cases[i].program, cases[i].candidates);
    }
    unlink("orders-run.csv");
}

/* Both workers have a part of each task: who does not lead it after the task before it and before the next.
 */
static void in_teams(const char *self)
{
    run("ORRERY_TRACE=orders-run.otrace STARPU_SCHED=peager %s together", self);
    run("tools/orrery_report -o orders-run.json orders-run.otrace");
    run("python3 -c '\n"
        "import json\n"
        "events = [e for e in json.load(open(\"orders-run.json\"))[\"traceEvents\"] if e[\"ph\"] == \"X\"]\n"
        "tasks, parts = (sorted((e for e in events if e[\"cat\"] == c), key=lambda e: e[\"ts\"]) for c in "
        "(\"task\", \"part\"))\n"
        "print(len(tasks), sum(p[\"name\"] == t[\"name\"] == \"known\" and p[\"tid\"] != t[\"tid\"] and "
        "p[\"ts\"] + "
        "p[\"dur\"] < n[\"ts\"] + 0.1 for t, n, p in zip(tasks, tasks[1:], parts)), sum(p[\"ts\"] > "
        "t[\"ts\"] + "
        "t[\"dur\"] - 0.1 for t, p in zip(tasks, parts[1:%d])))'",
        ROUNDS);
    char wanted[60];
    snprintf(wanted, sizeof wanted, "%d %d %d\n", ROUNDS + 1, ROUNDS,
             ROUNDS - 1); /* the last may end after the run does */
    ok(strcmp(output, wanted) == 0,
       "parts of parallel tasks are there, by the other worker, under the task's name");
    if (strcmp(output, wanted) != 0) diag("%.600s", output);
    unlink("orders-run.json");
}

/* ---- by hand ---- */

static void one_task(uint64_t job, double from, double to, uint64_t access)
{
    PUT(OTRACE_SUBMITTED, from - 3, job, 0, access);
    PUT(OTRACE_READY, from - 2, job);
    PUT(OTRACE_STARTED, from, OTRACE_PAIR(job, 0));
    PUT(OTRACE_ENDED, to, OTRACE_PAIR(job, 0), (uint64_t)(to - from));
}

static void groups(void)
{
    begin_by_hand("orders-hand.otrace", -1, "host a\nworker 0 0 0 one\n", 1e9, 1, 0);
    for (uint64_t i = 0; i < 2 * GROUP; i++)
        PUT(OTRACE_SUBMITTED, 1e3 + (double)i, i + 1, 0, 64 | (i < GROUP ? OTRACE_READ : OTRACE_COMMUTE));
    end_by_hand(8e6);
    run("tools/orrery_report -o orders-hand.dot -o orders-hand.rec orders-hand.otrace");
    run("grep -c -- '->' orders-hand.dot");
    is_int(atol(output), 2 * GROUP, "two large groups have as many dependencies as tasks, not their square");
    run("awk '/^DependsOn/ {n += NF - 1} END {print n}' orders-hand.rec");
    is_int(atol(output), GROUP * GROUP, "where tasks alone can be named each has all that it waits for");
    unlink("orders-hand.dot"), unlink("orders-hand.rec");
}

/* Rank 0 writes, sends; rank 1 receives, reads. Under another communicator the same tag goes the other way
 * round: what was sent second is received first. */
static void messages(void)
{
    static const char *const path[] = { "orders-rank.0.otrace", "orders-rank.1.otrace" };
    int tasks = 0, times = 0;
    double least = 0, mean = 0;
    for (int rank = 0; rank < 2; rank++) {
        begin_by_hand(path[rank], rank, "host a\nworker 0 0 0 one\n", 1e9, 1, 0);
        if (rank == 0) one_task(1, 1 * ms, 3 * ms, 64 | OTRACE_WRITE);
        PUT(OTRACE_JOINED, 3 * ms, OTRACE_PAIR(rank ? 8192 : 4096, 1),
            64 | (rank ? OTRACE_WRITE : OTRACE_READ));
        for (uint64_t i = 0; i < 2; i++)
            PUT(rank ? OTRACE_RECEIVED : OTRACE_SENT,
                (rank ? i ? 4.5 : 4
                 : i  ? 3.2
                      : 3) *
                    ms,
                i ? 8192 : 4096, 8, (uint64_t)!rank, 7, (uint64_t)rank ^ i);
        if (rank == 1) one_task(1, 5 * ms, 6 * ms, 64 | OTRACE_READ);
        end_by_hand(8 * ms);
    }
    run("tools/orrery_report %s %s", path[0], path[1]);
    sscanf(line("\ncritical path"), "%*f ms %d tasks, %d times", &tasks, &times);
    ok(all_of(tasks == 2, times == 1), "the critical path goes from rank to rank with a message");
    sscanf(line("\n0   to 1"), "%*d %*f %lf %lf", &least, &mean);
    ok(all_of(fabs(least - 800) < 1, fabs(mean - 1150) < 1),
       "a message of another communicator is another, though its tag is the same");
    for (int rank = 0; rank < 2; rank++) unlink(path[rank]);
}

static void acquisitions(const char *self)
{
    double path = 0;
    int tasks = 0;
    run("ORRERY_TRACE=orders-run.otrace %s acquired", self);
    run("tools/orrery_report orders-run.otrace");
    sscanf(line("\ncritical path"), "%lf ms %d tasks", &path, &tasks);
    if (!ok(all_of(tasks == 4, path >= 4),
            "what the program acquires to write comes between tasks, and what it reads does not"))
        diag("%d tasks", tasks);
}

/* A value goes from rank 0 by way of rank 1 to rank 2. Before that rank 2 did not want one so, and got it
 * from rank 0. */
static void tree(void)
{
    enum { OWN = 4096, GOT = 8192, ON = 12288, LEAF = 16384, FIRST = 20480 };
    static const char *const path[] = { "orders-rank.0.otrace", "orders-rank.1.otrace",
                                        "orders-rank.2.otrace" };
    int tasks = 0, times = 0, count = 0;
    double least = 0, mean = 0;
    for (int rank = 0; rank < 3; rank++) {
        begin_by_hand(path[rank], rank, "host a\nworker 0 0 0 one\n", 1e9, 1, 0);
        if (rank == 0) {
            one_task(1, 1 * ms, 3 * ms, 64 | OTRACE_WRITE);
            PUT(OTRACE_SENT, 3 * ms, FIRST, 8, 2, 7, 0);
            PUT(OTRACE_JOINED, 4 * ms, OTRACE_PAIR(OWN, 1), 64 | OTRACE_READ);
            PUT(OTRACE_SENT, 4 * ms, OWN, 8, 1, 7, 0);
        } else if (rank == 1) {
            PUT(OTRACE_PASSED, 2 * ms, ON, 0, GOT);
            PUT(OTRACE_SENT, 2 * ms, ON, 8, 2, 7, 0);
            PUT(OTRACE_PASSED, 2.5 * ms, ON, OTRACE_DECLINED, 0);
            PUT(OTRACE_JOINED, 3 * ms, OTRACE_PAIR(GOT, 1), 64 | OTRACE_WRITE);
            PUT(OTRACE_RECEIVED, 5 * ms, GOT, 8, 0, 7, 0);
            PUT(OTRACE_PASSED, 5 * ms, ON, 0, GOT);
            PUT(OTRACE_SENT, 5 * ms, ON, 8, 2, 7, 0);
        } else {
            PUT(OTRACE_RECEIVED, 3.5 * ms, FIRST, 8, 0, 7, 0);
            PUT(OTRACE_JOINED, 4 * ms, OTRACE_PAIR(LEAF, 1), 64 | OTRACE_WRITE);
            PUT(OTRACE_PASSED, 5 * ms, LEAF, 1, 0);
            PUT(OTRACE_RECEIVED, 5.7 * ms, LEAF, 8, 0, 7, 0);
            one_task(1, 6 * ms, 9 * ms, 64 | OTRACE_READ);
        }
        end_by_hand(10 * ms);
    }
    run("tools/orrery_report %s %s %s", path[0], path[1], path[2]);
    sscanf(line("\ncritical path"), "%*f ms %d tasks, %d times", &tasks, &times);
    ok(all_of(tasks == 2, times == 1), "a value that went by way of another rank is a dependency");
    sscanf(line("\n1   to 2"), "%d %*f %lf %lf", &count, &least, &mean);
    ok(all_of(count == 1, fabs(least - 700) < 1), "from there it was sent to the rank that has it, once");
    sscanf(line("\n0   to 2"), "%d %*f %lf %lf", &count, &least, &mean);
    ok(all_of(count == 1, fabs(least - 500) < 1), "and one that was not wanted so came from its owner");
    for (int rank = 0; rank < 3; rank++) unlink(path[rank]);
}

static void memory(void)
{
    double most = 0, end = 0, limit = 0;
    int changes = 0;
    begin_by_hand("orders-hand.otrace", -1, "host a\nnode 1 cave\nworker 0 0 0 one\n", 1e9, 1, 0);
    for (uint64_t i = 1; i <= 5; i++)
        PUT(OTRACE_MEMORY, (double)i * ms, OTRACE_PAIR((i < 4 ? i : 1) * 1000000, 1), 9000000);
    one_task(1, 5 * ms, 6 * ms, 64 | OTRACE_READ);
    end_by_hand(8 * ms);
    run("tools/orrery_report orders-hand.otrace");
    sscanf(line("\ncave"), "%d %lf %lf %lf", &changes, &most, &end, &limit);
    ok(all_of(changes == 5, most > 2.99, most<3.01, end> 0.99, end<1.01, limit> 8.9, limit < 9.1),
       "how much memory of each node was in use");
}

/* A chain on one worker of four, tasks that are shorter than what they cost, and a run without any trouble.
 */
static void advice(void)
{
    static const char four[] = "host a\nworker 0 0 0 a\nworker 1 0 0 b\nworker 2 0 0 c\nworker 3 0 0 d\n";
    begin_by_hand("orders-hand.otrace", -1, four, 1e9, 1, 0);
    for (uint64_t i = 1; i < 4; i++) PUT(OTRACE_IDLE, 1, i, 0);
    for (uint64_t i = 0; i < 10; i++) {
        double at = 10 + (double)i * ms;
        PUT(OTRACE_SUBMITTED, i ? 20 : 5, i + 1, 0, 64 | OTRACE_WRITE);
        PUT(OTRACE_READY, at, i + 1);
        PUT(OTRACE_STARTED, at, OTRACE_PAIR(i + 1, 0));
        PUT(OTRACE_ENDED, at + ms - 1, OTRACE_PAIR(i + 1, 0), (uint64_t)ms - 1);
    }
    end_by_hand(11 * ms);
    run("tools/orrery_report orders-hand.otrace");
    ok(all_of(says("More parallelism"), says("a chain of 10 tasks takes 10.000"),
              !strstr(output, "Larger tasks")),
       "a chain is advised to be cut, with its figures");
    begin_by_hand("orders-hand.otrace", -1, "host a\nworker 0 0 0 a\n", 1e9, 1, 0);
    for (uint64_t i = 0; i < 100; i++) one_task(i + 1, 100 + (double)i * 3000, 1100 + (double)i * 3000, 0);
    end_by_hand(1 * ms);
    run("tools/orrery_report orders-hand.otrace");
    ok(all_of(says("Larger tasks"), says("A body takes 1.00 us"), !strstr(output, "More parallelism")),
       "tasks that are too short are advised to be larger");
    begin_by_hand("orders-hand.otrace", -1, "host a\nworker 0 0 0 a\n", 1e9, 1, 0);
    for (uint64_t i = 0; i < 20; i++) one_task(i + 1, 100 + (double)i * ms, 99 + (double)(i + 1) * ms, 0);
    end_by_hand(21 * ms);
    run("tools/orrery_report orders-hand.otrace");
    ok(!strstr(output, "what to try"), "nothing is advised where nothing is wrong");
}

static void other_versions(void)
{
    for (uint32_t version = 1; version <= OTRACE_VERSION + 1; version++) {
        begin_by_hand("orders-hand.otrace", -1, "host a\nworker 0 0 0 a\n", 1e9, 1, 0);
        one_task(1, 1 * ms, 2 * ms, 0);
        end_by_hand(3 * ms);
        FILE *f = fopen("orders-hand.otrace", "r+b");
        fseek(f, offsetof(struct otrace_file, version), SEEK_SET);
        fwrite(&version, sizeof version, 1, f);
        fclose(f);
        int status = run("tools/orrery_report orders-hand.otrace");
        ok(version <= OTRACE_VERSION ? status == 0 : all_of(status == 1, says("later version")),
           "a recording of version %u is %s", version,
           version <= OTRACE_VERSION ? "read" : "refused by name");
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) return program(argv[1]);
    pieces(argv[0]);
    models(argv[0]);
    compared(argv[0]);
    in_teams(argv[0]);
    acquisitions(argv[0]);
    tree();
    groups();
    messages();
    memory();
    advice();
    other_versions();
    unlink("orders-run.otrace"), unlink("orders-hand.otrace");
    return done_testing();
}
