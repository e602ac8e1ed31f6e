/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What orrery_report says of recordings whose figures are known, and of damaged ones.
 * Threads: main; programs of their own record. Owns: files in the working folder. Not here: recording
 * (tests/core/recording.c).
 */
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/base/otrace.h"
#include "tests/helper.h"
#include "tests/tools/by_hand.h"
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

/* Two hosts, whose clocks differ by 5 s and a ten thousandth; what they think of the day by 3 ms. */
static void clocks(void)
{
    static const char *const path[] = { "report-clock.0.otrace", "report-clock.1.otrace" };
    double least, mean;
    for (int rank = 0; rank < 2; rank++) {
        begin_by_hand(path[rank], rank, rank ? "host b\n" : "host a\n", rank ? 5e9 : 0, rank ? 1.0001 : 1,
                      rank ? 3e6 : 0);
        for (int i = 0; i < 100; i++) {
            double t = i * 1e7;
            PUT(rank ? OTRACE_RECEIVED : OTRACE_SENT, t + (rank ? 1e4 : 0), 1, 8, !rank, 7);
            PUT(rank ? OTRACE_SENT : OTRACE_RECEIVED, t + 5e6 + (rank ? 0 : 1e4), 1, 8, !rank, 9);
        }
        end_by_hand(1.1e9);
    }
    run("tools/orrery_report %s %s", path[0], path[1]);
    const char *at = strstr(output, "0   to 1");
    int good = at && sscanf(at, "0 to 1 %*d %*f %lf %lf", &least, &mean) == 2;
    if (!ok(all_of(good, fabs(least - 10) < 1, fabs(mean - 10) < 1),
            "clocks of two hosts are put right by their messages, offset and drift"))
        diag("%s", output);
    unlink(path[0]), unlink(path[1]);
}

static const char *const clock_path[] = { "report-clock.0.otrace", "report-clock.1.otrace",
                                          "report-clock.2.otrace" };

/* Three ranks of a host that all send to each other 100 times in a second: 10 us each, told some us late. */
static void three_ranks(int odd, double ahead, double rate, double jump)
{
    for (int rank = 0; rank < 3; rank++) {
        begin_by_hand(clock_path[rank], rank, "host a\n", rank == odd ? ahead : 0, rank == odd ? rate : 1,
                      rank == odd ? ahead : 0);
        for (int i = 0; i < 100; i++) {
            double t = i * 1e7 + (rank == odd && i >= 50 ? jump : 0);
            for (int from = 0; from < 3; from++)
                for (int to = 0; to < 3; to++) {
                    uint64_t tag = (uint64_t)(from * 3 + to);
                    double sent = t + 1e6 * (double)tag, late = i % 3 ? 0 : 3e4;
                    if (from == to) continue;
                    if (rank == from) PUT(OTRACE_SENT, sent + late, 1, 8, to, tag);
                    if (rank == to) PUT(OTRACE_RECEIVED, sent + 1e4, 1, 8, from, tag);
                }
        }
        end_by_hand(1.1e9 + (rank == odd ? jump : 0));
    }
    run("tools/orrery_report %s %s %s", clock_path[0], clock_path[1], clock_path[2]);
}

/* The least that a message took from any rank to another, and the most of these, in us. */
static void least_times(double *least_out, double *most_out)
{
    *least_out = INFINITY;
    *most_out = -INFINITY;
    const char *at = strstr(output, "messages from rank to rank");
    for (at = at ? strchr(at, '\n') : NULL; at; at = strchr(at + 1, '\n')) {
        double least;
        if (sscanf(at, " %*d to %*d %*d %*f %lf", &least) != 1) break;
        *least_out = fmin(*least_out, least);
        *most_out = fmax(*most_out, least);
    }
}

