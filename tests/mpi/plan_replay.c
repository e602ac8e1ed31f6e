/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 */
/*
 * Plans: the schedule of a run is recorded, and run again exactly; one of another program, another cluster,
 * or in which tasks wait in a circle is refused at its first difference. Threads: main of each rank inserts;
 * workers execute. The layer is started and ended for each case. Owns: the data of each rank, and a folder
 * for plans. Not here: the file by itself, and damaged ones (plan_files.c).
 */
#include <orrery.h>
#include <orrery_mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/mpi/helper_mpi.h"

enum { DATA = 10, STEPS = 80, MOST = 200, SWEEPS = 4, SWEEP = 40 };

static char folder[200], path[256], second[256];
static starpu_data_handle_t handle[DATA];
static int value[DATA];

/* ---- a program ---- */

static int ran[2][MOST], ran_count[2]; /* steps, by worker */

static void mix_func(void *buffers[], void *arg)
{
    int step, worker = starpu_worker_get_id();
    starpu_codelet_unpack_args(arg, &step);
    unsigned *to = (unsigned *)STARPU_VARIABLE_GET_PTR(buffers[0]); /* which may overflow */
    *to = *to * 3 + *(unsigned *)STARPU_VARIABLE_GET_PTR(buffers[1]) + (unsigned)step;
    if (worker >= 0 && worker < 2 && ran_count[worker] < MOST) ran[worker][ran_count[worker]++] = step;
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix it"
};
static struct starpu_codelet other_cl = {
    .cpu_funcs = { mix_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "other"
};

/* Every other one is long. */
static void rest_func(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    if (step % 2) usleep(2000);
    ++*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet rest_cl = {
    .cpu_funcs = { rest_func }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "rest"
};

static uint64_t seed;

/* One insertion; cl NULL: mix_cl. */
static int insert(struct starpu_codelet *cl, int step)
{
    int to = (int)random_below(&seed, DATA), from = (int)random_below(&seed, DATA - 1);
    if (from >= to) from++;
    return starpu_mpi_task_insert(MPI_COMM_WORLD, cl ? cl : &mix_cl, STARPU_RW, handle[to], STARPU_R,
                                  handle[from], STARPU_VALUE, &step, sizeof step, 0);
}

static int start(const char *sched, const char *record)
{
    struct starpu_conf conf;
    if (sched)
        setenv("ORRERY_MPI_SCHED", sched, 1);
    else
        unsetenv("ORRERY_MPI_SCHED");
    if (record)
        setenv("ORRERY_PLAN_RECORD", record, 1);
    else
        unsetenv("ORRERY_PLAN_RECORD");
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.precedence_over_environment_variables = 1;
    seed = 17;
    memset(ran_count, 0, sizeof ran_count);
    int r = starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf);
    for (int i = 0; i < DATA && !r; i++) {
        value[i] = i;
        register_owned(&handle[i], &value[i], 40 + i, i % ranks);
    }
    return r;
}

static void unregister(void)
{
    for (int i = 0; i < DATA; i++) starpu_data_unregister(handle[i]);
}

/* All of it. 0, or how many insertions failed. */
static int run(const char *sched, const char *record, int steps)
{
    int failed = start(sched, record) != 0;
    for (int i = 0; i < steps; i++) failed += insert(NULL, i) != 0;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    return failed + (starpu_mpi_shutdown() != 0);
}

static int wrong_values(void)
{
    unsigned expected[DATA];
    int wrong = 0;
    seed = 17;
    for (unsigned i = 0; i < DATA; i++) expected[i] = i;
    for (int i = 0; i < STEPS; i++) {
        int to = (int)random_below(&seed, DATA), from = (int)random_below(&seed, DATA - 1);
        if (from >= to) from++;
        expected[to] = expected[to] * 3 + expected[from] + (unsigned)i;
    }
    for (int i = 0; i < DATA; i++) wrong += i % ranks == my_rank && (unsigned)value[i] != expected[i];
    return wrong;
}

/* ---- files ---- */

static void copy(const char *from, const char *to, const char *find, const char *replace)
{
    char line[1000];
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
        FILE *in = fopen(from, "r"), *out = fopen(to, "w");
        while (in && out && fgets(line, sizeof line, in)) {
            char *at = find ? strstr(line, find) : NULL;
            if (!strncmp(line, "stream", 6)) continue; /* it is changed */
            if (at)
                fprintf(out, "%.*s%s%s", (int)(at - line), line, replace, at + strlen(find));
            else
                fputs(line, out);
        }
        if (in) fclose(in);
        if (out) fclose(out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same file, with the line of each task changed in place. */
static void rewrite(const char *from, const char *to, void (*change)(char *task))
{
    char line[1000];
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
        FILE *in = fopen(from, "r"), *out = fopen(to, "w");
        while (in && out && fgets(line, sizeof line, in)) {
            if (!strncmp(line, "task ", 5)) change(line);
            fputs(line, out);
        }
        if (in) fclose(in);
        if (out) fclose(out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int lines_of(const char *file, const char *begin)
{
    char line[1000];
    int count = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f)) count += !strncmp(line, begin, strlen(begin));
    if (f) fclose(f);
    return count;
}

/* ---- cases ---- */

static void recorded(void)
{
    int failed = run(NULL, path, STEPS), wrong = wrong_values();
    fact(!failed && !wrong, "a run that is recorded computes what it should");
    MPI_Barrier(MPI_COMM_WORLD);
    fact(lines_of(path, "task ") == STEPS && lines_of(path, "worker ") == 2 * ranks &&
             lines_of(path, "data ") == DATA && lines_of(path, "end 80") == 1,
         "its plan has every insertion, the workers of all ranks, and the data");
}

static int planned[2][MOST], planned_count[2]; /* positions, by worker */

static void read_orders(void)
{
    char line[1000];
    int rank, worker, step;
    unsigned order;
    FILE *f = fopen(path, "r");
    memset(planned_count, 0, sizeof planned_count);
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "task %d mix%%20it rank %d worker %d order %u", &step, &rank, &worker, &order) ==
                4 &&
            rank == my_rank && worker < 2 && order <= MOST) {
            planned[worker][order - 1] = step;
            planned_count[worker]++;
        }
    if (f) fclose(f);
}

/* How many tasks did not run where and when it was planned; the steps begin anew after so many. */
static int wrong_orders(int steps)
{
    int count = 0;
    for (int w = 0; w < 2; w++) {
        count += ran_count[w] != planned_count[w];
        for (int i = 0; i < planned_count[w]; i++) count += ran[w][i] != planned[w][i] % steps;
    }
    return count;
}

/* Each worker runs what the first run gave it, in its order, whatever the policy. */
static void replayed(void)
{
    char sched[300];
    snprintf(sched, sizeof sched, "plan:%s", path);
    read_orders();
    int failed = run(sched, NULL, STEPS), values = wrong_values(), wrong = wrong_orders(STEPS);
    fact(!failed && !values, "a plan is run, with the same results");
    fact(!wrong, "each worker runs what the plan gives it, in its order");
    failed = run(sched, second, STEPS);
    MPI_Barrier(MPI_COMM_WORLD);
    fact(!failed && lines_of(second, "task ") == STEPS, "and recorded again, a second time in one process");
}

/* All of it, as iterations; how many of them were replayed. */
static int run_sweeps(const char *sched, const char *record, int *failed)
{
    int count = 0;
    *failed |= start(sched, record) != 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        int r = orrery_mpi_iteration_begin(MPI_COMM_WORLD, 1);
        seed = 17;
        for (int i = 0; i < SWEEP && r == 0; i++) *failed |= insert(NULL, i) != 0;
        *failed |= r < 0 || orrery_mpi_iteration_end(MPI_COMM_WORLD);
        count += r == 1;
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    *failed |= starpu_mpi_shutdown();
    MPI_Barrier(MPI_COMM_WORLD);
    return count;
}

/* A worker of the plan may have another order in each iteration. */
static void iterations(void)
{
    char sched[300];
    int failed = 0, values[DATA], wrong = 0;
    snprintf(sched, sizeof sched, "plan:%s", path);
    int recorded_ones = run_sweeps(NULL, path, &failed);
    memcpy(values, value, sizeof values);
    read_orders();
    int replayed_ones = run_sweeps(sched, NULL, &failed);
    for (int i = 0; i < DATA; i++) wrong += i % ranks == my_rank && value[i] != values[i];
    fact(!failed && recorded_ones == 0 && replayed_ones == SWEEPS - 1,
         "iterations are inserted while a plan is recorded, and replayed under it");
    fact(!wrong && !wrong_orders(SWEEP), "with the same results, on the workers of each, in their orders");
}

static void swap_ranks(char *task)
{
    char *at = strstr(task, " rank ");
    if (at && at[6] < '2') at[6] = (char)('0' + '1' - at[6]);
}

/* Swaps ranks 0 and 1 of every task by hand: another placement of the same program. */
static void elsewhere(void)
{
    char sched[300];
    int failed;
    if (ranks < 2) return;
    rewrite(path, second, swap_ranks);
    snprintf(sched, sizeof sched, "plan:%s", second);
    failed = run(sched, NULL, STEPS);
    fact(!failed && !wrong_values(),
         "a plan made by hand, with every task on another rank, gives the same results");
}

static void other_program(void)
{
    char sched[300];
    snprintf(sched, sizeof sched, "plan:%s", path);
    int failed = start(sched, NULL), refused = 0;
    for (int i = 0; i < 10; i++) failed |= insert(NULL, i);
    for (int i = 10; i < 14; i++) refused += insert(i == 10 ? &other_cl : NULL, i) == -EINVAL;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    starpu_mpi_shutdown();
    fact(!failed && refused == 4, "another program is refused at its first difference, and from there on");
    failed = start(sched, NULL);
    for (int i = 0; i < STEPS; i++) failed |= insert(NULL, i);
    refused = insert(NULL, STEPS) == -EINVAL;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    starpu_mpi_shutdown();
    fact(!failed && refused, "also where it goes on behind the end of the plan");
}

/* How many of the first insertions are refused under this file. */
static int refused_by(const char *file)
{
    char sched[300];
    snprintf(sched, sizeof sched, "plan:%s", file);
    int failed = start(sched, NULL), refused = 0;
    for (int i = 0; i < 3; i++) refused += insert(NULL, i) == -EINVAL;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    starpu_mpi_shutdown();
    return failed ? -1 : refused;
}

static void other_cluster(void)
{
    char from[40], to[40];
    snprintf(from, sizeof from, "machine %d", ranks);
    snprintf(to, sizeof to, "machine %d", ranks + 1);
    copy(path, second, from, to);
    fact(refused_by(second) == 3, "a plan whose machine is not complete is refused");
    copy(path, second, "order 2 ", "order 999 ");
    fact(refused_by(second) == 3, "one in which an order is missing is refused");
    fact(refused_by("/nowhere/at all") == 3, "a file that is not there is refused");
    fact(refused_by("") == 3, "and none at all");
}

/* The ranks have folders of their own: rank 1's has no plan, or another one. */
static void not_on_all(void)
{
    char own[300], plan[320], from[300];
    if (ranks < 2) return;
    snprintf(own, sizeof own, "%s/of-%d", folder, my_rank);
    snprintf(plan, sizeof plan, "%s/plan", own);
    if (mkdir(own, 0700) || !getcwd(from, sizeof from) || chdir(own)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (my_rank != 1 && link(path, plan)) MPI_Abort(MPI_COMM_WORLD, 1);
    fact(refused_by("plan") == 3, "a file that one rank cannot read is refused on all of them");
    copy(path, second, "order 2 ", "order 2  ");
    if (my_rank == 1 && link(second, plan)) MPI_Abort(MPI_COMM_WORLD, 1);
    fact(refused_by("plan") == 3, "and so is one that is not the same on all");
    MPI_Barrier(MPI_COMM_WORLD);
    unlink(plan);
    if (chdir(from)) MPI_Abort(MPI_COMM_WORLD, 1);
    rmdir(own);
}

/* A chain of short and long tasks. 0, or how many insertions failed. */
static int run_chain(const char *sched, const char *record)
{
    int failed = start(sched, record) != 0;
    for (int i = 0; i < 12; i++)
        failed += starpu_mpi_task_insert(MPI_COMM_WORLD, &rest_cl, STARPU_RW, handle[0], STARPU_VALUE, &i,
                                         sizeof i, 0) != 0;
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    return failed + (starpu_mpi_shutdown() != 0);
}

/* The program waits in the middle for all that it inserted. */
static void waited(void)
{
    char sched[300];
    int failed = 0;
    snprintf(sched, sizeof sched, "plan:%s", path);
    for (int again = 0; again < 2; again++) {
        failed |= start(again ? sched : NULL, again ? NULL : path);
        for (int i = 0; i < STEPS; i++) {
            if (i == 30) failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
            failed |= insert(NULL, i);
        }
        failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        unregister();
        failed |= starpu_mpi_shutdown();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    fact(!failed && !wrong_values() && lines_of(path, "wait ") == 1 && lines_of(path, "wait 30") == 1,
         "a plan says where the program waited for all");
}

static int insert_on(int worker, int to, int from)
{
    int step = 0;
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &mix_cl, STARPU_RW, handle[to], STARPU_R, handle[from],
                                  STARPU_VALUE, &step, sizeof step, ORRERY_EXECUTE_ON_CLUSTER_WORKER, worker,
                                  0);
}

/* Rank 0 waits for what a worker of rank 1 does, and that runs a task from after this before. */
static int run_ahead(const char *sched, const char *record)
{
    int failed = start(sched, record), last = ranks + 1, kept = ranks, odd = 1;
    int here = orrery_cluster_worker_get_number(0, 0), there = orrery_cluster_worker_get_number(1, 0);
    failed |= insert_on(there, last, kept); /* now rank 1 has that value of rank 0's */
    for (int i = 0; i < 10; i++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rest_cl, STARPU_RW, handle[0], STARPU_VALUE, &odd,
                                         sizeof odd, 0);
    failed |= insert_on(there, 1, 0) | insert_on(here, 0, 1);
    if (my_rank == 0) failed |= starpu_data_acquire(handle[0], STARPU_R);
    if (my_rank == 0) starpu_data_release(handle[0]);
    failed |= insert_on(there, last, kept);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    failed |= starpu_mpi_shutdown();
    MPI_Barrier(MPI_COMM_WORLD);
    return failed;
}

static void ran_ahead(void)
{
    char sched[300];
    if (ranks == 1 || ranks + 1 >= DATA) return; /* ranks 0 and 1 have two data each */
    snprintf(sched, sizeof sched, "plan:%s", path);
    int failed = run_ahead(NULL, path) | run_ahead(sched, NULL);
    fact(!failed, "a run in which ranks ran ahead of one that waited is run again");
}

/* ---- orders that contradict what the accesses alone say ---- */

static int rest_on(int worker, starpu_data_handle_t h, int steps)
{
    int odd = 1, failed = 0;
    for (int i = 0; i < steps; i++)
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &rest_cl, STARPU_RW, h, STARPU_VALUE, &odd,
                                         sizeof odd, ORRERY_EXECUTE_ON_CLUSTER_WORKER, worker, 0);
    return failed;
}

static int mix_on(int worker, starpu_data_handle_t to, starpu_data_handle_t from)
{
    int step = 1;
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &mix_cl, STARPU_RW, to, STARPU_R, from, STARPU_VALUE, &step,
                                  sizeof step, ORRERY_EXECUTE_ON_CLUSTER_WORKER, worker, 0);
}

