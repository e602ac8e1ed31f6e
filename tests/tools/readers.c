/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What orrery_report exports, read by programs that others wrote for these forms: Graphviz, pj_dump and ViTE,
 * pandas, StarPU's own tool for tasks.rec; each counts what the text says. For Perfetto, whose reader is in
 * no package, by the rules of its importer. A reader that is not there is a skip. Threads: main; a program of
 * its own records. Owns: files readers-* in the working folder. Not here: what the figures are (report.c).
 */
#include <unistd.h>

#include "tests/helper.h"
#include "tests/tools/runs.h"

enum { ROUNDS = 40, MODELLED = 12, TASKS = 2 * ROUNDS + 2 * MODELLED };

static void work(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet two = { .cpu_funcs = { work },
                                     .nbuffers = 2,
                                     .modes = { STARPU_R, STARPU_RW },
                                     .name = "say \"hi\", \\ you; <b>" },
                             one = {
                                 .cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "plain"
                             };

static uint32_t own_footprint(struct starpu_task *t UNUSED)
{
    return 0xbeef;
}
static struct starpu_perfmodel history = { .type = STARPU_HISTORY_BASED, .symbol = "readers_history" },
                               own = { .type = STARPU_HISTORY_BASED,
                                       .symbol = "readers_own",
                                       .footprint = own_footprint };
static struct starpu_codelet known = { .cpu_funcs = { work },
                                       .nbuffers = 1,
                                       .modes = { STARPU_RW },
                                       .name = "known",
                                       .model = &history },
                             labelled = { .cpu_funcs = { work },
                                          .nbuffers = 1,
                                          .modes = { STARPU_RW },
                                          .name = "labelled",
                                          .model = &own };

/* Vectors of two lengths; what their tasks' model knows them by goes to a file. */
static void tasks_with_models(void)
{
    static float value[2][8];
    starpu_data_handle_t h[2];
    FILE *f = fopen("readers-footprints", "w");
    for (int i = 0; i < 2; i++)
        starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)value[i], 4u * (unsigned)(i + 1),
                                    sizeof value[i][0]);
    for (int i = 0; i < MODELLED; i++) {
        struct starpu_task *t = starpu_task_build(&known, STARPU_RW, h[i % 2], 0);
        fprintf(f, "%x\n", starpu_task_footprint(&history, t, NULL, 0));
        if (starpu_task_submit(t) != 0) exit(1);
        starpu_task_insert(&labelled, STARPU_RW, h[i % 2], 0);
    }
    for (int i = 0; i < 2; i++) starpu_data_unregister(h[i]);
    fclose(f);
}

/* Names as programs have them: with quotes, commas, ends of lines. */
static int program(void)
{
    static int value[4];
    starpu_data_handle_t h[4];
    runtime_start(2, "eager");
    for (int i = 0; i < 4; i++)
        starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
    for (int i = 0; i < ROUNDS; i++) {
        starpu_task_insert(&two, STARPU_R, h[i % 4], STARPU_RW, h[(i + 1) % 4], STARPU_NAME,
                           i % 2 ? "a, 'task' of\ntwo lines" : NULL, 0);
        starpu_task_insert(&one, STARPU_RW, h[i % 4], 0);
    }
    for (int i = 0; i < 4; i++) starpu_data_unregister(h[i]);
    tasks_with_models();
    starpu_shutdown();
    return 0;
}

/* Skips the fact if the program is not there. */
static int there_is(const char *program, const char *package)
{
    if (run("command -v %s", program) == 0) return 1;
    skip("there is no %s (Debian package %s)", program, package);
    return 0;
}

static int counted(const char *command)
{
    return run("%s", command) == 0 ? atoi(output) : -1;
}

static void graph(void)
{
    if (!there_is("dot", "graphviz")) return;
    int edges = counted("grep -c -e '->' readers.dot");
    run("dot -Tplain readers.dot 2>&1 >readers-plain | head -c 400");
    ok(output[0] == 0, "Graphviz reads the graph without a word");
    is_int(counted("grep -c '^node ' readers-plain"), TASKS, "with a node for each task");
    is_int(counted("grep -c '^edge ' readers-plain"), edges, "and all edges");
}

static void paje(void)
{
    if (there_is("pj_dump", "pajeng")) {
        is_int(run("pj_dump readers.paje >readers-dump"), 0, "pj_dump reads the trace of Paje");
        ok(output[0] == 0, "without a word");
        is_int(counted("grep -c -E '^State,.*(plain|say|a, .task|known|labelled)' readers-dump"), TASKS,
               "and shows each task as a state");
    }
    if (there_is("vite", "vite"))
        ok(run("QT_QPA_PLATFORM=offscreen XDG_RUNTIME_DIR=$PWD timeout 30 vite -e readers.svg "
               "readers.paje") == 0 &&
               says("0 errors and 0 warnings") && access("readers.svg", R_OK) == 0,
           "ViTE reads it, and draws it");
}

