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

enum { TASKS = 500, MANY = SCALED(250000, 20000), PAGE_BYTES_MOST = 10000000 };

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

/* Whose it is: a run of few tasks, or of many. */
static void look_at_it(const char *whose)
{
    static const char *const ids[] = { "f-tasks", "f-makespan", "f-utilisation", "f-critical", "f-bound" };
    static const char *const lines[] = { "\ntasks", "\nmakespan", "\nutilisation", "\ncritical path",
                                         "\nlower bound" };
    double wanted[LENGTH(ids)];
    int same = 0;
    run("tools/orrery_report report-page.otrace");
    for (size_t i = 0; i < LENGTH(ids); i++) wanted[i] = figure(lines[i]);
    /* the picture, and what the script says; then the page as the script has made it, without its data */
    run("d=$(mktemp -d); for what in --screenshot=report-page.png --dump-dom; do timeout 150 chromium "
        "--headless "
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$d --enable-logging=stderr "
        "--window-size=1400,1000 "
        "--virtual-time-budget=2000 $what \"file://$PWD/report-page.html\"; done 2>&1 | "
        "grep -v '^<script id=\"data\"' | grep -E 'CONSOLE|data-ready|id=\"f-|evil' | cut -c1-6000; rm -rf "
        "$d");
    ok(says("data-ready=\"yes\""), "the page of %s: its script runs to its end in a browser", whose);
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

/* ---- as who looks at it would ---- */

/* Appended to the page; what it finds is in an element of its own. Tasks are known by their jobs. */
static const char visitor[] =
    "<script>"
    "const key = k => window.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: "
    "true }));"
    "const said = {}, r = () => canvas.getBoundingClientRect();"
    "const over = s => ({ clientX: r().left + LABEL + (work[s + 1] + work[s + 2] / 2 - from) / (to - from) * "
    "(r().width - LABEL),"
    "    clientY: r().top + laneY[work[s]] + row / 2, bubbles: true });"
    "key('+'); said.zoomed = to - from < 0.61 * span;"
    "key('Home'); said.home = from === 0 && to === span;"
    "canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -1, clientX: r().left + LABEL + 9, cancelable: "
    "true }));"
    "said.wheel = to - from < 0.81 * span;"
    "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, "
    "cancelable: true }));"
    "said.moved = from > 0; key('Home');"
    "canvas.dispatchEvent(new MouseEvent('mousedown', { clientX: 500, bubbles: true }));"
    "key('+'); canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: 400, bubbles: true }));"
    "window.dispatchEvent(new MouseEvent('mouseup')); said.dragged = canvas.moved === true;"
    "key('Home'); $('find').value = 'known'; $('find').dispatchEvent(new Event('input'));"
    "said.found = $('found').textContent; key('n');"
    "said.chosen = nameOf(chosen); said.arrows = (before.get(chosen) || []).length + (after.get(chosen) || "
    "[]).length > 0;"
    "said.detail = $('detail').textContent.includes('the policy compared');"
    "const s = chosen; key('Escape'); said.free = chosen === -1;"
    "canvas.dispatchEvent(new MouseEvent('mousemove', over(s)));"
    "said.hover = $('tip').textContent.includes('known') && $('tip').textContent.includes('predicted');"
    "canvas.dispatchEvent(new MouseEvent('click', over(s))); said.clicked = chosen >= 0;"
    "key('c'); key('a'); said.toggles = showPath && showDeps; draw();"
    "const was = dark(); key('d'); said.dark = dark() !== was; draw();"
    "said.links = D.links.length > 0 && copies.length > 0; said.memory = memory.length > 0;"
    "said.iterations = D.iterations.length; said.marks = D.marks.map(m => m[1]).join();"
    "said.advice = D.advice.length === document.querySelectorAll('#advice li').length;"
    "const e = document.createElement('p'); e.id = 'said';"
    "e.textContent = Object.entries(said).map(([k, v]) => k + '=' + v).join(' '); "
    "document.body.appendChild(e);"
    "</script>";

static double known_cost(struct starpu_task *t UNUSED, unsigned workerid UNUSED,
                         unsigned implementation UNUSED)
{
    return 70;
}
static struct starpu_perfmodel model = { .type = STARPU_PER_WORKER, .worker_cost_function = known_cost };
static struct starpu_codelet known = { .cpu_funcs = { work },
                                       .cuda_funcs = { work },
                                       .nbuffers = 1,
                                       .modes = { STARPU_RW },
                                       .name = "known",
                                       .model = &model };

/* Tasks that a model knows, in iterations. */
static int rich_program(void)
{
    static float value[4][1 << 12];
    starpu_data_handle_t h[4];
    runtime_start(2, "dmda");
    for (int i = 0; i < 4; i++)
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)value[i], LENGTH(value[i]),
                                    sizeof(float));
    for (int i = 0; i < 5; i++) {
        starpu_iteration_push(i);
        for (int j = 0; j < 40; j++) starpu_task_insert(&known, STARPU_RW, h[j % 4], 0);
        starpu_task_wait_for_all();
        starpu_iteration_pop();
    }
    for (int i = 0; i < 4; i++) starpu_data_prefetch_on_node(h[i], starpu_memory_nodes_get_count() - 1, 0);
    starpu_fxt_trace_user_event_string("a mark");
    for (int i = 0; i < 4; i++) starpu_data_unregister(h[i]);
    starpu_shutdown();
    return 0;
}

