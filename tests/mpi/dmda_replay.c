/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 8 */
/*
 * Iterations under dmda with what tasks really take: they are replayed once it is known, and compute what
 * they do under owner-computes; a rank that gets three times slower is noticed meanwhile, loses tasks, and
 * they are replayed again. Threads: main of each rank inserts; workers execute. The layer is started and
 * ended for each case. Owns: the data of each rank. Not here: which iteration is replayed (frozen.c), random
 * ones (tests/long/cluster_random.c).
 */
#include <orrery.h>
#include <orrery_mpi.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/mpi/helper_mpi.h"

enum { EACH = 4, DATA_MOST = EACH * RANKS_MOST, TURNS = 3, LONG_US = 2000, SWEEPS_MOST = 300, FIXED = 8 };

static starpu_data_handle_t handle[DATA_MOST];
static int value[DATA_MOST], by_owner[DATA_MOST];
static int ran, slowness = 1; /* of this rank [atomic by __atomic] */

/* ---- tasks ---- */

static void mix_func(void *buffers[], void *arg)
{
    int step;
    starpu_codelet_unpack_args(arg, &step);
    unsigned *to = (unsigned *)STARPU_VARIABLE_GET_PTR(buffers[0]); /* which may overflow */
    usleep((useconds_t)(LONG_US * __atomic_load_n(&slowness, __ATOMIC_RELAXED)));
    *to = *to * 3 + *(unsigned *)STARPU_VARIABLE_GET_PTR(buffers[1]) + (unsigned)step;
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix_func }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

static int insert_tasks(int sweep)
{
    int failed = 0, data = EACH * ranks;
    for (int i = 0; i < TURNS * data; i++) {
        int to = i % data, from = (i * 5 + 1) % data, step = i + 1000 * sweep;
        if (from == to) from = (to + 1) % data;
        failed |= starpu_mpi_task_insert(MPI_COMM_WORLD, &mix_cl, STARPU_RW, handle[to], STARPU_R,
                                         handle[from], STARPU_VALUE, &step, sizeof step, 0);
    }
    return failed;
}

/* Replayed ones have the step of their sweep, too. */
static void set_step(struct starpu_task *task, unsigned position, void *arg)
{
    int step = (int)position + 1000 * *(int *)arg;
    memcpy((char *)task->cl_arg + sizeof(int) + sizeof(size_t), &step, sizeof step);
}

/* ---- runs ---- */

static int failed;

static void start(const char *sched)
{
    struct starpu_conf conf;
    if (sched)
        setenv("ORRERY_MPI_SCHED", sched, 1);
    else
        unsetenv("ORRERY_MPI_SCHED");
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.precedence_over_environment_variables = 1;
    failed = starpu_mpi_init_conf(NULL, NULL, 0, MPI_COMM_WORLD, &conf) != 0;
    for (int i = 0; i < EACH * ranks && !failed; i++) {
        value[i] = i;
        register_owned(&handle[i], &value[i], 40 + i, i % ranks);
    }
}

static void stop(void)
{
    for (int i = 0; i < EACH * ranks; i++) starpu_data_unregister(handle[i]);
    failed |= starpu_mpi_shutdown();
    MPI_Barrier(MPI_COMM_WORLD);
}

static bool only_marked; /* by starpu_iteration_push and _pop: it is inserted */

static int sweep_marked(int sweep)
{
    starpu_iteration_push((unsigned long)sweep);
    int r = insert_tasks(sweep);
    starpu_iteration_pop();
    return r;
}

/* One iteration; whether it was replayed. */
static bool sweep_once(int sweep, bool waits)
{
    if (only_marked) {
        failed |= sweep_marked(sweep);
        if (waits) failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
        return false;
    }
    int r = orrery_mpi_iteration_begin_patched(MPI_COMM_WORLD, 1, set_step, &sweep);
    if (r == 0) failed |= insert_tasks(sweep);
    failed |= r < 0 || orrery_mpi_iteration_end(MPI_COMM_WORLD);
    if (waits) failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    return r == 1;
}

