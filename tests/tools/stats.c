/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The programs of orrery_stats, under their own names, on the files that starpu_fxt_tool makes of a recording
 * whose figures are known; and on what is none of these files. Pictures are a skip without gnuplot.
 * Threads: main. Owns: the folder stats-folder. Not here: other tools (tools.c), models (tools.c).
 */
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/helper.h"
#include "tests/tools/by_hand.h"
#include "tests/tools/runs.h"

static const double ms = 1e6;

/* Two workers for 10 ms. The left one runs three bodies of 1 ms, of data of 1000 bytes, and is idle for 4;
 * the right one runs one of 2 ms and is idle for 5. */
static void record(void)
{
    const uint64_t text[2] = { 'o' | 'n' << 8 | 'e' << 16, 't' | 'w' << 8 | 'o' << 16 };
    begin_by_hand("stats-run.otrace", -1, "host a\nworker 0 0 0 left\nworker 1 0 0 right\n", 1e9, 1, 0);
    PUT(OTRACE_NAME, 0, 11, 3, text[0]);
    PUT(OTRACE_NAME, 0, 22, 3, text[1]);
    PUT(OTRACE_REGISTERED, 0, 64, OTRACE_PAIR(1000, 0));
    for (uint64_t job = 1; job <= 4; job++)
        PUT(OTRACE_SUBMITTED, 0, job, job < 4 ? 11 : 22, 64 | OTRACE_READ);
    for (uint64_t job = 1; job <= 4; job++) PUT(OTRACE_READY, 10 + job, job);
    for (uint64_t job = 1; job < 4; job++)
        PUT(OTRACE_RAN, (double)job * 2 * ms, OTRACE_PAIR(job, 0), (uint64_t)ms);
    PUT(OTRACE_IDLE, 6 * ms, 0, 0);
    PUT(OTRACE_IDLE, 2 * ms, 1, 0);
    PUT(OTRACE_BUSY, 7 * ms, 1);
    PUT(OTRACE_RAN, 10 * ms, OTRACE_PAIR(4, 1), (uint64_t)(2 * ms));
    end_by_hand(11 * ms);
}

/* A task of two workers: the left one leads from 2 to 5 ms; the right one is idle until 2.5 ms and then has
 * its part until 6 ms. Without its job, as recordings had it before, the part has no name. */
static void record_team(bool named)
{
    begin_by_hand("stats-team.otrace", -1, "host a\nworker 0 0 0 left\nworker 1 0 0 right\n", 1e9, 1, 0);
    PUT(OTRACE_NAME, 0, 11, 3, 'o' | 'n' << 8 | 'e' << 16);
    PUT(OTRACE_NAME, 0, 33, 3, 'm' | 'o' << 8 | 'd' << 16);
    PUT(OTRACE_SUBMITTED, 0, 1, 11);
    PUT(OTRACE_READY, 10, 1);
    PUT(OTRACE_IDLE, 1 * ms, 1, 1);
    PUT(OTRACE_STARTED, 2 * ms, OTRACE_PAIR(1, 0));
    PUT(OTRACE_BUSY, 2.5 * ms, 1);
    PUT(OTRACE_ENDED, 5 * ms, OTRACE_PAIR(1, 0), (uint64_t)(3 * ms), 0xabc | (uint64_t)33 << 32);
    if (named)
        PUT(OTRACE_PART, 6 * ms, OTRACE_PAIR((uint64_t)(4 * ms), 1), 1);
    else
        PUT(OTRACE_PART, 6 * ms, OTRACE_PAIR((uint64_t)(4 * ms), 1));
    PUT(OTRACE_SUBMITTED, 6 * ms, 2, 11);
    PUT(OTRACE_READY, 6 * ms, 2);
    PUT(OTRACE_RAN, 8 * ms, OTRACE_PAIR(2, 0), (uint64_t)(1 * ms));
    end_by_hand(9 * ms);
}

static bool has_gnuplot(void)
{
    bool has = run("command -v gnuplot") == 0;
    if (!has) skip("there is no gnuplot here: no pictures");
    return has;
}

static double value_of(const char *command)
{
    run("%s", command);
    return atof(output);
}