static void visit(const char *self)
{
    static const char *const wanted[] = { "zoomed=true",    "home=true",    "wheel=true",   "moved=true",
                                          "dragged=true",   "chosen=known", "arrows=true",  "detail=true",
                                          "free=true",      "hover=true",   "clicked=true", "toggles=true",
                                          "dark=true",      "iterations=5", "marks=a mark", "advice=true",
                                          "found=200 found" };
    size_t good = 0;
    run("ORRERY_TRACE=report-rich.otrace %s rich", self);
    run("tools/orrery_report -o report-rich.html report-rich.otrace");
    FILE *f = fopen("report-rich.html", "a");
    if (f) fputs(visitor, f), fclose(f);
    run("d=$(mktemp -d); for what in --screenshot=report-rich.png --dump-dom; do timeout 50 chromium "
        "--headless "
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$d --enable-logging=stderr "
        "--window-size=1400,1800 --virtual-time-budget=2000 $what \"file://$PWD/report-rich.html\"; done "
        "2>&1 | "
        "grep -oE 'CONSOLE.*|<p id=.said.*' | cut -c1-3000; rm -rf $d");
    for (size_t i = 0; i < LENGTH(wanted); i++) {
        good += strstr(output, wanted[i]) != NULL;
        if (!strstr(output, wanted[i])) diag("not %s", wanted[i]);
    }
    if (!is_int((long long)good, LENGTH(wanted),
                "keys, wheel, drag, search, hover and click do what they say"))
        diag("%.2500s", output);
    ok(!strstr(output, "CONSOLE"), "and nothing of it is an error");
    unlink("report-rich.html"), unlink("report-rich.otrace");
}

/* ORR_PAGE_TASKS: what make check-long wants, which looks at that page, too. */
static void page_of_many(const char *self, int has_browser)
{
    struct stat page = { .st_size = 0 };
    const char *wanted = getenv("ORR_PAGE_TASKS");
    int many = wanted ? atoi(wanted) : MANY;
    run("%s ORRERY_TRACE=report-page.otrace %s %d", wanted ? "ORRERY_TRACE_BUFFER=256" : "", self, many);
    run("tools/orrery_report -o report-page.html report-page.otrace");
    ok(all_of(stat("report-page.html", &page) == 0, page.st_size > 100000, page.st_size < PAGE_BYTES_MOST),
       "the page of a run of %d tasks stays below 10 MB", many);
    diag("%lld bytes", (long long)page.st_size);
    if (!wanted) return;
    run("tools/orrery_report report-page.otrace");
    is_int((long long)figure("\ntasks"), many, "and has all of them");
    if (has_browser) look_at_it("many tasks");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "rich") == 0) return rich_program();
    if (argc > 1) return program(atoi(argv[1]));
    int has_browser = run("command -v chromium") == 0;
    page_of_many(argv[0], has_browser);
    run("ORRERY_TRACE=report-page.otrace %s %d", argv[0], TASKS);
    is_int(run("tools/orrery_report -o report-page.html report-page.otrace"), 0, "a run becomes a page");
    if (has_browser)
        look_at_it("few tasks"), visit(argv[0]);
    else
        skip("there is no browser here (Debian: chromium)");
    unlink("report-page.html"), unlink("report-page.otrace");
    return done_testing();
}