static void set_func(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = step;
}
static struct starpu_codelet set_cl = {
    .cpu_funcs = { set_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "set"
};

static int set_on(int worker, starpu_data_handle_t h, int step)
{
    return starpu_mpi_task_insert(MPI_COMM_WORLD, &set_cl, STARPU_W, h, STARPU_VALUE, &step, sizeof step,
                                  ORRERY_EXECUTE_ON_CLUSTER_WORKER, worker, 0);
}

static starpu_data_handle_t register_temporary(void)
{
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, -1, 0, sizeof(int));
    starpu_mpi_data_register(h, 90, 0);
    return h;
}

static void swap_orders(char *task)
{
    char *at = strstr(task, " order ");
    if (at) at[7] = (char)('1' + '2' - at[7]);
}

/* The first task waits for its turn behind the second, and that is another one, which is refused. */
static void refused_before_its_turn(void)
{
    char sched[300];
    int failed = start(NULL, path), first = orrery_cluster_worker_get_number(0, 0);
    failed |= insert_on(first, 0, 1) | insert_on(first, 2, 3);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    failed |= starpu_mpi_shutdown();
    rewrite(path, second, swap_orders);
    snprintf(sched, sizeof sched, "plan:%s", second);
    failed |= start(sched, NULL) | insert_on(first, 0, 1);
    int r = insert_on(first, 2, 4);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    failed |= starpu_mpi_shutdown();
    fact(!failed && r == -EINVAL && (my_rank || value[0] == 1),
         "a task that waits for the turn of one that is refused runs");
}