/* Of the latest three ranks, one of which has a clock that jumped. */
static void exported_notes(void)
{
    run("tools/orrery_report -o report-clock.json -o report-clock.html -o report-clock.csv "
        "report-clock.?.otrace");
    ok(says("report-clock.2.otrace: its clock cannot be put right"), "where files are written, on stderr");
    run("grep -c 'report-clock.2.otrace\",\"its clock cannot be put right' report-clock.html");
    is_int(atoi(output), 1, "and on the page");
    run("python3 -c 'import json; t = json.load(open(\"report-clock.json\")); w = \"cannot be put right\"; "
        "print(sum(w in n for n in t[\"otherData\"][\"notes\"]), sum(w in e[\"name\"] and e[\"pid\"] == 2 "
        "and e[\"ph\"] == \"i\" for e in t[\"traceEvents\"]))'");
    ok(strcmp(output, "1 1\n") == 0, "for Perfetto as an event of that rank, too");
    run("tools/starpu_fxt_tool -i report-clock.?.otrace -d report-clock-files");
    ok(says("report-clock.2.otrace: its clock cannot be put right"), "and starpu_fxt_tool says it");
    run("rm -rf report-clock.json report-clock.html report-clock.csv report-clock-files");
}

/* In containers the ranks of a host can have clocks of their own. */
static void own_clocks(void)
{
    static const struct {
        double ahead, rate;
    } clocks[] = { { 0, 1 }, { 3.6e12, 1 }, { 3.6e12, 1.0001 }, { 3600e9, 0.9999 } };
    int good = 0, wanted = 0;
    for (int odd = 0; odd < 3; odd++)
        for (size_t i = 0; i < 4; i++, wanted++) {
            double least, most;
            three_ranks(odd, clocks[i].ahead, clocks[i].rate, 0);
            least_times(&least, &most);
            int well =
                all_of(fabs(least + 20) < 2, fabs(most + 20) < 2, !strstr(output, "cannot be put right"));
            if (!well) diag("rank %d, clock %zu: %g to %g\n%s", odd, i, least, most, output);
            good += well;
        }
    is_int(good, wanted,
           "a rank whose clock is an hour before those of its host, and goes faster or slower, is put right");
    for (int odd = 0; odd < 3; odd++) {
        three_ranks(odd, 3.6e12, 1, 5e8);
        ok(all_of(says("cannot be put right"), says("a clock jumped")),
           "where one jumped meanwhile (rank %d) it says so", odd);
    }
    exported_notes();
    for (int i = 0; i < 3; i++) unlink(clock_path[i]);
}

/* The system's clock was set while a run of 8 ms was recorded: the processor's counts. */
static void clock_set(void)
{
    static const double jumps[] = { 5e9, -5e9, 1e8, -1e8 };
    int good = 0;
    for (size_t i = 0; i < LENGTH(jumps); i++) {
        begin_by_hand(clock_path[0], -1, "host a\nworker 0 0 0 left\n", 1e10, 1, 0);
        PUT(OTRACE_SUBMITTED, 1, 1, 0, 64 | OTRACE_WRITE);
        PUT(OTRACE_READY, 2, 1);
        PUT(OTRACE_RAN, 9e7, OTRACE_PAIR(1, 0), (uint64_t)8e7);
        hand.jumped = jumps[i];
        end_by_hand(1e8);
        run("tools/orrery_report %s", clock_path[0]);
        good += fabs(figure("\nmakespan") - 90) < 0.1;
    }
    is_int(good, LENGTH(jumps), "a clock that is set meanwhile does not make the run longer or shorter");
    unlink(clock_path[0]);
}

static double share_after(const char *why)
{
    const char *at = strstr(output, why);
    double ms = -1;
    if (at) sscanf(at + strlen(why), "%lf", &ms);
    return ms;
}

/* 0..1 ms: worker 1 runs, the other has nothing. 1..3 ms: another task waits for the first, which ends at 3.
 * 3..4 ms: it is ready, and starts at 4. 5..6 ms: a third waits for nobody who runs; it runs until 7. */
