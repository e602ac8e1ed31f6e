/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The installed programs: what they print, the files they write, how they refuse nonsense; and that what
 * starpu_calibrate_bus measures is what later programs predict with.
 * Threads: main; the programs are children, and so is whoever starts the runtime. Owns: a folder for the
 * files they write. Not here: models themselves (tests/core/perfmodel.c).
 */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "tests/core/sim_helper.h"
#include "tests/tools/runs.h"

enum { SIZES = 3 };

static const char symbol[] = "orrery_test_tools";

static int lines(void)
{
    int n = 0;
    for (const char *p = output; *p; p++) n += *p == '\n';
    return n;
}

/* ---- all of them ---- */

static void common(const char *tool)
{
    ok(run("%s --help", tool) == 0 && says("NAME") && says("SYNOPSIS") && says("OPTIONS") && says(tool),
       "%s --help is a manual page", tool);
    ok(run("%s --version", tool) == 0 && lines() == 1 && says("Orrery"), "%s --version says it in one line",
       tool);
    ok(run("%s --nonsense", tool) == 2 && says("--help"),
       "%s refuses an unknown option and points to the help", tool);
    ok(run("%s nonsense", tool) == 2 && says("--help"), "%s refuses what is no option", tool);
}

static void policies(void)
{
    int missing = 0, count = 0;
    int status = run("starpu_sched_display");
    for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p; p++, count++) {
        char line[128];
        snprintf(line, sizeof line, "%s\n", (*p)->policy_name);
        missing += !strstr(output, line);
    }
    ok(status == 0 && missing == 0 && lines() == count, "starpu_sched_display lists the %d policies", count);
    ok(run("starpu_sched_display -l") == 0 && lines() == count && says("central queue"),
       "and with -l what they do");
}

static void configuration(void)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, "#define STARPU_NMAXBUFS %d\n", STARPU_NMAXBUFS);
    int others = 0, status = run("starpu_config");
    for (const char *at = output; at && *at; at = strchr(at, '\n'), at += at != NULL)
        others += strncmp(at, "#define STARPU_", 15) != 0 && strncmp(at, "#define ORRERY_", 15) != 0;
    ok(all_of(status == 0, says(wanted), others == 0),
       "starpu_config prints what the library was configured with");
    snprintf(wanted, sizeof wanted, "%d\n%d\n", STARPU_MAXIMPLEMENTATIONS, STARPU_MAJOR_VERSION);
    ok(all_of(run("starpu_config STARPU_MAXIMPLEMENTATIONS STARPU_MAJOR_VERSION") == 0,
              strcmp(output, wanted) == 0),
       "or the values that are asked for");
    ok(all_of(run("starpu_config STARPU_NMAX") == 1, says("STARPU_NMAX is not defined")),
       "a name that is the start of others is not defined");
}

static void environment(void)
{
    ok(all_of(run("starpu_env; echo status $?") == 0, says("status 1"), says("after make install"),
              !strstr(output, "export")),
       "starpu_env sets nothing where Orrery is not installed (where it is: tests/installed.sh)");
}

/* ---- the machine and its links ---- */

static void simulate(const char *bandwidth)
{
    sim_setting("ORRERY_SIM_DEVICES", "2");
    sim_setting("ORRERY_SIM_BANDWIDTH_MB_S", bandwidth);
    sim_setting("ORRERY_SIM_LATENCY_US", "200");
}

static void machine(void)
{
    simulate("500");
    sim_setting("STARPU_NCPU", "2");
    ok(run("starpu_machine_display") == 0 && says("2 cpu workers") && says("2 cuda workers") &&
           says("3 memory nodes") && says("bandwidth"),
       "starpu_machine_display shows workers, memories and links");
    ok(run("starpu_machine_display -c -w cuda") == 0 && strcmp(output, "2 cuda workers\n") == 0,
       "its -c -w cuda counts one type");
    ok(run("starpu_machine_display -n") == 0 && !strstr(output, "bandwidth"), "its -n leaves the links out");
    ok(run("starpu_machine_display -w abacus") == 2 && says("abacus"),
       "a type of worker that there is none of is refused");
    ok(run("starpu_machine_display -i") == 0 && says("links: /"), "its -i names the files");
    sim_setting("STARPU_NCPU", "nonsense");
    ok(run("starpu_machine_display -c") == 0 && says("STARPU_NCPU=nonsense is ignored"),
       "nonsense in the environment is said, and ignored");
    sim_setting("STARPU_NCPU", NULL);
}