static void table(void)
{
    if (run("/usr/bin/python3 -c 'import pandas'") != 0) {
        skip("there is no pandas (Debian package python3-pandas)");
        return;
    }
    run("/usr/bin/python3 -c '\n"
        "import pandas\n"
        "t = pandas.read_csv(\"readers.csv\")\n"
        "assert (t.submitted_us <= t.ready_us).all() and (t.started_us <= t.ended_us).all()\n"
        "assert t.job.is_unique and t.worker.isin([0, 1]).all()\n"
        "t = t[~t.codelet.isin([\"known\", \"labelled\"])]\n"
        "print(len(t), (t.codelet == \"plain\").sum(), t.codelet.str.startswith(\"say \\\"hi\\\", "
        "\").sum())'");
    char wanted[40];
    snprintf(wanted, sizeof wanted, "%d %d %d\n", 2 * ROUNDS, ROUNDS, ROUNDS / 2);
    ok(strcmp(output, wanted) == 0, "pandas reads the table: a row for each task, names as they are");
    if (strcmp(output, wanted) != 0) diag("%.800s", output);
}

/* A model with n footprints, as StarPU keeps them: the i-th takes 1500 us more than the one before it. */
static void peers_model(const char *symbol, double first_us, const uint32_t *footprint, int n)
{
    char path[200];
    snprintf(path, sizeof path, "readers-home/.starpu/sampling/codelets/45/%s.readers", symbol);
    FILE *f = fopen(path, "w");
    if (!f) return;
    /* version; combinations; devices of the first, its type, number, cores; implementations; measures */
    fprintf(f, "45\n1\n1\n0\n0\n1\n1\n%d\n0 0 0 0 nan nan 0 0 0\nnan nan nan\n0\n", n);
    for (int i = 0; i < n; i++) {
        double us = first_us + 1500 * i;
        fprintf(f, "%08x 16 0 %e 1 %e %e 20\n", footprint[i], us, 20 * us, 20 * us * us);
    }
    fclose(f);
}

/* Which tasks have a model, and what it knows them by: for StarPU's tool, with its models, and for ours. */
static void footprints(void)
{
    uint32_t vector[2] = { 0, 0 }, beef = 0xbeef;
    FILE *f = fopen("readers-footprints", "r");
    int told = f ? fscanf(f, "%x %x", &vector[0], &vector[1]) : 0;
    if (f) fclose(f);
    ok(told == 2 && vector[0] != vector[1], "vectors of two lengths have two footprints");
    for (int i = 0; i < 2; i++) {
        run("grep -A 1 '^Model: readers_history' readers.rec | grep -c '^Footprint: %x$'", vector[i]);
        is_int(atoi(output), MODELLED / 2, "the records have the footprint that the model has");
    }
    is_int(counted("grep -A 1 '^Model: readers_own$' readers.rec | grep -c '^Footprint: beef$'"), MODELLED,
           "and that of a model's own function");
    is_int(counted("grep -c '^Model: ' readers.rec"), 2 * MODELLED, "tasks without a model have none");
    run("awk '$1 == \"known\" && $4 == \"%x\"' readers-folder/distrib.data | wc -l", vector[0]);
    is_int(atoi(output), MODELLED / 2, "distrib.data has the same footprint");
    is_int(run("STARPU_HOME=$PWD/readers-home tools/starpu_perfmodel_recdump -o readers-models readers.rec"),
           0, "starpu_perfmodel_recdump reads which models and footprints are wanted");
    is_int(counted("grep -c '^Model: readers_' readers-models"), 3, "and finds them");
    run("mkdir -p readers-home/.starpu/sampling/codelets/45");
    peers_model("readers_history", 1500, vector, 2);
    peers_model("readers_own", 4500, &beef, 1);
}

