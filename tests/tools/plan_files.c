/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orrery_plan: what it shows, checks, compares and makes; and files that are cut, wrong, huge or no plan at
 * all, which it refuses with the line. The same reader runs plans (mpi/plan_replay.c). Threads: main; the
 * program is a child. Owns: a folder for the files. Not here: running plans.
 */
#include "tests/helper.h"
#include "tests/tools/runs.h"

static char folder[] = "/tmp/orrery-plan-files.XXXXXX", tool[2048];

static const char head[] = "orrery-plan 1\nmachine 2\nrank 0 node 0 workers 1\nrank 1 node 0 workers 1\n"
                           "worker 0 CPU CPU%200\nworker 1 CPU CPU%200\n";

/* Writes head and these lines. */
static const char *file(const char *name, const char *first, const char *lines)
{
    static char path[4][300];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    FILE *f = fopen(p, "w");
    if (f) {
        fputs(first, f);
        fputs(lines, f);
        fclose(f);
    }
    return p;
}

/* Whether a file of these lines is refused, with that. */
static int refused(const char *first, const char *lines, const char *why)
{
    int status = run("-c %s", file("bad", first, lines));
    if (status != 1) diag("status %d for: %.300s", status, lines);
    return status == 1 && says(why);
}

static void good(void)
{
    const char *path = file("good", head,
                            "codelet gemm model%20name\ndata 7 home 0 bytes 1000\ndata 8 home 1 bytes 1000\n"
                            "task 0 init rank 0 worker 0 order 1 start 0 length 100 W:7\n"
                            "task 1 init rank 1 worker 0 order 1 start 0 length 100 W:8 # a comment\n"
                            "\ntask 2 gemm rank 1 worker 0 order 2 start 110 length 50 RW:8 R:7\nend 3\n");
    ok(all_of(run("-c %s", path) == 0, says("can run: 3 tasks, 3 of them")), "a plan by hand can run");
    ok(all_of(run("%s", path) == 0, says("3 tasks of 2 codelets on 2 data, 2 ranks with 2 workers; 0.160 ms"),
              says("62.5%")),
       "it is shown with its length, and what share of it each worker is at work");
    ok(all_of(run("-t %s", path) == 0, says("2 gemm (RW tag 8, R tag 7) on rank 1, worker 0, order 2")),
       "and its tasks, if asked");
}

static void damaged(void)
{
    ok(all_of(refused("", "", "cut"), refused("", "something else\n", "line 1"),
              refused("", "orrery-plan 2\n", "begins with"), run("-c %s/nothing", folder) == 1,
              says("No such file"), run("-c %s", folder) == 1, says(": Is a directory"), !says("line")),
       "what is no plan is refused");
    ok(all_of(refused(head, "task 0 a rank 0\n", "cut"),
              refused(head, "task 0 a rank 0\nend 2\n", "counts other"),
              refused(head, "end 0\nend 0\n", "behind the end"),
              refused(head, "task 1 a rank 0\nend 1\n", "not the next")),
       "so is one that was cut, or has lost a task");
    ok(all_of(refused(head, "task 0 a rank 2\nend 1\n", "line 7"),
              refused(head, "task 0 a rank -1\nend 1\n", "line 7"),
              refused(head, "task 0 a rank 0 worker 1\nend 1\n", "has no worker 1"),
              refused(head, "task 0 a rank 0 worker 0 order 0\nend 1\n", "out of range"),
              refused(head, "task 0 a rank 0 worker 0 order 99999999999999999999\nend 1\n", "out of range"),
              refused(head, "task 0 a rank 0 order 1\nend 1\n", "needs a worker")),
       "numbers that cannot be are refused, with the line");
    ok(all_of(refused(head, "task 0 a worker 0\nend 1\n", "which rank"),
              refused(head, "task 0 a rank 0 length -3\nend 1\n", "out of range"),
              refused(head, "task 0 a rank 0 start nan\nend 1\n", "out of range")),
       "so are times, and tasks without a rank");
    ok(all_of(refused(head, "task 0 a rank 0 X:3\nend 1\n", "MODE:TAG"),
              refused(head, "task 0 a rank 0 RW:\nend 1\n", "MODE:TAG"),
              refused(head, "task 0 a rank 0 RW:1x\nend 1\n", "MODE:TAG"),
              refused(head, "task 0 a rank 0 :\nend 1\n", "MODE:TAG"),
              refused(head, "task 0 a%G0 rank 0\nend 1\n", "a task is"),
              refused(head, "task 0 a rank 0 R:1 priority\nend 1\n", "MODE:TAG"),
              refused(head, "chapter 1\n", "no word to begin")),
       "words that say nothing are, too");
    ok(all_of(
           refused("orrery-plan 1\nmachine 2000000000\n", "end 0\n", "line 2"),
           refused("orrery-plan 1\nmachine 1000000\nrank 0 node 0 workers 60000\n", "end 0\n", "of 1000000"),
           refused("orrery-plan 1\nmachine 1\nrank 0 node 0 workers 3\n", "end 0\n", "have 3 workers"),
           refused("orrery-plan 1\nmachine 1\nrank 0 node 0 workers 1\nworker 0 QUANTUM q\n", "end 0\n",
                   "no type of worker"),
           refused("orrery-plan 1\n", "task 0 a rank 0\nend 1\n", "0 ranks are described")),
       "a cluster that is too large, or not described, is refused without making room for it");
    ok(all_of(refused("orrery-plan 1\nstream 1 0123456789abcdef\nmachine 1\nrank 0 node 0 workers 0\n",
                      "task 0 a rank 0\nend 1\n", "fingerprint")),
       "one that was changed is told by its fingerprint");
}