/* A body ends: in one record with its beginning, or in one of its own. */
static void body_ends(bool merged, double from, double to, uint64_t job, uint64_t worker)
{
    uint64_t ticks = (uint64_t)(to - from);
    if (merged)
        PUT(OTRACE_RAN, to, OTRACE_PAIR(job, worker), ticks);
    else
        PUT(OTRACE_ENDED, to, OTRACE_PAIR(job, worker), ticks);
}

static void causes(bool merged)
{
    static const char *const path = "report-causes.otrace";
    const double ms = 1e6;
    const char *in_one = merged ? ", bodies being one record each" : "";
    const unsigned starts = merged ? OTRACE_RUNNING : OTRACE_STARTED;
    begin_by_hand(path, -1, "host a\nworker 0 0 0 left\nworker 1 0 0 right\n", 1e9, 1, 0);
    PUT(OTRACE_IDLE, 0.5, 0, 0);
    PUT(OTRACE_SUBMITTED, 1, 1, 0, 64 | OTRACE_WRITE);
    PUT(OTRACE_READY, 2, 1);
    PUT(starts, 3, OTRACE_PAIR(1, 1));
    PUT(OTRACE_SUBMITTED, 1 * ms, 2, 0, 64 | OTRACE_WRITE);
    body_ends(merged, 3, 3 * ms, 1, 1);
    PUT(OTRACE_READY, 3 * ms, 2);
    if (!merged) PUT(starts, 4 * ms, OTRACE_PAIR(2, 1));
    PUT(OTRACE_SUBMITTED, 4 * ms + 1, 3, 0, 128 | OTRACE_READ);
    body_ends(merged, 4 * ms, 5 * ms, 2, 1);
    PUT(OTRACE_READY, 6 * ms, 3);
    PUT(OTRACE_BUSY, 6 * ms, 0);
    if (!merged) PUT(starts, 6 * ms, OTRACE_PAIR(3, 0));
    body_ends(merged, 6 * ms, 7 * ms, 3, 0);
    PUT(255, 7 * ms, 1, 2, 3); /* of a later version */
    end_by_hand(8 * ms);
    run("tools/orrery_report %s", path);
    double nothing = share_after("nothing else was submitted "),
           waits = share_after("waits for tasks that run ");
    double elsewhere = share_after("ready, but not here "), outside = share_after("data or the program ");
    if (!ok(all_of(fabs(nothing - 1) < 0.01, fabs(waits - 3) < 0.01, fabs(elsewhere - 1) < 0.01,
                   fabs(outside - 1) < 0.01),
            "why a worker was idle is told from what tasks did meanwhile%s", in_one))
        diag("%s", output);
    ok(all_of(fabs(figure("\nmakespan") - 7) < 0.01, tasks_after("\ncritical path") == 2,
              fabs(figure("\ncritical path") - 4) < 0.01, fabs(figure("\narea") - 2.5) < 0.01,
              fabs(figure("\nutilisation") - 35.7) < 0.1),
       "and all figures are those of the recording%s", in_one);
    unlink(path);
}

/* A body that was running when the process was killed. */
static void never_ended(void)
{
    static const char *const path = "report-killed.otrace";
    const double ms = 1e6;
    begin_by_hand(path, -1, "host a\nworker 0 0 0 left\nworker 1 0 0 right\n", 1e9, 1, 0);
    for (uint64_t job = 1; job < 3; job++) {
        PUT(OTRACE_SUBMITTED, (double)job, job, 0, 64 * job | OTRACE_WRITE);
        PUT(OTRACE_READY, (double)job + 1, job);
    }
    PUT(OTRACE_SUBMITTED, 4, 3, 0, 64 | OTRACE_WRITE);
    PUT(OTRACE_RUNNING, 1 * ms, OTRACE_PAIR(1, 0));
    PUT(OTRACE_IDLE, 4 * ms, 1, 0);
    body_ends(true, 2 * ms, 10 * ms, 2, 1);
    end_by_hand(10 * ms);
    run("tools/orrery_report -o report-k.csv %s; cat report-k.csv; tools/orrery_report %s", path, path);
    if (!ok(all_of(says("2 had not ended"), fabs(share_after("waits for tasks that run ") - 6) < 0.01),
            "a body that was running at the end of the recording held up what waits for it"))
        diag("%s", output);
    run("rm -f report-k.csv");
    unlink(path);
}

