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
#include "tests/tools/by_hand.h"
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

/* Appended to the page; what a visitor finds is in an element of its own. */
static const char begins[] = "<script>const said = {}, r = () => canvas.getBoundingClientRect();";
static const char ends[] = "const e = document.createElement('p'); e.id = 'said';"
                           "e.textContent = Object.entries(said).map(([k, v]) => k + '=' + v).join(' '); "
                           "document.body.appendChild(e);"
                           "</script>";

/* Tasks are known by their jobs. */
static const char visitor[] =
    "const key = k => window.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: "
    "true }));"
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
    "said.advice = D.advice.length === document.querySelectorAll('#advice li').length;";

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

/* Makes the page of the files, has the visitor look at it, and keeps a picture. */
static void visit(const char *page, const char *files, const char *script)
{
    run("tools/orrery_report -o %s.html %s", page, files);
    char path[60];
    snprintf(path, sizeof path, "%s.html", page);
    FILE *f = fopen(path, "a");
    if (f) fputs(begins, f), fputs(script, f), fputs(ends, f), fclose(f);
    run("d=$(mktemp -d); for what in --screenshot=%s.png --dump-dom; do timeout 50 chromium "
        "--headless "
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$d --enable-logging=stderr "
        "--window-size=1400,1800 --virtual-time-budget=2000 $what \"file://$PWD/%s.html\"; done "
        "2>&1 | "
        "grep -oE 'CONSOLE.*|<p id=.said.*' | cut -c1-3000; rm -rf $d",
        page, page);
    unlink(path);
}

static int found(const char *const *wanted, size_t n, const char *fact)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        good += strstr(output, wanted[i]) != NULL;
        if (!strstr(output, wanted[i])) diag("not %s", wanted[i]);
    }
    int all = is_int((long long)good, (long long)n, "%s", fact);
    if (!all) diag("%.2500s", output);
    return ok(!strstr(output, "CONSOLE"), "and nothing of it is an error") && all;
}

static void visit_tasks(const char *self)
{
    static const char *const wanted[] = { "zoomed=true",    "home=true",    "wheel=true",   "moved=true",
                                          "dragged=true",   "chosen=known", "arrows=true",  "detail=true",
                                          "free=true",      "hover=true",   "clicked=true", "toggles=true",
                                          "dark=true",      "iterations=5", "marks=a mark", "advice=true",
                                          "found=200 found" };
    run("ORRERY_TRACE=report-rich.otrace %s rich", self);
    visit("report-rich", "report-rich.otrace", visitor);
    found(wanted, LENGTH(wanted), "keys, wheel, drag, search, hover and click do what they say");
    unlink("report-rich.otrace");
}

/* ---- parallel tasks ---- */

/* The left worker leads a task from 2 to 5 ms, in which the right one has a part from 2.5 to 6 ms; of the
 * second part it is not known whose it is, as in older recordings. Nor did it end in order. */
static void record_team(void)
{
    static const double ms = 1e6;
    begin_by_hand("report-team.otrace", -1, "host a\nworker 0 0 0 left\nworker 1 0 0 right\n", 1e9, 1, 0);
    PUT(OTRACE_NAME, 0, 11, 3, 'o' | 'n' << 8 | 'e' << 16);
    PUT(OTRACE_SUBMITTED, 0, 1, 11);
    PUT(OTRACE_READY, 10, 1);
    PUT(OTRACE_IDLE, 1 * ms, 1, 1);
    PUT(OTRACE_STARTED, 2 * ms, OTRACE_PAIR(1, 0));
    PUT(OTRACE_BUSY, 2.5 * ms, 1);
    PUT(OTRACE_ENDED, 5 * ms, OTRACE_PAIR(1, 0), (uint64_t)(3 * ms));
    PUT(OTRACE_PART, 6 * ms, OTRACE_PAIR((uint64_t)(4 * ms), 1), 1);
    PUT(OTRACE_PART, 8 * ms, OTRACE_PAIR((uint64_t)(1 * ms), 1));
    PUT(OTRACE_SUBMITTED, 6 * ms, 2, 11);
    PUT(OTRACE_READY, 6 * ms, 2);
    PUT(OTRACE_RAN, 10 * ms, OTRACE_PAIR(2, 0), (uint64_t)(1 * ms));
    put_block(OTRACE_RECORDS, 11 * ms, hand.words, hand.count * 8);
    fclose(hand.file);
}

static const char team_visitor[] =
    "const point = (t, lane) => ({ clientX: r().left + LABEL + t / 10 * (r().width - LABEL),"
    "    clientY: r().top + laneY[lane] + row / 2, bubbles: true });"
    "const hover = (t, lane) => (canvas.dispatchEvent(new MouseEvent('mousemove', point(t, lane))), "
    "$('tip').textContent.replace(/[\\n ]/g, '_'));"
    "draw(); const picture = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
    "const inked = (t, lane) => { const p = point(t, lane), k = window.devicePixelRatio || 1, "
    "x = Math.floor((p.clientX - r().left) * k), y = Math.floor((p.clientY - r().top + row / 2 - 3) * k);"
    "return picture.data[4 * (y * canvas.width + x) + 3] > 200; };"
    "said.parts = parts.length / PART; said.part = hover(5.5, 1); said.leader = hover(4, 0); said.nameless = "
    "hover(7.5, 1);"
    "said.inked = [inked(1.5, 1), inked(3, 1), inked(5.5, 1), inked(6.5, 1), inked(7.5, 1)].join();"
    "canvas.dispatchEvent(new MouseEvent('click', point(5.5, 1))); said.chosen = chosen >= 0 && work[chosen "
    "+ 4] === 1;"
    "canvas.dispatchEvent(new MouseEvent('click', point(7.5, 1))); said.free = chosen === -1;"
    "canvas.dispatchEvent(new MouseEvent('click', point(4, 0)));"
    "const slice = (t, l) => busy[l * D.slices + Math.floor(t / 10 * D.slices)] & 0xffff;"
    "said.busy = [slice(1.5, 1), slice(5.5, 1), slice(7.5, 1), slice(4, 0)].join();"
    "said.warned = $('warning').textContent.replaceAll(' ', '_');"
    "const share = t => usage[Math.floor(t / 10 * D.slices) * 5];"
    "said.usage = [share(1.5), share(3), share(5.5)].join();";

static void visit_team(void)
{
    static const char *const wanted[] = {
        "parts=2",
        "part=one,_job_1_right_had_a_part_of_it_for_3.500_ms_from_2.500_ms_led_by_left",
        "leader=one,_job_1_left_ran_3.000_ms",
        "together_with_right",
        "nameless=unnamed_right_had_a_part_of_it_for_1.000_ms_from_7.000_ms ",
        "inked=false,true,true,false,true",
        "chosen=true",
        "free=true",
        "warned=report-team.otrace:_the_recording_was_cut_off",
        "busy=0,1000,1000,1000",
        "usage=0,1000,500"
    };
    record_team();
    visit("report-team", "report-team.otrace", team_visitor);
    found(wanted, LENGTH(wanted), "what others than its leader do of a parallel task is shown");
    unlink("report-team.otrace");
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
        look_at_it("few tasks"), visit_tasks(argv[0]), visit_team();
    else
        skip("there is no browser here (Debian: chromium)");
    unlink("report-page.html"), unlink("report-page.otrace");
    return done_testing();
}