static void of_distrib(void)
{
    ok(all_of(run("starpu_codelet_profile distrib.data one") == 0, strcmp(output, "Arch cpu0\n") == 0,
              run("grep -c '^one\tcpu0\t1000\t[0-9a-f]*\t1\\.0000*$' distrib.data.cpu0") == 0,
              atoi(output) == 3, run("grep -c two distrib.data.cpu0") == 1),
       "starpu_codelet_profile takes the bodies of one codelet, by architecture");
    ok(all_of(run("starpu_codelet_profile distrib.data three") == 1, says("one"), says("two"),
              run("starpu_codelet_profile distrib.data") == 2,
              run("starpu_codelet_profile trace.rec one") == 1,
              run("printf 'one\\tcpu0\\t1\\t0\\t-1\\n' | starpu_codelet_profile - one") == 1,
              run("printf 'one\\t../x\\t1\\t0\\t1\\n' | starpu_codelet_profile - one") == 1),
       "it refuses other codelets, files and numbers");
    ok(all_of(run("starpu_codelet_histo_profile trace.rec") == 1, run("starpu_codelet_histo_profile") == 2,
              run("starpu_codelet_histo_profile /dev/null") == 1),
       "so does starpu_codelet_histo_profile");
    if (!has_gnuplot()) return;
    ok(all_of(run("gnuplot distrib.data.gp && head -c 4 distrib.data.eps") == 0, says("%!PS"),
              run("starpu_codelet_histo_profile distrib.data") == 0, says("distrib.data.two.cpu0."),
              run("ls distrib.data.*.cpu0.*.1000.pdf | wc -l") == 0, atoi(output) == 2),
       "gnuplot draws both");
}

static void of_activity(void)
{
    ok(all_of(fabs(value_of("awk -F'\\t' '/^[0-9]/ {s += $4} END {print s}' activity.data") - 5) < 1e-3,
              fabs(value_of("awk -F'\\t' '/^[0-9]/ {s += $5} END {print s}' activity.data") - 9) < 1e-3,
              fabs(value_of("awk -F'\\t' '/^[0-9]/ {s += $3} END {print s}' activity.data") - 20) < 1e-3),
       "activity.data has the time of all bodies and all idleness");
    ok(all_of(value_of("awk -F'\\t' '/^cnt_submitted/ && $3 > m {m = $3} END {print m}' activity.data") == 4,
              value_of("awk -F'\\t' '/^cnt_ready/ {l = $3} END {print l}' activity.data") == 0),
       "and how many tasks there were");
    ok(all_of(run("starpu_workers_activity distrib.data") == 1, run("starpu_workers_activity") == 2,
              run("starpu_workers_activity activity.data 2 1") == 1,
              run("starpu_workers_activity activity.data 1 x") == 2,
              run("starpu_workers_activity nowhere") == 1),
       "starpu_workers_activity refuses other files and times");
    if (!has_gnuplot()) return;
    ok(all_of(run("starpu_workers_activity activity.data") == 0, says("START 0 END 0.01"),
              run("head -c 4 activity.eps") == 0, says("%!PS"),
              run("starpu_workers_activity activity.data 0.001 0.005") == 0, says("START 0.001 END 0.005")),
       "and draws what workers did");
}