struct links {
    double latency, bandwidth, between;
};

/* What a program started now believes of the links; in a child, for the runtime reads the file at its start.
 */
static struct links believed(void)
{
    struct links l = { 0, 0, 0 };
    int ends[2];
    if (pipe(ends) != 0) return l;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = 1;
        if (!freopen("stderr.txt", "w", stderr) || starpu_init(&conf) != 0) _exit(1);
        l = (struct links){ starpu_transfer_latency(0, 1), starpu_transfer_bandwidth(0, 1),
                            starpu_transfer_latency(1, 2) };
        starpu_shutdown();
        fflush(stderr);
        _exit(write(ends[1], &l, sizeof l) != sizeof l);
    }
    close(ends[1]);
    if (read(ends[0], &l, sizeof l) != sizeof l) diag("the child could not start the runtime");
    close(ends[0]);
    waitpid(child, NULL, 0);
    return l;
}

static int stderr_says(const char *text)
{
    FILE *f = fopen("stderr.txt", "r");
    size_t got = f ? fread(output, 1, sizeof output - 1, f) : 0;
    output[got] = 0;
    if (f) fclose(f);
    return says(text);
}

static void calibration(void)
{
    simulate("500");
    struct links said = believed();
    ok(said.latency == 200 && said.bandwidth == 500,
       "before the calibration, links are as their driver says");
    ok(run("starpu_calibrate_bus") == 0 && says("bandwidth") && says("latency") && says("saved in /"),
       "starpu_calibrate_bus prints what it measured, and where it is saved");
    struct links measured = believed();
    diag("measured: %.2f us, %.1f MB/s; %.2f us between devices", measured.latency, measured.bandwidth,
         measured.between);
    ok(measured.latency > 200 && measured.latency < 20000 && measured.bandwidth > 5 &&
           measured.bandwidth < 505,
       "a later program predicts with these measures: no link is faster than it is");
    ok(measured.between > 400, "devices that reach each other through main memory are two links apart");
    simulate("800");
    ok(believed().bandwidth == 800, "another device is not taken for the one that was measured");
    simulate("500");
    sim_setting("STARPU_LIMIT_BANDWIDTH", "2");
    ok(believed().bandwidth == 2, "STARPU_LIMIT_BANDWIDTH limits measures as well");
    sim_setting("STARPU_LIMIT_BANDWIDTH", NULL);
    sim_setting("STARPU_BUS_CALIBRATE", "1");
    struct links again = believed();
    diag("measured again: %.3f us, %.1f MB/s", again.latency, again.bandwidth);
    ok(again.latency > 200 && (again.latency != measured.latency || again.bandwidth != measured.bandwidth),
       "STARPU_BUS_CALIBRATE=1 has any program measure");
    sim_setting("STARPU_BUS_CALIBRATE", NULL);
    ok(run("starpu_calibrate_bus -q") == 0 && output[0] == 0, "starpu_calibrate_bus -q prints nothing");
    if (system("for f in home/.starpu/sampling/bus/orrery/links.*; do echo link x >>\"$f\"; done") != 0)
        diag("the file could not be damaged");
    ok(believed().bandwidth == 500 && stderr_says("is ignored"),
       "a damaged file is said, and ignored: links are as their driver says");
    sim_setting("ORRERY_SIM_DEVICES", NULL);
}

/* ---- models ---- */

static struct starpu_perfmodel model = { .type = STARPU_HISTORY_BASED, .symbol = symbol };
static void model_func(void *buffers[] UNUSED, void *arg UNUSED)
{
}
static struct starpu_codelet model_cl = {
    .cpu_funcs = { model_func }, .nbuffers = 1, .modes = { STARPU_R }, .model = &model, .name = "measured"
};