/* Temporary data, under one tag one after the other: the second is written while the first is still to be
 * read, which waits for a task that the same worker runs later. */
static int run_temporaries(const char *sched, const char *record)
{
    int failed = start(sched, record), first = orrery_cluster_worker_get_number(0, 0);
    starpu_data_handle_t old = register_temporary();
    failed |= rest_on(first + 1, handle[2], 10);
    failed |= set_on(first, old, 4);
    failed |= mix_on(first, handle[1], handle[2]); /* it waits for those that rest */
    failed |= mix_on(first + 1, handle[1], old);
    starpu_data_unregister_submit(old);
    starpu_data_handle_t new = register_temporary();
    failed |= set_on(first, new, 5);
    failed |= mix_on(first + 1, handle[0], new);
    starpu_data_unregister_submit(new);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister();
    failed |= starpu_mpi_shutdown();
    MPI_Barrier(MPI_COMM_WORLD);
    return failed;
}

/* (1 * 3 + 12 + 1) * 3 + 4 + 1; 0 * 3 + 5 + 1. */
static int wrong_temporaries(void)
{
    return my_rank == 0 && value[0] != 6 ? 1 : my_rank == 1 % ranks && value[1] != 53 ? 2 : 0;
}

static void temporaries(void)
{
    char sched[300];
    snprintf(sched, sizeof sched, "plan:%s", path);
    int failed = run_temporaries(NULL, path), wrong = wrong_temporaries();
    bool told = lines_of(path, "anew ") == 1;
    failed |= run_temporaries(sched, NULL);
    fact(!failed && !wrong && !wrong_temporaries(),
         "a run in which data have the tag of others before them is run again");
    fact(told, "of which the plan says that they are others");
}