/* As StarPU's own program says, where it is. */
static void of_states(void)
{
    ok(all_of(run("starpu_trace_state_stats -t trace.rec") == 0,
              says("\"Name\",\"Count\",\"Type\",\"Duration\"\n"), says("\"one\",3,\"Task\",3.0\n"),
              says("\"two\",1,\"Task\",2.0\n"), says("\"Idle\",2,\"Other\",9.0\n"), run("cat times.csv") == 0,
              says("\"Task\",5.0\n")),
       "starpu_trace_state_stats tells how long workers were in each state");
    ok(all_of(run("orrery_stats trace-state-stats -s 4 trace.rec") == 0, run("cat efficiencies.csv") == 0,
              says("\"Task\",0.8\n"), says("\"Pipeline\",0.55\n")),
       "and how efficient that is");
    ok(all_of(run("starpu_trace_state_stats activity.data") == 1, run("starpu_trace_state_stats") == 2,
              run("printf 'E: SetState\\nN: a\\n\\n' | starpu_trace_state_stats -") == 1, says("no time"),
              run("printf 'E: SetState\\nS: 1\\n\\n' | starpu_trace_state_stats -") == 1, says("no name"),
              run("printf 'E: Other\\nS: 1\\n\\n' | starpu_trace_state_stats -") == 1,
              run("starpu_trace_state_stats -s x trace.rec") == 2),
       "it refuses other files, and events without a time or a name");
    run("printf 'E: SetState\\nN: a \"b\"\\nC: Task\\nW: 0\\nS: 1\\n\\nE: SetState\\nN: Idle\\nC: Other\\nW: "
        "0\\nS: 3\\n\\n' | "
        "starpu_trace_state_stats -");
    ok(says("\"a \"\"b\"\"\",1,\"Task\",2.0\n"), "a name with quotes is one field");
    if (run("command -v /usr/bin/starpu_trace_state_stats.py") != 0) {
        skip("StarPU's own starpu_trace_state_stats.py is not here");
        return;
    }
    ok(all_of(run("starpu_trace_state_stats -te trace.rec 2>/dev/null >a; mv times.csv t; mv "
                  "efficiencies.csv e") == 0,
              run("/usr/bin/starpu_trace_state_stats.py -te trace.rec 2>/dev/null >b") == 0,
              run("cmp a b && cmp t times.csv && cmp e efficiencies.csv") == 0),
       "as StarPU's own does, to the last digit");
}

static double runs_of(int worker)
{
    char command[120];
    snprintf(command, sizeof command,
             "awk -F'\\t' '$1 == \"%d\" && NF == 5 {s += $4} END {print s}' activity.data", worker);
    return value_of(command);
}

static void of_teams(void)
{
    record_team(true);
    run("starpu_fxt_tool -i ../stats-team.otrace -d . && orrery_report -o team.json ../stats-team.otrace");
    ok(all_of(fabs(runs_of(0) - 4) < 1e-3, fabs(runs_of(1) - 3.5) < 1e-3),
       "activity.data has the parts of parallel tasks, from when their workers had come");
    ok(all_of(run("awk '/^W: /{w = $2} /^N: /{n = $2} /^S: /{if (w == 1) print n, $2}' trace.rec") == 0,
              says("Idle 1.000000\nOverhead 2.500000\none 2.500000\nOverhead 6.000000\n")),
       "and trace.rec, under the task's name");
    run("grep -c Model tasks.rec; awk '/^Model/ {print $2} /^Footprint/ {print $2}' tasks.rec");
    ok(strcmp(output, "1\nmod\nabc\n") == 0, "a task whose body others had a part in has its model, too");
    run("python3 -c 'import json, sys; print(sum(e.get(\"cat\") == \"part\" and e[\"name\"] == \"one\" and "
        "e[\"tid\"] == 1 and e[\"dur\"] == 3500 for e in json.load(open(\"team.json\"))[\"traceEvents\"]))'");
    is_int(atoi(output), 1, "and events for Perfetto");
    record_team(false);
    run("starpu_fxt_tool -i ../stats-team.otrace -d . && orrery_report -o team.json ../stats-team.otrace");
    ok(all_of(fabs(runs_of(1) - 3.5) < 1e-3, run("grep -c 'N: unnamed' trace.rec") == 0, atoi(output) == 1),
       "of older recordings, in which it is not known whose part it is, without a name");
    unlink("stats-team.otrace");
}