/* Saves a model of three sizes that took 100, 200 and 300 us; returns the footprint of the second. */
static uint32_t make_model(void)
{
    static char bytes[3000];
    int ends[2];
    uint32_t footprint = 0;
    if (pipe(ends) != 0) return 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct starpu_conf conf;
        starpu_conf_init(&conf);
        conf.ncpus = 1;
        if (starpu_init(&conf) != 0) _exit(1);
        for (int i = 0; i < SIZES; i++) {
            starpu_data_handle_t h;
            starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)bytes, 1000 * (uint32_t)(i + 1), 1);
            struct starpu_task *task = starpu_task_create();
            task->cl = &model_cl;
            task->handles[0] = h;
            task->flops = 1e6;
            if (i == 1) footprint = starpu_task_data_footprint(task);
            starpu_perfmodel_update_history_n(&model, task, starpu_worker_get_perf_archtype(0, 0), 0, 0,
                                              100.0 * (i + 1), 20);
            starpu_task_destroy(task);
            starpu_data_unregister(h);
        }
        starpu_shutdown();
        _exit(write(ends[1], &footprint, sizeof footprint) != sizeof footprint);
    }
    close(ends[1]);
    if (read(ends[0], &footprint, sizeof footprint) != sizeof footprint)
        diag("the child could not make the model");
    close(ends[0]);
    waitpid(child, NULL, 0);
    return footprint;
}

/* A file of one record, for starpu_perfmodel_recdump. */
static int ask_for(const char *name, uint32_t footprint, const char *tail)
{
    FILE *f = fopen("asked", "w");
    if (!f) return 0;
    fprintf(f, "Model: %s\nFootprint: %08x%s\n\n", name, footprint, tail);
    return fclose(f) == 0;
}

static void display(uint32_t footprint)
{
    ok(run("starpu_perfmodel_display -l") == 0 && says(symbol),
       "starpu_perfmodel_display -l lists the model");
    ok(run("starpu_perfmodel_display -d") == 0 && says("/home/.starpu/sampling"),
       "its -d says where models are");
    ok(run("starpu_perfmodel_display -s %s", symbol) == 0 && says("cpu0") && says("1.000000e+02") &&
           says("3.000000e+02"),
       "its -s shows the measures");
    ok(run("starpu_perfmodel_display -s %s -p mean", symbol) == 0 && lines() == SIZES && says("2.000000e+02"),
       "with -p mean only the means");
    ok(run("starpu_perfmodel_display -s %s -p mean -f %08x", symbol, footprint) == 0 && lines() == 1 &&
           says("2.000000e+02"),
       "with -f only one footprint");
    ok(run("starpu_perfmodel_display -s %s -p mean -a cpu", symbol) == 0 && lines() == SIZES &&
           run("starpu_perfmodel_display -s %s -p mean -a cuda0", symbol) == 0 && lines() == 0,
       "with -a only one architecture");
    ok(run("starpu_perfmodel_display -s %s -x", symbol) == 0 && says("<?xml") && says("</perfmodel>"),
       "with -x XML");
    ok(run("starpu_perfmodel_display -s %s -a abacus", symbol) == 1 && says("abacus"),
       "an unknown architecture is refused");
    ok(run("starpu_perfmodel_display -s %s -p nonsense", symbol) == 0 && says("nonsense"),
       "an unknown parameter is named");
    ok(run("starpu_perfmodel_display -s %s -f xyz", symbol) == 2 && says("xyz"),
       "a footprint that is none is refused");
    ok(run("starpu_perfmodel_display -s orrery_test_too") == 1 && says(symbol),
       "a model that is not there fails, with names that are near");
    ok(all_of(run("starpu_perfmodel_recdump") == 0, says("%rec: timing"),
              says("Architecture: cpu0\nNbWorkers: "), says("Mean: 1.000000e+02"), says("Mean: 3.000000e+02"),
              says("Samples: 20")),
       "starpu_perfmodel_recdump writes all models as records");
    ok(all_of(ask_for(symbol, footprint, ""), run("starpu_perfmodel_recdump asked") == 0,
              says("Mean: 2.000000e+02"), !strstr(output, "1.000000e+02") && !strstr(output, "3.000000e+02"),
              run("starpu_perfmodel_recdump -o got asked") == 0 && output[0] == 0,
              ask_for(symbol, footprint, "yz") && run("starpu_perfmodel_recdump asked") == 1,
              ask_for("none", footprint, "") && run("starpu_perfmodel_recdump asked") == 1,
              run("starpu_perfmodel_recdump a b") == 2),
       "or those alone that are asked for; it refuses other models and footprints");
    ok(all_of(ask_for(symbol, footprint, ""), run("starpu_perfmodel_recdump - <asked") == 0,
              says("Mean: 2.000000e+02"), run("starpu_perfmodel_recdump /proc/self/exe") == 1,
              says("is no line of a record")),
       "also on the standard input");
    ok(run("starpu_perfmodel_display") == 2, "without -l, -d and -s it says what it wants");
}