static void records(void)
{
    is_int(counted("grep -c -E '^[A-Za-z]+: |^$' readers.rec"), counted("grep -c '' readers.rec"),
           "each line of the records is a field of one");
    is_int(run("STARPU_HOME=$PWD/readers-home STARPU_NCPU=1 tools/starpu_tasks_rec_complete readers.rec "
               "readers-ours.rec"),
           0, "our starpu_tasks_rec_complete reads the records");
    ok(all_of(counted("grep -c '^JobId: ' readers-ours.rec") == TASKS,
              counted("grep -c '^EstimatedTime: [0-9.]*e[+-]0[0-9]$' readers-ours.rec") == 2 * MODELLED),
       "and finds the times of all tasks that have a model");
    run("sed 's/^EstimatedTime: [^ ]*$/EstimatedTime/' readers-ours.rec >readers-forms");
    if (!there_is("starpu_tasks_rec_complete", "starpu-tools")) return;
    run("env -u LD_LIBRARY_PATH STARPU_HOME=$PWD/readers-home STARPU_HOSTNAME=readers STARPU_NCPU=1 "
        "STARPU_BUS_CALIBRATE=0 timeout 60 starpu_tasks_rec_complete readers.rec readers-complete.rec");
    is_int(counted("grep -c '^JobId: ' readers-complete.rec"), TASKS,
           "StarPU's own tool reads the records of all tasks");
    ok(all_of(counted("grep -c '^EstimatedTime: 1.5.*e+03' readers-complete.rec") == MODELLED / 2,
              counted("grep -c '^EstimatedTime: 3.0.*e+03' readers-complete.rec") == MODELLED / 2,
              counted("grep -c '^EstimatedTime: 4.5.*e+03' readers-complete.rec") == MODELLED,
              counted("grep -c '^EstimatedTime: ' readers-complete.rec") == 2 * MODELLED),
       "and finds their times in models of its own, by name and footprint");
    ok(all_of(
           counted(
               "sed 's/^EstimatedTime: [^ ]*$/EstimatedTime/' readers-complete.rec | cmp - readers-forms") ==
               0,
           output[0] == 0),
       "ours writes what it writes, but for the times");
}

/* Perfetto's importer drops what overlaps on a track without being nested, and flows without an end. */
static void perfetto(void)
{
    run("python3 -c '\n"
        "import json\n"
        "events = json.load(open(\"readers.json\"))\n"
        "events = events[\"traceEvents\"] if isinstance(events, dict) else events\n"
        "tracks, flows, tasks = {}, {}, 0\n"
        "for e in events:\n"
        "    assert e[\"ph\"] in \"BEXiICMsftbnePNODR\" and isinstance(e[\"pid\"], int), e\n"
        "    if e[\"ph\"] == \"M\":\n"
        "        assert e[\"name\"] in (\"process_name\", \"thread_name\", \"process_sort_index\", "
        "\"thread_sort_index\"), e\n"
        "        continue\n"
        "    assert isinstance(e[\"ts\"], (int, float)) and e[\"ts\"] >= 0, e\n"
        "    assert e[\"ph\"] in \"sftbne\" or \"name\" in e, e\n"
        "    if e[\"ph\"] == \"X\":\n"
        "        assert e[\"dur\"] >= 0, e\n"
        "        tracks.setdefault((e[\"pid\"], e[\"tid\"]), []).append((e[\"ts\"], e[\"ts\"] + e[\"dur\"], "
        "e[\"name\"]))\n"
        "        tasks += e[\"name\"] in (\"plain\", \"known\", \"labelled\") or e[\"name\"][:3] in "
        "(\"say\", \"a, \")\n"
        "    if e[\"ph\"] in \"sf\":\n"
        "        flows.setdefault((e.get(\"cat\"), e[\"id\"]), []).append(e[\"ph\"])\n"
        "for slices in tracks.values():\n"
        "    ends = []\n"
        "    for begin, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):\n"
        "        while ends and ends[-1] <= begin + 1e-6: ends.pop()\n"
        "        assert not ends or end <= ends[-1] + 1e-6, (begin, end, name, ends)\n"
        "        ends.append(end)\n"
        "assert all(\"\".join(sorted(f)) == \"fs\" for f in flows.values()), \"a flow without an end\"\n"
        "print(tasks)'");
    is_int(atoi(output), TASKS,
           "events for Perfetto: well formed, nested on each track, every flow with two ends");
    if (atoi(output) != TASKS) diag("%.1500s", output);
}

int main(int argc, char **argv)
{
    if (argc > 1) return program();
    /* Bodies of nothing take a hundred times longer now and then, which must not make the models forget them.
     */
    if (run("STARPU_HOME=$PWD/readers-home STARPU_CALIBRATE=1 STARPU_HISTORY_MAX_ERROR=1000000 "
            "ORRERY_TRACE=readers.otrace %s program",
            argv[0]) != 0) {
        printf("Bail out! the program did not run: %.400s\n", output);
        return 1;
    }
    is_int(run("tools/orrery_report -o readers.json -o readers.csv -o readers.dot -o readers.rec -o "
               "readers.paje "
               "readers.otrace"),
           0, "a run is exported in all forms");
    graph();
    paje();
    table();
    run("tools/starpu_fxt_tool -i readers.otrace -d readers-folder");
    footprints();
    records();
    perfetto();
    run("rm -rf readers.* readers-*");
    return done_testing();
}