enum { FOUR = 4 };

/* Data of rank 0, beside those that all runs have. */
static void register_four(starpu_data_handle_t own[FOUR])
{
    static int values[FOUR];
    for (int i = 0; i < FOUR; i++) register_owned(&own[i], &values[i], 70 + i, 0);
}

/* Waits for all, and ends the run. */
static int end_with(starpu_data_handle_t own[FOUR])
{
    int failed = starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < FOUR; i++) starpu_data_unregister(own[i]);
    unregister();
    failed |= starpu_mpi_shutdown();
    MPI_Barrier(MPI_COMM_WORLD);
    return failed;
}

/* A task that does not keep the order reads before an earlier one has written, which waits for a task that
 * the same worker runs later. */
static int run_out_of_order(const char *sched, const char *record)
{
    int failed = start(sched, record), first = orrery_cluster_worker_get_number(0, 0), step = 1;
    starpu_data_handle_t own[FOUR];
    register_four(own);
    failed |= rest_on(first + 1, own[2], 10);
    failed |= mix_on(first, own[3], own[2]); /* it waits for those that rest */
    failed |= mix_on(first + 1, own[1], own[3]);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &mix_cl, STARPU_RW, own[0], STARPU_R, own[1],
                                     STARPU_VALUE, &step, sizeof step, STARPU_SEQUENTIAL_CONSISTENCY, 0u,
                                     ORRERY_EXECUTE_ON_CLUSTER_WORKER, first, 0);
    return failed | end_with(own);
}