/* A file of these records, for starpu_tasks_rec_complete. */
static int write_records(const char *text)
{
    FILE *f = fopen("tasks.rec", "w");
    if (!f) return 0;
    fputs(text, f);
    return fclose(f) == 0;
}

static void complete_damaged(void)
{
    ok(all_of(write_records("Name: a\n\nno field\n\nName: b\n"),
              run("starpu_tasks_rec_complete tasks.rec") == 1, says("tasks.rec:3: \"no field\""),
              says("Name: a\n\n"), !strstr(output, "Name: b")),
       "a line that is no field is named, and ends it");
    ok(all_of(write_records("Model: \x1b[31m\n"), run("starpu_tasks_rec_complete tasks.rec") == 1,
              says("tasks.rec:1: \"Model: ?[31m\""), !strchr(output, 27)),
       "so does one with what terminals obey");
    ok(all_of(write_records("Model: x\nFootprint: 123456789\n"),
              run("starpu_tasks_rec_complete tasks.rec") == 1,
              says("tasks.rec:2: \"123456789\" is no footprint"), write_records("Model: x\nFootprint: -1\n"),
              run("starpu_tasks_rec_complete tasks.rec") == 1, says("\"-1\" is no footprint")),
       "so is a footprint that is none");
    ok(all_of(run("starpu_tasks_rec_complete /proc/self/exe >completed") == 1,
              says("is no line of a record")),
       "and what are no records at all");
    ok(all_of(run("starpu_tasks_rec_complete missing") == 1, says("missing cannot be read: No such file"),
              run("starpu_tasks_rec_complete .") == 1, says("cannot be read: Is a directory"),
              run("starpu_tasks_rec_complete missing . nonsense") == 2, says("--help"),
              run("starpu_tasks_rec_complete --nonsense") == 2, says("--help")),
       "a file that cannot be read is refused, and wrong usage");
    ok(all_of(write_records("Name: a\n"), run("starpu_tasks_rec_complete tasks.rec .") == 1,
              says(". cannot be written: Is a directory"),
              run("starpu_tasks_rec_complete tasks.rec /dev/full") == 1, says("could not be written")),
       "so is a file that cannot be written");
    ok(all_of(run("starpu_tasks_rec_complete tasks.rec ./tasks.rec") == 1, says("is the input, too"),
              run("starpu_config >config; cat tasks.rec") == 0, strcmp(output, "Name: a\n") == 0),
       "and the input as the output: it stays as it is");
    ok(all_of(write_records(""), run("starpu_tasks_rec_complete tasks.rec") == 0, output[0] == 0,
              run("starpu_tasks_rec_complete - - </dev/null") == 0, output[0] == 0),
       "of no records come none");
}

static void complete(uint32_t footprint)
{
    char text[600], wanted[900];
    sim_setting("STARPU_NCPU", "2");
    snprintf(text, sizeof text,
             "Name: \"a\": \xc3\xa9\nModel: %s\nFootprint: %x\nEstimatedTime: 7 7 7\nJobId: 1\n\n"
             "Name: b\nEstimatedTime: 8\n\n\n# c\nModel:\t%s\r\nDependsOn:\n+ d\r\n\r\n"
             "Footprint: ffffffff\nModel: %s\n\n%%rec: e\nFootprint: %08X\nModel: %s",
             symbol, footprint, symbol, symbol, footprint, symbol);
    snprintf(wanted, sizeof wanted,
             "Name: \"a\": \xc3\xa9\nModel: %s\nFootprint: %x\nJobId: 1\nEstimatedTime: 2.000000e+02 "
             "2.000000e+02\n\n"
             "Name: b\nEstimatedTime: 8\n\n\n# c\nModel:\t%s\r\nDependsOn:\n+ d\r\nEstimatedTime: inf inf\n\n"
             "Footprint: ffffffff\nModel: %s\nEstimatedTime: inf inf\n\n"
             "%%rec: e\nFootprint: %08X\nModel: %s\nEstimatedTime: 2.000000e+02 2.000000e+02\n",
             symbol, footprint, symbol, symbol, footprint, symbol);
    int written = write_records(text), status = run("starpu_tasks_rec_complete tasks.rec");
    if (!ok(all_of(written, status == 0, strcmp(output, wanted) == 0),
            "starpu_tasks_rec_complete adds what models expect on each worker, and keeps the rest as it is"))
        diag("%.1200s", output);
    ok(all_of(run("starpu_tasks_rec_complete tasks.rec completed; cat completed") == 0,
              strcmp(output, wanted) == 0, run("starpu_tasks_rec_complete completed") == 0,
              strcmp(output, wanted) == 0,
              run("starpu_tasks_rec_complete - again <tasks.rec; cat again") == 0,
              strcmp(output, wanted) == 0),
       "from the standard input, too, to a file, and a second time without a change");
    snprintf(text, sizeof text, "Model: none\nFootprint: 1\n\nModel: none\n\nModel: %s\nFootprint: %x\n\n",
             symbol, footprint);
    ok(all_of(write_records(text), run("starpu_tasks_rec_complete tasks.rec completed") == 1,
              says("the model \"none\" cannot be loaded"), run("starpu_config >config; cat completed") == 0,
              says("Model: none\nFootprint: 1\n\nModel: none\n\nModel: orrery"),
              says("EstimatedTime: 2.000000e+02 2.000000e+02\n\n")),
       "a model that is not there is told, and the others are looked up");
    complete_damaged();
    sim_setting("STARPU_NCPU", NULL);
}