static void orders(void)
{
    ok(all_of(refused(head, "task 0 a rank 0 worker 0 order 2\nend 1\n",
                      "no task has order 1 on worker 0 of rank 0"),
              refused(head, "task 0 a rank 0 worker 0 order 1\ntask 1 a rank 0 worker 0 order 1\nend 2\n",
                      "two tasks have order 1")),
       "orders with a gap, or given twice, cannot run");
    ok(all_of(
           refused(
               head,
               "task 0 a rank 0 worker 0 order 2 W:1\ntask 1 b rank 1 worker 0 order 2 W:2\n"
               "task 2 c rank 1 worker 0 order 1 R:1 W:3\ntask 3 d rank 0 worker 0 order 1 R:2 W:4\nend 4\n",
               "in a circle"),
           says("0 a (W tag 1) on rank 0, worker 0, order 2"), says("rank 1, worker 0, order 1")),
       "a circle of orders and data over two ranks is named");
    ok(run("-c %s",
           file(
               "copies", head,
               "task 0 a rank 0 worker 0 order 1 W:1\ntask 1 b rank 1 worker 0 order 2 R:1 W:5\n"
               "task 2 c rank 0 worker 0 order 2 RW:1 W:9\ntask 3 d rank 1 worker 0 order 1 R:9\nend 4\n")) ==
           0,
       "who writes again does not wait for who read a copy on another rank");
}

/* Of twelve tasks all but the second are elsewhere. */
static void many_differ(void)
{
    char one[1200] = "", other[1200] = "";
    for (int i = 0, n = 0, m = 0; i < 12; i++) {
        n += snprintf(one + n, sizeof one - (size_t)n, "task %d a%d rank 0 worker 0 W:%d\n", i, i, i);
        m += snprintf(other + m, sizeof other - (size_t)m, "task %d a%d rank %d worker 0 W:%d\n", i, i,
                      i != 1, i);
    }
    strcat(one, "end 12\n");
    strcat(other, "end 12\n");
    const char *a = file("many_a", head, one), *b = file("many_b", head, other);
    ok(all_of(run("-d %s %s", a, b) == 0, says("11 are on another rank"), says("the first 10"), says("0 a0 "),
              says("9 a9 "), says("10 a10 ")),
       "of many differences the first ten are told");
}

static void compared(void)
{
    const char *a = file("a", head, "task 0 a rank 0 worker 0 order 1 start 0 length 10 W:1\nend 1\n");
    const char *b = file("b", head, "task 0 a rank 1 worker 0 order 1 start 0 length 20 W:1\nend 1\n");
    const char *c = file("c", head, "task 0 a rank 1 worker 0 order 1 start 0 length 20 W:2\nend 1\n");
    ok(all_of(run("-d %s %s", a, b) == 0, says("(2.000 times)"), says("1 are on another rank")),
       "two plans are compared: how long, and how many tasks are elsewhere");
    ok(all_of(run("-d %s %s", b, c) == 0, says("different programs, from task 0 on")),
       "those of different programs at their first difference");
    many_differ();
}