static void out_of_order(void)
{
    char sched[300];
    snprintf(sched, sizeof sched, "plan:%s", path);
    int failed = run_out_of_order(NULL, path);
    failed |= run_out_of_order(sched, NULL);
    fact(!failed, "a run with tasks that do not keep the order is run again");
}

static struct starpu_codelet mix3_cl = {
    .cpu_funcs = { mix_func }, .nbuffers = 3, .modes = { STARPU_RW, STARPU_R, STARPU_R }, .name = "mix three"
};

/* A datum of rank 1, or a piece of a whole that it alone has. */
struct of_one {
    starpu_data_handle_t datum, whole, pieces[2];
    int values[2];
};

static void register_of_one(struct of_one *d, bool in_pieces)
{
    struct starpu_data_filter each = { .filter_func = starpu_vector_filter_pick_variable,
                                       .nchildren = 2,
                                       .get_child_ops = starpu_vector_filter_pick_variable_child_ops };
    bool mine = my_rank == 1;
    *d = (struct of_one){ .values = { 1, 2 } };
    if (mine && in_pieces) {
        starpu_vector_data_register(&d->whole, STARPU_MAIN_RAM, (uintptr_t)d->values, 2, sizeof(int));
        starpu_data_partition_plan(d->whole, &each, d->pieces);
        d->datum = d->pieces[0];
    } else {
        starpu_variable_data_register(&d->datum, mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)d->values : 0,
                                      sizeof(int));
    }
    starpu_mpi_data_register(d->datum, 95, 1);
}