static int file_begins(const char *path, const char *bytes)
{
    char head[256] = { 0 };
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f) fclose(f);
    for (size_t i = 0; i + strlen(bytes) <= n; i++)
        if (memcmp(head + i, bytes, strlen(bytes)) == 0) return 1;
    return 0;
}

static void plot(void)
{
    char path[4096];
    ok(run("starpu_perfmodel_plot -l") == 0 && says(symbol), "starpu_perfmodel_plot -l lists the model");
    ok(run("starpu_perfmodel_plot -s %s -lc", symbol) == 0 && says("Comb 0") && says("cpu"),
       "its -lc lists the combinations of devices");
    ok(run("starpu_perfmodel_plot -s %s -n", symbol) == 0 &&
           file_begins("starpu_orrery_test_tools.data", "cpu0") &&
           file_begins("starpu_orrery_test_tools.gp", "gnuplot") &&
           access("starpu_orrery_test_tools.png", F_OK) != 0,
       "its -n writes data and drawing only");
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    if (system("command -v gnuplot >gnuplot.txt 2>&1") != 0) {
        skip("there is no gnuplot here: no pictures");
    } else {
        ok(run("starpu_perfmodel_plot -s %s", symbol) == 0 &&
               file_begins("starpu_orrery_test_tools.png", "PNG"),
           "it makes a PNG picture");
        ok(run("starpu_perfmodel_plot -s %s -f -o speed.svg", symbol) == 0 &&
               file_begins("speed.svg", "<svg"),
           "and an SVG one, of speed, with -f -o speed.svg");
        ok(run("starpu_perfmodel_plot -s %s -e -c 0 -o energy.png", symbol) == 0 &&
               file_begins("energy.png", "PNG"),
           "and one of energy, of one combination, with -e -c 0");
    }
    setenv("PATH", "/nonexistent", 1);
    ok(run("starpu_perfmodel_plot -s %s", symbol) == 1 && says("gnuplot cannot be run"),
       "without gnuplot it says so, and fails");
    setenv("PATH", path, 1);
    ok(run("starpu_perfmodel_plot -s %s -o picture.jpg", symbol) == 2 && says(".svg"),
       "other pictures are refused");
    ok(run("starpu_perfmodel_plot -s %s -c 77", symbol) == 1 && says("no measures"),
       "nothing to draw is an error");
    ok(run("starpu_perfmodel_plot -s no_such_model") == 1 && says("no_such_model"),
       "so is a model that is not there");
}