/* Two chains of four, and a task that needs both: on two ranks the chains go beside each other. */
static void made(void)
{
    char lines[2000] = "data 1 home 0 bytes 8\ndata 2 home 0 bytes 8\n", made_path[300];
    size_t used = strlen(lines);
    for (int i = 0; i < 8; i++)
        used += (size_t)snprintf(lines + used, sizeof lines - used,
                                 "task %d link rank 0 worker 0 order %d start %d length 100 RW:%d\n", i,
                                 i + 1, i * 100, 1 + i % 2);
    snprintf(lines + used, sizeof lines - used,
             "task 8 join rank 0 worker 0 order 9 start 800 length 100 RW:1 R:2\nend 9\n");
    const char *serial = file("serial", head, lines);
    snprintf(made_path, sizeof made_path, "%s/made", folder);
    ok(all_of(run("-H -l 10 -o %s %s", made_path, serial) == 0, says("took 0.900 ms"),
              run("-c %s", made_path) == 0),
       "a plan is made by HEFT, and can run");
    ok(all_of(run("-d %s %s", serial, made_path) == 0, says("0.900 ms and 0.5"),
              says("5 are on another rank")),
       "the two chains run beside each other, and the last task where one of them ends");
    ok(all_of(run("-H -r 1 -w 2 -o %s %s", made_path, serial) == 0, says("0.500 ms expected")),
       "for another cluster too");
    ok(all_of(run("-H %s", serial) == 2, run("-c") == 2, run("-H -r 0 -w 1 -o x %s", serial) == 2,
              run("-z") == 2),
       "wrong usage is told as such");
}

/* The whole, its pieces, and the whole again: an order that has one before the other cannot run, nor does
 * HEFT make one, though it would begin with what takes long. */
static void pieces(void)
{
    static const char lines[] = "%sdata 1 home 0 bytes 80\n"
                                "task 0 brief rank 0 worker 0 order %d start 0 length 10 RW:1\n"
                                "task 1 long rank 0 worker 0 order %d start 10 length 500 RW:11\n"
                                "task 2 longer rank 1 worker 0 order 1 start 10 length 600 RW:121\n"
                                "task 3 brief rank 0 worker 0 order %d start 610 length 10 R:1\nend 4\n";
    static const char *const known = "data 11 of 1 home 0 bytes 40\ndata 12 of 1 home 0 bytes 40\n"
                                     "data 121 of 12 home 0 bytes 20\n";
    char right[900], turned[900], late[900], unknown[900], made_path[300];
    snprintf(right, sizeof right, lines, known, 1, 2, 3);
    snprintf(turned, sizeof turned, lines, known, 2, 1, 3);
    snprintf(late, sizeof late, lines, known, 1, 3, 2);
    snprintf(unknown, sizeof unknown, lines, "", 2, 1, 3);
    snprintf(made_path, sizeof made_path, "%s/pieces", folder);
    ok(all_of(run("-c %s", file("right", head, right)) == 0, refused(head, turned, "circle"),
              says("0 brief (RW tag 1)"), refused(head, late, "circle"),
              run("-c %s", file("unknown", head, unknown)) == 0),
       "an order that has a piece before the whole that it is of, or behind, is refused where that is known");
    ok(all_of(run("-H -r 2 -w 1 -o %s %s", made_path, file("right", head, right)) == 0,
              run("-c %s", made_path) == 0, run("-t %s", made_path) == 0,
              says("0 brief (RW tag 1) on rank 0, worker 0, order 1")),
       "HEFT keeps them in turn, pieces beside each other");
    ok(all_of(refused(head, "data 1 of 2 home 0 bytes 8\ndata 2 of 1 home 0 bytes 8\nend 0\n", "of itself"),
              refused(head, "data 1 of home 0 bytes 8\nend 0\n", "data TAG of WHOLE"),
              refused(head, "data 1 of x home 0 bytes 8\nend 0\n", "data TAG of WHOLE")),
       "no piece is one of its own pieces");
}