static void of_paje(void)
{
    ok(all_of(run("starpu_paje_state_stats -v paje.trace") == 0,
              says("\"Value\", \"Events_paje.trace.csv\", \"Duration_paje.trace.csv\"\n"),
              says("\"one\", 3, 3\n"), says("\"two\", 1, 2\n"), says("\"Idle\", 2, 9\n"),
              run("starpu_paje_state_stats -v -n one,two -r 0:6 paje.trace paje.trace") == 0,
              says("\"one\", 3, 3, 3, 3\n"), !strstr(output, "two") && !strstr(output, "Idle")),
       "starpu_paje_state_stats tells the same of a trace of Paje, and of a part of it");
    ok(all_of(run("starpu_paje_state_stats trace.rec") == 1, run("starpu_paje_state_stats") == 2,
              run("starpu_paje_state_stats -r 5 paje.trace") == 2,
              run("starpu_paje_state_stats -n none paje.trace") == 1,
              run("starpu_paje_state_stats -r 5:1 paje.trace") == 2),
       "it refuses other files, ranges and names");
    ok(all_of(
           run("starpu_paje_summary paje.trace") == 0, says("summary.html"),
           run("grep -c "
               "'<tr><td>one</td><td>paje.trace</td><td>3.000000</td><td>3</td><td>1.000000</td><td>1.000000"
               "</td><td>0.000000</td>' summary.html") == 0),
       "starpu_paje_summary makes a page of it");
    if (run("command -v pj_dump") == 0)
        ok(all_of(
               run("pj_dump -n paje.trace | awk -F', ' '$1 == \"State\" {n[$8]++; s[$8] += $6} END {for (v "
                   "in n) "
                   "printf \"\\\"%%s\\\", %%d, %%.3f\\n\", v, n[v], s[v]}' | LC_ALL=C sort >dumped") == 0,
               run("sed 1d starpu_paje_state_stats.csv >/dev/null; starpu_paje_state_stats paje.trace && sed "
                   "1d "
                   "starpu_paje_state_stats.csv | awk -F', ' '{printf \"%%s, %%d, %%.3f\\n\", $1, $2, $3}' | "
                   "LC_ALL=C sort | cmp - dumped") == 0),
           "pj_dump finds the same states");
    else
        skip("there is no pj_dump here");
    if (!has_gnuplot()) return;
    ok(all_of(run("starpu_paje_draw_histogram -n one,two paje.trace") == 0, run("head -c 4 Rplots.pdf") == 0,
              says("%PDF"), run("starpu_paje_draw_histogram -n none paje.trace") == 1),
       "starpu_paje_draw_histogram draws how long they lasted");
}

static void of_solutions(void)
{
    static const char said[] =
        "\\nActual values of the variables:\\ntmax 30.5\\nnt 2\\nnw 2\\nc0 10\\nc1 20\\n"
        "t0w0 1\\nt0w1 0\\nt1w0 0\\nt1w1 1\\ns0 0\\ns1 5\\n";
    ok(all_of(run("printf '%s' | starpu_lp2paje 2>/dev/null >lp.trace", said) == 0,
              run("grep -A1 '^6 5.000000 S W1 R1$' lp.trace") == 0, says("6 20.000000 S W1 F"),
              run("starpu_paje_state_stats -v -n Running_0,Running_1 lp.trace") == 0,
              says("\"Running_0\", 1, 10\n"), says("\"Running_1\", 1, 15\n")),
       "starpu_lp2paje makes a trace of a schedule of lp_solve's");
    ok(all_of(run("echo This problem is infeasible | starpu_lp2paje") == 1,
              run("starpu_lp2paje </dev/null") == 1,
              run("printf 'tmax 1\\nnt 1\\nnw 1\\nt0w7 1\\n' | starpu_lp2paje") == 1,
              run("printf 'tmax 1\\nnt 1\\nnw 1\\nc0 1\\n' | starpu_lp2paje") == 1,
              says("no worker has task 0"), run("printf 'tmax 1\\nnt 1e9\\nnw 1\\n' | starpu_lp2paje") == 1,
              run("starpu_lp2paje x") == 2),
       "it refuses what is none");
}

int main(void)
{
    record();
    snprintf(before, sizeof before, "PATH=\"$PWD/tools:$PATH\"; ");
    int made = run("starpu_fxt_tool -i stats-run.otrace -d stats-folder");
    snprintf(before, sizeof before, "PATH=\"$PWD/tools:$PATH\"; cd stats-folder; ");
    is_int(made, 0, "starpu_fxt_tool makes the files");
    of_distrib();
    of_activity();
    of_states();
    of_paje();
    of_teams();
    of_solutions();
    ok(all_of(run("orrery_stats") == 2, run("orrery_stats nothing") == 2, run("orrery_stats --help") == 0,
              run("orrery_stats lp2paje --help") == 0, says("starpu_lp2paje - "),
              run("starpu_lp2paje --version") == 0, says("starpu_lp2paje")),
       "one program has them all, under their names and its own");
    before[0] = 0;
    run("rm -rf stats-folder stats-run.otrace stats-team.otrace");
    return done_testing();
}