static void matrix(void)
{
    FILE *f = fopen("said", "w");
    if (!f) skip_all("no file can be made");
    fputs("[1,0]<stderr>:[mpi stats] rank 0: 300 bytes sent in 3 messages, in 2.000000 s\n"
          "[1,0]<stderr>:[mpi stats] rank 0 -> 1: 100 bytes in 1 messages\n"
          "[mpi stats] rank 0 -> 2: 200 bytes in 2 messages\n[mpi stats] rank 0 -> 99999: 1 bytes\n"
          "[mpi stats] rank -7 -> 1: 5 bytes\n[mpi stats] rank\n[starpu_comm_stats][\nanything\n"
          "[starpu_comm_stats][2:0]\t50.000000 B\t0.000048 MB\t 25.000000 B/s\t 0.000024 MB/s\n",
          f);
    fclose(f);
    ok(all_of(run("starpu_mpi_comm_matrix -n said >said.txt && cat said_volume.data") == 0,
              strcmp(output, "0.000000 0.000000 50.000000\n100.000000 0.000000 0.000000\n"
                             "200.000000 0.000000 0.000000\n") == 0),
       "starpu_mpi_comm_matrix makes a matrix of what ranks sent, from our lines and StarPU's");
    ok(all_of(run("starpu_mpi_comm_matrix -n said >said.txt && cat said_bw.data") == 0,
              strcmp(output, "0.000000 0.000000 25.000000\n50.000000 0.000000 0.000000\n"
                             "100.000000 0.000000 0.000000\n") == 0),
       "and one of their speed");
    if (system("command -v gnuplot >gnuplot.txt 2>&1") != 0)
        skip("there is no gnuplot here: no pictures");
    else
        ok(all_of(run("starpu_mpi_comm_matrix -png said") == 0, file_begins("said_volume_heatmap.png", "PNG"),
                  file_begins("said_bw_heatmap.png", "PNG"), run("starpu_mpi_comm_matrix said") == 0,
                  file_begins("said_volume_heatmap.pdf", "%PDF")),
           "with pictures in PNG and PDF");
    ok(all_of(run("starpu_mpi_comm_matrix gnuplot.txt") == 1, says("STARPU_MPI_STATS=1")),
       "a file without such lines is an error that says where they come from");
    ok(all_of(run("starpu_mpi_comm_matrix") == 2, run("starpu_mpi_comm_matrix a b") == 2,
              run("starpu_mpi_comm_matrix --nonsense") == 2, run("starpu_mpi_comm_matrix missing") == 1,
              run("starpu_mpi_comm_matrix --help") == 0, says("SYNOPSIS"),
              run("starpu_mpi_comm_matrix --version") == 0, says("Orrery")),
       "and it is used as the others are");
}

/* ---- where things are ---- */

static void find_tools(void)
{
    const char *build = getenv("ORR_BUILDDIR");
    char self[1024];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    for (int i = 0; i < 3 && strrchr(self, '/'); i++) *strrchr(self, '/') = 0; /* tests/tools/tools.tap */
    snprintf(before, sizeof before, "%s/tools/", build ? build : self);
}

static void settings(void)
{
    setenv("STARPU_SCHED", "prio", 1);
    ok(run("orrery_settings") == 0 && says("STARPU_SCHED=prio") && says("STARPU_SCHED_BETA [1]"),
       "orrery_settings shows values and defaults");
    ok(says("STARPU_SCHED=prio (environment)") && says("STARPU_SCHED_BETA [1] (default)"),
       "and where they come from");
    ok(run("orrery_settings --set") == 0 && says("STARPU_SCHED=prio") && !strstr(output, "SCHED_BETA"),
       "those that are set alone when asked");
    unsetenv("STARPU_SCHED");
    setenv("STARPU_SCHED", "eager", 1);
    int ends[2];
    char none;
    if (pipe2(ends, O_CLOEXEC) != 0) skip_all("no pipe");
    pid_t other = fork();
    if (other == 0) execlp("sleep", "sleep", "100", (char *)NULL);
    close(ends[1]);
    if (read(ends[0], &none, 1) != 0) diag("the process did not begin");
    close(ends[0]);
    setenv("STARPU_SCHED", "prio", 1);
    ok(run("orrery_settings -p %d -s", (int)other) == 0 && says("STARPU_SCHED=eager (environment)"),
       "also of a process that runs");
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    ok(run("orrery_settings -p %d -s", (int)other) == 1 && says("/environ cannot be read"),
       "which is told if it does not");
    ok(run("orrery_settings -p 12x") == 2 && says("no number of a process"), "nonsense is refused");
    ok(run("orrery_settings --foreign") == 0 && says("STARPU_FXT_*") && !strstr(output, "STARPU_SCHED "),
       "and what has no effect");
}

/* ---- one program for all ---- */

/* A script in a folder; what it is called is all that makes it a program. */
static void make_script(const char *name, int mode)
{
    char path[256];
    snprintf(path, sizeof path, "a folder/%s", name);
    FILE *f = fopen(path, "w");
    if (!f) return;
    fprintf(f,
            "#!/bin/sh\n[ \"$1\" = --help ] && { echo NAME; echo '    %s - a test of %s'; exit; }\n"
            "echo \"%s: $# <$1> <$2>\"; exit 7\n",
            name, name, name);
    fclose(f);
    chmod(path, (mode_t)mode);
}

