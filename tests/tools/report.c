/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What orrery_report says of recordings whose figures are known, and of damaged ones.
 * Threads: main; programs of their own record. Owns: files in the working folder. Not here: recording
 * (tests/core/recording.c).
 */
#include <unistd.h>

#include "tests/helper.h"
#include "tests/tools/runs.h"

enum { CHAIN = 30, WIDE = 20, TAGS = 50 };

static const struct starpu_codelet *slow; /* that makes its chain the longest */

static void work(void *buffers[] UNUSED, void *arg UNUSED)
{
    if (starpu_task_get_current()->cl == slow) usleep(2000);
}
static struct starpu_codelet in_turn = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "in_turn"
};
static struct starpu_codelet reader = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_R }, .name = "reader"
};
static struct starpu_codelet declared = { .cpu_funcs = { work }, .name = "declared" };
static struct starpu_codelet tagged = { .cpu_funcs = { work }, .name = "tagged" };

/* One after the other by data; then readers; then one after the other by declaration and by tags. */
static int program(const char *which)
{
    slow = strcmp(which, "data") == 0 ? &in_turn : strcmp(which, "tasks") == 0 ? &declared : &tagged;
    static int value;
    starpu_data_handle_t h;
    struct starpu_task *last = NULL;
    runtime_start(2, "eager");
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < CHAIN; i++) starpu_task_insert(&in_turn, STARPU_RW, h, 0);
    for (int i = 0; i < WIDE; i++) starpu_task_insert(&reader, STARPU_R, h, 0);
    starpu_data_unregister(h);
    for (int i = 0; i < CHAIN; i++) {
        struct starpu_task *t = starpu_task_create();
        t->cl = &declared;
        t->detach = 0;
        if (last) starpu_task_declare_deps_array(t, 1, &last);
        if (starpu_task_submit(t) != 0 || (last && starpu_task_wait(last) != 0)) return 1;
        last = t;
    }
    if (starpu_task_wait(last) != 0) return 1;
    for (starpu_tag_t i = 1; i < TAGS; i++) starpu_tag_declare_deps(i, 1, i - 1);
    for (starpu_tag_t i = 0; i < TAGS; i++) {
        struct starpu_task *t = starpu_task_create();
        t->cl = &tagged;
        t->use_tag = 1;
        t->tag_id = i;
        if (starpu_task_submit(t) != 0) return 1;
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
    return 0;
}

static double figure(const char *name)
{
    const char *at = strstr(output, name);
    double value = -1;
    if (!at || sscanf(at + strlen(name), "%lf", &value) != 1) diag("no %s in: %.600s", name, output);
    return value;
}

static long tasks_after(const char *name)
{
    const char *at = strstr(output, name), *ms = at ? strstr(at, " ms ") : NULL;
    return ms ? atol(ms + 4) : -1;
}

static void break_file(void)
{
    FILE *f = fopen("report-run.otrace", "r+b");
    if (!f) return;
    fseek(f, 0, SEEK_END);
    long bytes = ftell(f);
    fseek(f, bytes / 2, SEEK_SET);
    fputs("damage", f);
    fclose(f);
    if (truncate("report-run.otrace", bytes - 30) != 0) diag("it was not cut");
}

int main(int argc, char **argv)
{
    if (argc > 1) return program(argv[1]);
    run("ORRERY_TRACE=report-run.otrace %s data", argv[0]);
    run("tools/orrery_report report-run.otrace");
    is_int(tasks_after("\ncritical path"), CHAIN + 1,
           "tasks that write the same data one after the other, then one that reads it, are a path");
    run("ORRERY_TRACE=report-run.otrace %s tasks", argv[0]);
    run("tools/orrery_report report-run.otrace");
    is_int(tasks_after("\ncritical path"), CHAIN, "so are those that are declared to wait for each other");
    is_int(run("ORRERY_TRACE=report-run.otrace %s tags", argv[0]), 0, "a run is recorded");
    is_int(run("tools/orrery_report report-run.otrace"), 0, "and reported");
    is_int((long long)figure("\ntasks"), 2 * CHAIN + TAGS + WIDE, "with all of its tasks");
    is_int(tasks_after("\ncritical path"), TAGS, "tags make a path, too");
    double makespan = figure("\nmakespan"), bound = figure("\nlower bound"), area = figure("\narea");
    ok(all_of(bound > 0, bound <= makespan, area <= makespan, figure("\ncritical path") <= bound),
       "no run is faster than its bounds");
    ok(all_of(says("in_turn"), says("reader"), says("declared"), says("CPU 0"), says("CPU 1")),
       "codelets and workers have their names");
    ok(!strstr(output, "cut off") && !strstr(output, "damaged"), "nothing is missing");
    break_file();
    ok(all_of(run("tools/orrery_report report-run.otrace") == 0, says("cut off"), says("damaged")),
       "of a damaged recording it says so, and shows the rest");
    is_int(run("tools/orrery_report"), 2, "without a file it says how to use it");
    is_int(run("tools/orrery_report %s", argv[0]), 1, "what is no recording is refused");
    ok(says("it is no recording"), "and that is said");
    is_int(run("tools/orrery_report report-no-such-file"), 1, "so is what is not there");
    unlink("report-run.otrace");
    return done_testing();
}
