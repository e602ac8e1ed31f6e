/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page that orrery_report makes, in a real browser without a screen: its script runs to the end without
 * an error, its figures are those of the text, names of codelets are text and nothing else; it stays small.
 * Threads: main; a program of its own records. Owns: files in the working folder; a picture of the page is
 * kept there (report-page.png). Not here: the figures (report.c).
 */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/helper.h"
#include "tests/tools/runs.h"

enum { TASKS = 500, MANY = SCALED(250000, 20000) };

static void work(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet cl = {
    .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "</script><b id=\"evil\">x"
};

static int program(int tasks)
{
    static int value;
    starpu_data_handle_t h;
    runtime_start(2, "eager");
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < tasks; i++) starpu_task_insert(&cl, STARPU_RW, h, 0);
    starpu_data_unregister(h);
    starpu_shutdown();
    return 0;
}

static double figure(const char *after)
{
    const char *at = strstr(output, after);
    return at ? atof(at + strlen(after)) : -1;
}

/* What the page says in the element with that id. */
static double shown(const char *id)
{
    char start[64];
    snprintf(start, sizeof start, "id=\"%s\">", id);
    return figure(start);
}

static void look_at_it(void)
{
    static const char *const ids[] = { "f-tasks", "f-makespan", "f-utilisation", "f-critical", "f-bound" };
    static const char *const lines[] = { "\ntasks", "\nmakespan", "\nutilisation", "\ncritical path",
                                         "\nlower bound" };
    double wanted[LENGTH(ids)];
    int same = 0;
    run("tools/orrery_report report-page.otrace");
    for (size_t i = 0; i < LENGTH(ids); i++) wanted[i] = figure(lines[i]);
    /* the picture, and what the script says; then the page as the script has made it, without its data */
    run("d=$(mktemp -d); for what in --screenshot=report-page.png --dump-dom; do timeout 50 chromium "
        "--headless "
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$d --enable-logging=stderr "
        "--window-size=1400,1000 "
        "--virtual-time-budget=2000 $what \"file://$PWD/report-page.html\"; done 2>&1 | "
        "grep -v '^<script id=\"data\"' | grep -E 'CONSOLE|data-ready|id=\"f-|evil' | cut -c1-6000; rm -rf "
        "$d");
    ok(says("data-ready=\"yes\""), "the page's script runs to its end in a browser");
    if (!ok(!strstr(output, "CONSOLE"), "without a word on the console")) diag("%.2000s", output);
    for (size_t i = 0; i < LENGTH(ids); i++) {
        same += shown(ids[i]) == wanted[i];
        if (shown(ids[i]) != wanted[i]) diag("%s is %g, not %g", ids[i], shown(ids[i]), wanted[i]);
    }
    is_int(same, LENGTH(ids), "its figures are those of the text");
    ok(!strstr(output, "<b id=\"evil\""), "a codelet's name is text, whatever it is");
    struct stat picture = { .st_size = 0 };
    ok(all_of(stat("report-page.png", &picture) == 0, picture.st_size > 10000), "its picture is kept");
}

int main(int argc, char **argv)
{
    struct stat page = { .st_size = 0 };
    if (argc > 1) return program(atoi(argv[1]));
    run("ORRERY_TRACE=report-page.otrace %s %d", argv[0], MANY);
    run("tools/orrery_report -o report-page.html report-page.otrace");
    ok(all_of(stat("report-page.html", &page) == 0, page.st_size > 100000, page.st_size < 9000000),
       "the page of a long run stays below 9 MB");
    run("ORRERY_TRACE=report-page.otrace %s %d", argv[0], TASKS);
    is_int(run("tools/orrery_report -o report-page.html report-page.otrace"), 0, "a run becomes a page");
    if (run("command -v chromium") == 0)
        look_at_it();
    else
        skip("there is no browser here (Debian: chromium)");
    unlink("report-page.html"), unlink("report-page.otrace");
    return done_testing();
}