/* Who writes a block has read the clock before it saw the last record. */
static void later_than_its_block(void)
{
    static const char *const path = "report-later.otrace";
    begin_by_hand(path, -1, "host a\nworker 0 0 0 left\n", 1e9, 1, 0);
    PUT(OTRACE_SUBMITTED, 1, 1, 0, 64 | OTRACE_WRITE);
    PUT(OTRACE_READY, 2, 1);
    body_ends(true, 3, 8e6 + 300, 1, 0);
    end_by_hand(8e6);
    run("tools/orrery_report %s", path);
    if (!ok(fabs(figure("\nmakespan") - 8) < 0.01, "a record may be a little later than its block"))
        diag("%s", output);
    unlink(path);
}

/* What no run can have, in blocks whose sums are right: it ends before it began, waits for itself, is where
 * nobody is. */
static void nonsense(void)
{
    static const char *const path = "report-nonsense.otrace";
    const uint64_t much = UINT64_C(1) << 60;
    begin_by_hand(path, 7, "worker 3 0 0\nworker x\nrank\nnode\nhost a\nworker 1 0 0 right\n", 1e9, 1, 0);
    PUT(OTRACE_ENDED, 1e6, OTRACE_PAIR(1, 1), much);
    PUT(OTRACE_STARTED, 3e6, OTRACE_PAIR(1, 1));
    PUT(OTRACE_ENDED, 3e6, OTRACE_PAIR(2, 60000), 1);
    PUT(OTRACE_SUBMITTED, 4e6, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    PUT(OTRACE_DECLARED, 4e6, 1, 1);
    PUT(OTRACE_DECLARED, 4e6, 5, 6);
    PUT(OTRACE_DECLARED, 4e6, 6, 5);
    PUT(OTRACE_BUSY, 4e6, 77);
    PUT(OTRACE_NAME, 4e6, 5, UINT64_MAX);
    PUT(OTRACE_COPY_ENDED, 4e6, 5, UINT64_MAX, UINT64_MAX);
    PUT(OTRACE_SENT, 4e6, 1, much, UINT64_MAX, 5);
    PUT(OTRACE_RAN, 5e6, OTRACE_PAIR(1, 1), UINT64_MAX, UINT64_MAX);
    PUT(OTRACE_RAN, 5e6, OTRACE_PAIR(8, 60000), much);
    PUT(OTRACE_RUNNING, 6e6, OTRACE_PAIR(1, 1));
    PUT(OTRACE_RUNNING, 6e6, OTRACE_PAIR(9, 60000));
    end_by_hand(8e6);
    ok(all_of(run("tools/orrery_report %s", path) == 0,
              run("tools/orrery_report -o report-n.html -o report-n.json -o report-n.paje -o report-n.csv -o "
                  "report-n.dot -o report-n.rec %s",
                  path) == 0),
       "nonsense in a recording is shown as far as it can be");
    run("rm -f report-n.*");
    unlink(path);
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

/* ---- names of any bytes, files that are none ---- */

static void put_name(uint32_t hash, const char *name)
{
    uint64_t words[2 + 16] = { hash, strlen(name) };
    memcpy(words + 2, name, strlen(name));
    put_record(OTRACE_NAME, 0, words, 2 + (unsigned)(strlen(name) + 7) / 8);
}

static void strange_names(void)
{
    static const char *const names[] = {
        "caf\xc3\xa9 \xe4\xb8\xad",    "two\nlines\t\"q\" \\", "\x1b[31mred\x7f\xc2\x9b",
        "bad\xff\xc0\x80\xed\xa0\x80", "cut\xe4\xb8",          "</script>%s"
    };
    begin_by_hand("report-names.otrace", -1,
                  "host \xff\nprogram \x1b]0;x\x07\nworker 0 0 0 \xc3\xa9\x1b[2J\n", 1e9, 1, 0);
    for (uint64_t i = 0; i < LENGTH(names); i++) {
        put_name((uint32_t)(i + 1), names[i]);
        PUT(OTRACE_SUBMITTED, 0, i + 1, i + 1);
        PUT(OTRACE_READY, 10, i + 1);
        PUT(OTRACE_RAN, (double)(i + 1) * 2e6, OTRACE_PAIR(i + 1, 0), (uint64_t)1e6);
    }
    end_by_hand(1e8);
    run("tools/orrery_report report-names.otrace");
    ok(all_of(!strpbrk(output, "\x1b\x07\x7f\xff"),
              says("\ncaf\xc3\xa9 \xe4\xb8\xad                               1 "),
              says("\ntwo lines \"q\" \\                      1 "),
              says("\n?[31mred???                          1 ")),
       "names are characters on one line, whatever bytes they are, and the columns stay");
    run("tools/orrery_report -o report-names.json -o report-names.csv -o report-names.rec -o "
        "report-names.paje -o "
        "report-names.dot -o report-names.html report-names.otrace; python3 -c '\n"
        "import csv, json\n"
        "wanted = [\"caf\\u00e9 \\u4e2d\", \"two\\nlines\\t\\\"q\\\" \\\\\", \"?[31mred???\", \"bad??????\", "
        "\"cut??\", \"</script>%%s\"]\n"
        "t = json.load(open(\"report-names.json\", encoding=\"utf-8\"))\n"
        "names = [e[\"name\"] for e in t[\"traceEvents\"] if e[\"ph\"] == \"X\"]\n"
        "rows = [r[\"codelet\"] for r in csv.DictReader(open(\"report-names.csv\", encoding=\"utf-8\", "
        "newline=\"\"))]\n"
        "for form in (\"rec\", \"paje\", \"dot\", \"html\"): text = open(\"report-names.\" + form, "
        "encoding=\"utf-8\").read()\n"
        "page = json.loads(text.partition(\"application/json\\\">\")[2].partition(\"</script>\")[0])\n"
        "shown = [c[\"name\"] for c in page[\"codelets\"] if c[\"count\"]]\n"
        "print(names == wanted, rows == wanted, shown == wanted, page[\"lanes\"][0][\"name\"] == "
        "\"\\u00e9?[2J\")'");
    if (!ok(strcmp(output, "True True True True\n") == 0, "and in all files, for whoever reads UTF-8"))
        diag("%.1500s", output);
    run("rm -f report-names.*");
}

static void strange_files(void)
{
    begin_by_hand("report-own.html", -1, "host a\n", 1e9, 1, 0);
    end_by_hand(1e6);
    ok(all_of(run("tools/orrery_report -o report-own.html report-own.html") == 1,
              says("report-own.html: it is the recording"),
              run("tools/starpu_fxt_tool -o report-own.html report-own.html") == 1,
              says("it is the recording"), run("tools/orrery_report report-own.html") == 0, says("tasks  ")),
       "a recording is not written over, whatever the output is called");
    ok(all_of(run("tools/orrery_report .") == 1, says(".: Is a directory"),
              run("tools/starpu_fxt_tool -i . ") == 1, says(".: Is a directory")),
       "a folder is no recording");
    ok(all_of(run("tools/starpu_fxt_tool -i report-own.html -o") == 2, says("-o wants a name"),
              run("tools/starpu_fxt_tool -i report-own.html -d") == 2, says("-d wants a name")),
       "an option without its name is told as that");
    ok(all_of(run("tools/orrery_report report-own.html ./report-own.html") == 1,
              says("./report-own.html: it is named twice")),
       "a recording that is named twice is not counted twice");
    unlink("report-own.html");
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
    is_int(run("tools/orrery_report -o report-run.json -o report-run.csv -o report-run.dot -o report-run.rec "
               "-o report-run.paje report-run.otrace"),
           0, "it becomes files of other forms");
    run("python3 -c 'import json; e = json.load(open(\"report-run.json\"))[\"traceEvents\"]; "
        "print(sum(x[\"ph\"] == \"X\" and x[\"dur\"] >= 0 for x in e))'");
    is_int(atol(output), 2 * CHAIN + TAGS + WIDE, "trace events, one for each task");
    run("python3 -c 'import csv; print(sum(float(r[\"submitted_us\"]) <= float(r[\"ready_us\"]) <= "
        "float(r[\"ended_us\"]) for r in csv.DictReader(open(\"report-run.csv\"))))'");
    is_int(atol(output), 2 * CHAIN + TAGS + WIDE, "a table, with times in order");
    run("grep -c -- '->' report-run.dot");
    is_int(atol(output), CHAIN - 1 + WIDE + CHAIN - 1 + TAGS - 1, "a graph with all dependencies");
    run("grep -c '^JobId: ' report-run.rec; grep -c '^EndTime: ' report-run.rec");
    long jobs = atol(output);
    const char *second = strchr(output, '\n');
    ok(all_of(jobs == 2 * CHAIN + TAGS + WIDE, second && atol(second) == jobs), "records, one for each task");
    /* what Paje wants: containers that are there, times that do not go back, states of their type */
    run("awk '/^%%/ {next} $1 == 2 {value[$2] = 1} $1 == 4 {there[$3] = 1} $1 == 6 {bad += !there[$4] || "
        "!value[$5] || $2 < at; "
        "at = $2; n += $5 ~ /^c/} $1 == 5 {delete there[$4]} END {for (c in there) bad++; print n + 0, bad + "
        "0}' report-run.paje");
    ok(all_of(atol(output) == jobs, strchr(output, ' ') && atol(strchr(output, ' ')) == 0),
       "a trace of Paje, whose containers and states are defined and whose times do not go back");
    is_int(run("tools/orrery_report -o report-run.xyz report-run.otrace"), 2, "an unknown form is refused");
    unlink("report-run.json"), unlink("report-run.csv"), unlink("report-run.dot"), unlink("report-run.rec"),
        unlink("report-run.paje");
    ok(all_of(run("tools/starpu_fxt_tool -no-flops -i report-run.otrace -o mine.trace -d report-folder") == 0,
              run("cd report-folder && test -s mine.trace && test -s tasks.rec && test -s dag.dot") == 0,
              run("tools/starpu_fxt_tool -i report-run.otrace -no-such-option") == 2,
              run("tools/starpu_fxt_tool") == 2),
       "starpu_fxt_tool makes the files that StarPU's does");
    run("rm -rf report-folder");
    break_file();
    ok(all_of(run("tools/orrery_report report-run.otrace") == 0, says("cut off"), says("damaged")),
       "of a damaged recording it says so, and shows the rest");
    is_int(run("tools/orrery_report"), 2, "without a file it says how to use it");
    is_int(run("tools/orrery_report %s", argv[0]), 1, "what is no recording is refused");
    ok(says("it is no recording"), "and that is said");
    is_int(run("tools/orrery_report report-no-such-file"), 1, "so is what is not there");
    unlink("report-run.otrace");
    clocks();
    own_clocks();
    strange_names();
    strange_files();
    clock_set();
    causes(false);
    causes(true);
    never_ended();
    later_than_its_block();
    nonsense();
    return done_testing();
}