/* The ranks' sum; a place where all are. */
static int sum_of(int mine)
{
    int sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Until all ranks have replayed one: a busy machine makes it long, since speeds tremble there. How many it
 * took, SWEEPS_MOST if they never did. */
static int sweep_until_replayed(int *sweep)
{
    int count = 0;
    while (count < SWEEPS_MOST && sum_of(sweep_once((*sweep)++, true)) < ranks) count++;
    return count;
}

/* ---- cases ---- */

static bool is_mine(int i)
{
    return i % ranks == my_rank;
}

/* A run of so many sweeps; how many were replayed here. */
static int run(const char *sched, bool waits, int sweeps)
{
    int replayed = 0;
    start(sched);
    for (int sweep = 0; sweep < sweeps; sweep++) replayed += sweep_once(sweep, waits);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    stop();
    return replayed;
}

static void same_values(void)
{
    for (int waits = 0; waits < 2; waits++) {
        int wrong = 0;
        run(NULL, waits, FIXED);
        memcpy(by_owner, value, sizeof value);
        fact(!failed, "iterations under owner-computes");
        run("dmda", waits, FIXED);
        for (int i = 0; i < EACH * ranks; i++) wrong += is_mine(i) && value[i] != by_owner[i];
        fact(!failed && !wrong, "iterations under dmda %s compute the same, bit by bit",
             waits ? "with a wait after each" : "one after another");
        only_marked = true;
        run("dmda", waits, FIXED);
        only_marked = false;
        wrong = 0;
        for (int i = 0; i < EACH * ranks; i++) wrong += is_mine(i) && value[i] != by_owner[i];
        fact(!failed && !wrong, "and so where they are only marked");
    }
}

/* Under owner-computes, as many. */
static int wrong_after(int sweeps)
{
    int wrong = 0;
    memcpy(by_owner, value, sizeof value);
    run(NULL, true, sweeps);
    for (int i = 0; i < EACH * ranks; i++) wrong += is_mine(i) && value[i] != by_owner[i];
    return wrong;
}

/* How many tasks rank 1 has in one iteration. */
static int share_of_rank_1(int *sweep)
{
    __atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
    sweep_once((*sweep)++, true);
    return sum_of(my_rank == 1 ? __atomic_load_n(&ran, __ATOMIC_RELAXED) : 0);
}

static void slower(void)
{
    int sweep = 0, took = 0, share = 0;
    start("dmda");
    fact(sweep_until_replayed(&sweep) < SWEEPS_MOST, "iterations under dmda are replayed, on all ranks");
    if (my_rank == 1) __atomic_store_n(&slowness, 3, __ATOMIC_RELAXED);
    while (took < SWEEPS_MOST && (share = share_of_rank_1(&sweep)) > TURNS * EACH * 3 / 4) took++;
    fact(took < SWEEPS_MOST, "a rank that gets three times slower meanwhile loses a quarter of its tasks");
    if (my_rank == 0) fprintf(stderr, "# it had %d of %d after %d iterations\n", share, TURNS * EACH, took);
    fact(sweep_until_replayed(&sweep) < SWEEPS_MOST, "and then iterations are replayed again");
    stop();
    __atomic_store_n(&slowness, 1, __ATOMIC_RELAXED);
    fact(!failed && !wrong_after(sweep), "with the values of owner-computes");
}

/* The value goes there first: only its owner is told. */
static void give_first_to(int rank)
{
    failed |= starpu_mpi_get_data_on_node_detached(MPI_COMM_WORLD, handle[0], rank, NULL, NULL);
    failed |= starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_data_set_rank(handle[0], rank);
}

/* Where tasks went with other owners is no reason to send them there: an iteration is placed twice before. */
static void other_owners(void)
{
    int sweep = 0, replayed = 0;
    start("dmda");
    for (int turn = 0; turn < 2; turn++) {
        fact(sweep_until_replayed(&sweep) < SWEEPS_MOST, "iterations are replayed before an owner changes");
        give_first_to(turn ? 0 : 1);
        for (int i = 0; i < 2; i++) replayed += sweep_once(sweep++, true);
    }
    stop();
    fact(replayed == 0, "and placed anew afterwards");
    fact(!failed && !wrong_after(sweep), "data whose owner changed have their values");
}

int main(int argc, char **argv)
{
    int provided;
    signal(SIGALRM, out_of_time);
    alarm(50);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    same_values();
    slower();
    other_owners();
    start(NULL);
    for (int i = 0; i < EACH * ranks; i++) starpu_data_unregister(handle[i]);
    return mpi_finish();
}