static void dispatcher(void)
{
    char keep[sizeof before];
    ok(run("orrery --help") == 0 && says("NAME") && says("SYNOPSIS") && says("OPTIONS"),
       "orrery --help is a manual page");
    ok(run("orrery --version") == 0 && lines() == 1 && says("Orrery"),
       "orrery --version says it in one line");
    ok(run("orrery --nonsense") == 2 && says("--help"), "orrery refuses an unknown option");
    ok(run("orrery help") == 0 && says("settings             list settings") && says("doctor") &&
           says("report") && says("machine_display"),
       "orrery help lists the programs and what they do");
    ok(run("orrery") == 2 && says("settings"), "and orrery alone, as wrong usage");
    ok(run("orrery settings --set") == 0 && !strstr(output, "orrery: "),
       "orrery settings runs orrery_settings");
    ok(run("orrery sched-display") == 0 && says("eager"), "orrery sched-display, starpu_sched_display");
    ok(run("orrery settings --nonsense") == 2 && says("orrery_settings --help"),
       "its status is the program's");
    ok(run("orrery help doctor") == 0 && says("orrery_doctor - check"),
       "orrery help NAME is the help of one");
    ok(run("orrery setings") == 2 && says("do you mean orrery settings?") && says("doctor"),
       "of an unknown name the nearest is told, and all");
    ok(run("orrery help setings") == 2 && says("do you mean orrery settings?"), "by help, too");
    ok(run("orrery ../tools/orrery_settings") == 2 && run("orrery ''") == 2 && run("orrery settings.c") == 2,
       "what is no name is no program");

    snprintf(keep, sizeof keep, "%s", before);
    if (mkdir("a folder", 0700) != 0 || run("orrery --version; cp %sorrery 'a folder'/", keep) != 0)
        diag("no copy: %s", output);
    snprintf(before, sizeof before, "a' 'folder/");
    ok(run("orrery help") == 0 && says("There are no programs in /"), "a folder without programs is told");
    make_script("orrery_one-two", 0700);
    make_script("orrery_sky", 0700);
    make_script("starpu_sky", 0700);
    make_script("orrery_deaf", 0600);
    make_script("orrery_sky.sh", 0700);
    if (mkdir("a folder/orrery_folder", 0700) != 0) diag("no folder");
    ok(run("orrery help") == 0 && says("sky                  a test of orrery_sky\n") &&
           says("a test of starpu_sky") && !strstr(output, "deaf") && !strstr(output, "one-two") &&
           !strstr(output, ".sh") && !strstr(output, "folder    "),
       "programs are what has a program's name and can be run");
    ok(run("orrery sky 'a b' '*'") == 7 && says("orrery_sky: 2 <a b> <*>"),
       "arguments and status go through, from a folder with a space");
    ok(run("orrery deaf") == 2 && run("orrery folder") == 2, "what cannot be run is no program");
    ok(run("orrery %0200d", 1) == 2 && says("there is no program"), "names may be long");
    snprintf(before, sizeof before, "%s", keep);
}

int main(void)
{
    static const char *const names[] = { "starpu_sched_display",
                                         "starpu_machine_display",
                                         "starpu_calibrate_bus",
                                         "starpu_perfmodel_display",
                                         "starpu_perfmodel_plot",
                                         "orrery_settings",
                                         "starpu_env" };
    char folder[] = "/tmp/orrery-tools.XXXXXX", home[64], remove[64];
    alarm(300);
    find_tools();
    if (!mkdtemp(folder) || chdir(folder) != 0) skip_all("there is no place for files");
    snprintf(home, sizeof home, "%s/home", folder);
    setenv("STARPU_HOME", home, 1);
    unsetenv("STARPU_PERF_MODEL_DIR");
    for (unsigned i = 0; i < LENGTH(names); i++) common(names[i]);
    dispatcher();
    policies();
    configuration();
    environment();
    settings();
    machine();
    calibration();
    uint32_t footprint = make_model();
    complete(footprint);
    display(footprint);
    plot();
    matrix();
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    if (chdir("/") != 0 || system(remove) != 0) diag("%s remains", folder);
    return done_testing();
}