/* A long task behind a wait would come first where nobody waited. */
static void waits(void)
{
    static const char lines[] = "task 0 brief rank 0 worker 0 order %d start 0 length 10 RW:1\n"
                                "task 1 brief rank 1 worker 0 order 1 start 0 length 10 RW:2\n%s"
                                "task 2 long rank 0 worker 0 order %d start 10 length 500 RW:3\nend 3\n";
    char with[600], turned[600], made_path[300];
    snprintf(with, sizeof with, lines, 1, "wait 2\n", 2);
    snprintf(turned, sizeof turned, lines, 2, "wait 2\n", 1);
    ok(all_of(refused(head, turned, "circle"), run("-c %s", file("with", head, with)) == 0),
       "an order that has a task behind a wait of the program before one in front of it is refused");
    snprintf(turned, sizeof turned, lines, 2, "", 1);
    ok(run("-c %s", file("without", head, turned)) == 0, "without the wait it is not");
    ok(all_of(refused(head, "wait 1\nend 0\n", "a wait is"), refused(head, "wait\nend 0\n", "a wait is")),
       "a wait says before which task it is");
    snprintf(made_path, sizeof made_path, "%s/waits", folder);
    ok(all_of(run("-H -r 1 -w 1 -o %s %s", made_path, file("with", head, with)) == 0,
              run("-t %s", made_path) == 0, says("2 long (RW tag 3) on rank 0, worker 0, order 3"),
              run("-H -r 1 -w 1 -o %s %s", made_path, made_path) == 0, run("-t %s", made_path) == 0,
              says("order 3")),
       "HEFT moves no task across, nor when its plan is taken again");
    ok(all_of(run("-H -r 1 -w 1 -o %s %s", made_path, file("without", head, turned)) == 0,
              run("-t %s", made_path) == 0, says("2 long (RW tag 3) on rank 0, worker 0, order 1")),
       "without the wait it does");
}

/* Worker 0 writes the next datum of tag 1 before the task that worker 1 waits for, who still reads the one
 * before. */
static void others_of_a_tag(void)
{
    static const char lines[] = "task 0 make rank 0 worker 0 order 1 start 0 length 10 W:1\n"
                                "task 1 late rank 0 worker 0 order 3 start 20 length 10 W:2\n"
                                "task 2 look rank 0 worker 1 order 1 start 30 length 10 R:1 R:2\n%s"
                                "task 3 make rank 0 worker 0 order 2 start 10 length 10 W:1\nend 4\n";
    static const char two[] =
        "orrery-plan 1\nmachine 1\nrank 0 node 0 workers 2\nworker 0 CPU -\nworker 1 CPU -\n";
    char text[600], path[300], made_path[300];
    snprintf(text, sizeof text, lines, "");
    ok(refused(two, text, "circle"),
       "who writes waits for who reads the value before, so that may be a circle");
    snprintf(text, sizeof text, lines, "anew 3 1\n");
    snprintf(path, sizeof path, "%s", file("anew", two, text));
    ok(run("-c %s", path) == 0, "but not for readers of another datum that had its tag before");
    snprintf(made_path, sizeof made_path, "%s/anew-made", folder);
    ok(all_of(run("-H -r 1 -w 1 -o %s %s", made_path, path) == 0, run("-t %s", made_path) == 0,
              says("3 make (W tag 1) on rank 0, worker 0, order 4")),
       "HEFT keeps both apart, as the program may have waited in between");
    snprintf(text, sizeof text, "grep -c '^anew 3 1$' %s > /dev/null", made_path);
    ok(system(text) == 0, "and its plan says so, too");
    ok(all_of(refused(two, "anew 1 1\nend 0\n", "anew POSITION TAG"),
              refused(two, "anew 0\nend 0\n", "anew POSITION"),
              refused(two, "anew 0 x\nend 0\n", "anew POSITION")),
       "what is no such line is refused");
}

int main(void)
{
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || !mkdtemp(folder)) skip_all("no folder");
    self[length] = 0;
    for (int i = 0; i < 3; i++) *strrchr(self, '/') = 0;
    if (!strcmp(strrchr(self, '/') + 1, "tests")) *strrchr(self, '/') = 0;
    snprintf(tool, sizeof tool, "%s/tools/orrery_plan", self);
    if (access(tool, X_OK)) skip_all("tools/orrery_plan is not there");
    snprintf(before, sizeof before, "timeout 20 %s ", tool);
    setenv("STARPU_SILENT", "1", 1);
    good();
    damaged();
    orders();
    compared();
    made();
    pieces();
    waits();
    others_of_a_tag();
    snprintf(self, sizeof self, "rm -r %s", folder);
    if (system(self)) diag("%s remains", folder);
    return done_testing();
}