static void unregister_of_one(struct of_one *d)
{
    if (d->whole) starpu_data_partition_clean(d->whole, 2, d->pieces);
    starpu_data_unregister(d->whole ? d->whole : d->datum);
}

/* Rank 1 changes its datum by itself, through the whole if it is a piece, while a task of rank 0 waits with
 * an old copy, and a later one reads it. */
static int run_changed(const char *sched, const char *record, bool in_pieces)
{
    int failed = start(sched, record), first = orrery_cluster_worker_get_number(0, 0), step = 1;
    starpu_data_handle_t own[FOUR];
    struct of_one one;
    register_four(own);
    register_of_one(&one, in_pieces);
    failed |= mix_on(first, own[0], one.datum);
    failed |= rest_on(first + 1, own[2], 10);
    failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &mix3_cl, STARPU_RW, own[1], STARPU_R, one.datum,
                                     STARPU_R, own[2], STARPU_VALUE, &step, sizeof step,
                                     ORRERY_EXECUTE_ON_CLUSTER_WORKER, first, 0);
    if (my_rank == 1) /* the beginning of a vector is a variable to it */
        failed |= starpu_task_insert(&set_cl, STARPU_W, one.whole ? one.whole : one.datum, STARPU_VALUE,
                                     &step, sizeof step, 0);
    failed |= mix_on(first, own[3], one.datum);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    unregister_of_one(&one);
    return failed | end_with(own);
}

static void changed(void)
{
    char sched[300];
    if (ranks == 1) return;
    snprintf(sched, sizeof sched, "plan:%s", path);
    for (int in_pieces = 0; in_pieces < 2; in_pieces++) {
        int failed = run_changed(NULL, path, in_pieces);
        failed |= run_changed(sched, NULL, in_pieces);
        fact(!failed, "a run in which a rank changed what others had read, %s, is run again",
             in_pieces ? "with the whole of which it is a piece" : "by itself");
    }
}

/* As where the clock was compared with the counter while the machine was busy. */
static void badly_measured(void)
{
    char sched[300];
    orr_ns_per_tick *= 2;
    int failed = run_chain(NULL, path);
    orr_ns_per_tick /= 2;
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(sched, sizeof sched, "plan:%s", path);
    failed += run_chain(sched, NULL);
    fact(!failed, "lengths that were measured too long do not turn the order of a recorded run around");
}

int main(int argc, char **argv)
{
    int provided;
    signal(SIGALRM, out_of_time);
    alarm(50);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(folder, sizeof folder, "/tmp/orrery-plans.XXXXXX");
    if (my_rank == 0 && !mkdtemp(folder)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    recorded();
    replayed();
    elsewhere();
    other_program();
    other_cluster();
    not_on_all();
    fact(!run(NULL, NULL, STEPS) && !wrong_values(),
         "a run after one under a plan, without ORRERY_MPI_SCHED, is under none");
    waited();
    ran_ahead();
    temporaries();
    refused_before_its_turn();
    out_of_order();
    changed();
    badly_measured();
    iterations();
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
        unlink(path);
        unlink(second);
        rmdir(folder);
    }
    if (start(NULL, NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
    unregister();
    return mpi_finish();
}
